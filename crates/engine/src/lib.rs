//! The engine room: conductor, worker loop, lanes to systems, targets, workloads.
//!
//! The data plane ([`lane`], [`worker`], [`lanes`]) is shared-nothing threads with static dispatch; the control plane
//! ([`target`], [`conductor`], [`targets`]) may block and uses ordinary drivers. [`registry`] is the one place that a
//! new engine or workload adds a line to.

#![forbid(unsafe_code)]

pub mod backup;
pub mod beside;
pub mod clock;
pub mod conductor;
pub mod crew;
pub mod dataset;
pub mod durations;
pub mod error;
pub mod gate;
pub mod lag;
pub mod lane;
pub mod lanes;
pub mod measure;
pub mod observer;
pub mod pacer;
pub mod patience;
pub mod permits;
pub mod pool;
pub mod recorder;
pub mod registry;
pub mod rng;
mod seed;
pub mod series;
pub mod session;
pub mod site;
pub mod step;
pub mod stream;
pub mod target;
pub mod targets;
pub mod traffic;
pub mod trial;
pub mod worker;
pub mod workloads;

pub use conductor::{Conductor, Ended, ExperimentError};
pub use error::{Failure, FailureKind};
pub use observer::{Observer, Progress, Silent, StepProgress, Tick};
pub use permits::Permits;
pub use registry::Registry;
pub use target::Consent;
