//! Full disks and read-only ones: small file systems in memory, where the tests may mount them (root on Linux).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::RunState;
use store::{Store, StoreError};

use crate::fixture::{copy_from_outside, create, header, names_in, noise, order, plan, record};

/// A mounted tmpfs; unmounted when dropped, also by a panic.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    /// `None`, with the reason printed, where it cannot be mounted.
    fn new(size: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "etalon-test"]).arg(folder.path());
        match mount.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => Some(Disk { folder }),
            Ok(output) => {
                println!("skipped: cannot mount: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(e) => {
                println!("skipped: cannot run mount: {e}");
                None
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("x.etalon")
    }

    fn fill(&self) {
        let mut junk = File::create(self.folder.path().join("junk")).unwrap();
        let chunk = noise(1, 4096);
        while junk.write_all(&chunk).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.folder.path().join("junk")).unwrap();
    }

    fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.folder.path()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(self.folder.path()).output();
        if !done.is_ok_and(|output| output.status.success()) {
            let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
        }
    }
}

fn is_full(error: &StoreError, path: &Path) -> bool {
    matches!(error, StoreError::Full { path: found, .. } if found == path) && error.hint().is_some()
}

#[test]
fn a_record_finds_space_when_the_run_has_filled_the_disk() {
    let Some(disk) = Disk::new("16m") else { return };
    let mut store = create(&disk.path(), 2);
    for planned in order(6, 2) {
        let id = store.begin_run(planned, 1).unwrap();
        disk.fill();
        store.finish_run(id, &record(planned.position, 500_000)).unwrap();
        disk.free();
    }
    disk.fill();
    store.close().unwrap();
    assert_eq!(names_in(disk.folder.path()), ["junk", "x.etalon"]);
    let store = Store::open_read_only(&disk.path()).unwrap();
    assert_eq!(store.measurements().unwrap().len(), 24);
    store.check_integrity().unwrap();
}

#[test]
fn a_full_disk_costs_nothing_that_was_there() {
    let Some(disk) = Disk::new("16m") else { return };
    let (path, order) = (disk.path(), order(6, 1));
    let mut store = create(&path, 1);
    let first = store.begin_run(order[0], 1).unwrap();
    store.finish_run(first, &record(0, 1000)).unwrap();
    let id = store.begin_run(order[1], 1).unwrap();
    disk.fill();
    let error = store.finish_run(id, &record(1, 6_000_000)).unwrap_err();
    assert!(is_full(&error, &path), "{error:?}");
    assert!(error.to_string().contains("record run 2"), "{error}");
    // Rolled back, readable by us and by others.
    for store in [&store, &Store::open_read_only(&path).unwrap()] {
        assert_eq!(store.runs().unwrap()[1].state, RunState::Running);
        assert_eq!(store.measurements().unwrap().len(), 2);
        assert!(store.series_of(id.get()).unwrap().is_empty());
        store.check_integrity().unwrap();
    }
    // The same record can be tried again.
    disk.free();
    store.finish_run(id, &record(1, 6_000_000)).unwrap();
    assert_eq!(store.series_of(id.get()).unwrap(), record(1, 6_000_000).series);
    store.close().unwrap();
    assert_eq!(names_in(disk.folder.path()), ["x.etalon"]);
}

#[test]
fn an_experiment_that_ran_out_of_disk_can_be_resumed() {
    let Some(disk) = Disk::new("12m") else { return };
    let (path, order) = (disk.path(), order(6, 1));
    let mut store = create(&path, 1);
    let id = store.begin_run(order[0], 1).unwrap();
    disk.fill();
    assert!(is_full(&store.finish_run(id, &record(0, 6_000_000)).unwrap_err(), &path));
    drop(store);
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.runs().unwrap()[0].state, RunState::Running);
    drop(reader);
    // Still full: what we cannot have is said, and nothing is spoilt by trying.
    match Store::open(&path) {
        Ok(mut store) => {
            let _ = store.abort_running("out of disk");
            // Until the runs' reserve cannot be had either.
            disk.fill();
            assert!(is_full(&store.begin_run(order[0], 2).unwrap_err(), &path));
        }
        Err(error) => assert!(is_full(&error, &path), "{error:?}"),
    }
    disk.free();
    let mut store = Store::open(&path).unwrap();
    store.abort_running("out of disk").unwrap();
    assert_eq!(store.pending().unwrap(), order);
    let id = store.begin_run(order[0], 3).unwrap();
    store.finish_run(id, &record(0, 1000)).unwrap();
    store.check_integrity().unwrap();
}

#[test]
fn a_store_that_finds_no_space_is_not_created() {
    let Some(disk) = Disk::new("1m") else { return };
    disk.fill();
    let error = Store::create(&disk.path(), &header(plan()), &order(6, 1)).unwrap_err();
    assert!(is_full(&error, &disk.path()), "{error:?}");
    assert_eq!(names_in(disk.folder.path()), ["junk"]);
    // Also when there is space for a part of it only.
    for kilobytes in (4..400).step_by(4) {
        disk.free();
        fs::write(disk.folder.path().join("junk"), noise(2, (1024 - kilobytes) * 1024)).unwrap();
        match Store::create(&disk.path(), &header(plan()), &order(6, 1)) {
            Ok(store) => {
                store.close().unwrap();
                fs::remove_file(disk.path()).unwrap();
            }
            Err(error) => assert!(is_full(&error, &disk.path()), "{kilobytes} KB: {error:?}"),
        }
        assert_eq!(names_in(disk.folder.path()), ["junk"], "{kilobytes} KB");
    }
}

#[test]
fn stores_on_a_read_only_disk() {
    let Some(disk) = Disk::new("16m") else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 1);
    let id = store.begin_run(order(6, 1)[0], 1).unwrap();
    store.finish_run(id, &record(0, 1000)).unwrap();
    // As a killed process leaves them: with all files, and without the one that can be made again.
    let folder = disk.folder.path();
    for name in ["killed.etalon", "partial.etalon"] {
        copy_from_outside(&path, &folder.join(name));
        copy_from_outside(&dir.path().join("x.etalon-wal"), &folder.join(format!("{name}-wal")));
    }
    copy_from_outside(&dir.path().join("x.etalon-shm"), &folder.join("killed.etalon-shm"));
    // In WAL mode, but with nothing in the WAL.
    fs::write(folder.join("idle.etalon-wal"), "").unwrap();
    store.close().unwrap();
    fs::copy(&path, folder.join("closed.etalon")).unwrap();
    fs::copy(&path, folder.join("idle.etalon")).unwrap();
    let idle = rusqlite::Connection::open(folder.join("idle.etalon")).unwrap();
    idle.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    drop(idle);
    disk.make_read_only();

    for name in ["closed.etalon", "idle.etalon", "killed.etalon"] {
        let store = Store::open_read_only(&folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(store.measurements().unwrap().len(), 2, "{name}");
        let error = Store::open(&folder.join(name)).unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{name}: {error:?}");
    }
    // Better no answer than one without the last runs.
    let error = Store::open_read_only(&folder.join("partial.etalon")).unwrap_err();
    assert!(matches!(error, StoreError::Unrecovered { .. }), "{error:?}");
    let error = Store::create(&folder.join("new.etalon"), &header(plan()), &[]).unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
}
