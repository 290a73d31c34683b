use std::collections::BTreeMap;

use super::*;
use model::DurabilityTier;

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
    }
}

fn open(system: &SystemPlan) -> Result<Box<dyn Target>, Failure> {
    Sqlite::Plain.open(&OpenRequest::new(system, crate::target::Consent::OwnOnly))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

#[test]
fn durability_is_read_back_from_the_pragmas() {
    let folder = folder();
    let tier = |name: &str, settings: &[(&str, &str)]| {
        let url = format!("sqlite:{}", folder.path().join(name).display());
        open(&system(url, settings)).unwrap().facts().unwrap().durability().unwrap().tier
    };
    assert_eq!(tier("a", &[("journal_mode", "WAL"), ("synchronous", "FULL")]), DurabilityTier::Durable);
    assert_eq!(tier("b", &[("journal_mode", "WAL"), ("synchronous", "NORMAL")]), DurabilityTier::Delayed);
    assert_eq!(tier("c", &[("synchronous", "OFF")]), DurabilityTier::Unsafe);
    assert_eq!(tier("d", &[("journal_mode", "MEMORY")]), DurabilityTier::Unsafe);
    assert_eq!(tier("e", &[]), DurabilityTier::Durable);
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
    let target = open(&system(url, &[("journal_mode", "WAL")])).unwrap();
    let data = crate::workloads::transactions::pgbench_tables(1);
    target.prepare(&data).unwrap();
    let first = fs::read(folder.path().join("x.db")).unwrap();
    let count = |table: &str| target.scalar(&format!("SELECT count(*) FROM {table}")).unwrap();
    assert_eq!(count("pgbench_accounts"), 100_000);
    let connection = Connection::open(folder.path().join("x.db")).unwrap();
    connection.execute_batch("UPDATE pgbench_accounts SET abalance = 7").unwrap();
    drop(connection);
    target.prepare(&data).unwrap();
    assert_eq!(fs::read(folder.path().join("x.db")).unwrap(), first);
    assert_eq!(target.scalar("SELECT sum(abalance) FROM pgbench_accounts").unwrap(), 0);
    target.drop_all().unwrap();
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
