//! A folder of its own for each test, and the command run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub struct Scene {
    folder: TempDir,
    /// The `etalon` that it runs.
    pub program: PathBuf,
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Scene {
    /// On the disk of the build, which is no RAM disk.
    pub fn new() -> Scene {
        Scene::at(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    pub fn at(base: &Path) -> Scene {
        Scene { folder: tempfile::tempdir_in(base).unwrap(), program: env!("CARGO_BIN_EXE_etalon").into() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> &Scene {
        std::fs::write(self.path().join(name), text).unwrap();
        self
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.path()).env("NO_COLOR", "1").env("HOME", self.path());
        for variable in ["PGPASSWORD", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSFILE"] {
            command.env_remove(variable);
        }
        command
    }

    pub fn etalon(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
