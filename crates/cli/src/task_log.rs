//! `--task-log`: finished tasks in the layout of the published client (Guazzo, "PostgreSQL: Linux contre Windows",
//! 2016): application id, running tasks, duration in ticks of 100 ns or -1, time of the end, separated by tabs.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use host::files::{Replacing, put_file};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use load::rng::Rng;
use load::worker::{TaskEnd, TaskLog};
use model::{Plan, PlannedRun};

/// Nanoseconds of a tick.
const TICK_NS: u64 = 100;

pub struct TaskLogs {
    folder: PathBuf,
    seed: u64,
    run: u32,
    /// Name of the run's folder.
    name: String,
    /// The run's folder, once it is made.
    of_run: Option<PathBuf>,
}

/// Most folders that are tried for a run that was repeated.
const MOST_ATTEMPTS: u32 = 10_000;

impl TaskLogs {
    /// Makes the logs' writer; the folder is made once something is written.
    pub fn new(folder: &Path, plan: &Plan) -> TaskLogs {
        TaskLogs { folder: folder.to_owned(), seed: plan.schedule.seed, run: 0, name: String::new(), of_run: None }
    }

    /// Names the folder of a run that starts, `round-01-003-LABEL`.
    /// A run that is repeated gets one of its own, as `round-01-003-LABEL-2`.
    pub fn run_started(&mut self, run: PlannedRun, label: &str) {
        let label: String = label
            .replace(" @ ", "-")
            .chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '.' | '=') { c } else { '-' })
            .take(80)
            .collect();
        self.run = run.position;
        self.name = format!("round-{:02}-{:03}-{label}", run.round + 1, run.position + 1);
        self.of_run = None;
    }

    /// Makes the run's folder under a name that is free, or returns it if it is made.
    fn folder_of_run(&mut self) -> Result<PathBuf, String> {
        if let Some(made) = &self.of_run {
            return Ok(made.clone());
        }
        std::fs::create_dir_all(&self.folder).map_err(|error| folder_error(&self.folder, &error))?;
        for attempt in 1..MOST_ATTEMPTS {
            let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
            let path = self.folder.join(format!("{}{suffix}", self.name));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(self.of_run.insert(path).clone()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(folder_error(&path, &error)),
            }
        }
        Err(folder_error(&self.folder.join(&self.name), &ErrorKind::AlreadyExists.into()))
    }

    /// Writes the logs of a run's tasks, a file for each process.
    pub fn write_logs(&mut self, logs: &[TaskLog]) -> Result<(), String> {
        let folder = self.folder_of_run()?;
        for log in logs {
            let id = self.application_id(log.process);
            let path = folder.join(format!("details.{id}.txt"));
            put_file(&path, log_text(&id, log).as_bytes(), Replacing::Own(&|_| false))
                .map_err(|error| format!("the task log could not be written: {error}"))?;
        }
        Ok(())
    }

    /// Derives a GUID for a process of a run from the plan's seed.
    /// The published client drew a random one at its start.
    fn application_id(&self, process: u32) -> String {
        let mut rng = Rng::of_transaction(self.seed, process, self.run.into());
        let (high, low) = (rng.next_u64(), rng.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }
}

/// Says that a folder could not be made.
fn folder_error(path: &Path, error: &std::io::Error) -> String {
    format!("the folder {} could not be made: {error}", path.display())
}

/// A line for each task: id, tasks running, duration in ticks, and time of day.
fn log_text(id: &str, log: &TaskLog) -> String {
    let mut text = String::new();
    for TaskEnd { running, response_ns, ended_ns } in &log.tasks {
        // A failed task has neither duration nor time there.
        let (ticks, end) = match response_ns {
            Some(response_ns) => (
                (response_ns / TICK_NS) as i64,
                time_of_day(log.began_unix_ms.saturating_add((ended_ns / 1_000_000) as i64)),
            ),
            None => (-1, "00:00:00".to_owned()),
        };
        let _ = writeln!(text, "{id}\t{running}\t{ticks}\t{end}");
    }
    text
}

/// Writes the time of day in UTC; `00:00:00` if it is out of range.
fn time_of_day(unix_ms: i64) -> String {
    let instant = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.to_zoned(TimeZone::UTC).strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_published_client() {
        let log = TaskLog {
            process: 0,
            began_unix_ms: 1_452_051_960_000,
            tasks: vec![ended(Some(953_086_899), 953_086_899), ended(None, 2_000_000_000)],
        };
        let id = "7fef1b67-3dfb-4190-869a-3ff7cce113c1";
        assert_eq!(log_text(id, &log), format!("{id}\t31\t9530868\t03:46:00\n{id}\t31\t-1\t00:00:00\n"));
    }

    fn ended(response_ns: Option<u64>, ended_ns: u64) -> TaskEnd {
        TaskEnd { running: 31, response_ns, ended_ns }
    }

    #[test]
    fn ids_have_the_form_of_a_guid_and_differ() {
        let id = logs(1, 2).application_id(0);
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()));
        assert_eq!(id, logs(1, 2).application_id(0));
        for other in [logs(2, 2).application_id(0), logs(1, 3).application_id(0), logs(1, 2).application_id(1)] {
            assert_ne!(id, other);
        }
    }

    fn logs(seed: u64, run: u32) -> TaskLogs {
        TaskLogs { folder: "x".into(), seed, run, name: String::new(), of_run: None }
    }
}
