//! A system on an agent's host.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use conductor::site::{FactsScope, Site, SiteJob};
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::generator::LoadGenerator;
use load::observer::Observer;
use load::run::{LoadRun, ServerCounters};
use model::{Case, Facts, Reading, RunRecord, RunState, SystemPlan};
use workloads::dataset::Tables;
use workloads::system::Part;
use workloads::transactions::Moment;
use workloads::work::LoadKind;
use workloads::work::StreamWork;
use workloads::workload::{Action, Task};

use crate::fleet::Shared;
use crate::link::Waiting;
use crate::protocol::{Account, Answer, Ask, Outcome, Progress, SentCase};

pub(crate) struct Remote {
    pub(crate) shared: Arc<Shared>,
    pub(crate) agent: String,
    pub(crate) system: SystemPlan,
    pub(crate) tables: Tables,
    pub(crate) carries: LoadKind,
}

/// Makes the failure of an answer that the question does not have.
pub(crate) fn unexpected_answer(agent: &str, answer: &Answer) -> Failure {
    let cause = format!("it answered something else: {answer:?}");
    Failure::new(FailureKind::Other, format!("understand the agent `{agent}`"), cause)
}

/// Makes the failure of a load that the agent ended by itself.
pub(crate) fn stopped_by_agent(agent: &str) -> Failure {
    let cause = "it ended the load: it is itself being ended, or was not reached for longer than its lease";
    Failure::new(FailureKind::ConnectionLost, format!("work with the agent `{agent}`"), cause)
}

impl Remote {
    /// Has an agent open a system, and makes the system's site.
    pub(crate) fn open(
        shared: &Arc<Shared>,
        agent: &str,
        system: &SystemPlan,
        tables: Tables,
    ) -> Result<Remote, Failure> {
        let mut remote = Remote {
            shared: Arc::clone(shared),
            agent: agent.to_owned(),
            system: system.clone(),
            tables,
            carries: LoadKind::Statements,
        };
        remote.carries = remote.reopen()?;
        Ok(remote)
    }

    /// Has the agent open the system, if it has not; the agent may have been restarted. Returns its kind of load.
    fn reopen(&self) -> Result<LoadKind, Failure> {
        let ask = Ask::Open { system: without_password(&self.system), part: Part::Whole, tables: self.tables };
        match self.call(&ask)? {
            Answer::Opened(carries) => Ok(carries),
            other => Err(unexpected_answer(&self.agent, &other)),
        }
    }

    /// Has the agent do a job, and waits until it is done.
    fn call(&self, ask: &Ask) -> Result<Answer, Failure> {
        self.shared.link.call(&self.agent, ask)
    }

    /// Has the agent do a job, and drops its answer.
    fn call_for_done(&self, ask: &Ask) -> Result<(), Failure> {
        self.call(ask).map(|_| ())
    }

    /// Sends the texts of a case that the agent does not have, and returns the case that refers to them.
    fn send_case(&self, case: &Case) -> Result<SentCase, Failure> {
        let sent = self.shared.make_sent_case(case)?;
        self.shared.send_missing(&self.agent, &sent)?;
        Ok(sent)
    }

    /// Name of the system.
    fn name(&self) -> String {
        self.system.name.clone()
    }

    /// Has the agent check a job's tables in full, if its inspection asks for that at this moment.
    fn inspect_if_due(&self, job: &SiteJob<'_>, moment: Moment) -> Result<(), Failure> {
        if !job.inspection.checks_at(moment) {
            return Ok(());
        }
        self.call_for_done(&Ask::Inspect { system: self.name(), case: self.send_case(job.case)?, moment })
    }

    /// Has the agent make a whole run, and fetches its record.
    fn run_whole(&self, job: &SiteJob<'_>, observer: &mut dyn Observer) -> Result<RunRecord, Failure> {
        let link = &self.shared.link;
        let ask = Ask::Whole {
            system: self.name(),
            case: self.shared.make_sent_case(job.case)?,
            schedule: job.schedule.clone(),
            seed: job.seed,
            inspection: job.inspection,
        };
        let number = link.next_job();
        let observe = &mut |progress: &Progress| {
            if let Some(tick) = progress.tick {
                observer.tick(tick);
            }
            false
        };
        match link.run_until(&self.agent, number, &ask, Waiting::ForItsEnd, observe)? {
            Some(Answer::Published(count)) => {
                match self.shared.inbox.wait_for_result(&self.agent, number, count, link.patience)? {
                    Outcome::Record(recorded) => {
                        if !recorded.tasks.is_empty() {
                            observer.tasks_ended(&recorded.tasks);
                        }
                        Ok(recorded.record)
                    }
                    Outcome::HostLoad(_) | Outcome::Cut(_) => Err(unexpected_answer(&self.agent, &Answer::Nothing)),
                }
            }
            Some(Answer::Stopped(count)) if job.interrupt.load(Ordering::Relaxed) => {
                let tasks = self.shared.fetch_interrupted_tasks(&self.agent, number, count);
                if !tasks.is_empty() {
                    observer.tasks_ended(&tasks);
                }
                Ok(RunRecord::without_result(RunState::Aborted, model::run::INTERRUPTED))
            }
            Some(Answer::Stopped(_)) => Err(stopped_by_agent(&self.agent)),
            Some(other) => Err(unexpected_answer(&self.agent, &other)),
            None => Err(unexpected_answer(&self.agent, &Answer::Nothing)),
        }
    }
}

/// Copies the system without a password, which the agent takes from its own environment.
fn without_password(system: &SystemPlan) -> SystemPlan {
    SystemPlan { url: model::plan::without_password(&system.url), ..system.clone() }
}

impl Site for Remote {
    /// The kind of load that the agent's system can run.
    fn load_kind(&self) -> LoadKind {
        self.carries
    }

    /// Always 0: no client opens files on this machine.
    fn files_per_client(&self) -> u64 {
        // The agent refuses more than its host gives.
        0
    }

    /// Always `false`: the system is on the agent's host.
    fn uses_this_machine(&self) -> bool {
        false
    }

    /// Has the agent read the system's facts for these cases.
    fn facts(&self, cases: &[(&Case, &Task)], scope: FactsScope) -> Result<Facts, Failure> {
        let cases: Vec<SentCase> = cases.iter().map(|(case, _)| self.send_case(case)).collect::<Result<_, _>>()?;
        match self.call(&Ask::SystemFacts { system: self.name(), cases, scope })? {
            Answer::Facts(facts) => Ok(facts),
            other => Err(unexpected_answer(&self.agent, &other)),
        }
    }

    /// Has the agent make the case's tables.
    fn prepare_tables(&self, job: &SiteJob<'_>, _observer: &mut dyn Observer) -> Result<(), Failure> {
        self.reopen()?;
        self.call_for_done(&Ask::Tables { system: self.name(), case: self.send_case(job.case)? })
    }

    /// Has the agent make the run, or makes it by `generator` while the agent watches the system's host.
    fn run(
        &self,
        job: &SiteJob<'_>,
        generator: Option<&dyn LoadGenerator>,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, Failure> {
        match (generator, &job.task.action) {
            (Some(generator), Action::Stream(stream)) if matches!(stream.work, StreamWork::Statements(_)) => {
                self.inspect_if_due(job, Moment::Loaded)?;
                self.call_for_done(&Ask::Settle { system: self.name(), case: self.send_case(job.case)? })?;
                let server = RemoteCounters { remote: self, case: self.shared.make_sent_case(job.case)? };
                let run = LoadRun { server: &server, generator, account: &stream.work, spec: job.load_spec(stream) };
                self.call_for_done(&Ask::Watch { system: self.name() })?;
                let mut record = run.run(observer)?;
                match self.call(&Ask::Watched { system: self.name() })? {
                    Answer::Surroundings(seen) => seen.unwrap_or_default().add_to(&mut record),
                    other => return Err(unexpected_answer(&self.agent, &other)),
                }
                if record.state == RunState::Measured {
                    self.inspect_if_due(job, Moment::Ended)?;
                }
                Ok(record)
            }
            _ => self.run_whole(job, observer),
        }
    }

    /// Asks the agent how other hosts reach the system.
    fn plan_for_other_hosts(&self) -> Result<SystemPlan, Failure> {
        match self.call(&Ask::Reach { system: self.name() })? {
            Answer::System(system) => Ok(*system),
            other => Err(unexpected_answer(&self.agent, &other)),
        }
    }

    /// Has the agent begin a new round in the system.
    fn begin_round(&self) -> Result<(), Failure> {
        self.reopen()?;
        self.call_for_done(&Ask::BeginRound { system: self.name() })
    }

    /// Has the agent wait until the system is available again.
    fn wait_until_available(&self) -> Result<(), Failure> {
        self.reopen()?;
        self.call_for_done(&Ask::Revive { system: self.name() })
    }

    /// Has the agent remove what étalon made in the system.
    fn drop_all(&self) -> Result<(), Failure> {
        self.shared.link.call_for_cleanup(&self.agent, &Ask::Close { system: self.name() })
    }
}

struct RemoteCounters<'a> {
    remote: &'a Remote,
    case: SentCase,
}

impl RemoteCounters<'_> {
    /// Has the agent read the server's counters, CPU time and placement.
    fn read_account(&self) -> Result<Account, Failure> {
        match self.remote.call(&Ask::ServerCounters { system: self.remote.name() })? {
            Answer::Account(account) => Ok(*account),
            other => Err(unexpected_answer(&self.remote.agent, &other)),
        }
    }
}

impl ServerCounters for RemoteCounters<'_> {
    /// Has the agent read the server's counters.
    fn counters(&self) -> Result<Counters, Failure> {
        Ok(self.read_account()?.counters)
    }

    /// Has the agent read the CPU seconds of the server.
    fn server_cpu_s(&self) -> Result<f64, String> {
        match self.read_account().map_err(|failure| failure.to_string())?.server_cpu_s {
            Reading::Value(seconds) => Ok(seconds),
            Reading::Unavailable(missing) => Err(missing.to_string()),
        }
    }

    /// Has the agent run a query for a number, which must be one of the case's checks.
    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        let ask = Ask::Scalar { system: self.remote.name(), case: self.case.clone(), sql: sql.to_owned() };
        match self.remote.call(&ask)? {
            Answer::Number(number) => Ok(number),
            other => Err(unexpected_answer(&self.remote.agent, &other)),
        }
    }

    /// Always a server: the engine works on another host.
    fn placement(&self) -> Placement {
        Placement::Server
    }
}
