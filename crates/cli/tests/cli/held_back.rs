//! A server that is held back while it is measured: by a quota of its own, a signal or a freezer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::scene::Scene;
use crate::server_changes::{answer, fresh_postgres, postgres_url, psql_command, store_in, wait_until};

/// What `compare` says of a run of two systems on one server, which `hold` is given the process of once it is under load.
fn said_when(hold: impl FnOnce(u32)) -> String {
    let (scene, server) = (Scene::new(), fresh_postgres());
    let (a, b) = (postgres_url(server.port, "a"), postgres_url(server.port, "b"));
    scene.write("one.sql", "SELECT 1;\n").write(
        "p.toml",
        &format!(
            "[systems.a]\nurl = \"{a}\"\n[systems.b]\nurl = \"{b}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
             script = \"one.sql\"\nclients = 1\ntables = \"none\"\n[schedule]\nrounds = 2\nwarmup = \"100ms\"\nduration = \"3s\"\n"
        ),
    );
    let child = scene.start(&["run", "p.toml", "-o", "s"]);
    let is_loaded = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT 1%'";
    let ask = || answer(psql_command(server.port, "postgres"), &["-Atc", is_loaded]);
    wait_until("a load", || ask().unwrap().trim() != "0");
    hold(server.pid());
    let ended = child.wait_with_output().unwrap();
    let Some(store) = store_in(&scene) else { panic!("{}", String::from_utf8_lossy(&ended.stderr)) };
    let compared = scene.etalon(&["compare", store.to_str().unwrap()]);
    compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_server_that_was_stopped_is_named() {
    let said = said_when(|pid| {
        let of_all = |signal: &str| {
            let pids = host::process::tree_pids(pid).unwrap();
            Command::new("kill").arg(signal).args(pids.iter().map(u32::to_string)).status().unwrap();
        };
        of_all("-STOP");
        thread::sleep(Duration::from_millis(2_200));
        of_all("-CONT");
    });
    assert!(said.contains("stood still, by a signal or a freezer"), "{said}");
}

/// A control group that is removed in the end.
struct Group(PathBuf);

impl Group {
    fn make(controller: &str) -> Option<Group> {
        let (one, two) = (Path::new("/sys/fs/cgroup").join(controller), Path::new("/sys/fs/cgroup"));
        let above = if one.exists() { &one } else { two };
        let group = Group(above.join(format!("{controller}-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        Some(group)
    }

    /// Writes the files that there are, whose names depend on the version.
    fn set(&self, files: [(&str, &str); 2]) -> bool {
        files.iter().any(|(name, text)| {
            let file = self.0.join(name);
            file.exists() && fs::write(file, text).is_ok()
        })
    }

    /// Takes the server and its sessions. One may have ended meanwhile.
    fn take(&self, pid: u32) {
        let members = self.0.join("cgroup.procs");
        for each in host::process::tree_pids(pid).unwrap() {
            let taken = fs::write(&members, each.to_string());
            assert!(taken.is_ok() || each != pid, "{taken:?}");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The server has ended; its last process may take a moment.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_quota_of_the_servers_own_is_named() {
    let limits = [("cpu.cfs_quota_us", "3000"), ("cpu.max", "3000 100000")];
    let Some(group) = Group::make("cpu").filter(|group| group.set(limits)) else {
        return println!("skipped: no group with a quota can be made");
    };
    let said = said_when(|pid| group.take(pid));
    assert!(said.contains("held back") && said.contains("by its quota of 0.03 cores"), "{said}");
}

/// Nothing in the process table shows it.
#[test]
fn a_server_in_a_freezer_is_named() {
    let Some(group) = Group::make("freezer") else { return println!("skipped: no group can be made") };
    let said = said_when(|pid| {
        group.take(pid);
        assert!(group.set([("freezer.state", "FROZEN"), ("cgroup.freeze", "1")]));
        thread::sleep(Duration::from_millis(2_200));
        assert!(group.set([("freezer.state", "THAWED"), ("cgroup.freeze", "0")]));
    });
    assert!(said.contains("stood still, by a signal or a freezer"), "{said}");
}
