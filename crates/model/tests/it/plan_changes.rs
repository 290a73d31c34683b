//! The quick form of a plan, and the systems that take the place of its own.

use std::time::Duration;

use model::keys::shapes::int;
use model::plan::{Changes, Form, NamedSystem, Plan, PlanErrors};
use model::{KeySpec, Length, Point, Value};

use crate::common::{SMALL, catalog, parse_with};

const QUICK: &str = r#"
[schedule]
rounds = 9
transactions = 5
[quick]
"benchmarks.*.clients" = 2
schedule.rounds = 1
schedule.duration = "3s"
"#;

fn parse(text: &str, changes: &Changes) -> Result<Plan, PlanErrors> {
    Plan::parse(text, "db.toml", changes, &catalog(), 7).map(|(plan, _)| plan)
}

fn on(systems: &[(&str, Option<&str>)]) -> Changes {
    let named =
        |(name, url): &(&str, Option<&str>)| NamedSystem { name: (*name).into(), url: url.map(ToOwned::to_owned) };
    Changes { systems: systems.iter().map(named).collect(), ..Changes::default() }
}

#[test]
fn the_quick_form_changes_what_it_names_only_when_asked_for() {
    let text = format!("{SMALL}{QUICK}");
    let whole = parse(&text, &Changes::default()).unwrap();
    assert_eq!((whole.schedule.rounds, whole.schedule.length), (9, Length::Transactions(5)));
    let quick = parse(&text, &Changes { form: Form::Quick, ..Changes::default() }).unwrap();
    assert_eq!((quick.schedule.rounds, quick.schedule.length), (1, Length::Duration(Duration::from_secs(3))));
    assert_eq!(quick.benchmarks[0].points.len(), 1);
    assert_ne!(whole.hash(), quick.hash(), "they do not mix in a store");
    let set = vec![("schedule.rounds".to_owned(), "2".to_owned())];
    let both = parse(&text, &Changes { form: Form::Quick, set, ..Changes::default() }).unwrap();
    assert_eq!(both.schedule.rounds, 2, "an argument wins");
}

/// What is of a range alone goes with it, unless an argument says it beside a number.
#[test]
fn rounds_that_become_a_number_drop_what_is_of_a_range() {
    let range = "[schedule]\nrounds = \"6..60\"\nstop = \"all\"\nmax_time = \"1h\"\n";
    let own = format!("{SMALL}{range}[quick]\nschedule.rounds = 2\n");
    let without = format!("{SMALL}{range}");
    let set = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let quick = || Changes { form: Form::Quick, ..Changes::default() };
    let ten = || Changes { set: set(&[("schedule.rounds", "10")]), ..Changes::default() };
    for (text, changes, rounds) in
        [(&own, quick(), 2), (&without, quick(), 1), (&own, ten(), 10), (&without, ten(), 10)]
    {
        let plan = parse(text, &changes).unwrap();
        assert_eq!((plan.schedule.rounds, plan.schedule.until_sure), (rounds, None));
    }
    let other = Changes { set: set(&[("schedule.rounds", "6..9")]), ..Changes::default() };
    let kept = parse(&own, &other).unwrap().schedule.until_sure.unwrap();
    assert_eq!((kept.stop, kept.max_time), (model::Stop::All, Some(Duration::from_secs(3600))));
    let both = Changes { set: set(&[("schedule.stop", "all"), ("schedule.rounds", "10")]), ..Changes::default() };
    let error = parse(&own, &both).unwrap_err().to_string();
    assert!(error.contains("`stop` in `[schedule]` is for an experiment that ends when it is sure"), "{error}");
}

#[test]
fn a_slip_in_the_quick_form_is_told_with_its_line_even_when_it_is_not_asked_for() {
    let text = format!("{SMALL}[quick]\n\"benchmarks.nothing.clients\" = 2\n");
    let error = parse(&text, &Changes::default()).unwrap_err().to_string();
    assert!(error.contains("no benchmark `nothing`") && error.contains("db.toml:10"), "{error}");
}

#[test]
fn a_plan_without_a_quick_form_gets_one_round_of_short_runs_and_keeps_what_is_shorter() {
    let form = |text: &str| {
        let changes = Changes { form: Form::Quick, ..Changes::default() };
        Plan::parse(text, "db.toml", &changes, &catalog(), 7).unwrap()
    };
    let (ms, s) = (Duration::from_millis, Duration::from_secs);
    let schedule = |text: &str| form(&format!("{SMALL}{text}")).0.schedule;
    let quick = schedule("");
    assert_eq!((quick.rounds, quick.warmup, quick.length), (1, ms(100), Length::Duration(s(1))));
    let quick = schedule("[schedule]\nrounds = 9\nwarmup = \"20ms\"\nduration = \"300ms\"\nseed = 5\n");
    assert_eq!((quick.rounds, quick.warmup, quick.length, quick.seed), (1, ms(20), Length::Duration(ms(300)), 5));
    let quick = schedule("[schedule]\ntransactions = 1000\n");
    assert_eq!((quick.rounds, quick.length), (1, Length::Transactions(50)));
    let notes = form(SMALL).1;
    assert!(notes.iter().any(|note| note.contains("no verdicts")), "{notes:?}");
}

#[test]
fn short_names_stand_for_private_servers_and_files() {
    let changes = on(&[("a", Some("postgres:18")), ("mariadb", None), ("f", Some("sqlite")), ("u", Some("sqlite:18"))]);
    let plan = parse(SMALL, &changes).unwrap();
    let shown = |system: &model::SystemPlan| {
        let server = system.server.clone().map(|server| (server.engine, server.version));
        (system.engine.clone(), system.url.clone(), server)
    };
    let server = |name: &str, version: Option<&str>| Some((name.to_owned(), version.map(str::to_owned)));
    let expected = [
        ("postgres", "", server("postgres", Some("18"))),
        ("mysql", "", server("mariadb", None)),
        ("sqlite", "sqlite:own.db", None),
        ("sqlite", "sqlite:18", None),
    ];
    let expected = expected.map(|(engine, url, server)| (engine.to_owned(), url.to_owned(), server));
    assert_eq!(plan.systems.iter().map(shown).collect::<Vec<_>>(), expected);
    let catalog = catalog();
    let names = ["postgresql", "postgresql:15", "sim", "sqlite:", "postgres://h/d", "postgres:x", "oracle"];
    let own: Vec<bool> = names.iter().map(|name| catalog.own_system(name).is_some()).collect();
    assert_eq!(own, [true, true, false, false, false, false, false]);
    assert_eq!(catalog.own_names(), ["postgres", "mysql", "mariadb", "sqlite"]);
}

#[test]
fn named_systems_take_the_place_of_the_plans_own() {
    let text = format!("baseline = \"a\"\n{SMALL}").replace("[systems.b]", "[systems.b]\nsettings = { x = 1 }");
    let plan = parse(&text, &on(&[("b", Some("mysql://h/other")), ("new", Some("mysql://h/d"))])).unwrap();
    let systems: Vec<_> = plan.systems.iter().map(|s| (s.name.as_str(), s.engine.as_str(), s.settings.len())).collect();
    assert_eq!(systems, [("b", "mysql", 1), ("new", "mysql", 0)]);
    assert_eq!(plan.comparison.baseline, "b", "a baseline that takes no part is none");
    let kept = parse(&text, &on(&[("new", Some("mysql://h/d")), ("a", None)])).unwrap();
    assert_eq!((kept.systems.len(), kept.comparison.baseline.as_str()), (2, "a"));
}

#[test]
fn settings_of_systems_that_take_no_part_are_noted() {
    let text = SMALL.replace("[systems.b]", "[systems.b]\nsettings = { x = 1, y = 2 }");
    let notes =
        |systems: &[(&str, Option<&str>)]| Plan::parse(&text, "db.toml", &on(systems), &catalog(), 7).unwrap().1;
    let lost = notes(&[("new", Some("mysql://h/d"))]);
    assert!(lost.iter().any(|note| note.contains("`b` takes no part") && note.contains("(x, y)")), "{lost:?}");
    assert_eq!(notes(&[("b", Some("mysql://h/d"))]), [""; 0]);
    assert_eq!(notes(&[]), [""; 0]);
}

/// SQLite's page size says nothing to PostgreSQL.
#[test]
fn settings_of_another_engine_are_forgotten_and_those_of_the_command_line_are_not() {
    let text = SMALL.replace("[systems.b]", "[systems.b]\nsettings = { x = 1, y = 2 }");
    let engine = parse(&text, &Changes::default()).unwrap().system("b").unwrap().engine.clone();
    let (same, other) = match engine.as_str() {
        "postgres" => ("postgres://h/other", "mysql://h/d"),
        _ => ("mysql://h/other", "postgres://h/d"),
    };
    let settings = |changes: &Changes| {
        let plan = parse(&text, changes).unwrap();
        plan.system("b").unwrap().settings.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(settings(&on(&[("b", Some(same))])), ["x", "y"]);
    assert_eq!(settings(&on(&[("b", Some(other))])), [] as [&str; 0]);
    let set = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let all = vec![set("systems.b.settings.y", "3"), set("systems.b.url", other)];
    assert_eq!(settings(&Changes { set: all, ..Changes::default() }), ["y"]);
}

#[test]
fn what_is_wrong_with_a_named_system_is_told_by_its_argument() {
    let refused = |systems: &[(&str, Option<&str>)]| parse(SMALL, &on(systems)).unwrap_err().to_string();
    let error = refused(&[("c", None)]);
    assert!(error.contains("no system `c`") && error.contains("NAME=URL"), "{error}");
    let error = refused(&[("c", Some("nosuch://h")), ("c", Some("mysql://h/d"))]);
    assert!(error.contains("named twice") && error.contains("--system c"), "{error}");
    let error = refused(&[("c", Some("postgres://u:secret@h/\u{7}"))]);
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn a_plan_with_the_keys_of_earlier_versions_is_the_same_plan() {
    let now = format!("{SMALL}{QUICK}");
    let then = now.replace("rounds = ", "blocks = ");
    let (whole, quick) = (Changes::default(), Changes { form: Form::Quick, ..Changes::default() });
    for changes in [&whole, &quick] {
        assert_eq!(parse(&then, changes).unwrap(), parse(&now, changes).unwrap());
    }
    let set = |path: &str| Changes { set: vec![(path.to_owned(), "3".to_owned())], ..Changes::default() };
    assert_eq!(parse(&now, &set("schedule.blocks")).unwrap(), parse(&then, &set("schedule.rounds")).unwrap());
    let told = |text: &str, changes: &Changes| Plan::parse(text, "db.toml", changes, &catalog(), 7).unwrap().1;
    let said = "`blocks` in `schedule` is now called `rounds`: read as that";
    assert_eq!((told(&then, &whole), told(&now, &set("schedule.blocks"))), (vec![said.into()], vec![said.into()]));
    assert!(told(&now, &whole).is_empty());
    static EXECUTIONS: [KeySpec; 1] = [int(1..=9).called("executions", "")];
    let mut catalog = catalog();
    (catalog.workloads[1].name, catalog.workloads[1].keys) = ("spatial", &EXECUTIONS);
    let spatial = "[systems.a]\nurl = \"sqlite:x\"\n[[benchmarks]]\nworkload = \"spatial\"\nruns = 3\n\
                   [quick]\n\"benchmarks.*.runs\" = 1\n";
    let told = Plan::parse(spatial, "db.toml", &whole, &catalog, 7).unwrap().1;
    assert_eq!(told, ["`runs` in `benchmarks` is now called `executions`: read as that"]);
    let error = parse(&then.replace("blocks = 9", "blocks = 9\nrounds = 9"), &whole).unwrap_err().to_string();
    assert!(error.contains("unknown key `blocks`"), "{error}");
}

#[test]
fn a_key_that_stands_in_one_place_alone_is_set_there() {
    let text = format!("{SMALL}[[benchmarks]]\nworkload = \"backup\"\ncodec = \"zstd\"\n");
    let plan = parse_with(&text, &[("clients", "9"), ("rounds", "3"), ("pool.size", "5")]).unwrap();
    assert_eq!(plan.schedule.rounds, 3);
    let [transactions, backup] = &plan.benchmarks[..] else { panic!("{:?}", plan.benchmarks) };
    let of = |point: &Point, key: &str| point.get(key).cloned();
    assert_eq!(of(&transactions.points[0], "clients"), Some(Value::Int(9)));
    assert_eq!(of(&backup.points[0], "pool.size"), Some(Value::Int(5)));
    assert!(!transactions.by_default.contains("clients") && transactions.by_default.contains("rate"));
    let unknown = parse_with(&text, &[("colour", "1")]).unwrap_err().to_string();
    assert!(unknown.contains("unknown key `colour` in the plan"), "{unknown}");
}

/// A usual value is the same experiment, written or not.
#[test]
fn a_usual_value_that_is_written_leaves_the_hash() {
    let hash = |overrides: &[(&str, &str)]| parse_with(SMALL, overrides).unwrap().hash();
    assert_eq!(hash(&[]), hash(&[("rate", "0")]));
    assert_ne!(hash(&[]), hash(&[("rate", "5")]));
}
