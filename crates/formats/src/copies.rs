//! Copies of runs: the same figures once more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use model::{Direction, Mark, MarkKind, Quantity, Reading};

use crate::readers::hyperfine;
use crate::{Imported, ImportedResult, tidy};

/// Digits of a result's figures together, from which on chance does not give the same ones again.
const TELLING_DIGITS: usize = 12;
/// The same for results of two systems, which are kept.
const TELLING_OF_SIDES: usize = 8;
/// Most runs of a file in which pasted blocks are looked for.
const MOST_RUNS: usize = 2_000;
/// Digits of a figure in three rows and more of a table.
const TELLING_OF_TABLE: usize = 5;
/// Figures of three results and more of one system, from which on they are not equal by chance.
const TELLING_FIGURES: usize = 2;

/// Removes runs that equal an earlier one of the same case of their system in every figure, and notes it.
/// A file that is named twice, and an output that stands twice in a text, are no repetitions. Of few digits several in
/// the same order are copies.
pub fn leave_out_copies(imports: &mut [Imported]) {
    // Times of one call are equal by chance where they are rounded.
    hyperfine::one_result_per_call(imports);
    let mut known: BTreeSet<String> = BTreeSet::new();
    for import in imports.iter_mut() {
        if is_table(import) {
            continue;
        }
        let before = import.results.len();
        let (mut runs, mut rest) = (Vec::new(), std::mem::take(&mut import.results));
        while !rest.is_empty() {
            let behind = rest.split_off(length_of_run(&rest));
            runs.push(std::mem::replace(&mut rest, behind));
        }
        let of_blocks = copies_of_blocks(&runs);
        for (mut run, is_of_block) in runs.into_iter().zip(of_blocks) {
            let is_copy = !known.insert(run.iter().map(result_text).collect());
            if !is_of_block && (!is_copy || count_digits(&run) < TELLING_DIGITS) {
                import.results.append(&mut run);
            }
        }
        let copies = before - import.results.len();
        note_copies(import, copies);
    }
}

/// Tells of each run whether it is of a block that was pasted again.
/// All runs are one block, time after time, which has digits enough; or several in a row are those of before, and have
/// twice as many.
fn copies_of_blocks(runs: &[Vec<ImportedResult>]) -> Vec<bool> {
    let texts: Vec<String> = runs.iter().map(|run| run.iter().map(result_text).collect()).collect();
    let mut copies = vec![false; runs.len()];
    if runs.iter().flatten().any(|result| result.dropped.is_some()) {
        return copies;
    }
    let is_block = |length: &usize| {
        runs.len().is_multiple_of(*length) && (*length..runs.len()).all(|at| texts[at] == texts[at - length])
    };
    if let Some(length) = (2..=runs.len() / 2).find(is_block)
        && digits_of_runs(&runs[..length]) >= TELLING_DIGITS
    {
        copies[length..].fill(true);
        return copies;
    }
    let mut at = if runs.len() > MOST_RUNS { runs.len() } else { 0 };
    while at < runs.len() {
        let length = (0..at).map(|before| count_common_texts(&texts[..at], before, &texts[at..])).max().unwrap_or(0);
        if length > 1 && digits_of_runs(&runs[at..at + length]) >= 2 * TELLING_DIGITS {
            copies[at..at + length].fill(true);
        }
        at += length.max(1);
    }
    copies
}

/// Counts the texts from a place on that the next ones equal, too.
fn count_common_texts(earlier: &[String], place: usize, next: &[String]) -> usize {
    earlier[place..].iter().zip(next).take_while(|(one, other)| one == other).count()
}

/// Counts the digits in the different figures of several runs.
fn digits_of_runs(runs: &[Vec<ImportedResult>]) -> usize {
    digits_in(distinct_figures(runs.iter().flatten()))
}

/// Notes how many results were left out as copies of earlier ones.
fn note_copies(import: &mut Imported, copies: usize) {
    if copies > 0 {
        import.notes.push(format!("copies of earlier results, equal in every figure, left out: {copies}"));
    }
}

/// Removes all results of a file that equals an earlier one of its system, and notes it.
pub fn remove_copied_results(mut import: Imported) -> Imported {
    let copies = std::mem::take(&mut import.results).len();
    note_copies(&mut import, copies);
    import
}

/// Notes runs that equal one of the same case of an earlier system in every figure, and removes or marks them.
/// Those whose figures have a dozen digits are left out of both systems if either has others of the case; where all
/// runs of a case are equal, on both sides, they have no verdict.
pub fn leave_out_copies_of_others(imports: &mut [Imported]) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut copies: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for result in imports.iter().filter(|import| !is_table(import)).flat_map(|import| &import.results) {
        if result.dropped.is_some() || count_digits(std::slice::from_ref(result)) < TELLING_OF_SIDES {
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
                if others.get(&result.case_text()) == Some(&0) {
                    result.marks.push(Mark::new(MarkKind::NoRepetition, note.clone()));
                    return true;
                }
                !figures.contains(&figures_of(result)) || count_digits(std::slice::from_ref(result)) < TELLING_DIGITS
            });
            let is_any_out = import.results.len() < before;
            if has_other || is_any_out {
                import.notes.push(if is_any_out { format!("{note}: left out of both") } else { note.clone() });
            }
        }
    }
}

/// Marks three results and more of a case of a system that are equal in every figure: no three measurements are.
/// One figure of a table is enough, if it is one of a time or a rate.
pub fn mark_equal_results(imports: &mut [Imported]) {
    let mut cases: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let with_results = imports.iter().filter(|import| import.rules.is_none());
    for (import, result) in with_results.flat_map(|import| import.results.iter().map(move |result| (import, result))) {
        let is_telling = if is_table(import) {
            has_measured_figure(result)
        } else {
            distinct_figures([result]).iter().filter(|figure| *figure != "0").count() >= TELLING_FIGURES
        };
        if is_telling {
            cases.entry((result.system.clone(), result.case_text())).or_default().push(figures_of(result));
        }
    }
    cases.retain(|_, figures| figures.len() > 2 && figures.iter().all(|one| *one == figures[0]));
    for result in imports.iter_mut().flat_map(|import| &mut import.results) {
        if cases.contains_key(&(result.system.clone(), result.case_text())) {
            result.marks.push(Mark::new(MarkKind::NoRepetition, "they equal each other in every figure"));
        }
    }
}

/// Tells whether a result has a time or a rate with digits enough not to come again by chance.
fn has_measured_figure(result: &ImportedResult) -> bool {
    result.measurements.iter().any(|measurement| {
        let is_measured = matches!(Quantity::from_unit(&measurement.metric.unit), Quantity::Time | Quantity::Rate)
            || measurement.metric.direction == Direction::Higher;
        is_measured && matches!(measurement.reading, Reading::Value(value) if digits_in([value.to_string()]) >= TELLING_OF_TABLE)
    })
}

/// Counts the results of each case of two systems that have other figures than these.
fn others_by_case(imports: &[Imported], of: [&String; 2], figures: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let mut others = BTreeMap::new();
    for result in imports.iter().flat_map(|import| &import.results).filter(|result| of.contains(&&result.system)) {
        *others.entry(result.case_text()).or_default() += usize::from(!figures.contains(&figures_of(result)));
    }
    others
}

/// Tells whether an import is of a table, whose author makes each row a repetition.
fn is_table(import: &Imported) -> bool {
    [tidy::READER.name, tidy::wide::READER.name].contains(&import.tool)
}

/// Counts the results that are of the first one's run: its parts, such as statements, follow the whole.
fn length_of_run(results: &[ImportedResult]) -> usize {
    let next = results.iter().skip(1).position(|result| result.benchmark == results[0].benchmark);
    next.map_or(results.len(), |parts| parts + 1)
}

/// Writes a result's system, case and all figures.
fn result_text(result: &ImportedResult) -> String {
    format!("{}\n{}", result.system, figures_of(result))
}

/// Writes a result's case and all figures. Failed runs have none.
fn figures_of(result: &ImportedResult) -> String {
    let mut text = result.case_text() + "\n";
    for measurement in &result.measurements {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {:?}", measurement.metric.id, measurement.reading);
    }
    text
}

/// Counts the digits in the different figures of results.
fn count_digits(results: &[ImportedResult]) -> usize {
    digits_in(distinct_figures(results))
}

/// Counts the digits in texts, without zeros and points at their ends.
fn digits_in(values: impl IntoIterator<Item = String>) -> usize {
    values.into_iter().map(|value| value.trim_matches(['0', '.']).chars().filter(char::is_ascii_digit).count()).sum()
}

/// Lists the different figures of results.
fn distinct_figures<'a>(results: impl IntoIterator<Item = &'a ImportedResult>) -> Vec<String> {
    let mut values: Vec<String> = results
        .into_iter()
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

    fn job(nopm: u32) -> String {
        format!("Vuser 1:TEST RESULT : System achieved {nopm} NOPM from 43210 MariaDB TPM\n")
    }

    fn slap(mean: &str) -> String {
        format!("Benchmark\n\tAverage number of seconds to run all queries: {mean} seconds\n")
    }

    fn table(unit: &str, values: &[&str]) -> String {
        let rows = values.iter().map(|value| format!("a,8,x,{unit},{value}\n"));
        format!("system,clients,metric,unit,value\n{}", rows.collect::<String>())
    }

    #[test]
    fn a_block_of_results_is_a_copy_in_spite_of_few_digits() {
        let three = job(51_234) + &job(51_301) + &job(50_987);
        let quoted: String = three.lines().map(|line| format!("> {line}\n")).collect();
        assert_eq!(kept(import("a", &format!("{three}\n{quoted}"))), (vec![3], 1));
        assert_eq!(kept(import("a", &format!("{three}{}", job(51_301)))), (vec![4], 0), "one may come again by chance");
        let block: String = ["0.512", "0.533", "0.498", "0.527", "0.541"].map(slap).concat();
        assert_eq!(kept(import("a", &block.repeat(3))), (vec![5], 1));
        let others = block.clone() + &slap("0.555") + &block + &slap("0.566");
        assert_eq!(kept(import("a", &others)), (vec![12], 0), "fifteen digits may come again");
        let jobs = three.clone() + &job(51_111) + &job(49_870) + &job(50_001);
        assert_eq!(kept(import("a", &(jobs.clone() + &job(52_222) + &jobs + &job(53_333)))), (vec![8], 1));
        let few = slap("0.51") + &slap("0.52");
        assert_eq!(kept(import("a", &few.repeat(2))), (vec![4], 0));
    }

    fn marked(text: &str) -> Vec<bool> {
        let mut imports = import("a", text);
        super::mark_equal_results(&mut imports);
        imports[0].results.iter().map(|result| !result.marks.is_empty()).collect()
    }

    #[test]
    fn equal_rows_of_a_table_are_no_repetitions() {
        assert_eq!(marked(&table("tx/s", &["1003.27"; 6])), [true; 6]);
        assert_eq!(marked(&table("tx/s", &["1003.27", "1003.27", "1003.28"])), [false; 3]);
        assert_eq!(marked(&table("bytes", &["1003520"; 6])), [false; 6], "a size may be the same each time");
        assert_eq!(marked(&table("ms", &["0.5"; 6])), [false; 6]);
    }
}
