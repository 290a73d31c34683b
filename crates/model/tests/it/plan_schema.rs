//! The schema says what validation says, as far as a schema can.

use crate::common::{GOOD, SMALL, catalog, parse};
use model::plan::json_schema;

fn is_valid(text: &str) -> bool {
    let schema = json_schema(&catalog());
    let plan: toml::Value = toml::from_str(text).unwrap();
    let plan = serde_json::to_value(plan).unwrap();
    jsonschema::draft202012::new(&schema).unwrap().is_valid(&plan)
}

#[test]
fn it_is_a_schema() {
    let schema = json_schema(&catalog());
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::meta::validate(&json_schema(&model::Catalog::default())).unwrap();
    assert!(!schema.to_string().contains("|sim"), "hidden engines are not shown: {schema}");
}

#[test]
fn the_catalog_speaks() {
    let schema = json_schema(&catalog());
    let clients = &schema["properties"]["benchmarks"]["items"]["oneOf"][0]["properties"]["clients"];
    insta::assert_snapshot!(serde_json::to_string_pretty(clients).unwrap(), @r#"
    {
      "description": "Connections at once.",
      "anyOf": [
        {
          "type": "integer",
          "minimum": 1,
          "maximum": 10000
        },
        {
          "type": "array",
          "items": {
            "type": "integer",
            "minimum": 1,
            "maximum": 10000
          },
          "minItems": 1,
          "uniqueItems": true
        },
        {
          "type": "string",
          "pattern": "^-?[0-9]+\\.\\.-?[0-9]+(\\*[0-9]+)?$"
        }
      ],
      "default": 1
    }
    "#);
    assert_eq!(schema["properties"]["schedule"]["properties"]["warmup"]["default"], "2s");
}

#[test]
fn both_take_what_is_right() {
    // TOML as JSON has no integer beyond 64 bits with a sign.
    let good = GOOD.replace("18446744073709551615", "42");
    for text in [&good, SMALL] {
        assert!(parse(text).is_ok());
        assert!(is_valid(text));
    }
    for line in [
        "clients = \"1..64*2\"",
        "clients = 3",
        "rate = [0, 1.5]",
        "script = \"a.sql\"",
        "think = [\"1h30m\", \"500ms\", \"1.5s\", \"3us\"]",
        "prepared = [true, false]",
        "note = \"\"",
        "name = \"<b>\"",
    ] {
        let text = SMALL.replace("clients = [1, 4]", line);
        assert!(parse(&text).is_ok(), "{line}");
        assert!(is_valid(&text), "{line}");
    }
    for url in ["env:X", "postgresql:///db", "sqlite:x.db"] {
        let text = SMALL.replace("mysql://u@h/b", url);
        assert!(parse(&text).is_ok(), "{url}");
        assert!(is_valid(&text), "{url}");
    }
}

#[test]
fn both_refuse_what_is_wrong() {
    for line in [
        "client = 3",
        "clients = 0",
        "clients = 10001",
        "clients = 1.5",
        "clients = \"4\"",
        "clients = []",
        "clients = [1, 1]",
        "clients = \"1..\"",
        "rate = -1",
        "rate = \"1..2\"",
        "prepared = 1",
        "script = \"nonsense\"",
        "think = 1",
        "think = \"1\"",
        "think = \"\"",
        "think = \"30m1h\"",
        "note = 1",
        "name = \"\"",
        "name = \" \"",
        "name = \"a\\u0007\"",
        "codec = \"zstd\"",
    ] {
        let text = SMALL.replace("clients = [1, 4]", line);
        assert!(parse(&text).is_err(), "{line}");
        assert!(!is_valid(&text), "{line}");
    }
    for (old, new) in [
        ("url = \"mysql://u@h/b\"", ""),
        ("url = \"mysql://u@h/b\"", "url = \"mysql://u@h/b\"\nserver = { engine = \"mysql\" }"),
        ("url = \"mysql://u@h/b\"", "url = \"oracle://u@h/b\""),
        ("url = \"mysql://u@h/b\"", "url = \"env:\""),
        ("url = \"mysql://u@h/b\"", "server = { engine = \"sqlite\" }"),
        ("url = \"mysql://u@h/b\"", "server = {}"),
        ("url = \"mysql://u@h/b\"", "server = { engine = \"mysql\", connect = \"x\" }"),
        ("url = \"mysql://u@h/b\"", "url = \"mysql://u@h/b\"\nsettings = { a = [1] }"),
        ("url = \"mysql://u@h/b\"", "url = \"mysql://u@h/b\"\nx = 1"),
        ("[systems.b]", "[systems.'']"),
        ("\"transactions\"", "\"nothing\""),
        ("\"transactions\"", "\"backup\""),
        ("workload = \"transactions\"", ""),
        ("[systems.a]", "x = 1\n[systems.a]"),
        ("[systems.a]", "margin = 1\n[systems.a]"),
        ("[systems.a]", "level = 0.5\n[systems.a]"),
        ("[systems.a]", "margin = \"3\"\n[systems.a]"),
        ("[[benchmarks]]", "[schedule]\nrounds = 0\n[[benchmarks]]"),
        ("[[benchmarks]]", "[schedule]\nx = 0\n[[benchmarks]]"),
        ("[[benchmarks]]", "[schedule]\norder = \"x\"\n[[benchmarks]]"),
        ("[[benchmarks]]", "[schedule]\nduration = \"1s\"\ntransactions = 1\n[[benchmarks]]"),
        ("[[benchmarks]]", "[schedule]\nduration = 10\n[[benchmarks]]"),
    ] {
        let text = SMALL.replace(old, new);
        assert!(parse(&text).is_err(), "{new}");
        assert!(!is_valid(&text), "{new}");
    }
    assert!(!is_valid("systems = {}\nbenchmarks = []"));
    assert!(!is_valid(""));
}
