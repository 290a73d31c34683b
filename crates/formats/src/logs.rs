//! Logs of a run, of which each thread or process writes its own: they are added up.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::reader::{LogError, LogFile, Open, Options};
use crate::{FormatError, Imported};

/// Files of one run, added up.
pub(crate) struct Run<S> {
    pub system: String,
    name: PathBuf,
    pub sum: S,
    sources: Vec<String>,
}

impl<S> Run<S> {
    /// The names of the run's files.
    pub fn source_names(&self) -> String {
        self.sources.join(", ")
    }
}

/// Adds up each system's files of one run; `name` tells which run a file is of.
pub(crate) fn sum_up_runs<S: Default>(
    files: &[LogFile<'_>],
    open: Open<'_>,
    name: impl Fn(&LogFile<'_>) -> PathBuf,
    read: impl Fn(&mut S, Box<dyn BufRead>) -> Result<(), FormatError>,
) -> Result<Vec<Run<S>>, LogError> {
    let mut runs: Vec<Run<S>> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let name = name(file);
        let at = match runs.iter().position(|run| run.system == file.system && run.name == name) {
            Some(known) => known,
            None => {
                runs.push(Run { system: file.system.to_owned(), name, sum: S::default(), sources: Vec::new() });
                runs.len() - 1
            }
        };
        let in_file = |error| LogError { file: Some(number), error };
        let reader = open(number).map_err(|source| in_file(FormatError::Read { line: 0, source }))?;
        let run = &mut runs[at];
        read(&mut run.sum, reader).map_err(in_file)?;
        run.sources.push(file.path.display().to_string());
    }
    Ok(runs)
}

/// Fails if a run has no line, since it measured nothing; single threads may be empty.
pub(crate) fn refuse_empty_runs<S>(runs: &[Run<S>], what: &str, count: impl Fn(&S) -> u64) -> Result<(), LogError> {
    match runs.iter().find(|run| count(&run.sum) == 0) {
        None => Ok(()),
        Some(run) => Err(whole_log_error(
            format!("{} holds no {what}", run.source_names()),
            "name the files of a run that ended, or leave this one out",
        )),
    }
}

/// Makes the error that concerns several logs.
pub(crate) fn whole_log_error(what: String, hint: &str) -> LogError {
    LogError { file: None, error: FormatError::of_whole(what).with_hint(hint) }
}

pub(crate) const AS_PGBENCH_NAMES_THEM: &str =
    "name the logs as pgbench does: NAME.PROCESS for a run's first thread, NAME.PROCESS.1 for its second";

/// Fails if runs of a system overlap in time: they are threads of one run under other names.
pub(crate) fn refuse_overlapping_runs<S>(runs: &[Run<S>], overlaps: impl Fn(&S, &S) -> bool) -> Result<(), LogError> {
    for (at, run) in runs.iter().enumerate() {
        let other = runs[..at].iter().find(|other| other.system == run.system && overlaps(&other.sum, &run.sum));
        if let Some(other) = other {
            let what = format!(
                "{} and {} are of the same time, and a system has its runs one after the other",
                other.source_names(),
                run.source_names()
            );
            return Err(whole_log_error(what, AS_PGBENCH_NAMES_THEM));
        }
    }
    Ok(())
}

/// Gives the run of a log of pgbench, by the names of the others.
fn find_run_of_log(file: &LogFile<'_>, all: &[LogFile<'_>]) -> PathBuf {
    let name = file.path.file_name().unwrap_or(file.path.as_os_str()).to_string_lossy();
    file.path.with_file_name(crate::pgbench::run_of_log(&name, |name: &str| {
        let path = file.path.with_file_name(name);
        all.iter().any(|other| other.system == file.system && other.path == path)
    }))
}

/// Gives the system of a log: its file stem, without the numbers of process and thread.
pub fn system_of_log(path: &Path) -> String {
    let whole = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let prefix = crate::pgbench::prefix_of_log(&whole);
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    if prefix == whole { stem.into_owned() } else { prefix.to_owned() }
}

/// Imports logs of tasks, each system's files as one run.
pub(crate) fn import_task_logs(
    files: &[LogFile<'_>],
    _options: &Options,
    open: Open<'_>,
) -> Result<Vec<Imported>, LogError> {
    use crate::task_log::{Summary, import_summary};
    let sides = sum_up_runs(files, open, |_| PathBuf::new(), Summary::read_log)?;
    refuse_empty_runs(&sides, "task", |sum: &Summary| sum.succeeded() + sum.failed())?;
    Ok(sides
        .into_iter()
        .map(|side| {
            let source = side.source_names();
            let Run { system, mut sum, .. } = side;
            import_summary(&mut sum, &system, &source)
        })
        .collect())
}

/// Imports pgbench's logs of transactions, each run's files together.
pub(crate) fn import_pgbench_logs(
    files: &[LogFile<'_>],
    options: &Options,
    open: Open<'_>,
) -> Result<Vec<Imported>, LogError> {
    use crate::pgbench::{LogSummary, import_log};
    let runs = sum_up_runs(
        files,
        open,
        |file| find_run_of_log(file, files),
        |log: &mut LogSummary, reader: Box<dyn BufRead>| log.read_log(reader, options.seventh),
    )?;
    refuse_empty_runs(&runs, "transaction", LogSummary::line_count)?;
    if let Some(run) = runs.iter().find(|run| run.sum.is_of_several_runs()) {
        let what = format!(
            "{}: clients have more lines than transactions: these are logs of several runs",
            run.source_names()
        );
        return Err(whole_log_error(what, AS_PGBENCH_NAMES_THEM));
    }
    refuse_overlapping_runs(&runs, LogSummary::overlaps)?;
    Ok(runs.iter().map(|run| import_log(&run.sum, &run.system, &run.source_names())).collect())
}

/// Imports pgbench's logs of intervals, each run's files together.
pub(crate) fn import_pgbench_aggregates(
    files: &[LogFile<'_>],
    _options: &Options,
    open: Open<'_>,
) -> Result<Vec<Imported>, LogError> {
    use crate::pgbench::{AggregateRun, AggregateSummary, import_aggregates};
    let runs = sum_up_runs(files, open, |file| find_run_of_log(file, files), AggregateSummary::read_log)?;
    refuse_empty_runs(&runs, "interval", |sum: &AggregateSummary| sum.intervals().len() as u64)?;
    refuse_overlapping_runs(&runs, AggregateSummary::overlaps)?;
    let runs = runs.iter().map(|run| AggregateRun { log: &run.sum, system: &run.system, source: run.source_names() });
    Ok(import_aggregates(&runs.collect::<Vec<_>>()))
}
