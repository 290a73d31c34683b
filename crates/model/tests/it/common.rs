//! A catalog such as the engine room's, and a plan that is right.

use model::catalog::Visibility;
use model::{Catalog, EngineSpec, KeyKind, KeySpec, Literal, Plan, PlanErrors, Value, WorkloadSpec};

static TRANSACTIONS: [KeySpec; 6] = [
    KeySpec::new("clients", KeyKind::Int { min: 1, max: 10_000 }, Literal::Int(1), "Connections at once."),
    KeySpec::new(
        "script",
        KeyKind::ChoiceOrFile(&["tpcb-like", "simple-update", "select-only"]),
        Literal::Text("tpcb-like"),
        "What each client does.",
    ),
    KeySpec::new(
        "rate",
        KeyKind::Float { min: 0.0, max: 1e9 },
        Literal::Int(0),
        "Transactions per second; 0 is no limit.",
    ),
    KeySpec::new("think", KeyKind::Duration, Literal::Text("0s"), "Pause between two transactions."),
    KeySpec::new("prepared", KeyKind::Bool, Literal::Bool(true), "Whether statements are prepared once."),
    KeySpec::new("note", KeyKind::Text, Literal::Text(""), "Anything."),
];

static BACKUP: [KeySpec; 8] = [
    KeySpec {
        default: None,
        ..KeySpec::optional("codec", KeyKind::Choice(&["none", "zstd", "gzip"]), "The compression.")
    },
    KeySpec::new("rows", KeyKind::Int { min: 1, max: i64::MAX }, Literal::Int(1000), "Rows in the table."),
    KeySpec::optional("script", KeyKind::Mix(&["tpcb-like", "select-only"]), "What runs beside it."),
    KeySpec::optional("pool.size", KeyKind::Int { min: 1, max: 100 }, "Connections of the pool."),
    KeySpec::optional("pool.acquire_timeout", KeyKind::Duration, "How long a client waits for one."),
    KeySpec::optional("pause", KeyKind::DurationRange, "Pause between two statements."),
    KeySpec::optional("limits", KeyKind::Durations, "Response limits."),
    KeySpec::optional("file", KeyKind::ChoiceOrFile(&["own", "fair"]), "A file."),
];

pub fn catalog() -> Catalog {
    let engine = |name, schemes, private_servers, visibility| EngineSpec {
        name,
        schemes,
        about: "A database.",
        private_servers,
        visibility,
        cautions: &[],
    };
    Catalog {
        engines: vec![
            engine("postgres", &["postgres", "postgresql"], &["postgres"] as &[&str], Visibility::Public),
            engine("mysql", &["mysql"], &["mysql", "mariadb"], Visibility::Public),
            engine("sqlite", &["sqlite"], &[], Visibility::Public),
            engine("sim", &["sim"], &["sim"], Visibility::Hidden),
        ],
        workloads: vec![
            WorkloadSpec {
                name: "transactions",
                family: "transactions",
                about: "Small transactions.",
                rate_unit: "tx/s",
                keys: &TRANSACTIONS,
                idle: model::no_idle_keys,
            },
            WorkloadSpec {
                name: "backup",
                family: "backup",
                about: "A backup and a restore.",
                rate_unit: "tx/s",
                keys: &BACKUP,
                idle: |point| match point.get("codec") {
                    Some(Value::Text(codec)) if codec == "gzip" => &["pool.size"],
                    _ => &[],
                },
            },
        ],
    }
}

pub const GOOD: &str = r#"
name = "wal"
baseline = "pg-on"
margin = "5%"
level = 0.9
allow_unequal_durability = true

[systems.pg-on]
url = "postgres://bench:s3cret@localhost/bench"
settings = { synchronous_commit = "on", work_mem = 64, jit = false, x = 1.5, pg_hint_plan.debug = "on" }

[systems."pg off"]
server = { engine = "postgres", bin_dir = "/usr/lib/postgresql/16/bin", connect = "tcp" }

[[benchmarks]]
name = "tpcb"
workload = "transactions"
script = ["tpcb-like", "./mine.sql"]
clients = "1..8*2"
rate = [0, 0.5]

[[benchmarks]]
workload = "backup"
codec = "zstd"
rows = "3..5"

[schedule]
rounds = 6
warmup = "500ms"
transactions = 1000
order = "sequential"
seed = 18446744073709551615
on_error = "continue"
"#;

pub const SMALL: &str = r#"
[systems.a]
url = "postgres://u@h/a"
[systems.b]
url = "mysql://u@h/b"
[[benchmarks]]
workload = "transactions"
clients = [1, 4]
"#;

pub fn parse(text: &str) -> Result<Plan, PlanErrors> {
    Plan::parse(text, "db.toml", &model::plan::Changes::default(), &catalog(), 7).map(|(plan, _)| plan)
}

pub fn parse_with(text: &str, overrides: &[(&str, &str)]) -> Result<Plan, PlanErrors> {
    let overrides: Vec<_> = overrides.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    Plan::parse(
        text,
        "db.toml",
        &model::plan::Changes { set: overrides, ..model::plan::Changes::default() },
        &catalog(),
        7,
    )
    .map(|(plan, _)| plan)
}

pub fn errors(text: &str) -> String {
    parse(text).expect_err("this plan must be refused").to_string()
}

pub fn errors_with(text: &str, overrides: &[(&str, &str)]) -> String {
    parse_with(text, overrides).expect_err("this plan must be refused").to_string()
}

pub fn each(make: impl Fn(&str) -> String, lines: &[&str]) -> String {
    lines.iter().map(|line| make(line)).collect::<Vec<_>>().join("\n---\n")
}
