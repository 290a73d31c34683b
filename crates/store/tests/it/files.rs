//! Files that are no stores, stores that are not sound, names that are odd.

use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use store::{Store, StoreError};

use crate::fixture::{again, create, header, names_in, order, plan, record};

fn refused(path: &Path) -> StoreError {
    let reading = Store::open_read_only(path).unwrap_err();
    let writing = Store::open(path).unwrap_err();
    assert_eq!(std::mem::discriminant(&reading), std::mem::discriminant(&writing), "{reading} / {writing}");
    assert!(writing.to_string().contains(&format!("{path:?}")), "{writing}");
    assert!(writing.hint().is_some(), "{writing}");
    writing
}

#[test]
fn what_is_no_store_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    assert!(matches!(refused(&path), StoreError::Missing { .. }));
    assert!(matches!(refused(dir.path()), StoreError::NotAFile { what: "a folder", .. }));
    for (content, expected) in [("", "it is empty"), ("name = \"plan\"\n", "it is not a SQLite database")] {
        fs::write(&path, content).unwrap();
        assert!(matches!(refused(&path), StoreError::NotAStore { what, .. } if what == expected));
    }
    fs::write(&path, vec![7_u8; 100_000]).unwrap();
    assert!(matches!(refused(&path), StoreError::NotAStore { .. }));
    assert_eq!(names_in(dir.path()), ["x.etalon"], "nothing was made beside it");
}

#[test]
fn a_strangers_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA application_id = 42; PRAGMA journal_mode = WAL; CREATE TABLE t (x);").unwrap();
    conn.execute_batch("INSERT INTO t VALUES (1)").unwrap();
    let (names, wal) = (names_in(dir.path()), fs::metadata(dir.path().join("x.etalon-wal")).unwrap().len());
    let error = refused(&path);
    assert!(error.to_string().contains("another program (application_id 0x0000002a)"), "{error}");
    assert_eq!(names_in(dir.path()), names);
    assert_eq!(fs::metadata(dir.path().join("x.etalon-wal")).unwrap().len(), wal);
}

#[test]
fn damage_is_found_before_it_is_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 4);
    for planned in order(6, 4) {
        let id = store.begin_run(planned, 1).unwrap();
        store.finish_run(id, &record(planned.position, 20_000)).unwrap();
    }
    store.close().unwrap();
    let sound = fs::read(&path).unwrap();
    for spoil in [
        |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2),
        |bytes: &mut Vec<u8>| bytes.truncate(5000),
        |bytes: &mut Vec<u8>| bytes[4096..12_288].fill(0xAA),
        |bytes: &mut Vec<u8>| bytes[100..4096].fill(0),
    ] {
        let mut bytes = sound.clone();
        spoil(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "not touched");
        // Reading does not look at every page; what it does look at is right, or it fails.
        if let Ok(store) = Store::open_read_only(&path) {
            let error = store.check_integrity().unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        }
    }
}

#[test]
fn words_that_a_stranger_wrote_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    for spoil in [
        "UPDATE experiment SET plan_json = '{}'",
        "DELETE FROM experiment",
        "UPDATE cases SET system = 'c' WHERE id = 1",
        "PRAGMA user_version = -3",
    ] {
        let path = dir.path().join("x.etalon");
        create(&path, 1).close().unwrap();
        Connection::open(&path).unwrap().execute_batch(spoil).unwrap();
        assert!(matches!(refused(&path), StoreError::Damaged { .. }), "{spoil}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn create_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    fn fails(path: &Path) -> StoreError {
        Store::create(path, &header(plan()), &order(6, 1)).unwrap_err()
    }
    fs::write(&path, "precious").unwrap();
    assert!(matches!(fails(&path), StoreError::Exists { path: found } if found == path));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
    fs::remove_file(&path).unwrap();
    // SQLite would "recover" it into the new store.
    let wal = dir.path().join("x.etalon-wal");
    fs::write(&wal, "of another store").unwrap();
    assert!(matches!(fails(&path), StoreError::Exists { path: found } if found == wal));
    fs::remove_file(&wal).unwrap();
    assert!(matches!(fails(&dir.path().join("no/x.etalon")), StoreError::NoFolder { .. }));
    assert!(matches!(fails(dir.path()), StoreError::Exists { .. }));
    // SQLite would write over it.
    let shm = dir.path().join("x.etalon-shm");
    fs::write(&shm, "another's").unwrap();
    assert!(matches!(fails(&path), StoreError::Exists { path: found } if found == shm));
    fs::remove_file(&shm).unwrap();
    create(&path, 1).close().unwrap();
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

/// Drafts once had this name, and were removed by it.
#[test]
fn a_copy_of_a_store_is_not_taken_for_a_draft() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("x.etalon"), dir.path().join("x.etalon-new"));
    create(&path, 1).close().unwrap();
    fs::copy(&path, &copy).unwrap();
    fs::write(dir.path().join("x.etalon-new-journal"), "mine").unwrap();
    Store::open(&path).unwrap().close().unwrap();
    let bytes = fs::read(&copy).unwrap();
    fs::remove_file(&path).unwrap();
    create(&path, 1).close().unwrap();
    assert_eq!(fs::read(&copy).unwrap(), bytes);
    assert_eq!(names_in(dir.path()), ["x.etalon", "x.etalon-new", "x.etalon-new-journal"]);
}

#[test]
fn what_lies_under_the_names_of_journals_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    create(&path, 1).close().unwrap();
    for suffix in ["-wal", "-journal", "-shm"] {
        let file = dir.path().join(format!("x.etalon{suffix}"));
        fs::write(&file, "precious").unwrap();
        for error in [Store::open(&path).unwrap_err(), Store::open_read_only(&path).unwrap_err()] {
            assert!(error.to_string().contains("is not étalon's"), "{error}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"precious");
        fs::remove_file(&file).unwrap();
    }
    // One that another process is making: three bytes, then page by page.
    for length in [3, 3 << 12] {
        fs::write(dir.path().join("x.etalon-shm"), vec![0; length]).unwrap();
        Store::open_read_only(&path).unwrap().close().unwrap();
        Store::open(&path).unwrap().close().unwrap();
    }
}

#[test]
fn odd_names_work() {
    let dir = tempfile::tempdir().unwrap();
    for name in [":memory:", "a b.etalon", "a?mode=ro#x%41.etalon", "étalon-ü.etalon", "file:x", "plain", "it's \"q\""]
    {
        let path = dir.path().join(name);
        let mut store = create(&path, 1);
        assert_eq!(store.path(), path);
        let id = store.begin_run(order(6, 1)[0], 1).unwrap();
        store.finish_run(id, &record(0, 10)).unwrap();
        assert_eq!(Store::open_read_only(&path).unwrap().measurements().unwrap().len(), 2, "{name}");
        store.close().unwrap();
        assert_eq!(names_in(dir.path()), [name]);
        assert_eq!(Store::open(&path).unwrap().measurements().unwrap().len(), 2, "{name}");
        assert_eq!(Store::open_read_only(&path).unwrap().measurements().unwrap().len(), 2, "{name}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_store_opened_for_reading_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    create(&path, 1).close().unwrap();
    let before = fs::read(&path).unwrap();
    let mut store = Store::open_read_only(&path).unwrap();
    for error in [
        store.abort_running("x").unwrap_err(),
        store.put_facts("client", &model::Facts::default(), 1).unwrap_err(),
        store.begin_run(order(6, 1)[0], 1).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    }
    store.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

const DENIED: &str = "ETALON_TEST_DENIED_STORE";

/// Rights do not bind root, except without the capability to override them.
#[test]
fn missing_rights_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    create(&path, 1).close().unwrap();
    let mut rights = fs::metadata(&path).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&path, rights).unwrap();
    if matches!(Store::open(&path), Err(StoreError::Denied { .. })) {
        return rights_are_missing(&path);
    }
    let itself = again("files::child_without_rights", DENIED, &path);
    let mut bound = Command::new("setpriv");
    bound.args(["--bounding-set", "-dac_override,-dac_read_search"]).env(DENIED, &path);
    let Ok(ran) = bound.arg(itself.get_program()).args(itself.get_args()).output() else {
        return println!("skipped: the system lets this user write what is read-only, and there is no `setpriv`");
    };
    let output = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if output.contains("setpriv: ") {
        return println!("skipped: {output}");
    }
    assert!(ran.status.success() && output.contains("1 passed"), "{output}");
}

/// The part of `missing_rights_are_named` that runs without root's privileges; no test by itself.
#[test]
fn child_without_rights() {
    if let Some(path) = std::env::var_os(DENIED) {
        rights_are_missing(Path::new(&path));
    }
}

/// Expects the errors of a store that may only be read.
fn rights_are_missing(path: &Path) {
    Store::open_read_only(path).unwrap();
    assert!(matches!(Store::open(path), Err(StoreError::Denied { .. })));
    if Command::new("chmod").arg("000").arg(path).status().is_ok_and(|status| status.success()) {
        let error = refused(path);
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        assert!(error.to_string().ends_with("tried to open it: the file cannot be read"), "{error}");
    }
}
