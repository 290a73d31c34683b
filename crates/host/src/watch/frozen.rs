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

        /// Tests whether a freezer holds a process now.
        pub(in crate::watch) fn hold(&self, pid: u32) -> bool {
            let Ok(groups) = text::read(format!("/proc/{pid}/cgroup")) else { return false };
            [Version::One, Version::Two]
                .into_iter()
                .filter_map(|version| groups_of(&self.0, &groups, version, "freezer"))
                .any(|group| is_frozen(&group))
        }
    }

    fn is_frozen(group: &Controller) -> bool {
        let Some(folder) = group.folders.first() else { return false };
        match group.version {
            Version::One => text::read(folder.join("freezer.state")).is_ok_and(|state| state == "FROZEN"),
            Version::Two => text::read(folder.join("cgroup.events"))
                .is_ok_and(|events| events.lines().any(|line| line == "frozen 1")),
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

        /// Tests whether a freezer holds a process: there are none here.
        pub(in crate::watch) fn hold(&self, _pid: u32) -> bool {
            false
        }
    }
}
