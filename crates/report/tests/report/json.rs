//! The JSON matches the checked-in schema.

use std::collections::BTreeSet;
use std::path::PathBuf;

use report::json::{document_schema, make_document};
use report::{MetricFilter, Options, compare};

use crate::evidence::{Builder, Made};

fn schema_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/comparison.schema.json")
}

#[test]
fn the_checked_in_schema_is_that_of_the_structs() {
    let mut now = serde_json::to_string_pretty(&document_schema()).unwrap();
    now.push('\n');
    let path = schema_path();
    if std::env::var_os("ETALON_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &now).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == now,
        "the schema has changed: raise SCHEMA_VERSION if a field went, and run with ETALON_BLESS=1"
    );
}

#[test]
fn every_document_keeps_to_the_schema() {
    let validator = jsonschema::validator_for(&document_schema()).unwrap();
    let mut eventful = Builder::default().build();
    eventful.fail(0, "killed");
    eventful.mark(5, model::MarkKind::ClientSaturated, "busy");
    let mut nothing = Builder { rounds: 1, ..Builder::default() }.build();
    (0..4).for_each(|position| nothing.fail(position, "no route to host"));
    let few = Builder { rounds: 3, ..Builder::default() }.build();
    let mut backups = Builder::default().build();
    backups.evidence.cases.iter_mut().for_each(|case| case.workload = "backup".to_owned());
    let mut pages = Builder::default().build();
    pages.evidence = crate::pages::published();
    let spatial = crate::published::queries(6, &[("S2-area", 10.0, Ok(4.0))], &["elapsed", "published", "cpu"]);
    let disk = crate::disk::volumes("random", "iops", "io/s");
    let kinds = |made: &Made| {
        let set = compare(&made.evidence, &Options { metrics: MetricFilter::All, ..Options::default() }).unwrap();
        let value = serde_json::to_value(make_document(&made.evidence, &set)).unwrap();
        value["views"].as_array().unwrap().iter().map(|view| view["kind"].as_str().unwrap().to_owned()).collect()
    };
    let found: Vec<BTreeSet<String>> = [&backups, &pages, &spatial, &disk].map(kinds).into();
    let expected =
        [["bars", "series", "table"].as_slice(), &["bars", "table"], &["bars", "table"], &["bars", "curve", "table"]];
    for (found, expected) in found.iter().zip(expected) {
        assert!(expected.iter().all(|kind| found.contains(*kind)), "{found:?}");
    }
    for made in [Builder::default().build(), eventful, nothing, few, backups, pages, spatial, disk] {
        for metrics in [MetricFilter::Primary, MetricFilter::All] {
            let set = compare(&made.evidence, &Options { metrics, ..Options::default() }).unwrap();
            let value = serde_json::to_value(make_document(&made.evidence, &set)).unwrap();
            let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
        }
    }
}
