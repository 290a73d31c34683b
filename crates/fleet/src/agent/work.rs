//! The work of an agent's job, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use conductor::site::{FactsScope, Here, Inspection, Site as _, SiteJob, start_machine_watch};
use host::watch::Watch;
use load::error::{Failure, FailureKind};
use load::generator::{HostLoad, LoadGenerator as _, LoadSpec, Loaded, Local};
use load::surroundings::Surroundings;
use load::worker::TaskLog;
use model::{Caches, Facts, RunState, Schedule, SystemPlan};
use workloads::dataset::Tables;
use workloads::system::{Consent, Notice, Notices, OpenRequest, Part, System};
use workloads::texts::Texts;
use workloads::work::{StreamTask, StreamWork as Load};
use workloads::workload::{Action, Grants, Task};

use super::Shared;
use super::job::{Job, Waits, Watching};
use super::session::{CoLocated, Opened, Systems, lock_systems};
use crate::parts;
use crate::protocol::{Account, Answer, Ask, Outcome, Recorded, Request, SentCase, pids_on_this_machine};
use crate::texts::TextCache;

pub(super) struct Work {
    pub(super) shared: Arc<Shared>,
    pub(super) systems: Systems,
    pub(super) co_located: CoLocated,
    pub(super) texts: TextCache,
    pub(super) job: Arc<Job>,
    pub(super) request: Request,
}

impl Work {
    /// Does the work, and finishes the job with its answer; a panic is a failure.
    pub(super) fn run(self) {
        let answer = catch_unwind(AssertUnwindSafe(|| self.do_request()));
        let answer = answer.unwrap_or_else(|_| {
            let cause = "it panicked; its own log says where";
            Err(Failure::new(FailureKind::Other, "do an agent's work", cause))
        });
        self.job.finish(answer.map_err(|failure| self.as_lost_if_stopped(failure)));
    }

    /// Turns the failure of a stopped job into a lost connection, which may be tried again.
    /// A failure that lasts stays, and so does that of a job that was not stopped.
    fn as_lost_if_stopped(&self, failure: Failure) -> Failure {
        if !self.job.stopped.load(Ordering::Relaxed) || failure.is_lasting() {
            return failure;
        }
        let cause =
            format!("{}: the agent is being ended, or was not reached for longer than its lease", failure.cause);
        Failure { kind: FailureKind::ConnectionLost, cause, ..failure }
    }

    /// Does what the request asks, and returns its answer.
    fn do_request(&self) -> Result<Answer, Failure> {
        match &self.request.ask {
            Ask::Open { system, part, tables } => self.open_system(system, *part, *tables),
            Ask::MissingTexts { of } => Ok(Answer::MissingTexts(self.texts.missing_ids(of))),
            Ask::Text(piece) => self.texts.take_in(piece).map(empty_answer),
            Ask::HostFacts => Ok(Answer::Facts(host::facts::client_facts(&[]))),
            Ask::Process => {
                let (machine, pid) = host::identity::machine_and_process();
                Ok(Answer::Process(machine, pid))
            }
            Ask::CoLocated { all } => {
                *self.co_located.lock().unwrap_or_else(PoisonError::into_inner) = pids_on_this_machine(all);
                Ok(Answer::Nothing)
            }
            Ask::Watch { system } => {
                let opened = self.find_opened_whole(system)?;
                let began = start_machine_watch(&*opened.system, &self.co_located_pids());
                *opened.watch.lock().unwrap_or_else(PoisonError::into_inner) = began;
                Ok(Answer::Nothing)
            }
            Ask::Watched { system } => {
                let watch = self.find_opened_whole(system)?.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
                Ok(Answer::Surroundings(watch.map(|watch| self.stop_watch(watch))))
            }
            Ask::SystemFacts { system, cases, scope } => self.read_facts(system, cases, *scope).map(Answer::Facts),
            Ask::ServerCounters { system } => self.read_account(system),
            Ask::Scalar { system, case, sql } => self.query_scalar(system, case, sql).map(Answer::Number),
            Ask::Reach { system } => {
                let opened = self.find_opened_whole(system)?;
                let reached = opened.system.plan_for_other_hosts(&opened.plan)?;
                Ok(Answer::System(Box::new(reached)))
            }
            Ask::Tables { system, case } => {
                let task = self.compile_task(case)?;
                match task.tables() {
                    Tables::Own => self.find_and_tie_system(system)?.system.prepare(&task.dataset).map(empty_answer),
                    Tables::None => Ok(Answer::Nothing),
                }
            }
            Ask::Settle { system, case } => {
                let opened = self.find_and_tie_system(system)?;
                opened.here.read_through(&self.compile_task(case)?, Caches::Warmed)?;
                opened.system.settle().map(empty_answer)
            }
            Ask::Inspect { system, case, moment } => {
                let opened = self.find_and_tie_system(system)?;
                opened.here.inspect_tables(&self.compile_task(case)?, *moment, &self.job.stopped).map(empty_answer)
            }
            Ask::BeginRound { system } => self.find_and_tie_system(system)?.system.begin_round().map(empty_answer),
            Ask::Revive { system } => self.find_and_tie_system(system)?.system.wait_until_available().map(empty_answer),
            Ask::Close { system } => self.close_system(system).map(empty_answer),
            Ask::Whole { system, case, schedule, seed, inspection } => {
                self.run_whole(system, case, schedule, *seed, *inspection)
            }
            Ask::HostLoad { system, case, schedule, seed, segment } => {
                self.run_share(system, case, schedule, *seed, *segment)
            }
            Ask::Start { .. } | Ask::Stop { .. } | Ask::Leave | Ask::Renew { .. } => Ok(Answer::Nothing),
        }
    }

    /// The process ids of the other étalons on this machine that take part.
    fn co_located_pids(&self) -> Vec<u32> {
        self.co_located.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops a watch, and returns what it saw on this host.
    fn stop_watch(&self, watch: Watch) -> Surroundings {
        Surroundings::from_watched(&watch.stop(), Some(&self.shared.options.name))
    }

    /// Finds the system that is open for a part of the work, or fails.
    fn find_opened(&self, system: &str, part: Part) -> Result<Arc<Opened>, Failure> {
        let found = lock_systems(&self.systems).get(&(system.to_owned(), part == Part::Whole)).cloned();
        found.ok_or_else(|| {
            let cause = "it is not open there (any more): the agent has been started again, or was not reached for too \
                         long";
            Failure::new(FailureKind::ConnectionLost, format!("use the system `{system}`"), cause)
        })
    }

    /// Finds the system that is open for whole runs, or fails.
    fn find_opened_whole(&self, system: &str) -> Result<Arc<Opened>, Failure> {
        self.find_opened(system, Part::Whole)
    }

    /// Finds the system for work that takes long, and ties this job to it, so that a stop ends the work.
    fn find_and_tie_system(&self, system: &str) -> Result<Arc<Opened>, Failure> {
        let opened = self.find_opened_whole(system)?;
        self.job.tie_to_system(&opened.interrupt, &opened.waits);
        Ok(opened)
    }

    /// Opens a system, unless it is open with the same URL and server, and answers its kind of load.
    fn open_system(&self, system: &SystemPlan, part: Part, tables: Tables) -> Result<Answer, Failure> {
        if let Ok(opened) = self.find_opened(&system.name, part) {
            let same = opened.plan.url == system.url && opened.plan.server == system.server;
            if same {
                return Ok(Answer::Opened(opened.system.load_kind()));
            }
            // A restarted private server listens elsewhere.
            lock_systems(&self.systems).remove(&(system.name.clone(), part == Part::Whole));
        }
        let interrupt = Arc::default();
        let waits = Waits::default();
        self.job.tie_to_system(&interrupt, &waits);
        let registry = &self.shared.registry;
        let options = &self.shared.options;
        let request = OpenRequest {
            scratch_base: options.scratch_base.clone(),
            reactor: options.reactor,
            tables,
            interrupt: Arc::clone(&interrupt),
            notices: self.make_notices(&waits),
            part,
            listen: options.listen.clone(),
            permits: self.shared.permits.clone(),
            ..OpenRequest::new(system, Consent::OwnOnly)
        };
        let (opened, watch): (Arc<dyn System>, _) = (Arc::from(registry.open_system(&request)?), Mutex::default());
        let here = Here::new(Arc::clone(&opened), system).on_agent(&options.name);
        let opened = Opened { system: opened, plan: system.clone(), here, part, interrupt, waits, watch };
        let carries = opened.system.load_kind();
        lock_systems(&self.systems).insert((system.name.clone(), part == Part::Whole), Arc::new(opened));
        Ok(Answer::Opened(carries))
    }

    /// Makes notices that go to the agent's own log and to the conductor.
    fn make_notices(&self, waits: &Waits) -> Notices {
        let (log, waits) = (self.shared.options.log, Arc::clone(waits));
        Notices::new(move |notice| {
            log(notice.text());
            if let Notice::Waits(text) = notice {
                *waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
            }
        })
    }

    /// Closes a system, and removes what étalon made in it.
    fn close_system(&self, system: &str) -> Result<(), Failure> {
        lock_systems(&self.systems).remove(&(system.to_owned(), false));
        let whole = lock_systems(&self.systems).remove(&(system.to_owned(), true));
        whole.map_or(Ok(()), |opened| opened.system.drop_all())
    }

    /// Reads a system's facts for these cases, with those of this host.
    fn read_facts(&self, system: &str, cases: &[SentCase], scope: FactsScope) -> Result<Facts, Failure> {
        let opened = self.find_and_tie_system(system)?;
        let tasks: Vec<Task> = cases.iter().map(|case| self.compile_task(case)).collect::<Result<_, _>>()?;
        let pairs: Vec<_> = cases.iter().map(|sent| &sent.case).zip(&tasks).collect();
        let mut facts = opened.here.facts(&pairs, scope)?;
        facts.absorb("host", host::facts::client_facts(&[]));
        facts.record_identity("host.agent", self.shared.options.name.clone());
        Ok(facts)
    }

    /// Reads the server's counters, CPU time and placement as an answer.
    fn read_account(&self, system: &str) -> Result<Answer, Failure> {
        let opened = &self.find_and_tie_system(system)?.system;
        let server_cpu_s = opened.server_cpu_s().into();
        let account = Account { counters: opened.counters()?, server_cpu_s, placement: opened.placement() };
        Ok(Answer::Account(Box::new(account)))
    }

    /// Runs a query for a number; fails unless it is one of the case's own checks.
    fn query_scalar(&self, system: &str, case: &SentCase, sql: &str) -> Result<i64, Failure> {
        let task = self.compile_task(case)?;
        let is_asked = match &task.action {
            Action::Stream(StreamTask { work: Load::Statements(program), .. }) => program.is_checked_by(sql),
            _ => false,
        };
        if !is_asked {
            let cause = "the benchmark does not ask it";
            return Err(Failure::new(FailureKind::Permission, format!("run `{sql}`"), cause));
        }
        self.find_and_tie_system(system)?.system.scalar(sql)
    }

    /// Makes a whole run, publishes its record, and answers the number of pieces.
    fn run_whole(
        &self,
        system: &str,
        case: &SentCase,
        schedule: &Schedule,
        seed: u64,
        inspection: Inspection,
    ) -> Result<Answer, Failure> {
        let opened = self.find_and_tie_system(system)?;
        let task = self.compile_task(case)?;
        let (interrupt, co_located) = (&self.job.stopped, &self.co_located_pids());
        let job = SiteJob { case: &case.case, task: &task, schedule, seed, interrupt, co_located, inspection };
        let began_unix_ms = host::clock::unix_ms();
        let mut record = opened.here.run(&job, None, &mut Watching(Arc::clone(&self.job)))?;
        if record.state == RunState::Aborted {
            return Ok(self.publish_stopped_job(self.job.tasks_so_far()));
        }
        // This host is "local" only to itself.
        for series in &mut record.series {
            if series.host == load::generator::LOCAL_HOST {
                series.host.clone_from(&self.shared.options.name);
            }
        }
        let (case, tasks) = (case.case.clone(), self.job.tasks_so_far());
        let published_unix_ms = host::clock::unix_ms();
        let recorded = Recorded { case, seed, began_unix_ms, published_unix_ms, record, tasks };
        self.publish_outcome(Outcome::Record(Box::new(recorded))).map(Answer::Published)
    }

    /// Publishes the ended tasks of a stopped job, if any, and answers the number of pieces.
    fn publish_stopped_job(&self, tasks: Vec<TaskLog>) -> Answer {
        if tasks.is_empty() {
            return Answer::Stopped(0);
        }
        Answer::Stopped(self.publish_outcome(Outcome::Cut(tasks)).unwrap_or_default())
    }

    /// Runs a segment of a load's clients, publishes what they did, and answers the number of pieces.
    fn run_share(
        &self,
        system: &str,
        case: &SentCase,
        schedule: &Schedule,
        seed: u64,
        segment: (u32, u32),
    ) -> Result<Answer, Failure> {
        let opened = self.find_opened(system, Part::Load)?;
        self.job.tie_to_system(&opened.interrupt, &opened.waits);
        let task = self.compile_task(case)?;
        let Action::Stream(stream) = &task.action else {
            let cause = "it is one long step, and not a stream of transactions";
            return Err(Failure::new(FailureKind::Plan, "share a load out to hosts", cause));
        };
        if segment.0 >= segment.1 || segment.1 > stream.shape.clients.end {
            let cause = format!("the clients {} to {} are not all of them among its own", segment.0, segment.1);
            return Err(Failure::new(FailureKind::Plan, "make a share of the load", cause));
        }
        let here = stream.work.on_system(&*opened.system);
        let generator = Local::new(&here).of_several(&self.shared.options.name, segment.0..segment.1, &*self.job);
        let spec = LoadSpec { shape: &stream.shape, schedule, seed, interrupt: &self.job.stopped };
        let watch = start_machine_watch(&*opened.system, &self.co_located_pids());
        let loaded = generator.run_load(&spec, &mut Watching(Arc::clone(&self.job)))?;
        let surroundings = watch.map(|watch| self.stop_watch(watch)).unwrap_or_default();
        match loaded {
            Loaded::Interrupted(tasks) => Ok(self.publish_stopped_job(tasks)),
            Loaded::Done(shares) => match shares.into_iter().next() {
                Some(share) => {
                    let share = HostLoad { surroundings, ..share };
                    self.publish_outcome(Outcome::HostLoad(Box::new(share))).map(Answer::Published)
                }
                None => Err(Failure::new(FailureKind::Other, "make a share of the load", "nothing was done")),
            },
        }
    }

    /// Publishes a result to the stream, retrying while the conductor is there. Returns the number of pieces.
    fn publish_outcome(&self, mut outcome: Outcome) -> Result<u32, Failure> {
        outcome.shift_times(-host::clock::unix_ms());
        let bus = &self.shared.bus;
        let Request { session, experiment, job, .. } = &self.request;
        let subject = format!("{}.{experiment}.{}", crate::bus::RESULTS, self.shared.options.name);
        let pieces = parts::split_outcome(&outcome, bus.largest_message()).map_err(cannot_publish)?;
        let count = pieces.len() as u32;
        for (number, piece) in pieces.into_iter().enumerate() {
            let id = parts::part_id(session, &self.shared.options.name, *job, number as u32);
            loop {
                match bus.publish(&subject, &id, piece.clone()) {
                    Ok(()) => break,
                    Err(error) if self.job.stopped.load(Ordering::Relaxed) => {
                        return Err(cannot_publish(error.to_string()));
                    }
                    Err(_) => std::thread::sleep(std::time::Duration::from_millis(200)),
                }
            }
        }
        Ok(count)
    }

    /// Compiles a case's task from the texts sent. Scripts may run no shell commands here.
    fn compile_task(&self, sent: &SentCase) -> Result<Task, Failure> {
        let texts = Texts::from_sent(self.texts.texts_by_name(&sent.texts)?);
        let grants = Grants { texts, permits: self.shared.permits.clone(), ..Grants::default() };
        self.shared.registry.workload(&sent.case.workload)?.make_task(&sent.case.point, &grants)
    }
}

/// Makes the empty answer of what is done.
fn empty_answer((): ()) -> Answer {
    Answer::Nothing
}

/// Makes the failure of a result that cannot be published.
fn cannot_publish(cause: String) -> Failure {
    Failure::new(FailureKind::ConnectionLost, "publish a result", cause)
}
