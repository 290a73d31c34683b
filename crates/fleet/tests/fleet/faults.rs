//! Agents, links and servers that go away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use conductor::ExperimentEnd;
use conductor::site::{Places as _, SiteJob};
use fleet::Agent;
use load::observer::{Observer, Silent};
use load::worker::TaskLog;
use model::{Case, Plan, PlannedRun, Reading, RunRecord, RunState};
use workloads::dataset::Tables;
use workloads::system::{Consent, OpenRequest};
use workloads::workload::Grants;

use crate::scene::{Nats, values};
use crate::stored::create;

/// A plan on a real clock, so that something can happen meanwhile.
fn plan_on(folder: &std::path::Path) -> String {
    plan_at(folder, 1)
}

fn plan_at(folder: &std::path::Path, scale: u32) -> String {
    format!(
        "[systems.s]\nurl = \"sqlite:{}\"\nhost = \"a\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-only\"\n\
         scale = {scale}\n[schedule]\nrounds = 2\nwarmup = \"100ms\"\nduration = \"1s\"\n",
        folder.join("a.db").display()
    )
}

fn agent(nats: &Nats, folder: &std::path::Path) -> Agent {
    nats.agent_that_allows("a", |named| named.allow_folder(folder).unwrap())
}

/// Runs something once, a while after the first run began.
struct Once<F: FnOnce() + Send + 'static>(Mutex<Option<F>>, Vec<RunRecord>);

impl<F: FnOnce() + Send + 'static> Observer for Once<F> {
    fn run_started(&mut self, _: &PlannedRun, _: &Case, _: load::observer::ExperimentProgress) {
        if let Some(what) = self.0.lock().unwrap().take() {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(700));
                what();
            });
        }
    }

    fn run_ended(&mut self, _: &PlannedRun, _: &Case, record: &RunRecord) {
        self.1.push(record.clone());
    }
}

#[test]
fn an_agent_that_dies_in_mid_run_costs_that_run_and_comes_back() {
    one_death_costs_one_run(1);
}

#[test]
fn an_agent_that_dies_while_tables_are_made_costs_that_run() {
    one_death_costs_one_run(20);
}

fn one_death_costs_one_run(scale: u32) {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_at(folder.path(), scale));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let first = agent(&nats, folder.path());
    let place = folder.path().to_owned();
    let nats = Arc::new(nats);
    let there = Arc::clone(&nats);
    let (keep, kept) = std::sync::mpsc::channel();
    let restart = move || {
        drop(first);
        keep.send(agent(&there, &place)).unwrap();
    };
    let mut once = Once(Mutex::new(Some(restart)), Vec::new());
    assert_eq!(nats.conduct(&plan, &mut store, &mut once).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let _second = kept.recv().unwrap();
    let failed: Vec<_> = store.runs().unwrap().into_iter().filter(|t| t.state == RunState::Failed).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].reason.as_ref().unwrap().contains("agent"), "{failed:?}");
    assert_eq!(values(&store, "throughput").len(), 2);
}

#[test]
fn an_agent_that_dies_and_does_not_come_back_ends_the_experiment_and_a_resume_completes_it() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let first = agent(&nats, folder.path());
    let mut once = Once(Mutex::new(Some(move || drop(first))), Vec::new());
    let started = Instant::now();
    let ended = nats.conduct(&plan, &mut store, &mut once);
    let reason = match &ended {
        Ok(ExperimentEnd::Stopped { reason, .. }) => reason.clone(),
        Err(error) => error.to_string(),
        Ok(other) => panic!("{other:?}"),
    };
    assert!(reason.contains("`a`"), "{reason}");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    let runs = store.runs().unwrap();
    assert!(runs.iter().any(|run| run.state == RunState::Failed), "{runs:?}");
    let _second = agent(&nats, folder.path());
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert_eq!(values(&store, "throughput").len(), 2);
}

#[test]
fn a_nats_server_that_is_started_again_costs_no_finished_run() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let _agent = agent(&nats, folder.path());
    let nats = Arc::new(Mutex::new(nats));
    let server = Arc::clone(&nats);
    let fleet = nats.lock().unwrap().fleet(&plan, "test").unwrap();
    let options = conductor::experiment::ExperimentOptions {
        places: Some(Arc::new(fleet)),
        patience: Duration::from_secs(3),
        ..crate::scene::options()
    };
    let mut once = Once(Mutex::new(Some(move || server.lock().unwrap().restart())), Vec::new());
    let registry = conductor::Registry::built_in();
    let ended = conductor::Conductor::new(&registry, &plan, &mut store, options).run_all(&mut once).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    assert_eq!(values(&store, "throughput").len(), 2);
}

#[test]
fn a_conductor_that_goes_leaves_no_load_behind_and_another_goes_on() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()).replace("rounds = 2", "rounds = 1"));
    let _agent = agent(&nats, folder.path());
    // A conductor that falls silent: no goodbye, no renewals.
    let fleet = nats.fleet(&plan, "test").unwrap();
    fleet.fall_silent();
    std::mem::forget(fleet);
    let started = Instant::now();
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert!(started.elapsed() > Duration::from_millis(1_000), "the agent kept to the first until its lease ran out");
    assert_eq!(values(&store, "throughput").len(), 1);
}

/// Measures the first run with a conductor killed between result and store. Returns its throughput and publication
/// time.
fn measure_and_die(nats: &Nats, plan: &Plan) -> (Reading, i64) {
    let case = &plan.cases()[0];
    with_job(plan, case, |job| {
        let killed = nats.fleet(plan, "test").unwrap();
        let request = OpenRequest { tables: Tables::Own, ..OpenRequest::new(&plan.systems[0], Consent::OwnOnly) };
        let site = killed.site_of(&request).unwrap().unwrap();
        site.prepare_tables(job, &mut Silent).unwrap();
        let lost = site.run(job, None, &mut Silent).unwrap();
        let published_unix_ms = host::clock::unix_ms();
        killed.fall_silent();
        std::mem::forget((site, killed));
        (rate(&lost), published_unix_ms)
    })
}

/// The first run's job.
fn with_job<T>(plan: &Plan, case: &Case, what: impl FnOnce(&SiteJob<'_>) -> T) -> T {
    let task = conductor::Registry::built_in().workload(&case.workload).unwrap();
    let task = task.make_task(&case.point, &Grants::default()).unwrap();
    let interrupt = Arc::new(AtomicBool::new(false));
    let seed = load::rng::Rng::of_transaction(plan.schedule.seed, 0, 0).next_u64();
    what(&SiteJob {
        case,
        task: &task,
        schedule: &plan.schedule,
        seed,
        interrupt: &interrupt,
        co_located: &[],
        inspection: conductor::site::Inspection::Quick,
    })
}

fn rate(record: &RunRecord) -> Reading {
    record.measurements.iter().find(|one| one.metric.id == "throughput").unwrap().reading.clone()
}

#[test]
fn a_run_that_was_published_and_not_stored_is_taken_from_the_stream() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()));
    let _agent = agent(&nats, folder.path());
    let (lost, published_unix_ms) = measure_and_die(&nats, &plan);
    // Its time of measurement stays however long it lies there.
    thread::sleep(Duration::from_secs(2));

    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let mut records = Once(Mutex::new(Some(|| ())), Vec::new());
    assert_eq!(nats.conduct(&plan, &mut store, &mut records).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 2, "each is there once: {runs:?}");
    assert_eq!(rate(&records.1[0]), lost, "the first is the one that was measured before");
    assert_ne!(rate(&records.1[1]), lost);
    let began = |place: usize| runs[place].started_unix_ms.unwrap();
    let measured = published_unix_ms - 60_000..=published_unix_ms + 500;
    assert!(measured.contains(&began(0)), "{} and not {published_unix_ms}", began(0));
    assert!(began(1) > published_unix_ms + 1_500, "{} and {published_unix_ms}", began(1));
    let is_earlier = |record: &RunRecord| record.marks.iter().any(|mark| mark.detail.contains("earlier run"));
    assert!(is_earlier(&records.1[0]) && !is_earlier(&records.1[1]), "{:?}", records.1[0].marks);
    // It was acknowledged, so no one finds it again.
    let again = nats.fleet(&plan, "test").unwrap();
    assert!(with_job(&plan, &plan.cases()[0], |job| again.left_over(job, &mut Silent)).is_none());
}

#[test]
fn what_an_earlier_run_had_measured_of_a_round_is_measured_again_with_the_rest_of_it() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_on(folder.path()).replace("rounds = 2", "rounds = 1");
    let plan = nats.plan(&plan.replace("[schedule]", "clients = [1, 2]\n[schedule]"));
    let _agent = agent(&nats, folder.path());
    let (lost, _) = measure_and_die(&nats, &plan);
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let mut records = Once(Mutex::new(Some(|| ())), Vec::new());
    assert_eq!(nats.conduct(&plan, &mut store, &mut records).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let rates: Vec<Reading> = records.1.iter().map(rate).collect();
    assert_eq!((rates.len(), &rates[0]), (3, &lost), "it is kept");
    assert!(!rates[1..].contains(&lost), "and is not paired with what is measured now");
    let superseded = store.runs().unwrap().iter().filter(|t| t.state == RunState::Superseded).count();
    assert_eq!(superseded, 1, "{:?}", store.runs());
}

#[test]
fn tasks_that_had_ended_come_back_from_an_interrupted_run() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _agent = agent(&nats, folder.path());
    // Far more tasks than end before the interrupt.
    let plan = nats.plan(&format!(
        "[systems.s]\nurl = \"sqlite:{}\"\nhost = \"a\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-update\"\ntasks = 200000\npool = {{ size = 1 }}\ntasks_at_once = 1\n[schedule]\nrounds = 1\n",
        folder.path().join("a.db").display()
    ));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let interrupt = Arc::new(AtomicBool::new(false));
    let fleet = nats.fleet_until(&plan, "test", &interrupt).unwrap();
    let options = conductor::experiment::ExperimentOptions {
        places: Some(Arc::new(fleet)),
        interrupt: Arc::clone(&interrupt),
        ..crate::scene::options()
    };
    let mut observer = Tasks { interrupt, ended: 0 };
    let registry = conductor::Registry::built_in();
    let ended = conductor::Conductor::new(&registry, &plan, &mut store, options).run_all(&mut observer).unwrap();
    assert_eq!(ended, ExperimentEnd::Interrupted);
    assert!(observer.ended > 0, "nothing came back of the tasks that had ended");
}

/// Interrupts when tasks have succeeded, and counts those that come back.
struct Tasks {
    interrupt: Arc<AtomicBool>,
    ended: usize,
}

impl Observer for Tasks {
    fn tick(&mut self, tick: load::observer::Tick) {
        if tick.rate_per_s > 0.0 {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }

    fn tasks_ended(&mut self, logs: &[TaskLog]) {
        self.ended += logs.iter().map(|log| log.tasks.len()).sum::<usize>();
    }
}
