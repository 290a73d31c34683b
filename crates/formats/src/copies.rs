//! Copies of runs: the same figures once more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use model::{Mark, MarkKind, Reading};

use crate::{Imported, ImportedResult, tidy};

/// Digits of a result's figures together, from which on chance does not give the same ones again.
const TELLING_DIGITS: usize = 12;
/// The same for results of two systems, which are kept.
const TELLING_OF_SIDES: usize = 8;
/// Figures of three results and more of one system, from which on they are not equal by chance.
const TELLING_FIGURES: usize = 2;

/// Takes out runs that equal an earlier one of the same case of their system in every figure, and notes it: a file that is named
/// twice, and an output that stands twice in a text, are no repetitions.
pub fn leave_out_copies(imports: &mut [Imported]) {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for import in imports.iter_mut() {
        if is_table(import) {
            continue;
        }
        let before = import.results.len();
        let (mut kept, mut rest) = (Vec::new(), std::mem::take(&mut import.results));
        while !rest.is_empty() {
            let behind = rest.split_off(length_of_run(&rest));
            let is_copy = !known.insert(rest.iter().map(text_of).collect());
            if !is_copy || digits(&rest) < TELLING_DIGITS {
                kept.append(&mut rest);
            }
            rest = behind;
        }
        let copies = before - kept.len();
        import.results = kept;
        note_copies(import, copies);
    }
}

fn note_copies(import: &mut Imported, copies: usize) {
    if copies > 0 {
        import.notes.push(format!("copies of earlier results, equal in every figure, left out: {copies}"));
    }
}

/// A file that equals an earlier one of its system: none of its results counts again.
pub fn without_results(mut import: Imported) -> Imported {
    let copies = std::mem::take(&mut import.results).len();
    note_copies(&mut import, copies);
    import
}

/// Notes runs that equal one of the same case of an earlier system in every figure. Those whose figures have a dozen digits are left
/// out of both systems if either has others of the case; where all runs of a case are equal, on both sides, they have no verdict.
pub fn leave_out_copies_of_others(imports: &mut [Imported]) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut copies: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for result in imports.iter().filter(|import| !is_table(import)).flat_map(|import| &import.results) {
        if result.dropped.is_some() || digits(std::slice::from_ref(result)) < TELLING_OF_SIDES {
            continue;
        }
        let figures = figures_of(result);
        let of = first.entry(figures.clone()).or_insert_with(|| result.system.clone());
        if *of != result.system {
            copies.entry((of.clone(), result.system.clone())).or_default().insert(figures);
        }
    }
    for ((one, other), figures) in &copies {
        let note = format!("{} of the results of {other} equal those of {one} in every figure", figures.len());
        let others = others_by_case(imports, [one, other], figures);
        for import in imports.iter_mut() {
            let has_other = import.results.iter().any(|result| result.system == *other);
            let before = import.results.len();
            import.results.retain_mut(|result| {
                if result.system != *one && result.system != *other {
                    return true;
                }
                if others.get(&case_of(result)) == Some(&0) {
                    result.marks.push(Mark::new(MarkKind::NoRepetition, note.clone()));
                    return true;
                }
                !figures.contains(&figures_of(result)) || digits(std::slice::from_ref(result)) < TELLING_DIGITS
            });
            let is_any_out = import.results.len() < before;
            if has_other || is_any_out {
                import.notes.push(if is_any_out { format!("{note}: left out of both") } else { note.clone() });
            }
        }
    }
}

/// Marks three results and more of a case of a system that are equal in every figure: no three measurements are.
pub fn mark_equal_results(imports: &mut [Imported]) {
    let mut cases: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for result in imports.iter().filter(|import| !is_table(import)).flat_map(|import| &import.results) {
        if figures(std::slice::from_ref(result)).iter().filter(|figure| *figure != "0").count() >= TELLING_FIGURES {
            cases.entry((result.system.clone(), case_of(result))).or_default().push(figures_of(result));
        }
    }
    cases.retain(|_, figures| figures.len() > 2 && figures.iter().all(|one| *one == figures[0]));
    for result in imports.iter_mut().flat_map(|import| &mut import.results) {
        if cases.contains_key(&(result.system.clone(), case_of(result))) {
            result.marks.push(Mark::new(MarkKind::NoRepetition, "they equal each other in every figure"));
        }
    }
}

/// How many results of each case of two systems have other figures.
fn others_by_case(imports: &[Imported], of: [&String; 2], figures: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let mut others = BTreeMap::new();
    for result in imports.iter().flat_map(|import| &import.results).filter(|result| of.contains(&&result.system)) {
        *others.entry(case_of(result)).or_default() += usize::from(!figures.contains(&figures_of(result)));
    }
    others
}

/// A table's author makes each row a repetition.
fn is_table(import: &Imported) -> bool {
    [tidy::READER.name, tidy::wide::READER.name].contains(&import.tool)
}

/// The benchmark and the keys.
fn case_of(result: &ImportedResult) -> String {
    format!("{}\n{:?}\n", result.benchmark, result.keys)
}

/// How many results are of the first one's run: its parts, such as statements, follow the whole.
fn length_of_run(results: &[ImportedResult]) -> usize {
    let next = results.iter().skip(1).position(|result| result.benchmark == results[0].benchmark);
    next.map_or(results.len(), |parts| parts + 1)
}

/// The system, the case and all figures.
fn text_of(result: &ImportedResult) -> String {
    format!("{}\n{}", result.system, figures_of(result))
}

/// The case and all figures. Failed runs have none.
fn figures_of(result: &ImportedResult) -> String {
    let mut text = case_of(result);
    for measurement in &result.measurements {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {:?}", measurement.metric.id, measurement.reading);
    }
    text
}

fn digits(results: &[ImportedResult]) -> usize {
    let values = figures(results);
    values.iter().map(|value| value.trim_matches(['0', '.']).chars().filter(char::is_ascii_digit).count()).sum()
}

/// The different figures.
fn figures(results: &[ImportedResult]) -> Vec<String> {
    let mut values: Vec<String> = results
        .iter()
        .flat_map(|result| &result.measurements)
        .filter_map(|measurement| match measurement.reading {
            Reading::Value(value) => Some(value.to_string()),
            Reading::Unavailable(_) => None,
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use crate::recognise::{Captions, Text, read};
    use crate::{Imported, Options};

    const RUN: &str = "pgbench (16.2)\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\n\
        number of clients: 10\nnumber of threads: 1\nduration: 60 s\nnumber of transactions actually processed: 1207200\n\
        latency average = 0.497 ms\ntps = 20120.123456 (without initial connection time)\n";
    const TABLE: &str = "system,clients,metric,unit,value,repetition\na,1,throughput,tx/s,1234567890.123,1\na,1,throughput,tx/s,1234567890.123,2\n";

    fn import(system: &str, text: &str) -> Vec<Imported> {
        let options = Options::default();
        let text = Text {
            text,
            source: "f",
            below: "f",
            system,
            captions: Captions::Systems,
            reader: None,
            options: &options,
        };
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
