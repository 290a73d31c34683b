//! What an étalon that was killed has left behind: offered to be removed on a terminal, removed elsewhere.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::scene::{Ran, Scene, ran, sim_plan};
use crate::server_changes::{Address, answer, fresh_postgres, postgres_url, psql_command, store_in, wait_until};
use crate::until_sure::measured;

/// A folder as left by an étalon of another boot, with a file elsewhere, in the scene's own temporary folder: other
/// tests look for leftovers, too.
fn left(scene: &Scene) -> (PathBuf, PathBuf) {
    let place = scene.path().join("tmp");
    let folder = place.join("etalon-disk-4711-0badcafe");
    std::fs::create_dir_all(&folder).unwrap();
    // Written by this host, except for process and boot.
    let living = host::scratch::Scratch::new("disk", Some(&place)).unwrap();
    let written = std::fs::read_to_string(living.path().join("owner")).unwrap();
    let other = |line: &str| match line.split_once('=').unwrap().0 {
        "pid" => "pid=4711".to_owned(),
        "boot" => "boot=another".to_owned(),
        _ => line.to_owned(),
    };
    let owner: Vec<String> = written.lines().map(other).collect();
    std::fs::write(folder.join("owner"), owner.join("\n") + "\n").unwrap();
    drop(living);
    let file = scene.path().join("target.dat");
    host::target::make_file(&file, 1 << 20, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    std::fs::write(folder.join("files"), format!("{}\n", file.display())).unwrap();
    (folder, file)
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "", "rounds = 1\nwarmup = \"10ms\"\nduration = \"50ms\""));
    scene
}

fn etalon(scene: &Scene, args: &[&str]) -> Ran {
    ran(scene.command(args).env("TMPDIR", scene.path().join("tmp")).output().unwrap())
}

/// Runs the plan on a pseudo-terminal where `answer` is typed; returns its output. `None` without util-linux's
/// `script`.
fn on_a_terminal(scene: &Scene, answer: &str) -> Option<String> {
    let etalon = scene.command(&["run", "p.toml"]);
    let line = format!("exec {} run p.toml", etalon.get_program().to_str().unwrap());
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(scene.path());
    script.env("TMPDIR", scene.path().join("tmp")).env("NO_COLOR", "1").env("SHELL", "/bin/sh");
    let started = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        eprintln!("skipped: there is no `script`");
        return None;
    };
    child.stdin.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    if ran.stderr.contains("unrecognized option") || ran.stderr.contains("illegal option") {
        eprintln!("skipped: {}", ran.stderr);
        return None;
    }
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    Some(ran.stdout)
}

fn are_there(folder: &Path, file: &Path) -> (bool, bool) {
    (folder.exists(), file.exists())
}

#[test]
fn somebody_at_a_terminal_is_asked() {
    let scene = scene();
    let (folder, file) = left(&scene);
    let Some(seen) = on_a_terminal(&scene, "n\n") else { return };
    for part in ["left behind:", "etalon-disk-4711-0badcafe", "target.dat", "Remove it all? [Y/n]"] {
        assert!(seen.contains(part), "{part} is missing: {seen}");
    }
    assert!(seen.contains("left as it is; `etalon doctor --clean` removes it"), "{seen}");
    assert_eq!(are_there(&folder, &file), (true, true), "it was not agreed to");
    let seen = on_a_terminal(&scene, "\n").unwrap();
    assert!(seen.contains("removed what an étalon that was killed has left behind"), "{seen}");
    assert_eq!(are_there(&folder, &file), (false, false));
    let seen = on_a_terminal(&scene, "").unwrap();
    assert!(!seen.contains("Remove it all?") || !seen.contains("0badcafe"), "{seen}");
}

#[test]
fn where_nobody_can_be_asked_it_is_removed_and_named() {
    let scene = scene();
    let (folder, file) = left(&scene);
    let said = ["removed what an étalon that was killed has left behind", "0badcafe", "target.dat"];
    etalon(&scene, &["run", "p.toml"]).says(0, &said);
    assert_eq!(are_there(&folder, &file), (false, false));
}

#[test]
fn the_doctor_names_it_and_removes_it_when_told() {
    let scene = scene();
    let (folder, file) = left(&scene);
    let told = etalon(&scene, &["doctor"]);
    assert!(told.stdout.contains("warn    left behind: "), "{}", told.stdout);
    assert!(told.stdout.contains("0badcafe (files elsewhere: 1)"), "{}", told.stdout);
    assert!(told.stdout.contains("fix: etalon doctor --clean"), "{}", told.stdout);
    assert_eq!(are_there(&folder, &file), (true, true), "it only looks");
    let cleaned = etalon(&scene, &["doctor", "--clean"]);
    assert!(cleaned.stderr.contains("removed what an étalon that was killed"), "{}", cleaned.stderr);
    assert!(!cleaned.stdout.contains("0badcafe"), "{}", cleaned.stdout);
    assert_eq!(are_there(&folder, &file), (false, false));
}

/// Number of étalon's schemas in a database.
fn schemas(port: u16, database: &str) -> String {
    let sql = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = 'etalon'";
    answer(psql_command(port, database), &["-A", "-t", "-c", sql]).unwrap().trim().to_owned()
}

#[test]
fn what_stays_in_a_server_that_another_took_the_place_of_is_said() {
    let (first, second) = (fresh_postgres(), fresh_postgres());
    let address = Address::new([first.port]);
    let scene = Scene::new();
    scene.write(
        "p.toml",
        &format!(
            "[systems.a]\nurl = \"{}\"\n[systems.b]\nurl = \"{}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
             script = \"select-only\"\nclients = 1\nscale = 1\n[schedule]\nrounds = 8\nwarmup = \"50ms\"\nduration = \"300ms\"\n",
            postgres_url(second.port, "a"),
            postgres_url(address.port, "b")
        ),
    );
    let child = scene.start(&["run", "p.toml", "-o", "s"]);
    wait_until("the second round", || store_in(&scene).is_some_and(|store| measured(&store).len() > 3));
    address.move_to(second.port);
    let ended = ran(child.wait_with_output().unwrap());
    assert!(ended.stderr.contains("system `b`: cannot remove what étalon made in it"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("another server answers in its place (instance.system_identifier"),
        "{}",
        ended.stderr
    );
    assert_eq!((schemas(first.port, "b"), schemas(second.port, "a")), ("1".to_owned(), "0".to_owned()));
    address.move_to(first.port);
    scene.etalon(&["run", "p.toml", "--quick"]).says(0, &[]);
    assert_eq!(schemas(first.port, "b"), "0", "the next run there removes it");
}
