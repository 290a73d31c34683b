//! What is said about wrong values in a plan, to the letter.

use crate::common::{SMALL, each, errors, parse};
use insta::assert_snapshot;

fn benchmark(line: &str) -> String {
    errors(&format!("{}{line}\n", SMALL.replace("clients = [1, 4]\n", "")))
}

fn schedule(line: &str) -> String {
    errors(&format!("{SMALL}[schedule]\n{line}\n"))
}

fn top(line: &str) -> String {
    errors(&format!("{line}\n{SMALL}"))
}

#[test]
fn a_whole_number_that_is_none() {
    assert_snapshot!(each(benchmark, &["clients = 0", "clients = 10001", "clients = 1.5", "clients = \"4\"", "clients = true", "clients = {}", "clients = 99999999999999999999", "clients = nan"]), @r#"
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not 0
      plan: db.toml:8  clients = 0
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not 10001
      plan: db.toml:8  clients = 10001
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not 1.5
      plan: db.toml:8  clients = 1.5
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not "4"
      plan: db.toml:8  clients = "4"

    hint: write it without quotes: 4
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not true
      plan: db.toml:8  clients = true
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not a table
      plan: db.toml:8  clients = {}
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not 99999999999999999999
      plan: db.toml:8  clients = 99999999999999999999
    ---
    error: a number must be finite
      plan: db.toml:8  clients = nan
    "#);
}

#[test]
fn lists() {
    assert_snapshot!(each(benchmark, &["clients = []", "clients = [1, 2, 1]", "clients = [1, [2]]", "clients = [0, \"1..2\"]", "think = [\"1s\", \"1000ms\"]", "rate = [0, -0.0]"]), @r#"
    error: `clients` in benchmark `transactions` is an empty list
      plan: db.toml:8  clients = []

    hint: a list needs at least one value
    ---
    error: `clients` in benchmark `transactions` has 1 twice
      plan: db.toml:8  clients = [1, 2, 1]

    hint: each value makes a case, and a case is run in every round
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not a list
      plan: db.toml:8  clients = [1, [2]]
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not 0
      plan: db.toml:8  clients = [0, "1..2"]

    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not "1..2"
      plan: db.toml:8  clients = [0, "1..2"]
    ---
    error: `think` in benchmark `transactions` has 1000ms twice
      plan: db.toml:8  think = ["1s", "1000ms"]

    hint: each value makes a case, and a case is run in every round
    ---
    error: `rate` in benchmark `transactions` has -0 twice
      plan: db.toml:8  rate = [0, -0.0]

    hint: each value makes a case, and a case is run in every round
    "#);
}

#[test]
fn ranges() {
    assert_snapshot!(each(benchmark, &["clients = \"8..1\"", "clients = \"0..8\"", "clients = \"1..10001\"", "clients = \"1..\"", "clients = \"1..8*1\"", "clients = \"1..8/2\"", "clients = \"a..b\""]), @r#"
    error: the range "8..1" of `clients` in benchmark `transactions` is reversed
      plan: db.toml:8  clients = "8..1"

    hint: write "1..8"
    ---
    error: the range "0..8" of `clients` in benchmark `transactions` leaves its limits: each value must be a whole number from 1 to 10000
      plan: db.toml:8  clients = "0..8"
    ---
    error: the range "1..10001" of `clients` in benchmark `transactions` leaves its limits: each value must be a whole number from 1 to 10000
      plan: db.toml:8  clients = "1..10001"
    ---
    error: the range "1.." of `clients` in benchmark `transactions` cannot be read
      plan: db.toml:8  clients = "1.."

    hint: write "1..8" for every number, or "1..64*2" to double from 1 to 64
    ---
    error: the range "1..8*1" of `clients` in benchmark `transactions` must start at 1 or above and multiply by 2 or more
      plan: db.toml:8  clients = "1..8*1"
    ---
    error: the range "1..8/2" of `clients` in benchmark `transactions` cannot be read
      plan: db.toml:8  clients = "1..8/2"

    hint: write "1..8" for every number, or "1..64*2" to double from 1 to 64
    ---
    error: the range "a..b" of `clients` in benchmark `transactions` cannot be read
      plan: db.toml:8  clients = "a..b"

    hint: write "1..8" for every number, or "1..64*2" to double from 1 to 64
    "#);
}

#[test]
fn other_values() {
    assert_snapshot!(each(benchmark, &["rate = -1", "rate = \"1..2\"", "prepared = 1", "script = \"select\"", "script = \"nonsense\"", "script = 1", "think = 1", "think = \"1 s\"", "note = 3"]), @r#"
    error: `rate` in benchmark `transactions` must be a number from 0 to 1000000000, not -1
      plan: db.toml:8  rate = -1
    ---
    error: `rate` in benchmark `transactions` must be a number from 0 to 1000000000, not "1..2"
      plan: db.toml:8  rate = "1..2"
    ---
    error: `prepared` in benchmark `transactions` must be `true` or `false`, not 1
      plan: db.toml:8  prepared = 1
    ---
    error: `script` in benchmark `select` must be one of `tpcb-like`, `simple-update` and `select-only`, or the path of a file, not "select"
      plan: db.toml:8  script = "select"

    hint: did you mean `select-only`?
    ---
    error: `script` in benchmark `nonsense` must be one of `tpcb-like`, `simple-update` and `select-only`, or the path of a file, not "nonsense"
      plan: db.toml:8  script = "nonsense"
    ---
    error: `script` in benchmark `transactions` must be one of `tpcb-like`, `simple-update` and `select-only`, or the path of a file, not 1
      plan: db.toml:8  script = 1
    ---
    error: `think` in benchmark `transactions` must be a length of time such as "10s" or "1h30m", not 1
      plan: db.toml:8  think = 1

    hint: write it with its unit: "1s" or "1ms"
    ---
    error: `think` in benchmark `transactions` must be a length of time such as "10s" or "1h30m", not "1 s"
      plan: db.toml:8  think = "1 s"

    hint: ` s` is not a unit of time
    ---
    error: `note` in benchmark `transactions` must be a string, not 3
      plan: db.toml:8  note = 3
    "#);
}

#[test]
fn a_key_that_is_missing() {
    assert_snapshot!(errors(&SMALL.replace("\"transactions\"\nclients = [1, 4]", "\"backup\"")), @r#"
    error: benchmark `backup` has no `codec`, which `backup` needs
      plan: db.toml:6  [[benchmarks]]

    hint: `codec` is: The compression.
    "#);
}

#[test]
fn a_choice_and_an_open_limit() {
    let backup =
        |line: &str| errors(&SMALL.replace("\"transactions\"\nclients = [1, 4]", &format!("\"backup\"\n{line}")));
    assert_snapshot!(each(backup, &["codec = \"zst\"", "codec = \"zstd\"\nrows = 0", "codec = \"zstd\"\nrows = \"0..9223372036854775807\"", "codec = \"zstd\"\nrows = \"1..9223372036854775807\""]), @r#"
    error: `codec` in benchmark `backup` must be one of `none`, `zstd` or `gzip`, not "zst"
      plan: db.toml:8  codec = "zst"

    hint: did you mean `zstd`?
    ---
    error: `rows` in benchmark `backup` must be a whole number of at least 1, not 0
      plan: db.toml:9  rows = 0
    ---
    error: the range "0..9223372036854775807" of `rows` in benchmark `backup` leaves its limits: each value must be a whole number of at least 1
      plan: db.toml:9  rows = "0..9223372036854775807"
    ---
    error: the range "1..9223372036854775807" of `rows` in benchmark `backup` has 9223372036854775807 values, more than 10000
      plan: db.toml:9  rows = "1..9223372036854775807"

    hint: write "1..9223372036854775807*2" to double from value to value
    "#);
}

#[test]
fn a_workload_that_is_unknown() {
    assert_snapshot!(each(errors, &[&SMALL.replace("= \"transactions\"", "= \"transaction\""), &SMALL.replace("workload = \"transactions\"", ""), &SMALL.replace("= \"transactions\"", "= 5")]), @r#"
    error: unknown workload `transaction` in benchmark `transaction`
      plan: db.toml:7  workload = "transaction"

    hint: did you mean `transactions`?
    ---
    error: benchmark 0 has no `workload`
      plan: db.toml:6  [[benchmarks]]

    hint: add `workload = "…"`; `etalon list` shows them
    ---
    error: `workload` in benchmark 0 must be a string, not 5
      plan: db.toml:7  workload = 5
    "#);
}

#[test]
fn too_many_cases_and_runs() {
    assert_snapshot!(benchmark("clients = \"1..5001\""), @r#"
    error: the plan makes 10002 cases (benchmark × point × system), more than 10000
      plan: db.toml

    hint: write fewer values, or several plans
    "#);
    assert_snapshot!(benchmark("clients = \"1..10000\"\nscript = [\"tpcb-like\", \"select-only\"]\nprepared = [true, false]"), @r#"
    error: the plan makes 80000 cases (benchmark × point × system), more than 10000
      plan: db.toml

    hint: write fewer values, or several plans
    "#);
    assert_snapshot!(errors(&format!("{}[schedule]\nrounds = 10000\n", SMALL.replace("[1, 4]", "\"1..100\""))), @r#"
    error: the plan makes 2000000 runs (200 cases × 10000 rounds), more than 1000000
      plan: db.toml

    hint: write fewer values, or several plans
    "#);
    assert!(parse(&SMALL.replace("[1, 4]", "\"1..5000\"")).is_ok());
}

#[test]
fn rounds_and_lengths() {
    assert_snapshot!(each(schedule, &["rounds = 0", "rounds = 10001", "rounds = \"6\"", "duration = \"0s\"", "duration = 10", "duration = \"10 s\"", "duration = \"31d\"", "warmup = \"-1s\""]), @r#"
    error: `rounds` in `[schedule]` must be a whole number from 1 to 10000, not 0
      plan: db.toml:10  rounds = 0
    ---
    error: `rounds` in `[schedule]` must be a whole number from 1 to 10000, not 10001
      plan: db.toml:10  rounds = 10001
    ---
    error: `rounds` in `[schedule]` must be a whole number from 1 to 10000, or a range such as `"6..60"`, not "6"
      plan: db.toml:10  rounds = "6"
    ---
    error: `duration` in `[schedule]` must be longer than 0
      plan: db.toml:10  duration = "0s"
    ---
    error: `duration` in `[schedule]` must be a length of time such as "10s" or "1h30m", not 10
      plan: db.toml:10  duration = 10

    hint: write it with its unit: "10s" or "10ms"
    ---
    error: `duration` in `[schedule]` must be a length of time such as "10s" or "1h30m", not "10 s"
      plan: db.toml:10  duration = "10 s"

    hint: ` s` is not a unit of time
    ---
    error: `duration` in `[schedule]` must be at most 30d
      plan: db.toml:10  duration = "31d"
    ---
    error: `warmup` in `[schedule]` must be a length of time such as "10s" or "1h30m", not "-1s"
      plan: db.toml:10  warmup = "-1s"

    hint: `-1s` does not start with a number
    "#);
}

#[test]
fn the_rest_of_the_schedule() {
    assert_snapshot!(each(schedule, &["duration = \"1s\"\ntransactions = 3", "transactions = 0", "order = \"interleave\"", "order = 1", "seed = -1", "seed = 18446744073709551616", "on_error = \"ignore\""]), @r#"
    error: `[schedule]` has both `duration` and `transactions`
      plan: db.toml:11  transactions = 3

    hint: a run ends after a time or after a number of transactions: keep one of them
    ---
    error: `transactions` in `[schedule]` must be a whole number of at least 1, not 0
      plan: db.toml:10  transactions = 0
    ---
    error: `order` in `[schedule]` must be one of `interleaved` or `sequential`, not "interleave"
      plan: db.toml:10  order = "interleave"

    hint: did you mean `interleaved`?
    ---
    error: `order` in `[schedule]` must be one of `interleaved` or `sequential`, not 1
      plan: db.toml:10  order = 1
    ---
    error: `seed` in `[schedule]` must be a whole number from 0 to 18446744073709551615, not -1
      plan: db.toml:10  seed = -1
    ---
    error: `seed` in `[schedule]` must be a whole number from 0 to 18446744073709551615, not 18446744073709551616
      plan: db.toml:10  seed = 18446744073709551616
    ---
    error: `on_error` in `[schedule]` must be one of `stop` or `continue`, not "ignore"
      plan: db.toml:10  on_error = "ignore"
    "#);
}

#[test]
fn margin_and_level() {
    assert_snapshot!(each(top, &["margin = 0", "margin = \"100%\"", "margin = \"3\"", "margin = -0.1", "level = 0.5", "level = \"95\"", "level = nan", "allow_unequal_durability = \"yes\""]), @r#"
    error: `margin` in the plan must be a share between 0 and 1, not 0
      plan: db.toml:1  margin = 0

    hint: write 0.03 or "3%"
    ---
    error: `margin` in the plan must be a share between 0 and 1, not "100%"
      plan: db.toml:1  margin = "100%"

    hint: write 0.03 or "3%"
    ---
    error: `margin` in the plan must be a share between 0 and 1, not "3"
      plan: db.toml:1  margin = "3"

    hint: write 0.03 or "3%"
    ---
    error: `margin` in the plan must be a share between 0 and 1, not -0.1
      plan: db.toml:1  margin = -0.1

    hint: write 0.1 or "10%"
    ---
    error: `level` in the plan must be a share between 0.5 and 1, not 0.5
      plan: db.toml:1  level = 0.5

    hint: write 0.95 or "95%"
    ---
    error: `level` in the plan must be a share between 0.5 and 1, not "95"
      plan: db.toml:1  level = "95"

    hint: write 0.95 or "95%"
    ---
    error: a number must be finite
      plan: db.toml:1  level = nan
    ---
    error: `allow_unequal_durability` in the plan must be `true` or `false`, not "yes"
      plan: db.toml:1  allow_unequal_durability = "yes"
    "#);
}

#[test]
fn a_change_has_its_undo_and_a_server_without_it() {
    let with = |lines: &str| format!("{SMALL}[systems.after]\n{lines}\n");
    let same = "url = \"postgres://u@h/a\"\nchange = \"CREATE INDEX i ON t (a)\"";
    for (lines, expected) in [
        (same, "system `after` has `change`, and no `undo`"),
        ("url = \"postgres://u@h/a\"\nundo = \"DROP INDEX i\"", "system `after` has `undo`, and no `change`"),
        (
            "url = \"postgres://u@h/a\"\nchange = []\nundo = \"DROP INDEX i\"",
            "must be a statement, or a list of statements",
        ),
        (
            "url = \"postgres://u@h/other\"\nchange = \"CREATE INDEX i ON t (a)\"\nundo = [\"DROP INDEX i\"]",
            "no system is the same server without it",
        ),
        (
            &format!("{same}\nundo = \"DROP INDEX i\"\nsettings = {{ work_mem = \"64kB\" }}"),
            "`settings` or `reset` of system `after` are not those of `a`",
        ),
    ] {
        let said = errors(&with(lines));
        assert!(said.contains(expected) && said.contains("hint: "), "{said}");
    }
    let plan = parse(&with(&format!("{same}\nundo = [\"DROP INDEX i\"]"))).unwrap();
    let after = plan.system("after").unwrap();
    assert_eq!(after.alias_of.as_deref(), Some(plan.systems[0].name.as_str()));
    assert_eq!(after.change.as_ref().unwrap().make, ["CREATE INDEX i ON t (a)"]);
}
