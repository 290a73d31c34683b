//! Two systems compared round by round, on the logarithms of their ratios.

use crate::moments::{mean, standard_deviation};
use crate::rng::Rng;
use crate::sample::Pairs;
use crate::sequence::Sequence;
use crate::special::{student_t_quantile, student_t_two_sided};
use std::fmt;

/// Spreads of log ratios below this are rounding of the logarithm, not noise (a double's logarithm is good to about
/// 1e-15 here), and are treated as none.
pub(crate) const ROUNDING: f64 = 1e-13;

/// Up to this many rounds all sign patterns are enumerated (65,536 of them).
const MAX_EXACT_PAIRS: usize = 16;

/// Draws of the Monte Carlo permutation test: p = 0.05 has a standard error of 0.0015.
const DRAWS: u32 = 20_000;

/// Why two samples have no ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotComparable {
    /// Fewer than two rounds (paired) or two runs on a side (unpaired): no spread can be estimated.
    TooFew { n: usize },
    /// A value in this round is zero or negative and has no logarithm.
    NotPositive { round: u32 },
    /// The confidence level is not strictly between 0 and 1.
    BadLevel(f64),
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotComparable::TooFew { n } => write!(f, "an interval needs two values on each side, and there are {n}"),
            // People count rounds from 1.
            NotComparable::NotPositive { round } => {
                write!(f, "round {} holds a value that is not positive: it has no ratio", u64::from(*round) + 1)
            }
            NotComparable::BadLevel(level) => {
                write!(f, "confidence level {level} is not between 0 and 1")
            }
        }
    }
}

impl std::error::Error for NotComparable {}

/// The ratio B / A, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// Geometric mean of B / A over the rounds.
    pub ratio: f64,
    pub lo: f64,
    pub hi: f64,
    pub level: f64,
    /// Number of rounds with both sides.
    pub pairs: u32,
    /// Standard deviation of ln(B / A) between rounds: roughly the relative noise of one round's ratio.
    pub log_sd: f64,
    /// Two-sided p of the paired t test of "ratio is 1", or the least of the sequence's.
    pub p_t: f64,
    /// The sequence that `lo`, `hi` and `p_t` are of, if they hold at every look of an experiment that is looked at
    /// after each round.
    pub sequence: Option<Sequence>,
}

/// Fails if a level is not between 0 and 1.
pub(crate) fn check_level(level: f64) -> Result<(), NotComparable> {
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(NotComparable::BadLevel(level)) }
}

/// Estimates the ratio B / A with its interval and p by the paired t method on log ratios.
///
/// What two runs of a round share (cache state, neighbours on the host, the hour) cancels in their ratio; on the log
/// scale A/B and B/A are the same distance from 1. Paired differences with a t interval: Jain, "The Art of Computer
/// Systems Performance Analysis" (1991), 13.4.1; ratio with interval as the thing to report: Kalibera & Jones, ISMM 2013.
///
/// Rounds that do not vary at all give a degenerate interval (`lo` = `ratio` = `hi`) with p 1 if the ratio is 1, else 0.
pub fn paired_ratio(pairs: &Pairs, level: f64) -> Result<PairedRatio, NotComparable> {
    check_level(level)?;
    let logs = pairs.log_ratios()?;
    let n = logs.len();
    let log_sd = standard_deviation(&logs).ok_or(NotComparable::TooFew { n })?;
    let centre = mean(&logs);
    let as_count = u32::try_from(n).unwrap_or(u32::MAX);
    if log_sd < ROUNDING {
        let (centre, p_t) = if centre.abs() < ROUNDING { (0.0, 1.0) } else { (centre, 0.0) };
        let ratio = centre.exp();
        return Ok(PairedRatio {
            ratio,
            lo: ratio,
            hi: ratio,
            level,
            pairs: as_count,
            log_sd: 0.0,
            p_t,
            sequence: None,
        });
    }
    let df = (n - 1) as f64;
    let error = log_sd / (n as f64).sqrt();
    let half_width = student_t_quantile(f64::midpoint(1.0, level), df) * error;
    Ok(PairedRatio {
        ratio: centre.exp(),
        lo: (centre - half_width).exp(),
        hi: (centre + half_width).exp(),
        level,
        pairs: as_count,
        log_sd,
        p_t: student_t_two_sided(centre / error, df),
        sequence: None,
    })
}

/// Gives the two-sided p of the sign-flip permutation test on the mean log ratio.
/// Fisher, "The Design of Experiments", 1935, section 21: if A and B do not differ, each round could as well have had
/// them the other way round. No normality is assumed; the smallest p that n rounds can give is 2 / 2^n, so six rounds
/// are the fewest that reach 0.05.
///
/// All patterns are enumerated up to 16 rounds and `seed` is unused; beyond, 20,000 seeded draws with the +1 correction
/// of Phipson & Smyth (2010), so that p is never 0. No evidence (p = 1) where a value has no logarithm, or without
/// pairs; [`paired_ratio`] says which.
pub fn sign_flip_p(pairs: &Pairs, seed: u64) -> f64 {
    let Ok(logs) = pairs.log_ratios() else {
        return 1.0;
    };
    // Patterns that tie with the observed one count as extreme, whatever the order of summation rounded.
    let scale: f64 = logs.iter().map(|l| l.abs()).sum();
    let threshold = logs.iter().sum::<f64>().abs() - 1e-12 * scale;
    match logs.len() {
        0 => 1.0,
        n if n <= MAX_EXACT_PAIRS => {
            // A pattern and its complement are equally far from 0, so the last sign may stay as it is.
            let patterns = 1_u64 << (n - 1);
            (0..patterns).filter(|&signs| flipped_sum(&logs, signs).abs() >= threshold).count() as f64 / patterns as f64
        }
        _ => monte_carlo_p(&logs, threshold, seed),
    }
}

/// Sums the values, those with a set bit in `signs` negated.
fn flipped_sum(values: &[f64], signs: u64) -> f64 {
    values.iter().enumerate().map(|(i, v)| if signs >> (i % 64) & 1 == 1 { -v } else { *v }).sum()
}

/// Estimates the p of the sign-flip test by seeded draws of signs, with the +1 correction.
fn monte_carlo_p(logs: &[f64], threshold: f64, seed: u64) -> f64 {
    let tables: Vec<[f64; 256]> = logs.chunks(8).map(flipped_sums).collect();
    let mut rng = Rng::new(seed);
    let mut extreme = 0_u32;
    for _ in 0..DRAWS {
        let sum: f64 = tables.chunks(8).map(|tables| draw_sum(rng.next_u64(), tables)).sum();
        extreme += u32::from(sum.abs() >= threshold);
    }
    f64::from(extreme + 1) / f64::from(DRAWS + 1)
}

/// Sums up to 64 values under one pattern of signs, from tables of eight values each.
fn draw_sum(signs: u64, tables: &[[f64; 256]]) -> f64 {
    signs.to_le_bytes().iter().zip(tables).map(|(signs, sums)| sums[usize::from(*signs)]).sum()
}

/// Sums at most eight values under every pattern of signs, so that a draw looks eight of them up at once.
fn flipped_sums(values: &[f64]) -> [f64; 256] {
    std::array::from_fn(|signs| flipped_sum(values, signs as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::{pairs_of_logs, sample};
    use crate::sample::{Sample, pair_by_round};
    use proptest::prelude::*;

    /// Extra sleep by ten patients (Student 1908; R data set `sleep`), second drug less first.
    pub(crate) const SLEEP: [f64; 10] = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];

    fn close(got: f64, want: f64, relative: f64) {
        assert!((got - want).abs() <= relative * want.abs(), "got {got:e}, want {want:e}");
    }

    /// R: `t.test(extra ~ group, data = sleep, paired = TRUE)` prints 0.7001142 2.4598858, p 0.002833; more digits from
    /// scipy 1.17.1 `ttest_rel(...)`, `.confidence_interval(.95)`. Taken as log ratios, so the ends are exponentials.
    #[test]
    fn paired_t_agrees_with_r_on_the_sleep_data() {
        let got = paired_ratio(&pairs_of_logs(&SLEEP), 0.95).unwrap();
        close(got.ratio.ln(), 1.58, 1e-12);
        close(got.lo.ln(), 0.7001142367230175, 1e-9);
        close(got.hi.ln(), 2.459885763276983, 1e-9);
        close(got.log_sd, 1.2299954832798732, 1e-12);
        close(got.p_t, 0.002832890197384273, 1e-10);
        assert_eq!((got.pairs, got.level), (10, 0.95));
    }

    #[test]
    fn no_variance_is_no_nan() {
        let a = sample(&[3.0, 4.0, 5.0]);
        let same = paired_ratio(&pair_by_round(&a, &a), 0.95).unwrap();
        assert_eq!((same.ratio, same.lo, same.hi, same.log_sd, same.p_t), (1.0, 1.0, 1.0, 0.0, 1.0));
        let tenth = sample(&[3.3, 4.4, 5.5]);
        let more = paired_ratio(&pair_by_round(&a, &tenth), 0.95).unwrap();
        assert!((more.ratio - 1.1).abs() < 1e-12 && more.lo == more.hi && more.p_t == 0.0, "{more:?}");
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let ones = sample(&[1.0, 1.0]);
        fn ratio(a: &Sample, b: &Sample, level: f64) -> Result<PairedRatio, NotComparable> {
            paired_ratio(&pair_by_round(a, b), level)
        }
        assert_eq!(ratio(&ones, &sample(&[2.0]), 0.95), Err(NotComparable::TooFew { n: 1 }));
        assert_eq!(ratio(&ones, &sample(&[2.0, 0.0]), 0.95), Err(NotComparable::NotPositive { round: 1 }));
        assert!(NotComparable::NotPositive { round: 1 }.to_string().starts_with("round 2 holds"));
        assert_eq!(ratio(&ones, &ones, 1.0), Err(NotComparable::BadLevel(1.0)));
        assert!(matches!(ratio(&ones, &ones, f64::NAN), Err(NotComparable::BadLevel(_))));
    }

    /// Darwin's maize (Fisher 1935, section 21): 863 of 32,768 patterns reach the observed sum on one side, so the
    /// two-sided p is 1726 / 32768. Heights are taken as log ratios in thousandths.
    #[test]
    fn sign_flip_reproduces_fisher() {
        let eighths = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];
        let logs = eighths.map(|e| f64::from(e) / 1000.0);
        assert_eq!(sign_flip_p(&pairs_of_logs(&logs), 0), 1726.0 / 32768.0);
    }

    /// scipy 1.17.1: `permutation_test((d,), np.mean, permutation_type='samples', n_resamples=2**20)`, exact for both.
    #[test]
    fn sign_flip_agrees_with_scipy() {
        assert_eq!(sign_flip_p(&pairs_of_logs(&SLEEP), 0), 0.00390625);
        let twenty = [
            0.031, -0.012, 0.044, 0.008, -0.021, 0.015, 0.027, -0.006, 0.019, 0.038, -0.017, 0.022, 0.011, -0.009,
            0.035, 0.002, 0.029, -0.014, 0.018, 0.007,
        ];
        let pairs = pairs_of_logs(&twenty);
        let got = sign_flip_p(&pairs, 7);
        // Four standard errors of 20,000 draws.
        assert!((got - 0.020481109619140625).abs() < 0.004, "{got}");
        assert_eq!(got, sign_flip_p(&pairs, 7));
        assert_ne!(got, sign_flip_p(&pairs, 8));
    }

    #[test]
    fn sign_flip_has_its_floor() {
        assert_eq!(sign_flip_p(&pairs_of_logs(&[0.1; 6]), 0), 2.0 / 64.0);
        assert_eq!(sign_flip_p(&pairs_of_logs(&[0.1; 100]), 0), 1.0 / 20_001.0);
        assert_eq!(sign_flip_p(&pairs_of_logs(&[0.0; 6]), 0), 1.0);
        assert_eq!(sign_flip_p(&pairs_of_logs(&[]), 0), 1.0);
        assert_eq!(sign_flip_p(&pair_by_round(&sample(&[1.0, -1.0]), &sample(&[1.0, 1.0])), 0), 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn swapping_sides_inverts_and_units_cancel(
            values in prop::collection::vec((1.0..100.0_f64, 1.0..100.0_f64), 3..12), unit in 1e-6..1e6_f64,
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
            let in_unit = |side: &[f64]| sample(&side.iter().map(|value| unit * value).collect::<Vec<_>>());
            let scaled = paired_ratio(&pair_by_round(&in_unit(&a), &in_unit(&b)), 0.95).unwrap();
            let (a, b) = (sample(&a), sample(&b));
            let forth = paired_ratio(&pair_by_round(&a, &b), 0.95).unwrap();
            let back = paired_ratio(&pair_by_round(&b, &a), 0.95).unwrap();
            fn near(x: f64, y: f64) -> bool {
            (x / y - 1.0).abs() < 1e-8
            }
            prop_assert!(near(forth.ratio, 1.0 / back.ratio) && near(forth.lo, 1.0 / back.hi));
            prop_assert!(near(forth.ratio, scaled.ratio) && near(forth.hi, scaled.hi));
            prop_assert!(forth.lo <= forth.ratio && forth.ratio <= forth.hi);
            prop_assert_eq!(forth.p_t <= 0.05, forth.lo > 1.0 || forth.hi < 1.0);
            prop_assert!((sign_flip_p(&pair_by_round(&a, &b), 0) - sign_flip_p(&pair_by_round(&b, &a), 0)).abs() < 1e-12);
        }
    }
}
