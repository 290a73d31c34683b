//! What is said about `--set` arguments that are wrong, to the letter.

use crate::common::{SMALL, each, errors_with, parse_with};
use insta::assert_snapshot;

fn set(argument: &str) -> String {
    let (path, value) = argument.split_once('=').unwrap();
    errors_with(SMALL, &[(path, value)])
}

#[test]
fn arguments() {
    assert_snapshot!(each(set, &[
        "schedule.rounds=six",
        "schedule.rounds=0",
        "schedule.rouns=6",
        "schedul.rounds=6",
        "schedule.rounds=[1",
        "schedule=x",
        "schedule..rounds=1",
        "=1",
        "name.x=1",
    ]), @r#"
    error: `rounds` in `[schedule]` must be a whole number from 1 to 10000, or a range such as `"6..60"`, not "six"
      plan: --set schedule.rounds=six
    ---
    error: `rounds` in `[schedule]` must be a whole number from 1 to 10000, not 0
      plan: --set schedule.rounds=0
    ---
    error: unknown key `rouns` in `[schedule]`
      plan: --set schedule.rouns=6

    hint: did you mean `rounds`?
    ---
    error: unknown key `schedul` in the plan
      plan: --set schedul.rounds=6

    hint: did you mean `schedule`?
    ---
    error: the argument's value is not TOML: unclosed array, expected `]`
      plan: --set schedule.rounds=[1
    ---
    error: `schedule` in the plan must be a table, not "x"
      plan: --set schedule=x

    hint: write `[schedule]`
    ---
    error: `schedule..rounds` is not a path in a plan
      plan: --set schedule..rounds=1

    hint: a path looks like `schedule.rounds` or `benchmarks.NAME.clients`
    ---
    error: `` is not a path in a plan
      plan: --set =1

    hint: a path looks like `schedule.rounds` or `benchmarks.NAME.clients`
    ---
    error: `name` in the plan must be a string, not a table
      plan: --set name.x=1
    "#);
}

#[test]
fn arguments_for_systems() {
    assert_snapshot!(each(set, &[
        "systems.c.url=sqlite:x",
        "systems.aa.url=sqlite:x",
        "systems.a=1",
        "systems.a.url=oracle://u:secret@h",
        "systems.a.settings=5",
        "systems=1",
    ]), @r#"
    error: the plan has no system `c`
      plan: --set systems.c.url=sqlite:x

    hint: it has `a` and `b`
    ---
    error: the plan has no system `aa`
      plan: --set systems.aa.url=sqlite:x

    hint: it has `a` and `b`
    ---
    error: the argument names a system, but none of its keys
      plan: --set systems.a=1
    ---
    error: `url` of system `a` has the scheme `oracle`, which no engine has
      plan: --set systems.a.url=oracle://u:***@h

    hint: the schemes are `postgres`, `postgresql`, `mysql` and `sqlite`
    ---
    error: `settings` in system `a` must be a table, not 5
      plan: --set systems.a.settings=5
    ---
    error: `systems` in the plan must be a table, not 1
      plan: --set systems=1

    hint: write `[systems.NAME]`
    "#);
}

#[test]
fn arguments_for_benchmarks() {
    assert_snapshot!(each(set, &[
        "benchmarks.transaction.clients=1",
        "benchmarks.1.clients=1",
        "benchmarks.0=1",
        "benchmarks.0.clients=[1,1]",
        "benchmarks.*.clients=0",
        "benchmarks.transactions.name=\u{1b}[31m",
    ]), @r#"
    error: the plan has no benchmark `transaction`
      plan: --set benchmarks.transaction.clients=1

    hint: did you mean `transactions`?
    ---
    error: the plan has no benchmark `1`
      plan: --set benchmarks.1.clients=1

    hint: it has `transactions`
    ---
    error: the argument names a benchmark, but none of its keys
      plan: --set benchmarks.0=1
    ---
    error: `clients` in benchmark `transactions` has 1 twice
      plan: --set benchmarks.0.clients=[1,1]

    hint: each value makes a case, and a case is run in every round
    ---
    error: `clients` in benchmark `transactions` must be a whole number from 1 to 10000, not 0
      plan: --set benchmarks.*.clients=0
    ---
    error: the name of a benchmark has control characters in it
      plan: --set benchmarks.transactions.name=\u{1b}[31m
    "#);
}

#[test]
fn arguments_that_exclude_each_other() {
    assert_snapshot!(errors_with(SMALL, &[("schedule.duration", "1s"), ("schedule.transactions", "5")]), @r#"
    error: `[schedule]` has both `duration` and `transactions`
      plan: --set schedule.transactions=5

    hint: a run ends after a time or after a number of transactions: keep one of them
    "#);
}

#[test]
fn arguments_of_an_empty_plan() {
    assert_snapshot!(errors_with("", &[("systems.a.url", "sqlite:x"), ("benchmarks.0.clients", "1")]), @r#"
    error: the plan has no systems
      plan: db.toml

    hint: name at least one: `[systems.NAME]` with a `url`

    error: the plan has no benchmarks
      plan: db.toml

    hint: name at least one: `[[benchmarks]]` with a `workload`

    error: the plan has no table of systems
      plan: --set systems.a.url=sqlite:x

    error: the plan has no list of benchmarks
      plan: --set benchmarks.0.clients=1
    "#);
}

#[test]
fn an_argument_of_a_file_with_other_faults_comes_last() {
    let found = parse_with(&format!("{SMALL}x = 1\n"), &[("schedule.rounds", "0")]).unwrap_err();
    assert_eq!(found.errors.len(), 2);
    assert_eq!((found.errors[0].source.as_str(), found.errors[0].line), ("db.toml", Some(9)));
    assert_eq!((found.errors[1].source.as_str(), found.errors[1].line), ("--set schedule.rounds=0", None));
}
