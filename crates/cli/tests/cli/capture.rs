//! Logs that servers wrote under a known load: what was sent is what is taken and what is left out.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use formats::capture::SavedCapture;
use serde_json::Value;

use crate::releases::folders_of;
use crate::scene::Scene;
use crate::server::{ROLE, programs};
use crate::server_changes::{
    Database, answer, fresh_postgres, mariadb, mariadb_command, mariadb_sql, mysql, postgres_url, psql, psql_command,
    wait_until,
};

const SECRET: &str = "n3-private";
/// Statements of the script, which a load of pgbench's sends 200 times.
const SCRIPT: &str = "\\set aid random(1, 1000)\nBEGIN;\n\
    UPDATE pgbench_accounts\n  SET abalance = abalance + :aid WHERE aid = :aid;\n\
    SELECT abalance FROM pgbench_accounts WHERE aid = :aid AND filler <> 'n3-private';\nEND;\n";

pub fn pgbench(server: &Database, arguments: &[&str]) {
    let mut command = Command::new(programs().join("pgbench"));
    command.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", ROLE]).args(arguments).arg("a");
    answer(command, &[]).unwrap_or_else(|said| panic!("{said}"));
}

/// Runs psql on a text that is longer than an argument may be.
fn psql_input(server: &Database, arguments: &[&str], input: &str) {
    let mut client = psql_command(server.port, "a");
    let mut client =
        client.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    client.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    client.wait().unwrap();
}

/// A server that logs each statement in three forms, and its folder of logs.
fn logging() -> (Database, PathBuf) {
    let mut server = fresh_postgres();
    pgbench(&server, &["-i", "-q", "-s", "1"]);
    psql(server.port, "a", "CREATE TABLE copied (a int)");
    let logs = log_statements(&mut server);
    (server, logs)
}

/// Has a server log each statement in three forms from now on, and gives its folder of logs.
pub fn log_statements(server: &mut Database) -> PathBuf {
    let mut show = psql_command(server.port, "a");
    show.args(["-At", "-c", "SHOW data_directory"]);
    let logs = Path::new(answer(show, &[]).unwrap().trim()).join("log");
    server.restart(&[
        "logging_collector=on",
        "log_destination=stderr,csvlog,jsonlog",
        "log_filename=server.log",
        "log_min_duration_statement=0",
        "log_line_prefix=%m [%p] %q%u@%d ",
    ]);
    logs
}

/// Sends statements, and gives the number of those that a capture can take.
fn load(server: &Database, script: &Path) -> u64 {
    for mode in ["simple", "extended", "prepared"] {
        pgbench(server, &["-n", "-c", "4", "-t", "50", "-M", mode, "-f", script.to_str().unwrap()]);
    }
    psql(server.port, "a", &format!("SELECT\n\t'{SECRET}\"\n, x' AS \"A b\""));
    psql_input(server, &[], "SELECT 1/0;\nPREPARE p AS SELECT $1::int;\nEXECUTE p(1);\nSELECT nothing FROM nowhere;\n");
    psql_input(server, &["-c", "COPY copied FROM STDIN"], "1\n2\n\\.\n");
    psql_input(server, &[], &format!("SELECT length('{}');\n", "x".repeat(17 << 20)));
    psql(server.port, "a", "SELECT 'the end'");
    3 * 200 * 4 + 1 + 4 + 1
}

fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let ran = scene.etalon(&[arguments, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn counts(object: &Value, group: &str) -> Vec<(String, u64)> {
    let all = object[group].as_array().unwrap().iter();
    all.map(|one| (one["code"].as_str().unwrap().to_owned(), one["count"].as_u64().unwrap())).collect()
}

#[test]
fn each_statement_of_postgres_is_taken_or_counted() {
    let scene = Scene::new();
    let (server, logs) = logging();
    scene.write("script.sql", SCRIPT);
    let sent = load(&server, &scene.path().join("script.sql"));
    let names = ["server.log", "server.csv", "server.json"];
    let last = |name: &str| fs::read_to_string(logs.join(name)).unwrap_or_default().contains("SELECT 'the end'");
    wait_until("the logs", || names.iter().all(|name| last(name)));
    for name in names {
        let copy = scene.path().join(name);
        fs::copy(logs.join(name), &copy).unwrap();
        let output = format!("{name}.capture");
        let taken = json(&scene, &["capture", name, "-o", &output]);
        assert_eq!(taken["executions"], sent, "{name}: {taken}");
        let left_out = [("too_long".to_owned(), 1), ("copy_data".to_owned(), 1)];
        assert_eq!(counts(&taken, "left_out"), left_out, "{name}");
        assert_eq!(counts(&taken, "doubts"), [], "{name}");
        // A client of the mode `prepared` parses each of the four once.
        assert_eq!(counts(&taken, "aside")[0], ("preparation".to_owned(), 3 * 800 + 4 * 4), "{name}");
    }
}

#[test]
fn a_capture_is_shown_without_a_value() {
    let scene = Scene::new();
    let (server, logs) = logging();
    psql(server.port, "a", &format!("SELECT '{SECRET}' AS one -- {SECRET}"));
    psql(server.port, "a", &format!("SELECT '{SECRET}'   AS one"));
    wait_until("the log", || fs::read_to_string(logs.join("server.csv")).is_ok_and(|log| log.contains("   AS one")));
    fs::copy(logs.join("server.csv"), scene.path().join("b.csv")).unwrap();
    fs::copy(logs.join("server.json"), scene.path().join("b.json")).unwrap();
    // An older log of the same server, packed; the file is named behind the newer one.
    let old = fs::read_to_string(logs.join("server.csv")).unwrap().replace("202", "201");
    let packed = File::create(scene.path().join("old.csv.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    packed.write_all(old.as_bytes()).unwrap();
    packed.finish().unwrap();
    let ran = scene.etalon(&["capture", "b.csv", "old.csv.gz", "--redact"]);
    ran.says(0, &["other messages", "`etalon show server.capture`"]);
    assert_eq!(ran.stdout, "4 of 4 statements are in server.capture\n");
    let ran = scene.etalon(&["show", "server.capture"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("select ? as one\n") && ran.stdout.contains("100.0 %           4"), "{}", ran.stdout);
    assert!(!ran.stdout.contains(SECRET), "{}", ran.stdout);
    assert_eq!(json(&scene, &["show", "server.capture"])["doubts"].as_array().unwrap().len(), 0);
    let saved = SavedCapture::open(&scene.path().join("server.capture")).unwrap();
    saved.for_each(|one| assert!(!one.packed.literals.concat().contains(SECRET), "{one:?}")).unwrap();
    scene.etalon(&["capture", "b.csv"]).says(2, &["is a store or another database", "a capture is never replaced"]);
    scene.etalon(&["capture", "b.csv", "b.json", "-o", "c"]).says(2, &["is a csvlog", "a jsonlog"]);
    scene.write("x.log", "hello\n");
    scene.etalon(&["capture", "x.log", "-o", "c"]).says(2, &["no log that étalon reads", "--log-line-prefix"]);
    scene.etalon(&["capture", "b.csv", "--log-line-prefix", "%u", "-o", "c"]).says(2, &["it has no time"]);
    assert!(!scene.path().join("c").exists());
    scene.etalon(&["run", "sim:", "--script", "b.csv"]).says(2, &["`etalon capture b.csv`"]);
    let entries = fs::read_dir(scene.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(entries.into_iter().all(|name| !name.to_string_lossy().starts_with(".etalon")), "no draft is left");
}

pub fn mariadb_answer(server: &Database, sql: &str) -> String {
    let mut client = mariadb_command(server);
    client.args(["-Nse", sql]);
    answer(client, &[]).unwrap()
}

/// What a server counts in its slow log, and the log until it was asked.
fn slow_log(server: &Database) -> (u64, String) {
    // Servers log the end of a session when the client is gone.
    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user = 'root'";
    wait_until("the end of the load", || mariadb_answer(server, sessions).trim() == "1");
    let last = "SELECT @@datadir, @@slow_query_log_file";
    let said = mariadb_answer(server, &format!("DO SLEEP(0.5); SHOW GLOBAL STATUS LIKE 'Slow_queries'; {last}"));
    let words: Vec<&str> = said.split_whitespace().collect();
    let log = Path::new(words[2]).join(words[3]);
    let until_last = || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let end = text.find(&format!("{last};\n"))? + last.len() + ";\n".len();
        Some(text[..end].to_owned())
    };
    // A statement is logged behind its answer.
    wait_until("the last record", || until_last().is_some());
    (words[1].parse().unwrap(), until_last().unwrap())
}

fn each_record_of_a_slow_log_is_taken_or_counted(server: &Database) {
    mariadb_sql(server, "SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON");
    let mut statements: String = (0..500).map(|n| format!("SELECT '{SECRET};\n# {n}' AS `a'b`;\n")).collect();
    statements += "# a comment\nSELECT 1 FROM nowhere;\nUSE a;\nCREATE PROCEDURE twice() SELECT SLEEP(0.01) + SLEEP(0.01);\n\
                   CALL twice();\nSELECT SLEEP(1.2);\nSELECT 'zzz';\n";
    let mut client = mariadb_command(server);
    client.arg("--force").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    client.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    client.wait().unwrap();
    let (counted, log) = slow_log(server);
    let scene = Scene::new();
    scene.write("slow.log", &log);
    let taken = json(&scene, &["capture", "slow.log", "-o", "slow.capture"]);
    let sum = |group: &str| counts(&taken, group).iter().map(|(_, count)| count).sum::<u64>();
    let foreign: u64 =
        counts(&taken, "aside").iter().filter(|(code, _)| code == "foreign").map(|(_, count)| count).sum();
    // The question how many there are is not among them, nor the one behind it.
    assert_eq!(taken["executions"].as_u64().unwrap() + sum("aside") - foreign, counted + 2, "{taken}");
    assert_eq!((foreign, sum("left_out")), (3, 0), "a server's start is three lines: {taken}");
    let classes = taken["classes"].as_array().unwrap();
    let class = |text: &str| classes.iter().find(|class| class["text"] == text).unwrap();
    assert_eq!(class("select ? as `a'b`")["executions"], 500, "{taken}");
    assert_eq!(class("call twice()")["executions"], 1, "{taken}");
    let slept_s = class("select sleep(?)")["total_s"].as_f64().unwrap();
    assert!((1.2..5.0).contains(&slept_s), "{slept_s}");
    assert!(!taken.to_string().contains(SECRET), "{taken}");
    scene.etalon(&["run", "sim:", "--script", "slow.log"]).says(2, &["`etalon capture slow.log`"]);
}

#[test]
fn each_statement_of_a_slow_log_is_taken_or_counted() {
    each_record_of_a_slow_log_is_taken_or_counted(&mariadb());
    for folder in folders_of("mysql") {
        each_record_of_a_slow_log_is_taken_or_counted(&mysql(&folder));
    }
}

/// Runs the lines that `--how` prints, by a client of the server, and gives the log that they name.
fn run_lines(how: &Value, group: &str, client: Command) {
    let lines: Vec<&str> = how[group].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let mut client = client;
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    client.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    assert!(client.wait().unwrap().success(), "{lines:?}");
}

fn captured_from(scene: &Scene, how: &Value, statement: &str) {
    let log = PathBuf::from(how["file"].as_str().unwrap());
    wait_until("the log", || fs::read_to_string(&log).is_ok_and(|text| text.contains(statement)));
    fs::copy(&log, scene.path().join("the.log")).unwrap();
    let prefix = how["log_line_prefix"].as_str().map(|prefix| ["--log-line-prefix", prefix]);
    let words = ["capture", "the.log", "-o", "the.capture"].into_iter().chain(prefix.into_iter().flatten());
    scene.etalon(&words.collect::<Vec<_>>()).says(0, &[]);
    let shown = json(scene, &["show", "the.capture"]);
    let classes = shown["classes"].as_array().unwrap();
    assert!(classes.iter().any(|class| class["text"] == "select ? as wanted"), "{shown}");
}

#[test]
fn logs_of_postgres_are_switched_on_and_off_as_printed() {
    let scene = Scene::new();
    let mut server = fresh_postgres();
    let url = postgres_url(server.port, "a");
    scene.etalon(&["capture", "--how", &url]).says(0, &[]);
    assert!(scene.etalon(&["capture", "--how", &url]).stdout.contains("standard error"), "no process collects the log");
    server.restart(&["logging_collector=on", "log_line_prefix=%m ", "log_min_duration_statement=-1"]);
    let said = scene.etalon(&["capture", "--how", &url]).stdout;
    assert!(said.starts_with("-- No statement switches the log on.\n"), "{said}");
    assert!(said.contains("start it with `log_min_duration_statement=0`"), "{said}");
    server.restart(&["logging_collector=on", "log_destination=stderr,csvlog", "log_line_prefix=%u"]);
    let how = json(&scene, &["capture", "--how", &url]);
    assert!(how["file"].as_str().unwrap().ends_with(".csv") && how["log_line_prefix"].is_null(), "{how}");
    server.restart(&["logging_collector=on"]);
    psql(server.port, "a", "ALTER SYSTEM SET log_line_prefix = '%m '");
    psql(server.port, "a", "ALTER SYSTEM SET log_min_duration_statement = '250ms'");
    psql(server.port, "a", "SELECT pg_reload_conf()");
    let settings = || {
        let mut ask = psql_command(server.port, "a");
        ask.args(["-At", "-c", "SELECT name, setting, sourcefile, pending_restart FROM pg_settings ORDER BY name"]);
        answer(ask, &[]).unwrap()
    };
    wait_until("the setting", || settings().contains("log_min_duration_statement|250|"));
    let before = settings();
    let how = json(&scene, &["capture", "--how", &url]);
    assert_eq!(settings(), before, "{how}");
    run_lines(&how, "on", psql_command(server.port, "a"));
    wait_until("the setting", || settings().contains("log_min_duration_statement|0|"));
    psql(server.port, "a", "SELECT 'x' AS wanted");
    captured_from(&scene, &how, "AS wanted");
    let again = scene.etalon(&["capture", "--how", &url]);
    again.says(0, &[]);
    assert!(again.stdout.contains("logs each statement as it is"), "{}", again.stdout);
    run_lines(&how, "off", psql_command(server.port, "a"));
    wait_until("the old settings", || settings() == before);
}

#[test]
fn slow_logs_are_switched_on_and_off_as_printed() {
    let mysqls = folders_of("mysql").into_iter().map(|folder| ("mysql", mysql(&folder)));
    for (engine, server) in [("mariadb", mariadb())].into_iter().chain(mysqls) {
        let scene = Scene::new();
        let url = format!("{engine}://t@127.0.0.1:{}/a?ssl-mode=disabled", server.port);
        mariadb_sql(&server, "SET GLOBAL long_query_time = 2.5, GLOBAL log_output = 'TABLE'");
        let settings = || mariadb_answer(&server, "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE 'gtid%'");
        let before = settings();
        let how = json(&scene, &["capture", "--how", &url]);
        run_lines(&how, "on", mariadb_command(&server));
        let mut wrong = mariadb_command(&server);
        wrong.args(["-e", "SELECT 1 FROM nowhere"]);
        answer(wrong, &[]).unwrap_err();
        mariadb_sql(&server, "SELECT 'x' AS wanted");
        captured_from(&scene, &how, "AS wanted");
        // MariaDB does not say that a statement failed, and MySQL gives its error as 0.
        let shown = json(&scene, &["show", "the.capture"]);
        let classes = shown["classes"].as_array().unwrap();
        let failed = classes.iter().find(|class| class["text"] == "select ? from nowhere").unwrap();
        assert!(failed["errors"].is_null() && counts(&shown, "doubts")[0].0 == "error_unknown", "{shown}");
        assert!(scene.etalon(&["capture", "--how", &url]).stdout.contains("logs each statement as it is"));
        run_lines(&how, "off", mariadb_command(&server));
        assert_eq!(settings(), before, "{how}");
    }
}

#[test]
fn a_server_without_such_a_log_says_so() {
    let scene = Scene::new();
    scene
        .etalon(&["capture", "--how", "sqlite:a.db"])
        .says(3, &["no log of statements", "PostgreSQL, MySQL and MariaDB"]);
    scene.etalon(&["capture"]).says(2, &["LOG"]);
    scene.etalon(&["capture", "--how", "postgres://127.0.0.1:1/a"]).says(3, &["cannot connect", "127.0.0.1:1"]);
    scene.etalon(&["capture", "--how", "sqlite:a.db", "-o", "x"]).says(2, &["--output"]);
}
