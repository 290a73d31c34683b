//! Backups by `mariadb-backup`, piped to étalon's codecs, or by `mariadb-dump`; restored into a private server.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::private::Private;
use super::programs::Product;
use super::url::{Address, Place};
use super::{MySqlSystem, SCHEMA};
use crate::server::restored;
use families::backup::backups::{BackupLayout, BackupRequest, Backups, Compressor, Restored, TakenBackup};
use families::backup::codec::{Codec, Decoder};
use families::backup::meter::Meter;
use families::backup::place::chown_tree;
use families::backup::sink::{BackupSink, io_failure};
use families::backup::tool::{self, ToolCall};
use load::error::{Failure, FailureKind};
use model::backup::BackupMethod;

/// Installation hint.
const BACKUP_HINT: &str = "`apt install mariadb-backup`, or put the folder of `mariadb-backup` and `mbstream` on PATH; `method = \"mariadb-dump\"` \
     needs neither";
const DUMP_HINT: &str = "`apt install mariadb-client`";

type RestoredServer = restored::RestoredServer<super::MySqlServer>;

/// The server's files, by the program of this name.
const FILES: BackupMethod = BackupMethod("mariadb-backup");
/// SQL, by the program of this name.
const DUMP: BackupMethod = BackupMethod("mariadb-dump");
pub(super) const METHODS: &[BackupMethod] = &[FILES, DUMP];

pub(super) struct MySqlBackups<'a> {
    pub(super) system: &'a MySqlSystem,
}

enum Programs {
    Files { backup: PathBuf, stream: PathBuf },
    Dump { dump: PathBuf, client: PathBuf },
}

/// The program of a method that is not on this machine.
pub(super) fn lacking(system: &model::SystemPlan, method: &str) -> Option<Failure> {
    let folders: Vec<PathBuf> = system.server.iter().flat_map(|server| &server.bin_dir).map(PathBuf::from).collect();
    let (files, dump) = (|| Programs::files(&folders).err(), || Programs::dump(&folders).err());
    match BackupMethod::NATIVE.0 == method {
        true => files().and_then(|_| dump()),
        false if method == FILES.0 => files(),
        false if method == DUMP.0 => dump(),
        false => None,
    }
}

impl Programs {
    fn files(folders: &[PathBuf]) -> Result<Programs, Failure> {
        let backup = tool::find("mariadb-backup", folders, BACKUP_HINT)?;
        Ok(Programs::Files { backup, stream: tool::find("mbstream", folders, BACKUP_HINT)? })
    }

    fn dump(folders: &[PathBuf]) -> Result<Programs, Failure> {
        let find = |new, old| {
            tool::find(new, folders, DUMP_HINT)
                .or_else(|missing| tool::find(old, folders, DUMP_HINT).map_err(|_| missing))
        };
        Ok(Programs::Dump { dump: find("mariadb-dump", "mysqldump")?, client: find("mariadb", "mysql")? })
    }
}

impl MySqlBackups<'_> {
    fn folders(&self) -> Vec<PathBuf> {
        self.system.private().map(|private| private.bin_dirs()).unwrap_or_default()
    }

    fn files(&self) -> Result<Programs, Failure> {
        if self.system.private().is_none() {
            let cause =
                "mariadb-backup reads the server's files, and étalon reads only those of a server that it has started";
            return Err(Failure::new(FailureKind::Unsupported, "back up by `mariadb-backup`", cause)
                .hint("`method = \"mariadb-dump\"`"));
        }
        Programs::files(&self.folders())
    }

    fn dump(&self) -> Result<Programs, Failure> {
        Programs::dump(&self.folders())
    }

    /// The programs of a method; the text says why they are a fallback.
    fn choose(&self, method: &str) -> Result<(BackupMethod, Programs, Option<String>), Failure> {
        match (self.method(method)?, self.files()) {
            (FILES, Ok(programs)) => Ok((FILES, programs, None)),
            (FILES, Err(why)) if method == BackupMethod::NATIVE.0 => {
                let note = format!("second choice: {why}");
                Ok((DUMP, self.dump()?, Some(note)))
            }
            (FILES, Err(why)) => Err(why),
            _ => Ok((DUMP, self.dump()?, None)),
        }
    }

    /// `mariadb-backup`'s stream.
    fn take_files(
        &self,
        backup: &Path,
        request: &BackupRequest<'_>,
    ) -> Result<families::backup::sink::WrittenBackup, Failure> {
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
    ) -> Result<families::backup::sink::WrittenBackup, Failure> {
        let call = ToolCall::new(dump, request.work)
            .args(["--no-defaults"])
            .args(login(dump, &self.system.endpoint.address)?)
            .args(["--single-transaction", "--quick", "--skip-comments", "--databases", SCHEMA]);
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
        Ok(RestoredServer { private, endpoint })
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
        let (private, endpoint) = match self.system.private() {
            Some(private) => private.fresh_twin(request.folder)?,
            None => Private::fresh(
                self.system.ask(|client| Ok(Product::of(client.protocol.session.flavor)))?,
                request.folder,
            )?,
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
        Ok(RestoredServer { private, endpoint })
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
        ("MariaDB", METHODS)
    }

    fn check(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        if request.compressor != Compressor::Own && request.compression.codec != Codec::None {
            let why =
                "MariaDB's server compresses no backups, and its programs only by a codec that is being withdrawn";
            return Err(request.no_such_compressor(why).hint("`where = \"own\"`"));
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
