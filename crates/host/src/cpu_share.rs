//! What processor time another process may get: its cores, its priority, and its control group's weight and quota.

/// Says what processor time a process of this machine may get: `cores 0-1`, and behind it what is unusual, as in
/// `cores 0-1, nice 19, weight 2 of 1024, at most 0.30 cores`.
///
/// # Errors
/// The operating system does not report it of this process.
pub fn describe_cpu_share(process: u32) -> Result<String, String> {
    os::describe_cpu_share(process)
}

#[cfg(target_os = "linux")]
mod os {
    use crate::system::{cgroup, text};

    pub(super) fn describe_cpu_share(process: u32) -> Result<String, String> {
        let status = text::read(format!("/proc/{process}/status"))?;
        let cores = text::value_of_key(&status, "Cpus_allowed_list", ':')
            .ok_or_else(|| "the kernel does not say which cores it may run on".to_owned())?;
        let stat = text::read(format!("/proc/{process}/stat"))?;
        let group = cgroup::controller_of(&process.to_string(), "cpu").map(|group| group.cpu_limits());
        share_text(cores.trim(), &stat, &group.unwrap_or_default())
    }

    /// Joins what was read of a process: the kernel's list of cores, the line of its `stat`, and what its control group allows.
    pub(super) fn share_text(cores: &str, stat: &str, group: &[String]) -> Result<String, String> {
        // The name in brackets may have spaces and brackets; nice is the 19th field, the 17th behind it.
        let behind_name = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let nice: i32 = behind_name
            .split_whitespace()
            .nth(16)
            .and_then(|field| field.parse().ok())
            .ok_or_else(|| "the kernel does not say how nice it is".to_owned())?;
        let nice = (nice != 0).then(|| format!("nice {nice}"));
        let parts = [format!("cores {cores}")].into_iter().chain(nice).chain(group.iter().cloned());
        Ok(parts.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    pub(super) fn describe_cpu_share(_: u32) -> Result<String, String> {
        Err("what processor time another process may get is read on Linux only".to_owned())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::describe_cpu_share;
    use super::os::share_text;

    #[test]
    fn only_what_is_unusual_follows_the_cores() {
        let stat = |nice: i32| format!("7 (a) b (c) S 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 {nice} 1 0 5\n");
        assert_eq!(share_text("0-1", &stat(0), &[]).unwrap(), "cores 0-1");
        let group = ["weight 2 of 1024".to_owned(), "at most 0.30 cores".to_owned()];
        let said = share_text("0", &stat(19), &group).unwrap();
        assert_eq!(said, "cores 0, nice 19, weight 2 of 1024, at most 0.30 cores");
        assert!(share_text("0", "7 (a", &[]).is_err());
    }

    #[test]
    fn a_process_says_its_own_share() {
        let mut child = std::process::Command::new("nice").args(["-n", "7", "sleep", "30"]).spawn().unwrap();
        let wait = std::time::Instant::now();
        let said = loop {
            let said = describe_cpu_share(child.id()).unwrap();
            if said.contains("nice 7") || wait.elapsed().as_secs() > 10 {
                break said;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(said.starts_with("cores ") && said.contains(", nice 7"), "{said}");
    }
}
