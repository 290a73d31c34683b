use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long the measured part of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    Duration(Duration),
    /// Per client.
    Transactions(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Rounds: every case once, in a random order drawn anew for each round from the recorded seed.
    Interleaved,
    /// All runs of a case, then the next: drift fools this order; kept to repeat old results.
    Sequential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// `resume` repeats the run.
    Stop,
    /// Keep the failure with its reason.
    Continue,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Each case runs once per round.
    pub rounds: u32,
    /// Load before the measured part.
    pub warmup: Duration,
    pub length: Length,
    pub order: Order,
    /// Of the order and of every random stream.
    pub seed: u64,
    pub on_error: OnError,
}
