//! How much of a load's time its sessions wait for rows that other sessions have locked, and for locks of sessions that are not the
//! load's.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use model::{Length, Mark, MarkData, MarkKind, Schedule};

use crate::counters::Counters;
use crate::run::ServerCounters;

/// Counter of the milliseconds that all sessions together have waited for locked rows.
pub const ROW_LOCK_WAIT_MS: &str = "row_lock_wait_ms";
/// Share of the sessions' time that they waited for locked rows.
const ROW_LOCK_SHARE: &str = "row_lock_wait_share";
/// Share of the sessions' time from which a run is marked. Measured with tpcb-like and 8 clients: at scale 1 75 % on PostgreSQL,
/// whose locks last until the log is synced, and 38 % on MariaDB, whose locks do not; at scale 10 18 % and 4 %.
const MARKED: f64 = 0.25;
const MOST: f64 = 0.5;
/// Share of the samples in which the load waited for another session's lock, from which its figures are not its system's.
const VOIDED_BY_OTHERS: f64 = 0.05;
/// Sessions of others that are at work on average, from which a run is marked: a monitor that asks now and then comes to less.
const MARKED_OTHERS: f64 = 0.25;
/// Fewer samples than this say nothing.
const FEWEST_SAMPLES: u32 = 5;
/// A run is sampled about this often, however long it is: étalon's own questions are no load.
const SAMPLES: u32 = 100;
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// Pause of a run whose end is a number of transactions.
const PAUSE_OF_COUNTS: Duration = Duration::from_millis(250);

/// The load's sessions that wait for locks at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockWaiters {
    /// How many wait for a locked row.
    pub for_rows: u64,
    /// Some wait for a session that is not the load's.
    pub behind_others: bool,
    /// How many sessions that are not the load's are at work.
    pub others_at_work: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Samples {
    taken: u32,
    /// Sessions that waited for rows, summed over the samples.
    for_rows: u64,
    /// Samples in which some session waited for one that is not the load's.
    behind_others: u32,
    /// Others' sessions at work, summed over the samples.
    others_at_work: u64,
}

impl Samples {
    /// Adds what one look at the sessions found.
    fn add_sample(&mut self, waiters: LockWaiters) {
        self.taken += 1;
        self.for_rows += waiters.for_rows;
        self.behind_others += u32::from(waiters.behind_others);
        self.others_at_work += waiters.others_at_work;
    }
}

/// What a load waited for locked rows, and how long it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LockWaits {
    samples: Samples,
    /// From connecting to the last answer.
    whole: Duration,
}

impl LockWaits {
    /// Runs a load on this thread while another one samples its sessions, from the end of the warm-up on.
    pub fn while_running<T>(
        server: &dyn ServerCounters,
        schedule: &Schedule,
        load: impl FnOnce() -> T,
    ) -> (T, LockWaits) {
        let (is_over, samples) = (AtomicBool::new(false), Mutex::new(Samples::default()));
        let began = Instant::now();
        let loaded = thread::scope(|scope| {
            let sampler = thread::Builder::new().name("etalon-locks".to_owned());
            // Without a thread the waits are not known.
            let sampler = sampler.spawn_scoped(scope, || sample_until_over(server, schedule, &is_over, &samples)).ok();
            let loaded = load();
            is_over.store(true, Ordering::Relaxed);
            if let Some(sampler) = sampler {
                sampler.thread().unpark();
            }
            loaded
        });
        let samples = samples.into_inner().unwrap_or_else(PoisonError::into_inner);
        (loaded, LockWaits { samples, whole: began.elapsed() })
    }

    /// Share of the sessions' time that they waited for locked rows; `None` where the system does not say.
    fn time_share(&self, sessions: u64, counters: &Counters) -> Option<f64> {
        let sessions = sessions.max(1) as f64;
        if self.samples.taken >= FEWEST_SAMPLES {
            return Some(self.samples.for_rows as f64 / f64::from(self.samples.taken) / sessions);
        }
        let waited_ms = counters.value_of(ROW_LOCK_WAIT_MS)?;
        Some(waited_ms / (self.whole.as_secs_f64() * 1e3).max(1.0) / sessions)
    }

    /// Adds the share to the counters, and marks a run whose clients waited much of the time for one another or for others.
    pub fn note_waits(&self, sessions: u64, counters: &mut Counters) -> Vec<Mark> {
        self.row_lock_mark(sessions, counters)
            .into_iter()
            .chain(self.others_mark())
            .chain(self.others_at_work())
            .collect()
    }

    fn others_at_work(&self) -> Option<Mark> {
        let Samples { taken, others_at_work, .. } = self.samples;
        let mean = others_at_work as f64 / f64::from(taken.max(1));
        let detail = format!("in {taken} samples, {mean:.1} sessions that are not the load's were at work on average");
        (taken >= FEWEST_SAMPLES && mean >= MARKED_OTHERS).then(|| Mark::new(MarkKind::OtherClients, detail))
    }

    /// Marks a run whose sessions waited for sessions of others in many of the samples.
    pub fn others_mark(&self) -> Option<Mark> {
        let Samples { taken, behind_others, .. } = self.samples;
        let is_voided = taken >= FEWEST_SAMPLES && f64::from(behind_others) >= VOIDED_BY_OTHERS * f64::from(taken);
        let detail = format!(
            "in {behind_others} of {taken} samples, sessions of the load waited for locks that other sessions held: it measures them, too"
        );
        is_voided.then(|| Mark::new(MarkKind::OtherLocks, detail))
    }

    /// Adds the share of time waited for row locks, and marks a run where it is large.
    fn row_lock_mark(&self, sessions: u64, counters: &mut Counters) -> Option<Mark> {
        let share = self.time_share(sessions, counters)?.min(1.0);
        counters.set(ROW_LOCK_SHARE, "%", share * 100.0);
        if share < MARKED {
            return None;
        }
        let percent = (share * 100.0).round() as u32;
        let how = match self.samples.taken {
            taken if taken >= FEWEST_SAMPLES => format!("{taken} samples of the server's sessions"),
            _ => "the server's counter".to_owned(),
        };
        let most = if share >= MOST { "most of the time, " } else { "" };
        let rest = if most.is_empty() { " of the time" } else { "" };
        let detail = format!(
            "its sessions waited for a row lock {most}{percent} %{rest}, by {how}: the queue for the same rows is measured, too"
        );
        Some(Mark::new(MarkKind::RowLocks, detail).with_data(MarkData::RowLocks { percent }))
    }
}

/// Samples until the load is over or the system shows no waits.
fn sample_until_over(server: &dyn ServerCounters, schedule: &Schedule, is_over: &AtomicBool, samples: &Mutex<Samples>) {
    let pause = match schedule.length {
        Length::Duration(length) => (length / SAMPLES).max(SHORTEST_PAUSE),
        Length::Transactions(_) => PAUSE_OF_COUNTS,
    };
    let mut next = Instant::now() + schedule.warmup;
    loop {
        next += pause;
        while Instant::now() < next {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
        let Ok(Some(waiters)) = server.lock_waiters() else { return };
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        samples.lock().unwrap_or_else(PoisonError::into_inner).add_sample(waiters);
        // A slow answer is no reason to ask more often afterwards.
        next = next.max(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(taken: u32, for_rows: u64) -> LockWaits {
        LockWaits { samples: Samples { taken, for_rows, ..Samples::default() }, whole: Duration::from_secs(10) }
    }

    fn behind(taken: u32, behind_others: u32) -> LockWaits {
        LockWaits { samples: Samples { taken, behind_others, ..Samples::default() }, whole: Duration::from_secs(10) }
    }

    fn only(marks: Vec<Mark>) -> Option<Mark> {
        assert!(marks.len() <= 1, "{marks:?}");
        marks.into_iter().next()
    }

    #[test]
    fn a_run_is_marked_when_much_of_its_time_is_waited() {
        let mark = only(waits(100, 560).note_waits(8, &mut Counters::default())).unwrap();
        assert_eq!((mark.kind, mark.data), (MarkKind::RowLocks, Some(MarkData::RowLocks { percent: 70 })));
        assert!(mark.detail.contains("most of the time, 70 %, by 100 samples") && !mark.kind.voids_verdict());
        let less = only(waits(100, 240).note_waits(8, &mut Counters::default())).unwrap();
        assert!(less.detail.contains("a row lock 30 % of the time, by"), "{}", less.detail);
        let mut counters = Counters::default();
        assert_eq!(only(waits(100, 160).note_waits(8, &mut counters)), None, "a fifth");
        assert_eq!(counters.value_of(ROW_LOCK_SHARE), Some(20.0));
        assert_eq!(only(waits(4, 32).note_waits(8, &mut Counters::default())), None, "too few samples");
    }

    #[test]
    fn a_run_that_waits_for_others_has_no_verdict() {
        let mark = only(behind(100, 5).note_waits(8, &mut Counters::default())).unwrap();
        assert!(mark.kind == MarkKind::OtherLocks && mark.kind.voids_verdict(), "{mark:?}");
        assert!(mark.detail.starts_with("in 5 of 100 samples, "), "{}", mark.detail);
        assert_eq!(only(behind(100, 4).note_waits(8, &mut Counters::default())), None, "less than a twentieth");
        assert_eq!(only(behind(4, 4).note_waits(8, &mut Counters::default())), None, "too few samples");
    }

    #[test]
    fn others_that_work_are_told_and_a_monitor_is_not() {
        let others = |taken: u32, others_at_work: u64| {
            let samples = Samples { taken, others_at_work, ..Samples::default() };
            only(LockWaits { samples, whole: Duration::from_secs(10) }.note_waits(8, &mut Counters::default()))
        };
        let mark = others(100, 180).unwrap();
        assert!(mark.kind == MarkKind::OtherClients && mark.detail.contains("1.8 sessions"), "{mark:?}");
        assert_eq!((others(100, 20), others(4, 8)), (None, None));
    }

    #[test]
    fn a_counter_tells_where_no_session_is_seen() {
        let mut counters = Counters::default();
        counters.set(ROW_LOCK_WAIT_MS, "ms", 60_000.0);
        let mark = only(waits(0, 0).note_waits(8, &mut counters)).unwrap();
        assert!(mark.detail.contains("most of the time, 75 %, by the server's counter"), "{}", mark.detail);
        assert_eq!(only(waits(0, 0).note_waits(32, &mut counters)), None);
    }
}
