//! A conductor that is killed at any moment loses nothing that it acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use model::RunState;
use store::Store;

use crate::fixture::{Random, again, create, names_in, order, record};

const TASK: &str = "ETALON_TEST_JOURNAL";
const MAKE: &str = "ETALON_TEST_CREATE";
const KILLS: u64 = 70;
const ROUNDS: u32 = 40;
/// Runs between two closings of the store.
const SITTING: usize = 9;

/// The size of a record: a few bytes, or more than the reserve.
fn bytes(position: u32) -> usize {
    if position % 50 == 49 { 3_000_000 } else { (position as usize * 7919) % 60_000 }
}

/// A line by itself, whatever the test harness has printed before it.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The conductor that is killed; no test by itself.
#[test]
fn child_that_journals() {
    let Some(path) = std::env::var_os(TASK).map(PathBuf::from) else { return };
    loop {
        let mut store = if path.exists() { Store::open(&path).unwrap() } else { create(&path, ROUNDS) };
        store.abort_running("killed").unwrap();
        say("OPEN");
        let pending = store.pending().unwrap();
        if pending.is_empty() {
            store.close().unwrap();
            return;
        }
        for planned in pending.into_iter().take(SITTING) {
            let id = store.begin_run(planned, 1).unwrap();
            store.finish_run(id, &record(planned.position, bytes(planned.position))).unwrap();
            say(&format!("DONE {}", planned.position));
        }
        store.close().unwrap();
    }
}

/// Makes one store after the other; no test by itself.
#[test]
fn child_that_creates() {
    let Some(folder) = std::env::var_os(MAKE).map(PathBuf::from) else { return };
    for n in 0..1000 {
        let store = create(&folder.join(format!("{n}.etalon")), 2);
        say(&format!("DONE {n}"));
        drop(store);
    }
}

/// Runs a child, kills it after a while, and returns the numbers that it reported.
fn run_and_kill(test: &str, variable: &str, task: &Path, random: &mut Random) -> Vec<u32> {
    let mut child = again(test, variable, task).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || out.lines().map_while(Result::ok).collect::<Vec<_>>());
    std::thread::sleep(Duration::from_micros(random.below(150_000)));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
    let lines = reader.join().unwrap();
    lines.iter().filter_map(|line| line.strip_prefix("DONE ")?.parse().ok()).collect()
}

/// Checks a store that was left behind against what its conductor said; returns how many runs were running.
fn examine(path: &Path, done: &BTreeSet<u32>, as_reader: bool) -> usize {
    let mut store = if as_reader { Store::open_read_only(path).unwrap() } else { Store::open(path).unwrap() };
    store.check_integrity().unwrap();
    let runs = store.runs().unwrap();
    let running = runs.iter().filter(|run| run.state == RunState::Running).count();
    assert!(running <= 1);
    if !as_reader {
        assert_eq!(store.abort_running("killed").unwrap(), running);
        assert!(store.runs().unwrap().iter().all(|run| run.state != RunState::Running));
    }
    let measured: BTreeMap<u32, i64> =
        runs.iter().filter(|run| run.state == RunState::Measured).map(|run| (run.planned.position, run.id)).collect();
    for position in done {
        assert!(measured.contains_key(position), "position {position} was acknowledged");
    }
    // At most one more than it could say.
    assert!(measured.len() <= done.len() + 1, "{} > {}", measured.len(), done.len());
    let expected: Vec<_> = order(6, ROUNDS).into_iter().filter(|p| !measured.contains_key(&p.position)).collect();
    assert_eq!(store.pending().unwrap(), expected);
    let mut measurements: BTreeMap<i64, Vec<_>> = BTreeMap::new();
    for found in store.measurements().unwrap() {
        measurements.entry(found.run_id).or_default().push(found.measurement);
    }
    assert_eq!(measurements.len(), measured.len());
    for (position, id) in &measured {
        assert_eq!(measurements[id], record(*position, 0).measurements, "whole or not at all");
    }
    if let Some((position, id)) = measured.last_key_value() {
        assert_eq!(store.series_of(*id).unwrap(), record(*position, bytes(*position)).series);
    }
    running
}

#[test]
fn a_killed_conductor_loses_nothing_that_it_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut random = Random(20_261_121);
    let mut done = BTreeSet::new();
    let (mut runs, mut running, mut finished) = (0, 0, 0);
    for round in 0..4 * KILLS {
        // A busy disk lets a child do little before it is killed.
        if round >= KILLS && runs > 20 {
            break;
        }
        let reported = run_and_kill("kill::child_that_journals", TASK, &path, &mut random);
        runs += reported.len();
        done.extend(reported);
        if !path.exists() {
            assert!(done.is_empty());
            continue;
        }
        // A report made before anybody has recovered the store sees the same.
        if round % 2 == 0 {
            examine(&path, &done, true);
        }
        running += examine(&path, &done, false);
        let store = Store::open(&path).unwrap();
        done = store
            .runs()
            .unwrap()
            .iter()
            .filter(|t| t.state == RunState::Measured)
            .map(|t| t.planned.position)
            .collect();
        store.close().unwrap();
        assert_eq!(names_in(dir.path()), ["x.etalon"], "nothing is left of the dead");
        if done.len() as u32 == 6 * ROUNDS {
            std::fs::remove_file(&path).unwrap();
            done.clear();
            finished += 1;
        }
    }
    println!("{runs} runs, {running} found running, {finished} experiments finished");
    assert!(runs > 20, "the children did get to work: {runs}");
}

#[test]
fn a_store_is_there_whole_or_not_at_all() {
    let mut random = Random(7);
    let (mut stores, mut leftovers) = (0, 0);
    for kills in 0..100 {
        // A busy disk lets few be made before each kill.
        if kills >= 20 && stores > 2 {
            break;
        }
        let dir = tempfile::tempdir().unwrap();
        let done = run_and_kill("kill::child_that_creates", MAKE, dir.path(), &mut random);
        let names = names_in(dir.path());
        for n in done {
            assert!(names.contains(&format!("{n}.etalon")));
        }
        leftovers += names.iter().filter(|name| name.ends_with(".new")).count();
        for name in names.iter().filter(|name| name.ends_with(".etalon")) {
            let path = dir.path().join(name);
            let store = Store::open_read_only(&path).unwrap();
            assert_eq!(store.pending().unwrap(), order(6, 2));
            store.check_integrity().unwrap();
            drop(store);
            Store::open(&path).unwrap().close().unwrap();
            stores += 1;
        }
    }
    println!("{stores} stores whole, {leftovers} scaffolds left behind");
    assert!(stores > 2, "{stores} stores were made");
}
