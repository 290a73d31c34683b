use std::borrow::Cow;

use super::super::account::Figure;
use super::*;
use crate::session::Session;

/// A server that answers every query with these rows, and writes down what it was asked.
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

fn target() -> Box<dyn Target> {
    use model::SystemPlan;
    let url = "sim:".to_owned();
    let (name, engine) = ("s".to_owned(), "sim".to_owned());
    let system =
        SystemPlan { name, engine, url, settings: Default::default(), server: None, volume: None, alias_of: None };
    let request = crate::target::OpenRequest::new(&system, crate::Consent::OwnOnly);
    crate::Registry::built_in().open(&request).unwrap()
}

/// SQL Server's words are executed nowhere yet: whoever changes them sees what changed.
#[test]
fn the_words_for_sql_server_are_as_they_were_reviewed() {
    let dialect = dialect_of("sqlserver").unwrap();
    let mut scribe =
        Scribe { rows: vec![words("0 DB_TEST_IO 211 11067392 392 9297 8400756736 252474")], ..Scribe::default() };
    let page_bytes = dialect.page_bytes(&mut scribe).unwrap();
    assert_eq!(page_bytes, 8192);
    let mut text = dialect.tables(page_bytes);
    assert_eq!(dialect.begin(&mut scribe).unwrap(), Vec::<String>::new());
    text.append(&mut scribe.asked);
    text.extend([dialect.insert(page_bytes, 8), dialect.rows().to_owned()]);
    dialect.flush(&mut scribe).unwrap().unwrap();
    dialect.size_bytes(&mut scribe).unwrap();
    let account = dialect.account(&*target(), &mut scribe).unwrap();
    let of = |figure| account.of_class(FileClass::Data, figure);
    assert_eq!((of(Figure::Reads), of(Figure::WriteStall)), (Reading::Value(211.0), Reading::Value(252_474.0)));
    assert_eq!(of(Figure::Syncs), Reading::Value(0.0), "it writes through");
    for class in FileClass::ALL {
        dialect.file_bytes(class, &mut scribe).unwrap();
    }
    text.append(&mut scribe.asked);
    insta::assert_snapshot!("sqlserver", text.join(";\n"));
}

#[test]
fn counters_and_checkpoints_that_the_login_may_not_have_are_a_reason_and_no_failure() {
    for dialect in DIALECTS {
        let mut scribe = Scribe { refuses: Some(FailureKind::Permission), ..Scribe::default() };
        let refused = dialect.flush(&mut scribe).unwrap().unwrap_err();
        assert!(refused.contains("permission was denied"), "{}: {refused}", dialect.flavour());
        let mut lost = Scribe { refuses: Some(FailureKind::ConnectionLost), ..Scribe::default() };
        assert!(dialect.flush(&mut lost).is_err(), "{}: a server that died", dialect.flavour());
    }
    let mut scribe = Scribe { refuses: Some(FailureKind::Permission), ..Scribe::default() };
    let account = dialect_of("sqlserver").unwrap().account(&*target(), &mut scribe).unwrap();
    assert!(account.notes[0].contains("VIEW SERVER STATE"), "{:?}", account.notes);
    assert!(matches!(account.of_class(FileClass::Log, Figure::Writes), Reading::Unavailable(_)));
    let notes = dialect_of("sqlserver").unwrap().begin(&mut scribe).unwrap();
    assert!(notes[0].contains("permission was denied"), "{notes:?}");
}

#[test]
fn a_statement_holds_as_many_rows_as_were_asked_for() {
    for dialect in DIALECTS {
        let statement = dialect.insert(8192, 8);
        let (_, values) = statement.split_once("VALUES ").unwrap();
        assert_eq!(values.split("), (").count(), 8, "{}: {statement}", dialect.flavour());
    }
    assert!(dialect_of("oracle").is_none());
}
