//! Several agents as the makers of one load.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use load::error::{Failure, FailureKind};
use load::generator::{HostLoad, LoadGenerator, LoadSpec, Loaded, segments};
use load::observer::{Observer, Tick};
use load::worker::TaskLog;
use model::{Case, SystemPlan};
use workloads::dataset::Tables;
use workloads::system::Part;

use crate::clock::Clock;
use crate::fleet::Shared;
use crate::link::Waiting;
use crate::protocol::{Answer, Ask, Outcome, Progress, SentCase};
use crate::remote::{stopped_by_agent, unexpected_answer};

/// Time for an agent to start after it has learnt of the start, in addition to the round trip.
const START_LEAD: Duration = Duration::from_millis(30);
/// How often the agents' intervals are merged for observers.
const WATCH: Duration = Duration::from_millis(500);
/// How long an agent may take to answer a reading of its clock.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct FleetGenerator<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) agents: Vec<String>,
    pub(crate) case: &'a Case,
    /// The system as the agents reach it.
    pub(crate) system: SystemPlan,
    pub(crate) tables: Tables,
}

struct Member<'a> {
    agent: &'a str,
    job: u64,
    ask: Ask,
}

/// How the members reached their common start.
#[derive(Clone, Copy)]
struct Began {
    /// Time from the first message to the start.
    took_ns: u64,
    /// Longest round trip.
    slowest_ns: u64,
}

/// Runs `work` for every member in parallel. Returns all results, or the first failure.
pub(crate) fn for_each_member<M: Sync, T: Send>(
    members: &[M],
    work: impl Fn(usize, &M) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let results: Vec<Result<T, Failure>> = thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> =
            members.iter().enumerate().map(|(number, member)| scope.spawn(move || work(number, member))).collect();
        let results = handles.into_iter().map(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    });
    results.into_iter().collect()
}

impl LoadGenerator for FleetGenerator<'_> {
    /// Has the agents connect, start at one instant and make their shares of the load, and fetches these.
    fn run_load(&self, spec: &LoadSpec<'_>, observer: &mut dyn Observer) -> Result<Loaded, Failure> {
        let case = self.shared.make_sent_case(self.case)?;
        let members = self.make_members(spec, &case)?;
        let asked_ns = host::clock::now_ns();
        let done = self.prepare_members(&members, &case).and_then(|clocks| {
            let start_ns = self.start_members(&members, &clocks)?;
            let slowest_ns = clocks.iter().map(|clock| clock.round_trip_ns).max().unwrap_or_default();
            let began = Began { took_ns: start_ns.saturating_sub(asked_ns), slowest_ns };
            self.wait_for_members(&members, observer).map(|answers| (began, answers))
        });
        let (began, answers) = match done {
            Ok(done) => done,
            Err(failure) => {
                // The others do not go on without a failed one.
                members.iter().for_each(|member| self.shared.link.stop_job(member.agent, member.job));
                return Err(failure);
            }
        };
        if answers.iter().any(|answer| matches!(answer, Answer::Stopped(_))) && spec.interrupt.load(Ordering::Relaxed) {
            return Ok(Loaded::Interrupted(self.interrupted_tasks(&members, &answers)));
        }
        let mut shares = Vec::with_capacity(members.len());
        for (member, answer) in members.iter().zip(answers) {
            match answer {
                Answer::Published(count) => shares.push(self.fetch_share(member, count, began)?),
                Answer::Stopped(_) => return Err(stopped_by_agent(member.agent)),
                other => return Err(unexpected_answer(member.agent, &other)),
            }
        }
        Ok(Loaded::Done(shares))
    }
}

impl FleetGenerator<'_> {
    /// Makes one job for each agent, with its segment of the clients.
    fn make_members(&self, spec: &LoadSpec<'_>, case: &SentCase) -> Result<Vec<Member<'_>>, Failure> {
        let parts = segments(spec.shape, self.agents.len())?;
        let mut members = Vec::with_capacity(parts.len());
        for (agent, part) in self.agents.iter().zip(parts) {
            let ask = Ask::HostLoad {
                system: self.system.name.clone(),
                case: case.clone(),
                schedule: spec.schedule.clone(),
                seed: spec.seed,
                segment: (part.start, part.end),
            };
            members.push(Member { agent, job: self.shared.link.next_job(), ask });
        }
        Ok(members)
    }

    /// Has every agent connect its clients and wait, then reads their clocks one after the other.
    fn prepare_members(&self, members: &[Member<'_>], case: &SentCase) -> Result<Vec<Clock>, Failure> {
        let link = &self.shared.link;
        for_each_member(members, |_, member| {
            let open = Ask::Open { system: self.system.clone(), part: Part::Load, tables: self.tables };
            link.call(member.agent, &open)?;
            self.shared.send_missing(member.agent, case)?;
            let ready = &mut |progress: &Progress| progress.ready;
            match link.run_until(member.agent, member.job, &member.ask, Waiting::Patiently, ready)? {
                None => Ok(()),
                Some(Answer::Stopped(_)) => {
                    let tried = format!("begin on the agent `{}`", member.agent);
                    Err(Failure::new(FailureKind::ConnectionLost, tried, "its lease ran out before the start"))
                }
                Some(other) => Err(unexpected_answer(member.agent, &other)),
            }
        })?;
        // One after the other, since parallel readings disturb each other.
        let clocks = members.iter().map(|member| {
            Clock::read_agent(&link.bus, member.agent, PING_TIMEOUT).map_err(|error| {
                let tried = format!("read the clock of the agent `{}`", member.agent);
                Failure::new(FailureKind::ConnectionLost, tried, error)
            })
        });
        clocks.collect()
    }

    /// Sends each agent the instant of the start on its own clock; returns the instant on ours.
    fn start_members(&self, members: &[Member<'_>], clocks: &[Clock]) -> Result<u64, Failure> {
        let slowest_ns = clocks.iter().map(|clock| clock.round_trip_ns).max().unwrap_or_default();
        let lead_ns = START_LEAD.as_nanos() as u64 + 4 * slowest_ns + 200_000 * members.len() as u64;
        let start_ns = host::clock::now_ns() + lead_ns;
        for_each_member(members, |number, member| {
            let at_ns = clocks.get(number).map_or(start_ns, |clock| clock.agent_ns(start_ns));
            let link = &self.shared.link;
            let start = Ask::Start { of: member.job, at_ns };
            link.run_until(member.agent, link.next_job(), &start, Waiting::ForItsLease, &mut |_| false)
        })?;
        Ok(start_ns)
    }

    /// Waits until every agent has published its share, and shows their progress; returns their answers.
    fn wait_for_members(&self, members: &[Member<'_>], observer: &mut dyn Observer) -> Result<Vec<Answer>, Failure> {
        let link = &self.shared.link;
        let (sender, ticks) = channel();
        let sender = Mutex::new(sender);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let ends = for_each_member(members, |number, member| {
                    let sender: Option<Sender<(usize, Tick)>> = sender.lock().ok().map(|sender| sender.clone());
                    let renew = Ask::Renew { of: Some(member.job) };
                    let pass_on = &mut |progress: &Progress| {
                        if let (Some(sender), Some(tick)) = (&sender, progress.tick) {
                            let _ = sender.send((number, tick));
                        }
                        false
                    };
                    let answer = link.run_until(member.agent, member.job, &renew, Waiting::ForItsEnd, pass_on);
                    if answer.is_err() {
                        // The others would be waited for in vain.
                        members.iter().for_each(|member| link.stop_job(member.agent, member.job));
                    }
                    answer?.ok_or_else(|| unexpected_answer(member.agent, &Answer::Nothing))
                });
                drop(sender);
                ends
            });
            show_ticks(&ticks, members.len(), observer);
            waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Fetches an agent's share of the result, and adds the start's skew and duration.
    fn fetch_share(&self, member: &Member<'_>, count: u32, began: Began) -> Result<HostLoad, Failure> {
        let timeout = self.shared.link.patience;
        match self.shared.inbox.wait_for_result(member.agent, member.job, count, timeout)? {
            Outcome::HostLoad(mut share) => {
                // Each offset is known within half of its round trip, so two within the longer one.
                share.start_skew_ns = share.start_skew_ns.map(|late_ns| late_ns + began.slowest_ns);
                share.start_time_ns = Some(began.took_ns);
                Ok(*share)
            }
            Outcome::Record(_) | Outcome::Cut(_) => Err(unexpected_answer(member.agent, &Answer::Nothing)),
        }
    }

    /// Fetches the ended tasks of an interrupted load from all agents.
    fn interrupted_tasks(&self, members: &[Member<'_>], answers: &[Answer]) -> Vec<TaskLog> {
        let tasks = members.iter().zip(answers).flat_map(|(member, answer)| match answer {
            Answer::Stopped(count) | Answer::Published(count) => {
                self.shared.fetch_interrupted_tasks(member.agent, member.job, *count)
            }
            _ => Vec::new(),
        });
        tasks.collect()
    }
}

/// The largest of the hosts' percentiles; `None` if one has none.
fn worst_of(each: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    each.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Shows the observer the agents' last intervals merged, until there are no more.
/// Rates are added, and the worst percentile is shown, since only histograms can be merged.
fn show_ticks(ticks: &Receiver<(usize, Tick)>, agents: usize, observer: &mut dyn Observer) {
    let mut last: Vec<Option<Tick>> = vec![None; agents];
    let mut shown = Instant::now();
    loop {
        match ticks.recv_timeout(WATCH) {
            Ok((number, tick)) => {
                if let Some(slot) = last.get_mut(number) {
                    *slot = Some(tick);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if shown.elapsed() >= WATCH && last.iter().any(Option::is_some) {
            shown = Instant::now();
            let known: Vec<Tick> = last.iter().flatten().copied().collect();
            observer.tick(Tick {
                rate_per_s: known.iter().map(|tick| tick.rate_per_s).sum(),
                p50_ns: worst_of(known.iter().map(|tick| tick.p50_ns)),
                p99_ns: worst_of(known.iter().map(|tick| tick.p99_ns)),
                errors: known.iter().map(|tick| tick.errors).sum(),
                backlog: known.iter().map(|tick| tick.backlog).sum(),
            });
        }
    }
}
