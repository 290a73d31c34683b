//! Whether a control group's freezer holds a process: what stands still so is in no state that the process table shows.
//! See Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, and `cgroup.freeze` in Documentation/admin-guide/cgroup-v2.rst.

pub(super) use os::Freezers;

#[cfg(target_os = "linux")]
mod os {
    use crate::system::cgroup::{Controller, Version, groups_of};
    use crate::system::mounts::{Mount, parse_mountinfo};
    use crate::system::text;

    /// The places where freezers are seen. A process may be put into another group, so its groups are asked for at each look.
    #[derive(Debug)]
    pub(in crate::watch) struct Freezers(Vec<Mount>);

    impl Freezers {
        pub(in crate::watch) fn of_this_machine() -> Freezers {
            let mounts = text::read("/proc/self/mountinfo").map(|mounts| parse_mountinfo(&mounts)).unwrap_or_default();
            Freezers(mounts.into_iter().filter(|mount| mount.kind.starts_with("cgroup")).collect())
        }

        pub(in crate::watch) fn hold(&self, pid: u32) -> bool {
            let Ok(groups) = text::read(format!("/proc/{pid}/cgroup")) else { return false };
            let of = |version| groups_of(&self.0, &groups, version, "freezer");
            [of(Version::One), of(Version::Two)].into_iter().flatten().any(|group| is_frozen(&group))
        }
    }

    fn is_frozen(group: &Controller) -> bool {
        let Some(folder) = group.folders.first() else { return false };
        let read = |name: &str| text::read(folder.join(name)).unwrap_or_default();
        match group.version {
            Version::One => read("freezer.state") == "FROZEN",
            Version::Two => read("cgroup.events").lines().any(|line| line == "frozen 1"),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    #[derive(Debug)]
    pub(in crate::watch) struct Freezers;

    impl Freezers {
        pub(in crate::watch) fn of_this_machine() -> Freezers {
            Freezers
        }

        pub(in crate::watch) fn hold(&self, _pid: u32) -> bool {
            false
        }
    }
}
