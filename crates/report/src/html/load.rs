use std::collections::BTreeMap;

use model::{Series, SeriesKind};

use super::ReportError;
use crate::evidence::SeriesSource;
use crate::latency::Latency;
use crate::lookup::Lookup;

/// Longer series are merged.
const MOST_SLOTS: u32 = 240;

/// All runs of a case merged.
pub struct CaseLatency {
    /// `None` if not stored.
    pub whole: Option<Latency>,
    /// Merged over the runs.
    pub slots: Vec<Slot>,
}

/// Limit against damaged stores: seconds of four months.
const MOST_INTERVALS: u32 = 10_000_000;

/// One interval over all runs.
pub struct Slot {
    /// Middle of the interval, since the start of the measured part.
    pub at_s: f64,
    pub rates: Vec<f64>,
    /// Response times of all runs in it.
    pub latency: Option<Latency>,
}

/// Per run: operations and milliseconds.
#[derive(Default)]
struct Open {
    by_run: BTreeMap<i64, (u64, u64)>,
    latency: Option<Latency>,
}

/// Merges the histograms of a case's measured runs, as a whole and by interval.
pub fn case_latency(lookup: &Lookup<'_>, source: &dyn SeriesSource, case: u32) -> Result<CaseLatency, ReportError> {
    let mut whole = None;
    let mut open: BTreeMap<u32, Open> = BTreeMap::new();
    let mut nominal_ms = 0;
    let mut lasts: BTreeMap<i64, u32> = BTreeMap::new();
    for run in lookup.measured_runs(&[case]) {
        let series = source.series(run)?;
        for part in series.iter().filter(|part| part.kind == SeriesKind::Response) {
            let latency = decode_latency(part, run)?;
            let Some(number) = part.interval else {
                merge_latency(&mut whole, &latency, run)?;
                continue;
            };
            if number >= MOST_INTERVALS {
                let detail = format!("no run has an interval of the number {number}");
                return Err(ReportError::Histogram { run, detail });
            }
            nominal_ms = nominal_ms.max(part.length_ms);
            let slot = open.entry(number).or_default();
            let counted = slot.by_run.entry(run).or_default();
            // Hosts share intervals: operations add up, lengths do not.
            counted.0 += latency.succeeded().len();
            counted.1 = counted.1.max(u64::from(part.length_ms));
            merge_latency(&mut slot.latency, &latency, run)?;
            let last = lasts.entry(run).or_default();
            *last = (*last).max(number);
        }
    }
    Ok(CaseLatency { whole, slots: merge_slots(open, &lasts, nominal_ms)? })
}

/// Merges intervals down to [`MOST_SLOTS`]; a missing one before a run's end counts as idle.
fn merge_slots(
    open: BTreeMap<u32, Open>,
    lasts: &BTreeMap<i64, u32>,
    nominal_ms: u32,
) -> Result<Vec<Slot>, ReportError> {
    let Some(last) = open.keys().next_back().copied() else { return Ok(Vec::new()) };
    let width = (last + 1).div_ceil(MOST_SLOTS);
    let mut merged: BTreeMap<u32, Open> = BTreeMap::new();
    for number in 0..=last {
        let slot = merged.entry(number / width).or_default();
        let found = open.get(&number);
        for (run, last) in lasts.iter().filter(|(_, last)| **last >= number) {
            let own = found.and_then(|found| found.by_run.get(run)).copied();
            let (operations, length_ms) = own.unwrap_or((0, u64::from(nominal_ms)));
            // A short last interval would show a random spike or dip.
            if number == *last && length_ms * 2 < u64::from(nominal_ms) {
                continue;
            }
            let sum = slot.by_run.entry(*run).or_default();
            sum.0 += operations;
            sum.1 += length_ms;
        }
        if let Some(latency) = found.and_then(|found| found.latency.as_ref()) {
            merge_latency(&mut slot.latency, latency, 0)?;
        }
    }
    let step_s = f64::from(nominal_ms) / 1e3;
    Ok(merged
        .into_iter()
        .filter(|(_, slot)| !slot.by_run.is_empty())
        .map(|(number, slot)| Slot {
            at_s: (f64::from(number * width) + f64::from(width) / 2.0) * step_s,
            rates: slot.by_run.values().map(|(count, ms)| *count as f64 * 1e3 / (*ms).max(1) as f64).collect(),
            latency: slot.latency,
        })
        .collect())
}

/// Adds a histogram to a sum, which may be empty; fails if they do not fit.
fn merge_latency(into: &mut Option<Latency>, from: &Latency, run: i64) -> Result<(), ReportError> {
    match into {
        None => *into = Some(from.clone()),
        Some(sum) => sum.add(from).map_err(|detail| ReportError::Histogram { run, detail })?,
    }
    Ok(())
}

/// Decodes a run's histogram.
fn decode_latency(part: &Series, run: i64) -> Result<Latency, ReportError> {
    Latency::decode(part).map_err(|detail| ReportError::Histogram { run, detail })
}

/// Reads a run's response times, each with its count, over all intervals.
pub fn response_counts(source: &dyn SeriesSource, run: i64) -> Result<Vec<(u64, u64)>, ReportError> {
    let mut all = Vec::new();
    let series = source.series(run)?;
    for part in series.iter().filter(|part| part.kind == SeriesKind::Response && part.interval.is_none()) {
        let latency = decode_latency(part, run)?;
        let histogram = latency.succeeded();
        let steps = histogram.iter_recorded();
        all.extend(steps.map(|step| (histogram.median_equivalent(step.value_iterated_to()), step.count_at_value())));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_a_zero_and_long_series_are_merged() {
        let open = BTreeMap::from([(0, open_of(100)), (2, open_of(300))]);
        let found = merge_slots(open, &BTreeMap::from([(1, 2)]), 1_000).unwrap();
        assert_eq!(found.iter().map(|slot| slot.rates[0]).collect::<Vec<_>>(), [100.0, 0.0, 300.0]);
        assert_eq!(found.iter().map(|slot| slot.at_s).collect::<Vec<_>>(), [0.5, 1.5, 2.5]);
        let long = (0..1_000).map(|number| (number, open_of(10))).collect();
        let found = merge_slots(long, &BTreeMap::from([(1, 999)]), 1_000).unwrap();
        assert_eq!((found.len(), found[3].rates[0]), (200, 10.0));
    }

    fn open_of(count: u64) -> Open {
        Open { by_run: BTreeMap::from([(1, (count, 1_000))]), latency: None }
    }
}
