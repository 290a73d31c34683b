//! The texts that a setting may have.

use crate::value::Value;

/// Longest value of a setting. Programs read lines of option files in pieces of 4,094 bytes.
pub const LONGEST_SETTING_BYTES: usize = 1_000;
const LONGEST_NAME_BYTES: usize = 100;

/// Explains why a setting cannot be given to a system: its texts could be read as more than one setting.
pub fn setting_fault(name: &str, value: &Value) -> Option<String> {
    let value = value.to_string();
    if name.is_empty()
        || name.len() > LONGEST_NAME_BYTES
        || !name.chars().all(|c: char| c.is_ascii_alphanumeric() || "_-. ".contains(c))
    {
        let cause = format!("a setting's name has letters, digits, `_`, `-` and `.`, and at most {LONGEST_NAME_BYTES}");
        return Some(cause);
    }
    if value.len() > LONGEST_SETTING_BYTES {
        return Some(format!("its value is {} bytes long, and at most {LONGEST_SETTING_BYTES} are taken", value.len()));
    }
    value.chars().any(char::is_control).then(|| "its value has control characters in it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_one_short_line() {
        for (name, value) in [
            ("sql_mode", "ANSI"),
            ("hot.key-buffer-size", ""),
            ("ARITHABORT", "ON"),
            ("work_mem", &"9".repeat(1_000)),
            ("application_name", "é \"#' !include"),
        ] {
            assert_eq!(fault(name, value), None, "{name}");
        }
        for (name, value) in [
            ("sql_mode", "x".repeat(1_001).as_str()),
            ("sql_mode", "a\nb"),
            ("sql_mode", "a\rb"),
            ("sql_mode", "a\0b"),
            ("sql_mode", "a\u{85}b"),
            ("sql_mode = 1 #", "x"),
            ("[client]", "x"),
            ("", "x"),
            (&"n".repeat(101), "x"),
        ] {
            assert!(fault(name, value).is_some(), "{name}");
        }
    }

    fn fault(name: &str, value: &str) -> Option<String> {
        setting_fault(name, &Value::Text(value.to_owned()))
    }
}
