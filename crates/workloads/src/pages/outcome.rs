//! From what was found out to what a run leaves behind.

use model::{Direction, Measurement, Reading, Role};

use super::account::{Figure, FileClass, IoAccount, IoPlace};
use super::dialect::WrittenBy;
use super::procedure::PagesFound;
use crate::step::StepOutcome;
use crate::system::OsIo;

const MIB: f64 = 1_048_576.0;

/// Combines two readings into one; if one is unavailable, its reason stands.
fn both_readings(a: &Reading, b: &Reading, of: impl FnOnce(f64, f64) -> Reading) -> Reading {
    match (a, b) {
        (Reading::Value(a), Reading::Value(b)) => of(*a, *b),
        (unknown @ Reading::Unavailable(_), _) | (_, unknown) => unknown.clone(),
    }
}

/// Ratio of two readings; unavailable with the reason `nothing` if the second is 0.
fn ratio_or(a: &Reading, b: &Reading, nothing: &str) -> Reading {
    both_readings(a, b, |a, b| if b > 0.0 { Reading::Value(a / b) } else { Reading::unavailable(nothing) })
}

/// Multiplies a reading by a factor.
fn scale_reading(reading: Reading, factor: f64) -> Reading {
    match reading {
        Reading::Value(value) => Reading::Value(value * factor),
        unknown => unknown,
    }
}

/// Makes the step's outcome with all of its measurements.
pub(super) fn step_outcome(found: PagesFound) -> StepOutcome {
    let insert_s = found.inserted.elapsed_ns as f64 / 1e9;
    let elapsed_s =
        both_readings(&found.flush_s, &Reading::Value(insert_s), |flush, insert| Reading::Value(flush + insert));
    let mut all = headline(&found, insert_s, &elapsed_s);
    add_latencies(&found.engine, found.statements as f64, &mut all);
    add_operating_system(&found, &mut all);
    all.extend(found.files.iter().map(|(class, size)| diagnostic("file_size", class.as_str(), "bytes", size.clone())));
    for class in FileClass::ALL {
        for figure in Figure::ALL {
            let reading = found.engine.class_sum(class, figure);
            all.push(diagnostic(figure.as_str(), class.as_str(), figure.unit(), reading));
        }
    }
    if let Some(totals) = &found.totals {
        for class in [FileClass::Data, FileClass::Log] {
            for figure in &Figure::ALL[..6] {
                let family = format!("{}_total", figure.as_str());
                all.push(diagnostic(&family, class.as_str(), figure.unit(), totals.class_sum(class, *figure)));
            }
        }
    }
    found.engine.places.iter().for_each(|place| add_details(place, &mut all));
    let elapsed_s = match elapsed_s {
        Reading::Value(elapsed_s) => elapsed_s,
        Reading::Unavailable(_) => insert_s,
    };
    let series = found.inserted.collector.into_series("local", found.inserted.elapsed_ns);
    StepOutcome { elapsed_s, measurements: all, series, marks: found.marks, ..StepOutcome::default() }
}

/// Makes the measurements that are compared first: rates, times and sizes.
fn headline(found: &PagesFound, insert_s: f64, elapsed_s: &Reading) -> Vec<Measurement> {
    use Direction::{Higher, Lower, Neither};
    let commits = found.statements as f64;
    let response = &found.inserted.collector.response;
    let new = Measurement::new;
    let value = Reading::Value;
    let log_bytes = match &found.engine.log_bytes {
        Some(made) => made.clone(),
        None => found.engine.class_sum(FileClass::Log, Figure::WriteBytes),
    };
    vec![
        new("commits", "commits/s", Higher, Role::Primary, value(commits / insert_s.max(1e-9))),
        new("elapsed", "s", Lower, Role::Primary, elapsed_s.clone()),
        new("insert", "s", Lower, Role::Secondary, value(insert_s)),
        new("flush", "s", Lower, Role::Secondary, found.flush_s.clone()),
        new("log_per_commit", "bytes", Lower, Role::Secondary, scale_reading(log_bytes, 1.0 / commits)),
        new("response_p50", "us", Lower, Role::Secondary, response.quantile_reading(0.5, "statements in the run")),
        new("response_p99", "us", Lower, Role::Secondary, response.quantile_reading(0.99, "statements in the run")),
        new("cpu_per_commit", "us", Lower, Role::Secondary, scale_reading(found.cpu_s.clone(), 1e6 / commits)),
        new("statements", "", Neither, Role::Diagnostic, value(commits)),
        new("rows", "", Neither, Role::Diagnostic, value(commits * found.rows as f64)),
        new("page_size", "bytes", Neither, Role::Diagnostic, value(found.page_bytes as f64)),
        new("row_size", "bytes", Neither, Role::Diagnostic, found.row_bytes.clone()),
    ]
}

/// Makes a diagnostic measurement of one place, named `family/place`.
fn diagnostic(family: &str, place: &str, unit: &str, reading: Reading) -> Measurement {
    Measurement::new(&format!("{family}/{place}"), unit, Direction::Neither, Role::Diagnostic, reading)
}

/// Adds average latencies of reads, writes and syncs, per operation and per MiB.
///
/// The latter compares engines that write pieces of different sizes.
fn add_latencies(engine: &IoAccount, commits: f64, all: &mut Vec<Measurement>) {
    let kinds = [
        ("avg_read", "mib_read", Figure::ReadStall, Figure::Reads, Some(Figure::ReadBytes)),
        ("avg_write", "mib_write", Figure::WriteStall, Figure::Writes, Some(Figure::WriteBytes)),
        ("avg_sync", "", Figure::SyncStall, Figure::Syncs, None),
    ];
    for class in [FileClass::Data, FileClass::Log] {
        add_waits(engine, class, commits, all);
    }
    for (per_operation, per_mib, stall, count, bytes) in kinds {
        for class in [FileClass::Data, FileClass::Log] {
            let none = format!("there were no {}", count.as_str());
            all.push(class_measurement(
                per_operation,
                class,
                "ms",
                ratio_or(&engine.class_sum(class, stall), &engine.class_sum(class, count), &none),
            ));
            if let Some(bytes) = bytes {
                let mib = scale_reading(engine.class_sum(class, bytes), 1.0 / MIB);
                all.push(class_measurement(
                    per_mib,
                    class,
                    "ms/MiB",
                    ratio_or(&engine.class_sum(class, stall), &mib, &none),
                ));
            }
        }
    }
}

/// Makes a secondary measurement of a file class, of which less is better.
fn class_measurement(family: &str, class: FileClass, unit: &str, reading: Reading) -> Measurement {
    let id = format!("{family}/{}", class.as_str());
    Measurement::new(&id, unit, Direction::Lower, Role::Secondary, reading)
}

/// Adds the average time that a commit waits for a class of files, writes and syncs together.
///
/// One engine waits in its syncs, another in its writes: only the sum compares.
fn add_waits(engine: &IoAccount, class: FileClass, commits: f64, all: &mut Vec<Measurement>) {
    // SQL Server writes through and has no syncs; then the writes are all there is.
    let sync = match (engine.class_sum(class, Figure::SyncStall), engine.class_sum(class, Figure::Syncs)) {
        (Reading::Unavailable(_), Reading::Value(0.0)) => Reading::Value(0.0),
        (stall, _) => stall,
    };
    let wait =
        both_readings(&engine.class_sum(class, Figure::WriteStall), &sync, |write, sync| Reading::Value(write + sync));
    let id = format!("wait_per_commit/{}", class.as_str());
    all.push(Measurement::new(&id, "ms", Direction::Lower, Role::Secondary, scale_reading(wait, 1.0 / commits)));
}

/// Adds the known figures of one file; those not counted are reported once, with the class.
fn add_details(place: &IoPlace, all: &mut Vec<Measurement>) {
    for figure in Figure::ALL {
        if let known @ Reading::Value(_) = place.reading_of(figure) {
            let name = format!("{}.{}", place.class.as_str(), place.name);
            all.push(diagnostic(figure.as_str(), &name, figure.unit(), known.clone()));
        }
    }
}

/// Adds what the operating system counted of the server's processes.
fn add_operating_system(found: &PagesFound, all: &mut Vec<Measurement>) {
    let (before, after) = match &found.os {
        Ok(both) => both,
        Err(reason) => {
            for place in ["calls", "processes", "device"] {
                all.push(diagnostic("os_write_bytes", place, "bytes", Reading::unavailable(reason)));
            }
            all.push(diagnostic("unseen", "writes", "%", Reading::unavailable(reason)));
            all.push(diagnostic("unexplained", "writes", "%", Reading::unavailable(reason)));
            return;
        }
    };
    let did = after.processes.since(&before.processes);
    all.push(diagnostic("os_reads", "processes", "", count_reading(Some(did.read_calls))));
    all.push(diagnostic("os_read_bytes", "processes", "bytes", count_reading(did.device_read_bytes)));
    all.push(diagnostic("os_writes", "processes", "", count_reading(Some(did.write_calls))));
    all.push(diagnostic("os_write_bytes", "processes", "bytes", count_reading(did.device_write_bytes)));
    all.push(diagnostic("os_write_bytes", "calls", "bytes", count_reading(Some(did.write_call_bytes))));
    add_device(before, after, all);
    let written = match (found.engine.incomparable, found.written_by) {
        (Some(reason), _) => Reading::unavailable(reason),
        (None, WrittenBy::Calls) => count_reading(Some(did.write_call_bytes)),
        (None, WrittenBy::Device) => count_reading(did.device_write_bytes),
    };
    add_shares(found, &written, all);
}

/// Reads a count as a reading; unavailable if the operating system does not give it.
fn count_reading(count: Option<u64>) -> Reading {
    match count {
        Some(count) => Reading::Value(count as f64),
        None => Reading::unavailable("this operating system does not tell what of a process reaches a device"),
    }
}

/// Adds the share of written bytes that the engine does not count, and the share that is not explained either.
fn add_shares(found: &PagesFound, written: &Reading, all: &mut Vec<Measurement>) {
    let mut seen = Reading::Value(0.0);
    for class in FileClass::ALL {
        // A class without a file has written nothing.
        if found.engine.places.iter().any(|place| place.class == class) {
            seen =
                both_readings(&seen, &found.engine.class_sum(class, Figure::WriteBytes), |a, b| Reading::Value(a + b));
        }
    }
    all.push(diagnostic("unseen", "writes", "%", percent_missing(&seen, written)));
    for (what, bytes) in &found.engine.explained {
        all.push(diagnostic("explained", what, "bytes", bytes.clone()));
        seen = both_readings(&seen, bytes, |a, b| Reading::Value(a + b));
    }
    all.push(diagnostic("unexplained", "writes", "%", percent_missing(&seen, written)));
}

/// Share of what was written that was not seen, in percent.
fn percent_missing(seen: &Reading, written: &Reading) -> Reading {
    let share = ratio_or(seen, written, "the operating system has counted no writes");
    scale_reading(both_readings(&Reading::Value(1.0), &share, |one, share| Reading::Value(one - share)), 100.0)
}

/// Adds what the device counted between the two snapshots.
fn add_device(before: &OsIo, after: &OsIo, all: &mut Vec<Measurement>) {
    let (then, now) = match (&before.device, &after.device) {
        (Ok((_, then)), Ok((_, now))) => (then, now),
        (Err(reason), _) | (_, Err(reason)) => {
            all.push(diagnostic("os_write_bytes", "device", "bytes", Reading::unavailable(reason)));
            return;
        }
    };
    let did = now.since(then);
    all.push(diagnostic("os_reads", "device", "", Reading::Value(did.reads as f64)));
    all.push(diagnostic("os_read_bytes", "device", "bytes", Reading::Value(did.read_bytes as f64)));
    all.push(diagnostic("os_read_wait", "device", "ms", Reading::Value(did.read_wait_ms as f64)));
    all.push(diagnostic("os_writes", "device", "", Reading::Value(did.writes as f64)));
    all.push(diagnostic("os_write_bytes", "device", "bytes", Reading::Value(did.written_bytes as f64)));
    all.push(diagnostic("os_write_wait", "device", "ms", Reading::Value(did.write_wait_ms as f64)));
    if let Some(flushes) = did.flushes {
        all.push(diagnostic("os_syncs", "device", "", Reading::Value(flushes as f64)));
    }
}
