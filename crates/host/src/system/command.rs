//! Runs a system command with a deadline.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A hanging service manager must not hang a benchmark.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Standard output, if the command succeeded in time.
pub(crate) fn output_of(program: &str, args: &[&str]) -> Result<String, String> {
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|cause| format!("cannot run {program}: {cause}"))?;
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = child.stdout.take() {
        // A thread of its own: a full pipe blocks the command, and a silent command blocks the reader.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.read_to_end(&mut bytes);
            // No one listens after the deadline.
            let _ = sender.send(read.map(|_| bytes));
        });
    }
    let bytes = receiver.recv_timeout(TIMEOUT);
    if bytes.is_err() {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    let status =
        wait_until(&mut child, started + TIMEOUT).map_err(|cause| format!("cannot wait for {program}: {cause}"))?;
    match bytes {
        Ok(Ok(bytes)) if status.success() => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Ok(Ok(_)) => Err(format!("{program} ended with {status}")),
        Ok(Err(cause)) => Err(format!("cannot read what {program} wrote: {cause}")),
        Err(_) => Err(format!("{program} gave no answer within {} s", TIMEOUT.as_secs())),
    }
}

/// Waits after the command closed its output; kills it at the deadline.
fn wait_until(child: &mut std::process::Child, deadline: Instant) -> std::io::Result<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            return child.wait();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_gives_its_text() {
        assert_eq!(output_of("/bin/sh", &["-c", "echo two words"]).unwrap(), "two words");
    }

    #[test]
    fn a_command_that_fails_or_is_missing_says_so() {
        assert!(output_of("/bin/sh", &["-c", "exit 3"]).unwrap_err().contains('3'));
        assert!(output_of("/no/such/command", &[]).unwrap_err().contains("/no/such/command"));
    }

    #[test]
    fn a_command_that_hangs_is_left() {
        let started = Instant::now();
        assert!(output_of("/bin/sleep", &["60"]).unwrap_err().contains("no answer"));
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
