//! The systemd units of `deploy/systemd`, as systemd reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// systemd's exposure score of at most 10.0; 2.0 is better than most units that it ships.
const MOST_EXPOSED: f64 = 2.0;
const UNITS: [&str; 2] = ["etalon-agent.service", "etalon-nats.service"];

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/systemd")
}

/// `None` with a message if skipped.
fn analyze(args: &[&str]) -> Option<Output> {
    match Command::new("systemd-analyze").args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: systemd-analyze: {error}");
            None
        }
    }
}

/// A copy of a unit with local program paths.
fn with_programs_of_here(unit: &str, folder: &TempDir) -> PathBuf {
    let text = fs::read_to_string(deploy().join(unit)).unwrap();
    let text = text.replace("/usr/local/bin/etalon", env!("CARGO_BIN_EXE_etalon"));
    let text = text.replace("/usr/sbin/nats-server", &crate::nats::program().display().to_string());
    let file = folder.path().join(unit);
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let folder = tempfile::tempdir().unwrap();
    for unit in UNITS {
        let file = with_programs_of_here(unit, &folder);
        let Some(output) = analyze(&["verify", "--man=no", file.to_str().unwrap()]) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        // Remarks on other units do not matter.
        let own: Vec<&str> = said.lines().filter(|line| line.contains(unit)).collect();
        assert!(output.status.success() && own.is_empty(), "{unit}: {said}");
    }
}

#[test]
fn systemd_would_find_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let file = with_programs_of_here(UNITS[0], &folder);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes")).unwrap();
    let Some(output) = analyze(&["verify", "--man=no", file.to_str().unwrap()]) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("NoNewPrivilege"), "{said}");
}

#[test]
fn the_units_are_confined() {
    let folder = tempfile::tempdir().unwrap();
    for unit in UNITS {
        let file = with_programs_of_here(unit, &folder);
        let args = ["security", "--offline=true", "--no-pager", file.to_str().unwrap()];
        let Some(output) = analyze(&args) else { return };
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() && text.is_empty() {
            return println!("skipped: this systemd does not judge a unit that is not installed");
        }
        let judged = text.lines().find_map(|line| line.split_once("Overall exposure level for"));
        let (_, judged) = judged.unwrap_or_else(|| panic!("{unit}: {text}"));
        let level: f64 = judged.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
        assert!(level <= MOST_EXPOSED, "{unit}: {level}\n{text}");
    }
}

/// Every variable of the unit's command is set by it or in the shipped `agent.env`.
#[test]
fn the_agents_environment_is_complete() {
    let unit = fs::read_to_string(deploy().join("etalon-agent.service")).unwrap();
    let env = fs::read_to_string(deploy().join("agent.env")).unwrap();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let names = command.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches('{');
        &rest[..rest.find(|c: char| c != '_' && !c.is_ascii_uppercase()).unwrap_or(rest.len())]
    });
    let mut count = 0;
    for name in names {
        let set = format!("{name}=");
        let in_unit = unit.lines().any(|line| line.strip_prefix("Environment=").is_some_and(|l| l.contains(&set)));
        let in_env = env.lines().any(|line| line.starts_with(&set));
        assert!(in_unit || in_env || name == "CREDENTIALS_DIRECTORY", "{name}");
        count += 1;
    }
    assert_eq!(count, 4, "{command}");
}
