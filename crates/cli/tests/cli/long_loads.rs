//! A long load that is killed goes on where it ended.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use model::RunState;
use store::Store;

use crate::scene::{Scene, ran};
use crate::server::{ROLE, Server, programs};

/// Of étalon's database; empty while there is no such table.
fn asked(server: &Server, sql: &str) -> String {
    let mut psql = Command::new(programs().join("psql"));
    psql.args(["-U", ROLE, "-d", "postgres", "-AtXc", sql, "-h"]).arg(server.folder());
    String::from_utf8(psql.output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Parts that are there: the transactions that loaded them, and the file that they lie in.
fn parts(server: &Server) -> Vec<String> {
    let notes = "SELECT concat_ws(' ', part, n.xmin, pg_relation_filenode('etalon.pgbench_accounts')) \
                 FROM etalon.etalon_loaded n WHERE row_count > 0 ORDER BY part";
    asked(server, notes).lines().map(str::to_owned).collect()
}

#[test]
fn a_killed_load_goes_on_where_it_ended() {
    let server = Server::start(&[]);
    let scene = Scene::new();
    let plan = format!(
        "[systems.a]\nurl = \"postgres://{ROLE}@/postgres?host={}\"\n\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-only\"\nscale = 12\n\n[schedule]\nrounds = 1\nwarmup = \"10ms\"\nduration = \"100ms\"\n",
        server.folder().display()
    );
    scene.write("p.toml", &plan);
    let until = Instant::now() + Duration::from_secs(120);
    let wait_for = |so_many: usize, child: &mut std::process::Child| loop {
        let parts = parts(&server);
        if parts.len() >= so_many {
            return parts;
        }
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < until, "only {parts:?} were seen");
        thread::sleep(Duration::from_millis(10));
    };
    let mut child = scene.start(&["run", "p.toml"]);
    wait_for(4, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    // Sessions end a moment later.
    thread::sleep(Duration::from_millis(300));
    let there = parts(&server);
    let store = scene.store();
    let mut child = scene.start(&["resume", store.to_str().unwrap()]);
    let later = wait_for(there.len() + 1, &mut child);
    assert!(there.iter().all(|part| later.contains(part)), "{there:?} were there, and then {later:?}");
    ran(child.wait_with_output().unwrap()).says(0, &[]);
    let store = Store::open_read_only(&store).unwrap();
    assert!(store.runs().unwrap().iter().any(|run| run.state == RunState::Measured));
    assert_eq!(asked(&server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
}
