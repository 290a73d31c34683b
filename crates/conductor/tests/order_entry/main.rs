//! Order entry on real engines, and faults that it must find in itself.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../shared/releases.rs"]
mod releases;
#[path = "../shared/stored.rs"]
mod stored;

mod conditions;
mod faults;
mod killed;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use conductor::experiment::ExperimentOptions;
use conductor::{Conductor, ExperimentEnd, Registry};
use load::observer::{Observer, Silent};
use model::{Case, MarkKind, Plan, PlannedRun, Reading, RunRecord};
use store::Store;
use stored::create;
use workloads::order_entry::OrderEntryWorkload;
use workloads::system::Consent;

/// Loaded in a moment.
const SMALL: OrderEntryWorkload =
    OrderEntryWorkload { name: "order-entry-small", items: 1_000, customers: 120, ..OrderEntryWorkload::BUILT_IN };

fn parse(text: &str, registry: &Registry) -> Plan {
    Plan::parse(text, "test.toml", &model::plan::Changes::default(), &registry.catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .0
}

/// One round of a workload on a system, with what its run is said to have failed of.
fn ran(
    workload: &'static OrderEntryWorkload,
    system: &str,
    benchmark: &str,
    duration: &str,
) -> (Store, Option<String>) {
    ran_in_rounds(1, workload, system, benchmark, duration)
}

fn ran_in_rounds(
    rounds: u32,
    workload: &'static OrderEntryWorkload,
    system: &str,
    benchmark: &str,
    duration: &str,
) -> (Store, Option<String>) {
    ran_watched(rounds, workload, system, benchmark, duration, &mut Silent)
}

fn ran_watched(
    rounds: u32,
    workload: &'static OrderEntryWorkload,
    system: &str,
    benchmark: &str,
    duration: &str,
    observer: &mut dyn Observer,
) -> (Store, Option<String>) {
    let registry = Registry::built_in().with_workload(workload);
    let text = format!(
        "[systems.a]\n{system}\n[[benchmarks]]\nworkload = \"{}\"\n{benchmark}\n[schedule]\nrounds = {rounds}\non_error = \"continue\"\n\
         warmup = \"100ms\"\nduration = \"{duration}\"\n",
        workload.name
    );
    let plan = parse(&text, &registry);
    let folder = tempfile::tempdir().unwrap();
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let options = ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)));
    let reason = match Conductor::new(&registry, &plan, &mut store, options).run_all(observer) {
        Ok(ExperimentEnd::Complete { failed: 0 }) => None,
        Ok(_) => Some(reason_of(&store)),
        Err(error) => Some(error.to_string()),
    };
    (store, reason)
}

fn reason_of(store: &Store) -> String {
    store.runs().unwrap().into_iter().find_map(|run| run.reason).unwrap_or_default()
}

fn values(store: &Store, metric: &str) -> Vec<Reading> {
    let rows = store.measurements().unwrap().into_iter().map(|row| row.measurement);
    rows.filter(|measurement| measurement.metric.id == metric).map(|measurement| measurement.reading).collect()
}

fn value(store: &Store, metric: &str) -> f64 {
    values(store, metric)[0].value().unwrap_or_else(|| panic!("{metric}: {:?}", values(store, metric)))
}

fn sqlite(folder: &tempfile::TempDir) -> String {
    let settings = "settings = { journal_mode = \"wal\", synchronous = \"off\" }";
    format!("url = \"sqlite:{}\"\n{settings}", folder.path().join("a.db").display())
}

/// Every transaction, every condition, every count.
fn orders_are_entered(system: &str) -> Store {
    entered_by(system, "calls = \"statements\"")
}

fn entered_by(system: &str, calls: &str) -> Store {
    let benchmark = format!("warehouses = 2\nclients = 4\nconditions = \"all\"\n{calls}");
    let (store, reason) = ran(&SMALL, system, &benchmark, "2s");
    assert_eq!(reason, None);
    assert!(value(&store, "nopm") > 0.0);
    for kind in ["new-order", "payment", "order-status", "delivery", "stock-level"] {
        assert!(value(&store, &format!("throughput_{kind}")) > 0.0, "{kind}");
        assert!(value(&store, &format!("response_mean_{kind}")) > 0.0, "{kind}");
    }
    assert!((5.0..15.0).contains(&value(&store, "lines_per_order")));
    let marks = store.marks().unwrap();
    assert!(marks.iter().all(|(_, mark)| mark.kind != MarkKind::NotCounted), "{marks:?}");
    assert_eq!(value(&store, "errors"), 0.0, "{marks:?}");
    let checkpoints = &values(&store, "checkpoints")[0];
    // SQLite does not count them, and nothing is not 0.
    assert_eq!(checkpoints.value().is_none(), system.contains("sqlite"), "{checkpoints:?}");
    store
}

#[test]
fn orders_are_entered_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    orders_are_entered(&sqlite(&folder));
}

#[test]
fn orders_are_entered_in_postgresql() {
    orders_are_entered("server = { engine = \"postgres\" }");
}

#[test]
fn orders_are_entered_in_mariadb() {
    orders_are_entered("server = { engine = \"mariadb\" }");
}

/// The server's own count of what was rolled back is what the procedures say.
#[test]
fn orders_are_entered_by_postgresql_s_procedures() {
    let store = entered_by("server = { engine = \"postgres\" }", "calls = \"procedure\"");
    // In a short run on a busy machine chance may draw none.
    let is_any = value(&store, "rolled_back") > 0.0;
    assert!(!is_any || value(&store, "server_rollbacks") > 0.0);
}

#[test]
fn orders_are_entered_by_mariadb_s_procedures() {
    entered_by("server = { engine = \"mariadb\" }", "calls = \"procedure\"");
}

#[test]
fn orders_are_entered_by_the_newest_releases() {
    for engine in ["postgres", "mariadb", "mysql"] {
        let Some(programs) = releases::folders_of(engine).pop() else { continue };
        let server = format!("server = {{ engine = \"{engine}\", bin_dir = \"{programs}\" }}");
        for calls in ["statements", "procedure"] {
            eprintln!("{programs}, {calls}");
            entered_by(&server, &format!("calls = \"{calls}\""));
        }
    }
}

/// `history` has no key of the specification's.
#[test]
fn orders_are_entered_where_every_table_needs_a_key() {
    orders_are_entered("server = { engine = \"mariadb\" }\nsettings = { innodb_force_primary_key = 1 }");
    for programs in releases::folders_of("mysql") {
        eprintln!("{programs}");
        let server = format!("server = {{ engine = \"mysql\", bin_dir = \"{programs}\" }}");
        orders_are_entered(&format!("{server}\nsettings = {{ sql_require_primary_key = 1 }}"));
    }
}

/// Counts new orders by warehouse once a run has ended.
struct ByWarehouse {
    database: std::path::PathBuf,
    orders: Vec<(i64, i64)>,
}

impl Observer for ByWarehouse {
    fn run_ended(&mut self, _: &PlannedRun, _: &Case, _: &RunRecord) {
        let database = rusqlite::Connection::open(&self.database).unwrap();
        let sql = "SELECT o_w_id, count(*) FROM orders WHERE o_id > 120 GROUP BY o_w_id ORDER BY o_w_id";
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        self.orders = rows.map(Result::unwrap).collect();
    }
}

fn orders_by_warehouse(home: &str) -> (Vec<(i64, i64)>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut watch = ByWarehouse { database: folder.path().join("a.db"), orders: Vec::new() };
    let benchmark = format!("warehouses = 4\nclients = 2\n{home}");
    let (store, reason) = ran_watched(1, &SMALL, &sqlite(&folder), &benchmark, "3s", &mut watch);
    assert_eq!(reason, None);
    let facts = store.facts().unwrap();
    (watch.orders, facts["a"].get("order_entry.home").unwrap().to_owned())
}

#[test]
fn terminals_use_every_warehouse_unless_each_has_its_own() {
    let warehouses = |orders: &[(i64, i64)]| orders.iter().map(|(warehouse, _)| *warehouse).collect::<Vec<_>>();
    let (orders, fact) = orders_by_warehouse("");
    assert_eq!((warehouses(&orders), fact.as_str()), (vec![1, 2, 3, 4], "any warehouse"));
    let (orders, fact) = orders_by_warehouse("home = \"fixed\"");
    assert_eq!((warehouses(&orders), fact.as_str()), (vec![1, 2], "their own warehouse"));
}

#[test]
fn a_mix_and_a_rate_of_ones_own_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let benchmark = "warehouses = 1\nclients = 2\nrate = 200.0\nmix = { new_order = 1, payment = 3 }";
    let (store, reason) = ran(&SMALL, &sqlite(&folder), benchmark, "3s");
    assert_eq!(reason, None);
    let rate = |kind: &str| value(&store, &format!("throughput_{kind}"));
    let (orders, payments) = (rate("new-order"), rate("payment"));
    assert!((160.0..240.0).contains(&(orders + payments)), "{orders} and {payments}");
    assert!((2.7..3.3).contains(&(payments / orders)), "{orders} and {payments}");
    assert_eq!(rate("delivery"), 0.0);
    let marks = store.marks().unwrap();
    let said =
        "the mix is the plan's own, and not the specification's: 25.0 % new-order, 75.0 % payment, 0.0 % order-status";
    assert!(marks.iter().any(|(_, mark)| mark.detail.starts_with(said)), "{marks:?}");
    for (keys, said) in [
        ("mix = { new_order = 0 }", "no transaction has a weight"),
        ("rate = 10.0\npace = \"spec\"", "keying and thinking say when"),
    ] {
        let reason = ran(&SMALL, &sqlite(&folder), keys, "1s").1.unwrap();
        assert!(reason.contains(said), "{reason}");
    }
}

/// A limit is met before anything is loaded, with the whole number and the setting.
#[test]
fn connections_are_tried_before_the_load() {
    for engine in ["postgres", "mariadb"] {
        let system = format!("server = {{ engine = \"{engine}\" }}\nsettings = {{ max_connections = 30 }}");
        let (store, reason) = ran(&SMALL, &system, "warehouses = 1\nclients = 50", "1s");
        let reason = reason.unwrap();
        assert!(reason.contains("of the 50 connections that the clients need were made"), "{reason}");
        assert!(
            store.runs().unwrap().iter().all(|run| run.state == model::RunState::Planned),
            "{engine}: nothing has run"
        );
    }
}

#[test]
fn an_engine_without_procedures_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let reason = ran(&SMALL, &sqlite(&folder), "calls = \"procedure\"", "1s").1.unwrap();
    assert!(reason.contains("the engine `sqlite` has no stored procedures"), "{reason}");
    assert!(!folder.path().join("a.db").exists());
}

#[test]
fn a_paced_terminal_waits_for_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let (store, reason) = ran(&SMALL, &sqlite(&folder), "warehouses = 5\npace = \"spec\"", "4s");
    assert_eq!(reason, None);
    // 50 terminals do one thing in 20.7 s each.
    let rate = value(&store, "throughput");
    assert!((0.5..6.0).contains(&rate), "{rate}");
    assert!(!values(&store, "efficiency").is_empty());
    let notes = |store: &Store| {
        let marks = store.marks().unwrap().into_iter();
        marks.filter(|(_, mark)| mark.detail.contains("terminals")).map(|(_, mark)| mark.detail).collect::<Vec<_>>()
    };
    assert_eq!(notes(&store), [""; 0]);
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = ran(&SMALL, &sqlite(&folder), "warehouses = 2\nclients = 5\npace = \"spec\"", "1s");
    assert_eq!(notes(&store), ["a warehouse has 2.5 terminals, where the specification has 10"]);
}
