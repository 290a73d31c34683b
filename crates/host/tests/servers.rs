//! Child servers, and what is left of them when étalon is killed. `sleep` stands for the server.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests; the lint spares test functions but not their helpers")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use host::process::{self, Ended, ServerProcess, ServerSpec, StopSignal, is_alive, start_mark};
use host::scratch::{Scratch, find_abandoned_in, remove_abandoned};

const SOON: Duration = Duration::from_secs(10);

fn shell(scratch: &Scratch, script: &str) -> ServerSpec {
    ServerSpec::new("/bin/sh", scratch.path().join("log"))
        .with_args(["-c", script])
        .in_folder(scratch.path())
        .in_scratch(scratch)
}

fn becomes_true(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + SOON;
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    condition()
}

#[test]
fn a_server_ends_as_asked_and_its_log_stays() {
    let scratch = Scratch::new("asked", None).unwrap();
    let spec = shell(&scratch, "echo $GREETING; echo oops >&2; exec sleep 60").with_env("GREETING", "ready");
    let mut server = ServerProcess::spawn(spec).unwrap();
    assert!(becomes_true(|| server.log_tail(5) == "ready\noops"), "{}", server.log_tail(5));
    assert_eq!(server.log_tail(1), "oops");
    assert_eq!(server.has_ended().unwrap(), None);
    let Ended::AsAsked(status) = server.stop(StopSignal::Fast, SOON).unwrap() else { panic!("killed") };
    assert!(!status.success());
    assert!(server.has_ended().unwrap().is_some());
    // Asking again is no error.
    assert!(matches!(server.stop(StopSignal::Kill, SOON).unwrap(), Ended::AsAsked(_)));
}

#[test]
fn a_server_that_does_not_listen_is_killed_with_its_children() {
    let scratch = Scratch::new("deaf", None).unwrap();
    // PostgreSQL's children lead sessions of their own, out of reach of a signal to the group.
    let apart = if cfg!(target_os = "linux") { "setsid" } else { "" };
    let script = format!("trap '' INT TERM QUIT; {apart} sleep 60 & sleep 61 & echo on; wait; sleep 62");
    let mut server = ServerProcess::spawn(shell(&scratch, &script)).unwrap();
    assert!(becomes_true(|| server.log_tail(1) == "on"));
    assert!(becomes_true(|| process::tree_pids(server.pid()).unwrap().len() == 3));
    let tree: Vec<(u32, u64)> =
        process::tree_pids(server.pid()).unwrap().into_iter().map(|pid| (pid, start_mark(pid).unwrap())).collect();
    let ended = server.stop(StopSignal::Fast, Duration::from_millis(100)).unwrap();
    assert!(matches!(ended, Ended::Killed(_)), "{ended:?}");
    assert!(becomes_true(|| !tree.iter().any(|&(pid, start)| is_alive(pid, start))));
}

#[test]
fn a_dropped_server_is_gone_and_a_missing_one_is_named() {
    let scratch = Scratch::new("dropped", None).unwrap();
    let server = ServerProcess::spawn(shell(&scratch, "exec sleep 60")).unwrap();
    let (pid, start) = (server.pid(), start_mark(server.pid()).unwrap());
    assert!(is_alive(pid, start));
    drop(server);
    assert!(!is_alive(pid, start));
    let error = ServerProcess::spawn(ServerSpec::new("/no/such/server", scratch.path().join("log"))).unwrap_err();
    assert!(error.to_string().contains("/no/such/server"), "{error}");
    let error = ServerProcess::spawn(ServerSpec::new("/bin/sh", "/no/such/folder/log")).unwrap_err();
    assert!(error.to_string().contains("/no/such/folder/log"), "{error}");
}

#[test]
fn the_cpu_of_ended_children_counts() {
    let scratch = Scratch::new("cpu", None).unwrap();
    let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let mut server = ServerProcess::spawn(shell(&scratch, &format!("({work}); echo done; sleep 60"))).unwrap();
    assert!(becomes_true(|| server.log_tail(1) == "done"));
    if cfg!(target_os = "linux") {
        assert!(server.cpu().unwrap() >= Duration::from_millis(20), "{:?}", server.cpu());
    }
    server.stop(StopSignal::Kill, SOON).unwrap();
    assert!(server.cpu().is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_leads_its_group_and_outlives_the_thread_that_started_it() {
    let scratch = Scratch::new("thread", None).unwrap();
    let spec = shell(&scratch, "exec sleep 60");
    let mut server = std::thread::spawn(move || ServerProcess::spawn(spec).unwrap()).join().unwrap();
    let pid = rustix::process::Pid::from_raw(server.pid() as i32);
    assert_eq!(rustix::process::getpgid(pid).unwrap(), pid.unwrap());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.has_ended().unwrap(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_runs_as_another_user() {
    if !process::is_root() {
        return;
    }
    let scratch = Scratch::new("user", None).unwrap();
    scratch.allow_passage().unwrap();
    let nobody = process::user_by_name("nobody").unwrap();
    let data = scratch.path().join("data");
    std::fs::create_dir(&data).unwrap();
    process::chown(&data, &nobody).unwrap();
    let spec = shell(&scratch, "touch made && id -u && id -G && exec sleep 60").in_folder(&data).run_as(nobody.clone());
    let server = ServerProcess::spawn(spec).unwrap();
    let expected = format!("{}\n{}", nobody.uid, nobody.gid);
    assert!(becomes_true(|| server.log_tail(5) == expected), "{}", server.log_tail(5));
    assert!(data.join("made").exists());
}

/// The part of a copy of this program: makes a scratch folder in `$BASE`, starts `$SCRIPT` in it, prints both and waits
/// to be killed. Without the variables there is nothing to do.
#[test]
fn helper_that_is_killed() {
    let (Ok(base), Ok(script)) = (std::env::var("HELPER_BASE"), std::env::var("HELPER_SCRIPT")) else { return };
    let scratch = Scratch::new("killed", Some(Path::new(&base))).unwrap();
    let mut spec = shell(&scratch, &script).end_signal(StopSignal::Terminate);
    if let Ok(user) = std::env::var("HELPER_USER") {
        scratch.allow_passage().unwrap();
        spec = spec.run_as(process::user_by_name(&user).unwrap());
    }
    let server = ServerProcess::spawn(spec).unwrap();
    while server.log_tail(1) != "on" {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("\nHELPER {} {}", server.pid(), scratch.path().display());
    std::thread::sleep(Duration::from_secs(60));
}

fn helper(base: &Path, script: &str, user: Option<&str>) -> (Child, u32) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "helper_that_is_killed", "--nocapture"])
        .env("HELPER_BASE", base)
        .env("HELPER_SCRIPT", script);
    if let Some(user) = user {
        command.env("HELPER_USER", user);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.starts_with("HELPER ")).unwrap();
    let pid = line.split(' ').nth(1).unwrap().parse().unwrap();
    (child, pid)
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_ends_when_etalon_is_killed() {
    let base = Scratch::new("base", None).unwrap();
    base.allow_passage().unwrap();
    for user in [None, process::is_root().then_some("nobody")] {
        let (mut etalon, server) = helper(base.path(), "echo on; exec sleep 60", user);
        let start = start_mark(server).unwrap();
        assert!(is_alive(server, start));
        assert_eq!(find_abandoned_in(base.path()), [], "étalon still runs");
        etalon.kill().unwrap();
        etalon.wait().unwrap();
        assert!(becomes_true(|| !is_alive(server, start)), "{user:?}");
        let found = find_abandoned_in(base.path());
        assert_eq!((found.len(), found[0].kind.as_str(), found[0].pid), (1, "killed", etalon.id()));
        assert!(found[0].servers.is_empty());
        remove_abandoned(&found[0]).unwrap();
        assert!(!found[0].path.exists());
    }
}

#[test]
fn a_server_that_survives_is_stopped_before_its_folder_goes() {
    let base = Scratch::new("base", None).unwrap();
    // Ignores the signal it gets when étalon ends.
    let (mut etalon, server) = helper(base.path(), "trap '' TERM; echo on; while :; do sleep 0.05; done", None);
    let start = start_mark(server).unwrap();
    etalon.kill().unwrap();
    etalon.wait().unwrap();
    let found = find_abandoned_in(base.path());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].servers, [server]);
    assert!(found[0].age < Duration::from_secs(120));
    let removed = remove_abandoned(&found[0]).unwrap();
    assert_eq!(removed.servers, [server]);
    assert!(becomes_true(|| !is_alive(server, start)));
    assert!(!removed.path.exists());
    assert!(remove_abandoned(&found[0]).is_err(), "it is gone already");
}

/// Makes a folder of this process another's.
fn change_owner(scratch: &Scratch, key: &str, value: &str) {
    let file = scratch.path().join("owner");
    let text = std::fs::read_to_string(&file).unwrap();
    let changed: Vec<String> = text
        .lines()
        .map(|line| if line.starts_with(&format!("{key}=")) { format!("{key}={value}") } else { line.to_owned() })
        .collect();
    std::fs::write(&file, changed.join("\n")).unwrap();
}

#[test]
fn a_number_that_was_given_again_is_not_the_owner() {
    let base = Scratch::new("base", None).unwrap();
    let scratch = Scratch::new("reused", Some(base.path())).unwrap();
    assert_eq!(find_abandoned_in(base.path()), []);
    change_owner(&scratch, "start_mark", "1");
    assert_eq!(find_abandoned_in(base.path()).len(), 1);
    assert_eq!(find_abandoned_in(Path::new("/no/such/folder")), []);
}

#[cfg(target_os = "linux")]
#[test]
fn another_container_s_folder_is_let_alone_until_the_machine_restarts() {
    let base = Scratch::new("base", None).unwrap();
    let scratch = Scratch::new("container", Some(base.path())).unwrap();
    change_owner(&scratch, "start_mark", "1");
    change_owner(&scratch, "pid_namespace", "pid:[1]");
    assert_eq!(find_abandoned_in(base.path()), []);
    change_owner(&scratch, "boot", "00000000-0000-0000-0000-000000000000");
    assert_eq!(find_abandoned_in(base.path()).len(), 1);
    // Another host that shares the place has another boot id, too.
    for host in ["an1234 elsewhere", ""] {
        change_owner(&scratch, "host", host);
        assert_eq!(find_abandoned_in(base.path()), [], "{host}");
    }
}

#[test]
fn a_process_that_has_nothing_to_do_with_the_folder_is_let_alone() {
    let base = Scratch::new("base", None).unwrap();
    let elsewhere = Scratch::new("elsewhere", None).unwrap();
    let scratch = Scratch::new("noted", Some(base.path())).unwrap();
    let mut stranger = ServerProcess::spawn(shell(&elsewhere, "exec sleep 60")).unwrap();
    let note = format!("{} {}\n", stranger.pid(), start_mark(stranger.pid()).unwrap());
    std::fs::write(scratch.path().join("server.pid"), note).unwrap();
    change_owner(&scratch, "start_mark", "1");
    let found = find_abandoned_in(base.path());
    assert!(found[0].servers.is_empty());
    assert!(remove_abandoned(&found[0]).unwrap().servers.is_empty());
    assert_eq!(stranger.has_ended().unwrap(), None);
}

#[test]
fn a_folder_is_private_and_goes_with_its_owner() {
    let base = Scratch::new("base", None).unwrap();
    let scratch = Scratch::new("a kind/with: marks", Some(&base.path().join("made/on/the/way"))).unwrap();
    let path = scratch.path().to_owned();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with(&format!("etalon-a_kind_with__marks-{}-", std::process::id())), "{name}");
    assert_eq!(mode(&path), 0o700);
    scratch.allow_passage().unwrap();
    assert_eq!(mode(&path), 0o711);
    std::fs::create_dir_all(path.join("deep/er")).unwrap();
    drop(scratch);
    assert!(!path.exists());
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_folder_is_removed_while_another_still_writes() {
    let scratch = Scratch::new("written", None).unwrap();
    let (folder, data) = (scratch.path().to_owned(), scratch.path().join("data"));
    std::fs::create_dir(&data).unwrap();
    // Like the children of a killed server, which end a moment later.
    let writer = std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_millis(300);
        let names = (0..).take_while(|_| Instant::now() < end);
        names.for_each(|name| drop(std::fs::write(data.join(name.to_string()), "x")));
    });
    std::thread::sleep(Duration::from_millis(50));
    scratch.remove().unwrap();
    writer.join().unwrap();
    assert!(!folder.exists());
}

#[test]
fn a_folder_without_a_word_on_whose_it_is_is_found_when_nothing_is_in_it() {
    let base = Scratch::new("base", None).unwrap();
    let folder = base.path().join("etalon-postgres-4711-0badcafe");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("owner"), "").unwrap();
    assert_eq!(find_abandoned_in(base.path()), [], "its étalon may be about to note it");
    let touched = Command::new("touch").args(["-d", "2020-01-01"]).arg(&folder).status().unwrap();
    assert!(touched.success());
    let found = find_abandoned_in(base.path());
    assert_eq!((found.len(), found[0].pid, found[0].kind.as_str()), (1, 4711, "postgres"));
    remove_abandoned(&found[0]).unwrap();
    assert!(!folder.exists());
    // What holds anything is not removed.
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("data"), "").unwrap();
    assert!(Command::new("touch").args(["-d", "2020-01-01"]).arg(&folder).status().unwrap().success());
    assert_eq!(find_abandoned_in(base.path()), []);
}
