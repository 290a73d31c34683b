//! Étalon's database as it was loaded, kept as a database snapshot and reverted to before each run.
//!
//! <https://learn.microsoft.com/en-us/sql/relational-databases/databases/database-snapshots-sql-server>,
//! <https://learn.microsoft.com/en-us/sql/relational-databases/databases/revert-a-database-to-a-database-snapshot>

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use model::Reset;

use super::claim::SqlServerClaim;
use super::connect::Endpoint;
use super::dialect::quote_unicode;
use super::room::{Reach, Room};
use super::session::SessionSettings;
use super::tables::{self, SINGLE_USER};
use super::{SCHEMA, facts};
use crate::kept::{Holder, Idle, KeptClaim, Rivals};
use crate::server::control;
use crate::server::copies::{Copies, KeptCopy};
use crate::server::dialogue::first_columns;
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::system::{DatabaseClaim as _, Purpose, Settings as _};
use crate::server::url::Address as _;
use crate::sqlserver::lane::{AskError, Client, UNNUMBERED};
use load::error::{Failure, FailureKind};
use workloads::dataset::Tables;
use workloads::system::{Consent, OpenRequest, Part};

/// Prefix of a snapshot's name; a number follows.
const KEPT: &str = "etalon_kept_";
/// Ending of a snapshot's files, by which étalon knows its own: nothing can be written into one.
const ENDING: &str = ".made-by-etalon";
/// `EngineEdition` of Azure's services, which have no database snapshots.
const WITHOUT: [&str; 5] = [facts::AZURE, "6", "8", "11", "12"];
/// "Invalid object name".
const NO_SUCH_VIEW: i32 = 208;
/// "Only the owner of database … can create a database snapshot on it."
const NOT_THE_OWNER: i32 = 1817;
/// A session of others is in the database, or in the way of one that would have it alone.
const IN_USE: [i32; 6] = [924, 3101, 3702, 5061, 5064, 5070];

pub(crate) struct SnapshotCopies {
    endpoint: Endpoint,
    session: SessionSettings,
    consent: Consent,
    /// A session in `master`, since one in étalon's database would be in the way of a revert. It has the claim for as
    /// long as the system is open.
    home: KeptClaim<Home>,
    /// Log files of the tables that were loaded last.
    log: Mutex<Vec<File>>,
}

struct Home {
    client: Client,
    claim: SqlServerClaim,
}

impl Home {
    /// Opens a control session in `master` and takes the claim.
    fn open_and_claim(endpoint: &Endpoint, session: &SessionSettings, rivals: Rivals) -> Result<Home, Failure> {
        let mut client = session.on_tables_of_others().open_session(endpoint, Purpose::Control)?;
        let set = SqlServerClaim::set_limits(&mut client).and_then(|()| client.execute("USE [master]"));
        set.map_err(|error| ask_failure("set up étalon's own session", &error))?;
        let claim = SqlServerClaim::take(&mut client, endpoint, rivals)?;
        Ok(Home { client, claim })
    }
}

impl Holder for Home {
    /// Asks the session for a sign of life, and whether its claim holds.
    fn ping(&mut self) -> Result<(), Failure> {
        control::ping_server(&mut self.client)?;
        self.claim.ping(&mut self.client)
    }
}

/// A file of étalon's database.
#[derive(Debug)]
struct File {
    name: String,
    path: String,
    number: String,
    pages: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    name: String,
    state: String,
    is_own: bool,
}

/// All of étalon's database.
pub(super) struct Snapshots(Vec<Snapshot>);

impl Copies for SnapshotCopies {
    type Endpoint = Endpoint;
    type Session = SessionSettings;

    const OFFERS: &'static [Reset] = &[Reset::Clone];
    const NO_OTHERS: &'static str =
        "a SQL Server shares pages with what it keeps until they are changed, and copies no database for each run";
    const ROOM: &'static str = "the database `etalon` and snapshots of it (`etalon_kept_1`, …)";

    /// Opens the session for snapshots, if the plan asks for them and the server can make them.
    fn open(
        endpoint: &Endpoint,
        session: &mut SessionSettings,
        request: &OpenRequest<'_>,
    ) -> Result<Option<SnapshotCopies>, Failure> {
        let is_asked = request.system.reset.is_some_and(|reset| Self::OFFERS.contains(&reset));
        if !is_asked || request.tables != Tables::Own || request.part != Part::Whole {
            return Ok(None);
        }
        let (to, own) = (endpoint.clone(), session.clone());
        let copies = SnapshotCopies {
            endpoint: endpoint.clone(),
            session: session.clone(),
            consent: request.consent,
            home: KeptClaim::new(Idle::KeptAlive, move |rivals| Home::open_and_claim(&to, &own, rivals)),
            log: Mutex::default(),
        };
        copies.ask(|client| {
            check_snapshots_possible(client, endpoint)?;
            Snapshots::list_snapshots(client)?.refuse_others()
        })?;
        Ok(Some(copies))
    }

    /// Says how this reset brings tables back.
    fn explain_reset(&self, reset: Reset) -> String {
        match reset {
            Reset::Clone => format!(
                "{reset}: by a database snapshot, into which a run copies each page that it is the first to change; another \
                 data set's load removes it"
            ),
            _ => reset.to_string(),
        }
    }

    /// Does nothing: a load drops the snapshots itself, since `DROP DATABASE` needs them gone.
    fn remove_old_copies(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a snapshot of the loaded database in place of earlier ones, and notes the sizes of its log files.
    fn keep_copy(&self) -> Result<KeptCopy, Failure> {
        self.ask(|client| {
            let tried = format!("keep the database `{SCHEMA}`");
            self.refuse_things_of_others(client, &tried)?;
            // Its answer may have been lost, and a revert takes that there is one only.
            Snapshots::list_snapshots(client)?.drop_own(client)?;
            let number = free_number(client).map_err(|error| ask_failure(&*tried, &error))?;
            let data = list_files(client, DATA).map_err(|error| ask_failure(&*tried, &error))?;
            let create = create_sql(&snapshot_name(number), &data);
            client.execute(&create).map_err(|error| explain_in_use(&tried, &error))?;
            *self.lock_log_files() = list_files(client, LOG).map_err(|error| ask_failure(&*tried, &error))?;
            Ok(KeptCopy { number, bytes: 0 })
        })
    }

    /// Reverts the database to a snapshot; fails if it is gone or cannot be used any more.
    fn bring_back(&self, copy: KeptCopy, _reset: Reset) -> Result<(), Failure> {
        self.ask(|client| {
            let name = snapshot_name(copy.number);
            let snapshots = Snapshots::list_snapshots(client)?;
            snapshots.refuse_others()?;
            let tried = format!("put `{name}` back");
            match snapshots.own_state(&name) {
                None => Err(Failure::new(FailureKind::Missing, tried, "the snapshot is gone")),
                Some(state @ ("ONLINE" | "RESTORING")) => self.revert_to(client, &name, state == "ONLINE"),
                // Where its disk has become full.
                Some(state) => {
                    drop_snapshot(client, &name)?;
                    Err(Failure::new(FailureKind::Missing, tried, format!("the server calls the snapshot {state}")))
                }
            }
        })
    }

    /// Reads the bytes of all snapshots: their files are sparse, and grow by what is changed.
    fn weigh_copies(&self, _kept_bytes: u64) -> u64 {
        let bytes = self.ask(|client| Ok(client.query_first_value(WEIGHT).unwrap_or_default()));
        bytes.ok().and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
    }

    /// Fails if the server does not answer.
    fn ask_for_life(&self) -> Result<(), Failure> {
        self.ask(|client| client.execute("SELECT 1").map_err(|error| ask_failure("ask the server", &error)))
    }

    /// How the claim was lost, if it was.
    fn claim_loss(&self) -> Option<Failure> {
        self.home.claim_loss_so_far()
    }

    /// Asks that the claim holds, then returns how it was lost before and forgets that.
    fn retake_copies_claim(&self) -> Result<Option<Failure>, Failure> {
        self.home.ask_connection(Holder::ping).map(|()| self.home.forget_loss())
    }

    /// Removes étalon's database with its snapshots, and ends the session.
    fn remove_all(&self) -> Result<(), Failure> {
        let removed = self.ask(|client| tables::remove_database(client, &self.endpoint, &self.session));
        self.home.end_connection(|home| home.client.close_and_wait());
        removed
    }
}

impl SnapshotCopies {
    /// Asks a question over the session in `master` that makes snapshots.
    fn ask<T>(&self, mut question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.home.ask_connection(|home| question(&mut home.client))
    }

    /// Locks the sizes of the log files, even after a panic.
    fn lock_log_files(&self) -> std::sync::MutexGuard<'_, Vec<File>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if the database holds things of others, unless the user consented.
    /// A revert takes away what was made since, and gives everything back the rows that it had.
    fn refuse_things_of_others(&self, client: &mut Client, tried: &str) -> Result<(), Failure> {
        if self.consent == Consent::DropForeign {
            return Ok(());
        }
        let room = Room::inspect(client, Reach::Names).map_err(|error| ask_failure(tried, &error))?;
        room.refuse_others(tried.to_owned())
    }

    /// Reverts the database to a snapshot, after ending all its sessions.
    /// `is_online`: no revert to it was broken off, which the same statement then ends.
    fn revert_to(&self, client: &mut Client, name: &str, is_online: bool) -> Result<(), Failure> {
        let tried = format!("revert the database `{SCHEMA}` to `{name}`");
        if is_online {
            self.refuse_things_of_others(client, &tried)?;
            let alone = client.execute(&format!("ALTER DATABASE [{SCHEMA}] {SINGLE_USER}"));
            alone.map_err(|error| explain_in_use(&tried, &error))?;
        }
        let revert = format!("RESTORE DATABASE [{SCHEMA}] FROM DATABASE_SNAPSHOT = '{name}'");
        let reverted = client.execute(&revert).and_then(|()| self.restore_options_and_log(client));
        let shared = client.execute(&format!("ALTER DATABASE [{SCHEMA}] SET MULTI_USER"));
        reverted.and(shared).map_err(|error| explain_in_use(&tried, &error))
    }

    /// Sets the database's options again after a revert, and grows its log to what it was.
    /// A revert makes the log again, of half a megabyte: a run would wait for it to grow.
    /// That it keeps options is documented, and setting them again costs nothing.
    fn restore_options_and_log(&self, client: &mut Client) -> Result<(), AskError> {
        for option in &self.session.database {
            client.execute(&format!("ALTER DATABASE [{SCHEMA}] {option}"))?;
        }
        let now = list_files(client, LOG)?;
        for File { name, pages, .. } in &*self.lock_log_files() {
            if now.iter().any(|file| file.name == *name && file.pages < *pages) {
                let (name, size_kb) = (quote_unicode(name), pages * 8);
                let grow = format!("ALTER DATABASE [{SCHEMA}] MODIFY FILE (NAME = {name}, SIZE = {size_kb}KB)");
                client.execute(&grow)?;
            }
        }
        Ok(())
    }
}

impl Snapshots {
    /// Lists the snapshots of étalon's database, and which are étalon's own.
    /// Only `sys.master_files` has the snapshot's own files.
    pub(super) fn list_snapshots(client: &mut Client) -> Result<Snapshots, Failure> {
        let sql = format!(
            "SELECT d.name, d.state_desc, (SELECT COUNT(*) FROM sys.master_files AS f WHERE f.database_id = d.database_id AND \
             f.physical_name LIKE N'%{ENDING}') FROM sys.databases AS d WHERE d.source_database_id = DB_ID(N'{SCHEMA}') ORDER \
             BY d.name"
        );
        let rows = match client.query_text_rows(&sql) {
            // Those that have no such view have no snapshots either.
            Err(error) if matches!(error.error_number(), Some(UNNUMBERED | NO_SUCH_VIEW)) => Vec::new(),
            rows => rows.map_err(|error| ask_failure(format!("look for snapshots of `{SCHEMA}`"), &error))?,
        };
        let snapshots = rows.into_iter().map(|row| {
            let [name, state, files] = first_columns(row);
            let number = name.strip_prefix(KEPT).and_then(|number| number.parse::<usize>().ok());
            Snapshot { is_own: number.is_some() && files != "0", name, state }
        });
        Ok(Snapshots(snapshots.collect()))
    }

    /// Fails if others have made snapshots of the database.
    /// They are in the way of a revert and of `DROP DATABASE`, and not étalon's to drop.
    pub(super) fn refuse_others(&self) -> Result<(), Failure> {
        let Some(Snapshot { name, .. }) = self.0.iter().find(|one| !one.is_own) else { return Ok(()) };
        let cause = format!("somebody has made the snapshot `{name}` of it");
        Err(Failure::new(FailureKind::NotOurs, format!("use the database `{SCHEMA}`"), cause)
            .with_hint(format!("`DROP DATABASE [{name}]`, or use another server")))
    }

    /// Drops étalon's own snapshots.
    pub(super) fn drop_own(&self, client: &mut Client) -> Result<(), Failure> {
        self.0.iter().filter(|one| one.is_own).try_for_each(|one| drop_snapshot(client, &one.name))
    }

    /// The server's word for the state of étalon's own snapshot of this name, if it is there.
    fn own_state(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|one| one.is_own && one.name == name).map(|one| one.state.as_str())
    }
}

/// Bytes of all snapshots of étalon's database.
const WEIGHT: &str = "SELECT SUM(s.size_on_disk_bytes) FROM sys.databases AS d CROSS APPLY \
                      sys.dm_io_virtual_file_stats(d.database_id, NULL) AS s WHERE d.source_database_id = DB_ID(N'etalon')";

const DATA: u8 = 0;
const LOG: u8 = 1;

/// Lists the database's files of one type, data or log.
fn list_files(client: &mut Client, kind: u8) -> Result<Vec<File>, AskError> {
    let sql = format!(
        "SELECT name, physical_name, CAST(file_id AS nvarchar(16)), CAST(size AS nvarchar(16)) FROM \
         [{SCHEMA}].sys.database_files WHERE type = {kind} ORDER BY file_id"
    );
    let files = client.query_text_rows(&sql)?.into_iter().map(|row| {
        let [name, path, number, pages] = first_columns(row);
        File { name, path, number, pages: pages.parse().unwrap_or_default() }
    });
    Ok(files.collect())
}

/// Writes the statement that makes a snapshot, its files next to those of the data.
fn create_sql(name: &str, data: &[File]) -> String {
    let files = data.iter().map(|file| {
        let folder = file.path.rfind(['/', '\\']).map_or("", |end| &file.path[..=end]);
        let path = quote_unicode(&format!("{folder}{name}.{}{ENDING}", file.number));
        format!("(NAME = {}, FILENAME = {path})", quote_unicode(&file.name))
    });
    let files: Vec<String> = files.collect();
    format!("CREATE DATABASE [{name}] ON {} AS SNAPSHOT OF [{SCHEMA}]", files.join(", "))
}

/// Name of the snapshot that keeps a copy.
fn snapshot_name(number: usize) -> String {
    format!("{KEPT}{number}")
}

/// Finds a number for a snapshot that no database has, nor any snapshot that this process has made.
/// Several systems of a plan may be one server with other settings; each must know another's snapshot is not its own.
fn free_number(client: &mut Client) -> Result<usize, AskError> {
    static NUMBERS: AtomicUsize = AtomicUsize::new(1);
    loop {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        if client.query_first_value(&format!("SELECT DB_ID(N'{}')", snapshot_name(number)))?.is_empty() {
            return Ok(number);
        }
    }
}

/// Drops a snapshot, or fails with a hint for the cause.
fn drop_snapshot(client: &mut Client, name: &str) -> Result<(), Failure> {
    let dropped = client.execute(&format!("DROP DATABASE [{name}]"));
    dropped.map_err(|error| explain_in_use(&format!("drop the snapshot `{name}`"), &error))
}

/// Fails for a server or login that cannot make snapshots, before anything is loaded.
fn check_snapshots_possible(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    const ASK: &str = "ask what the server lets étalon do";
    let tried = format!("keep snapshots at {}", endpoint.address.shown_url());
    let edition = facts::edition_number(client).map_err(failing_to(ASK))?;
    if WITHOUT.contains(&edition.as_str()) {
        let cause = "Azure's services have no database snapshots";
        return Err(Failure::new(FailureKind::Unsupported, tried, cause).with_hint("write `reset = \"rebuild\"`"));
    }
    if tables::may_make_databases(client).map_err(failing_to(ASK))? {
        return Ok(());
    }
    let login = client.query_first_value("SELECT SUSER_SNAME()").map_err(failing_to(ASK))?;
    let cause = format!("the login `{login}` may not make databases, and a snapshot is one");
    Err(Failure::new(FailureKind::Permission, tried, cause)
        .with_hint(format!("`ALTER SERVER ROLE dbcreator ADD MEMBER [{login}]`, or write `reset = \"rebuild\"`")))
}

/// Makes the failure of a snapshot's statement, with a hint for its cause.
fn explain_in_use(tried: &str, error: &AskError) -> Failure {
    let failed = ask_failure(tried, error);
    let who = format!(
        "leave `{SCHEMA}` to étalon: `SELECT session_id, login_name, program_name FROM sys.dm_exec_sessions WHERE database_id = \
         DB_ID(N'{SCHEMA}')` names who is in it"
    );
    match (error.error_number(), failed.kind) {
        (Some(number), _) if IN_USE.contains(&number) => failed.with_hint(who),
        (Some(NOT_THE_OWNER), _) => Failure { kind: FailureKind::Permission, ..failed }
            .with_hint(format!("`ALTER AUTHORIZATION ON DATABASE::{SCHEMA} TO …`, or write `reset = \"rebuild\"`")),
        (_, FailureKind::DiskFull) => failed.with_hint(
            "free space on the server's device, choose a smaller `scale` or fewer `warehouses`, or write `reset = \"rebuild\"`, \
             which keeps no snapshot",
        ),
        (_, FailureKind::Permission) => failed
            .with_hint("`ALTER SERVER ROLE dbcreator ADD MEMBER …`, or write `reset = \"rebuild\"`"),
        (_, FailureKind::Other) => failed.with_hint(
            "before SQL Server 2016 SP1 only the Enterprise edition has database snapshots, and they take a filesystem with \
             sparse files: write `reset = \"rebuild\"`",
        ),
        _ => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: &str, name: &str, path: &str) -> File {
        File { name: name.to_owned(), path: path.to_owned(), number: number.to_owned(), pages: 0 }
    }

    #[test]
    fn a_snapshot_s_files_are_beside_those_of_the_data() {
        let data = [file("1", "etalon", "/data/etalon.mdf"), file("3", "it's", "E:\\more\\x.ndf")];
        assert_eq!(
            create_sql("etalon_kept_2", &data),
            "CREATE DATABASE [etalon_kept_2] ON (NAME = N'etalon', FILENAME = N'/data/etalon_kept_2.1.made-by-etalon'), \
             (NAME = N'it''s', FILENAME = N'E:\\more\\etalon_kept_2.3.made-by-etalon') AS SNAPSHOT OF [etalon]"
        );
    }
}
