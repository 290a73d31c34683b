//! What verdicts are worth, measured: how often one system on both sides is called different, and how often a side that is
//! 3 % slower is found.
//!
//! On a simulated server every run of the tests does a few experiments; `ETALON_SLOW=1` does those on a private PostgreSQL too,
//! as many as `ETALON_EXPERIMENTS` says, and prints the power curve over several noises.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::scene::Scene;
use crate::server::{ROLE, Server, programs};
use crate::slow::is_slow;

fn verdicts(scene: &Scene, arguments: &[&str]) -> Vec<(String, String)> {
    let ran = scene.etalon(&[&["--json", "--quiet", "run", "plan.toml", "--yes"], arguments].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rows = told["comparisons"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let primary = rows.filter(|row| row["role"] == "primary");
    primary.map(|row| (word(&row["metric"]), word(&row["verdict"]))).collect()
}

fn experiments(slow: u32, usual: u32) -> u32 {
    let asked = std::env::var("ETALON_EXPERIMENTS").ok().and_then(|count| count.parse().ok());
    if is_slow() { asked.unwrap_or(slow) } else { usual }
}

/// 5 % and two standard errors.
fn most(rows: usize) -> f64 {
    0.05 * rows as f64 + 2.0 * (0.05 * 0.95 * rows as f64).sqrt()
}

/// A difference equal to the margin may be called equivalent, so the margin is 1 %.
fn plan(systems: &str, rounds: u32, seed: u32, length: &str) -> String {
    format!(
        "margin = \"1%\"\n{systems}\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"b.sql\"\ntables = \"none\"\n\n\
         [schedule]\nblocks = {rounds}\nseed = {seed}\n{length}\n"
    )
}

/// How many experiments call B slower by throughput.
fn found(scene: &Scene, experiments: u32, plan: impl Fn(u32) -> String) -> u32 {
    let is_found = |seed: u32| {
        scene.write("plan.toml", &plan(seed));
        verdicts(scene, &[]).contains(&("throughput".to_owned(), "slower".to_owned()))
    };
    (1..=experiments).map(|seed| u32::from(is_found(seed))).sum()
}

#[test]
fn a_simulated_slow_down_of_three_percent_is_found() {
    let scene = Scene::new();
    scene.write("b.sql", "SELECT 1;\n");
    let count = experiments(50, 8);
    // A run's deviation, and the share to be found: 80 % where 10 rounds allow it.
    let points: &[(f64, f64)] = if is_slow() {
        &[(0.002, 0.8), (0.005, 0.8), (0.01, 0.8), (0.015, 0.8), (0.02, 0.0), (0.03, 0.0), (0.05, 0.0)]
    } else {
        &[(0.01, 0.8)]
    };
    let mut curve = String::new();
    for (noise, least) in points {
        let systems = format!(
            "[systems.a]\nurl = \"sim:?service_us=1000&spread=0.2&noise={noise}\"\n[systems.b]\nurl = \"sim:?service_us=1030&spread=0.2&noise={noise}\"\n"
        );
        let times = found(&scene, count, |seed| plan(&systems, 10, seed, "warmup = \"0s\"\nduration = \"1s\""));
        let _ = writeln!(curve, "| {:.1} % | {times} of {count} |", 100.0 * noise);
        assert!(f64::from(times) >= least * f64::from(count), "noise {noise}: {times} of {count}");
    }
    println!("{curve}");
}

/// A run of a second has about the 1,000 operations that a p99 takes, so chance decides which runs have one.
#[test]
fn the_gate_of_one_simulated_server_passes_near_the_limit() {
    let system = |name: &str| format!("[systems.{name}]\nurl = \"sim:?service_us=1000&spread=0.2&noise=0.01\"\n");
    let systems = system("a") + &system("b");
    let (count, mut failed, mut without) = (experiments(200, 6), 0, 0);
    for seed in 1..=count {
        let scene = Scene::new();
        scene.write("b.sql", "SELECT 1;\n");
        scene.write("plan.toml", &plan(&systems, 10, seed, "warmup = \"0s\"\nduration = \"1s\""));
        let ran = scene.etalon(&["--quiet", "run", "plan.toml", "--yes"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let store = scene.store();
        let gate = scene.etalon(&["gate", store.to_str().unwrap(), "--max-regression", "5%"]);
        without += u32::from(gate.stdout.contains("it takes 1 000 operations"));
        failed += u32::from(gate.code != 0);
    }
    println!("near 1,000 operations: the gate failed {failed} of {count}, p99 was n/a in {without}");
    assert!(without > 0 && 20 * failed <= count, "{failed} of {count}, n/a in {without}");
}

fn server() -> Server {
    let server = Server::start(&[]);
    let ask = |database: &str, sql: &str| {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", ROLE, "-d", database, "-c", sql, "-h"]);
        assert!(psql.arg(server.folder()).status().unwrap().success());
    };
    ask("postgres", "CREATE DATABASE slow");
    for (database, rows) in [("postgres", 20_000), ("slow", 20_600)] {
        let body = format!("SELECT count(*) FROM generate_series(1, {rows})");
        ask(database, &format!("CREATE FUNCTION work() RETURNS bigint LANGUAGE sql VOLATILE AS '{body}'"));
    }
    server
}

fn systems(server: &Server, database_of_b: &str) -> String {
    let url = |database: &str| format!("postgres://{ROLE}@/{database}?host={}", server.folder().display());
    format!("[systems.a]\nurl = \"{}\"\n[systems.b]\nurl = \"{}\"\n", url("postgres"), url(database_of_b))
}

#[test]
fn one_server_on_both_sides_is_seldom_called_different() {
    if !is_slow() {
        return println!("skipped: ETALON_SLOW=1 runs it");
    }
    let server = server();
    let scene = Scene::new();
    scene.write("b.sql", "SELECT work();\n");
    let (count, mut rows, mut alarms) = (experiments(100, 0), 0, Vec::new());
    for seed in 1..=count {
        scene.write(
            "plan.toml",
            &plan(&systems(&server, "postgres"), 6, seed, "warmup = \"50ms\"\nduration = \"500ms\""),
        );
        let found = verdicts(&scene, &[]);
        rows += found.len();
        alarms.extend(found.into_iter().filter(|(_, verdict)| verdict == "faster" || verdict == "slower"));
    }
    println!("{count} experiments, {rows} primary rows, {} called different: {alarms:?}", alarms.len());
    assert!(rows >= count as usize && alarms.len() as f64 <= most(rows), "{alarms:?}");
}

#[test]
fn a_statement_that_takes_three_percent_longer_is_found() {
    if !is_slow() {
        return println!("skipped: ETALON_SLOW=1 runs it");
    }
    let server = server();
    let scene = Scene::new();
    scene.write("b.sql", "SELECT work();\n");
    let count = experiments(50, 0);
    let times =
        found(&scene, count, |seed| plan(&systems(&server, "slow"), 10, seed, "warmup = \"100ms\"\nduration = \"1s\""));
    println!("{times} of {count} found");
    // The machine's noise decides whether 10 rounds are enough, so the figure is only printed.
    assert!(times > 0, "none of {count} found");
}
