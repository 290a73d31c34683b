//! Keys in inline tables, values that are lists, mixes of scripts.

use crate::common::{catalog, errors, parse};
use model::Value;
use model::plan::json_schema;

fn plan(keys: &str) -> String {
    format!(
        "[systems.a]\nurl = \"sqlite:a.db\"\n[[benchmarks]]\nworkload = \"backup\"\nname = \"b\"\ncodec = \"zstd\"\n{keys}\n"
    )
}

fn values(keys: &str, key: &str) -> Vec<Option<Value>> {
    let plan = parse(&plan(keys)).unwrap();
    plan.benchmarks[0].points.iter().map(|point| point.get(key).cloned()).collect()
}

fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.to_owned()))
}

#[test]
fn entries_of_a_table_are_keys_and_sweep() {
    let keys = "pool = { size = [10, 50], acquire_timeout = \"60s\" }\nrows = [1, 2]";
    let sizes = values(keys, "pool.size");
    assert_eq!(sizes.len(), 4);
    assert!(sizes.contains(&Some(Value::Int(10))) && sizes.contains(&Some(Value::Int(50))));
    assert!(values(keys, "pool.acquire_timeout").iter().all(|value| *value == text("60s")));
    assert_eq!(values("pool.size = 7", "pool.size"), [Some(Value::Int(7))]);
}

#[test]
fn points_that_differ_in_an_idle_key_alone_are_one() {
    let text = plan("pool.size = [10, 50]").replace("\"zstd\"", "[\"zstd\", \"gzip\"]");
    let plan = parse(&text).unwrap();
    let sizes = plan.benchmarks[0].points.iter().map(|point| (point["codec"].to_string(), point["pool.size"].as_int()));
    let expected = [("zstd", 10), ("zstd", 50), ("gzip", 10)].map(|(codec, size)| (codec.to_owned(), Some(size)));
    assert_eq!(sizes.collect::<Vec<_>>(), expected);
    assert_eq!(plan.cases().len(), 3);
}

#[test]
fn what_may_be_left_out_is_in_no_point() {
    for key in ["pool.size", "pause", "limits"] {
        assert_eq!(values("rows = 1", key), [None]);
    }
}

#[test]
fn an_unknown_entry_is_told_with_the_word_that_was_meant() {
    let error = errors(&plan("pool = { sise = 3 }"));
    assert!(error.contains("unknown key `sise` in `pool` of benchmark `b`"), "{error}");
    assert!(error.contains("did you mean `size`?"), "{error}");
    let error = errors(&plan("pool = 3"));
    assert!(error.contains("`pool` in benchmark `b` must be a table, not 3"), "{error}");
    assert!(error.contains("pool = { size = …, acquire_timeout = … }"), "{error}");
    let error = errors(&plan("pool = {}"));
    assert!(error.contains("`pool` in benchmark `b` is empty"), "{error}");
    assert!(error.contains("pool = { size = …, acquire_timeout = … }"), "{error}");
    let error = errors(&plan("pool = { size = 0 }"));
    assert!(error.contains("`pool.size` in benchmark `b` must be a whole number from 1 to 100, not 0"), "{error}");
    assert!(errors(&plan("pol = { size = 3 }")).contains("did you mean `pool`?"));
    assert!(errors(&plan("\"pool.size\" = 3")).contains("unknown key `pool.size`"));
}

#[test]
fn a_list_of_lengths_is_one_value_and_a_list_of_lists_a_sweep() {
    assert_eq!(values("limits = [\"100ms\", \"1s\"]", "limits"), [text("100ms, 1s")]);
    assert_eq!(values("limits = \"100ms, 1s\"", "limits"), [text("100ms, 1s")]);
    assert_eq!(values("limits = [[\"100ms\"], [\"1s\", \"2s\"]]", "limits"), [text("100ms"), text("1s, 2s")]);
    assert!(errors(&plan("limits = [\"100ms\", \"1\"]")).contains("`1` has no unit"));
    assert!(errors(&plan("limits = []")).contains("lengths of time"));
    assert!(errors(&plan("limits = [[\"1s\"], [\"1000ms\"]]")).contains("twice"));
}

#[test]
fn a_range_of_lengths_is_one_value() {
    assert_eq!(values("pause = \"50ms..249ms\"", "pause"), [text("50ms..249ms")]);
    assert_eq!(values("pause = [\"0s\", \"1ms..2ms\"]", "pause"), [text("0s"), text("1ms..2ms")]);
    assert!(errors(&plan("pause = \"2s..1s\"")).contains("the range is reversed"));
}

#[test]
fn scripts_are_mixed_by_weight() {
    for mix in ["select-only@2, tpcb-like", "./a.sql@3,./b.sql", "tpcb-like", "select-only@0, ./x.sql"] {
        assert_eq!(values(&format!("script = \"{mix}\""), "script"), [text(mix)]);
    }
    let error = errors(&plan("script = \"select-only@2, tpcb-lik\""));
    assert!(error.contains("did you mean `tpcb-like`?"), "{error}");
    let error = errors(&plan("script = \"select-only@x\""));
    assert!(error.contains("`x` is not a weight"), "{error}");
    assert!(errors(&plan("file = \"own, fair\"")).contains("must be one of"), "only a mix has commas");
}

#[test]
fn the_schema_takes_what_the_plan_takes() {
    let schema = jsonschema::draft202012::new(&json_schema(&catalog())).unwrap();
    let takes = |keys: &str| {
        let plan: toml::Value = toml::from_str(&plan(keys)).unwrap();
        schema.is_valid(&serde_json::to_value(plan).unwrap())
    };
    for good in [
        "pool = { size = [10, 50], acquire_timeout = \"60s\" }",
        "limits = [\"100ms\", \"1s\"]",
        "limits = [[\"100ms\"], [\"1s\"]]",
        "limits = \"100ms, 1s\"",
        "pause = \"50ms..249ms\"",
        "pause = \"1s\"",
        "script = \"select-only@2, ./a.sql\"",
    ] {
        assert!(takes(good) && parse(&plan(good)).is_ok(), "{good}");
    }
    for wrong in ["pool = 3", "pool = { sise = 3 }", "limits = [\"x\"]", "pause = \"x..y\"", "script = \"tpcb-lik\""] {
        assert!(!takes(wrong) && parse(&plan(wrong)).is_err(), "{wrong}");
    }
}
