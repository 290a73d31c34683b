use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::duration;
use crate::value::{Point, Value};

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
    /// Rounds: every case once, in a random order that is drawn for each round from the recorded seed.
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

/// What the engine and the operating system hold of étalon's own tables when a run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Caches {
    /// The caches hold as much of the tables as fits: every table was read through once after it came back.
    #[default]
    Warmed,
    /// Nothing.
    Cold,
}

impl Caches {
    /// Whether caches are warmed before a run.
    fn are_warmed(&self) -> bool {
        *self == Caches::Warmed
    }
}

/// Which runs the later rounds of a growing experiment leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// Those of cases all of whose rows are decided: the time goes where the doubt is.
    #[default]
    Rows,
    /// None: a round holds every case until all rows are decided.
    All,
    /// None, and none is spared: the rows are judged after each round, and all rounds are run.
    Never,
}

/// An experiment that is judged after each round, and ends when every row is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntilSure {
    /// The fewest rounds that are judged.
    pub first: u32,
    pub stop: Stop,
    /// No round begins after so long, counted from the first run of the command.
    pub max_time: Option<Duration>,
    /// The schedule with which the plan was started, if `etalon extend` added rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Begun>,
}

/// What an extended experiment was planned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    pub rounds: u32,
    /// When a range of rounds ends.
    pub stop: Option<Stop>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Each case runs once per round; the most rounds of an experiment that ends when it is sure.
    pub rounds: u32,
    /// `None`: all rounds are run, and judged once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_sure: Option<UntilSure>,
    /// Load before the measured part.
    pub warmup: Duration,
    pub length: Length,
    pub order: Order,
    /// The seed of the order and of every random stream.
    pub seed: u64,
    pub on_error: OnError,
    #[serde(default, skip_serializing_if = "Caches::are_warmed")]
    pub caches: Caches,
}

impl Schedule {
    /// The key of a workload whose benchmarks may have a length of their own.
    pub const OWN_LENGTH: &'static str = "duration";

    /// Gives the schedule that the experiment was begun with, whatever was added or changed since.
    pub fn as_begun(&self) -> Begun {
        let until = self.until_sure;
        let now = Begun {
            rounds: self.rounds,
            stop: until.map(|until| until.stop),
            max_time: until.and_then(|until| until.max_time),
        };
        until.and_then(|until| until.begun).unwrap_or(now)
    }

    /// Gives the length of a run at a point: the point's own, or the schedule's.
    pub fn length_at(&self, point: &Point) -> Length {
        let own = point.get(Schedule::OWN_LENGTH).and_then(Value::as_text).and_then(|text| duration::parse(text).ok());
        own.map_or(self.length, Length::Duration)
    }
}
