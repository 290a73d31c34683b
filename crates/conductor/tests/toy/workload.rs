//! A workload that asks for one increment a transaction.

use load::error::Failure;
use load::error::FailureKind;
use load::generator::{LoadShape, ThreadLimit};
use load::traffic::NetworkTraffic;
use load::worker::Pace;
use model::{Direction, Measurement, Point, Role, WorkloadSpec};
use workloads::dataset::Dataset;
use workloads::step::{StepContext, StepOutcome, Stepped};
use workloads::transactions::{CountCheck, compile};
use workloads::work::StreamTask;
use workloads::workload::{Action, Grants, Procedure, Task, Workload};

pub struct Increments;

model::keys! {
    struct Keys {
        /// Clients
        clients: u32 = int(1..=8).or(1),
    }
}

impl Workload for Increments {
    fn spec(&self) -> WorkloadSpec {
        let name = "increments";
        WorkloadSpec {
            name,
            family: "transactions",
            about: "Adds 1",
            rate_unit: "tx/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    fn make_task(&self, point: &Point, _grants: &Grants) -> Result<Task, Failure> {
        let mut program = compile("INCREMENT;", &[]).map_err(|e| Failure::new(FailureKind::Plan, "compile", e))?;
        program.check = Some(CountCheck { sql: "COUNT" });
        let Keys { clients } = Keys::read(point)?;
        Ok(Task {
            dataset: Dataset { name: "none".to_owned(), ..Dataset::default() },
            action: Action::Stream(StreamTask {
                work: program.into(),
                shape: LoadShape {
                    clients: 0..clients,
                    pace: Pace::Closed,
                    threads: ThreadLimit::Best,
                    traffic: NetworkTraffic::default(),
                },
            }),
        })
    }
}

/// A single step that asks the engine for its count.
pub struct AskOnce;

impl Workload for AskOnce {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "ask-once",
            family: "pages",
            about: "Asks once",
            rate_unit: "tx/s",
            keys: &[],
            idle: model::no_idle_keys,
        }
    }

    fn make_task(&self, _point: &Point, _grants: &Grants) -> Result<Task, Failure> {
        Ok(Task {
            dataset: Dataset { name: "none".to_owned(), ..Dataset::default() },
            action: Action::Step(Box::new(AskOnce)),
        })
    }
}

impl Procedure for AskOnce {
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        let count = context.system.scalar("COUNT")? as f64;
        let measurements = vec![Measurement::value("count", "", Direction::Neither, Role::Primary, count)];
        Ok(Stepped::Done(StepOutcome { measurements, ..StepOutcome::default() }))
    }
}
