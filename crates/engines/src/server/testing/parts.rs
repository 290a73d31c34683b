//! Loads in parts on a real server: whole, broken off, gone on with, and spoiled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use host::process::StopSignal;
use model::plan::Connect;

use super::{Tested, start};
use crate::server::parts::{LoadsParts, NOTES};
use crate::server::system::{Server, ServerSystem};
use load::datum::Datum;
use load::error::FailureKind;
use workloads::contents::Contents;
use workloads::dataset::{Dataset, Index};
use workloads::system::System;
use workloads::transactions::pgbench_tables;

/// The row of accounts with which something happens, in the fourth of six parts; none of the sampled ones.
const FATEFUL: u64 = 60_001;
/// Rows that are drawn to distinguish a data set from others.
const SAMPLED: u64 = 200;

/// pgbench's tables with one index more and a statement afterwards.
fn tables(name: &str, size_bytes: u64) -> Dataset {
    let index = Index { name: "accounts_of_branch", table: "pgbench_accounts", columns: &["bid"] };
    let afterwards = vec!["UPDATE pgbench_tellers SET filler = 'afterwards' WHERE tid = 1".to_owned()];
    Dataset { name: name.to_owned(), indexes: vec![index], afterwards, size_bytes, ..pgbench_tables(1) }
}

/// Large enough to be loaded in parts, by its own word.
fn large() -> Dataset {
    tables("in parts", 80 << 20)
}

/// `then` is called for each row of accounts that is drawn.
fn with(data: Dataset, then: impl Fn(u64) + Send + Sync + 'static) -> Dataset {
    let mut data = data;
    let rule = Arc::clone(&data.tables[2].row);
    data.tables[2].row = Arc::new(move |index, row: &mut Vec<Datum>| {
        then(index);
        rule(index, row);
    });
    data
}

/// A data set with a count of the rows of accounts that are drawn.
fn counted() -> (Dataset, Arc<AtomicU64>) {
    let drawn = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&drawn);
    (
        with(large(), move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        }),
        drawn,
    )
}

fn is_whole<S: Server>(system: &ServerSystem<S>) {
    let data = large();
    let whole = Contents::expected_of(&data);
    whole.verify_found(&data, &Contents::read_from(&data, system).unwrap()).unwrap();
    assert!(system.scalar(&format!("SELECT COUNT(*) FROM {NOTES}")).is_err(), "the notes are left");
    assert_eq!(system.scalar("SELECT COUNT(*) FROM pgbench_tellers WHERE filler LIKE 'afterw%'").unwrap(), 1);
}

/// Stops a load in its third part of accounts, and returns how many of them are there.
fn break_off<S: Server>(system: &ServerSystem<S>) -> u64 {
    // What was not written to is not made again within a round.
    system.server.begin_round();
    let interrupt = Arc::clone(&system.interrupt);
    let breaking = with(large(), move |index| {
        interrupt.fetch_or(index == FATEFUL, Ordering::Relaxed);
    });
    let failure = system.prepare(&breaking).unwrap_err();
    assert!(failure.cause.contains("interrupted"), "{failure}");
    system.interrupt.store(false, Ordering::Relaxed);
    let there = system.scalar("SELECT COUNT(*) FROM pgbench_accounts").unwrap() as u64;
    let noted = system.scalar(&format!("SELECT SUM(row_count) FROM {NOTES} WHERE what LIKE 'pgbench_accounts %'"));
    assert_eq!(noted.unwrap() as u64, there, "a part is whole or not there");
    assert!((1..100_000).contains(&there), "{there}");
    there
}

pub(crate) fn large_data_sets_are_loaded_in_parts<S: Tested + LoadsParts>() {
    let system = start::<S>(Connect::Socket, &[]);
    loads_the_same_as_at_once(&system);
    loads_what_is_missing(&system);
    waits_for_what_a_killed_one_still_loads(&system);
    tells_other_contents_and_makes_them_anew(&system);
    makes_another_data_set_anew(&system);
    goes_on_after_the_server_was_killed(&system);
    system.drop_all().unwrap();
}

fn loads_the_same_as_at_once<S: Server>(system: &ServerSystem<S>) {
    assert_eq!(large().split_into_parts().len(), 7, "five of accounts, one each of branches and tellers");
    system.prepare(&tables("at once", 1 << 20)).unwrap();
    let at_once = Contents::read_from(&large(), system).unwrap();
    system.prepare(&large()).unwrap();
    is_whole(system);
    assert_eq!(Contents::read_from(&large(), system).unwrap(), at_once);
    assert_eq!(system.progress.rows_so_far(), None);
    // Key and index are there.
    system.open_client().unwrap().execute("INSERT INTO pgbench_accounts (aid) VALUES (7)").unwrap_err();
    let index = large().indexes[0];
    system.open_client().unwrap().execute(&S::DIALECT.create_index_sql(&index)).unwrap_err();
}

fn loads_what_is_missing<S: Server>(system: &ServerSystem<S>) {
    let there = break_off(system);
    let (data, drawn) = counted();
    system.prepare(&data).unwrap();
    is_whole(system);
    let drawn = drawn.load(Ordering::Relaxed);
    assert!((100_000 - there..=100_000 - there + SAMPLED).contains(&drawn), "{there} were there, {drawn} were loaded");
    // A whole load is no half one: the next is made again.
    system.run("UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 1");
    let (data, drawn) = counted();
    system.prepare(&data).unwrap();
    is_whole(system);
    assert!(drawn.load(Ordering::Relaxed) >= 100_000);
}

fn waits_for_what_a_killed_one_still_loads<S: Server>(system: &ServerSystem<S>) {
    break_off(system);
    let mut parts = 0..7;
    let part = parts.find(|part| {
        let noted = system.scalar(&format!("SELECT COUNT(*) FROM {NOTES} WHERE part = {part}"));
        noted.unwrap() == 0
    });
    let part = part.unwrap();
    let mut remnant = system.open_client().unwrap();
    let note = format!("INSERT INTO {NOTES} VALUES ({part}, 0, 0, 'of a killed one')");
    assert!(remnant.execute("BEGIN").and_then(|()| remnant.execute(&note)).is_ok());
    thread::scope(|scope| {
        let loaded = scope.spawn(|| system.prepare(&large()));
        thread::sleep(Duration::from_millis(700));
        assert!(!loaded.is_finished());
        assert!(remnant.execute("ROLLBACK").is_ok());
        loaded.join().unwrap().unwrap();
    });
    remnant.close_and_wait();
    is_whole(system);
}

fn tells_other_contents_and_makes_them_anew<S: Server>(system: &ServerSystem<S>) {
    break_off(system);
    let some = system.scalar("SELECT MIN(aid) FROM pgbench_accounts").unwrap();
    system.run(&format!("UPDATE pgbench_accounts SET abalance = 5 WHERE aid = {some}"));
    let failure = system.prepare(&large()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Verification, "{failure}");
    assert!(failure.cause.starts_with("the table `pgbench_accounts` was to hold 100000 rows with"), "{failure}");
    system.prepare(&large()).unwrap();
    is_whole(system);
}

fn makes_another_data_set_anew<S: Server>(system: &ServerSystem<S>) {
    break_off(system);
    let (data, drawn) = counted();
    system.prepare(&Dataset { name: "another".to_owned(), ..data }).unwrap();
    assert!(drawn.load(Ordering::Relaxed) >= 100_000);
    is_whole(system);
}

fn goes_on_after_the_server_was_killed<S: Server>(system: &ServerSystem<S>) {
    let there = break_off(system);
    system.lock_private().unwrap().running.signal(StopSignal::Kill);
    let failure = system.prepare(&large()).unwrap_err();
    assert!(failure.may_pass(), "{failure}");
    system.wait_until_available().unwrap();
    let (data, drawn) = counted();
    system.prepare(&data).unwrap();
    is_whole(system);
    let drawn = drawn.load(Ordering::Relaxed);
    assert!(drawn <= 100_000 - there + SAMPLED, "{there} were there, {drawn} were loaded");
}
