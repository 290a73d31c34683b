//! Transactions: what is driven is not what is claimed.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use conductor::Registry;
use load::error::Failure;
use load::observer::Silent;
use load::traffic::NetworkTraffic;
use load::worker::{LoadCounts, Pace, WorkerContext};
use model::{Length, Point, RunRecord, Schedule, Value};
use workloads::system::System;
use workloads::texts::Texts;
use workloads::transactions::{Program, ScriptOptions, Source, built_in_script, compile_mix, compile_with};
use workloads::work::{Load, RunTask};
use workloads::workload::{Action, Grants};

use super::faulty::{Faulty, Tamper};
use super::{Fault, Keys, accusations, missed, procedure, sqlite};

const FAIR: Tamper = Tamper::NONE;
const MIX: &str = "select-only@1, simple-update@1";
const OWN: &str = "BEGIN;\nUPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nSELECT 1;\nCOMMIT;\n";

fn options() -> ScriptOptions {
    ScriptOptions::default()
}

/// Drives another program in the place of the one that is claimed.
fn drive(system: &dyn System, program: &Program, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
    system.drive(Load::Statements(program), context)
}

/// Drives a built-in script of which one piece is another.
fn altered(
    system: &dyn System,
    context: WorkerContext<'_>,
    script: &str,
    (from, to): (&str, &str),
) -> Result<LoadCounts, Failure> {
    let text = built_in_script(script).unwrap();
    assert!(text.contains(from), "no `{from}` in {script}");
    drive(system, &compile_with(&text.replace(from, to), &options()).unwrap(), context)
}

macro_rules! altered {
    ($what:literal, $script:literal, $from:expr => $to:expr; $said:literal) => {
        Fault {
            what: $what,
            tamper: Tamper { drive: |system, _, context| altered(system, context, $script, ($from, $to)), ..FAIR },
            said: $said,
        }
    };
}

const ACCOUNT: &str = "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;";
const TELLER: &str = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;";

pub static TPCB: [Fault; 12] = [
    altered!("a transaction without its update", "tpcb-like", ACCOUNT => ""; "transactions of 7 statements asked the server"),
    altered!("an update that meets no row", "tpcb-like", ACCOUNT => "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = -:aid;";
        "rows, the server changed"),
    altered!("an update that leaves the row as it is", "tpcb-like", ACCOUNT => "UPDATE pgbench_accounts SET abalance = abalance + 0 * :delta WHERE aid = :aid;";
        "balances are not the sums of their history (`SELECT count(*) FROM pgbench_accounts"),
    altered!("the balance of another account", "tpcb-like", ACCOUNT => "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid % 100000 + 1;";
        "balances are not the sums of their history (`SELECT count(*) FROM pgbench_accounts"),
    altered!("a teller twice and no branch", "tpcb-like",
        "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;" => TELLER;
        "balances are not the sums of their history (`SELECT count(*) FROM pgbench_tellers"),
    altered!("always the same account", "tpcb-like", "\\set aid random(1, 100000 * :scale)" => "\\set aid 1";
        "different accounts"),
    altered!("accounts of a smaller scale", "tpcb-like", "random(1, 100000 * :scale)" => "random(1, 1000 * :scale)";
        "different accounts"),
    altered!("deltas that are all zero", "tpcb-like", "random(-5000, 5000)" => "0"; "the deltas' sizes in all"),
    altered!("a transaction that commits nothing", "tpcb-like", "COMMIT;" => "ROLLBACK;"; "transactions, the server only 0"),
    altered!("a select that is left out", "tpcb-like", "SELECT abalance FROM" => "UPDATE pgbench_branches SET bid = bid; -- ";
        "return"),
    Fault {
        what: "a transaction that is counted twice",
        tamper: Tamper {
            drive: |system, load, context| {
                let mut counts = system.drive(load, context)?;
                counts.succeeded *= 2;
                counts.succeeded_in_window *= 2;
                counts.asked += counts.asked;
                Ok(counts)
            },
            ..FAIR
        },
        said: "transactions, the server only",
    },
    Fault {
        what: "a failed statement that counts as a success",
        tamper: Tamper {
            drive: |system, _, context| {
                // SQLite's one error that depends on the row.
                let fails = "SELECT abs(-9223372036854775807 - (:aid % 2)); ";
                let text = built_in_script("tpcb-like").unwrap().replace(ACCOUNT, &format!("{ACCOUNT}\n{fails}"));
                let mut counts = drive(system, &compile_with(&text, &options()).unwrap(), context)?;
                counts.succeeded += counts.failures();
                counts.asked.statements = 7 * counts.succeeded;
                counts.failed = Default::default();
                Ok(counts)
            },
            ..FAIR
        },
        said: "transactions, the server only",
    },
];

static SELECTS: [Fault; 1] =
    [altered!("a select that finds no row", "select-only", "WHERE aid = :aid" => "WHERE aid = -:aid"; "return")];

static UPDATES: [Fault; 1] = [altered!("updates of the same row", "select-update",
    "\\set aid random(1, 100000 * :scale)" => "\\set aid 7"; "different accounts")];

static MIXES: [Fault; 1] = [Fault {
    what: "a script of a mix that is never chosen",
    tamper: Tamper {
        drive: |system, _, context| {
            let source = |name, weight| Source { name, text: built_in_script(name).unwrap(), weight };
            let mix = compile_mix(&[source("select-only", 1), source("simple-update", 0)], &options());
            drive(system, &mix.unwrap(), context)
        },
        ..FAIR
    },
    said: "were select-only, whose share is 50.0 %",
}];

static SCRIPTS: [Fault; 1] = [Fault {
    what: "a script of one's own without its update",
    tamper: Tamper {
        drive: |system, _, context| {
            drive(system, &compile_with("BEGIN;\nSELECT 1;\nCOMMIT;\n", &options()).unwrap(), context)
        },
        ..FAIR
    },
    said: "transactions of 4 statements asked the server",
}];

static THINKS: [Fault; 1] = [Fault {
    what: "a think time that is left out",
    tamper: Tamper {
        drive: |system, load, context| {
            let traffic = NetworkTraffic { think: None, ..context.traffic.clone() };
            system.drive(load, WorkerContext { traffic: &traffic, ..context })
        },
        ..FAIR
    },
    said: "transactions ended, and the think time leaves room for",
}];

static RATES: [Fault; 1] = [Fault {
    what: "a rate that is left out",
    tamper: Tamper {
        drive: |system, load, context| system.drive(load, WorkerContext { pace: Pace::Closed, ..context }),
        ..FAIR
    },
    said: "were due in the run",
}];

/// A run of transactions on tables that are brought back before it.
pub fn run(system: &dyn System, tamper: Tamper, keys: Keys<'_>) -> Result<RunRecord, Failure> {
    let workload = Registry::built_in().workload("transactions").unwrap();
    let mut point: Point =
        workload.spec().keys.iter().filter_map(|key| Some((key.name.to_owned(), key.default?.to_value()?))).collect();
    point.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let task = workload.make_task(&point, &Grants { texts: Texts::Files, ..Grants::default() })?;
    let Action::Stream(stream) = &task.action else { panic!("transactions are a stream") };
    system.prepare(&task.dataset)?;
    system.settle()?;
    let (system, interrupt) = (&Faulty { inner: system, tamper }, AtomicBool::new(false));
    let schedule = Schedule { length: Length::Duration(Duration::from_millis(400)), ..procedure::SCHEDULE };
    RunTask { system, task: stream, schedule: &schedule, seed: 5, interrupt: &interrupt }.run_here(&mut Silent)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn faults_of_transactions_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let system = procedure::open(&sqlite(&folder, &[("synchronous", "OFF"), ("journal_mode", "WAL")]));
    let own = folder.path().join("own.sql");
    std::fs::write(&own, OWN).unwrap();
    let own = own.display().to_string();
    let think = [("script", text("select-only")), ("think_time", text("20ms"))];
    let rate = [("script", text("select-only")), ("rate", Value::Float(100.0))];
    let all: [(&[Fault], Keys<'_>); 7] = [
        (&TPCB, &[("script", text("tpcb-like"))]),
        (&SELECTS, &[("script", text("select-only"))]),
        (&UPDATES, &[("script", text("select-update"))]),
        (&MIXES, &[("script", text(MIX))]),
        (&SCRIPTS, &[("script", text(&own))]),
        (&THINKS, &think),
        (&RATES, &rate),
    ];
    let mut found = Vec::new();
    for (faults, keys) in all {
        let is_true = accusations(&run(&*system, FAIR, keys));
        assert_eq!(is_true, "", "a true run of {keys:?}");
        found.extend(missed(faults, |tamper| run(&*system, tamper, keys)));
    }
    system.drop_all().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
