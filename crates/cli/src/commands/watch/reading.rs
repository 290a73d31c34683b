//! What a store says of its experiment at one moment.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::process;
use model::{RowSoFar, RunState};
use report::{ComparisonSet, Evidence, Options};
use store::{Store, StoreError, StoredRun};

use crate::commands::report::set_of;
use crate::error::CliError;

/// Where an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    Ended,
    Running,
    /// Runs are open, and no process of this host makes them.
    Stopped,
}

impl Course {
    /// The word for where the experiment is, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Course::Ended => "ended",
            Course::Running => "running",
            Course::Stopped => "stopped",
        }
    }
}

/// An experiment as its store had it at one moment, compared as a report does.
pub struct Watched {
    pub evidence: Evidence,
    /// The process that writes the store, or wrote it when it was killed.
    pub writer: Option<u32>,
    /// `Err` while nothing can be compared, such as before the first measured run.
    pub set: Result<ComparisonSet, CliError>,
}

impl Watched {
    /// Reads a store at one moment, compares its systems and closes it.
    pub fn read(path: &Path) -> Result<Watched, StoreError> {
        let store = Store::open_read_only(path)?;
        let (evidence, writer) = store.at_one_moment(|store| Ok((Evidence::read_store(store)?, store.writer_pid())))?;
        drop(store);
        let set = set_of(&evidence, &Options::default().comparing_only_factor(&evidence));
        Ok(Watched { evidence, writer, set })
    }

    /// Whether the experiment has ended, runs, or was stopped.
    pub fn course(&self) -> Course {
        match self.writer {
            _ if self.evidence.progress_if_unfinished().is_none() => Course::Ended,
            Some(pid) if process::start_mark(pid).is_ok_and(|mark| process::is_alive(pid, mark)) => Course::Running,
            _ => Course::Stopped,
        }
    }

    /// The rows of the comparison as they stand so far.
    pub fn rows_so_far(&self) -> Vec<RowSoFar> {
        self.set.as_ref().map(report::look::rows_so_far).unwrap_or_default()
    }

    /// The run that is being made, or was when étalon ended.
    pub fn current_run(&self) -> Option<&StoredRun> {
        self.evidence.runs.iter().find(|run| run.state == RunState::Running)
    }

    /// The time from the first run's start until now, or until the last run's end if none is running.
    pub fn time_taken(&self, now_unix_ms: i64) -> Option<Duration> {
        let starts = || self.evidence.runs.iter().filter_map(|run| Some((run, self.evidence.began_unix_ms(run)?)));
        let first = starts().map(|(_, start)| start).min()?;
        let last = starts().map(|(run, start)| start.saturating_add((run.elapsed_s * 1e3) as i64)).max()?;
        let until = if self.course() == Course::Running { now_unix_ms } else { last };
        Some(time_between(first, until))
    }

    /// Estimates the time of the runs that are left, each as long as the median one so far; `None` before the second run.
    pub fn time_left(&self, now_unix_ms: i64) -> Option<Duration> {
        let mut starts: Vec<i64> =
            self.evidence.runs.iter().filter_map(|run| self.evidence.began_unix_ms(run)).collect();
        starts.sort_unstable();
        let mut lengths: Vec<Duration> = starts.windows(2).map(|pair| time_between(pair[0], pair[1])).collect();
        lengths.sort_unstable();
        let of_a_run = *lengths.get(lengths.len() / 2)?;
        let counts = self.evidence.run_counts();
        let open = counts.planned.saturating_sub(counts.measured + counts.failed);
        let since =
            self.current_run().and(starts.last()).map_or(Duration::ZERO, |start| time_between(*start, now_unix_ms));
        Some((of_a_run * u32::try_from(open).ok()?).saturating_sub(since.min(of_a_run)))
    }
}

/// The time between two instants; 0 if the second is earlier.
fn time_between(from_unix_ms: i64, to_unix_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(to_unix_ms.saturating_sub(from_unix_ms)).unwrap_or_default())
}

/// The time now, in milliseconds since 1970.
pub fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
