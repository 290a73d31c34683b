//! CPU time: of the calling thread, of this process, and of the whole machine.

use std::time::Duration;

use crate::clock;

/// CPU time of the calling thread, user and system.
#[cfg(all(unix, not(target_os = "illumos")))]
pub fn thread_cpu() -> Result<Duration, String> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).map_err(|_| "the thread's CPU clock is before zero".to_owned())
}

/// Its clock for a thread is known to no crate that étalon has.
#[cfg(target_os = "illumos")]
pub fn thread_cpu() -> Result<Duration, String> {
    Err("a thread's CPU time is read on Linux, macOS and Windows only".to_owned())
}

/// CPU time of this process: all threads, ended ones too.
#[cfg(unix)]
pub fn process_cpu() -> Result<Duration, String> {
    used(nix::sys::resource::UsageWho::RUSAGE_SELF)
}

/// CPU time of child processes that ended and were waited for, and of theirs: two readings around a tool give its own.
#[cfg(unix)]
pub fn ended_children_cpu() -> Result<Duration, String> {
    used(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)
}

/// User and system time that `getrusage` reports.
#[cfg(unix)]
fn used(who: nix::sys::resource::UsageWho) -> Result<Duration, String> {
    use nix::sys::time::TimeValLike;
    let usage = nix::sys::resource::getrusage(who).map_err(|cause| format!("getrusage failed: {cause}"))?;
    let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(us.max(0) as u64))
}

#[cfg(windows)]
pub use crate::process::windows::ended_children_cpu;

/// Counted in clock ticks (15.6 ms).
#[cfg(windows)]
pub use crate::system::windows::{process_cpu, thread_cpu};

/// How many times as many threads as there are cores were running or waiting for one, over the last minute. `None` where that
/// cannot be read.
pub fn load_per_core() -> Option<f64> {
    crate::system::os::load().ok().map(|[minute, ..]| minute / available_cores() as f64)
}

/// Threads that can run at once: logical processors within affinity and the control group's quota.
pub fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Cores that the calling thread may use: within its affinity and the CPU quotas of its control groups, such as 0.15.
pub fn usable_cores() -> f64 {
    let bound = crate::affinity::allowed_cores().map_or_else(|_| available_cores(), |cores| cores.len().max(1));
    quota_cores().map_or(bound as f64, |quota| quota.min(bound as f64))
}

/// The tightest quota of the calling thread's control groups, of either version. `None` is no limit.
#[cfg(target_os = "linux")]
pub fn quota_cores() -> Option<f64> {
    crate::system::cgroup::controller_of("thread-self", "cpu").ok()?.cpu_quota_cores()
}

/// Cores that the control group allows: none here, since they are Linux's.
#[cfg(not(target_os = "linux"))]
pub fn quota_cores() -> Option<f64> {
    None
}

/// The machine's CPU counters at one instant.
#[derive(Clone, Debug)]
pub(crate) struct CpuSample {
    at_ns: u64,
    machine: Result<MachineTimes, String>,
}

/// Use of the machine between two samples, as shares (0 to 1) of all logical processors' time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineCpu {
    /// Everything except waiting for disks; with interrupts.
    pub busy_share: f64,
    /// Taken by the hypervisor while this machine wanted to run.
    pub steal_share: f64,
    /// The logical processors' time that the shares refer to.
    pub of_core_seconds: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MachineTimes {
    /// Busy time, with interrupts.
    busy: Duration,
    idle: Duration,
    steal: Duration,
}

impl CpuSample {
    /// Reads the clock and the machine's CPU times.
    pub(crate) fn now() -> CpuSample {
        CpuSample { at_ns: clock::now_ns(), machine: machine_times() }
    }

    /// The use from `a` to `b`. The kernel counts the machine's time in ticks (10 ms on Linux, 15.6 ms on Windows), so
    /// shares
    /// over less than a second are rough.
    pub(crate) fn between(a: &CpuSample, b: &CpuSample) -> Result<MachineCpu, String> {
        let (before, after) = (a.machine.clone()?, b.machine.clone()?);
        shares_of(&before, &after).ok_or_else(|| {
            let apart_us = b.at_ns.saturating_sub(a.at_ns) / 1000;
            format!("the machine's CPU counters did not move in the {apart_us} µs between the samples")
        })
    }
}

/// Busy and stolen shares of the machine's time between two readings; `None` if no time passed.
fn shares_of(before: &MachineTimes, after: &MachineTimes) -> Option<MachineCpu> {
    let busy = after.busy.saturating_sub(before.busy);
    let steal = after.steal.saturating_sub(before.steal);
    let all = busy + steal + after.idle.saturating_sub(before.idle);
    if all.is_zero() {
        return None;
    }
    let [busy_share, steal_share] = [busy, steal].map(|part| part.as_secs_f64() / all.as_secs_f64());
    Some(MachineCpu { busy_share, steal_share, of_core_seconds: all.as_secs_f64() })
}

/// Reads the machine's CPU times from `/proc/stat`.
#[cfg(target_os = "linux")]
fn machine_times() -> Result<MachineTimes, String> {
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let stat = crate::system::text::read("/proc/stat")?;
    parse_proc_stat(&stat, ticks_per_second).ok_or_else(|| "/proc/stat does not follow proc(5)".to_owned())
}

/// Reads the machine's CPU times.
#[cfg(windows)]
fn machine_times() -> Result<MachineTimes, String> {
    let (idle, busy) = crate::system::windows::machine_cpu()?;
    Ok(MachineTimes { busy, idle, ..MachineTimes::default() })
}

/// Fails: the machine's CPU times cannot be read here.
#[cfg(not(any(target_os = "linux", windows)))]
fn machine_times() -> Result<MachineTimes, String> {
    Err("the machine's CPU counters cannot be read on this operating system".to_owned())
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal. The guest fields behind them are
/// part of user and nice.
#[cfg(any(target_os = "linux", test))]
fn parse_proc_stat(stat: &str, ticks_per_second: u64) -> Option<MachineTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let &[user, nice, system, idle, ref rest @ ..] = ticks.as_slice() else { return None };
    let [io_wait, interrupt, soft_interrupt, steal] = [0, 1, 2, 3].map(|index| rest.get(index).copied().unwrap_or(0));
    let times = [user + nice + system + interrupt + soft_interrupt, idle + io_wait, steal];
    let [busy, idle, steal] =
        times.map(|ticks| Duration::from_nanos(ticks * (1_000_000_000 / ticks_per_second.max(1))));
    Some(MachineTimes { busy, idle, steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  1000 0 500 8000 100 10 20 50 0 0\ncpu0 1 2 3 4\n";
    const AFTER: &str = "cpu  1060 0 520 8100 100 10 30 60 0 0\ncpu0 1 2 3 4\n";

    #[test]
    fn shares_are_of_all_processors() {
        let (before, after) = (parse_proc_stat(BEFORE, 100).unwrap(), parse_proc_stat(AFTER, 100).unwrap());
        // 60 user, 20 system, 10 in interrupts, 100 idle, 10 stolen: 200 ticks, 2 s.
        let cpu = shares_of(&before, &after).unwrap();
        assert!((cpu.of_core_seconds - 2.0).abs() < 1e-9);
        assert!((cpu.busy_share - 0.45).abs() < 1e-9);
        assert!((cpu.steal_share - 0.05).abs() < 1e-9);
        assert_eq!(shares_of(&before, &before), None);
    }

    #[test]
    fn old_kernels_have_fewer_fields() {
        assert!(parse_proc_stat("cpu 1 2 3 4\n", 100).is_some());
        assert!(parse_proc_stat("cpu 1 2\n", 100).is_none());
        assert!(parse_proc_stat("cpu0 1 2 3 4\n", 100).is_none());
    }

    #[test]
    fn work_is_counted_as_this_threads_and_this_process() {
        let (thread, process) = (thread_cpu().unwrap(), process_cpu().unwrap());
        let mut sum = 0u64;
        while thread_cpu().unwrap() < thread + Duration::from_millis(30) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu().unwrap() >= process + Duration::from_millis(20));
        assert!(available_cores() >= 1);
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn the_machine_can_be_sampled() {
        let a = CpuSample::now();
        std::thread::sleep(Duration::from_millis(200));
        let b = CpuSample::now();
        let cpu = CpuSample::between(&a, &b).unwrap();
        assert!((0.0..=1.0).contains(&cpu.busy_share), "{cpu:?}");
        assert!(cpu.of_core_seconds > 0.05);
        assert!(CpuSample::between(&a, &a).unwrap_err().contains("did not move"));
    }
}
