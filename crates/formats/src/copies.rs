//! Copies of runs: the same figures once more.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::Reading;

use crate::{Imported, ImportedResult, tidy};

/// Digits of a result's figures together, from which on chance does not give the same ones again.
const TELLING_DIGITS: usize = 12;

/// Takes out runs that equal an earlier one of the same case of their system in every figure, and notes it: a file that is named
/// twice, and an output that stands twice in a text, are no repetitions.
pub fn leave_out_copies(imports: &mut [Imported]) {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for import in imports.iter_mut() {
        // A table's author makes each row a repetition.
        if [tidy::READER.name, tidy::wide::READER.name].contains(&import.tool) {
            continue;
        }
        let before = import.results.len();
        let (mut kept, mut rest) = (Vec::new(), std::mem::take(&mut import.results));
        while !rest.is_empty() {
            let behind = rest.split_off(length_of_run(&rest));
            let is_copy = !known.insert(rest.iter().map(text_of).collect());
            if !is_copy || digits(&rest[0]) < TELLING_DIGITS {
                kept.append(&mut rest);
            }
            rest = behind;
        }
        let copies = before - kept.len();
        import.results = kept;
        if copies > 0 {
            import.notes.push(format!("copies of earlier results, equal in every figure, left out: {copies}"));
        }
    }
}

/// How many results are of the first one's run: its parts, such as statements, follow the whole.
fn length_of_run(results: &[ImportedResult]) -> usize {
    let next = results.iter().skip(1).position(|result| result.benchmark == results[0].benchmark);
    next.map_or(results.len(), |parts| parts + 1)
}

/// The system, the case and all figures. Failed runs have none.
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
        let statements = "statement latencies in milliseconds:\n         0.497  SELECT 1;\n";
        let (first, second) = (format!("{RUN}{statements}"), format!("{other}{statements}"));
        let parts = import("a", &format!("{first}\n{second}\n{first}"));
        let each = import("a", &first)[0].results.len();
        assert_eq!((each, kept(parts)), (2, (vec![2 * each], 1)), "an equal statement of another run stays");
        assert_eq!(kept(import("a", TABLE)), (vec![2], 0), "rows of a table are as their author has them");
    }
}
