use std::collections::BTreeMap;

use std::io::Write as _;

use host::claim::FileClaim;

use super::*;
use crate::durability::tests::combinations;
use crate::durability::{DurabilityRule, first_matching_rule};
use crate::embedded::companion_path;
use load::generator::{LoadShape, ThreadLimit};
use load::stream::Retry;
use model::DurabilityTier;
use workloads::transactions::{Protocol, ScriptOptions};

fn system(url: String, settings: &[(&str, &str)]) -> SystemPlan {
    let settings: BTreeMap<String, Value> =
        settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect();
    SystemPlan {
        name: "s".to_owned(),
        engine: "sqlite".to_owned(),
        url,
        settings,
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    }
}

fn open(system: &SystemPlan) -> Result<Box<dyn System>, Failure> {
    Sqlite::Plain.open(&OpenRequest::new(system, workloads::system::Consent::OwnOnly))
}

fn on_tables_of_others(system: &SystemPlan) -> OpenRequest<'_> {
    OpenRequest { tables: Tables::None, ..OpenRequest::new(system, workloads::system::Consent::OwnOnly) }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

#[test]
fn commits_that_do_not_wait_for_the_log_are_marked() {
    let folder = folder();
    let url = format!("sqlite:{}", folder.path().join("x.db").display());
    for journal in ["wal", "delete"] {
        let system = open(&system(url.clone(), &[("journal_mode", journal), ("synchronous", "full")])).unwrap();
        system.prepare(&workloads::transactions::pgbench_tables(1)).unwrap();
        let tier = system.facts().unwrap().durability().unwrap().tier;
        if tier != DurabilityTier::Durable {
            return println!("skipped: commits are {tier} here");
        }
        let update = "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1;\n";
        for clients in [1, 4] {
            assert_eq!(tier_of(&*system, update, Protocol::Prepared, clients), None, "{journal}, {clients} clients");
        }
        let fast = format!("PRAGMA synchronous = OFF;\n{update}");
        let unsafe_tier = Some(DurabilityTier::Unsafe);
        for protocol in [Protocol::Prepared, Protocol::Simple] {
            assert_eq!(tier_of(&*system, &fast, protocol, 1), unsafe_tier, "{journal}");
        }
        // The session ends as it began.
        let back = format!("{fast}PRAGMA synchronous = FULL;\n");
        assert_eq!(tier_of(&*system, &back, Protocol::Simple, 1), Some(DurabilityTier::Delayed), "{journal}");
        system.drop_all().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_linked_file_in_memory_makes_the_data_volatile() {
    let Some(memory) = crate::suite::in_memory("root") else { return };
    let folder = folder();
    let (link, real) = (folder.path().join("x.db"), memory.path().join("x.db"));
    Connection::open(&real).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let system = system(format!("sqlite:{}", link.display()), &[]);
    let mut request = OpenRequest::new(&system, workloads::system::Consent::OwnOnly);
    request.tables = Tables::None;
    let opened = Sqlite::Plain.open(&request).unwrap();
    assert_eq!(opened.facts().unwrap().durability().unwrap().tier, DurabilityTier::Memory);
}

/// The tier that a run of a script is marked with.
fn tier_of(system: &dyn System, script: &str, protocol: Protocol, clients: u32) -> Option<DurabilityTier> {
    let retry = Retry { max_tries: 0, within_ns: None };
    let options = ScriptOptions { retry, protocol, ..ScriptOptions::default() };
    let program = workloads::transactions::compile_with(script, &options).unwrap();
    let (threads, traffic) = (ThreadLimit::Best, load::traffic::NetworkTraffic::default());
    let shape = LoadShape { clients: 0..clients, pace: worker::Pace::Closed, threads, traffic };
    let task = workloads::work::StreamTask { work: program.into(), shape };
    let length = model::Length::Duration(Duration::from_secs(1));
    crate::suite::marked_tier(&crate::suite::run_once(system, &task, length).unwrap())
}

#[test]
fn an_interrupt_breaks_off_the_loading_of_tables() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let plan = system(format!("sqlite:{}", path.display()), &[]);
    let request = OpenRequest::new(&plan, workloads::system::Consent::OwnOnly);
    let system = Sqlite::Plain.open(&request).unwrap();
    let interrupt = Arc::clone(&request.interrupt);
    let told = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        interrupt.store(true, Ordering::Relaxed);
        std::time::Instant::now()
    });
    let failure = system.prepare(&workloads::transactions::pgbench_tables(1_000)).unwrap_err();
    let late = told.join().unwrap().elapsed();
    assert_eq!(failure.kind, FailureKind::Interrupted, "{failure}");
    assert!(late < Duration::from_secs(5), "{late:?}");
    request.interrupt.store(false, Ordering::Relaxed);
    system.prepare(&workloads::transactions::pgbench_tables(1)).unwrap();
    system.drop_all().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something is left");
}

/// Every durability row of this system, set and read back.
#[test]
fn durability_is_read_back_from_the_pragmas() {
    let folder = folder();
    let mut seen = std::collections::BTreeSet::new();
    let rules = durability::TABLE.iter().filter(|rule| rule.when.iter().all(|(name, _)| *name != "system"));
    let all = rules.flat_map(|rule| combinations(rule).into_iter().map(move |settings| (rule, settings)));
    // The last row is for modes that this SQLite does not have.
    for (number, (rule, mut settings)) in all.filter(|(rule, _)| !rule.when.is_empty()).enumerate() {
        if settings.get("locking_mode").is_some_and(|mode| *mode != "exclusive") {
            settings.insert("locking_mode", "normal");
        }
        settings.entry("journal_mode").or_insert("wal");
        settings.entry("synchronous").or_insert("full");
        let pragmas: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, *value)).collect();
        let url = format!("sqlite:{}", folder.path().join(format!("{number}.db")).display());
        let planned = system(url, &pragmas);
        let facts = open(&planned).unwrap().facts().unwrap();
        let found = facts.durability().unwrap();
        assert_eq!(facts::durability_of_pragmas(&planned), found.tier, "{settings:?}: what the plan alone tells");
        let except = (rule.tier == DurabilityTier::Durable && !rule.why.is_empty()).then(|| rule.why.to_owned());
        assert_eq!((found.tier, &found.except), (rule.tier, &except), "{settings:?}: {found:?}");
        assert!(found.because.contains(rule.why), "{found:?}");
        seen.insert((settings["journal_mode"], settings["synchronous"]));
    }
    assert!(seen.len() >= 15, "{seen:?}");
}

/// A file synced at each commit never equals one that is not.
#[test]
fn every_pair_of_journal_and_sync_has_its_promise() {
    use DurabilityTier::{Delayed, Durable, Unsafe};
    fn promised(journal: &str, synchronous: &str) -> &'static DurabilityRule {
        first_matching_rule(durability::TABLE, |name| {
            let named =
                [("journal_mode", journal), ("synchronous", synchronous), ("system", "linux"), ("fullfsync", "0")];
            named.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }
    for synchronous in ["off", "normal", "full", "extra"] {
        for journal in ["off", "memory"] {
            assert_eq!(promised(journal, synchronous).tier, Unsafe);
        }
        for journal in ["delete", "truncate", "persist", "wal"] {
            let expected = match (journal, synchronous) {
                (_, "off") => Unsafe,
                ("wal", "normal") => Delayed,
                _ => Durable,
            };
            assert_eq!(promised(journal, synchronous).tier, expected, "{journal}, {synchronous}");
        }
    }
    for (journal, synchronous, is_whole) in [
        ("wal", "full", true),
        ("delete", "extra", true),
        ("persist", "full", true),
        ("delete", "full", false),
        ("truncate", "normal", false),
        ("persist", "normal", false),
    ] {
        assert_eq!(promised(journal, synchronous).why.is_empty(), is_whole, "{journal}, {synchronous}");
    }
}

#[test]
fn a_file_of_someone_else_is_refused_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("theirs.db");
    let theirs = Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)").unwrap();
    drop(theirs);
    let before = fs::read(&path).unwrap();
    let failure = open(&system(format!("sqlite:{}", path.display()), &[])).err().unwrap();
    assert_eq!(failure.kind, FailureKind::NotOurs);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Others may have made it to hold the name, or its rights.
#[test]
fn an_empty_file_of_someone_else_is_refused_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("x.db");
    for empty in [path.clone(), companion_path(&path, ".pristine")] {
        fs::write(&empty, "").unwrap();
        let failure = open(&system(format!("sqlite:{}", path.display()), &[])).err().unwrap();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(empty.exists() && !FileClaim::lock_path(&path).exists());
        fs::remove_file(&empty).unwrap();
    }
}

/// An étalon that is killed before it has marked its new file leaves its claim on it, next to which a file of others may be.
#[test]
fn an_empty_file_of_a_killed_étalon_is_made_anew_and_no_other() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let opened = || open(&system(format!("sqlite:{}", path.display()), &[]));
    for file in [path.clone(), companion_path(&path, ".pristine")] {
        let claim = FileClaim::claim(&path).unwrap();
        claim.make_empty(&file).unwrap();
        let left = fs::read(FileClaim::lock_path(&path)).unwrap();
        drop(claim);
        fs::write(FileClaim::lock_path(&path), &left).unwrap();
        opened().unwrap().drop_all().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(FileClaim::lock_path(&path), &left).unwrap();
        fs::write(&file, "").unwrap();
        let failure = opened().err().unwrap();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(file.exists());
        fs::remove_file(&file).unwrap();
        fs::remove_file(FileClaim::lock_path(&path)).unwrap();
    }
}

/// Links to nothing, to an empty file, and even to a database of étalon's.
#[cfg(unix)]
#[test]
fn a_link_is_refused_and_left_alone() {
    let folder = folder();
    let (link, file, ours) = (folder.path().join("x.db"), folder.path().join("file"), folder.path().join("ours.db"));
    drop(open(&system(format!("sqlite:{}", ours.display()), &[])).unwrap());
    fs::write(&file, "").unwrap();
    for target in [&folder.path().join("missing"), &file, &ours] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let failure = open(&system(format!("sqlite:{}", link.display()), &[])).err().unwrap();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(failure.cause.contains("link"), "{failure}");
        assert!(link.is_symlink() && file.exists() && ours.exists());
        fs::remove_file(&link).unwrap();
    }
}

/// SQLite rolls a foreign journal or log back or forward when its database returns.
#[test]
fn what_lies_beside_a_database_of_someone_else_is_refused_and_left_alone() {
    for suffix in ["-journal", "-wal", "-shm"] {
        let folder = folder();
        let path = folder.path().join("x.db");
        let beside = companion_path(&path, suffix);
        fs::write(&beside, "precious").unwrap();
        let failure = open(&system(format!("sqlite:{}", path.display()), &[])).err().unwrap();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(failure.cause.contains(suffix), "{failure}");
        assert_eq!(fs::read_to_string(&beside).unwrap(), "precious");
        // Next to étalon's copy, too.
        let pristine = companion_path(&path, ".pristine");
        fs::remove_file(&beside).unwrap();
        fs::write(companion_path(&pristine, suffix), "precious").unwrap();
        let failure = open(&system(format!("sqlite:{}", path.display()), &[])).err().unwrap();
        assert!(failure.cause.contains("pristine"), "{failure}");
    }
}

/// Whenever étalon is killed, an unmarked database has no companions.
#[test]
fn a_new_database_is_marked_without_a_journal() {
    use host::sqlite_vfs::FileKind;
    let folder = folder();
    let path = folder.path().join("x.db");
    let opened = open(&system(format!("sqlite:{}", path.display()), &[])).unwrap();
    let traffic = host::sqlite_vfs::traffic_of(&path).unwrap();
    assert_eq!(traffic.for_kind(FileKind::Journal), host::sqlite_vfs::FileIo::default());
    assert!(traffic.for_kind(FileKind::Database).writes > 0, "{traffic:?}");
    assert_eq!(opened.facts().unwrap().get("setting.journal_mode"), Some("delete"));
}

/// What was there before stays, and so does what others put in one meanwhile.
#[test]
fn folders_that_were_made_are_removed_and_no_others() {
    let folder = folder();
    let outer = folder.path().join("a");
    let made = system(format!("sqlite:{}", outer.join("b/c/x.db").display()), &[]);
    let opened = open(&made).unwrap();
    opened.drop_all().unwrap();
    assert!(!outer.exists() && folder.path().exists());
    drop(opened);
    let opened = open(&made).unwrap();
    fs::write(outer.join("theirs"), "").unwrap();
    opened.drop_all().unwrap();
    assert!(outer.join("theirs").exists() && !outer.join("b").exists());
    drop(opened);
    fs::remove_file(outer.join("theirs")).unwrap();
    // It was there.
    open(&made).unwrap().drop_all().unwrap();
    assert!(outer.exists() && !outer.join("b").exists());
}

/// Two systems of a plan may be one file with other pragmas; another étalon is kept away.
#[test]
fn a_database_is_claimed_until_it_is_dropped() {
    let folder = folder();
    let path = folder.path().join("made/x.db");
    let made = system(format!("sqlite:{}", path.display()), &[]);
    let (first, second) = (open(&made).unwrap(), open(&made).unwrap());
    let lock = FileClaim::lock_path(&path);
    assert!(lock.exists());
    // Like another process.
    assert!(fs::File::open(&lock).unwrap().try_lock().is_err());
    first.drop_all().unwrap();
    assert!(lock.exists());
    second.drop_all().unwrap();
    assert!(!lock.exists());
    drop(first);
    assert!(!folder.path().join("made").exists());
}

#[test]
fn a_database_that_another_étalon_has_is_refused_with_its_name() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let theirs = fs::File::create(FileClaim::lock_path(&path)).unwrap();
    theirs.try_lock().unwrap();
    (&theirs).write_all(b"pid=7\ncommand=etalon run other.toml\nsince_unix_ms=1\n").unwrap();
    fs::write(&path, "theirs").unwrap();
    for tables in [Tables::None, Tables::Own] {
        if tables == Tables::Own {
            fs::remove_file(&path).unwrap();
        }
        let made = system(format!("sqlite:{}", path.display()), &[]);
        let mut request = OpenRequest::new(&made, workloads::system::Consent::OwnOnly);
        request.tables = tables;
        let failure = Sqlite::Plain.open(&request).err().unwrap();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        // Windows lets no one read a locked file.
        let name = if std::env::consts::FAMILY == "unix" { "process 7 (`etalon run other.toml`)" } else { "" };
        assert!(failure.cause.contains(name) && failure.hint.is_some(), "{failure}");
    }
}

#[test]
fn an_index_that_others_drop_is_a_change_of_the_system() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let theirs = Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE t (id INT, other INT); CREATE INDEX by_id ON t (id)").unwrap();
    let made = system(format!("sqlite:{}", path.display()), &[]);
    let mut request = OpenRequest::new(&made, workloads::system::Consent::OwnOnly);
    request.tables = Tables::None;
    let system = Sqlite::Plain.open(&request).unwrap();
    let before = system.facts().unwrap();
    assert_eq!(system.facts().unwrap().changes_since(&before), []);
    theirs.execute_batch("DROP INDEX by_id").unwrap();
    let changes = system.facts().unwrap().changes_since(&before);
    assert_eq!(changes.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["instance.indexes_and_triggers"]);
    let sides = system.facts().unwrap().differences_of_sides(&before);
    assert_eq!(sides.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["schema"]);
}

#[test]
fn a_pragma_that_does_not_exist_or_does_not_take_is_an_error() {
    let folder = folder();
    let url = format!("sqlite:{}", folder.path().join("x.db").display());
    let failure = open(&system(url.clone(), &[("jurnal_mode", "WAL")])).err().unwrap();
    assert_eq!(failure.hint.as_deref(), Some("did you mean `journal_mode`?"));
    let failure = open(&system(url, &[("journal_mode", "WALL")])).err().unwrap();
    assert!(failure.cause.contains("left it at"), "{failure}");
}

#[test]
fn every_preparation_gives_the_same_tables_and_dropping_leaves_nothing() {
    let folder = folder();
    let url = format!("sqlite:{}", folder.path().join("x.db").display());
    let opened = open(&system(url, &[("journal_mode", "WAL")])).unwrap();
    let data = workloads::transactions::pgbench_tables(1);
    opened.prepare(&data).unwrap();
    let first = fs::read(folder.path().join("x.db")).unwrap();
    assert_eq!(opened.scalar("SELECT count(*) FROM pgbench_accounts").unwrap(), 100_000);
    let connection = Connection::open(folder.path().join("x.db")).unwrap();
    connection.execute_batch("UPDATE pgbench_accounts SET abalance = 7").unwrap();
    drop(connection);
    opened.prepare(&data).unwrap();
    assert_eq!(fs::read(folder.path().join("x.db")).unwrap(), first);
    assert_eq!(opened.scalar("SELECT sum(abalance) FROM pgbench_accounts").unwrap(), 0);
    opened.drop_all().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn half_a_file_that_a_killed_process_left_is_made_anew() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let made = system(format!("sqlite:{}", path.display()), &[]);
    drop(open(&made).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(200);
    fs::write(&path, bytes).unwrap();
    assert!(open(&made).unwrap().facts().is_ok());
}

#[test]
fn memory_is_not_a_path() {
    assert_eq!(open(&system("sqlite::memory:".to_owned(), &[])).err().unwrap().kind, FailureKind::Plan);
}

struct Lies<'a>(&'a dyn System, PathBuf);

impl System for Lies<'_> {
    crate::suite::delegate_to_system!();

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        let connections: Vec<Connection> = context.connect_all(1, |_, _| {
            let connection = Connection::open(&self.1).unwrap();
            connection.busy_timeout(Duration::from_secs(10)).unwrap();
            Ok(connection)
        })?;
        let sql: Vec<String> = program.statements().iter().map(|s| s.sql_text(self.dialect())).collect();
        let lane = SqliteLane::new(&connections, sql, program.protocol()).unwrap();
        worker::run_worker(crate::server::counted::tests::Lying::new(lane, 30), program, &RealClock, context)
    }
}

#[test]
fn sqlite_counts_what_the_client_claims() {
    let folder = folder();
    let path = folder.path().join("counts.db");
    let opened =
        open(&system(format!("sqlite:{}", path.display()), &[("journal_mode", "WAL"), ("synchronous", "OFF")]))
            .unwrap();
    let protocols = ["prepared", "extended", "simple"];
    crate::suite::counts_agree(&*opened, &protocols);
    crate::suite::lies_are_caught(&Lies(&*opened, path), &protocols);
    opened.drop_all().unwrap();
}

/// They are a plan's own, like super-smack's `main`.
#[test]
fn statements_behind_the_tables_are_confined_too() {
    let (folder, elsewhere) = (folder(), folder());
    let mut named = workloads::permits::NamedPermits::default();
    named.allow_folder(folder.path()).unwrap();
    let system = system(format!("sqlite:{}", folder.path().join("x.db").display()), &[]);
    let mut request = OpenRequest::new(&system, workloads::system::Consent::OwnOnly);
    request.permits = Permits::Named(Arc::new(named));
    let opened = Sqlite::Plain.open(&request).unwrap();
    let other = elsewhere.path().join("other.db");
    let data =
        |statement: String| Dataset { name: "own".to_owned(), afterwards: vec![statement], ..Dataset::default() };
    for hostile in [
        format!("ATTACH '{}' AS o; CREATE TABLE o.t (a)", other.display()),
        format!("COMMIT; VACUUM INTO '{}'", other.display()),
    ] {
        let failure = opened.prepare(&data(hostile.clone())).unwrap_err();
        assert!(failure.cause.contains("authoriz"), "{hostile}: {failure}");
        assert!(!other.exists(), "{hostile}");
    }
    opened.prepare(&data("CREATE TABLE t (a); INSERT INTO t VALUES (1)".to_owned())).unwrap();
}

#[test]
fn things_of_others_keep_the_file_and_are_named() {
    for (reset, made, name) in [
        (Reset::Restore, "CREATE TABLE notes (x)", "table notes"),
        (Reset::Rebuild, "CREATE VIEW notes AS SELECT 1 AS x", "view notes"),
    ] {
        let folder = folder();
        let path = folder.path().join("x.db");
        let mut plan = system(format!("sqlite:{}", path.display()), &[]);
        plan.reset = Some(reset);
        let opened = open(&plan).unwrap();
        let data = workloads::transactions::pgbench_tables(1);
        opened.prepare(&data).unwrap();
        opened.prepare(&data).unwrap();
        Connection::open(&path).unwrap().execute_batch(made).unwrap();
        let failures = [opened.prepare(&data).unwrap_err(), opened.drop_all().unwrap_err(), open(&plan).err().unwrap()];
        for failure in failures {
            assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
            assert!(failure.cause.contains(name), "{failure}");
        }
        let connection = Connection::open(&path).unwrap();
        connection.prepare("SELECT x FROM notes").unwrap();
        connection
            .execute_batch("DROP VIEW IF EXISTS notes")
            .or_else(|_| connection.execute_batch("DROP TABLE notes"))
            .unwrap();
        drop(connection);
        let again = open(&plan).unwrap();
        again.drop_all().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_file_put_in_its_place_stays() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let plan = system(format!("sqlite:{}", path.display()), &[]);
    let opened = open(&plan).unwrap();
    let data = workloads::transactions::pgbench_tables(1);
    opened.prepare(&data).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    assert_eq!(opened.prepare(&data).unwrap_err().kind, FailureKind::NotOurs);
    assert_eq!(opened.drop_all().unwrap_err().kind, FailureKind::NotOurs);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn settings_that_stay_in_a_file_of_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a); PRAGMA user_version = 7").unwrap();
    let before = fs::read(&path).unwrap();
    for (name, value) in
        [("journal_mode", "WAL"), ("user_version", "99"), ("Application_ID", "5"), ("auto_vacuum", "full")]
    {
        let plan = system(format!("sqlite:{}", path.display()), &[(name, value)]);
        let failure = Sqlite::Plain.open(&on_tables_of_others(&plan)).err().unwrap_or_else(|| panic!("{name} is set"));
        assert_eq!(failure.kind, FailureKind::NotOurs, "{name}: {failure}");
    }
    let plan = system(format!("sqlite:{}", path.display()), &[("journal_mode", "truncate"), ("synchronous", "off")]);
    let asked = on_tables_of_others(&plan);
    drop(Sqlite::Plain.open(&asked).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::write(&path, "").unwrap();
    let failure = Sqlite::Plain.open(&asked).err().unwrap();
    assert!(failure.to_string().contains("the file is empty"), "{failure}");
}
