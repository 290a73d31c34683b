//! Clocks that tick in steps the reader should know about.

use crate::moments::{mean, median, sorted, tie_sizes};
use std::f64::consts::{E, TAU};

/// The finest step that is looked for, as a share of the median: finer ones would turn rounding to three digits, as
/// histograms do, into a finding.
const FINEST_SHARE: f64 = 3e-3;

/// Values used in the search; verification uses up to [`MAX_VERIFIED`].
const MAX_SEARCHED: usize = 64;

/// Values used to verify a step.
const MAX_VERIFIED: usize = 1_000;

/// Values longer than this many medians are left out of the search: candidates grow with the longest value.
const LONGEST_SHARE: f64 = 16.0;

/// Mean distance from a lattice point, as a share of the step, that rounding and a drifting tick may cause. Continuous
/// values are 0.25 away.
const MAX_MISFIT: f64 = 0.1;

/// Evidence asked for, in bits: at most about one false finding in a thousand continuous data sets.
const MIN_EVIDENCE: f64 = 10.0;

/// Finds the step of the clock behind a list of durations, in their unit: 15.6 for a Windows timer in ms.
/// `None` for continuous values, for steps under three thousandths of the median, and for too few values to decide.
///
/// Durations taken with a clock of step s are whole multiples of s, up to rounding and tick jitter. The candidates are
/// the frequencies 1/s of a periodogram, coarse steps first; the characteristic function of multiples of s returns to 1
/// there (Widrow & Kollár, "Quantization Noise", 2008, ch. 4). A peak is refined by least squares and then has to stand
/// a test that one narrow heap of values cannot pass: each *occupied multiple* gives evidence by how near to it its
/// values lie, less what the number of candidates tried would give by chance.
pub fn clock_step(values: &[f64]) -> Option<f64> {
    let positive: Vec<f64> = values.iter().copied().filter(|v| v.is_finite() && *v > 0.0).collect();
    let ordered = sorted(&positive);
    if ordered.is_empty() {
        return None;
    }
    // A tail of long waits has drifted off the lattice by its own jitter and would only blur it.
    let shorter = &ordered[..ordered.len() - ordered.len() / 10];
    let middle = median(shorter);
    let shorter = &shorter[..shorter.partition_point(|value| *value <= LONGEST_SHARE * middle)];
    let longest = *shorter.last()?;
    let searched = thin_out(shorter, MAX_SEARCHED);
    let verified = thin_out(shorter, MAX_VERIFIED);
    // A quarter of the period of the fastest wave: no peak falls between two candidates.
    let grid = 0.25 / longest;
    // At most 1,333 times `LONGEST_SHARE`.
    let candidates = (1.0 / (FINEST_SHARE * middle * grid)) as usize;
    // Half of the values are below a step of twice the median: they are no multiples of it.
    let first = (0.5 / (middle * grid)) as usize;
    let judged = |tried: usize| {
        let step = refine_step(&verified, 1.0 / (tried as f64 * grid));
        (step, evidence_bits(&verified, step) - (tried as f64).log2())
    };
    let coarsest = (first.max(2)..=candidates)
        .filter(|&tried| returns_to_one(&searched, tried as f64 * grid))
        .find(|&tried| judged(tried).1 >= MIN_EVIDENCE)?;
    // The flank of a peak can pass before its top does; no fraction of the step is this near.
    let peak = (coarsest..=coarsest + coarsest / 8 + 4).map(judged);
    peak.max_by(|x, y| x.1.total_cmp(&y.1)).map(|(step, _)| step)
}

/// Whether more than half of the values are the same, or at most two different ones are there.
/// Nothing shows then how they would vary.
pub fn hardly_varies(values: &[f64]) -> bool {
    let ordered = sorted(values);
    let sizes = tie_sizes(&ordered);
    sizes.len() <= 2 || 2 * sizes.into_iter().max().unwrap_or(0) > values.len()
}

/// Finds the coarsest step of which all values are multiples, as ticks of a clock are.
/// It is their greatest common divisor, up to a millionth of the largest.
pub fn common_step(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.into_iter().map(f64::abs).filter(|value| value.is_finite() && *value > 0.0).collect();
    let finest = 1e-6 * all.iter().copied().fold(0.0, f64::max);
    all.into_iter().reduce(|mut a, mut b| {
        while b > finest {
            (a, b) = (b, (a - (a / b).round() * b).abs());
        }
        a
    })
}

/// Finds the step that printed values of two sides may be rounded to; `None` where both vary.
/// It is of the sides that [hardly vary](hardly_varies): one of the last digit that any value of that side has, or its
/// own smallest distance where more than two distances show a grid, whichever is larger; what the other side has finer
/// is of another clock. Values that are equal, or differ by one distance, show no grid. show no grid. `None` where both
/// vary.
pub fn rounding_step(a: &[f64], b: &[f64]) -> Option<f64> {
    [a, b].into_iter().filter(|side| hardly_varies(side)).filter_map(step_of_side).reduce(f64::max)
}

/// Finds the step of one side's values: one in their finest last digit, or their smallest distance if larger.
fn step_of_side(side: &[f64]) -> Option<f64> {
    let digit = side.iter().copied().map(printed_digit).reduce(f64::min);
    [smallest_step(side), digit].into_iter().flatten().reduce(f64::max)
}

/// Finds the smallest distance between two different values; `None` up to three different ones.
fn smallest_step(side: &[f64]) -> Option<f64> {
    let mut ordered = sorted(side);
    ordered.dedup();
    let gaps = ordered.windows(2).map(|pair| pair[1] - pair[0]);
    if ordered.len() > 3 { gaps.reduce(f64::min) } else { None }
}

/// Gives the worth of one in the last digit that a value was printed with.
/// A number with two digits before its point was printed with both, even if they end in zero.
fn printed_digit(value: f64) -> f64 {
    let second = 10_f64.powi(value.abs().log10().floor().clamp(0.0, 300.0) as i32 - 1);
    last_digit(value).min(second.max(1.0))
}

/// Gives the worth of one in the last digit that is not zero: 10 of 12 480, 0.01 of 1.25.
fn last_digit(value: f64) -> f64 {
    // Twelve digits: what a change of unit does to the sixteenth was not printed.
    let printed = format!("{value:.11e}");
    let (digits, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let decimals = digits.trim_end_matches('0').split_once('.').map_or(0, |(_, decimals)| decimals.len());
    10_f64.powi(exponent.parse::<i32>().unwrap_or_default() - decimals as i32)
}

/// Thins the values out to `count` at most, evenly by rank.
fn thin_out(ordered: &[f64], count: usize) -> Vec<f64> {
    let stride = ordered.len().div_ceil(count).max(1);
    ordered.iter().copied().step_by(stride).collect()
}

/// Whether most values complete whole turns at this frequency.
/// The bar is low because a candidate half a grid cell off turns the longest value by an eighth.
fn returns_to_one(values: &[f64], frequency: f64) -> bool {
    let bar = 0.5 * values.len() as f64;
    // Most frequencies are far from it, and thousands are tried for each list: a rough cosine recognises these.
    let rough: f64 = values.iter().map(|v| rough_cosine(v * frequency)).sum();
    if rough < bar - ROUGHNESS * values.len() as f64 {
        return false;
    }
    let sum: f64 = values.iter().map(|v| (TAU * v * frequency).cos()).sum();
    sum > bar
}

/// No rough cosine is further from the true one.
const ROUGHNESS: f64 = 0.005;

/// Approximates the cosine of a number of turns, which is not negative, by the beginning of its power series.
fn rough_cosine(turns: f64) -> f64 {
    let part = turns - (turns + 0.5) as u64 as f64;
    let square = part * part;
    let terms = [1.0, -19.739_209, 64.939_394, -85.456_817, 60.244_641, -26.426_257];
    terms.into_iter().rev().reduce(|sum, term| sum * square + term).unwrap_or_default()
}

/// Fits the step near `start` of which the values are nearest to multiples, by least squares.
/// Repeated as the multiples settle.
fn refine_step(values: &[f64], start: f64) -> f64 {
    let mut step = start;
    for _ in 0..4 {
        let (products, squares) = values.iter().fold((0.0, 0.0), |(products, squares), v| {
            let multiple = (v / step).round();
            (products + v * multiple, squares + multiple * multiple)
        });
        if squares > 0.0 {
            step = products / squares;
        }
    }
    step
}

/// Gives the bits of evidence for a step, before the discount for candidates tried.
/// If the m occupied multiples had misfits uniform in 0..0.5, their mean would stay below e with a chance of at most (2
/// m e)^m / m! < (2 e exp 1)^m. One multiple is not counted, since the step was fitted.
fn evidence_bits(ordered: &[f64], step: f64) -> f64 {
    // Below a ten-thousandth a misfit is a matter of printed digits.
    const FINEST_MISFIT: f64 = 1e-4;
    // The multiple that each is nearest to, and how far it is from it.
    let placed: Vec<(f64, f64)> =
        ordered.iter().map(|v| ((v / step).round(), (v / step - (v / step).round()).abs())).collect();
    let misfits: Vec<f64> = placed
        .chunk_by(|x, y| x.0 == y.0)
        .filter(|heap| heap[0].0 > 0.0)
        .map(|heap| mean(&heap.iter().map(|(_, misfit)| *misfit).collect::<Vec<_>>()))
        .collect();
    let misfit = mean(&misfits);
    if misfits.is_empty() || misfit > MAX_MISFIT {
        return 0.0;
    }
    -((misfits.len() - 1) as f64) * (2.0 * E * misfit.max(FINEST_MISFIT)).log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn ticks(step: f64, count: usize, from: usize, spread: usize, jitter: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| step * ((from + rng.draw_below(spread)) as f64 + jitter * (rng.next_f64() - 0.5))).collect()
    }

    #[test]
    fn a_rough_cosine_is_no_further_off_than_it_claims() {
        for turns in (0..20_000).map(|step| f64::from(step) * 0.01237) {
            let off = (rough_cosine(turns) - (TAU * turns).cos()).abs();
            assert!(off < ROUGHNESS, "{off} at {turns}");
        }
    }

    fn assert_step(values: &[f64], want: f64, relative: f64) {
        let got = clock_step(values);
        assert!(got.is_some_and(|s| (s / want - 1.0).abs() < relative), "want {want}, got {got:?}");
    }

    /// Task times in 100 ns units of a published PostgreSQL run on Windows (2016, C# client): the timer's 15.625 ms shows
    /// with a jitter of some hundred units (data set `postgresql-2016-select-update`, file details.0a1c8638).
    #[test]
    fn finds_the_windows_timer_in_published_times() {
        let times = [
            6249743.0, 7656244.0, 8281025.0, 7343469.0, 7499552.0, 12030989.0, 11562234.0, 8905992.0, 12499739.0,
            12187240.0, 11405992.0, 9843495.0, 8124734.0, 11718486.0, 10312243.0, 9999730.0, 9687235.0, 9530981.0,
            3750003.0, 2656275.0,
        ];
        assert_step(&times, 156_250.0, 1e-3);
    }

    #[test]
    fn finds_steps_through_rounding_and_jitter() {
        assert_step(&ticks(15.625, 4_000, 10, 60, 0.0, 1), 15.625, 1e-6);
        assert_step(&ticks(15.6001, 4_000, 0, 5, 0.02, 2), 15.6, 1e-3);
        assert_step(&ticks(15.625, 30, 50, 40, 0.05, 3), 15.625, 1e-3);
        assert_step(&ticks(1.0, 3_000, 1, 300, 0.0, 4), 1.0, 1e-6);
        let whole_ms: Vec<f64> = ticks(15.625, 500, 1, 50, 0.0, 5).iter().map(|v| v.round()).collect();
        assert_step(&whole_ms, 15.625, 1e-3);
        let mixed: Vec<f64> = [15.6, 15.625, 15.6001].iter().flat_map(|s| ticks(*s, 300, 1, 30, 0.0, 6)).collect();
        assert_step(&mixed, 15.61, 2e-3);
    }

    #[test]
    fn a_few_long_waits_do_not_hide_it() {
        let mut values = ticks(15.625, 950, 10, 60, 0.01, 7);
        values.extend(ticks(0.9137, 50, 2_000, 90_000, 1.0, 8));
        assert_step(&values, 15.625, 1e-3);
    }

    #[test]
    fn continuous_values_have_no_step() {
        let mut rng = Rng::new(9);
        for size in [2, 5, 10, 20, 50, 300, 3_000] {
            for round in 0..(if size > 300 { 3 } else { 20 }) {
                let uniform: Vec<f64> = (0..size).map(|_| 10.0 + 20.0 * rng.next_f64()).collect();
                assert_eq!(clock_step(&uniform), None, "uniform, {size} values, round {round}");
                let exponential: Vec<f64> = (0..size).map(|_| -5.0 * (1.0 - rng.next_f64()).ln()).collect();
                assert_eq!(clock_step(&exponential), None, "exponential, {size} values, round {round}");
                let digits: Vec<f64> = uniform.iter().map(|v| (v * 1e4).round() / 1e4).collect();
                assert_eq!(clock_step(&digits), None, "four decimals, {size} values, round {round}");
                let narrow: Vec<f64> = uniform.iter().map(|v| 1_000.0 + 0.5 * v).collect();
                assert_eq!(clock_step(&narrow), None, "narrow, {size} values, round {round}");
            }
        }
    }

    /// Times are bounded by comparing with an ordinary list: a clock of this machine would only add its own noise.
    #[test]
    fn extreme_values_take_no_longer_than_others() {
        let mut rng = Rng::new(12);
        let ordinary: Vec<f64> = (0..2_000).map(|_| -5.0 * (1.0 - rng.next_f64()).ln()).collect();
        // A busy machine makes one of three look long, seldom all.
        fn time(values: &[f64]) -> f64 {
            let times = (0..3).map(|_| {
                let start = std::time::Instant::now();
                clock_step(values);
                start.elapsed().as_secs_f64()
            });
            times.fold(f64::INFINITY, f64::min)
        }
        let usual = time(&ordinary).max(0.02);
        let spread: Vec<f64> = (0..2_000).map(|_| 10_f64.powf(18.0 * rng.next_f64() - 9.0)).collect();
        let clusters: Vec<f64> =
            (0..2_000).map(|i| if i % 2 == 0 { 1.0 } else { 15.9 } + 1e-9 * rng.next_f64()).collect();
        let ends = [1e-9, 1e9, 1e9];
        for values in [&ends[..], &[1e-9, 1e9], &[f64::MIN_POSITIVE, f64::MAX], &spread, &clusters] {
            assert!(time(values) < 50.0 * usual, "{:?} took {} s", &values[..2], time(values));
        }
    }

    #[test]
    fn what_does_not_vary_is_rounded_to_its_gap_or_its_last_digit() {
        assert_eq!(rounding_step(&[12.0; 8], &[13.0; 8]), Some(1.0));
        assert_eq!(rounding_step(&[12.0; 8], &[12.0; 8]), Some(1.0));
        assert_eq!(rounding_step(&[12_480.0; 8], &[12_480.0; 8]), Some(10.0));
        assert_eq!(rounding_step(&[12.0, 13.0, 12.0], &[13.0, 14.0, 15.5]), Some(1.0));
        #[track_caller]
        fn close(step: Option<f64>, to: f64) {
            assert!((step.unwrap() / to - 1.0).abs() < 1e-9, "{step:?}");
        }
        close(rounding_step(&[11.04; 8], &[11.24; 8]), 0.01);
        // Equal values, or two, are no grid.
        close(rounding_step(&[31.94; 6], &[64.28; 6]), 0.01);
        close(rounding_step(&[10.4, 66.8], &[66.8, 10.4]), 0.1);
        assert_eq!(rounding_step(&[30.0; 6], &[40.0; 6]), Some(1.0));
        let bucket = rounding_step(&[[1.0; 9].as_slice(), &[3.0, 5.0, 7.0]].concat(), &[1.0, 2.5, 3.7]);
        assert_eq!(bucket, Some(2.0));
        close(rounding_step(&[1.25; 8], &[1.25; 8]), 0.01);
        close(rounding_step(&[1.25 * 1000.0; 8], &[]), 10.0);
        let [twelves, thirteens] = [vec![12.0; 28], vec![13.0; 28]];
        let (a, b) = ([&twelves[..], &[13.0, 14.0]].concat(), [&thirteens[..], &[12.0, 14.0]].concat());
        assert_eq!(rounding_step(&a, &b), Some(1.0));
        // A fine side says nothing about a coarse one.
        assert_eq!(rounding_step(&[1.0; 8], &[1.45, 1.47, 1.43, 1.46, 1.44, 1.48, 1.42, 1.49]), Some(1.0));
        assert_eq!(rounding_step(&[12.42, 12.43, 12.45, 12.49], &[12.0; 4]), Some(1.0));
        assert_eq!(rounding_step(&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0], &[1.45, 1.47, 1.43, 1.46]), Some(1.0));
        assert_eq!(rounding_step(&[1.0; 8], &[1.45; 8]), Some(1.0));
        assert_eq!(rounding_step(&[1.0, 2.0, 3.5], &[1.1, 2.2, 3.3]), None);
        assert_eq!(rounding_step(&[], &[]), None);
    }

    #[test]
    fn ticks_are_the_step_that_all_values_share() {
        assert_eq!(common_step([30.0, 60.0, 0.0]), Some(30.0));
        assert_eq!(common_step([31.0, 64.0]), Some(1.0));
        let step = common_step([0.03, 0.05, 0.07]).unwrap();
        assert!((step - 0.01).abs() < 1e-9, "{step}");
        assert!(common_step([1.234_567, 2.345_678_9]).unwrap() < 1e-3);
        assert_eq!(common_step([0.0, f64::NAN]), None);
    }

    #[test]
    fn one_heap_or_two_are_no_lattice() {
        assert_eq!(clock_step(&[5.0; 40]), None);
        assert_eq!(clock_step(&[]), None);
        assert_eq!(clock_step(&[0.0, -1.0, f64::NAN]), None);
        let heaps: Vec<f64> =
            ticks(1.0, 50, 100, 1, 0.5, 10).into_iter().chain(ticks(1.0, 50, 150, 1, 0.5, 11)).collect();
        assert_eq!(clock_step(&heaps), None);
    }
}
