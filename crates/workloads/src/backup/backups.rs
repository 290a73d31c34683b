//! Backups: what a system implements, and the common work: compress, write, watch, read back.

use model::backup::BackupMethod;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::codec::Compression;
use super::meter::{Growth, Meter};
use super::tool;
use crate::dataset::Tables;
use crate::session::{Session, SessionKind};
use host::process::Bounds;
use load::error::{Failure, FailureKind};
use model::Measurement;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    Server,
    /// The engine's own client program.
    Client,
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupScope {
    OwnDatabase,
    /// The plan says so: `whole_server = true`.
    WholeServer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    #[default]
    Files,
    /// Discarded: measures reading and compressing; cannot be restored.
    Nowhere,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sealing {
    #[default]
    Open,
    /// The backup is encrypted with a key made by étalon.
    Encrypted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preallocation {
    #[default]
    AsServer,
    /// Files grow as they are written.
    Off,
}

/// Options of servers that write backups themselves. The default asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSide<'a> {
    /// Files written in parallel.
    pub stripes: u32,
    /// 0 is the server's default.
    pub transfer_kib: u32,
    pub destination: Destination,
    /// Backup encryption.
    pub sealing: Sealing,
    pub preallocation: Preallocation,
    /// On the server; default: its own for backups.
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
    /// Name of the first option that the plan sets, other than the folder; `None` if all are at their defaults.
    pub fn first_option_set(&self) -> Option<&'static str> {
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

/// Who writes a backup's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Étalon or a program, into the request's folder on this machine.
    Here,
    /// The server, where étalon may not see them.
    Server,
}

#[derive(Clone, Copy, Debug)]
pub struct BackupRequest<'a> {
    /// The method as the plan names it.
    pub method: &'a str,
    pub compression: Compression,
    pub compressor: Compressor,
    /// Source bytes per second of this backup or restore; `None` is no limit.
    pub max_rate_bytes_s: Option<u64>,
    /// Limits on the server's backup process, or on programs.
    pub bounds: &'a Bounds,
    pub scope: BackupScope,
    /// Whose tables are backed up.
    pub tables: Tables,
    /// Empty; for the backup's files.
    pub folder: &'a Path,
    /// For other files, such as programs' output.
    pub work: &'a Path,
    pub server_side: ServerSide<'a>,
    pub interrupt: &'a AtomicBool,
}

impl BackupRequest<'_> {
    /// What étalon itself compresses with: the plan's compression, or none where the server or a program does it.
    pub fn own_compression(&self) -> Compression {
        match self.compressor {
            Compressor::Own => self.compression,
            Compressor::Server | Compressor::Client => Compression::NONE,
        }
    }

    /// Makes the failure that this backup method cannot compress where the plan's `where` says.
    pub fn unsupported_compressor(&self, why: &str) -> Failure {
        let place = match self.compressor {
            Compressor::Server => "server",
            Compressor::Client => "client",
            Compressor::Own => "own",
        };
        Failure::new(FailureKind::Unsupported, format!("compress at `where = \"{place}\"`"), why)
    }

    /// Makes the failure that the backup has no process of its own whose CPU or I/O could be limited.
    pub fn unsupported_limit(&self, why: &str) -> Failure {
        Failure::new(FailureKind::Unsupported, tool::limit_words("the backup", self.bounds), why)
            .with_hint("leave out `backup_cpu_percent`; `max_rate_mib_s` and `backup_io_mib_s` are limits, too")
    }

    /// Fails if the user has interrupted the run.
    pub fn check_interrupt(&self) -> Result<(), Failure> {
        check_interrupt(self.interrupt)
    }
}

/// Fails if the flag of the user's interrupt is set.
pub fn check_interrupt(interrupt: &AtomicBool) -> Result<(), Failure> {
    if interrupt.load(Ordering::Relaxed) {
        Err(Failure::new(FailureKind::Other, "go on", "interrupted by the user"))
    } else {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupLayout {
    Database,
    /// A tar archive of a PostgreSQL data folder.
    Tar,
    /// MariaDB's stream of files.
    Xbstream,
    Sql,
}

#[derive(Clone, Debug)]
pub struct TakenBackup {
    pub method: BackupMethod,
    /// The restore begins with this file.
    pub file: PathBuf,
    pub compression: Compression,
    /// What it is inside.
    pub layout: BackupLayout,
    /// The CPU time of étalon's compression threads; 0 if there are none.
    pub compressor_cpu_s: f64,
    /// Names of other files of it, which a restore does not read and its size leaves out.
    pub unread: &'static [&'static str],
    /// For readers, such as that a fallback was used.
    pub notes: Vec<String>,
    /// What is known of a backup that the server wrote itself; `file` is then only a name.
    pub served: Option<Served>,
}

/// A server's report on a backup that it wrote itself.
#[derive(Clone, Debug)]
pub struct Served {
    pub source_bytes: u64,
    pub stored_bytes: u64,
    /// How its files grew.
    pub growth: Result<Growth, String>,
    pub figures: Vec<Measurement>,
}

/// A private restored database. Dropping it removes it.
pub trait Restored {
    /// Opens a session in the restored database, on étalon's tables or on those of others.
    fn open_session(&mut self, kind: SessionKind) -> Result<Box<dyn Session>, Failure>;

    /// CPU time in seconds that the server started for the restore has used so far.
    fn server_cpu_s(&self) -> Result<f64, String>;

    /// The server's own figures of the restore, as measurements; none by default.
    fn restore_figures(&self) -> Vec<Measurement> {
        Vec::new()
    }

    /// Fails if the engine's own check of the restored database finds an error, such as SQLite's integrity check.
    fn check_integrity(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Removes what was restored; like dropping, but reports errors.
    fn remove(self: Box<Self>) -> Result<(), Failure>;
}

/// A system's ability to back up and restore.
pub trait Backups {
    /// What a person calls the engine, and its backup methods, the engine's first choice first.
    fn methods(&self) -> (&'static str, &'static [BackupMethod]);

    /// Finds the backup method that the plan's `method` names; `native` is the engine's first choice.
    ///
    /// The one that a request means.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: it is another engine's.
    fn method(&self, wanted: &str) -> Result<BackupMethod, Failure> {
        let (engine, known) = self.methods();
        let found = if wanted == BackupMethod::NATIVE.0 {
            known.first()
        } else {
            known.iter().find(|method| method.0 == wanted)
        };
        found.copied().ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|method| format!("`{}`", method.0)).collect();
            let tried = format!("take a backup by `method = \"{wanted}\"`");
            Failure::new(FailureKind::Unsupported, tried, format!("it is not a way to back up {engine}"))
                .with_hint(format!("`native`, or one of {}", names.join(", ")))
        })
    }

    /// Fails if the backup cannot be taken as requested, before anything is done.
    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure>;

    /// Why the engine does not have a codec, `None` if it does.
    ///
    /// Such a backup is `n/a`, not a failure, so that a sweep over codecs fits all engines.
    fn why_codec_missing(&self, compression: Compression) -> Result<Option<String>, Failure> {
        let name = compression.name();
        Ok((!compression.is_built_in())
            .then(|| format!("{name} is a codec that some servers have themselves, and neither this one nor étalon")))
    }

    /// The programs that a method needs, with versions; empty if étalon does it itself, or they are missing.
    fn programs(&self, method: &str) -> Vec<(String, String)> {
        let _ = method;
        Vec::new()
    }

    /// Who writes a backup's files: étalon and its programs, or the server.
    fn writer(&self) -> Writer {
        Writer::Here
    }

    /// Whether the database is encrypted, so that its rows must not be readable in the backup's file.
    fn are_encrypted(&self) -> bool {
        false
    }

    /// Removes what a backup left at the server, restored or not.
    fn remove_leftovers(&self, _request: &BackupRequest<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes a backup, and counts its time, CPU and bytes in the meter.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure>;

    /// Restores a backup into a private place (SQLite's in `request.folder`), never over an existing database.
    ///
    /// Prerequisites such as an empty server come before the meter's first part.
    fn restore(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure>;
}
