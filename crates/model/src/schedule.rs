//! When and how often: blocks, their order, warm-up and length.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long the measured part of a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// So long.
    Duration(Duration),
    /// So many transactions of each client.
    Transactions(u64),
}

/// The order of the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Blocks: every cell once, in a random order drawn anew for each block from the recorded seed.
    Interleaved,
    /// All trials of a cell, then all of the next: the order that drift fools, kept to repeat old results.
    Sequential,
}

/// What to do when a trial fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// End the experiment cleanly; `resume` repeats the trial.
    Stop,
    /// Keep the failure with its reason, and go on.
    Continue,
}

/// The schedule of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// How many times every cell is run.
    pub blocks: u32,
    /// Load before the measured part of each trial.
    pub warmup: Duration,
    /// The measured part.
    pub length: Length,
    /// The order of the cells.
    pub order: Order,
    /// Seed of the order and of every random stream.
    pub seed: u64,
    /// What to do when a trial fails.
    pub on_error: OnError,
}
