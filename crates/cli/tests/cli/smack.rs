//! Scripts in super-smack's language, from the command line to the server's own log.

use crate::scene::{Ran, Scene};
use crate::server::{ROLE, Server};

/// The stock files' shape with fewer rows, and a table, a list and a `print` of its own.
const SCRIPT: &str = r#"
client "admin" { user "root"; host "localhost"; db "test"; pass ""; socket "/tmp/mysql.sock"; }
table "http_auth" {
  client "admin";
  create "create table http_auth
    (username char(25) not null primary key, pass char(25), uid integer not null, gid integer not null)";
  min_rows "900";
  data_file "words.dat";
  gen_data_file "gen-data -n 900 -f %12-12s%n,%25-25s,%n,%d";
}
dictionary "word" { type "rand"; source_type "file"; source "words.dat"; delim ","; file_size_equiv "5000"; }
dictionary "pass" { type "seq"; source_type "list"; source "it's,plain,"; }
query "select_by_username" {
  query "select * from http_auth where username = '$word'"; type "select_index"; has_result_set "y"; parsed "y";
}
query "update_by_username" {
  query "update http_auth set pass='$pass' where username = '$word'"; type "update_index"; parsed "y";
}
client "smacker" { user "test"; host "localhost"; query_barrel "2 select_by_username 1 update_by_username"; }
main {
  smacker.init(); smacker.set_num_rounds($2); smacker.create_threads($1); smacker.connect();
  smacker.unload_query_barrel(); smacker.collect_threads();
  smacker.print("slowest connection: " . smacker::max_connect_time); smacker.disconnect();
}
"#;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("mixed.smack", SCRIPT);
    scene
}

/// The rows of reports: type and count.
fn counts(ran: &Ran) -> Vec<(String, u64)> {
    let rows = ran.stdout.lines().filter(|line| !line.starts_with('#') && !line.starts_with("Query"));
    let fields = rows.map(|line| line.split('\t').collect::<Vec<_>>()).filter(|fields| fields.len() == 5);
    fields.map(|fields| (fields[0].to_owned(), fields[1].parse().unwrap())).collect()
}

#[test]
fn a_script_runs_unchanged_and_its_report_counts_every_query() {
    let scene = scene();
    let args = ["run", "mixed.smack", "3", "20", "--system", "one=sqlite:a.db", "--system", "sqlite:b.db", "--format"];
    let args = [&args[..], &["super-smack", "--set", "schedule.rounds=2", "--set", "schedule.warmup=0s"]].concat();
    let ran = scene.etalon(&args);
    ran.says(0, &["holds 90 of 900 words, every 10th"]);
    for text in [
        "# system one: 2 runs\nQuery Barrel Report for client smacker\nconnect: max=",
        " from 3 clients \nQuery_type\tnum_queries\tmax_time\tmin_time\tq_per_s\n",
        "slowest connection: ",
        "# system sqlite: 2 runs\n",
    ] {
        assert!(ran.stdout.contains(text), "{text}\n{}", ran.stdout);
    }
    // Two runs of 3 clients and 20 rounds on each system, 2 selects and 1 update a round.
    let both = [("select_index".to_owned(), 2 * 3 * 20 * 2), ("update_index".to_owned(), 2 * 3 * 20)];
    assert_eq!(counts(&ran), [both.clone(), both].concat(), "{}", ran.stdout);
    let store = scene.store();
    let each = scene.etalon(&["compare", store.to_str().unwrap(), "--format", "super-smack", "--runs"]);
    assert_eq!(each.stdout.matches("Query Barrel Report").count(), 4, "{}", each.stdout);
    assert!(!scene.path().join("words.dat").exists(), "étalon leaves no file that nobody asked for");
}

#[test]
fn a_plan_sweeps_clients_of_a_built_in_script() {
    let scene = Scene::new();
    let plan = "[systems.s]\nurl = \"sqlite:a.db\"\n[[benchmarks]]\nname = \"smacker\"\nworkload = \"super-smack\"\n\
                script = \"select-key\"\nclients = [1, 2]\nprotocol = [\"simple\", \"prepared\"]\n\
                [schedule]\nrounds = 1\nwarmup = \"0s\"\ntransactions = 50\n";
    scene.write("p.toml", plan);
    let ran = scene.etalon(&["run", "p.toml", "--format", "super-smack"]);
    ran.says(0, &["holds 750 of 90000 words"]);
    let row = |count| ("select_index".to_owned(), count);
    assert_eq!(counts(&ran), [row(50), row(50), row(100), row(100)], "{}", ran.stdout);
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_a_hint() {
    let scene = scene();
    let url = ["--system", "sqlite:a.db"];
    let run = |args: &[&str]| scene.etalon(&[&["run"], args, &url].concat());
    run(&["mixed.smack", "3"]).says(2, &["line 21, column 42: `$2` is argument 2", "there are 1", "hint: write them"]);
    run(&["mixed.smack", "0", "5"]).says(2, &["line 21, column 55", "the number of clients is 0"]);
    run(&["mixed.smack", "x", "5"]).says(2, &["`x` is not a number of clients"]);
    run(&["no.smack", "1", "1"]).says(2, &["cannot read the script `no.smack`", "hint: name a `.smack` file"]);
    run(&["quickstart", "1", "1"]).says(2, &["`quickstart` is a plan", "only a `.smack` file takes values"]);
    scene.etalon(&["run", "mixed.smack", "1", "1"]).says(2, &["no system is named", "--system mysql://"]);
    let variant = |from: &str, to: &str| {
        scene.write("v.smack", &SCRIPT.replace(from, to));
        run(&["v.smack", "1", "1"])
    };
    variant("min_rows \"900\"", "min_rows \"901\"")
        .says(2, &["line 7, column 12", "needs 901 rows, and its data has 900"]);
    variant("'$word'\"; type", "'$wrod'\"; type")
        .says(2, &["line 14, column 52", "no dictionary \"wrod\"", "did you mean `word`?"]);
    variant("2 select_by_username", "2 select_by_name")
        .says(2, &["line 19, column 64", "there is no query \"select_by_name\""]);
    variant("source \"words.dat\"", "source \"other.dat\"")
        .says(2, &["line 11, column 61", "there is no file", "other.dat"]);
    variant("gen-data -n", "perl -n").says(2, &["line 9, column 17", "it does not run `perl`"]);
    assert!(!scene.path().join("etalon-results").exists(), "what is wrong is found before anything is made");
    // The server rejects the statement: queries are counted, and runs marked.
    variant("select * from", "select * form").says(0, &["smacker @ sqlite", "(errors"]);
}

#[test]
fn a_password_in_a_url_is_not_shown() {
    let scene = scene();
    let url = "x=postgres://somebody:hunter2@127.0.0.1:1/nothing?connect_timeout=1";
    let ran = scene.etalon(&["run", "mixed.smack", "1", "1", "--system", url]);
    ran.says(3, &["system `x`"]);
    assert!(!ran.stderr.contains("hunter2") && !ran.stdout.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn the_server_s_log_has_every_query_and_no_other() {
    let server = Server::start(&["log_statement=all"]);
    let scene = scene();
    let url = format!("pg=postgres://{ROLE}:hunter2@/postgres?host={}", server.folder().display());
    let args =
        ["run", "mixed.smack", "3", "20", "--system", &url, "--format", "super-smack", "--set", "schedule.rounds=2"];
    let ran = scene.etalon(&[&args[..], &["--set", "schedule.warmup=0s"]].concat());
    ran.says(0, &[]);
    let log = server.log();
    let count = |text: &str| log.lines().filter(|line| line.contains("statement: ") && line.contains(text)).count();
    // Sent as text, like super-smack: two runs of 3 clients and 20 rounds.
    assert_eq!(count("select * from http_auth where username = '"), 2 * 3 * 20 * 2, "{}", ran.stderr);
    assert_eq!(count("update http_auth set pass='it''s' where username = '"), 2 * 3 * 10);
    assert_eq!(count("update http_auth set pass='plain' where username = '"), 2 * 3 * 10);
    let words: std::collections::BTreeSet<&str> = log
        .lines()
        .filter(|line| line.contains("statement: select * from http_auth"))
        .filter_map(|line| line.split('\'').nth(1))
        .collect();
    // Words end in their row numbers, every 10th of which is in the dictionary.
    let row = |word: &&str| word.trim_start_matches(|c: char| c.is_ascii_lowercase()).parse::<u32>().unwrap();
    assert!(words.len() > 40 && words.iter().all(|word| row(word).is_multiple_of(10)), "{words:?}");
    let both = [("select_index".to_owned(), 2 * 3 * 20 * 2), ("update_index".to_owned(), 2 * 3 * 20)];
    assert_eq!(counts(&ran), both, "{}", ran.stdout);
    assert!(!ran.stdout.contains("n/a  "), "the times of connections are known: {}", ran.stdout);
    for entry in std::fs::read_dir(scene.path().join("etalon-results")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "the password is in {}", path.display());
    }
}
