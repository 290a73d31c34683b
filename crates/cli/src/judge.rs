//! What the conductor asks of a plan that ends when it is sure.

use conductor::look::Judge;
use model::{Look, RowSoFar, Standing};
use report::Evidence;
use report::look::judge_look;
use store::{Store, StoreError};

/// Judges by the comparison that the report will print.
pub struct ByReport;

impl Judge for ByReport {
    /// Judges the rounds of a store before `round`, by the comparison that the report will print.
    fn judge_look(&self, store: &Store, round: u32) -> Result<Look, StoreError> {
        let evidence = Evidence::read_store(store)?.before_round(round);
        // What cannot be compared is open to the end.
        Ok(judge_look(&evidence).unwrap_or_else(|error| {
            let row = RowSoFar { name: "all".to_owned(), standing: Standing::Open, figures: error.to_string() };
            Look { rows: vec![row], ..Look::default() }
        }))
    }
}
