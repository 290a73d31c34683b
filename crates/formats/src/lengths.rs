//! How long runs were to take. A long run meets checkpoints and full caches that a short one does not: they are no repetitions.

use std::collections::BTreeMap;

use model::Value;

use crate::{Imported, ImportedResult};

/// The key of results of one case that were to take different times.
const DURATION: &str = "duration";
/// From this ratio on the longest and the shortest run are of different cases.
const UNLIKE: f64 = 1.5;
/// Tools that end by the clock end at a multiple of this many seconds, as their users choose it.
const STEP_S: f64 = 5.0;
/// How far from it the time that they measure is at most.
const OFF: f64 = 0.005;

/// Makes a key of the times that runs of one case of a system were to take, where they are unlike.
pub(crate) fn tell_lengths_apart(imports: &mut [Imported]) {
    let mut by_case: BTreeMap<String, Option<(f64, f64)>> = BTreeMap::new();
    for result in imports.iter().flat_map(|import| &import.results).filter(|result| result.dropped.is_none()) {
        let asked = asked_s(result);
        by_case
            .entry(result.case_of_system())
            .and_modify(|known| *known = known.zip(asked).map(|((low, high), s)| (low.min(s), high.max(s))))
            .or_insert(asked.map(|s| (s, s)));
    }
    by_case.retain(|_, range| range.is_some_and(|(low, high)| high > UNLIKE * low));
    for import in imports {
        let mut is_any = false;
        for result in import.results.iter_mut().filter(|result| by_case.contains_key(&result.case_of_system())) {
            if let Some(asked) = asked_s(result) {
                result.keys.insert(DURATION.to_owned(), Value::Text(format!("{asked} s")));
                is_any = true;
            }
        }
        if is_any {
            import.notes.push(format!("runs of one case were to take different times: they are the key `{DURATION}`"));
        }
    }
}

/// Gives the time that a run was to take in seconds; `None` where its work ended it, as the time shows.
fn asked_s(result: &ImportedResult) -> Option<f64> {
    let took = result.elapsed_s.filter(|took| *took >= 1.0)?;
    let step = if took.fract() == 0.0 { 1.0 } else { STEP_S };
    let asked = (took / step).round() * step;
    ((took - asked).abs() <= OFF * asked).then_some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(took: &[f64]) -> Vec<Option<String>> {
        let mut import = Imported::new("pgbench", "f", []);
        import.results.extend(
            took.iter().map(|took| ImportedResult { elapsed_s: Some(*took), ..ImportedResult::new("a", "tpcb") }),
        );
        let mut imports = [import];
        tell_lengths_apart(&mut imports);
        imports[0].results.iter().map(|result| result.keys.get(DURATION).map(ToString::to_string)).collect()
    }

    #[test]
    fn short_and_long_runs_are_different_cases() {
        let all = |found: [&str; 3]| found.map(|duration| Some(duration.to_owned())).to_vec();
        assert_eq!(durations(&[60.0, 600.0, 60.0]), all(["60 s", "600 s", "60 s"]));
        assert_eq!(durations(&[60.02, 300.04, 60.11]), all(["60 s", "300 s", "60 s"]));
        assert_eq!(durations(&[60.0, 61.0, 60.0]), [None, None, None]);
        assert_eq!(durations(&[31.2, 77.7, 40.01]), [None, None, None], "their work ended them");
    }
}
