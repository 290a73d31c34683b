//! The facts of the machine that étalon runs on.
//!
//! Names are the same on every operating system; what one cannot report is there too, with the reason.

#[cfg(any(target_os = "linux", test))]
pub(crate) mod cpuinfo;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
pub(crate) mod paths;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;
pub(crate) mod services;
#[cfg(any(target_os = "linux", test))]
pub(crate) mod virtualisation;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
use portable as os;

use std::path::Path;

use model::{Facts, Nature};

use crate::build;
use crate::clock;
use crate::limits;
use crate::memory;
use crate::system::text::size_text;

/// The facts of this machine, and of the filesystem under each named path. Takes some tens of milliseconds, more where
/// a service manager is asked. The names: `hardware.vendor`, `hardware.model`, `cpu.*`, `memory.*`,
/// `transparent_hugepages`, `virtualisation`, `container`, `kernel.version`, `os.*`, `clock.*`, `services.*`,
/// `antivirus`, `load.*`, `cgroup.*`, `limit.open_files`, `etalon.*` of this build, and for a path named `data` those of
/// [`path_facts`] behind `data.`.
pub fn client_facts(paths: &[(&str, &Path)]) -> Facts {
    let mut facts = Facts::default();
    os::add(&mut facts);
    #[cfg(windows)]
    windows::add(&mut facts);
    add_memory(&mut facts);
    add_clock(&mut facts);
    add_load(&mut facts);
    services::add_services(&mut facts);
    add_limits(&mut facts);
    build::add_build_facts(&mut facts);
    for (name, path) in paths {
        facts.absorb(name, path_facts(path));
    }
    facts
}

/// The facts of the filesystem that holds a path, or would hold it: `filesystem`, `block_size`, `mount_point`,
/// `mount_options`, `source`, `backing`, `is_memory`, `is_network`, `device`, `device.model`, `device.media`,
/// `device.scheduler`, `device.write_cache`, `free_bytes` (passing).
pub fn path_facts(path: &Path) -> Facts {
    paths::facts_of(path)
}

/// Adds how much memory and swap there is, and how much is available or used.
fn add_memory(facts: &mut Facts) {
    let memory = memory::memory();
    let part =
        |part: fn(&memory::Memory) -> u64| memory.as_ref().map(|memory| size_text(part(memory))).map_err(Clone::clone);
    facts.insert("memory.total", part(|memory| memory.total_bytes), Nature::Identity);
    facts.insert("memory.swap", part(|memory| memory.swap_bytes), Nature::Identity);
    facts.insert("memory.available", part(|memory| memory.available_bytes), Nature::Passing);
    facts.insert("memory.swap_used", part(|memory| memory.swap_used_bytes), Nature::Passing);
}

/// Adds the clock's source, its step and the cost of a reading.
fn add_clock(facts: &mut Facts) {
    facts.insert("clock.source", clock::clock_source(), Nature::Identity);
    facts.record_passing("clock.step", format!("{} ns", clock::clock_step_ns()));
    facts.record_passing("clock.cost", format!("{} ns", clock::clock_cost_ns()));
}

/// Adds the load averages.
fn add_load(facts: &mut Facts) {
    let load = crate::system::os::load();
    for (place, name) in ["load.1m", "load.5m", "load.15m"].into_iter().enumerate() {
        let reading = load.as_ref().map(|load| format!("{:.2}", load[place])).map_err(Clone::clone);
        facts.insert(name, reading, Nature::Passing);
    }
}

/// Adds the limit on open files.
fn add_limits(facts: &mut Facts) {
    // Passing, since étalon raises the soft limit when needed.
    let reading = limits::open_files().map(|limit| {
        let [soft, hard] = [limit.soft, limit.hard]
            .map(|limit| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string()));
        format!("{soft} of at most {hard}")
    });
    facts.insert("limit.open_files", reading, Nature::Passing);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Present on every operating system, at least with a reason.
    const NAMES: [&str; 37] = [
        "hardware.vendor",
        "hardware.model",
        "cpu.model",
        "cpu.sockets",
        "cpu.numa_nodes",
        "cpu.cores",
        "cpu.threads",
        "cpu.available",
        "cpu.mhz",
        "cpu.governor",
        "cpu.boost",
        "cpu.smt",
        "memory.total",
        "memory.swap",
        "memory.available",
        "transparent_hugepages",
        "virtualisation",
        "container",
        "kernel.version",
        "os.name",
        "os.version",
        "clock.source",
        "services.running",
        "services.databases",
        "antivirus",
        "load.1m",
        "load.5m",
        "load.15m",
        "cgroup.cpu_max",
        "cgroup.memory_max",
        "cpu.architecture",
        "cpu.mitigations",
        "limit.open_files",
        "etalon.target",
        "etalon.profile",
        "etalon.libc",
        "etalon.allocator",
    ];

    #[test]
    fn every_name_is_there_on_every_system() {
        let mut portable = Facts::default();
        portable::add(&mut portable);
        for facts in [client_facts(&[]), portable] {
            let common = ["memory.", "clock.", "load.", "services.", "antivirus", "limit.", "etalon."];
            for name in NAMES {
                let is_common = common.iter().any(|prefix| name.starts_with(prefix));
                assert!(is_common || facts.entries.contains_key(name), "{name}");
            }
        }
        let facts = client_facts(&[("scratch", Path::new("/var/tmp"))]);
        for name in NAMES {
            assert!(facts.entries.contains_key(name), "{name}");
        }
        assert!(facts.entries.contains_key("scratch.filesystem"));
    }

    #[test]
    fn a_machine_does_not_differ_from_itself() {
        let paths = [("data", std::env::temp_dir())];
        let paths = [(paths[0].0, paths[0].1.as_path())];
        assert_eq!(client_facts(&paths).differences(&client_facts(&paths)), []);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_two_ways_to_read_a_machine_agree() {
        let mut portable = Facts::default();
        portable::add(&mut portable);
        let facts = client_facts(&[]);
        for name in ["cpu.threads", "cpu.architecture", "kernel.version", "os.name", "os.version"] {
            assert_eq!(facts.get(name), portable.get(name), "{name}");
        }
    }
}
