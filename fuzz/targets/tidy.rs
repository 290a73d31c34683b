//! Tidy tables: read, imported, and written as they were read.
//!
//! Seeds: docs/audits docs/import.md docs/export.md docs/audit.md crates/formats/src/tidy.rs crates/formats/src/exported.rs

#![no_main]

use etalon_fuzz::{chosen, text};
use formats::{into_experiment, tidy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((_, bytes)) = chosen(data) else { return };
    let Ok(table) = tidy::parse_table(&text(bytes)) else { return };
    let again = tidy::parse_table(&tidy::write_table(&table)).expect("what is written is read");
    assert_eq!(again.rows.len(), table.rows.len());
    if let Ok(imported) = tidy::import_table(&table, "file") {
        let _ = into_experiment("name", &[imported]);
    }
});
