//! Agents, links and servers that go away.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Ended, Observer, Silent};
use fleet::Agent;
use model::{Cell, PlannedTrial, TrialRecord, TrialState};

use crate::scene::{Nats, create, values};

/// On a real clock, so that something can happen meanwhile.
fn plan_on(folder: &std::path::Path) -> String {
    format!(
        "[systems.s]\nurl = \"sqlite:{}\"\nhost = \"a\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-only\"\n\
         [schedule]\nblocks = 2\nwarmup = \"100ms\"\nduration = \"1s\"\n",
        folder.join("a.db").display()
    )
}

fn agent(nats: &Nats, folder: &std::path::Path) -> Agent {
    let allow = folder.display().to_string();
    nats.agent_with("a", |options| fleet::AgentOptions { allow: vec![allow], ..options })
}

/// Does something once, a while after the first trial has begun.
struct Once<F: FnOnce() + Send + 'static>(Mutex<Option<F>>, Vec<TrialRecord>);

impl<F: FnOnce() + Send + 'static> Observer for Once<F> {
    fn trial_started(&mut self, _: &PlannedTrial, _: &Cell, _: engine::Progress) {
        if let Some(what) = self.0.lock().unwrap().take() {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(700));
                what();
            });
        }
    }

    fn trial_ended(&mut self, _: &PlannedTrial, _: &Cell, record: &TrialRecord) {
        self.1.push(record.clone());
    }
}

#[test]
fn an_agent_that_dies_in_mid_trial_costs_that_trial_and_comes_back() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let first = agent(&nats, folder.path());
    let place = folder.path().to_owned();
    let nats = std::sync::Arc::new(nats);
    let there = std::sync::Arc::clone(&nats);
    let (keep, kept) = std::sync::mpsc::channel();
    let again = move || {
        drop(first);
        keep.send(agent(&there, &place)).unwrap();
    };
    let mut once = Once(Mutex::new(Some(again)), Vec::new());
    assert_eq!(nats.conduct(&plan, &mut store, &mut once).unwrap(), Ended::Complete { failed: 0 });
    let _second = kept.recv().unwrap();
    let failed: Vec<_> = store.trials().unwrap().into_iter().filter(|t| t.state == TrialState::Failed).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].reason.as_ref().unwrap().contains("agent"), "{failed:?}");
    assert_eq!(values(&store, "throughput").len(), 2);
}

#[test]
fn a_nats_server_that_is_started_again_costs_no_finished_trial() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let _agent = agent(&nats, folder.path());
    let nats = std::sync::Arc::new(Mutex::new(nats));
    let server = std::sync::Arc::clone(&nats);
    let fleet = nats.lock().unwrap().fleet(&plan, "test").unwrap();
    let options = engine::conductor::Options {
        places: Some(std::sync::Arc::new(fleet)),
        patience: Duration::from_secs(3),
        ..crate::scene::options()
    };
    let mut once = Once(Mutex::new(Some(move || server.lock().unwrap().restart())), Vec::new());
    let registry = engine::Registry::built_in();
    let ended = engine::Conductor::new(&registry, &plan, &mut store, options).run(&mut once).unwrap();
    assert_eq!(ended, Ended::Complete { failed: 0 });
    assert_eq!(values(&store, "throughput").len(), 2);
}

#[test]
fn a_conductor_that_goes_leaves_no_load_behind_and_another_goes_on() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = nats.plan(&plan_on(folder.path()).replace("blocks = 2", "blocks = 1"));
    let _agent = agent(&nats, folder.path());
    // A conductor that is never heard of again: its fleet is forgotten without a goodbye, and its renewals end with it.
    let fleet = nats.fleet(&plan, "test").unwrap();
    fleet.fall_silent();
    std::mem::forget(fleet);
    let started = Instant::now();
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), Ended::Complete { failed: 0 });
    assert!(started.elapsed() > Duration::from_millis(1_000), "the agent kept to the first until its lease ran out");
    assert_eq!(values(&store, "throughput").len(), 1);
}
