use model::Facts;

use super::{Build, Check, Status, fact_reading};
use crate::facts::services::Kind;
use crate::limits;
use crate::memory::Memory;
use crate::scratch::{self, Abandoned};
use crate::system::Power;
use crate::system::text::size_text;

/// Checks whether étalon is a release build.
pub(super) fn check_build(build: Build) -> Check {
    let (status, found) = match build {
        Build::Release => (Status::Good, "release"),
        Build::Debug => (Status::Bad, "debug"),
    };
    let why = "without optimisation étalon itself is the slow part";
    Check::new("build", status, found, why).with_fix("cargo build --release")
}

/// Checks how the kernel uses huge pages.
pub(super) fn check_huge_pages(facts: &Facts) -> Check {
    let pages = Check::from_reading(
        "transparent huge pages",
        fact_reading(facts, "transparent_hugepages"),
        "`always` makes the kernel join pages while the server waits, and several databases advise against it",
        |pages| (if pages == "always" { Status::Warn } else { Status::Good }, pages),
    );
    pages.with_fix("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
}

/// Checks how much memory is available.
pub(super) fn check_memory(memory: Result<Memory, String>) -> Check {
    let free = Check::from_reading(
        "memory",
        memory,
        "a server whose data and cache do not fit measures the disk, or the swap",
        |memory| {
            let (available, usable) = (size_text(memory.available_bytes), size_text(usable_bytes(&memory)));
            (free_status(&memory), format!("{available} of {usable} available{}", within_group(&memory)))
        },
    );
    free.with_fix("stop what uses it, or take a smaller scale")
}

/// The machine's memory, or the control group's limit.
fn usable_bytes(memory: &Memory) -> u64 {
    memory.limit_bytes.map_or(memory.total_bytes, |limit| limit.min(memory.total_bytes))
}

/// Says that the control group limits the memory, if it does.
fn within_group(memory: &Memory) -> &'static str {
    if usable_bytes(memory) < memory.total_bytes { ", by the control group's limit" } else { "" }
}

/// Judges the share of memory that is available.
fn free_status(memory: &Memory) -> Status {
    match memory.available_bytes as f64 / usable_bytes(memory).max(1) as f64 {
        share if share < 0.10 => Status::Bad,
        share if share < 0.25 => Status::Warn,
        _ => Status::Good,
    }
}

/// Checks the limit on open files, virtualisation, other programs and what étalon left behind.
pub(super) fn check_surroundings(facts: &Facts) -> Vec<Check> {
    let mut all = vec![
        check_open_files(),
        check_virtualisation(facts),
        check_databases(facts),
        check_antivirus(facts),
        check_backups(facts),
    ];
    all.push(left_behind(&scratch::find_abandoned()));
    all
}

/// Finds what étalons that were killed have left.
fn left_behind(found: &[Abandoned]) -> Check {
    let name = "left behind";
    let why = "an étalon that was killed leaves its servers, volumes and files: servers take part in what is measured, \
               and the others take space";
    if found.is_empty() {
        return Check::new(name, Status::Good, "nothing by an étalon that was killed", why);
    }
    let all = found.iter().map(|abandoned| {
        let parts = [
            (abandoned.servers.len(), "running servers"),
            (abandoned.mounts.len(), "mounted volumes"),
            (abandoned.files.len(), "files elsewhere"),
            (abandoned.groups.len(), "control groups"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what}: {count}"));
        let parts: Vec<String> = parts.collect();
        let with = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        format!("{}{with}", abandoned.path.display())
    });
    let all: Vec<String> = all.collect();
    Check::new(name, Status::Warn, all.join(", "), why)
        .with_fix("etalon doctor --clean; the next run removes it too, and asks first on a terminal")
}

/// Checks the limit on open files.
fn check_open_files() -> Check {
    // Étalon raises the soft limit itself, so the hard one counts.
    let check = Check::from_reading(
        "open files",
        limits::open_files(),
        "each connection is an open file, in étalon and in the server",
        |limit| (files_status(limit.hard), limit.hard.map_or("no limit".to_owned(), |hard| format!("{hard} at most"))),
    );
    check.with_fix("raise it: `ulimit -Hn 65536`, LimitNOFILE= of the service, or /etc/security/limits.conf")
}

/// Judges a limit on open files.
fn files_status(hard: Option<u64>) -> Status {
    match hard {
        Some(..1_024) => Status::Bad,
        Some(..4_096) => Status::Warn,
        _ => Status::Good,
    }
}

/// Checks whether the machine runs on battery.
pub(super) fn check_power(power: Result<Power, String>) -> Check {
    let why = "on battery the machine saves power, and results change with the charge";
    let check = Check::from_reading("power", power, why, |power| match power {
        Power::Mains => (Status::Good, power.as_str().to_owned()),
        Power::Battery => (Status::Bad, power.as_str().to_owned()),
    });
    check.with_fix("plug it in")
}

/// Checks whether this is a virtual machine or a container.
fn check_virtualisation(facts: &Facts) -> Check {
    let container = fact_reading(facts, "container").ok().filter(|container| container != "none seen");
    let why =
        "in a virtual machine neighbours share processors and disks, and the disk's promises are the hypervisor's";
    let check = Check::from_reading("virtualisation", fact_reading(facts, "virtualisation"), why, |machine| {
        let status = if machine == "none seen" { Status::Good } else { Status::Warn };
        let inside = container.map(|container| format!(", in a container: {container}")).unwrap_or_default();
        (status, format!("{machine}{inside}"))
    });
    check.with_fix("compare only machines of the same kind, interleave their runs, and measure more rounds")
}

/// Checks which other databases run.
fn check_databases(facts: &Facts) -> Check {
    let why = "another database takes memory and disk, and may hold the port that is to be measured";
    check_processes(facts, "other databases", ("services.databases", Kind::Databases), why)
        .with_fix("stop it for the time of the benchmark")
}

/// Checks which scanners run.
fn check_antivirus(facts: &Facts) -> Check {
    let why = "a scanner looks into every file that the server opens, on one side of a comparison perhaps only";
    check_processes(facts, "antivirus", ("antivirus", Kind::Antivirus), why)
        .with_fix("exclude the data folders, on both sides, and say so")
}

/// Checks which backups run.
fn check_backups(facts: &Facts) -> Check {
    let why = "a backup reads the disk, and pushes the server's pages out of memory";
    check_processes(facts, "backups", ("services.backups", Kind::Backups), why)
        .with_fix("wait for it, or stop it for the time of the benchmark")
}

/// Judges a fact that lists the running processes of a kind.
fn check_processes(facts: &Facts, name: &str, (fact, kind): (&str, Kind), why: &str) -> Check {
    Check::from_reading(name, fact_reading(facts, fact), why, |found| {
        (if found == kind.none_found() { Status::Good } else { Status::Warn }, found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory_of(available: u64) -> Memory {
        Memory { total_bytes: 1000, available_bytes: available, limit_bytes: None, swap_bytes: 500, swap_used_bytes: 0 }
    }

    #[test]
    fn leftovers_are_counted_with_a_fix() {
        assert_eq!(left_behind(&[]).status, Status::Good);
        let found = Abandoned {
            path: "/var/tmp/etalon-volume-1-x".into(),
            pid: 1,
            kind: "volume".to_owned(),
            age: std::time::Duration::from_secs(90),
            servers: Vec::new(),
            mounts: vec!["/var/tmp/etalon-volume-1-x/mount".into()],
            files: vec!["/mnt/a.img".into(), "/mnt/b.img".into()],
            groups: Vec::new(),
        };
        let check = left_behind(&[found]);
        assert_eq!(check.found, "/var/tmp/etalon-volume-1-x (mounted volumes: 1, files elsewhere: 2)");
        assert!(check.status == Status::Warn && check.fix.unwrap().contains("doctor --clean"));
    }

    #[test]
    fn memory_is_judged_by_shares() {
        assert_eq!(free_status(&memory_of(50)), Status::Bad);
        assert_eq!(free_status(&memory_of(200)), Status::Warn);
        assert_eq!(free_status(&memory_of(500)), Status::Good);
    }

    #[test]
    fn files_and_builds_are_judged() {
        assert_eq!(files_status(Some(256)), Status::Bad);
        assert_eq!(files_status(Some(1024)), Status::Warn);
        assert_eq!(files_status(Some(65_536)), Status::Good);
        assert_eq!(files_status(None), Status::Good);
        assert!(check_build(Build::Debug).fix.is_some());
        assert_eq!(check_build(Build::Release).status, Status::Good);
    }

    #[test]
    fn other_programs_are_a_warning() {
        let mut facts = Facts::default();
        facts.record_identity("antivirus", "clamd");
        facts.record_passing("services.databases", Kind::Databases.none_found());
        facts.record_identity("virtualisation", "virtual machine: KVM");
        facts.record_identity("container", "docker");
        assert_eq!(check_antivirus(&facts).status, Status::Warn);
        assert_eq!(check_databases(&facts).status, Status::Good);
        assert_eq!(check_virtualisation(&facts).found, "virtual machine: KVM, in a container: docker");
    }
}
