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
use host::process::Bounds;
use meter::{Growth, Meter};
use model::Measurement;

/// How a backup is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The engine's own first choice.
    Native,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    Server,
    /// The engine's own client program.
    Client,
    Own,
}

/// Whether databases that étalon did not make may be copied along with its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    OwnDatabase,
    /// The plan says so: `whole_server = true`.
    WholeServer,
}

/// What becomes of a backup's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// They are written into files.
    #[default]
    Files,
    /// They are thrown away, which leaves reading and compressing; nothing can be restored.
    Nowhere,
}

/// Whether a backup is encrypted by itself, whatever the database is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sealing {
    #[default]
    Open,
    /// It is, with a key of étalon's making.
    Encrypted,
}

/// Whether room is taken for a backup before it is known how large it becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preallocation {
    #[default]
    AsServer,
    /// It is not: the files grow as they are written.
    Off,
}

/// What only a server that writes its backups itself can be asked for. The default asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSide<'a> {
    /// Files that are written at the same time.
    pub stripes: u32,
    /// KiB of one transfer; 0 is the server's own choice.
    pub transfer_kib: u32,
    /// What becomes of the bytes.
    pub destination: Destination,
    /// Whether the backup is encrypted by itself.
    pub sealing: Sealing,
    /// Whether room is taken beforehand.
    pub preallocation: Preallocation,
    /// The folder on the server; without one it is the server's own for backups.
    pub folder: Option<&'a str>,
}

impl Default for ServerSide<'_> {
    fn default() -> Self {
        ServerSide {
            stripes: 1,
            transfer_kib: 0,
            destination: Destination::Files,
            sealing: Sealing::Open,
            preallocation: Preallocation::AsServer,
            folder: None,
        }
    }
}

impl ServerSide<'_> {
    /// The first key of the plan by which it asks for something, the folder apart.
    pub fn first_asked(&self) -> Option<&'static str> {
        let asked = [
            ("stripes", self.stripes != 1),
            ("transfer_kib", self.transfer_kib != 0),
            ("destination", self.destination != Destination::Files),
            ("encrypt_backup", self.sealing != Sealing::Open),
            ("preallocate", self.preallocation != Preallocation::AsServer),
        ];
        asked.into_iter().find(|(_, asked)| *asked).map(|(key, _)| key)
    }
}

/// Who writes the files of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Étalon, or a program beside it: they lie on this machine, in the request's folder.
    Here,
    /// The server, where étalon may not see them.
    Server,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct BackupRequest<'a> {
    pub method: Method,
    pub compression: Compression,
    pub compressor: Compressor,
    /// The most bytes of source data a second, of the backup or of the restore that this is; `None` is no limit.
    pub max_rate_bytes_s: Option<u64>,
    /// What a server's process for the backup, or a program, is held to.
    pub bounds: &'a Bounds,
    /// What may be copied.
    pub scope: Scope,
    /// An empty folder for the backup's files.
    pub folder: &'a Path,
    /// A folder for whatever else there is, such as what programs say.
    pub work: &'a Path,
    /// What only a server that writes its backups itself knows.
    pub server_side: ServerSide<'a>,
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
        Failure::new(FailureKind::Unsupported, tool::holding("the backup", self.bounds), why)
            .hint("leave out `backup_cpu_percent`; `max_rate_mib_s` and `backup_io_mib_s` are limits, too")
    }

    /// Refuses to go on after the user's Ctrl-C.
    pub fn go_on(&self) -> Result<(), Failure> {
        go_on(self.interrupt)
    }
}

/// Refuses to go on after the user's Ctrl-C.
pub fn go_on(interrupt: &AtomicBool) -> Result<(), Failure> {
    match interrupt.load(Ordering::Relaxed) {
        true => Err(Failure::new(FailureKind::Other, "go on", "interrupted by the user")),
        false => Ok(()),
    }
}

/// What the files of a backup are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Database,
    /// A tar archive of a PostgreSQL data folder.
    Tar,
    /// MariaDB's stream of files.
    Xbstream,
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
    /// What the server says of a backup that it has written itself; its `file` is a name and nothing more.
    pub served: Option<Served>,
}

/// What a server says of a backup that it has written itself.
#[derive(Clone, Debug)]
pub struct Served {
    /// Bytes of the backup before compression.
    pub source_bytes: u64,
    /// Bytes that were written.
    pub stored_bytes: u64,
    /// How its files grew, or why that was not seen.
    pub growth: Result<Growth, String>,
    /// Everything else that it tells.
    pub figures: Vec<Measurement>,
}

/// A database that was restored into a private place. Dropping it removes it.
pub trait Restored {
    /// A session that looks into étalon's tables.
    fn session(&self) -> Result<Box<dyn Session>, Failure>;

    /// CPU seconds of the server that was started for it, as part of the restore.
    fn server_cpu_s(&self) -> Result<f64, String>;

    /// What the server says of the restore, beside what is measured of every engine.
    fn figures(&self) -> Vec<Measurement> {
        Vec::new()
    }

    /// Checks that only this engine has, such as SQLite's of a file's integrity.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Ends what was started and removes what was made.
    fn remove(self: Box<Self>) -> Result<(), Failure>;
}

/// A target's ability to back up and restore.
pub trait Backups {
    /// Looks whether a backup can be taken as asked, before anything is done.
    fn check(&self, request: &BackupRequest<'_>) -> Result<(), Failure>;

    /// Why the engine does not have a codec; nothing if it has. Such a backup is `n/a`, and no failure: a plan that goes
    /// through codecs is one for all engines.
    fn lacks(&self, compression: Compression) -> Result<Option<String>, Failure> {
        let name = compression.name();
        Ok((!compression.is_known_here())
            .then(|| format!("{name} is a codec of SQL Server's, which only its server has")))
    }

    /// The programs of a method with their versions; none where étalon does it all itself or they are missing.
    fn programs(&self, method: Method) -> Vec<(String, String)> {
        let _ = method;
        Vec::new()
    }

    /// Who writes the files.
    fn writer(&self) -> Writer {
        Writer::Here
    }

    /// Removes what a backup has left at the server, such as its files, whether it was restored or not.
    fn tidy(&self, _request: &BackupRequest<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes a backup. The parts are told to the meter.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<Taken, Failure>;

    /// Restores it into a private place, SQLite's in `request.folder`: never over a database that is there. What must be made before it, such as an
    /// empty server, comes before the meter's first part.
    fn restore(
        &self,
        taken: &Taken,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure>;
}
