//! The command run in a test's folder.

#[path = "../shared/scene.rs"]
mod folder;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

pub use folder::Scene;

/// What a run of the command gave.
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Data.
    pub stdout: String,
    /// Everything else.
    pub stderr: String,
}

impl Scene {
    /// The command, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_etalon"));
        command.args(args).current_dir(self.path()).env("NO_COLOR", "1").env("HOME", self.path());
        for variable in ["PGPASSWORD", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSFILE"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the command to its end.
    pub fn etalon(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// Starts the command with its output caught.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The only store in the results folder.
    pub fn store(&self) -> PathBuf {
        let stores: Vec<PathBuf> = std::fs::read_dir(self.path().join("etalon-results"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "etalon"))
            .collect();
        assert_eq!(stores.len(), 1, "{stores:?}");
        stores[0].clone()
    }
}

/// The output of a process that has ended.
pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// Asserts the exit code, and that stderr holds each of the texts.
    #[track_caller]
    pub fn says(&self, code: i32, texts: &[&str]) -> &Ran {
        let mut wrong = String::new();
        if self.code != code {
            let _ = writeln!(wrong, "exit code {} instead of {code}", self.code);
        }
        for text in texts.iter().filter(|text| !self.stderr.contains(**text)) {
            let _ = writeln!(wrong, "stderr lacks `{text}`");
        }
        assert!(wrong.is_empty(), "{wrong}--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr);
        self
    }
}

/// A plan of two simulated systems.
pub fn sim_plan(a: &str, b: &str, schedule: &str) -> String {
    format!(
        "[systems.a]\nurl = \"sim:?{a}\"\n\n[systems.b]\nurl = \"sim:?{b}\"\n\n[[benchmarks]]\nname = \"points\"\n\
         workload = \"transactions\"\nscript = \"select-only\"\nclients = [1, 4]\n\n[schedule]\nseed = 7\n{schedule}\n"
    )
}
