//! The conductor's link to its agents: jobs are polled until done, or their agent is given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use load::error::{Failure, FailureKind};
use workloads::system::{Notice, Notices};

use crate::bus::{Bus, BusError};
use crate::protocol::{Answer, Ask, Progress, Reply, Request, VERSION, subject_prefix};

/// How long one request waits for its answer.
const ONE_ANSWER: Duration = Duration::from_millis(1_500);
/// How long is waited before an agent that does not answer is asked again.
const AGAIN: Duration = Duration::from_millis(200);
/// Polling interval of a long job.
const POLL: Duration = Duration::from_millis(20);

pub(crate) struct Link {
    pub(crate) bus: Arc<Bus>,
    pub(crate) session: String,
    pub(crate) experiment: String,
    /// Lease of the agents.
    pub(crate) lease: Duration,
    /// How long an agent that may come back may be silent: `patience` in the plan.
    pub(crate) patience: Duration,
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) notices: Notices,
    pub(crate) jobs: AtomicU64,
}

/// How long to wait for a silent agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The plan's patience; then the experiment ends.
    Patiently,
    /// The lease: its work is lost by then.
    ForItsLease,
    /// The lease; a user's interrupt stops the job and waits for its answer.
    ForItsEnd,
    /// The lease, even if the user interrupts: what it made is to be removed.
    ToTheEnd,
}

impl Link {
    /// Gives out a job number that was not given out before.
    pub(crate) fn next_job(&self) -> u64 {
        self.jobs.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request to an agent, and waits for its reply.
    fn send_request(&self, agent: &str, job: u64, ask: &Ask) -> Result<Reply, BusError> {
        let payload = self.encode_request(agent, job, ask)?;
        let tried = format!("understand the agent `{agent}`");
        let subject = format!("{}.{}", subject_prefix(agent), ask.verb());
        let answer = self.bus.request(&subject, payload, ONE_ANSWER)?;
        serde_json::from_slice(&answer).map_err(|error| BusError::Other { tried, cause: error.to_string() })
    }

    /// Writes a request as JSON, with version, session, experiment and lease.
    fn encode_request(&self, agent: &str, job: u64, ask: &Ask) -> Result<Vec<u8>, BusError> {
        let request = Request {
            version: VERSION.to_owned(),
            session: self.session.clone(),
            experiment: self.experiment.clone(),
            lease_ms: self.lease.as_millis() as u64,
            job,
            ask: ask.clone(),
        };
        let tried = format!("ask the agent `{agent}`");
        serde_json::to_vec(&request).map_err(|error| BusError::Other { tried, cause: error.to_string() })
    }

    /// Has an agent do a job, and waits patiently until it is done.
    pub(crate) fn call(&self, agent: &str, ask: &Ask) -> Result<Answer, Failure> {
        let job = self.next_job();
        match self.run_until(agent, job, ask, Waiting::Patiently, &mut |_| false)? {
            Some(answer) => Ok(answer),
            None => {
                Err(Failure::new(FailureKind::Other, format!("wait for the agent `{agent}`"), "it was not waited for"))
            }
        }
    }

    /// Has an agent clean up as by [`Link::call`], even after an interrupt, and without waiting long.
    pub(crate) fn call_for_cleanup(&self, agent: &str, ask: &Ask) -> Result<(), Failure> {
        self.run_until(agent, self.next_job(), ask, Waiting::ToTheEnd, &mut |_| false).map(|_| ())
    }

    /// Has an agent do a job, and polls it until it is done or `enough` ends the wait; `None` in that case.
    pub(crate) fn run_until(
        &self,
        agent: &str,
        job: u64,
        ask: &Ask,
        waiting: Waiting,
        enough: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<Answer>, Failure> {
        let renew = Ask::Renew { of: Some(job) };
        let mut ask = ask;
        let mut last_answer = Instant::now();
        let mut stop_sent = false;
        let mut last_waits = String::new();
        loop {
            if self.interrupt.load(Ordering::Relaxed) && waiting != Waiting::ToTheEnd && !stop_sent {
                self.stop_job(agent, job);
                if waiting != Waiting::ForItsEnd {
                    let tried = format!("wait for the agent `{agent}`");
                    return Err(Failure::new(FailureKind::Other, tried, "interrupted"));
                }
                stop_sent = true;
            }
            match self.send_request(agent, job, ask) {
                Ok(Reply::Done(answer)) => return Ok(Some(answer)),
                Ok(Reply::Working(progress)) => {
                    last_answer = Instant::now();
                    ask = &renew;
                    if let Some(waits) = progress.waits.as_ref().filter(|waits| **waits != last_waits) {
                        self.notices.give(Notice::Waits(&format!("agent `{agent}`: {waits}")));
                        last_waits.clone_from(waits);
                    }
                    if enough(&progress) {
                        return Ok(None);
                    }
                    thread::sleep(POLL);
                }
                // The lease of this experiment's killed conductor may be about to run out.
                Ok(Reply::Failed(failure))
                    if failure.kind == FailureKind::NotOurs && last_answer.elapsed() < self.patience =>
                {
                    thread::sleep(AGAIN);
                }
                Ok(Reply::Failed(failure)) => return Err(name_agent_in(agent, failure)),
                Err(error) => {
                    let (limit, kind) = match waiting {
                        Waiting::Patiently => (self.patience, FailureKind::Other),
                        Waiting::ForItsLease | Waiting::ForItsEnd | Waiting::ToTheEnd => {
                            (self.lease.min(self.patience), FailureKind::ConnectionLost)
                        }
                    };
                    if last_answer.elapsed() >= limit {
                        return Err(lost_agent_failure(
                            agent,
                            kind,
                            format!("{error} for {}", model::duration::rounded_text(last_answer.elapsed())),
                        ));
                    }
                    thread::sleep(AGAIN);
                }
            }
        }
    }

    /// Asks an agent to stop a job. If the agent does not learn of it, the lease ends it.
    pub(crate) fn stop_job(&self, agent: &str, job: u64) {
        self.tell_agent(agent, &Ask::Stop { of: job });
    }

    /// Sends an agent a renewal of its lease, without waiting for an answer.
    pub(crate) fn renew_lease(&self, agent: &str) {
        self.tell_agent(agent, &Ask::Renew { of: None });
    }

    /// Tells an agent that this session is over.
    pub(crate) fn leave(&self, agent: &str) {
        self.tell_agent(agent, &Ask::Leave);
    }

    /// Sends a request that needs no answer: a deaf agent is noticed by the next one.
    fn tell_agent(&self, agent: &str, ask: &Ask) {
        if let Ok(payload) = self.encode_request(agent, self.next_job(), ask) {
            let _ = self.bus.publish_without_answer(&format!("{}.{}", subject_prefix(agent), ask.verb()), payload);
        }
    }
}

/// Makes the failure of an agent that does not answer.
fn lost_agent_failure(agent: &str, kind: FailureKind, cause: String) -> Failure {
    Failure::new(kind, format!("work with the agent `{agent}`"), cause).with_hint(
        "`etalon agents` lists those that answer; start the agent on its host, or look at the network between",
    )
}

/// Adds the agent's name to a failure, unless that names it already.
fn name_agent_in(agent: &str, failure: Failure) -> Failure {
    if failure.tried.contains(&format!("`{agent}`")) {
        return failure;
    }
    Failure { tried: format!("{} (on the agent `{agent}`)", failure.tried), ..failure }
}
