//! This process's control group: its limits, and whether it was throttled.
//!
//! Version 2 (`cpu.max`, `memory.max`) and version 1 (`cpu.cfs_quota_us`) are read. Any group above may set a limit;
//! the tightest counts. See Documentation/admin-guide/cgroup-v2.rst.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere only the tests of its parsers use it"))]

use std::path::{Path, PathBuf};

use super::mounts::{Mount, parse_mountinfo};
use super::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// One hierarchy per controller.
    One,
    Two,
}

/// The folders from this process's group up to the visible root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Controller {
    pub(crate) version: Version,
    /// The process's nearest group first.
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Throttling {
    pub(crate) times: u64,
    pub(crate) time_us: u64,
}

/// The control groups of this process for a controller.
pub(crate) fn own_controller(controller: &str) -> Result<Controller, String> {
    controller_of("self", controller)
}

/// `process` is a pid, `self`, or `thread-self` for the calling thread alone.
pub(crate) fn controller_of(process: &str, controller: &str) -> Result<Controller, String> {
    let mounts = parse_mountinfo(&text::read("/proc/self/mountinfo")?);
    let groups = text::read(format!("/proc/{process}/cgroup"))?;
    locate_groups(&mounts, &groups, controller)
        .ok_or_else(|| format!("no control group with the {controller} controller is mounted"))
}

/// Finds the controller's groups in `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn locate_groups(mounts: &[Mount], groups: &str, controller: &str) -> Option<Controller> {
    groups_of(mounts, groups, Version::One, controller).or_else(|| groups_of(mounts, groups, Version::Two, controller))
}

/// The controller's groups in the hierarchies of one version.
pub(crate) fn groups_of(mounts: &[Mount], groups: &str, version: Version, controller: &str) -> Option<Controller> {
    let (group, mount) = match version {
        Version::One => {
            let of_it =
                |mount: &&Mount| mount.kind == "cgroup" && mount.options.iter().any(|option| option == controller);
            let group = group_of(groups, |names| names.split(',').any(|name| name == controller))?;
            (group, mounts.iter().find(of_it)?)
        }
        Version::Two => (group_of(groups, str::is_empty)?, mounts.iter().find(|mount| mount.kind == "cgroup2")?),
    };
    Some(Controller { version, folders: group_folders(mount, group) })
}

/// The path of the first group whose list of controllers is the wanted one.
fn group_of(groups: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        is_wanted(controllers).then_some(path)
    })
}

/// Lists the folders from the group's up to the mount point. In a container without a cgroup namespace the path is the
/// host's and
/// the mount shows a part: that part is cut off.
fn group_folders(mount: &Mount, group: &str) -> Vec<PathBuf> {
    let inside = Path::new(group).strip_prefix(&mount.root).or_else(|_| Path::new(group).strip_prefix("/"));
    let nearest = inside.map_or_else(|_| mount.mount_point.clone(), |inside| mount.mount_point.join(inside));
    let visible = nearest.ancestors().take_while(|folder| folder.starts_with(&mount.mount_point));
    visible.map(Path::to_owned).collect()
}

impl Controller {
    /// `None` is no limit.
    pub(crate) fn cpu_quota_cores(&self) -> Option<f64> {
        let quotas = self.folders.iter().filter_map(|folder| match self.version {
            Version::Two => parse_cpu_max(&text::read(folder.join("cpu.max")).ok()?),
            Version::One => {
                let quota_us = text::read(folder.join("cpu.cfs_quota_us")).ok()?;
                parse_cpu_max(&format!("{quota_us} {}", text::read(folder.join("cpu.cfs_period_us")).ok()?))
            }
        });
        quotas.min_by(f64::total_cmp)
    }

    pub(crate) fn memory_limit_bytes(&self) -> Option<u64> {
        self.folders.iter().filter_map(|folder| self.memory_limit_of(folder)).min()
    }

    /// Bytes left until the tightest limit; cached file pages count as free, since the kernel reclaims them first.
    /// `None` is no
    /// limit.
    pub(crate) fn memory_left_bytes(&self) -> Option<u64> {
        let name = match self.version {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        };
        let left = self.folders.iter().filter_map(|folder| {
            let limit = self.memory_limit_of(folder)?;
            let used: u64 = text::read(folder.join(name)).ok()?.parse().ok()?;
            let cached = cached_bytes(self.version, &text::read(folder.join("memory.stat")).unwrap_or_default());
            Some(limit.saturating_sub(used.saturating_sub(cached)))
        });
        left.min()
    }

    fn memory_limit_of(&self, folder: &Path) -> Option<u64> {
        let name = match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        parse_memory_max(&text::read(folder.join(name)).ok()?)
    }

    /// Says which weights and which quota the group and those above have, where they are not the usual ones.
    pub(crate) fn cpu_limits(&self) -> Vec<String> {
        let (file, usual) = match self.version {
            Version::One => ("cpu.shares", 1024),
            Version::Two => ("cpu.weight", 100),
        };
        let weights =
            self.folders.iter().filter_map(|folder| text::read(folder.join(file)).ok()?.trim().parse::<u64>().ok());
        let unusual = weights.filter(|weight| *weight != usual).map(|weight| format!("weight {weight} of {usual}"));
        unusual.chain(self.cpu_quota_cores().map(|cores| format!("at most {cores:.2} cores"))).collect()
    }

    /// Throttling of the group and those above. In version 2 a group counts only if its parent delegates the
    /// controller.
    pub(crate) fn throttling(&self) -> Result<Throttling, String> {
        let nearest = self.folders.first().ok_or("the control group has no folder")?;
        let path = nearest.join("cpu.stat");
        text::read(&path)?;
        let counted =
            self.folders.iter().filter_map(|folder| parse_cpu_stat(&text::read(folder.join("cpu.stat")).ok()?));
        counted
            .reduce(|a, b| Throttling { times: a.times + b.times, time_us: a.time_us + b.time_us })
            .ok_or_else(|| format!("neither {} nor one above counts throttling", path.display()))
    }
}

/// `200000 100000` is two cores; `max 100000`, or `-1 100000` in version 1, is no limit.
fn parse_cpu_max(line: &str) -> Option<f64> {
    let (quota_us, period_us) = line.split_once(' ')?;
    let (quota_us, period_us): (f64, f64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

/// Version 1 writes the largest multiple of a page for "no limit".
fn parse_memory_max(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&bytes: &u64| bytes < 1 << 60)
}

/// File pages in `memory.stat`, without shared memory. Version 1 has other names for the hierarchical sums.
fn cached_bytes(version: Version, stat: &str) -> u64 {
    let keys = match version {
        Version::One => ["total_active_file", "total_inactive_file"],
        Version::Two => ["active_file", "inactive_file"],
    };
    keys.iter().filter_map(|key| text::value_of_key(stat, key, ' ')?.parse::<u64>().ok()).sum()
}

fn parse_cpu_stat(stat: &str) -> Option<Throttling> {
    let number = |key: &str| text::value_of_key(stat, key, ' ')?.parse::<u64>().ok();
    let time_us = number("throttled_usec").or_else(|| number("throttled_time").map(|ns| ns / 1000))?;
    Some(Throttling { times: number("nr_throttled")?, time_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_in_cores() {
        assert_eq!(parse_cpu_max("200000 100000"), Some(2.0));
        assert_eq!(parse_cpu_max("max 100000"), None);
        assert_eq!(parse_cpu_max("-1 100000"), None);
        assert_eq!(parse_memory_max("max"), None);
        assert_eq!(parse_memory_max("9223372036854771712"), None);
        assert_eq!(parse_memory_max("536870912"), Some(512 << 20));
    }

    #[test]
    fn throttling_is_read_from_both_versions() {
        let two = "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500\n";
        assert_eq!(parse_cpu_stat(two), Some(Throttling { times: 3, time_us: 1500 }));
        let one = "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000\n";
        assert_eq!(parse_cpu_stat(one), Some(Throttling { times: 3, time_us: 1500 }));
        assert_eq!(parse_cpu_stat("usage_usec 5\n"), None, "the controller is off");
    }

    /// A version 2 group below another, with some files of each.
    fn two_levels(nearest: &[(&str, &str)], above: &[(&str, &str)]) -> (tempfile::TempDir, Controller) {
        let root = tempfile::tempdir().unwrap();
        let slice = root.path().join("a.slice");
        let scope = slice.join("b.scope");
        std::fs::create_dir_all(&scope).unwrap();
        for (folder, files) in [(&scope, nearest), (&slice, above)] {
            files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
        }
        let folders = vec![scope, slice, root.path().to_owned()];
        (root, Controller { version: Version::Two, folders })
    }

    #[test]
    fn limits_of_a_group_above_hold_one_that_has_no_controller() {
        let stat = "anon 100\nfile 300\nshmem 50\nactive_file 200\ninactive_file 50\n";
        let (_root, group) = two_levels(
            &[("cpu.stat", "usage_usec 5\n")],
            &[
                ("cpu.max", "50000 100000\n"),
                ("cpu.stat", "usage_usec 9\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500\n"),
                ("memory.max", "1000\n"),
                ("memory.current", "400\n"),
                ("memory.stat", stat),
            ],
        );
        assert_eq!(group.cpu_quota_cores(), Some(0.5));
        assert_eq!(group.throttling(), Ok(Throttling { times: 3, time_us: 1500 }));
        assert_eq!(group.memory_limit_bytes(), Some(1000));
        assert_eq!(group.memory_left_bytes(), Some(850), "the kernel takes cached pages back");
    }

    #[test]
    fn the_tightest_group_decides_the_memory_left() {
        fn files(max: &'static str, current: &'static str) -> [(&'static str, &'static str); 2] {
            [("memory.max", max), ("memory.current", current)]
        }
        let (_root, group) = two_levels(&files("500", "100"), &files("1000", "900"));
        assert_eq!((group.memory_limit_bytes(), group.memory_left_bytes()), (Some(500), Some(100)));
        let (_root, free) = two_levels(&files("max", "100"), &[("cpu.stat", "usage_usec 5\n")]);
        assert_eq!((free.memory_limit_bytes(), free.memory_left_bytes()), (None, None));
        assert!(free.throttling().unwrap_err().contains("cannot read"), "{:?}", free.throttling());
        let one = cached_bytes(Version::One, "inactive_file 1\ntotal_inactive_file 20\ntotal_active_file 3\n");
        assert_eq!(one, 23);
    }

    #[test]
    fn the_unified_hierarchy_is_found() {
        let mounts = parse_mountinfo("31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
        let found = locate_groups(&mounts, "0::/user.slice/a.scope\n", "cpu").unwrap();
        assert_eq!(found.version, Version::Two);
        let expected = ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"];
        assert_eq!(found.folders, expected.map(PathBuf::from));
    }

    #[test]
    fn a_container_of_version_one_sees_its_part() {
        let mounts = parse_mountinfo("32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
        let found = locate_groups(&mounts, "4:cpu,cpuacct:/docker/abc\n0::/\n", "cpu").unwrap();
        assert_eq!((found.version, found.folders), (Version::One, vec![PathBuf::from("/sys/fs/cgroup/cpu")]));
        assert_eq!(locate_groups(&mounts, "4:cpu,cpuacct:/docker/abc\n", "memory"), None);
    }
}
