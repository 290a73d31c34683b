//! Backups: what a target is asked for, and what all targets do alike: compress, write, watch, read back.

pub mod archive;
pub mod codec;
pub mod meter;
pub mod place;
pub mod sink;
pub mod tool;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Failure, FailureKind};
use crate::session::Session;
use codec::Compression;
use meter::Meter;

/// How a backup is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The engine's own first choice.
    Native,
    /// SQLite's backup interface.
    Interface,
    /// SQLite's `VACUUM INTO`.
    VacuumInto,
    /// PostgreSQL's `BASE_BACKUP`, spoken by étalon.
    BaseBackup,
    /// PostgreSQL's program of that name.
    PgBasebackup,
    /// MariaDB's program of that name: the files of the server.
    MariadbBackup,
    /// MariaDB's program of that name: SQL.
    MariadbDump,
    /// No backup: the load that others are held against runs alone.
    None,
}

/// Every method with its name in plans.
pub const METHODS: [(&str, Method); 8] = [
    ("native", Method::Native),
    ("backup-interface", Method::Interface),
    ("vacuum-into", Method::VacuumInto),
    ("base-backup", Method::BaseBackup),
    ("pg_basebackup", Method::PgBasebackup),
    ("mariadb-backup", Method::MariadbBackup),
    ("mariadb-dump", Method::MariadbDump),
    ("none", Method::None),
];

impl Method {
    /// Its name in plans.
    pub fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("native", |(name, _)| name)
    }

    /// Refuses a method that is another engine's.
    pub fn unknown_to(self, engine: &str, known: &[Method]) -> Failure {
        let names: Vec<String> = known.iter().map(|method| format!("`{}`", method.name())).collect();
        let tried = format!("take a backup by `method = \"{}\"`", self.name());
        Failure::new(FailureKind::Unsupported, tried, format!("it is not a way to back up {engine}"))
            .hint(format!("`native`, or one of {}", names.join(", ")))
    }
}

/// Which process compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// The server.
    Server,
    /// The engine's own client program.
    Client,
    /// Étalon.
    Own,
}

/// Whether databases that étalon did not make may be copied along with its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They may not.
    OwnDatabase,
    /// The plan says so: `whole_server = true`.
    WholeServer,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct BackupRequest<'a> {
    /// How.
    pub method: Method,
    /// With which codec.
    pub compression: Compression,
    /// Which process compresses.
    pub compressor: Compressor,
    /// The most bytes of source data a second, of the backup or of the restore that this is; `None` is no limit.
    pub max_rate_bytes_s: Option<u64>,
    /// The most CPU time that what takes the backup may use, in cores: a server's process for it, or a program.
    pub cores: Option<f64>,
    /// What may be copied.
    pub scope: Scope,
    /// An empty folder for the backup's files.
    pub folder: &'a Path,
    /// A folder for whatever else there is, such as what programs say.
    pub work: &'a Path,
    /// Set by the user's Ctrl-C.
    pub interrupt: &'a AtomicBool,
}

impl BackupRequest<'_> {
    /// What étalon itself compresses with.
    pub fn own_compression(&self) -> Compression {
        match self.compressor {
            Compressor::Own => self.compression,
            Compressor::Server | Compressor::Client => Compression::NONE,
        }
    }

    /// Refuses a compressor that this method does not have.
    pub fn no_such_compressor(&self, why: &str) -> Failure {
        let place = match self.compressor {
            Compressor::Server => "server",
            Compressor::Client => "client",
            Compressor::Own => "own",
        };
        Failure::new(FailureKind::Unsupported, format!("compress at `where = \"{place}\"`"), why)
    }

    /// Refuses a limit on CPU time where no process of its own takes the backup.
    pub fn no_process_to_hold(&self, why: &str) -> Failure {
        let percent = self.cores.unwrap_or_default() * 100.0;
        Failure::new(FailureKind::Unsupported, format!("hold the backup to {percent:.0} % of a core"), why)
            .hint("leave out `backup_cpu_percent`; `max_rate_mib_s` is a limit, too")
    }

    /// Refuses to go on after the user's Ctrl-C.
    ///
    /// # Errors
    /// It was pressed.
    pub fn go_on(&self) -> Result<(), Failure> {
        go_on(self.interrupt)
    }
}

/// Refuses to go on after the user's Ctrl-C.
///
/// # Errors
/// It was pressed.
pub fn go_on(interrupt: &AtomicBool) -> Result<(), Failure> {
    match interrupt.load(Ordering::Relaxed) {
        true => Err(Failure::new(FailureKind::Other, "go on", "interrupted by the user")),
        false => Ok(()),
    }
}

/// What the files of a backup are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One SQLite database.
    Database,
    /// A tar archive of a PostgreSQL data folder.
    Tar,
    /// MariaDB's stream of files.
    Xbstream,
    /// SQL statements.
    Sql,
}

/// A backup that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// How: the method that `native` came to.
    pub method: Method,
    /// The file that everything is restored from.
    pub file: PathBuf,
    /// What it is compressed with.
    pub compression: Compression,
    /// What it is inside.
    pub layout: Layout,
    /// CPU seconds of étalon's threads that compressed; 0 where none did.
    pub compressor_cpu_s: f64,
    /// What a reader should know, such as that it is a second choice.
    pub notes: Vec<String>,
}

/// A database that was restored into a private place. Dropping it removes it.
pub trait Restored {
    /// A session that looks into étalon's tables.
    ///
    /// # Errors
    /// It does not answer.
    fn session(&self) -> Result<Box<dyn Session>, Failure>;

    /// CPU seconds of the server that was started for it, as part of the restore.
    ///
    /// # Errors
    /// The reason why they are not known, or why there are none.
    fn server_cpu_s(&self) -> Result<f64, String>;

    /// Checks that only this engine has, such as SQLite's of a file's integrity.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Ends what was started and removes what was made.
    ///
    /// # Errors
    /// It does not end.
    fn remove(self: Box<Self>) -> Result<(), Failure>;
}

/// A target's ability to back up and restore.
pub trait Backups {
    /// Looks whether a backup can be taken as asked, before anything is done.
    ///
    /// # Errors
    /// It cannot, with the reason.
    fn check(&self, request: &BackupRequest<'_>) -> Result<(), Failure>;

    /// The programs of a method with their versions; none where étalon does it all itself or they are missing.
    fn programs(&self, method: Method) -> Vec<(String, String)> {
        let _ = method;
        Vec::new()
    }

    /// Takes a backup. The parts are told to the meter.
    ///
    /// # Errors
    /// The device is full, a tool failed, the server did.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<Taken, Failure>;

    /// Restores it into a private place, SQLite's in `request.folder`: never over a database that is there. What must be made before it, such as an
    /// empty server, comes before the meter's first part.
    ///
    /// # Errors
    /// As [`Backups::back_up`].
    fn restore(
        &self,
        taken: &Taken,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure>;
}
