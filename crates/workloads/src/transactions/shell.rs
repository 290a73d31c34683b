//! `\shell` and `\setshell`.

use std::process::{Command, Stdio};

/// Longest command in bytes, as in pgbench with its closing NUL.
const MAX_COMMAND: usize = 254;
/// How much of the first line is read, as in pgbench.
const MAX_LINE: usize = 63;

/// Makes the command that runs a text by the shell, without input or output; fails if the text is too long.
fn shell_command(text: &str) -> Result<Command, String> {
    if text.len() > MAX_COMMAND {
        return Err(format!("the shell command has more than {MAX_COMMAND} bytes"));
    }
    let mut command = host::process::shell_command(text);
    // étalon's own stdout carries data.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// Runs a text by the shell; fails if its exit status is not 0.
pub(super) fn run_shell(text: &str) -> Result<(), String> {
    let status = shell_command(text)?.status().map_err(|error| format!("the shell could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the shell command `{text}` failed: {status}")) }
}

/// Runs a text by the shell, and reads the whole number in its first line.
pub(super) fn run_shell_for_number(text: &str) -> Result<i64, String> {
    let output = shell_command(text)?
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("the shell could not be started: {error}"))?;
    let line = output.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]);
    // pgbench keeps the number in a C int.
    let number = line.trim().parse::<i64>().map(|n| i64::from(n as i32));
    number.map_err(|_| format!("the shell command must write a whole number, not `{}`", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_in_the_shell() {
        assert_eq!(run_shell("test 1 = 1"), Ok(()));
        assert!(run_shell("exit 3").unwrap_err().contains('3'));
        assert_eq!(run_shell_for_number("echo ' 42 '; echo 7"), Ok(42));
        assert!(run_shell_for_number("echo x").is_err());
        assert!(run_shell_for_number("true").is_err());
        assert!(run_shell(&" ".repeat(255)).is_err());
    }
}
