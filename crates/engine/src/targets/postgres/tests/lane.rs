//! The lane on a real server: values, errors by class, the way back from them.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::dataset::Datum;
use crate::lane::{ErrorClass, Lane, OpError, Outcome, Submitted};
use crate::workloads::transactions::StatementOp;

fn lane(target: &PostgresTarget, clients: usize, sql: &[&str]) -> PostgresLane {
    let connections = (0..clients).map(|_| target.client()).collect();
    let sql: Vec<String> = sql.iter().map(|text| (*text).to_owned()).collect();
    PostgresLane::prepare(connections, &sql).unwrap()
}

fn submit(lane: &mut PostgresLane, client: usize, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
    match lane.submit(client, &StatementOp { statement, parameters: parameters.to_vec() }) {
        Submitted::Done(Outcome::Ok) => Ok(()),
        Submitted::Done(Outcome::Failed(error)) => Err(error),
        other => panic!("a stock driver answers at once, not {other:?}"),
    }
}

fn class(result: Result<(), OpError>) -> ErrorClass {
    result.unwrap_err().class
}

pub(super) fn every_kind_of_value_arrives(target: &PostgresTarget) {
    target.run("CREATE TABLE kinds (a smallint, b integer, c bigint, d float8, e text, f character(5), g numeric, h timestamp)");
    let mut lane = lane(target, 1, &["INSERT INTO kinds VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"]);
    let text = |text: &'static str| Datum::Text(text.into());
    let row = [
        Datum::Int(1),
        Datum::Int(-2),
        Datum::Int(1 << 40),
        Datum::Double(0.5),
        text("é'\\"),
        text("x"),
        Datum::Double(1.25),
        text("2001-02-03 04:05:06"),
    ];
    submit(&mut lane, 0, 0, &row).unwrap();
    submit(&mut lane, 0, 0, &vec![Datum::Null; 8]).unwrap();
    let error = submit(&mut lane, 0, 0, &[&[Datum::Int(1 << 20)], &row[1..]].concat()).unwrap_err();
    assert_eq!(error.class, ErrorClass::Statement, "{error:?}");
    lane.close();
    let stored = target.text("SELECT kinds::text FROM kinds WHERE a IS NOT NULL");
    assert_eq!(stored, "(1,-2,1099511627776,0.5,\"é'\\\\\",\"x    \",1.25,\"2001-02-03 04:05:06\")");
    assert_eq!(target.text("SELECT count(*) FROM kinds WHERE kinds IS NULL"), "1");
}

pub(super) fn errors_have_classes_and_a_way_back(target: &PostgresTarget) {
    target.run("CREATE TABLE pairs (k integer PRIMARY KEY, v integer); INSERT INTO pairs VALUES (1, 0), (2, 0)");
    let sql = [
        "BEGIN",
        "COMMIT",
        "INSERT INTO pairs VALUES ($1, $2)",
        "SELECT 1 / $1::integer",
        "UPDATE pairs SET v = v + 1 WHERE k = $1",
        "SET lock_timeout = '20ms'",
        "BEGIN ISOLATION LEVEL REPEATABLE READ",
        "SELECT count(*) FROM pairs",
    ];
    let mut lane = lane(target, 2, &sql);
    let int = |n| [Datum::Int(n)];
    assert_eq!(class(submit(&mut lane, 0, 2, &[Datum::Int(1), Datum::Null])), ErrorClass::Constraint);
    lane.recover(0).unwrap();

    // An error in the middle of a transaction: the server refuses everything until it is rolled back.
    submit(&mut lane, 0, 0, &[]).unwrap();
    submit(&mut lane, 0, 2, &[Datum::Int(3), Datum::Int(0)]).unwrap();
    assert_eq!(class(submit(&mut lane, 0, 3, &int(0))), ErrorClass::Statement);
    lane.recover(0).unwrap();
    submit(&mut lane, 0, 0, &[]).unwrap();
    submit(&mut lane, 0, 4, &int(1)).unwrap();
    submit(&mut lane, 0, 1, &[]).unwrap();
    assert_eq!(target.text("SELECT string_agg(k || ':' || v, ' ' ORDER BY k) FROM pairs"), "1:1 2:0");

    submit(&mut lane, 0, 0, &[]).unwrap();
    submit(&mut lane, 0, 4, &int(1)).unwrap();
    submit(&mut lane, 1, 5, &[]).unwrap();
    assert_eq!(class(submit(&mut lane, 1, 4, &int(1))), ErrorClass::LockTimeout);
    lane.recover(1).unwrap();
    submit(&mut lane, 0, 1, &[]).unwrap();

    submit(&mut lane, 0, 6, &[]).unwrap();
    submit(&mut lane, 0, 7, &[]).unwrap();
    submit(&mut lane, 1, 4, &int(1)).unwrap();
    assert_eq!(class(submit(&mut lane, 0, 4, &int(1))), ErrorClass::Serialization);
    lane.recover(0).unwrap();
    submit(&mut lane, 0, 4, &int(1)).unwrap();
    lane.close();
}

pub(super) fn one_of_two_in_a_deadlock_is_told(target: &PostgresTarget) {
    let both_hold = Barrier::new(2);
    let client = |first: i64, second: i64| {
        let mut lane = lane(target, 1, &["BEGIN", "COMMIT", "UPDATE pairs SET v = v + 1 WHERE k = $1"]);
        submit(&mut lane, 0, 0, &[]).unwrap();
        submit(&mut lane, 0, 2, &[Datum::Int(first)]).unwrap();
        both_hold.wait();
        let result = submit(&mut lane, 0, 2, &[Datum::Int(second)]);
        match &result {
            Ok(()) => submit(&mut lane, 0, 1, &[]).unwrap(),
            Err(_) => lane.recover(0).unwrap(),
        }
        lane.close();
        result
    };
    let (a, b) = thread::scope(|scope| {
        let other = scope.spawn(|| client(2, 1));
        (client(1, 2), other.join().unwrap())
    });
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    assert_eq!(class(a.and(b)), ErrorClass::Deadlock);
}

pub(super) fn a_backend_that_is_ended_is_a_lost_connection(target: &PostgresTarget) {
    let mut lane = lane(target, 2, &["SELECT 1", "SELECT pg_sleep(20)"]);
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name = 'etalon' AND pid <> pg_backend_pid()";
    // Once while the client waits for an answer, once while it does not.
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            target.text(end)
        });
        assert_eq!(class(submit(&mut lane, 0, 1, &[])), ErrorClass::ConnectionLost);
    });
    assert_eq!(class(submit(&mut lane, 1, 0, &[])), ErrorClass::ConnectionLost);
    assert_eq!(lane.recover(0).err(), None, "no transaction was open");
    assert_eq!(class(submit(&mut lane, 0, 0, &[])), ErrorClass::ConnectionLost);
    lane.close();
    // The control connection was among them, and is made anew.
    assert!(target.counters().unwrap().get("commits").is_some());
}
