//! Backups written by the server, restored as another database of it.

mod statements;

use std::cell::RefCell;
use std::time::Instant;

use model::{Direction, Measurement, Reading, Role};
use wire::tds::ServerMessage;

use super::tables;
use super::{SCHEMA, SqlServerSystem, facts, keys};
use crate::owner::{MARKER, TableOwner};
use crate::server::dialogue::TextRows;
use crate::server::random_password;
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::system::{Purpose, Settings as _};
use crate::sqlserver::connect::Endpoint;
use crate::sqlserver::counters::why_unreadable;
use crate::sqlserver::dialect::{quote_name, quote_unicode};
use crate::sqlserver::governor::{self, APPLICATION};
use crate::sqlserver::lane::{AskError, Client};
use crate::sqlserver::session::SessionSettings;
use crate::sqlserver::steps::SqlServerSession;
use crate::sqlserver::watch::{Percent, Seen, Watch};
use load::error::{Failure, FailureKind};
use model::backup::BackupMethod;
use statements::BackupText;
use workloads::backup::backups::{
    BackupLayout, BackupRequest, Backups, Compressor, Destination, Preallocation, Restored, Sealing, Served,
    TakenBackup, Writer,
};
use workloads::backup::codec::{Codec, Compression};
use workloads::backup::meter::{Meter, at_twentieths};
use workloads::session::SessionKind;
use workloads::system::{Consent, System as _};

/// Name of the restored database.
const COPY: &str = "etalon_restored";
/// Trace flag against preallocation of compressed backups, for the whole server.
/// <https://learn.microsoft.com/en-us/sql/t-sql/database-console-commands/dbcc-traceon-trace-flags-transact-sql>
const NO_PREALLOCATION: u32 = 3042;
/// "N percent processed", "successfully processed N pages in S seconds (R MB/sec)" of a backup and of a restore.
const PERCENT: i32 = 3211;
const PROCESSED: i32 = 3014;
/// "Write on … failed: 112(There is not enough space on the disk)".
const WRITE_FAILED: i32 = 3202;
/// Editions: Managed Instance, Express.
/// <https://learn.microsoft.com/en-us/sql/t-sql/functions/serverproperty-transact-sql>
const MANAGED: &str = "8";
const EXPRESS: &str = "4";
/// First release in which a procedure removes any file.
const REMOVES_ANY_FILE: u32 = 15;
/// The session's own, without its compression threads.
const SESSION_CPU: &str = "SELECT cpu_time FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
/// Folder of backups: the server's property from 2019 on, else as the installation recorded.
const BACKUP_FOLDER: &str = "SELECT CAST(SERVERPROPERTY('InstanceDefaultBackupPath') AS nvarchar(400))";
const BACKUP_FOLDER_BEFORE: &str = "EXEC master.dbo.xp_instance_regread N'HKEY_LOCAL_MACHINE', \
                                    N'Software\\Microsoft\\MSSQLServer\\MSSQLServer', N'BackupDirectory'";

pub(super) const METHODS: &[BackupMethod] = &[BackupMethod::NATIVE];

pub(super) struct SqlServerBackups<'a> {
    system: &'a SqlServerSystem,
    left: RefCell<Left>,
}

#[derive(Default)]
struct Left {
    files: Vec<String>,
    certificate: bool,
}

/// Messages of a statement.
#[derive(Default)]
struct Heard {
    percent: Percent,
    /// Pages, seconds, MB a second.
    processed: Vec<f64>,
}

impl Heard {
    /// Notes the percentage, or pages and rate, that a message of the server says.
    fn take_message(&mut self, remark: &ServerMessage, started: Instant) {
        let numbers = numbers_in_text(&remark.text);
        match remark.number {
            PERCENT => self.percent.extend(numbers.first().map(|percent| (started.elapsed().as_secs_f64(), *percent))),
            PROCESSED => self.processed = numbers,
            _ => {}
        }
    }
}

/// Picks the numbers from a message, whose language is the server's.
fn numbers_in_text(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    words.filter_map(|word| word.trim_matches(['.', ',']).replace(',', ".").parse().ok()).collect()
}

/// Parses a number of milliseconds as seconds.
fn seconds_from_ms(ms: &str) -> Option<f64> {
    ms.parse::<f64>().ok().map(|ms| ms / 1e3)
}

/// Makes a diagnostic measurement that is better in neither direction.
fn diagnostic(id: &str, unit: &str, reading: Reading) -> Measurement {
    Measurement::new(id, unit, Direction::Neither, Role::Diagnostic, reading)
}

/// Makes a reading of a value, or an unavailable one for this reason.
fn reading_or_reason(value: Option<f64>, otherwise: &str) -> Reading {
    value.ok_or(otherwise).into()
}

/// Makes the failure of a step of a backup; a write error for want of space is a full disk.
fn step_failure(tried: &str, error: &AskError) -> Failure {
    let mut failed = ask_failure(tried, error);
    if let AskError::Server(message) = error
        && message.number == WRITE_FAILED
        && message.text.contains("112(")
    {
        failed.kind = FailureKind::DiskFull;
    }
    failed
}

impl<'a> SqlServerBackups<'a> {
    pub(super) fn new(system: &'a SqlServerSystem) -> SqlServerBackups<'a> {
        SqlServerBackups { system, left: RefCell::default() }
    }

    /// Opens a session for backups.
    /// The connection's program name selects the resource governor's group.
    fn open_session(&self) -> Result<Client, Failure> {
        open_client(&self.system.endpoint)
    }

    /// Makes the `BACKUP` statement for a request; fails if the release does not have what it asks for.
    fn backup_sql<'t>(
        &self,
        request: &BackupRequest<'_>,
        client: &Client,
        label: &'t str,
        files: &'t [String],
    ) -> Result<String, Failure> {
        let text = BackupText {
            database: SCHEMA,
            label,
            files,
            compression: request.compression,
            transfer_kib: request.server_side.transfer_kib,
            certificate: (request.server_side.sealing == Sealing::Encrypted).then_some(keys::CERTIFICATE),
            release: major_version(client),
        };
        let tried = format!("back up with {}", request.compression.name());
        statements::backup_statement(&text).map_err(|reason| Failure::new(FailureKind::Unsupported, tried, reason))
    }

    /// Makes the paths at the server of a backup's files, one per stripe.
    fn server_files(
        &self,
        client: &mut Client,
        request: &BackupRequest<'_>,
        label: &str,
    ) -> Result<Vec<String>, Failure> {
        let folder = backup_folder(client, request)?;
        Ok((1..=request.server_side.stripes).map(|number| format!("{folder}{label}_{number}.bak")).collect())
    }

    /// Switches or reads the trace flag for preallocation by this `DBCC` command.
    fn switch_trace_flag(&self, command: &str) -> Result<TextRows, Failure> {
        let tried = format!("switch trace flag {NO_PREALLOCATION}");
        let sql = format!("DBCC {command}({NO_PREALLOCATION}, -1) WITH NO_INFOMSGS");
        self.system.ask(|client| client.query_text_rows(&sql).map_err(failing_to(&tried)))
    }

    /// Runs a backup with the plan's trace flag on, and switches it off again.
    fn with_trace_flag<T>(
        &self,
        preallocation: Preallocation,
        run: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if preallocation == Preallocation::AsServer {
            return run();
        }
        let state = self.switch_trace_flag("TRACESTATUS")?;
        let global = state.first().and_then(|row| row.get(2).cloned().flatten());
        if global.as_deref() == Some("1") {
            return run();
        }
        self.switch_trace_flag("TRACEON").map_err(|failed| {
            failed.with_hint("it takes the role sysadmin, and holds for the whole server meanwhile")
        })?;
        let ran = run();
        let off = self.switch_trace_flag("TRACEOFF").map_err(|failed| {
            failed.with_hint(format!("it is still on: `DBCC TRACEOFF({NO_PREALLOCATION}, -1)` switches it off"))
        });
        ran.and_then(|done| off.map(|_| done))
    }

    /// Drops the copy that a killed étalon left; fails for one that is not known as étalon's, unless the user consented.
    fn remove_old_copy(&self, client: &mut Client) -> Result<(), Failure> {
        let tried = format!("restore as the database `{COPY}`");
        let there = format!("SELECT COUNT(*) FROM sys.databases WHERE name = N'{COPY}'");
        if client.query_first_value(&there).map_err(failing_to(&tried))? == "0" {
            return Ok(());
        }
        let said = client.query_first_value(&format!("SELECT said FROM [{COPY}].dbo.etalon_marker"));
        let is_ours = said.is_ok_and(|said| said.starts_with(MARKER));
        if !is_ours && self.system.consent == Consent::OwnOnly {
            let cause = "it exists already, and is not known for étalon's";
            return Err(Failure::new(FailureKind::NotOurs, tried, cause).with_hint("rename it, or drop it with --yes"));
        }
        drop_copy(client)
    }

    /// Fails for an edition that étalon cannot back up, and for a login that may not remove the backup's files.
    fn check_edition(&self, client: &mut Client, request: &BackupRequest<'_>) -> Result<(), Failure> {
        let tried = "take a backup";
        let cause = match edition_number(client)?.as_str() {
            facts::AZURE => Some("Azure SQL Database takes its backups itself, and no login may"),
            MANAGED => Some("a Managed Instance backs up to a URL only, which étalon does not do"),
            _ => None,
        };
        if let Some(cause) = cause {
            return Err(Failure::new(FailureKind::Unsupported, tried, cause));
        }
        // Only members may remove files at the server.
        let writes = request.server_side.destination == Destination::Files;
        let is_member = "SELECT IS_SRVROLEMEMBER('sysadmin')";
        if writes && client.query_first_value(is_member).map_err(failing_to(ASK_RIGHTS))? != "1" {
            let cause = "the login could write the backup's files at the server, and not remove them";
            return Err(Failure::new(FailureKind::Permission, tried, cause).with_hint(
                "`ALTER SERVER ROLE sysadmin ADD MEMBER …`; or `destination = \"nul\"`, which writes none",
            ));
        }
        Ok(())
    }
}

/// The server's major version, such as 16.
fn major_version(client: &Client) -> u32 {
    u32::from(client.protocol.session.version.0)
}

const ASK_RIGHTS: &str = "ask what the server lets étalon do";

/// Asks for the number of the server's edition.
fn edition_number(client: &mut Client) -> Result<String, Failure> {
    facts::edition_number(client).map_err(|error| ask_failure(ASK_RIGHTS, &error))
}

/// Opens a session under étalon's program name, without settings.
fn open_client(endpoint: &Endpoint) -> Result<Client, Failure> {
    SessionSettings::default().open_session(&endpoint.with_application(APPLICATION), Purpose::Load)
}

/// Finds the plan's folder for backups, or else the server's, ending with a separator.
fn backup_folder(client: &mut Client, request: &BackupRequest<'_>) -> Result<String, Failure> {
    let mut folder = request.server_side.folder.unwrap_or_default().to_owned();
    if folder.is_empty() {
        folder = client.query_first_value(BACKUP_FOLDER).unwrap_or_default();
    }
    if folder.is_empty() {
        let rows = client.query_text_rows(BACKUP_FOLDER_BEFORE).unwrap_or_default();
        folder = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten().unwrap_or_default();
    }
    if folder.is_empty() {
        let cause = "the server does not tell its folder for backups";
        return Err(Failure::new(FailureKind::Plan, "find a place for the backup", cause)
            .with_hint("name a folder of the server's: `folder = \"/var/opt/mssql/data\"`"));
    }
    Ok(with_separator(&folder))
}

/// Ends a folder with Windows's or Linux's separator.
fn with_separator(folder: &str) -> String {
    let separator = if folder.contains('\\') || folder.get(1..2) == Some(":") { '\\' } else { '/' };
    if folder.ends_with(['/', '\\']) { folder.to_owned() } else { format!("{folder}{separator}") }
}

/// Splits a path into the folder with its separator, and the ending with its dot.
fn folder_and_ending(path: &str) -> (&str, &str) {
    let (folder, name) = path.split_at(path.rfind(['/', '\\']).map_or(0, |at| at + 1));
    (folder, name.rfind('.').map_or("", |at| &name[at..]))
}

/// Drops the restored copy of the database.
fn drop_copy(client: &mut Client) -> Result<(), Failure> {
    client
        .execute(&format!("IF DB_ID(N'{COPY}') IS NOT NULL DROP DATABASE {}", quote_name(COPY)))
        .map_err(|error| ask_failure(format!("drop the database `{COPY}`"), &error))
}

/// Reads the CPU seconds of this session; fails with the reason if the server does not say them.
fn session_cpu_s(client: &mut Client) -> Result<f64, String> {
    let answer = client
        .query_first_value(SESSION_CPU)
        .map_err(|error| why_unreadable(&error).unwrap_or_else(|| error.to_string()))?;
    seconds_from_ms(&answer).ok_or_else(|| format!("the server gives `{answer}` for the session's CPU time"))
}

/// Measures the CPU seconds of a session since the reading `before`.
fn measure_session_cpu(id: &str, before: Result<f64, String>, client: &mut Client) -> Measurement {
    let used = before.and_then(|before| Ok(session_cpu_s(client)? - before));
    diagnostic(id, "s", used.into())
}

/// Reads the server's record of a backup, as pairs of column and text.
fn history_columns(client: &mut Client, label: &str) -> Result<Vec<(String, String)>, Failure> {
    let tried = "read the backup's sizes in msdb";
    let sql = format!("SELECT * FROM msdb.dbo.backupset WHERE name = {}", quote_unicode(label));
    let answer = client.ask(&sql).map_err(|error| ask_failure(tried, &error))?;
    let names: Vec<String> = answer.columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
    let row = answer.rows.into_iter().next();
    let row = row.ok_or_else(|| Failure::new(FailureKind::Verification, tried, "it has no row of this backup"))?;
    Ok(names.into_iter().zip(row).filter_map(|(name, cell)| Some((name, cell.to_text()?))).collect())
}

/// Makes the measurements of the backup's course, from the watcher and the statement's messages.
fn course_measurements(seen: &Seen, heard: &Heard) -> Vec<Measurement> {
    let percent = match &seen.percent {
        Ok(points) if points.len() > 1 => points,
        _ => &heard.percent,
    };
    let steps = at_twentieths(percent);
    let mut all: Vec<Measurement> = steps
        .into_iter()
        .map(|(step, done)| diagnostic(&format!("backup_percent/{step:03}"), "%", Reading::Value(done)))
        .collect();
    let peak = seen.growth.as_ref().map(|growth| growth.iter().map(|(_, bytes)| *bytes as f64).fold(0.0, f64::max));
    let peak = Reading::from(peak);
    all.push(diagnostic("backup_peak_size", "bytes", peak));
    for (id, unit, index) in [("backup_pages", "pages", 0), ("backup_rate_told", "MB/s", 2)] {
        let reported = reading_or_reason(heard.processed.get(index).copied(), "the server did not say it");
        all.push(diagnostic(id, unit, reported));
    }
    all
}

impl Backups for SqlServerBackups<'_> {
    /// The product's name and its backup methods.
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        ("SQL Server", METHODS)
    }

    /// Fails if this server or login cannot back up as the request asks.
    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        self.method(request.method)?;
        let mut client = self.open_session()?;
        self.backup_sql(request, &client, "", &[])?;
        let compression = request.compression;
        if compression.codec != Codec::None && request.compressor != Compressor::Server {
            let why = "SQL Server compresses itself, and gives nobody the bytes";
            return Err(request.unsupported_compressor(why).with_hint("`where = \"server\"`"));
        }
        if compression.workers > 0 {
            let cause = "SQL Server chooses its threads itself";
            return Err(Failure::new(FailureKind::Unsupported, "compress by `workers`", cause));
        }
        if request.max_rate_bytes_s.is_some() {
            let cause = "SQL Server has no such limit; `server_cpu_percent` is one";
            return Err(Failure::new(FailureKind::Unsupported, "hold a backup to `max_rate_mib_s`", cause));
        }
        self.check_edition(&mut client, request)?;
        self.remove_old_copy(&mut client)
    }

    /// Explains why this server does not compress so, if it does not.
    fn why_codec_missing(&self, compression: Compression) -> Result<Option<String>, Failure> {
        let mut client = self.open_session()?;
        if let Some(product) = facts::name_other_product(&mut client)? {
            return Ok(Some(format!("{product} has no BACKUP: its data are backed up as PostgreSQL's")));
        }
        if compression.codec == Codec::None {
            return Ok(None);
        }
        if edition_number(&mut client)? == EXPRESS {
            return Ok(Some("the Express edition does not compress backups".to_owned()));
        }
        let text = BackupText {
            database: SCHEMA,
            label: "",
            files: &[],
            compression,
            transfer_kib: 0,
            certificate: None,
            release: major_version(&client),
        };
        Ok(statements::backup_statement(&text).err())
    }

    /// The server itself writes the backups.
    fn writer(&self) -> Writer {
        Writer::Server
    }

    /// Has the server take the backup, watches it, and reads its sizes.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let tried = format!("back up the database `{SCHEMA}`");
        let mut client = self.open_session()?;
        let label = format!("etalon_{}", random_password());
        let writes = request.server_side.destination == Destination::Files;
        let files = if writes { self.server_files(&mut client, request, &label)? } else { Vec::new() };
        if request.server_side.sealing == Sealing::Encrypted {
            self.left.borrow_mut().certificate = true;
            keys::ensure_certificate(&mut client, &self.system.endpoint)?;
        }
        let statement = self.backup_sql(request, &client, &label, &files)?;
        self.left.borrow_mut().files.clone_from(&files);
        let session = client.query_first_value("SELECT @@SPID").map_err(|error| ask_failure(&*tried, &error))?;
        let names = format!("{label}_*.bak");
        let place = files.first().map(|file| (folder_and_ending(file).0, names.as_str()));
        let (cpu, group) = (session_cpu_s(&mut client), governor::governed_cpu_ms(&mut client));
        let mut heard = Heard::default();
        let (asked, seen) = self.with_trace_flag(request.server_side.preallocation, || {
            let watch = Watch::start(self.open_session()?, &session, place);
            let asked = meter.meter_part("write", || {
                let started = Instant::now();
                let asked = client.ask_long(&statement, &|| request.check_interrupt().is_ok(), &mut |remark| {
                    heard.take_message(remark, started)
                });
                asked.map_err(|error| step_failure(&tried, &error))
            });
            Ok((asked, watch.finish()))
        })?;
        asked?;
        let mut figures = vec![measure_session_cpu("backup_cpu/session", cpu, &mut client)];
        if let (Some(before), Some(after)) = (group, governor::governed_cpu_ms(&mut client)) {
            figures.push(diagnostic("backup_cpu/workload_group", "s", Reading::Value((after - before) / 1e3)));
        }
        figures.extend(course_measurements(&seen, &heard));
        let history = history_columns(&mut client, &label)?;
        make_served_backup(request, &history, seen, figures)
    }

    /// Has the server restore the backup as another database, then read the backup through.
    fn restore(
        &self,
        _taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure> {
        let tried = format!("restore the backup as `{COPY}`");
        let files = self.left.borrow().files.clone();
        let mut client = self.open_session()?;
        let moves = list_new_paths(&mut client, &files)?;
        let cpu = session_cpu_s(&mut client);
        let server_before = self.system.server_cpu_s();
        let mut copy = RestoredCopy {
            endpoint: self.system.endpoint.clone(),
            server_cpu: Err(String::new()),
            figures: Vec::new(),
            check: statements::check_sql(COPY),
            is_there: true,
        };
        let mut heard = Heard::default();
        meter.meter_part("restore", || {
            let started = Instant::now();
            let statement = statements::restore_sql(&files, COPY, &moves);
            let asked = client.ask_long(&statement, &|| request.check_interrupt().is_ok(), &mut |remark| {
                heard.take_message(remark, started)
            });
            asked.map_err(|error| step_failure(&tried, &error))
        })?;
        // Only the restore's own. The meter begins at 0.
        copy.server_cpu = server_before.and_then(|before| Ok(self.system.server_cpu_s()? - before));
        copy.figures.push(measure_session_cpu("restore_cpu/session", cpu, &mut client));
        let rate = reading_or_reason(heard.processed.get(2).copied(), "the server did not say it");
        copy.figures.push(diagnostic("restore_rate_told", "MB/s", rate));
        // After the restore: it reads the whole backup.
        let started = Instant::now();
        let verified =
            client.ask_long(&statements::verify_sql(&files), &|| request.check_interrupt().is_ok(), &mut |_| ());
        verified.map_err(|error| step_failure("read the backup through (RESTORE VERIFYONLY)", &error))?;
        let took_s = started.elapsed().as_secs_f64();
        let verify = Reading::Value(took_s);
        copy.figures.push(Measurement::new("verifyonly_time", "s", Direction::Lower, Role::Diagnostic, verify));
        Ok(Box::new(copy))
    }

    /// Removes the restored copy, the certificate, the history's rows and the backup's files.
    fn remove_leftovers(&self, _request: &BackupRequest<'_>) -> Result<(), Failure> {
        let left = self.left.take();
        let mut client = self.open_session()?;
        drop_copy(&mut client)?;
        // An encrypted database keeps its certificate.
        if left.certificate && !self.system.session.encrypted {
            keys::remove_certificate(&mut client)?;
        }
        forget_history(&mut client, COPY);
        forget_own_history(&mut client);
        left.files.iter().try_for_each(|file| remove_file(&mut client, file))
    }
}

/// Besides NULL, the algorithm of unencrypted backups.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-tables/backupset-transact-sql>
const NOT_ENCRYPTED: &str = "NO_Encryption";

/// Makes the backup's description from msdb, the server's own record; fails if it is not encrypted as asked.
fn make_served_backup(
    request: &BackupRequest<'_>,
    history: &[(String, String)],
    seen: Seen,
    figures: Vec<Measurement>,
) -> Result<TakenBackup, Failure> {
    let tried = "read the backup's sizes in msdb";
    let sizes = ["backup_size", "compressed_backup_size"]
        .map(|name| history_column(history, name)?.parse::<f64>().ok().map(|bytes| bytes as u64));
    let [Some(source_bytes), Some(stored_bytes)] = sizes else {
        return Err(Failure::new(FailureKind::Verification, tried, "the sizes are not there"));
    };
    let is_sealed =
        history_column(history, "key_algorithm").is_some_and(|name| !name.eq_ignore_ascii_case(NOT_ENCRYPTED));
    if request.server_side.sealing == Sealing::Encrypted && !is_sealed {
        let cause = "the server does not say that the backup is encrypted, and the plan asks for it";
        return Err(Failure::new(FailureKind::Verification, "trust the backup", cause));
    }
    let mut notes = Vec::new();
    if let Some(algorithm) = history_column(history, "compression_algorithm") {
        let asked = request.compression.name();
        let none = asked == "none" && matches!(algorithm, "0" | "NONE" | "");
        if !none && !algorithm.eq_ignore_ascii_case(asked) {
            notes.push(format!("the server says that it compressed by {algorithm}, and was asked for {asked}"));
        }
    }
    Ok(TakenBackup {
        method: BackupMethod::NATIVE,
        file: std::path::PathBuf::new(),
        compression: Compression { ..request.compression },
        layout: BackupLayout::Database,
        compressor_cpu_s: 0.0,
        unread: &[],
        notes,
        served: Some(Served { source_bytes, stored_bytes, growth: seen.growth, figures }),
    })
}

/// Text of a column of the server's record of a backup.
fn history_column<'a>(history: &'a [(String, String)], name: &str) -> Option<&'a str> {
    history.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
}

/// Makes for each file in the backup a path next to the original's, named after the copy.
fn list_new_paths(client: &mut Client, files: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let tried = "read which files are in the backup";
    let answer = client.ask(&statements::file_list_sql(files)).map_err(|error| step_failure(tried, &error))?;
    let (Some(logical), Some(physical)) = (answer.column_index("LogicalName"), answer.column_index("PhysicalName"))
    else {
        return Err(Failure::new(FailureKind::Verification, tried, "the server names no files"));
    };
    Ok(answer
        .rows
        .iter()
        .enumerate()
        .filter_map(|(number, row)| {
            let (logical, physical) = (row.get(logical)?.clone().to_text()?, row.get(physical)?.clone().to_text()?);
            let (folder, ending) = folder_and_ending(&physical);
            Some((logical, format!("{folder}{COPY}_{}{ending}", number + 1)))
        })
        .collect())
}

/// Removes étalon's own database from the backup history, if étalon made the database.
fn forget_own_history(client: &mut Client) {
    if tables::table_owner(client).is_ok_and(|owner| owner == TableOwner::Etalon) {
        forget_history(client, SCHEMA);
    }
}

/// Removes a database from the server's backup history, if the login may.
pub(super) fn forget_history(client: &mut Client, database: &str) {
    let name = quote_unicode(database);
    let _ = client.execute(&format!(
        "IF EXISTS (SELECT 1 FROM msdb.dbo.backupset WHERE database_name = {name}) EXEC \
         msdb.dbo.sp_delete_database_backuphistory @database_name = {name}"
    ));
}

/// Removes a backup's file at the server; fails if it is still there.
/// The maintenance plans' procedure removes only backups, silently; from 2019 on another removes any file, such as a
/// broken backup.
fn remove_file(client: &mut Client, file: &str) -> Result<(), Failure> {
    let tried = format!("remove the backup {file} at the server");
    let path = quote_unicode(file);
    let any_file = (major_version(client) >= REMOVES_ANY_FILE).then_some("xp_delete_files");
    for procedure in ["xp_delete_file 0,"].into_iter().chain(any_file) {
        client.execute(&format!("EXEC master.sys.{procedure} {path}")).map_err(failing_to(&tried))?;
        let exists =
            client.query_first_value(&format!("EXEC master.sys.xp_fileexist {path}")).map_err(failing_to(&tried))?;
        if exists != "1" {
            return Ok(());
        }
    }
    Err(Failure::new(FailureKind::Other, tried, "it is still there").with_hint("remove it by hand, at the server"))
}

/// A database next to the original.
struct RestoredCopy {
    endpoint: Endpoint,
    server_cpu: Result<f64, String>,
    figures: Vec<Measurement>,
    check: String,
    is_there: bool,
}

impl Restored for RestoredCopy {
    /// Opens a session in the restored database.
    fn open_session(&mut self, kind: SessionKind) -> Result<Box<dyn workloads::session::Session>, Failure> {
        let mut client = open_client(&self.endpoint)?;
        let tried = format!("use the database `{COPY}`");
        client.execute(&format!("USE {}", quote_name(COPY))).map_err(|error| ask_failure(tried, &error))?;
        Ok(Box::new(SqlServerSession::new(client, kind)?))
    }

    /// CPU seconds that the server took for the restore.
    fn server_cpu_s(&self) -> Result<f64, String> {
        self.server_cpu.clone()
    }

    /// Measurements of the restore.
    fn restore_figures(&self) -> Vec<Measurement> {
        self.figures.clone()
    }

    /// Fails if the server's own check finds a fault in the restored database.
    fn check_integrity(&self) -> Result<(), Failure> {
        let mut client = open_client(&self.endpoint)?;
        let tried = "check the restored database";
        client.execute(&self.check).map_err(|error| {
            let failed = ask_failure(tried, &error);
            Failure { kind: FailureKind::Verification, ..failed }
        })
    }

    /// Drops the restored database.
    fn remove(mut self: Box<Self>) -> Result<(), Failure> {
        self.is_there = false;
        drop_copy(&mut open_client(&self.endpoint)?)
    }
}

impl Drop for RestoredCopy {
    fn drop(&mut self) {
        if self.is_there
            && let Ok(mut client) = open_client(&self.endpoint)
        {
            let _ = drop_copy(&mut client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_any_language() {
        let words = "BACKUP DATABASE successfully processed 35138 pages in 2.141 seconds (128.217 MB/sec).";
        assert_eq!(numbers_in_text(words), [35_138.0, 2.141, 128.217]);
        assert_eq!(numbers_in_text("5 Prozent verarbeitet."), [5.0]);
        assert_eq!(numbers_in_text("traitée en 2,141 secondes"), [2.141]);
    }

    #[test]
    fn paths_are_those_of_the_server_s_system() {
        assert_eq!(with_separator("/var/opt/mssql/data"), "/var/opt/mssql/data/");
        assert_eq!(with_separator(r"D:\backup"), r"D:\backup\");
        assert_eq!(with_separator("D:"), r"D:\");
        assert_eq!(folder_and_ending("/data/etalon.mdf"), ("/data/", ".mdf"));
        assert_eq!(folder_and_ending(r"D:\a.b\etalon"), (r"D:\a.b\", ""));
    }
}
