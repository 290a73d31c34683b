//! A look at an experiment that ends when it is sure: which cases need no further round.

use std::collections::{BTreeMap, BTreeSet};

use stats::Verdict;

use crate::comparison::{Comparison, NoVerdict, Outcome};
use crate::evidence::Evidence;
use crate::number::{Script, count};
use crate::words::{change, metric_name, table_title};
use crate::{CompareError, Options, compare};

// A plan cannot ask for a look that no verdict follows from.
const _: () = assert!(model::plan::FEWEST_TO_JUDGE == stats::MIN_ROUNDS);

/// So many open rows are told of.
const TOLD: usize = 3;

/// What the primary rows say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Cases, by index, none of whose rows is open.
    pub settled: BTreeSet<u32>,
    /// How each open row stands; of many, the first.
    pub open: Vec<String>,
    /// Rows that are faster, slower or equivalent, and all of them.
    pub decided: usize,
    pub rows: usize,
}

/// By all rounds that `evidence` has, which are whole.
///
/// # Errors
/// There is nothing to compare.
pub fn look(evidence: &Evidence) -> Result<Look, CompareError> {
    let set = compare(evidence, &Options::default())?;
    let case_of: BTreeMap<i64, u32> = evidence.runs.iter().map(|run| (run.id, run.planned.case)).collect();
    let (mut look, mut open, mut is_in_open) = (Look::default(), Vec::new(), BTreeSet::<u32>::new());
    for table in &set.tables {
        for row in &table.rows {
            look.rows += 1;
            if !is_open(row) {
                look.decided += usize::from(row.verdict().is_some());
                continue;
            }
            is_in_open.extend(row.a.runs.iter().chain(&row.b.runs).filter_map(|point| case_of.get(&point.run)));
            let parts = [table_title(table), row.case_label(), metric_name(&row.metric.id)];
            let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            open.push(format!("{name} {}", standing(row)));
        }
    }
    look.settled = (0..evidence.cases.len() as u32).filter(|case| !is_in_open.contains(case)).collect();
    let more = open.len().saturating_sub(TOLD);
    look.open = open.into_iter().take(TOLD).collect();
    look.open.extend((more > 0).then(|| format!("and {more} more")));
    Ok(look)
}

/// Whether rounds would change what it says. What stands in the way of other verdicts stays there.
fn is_open(row: &Comparison) -> bool {
    matches!(
        row.outcome,
        Outcome::Verdict(Verdict::Inconclusive)
            | Outcome::None(NoVerdict::TooFewRounds { .. } | NoVerdict::Unfinished(_))
    )
}

/// `+2 % [-1, +5], about 4 rounds to go`.
fn standing(row: &Comparison) -> String {
    let so_far = change(row).map(|change| {
        let interval = row.estimate.map(|_| format!(" {}", change.interval(Script::Plain))).unwrap_or_default();
        format!("{}{interval}, ", change.point(Script::Plain))
    });
    let needed = match row.rounds_needed {
        Some(rounds) => format!("about {} to go", count(rounds as usize, "round")),
        None => "no number of rounds in sight".to_owned(),
    };
    so_far.unwrap_or_default() + &needed
}
