//! What the conductor asks of a plan that ends when it is sure.

use engine::look::{Judge, Look};
use report::Evidence;
use report::look::look;
use store::{Store, StoreError};

/// By the comparison that the report will print.
pub struct ByReport;

impl Judge for ByReport {
    fn look(&self, store: &Store, round: u32) -> Result<Look, StoreError> {
        let evidence = Evidence::read(store)?.before(round);
        // What cannot be compared is open to the end.
        let found = match look(&evidence) {
            Ok(found) => found,
            Err(error) => return Ok(Look { open: vec![error.to_string()], ..Look::default() }),
        };
        Ok(Look { settled: found.settled, open: found.open, decided: found.decided, rows: found.rows })
    }
}
