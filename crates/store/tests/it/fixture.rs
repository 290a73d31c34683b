//! A plan, an order and records that follow from a run's position.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use model::plan::ComparisonRules;
use model::{
    Benchmark, Direction, Length, Mark, MarkKind, Measurement, OnError, Order, Plan, PlannedRun, Reading, Role,
    RunRecord, RunState, Schedule, Series, SeriesKind, SystemPlan, Value,
};
use store::{Header, Store};

pub fn system(name: &str) -> SystemPlan {
    SystemPlan {
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
    }
}

/// Two systems, three points: six cases.
pub fn plan() -> Plan {
    let points = [1, 8, 32].map(|n| BTreeMap::from([("clients".to_owned(), Value::Int(n))])).to_vec();
    Plan {
        fleet: None,
        name: "p".into(),
        systems: vec![system("a"), system("b")],
        benchmarks: vec![Benchmark {
            name: "tpcb".into(),
            workload: "tpcb".into(),
            stands_for: None,
            points,
            by_default: BTreeSet::new(),
        }],
        schedule: Schedule {
            rounds: 10,
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

pub fn header(plan: Plan) -> Header {
    Header {
        etalon_version: "0.1.0".into(),
        build: "debug".into(),
        created_unix_ms: 1_763_700_000_000,
        plan,
        plan_text: "name = \"p\"\n".into(),
        plan_path: Some("p.toml".into()),
        plan_hash: "00ff".into(),
        command: "etalon run p.toml".into(),
    }
}

/// Every case in every round, the cases of odd rounds backwards.
pub fn order(cases: u32, rounds: u32) -> Vec<PlannedRun> {
    (0..rounds * cases)
        .map(|position| {
            let (round, place) = (position / cases, position % cases);
            let case = if round % 2 == 0 { place } else { cases - 1 - place };
            PlannedRun { position, round, case }
        })
        .collect()
}

pub fn create(path: &Path, rounds: u32) -> Store {
    Store::create(path, &header(plan()), &order(6, rounds)).unwrap()
}

/// A measured run's record of about `bytes`, the same each time for the same position.
pub fn record(position: u32, bytes: usize) -> RunRecord {
    let value = f64::from(position) * 1.1;
    let gone = Reading::unavailable("not on this engine");
    let series = (0..4).map(|n| Series {
        host: "client".into(),
        kind: if n % 2 == 0 { SeriesKind::Response } else { SeriesKind::Service },
        interval: (n > 1).then_some(position),
        length_ms: 1000,
        errors: u64::from(position),
        histogram: noise(u64::from(position) * 4 + n, bytes / 4),
    });
    RunRecord {
        state: RunState::Measured,
        reason: None,
        began_unix_ms: None,
        elapsed_s: 1.0 + value,
        measurements: vec![
            Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, value),
            Measurement::new("cache_hits", "", Direction::Neither, Role::Diagnostic, gone),
        ],
        series: series.collect(),
        marks: vec![Mark::new(MarkKind::Note, format!("position {position}"))],
        points: Vec::new(),
        query_plans: Vec::new(),
    }
}

/// Bytes that no file system can compress.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Copies files as another process does: if this one did it, closing the file would drop SQLite's locks.
pub fn copy_from_outside(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

pub fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs this test binary again, for the one test of that name, with a task in the environment.
pub fn again(test: &str, variable: &str, task: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(variable, task);
    command
}
