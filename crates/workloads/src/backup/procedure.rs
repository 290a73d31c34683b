//! One run: back up, restore, verify; nothing is left behind.

use model::backup::BackupMethod;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use host::process::{Bounds, IoBound, Limit, LimitTarget};
use host::scratch::Scratch;
use model::{Facts, Reading};

use super::claims::{self, Searched, Watchword};
use super::during;
use super::figures::{Cost, Figures, RestoredFigures, unavailable_outcome};
use super::source::{Held, Source};
use crate::backup::archive;
use crate::backup::backups::{
    BackupRequest, BackupScope, Backups, Compressor, Destination, Preallocation, Restored, Sealing, ServerSide,
    TakenBackup, Writer,
};
use crate::backup::codec::{Compression, Decoder};
use crate::backup::meter::{Growth, Meter, watch_growth};
use crate::backup::sink::io_failure;
use crate::backup::tool;
use crate::dataset::{Dialect, Tables};
use crate::step::{StepContext, Stepped};
use crate::system::System;
use crate::work::StreamTask;
use load::counters::Placement;
use load::error::{Failure, FailureKind};

/// For progress.
const PARTS: usize = 4;

pub(super) struct BackupProcedure {
    pub(super) source: Source,
    pub(super) method: String,
    pub(super) compression: Compression,
    /// `None`: default.
    pub(super) compressor: Option<Compressor>,
    pub(super) max_rate_bytes_s: Option<u64>,
    pub(super) restore_max_rate_bytes_s: Option<u64>,
    /// During the backup.
    pub(super) server_cores: Option<f64>,
    /// The limits of the backup process alone.
    pub(super) backup: ResourceLimits,
    /// The limits of the whole restore.
    pub(super) restore: ResourceLimits,
    pub(super) load: Option<StreamTask>,
    pub(super) scope: BackupScope,
    pub(super) folder: Option<PathBuf>,
    pub(super) stripes: u32,
    pub(super) transfer_kib: u32,
    pub(super) destination: Destination,
    pub(super) sealing: Sealing,
    pub(super) preallocation: Preallocation,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResourceLimits {
    pub(super) cores: Option<f64>,
    /// For reads and for writes.
    pub(super) io_bytes_s: Option<u64>,
}

impl ResourceLimits {
    /// Makes bounds of these limits, with those of I/O on a folder's device.
    fn in_folder(self, folder: &Path) -> Bounds {
        Bounds {
            cores: self.cores,
            io: self.io_bytes_s.map(|bytes_s| IoBound { bytes_s, folders: vec![folder.to_owned()] }),
        }
    }
}

/// Makes the failure of a step that was tried.
fn step_failure(tried: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, error)
}

impl crate::workload::Procedure for BackupProcedure {
    /// Names the programs that the backup method needs, with versions, as facts.
    fn procedure_facts(&self, system: &dyn System) -> Facts {
        let mut facts = Facts::default();
        let programs = system.backups().map(|backups| backups.programs(&self.method)).unwrap_or_default();
        programs.into_iter().for_each(|(name, version)| facts.record_identity(name, version));
        facts
    }

    /// Number of connections that the load needs; 0 without one.
    fn connections(&self) -> u64 {
        self.load.as_ref().map_or(0, |task| task.shape.connections())
    }

    /// Counts how often the data are moved: 4 times, backed up, restored, and both compared; they are loaded before.
    fn passes(&self) -> u32 {
        4
    }

    /// Whose tables are backed up: étalon's or those of others.
    fn tables(&self) -> Tables {
        self.source.session_kind().tables()
    }

    /// Runs the step: backs up, restores and verifies, or runs the load alone if the plan wants no backup.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        if self.method == BackupMethod::NONE.0
            && let Some(load) = &self.load
        {
            return during::run_load_without_backup(load, context);
        }
        let backups = context.system.backups()?;
        let missing = backups.why_codec_missing(self.compression)?;
        let writer = backups.writer();
        drop(backups);
        if let Some(reason) = missing {
            return Ok(Stepped::Done(unavailable_outcome(&reason)));
        }
        let ran = self.run_in_scratch(context, writer);
        match ran {
            Err(_) if context.is_interrupted() => Ok(Stepped::Interrupted),
            other => other.map(|figures| Stepped::Done(figures.outcome())),
        }
    }
}

impl BackupProcedure {
    /// Fails if the plan sets options that this kind of backup does not have.
    fn check_backup_options(&self, writer: Writer) -> Result<(), Failure> {
        let asked = self.server_side().first_option_set();
        let io = [("backup_io_mib_s", self.backup.io_bytes_s), ("restore_io_mib_s", self.restore.io_bytes_s)];
        match (writer, asked, io.iter().find(|(_, bytes_s)| bytes_s.is_some())) {
            (Writer::Here, Some(key), _) => {
                unsupported_key(key, "only a server that writes its backups itself can be asked for that")
            }
            (Writer::Server, _, Some((key, _))) => unsupported_key(
                key,
                "the server writes its backups itself, and étalon can hold only what it has started",
            ),
            _ => Ok(()),
        }
    }

    /// The plan's options for backups that the server itself writes.
    fn server_side(&self) -> ServerSide<'_> {
        ServerSide {
            stripes: self.stripes,
            transfer_kib: self.transfer_kib,
            destination: self.destination,
            sealing: self.sealing,
            preallocation: self.preallocation,
            folder: self.folder.as_deref().and_then(Path::to_str),
        }
    }

    /// Chooses who compresses: as the plan says, else étalon if it sees the bytes, else the server.
    fn choose_compressor(&self, writer: Writer) -> Compressor {
        self.compressor.unwrap_or(match writer {
            Writer::Here => Compressor::Own,
            Writer::Server => Compressor::Server,
        })
    }

    /// Runs the backup and its restore in a scratch folder, which is removed at the end.
    fn run_in_scratch(&self, context: &mut StepContext<'_>, writer: Writer) -> Result<Figures, Failure> {
        self.check_backup_options(writer)?;
        if let (Placement::InProcess | Placement::OwnThreads, Some(_), Some(_)) =
            (context.system.placement(), &self.load, self.backup.io_bytes_s)
        {
            let cause = "the engine works inside étalon, so that its transactions would be held, too";
            return Err(Failure::new(
                FailureKind::Unsupported,
                "hold a backup beside a load by `backup_io_mib_s`",
                cause,
            )
            .with_hint("`max_rate_mib_s`"));
        }
        let tried = "make a folder for the backup";
        // A server's own folder.
        let base = if writer == Writer::Here { self.folder.as_deref() } else { None };
        let scratch = Scratch::new("backup", base).map_err(|error| step_failure(tried, error))?;
        let folders = ["taken", "work", "restored"].map(|name| scratch.path().join(name));
        for folder in &folders {
            fs::create_dir(folder).map_err(|error| io_failure(tried, &error))?;
        }
        let [folder, work, restored] = &folders;
        // For a restored server of another user.
        scratch.allow_passage().map_err(|error| step_failure(tried, error))?;
        for private in [folder, work] {
            host::identity::close_to_others(private).map_err(|error| step_failure(tried, error))?;
        }
        let request = BackupRequest {
            method: &self.method,
            compression: self.compression,
            compressor: self.choose_compressor(writer),
            max_rate_bytes_s: self.max_rate_bytes_s,
            bounds: &self.backup.in_folder(folder),
            scope: self.scope,
            tables: self.source.session_kind().tables(),
            folder,
            work,
            server_side: self.server_side(),
            interrupt: context.interrupt,
        };
        let figures = self.run_and_tidy(context, &request, restored);
        // Reported unless something else failed before.
        let removed = scratch.remove().map_err(|error| step_failure("remove the backup", error));
        figures.and_then(|figures| removed.map(|()| figures))
    }

    /// Runs all parts of the step, and removes what it left at the server even if they fail.
    fn run_and_tidy(
        &self,
        context: &mut StepContext<'_>,
        request: &BackupRequest<'_>,
        restored: &Path,
    ) -> Result<Figures, Failure> {
        let system = context.system;
        let backups = system.backups()?;
        backups.check_possible(request)?;
        let figures = self.run_parts(context, &*backups, request, restored);
        let tidied = backups.remove_leftovers(request);
        figures.and_then(|figures| tidied.map(|()| figures))
    }

    /// Takes the backup, restores it and compares the rows; returns the figures.
    fn run_parts(
        &self,
        context: &mut StepContext<'_>,
        backups: &dyn Backups,
        request: &BackupRequest<'_>,
        restored: &Path,
    ) -> Result<Figures, Failure> {
        let system = context.system;
        context.report_progress("reading the original", 0, PARTS);
        let word = self.source.draw_watchword(context.seed);
        let mut session = system.connect_session(self.source.session_kind())?;
        let original =
            self.source.mark_and_read(&mut *session, system.dialect(), word.as_ref(), &|| request.check_interrupt())?;
        drop(session);
        context.report_progress("backing up", 1, PARTS);
        let limited = || {
            let limit = self.server_cores.map(|cores| system.limit_cpu(cores)).transpose()?;
            let backed_up = back_up_metered(system, backups, request);
            let released = limit.map_or(Ok(()), |limit| limit.release());
            backed_up.and_then(|done| released.map(|()| done))
        };
        let ((taken, mut backup, growth), load) = match &self.load {
            None => (limited()?, None),
            Some(task) => during::run_under_load(task, context, limited).map(|(done, record)| (done, Some(record)))?,
        };
        if load.is_some() {
            backup.discard_shared_cpu();
        }
        claims::check_file(&taken, request)?;
        // What is restored must not have this.
        self.write_note(system, self.source.draw_watchword(context.seed).as_ref().map(Watchword::as_str))?;
        let stored_bytes = match &taken.served {
            Some(served) => served.stored_bytes,
            None => fs::metadata(&taken.file).map_err(|error| io_failure("look at the backup", &error))?.len(),
        };
        let bounds = self.restore.in_folder(restored);
        let max_rate_bytes_s = self.restore_max_rate_bytes_s;
        let into = BackupRequest { folder: restored, max_rate_bytes_s, bounds: &bounds, ..*request };
        let restored = match request.server_side.destination {
            Destination::Files => Some(self.restore_and_compare(context, backups, &taken, &into, &original)?),
            Destination::Nowhere => None,
        };
        if let Source::Made(material) = &self.source {
            self.write_note(system, Some(&material.first_note()))?;
        }
        let classes = self.split_sizes(backups, &taken, word.as_ref())?;
        let (served_bytes, growth) = match &taken.served {
            Some(served) => (Some(served.source_bytes), served.growth.clone()),
            None => (None, Ok(growth)),
        };
        // An exact count of étalon's own beats the server's word.
        let unpacked = restored.as_ref().and_then(|restored| restored.source_bytes);
        let source_bytes = unpacked.or(backup.source_bytes).or(served_bytes).unwrap_or_else(|| {
            // The codec's output is its input.
            classes.values().map(|share| share.source_bytes).sum()
        });
        if claims::is_split_by_etalon(&taken) {
            claims::check_source(taken.layout, source_bytes, classes.values().map(|share| share.source_bytes).sum())?;
        }
        let least_bytes = source_bytes.min(stored_bytes);
        claims::check_time("backup", backup.elapsed_s, least_bytes, self.max_rate_bytes_s)?;
        if let Some(restored) = &restored {
            claims::check_time("restore", restored.cost.elapsed_s, least_bytes, self.restore_max_rate_bytes_s)?;
        }
        Ok(Figures {
            source_bytes,
            stored_bytes,
            rows: original.row_count(),
            restored,
            backup,
            growth,
            classes,
            compression: self.compression,
            taken,
            load,
        })
    }

    /// Restores the backup, compares its rows with the original and removes it; returns cost and growth.
    fn restore_and_compare(
        &self,
        context: &mut StepContext<'_>,
        backups: &dyn Backups,
        taken: &TakenBackup,
        into: &BackupRequest<'_>,
        original: &Held,
    ) -> Result<RestoredFigures, Failure> {
        let system = context.system;
        context.report_progress("restoring", 2, PARTS);
        // Only the server can limit its own restore.
        let (bounds, of_server) = match backups.writer() {
            Writer::Here => (into.bounds.clone(), None),
            Writer::Server => (Bounds::default(), into.bounds.cores),
        };
        let mut meter = Meter::with_limits(&bounds);
        let limit = of_server.map(|cores| system.limit_cpu(cores)).transpose()?;
        let (back, growth) = watch_growth(into.folder, || backups.restore(taken, into, &mut meter));
        let let_go = meter.release_limit().and(limit.map_or(Ok(()), |limit| limit.release()));
        let mut back = back.and_then(|back| let_go.map(|()| back))?;
        let server_cpu = back.server_cpu_s().map(|all| all - meter.server_cpu_before_s);
        let figures = back.restore_figures();
        context.report_progress("verifying", 3, PARTS);
        let verified = self.verify_restored(&mut *back, system.dialect(), original, into);
        let removed = back.remove();
        verified.and(removed)?;
        let growth = match taken.served {
            // The server's files are not visible.
            Some(_) => Vec::new(),
            None => growth,
        };
        let cost = Cost::of_restore(&meter, server_cpu, system.placement());
        Ok(RestoredFigures { cost, growth, figures, source_bytes: meter.source_bytes })
    }

    /// Writes a note into the first row of the original; does nothing without a note.
    fn write_note(&self, system: &dyn System, note: Option<&str>) -> Result<(), Failure> {
        let Some(note) = note else { return Ok(()) };
        Watchword::write_note(note, &mut *system.connect_session(self.source.session_kind())?)
    }

    /// Fails unless the restored database is intact and has the original's rows.
    fn verify_restored(
        &self,
        restored: &mut dyn Restored,
        dialect: &dyn Dialect,
        original: &Held,
        request: &BackupRequest<'_>,
    ) -> Result<(), Failure> {
        restored.check_integrity()?;
        let mut session = restored.open_session(self.source.session_kind())?;
        let held = self.source.read_held(&mut *session, dialect, &|| request.check_interrupt())?;
        let Some(difference) = held.difference_from(original) else { return Ok(()) };
        let failure = Failure::new(FailureKind::Verification, "trust the restored database", difference);
        Err(match self.source {
            Source::Made(_) => failure,
            Source::Theirs => {
                failure.with_hint("a database that changes meanwhile cannot be compared: back up a copy of it")
            }
        })
    }

    /// Splits the backup's size by class of file; fails if an encrypted one shows the watchword.
    fn split_sizes(
        &self,
        backups: &dyn Backups,
        taken: &TakenBackup,
        word: Option<&Watchword>,
    ) -> Result<std::collections::BTreeMap<archive::Class, archive::ClassSize>, Failure> {
        if taken.served.is_some() {
            return Ok(std::collections::BTreeMap::new());
        }
        let tried = "look into the backup";
        let file = File::open(&taken.file).map_err(|error| io_failure(tried, &error))?;
        let mut from = Decoder::new(taken.compression, file).map_err(|error| io_failure(tried, &error))?;
        match word {
            Some(word) if backups.are_encrypted() => {
                let mut searched = Searched::new(&mut from, word);
                let split = archive::split_by_class(taken.layout, &mut searched, self.compression);
                let classes = split.map_err(|error| io_failure(tried, &error))?;
                claims::check_encryption(searched.is_found).map(|()| classes)
            }
            _ => archive::split_by_class(taken.layout, &mut from, self.compression)
                .map_err(|error| io_failure(tried, &error)),
        }
    }
}

/// Makes the failure of a key that the engine does not support, as a result.
fn unsupported_key(key: &str, cause: &str) -> Result<(), Failure> {
    Err(Failure::new(FailureKind::Unsupported, format!("back up with `{key}`"), cause))
}

/// Takes the backup; returns it with its time and CPU and the growth of its file.
fn back_up_metered(
    system: &dyn System,
    backups: &dyn Backups,
    request: &BackupRequest<'_>,
) -> Result<(TakenBackup, Cost, Growth), Failure> {
    let server_before = system.server_cpu_s();
    let mut meter = Meter::default();
    let own = Bounds { cores: None, io: request.bounds.io.clone() };
    let limit = (!own.are_none()).then(|| tool::apply_limit(LimitTarget::Own, &own, "the backup")).transpose()?;
    let (taken, growth) = watch_growth(request.folder, || backups.back_up(request, &mut meter));
    let released =
        limit.map_or(Ok(()), Limit::release).map_err(|error| step_failure("end the limit on the backup", error));
    let taken = taken.and_then(|taken| released.map(|()| taken))?;
    // The server counts ended processes with a delay.
    let server_cpu = server_before.and_then(|before| Ok(system.server_cpu_s()? - before));
    let mut cost = Cost::of_backup(&meter, taken.compressor_cpu_s, server_cpu, system.placement());
    if request.compressor == Compressor::Own && request.compression.workers > 0 {
        cost.attribute_cpu_to_compressor(&meter);
    }
    Ok((taken, cost, growth))
}

/// Reads a server's CPU time as a measurement; unavailable if the engine works inside étalon.
pub(super) fn cpu_reading(cpu: Result<f64, String>, placement: Placement) -> Reading {
    match (placement, cpu) {
        (Placement::InProcess | Placement::OwnThreads, _) => {
            Reading::unavailable("the engine works inside étalon: its CPU time is the client's")
        }
        (Placement::Server, Ok(seconds)) => Reading::Value(seconds),
        (Placement::Server, Err(reason)) => Reading::unavailable(reason),
    }
}
