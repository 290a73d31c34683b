//! A log that a server wrote, replayed on two databases: an index that is missing, a row that differs, an error that is new.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::capture::{log_statements, pgbench};
use crate::scene::Scene;
use crate::server::ROLE;
use crate::server_changes::{Database, fresh_postgres, psql, wait_until};

const ORDERS: &str = "CREATE TABLE orders AS SELECT id, (id * 7919) % 5000 AS customer, id % 1000 AS amount, id % 30 AS day \
    FROM generate_series(1, 50000) id; CREATE INDEX by_customer ON orders (customer); \
    CREATE UNIQUE INDEX by_id ON orders (id); ANALYZE orders";
/// Two statements that read, and three that do not.
const TRAFFIC: &str = "\\set c random(1, 4000)\nSELECT count(*), sum(amount) FROM orders WHERE customer = :c;\n\
    SELECT day, count(*), sum(amount) FROM orders WHERE id <= 300 GROUP BY day ORDER BY day;\n\
    BEGIN;\nUPDATE orders SET amount = amount WHERE id = :c;\nEND;\n";
const CLIENTS: u64 = 3;
const TRANSACTIONS: u64 = 10;

/// A server with the orders in two databases, and the capture of a load of the first, `shop.capture`.
pub fn captured(scene: &Scene) -> Database {
    let mut server = fresh_postgres();
    ["a", "b"].into_iter().for_each(|database| psql(server.port, database, ORDERS));
    let logs = log_statements(&mut server);
    scene.write("traffic.sql", TRAFFIC);
    let script = scene.path().join("traffic.sql");
    for mode in ["simple", "prepared"] {
        let [clients, transactions] = [CLIENTS, TRANSACTIONS].map(|count| count.to_string());
        let script = script.to_str().unwrap();
        pgbench(&server, &["-n", "-c", &clients, "-t", &transactions, "-M", mode, "-f", script, "--random-seed=7"]);
    }
    psql(server.port, "a", "SELECT 'the end' FROM orders WHERE id = 1");
    wait_until("the log", || fs::read_to_string(logs.join("server.csv")).is_ok_and(|log| log.contains("'the end'")));
    server.restart(&[]);
    fs::copy(logs.join("server.csv"), scene.path().join("server.csv")).unwrap();
    scene.etalon(&["capture", "server.csv", "-o", "shop.capture"]).says(0, &[]);
    server
}

pub fn systems(server: &Database) -> [String; 2] {
    let url = |database| format!("postgres://{ROLE}@127.0.0.1:{}/{database}?sslmode=disable", server.port);
    [format!("old={}", url("a")), format!("new={}", url("b"))]
}

/// The name of the class that has this text.
pub fn class_name(scene: &Scene, text: &str) -> String {
    let shown: Value = serde_json::from_str(&scene.etalon(&["show", "shop.capture", "--json"]).stdout).unwrap();
    let classes = shown["classes"].as_array().unwrap();
    let found = classes.iter().find(|class| class["text"].as_str().unwrap().contains(text));
    found.unwrap_or_else(|| panic!("{text}: {shown}"))["name"].as_str().unwrap().to_owned()
}

pub fn store_in(scene: &Scene, folder: &str) -> PathBuf {
    let mut files = fs::read_dir(scene.path().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "etalon")).unwrap()
}

pub fn rows(scene: &Scene, folder: &str, more: &[&str]) -> Vec<Value> {
    let store = store_in(scene, folder);
    let shown = scene.etalon(&[&["compare", store.to_str().unwrap(), "--json"], more].concat());
    let value: Value = serde_json::from_str(&shown.stdout).unwrap();
    value["comparisons"].as_array().unwrap().clone()
}

/// The mean of a metric on the first system, which all runs must agree on.
pub fn count(rows: &[Value], metric: &str) -> u64 {
    let row = rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("{metric}: {rows:?}"));
    let [a, b] = ["a", "b"].map(|side| row[side]["estimate"].as_f64().unwrap_or_else(|| panic!("{row}")));
    assert_eq!(a, b, "{metric}");
    a as u64
}

#[test]
fn a_capture_is_replayed_and_the_class_without_its_index_is_first() {
    let scene = Scene::new();
    let server = captured(&scene);
    psql(server.port, "b", "DROP INDEX by_customer");
    let [old, new] = systems(&server);
    let ran = scene.etalon(&["run", &old, &new, "shop.capture", "--pace", "none", "--quiet", "-o", "out"]);
    ran.says(0, &[]);
    let first = ran.stdout.split("\n\n").next().unwrap().replace('\n', " ");
    // On a busy machine the others may be slower, too.
    let names_the_first = first.contains("shop on new against old: q0") && first.contains(" takes ");
    let are_all_slower = first.contains("slower in all of them") || first.contains("as long for shop as old");
    assert!(names_the_first || are_all_slower, "{}", ran.stdout);
    let all = rows(&scene, "out", &[]);
    let primary: Vec<&Value> = all.iter().filter(|row| row["role"] == "primary").collect();
    assert_eq!(primary[0]["metric"], "elapsed/all");
    let slower = primary[1];
    assert_eq!(slower["verdict"], "slower", "{slower}");
    let by_customer = class_name(&scene, "where customer = ?");
    assert_eq!(slower["metric"], format!("elapsed/{by_customer}").as_str());
    let counts = rows(&scene, "out", &["--metrics", "captured,executed,skipped,executions,errors,send_lag_p99"]);
    let executed = 2 * CLIENTS * TRANSACTIONS;
    assert_eq!(count(&counts, &format!("executions/{by_customer}")), executed);
    assert_eq!(count(&counts, &format!("errors/{by_customer}")), 0);
    assert_eq!(count(&counts, "executed"), 2 * executed + 1);
    assert_eq!(count(&counts, "skipped/writes"), executed);
    assert_eq!(count(&counts, "skipped/transaction"), 2 * executed);
    assert_eq!(count(&counts, "captured"), 5 * executed + 1);
    assert!(!ran.stdout.contains("the end"), "{}", ran.stdout);
}

#[test]
fn a_changed_row_and_a_new_error_are_named_without_a_verdict() {
    let scene = Scene::new();
    let server = captured(&scene);
    let [old, new] = systems(&server);
    let run = |folder: &str, more: &[&str]| {
        let short = ["run", &old, &new, "shop.capture", "--quiet", "--rounds", "2", "--set", "benchmarks.*.pace=4x"];
        scene.etalon(&[&short[..], &["-o", folder], more].concat())
    };
    let ran = run("alike", &[]);
    ran.says(0, &[]);
    assert!(ran.stdout.replace('\n', " ").contains("gave the same answers everywhere"), "{}", ran.stdout);
    psql(server.port, "b", "UPDATE orders SET amount = amount + 1 WHERE id = 69");
    let ran = run("other", &[]);
    let text = ran.stdout.replace('\n', " ");
    assert!(text.contains("gives another answer") && text.contains("answers differ"), "{}", ran.stdout);
    let gate = scene.etalon(&["gate", store_in(&scene, "other").to_str().unwrap()]);
    assert_eq!(gate.code, 1, "{}", gate.stdout);
    assert!(gate.stdout.contains("the runs gave several answers to q0"), "{}", gate.stdout);
    psql(
        server.port,
        "b",
        "UPDATE orders SET amount = amount - 1 WHERE id = 69; ALTER TABLE orders RENAME day TO days",
    );
    let ran = run("failed", &["--set", "benchmarks.*.compare_answers=false"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("60 of 60 executions failed: ") && text.contains("\"day\" does not exist"), "{text}");
    let gate = scene.etalon(&["gate", store_in(&scene, "failed").to_str().unwrap()]);
    assert_eq!(gate.code, 1, "{}", gate.stdout);
    let counts = rows(&scene, "failed", &["--metrics", "captured,executed,skipped"]);
    let sum = count(&counts, "executed") + count(&counts, "skipped/writes") + count(&counts, "skipped/transaction");
    assert_eq!(sum, count(&counts, "captured"));
}

#[test]
fn a_capture_is_shortened_and_says_what_that_drops() {
    let scene = Scene::new();
    let server = captured(&scene);
    let [old, _] = systems(&server);
    let run = |key: &str| {
        let set = format!("benchmarks.*.{key}");
        scene.etalon(&["run", &old, "shop.capture", "--pace", "none", "--rounds", "1", "--set", &set, "-o", "short"])
    };
    run("only=q99").says(2, &["it has no class `q99`"]);
    run("pace=fast").says(2, &["`fast` is no pace"]);
    run("from=9").says(2, &["`9` is no time of day", "`10:00:30`"]);
    run("database=c").says(2, &["it has no session of the database `c`, but of `a`"]);
    let ran = run("sessions=2");
    ran.says(0, &[]);
    let text = [ran.stdout, ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("of sessions beyond `sessions`"), "{text}");
    scene.etalon(&["capture", "server.csv", "-o", "redacted.capture", "--redact"]).says(0, &[]);
    scene.etalon(&["run", &old, "redacted.capture"]).says(2, &["its values were replaced by `--redact`"]);
    scene.etalon(&["run", &old, "--pace", "none"]).says(2, &["`--pace none` is about a capture"]);
    scene.etalon(&["run", &old, "shop.capture", "--clients", "3"]).says(2, &["leave `--clients`"]);
}
