//! The command run in a test's folder.

#[path = "../shared/scene.rs"]
mod folder;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};

pub use folder::{Ran, Scene, ran};

impl Scene {
    /// With an `etalon` that has SQLCipher: this build's, or the one that `cargo xtask test` made beside it.
    pub fn with_sqlcipher() -> Option<Scene> {
        let mut scene = Scene::new();
        match std::env::var_os("ETALON_TEST_SQLCIPHER") {
            Some(program) => {
                scene.program = program.into();
                Some(scene)
            }
            None if cfg!(feature = "sqlcipher") => Some(scene),
            None => {
                eprintln!("skipped: no etalon with SQLCipher; `--features sqlcipher` builds one");
                None
            }
        }
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

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

impl Ran {
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

pub fn sim_plan(a: &str, b: &str, schedule: &str) -> String {
    format!(
        "[systems.a]\nurl = \"sim:?{a}\"\n\n[systems.b]\nurl = \"sim:?{b}\"\n\n[[benchmarks]]\nname = \"points\"\n\
         workload = \"transactions\"\nscript = \"select-only\"\nclients = [1, 4]\n\n[schedule]\nseed = 7\n{schedule}\n"
    )
}

/// A plan of SQLite's two journals, each with one client and with two: four cases.
pub fn sqlite_plan(schedule: &str) -> String {
    format!(
        "[systems.rollback]\nurl = \"sqlite:rollback.db\"\n[systems.wal]\nurl = \"sqlite:wal.db\"\n\
         settings = {{ journal_mode = \"WAL\" }}\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-update\"\nclients = [1, 2]\n[schedule]\n{schedule}\n"
    )
}
