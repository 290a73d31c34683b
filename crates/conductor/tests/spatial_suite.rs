//! The spatial suite on an engine that knows the answers and gives them right or wrong on demand.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use conductor::Registry;
use engines::{mysql, postgres, sqlite, sqlserver};
use load::counters::{Counters, Placement};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::observer::Silent;
use load::worker::{LoadCounts, WorkerContext};
use model::{Facts, Length, OnError, Order, Point, Reading, RunRecord, RunState, Schedule, Value};
use workloads::dataset::{Dataset, Dialect};
use workloads::session::{Session, SessionKind};
use workloads::spatial::dialect::SpatialDialect;
use workloads::spatial::{Country, Expected, ExpectedValue, PointSpread, Query, expected_answers};
use workloads::step::{self, StepContext};
use workloads::system::System;
use workloads::work::Load;
use workloads::workload::{Action, Grants, Task};

const COUNTRY: Country = Country { side: 6, seed: 1, spread: PointSpread::Uniform };

static ANSWERS: LazyLock<Vec<(Query, Vec<Expected>)>> =
    LazyLock::new(|| expected_answers(COUNTRY, &Query::all().collect::<Vec<_>>()));

/// What the engine does to one query.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nothing.
    None,
    Perturb(Query, usize),
    ExtraRow(Query),
    NoRow(Query),
    /// Gives NULL for everything.
    Null(Query),
    /// Refuses it.
    Refuse(Query, FailureKind),
    /// Answers right this many times, then wrong.
    Later(Query, usize),
}

struct Parrot {
    dialect: Option<&'static dyn SpatialDialect>,
    answers: Arc<HashMap<String, (Query, Vec<Expected>)>>,
    fault: Fault,
    asked: Arc<AtomicUsize>,
    log: Arc<Mutex<Vec<String>>>,
}

const DIALECTS: [&dyn SpatialDialect; 4] =
    [&mysql::spatial::Spatial, &postgres::spatial::Spatial, &sqlite::spatial::Spatial, &sqlserver::spatial::Spatial];

struct ParrotDialect;

impl Dialect for ParrotDialect {
    fn placeholder(&self, _number: usize) -> String {
        String::new()
    }
}

impl Parrot {
    fn new(dialect: &'static dyn SpatialDialect, fault: Fault) -> Parrot {
        let answers = ANSWERS
            .iter()
            .cloned()
            .filter_map(|(query, answer)| Some((dialect.query_text(query, window()).ok()?, (query, answer))))
            .collect();
        Parrot { dialect: Some(dialect), answers: Arc::new(answers), fault, asked: Arc::default(), log: Arc::default() }
    }
}

/// The suite's window for this country: one cell, since points are dense enough.
fn window() -> i64 {
    4096
}

impl System for Parrot {
    fn facts(&self) -> Result<Facts, Failure> {
        Ok(Facts::default())
    }
    fn dialect(&self) -> &'static dyn Dialect {
        &ParrotDialect
    }
    fn spatial_dialect(&self) -> Option<&'static dyn SpatialDialect> {
        self.dialect
    }
    fn placement(&self) -> Placement {
        Placement::InProcess
    }
    fn prepare(&self, _data: &Dataset) -> Result<(), Failure> {
        Ok(())
    }
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn counters(&self) -> Result<Counters, Failure> {
        Ok(Counters::default())
    }
    fn scalar(&self, _sql: &str) -> Result<i64, Failure> {
        Ok(0)
    }
    fn drive(&self, _load: Load<'_>, _context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        Ok(LoadCounts::default())
    }
    fn connect_session(&self, _kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(ParrotSession {
            answers: Arc::clone(&self.answers),
            fault: self.fault,
            asked: Arc::clone(&self.asked),
            log: Arc::clone(&self.log),
        }))
    }
    fn empty_caches(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn drop_all(&self) -> Result<(), Failure> {
        Ok(())
    }
}

struct ParrotSession {
    answers: Arc<HashMap<String, (Query, Vec<Expected>)>>,
    fault: Fault,
    asked: Arc<AtomicUsize>,
    log: Arc<Mutex<Vec<String>>>,
}

fn right(value: ExpectedValue) -> Datum {
    match value {
        ExpectedValue::Exact(value) => Datum::Int(i64::try_from(value).unwrap()),
        // Within what any rounding of a buffer may give.
        ExpectedValue::Near(value) | ExpectedValue::Rounded { with_8: value, .. } => Datum::Double(value),
    }
}

/// A slightly wrong value: off by one, or by a hundred-millionth.
fn perturbed(value: ExpectedValue) -> Datum {
    match right(value) {
        Datum::Int(value) => Datum::Int(value + 1),
        // Too small is wrong for every rounding of a buffer.
        Datum::Double(value) => Datum::Double(value * (1.0 - 1e-8)),
        other => other,
    }
}

/// Rows and indexes of the country's tables, and how SQLite says that it uses them.
fn asked_of_the_load(sql: &str) -> Option<Vec<Vec<Datum>>> {
    let tables = [("cell", 36), ("road", 9), ("pt", 450), ("shape", 9)];
    let counted = sql.strip_prefix("SELECT count(*), min(id), max(id) FROM ");
    if let Some((_, rows)) = tables.into_iter().find(|(name, _)| counted == Some(*name)) {
        return Some(vec![[rows, 1, rows].map(Datum::Int).to_vec()]);
    }
    if DIALECTS.iter().any(|dialect| dialect.indexed_table_count_sql() == Some(sql)) {
        return Some(vec![vec![Datum::Int(3)]]);
    }
    let plan = "SCAN SpatialIndex VIRTUAL TABLE INDEX 2:".into();
    sql.starts_with("EXPLAIN QUERY PLAN").then(|| vec![vec![Datum::Text(plan)]])
}

impl Session for ParrotSession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.log.lock().unwrap().push(sql.to_owned());
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        if let Some(rows) = asked_of_the_load(sql) {
            return Ok(rows);
        }
        let (query, answer) = self.answers.get(sql).unwrap_or_else(|| panic!("not in the dialect: {sql}"));
        let row: Vec<Datum> = answer.iter().map(|expected| right(expected.value)).collect();
        let mut wrong = row.clone();
        match self.fault {
            Fault::Perturb(which, column) if which == *query => {
                wrong[column] = perturbed(answer[column].value);
                Ok(vec![wrong])
            }
            Fault::ExtraRow(which) if which == *query => Ok(vec![row.clone(), row]),
            Fault::NoRow(which) if which == *query => Ok(Vec::new()),
            Fault::Null(which) if which == *query => Ok(vec![vec![Datum::Null; row.len()]]),
            Fault::Refuse(which, kind) if which == *query => Err(Failure::new(kind, "ask", "FUNCTION does not exist")),
            Fault::Later(which, good) if which == *query && self.asked.fetch_add(1, Ordering::SeqCst) >= good => {
                wrong[0] = perturbed(answer[0].value);
                Ok(vec![wrong])
            }
            _ => Ok(vec![row]),
        }
    }
}

/// The answers are computed once for all runs.
fn suite(runs: i64, clients: i64) -> Task {
    let workload = Registry::built_in().workload("spatial").unwrap();
    let mut point: Point =
        workload.spec().keys.iter().filter_map(|key| Some((key.name.to_owned(), key.default?.to_value()?))).collect();
    point.extend([
        ("side".to_owned(), Value::Int(COUNTRY.side)),
        ("queries".to_owned(), Value::Text("all".to_owned())),
        ("executions".to_owned(), Value::Int(runs)),
        ("clients".to_owned(), Value::Int(clients)),
    ]);
    workload.make_task(&point, &Grants::default()).unwrap()
}

fn run(system: &dyn System, suite: &Task) -> Result<RunRecord, Failure> {
    let Action::Step(procedure) = &suite.action else { panic!("the suite is a step") };
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::ZERO,
        length: Length::Duration(Duration::from_secs(1)),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    };
    let interrupt = AtomicBool::new(false);
    let mut context =
        StepContext { system, schedule: &schedule, seed: 3, interrupt: &interrupt, observer: &mut Silent };
    step::run_step(&**procedure, &mut context)
}

fn reading<'r>(record: &'r RunRecord, id: &str) -> &'r Reading {
    let found = record.measurements.iter().find(|m| m.metric.id == id);
    &found.unwrap_or_else(|| panic!("no {id}")).reading
}

/// The query has evidence in place of figures, all others have figures, and there is no total.
fn assert_caught(record: &RunRecord, query: Query, said: &str) {
    assert_eq!(record.state, RunState::Measured);
    for kind in ["elapsed", "published", "cold"] {
        let Reading::Unavailable(why) = reading(record, &format!("{kind}/{}", query.name())) else {
            panic!("{}: {kind} has a figure", query.name())
        };
        assert!(why.to_string().contains(said), "{}: {why}", query.name());
        assert!(matches!(reading(record, &format!("{kind}/suite")), Reading::Unavailable(_)));
    }
    for other in Query::all().filter(|other| *other != query) {
        let id = format!("elapsed/{}", other.name());
        let refused = matches!(reading(record, &id), Reading::Unavailable(why) if !why.reason.starts_with("the engine has no union"));
        assert!(!refused, "{id} was not measured because of {}", query.name());
    }
}

#[test]
fn right_answers_are_timed() {
    let suite = suite(3, 2);
    for (engine, dialect) in DIALECTS.iter().enumerate() {
        let record = run(&Parrot::new(*dialect, Fault::None), &suite).unwrap();
        let asked = Query::all().filter(|query| dialect.query_text(*query, window()).is_ok()).count();
        assert_eq!(reading(&record, "answers_right"), &Reading::Value(asked as f64), "{engine}");
        for query in Query::all().filter(|query| dialect.query_text(*query, window()).is_ok()) {
            for kind in ["elapsed", "published", "cold"] {
                assert!(matches!(reading(&record, &format!("{kind}/{}", query.name())), Reading::Value(_)));
            }
        }
    }
}

/// Every column of every query: off by one, or by a hundred-millionth.
#[test]
fn an_answer_that_is_a_little_wrong_is_caught_on_every_query_and_column() {
    let suite = suite(1, 1);
    for dialect in &DIALECTS {
        for (query, answer) in ANSWERS.iter() {
            let query = *query;
            if dialect.query_text(query, window()).is_err() {
                continue;
            }
            for (column, asked) in answer.iter().enumerate() {
                let record = run(&Parrot::new(*dialect, Fault::Perturb(query, column)), &suite).unwrap();
                assert_caught(&record, query, "wrong answer");
                assert_caught(&record, query, asked.name);
                assert_caught(&record, query, "expected");
            }
        }
    }
}

#[test]
fn missing_rows_and_nulls_are_wrong_answers() {
    let suite = suite(1, 1);
    for query in Query::all() {
        for fault in [Fault::ExtraRow(query), Fault::NoRow(query), Fault::Null(query)] {
            assert_caught(&run(&Parrot::new(DIALECTS[1], fault), &suite).unwrap(), query, "wrong answer");
        }
    }
}

/// A query that is right when verified and wrong in a later run has no figure.
#[test]
fn an_answer_that_turns_wrong_while_it_is_timed_is_caught() {
    // One client's verification and two runs are right; the wrong answer then comes in a run, in another client, or
    // when cold.
    for (good, runs, clients) in [(3, 5, 1), (1, 1, 2), (2, 1, 1)] {
        let suite = suite(runs, clients);
        for query in [Query::Validity, Query::Nearest] {
            let record = run(&Parrot::new(DIALECTS[1], Fault::Later(query, good)), &suite).unwrap();
            assert_caught(&record, query, "wrong answer");
        }
    }
}

#[test]
fn a_query_that_is_refused_is_unsupported_and_another_has_failed_with_the_engine_s_words() {
    let suite = suite(1, 1);
    for (kind, said) in [(FailureKind::Unsupported, "unsupported"), (FailureKind::Other, "failed")] {
        let fault = Fault::Refuse(Query::Departments, kind);
        let record = run(&Parrot::new(DIALECTS[1], fault), &suite).unwrap();
        assert_caught(&record, Query::Departments, &format!("{said}: FUNCTION does not exist"));
    }
    let fault = Fault::Refuse(Query::Departments, FailureKind::ConnectionLost);
    let failure = run(&Parrot::new(DIALECTS[1], fault), &suite).unwrap_err();
    assert_eq!(failure.kind, FailureKind::ConnectionLost);
}

#[test]
fn an_engine_without_a_dialect_is_refused() {
    let mut parrot = Parrot::new(DIALECTS[0], Fault::None);
    parrot.dialect = None;
    assert_eq!(run(&parrot, &suite(1, 1)).unwrap_err().kind, FailureKind::Unsupported);
}

/// MariaDB aborts a join by an R-tree outside a transaction, so each query is asked in one.
#[test]
fn every_query_of_mariadb_stands_in_a_transaction() {
    let parrot = Parrot::new(&mysql::spatial::Spatial, Fault::None);
    run(&parrot, &suite(1, 1)).unwrap();
    let log = parrot.log.lock().unwrap();
    let count = |what: &str| log.iter().filter(|statement| *statement == what).count();
    // The load; then 14 queries, each verified, run once warm and once cold.
    assert_eq!((count("START TRANSACTION"), count("COMMIT")), (1 + 14 * 3, 1 + 14 * 3));
}
