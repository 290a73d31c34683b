//! Turns a ratio and its interval into a verdict.

use crate::equivalence::lies_within_margin;
use crate::estimate::Direction;
use crate::paired::PairedRatio;
use crate::power::rounds_until_sure;
use crate::sequence::Sequence;
use crate::special::student_t_quantile;
use std::fmt;

/// Fewest rounds that carry a verdict: with five, the sign-flip test could not reach 0.05 whatever the data.
pub const MIN_ROUNDS: u32 = 6;

/// Relative difference that counts as none unless the plan says otherwise: 3 %.
pub const DEFAULT_MARGIN: f64 = 0.03;

/// Larger experiments are not proposed, nor more rounds than these beyond those that there are; the answer is then "more
/// rounds will not do".
pub const MAX_ROUNDS: u32 = 200;

/// The verdict on B compared with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// B is better, beyond noise and not just inside the margin.
    Faster,
    /// B is worse, by the rule of `Faster`.
    Slower,
    /// The difference is smaller than the margin.
    Equivalent,
    /// The interval neither excludes 1 nor fits in the margin.
    Inconclusive,
}

impl Verdict {
    /// The verdict's word in reports and JSON, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A verdict, or what stands in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// `None` with `rounds_needed`: too few rounds. `None` without: the two differ in a metric without a better side.
    pub verdict: Option<Verdict>,
    /// Rounds to add: what is missing to the minimum, or, if inconclusive, the estimate of what would settle it (`None`
    /// if that needs more than [`MAX_ROUNDS`]).
    pub rounds_needed: Option<u32>,
}

/// Judges B against A by the ratio's interval and p: a verdict, or the rounds that it needs.
///
/// `adjusted_p` is the [Holm](crate::adjust_by_holm)-adjusted `p_t` of the ratio (its own if there is no other metric);
/// `margin` is the relative difference that does not matter, see [`crate::margin_bounds`].
///
/// In this order:
/// 1. fewer than `min_rounds` pairs ([`MIN_ROUNDS`] is the default): no verdict, the missing rounds;
/// 2. interval wholly inside the margin: equivalent, *even if it also excludes 1*. A difference that is certain and
///    too small to matter is reported as too small to matter: relevance beats significance;
/// 3. [`is_difference`]: faster or slower by `direction`; no verdict for [`Direction::Neither`];
/// 4. otherwise inconclusive, with the number of rounds to add.
pub fn judge(ratio: &PairedRatio, adjusted_p: f64, direction: Direction, margin: f64, min_rounds: u32) -> Judgement {
    let missing = min_rounds.saturating_sub(ratio.pairs);
    if missing > 0 {
        return Judgement { verdict: None, rounds_needed: Some(missing) };
    }
    if lies_within_margin(ratio, margin) {
        return Judgement { verdict: Some(Verdict::Equivalent), rounds_needed: None };
    }
    if is_difference((ratio.lo, ratio.hi), adjusted_p, ratio.level) {
        return Judgement { verdict: better_or_worse(ratio, direction), rounds_needed: None };
    }
    Judgement {
        verdict: Some(Verdict::Inconclusive),
        rounds_needed: rounds_to_settle(ratio, ratio.ratio, adjusted_p, margin),
    }
}

/// Whether an interval and its adjusted p show a difference: both must.
/// Of a sequence, whose p is the least of all looks, a late turn of the estimate takes the side back.
pub fn is_difference((lo, hi): (f64, f64), adjusted_p: f64, level: f64) -> bool {
    (lo > 1.0 || hi < 1.0) && adjusted_p <= 1.0 - level
}

/// Whether B is faster or slower by the ratio and the better direction; `None` without one.
fn better_or_worse(ratio: &PairedRatio, direction: Direction) -> Option<Verdict> {
    match (direction, ratio.ratio > 1.0) {
        (Direction::Higher, true) | (Direction::Lower, false) => Some(Verdict::Faster),
        (Direction::Higher, false) | (Direction::Lower, true) => Some(Verdict::Slower),
        (Direction::Neither, _) => None,
    }
}

/// Computes the rounds to add until one look has an even chance to settle the verdict.
/// Given that the noise stays and `truth` is the ratio. Holm's factor is applied to the future interval too.
pub fn rounds_to_settle(ratio: &PairedRatio, truth: f64, adjusted_p: f64, margin: f64) -> Option<u32> {
    let alpha = 1.0 - ratio.level;
    let family = if ratio.p_t > 0.0 { (adjusted_p / ratio.p_t).max(1.0) } else { 1.0 };
    let (of_family, of_one) = (critical_t(ratio, alpha / family), critical_t(ratio, alpha));
    let further = ratio.pairs + 1..=ratio.pairs.saturating_add(MAX_ROUNDS);
    let rounds = rounds_until_sure(further, (truth, ratio.log_sd), margin, [&of_family, &of_one])?;
    Some(rounds - ratio.pairs)
}

/// Makes the function that gives half the interval in standard errors after n rounds, of the ratio's kind.
fn critical_t(ratio: &PairedRatio, alpha: f64) -> impl Fn(u32) -> f64 {
    let sequence = ratio.sequence.and_then(|sequence| Sequence::new(1.0 - alpha, sequence.first_look()).ok());
    move |n| match sequence {
        Some(sequence) => sequence.critical_t(n),
        None => student_t_quantile(1.0 - alpha / 2.0, f64::from(n - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::paired_ratio;
    use crate::sample::tests::pairs_of_logs;

    fn ratio_of(logs: &[f64]) -> PairedRatio {
        paired_ratio(&pairs_of_logs(logs), 0.95).unwrap()
    }

    fn judged(logs: &[f64], direction: Direction) -> Judgement {
        let ratio = ratio_of(logs);
        judge(&ratio, ratio.p_t, direction, DEFAULT_MARGIN, MIN_ROUNDS)
    }

    #[test]
    fn as_many_rounds_more_are_named_after_many_as_after_few() {
        for n in [100, 150, 200] {
            let logs: Vec<f64> = (0..n).map(|i| 0.025 + if i % 2 == 0 { 0.2 } else { -0.2 }).collect();
            let found = judged(&logs, Direction::Higher);
            assert_eq!(found.verdict, Some(Verdict::Inconclusive), "{n} rounds");
            assert!(
                found.rounds_needed.is_some_and(|missing| (201..270).contains(&(n + missing))),
                "{n} rounds: {found:?}"
            );
        }
    }

    const CLEAR: [f64; 6] = [0.10, 0.12, 0.09, 0.11, 0.10, 0.08];
    const SMALL_BUT_CERTAIN: [f64; 6] = [0.010, 0.012, 0.009, 0.011, 0.010, 0.008];
    const NOISY: [f64; 6] = [0.10, -0.08, 0.05, 0.12, -0.06, 0.02];

    #[test]
    fn direction_decides_which_side_wins() {
        let slower = CLEAR.map(|l| -l);
        assert_eq!(judged(&CLEAR, Direction::Higher).verdict, Some(Verdict::Faster));
        assert_eq!(judged(&CLEAR, Direction::Lower).verdict, Some(Verdict::Slower));
        assert_eq!(judged(&slower, Direction::Higher).verdict, Some(Verdict::Slower));
        assert_eq!(judged(&slower, Direction::Lower).verdict, Some(Verdict::Faster));
        assert_eq!(judged(&CLEAR, Direction::Neither), Judgement { verdict: None, rounds_needed: None });
    }

    #[test]
    fn five_rounds_carry_no_verdict() {
        for (rounds, missing) in [(5, 1), (2, 4)] {
            let want = Judgement { verdict: None, rounds_needed: Some(missing) };
            assert_eq!(judged(&CLEAR[..rounds], Direction::Higher), want);
        }
    }

    #[test]
    fn relevance_beats_significance() {
        assert!(ratio_of(&SMALL_BUT_CERTAIN).p_t < 0.001);
        assert_eq!(judged(&SMALL_BUT_CERTAIN, Direction::Higher).verdict, Some(Verdict::Equivalent));
    }

    /// scipy 1.17.1: the first n with `t.ppf(.975, n-1) * s / sqrt(n)` below the mean 0.025 is 44 (s = 0.0819146). With the
    /// margin of 3 %, 40 rounds exclude 1 with a chance of 0.463 and lie within it with 0.033, 41 with 0.473 and 0.036.
    #[test]
    fn inconclusive_says_how_many_more() {
        let ratio = ratio_of(&NOISY);
        let without = judge(&ratio, ratio.p_t, Direction::Higher, 0.0, MIN_ROUNDS);
        assert_eq!(without, Judgement { verdict: Some(Verdict::Inconclusive), rounds_needed: Some(44 - 6) });
        assert_eq!(judged(&NOISY, Direction::Higher).rounds_needed, Some(41 - 6));
    }

    /// Whatever it seems to differ by: by error functions 52 rounds settle it with a chance of 0.493, 53 with 0.510.
    #[test]
    fn what_is_equal_needs_the_rounds_that_show_it() {
        let ratio = ratio_of(&NOISY);
        assert_eq!(rounds_to_settle(&ratio, 1.0, ratio.p_t, DEFAULT_MARGIN), Some(53 - 6));
    }

    #[test]
    fn a_family_needs_more_than_one_metric() {
        let ratio = ratio_of(&NOISY);
        let alone = judge(&ratio, ratio.p_t, Direction::Higher, 0.001, 6).rounds_needed.unwrap();
        let of_three = judge(&ratio, 3.0 * ratio.p_t, Direction::Higher, 0.001, 6).rounds_needed.unwrap();
        assert!(of_three > alone, "{of_three} {alone}");
    }

    #[test]
    fn holm_can_take_a_significant_metric_back() {
        let logs = [0.05, 0.10, -0.01, 0.08, 0.02, 0.06];
        let ratio = ratio_of(&logs);
        assert!(ratio.p_t < 0.05 && 3.0 * ratio.p_t > 0.05);
        assert_eq!(judged(&logs, Direction::Higher).verdict, Some(Verdict::Faster));
        let adjusted = judge(&ratio, 3.0 * ratio.p_t, Direction::Higher, 0.03, 6);
        assert_eq!(adjusted.verdict, Some(Verdict::Inconclusive));
        assert!(adjusted.rounds_needed.unwrap() >= 1);
    }

    #[test]
    fn hopeless_noise_gets_no_number() {
        let logs = [2.0, -2.0, 1.8, -1.8, 2.2, -2.19];
        assert_eq!(judged(&logs, Direction::Higher).rounds_needed, None);
        // No noise at all, exactly on 1: equivalent whatever the margin.
        let same = ratio_of(&[0.0; 6]);
        assert_eq!(judge(&same, 1.0, Direction::Neither, 0.0, 6).verdict, Some(Verdict::Equivalent));
    }

    #[test]
    fn words_are_lower_case() {
        assert_eq!(Verdict::Inconclusive.to_string(), "inconclusive");
        assert_eq!(format!("{:>8}", Verdict::Faster), "  faster");
    }
}
