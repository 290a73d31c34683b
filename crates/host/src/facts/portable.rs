//! macOS and Windows: the machine through `sysinfo` and macOS's `sysctl`. Compiled into the tests on Linux too.

use model::{Facts, Nature};
use sysinfo::{CpuRefreshKind, Product, System};

use crate::cpu;
use crate::system::command::output_of;

/// Adds the facts of this machine.
pub(super) fn add(facts: &mut Facts) {
    add_hardware(facts);
    add_cpu(facts);
    add_system(facts);
    add_linux_only(facts);
}

/// Adds maker and model of the machine.
fn add_hardware(facts: &mut Facts) {
    facts.insert("hardware.vendor", reported(Product::vendor_name(), "the maker of the machine"), Nature::Identity);
    let model = sysctl("hw.model").or_else(|_| reported(Product::name(), "the model of the machine"));
    facts.insert("hardware.model", model, Nature::Identity);
}

/// Adds the facts of the processors and the virtual machine.
fn add_cpu(facts: &mut Facts) {
    let mut system = System::new();
    if let Ok(system) = &mut system {
        system.refresh_cpu_list(CpuRefreshKind::nothing().with_frequency());
    }
    let cpus = system.as_ref().map(System::cpus).unwrap_or_default();
    let first = cpus.first().ok_or("the system lists no processors".to_owned());
    let model = first.clone().and_then(|cpu| filled(cpu.brand(), "the model of the processor"));
    facts.insert("cpu.model", sysctl("machdep.cpu.brand_string").or(model), Nature::Identity);
    facts.record_identity("cpu.architecture", std::env::consts::ARCH);
    facts.insert("cpu.threads", first.map(|_| cpus.len().to_string()), Nature::Identity);
    facts.insert(
        "cpu.cores",
        reported(System::physical_core_count().map(|count| count.to_string()), "the number of cores"),
        Nature::Identity,
    );
    facts.record_identity("cpu.available", cpu::available_cores().to_string());
    facts.insert("cpu.sockets", sysctl("hw.packages"), Nature::Identity);
    let speed = cpus.iter().map(sysinfo::Cpu::frequency).max().filter(|&mhz| mhz > 0);
    let speed = speed.map(|mhz| mhz.to_string()).ok_or("the system gives no clock speed".to_owned());
    facts.insert("cpu.mhz", speed, Nature::Passing);
    facts.insert("cpu.smt", smt(), Nature::Identity);
    let guest = sysctl("kern.hv_vmm_present").and_then(|answer| match answer.as_str() {
        "0" => Ok("none seen".to_owned()),
        "1" => Ok("virtual machine: unknown hypervisor".to_owned()),
        other => Err(format!("kern.hv_vmm_present is {other}")),
    });
    let guest = guest.or_else(|reason| virtual_product().ok_or(reason));
    facts.insert("virtualisation", guest, Nature::Identity);
}

/// A product name that only hypervisors have. Its absence proves nothing.
fn virtual_product() -> Option<String> {
    let name = Product::name().ok()?;
    let marks = ["Virtual Machine", "VMware", "VirtualBox", "KVM", "QEMU", "HVM domU"];
    marks.iter().any(|mark| name.contains(mark)).then(|| format!("virtual machine: {name}"))
}

/// Says whether cores have several threads: `on` or `off`.
fn smt() -> Result<String, String> {
    let [threads, cores] = ["hw.logicalcpu", "hw.physicalcpu"]
        .map(|name| sysctl(name)?.parse::<u32>().map_err(|cause| format!("{name} is no number: {cause}")));
    let (threads, cores) = (threads?, cores?);
    Ok(if threads > cores { "on" } else { "off" }.to_owned())
}

/// Adds the facts of the kernel and the system.
fn add_system(facts: &mut Facts) {
    facts.insert("kernel.version", reported(System::kernel_version(), "the kernel's version"), Nature::Identity);
    facts.insert("os.name", reported(System::name(), "the operating system's name"), Nature::Identity);
    facts.insert("os.version", reported(System::os_version(), "the operating system's version"), Nature::Identity);
}

fn add_linux_only(facts: &mut Facts) {
    let reasons = [
        ("cpu.numa_nodes", "memory nodes are read on Linux only"),
        ("cpu.governor", "this operating system does not tell"),
        ("cpu.boost", "this operating system does not tell"),
        ("cpu.mitigations", "this operating system does not tell"),
        ("transparent_hugepages", "this operating system has none"),
        ("container", "containers are told on Linux only"),
        ("cgroup.cpu_max", "this operating system has no control groups"),
        ("cgroup.memory_max", "this operating system has no control groups"),
    ];
    for (name, reason) in reasons {
        facts.record_unavailable(name, reason);
    }
}

/// Reads a value by `sysctl`, on macOS.
fn sysctl(name: &str) -> Result<String, String> {
    if !cfg!(target_os = "macos") {
        return Err("this operating system does not tell".to_owned());
    }
    filled(&output_of("/usr/sbin/sysctl", &["-n", name])?, name)
}

/// A text that the system reports, or why there is none.
fn reported(value: Result<String, impl std::fmt::Debug>, what: &str) -> Result<String, String> {
    match value {
        Ok(value) => filled(&value, what),
        Err(cause) => Err(format!("the system does not tell {what}: {cause:?}")),
    }
}

/// A text that is not empty, or why there is none.
fn filled(value: &str, what: &str) -> Result<String, String> {
    let value = value.trim();
    if value.is_empty() { Err(format!("the system does not tell {what}")) } else { Ok(value.to_owned()) }
}
