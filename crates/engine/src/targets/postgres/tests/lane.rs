//! Both lanes on a real server: values, errors by class, the way back from them.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::dataset::Datum;
use crate::lane::{ErrorClass, KeptRow, Lane, OpError, Outcome, Submitted, SyncPoint};
use crate::workloads::transactions::{Flow, Rows, StatementOp};

/// A lane of either kind, of which the callers wait for each answer.
#[expect(clippy::large_enum_variant, reason = "a test has one at a time")]
enum Probe {
    Native(NativeLane),
    Stock(StockLane),
}

/// Every kind of lane that a socket without TLS can be asked by.
pub(super) const WAYS: [(Path, Choice); 3] =
    [(Path::Native, Choice::Auto), (Path::Native, Choice::Poller), (Path::Stock, Choice::Auto)];

fn lane(target: &PostgresTarget, way: (Path, Choice), clients: usize, sql: &[&str]) -> Probe {
    let sql: Vec<String> = sql.iter().map(|text| (*text).to_owned()).collect();
    match way {
        (Path::Native, choice) => {
            let opened = (0..clients).map(|_| target.session.open_native(&target.endpoint, &sql).unwrap()).collect();
            Probe::Native(NativeLane::new(choice, opened).unwrap())
        }
        (Path::Stock, _) => {
            Probe::Stock(StockLane::prepare((0..clients).map(|_| target.client()).collect(), &sql).unwrap())
        }
    }
}

impl Probe {
    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        match self {
            Probe::Native(lane) => lane.recover(client),
            Probe::Stock(lane) => lane.recover(client),
        }
    }

    fn kept(&self, client: usize) -> &[KeptRow] {
        match self {
            Probe::Native(lane) => lane.kept_rows(client),
            Probe::Stock(lane) => lane.kept_rows(client),
        }
    }

    fn close(self) {
        match self {
            Probe::Native(lane) => lane.close(),
            Probe::Stock(lane) => lane.close(),
        }
    }
}

fn submit(lane: &mut Probe, client: usize, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
    execute(lane, client, &StatementOp { statement, parameters: parameters.to_vec(), ..StatementOp::default() })
}

fn execute(lane: &mut Probe, client: usize, op: &StatementOp) -> Result<(), OpError> {
    let submitted = match lane {
        Probe::Native(lane) => lane.submit(client, op),
        Probe::Stock(lane) => lane.submit(client, op),
    };
    await_end(lane, client, submitted)
}

fn await_end(lane: &mut Probe, client: usize, submitted: Submitted) -> Result<(), OpError> {
    let outcome = match (submitted, lane) {
        (Submitted::Done(outcome), _) => outcome,
        (Submitted::Queued, Probe::Native(lane)) => {
            let mut ended = Vec::new();
            while ended.is_empty() {
                lane.flush();
                lane.reap(u64::MAX, &mut ended);
            }
            assert_eq!((ended.len(), ended[0].client), (1, client));
            ended.remove(0).outcome
        }
        (other, _) => panic!("{other:?}"),
    };
    match outcome {
        Outcome::Ok => Ok(()),
        Outcome::Failed(error) => Err(error),
    }
}

fn class(result: Result<(), OpError>) -> ErrorClass {
    result.unwrap_err().class
}

pub(super) fn every_kind_of_value_arrives(target: &PostgresTarget, way: (Path, Choice)) {
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

pub(super) fn errors_have_classes_and_a_way_back(target: &PostgresTarget, way: (Path, Choice)) {
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

pub(super) fn one_of_two_in_a_deadlock_is_told(target: &PostgresTarget, way: (Path, Choice)) {
    let both_hold = Barrier::new(2);
    let client = |first: i64, second: i64| {
        let mut lane = lane(target, way, 1, &["BEGIN", "COMMIT", "UPDATE pairs SET v = v + 1 WHERE k = $1"]);
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

pub(super) fn a_backend_that_is_ended_is_a_lost_connection(target: &PostgresTarget, way: (Path, Choice)) {
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
    assert_eq!(lane.recover(0).err(), None, "no transaction was open");
    assert_eq!(class(submit(&mut lane, 0, 0, &[])), ErrorClass::ConnectionLost);
    lane.close();
    // The control connection was among them, and is made anew.
    assert!(target.counters().unwrap().get("commits").is_some());
}

fn kept(columns: &[&str], rows: u64, values: &[Option<&'static str>]) -> KeptRow {
    let values = values.iter().map(|value| value.map_or(Datum::Null, |text| Datum::Text(text.into()))).collect();
    KeptRow { rows, columns: columns.iter().map(|name| (*name).to_owned()).collect(), values }
}

pub(super) fn the_last_row_of_each_result_is_kept(target: &PostgresTarget, way: (Path, Choice)) {
    let mut text = lane(target, way, 1, &[]);
    let op = |text: &str, rows| StatementOp { text: text.to_owned(), rows, ..StatementOp::default() };
    for _ in 0..2 {
        let sql = "SELECT 1 AS a, NULL AS b; SELECT g FROM generate_series(1, 3) g; SELECT 1 WHERE false";
        execute(&mut text, 0, &op(sql, Rows::Keep)).unwrap();
        let expected =
            [kept(&["a", "b"], 1, &[Some("1"), None]), kept(&["g"], 3, &[Some("3")]), kept(&["?column?"], 0, &[])];
        assert_eq!(text.kept(0), expected);
        execute(&mut text, 0, &op("SELECT 1", Rows::Discard)).unwrap();
    }
    assert_eq!(class(execute(&mut text, 0, &op("SELECT 1; SELECT 1 / 0", Rows::Keep))), ErrorClass::Statement);
    if way.0 == Path::Native {
        // The stock driver gives the connection up.
        let refused = execute(&mut text, 0, &op("COPY pairs FROM STDIN", Rows::Discard));
        assert_eq!(class(refused), ErrorClass::Statement);
    }
    execute(&mut text, 0, &op("SELECT 1", Rows::Discard)).unwrap();
    text.close();
    if way.0 == Path::Native {
        let sql = ["SELECT $1::integer + 1 AS x, repeat('y', 30000) AS y", "COPY pairs FROM STDIN"];
        let mut prepared = lane(target, way, 1, &sql);
        assert_eq!(class(submit(&mut prepared, 0, 1, &[])), ErrorClass::Statement);
        let (parameters, rows) = (vec![Datum::Int(41)], Rows::Keep);
        execute(&mut prepared, 0, &StatementOp { parameters, rows, ..StatementOp::default() }).unwrap();
        assert_eq!(prepared.kept(0)[0].values[0], Datum::Text("42".into()));
        assert_eq!(prepared.kept(0)[0].columns, ["x", "y"]);
        prepared.close();
    }
}

pub(super) fn a_pipeline_ends_as_its_first_failure(target: &PostgresTarget, way: (Path, Choice)) {
    target.run("DROP TABLE IF EXISTS piped; CREATE TABLE piped (k integer PRIMARY KEY)");
    let mut lane =
        lane(target, way, 1, &["INSERT INTO piped VALUES ($1)", "BEGIN", "COMMIT", "SELECT 1 / $1::integer"]);
    let Probe::Native(_) = &lane else { return lane.close() };
    let pipe = |lane: &mut Probe, statement, parameter: Option<i64>| {
        let parameters = parameter.map(Datum::Int).into_iter().collect();
        let flow = Flow::Pipelined;
        execute(lane, 0, &StatementOp { statement, parameters, flow, ..StatementOp::default() }).unwrap();
    };
    let sync = |lane: &mut Probe, point| {
        let Probe::Native(native) = lane else { panic!() };
        let submitted = native.sync(0, point);
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
    lane.recover(0).unwrap();
    // Broken off in the middle of a pipeline and of a transaction.
    pipe(&mut lane, 1, None);
    pipe(&mut lane, 0, Some(1_000));
    lane.recover(0).unwrap();
    submit(&mut lane, 0, 0, &[Datum::Int(1_001)]).unwrap();
    lane.close();
    assert_eq!(target.text("SELECT count(*) FROM piped WHERE k >= 1000"), "1");
}
