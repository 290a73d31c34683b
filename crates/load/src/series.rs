use std::collections::BTreeMap;
use std::time::Duration;

use model::{Series, SeriesKind};
use serde::{Deserialize, Serialize};

use crate::durations::{Durations, count_in, new_histogram, read_v2, write_v2};
use crate::recorder::{Extent, RecordedInterval};

#[derive(Debug)]
pub struct Collector {
    interval_ns: u64,
    /// Per worker; an interval is complete once all have passed it.
    last: Vec<Option<u32>>,
    open: BTreeMap<u32, Sum>,
    whole: Vec<CompleteInterval>,
    pub response: Durations,
    /// All intervals, if service and response time can differ.
    pub service: Option<Durations>,
    gauge: Gauge,
}

/// Whether a run has a backlog, which needs a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    Backlog,
    Nothing,
}

#[derive(Debug, Default)]
struct Sum {
    response: Durations,
    backlog: u64,
    extent: Extent,
}

/// An interval reported by every worker.
#[derive(Debug)]
pub struct CompleteInterval {
    pub number: u32,
    pub succeeded: u64,
    pub errors: u64,
    /// Sum of the workers' maxima.
    pub backlog: u64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub extent: Extent,
    serialised: Vec<u8>,
}

impl CompleteInterval {
    /// `None` if a worker ended in it, or if it lies partly beyond the measured part, where no full load was kept up.
    pub fn rate_per_s(&self, interval_ns: u64, window_ns: Option<u64>) -> Option<f64> {
        let end_ns = (u64::from(self.number) + 1) * interval_ns;
        let is_over = self.extent == Extent::Full && window_ns.is_none_or(|window_ns| end_ns <= window_ns);
        is_over.then(|| self.succeeded as f64 * 1e9 / interval_ns as f64)
    }
}

impl Collector {
    pub fn new(workers: usize, interval_ns: u64, gauge: Gauge) -> Collector {
        Collector {
            interval_ns,
            last: vec![None; workers],
            open: BTreeMap::new(),
            whole: Vec::new(),
            response: Durations::default(),
            service: None,
            gauge,
        }
    }

    /// Returns the intervals that it completes.
    pub fn add_interval(&mut self, interval: &RecordedInterval) -> &[CompleteInterval] {
        let sum = self.open.entry(interval.number).or_default();
        if interval.extent == Extent::CutShort {
            sum.extent = Extent::CutShort;
        }
        sum.response.merge(&interval.response);
        sum.backlog += interval.backlog;
        self.response.merge(&interval.response);
        if let Some(service) = &interval.service {
            self.service.get_or_insert_default().merge(service);
        }
        if let Some(last) = self.last.get_mut(interval.worker) {
            *last = Some(interval.number);
        }
        let before = self.whole.len();
        // A worker's interval n completes all earlier ones.
        if let Some(Some(passed)) = self.last.iter().min().copied() {
            self.close_up_to(passed);
        }
        &self.whole[before..]
    }

    fn close_up_to(&mut self, number: u32) {
        let later = self.open.split_off(&number.saturating_add(1));
        for (number, sum) in std::mem::replace(&mut self.open, later) {
            self.whole.push(CompleteInterval {
                number,
                succeeded: sum.response.success_count(),
                errors: sum.response.failure_count(),
                backlog: sum.backlog,
                p50_ns: sum.response.quantile_ns(0.5).ok(),
                p99_ns: sum.response.quantile_ns(0.99).ok(),
                extent: sum.extent,
                serialised: sum.response.to_v2_bytes(),
            });
        }
    }

    /// Rates of the intervals that lie wholly inside the measured part.
    pub fn rates_per_s(&self, window_ns: u64) -> Vec<f64> {
        let whole_intervals = (window_ns / self.interval_ns) as usize;
        let mut rates = vec![0.0; whole_intervals];
        for interval in &self.whole {
            if let Some(rate) = rates.get_mut(interval.number as usize) {
                *rate = interval.succeeded as f64 * 1e9 / self.interval_ns as f64;
            }
        }
        rates
    }

    /// A host's latencies, with transactions that were due and never started.
    pub fn into_latencies(mut self, host: &str, window_ns: u64, never_begun: u64) -> Latencies {
        self.response.record_failed(never_begun);
        Latencies {
            response: self.response.clone(),
            service: self.service.clone(),
            rates_per_s: self.rates_per_s(window_ns),
            series: self.into_series(host, window_ns),
        }
    }

    pub fn into_series(mut self, host: &str, window_ns: u64) -> Vec<Series> {
        self.close_up_to(u32::MAX);
        let window_ms = (window_ns / 1_000_000) as u32;
        let interval_ms = (self.interval_ns / 1_000_000) as u32;
        let series = |kind, interval, length_ms, errors, histogram| Series {
            host: host.to_owned(),
            kind,
            interval,
            length_ms,
            errors,
            histogram,
        };
        let summary = |kind, of: &Durations| series(kind, None, window_ms, of.failure_count(), of.to_v2_bytes());
        let mut all = vec![summary(SeriesKind::Response, &self.response)];
        all.extend(self.service.as_ref().map(|service| summary(SeriesKind::Service, service)));
        if self.gauge == Gauge::Backlog {
            let mut of_all = new_histogram();
            self.whole.iter().for_each(|interval| count_in(&mut of_all, interval.backlog, 1));
            all.push(series(SeriesKind::Backlog, None, window_ms, 0, write_v2(&of_all)));
        }
        for interval in self.whole {
            let begin_ms = interval.number.saturating_mul(interval_ms);
            // Later ends count in the whole, but in no interval.
            if begin_ms < window_ms {
                let length_ms = interval_ms.min(window_ms - begin_ms);
                let number = Some(interval.number);
                all.push(series(SeriesKind::Response, number, length_ms, interval.errors, interval.serialised));
                if self.gauge == Gauge::Backlog {
                    let mut one = new_histogram();
                    count_in(&mut one, interval.backlog, 1);
                    all.push(series(SeriesKind::Backlog, number, length_ms, 0, write_v2(&one)));
                }
            }
        }
        all
    }
}

/// The share, of all successes of a run on all hosts, that took longer than `limit`.
pub fn share_beyond(series: &[Series], kind: SeriesKind, limit: Duration) -> Option<f64> {
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let whole = series.iter().filter(|part| part.kind == kind && part.interval.is_none());
    let (mut all, mut within) = (0, 0);
    for found in whole.map(|part| read_v2(&part.histogram)) {
        let found = found.ok()?;
        (all, within) = (all + found.len(), within + found.count_between(0, limit_ns));
    }
    (all > 0).then(|| 1.0 - within as f64 / all as f64)
}

/// Latencies of one client host, or merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Latencies {
    /// Response times; transactions that were never started count as failed.
    pub response: Durations,
    /// Service times, if they can differ from response times.
    pub service: Option<Durations>,
    /// Per complete interval of the measured part.
    pub rates_per_s: Vec<f64>,
    /// The series as they are stored, under the host's name.
    pub series: Vec<Series>,
}

impl Latencies {
    /// Adds histograms and keeps both series.
    pub fn merge(&mut self, other: Latencies) {
        // A host without separate service times contributes its response times.
        if self.service.is_some() || other.service.is_some() {
            let mut service = self.service.take().unwrap_or_else(|| self.response.clone());
            service.merge(other.service.as_ref().unwrap_or(&other.response));
            self.service = Some(service);
        }
        self.response.merge(&other.response);
        if self.rates_per_s.len() < other.rates_per_s.len() {
            self.rates_per_s.resize(other.rates_per_s.len(), 0.0);
        }
        self.rates_per_s.iter_mut().zip(&other.rates_per_s).for_each(|(mine, theirs)| *mine += theirs);
        self.series.extend(other.series);
    }

    /// Durations without the wait for a turn: the response times where both are equal.
    pub fn service(&self) -> &Durations {
        self.service.as_ref().unwrap_or(&self.response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(worker: usize, number: u32, values: &[u64]) -> RecordedInterval {
        let mut response = Durations::default();
        values.iter().for_each(|v| response.record_successes(*v, 1));
        response.record_failed(1);
        RecordedInterval { worker, number, response, service: None, backlog: u64::from(number), extent: Extent::Full }
    }

    #[test]
    fn an_interval_that_is_not_over_has_no_rate() {
        let mut collector = Collector::new(2, 1_000_000_000, Gauge::Nothing);
        fn rates(complete: &[CompleteInterval], window_ns: Option<u64>) -> Vec<Option<f64>> {
            complete.iter().map(|one| one.rate_per_s(1_000_000_000, window_ns)).collect()
        }
        collector.add_interval(&interval(0, 0, &[5]));
        assert_eq!(rates(collector.add_interval(&interval(1, 0, &[5, 6])), Some(1_500_000_000)), [Some(3.0)]);
        // Half beyond the end of the measured part.
        collector.add_interval(&interval(0, 1, &[5]));
        let second = collector.add_interval(&interval(1, 1, &[5]));
        assert_eq!((rates(second, Some(1_500_000_000)), rates(second, None)), (vec![None], vec![Some(2.0)]));
        // A worker may finish within an interval.
        collector.add_interval(&RecordedInterval { extent: Extent::CutShort, ..interval(0, 2, &[5]) });
        assert_eq!(rates(collector.add_interval(&interval(1, 2, &[5])), None), [None]);
    }

    #[test]
    fn an_interval_is_whole_once_every_worker_has_passed_it() {
        let mut collector = Collector::new(2, 1_000_000, Gauge::Nothing);
        assert!(collector.add_interval(&interval(0, 0, &[5])).is_empty());
        assert!(collector.add_interval(&interval(0, 1, &[5])).is_empty());
        let whole = collector.add_interval(&interval(1, 0, &[7, 9]));
        assert_eq!(whole.len(), 1);
        assert_eq!((whole[0].succeeded, whole[0].errors), (3, 2));
        assert_eq!(collector.add_interval(&interval(1, 1, &[7]))[0].backlog, 2);
    }

    #[test]
    fn a_backlog_is_kept_for_each_interval_and_for_the_whole() {
        let mut collector = Collector::new(1, 1_000_000_000, Gauge::Backlog);
        for number in 0..3 {
            collector.add_interval(&interval(0, number, &[5]));
        }
        let series = collector.into_series("here", 3_000_000_000);
        let gauges: Vec<_> = series.iter().filter(|one| one.kind == SeriesKind::Backlog).collect();
        let read: Vec<_> = gauges.iter().map(|one| (one.interval, read_v2(&one.histogram).unwrap().max())).collect();
        assert_eq!(read[0], (None, 2));
        assert_eq!(read[1..], [(Some(0), 0), (Some(1), 1), (Some(2), 2)]);
    }

    proptest! {
        /// Shards merge exactly, however work is shared out.
        #[test]
        fn merged_shards_equal_the_whole(values in proptest::collection::vec(1u64..1_000_000_000, 1..200), workers in 1usize..5) {
            let mut whole = Durations::default();
            whole.record_failed(workers as u64);
            let mut collector = Collector::new(workers, 1_000_000, Gauge::Nothing);
            for worker in 0..workers {
                let share: Vec<u64> = values.iter().skip(worker).step_by(workers).copied().collect();
                share.iter().for_each(|v| whole.record_successes(*v, 1));
                collector.add_interval(&interval(worker, 0, &share));
            }
            prop_assert_eq!(&collector.response, &whole);
            let series = collector.into_series("here", 10_000_000);
            prop_assert_eq!(&series[0].histogram, &whole.to_v2_bytes());
        }
    }
}
