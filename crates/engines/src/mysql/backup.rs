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

/// The program of a method that is not on this machine.
pub(super) fn missing_program(product: Product, system: &model::SystemPlan, method: &str) -> Option<Failure> {
    let server = system.server.as_ref();
    let folders: Vec<PathBuf> = server.iter().filter_map(|server| server.bin_dir.as_ref()).map(PathBuf::from).collect();
    match method {
        native if native == BackupMethod::NATIVE.0 && product == Product::MariaDb => {
            missing_for_files(product, server, &folders).and_then(|_| Programs::dump(product, &folders).err())
        }
        own if own == FILES.0 => missing_for_files(product, server, &folders),
        own if [BackupMethod::NATIVE.0, DUMP.0, MYSQL_DUMP.0].contains(&own) => Programs::dump(product, &folders).err(),
        _ => None,
    }
}

fn missing_for_files(product: Product, server: Option<&PrivateServer>, folders: &[PathBuf]) -> Option<Failure> {
    let programs =
        server.map(|server| programs::Programs::find(product, server.bin_dir.as_deref(), server.version.as_deref()));
    let release = programs.and_then(|programs| programs.ok()?.release());
    Programs::files(folders, release.as_deref()).err()
}

impl Programs {
    /// Finds the programs of the server's release, where that is known: they read its files and its log.
    ///
    /// <https://mariadb.com/docs/server/server-usage/backup-and-restore/mariadb-backup/mariadb-backup-overview>
    fn files(folders: &[PathBuf], release: Option<&str>) -> Result<Programs, Failure> {
        let backup = tool::find("mariadb-backup", folders, BACKUP_HINT)?;
        let stream = tool::find("mbstream", folders, BACKUP_HINT)?;
        let Some(series) = release.map(series) else { return Ok(Programs::Files { backup, stream }) };
        let version = tool::version(&backup);
        match version.split(' ').find(|word| word.contains("-MariaDB")).and_then(|word| word.split('-').next()) {
            Some(own) if !is_of_release(own, series) => {
                let cause =
                    format!("{} is of {own}, and reads the files of servers of its own release", backup.display());
                Err(Failure::new(FailureKind::Missing, format!("find the program mariadb-backup of {series}"), cause)
                    .hint(BACKUP_HINT))
            }
            _ => Ok(Programs::Files { backup, stream }),
        }
    }

    fn dump(product: Product, folders: &[PathBuf]) -> Result<Programs, Failure> {
        let dump = find_either(product, [DUMP.0, MYSQL_DUMP.0], folders)?;
        Ok(Programs::Dump { dump, client: find_either(product, ["mariadb", "mysql"], folders)? })
    }
}

/// Finds a program by its name at MariaDB or its name at MySQL, the product's own first.
fn find_either(product: Product, mut names: [&str; 2], folders: &[PathBuf]) -> Result<PathBuf, Failure> {
    if product == Product::MySql {
        names.reverse();
    }
    tool::find(names[0], folders, DUMP_HINT)
        .or_else(|missing| tool::find(names[1], folders, DUMP_HINT).map_err(|_| missing))
}

/// `10.11` of `10.11.19`.
fn series(release: &str) -> &str {
    release.match_indices('.').nth(1).map_or(release, |(at, _)| &release[..at])
}

impl MySqlBackups<'_> {
    fn product(&self) -> Product {
        self.system.server.product
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.system.private().map(|private| private.bin_dirs()).unwrap_or_default()
    }

    fn files(&self) -> Result<Programs, Failure> {
        let Some(private) = self.system.private() else {
            let cause =
                "mariadb-backup reads the server's files, and étalon reads only those of a server that it has started";
            return Err(Failure::new(FailureKind::Unsupported, "back up by `mariadb-backup`", cause)
                .hint("`method = \"mariadb-dump\"`"));
        };
        Programs::files(&private.bin_dirs(), private.release().as_deref())
    }

    fn dump(&self) -> Result<Programs, Failure> {
        Programs::dump(self.product(), &self.folders())
    }

    /// The programs of a method; the text says why they are a fallback.
    fn choose(&self, method: &str) -> Result<(BackupMethod, Programs, Option<String>), Failure> {
        let chosen = self.method(method)?;
        if chosen != FILES {
            return Ok((chosen, self.dump()?, None));
        }
        match self.files() {
            Ok(programs) => Ok((FILES, programs, None)),
            Err(why) if method == BackupMethod::NATIVE.0 => {
                let note = format!("second choice: {why}");
                Ok((DUMP, self.dump()?, Some(note)))
            }
            Err(why) => Err(why),
        }
    }

    /// The database that a dump has.
    fn database(&self, request: &BackupRequest<'_>) -> Result<String, Failure> {
        let own = (request.tables == Tables::Own).then(|| SCHEMA.to_owned());
        own.or_else(|| self.system.endpoint.address.database.clone()).ok_or_else(|| {
            Failure::new(FailureKind::Plan, "back up a database of yours", "the URL names none")
                .hint("write it at the URL's end: `mysql://me@db1/shop`")
        })
    }

    /// The restored server's address, with the database that was backed up.
    fn restored(
        &self,
        private: Private,
        mut endpoint: Endpoint,
        request: &BackupRequest<'_>,
    ) -> Result<RestoredServer, Failure> {
        if request.tables == Tables::None {
            endpoint.address.database = Some(self.database(request)?);
        }
        Ok(RestoredServer { private, endpoint })
    }

    /// `mariadb-backup`'s stream.
    fn take_files(
        &self,
        backup: &Path,
        request: &BackupRequest<'_>,
    ) -> Result<workloads::backup::sink::WrittenBackup, Failure> {
        let data = self.system.private().map(|private| private.data()).transpose()?.unwrap_or_default();
        let mut datadir = OsString::from("--datadir=");
        datadir.push(&data);
        let mut folder = OsString::from("--target-dir=");
        folder.push(request.work);
        let call = ToolCall::new(backup, request.work)
            .args(["--no-defaults", "--backup", "--stream=mbstream"])
            .args(login(backup, &self.system.endpoint.address)?)
            .args([datadir, folder]);
        let call = call.env("MYSQL_PWD", self.system.endpoint.address.password.as_deref());
        let call = call.held(request.bounds);
        let mut sink = BackupSink::new(request, "backup.mbstream", request.own_compression())?.limited();
        call.run_out(&mut |out| sink.copy(out, "what mariadb-backup sends"))?;
        sink.finish()
    }

    fn take_dump(
        &self,
        dump: &Path,
        request: &BackupRequest<'_>,
    ) -> Result<workloads::backup::sink::WrittenBackup, Failure> {
        let call = ToolCall::new(dump, request.work)
            .args(["--no-defaults"])
            .args(login(dump, &self.system.endpoint.address)?)
            .args(["--single-transaction", "--quick", "--skip-comments", "--databases", "--"])
            .args([self.database(request)?]);
        let call = call.env("MYSQL_PWD", self.system.endpoint.address.password.as_deref());
        let call = call.held(request.bounds);
        let mut sink = BackupSink::new(request, "backup.sql", request.own_compression())?.limited();
        call.run_out(&mut |out| sink.copy(out, "what the dump writes"))?;
        sink.finish()
    }

    fn restore_files(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<RestoredServer, Failure> {
        let Programs::Files { backup, stream } = self.files()? else {
            return Err(Failure::new(FailureKind::Other, "restore", "its programs are gone"));
        };
        let Some(mut private) = self.system.private().map(|private| private.empty_twin(request.folder)).transpose()?
        else {
            return Err(Failure::new(FailureKind::Other, "restore", "the server is not étalon's own"));
        };
        let data = private.data()?;
        let mut from = decoder(taken, request)?;
        meter.part("extract", || {
            let call = ToolCall::new(&stream, request.work).args(["-x", "-C"]).args([data.as_os_str()]);
            call.run_in(&mut from, request.interrupt)
        })?;
        meter.source_bytes = Some(from.bytes);
        meter.codec_cpu_s += from.cpu.as_secs_f64();
        let mut folder = OsString::from("--target-dir=");
        folder.push(&data);
        meter.part("prepare", || {
            ToolCall::new(&backup, request.work).args(["--prepare".into(), folder]).run(request.interrupt)
        })?;
        if let Some(user) = private.user() {
            chown_tree(&data, user).map_err(|error| io_failure("give the restored files to the server", &error))?;
        }
        let endpoint = meter.part("start", || private.start_restored())?;
        self.restored(private, endpoint, request)
    }

    fn restore_dump(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<RestoredServer, Failure> {
        let Programs::Dump { client, .. } = self.dump()? else {
            return Err(Failure::new(FailureKind::Other, "restore", "its programs are gone"));
        };
        // Not timed: the empty server.
        let (mut private, endpoint) = match self.system.private() {
            Some(private) => private.fresh_twin(request.folder)?,
            None => Private::fresh(self.product(), request.folder)?,
        };
        meter.server_cpu_before_s = private.running.cpu_s().unwrap_or_default();
        let mut from = decoder(taken, request)?;
        meter.part("load", || {
            // Restored lines are data: no client commands, no local files.
            let call = ToolCall::new(&client, request.work)
                .args(["--no-defaults", "--binary-mode", "--local-infile=0"])
                .args(login(&client, &endpoint.address)?)
                .env("MYSQL_PWD", endpoint.address.password.as_deref());
            call.run_in(&mut from, request.interrupt).map_err(|failure| private.running.explain_loss(failure))
        })?;
        meter.source_bytes = Some(from.bytes);
        meter.codec_cpu_s += from.cpu.as_secs_f64();
        self.restored(private, endpoint, request)
    }
}

fn decoder(taken: &TakenBackup, request: &BackupRequest<'_>) -> Result<Decoder, Failure> {
    let tried = format!("read the backup {}", taken.file.display());
    let file = File::open(&taken.file).map_err(|error| io_failure(&tried, &error))?;
    let from = Decoder::new(taken.compression, file).map_err(|error| io_failure(&tried, &error))?;
    Ok(from.at_most(request.max_rate_bytes_s))
}

/// Arguments; the password is in the environment.
fn login(program: &Path, address: &Address) -> Result<Vec<String>, Failure> {
    let mut args = vec![format!("--user={}", address.user)];
    match &address.place {
        Place::Socket(socket) => args.push(format!("--socket={}", socket.display())),
        Place::Tcp { host, port } => {
            args.extend(["--protocol=tcp".to_owned(), format!("--host={host}"), format!("--port={port}")]);
        }
    }
    args.extend(address.tls.arguments(program)?);
    Ok(args)
}

impl Backups for MySqlBackups<'_> {
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        match self.product() {
            Product::MariaDb => ("MariaDB", OF_MARIADB),
            Product::MySql => ("MySQL", OF_MYSQL),
        }
    }

    fn check(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        if request.compressor != Compressor::Own && request.compression.codec != Codec::None {
            let why = match self.product() {
                Product::MariaDb => {
                    "MariaDB's server compresses no backups, and its programs only by a codec that is being withdrawn"
                }
                Product::MySql => "neither MySQL's server nor its dump compresses backups",
            };
            return Err(request.no_such_compressor(why).hint("`where = \"own\"`"));
        }
        if self.choose(request.method)?.0 != FILES {
            self.database(request)?;
        }
        if self.system.private().is_none() {
            self.system.permits.foreign_restore("back up the database")?;
        }
        self.choose(request.method).map(|_| ())
    }

    fn programs(&self, method: &str) -> Vec<(String, String)> {
        let program = match self.choose(method) {
            Ok((_, Programs::Files { backup: program, .. } | Programs::Dump { dump: program, .. }, _)) => program,
            Err(_) => return Vec::new(),
        };
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Without its path.
        let version = tool::version(&program).replace(&program.display().to_string(), "").trim().to_owned();
        vec![(name, version)]
    }

    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let (method, programs, note) = self.choose(request.method)?;
        let (written, layout) = match &programs {
            Programs::Files { backup, .. } => {
                (meter.part("stream", || self.take_files(backup, request))?, BackupLayout::Xbstream)
            }
            Programs::Dump { dump, .. } => (meter.part("stream", || self.take_dump(dump, request))?, BackupLayout::Sql),
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
