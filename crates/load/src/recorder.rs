//! Latencies from a worker to the run's record.
//!
//! A worker records into its own histogram and swaps it with an emptied one of the coordinator once per interval:
//! nothing is locked, shared or allocated in the loop.

use std::sync::mpsc::{Receiver, Sender};

use serde::{Deserialize, Serialize};

use crate::completed::Completed;
use crate::durations::Durations;
use crate::lane::RowCounts;

#[derive(Debug)]
pub struct RecordedInterval {
    /// The worker to which the interval returns.
    pub worker: usize,
    /// Number of the interval, 0 at the start of the measured part.
    pub number: u32,
    /// Response times of successes, and the number of failures.
    pub response: Durations,
    /// Service times, if they can differ from response times.
    pub service: Option<Durations>,
    /// Most transactions that were due and not started.
    pub backlog: u64,
    pub extent: Extent,
}

/// How long a worker took part in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    #[default]
    Full,
    /// Ended within it: no rate.
    CutShort,
}

/// One kind of transactions in the measured part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KindCounts {
    /// The kind's name, given by the stream.
    pub name: String,
    /// Counted like [`LoadCounts::completed`](crate::worker::LoadCounts::completed).
    pub completed: Completed,
    /// Succeeded inside the measured part.
    pub in_window: u64,
    pub failed: u64,
    /// Cut off by the end of the measured part after longer than any response.
    pub broken_off: u64,
    /// Response times; transactions that were never started count as failed: each kind may have lost them.
    pub response: Durations,
    /// Number of tries that ended, warm-up included.
    pub tries: u64,
    /// Rows of these tries. `None`: the lane has no rows.
    pub rows: Option<RowCounts>,
}

impl KindCounts {
    pub fn new(name: String) -> KindCounts {
        KindCounts {
            name,
            completed: Completed::default(),
            in_window: 0,
            failed: 0,
            broken_off: 0,
            response: Durations::with_room(),
            tries: 0,
            rows: None,
        }
    }

    /// Adds the rows of some tries.
    pub fn add_rows(&mut self, tries: u64, rows: RowCounts) {
        self.tries = self.tries.saturating_add(tries);
        self.rows = Some(self.rows.unwrap_or_default().plus(rows));
    }

    /// Successes that ended together.
    pub fn record_successes(&mut self, count: u64, response_ns: u64, inside: Inside) {
        self.in_window += count * u64::from(inside == Inside::Window);
        self.response.record_successes(response_ns, count);
    }

    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: &KindCounts) {
        self.completed.merge(other.completed);
        self.in_window = self.in_window.saturating_add(other.in_window);
        self.failed = self.failed.saturating_add(other.failed);
        self.broken_off = self.broken_off.saturating_add(other.broken_off);
        self.response.merge(&other.response);
        self.tries = self.tries.saturating_add(other.tries);
        self.rows = RowCounts::sum_known(self.rows, other.rows);
    }
}

/// Whether a transaction of the measured part also ended in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    Window,
    /// Counts for latency, not for throughput.
    Later,
}

impl RecordedInterval {
    /// An interval without operations.
    fn empty(worker: usize, number: u32, kind: LatencyKinds) -> RecordedInterval {
        RecordedInterval {
            worker,
            number,
            response: Durations::with_room(),
            service: (kind == LatencyKinds::ResponseAndService).then(Durations::with_room),
            backlog: 0,
            extent: Extent::Full,
        }
    }

    /// Makes an interval's memory ready for another one.
    fn clear(&mut self, number: u32) {
        self.number = number;
        self.backlog = 0;
        self.extent = Extent::Full;
        self.response.reset();
        if let Some(service) = &mut self.service {
            service.reset();
        }
    }
}

/// The latencies that can differ under a pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyKinds {
    /// A closed loop sends as intended: both are equal.
    ResponseOnly,
    /// Under a rate a transaction may be sent late.
    ResponseAndService,
}

#[derive(Debug)]
pub struct Recorder {
    current: RecordedInterval,
    spare: Option<RecordedInterval>,
    start_ns: u64,
    interval_ns: u64,
    /// End of the interval: saves a division per transaction.
    turn_ns: u64,
    exchange: Exchange,
}

/// Channels between worker and coordinator.
#[derive(Debug)]
pub struct Exchange {
    pub worker: usize,
    pub full: Sender<RecordedInterval>,
    pub emptied: Receiver<RecordedInterval>,
}

impl Recorder {
    /// Intervals count from `start_ns`.
    pub fn new(start_ns: u64, interval_ns: u64, kind: LatencyKinds, exchange: Exchange) -> Recorder {
        let interval_ns = interval_ns.max(1);
        Recorder {
            current: RecordedInterval::empty(exchange.worker, 0, kind),
            spare: Some(RecordedInterval::empty(exchange.worker, 0, kind)),
            start_ns,
            interval_ns,
            turn_ns: start_ns + interval_ns,
            exchange,
        }
    }

    /// Records one success.
    pub fn record(&mut self, intended_ns: u64, sent_ns: u64, done_ns: u64) {
        self.record_batch(1, intended_ns, sent_ns, done_ns);
    }

    /// Successes that were sent and ended together.
    #[inline]
    pub fn record_batch(&mut self, count: u64, intended_ns: u64, sent_ns: u64, done_ns: u64) {
        self.roll_over(done_ns);
        self.current.response.record_successes(done_ns.saturating_sub(intended_ns).max(1), count);
        if let Some(service) = &mut self.current.service {
            service.record_successes(done_ns.saturating_sub(sent_ns).max(1), count);
        }
    }

    /// Records failures that ended together.
    pub fn record_failed(&mut self, count: u64, done_ns: u64) {
        self.roll_over(done_ns);
        self.current.response.record_failed(count);
        if let Some(service) = &mut self.current.service {
            service.record_failed(count);
        }
    }

    /// Records how many transactions are due and not started.
    pub fn record_backlog(&mut self, now_ns: u64, backlog: u64) {
        self.roll_over(now_ns);
        self.current.backlog = self.current.backlog.max(backlog);
    }

    /// Hands over a finished interval.
    #[inline]
    fn roll_over(&mut self, now_ns: u64) {
        if now_ns >= self.turn_ns {
            let number = now_ns.saturating_sub(self.start_ns) / self.interval_ns;
            self.turn_ns = self.start_ns + (number + 1) * self.interval_ns;
            self.hand_over(number as u32);
        }
    }

    /// Hands the current interval over, and takes another one's memory.
    fn hand_over(&mut self, next_number: u32) {
        let kind = match self.current.service {
            Some(_) => LatencyKinds::ResponseAndService,
            None => LatencyKinds::ResponseOnly,
        };
        // The coordinator returns intervals within a second; only a starved one causes an allocation.
        let mut next = self
            .exchange
            .emptied
            .try_recv()
            .ok()
            .or_else(|| self.spare.take())
            .unwrap_or_else(|| RecordedInterval::empty(self.exchange.worker, next_number, kind));
        next.clear(next_number);
        let full = std::mem::replace(&mut self.current, next);
        // Without the coordinator the run has failed already.
        let _ = self.exchange.full.send(full);
    }

    /// Hands over the rest.
    pub fn finish(mut self) {
        self.current.extent = Extent::CutShort;
        self.hand_over(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn intervals_together_hold_every_latency_once() {
        let (full, intervals) = channel();
        let (_back, emptied) = channel();
        let mut recorder =
            Recorder::new(1_000, 100, LatencyKinds::ResponseAndService, Exchange { worker: 0, full, emptied });
        for i in 0..1_000u64 {
            let done = 1_000 + i;
            recorder.record(done - 50, done - 20, done);
        }
        recorder.record_failed(1, 2_050);
        recorder.finish();
        let all: Vec<RecordedInterval> = intervals.iter().collect();
        assert_eq!(all.iter().map(|i| i.response.success_count()).sum::<u64>(), 1_000);
        assert_eq!(all.iter().map(|i| i.response.failure_count()).sum::<u64>(), 1);
        assert_eq!(all.iter().map(|i| i.number).collect::<Vec<_>>(), (0..=10).collect::<Vec<_>>());
        let cut_short = all.iter().filter(|i| i.extent == Extent::CutShort).map(|i| i.number);
        assert_eq!(cut_short.collect::<Vec<_>>(), [10]);
        assert_eq!(all[3].response.max_ns(), Some(50));
        assert_eq!(all[3].service.as_ref().unwrap().max_ns(), Some(20));
    }
}
