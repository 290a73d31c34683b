//! Base backups by étalon's `BASE_BACKUP` or `pg_basebackup`; restored into a private server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use host::process::{Limit, LimitTarget};
use wire::postgres::base_backup::{Message, Options};

use super::PostgresSystem;
use super::connect::Endpoint;
use super::private::Private;
use super::programs::Programs;
use crate::postgres::lane::CopyError;
use crate::server::refusal::ask_failure;
use crate::server::restored;
use load::error::{Failure, FailureKind};
use model::backup::BackupMethod;
use workloads::backup::backups::{
    BackupLayout, BackupRequest, BackupScope, Backups, Compressor, Restored, TakenBackup,
};
use workloads::backup::codec::{Codec, Compression, Decoder};
use workloads::backup::meter::Meter;
use workloads::backup::place::unpack_tar;
use workloads::backup::sink::{BackupSink, io_failure};
use workloads::backup::tool::{self, ToolCall};

/// Backup label at the server.
const LABEL: &str = "etalon";
/// First release with [`Message`]'s protocol.
const FIRST_RELEASE: u32 = 150_000;
/// `MAX_RATE` in kB/s.
const RATES_KB_S: std::ops::RangeInclusive<u64> = 32..=1_048_576;

type RestoredServer = restored::RestoredServer<super::PostgresServer>;

/// `BASE_BACKUP`, spoken by étalon.
const BASE_BACKUP: BackupMethod = BackupMethod("base-backup");
/// The backup that the program of this name takes.
const PG_BASEBACKUP: BackupMethod = BackupMethod("pg_basebackup");
pub(super) const METHODS: &[BackupMethod] = &[BASE_BACKUP, PG_BASEBACKUP];

pub(super) struct PostgresBackups<'a> {
    pub(super) system: &'a PostgresSystem,
}

/// Writes a compression's level and workers as the server and its program take them.
fn compression_detail(compression: Compression) -> String {
    let workers = match compression.workers {
        0 => String::new(),
        workers => format!(",workers={workers}"),
    };
    format!("level={}{workers}", compression.level)
}

/// Returns the backup's rate limit in kB/s, within what the server takes.
fn max_rate_kb_s(request: &BackupRequest<'_>) -> Option<u64> {
    request.max_rate_bytes_s.map(|rate| (rate / 1024).clamp(*RATES_KB_S.start(), *RATES_KB_S.end()))
}

const PROGRAM_HINT: &str = "`apt install postgresql-client`, or `method = \"base-backup\"`, which étalon speaks itself";

/// Makes the failure that the program of a backup method is not on this machine, if so.
pub(super) fn missing_program_failure(system: &model::SystemPlan, method: &str) -> Option<Failure> {
    let folders: Vec<PathBuf> = system.server.iter().flat_map(|server| &server.bin_dir).map(PathBuf::from).collect();
    (method == PG_BASEBACKUP.0).then(|| find_program(&folders).err()).flatten()
}

/// Finds `pg_basebackup` in these folders, or else among PostgreSQL's programs on this machine.
/// A private server's package may not have it; any on this machine will do.
fn find_program(folders: &[PathBuf]) -> Result<PathBuf, Failure> {
    tool::find_program("pg_basebackup", folders, PROGRAM_HINT).or_else(|missing| {
        let programs = Programs::find(None, None).map_err(|_| missing.clone())?;
        tool::find_program("pg_basebackup", &[programs.folder], PROGRAM_HINT).map_err(|_| missing)
    })
}

impl PostgresBackups<'_> {
    /// Fails if étalon may not copy the server wholly, or could not restore its backup.
    fn check_server(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        let tried = "take a base backup";
        if self.system.lock_private().is_none() {
            // Restoring would run, on this host, whatever the server contains.
            self.system.permits.check_foreign_restore(tried)?;
        }
        if self.system.lock_private().is_none() && request.scope == BackupScope::OwnDatabase {
            let cause = "it copies every database of the server, and this server is not étalon's own";
            return Err(Failure::new(FailureKind::NotOurs, tried, cause).with_hint(
                "`whole_server = true` in the benchmark, or `--set 'benchmarks.*.whole_server=true'`, allows it; the \
                 copy goes into a private folder and is removed",
            ));
        }
        let facts = "SELECT concat_ws(' ', current_setting('server_version_num'), (SELECT count(*) FROM \
                     pg_catalog.pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')))";
        let answer = self
            .system
            .ask(|client| client.query_first_value(facts).map_err(|e| ask_failure("look at the server", &e)))?;
        let mut numbers = answer.split(' ').map(|word| word.parse::<u32>().unwrap_or_default());
        let (release, tablespaces) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        if release < FIRST_RELEASE {
            let cause =
                format!("the server is of release {}, and étalon speaks BASE_BACKUP from 15 on", release / 10_000);
            return Err(Failure::new(FailureKind::Unsupported, tried, cause));
        }
        if tablespaces > 0 {
            let cause = format!("the server has {tablespaces} tablespaces outside of its data folder");
            return Err(Failure::new(FailureKind::Unsupported, tried, cause)
                .with_hint("étalon restores into a private folder, where links out of it may not lead"));
        }
        Ok(())
    }

    /// Returns the endpoint of the server itself, past a private pooler.
    pub(super) fn direct_endpoint(&self) -> Endpoint {
        let past_pooler = self.system.lock_private().and_then(|private| private.recipe.past_pooler.clone());
        past_pooler.unwrap_or_else(|| self.system.endpoint.clone())
    }

    /// Finds `pg_basebackup`, first among a private server's programs.
    fn find_program(&self) -> Result<PathBuf, Failure> {
        let folders = self.system.lock_private().map(|private| vec![private.bin_dir()]).unwrap_or_default();
        find_program(&folders)
    }

    /// Makes the options of `BASE_BACKUP`: the server's compression and rate limit.
    fn server_compression(request: &BackupRequest<'_>) -> Options {
        let server = request.compressor == Compressor::Server && request.compression.codec != Codec::None;
        Options {
            compression: server.then(|| (request.compression.name(), compression_detail(request.compression))),
            max_rate_kb_s: max_rate_kb_s(request).map(|rate| rate as u32),
        }
    }

    /// Takes a base backup over a new replication connection, by `BASE_BACKUP`.
    fn take_by_protocol(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let tried = "take a base backup";
        let mut endpoint = self.direct_endpoint();
        endpoint.startup = Some(("replication", "true"));
        let (written, source_bytes) = meter.meter_part("stream", || {
            let mut client = endpoint.open_client("").map_err(|failure| self.system.explain_failure(failure))?;
            // Limited from the first byte to the last.
            let _limit = self.limit_sending_process(request)?;
            let mut stream = Stream::new(request);
            let command = Self::server_compression(request).command_sql(LABEL);
            match client.copy_out(&command, &mut |body| stream.take_message(body)) {
                Ok(()) => {}
                Err(CopyError::Taker(failure)) => return Err(failure),
                Err(CopyError::Server(error)) => return Err(self.system.explain_failure(ask_failure(tried, &error))),
            }
            let written = stream.finish()?;
            // Its process has gone when its cost is counted.
            client.close_and_wait();
            Ok(written)
        })?;
        meter.source_bytes = Some(source_bytes);
        let compression = match request.compressor {
            Compressor::Server => request.compression,
            _ => request.own_compression(),
        };
        Ok(TakenBackup {
            method: BASE_BACKUP,
            file: written.path,
            compression,
            layout: BackupLayout::Tar,
            compressor_cpu_s: written.compressor_cpu_s,
            unread: MANIFEST,
            notes: Vec::new(),
            served: None,
        })
    }

    /// Limits a private server's sending process, the only one of its kind there, as the request asks.
    fn limit_sending_process(&self, request: &BackupRequest<'_>) -> Result<Option<Limit>, Failure> {
        if request.bounds.are_none() {
            return Ok(None);
        }
        let Some(data) = self.system.lock_private().map(|private| private.data_folder()) else { return Ok(None) };
        let mut bounds = request.bounds.clone();
        if let Some(io) = &mut bounds.io {
            // It reads these.
            io.folders.push(data?);
        }
        let tried = "find the server's process that sends the backup";
        let sql = "SELECT pid::text FROM pg_catalog.pg_stat_activity WHERE backend_type = 'walsender'";
        let pid = self.system.ask(|client| client.query_first_value(sql).map_err(|e| ask_failure(tried, &e)))?;
        let pid = pid.parse().map_err(|_| Failure::new(FailureKind::Other, tried, format!("it is `{pid}`")))?;
        tool::apply_limit(LimitTarget::Tree(pid), &bounds, "the backup").map(Some)
    }

    /// Takes a base backup by `pg_basebackup`.
    fn take_by_program(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let program = self.find_program()?;
        let address = &self.direct_endpoint().address;
        let compression = request.compression;
        let own = request.own_compression();
        let wanted = match request.compressor {
            _ if compression.codec == Codec::None => "none".to_owned(),
            Compressor::Own => "none".to_owned(),
            Compressor::Server => format!("server-{}:{}", compression.name(), compression_detail(compression)),
            Compressor::Client => format!("client-{}:{}", compression.name(), compression_detail(compression)),
        };
        let port = address.port.to_string();
        let mut args: Vec<String> = ["-h", &address.host, "-p", &port, "-U", &address.user].map(str::to_owned).into();
        args.extend(["-w", "-Ft", "-X", "fetch", "-c", "fast", "-l", LABEL].map(str::to_owned));
        args.push(format!("--compress={wanted}"));
        args.extend(max_rate_kb_s(request).map(|rate| format!("--max-rate={rate}")));
        let mut call =
            ToolCall::new(&program, request.work).with_args(args).with_env("PGPASSWORD", address.password.as_deref());
        for (name, value) in address.environment_variables()? {
            call = call.with_env(name, Some(&value));
        }
        // These would lead it to another server.
        let call = ["PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE"].into_iter().fold(call, ToolCall::without_env);
        let mut taken = TakenBackup {
            method: PG_BASEBACKUP,
            file: request.folder.join(format!("base.tar{}", compression.file_extension())),
            compression,
            layout: BackupLayout::Tar,
            compressor_cpu_s: 0.0,
            unread: MANIFEST,
            notes: Vec::new(),
            served: None,
        };
        if own.codec == Codec::None {
            let call = call.with_args(["-D".into(), request.folder.as_os_str().to_owned()]);
            meter
                .meter_part("stream", || call.run(request.interrupt))
                .map_err(|failure| self.system.explain_failure(failure))?;
            return Ok(taken);
        }
        let call = call.with_args(["-D", "-"]);
        let written = meter.meter_part("stream", || {
            let mut sink = BackupSink::new(request, "base.tar", own)?;
            call.run_reading_output(&mut |out| sink.copy_from(out, "what pg_basebackup sends"))?;
            sink.finish()
        })?;
        taken.file = written.path;
        taken.compressor_cpu_s = written.compressor_cpu_s;
        Ok(taken)
    }
}

/// What the server says of the backup's files.
const MANIFEST: &[&str] = &["backup_manifest"];

struct Stream<'a> {
    request: &'a BackupRequest<'a>,
    archive: Option<BackupSink<'a>>,
    manifest: Option<BackupSink<'a>>,
    source_bytes: u64,
}

impl<'a> Stream<'a> {
    /// Makes the reader of a backup's stream, before its first message.
    fn new(request: &'a BackupRequest<'a>) -> Stream<'a> {
        Stream { request, archive: None, manifest: None, source_bytes: 0 }
    }

    /// Reads one message of the backup's stream, and writes its data to the backup's files.
    fn take_message(&mut self, body: &[u8]) -> Result<(), Failure> {
        match Message::parse(body).map_err(stream_failure)? {
            Message::Data(data) => match (&mut self.manifest, &mut self.archive) {
                (Some(sink), _) | (None, Some(sink)) => sink.write_bytes(data),
                (None, None) => Err(stream_failure("data came before the archive's name")),
            },
            Message::Archive { tablespace: b"", .. } if self.archive.is_none() => {
                // Our own name: the server's could lead anywhere.
                let coded = match self.request.compressor {
                    Compressor::Server => format!("base.tar{}", self.request.compression.file_extension()),
                    _ => "base.tar".to_owned(),
                };
                self.archive = Some(BackupSink::new(self.request, &coded, self.request.own_compression())?);
                Ok(())
            }
            Message::Archive { .. } => Err(stream_failure("it has more than one archive")),
            Message::Manifest => {
                self.manifest = Some(BackupSink::new(self.request, "backup_manifest", Compression::NONE)?);
                Ok(())
            }
            Message::Progress(bytes) => {
                self.source_bytes = bytes;
                Ok(())
            }
        }
    }

    /// Ends the backup's files; returns what was written, and the source's bytes by the server's last report.
    fn finish(self) -> Result<(workloads::backup::sink::WrittenBackup, u64), Failure> {
        if let Some(manifest) = self.manifest {
            manifest.finish()?;
        }
        match self.archive {
            Some(archive) => Ok((archive.finish()?, self.source_bytes)),
            None => Err(Failure::new(FailureKind::Other, "take a base backup", "the server sent no archive")),
        }
    }
}

/// Makes the failure of a base backup's stream that étalon does not understand.
fn stream_failure(cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, "understand the base backup", cause)
}

impl Backups for PostgresBackups<'_> {
    /// Returns the engine's name and its methods of backup.
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        ("PostgreSQL", METHODS)
    }

    /// Fails if the server, method, limits or compressor of a backup do not go together.
    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        if request.bounds.cores.is_some() && self.system.lock_private().is_none() {
            return Err(request.unsupported_limit("the server's processes are not étalon's own"));
        }
        match self.method(request.method)? {
            PG_BASEBACKUP if request.bounds.cores.is_some() => {
                let why = "the server's process that works for `pg_basebackup` is there only once it has begun";
                return Err(request.unsupported_limit(why).with_hint("`method = \"base-backup\"`"));
            }
            PG_BASEBACKUP => {
                self.find_program()?;
            }
            _ if request.compressor == Compressor::Client && request.compression.codec != Codec::None => {
                return Err(request
                    .unsupported_compressor("the client of `base-backup` is étalon itself")
                    .with_hint("`where = \"own\"`, or `method = \"pg_basebackup\"`"));
            }
            _ => {}
        }
        self.check_server(request)
    }

    /// Names the program of a backup method, with its version, if it has one.
    fn programs(&self, method: &str) -> Vec<(String, String)> {
        let found = (method == PG_BASEBACKUP.0).then(|| self.find_program().ok()).flatten();
        found.map(|program| ("pg_basebackup".to_owned(), tool::version_line(&program))).into_iter().collect()
    }

    /// Takes a base backup by the method asked for.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        match self.method(request.method)? {
            PG_BASEBACKUP => self.take_by_program(request, meter),
            _ => self.take_by_protocol(request, meter),
        }
    }

    /// Unpacks a base backup into a private server, and starts that.
    fn restore(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure> {
        // Where the tables are.
        let address = &self.system.session_settings_for(request.tables).session_endpoint(&self.system.endpoint).address;
        let mut private = match self.system.lock_private() {
            Some(private) => private.make_empty_twin(request.folder)?,
            None => Private::make_uninitialised(None, &Default::default(), request.folder)?,
        };
        let data = private.data_folder()?;
        let user = private.user().cloned();
        let (bytes, cpu_s) =
            meter.meter_part("unpack", || unpack_backup(taken, request.max_rate_bytes_s, &data, user.as_ref()))?;
        meter.source_bytes = Some(bytes);
        meter.codec_cpu_s += cpu_s;
        private.replace_restored_settings()?;
        let endpoint = meter.meter_part("recover", || private.start_restored(address))?;
        Ok(Box::new(RestoredServer { private, endpoint }))
    }
}

/// Unpacks a backup into a data folder. Returns bytes, and CPU seconds of decompression.
fn unpack_backup(
    taken: &TakenBackup,
    max_rate_bytes_s: Option<u64>,
    data: &Path,
    user: Option<&host::process::User>,
) -> Result<(u64, f64), Failure> {
    let tried = format!("unpack the backup into {}", data.display());
    let file = File::open(&taken.file).map_err(|error| io_failure(&tried, &error))?;
    let from = Decoder::new(taken.compression, file).map_err(|error| io_failure(&tried, &error))?;
    let mut from = from.at_most(max_rate_bytes_s);
    unpack_tar(&mut from, data, user).map_err(|error| io_failure(&tried, &error))?;
    fs::create_dir_all(data.join("pg_wal")).map_err(|error| io_failure(&tried, &error))?;
    Ok((from.bytes, from.cpu.as_secs_f64()))
}
