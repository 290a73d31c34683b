//! The JSON Schema of a plan file, for editors that complete and check TOML.
//!
//! Written by hand, since the catalog decides most of it; a test holds it against what [`Plan::parse`] takes. It cannot
//! say everything: that names are unique, that a range stays within its limits, that a baseline exists.
//!
//! [`Plan::parse`]: super::Plan::parse

use serde_json::{Map, Value as Json, json};

use super::file::{CACHES, CONNECTS, MOST_POOLED, ON_ERRORS, ORDERS, STOPS};
use super::fleet::{AGENT_PATTERN, ALL, CLIENTS_ON, COUPLES, DEFAULT_PATIENCE};
use super::volume::{FILESYSTEMS, SIZE_PATTERN};
use super::{DEFAULT_DURATION, DEFAULT_LEVEL, DEFAULT_MARGIN, DEFAULT_ROUNDS, DEFAULT_WARMUP};
use super::{ENV_PREFIX, MAX_ROUNDS};
use crate::catalog::{Catalog, EngineSpec, KeyKind, KeySpec, Literal, Visibility, WorkloadSpec};
use crate::duration;
use crate::reset::Reset;
use crate::share::{self, ShareRange};
use crate::value::Value;

/// Not blank, no control characters.
const NAME_PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s][^\x00-\x1f\x7f-\x9f]*$";
/// The schema also asks for at least two characters.
const DURATION_PATTERN: &str = concat!(
    r"^([0-9]+(\.[0-9]+)?d)?([0-9]+(\.[0-9]+)?h)?([0-9]+(\.[0-9]+)?m)?([0-9]+(\.[0-9]+)?s)?",
    r"([0-9]+(\.[0-9]+)?ms)?([0-9]+(\.[0-9]+)?[uµμ]s)?([0-9]+(\.[0-9]+)?ns)?$"
);
const RANGE_PATTERN: &str = r"^-?[0-9]+\.\.-?[0-9]+(\*[0-9]+)?$";
const SHARE_PATTERN: &str = r"^([0-9]+(\.[0-9]+)?\s*%|0?\.[0-9]+)$";
/// The pattern of what [`crate::catalog::is_release`] accepts.
const RELEASE_PATTERN: &str = r"^[0-9]+(\.[0-9]+)*$";

/// Makes the JSON Schema (draft 2020-12) of a plan file, without hidden engines.
pub fn json_schema(catalog: &Catalog) -> Json {
    let benchmarks: Vec<Json> = catalog.workloads.iter().map(benchmark_schema).collect();
    let benchmark = if benchmarks.is_empty() { json!(false) } else { json!({ "oneOf": benchmarks }) };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Étalon plan",
        "description": "What to measure: systems, benchmarks, and how often.",
        "type": "object",
        "additionalProperties": false,
        "required": ["systems", "benchmarks"],
        "properties": {
            "name": name_schema("The experiment's name; the name of the file when absent."),
            "systems": {
                "description": "What is under test.",
                "type": "object",
                "minProperties": 1,
                "propertyNames": { "pattern": NAME_PATTERN },
                "additionalProperties": { "$ref": "#/$defs/system" },
            },
            "benchmarks": {
                "description": "What is asked of every system.",
                "type": "array",
                "minItems": 1,
                "items": benchmark,
            },
            "schedule": schedule_schema(),
            "baseline": name_schema("The system that the others are compared with; the first when absent."),
            "margin": share_schema("Half width of the zone in which systems count as equal.", share::MARGIN, DEFAULT_MARGIN),
            "level": share_schema("Level of the intervals.", share::LEVEL, DEFAULT_LEVEL),
            "allow_unequal_durability": {
                "description": "Whether systems that promise unequal durability may get a verdict.",
                "type": "boolean",
                "default": false,
            },
            "allow_sequential_order": {
                "description": "Whether systems that ran one after the other (`order = \"sequential\"`) may get a verdict.",
                "type": "boolean",
                "default": false,
            },
            "allow_different_rows": {
                "description": "Whether systems whose transactions return or change different numbers of rows may get a verdict.",
                "type": "boolean",
                "default": false,
            },
            "quick": {
                "description": "What the quick form of the plan (`--quick`) changes: paths as of `--set`, with their values.",
                "type": "object",
            },
            "fleet": fleet_schema(),
        },
        "$defs": { "system": system_schema(catalog), "settings": settings_schema() },
    })
}

/// Makes the schema of a name: not blank, without control characters.
fn name_schema(about: &str) -> Json {
    json!({ "description": about, "type": "string", "pattern": NAME_PATTERN })
}

/// Makes the schema of a share between two limits, as a number or a percentage.
fn share_schema(about: &str, range: ShareRange, default: f64) -> Json {
    let (min, max) = range.limits();
    json!({
        "description": about,
        "anyOf": [
            { "type": "number", "exclusiveMinimum": min, "exclusiveMaximum": max },
            { "type": "string", "pattern": SHARE_PATTERN },
        ],
        "default": default,
    })
}

/// Makes the schema of a system.
fn system_schema(catalog: &Catalog) -> Json {
    let schemes: Vec<&str> = public_engines(catalog).flat_map(|engine| engine.schemes.iter().copied()).collect();
    // Schemes are letters, digits, `+`, `-` and `.`: the first and the last of these mean something in a pattern.
    let escaped = schemes.join("|").replace('.', r"\.").replace('+', r"\+");
    let startable: Vec<&EngineSpec> = public_engines(catalog).filter(|e| !e.private_servers.is_empty()).collect();
    json!({
        "description": "A system: a database that runs already, a server or a volume that étalon makes and removes, a folder.",
        "type": "object",
        "additionalProperties": false,
        "oneOf": [{ "required": ["url"] }, { "required": ["server"] }, { "required": ["volume"] }],
        "properties": {
            "url": {
                "description": "Where the database is, or env:NAME to read that from the environment.",
                "type": "string",
                "pattern": format!("^({ENV_PREFIX}[^=\\s]+$|({escaped}):)"),
            },
            "server": server_schema(&startable),
            "volume": volume_schema(),
            "host": {
                "description": "The agent on whose host the system is: it is opened, asked and, without `clients_on`, loaded there.",
                "type": "string", "pattern": AGENT_PATTERN, "not": { "const": ALL },
            },
            "price": {
                "description": "What the system costs, by the hour or the month of 730 hours: each search for the load that a \
                                promise allows tells what that is for a unit of money.",
                "type": "string", "pattern": r"^\s*[0-9.]+\s+[^\s0-9]{1,8}\s*/\s*(h|month)\s*$",
            },
            "reset": {
                "description": "How étalon's own tables come back to their first state before each run: loaded anew, from a copy \
                                that is kept (its blocks shared where the filesystem can, or block by block), or not at all. When \
                                absent: as the engine does with tables of their size, which `etalon plan` says.",
                "type": "string", "enum": Reset::WORDS.map(|(word, _)| word),
            },
            "settings": {
                "description": "Settings to give the system: pragmas, session or server settings.",
                "$ref": "#/$defs/settings",
            },
            "change": statements_schema(
                "A statement, or a list of them, that turns the system of the same `url` without `change` into this one. Étalon runs them before \
                 runs of this system.",
            ),
            "undo": statements_schema(
                "A statement, or a list of them, that undoes `change`. Étalon runs them before runs of the other system, and at the end.",
            ),
        },
        "dependentRequired": { "change": ["undo"], "undo": ["change"] },
    })
}

/// Makes the schema of one statement or a list of them.
fn statements_schema(about: &str) -> Json {
    let statement = json!({ "type": "string", "pattern": r"\S" });
    json!({ "description": about, "anyOf": [statement, { "type": "array", "items": statement, "minItems": 1 }] })
}

/// Lists the engines that are shown to users.
fn public_engines(catalog: &Catalog) -> impl Iterator<Item = &EngineSpec> {
    catalog.engines.iter().filter(|engine| engine.visibility == Visibility::Public)
}

/// Makes the schema of a private server.
fn server_schema(startable: &[&EngineSpec]) -> Json {
    let engines: Vec<&str> = startable.iter().flat_map(|engine| engine.private_servers.iter().copied()).collect();
    let specs = || startable.iter().flat_map(|engine| engine.poolers);
    let poolers: Vec<&str> = specs().map(|pooler| pooler.name).collect();
    let modes: Vec<&str> = specs().flat_map(|pooler| pooler.modes.iter().copied()).collect();
    json!({
        "description": "A server that étalon initialises, starts and removes itself.",
        "type": "object",
        "additionalProperties": false,
        "required": ["engine"],
        "properties": {
            "engine": { "description": "The engine whose programs are started.", "type": "string", "enum": engines },
            "version": {
                "description": "The release to start, as in `\"18\"`, where several are installed; without it the one on PATH, \
                                else the newest.",
                "type": "string", "pattern": RELEASE_PATTERN,
            },
            "bin_dir": {
                "description": "Folder of the server's programs; found by itself when absent.",
                "type": "string",
            },
            "folder": {
                "description": "A folder that is there, on the disk where the server is to have its data; /var/tmp when absent.",
                "type": "string",
            },
            "connect": words_schema("The path from client to server.", &CONNECTS, "socket"),
            "pooler": {
                "description": "A pooler that étalon starts in front of the server; all clients go through it.",
                "type": "string", "enum": poolers,
            },
            "pool_mode": {
                "description": "How the pooler lends the server's sessions to clients: each for a transaction, or for as long as \
                                a client stays.",
                "type": "string", "enum": modes,
            },
            "pool_size": {
                "description": "How many sessions the pooler has at most. When absent: 20, and in mode `session` ten fewer than \
                                `max_connections`.",
                "type": "integer", "minimum": 1, "maximum": MOST_POOLED,
            },
            "optional": {
                "description": "Whether the system is left out where the server's programs are not installed.",
                "type": "boolean",
                "default": false,
            },
        },
    })
}

/// Makes the schema of a volume that étalon makes.
fn volume_schema() -> Json {
    json!({
        "description": "A volume that étalon makes in an image file, mounts and removes itself, as root on Linux.",
        "type": "object",
        "additionalProperties": false,
        "required": ["image", "size"],
        "properties": {
            "image": { "description": "The image file, on the disk that is to be measured.", "type": "string" },
            "size": {
                "description": "Its size, in bytes or as in \"2G\".",
                "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": SIZE_PATTERN }],
            },
            "fs": words_schema("The filesystem.", &FILESYSTEMS, "ext4"),
            "block": { "description": "Its block in bytes.", "type": "integer", "default": 4096 },
            "cluster": { "description": "The unit in which it gives out space, in bytes; its block when absent.", "type": "integer" },
        },
    })
}

/// Makes the schema of an agent's name.
fn agent_schema() -> Json {
    json!({ "type": "string", "pattern": AGENT_PATTERN, "not": { "const": ALL } })
}

/// Makes the schema of a list of agents.
fn agents_schema() -> Json {
    json!({ "type": "array", "items": agent_schema(), "minItems": 1, "uniqueItems": true })
}

/// Makes the schema of the table `[fleet]`.
fn fleet_schema() -> Json {
    json!({
        "description": "The other hosts that take part, by way of agents on NATS.",
        "type": "object",
        "additionalProperties": false,
        "required": ["nats"],
        "properties": {
            "nats": { "description": "The URL of the NATS server, or `env:NAME`.", "type": "string" },
            "agents": {
                "description": "The agents that `all` stands for.",
                "type": "array", "items": agent_schema(), "minItems": 1, "uniqueItems": true,
            },
            "creds": { "description": "A file of credentials for the NATS server: a JWT with its key, or an NKey's seed.", "type": "string" },
            "ca": { "description": "A file with the certificate of the authority that signed the NATS server's.", "type": "string" },
            "patience": {
                "description": "How long an agent that does not answer is waited for.",
                "type": "string",
                "pattern": DURATION_PATTERN,
                "minLength": 2,
                "default": duration::format(DEFAULT_PATIENCE),
            },
        },
    })
}

/// Makes the schema of a system's settings, which may be nested.
fn settings_schema() -> Json {
    json!({
        "description": "Settings to give the system: pragmas, session or server settings.",
        "type": "object",
        "propertyNames": { "pattern": NAME_PATTERN },
        "additionalProperties": {
            "anyOf": [{ "type": ["boolean", "number", "string"] }, { "$ref": "#/$defs/settings" }],
        },
    })
}

/// Makes the schema of the table `[schedule]`.
fn schedule_schema() -> Json {
    json!({
        "description": "When and how often.",
        "type": "object",
        "additionalProperties": false,
        "not": { "required": ["duration", "transactions"] },
        "properties": {
            "rounds": {
                "description": "How many times every case is run; of a range, as many as it takes to be sure.",
                "anyOf": [
                    { "type": "integer", "minimum": 1, "maximum": MAX_ROUNDS },
                    { "type": "string", "pattern": r"^\s*[0-9]{1,5}\s*\.\.\s*[0-9]{1,5}\s*$" },
                ],
                "default": DEFAULT_ROUNDS,
            },
            "stop": words_schema(
                "Of a range of rounds. rows: cases all of whose rows are decided leave the later rounds; all: none does; never: \
                 all rounds are run.",
                &STOPS,
                "rows",
            ),
            "max_time": {
                "description": "Of a range of rounds: no round begins after so long.",
                "type": "string",
                "pattern": DURATION_PATTERN,
                "minLength": 2,
            },
            "warmup": length_schema("Load before the measured part of each run.", DEFAULT_WARMUP),
            "duration": length_schema("The measured part of each run.", DEFAULT_DURATION),
            "transactions": {
                "description": "Transactions of each client in the measured part, in the place of a duration.",
                "type": "integer",
                "minimum": 1,
            },
            "order": words_schema(
                "interleaved: rounds of every case once, shuffled; sequential: case after case, which drift fools.",
                &ORDERS,
                "interleaved",
            ),
            "seed": {
                "description": "Seed of the order and of every random stream.",
                "type": "integer",
                "minimum": 0,
            },
            "caches": words_schema(
                "What engine and operating system hold of étalon's own tables when a run begins: every table read through once, or \
                 nothing.",
                &CACHES,
                "warmed",
            ),
            "on_error": words_schema("What to do when a run fails.", &ON_ERRORS, "stop"),
        },
    })
}

/// Makes the schema of a length of time.
fn length_schema(about: &str, default: std::time::Duration) -> Json {
    json!({
        "description": about,
        "type": "string",
        "pattern": DURATION_PATTERN,
        "minLength": 2,
        "default": duration::format(default),
    })
}

/// Makes the schema of a choice of words.
fn words_schema<T>(about: &str, words: &[(&str, T)], default: &str) -> Json {
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    json!({ "description": about, "type": "string", "enum": words, "default": default })
}

/// Makes the schemas of the keys that every benchmark has, without `workload`.
pub(super) fn common_keys() -> Map<String, Json> {
    let mut properties = Map::new();
    properties
        .insert("name".to_owned(), name_schema("The benchmark's name; that of its script or workload when absent."));
    let stands_for = "Which figures of a published test its cases stand for; the report shows it beside them.";
    properties.insert("stands_for".to_owned(), json!({ "description": stands_for, "type": "string" }));
    let on = json!({
        "description": "The agents that make the load; without it, it is made where the system is.",
        "anyOf": [{ "type": "string", "const": ALL }, agent_schema(), agents_schema()],
    });
    properties.insert(CLIENTS_ON.to_owned(), on);
    let couples = json!({
        "description": "Each agent of `clients_on` makes the load by itself, against every system: a factor of the comparison.",
        "type": "string", "const": ALL,
    });
    properties.insert(COUPLES.to_owned(), couples);
    properties
}

/// Makes the schema of a benchmark of one workload.
fn benchmark_schema(workload: &WorkloadSpec) -> Json {
    let mut properties = common_keys();
    let about = json!({ "description": workload.about, "type": "string", "const": workload.name });
    properties.insert("workload".to_owned(), about);
    for spec in workload.keys {
        match spec.name.split_once('.') {
            None => {
                properties.insert(spec.name.to_owned(), key_schema(spec));
            }
            Some((table, entry)) => {
                let table = properties.entry(table).or_insert_with(
                    || json!({ "type": "object", "minProperties": 1, "additionalProperties": false, "properties": {} }),
                );
                table["properties"][entry] = key_schema(spec);
            }
        }
    }
    let needed = workload.keys.iter().filter(|spec| spec.default.is_none()).map(|spec| spec.name);
    let needed = needed.map(|name| name.split_once('.').map_or(name, |(table, _)| table));
    let required: Vec<&str> = std::iter::once("workload").chain(needed).collect();
    json!({
        "title": workload.name,
        "description": workload.about,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// Makes the schema of a workload's key: one value, or a sweep of them.
fn key_schema(spec: &KeySpec) -> Json {
    let one = scalar_schema(spec.kind);
    let mut forms = vec![one.clone(), json!({ "type": "array", "items": one, "minItems": 1, "uniqueItems": true })];
    if matches!(spec.kind, KeyKind::Int { .. }) {
        forms.push(json!({ "type": "string", "pattern": RANGE_PATTERN }));
    }
    let mut schema = json!({ "description": spec.about, "anyOf": forms });
    if let Some(default) = spec.default.and_then(Literal::to_value) {
        schema["default"] = match default {
            Value::Bool(b) => json!(b),
            Value::Int(n) => json!(n),
            Value::Float(x) => json!(x),
            Value::Text(text) => json!(text),
        };
    }
    schema
}

/// Makes the schema of a single value of a kind.
fn scalar_schema(kind: KeyKind) -> Json {
    match kind {
        KeyKind::Int { min, max } => {
            let mut schema = json!({ "type": "integer" });
            for (word, limit) in [("minimum", min), ("maximum", max)] {
                if limit != i64::MIN && limit != i64::MAX {
                    schema[word] = json!(limit);
                }
            }
            schema
        }
        KeyKind::Float { min, max } => {
            // Infinity is no number of JSON.
            let mut schema = json!({ "type": "number" });
            for (word, limit) in [("minimum", min), ("maximum", max)] {
                if limit.is_finite() && limit.abs() != f64::MAX {
                    schema[word] = json!(limit);
                }
            }
            schema
        }
        KeyKind::Share => json!({ "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": SHARE_PATTERN },
        ] }),
        KeyKind::Bool => json!({ "type": "boolean" }),
        KeyKind::Choice(words) => json!({ "type": "string", "enum": words }),
        KeyKind::ChoiceOrFile(words) => {
            json!({ "type": "string", "anyOf": [{ "enum": words }, { "pattern": r"[/\\.]" }] })
        }
        KeyKind::Mix(words) => {
            // Each part, between commas, is a word or has a character that only a path has; a weight may follow it.
            let escaped = words.join("|").replace('.', r"\.").replace('+', r"\+");
            let part = format!(r"\s*(({escaped})|[^,]*[/\\.][^,]*)(@[0-9]+)?\s*");
            json!({ "type": "string", "pattern": format!("^{part}(,{part})*$") })
        }
        KeyKind::Duration => json!({ "type": "string", "pattern": DURATION_PATTERN, "minLength": 2 }),
        KeyKind::DurationRange => {
            let one = &DURATION_PATTERN[1..DURATION_PATTERN.len() - 1];
            json!({ "type": "string", "pattern": format!(r"^{one}(\s*\.\.\s*{one})?$"), "minLength": 2 })
        }
        KeyKind::Durations => {
            let one = &DURATION_PATTERN[1..DURATION_PATTERN.len() - 1];
            json!({ "anyOf": [
                { "type": "string", "pattern": format!(r"^{one}(\s*,\s*{one})*$"), "minLength": 2 },
                { "type": "array", "items": scalar_schema(KeyKind::Duration), "minItems": 1 },
            ] })
        }
        KeyKind::OfEngines | KeyKind::Text => json!({ "type": "string" }),
    }
}
