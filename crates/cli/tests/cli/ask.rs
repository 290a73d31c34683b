//! One's own question: systems and scripts on the command line.

use std::process::Command;

use serde_json::Value;

use crate::scene::{Ran, Scene};
use crate::server::{ROLE, Server, programs};

const SIMS: [&str; 2] = ["old=sim:?service_us=1000&noise=0.02", "new=sim:?service_us=700&noise=0.02"];

fn object(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

/// What `etalon plan --json` says of these arguments.
fn planned(scene: &Scene, arguments: &[&str]) -> Value {
    let ran = scene.etalon(&[&["plan", "--json"], arguments].concat());
    ran.says(0, &[]);
    object(&ran)["plan"].clone()
}

fn names(plan: &Value) -> Vec<&str> {
    plan["systems"].as_array().unwrap().iter().map(|system| system["name"].as_str().unwrap()).collect()
}

fn url_of(server: &Server, database: &str) -> String {
    format!("postgres://{ROLE}:hunter2@/{database}?host={}", server.folder().display())
}

fn psql(server: &Server, database: &str, sql: &str) -> String {
    let mut command = Command::new(programs().join("psql"));
    let output =
        command.arg("-h").arg(server.folder()).args(["-U", ROLE, "-d", database, "-Atc", sql]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn two_systems_end_in_a_verdict_without_a_file() {
    let scene = Scene::new();
    let ran = scene.etalon(&[&["run", "--json", "--name", "my question"], &SIMS[..]].concat());
    ran.says(0, &["my question: 2 systems, 6 cases, 6 rounds, 36 runs"]);
    let rows = object(&ran)["comparisons"].as_array().unwrap().clone();
    let throughput: Vec<&Value> = rows.iter().filter(|row| row["metric"] == "throughput").collect();
    assert_eq!(throughput.len(), 3);
    for row in throughput {
        assert_eq!(row["verdict"], "faster", "{row}");
    }
    let store = scene.store();
    assert!(store.file_name().unwrap().to_str().unwrap().starts_with("my-question-"), "{}", store.display());
    let report = std::fs::read_to_string(store.with_extension("html")).unwrap();
    assert!(report.contains("my question"), "the report has the experiment's name");
    scene.etalon(&["resume", store.to_str().unwrap()]).says(0, &["nothing is pending"]);
}

#[test]
fn plan_shows_every_side_and_what_the_options_make_of_it() {
    let scene = Scene::new();
    let plan = planned(&scene, &SIMS);
    assert_eq!(names(&plan), ["old", "new"]);
    assert_eq!((&plan["name"], &plan["schedule"]["rounds"]), (&Value::from("old-vs-new"), &Value::from(6)));
    let asked = |more: &[&str]| planned(&scene, &[&SIMS[..], more].concat());
    let plan = asked(&["--script", "select-update", "--clients", "1,8,8"]);
    let clients: Vec<&Value> =
        plan["benchmarks"][0]["points"].as_array().unwrap().iter().map(|point| &point["clients"]).collect();
    assert_eq!((plan["benchmarks"].as_array().unwrap().len(), clients), (1, vec![&Value::from(1), &Value::from(8)]));
    let quick = asked(&["--quick"]);
    assert_eq!(quick["schedule"]["rounds"], 1);
    // One system alone.
    assert_eq!(names(&planned(&scene, &["sim:"])), ["sim"]);
    assert_eq!(names(&planned(&scene, &["sim:", "--aa"])), ["sim (A)", "sim (B)"]);
    assert_eq!(names(&planned(&scene, &["--system", "a=sim:", "--system", "b=sim:?noise=0.1"])), ["a", "b"]);
}

#[test]
fn the_time_of_an_experiment_is_spread_over_rounds_and_runs() {
    let scene = Scene::new();
    let mut last = (0, 0.0);
    for (time, least_s) in [("2m", 120.0), ("10m", 600.0), ("2h", 7200.0)] {
        let ran = scene.etalon(&[&["plan", "--json", "--for", time], &SIMS[..]].concat());
        ran.says(0, &[&format!("`--for {time}`: ")]);
        let object = object(&ran);
        let (rounds, expected) =
            (object["plan"]["schedule"]["rounds"].as_u64().unwrap(), object["expected_s"].as_f64().unwrap());
        assert!(expected <= least_s * 1.01 && expected > least_s * 0.8, "{time}: {expected} s");
        assert!(rounds >= 6 && rounds >= last.0 && expected > last.1, "{time}: {rounds} rounds");
        last = (rounds, expected);
    }
    let run = |time: &str| scene.etalon(&[&["plan", "--for", time], &SIMS[..]].concat());
    run("1s").says(2, &["`--for 1s` is too short for a verdict", "36 runs", "hint: give it `--for "]);
    run("1").says(2, &["`--for 1` is not a length of time", "--for 90s"]);
}

#[test]
fn a_time_is_kept_whatever_plan_and_set_say() {
    let scene = Scene::new();
    let asked: [&[&str]; 8] = [
        &["quickstart"],
        &[SIMS[0], SIMS[1], "--set", "schedule.duration=700ms"],
        &[SIMS[0], SIMS[1], "--rounds", "8"],
        &[SIMS[0], SIMS[1], "--set", "schedule.warmup=300ms", "--clients", "2"],
        &[SIMS[0], "--aa"],
        &["sqlite:a.db", "sqlite:b.db", "--set", "benchmarks.*.scale=5"],
        &["sqlite:a.db", "--script", "select-only", "--clients", "1,2,4"],
        &[".", "--clients", "1"],
    ];
    for (time, seconds) in [("1m", 60.0), ("2m", 120.0), ("5m", 300.0), ("15m", 900.0)] {
        for words in asked {
            let ran = scene.etalon(&[&["plan", "--json", "--for", time], words].concat());
            ran.says(0, &[&format!("`--for {time}`: ")]);
            let expected = object(&ran)["expected_s"].as_f64().unwrap();
            // Next to what else runs here not everything fits into a minute. What is left over more rounds fill.
            let most = if ran.stderr.contains("machine is busy") { f64::MAX } else { 1.01 * seconds };
            assert!((0.8 * seconds..=most).contains(&expected), "{time} {words:?}: {expected} s");
        }
    }
    scene.etalon(&["plan", "spatial", "--for", "1m"]).says(0, &["rounds, as many as fit into it"]);
}

#[test]
fn what_the_hint_of_a_short_time_says_is_enough() {
    let scene = Scene::new();
    let refused = scene.etalon(&[&["plan", "--for", "5s"], &SIMS[..]].concat());
    let time = refused.stderr.split("give it `--for ").nth(1).unwrap().split('`').next().unwrap();
    scene.etalon(&[&["plan", "--for", time], &SIMS[..]].concat()).says(0, &[]);
}

/// A file and a folder of SQL are taken for different things, and each says how the other is asked for.
#[test]
fn a_file_of_sql_is_a_script_and_a_folder_is_queries() {
    let scene = Scene::new();
    scene.write("one.sql", "SELECT 1;\n");
    std::fs::create_dir(scene.path().join("sql")).unwrap();
    scene.write("sql/q1.sql", "SELECT 1;\n");
    let plan = |what: &[&str]| scene.etalon(&[&["plan"], &SIMS[..], what].concat());
    plan(&["one.sql"]).says(0, &["`one.sql` is a script", "`--queries one.sql` times it as a query"]);
    plan(&["sql"]).says(0, &["`sql` is a folder of queries", "`--script FILE`"]);
    for named in [["--script", "one.sql"], ["--queries", "one.sql"]] {
        let said = plan(&named).stderr;
        assert!(!said.contains("is a script") && !said.contains("is a folder"), "{said}");
    }
}

#[test]
fn init_writes_what_run_would_do() {
    let scene = Scene::new();
    let arguments = [&SIMS[..], &["--clients", "2", "--name", "mine"]].concat();
    scene.etalon(&[&["init"], &arguments[..]].concat()).says(0, &["wrote plan.toml", "etalon run plan.toml"]);
    let text = std::fs::read_to_string(scene.path().join("plan.toml")).unwrap();
    let mut explained = std::collections::BTreeSet::new();
    for (above, line) in text.lines().zip(text.lines().skip(1)) {
        let key = line.split(" = ").next().filter(|key| line.contains(" = ") && !key.starts_with('#'));
        if let Some(key) = key.filter(|key| explained.insert(*key)) {
            assert!(above.starts_with('#'), "{key} has no comment:\n{text}");
        }
    }
    assert!(explained.len() > 7, "{explained:?}");
    let seeded = |what: &[&str]| planned(&scene, &[what, &["--set", "schedule.seed=1"]].concat());
    assert_eq!(seeded(&["plan.toml"]), seeded(&arguments), "{text}");
    scene.etalon(&["run", "plan.toml", "--quick", "--quiet"]).says(0, &[]);
    // It writes over nothing unless it is told to.
    scene.etalon(&[&["init"], &SIMS[..]].concat()).says(2, &["`plan.toml` is there already", "--force"]);
    assert_eq!(std::fs::read_to_string(scene.path().join("plan.toml")).unwrap(), text);
    scene.etalon(&[&["init", "--force"], &SIMS[..]].concat()).says(0, &[]);
    assert_ne!(std::fs::read_to_string(scene.path().join("plan.toml")).unwrap(), text);
    let shown = scene.etalon(&["init", "-o", "-"]);
    shown.says(0, &["two databases that étalon makes"]);
    scene.write("bare.toml", &shown.stdout).etalon(&["run", "bare.toml", "--quick", "--quiet"]).says(0, &[]);
}

#[test]
fn init_writes_no_password_and_says_where_it_comes_from() {
    let scene = Scene::new();
    let url = "postgres://me:hunter2@db1/bench?sslpassword=hunter2";
    let ran = scene.etalon(&["init", url, "mysql://me:hunter2@db2/", "-o", "p.toml"]);
    ran.says(0, &[]);
    let text = std::fs::read_to_string(scene.path().join("p.toml")).unwrap();
    assert!(text.contains("url = \"postgres://me@db1/bench\"") && text.contains("env:NAME"), "{text}");
    assert!(!format!("{text}{}{}", ran.stdout, ran.stderr).contains("hunter2"));
    assert_eq!(names(&planned(&scene, &["p.toml"])), ["postgres", "mysql"]);
}

#[test]
fn a_quick_form_is_made_for_any_plan() {
    let scene = Scene::new();
    let plan = "[systems.a]\nurl = \"sim:\"\n[[benchmarks]]\nworkload = \"transactions\"\n[schedule]\nrounds = 20\nduration = \"1h\"\n";
    scene.write("p.toml", plan);
    scene.etalon(&["run", "p.toml", "--quick"]).says(0, &["1 round of runs of at most 1s", "no verdicts"]);
}

#[test]
fn what_is_wrong_is_said_once_with_what_to_type() {
    let scene = Scene::new();
    scene.write("empty.sql", "-- nothing\n\n").write("notes", "select 1;\n");
    let says = |arguments: &[&str], texts: &[&str]| {
        for verb in ["run", "plan"] {
            let ran = scene.etalon(&[&[verb], arguments].concat());
            ran.says(2, texts);
            assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
        }
    };
    says(&[], &["nothing is named to be run", "etalon run postgres://"]);
    says(&["quickstrat"], &["`quickstrat` is neither", "did you mean `quickstart`?"]);
    says(&["marioadb", "sim:"], &["did you mean `mariadb`?"]);
    says(&["postgers://me@h/d", "sim:"], &["`postgers://`", "did you mean `postgres://`?"]);
    says(&["sim:", "sim:"], &["`sim:` is named twice", "--aa"]);
    says(&["a=sim:", "b=sim:"], &["`sim:` is named twice", "--aa", "--set-b NAME=VALUE"]);
    says(&["sim:", "--clients", "0"], &["`--clients 0`", "--clients 1,8"]);
    says(&["sim:", "--clients", "x"], &["`--clients x`"]);
    says(&["sim:", "--script", "no.sql"], &["cannot read the script `no.sql`", "tpcb-like"]);
    says(&["sim:", "--script", "tpcb-lik"], &["did you mean `tpcb-like`?"]);
    says(&["sim:", "--script", "empty.sql"], &["`empty.sql` is empty"]);
    says(&["empty.sql"], &["no system is named", "etalon run empty.sql postgres"]);
    says(&["."], &["no system is named", "etalon run disk:."]);
    says(&["no.sql", "sim:"], &["cannot read the script `no.sql`"]);
    says(&["sim:", "disk:."], &["no benchmark in common"]);
    says(&["quickstart", "sim:"], &["`quickstart` is a plan", "quickstart --system sim:`"]);
    says(&["sim:", "quickstart"], &["`quickstart` is a plan", "--system NAME=URL"]);
    says(&["quickstart", "--clients", "4"], &["--set 'benchmarks.*.clients=[4]'"]);
    says(&["quickstart", "--for", "1s"], &["`--for 1s` is too short for a verdict"]);
    says(&["sim:", "--name", " "], &["`--name` is empty"]);
    says(&["./nothing"], &["there is no such file"]);
    says(&["me:hunter2@h/d", "sim:"], &["`me:***@h/d` is neither"]);
    says(&["sim:", "--quick", "--for", "2m"], &["'--quick'", "'--for <TIME>'"]);
    says(&["mssql"], &["mssql://user@host:port/"]);
    scene.etalon(&["plan", "notes", "sqlite"]).says(0, &["notes works on tables that are there, and sqlite has none"]);
    for verb in ["run", "plan"] {
        let ran = scene.etalon(&[verb, "env:ETALON_NOWHERE", "sim:"]);
        ran.says(2, &["`env:ETALON_NOWHERE`", "export ETALON_NOWHERE="]);
        let ran = scene.etalon(&[verb, "postgres:999", "sim:"]);
        ran.says(3, &["PostgreSQL 999", "installed here is", "apt install postgresql-999", "bin_dir"]);
    }
    assert!(!scene.path().join("etalon-results").exists(), "what is wrong is found before anything is made");
}

#[test]
fn one_system_under_two_settings_has_a_name_for_each() {
    let scene = Scene::new();
    let plan = planned(&scene, &["a=sqlite:x.db", "b=sqlite:x.db", "--set", "systems.b.settings.synchronous=OFF"]);
    assert_eq!(plan["systems"][1]["settings"]["synchronous"], "OFF");
}

/// One database, two of them, and one of another kind: what étalon makes is told, and is gone at the end.
#[test]
fn servers_by_url_are_compared_and_left_as_they_were() {
    let server = Server::start(&[]);
    psql(&server, "postgres", "CREATE DATABASE other");
    psql(&server, "postgres", "CREATE TABLE mine (id int); INSERT INTO mine VALUES (7)");
    let scene = Scene::new();
    let (one, other) = (url_of(&server, "postgres"), url_of(&server, "other"));
    let ran = scene.etalon(&["run", &one, &other, "file=sqlite:a.db", "--quick", "--clients", "2"]);
    ran.says(
        0,
        &[
            "postgres-postgres: makes the schema `etalon` at ",
            ", and removes at the end what it made",
            "file: makes the file a.db",
        ],
    );
    assert!(ran.stdout.contains("postgres-other") && ran.stdout.contains("file"), "{}", ran.stdout);
    for database in ["postgres", "other"] {
        assert_eq!(psql(&server, database, "SELECT count(*) FROM pg_namespace WHERE nspname = 'etalon'"), "0");
    }
    assert!(!scene.path().join("a.db").exists());
    let kept = ["run", &format!("kept={one}"), "--set", "systems.kept.reset=restore", "--quick", "--clients", "2"];
    let ran = scene.etalon(&kept);
    ran.says(0, &["kept: makes the databases `etalon` and `etalon_kept_1`, ", ", and removes at the end what it made"]);
    assert_eq!(psql(&server, "postgres", "SELECT count(*) FROM pg_database WHERE datname LIKE 'etalon%'"), "0");
    // A script of one's own, on tables of one's own, in a plan's place.
    scene.write("mine.sql", "SELECT id FROM mine;\nINSERT INTO mine VALUES (8);\n");
    let ran = scene.etalon(&["run", "mine.sql", "--system", &one, "--quick"]);
    ran.says(0, &["mine: works on the tables that are there; étalon makes, fills and drops none"]);
    let rows: u64 = psql(&server, "postgres", "SELECT count(*) FROM mine WHERE id = 8").parse().unwrap();
    assert!(rows > 1, "{rows}");
    // And on pgbench's, which étalon makes.
    scene.write("bank.sql", "SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n");
    let ran = scene.etalon(&["run", &one, "--script", "bank.sql", "--script", "tpcb-like", "--quick"]);
    ran.says(0, &["bank names pgbench_accounts, and others here need étalon's own", "`--scale 50` makes them larger"]);
    let ran = scene.etalon(&["run", &one, "--script", "bank.sql", "--clients", "1,3", "--quick"]);
    ran.says(0, &["bank names pgbench_accounts, and postgres has none: étalon makes pgbench's tables, at scale 3"]);
    assert!(ran.stdout.contains("The tables were étalon's own, at scale 3."), "{}", ran.stdout);
    assert_eq!(psql(&server, "postgres", "SELECT to_regclass('public.pgbench_accounts') IS NULL"), "t");
    // Those that are there are taken, and nothing is said of others.
    let made = "CREATE TABLE pgbench_accounts (aid int, abalance int); CREATE TABLE pgbench_branches (bid int); \
                INSERT INTO pgbench_branches SELECT generate_series(1, 3)";
    psql(&server, "postgres", made);
    let ran = scene.etalon(&["run", &one, "--script", "bank.sql", "--quick"]);
    ran.says(0, &["bank: works on the tables that are there; étalon makes, fills and drops none"]);
    assert!(!ran.stderr.contains("étalon makes pgbench's tables"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("étalon's own"), "{}", ran.stdout);
    let point = &planned(&scene, &[&one, "--script", "bank.sql", "-c", "2"])["benchmarks"][0]["points"][0];
    assert_eq!((&point["tables"], &point["scale"]), (&Value::from("none"), &Value::from(3)));
    for entry in std::fs::read_dir(scene.path().join("etalon-results")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "the password is in {}", path.display());
        assert!(!path.display().to_string().contains("hunter2"));
    }
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hunter2"));
}

#[test]
fn servers_by_name_are_started_and_removed() {
    let scene = Scene::new();
    let ran =
        scene.etalon(&["run", "postgres", "mariadb", "sqlite", "--quick", "--clients", "1", "--script", "select-only"]);
    ran.says(
        0,
        &["postgres, mariadb: makes a private server in a temporary folder, and removes at the end what it made"],
    );
    for name in ["postgres", "mariadb", "sqlite"] {
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
    }
    let left: Vec<_> = std::fs::read_dir(scene.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["etalon-results"]);
}

#[test]
fn a_server_by_name_takes_the_place_of_a_plans_system() {
    let scene = Scene::new();
    let plan = planned(&scene, &["quickstart", "--system", "mine=postgres:15", "--system", "mariadb"]);
    assert_eq!(names(&plan), ["mine", "mariadb"]);
    assert_eq!(plan["systems"][0]["server"]["version"], "15");
    assert_eq!(plan["systems"][1]["server"]["engine"], "mariadb");
}

#[test]
fn two_folders_are_two_disks() {
    let scene = Scene::new();
    for folder in ["nvme", "hdd"] {
        std::fs::create_dir(scene.path().join(folder)).unwrap();
    }
    let ran = scene.etalon(&["run", "nvme", "hdd", "--quick", "--clients", "4", "--set", "benchmarks.*.size_mb=4"]);
    ran.says(0, &["nvme: makes files in nvme", "hdd: makes files in hdd"]);
    for text in ["read-pages", "write-pages", "write-log", "A = nvme, B = hdd"] {
        assert!(ran.stdout.contains(text), "{text}\n{}", ran.stdout);
    }
    for folder in ["nvme", "hdd"] {
        assert_eq!(std::fs::read_dir(scene.path().join(folder)).unwrap().count(), 0, "{folder}");
    }
}

#[test]
fn options_of_pgbench_shape_the_load_where_they_mean_the_same() {
    let scene = Scene::new();
    scene.write("a.sql", "SELECT 1;\n");
    scene.write("b.sql", "SELECT 2;\n");
    let plan = planned(&scene, &["sim:", "--script", "select-only", "-c", "2,4", "-j", "2", "-s", "5"]);
    let points = plan["benchmarks"][0]["points"].as_array().unwrap();
    let found: Vec<_> = points.iter().map(|point| [&point["clients"], &point["threads"], &point["scale"]]).collect();
    let number = |value: i64| Value::from(value);
    assert_eq!(found, [[&number(2), &number(2), &number(5)], [&number(4), &number(2), &number(5)]]);
    let of = |list: &str| {
        let plan = planned(&scene, &["sim:", "--script", list, "--clients", "1"]);
        let all = plan["benchmarks"].as_array().unwrap();
        all.iter().map(|one| one["points"][0]["script"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("a.sql,b.sql"), ["a.sql", "b.sql"]);
    assert_eq!(of("a.sql@9,b.sql@1"), ["a.sql@9, b.sql@1"]);
    scene.etalon(&["plan", "sim:", "-T", "60"]).says(2, &["`--for 5m` is the time of the whole experiment"]);
    scene.etalon(&["plan", "quickstart", "-s", "5"]).says(2, &["--set 'benchmarks.*.scale=[5]'"]);
    let set = ["plan", "sim:", "--set", "benchmarks.script=a.sql"];
    scene.etalon(&set).says(2, &["`benchmarks.*.script` is that of all of them", "`--script` sets it"]);
    scene.write("server.log", "2026-01-02 10:00:00.123 UTC [7] LOG:  statement: SELECT 1;\n".repeat(9).as_str());
    scene.etalon(&["plan", "sim:", "--script", "server.log"]).says(2, &["looks like the log of a server"]);
}

#[test]
fn a_promise_is_answered_with_a_capacity() {
    const SIM: &str = "sim:?service_us=2000&servers=4&noise=0.02";
    let scene = Scene::new();
    let asked = [SIM, "--script", "select-only", "--clients", "64", "--p99", "20ms"];
    let plan = planned(&scene, &asked);
    let point = &plan["benchmarks"][0]["points"][0];
    assert_eq!(point["promise.response_p99"], "20ms");
    assert_eq!(point["arrivals"], "poisson");
    let rounds = |systems: &[&str]| {
        planned(&scene, &[systems, &["--script", "select-only", "--p99", "20ms"]].concat())["schedule"]["rounds"]
            .clone()
    };
    assert_eq!((rounds(&[SIM]), rounds(&SIMS)), (6.into(), 12.into()), "two systems are compared until it is sure");
    let timed = scene.etalon(&[&["plan", "--json", "--for", "5m"], &asked[..]].concat());
    timed.says(0, &["each short run "]);
    let expected = object(&timed)["expected_s"].as_f64().unwrap();
    assert!((270.0..=303.0).contains(&expected), "{expected} s");
    let ran = scene.etalon(&[&["run", "--quick"], &asked[..]].concat());
    ran.says(0, &[]);
    assert!(ran.stdout.starts_with("sim carries 1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("tx/s with 99 % under 20 ms in select-only"), "{}", ran.stdout);
    let clients = planned(&scene, &[SIM, "--p99", "20ms", "--max-clients", "32"]);
    let points: Vec<&Value> = clients["benchmarks"].as_array().unwrap().iter().map(|one| &one["points"][0]).collect();
    assert_eq!(points.len(), 1, "a search takes long");
    assert!(points.iter().all(|point| point["promise.max_clients"] == 32 && point["arrivals"].is_null()), "{points:?}");
    let disks = planned(&scene, &["/tmp", "--p99", "2ms"]);
    assert_eq!(disks["benchmarks"].as_array().unwrap().len(), 2);
    scene.etalon(&["plan", SIM, "--p99", "20"]).says(2, &["`20` has no unit", "`--p99 20ms`"]);
    scene.etalon(&["plan", SIM, "--max-clients", "9"]).says(2, &["nothing is sought", "--p99 20ms"]);
    let both = [SIM, "--p99", "9ms", "--clients", "4", "--max-clients", "9"];
    scene.etalon(&[&["plan"], &both[..]].concat()).says(2, &["leave one of them out"]);
    scene.etalon(&["plan", "/tmp", "--p99", "9ms", "--max-clients", "9"]).says(2, &["the systems are disks"]);
    scene.etalon(&["plan", "quickstart", "--p99", "9ms"]).says(2, &["--set 'benchmarks.*.promise.response_p99=9ms'"]);
    scene.etalon(&["plan", "mysql", "--script", "select-key", "--p99", "9ms"]).says(2, &["super-smack's language"]);
}

#[test]
fn scripts_of_both_languages_are_asked_in_one_experiment() {
    let scene = Scene::new();
    let plan = planned(&scene, &["sqlite:a.db", "--script", "select-key", "--script", "select-only@9, select-update"]);
    let asked: Vec<(&str, &str)> = plan["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|benchmark| (benchmark["name"].as_str().unwrap(), benchmark["workload"].as_str().unwrap()))
        .collect();
    assert_eq!(asked, [("select-key", "super-smack"), ("select-only-select-update", "transactions")]);
    let ran = scene.etalon(&["run", "sqlite:a.db", "--script", "select-key", "--quick", "--clients", "2"]);
    ran.says(0, &[]);
    // In a plan's place, without the values of its arguments.
    let plan = planned(&scene, &["select-key", "--system", "a=sqlite:a.db", "b=sqlite:b.db", "--clients", "2"]);
    assert_eq!((names(&plan), plan["benchmarks"].as_array().unwrap().len()), (vec!["b", "a"], 1));
    assert_eq!(names(&planned(&scene, &["select-key", "a=sqlite:a.db"])), ["a"]);
}
