//! Handmade evidence.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use model::{
    Absence, Benchmark, Case, ComparisonRules, Direction, Durability, DurabilityTier, Facts, Length, Mark, MarkKind,
    Measurement, NoValue, Order, Plan, PlannedRun, Reading, Role, RunState, Schedule, Series, SeriesKind, SystemPlan,
    Value,
};
use report::Evidence;
use stats::Rng;
use store::{Header, StoredMeasurement, StoredRun};

/// Transactions per second by clients.
pub type Speed = fn(clients: i64) -> f64;

pub struct Builder {
    pub systems: Vec<(String, Speed)>,
    pub clients: Vec<i64>,
    pub rounds: u32,
    pub seconds: u32,
    pub noise: f64,
    pub seed: u64,
    pub benchmark: String,
    pub name: String,
}

pub struct Made {
    pub evidence: Evidence,
    pub series: BTreeMap<i64, Vec<Series>>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            systems: vec![
                ("rollback-journal".to_owned(), |clients| 900.0 * (clients as f64).powf(0.1)),
                ("wal".to_owned(), |clients| 1_250.0 * (clients as f64).powf(0.3)),
            ],
            clients: vec![1, 4],
            rounds: 10,
            seconds: 5,
            noise: 0.02,
            seed: 7,
            benchmark: "select-update".to_owned(),
            name: "quickstart".to_owned(),
        }
    }
}

/// Judged after each round from the sixth on.
pub fn from_the_sixth() -> model::UntilSure {
    model::UntilSure { first: 6, stop: model::Stop::default(), max_time: None, begun: None }
}

/// Box-Muller.
pub fn normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.next_f64(), rng.next_f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Builder {
    pub fn plan(&self) -> Plan {
        let system = |name: &String| SystemPlan {
            name: name.clone(),
            engine: "sqlite".to_owned(),
            url: "sqlite:bench.db".to_owned(),
            settings: BTreeMap::new(),
            server: None,
            volume: None,
            alias_of: None,
            price: None,
            reset: None,
            change: None,
        };
        let point = |clients: &i64| {
            BTreeMap::from([
                ("clients".to_owned(), Value::Int(*clients)),
                ("script".to_owned(), Value::Text("select-update".to_owned())),
                ("rows".to_owned(), Value::Int(100_000)),
            ])
        };
        Plan {
            fleet: None,
            name: self.name.clone(),
            systems: self.systems.iter().map(|(name, _)| system(name)).collect(),
            benchmarks: vec![Benchmark {
                name: self.benchmark.clone(),
                workload: "transactions".to_owned(),
                stands_for: None,
                points: self.clients.iter().map(point).collect(),
                by_default: BTreeSet::new(),
            }],
            schedule: Schedule {
                rounds: self.rounds,
                warmup: std::time::Duration::from_secs(2),
                length: Length::Duration(std::time::Duration::from_secs(u64::from(self.seconds))),
                order: Order::Interleaved,
                seed: 42,
                on_error: model::OnError::Continue,
                until_sure: None,
                caches: model::Caches::Warmed,
            },
            comparison: ComparisonRules {
                baseline: self.systems[0].0.clone(),
                margin: 0.03,
                level: 0.95,
                allow_unequal_durability: false,
                allow_sequential_order: false,
                allow_different_rows: false,
            },
        }
    }

    pub fn build(&self) -> Made {
        let plan = self.plan();
        let cases = plan.cases();
        let mut rng = Rng::new(self.seed);
        let mut made = Made { evidence: empty(plan, cases.clone()), series: BTreeMap::new() };
        let mut position = 0;
        for round in 0..self.rounds {
            let mut order: Vec<u32> = (0..cases.len() as u32).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.draw_below(i + 1));
            }
            let block_level = 1.0 + self.noise * normal(&mut rng);
            for case in order {
                self.run(&mut made, PlannedRun { position, round, case }, block_level, &mut rng);
                position += 1;
            }
        }
        made
    }

    fn run(&self, made: &mut Made, planned: PlannedRun, level: f64, rng: &mut Rng) {
        let case = made.evidence.cases[planned.case as usize].clone();
        let clients = case.point["clients"].as_int().unwrap_or(1);
        let speed = self.systems.iter().find(|(name, _)| *name == case.system).map_or(1.0, |(_, speed)| speed(clients));
        let rate = speed * level * (1.0 + self.noise * 0.7 * normal(rng));
        let id = i64::from(planned.position) + 1;
        let series = series(rate, clients as f64, self.seconds, rng);
        let measurements = measurements(rate, &series.0);
        made.evidence.runs.push(StoredRun {
            id,
            planned,
            attempt: 1,
            state: RunState::Measured,
            reason: None,
            started_unix_ms: Some(1_772_366_400_000 + i64::from(planned.position) * 25_000),
            elapsed_s: f64::from(self.seconds),
        });
        made.evidence.measurements.extend(measurements.into_iter().map(|measurement| StoredMeasurement {
            run_id: id,
            round: planned.round,
            case: planned.case,
            position: planned.position,
            measurement,
        }));
        made.series.insert(id, series.1);
    }
}

pub fn empty(plan: Plan, cases: Vec<Case>) -> Evidence {
    let facts = plan.systems.iter().map(|system| (system.name.clone(), facts(&system.name)));
    let facts: BTreeMap<String, Facts> = facts.chain([("client".to_owned(), client_facts())]).collect();
    Evidence {
        header: Header {
            etalon_version: "0.1.0".to_owned(),
            build: "release".to_owned(),
            created_unix_ms: 1_772_366_400_000,
            plan,
            plan_text: "name = \"quickstart\"\n\n[systems.wal]\nurl = \"sqlite:bench.db\"\n".to_owned(),
            plan_path: Some("quickstart.toml".to_owned()),
            plan_hash: "3f9ac2b471d0e8856b17".to_owned(),
            command: "etalon run quickstart".to_owned(),
        },
        cases,
        runs: Vec::new(),
        superseded: Vec::new(),
        measurements: Vec::new(),
        marks: Vec::new(),
        points: Vec::new(),
        query_plans: Vec::new(),
        facts,
        store: None,
        apart: None,
    }
}

fn facts(system: &str) -> Facts {
    let mut facts = Facts::default();
    facts.record_identity("server.product", "SQLite");
    facts.record_identity("server.version", "3.51.1");
    facts.record_identity("setting.synchronous", "full");
    facts.record_identity("setting.journal_mode", if system.starts_with("wal") { "wal" } else { "delete" });
    facts.record_identity("setting.page_size", "4096");
    facts.record_identity("setting.cache_size", "-2000");
    facts.record_unavailable("setting.mmap_size", "this build of SQLite has no such pragma");
    facts.record_passing("data_directory.path", format!("/var/tmp/etalon/{system}"));
    facts.set_durability(&Durability {
        tier: DurabilityTier::Durable,
        because: "synchronous=full".to_owned(),
        except: None,
    });
    facts
}

fn client_facts() -> Facts {
    let mut facts = Facts::default();
    facts.record_identity("cpu.model", "AMD EPYC 7B13");
    facts.record_identity("cpu.cores", "2");
    facts.record_identity("memory.size", "23 GiB");
    facts.record_identity("os.kernel", "Linux 6.1.0");
    facts.record_identity("clock.source", "tsc");
    facts.record_unavailable("cpu.governor", "the hypervisor does not show it");
    facts.record_passing("load.1min", "0.42");
    facts
}

/// The whole histogram, and one per second.
fn series(rate: f64, clients: f64, seconds: u32, rng: &mut Rng) -> (Histogram<u64>, Vec<Series>) {
    let new = || Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    let mut whole = new();
    let mut all = Vec::new();
    let mean_ns = clients * 1e9 / rate;
    for second in 0..seconds {
        let mut histogram = new();
        let stall = if second % 9 == 7 { 0.8 } else { 1.0 };
        for _ in 0..(rate * stall * (1.0 + 0.03 * normal(rng))).max(1.0) as u32 {
            let shape = (0.35 * normal(rng)).exp() * if rng.next_f64() < 0.004 { 8.0 } else { 0.94 };
            let _ = histogram.record((mean_ns * shape) as u64);
        }
        whole.add(&histogram).unwrap();
        all.push(to_series(&histogram, Some(second), 1_000));
    }
    all.push(to_series(&whole, None, seconds * 1_000));
    (whole, all)
}

pub fn to_series(histogram: &Histogram<u64>, interval: Option<u32>, length_ms: u32) -> Series {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    Series { host: "local".to_owned(), kind: SeriesKind::Response, interval, length_ms, errors: 0, histogram: bytes }
}

fn measurements(rate: f64, histogram: &Histogram<u64>) -> Vec<Measurement> {
    let us = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1e3;
    let lower = |id: &str, role, value| Measurement::value(id, "us", Direction::Lower, role, value);
    vec![
        Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, rate),
        lower("response_p50", Role::Primary, us(0.5)),
        lower("response_p99", Role::Primary, us(0.99)),
        lower("response_p95", Role::Secondary, us(0.95)),
        Measurement::new(
            "server_cpu_per_tx",
            "us",
            Direction::Lower,
            Role::Diagnostic,
            Reading::unavailable("the engine works in the client's own threads"),
        ),
    ]
}

impl Made {
    /// Changes a metric by round, for shapes that noise does not make.
    pub fn change(&mut self, system: &str, metric: &str, change: impl Fn(u32, f64) -> f64) {
        for stored in &mut self.evidence.measurements {
            let is_it =
                self.evidence.cases[stored.case as usize].system == system && stored.measurement.metric.id == metric;
            if let (true, Reading::Value(value)) = (is_it, &mut stored.measurement.reading) {
                *value = change(stored.round, *value);
            }
        }
    }

    /// Makes a metric n/a in some rounds of a system.
    pub fn lack(&mut self, system: &str, metric: &str, rounds: std::ops::Range<u32>) {
        let missing = Absence::Unavailable.with_reason("10 operations beyond it are needed");
        self.lack_because(system, metric, rounds, &missing);
    }

    pub fn lack_because(&mut self, system: &str, metric: &str, rounds: std::ops::Range<u32>, missing: &NoValue) {
        for stored in &mut self.evidence.measurements {
            let is_it =
                self.evidence.cases[stored.case as usize].system == system && stored.measurement.metric.id == metric;
            if is_it && rounds.contains(&stored.round) {
                stored.measurement.reading = Reading::Unavailable(missing.clone());
            }
        }
    }

    /// Puts an attempt that failed before each of the first measured runs of a system.
    pub fn repeat(&mut self, system: &str, mut count: usize, reason: &str) {
        let cases = &self.evidence.cases;
        let of_system = |run: &StoredRun| cases[run.planned.case as usize].system == system;
        let before = self.evidence.runs.len() as i64;
        let mut all = Vec::new();
        for run in self.evidence.runs.drain(..) {
            if !of_system(&run) || count == 0 {
                all.push(run);
                continue;
            }
            count -= 1;
            let failed = StoredRun { id: run.id + before, state: RunState::Failed, ..run.clone() };
            all.push(StoredRun { reason: Some(reason.to_owned()), ..failed });
            all.push(StoredRun { attempt: 2, ..run });
        }
        self.evidence.runs = all;
    }

    pub fn mark(&mut self, position: u32, kind: MarkKind, detail: &str) {
        self.put_mark(position, Mark::new(kind, detail));
    }

    pub fn put_mark(&mut self, position: u32, mark: Mark) {
        self.evidence.marks.push((i64::from(position) + 1, mark));
    }

    pub fn position_of(&self, system: &str) -> u32 {
        let is_it = |t: &&StoredRun| self.evidence.cases[t.planned.case as usize].system == system;
        self.evidence.runs.iter().find(is_it).unwrap().planned.position
    }

    pub fn fail(&mut self, position: u32, reason: &str) {
        self.evidence.runs[position as usize].reason = Some(reason.to_owned());
        self.end(position, RunState::Failed);
    }

    /// Without a result.
    pub fn end(&mut self, position: u32, state: RunState) {
        let run = &mut self.evidence.runs[position as usize];
        run.state = state;
        let id = run.id;
        self.evidence.measurements.retain(|stored| stored.run_id != id);
        self.series.remove(&id);
    }

    pub fn durability(&mut self, system: &str, tier: DurabilityTier, because: &str) {
        let durability = Durability { tier, because: because.to_owned(), except: None };
        self.evidence.facts.entry(system.to_owned()).or_default().set_durability(&durability);
    }
}
