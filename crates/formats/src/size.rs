//! Sizes as tools and people write them: `4k`, `4K`, `4KiB` and `4096B` are one.

use model::Value;

use crate::text::leading_number;

/// Writes a size as fio does, `16k`, `2g`, `100`; `None` where the text is no size.
/// With the largest unit that leaves a whole number.
pub fn canonical_size(text: &str) -> Option<String> {
    let (number, unit) = leading_number(text.trim())?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1_u64 << 40,
        _ => return None,
    };
    let bytes = number * factor as f64;
    if !(0.0..9e15).contains(&bytes) || bytes.fract() != 0.0 {
        return None;
    }
    // Whole, and below 2^53.
    let bytes = bytes as u64;
    let units = [(1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.into_iter().find(|(size, _)| bytes > 0 && bytes.is_multiple_of(*size));
    Some(unit.map_or_else(|| bytes.to_string(), |(size, name)| format!("{}{name}", bytes / size)))
}

/// Makes the value of a key that is a size; other text stays as it is.
pub fn size_value(text: &str) -> Value {
    let text = canonical_size(text).unwrap_or_else(|| text.trim().to_owned());
    text.parse().map_or_else(|_| Value::Text(text), Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_one_however_they_are_written() {
        for text in ["4k", "4K", "4KiB", "4Kb", "4096", "4096B", "4.0k"] {
            assert_eq!(canonical_size(text).as_deref(), Some("4k"), "{text}");
        }
        for (text, size) in [("2GiB", "2g"), ("1536", "1536"), ("1.5m", "1536k"), ("0", "0")] {
            assert_eq!(canonical_size(text).as_deref(), Some(size), "{text}");
        }
        for text in ["4k,8k", "4k-16k", "", "big", "1e30g", "-1k"] {
            assert_eq!(canonical_size(text), None, "{text}");
        }
    }
}
