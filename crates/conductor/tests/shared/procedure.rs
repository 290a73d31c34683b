//! Single runs of workloads that are steps, on systems of the tests' own.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use conductor::Registry;
use load::error::Failure;
use load::observer::Silent;
use model::plan::PrivateServer;
use model::{Length, Measurement, OnError, Order, Point, Reading, RunRecord, Schedule, SystemPlan, Value};
use workloads::step::{self, StepContext};
use workloads::system::{Consent, OpenRequest, System};
use workloads::workload::{Action, Grants};

pub const SCHEDULE: Schedule = Schedule {
    rounds: 1,
    warmup: Duration::ZERO,
    length: Length::Duration(Duration::from_secs(1)),
    order: Order::Interleaved,
    seed: 1,
    on_error: OnError::Stop,
    until_sure: None,
    caches: model::Caches::Warmed,
};

/// An existing system, or one that is made at its URL.
pub fn system(engine: &str, url: String, settings: &[(&str, &str)]) -> SystemPlan {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned())));
    SystemPlan {
        name: engine.to_owned(),
        engine: engine.to_owned(),
        url,
        settings: settings.collect(),
        ..SystemPlan::default()
    }
}

/// A private server, with programs from a folder or the installed ones.
pub fn private(name: &str, bin_dir: Option<String>, settings: &[(&str, &str)]) -> SystemPlan {
    let catalog = Registry::built_in().catalog();
    let engine = catalog.engine_of_server(name).unwrap_or_else(|| panic!("{name} cannot be started")).name;
    let server = PrivateServer { engine: name.to_owned(), bin_dir, ..PrivateServer::default() };
    SystemPlan { server: Some(server), ..system(engine, String::new(), settings) }
}

pub fn open(system: &SystemPlan) -> Box<dyn System> {
    let request = OpenRequest::new(system, Consent::OwnOnly);
    Registry::built_in().open_system(&request).unwrap_or_else(|failure| panic!("{}: {failure}", system.name))
}

pub fn run(workload: &str, system: &dyn System, keys: &[(&str, Value)]) -> Result<RunRecord, Failure> {
    let workload = Registry::built_in().workload(workload).unwrap();
    let mut point: Point =
        workload.spec().keys.iter().filter_map(|key| Some((key.name.to_owned(), key.default?.to_value()?))).collect();
    point.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let task = workload.make_task(&point, &Grants::default())?;
    let Action::Step(procedure) = &task.action else { panic!("this workload is no step") };
    system.prepare(&task.dataset)?;
    system.settle()?;
    let interrupt = AtomicBool::new(false);
    let mut context =
        StepContext { system, schedule: &SCHEDULE, seed: 7, interrupt: &interrupt, observer: &mut Silent };
    step::run_step(&**procedure, &mut context)
}

pub fn reading<'r>(record: &'r RunRecord, id: &str) -> &'r Reading {
    let found: Option<&Measurement> = record.measurements.iter().find(|m| m.metric.id == id);
    &found.unwrap_or_else(|| panic!("no {id}")).reading
}
