//! The nouns of Étalon: plan, system, workload, case, round, run, measurement, facts. No I/O.

#![forbid(unsafe_code)]

pub mod backup;
pub mod case;
pub mod catalog;
pub mod csv;
pub mod disturbance;
pub mod durability;
pub mod duration;
pub mod facts;
pub mod keys;
mod look;
pub mod metric;
pub mod near;
pub mod plan;
mod price;
mod promise;
mod reset;
pub mod run;
pub mod schedule;
pub mod share;
mod tail;
pub mod value;

pub use case::{Case, UNKNOWN, keys_text};
pub use catalog::{Catalog, EngineSpec, KeyKind, KeySpec, Literal, WorkloadSpec, no_idle_keys};
pub use durability::{Durability, DurabilityTier};
pub use facts::{Fact, Facts, Nature};
pub use keys::{FromKey, KeyError};
pub use look::{Look, RowSoFar, Standing};
pub use metric::{Absence, Direction, Measurement, Metric, NoValue, Quantity, Reading, Role};
pub use near::nearest;
pub use plan::{
    Benchmark, CLIENTS_ON, Change, ComparisonRules, FleetPlan, Plan, PlanError, PlanErrors, PrivatePooler,
    PrivateServer, SystemPlan, VolumePlan,
};
pub use price::Price;
pub use promise::{LoadPoint, Promise};
pub use reset::Reset;
pub use run::{Mark, MarkData, MarkKind, PlannedRun, QueryPlan, RunRecord, RunState, Series, SeriesKind};
pub use schedule::{Begun, Caches, Length, OnError, Order, Schedule, Stop, UntilSure};
pub use tail::Tail;
pub use value::{Point, Value};
