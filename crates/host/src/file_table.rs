//! The table of open files, which the threads of a process share.

/// Gives this thread a table of its own with nothing but the standard streams in it; `false` where that cannot be had.
///
/// While the table is shared, the kernel takes and gives back a reference to the file in every call on one, lest another thread
/// close it meanwhile; of short calls such as SQLite's that is some per cent. Afterwards nothing that was opened before may be
/// used on this thread, nothing that it opens elsewhere, and locks by `fcntl` keep the other threads away, too.
#[must_use]
pub fn own_table() -> bool {
    imp::own_table()
}

#[cfg(target_os = "linux")]
mod imp {
    const AFTER_STANDARD_STREAMS: libc::c_uint = 3;

    /// Gives the calling thread its own table of files, with the standard streams alone open; `false` if the kernel refuses.
    pub(super) fn own_table() -> bool {
        // SAFETY: no memory is passed. The files are closed in this thread's table alone; the caller vouches that it uses none of
        // them, and what it opens later bears numbers of that table. Linux 5.9; older ones refuse it.
        let result = unsafe {
            libc::syscall(
                libc::SYS_close_range,
                AFTER_STANDARD_STREAMS,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_UNSHARE as libc::c_uint,
            )
        };
        result == 0
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    /// Does nothing: threads share their table of open files here.
    pub(super) fn own_table() -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::{Read as _, Seek as _, Write as _};
    use std::thread;

    fn open(of: &str) -> Vec<String> {
        let links = fs::read_dir(format!("/proc/{of}/fd")).unwrap().flatten().map(|entry| fs::read_link(entry.path()));
        links.flatten().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_thread_with_its_own_table_neither_holds_nor_closes_what_others_have() {
        let folder = tempfile::tempdir().unwrap();
        let [mine_path, theirs_path] = ["mine", "theirs"].map(|name| folder.path().join(name));
        let [mine_shown, theirs_shown] = [&mine_path, &theirs_path].map(|path| path.display().to_string());
        let mut mine = File::options().create_new(true).read(true).write(true).open(mine_path).unwrap();
        mine.write_all(b"kept").unwrap();
        let (has_own, in_its_table, in_the_others) = thread::spawn(move || {
            let has_own = own_table();
            let _theirs = File::create(theirs_path).unwrap();
            (has_own, open("thread-self"), open("self"))
        })
        .join()
        .unwrap();
        if !has_own {
            println!("skipped: the kernel gives no thread a table of its own");
            return;
        }
        assert!(in_its_table.contains(&theirs_shown) && !in_its_table.contains(&mine_shown), "{in_its_table:?}");
        assert!(in_the_others.contains(&mine_shown) && !in_the_others.contains(&theirs_shown));
        let mut text = String::new();
        mine.rewind().unwrap();
        mine.read_to_string(&mut text).unwrap();
        assert_eq!(text, "kept");
    }
}
