//! Whole experiments: plan, conductor, store.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "shared/stored.rs"]
mod stored;
mod toy;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use conductor::experiment::{ExperimentOptions, TimeLimit};
use conductor::look::Judge;
use conductor::{Conductor, ExperimentEnd, ExperimentError, Registry};
use load::observer::{ExperimentProgress, Observer, Silent};
use model::{Case, Look, Plan, PlannedRun, RowSoFar, RunRecord, RunState, Standing};
use store::Store;
use stored::create;
use workloads::system::Consent;

fn registry() -> Registry {
    Registry::built_in()
        .with_engine(&toy::database::Toy)
        .with_workload(&toy::workload::Increments)
        .with_workload(&toy::workload::AskOnce)
}

fn parse(text: &str) -> Plan {
    Plan::parse(text, "test.toml", &model::plan::Changes::default(), &registry().catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .0
}

fn options() -> ExperimentOptions {
    ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)))
}

fn conduct(plan: &Plan, store: &mut Store, observer: &mut dyn Observer) -> Result<ExperimentEnd, ExperimentError> {
    Conductor::new(&registry(), plan, store, options()).run_all(observer)
}

fn values(store: &Store, plan: &Plan, system: &str, metric: &str) -> Vec<f64> {
    let cases = plan.cases();
    store
        .measurements()
        .unwrap()
        .into_iter()
        .filter(|row| cases[row.case as usize].system == system && row.measurement.metric.id == metric)
        .filter_map(|row| row.measurement.reading.value())
        .collect()
}

const TOY: &str = r#"
    [systems.one]
    url = "toy:honest"
    [systems.two]
    url = "toy:WHICH"
    [[benchmarks]]
    workload = "increments"
    clients = [1, 2]
    [schedule]
    rounds = 2
    warmup = "10ms"
    duration = "100ms"
"#;

#[test]
fn a_toy_database_and_a_toy_workload_run_through_the_whole_path() {
    let folder = tempfile::tempdir().unwrap();
    let plan = parse(&TOY.replace("WHICH", "honest"));
    let mut store = create(&folder.path().join("toy.etalon"), &plan);
    assert_eq!(conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert_eq!(values(&store, &plan, "two", "throughput").len(), 4);
    assert_eq!(store.pending().unwrap(), []);
}

#[test]
fn a_single_step_gives_one_value_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let plan =
        parse("[systems.one]\nurl = \"toy:honest\"\n[[benchmarks]]\nworkload = \"ask-once\"\n[schedule]\nrounds = 3\n");
    let mut store = create(&folder.path().join("toy.etalon"), &plan);
    assert_eq!(conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert_eq!(values(&store, &plan, "one", "count"), [0.0, 0.0, 0.0]);
}

#[test]
fn a_server_that_has_not_seen_what_the_client_counted_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let plan = parse(&TOY.replace("WHICH", "forgetful"));
    let mut store = create(&folder.path().join("toy.etalon"), &plan);
    let ExperimentEnd::Stopped { reason, kind } = conduct(&plan, &mut store, &mut Silent).unwrap() else { panic!() };
    assert_eq!(kind, load::error::FailureKind::Verification);
    assert!(reason.contains("the client counted"), "{reason}");
    let failed = store.runs().unwrap().into_iter().filter(|t| t.state == RunState::Failed).count();
    assert_eq!(failed, 1);
}

#[test]
fn an_engine_with_threads_of_its_own_is_charged_what_the_generator_s_have_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let plan = parse(&TOY.replace("WHICH", "threaded"));
    let mut store = create(&folder.path().join("toy.etalon"), &plan);
    assert_eq!(conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    // Other tests of this process may work meanwhile, too.
    let engine_us = values(&store, &plan, "two", "server_cpu_per_tx");
    assert!(engine_us.len() == 4 && engine_us.iter().all(|us| *us >= 950.0), "{engine_us:?}");
    let client_us = values(&store, &plan, "two", "client_cpu_per_tx");
    assert!(client_us.len() == 4 && client_us.iter().all(|us| *us < 500.0), "{client_us:?}");
    assert_eq!(values(&store, &plan, "one", "server_cpu_per_tx"), [] as [f64; 0]);
}

#[test]
fn a_run_in_which_nothing_ended_is_repeated_and_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plan = parse(&TOY.replace("WHICH", "drowsy"));
    let mut store = create(&folder.path().join("toy.etalon"), &plan);
    assert_eq!(conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let runs = store.runs().unwrap();
    let failed: Vec<_> = runs.iter().filter(|run| run.state == RunState::Failed).collect();
    assert_eq!((runs.len(), failed.len()), (9, 1));
    assert!(failed[0].reason.as_ref().unwrap().contains("nothing ended within the measured part"));
}

#[test]
fn runs_in_which_nothing_ever_ends_stop_the_experiment_and_say_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sim("", "stall_at_ms=0&stall_ms=5000", "rounds = 1\nduration = \"20ms\"");
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    let ExperimentEnd::Stopped { reason, kind } = conduct(&plan, &mut store, &mut Silent).unwrap() else { panic!() };
    assert_eq!(kind, load::error::FailureKind::NothingEnded);
    assert!(reason.contains("a longer `schedule.duration`"), "{reason}");
    let failed = store.runs().unwrap().into_iter().filter(|run| run.state == RunState::Failed).count();
    assert_eq!(failed, 3, "it was tried as often as one whose server had gone away");
}

fn sim(a: &str, b: &str, schedule: &str) -> Plan {
    parse(&format!(
        "[systems.a]\nurl = \"sim:?{a}\"\n[systems.b]\nurl = \"sim:?{b}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-only\"\nclients = 4\n[schedule]\nwarmup = \"100ms\"\n{schedule}"
    ))
}

#[test]
fn the_simulated_system_has_the_speed_that_its_model_says() {
    let folder = tempfile::tempdir().unwrap();
    let plan =
        sim("service_us=100&noise=0&servers=2", "service_us=200&noise=0&servers=2", "rounds = 1\nduration = \"2s\"");
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    conduct(&plan, &mut store, &mut Silent).unwrap();
    // Two servers at 100 us serve 20,000 a second; four clients keep them busy.
    let (a, b) = (values(&store, &plan, "a", "throughput")[0], values(&store, &plan, "b", "throughput")[0]);
    assert!((a / 20_000.0 - 1.0).abs() < 0.03, "{a}");
    assert!((b / 10_000.0 - 1.0).abs() < 0.03, "{b}");
    let mean_us = values(&store, &plan, "a", "response_mean")[0];
    assert!(
        (mean_us / 200.0 - 1.0).abs() < 0.03,
        "Little's law: 4 clients at 20,000 a second take 200 us, not {mean_us}"
    );
}

#[test]
fn a_stall_is_charged_to_every_request_that_it_delayed() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = sim(
        "service_us=100&spread=0&noise=0&stall_at_ms=1000&stall_ms=1000",
        "service_us=100&spread=0&noise=0",
        "rounds = 1\nduration = \"10s\"",
    );
    for benchmark in &mut plan.benchmarks {
        benchmark.points[0].insert("rate".to_owned(), model::Value::Float(1_000.0));
    }
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    conduct(&plan, &mut store, &mut Silent).unwrap();
    // A tenth of all requests fall into the stall of 1 s, evenly: the 95th percentile is half of it. The service time,
    // from when each was sent, hides it but for the few that were under way.
    let p95 = values(&store, &plan, "a", "response_p95")[0];
    assert!((450_000.0..550_000.0).contains(&p95), "{p95} us");
    let service_p95 = values(&store, &plan, "a", "service_p95")[0];
    assert!(service_p95 < 1_000.0, "{service_p95} us");
    assert!(values(&store, &plan, "b", "response_p95")[0] < 1_000.0);
}

#[derive(Default)]
struct Order {
    started: Vec<(u32, String)>,
    ended: Vec<RunState>,
    /// Rows that were open at each look.
    open: Vec<usize>,
}

impl Observer for Order {
    fn run_started(&mut self, run: &PlannedRun, case: &Case, _progress: ExperimentProgress) {
        self.started.push((run.round, case.system.clone()));
    }
    fn run_ended(&mut self, _run: &PlannedRun, _case: &Case, record: &RunRecord) {
        self.ended.push(record.state);
    }
    fn look_taken(&mut self, _rounds: u32, look: &Look, _is_late: bool) {
        self.open.push(look.with_standing(Standing::Open).count());
    }
}

/// Settles what it was told to at each look.
struct Script(fn(u32) -> &'static [u32]);

impl Judge for Script {
    fn judge_look(&self, _store: &Store, round: u32) -> Result<Look, store::StoreError> {
        let settled: BTreeSet<u32> = (self.0)(round).iter().copied().collect();
        let row = |case| RowSoFar {
            name: format!("row of {case}"),
            standing: if settled.contains(&case) { Standing::Decided } else { Standing::Open },
            figures: String::new(),
        };
        Ok(Look { rows: (0..2).map(row).collect(), settled })
    }
}

fn until_sure(settles: fn(u32) -> &'static [u32]) -> ExperimentOptions {
    ExperimentOptions { judge: Some(Arc::new(Script(settles))), ..options() }
}

#[test]
fn what_failed_is_not_run_again_when_a_case_leaves_or_rounds_follow() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = sim("", "dies_at_ms=50", "rounds = \"6..8\"\nduration = \"100ms\"\non_error = \"continue\"");
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    let mut seen = Order::default();
    let ended = Conductor::new(&registry(), &plan, &mut store, until_sure(|_| &[0])).run_all(&mut seen).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 8 });
    let rounds: Vec<u32> = seen.started.iter().map(|(round, _)| *round).collect();
    assert!(rounds.is_sorted(), "{rounds:?}");
    assert!(seen.started.iter().all(|(round, system)| *round < 6 || system == "b"), "{:?}", seen.started);

    plan.schedule.rounds = 9;
    let mut seen = Order::default();
    let options = ExperimentOptions { extends: true, ..until_sure(|_| &[]) };
    let ended = Conductor::new(&registry(), &plan, &mut store, options).run_all(&mut seen).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 1 });
    assert!(seen.started.iter().all(|(round, _)| *round == 8), "{:?}", seen.started);
}

/// A verdict can pass when rows join its family. Its runs do not come back, and nobody says that all is decided.
#[test]
fn a_row_that_opens_again_after_its_case_left_ends_open() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sim("", "", "rounds = \"6..20\"\nduration = \"50ms\"");
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    let mut seen = Order::default();
    let judge = until_sure(|round| if round == 6 { &[0] } else { &[1] });
    let ended = Conductor::new(&registry(), &plan, &mut store, judge).run_all(&mut seen).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    assert_eq!(seen.started.iter().filter(|(round, _)| *round >= 6).count(), 1, "{:?}", seen.started);
    assert_eq!(seen.open, [1, 1]);
}

#[test]
fn no_round_begins_that_would_end_beyond_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sim("", "", "rounds = 9\nduration = \"50ms\"");
    let rounds_within = |name: &str, time: Duration, adds_rounds: bool| {
        let mut store = create(&folder.path().join(name), &plan);
        let limit = Some(TimeLimit { began: Instant::now(), time, asked: time, adds_rounds });
        let options = ExperimentOptions { limit, ..options() };
        let ended = Conductor::new(&registry(), &plan, &mut store, options).run_all(&mut Silent).unwrap();
        assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
        assert_eq!(store.pending().unwrap(), []);
        store.runs().unwrap().len() / plan.cases().len()
    };
    assert_eq!(rounds_within("short.etalon", Duration::from_millis(1), true), 6, "those of a verdict are run");
    assert_eq!(rounds_within("long.etalon", Duration::from_secs(3_600), false), 9);
    assert!(rounds_within("filled.etalon", Duration::from_secs(2), true) > 9);
}

#[test]
fn every_round_holds_every_case_once_and_a_resume_keeps_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sim.etalon");
    let plan = sim("", "", "rounds = 8\nduration = \"100ms\"");
    let mut seen = Order::default();
    let mut store = create(&path, &plan);
    conduct(&plan, &mut store, &mut seen).unwrap();
    for round in 0..8 {
        let mut systems: Vec<&str> = seen.started.iter().filter(|s| s.0 == round).map(|s| s.1.as_str()).collect();
        systems.sort_unstable();
        assert_eq!(systems, ["a", "b"]);
    }
    let first_is_a = seen.started.chunks(2).filter(|pair| pair[0].1 == "a").count();
    assert!((1..8).contains(&first_is_a), "the order within rounds is not random");
    assert_eq!(store.pending().unwrap(), []);
}

#[test]
fn a_server_that_dies_in_mid_run_fails_that_run_and_loses_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = sim("", "dies_at_ms=150", "rounds = 3\nduration = \"500ms\"\non_error = \"continue\"");
    plan.schedule.seed = 3;
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    let mut seen = Order::default();
    let ended = conduct(&plan, &mut store, &mut seen).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 3 });
    assert_eq!(values(&store, &plan, "a", "throughput").len(), 3);
    let reasons: Vec<String> = store.runs().unwrap().into_iter().filter_map(|t| t.reason).collect();
    // Each is tried three times, since the server answers again after each death.
    assert_eq!(reasons.len(), 9);
    assert!(reasons.iter().all(|reason| reason.contains("the simulated server has gone away")), "{reasons:?}");
}

#[test]
fn a_system_that_has_changed_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sim("", "version=15", "rounds = 1\nduration = \"100ms\"");
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    conduct(&plan, &mut store, &mut Silent).unwrap();
    let changed = sim("", "version=16", "rounds = 1\nduration = \"100ms\"");
    let error = conduct(&changed, &mut store, &mut Silent).unwrap_err();
    assert_eq!(error.to_string(), "`b` has changed since the experiment began: server.version was `15` and is `16`");
}

#[test]
fn errors_are_counted_by_class_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sim("errors=0.1", "", "rounds = 1\nduration = \"1s\"");
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    conduct(&plan, &mut store, &mut Silent).unwrap();
    let errors = values(&store, &plan, "a", "errors_serialization")[0];
    let succeeded = values(&store, &plan, "a", "throughput")[0];
    assert!((0.05..0.2).contains(&(errors / succeeded)), "{errors} of {succeeded}");
    assert_eq!(store.marks().unwrap().iter().filter(|(_, mark)| mark.kind == model::MarkKind::Errors).count(), 1);
}
