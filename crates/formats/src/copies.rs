//! Copies of runs: the same figures once more.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::Reading;

use crate::{Imported, ImportedResult, tidy};

/// Digits of a result's figures together, from which on chance does not give the same ones again.
const TELLING_DIGITS: usize = 12;

/// Takes out what equals an earlier result of the same case of its system in every figure, and notes it: a file that is named twice,
/// and an output that stands twice in a text, are no repetitions.
pub fn leave_out_copies(imports: &mut [Imported]) {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for import in imports.iter_mut() {
        // A table's author makes each row a repetition.
        if [tidy::READER.name, tidy::wide::READER.name].contains(&import.tool) {
            continue;
        }
        let is_copy: Vec<bool> =
            import.results.iter().map(|result| !known.insert(text_of(result)) && result.dropped.is_none()).collect();
        // What is of a part of a run, such as a statement, goes with the whole, which is the first.
        let whole = import.results.first().map(|result| result.benchmark.clone());
        let has_copies = import.results.iter().zip(&is_copy).any(|(result, is_copy)| {
            *is_copy && whole.as_ref() == Some(&result.benchmark) && digits(result) >= TELLING_DIGITS
        });
        if has_copies {
            let mut kept = is_copy.iter().map(|is_copy| !is_copy);
            import.results.retain(|_| kept.next().unwrap_or(true));
            let copies = is_copy.iter().filter(|is_copy| **is_copy).count();
            let what = if copies == 1 { "1 result equals an earlier one" } else { "results equal earlier ones" };
            let count = if copies == 1 { String::new() } else { format!("{copies} ") };
            import.notes.push(format!("{count}{what} in every figure, and copies are no repetitions: left out"));
        }
    }
}

/// The system, the case and all figures.
fn text_of(result: &ImportedResult) -> String {
    let mut text = format!("{}\n{}\n{:?}\n", result.system, result.benchmark, result.keys);
    for measurement in &result.measurements {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {:?}", measurement.metric.id, measurement.reading);
    }
    text
}

fn digits(result: &ImportedResult) -> usize {
    let mut values: Vec<String> = result
        .measurements
        .iter()
        .filter_map(|measurement| match measurement.reading {
            Reading::Value(value) => Some(value.to_string()),
            Reading::Unavailable(_) => None,
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    values.iter().map(|value| value.trim_matches(['0', '.']).chars().filter(char::is_ascii_digit).count()).sum()
}

#[cfg(test)]
mod tests {
    use crate::recognise::{Text, read};
    use crate::{Imported, Options};

    const RUN: &str = "pgbench (16.2)\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\n\
        number of clients: 10\nnumber of threads: 1\nduration: 60 s\nnumber of transactions actually processed: 1207200\n\
        latency average = 0.497 ms\ntps = 20120.123456 (without initial connection time)\n";
    const TABLE: &str = "system,clients,metric,unit,value,repetition\na,1,throughput,tx/s,1234567890.123,1\na,1,throughput,tx/s,1234567890.123,2\n";

    fn import(system: &str, text: &str) -> Vec<Imported> {
        let options = Options::default();
        let text = Text { text, source: "f", below: "f", system, is_named: false, reader: None, options: &options };
        read(&text).unwrap().imports
    }

    fn kept(mut imports: Vec<Imported>) -> (Vec<usize>, usize) {
        super::leave_out_copies(&mut imports);
        let notes = imports.iter().flat_map(|import| &import.notes).filter(|note| note.contains("copies")).count();
        (imports.iter().map(|import| import.results.len()).collect(), notes)
    }

    #[test]
    fn a_copy_is_no_repetition() {
        let each = import("a", RUN)[0].results.len();
        let other = RUN.replace("20120.123456", "20121.123456");
        assert_eq!(kept([import("a", RUN), import("a", RUN)].concat()), (vec![each, 0], 1), "a file named twice");
        assert_eq!(
            kept(import("a", &format!("{RUN}\n{RUN}\n{other}"))),
            (vec![2 * each], 1),
            "an output that stands twice"
        );
        assert_eq!(
            kept([import("a", RUN), import("b", RUN)].concat()),
            (vec![each; 2], 0),
            "two systems of one output"
        );
        assert_eq!(kept([import("a", RUN), import("a", &other)].concat()), (vec![each; 2], 0));
        assert_eq!(kept(import("a", TABLE)), (vec![2], 0), "rows of a table are as their author has them");
    }
}
