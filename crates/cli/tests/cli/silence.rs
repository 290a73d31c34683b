//! A server that does not answer: étalon says so in time, and one signal ends it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::Scene;
use crate::server_changes::{fresh_postgres, psql};

/// Starts `etalon`, waits for `words`, sends one signal, and returns the exit code and all that was said.
fn told_and_ended(scene: &Scene, args: &[&str], words: &str, signal: &str) -> (Option<i32>, String) {
    let mut child = scene.start(args);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let (sender, lines) = channel();
    let reader = thread::spawn(move || {
        let mut line = String::new();
        while stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
            let _ = sender.send(std::mem::take(&mut line));
        }
    });
    let mut said = String::new();
    let started = Instant::now();
    while !said.contains(words) {
        match lines.recv_timeout(Duration::from_secs(60).saturating_sub(started.elapsed())) {
            Ok(line) => said.push_str(&line),
            Err(_) => {
                child.kill().unwrap();
                panic!("`{words}` was not said: {said}");
            }
        }
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let signalled = Instant::now();
    let status = child.wait().unwrap();
    let took = signalled.elapsed();
    reader.join().unwrap();
    said.extend(lines.try_iter());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert!(took < Duration::from_secs(5), "{took:?}: {said}{stdout}");
    (status.code(), said)
}

#[test]
fn a_silent_listener_is_told_of_and_one_signal_ends_it() {
    for (scheme, signal) in [("postgres", "-TERM"), ("mysql", "-INT"), ("mssql", "-TERM")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://u:p@127.0.0.1:{}/d", listener.local_addr().unwrap().port());
        let scene = Scene::new();
        let words = "has not answered étalon's login for 5 s";
        let (code, said) = told_and_ended(&scene, &["run", &url, "--quiet"], words, signal);
        assert_eq!(code, Some(130), "{said}");
        assert!(said.contains("interrupted: "), "{said}");
        // A shell tells what it starts in the background to ignore -INT; only a run hears it all the same.
        let (_, said) = told_and_ended(&scene, &["doctor", &url], words, "-TERM");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_missing_standby_is_told_of_and_one_signal_ends_it() {
    let server = fresh_postgres();
    let scene = Scene::new();
    psql(server.port, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'none_there'");
    psql(server.port, "postgres", "SELECT pg_reload_conf()");
    let url = format!("postgres://{}@127.0.0.1:{}/postgres", crate::server::ROLE, server.port);
    let words = "it waits for a synchronous standby to confirm a commit (IPC: SyncRep)";
    let (code, said) = told_and_ended(&scene, &["run", &url, "--rounds", "2"], words, "-TERM");
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("etalon resume "), "{said}");
    psql(server.port, "postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    psql(server.port, "postgres", "SELECT pg_reload_conf()");
    let left =
        "DO $$ BEGIN ASSERT (SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'etalon'); END $$";
    psql(server.port, "postgres", left);
}
