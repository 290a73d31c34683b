//! Checks of the processors, the clock and what else runs.

use model::Facts;

use super::{Check, Status, reading};
use crate::clock;
use crate::cpu::{MachineCpu, available_cores};

pub(super) fn settings(facts: &Facts) -> Vec<Check> {
    let governor = Check::of(
        "cpu governor",
        reading(facts, "cpu.governor"),
        "any policy but `performance` lowers clock speeds between requests, so that a quiet server looks slow",
        |governor| (if governor == "performance" { Status::Good } else { Status::Warn }, governor),
    );
    let boost = Check::of(
        "cpu boost",
        reading(facts, "cpu.boost"),
        "with boost the clock speed follows temperature and neighbours, so that runs scatter and drift",
        |boost| (if boost == "off" { Status::Good } else { Status::Warn }, boost),
    );
    // On is usual for servers and no reason to worry.
    let smt = Check::of(
        "smt",
        reading(facts, "cpu.smt"),
        "with two threads per core, half of the CPU time may be nearly all of its power; shares are of threads",
        |smt| (Status::Good, smt),
    );
    vec![
        governor.mend("cpupower frequency-set -g performance"),
        boost.mend("echo 0 > /sys/devices/system/cpu/cpufreq/boost, or 1 > .../intel_pstate/no_turbo"),
        smt,
    ]
}

pub(super) fn clock(facts: &Facts) -> Vec<Check> {
    let source = Check::of(
        "clock source",
        reading(facts, "clock.source"),
        "a clock that enters the kernel costs hundreds of nanoseconds a reading, in étalon and in the server",
        |source| (source_status(&source), source),
    );
    let (step_ns, cost_ns) = (clock::clock_step_ns(), clock::clock_cost_ns());
    let step = Check::new(
        "clock step",
        step_status(step_ns, cost_ns),
        format!("{step_ns} ns, {cost_ns} ns a reading"),
        "latencies come in steps of the clock, and every reading is part of what is measured",
    );
    vec![
        source.mend("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is available"),
        step,
    ]
}

fn source_status(source: &str) -> Status {
    match source {
        "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page" | "mach_absolute_time" => Status::Good,
        // POWER, s390 and RISC-V, in this order.
        "QueryPerformanceCounter" | "timebase" | "tod" | "riscv_clocksource" => Status::Good,
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit" => Status::Bad,
        _ => Status::Warn,
    }
}

fn step_status(step_ns: u64, cost_ns: u64) -> Status {
    match (step_ns, cost_ns) {
        (1_000_001.., _) => Status::Bad,
        (1_001.., _) | (_, 201..) => Status::Warn,
        _ => Status::Good,
    }
}

pub(super) fn load(facts: &Facts, cpu: &Result<MachineCpu, String>) -> Vec<Check> {
    let load = Check::of(
        "load",
        reading(facts, "load.1m"),
        "what ran in the last minute may come back during a run",
        |load| (load_status(load.parse().unwrap_or(f64::MAX), available_cores()), format!("{load} over one minute")),
    );
    let share = |part: fn(&MachineCpu) -> f64| cpu.as_ref().map(part).map_err(Clone::clone);
    let foreign = Check::of(
        "other load",
        share(|cpu| cpu.foreign_share),
        "programs that are neither étalon nor its servers take time from both",
        |share| (share_status(share, 0.05, 0.20), format!("{:.1} % of the processors over one second", share * 100.0)),
    );
    let steal = Check::of(
        "steal",
        share(|cpu| cpu.steal_share),
        "the hypervisor gives this machine's time to others; a pause of the machine looks like a slow server",
        |share| (share_status(share, 0.01, 0.05), format!("{:.1} % of the processors over one second", share * 100.0)),
    );
    vec![
        load.mend("wait until it falls, or find what runs (`top`, Task Manager)"),
        foreign.mend("find what runs (`top`, Task Manager), and stop it for the time of the benchmark"),
        steal.mend("measure on a host of its own, or with reserved processors"),
    ]
}

fn load_status(load: f64, cores: usize) -> Status {
    match load / cores.max(1) as f64 {
        share if share < 0.3 => Status::Good,
        share if share < 1.0 => Status::Warn,
        _ => Status::Bad,
    }
}

fn share_status(share: f64, warn: f64, bad: f64) -> Status {
    if share >= bad {
        Status::Bad
    } else if share >= warn {
        Status::Warn
    } else {
        Status::Good
    }
}

/// The control group's quota, and how often it held étalon back so far.
pub(super) struct Throttled {
    quota_cores: Option<f64>,
    times: u64,
}

/// Without a group there is no quota.
#[cfg(target_os = "linux")]
pub(super) fn throttled() -> Result<Throttled, String> {
    let Ok(group) = crate::system::cgroup::own("cpu") else { return Ok(Throttled { quota_cores: None, times: 0 }) };
    let quota_cores = group.cpu_quota_cores();
    match group.throttling() {
        Ok(throttling) => Ok(Throttled { quota_cores, times: throttling.times }),
        // The root group is not throttled, so it counts nothing.
        Err(_) if quota_cores.is_none() => Ok(Throttled { quota_cores, times: 0 }),
        Err(reason) => Err(reason),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn throttled() -> Result<Throttled, String> {
    Err("this operating system has no control groups".to_owned())
}

/// Judges two readings, taken before and after the watch.
pub(super) fn throttling(before: Result<Throttled, String>, after: Result<Throttled, String>) -> Check {
    let both = before.and_then(|before| Ok((before, after?)));
    let check = Check::of(
        "cpu throttling",
        both,
        "a CPU quota stops all threads until its next period, some 100 ms: the tail of the latencies is the quota's",
        |(before, after)| {
            let quota = after.quota_cores.map_or("no quota".to_owned(), |cores| format!("{cores:.2} cores at most"));
            let status = match (after.times > before.times, after.times > 0 || after.quota_cores.is_some()) {
                (true, _) => Status::Bad,
                (false, true) => Status::Warn,
                (false, false) => Status::Good,
            };
            (status, format!("{quota}, held back {} times so far", after.times))
        },
    );
    check.mend("give the container or service no CPU quota (cpu.max), or bind it to whole cores (cpuset)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_apart() {
        assert_eq!(source_status("tsc"), Status::Good);
        assert_eq!(source_status("hpet"), Status::Bad);
        assert_eq!(source_status("xen"), Status::Warn);
        assert_eq!(step_status(20, 25), Status::Good);
        assert_eq!(step_status(20, 600), Status::Warn);
        assert_eq!(step_status(15_600_000, 25), Status::Bad);
    }

    #[test]
    fn load_is_judged_per_core() {
        assert_eq!(load_status(0.5, 2), Status::Good);
        assert_eq!(load_status(1.5, 2), Status::Warn);
        assert_eq!(load_status(4.0, 2), Status::Bad);
        assert_eq!(share_status(0.06, 0.05, 0.20), Status::Warn);
        assert_eq!(share_status(0.25, 0.05, 0.20), Status::Bad);
    }

    #[test]
    fn governors_and_boost_are_judged() {
        let mut facts = Facts::default();
        facts.identity("cpu.governor", "powersave");
        facts.identity("cpu.boost", "off");
        let checks = settings(&facts);
        assert_eq!(checks[0].status, Status::Warn);
        assert!(checks[0].mend.is_some());
        assert_eq!((checks[1].status, &checks[1].mend), (Status::Good, &None));
        assert_eq!(checks[2].status, Status::Unknown, "the fact is missing");
    }

    #[test]
    fn a_quota_warns_and_its_use_is_bad() {
        let at = |quota_cores, times| Ok(Throttled { quota_cores, times });
        assert_eq!(throttling(at(None, 0), at(None, 0)).status, Status::Good);
        assert_eq!(throttling(at(Some(2.0), 0), at(Some(2.0), 0)).status, Status::Warn);
        assert_eq!(throttling(at(Some(2.0), 3), at(Some(2.0), 5)).status, Status::Bad);
        assert_eq!(throttling(Err("gone".into()), at(None, 0)).status, Status::Unknown);
    }
}
