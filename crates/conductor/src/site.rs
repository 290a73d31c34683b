//! Where a system is used: in this process, or by an agent on another host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use host::watch::{Measured, Watch};
use model::{Caches, Case, Direction, Facts, Measurement, Reset, Role, RunRecord, RunState, Schedule, SystemPlan};
use serde::{Deserialize, Serialize};

use crate::tables::{KnownTables, UntilInterrupted};
use load::error::{Failure, FailureKind};
use load::generator::{LoadGenerator, LoadSpec, Local};
use load::observer::{Observer, TablesProgress};
use load::run::{LoadRun, ServerCounters};
use load::surroundings::{Surroundings, stopped_often_or_long};
use workloads::dataset::{Dataset, Dialect, Tables};
use workloads::empty_tables;
use workloads::session::{Session, SessionKind};
use workloads::step::{self, StepContext};
use workloads::system::{LoadProgress, OpenRequest, Presence, System};
use workloads::transactions::{Moment, Program};
use workloads::work::LoadKind;
use workloads::work::SystemCounters;
use workloads::work::{StreamTask, StreamWork};
use workloads::workload::{Action, Task};

/// While tables are loaded.
const TELL_EVERY: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
pub struct SiteJob<'a> {
    /// Other hosts compile the task from it.
    pub case: &'a Case,
    pub task: &'a Task,
    pub schedule: &'a Schedule,
    /// Equal for all systems of a round.
    pub seed: u64,
    pub interrupt: &'a Arc<AtomicBool>,
    /// Other étalons of this machine that take part.
    pub co_located: &'a [u32],
    pub inspection: Inspection,
}

/// What a load of its own kind knows of its tables is checked against them after each run, as far as that is quick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inspection {
    /// No more than that.
    Quick,
    /// Everything after the run: of one that may be its case's last.
    Afterwards,
    /// Everything before the run, too: of its case's first.
    Whole,
}

/// Which facts of a system are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FactsScope {
    /// All, and that the cases can run, before they do.
    Whole,
    /// What it is, and whether the cases' tables hold rows, after a run.
    AfterRun,
}

impl Inspection {
    /// Whether the tables are checked in full at that moment of a run.
    pub fn checks_at(self, moment: Moment) -> bool {
        match self {
            Inspection::Quick => false,
            Inspection::Afterwards => moment == Moment::Ended,
            Inspection::Whole => true,
        }
    }
}

impl<'a> SiteJob<'a> {
    /// Makes the description of a job's load: shape, schedule, seed and interrupt.
    pub fn load_spec(&self, task: &'a StreamTask) -> LoadSpec<'a> {
        LoadSpec { shape: &task.shape, schedule: self.schedule, seed: self.seed, interrupt: self.interrupt }
    }
}

/// A [`System`] with its host.
pub trait Site: Send + Sync {
    /// The kind of load that the site can run.
    fn load_kind(&self) -> LoadKind;

    /// The number of files that a client opens in this process.
    fn files_per_client(&self) -> u64;

    /// Whether what happens on this process's machine matters to the system.
    fn uses_this_machine(&self) -> bool;

    /// Reads the facts of the system, with those that the cases need.
    fn facts(&self, cases: &[(&Case, &Task)], scope: FactsScope) -> Result<Facts, Failure>;

    /// Makes the task's own tables, once for all hosts.
    fn prepare_tables(&self, job: &SiteJob<'_>, observer: &mut dyn Observer) -> Result<(), Failure>;

    /// Settles the system and measures a run. `generator` makes a stream's load; without one the system's host does.
    fn run(
        &self,
        job: &SiteJob<'_>,
        generator: Option<&dyn LoadGenerator>,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, Failure>;

    /// The system's plan for other hosts, without a user's password.
    fn plan_for_other_hosts(&self) -> Result<SystemPlan, Failure>;

    /// Has the system begin a new round, before its first run in it.
    fn begin_round(&self) -> Result<(), Failure>;

    /// Waits until the system is available after a lost connection.
    fn wait_until_available(&self) -> Result<(), Failure>;

    /// Opens a session for the plan's own statements, in the engine's words.
    ///
    /// # Errors
    /// It is on another host, or gives no session.
    fn session(&self, _kind: SessionKind) -> Result<(Box<dyn Session>, &'static dyn Dialect), Failure> {
        let cause = "the system is on another host";
        Err(Failure::new(FailureKind::Unsupported, "run the plan's own statements", cause))
    }

    /// Announces that only clean-up follows; see [`System::begin_clean_up`].
    fn begin_clean_up(&self) {}

    /// Removes everything that étalon made there.
    fn drop_all(&self) -> Result<(), Failure>;
}

/// Places of systems and of load generators, for plans that name hosts.
pub trait Places: Send + Sync {
    /// Opens the site of a system on the host that the plan names; `None` if it is in this process.
    fn site_of(&self, request: &OpenRequest<'_>) -> Result<Option<Arc<dyn Site>>, Failure>;

    /// Lets load hosts check an opened system, so that forbidden ones are reported before anything is prepared.
    fn introduce(&self, request: &OpenRequest<'_>, site: &dyn Site) -> Result<(), Failure>;

    /// Makes the load generator for a run; `None` if the system's host makes the load.
    fn load_generator<'a>(
        &'a self,
        job: &SiteJob<'a>,
        site: &'a dyn Site,
    ) -> Result<Option<Box<dyn LoadGenerator + 'a>>, Failure>;

    /// Reads the facts of the load hosts, by subject.
    fn facts(&self) -> Result<Vec<(String, Facts)>, Failure>;

    /// Takes this run's record, if an earlier étalon measured it without storing it. Returned once.
    fn left_over(&self, job: &SiteJob<'_>, observer: &mut dyn Observer) -> Option<RunRecord>;

    /// Notes that everything so far is stored, so that hosts may forget their records of it.
    fn note_committed(&self);

    /// Lists the agents that run on this machine, too.
    fn co_located_agents(&self) -> Vec<u32>;
}

/// Prepares the tables, calls `between`, and makes the run, by the load generators of the plan's hosts if it names some.
///
/// # Errors
/// One of the hosts, or the system, fails.
pub fn run_once(
    places: Option<&dyn Places>,
    site: &dyn Site,
    job: &SiteJob<'_>,
    between: &dyn Fn() -> Result<(), Failure>,
    observer: &mut dyn Observer,
) -> Result<RunRecord, Failure> {
    let generator = places.map(|places| places.load_generator(job, site)).transpose()?.flatten();
    let started = Instant::now();
    site.prepare_tables(job, observer)?;
    let prepared_s = started.elapsed().as_secs_f64();
    between()?;
    let mut record = site.run(job, generator.as_deref(), observer)?;
    if record.state == RunState::Measured {
        // In full where the engine makes tables again, else by a copy of the first.
        let took = Measurement::value("prepare_time", "s", Direction::Lower, Role::Diagnostic, prepared_s);
        record.measurements.push(took);
    }
    Ok(record)
}

pub struct Here {
    system: Arc<dyn System>,
    plan: SystemPlan,
    known: KnownTables,
    /// An agent's name.
    host: Option<String>,
    progress: Arc<LoadProgress>,
}

impl Here {
    /// Makes the site of an opened system in this process.
    pub fn new(system: Arc<dyn System>, plan: &SystemPlan) -> Here {
        Here { system, plan: plan.clone(), known: KnownTables::default(), host: None, progress: Arc::default() }
    }

    /// Has the site show the progress of a load that the system's threads count.
    #[must_use]
    pub fn with_progress(self, progress: &Arc<LoadProgress>) -> Here {
        Here { progress: Arc::clone(progress), ..self }
    }

    /// Loads a data set in another thread, and shows the observer its progress meanwhile.
    fn load_tables(&self, data: &Dataset, observer: &mut dyn Observer) -> Result<(), Failure> {
        let (sender, ended) = mpsc::channel();
        let mut pace = LoadPace::default();
        thread::scope(|scope| {
            scope.spawn(move || sender.send(self.system.prepare(data)));
            loop {
                match ended.recv_timeout(TELL_EVERY) {
                    Ok(end) => return end,
                    Err(RecvTimeoutError::Timeout) => {}
                    // It panicked, and so will the scope.
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                if let Some((rows_done, rows)) = self.progress.rows_so_far() {
                    let left = pace.time_left(rows_done, rows, Instant::now());
                    observer.tables_loading(TablesProgress { data: &data.name, rows_done, rows, left });
                }
            }
        })
    }

    /// Checks a job's tables in full, if its inspection asks for that at this moment.
    fn inspect_if_due(&self, job: &SiteJob<'_>, moment: Moment) -> Result<(), Failure> {
        if job.inspection.checks_at(moment) { self.inspect_tables(job.task, moment, job.interrupt) } else { Ok(()) }
    }

    /// Checks everything that a stream's load knows of its tables against them.
    ///
    /// # Errors
    /// They are not what they must be, or it was interrupted.
    pub fn inspect_tables(&self, task: &Task, moment: Moment, interrupt: &AtomicBool) -> Result<(), Failure> {
        let Action::Stream(stream) = &task.action else { return Ok(()) };
        stream.work.inspect_tables(&UntilInterrupted(SystemCounters(&*self.system), interrupt), moment)
    }

    /// Reads a task's tables through, so that all runs begin with the same caches. `false`: there was nothing to read.
    ///
    /// # Errors
    /// The tables are not those of the first load.
    pub fn read_through(&self, task: &Task, caches: Caches) -> Result<bool, Failure> {
        if task.tables() == Tables::None || self.stays_as_it_is() {
            return Ok(false);
        }
        self.known.read_through(&*self.system, &task.dataset, caches)
    }

    /// Whether the plan has no reset, so that runs find the tables as those before them left them.
    fn stays_as_it_is(&self) -> bool {
        self.plan.reset == Some(Reset::None)
    }

    /// Measures a stream's load, and checks the tables afterwards if that is due.
    fn run_stream(
        &self,
        job: &SiteJob<'_>,
        stream: &StreamTask,
        generator: Option<&dyn LoadGenerator>,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, Failure> {
        let system = &*self.system;
        let here = stream.work.on_system(system);
        let own = Local::new(&here);
        let generator = generator.unwrap_or(&own);
        let as_they_are = SystemCounters(system);
        let as_if_loaded = if self.stays_as_it_is() && job.task.tables() == Tables::Own {
            Some(self.known.as_if_loaded(system, &job.task.dataset, &stream.work.growing_queries())?)
        } else {
            None
        };
        let server: &dyn ServerCounters = match &as_if_loaded {
            Some(counters) => counters,
            None => &as_they_are,
        };
        let record = LoadRun { server, generator, account: &stream.work, spec: job.load_spec(stream) }.run(observer)?;
        if record.state == RunState::Measured {
            self.inspect_if_due(job, Moment::Ended)?;
        }
        Ok(record)
    }

    /// Makes the site one on this agent's machine.
    #[must_use]
    pub fn on_agent(self, agent: &str) -> Here {
        Here { host: Some(agent.to_owned()), ..self }
    }
}

/// Starts to watch the machine while a system is used. `None` if nothing real is used.
pub fn start_machine_watch(system: &dyn System, co_located: &[u32]) -> Option<Watch> {
    let listener = match system.presence() {
        Presence::Own => None,
        Presence::Server(listener) => Some(listener),
        Presence::Simulated => return None,
    };
    Some(Watch::start(&Measured { listener, co_located: co_located.to_vec() }))
}

/// How fast rows come, since the first look: some may be there from before.
#[derive(Default)]
struct LoadPace {
    first: Option<(u64, Instant)>,
}

impl LoadPace {
    /// Estimates how long the rest of a load will take, by its pace so far.
    fn time_left(&mut self, done: u64, all: u64, now: Instant) -> Option<Duration> {
        let (before, since) = *self.first.get_or_insert((done, now));
        let came = done.checked_sub(before).filter(|came| *came > 0)?;
        let per_row_s = now.duration_since(since).as_secs_f64() / came as f64;
        Some(Duration::from_secs_f64(per_row_s * all.saturating_sub(done) as f64))
    }
}

impl Site for Here {
    fn load_kind(&self) -> LoadKind {
        self.system.load_kind()
    }

    fn files_per_client(&self) -> u64 {
        self.system.files_per_client()
    }

    /// Reads the system's facts, and those of the cases if all are wanted, after checking that these can run.
    fn facts(&self, cases: &[(&Case, &Task)], scope: FactsScope) -> Result<Facts, Failure> {
        let system = &*self.system;
        if scope == FactsScope::Whole {
            refuse_programs(system, cases)?;
        }
        let mut facts = system.facts()?;
        if scope == FactsScope::Whole {
            system.try_connections(most_connections(cases))?;
            add_facts_of_cases(system, cases, &mut facts)?;
        }
        for (table, held) in empty_tables::which_hold_rows(system, &programs_on_tables_of_others(cases))? {
            facts.record_passing(format!("{}{table}", empty_tables::TABLE), held);
        }
        Ok(facts)
    }

    /// Loads the task's own tables, if it has any.
    fn prepare_tables(&self, job: &SiteJob<'_>, observer: &mut dyn Observer) -> Result<(), Failure> {
        match job.task.tables() {
            Tables::Own => self.load_tables(&job.task.dataset, observer),
            Tables::None => Ok(()),
        }
    }

    /// Reads the tables through, settles the system, measures the run, and notes what else the machine did.
    fn run(
        &self,
        job: &SiteJob<'_>,
        generator: Option<&dyn LoadGenerator>,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, Failure> {
        let system = &*self.system;
        let started = Instant::now();
        let is_read = self.read_through(job.task, job.schedule.caches)?;
        let reading_s = if is_read { started.elapsed().as_secs_f64() } else { 0.0 };
        let are_fresh = !self.stays_as_it_is() || self.known.are_fresh(&job.task.dataset);
        if job.task.tables() == Tables::Own && are_fresh {
            self.inspect_if_due(job, Moment::Loaded)?;
        }
        let watch = start_machine_watch(system, job.co_located);
        system.settle()?;
        if job.schedule.caches == Caches::Cold && job.task.tables() == Tables::Own {
            system.empty_caches()?;
        }
        let mut record = match &job.task.action {
            Action::Stream(stream) => self.run_stream(job, stream, generator, observer)?,
            Action::Step(procedure) => {
                let (schedule, seed) = (job.schedule, job.seed);
                let mut context = StepContext { system, schedule, seed, interrupt: job.interrupt, observer };
                step::run_step(&**procedure, &mut context)?
            }
        };
        if record.state == RunState::Measured {
            system.check_claim()?;
            let measured =
                [("read_through_time", "s", reading_s), ("kept_copies", "bytes", system.kept_bytes() as f64)];
            let there = measured.into_iter().filter(|(.., value)| *value > 0.0);
            record.measurements.extend(
                there.map(|(id, unit, value)| Measurement::value(id, unit, Direction::Lower, Role::Diagnostic, value)),
            );
        }
        if let Some(watch) = watch {
            let watched = watch.stop();
            if matches!(job.task.action, Action::Step(_)) {
                record.marks.extend(stopped_often_or_long(&watched));
            }
            Surroundings::from_watched(&watched, self.host.as_deref()).add_to(&mut record);
        }
        Ok(record)
    }

    /// Whether the system is real, so that this machine's state matters.
    fn uses_this_machine(&self) -> bool {
        self.system.presence() != Presence::Simulated
    }

    /// The system's plan as other hosts reach it, without a user's password.
    fn plan_for_other_hosts(&self) -> Result<SystemPlan, Failure> {
        self.system.plan_for_other_hosts(&self.plan)
    }

    fn begin_round(&self) -> Result<(), Failure> {
        self.system.begin_round()
    }

    fn wait_until_available(&self) -> Result<(), Failure> {
        self.system.wait_until_available()
    }

    /// Opens a session on the system, with its dialect.
    fn session(&self, kind: SessionKind) -> Result<(Box<dyn Session>, &'static dyn Dialect), Failure> {
        Ok((self.system.connect_session(kind)?, self.system.dialect()))
    }

    fn begin_clean_up(&self) {
        self.system.begin_clean_up();
    }

    /// Removes everything that étalon made in the system.
    fn drop_all(&self) -> Result<(), Failure> {
        self.system.drop_all()
    }
}

/// Fails if a case has statements that the system cannot run.
fn refuse_programs(system: &dyn System, cases: &[(&Case, &Task)]) -> Result<(), Failure> {
    for (_, task) in cases {
        if let Action::Stream(StreamTask { work: StreamWork::Statements(program), .. }) = &task.action {
            system.refuse_program(program)?;
        }
    }
    Ok(())
}

/// Adds the facts of the cases' sessions, procedures, loads and resets to a system's.
fn add_facts_of_cases(system: &dyn System, cases: &[(&Case, &Task)], facts: &mut Facts) -> Result<(), Failure> {
    for kind in session_kinds(cases) {
        facts.absorb("session", system.read_session_facts(kind)?);
    }
    for (_, task) in cases {
        if let Action::Step(procedure) = &task.action {
            facts.absorb("program", procedure.procedure_facts(system));
        }
    }
    for (name, values) in facts_of_loads(cases) {
        facts.record_passing(name, values.into_iter().collect::<Vec<_>>().join("; "));
    }
    let own = cases.iter().filter(|(_, task)| task.tables() == Tables::Own);
    let resets: BTreeSet<String> = own.filter_map(|(_, task)| system.explain_reset(&task.dataset)).collect();
    if !resets.is_empty() {
        facts.record_identity(model::facts::RESET, resets.into_iter().collect::<Vec<_>>().join("; "));
    }
    Ok(())
}

/// Number of connections that the largest of the cases needs. A pool works with fewer, and says so.
fn most_connections(cases: &[(&Case, &Task)]) -> u64 {
    let needed = cases.iter().map(|(_, task)| match &task.action {
        Action::Stream(stream) if stream.shape.traffic.pool.is_some() => 0,
        Action::Stream(stream) => stream.shape.connections(),
        Action::Step(procedure) => procedure.connections(),
    });
    needed.max().unwrap_or_default()
}

/// Lists the statements of the cases that run on tables that étalon did not make.
fn programs_on_tables_of_others<'a>(cases: &'a [(&Case, &Task)]) -> Vec<&'a Program> {
    let of_others = cases.iter().filter(|(_, task)| task.tables() == Tables::None);
    let programs = of_others.filter_map(|(_, task)| match &task.action {
        Action::Stream(StreamTask { work: StreamWork::Statements(program), .. }) => Some(&**program),
        Action::Stream(_) | Action::Step(_) => None,
    });
    programs.collect()
}

/// Collects what the loads of the cases say of themselves, by name; cases that differ have several values.
fn facts_of_loads(cases: &[(&Case, &Task)]) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut facts: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for (_, task) in cases {
        let Action::Stream(stream) = &task.action else { continue };
        stream.work.work_facts().into_iter().for_each(|(name, value)| _ = facts.entry(name).or_default().insert(value));
    }
    facts
}

/// Lists the kinds of sessions that the cases' procedures use, each once.
fn session_kinds(cases: &[(&Case, &Task)]) -> Vec<SessionKind> {
    let of_procedures = cases.iter().filter_map(|(_, task)| match &task.action {
        Action::Step(procedure) => Some(procedure.session_kind()),
        Action::Stream(_) => None,
    });
    let mut kinds: Vec<SessionKind> = of_procedures.collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_leaves_out_what_was_there() {
        let begun = Instant::now();
        let mut pace = LoadPace::default();
        let mut left = |done, after_s| pace.time_left(done, 1_000, begun + Duration::from_secs(after_s));
        assert_eq!((left(600, 5), left(600, 6)), (None, None));
        assert_eq!(left(700, 15), Some(Duration::from_secs(30)));
        assert_eq!(left(1_000, 45), Some(Duration::ZERO));
    }
}
