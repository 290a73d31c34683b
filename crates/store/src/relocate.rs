//! A store that is moved or deleted while it is written loses nothing that has finished.

use std::io;
use std::path::Path;

use host::files::{self, Replacing};
use rusqlite::{Connection, MAIN_DB};

use crate::open::{connect_to_write, set_up_writing};
use crate::{Access, Store, StoreError};

impl Store {
    /// Writes the store again to its path, where nothing lies any more, and gives the error that ends the experiment.
    ///
    /// What was committed last lies in the WAL at that path alone, and SQLite adds it to no file that was moved.
    pub(crate) fn restore_at_path(&mut self, tried: &str) -> StoreError {
        let full = self.conn.path().unwrap_or_default().to_owned();
        let is_restored = self
            .conn
            .serialize(MAIN_DB)
            .is_ok_and(|image| files::put_file(Path::new(&full), &image, Replacing::Own(&|_| false)).is_ok());
        if let Access::Write { is_gone, .. } = &mut self.access {
            // Reported once: what the end of an experiment still notes goes on to the open file.
            *is_gone = !is_restored;
        }
        if is_restored {
            // What goes on with an in-memory store fails, and what it would have stored is not missed: the experiment ends.
            let _ = self.reconnect(&full);
        }
        StoreError::Gone { path: self.path.clone(), tried: tried.to_owned(), is_restored }
    }

    /// Lets go of the file that was moved or deleted, and goes on with the one at the path.
    fn reconnect(&mut self, full: &str) -> rusqlite::Result<()> {
        // Closes the old connection before another uses the WAL at the same path.
        self.conn = Connection::open_in_memory()?;
        self.conn = connect_to_write(Path::new(full))?;
        set_up_writing(&self.conn)?;
        if let Access::Write { inode, .. } = &mut self.access {
            *inode = read_store_inode(&self.conn);
        }
        Ok(())
    }
}

/// Device and inode of what lies at the path of a connection's file, where the system says it.
pub(crate) fn read_store_inode(conn: &Connection) -> Option<(u64, u64)> {
    files::read_inode(Path::new(conn.path()?)).ok().flatten()
}

/// Whether a connection's file is no longer at its path. A file system that does not answer says nothing of that.
pub(crate) fn is_elsewhere(conn: &Connection, inode: (u64, u64)) -> bool {
    let found = conn.path().map(|path| files::read_inode(Path::new(path)));
    match found {
        Some(Ok(found)) => found != Some(inode),
        Some(Err(error)) => error.kind() == io::ErrorKind::NotFound,
        None => false,
    }
}
