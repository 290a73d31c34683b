//! Conditions that change slowly, read before and after a run.

use crate::memory::{self, Memory};
use crate::system::{Power, power};

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) throttled: Result<Throttled, String>,
    /// The same of a server that étalon did not start, if it is in another group, which étalon does not limit itself.
    pub(crate) server_throttled: Option<Throttled>,
    /// Times that processors were slowed down for heat, since the machine started.
    pub(crate) heat: Result<u64, String>,
    pub(crate) governor: Result<String, String>,
    pub(crate) power: Result<Power, String>,
    pub(crate) memory: Result<Memory, String>,
    /// Moved to swap and back since the machine started.
    pub(crate) swapped_bytes: Result<u64, String>,
}

/// Throttling by the control group's quota, since the group was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throttled {
    pub(crate) quota_cores: Option<f64>,
    pub(crate) times: u64,
    pub(crate) time_us: u64,
}

impl State {
    /// Reads the state of the machine and of these servers.
    pub(crate) fn now(servers: &[u32]) -> State {
        State {
            throttled: os::throttled(),
            server_throttled: servers.iter().find_map(|pid| os::server_throttled(*pid)),
            heat: os::heat(),
            governor: os::governor(),
            power: power(),
            memory: memory::memory(),
            swapped_bytes: os::swapped_bytes(),
        }
    }

    /// A state of which nothing is known, for this reason.
    pub(super) fn unknown(reason: &str) -> State {
        /// A reading that is missing for this reason.
        fn unknown<T>(reason: &str) -> Result<T, String> {
            Err(reason.to_owned())
        }
        State {
            throttled: unknown(reason),
            server_throttled: None,
            heat: unknown(reason),
            governor: unknown(reason),
            power: unknown(reason),
            memory: unknown(reason),
            swapped_bytes: unknown(reason),
        }
    }
}

#[cfg(target_os = "linux")]
mod os {
    use std::path::Path;

    use super::Throttled;
    use crate::system::{cgroup, text};

    pub(super) use crate::facts::linux::governor;

    /// Reads the throttling. Without a group there is no quota.
    pub(super) fn throttled() -> Result<Throttled, String> {
        let Ok(group) = cgroup::own_controller("cpu") else {
            return Ok(Throttled { quota_cores: None, times: 0, time_us: 0 });
        };
        let quota_cores = group.cpu_quota_cores();
        match group.throttling() {
            Ok(found) => Ok(Throttled { quota_cores, times: found.times, time_us: found.time_us }),
            // The root group is not throttled, so it counts nothing.
            Err(_) if quota_cores.is_none() => Ok(Throttled { quota_cores, times: 0, time_us: 0 }),
            Err(reason) => Err(reason),
        }
    }

    /// How often a server's control group was throttled; `None` if étalon limits it, is in it, or cannot read it.
    pub(super) fn server_throttled(pid: u32) -> Option<Throttled> {
        let group = cgroup::controller_of(&pid.to_string(), "cpu").ok()?;
        let is_limited_by_etalon = group.folders.iter().filter_map(|folder| folder.file_name()?.to_str());
        let is_limited_by_etalon = is_limited_by_etalon.into_iter().any(|name| name.starts_with("etalon-"));
        if is_limited_by_etalon || cgroup::own_controller("cpu").is_ok_and(|own| own == group) {
            return None;
        }
        let found = group.throttling().ok()?;
        Some(Throttled { quota_cores: group.cpu_quota_cores(), times: found.times, time_us: found.time_us })
    }

    /// How often the processors were slowed down for heat.
    pub(super) fn heat() -> Result<u64, String> {
        super::heat_under(Path::new("/sys/devices/system/cpu"))
    }

    /// Bytes swapped in and out since boot.
    pub(super) fn swapped_bytes() -> Result<u64, String> {
        let pages = super::swapped_pages(&text::read("/proc/vmstat")?);
        let pages = pages.ok_or("the kernel counts no swapping (pswpin and pswpout in /proc/vmstat)")?;
        Ok(pages * rustix::param::page_size() as u64)
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    /// Fails: there are no control groups here.
    pub(super) fn throttled() -> Result<super::Throttled, String> {
        Err("this operating system has no control groups".to_owned())
    }

    /// How often a server was throttled: not known here.
    pub(super) fn server_throttled(_: u32) -> Option<super::Throttled> {
        None
    }

    /// Fails: the heat of processors is read on Linux only.
    pub(super) fn heat() -> Result<u64, String> {
        Err("the throttling of hot processors is read on Linux only".to_owned())
    }

    #[cfg(windows)]
    pub(super) use crate::system::windows::power_plan as governor;

    /// Fails: the governor is not known here.
    #[cfg(not(windows))]
    pub(super) fn governor() -> Result<String, String> {
        Err("this operating system does not tell".to_owned())
    }

    /// Fails: swapping is counted on Linux only.
    pub(super) fn swapped_bytes() -> Result<u64, String> {
        Err("swapping is counted on Linux only".to_owned())
    }
}

/// Heat events of all cores and packages. A package counts once for each of its processors: only a difference means
/// something.
#[cfg(any(target_os = "linux", test))]
fn heat_under(cpus: &std::path::Path) -> Result<u64, String> {
    let names = std::fs::read_dir(cpus).map_err(|cause| format!("cannot list {}: {cause}", cpus.display()))?;
    let folders = names.filter_map(|name| Some(name.ok()?.path().join("thermal_throttle")));
    let counts: Vec<u64> = folders
        .flat_map(|folder| ["core_throttle_count", "package_throttle_count"].map(|name| folder.join(name)))
        .filter_map(|file| crate::system::text::read(file).ok()?.parse().ok())
        .collect();
    if counts.is_empty() {
        return Err(
            "the kernel does not count the throttling of hot processors here, as in most virtual machines".to_owned()
        );
    }
    Ok(counts.iter().sum())
}

#[cfg(any(target_os = "linux", test))]
fn swapped_pages(vmstat: &str) -> Option<u64> {
    let [swapped_in, swapped_out] =
        ["pswpin", "pswpout"].map(|key| crate::system::text::value_of_key(vmstat, key, ' ')?.parse::<u64>().ok());
    Some(swapped_in? + swapped_out?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_is_counted_over_all_processors() {
        let root = tempfile::tempdir().unwrap();
        assert!(heat_under(root.path()).unwrap_err().contains("virtual machines"));
        for (cpu, core, package) in [("cpu0", "3\n", "5\n"), ("cpu1", "0\n", "5\n")] {
            let folder = root.path().join(cpu).join("thermal_throttle");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("core_throttle_count"), core).unwrap();
            std::fs::write(folder.join("package_throttle_count"), package).unwrap();
        }
        std::fs::create_dir(root.path().join("cpufreq")).unwrap();
        assert_eq!(heat_under(root.path()), Ok(13));
    }

    #[test]
    fn swapping_goes_both_ways() {
        assert_eq!(swapped_pages("pgpgin 7\npswpin 12\npswpout 30\npgalloc_dma 1\n"), Some(42));
        assert_eq!(swapped_pages("pgpgin 7\n"), None, "a kernel without swap");
    }
}
