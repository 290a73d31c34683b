//! A workload that asks for one increment a transaction.

use engine::Failure;
use engine::dataset::Dataset;
use engine::error::FailureKind;
use engine::worker::Pace;
use engine::workloads::transactions::{CountCheck, compile};
use engine::workloads::{Action, StreamTask, Task, Workload};
use model::{KeyKind, KeySpec, Literal, Point, WorkloadSpec};

/// The registry's entry.
pub struct Increments;

const KEYS: &[KeySpec] = &[KeySpec {
    name: "clients",
    kind: KeyKind::Int { min: 1, max: 8 },
    default: Some(Literal::Int(1)),
    about: "Clients",
}];

impl Workload for Increments {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec { name: "increments", family: "transactions", about: "Adds 1", keys: KEYS }
    }

    fn task(&self, point: &Point) -> Result<Task, Failure> {
        let mut program = compile("INCREMENT;", &[]).map_err(|e| Failure::new(FailureKind::Plan, "compile", e))?;
        program.check = Some(CountCheck { sql: "COUNT" });
        let clients = point["clients"].as_int().unwrap_or(1) as u32;
        Ok(Task {
            dataset: Dataset { name: "none".to_owned(), tables: Vec::new(), size_bytes: 0 },
            action: Action::Stream(StreamTask { program, clients: 0..clients, pace: Pace::Closed }),
        })
    }
}
