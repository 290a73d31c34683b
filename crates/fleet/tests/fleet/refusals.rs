//! Plans and agents that are refused, and the names of the refusals.

use std::time::Duration;

use conductor::ExperimentError;
use fleet::AgentOptions;
use load::observer::Silent;

use crate::scene::Nats;
use crate::stored::create;

const PLAN: &str = "[systems.s]\nurl = \"URL\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-only\"\n\
                    clients_on = \"a\"\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"100ms\"\n";

#[test]
fn another_version_is_refused_by_name() {
    let Some(nats) = Nats::start() else { return };
    let _agent = nats.agent_with("a", |options| AgentOptions { version: "9.9.9".to_owned(), ..options });
    let plan = nats.plan(&PLAN.replace("URL", "sim:"));
    let refused = nats.fleet(&plan, "test").err().unwrap().to_string();
    assert!(refused.contains("`a`") && refused.contains("9.9.9"), "{refused}");
    let listed = fleet::list_agents(&nats.server()).unwrap();
    assert_eq!(listed[0].info.version, "9.9.9");
    let clock = listed[0].clock.unwrap();
    // The monotonic clocks of two hosts began at different times; the agent here has this host's time of day.
    assert!(clock.round_trip_ns > 0 && clock.day_offset_ms.abs() < 1_000, "{clock:?}");
}

#[test]
fn two_agents_of_one_name_are_refused() {
    let Some(nats) = Nats::start() else { return };
    let plan = nats.plan(&PLAN.replace("URL", "sim:"));
    let _first = nats.agent("a");
    {
        let _second = nats.agent("a");
        let refused = nats.fleet(&plan, "test").err().unwrap().to_string();
        assert!(refused.contains("more than one agent there is called `a`"), "{refused}");
    }
    drop(nats.fleet(&plan, "test").unwrap());
}

#[test]
fn a_version_has_the_commit_that_was_built() {
    let package = env!("CARGO_PKG_VERSION");
    let build = fleet::protocol::VERSION.strip_prefix(package).unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return assert_eq!(build, "", "a package without git has its version alone");
    }
    let commit = build.strip_prefix('+').unwrap().split('.').next().unwrap();
    assert!(commit.len() >= 8 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{build}");
}

#[test]
fn an_agent_that_does_not_come_is_waited_for_no_longer_than_the_plan_says() {
    let Some(nats) = Nats::start() else { return };
    let plan = nats.plan(&PLAN.replace("URL", "sim:"));
    let started = std::time::Instant::now();
    let refused = nats.fleet(&plan, "test").err().unwrap().to_string();
    assert!(refused.contains("the agent `a`"), "{refused}");
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(3) && waited < Duration::from_secs(15), "{waited:?}");
}

#[test]
fn what_was_not_allowed_is_not_reached() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _agent = nats.agent("a");
    let text = PLAN.replace("URL", "sqlite:/etc/etalon-test.db").replace("clients_on = \"a\"\n", "");
    let plan = nats.plan(&text.replace("[[benchmarks]]", "host = \"a\"\n[[benchmarks]]"));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let error = nats.conduct(&plan, &mut store, &mut Silent).unwrap_err();
    let ExperimentError::System { failure, .. } = error else { panic!("{error}") };
    assert_eq!(failure.kind, load::error::FailureKind::Permission);
    assert!(failure.hint.unwrap().contains("--allow-dir /etc"));
}
