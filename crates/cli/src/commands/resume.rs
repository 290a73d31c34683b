//! `etalon resume`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use conductor::Registry;
use conductor::experiment::ExperimentOptions;
use model::plan::Unmasked;
use model::{Order, Plan, RunState, Schedule};
use report::number::count_noun;
use store::{Header, Rest, Store, StoreError, StoredRun};

use super::changes::Changes;
use super::run::{BUILD, VERSION, conduct, experiment_options, extend_command, finish, time_limit};
use crate::args::{Cli, Command, PlanSource, ResumeArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::leftovers;
use crate::printer::Printer;
use crate::results::instead_of_store;
use crate::source::{self, Loaded};

/// Runs `etalon resume`: runs what an experiment has not measured yet.
pub fn run(args: &ResumeArgs, printer: Printer) -> Result<Exit, CliError> {
    let registry = Registry::built_in();
    if args.undo_only {
        return undo_changes(args, &registry, printer);
    }
    check_writable_by_this_build("resume", &args.store, |store| Ok(!store.pending()?.is_empty()))?;
    let mut store = Store::open(&args.store)?;
    let changes = Changes::from_pairs(&args.set, store.header())?;
    if !store.pending()?.is_empty() {
        check_same_build(store.header())?;
    }
    let mut loaded = plan_of(store.header(), &registry, printer)?;
    change_schedule(&mut loaded.plan, changes, &mut store)?;
    leftovers::offer_removal(leftovers::RemovalConsent::from_flag(args.conduct.yes), printer);
    let aborted = store.abort_running(model::run::PROCESS_ENDED)?;
    if aborted > 0 {
        printer.print_note(&format!("{} cut off when étalon ended: repeated", count_noun(aborted, "run")));
    }
    // Rounds that stopped half-way are repeated with their measured runs.
    let result = if store.pending()?.is_empty() && store.read_changes()?.is_empty() {
        printer.print_note("nothing is pending: every run has been measured");
        Ok(conductor::ExperimentEnd::Complete { failed: 0 })
    } else {
        printer.print_note(&format!("{}: {} pending", loaded.plan.name, count_noun(count_unmeasured(&store)?, "run")));
        // In sequential order a round's runs are far apart anyway.
        let keeps_rounds = args.only_pending || loaded.plan.schedule.order == Order::Sequential;
        let rest = if keeps_rounds { Rest::OnlyPending } else { Rest::WholeRounds };
        let is_timed = !is_extended(store.header());
        let source = if is_timed { source_from_command(store.header()) } else { None };
        let limit = source
            .map_or(Ok(None), |source| time_limit(&source, &loaded.plan, time_spent(&store.runs()?), &registry))?;
        let options =
            ExperimentOptions { rest, limit, ..experiment_options(args.conduct.yes, &args.conduct.loading, printer) };
        conduct(&registry, &loaded.plan, &mut store, options, args.conduct.task_log.as_deref(), printer)
    };
    finish(result, store, &loaded, &args.store, args.conduct.format, printer)
}

/// Times the usual pause between two runs' beginnings, beyond which the experiment was not at work.
const SITTING: u64 = 10;

/// Whether rounds were added to a stored experiment.
fn is_extended(header: &Header) -> bool {
    header.plan.schedule.until_sure.is_some_and(|until| until.begun.is_some())
}

/// The time that an experiment's runs took with what came between them, but for pauses between its sittings.
fn time_spent(runs: &[StoredRun]) -> Duration {
    let mut starts: Vec<i64> = runs.iter().filter_map(|run| run.started_unix_ms).collect();
    starts.sort_unstable();
    let mut gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
    gaps.sort_unstable();
    // A longer one is a pause.
    let longest_ms = SITTING * gaps.get(gaps.len() / 2).copied().unwrap_or_default();
    Duration::from_millis(gaps.iter().map(|gap| (*gap).min(longest_ms)).sum())
}

/// Undoes the changes that an étalon left in servers, and runs nothing.
fn undo_changes(args: &ResumeArgs, registry: &Registry, printer: Printer) -> Result<Exit, CliError> {
    let mut store = Store::open(&args.store)?;
    if store.read_changes()?.is_empty() {
        printer.print_note("nothing is to be undone");
        return Ok(Exit::Done);
    }
    let loaded = plan_of(store.header(), registry, printer)?;
    let options =
        ExperimentOptions { only_undo: true, ..experiment_options(args.conduct.yes, &args.conduct.loading, printer) };
    conduct(registry, &loaded.plan, &mut store, options, None, printer)?;
    store.close()?;
    Ok(Exit::Done)
}

/// Fails if runs would be added, as `adds` says, to a store of another étalon, before it is opened for writing.
/// Opening would bring it to this one's version, which then has it refused. What cannot be read is reported when it is opened.
/// Where there is no store, the hint has the line for the one that `verb` is for.
pub(super) fn check_writable_by_this_build(
    verb: &str,
    path: &Path,
    adds: impl Fn(&Store) -> store::Result<bool>,
) -> Result<(), CliError> {
    match Store::open_read_only(path) {
        Ok(store) if adds(&store)? => check_same_build(store.header()),
        Err(error @ StoreError::Missing { .. }) => Err(CliError::from(error).with_hint(instead_of_store(verb))),
        _ => Ok(()),
    }
}

/// Fails if an experiment was begun by another étalon or build, whose runs do not mix with this one's; imports pass.
pub(super) fn check_same_build(header: &Header) -> Result<(), CliError> {
    let Header { etalon_version: version, build, .. } = header;
    if (version.as_str(), build.as_str()) == (VERSION, BUILD) || build == report::evidence::IMPORTED {
        return Ok(());
    }
    let what = format!(
        "the experiment was begun by étalon {version}, a {build} build, and this is étalon {VERSION}, a {BUILD} build: \
         runs of two do not mix"
    );
    Err(CliError::user_error(what)
        .with_hint(format!("go on with that étalon, or run the plan anew: `{}`", header.command)))
}

/// Applies `--set` to a plan's schedule and stores it; fails on `schedule.rounds`, or on `max_time` of fixed rounds.
fn change_schedule(plan: &mut Plan, changes: Changes, store: &mut Store) -> Result<(), CliError> {
    let (schedule, is_pending) = (&mut plan.schedule, !store.pending()?.is_empty());
    if let Some(rounds) = changes.rounds {
        let what = format!("`resume` runs what was planned, {}", count_noun(schedule.rounds as usize, "round"));
        return Err(CliError::user_error(what).with_hint(format!(
            "once it has ended: `{} --set schedule.rounds={rounds}`",
            extend_command(store.path())
        )));
    }
    schedule.on_error = changes.on_error.unwrap_or(schedule.on_error);
    let Some(max_time) = changes.max_time else { return Ok(()) };
    if !is_pending {
        let what = "`schedule.max_time` ends a range of rounds, and no run is pending";
        return Err(CliError::user_error(what).with_hint(format!("`{}` adds rounds", extend_command(store.path()))));
    }
    let begun = schedule.as_begun();
    let Some(until) = &mut schedule.until_sure else {
        let what = "`schedule.max_time` ends a range of rounds, and this has a fixed number of them";
        return Err(CliError::user_error(what).with_hint("Ctrl-C ends it, and keeps what has been measured"));
    };
    (until.max_time, until.begun) = (Some(max_time), Some(begun));
    store.extend_plan(schedule)?;
    Ok(())
}

/// Counts the runs of a store that are not measured yet.
fn count_unmeasured(store: &Store) -> Result<usize, CliError> {
    let runs = store.runs()?;
    Ok(count_positions(&runs, &|_| true) - count_positions(&runs, &|run| run.state == RunState::Measured))
}

/// Counts the positions that have a run for which `of` holds.
fn count_positions(runs: &[StoredRun], of: &dyn Fn(&StoredRun) -> bool) -> usize {
    runs.iter().filter(|run| of(run)).map(|run| run.planned.position).collect::<BTreeSet<u32>>().len()
}

/// Reads the plan of a begun experiment, with masked passwords left to the environment or to password files.
pub(super) fn plan_of(header: &Header, registry: &Registry, printer: Printer) -> Result<Loaded, CliError> {
    let loaded = reload_plan(header, registry, printer)?;
    let Unmasked { plan, without_password, lost } = loaded.plan.unmasked();
    if !lost.is_empty() {
        let text = format!("{} held a secret when the experiment began, which no store keeps", lost.join(", "));
        return Err(CliError::user_error(text).with_hint("put the plan's file back where it was, or run the plan anew"));
    }
    for system in without_password {
        printer.print_note(&format!(
            "system `{system}`: no store keeps a password; that of the environment or of a password file is taken"
        ));
    }
    Ok(Loaded { plan, ..loaded })
}

/// Reads the plan again from its file, with its passwords; fails if it has changed since the experiment began.
/// If the file is gone, it is the stored plan.
fn reload_plan(header: &Header, registry: &Registry, printer: Printer) -> Result<Loaded, CliError> {
    let Some(mut source) = source_from_command(header) else { return Ok(stored_plan(header)) };
    if header.plan_path.as_deref().is_some_and(|path| !Path::new(path).exists()) {
        printer
            .print_note("the plan's file is gone; going on with the copy in the store, without any password it held");
        return Ok(stored_plan(header));
    }
    let is_fitted = source.question.time.take().is_some();
    let loaded = source::load_plan(&source, registry, header.plan.schedule.seed);
    let loaded = match loaded {
        Ok(loaded) if is_fitted => Ok(Loaded { plan: fitted_like(&loaded.plan, &header.plan), ..loaded }),
        loaded => loaded,
    };
    match (loaded, &header.plan_path) {
        (Ok(loaded), _) if is_as_begun(&loaded.plan, &header.plan) => {
            Ok(Loaded { plan: extended_like(&loaded.plan, &header.plan), ..loaded })
        }
        // The command line is as it was: the host is another, or étalon asks otherwise now.
        (_, None) => Ok(stored_plan(header)),
        (Err(error), _) => Err(error),
        (Ok(loaded), Some(named)) => {
            let part = changed_part(&extended_like(&loaded.plan, &header.plan), &header.plan);
            Err(CliError::user_error(format!("the plan `{named}` has changed since the experiment began, in {part}"))
                .with_hint(
                    "undo the change and resume, or run the changed plan anew: runs of different plans do not mix",
                ))
        }
    }
}

/// Whether a plan makes the same runs as the stored one; what to do on an error changes none of them.
fn is_as_begun(now: &Plan, stored: &Plan) -> bool {
    let mut now = extended_like(now, stored);
    now.schedule.on_error = stored.schedule.on_error;
    now.hash() == stored.hash()
}

/// Makes a loaded plan of the one in a store's header.
fn stored_plan(header: &Header) -> Loaded {
    Loaded {
        plan: header.plan.clone(),
        text: header.plan_text.clone(),
        changed: String::new(),
        name: header.plan.name.clone(),
        path: header.plan_path.clone(),
        called: None,
        notes: Vec::new(),
    }
}

/// Names the first part of a plan that has changed; passwords are not kept, and are no change.
fn changed_part(now: &Plan, was: &Plan) -> String {
    let (now, was) = (now.redacted(), was.redacted());
    let system = was.systems.iter().zip(&now.systems).find(|(was, now)| was != now);
    let benchmark = was.benchmarks.iter().zip(&now.benchmarks).find(|(was, now)| was != now);
    match (system, benchmark) {
        _ if was.systems.len() != now.systems.len() => "its systems".to_owned(),
        _ if was.benchmarks.len() != now.benchmarks.len() => "its benchmarks".to_owned(),
        (Some((system, _)), _) => format!("system `{}`", system.name),
        (None, Some((benchmark, _))) => format!("benchmark `{}`", benchmark.name),
        (None, None) if was.schedule != now.schedule => "`[schedule]`".to_owned(),
        (None, None) if was.name != now.name => "its `name`".to_owned(),
        (None, None) if was.fleet != now.fleet => "`[fleet]`".to_owned(),
        (None, None) => "how its systems are compared".to_owned(),
    }
}

/// Gives a plan the rounds and runs that were fitted into a time when the stored one began.
fn fitted_like(plan: &Plan, stored: &Plan) -> Plan {
    let begun = stored.schedule.as_begun();
    let schedule = Schedule {
        rounds: begun.rounds,
        until_sure: begun.stop.and(plan.schedule.until_sure),
        warmup: stored.schedule.warmup,
        length: stored.schedule.length,
        ..plan.schedule.clone()
    };
    Plan { schedule, ..plan.clone() }
}

/// Adds the rounds that `etalon extend` added to the stored plan, if both began alike.
fn extended_like(started: &Plan, stored: &Plan) -> Plan {
    let was = stored.schedule.until_sure.and_then(|until| until.begun);
    let own = started.schedule.until_sure;
    let is_begun_alike = was.is_some_and(|was| {
        // Of a number of rounds the stored plan has no range but the extension's.
        let is_range_alike = own.is_none_or(|own| {
            stored.schedule.until_sure.is_some_and(|until| (until.first, was.max_time) == (own.first, own.max_time))
        });
        (was.rounds, was.stop) == (started.schedule.rounds, own.map(|own| own.stop)) && is_range_alike
    });
    let from = if is_begun_alike { &stored.schedule } else { &started.schedule };
    let schedule = Schedule { rounds: from.rounds, until_sure: from.until_sure, ..started.schedule.clone() };
    Plan { schedule, ..started.clone() }
}

/// Parses the stored command line into the plan's source; `None` if it was neither `run` nor `capacity`.
fn source_from_command(header: &Header) -> Option<PlanSource> {
    let (Command::Run(args) | Command::Capacity(args)) =
        Cli::try_parse_from(shlex::split(&header.command)?).ok()?.command
    else {
        return None;
    };
    let mut source = args.source;
    if let (Some(path), Some(plan)) = (&header.plan_path, source.question.what.first_mut()) {
        plan.clone_from(path);
    }
    Some(source)
}
