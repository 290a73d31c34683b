//! Who runs what, in which order: the conductor, the sites of systems, the registry.

#![forbid(unsafe_code)]

mod capacity;
pub mod capacity_run;
pub mod conductor;
mod ended;
mod files;
mod lasting;
pub mod look;
mod options;
pub mod registry;
mod seed;
pub mod site;
mod tables;
mod timeout;

pub use conductor::{Conductor, ExperimentEnd, ExperimentError};
pub use registry::Registry;
