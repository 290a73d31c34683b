//! The evidences that are held as goldens: one for each thing that a report can have to say.

use std::collections::BTreeMap;

use model::facts::{IMPORT_NOTES, IMPORT_SOURCE, IMPORT_TOOL, ISOLATION, ISOLATION_ALLOWS};
use model::metric::{CAPACITY, FAILED_SHARE};
use model::{
    Absence, Begun, Direction, DurabilityTier, Facts, LoadPoint, Mark, MarkKind, Measurement, NoValue, Order, Point,
    Price, Promise, Reading, Role, RunState, Value,
};
use report::barrel::Runs;
use report::cross_experiment::join_stores;
use report::{Options, Pairing};
use store::StoredMeasurement;

pub use super::backups::{backup, backup_under_load};
use crate::evidence::{Builder, Made, Speed, from_the_sixth};

/// An evidence, how it is compared, and forms that only it has.
pub struct Subject {
    pub made: Made,
    pub options: Options,
    pub more: Vec<(&'static str, String)>,
}

impl From<Made> for Subject {
    fn from(made: Made) -> Subject {
        Subject { made, options: Options::default(), more: Vec::new() }
    }
}

impl From<report::Evidence> for Subject {
    fn from(evidence: report::Evidence) -> Subject {
        Made { evidence, series: BTreeMap::new() }.into()
    }
}

/// Two systems at these numbers of clients, without response times a second, which fill a file.
fn small(clients: &[i64], rounds: u32) -> Made {
    let mut made = Builder { clients: clients.to_vec(), rounds, seconds: 2, ..Builder::default() }.build();
    made.series.clear();
    made
}

fn named(systems: &[(&str, Speed)], clients: &[i64], rounds: u32) -> Made {
    let systems = systems.iter().map(|(name, speed)| ((*name).to_owned(), *speed)).collect();
    let mut made = Builder { systems, clients: clients.to_vec(), rounds, seconds: 2, ..Builder::default() }.build();
    made.series.clear();
    made
}

const SLOW: Speed = |_| 1_000.0;
const FAST: Speed = |_| 1_300.0;

/// Adds a measurement to each run; a reading may depend on system and round.
pub fn add(
    made: &mut Made,
    id: &str,
    unit: &str,
    (direction, role): (Direction, Role),
    read: impl Fn(&str, u32) -> Reading,
) {
    for run in made.evidence.runs.iter().filter(|run| run.state == RunState::Measured) {
        let (case, round, position) = (run.planned.case, run.planned.round, run.planned.position);
        let system = &made.evidence.cases[case as usize].system;
        let measurement = Measurement::new(id, unit, direction, role, read(system, round));
        made.evidence.measurements.push(StoredMeasurement { run_id: run.id, round, case, position, measurement });
    }
}

/// Changes the points of all cases, of the plan's, too.
pub fn change_points(made: &mut Made, change: impl Fn(&mut Point)) {
    let evidence = &mut made.evidence;
    evidence.cases.iter_mut().for_each(|case| change(&mut case.point));
    evidence.header.plan.benchmarks.iter_mut().flat_map(|one| &mut one.points).for_each(change);
}

pub fn set_workload(made: &mut Made, workload: &str) {
    made.evidence.cases.iter_mut().for_each(|case| workload.clone_into(&mut case.workload));
    made.evidence.header.plan.benchmarks.iter_mut().for_each(|one| workload.clone_into(&mut one.workload));
}

pub fn two_systems() -> Subject {
    Builder { clients: vec![1, 4, 16], seconds: 3, ..Builder::default() }.build().into()
}

pub fn three_systems() -> Subject {
    named(&[("a", |_| 900.0), ("b", |_| 1_300.0), ("c", |clients| 1_100.0 + 40.0 * clients as f64)], &[1, 4], 8).into()
}

pub fn single_system() -> Subject {
    let mut builder = Builder { rounds: 6, clients: vec![1, 4, 16], seconds: 2, ..Builder::default() };
    builder.systems.truncate(1);
    builder.build().into()
}

pub fn a_a() -> Subject {
    let mut made = named(&[("wal (A)", SLOW), ("wal (B)", SLOW)], &[1, 4], 10);
    made.evidence.header.plan.systems[1].alias_of = Some("wal (A)".to_owned());
    made.evidence.header.command = "etalon run quickstart --aa".to_owned();
    made.evidence.facts.remove("wal (B)");
    made.into()
}

/// Within the margin, and with a row that is not sure.
pub fn equal_systems() -> Subject {
    let mut made = Builder {
        systems: vec![("old".to_owned(), SLOW), ("new".to_owned(), |_| 1_004.0)],
        clients: vec![4],
        noise: 0.005,
        seconds: 2,
        ..Builder::default()
    }
    .build();
    made.series.clear();
    made.change("new", "response_p99", |round, value| value * if round.is_multiple_of(2) { 1.3 } else { 0.8 });
    made.into()
}

pub fn unequal_durability() -> Subject {
    let mut made = small(&[1, 4], 10);
    made.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    made.evidence.header.build = "debug".to_owned();
    made.into()
}

/// All runs of one side, then all of the other.
pub fn sequential() -> Subject {
    let mut made = small(&[1, 4], 6);
    let evidence = &mut made.evidence;
    evidence.header.plan.schedule.order = Order::Sequential;
    let place = |case: u32| (evidence.cases[case as usize].system.clone(), case);
    evidence.runs.sort_by_key(|run| (place(run.planned.case), run.planned.round));
    for (position, run) in (0..).zip(&mut evidence.runs) {
        run.planned.position = position;
        run.started_unix_ms = Some(1_772_366_400_000 + i64::from(position) * 25_000);
    }
    let positions: BTreeMap<i64, u32> = evidence.runs.iter().map(|run| (run.id, run.planned.position)).collect();
    evidence.measurements.iter_mut().for_each(|stored| stored.position = positions[&stored.run_id]);
    made.into()
}

pub fn failed() -> Subject {
    let mut made = small(&[1, 4], 10);
    made.fail(made.position_of("wal"), "the server closed the connection unexpectedly");
    made.fail(39, "no route to host");
    made.into()
}

/// Operations fail on one side, and it is not known of the other's last round.
pub fn shares_of_failures() -> Subject {
    let mut made = small(&[4], 10);
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "response_p95" {
            stored.measurement.metric.role = Role::Primary;
        }
    }
    let share = |system: &str, round: u32| match system {
        "wal" => Reading::Value(3.0 + f64::from(round % 3) / 10.0),
        _ => Reading::Value(0.0),
    };
    add(&mut made, FAILED_SHARE, "%", (Direction::Lower, Role::Primary), share);
    made.into()
}

/// Some runs have no p99, and one side has none at all of another metric.
pub fn missing() -> Subject {
    let mut made = small(&[1, 4], 10);
    made.lack_because("wal", "response_p99", 0..3, &NoValue::too_few(1_000, "transactions in the run"));
    let read = |system: &str, round: u32| match (system, round) {
        ("wal", _) => Reading::Unavailable(Absence::Unsupported.with_reason("no counter tells it")),
        (_, 0) => Reading::Unavailable(Absence::Failed.with_reason("permission denied")),
        _ => Reading::Value(4.0 + f64::from(round) / 10.0),
    };
    add(&mut made, "server_reads", "/tx", (Direction::Lower, Role::Primary), read);
    made.into()
}

pub fn repeated() -> Subject {
    let mut made = small(&[4], 10);
    made.repeat("wal", 7, "deadlock detected");
    made.into()
}

/// `etalon resume` was interrupted in a repetition, and a run was cut off before it had a result.
pub fn cut_off() -> Subject {
    let mut made = small(&[1, 4], 10);
    let first = made.evidence.runs[0].clone();
    let reason = Some("interrupted by the user".to_owned());
    made.evidence.runs.push(store::StoredRun {
        id: 41,
        attempt: 2,
        state: RunState::Aborted,
        reason: reason.clone(),
        ..first
    });
    made.evidence.runs[38].reason = reason;
    made.end(38, RunState::Aborted);
    made.into()
}

pub fn unfinished() -> Subject {
    let mut made = small(&[1, 4], 10);
    (26..40).for_each(|position| made.end(position, RunState::Planned));
    made.into()
}

pub fn looks() -> Subject {
    let mut made = small(&[1, 4], 8);
    made.evidence.header.plan.schedule.rounds = 60;
    made.evidence.header.plan.schedule.until_sure = Some(from_the_sixth());
    made.change("wal", "response_p99", |round, value| value * if round.is_multiple_of(2) { 1.4 } else { 1.0 });
    made.into()
}

/// Begun with seven rounds, and extended until `max_time` was over.
pub fn extended() -> Subject {
    let Subject { mut made, .. } = looks();
    let until = made.evidence.header.plan.schedule.until_sure.as_mut().unwrap();
    until.begun = Some(Begun { rounds: 7, stop: None, max_time: None });
    until.max_time = Some(std::time::Duration::from_secs(600));
    made.into()
}

/// A promise of 20 ms and a price on each side; a search of the larger system found nothing.
pub fn capacity() -> Subject {
    let systems: [(&str, Speed); 2] = [("small", |_| 4_000.0), ("large", |_| 6_600.0)];
    let mut made = Builder { seconds: 1, ..builder(&systems, &[64], 6) }.build();
    made.series.clear();
    for (system, per_hour) in made.evidence.header.plan.systems.iter_mut().zip([0.1, 0.22]) {
        system.price = Some(Price { per_hour, currency: "EUR".to_owned() });
    }
    change_points(&mut made, |point| {
        point.insert(Promise::RESPONSE_P99.to_owned(), Value::Text("20ms".to_owned()));
    });
    let prices = made.evidence.header.plan.systems.clone();
    let rates: Vec<(i64, u32, f64)> = made
        .evidence
        .measurements
        .iter()
        .filter(|one| one.measurement.metric.id == "throughput")
        .map(|one| (one.run_id, one.case, one.measurement.reading.value().unwrap()))
        .collect();
    made.evidence.measurements.iter_mut().for_each(|one| one.measurement.metric.role = Role::Diagnostic);
    for (run, case, rate) in rates {
        let price = prices[case as usize].price.as_ref().unwrap();
        made.evidence.points.extend(tried(rate).map(|point| (run, point)));
        let stored = made.evidence.measurements.iter().find(|one| one.run_id == run).unwrap().clone();
        let found = [
            (CAPACITY.to_owned(), "tx/s", rate),
            (format!("{CAPACITY}_per_EUR"), "tx/EUR", price.operations_bought(rate)),
        ];
        made.evidence.measurements.extend(found.map(|(id, unit, value)| {
            let measurement = Measurement::value(&id, unit, Direction::Higher, Role::Primary, value);
            StoredMeasurement { measurement, ..stored.clone() }
        }));
    }
    made.into()
}

fn builder(systems: &[(&str, Speed)], clients: &[i64], rounds: u32) -> Builder {
    let systems = systems.iter().map(|(name, speed)| ((*name).to_owned(), *speed)).collect();
    Builder { systems, clients: clients.to_vec(), rounds, ..Builder::default() }
}

/// Short runs below and above what a search found.
fn tried(found: f64) -> impl Iterator<Item = LoadPoint> {
    [None, Some(0.5), Some(0.9), Some(1.0), Some(1.05)].into_iter().map(move |share| {
        let late = share.map_or(0.2, |share| if share > 1.0 { 0.031 } else { 0.004 * share });
        LoadPoint {
            rate: share.map(|share| share * found),
            clients: None,
            throughput: share.map_or(1.1, |share| share.min(1.02)) * found,
            response_p50_us: Some(2_000.0 * share.map_or(5.0, |share| 1.0 + share)),
            response_p99_us: Some(
                share.map_or(61_000.0, |share| if share > 1.0 { 34_000.0 } else { 5_000.0 + 14_000.0 * share }),
            ),
            late_share: late,
            failed_share: 0.0,
            is_kept: share.map(|share| share <= 1.0),
            is_client_saturated: false,
        }
    })
}

pub fn disk() -> Subject {
    let mut made = crate::disk::volumes("random", "iops", "io/s");
    made.series.clear();
    set_workload(&mut made, "disk");
    made.mark(made.position_of("4 KB"), MarkKind::ServedByCache, "the devices read 3 % of the bytes");
    made.evidence.facts.get_mut("client").unwrap().record_identity("virtualisation", "kvm");
    made.into()
}

pub fn hosts() -> Subject {
    let mut made = crate::hosts::two_hosts();
    made.series.clear();
    made.into()
}

/// Every mark, in one or more runs of one side, but those of commits, by which the sides would be unequal.
pub fn marks() -> Subject {
    let mut made = small(&[1, 4], 12);
    let of_wal = |run: &&store::StoredRun| made.evidence.cases[run.planned.case as usize].system == "wal";
    let positions: Vec<u32> = made.evidence.runs.iter().filter(of_wal).map(|run| run.planned.position).collect();
    let kinds = MarkKind::ALL.into_iter().filter(|kind| kind.promised_durability().is_none());
    for (kind, position) in kinds.zip(positions.into_iter().cycle()) {
        made.mark(position, kind, &format!("what a run says of {}", kind.as_str()));
    }
    made.into()
}

pub fn disturbed() -> Subject {
    let mut made = small(&[4], 10);
    crate::disturbance::load(&mut made, "rollback-journal", "", |_| Reading::Value(0.2));
    crate::disturbance::load(&mut made, "wal", "", |round| Reading::Value(if round == 3 { 1.4 } else { 1.0 }));
    made.mark(made.position_of("wal"), MarkKind::MachinePower, "battery");
    made.into()
}

pub fn two_stores() -> Subject {
    let (first, _) = crate::cross_experiment::day(1, &[("pg", SLOW), ("maria", SLOW)], &[1, 4]);
    let (mut second, _) = crate::cross_experiment::day(8, &[("pg", FAST)], &[1, 4]);
    second.evidence.header.etalon_version = "0.2.0".to_owned();
    second.evidence.header.plan.schedule.warmup *= 10;
    second.evidence.facts.get_mut("client").unwrap().record_identity("kernel.version", "6.99");
    join_stores(&[first, second]).unwrap().into()
}

pub fn pages() -> Subject {
    let mut evidence = crate::pages::published();
    evidence.facts.clear();
    let made: Subject = evidence.into();
    Subject {
        options: Options {
            pairing: Pairing::Unpaired,
            min_rounds: 5,
            metrics: report::MetricFilter::All,
            ..Options::default()
        },
        ..made
    }
}

pub fn spatial() -> Subject {
    let no_function = "FUNCTION ST_IsValid does not exist";
    let no_total = format!("no total without S1, unsupported: {no_function}");
    let asked = [
        ("S1-valid", 10.0, Err(Absence::Unsupported.with_reason(no_function))),
        ("S2-area", 10.0, Ok(4.0)),
        ("S4-inside", 8.0, Ok(9.0)),
        ("S11-within", 10.0, Err(Absence::Wrong.with_reason("pairs: expected 56, got 53"))),
        ("suite", 38.0, Err(Absence::Unavailable.with_reason(no_total))),
    ];
    let mut made = crate::published::queries(6, &asked, &["elapsed", "published", "cpu"]);
    made.series.clear();
    made.evidence.header.plan.benchmarks[0].workload = "spatial".to_owned();
    made.evidence.measurements.retain(|one| one.measurement.metric.id.contains('/'));
    for stored in &mut made.evidence.measurements {
        if let Reading::Value(value) = &mut stored.measurement.reading {
            *value *= 1.0 + 0.004 * f64::from((7 * stored.round + stored.position) % 5);
        }
    }
    made.into()
}

pub fn order_entry() -> Subject {
    let mut evidence = crate::order_entry::with_figures(6);
    for (system, level) in [("rollback-journal", "serializable"), ("wal", "read committed")] {
        let facts = evidence.facts.entry(system.to_owned()).or_default();
        facts.record_passing(ISOLATION, level);
        facts
            .record_passing(ISOLATION_ALLOWS, if system == "wal" { "lost updates and phantoms" } else { "no anomaly" });
    }
    for stored in &mut evidence.measurements {
        let metric = &mut stored.measurement.metric;
        match metric.id.as_str() {
            "nopm" => (metric.role, metric.direction) = (Role::Primary, Direction::Higher),
            "response_p90_new-order" => (metric.role, metric.direction) = (Role::Primary, Direction::Lower),
            _ => {}
        }
    }
    evidence.into()
}

/// Queries of which one has lost its index, and one is answered by a cache.
pub fn queries() -> Subject {
    let mut made = crate::answers::queries(|_, _| 8.0);
    made.series.clear();
    crate::answers::add_plans(&mut made, |system, query, round| match (system, query) {
        ("wal", "q2") => Ok("SCAN orders"),
        (_, "q2") if round == 0 => Ok("SCAN orders\nUSE TEMP B-TREE FOR GROUP BY"),
        (_, "q2") => Ok("SEARCH orders USING INDEX by_customer (customer=?)\nUSE TEMP B-TREE FOR GROUP BY"),
        _ => Ok("SCAN orders"),
    });
    made.into()
}

pub fn barrel() -> Subject {
    let mut evidence = crate::barrel::evidence(&[
        ("throughput", [150.0, 250.0]),
        ("throughput_update_index", [50.0, 100.0]),
        ("throughput_select_index", [100.0, 150.0]),
        ("response_max_select_index", [9_000.0, 12_345.0]),
        ("response_min_select_index", [21.0, 17.5]),
        ("response_p50_select_index", [40.0, 60.0]),
        ("connect_max", [3_000.0, 2_000.0]),
        ("connect_min", [800.0, 900.0]),
        ("connect_mean", [1_000.0, 1_200.0]),
    ]);
    evidence.marks.push((1, Mark::new(MarkKind::ClientSaturated, "the client's 2 threads were busy".to_owned())));
    let printed = |runs| {
        report::barrel::barrel_reports(&evidence, runs).iter().map(report::barrel::render_report).collect::<String>()
    };
    let more = vec![
        ("together.txt", printed(Runs::Together) + &report::barrel::footnote(&evidence)),
        ("each.txt", printed(Runs::Each)),
        ("pgbench.txt", report::pgbench::render_runs(&evidence)),
    ];
    Subject { more, ..evidence.into() }
}

/// Files of another tool: no rounds, no times, five repetitions against six, and facts that it does not tell.
pub fn imported() -> Subject {
    let mut made = named(&[("before", SLOW), ("after", FAST)], &[8], 6);
    let evidence = &mut made.evidence;
    evidence.header.build = report::evidence::IMPORTED.to_owned();
    evidence.header.command = "etalon import pgbench before.log after.log".to_owned();
    evidence.header.plan.schedule.order = Order::Sequential;
    evidence.header.plan.schedule.warmup = std::time::Duration::ZERO;
    evidence.header.plan.systems.iter_mut().for_each(|system| "imported".clone_into(&mut system.engine));
    evidence.facts.clear();
    for system in ["before", "after"] {
        let mut facts = Facts::default();
        facts.record_passing(IMPORT_TOOL, "pgbench (PostgreSQL) 15.14");
        facts.record_passing(IMPORT_SOURCE, format!("{system}.log"));
        facts.record_passing(IMPORT_NOTES, "the order of the repetitions is not known");
        facts.record_unavailable("imported.server_version", format!("{system}.log does not tell it"));
        evidence.facts.insert(system.to_owned(), facts);
    }
    for run in &mut evidence.runs {
        run.started_unix_ms = Some(evidence.header.created_unix_ms);
        run.elapsed_s = 0.0;
    }
    let last =
        evidence.runs.iter().find(|run| run.planned.round == 5 && run.planned.case == 0).unwrap().planned.position;
    made.end(last, RunState::Planned);
    let more = vec![("pgbench.txt", report::pgbench::render_runs(&made.evidence))];
    let options = Options { pairing: Pairing::Unpaired, ..Options::default() };
    Subject { options, more, ..made.into() }
}

/// Response times against the limits of attention.
pub fn limits() -> Subject {
    crate::published::tasks().into()
}

pub fn nothing_measured() -> Subject {
    let mut made = small(&[1], 1);
    made.fail(0, "no route to host");
    made.fail(1, "no route to host");
    made.evidence.facts.clear();
    made.into()
}
