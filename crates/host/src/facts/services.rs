//! Other programs that disturb a benchmark: databases, scanners, backups.

use model::{Facts, Nature};

use crate::process;
use crate::system::{ProcessEntry, os};

/// Names of databases' processes.
const DATABASES: [&str; 25] = [
    "postgres",
    "postmaster",
    "mysqld",
    "mariadbd",
    "mongod",
    "mongos",
    "redis-server",
    "valkey-server",
    "keydb-server",
    "sqlservr",
    "tnslsnr",
    "oracle",
    "clickhouse-server",
    "clickhouse",
    "memcached",
    "etcd",
    "cockroach",
    "influxd",
    "db2sysc",
    "firebird",
    "cassandra",
    "scylla",
    "tidb-server",
    "tikv-server",
    "neo4j",
];
/// Names of scanners' processes, with endpoint protection.
const ANTIVIRUS: [&str; 34] = [
    "clamd",
    "freshclam",
    "clamonacc",
    "falcon-sensor",
    "falcond",
    "CSFalconService",
    "mdatp",
    "wdavdaemon",
    "wdavdaemon_enterprise",
    "MsMpEng",
    "MsSense",
    "sentinelone",
    "sentinelone-agent",
    "sentineld",
    "SentinelAgent",
    "savd",
    "sav-protect",
    "sophosd",
    "SophosScanD",
    "sophos_threat_detector",
    "ds_agent",
    "ds_am",
    "xagt",
    "cbagentd",
    "cbdaemon",
    "esets",
    "esets_daemon",
    "oaeventd",
    "mfetpd",
    "McShield",
    "kesl",
    "avguard",
    "bdsecd",
    "cylancesvc",
];
/// Names of backups' processes, with synchronisation.
const BACKUPS: [&str; 15] = [
    "bacula-fd",
    "bacula-sd",
    "bareos-fd",
    "restic",
    "borg",
    "duplicity",
    "rsync",
    "rclone",
    "veeamservice",
    "dsmc",
    "dsmcad",
    "pgbackrest",
    "barman",
    "backupd",
    "syncthing",
];
/// Names of processes that start work by themselves, index or collect.
const BACKGROUND: [&str; 23] = [
    "cron",
    "crond",
    "atd",
    "anacron",
    "updatedb",
    "plocate",
    "mlocate",
    "unattended-upgr",
    "packagekitd",
    "snapd",
    "apt-daily",
    "dnf-automatic",
    "tracker-miner-f",
    "mds",
    "mds_stores",
    "mdworker",
    "SearchIndexer",
    "fwupd",
    "osqueryd",
    "auditd",
    "puppet",
    "chef-client",
    "salt-minion",
];

/// Installers of updates, by process name.
const UPDATES: [&str; 14] = [
    "unattended-upgr",
    "apt",
    "apt-get",
    "aptitude",
    "dpkg",
    "dnf",
    "yum",
    "zypper",
    "rpm",
    "pacman",
    "packagekitd",
    "TiWorker",
    "TrustedInstaller",
    "softwareupdated",
];

/// A kind of process that disturbs a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Database servers that étalon did not start.
    Databases,
    Antivirus,
    Backups,
    Updates,
    Background,
}

impl Kind {
    /// Names of the programs of this kind.
    fn process_names(self) -> &'static [&'static str] {
        match self {
            Kind::Databases => &DATABASES,
            Kind::Antivirus => &ANTIVIRUS,
            Kind::Backups => &BACKUPS,
            Kind::Updates => &UPDATES,
            Kind::Background => &BACKGROUND,
        }
    }

    /// Says that no process of the kind runs, as far as their names are known.
    pub(crate) fn none_found(self) -> String {
        format!("none found among {} known names", self.process_names().len())
    }

    /// Tests whether a process is of this kind.
    pub(crate) fn has_process(self, process: &str) -> bool {
        self.process_names().iter().any(|name| is_named(process, name))
    }
}

/// All processes but étalon's own.
pub(crate) fn other_processes() -> Result<Vec<ProcessEntry>, String> {
    let own_tree = process::tree_pids(std::process::id()).unwrap_or_default();
    Ok(os::processes()?.into_iter().filter(|entry| !own_tree.contains(&entry.pid)).collect())
}

/// The programs of a kind among processes, with their number.
pub(crate) fn names_among(kind: Kind, processes: &[ProcessEntry]) -> Vec<String> {
    let found = kind.process_names().iter().filter_map(|name| {
        let count = processes.iter().filter(|entry| is_named(&entry.name, name)).count();
        match count {
            0 => None,
            1 => Some((*name).to_owned()),
            _ => Some(format!("{name} ×{count}")),
        }
    });
    found.collect()
}

/// Linux cuts names to 15 bytes, and Windows ignores case.
fn is_named(process: &str, name: &str) -> bool {
    const CUT: usize = 15;
    let is_cut = process.len() == CUT && name.len() > CUT;
    let name = if is_cut { &name[..CUT] } else { name };
    if cfg!(windows) { process.eq_ignore_ascii_case(name) } else { process == name }
}

/// Adds `services.*` and `antivirus`. All but the antivirus are passing: cron jobs come and go, and a private server
/// that survived a crash must not stop a resume.
pub(crate) fn add_services(facts: &mut Facts) {
    facts.insert("services.running", running_units(), Nature::Passing);
    let others = other_processes();
    let reading = |kind: Kind| match &others {
        Ok(others) => {
            let found = names_among(kind, others);
            Ok(if found.is_empty() { kind.none_found() } else { found.join(", ") })
        }
        Err(reason) => Err(reason.clone()),
    };
    facts.insert("services.databases", reading(Kind::Databases), Nature::Passing);
    facts.insert("services.backups", reading(Kind::Backups), Nature::Passing);
    facts.insert("services.background", reading(Kind::Background), Nature::Passing);
    // Without counts, since scanners start helpers freely.
    let antivirus = reading(Kind::Antivirus).map(|found| {
        found.split(", ").map(|name| name.split(" ×").next().unwrap_or(name)).collect::<Vec<_>>().join(", ")
    });
    facts.insert("antivirus", antivirus, Nature::Identity);
}

/// Number and names of the services that systemd runs.
#[cfg(target_os = "linux")]
fn running_units() -> Result<String, String> {
    if !std::path::Path::new("/run/systemd/system").exists() {
        return Err("systemd does not run here".to_owned());
    }
    let args = ["list-units", "--type=service", "--state=running", "--plain", "--no-legend", "--no-pager"];
    Ok(parse_units(&crate::system::command::output_of("systemctl", &args)?))
}

/// Number and names of the services that run.
#[cfg(windows)]
fn running_units() -> Result<String, String> {
    let names = crate::system::windows::running_services()?;
    Ok(format!("{}: {}", names.len(), names.join(", ")))
}

/// Fails: services are not listed here.
#[cfg(not(any(target_os = "linux", windows)))]
fn running_units() -> Result<String, String> {
    Err("services are listed where systemd runs, and on Windows, only".to_owned())
}

#[cfg(any(target_os = "linux", test))]
fn parse_units(listing: &str) -> String {
    let units = listing.lines().filter_map(|line| line.split_whitespace().next());
    let units: Vec<&str> = units.map(|unit| unit.trim_end_matches(".service")).collect();
    format!("{}: {}", units.len(), units.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::system::{Life, ProcessName, ProcessNature};

    fn named(name: &str) -> ProcessEntry {
        ProcessEntry {
            pid: 7,
            parent: 1,
            name: ProcessName::new(name),
            started: 1,
            cpu: Duration::ZERO,
            life: Life::Running,
            nature: ProcessNature::Program,
        }
    }

    #[test]
    fn names_are_known_even_cut() {
        let processes = ["postgres", "postgres", "clickhouse-serv", "postgresql-watcher", "bash"].map(named);
        assert_eq!(names_among(Kind::Databases, &processes), ["postgres ×2", "clickhouse-server"]);
        assert!(names_among(Kind::Antivirus, &processes).is_empty());
        assert_eq!(names_among(Kind::Antivirus, &[named("wdavdaemon"), named("sophos_threat_d")]).len(), 2);
    }

    #[test]
    fn units_lose_their_ending() {
        let listing =
            "cron.service loaded active running Regular background\nssh.service loaded active running OpenBSD\n";
        assert_eq!(parse_units(listing), "2: cron, ssh");
        assert_eq!(parse_units(""), "0: ");
    }

    #[test]
    fn this_process_is_not_another() {
        assert!(other_processes().unwrap().iter().all(|entry| entry.pid != std::process::id()));
        let mut facts = Facts::default();
        add_services(&mut facts);
        assert!(facts.get("antivirus").is_some());
    }
}
