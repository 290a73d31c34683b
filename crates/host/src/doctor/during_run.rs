//! Conditions that may change during a run: judged by `etalon doctor` over a second, and during each run over all of
//! it.

use model::MarkKind;
use model::disturbance::{AT_WORK_CORES, Limits, OTHER_LOAD, STEAL, SWAPPED_BYTES_PER_S};

use super::{Check, Status, machine};
use crate::facts::services::Kind;
use crate::system::text::size_text;
use crate::watch::{Program, State, Watched};

pub(super) struct Finding {
    pub(super) kind: MarkKind,
    pub(super) check: Check,
    /// Something happened during the run; a property of the machine, such as a quota that was not reached, does not
    /// count.
    pub(super) disturbs: bool,
}

impl Finding {
    /// It disturbs as soon as it warns.
    fn by_status(kind: MarkKind, check: Check) -> Finding {
        let disturbs = matches!(check.status, Status::Warn | Status::Bad);
        Finding { kind, check, disturbs }
    }
}

/// Judges all that may have disturbed a run.
pub(super) fn run_findings(watched: &Watched) -> Vec<Finding> {
    let (before, after) = (&watched.before, &watched.after);
    let mut findings = vec![
        other_load(watched),
        busy_services(watched),
        stolen_time(watched),
        cpu_throttling(before, after),
        cpu_heat(before, after),
        cpu_governor(before, after),
        power_source(before, after),
        scarce_memory(before, after),
        swapping(watched),
    ];
    findings.extend(server_throttling(before, after));
    findings.extend(watched.stopped.as_deref().map(stopped_process));
    findings
}

/// Judges the CPU use of other programs.
fn other_load(watched: &Watched) -> Finding {
    let cores = watched.core_count().unwrap_or_else(|| crate::cpu::available_cores() as f64);
    let check = Check::from_reading(
        "other load",
        watched.others.as_ref().map_err(Clone::clone),
        "programs that are neither étalon nor its servers take time from both",
        |load| {
            let status = match status_of_share(OTHER_LOAD, load.mean_cores / cores) {
                // A short one disturbs a part of the run.
                Status::Good if load.peak_cores / cores >= OTHER_LOAD.bad => Status::Warn,
                status => status,
            };
            let peak = if load.peak_cores >= load.mean_cores + PEAK_CORES {
                format!(", at most {:.1}", load.peak_cores)
            } else {
                String::new()
            };
            let named = load.programs.iter().filter(|program| program.cores >= NAMED_CORES);
            let named: Vec<String> = named.map(Program::to_string).collect();
            let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
            (status, format!("{:.1} of {cores:.0} cores used by others{peak}{named}", load.mean_cores))
        },
    );
    let fix = "find what runs (`top`, Task Manager), and stop it for the time of the benchmark";
    Finding::by_status(MarkKind::MachineBusy, check.with_fix(fix))
}

/// A peak is reported if it is this much above the mean.
const PEAK_CORES: f64 = 0.15;
/// Less is shown as 0.0.
const NAMED_CORES: f64 = 0.05;

/// Judges a share by its limits.
fn status_of_share(limits: Limits, share: f64) -> Status {
    if share >= limits.bad {
        Status::Bad
    } else if share >= limits.warn {
        Status::Warn
    } else {
        Status::Good
    }
}

/// Judges scanners, backups and updates that were at work.
fn busy_services(watched: &Watched) -> Finding {
    const KINDS: [(Kind, &str); 3] =
        [(Kind::Antivirus, "scanner"), (Kind::Backups, "backup"), (Kind::Updates, "update")];
    let check = Check::from_reading(
        "scanners, backups and updates",
        watched.others.as_ref().map_err(Clone::clone),
        "they read and write whole disks, and push the server's pages out of memory",
        |load| {
            let busy = load.used.iter().filter(|(_, cores)| *cores >= AT_WORK_CORES);
            let found = busy.filter_map(|(name, cores)| {
                let (_, what) = KINDS.iter().find(|(kind, _)| kind.has_process(name))?;
                Some(format!("{what} at work: {} {cores:.2} cores", &**name))
            });
            let found: Vec<String> = found.collect();
            if found.is_empty() { (Status::Good, "none at work".to_owned()) } else { (Status::Warn, found.join(", ")) }
        },
    );
    Finding::by_status(MarkKind::MachineJobs, check.with_fix("wait for it, or stop it for the time of the benchmark"))
}

/// Judges the time that the hypervisor took.
fn stolen_time(watched: &Watched) -> Finding {
    let check = Check::from_reading(
        "steal",
        watched.cpu.as_ref().map(|cpu| cpu.steal_share).map_err(Clone::clone),
        "the hypervisor gives this machine's time to others; a pause of the machine looks like a slow server",
        |share| {
            (
                status_of_share(STEAL, share),
                format!("the hypervisor kept {:.1} % of the processors' time", share * 100.0),
            )
        },
    );
    let fix = "measure on a host of its own, or with reserved processors";
    Finding::by_status(MarkKind::MachineSteal, check.with_fix(fix))
}

/// Both readings, or the first reason why one is missing.
fn both_readings<T: Clone>(before: &Result<T, String>, after: &Result<T, String>) -> Result<(T, T), String> {
    Ok((before.clone()?, after.clone()?))
}

/// Judges how often the control group was throttled.
fn cpu_throttling(before: &State, after: &State) -> Finding {
    let mut disturbs = false;
    let check = Check::from_reading(
        "cpu throttling",
        both_readings(&before.throttled, &after.throttled),
        "a CPU quota stops all threads until its next period, some 100 ms: the tail of the latencies is the quota's",
        |(before, after)| {
            let quota = after.quota_cores.map_or("no quota".to_owned(), |cores| format!("a quota of {cores:.2} cores"));
            let times = after.times.saturating_sub(before.times);
            if times > 0 {
                disturbs = true;
                let ms = after.time_us.saturating_sub(before.time_us) / 1000;
                return (Status::Bad, format!("{quota} held everything back {times} times, for {ms} ms"));
            }
            let is_possible = after.times > 0 || after.quota_cores.is_some();
            let status = if is_possible { Status::Warn } else { Status::Good };
            (status, format!("{quota}, held back {} times before", after.times))
        },
    );
    let fix = "give the container or service no CPU quota (cpu.max), or bind it to whole cores (cpuset)";
    Finding { kind: MarkKind::MachineThrottled, check: check.with_fix(fix), disturbs }
}

/// A quota of the server's own, as long as it held the server back.
fn server_throttling(before: &State, after: &State) -> Option<Finding> {
    let after = after.server_throttled?;
    // It may have been put into the group since.
    let (times_before, us_before) = before.server_throttled.map_or((0, 0), |before| (before.times, before.time_us));
    let times = after.times.checked_sub(times_before).filter(|times| *times > 0)?;
    let quota = after.quota_cores.map_or("its quota".to_owned(), |cores| format!("its quota of {cores:.2} cores"));
    let ms = after.time_us.saturating_sub(us_before) / 1000;
    let found = format!("the server's control group was held back {times} times by {quota}, for {ms} ms");
    let why = "a CPU quota stops all of a server's threads until its next period: what is measured is the quota";
    let check = Check::new("server's cpu throttling", Status::Bad, found, why);
    Some(Finding::by_status(
        MarkKind::MachineThrottled,
        check.with_fix("give the server's service or container no CPU quota (cpu.max)"),
    ))
}

/// The finding that a process stood still.
fn stopped_process(process: &str) -> Finding {
    let found = format!("{process} stood still, by a signal or a freezer");
    let check = Check::new("stopped processes", Status::Bad, found, "a stopped server answers when it goes on");
    Finding::by_status(MarkKind::MachineThrottled, check.with_fix("find what sends SIGSTOP or freezes it"))
}

/// Judges how often hot processors were slowed down.
fn cpu_heat(before: &State, after: &State) -> Finding {
    let check = Check::from_reading(
        "heat",
        both_readings(&before.heat, &after.heat),
        "hot processors slow down, so that what is measured later looks slower",
        |(before, after)| match after.saturating_sub(before) {
            0 => (Status::Good, "no processor was slowed down for heat".to_owned()),
            times => (Status::Bad, format!("processors were slowed down for heat {times} times")),
        },
    );
    let fix = "cool it, or let it rest between runs; a longer warm-up shows the speed that it can hold";
    Finding::by_status(MarkKind::MachineThrottled, check.with_fix(fix))
}

/// Judges whether the governor changed, or is not `performance`.
fn cpu_governor(before: &State, after: &State) -> Finding {
    let mut disturbs = false;
    let check = Check::from_reading(
        "cpu governor",
        both_readings(&before.governor, &after.governor),
        "any policy but `performance` lowers clock speeds between requests, so that a quiet server looks slow",
        |(before, after)| {
            if before != after {
                disturbs = true;
                return (Status::Bad, format!("the governor of clock speeds went from {before} to {after}"));
            }
            (if after == "performance" { Status::Good } else { Status::Warn }, after)
        },
    );
    Finding { kind: MarkKind::MachinePower, check: check.with_fix("cpupower frequency-set -g performance"), disturbs }
}

/// Judges whether the power source changed, or is a battery.
fn power_source(before: &State, after: &State) -> Finding {
    let check = match both_readings(&before.power, &after.power) {
        Ok((before, after)) if before != after => {
            let check = machine::check_power(Ok(before));
            let found = format!("the power source went from {} to {}", before.as_str(), after.as_str());
            Check { status: Status::Bad, found, ..check }.with_fix("leave it plugged in")
        }
        both => machine::check_power(both.map(|(_, after)| after)),
    };
    Finding::by_status(MarkKind::MachinePower, check)
}

/// The scarcer reading. A server may well use most of the memory, so that only what is bad disturbs.
fn scarce_memory(before: &State, after: &State) -> Finding {
    let scarcer = both_readings(&before.memory, &after.memory)
        .map(|(before, after)| if before.available_bytes < after.available_bytes { before } else { after });
    let check = machine::check_memory(scarcer);
    Finding { kind: MarkKind::MachineMemory, disturbs: check.status == Status::Bad, check }
}

/// Judges how much was swapped during the run, else how much swap is in use.
fn swapping(watched: &Watched) -> Finding {
    let (before, after) = (&watched.before, &watched.after);
    // A kernel that counts no swapping may still say what is in use.
    let moved_bytes =
        both_readings(&before.swapped_bytes, &after.swapped_bytes).map(|(then, now)| now.saturating_sub(then));
    let least_bytes = SWAPPED_BYTES_PER_S * watched.elapsed.as_secs_f64();
    let mut disturbs = false;
    let check = Check::from_reading(
        "swap",
        after.memory.clone(),
        "what was swapped out comes back in the middle of a run",
        |memory| {
            match moved_bytes {
                Ok(bytes) if bytes > 0 && bytes as f64 >= least_bytes => {
                    disturbs = true;
                    (Status::Bad, format!("{} were swapped out or in", size_text(bytes)))
                }
                _ => {
                    // Some unused pages are swapped on any machine that has run for weeks.
                    let is_much = memory.swap_used_bytes > memory.total_bytes / 100;
                    let status = if is_much { Status::Warn } else { Status::Good };
                    (
                        status,
                        format!("{} of {} in use", size_text(memory.swap_used_bytes), size_text(memory.swap_bytes)),
                    )
                }
            }
        },
    );
    let check = check.with_fix("swapoff -a && swapon -a, once there is memory for it");
    Finding { kind: MarkKind::MachineMemory, check, disturbs }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cpu::MachineCpu;
    use crate::doctor::disturbance_marks;
    use crate::memory::Memory;
    use crate::system::{Power, ProcessName};
    use crate::watch::{MainProcess, OtherLoad, Throttled};

    fn quiet_state() -> State {
        State {
            throttled: Ok(Throttled { quota_cores: None, times: 0, time_us: 0 }),
            server_throttled: Some(Throttled { quota_cores: Some(0.5), times: 3, time_us: 9 }),
            heat: Ok(7),
            governor: Ok("performance".to_owned()),
            power: Ok(Power::Mains),
            memory: Ok(Memory {
                total_bytes: 16 << 30,
                available_bytes: 8 << 30,
                limit_bytes: None,
                swap_bytes: 1 << 30,
                swap_used_bytes: 1 << 20,
            }),
            swapped_bytes: Ok(5 << 20),
        }
    }

    /// Ten seconds of a machine with two processors.
    fn quiet() -> Watched {
        Watched {
            elapsed: Duration::from_secs(10),
            others: Ok(OtherLoad { mean_cores: 0.04, peak_cores: 0.2, ..OtherLoad::default() }),
            cpu: Ok(MachineCpu { busy_share: 0.9, steal_share: 0.001, of_core_seconds: 20.0 }),
            stood_still: Duration::ZERO,
            times_continued: 0,
            stopped: None,
            before: quiet_state(),
            after: quiet_state(),
            cost: Ok(Duration::from_millis(2)),
            looks: 11,
        }
    }

    fn words(watched: &Watched) -> Vec<(MarkKind, String)> {
        disturbance_marks(watched).into_iter().map(|mark| (mark.kind, mark.detail)).collect()
    }

    #[test]
    fn a_quiet_machine_disturbs_nothing_whatever_its_settings() {
        assert_eq!(words(&quiet()), []);
        let mut limited = quiet();
        for state in [&mut limited.before, &mut limited.after] {
            state.governor = Ok("powersave".to_owned());
            state.throttled = Ok(Throttled { quota_cores: Some(1.5), times: 4, time_us: 9 });
            state.heat = Err("a virtual machine".to_owned());
        }
        assert_eq!(words(&limited), [], "settings are facts, and no events");
        let warns = run_findings(&limited).iter().filter(|finding| finding.check.status == Status::Warn).count();
        assert_eq!(warns, 2, "doctor says them");
    }

    #[test]
    fn other_programs_are_named_with_their_cores() {
        let mut busy = quiet();
        let mut programs = [("rsync", 1.2), ("cc1", 0.21), ("cron", 0.01)]
            .map(|(name, cores)| Program { name: name.to_owned(), cores, main: None })
            .to_vec();
        let used = [("rsync", 1.2), ("clamd", 0.004)].map(|(name, cores)| (ProcessName::new(name), cores));
        programs[0].main = Some(MainProcess { pid: 40, serves: Some("service rsync.service".to_owned()) });
        busy.others = Ok(OtherLoad { mean_cores: 1.42, peak_cores: 1.9, programs, used: used.to_vec() });
        assert_eq!(
            words(&busy),
            [
                (
                    MarkKind::MachineBusy,
                    "1.4 of 2 cores used by others, at most 1.9: rsync 1.2 (pid 40, service rsync.service), cc1 0.2"
                        .to_owned()
                ),
                (MarkKind::MachineJobs, "backup at work: rsync 1.20 cores".to_owned()),
            ]
        );
        busy.others = Ok(OtherLoad { mean_cores: 0.09, peak_cores: 0.41, ..OtherLoad::default() });
        assert_eq!(words(&busy)[0].1, "0.1 of 2 cores used by others, at most 0.4", "a short one");
        busy.others = Err("only some processes are visible".to_owned());
        assert_eq!(words(&busy), []);
        assert_eq!(run_findings(&busy)[0].check.status, Status::Unknown);
    }

    #[test]
    fn hypervisor_quotas_and_heat_are_reported() {
        let mut throttled = quiet();
        throttled.cpu = Ok(MachineCpu { busy_share: 0.9, steal_share: 0.073, of_core_seconds: 20.0 });
        throttled.after.throttled = Ok(Throttled { quota_cores: Some(1.5), times: 12, time_us: 340_000 });
        throttled.after.heat = Ok(9);
        throttled.after.server_throttled = Some(Throttled { quota_cores: Some(0.5), times: 8, time_us: 250_009 });
        throttled.stopped = Some("postgres (pid 812)".to_owned());
        let words = words(&throttled);
        assert_eq!(words[0], (MarkKind::MachineSteal, "the hypervisor kept 7.3 % of the processors' time".to_owned()));
        assert_eq!(words[1].1, "a quota of 1.50 cores held everything back 12 times, for 340 ms");
        assert_eq!(words[2], (MarkKind::MachineThrottled, "processors were slowed down for heat 2 times".to_owned()));
        assert_eq!(
            words[3].1,
            "the server's control group was held back 5 times by its quota of 0.50 cores, for 250 ms"
        );
        assert_eq!(
            words[4],
            (MarkKind::MachineThrottled, "postgres (pid 812) stood still, by a signal or a freezer".to_owned())
        );
    }

    #[test]
    fn power_memory_and_swapping_are_reported() {
        let mut moved = quiet();
        moved.after.power = Ok(Power::Battery);
        moved.after.governor = Ok("powersave".to_owned());
        moved.before.memory = moved.before.memory.map(|memory| Memory { available_bytes: 1 << 30, ..memory });
        moved.after.swapped_bytes = Ok(55 << 20);
        let details: Vec<String> = words(&moved).into_iter().map(|(_, detail)| detail).collect();
        assert_eq!(
            details,
            [
                "the governor of clock speeds went from performance to powersave",
                "the power source went from mains to battery",
                "1.0 GiB of 16.0 GiB available",
                "50.0 MiB were swapped out or in",
            ]
        );
        moved.before.power = Ok(Power::Battery);
        assert!(words(&moved).contains(&(MarkKind::MachinePower, "battery".to_owned())));
        moved.after.swapped_bytes = Ok(6 << 20);
        assert_eq!(words(&moved).len(), 3, "a tenth of a MiB a second is no swapping");
    }
}
