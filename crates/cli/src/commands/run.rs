//! `etalon run`: from a plan to a verdict.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor::experiment::{ExperimentOptions, TimeLimit};
use conductor::{Conductor, ExperimentEnd, ExperimentError, Registry};
use fleet::{Fleet, FleetOptions, Server};
use host::reactor::Choice;
use load::error::{Failure, FailureKind};
use model::{Plan, Stop};
use report::number::count_noun;
use store::{Header, Kept, Store, StoreError};
use workloads::system::Consent;
use workloads::transactions::Shell;
use workloads::workload::Grants;

use super::plan::{ExpectedTime, lengthened_text, runs_text, time_text};
use super::report::print_and_report;
use crate::args::{Loading, PlanSource, Reactor, ResultFormat, RunArgs};
use crate::ask::fit::{Pace, has_uncertain_rounds};
use crate::ask::{parse_time, quoted_key};
use crate::error::{CliError, exit_of_failure};
use crate::exit::Exit;
use crate::judge::ByReport;
use crate::leftovers;
use crate::printer::Printer;
use crate::progress::{Progress, estimate_text};
use crate::source::{self, Loaded};
use crate::task_log::TaskLogs;

/// Runs `etalon run` or `etalon capacity`: loads the plan, runs it and prints its results.
pub fn run(args: &RunArgs, printer: Printer) -> Result<Exit, CliError> {
    let registry = Registry::built_in();
    let loaded = source::load_plan(&args.source, &registry, fresh_seed())?;
    run_loaded(&loaded, args, &registry, printer)
}

/// Draws a random seed, the default of plans that name none.
pub fn fresh_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Runs a loaded plan into a store in the output folder; a new folder is removed if it stays empty.
pub fn run_loaded(loaded: &Loaded, args: &RunArgs, registry: &Registry, printer: Printer) -> Result<Exit, CliError> {
    leftovers::offer_removal(leftovers::RemovalConsent::from_flag(args.conduct.yes), printer);
    let is_new = !args.output.exists();
    std::fs::create_dir_all(&args.output).map_err(|error| {
        CliError::could_not_run(format!("cannot make the folder {}: {error}", args.output.display()))
            .with_hint("name another one with `--output DIR`")
    })?;
    let ended = run_into(loaded, args, registry, printer);
    if is_new {
        // Only if nothing is kept in it.
        let _ = std::fs::remove_dir(&args.output);
    }
    ended
}

/// Makes the store in the output folder, announces and runs the plan, and reports its end.
fn run_into(loaded: &Loaded, args: &RunArgs, registry: &Registry, printer: Printer) -> Result<Exit, CliError> {
    let limit = time_limit(&args.source, &loaded.plan, Duration::ZERO, registry)?;
    refuse_left_change(&loaded.plan, &args.output)?;
    // A plan that cannot be run is refused below, with the place of the benchmark in it.
    let expected = Pace::measured_here(&loaded.plan, registry)
        .and_then(|pace| pace.expected_time(&loaded.plan))
        .unwrap_or_default();
    let mut store = new_store(&args.output, loaded)?;
    let path = store.path().to_owned();
    loaded.notes.iter().for_each(|note| printer.print_remark(note));
    announce(&loaded.plan, &path, registry, expected, printer);
    if args.conduct.yes {
        printer.print_note("`--yes`: what stands in the way of that is dropped, whoever made it");
    }
    let options = ExperimentOptions { limit, ..experiment_options(args.conduct.yes, &args.conduct.loading, printer) };
    let result = conduct(registry, &loaded.plan, &mut store, options, args.conduct.task_log.as_deref(), printer);
    if let (Some(limit), Ok(ExperimentEnd::Complete { .. })) = (limit, &result) {
        let measuring: f64 = store.runs()?.iter().map(|run| run.elapsed_s).sum();
        let took = limit.began.elapsed();
        let measuring = Duration::from_secs_f64(measuring.max(0.0));
        warn_time_exceeded(limit.time, took, measuring).iter().for_each(|text| printer.print_remark(text));
    }
    finish(result, store, loaded, &path, args.conduct.format, printer)
}

/// Fails if a store in the folder says that an étalon has left a change in one of the plan's servers.
fn refuse_left_change(plan: &Plan, folder: &Path) -> Result<(), CliError> {
    let plan = plan.redacted();
    let changed = plan.systems.iter().filter(|system| system.change.is_some() && !system.url.is_empty());
    let changed: Vec<&str> = changed.map(|system| system.url.as_str()).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == store::EXTENSION)) {
        // What is no store, or cannot be read, says nothing of a change.
        let Ok(other) = Store::open_read_only(&path) else { continue };
        let left = other.read_changes()?;
        let servers = left.iter().filter_map(|change| other.header().plan.system(&change.server));
        if servers.map(|server| server.url.as_str()).any(|url| changed.contains(&url)) {
            let message = format!("the change of the experiment {} is still made in this server", path.display());
            return Err(CliError::user_error(message).with_hint(format!(
                "`{}` undoes it, and `{}` goes on with it",
                undo_command(&path),
                resume_command(&path)
            )));
        }
    }
    Ok(())
}

/// Warns of changes that could not be undone, with the command that undoes them; `None` if there are none.
fn warn_left_change(store: &Store) -> Option<String> {
    let left = store.read_changes().ok()?;
    let systems: Vec<String> = left.iter().map(|change| format!("`{}`", change.system)).collect();
    (!systems.is_empty()).then(|| {
        format!("the change of {} is not undone: `{}` undoes it", systems.join(", "), undo_command(store.path()))
    })
}

/// Reads the time limit of `--for`, of which a part is spent; `None` if the number of rounds was given, too.
pub fn time_limit(
    source: &PlanSource,
    plan: &Plan,
    spent: Duration,
    registry: &Registry,
) -> Result<Option<TimeLimit>, CliError> {
    match &source.question.time {
        Some(time) if !source.fixed_keys().rounds => {
            let asked = parse_time(time)?;
            let (time, adds_rounds) = (asked.saturating_sub(spent), has_uncertain_rounds(plan, registry));
            Ok(Some(TimeLimit { began: Instant::now(), time, asked, adds_rounds }))
        }
        _ => Ok(None),
    }
}

/// How much longer than the time that was asked for it may take before that is reported, as a share.
const SLACK: f64 = 0.1;

/// Says by how much a run took longer than `--for` asked; `None` where it kept to its time.
fn warn_time_exceeded(asked: Duration, took: Duration, measuring: Duration) -> Option<String> {
    let share = took.as_secs_f64() / asked.as_secs_f64().max(1e-9) - 1.0;
    (share > SLACK).then(|| {
        format!(
            "it took {}, {:.0} % more than `--for {}`: {} of measured parts, the rest is loading, warm-ups and what else comes \
             between runs",
            estimate_text(took),
            share * 100.0,
            model::duration::format(asked),
            estimate_text(measuring.min(took)),
        )
    })
}

/// What the first Ctrl-C prints.
const STOPPING: &str = "\nstopping: étalon ends what runs and removes what it made; a second Ctrl-C ends it at once\n";

/// Makes the experiment's options from `--yes` and the options of the load.
pub fn experiment_options(yes: bool, loading: &Loading, printer: Printer) -> ExperimentOptions {
    let consent = if yes { Consent::DropForeign } else { Consent::OwnOnly };
    let shell = if loading.allow_shell { Shell::Allowed } else { Shell::Refused };
    ExperimentOptions {
        grants: Grants { shell, debug: printer.debug_sink(), ..Grants::default() },
        reactor: reactor_choice(loading.reactor),
        forfeited: loading.forfeit.clone(),
        judge: Some(Arc::new(ByReport)),
        ..ExperimentOptions::new(consent, host::interrupt::interrupt_flag(Exit::Interrupted.code(), STOPPING))
    }
}

/// Converts the option `--reactor` to the load's choice.
pub fn reactor_choice(reactor: Reactor) -> Choice {
    match reactor {
        Reactor::Auto => Choice::Auto,
        Reactor::Ring => Choice::Ring,
        Reactor::Poller => Choice::Poller,
    }
}

/// Runs the pending runs of a store, shows their progress, and returns how the experiment ended.
pub fn conduct(
    registry: &Registry,
    plan: &Plan,
    store: &mut Store,
    options: ExperimentOptions,
    task_log: Option<&Path>,
    printer: Printer,
) -> Result<ExperimentEnd, ExperimentError> {
    // Thousands of clients need as many sockets; above the limit they are refused.
    let _ = host::limits::raise_open_files();
    let mut progress = Progress::new(printer, registry, plan, task_log.map(|folder| TaskLogs::new(folder, plan)));
    let options = ExperimentOptions { notices: progress.notices(), ..options };
    let options = connect_fleet(registry, plan, store.header(), options).map_err(ExperimentError::Fleet)?;
    let ended = Conductor::new(registry, plan, store, options).run_all(&mut progress);
    progress.finish();
    ended
}

/// Source of the NATS URL if the stored one has no password; NATS's own tools read it, too.
const NATS_VARIABLE: &str = "NATS_URL";

/// Connects the plan's agents and adds them to the options; the options unchanged for a plan without a fleet.
fn connect_fleet(
    registry: &Registry,
    plan: &Plan,
    header: &Header,
    options: ExperimentOptions,
) -> Result<ExperimentOptions, Failure> {
    let Some(named) = &plan.fleet else { return Ok(options) };
    // Secrets are not stored: a resume needs the URL again.
    let variable = if named.nats.contains(model::plan::MASK) {
        Some(NATS_VARIABLE)
    } else {
        named.nats.strip_prefix(model::plan::ENV_PREFIX)
    };
    let url = match variable {
        None => named.nats.clone(),
        Some(variable) => std::env::var(variable).map_err(|error| {
            let tried = format!("read the URL of the NATS server from the environment variable `{variable}`");
            let hint = format!("export {variable}=nats://user:password@host:4222");
            Failure::new(FailureKind::Plan, tried, error).with_hint(hint)
        })?,
    };
    let server =
        Server { url, creds: named.creds.as_ref().map(PathBuf::from), ca: named.ca.as_ref().map(PathBuf::from) };
    // Stable over resumes, and unique.
    let hash: String = header.plan_hash.chars().take(12).collect();
    let fleet_options = FleetOptions {
        server,
        experiment: format!("{:x}-{hash}", header.created_unix_ms),
        patience: named.patience,
        lease: None,
        interrupt: Arc::clone(&options.interrupt),
        notices: options.notices.clone(),
    };
    let fleet = Fleet::connect(plan, fleet_options, registry.clone())?;
    Ok(ExperimentOptions { places: Some(Arc::new(fleet)), patience: named.patience, ..options })
}

/// Reports the end of the experiment and its results.
pub fn finish(
    result: Result<ExperimentEnd, ExperimentError>,
    store: Store,
    loaded: &Loaded,
    path: &Path,
    format: ResultFormat,
    printer: Printer,
) -> Result<Exit, CliError> {
    warn_left_change(&store).iter().for_each(|text| printer.print_warning(text));
    let ended = match result {
        Ok(ended) => ended,
        Err(error) => return Err(cut_short(error, store, loaded, printer)),
    };
    let further = how_to_go_on(&store)?;
    store.close()?;
    let resume = resume_command(path);
    match ended {
        ExperimentEnd::Complete { failed: 0 } => print_and_report(path, format, loaded.called.as_ref(), printer),
        ExperimentEnd::Complete { failed } => {
            print_and_report(path, format, loaded.called.as_ref(), printer)?;
            let runs = if failed == 1 { "1 run failed" } else { &format!("{failed} runs failed") };
            let them = if failed == 1 { "it" } else { "them" };
            printer.print_warning(&format!("{runs}; `{resume}` repeats {them}"));
            Ok(Exit::BadAnswer)
        }
        ExperimentEnd::Interrupted => {
            printer.print_always(&format!("interrupted: {further}"));
            Ok(Exit::Interrupted)
        }
        ExperimentEnd::Stopped { reason, kind } => {
            let error =
                CliError { exit: exit_of_failure(kind), ..CliError::could_not_run(format!("a run failed: {reason}")) };
            Err(error.with_hint(match kind {
                // A resumed experiment keeps its plan.
                FailureKind::Unsupported | FailureKind::NotOurs | FailureKind::Plan => {
                    "`etalon resume` keeps to the plan as it is; with another value of the key `etalon run` begins again"
                        .to_owned()
                }
                _ => format!("once that is fixed: {further}"),
            }))
        }
    }
}

/// Closes the store after an error that ended the experiment, and makes the error to print.
/// The store stays, unless this run made it and began no run.
fn cut_short(error: ExperimentError, store: Store, loaded: &Loaded, printer: Printer) -> CliError {
    let error = match typed_key_hint(&error) {
        // The user has seen no line of a plan that étalon made itself.
        Some(typed) if loaded.name == source::COMMAND_LINE => CliError::from(error).with_hint(typed),
        _ if loaded.name == source::COMMAND_LINE => CliError::from(error),
        _ => error.place_in_plan(loaded).into_iter().fold(CliError::from(error), CliError::with_context),
    };
    let further = how_to_go_on(&store).unwrap_or_else(|error| error.to_string());
    match store.close_unless_untouched() {
        Ok(Kept::No) => {
            printer.print_note("no run had begun, so no store is kept");
            error
        }
        Ok(Kept::Yes) => error.with_hint(further),
        Err(closing) => error.with_context(closing.to_string()).with_hint(further),
    }
}

/// Says with which command to go on: `resume`, or `extend` where all that was planned is measured.
/// Then it was an extension that did not start.
fn how_to_go_on(store: &Store) -> Result<String, StoreError> {
    let verb = if store.pending()?.is_empty() { "extend" } else { "resume" };
    Ok(format!("what has been measured is kept; go on with `{}`", verb_command(verb, store.path())))
}

/// The command that resumes a store, quoted for a shell.
pub fn resume_command(path: &Path) -> String {
    verb_command("resume", path)
}

/// The command that extends a store, quoted for a shell.
pub fn extend_command(path: &Path) -> String {
    verb_command("extend", path)
}

/// The command that undoes what étalon changed in servers.
fn undo_command(path: &Path) -> String {
    format!("{} --undo-only", resume_command(path))
}

/// The command of a verb on a store, quoted for a shell.
fn verb_command(verb: &str, store: &Path) -> String {
    let path = store.to_string_lossy();
    format!("etalon {verb} {}", shlex::try_quote(&path).unwrap_or_else(|_| path.clone()))
}

/// Says how to type a key that the plan refuses, for a plan without a file; `None` for other errors.
fn typed_key_hint(error: &ExperimentError) -> Option<String> {
    let (table, name, failure) = match error {
        ExperimentError::System { system, failure } => ("systems", system, failure),
        ExperimentError::Benchmark { benchmark, failure } => ("benchmarks", benchmark, failure),
        _ => return None,
    };
    let is_of_plan = matches!(failure.kind, FailureKind::Plan | FailureKind::Unsupported | FailureKind::NotOurs);
    is_of_plan.then(|| format!("a key of it is typed as `--set '{table}.{}.KEY=VALUE'`", quoted_key(name)))
}

trait Place {
    /// Finds the line of the plan that causes the error; `None` if no line does.
    fn place_in_plan(&self, loaded: &Loaded) -> Option<String>;
}

impl Place for ExperimentError {
    fn place_in_plan(&self, loaded: &Loaded) -> Option<String> {
        let (index, line) = loaded.text.lines().enumerate().find(|(_, line)| is_mentioned(self, line))?;
        Some(format!("plan: {}:{}  {}", loaded.name, index + 1, line.trim()))
    }
}

/// Whether a line of a plan names the system, benchmark or fleet of an error.
fn is_mentioned(error: &ExperimentError, line: &str) -> bool {
    match error {
        ExperimentError::System { system, .. } => {
            let line = line.replace(['"', '\''], "");
            line.trim_start().starts_with(&format!("[systems.{system}"))
        }
        ExperimentError::Benchmark { benchmark, .. } => line.contains(&format!("\"{benchmark}\"")),
        ExperimentError::Fleet(_) => line.trim_start().starts_with("[fleet]"),
        ExperimentError::FactsChanged { .. } | ExperimentError::Store(_) => false,
    }
}

/// [`Header::etalon_version`] of what this étalon measures.
pub const VERSION: &str = fleet::protocol::VERSION;
/// [`Header::build`] of what this étalon measures.
pub const BUILD: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

/// Makes the store's header for a plan without a file.
pub fn header_of_plan(build: &str, plan: &Plan) -> Header {
    Header {
        etalon_version: VERSION.to_owned(),
        build: build.to_owned(),
        created_unix_ms: host::clock::unix_ms(),
        plan: plan.clone(),
        plan_text: String::new(),
        plan_path: None,
        plan_hash: plan.hash(),
        command: command_line(),
    }
}

/// This process's command line with passwords masked, quoted for a shell.
fn command_line() -> String {
    let args = std::env::args_os().skip(1).map(|arg| model::plan::redact_url(&arg.to_string_lossy()));
    let quoted = shlex::try_join(
        std::iter::once("etalon".to_owned()).chain(args).collect::<Vec<_>>().iter().map(String::as_str),
    );
    quoted.unwrap_or_else(|_| "etalon".to_owned())
}

/// Creates a store `DIR/NAME-20261121-104500.etalon`, numbered if that is taken, also by an étalon starting at the same moment.
fn new_store(folder: &Path, loaded: &Loaded) -> Result<Store, StoreError> {
    let name = &loaded.plan.name;
    let safe: String =
        name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).take(60).collect();
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let header = Header {
        plan: loaded.plan.redacted(),
        plan_text: format!("{}{}", loaded.changed, model::plan::redact_text(&loaded.text, &loaded.plan)),
        plan_path: loaded.path.clone(),
        ..header_of_plan(BUILD, &loaded.plan)
    };
    let order = loaded.plan.run_order();
    let mut number = 1;
    loop {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{safe}-{stamp}{suffix}.etalon"));
        match Store::create(&path, &header, &order) {
            Err(StoreError::Exists { .. } | StoreError::Locked { .. }) => number += 1,
            other => return other,
        }
    }
}

/// Prints what is about to run: numbers of runs, time, store, what is made and changed, and warnings.
fn announce(plan: &Plan, path: &Path, registry: &Registry, expected: ExpectedTime, printer: Printer) {
    let seed = plan.schedule.seed;
    printer.print_note(&format!(
        "{}: {}, {}, {}, {}, {}; seed {seed}",
        plan.name,
        count_noun(plan.systems.len(), "system"),
        count_noun(plan.cases().len(), "case"),
        rounds_text(plan),
        runs_text(plan),
        time_text(plan, expected),
    ));
    if let Some(text) = lengthened_text(plan, expected.total()) {
        printer.print_note(&text);
    }
    printer.print_note(&format!("store: {}", path.display()));
    for line in made_and_dropped(plan, registry) {
        printer.print_note(&line);
    }
    for line in super::plan::change_lines(plan) {
        printer.print_note(&line);
    }
    for name in on_tables_of_others(plan, registry) {
        printer.print_note(&format!(
            "{name}: works on the tables that are there; étalon makes, fills and drops none, and what statements write stays"
        ));
    }
    super::plan::find_warnings(plan, registry).iter().for_each(|warning| warning.print(printer));
    if cfg!(debug_assertions) {
        printer.print_remark("this is a debug build of étalon: its figures are not comparable with any other");
    }
}

/// Writes the rounds of a plan: `10 rounds`, or `6 to 60 rounds, as many as it takes to be sure`.
pub fn rounds_text(plan: &Plan) -> String {
    let most = count_noun(plan.schedule.rounds as usize, "round");
    match plan.schedule.until_sure {
        None => most,
        Some(_) if plan.systems.len() < 2 => {
            format!("{most}, all of them: with a single system there is nothing to be sure of")
        }
        Some(until) if until.first >= plan.schedule.rounds => most,
        Some(until) if until.stop == Stop::Never => format!("{most}, all of them, whatever is decided"),
        Some(until) => format!("{} to {most}, as many as it takes to be sure", until.first),
    }
}

/// Says what étalon makes and removes, a line for each kind with its systems.
fn made_and_dropped(plan: &Plan, registry: &Registry) -> Vec<String> {
    let makes_nothing = super::plan::makes_nothing(plan, registry);
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for system in plan.systems.iter().filter(|system| system.alias_of.is_none()) {
        if makes_nothing && system.server.is_none() {
            continue;
        }
        let Ok(Some(made)) = registry.would_make(system) else { continue };
        match lines.iter_mut().find(|(known, _)| *known == made) {
            Some((_, systems)) => systems.push(&system.name),
            None => lines.push((made, vec![&system.name])),
        }
    }
    lines
        .into_iter()
        .map(|(made, systems)| format!("{}: makes {made}, and removes at the end what it made", systems.join(", ")))
        .collect()
}

/// Names the benchmarks that work on tables which étalon did not make.
fn on_tables_of_others(plan: &Plan, registry: &Registry) -> std::collections::BTreeSet<String> {
    plan.cases()
        .into_iter()
        .filter(|case| super::plan::is_on_tables_of_others(case, registry))
        .map(|case| case.benchmark)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_took_much_longer_than_asked_says_so() {
        let [asked, took, measuring] = [50, 92, 24].map(Duration::from_secs);
        let text = warn_time_exceeded(asked, took, measuring).unwrap();
        assert!(text.starts_with("it took 1 min 32 s, 84 % more than `--for 50s`: 24 s of measured parts"), "{text}");
        assert_eq!(warn_time_exceeded(asked, Duration::from_secs(54), measuring), None);
    }
}
