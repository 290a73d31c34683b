//! Who runs what, in which order: an experiment's course, the sites of its systems, the registry of engines and workloads.

#![forbid(unsafe_code)]

mod capacity;
pub mod capacity_run;
mod ended;
pub mod experiment;
mod files;
mod lasting;
pub mod look;
mod options;
pub mod registry;
mod seed;
pub mod site;
mod tables;
mod timeout;

pub use experiment::{Conductor, ExperimentEnd, ExperimentError};
pub use registry::Registry;
