//! Runs an experiment: opens systems, takes facts, runs pending runs in the stored order, and commits each to the
//! store before the next.

mod change;
mod identity;
mod removal;
mod rounds;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use model::facts::TEXTS;
use model::plan::FEWEST_TO_JUDGE;
use model::{
    Case, Facts, Length, LoadPoint, OnError, Plan, PlannedRun, Promise, RunRecord, RunState, Schedule, Stop, SystemPlan,
};
use store::Store;

use self::change::MadeChange;
use crate::capacity_run::{check_task, measure_per_money, seek_capacity, usual_loads};
pub use crate::ended::{ExperimentEnd, ExperimentError};
use crate::files::check_open_files_limit;
use crate::lasting::LastingFailure;
pub use crate::options::{ExperimentOptions, TimeLimit};
use crate::registry::Registry;
use crate::seed;
use crate::site::{FactsScope, Here, Inspection, Places, Site, SiteJob};
use crate::timeout::ask_within;
use load::error::{Failure, FailureKind};
use load::observer::{ExperimentProgress, Observer};
use load::rng::Rng;
use workloads::dataset::Tables;
use workloads::system::OpenRequest;
use workloads::texts::Texts;
use workloads::work::LoadKind;
use workloads::work::{StreamTask, StreamWork};
use workloads::workload::{Action, Grants, Task};

/// Polling interval for its return.
const REVIVE_EVERY: Duration = Duration::from_millis(500);
/// Attempts at a run whose server came back, or in which nothing ended.
const ATTEMPTS: u32 = 3;

/// The stream that searches draw their grid of rates from: no client's.
const PHASE: u64 = u64::MAX;
/// The stream of what is left to chance in one search.
const BETWEEN: u64 = u64::MAX - 1;

/// Subject of the client's facts.
pub const CLIENT: &str = "client";

/// Subject prefix of other client hosts' facts.
pub const CLIENT_HOST: &str = "client ";

enum RunEnd {
    Measured,
    Aborted,
    Failed(Failure),
}

pub struct Conductor<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    store: &'a mut Store,
    options: ExperimentOptions,
    /// Shared with threads that poll a system for its return.
    sites: BTreeMap<String, Arc<dyn Site>>,
    /// Systems that did not answer last: asking them again must not block for ever.
    silent: BTreeSet<String>,
    /// Systems that could not begin the round.
    unready: BTreeSet<String>,
    /// Cases whose tables were checked against everything, in this process.
    inspected: BTreeSet<u32>,
    /// What each system was before its first run: a run after which it is something else is marked.
    identities: RefCell<BTreeMap<String, Facts>>,
    /// Tables of others that held rows, by server.
    filled: BTreeMap<String, BTreeSet<String>>,
    /// The change in each server, unless it is undone.
    made: RefCell<BTreeMap<String, MadeChange>>,
    /// Systems with a change whose facts were read.
    described: BTreeSet<String>,
    /// Systems of which the user knows that they changed.
    changed: BTreeSet<String>,
    tasks: Vec<Task>,
    /// The hashes of the scripts and of what they name.
    texts: Facts,
    /// The permits, with the texts as they were read first.
    grants: Grants,
    cases: Vec<Case>,
    done: usize,
    preparing: Duration,
    /// The first round that this process began, which loads.
    first_round: Option<u32>,
    /// The first round without loading that this process began, and when.
    first_paced: Option<(u32, Instant)>,
    /// Agents on this machine.
    co_located: Vec<u32>,
}

impl<'a> Conductor<'a> {
    pub fn new(
        registry: &'a Registry,
        plan: &'a Plan,
        store: &'a mut Store,
        options: ExperimentOptions,
    ) -> Conductor<'a> {
        let cases = plan.cases();
        let co_located = options.places.as_ref().map(|places| places.co_located_agents()).unwrap_or_default();
        Conductor {
            registry,
            plan,
            store,
            options,
            sites: BTreeMap::new(),
            silent: BTreeSet::new(),
            unready: BTreeSet::new(),
            inspected: BTreeSet::new(),
            identities: RefCell::default(),
            filled: BTreeMap::new(),
            made: RefCell::default(),
            described: BTreeSet::new(),
            changed: BTreeSet::new(),
            tasks: Vec::new(),
            texts: Facts::default(),
            grants: Grants::default(),
            cases,
            done: 0,
            preparing: Duration::ZERO,
            first_round: None,
            first_paced: None,
            co_located,
        }
    }

    /// Opens the systems, makes the pending runs, then removes what étalon made in the systems.
    pub fn run_all(mut self, observer: &mut dyn Observer) -> Result<ExperimentEnd, ExperimentError> {
        let opened = self.compile_tasks(observer).and_then(|()| self.open_systems(observer));
        let opened = opened.and_then(|()| self.undo_leftovers(observer));
        let ended = opened.and_then(|()| {
            if self.options.only_undo {
                return Ok(ExperimentEnd::Interrupted);
            }
            self.record_facts(observer)?;
            // What has ended, and be it by a failure, is not run again because more follows.
            let pending = if self.options.extends {
                self.store.extend_plan(&self.plan.schedule)?;
                self.store.unstarted()?
            } else {
                self.plan_rest(observer)?;
                self.store.pending()?
            };
            self.run_pending(pending.into(), observer)
        });
        let ended = match ended {
            Err(ExperimentError::System { .. } | ExperimentError::Fleet(_)) if self.is_interrupted() => {
                Ok(ExperimentEnd::Interrupted)
            }
            ended => ended,
        };
        self.undo_all(observer);
        self.remove_all(observer);
        ended
    }

    fn compile_tasks(&mut self, observer: &mut dyn Observer) -> Result<(), ExperimentError> {
        let mut noted = BTreeSet::new();
        let grants = Grants { texts: Texts::noting(), ..self.options.grants.clone() };
        for case in &self.cases {
            let workload = self.registry.workload(&case.workload);
            let task = workload.and_then(|workload| workload.make_task(&case.point, &grants));
            let task = task.and_then(|task| check_task(&task, case, &self.plan.schedule).map(|()| task));
            let task = task.and_then(|task| {
                let system = self.plan.system(&case.system);
                let able = system.map_or(Ok(()), |system| {
                    self.registry.refuse_without_statements(system, &task)?;
                    self.registry.check_cold_caches(system, &task, &self.plan.schedule)
                });
                able.map(|()| task)
            });
            let benchmark = case.benchmark.clone();
            let task = task.map_err(|failure| ExperimentError::Benchmark { benchmark, failure })?;
            if let Action::Stream(StreamTask { work: StreamWork::Statements(program), .. }) = &task.action {
                for note in program.notes.iter().filter(|note| !noted.contains(*note)) {
                    observer.warning(note);
                }
                noted.extend(program.notes.iter().cloned());
            }
            self.tasks.push(task);
        }
        self.texts = grants.texts.text_facts();
        self.grants = Grants { texts: Texts::from_sent(grants.texts.noted_texts()), ..grants };
        Ok(())
    }

    fn open_systems(&mut self, observer: &mut dyn Observer) -> Result<(), ExperimentError> {
        for system in self.plan.systems.iter().filter(|system| system.alias_of.is_none()) {
            observer.system_opening(&system.name);
            let request = OpenRequest {
                scratch_base: self.options.scratch_base.clone(),
                reactor: self.options.reactor,
                tables: self.tables_used(),
                forfeited: self.options.forfeited.clone(),
                interrupt: Arc::clone(&self.options.interrupt),
                notices: self.options.notices.clone(),
                ..OpenRequest::new(system, self.options.consent)
            };
            let failed = |failure| system_error(&system.name, failure);
            let site = self.open_site(&request).map_err(failed)?;
            // From here on, what it made is removed however the run ends.
            self.sites.insert(system.name.clone(), Arc::clone(&site));
            if let Some(places) = &self.options.places {
                places.introduce(&request, &*site).map_err(failed)?;
            }
            self.check_load_kinds(&system.name, &*site).map_err(failed)?;
            self.refuse_too_many_files(&*site).map_err(failed)?;
        }
        Ok(())
    }

    /// Opens a system on the host where the plan places it, else in this process.
    fn open_site(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Site>, Failure> {
        let elsewhere = self.options.places.as_ref().map(|places| places.site_of(request)).transpose()?.flatten();
        match elsewhere {
            Some(site) => Ok(site),
            None => {
                let here = Here::new(Arc::from(self.registry.open_system(request)?), request.system);
                Ok(Arc::new(here.with_progress(&request.progress)))
            }
        }
    }

    fn tables_used(&self) -> Tables {
        if self.tasks.iter().all(|task| task.tables() == Tables::None) { Tables::None } else { Tables::Own }
    }

    fn check_load_kinds(&self, system: &str, site: &dyn Site) -> Result<(), Failure> {
        let mut cases =
            self.cases.iter().zip(&self.tasks).filter(|(case, _)| self.name_behind_alias(&case.system) == system);
        let Some((case, task)) = cases.find(|(_, task)| task.load_kind() != site.load_kind()) else { return Ok(()) };
        let tried = format!("run the benchmark `{}`", case.benchmark);
        let (cause, hint) = match task.load_kind() {
            LoadKind::Blocks => (
                "it reads and writes blocks, and the system answers statements",
                "name a folder or a file: `url = \"disk:DIR\"`",
            ),
            LoadKind::Statements => {
                ("it asks statements, and the system holds blocks", "write `workload = \"disk\"`, or name a database")
            }
        };
        Err(Failure::new(FailureKind::Unsupported, tried, cause).with_hint(hint))
    }

    /// Fails if the connections of the largest task exceed the limit on open files.
    fn refuse_too_many_files(&self, site: &dyn Site) -> Result<(), Failure> {
        let most = self
            .tasks
            .iter()
            .map(|task| match &task.action {
                Action::Stream(stream) => stream.shape.connections(),
                Action::Step(procedure) => procedure.connections(),
            })
            .max()
            .unwrap_or_default();
        // Without a limit there is nothing to refuse.
        let soft = host::limits::open_files().ok().and_then(|limit| limit.soft);
        check_open_files_limit(most, site.files_per_client(), soft)
    }

    fn site_named(&self, system: &str) -> Result<&Arc<dyn Site>, ExperimentError> {
        let site = self.sites.get(self.name_behind_alias(system));
        site.ok_or_else(|| {
            let missing = "the plan does not name it";
            system_error(system, Failure::new(FailureKind::Plan, "use the system", missing))
        })
    }

    fn record_facts(&mut self, observer: &mut dyn Observer) -> Result<(), ExperimentError> {
        let known = self.store.facts()?;
        let paths: Vec<(&SystemPlan, PathBuf)> =
            self.plan.systems.iter().filter_map(|s| self.with_data_path(s)).collect();
        let named: Vec<(&str, &std::path::Path)> =
            paths.iter().map(|(s, path)| (s.name.as_str(), path.as_path())).collect();
        let mut taken = vec![(CLIENT.to_owned(), host::facts::client_facts(&named))];
        self.warn_about_machine(&taken, observer);
        let of_hosts = self.options.places.as_ref().map(|places| places.facts()).transpose();
        taken.extend(of_hosts.map_err(ExperimentError::Fleet)?.unwrap_or_default());
        if !self.texts.entries.is_empty() {
            taken.push((TEXTS.to_owned(), self.texts.clone()));
        }
        // Those with a change are read once it is made.
        for system in self.plan.systems.iter().filter(|system| system.change.is_none()) {
            let facts = self.facts_of_system(&system.name)?;
            observer.system_known(&system.name, &facts);
            taken.push((system.name.clone(), facts));
        }
        if known.is_empty() {
            self.refuse_an_empty_side(&taken)?;
        }
        for (subject, facts) in known.iter().chain(taken.iter().map(|(subject, facts)| (subject, facts))) {
            self.note_filled(subject, facts);
        }
        for (subject, facts) in taken {
            match known.get(&subject) {
                Some(before) => self.check_facts_unchanged(&subject, before, &facts, observer)?,
                None => self.store.put_facts(&subject, &facts, host::clock::unix_ms())?,
            }
        }
        self.note_identities(&known)
    }

    fn facts_of_system(&self, name: &str) -> Result<Facts, ExperimentError> {
        let failed = |failure| system_error(name, failure);
        let cases: Vec<(&Case, &Task)> = self.cases.iter().zip(&self.tasks).collect();
        let mut facts = self.site_named(name)?.facts(&cases, FactsScope::Whole).map_err(failed)?;
        if let Some(system) = self.plan.system(name) {
            let (engine, _) = self.registry.resolve_system(system).map_err(failed)?;
            for caution in engine.spec().cautions {
                facts.record_passing(caution.fact_name(), caution.text());
            }
        }
        Ok(facts)
    }

    fn is_interrupted(&self) -> bool {
        self.options.interrupt.load(Ordering::Relaxed)
    }

    /// Warns before the first run of what is bad about this machine; what happens later is kept with each run.
    fn warn_about_machine(&self, taken: &[(String, Facts)], observer: &mut dyn Observer) {
        if !self.sites.values().any(|site| site.uses_this_machine()) {
            return;
        }
        let Some((_, facts)) = taken.first() else { return };
        for check in host::doctor::bad_at_once(facts) {
            let fix = check.fix.map(|fix| format!("; {fix}")).unwrap_or_default();
            observer.warning(&format!("before the first run, {}: {}{fix}", check.name, check.found));
        }
    }

    fn with_data_path<'p>(&self, system: &'p SystemPlan) -> Option<(&'p SystemPlan, PathBuf)> {
        Some((system, self.registry.data_directory(system)?))
    }

    /// Fails if a subject's facts have changed since the experiment began; a changed client is only reported.
    fn check_facts_unchanged(
        &self,
        subject: &str,
        before: &Facts,
        now: &Facts,
        observer: &mut dyn Observer,
    ) -> Result<(), ExperimentError> {
        let differences: Vec<String> = before.differences(now).iter().map(model::facts::Difference::sentence).collect();
        if differences.is_empty() {
            return Ok(());
        }
        let differences = differences.join("; ");
        if subject == CLIENT || subject.starts_with(CLIENT_HOST) {
            observer.warning(&format!("the {subject}'s host has changed since the experiment began: {differences}"));
            return Ok(());
        }
        Err(ExperimentError::FactsChanged { subject: subject.to_owned(), differences })
    }

    /// Stores what agents had measured when an earlier run ended, and plans the rest, without mixing it with old rounds.
    fn plan_rest(&mut self, observer: &mut dyn Observer) -> Result<(), ExperimentError> {
        if let Some(places) = self.options.places.clone() {
            let runs = self.store.runs()?;
            let is_measured =
                |position| runs.iter().any(|t| t.planned.position == position && t.state == RunState::Measured);
            for run in self.store.pending()?.into_iter().filter(|run| !is_measured(run.position)) {
                let case = self.cases[run.case as usize].clone();
                let Some(record) = places.left_over(&self.make_site_job(run, &case), observer) else { continue };
                let id = self.store.begin_run(run, host::clock::unix_ms())?;
                self.store.finish_run(id, &record)?;
                places.note_committed();
                observer.run_ended(&run, &case, &record);
            }
        }
        let again = self.store.plan_rest(self.options.rest)?;
        if again > 0 {
            observer.runs_repeated(again);
        }
        Ok(())
    }

    /// Whether a run may be its case's last: an experiment that ends when it is sure may end after any round it judges.
    fn may_be_last(&self, run: PlannedRun) -> bool {
        let schedule = &self.plan.schedule;
        let until_sure = schedule.until_sure.filter(|until| until.stop != Stop::Never || until.max_time.is_some());
        let first = until_sure.map(|until| until.first).or(self.options.limit.map(|_| FEWEST_TO_JUDGE));
        run.round + 1 >= first.unwrap_or(schedule.rounds).min(schedule.rounds)
    }

    /// Makes the job of a run for its site: task, schedule, seed, and how thoroughly its tables are checked.
    fn make_site_job<'j>(&'j self, run: PlannedRun, case: &'j Case) -> SiteJob<'j> {
        let task = &self.tasks[run.case as usize];
        let seed = seed::draw_run_seed(self.plan, &self.cases, task, run);
        let (schedule, interrupt, co_located) = (&self.plan.schedule, &self.options.interrupt, &self.co_located);
        let inspection = if !self.inspected.contains(&run.case) {
            Inspection::Whole
        } else if self.may_be_last(run) {
            Inspection::Afterwards
        } else {
            Inspection::Quick
        };
        SiteJob { case, task, schedule, seed, interrupt, co_located, inspection }
    }

    /// Makes the pending runs round by round, until all are done, the user stops or a failure ends it.
    fn run_pending(
        &mut self,
        mut pending: VecDeque<PlannedRun>,
        observer: &mut dyn Observer,
    ) -> Result<ExperimentEnd, ExperimentError> {
        let started = Instant::now();
        let mut done = self.store.planned_count()? - pending.len();
        let mut failed = 0;
        let (mut round, mut looked, mut lasting) = (None, None, LastingFailure::default());
        loop {
            if pending.is_empty() && !self.is_interrupted() {
                pending.extend(self.add_round_in_time()?);
            }
            let Some(run) = pending.front().copied() else { break };
            if self.is_interrupted() {
                return Ok(ExperimentEnd::Interrupted);
            }
            if looked.replace(run.round) != Some(run.round)
                && self.leave_out(run.round, started.elapsed(), observer)? + self.leave_out_late(run.round, observer)?
                    > 0
            {
                // Of what was still to be done: a run that failed in this sitting is not run again by it.
                let still: BTreeSet<u32> = self.store.pending()?.iter().map(|run| run.position).collect();
                pending.retain(|run| still.contains(&run.position));
                continue;
            }
            pending.pop_front();
            if round != Some(run.round) {
                if let Some((run, failure)) = lasting.lasting_failure() {
                    let why = self.explain_run_failure(*run, failure);
                    let reason = format!("{why}; all runs of the round failed alike, and a further round would, too");
                    return Ok(ExperimentEnd::Stopped { reason, kind: failure.kind });
                }
                if round.is_some() {
                    self.begin_round(observer);
                }
                (round, lasting) = (Some(run.round), LastingFailure::watch_round(run.round, &self.store.runs()?));
                observer.round_started(run.round, self.store.header().plan.schedule.rounds);
            }
            let left = pending.len() + 1;
            let time = self.estimate_run_time() * left as u32;
            let time = self.options.limit.map_or(time, |limit| time.min(limit.left()));
            let progress = ExperimentProgress { done, planned: done + left, left: time };
            done += 1;
            match (self.run_patiently(run, progress, observer)?, self.plan.schedule.on_error) {
                (RunEnd::Measured, _) => lasting.note_measured(),
                (RunEnd::Aborted, _) => return Ok(ExperimentEnd::Interrupted),
                (RunEnd::Failed(failure), OnError::Continue) => {
                    failed += 1;
                    lasting.note_run_failure(run, failure);
                }
                (RunEnd::Failed(failure), OnError::Stop) => {
                    return Ok(ExperimentEnd::Stopped {
                        reason: self.explain_run_failure(run, &failure),
                        kind: failure.kind,
                    });
                }
            }
        }
        Ok(ExperimentEnd::Complete { failed })
    }

    /// Has each system begin a new round; one that fails is warned of, and tries it again at its next run.
    fn begin_round(&mut self, observer: &mut dyn Observer) {
        for (name, site) in &self.sites {
            if let Err(failure) = site.begin_round() {
                let why = text_with_hint(&failure);
                observer.warning(&format!("system `{name}`: {why}; its next run tries it again"));
                self.unready.insert(name.clone());
            }
        }
    }

    fn make_ready(&mut self, system: &str) -> Result<(), Failure> {
        let name = self.name_behind_alias(system).to_owned();
        if self.unready.contains(&name)
            && let Some(site) = self.sites.get(&name)
        {
            site.begin_round()?;
            self.unready.remove(&name);
        }
        Ok(())
    }

    /// Estimates how long a run takes: its planned length plus the mean preparation so far.
    fn estimate_run_time(&self) -> Duration {
        let all: Duration = self.cases.iter().map(|case| self.planned_load_time(case)).sum();
        all / self.cases.len().max(1) as u32 + self.preparing / self.done.max(1) as u32
    }

    /// Makes the text that says in which round and case a run failed, why, and what may help.
    fn explain_run_failure(&self, run: PlannedRun, failure: &Failure) -> String {
        let case = &self.cases[run.case as usize];
        let label = case.label(&self.plan.varying_keys(&case.benchmark));
        format!("round {}, {label}: {}", run.round + 1, text_with_hint(failure))
    }

    /// Makes a run, and repeats it if its server went away and came back, or if nothing ended in it, as after a pause.
    fn run_patiently(
        &mut self,
        run: PlannedRun,
        progress: ExperimentProgress,
        observer: &mut dyn Observer,
    ) -> Result<RunEnd, ExperimentError> {
        for attempt in 1.. {
            let ended = self.run_unless_silent(run, progress, observer)?;
            let RunEnd::Failed(failure) = &ended else { return Ok(ended) };
            let is_empty = failure.kind == FailureKind::NothingEnded;
            let is_last = attempt >= ATTEMPTS || self.is_interrupted();
            if is_last || !(failure.may_pass() || is_empty) {
                return Ok(ended);
            }
            let system = self.cases[run.case as usize].system.clone();
            let why = self.explain_run_failure(run, failure);
            if is_empty {
                observer.warning(&format!("{why}; the run is repeated"));
                continue;
            }
            let timeout = model::duration::rounded_text(self.options.patience);
            observer.warning(&format!("{why}; waiting up to {timeout} for system `{system}`"));
            if !self.wait_for_system(&system)? {
                return Ok(ended);
            }
        }
        Ok(RunEnd::Aborted)
    }

    /// Makes a run once its system answers; records it as failed if the system stays silent.
    fn run_unless_silent(
        &mut self,
        run: PlannedRun,
        progress: ExperimentProgress,
        observer: &mut dyn Observer,
    ) -> Result<RunEnd, ExperimentError> {
        let system = self.cases[run.case as usize].system.clone();
        if !self.silent.contains(self.name_behind_alias(&system)) || self.wait_for_system(&system)? {
            return self.run_one(run, progress, observer);
        }
        let cause = "it has not answered since an earlier run";
        let failure = Failure::new(FailureKind::Other, format!("use the system `{system}`"), cause);
        let id = self.store.begin_run(run, host::clock::unix_ms())?;
        let record = RunRecord::without_result(RunState::Failed, failure.to_string());
        self.store.finish_run(id, &record)?;
        observer.run_ended(&run, &self.cases[run.case as usize], &record);
        Ok(RunEnd::Failed(failure))
    }

    /// Waits for a system to be available; `false` if it does not come back in time, or the user interrupts.
    fn wait_for_system(&mut self, system: &str) -> Result<bool, ExperimentError> {
        let started = Instant::now();
        let timeout = self.options.patience;
        while started.elapsed() < timeout && !self.is_interrupted() {
            let site = Arc::clone(self.site_named(system)?);
            match ask_within(timeout.saturating_sub(started.elapsed()), move || site.wait_until_available()) {
                Some(Ok(())) => {
                    let name = self.name_behind_alias(system).to_owned();
                    self.silent.remove(&name);
                    self.note_unsure(&name);
                    return Ok(true);
                }
                Some(Err(_)) => thread::sleep(REVIVE_EVERY),
                None => {
                    self.silent.insert(self.name_behind_alias(system).to_owned());
                }
            }
        }
        Ok(false)
    }

    /// Name of the system that this name is an alias of, else the name itself.
    fn name_behind_alias<'s>(&'s self, system: &'s str) -> &'s str {
        self.plan.system(system).and_then(|system| system.alias_of.as_deref()).unwrap_or(system)
    }

    fn run_one(
        &mut self,
        run: PlannedRun,
        progress: ExperimentProgress,
        observer: &mut dyn Observer,
    ) -> Result<RunEnd, ExperimentError> {
        let case = self.cases[run.case as usize].clone();
        observer.run_started(&run, &case, progress);
        let id = self.store.begin_run(run, host::clock::unix_ms())?;
        let started = Instant::now();
        let ready = self.make_ready(&case.system).map_err(|failure| (failure, Vec::new()));
        let made = ready.and_then(|()| self.prepare_and_run(run, &case, observer)).and_then(|mut record| {
            if record.state == RunState::Measured {
                let marked = self.mark_changes(run, &mut record, observer);
                marked.map_err(|failure| (failure, record.points.clone()))?;
            }
            Ok(record)
        });
        let (record, ended) = match made {
            Ok(record) if record.state == RunState::Aborted => (record, RunEnd::Aborted),
            Ok(record) => {
                self.inspected.insert(run.case);
                (record, RunEnd::Measured)
            }
            // Interrupted preparation has not failed.
            Err((failure, points)) if self.is_interrupted() => {
                let reason = format!("{}: {failure}", model::run::INTERRUPTED);
                (RunRecord { points, ..RunRecord::without_result(RunState::Aborted, reason) }, RunEnd::Aborted)
            }
            Err((failure, points)) => {
                let record = RunRecord::without_result(RunState::Failed, failure.to_string());
                (RunRecord { points, ..record }, RunEnd::Failed(failure))
            }
        };
        self.store.finish_run(id, &record)?;
        if let Some(places) = &self.options.places {
            places.note_committed();
        }
        if record.state == RunState::Measured {
            self.take_changed_facts(&case.system, observer)?;
        }
        self.done += 1;
        // Short runs of a search may have been lengthened.
        let measured = self.planned_load_time(&case).max(Duration::from_secs_f64(record.elapsed_s.max(0.0)));
        self.preparing += started.elapsed().saturating_sub(measured);
        observer.run_ended(&run, &case, &record);
        Ok(ended)
    }

    /// Planned time of a case's warm-ups and measurements; of counted transactions the warm-ups alone.
    fn planned_load_time(&self, case: &Case) -> Duration {
        let load = match self.plan.schedule.length_at(&case.point) {
            Length::Duration(duration) => self.plan.schedule.warmup + duration,
            Length::Transactions(_) => self.plan.schedule.warmup,
        };
        load * usual_loads(case)
    }

    fn places(&self) -> Option<&dyn Places> {
        self.options.places.as_deref()
    }

    /// Makes a case's load, or searches its capacity if it has a promise; a failure comes with the loads tried before.
    fn prepare_and_run(
        &self,
        run: PlannedRun,
        case: &Case,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, (Failure, Vec<LoadPoint>)> {
        let site = self
            .site_named(&case.system)
            .map_err(|error| Failure::new(FailureKind::Plan, format!("find the system `{}`", case.system), error));
        let site = &**site.map_err(pair_with_no_points)?;
        let Some(promise) = Promise::from_point(&case.point) else {
            return self.load_once(site, &self.make_site_job(run, case), observer).map_err(pair_with_no_points);
        };
        let workload = self.registry.workload(&case.workload).map_err(pair_with_no_points)?;
        let seed = self.plan.schedule.seed;
        let phase = Rng::of_transaction(seed, run.round, PHASE).unit();
        let between = Rng::of_transaction(seed, run.position, BETWEEN).unit();
        let length = match self.plan.schedule.length {
            Length::Duration(length) => length,
            Length::Transactions(_) => Duration::ZERO,
        };
        // What chance does to one short run it does not do to all.
        let mut short_run = |case: &Case, number: u32, length: Duration, observer: &mut dyn Observer| {
            let task = workload.make_task(&case.point, &self.grants)?;
            let schedule = Schedule { length: Length::Duration(length), ..self.plan.schedule.clone() };
            let job = self.make_site_job(run, case);
            let seed = Rng::of_transaction(job.seed, number, PHASE).next_u64();
            self.load_once(site, &SiteJob { case, task: &task, seed, schedule: &schedule, ..job }, observer)
        };
        let unit = workload.spec().rate_unit;
        let mut record = seek_capacity((case, promise, length), (phase, between), unit, &mut short_run, observer)?;
        let price = self.plan.system(&case.system).and_then(|system| system.price.as_ref());
        record.measurements.extend(price.and_then(|price| measure_per_money(&record, price)));
        Ok(record)
    }
}

fn pair_with_no_points(failure: Failure) -> (Failure, Vec<LoadPoint>) {
    (failure, Vec::new())
}

fn text_with_hint(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{failure}{hint}")
}

fn system_error(system: &str, failure: Failure) -> ExperimentError {
    ExperimentError::System { system: system.to_owned(), failure }
}
