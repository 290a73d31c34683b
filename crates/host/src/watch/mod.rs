//! The surroundings of a run: the load of other programs, time that the hypervisor keeps, throttling, power, memory.
//!
//! A thread of its own looks once a second, so that the threads which make the load do nothing for it. It looks less
//! often where a look is dear: [`COST_SHARE`] of one core is what it may use. The first look is taken before the run
//! and the last one after it. What was seen is judged by [`crate::doctor`].

mod frozen;
mod listener;
mod others;
mod state;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::clock::suspended_ns;
use crate::cpu::{CpuSample, MachineCpu, thread_cpu};
use crate::interrupt::times_continued;

pub use listener::Listener;
use listener::Whereabouts;
use others::OtherUsage;
pub use others::{MainProcess, OtherLoad, Program};
pub(crate) use state::State;
#[cfg(test)]
pub(crate) use state::Throttled;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Share of one core: looks that take longer come less often.
pub const COST_SHARE: f64 = 0.001;
/// The kernel counts a process's time in ticks of 10 ms, so a shorter time shows no peak.
const SHORTEST: Duration = Duration::from_millis(900);
/// A wait that lasts so much longer than it should is no delay of the scheduler's, even on a busy machine.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The processes on this machine that belong to the measurement, in addition to étalon and everything that it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The address of a server that étalon did not start.
    pub listener: Option<Listener>,
    /// Process numbers of other étalons that take part.
    pub co_located: Vec<u32>,
}

/// A machine that is being looked at. Dropping it ends that.
#[derive(Debug)]
pub struct Watch {
    running: Result<Running, String>,
}

#[derive(Debug)]
struct Running {
    stop: Sender<()>,
    thread: JoinHandle<Watched>,
}

/// The readings from the first look to the last.
#[derive(Clone, Debug)]
pub struct Watched {
    pub elapsed: Duration,
    /// Programs that are neither étalon nor what it measures. The kernel's own threads do not count: they work for
    /// other processes.
    pub others: Result<OtherLoad, String>,
    pub cpu: Result<MachineCpu, String>,
    /// How long étalon itself stood still, by waits that lasted longer than they should.
    pub stood_still: Duration,
    /// How often it was let go on after a stop.
    pub times_continued: usize,
    /// A measured process that stood still at a look, by a signal or a freezer.
    pub(crate) stopped: Option<String>,
    pub(crate) before: State,
    pub(crate) after: State,
    /// The CPU time of all looks.
    pub cost: Result<Duration, String>,
    pub looks: u32,
}

impl Watch {
    /// Takes the first look, then goes on in the background.
    pub fn start(measured: &Measured) -> Watch {
        let sampler = Sampler::new(measured);
        let (stop, stopped) = channel();
        let thread = thread::Builder::new()
            .name("etalon-watch".to_owned())
            .spawn(move || sampler.sample_until(|pause| stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)));
        let running = thread.map(|thread| Running { stop, thread });
        Watch {
            running: running.map_err(|cause| format!("cannot start the thread that looks at the machine: {cause}")),
        }
    }

    /// Takes the last look.
    pub fn stop(self) -> Watched {
        let ended = self.running.and_then(|Running { stop, thread }| {
            drop(stop);
            thread.join().map_err(|_| "the thread that looked at the machine panicked".to_owned())
        });
        ended.unwrap_or_else(Watched::unknown)
    }
}

impl Watched {
    /// What was watched where nothing could be, for this reason.
    fn unknown(reason: String) -> Watched {
        Watched {
            elapsed: Duration::ZERO,
            others: Err(reason.clone()),
            cpu: Err(reason.clone()),
            stood_still: Duration::ZERO,
            times_continued: 0,
            stopped: None,
            before: State::unknown(&reason),
            after: State::unknown(&reason),
            cost: Err(reason),
            looks: 0,
        }
    }

    /// The machine's logical processors: by the time that it counted, which in short runs is too coarse, and there and at least
    /// those that étalon itself may use.
    pub fn core_count(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        let counted = match &self.cpu {
            Ok(cpu) if self.elapsed >= SHORTEST => Some((cpu.of_core_seconds / seconds).round()),
            Ok(_) => Some(0.0),
            _ => None,
        };
        counted.map(|cores| cores.max(crate::cpu::available_cores() as f64))
    }

    /// Counted times of a short run may be those of a longer one: others used no more cores than there are.
    fn with_no_more_than_there_are(mut self) -> Watched {
        if let (Some(cores), Ok(load)) = (self.core_count(), &mut self.others) {
            load.mean_cores = load.mean_cores.min(cores);
            load.peak_cores = load.peak_cores.min(cores);
        }
        self
    }
}

struct Sampler {
    began: Instant,
    /// Cost of the caller, who took the first look.
    cost_so_far: Result<Duration, String>,
    cpu: CpuSample,
    before: State,
    /// The server's, if étalon did not start it.
    servers: Vec<u32>,
    usage: Result<OtherUsage, String>,
}

impl Sampler {
    fn new(measured: &Measured) -> Sampler {
        let cost = thread_cpu();
        let found = server_processes(measured);
        let servers = found.clone().unwrap_or_default();
        let before = State::now(&servers);
        let usage = found.and_then(|servers| {
            let roots = [std::process::id()].into_iter().chain(servers);
            OtherUsage::begin(roots.collect(), &measured.co_located)
        });
        let cost_so_far = cost.and_then(|before| Ok(thread_cpu()?.saturating_sub(before)));
        Sampler { began: Instant::now(), cost_so_far, cpu: CpuSample::now(), before, servers, usage }
    }

    /// Looks until `goes_on` says no, which waits for the pause that it gets.
    fn sample_until(self, goes_on: impl Fn(Duration) -> bool) -> Watched {
        let Sampler { began, cost_so_far, cpu, before, servers, mut usage } = self;
        let cost_before = thread_cpu();
        let (mut peak_cores, mut seen, mut looks) = (0.0_f64, Instant::now(), 1);
        let mut pause = INTERVAL;
        let (continued_before, suspended_before_ns) = (times_continued(), suspended_ns());
        let mut stood_still = Duration::ZERO;
        loop {
            let asleep = Instant::now();
            let is_last = !goes_on(pause);
            let late = asleep.elapsed().saturating_sub(pause);
            stood_still += if late >= SHORTEST_PAUSE { late } else { Duration::ZERO };
            let cost = thread_cpu();
            if let Ok(found) = &mut usage {
                match found.sample() {
                    Ok(used) => {
                        let since = seen.elapsed();
                        if since >= SHORTEST {
                            peak_cores = peak_cores.max(used.as_secs_f64() / since.as_secs_f64());
                        }
                        seen = Instant::now();
                    }
                    Err(reason) => usage = Err(reason),
                }
            }
            looks += 1;
            if is_last {
                break;
            }
            pause = pause_after(cost.and_then(|before| Ok(thread_cpu()?.saturating_sub(before))));
        }
        stood_still += Duration::from_nanos(suspended_ns().saturating_sub(suspended_before_ns));
        let times_continued = times_continued() - continued_before;
        let elapsed = began.elapsed();
        let after = State::now(&servers);
        let cpu = CpuSample::between(&cpu, &CpuSample::now());
        let own_cost = cost_before.and_then(|before| Ok(thread_cpu()?.saturating_sub(before)));
        let cost = cost_so_far.and_then(|first| Ok(first + own_cost?));
        let stopped = usage.as_ref().ok().and_then(OtherUsage::stopped_process);
        let others = usage.map(|usage| usage.other_load(elapsed, peak_cores));
        Watched { elapsed, others, cpu, stood_still, times_continued, stopped, before, after, cost, looks }
            .with_no_more_than_there_are()
    }
}

/// The pause after a look, so that the looks take no more than their share of a core.
fn pause_after(cost: Result<Duration, String>) -> Duration {
    cost.map_or(INTERVAL, |cost| cost.div_f64(COST_SHARE).max(INTERVAL))
}

/// A process of this machine that listens at an address, if it can be known.
pub fn listening_process(listener: &Listener) -> Option<u32> {
    match listener::find_listener(listener) {
        Whereabouts::Here(pids) => pids.first().copied(),
        Whereabouts::Elsewhere | Whereabouts::Unknown(_) => None,
    }
}

/// The processes of a server that étalon did not start. None if it is on another machine.
fn server_processes(measured: &Measured) -> Result<Vec<u32>, String> {
    match measured.listener.as_ref().map(listener::find_listener) {
        None | Some(Whereabouts::Elsewhere) => Ok(Vec::new()),
        Some(Whereabouts::Here(pids)) => Ok(pids),
        Some(Whereabouts::Unknown(reason)) => {
            Err(format!("the load of other programs is not told apart from the server's: {reason}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_looks_come_less_often() {
        assert_eq!(pause_after(Ok(Duration::from_micros(300))), INTERVAL);
        assert_eq!(pause_after(Ok(Duration::from_millis(5))), Duration::from_secs(5));
        assert_eq!(pause_after(Err("no clock".to_owned())), INTERVAL);
    }

    #[test]
    fn a_machine_is_looked_at_before_and_after_however_short_the_run() {
        let watched = Watch::start(&Measured::default()).stop();
        assert_eq!(watched.looks, 2);
        drop(Watch::start(&Measured::default()));
    }

    #[test]
    fn a_short_run_has_no_more_cores_than_the_machine() {
        let mut watched = Watched::unknown("not asked".to_owned());
        watched.elapsed = Duration::from_millis(300);
        watched.cpu = Ok(MachineCpu { busy_share: 1.0, steal_share: 0.0, of_core_seconds: 1_000.0 });
        watched.others = Ok(OtherLoad { mean_cores: 9e9, peak_cores: 9e9, programs: Vec::new(), used: Vec::new() });
        let watched = watched.with_no_more_than_there_are();
        let cores = crate::cpu::available_cores() as f64;
        assert_eq!(watched.core_count(), Some(cores));
        assert_eq!(watched.others.unwrap().mean_cores, cores);
    }

    /// Whatever the machine does, each second costs little.
    #[cfg(target_os = "linux")]
    #[test]
    fn looking_costs_next_to_nothing() {
        let watch = Watch::start(&Measured::default());
        thread::sleep(Duration::from_millis(3_300));
        let watched = watch.stop();
        let share = watched.cost.clone().unwrap().as_secs_f64() / watched.elapsed.as_secs_f64();
        println!("{} looks took {:.4} % of a core", watched.looks, share * 100.0);
        // The first and the last look read more, and three seconds are short for them; a debug build is slower as well.
        assert!((2..=5).contains(&watched.looks) && share < 0.01, "{watched:?}");
        assert_eq!(watched.core_count(), Some(crate::cpu::available_cores() as f64));
    }

    #[cfg(target_os = "linux")]
    mod on_linux {
        use std::path::Path;
        use std::process::{Child, Command, Stdio};

        use super::*;
        use crate::process::StopSignal;

        /// It ends by itself, whatever becomes of the test.
        const BURN: &str = "i=0; while [ $i -lt 20000000 ]; do i=$((i+1)); done";

        /// A shell by another name, which is that of its process.
        fn named(folder: &Path, name: &str) -> String {
            let link = folder.join(name);
            std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
            link.to_str().unwrap().to_owned()
        }

        fn cores_of(watched: &Watched, name: &str) -> f64 {
            let used = &watched.others.as_ref().unwrap().used;
            used.iter().find(|(found, _)| &**found == name).map_or(0.0, |(_, cores)| *cores)
        }

        #[test]
        fn a_strangers_load_is_seen_and_ones_own_is_not() {
            let folder = tempfile::tempdir().unwrap();
            let (strange, own) = (format!("other-{}", std::process::id()), format!("own-{}", std::process::id()));
            let begin = format!("'{}' -c '{BURN}' >/dev/null 2>&1 & echo $!", named(folder.path(), &strange));
            let mut burner: Child = Command::new(named(folder.path(), &own)).args(["-c", BURN]).spawn().unwrap();
            // Its parent has ended, so it has none.
            let started = crate::process::shell_command(&begin).stdin(Stdio::null()).output().unwrap();
            let pid: u32 = String::from_utf8(started.stdout).unwrap().trim().parse().unwrap();
            let watch = Watch::start(&Measured::default());
            thread::sleep(Duration::from_millis(1_500));
            let watched = watch.stop();
            let mated = Watch::start(&Measured { co_located: vec![pid], ..Measured::default() });
            thread::sleep(Duration::from_millis(300));
            let mated = mated.stop();
            // It may have ended by itself.
            let _ = crate::process::send_signal(pid, StopSignal::Kill);
            burner.kill().unwrap();
            burner.wait().unwrap();
            // A machine that others use as well gives it a part of a core only.
            assert!(cores_of(&watched, &strange) > 0.05, "{watched:?}");
            assert_eq!((cores_of(&watched, &own), cores_of(&mated, &strange)), (0.0, 0.0));
            let others = watched.others.unwrap();
            assert!(others.peak_cores >= others.mean_cores && others.mean_cores <= 1_024.0, "{others:?}");
        }
    }
}
