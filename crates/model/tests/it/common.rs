//! A catalog such as the engine room's, and a plan that is right.

use model::catalog::{PoolerSpec, Visibility};
use model::keys::shapes::*;
use model::{Catalog, EngineSpec, KeySpec, Literal, Plan, PlanErrors, Value, WorkloadSpec};

static TRANSACTIONS: [KeySpec; 6] = [
    int(1..=10_000).or(1).called("clients", "Connections at once."),
    choice_or_file(&["tpcb-like", "simple-update", "select-only"])
        .or("tpcb-like")
        .called("script", "What each client does."),
    KeySpec {
        default: Some(Literal::Int(0)),
        ..float(0.0..=1e9).called("rate", "Transactions per second; 0 is no limit.")
    },
    DURATION.or("0s").called("think", "Pause between two transactions."),
    FLAG.or(true).called("prepared", "Whether statements are prepared once."),
    TEXT.or("").called("note", "Anything."),
];

static BACKUP: [KeySpec; 8] = [
    choice(&["none", "zstd", "gzip"]).required().called("codec", "The compression."),
    int(1..=i64::MAX).or(1000).called("rows", "Rows in the table."),
    mix(&["tpcb-like", "select-only"]).called("script", "What runs beside it."),
    int(1..=100).called("pool.size", "Connections of the pool."),
    DURATION.called("pool.acquire_timeout", "How long a client waits for one."),
    DURATION_RANGE.called("pause", "Pause between two statements."),
    DURATIONS.called("limits", "Response limits."),
    choice_or_file(&["own", "fair"]).called("file", "A file."),
];

static POOLERS: [PoolerSpec; 1] = [PoolerSpec { name: "pool", modes: &["transaction", "session"] }];

pub fn catalog() -> Catalog {
    let engine = |name, schemes, private_servers, visibility| EngineSpec {
        name,
        schemes,
        about: "A database.",
        private_servers,
        own_url: (name == "sqlite").then_some("sqlite:own.db"),
        other_address: None,
        workload: "transactions",
        backups: &[],
        poolers: if name == "postgres" { &POOLERS } else { &[] },
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
