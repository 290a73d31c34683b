//! Marks of unsteady runs, adjusted for the number of runs.

use std::collections::BTreeMap;

use model::metric::{DRIFT_P, LEVELS_P};
use model::{Mark, MarkKind};
use store::StoredMeasurement;

/// Acceptable share of false marks.
const ERROR: f64 = 0.05;

/// Drops marks of unsteady runs that tests adjusted by Benjamini and Hochberg do not support.
/// Runs without tests, of older stores, keep theirs.
pub fn drop_unconfirmed_marks(measurements: &[StoredMeasurement], marks: &mut Vec<(i64, Mark)>) {
    let tests: Vec<(i64, f64)> = measurements
        .iter()
        .filter(|stored| [DRIFT_P, LEVELS_P].contains(&stored.measurement.metric.id.as_str()))
        .filter_map(|stored| Some((stored.run_id, stored.measurement.reading.value()?)))
        .collect();
    let p: Vec<f64> = tests.iter().map(|(_, p)| *p).collect();
    let mut believed: BTreeMap<i64, bool> = BTreeMap::new();
    for ((run, _), adjusted) in tests.iter().zip(stats::benjamini_hochberg(&p)) {
        *believed.entry(*run).or_default() |= adjusted <= ERROR;
    }
    marks.retain(|(run, mark)| mark.kind != MarkKind::NotSteady || believed.get(run).is_none_or(|is| *is));
}

#[cfg(test)]
mod tests {
    use model::{Direction, Measurement, Role};

    use super::*;

    fn test(run_id: i64, id: &str, p: f64) -> StoredMeasurement {
        let measurement = Measurement::value(id, "", Direction::Neither, Role::Diagnostic, p);
        StoredMeasurement { run_id, round: 0, case: 0, position: 0, measurement }
    }

    fn marked(runs: &[i64], kind: MarkKind) -> Vec<(i64, Mark)> {
        runs.iter().map(|run| (*run, Mark::new(kind, String::new()))).collect()
    }

    /// Still marked, of a hundred tested runs.
    fn left(moved: &[(i64, f64)]) -> Vec<i64> {
        let still = (0..100).filter(|run| moved.iter().all(|(other, _)| other != run));
        let still = still.map(|run| test(run, DRIFT_P, 0.02 + 0.9 * run as f64 / 100.0));
        let tests: Vec<_> = still.chain(moved.iter().map(|(run, p)| test(*run, LEVELS_P, *p))).collect();
        let mut marks = marked(&moved.iter().map(|(run, _)| *run).collect::<Vec<_>>(), MarkKind::NotSteady);
        drop_unconfirmed_marks(&tests, &mut marks);
        marks.into_iter().map(|(run, _)| run).collect()
    }

    #[test]
    fn one_that_moves_by_chance_among_a_hundred_is_not_marked() {
        assert_eq!(left(&[(7, 0.008)]), [0_i64; 0], "one in a hundred has such a p");
        assert_eq!(left(&[(7, 0.000_1), (8, 0.008)]), [7]);
        let many: Vec<(i64, f64)> = (0..40).map(|run| (run, 0.008)).collect();
        assert_eq!(left(&many).len(), 40, "so many are no chance");
    }

    #[test]
    fn what_is_no_test_of_it_is_left_alone() {
        let tests = [test(1, DRIFT_P, 0.9), test(1, LEVELS_P, 0.9)];
        let mut marks = [marked(&[1, 2], MarkKind::NotSteady), marked(&[1], MarkKind::WarmUpTooShort)].concat();
        drop_unconfirmed_marks(&tests, &mut marks);
        let left: Vec<(i64, MarkKind)> = marks.iter().map(|(run, mark)| (*run, mark.kind)).collect();
        assert_eq!(left, [(2, MarkKind::NotSteady), (1, MarkKind::WarmUpTooShort)], "an older run tells no test");
    }
}
