//! What a right plan becomes.

use std::time::Duration;

use crate::common::{GOOD, SMALL, catalog, parse, parse_with};
use model::plan::Connect;
use model::{Length, OnError, Order, Plan, Value};
use proptest::prelude::*;

fn ints(plan: &Plan, key: &str) -> Vec<i64> {
    plan.benchmarks[0].points.iter().filter_map(|point| point[key].as_int()).collect()
}

fn with_clients(clients: &str) -> Plan {
    parse(&SMALL.replace("[1, 4]", clients)).unwrap()
}

#[test]
fn everything_written_arrives() {
    let plan = parse(GOOD).unwrap();
    assert_eq!(plan.name, "wal");
    assert_eq!(plan.comparison.baseline, "pg-on");
    assert_eq!((plan.comparison.margin, plan.comparison.level), (0.05, 0.9));
    assert!(plan.comparison.allow_unequal_durability);
    assert_eq!(plan.schedule.rounds, 6);
    assert_eq!(plan.schedule.warmup, Duration::from_millis(500));
    assert_eq!(plan.schedule.length, Length::Transactions(1000));
    assert_eq!(plan.schedule.order, Order::Sequential);
    assert_eq!(plan.schedule.seed, u64::MAX);
    assert_eq!(plan.schedule.on_error, OnError::Continue);

    let [on, off] = &plan.systems[..] else { panic!("two systems") };
    assert_eq!((on.name.as_str(), on.engine.as_str()), ("pg-on", "postgres"));
    assert_eq!(on.url, "postgres://bench:s3cret@localhost/bench");
    assert_eq!(on.settings["synchronous_commit"], Value::Text("on".into()));
    assert_eq!(on.settings["work_mem"], Value::Int(64));
    assert_eq!(on.settings["jit"], Value::Bool(false));
    assert_eq!(on.settings["x"], Value::Float(1.5));
    assert_eq!(on.settings["pg_hint_plan.debug"], Value::Text("on".into()));
    let server = off.server.as_ref().unwrap();
    assert_eq!((off.name.as_str(), off.engine.as_str(), off.url.as_str()), ("pg off", "postgres", ""));
    assert_eq!(server.bin_dir.as_deref(), Some("/usr/lib/postgresql/16/bin"));
    assert_eq!(server.connect, Connect::Tcp);

    assert_eq!(plan.benchmarks[0].name, "tpcb");
    assert_eq!(plan.benchmarks[0].points.len(), 2 * 4 * 2);
    assert_eq!(plan.benchmarks[1].name, "backup");
    assert_eq!(plan.cases().len(), (16 + 3) * 2);
}

#[test]
fn the_rest_is_filled_in() {
    let plan = parse(SMALL).unwrap();
    assert_eq!(plan.name, "db");
    assert_eq!(plan.comparison.baseline, "a");
    assert_eq!((plan.comparison.margin, plan.comparison.level), (0.03, 0.95));
    assert!(!plan.comparison.allow_unequal_durability);
    assert_eq!(plan.schedule.rounds, 10);
    assert_eq!(plan.schedule.warmup, Duration::from_secs(2));
    assert_eq!(plan.schedule.length, Length::Duration(Duration::from_secs(10)));
    assert_eq!(plan.schedule.order, Order::Interleaved);
    assert_eq!(plan.schedule.seed, 7);
    assert_eq!(plan.schedule.on_error, OnError::Stop);
    assert_eq!(plan.benchmarks[0].name, "transactions");
    let point = &plan.benchmarks[0].points[0];
    assert_eq!(point.len(), 6);
    assert_eq!(point["script"], Value::Text("tpcb-like".into()));
    assert_eq!(point["rate"], Value::Float(0.0), "a default has the kind of its key");
    assert_eq!(point["think"], Value::Text("0s".into()));
}

#[test]
fn the_name_is_that_of_the_file() {
    for (source, name) in [
        ("a/b/wal.toml", "wal"),
        (r"C:\plans\wal.x.toml", "wal.x"),
        ("-", "-"),
        ("", "plan"),
        ("a/", "plan"),
        (".toml", ".toml"),
    ] {
        assert_eq!(
            Plan::parse(SMALL, source, &model::plan::Changes::default(), &catalog(), 0).unwrap().0.name,
            name,
            "{source}"
        );
    }
}

#[test]
fn points_are_the_product_in_the_order_of_the_file() {
    let plan = parse(&SMALL.replace("clients = [1, 4]", "prepared = [true, false]\nclients = [4, 1]")).unwrap();
    let seen: Vec<_> =
        plan.benchmarks[0].points.iter().map(|p| (p["prepared"].to_string(), p["clients"].to_string())).collect();
    let expected = [("true", "4"), ("true", "1"), ("false", "4"), ("false", "1")];
    assert_eq!(seen, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(plan.varying_keys("transactions"), ["clients", "prepared"]);
}

#[test]
fn ranges_include_both_ends() {
    assert_eq!(ints(&with_clients("\"1..4\""), "clients"), [1, 2, 3, 4]);
    assert_eq!(ints(&with_clients("\"3..3\""), "clients"), [3]);
    assert_eq!(ints(&with_clients("\"1..64*2\""), "clients"), [1, 2, 4, 8, 16, 32, 64]);
    assert_eq!(ints(&with_clients("\"1..80*4\""), "clients"), [1, 4, 16, 64]);
    assert_eq!(ints(&with_clients("\"9999..10000*9223372036854775807\""), "clients"), [9999]);
    assert_eq!(ints(&with_clients("0x10"), "clients"), [16]);
}

#[test]
fn a_benchmark_is_named_after_its_script_or_workload() {
    let named = |line: &str| parse(&SMALL.replace("clients = [1, 4]", line)).unwrap().benchmarks[0].name.clone();
    assert_eq!(named("script = \"select-only\""), "select-only");
    assert_eq!(named("script = \"sql/mine.sql\""), "mine");
    assert_eq!(named("script = [\"select-only\", \"tpcb-like\"]"), "transactions");
    assert_eq!(named("name = \"<b>\""), "<b>");
}

#[test]
fn a_url_may_come_from_the_environment() {
    let plan = parse(&SMALL.replace("postgres://u@h/a", "env:DB_URL")).unwrap();
    assert_eq!(plan.systems[0].url, "env:DB_URL");
    assert_eq!(plan.systems[0].engine, "");
    assert_eq!(plan.systems[0].url_variable(), Some("DB_URL"));
    assert_eq!(plan.systems[1].url_variable(), None);
}

#[test]
fn hidden_engines_are_understood() {
    assert_eq!(parse(&SMALL.replace("postgres://u@h/a", "sim:drift=1")).unwrap().systems[0].engine, "sim");
}

#[test]
fn arguments_change_the_plan() {
    let plan = parse_with(
        GOOD,
        &[
            ("schedule.rounds", "8"),
            ("schedule.rounds", "12"),
            ("schedule.duration", "3s"),
            ("systems.pg-on.settings.fsync", "off"),
            ("systems.*.settings.work_mem", "128"),
            ("systems.\"pg off\".settings.'a.b'", "x"),
            ("systems.pg off.url", "mysql://h/db"),
            ("benchmarks.tpcb.clients", "[1,2]"),
            ("benchmarks.tpcb.script", "select-only"),
            ("benchmarks.1.rows", "1..2"),
            ("name", "5"),
            ("margin", "2.5%"),
        ],
    )
    .unwrap();
    assert_eq!(plan.schedule.rounds, 12, "the last one wins");
    assert_eq!(plan.schedule.length, Length::Duration(Duration::from_secs(3)), "it replaces the transactions");
    assert_eq!(plan.systems[0].settings["fsync"], Value::Text("off".into()));
    assert_eq!(plan.systems[0].settings["work_mem"], Value::Int(128));
    assert_eq!(plan.systems[1].settings["work_mem"], Value::Int(128));
    assert_eq!(plan.systems[1].settings["a.b"], Value::Text("x".into()));
    assert_eq!((plan.systems[1].engine.as_str(), plan.systems[1].server.is_none()), ("mysql", true));
    assert_eq!(plan.benchmarks[0].points.len(), 4);
    assert_eq!(plan.benchmarks[1].points.len(), 2);
    assert_eq!(plan.name, "5", "a shell leaves no quotes to tell a string by");
    assert_eq!(plan.comparison.margin, 0.025);
}

#[test]
fn arguments_may_make_what_is_missing() {
    let plan = parse_with(SMALL, &[("schedule.seed", "9"), ("benchmarks.*.script", "select-only")]).unwrap();
    assert_eq!(plan.schedule.seed, 9);
    assert_eq!(plan.benchmarks[0].name, "select-only");
    let text = SMALL.replace("url = \"postgres://u@h/a\"", "server = { engine = \"mysql\" }");
    let plan = parse_with(&text, &[("systems.a.server.bin_dir", "/opt/5.7/bin")]).unwrap();
    assert_eq!(plan.systems[0].server.as_ref().unwrap().bin_dir.as_deref(), Some("/opt/5.7/bin"));
    // A product that speaks an engine's protocol has a name of its own.
    let plan = parse(&text.replace("\"mysql\"", "\"mariadb\"")).unwrap();
    assert_eq!(
        (plan.systems[0].engine.as_str(), plan.systems[0].server.as_ref().unwrap().engine.as_str()),
        ("mysql", "mariadb")
    );
}

#[test]
fn json_keeps_a_plan_and_its_hash() {
    for text in [GOOD, SMALL] {
        let plan = parse(text).unwrap();
        let json = serde_json::to_string(&plan).unwrap();
        let back: Plan = serde_json::from_str(&json).unwrap();
        assert_eq!(back, plan);
        assert_eq!(back.hash(), plan.hash());
    }
}

proptest! {
    #[test]
    fn json_keeps_every_number(x in 0.0..1e9f64, seed: u64, n: i64) {
        let text = SMALL.replace("clients = [1, 4]", &format!("rate = {x:?}")).replace(
            "[[benchmarks]]",
            &format!("settings = {{ n = {n} }}\n[schedule]\nseed = {seed}\n[[benchmarks]]"),
        );
        let plan = parse(&text).unwrap();
        prop_assert_eq!(&plan.benchmarks[0].points[0]["rate"], &Value::Float(x));
        let back: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!(back.hash(), plan.hash());
        prop_assert_eq!(back, plan);
    }

    #[test]
    fn never_panics_on_any_text(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn never_panics_on_a_damaged_plan(at in 0usize..700, drop in 0usize..20, new in "[\\[\\]{}\"'=.,\n#*%@:é€0-9a-z\u{1}-]{0,8}") {
        let chars: Vec<char> = GOOD.chars().collect();
        let start = at.min(chars.len());
        let end = (start + drop).min(chars.len());
        let text: String = chars[..start].iter().copied().chain(new.chars()).chain(chars[end..].iter().copied()).collect();
        match parse(&text) {
            Ok(plan) => { let _ = (plan.run_order(), plan.hash(), model::plan::redact_text(&text, &plan)); }
            Err(errors) => {
                prop_assert!(!errors.errors.is_empty());
                prop_assert!(errors.to_string().chars().all(|c| c == '\n' || !c.is_control()));
            }
        }
    }

    #[test]
    fn never_panics_on_any_argument(
        path in "(schedule|systems|benchmarks|name|é)?[.\"'*a-z0-9é]{0,12}(\\.(a|url|0|clients|server|rounds))?",
        value in "\\PC{0,20}",
    ) {
        let _ = parse_with(SMALL, &[(&path, &value)]);
    }
}

#[test]
fn a_benchmark_may_say_which_published_figures_it_stands_for() {
    assert_eq!(parse(SMALL).unwrap().benchmarks[0].stands_for, None);
    let told = parse(&format!("{SMALL}stands_for = \"table 2\"\n")).unwrap();
    assert_eq!(told.benchmarks[0].stands_for.as_deref(), Some("table 2"));
    assert!(told.benchmarks[0].points.iter().all(|point| !point.contains_key("stands_for")));
    let wrong = parse(&format!("{SMALL}stands_for = 2\n")).unwrap_err().to_string();
    assert!(wrong.contains("`stands_for` in benchmark `transactions` must be a string, not 2"), "{wrong}");
}
