//! What the engine is asked in the test of page inserts.

use load::datum::Datum;
use load::error::Failure;
use model::Reading;
use workloads::pages::account::FileClass;
use workloads::pages::dialect::{PagesDialect, filler_length};
use workloads::session::{Session, query_number, split_refusal};

pub struct ExamplePages;

impl PagesDialect for ExamplePages {
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure> {
        Ok(query_number(session, "PRAGMA page_size")? as u64)
    }

    fn create_page_table_sql(&self, _page_bytes: u64) -> Vec<String> {
        vec!["CREATE TABLE tio (tio_id INTEGER PRIMARY KEY, tio_data BLOB NOT NULL)".to_owned()]
    }

    fn insert_sql(&self, page_bytes: u64, rows: u64) -> String {
        let row = format!("(zeroblob({}))", filler_length(page_bytes));
        format!("INSERT INTO tio (tio_data) VALUES {}", vec![row; rows as usize].join(", "))
    }

    fn row_count_sql(&self) -> &'static str {
        "SELECT coalesce(max(tio_id), 0) FROM tio"
    }

    fn sampled_rows_sql(&self, numbers: &[u64]) -> Option<String> {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let counted = "SELECT count(*), min(length(tio_data)), max(length(tio_data)) FROM tio";
        Some(format!("{counted} WHERE tio_id IN ({})", numbers.join(", ")))
    }

    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        query_number(session, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
    }

    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        Ok(split_refusal(session.query("PRAGMA wal_checkpoint(TRUNCATE)"))?.and_then(|rows| match rows[0][0] {
            Datum::Int(0) => Ok(()),
            _ => Err("another connection kept the log from being written".to_owned()),
        }))
    }

    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        Ok(match class {
            FileClass::Data => Reading::Value(self.size_bytes(session)?),
            _ => Reading::unavailable("it is truncated"),
        })
    }
}
