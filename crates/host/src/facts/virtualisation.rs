//! Whether the machine is virtual, and whether étalon sees all of it.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere only the tests of its parsers use it"))]

use std::path::Path;

use super::cpuinfo;
use crate::system::text;

/// Says in which virtual machine this system runs, as far as it shows.
pub(crate) fn virtualisation(cpuinfo: &str) -> String {
    let dmi = |file: &str| text::read(Path::new("/sys/class/dmi/id").join(file)).unwrap_or_default();
    let clues = Clues {
        hypervisor_flag: if cpuinfo::has_hypervisor_flag(cpuinfo) { Flag::Set } else { Flag::NotSet },
        firmware: [dmi("sys_vendor"), dmi("product_name"), dmi("bios_vendor"), dmi("board_vendor")].join(" "),
        hypervisor_type: text::read("/sys/hypervisor/type").unwrap_or_default(),
        device_tree: text::read("/proc/device-tree/hypervisor/compatible").unwrap_or_default(),
        clock_sources: text::read("/sys/devices/system/clocksource/clocksource0/available_clocksource")
            .unwrap_or_default(),
        kernel: text::read("/proc/sys/kernel/osrelease").unwrap_or_default(),
    };
    name_hypervisor(&clues)
}

/// Every container has at least one of these for itself. The numbers are those of the host's (PROC_*_INIT_INO in
/// include/linux/proc_ns.h).
const NAMESPACES: [(&str, u32); 4] =
    [("pid", 0xEFFF_FFFC), ("uts", 0xEFFF_FFFE), ("ipc", 0xEFFF_FFFF), ("cgroup", 0xEFFF_FFFB)];

/// Says in which container this process runs, as far as it shows.
pub(crate) fn container_kind() -> String {
    let links = NAMESPACES.map(|(name, _)| std::fs::read_link(format!("/proc/self/ns/{name}")).ok());
    if links.iter().zip(NAMESPACES).all(|(link, (name, number))| is_initial_namespace(link.as_deref(), name, number)) {
        // A virtual machine made from a container image keeps the marks below.
        return "none seen".to_owned();
    }
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/dev/lxd/sock", "lxd")];
    if let Some((_, name)) = marks.into_iter().find(|(mark, _)| Path::new(mark).exists()) {
        return name.to_owned();
    }
    // Written by systemd; only root may read the environment of process 1.
    let noted = text::read("/run/systemd/container").ok().filter(|name| !name.is_empty());
    let environment = text::read("/proc/1/environ").unwrap_or_default();
    let variable = environment.split('\0').find_map(|variable| variable.strip_prefix("container=")).map(str::to_owned);
    let groups = text::read("/proc/1/cgroup").unwrap_or_default();
    noted.or(variable).or_else(|| container_of_groups(&groups)).unwrap_or_else(|| "none seen".to_owned())
}

/// An unreadable link proves nothing.
fn is_initial_namespace(link: Option<&Path>, name: &str, number: u32) -> bool {
    link.is_some_and(|link| link == Path::new(&format!("{name}:[{number}]")))
}

fn container_of_groups(groups: &str) -> Option<String> {
    let known = ["kubepods", "docker", "libpod", "lxc", "containerd", "garden", "machine.slice/machine-"];
    let found = known.into_iter().find(|name| groups.contains(name))?;
    Some(if found.starts_with("machine") { "systemd-nspawn" } else { found }.to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flag {
    Set,
    NotSet,
}

struct Clues {
    hypervisor_flag: Flag,
    firmware: String,
    hypervisor_type: String,
    device_tree: String,
    clock_sources: String,
    kernel: String,
}

/// Names in firmware strings, and what they stand for. Clouds put the same strings on some bare-metal machines, so on
/// x86 they count only with the processor's flag.
const FIRMWARE: [(&str, &str); 13] = [
    ("QEMU", "KVM or QEMU"),
    ("KVM", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("DigitalOcean", "DigitalOcean"),
    ("OpenStack", "OpenStack"),
    ("Bochs", "Bochs or QEMU"),
];

/// Names the hypervisor by the clues, if there is one.
fn name_hypervisor(clues: &Clues) -> String {
    if clues.kernel.to_ascii_lowercase().contains("microsoft") {
        return "virtual machine: WSL 2".to_owned();
    }
    let by_firmware = FIRMWARE.into_iter().find(|(mark, _)| clues.firmware.contains(mark)).map(|(_, name)| name);
    let by_clock = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"), ("vmware", "VMware")]
        .into_iter()
        .find(|(mark, _)| clues.clock_sources.contains(mark))
        .map(|(_, name)| name);
    let name = by_firmware.or(by_clock).map(str::to_owned);
    let has_guest_mark = !clues.hypervisor_type.is_empty() || !clues.device_tree.is_empty();
    match (clues.hypervisor_flag, has_guest_mark, name) {
        (_, _, Some(name)) if clues.hypervisor_flag == Flag::Set || by_clock.is_some() => {
            format!("virtual machine: {name}")
        }
        (_, true, None) => format!("virtual machine: {}{}", clues.hypervisor_type, clues.device_tree),
        (_, true, Some(name)) => format!("virtual machine: {name}"),
        (Flag::Set, false, _) => "virtual machine: unknown hypervisor".to_owned(),
        // QEMU on ARM has no flag, but its firmware is never on real hardware.
        (Flag::NotSet, false, Some(name)) if clues.firmware.contains("QEMU") => format!("virtual machine: {name}"),
        (Flag::NotSet, false, _) => "none seen".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clues(hypervisor_flag: Flag, firmware: &str, clock_sources: &str) -> Clues {
        Clues {
            hypervisor_flag,
            firmware: firmware.to_owned(),
            hypervisor_type: String::new(),
            device_tree: String::new(),
            clock_sources: clock_sources.to_owned(),
            kernel: "6.1.0-18-amd64".to_owned(),
        }
    }

    #[test]
    fn hypervisors_are_named_by_what_gives_them_away() {
        assert_eq!(name_hypervisor(&clues(Flag::NotSet, "Dell Inc. PowerEdge R740", "tsc hpet acpi_pm")), "none seen");
        assert_eq!(name_hypervisor(&clues(Flag::Set, "QEMU Standard PC", "kvm-clock")), "virtual machine: KVM or QEMU");
        assert_eq!(name_hypervisor(&clues(Flag::Set, "", "tsc kvm-clock")), "virtual machine: KVM");
        assert_eq!(name_hypervisor(&clues(Flag::Set, "", "tsc")), "virtual machine: unknown hypervisor");
        let hyper_v = clues(Flag::Set, "Microsoft Corporation Virtual Machine", "hyperv_clocksource_tsc_page");
        assert_eq!(name_hypervisor(&hyper_v), "virtual machine: Hyper-V");
    }

    #[test]
    fn bare_metal_of_a_cloud_is_real() {
        assert_eq!(name_hypervisor(&clues(Flag::NotSet, "Amazon EC2 c5.metal", "tsc hpet")), "none seen");
        assert_eq!(
            name_hypervisor(&clues(Flag::Set, "Amazon EC2 c5.large", "kvm-clock")),
            "virtual machine: Amazon EC2"
        );
    }

    #[test]
    fn arm_and_wsl_are_recognised() {
        assert_eq!(
            name_hypervisor(&clues(Flag::NotSet, "QEMU QEMU Virtual Machine", "arch_sys_counter")),
            "virtual machine: KVM or QEMU"
        );
        let mut wsl = clues(Flag::Set, "", "hyperv");
        wsl.kernel = "5.15.90.1-microsoft-standard-WSL2".to_owned();
        assert_eq!(name_hypervisor(&wsl), "virtual machine: WSL 2");
        let mut xen = clues(Flag::NotSet, "", "tsc");
        xen.hypervisor_type = "xen".to_owned();
        assert_eq!(name_hypervisor(&xen), "virtual machine: xen");
    }

    #[test]
    fn containers_are_recognised_by_their_groups() {
        assert_eq!(container_of_groups("0::/kubepods.slice/x\n").as_deref(), Some("kubepods"));
        assert_eq!(container_of_groups("4:cpu:/docker/abc\n").as_deref(), Some("docker"));
        assert_eq!(container_of_groups("0::/init.scope\n"), None);
        assert!(!container_kind().is_empty());
    }

    #[test]
    fn the_machine_s_own_namespaces_are_known_by_number() {
        fn link(text: &'static str) -> Option<&'static Path> {
            Some(Path::new(text))
        }
        assert!(is_initial_namespace(link("pid:[4026531836]"), NAMESPACES[0].0, NAMESPACES[0].1));
        assert!(is_initial_namespace(link("uts:[4026531838]"), NAMESPACES[1].0, NAMESPACES[1].1));
        assert!(is_initial_namespace(link("ipc:[4026531839]"), NAMESPACES[2].0, NAMESPACES[2].1));
        assert!(is_initial_namespace(link("cgroup:[4026531835]"), NAMESPACES[3].0, NAMESPACES[3].1));
        assert!(!is_initial_namespace(link("pid:[4026532180]"), "pid", 0xEFFF_FFFC));
        assert!(!is_initial_namespace(None, "pid", 0xEFFF_FFFC));
    }
}
