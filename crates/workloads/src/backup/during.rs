//! Ordinary load during a backup.

use std::thread;

use model::{Point, RunRecord, RunState};

use super::figures::unavailable_outcome;
use crate::dataset::Dataset;
use crate::step::{StepContext, StepOutcome, Stepped};
use crate::transactions::Transactions;
use crate::work::RunTask;
use crate::work::StreamTask;
use crate::workload::{Action, Grants, Task, Workload as _};
use load::error::{Failure, FailureKind};
use load::observer::Silent;
use load::overlap::Overlap;

/// Prefix of keys of `transactions`.
const PREFIX: &str = "load.";

/// Reads the plan's `load.` keys: the load to run during the backup, with its tables; `None` if there are none.
pub(super) fn read_load(point: &Point, grants: &Grants) -> Result<Option<(Dataset, StreamTask)>, Failure> {
    let own: Point =
        point.iter().filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?.to_owned(), value.clone()))).collect();
    let Some(any) = own.keys().next().cloned() else { return Ok(None) };
    if !own.contains_key("script") {
        let cause = "there is no load";
        return Err(Failure::new(FailureKind::Plan, format!("read the key `{PREFIX}{any}`"), cause)
            .with_hint("set `load.script`, as in `load = { script = \"tpcb-like\" }`"));
    }
    let Task { dataset, action } = Transactions.make_task(&own, grants)?;
    match action {
        Action::Stream(stream) => Ok(Some((dataset, stream))),
        Action::Step(_) => Ok(None),
    }
}

/// Adds the load's tables to the backup's data set.
pub(super) fn merge_datasets(mut all: Dataset, load: Dataset) -> Dataset {
    all.name = format!("{}, and {}", all.name, load.name);
    all.tables.extend(load.tables);
    all.indexes.extend(load.indexes);
    all.afterwards.extend(load.afterwards);
    all.later.extend(load.later);
    all.engine_statements = all.engine_statements.or(load.engine_statements);
    all.size_bytes += load.size_bytes;
    all
}

/// Prepares the run of the load for the time of the backup, with the step's schedule and seed.
fn prepare_load<'t>(context: &'t StepContext<'_>, task: &'t StreamTask) -> RunTask<'t> {
    RunTask {
        system: context.system,
        task,
        schedule: context.schedule,
        seed: context.seed,
        interrupt: context.interrupt,
    }
}

/// Runs `run` once the load has warmed up, and ends the load when it returns.
pub(super) fn run_under_load<T>(
    task: &StreamTask,
    context: &StepContext<'_>,
    run: impl FnOnce() -> Result<T, Failure>,
) -> Result<(T, RunRecord), Failure> {
    let overlap = Overlap::default();
    let loading = prepare_load(context, task);
    let (done, record) = thread::scope(|scope| {
        let load = scope.spawn(|| loading.run_overlapping(&overlap, &mut Silent));
        let done = {
            let _end = overlap.end_at_drop();
            overlap.wait_for_load(context.interrupt).then(run)
        };
        let record = load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (done, record)
    });
    match (done.transpose()?, record?) {
        (Some(done), record) if record.state == RunState::Measured => Ok((done, record)),
        _ => Err(Failure::new(FailureKind::Other, "go on", "interrupted by the user")),
    }
}

/// Runs the load alone, without a backup, to compare with.
pub(super) fn run_load_without_backup(task: &StreamTask, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
    context.report_progress("transactions alone", 0, 1);
    let run = RunTask {
        system: context.system,
        task,
        schedule: context.schedule,
        seed: context.seed,
        interrupt: context.interrupt,
    };
    let record = run.run_here(context.observer)?;
    if record.state != RunState::Measured {
        return Ok(Stepped::Interrupted);
    }
    let RunRecord { elapsed_s, mut measurements, series, marks, .. } = record;
    measurements.extend(unavailable_outcome("no backup was taken").measurements);
    Ok(Stepped::Done(StepOutcome { elapsed_s, measurements, series, marks, ..StepOutcome::default() }))
}
