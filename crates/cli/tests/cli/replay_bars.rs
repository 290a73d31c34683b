//! How often a replay finds what was changed, and finds nothing where nothing was.
//!
//! `ETALON_REPLAYS=30` sets the number of replays of each kind, which is printed with what they found.

use serde_json::Value;

use crate::kills::number;
use crate::replay::{captured, class_name, rows, systems};
use crate::scene::Scene;
use crate::server_changes::psql;
use crate::slow::is_slow;

/// Verdicts of the classes of a replay, by the metric, in the order of the report.
fn verdicts(scene: &Scene, name: &str, systems: &[&str], seed: u64) -> Vec<(String, Value)> {
    let (folder, seed) = (format!("{name}-{seed}"), format!("schedule.seed={seed}"));
    let words = ["shop.capture", "--pace", "none", "--quiet", "--set", &seed, "-o", &folder];
    let ran = scene.etalon(&[&["run"], systems, &words].concat());
    ran.says(0, &[]);
    let all = rows(scene, &folder, &[]);
    let judged = all.iter().filter(|row| row["role"] == "primary" && row["metric"] != "elapsed/all");
    judged.map(|row| (row["metric"].as_str().unwrap().to_owned(), row["verdict"].clone())).collect()
}

#[test]
fn replays_find_what_was_changed_and_nothing_else() {
    let replays = number("ETALON_REPLAYS").unwrap_or(if is_slow() { 30 } else { 1 });
    let scene = Scene::new();
    let server = captured(&scene);
    let [old, new] = systems(&server);
    let (mut judged, mut different, mut first, mut slower, mut found) = (0, 0, 0, 0, 0);
    for seed in 0..replays {
        let same = verdicts(&scene, "same", &[&old, &new], seed);
        judged += u64::from(same.iter().any(|(_, verdict)| verdict == "slower" || verdict == "faster"));
        different += u64::from(same.iter().any(|(_, verdict)| verdict.is_null()));
    }
    psql(server.port, "b", "UPDATE orders SET amount = amount + 1 WHERE id = 69");
    for seed in 0..replays {
        found += u64::from(verdicts(&scene, "row", &[&old, &new], seed).iter().any(|(_, verdict)| verdict.is_null()));
    }
    psql(server.port, "b", "UPDATE orders SET amount = amount - 1 WHERE id = 69");
    psql(server.port, "b", "DROP INDEX by_customer");
    let without_index = "elapsed/".to_owned() + &class_name(&scene, "where customer = ?");
    for seed in 0..replays {
        let all = verdicts(&scene, "index", &[&old, &new], seed);
        let (metric, verdict) = all.first().unwrap();
        first += u64::from(*metric == without_index);
        slower += u64::from(*metric == without_index && verdict == "slower");
    }
    // How many have a verdict depends on what else the machine does.
    println!(
        "of {replays} replays each: {judged} of equal sides judged a class, {different} claimed other answers; {found} found \
         the changed row; {first} had the class without its index first, {slower} as slower"
    );
    assert_eq!((different, found), (0, replays), "answers");
}
