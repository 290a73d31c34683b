//! Étalon's tables in a database of their own, and kept copies of it as templates, on servers that étalon did not start.
//!
//! <https://www.postgresql.org/docs/current/manage-ag-templatedbs.html>,
//! <https://www.postgresql.org/docs/current/sql-createdatabase.html>

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use model::Reset;

use super::claim::{self, PostgresClaim};
use super::connect::Endpoint;
use super::refuse_standby;
use super::room;
use super::session::SessionSettings;
use super::url::Address;
use crate::kept::{FENCE, Holder, Idle, KeptClaim, Rivals, process_claim_key};
use crate::owner::{MARKER, TableOwner, foreign_things_failure};
use crate::postgres::lane::{AskError, Client, quote_text};
use crate::server::control;
use crate::server::copies::{Copies, KeptCopy};
use crate::server::dialogue::first_columns;
use crate::server::refusal::ask_failure;
use crate::server::system::DatabaseClaim as _;
use crate::server::url::Address as _;
use load::error::{Failure, FailureKind};
use workloads::dataset::Tables;
use workloads::system::{Consent, OpenRequest, Part};

/// Has étalon's tables.
const OWN: &str = "etalon";
/// Prefix of the names of kept copies; a number follows.
const KEPT: &str = "etalon_kept_";
/// `STRATEGY` is from this release on; until then files are always copied.
const STRATEGIES_FROM: u32 = 150_000;
/// `file_copy_method` is from this release on.
const CLONES_FROM: u32 = 180_000;
/// Size from which on files are copied. By the manual the other strategy is best for small databases: it writes each
/// page twice, once into the log, and needs no checkpoint. Where étalon has a checkpoint made after either (PostgreSQL
/// 18, XFS), the two take as long for 8 MB, and for 40 MB files take half the time.
const FILES_FROM_BYTES: u64 = if cfg!(test) { 16 << 20 } else { 32 << 20 };
/// "etal" in ASCII, as a limit that is never reached: `CREATE DATABASE` sets it at once, while a comment comes only after,
/// and étalon may be killed between the two.
const MARK_LIMIT: i32 = i32::from_be_bytes(*b"etal");

/// The connection limit of a database that a killed `CREATE DATABASE` or `DROP DATABASE` left.
const BROKEN_LIMIT: &str = "-2";

const OBJECT_IN_USE: &str = "55006";
const NO_SUCH_DATABASE: &str = "3D000";

pub(crate) struct Databases {
    endpoint: Endpoint,
    /// A session in the URL's database, with the claim, for as long as the system is open.
    home: KeptClaim<Home>,
    /// The server's `server_version_num`.
    release: u32,
    /// Begins the comments of this system's databases.
    mark: String,
    consent: Consent,
}

/// Owner of a database that has one of étalon's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    System,
    /// Another system of this process.
    Process,
    /// An étalon that has ended.
    Remnant,
    Others,
}

/// A session with the claims on the URL's database and on étalon's.
struct Home {
    client: Client,
    /// Released on drop.
    claim: PostgresClaim,
}

impl Home {
    /// Opens a control session, refuses a standby, and takes the claim and that of étalon's databases.
    fn open_and_claim(endpoint: &Endpoint, rivals: Rivals) -> Result<Home, Failure> {
        let mut client = endpoint.open_client("")?;
        PostgresClaim::set_limits(&mut client).map_err(|error| ask_failure("set up étalon's own session", &error))?;
        refuse_standby(&mut client, endpoint)?;
        let claim = PostgresClaim::take(&mut client, endpoint, rivals)?;
        claim::claim_databases(&mut client, endpoint, rivals)?;
        Ok(Home { client, claim })
    }
}

impl Holder for Home {
    /// Keeps the session and its claim alive; fails if either is lost.
    fn ping(&mut self) -> Result<(), Failure> {
        control::ping_server(&mut self.client)?;
        self.claim.ping(&mut self.client)
    }
}

struct Found {
    name: String,
    owner: Owner,
    /// What it was made with, by its comment. `None`: it was not finished, or is broken.
    known: Option<BTreeSet<String>>,
}

impl Copies for Databases {
    type Endpoint = Endpoint;
    type Session = SessionSettings;

    const OFFERS: &'static [Reset] = &[Reset::Clone, Reset::Restore];
    const ROOM: &'static str = "the databases `etalon` and `etalon_kept_1`, `etalon_kept_2`, … beside the one";

    /// Claims étalon's databases, removes leftovers, makes an empty one, and leads `session` there.
    /// `None`: the plan asks for no copies, or étalon only loads.
    fn open(
        endpoint: &Endpoint,
        session: &mut SessionSettings,
        request: &OpenRequest<'_>,
    ) -> Result<Option<Databases>, Failure> {
        if !wants_own_database(request) {
            return Ok(None);
        }
        if let Some(pooler) = &endpoint.pooler {
            let hint = "`reset = \"rebuild\"`, or the server's own address in the URL";
            return Err(pooler.refusal_failure("keep copies of étalon's tables in databases of their own", hint));
        }
        session.database = Some(OWN);
        if request.part == Part::Load {
            return Ok(None);
        }
        let to = endpoint.clone();
        let mut databases = Databases {
            endpoint: endpoint.clone(),
            home: KeptClaim::new(Idle::KeptAlive, move |rivals| Home::open_and_claim(&to, rivals)),
            release: 0,
            mark: mark_of_system(),
            consent: request.consent,
        };
        databases.release = databases.ask(server_release)?;
        databases.ask(|client| databases.tidy_up(client))?;
        Ok(Some(databases))
    }

    /// Says how the database is copied before each run.
    fn explain_reset(&self, reset: Reset) -> String {
        match reset {
            Reset::Clone if self.release < CLONES_FROM => {
                format!("{reset}: copied whole, since PostgreSQL shares blocks only from release 18 on")
            }
            Reset::Clone => format!(
                "{reset}: a run pays for each block that it is the first to write, where the server's filesystem shares blocks"
            ),
            _ => reset.to_string(),
        }
    }

    /// Drops the database with the tables, and makes an empty one.
    fn remove_old_copies(&self) -> Result<(), Failure> {
        self.ask(|client| {
            self.drop_own(client)?;
            self.make_empty(client)
        })
    }

    /// Renames the database with the tables to that of a copy, and closes it to connections.
    fn keep_copy(&self) -> Result<KeptCopy, Failure> {
        self.ask(|client| {
            let tried = format!("keep the database `{OWN}`");
            let found = self.list_databases(client)?;
            let number = (1..)
                .find(|number| !found.iter().any(|database| database.name == copy_name(*number)))
                .unwrap_or_default();
            let bytes = self.database_bytes(client, OWN)?;
            end_own_sessions(client, OWN)?;
            let name = copy_name(number);
            if let Some(own) = found.iter().find(|one| one.name == OWN) {
                refuse_strangers(&self.foreign_things(own)?, format!("keep the database `{OWN}`"))?;
            }
            let rename = format!("ALTER DATABASE {OWN} RENAME TO {name}");
            client.execute(&rename).map_err(|error| self.database_failure(client, &tried, OWN, &error))?;
            // No one can be in the way of a copy, and no automatic vacuum changes it.
            let close = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false");
            client.execute(&close).map_err(|error| self.database_failure(client, &tried, &name, &error))?;
            Ok(KeptCopy { number, bytes })
        })
    }

    /// Drops the database with the tables, and makes it again from a kept copy.
    fn bring_back(&self, copy: KeptCopy, reset: Reset) -> Result<(), Failure> {
        self.ask(|client| {
            self.drop_own(client)?;
            let template = copy_name(copy.number);
            let found = self.list_databases(client)?;
            let known = found.into_iter().find(|one| one.name == template).and_then(|one| one.known);
            let tried = format!("copy the database `{template}`");
            self.set_copy_method(client, &tried, reset)?;
            let strategy = self.copy_strategy_sql(copy.bytes, reset);
            let create = format!("CREATE DATABASE {OWN} TEMPLATE {template}{strategy} CONNECTION LIMIT {MARK_LIMIT}");
            client.execute(&create).map_err(|error| {
                let failure = self.database_failure(client, &tried, &template, &error);
                if reset == Reset::Clone && failure.kind == FailureKind::Other {
                    clone_failure(failure)
                } else {
                    failure
                }
            })?;
            self.note_known(client, &known.unwrap_or_default())
        })
    }

    /// Fails unless the server answers and can be written to.
    fn ask_for_life(&self) -> Result<(), Failure> {
        self.ask(|client| refuse_standby(client, &self.endpoint))
    }

    /// Returns how the claim was lost, since that was last forgotten.
    fn claim_loss(&self) -> Option<Failure> {
        self.home.claim_loss_so_far()
    }

    /// Takes the claim again if it was lost; returns how it was lost, which is forgotten.
    fn retake_copies_claim(&self) -> Result<Option<Failure>, Failure> {
        self.home.ask_connection(Holder::ping).map(|()| self.home.forget_loss())
    }

    /// Drops this system's databases, and gives up the claim; those stay that others put something into.
    fn remove_all(&self) -> Result<(), Failure> {
        let removed = self.ask(|client| {
            let found = self.list_databases(client)?;
            let dropped = found
                .iter()
                .filter(|one| match one.owner {
                    Owner::System => true,
                    // The systems of a process share it.
                    Owner::Process => one.name == OWN,
                    Owner::Remnant | Owner::Others => false,
                })
                .map(|one| {
                    refuse_strangers(&self.foreign_things(one)?, format!("drop the database `{}`", one.name))?;
                    self.drop_one_database(client, one)
                });
            // Each goes that can.
            dropped.collect::<Vec<_>>().into_iter().collect::<Result<(), Failure>>()
        });
        self.home.end_connection(|home| home.client.close_and_wait());
        removed
    }
}

impl Databases {
    /// Asks over the session that makes databases.
    fn ask<T>(&self, mut question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.home.ask_connection(|home| question(&mut home.client))
    }

    /// Removes what a killed étalon left, and makes the database for the tables.
    fn tidy_up(&self, client: &mut Client) -> Result<(), Failure> {
        let found = self.list_databases(client)?;
        let own = found.iter().find(|one| one.name == OWN);
        if own.is_some_and(|one| one.owner == Owner::Others) {
            let hint = format!(
                "rename it (`ALTER DATABASE {OWN} RENAME TO …`), write `reset = \"rebuild\"`, or drop it with --yes"
            );
            TableOwner::Others.refuse_foreign_owner(self.consent, &format!("the database `{OWN}`"), &hint)?;
        }
        if found.iter().any(|one| one.owner == Owner::Remnant) {
            // Of an étalon that has lost its claim, and may not have noticed yet.
            thread::sleep(FENCE);
            PostgresClaim::check(client, &self.endpoint)?;
            claim::claim_databases(client, &self.endpoint, Rivals::AwaitEnd)?;
        }
        for one in
            found.iter().filter(|one| one.owner == Owner::Remnant || (one.owner == Owner::Others && one.name == OWN))
        {
            self.refuse_strangers_unless_allowed(one)?;
            self.drop_one_database(client, one)?;
        }
        match own.map(|one| one.owner) {
            Some(Owner::Process | Owner::System) => Ok(()),
            _ => self.make_empty(client),
        }
    }

    /// Lists all databases of étalon's names, with their owners.
    fn list_databases(&self, client: &mut Client) -> Result<Vec<Found>, Failure> {
        let sql = format!(
            "SELECT datname, coalesce(pg_catalog.shobj_description(oid, 'pg_database'), ''), datconnlimit \
             FROM pg_catalog.pg_database WHERE datname = '{OWN}' OR datname ~ '^{KEPT}[0-9]+$' ORDER BY datname"
        );
        let rows = client.query_text_rows(&sql).map_err(|error| ask_failure("look for étalon's databases", &error))?;
        let found = rows.into_iter().map(|row| {
            let [name, comment, limit] = first_columns(row);
            let is_whole = comment.starts_with(MARKER) && limit != BROKEN_LIMIT;
            let known = is_whole.then(|| comment.lines().skip(1).map(str::to_owned).collect());
            Found { owner: self.owner_from_comment(&comment, &limit), known, name }
        });
        Ok(found.collect())
    }

    /// Tells who made a database, by its comment and connection limit.
    fn owner_from_comment(&self, comment: &str, limit: &str) -> Owner {
        let is_unfinished = comment.is_empty() && limit == MARK_LIMIT.to_string();
        match () {
            () if comment.lines().next() == Some(&self.mark) => Owner::System,
            () if comment.starts_with(&mark_of_process()) => Owner::Process,
            () if comment.starts_with(MARKER) || is_unfinished => Owner::Remnant,
            () => Owner::Others,
        }
    }

    /// Drops the database with the tables, if there is one; fails if others made it or put something into it.
    fn drop_own(&self, client: &mut Client) -> Result<(), Failure> {
        let found = self.list_databases(client)?;
        let Some(own) = found.iter().find(|one| one.name == OWN) else { return Ok(()) };
        if own.owner == Owner::Others {
            let cause = "somebody else has made one of that name in the meantime";
            return Err(Failure::new(FailureKind::NotOurs, format!("use the database `{OWN}`"), cause)
                .with_hint(format!("rename it: `ALTER DATABASE {OWN} RENAME TO …`")));
        }
        self.refuse_strangers_unless_allowed(own)?;
        self.drop_one_database(client, own)
    }

    /// Lists what others put into the database with the tables; nothing for a kept copy, which lets no one in.
    fn foreign_things(&self, database: &Found) -> Result<Vec<String>, Failure> {
        let Some(known) = &database.known else { return Ok(Vec::new()) };
        if database.name != OWN {
            return Ok(Vec::new());
        }
        let mut client = self.endpoint.on_database(OWN).open_client("")?;
        let strangers = room::foreign_things(&mut client, known);
        client.close_and_wait();
        strangers
    }

    /// Fails if others put something into a database that étalon would drop, unless the user agreed.
    fn refuse_strangers_unless_allowed(&self, database: &Found) -> Result<(), Failure> {
        match self.consent {
            Consent::DropForeign => Ok(()),
            Consent::OwnOnly => {
                refuse_strangers(&self.foreign_things(database)?, format!("make the database `{OWN}` again"))
            }
        }
    }

    /// Drops a database, after ending étalon's sessions in it.
    fn drop_one_database(&self, client: &mut Client, database: &Found) -> Result<(), Failure> {
        let name = &database.name;
        if database.owner != Owner::Others {
            end_own_sessions(client, name)?;
        }
        let tried = format!("drop the database `{name}`");
        let dropped = client.execute(&format!("DROP DATABASE IF EXISTS {name}"));
        dropped.map_err(|error| self.database_failure(client, &tried, name, &error))
    }

    /// Makes an empty database with the encoding and collation of the URL's database, in which the tables are to be.
    fn make_empty(&self, client: &mut Client) -> Result<(), Failure> {
        let tried = format!("make the database `{OWN}`");
        let likeness = client.query_first_value(LIKENESS).map_err(|error| ask_failure(&*tried, &error))?;
        let create = format!("CREATE DATABASE {OWN}{likeness} CONNECTION LIMIT {MARK_LIMIT}");
        client.execute(&create).map_err(|error| self.database_failure(client, &tried, "template1", &error))?;
        let known = self.endpoint.on_database(OWN).open_client("").and_then(|mut inside| {
            let known = room::things_outside_schema(&mut inside).map_err(|error| ask_failure(&*tried, &error));
            inside.close_and_wait();
            known
        });
        if known.is_err() {
            // The failure is the first one's; it is empty.
            let _ = end_own_sessions(client, OWN).map(|()| client.execute(&format!("DROP DATABASE IF EXISTS {OWN}")));
        }
        self.note_known(client, &known?)
    }

    /// Notes in the database's comment the things that it was made with.
    fn note_known(&self, client: &mut Client, known: &BTreeSet<String>) -> Result<(), Failure> {
        let known: String = known.iter().filter(|one| !one.contains('\n')).map(|one| format!("\n{one}")).collect();
        let comment = format!("COMMENT ON DATABASE {OWN} IS {}", quote_text(&format!("{}{known}", self.mark)));
        client.execute(&comment).map_err(|error| ask_failure(format!("mark the database `{OWN}`"), &error))
    }

    /// Reads the size of a database in bytes.
    fn database_bytes(&self, client: &mut Client, name: &str) -> Result<u64, Failure> {
        let bytes = client.query_first_value(&format!("SELECT pg_catalog.pg_database_size('{name}')"));
        let bytes = bytes.map_err(|error| self.database_failure(client, "ask for a database's size", name, &error))?;
        Ok(bytes.parse().unwrap_or_default())
    }

    /// Sets whether the server clones or copies files, from PostgreSQL 18 on; fails if it cannot clone.
    fn set_copy_method(&self, client: &mut Client, tried: &str, reset: Reset) -> Result<(), Failure> {
        if self.release < CLONES_FROM {
            return Ok(());
        }
        let method = if reset == Reset::Clone { "clone" } else { "copy" };
        let set = client.execute(&format!("SET file_copy_method = {method}"));
        // A server that is built without it does not know the word.
        set.map_err(|error| match ask_failure(tried, &error) {
            failure if failure.kind == FailureKind::Other => clone_failure(failure),
            failure => failure,
        })
    }

    /// Returns the `STRATEGY` clause for a copy of this size, if the server has strategies.
    fn copy_strategy_sql(&self, bytes: u64, reset: Reset) -> &'static str {
        match reset {
            _ if self.release < STRATEGIES_FROM => "",
            Reset::Restore if bytes < FILES_FROM_BYTES => " STRATEGY wal_log",
            _ => " STRATEGY file_copy",
        }
    }

    /// Makes the failure of a statement on a database, with who is in the way or what to do.
    /// `name` is the database that others may be connected to.
    fn database_failure(&self, client: &mut Client, tried: &str, name: &str, error: &AskError) -> Failure {
        let failed = ask_failure(tried, error);
        let user = &self.endpoint.address.user;
        let state = match error {
            AskError::Server(error) => error.code.as_str(),
            _ => return failed,
        };
        match (state, failed.kind) {
            (OBJECT_IN_USE, _) => add_users_to_failure(client, failed, name),
            (NO_SUCH_DATABASE, _) => Failure { kind: FailureKind::Missing, ..failed },
            (_, FailureKind::DiskFull) => failed.with_hint(
                "free space on the server's device, choose a smaller `scale` or fewer `warehouses`, or write \
                 `reset = \"rebuild\"`, which keeps no copy",
            ),
            (_, FailureKind::Permission) if failed.cause.contains("owner") => failed.with_hint(format!(
                "another role's étalon has made it: drop it, or give it away by `ALTER DATABASE {name} OWNER TO {user}`"
            )),
            (_, FailureKind::Permission) => {
                failed.with_hint(format!("`ALTER ROLE {user} CREATEDB`, or write `reset = \"rebuild\"`"))
            }
            _ => failed,
        }
    }
}

/// Fails if others put something into a database; `tried` is what étalon would have to do with it.
fn refuse_strangers(strangers: &[String], tried: String) -> Result<(), Failure> {
    if strangers.is_empty() {
        return Ok(());
    }
    let cause = format!("others have put something into it, which stays: {}", strangers.join(", "));
    Err(foreign_things_failure(tried, cause))
}

/// Reads the server's `server_version_num`.
fn server_release(client: &mut Client) -> Result<u32, Failure> {
    let release = client.query_first_value("SELECT pg_catalog.current_setting('server_version_num')");
    let release = release.map_err(|error| ask_failure("ask for the server's release", &error))?;
    Ok(release.parse().unwrap_or_default())
}

/// What `CREATE DATABASE` must say of encoding and locale. Nothing where those of `template1`, whose extensions the new one
/// then has, are the same. Columns differ between releases, so they are read as JSON.
const LIKENESS: &str = "SELECT CASE WHEN h.j->'encoding' = t.j->'encoding' AND h.j->'datcollate' = t.j->'datcollate' \
    AND h.j->'datctype' = t.j->'datctype' AND h.j->'datlocprovider' IS NOT DISTINCT FROM t.j->'datlocprovider' \
    AND h.locale IS NOT DISTINCT FROM t.locale THEN '' ELSE pg_catalog.format(' TEMPLATE template0 ENCODING %L LC_COLLATE \
    %L LC_CTYPE %L', pg_catalog.pg_encoding_to_char((h.j->>'encoding')::int), h.j->>'datcollate', h.j->>'datctype') || \
    CASE h.j->>'datlocprovider' WHEN 'i' THEN pg_catalog.format(' LOCALE_PROVIDER icu ICU_LOCALE %L', h.locale) \
    WHEN 'b' THEN pg_catalog.format(' LOCALE_PROVIDER builtin BUILTIN_LOCALE %L', h.locale) \
    WHEN 'c' THEN ' LOCALE_PROVIDER libc' ELSE '' END END FROM \
    (SELECT j, coalesce(j->>'datlocale', j->>'daticulocale') AS locale FROM (SELECT pg_catalog.to_jsonb(d) AS j \
    FROM pg_catalog.pg_database d WHERE datname = pg_catalog.current_database()) AS a) AS h, \
    (SELECT j, coalesce(j->>'datlocale', j->>'daticulocale') AS locale FROM (SELECT pg_catalog.to_jsonb(d) AS j \
    FROM pg_catalog.pg_database d WHERE datname = 'template1') AS b) AS t";

/// Makes the name of the database that keeps the copy of this number.
fn copy_name(number: usize) -> String {
    format!("{KEPT}{number}")
}

/// Writes the beginning of the comment on databases of this process.
fn mark_of_process() -> String {
    format!("{MARKER} (process {}, ", process_claim_key())
}

/// Writes the comment on the databases of a new system; each call has another number.
/// Several systems of a plan may be one server with other settings.
fn mark_of_system() -> String {
    static SYSTEMS: AtomicU32 = AtomicU32::new(1);
    format!("{}system {})", mark_of_process(), SYSTEMS.fetch_add(1, Ordering::Relaxed))
}

/// Tests whether étalon's tables are to be in a database of their own.
fn wants_own_database(request: &OpenRequest<'_>) -> bool {
    request.tables == Tables::Own && request.system.reset.is_some_and(Reset::keeps_copy)
}

/// Fails if the URL names a database that étalon would have to drop or rename while connected to it.
pub(super) fn refuse_own_name(address: &Address, request: &OpenRequest<'_>) -> Result<(), Failure> {
    let name = &address.database;
    let is_kept =
        name.strip_prefix(KEPT).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    if !wants_own_database(request) || (name != OWN && !is_kept) {
        return Ok(());
    }
    let cause = format!("a database of that name is what étalon makes and drops with `reset = \"{}\"`", Reset::Restore);
    Err(Failure::new(FailureKind::Plan, format!("use {}", address.shown_url()), cause)
        .with_hint("name another database in the URL, such as `postgres`, or write `reset = \"rebuild\"`"))
}

/// Ends other sessions of étalon's role and name in a database.
/// Those are clients that were closed a moment ago, and those of other hosts, which connect again.
/// Where the user has given another name, others' sessions may have it, too, and none is ended.
fn end_own_sessions(client: &mut Client, name: &str) -> Result<(), Failure> {
    let sql = format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE datname = '{name}' \
         AND usename = current_user AND application_name = 'etalon' \
         AND pid <> pg_catalog.pg_backend_pid()"
    );
    client.execute(&sql).map_err(|error| ask_failure(format!("end étalon's own sessions in `{name}`"), &error))
}

/// Adds to a failure who is connected to a database.
fn add_users_to_failure(client: &mut Client, failed: Failure, name: &str) -> Failure {
    let sql = format!(
        "SELECT pid, coalesce(usename::text, backend_type), coalesce(nullif(application_name, ''), 'it does not say what'), \
         coalesce(client_addr::text, 'the server''s machine') FROM pg_catalog.pg_stat_activity WHERE datname = '{name}' \
         ORDER BY pid"
    );
    let rows = client.query_text_rows(&sql).unwrap_or_default();
    let others = if rows.len() > 1 { format!(" and {} others", rows.len() - 1) } else { String::new() };
    let Some(first) = rows.into_iter().next() else {
        return failed.with_hint("try again: the sessions that were connected to it have ended");
    };
    let [pid, user, program, from] = first_columns(first);
    let cause = format!("`{user}` is connected to it (`{program}`, session {pid} from {from}){others}");
    Failure { cause, ..failed }
        .with_hint(format!("leave `{name}` to étalon: disconnect, or `SELECT pg_terminate_backend({pid})`"))
}

/// Makes a failure that says the server cannot share blocks, with what to do.
fn clone_failure(failure: Failure) -> Failure {
    Failure { kind: FailureKind::Unsupported, ..failure }
        .with_hint("the server cannot share its filesystem's blocks: write `reset = \"restore\"`")
}
