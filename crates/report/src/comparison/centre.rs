//! The figures under A and B: of the same runs as the ratio next to them, so that a reader who divides one by the other
//! gets it.

use model::{Metric, Quantity};
use stats::{Estimator, RunValue, Sample};

use super::judging::half_width_of;
use super::matching::Matched;
use super::options::Pairing;
use super::row::{ChangePoint, Estimate, Scale, Side, stats_direction};
use super::set::Rules;

/// Fills in both sides' figures of the compared runs, and returns B / A, or the exponential of B - A of two shares.
/// `None` without a figure of each side, or if one is not positive.
pub fn fill_compared_figures(
    matched: &Matched,
    metric: &Metric,
    rules: &Rules,
    sides: [&mut Side; 2],
) -> Option<ChangePoint> {
    let is_share = metric.quantity() == Quantity::Failures;
    let samples = match rules.pairing {
        Pairing::Paired => stats::pair_by_round(&matched.a, &matched.b).sides(),
        Pairing::Unpaired => [matched.a.clone(), matched.b.clone()],
    };
    let direction = stats_direction(metric.direction);
    let mut found = [None; 2];
    for ((side, sample), found) in sides.into_iter().zip(&samples).zip(&mut found) {
        let own = if is_share { as_shares(sample) } else { sample.clone() };
        let estimator =
            if is_share && rules.estimator == Estimator::Geometric { Estimator::Mean } else { rules.estimator };
        *found = estimator.apply(&own, direction);
        // Without a round in common a side shows what it has.
        side.estimate = found.or(side.estimate);
        side.half_width = match found {
            Some(_) => {
                if rules.unjudgeable_yet().is_none() && side.bound.is_none() {
                    half_width_of(metric, &own, rules.level)
                } else {
                    None
                }
            }
            None => side.half_width,
        };
    }
    let [Some(a), Some(b)] = found else { return None };
    let rounds = u32::try_from(samples[0].n().min(samples[1].n())).unwrap_or(u32::MAX);
    let (scale, ratio) = if is_share { (Scale::Points, ((b - a) / 100.0).exp()) } else { (Scale::Ratio, b / a) };
    (is_share || a > 0.0 && b > 0.0).then_some(ChangePoint { scale, ratio, rounds })
}

/// Replaces the change's ratio by the estimate's, if both are geometric means: another order of adding may round otherwise.
pub fn exact_change(change: Option<ChangePoint>, estimate: Option<&Estimate>, rules: &Rules) -> Option<ChangePoint> {
    let mut change = change?;
    if rules.estimator == Estimator::Geometric
        && let Some(estimate) = estimate
    {
        change.ratio = estimate.ratio;
    }
    Some(change)
}

/// Converts exponentials back to shares in percent: undoes [`super::failures::as_exponentials`].
fn as_shares(exponentials: &Sample) -> Sample {
    Sample::from_runs(
        exponentials.runs().iter().map(|run| RunValue { round: run.round, value: run.value.ln() * 100.0 }),
    )
}
