//! The C interface: a VFS and its files that pass each call on to the system's own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use super::count::Counts;
use super::{Database, FileKind, registry};
use crate::ticks::ticks;

const NAME: &CStr = c"etalon";
pub(super) const NAME_TEXT: &str = "etalon";

/// Kept alive while the file is open.
enum Owner {
    Named(Arc<Database>, FileKind),
    Process,
}

impl Owner {
    /// The counters that the file's calls go to.
    fn counts(&self) -> &Counts {
        match self {
            Owner::Named(database, kind) => &database.files[*kind as usize],
            Owner::Process => &registry().temporary,
        }
    }
}

/// A file as SQLite allocates it: this, then the system VFS's file.
#[repr(C, align(8))]
struct CountedFile {
    base: sqlite3_file,
    /// The owner from `Box::into_raw`; taken back by `close`.
    owner: *mut Owner,
}

/// Registers the counting VFS with SQLite.
pub(super) fn register_shim() -> Result<(), String> {
    // SAFETY: `sqlite3_vfs_find` initialises SQLite and gives the default VFS, which lives as long as the process. The
    // shim's own structure is leaked, since SQLite keeps a pointer to it.
    unsafe {
        let real = ffi::sqlite3_vfs_find(ptr::null());
        let Some(system) = real.as_ref() else { return Err("SQLite has no VFS of its own".to_owned()) };
        let shim = sqlite3_vfs {
            szOsFile: size_of::<CountedFile>() as c_int + system.szOsFile,
            pNext: ptr::null_mut(),
            zName: NAME.as_ptr(),
            pAppData: real.cast(),
            xOpen: Some(open_file),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: Some(dl_open),
            xDlError: Some(dl_error),
            xDlSym: Some(dl_sym),
            xDlClose: Some(dl_close),
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(get_last_error),
            xCurrentTimeInt64: Some(current_time_int64),
            ..*system
        };
        match ffi::sqlite3_vfs_register(Box::into_raw(Box::new(shim)), 0) {
            ffi::SQLITE_OK => Ok(()),
            code => Err(format!("SQLite does not take the VFS: code {code}")),
        }
    }
}

/// The system's VFS below a counting one.
unsafe fn system_vfs(vfs: *mut sqlite3_vfs) -> *mut sqlite3_vfs {
    // SAFETY: SQLite calls with the structure that `register` made, whose `pAppData` is the system's VFS.
    unsafe { (*vfs).pAppData.cast() }
}

/// The system's file below a counting one.
unsafe fn inner_file(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite allocates `szOsFile` bytes: ours, then the system's.
    unsafe { file.cast::<CountedFile>().add(1).cast() }
}

/// The counters of an open file.
unsafe fn counts_of<'a>(file: *mut sqlite3_file) -> &'a Counts {
    // SAFETY: between `open` and `close` the owner is there.
    unsafe { (*(*file.cast::<CountedFile>()).owner).counts() }
}

/// The methods of the system's file.
unsafe fn methods_of<'a>(file: *mut sqlite3_file) -> &'a sqlite3_io_methods {
    // SAFETY: the file below has been opened well, so that it has methods, which live as long as the process.
    unsafe { &*(*inner_file(file)).pMethods }
}

/// The owner by the name and flags with which SQLite opens the file.
unsafe fn owner_of(name: ffi::sqlite3_filename, flags: c_int) -> Owner {
    let kind = if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        FileKind::Database
    } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
        FileKind::Wal
    } else if flags & ffi::SQLITE_OPEN_MAIN_JOURNAL != 0 {
        FileKind::Journal
    } else {
        return Owner::Process;
    };
    if name.is_null() {
        return Owner::Process;
    }
    // SAFETY: for these three kinds the name comes from SQLite's core, from which it finds the database's.
    let path = unsafe { CStr::from_ptr(ffi::sqlite3_filename_database(name)) };
    let path = PathBuf::from(path.to_string_lossy().into_owned());
    // A new database has no canonical path yet, but its folder has.
    let canonical = std::fs::canonicalize(&path).ok().or_else(|| {
        let folder = std::fs::canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    });
    Owner::Named(registry().database_at(&canonical.unwrap_or(path)), kind)
}

/// Opens a file through the system's VFS, and notes what it is.
unsafe extern "C" fn open_file(
    vfs: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: `file` has room for both files; a method table is set only where the file below has one, as SQLite then
    // calls `close` even if the opening failed.
    unsafe {
        (*file).pMethods = ptr::null();
        let real = system_vfs(vfs);
        let Some(open) = (*real).xOpen else { return ffi::SQLITE_CANTOPEN };
        (*inner_file(file)).pMethods = ptr::null();
        let code = open(real, name, inner_file(file), flags, out_flags);
        let Some(system) = (*inner_file(file)).pMethods.as_ref() else { return code };
        (*file.cast::<CountedFile>()).owner = Box::into_raw(Box::new(owner_of(name, flags)));
        (*file).pMethods = match system.iVersion {
            ..=1 => &VERSION_1,
            2 => &VERSION_2,
            _ => &VERSION_3,
        };
        code
    }
}

/// Closes a file, and frees the note of what it is.
unsafe extern "C" fn close_file(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, and uses it no more.
    unsafe {
        let code = methods_of(file).xClose.map_or(ffi::SQLITE_OK, |close| close(inner_file(file)));
        drop(Box::from_raw((*file.cast::<CountedFile>()).owner));
        (*file).pMethods = ptr::null();
        code
    }
}

/// Reads from a file, and counts it.
unsafe extern "C" fn read_file(file: *mut sqlite3_file, into: *mut c_void, bytes: c_int, offset: i64) -> c_int {
    let start_ticks = ticks();
    // SAFETY: handed on as it came.
    unsafe {
        let Some(read) = methods_of(file).xRead else { return ffi::SQLITE_IOERR_READ };
        let code = read(inner_file(file), into, bytes, offset);
        // A short read, as of an empty database, counts as nothing.
        let got = if code == ffi::SQLITE_OK { bytes } else { 0 };
        counts_of(file).reads.note_call(got as u64, start_ticks);
        code
    }
}

/// Writes to a file, and counts it.
unsafe extern "C" fn write_file(file: *mut sqlite3_file, from: *const c_void, bytes: c_int, offset: i64) -> c_int {
    let start_ticks = ticks();
    // SAFETY: handed on as it came.
    unsafe {
        let Some(write) = methods_of(file).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        let code = write(inner_file(file), from, bytes, offset);
        counts_of(file).writes.note_call(if code == ffi::SQLITE_OK { bytes as u64 } else { 0 }, start_ticks);
        code
    }
}

/// Syncs a file, and counts it.
unsafe extern "C" fn sync_file(file: *mut sqlite3_file, flags: c_int) -> c_int {
    let start_ticks = ticks();
    // SAFETY: handed on as it came.
    unsafe {
        let Some(sync) = methods_of(file).xSync else { return ffi::SQLITE_IOERR_FSYNC };
        let code = sync(inner_file(file), flags);
        counts_of(file).syncs.note_call(0, start_ticks);
        code
    }
}

/// Maps a part of a file, and counts it; SQLite then reads it without a call.
unsafe extern "C" fn fetch_page(file: *mut sqlite3_file, offset: i64, bytes: c_int, page: *mut *mut c_void) -> c_int {
    // SAFETY: handed on as it came; after success `page` points to a pointer.
    unsafe {
        let Some(fetch) = methods_of(file).xFetch else { return ffi::SQLITE_ERROR };
        let code = fetch(inner_file(file), offset, bytes, page);
        if code == ffi::SQLITE_OK && !(*page).is_null() {
            counts_of(file).fetches.fetch_add(1, Ordering::Relaxed);
        }
        code
    }
}

macro_rules! file_method {
    ($name:ident, $method:ident, ($($argument:ident: $kind:ty),*)) => {
        file_method!($name, $method, ($($argument: $kind),*), c_int, ffi::SQLITE_IOERR);
    };
    ($name:ident, $method:ident, ($($argument:ident: $kind:ty),*), $answer:ty, $missing:expr) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $kind)*) -> $answer {
            // SAFETY: handed on as it came.
            unsafe { methods_of(file).$method.map_or($missing, |method| method(inner_file(file) $(, $argument)*)) }
        }
    };
}

file_method!(truncate, xTruncate, (size: i64));
file_method!(file_size, xFileSize, (size: *mut i64));
file_method!(lock, xLock, (level: c_int));
file_method!(unlock, xUnlock, (level: c_int));
file_method!(check_reserved_lock, xCheckReservedLock, (answer: *mut c_int));
file_method!(file_control, xFileControl, (op: c_int, argument: *mut c_void), c_int, ffi::SQLITE_NOTFOUND);
file_method!(sector_size, xSectorSize, (), c_int, 0);
file_method!(device_characteristics, xDeviceCharacteristics, (), c_int, 0);
file_method!(shm_map, xShmMap, (page: c_int, bytes: c_int, extend: c_int, at: *mut *mut c_void));
file_method!(shm_lock, xShmLock, (offset: c_int, count: c_int, flags: c_int));
file_method!(shm_barrier, xShmBarrier, (), (), ());
file_method!(shm_unmap, xShmUnmap, (delete: c_int));
file_method!(unfetch, xUnfetch, (offset: i64, page: *mut c_void));

macro_rules! vfs_method {
    ($name:ident, $method:ident, ($($argument:ident: $kind:ty),*)) => {
        vfs_method!($name, $method, ($($argument: $kind),*), c_int, ffi::SQLITE_ERROR);
    };
    ($name:ident, $method:ident, ($($argument:ident: $kind:ty),*), $answer:ty, $missing:expr) => {
        unsafe extern "C" fn $name(vfs: *mut sqlite3_vfs $(, $argument: $kind)*) -> $answer {
            // SAFETY: handed on as it came, to the VFS that `register` found.
            unsafe {
                let real = system_vfs(vfs);
                (*real).$method.map_or($missing, |method| method(real $(, $argument)*))
            }
        }
    };
}

/// The function that a loaded library returns for a name.
type Symbol = Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char)>;

vfs_method!(delete, xDelete, (name: *const c_char, sync_folder: c_int));
vfs_method!(access, xAccess, (name: *const c_char, flags: c_int, answer: *mut c_int));
vfs_method!(full_pathname, xFullPathname, (name: *const c_char, size: c_int, into: *mut c_char));
vfs_method!(dl_open, xDlOpen, (name: *const c_char), *mut c_void, ptr::null_mut());
vfs_method!(dl_error, xDlError, (size: c_int, into: *mut c_char), (), ());
vfs_method!(dl_sym, xDlSym, (library: *mut c_void, name: *const c_char), Symbol, None);
vfs_method!(dl_close, xDlClose, (library: *mut c_void), (), ());
vfs_method!(randomness, xRandomness, (size: c_int, into: *mut c_char));
vfs_method!(sleep, xSleep, (time_us: c_int));
vfs_method!(current_time, xCurrentTime, (into: *mut f64));
vfs_method!(get_last_error, xGetLastError, (size: c_int, into: *mut c_char));
vfs_method!(current_time_int64, xCurrentTimeInt64, (into: *mut i64));

/// The table of counting methods of a version.
const fn io_methods(version: c_int) -> sqlite3_io_methods {
    sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close_file),
        xRead: Some(read_file),
        xWrite: Some(write_file),
        xTruncate: Some(truncate),
        xSync: Some(sync_file),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: Some(shm_map),
        xShmLock: Some(shm_lock),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap),
        xFetch: Some(fetch_page),
        xUnfetch: Some(unfetch),
    }
}

// SQLite reads no further than the version: a file without shared memory is not asked for it.
static VERSION_1: sqlite3_io_methods = io_methods(1);
static VERSION_2: sqlite3_io_methods = io_methods(2);
static VERSION_3: sqlite3_io_methods = io_methods(3);
