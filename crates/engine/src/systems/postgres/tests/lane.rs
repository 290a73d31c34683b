//! The lane on a real server: values, error classes, recovery.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::*;
use crate::dataset::Datum;
use crate::lane::{ErrorClass, KeptRow, Lane, OpError, Outcome, Submitted, SyncPoint};
use crate::workloads::transactions::{Flow, OPEN_TRANSACTION, Rows, StatementOp};

/// Both ways of sending and receiving.
pub(super) const WAYS: [Choice; 2] = [Choice::Auto, Choice::Poller];

fn lane(target: &PostgresTarget, way: Choice, clients: usize, sql: &[&str]) -> NativeLane {
    let sql: Vec<String> = sql.iter().map(|text| (*text).to_owned()).collect();
    opened(target, way, clients, if sql.is_empty() { Statements::Simple } else { Statements::Prepared(sql) })
}

fn opened(target: &PostgresTarget, way: Choice, clients: usize, statements: Statements) -> NativeLane {
    let (session, endpoint) = (target.session.clone(), target.endpoint.clone());
    let open = move || session.open_lane(&endpoint, &statements).map_err(|error| error.op_error(&endpoint));
    NativeLane::new(way, (0..clients).map(|_| open().unwrap()).collect(), Arc::new(open)).unwrap()
}

fn recover(lane: &mut NativeLane, client: usize) -> Result<(), OpError> {
    let begun = lane.recover(client);
    await_end(lane, client, begun.map_or(Submitted::Queued, Submitted::Done))
}

fn reconnect(lane: &mut NativeLane, client: usize) -> Result<(), OpError> {
    let begun = lane.reconnect(client);
    await_end(lane, client, begun.map_or(Submitted::Queued, Submitted::Done))
}

fn submit(lane: &mut NativeLane, client: usize, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
    execute(lane, client, &StatementOp { statement, parameters: parameters.to_vec(), ..StatementOp::default() })
}

fn execute(lane: &mut NativeLane, client: usize, op: &StatementOp) -> Result<(), OpError> {
    let submitted = lane.submit(client, op);
    await_end(lane, client, submitted)
}

fn await_end(lane: &mut NativeLane, client: usize, submitted: Submitted) -> Result<(), OpError> {
    let outcome = match submitted {
        Submitted::Done(outcome) => outcome,
        Submitted::Queued => {
            let mut ended = Vec::new();
            while ended.is_empty() {
                lane.flush();
                lane.reap(u64::MAX, &mut ended);
            }
            assert_eq!((ended.len(), ended[0].client), (1, client));
            ended.remove(0).outcome
        }
        other => panic!("{other:?}"),
    };
    match outcome {
        Outcome::Ok => Ok(()),
        Outcome::Failed(error) => Err(error),
    }
}

fn class(result: Result<(), OpError>) -> ErrorClass {
    result.unwrap_err().class
}

pub(super) fn every_kind_of_value_arrives(target: &PostgresTarget, way: Choice) {
    target.run("DROP TABLE IF EXISTS kinds; CREATE TABLE kinds (a smallint, b integer, c bigint, d float8, e text, f character(5), g numeric, h timestamp)");
    let mut lane = lane(target, way, 1, &["INSERT INTO kinds VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"]);
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

pub(super) fn errors_have_classes_and_a_way_back(target: &PostgresTarget, way: Choice) {
    target.run("DROP TABLE IF EXISTS pairs; CREATE TABLE pairs (k integer PRIMARY KEY, v integer); INSERT INTO pairs VALUES (1, 0), (2, 0)");
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
    let mut lane = lane(target, way, 2, &sql);
    let int = |n| [Datum::Int(n)];
    assert_eq!(class(submit(&mut lane, 0, 2, &[Datum::Int(1), Datum::Null])), ErrorClass::Constraint);
    recover(&mut lane, 0).unwrap();

    // The server refuses everything until the rollback.
    submit(&mut lane, 0, 0, &[]).unwrap();
    submit(&mut lane, 0, 2, &[Datum::Int(3), Datum::Int(0)]).unwrap();
    assert_eq!(class(submit(&mut lane, 0, 3, &int(0))), ErrorClass::Statement);
    recover(&mut lane, 0).unwrap();
    submit(&mut lane, 0, 0, &[]).unwrap();
    submit(&mut lane, 0, 4, &int(1)).unwrap();
    submit(&mut lane, 0, 1, &[]).unwrap();
    assert_eq!(target.text("SELECT string_agg(k || ':' || v, ' ' ORDER BY k) FROM pairs"), "1:1 2:0");

    submit(&mut lane, 0, 0, &[]).unwrap();
    submit(&mut lane, 0, 4, &int(1)).unwrap();
    submit(&mut lane, 1, 5, &[]).unwrap();
    assert_eq!(class(submit(&mut lane, 1, 4, &int(1))), ErrorClass::LockTimeout);
    recover(&mut lane, 1).unwrap();
    submit(&mut lane, 0, 1, &[]).unwrap();

    submit(&mut lane, 0, 6, &[]).unwrap();
    submit(&mut lane, 0, 7, &[]).unwrap();
    submit(&mut lane, 1, 4, &int(1)).unwrap();
    assert_eq!(class(submit(&mut lane, 0, 4, &int(1))), ErrorClass::Serialization);
    recover(&mut lane, 0).unwrap();
    submit(&mut lane, 0, 4, &int(1)).unwrap();
    lane.close();
}

pub(super) fn one_of_two_in_a_deadlock_is_told(target: &PostgresTarget, way: Choice) {
    let both_hold = Barrier::new(2);
    let client = |first: i64, second: i64| {
        let mut lane = lane(target, way, 1, &["BEGIN", "COMMIT", "UPDATE pairs SET v = v + 1 WHERE k = $1"]);
        submit(&mut lane, 0, 0, &[]).unwrap();
        submit(&mut lane, 0, 2, &[Datum::Int(first)]).unwrap();
        both_hold.wait();
        let result = submit(&mut lane, 0, 2, &[Datum::Int(second)]);
        match &result {
            Ok(()) => submit(&mut lane, 0, 1, &[]).unwrap(),
            Err(_) => recover(&mut lane, 0).unwrap(),
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

pub(super) fn a_backend_that_is_ended_is_a_lost_connection(target: &PostgresTarget, way: Choice) {
    let mut lane = lane(target, way, 2, &["SELECT 1", "SELECT pg_sleep(20)"]);
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
    assert_eq!(recover(&mut lane, 0).err(), None, "no transaction was open");
    assert_eq!(class(submit(&mut lane, 0, 0, &[])), ErrorClass::ConnectionLost);
    lane.close();
    // The control connection was among them, and is replaced.
    assert!(target.counters().unwrap().get("commits").is_some());
}

fn kept(columns: &[&str], rows: u64, values: &[Option<&'static str>]) -> KeptRow {
    let values = values.iter().map(|value| value.map_or(Datum::Null, |text| Datum::Text(text.into()))).collect();
    KeptRow { rows, columns: columns.iter().map(|name| (*name).to_owned()).collect(), values }
}

pub(super) fn the_last_row_of_each_result_is_kept(target: &PostgresTarget, way: Choice) {
    let mut text = lane(target, way, 1, &[]);
    let op = |text: &str, rows| StatementOp { text: text.to_owned(), rows, ..StatementOp::default() };
    for _ in 0..2 {
        let sql = "SELECT 1 AS a, NULL AS b; SELECT g FROM generate_series(1, 3) g; SELECT 1 WHERE false";
        execute(&mut text, 0, &op(sql, Rows::Keep)).unwrap();
        let expected =
            [kept(&["a", "b"], 1, &[Some("1"), None]), kept(&["g"], 3, &[Some("3")]), kept(&["?column?"], 0, &[])];
        assert_eq!(text.kept_rows(0), expected);
        execute(&mut text, 0, &op("SELECT 1", Rows::Discard)).unwrap();
    }
    assert_eq!(class(execute(&mut text, 0, &op("SELECT 1; SELECT 1 / 0", Rows::Keep))), ErrorClass::Statement);
    let refused = execute(&mut text, 0, &op("COPY pairs FROM STDIN", Rows::Discard));
    assert_eq!(class(refused), ErrorClass::Statement);
    execute(&mut text, 0, &op("SELECT 1", Rows::Discard)).unwrap();
    text.close();
    let sql = ["SELECT $1::integer + 1 AS x, repeat('y', 30000) AS y", "COPY pairs FROM STDIN"];
    let mut prepared = lane(target, way, 1, &sql);
    assert_eq!(class(submit(&mut prepared, 0, 1, &[])), ErrorClass::Statement);
    let (parameters, rows) = (vec![Datum::Int(41)], Rows::Keep);
    execute(&mut prepared, 0, &StatementOp { parameters, rows, ..StatementOp::default() }).unwrap();
    assert_eq!(prepared.kept_rows(0)[0].values[0], Datum::Text("42".into()));
    assert_eq!(prepared.kept_rows(0)[0].columns, ["x", "y"]);
    prepared.close();
}

pub(super) fn a_pipeline_ends_as_its_first_failure(target: &PostgresTarget, way: Choice) {
    target.run("DROP TABLE IF EXISTS piped; CREATE TABLE piped (k integer PRIMARY KEY)");
    let mut lane =
        lane(target, way, 1, &["INSERT INTO piped VALUES ($1)", "BEGIN", "COMMIT", "SELECT 1 / $1::integer"]);
    let pipe = |lane: &mut NativeLane, statement, parameter: Option<i64>| {
        let parameters = parameter.map(Datum::Int).into_iter().collect();
        let flow = Flow::Pipelined;
        execute(lane, 0, &StatementOp { statement, parameters, flow, ..StatementOp::default() }).unwrap();
    };
    let sync = |lane: &mut NativeLane, point| {
        let submitted = lane.sync(0, point);
        await_end(lane, 0, submitted)
    };
    for key in 0..500 {
        pipe(&mut lane, 0, Some(key));
    }
    sync(&mut lane, SyncPoint::Sync).unwrap();
    pipe(&mut lane, 0, Some(500));
    sync(&mut lane, SyncPoint::End).unwrap();
    assert_eq!(target.text("SELECT count(*) FROM piped"), "501");

    pipe(&mut lane, 0, Some(0));
    sync(&mut lane, SyncPoint::Sync).unwrap();
    pipe(&mut lane, 3, Some(0));
    assert_eq!(class(sync(&mut lane, SyncPoint::End)), ErrorClass::Constraint);
    recover(&mut lane, 0).unwrap();
    // In the middle of a pipeline and a transaction.
    pipe(&mut lane, 1, None);
    pipe(&mut lane, 0, Some(1_000));
    recover(&mut lane, 0).unwrap();
    submit(&mut lane, 0, 0, &[Datum::Int(1_001)]).unwrap();
    lane.close();
    assert_eq!(target.text("SELECT count(*) FROM piped WHERE k >= 1000"), "1");
}

/// Parsed each time, with untyped text parameters: unset variables are NULL.
pub(super) fn unprepared_statements_run_as_well(target: &PostgresTarget, way: Choice) {
    let texts = vec![
        ("SELECT $1::integer + 1 AS x, $2::text AS y".to_owned(), 2),
        ("SELECT 1 / $1::integer".to_owned(), 1),
        ("BEGIN".to_owned(), 0),
    ];
    let mut lane = opened(target, way, 1, Statements::Extended(texts));
    let (parameters, rows) = (vec![Datum::Int(41), Datum::Null], Rows::Keep);
    for _ in 0..2 {
        let op = StatementOp { parameters: parameters.clone(), rows, ..StatementOp::default() };
        execute(&mut lane, 0, &op).unwrap();
        assert_eq!(lane.kept_rows(0), [kept(&["x", "y"], 1, &[Some("42"), None])]);
        assert_eq!(class(submit(&mut lane, 0, 1, &[Datum::Int(0)])), ErrorClass::Statement);
        recover(&mut lane, 0).unwrap();
    }
    lane.end_transaction(0).unwrap();
    submit(&mut lane, 0, 2, &[]).unwrap();
    let open = lane.end_transaction(0).unwrap_err();
    assert_eq!((open.class, open.message.as_str()), (ErrorClass::Script, OPEN_TRANSACTION));
    lane.close();
}

/// A new connection has the prepared statements, whether the old one lived or not.
pub(super) fn clients_connect_anew(target: &PostgresTarget, way: Choice) {
    let pid = "SELECT pg_backend_pid() AS pid";
    let mut lane = lane(target, way, 2, &[pid, "SELECT pg_terminate_backend(pg_backend_pid())"]);
    let backend = |lane: &mut NativeLane, client| {
        execute(lane, client, &StatementOp { rows: Rows::Keep, ..StatementOp::default() }).unwrap();
        lane.kept_rows(client)[0].values[0].clone()
    };
    let (mut before, other) = (backend(&mut lane, 0), backend(&mut lane, 1));
    for _ in 0..30 {
        reconnect(&mut lane, 0).unwrap();
        let now = backend(&mut lane, 0);
        assert_ne!(now, before);
        before = now;
    }
    assert_eq!(class(submit(&mut lane, 0, 1, &[])), ErrorClass::ConnectionLost);
    assert_eq!(class(submit(&mut lane, 0, 0, &[])), ErrorClass::ConnectionLost);
    reconnect(&mut lane, 0).unwrap();
    assert_ne!(backend(&mut lane, 0), before);
    assert_eq!(backend(&mut lane, 1), other);
    assert!(lane.kernel_entries().unwrap() > 60);
    lane.close();
}

/// Every client uses TLS; an answer of many records arrives complete.
pub(super) fn is_encrypted(target: &PostgresTarget, way: Choice) {
    let sql =
        ["SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "SELECT repeat('é', 500000) AS long"];
    let mut lane = lane(target, way, 2, &sql);
    for client in [0, 1] {
        let ask = |statement| StatementOp { statement, rows: Rows::Keep, ..StatementOp::default() };
        execute(&mut lane, client, &ask(0)).unwrap();
        assert_eq!(lane.kept_rows(client), [kept(&["ssl", "version"], 1, &[Some("t"), Some("TLSv1.3")])]);
        execute(&mut lane, client, &ask(1)).unwrap();
        let Datum::Text(long) = &lane.kept_rows(client)[0].values[0] else { panic!() };
        assert!(long.len() == 1_000_000 && long.chars().all(|c| c == 'é'));
    }
    lane.close();
}
