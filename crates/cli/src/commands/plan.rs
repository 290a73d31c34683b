//! `etalon plan`: what a plan would do, without doing it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use conductor::Registry;
use conductor::capacity_run::{self, most_loads, usual_loads};
use model::{Case, Catalog, Length, Order, Plan, PlannedRun, PrivateServer, Promise, Reset, SystemPlan};
use report::number::count_noun;
use report::text::wrap_to_width;
use serde_json::json;
use workloads::dataset::{Dataset, Tables};
use workloads::transactions::Shell;
use workloads::workload::{Action, Grants, Task};

use super::pilot::{PilotForecast, forecast_from_pilot};
use super::plan_warnings::{PlanWarning, plan_warnings, warn_read_only_servers};
use super::run::{fresh_seed, rounds_text};
use crate::args::PlanArgs;
use crate::args::guessed::typed_line;
use crate::ask::change::in_a_line;
use crate::ask::fit::Pace;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::progress::{estimate_text, has_searches, may_end_early};
use crate::source;

/// Preparation of a run besides loading: connections, a checkpoint.
const PREPARATION: Duration = Duration::from_millis(200);
/// Rough loading rate for the estimate.
const LOAD_BYTES_PER_S: f64 = 60e6;

/// Rough rate for filling files of blocks, and for copying tables.
const FILL_BYTES_PER_S: f64 = 300e6;

/// Runs `etalon plan`: prints what a plan would do, and touches nothing.
pub fn run(args: &PlanArgs, printer: Printer) -> Result<Exit, CliError> {
    refuse_pilot_alone(args)?;
    let registry = Registry::built_in();
    // One that a run would draw, too, is not shown: the run draws another.
    let drawn = fresh_seed();
    let loaded = source::load_plan(&args.source, &registry, drawn)?;
    loaded.notes.iter().for_each(|note| printer.print_remark(note));
    let plan = &loaded.plan;
    let seed = Some(plan.schedule.seed).filter(|seed| *seed != drawn);
    let mut work = work_of_plan(plan, &registry)?;
    if args.source.question.time.is_some() {
        work.slow_down(Pace::measured_here(plan, &registry)?.slower_by());
    }
    let mut warnings = plan_warnings(plan, &registry, &work);
    if !makes_nothing(plan, &registry) {
        warnings.extend(warn_read_only_servers(plan, &registry));
    }
    let forecast =
        args.pilot.as_deref().map(|pilot| forecast_from_pilot(pilot, args.detect.as_deref(), plan)).transpose()?;
    if printer.json {
        printer.print_result(&plan_json((plan, seed), &work, &warnings, forecast.as_ref(), &registry).to_string());
    } else {
        printer.print_folded(&plan_text((plan, seed), &work, &warnings, &registry, printer.width()));
        forecast.iter().for_each(|found| printer.print_result(&found.text(printer.width())));
    }
    Ok(Exit::Done)
}

/// Fails if `--pilot` is given without a plan, since the store looks like what is to be run.
fn refuse_pilot_alone(args: &PlanArgs) -> Result<(), CliError> {
    let question = &args.source.question;
    let Some(pilot) = args.pilot.as_ref().filter(|_| question.what.is_empty() && question.system.is_empty()) else {
        return Ok(());
    };
    Err(CliError::user_error("`--pilot` says how many rounds a plan takes, and no plan is named")
        .with_hint(format!("name what the pilot was run of, too: `etalon plan PLAN --pilot {}`", pilot.display())))
}

#[derive(Default)]
pub(super) struct Work {
    pub(super) disk_bytes: u64,
    /// The runs of all rounds, without loading.
    running: Duration,
    /// Cases that are a step, as long as it takes.
    steps: usize,
    /// Some step works on data of others, whose size is not known.
    is_least: bool,
    loading: Duration,
    /// How long the tables are checked, outside the measured parts.
    checking: Duration,
    /// The cases that are a load of clients.
    pub(super) streams: Vec<Case>,
    /// How each system's tables come back before a run.
    resets: BTreeMap<String, BTreeSet<Reset>>,
    /// Systems and data sets of which a copy is kept.
    kept: BTreeSet<(String, String)>,
    kept_bytes: u64,
}

impl Work {
    /// The expected time, with checking as a part of loading.
    fn expected_time(&self) -> ExpectedTime {
        let Work { running, steps, is_least, .. } = *self;
        ExpectedTime { running, loading: self.loading + self.checking, steps, is_least }
    }

    /// Multiplies the time of loading and checking by a factor, as on a busy machine.
    fn slow_down(&mut self, slower: f64) {
        self.loading = self.loading.mul_f64(slower);
        self.checking = self.checking.mul_f64(slower);
    }

    /// Adds the time and space of tables that étalon makes.
    fn add_tables(&mut self, case: &Case, data: &Dataset, reset: Reset, plan: &Plan) {
        let size_bytes = data.size_bytes;
        self.resets.entry(case.system.clone()).or_default().insert(reset);
        self.add_space(size_bytes, plan);
        let is_first = self.kept.insert((case.system.clone(), data.name.clone()));
        if is_first && reset.keeps_copy() {
            self.kept_bytes += size_bytes;
        }
        let load = if is_first || reset == Reset::Rebuild {
            Duration::from_secs_f64(size_bytes as f64 / LOAD_BYTES_PER_S)
        } else {
            Duration::ZERO
        };
        let copy = Duration::from_secs_f64(size_bytes as f64 / FILL_BYTES_PER_S);
        let runs = plan.schedule.rounds * usual_loads(case);
        self.loading += match reset {
            Reset::Rebuild => load * runs,
            // As long as it takes where no blocks are shared.
            Reset::Restore | Reset::Clone => load + copy * runs,
            Reset::None => load,
        };
    }

    /// Adds tables that each run makes itself: none come back, and no copy of them is kept.
    fn add_made_by_runs(&mut self, case: &Case, size_bytes: u64, plan: &Plan) {
        self.add_space(size_bytes, plan);
        let load = Duration::from_secs_f64(size_bytes as f64 / LOAD_BYTES_PER_S);
        self.loading += load * (plan.schedule.rounds * usual_loads(case));
    }

    /// Raises the disk space to that of these tables on all systems, each with a write-ahead log of about their size.
    fn add_space(&mut self, size_bytes: u64, plan: &Plan) {
        self.disk_bytes = self.disk_bytes.max(size_bytes * 2 * plan.systems.len() as u64);
    }
}

/// Adds up the time, space and tables that a plan takes; fails if a benchmark or a system cannot be run as its keys say.
fn work_of_plan(plan: &Plan, registry: &Registry) -> Result<Work, CliError> {
    let mut work = Work::default();
    // Nothing is run, so no permission is needed yet.
    let grants = Grants { shell: Shell::Allowed, debug: None, ..Grants::default() };
    for system in &plan.systems {
        let read = registry.check_url(system);
        read.map_err(|failure| CliError::from(&failure).with_context(format!("system: {}", system.name)))?;
    }
    let mut files = BTreeSet::new();
    // Systems are asked for the same one after the other; and what a task has made is shared only as long as one has it.
    let mut last: Option<(Case, Task)> = None;
    for case in plan.cases() {
        let task = match &last {
            Some((before, task)) if before.same_but_system(&case) => task,
            _ => {
                let task = task_of_case(&case, plan, registry, &grants)?;
                &last.insert((case.clone(), task)).1
            }
        };
        if let Some(system) = plan.system(&case.system) {
            let able = registry.refuse_without_statements(system, task);
            let able = able.and_then(|()| registry.check_cold_caches(system, task, &plan.schedule));
            able.map_err(|failure| CliError::from(&failure).with_context(format!("benchmark: {}", case.benchmark)))?;
        }
        let size_bytes = task.dataset.size_bytes;
        match &task.action {
            Action::Stream(stream) => {
                work.streams.push(case.clone());
                work.running += time_of_runs(plan, &case);
                let checking = stream.work.check_cost();
                let runs = f64::from(plan.schedule.rounds);
                work.checking += Duration::from_secs_f64(checking.each_run_s * runs + checking.case_s);
            }
            Action::Step(procedure) if procedure.lasts_as_scheduled() => work.running += time_of_runs(plan, &case),
            Action::Step(procedure) => {
                work.steps += 1;
                let own_bytes = match task.tables() {
                    // Only what is backed up is moved as a whole.
                    Tables::None if procedure.passes() == 1 => None,
                    Tables::None => plan.system(&case.system).and_then(|system| registry.stored_bytes(system)),
                    Tables::Own => Some(size_bytes),
                };
                work.is_least |= own_bytes.is_none();
                let moved_bytes = own_bytes.unwrap_or(0) as f64 * f64::from(procedure.passes());
                let each =
                    PREPARATION + procedure.least_length() + Duration::from_secs_f64(moved_bytes / LOAD_BYTES_PER_S);
                work.running += each * plan.schedule.rounds;
            }
        }
        let reset = reset_of(&case.system, size_bytes, plan, registry)?;
        if !task.dataset.files.is_empty() {
            // Made once per run, for all benchmarks.
            if files.insert((case.system.clone(), task.dataset.name.clone())) {
                work.disk_bytes += size_bytes;
                work.loading += Duration::from_secs_f64(size_bytes as f64 / FILL_BYTES_PER_S);
            }
            continue;
        }
        match (reset, task.tables()) {
            (Some(reset), Tables::Own) if task.dataset.has_tables() => {
                work.add_tables(&case, &task.dataset, reset, plan);
            }
            (Some(_), Tables::Own) => work.add_made_by_runs(&case, size_bytes, plan),
            _ => {}
        }
    }
    work.disk_bytes += work.kept_bytes;
    Ok(work)
}

/// The way in which a system's tables come back before each run; `None` for an unknown system.
/// A URL that the environment does not hold yet is read again by `run`.
fn reset_of(name: &str, size_bytes: u64, plan: &Plan, registry: &Registry) -> Result<Option<Reset>, CliError> {
    let Some(system) = plan.system(name) else { return Ok(None) };
    if system.engine.is_empty() && registry.resolve_system(system).is_err() {
        return Ok(Some(system.reset.unwrap_or(Reset::Rebuild)));
    }
    registry
        .choose_reset_way(system, size_bytes)
        .map_err(|failure| CliError::from(&failure).with_context(format!("system: {name}")))
}

/// Describes how tables come back before each run.
fn reset_words(reset: Reset) -> &'static str {
    match reset {
        Reset::Rebuild => "loaded anew",
        Reset::Clone => "brought back to the first load, by shared blocks where that can be done",
        Reset::Restore => "copied from the first load",
        Reset::None => "left as runs leave them",
    }
}

/// Makes the task of a case; fails on an error in its keys.
fn task_of_case(case: &Case, plan: &Plan, registry: &Registry, grants: &Grants) -> Result<Task, CliError> {
    let task = registry.workload(&case.workload).and_then(|workload| workload.make_task(&case.point, grants));
    let task = task.and_then(|task| capacity_run::check_task(&task, case, &plan.schedule).map(|()| task));
    task.map_err(|failure| CliError::from(&failure).with_context(format!("benchmark: {}", case.benchmark)))
}

/// How long a plan is expected to take.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpectedTime {
    pub running: Duration,
    /// Loading and checking of tables.
    pub loading: Duration,
    /// Cases that are a step, which takes as long as it takes.
    pub steps: usize,
    /// It takes no less; how much more is not known.
    pub is_least: bool,
}

impl ExpectedTime {
    /// Running and loading together.
    pub fn total(self) -> Duration {
        self.running + self.loading
    }
}

/// Estimates how long a plan takes to load and run.
///
/// # Errors
/// A benchmark cannot be run as its keys say.
pub fn expected_time(plan: &Plan, registry: &Registry) -> Result<ExpectedTime, CliError> {
    work_of_plan(plan, registry).map(|work| work.expected_time())
}

/// Lists what will keep a plan from its verdicts and is known before it runs; empty if its work cannot be added up.
pub fn find_warnings(plan: &Plan, registry: &Registry) -> Vec<PlanWarning> {
    work_of_plan(plan, registry).map_or_else(|_| Vec::new(), |work| plan_warnings(plan, registry, &work))
}

/// The time of a case's runs in all rounds with warm-up and preparation, without loading.
fn time_of_runs(plan: &Plan, case: &Case) -> Duration {
    let length = match plan.schedule.length_at(&case.point) {
        Length::Duration(duration) => duration,
        Length::Transactions(_) => Duration::ZERO,
    };
    (plan.schedule.warmup + length + PREPARATION) * usual_loads(case) * plan.schedule.rounds
}

/// Writes the expected time, as `about 2 h 5 min at most`; if the plan counts transactions, without their time.
pub fn time_text(plan: &Plan, expected: ExpectedTime) -> String {
    let whole = expected.total();
    let ended = ended_by_time(plan, whole);
    let time = estimate_text(ended.unwrap_or(whole));
    let bound = match (may_end_early(plan), has_searches(plan)) {
        (true, false) => " at most",
        (true, true) if ended.is_none() => " for all of them",
        _ => "",
    };
    match plan.schedule.length {
        Length::Duration(_) if expected.is_least => {
            format!("at least {time}, since how long a run takes is not known before")
        }
        Length::Duration(_) => format!("about {time}{bound}"),
        Length::Transactions(count) => format!("{time} and the time of {count} transactions per client and run"),
    }
}

/// Says how long runs at low rates last, and all with them: `at low rates a short run lasts up to 20s, and all of them …`.
/// `whole` is the time without that. `None` where no run seeks a capacity, or each has a number of transactions.
pub fn lengthened_text(plan: &Plan, whole: Duration) -> Option<String> {
    let Length::Duration(length) = plan.schedule.length else { return None };
    // The first of a search asks as fast as it is answered, and is never lengthened.
    let at_rates: u32 = plan.cases().iter().map(|case| usual_loads(case) - 1).sum();
    let longest = whole + length * (capacity_run::LONGEST - 1) * at_rates * plan.schedule.rounds;
    let each = model::duration::spaced_text(length * capacity_run::LONGEST);
    (at_rates > 0).then(|| {
        format!("at low rates a short run lasts up to {each}, and all of them about {}", estimate_text(longest))
    })
}

/// The time after which `max_time` ends the experiment; `None` if all rounds, `whole`, take less.
/// It ends with the round that has begun, and not before the fewest rounds.
fn ended_by_time(plan: &Plan, whole: Duration) -> Option<Duration> {
    let until = plan.schedule.until_sure?;
    let round = whole / plan.schedule.rounds.max(1);
    let end = (until.max_time? + round).max(round * until.first);
    (end < whole).then_some(end)
}

/// Writes how the time of searches is counted, and after which time no further round begins.
fn write_time_notes(text: &mut String, plan: &Plan, whole: Duration, width: usize) {
    let searches: BTreeSet<(u32, u32)> = plan
        .cases()
        .iter()
        .filter(|case| Promise::from_point(&case.point).is_some())
        .map(|case| (usual_loads(case), most_loads(case)))
        .collect();
    for (usual, most) in searches {
        let lengthened = lengthened_text(plan, whole).map_or_else(String::new, |text| format!("; {text}"));
        let said = format!(
            "a run that seeks a capacity is counted with {usual} short runs, as most take, and takes {most} at most{lengthened}"
        );
        text.push_str(&wrap_to_width(&said, width, 4));
    }
    let until = plan.schedule.until_sure;
    if let Some((until, max_time)) = until.and_then(|until| Some((until, until.max_time?))) {
        let first = until.first;
        let most = model::duration::format(max_time);
        let instead =
            ended_by_time(plan, whole).map(|_| format!("; all rounds would take about {}", estimate_text(whole)));
        let instead = instead.unwrap_or_default();
        let said =
            format!("after {most} (`schedule.max_time`) no further round begins, except the first {first}{instead}");
        text.push_str(&wrap_to_width(&said, width, 4));
    }
}

/// The number of runs, "at most" if they may end early.
pub fn runs_text(plan: &Plan) -> String {
    let bound = if may_end_early(plan) { " at most" } else { "" };
    format!("{}{bound}", count_noun(plan.cases().len() * plan.schedule.rounds as usize, "run"))
}

/// Whether every benchmark of a plan uses tables that étalon did not make.
pub fn makes_nothing(plan: &Plan, registry: &Registry) -> bool {
    plan.cases().iter().all(|case| is_on_tables_of_others(case, registry))
}

/// Whether a case works on existing tables, which étalon does not make.
pub fn is_on_tables_of_others(case: &Case, registry: &Registry) -> bool {
    registry.workload(&case.workload).is_ok_and(|workload| workload.is_on_tables_of_others(&case.point))
}

/// Describes the privileges that étalon needs in a system; `None` if it makes nothing or needs none.
fn needed_privileges(plan: &Plan, system: &SystemPlan, registry: &Registry) -> Option<String> {
    if !makes_nothing(plan, registry) { registry.needed_privileges(system) } else { None }
}

/// Says what étalon would drop in a system, or why that is not known.
fn dropped_text(plan: &Plan, system: &SystemPlan, registry: &Registry) -> String {
    if system.server.is_none() && makes_nothing(plan, registry) {
        return "nothing: the benchmarks work on the tables that are there".to_owned();
    }
    registry.would_drop(system).unwrap_or_else(|failure| failure.to_string())
}

/// Says whether commits wait for the disk, or how that is found out for a server that has to be asked; `None` where nothing commits.
fn commits_text(system: &SystemPlan, registry: &Registry) -> Option<String> {
    match registry.durability_of_plan(system) {
        Some(tier) => Some(tier.commit_words().to_owned()),
        None => registry.needed_privileges(system).map(|_| {
            format!(
                "as the server is set: `{}` shows whether they wait for the disk",
                typed_line(&["doctor", &system.url])
            )
        }),
    }
}

/// The cautions that a reader of the system's figures has to know, as the engine gives them.
fn engine_cautions(system: &SystemPlan, registry: &Registry) -> Vec<&'static str> {
    let engine = registry.resolve_system(system).ok().map(|(engine, _)| engine.spec().cautions);
    engine.unwrap_or_default().iter().map(|caution| caution.text()).collect()
}

/// The order of the runs, unless it is drawn when the plan runs.
fn known_order(plan: &Plan, seed: Option<u64>) -> Option<Vec<PlannedRun>> {
    (seed.is_some() || plan.schedule.order == Order::Sequential).then(|| plan.run_order())
}

/// Columns before a case: its number.
const CASE: usize = 7;

/// Writes what the plan would do as text: systems, cases, rounds, time and warnings.
fn plan_text(
    (plan, seed): (&Plan, Option<u64>),
    work: &Work,
    warnings: &[PlanWarning],
    registry: &Registry,
    width: usize,
) -> String {
    let mut text = String::new();
    let cases = plan.cases();
    let _ = writeln!(text, "plan {}: valid", plan.name);
    write_systems(&mut text, plan, work, registry, width);
    let _ = writeln!(text, "\ncases");
    let catalog = registry.catalog();
    for (number, case) in cases.iter().enumerate() {
        let keys = unusual_keys(case, plan, &catalog).join(" ");
        let colon = if keys.is_empty() { "" } else { ": " };
        let line = wrap_to_width(&format!("{} @ {}{colon}{keys}", case.benchmark, case.system), width - CASE, 0);
        for (at, line) in line.lines().enumerate() {
            let number = if at == 0 { (number + 1).to_string() } else { String::new() };
            let _ = writeln!(text, "  {number:>3}  {line}");
        }
    }
    write_rounds(&mut text, plan, seed, width);
    for line in change_lines(plan) {
        let _ = write!(
            text,
            "\n{}",
            wrap_to_width(&format!("{line}; the time that they take is not counted below"), width, 4)
        );
    }
    let expected = work.expected_time();
    let whole = expected.total();
    let _ = writeln!(
        text,
        "\n{}, {}; about {} MB of disk",
        runs_text(plan),
        time_text(plan, expected),
        work.disk_bytes / 1_000_000
    );
    if work.checking >= Duration::from_secs(1) {
        let checking = format!(
            "about {} of it are for checking the tables, outside the measured parts",
            estimate_text(work.checking)
        );
        text.push_str(&wrap_to_width(&checking, width, 4));
    }
    write_time_notes(&mut text, plan, whole, width);
    if plan.schedule.rounds < stats::MIN_ROUNDS {
        let _ = writeln!(
            text,
            "with {} there will be figures but no verdict: {} are needed",
            count_noun(plan.schedule.rounds as usize, "round"),
            stats::MIN_ROUNDS
        );
    }
    if plan.schedule.order == Order::Sequential && !plan.comparison.allow_sequential_order && plan.systems.len() > 1 {
        let said = "in a sequential order there will be figures but no verdict: order and time are confounded. \
                    `allow_sequential_order = true` in the plan, or `--allow-sequential-order`, allows one";
        text.push_str(&wrap_to_width(said, width, 4));
    }
    for warning in warnings {
        text.push_str(&wrap_to_width(&format!("{}.", warning.line()), width, 4));
    }
    text
}

/// Writes the keys of a case that vary in its benchmark, or are not as they are unless a plan says it.
fn unusual_keys(case: &Case, plan: &Plan, catalog: &Catalog) -> Vec<String> {
    let varying = plan.varying_keys(&case.benchmark);
    let spec = catalog.workload(&case.workload);
    let usual = |key: &str| spec?.keys.iter().find(|known| known.name == key)?.default?.to_value();
    let idle = spec.map_or(&[][..], |spec| (spec.idle)(&case.point));
    let shown = case.point.iter().filter(|(key, value)| {
        varying.contains(key) || (usual(key).as_ref() != Some(*value) && !idle.contains(&key.as_str()))
    });
    shown.map(|(key, value)| format!("{key}={value}")).collect()
}

/// Says which servers étalon changes and undoes, in a line for each system with a change.
pub fn change_lines(plan: &Plan) -> Vec<String> {
    let changed = plan.systems.iter().filter_map(|system| Some((system, system.alias_of.as_ref()?)));
    let changed = changed.filter(|(system, _)| system.change.is_some());
    changed
        .map(|(system, server)| {
            let name = &system.name;
            let place = match &system.server {
                Some(server) => private_server_text(server),
                None => format!("the database {}", model::plan::redact_url(&system.url)),
            };
            format!(
                "{name}: étalon changes {place} before runs of `{name}`, and undoes it before runs of `{server}` and at the end, \
                 each by the plan's own statements"
            )
        })
        .collect()
}

/// Writes each system with its place, what would be dropped, privileges, resets, changes and cautions.
fn write_systems(text: &mut String, plan: &Plan, work: &Work, registry: &Registry, width: usize) {
    let _ = writeln!(text, "\nsystems");
    for system in &plan.systems {
        let place = match (&system.server, &system.volume) {
            (Some(server), _) => private_server_text(server),
            (None, Some(volume)) => {
                let kib = volume.cluster_bytes >> 10;
                format!("volume {} in {}, clusters of {kib} KiB", volume.fs, volume.image)
            }
            (None, None) => model::plan::redact_url(&system.url),
        };
        let settings: Vec<String> = system.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = writeln!(text, "  {}  {place}  {}", system.name, settings.join(" "));
        let _ = writeln!(text, "    would drop: {}", dropped_text(plan, system, registry));
        if let Some(needs) = needed_privileges(plan, system, registry) {
            let _ = writeln!(text, "    needs: {needs}");
        }
        if let Some(commits) = commits_text(system, registry) {
            let _ = writeln!(text, "    commits: {commits}");
        }
        for reset in work.resets.get(&system.name).into_iter().flatten() {
            let _ = writeln!(text, "    tables before each run: {} ({reset})", reset_words(*reset));
        }
        if let Some(change) = &system.change {
            let _ = writeln!(text, "    change: {}", in_a_line(&change.make));
            let _ = writeln!(text, "    undo: {}", in_a_line(&change.undo));
        }
        for caution in engine_cautions(system, registry) {
            let note = wrap_to_width(&format!("note: {caution}"), width.saturating_sub(4), 4);
            note.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
}

/// Describes a private server, with its pooler if it has one.
fn private_server_text(server: &PrivateServer) -> String {
    match &server.pooler {
        None => format!("private {} server", server.engine),
        Some(pooler) => format!("private {} server behind {} ({})", server.engine, pooler.name, pooler.mode),
    }
}

/// Writes the order of the runs, round by round, or that it is drawn when the plan runs.
fn write_rounds(text: &mut String, plan: &Plan, seed: Option<u64>, width: usize) {
    let Some(order) = known_order(plan, seed) else {
        let said = format!(
            "order: {}; in each every case once, in a random order that is drawn when it runs, and recorded: `--set \
             schedule.seed=1` fixes it",
            rounds_text(plan)
        );
        text.push('\n');
        text.push_str(&wrap_to_width(&said, width, 4));
        return;
    };
    let _ = match plan.schedule.order {
        Order::Interleaved => writeln!(text, "\norder (interleaved, seed {})", plan.schedule.seed),
        Order::Sequential => writeln!(text, "\norder (sequential)"),
    };
    // A single system is never judged.
    let looks = if plan.systems.len() > 1 { plan.schedule.until_sure } else { None };
    let first_rounds = plan.schedule.until_sure.map_or(plan.schedule.rounds, |until| until.first);
    for round in 0..first_rounds {
        let numbers: Vec<String> =
            order.iter().filter(|t| t.round == round).map(|t| (t.case + 1).to_string()).collect();
        let _ = writeln!(text, "  round {:>2}: {}", round + 1, numbers.join(" "));
    }
    if first_rounds < plan.schedule.rounds {
        let last = plan.schedule.rounds;
        let _ = match looks {
            Some(_) => writeln!(text, "  … up to round {last}, each after a look at those before it"),
            None => writeln!(text, "  … to round {last}: with a single system there is nothing to be sure of"),
        };
    }
}

/// Writes what the plan would do as JSON.
fn plan_json(
    (plan, seed): (&Plan, Option<u64>),
    work: &Work,
    warnings: &[PlanWarning],
    forecast: Option<&PilotForecast>,
    registry: &Registry,
) -> serde_json::Value {
    let systems: Vec<_> = plan
        .systems
        .iter()
        .map(|system| {
            json!({
                "name": system.name,
                "engine": system.engine,
                "would_drop": dropped_text(plan, system, registry),
                "needs": needed_privileges(plan, system, registry),
                "durability": registry.durability_of_plan(system),
                "reset": work.resets.get(&system.name).into_iter().flatten().map(Reset::to_string).collect::<Vec<_>>(),
                "notes": engine_cautions(system, registry),
            })
        })
        .collect();
    let mut redacted = json!(plan.redacted());
    redacted["schedule"]["seed"] = json!(seed);
    json!({
        "schema_version": 1,
        "plan": redacted,
        "systems": systems,
        "cases": plan.cases(),
        "order": known_order(plan, seed),
        "expected_s": work.expected_time().total().as_secs_f64(),
        "checking_s": work.checking.as_secs_f64(),
        "disk_bytes": work.disk_bytes,
        "warnings": warnings.iter().map(PlanWarning::to_json).collect::<Vec<_>>(),
        "expected_rounds": forecast.map(PilotForecast::to_json),
    })
}
