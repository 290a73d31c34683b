//! Real servers, real verdicts.

use crate::scene::Scene;
use crate::server::{ROLE, Server};

/// Two private servers: one waits for 10 ms and the disk at every commit, the other for neither. That is more than any
/// noise of a busy machine.
#[test]
fn postgresql_that_does_not_wait_at_commit_is_faster() {
    let scene = Scene::new();
    scene.write(
        "p.toml",
        r#"
        allow_unequal_durability = true
        [systems.sync]
        server = { engine = "postgres" }
        settings = { commit_delay = 10000, commit_siblings = 0 }
        [systems.async]
        server = { engine = "postgres" }
        settings = { synchronous_commit = "off" }
        [[benchmarks]]
        workload = "transactions"
        script = "tpcb-like"
        clients = 1
        [schedule]
        rounds = 6
        warmup = "200ms"
        duration = "800ms"
        "#,
    );
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let throughput =
        object["comparisons"].as_array().unwrap().iter().find(|row| row["metric"] == "throughput").unwrap();
    assert_eq!(throughput["verdict"], "faster", "{throughput}");
}

/// One hot row for twenty clients. B gives up after 2 ms of waiting: what it finishes is quick, but that is no gain.
#[test]
fn a_side_that_gives_up_is_not_faster_for_it() {
    let server = Server::start(&[]);
    let scene = Scene::new();
    let url = format!("postgres://{ROLE}@/postgres?host={}", server.folder().display());
    let plan = format!(
        r#"
        [systems.patient]
        url = "{url}"
        [systems.hasty]
        url = "{url}"
        settings = {{ lock_timeout = "2ms" }}
        [[benchmarks]]
        workload = "transactions"
        script = "tpcb-like"
        scale = 1
        clients = 20
        [schedule]
        rounds = 6
        warmup = "100ms"
        duration = "1s"
        "#
    );
    scene.write("p.toml", &plan);
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let row = |metric: &str| {
        let rows = object["comparisons"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("{metric}: {}", ran.stdout))
    };
    let share = row("failed_share");
    assert_eq!((share["a"]["mean"].as_f64(), share["verdict"].as_str()), (Some(0.0), Some("slower")), "{share}");
    assert!(share["ratio"].is_null() && share["difference"].as_f64() > Some(1.0), "{share}");
    let p99 = row("response_p99");
    assert!(p99["verdict"].is_null(), "{p99}");
    assert!(p99["no_verdict"].as_str().unwrap().contains("of the operations of B in a run did not succeed"), "{p99}");
    assert!(row("throughput")["failed"]["b"].as_f64() > Some(0.01));
    let shown = scene.etalon(&["compare", scene.store().to_str().unwrap()]);
    let line = |name: &str| {
        let lines = shown.stdout.lines().skip_while(|line| !line.contains(name)).take(2);
        lines.collect::<Vec<_>>().join(" ")
    };
    assert!(line("throughput").contains("A 0, B "), "{}", shown.stdout);
    assert!(line("failed share").contains(" more"), "{}", shown.stdout);
    assert!(line("response p99").contains("% of B failed"), "{}", shown.stdout);
    let gate = scene.etalon(&["gate", scene.store().to_str().unwrap()]);
    assert_eq!(gate.code, 1, "{}{}", gate.stdout, gate.stderr);
    assert!(gate.stdout.contains("regressed") && !gate.stdout.contains("gate passed"), "{}", gate.stdout);
}
