//! Étalon's runs in SQLIO's output format.

use formats::sqlio::{
    Buffering, Command, Initiation, InitiationUs, LatencyCounts, LatencyTimer, Op, Pattern, Pool, PoolLine, Report,
    SizeLine, SizeOrigin, SqlioMeasured, Timing, Wording,
};
use model::{Case, Reading, RunState, Value};
use report::{Evidence, SeriesSource};
use store::StoredRun;
use workloads::disk::split_targets;

use super::{Called, CalledRun};
use crate::error::CliError;

/// Emulated version.
const VERSION: &str = "1.5.SG";
/// Counts of étalon's clock per second.
const CLOCK_PER_S: u64 = 1_000_000_000;
/// Default file size.
const DEFAULT_MB: u64 = 1_024;

/// Writes SQLIO's output for each measured run: by command line, then system, then round.
/// Without `called` the command lines come from the cases' keys.
pub fn render_outputs(
    evidence: &Evidence,
    source: &dyn SeriesSource,
    called: Option<&Called>,
) -> Result<String, CliError> {
    let made;
    let called = match called {
        Some(called) => called,
        None => {
            made = commands_of_cases(evidence);
            &made
        }
    };
    let mut text = String::new();
    let last = evidence.last_attempts();
    for line in &called.runs {
        let mut cases: Vec<(u32, &Case)> =
            (0..).zip(&evidence.cases).filter(|(_, case)| is_of_line(case, line)).collect();
        cases.sort_by_key(|(_, case)| evidence.header.plan.systems.iter().position(|one| one.name == case.system));
        for (number, case) in cases {
            let mut runs: Vec<&&StoredRun> =
                last.iter().filter(|run| run.planned.case == number && run.state == RunState::Measured).collect();
            runs.sort_by_key(|run| run.planned.round);
            for run in runs {
                text.push_str(&run_output(evidence, source, line, case, run)?.render(called.wording));
            }
        }
    }
    if text.is_empty() {
        let error =
            CliError::user_error("no run of the workload `disk` was measured: there is nothing that SQLIO prints");
        return Err(error);
    }
    Ok(text)
}

/// Whether a case is what a command line asks for: its benchmark and depth.
fn is_of_line(case: &Case, line: &CalledRun) -> bool {
    case.benchmark == line.benchmark && case.point.get("depth").and_then(Value::as_int) == Some(i64::from(line.depth))
}

/// Makes the command lines that ask for the same runs as the cases.
fn commands_of_cases(evidence: &Evidence) -> Called {
    let mut runs: Vec<CalledRun> = Vec::new();
    for case in &evidence.cases {
        if !runs.iter().any(|line| is_of_line(case, line))
            && let Some(line) = command_of_case(evidence, case)
        {
            runs.push(line);
        }
    }
    Called { runs, wording: Wording::AsSqlio }
}

/// Makes the SQLIO command that stands for a case; `None` if its keys have none.
fn command_of_case(evidence: &Evidence, case: &Case) -> Option<CalledRun> {
    let buffering = match text_at(case, "cache")? {
        "none" => Buffering::None,
        "fs" => Buffering::Software,
        "all" => Buffering::All,
        _ => Buffering::Hardware,
    };
    let depth = number_at(case, "depth")?;
    let pattern = match text_at(case, "pattern")? {
        "random" => Pattern::Random,
        "stride" => Pattern::Stride(number_at(case, "stride.blocks").unwrap_or(64)),
        _ => Pattern::Sequential,
    };
    let model::Length::Duration(length) = evidence.header.plan.schedule.length_at(&case.point) else { return None };
    let command = Command {
        op: if text_at(case, "op")? == "write" { Op::Write } else { Op::Read },
        threads: number_at(case, "threads")?,
        seconds: u32::try_from(length.as_secs()).ok()?,
        pattern,
        block_kb: number_at(case, "block_kb")?,
        outstanding: Some(depth),
        buffering: Some(buffering),
        latency: Some(LatencyTimer { timer: Timing::System, initiation: Initiation::Untimed }),
        ..Command::default()
    };
    let all_mb = size_of_all(case);
    let (threads, mask) = (command.threads, 0);
    let pools = match text_at(case, "targets").map(|all| split_targets(all).collect::<Vec<_>>()) {
        None => vec![Pool { files: command.files.clone(), threads, mask, size_mb: all_mb }],
        Some(parts) if parts.iter().all(|part| part.threads.is_none()) => {
            let files = parts.iter().map(|part| part.name.to_owned()).collect();
            vec![Pool { files, threads, mask, size_mb: all_mb }]
        }
        Some(parts) => parts
            .into_iter()
            .map(|part| Pool {
                files: vec![part.name.to_owned()],
                threads: part.threads.unwrap_or(threads),
                mask,
                size_mb: part.size_mb.or(all_mb),
            })
            .collect(),
    };
    Some(CalledRun { benchmark: case.benchmark.clone(), depth, command, pools })
}

/// A key's value in a case as a number that is not negative.
fn number_at(case: &Case, key: &str) -> Option<u32> {
    case.point.get(key).and_then(Value::as_int).and_then(|one| u32::try_from(one).ok())
}

/// A key's value in a case as a text.
fn text_at<'c>(case: &'c Case, key: &str) -> Option<&'c str> {
    case.point.get(key).and_then(Value::as_text)
}

/// Makes SQLIO's output for a run, with its latencies if the command asks for them.
fn run_output(
    evidence: &Evidence,
    source: &dyn SeriesSource,
    line: &CalledRun,
    case: &Case,
    run: &StoredRun,
) -> Result<Report, CliError> {
    let ios = value_of(evidence, run, "iops").map_or(0.0, |rate| rate * run.elapsed_s);
    let mut report = report_head(line, case, run);
    let latency = match line.command.latency {
        None => None,
        Some(_) => {
            let mut counts = LatencyCounts::default();
            let all = report::html::response_times_ns(source, run.id)
                .map_err(|error| CliError::could_not_run(format!("cannot read the latencies: {error}")))?;
            all.into_iter().for_each(|(ns, ios)| counts.add_ios(ns, ios));
            Some(counts)
        }
    };
    report.set_figures(&SqlioMeasured {
        // Recovers the count from the rate.
        ios: ios.round() as u64,
        elapsed_ns: (run.elapsed_s * 1e9).round() as u64,
        latency,
    });
    if line.command.latency.is_some_and(|timer| timer.initiation == Initiation::Timed) {
        let [least, mean, most] = ["submission_min", "submission_mean", "submission_max"]
            .map(|id| value_of(evidence, run, id).map(|us| us as u64));
        let figures = (least, mean, most);
        if let (min, Some(avg), Some(max)) = figures {
            report.initiation = Some(InitiationUs { min: min.unwrap_or(0), avg, max });
        }
    }
    Ok(report)
}

/// A run's finite value of a metric.
fn value_of(evidence: &Evidence, run: &StoredRun, id: &str) -> Option<f64> {
    let mut of_run = evidence.measurements.iter().filter(|stored| stored.run_id == run.id);
    let found = of_run.find(|stored| stored.measurement.metric.id == id)?;
    match found.measurement.reading {
        Reading::Value(value) if value.is_finite() => Some(value),
        _ => None,
    }
}

/// Makes SQLIO's output for a run, with what it says of the command and without figures.
fn report_head(line: &CalledRun, case: &Case, run: &StoredRun) -> Report {
    let command = &line.command;
    let threads: u32 = line.pools.iter().map(|pool| pool.threads).sum();
    let files: Vec<String> = line.pools.iter().flat_map(|pool| pool.files.clone()).collect();
    let mut first = 0;
    let mut lines = Vec::new();
    for pool in line.pools.iter().filter(|_| command.param_file.is_some()) {
        let (file, threads) = (pool.files.join(" "), pool.threads);
        lines.push(PoolLine { file, threads, first, last: first + threads.saturating_sub(1), mask: pool.mask });
        first += threads;
    }
    // The quick form makes smaller files, so the real sizes are printed. The parts of `targets` are in the files'
    // order.
    let parts = case.point.get("targets").and_then(Value::as_text).map(split_targets);
    let mut own_mb = parts.into_iter().flatten().map(|part| part.size_mb);
    let all_mb = size_of_all(case);
    let every_file = line.pools.iter().flat_map(|pool| pool.files.iter().map(move |file| (pool, file)));
    let sizes = every_file.map(|(pool, file)| size_line(pool, own_mb.next().flatten().or(all_mb), file)).collect();
    let planned = f64::from(command.seconds);
    // The quick form changes the length, too.
    let is_as_planned = (run.elapsed_s - planned).abs() <= 0.1 * planned + 1.0;
    let seconds = if is_as_planned { command.seconds } else { run.elapsed_s.round() as u32 };
    Report {
        version: Some(VERSION.to_owned()),
        timer: command.latency.map(|latency| latency.timer),
        timer_counts_per_s: command.latency.map(|_| CLOCK_PER_S),
        param_file: command.param_file.clone(),
        pools: lines,
        threads: Some(threads),
        op: Some(command.op),
        seconds: Some(seconds),
        files,
        block_kb: Some(command.block_kb),
        pattern: Some(command.pattern),
        outstanding: command.outstanding,
        buffering: command.buffering,
        sizes,
        ..Report::default()
    }
}

/// The `size_mb` of a case, which is that of all its files.
fn size_of_all(case: &Case) -> Option<u64> {
    case.point.get("size_mb").and_then(Value::as_int).and_then(|mb| u64::try_from(mb).ok())
}

/// Makes the line that says how large a file is: as made, as specified, or the default.
fn size_line(pool: &Pool, made_mb: Option<u64>, file: &str) -> SizeLine {
    let origin = if pool.size_mb.is_some() { SizeOrigin::Specified } else { SizeOrigin::Current };
    SizeLine { origin, mb: made_mb.or(pool.size_mb).unwrap_or(DEFAULT_MB), file: file.to_owned() }
}
