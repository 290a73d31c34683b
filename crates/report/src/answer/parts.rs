//! The sentence for a benchmark of parts that are timed by themselves, such as queries: which of them take longer, and by how
//! much.

use std::collections::BTreeSet;

use model::metric::{ALL_QUERIES, MEAN_OF_QUERIES};
use model::{Absence, Quantity};
use stats::Verdict;

use super::words::times_words;
use super::{Question, TIMES};
use crate::comparison::{Comparison, ComparisonSet, NoVerdict};
use crate::number::{Script, percent_text};
use crate::spatial::SUITE;
use crate::text::{clean_text, clip_to_width};

/// Names of the sum of all parts.
const ALL: [&str; 2] = [ALL_QUERIES, SUITE];
/// Parts of one kind that are named.
const NAMED: usize = 3;
/// Letters of a part's name.
const NAME: usize = 24;

/// Says which parts of a question, such as queries, take longer on B; `None` if it has no parts, or several of one name.
pub fn parts_sentence(question: &Question<'_>, set: &ComparisonSet) -> Option<String> {
    let parts: Vec<Part<'_>> = question.rows.iter().map(|row| Part::from_row(row)).collect::<Option<_>>()?;
    let names: BTreeSet<&str> = parts.iter().map(|part| part.name).collect();
    if names.len() < parts.len() || parts.len() < 2 {
        return None;
    }
    let parts: Vec<Part<'_>> = parts.into_iter().filter(|part| part.name != MEAN_OF_QUERIES).collect();
    let (all, parts): (Vec<&Part<'_>>, Vec<&Part<'_>>) = parts.iter().partition(|part| ALL.contains(&part.name));
    let slower = lost_most_first(parts.iter().filter(|part| part.row.verdict() == Some(Verdict::Slower)).copied());
    let faster = lost_most_first(parts.iter().filter(|part| part.row.verdict() == Some(Verdict::Faster)).copied());
    let mut clauses = clauses_without_figure(&parts);
    clauses.extend(changed_parts_clause(&slower, "", "slower"));
    let verb = if slower.is_empty() { "" } else { TAKES };
    clauses.extend(changed_parts_clause(&faster.into_iter().rev().collect::<Vec<_>>(), verb, "faster"));
    clauses.extend(all.iter().filter_map(|all| total_sentence(all)));
    let equal = parts.iter().filter(|part| part.row.verdict() == Some(Verdict::Equivalent)).count();
    if equal > 0 {
        clauses.push(format!("{equal} the same within {}", percent_text(set.rules.margin, Script::Plain)));
    }
    let open = parts.iter().filter(|part| part.row.verdict() == Some(Verdict::Inconclusive)).count();
    if open > 0 {
        clauses.push(format!("no difference shown in {open}"));
    }
    clauses.extend(kind_clause(&parts, is_unstable, ["is unstable", "are unstable"]));
    let head = format!("{} on {} against {}: ", question.subject(), question.b, question.a);
    // The table has what does not fit.
    while clauses.len() > 1 && head.chars().count() + clauses.join("; ").chars().count() > question.room {
        clauses.pop();
    }
    Some(head + &clauses.join("; "))
}

struct Part<'a> {
    name: &'a str,
    row: &'a Comparison,
}

impl<'a> Part<'a> {
    /// The part of a suite that a row of times is about; `None` for other rows.
    fn from_row(row: &'a Comparison) -> Option<Part<'a>> {
        let (_, name) = row.metric.id.split_once('/')?;
        (row.metric.quantity() == Quantity::Time).then_some(Part { name, row })
    }

    /// The time that B takes longer than A for the part; below 0 where it takes less.
    fn lost_time(&self) -> f64 {
        self.row.b.estimate.zip(self.row.a.estimate).map_or(0.0, |(b, a)| b - a)
    }

    /// The part's name, clipped.
    fn display_name(&self) -> String {
        clip_to_width(&clean_text(self.name), NAME)
    }
}

/// Sorts parts by the time that they lose on B, the most first.
fn lost_most_first<'p, 'a>(parts: impl Iterator<Item = &'p Part<'a>>) -> Vec<&'p Part<'a>> {
    let mut parts: Vec<&Part<'_>> = parts.collect();
    parts.sort_by(|one, other| other.lost_time().total_cmp(&one.lost_time()));
    parts
}

type IsOfKind = fn(&Comparison) -> bool;

/// Says which parts gave other answers or wrong ones, failed, or are not supported, a clause each.
fn clauses_without_figure(parts: &[&Part<'_>]) -> Vec<String> {
    let kinds: [(IsOfKind, [&str; 2]); 4] = [
        (gives_several_answers, ["gives another answer", "give other answers"]),
        (|row| is_without_figure(row, Absence::Wrong), ["gives no right answer", "give no right answers"]),
        (|row| is_without_figure(row, Absence::Failed), ["failed", "failed"]),
        (|row| is_without_figure(row, Absence::Unsupported), ["is not supported", "are not supported"]),
    ];
    kinds.into_iter().filter_map(|(is_of_kind, words)| kind_clause(parts, is_of_kind, words)).collect()
}

/// Names the parts of a kind, with the words for one and for several; `None` if there are none.
fn kind_clause(parts: &[&Part<'_>], is_of_kind: IsOfKind, [one, several]: [&str; 2]) -> Option<String> {
    let of_kind = parts.iter().filter(|part| is_of_kind(part.row));
    let names: Vec<String> = of_kind.map(|part| part.display_name()).collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("{name} {one}")),
        names => Some(format!("{} {several}", list_names(names))),
    }
}

/// Whether a part gave several answers, or a wrong one.
pub fn has_no_right_answer(row: &Comparison) -> bool {
    gives_several_answers(row) || is_without_figure(row, Absence::Wrong)
}

/// Whether a row has no verdict since its answers differ.
fn gives_several_answers(row: &Comparison) -> bool {
    matches!(row.why_no_verdict(), Some(NoVerdict::DifferentAnswers { .. }))
}

/// Whether a part's answer changes from run to run on A itself.
fn is_unstable(row: &Comparison) -> bool {
    matches!(row.why_no_verdict(), Some(NoVerdict::UnstableAnswers { .. }))
}

/// Whether a side has no figure for this reason.
fn is_without_figure(row: &Comparison, why: Absence) -> bool {
    matches!(row.why_no_verdict(), Some(NoVerdict::NotAvailable { missing, .. }) if missing.kind == why)
}

/// Names the first parts with their change: `q2 takes 2.1 times as long, q7 40 % longer, and 4 more are slower`.
/// `said` is the verb of the clause before it, which is not repeated.
fn changed_parts_clause(parts: &[&Part<'_>], mut said: &'static str, word: &str) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for part in parts.iter().take(NAMED) {
        let Some(found) = part.row.ratio_estimate() else { continue };
        let (verb, words) = change_words(found.ratio);
        let shown = if verb == said { String::new() } else { format!("{verb} ") };
        named.push(format!("{} {shown}{words}", part.display_name()));
        said = verb;
    }
    let more = parts.len().saturating_sub(NAMED);
    if more > 0 {
        let are = if more == 1 { "is" } else { "are" };
        named.push(format!("and {more} more {are} {word}"));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

const TAKES: &str = "takes";
/// A part that takes at most this share of the time is some times as fast: percents say little there.
const FIFTH: f64 = 0.2;

/// Writes a ratio of times in words, with their verb: `takes`, `40 % longer`.
fn change_words(ratio: f64) -> (&'static str, String) {
    if ratio >= TIMES {
        (TAKES, format!("{} as long", times_words([ratio; 2]).text))
    } else if ratio >= 1.0 {
        (TAKES, format!("{} longer", percent_text(ratio - 1.0, Script::Plain)))
    } else if ratio <= FIFTH {
        ("is", format!("{} as fast", times_words([1.0 / ratio; 2]).text))
    } else {
        (TAKES, format!("{} less time", percent_text(1.0 - ratio, Script::Plain)))
    }
}

/// Says how much longer all parts together take: `all together take 31 % longer`; `None` if that is not decided.
fn total_sentence(all: &Part<'_>) -> Option<String> {
    matches!(all.row.verdict()?, Verdict::Faster | Verdict::Slower).then_some(())?;
    let (verb, words) = change_words(all.row.ratio_estimate()?.ratio);
    Some(format!("all together {} {words}", if verb == TAKES { "take" } else { "are" }))
}

/// Lists the first names, and how many more there are.
fn list_names(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(NAMED);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
