//! The answers of programs that are asked what they are: one that is still the same is started once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

/// The output of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub stdout: String,
    pub stderr: String,
}

/// A file under one of its names, since programs look at that too, as it was when it was asked.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    folder: PathBuf,
    name: OsString,
    bytes: u64,
    modified: SystemTime,
    arguments: Vec<String>,
}

/// Locked while the program runs: who asks the same waits for its answer.
type Slot = Arc<Mutex<Option<Arc<Answer>>>>;

static KNOWN: LazyLock<Mutex<HashMap<Question, Slot>>> = LazyLock::new(Mutex::default);

/// The program's answer, which may be what it has answered before; none if it cannot be started. Only for questions
/// whose answer depends on nothing but the program.
#[must_use]
pub fn ask_program(program: &Path, arguments: &[&str]) -> Option<Arc<Answer>> {
    let Some(question) = question_of(program, arguments) else {
        return run_program(program, arguments).map(|(answer, _)| answer);
    };
    let slot = Arc::clone(KNOWN.lock().unwrap_or_else(PoisonError::into_inner).entry(question).or_default());
    let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = &*known {
        return Some(Arc::clone(answer));
    }
    let (answer, is_well) = run_program(program, arguments)?;
    if is_well {
        *known = Some(Arc::clone(&answer));
    }
    Some(answer)
}

/// None of a program that the system looks for itself.
fn question_of(program: &Path, arguments: &[&str]) -> Option<Question> {
    let folder = program.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let file = fs::metadata(program).ok()?;
    Some(Question {
        folder: fs::canonicalize(folder).ok()?,
        name: program.file_name()?.to_owned(),
        bytes: file.len(),
        modified: file.modified().ok()?,
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
    })
}

/// Runs a program for its answer; the flag says whether the answer may be kept.
fn run_program(program: &Path, arguments: &[&str]) -> Option<(Arc<Answer>, bool)> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let answer = Answer { stdout, stderr };
    Some((Arc::new(answer), output.status.success()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_is_started_once_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let write = |text: &str| {
            fs::write(&program, format!("#!/bin/sh\necho x >> {}/starts\n{text}\n", folder.path().display())).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let starts = || fs::read_to_string(folder.path().join("starts")).unwrap().lines().count();
        let answer = |argument: &str| ask_program(&program, &[argument]).unwrap().stdout.clone();
        write("echo one $1");
        assert_eq!(
            (answer("a"), answer("a"), answer("b"), starts()),
            ("one a\n".into(), "one a\n".into(), "one b\n".into(), 2)
        );
        write("echo another $1");
        assert_eq!((answer("a"), answer("a"), starts()), ("another a\n".into(), "another a\n".into(), 3));
        write("echo failed >&2; exit 1");
        assert_eq!((answer("a"), answer("a"), starts()), (String::new(), String::new(), 5));
        assert_eq!(ask_program(Path::new("/no/such/program"), &[]), None);
    }
}
