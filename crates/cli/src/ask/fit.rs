//! How many rounds of how long a run fit into a time.

use std::time::Duration;

use conductor::Registry;
use conductor::capacity_run::usual_loads;
use model::{Length, Plan, Promise};

use crate::commands::plan::expected_whole;
use crate::error::CliError;
use crate::progress::{clock, seeks};

/// How often every case is run, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitted {
    pub rounds: u32,
    /// The most rounds of an experiment that ends when it is sure.
    pub most_rounds: Option<u32>,
    pub warmup: Duration,
    pub duration: Duration,
}

/// Time of an experiment for which no time is named.
const USUAL_TIME: Duration = Duration::from_secs(40);
const FEWEST_ROUNDS: u32 = stats::MIN_ROUNDS;
/// Longer runs rather than more rounds, beyond which the interval shrinks slowly.
const USUAL_ROUNDS: u32 = 10;
const MOST_ROUNDS: u32 = 30;
const SHORTEST: Duration = Duration::from_millis(500);
/// Beyond this length more rounds show more than longer runs.
const LONG_ENOUGH: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(30);
/// A search for the load of a promise has eight short runs of so long.
const SEARCH: Fitted = Fitted {
    rounds: FEWEST_ROUNDS,
    most_rounds: Some(2 * FEWEST_ROUNDS),
    warmup: Duration::from_millis(300),
    duration: Duration::from_millis(2_500),
};
const WARMUP_LIMITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Fits rounds and runs of a plan into a time.
///
/// # Errors
/// Not even the fewest rounds of the shortest runs fit.
pub fn fit(plan: &Plan, time: Option<Duration>, registry: &Registry) -> Result<Fitted, CliError> {
    let length = shortest_length(plan);
    let shortest = length + WARMUP_LIMITS.0;
    let Some(time) = time else {
        if seeks(plan) {
            // A single system leaves nothing to be sure of.
            let most_rounds = if plan.systems.len() > 1 { SEARCH.most_rounds } else { None };
            return Ok(Fitted { most_rounds, duration: SEARCH.duration.max(length), ..SEARCH });
        }
        let each = length_at(plan, registry, FEWEST_ROUNDS, USUAL_TIME)?.unwrap_or_default();
        return Ok(of_length(FEWEST_ROUNDS, each.max(shortest)));
    };
    let mut best = None;
    for rounds in FEWEST_ROUNDS..=MOST_ROUNDS {
        let Some(each) = length_at(plan, registry, rounds, time)?.filter(|each| *each >= shortest) else { break };
        let wanted = if rounds <= USUAL_ROUNDS { LONG_ENOUGH } else { LONG };
        if best.is_some() && each < wanted {
            break;
        }
        best = Some(of_length(rounds, each));
    }
    best.ok_or_else(|| {
        let mut least = plan.clone();
        least.schedule.rounds = FEWEST_ROUNDS;
        least.schedule.warmup = WARMUP_LIMITS.0;
        least.schedule.length = Length::Duration(length);
        let runs = least.cases().len() as u32 * FEWEST_ROUNDS;
        let needed = expected_whole(&least, registry).unwrap_or_default();
        let message = format!(
            "`--for {}` is too short for a verdict: {FEWEST_ROUNDS} rounds of {} cases are {runs} runs, about {}",
            model::duration::format(time),
            least.cases().len(),
            clock(needed)
        );
        // A little more than is needed, since it is an estimate.
        let seconds = needed.as_secs().next_multiple_of(10) + 10;
        CliError::user(message).hint(format!(
            "give it `--for {}`, fewer `--clients` or scripts; or `--quick`, which shows that it runs and gives no verdict",
            model::duration::format(Duration::from_secs(seconds))
        ))
    })
}

fn length_at(plan: &Plan, registry: &Registry, rounds: u32, time: Duration) -> Result<Option<Duration>, CliError> {
    let mut bare = plan.clone();
    bare.schedule.rounds = rounds;
    bare.schedule.warmup = Duration::ZERO;
    // A search of shorter runs is refused.
    let length = if seeks(plan) { shortest_length(plan) } else { Duration::ZERO };
    bare.schedule.length = Length::Duration(length);
    let runs = bare.cases().iter().map(usual_loads).sum::<u32>() * rounds;
    Ok(time.checked_sub(expected_whole(&bare, registry)?).map(|left| left / runs.max(1) + length))
}

/// The shortest measured part: longer than a response that keeps a promise.
fn shortest_length(plan: &Plan) -> Duration {
    let promises = plan.cases().into_iter().filter_map(|case| Promise::from_point(&case.point));
    promises.map(|promise| 10 * promise.response_p99).max().unwrap_or_default().max(SHORTEST)
}

/// The warm-up takes a sixth of each run's time.
fn of_length(rounds: u32, each: Duration) -> Fitted {
    let warmup = rounded((each / 6).clamp(WARMUP_LIMITS.0, WARMUP_LIMITS.1));
    Fitted { rounds, most_rounds: None, warmup, duration: rounded(each.saturating_sub(warmup)) }
}

/// Down to whole seconds or tenths of one.
fn rounded(length: Duration) -> Duration {
    let step_ms = if length >= Duration::from_secs(10) { 1_000 } else { 100 };
    Duration::from_millis((length.as_millis() as u64 / step_ms).max(1) * step_ms)
}
