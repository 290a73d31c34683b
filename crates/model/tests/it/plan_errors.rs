//! What is said about a plan that is wrong, to the letter: it is what a user sees.

use crate::common::{GOOD, SMALL, catalog, each, errors, errors_with, parse, parse_with};
use insta::assert_snapshot;
use model::Plan;

fn benchmark(line: &str) -> String {
    errors(&format!("{}{line}\n", SMALL.replace("clients = [1, 4]\n", "")))
}

fn schedule(line: &str) -> String {
    errors(&format!("{SMALL}[schedule]\n{line}\n"))
}

fn top(line: &str) -> String {
    errors(&format!("{line}\n{SMALL}"))
}

fn system(lines: &str) -> String {
    errors(&SMALL.replace("url = \"postgres://u@h/a\"", lines))
}

#[test]
fn an_unknown_key() {
    assert_snapshot!(benchmark("client = 4"), @r#"
    error: unknown key `client` in benchmark `transactions`
      plan: db.toml:8  client = 4

    hint: did you mean `clients`?
    "#);
}

#[test]
fn an_unknown_key_without_a_near_one() {
    assert_snapshot!(each(benchmark, &["rounds = 4", "colour = 1", "\"a\\u001bb\" = 1"]), @r#"
    error: unknown key `rounds` in benchmark `transactions`
      plan: db.toml:8  rounds = 4

    hint: `rounds` belongs in `[schedule]`
    ---
    error: unknown key `colour` in benchmark `transactions`
      plan: db.toml:8  colour = 1

    hint: the keys here are `name`, `workload`, `stands_for`, `clients_on`, `couples`, `clients`, `script`, `rate`, `think`, `prepared` and `note`
    ---
    error: unknown key `a\u{1b}b` in benchmark `transactions`
      plan: db.toml:8  "a\u001bb" = 1

    hint: the keys here are `name`, `workload`, `stands_for`, `clients_on`, `couples`, `clients`, `script`, `rate`, `think`, `prepared` and `note`
    "#);
}

#[test]
fn an_unknown_key_at_the_top() {
    assert_snapshot!(each(top, &["sistems = 1", "seed = 1", "x = 1"]), @r#"
    error: unknown key `sistems` in the plan
      plan: db.toml:1  sistems = 1

    hint: did you mean `systems`?
    ---
    error: unknown key `seed` in the plan
      plan: db.toml:1  seed = 1

    hint: `seed` belongs in `[schedule]`
    ---
    error: unknown key `x` in the plan
      plan: db.toml:1  x = 1

    hint: the keys here are `name`, `systems`, `benchmarks`, `schedule`, `baseline`, `margin`, `level`, `allow_unequal_durability`, `allow_sequential_order`, `allow_different_rows`, `quick` and `fleet`
    "#);
}

#[test]
fn an_unknown_key_of_a_system() {
    assert_snapshot!(system("url = \"sqlite:x\"\nsetting = {}\n"), @r#"
    error: unknown key `setting` in system `a`
      plan: db.toml:4  setting = {}

    hint: did you mean `settings`?
    "#);
}

#[test]
fn an_unknown_key_of_a_server() {
    assert_snapshot!(system("server = { engine = \"mysql\", bindir = \"/x\" }"), @r#"
    error: unknown key `bindir` in `server` of system `a`
      plan: db.toml:3  server = { engine = "mysql", bindir = "/x" }

    hint: did you mean `bin_dir`?
    "#);
}

#[test]
fn an_unknown_key_of_the_schedule() {
    assert_snapshot!(each(schedule, &["round = 3", "onerror = 1"]), @r#"
    error: unknown key `round` in `[schedule]`
      plan: db.toml:10  round = 3

    hint: did you mean `rounds`?
    ---
    error: unknown key `onerror` in `[schedule]`
      plan: db.toml:10  onerror = 1

    hint: did you mean `on_error`?
    "#);
}

#[test]
fn everything_is_told_at_once_in_the_order_of_the_file() {
    let text = r#"
margin = 3
[systems.a]
url = "postgress://u:secret@h/a"
[[benchmarks]]
workload = "transactions"
clients = 0
script = "tpcblike"
rate = "x"
[[benchmarks]]
workload = "backups"
[schedule]
rounds = 0
warmup = 5
"#;
    let found = parse_with(text, &[("schedule.order", "random")]).unwrap_err();
    assert_eq!(
        found.errors.iter().map(|e| e.line).collect::<Vec<_>>(),
        [2, 4, 7, 8, 9, 11, 13, 14].map(Some).into_iter().chain([None]).collect::<Vec<_>>()
    );
    assert_eq!((found.errors[1].column, found.errors[4].column), (Some(7), Some(8)));
    assert_snapshot!(found, @r#"
    error: `margin` in the plan must be a share between 0 and 1, not 3
      plan: db.toml:2  margin = 3

    hint: write 0.03 or "3%"

    error: `url` of system `a` has the scheme `postgress`, which no engine has
      plan: db.toml:4  url = "postgress://u:***@h/a"

    hint: did you mean `postgres:`?

    error: `clients` in benchmark `tpcblike` must be a whole number from 1 to 10000, not 0
      plan: db.toml:7  clients = 0

    error: `script` in benchmark `tpcblike` must be one of `tpcb-like`, `simple-update` and `select-only`, or the path of a file, not "tpcblike"
      plan: db.toml:8  script = "tpcblike"

    hint: did you mean `tpcb-like`?

    error: `rate` in benchmark `tpcblike` must be a number from 0 to 1000000000, not "x"
      plan: db.toml:9  rate = "x"

    error: unknown workload `backups` in benchmark `backups`
      plan: db.toml:11  workload = "backups"

    hint: did you mean `backup`?

    error: `rounds` in `[schedule]` must be a whole number from 1 to 10000, not 0
      plan: db.toml:13  rounds = 0

    error: `warmup` in `[schedule]` must be a length of time such as "10s" or "1h30m", not 5
      plan: db.toml:14  warmup = 5

    hint: write it with its unit: "5s" or "5ms"

    error: `order` in `[schedule]` must be one of `interleaved` or `sequential`, not "random"
      plan: --set schedule.order=random
    "#);
}

#[test]
fn not_toml() {
    let found = parse("a = 1\nb = = 2\n[x\n").unwrap_err();
    assert_eq!((found.errors[0].line, found.errors[0].column), (Some(2), Some(5)));
    assert_snapshot!(found, @r#"
    error: this is not TOML: extra `=`, expected nothing
      plan: db.toml:2  b = = 2

    error: this is not TOML: unexpected key or value, expected newline, `#`
      plan: db.toml:2  b = = 2

    error: this is not TOML: unclosed table, expected `]`
      plan: db.toml:3  [x
    "#);
    assert_snapshot!(each(errors, &["a = 1\na = 2", "a = \"x", "= 1", "a"]), @r#"
    error: this is not TOML: duplicate key
      plan: db.toml:2  a = 2
    ---
    error: this is not TOML: invalid basic string, expected `"`
      plan: db.toml:1  a = "x
    ---
    error: this is not TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
      plan: db.toml:1  = 1
    ---
    error: this is not TOML: key with no value, expected `=`
      plan: db.toml:1  a
    "#);
}

#[test]
fn nothing_to_measure() {
    assert_snapshot!(errors(""), @r#"
    error: the plan has no systems
      plan: db.toml

    hint: name at least one: `[systems.NAME]` with a `url`

    error: the plan has no benchmarks
      plan: db.toml

    hint: name at least one: `[[benchmarks]]` with a `workload`
    "#);
}

#[test]
fn no_systems_and_no_benchmarks() {
    assert_snapshot!(errors("systems = {}\nbenchmarks = []\n"), @r#"
    error: the plan has no systems
      plan: db.toml:1  systems = {}

    hint: name at least one: `[systems.NAME]` with a `url`

    error: the plan has no benchmarks
      plan: db.toml:2  benchmarks = []
    "#);
}

#[test]
fn sections_of_the_wrong_type() {
    assert_snapshot!(errors("systems = 1\nbenchmarks = { a = 1 }\nschedule = 3\n"), @r#"
    error: `systems` in the plan must be a table, not 1
      plan: db.toml:1  systems = 1

    hint: write `[systems.NAME]`

    error: `benchmarks` in the plan must be a list of tables, not a table
      plan: db.toml:2  benchmarks = { a = 1 }

    hint: write `[[benchmarks]]`, with two brackets

    error: `schedule` in the plan must be a table, not 3
      plan: db.toml:3  schedule = 3

    hint: write `[schedule]`
    "#);
}

#[test]
fn lists_and_tables_confused() {
    assert_snapshot!(errors("[[systems]]\nname = 'x'\n[[benchmarks]]\n"), @r#"
    error: `systems` in the plan must be a table, not a list
      plan: db.toml:1  [[systems]]

    hint: write `[systems.NAME]`

    error: benchmark 0 has no `workload`
      plan: db.toml:3  [[benchmarks]]

    hint: add `workload = "…"`; `etalon list` shows them
    "#);
}

#[test]
fn items_of_the_wrong_type() {
    assert_snapshot!(errors("benchmarks = [1]\n[systems]\na = 'sqlite:x'\n"), @r#"
    error: `0` in the list of benchmarks must be a table, not 1
      plan: db.toml:1  benchmarks = [1]

    error: `a` in `[systems]` must be a table, not "sqlite:x"
      plan: db.toml:3  a = 'sqlite:x'

    hint: write `[systems.a]`
    "#);
}

#[test]
fn a_system_that_is_nowhere_or_in_two_places() {
    assert_snapshot!(each(system, &["", "url = \"sqlite:x\"\nserver = { engine = \"mysql\" }"]), @r#"
    error: system `a` has neither `url` nor `server`
      plan: db.toml:2  [systems.a]

    hint: give it a `url`, or a `server = { engine = "…" }` for étalon to start
    ---
    error: system `a` has both `url` and `server`
      plan: db.toml:4  server = { engine = "mysql" }

    hint: `url` is a database that runs already, `server` one that étalon starts
    "#);
}

#[test]
fn a_url_that_leads_nowhere() {
    assert_snapshot!(each(system, &[
        "url = \"\"",
        "url = \"host=h password=p\"",
        "url = \"oracle://u:secret@h\"",
        "url = \"Postgres://h\"",
        "url = 3",
        "url = \"env:\"",
        "url = \"sqlite:a\\nb\"",
    ]), @r#"
    error: `url` of system `a` is no URL: ""
      plan: db.toml:3  url = ""

    hint: a URL starts with one of `postgres`, `postgresql`, `mysql` or `sqlite`
    ---
    error: `url` of system `a` is no URL: "host=h password=***"
      plan: db.toml:3  url = "host=h password=***

    hint: a URL starts with one of `postgres`, `postgresql`, `mysql` or `sqlite`
    ---
    error: `url` of system `a` has the scheme `oracle`, which no engine has
      plan: db.toml:3  url = "oracle://u:***@h"

    hint: the schemes are `postgres`, `postgresql`, `mysql` and `sqlite`
    ---
    error: `url` of system `a` has the scheme `Postgres`, which no engine has
      plan: db.toml:3  url = "Postgres://h"

    hint: did you mean `postgres:`?
    ---
    error: `url` in system `a` must be a string, not 3
      plan: db.toml:3  url = 3
    ---
    error: `url` of system `a` names no variable
      plan: db.toml:3  url = "env:"

    hint: write the name of a variable of the environment: `env:DATABASE_URL`
    ---
    error: `url` of system `a` has control characters in it
      plan: db.toml:3  url = "sqlite:a\nb"
    "#);
}

#[test]
fn pooler_that_cannot_be_started_is_named() {
    let said = each(
        system,
        &[
            "server = { engine = \"postgres\", pooler = \"pgpool\" }",
            "server = { engine = \"mysql\", pooler = \"pool\" }",
            "server = { engine = \"postgres\", pooler = \"pool\", pool_mode = \"statement\" }",
            "server = { engine = \"postgres\", pool_mode = \"session\" }",
            "server = { engine = \"postgres\", pooler = \"pool\", pool_size = 0 }",
        ],
    );
    for words in [
        "`server` of system `a` names an unknown pooler, `pgpool`",
        "étalon can start `pool`",
        "étalon starts none in front of a server of `mysql`",
        "`pool_mode` of `server` of system `a` is \"statement\", which étalon cannot measure through",
        "it is `transaction` or `session`",
        "`server` of system `a` has the keys of a pooler, and no `pooler`",
        "`pool_size`",
    ] {
        assert!(said.contains(words), "`{words}` is missing: {said}");
    }
}

#[test]
fn a_server_that_cannot_be_started() {
    assert_snapshot!(each(system, &[
        "server = { engine = \"sqlite\" }",
        "server = { engine = \"postgre\" }",
        "server = { engine = \"db2\" }",
        "server = {}",
        "server = \"postgres\"",
        "server = { engine = \"mysql\", connect = \"tpc\" }",
        "server = { engine = \"mysql\", connect = 3 }",
    ]), @r#"
    error: `server` of system `a` asks for `sqlite`, of which étalon cannot start a server
      plan: db.toml:3  server = { engine = "sqlite" }

    hint: give the system a `url` instead; it can start `postgres`, `mysql` and `mariadb`
    ---
    error: `server` of system `a` names an unknown engine, `postgre`
      plan: db.toml:3  server = { engine = "postgre" }

    hint: did you mean `postgres`?
    ---
    error: `server` of system `a` names an unknown engine, `db2`
      plan: db.toml:3  server = { engine = "db2" }

    hint: étalon can start `postgres`, `mysql` and `mariadb`
    ---
    error: `server` of system `a` has no `engine`
      plan: db.toml:3  server = {}

    hint: write `server = { engine = "…" }`
    ---
    error: `server` in system `a` must be a table, not "postgres"
      plan: db.toml:3  server = "postgres"

    hint: write `server = { engine = "…" }`
    ---
    error: `connect` in `server` of system `a` must be one of `socket` or `tcp`, not "tpc"
      plan: db.toml:3  server = { engine = "mysql", connect = "tpc" }

    hint: did you mean `tcp`?
    ---
    error: `connect` in `server` of system `a` must be one of `socket` or `tcp`, not 3
      plan: db.toml:3  server = { engine = "mysql", connect = 3 }
    "#);
}

#[test]
fn settings() {
    assert_snapshot!(each(system, &[
        "url = \"sqlite:x\"\nsettings = 3",
        "url = \"sqlite:x\"\nsettings = { a = [1], b = 99999999999999999999, c = inf, d = 2024-01-01, '' = 1 }",
    ]), @r#"
    error: `settings` in system `a` must be a table, not 3
      plan: db.toml:4  settings = 3
    ---
    error: `a` in `settings` of system `a` must be a string, a number or a boolean, not a list
      plan: db.toml:4  settings = { a = [1], b = 99999999999999999999, c = inf, d = 2024-01-01, '' = 1 }

    error: `b` in `settings` of system `a` must be a string, a number or a boolean, not 99999999999999999999
      plan: db.toml:4  settings = { a = [1], b = 99999999999999999999, c = inf, d = 2024-01-01, '' = 1 }

    error: a number must be finite
      plan: db.toml:4  settings = { a = [1], b = 99999999999999999999, c = inf, d = 2024-01-01, '' = 1 }

    error: `d` in `settings` of system `a` must be a string, a number or a boolean, not a date
      plan: db.toml:4  settings = { a = [1], b = 99999999999999999999, c = inf, d = 2024-01-01, '' = 1 }

    error: the name of a setting is empty
      plan: db.toml:4  settings = { a = [1], b = 99999999999999999999, c = inf, d = 2024-01-01, '' = 1 }
    "#);
}

#[test]
fn names() {
    assert_snapshot!(each(top, &["name = \" \"", "name = \"a\\tb\"", "baseline = \"A\"", "baseline = \"zzz\"", "name = 3"]), @r#"
    error: the name of the plan is empty
      plan: db.toml:1  name = " "
    ---
    error: the name of the plan has control characters in it
      plan: db.toml:1  name = "a\tb"
    ---
    error: the baseline `A` is no system of the plan
      plan: db.toml:1  baseline = "A"

    hint: did you mean `a`?
    ---
    error: the baseline `zzz` is no system of the plan
      plan: db.toml:1  baseline = "zzz"

    hint: the systems are `a` and `b`
    ---
    error: `name` in the plan must be a string, not 3
      plan: db.toml:1  name = 3
    "#);
}

#[test]
fn names_of_systems() {
    assert_snapshot!(errors(&SMALL.replace("systems.a", "systems.\"a\\u0007\"").replace("systems.b", "systems.''")), @r#"
    error: the name of a system has control characters in it
      plan: db.toml:2  [systems."a\u0007"]

    error: the name of a system is empty
      plan: db.toml:4  [systems.'']
    "#);
}

#[test]
fn names_twice() {
    assert_snapshot!(errors(&format!("{SMALL}[[benchmarks]]\nworkload = \"transactions\"\n")), @r#"
    error: two benchmarks are named `transactions`
      plan: db.toml:9  [[benchmarks]]

    hint: give one of them another `name`
    "#);
}

#[test]
fn names_of_benchmarks() {
    assert_snapshot!(each(benchmark, &["name = \"\"", "name = 3"]), @r#"
    error: the name of a benchmark is empty
      plan: db.toml:8  name = ""
    ---
    error: `name` in benchmark `transactions` must be a string, not 3
      plan: db.toml:8  name = 3
    "#);
}

#[test]
fn no_message_holds_a_password() {
    let secret = "hunter2";
    let broken = [
        format!("url = \"postgress://u:{secret}@h/a\""),
        format!("url = \"u:{secret}@h\""),
        format!("url = \"host=h password={secret}\""),
        format!("url = \"postgres://u:{secret}@h\""),
        format!("urll = \"postgres://u:{secret}@h?x=1\""),
        format!("url = \"postgres://u:{secret}@h"),
        format!("url = postgres://u:{secret}@h"),
        format!("url = \"postgres://h?password={secret}\" x"),
        format!("password = \"{secret}\""),
        format!("passwrd = \"{secret}\""),
        format!("settings = {{ password = [\"{secret}\"] }}"),
        format!("url = [\"postgres://u:{secret}@h\"]"),
        format!("server = \"postgres://u:{secret}@h\""),
        format!("server = {{ engine = \"postgres://u:{secret}@h\" }}"),
    ];
    for line in broken {
        let shown = system(&format!("{line}\nbad = 1"));
        assert!(!shown.contains(secret), "{shown}");
    }
    for (path, value) in [
        ("systems.a.url", "oracle://u:hunter2@h"),
        ("systems.a.password", "hunter2"),
        ("systems.a.url", "[\"postgres://u:hunter2@h\""),
    ] {
        let shown = errors_with(SMALL, &[(path, value)]);
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn a_message_is_fit_for_a_terminal() {
    let shown = errors(&format!("\"\\u001b]0;x\\u0007\" = 1\n\"\u{202e}\" = '{}'\n{GOOD}", "long".repeat(200)));
    assert!(shown.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{shown:?}");
    assert!(shown.lines().all(|line| line.chars().count() < 300), "{shown}");
    let shown = Plan::parse("x", "\u{1b}[2J", &model::plan::Changes::default(), &catalog(), 0).unwrap_err().to_string();
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_do_not_move_the_place() {
    let text = format!("\u{feff}{}", SMALL.replace("clients", "client").replace('\n', "\r\n"));
    let found = parse(&text).unwrap_err();
    assert_eq!((found.errors[0].line, found.errors[0].column), (Some(8), Some(1)));
    assert_eq!(found.errors[0].snippet.as_deref(), Some("client = [1, 4]"));
}

#[test]
fn errors_are_json_too() {
    let found = parse(&SMALL.replace("clients", "client")).unwrap_err();
    assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @r#"
    [
      {
        "source": "db.toml",
        "line": 8,
        "column": 1,
        "message": "unknown key `client` in benchmark `transactions`",
        "hint": "did you mean `clients`?",
        "snippet": "client = [1, 4]"
      }
    ]
    "#);
}
