//! Page inserts.

use load::error::Failure;
use model::{Reading, Value};
use workloads::pages::account::{FileClass, IoAccount};
use workloads::pages::dialect::PagesDialect;
use workloads::session::Session;
use workloads::system::System;

use super::faulty::Tamper;
use super::{Fault, all_are_found, led_by, run, sent, sqlite};

const FAIR: Tamper = Tamper::NONE;

fn is_insert(sql: &str) -> bool {
    sql.starts_with("INSERT INTO tio")
}

/// Changes the inserts alone.
fn inserts(sql: &str, change: impl FnOnce(&str) -> Vec<String>) -> Vec<String> {
    if is_insert(sql) { change(sql) } else { vec![sql.to_owned()] }
}

/// The rows of SQLite's inserts.
const ROW: &str = "(zeroblob(8000))";

/// The account of files that the inserts never reach.
struct OtherFiles(&'static dyn PagesDialect);

impl PagesDialect for OtherFiles {
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure> {
        self.0.page_bytes(session)
    }

    fn create_page_table_sql(&self, page_bytes: u64) -> Vec<String> {
        self.0.create_page_table_sql(page_bytes)
    }

    fn insert_sql(&self, page_bytes: u64, rows: u64) -> String {
        self.0.insert_sql(page_bytes, rows)
    }

    fn row_count_sql(&self) -> &'static str {
        self.0.row_count_sql()
    }

    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        self.0.size_bytes(session)
    }

    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        self.0.flush_writes(session)
    }

    fn io_account(&self, system: &dyn System, session: &mut dyn Session) -> Result<IoAccount, Failure> {
        let mut account = self.0.io_account(system, session)?;
        account.places.retain(|place| place.class == FileClass::Temporary);
        let idle = |class| {
            workloads::pages::account::Figure::ALL
                .iter()
                .fold(workloads::pages::IoPlace::unknown(class, "other", ""), |place, figure| {
                    place.with_value(*figure, 0.0)
                })
        };
        account.places.extend([FileClass::Data, FileClass::Log].map(idle));
        Ok(account)
    }

    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        self.0.file_bytes(class, session)
    }
}

static FAULTS: [Fault; 13] = [
    sent(
        "a statement that is not sent",
        |sql, number| if is_insert(sql) && number % 10 == 9 { Vec::new() } else { vec![sql.to_owned()] },
        "the client sent 320 rows, the server has",
    ),
    sent(
        "a row short",
        |sql, _| inserts(sql, |sql| vec![sql.replacen(&format!("{ROW}, "), "", 1)]),
        "the client sent 320 rows, the server has 280",
    ),
    sent(
        "a row too many",
        |sql, _| inserts(sql, |sql| vec![format!("{sql}, {ROW}")]),
        "the client sent 320 rows, the server has 360",
    ),
    sent(
        "rows of half a page",
        |sql, _| inserts(sql, |sql| vec![sql.replace("8000", "4000")]),
        "a row has 4000 to 4000 bytes of filler",
    ),
    sent(
        "rows of two pages",
        |sql, _| inserts(sql, |sql| vec![sql.replace("8000", "12000")]),
        "a row has 12000 to 12000 bytes of filler",
    ),
    sent(
        "one long row in place of eight",
        |sql, _| {
            inserts(sql, |_| {
                let id = "(SELECT coalesce(max(tio_id), 0) + 8 FROM tio)";
                vec![format!("INSERT INTO tio (tio_id, tio_data) VALUES ({id}, zeroblob(66000))")]
            })
        },
        "of 50 rows by their number or place",
    ),
    sent(
        "a checkpoint that is not made",
        |sql, _| {
            let sent = if sql.contains("wal_checkpoint") { "SELECT 0" } else { sql };
            vec![sent.to_owned()]
        },
        "that it wrote to its data",
    ),
    sent(
        "all statements in one transaction",
        |sql, _| {
            if sql.contains("wal_checkpoint") {
                return vec!["COMMIT".to_owned(), sql.to_owned()];
            }
            let begin = sql.starts_with("CREATE TABLE").then(|| "BEGIN".to_owned());
            [sql.to_owned()].into_iter().chain(begin).collect()
        },
        "the client sent 40 commits, the server has 1",
    ),
    sent(
        "rows that are committed one by one",
        |sql, _| inserts(sql, |_| vec![format!("INSERT INTO tio (tio_data) VALUES {ROW}"); 8]),
        "its session has committed 320 times",
    ),
    sent(
        "rows that are rolled back",
        |sql, _| inserts(sql, |sql| vec!["BEGIN".to_owned(), sql.to_owned(), "ROLLBACK".to_owned()]),
        "the client sent 320 rows, the server has 0",
    ),
    sent(
        "commits that wait for nothing",
        |sql, number| led_by("PRAGMA synchronous = OFF", sql, number),
        "the system's commits are durable, and 40 commits made 0 syncs of its log",
    ),
    Fault {
        what: "a failed statement that counts as a success",
        tamper: Tamper {
            statements: |sql, number| {
                inserts(sql, |sql| {
                    vec![if number % 5 == 4 { sql.replace("tio_data", "tio_dat") } else { sql.to_owned() }]
                })
            },
            swallows: true,
            ..FAIR
        },
        said: "the client sent 320 rows, the server has",
    },
    Fault {
        what: "an account of other files",
        tamper: Tamper { pages: |dialect| Box::leak(Box::new(OtherFiles(dialect))), ..FAIR },
        said: "that it wrote to its data",
    },
];

#[test]
fn faults_of_page_inserts_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("page_size", "8192"), ("journal_mode", "WAL"), ("synchronous", "FULL")];
    let plan = sqlite(&folder, &settings);
    all_are_found(&FAULTS, "elapsed", |tamper| run(&plan, tamper, "pages", &[("statements", Value::Int(40))]));
}
