//! The whole audit of a table that somebody else wrote, and what of it is compared.
//!
//! Seeds: docs/audits docs/audit.md crates/formats/src/tidy.rs crates/audit/src

#![no_main]

use audit::{Judgements, TableFacts};
use etalon_fuzz::{chosen, text};
use formats::tidy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((_, bytes)) = chosen(data) else { return };
    let Ok(table) = tidy::parse_table(&text(bytes)) else { return };
    let Ok(facts) = TableFacts::from_table(&table) else { return };
    if let Some(Ok(import)) = audit::compared_rows(&facts, &table).map(|rows| tidy::import_table(&rows, "file")) {
        let _ = formats::into_experiment("file", &[import]);
    }
    let audit = audit::audit_table(&facts, "file", &Judgements::default());
    let _ = (audit::text::render(&audit, 80), audit::markdown::render(&audit), audit::json::audit_document(&audit));
});
