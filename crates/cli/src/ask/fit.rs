//! How many rounds of how long a run fit into a time.

use std::sync::OnceLock;
use std::time::Duration;

use conductor::Registry;
use conductor::capacity_run::usual_loads;
use model::catalog::Visibility;
use model::{Length, Order, Plan, Promise, Schedule, duration};

use report::number::count_noun;

use crate::commands::plan::{ExpectedTime, expected_time};
use crate::error::CliError;
use crate::progress::{estimate_text, has_searches};

/// How often every case is run, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitted {
    pub rounds: u32,
    /// The most rounds of an experiment that ends when it is sure.
    pub most_rounds: Option<u32>,
    pub warmup: Duration,
    pub duration: Duration,
}

/// Keys of the schedule that the user sets, so that they are not fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    pub rounds: bool,
    pub warmup: bool,
    pub length: bool,
}

impl Fixed {
    /// Finds which keys of the schedule `--set` fixes.
    pub fn from_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Fixed {
        let mut fixed = Fixed::default();
        for key in keys {
            match key {
                "schedule.rounds" => fixed.rounds = true,
                "schedule.warmup" => fixed.warmup = true,
                "schedule.duration" | "schedule.transactions" => fixed.length = true,
                _ => {}
            }
        }
        fixed
    }

    /// Copies it, with length and warm-up fixed as well where the length is not to be fitted.
    fn with_length_unless(self, has_length: bool) -> Fixed {
        Fixed { length: self.length || !has_length, warmup: self.warmup || !has_length, ..self }
    }
}

/// Time of an experiment for which no time is named.
const USUAL_TIME: Duration = Duration::from_secs(40);
const FEWEST_ROUNDS: u32 = stats::MIN_ROUNDS;
/// Longer runs rather than more rounds, beyond which the interval shrinks slowly.
const USUAL_ROUNDS: u32 = 10;
const MOST_ROUNDS: u32 = 30;
/// More rounds of runs of a fixed length, or of steps.
const MOST_OF_FIXED: u32 = 500;
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
/// Loading is expected to take at most this many times as long as on a quiet machine.
const SLOWEST: f64 = 4.0;
/// Loading may take this many times as long as expected before runs no longer fit; rounds fill what is left of the time.
const CAUTION: f64 = 1.25;
/// From here on a machine is called busy.
const BUSY: f64 = 1.2;
const WARMUP_LIMITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Fits the rounds and runs of a question for which no time is named.
///
/// # Errors
/// A benchmark cannot be run as its keys say.
pub fn usual_fit(plan: &Plan, registry: &Registry) -> Result<Fitted, CliError> {
    let length = shortest_length(plan);
    if has_searches(plan) {
        // A single system leaves nothing to be sure of.
        let most_rounds = if plan.systems.len() > 1 { SEARCH.most_rounds } else { None };
        return Ok(Fitted { most_rounds, duration: SEARCH.duration.max(length), ..SEARCH });
    }
    let mut bare = plan.clone();
    bare.schedule.warmup = Duration::ZERO;
    let each = length_at(&bare, Pace { registry, slower: 1.0 }, FEWEST_ROUNDS, USUAL_TIME)?.unwrap_or_default();
    Ok(fit_of_length(FEWEST_ROUNDS, each.max(length + WARMUP_LIMITS.0)))
}

/// Fits a plan's rounds and runs into a time, but for what is fixed; returns what came of it, as text.
///
/// # Errors
/// Not even the fewest rounds of the shortest runs fit.
pub fn fit_into_time(plan: &mut Plan, time: Duration, fixed: Fixed, registry: &Registry) -> Result<String, CliError> {
    let steps = expected_time(plan, registry)?.steps;
    let has_length = has_fittable_length(plan, steps);
    let fixed = fixed.with_length_unless(has_length);
    let pace = Pace::measured_here(plan, registry)?;
    let mut fitted = best_fit(plan, time, fixed, pace.cautious())?;
    if fitted.is_none() {
        fitted = best_fit(plan, time, fixed, pace)?;
    }
    let found = match fitted {
        Some(found) => found,
        // On a quiet machine it would fit.
        None if pace.is_busy() && best_fit(plan, time, fixed, pace.quiet())?.is_some() => shortest_fit(plan, fixed),
        None => return Err(time_too_short(plan, time, fixed, pace.quiet())),
    };
    found.put_into(plan, fixed);
    let expected = pace.expected_time(plan)?;
    let loading = expected.loading;
    let mut text = format!("`--for {}`: {} rounds", duration::format(time), plan.schedule.rounds);
    if has_uncertain_rounds(plan, registry) && !fixed.rounds {
        text = format!(
            "`--for {}`: about {} rounds, as many as fit into it",
            duration::format(time),
            plan.schedule.rounds
        );
    }
    if let (true, Length::Duration(length)) = (has_length, plan.schedule.length) {
        let run = if has_searches(plan) { "short run" } else { "run" };
        let warmup = duration::spaced_text(plan.schedule.warmup);
        text.push_str(&format!(", each {run} {} after a warm-up of {warmup}", duration::spaced_text(length)));
    }
    if loading >= Duration::from_secs(1) {
        text.push_str(&format!(", and about {} for loading", estimate_text(loading)));
    }
    text.push_str(&pace.busy_clause(expected, time));
    Ok(text)
}

/// Whether it shows only while they run how many rounds fit into a time: on every system but a simulated one, whose time is virtual.
pub fn has_uncertain_rounds(plan: &Plan, registry: &Registry) -> bool {
    let is_real = |system| {
        registry.resolve_system(system).is_ok_and(|(engine, _)| engine.spec().visibility == Visibility::Public)
    };
    // A sequential order ends with a system, not with a round.
    plan.schedule.order != Order::Sequential && plan.systems.iter().any(is_real)
}

/// The time to give a plan for a verdict, a little more than it is expected to take; `None` where `time` is enough.
///
/// # Errors
/// A benchmark cannot be run as its keys say.
pub fn time_needed(
    plan: &Plan,
    time: Duration,
    fixed: Fixed,
    registry: &Registry,
) -> Result<Option<Duration>, CliError> {
    let steps = expected_time(plan, registry)?.steps;
    let fixed = fixed.with_length_unless(has_fittable_length(plan, steps));
    let pace = Pace { registry, slower: 1.0 };
    Ok(match best_fit(plan, time, fixed, pace)? {
        Some(_) => None,
        None => Some(enough_for(pace.expected_time(&shortest_plan(plan, fixed))?.total())),
    })
}

/// Tests whether the length of a plan's runs can be fitted into a time: `steps` of its cases take as long as they take.
fn has_fittable_length(plan: &Plan, steps: usize) -> bool {
    matches!(plan.schedule.length, Length::Duration(_)) && steps < plan.cases().len()
}

/// How long things take on this machine, as it is now.
#[derive(Clone, Copy)]
pub struct Pace<'r> {
    registry: &'r Registry,
    /// How many times as long as on a quiet machine loading takes.
    slower: f64,
}

impl<'r> Pace<'r> {
    /// Makes the pace of this machine by how busy it is now, if the plan loads something on it.
    ///
    /// # Errors
    /// A benchmark cannot be run as its keys say.
    pub fn measured_here(plan: &Plan, registry: &'r Registry) -> Result<Pace<'r>, CliError> {
        let has_loads = !expected_time(plan, registry)?.loading.is_zero();
        // Read once: what is fitted, and what is printed of it, go by one reading.
        static LOAD: OnceLock<Option<f64>> = OnceLock::new();
        let load = if has_loads { *LOAD.get_or_init(host::cpu::load_per_core) } else { None };
        Ok(Pace { registry, slower: load.unwrap_or(1.0).clamp(1.0, SLOWEST) })
    }

    /// The factor by which loading takes longer than on a quiet machine.
    pub fn slower_by(self) -> f64 {
        self.slower
    }

    /// Copies the pace, but for a quiet machine.
    fn quiet(self) -> Pace<'r> {
        Pace { slower: 1.0, ..self }
    }

    /// Copies the pace, with loading slower than expected.
    fn cautious(self) -> Pace<'r> {
        Pace { slower: self.slower * CAUTION, ..self }
    }

    /// Tests whether the machine is so busy that loading takes longer.
    fn is_busy(self) -> bool {
        self.slower > BUSY
    }

    /// The expected time of a plan at this pace, of which only loading is slower on a busy machine.
    ///
    /// # Errors
    /// A benchmark cannot be run as its keys say.
    pub fn expected_time(self, plan: &Plan) -> Result<ExpectedTime, CliError> {
        let quiet = expected_time(plan, self.registry)?;
        Ok(ExpectedTime { loading: quiet.loading.mul_f64(self.slower), ..quiet })
    }

    /// Says that the machine is busy, as the end of a sentence; empty where it is not.
    fn busy_clause(self, expected: ExpectedTime, time: Duration) -> String {
        if !self.is_busy() {
            return String::new();
        }
        let whole = expected.total();
        let instead = if whole > time { format!(", {} in all", estimate_text(whole)) } else { String::new() };
        format!("; this machine is busy, so loading is expected to take {:.1} times as long{instead}", self.slower)
    }
}

/// Finds the rounds and lengths that fit into the time: more rounds as long as runs stay long enough; `None` if none fit.
fn best_fit(plan: &Plan, time: Duration, fixed: Fixed, pace: Pace<'_>) -> Result<Option<Fitted>, CliError> {
    let bare = bare_plan(plan, fixed);
    let own = plan.schedule.rounds;
    let range = if fixed.rounds { own..=own } else { FEWEST_ROUNDS..=MOST_ROUNDS };
    if fixed.length {
        let rounds = if fixed.rounds { own } else { rounds_within(&bare, pace, time)? };
        return fit_fixed_runs(&bare, pace, rounds, time);
    }
    let shortest = shortest_length(plan) + if fixed.warmup { Duration::ZERO } else { WARMUP_LIMITS.0 };
    let mut best = None;
    for rounds in range {
        let Some(each) = length_at(&bare, pace, rounds, time)?.filter(|each| *each >= shortest) else { break };
        let wanted = if rounds <= USUAL_ROUNDS { LONG_ENOUGH } else { LONG };
        if best.is_some() && each < wanted {
            break;
        }
        best = Some(if fixed.warmup {
            Fitted { rounds, most_rounds: None, warmup: plan.schedule.warmup, duration: round_down(each) }
        } else {
            fit_of_length(rounds, each)
        });
    }
    Ok(best)
}

/// Copies the plan with the warm-up that is fitted taken out, or at its shortest where the length is fixed.
fn bare_plan(plan: &Plan, fixed: Fixed) -> Plan {
    let mut bare = plan.clone();
    if !fixed.warmup {
        // The shortest warm-up is counted where the length of runs is fixed, and may take what is left over.
        bare.schedule.warmup = if fixed.length { WARMUP_LIMITS.0 } else { Duration::ZERO };
    }
    bare
}

/// The most rounds that fit into the time where the length of runs is fixed: each takes as long as the one before it.
fn rounds_within(bare: &Plan, pace: Pace<'_>, time: Duration) -> Result<u32, CliError> {
    let least = time_of_rounds(bare, pace, FEWEST_ROUNDS)?;
    let more = time_of_rounds(bare, pace, FEWEST_ROUNDS + 1)?;
    let each = more.saturating_sub(least).max(Duration::from_millis(1));
    let further = time.saturating_sub(least).as_millis() / each.as_millis();
    Ok(FEWEST_ROUNDS + u32::try_from(further).unwrap_or(MOST_OF_FIXED).min(MOST_OF_FIXED))
}

/// The expected time of a plan with this number of rounds.
fn time_of_rounds(bare: &Plan, pace: Pace<'_>, rounds: u32) -> Result<Duration, CliError> {
    let mut plan = bare.clone();
    plan.schedule.rounds = rounds;
    pace.expected_time(&plan).map(ExpectedTime::total)
}

/// Fits this number of rounds, of runs whose length is fixed, into the time; `None` if it is too short.
fn fit_fixed_runs(bare: &Plan, pace: Pace<'_>, rounds: u32, time: Duration) -> Result<Option<Fitted>, CliError> {
    let mut plan = bare.clone();
    plan.schedule.rounds = rounds;
    let Some(left) = time.checked_sub(pace.expected_time(&plan)?.total()) else { return Ok(None) };
    let each = WARMUP_LIMITS.0 + left / count_loads(&plan).max(1);
    let duration = if let Length::Duration(length) = plan.schedule.length { length } else { Duration::ZERO };
    // A warm-up that is fitted takes what is left, up to a sixth of a run.
    let warmup = round_down(each.min(duration / 5).clamp(WARMUP_LIMITS.0, WARMUP_LIMITS.1));
    Ok(Some(Fitted { rounds, most_rounds: None, warmup, duration }))
}

impl Fitted {
    /// Takes the rounds, warm-up and length of runs from a plan.
    pub fn from_plan(plan: &Plan) -> Fitted {
        let schedule = &plan.schedule;
        let duration = if let Length::Duration(length) = schedule.length { length } else { SHORTEST };
        Fitted { rounds: schedule.rounds, most_rounds: None, warmup: schedule.warmup, duration }
    }

    /// Puts rounds and lengths into a plan, but for what is fixed.
    fn put_into(self, plan: &mut Plan, fixed: Fixed) {
        let schedule = &mut plan.schedule;
        if !fixed.rounds {
            (schedule.rounds, schedule.until_sure) = (self.rounds, None);
        }
        if !fixed.warmup {
            schedule.warmup = self.warmup;
        }
        if !fixed.length {
            schedule.length = Length::Duration(self.duration);
        }
    }
}

/// Makes the fit of the fewest rounds of the shortest runs.
fn shortest_fit(plan: &Plan, fixed: Fixed) -> Fitted {
    let rounds = if fixed.rounds { plan.schedule.rounds } else { FEWEST_ROUNDS };
    Fitted { rounds, most_rounds: None, warmup: WARMUP_LIMITS.0, duration: shortest_length(plan) }
}

/// Copies the plan with the fewest rounds of the shortest runs.
fn shortest_plan(plan: &Plan, fixed: Fixed) -> Plan {
    let mut least = bare_plan(plan, fixed);
    shortest_fit(plan, fixed).put_into(&mut least, fixed);
    least
}

/// Rounds an expected time up to whole tens of seconds, and adds ten, since it is an estimate.
fn enough_for(expected: Duration) -> Duration {
    Duration::from_secs(expected.as_secs().next_multiple_of(10) + 10)
}

/// Makes the error for a time that is too short for the plan.
fn time_too_short(plan: &Plan, time: Duration, fixed: Fixed, pace: Pace<'_>) -> CliError {
    let least = shortest_plan(plan, fixed);
    let rounds = shortest_fit(plan, fixed).rounds;
    let cases = least.cases().len();
    let needed = pace.expected_time(&least).unwrap_or_default().total();
    let message = format!(
        "`--for {}` is too short for a verdict: {rounds} rounds of {} are {} runs, about {}",
        duration::format(time),
        count_noun(cases, "case"),
        cases as u32 * rounds,
        estimate_text(needed)
    );
    let fewer = if cases > plan.systems.len() { ", fewer clients or scripts" } else { "" };
    CliError::user_error(message).with_hint(format!(
        "give it `--for {}`{fewer}; or `--quick`, which shows that it runs and gives no verdict",
        duration::format(enough_for(needed))
    ))
}

/// Counts the loads of clients that last as long as the schedule says, over all rounds: a search has several a run.
fn count_loads(plan: &Plan) -> u32 {
    let cases = plan.cases();
    let as_scheduled = cases.iter().filter(|case| !case.point.contains_key(Schedule::OWN_LENGTH));
    as_scheduled.map(usual_loads).sum::<u32>() * plan.schedule.rounds
}

/// The length of runs at which this many rounds take the time; `None` if the time is too short.
fn length_at(bare: &Plan, pace: Pace<'_>, rounds: u32, time: Duration) -> Result<Option<Duration>, CliError> {
    let mut plan = bare.clone();
    plan.schedule.rounds = rounds;
    // A search of shorter runs is refused.
    let length = if has_searches(&plan) { shortest_length(&plan) } else { Duration::ZERO };
    plan.schedule.length = Length::Duration(length);
    let expected = pace.expected_time(&plan)?;
    let runs = count_loads(&plan).saturating_sub(expected.steps as u32 * rounds);
    Ok(time.checked_sub(expected.total()).map(|left| left / runs.max(1) + length))
}

/// The shortest measured part of a run: ten times the longest promised response time, or the usual minimum.
fn shortest_length(plan: &Plan) -> Duration {
    let promises = plan.cases().into_iter().filter_map(|case| Promise::from_point(&case.point));
    promises.map(|promise| 10 * promise.response_p99).max().unwrap_or_default().max(SHORTEST)
}

/// Makes the fit of rounds that each take a time, a sixth of it as the warm-up.
fn fit_of_length(rounds: u32, each: Duration) -> Fitted {
    let warmup = round_down((each / 6).clamp(WARMUP_LIMITS.0, WARMUP_LIMITS.1));
    Fitted { rounds, most_rounds: None, warmup, duration: round_down(each.saturating_sub(warmup)) }
}

/// Rounds a length down to whole seconds, or to tenths of one below ten seconds.
fn round_down(length: Duration) -> Duration {
    let step_ms = if length >= Duration::from_secs(10) { 1_000 } else { 100 };
    Duration::from_millis((length.as_millis() as u64 / step_ms).max(1) * step_ms)
}

#[cfg(test)]
mod tests {
    use model::plan::Changes;

    use super::*;

    const PLAN: &str = "[systems.a]\nurl = \"sqlite:a.db\"\n[systems.b]\nurl = \"sqlite:b.db\"\n\
                        [[benchmarks]]\nname = \"t\"\nworkload = \"transactions\"\nscript = \"simple-update\"\nscale = 4\n";

    #[test]
    fn a_busy_machine_leaves_time_for_slower_loading() {
        let registry = Registry::built_in();
        let parsed = Plan::parse(PLAN, "plan", &Changes::default(), &registry.catalog(), 1);
        let plan = parsed.unwrap_or_else(|errors| panic!("{errors:?}")).0;
        let time = Duration::from_secs(120);
        let [quiet, busy] = [1.0, SLOWEST].map(|slower| {
            let pace = Pace { registry: &registry, slower };
            let mut plan = plan.clone();
            best_fit(&plan, time, Fixed::default(), pace).unwrap().unwrap().put_into(&mut plan, Fixed::default());
            let expected = pace.expected_time(&plan).unwrap();
            assert!(expected.total() <= time.mul_f64(1.01) && expected.total() >= time.mul_f64(0.9), "{expected:?}");
            let text = pace.busy_clause(expected, time);
            assert_eq!(text.contains("busy, so loading is expected to take 4.0 times as long"), slower > 1.0, "{text}");
            expected
        });
        assert!(busy.loading > quiet.loading && busy.running < quiet.running, "{quiet:?} {busy:?}");
    }
}
