//! Creating, opening and settling a store.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::PlannedRun;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Tried;
use crate::header::{self, Header};
use crate::lock::{self, Taken, WriteLock, with_suffix};
use crate::{Access, Origin, Result, Store, StoreError, migrate, publish, relocate, schema};

#[derive(Clone, Copy)]
struct StorePath<'a> {
    /// The path as given, for messages.
    path: &'a Path,
    /// Absolute, so that SQLite does not give names such as `:memory:` a meaning of their own.
    full: &'a Path,
}

/// How long SQLite waits for its own locks, which others keep only for a transaction.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Readers lose nothing if they delay settling.
const SETTLE_WAIT: Duration = Duration::from_millis(200);

const TRIED_OPEN: &str = "open it";
const TRIED_WRITE: &str = "open it for writing";

impl Store {
    /// Creates a store and opens it for writing.
    /// Header, cases and order are synced to disk before the file appears under its name; on failure no file is left.
    ///
    /// # Errors
    /// [`StoreError::Exists`]; [`StoreError::Refused`] when the order does not fit the plan.
    pub fn create(path: &Path, header: &Header, order: &[PlannedRun]) -> Result<Store> {
        let full = absolute_path(path)?;
        publish::check_free(path)?;
        let Taken::Ours(lock) = WriteLock::try_take(&full)? else {
            return Err(StoreError::Locked { path: path.to_owned(), pid: None });
        };
        publish::write_new_store(path, &full, header, order)?;
        // May fail on a full disk; the next try must not find a file in the way.
        let opened = Store::open_locked(StorePath { path, full: &full }, lock, migrate::STEPS);
        let mut store = opened.inspect_err(|_| publish::remove_store_files(&full))?;
        store.origin = Origin::Created;
        Ok(store)
    }

    /// Opens a store for writing, migrating an older one.
    ///
    /// # Errors
    /// [`StoreError::Locked`]; see [`StoreError`] for files that are not stores.
    pub fn open(path: &Path) -> Result<Store> {
        Store::open_with(path, migrate::STEPS)
    }

    /// Opens a store for reading, also while a run writes it and on read-only media.
    /// An older store is migrated in memory.
    ///
    /// # Errors
    /// [`StoreError::Unrecovered`] when changes of a store that was not closed cannot be read without writing; see
    /// [`StoreError`] for files that are not stores.
    pub fn open_read_only(path: &Path) -> Result<Store> {
        Store::open_read_only_with(path, migrate::STEPS)
    }

    /// Opens a store for writing, and migrates it by these steps.
    pub(crate) fn open_with(path: &Path, steps: &[&str]) -> Result<Store> {
        let full = absolute_path(path)?;
        // Before anything is written: a file that is not ours stays untouched.
        let reader = open_if_store(StorePath { path, full: &full })?;
        migrate::read_schema_version(&reader, path, steps)?;
        let Taken::Ours(lock) = WriteLock::try_take(&full)? else {
            return Err(StoreError::Locked { path: path.to_owned(), pid: lock::writer_pid(&reader) });
        };
        drop(reader);
        Store::open_locked(StorePath { path, full: &full }, lock, steps)
    }

    /// Opens for writing a store whose lock the caller has, migrates it and enters this process as its writer.
    fn open_locked(at: StorePath<'_>, lock: WriteLock, steps: &[&str]) -> Result<Store> {
        let path = at.path;
        let mut conn = connect_to_write(at.full).or_store_error(path, TRIED_WRITE)?;
        if conn.is_readonly("main").or_store_error(path, TRIED_WRITE)? {
            let detail = "the file is read-only".to_owned();
            return Err(StoreError::Denied { path: path.to_owned(), tried: TRIED_WRITE.to_owned(), detail });
        }
        check_structure(&conn, path)?;
        set_up_writing(&conn).or_store_error(path, TRIED_WRITE)?;
        migrate::migrate(&mut conn, path, steps)?;
        let (header, cases) = header::load_header(&conn, path)?;
        let token = lock::enter_writer(&conn, path)?;
        let inode = relocate::read_store_inode(&conn);
        Ok(Store {
            conn,
            path: path.to_owned(),
            header,
            cases,
            access: Access::Write { lock, token, inode, is_gone: false },
            origin: Origin::Opened,
        })
    }

    /// Opens a store for reading, and migrates an older one in memory by these steps.
    pub(crate) fn open_read_only_with(path: &Path, steps: &[&str]) -> Result<Store> {
        let full = absolute_path(path)?;
        let mut conn = open_if_store(StorePath { path, full: &full })?;
        if migrate::read_schema_version(&conn, path, steps)? < migrate::newest_version(steps) {
            conn = copy_to_memory(&conn, path)?;
            migrate::migrate(&mut conn, path, steps)?;
        }
        let (header, cases) = header::load_header(&conn, path)?;
        Ok(Store { conn, path: path.to_owned(), header, cases, access: Access::ReadOnly, origin: Origin::Opened })
    }

    /// Gives up writing, and writes the WAL back, so that a single file is left as far as readers allow.
    pub(crate) fn give_up_writing(&mut self) -> Result<()> {
        let (lock, token, inode) = match std::mem::replace(&mut self.access, Access::ReadOnly) {
            Access::Write { lock, token, inode, .. } => (lock, token, inode),
            other => {
                self.access = other;
                return Ok(());
            }
        };
        self.access = Access::Settled { _lock: lock };
        let tried = "write back its journal";
        if inode.is_some() && relocate::read_store_inode(&self.conn).is_some_and(|found| Some(found) != inode) {
            // Another file lies at the path now, and a WAL there would be that file's.
            return Ok(());
        }
        if lock::check_token(&self.conn, &token, &self.path, tried).is_err() {
            // It belongs to another now; SQLite makes closing harmless.
            return Ok(());
        }
        self.conn.busy_timeout(SETTLE_WAIT).or_store_error(&self.path, tried)?;
        // On a full disk the store stays larger than needed.
        let _ = lock::leave_writer(&self.conn, &token);
        let _ = give_back_reserve(&self.conn);
        let done =
            self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).or_store_error(&self.path, tried);
        leave_wal_mode(&self.conn);
        done
    }
}

/// Opens a store's file for reading and writing.
pub(crate) fn connect_to_write(full: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(full, flags)?;
    conn.busy_timeout(BUSY_WAIT)?;
    Ok(conn)
}

/// Makes what is committed durable, and lets others read meanwhile.
pub(crate) fn set_up_writing(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    // Without shared memory SQLite answers with another mode, which is as safe.
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
}

/// Leaves WAL mode, which makes the store one file, once no one reads.
/// SQLite itself does not wait for readers here. After a while it gives up: WAL mode is as good, and of two files more.
fn leave_wal_mode(conn: &Connection) {
    const PAUSE: Duration = Duration::from_millis(5);
    let until = Instant::now() + SETTLE_WAIT;
    while let Err(error) = conn.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())) {
        if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || Instant::now() >= until {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes the reserve, and shrinks the file by it.
fn give_back_reserve(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("DELETE FROM ballast", [])?;
    let mut vacuum = conn.prepare("PRAGMA incremental_vacuum")?;
    let mut pages = vacuum.query([])?;
    while pages.next()?.is_some() {}
    Ok(())
}

/// Makes a path absolute, and resolves it if it is a symbolic link, since SQLite puts the WAL there.
fn absolute_path(path: &Path) -> Result<PathBuf> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
        && let Ok(target) = fs::canonicalize(path)
    {
        // Windows marks such paths; SQLite's URIs cannot say so.
        let plain = target.to_str().and_then(|text| text.strip_prefix(r"\\?\")).map(PathBuf::from);
        return Ok(plain.unwrap_or(target));
    }
    std::path::absolute(path).or_store_error(path, TRIED_OPEN)
}

/// Opens a file for reading, after making sure without changing it that it is a store.
fn open_if_store(at: StorePath<'_>) -> Result<Connection> {
    let path = at.path;
    check_file(path)?;
    check_companions(at)?;
    // Looks at no other file: SQLite would fold a stranger's WAL into its database.
    match application_id(&open_immutable(at)?) {
        Ok(schema::APPLICATION_ID) => {}
        Ok(other) => return Err(foreign_database(path, other)),
        // Not SQLite, by its first bytes.
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return Err(not_a_store_error(path, "it is not a SQLite database"));
        }
        // During a checkpoint a file can look damaged until the WAL is read with it.
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {}
        Err(e) => return Err(StoreError::from_sqlite(path, TRIED_OPEN, e)),
    }
    let conn = open_reader(at)?;
    match application_id(&conn).or_store_error(path, TRIED_OPEN)? {
        schema::APPLICATION_ID => Ok(conn),
        other => Err(foreign_database(path, other)),
    }
}

/// Fails if a path is no file or an empty one.
/// It does not open the file: closing it would drop the locks of this process's other connections.
fn check_file(path: &Path) -> Result<()> {
    let owned = path.to_owned();
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(StoreError::Missing { path: owned }),
        Err(e) => Err(StoreError::from_io(path, TRIED_OPEN, e)),
        Ok(found) if found.is_dir() => Err(StoreError::NotAFile { path: owned, what: "a folder" }),
        Ok(found) if !found.is_file() => Err(StoreError::NotAFile { path: owned, what: "a device or a pipe" }),
        Ok(found) if found.len() == 0 => Err(not_a_store_error(path, "it is empty")),
        Ok(_) => Ok(()),
    }
}

/// Fails if what lies under the names of SQLite's own files is not SQLite's: it would be written over or removed.
/// The `-shm` file is judged by its size, since closing it would drop locks, too.
fn check_companions(at: StorePath<'_>) -> Result<()> {
    check_companions_of(at.full)
}

/// Fails if what lies under the names of SQLite's own files of a database is not SQLite's.
pub(crate) fn check_companions_of(database: &Path) -> Result<()> {
    // SQLite makes it 3 bytes long, then 32 KiB, page by page: a reader may come between two of these.
    const SHM_STEP_BYTES: u64 = 1 << 12;
    const SHM_BEGUN_BYTES: u64 = 3;
    for suffix in ["-wal", "-journal", "-shm"] {
        let file = with_suffix(database, suffix);
        let Ok(found) = fs::symlink_metadata(&file) else { continue };
        let is_sqlites = found.is_file()
            && match suffix {
                "-wal" => begins_with_any(&file, &[&[0x37, 0x7f, 0x06, 0x82], &[0x37, 0x7f, 0x06, 0x83]]),
                "-journal" => begins_with_any(&file, &[&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]]),
                _ => found.len() == SHM_BEGUN_BYTES || found.len().is_multiple_of(SHM_STEP_BYTES),
            };
        if !is_sqlites {
            let cause = "what lies there is not étalon's: move it away";
            return Err(StoreError::from_io(&file, TRIED_OPEN, io::Error::new(io::ErrorKind::AlreadyExists, cause)));
        }
    }
    Ok(())
}

/// Whether the file begins with one of the signs, or is all zeroes, which a power cut leaves.
/// A file passes that cannot be read, or ends meanwhile, since SQLite will report it.
fn begins_with_any(file: &Path, signs: &[&[u8]]) -> bool {
    let mut begin = Vec::new();
    let read = fs::File::open(file).and_then(|file| file.take(8).read_to_end(&mut begin));
    read.is_err() || begin.iter().all(|byte| *byte == 0) || signs.iter().any(|sign| begin.starts_with(sign))
}

/// Opens a connection that reads the store, by the first of three ways that works.
/// They are: plainly; as one that may repair what a killed process left; as a file that does not change.
fn open_reader(at: StorePath<'_>) -> Result<Connection> {
    let StorePath { path, full } = at;
    let base = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let plain = match try_reader(full, base | OpenFlags::SQLITE_OPEN_READ_ONLY) {
        Ok(conn) => return Ok(conn),
        Err(e) if !needs_recovery(&e) => return Err(StoreError::from_sqlite(path, TRIED_OPEN, e)),
        Err(e) => e,
    };
    // SQLite's locks keep us from disturbing a conductor; `query_only` keeps us from changing anything.
    if let Ok(conn) = try_reader(full, base | OpenFlags::SQLITE_OPEN_READ_WRITE) {
        return Ok(conn);
    }
    // Immutable would ignore the runs in a journal.
    if ["-wal", "-journal"].iter().any(|suffix| fs::metadata(with_suffix(full, suffix)).is_ok_and(|m| m.len() > 0)) {
        return Err(StoreError::Unrecovered { path: path.to_owned(), detail: plain.to_string() });
    }
    let conn = open_immutable(at)?;
    read_schema_once(&conn).or_store_error(path, TRIED_OPEN)?;
    Ok(conn)
}

/// Opens a connection with these flags that changes nothing, and reads once.
fn try_reader(full: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(full, flags)?;
    conn.busy_timeout(BUSY_WAIT)?;
    conn.pragma_update(None, "query_only", true)?;
    read_schema_once(&conn)?;
    Ok(conn)
}

/// Reads once, which makes SQLite open the WAL too.
fn read_schema_once(conn: &Connection) -> rusqlite::Result<()> {
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// Whether a store must be opened for writing once before it can be read.
fn needs_recovery(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Reads the number by which SQLite files of a program are known.
fn application_id(conn: &Connection) -> rusqlite::Result<i32> {
    conn.query_row("PRAGMA application_id", [], |row| row.get(0))
}

/// Opens the file without locks and without looking at other files.
fn open_immutable(at: StorePath<'_>) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable_uri(at.full), flags).map_err(|e| match e.sqlite_error_code() {
        // The file is there, and SQLite's message would only add our URI.
        Some(ErrorCode::CannotOpen) => StoreError::Denied {
            path: at.path.to_owned(),
            tried: TRIED_OPEN.to_owned(),
            detail: "the file cannot be read".to_owned(),
        },
        _ => StoreError::from_sqlite(at.path, TRIED_OPEN, e),
    })
}

/// Makes a URI such as `file:///a/b.etalon?immutable=1`, with every byte escaped that could mean something else.
fn immutable_uri(full: &Path) -> String {
    let mut bytes = full.as_os_str().as_encoded_bytes().to_vec();
    if bytes.first() != Some(&b'/') {
        // Windows: `C:\a` is `/C:/a` in a URI.
        bytes.iter_mut().filter(|b| **b == b'\\').for_each(|b| *b = b'/');
        bytes.insert(0, b'/');
    }
    let mut uri = "file://".to_owned();
    for byte in bytes {
        match byte {
            b'/' | b':' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Makes the error of a file that is not a store.
fn not_a_store_error(path: &Path, what: &str) -> StoreError {
    StoreError::NotAStore { path: path.to_owned(), what: what.to_owned() }
}

/// Makes the error of another program's database.
fn foreign_database(path: &Path, application_id: i32) -> StoreError {
    not_a_store_error(
        path,
        &format!("it is a SQLite database of another program (application_id {application_id:#010x})"),
    )
}

/// Fails if the file's structure is damaged, by SQLite's quick check.
fn check_structure(conn: &Connection, path: &Path) -> Result<()> {
    let tried = "check the file";
    let found: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).or_store_error(path, tried)?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(StoreError::Damaged { path: path.to_owned(), tried: tried.to_owned(), detail: found }),
    }
}

/// Copies a store into a database in memory.
fn copy_to_memory(from: &Connection, path: &Path) -> Result<Connection> {
    let tried = "read it into memory";
    let mut memory = Connection::open_in_memory().or_store_error(path, tried)?;
    let backup = rusqlite::backup::Backup::new(from, &mut memory).or_store_error(path, tried)?;
    backup.run_to_completion(i32::MAX, Duration::ZERO, None).or_store_error(path, tried)?;
    drop(backup);
    Ok(memory)
}
