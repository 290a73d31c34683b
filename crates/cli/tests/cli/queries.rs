//! Queries of a folder on tables that are there: each has a row of its own, and an answer that is compared before it is timed.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::Value;

use crate::scene::Scene;
use crate::server::ROLE;
use crate::server_changes::{
    Address, Database, assert_told, fresh_postgres, mariadb, mariadb_sql, mariadb_with, postgres_url, psql,
    psql_command,
};

/// Orders with numbers, texts, days and missing values, in SQL that all engines read.
pub fn orders() -> String {
    let mut sql = String::from(
        "CREATE TABLE orders (id integer PRIMARY KEY, customer integer, amount decimal(10, 2), name varchar(20), day date);",
    );
    for id in 1..=400 {
        let name = if id % 7 == 0 { "NULL".to_owned() } else { format!("'n{}'", id % 13) };
        let (customer, cents, day) = (id % 20, id * 37 % 1000, id % 28 + 1);
        let _ = write!(sql, "INSERT INTO orders VALUES ({id}, {customer}, {cents}.50, {name}, '2026-02-{day:02}');");
    }
    sql
}

const QUERIES: [(&str, &str); 5] = [
    ("q1", "SELECT count(*), sum(amount), min(name), max(day) FROM orders WHERE customer = 7"),
    ("q2", "SELECT name, count(*), avg(amount) FROM orders GROUP BY name"),
    ("q10", "-- name: last\n-- expect-rows: 3\nSELECT id, amount, name FROM orders ORDER BY id DESC LIMIT 3;"),
    ("q11", "SELECT sum(amount * 1.1) FROM orders; SELECT count(*) FROM orders WHERE name IS NULL"),
    (
        "q12",
        "WITH busy AS (SELECT customer FROM orders WHERE amount > 300) SELECT customer, count(*) FROM busy GROUP BY customer",
    ),
];

pub const SHORT: [&str; 5] = ["--quiet", "--set", "schedule.duration=200ms", "--set", "schedule.warmup=0s"];

fn with_queries(queries: &[(&str, &str)]) -> Scene {
    let scene = Scene::new();
    fs::create_dir(scene.path().join("sql")).unwrap();
    for (name, sql) in queries {
        fs::write(scene.path().join("sql").join(format!("{name}.sql")), sql).unwrap();
    }
    scene
}

fn sqlite(scene: &Scene, name: &str, sql: &str) {
    Connection::open(scene.path().join(name)).unwrap().execute_batch(sql).unwrap();
}

/// The rows of a comparison by metric.
fn rows(scene: &Scene, store: &str) -> Value {
    serde_json::from_str(&scene.etalon(&["compare", store, "--json"]).stdout).unwrap()
}

fn store_in(scene: &Scene, folder: &str) -> PathBuf {
    let mut files = fs::read_dir(scene.path().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "etalon")).unwrap()
}

/// The plan by which a system answered a query.
fn plan_of<'v>(value: &'v Value, system: &str, query: &str) -> &'v str {
    let mut plans = value["query_plans"].as_array().unwrap().iter();
    let plan = plans.find(|plan| plan["system"] == system && plan["query"] == query).unwrap();
    plan["plan"].as_str().unwrap_or_else(|| panic!("{plan}"))
}

/// Servers with the orders, and SQLite's, PostgreSQL's and MariaDB's words for `etalon run`.
fn with_orders(scene: &Scene) -> ((Database, Database), [String; 3]) {
    let (postgres, mariadb) = (fresh_postgres(), mariadb());
    psql(postgres.port, "a", &orders());
    mariadb_sql(&mariadb, &format!("USE a; {}", orders()));
    sqlite(scene, "own.db", &orders());
    let systems = [
        format!("lite=sqlite:{}", scene.path().join("own.db").display()),
        format!("pg=postgres://{ROLE}@127.0.0.1:{}/a?sslmode=disable", postgres.port),
        format!("my=mariadb://t@127.0.0.1:{}/a?ssl-mode=disabled", mariadb.port),
    ];
    ((postgres, mariadb), systems)
}

#[test]
fn answers_of_three_engines_are_compared_and_the_row_that_differs_is_shown() {
    let scene = with_queries(&QUERIES);
    let ((postgres, mariadb), systems) = with_orders(&scene);
    let run = |systems: &[String], more: &[&str]| {
        let systems = systems.iter().map(String::as_str);
        let args: Vec<&str> = ["run"].into_iter().chain(systems).chain(SHORT).chain(more.iter().copied()).collect();
        scene.etalon(&args)
    };
    let text = run(&systems, &["sql/", "-o", "alike"]).stdout;
    for name in ["q1", "q2", "last", "q11", "q12", "all"] {
        assert!(text.contains(&format!("elapsed {name}")), "{name}: {text}");
    }
    assert!(!text.contains("wrong") && !text.contains("n/a"), "{text}");
    assert!(text.replace('\n', " ").contains("All 5 queries gave the same answers everywhere."), "{text}");
    let value = rows(&scene, store_in(&scene, "alike").to_str().unwrap());
    for (system, start) in
        [("lite", "SCAN orders"), ("pg", "Limit\n  ->  "), ("my", "1 SIMPLE orders: index, key PRIMARY (4)")]
    {
        let plan = plan_of(&value, system, "last");
        assert!(plan.starts_with(start) && !plan.contains("cost") && !plan.contains("400"), "{system}: {plan}");
        // A plan for each statement.
        assert_eq!(plan_of(&value, system, "q11").split("\n\n").count(), 2);
    }
    let differs = value["comparisons"].as_array().unwrap().iter().map(|row| &row["plan_differs"]);
    assert!(differs.clone().count() > 0 && differs.clone().all(Value::is_null), "of different products");
    // No engine's own tables were made.
    psql(postgres.port, "a", "DO $$ BEGIN ASSERT to_regnamespace('etalon') IS NULL; END $$");
    mariadb_sql(&mariadb, "USE a; UPDATE orders SET amount = amount + 1 WHERE id = 27");
    let text = run(&systems[1..], &["--queries", "sql/q1.sql,sql/q10.sql", "-o", "other"]).stdout;
    assert!(text.contains("q1 gives another answer"), "{text}");
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let [old, new] = [10_790, 10_791].map(|sum| format!("(20, {sum}, 'n0', '2026-02-28')"));
    // Whichever side was asked first; both are timed.
    assert!(said.contains(&format!("{old} and not {new}")) || said.contains(&format!("{new} and not {old}")), "{text}");
    assert!(said.contains("answers differ") && !said.contains("n/a"), "{text}");
    let gate = scene.etalon(&["gate", store_in(&scene, "other").to_str().unwrap()]);
    assert_eq!(gate.code, 1, "{}", gate.stderr);
    assert!(
        gate.stdout.contains("failed") && gate.stdout.contains("the runs gave several answers to q1"),
        "{}",
        gate.stdout
    );
}

#[test]
fn what_may_change_something_is_refused_before_a_run_and_by_the_session() {
    let scene = with_queries(&[("bad", "DELETE FROM orders")]);
    let postgres = fresh_postgres();
    psql(postgres.port, "a", &orders());
    let url = format!("postgres://{ROLE}@127.0.0.1:{}/a?sslmode=disable", postgres.port);
    let refused = scene.etalon(&["run", &url, "sql", "--quiet"]);
    refused.says(2, &["`sql/bad.sql`", "`DELETE` may change something, and queries only read", "--script FILE"]);
    assert!(!scene.path().join("etalon-results").exists(), "{}", refused.stderr);
    let hidden = "WITH gone AS (DELETE FROM orders RETURNING id) SELECT count(*) FROM gone";
    fs::write(scene.path().join("sql/bad.sql"), hidden).unwrap();
    let args: Vec<&str> = ["run", url.as_str(), "sql", "--quick"].into_iter().chain(SHORT).collect();
    let ran = scene.etalon(&args);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("in a read-only transaction [SQLSTATE 25006]"), "{text}");
    psql(postgres.port, "a", "DO $$ BEGIN ASSERT (SELECT count(*) FROM orders) = 400; END $$");
}

#[test]
fn a_query_that_lost_its_index_stands_in_the_first_sentence() {
    let scene = with_queries(&[
        ("by-customer", "SELECT sum(amount) FROM orders WHERE customer = 7"),
        ("per-day", "SELECT day, count(*) FROM orders GROUP BY day"),
    ]);
    let many = "CREATE TABLE orders (id integer PRIMARY KEY, customer integer, amount real, day text); \
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                INSERT INTO orders SELECT i, i * 7919 % 5000, i % 1000, i % 365 FROM n;";
    sqlite(&scene, "new.db", many);
    sqlite(&scene, "old.db", &format!("{many} CREATE INDEX by_customer ON orders (customer)"));
    let args: Vec<&str> = ["run", "sqlite:old.db", "sqlite:new.db", "sql"].into_iter().chain(SHORT).collect();
    let text = scene.etalon(&args).stdout;
    let first = text.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(first.contains("sql on new against old: by-customer takes about"), "{text}");
    let value = rows(&scene, scene.store().to_str().unwrap());
    assert!(text.contains("note: the plan of by-customer differs: `etalon report"), "{text}");
    assert_eq!(plan_of(&value, "new", "by-customer"), "SCAN orders");
    assert_eq!(plan_of(&value, "old", "by-customer"), "SEARCH orders USING INDEX by_customer (customer=?)");
    assert_eq!(plan_of(&value, "old", "per-day"), plan_of(&value, "new", "per-day"));
    let verdicts: Vec<(&str, &str)> = value["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["role"] == "primary")
        .map(|row| (row["metric"].as_str().unwrap(), row["verdict"].as_str().unwrap_or("none")))
        .collect();
    assert!(verdicts.contains(&("elapsed/by-customer", "slower")), "{verdicts:?}");
    assert!(!verdicts.contains(&("elapsed/per-day", "slower")), "{verdicts:?}");
}

#[test]
fn a_plan_of_queries_goes_on_with_the_files_it_was_begun_with() {
    let scene = with_queries(&[("one", "SELECT 1"), ("two.sqlite", "SELECT 2"), ("two.pg", "SELECT pg_sleep(0)")]);
    sqlite(&scene, "a.db", "CREATE TABLE t (a)");
    let plan = scene.etalon(&["init", "sqlite:a.db", "sql", "-o", "plan.toml"]);
    plan.says(0, &[]);
    let text = fs::read_to_string(scene.path().join("plan.toml")).unwrap();
    assert!(text.contains("workload = \"queries\"") && text.contains("files = \"sql\""), "{text}");
    let shown = scene.etalon(&["plan", "plan.toml"]);
    assert!(shown.stdout.contains("nothing: the benchmarks work on the tables that are there"), "{}", shown.stdout);
    scene.etalon(&["run", "plan.toml", "--quick", "--quiet"]).says(0, &[]);
    fs::write(scene.path().join("sql/one.sql"), "SELECT 3").unwrap();
    let store = scene.store();
    let resumed = scene.etalon(&["extend", store.to_str().unwrap(), "--rounds", "2", "--quiet"]);
    assert_ne!(resumed.code, 0, "{}", resumed.stdout);
    assert!(resumed.stderr.contains("sql/one.sql"), "{}", resumed.stderr);
}

/// The seconds of a query's executions in a run, and how often it was asked there.
fn time_and_executions(scene: &Scene, folder: &str, query: &str) -> (f64, f64) {
    let store = Connection::open(store_in(scene, folder)).unwrap();
    let one = |metric: &str| -> f64 {
        let sql = "SELECT value FROM measurements WHERE metric = ?1";
        store.query_row(sql, [format!("{metric}/{query}")], |row| row.get(0)).unwrap()
    };
    (one("elapsed"), one("executions"))
}

#[test]
fn queries_are_asked_with_empty_caches_where_they_can_be_emptied() {
    let scene = with_queries(&[("one", "SELECT max(name) FROM orders WHERE id = 77")]);
    sqlite(&scene, "a.db", &orders());
    for (folder, caches) in [("warm", "schedule.caches=warmed"), ("cold", "schedule.caches=cold")] {
        let args = ["run", "sqlite:a.db", "sql/", "-o", folder, "--set", "schedule.rounds=1", "--set", caches];
        scene.etalon(&[&args, &SHORT[..]].concat()).says(0, &[]);
    }
    let [(warm_ms, _), (cold_ms, executions)] =
        ["warm", "cold"].map(|folder| time_and_executions(&scene, folder, "one"));
    assert!(cold_ms > 1.5 * warm_ms && executions >= 1.0, "{warm_ms} and {cold_ms} ms in {executions} executions");
    let server = fresh_postgres();
    let url = postgres_url(server.port, "a");
    for verb in ["plan", "run"] {
        let refused = scene.etalon(&[verb, &url, "sql/", "--quiet", "--set", "schedule.caches=cold"]);
        refused.says(3, &["étalon can empty the caches only of a server that it has started itself, and of SQLite"]);
    }
}

#[test]
fn a_query_ends_at_its_timeout_and_the_others_go_on() {
    let numbers =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT count(*) FROM n";
    let scene = with_queries(&[
        ("quick", "SELECT count(*) FROM orders"),
        ("slow", "-- timeout: 300ms\nSELECT pg_sleep(20)"),
        ("slow.mysql", "-- timeout: 300ms\nSELECT 1;\nSELECT count(*) FROM orders WHERE sleep(1) = 2"),
        ("slow.sqlite", &format!("-- timeout: 300ms\n{numbers}")),
        ("enough", "-- timeout: 1h\nSELECT max(id) FROM orders"),
    ]);
    let (_servers, systems) = with_orders(&scene);
    for (index, system) in systems.iter().enumerate() {
        let name = format!("s{index}");
        let args: Vec<&str> = ["run", system, "sql/", "--rounds", "1", "-o", &name].into_iter().chain(SHORT).collect();
        let ran = scene.etalon(&args);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("it took longer than its timeout, 300 ms: "), "{system}: {text}");
        let has_figure = |query: &str| {
            let line = ran.stdout.lines().find(|line| line.contains(&format!("elapsed {query}")));
            line.is_some_and(|line| !line.contains("failed"))
        };
        assert!(has_figure("quick") && has_figure("enough") && !has_figure("slow"), "{}", ran.stdout);
    }
}

#[test]
fn parameters_are_drawn_alike_and_their_answers_compared() {
    let sql = "SELECT count(*), sum(amount) FROM orders WHERE customer = :customer AND (name <> :name OR name IS NULL)";
    let scene = with_queries(&[("of", &format!("-- parameters: of.csv\n{sql}"))]);
    let rows: String = (0..20).map(|customer| format!("{customer},n{customer}\\'\n")).collect();
    fs::write(scene.path().join("sql/of.csv"), format!("customer,name\n{rows}")).unwrap();
    let ((_postgres, mariadb), [_, pg, my]) = with_orders(&scene);
    let run = |store: &str| {
        let args: Vec<&str> = ["run", &pg, &my, "sql", "--rounds", "2", "-o", store].into_iter().chain(SHORT).collect();
        scene.etalon(&args).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = run("alike");
    assert!(text.contains("The query gave the same answer everywhere."), "{text}");
    // Customer 7, whose answer is not that of the first row.
    mariadb_sql(&mariadb, "USE a; UPDATE orders SET amount = amount + 1 WHERE id = 27");
    let text = run("other");
    assert!(text.contains("with customer = 7, name = ") && text.contains("and not (20, "), "{text}");
    fs::write(scene.path().join("sql/of.csv"), "customer,name\n1\n").unwrap();
    let refused = scene.etalon(&["run", &pg, "sql", "--quiet"]);
    refused.says(2, &["read the parameters `sql/of.csv`", "line 2: 1 fields, and the header names 2"]);
}

#[test]
fn a_cache_of_results_is_found_and_no_cache_is_not() {
    let scene = with_queries(&[
        ("long", "SELECT customer, count(*), sum(amount) FROM orders GROUP BY customer"),
        ("short", "SELECT max(id) FROM orders -- the last"),
    ]);
    for (settings, is_cached) in [
        (&["--query-cache-type=1", "--query-cache-size=4M"][..], true),
        (&["--query-cache-type=1", "--query-cache-size=4M", "--query-cache-strip-comments=1"], true),
        (&["--query-cache-type=0", "--query-cache-size=0"], false),
    ] {
        let server = mariadb_with(settings);
        mariadb_sql(&server, &format!("USE a; {}", orders()));
        let url = format!("mariadb://t@127.0.0.1:{}/a?ssl-mode=disabled", server.port);
        let folder = format!("{}-settings-{is_cached}", settings.len());
        let folder = folder.as_str();
        let args: Vec<&str> =
            ["run", &url, "sql", "--aa", "--rounds", "6", "-o", folder].into_iter().chain(SHORT).collect();
        let text = scene.etalon(&args).stdout;
        assert_eq!(text.contains("answered by a cache"), is_cached, "{text}");
        let value = rows(&scene, store_in(&scene, folder).to_str().unwrap());
        let rows = value["comparisons"].as_array().unwrap().iter().filter(|row| row["role"] == "primary");
        let reasons: Vec<&str> = rows.map(|row| row["no_verdict"].as_str().unwrap_or_default()).collect();
        // A busy machine hides the difference in one of the runs now and then.
        let counts = ["in 10 runs", "in 11 runs", "in 12 runs"];
        let names_cache = |reason: &&&str| {
            reason.ends_with("and not the engine") && counts.iter().any(|count| reason.contains(count))
        };
        let of_cache = reasons.iter().filter(names_cache).count();
        assert_eq!(of_cache, if is_cached { 4 } else { 0 }, "{reasons:?}");
    }
}

/// Larger than étalon lets the answer to a question of its own be.
const LARGE_MIB: usize = 70;

#[test]
fn large_answers_are_compared_and_their_first_row_is_timed() {
    let scene = with_queries(&[
        ("large.postgres", &format!("SELECT repeat('x', 1048576), i FROM generate_series(1, {LARGE_MIB}) i")),
        ("large.mariadb", &format!("SELECT repeat('x', 1048576), seq FROM mysql.seq_1_to_{LARGE_MIB}")),
        ("late.postgres", "SELECT i FROM generate_series(1, 5000) i UNION ALL SELECT length(pg_sleep(0.3)::text)"),
        ("late.mariadb", "SELECT seq FROM mysql.seq_1_to_5000 UNION ALL SELECT 0 + sleep(0.3)"),
    ]);
    scene.write(
        "p.toml",
        "[systems.p]\nserver = { engine = \"postgres\" }\n[systems.m]\nserver = { engine = \"mariadb\" }\n\
         [[benchmarks]]\nworkload = \"queries\"\nfiles = \"sql\"\n[schedule]\nrounds = 2\nwarmup = \"0s\"\nduration = \"200ms\"\n",
    );
    let ran = scene.etalon(&["run", "p.toml"]);
    ran.says(0, &[]);
    assert!(ran.stdout.replace('\n', " ").contains("All 2 queries gave the same answers everywhere"), "{}", ran.stdout);
    let shown = scene.etalon(&["compare", scene.store().to_str().unwrap(), "--json", "--metrics", "elapsed,first_row"]);
    let value: Value = serde_json::from_str(&shown.stdout).unwrap();
    let row = |metric: &str| {
        let rows = value["comparisons"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("{value}"))["a"]["estimate"]
            .as_f64()
            .unwrap()
    };
    assert!(row("elapsed/late") > 300.0 && row("first_row/late") < 200.0, "{value}");
    assert!(row("first_row/large") < row("elapsed/large"), "{value}");
}

/// What a session says of its server is not what the next session finds.
#[test]
fn queries_that_a_balancer_gives_to_two_servers_have_no_verdict() {
    let (one, other) = (fresh_postgres(), fresh_postgres());
    for server in [&one, &other] {
        psql(server.port, "a", "CREATE TABLE t AS SELECT generate_series(1, 1000) AS x");
    }
    let address = Address::new([one.port, other.port]);
    let scene = Scene::new();
    fs::create_dir(scene.path().join("sql")).unwrap();
    scene.write("sql/counted.sql", "SELECT count(*) FROM t;\n");
    let (a, b) = (postgres_url(one.port, "a"), postgres_url(address.port, "a"));
    for clients in ["1", "2", "3"] {
        let schedule = ["--rounds", "6", "--clients", clients, "-o", "s"];
        let ran = scene.etalon(&[&["run", &a, &b, "sql"][..], &SHORT, &schedule].concat());
        ran.says(0, &[]);
        let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_told(&told, &["B changed", "instance."]);
        fs::remove_dir_all(scene.path().join("s")).unwrap();
    }
    // Of several clients of a script the server counts too few transactions.
    let script = ["run", &a, &b, "--script", "sql/counted.sql", "--clients", "3", "--set", "benchmarks.*.tables=none"];
    scene.etalon(&[&script[..], &SHORT].concat()).says(1, &["cannot trust the run's counts"]);
}

/// The side that is quick reaches dear rows that the other does not, and would look slower for it.
#[test]
fn rows_of_parameters_that_were_not_all_reached_have_no_figure() {
    let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) SELECT count(*) FROM n WHERE x > :k;";
    let scene = with_queries(&[("of", &format!("-- parameters: of.csv\n{sql}"))]);
    let numbers: String = (1..=5_000).map(|k| format!("{k}\n")).collect();
    scene.write("sql/of.csv", &format!("k\n{numbers}"));
    for name in ["a.db", "b.db"] {
        sqlite(&scene, name, "CREATE TABLE t (x)");
    }
    let ran = scene.etalon(&[&["run", "a=sqlite:a.db", "b=sqlite:b.db", "sql", "--rounds", "6"][..], &SHORT].concat());
    let told = [&*ran.stdout, &*ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("of the 5000 rows of its parameters"), "{told}");
    assert!(!told.contains("faster") && !told.contains("slower"), "{told}");
}

/// Statements of a folder `setup` are run where they are asked for, and on servers of étalon's own alone.
#[test]
fn tables_of_a_setup_folder_are_made_on_private_servers() {
    let scene = with_queries(&[("sums", "SELECT grp, count(*), sum(x) FROM facts GROUP BY grp")]);
    let setup = scene.path().join("sql/setup");
    fs::create_dir(&setup).unwrap();
    let rows =
        |from: &str| format!("INSERT INTO facts SELECT i % 7, i FROM {from};\nCREATE INDEX by_grp ON facts (grp);");
    fs::write(setup.join("1-tables.sql"), "CREATE TABLE facts (grp integer, x integer);").unwrap();
    fs::write(setup.join("2-rows.postgres.sql"), rows("generate_series(1, 500) AS i")).unwrap();
    fs::write(setup.join("2-rows.mariadb.sql"), rows("(SELECT seq AS i FROM mysql.seq_1_to_500) AS s")).unwrap();
    let own = ["run", "postgres", "mariadb", "sql", "-o", "own"];
    scene.etalon(&["plan", "postgres", "mariadb", "sql"]).says(0, &["`sql/setup` is not run", "--set setup=sql/setup"]);
    let asked = scene.etalon(&[&own[..], &SHORT[..], &["--set", "setup=sql/setup"]].concat());
    asked.says(0, &[]);
    assert!(asked.stdout.replace('\n', " ").contains("The query gave the same answer everywhere"), "{}", asked.stdout);

    let server = fresh_postgres();
    let url = postgres_url(server.port, "a");
    let refused = scene.etalon(&["plan", &url, "sql", "--aa", "--set", "setup=sql/setup"]);
    refused.says(2, &["only on a server that it starts itself"]);
}

/// Locks of an application are not the server's slowness.
#[test]
fn queries_that_wait_for_locks_of_others_have_no_verdict() {
    let scene = with_queries(&[("q", "SELECT count(*) FROM orders")]);
    let ((postgres, mariadb), _) = with_orders(&scene);
    let lock = "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(0.005); COMMIT;";
    let mut on_postgres = psql_command(postgres.port, "a");
    on_postgres.args(["-c", &format!("DO $$ BEGIN FOR i IN 1..100000 LOOP {lock} END LOOP; END $$")]);
    let mut on_mariadb = Command::new("mariadb");
    let port = mariadb.port.to_string();
    on_mariadb.args(["--no-defaults", "-h", "127.0.0.1", "-P", &port, "-u", "t", "a", "-e"]);
    on_mariadb.arg("LOCK TABLES orders WRITE; DO SLEEP(0.01); UNLOCK TABLES; ".repeat(2_000));
    let urls = [postgres_url(postgres.port, "a"), format!("mariadb://t@127.0.0.1:{port}/a?ssl-mode=disabled")];
    for (url, mut locker) in urls.iter().zip([on_postgres, on_mariadb]) {
        let line = ["run", url, "sql", "--aa", "--quiet", "--json", "--set", "schedule.duration=1s"];
        let alone = scene.etalon(&line);
        let mut locker = locker.stdout(Stdio::null()).spawn().unwrap();
        let locked = scene.etalon(&line);
        let was_at_work = locker.try_wait().unwrap().is_none();
        locker.kill().unwrap();
        locker.wait().unwrap();
        assert!(was_at_work && locked.stdout.contains("other-locks"), "{url}: {}", locked.stdout);
        assert!(!alone.stdout.contains("other-locks"), "{url}: {}", alone.stdout);
        let value: Value = serde_json::from_str(&locked.stdout).unwrap();
        let row = value["comparisons"].as_array().unwrap().iter().find(|row| row["role"] == "primary").unwrap();
        assert!(row["no_verdict"].is_string(), "{row}");
    }
}
