//! Backups of a database that is there: restored and compared, and left as it was.

use std::path::Path;

use crate::scene::Scene;
use crate::server::ROLE;
use crate::server_changes::{fresh_postgres, mariadb, mariadb_sql, psql};

/// Names that need quotes, values that are hard to tell apart, and an empty table.
const ROWS: &str = "CREATE TABLE \"t 1\" (id int PRIMARY KEY, \"order\" varchar(20), f double precision);
    INSERT INTO \"t 1\" VALUES (1, NULL, 1.5), (2, 'NULL', NULL), (3, '', 0.1); CREATE TABLE empty_one (x int)";
const TABLES: &str = "--set=benchmarks.*.tables=none";

fn backed_up(scene: &Scene, system: &str, output: &str, more: &[&str]) -> String {
    let arguments =
        ["run", "backup-compression", "--quick", "--quiet", "--yes", TABLES, "--system", system, "-o", output];
    let run = scene.etalon(&[&arguments, more].concat());
    run.says(0, &[]);
    assert!(run.stdout.replace('\n', " ").contains("Every backup was restored and compared"), "{}", run.stdout);
    run.stdout.clone()
}

fn made(path: &Path) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch(ROWS).unwrap();
    database.execute_batch("CREATE TABLE blobs (b BLOB) ; INSERT INTO blobs VALUES (randomblob(300000))").unwrap();
}

#[test]
fn a_file_that_is_there_is_backed_up_and_stays_as_it_is() {
    let scene = Scene::new();
    let file = scene.path().join("my.db");
    made(&file);
    let before = std::fs::read(&file).unwrap();
    // How much a server holds is not known before.
    let server = "postgres://me@127.0.0.1:1/a";
    for (tables, system, time) in [
        (TABLES, "sqlite:my.db", ", about "),
        ("--quick", "sqlite:my.db", ", about "),
        (TABLES, server, ", at least 4 s, since how long a run takes is not known before; "),
    ] {
        let planned = scene.etalon(&["plan", "backup-compression", tables, "--system", system]);
        assert!(planned.says(0, &[]).stdout.contains(time), "{}", planned.stdout);
    }
    let said = backed_up(&scene, "sqlite:my.db", "s", &[]);
    assert!(said.contains("none  gzip   lz4    zstd") || said.contains("codec"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    backed_up(&scene, "sqlite:my.db", "v", &["--set=benchmarks.*.method=vacuum-into"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let mut left: Vec<_> = std::fs::read_dir(scene.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["my.db", "s", "v"]);
    let load = ["--set=benchmarks.*.load={ script = \"tpcb-like\" }"];
    let arguments = ["run", "backup-compression", "--quick", TABLES, "--system", "sqlite:my.db"];
    scene.etalon(&[&arguments[..], &load].concat()).says(2, &["the load has tables of its own"]);
}

#[test]
fn databases_of_servers_are_backed_up_and_stay_as_they_are() {
    let scene = Scene::new();
    let postgres = fresh_postgres();
    psql(postgres.port, "a", &format!("CREATE SCHEMA \"s 1\"; SET search_path = \"s 1\"; {ROWS}"));
    let url = format!("here=postgres://{ROLE}@127.0.0.1:{}/a?sslmode=disable", postgres.port);
    backed_up(&scene, &url, "postgres", &["--set=benchmarks.*.whole_server=true"]);
    let arguments = ["run", "backup-compression", "--quick", "--quiet", TABLES, "--system"];
    let empty = url.replace("/a?", "/b?");
    let whole = "--set=benchmarks.*.whole_server=true";
    scene.etalon(&[&arguments[..], &[&empty, whole]].concat()).says(3, &["it has no table that the login can see"]);

    let server = mariadb();
    mariadb_sql(&server, &format!("SET sql_mode = 'ANSI_QUOTES'; USE a; {ROWS}"));
    let url = |database: &str| format!("here=mariadb://t@127.0.0.1:{}/{database}?ssl-mode=disabled", server.port);
    backed_up(&scene, &url("a"), "mariadb", &[]);
    scene.etalon(&[&arguments[..], &[&url("")]].concat()).says(2, &["the URL names none", "mysql://me@db1/shop"]);
}
