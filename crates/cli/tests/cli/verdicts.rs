//! Real servers, real verdicts.

use crate::scene::Scene;

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
        blocks = 6
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
