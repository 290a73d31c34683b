//! Measurements and marks of a run of blocks.

use host::disk::{LayerTraffic, Reached, ReachedShare, RequestedBytes};
use model::metric::SPAN;
use model::{Direction, Mark, MarkKind, Measurement, Reading, Role, RunRecord, RunState};

use super::BlockLoad;
use load::counters::Devices;
use load::durations::Durations;
use load::lane::{Helpers, Transfer};
use load::measure::{
    LoadResult, Steady, add_errors, add_latencies, client, concurrency, error_marks, failed_share, motion_measurements,
    rate_not_met, shape,
};
use load::recorder::KindCounts;
use load::worker::{LoadCounts, Pace};

const MIB: f64 = 1_048_576.0;
/// Reading a page takes some 50 µs with two bits per cell and 75 with three (R. H. and A. C. Arpaci-Dusseau,
/// "Operating Systems: Three Easy Pieces", chapter 44), without the transfer. Single-bit flash and other memories are
/// faster, so this is only a note.
const SOONEST_OF_FLASH_NS: u64 = 30_000;
/// What latencies are taken of.
const WHAT: &str = "operations in the run";

/// Makes the record of a run of blocks: measurements, series and marks; `before` are the devices' counters at its start.
pub fn run_record(evidence: LoadResult<'_>, load: &BlockLoad, before: Option<&Devices>) -> RunRecord {
    let window_s = evidence.counts.window_ns as f64 / 1e9;
    let rate = evidence.counts.completed.total() / window_s;
    let mut all = rate_measurements(load, rate);
    let stopped = evidence.counts.stopped_count();
    add_latencies(WHAT, "latency", (evidence.latencies.service(), stopped), Role::Secondary, &mut all);
    if evidence.pace != Pace::Closed {
        add_latencies(WHAT, "response", (&evidence.latencies.response, stopped), Role::Secondary, &mut all);
    }
    for kind in &evidence.counts.kinds {
        add_kind(kind, &evidence.counts, &mut all);
    }
    all.push(failed_share(&evidence));
    all.push(concurrency(&evidence, rate));
    add_errors(&evidence.counts, &mut all);
    shape::add_limits(&evidence, &mut all);
    add_cost(&evidence, &mut all);
    let steady = Steady::judge(&evidence.latencies.rates_per_s, "io/s");
    all.push(steady.measurement());
    all.extend(motion_measurements(&evidence.latencies.rates_per_s));
    let reached = device_traffic(&evidence, before);
    add_devices(&evidence, before, reached.as_ref(), &mut all);
    let mut marks = evidence.marks.clone();
    marks.extend(error_marks(&evidence.counts));
    marks.extend(client::marks_of_blocks(&evidence));
    marks.extend(rate_not_met(&evidence, "operations"));
    marks.extend(steady.into_mark());
    marks.extend(reached.as_ref().ok().and_then(served_by_cache));
    marks.extend(missing_feature_marks(evidence.counts.transfer.as_ref()));
    let is_real = evidence.counts.transfer.as_ref().is_some_and(|transfer| transfer.form != "null");
    if is_real {
        marks.extend(sooner_than_flash(load, evidence.latencies.service()));
    }
    RunRecord {
        state: RunState::Measured,
        reason: None,
        began_unix_ms: None,
        elapsed_s: window_s,
        measurements: all,
        series: evidence.latencies.series,
        marks,
        points: Vec::new(),
        query_plans: Vec::new(),
    }
}

/// Makes the measurements of operations and bytes a second; the primary one comes first.
///
/// Published tables judge random I/O by operations, sequential I/O by bytes.
fn rate_measurements(load: &BlockLoad, rate: f64) -> Vec<Measurement> {
    let (iops, bandwidth) =
        if load.pattern.is_sequential() { (Role::Secondary, Role::Primary) } else { (Role::Primary, Role::Secondary) };
    let mib_per_s = rate * f64::from(load.block_bytes) / MIB;
    let mut all = vec![
        Measurement::value("iops", "io/s", Direction::Higher, iops, rate),
        Measurement::value("bandwidth", "MiB/s", Direction::Higher, bandwidth, mib_per_s),
    ];
    if load.pattern.is_sequential() {
        all.reverse();
    }
    all
}

/// Adds rate, failures and latencies of the reads or the writes of a mixed load.
fn add_kind(kind: &KindCounts, counts: &LoadCounts, into: &mut Vec<Measurement>) {
    let name = &kind.name;
    let rate = kind.completed.total() * 1e9 / counts.window_ns.max(1) as f64;
    into.push(Measurement::value(&format!("iops_{name}"), "io/s", Direction::Higher, Role::Secondary, rate));
    into.push(shape::failed_share(kind, counts));
    for (id, quantile) in [("p50", 0.5), ("p99", 0.99)] {
        let reading = kind.response.quantile_reading(quantile, "operations of this kind");
        let id = format!("latency_{id}_{name}");
        into.push(Measurement::new(&id, "us", Direction::Lower, Role::Secondary, reading));
    }
}

/// Adds CPU and kernel entries per operation, hand-over times, syncs, span and lag.
fn add_cost(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let counts = &evidence.counts;
    let operations = counts.succeeded_in_window.max(1) as f64;
    let with_helpers = counts.transfer.as_ref().is_some_and(|transfer| transfer.helpers == Helpers::Threads);
    let cpu = match counts.cpu_ns {
        _ if with_helpers => Reading::unavailable("threads of their own carry the operations out, and are not counted"),
        Some(cpu_ns) => Reading::Value(cpu_ns as f64 / 1e3 / operations),
        None => Reading::unavailable("the operating system did not tell"),
    };
    into.push(Measurement::new("cpu_per_io", "us", Direction::Lower, Role::Secondary, cpu));
    if let Some(transfer) = &counts.transfer {
        let submission = (&transfer.submission, 0);
        add_latencies("hand-overs that were timed", "submission", submission, Role::Diagnostic, into);
        let syncs = transfer.syncs as f64;
        into.push(Measurement::value("syncs", "", Direction::Neither, Role::Diagnostic, syncs));
        let span = transfer.span_bytes as f64;
        into.push(Measurement::value(SPAN, "bytes", Direction::Neither, Role::Diagnostic, span));
    }
    client::add_shares(evidence, into);
    let entries = match counts.kernel_entries {
        Some(entries) => Reading::Value(entries as f64 / operations),
        None => Reading::unavailable("they are not counted"),
    };
    into.push(Measurement::new("kernel_entries", "/io", Direction::Lower, Role::Diagnostic, entries));
    client::add_lag(evidence, into);
}

/// Compares the devices' traffic since the start with the bytes that the load asked for.
fn device_traffic(evidence: &LoadResult<'_>, before: Option<&Devices>) -> Result<Reached, String> {
    let transfer = evidence.counts.transfer.as_ref().ok_or_else(devices_were_not_asked)?;
    let then = before.ok_or_else(devices_were_not_asked)?.layers.as_ref().map_err(Clone::clone)?;
    let now =
        evidence.counters.devices.as_ref().ok_or_else(devices_were_not_asked)?.layers.as_ref().map_err(Clone::clone)?;
    let asked = RequestedBytes { read_bytes: transfer.read_bytes, written_bytes: transfer.written_bytes };
    Ok(now.reached_since(then, asked))
}

/// The reason for missing device figures: the devices were not asked.
fn devices_were_not_asked() -> String {
    "the devices were not asked".to_owned()
}

/// Adds measurements of what the devices counted: traffic, flushes, temperatures and extents.
fn add_devices(
    evidence: &LoadResult<'_>,
    before: Option<&Devices>,
    reached: Result<&Reached, &String>,
    into: &mut Vec<Measurement>,
) {
    let mut push = |id: &str, unit: &str, reading| {
        into.push(Measurement::new(id, unit, Direction::Neither, Role::Diagnostic, reading));
    };
    let of_reached = |value: &dyn Fn(&Reached) -> Option<f64>, why: &str| match reached {
        Ok(reached) => Reading::from(value(reached).ok_or(why)),
        Err(reason) => Reading::unavailable(reason),
    };
    push("device_read_share", "", of_reached(&|reached| reached.read.share(), "nothing was to be read"));
    push("device_write_share", "", of_reached(&|reached| reached.written.share(), "nothing was to be written"));
    let none = "there are no devices";
    push("device_reads", "", of_reached(&|reached| deepest_sum(reached, &|traffic| traffic.did.reads as f64), none));
    push("device_writes", "", of_reached(&|reached| deepest_sum(reached, &|traffic| traffic.did.writes as f64), none));
    push(
        "device_flushes",
        "",
        of_reached(
            &|reached: &Reached| {
                deepest_sum(reached, &|traffic: &LayerTraffic| {
                    traffic.did.flushes.map_or(f64::NAN, |flushes| flushes as f64)
                })
                .filter(|count| !count.is_nan())
            },
            "this kernel does not count them",
        ),
    );
    let after = evidence.counters.devices.as_ref();
    push("temperature_before", "°C", device_reading(before, &celsius));
    push("temperature_after", "°C", device_reading(after, &celsius));
    push("extents", "", device_reading(after, &|devices| devices.extents.clone().map(|count| count as f64)));
}

/// Temperature of the hottest device, °C.
fn celsius(devices: &Devices) -> Result<f64, String> {
    devices.celsius.clone()
}

/// Reads a figure of the devices as a measurement's reading; unavailable if they were not asked.
fn device_reading(devices: Option<&Devices>, value: &dyn Fn(&Devices) -> Result<f64, String>) -> Reading {
    let read = devices.ok_or_else(|| "the devices were not asked".to_owned()).and_then(value);
    read.into()
}

/// Sum of a figure over the devices of the deepest layer; `None` without layers.
fn deepest_sum(reached: &Reached, of: &dyn Fn(&LayerTraffic) -> f64) -> Option<f64> {
    let depth = reached.layers.iter().map(|traffic| traffic.layer.depth).max()?;
    Some(reached.layers.iter().filter(|traffic| traffic.layer.depth == depth).map(of).sum())
}

/// Makes a mark if something above the devices answered part of the reads.
fn served_by_cache(reached: &Reached) -> Option<Mark> {
    let ReachedShare::Cached(share) = reached.read else { return None };
    let percent = share * 100.0;
    let detail = format!("the devices read {percent:.0} % of the bytes that were read: a cache answered for the rest");
    Some(Mark::new(MarkKind::ServedByCache, detail))
}

/// Makes a note if direct reads ended sooner than flash answers, so that something below this system served them.
///
/// Device counters cannot tell a controller's or a virtual machine host's memory from the disk. Not for sequential
/// reads, since disks read ahead.
fn sooner_than_flash(load: &BlockLoad, latencies: &Durations) -> Option<Mark> {
    let is_scattered = !load.pattern.is_sequential() && load.read_percent == 100 && load.cache.is_direct();
    let p50_ns = latencies.quantile_ns(0.5).ok()?;
    if !is_scattered || p50_ns >= SOONEST_OF_FLASH_NS {
        return None;
    }
    let detail = format!(
        "half of the reads ended within {:.0} µs, sooner than common flash answers: memory under this system, of the \
         controller or of a virtual machine's host, may have served them",
        p50_ns as f64 / 1e3
    );
    Some(Mark::new(MarkKind::Note, detail))
}

/// Makes a note for each kernel feature that the transfer did without.
fn missing_feature_marks(transfer: Option<&Transfer>) -> Vec<Mark> {
    let shortfalls = transfer.map(|transfer| transfer.shortfalls.as_slice()).unwrap_or_default();
    shortfalls.iter().map(|shortfall| Mark::new(MarkKind::Note, format!("done without: {shortfall}"))).collect()
}

#[cfg(test)]
mod tests {
    use model::{Literal, Point, Value};

    use super::*;
    use crate::disk::DiskWorkload;
    use crate::work::StreamWork;
    use crate::workload::{Action, Grants, Workload as _};

    fn load(pairs: &[(&str, &str)]) -> BlockLoad {
        let spec = DiskWorkload.spec();
        let defaults =
            spec.keys.iter().filter_map(|key| Some((key.name.to_owned(), key.default.and_then(Literal::to_value)?)));
        let mut point: Point = defaults.collect();
        point.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), Value::Text((*value).to_owned()))));
        let Action::Stream(task) = DiskWorkload.make_task(&point, &Grants::default()).unwrap().action else {
            panic!("a stream")
        };
        let StreamWork::Blocks(load) = task.work else { panic!("of blocks") };
        load
    }

    #[test]
    fn reads_that_no_flash_could_answer_are_noted() {
        let mark = mark_of(9_000, &[]).unwrap();
        assert!(mark.kind == MarkKind::Note && mark.detail.contains("within 9 µs"), "{}", mark.detail);
        assert!(mark_of(80_000, &[]).is_none());
        assert!(mark_of(9_000, &[("pattern", "sequential")]).is_none(), "disks read ahead");
        assert!(mark_of(9_000, &[("op", "write")]).is_none(), "disks take writes into their memory");
        assert!(mark_of(9_000, &[("cache", "all")]).is_none(), "the page cache is asked for");
        assert!(sooner_than_flash(&load(&[]), &Durations::default()).is_none());
    }

    fn mark_of(ns: u64, pairs: &[(&str, &str)]) -> Option<Mark> {
        let mut latencies = Durations::default();
        latencies.record_successes(ns, 1_000);
        sooner_than_flash(&load(pairs), &latencies)
    }
}
