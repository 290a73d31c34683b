//! Conductor, worker loop, systems, workloads.
//!
//! The data plane ([`lane`], [`worker`], each system's lane) is shared-nothing threads with static dispatch; the
//! control plane ([`target`], [`conductor`], [`systems`]) may block. A new engine or workload adds a line to
//! [`registry`] only.

#![forbid(unsafe_code)]

// The template of an engine (`tests/example`) names this crate as it is named from outside, and works in here as it is.
extern crate self as engine;

pub mod backup;
pub mod beside;
pub mod clock;
pub mod conductor;
pub mod counters;
pub mod dataset;
pub mod datum;
pub mod durations;
pub mod error;
pub mod gate;
pub mod generator;
pub mod lag;
pub mod lane;
pub mod measure;
pub mod observer;
pub mod pacer;
pub mod patience;
pub mod permits;
pub mod pool;
pub mod recorder;
pub mod registry;
pub mod rng;
pub mod run;
mod seed;
pub mod series;
pub mod session;
pub mod site;
pub mod step;
pub mod stream;
pub mod systems;
pub mod target;
pub mod traffic;
pub mod worker;
pub mod workloads;

pub use conductor::{Conductor, Ended, ExperimentError};
pub use error::{Failure, FailureKind};
pub use observer::{Observer, Progress, Silent, StepProgress, Tick};
pub use permits::Permits;
pub use registry::Registry;
pub use target::Consent;
