use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use store::{Store, StoreError};

use crate::fixture::{again, create, names_in, order, record};

const TASK: &str = "ETALON_TEST_HOLD_STORE";

/// The other process of a test in this file; no test by itself.
#[test]
fn child_that_holds_a_store() {
    let Some(path) = std::env::var_os(TASK) else { return };
    let _store = Store::open(Path::new(&path)).unwrap();
    writeln!(io::stdout(), "\nHELD").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_second_process_is_refused_until_the_first_is_dead() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    create(&path, 1).close().unwrap();
    let mut child = again("lock::child_that_holds_a_store", TASK, &path).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_locked = lines.map_while(Result::ok).any(|line| line == "HELD");
    let refused = Store::open(&path);
    let reader = Store::open_read_only(&path);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_locked);
    match refused.unwrap_err() {
        StoreError::Locked { pid, .. } => assert_eq!(pid, Some(child.id())),
        other => panic!("{other}"),
    }
    assert_eq!(reader.unwrap().pending().unwrap().len(), 6);
    let store = Store::open(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Locked { pid, .. }) if pid == Some(std::process::id())));
    store.close().unwrap();
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

#[test]
fn a_link_leads_to_the_same_lock_and_the_same_wal() {
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("x.etalon"), dir.path().join("link"));
    if !Command::new("ln").arg("-s").arg(&path).arg(&link).status().is_ok_and(|status| status.success()) {
        println!("skipped: cannot make a symbolic link");
        return;
    }
    assert!(matches!(Store::open(&link), Err(StoreError::Missing { .. })));
    let mut store = create(&path, 1);
    let id = store.begin_run(order(6, 1)[0], 1).unwrap();
    store.finish_run(id, &record(0, 10)).unwrap();
    assert!(matches!(Store::open(&link), Err(StoreError::Locked { .. })));
    assert_eq!(Store::open_read_only(&link).unwrap().measurements().unwrap().len(), 2);
    store.close().unwrap();
    Store::open(&link).unwrap().close().unwrap();
    assert_eq!(names_in(dir.path()), ["link", "x.etalon"]);
}

#[test]
fn a_lock_that_does_not_hold_is_noticed_at_the_next_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut first = create(&path, 1);
    let id = first.begin_run(order(6, 1)[0], 1).unwrap();
    fs::remove_file(dir.path().join("x.etalon-lock")).unwrap();
    let mut second = Store::open(&path).unwrap();
    let error = first.finish_run(id, &record(0, 10)).unwrap_err();
    assert!(matches!(error, StoreError::TakenOver { pid: Some(_), .. }), "{error}");
    drop(first);
    assert_eq!(second.abort_running("x").unwrap(), 1);
    let id = second.begin_run(order(6, 1)[0], 1).unwrap();
    second.finish_run(id, &record(0, 10)).unwrap();
    second.check_integrity().unwrap();
    second.close().unwrap();
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

#[test]
fn reports_can_be_made_during_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 1);
    let early = Store::open_read_only(&path).unwrap();
    for planned in order(6, 1) {
        let id = store.begin_run(planned, 1).unwrap();
        let before = early.measurements().unwrap().len();
        store.finish_run(id, &record(planned.position, 50_000)).unwrap();
        for reader in [&early, &Store::open_read_only(&path).unwrap()] {
            assert_eq!(reader.measurements().unwrap().len(), before + 2);
            reader.check_integrity().unwrap();
        }
    }
    // A reader at work keeps the WAL from being removed, and nothing else.
    store.close().unwrap();
    assert_eq!(early.measurements().unwrap().len(), 12);
    drop(early);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.measurements().unwrap().len(), 12);
    store.close().unwrap();
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

#[test]
fn a_report_that_is_open_lets_the_experiment_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    create(&path, 1).close().unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.pending().unwrap().len(), 6);
    let mut store = Store::open(&path).unwrap();
    let id = store.begin_run(order(6, 1)[0], 1).unwrap();
    store.finish_run(id, &record(0, 10)).unwrap();
    assert_eq!(reader.pending().unwrap().len(), 5);
}

/// Begins a run, lets its store's file meet something, and gives the error with which the run's record is stored; `None` where
/// a system does not let an open file go.
fn finish_after(store: &mut Store, happens: impl FnOnce() -> io::Result<()>) -> Option<StoreError> {
    let id = store.begin_run(order(6, 1)[0], 1).unwrap();
    if let Err(error) = happens() {
        println!("skipped: {error}");
        return None;
    }
    Some(store.finish_run(id, &record(0, 10)).unwrap_err())
}

#[test]
fn a_store_that_is_deleted_or_moved_is_written_again() {
    for moved_to in [None, Some("y.etalon")] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.etalon");
        let mut store = create(&path, 1);
        let error = finish_after(&mut store, || match moved_to {
            Some(name) => fs::rename(&path, dir.path().join(name)),
            None => fs::remove_file(&path),
        });
        let Some(error) = error else { return };
        assert!(matches!(error, StoreError::Gone { is_restored: true, .. }), "{error}");
        // The cleanup of an experiment reads and writes the store, too.
        store.abort_running("the store was gone").unwrap();
        store.close().unwrap();
        let names: Vec<&str> = ["x.etalon"].into_iter().chain(moved_to).collect();
        assert_eq!(names_in(dir.path()), names);
        for name in names {
            Store::open_read_only(&dir.path().join(name)).unwrap().check_integrity().unwrap();
        }
        assert_eq!(Store::open_read_only(&path).unwrap().measurements().unwrap().len(), 2);
    }
}

#[test]
fn a_store_whose_folder_moves_is_whole_there() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    fs::create_dir(&old).unwrap();
    let mut store = create(&old.join("x.etalon"), 1);
    let Some(error) = finish_after(&mut store, || fs::rename(&old, &new)) else { return };
    assert!(matches!(error, StoreError::Gone { is_restored: false, .. }), "{error}");
    // A change of a server is undone only if that can be noted.
    store.abort_running("the store was gone").unwrap();
    let _ = store.close();
    assert_eq!(Store::open_read_only(&new.join("x.etalon")).unwrap().measurements().unwrap().len(), 2);
}

#[test]
fn a_file_in_a_deleted_stores_place_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 1);
    let error = finish_after(&mut store, || {
        fs::remove_file(&path)?;
        fs::write(&path, "theirs")
    });
    let Some(error) = error else { return };
    assert!(matches!(error, StoreError::Gone { is_restored: false, .. }), "{error}");
    drop(store);
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
}
