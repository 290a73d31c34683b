//! The whole audit of a table that somebody else wrote.
//!
//! Seeds: docs/audits docs/audit.md crates/formats/src/tidy.rs crates/audit/src

#![no_main]

use audit::Facts;
use etalon_fuzz::{chosen, text};
use formats::tidy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((_, bytes)) = chosen(data) else { return };
    let Ok(table) = tidy::parse(&text(bytes)) else { return };
    let Ok(facts) = Facts::read(&table) else { return };
    let audit = audit::audit(&facts, "file");
    let _ = (audit::text::render(&audit, 80), audit::markdown::render(&audit), audit::json::document(&audit));
});
