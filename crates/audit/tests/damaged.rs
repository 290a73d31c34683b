//! Damaged tables are refused, or audited to the end.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use audit::{Judgements, TableFacts};
use proptest::prelude::*;

const TABLE: &str = include_str!("../../../docs/audits/sqlserver-2008-backup-compression.csv");

/// The audit in every form, of what can be read.
fn whole_audit(text: &str) {
    let Ok(table) = formats::tidy::parse_table(text) else { return };
    let Ok(facts) = TableFacts::from_table(&table) else { return };
    if let Some(Ok(import)) =
        audit::compared_rows(&facts, &table).map(|table| formats::tidy::import_table(&table, "file"))
    {
        let _ = formats::into_experiment("file", &[import]);
    }
    let audit = audit::audit_table(&facts, "file", &Judgements::default());
    let _ = (audit::text::render(&audit, 80), audit::markdown::render(&audit), audit::json::audit_document(&audit));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn damage_is_refused_or_audited(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), "([0-9]{1,20}|[,;\"\n-]|1e308|nan|±|mean|ratio)"), 1..4),
    ) {
        let mut text = TABLE.to_owned();
        for (at, with) in edits {
            let at = at.index(text.len());
            if text.is_char_boundary(at) {
                text.insert_str(at, &with);
            }
        }
        whole_audit(&text);
    }
}
