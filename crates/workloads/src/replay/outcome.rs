//! What is measured of a replay: the time of each class of statements, its answers and errors, and how late the client was.

use model::metric::{ALL_QUERIES, ANSWER, DIFFERENCE};
use model::{Absence, Direction, Mark, MarkKind, Measurement, Reading, Role};

use super::pace::Pace;
use super::procedure::Replaying;
use super::progress::{ClassResult, State};
use super::selection::{Skipped, SkippedCounts};
use super::source::ReplayedClass;
use crate::query_run::{count_measurement, milliseconds_measurement, total_reading};
use crate::step::StepOutcome;
use load::lag::LoopLag;

/// A class with fewer executions has figures and no verdict.
const FEWEST_JUDGED: u64 = 5;
/// A client that sends 1 % of the statements this much too late replays another load than the captured one.
const LATE_NS: u64 = 20_000_000;

impl Replaying {
    /// Makes the step's outcome: each class's time, answers and errors, what was skipped, and how late the client was.
    pub fn outcome(&self, state: &State, skipped: &SkippedCounts, elapsed_s: f64) -> StepOutcome {
        let mut outcome = StepOutcome { elapsed_s, ..StepOutcome::default() };
        let classes = || self.source.classes.iter().zip(&state.classes);
        let timed = || classes().filter(|(_, result)| result.timed + result.new_errors > 0);
        let readings: Vec<Reading> = timed().map(|(_, result)| result.elapsed_s()).collect();
        let all = total_reading(timed().map(|(class, _)| class.name.as_str()), &readings);
        let into = &mut outcome.measurements;
        into.push(milliseconds_measurement(&format!("elapsed/{ALL_QUERIES}"), Role::Primary, all));
        into.extend(timed().zip(readings).map(|((class, _), reading)| class_time_measurement(class, reading)));
        for (class, result) in classes() {
            let name = &class.name;
            into.push(count_measurement(&format!("executions/{name}"), result.executed as f64));
            into.push(count_measurement(&format!("errors/{name}"), result.failed as f64));
            into.push(count_measurement(&format!("rows/{name}"), result.rows as f64));
            if self.first_answers.is_some() && result.executed + result.unsaid_errors > result.failed {
                // 52 bits, which a float holds exactly.
                into.push(count_measurement(&format!("{ANSWER}/{name}"), (result.answers >> 12) as f64));
                into.extend(result.difference.as_ref().map(|reason| difference_measurement(name, reason)));
            }
        }
        into.push(count_measurement("captured", self.source.captured as f64));
        into.push(count_measurement("executed", state.executed as f64));
        let of_reasons = Skipped::ALL.into_iter().filter(|reason| skipped.of_reason(*reason) > 0);
        into.extend(
            of_reasons.map(|reason| {
                count_measurement(&format!("skipped/{}", reason.code()), skipped.of_reason(reason) as f64)
            }),
        );
        into.extend(
            [("send_lag_p50", 0.5), ("send_lag_p99", 0.99)].map(|(id, share)| lag_measurement(id, share, &state.lag)),
        );
        // As fast as it goes, no time is intended.
        outcome.marks.extend(if self.pace == Pace::None { None } else { late_replay_mark(&state.lag) });
        outcome.marks.extend(skipped.describe_counts().map(|text| {
            let detail =
                format!("{} of {} statements are replayed; skipped: {text}", state.executed, self.source.captured);
            Mark::new(MarkKind::Note, detail)
        }));
        outcome.marks.extend(classes().filter_map(|(class, result)| vanished_errors_note(class, result)));
        outcome.marks.extend(classes().filter_map(|(class, result)| unsaid_errors_note(class, result)));
        outcome
    }
}

impl ClassResult {
    /// Seconds of all executions of the class together; unavailable if some failed.
    fn elapsed_s(&self) -> Reading {
        match &self.cause {
            None => Reading::Value(self.elapsed_s),
            Some(cause) => {
                let reason = format!("{} of {} executions failed: {cause}", self.new_errors, self.executed);
                Reading::Unavailable(Absence::Failed.with_reason(reason))
            }
        }
    }
}

/// Makes the measurement of a class's time, diagnostic if it has too few executions.
fn class_time_measurement(class: &ReplayedClass, reading: Reading) -> Measurement {
    let is_judged = class.executions >= FEWEST_JUDGED;
    let role = if is_judged { Role::Primary } else { Role::Diagnostic };
    let mut elapsed = milliseconds_measurement(&format!("elapsed/{}", class.name), role, reading);
    if !is_judged {
        elapsed.metric.direction = Direction::Neither;
    }
    elapsed
}

/// Makes the measurement that says how an answer differs from the experiment's first.
fn difference_measurement(name: &str, reason: &str) -> Measurement {
    let reading = Reading::Unavailable(Absence::Wrong.with_reason(reason));
    Measurement::new(&format!("{DIFFERENCE}/{name}"), "", Direction::Neither, Role::Diagnostic, reading)
}

/// Makes the measurement of how late statements were sent: the lag of a share of them.
fn lag_measurement(id: &str, share: f64, lag: &LoopLag) -> Measurement {
    let reading = lag
        .quantile_ns(share)
        .map_or_else(|| Reading::unavailable("nothing was sent"), |lag_ns| Reading::Value(lag_ns as f64 / 1e9));
    milliseconds_measurement(id, Role::Diagnostic, reading)
}

/// Makes a mark if 1 % of the statements were sent too late.
fn late_replay_mark(lag: &LoopLag) -> Option<Mark> {
    let lag_ns = lag.quantile_ns(0.99).filter(|lag_ns| *lag_ns >= LATE_NS)?;
    let detail = format!("étalon sent 1 % of the statements more than {:.0} ms late", lag_ns as f64 / 1e6);
    Some(Mark::new(MarkKind::WokenLate, detail))
}

/// Makes a note if executions of a class failed in the capture and not here.
fn vanished_errors_note(class: &ReplayedClass, result: &ClassResult) -> Option<Mark> {
    let vanished = result.vanished_errors;
    (vanished > 0).then(|| {
        let detail = format!("{vanished} executions of {} failed in the capture and not here", class.name);
        Mark::new(MarkKind::Note, detail)
    })
}

/// Makes a note if executions of a class failed, and the capture does not say whether they failed there.
fn unsaid_errors_note(class: &ReplayedClass, result: &ClassResult) -> Option<Mark> {
    let cause = result.unsaid_cause.as_ref()?;
    let (failed, of) = (result.unsaid_errors, result.executed);
    let name = &class.name;
    let detail = format!("{failed} of {of} executions of {name} failed, as they may have in the capture: {cause}");
    Some(Mark::new(MarkKind::Note, detail))
}
