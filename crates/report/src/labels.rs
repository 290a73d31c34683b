//! Words shared by the output formats.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::metric::CAPACITY;
use model::{Absence, Direction, Metric, Promise, Quantity};
use stats::Verdict;

use crate::comparison::{
    Bound, Comparison, ComparisonSet, CrossFinding, CurveGroup, CurvePoint, Family, NoVerdict, Outcome, Pairing, Rules,
    SHARE_MARGIN, Scale, Side, Table, TimeOrder, Warning,
};
use crate::evidence::{Evidence, Unfinished};
use crate::number::{Change, RowUnit, Script, count_noun, is_time, ordinal, percent_text};
use crate::text::wrap_to_width;

/// Writes a metric's name in words: `response p99`.
pub fn metric_name(id: &str) -> String {
    id.replace(['_', '/'], " ")
}

/// The text in place of a missing figure: `n/a` or the kind of absence.
pub fn missing_text(kind: Absence) -> &'static str {
    if kind.label().is_none() { "n/a" } else { kind.as_str() }
}

/// The text in place of the figure of a side without values.
pub fn missing_side_text(side: &Side) -> &'static str {
    side.unavailable.first().map_or("n/a", |(missing, _)| missing_text(missing.kind))
}

/// Writes a side's figure in the unit, with the sign of a bound; `None` without an estimate.
pub fn figure_of(side: &Side, unit: &RowUnit<'_>, script: Script) -> Option<String> {
    let figure = unit.print_to(side.estimate?, side.half_width, script);
    Some(format!("{}{figure}", side.bound.map_or("", Bound::sign)))
}

/// The arrow of the better direction; empty if neither is better.
pub fn direction_arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "↑",
        Direction::Lower => "↓",
        Direction::Neither => "",
    }
}

/// The unit in which a row shows the figures of both sides.
pub fn row_unit(row: &Comparison) -> RowUnit<'_> {
    unit_of(&row.metric, [&row.a, &row.b])
}

/// Chooses the unit for the figures of these sides.
pub fn unit_of<'m, 's>(metric: &'m Metric, sides: impl IntoIterator<Item = &'s Side>) -> RowUnit<'m> {
    let figures: Vec<f64> =
        sides.into_iter().filter_map(|side| side.estimate.or(side.summary.map(|s| s.median))).collect();
    // A time without a figure stands next to others of its kind, which are mostly in milliseconds.
    if figures.is_empty() && is_time(&metric.unit) {
        return RowUnit::with_name(&metric.unit, "ms");
    }
    RowUnit::new(&metric.unit, figures)
}

/// The change of a row with its interval, if it has one.
pub fn change_of(row: &Comparison) -> Option<Change> {
    // The interval is one of geometric means: next to another estimator's change it might not even hold it.
    let same = row.estimate.filter(|found| row.change.is_some_and(|change| change.ratio == found.ratio));
    let (lo, hi) = same.map_or((f64::NAN, f64::NAN), |estimate| (estimate.lo, estimate.hi));
    row.change.map(|change| change_between(change.scale, change.ratio, lo, hi))
}

/// Notes above the tables of a family that the experiment is not at its end; empty if it is.
pub fn unfinished_note(evidence: &Evidence, width: usize) -> String {
    evidence.progress_if_unfinished().map_or_else(String::new, |found| {
        wrap_to_width(
            &format!(
                "note: {}.",
                unfinished_clause(&found, evidence.is_judged_after_each_round(), evidence.is_import())
            ),
            width,
            6,
        ) + "\n"
    })
}

/// Says that an experiment is under way or was stopped, without a full stop.
pub fn unfinished_clause(found: &Unfinished, is_judged: bool, is_imported: bool) -> String {
    let what = if is_judged {
        "which are judged as after every round: what is decided stands, and what is open may still be decided"
    } else {
        "so there are figures and changes, and no intervals and no verdicts"
    };
    let how_far = found.sentence();
    let rest = if is_imported { "" } else { "; `etalon resume STORE` runs the rest" };
    format!("the experiment is under way or was stopped: {how_far}, {what}{rest}")
}

/// Makes a change of a ratio, or of points between two shares.
fn change_between(scale: Scale, ratio: f64, lo: f64, hi: f64) -> Change {
    match scale {
        Scale::Ratio => Change::new(ratio, lo, hi),
        Scale::Points => Change::from_points(ratio.ln(), lo.ln(), hi.ln()),
    }
}

/// The verdict in a word.
/// Only times and rates are faster or slower; sizes are smaller or larger, and anything else,
/// CPU time too, is less or more.
pub fn verdict_word(verdict: Verdict, metric: &Metric) -> &'static str {
    let is_less = match verdict {
        Verdict::Equivalent | Verdict::Inconclusive => return verdict.as_str(),
        Verdict::Faster => metric.direction == Direction::Lower,
        Verdict::Slower => metric.direction != Direction::Lower,
    };
    match (metric.quantity(), is_less) {
        (Quantity::Time | Quantity::Rate, _) => verdict.as_str(),
        (Quantity::Size, true) => "smaller",
        (Quantity::Size, false) => "larger",
        (Quantity::Cpu | Quantity::Failures | Quantity::Number, true) => "less",
        (Quantity::Cpu | Quantity::Failures | Quantity::Number, false) => "more",
    }
}

/// Writes the verdict's word and an addition: failures, another plan, the margin or a reason.
pub fn verdict_words(row: &Comparison, set: &ComparisonSet) -> (String, String) {
    let (word, rest) = verdict_without_failures(row, set);
    let failures = if !matches!(row.why_no_verdict(), Some(NoVerdict::Failures { .. })) { row.failures } else { None };
    let said = failures.map(|of| {
        let [a, b] = of.in_words();
        format!("A {a}, B {b} failed")
    });
    // Failures first: they must not be cut off.
    let plan = (row.plan_differs == Some(true)).then(|| "other plan".to_owned());
    (word, said.into_iter().chain(plan).chain([rest]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
}

/// The verdict's word and its addition, without what is said of failures.
fn verdict_without_failures(row: &Comparison, set: &ComparisonSet) -> (String, String) {
    match &row.outcome {
        Outcome::Verdict(Verdict::Equivalent) => ("equivalent".to_owned(), within_margin(row, set)),
        Outcome::Verdict(Verdict::Inconclusive) => ("inconclusive".to_owned(), String::new()),
        Outcome::None(NoVerdict::Apart(found)) => {
            // No word of a verdict.
            let rest = match found {
                CrossFinding::Alike => within_margin(row, set),
                CrossFinding::Higher | CrossFinding::Lower | CrossFinding::Open => "measured apart".to_owned(),
            };
            (found.as_str().to_owned(), rest)
        }
        Outcome::Verdict(verdict) => (verdict_word(*verdict, &row.metric).to_owned(), String::new()),
        Outcome::None(reason) => ("no verdict".to_owned(), reason.short_reason()),
    }
}

/// Says within which margin sides are equal.
fn within_margin(row: &Comparison, set: &ComparisonSet) -> String {
    if row.estimate.is_some_and(|estimate| estimate.scale == Scale::Points) {
        format!("within {} points", SHARE_MARGIN * 100.0)
    } else {
        format!("within {}", percent_text(set.rules.margin, Script::Plain))
    }
}

/// Lists the notes below a table for a row: reasons that its cell cannot hold, and warnings.
fn row_notes(row: &Comparison) -> impl Iterator<Item = String> {
    // Other reasons are complete in the cell, or a warning has the evidence.
    let reason = row
        .why_no_verdict()
        .filter(|reason| {
            matches!(
                reason,
                NoVerdict::UnequalDurability { .. }
                    | NoVerdict::DifferentRows(_)
                    | NoVerdict::DifferentAnswers { .. }
                    | NoVerdict::UnstableAnswers { .. }
                    | NoVerdict::CachedAnswers { .. }
                    | NoVerdict::SequentialOrder
                    | NoVerdict::SystemChanged { .. }
                    | NoVerdict::NotAvailable { .. }
                    | NoVerdict::OnlyBounds { .. }
                    | NoVerdict::NotComparable(_)
                    | NoVerdict::IncompleteRuns { .. }
                    | NoVerdict::TooFewOperations { .. }
                    | NoVerdict::Repeated { .. }
                    | NoVerdict::CutOff { .. }
                    | NoVerdict::MeasuredAgain { .. }
                    | NoVerdict::FailuresUnknown { .. }
                    | NoVerdict::Failures { .. }
                    | NoVerdict::UnderClockStep
            )
        })
        .map(NoVerdict::reason_text);
    reason.into_iter().chain(row.warnings.iter().map(Warning::text))
}

/// Numbered notes, each of one or more rows, of which a row has at most one.
#[derive(Debug, Default)]
pub struct RowNotes {
    /// What each number stands for.
    numbered: Vec<Vec<String>>,
    /// The number of each note among them.
    places: BTreeMap<Vec<String>, usize>,
    /// What is so of every row.
    of_all: Vec<String>,
    /// Why no row has a verdict, which stands above them.
    reason: Option<String>,
}

impl RowNotes {
    /// Collects the notes that all rows of a table share, so that they need no number.
    pub fn of_rows(rows: &[Comparison]) -> RowNotes {
        let mut each = rows.iter().map(|row| row_notes(row).collect::<Vec<String>>());
        let first = if rows.len() > 1 { each.next().unwrap_or_default() } else { Vec::new() };
        let of_all = each.fold(first, |common, notes| common.into_iter().filter(|text| notes.contains(text)).collect());
        let reason = reason_of_all(rows);
        let of_all = of_all.into_iter().filter(|text| Some(text) != reason.as_ref()).collect();
        RowNotes { of_all, reason, ..RowNotes::default() }
    }

    /// Writes a row's verdict and addition, without a reason that stands above all rows.
    pub fn verdict_words(&self, row: &Comparison, set: &ComparisonSet) -> (String, String) {
        let (word, rest) = verdict_words(row, set);
        (word, if self.reason.is_some() { String::new() } else { rest })
    }

    /// Numbers the notes that a row has and not every row; `None` without any.
    pub fn number_of_row(&mut self, row: &Comparison) -> Option<usize> {
        let own =
            row_notes(row).filter(|text| !self.of_all.contains(text) && Some(text) != self.reason.as_ref()).collect();
        self.number_notes(own)
    }

    /// The number of these notes, new or that of equal ones; `None` without notes.
    pub fn number_notes(&mut self, mut notes: Vec<String>) -> Option<usize> {
        if notes.is_empty() {
            return None;
        }
        notes.dedup();
        let place = *self.places.entry(notes).or_insert_with_key(|notes| {
            self.numbered.push(notes.clone());
            self.numbered.len() - 1
        });
        Some(place + 1)
    }

    /// The notes that all rows share.
    pub fn of_all_rows(&self) -> &[String] {
        &self.of_all
    }

    /// Lists the notes with their numbers; what an earlier note has said is not repeated.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, Vec<String>)> {
        let mut earlier: BTreeMap<BTreeSet<&str>, Vec<usize>> = BTreeMap::new();
        self.numbered.iter().enumerate().map(move |(index, notes)| {
            let own: BTreeSet<&str> = notes.iter().map(String::as_str).collect();
            let said = match self.largest_part(&own, &earlier) {
                Some(place) => {
                    let rest = notes.iter().filter(|text| !self.numbered[place].contains(text)).cloned();
                    std::iter::once(format!("as ({})", place + 1)).chain(rest).collect::<Vec<_>>()
                }
                None => notes.clone(),
            };
            earlier.entry(own).or_default().push(index);
            (index + 1, said)
        })
    }

    /// Finds the longest of the earlier notes that `own` contains whole; of equally long ones the last.
    fn largest_part(&self, own: &BTreeSet<&str>, earlier: &BTreeMap<BTreeSet<&str>, Vec<usize>>) -> Option<usize> {
        let parts: Vec<&usize> = match u32::try_from(own.len()).ok().and_then(|notes| 1_usize.checked_shl(notes)) {
            // A row has few notes, and a table may have thousands.
            Some(subsets) if subsets < earlier.len() => {
                (1..subsets).filter_map(|bits| earlier.get(&subset_by_bits(own, bits))).flatten().collect()
            }
            _ => earlier.iter().filter(|(other, _)| other.is_subset(own)).flat_map(|(_, places)| places).collect(),
        };
        parts.into_iter().copied().max_by_key(|place| (self.numbered[*place].len(), *place))
    }
}

/// Picks the texts whose bit is set.
fn subset_by_bits<'a>(own: &BTreeSet<&'a str>, bits: usize) -> BTreeSet<&'a str> {
    own.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, text)| *text).collect()
}

/// Says why no row has a verdict, if that is the same for all; else `None`.
pub fn reason_of_all(rows: &[Comparison]) -> Option<String> {
    let first = rows.first()?.why_no_verdict()?;
    rows.iter().all(|row| row.why_no_verdict() == Some(first)).then(|| first.reason_text())
}

/// Writes the error that a family is accepted to have, in percent.
fn error_of(set: &ComparisonSet, family: Family, script: Script) -> String {
    percent_text((1.0 - set.rules.level) * set.families.error_part(family), script)
}

/// Says how primary rows are adjusted, without a full stop; `None` for a single row with the whole error.
pub fn explain_primary(set: &ComparisonSet, script: Script) -> Option<String> {
    let rows = set.families.row_count(Family::Primary);
    let what = if set.apart.is_some() { "Findings" } else { "Verdicts" };
    let (of, others) = match set.families.row_count(Family::Queries) {
        0 => (count_noun(rows, "primary row"), "rows that are not primary"),
        _ => (format!("{} of all queries together", count_noun(rows, "row")), "other rows"),
    };
    let adjusted = || format!("{what} are adjusted for {of} after Holm");
    match set.families.error_part(Family::Primary) < 1.0 {
        _ if rows == 0 => None,
        true => Some(format!(
            "{}, with {} of error; the {others} have the rest of {}",
            adjusted(),
            error_of(set, Family::Primary, script),
            percent_text(1.0 - set.rules.level, script)
        )),
        false => (rows > 1).then(adjusted),
    }
}

/// Says how the rows of queries, and those that are not primary, are judged; `None` if none is.
pub fn explain_exploring<'r>(
    set: &ComparisonSet,
    rows: impl IntoIterator<Item = &'r Comparison>,
    script: Script,
) -> Option<String> {
    let judged: Vec<Family> = rows
        .into_iter()
        .filter(|row| row.verdict().is_some() || row.cross_finding().is_some())
        .map(|row| row.family)
        .collect();
    let families = [(Family::Queries, "queries"), (Family::Exploratory, "rows that are not primary explore")];
    let lines = families.into_iter().filter(|(family, _)| judged.contains(family)).map(|(family, what)| {
        let rows = count_noun(set.families.row_count(family), "row");
        format!("{what}: {rows} judged together after Benjamini and Hochberg, at {}", error_of(set, family, script))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Says how all families of these rows are judged, for tables without a legend.
pub fn explain_families<'r>(
    set: &ComparisonSet,
    rows: impl IntoIterator<Item = &'r Comparison> + Clone,
) -> Vec<String> {
    let primary = if rows.clone().into_iter().any(|row| row.family == Family::Primary) {
        explain_primary(set, Script::Plain)
    } else {
        None
    };
    [primary, explain_exploring(set, rows, Script::Plain)].into_iter().flatten().collect()
}

/// Writes a table's title by its keys, without the sides; `all benchmarks` without keys.
pub fn table_title(table: &Table) -> String {
    let parts: Vec<String> = table
        .title
        .iter()
        .map(|(key, value)| match key.as_str() {
            "benchmark" => value.clone(),
            "metric" => metric_name(value),
            _ => format!("{key}={value}"),
        })
        .collect();
    if parts.is_empty() { "all benchmarks".to_owned() } else { parts.join(", ") }
}

/// Whether tables are of several pairs of sides, so that rows of one name may differ.
pub fn has_pairs(tables: &[Table]) -> bool {
    tables.iter().any(|table| (&table.a, &table.b) != (&tables[0].a, &tables[0].b))
}

/// Names a row by table, case and metric, and by its sides where there are several pairs.
pub fn row_title(row: &Comparison, table: &Table, has_pairs: bool) -> String {
    let sides = has_pairs.then(|| format!("{} → {}", table.a, table.b));
    let parts = [Some(table_title(table)), Some(row.case_label()), Some(metric_name(&row.metric.id)), sides];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Whether a metric is a capacity, or what it costs.
pub fn is_capacity(metric: &Metric) -> bool {
    metric.id.strip_prefix(CAPACITY).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Says what a load has to keep whose capacity, or price, a row is, after "at which"; `None` for other rows.
pub fn promise_of(row: &Comparison, set: &ComparisonSet) -> Option<String> {
    if !is_capacity(&row.metric) {
        return None;
    }
    if let Some(promise) = Promise::from_point(&row.case) {
        return Some(promise.promise_clause());
    }
    // Sides of several promises have none in common.
    let of_benchmark = set.promises.iter().filter(|(benchmark, _)| *benchmark == row.benchmark);
    let words: Vec<String> = of_benchmark.map(|(_, promise)| promise.promise_clause()).collect();
    (!words.is_empty()).then(|| words.join(", or "))
}

/// Says how the intervals of a table are made.
pub fn interval_words(rules: &Rules) -> String {
    match (rules.pairing, rules.sequence) {
        (Pairing::Paired, None) => "interval by the paired t test over the rounds".to_owned(),
        (Pairing::Paired, Some(sequence)) => {
            let first = ordinal(sequence.first_look());
            let looks = match rules.looks.unwrap_or_default() {
                1 => "1 look".to_owned(),
                looks => format!("{}: what all their intervals have in common", count_noun(looks as usize, "look")),
            };
            let extended = rules.begun.map(|begun| match begun.stop {
                None => format!(" (begun with {}, and extended)", count_noun(begun.rounds as usize, "round")),
                Some(_) => " (and extended)".to_owned(),
            });
            let extended = extended.unwrap_or_default();
            format!(
                "interval by Lai's confidence sequence over the rounds{extended}, judged after each from the {first} on, in {looks}"
            )
        }
        (Pairing::Unpaired, _) => "interval by Welch's test (no rounds to pair by)".to_owned(),
    }
}

/// Says how intervals are made, in a line of a picture.
pub fn interval_name(rules: &Rules) -> String {
    let kind = match (rules.pairing, rules.sequence) {
        (Pairing::Paired, None) => "the paired t test".to_owned(),
        (Pairing::Paired, Some(_)) => {
            format!("Lai's confidence sequence, in {}", count_noun(rules.looks.unwrap_or_default() as usize, "look"))
        }
        (Pairing::Unpaired, _) => "Welch's test".to_owned(),
    };
    format!("{} interval by {kind}", percent_text(rules.level, Script::Plain))
}

/// The clause that a side's own interval is for one look, where rows are judged after each round; else empty.
/// That interval is of the t test, and the verdict does not rest on it.
pub fn one_look_clause(rules: &Rules) -> &'static str {
    if rules.sequence.is_some() { " for one look, on which nothing rests" } else { "" }
}

/// Writes rounds and cases: `10 rounds of 4 cases`, or `6 to 79 rounds of 4 cases` where decided ones have left.
pub fn rounds_of_cases(set: &ComparisonSet) -> String {
    let unit = if set.rules.order == TimeOrder::Unknown { "repetition" } else { "round" };
    let all = count_noun(set.rounds as usize, unit);
    let has_left = set.fewest_rounds > 0 && set.fewest_rounds < set.rounds;
    let rounds = match set.rules.unfinished {
        Some(found) => found.how_far(),
        None if has_left => format!("{} to {all}", set.fewest_rounds),
        None => all,
    };
    let up_to = if has_left && set.rules.unfinished.is_some() { "up to " } else { "" };
    format!("{rounds} of {up_to}{}", count_noun(set.cases, "case"))
}

/// Describes the design: rounds, cases, order, and lost runs.
pub fn design_sentence(set: &ComparisonSet) -> String {
    let order = match set.rules.order {
        TimeOrder::Interleaved => "in random order",
        TimeOrder::Sequential | TimeOrder::SequentialAllowed => "one case after the other",
        TimeOrder::Unknown => "in an unknown order",
        TimeOrder::Apart => "in separate experiments",
    };
    let mut text = format!("{} {order}", rounds_of_cases(set));
    match set.lost_runs() {
        0 => {}
        lost => text.push_str(&format!(", {} dropped", count_noun(lost, "run"))),
    }
    text
}

/// The time when the experiment began, in UTC: `2026-03-01 12:00:00`; empty if it is out of range.
pub fn created_text(evidence: &Evidence) -> String {
    Timestamp::from_millisecond(evidence.header.created_unix_ms)
        .map(|t| t.strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default()
}

/// The time when the experiment began, as `2026-03-01T12:00:00Z`.
pub fn created_rfc3339(evidence: &Evidence) -> String {
    Timestamp::from_millisecond(evidence.header.created_unix_ms).map(|t| t.to_string()).unwrap_or_default()
}

/// Says in words which way of a metric is better.
pub fn better_words(metric: &Metric) -> &'static str {
    match metric.direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
        Direction::Neither => "neither way is better",
    }
}

/// Says what figures are, such as `median of the runs`, and that they are of rounds that both sides have.
pub fn estimator_words(set: &ComparisonSet) -> String {
    let (what, but) = match set.rules.estimator {
        stats::Estimator::Geometric => ("geometric mean", ""),
        stats::Estimator::Mean => ("mean", ""),
        stats::Estimator::TrimmedMean => ("mean", " without the lowest and the highest"),
        stats::Estimator::Median => ("median", ""),
        stats::Estimator::Best => ("best", ""),
    };
    // Without a round in common each side shows what it has.
    let whole = if set.rows().any(|row| {
        row.change.is_some()
            && row.warnings.iter().any(|warning| matches!(warning, Warning::Unpaired { .. } | Warning::LeftOut { .. }))
    }) {
        ", in rounds that both have"
    } else {
        ""
    };
    format!("{what} of the runs{but}{whole}")
}

/// Writes the unit of a rate in words: `I/Os a second`.
pub fn rate_words(metric: &Metric) -> &str {
    match metric.unit.as_str() {
        "io/s" => "I/Os a second",
        "MiB/s" => "MiB a second",
        unit => unit,
    }
}

pub type LatencyPick = fn(&CurvePoint) -> Option<(&Metric, f64)>;

/// The latency of a kind at a point, with its metric.
fn latency_at(point: &CurvePoint, kind: usize) -> Option<(&Metric, f64)> {
    let (metric, side) = point.latencies[kind].as_ref()?;
    Some((metric, side.estimate?))
}

/// Picks the latency to show for all systems of a group: p99, or the mean where no percentile is known.
pub fn latency_of(group: &CurveGroup) -> (LatencyPick, &'static str) {
    if has_latency(group, 0) || !has_latency(group, 1) {
        (|point| latency_at(point, 0), "p99")
    } else {
        (|point| latency_at(point, 1), "mean latency")
    }
}

/// Whether any point of a group has a latency of this kind.
fn has_latency(group: &CurveGroup, kind: usize) -> bool {
    group.points().any(|point| latency_at(point, kind).is_some())
}

#[cfg(test)]
mod tests {
    use model::Role;

    use super::*;

    #[test]
    fn what_is_no_time_and_no_rate_is_not_faster() {
        use Direction::{Higher, Lower};
        assert_eq!(words("us", Lower), ["faster", "slower", "equivalent"]);
        assert_eq!(words("tx/s", Higher), ["faster", "slower", "equivalent"]);
        assert_eq!(words("bytes", Lower), ["smaller", "larger", "equivalent"]);
        assert_eq!(words("bytes", Higher), ["larger", "smaller", "equivalent"]);
        assert_eq!(words("", Lower), ["less", "more", "equivalent"]);
        assert_eq!(words("", Higher), ["more", "less", "equivalent"]);
        let id = "backup_cpu_per_gib".to_owned();
        let cpu = Metric { id, unit: "s/GiB".to_owned(), direction: Lower, role: Role::Primary };
        assert_eq!(verdict_word(Verdict::Faster, &cpu), "less");
    }

    fn words(unit: &str, direction: Direction) -> [&'static str; 3] {
        let metric = Metric { id: "x".to_owned(), unit: unit.to_owned(), direction, role: Role::Primary };
        [Verdict::Faster, Verdict::Slower, Verdict::Equivalent].map(|verdict| verdict_word(verdict, &metric))
    }
}
