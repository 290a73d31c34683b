//! Snapshots of all engines' statements by family, side by side.

use std::borrow::Cow;

use model::Reading;

use super::{mysql, postgres, sqlite, sqlserver};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use workloads::pages::account::{Figure, FileClass};
use workloads::pages::dialect::PagesDialect;
use workloads::session::Session;
use workloads::spatial::dialect::SpatialDialect;
use workloads::spatial::query::Query;
use workloads::system::System;

const PAGES: [(&str, &dyn PagesDialect); 4] = [
    ("mysql", &mysql::pages::Pages),
    ("postgres", &postgres::pages::Pages),
    ("sqlite", &sqlite::pages::Pages),
    ("sqlserver", &sqlserver::pages::Pages),
];

const SPATIAL: [(&str, &dyn SpatialDialect); 4] = [
    ("mysql", &mysql::spatial::Spatial),
    ("postgres", &postgres::spatial::Spatial),
    ("sqlite", &sqlite::spatial::Spatial),
    ("sqlserver", &sqlserver::spatial::Spatial),
];

/// Answers every query with these rows, and records it.
#[derive(Default)]
struct Scribe {
    asked: Vec<String>,
    rows: Vec<Vec<Datum>>,
    refuses: Option<FailureKind>,
}

impl Scribe {
    fn note(&mut self, sql: &str) -> Result<(), Failure> {
        self.asked.push(sql.to_owned());
        match self.refuses {
            Some(kind) => Err(Failure::new(kind, "ask", "permission was denied")),
            None => Ok(()),
        }
    }
}

impl Session for Scribe {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.note(sql)
    }
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        self.note(sql).map(|()| self.rows.clone())
    }
}

fn words(text: &'static str) -> Vec<Datum> {
    text.split(' ').map(|word| Datum::Text(Cow::Borrowed(word))).collect()
}

fn system() -> Box<dyn System> {
    use model::SystemPlan;
    let url = "sim:".to_owned();
    let (name, engine) = ("s".to_owned(), "sim".to_owned());
    let system = SystemPlan {
        name,
        engine,
        url,
        settings: Default::default(),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    };
    let request = workloads::system::OpenRequest::new(&system, workloads::system::Consent::OwnOnly);
    use workloads::system::Engine as _;
    super::sim::Sim.open(&request).unwrap()
}

/// Texts in the order of a run, as far as a server with wrong answers is asked.
fn pages_text(dialect: &dyn PagesDialect) -> Vec<String> {
    let mut scribe =
        Scribe { rows: vec![words("0 DB_TEST_IO 211 11067392 392 9297 8400756736 252474")], ..Scribe::default() };
    let _ = dialect.page_bytes(&mut scribe);
    scribe.asked.extend(dialect.create_page_table_sql(8_192));
    let _ = dialect.begin_run(&mut scribe);
    scribe.asked.extend([dialect.insert_sql(8_192, 2), dialect.row_count_sql().to_owned()]);
    let _ = dialect.flush_writes(&mut scribe);
    let _ = dialect.size_bytes(&mut scribe);
    let _ = dialect.io_account(&*system(), &mut scribe);
    for class in FileClass::ALL {
        let _ = dialect.file_bytes(class, &mut scribe);
    }
    scribe.asked
}

#[test]
fn page_inserts_are_asked_as_they_were_reviewed() {
    let texts = PAGES.map(|(name, dialect)| format!("-- {name}\n{}", pages_text(dialect).join(";\n")));
    insta::assert_snapshot!("pages", texts.join("\n\n"));
}

#[test]
fn spatial_queries_are_asked_as_they_were_reviewed() {
    let mut text = Vec::new();
    for (name, dialect) in SPATIAL {
        let (before, after) = dialect.geometry_literal();
        text.push(format!("-- {name}: tables and indexes"));
        text.extend(dialect.create_spatial_tables_sql());
        text.push(format!("INSERT INTO pt VALUES (1,{before}POINT(1 2){after})"));
        text.extend(dialect.create_indexes_sql(163_840));
    }
    for query in Query::all() {
        text.push(format!("\n-- {}: {}", query.name(), query.summary()));
        for (name, dialect) in SPATIAL {
            let asked = dialect.query_text(query, 4_096);
            if let Ok(sql) = &asked {
                assert!(!sql.contains(['{', '}', '\n']), "a constant is not filled in: {name}: {sql}");
            }
            text.push(format!("{name}: {}", asked.unwrap_or_else(|reason| format!("not asked: {reason}"))));
        }
    }
    insta::assert_snapshot!("spatial", text.join("\n"));
}

#[test]
fn what_sql_server_counts_is_read() {
    let mut scribe =
        Scribe { rows: vec![words("0 DB_TEST_IO 211 11067392 392 9297 8400756736 252474")], ..Scribe::default() };
    let account = sqlserver::pages::Pages.io_account(&*system(), &mut scribe).unwrap();
    // It writes through.
    for (figure, value) in [(Figure::Reads, 211.0), (Figure::WriteStall, 252_474.0), (Figure::Syncs, 0.0)] {
        assert_eq!(account.class_sum(FileClass::Data, figure), Reading::Value(value));
    }
}

#[test]
fn counters_and_checkpoints_that_the_login_may_not_have_are_a_reason_and_no_failure() {
    for (name, dialect) in PAGES {
        let mut scribe = Scribe { refuses: Some(FailureKind::Permission), ..Scribe::default() };
        let refused = dialect.flush_writes(&mut scribe).unwrap().unwrap_err();
        assert!(refused.contains("permission was denied"), "{}: {refused}", name);
        let mut lost = Scribe { refuses: Some(FailureKind::ConnectionLost), ..Scribe::default() };
        assert!(dialect.flush_writes(&mut lost).is_err(), "{}: a server that died", name);
    }
    let mut scribe = Scribe { refuses: Some(FailureKind::Permission), ..Scribe::default() };
    let account = sqlserver::pages::Pages.io_account(&*system(), &mut scribe).unwrap();
    assert!(account.notes[0].contains("VIEW SERVER STATE"), "{:?}", account.notes);
    assert!(matches!(account.class_sum(FileClass::Log, Figure::Writes), Reading::Unavailable(_)));
    let notes = sqlserver::pages::Pages.begin_run(&mut scribe).unwrap();
    assert!(notes[0].contains("permission was denied"), "{notes:?}");
}

#[test]
fn a_statement_holds_as_many_rows_as_were_asked_for() {
    for (name, dialect) in PAGES {
        let statement = dialect.insert_sql(8192, 8);
        let (_, values) = statement.split_once("VALUES ").unwrap();
        assert_eq!(values.split("), (").count(), 8, "{}: {statement}", name);
    }
}
