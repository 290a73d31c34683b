//! Whether a run's rate stood still.

use model::{Direction, Mark, MarkKind, Measurement, Reading, Role};
use stats::Steadiness;

/// Fewest intervals that are judged.
pub const FEWEST_INTERVALS: usize = 8;

pub enum Steady {
    TooShort,
    Yes,
    No(Mark),
}

impl Steady {
    /// Judges the rates of a run's intervals; `what` has them, as in `the rate`.
    pub fn judge(rates_per_s: &[f64], what: &str) -> Steady {
        if rates_per_s.len() < FEWEST_INTERVALS {
            return Steady::TooShort;
        }
        if let Some(end) = stats::warm_up_end(rates_per_s) {
            return Steady::No(Mark::warm_up_too_short(what, end, rates_per_s.len()));
        }
        let detail = match stats::classify_steadiness(rates_per_s) {
            None => return Steady::TooShort,
            Some(Steadiness::Steady) => return Steady::Yes,
            Some(Steadiness::Drifting { p, relative_change }) => {
                let way = if relative_change < 0.0 { "fell" } else { "rose" };
                let percent = relative_change.abs() * 100.0;
                format!(
                    "{what} {way} by {percent:.0} % of its median from the first interval to the last ({})",
                    p_words(p)
                )
            }
            Some(Steadiness::Bimodal { low, high, low_share }) => {
                let percent = low_share * 100.0;
                format!("{what} had two levels: {low:.0} for {percent:.0} % of the time, else {high:.0}")
            }
        };
        Steady::No(Mark::new(MarkKind::NotSteady, detail))
    }

    /// The mark of a run that was not steady.
    pub fn into_mark(self) -> Option<Mark> {
        if let Steady::No(mark) = self { Some(mark) } else { None }
    }

    /// 1 if steady, else 0.
    pub fn measurement(&self) -> Measurement {
        let reading = match self {
            Steady::TooShort => Reading::unavailable(format!("the run has not {FEWEST_INTERVALS} whole intervals")),
            Steady::Yes => Reading::Value(1.0),
            Steady::No(_) => Reading::Value(0.0),
        };
        Measurement::new("steady", "", Direction::Neither, Role::Diagnostic, reading)
    }
}

/// The p-value in words, never `p = 0.000`.
fn p_words(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_p_is_no_zero() {
        assert_eq!([0.0, 0.000_99, 0.001, 0.0123].map(p_words), ["p < 0.001", "p < 0.001", "p = 0.001", "p = 0.012"]);
    }
}
