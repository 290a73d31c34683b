//! Private servers that die in a start on the copy of their data, which fails that run and not the experiment.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use conductor::experiment::ExperimentOptions;
use conductor::{Conductor, ExperimentEnd, Registry};
use load::observer::Observer;
use model::RunState;
use store::Store;
use workloads::system::Consent;

use crate::{SMALL, create, parse};

#[derive(Default)]
struct Warned(Vec<String>);

impl Observer for Warned {
    fn warning(&mut self, text: &str) {
        // This machine may be busy, too.
        if text.contains("private server") {
            self.0.push(text.to_owned());
        }
    }
}

struct Installed {
    engine: &'static str,
    server: &'static str,
    /// Of all programs that are needed.
    folders: &'static [&'static str],
}

const POSTGRES: Installed = Installed { engine: "postgres", server: "postgres", folders: &["/usr/lib/postgresql"] };
const MARIADB: Installed = Installed { engine: "mariadb", server: "mariadbd", folders: &["/usr/bin", "/usr/sbin"] };

/// Its programs in a folder of their own, where the server does a deed instead of those of its starts on a copy that are named.
struct Mortal {
    folder: tempfile::TempDir,
    engine: &'static str,
}

impl Mortal {
    fn new(installed: &Installed, deed: &str, starts: &str) -> Mortal {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let newest = |folder: &&str| {
            let versions = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("bin"));
            versions.filter(|bin| bin.is_dir()).max().unwrap_or_else(|| Path::new(folder).to_owned())
        };
        for entry in installed.folders.iter().map(newest).flat_map(|folder| fs::read_dir(folder).unwrap()) {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
            if name == installed.server {
                // Beside the working folder, which is the data's, a copy is kept.
                let script = format!(
                    "#!/bin/sh\nif [ -d ../kept-0 ]; then echo >> {0}; case $(wc -l < {0}) in {starts}) {deed};; esac; fi\n\
                     exec {1} \"$@\"\n",
                    folder.path().join("starts").display(),
                    path.display()
                );
                fs::write(bin.join(name), script).unwrap();
                fs::set_permissions(bin.join(installed.server), fs::Permissions::from_mode(0o755)).unwrap();
            } else if !bin.join(&name).exists() {
                symlink(path, bin.join(name)).unwrap();
            }
        }
        // MariaDB looks for more beside its programs, and for its server among the administrator's.
        for (name, at) in [("share", "/usr/share"), ("lib", "/usr/lib"), ("sbin", "bin")] {
            symlink(at, folder.path().join(name)).unwrap();
        }
        // Who the server runs as counts its starts.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Mortal { folder, engine: installed.engine }
    }

    /// Two rounds of one case, or what is left of them.
    fn conduct(&self, on_error: &str) -> (ExperimentEnd, Vec<String>, Store) {
        let registry = Registry::built_in().with_workload(&SMALL);
        let text = format!(
            "[systems.a]\nserver = {{ engine = \"{}\", bin_dir = \"{}\" }}\nreset = \"restore\"\n[[benchmarks]]\n\
             workload = \"{}\"\nwarehouses = 1\nclients = 2\n[schedule]\nrounds = 2\non_error = \"{on_error}\"\n\
             warmup = \"0s\"\nduration = \"500ms\"\n",
            self.engine,
            self.folder.path().join("bin").display(),
            SMALL.name
        );
        let plan = parse(&text, &registry);
        let path = self.folder.path().join("a.etalon");
        let mut store = if path.exists() { Store::open(&path).unwrap() } else { create(&path, &plan) };
        let options = ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)));
        let mut warned = Warned::default();
        let ended = Conductor::new(&registry, &plan, &mut store, options).run_all(&mut warned).unwrap();
        println!("{ended:?} after {} starts, warned {:#?}", self.starts(), warned.0);
        (ended, warned.0, store)
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.folder.path().join("starts")).unwrap_or_default().lines().count()
    }
}

fn outcomes(store: &Store) -> Vec<(u32, RunState)> {
    store.runs().unwrap().into_iter().map(|run| (run.planned.round, run.state)).collect()
}

const TRIED: &str = "cannot start the private server on a copy of the loaded data: ";

/// Of the starts the first is on the copy, the second revives the server, the third is on the copy again, and the fourth begins the
/// second round.
fn a_kill_is_survived(installed: &Installed) {
    let mortal = Mortal::new(installed, "kill -9 $$", "1|4");
    let (ended, warned, store) = mortal.conduct("stop");
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    assert_eq!(outcomes(&store), [(0, RunState::Failed), (0, RunState::Measured), (1, RunState::Measured)]);
    let killed = format!("{TRIED}it was killed (signal: 9 (SIGKILL)), and has logged nothing; if memory ran out");
    assert!(warned[0].contains(&killed) && warned[0].contains("; waiting up to "), "{warned:?}");
    assert!(warned[1].contains("it was killed") && warned[1].ends_with("; its next run tries it again"), "{warned:?}");
    assert_eq!(warned.len(), 2);
}

fn a_death_fails_a_run_and_is_resumed(installed: &Installed) {
    let mortal = Mortal::new(installed, "exit 3", "1");
    let (ended, ..) = mortal.conduct("stop");
    let ExperimentEnd::Stopped { reason, .. } = ended else { panic!("{ended:?}") };
    assert!(reason.contains(&format!("{TRIED}it ended (exit status: 3), and has logged nothing; `reset")), "{reason}");
    let (ended, warned, store) = mortal.conduct("stop");
    assert_eq!((ended, warned.len()), (ExperimentEnd::Complete { failed: 0 }, 0));
    assert_eq!(outcomes(&store), [(0, RunState::Failed), (0, RunState::Measured), (1, RunState::Measured)]);
}

fn a_death_between_rounds_fails_the_next_run(installed: &Installed) {
    let mortal = Mortal::new(installed, "echo 'it cannot' >&2; exit 3", "2|3");
    let (ended, warned, store) = mortal.conduct("continue");
    assert_eq!(ended, ExperimentEnd::Complete { failed: 1 });
    assert_eq!(outcomes(&store), [(0, RunState::Measured), (1, RunState::Failed)]);
    let failed = "cannot start the private server: it cannot";
    assert!(warned.len() == 1 && warned[0].contains(failed), "{warned:?}");
    assert_eq!(store.runs().unwrap()[1].reason.as_deref(), Some(failed));
}

#[test]
fn a_postgresql_that_dies_in_a_start_on_its_copy_fails_a_run_and_not_the_experiment() {
    a_kill_is_survived(&POSTGRES);
    a_death_fails_a_run_and_is_resumed(&POSTGRES);
    a_death_between_rounds_fails_the_next_run(&POSTGRES);
}

#[test]
fn a_mariadb_that_dies_in_a_start_on_its_copy_fails_a_run_and_not_the_experiment() {
    a_kill_is_survived(&MARIADB);
    a_death_fails_a_run_and_is_resumed(&MARIADB);
    a_death_between_rounds_fails_the_next_run(&MARIADB);
}
