//! Linux: the machine from `/sys` and `/proc`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::{Facts, Nature};

use super::cpuinfo::{self, Topology};
use super::virtualisation;
use crate::cpu;
use crate::system::cgroup;
use crate::system::text::{self, size_text};

/// The folder in which the kernel describes the processors.
const CPUS: &str = "/sys/devices/system/cpu";

/// Adds the facts of this machine.
pub(super) fn add(facts: &mut Facts) {
    add_hardware(facts);
    add_cpu(facts);
    add_cpu_settings(facts);
    add_system(facts);
    add_cgroup(facts);
}

/// Adds maker and model of the machine.
fn add_hardware(facts: &mut Facts) {
    let dmi = Path::new("/sys/class/dmi/id");
    facts.insert("hardware.vendor", text::read(dmi.join("sys_vendor")), Nature::Identity);
    // Boards without PC firmware have a device tree.
    let model = text::read(dmi.join("product_name"))
        .or_else(|reason| text::read("/proc/device-tree/model").map_err(|_| reason));
    facts.insert("hardware.model", model, Nature::Identity);
}

/// Adds the facts of the processors, the virtual machine and the container.
fn add_cpu(facts: &mut Facts) {
    let cpuinfo = text::read("/proc/cpuinfo");
    let model = cpuinfo
        .clone()
        .and_then(|cpuinfo| cpuinfo::processor_model(&cpuinfo).ok_or("/proc/cpuinfo names no model".into()));
    facts.insert("cpu.model", model, Nature::Identity);
    facts.record_identity("cpu.architecture", std::env::consts::ARCH);
    let cpuinfo = cpuinfo.unwrap_or_default();
    let microcode = text::value_of_key(&cpuinfo, "microcode", ':').ok_or("/proc/cpuinfo names no microcode".to_owned());
    facts.insert("cpu.microcode", microcode.map(str::to_owned), Nature::Identity);
    let topology = read_topology(&cpuinfo);
    for (place, name) in ["cpu.sockets", "cpu.cores", "cpu.threads"].into_iter().enumerate() {
        let counts = topology.as_ref().map(|all| [all.sockets, all.cores, all.threads]);
        facts.insert(name, counts.map(|counts| counts[place].to_string()).map_err(Clone::clone), Nature::Identity);
    }
    facts.record_identity("cpu.available", cpu::available_cores().to_string());
    let nodes = text::read("/sys/devices/system/node/online");
    let nodes = nodes.and_then(|list| cpuinfo::count_of_list(&list).ok_or(format!("\"{list}\" is no list of nodes")));
    facts.insert("cpu.numa_nodes", nodes.map(|count| count.to_string()), Nature::Identity);
    facts.insert("cpu.mhz", mhz_range(&cpuinfo), Nature::Passing);
    facts.record_identity("virtualisation", virtualisation::virtualisation(&cpuinfo));
    facts.record_identity("container", virtualisation::container_kind());
}

fn add_cpu_settings(facts: &mut Facts) {
    facts.insert("cpu.governor", governor(), Nature::Identity);
    facts.insert("cpu.boost", boost(), Nature::Identity);
    facts.insert("cpu.smt", smt(), Nature::Identity);
    facts.insert("cpu.max_mhz", max_mhz(), Nature::Identity);
    facts.insert("cpu.mitigations", mitigations(), Nature::Identity);
    facts.insert("transparent_hugepages", transparent_hugepages(), Nature::Identity);
}

/// Adds the facts of the kernel and the distribution.
fn add_system(facts: &mut Facts) {
    facts.insert("kernel.version", text::read("/proc/sys/kernel/osrelease"), Nature::Identity);
    let release = text::read("/etc/os-release").or_else(|reason| text::read("/usr/lib/os-release").map_err(|_| reason));
    let field = |key: &str| {
        let value = text::value_of_key(release.as_ref().map_err(Clone::clone)?, key, '=').map(str::to_owned);
        value.ok_or_else(|| format!("os-release has no {key}"))
    };
    facts.insert("os.name", field("NAME"), Nature::Identity);
    // Rolling distributions have no version.
    facts.insert("os.version", field("VERSION_ID").or_else(|_| field("BUILD_ID")), Nature::Identity);
}

/// Adds the limits of the control group.
fn add_cgroup(facts: &mut Facts) {
    let cpu_max = cgroup::own_controller("cpu").map(|group| {
        group.cpu_quota_cores().map_or_else(|| "no limit".to_owned(), |cores| format!("{cores:.2} cores"))
    });
    facts.insert("cgroup.cpu_max", cpu_max, Nature::Identity);
    let memory_max = cgroup::own_controller("memory")
        .map(|group| group.memory_limit_bytes().map_or_else(|| "no limit".to_owned(), size_text));
    facts.insert("cgroup.memory_max", memory_max, Nature::Identity);
}

/// All of them, where processors differ.
pub(crate) fn governor() -> Result<String, String> {
    let governors: BTreeSet<String> = cpu_readings("cpufreq/scaling_governor").into_iter().collect();
    if governors.is_empty() {
        return Err("the kernel does not set clock speeds here (no cpufreq), as in most virtual machines".to_owned());
    }
    Ok(governors.into_iter().collect::<Vec<_>>().join(", "))
}

/// Turbo: `on` or `off`.
pub(crate) fn boost() -> Result<String, String> {
    let boost = text::read(format!("{CPUS}/cpufreq/boost")).map(|value| value == "1");
    // Intel's driver has the inverse switch.
    boost
        .or_else(|_| text::read(format!("{CPUS}/intel_pstate/no_turbo")).map(|value| value == "0"))
        .map(|is_on| if is_on { "on" } else { "off" }.to_owned())
        .map_err(|_| "the kernel does not say (neither cpufreq/boost nor intel_pstate/no_turbo)".to_owned())
}

/// `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
pub(crate) fn smt() -> Result<String, String> {
    text::read(format!("{CPUS}/smt/control"))
}

/// `always`, `madvise`, `never`.
pub(crate) fn transparent_hugepages() -> Result<String, String> {
    text::read("/sys/kernel/mm/transparent_hugepage/enabled").map(|choices| text::chosen(&choices).to_owned())
}

/// The processors' vulnerabilities and their mitigation, whose cost differs between kernels.
fn mitigations() -> Result<String, String> {
    let folder = format!("{CPUS}/vulnerabilities");
    let entries = std::fs::read_dir(&folder).map_err(|cause| format!("cannot list {folder}: {cause}"))?;
    let mut states: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), text::read(entry.path()).ok()?))
        })
        .collect();
    states.sort();
    Ok(summarise_states(&states))
}

/// Names the vulnerabilities that are mitigated and those that are open.
fn summarise_states(states: &[(String, String)]) -> String {
    let [open, closed] = ["Vulnerable", "Mitigation"].map(|start| {
        let named = states.iter().filter(|(_, state)| state.starts_with(start)).map(|(name, _)| name.as_str());
        let named: Vec<&str> = named.collect();
        if named.is_empty() { "none".to_owned() } else { named.join(", ") }
    });
    format!("mitigated: {closed}; vulnerable: {open}")
}

/// The range of the processors' clock speeds, MHz.
fn mhz_range(cpuinfo: &str) -> Result<String, String> {
    let set = cpu_readings("cpufreq/scaling_cur_freq");
    let by_kernel = cpuinfo::extremes(set.iter().filter_map(|khz| Some(khz.parse::<f64>().ok()? / 1000.0)));
    let range = by_kernel.or_else(|| cpuinfo::mhz_range(cpuinfo));
    let (low, high) = range.ok_or("neither cpufreq nor /proc/cpuinfo gives clock speeds")?;
    Ok(if high - low < 1.0 { format!("{low:.0}") } else { format!("{low:.0} to {high:.0}") })
}

/// The highest clock speed that a processor may have, MHz.
fn max_mhz() -> Result<String, String> {
    let speeds = cpu_readings("cpufreq/cpuinfo_max_freq");
    let fastest = speeds.iter().filter_map(|khz| khz.parse::<u64>().ok()).max();
    fastest.map(|khz| (khz / 1000).to_string()).ok_or_else(|| "the kernel does not set clock speeds here".to_owned())
}

/// Counts packages, cores and threads.
fn read_topology(cpuinfo: &str) -> Result<Topology, String> {
    let by_kernel = cpu_folders().into_iter().filter_map(|folder| {
        let [package, core] = ["topology/physical_package_id", "topology/core_id"]
            .map(|file| text::read(folder.join(file)).ok()?.parse::<i64>().ok());
        Some((package?, core?))
    });
    let by_kernel: Vec<(i64, i64)> = by_kernel.collect();
    let found = cpuinfo::count_cores(&by_kernel).or_else(|| cpuinfo::count_cores(&cpuinfo::processors_of(cpuinfo)));
    found.ok_or_else(|| format!("neither {CPUS} nor /proc/cpuinfo tells how the processors are arranged"))
}

/// The text of a file in each processor's folder.
fn cpu_readings(file: &str) -> Vec<String> {
    cpu_folders().iter().filter_map(|folder| text::read(folder.join(file)).ok()).collect()
}

/// The folders of the processors in `/sys`.
fn cpu_folders() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(CPUS) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_cpu_name))
        .map(|entry| entry.path())
        .collect()
}

/// Tests whether a folder's name is `cpu` and a number.
fn is_cpu_name(name: &str) -> bool {
    let number = name.strip_prefix("cpu").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mitigations_are_short() {
        let states = [
            ("meltdown", "Not affected"),
            ("retbleed", "Mitigation: untrained return thunk"),
            ("srso", "Vulnerable: Safe RET"),
        ];
        let states = states.map(|(name, state)| (name.to_owned(), state.to_owned()));
        assert_eq!(summarise_states(&states), "mitigated: retbleed; vulnerable: srso");
        assert_eq!(summarise_states(&[]), "mitigated: none; vulnerable: none");
    }

    #[test]
    fn this_machine_has_processors() {
        let cpuinfo = text::read("/proc/cpuinfo").unwrap();
        let topology = read_topology(&cpuinfo).unwrap();
        assert!(topology.threads >= topology.cores && topology.cores >= topology.sockets);
        assert!(!cpu_folders().is_empty());
    }
}
