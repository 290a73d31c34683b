//! What the verdicts on a folder of queries are worth, measured on a private PostgreSQL: whether the query that lost its index comes
//! first, whether a changed row is found in every run, and whether a change that is made and undone says the same as two copies.
//!
//! Every run of the tests does one experiment of each; with `ETALON_SLOW=1` as many as `ETALON_EXPERIMENTS` says.

use std::fmt::Write as _;
use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::queries::SHORT;
use crate::scene::Scene;
use crate::server_changes::{Database, fresh_postgres, postgres_url, psql};
use crate::slow::is_slow;

const QUERIES: usize = 20;
const ROUNDS: usize = 6;

fn experiments(slow: usize) -> usize {
    let asked = std::env::var("ETALON_EXPERIMENTS").ok().and_then(|count| count.parse().ok());
    if is_slow() { asked.unwrap_or(slow) } else { 1 }
}

/// Draws from a seed, evenly.
fn drawn(seed: usize, below: usize) -> usize {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize % below
}

/// Twenty tables of 50,000 rows with an index each, alike in both databases, and the folder of queries for 20 rows of each.
fn twenty_tables(scene: &Scene) -> Database {
    let server = fresh_postgres();
    let mut sql = String::new();
    fs::create_dir(scene.path().join("sql")).unwrap();
    for number in 1..=QUERIES {
        let _ = write!(
            sql,
            "CREATE TABLE t{number} AS SELECT i AS id, i * 7 % 2500 AS k, i * 37 % 1000 AS amount FROM generate_series(1, 50000) i; \
             CREATE INDEX i{number} ON t{number} (k); ANALYZE t{number};"
        );
        let text = format!("SELECT id, amount FROM t{number} WHERE k = {} ORDER BY id", 150 + number);
        fs::write(scene.path().join(format!("sql/q{number:02}.sql")), text).unwrap();
    }
    for database in ["a", "b"] {
        psql(server.port, database, &sql);
    }
    server
}

/// Runs the folder and gives the comparison and its text.
fn compare(scene: &Scene, systems: &[String], seed: usize, more: &[&str]) -> (Value, String) {
    let folder = scene.path().join("out");
    let _ = fs::remove_dir_all(&folder);
    let (rounds, seed) = (format!("schedule.rounds={ROUNDS}"), format!("schedule.seed={seed}"));
    let mut args = vec!["run", "--json", "sql/", "-o", "out", "--set", &rounds, "--set", &seed];
    args.extend(systems.iter().map(String::as_str).chain(SHORT).chain(more.iter().copied()));
    let ran = scene.etalon(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    (serde_json::from_str(&ran.stdout).unwrap(), ran.stderr)
}

fn both_copies(server: &Database) -> [String; 2] {
    ["a", "b"].map(|name| format!("{name}={}", postgres_url(server.port, name)))
}

/// The queries with their verdicts, in the order of the table.
fn verdicts(value: &Value) -> Vec<(String, String)> {
    let rows = value["comparisons"].as_array().unwrap().iter();
    let of_queries = rows.filter_map(|row| {
        let query = row["metric"].as_str()?.strip_prefix("elapsed/q")?;
        Some((format!("q{query}"), row["verdict"].as_str().unwrap_or("none").to_owned()))
    });
    of_queries.collect()
}

#[test]
fn the_query_that_lost_its_index_comes_first() {
    let scene = Scene::new();
    let server = twenty_tables(&scene);
    let (count, mut first, mut slower, mut others) = (experiments(60), 0, 0, Vec::new());
    for seed in 0..count {
        let number = 1 + drawn(seed, QUERIES);
        psql(server.port, "b", &format!("DROP INDEX i{number}"));
        let (value, _) = compare(&scene, &both_copies(&server), seed, &[]);
        psql(server.port, "b", &format!("CREATE INDEX i{number} ON t{number} (k)"));
        let found = verdicts(&value);
        assert_eq!(found.len(), QUERIES, "{found:?}");
        let name = format!("q{number:02}");
        first += usize::from(found[0].0 == name);
        slower += usize::from(found.contains(&(name.clone(), "slower".to_owned())));
        others.extend(found.into_iter().filter(|(query, verdict)| *query != name && verdict == "slower"));
    }
    println!(
        "{count} experiments: the query without its index was the first line in {first} and slower in {slower}; {} of the other {} were \
         slower: {others:?}",
        others.len(),
        count * (QUERIES - 1)
    );
    assert!(100 * first >= 99 * count, "first in {first} of {count}");
    assert!(others.len() * 20 <= count * (QUERIES - 1) + 20, "{others:?}");
}

#[test]
fn a_changed_row_is_found_in_every_run() {
    let scene = Scene::new();
    let server = twenty_tables(&scene);
    let count = experiments(20);
    let mut found = 0;
    for seed in 0..count {
        let number = 1 + drawn(seed, QUERIES);
        // 7 × 2143 is 1 more than a multiple of 2,500.
        let row = 2143 * (150 + number) % 2500 + 2500 * (seed % 20);
        psql(server.port, "b", &format!("UPDATE t{number} SET amount = amount + 1 WHERE id = {row}"));
        let (value, _) = compare(&scene, &both_copies(&server), seed, &[]);
        psql(server.port, "b", &format!("UPDATE t{number} SET amount = amount - 1 WHERE id = {row}"));
        let without: Vec<String> =
            verdicts(&value).into_iter().filter(|(_, verdict)| verdict == "none").map(|(query, _)| query).collect();
        assert_eq!(without, [format!("q{number:02}")], "seed {seed}");
        let mut files = fs::read_dir(scene.path().join("out")).unwrap().map(|entry| entry.unwrap().path());
        let store = files.find(|path| path.extension().is_some_and(|ending| ending == "etalon")).unwrap();
        let sql =
            "SELECT count(*), coalesce(min(unavailable), '') FROM measurements WHERE metric = ?1 AND absence = 'wrong'";
        let metric = format!("answer/q{number:02}");
        let (runs, reason): (i64, String) =
            Connection::open(store).unwrap().query_row(sql, [&metric], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(reason.contains(" and not ("), "{reason}");
        found += usize::from(runs == ROUNDS as i64);
    }
    println!("{count} experiments: a changed row was found in each of {ROUNDS} runs in {found}");
    assert_eq!(found, count);
}

#[test]
fn a_change_says_the_same_as_two_copies() {
    let scene = Scene::new();
    let server = twenty_tables(&scene);
    let (count, mut first, mut same, mut unlike) = (experiments(10), 0, 0, Vec::new());
    for seed in 0..count {
        let number = 1 + drawn(seed, QUERIES);
        psql(server.port, "b", &format!("DROP INDEX i{number}"));
        let (copies, _) = compare(&scene, &both_copies(&server), seed, &[]);
        let create = format!("CREATE INDEX i{number} ON t{number} (k)");
        psql(server.port, "b", &create);
        let (change, undo) = (format!("DROP INDEX i{number}"), format!("{create}; ANALYZE t{number}"));
        let one = [postgres_url(server.port, "a")];
        let (changed, _) = compare(&scene, &one, seed, &["--change", &change, "--undo", &undo]);
        let (copies, changed) = (verdicts(&copies), verdicts(&changed));
        first += usize::from([&copies, &changed].iter().all(|found| found[0].0 == format!("q{number:02}")));
        if copies[0] == changed[0] {
            same += 1;
        } else {
            unlike.push((copies[0].clone(), changed[0].clone()));
        }
    }
    println!(
        "{count} experiments: the first line was the query without its index both ways in {first}, with the same verdict in {same}; unlike: \
         {unlike:?}"
    );
    assert!(first == count && 10 * same >= 8 * count, "{first} and {same} of {count}");
}
