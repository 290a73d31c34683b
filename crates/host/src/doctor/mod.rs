//! Whether this machine is fit for measuring.
//!
//! Every check says what it found, why that matters and, if possible, how to fix it. What a machine does not report is
//! [`Status::Unknown`] with the reason, never a pass.
//!
//! Conditions that may change during a run are judged by the same checks during each run: see [`disturbance_marks`].

mod during_run;
mod machine;
mod processor;
mod storage;

use std::path::Path;
use std::time::Duration;

use model::{Facts, Mark};

use crate::facts;
use crate::watch::{Measured, Watch, Watched};

/// Time to watch for other load.
const WATCH: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Good,
    /// It could not be found out.
    Unknown,
    /// May distort or scatter results.
    Warn,
    /// Results would not mean what they say.
    Bad,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Good => "good",
            Status::Unknown => "unknown",
            Status::Warn => "warn",
            Status::Bad => "bad",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub status: Status,
    pub found: String,
    pub why: String,
    /// Advice, if there is any.
    pub fix: Option<String>,
}

impl Check {
    fn new(name: &str, status: Status, found: impl Into<String>, why: &str) -> Check {
        Check { name: name.to_owned(), status, found: found.into(), why: why.to_owned(), fix: None }
    }

    /// Adds advice, unless nothing needs fixing.
    fn with_fix(self, fix: &str) -> Check {
        let fix = matches!(self.status, Status::Warn | Status::Bad).then(|| fix.to_owned());
        Check { fix, ..self }
    }

    /// `judge` sees what was read, if anything.
    fn from_reading<T>(
        name: &str,
        reading: Result<T, String>,
        why: &str,
        judge: impl FnOnce(T) -> (Status, String),
    ) -> Check {
        let (status, found) = reading.map_or_else(|reason| (Status::Unknown, reason), judge);
        Check::new(name, status, found, why)
    }
}

/// How étalon itself was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    Release,
    Debug,
}

impl Build {
    /// How this étalon was built.
    pub fn of_this_program() -> Build {
        if cfg!(debug_assertions) { Build::Debug } else { Build::Release }
    }
}

/// Checks the machine and the filesystem of each named path. Watches other load for a second, and syncs a temporary
/// file in each existing path.
pub fn check_all(paths: &[(&str, &Path)], build: Build) -> Vec<Check> {
    let facts = facts::client_facts(&[]);
    let watch = Watch::start(&Measured::default());
    std::thread::sleep(WATCH);
    let watched = watch.stop();
    let mut checks = vec![machine::check_build(build)];
    checks.extend(processor::check_settings(&facts));
    checks.extend(processor::check_clock(&facts));
    checks.push(processor::check_load(&facts));
    checks.extend(during_run::run_findings(&watched).into_iter().map(|finding| finding.check));
    checks.push(machine::check_huge_pages(&facts));
    checks.extend(machine::check_surroundings(&facts));
    for (name, path) in paths {
        checks.extend(storage::check_storage(name, path));
    }
    checks
}

/// Checks that are bad before anything runs, from facts that were just taken: it takes no time.
pub fn bad_at_once(facts: &Facts) -> Vec<Check> {
    let now = crate::watch::State::now(&[]);
    let all = [processor::check_load(facts), machine::check_memory(now.memory), machine::check_power(now.power)];
    all.into_iter().filter(|check| check.status == Status::Bad).collect()
}

/// Disturbances of a run, in the same words as the checks, for its marks.
pub fn disturbance_marks(watched: &Watched) -> Vec<Mark> {
    let disturbing = during_run::run_findings(watched).into_iter().filter(|finding| finding.disturbs);
    disturbing.map(|finding| Mark::new(finding.kind, finding.check.found)).collect()
}

/// A fact's value, or why it could not be read.
fn fact_reading(facts: &Facts, name: &str) -> Result<String, String> {
    facts.entries.get(name).map_or_else(|| Err(format!("{name} is not among the facts")), |fact| fact.reading.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_looked_at_and_explained() {
        let base = std::env::temp_dir();
        let checks = check_all(&[("data", &base)], Build::Release);
        for name in [
            "build",
            "cpu governor",
            "cpu boost",
            "smt",
            "clock source",
            "clock step",
            "load",
            "other load",
            "steal",
            "cpu throttling",
            "heat",
            "scanners, backups and updates",
            "memory",
            "swap",
            "transparent huge pages",
            "open files",
            "power",
            "virtualisation",
            "other databases",
            "antivirus",
            "backups",
            "left behind",
            "data: backing",
            "data: free space",
            "data: sync",
        ] {
            let check = checks.iter().find(|check| check.name == name);
            let check = check.unwrap_or_else(|| panic!("{name} is missing"));
            assert!(!check.found.is_empty() && !check.why.is_empty(), "{check:?}");
            assert!(check.fix.is_none() || check.status >= Status::Warn, "{check:?}");
        }
    }

    #[test]
    fn a_reason_is_unknown_and_not_good() {
        let check = Check::from_reading("x", Err::<(), _>("no such file".to_owned()), "why", |()| {
            (Status::Good, String::new())
        });
        assert_eq!((check.status, check.found.as_str()), (Status::Unknown, "no such file"));
        assert_eq!(check.with_fix("y").fix, None);
    }
}
