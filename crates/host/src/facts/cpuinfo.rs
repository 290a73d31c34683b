//! Reads `/proc/cpuinfo` and the topology in `/sys`.

use std::collections::BTreeSet;

/// The processor's model, however the architecture names it.
pub(crate) fn processor_model(cpuinfo: &str) -> Option<String> {
    let value = |key: &str| crate::system::text::value_of_key(cpuinfo, key, ':').filter(|value| !value.is_empty());
    // x86, then POWER, s390 and MIPS; ARM gives numbers only.
    let named = ["model name", "cpu model", "cpu", "processor 0", "uarch"].into_iter().find_map(value);
    let named = named.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    named.or_else(|| arm_model(value("CPU implementer")?, value("CPU part")?))
}

/// The names that lscpu gives; unknown numbers stay numbers.
fn arm_model(implementer: &str, part: &str) -> Option<String> {
    let [implementer_id, part_id] =
        [implementer, part].map(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    let name = match (implementer_id?, part_id?) {
        (0x41, 0xd03) => "ARM Cortex-A53",
        (0x41, 0xd07) => "ARM Cortex-A57",
        (0x41, 0xd08) => "ARM Cortex-A72",
        (0x41, 0xd0b) => "ARM Cortex-A76",
        (0x41, 0xd0c) => "ARM Neoverse-N1",
        (0x41, 0xd40) => "ARM Neoverse-V1",
        (0x41, 0xd49) => "ARM Neoverse-N2",
        (0x41, 0xd4f) => "ARM Neoverse-V2",
        (0x41, 0xd83) => "ARM Neoverse-V3",
        (0x41, 0xd8e) => "ARM Neoverse-N3",
        (0x43, 0x0af) => "Cavium ThunderX2",
        (0x48, 0xd01) => "HiSilicon Kunpeng-920",
        (0x50, 0x000) => "APM X-Gene",
        (0xc0, 0xac3) => "Ampere-1",
        (0xc0, 0xac4) => "Ampere-1A",
        _ => return Some(format!("ARM implementer {implementer} part {part}")),
    };
    Some(name.to_owned())
}

/// The lowest and highest speed of the logical processors.
pub(crate) fn mhz_range(cpuinfo: &str) -> Option<(f64, f64)> {
    let speeds = values_of(cpuinfo, "cpu MHz").filter_map(|value| value.parse::<f64>().ok());
    extremes(speeds)
}

/// The least and the largest of some figures.
pub(crate) fn extremes(figures: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    figures.fold(None, |range, figure| match range {
        None => Some((figure, figure)),
        Some((low, high)) => Some((figure.min(low), figure.max(high))),
    })
}

/// x86 only.
pub(crate) fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    values_of(cpuinfo, "flags").next().is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// Logical processors, physical cores and sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topology {
    /// Online ones.
    pub(crate) threads: usize,
    pub(crate) cores: usize,
    pub(crate) sockets: usize,
}

/// Counts (package, core) pairs, one per logical processor. Cores are numbered per package. Some ARM firmware gives no
/// package, -1 in Linux: then there is one.
pub(crate) fn count_cores(processors: &[(i64, i64)]) -> Option<Topology> {
    let cores: BTreeSet<(i64, i64)> = processors.iter().copied().collect();
    let sockets: BTreeSet<i64> = processors.iter().map(|&(package, _)| package).collect();
    (!processors.is_empty()).then_some(Topology {
        threads: processors.len(),
        cores: cores.len(),
        sockets: sockets.len(),
    })
}

/// Packages and cores, for kernels without topology in `/sys`. Only x86 has them.
pub(crate) fn processors_of(cpuinfo: &str) -> Vec<(i64, i64)> {
    let blocks = cpuinfo.split("\n\n");
    blocks
        .filter_map(|block| {
            let [package, core] = ["physical id", "core id"]
                .map(|key| crate::system::text::value_of_key(block, key, ':')?.parse::<i64>().ok());
            Some((package?, core?))
        })
        .collect()
}

pub(crate) fn count_of_list(list: &str) -> Option<usize> {
    let counts = list.trim().split(',').map(|part| match part.split_once('-') {
        Some((first, last)) => Some((last.parse::<usize>().ok()?).checked_sub(first.parse().ok()?)? + 1),
        None => part.parse::<usize>().ok().map(|_| 1),
    });
    counts.sum()
}

/// All values of a key.
fn values_of<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    cpuinfo.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_SOCKET: &str = "\
processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC  7763\ncpu MHz\t\t: 2445.428
physical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu hypervisor sse2\n
processor\t: 1\nmodel name\t: AMD EPYC  7763\ncpu MHz\t\t: 3100.5\nphysical id\t: 0\ncore id\t\t: 1\nflags\t\t: fpu\n\n";

    const TWO_SOCKETS_SMT: &str = "\
processor\t: 0\nmodel name\t: Xeon\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu\n
processor\t: 1\nmodel name\t: Xeon\nphysical id\t: 1\ncore id\t: 0\n
processor\t: 2\nmodel name\t: Xeon\nphysical id\t: 0\ncore id\t: 0\n
processor\t: 3\nmodel name\t: Xeon\nphysical id\t: 1\ncore id\t: 0\n";

    const ARM: &str = "\
processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8
CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n";

    #[test]
    fn one_socket_is_read() {
        assert_eq!(processor_model(ONE_SOCKET).as_deref(), Some("AMD EPYC 7763"));
        assert_eq!(mhz_range(ONE_SOCKET), Some((2445.428, 3100.5)));
        assert!(has_hypervisor_flag(ONE_SOCKET));
        let topology = count_cores(&processors_of(ONE_SOCKET)).unwrap();
        assert_eq!((topology.threads, topology.cores, topology.sockets), (2, 2, 1));
    }

    #[test]
    fn two_sockets_with_two_threads_a_core_are_read() {
        let topology = count_cores(&processors_of(TWO_SOCKETS_SMT)).unwrap();
        assert_eq!((topology.threads, topology.cores, topology.sockets), (4, 2, 2));
        assert!(!has_hypervisor_flag(TWO_SOCKETS_SMT));
    }

    #[test]
    fn arm_has_numbers_for_a_name() {
        assert_eq!(processor_model(ARM).as_deref(), Some("ARM Neoverse-N1"));
        let unknown = ARM.replace("0xd0c", "0xfff");
        assert_eq!(processor_model(&unknown).as_deref(), Some("ARM implementer 0x41 part 0xfff"));
        assert_eq!(mhz_range(ARM), None);
        assert_eq!(count_cores(&processors_of(ARM)), None);
        assert_eq!(processor_model(""), None);
    }

    #[test]
    fn lists_are_counted() {
        assert_eq!(count_of_list("0"), Some(1));
        assert_eq!(count_of_list("0-3,8,10-11\n"), Some(7));
        assert_eq!(count_of_list("x"), None);
        assert_eq!(count_of_list("3-0"), None);
    }
}
