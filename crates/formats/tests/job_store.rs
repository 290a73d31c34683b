//! HammerDB's job store: databases that this test makes with the tables of version 6.0, with figures made up for it.

#![cfg(test)]

#[path = "shared/jobs.rs"]
mod jobs;

use formats::hammerdb::job_store::READER;
use formats::reader::{Found, Input, Reads, database_reader};
use formats::{FormatError, Imported, ImportedResult, Options, into_experiment};
use model::{Reading, Value};
use rusqlite::{Connection, MAIN_DB};

use crate::jobs::{DICTIONARY, Jobs, TABLES};

fn found(bytes: &[u8], is_named: bool) -> Result<Found, FormatError> {
    let Reads::Database(read) = READER.reads else { panic!("it reads databases") };
    let options = Options::default();
    read(
        bytes,
        &Input { system: "hammer", is_named, source: "hammer.DB", below: "hammer.DB", text: "", options: &options },
    )
}

fn import(jobs: Jobs) -> Imported {
    let found = found(&jobs.bytes(), false).unwrap();
    assert_eq!(found.not_understood, []);
    found.imported
}

fn figure(result: &ImportedResult, id: &str) -> f64 {
    let found = result.measurements.iter().find(|measurement| measurement.metric.id == id);
    match found.map(|measurement| &measurement.reading) {
        Some(Reading::Value(value)) => *value,
        other => panic!("{id}: {other:?}"),
    }
}

#[test]
fn jobs_give_orders_conditions_and_timings() {
    let mut jobs = Jobs::new();
    jobs.orders(DICTIONARY, 0, 8, 51_234);
    jobs.orders(DICTIONARY, 0, 8, 52_000);
    let bytes = jobs.bytes();
    assert_eq!(database_reader(&bytes).map(|(reader, _)| reader.name), Some("hammerdb-jobs"));
    let imported = found(&bytes, false).unwrap().imported;
    let [first, second] = imported.results.as_slice() else { panic!("{:?}", imported.results) };
    assert_eq!((figure(first, "nopm"), figure(first, "tpm"), figure(second, "nopm")), (51_234.0, 102_468.0, 52_000.0));
    assert_eq!(figure(first, "response_p99/NEWORD"), 9_250.0, "of all users, in microseconds");
    let keys: Vec<String> = first.keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        keys,
        ["duration_minutes=5", "rampup_minutes=2", "storedprocs=true", "virtual_users=8", "warehouses=100"]
    );
    assert_eq!((imported.facts["hammer"].get("server.version"), first.elapsed_s), (Some("17.2"), Some(300.0)));
    let everything = format!("{imported:?}");
    assert!(!everything.contains("topsecret") && !everything.contains("4711"), "passwords stay where they are");
    assert_eq!(into_experiment("x", &[imported]).unwrap().plan.schedule.rounds, 2);
}

#[test]
fn one_changed_condition_makes_two_cases() {
    for (from, to) in [
        ("pg_count_ware 100", "pg_count_ware 200"),
        ("pg_rampup 2", "pg_rampup 1"),
        ("pg_duration 5", "pg_duration 10"),
        ("pg_storedprocs true", "pg_storedprocs false"),
        ("pg_driver timed", "pg_driver test"),
        ("pg_allwarehouse false", "pg_allwarehouse true"),
        ("pg_async_scale false", "pg_async_scale true"),
    ] {
        let mut jobs = Jobs::new();
        jobs.orders(DICTIONARY, 0, 8, 100);
        jobs.orders(&DICTIONARY.replace(from, to), 0, 8, 100);
        assert_eq!(into_experiment("x", &[import(jobs)]).unwrap().plan.cases().len(), 2, "{from} -> {to}");
    }
    let mut jobs = Jobs::new();
    jobs.orders(DICTIONARY, 0, 8, 100);
    jobs.orders(DICTIONARY, 0, 16, 100);
    assert_eq!(into_experiment("x", &[import(jobs)]).unwrap().plan.cases().len(), 2);
}

#[test]
fn profiles_of_a_pipeline_are_systems() {
    let with_profiles = || {
        let mut jobs = Jobs::new();
        for (profile, nopm) in [(1000, 100), (1001, 200)] {
            jobs.orders(DICTIONARY, profile, 1, nopm);
            jobs.orders(DICTIONARY, profile, 2, 2 * nopm);
        }
        jobs
    };
    let systems = |imported: &Imported| imported.results.iter().map(|one| one.system.clone()).collect::<Vec<_>>();
    let plain = import(with_profiles());
    assert_eq!(
        systems(&plain),
        ["hammer profile 1000"; 2].into_iter().chain(["hammer profile 1001"; 2]).collect::<Vec<_>>()
    );
    let jobs = with_profiles();
    let sql = "INSERT INTO JOBCI(refname, dbprefix, pipeline, profile_id) VALUES (?1, 'PG', 'PROFILE', ?2)";
    jobs.database.execute(sql, ("REL_17_0", 1000)).unwrap();
    jobs.database.execute(sql, ("REL_18_0", 1001)).unwrap();
    let named = import(jobs);
    assert_eq!(systems(&named)[1..3], ["hammer REL_17_0", "hammer REL_18_0"]);
    let experiment = into_experiment("x", &[named]).unwrap();
    assert_eq!((experiment.plan.systems.len(), experiment.plan.cases().len()), (2, 4));
    let of_user = found(&with_profiles().bytes(), true).unwrap().imported;
    assert_eq!(systems(&of_user), ["hammer"; 4]);
    assert_eq!(of_user.results[0].keys["profile"], Value::Int(1000), "what is no system is a case");
}

#[test]
fn jobs_of_two_databases_are_two_systems() {
    let mut jobs = Jobs::new();
    jobs.orders(DICTIONARY, 0, 8, 100);
    let id = jobs.job("MariaDB", "TPC-C", "tpcc {maria_count_ware 100 maria_rampup 2 maria_duration 5}", 0);
    jobs.say(&id, 1, "8 Active Virtual Users configured");
    jobs.say(&id, 1, "TEST RESULT : System achieved 77 NOPM from 99 MariaDB TPM");
    let systems: Vec<String> = import(jobs).results.into_iter().map(|one| one.system).collect();
    assert_eq!(systems, ["hammer PostgreSQL", "hammer MariaDB"]);
}

#[test]
fn queries_are_read_with_their_scale_and_streams() {
    let mut jobs = Jobs::new();
    for (scale, streams) in [(1, 1), (10, 1), (1, 2)] {
        let id = jobs.job("MySQL", "TPC-H", &format!("tpch {{mysql_scale_fact {scale} mysql_tpch_pass 12}}"), 0);
        for user in 1..=streams {
            jobs.say(&id, user, &format!("Executing Query 14 (1 of 22) scale factor {scale}"));
            jobs.say(&id, user, "query 14 completed in 2.5 seconds");
            jobs.say(&id, user, "Completed 1 query set(s) in 3 seconds");
            jobs.say(&id, user, "Geometric mean of query times returning rows (1) is 2.50000");
        }
        jobs.say(&id, 0, "ALL VIRTUAL USERS COMPLETE");
    }
    let imported = import(jobs);
    assert_eq!(figure(&imported.results[0], "query_geomean"), 2.5);
    assert_eq!((figure(&imported.results[1], "query_time"), imported.results.len()), (2.5, 8));
    let cases = into_experiment("x", &[imported]).unwrap().plan.cases();
    assert_eq!(cases.len(), 8, "other scales and streams next to it are other cases: {cases:?}");
}

#[test]
fn failed_jobs_keep_their_place_and_schemas_are_counted() {
    let mut jobs = Jobs::new();
    jobs.orders(DICTIONARY, 0, 8, 100);
    let schema = jobs.job("PostgreSQL", "TPC-C", DICTIONARY, 0);
    jobs.say(&schema, 1, "CREATING TPCC SCHEMA");
    jobs.say(&schema, 0, "ALL VIRTUAL USERS COMPLETE");
    let failed = jobs.job("PostgreSQL", "TPC-C", DICTIONARY, 0);
    jobs.say(&failed, 1, "Beginning rampup time of 2 minutes");
    jobs.say(&failed, 3, "Error in Virtual User 3: connection refused");
    jobs.say(&failed, 0, " Vuser  3:FINISHED FAILED");
    jobs.job("PostgreSQL", "TPC-C", DICTIONARY, 0);
    let imported = import(jobs);
    assert_eq!(imported.results.iter().map(|one| one.dropped.is_some()).collect::<Vec<_>>(), [false, true]);
    assert!(imported.notes.iter().any(|note| note.ends_with("schema, or said nothing: 2")), "{:?}", imported.notes);
}

#[test]
fn what_is_no_job_store_is_refused_in_one_sentence() {
    let made = |sql: &str| {
        let mut database = Connection::open_in_memory().unwrap();
        database.execute_batch(sql).unwrap();
        database.serialize(MAIN_DB).unwrap().to_vec()
    };
    let without = TABLES.replace("JOBOUTPUT", "OTHER");
    let view = format!(
        "{}; CREATE VIEW JOBOUTPUT(jobid, vu, output) AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
         SELECT 'a', 1, i FROM n;",
        without.replace("OTHER_IDX ON OTHER", "OTHER_IDX ON JOBMAIN")
    );
    let computed =
        TABLES.replace("vu INTEGER, output TEXT", "vu INTEGER, output TEXT AS (printf('%.*c', 100000000, 'x'))");
    for (bytes, said) in [
        (made("CREATE TABLE t(x); INSERT INTO t VALUES (1)"), "no job store of HammerDB (no JOBMAIN)"),
        (made(&without), "no job store of HammerDB (no JOBOUTPUT)"),
        (made(&view), "its JOBOUTPUT is a view, and no table"),
        (made(&computed), "its JOBOUTPUT computes columns"),
        (b"SQLite format 3\0".to_vec(), "cannot be read"),
        (b"SQLite format 3\0".iter().copied().chain([7; 5000]).collect(), "cannot be read"),
    ] {
        let error = found(&bytes, false).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn an_older_store_without_profiles_and_timings_is_read() {
    let mut jobs = Jobs::new();
    jobs.orders(DICTIONARY, 0, 8, 100);
    let older =
        "DROP TABLE JOBTIMING; DROP TABLE JOBCI; ALTER TABLE JOBMAIN DROP COLUMN profile_id; PRAGMA user_version = 3";
    jobs.database.execute_batch(older).unwrap();
    let mut bytes = jobs.bytes();
    (bytes[18], bytes[19]) = (2, 2);
    let imported = found(&bytes, false).unwrap().imported;
    assert_eq!(figure(&imported.results[0], "nopm"), 100.0, "also with a write-ahead log that was closed");
}
