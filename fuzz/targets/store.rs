//! A store that somebody has changed: its cases, plan, measurements and histograms, or any of its bytes; and every report
//! of it.
//!
//! Seeds: crates/store/src/schema_v1.sql

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use etalon_fuzz::chosen;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use libfuzzer_sys::fuzz_target;
use model::plan::ComparisonRules;
use model::{
    Benchmark, Direction, Length, Mark, MarkKind, Measurement, OnError, Order, Plan, PlannedRun, QueryPlan, Role,
    RunRecord, RunState, Schedule, Series, SeriesKind, SystemPlan, Value,
};
use report::gate::GateRules;
use report::{Evidence, MetricFilter, Options};
use rusqlite::Connection;
use store::{Header, Store};
use tempfile::TempDir;

/// What is changed: a table's column.
const PLACES: [(&str, &str); 17] = [
    ("experiment", "plan_json"),
    ("cases", "benchmark"),
    ("cases", "workload"),
    ("cases", "point_json"),
    ("measurements", "metric"),
    ("measurements", "unit"),
    ("measurements", "value"),
    ("measurements", "direction"),
    ("measurements", "role"),
    ("series", "histogram"),
    ("series", "errors"),
    ("series", "interval"),
    ("series", "length_ms"),
    ("marks", "kind"),
    ("runs", "round"),
    ("runs", "elapsed_s"),
    ("runs", "state"),
];

struct Scene {
    _folder: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
}

thread_local! {
    static SCENE: Scene = scene();
}

fuzz_target!(init: SCENE.with(|_| ()), |data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    SCENE.with(|scene| {
        let mut file = scene.bytes.clone();
        if choice & 1 == 1 {
            for change in bytes.chunks_exact(4) {
                let at = usize::from(change[0]) << 8 | usize::from(change[1]);
                file[at % scene.bytes.len()] = change[2];
                file.truncate(file.len() - usize::from(change[3] == 255) * (at % 512).min(file.len() - 1));
                file.resize(scene.bytes.len(), 0);
            }
        }
        fs::write(&scene.path, file).expect("the folder is there");
        if choice & 1 == 0 {
            change(&scene.path, bytes).expect("the store is whole");
        }
        let Ok(store) = Store::open_read_only(&scene.path) else { return };
        let _ = store.pending();
        if let Ok(evidence) = Evidence::read_store(&store) {
            report(&store, &evidence);
        }
    });
});

fn report(store: &Store, evidence: &Evidence) {
    let metrics = MetricFilter::All;
    let set = report::compare(evidence, &Options { metrics, ..Options::default() });
    if let Ok(set) = &set {
        let _ = report::text::render_set(set, &Default::default());
        let _ = (report::markdown::render_comparisons(evidence, set), report::json::make_document(evidence, set));
        let _ = report::gate::render_outcome(&report::gate::judge_gate(set, &GateRules::default()), Default::default());
        let _ = report::html::render_page(evidence, set, store);
    }
    let set = set.ok();
    for family in report::views::FAMILIES {
        let _ = family.render_for_terminal(evidence, set.as_ref(), 80);
    }
    let _ = report::pgbench::render_runs(evidence);
    for one in report::barrel::barrel_reports(evidence, report::barrel::Runs::Together) {
        let _ = report::barrel::render_report(&one);
    }
}

/// Carries out changes: a place, a length, and what stands there afterwards.
fn change(path: &PathBuf, mut bytes: &[u8]) -> rusqlite::Result<()> {
    let store = Connection::open(path)?;
    store
        .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON;")?;
    while let [place, length, rest @ ..] = bytes {
        let (body, after) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = after;
        let (table, column) = PLACES[usize::from(*place) % PLACES.len()];
        let row = 1 + i64::from(*place) / PLACES.len() as i64;
        let text = String::from_utf8_lossy(body);
        let sql = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2 OR (rowid > ?2 AND ?2 > 12)");
        // A strict table refuses what is of another type.
        let _ = match (column, text.parse::<i64>(), text.parse::<f64>()) {
            ("histogram", ..) => store.execute(&sql, (body, row)),
            (_, Ok(whole), _) => store.execute(&sql, (whole, row)),
            (_, _, Ok(real)) => store.execute(&sql, (real, row)),
            _ => store.execute(&sql, (text, row)),
        };
    }
    Ok(())
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.etalon");
    let plan = plan();
    let order = plan.run_order();
    let header = Header {
        etalon_version: "0.1.0".into(),
        build: "release".into(),
        created_unix_ms: 1_763_700_000_000,
        plan_text: String::new(),
        plan_path: None,
        plan_hash: plan.hash(),
        command: "etalon run".into(),
        plan,
    };
    let mut store = Store::create(&path, &header, &order).expect("a store");
    let records: Vec<(PlannedRun, RunRecord)> =
        order.iter().map(|planned| (*planned, record(planned.position))).collect();
    store.store_runs(&records, 1_763_700_000_000).expect("the runs are kept");
    store.close().expect("it is closed");
    let bytes = fs::read(&path).expect("it is there");
    let histogram = histogram(3);
    let place = PLACES.iter().position(|place| place.1 == "histogram").unwrap_or_default() as u8;
    etalon_fuzz::seed(0, &[&[place, histogram.len().min(255) as u8][..], &histogram].concat());
    for (place, (_, column)) in PLACES.iter().enumerate() {
        let text = match *column {
            "plan_json" => serde_json::to_string(&header.plan).unwrap_or_default(),
            "errors" | "length_ms" | "interval" | "round" => "9223372036854775807".to_owned(),
            "value" | "elapsed_s" => "1e308".to_owned(),
            "workload" => "pages".to_owned(),
            _ => "[1e999]".to_owned(),
        };
        etalon_fuzz::seed(0, &[&[place as u8, text.len().min(255) as u8][..], text.as_bytes()].concat());
    }
    Scene { _folder: folder, path, bytes }
}

fn plan() -> Plan {
    let system = |name: &str| SystemPlan {
        name: name.into(),
        engine: "sim".into(),
        url: format!("sim:{name}"),
        settings: BTreeMap::from([("fsync".to_owned(), Value::Bool(true))]),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    };
    let points = [1, 8].map(|n| BTreeMap::from([("clients".to_owned(), Value::Int(n))])).to_vec();
    let workload = "transactions".to_owned();
    Plan {
        fleet: None,
        name: "p".into(),
        systems: vec![system("a"), system("b")],
        benchmarks: vec![Benchmark {
            name: "tpcb".into(),
            workload,
            stands_for: None,
            points,
            by_default: BTreeSet::new(),
        }],
        schedule: Schedule {
            rounds: 6,
            warmup: Duration::from_millis(1500),
            length: Length::Duration(Duration::from_secs(10)),
            order: Order::Interleaved,
            seed: u64::MAX,
            on_error: OnError::Stop,
            until_sure: None,
            caches: model::Caches::Warmed,
        },
        comparison: ComparisonRules {
            baseline: "a".into(),
            margin: 0.03,
            level: 0.95,
            allow_unequal_durability: false,
            allow_sequential_order: false,
            allow_different_rows: false,
        },
    }
}

fn histogram(position: u32) -> Vec<u8> {
    let mut histogram = Histogram::<u64>::new(3).expect("three digits can be had");
    (1..200).for_each(|n| histogram.record(n * 1_000 + u64::from(position)).expect("it resizes itself"));
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("a vector takes all");
    bytes
}

fn record(position: u32) -> RunRecord {
    let value = 1000.0 + f64::from(position * 7 % 5);
    let series = |interval| Series {
        host: "client".into(),
        kind: SeriesKind::Response,
        interval,
        length_ms: 1000,
        errors: u64::from(position % 2),
        histogram: histogram(position),
    };
    RunRecord {
        state: RunState::Measured,
        reason: None,
        began_unix_ms: None,
        elapsed_s: 10.0,
        measurements: vec![
            Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, value),
            Measurement::value("response_p99", "µs", Direction::Lower, Role::Primary, value),
        ],
        series: vec![series(None), series(Some(0)), series(Some(1))],
        marks: vec![Mark::new(MarkKind::Note, "a note")],
        points: Vec::new(),
        query_plans: vec![QueryPlan { query: "q1".to_owned(), text: Ok("Seq Scan on t".to_owned()) }],
    }
}
