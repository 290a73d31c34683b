//! Makes results of a tidy table.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::FAILED_SHARE;
use model::{Direction, Facts, Mark, Measurement, Nature, Reading, Role, RunState};

use super::mark_code;
use super::{
    BEGAN, BENCHMARK, CIRCUMSTANCE, ELAPSED, FACTOR, MARK, MEASURED, REASON, REPEATED, REPETITION, RESTARTED, RUN, Row,
    Table, is_measured, parse_table,
};
use crate::dimension::{Clash, Dimensions, Ratio};
use crate::exported::is_export_remark;
use crate::imported::{UNKNOWN_BENCHMARK, guess_direction};
use crate::reader::{Names, Reader, Reads};
use crate::text::shorten;
use crate::{ExportedRules, FormatError, Imported, ImportedResult};

/// Kinds that rows of other programs may have.
const PRINTED: &str = "printed";
/// What a row about a run may have for its kind by mistake.
const STATES: [&str; 17] = [
    "aborted",
    "cancelled",
    "crashed",
    "dropped",
    "error",
    "fail",
    "failed",
    "failure",
    "interrupted",
    "killed",
    "lost",
    "planned",
    "repeated",
    "running",
    "skipped",
    "superseded",
    "timeout",
];
const HOW_TO_FAIL: &str = "a run that failed is a row with `run` as its kind, `failed` as its metric and the reason as its value; \
     an attempt that was repeated has the metric `repeated`";

/// System, benchmark, keys, repetition.
type Place = (String, String, String, u32);

pub const READER: Reader = Reader {
    name: "tidy",
    about: "CSV with the columns system, keys, repetition, metric, unit, value",
    recognises: |text| super::is_long_table(&super::column_names(text)),
    names: Names::File,
    reads: Reads::Text(|input| {
        if input.is_named {
            let error = FormatError::of_whole("a tidy table names its systems itself");
            return Err(error.with_hint("name the file alone"));
        }
        let table = parse_table(input.text)?;
        // What `--map` says goes before what a name is taken for.
        if !(table.renamed.is_empty() || input.options.mappings.is_empty()) {
            return super::wide::read(input);
        }
        Ok(import_table(&table, input.source)?.into())
    }),
};

/// Makes the results of a table: rows of one case and repetition make one.
/// Without a column for repetitions, a metric's n-th row is the n-th. Units of one family become that of the metric's
/// first row.
///
/// # Errors
/// A row stands twice, is of nothing in the table, has a kind that looks like a run's state, or a metric of one benchmark has
/// units that étalon cannot convert, or two better ways; or a share of failures is no percentage.
pub fn import_table(table: &Table, source: &str) -> Result<Imported, FormatError> {
    table.rows.iter().try_for_each(check_kind)?;
    let measured: Vec<&Row> = table.rows.iter().filter(|row| is_measured(row)).collect();
    let dimensions = learn_dimensions(&measured)?;
    let mut results = Results::default();
    for row in &measured {
        results.take_measurement(row, &dimensions)?;
    }
    for row in rows_of_kind(table, MARK) {
        results.take_mark(row)?;
    }
    let rules = ExportedRules::from_remarks(&table.remarks);
    let names_benchmarks = measured.iter().any(|row| row.benchmark.is_some());
    for row in rows_of_kind(table, RUN) {
        results.take_failed_run(row, rules.is_some(), names_benchmarks)?;
    }
    for row in rows_of_kind(table, RUN) {
        results.take_run_row(row, rules.is_some())?;
    }
    let mut notes: Vec<String> = table.remarks.iter().filter(|remark| !is_export_remark(remark)).cloned().collect();
    notes.extend(table.renamed.iter().map(|(name, known)| format!("the column `{name}` is taken for `{known}`")));
    notes.extend(results.converted.iter().map(|((metric, from), to)| format!("{metric}: {from} were made {to}")));
    let understood = [MARK, RUN, FACTOR, CIRCUMSTANCE].into_iter().map(|kind| rows_of_kind(table, kind).count());
    let others = table.rows.len() - measured.len() - understood.sum::<usize>();
    if others > 0 {
        notes.push(format!("{others} rows are of other kinds and no measurements"));
    }
    let unknown = match rules {
        // An export of étalon's tells order and rounds.
        Some(_) => Vec::new(),
        None => list_unknowns(table, &results.undirected),
    };
    let facts = facts_by_system(rows_of_kind(table, FACTOR), rows_of_kind(table, CIRCUMSTANCE));
    let imported = Imported::new(READER.name, source, []);
    Ok(Imported { results: results.found, unknown, notes, rules, facts, ..imported })
}

/// Lists the rows of a kind.
fn rows_of_kind<'t>(table: &'t Table, kind: &'static str) -> impl Iterator<Item = &'t Row> {
    table.rows.iter().filter(move |row| row.kind.eq_ignore_ascii_case(kind))
}

/// Fails if a row's kind was meant as another, since rows of unknown kinds count for nothing.
fn check_kind(row: &Row) -> Result<(), FormatError> {
    let known = [MEASURED, MARK, RUN, FACTOR, CIRCUMSTANCE, PRINTED];
    let kind = row.kind.trim().to_lowercase();
    if kind.is_empty() || known.contains(&kind.as_str()) {
        return Ok(());
    }
    if STATES.contains(&kind.as_str()) || model::nearest(&kind, ["failed", "aborted", REPEATED]).is_some() {
        return Err(unknown_kind(row).with_hint(HOW_TO_FAIL));
    }
    match model::nearest(&kind, known) {
        Some(meant) => Err(unknown_kind(row).with_hint(format!("is it `{meant}`?"))),
        None => Ok(()),
    }
}

/// Makes the error of a kind of row that is not known.
fn unknown_kind(row: &Row) -> FormatError {
    FormatError::at_line(row.line, format!("{}: no such kind of row", shorten(&row.kind)))
}

/// Learns each metric's unit and better way from the rows; fails if two rows clash.
fn learn_dimensions<'a>(measured: &[&'a Row]) -> Result<Dimensions<'a, u64>, FormatError> {
    let mut dimensions = Dimensions::default();
    for row in measured {
        check_share(row)?;
        let benchmark = row.benchmark.as_deref().unwrap_or(BENCHMARK);
        let has_value = matches!(row.value, Reading::Value(_));
        let unit = (has_value || !row.unit.trim().is_empty()).then_some(row.unit.as_str());
        // What is not available has a unit that the others have, or none that matters.
        let is_needed = has_value || dimensions.unit(benchmark, &row.metric).is_none();
        let unit = if is_needed { unit } else { None };
        dimensions.learn_metric((benchmark, &row.metric), unit, row.direction, row.line).map_err(|clash| {
            let Clash { here, there, place } = clash;
            let what = format!("{} is {here} here, and {there} in line {place}", shorten(&row.metric));
            FormatError::at_line(row.line, what).with_hint(Clash::<u64>::HINT)
        })?;
    }
    Ok(dimensions)
}

/// Fails if a share of failures is no percentage that is better when lower.
/// It voids rows by its percentage.
fn check_share(row: &Row) -> Result<(), FormatError> {
    if row.metric != FAILED_SHARE {
        return Ok(());
    }
    if row.direction.is_some_and(|direction| direction != Direction::Lower) {
        return share_of_failures_error(row, format!("{FAILED_SHARE} is better when lower"));
    }
    match row.value {
        Reading::Value(_) if row.unit.trim() != "%" => {
            share_of_failures_error(row, format!("{FAILED_SHARE} is in `%`, and not in `{}`", shorten(row.unit.trim())))
        }
        Reading::Value(value) if !(0.0..=100.0).contains(&value) => {
            share_of_failures_error(row, format!("{FAILED_SHARE} is {value} %, which is no share"))
        }
        _ => Ok(()),
    }
}

/// Makes the error of a share of failures out of range.
fn share_of_failures_error<T>(row: &Row, what: String) -> Result<T, FormatError> {
    let hint = "write failures in percent of all that ended, from 0 to 100, with `%` as the unit";
    Err(FormatError::at_line(row.line, what).with_hint(hint))
}

#[derive(Default)]
struct Results {
    found: Vec<ImportedResult>,
    /// Where results stand in `found`.
    index: BTreeMap<Place, usize>,
    lines: BTreeMap<(Place, String), u64>,
    /// How many rows a metric has had, where nothing numbers them.
    seen: BTreeMap<(String, String, String, String), u32>,
    /// Metrics of which nothing tells the better way.
    undirected: BTreeSet<String>,
    /// Metric and unit of rows, and the unit that their values have now.
    converted: BTreeMap<(String, String), String>,
}

impl Results {
    /// Adds a row's measurement to the result of its case and repetition.
    fn take_measurement(&mut self, row: &Row, dimensions: &Dimensions<'_, u64>) -> Result<(), FormatError> {
        let case = place_of(row, 0);
        let repetition = row.repetition.unwrap_or_else(|| {
            let place = (case.0.clone(), case.1.clone(), case.2.clone(), row.metric.clone());
            let count = self.seen.entry(place).or_default();
            *count += 1;
            *count
        });
        let place: Place = (case.0, case.1, case.2, repetition);
        if let Some(earlier) = self.lines.insert((place.clone(), row.metric.clone()), row.line) {
            let what =
                format!("{} stands here again for the same case and repetition as in line {earlier}", row.metric);
            return Err(
                FormatError::at_line(row.line, what).with_hint("number the repetitions, or add the key that differs")
            );
        }
        let measurement = self.make_measurement(row, &place.1, dimensions);
        let found = &mut self.found;
        let at = *self.index.entry(place).or_insert_with_key(|(system, benchmark, _, _)| {
            let mut result = ImportedResult::new(system, benchmark);
            result.keys = row.point.clone();
            result.repetition = Some(repetition);
            result.experiment.clone_from(&row.experiment);
            found.push(result);
            found.len() - 1
        });
        if let Some(result) = self.found.get_mut(at) {
            if result.experiment != row.experiment {
                result.experiment = None;
            }
            result.measurements.push(measurement);
        }
        Ok(())
    }

    /// Makes a measurement in the unit and with the better way that the table gives the metric.
    fn make_measurement(&mut self, row: &Row, benchmark: &str, dimensions: &Dimensions<'_, u64>) -> Measurement {
        let unit = dimensions.unit(benchmark, &row.metric).unwrap_or(&row.unit);
        let known = dimensions.direction(benchmark, &row.metric);
        let direction = known.or_else(|| guess_direction(&row.metric, unit)).unwrap_or_else(|| {
            self.undirected.insert(row.metric.clone());
            Direction::Neither
        });
        let reading = match (&row.value, Ratio::between(&row.unit, unit)) {
            (Reading::Value(value), Some(ratio)) => {
                if row.unit.trim() != unit.trim() {
                    self.converted.insert((row.metric.clone(), row.unit.clone()), unit.to_owned());
                }
                Reading::Value(ratio.apply(*value))
            }
            (reading, _) => reading.clone(),
        };
        Measurement::new(&row.metric, unit, direction, row.role.unwrap_or(Role::Primary), reading)
    }

    /// Finds the result that a row belongs to which is no measurement.
    fn result_of(&mut self, row: &Row) -> Result<&mut ImportedResult, FormatError> {
        let at = self.index.get(&place_of(row, row.repetition.unwrap_or(1)));
        at.and_then(|at| self.found.get_mut(*at)).ok_or_else(|| {
            let what = format!("this {} is of no measurement in the table", row.kind.to_lowercase());
            FormatError::at_line(row.line, what).with_hint(HOW_TO_FAIL)
        })
    }

    /// Adds a row's mark to its result.
    fn take_mark(&mut self, row: &Row) -> Result<(), FormatError> {
        let kind = row
            .metric
            .parse()
            .map_err(|()| FormatError::at_line(row.line, format!("{}: no such mark", shorten(&row.metric))))?;
        let mark = mark_code::add_code_to_mark(Mark::new(kind, row.written.clone()), &row.unit);
        self.result_of(row)?.marks.push(mark);
        Ok(())
    }

    /// Takes a run without a result. Where the table names benchmarks, one that is not named may be any.
    fn take_failed_run(&mut self, row: &Row, is_ours: bool, names_benchmarks: bool) -> Result<(), FormatError> {
        if !is_state(&row.metric, RunState::Failed) && !is_state(&row.metric, RunState::Aborted) {
            return Ok(());
        }
        let place = place_of(row, row.repetition.unwrap_or(0));
        if self.index.contains_key(&place) {
            let what = "this repetition ended without a result here, and stands in the table before";
            return Err(FormatError::at_line(row.line, what)
                .with_hint(format!("an attempt that was repeated is a row of kind `{RUN}` with metric `{REPEATED}`")));
        }
        let is_untold = names_benchmarks && row.benchmark.is_none();
        let mut result = ImportedResult::new(&row.system, if is_untold { UNKNOWN_BENCHMARK } else { &place.1 });
        result.keys = row.point.clone();
        result.repetition = row.repetition;
        result.experiment.clone_from(&row.experiment);
        result.dropped = Some(state_and_reason(row, is_ours));
        if row.repetition.is_some() {
            self.index.insert(place, self.found.len());
        }
        self.found.push(result);
        Ok(())
    }

    /// Takes what else the table says of a run: when it began, how long it took, what was repeated.
    fn take_run_row(&mut self, row: &Row, is_ours: bool) -> Result<(), FormatError> {
        match (row.metric.as_str(), &row.value) {
            (ELAPSED, Reading::Value(elapsed_s)) => self.result_of(row)?.elapsed_s = Some(*elapsed_s),
            (BEGAN, _) => {
                let began = row.written.parse().map_err(|_| {
                    let what =
                        format!("{}: a run began at a whole number of milliseconds since 1970", shorten(&row.written));
                    FormatError::at_line(row.line, what)
                })?;
                self.result_of(row)?.began_unix_ms = Some(began);
            }
            (metric, _) if is_repeated(metric) => {
                let ended = state_and_reason(row, is_ours);
                self.result_of(row)?.repeated.push(ended);
            }
            (metric, _) if is_state(metric, RunState::Failed) || is_state(metric, RunState::Aborted) => {}
            (metric, _) => {
                let what = format!(
                    "{}: of a run it is told when it began, how long it took, or that it failed, was aborted or repeated",
                    shorten(metric)
                );
                return Err(FormatError::at_line(row.line, what).with_hint(HOW_TO_FAIL));
            }
        }
        Ok(())
    }
}

/// Tests whether a metric is the name of a run's state.
fn is_state(metric: &str, state: RunState) -> bool {
    metric.eq_ignore_ascii_case(state.as_str())
}

/// Tests whether a metric says that an attempt was repeated.
fn is_repeated(metric: &str) -> bool {
    [REPEATED, RESTARTED].iter().any(|word| metric.eq_ignore_ascii_case(word))
}

/// Gives the state and reason of an attempt without a result.
/// What another's run was aborted for is not known, so it failed; étalon's own was stopped by its user, or with its
/// process, which tells nothing of the system.
fn state_and_reason(row: &Row, is_ours: bool) -> (RunState, String) {
    let is_own_end =
        is_state(&row.metric, RunState::Aborted) || row.metric.eq_ignore_ascii_case(RESTARTED) || was_restarted(row);
    let state = if is_ours && is_own_end { RunState::Aborted } else { RunState::Failed };
    (state, row.written.clone())
}

/// Tells whether étalon itself ended in an attempt of a table from before there was [`RESTARTED`].
fn was_restarted(row: &Row) -> bool {
    const REASONS: [&str; 3] =
        ["interrupted by the user", "the process ended in mid-run", "the process ended in mid-trial"];
    row.metric.eq_ignore_ascii_case(REPEATED) && REASONS.iter().any(|reason| row.written.starts_with(reason))
}

/// Collects what the rows say of each system, and of the machine that made the load, as facts.
fn facts_by_system<'a>(
    factors: impl Iterator<Item = &'a Row>,
    circumstances: impl Iterator<Item = &'a Row>,
) -> BTreeMap<String, Facts> {
    let mut facts: BTreeMap<String, Facts> = BTreeMap::new();
    let all = factors.map(|row| (row, Nature::Identity)).chain(circumstances.map(|row| (row, Nature::Passing)));
    for (row, nature) in all {
        let reading = match row.written.strip_prefix(REASON) {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(row.written.clone()),
        };
        facts.entry(row.system.clone()).or_default().insert(&row.metric, reading, nature);
    }
    facts
}

/// Lists what a foreign table leaves unknown.
fn list_unknowns(table: &Table, undirected: &BTreeSet<String>) -> Vec<String> {
    let mut open: Vec<String> = table
        .missing
        .iter()
        .map(|name| match *name {
            REPETITION => "which rows belong to one repetition".to_owned(),
            _ => "the units".to_owned(),
        })
        .collect();
    open.extend(undirected.iter().map(|metric| format!("which way is better for {metric}")));
    open.push("the order of the measurements".to_owned());
    open
}

/// Gives the case and repetition that a row belongs to.
fn place_of(row: &Row, repetition: u32) -> Place {
    let benchmark = row.benchmark.clone().unwrap_or_else(|| BENCHMARK.to_owned());
    (row.system.clone(), benchmark, format!("{:?}", row.point), repetition)
}
