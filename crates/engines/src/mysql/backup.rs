//! Backups by `mariadb-backup`, piped to étalon's codecs, or by the product's dump; restored into a private server. MySQL's own
//! copy of files, the statement `CLONE`, came with 8.0.17, and writes a folder on the server that is no stream.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::connect::Endpoint;
use super::private::Private;
use super::programs::{self, Product};
use super::url::{Address, Place};
use super::{MySqlSystem, SCHEMA};
use crate::server::restored;
use load::error::{Failure, FailureKind};
use model::backup::BackupMethod;
use model::catalog::is_of_release;
use model::plan::PrivateServer;
use workloads::backup::backups::{BackupLayout, BackupRequest, Backups, Compressor, Restored, TakenBackup};
use workloads::backup::codec::{Codec, Decoder};
use workloads::backup::meter::Meter;
use workloads::backup::place::chown_tree;
use workloads::backup::sink::{BackupSink, io_failure};
use workloads::backup::tool::{self, ToolCall};
use workloads::dataset::Tables;

/// Installation hint.
const BACKUP_HINT: &str = "`apt install mariadb-backup`, or put the folder of `mariadb-backup` and `mbstream` on PATH; `method = \"mariadb-dump\"` \
     needs neither";
const DUMP_HINT: &str = "`apt install mariadb-client`";

type RestoredServer = restored::RestoredServer<super::MySqlServer>;

/// The server's files, by the program of this name.
const FILES: BackupMethod = BackupMethod("mariadb-backup");
/// SQL, by the program of this name.
const DUMP: BackupMethod = BackupMethod("mariadb-dump");
/// SQL, by MySQL's program or what stands for it: MariaDB's packages bring one of this name, which reads both.
const MYSQL_DUMP: BackupMethod = BackupMethod("mysqldump");
pub(super) const OF_MARIADB: &[BackupMethod] = &[FILES, DUMP];
pub(super) const OF_MYSQL: &[BackupMethod] = &[MYSQL_DUMP];

pub(super) struct MySqlBackups<'a> {
    pub(super) system: &'a MySqlSystem,
}

enum Programs {
    Files { backup: PathBuf, stream: PathBuf },
    Dump { dump: PathBuf, client: PathBuf },
}

/// Tells which program a backup method needs and this machine does not have; `None` if all are there.
pub(super) fn why_program_missing(product: Product, system: &model::SystemPlan, method: &str) -> Option<Failure> {
    let server = system.server.as_ref();
    let folders: Vec<PathBuf> = server.iter().filter_map(|server| server.bin_dir.as_ref()).map(PathBuf::from).collect();
    match method {
        native if native == BackupMethod::NATIVE.0 && product == Product::MariaDb => {
            why_file_programs_missing(product, server, &folders)
                .and_then(|_| Programs::find_dump_programs(product, &folders).err())
        }
        own if own == FILES.0 => why_file_programs_missing(product, server, &folders),
        own if [BackupMethod::NATIVE.0, DUMP.0, MYSQL_DUMP.0].contains(&own) => {
            Programs::find_dump_programs(product, &folders).err()
        }
        _ => None,
    }
}

/// Tells which program for copying files this machine does not have, or has of another release.
fn why_file_programs_missing(product: Product, server: Option<&PrivateServer>, folders: &[PathBuf]) -> Option<Failure> {
    let programs = server
        .map(|server| programs::Programs::find_release(product, server.bin_dir.as_deref(), server.version.as_deref()));
    let release = programs.and_then(|programs| programs.ok()?.ask_release());
    Programs::find_file_programs(folders, release.as_deref()).err()
}

impl Programs {
    /// Finds the programs that copy a server's files, of the server's release where that is known.
    /// They read its files and its log.
    ///
    /// <https://mariadb.com/docs/server/server-usage/backup-and-restore/mariadb-backup/mariadb-backup-overview>
    fn find_file_programs(folders: &[PathBuf], release: Option<&str>) -> Result<Programs, Failure> {
        let backup = tool::find_program("mariadb-backup", folders, BACKUP_HINT)?;
        let stream = tool::find_program("mbstream", folders, BACKUP_HINT)?;
        let Some(series) = release.map(release_series) else { return Ok(Programs::Files { backup, stream }) };
        let version = tool::version_line(&backup);
        match version.split(' ').find(|word| word.contains("-MariaDB")).and_then(|word| word.split('-').next()) {
            Some(own) if !is_of_release(own, series) => {
                let cause =
                    format!("{} is of {own}, and reads the files of servers of its own release", backup.display());
                Err(Failure::new(FailureKind::Missing, format!("find the program mariadb-backup of {series}"), cause)
                    .with_hint(BACKUP_HINT))
            }
            _ => Ok(Programs::Files { backup, stream }),
        }
    }

    /// Finds the programs that dump and load by SQL.
    fn find_dump_programs(product: Product, folders: &[PathBuf]) -> Result<Programs, Failure> {
        let dump = find_either(product, [DUMP.0, MYSQL_DUMP.0], folders)?;
        Ok(Programs::Dump { dump, client: find_either(product, ["mariadb", "mysql"], folders)? })
    }
}

/// Finds a program by its name at MariaDB or its name at MySQL, the product's own first.
fn find_either(product: Product, mut names: [&str; 2], folders: &[PathBuf]) -> Result<PathBuf, Failure> {
    if product == Product::MySql {
        names.reverse();
    }
    tool::find_program(names[0], folders, DUMP_HINT)
        .or_else(|missing| tool::find_program(names[1], folders, DUMP_HINT).map_err(|_| missing))
}

/// Cuts a release to its series, such as `10.11` of `10.11.19`.
fn release_series(release: &str) -> &str {
    release.match_indices('.').nth(1).map_or(release, |(at, _)| &release[..at])
}

impl MySqlBackups<'_> {
    /// The server's product, whose programs are used.
    fn product(&self) -> Product {
        self.system.server.product
    }

    /// Folders of a private server's programs; none for another server.
    fn program_folders(&self) -> Vec<PathBuf> {
        self.system.lock_private().map(|private| private.program_folders()).unwrap_or_default()
    }

    /// Finds the programs that copy a private server's files; fails for a server that étalon has not started.
    fn find_file_programs(&self) -> Result<Programs, Failure> {
        let Some(private) = self.system.lock_private() else {
            let cause =
                "mariadb-backup reads the server's files, and étalon reads only those of a server that it has started";
            return Err(Failure::new(FailureKind::Unsupported, "back up by `mariadb-backup`", cause)
                .with_hint("`method = \"mariadb-dump\"`"));
        };
        Programs::find_file_programs(&private.program_folders(), private.release().as_deref())
    }

    /// Finds the programs that dump and load by SQL.
    fn find_dump_programs(&self) -> Result<Programs, Failure> {
        Programs::find_dump_programs(self.product(), &self.program_folders())
    }

    /// Chooses a method and finds its programs; the text says why they are a fallback.
    fn choose_programs(&self, method: &str) -> Result<(BackupMethod, Programs, Option<String>), Failure> {
        let chosen = self.method(method)?;
        if chosen != FILES {
            return Ok((chosen, self.find_dump_programs()?, None));
        }
        match self.find_file_programs() {
            Ok(programs) => Ok((FILES, programs, None)),
            Err(why) if method == BackupMethod::NATIVE.0 => {
                let note = format!("second choice: {why}");
                Ok((DUMP, self.find_dump_programs()?, Some(note)))
            }
            Err(why) => Err(why),
        }
    }

    /// Name of the database that a dump reads: étalon's own, or the one in the URL.
    fn database_to_dump(&self, request: &BackupRequest<'_>) -> Result<String, Failure> {
        let own = (request.tables == Tables::Own).then(|| SCHEMA.to_owned());
        own.or_else(|| self.system.endpoint.address.database.clone()).ok_or_else(|| {
            Failure::new(FailureKind::Plan, "back up a database of yours", "the URL names none")
                .with_hint("write it at the URL's end: `mysql://me@db1/shop`")
        })
    }

    /// Makes the restored server, with the address of the database that was backed up.
    fn make_restored_server(
        &self,
        private: Private,
        mut endpoint: Endpoint,
        request: &BackupRequest<'_>,
    ) -> Result<RestoredServer, Failure> {
        if request.tables == Tables::None {
            endpoint.address.database = Some(self.database_to_dump(request)?);
        }
        Ok(RestoredServer { private, endpoint })
    }

    /// Writes a backup of a private server's files, as `mariadb-backup` streams them.
    fn take_files(
        &self,
        backup: &Path,
        request: &BackupRequest<'_>,
    ) -> Result<workloads::backup::sink::WrittenBackup, Failure> {
        let data = self.system.lock_private().map(|private| private.data_folder()).transpose()?.unwrap_or_default();
        let mut datadir = OsString::from("--datadir=");
        datadir.push(&data);
        let mut folder = OsString::from("--target-dir=");
        folder.push(request.work);
        let call = ToolCall::new(backup, request.work)
            .with_args(["--no-defaults", "--backup", "--stream=mbstream"])
            .with_args(login_arguments(backup, &self.system.endpoint.address)?)
            .with_args([datadir, folder]);
        let call = call.with_env("MYSQL_PWD", self.system.endpoint.address.password.as_deref());
        let call = call.with_bounds(request.bounds);
        let mut sink = BackupSink::new(request, "backup.mbstream", request.own_compression())?.limited();
        call.run_reading_output(&mut |out| sink.copy_from(out, "what mariadb-backup sends"))?;
        sink.finish()
    }

    /// Writes a backup as a program dumps it in SQL.
    fn take_dump(
        &self,
        dump: &Path,
        request: &BackupRequest<'_>,
    ) -> Result<workloads::backup::sink::WrittenBackup, Failure> {
        let call = ToolCall::new(dump, request.work)
            .with_args(["--no-defaults"])
            .with_args(login_arguments(dump, &self.system.endpoint.address)?)
            .with_args(["--single-transaction", "--quick", "--skip-comments", "--databases", "--"])
            .with_args([self.database_to_dump(request)?]);
        let call = call.with_env("MYSQL_PWD", self.system.endpoint.address.password.as_deref());
        let call = call.with_bounds(request.bounds);
        let mut sink = BackupSink::new(request, "backup.sql", request.own_compression())?.limited();
        call.run_reading_output(&mut |out| sink.copy_from(out, "what the dump writes"))?;
        sink.finish()
    }

    /// Restores a backup of files as another private server, and starts it.
    fn restore_files(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<RestoredServer, Failure> {
        let Programs::Files { backup, stream } = self.find_file_programs()? else {
            return Err(Failure::new(FailureKind::Other, "restore", "its programs are gone"));
        };
        let Some(mut private) =
            self.system.lock_private().map(|private| private.prepare_dataless_twin(request.folder)).transpose()?
        else {
            return Err(Failure::new(FailureKind::Other, "restore", "the server is not étalon's own"));
        };
        let data = private.data_folder()?;
        let mut from = open_decoder(taken, request)?;
        meter.meter_part("extract", || {
            let call = ToolCall::new(&stream, request.work).with_args(["-x", "-C"]).with_args([data.as_os_str()]);
            call.run_feeding_input(&mut from, request.interrupt)
        })?;
        meter.source_bytes = Some(from.bytes);
        meter.codec_cpu_s += from.cpu.as_secs_f64();
        let mut folder = OsString::from("--target-dir=");
        folder.push(&data);
        meter.meter_part("prepare", || {
            ToolCall::new(&backup, request.work).with_args(["--prepare".into(), folder]).run(request.interrupt)
        })?;
        if let Some(user) = private.user() {
            chown_tree(&data, user).map_err(|error| io_failure("give the restored files to the server", &error))?;
        }
        let endpoint = meter.meter_part("start", || private.start_restored())?;
        self.make_restored_server(private, endpoint, request)
    }

    /// Starts another, empty private server and loads a dump into it.
    fn restore_dump(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<RestoredServer, Failure> {
        let Programs::Dump { client, .. } = self.find_dump_programs()? else {
            return Err(Failure::new(FailureKind::Other, "restore", "its programs are gone"));
        };
        // Not timed: the empty server.
        let (mut private, endpoint) = match self.system.lock_private() {
            Some(private) => private.start_empty_twin(request.folder)?,
            None => Private::start_fresh(self.product(), request.folder)?,
        };
        meter.server_cpu_before_s = private.running.cpu_s().unwrap_or_default();
        let mut from = open_decoder(taken, request)?;
        meter.meter_part("load", || {
            // Restored lines are data: no client commands, no local files.
            let call = ToolCall::new(&client, request.work)
                .with_args(["--no-defaults", "--binary-mode", "--local-infile=0"])
                .with_args(login_arguments(&client, &endpoint.address)?)
                .with_env("MYSQL_PWD", endpoint.address.password.as_deref());
            call.run_feeding_input(&mut from, request.interrupt)
                .map_err(|failure| private.running.add_log_to_failure(failure))
        })?;
        meter.source_bytes = Some(from.bytes);
        meter.codec_cpu_s += from.cpu.as_secs_f64();
        self.make_restored_server(private, endpoint, request)
    }
}

/// Opens a backup's file through its decompression, no faster than the request allows.
fn open_decoder(taken: &TakenBackup, request: &BackupRequest<'_>) -> Result<Decoder, Failure> {
    let tried = format!("read the backup {}", taken.file.display());
    let file = File::open(&taken.file).map_err(|error| io_failure(&tried, &error))?;
    let from = Decoder::new(taken.compression, file).map_err(|error| io_failure(&tried, &error))?;
    Ok(from.at_most(request.max_rate_bytes_s))
}

/// Makes the arguments by which a client program logs in; the password is in the environment.
fn login_arguments(program: &Path, address: &Address) -> Result<Vec<String>, Failure> {
    let mut args = vec![format!("--user={}", address.user)];
    match &address.place {
        Place::Socket(socket) => args.push(format!("--socket={}", socket.display())),
        Place::Tcp { host, port } => {
            args.extend(["--protocol=tcp".to_owned(), format!("--host={host}"), format!("--port={port}")]);
        }
    }
    args.extend(address.tls.program_arguments(program)?);
    Ok(args)
}

impl Backups for MySqlBackups<'_> {
    /// The product and its backup methods.
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        match self.product() {
            Product::MariaDb => ("MariaDB", OF_MARIADB),
            Product::MySql => ("MySQL", OF_MYSQL),
        }
    }

    /// Fails if the backup's method, compressor or database is not available here.
    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        if request.compressor != Compressor::Own && request.compression.codec != Codec::None {
            let why = match self.product() {
                Product::MariaDb => {
                    "MariaDB's server compresses no backups, and its programs only by a codec that is being withdrawn"
                }
                Product::MySql => "neither MySQL's server nor its dump compresses backups",
            };
            return Err(request.unsupported_compressor(why).with_hint("`where = \"own\"`"));
        }
        if self.choose_programs(request.method)?.0 != FILES {
            self.database_to_dump(request)?;
        }
        if self.system.lock_private().is_none() {
            self.system.permits.check_foreign_restore("back up the database")?;
        }
        self.choose_programs(request.method).map(|_| ())
    }

    /// Name and version of the program that a method runs here; empty if it is missing.
    fn programs(&self, method: &str) -> Vec<(String, String)> {
        let program = match self.choose_programs(method) {
            Ok((_, Programs::Files { backup: program, .. } | Programs::Dump { dump: program, .. }, _)) => program,
            Err(_) => return Vec::new(),
        };
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Without its path.
        let version = tool::version_line(&program).replace(&program.display().to_string(), "").trim().to_owned();
        vec![(name, version)]
    }

    /// Takes a backup by the chosen method, and times its parts.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let (method, programs, note) = self.choose_programs(request.method)?;
        let (written, layout) = match &programs {
            Programs::Files { backup, .. } => {
                (meter.meter_part("stream", || self.take_files(backup, request))?, BackupLayout::Xbstream)
            }
            Programs::Dump { dump, .. } => {
                (meter.meter_part("stream", || self.take_dump(dump, request))?, BackupLayout::Sql)
            }
        };
        let notes = note.into_iter().collect();
        Ok(TakenBackup {
            method,
            file: written.path,
            compression: request.own_compression(),
            layout,
            compressor_cpu_s: written.compressor_cpu_s,
            unread: &[],
            notes,
            served: None,
        })
    }

    /// Restores a backup into another private server, and times its parts.
    fn restore(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure> {
        let restored = match taken.layout {
            BackupLayout::Xbstream => self.restore_files(taken, request, meter)?,
            _ => self.restore_dump(taken, request, meter)?,
        };
        Ok(Box::new(restored))
    }
}
