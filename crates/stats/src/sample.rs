use crate::moments::mean;
use crate::paired::NotComparable;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunValue {
    /// The round in which the run ran; runs of one round shared the same stretch of time.
    pub round: u32,
    pub value: f64,
}

/// One value per run, in the order the runs ran.
///
/// The run is the unit of replication (Kalibera & Jones, ISMM 2013). There is no constructor from requests or
/// seconds on purpose: those are correlated within their run, and testing them makes every noise significant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    runs: Vec<RunValue>,
    values: Vec<f64>,
}

impl Sample {
    /// Collects runs, keeping their order; values that are infinite or NaN are left out.
    /// A run without a figure is a failed run, not a data point.
    pub fn from_runs(runs: impl IntoIterator<Item = RunValue>) -> Sample {
        let mut sample = Sample::default();
        for run in runs {
            if run.value.is_finite() {
                sample.runs.push(run);
                sample.values.push(run.value);
            }
        }
        sample
    }

    /// Number of runs.
    pub fn n(&self) -> usize {
        self.runs.len()
    }

    /// The values in run order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values with their rounds.
    pub fn runs(&self) -> &[RunValue] {
        &self.runs
    }

    /// Makes a sample with one value for each round: the geometric mean of those that share it.
    pub fn pool_rounds(&self) -> Sample {
        Sample::from_runs(self.list_round_values().into_iter().map(|(round, value)| RunValue { round, value }))
    }

    /// Lists the rounds in ascending order, each with the one value that stands for it.
    fn list_round_values(&self) -> Vec<(u32, f64)> {
        let mut runs = self.runs.clone();
        runs.sort_by_key(|t| t.round);
        runs.chunk_by(|x, y| x.round == y.round).map(|round| (round[0].round, pooled_value(round))).collect()
    }
}

/// Gives the one value of a round that holds several runs of one case: their geometric mean.
/// Comparisons are made of logarithms. Where a value has no logarithm the smallest is kept, so that the ratio is
/// refused, not patched up.
fn pooled_value(round: &[RunValue]) -> f64 {
    match round {
        [only] => only.value,
        _ if round.iter().all(|t| t.value > 0.0) => mean(&round.iter().map(|t| t.value.ln()).collect::<Vec<_>>()).exp(),
        _ => round.iter().map(|t| t.value).fold(f64::INFINITY, f64::min),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub round: u32,
    /// Side A, the baseline.
    pub a: f64,
    /// Side B, the candidate.
    pub b: f64,
}

impl Pair {
    /// Computes ln(B / A); fails if a value is not positive.
    fn log_ratio(&self) -> Result<f64, NotComparable> {
        if self.a > 0.0 && self.b > 0.0 {
            Ok(self.b.ln() - self.a.ln())
        } else {
            Err(NotComparable::NotPositive { round: self.round })
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pairs {
    /// The rounds that both sides have, in ascending order.
    pairs: Vec<Pair>,
    unpaired_a: usize,
    unpaired_b: usize,
}

impl Pairs {
    /// Number of pairs.
    pub fn n(&self) -> usize {
        self.pairs.len()
    }

    /// Each side's values of the rounds that both have.
    pub fn sides(&self) -> [Sample; 2] {
        [self.side_sample(|pair| pair.a), self.side_sample(|pair| pair.b)]
    }

    /// One side's values of the rounds that both have.
    fn side_sample(&self, value: fn(&Pair) -> f64) -> Sample {
        Sample::from_runs(self.pairs.iter().map(|pair| RunValue { round: pair.round, value: value(pair) }))
    }

    /// Number of rounds that only side A has; they take no part in a paired comparison.
    pub fn unpaired_a(&self) -> usize {
        self.unpaired_a
    }

    /// Number of rounds that only side B has.
    pub fn unpaired_b(&self) -> usize {
        self.unpaired_b
    }

    /// Computes ln(B / A) of each round.
    ///
    /// # Errors
    /// [`NotComparable::NotPositive`] names the first round in which a value is zero or negative.
    pub fn log_ratios(&self) -> Result<Vec<f64>, NotComparable> {
        self.pairs.iter().map(Pair::log_ratio).collect()
    }
}

/// Matches two samples by round.
/// Rounds present on one side only are counted as unpaired; several runs of one side in one round count as one value,
/// their geometric mean, because their shared round makes them no further replicates.
pub fn pair_by_round(a: &Sample, b: &Sample) -> Pairs {
    let (side_a, side_b) = (a.list_round_values(), b.list_round_values());
    let mut pairs = Vec::new();
    let mut rest = side_b.as_slice();
    for &(round, value_a) in &side_a {
        let earlier = rest.partition_point(|(other, _)| *other < round);
        rest = &rest[earlier..];
        if let Some(&(other, value_b)) = rest.first()
            && other == round
        {
            pairs.push(Pair { round, a: value_a, b: value_b });
        }
    }
    Pairs { unpaired_a: side_a.len() - pairs.len(), unpaired_b: side_b.len() - pairs.len(), pairs }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A sample whose rounds are 0, 1, 2...
    pub(crate) fn sample(values: &[f64]) -> Sample {
        Sample::from_runs((0..).zip(values).map(|(round, &value)| RunValue { round, value }))
    }

    fn sample_of(runs: &[(u32, f64)]) -> Sample {
        Sample::from_runs(runs.iter().map(|&(round, value)| RunValue { round, value }))
    }

    /// Pairs whose log ratios are the given numbers.
    pub(crate) fn pairs_of_logs(logs: &[f64]) -> Pairs {
        pair_by_round(&sample(&vec![1.0; logs.len()]), &sample(&logs.iter().map(|l| l.exp()).collect::<Vec<_>>()))
    }

    #[test]
    fn rounds_meet_and_the_rest_is_counted() {
        let a = sample_of(&[(3, 30.0), (1, 10.0), (2, 20.0), (9, f64::NAN)]);
        let b = sample_of(&[(2, 8.0), (2, 2.0), (4, 1.0), (3, 15.0), (0, 7.0)]);
        assert_eq!((a.n(), a.values()), (3, &[30.0, 10.0, 20.0][..]));
        let pairs = pair_by_round(&a, &b);
        assert_eq!((pairs.n(), pairs.unpaired_a(), pairs.unpaired_b()), (2, 1, 2));
        assert_eq!(pairs.pairs[0].round, 2);
        assert!((pairs.pairs[0].b - 4.0).abs() < 1e-12, "geometric mean of 8 and 2");
        assert_eq!(pairs.pairs[1], Pair { round: 3, a: 30.0, b: 15.0 });
        let rounds: Vec<u32> = b.pool_rounds().runs().iter().map(|run| run.round).collect();
        assert_eq!((rounds, b.pool_rounds().n()), (vec![0, 2, 3, 4], 4));
    }

    #[test]
    fn a_zero_is_not_hidden_by_pooling() {
        let pairs = pair_by_round(&sample_of(&[(5, 4.0), (5, 0.0)]), &sample_of(&[(5, 4.0)]));
        assert_eq!(pairs.log_ratios(), Err(NotComparable::NotPositive { round: 5 }));
    }

    proptest! {
        #[test]
        fn every_round_is_paired_or_counted(
            a in prop::collection::vec((0_u32..20, 1.0..2.0_f64), 0..30),
            b in prop::collection::vec((0_u32..20, 1.0..2.0_f64), 0..30),
        ) {
            let [rounds_a, rounds_b] = [&a, &b].map(|side| side.iter().map(|run| run.0).collect::<BTreeSet<u32>>());
            let pairs = pair_by_round(&sample_of(&a), &sample_of(&b));
            prop_assert_eq!(pairs.n(), rounds_a.intersection(&rounds_b).count());
            prop_assert_eq!(pairs.n() + pairs.unpaired_a(), rounds_a.len());
            prop_assert_eq!(pairs.n() + pairs.unpaired_b(), rounds_b.len());
        }
    }
}
