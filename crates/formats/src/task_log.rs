//! Task logs of the published C# client for PostgreSQL: one file per process, one line per task.
//!
//! A line has the process's GUID, the thread, the time in ticks of 100 ns, and the time of day to the second,
//! separated by tabs. A failed task has -1 and midnight. Whether the time of day is the task's begin or end is not
//! published, so no rate is computed.

use std::fmt;
use std::io::BufRead;

use model::{Direction, Measurement, Reading, Role, Series, Value};

use crate::durations::{SampledDurations, latency_measurement};
use crate::lines::read_items;
use crate::reader::{Names, Reader, Reads};
use crate::text::shorten;
use crate::{FormatError, Imported, ImportedResult};

/// The length of a tick in nanoseconds.
pub const TICK_NS: u64 = 100;
/// Limits by which the article counts (J. Nielsen, Usability Engineering, 1993).
pub const LIMITS_MS: [u64; 4] = [100, 1_000, 5_000, 10_000];

const SECONDS_PER_DAY: u32 = 86_400;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedTask {
    pub process: String,
    pub thread: u32,
    /// The duration in ticks of 100 ns; `None` when it failed.
    pub ticks: Option<u64>,
    pub at_s: u32,
}

impl fmt::Display for LoggedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t", self.process, self.thread)?;
        match self.ticks {
            Some(ticks) => write!(f, "{ticks}")?,
            None => write!(f, "-1")?,
        }
        write!(f, "\t{:02}:{:02}:{:02}", self.at_s / 3600, self.at_s / 60 % 60, self.at_s % 60)
    }
}

/// Reads the tasks of a log, line by line.
pub fn read_tasks<R: BufRead>(reader: R) -> impl Iterator<Item = Result<LoggedTask, FormatError>> {
    read_items(reader, parse_task)
}

/// Parses a task from its line.
fn parse_task(number: u64, line: &str) -> Result<LoggedTask, FormatError> {
    let words: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [process, thread, ticks, at] = words[..] else {
        let what = format!("{} words, a task log has 4 separated by tabs: {}", words.len(), shorten(line));
        return Err(FormatError::at_line(number, what));
    };
    if !is_guid(process) {
        return Err(wrong_word(number, &words, 0, "this is no GUID of a process"));
    }
    let ticks = match ticks {
        "-1" => None,
        _ => Some(
            parse_digits(ticks)
                .ok_or_else(|| wrong_word(number, &words, 2, "this is no number of ticks, and not -1"))?,
        ),
    };
    Ok(LoggedTask {
        process: process.to_owned(),
        thread: parse_digits(thread)
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| wrong_word(number, &words, 1, "this is no thread's number"))?,
        ticks,
        at_s: time_of_day(at).ok_or_else(|| wrong_word(number, &words, 3, "this is no time of day"))?,
    })
}

/// Makes the error at a word of a line.
fn wrong_word(number: u64, words: &[&str], word: usize, what: &str) -> FormatError {
    FormatError::at_column(
        number,
        1 + words[..word].iter().map(|w| w.chars().count() + 1).sum::<usize>(),
        format!("{}: {what}", shorten(words[word])),
    )
}

/// Parses a text of digits alone.
fn parse_digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Tests whether a text has the form of a GUID.
fn is_guid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Parses a time of day, `05:09:19`, in seconds since midnight.
fn time_of_day(text: &str) -> Option<u32> {
    let mut parts = text.split(':').map(|part| parse_digits(part).filter(|n| *n < 60 && part.len() == 2));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let at_s = u32::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
    (parts.next().is_none() && at_s < SECONDS_PER_DAY).then_some(at_s)
}

pub const READER: Reader = Reader {
    name: "task-log",
    about: "Task logs of the published C# client for PostgreSQL; all of a system are one run",
    recognises: |head| head.lines().take(2).all(|line| parse_task(1, line).is_ok()),
    names: Names::Folder,
    reads: Reads::Logs(crate::logs::import_task_logs),
};

/// One or several processes. Times in ticks of 100 ns.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    ticks: Vec<u64>,
    failed: u64,
    processes: Vec<Process>,
    sorted: bool,
}

#[derive(Clone, Debug, Default)]
struct Process {
    name: String,
    durations: SampledDurations,
    failed: u64,
}

impl Summary {
    /// Adds the tasks of a log, and keeps 8 bytes of each for exact medians. May be called for several logs.
    pub fn read_log<R: BufRead>(&mut self, reader: R) -> Result<(), FormatError> {
        for task in read_tasks(reader) {
            self.add_task(&task?);
        }
        Ok(())
    }

    /// Adds a task to its process.
    pub fn add_task(&mut self, task: &LoggedTask) {
        let known = self.processes.iter().rposition(|process| process.name == task.process);
        let index = known.unwrap_or_else(|| {
            self.processes.push(Process { name: task.process.clone(), ..Process::default() });
            self.processes.len() - 1
        });
        let process = &mut self.processes[index];
        match task.ticks {
            Some(ticks) => {
                process.durations.add_ns(ticks.saturating_mul(TICK_NS));
                self.ticks.push(ticks);
                self.sorted = false;
            }
            None => {
                process.failed += 1;
                self.failed += 1;
            }
        }
    }

    /// The number of tasks that succeeded.
    pub fn succeeded(&self) -> u64 {
        self.ticks.len() as u64
    }

    /// Number of tasks that failed.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The shortest time of a task that succeeded, in ticks.
    pub fn min_ticks(&self) -> Option<u64> {
        self.ticks.iter().min().copied()
    }

    /// The longest time of a task that succeeded, in ticks.
    pub fn max_ticks(&self) -> Option<u64> {
        self.ticks.iter().max().copied()
    }

    /// The mean time of the tasks that succeeded, in ticks.
    pub fn mean_ticks(&self) -> Option<f64> {
        let sum: u128 = self.ticks.iter().map(|ticks| u128::from(*ticks)).sum();
        (!self.ticks.is_empty()).then(|| sum as f64 / self.ticks.len() as f64)
    }

    /// Gives the median duration in ticks; of an even number the mean of the two in the middle.
    pub fn median_ticks(&mut self) -> Option<f64> {
        let (low, high) =
            (self.ranked_ticks((self.ticks.len().max(1) - 1) / 2)?, self.ranked_ticks(self.ticks.len() / 2)?);
        Some(f64::midpoint(low as f64, high as f64))
    }

    /// Gives the duration of a rank from 0, sorted first if necessary.
    fn ranked_ticks(&mut self, rank: usize) -> Option<u64> {
        if !self.sorted {
            self.ticks.sort_unstable();
            self.sorted = true;
        }
        self.ticks.get(rank).copied()
    }

    /// Counts the tasks faster than this.
    pub fn count_below_ms(&self, limit_ms: u64) -> u64 {
        let limit = limit_ms.saturating_mul(1_000_000 / TICK_NS);
        self.ticks.iter().filter(|ticks| **ticks < limit).count() as u64
    }

    /// Merges the durations of all processes.
    fn all_durations(&self) -> SampledDurations {
        let mut all = SampledDurations::default();
        self.processes.iter().for_each(|process| all.merge(&process.durations));
        all
    }

    /// Makes the measurements of the whole side.
    fn measurements(&mut self) -> Vec<Measurement> {
        let mut all = self.all_durations().make_latency_measurements(self.failed);
        // With failures the median is not that of the successes.
        if self.failed == 0
            && let Some(median) = self.median_ticks()
            && let Some(found) = all.iter_mut().find(|m| m.metric.id == "response_p50")
        {
            // Exact, unlike the histogram's.
            *found = latency_measurement("response_p50", Role::Primary, Reading::Value(median * TICK_NS as f64 / 1e3));
        }
        let mut count = |id: &str, direction, count: u64| {
            all.push(Measurement::value(id, "", direction, Role::Diagnostic, count as f64));
        };
        count("executions", Direction::Neither, self.succeeded() + self.failed);
        count("errors", Direction::Lower, self.failed);
        for limit_ms in LIMITS_MS {
            count(&format!("below_{limit_ms}ms"), Direction::Higher, self.count_below_ms(limit_ms));
        }
        all
    }
}

/// Makes one result of a side, since its processes ran at the same time on one server.
/// Each process keeps a histogram.
pub fn import_summary(summary: &mut Summary, system: &str, source: &str) -> Imported {
    let mut result = ImportedResult::new(system, "select-update");
    result.keys.insert("processes".to_owned(), Value::Int(i64::try_from(summary.processes.len()).unwrap_or(i64::MAX)));
    result.measurements = summary.measurements();
    let series: Vec<Series> = summary
        .processes
        .iter()
        .filter_map(|process| process.durations.make_series(&process.name, 0.0, process.failed))
        .collect();
    result.series = series;
    if summary.failed > 0 {
        let (failed, all) = (summary.failed, summary.succeeded() + summary.failed);
        result.notes.push(format!(
            "{failed} of {all} executions failed: they have no time, and count as longer than all others"
        ));
    }
    let unknown = [
        "the versions of client and server",
        "the settings of the server",
        "why executions failed",
        "the length of the run",
        "the order of the tasks",
    ];
    Imported {
        results: vec![result],
        notes: vec!["a task's time holds the wait for a connection and the client's own sleep".to_owned()],
        ..Imported::new(READER.name, source, unknown)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "00000000-1111-2222-3333-444444444444";
    const B: &str = "0f000000-1111-2222-3333-444444444444";

    fn log() -> String {
        format!(
            "\u{feff}{A}\t31\t10000000\t03:47:09\r\n{A}\t31\t-1\t00:00:00\r\n\r\n{A}\t4\t1093749\t23:59:59\r\n{B}\t5\t30000000\t03:47:10\r\n"
        )
    }

    #[test]
    fn a_log_is_summed_up_exactly() {
        let mut summary = Summary::default();
        summary.read_log(log().as_bytes()).unwrap();
        assert_eq!((summary.succeeded(), summary.failed()), (3, 1));
        assert_eq!((summary.min_ticks(), summary.max_ticks()), (Some(1_093_749), Some(30_000_000)));
        assert_eq!(summary.mean_ticks(), Some(41_093_749.0 / 3.0));
        assert_eq!(summary.processes.iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), [A, B]);
        assert_eq!(LIMITS_MS.map(|limit| summary.count_below_ms(limit)), [0, 1, 3, 3], "below is not at");
        summary.add_task(&LoggedTask { process: B.to_owned(), thread: 1, ticks: Some(20_000_000), at_s: 0 });
        assert_eq!(summary.median_ticks(), Some(15_000_000.0));
        let imported = import_summary(&mut summary, "linux", "details.txt");
        let errors = imported.results[0].measurements.iter().find(|m| m.metric.id == "errors").unwrap();
        assert_eq!(errors.reading, Reading::Value(1.0));
        assert_eq!(imported.results[0].series.len(), 2);
        assert_eq!(Summary::default().median_ticks(), None);
    }

    #[test]
    fn a_line_that_is_no_task_is_named() {
        for (line, message) in [
            ("x\t1\t2\t03:00:00", "line 1, column 1: x: this is no GUID of a process"),
            ("a b", "line 1: 1 words, a task log has 4 separated by tabs: a b"),
            (&format!("{A}\tx\t2\t03:00:00"), "line 1, column 38: x: this is no thread's number"),
            (&format!("{A}\t1\t-2\t03:00:00"), "line 1, column 40: -2: this is no number of ticks, and not -1"),
            (&format!("{A}\t1\t2\t24:00:00"), "line 1, column 42: 24:00:00: this is no time of day"),
            (&format!("{A}\t1\t2\t3:00:00"), "line 1, column 42: 3:00:00: this is no time of day"),
        ] {
            let mut tasks = read_tasks(line.as_bytes());
            assert_eq!(tasks.next().unwrap().unwrap_err().to_string(), message);
            assert!(tasks.next().is_none());
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(thread: u32, ticks: Option<u64>, at_s in 0..SECONDS_PER_DAY) {
            let task = LoggedTask { process: A.to_owned(), thread, ticks, at_s };
            let read: Result<Vec<LoggedTask>, FormatError> = read_tasks(task.to_string().as_bytes()).collect();
            prop_assert_eq!(read.unwrap(), vec![task]);
        }

        #[test]
        fn nothing_makes_it_panic(bytes: Vec<u8>, cut in 0..200_usize) {
            let _ = read_tasks(&bytes[..]).count();
            let mut damaged = log().into_bytes();
            let at = cut.min(damaged.len());
            damaged.splice(at..at, bytes);
            let mut summary = Summary::default();
            let _ = summary.read_log(&damaged[..]);
            let _ = import_summary(&mut summary, "a", "b");
        }
    }
}
