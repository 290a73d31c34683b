//! Backups by codec, alone and while transactions run.

use std::collections::BTreeMap;

use model::{Direction, Measurement, Point, Reading, Role, Value};
use store::StoredMeasurement;

use super::subjects::{Subject, set_workload};
use crate::evidence::{Builder, Made, Speed};

const MIB: f64 = 1_048_576.0;
/// Size of the source.
const SIZE_MIB: f64 = 512.0;

/// A codec's share of bytes that stay, MiB a second of backup and restore, CPU seconds of the backup.
const CODECS: [(&str, f64, f64, f64, f64); 3] =
    [("none", 1.0, 410.0, 350.0, 1.1), ("gzip", 0.31, 62.0, 240.0, 8.4), ("zstd", 0.28, 385.0, 360.0, 2.3)];

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn point<const N: usize>(keys: [(&str, Value); N]) -> Point {
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Two systems that run each of these points.
fn of_points(points: Vec<Point>, rounds: u32) -> Made {
    let same: Speed = |_| 1_000.0;
    let builder = Builder {
        systems: vec![("old".to_owned(), same), ("new".to_owned(), same)],
        clients: (1..=points.len() as i64).collect(),
        rounds,
        seconds: 1,
        benchmark: "backup".to_owned(),
        name: "backup-compression".to_owned(),
        ..Builder::default()
    };
    let mut made = builder.build();
    made.series.clear();
    made.evidence.measurements.clear();
    set_workload(&mut made, "backup");
    let of = |old: &Point| points[old["clients"].as_int().unwrap() as usize - 1].clone();
    made.evidence.cases.iter_mut().for_each(|case| case.point = of(&case.point));
    let planned = made.evidence.header.plan.benchmarks.iter_mut().flat_map(|one| &mut one.points);
    planned.for_each(|point| *point = of(point));
    made
}

/// Measures every run by its point and a factor that is near 1 and differs by system and round.
fn measure(made: &mut Made, of: impl Fn(&Point, f64) -> Vec<Measurement>) {
    for run in made.evidence.runs.clone() {
        let (case, round, position) = (run.planned.case, run.planned.round, run.planned.position);
        let of_case = &made.evidence.cases[case as usize];
        let faster = if of_case.system == "new" { 1.12 } else { 1.0 };
        let all = of(&of_case.point, faster * (1.0 + 0.003 * f64::from((position * 7 + round) % 5)));
        let stored = |measurement| StoredMeasurement { run_id: run.id, round, case, position, measurement };
        made.evidence.measurements.extend(all.into_iter().map(stored));
    }
}

fn codec(point: &Point) -> (&'static str, f64, f64, f64, f64) {
    let name = point["codec"].as_text().unwrap().to_owned();
    CODECS.into_iter().find(|(known, ..)| *known == name).unwrap()
}

pub fn backup() -> Subject {
    let points =
        CODECS.map(|(name, ..)| point([("method", text("native")), ("codec", text(name)), ("level", Value::Int(0))]));
    let mut made = of_points(points.to_vec(), 6);
    measure(&mut made, figures);
    // One server's CPU time cannot be read.
    for stored in &mut made.evidence.measurements {
        let is_cpu = stored.measurement.metric.id.starts_with("restore_cpu");
        if is_cpu && made.evidence.cases[stored.case as usize].system == "new" {
            stored.measurement.reading = Reading::unavailable("the server's processes are not étalon's own");
        }
    }
    made.into()
}

fn figures(point: &Point, factor: f64) -> Vec<Measurement> {
    let (name, stays, backup_rate, restore_rate, cpu_s) = codec(point);
    let value = |id: &str, unit: &str, direction, role, value| Measurement::value(id, unit, direction, role, value);
    let (primary, secondary, diagnostic) = (Role::Primary, Role::Secondary, Role::Diagnostic);
    let (higher, lower, neither) = (Direction::Higher, Direction::Lower, Direction::Neither);
    let mut all = vec![
        value("backup_rate", "MiB/s", higher, primary, backup_rate * factor),
        value("backup_cpu_per_gib", "s/GiB", lower, primary, 2.0 * cpu_s / factor),
        value("backup_size", "bytes", lower, primary, SIZE_MIB * MIB * stays),
        value("restore_rate", "MiB/s", higher, primary, restore_rate * factor),
        value("restore_cpu_per_gib", "s/GiB", lower, primary, cpu_s / factor),
        value("backup_time", "s", lower, secondary, SIZE_MIB / backup_rate / factor),
        value("backup_cpu", "s", lower, secondary, cpu_s / factor),
        value("restore_time", "s", lower, secondary, SIZE_MIB / restore_rate / factor),
        value("restore_cpu", "s", lower, secondary, cpu_s / 2.0 / factor),
        value("source_size", "bytes", neither, diagnostic, SIZE_MIB * MIB),
        value("saving", "%", neither, diagnostic, 100.0 * (1.0 - stays)),
        value("rows_verified", "", neither, diagnostic, 1_000_000.0),
    ];
    let classes: &[(&str, f64, f64)] = if name == "none" { &[] } else { &[("data", 480.0, 24.0), ("log", 32.0, 0.0)] };
    for (class, size, zero) in classes.iter().copied() {
        all.push(value(&format!("source_size/{class}"), "bytes", neither, diagnostic, size * MIB));
        all.push(value(&format!("zero_pages/{class}"), "bytes", neither, diagnostic, zero * MIB));
        all.push(value(&format!("saving/{class}"), "%", neither, diagnostic, 100.0 * (1.0 - stays)));
        if zero > 0.0 {
            let rest = 100.0 * (1.0 - stays * size / (size - zero));
            all.push(value(&format!("saving_without_zero_pages/{class}"), "%", neither, diagnostic, rest));
        }
    }
    let grown = |percent: u32| SIZE_MIB * MIB * stays * f64::from(percent) / 100.0;
    let growth = (0..=100)
        .step_by(5)
        .map(|percent| value(&format!("backup_file/{percent:03}"), "bytes", neither, diagnostic, grown(percent)));
    all.extend(growth);
    all
}

/// The load alone, with a backup, and with one that is held to 20 MiB a second.
pub fn backup_under_load() -> Subject {
    let load = |method: &str, codec: &str, rate: i64| {
        let load = [("load.script", text("tpcb-like")), ("load.clients", Value::Int(4))];
        let backup = [("method", text(method)), ("codec", text(codec)), ("max_rate_mib_s", Value::Int(rate))];
        [point(load), point(backup)].into_iter().flatten().collect::<BTreeMap<_, _>>()
    };
    let points = vec![load("none", "none", 0), load("native", "zstd", 0), load("native", "zstd", 20)];
    let mut made = of_points(points, 6);
    measure(&mut made, |point, factor| {
        let is_alone = point["method"].as_text() == Some("none");
        let slowed = match (is_alone, point["max_rate_mib_s"].as_int()) {
            (true, _) => 1.0,
            (false, Some(0)) => 0.61,
            (false, _) => 0.93,
        };
        let lower = |id: &str, us: f64| Measurement::value(id, "us", Direction::Lower, Role::Primary, us);
        let mut all = vec![
            Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, 2_400.0 * slowed * factor),
            lower("response_p50", 1_500.0 / slowed / factor),
            lower("response_p99", 9_000.0 / slowed / slowed / factor),
        ];
        if !is_alone {
            all.extend(figures(point, factor));
        }
        all
    });
    made.into()
}
