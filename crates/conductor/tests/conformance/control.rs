//! What a system promises of tables, sessions, facts, settings and abilities.

use std::time::Instant;

use load::datum::Datum;
use load::error::FailureKind;
use load::generator::ThreadLimit;
use load::lock_watch::LockWaiters;
use model::{Reset, SystemPlan, Value};
use workloads::contents::Contents;
use workloads::session::SessionKind;
use workloads::system::System;

use super::subject::{Subject, is_refusal, rows};

crate::cases! {
    Every facts_are_told_and_stay,
    Every every_client_has_one_worker,
    Rows a_data_set_is_made_whole_and_anew,
    Rows tables_come_back_in_every_way_that_is_offered,
    Rows a_session_does_what_it_is_told,
    Rows abilities_are_there_or_refused_with_a_reason,
    Rows a_new_round_finds_the_system_ready,
    Settings settings_hold_in_every_session,
    Settings an_unknown_setting_is_refused,
}

fn facts_are_told_and_stay(subject: &Subject) {
    let facts = subject.system.facts().unwrap();
    for fact in ["server.product", "server.version"] {
        assert!(facts.get(fact).is_some_and(|value| !value.is_empty()), "it does not say its {fact}");
    }
    assert!(facts.durability().is_some(), "it does not say its durability");
    let again = subject.system.facts().unwrap();
    assert_eq!(facts.differences(&again), [], "identity facts must not change by themselves");
}

fn every_client_has_one_worker(subject: &Subject) {
    for clients in 1..=9 {
        for (threads, most) in [(ThreadLimit::Best, u32::MAX), (ThreadLimit::AtMost(1), 1), (ThreadLimit::AtMost(4), 4)]
        {
            let shares = subject.system.split_clients(3..3 + clients, threads);
            let served: Vec<u32> = shares.iter().cloned().flatten().collect();
            assert_eq!(served, (3..3 + clients).collect::<Vec<u32>>(), "{threads:?}");
            assert!(shares.len() as u32 <= most || subject.name == "sim", "{threads:?}: {} workers", shares.len());
        }
    }
}

fn a_data_set_is_made_whole_and_anew(subject: &Subject) {
    let count = || subject.count("SELECT count(*) FROM conformance_rows");
    let system = subject.prepared();
    assert_eq!(count(), 10);
    assert_eq!(subject.count("SELECT sum(value) FROM conformance_rows"), 450);
    let changed = "SELECT count(*) FROM conformance_rows WHERE note = 'afterwards'";
    assert_eq!(subject.count(changed), 1, "the statements behind the tables were not run");
    let whole = Contents::expected_of(&rows(10));
    let held = || whole.verify_found(&rows(10), &Contents::read_from(&rows(10), system).unwrap());
    assert_eq!(held(), Ok(()));
    system.prepare(&rows(3)).unwrap();
    assert_eq!(count(), 3, "another data set");
    subject.prepared();
    let mut session = system.connect_session(SessionKind::Plain).unwrap();
    session.execute("DELETE FROM conformance_rows WHERE id > 1").unwrap();
    assert!(session.execute("INSERT INTO conformance_rows VALUES (1, 0, 'twice')").is_err(), "the key is not one");
    assert_eq!(count(), 2);
    assert!(held().is_err(), "rows are missing, and not by their checksum");
    for id in 2..10 {
        let value = if id == 7 { 71 } else { 10 * id };
        session.execute(&format!("INSERT INTO conformance_rows VALUES ({id}, {value}, NULL)")).unwrap();
    }
    assert!(held().is_err(), "a value is another, and not by its checksum");
    session.execute("UPDATE conformance_rows SET value = 70 WHERE id = 7").unwrap();
    assert_eq!(held(), Ok(()));
    session.execute("UPDATE conformance_rows SET value = NULL WHERE id = 0").unwrap();
    assert!(held().is_err(), "NULL is 0 by its checksum");
    drop(session);
    subject.prepared();
    assert_eq!(count(), 10, "the same data set once more");
    let nowhere = "SELECT count(*) FROM nowhere_at_all";
    assert!(system.scalar(nowhere).is_err(), "it counts the rows of no table");
    let mut questions: Vec<String> =
        (0..10).map(|id| format!("SELECT value FROM conformance_rows WHERE id = {id}")).collect();
    let values: Vec<i64> = (0..10).map(|id| 10 * id).collect();
    assert_eq!(system.scalars(&questions), Ok(values), "the answers are not in the order of the questions");
    questions.insert(5, nowhere.to_owned());
    assert!(system.scalars(&questions).is_err(), "one question of several may fail");
    let waiters = system.lock_waiters().unwrap().unwrap_or_default();
    assert_eq!(waiters, LockWaiters::default(), "sessions wait for locks, and there are none");
}

fn tables_come_back_in_every_way_that_is_offered(subject: &Subject) {
    for (word, reset) in Reset::WORDS {
        let plan = SystemPlan { reset: Some(reset), ..subject.another(word).0 };
        // Two étalons on the same tables of a server that somebody names keep each other away.
        match subject.engine.choose_reset(&plan, 0) {
            Ok(offered) if subject.is_named() => assert_eq!(offered, Some(reset)),
            Ok(offered) => {
                assert_eq!(offered, Some(reset));
                comes_back(&*subject.open_another(&plan).unwrap(), reset);
            }
            Err(failure) => assert!(is_refusal(&failure), "{word}: {:?}: {failure}", failure.kind),
        }
        by_url_as_well(subject, reset);
    }
}

/// Copies of the same server's tables, as if somebody else had started it.
fn by_url_as_well(subject: &Subject, reset: Reset) {
    let facts = subject.system.facts().unwrap();
    let Some(url) = facts.get("path.address").filter(|_| subject.plan.server.is_some() && reset.keeps_copy()) else {
        return;
    };
    let plan = SystemPlan { url: url.to_owned(), server: None, reset: Some(reset), ..subject.plan.clone() };
    match subject.engine.choose_reset(&plan, 0) {
        Ok(offered) => {
            assert_eq!(offered, Some(reset));
            comes_back(&*subject.open_another(&plan).unwrap(), reset);
        }
        Err(failure) => assert!(is_refusal(&failure), "{reset} by URL: {:?}: {failure}", failure.kind),
    }
}

fn comes_back(system: &dyn System, reset: Reset) {
    assert!(
        system.explain_reset(&rows(10)).is_some_and(|told| told.starts_with(&reset.to_string())),
        "{reset}: it is not told"
    );
    for round in 0..2 {
        for (data, held) in [(rows(10), 10), (rows(7), 7)] {
            system.prepare(&data).unwrap_or_else(|failure| panic!("{reset}: {failure}"));
            let count = || system.scalar("SELECT count(*) FROM conformance_rows").unwrap();
            assert_eq!(count(), held, "{reset}, round {round}");
            system
                .connect_session(SessionKind::Plain)
                .unwrap()
                .execute("DELETE FROM conformance_rows WHERE id > 1")
                .unwrap();
            system.prepare(&data).unwrap_or_else(|failure| panic!("{reset}: {failure}"));
            assert_eq!(count(), if reset == Reset::None { 2 } else { held }, "{reset}, round {round}");
        }
        system.begin_round().unwrap();
    }
    assert_eq!(system.kept_bytes() > 0, reset.keeps_copy(), "{reset}: {} bytes are kept", system.kept_bytes());
    system.drop_all().unwrap();
}

fn a_session_does_what_it_is_told(subject: &Subject) {
    let mut session = subject.prepared().connect_session(SessionKind::Plain).unwrap();
    for _ in 0..3 {
        session
            .execute_repeated("INSERT INTO conformance_log (client, value, note) VALUES (1, NULL, 'again')")
            .unwrap();
    }
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log"), 3);
    let text = |datum: &Datum| match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Int(number) => number.to_string(),
        Datum::Double(number) => number.to_string(),
        Datum::Text(text) => text.trim_end().to_owned(),
    };
    let mut query = |sql: &str| -> Vec<Vec<String>> {
        session.query(sql).unwrap().iter().map(|row| row.iter().map(text).collect()).collect()
    };
    let found = query("SELECT id, value, note FROM conformance_rows WHERE id < 2 ORDER BY id DESC");
    assert_eq!(found, [["1", "10", "afterwards"], ["0", "0", "as it was"]]);
    assert_eq!(query("SELECT client, value FROM conformance_log")[2], ["1", "NULL"]);
    let mut one_by_one: Vec<String> = Vec::new();
    session
        .each_row("SELECT id FROM conformance_rows WHERE id < 3 ORDER BY id DESC", &mut |row| {
            one_by_one.push(text(&row[0]))
        })
        .unwrap();
    assert_eq!(one_by_one, ["2", "1", "0"]);
    let failure = session.execute("FROBNICATE").unwrap_err();
    assert!(failure.to_string().contains("FROBNICATE"), "{failure}");
    session.execute("DELETE FROM conformance_log").unwrap();
}

fn abilities_are_there_or_refused_with_a_reason(subject: &Subject) {
    let system = subject.prepared();
    let refused = |what: &str, failure: load::error::Failure| {
        assert!(is_refusal(&failure), "{what}: {:?}: {failure}", failure.kind);
    };
    if let Err(failure) = system.backups().map(drop) {
        refused("backups", failure);
    }
    let reason = |what: &str, reason: Option<String>| {
        assert!(reason.is_none_or(|reason| !reason.is_empty()), "{what} is not known for no reason");
    };
    reason("the server's CPU time", system.server_cpu_s().err());
    reason("the files' I/O", system.own_file_traffic().err());
    reason("the processes' I/O", system.os_io().err());
    system.read_session_facts(SessionKind::Plain).unwrap();
    match system.connect_session(SessionKind::Spatial).map(drop) {
        Ok(()) => {
            assert!(system.spatial_dialect().is_some(), "it opens sessions with geometries, and has no words for them")
        }
        Err(failure) => refused("geometries", failure),
    }
    if let Err(failure) = system.empty_caches() {
        refused("empty caches", failure);
    }
    match system.limit_cpu(0.5) {
        Ok(limit) => limit.release().unwrap(),
        Err(failure) => refused("a limit", failure),
    }
    if let Err(failure) = system.plan_for_other_hosts(&subject.plan) {
        refused("other hosts", failure);
    }
}

fn a_new_round_finds_the_system_ready(subject: &Subject) {
    subject.prepared().begin_round().unwrap();
    subject.system.wait_until_available().unwrap();
    subject
        .script("INSERT INTO conformance_log (client, value, note) VALUES (:client_id, 1, 'new block');", 2, 3)
        .unwrap();
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log"), 6);
}

fn settings_hold_in_every_session(subject: &Subject) {
    let setting = subject.known.setting.as_ref().unwrap();
    let system = subject.prepared();
    let facts = system.facts().unwrap();
    let name = &setting.name;
    assert_eq!(facts.get(&format!("setting.{name}")), Some(&*setting.fact), "{name} is not what the plan says");
    let Some(conflict) = subject.known.conflict else { return };
    let session = || system.connect_session(SessionKind::Plain).unwrap();
    let (mut one, mut other) = (session(), session());
    one.execute(&system.dialect().translate_statement("begin")).unwrap();
    one.execute("UPDATE conformance_rows SET value = 7 WHERE id = 1").unwrap();
    let began = Instant::now();
    let failure = other.execute("UPDATE conformance_rows SET value = 8 WHERE id = 1");
    assert!(failure.is_err(), "two sessions change one row at the same time");
    conflict.hold(began.elapsed());
    one.execute(&system.dialect().translate_statement("rollback")).unwrap();
}

fn an_unknown_setting_is_refused(subject: &Subject) {
    let system = if subject.holds_a_file() { subject.another("unknown").0 } else { subject.plan.clone() };
    let settings = [("frobnication".to_owned(), Value::Int(1))].into();
    match subject.open_another(&SystemPlan { settings, ..system }) {
        Ok(_) => panic!("it takes a setting that it does not have"),
        Err(failure) => {
            assert!(format!("{failure} {:?}", failure.hint).contains("frobnication"), "{failure}");
            assert_ne!(failure.kind, FailureKind::NotOurs, "{failure}");
        }
    }
}
