//! A look at an experiment that ends when it is sure: which cases need no further round.

use std::collections::{BTreeMap, BTreeSet};

use model::{Look, RowSoFar, Standing};
use stats::Verdict;

use crate::comparison::{Comparison, ComparisonSet, NoVerdict, Outcome};
use crate::evidence::Evidence;
use crate::labels::{change_of, has_pairs, row_title, verdict_word};
use crate::number::{Script, count_noun};
use crate::{CompareError, Options, compare};

// A plan cannot ask for a look that no verdict follows from.
const _: () = assert!(model::plan::FEWEST_TO_JUDGE == stats::MIN_ROUNDS);

/// Judges all complete rounds of the evidence: which cases are settled, and how far each row is.
///
/// # Errors
/// There is nothing to compare.
pub fn judge_look(evidence: &Evidence) -> Result<Look, CompareError> {
    let set = compare(evidence, &Options::default())?;
    let case_of: BTreeMap<i64, u32> = evidence.runs.iter().map(|run| (run.id, run.planned.case)).collect();
    let open: BTreeSet<u32> = open_rows(&set)
        .flat_map(|row| row.a.runs.iter().chain(&row.b.runs))
        .filter_map(|point| case_of.get(&point.run).copied())
        .collect();
    let settled = (0..evidence.cases.len() as u32).filter(|case| !open.contains(case)).collect();
    Ok(Look { settled, rows: rows_so_far(&set) })
}

/// Lists the rows that further rounds may still decide.
fn open_rows(set: &ComparisonSet) -> impl Iterator<Item = &Comparison> {
    set.rows().filter(|row| row_decision(row) == Standing::Open)
}

/// Describes each row so far, in their order: name, standing and figures.
pub fn rows_so_far(set: &ComparisonSet) -> Vec<RowSoFar> {
    let has_pairs = has_pairs(&set.tables);
    let rows = set.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    let so_far = rows.map(|(table, row)| {
        let standing = row_decision(row);
        RowSoFar { name: row_title(row, table, has_pairs), standing, figures: progress_text(row, standing) }
    });
    so_far.collect()
}

/// The rounds until every row is expected to be decided; `None` if one is not in sight, or rounds are not judged.
pub fn expected_rounds_to_go(set: &ComparisonSet) -> Option<u32> {
    set.rules.sequence?;
    open_rows(set).map(|row| row.rounds_needed).try_fold(0, |most, needed| Some(needed?.max(most)))
}

/// Whether a row is decided, open to further rounds, or closed without a verdict.
/// What was repeated counts for less the more rounds there are, and under a clock's step rounds may still show that the sides are
/// equivalent, or further apart. What else stands in the way of a verdict stays there: one run without the figure is enough.
pub(crate) fn row_decision(row: &Comparison) -> Standing {
    match row.outcome {
        Outcome::Verdict(Verdict::Inconclusive)
        | Outcome::None(
            NoVerdict::TooFewRounds { .. }
            | NoVerdict::Unfinished(_)
            | NoVerdict::Repeated { .. }
            | NoVerdict::CutOff { .. }
            | NoVerdict::MeasuredAgain { .. }
            | NoVerdict::UnderClockStep,
        ) => Standing::Open,
        Outcome::Verdict(_) => Standing::Decided,
        Outcome::None(_) => Standing::Closed,
    }
}

/// Writes a row's change and what is missing: `+2 % [-1, +5], about 4 rounds to go`.
fn progress_text(row: &Comparison, standing: Standing) -> String {
    let so_far = change_of(row).map(|change| {
        let interval = row.estimate.map(|_| format!(" {}", change.print_interval(Script::Plain))).unwrap_or_default();
        format!("{}{interval}, ", change.print_change(Script::Plain))
    });
    let says = match (standing, row.verdict(), row.rounds_needed) {
        _ if matches!(row.why_no_verdict(), Some(NoVerdict::Unfinished(_))) => "an interval at the end".to_owned(),
        (Standing::Open, _, Some(rounds)) => format!("about {} to go", count_noun(rounds as usize, "round")),
        (Standing::Open, _, None) => "no number of rounds in sight".to_owned(),
        (_, Some(verdict), _) => verdict_word(verdict, &row.metric).to_owned(),
        (_, None, _) => "no verdict".to_owned(),
    };
    so_far.unwrap_or_default() + &says
}
