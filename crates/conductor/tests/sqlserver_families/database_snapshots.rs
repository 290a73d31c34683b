//! Tables that come back by a database snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conductor::Registry;
use load::error::{Failure, FailureKind};
use model::{Reset, RunState, SystemPlan};
use workloads::dataset::Dataset;
use workloads::system::{Consent, OpenRequest, System};

use super::{batches_with, number};
use crate::experiment::conduct;
use crate::tds_server::{Asked, Encryption, Reply, Server, Snapshot, error};
use crate::{system, task, text};

const WORDS: [&str; 7] = ["SNAPSHOT", "SINGLE_USER", "MULTI_USER", "DROP ", "RECOVERY", "MODIFY FILE", "INSERT BULK"];
const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";

fn plan(server: &Server, reset: Reset) -> SystemPlan {
    SystemPlan { reset: Some(reset), ..system(&server.url(), &[("recovery", text("simple"))]) }
}

fn opened(server: &Server, reset: Reset) -> Result<Box<dyn System>, Failure> {
    Registry::built_in().open_system(&OpenRequest::new(&plan(server, reset), Consent::OwnOnly))
}

/// Of ten branches, or as many.
fn tables(scale: i64) -> Dataset {
    task(&[("scale", model::Value::Int(scale))]).dataset
}

/// What an étalon that was killed has left.
fn leave(server: &Server, name: &str, file: &str) {
    let mut database = server.database();
    (database.exists, database.marker) = (true, Some(MARKER.to_owned()));
    database.snapshots.push(Snapshot {
        name: name.to_owned(),
        state: "ONLINE",
        file: file.to_owned(),
        ..Snapshot::default()
    });
}

fn refusal(opened: Result<Box<dyn System>, Failure>) -> Failure {
    opened.err().expect("it was let in")
}

fn told(failure: &Failure) -> String {
    format!("{failure} {}", failure.hint.as_deref().unwrap_or_default())
}

/// Numbers go on in a process.
fn without_numbers(batches: &str) -> String {
    let mut pieces = batches.split("etalon_kept_");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |told, piece| told + "etalon_kept_N" + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn branches(server: &Server) -> u64 {
    server.database().copied["pgbench_branches"]
}

fn snapshots(server: &Server) -> usize {
    server.database().snapshots.len()
}

/// Nothing of étalon's is left.
fn is_clean(server: &Server) -> bool {
    let database = server.database();
    !database.exists && database.snapshots.is_empty()
}

fn count_of(server: &Server, words: &str) -> usize {
    server.batches().iter().filter(|sql| sql.contains(words)).count()
}

#[test]
fn each_run_of_two_begins_with_a_revert() {
    let server = Server::plain();
    let outcome = conduct(&format!(
        "[systems.there]\nurl = \"{}\"\nreset = \"clone\"\nsettings = {{ recovery = \"simple\" }}\n[[benchmarks]]\nworkload = \
         \"transactions\"\nscript = \"tpcb-like\"\n[schedule]\nrounds = 2\nwarmup = \"0s\"\nduration = \"300ms\"\n",
        server.url()
    ));
    let runs = outcome.store().runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.state).collect::<Vec<_>>(), [RunState::Measured; 2]);
    assert_eq!(outcome.value("kept_copies"), 65_536.0);
    assert_eq!((count_of(&server, "RESTORE DATABASE"), count_of(&server, "AS SNAPSHOT OF")), (2, 1));
    assert_eq!(count_of(&server, "MODIFY FILE"), 2, "the log has its size again");
    assert_eq!(count_of(&server, "INSERT BULK [pgbench_accounts]"), 1);
    assert!(is_clean(&server));
    let told = server.batches().into_iter().filter(|sql| WORDS.iter().any(|word| sql.contains(word)));
    insta::assert_snapshot!("round", without_numbers(&told.collect::<Vec<_>>().join("\n")));
}

#[test]
fn what_a_run_changed_is_gone_and_another_data_set_takes_the_snapshot_with_it() {
    let server = Server::plain();
    let system = opened(&server, Reset::Clone).unwrap();
    let (small, large) = (tables(1), tables(2));
    assert!(system.explain_reset(&small).unwrap().starts_with("clone: by a database snapshot"));
    system.prepare(&small).unwrap();
    server.database().history = 7;
    system.prepare(&small).unwrap();
    assert_eq!(server.database().history, 0);
    assert_eq!(count_of(&server, "INSERT BULK [pgbench_accounts]"), 1);
    system.prepare(&large).unwrap();
    assert_eq!((branches(&server), snapshots(&server)), (2, 1));
    system.prepare(&small).unwrap();
    assert_eq!((branches(&server), snapshots(&server)), (1, 1));
    assert_eq!(count_of(&server, "INSERT BULK [pgbench_accounts]"), 3);
    // Of the same plan, with other settings: it takes the database, and each loads its own.
    let other = opened(&server, Reset::Clone).unwrap();
    other.prepare(&small).unwrap();
    system.prepare(&small).unwrap();
    assert_eq!(count_of(&server, "INSERT BULK [pgbench_accounts]"), 5);
    other.drop_all().unwrap();
    system.drop_all().unwrap();
    assert!(is_clean(&server));
}

#[test]
fn what_a_killed_étalon_left_goes_before_the_database() {
    for reset in [Reset::Clone, Reset::Rebuild] {
        let server = Server::plain();
        leave(&server, "etalon_kept_977", "/data/etalon_kept_977.1.made-by-etalon");
        let system = opened(&server, reset).unwrap();
        system.prepare(&tables(1)).unwrap();
        let dropped = batches_with(&server, &["DROP DATABASE"]);
        assert_eq!(dropped, "DROP DATABASE [etalon_kept_977]\nDROP DATABASE [etalon]", "{reset}");
        system.drop_all().unwrap();
        assert!(is_clean(&server), "{reset}");
    }
    // Or at the end, where nothing was prepared.
    let server = Server::plain();
    leave(&server, "etalon_kept_977", "/data/etalon_kept_977.1.made-by-etalon");
    opened(&server, Reset::Rebuild).unwrap().drop_all().unwrap();
    assert!(is_clean(&server));
}

#[test]
fn a_stranger_s_snapshot_stays_and_is_named() {
    // By another name; and by étalon's, with files that étalon has not made.
    for name in ["monday", "etalon_kept_977"] {
        let server = Server::plain();
        leave(&server, name, "/data/monday.ss");
        let failure = refusal(opened(&server, Reset::Clone));
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(told(&failure).contains(&format!("DROP DATABASE [{name}]")), "{}", told(&failure));
        let system = opened(&server, Reset::Rebuild).unwrap();
        let failure = system.prepare(&tables(1)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert_eq!(snapshots(&server), 1);
        assert_eq!(count_of(&server, "DROP"), 0);
    }
    // A database of that name is left alone, and the next number taken.
    let was_asked = AtomicBool::new(false);
    let script = move |asked: &Asked| match asked {
        Asked::Batch(sql) if sql.starts_with("SELECT DB_ID") && !was_asked.swap(true, Ordering::Relaxed) => {
            Some(number(9))
        }
        _ => None,
    };
    let server = Server::start(Encryption::None, Arc::new(script));
    let system = opened(&server, Reset::Clone).unwrap();
    system.prepare(&tables(1)).unwrap();
    assert_eq!((count_of(&server, "SELECT DB_ID"), count_of(&server, "DROP DATABASE")), (2, 0));
}

#[test]
fn a_snapshot_that_is_gone_or_broken_is_made_anew() {
    let server = Server::plain();
    let system = opened(&server, Reset::Clone).unwrap();
    system.prepare(&tables(1)).unwrap();
    server.database().snapshots.clear();
    system.prepare(&tables(1)).unwrap();
    assert_eq!((count_of(&server, "AS SNAPSHOT OF"), snapshots(&server)), (2, 1));
    // As when its disk was full.
    server.database().snapshots[0].state = "SUSPECT";
    let name = server.database().snapshots[0].name.clone();
    system.prepare(&tables(1)).unwrap();
    assert_eq!(count_of(&server, "AS SNAPSHOT OF"), 3);
    assert_eq!(count_of(&server, &format!("DROP DATABASE [{name}]")), 1);
    // A revert that was broken off is repeated, and no option is set in its midst.
    server.database().snapshots[0].state = "RESTORING";
    let before = count_of(&server, "SINGLE_USER");
    system.prepare(&tables(1)).unwrap();
    assert_eq!((count_of(&server, "SINGLE_USER"), count_of(&server, "AS SNAPSHOT OF")), (before, 3));
}

#[test]
fn what_is_in_the_way_of_a_snapshot_says_what_to_do() {
    for (words, number, kind, hint) in [
        ("RESTORE DATABASE", 3101, FailureKind::Other, "sys.dm_exec_sessions"),
        ("SET SINGLE_USER", 5070, FailureKind::Other, "sys.dm_exec_sessions"),
        ("AS SNAPSHOT OF", 5128, FailureKind::DiskFull, "keeps no snapshot"),
        ("AS SNAPSHOT OF", 1823, FailureKind::Other, "2016 SP1"),
        ("AS SNAPSHOT OF", 1817, FailureKind::Permission, "ALTER AUTHORIZATION ON DATABASE::etalon"),
        ("AS SNAPSHOT OF", 262, FailureKind::Permission, "dbcreator"),
        ("RESTORE DATABASE", 3110, FailureKind::Permission, "dbcreator"),
    ] {
        let server = Server::answering(words, error(number, 1, 16, "scripted"));
        let system = opened(&server, Reset::Clone).unwrap();
        let failure = system.prepare(&tables(1)).unwrap_err();
        assert_eq!(failure.kind, kind, "{number}: {failure}");
        assert!(told(&failure).contains(hint), "{number}: {}", told(&failure));
        if words == "RESTORE DATABASE" {
            assert_eq!(
                count_of(&server, "SET MULTI_USER"),
                1,
                "{number}: a database that was given is not left to one"
            );
        }
        assert!(system.wait_until_available().is_ok(), "{number}");
    }
}

#[test]
fn who_cannot_have_snapshots_is_told_before_anything_is_loaded() {
    let nobody = Server::answering("CREATE ANY DATABASE", number(0));
    // It was given: its tables alone could be made.
    nobody.database().exists = true;
    let failure = refusal(opened(&nobody, Reset::Clone));
    assert_eq!(failure.kind, FailureKind::Permission, "{failure}");
    assert!(told(&failure).contains("dbcreator") && told(&failure).contains("rebuild"), "{}", told(&failure));
    assert!(opened(&nobody, Reset::Rebuild).is_ok());
    let azure =
        Server::answering("'EngineEdition') AS int)", Reply::Tokens(crate::tds_server::result(&[""], &[&[Some("5")]])));
    let failure = refusal(opened(&azure, Reset::Clone));
    assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
    let registry = Registry::built_in();
    let refused = registry.choose_reset_way(&plan(&azure, Reset::Restore), 0).unwrap_err();
    assert!(
        told(&refused).contains("shares pages") && told(&refused).contains("`reset = \"clone\"`"),
        "{}",
        told(&refused)
    );
    let clone = plan(&azure, Reset::Clone);
    for told in [registry.would_make(&clone).unwrap().unwrap(), registry.would_drop(&clone).unwrap()] {
        assert!(told.contains("`etalon` and snapshots of it (`etalon_kept_1`, …)"), "{told}");
    }
    assert!(registry.would_drop(&clone).unwrap().starts_with("what étalon made in the database"));
}
