//! A side whose transactions find fewer rows is quick, and has no verdict for it.

use serde_json::Value;

use crate::scene::Scene;
use crate::server::ROLE;
use crate::server_changes::{
    assert_told, changed_under, fresh_postgres, mariadb, mariadb_sql, postgres_url, psql, standby_of,
};

/// Rows of `t` in a. As many in b are a share of them.
const ROWS: u32 = 100_000;

/// Makes `t` with rows, and `u` with one row or none; `numbers` gives the numbers from 1 to N in the engine's words.
fn tables(rows: u32, found: u32, numbers: impl Fn(u32) -> String) -> String {
    format!(
        "DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS u; CREATE TABLE t (x INT); CREATE TABLE u (x INT); \
         INSERT INTO t {}; INSERT INTO u {}",
        numbers(rows),
        numbers(found)
    )
}

/// A folder with a plan that runs a script, or a mix, a number of times on both sides.
fn scene_of(a: &str, b: &str, (script, transactions): (&str, u32)) -> Scene {
    let scene = Scene::new();
    scene.write("scan.sql", "SELECT x FROM t;\n").write("lookup.sql", "SELECT x FROM u;\n").write(
        "p.toml",
        &format!(
            "[systems.a]\nurl = \"{a}\"\n[systems.b]\nurl = \"{b}\"\n[[benchmarks]]\nname = \"own\"\nworkload = \"transactions\"\n\
             script = \"{script}\"\nclients = 1\ntables = \"none\"\n[schedule]\nrounds = 6\nwarmup = \"0s\"\ntransactions = {transactions}\n"
        ),
    );
    scene
}

/// What `compare` says of such runs, as JSON and as text.
fn compared(a: &str, b: &str, load: (&str, u32)) -> (Value, String) {
    let scene = scene_of(a, b, load);
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let store = scene.store();
    let (shown, gate) =
        (scene.etalon(&["compare", store.to_str().unwrap()]), scene.etalon(&["gate", store.to_str().unwrap()]));
    assert!(gate.code != 0 || !shown.stdout.contains("different work"), "a gate passed: {}", gate.stdout);
    (serde_json::from_str(&ran.stdout).unwrap(), shown.stdout.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[track_caller]
fn assert_refused((object, text): &(Value, String), said: &str) {
    let rows = object["comparisons"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["verdict"].is_null()), "{said}: {object}");
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.starts_with(&format!("own: no verdict ({said}).")), "{said}: {answer}");
    assert!(text.contains("--allow-different-rows"), "what helps is not named: {text}");
}

#[track_caller]
fn assert_not_begun(a: &str, b: &str, table: &str) {
    let scene = scene_of(a, b, ("scan.sql@9,lookup.sql@1", 3));
    let said = format!("cannot compare on the table `{table}`: it holds no row, and on `a` it holds some");
    scene.etalon(&["run", "p.toml"]).says(1, &["`b`", &said, "allow_different_rows = true"]);
    let allowed = scene.etalon(&["run", "p.toml", "--set", "allow_different_rows=true"]);
    allowed.says(0, &[]);
}

/// Makes each of these tables or views with a row in a and with none in b; `{v}` stands for what has it.
fn nothing_begins_on_an_empty_one(a: &str, b: &str, run: impl Fn(&str, &str), made: &[(&str, &str)]) {
    for (name, sql) in made {
        run("a", &sql.replace("{v}", "SELECT 1 AS x"));
        run("b", &sql.replace("{v}", "SELECT 1 AS x WHERE 1 = 0"));
        let scene = scene_of(a, b, ("count.sql", 3));
        scene.write("count.sql", &format!("SELECT count(*) FROM {name};\n"));
        let said = format!("cannot compare on the table `{name}`: it holds no row, and on `a` it holds some");
        scene.etalon(&["run", "p.toml"]).says(1, &["`b`", &said]);
    }
}

/// Empties b, halves it, and takes one script of a mix its rows.
fn fewer_rows_have_no_verdict(a: &str, b: &str, run: impl Fn(&str, &str), numbers: fn(u32) -> String) {
    let of = |name: &str, rows: u32, found: u32| run(name, &tables(rows, found, numbers));
    of("a", ROWS, 1);
    of("b", 0, 1);
    assert_not_begun(a, b, "t");
    of("b", ROWS, 0);
    assert_not_begun(a, b, "u");
    of("b", ROWS / 2, 1);
    let said = "different work: a transaction of A returned 100 000 rows, one of B 50 000";
    assert_refused(&compared(a, b, ("scan.sql", 3)), said);
    of("a", 100, 2);
    of("b", 100, 1);
    let said = "different work: a transaction `lookup` of A returned 2.00 rows, one of B 1.00";
    assert_refused(&compared(a, b, ("scan.sql@9,lookup.sql@1", 200)), said);
    // As many rows on both sides are no reason.
    of("b", 100, 2);
    let (object, _) = compared(a, b, ("scan.sql@9,lookup.sql@1", 200));
    let refused = object["comparisons"].to_string().contains("different work");
    assert!(!refused, "{object}");
}

/// Empties b's table after the second round. A count of its rows is a row.
fn a_table_that_is_emptied_has_no_verdict(a: &str, b: &str, run: impl Fn(&str, &str), numbers: fn(u32) -> String) {
    for name in ["a", "b"] {
        run(name, &tables(1_000, 1, numbers));
    }
    let empty = || run("b", "DELETE FROM t");
    let told = changed_under(&Scene::new(), "SELECT count(*) FROM t;\n", (a, b), empty);
    assert_told(&told, &["B changed", "table.t was `holds rows` and is `is empty`"]);
}

/// A script that sends more where it finds something does other work there, though no row is returned or changed.
#[test]
fn a_side_that_is_sent_fewer_statements_has_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.db"));
    let url = |name: &str| format!("sqlite:{}", path(name).display());
    for (name, found) in [("a", 1), ("b", 0)] {
        let sql = format!("CREATE TABLE u AS SELECT {found} AS x");
        rusqlite::Connection::open(path(name)).unwrap().execute_batch(&sql).unwrap();
    }
    let scene = scene_of(&url("a"), &url("b"), ("if.sql", 50));
    let nothing = "UPDATE u SET x = x WHERE x > 7;\n".repeat(3);
    scene.write("if.sql", &format!("SELECT x FROM u \\gset\n\\if :x\n{nothing}\\endif\n"));
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let shown = scene.etalon(&["compare", scene.store().to_str().unwrap()]).stdout;
    let compared = (serde_json::from_str(&ran.stdout).unwrap(), shown);
    assert_refused(&compared, "different work: a transaction of A sends 4.00 statements, one of B 1.00");
}

#[test]
fn sqlite_that_finds_fewer_rows_has_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.db"));
    let url = |name: &str| format!("sqlite:{}", path(name).display());
    let run = |name: &str, sql: &str| {
        rusqlite::Connection::open(path(name)).unwrap().execute_batch(sql).unwrap();
    };
    nothing_begins_on_an_empty_one(&url("a"), &url("b"), run, &[("w", "CREATE VIEW w AS {v}")]);
    let numbers = |rows| {
        format!(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {rows}) SELECT x FROM n WHERE x <= {rows}"
        )
    };
    fewer_rows_have_no_verdict(&url("a"), &url("b"), run, numbers);
    a_table_that_is_emptied_has_no_verdict(&url("a"), &url("b"), run, numbers);
}

#[test]
fn postgresql_that_finds_fewer_rows_has_no_verdict() {
    let server = fresh_postgres();
    let url = |name: &str| format!("postgres://{ROLE}@127.0.0.1:{}/{name}?sslmode=disable", server.port);
    let run = |name: &str, sql: &str| psql(server.port, name, sql);
    let made = [
        (
            "parts",
            "CREATE TABLE parts (x INT) PARTITION BY RANGE (x); CREATE TABLE p1 PARTITION OF parts DEFAULT; INSERT INTO parts {v}",
        ),
        ("unsafe", "CREATE UNLOGGED TABLE unsafe AS {v}"),
        ("seen", "CREATE VIEW seen AS {v}"),
        ("kept", "CREATE MATERIALIZED VIEW kept AS {v}"),
        ("s.named", "CREATE SCHEMA s; CREATE TABLE s.named AS {v}; CREATE TABLE named AS SELECT 1 AS x"),
        ("first", "CREATE SCHEMA other; CREATE TABLE other.first AS SELECT 1; CREATE TABLE first AS {v}"),
    ];
    nothing_begins_on_an_empty_one(&url("a"), &url("b"), run, &made);
    let numbers = |rows| format!("SELECT generate_series(1, {rows})");
    fewer_rows_have_no_verdict(&url("a"), &url("b"), run, numbers);
    a_table_that_is_emptied_has_no_verdict(&url("a"), &url("b"), run, numbers);
}

#[test]
fn mariadb_that_finds_fewer_rows_has_no_verdict() {
    let server = mariadb();
    let url = |name: &str| format!("mariadb://t@127.0.0.1:{}/{name}?ssl-mode=disabled", server.port);
    let run = |name: &str, sql: &str| mariadb_sql(&server, &format!("USE {name}; {sql}"));
    nothing_begins_on_an_empty_one(&url("a"), &url("b"), run, &[("seen", "CREATE VIEW seen AS {v}")]);
    // A name with its database would be the same table on both sides, if both were of one server.
    let other = mariadb();
    for (server, row) in [(&server, "1"), (&other, "0")] {
        mariadb_sql(
            server,
            &format!("CREATE DATABASE shop; USE shop; CREATE TABLE e AS SELECT 1 AS x FROM seq_1_to_1 WHERE {row} = 1"),
        );
    }
    let there = format!("mariadb://t@127.0.0.1:{}/b?ssl-mode=disabled", other.port);
    nothing_begins_on_an_empty_one(&url("a"), &there, |_, _| (), &[("shop.e", "")]);
    let numbers = |rows| format!("SELECT seq FROM seq_1_to_{ROWS} WHERE seq <= {rows}");
    fewer_rows_have_no_verdict(&url("a"), &url("b"), run, numbers);
    a_table_that_is_emptied_has_no_verdict(&url("a"), &url("b"), run, numbers);
}

/// No session is there to ask for rows by, which is no reason to refuse the load.
#[test]
fn tables_of_others_are_measured_through_a_pooler_that_lends_transactions() {
    let scene = Scene::new();
    scene.write("own.sql", "SELECT count(*) FROM pg_class;\n").write(
        "p.toml",
        "[systems.direct]\nserver = { engine = \"postgres\" }\n[systems.pooled]\nserver = { engine = \"postgres\", \
         pooler = \"pgbouncer\", pool_mode = \"transaction\" }\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"./own.sql\"\n\
         tables = \"none\"\nprotocol = \"simple\"\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"300ms\"\n",
    );
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(!object["comparisons"].as_array().unwrap().is_empty(), "{object}");
}

/// Its rows are those of then, whatever its primary gets meanwhile.
#[test]
fn a_standby_whose_replay_is_paused_has_no_verdict() {
    let primary = fresh_postgres();
    psql(primary.port, "a", "CREATE TABLE t AS SELECT 1 AS x");
    let standby = standby_of(&primary);
    let (a, b) = (postgres_url(primary.port, "a"), postgres_url(standby.port, "a"));
    let pause = || psql(standby.port, "postgres", "SELECT pg_wal_replay_pause()");
    let told = changed_under(&Scene::new(), "SELECT count(*) FROM t;\n", (&a, &b), pause);
    assert_told(&told, &["B changed", "instance.replay was `running` and is `paused`"]);
}
