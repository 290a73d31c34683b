//! Lanes on a real server: values, error classes, recovery.

use std::thread;
use std::time::Duration;

use super::*;
use crate::postgres::lane::Connection;
use crate::server::testing::lane::{Probe, class, kept, native, text};
use load::datum::Datum;
use load::lane::{ErrorClass, Lane as _, SyncPoint};
use workloads::transactions::{Flow, OPEN_TRANSACTION, Rows, StatementOp};

pub(super) fn every_kind_of_value_arrives(system: &PostgresSystem, way: Choice) {
    system.run("DROP TABLE IF EXISTS kinds; CREATE TABLE kinds (a smallint, b integer, c bigint, d float8, e text, f character(5), g numeric, h timestamp)");
    let mut lane = testing::lane::probe(system, way, 1, &["INSERT INTO kinds VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"]);
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
    lane.submit(0, 0, &row).unwrap();
    lane.submit(0, 0, &vec![Datum::Null; 8]).unwrap();
    let error = lane.submit(0, 0, &[&[Datum::Int(1 << 20)], &row[1..]].concat()).unwrap_err();
    assert_eq!(error.class, ErrorClass::Statement, "{error:?}");
    lane.0.close();
    let stored = system.text("SELECT kinds::text FROM kinds WHERE a IS NOT NULL");
    assert_eq!(stored, "(1,-2,1099511627776,0.5,\"é'\\\\\",\"x    \",1.25,\"2001-02-03 04:05:06\")");
    assert_eq!(system.text("SELECT count(*) FROM kinds WHERE kinds IS NULL"), "1");
}

pub(super) fn errors_have_classes_and_a_way_back(system: &PostgresSystem, way: Choice) {
    system.run("DROP TABLE IF EXISTS pairs; CREATE TABLE pairs (k integer PRIMARY KEY, v integer); INSERT INTO pairs VALUES (1, 0), (2, 0)");
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
    let mut lane = testing::lane::probe(system, way, 2, &sql);
    assert_eq!(class(lane.submit(0, 2, &[Datum::Int(1), Datum::Null])), ErrorClass::Constraint);
    lane.recover(0).unwrap();

    // The server refuses everything until the rollback.
    lane.submit(0, 0, &[]).unwrap();
    lane.submit(0, 2, &[Datum::Int(3), Datum::Int(0)]).unwrap();
    assert_eq!(class(lane.submit(0, 3, &int(0))), ErrorClass::Statement);
    lane.recover(0).unwrap();
    lane.submit(0, 0, &[]).unwrap();
    lane.submit(0, 4, &int(1)).unwrap();
    lane.submit(0, 1, &[]).unwrap();
    assert_eq!(system.text("SELECT string_agg(k || ':' || v, ' ' ORDER BY k) FROM pairs"), "1:1 2:0");

    lane.submit(0, 0, &[]).unwrap();
    lane.submit(0, 4, &int(1)).unwrap();
    lane.submit(1, 5, &[]).unwrap();
    assert_eq!(class(lane.submit(1, 4, &int(1))), ErrorClass::LockTimeout);
    lane.recover(1).unwrap();
    lane.submit(0, 1, &[]).unwrap();

    lane.submit(0, 6, &[]).unwrap();
    lane.submit(0, 7, &[]).unwrap();
    lane.submit(1, 4, &int(1)).unwrap();
    assert_eq!(class(lane.submit(0, 4, &int(1))), ErrorClass::Serialization);
    lane.recover(0).unwrap();
    lane.submit(0, 4, &int(1)).unwrap();
    lane.0.close();
}

pub(super) fn a_backend_that_is_ended_is_a_lost_connection(system: &PostgresSystem, way: Choice) {
    let mut lane = testing::lane::probe(system, way, 2, &["SELECT 1", "SELECT pg_sleep(20)"]);
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name = 'etalon' AND pid <> pg_backend_pid()";
    // Once while the client waits for an answer, once while it does not.
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            system.text(end)
        });
        assert_eq!(class(lane.submit(0, 1, &[])), ErrorClass::ConnectionLost);
    });
    assert_eq!(class(lane.submit(1, 0, &[])), ErrorClass::ConnectionLost);
    assert_eq!(lane.recover(0).err(), None, "no transaction was open");
    assert_eq!(class(lane.submit(0, 0, &[])), ErrorClass::ConnectionLost);
    lane.0.close();
    // The control connection was among them, and is replaced.
    assert!(system.counters().unwrap().value_of("commits").is_some());
}

fn op(text: &str, rows: Rows) -> StatementOp {
    StatementOp { text: text.to_owned(), rows, ..StatementOp::default() }
}

fn int(number: i64) -> [Datum; 1] {
    [Datum::Int(number)]
}

pub(super) fn the_last_row_of_each_result_is_kept(system: &PostgresSystem, way: Choice) {
    let mut text = testing::lane::probe(system, way, 1, &[]);
    for _ in 0..2 {
        let sql = "SELECT 1 AS a, NULL AS b; SELECT g FROM generate_series(1, 3) g; SELECT 1 WHERE false";
        text.execute(0, &op(sql, Rows::Keep)).unwrap();
        let expected =
            [kept(&["a", "b"], 1, &[Some("1"), None]), kept(&["g"], 3, &[Some("3")]), kept(&["?column?"], 0, &[])];
        assert_eq!(text.kept(0), expected);
        text.execute(0, &op("SELECT 1", Rows::Discard)).unwrap();
    }
    assert_eq!(class(text.execute(0, &op("SELECT 1; SELECT 1 / 0", Rows::Keep))), ErrorClass::Statement);
    let refused = text.execute(0, &op("COPY pairs FROM STDIN", Rows::Discard));
    assert_eq!(class(refused), ErrorClass::Statement);
    text.execute(0, &op("SELECT 1", Rows::Discard)).unwrap();
    text.0.close();
    let sql = ["SELECT $1::integer + 1 AS x, repeat('y', 30000) AS y", "COPY pairs FROM STDIN"];
    let mut prepared = testing::lane::probe(system, way, 1, &sql);
    assert_eq!(class(prepared.submit(0, 1, &[])), ErrorClass::Statement);
    let (parameters, rows) = (vec![Datum::Int(41)], Rows::Keep);
    prepared.execute(0, &StatementOp { parameters, rows, ..StatementOp::default() }).unwrap();
    assert_eq!(prepared.kept(0)[0].values[0], Datum::Text("42".into()));
    assert_eq!(prepared.kept(0)[0].columns, ["x", "y"]);
    prepared.0.close();
}

fn pipe(lane: &mut Probe<Connection>, statement: usize, parameter: Option<i64>) {
    let parameters = parameter.map(Datum::Int).into_iter().collect();
    let flow = Flow::Pipelined;
    lane.execute(0, &StatementOp { statement, parameters, flow, ..StatementOp::default() }).unwrap();
}

pub(super) fn a_pipeline_ends_as_its_first_failure(system: &PostgresSystem, way: Choice) {
    system.run("DROP TABLE IF EXISTS piped; CREATE TABLE piped (k integer PRIMARY KEY)");
    let mut lane = testing::lane::probe(
        system,
        way,
        1,
        &["INSERT INTO piped VALUES ($1)", "BEGIN", "COMMIT", "SELECT 1 / $1::integer"],
    );
    for key in 0..500 {
        pipe(&mut lane, 0, Some(key));
    }
    lane.sync(0, SyncPoint::Sync).unwrap();
    pipe(&mut lane, 0, Some(500));
    lane.sync(0, SyncPoint::End).unwrap();
    assert_eq!(system.text("SELECT count(*) FROM piped"), "501");

    pipe(&mut lane, 0, Some(0));
    lane.sync(0, SyncPoint::Sync).unwrap();
    pipe(&mut lane, 3, Some(0));
    assert_eq!(class(lane.sync(0, SyncPoint::End)), ErrorClass::Constraint);
    lane.recover(0).unwrap();
    // In the middle of a pipeline and a transaction.
    pipe(&mut lane, 1, None);
    pipe(&mut lane, 0, Some(1_000));
    lane.recover(0).unwrap();
    lane.submit(0, 0, &[Datum::Int(1_001)]).unwrap();
    lane.0.close();
    assert_eq!(system.text("SELECT count(*) FROM piped WHERE k >= 1000"), "1");
}

/// Parsed each time, with untyped text parameters: unset variables are NULL.
pub(super) fn unprepared_statements_run_as_well(system: &PostgresSystem, way: Choice) {
    let texts = vec![
        ("SELECT $1::integer + 1 AS x, $2::text AS y".to_owned(), 2),
        ("SELECT 1 / $1::integer".to_owned(), 1),
        ("BEGIN".to_owned(), 0),
    ];
    let lane = native::<PostgresServer>(&system.endpoint, &system.session, way, 1, Statements::Extended(texts));
    let mut lane = Probe(lane);
    let (parameters, rows) = (vec![Datum::Int(41), Datum::Null], Rows::Keep);
    for _ in 0..2 {
        let op = StatementOp { parameters: parameters.clone(), rows, ..StatementOp::default() };
        lane.execute(0, &op).unwrap();
        assert_eq!(lane.kept(0), [kept(&["x", "y"], 1, &[Some("42"), None])]);
        assert_eq!(class(lane.submit(0, 1, &[Datum::Int(0)])), ErrorClass::Statement);
        lane.recover(0).unwrap();
    }
    lane.0.end_transaction(0).unwrap();
    lane.submit(0, 2, &[]).unwrap();
    let open = lane.0.end_transaction(0).unwrap_err();
    assert_eq!((open.class, open.message.as_str()), (ErrorClass::Script, OPEN_TRANSACTION));
    lane.0.close();
}

/// Asks with the first statement.
fn backend(lane: &mut Probe<Connection>, client: usize) -> Datum {
    lane.execute(client, &StatementOp { rows: Rows::Keep, ..StatementOp::default() }).unwrap();
    lane.kept(client)[0].values[0].clone()
}

/// A new connection has the prepared statements, whether the old one lived or not.
pub(super) fn clients_connect_anew(system: &PostgresSystem, way: Choice) {
    let pid = "SELECT pg_backend_pid() AS pid";
    let mut lane = testing::lane::probe(system, way, 2, &[pid, "SELECT pg_terminate_backend(pg_backend_pid())"]);
    let (mut before, other) = (backend(&mut lane, 0), backend(&mut lane, 1));
    for _ in 0..30 {
        lane.reconnect(0).unwrap();
        let now = backend(&mut lane, 0);
        assert_ne!(now, before);
        before = now;
    }
    assert_eq!(class(lane.submit(0, 1, &[])), ErrorClass::ConnectionLost);
    assert_eq!(class(lane.submit(0, 0, &[])), ErrorClass::ConnectionLost);
    lane.reconnect(0).unwrap();
    assert_ne!(backend(&mut lane, 0), before);
    assert_eq!(backend(&mut lane, 1), other);
    assert!(lane.0.kernel_entries().unwrap() > 60);
    lane.0.close();
}

/// Every client uses TLS; an answer of many records arrives complete.
pub(super) fn is_encrypted(system: &PostgresSystem, way: Choice) {
    let sql =
        ["SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "SELECT repeat('é', 500000) AS long"];
    let mut lane = testing::lane::probe(system, way, 2, &sql);
    for client in [0, 1] {
        let mut op = StatementOp { rows: Rows::Keep, ..StatementOp::default() };
        lane.execute(client, &op).unwrap();
        assert_eq!(lane.kept(client), [kept(&["ssl", "version"], 1, &[Some("t"), Some("TLSv1.3")])]);
        op.statement = 1;
        lane.execute(client, &op).unwrap();
        let Datum::Text(long) = &lane.kept(client)[0].values[0] else { panic!() };
        assert!(long.len() == 1_000_000 && long.chars().all(|c| c == 'é'));
    }
    lane.0.close();
}
