//! The counters against the expected figures and the kernel's own.

use rusqlite::{Connection, OpenFlags};

use super::*;

fn open(path: &Path) -> Connection {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), register_vfs().unwrap()).unwrap()
}

fn set_up(folder: &Path, mode: &str) -> (PathBuf, Connection) {
    let path = folder.join("counted.db");
    let connection = open(&path);
    let set: String = connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0)).unwrap();
    assert_eq!(set, mode);
    connection.execute_batch("PRAGMA synchronous = FULL; CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)").unwrap();
    (path, connection)
}

#[test]
fn a_commit_to_the_log_is_counted_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (path, connection) = set_up(folder.path(), "wal");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let before = traffic_of(&path).unwrap();
    connection.execute_batch("INSERT INTO t (b) VALUES (zeroblob(100))").unwrap();
    let io = traffic_of(&path).unwrap().since(&before);
    // https://www.sqlite.org/fileformat.html#the_write_ahead_log: a header of 32 bytes, and 24 for each page.
    let wal = io.for_kind(FileKind::Wal);
    assert_eq!(wal.write_bytes, 32 + 24 + 4096, "{wal:?}");
    assert!(wal.syncs >= 1 && wal.sync_ns > 0 && wal.write_ns > 0, "{wal:?}");
    assert_eq!(io.for_kind(FileKind::Database).writes, 0, "{io:?}");
    assert_eq!(std::fs::metadata(folder.path().join("counted.db-wal")).unwrap().len(), wal.write_bytes);
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let main = traffic_of(&path).unwrap().since(&before).for_kind(FileKind::Database);
    assert_eq!((main.writes, main.write_bytes), (1, 4096), "{main:?}");
}

#[test]
fn a_rollback_journal_and_sorters_are_kinds_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (path, connection) = set_up(folder.path(), "delete");
    let before = traffic_of(&path).unwrap();
    connection
        .execute_batch(
            "INSERT INTO t (b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
             SELECT randomblob(200) FROM n",
        )
        .unwrap();
    let io = traffic_of(&path).unwrap().since(&before);
    assert!(io.for_kind(FileKind::Journal).writes > 0 && io.for_kind(FileKind::Journal).syncs > 0, "{io:?}");
    assert!(io.for_kind(FileKind::Database).write_bytes >= 20_000 * 200, "{io:?}");
    assert_eq!(io.for_kind(FileKind::Wal), FileIo::default());
    connection.execute_batch("PRAGMA cache_size = 10; PRAGMA temp_store = FILE").unwrap();
    let before = traffic_of(&path).unwrap();
    let mut sorted = connection.prepare("SELECT a FROM t ORDER BY b").unwrap();
    assert_eq!(sorted.query_map([], |row| row.get::<_, i64>(0)).unwrap().count(), 20_000);
    let io = traffic_of(&path).unwrap().since(&before);
    assert!(io.for_kind(FileKind::Temporary).writes > 0 && io.for_kind(FileKind::Database).reads > 0, "{io:?}");
}

#[test]
fn a_memory_map_is_counted_as_fetches() {
    let folder = tempfile::tempdir().unwrap();
    let (path, connection) = set_up(folder.path(), "delete");
    connection
        .execute_batch(
            "INSERT INTO t (b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
             SELECT randomblob(200) FROM n",
        )
        .unwrap();
    drop(connection);
    let connection = open(&path);
    connection.execute_batch("PRAGMA mmap_size = 100000000; PRAGMA cache_size = 10").unwrap();
    let before = traffic_of(&path).unwrap();
    let sum: i64 = connection.query_row("SELECT sum(length(b)) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(sum, 5_000 * 200);
    let main = traffic_of(&path).unwrap().since(&before).for_kind(FileKind::Database);
    assert!(main.fetches >= 200 && main.reads < 10, "{main:?}");
}

/// Two connections to one database share its counters; another database has its own.
#[test]
fn databases_are_counted_apart() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (path, first) = set_up(folders[0].path(), "wal");
    let (other, _still) = set_up(folders[1].path(), "wal");
    let (before, other_before) = (traffic_of(&path).unwrap(), traffic_of(&other).unwrap());
    first.execute_batch("INSERT INTO t (b) VALUES (zeroblob(1))").unwrap();
    open(&path).execute_batch("INSERT INTO t (b) VALUES (zeroblob(1))").unwrap();
    assert!(traffic_of(&path).unwrap().since(&before).for_kind(FileKind::Wal).write_bytes >= 2 * 4096);
    let here = traffic_of(&other).unwrap().since(&other_before);
    let [wal, database] = [FileKind::Wal, FileKind::Database].map(|kind| here.for_kind(kind));
    assert_eq!((wal, database), (FileIo::default(), FileIo::default()));
    assert!(traffic_of(&folders[0].path().join("nothing.db")).is_err());
}
