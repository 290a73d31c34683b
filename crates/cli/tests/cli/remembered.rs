//! A folder of queries out of a server's own statistics.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::queries::{SHORT, orders};
use crate::releases::folders_of;
use crate::scene::Scene;
use crate::server::ROLE;
use crate::server_changes::{
    Database, fresh_postgres, mariadb, mariadb_command, mariadb_sql, mysql, psql, psql_command, wait_until,
};

const SECRET: &str = "n3-private";

/// The statements that a folder was written of, by their kind, and what the command said of the others.
fn written(scene: &Scene, url: &str, more: &[&str]) -> (Value, String) {
    let ran = scene.etalon(&[&["queries", url, "--json"], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (serde_json::from_str(&ran.stdout).unwrap(), ran.stderr)
}

/// The path of the file of a statement, whose text has this in it.
#[track_caller]
fn file_with(scene: &Scene, object: &Value, kind: &str, part: &str) -> String {
    let statements = object["statements"].as_array().unwrap();
    let paths = statements.iter().filter(|one| one["kind"] == kind).map(|one| one["file"].as_str().unwrap());
    let read = |path: &str| fs::read_to_string(scene.path().join(path)).unwrap();
    let found = paths.map(str::to_owned).find(|path| read(path).contains(part));
    found.unwrap_or_else(|| panic!("no {kind} has `{part}`: {object}"))
}

/// Runs the folder against itself, and gives what was printed and the report.
fn report_of(scene: &Scene, url: &str, folder: &str) -> (String, String) {
    let args: Vec<&str> = ["run", url, folder, "--quick", "-o", "results"].into_iter().chain(SHORT).collect();
    let ran = scene.etalon(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let entries = fs::read_dir(scene.path().join("results")).unwrap().map(|entry| entry.unwrap().path());
    let page = entries.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "html")).unwrap();
    (ran.stdout, fs::read_to_string(page).unwrap())
}

fn left_out(object: &Value) -> Vec<&str> {
    object["left_out"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_folder_comes_from_pg_stat_statements() {
    let scene = Scene::new();
    let mut server = fresh_postgres();
    let url = format!("postgres://{ROLE}@127.0.0.1:{}/a?sslmode=disable", server.port);
    scene.etalon(&["queries", &url]).says(3, &["the server has not loaded it", "`shared_preload_libraries`"]);
    server.restart(&["shared_preload_libraries=pg_stat_statements"]);
    scene.etalon(&["queries", &url]).says(3, &["the extension is not in the database `a`", "`CREATE EXTENSION "]);
    assert!(!scene.path().join("sql").exists());
    psql(
        server.port,
        "a",
        &format!("CREATE SCHEMA stats; CREATE EXTENSION pg_stat_statements SCHEMA stats; {}", orders()),
    );
    psql(server.port, "a", "CREATE ROLE poor LOGIN");
    let poor = url.replace(&format!("{ROLE}@"), "poor@");
    scene.etalon(&["queries", &poor]).says(3, &["permission denied", "`GRANT USAGE ON SCHEMA stats TO …`"]);
    psql(server.port, "a", "GRANT USAGE ON SCHEMA stats TO poor; SELECT stats.pg_stat_statements_reset()");
    for customer in 1..=5 {
        psql(server.port, "a", &format!("SELECT sum(amount) FROM orders WHERE customer = {customer} AND name <> 'x'"));
        psql(server.port, "a", "SELECT name, count(*) FROM orders GROUP BY name");
    }
    psql(server.port, "a", "UPDATE orders SET amount = 1 WHERE id = 1");
    psql(server.port, "a", "WITH gone AS (DELETE FROM orders WHERE id = 2 RETURNING id) SELECT count(*) FROM gone");
    let last = format!("SELECT count(*) FROM orders WHERE name <> '{SECRET}';");
    let mut idle = psql_command(server.port, "a").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(idle.stdin.as_ref().unwrap(), "{last}").unwrap();
    wait_until("the last statement", || {
        let mut asked = psql_command(server.port, "a");
        let asked = asked.args([
            "-At",
            "-c",
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%private%' AND state = 'idle'",
        ]);
        asked.output().unwrap().stdout == b"1\n"
    });
    let (object, said) = written(&scene, &url, &[]);
    file_with(&scene, &object, "query", "GROUP BY name");
    file_with(&scene, &object, "query", &format!("name <> '{SECRET}'"));
    let form = file_with(&scene, &object, "form", "customer = :p1 AND name <> :p2");
    assert!(left_out(&object).contains(&"UPDATE") && left_out(&object).contains(&"WITH … DELETE"), "{object}");
    assert!(said.contains("then `mv sql/forms/q"), "{said}");
    scene.etalon(&["queries", &url]).says(2, &["`sql` is there already", "`-o DIR`"]);
    // Its values, as a person adds them.
    let [csv, sql] = ["csv", "sql"].map(|ending| scene.path().join(form.replace(".sql", &format!(".{ending}"))));
    fs::write(&csv, format!("{}7,n1\n8,n2\n", fs::read_to_string(&csv).unwrap())).unwrap();
    for path in [csv, sql] {
        fs::rename(&path, scene.path().join("sql").join(path.file_name().unwrap())).unwrap();
    }
    let (text, page) = report_of(&scene, &url, "sql");
    assert_eq!(text.matches("elapsed q").count(), 3, "{text}");
    assert!(!text.contains(SECRET) && !page.contains(SECRET), "a literal of the user's is in the report");
    scene.etalon(&["queries", &poor, "-o", "poor"]).says(3, &["no query on tables", "hidden from this login"]);
    drop(idle.stdin.take());
    idle.wait().unwrap();
}

/// Statements whose text is long, short, or writes.
fn load(server: &Database) {
    mariadb_sql(server, &format!("USE a; {}", orders()));
    for customer in 1..=3 {
        let mut command = mariadb_command(server);
        let secret = format!("SELECT count(*) FROM orders WHERE customer = {customer} AND name IN ('{SECRET}', 'n2')");
        let long = format!("SELECT max(id) FROM orders WHERE name <> '{}'", "x".repeat(2_000));
        let columns: Vec<String> = (0..400).map(|number| format!("amount AS a{number}")).collect();
        let cut = format!("SELECT {} FROM orders", columns.join(", "));
        let all = format!(
            "{secret}; {long}; {cut}; SELECT name, count(*) FROM orders GROUP BY name; UPDATE orders SET amount = 2"
        );
        assert!(command.args(["a", "-e", &all]).stdout(Stdio::null()).status().unwrap().success());
    }
}

#[test]
fn a_folder_comes_from_mariadb_s_digests() {
    let scene = Scene::new();
    let mut server = mariadb();
    let url = format!("mariadb://t@127.0.0.1:{}/a?ssl-mode=disabled", server.port);
    scene.etalon(&["queries", &url]).says(3, &["it is off", "`performance_schema = ON`"]);
    server.restart(&["--performance-schema=ON"]);
    scene.etalon(&["queries", &url.replace("/a?", "/?")]).says(3, &["the URL names no database"]);
    load(&server);
    let (object, said) = written(&scene, &url, &[]);
    file_with(&scene, &object, "query", "GROUP BY NAME");
    file_with(&scene, &object, "form", "NAME IN(:p2)");
    file_with(&scene, &object, "cut", "only the beginning");
    assert!(left_out(&object).contains(&"UPDATE") && said.contains("events_statements_%"), "{object} {said}");
    mariadb_sql(
        &server,
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_statements_%'",
    );
    load_again(&server);
    let (object, _) = written(&scene, &url, &["-o", "whole"]);
    file_with(&scene, &object, "query", SECRET);
    let (text, page) = report_of(&scene, &url, "whole");
    assert!(text.contains("elapsed q") && !text.contains(SECRET) && !page.contains(SECRET), "{text}");
    mariadb_sql(&server, "CREATE USER poor@'127.0.0.1' IDENTIFIED BY ''; GRANT SELECT ON a.* TO poor@'127.0.0.1'");
    let poor = url.replace("t@", "poor@");
    scene.etalon(&["queries", &poor, "-o", "poor"]).says(3, &["`GRANT SELECT ON performance_schema.* TO …`"]);
}

fn load_again(server: &Database) {
    mariadb_sql(server, "DROP TABLE a.orders");
    load(server);
}

#[test]
fn a_folder_comes_from_mysql_s_samples() {
    for folder in folders_of("mysql") {
        let scene = Scene::new();
        let server = mysql(&folder);
        let url = format!("mysql://t@127.0.0.1:{}/a?ssl-mode=disabled", server.port);
        load(&server);
        let (object, _) = written(&scene, &url, &["--top", "4"]);
        file_with(&scene, &object, "query", SECRET);
        file_with(&scene, &object, "query", "GROUP BY name");
        file_with(&scene, &object, "form", "NAME != :p1");
        file_with(&scene, &object, "cut", "only the beginning");
        assert!(left_out(&object).contains(&"UPDATE"), "{object}");
        let (text, page) = report_of(&scene, &url, "sql");
        assert!(text.contains("elapsed q") && !text.contains(SECRET) && !page.contains(SECRET), "{text}");
        mariadb_sql(
            &server,
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'statements_digest'",
        );
        scene.etalon(&["queries", &url, "-o", "off"]).says(3, &["does not sum them up", "`UPDATE performance_schema."]);
    }
}

#[test]
fn an_engine_without_statistics_says_so() {
    let scene = Scene::new();
    rusqlite::Connection::open(scene.path().join("own.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    scene.etalon(&["queries", "sqlite:own.db"]).says(3, &["the engine `sqlite` has no statistics of statements"]);
    scene.etalon(&["queries", "postgres"]).says(2, &["a server that étalon starts"]);
}
