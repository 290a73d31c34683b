//! Checks of the processors, the clock and what else runs.

use model::Facts;

use super::{Check, Status, fact_reading};
use crate::clock;
use crate::cpu::available_cores;

/// Checks boost and threads per core.
pub(super) fn check_settings(facts: &Facts) -> Vec<Check> {
    let boost = Check::from_reading(
        "cpu boost",
        fact_reading(facts, "cpu.boost"),
        "with boost the clock speed follows temperature and neighbours, so that runs scatter and drift",
        |boost| (if boost == "off" { Status::Good } else { Status::Warn }, boost),
    );
    // On is usual for servers and no reason to worry.
    let smt = Check::from_reading(
        "smt",
        fact_reading(facts, "cpu.smt"),
        "with two threads per core, half of the CPU time may be nearly all of its power; shares are of threads",
        |smt| (Status::Good, smt),
    );
    vec![boost.with_fix("echo 0 > /sys/devices/system/cpu/cpufreq/boost, or 1 > .../intel_pstate/no_turbo"), smt]
}

/// Checks the clock's source and step.
pub(super) fn check_clock(facts: &Facts) -> Vec<Check> {
    let source = Check::from_reading(
        "clock source",
        fact_reading(facts, "clock.source"),
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
        source.with_fix(
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is available",
        ),
        step,
    ]
}

/// Judges a clock's source.
fn source_status(source: &str) -> Status {
    match source {
        "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page" | "mach_absolute_time" => Status::Good,
        // POWER, s390 and RISC-V, in this order.
        "QueryPerformanceCounter" | "timebase" | "tod" | "riscv_clocksource" => Status::Good,
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit" => Status::Bad,
        _ => Status::Warn,
    }
}

/// Judges a clock's step and the cost of reading it.
fn step_status(step_ns: u64, cost_ns: u64) -> Status {
    match (step_ns, cost_ns) {
        (1_000_001.., _) => Status::Bad,
        (1_001.., _) | (_, 201..) => Status::Warn,
        _ => Status::Good,
    }
}

/// Checks the load of the last minute.
pub(super) fn check_load(facts: &Facts) -> Check {
    let load = Check::from_reading(
        "load",
        fact_reading(facts, "load.1m"),
        "what ran in the last minute may come back during a run",
        |load| {
            let cores = available_cores();
            let status = load_status(load.parse().unwrap_or(f64::MAX), cores);
            (status, format!("{load} on {cores} {} over one minute", if cores == 1 { "core" } else { "cores" }))
        },
    );
    load.with_fix("wait until it falls, or find what runs (`top`, Task Manager)")
}

/// Judges a load average by the number of cores.
fn load_status(load: f64, cores: usize) -> Status {
    match load / cores.max(1) as f64 {
        share if share < 0.3 => Status::Good,
        share if share < 1.0 => Status::Warn,
        _ => Status::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_distinguished() {
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
    }

    #[test]
    fn boost_is_judged() {
        let mut facts = Facts::default();
        facts.record_identity("cpu.boost", "off");
        let checks = check_settings(&facts);
        assert_eq!((checks[0].status, &checks[0].fix), (Status::Good, &None));
        assert_eq!(checks[1].status, Status::Unknown, "the fact is missing");
    }
}
