//! What would give a row its verdict: a sentence, and where there is one a command that can be typed.

mod rerun_command;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use model::metric::CAPACITY;
use model::{Length, MarkData, MarkKind, Point, Quantity, Role, Schedule, Standing};
use stats::Verdict;

use super::row::{Comparison, NoVerdict, Outcome, Side};
use super::set::{Rules, Table};
use super::warning::Warning;
use crate::evidence::{Evidence, IMPORTED};
use crate::labels::{has_pairs, row_title};
use crate::look;
use crate::lookup::Lookup;
use crate::number::{Script, whole_number};
use rerun_command::RerunCommand;
pub use rerun_command::run_command_with;

/// More rounds than this beyond the existing ones take too long to wait for, and an estimate from few means nothing.
pub const MOST_MORE: u32 = 100;
/// Longer runs than this are no answer to a missing quantile.
const LONGEST_RUN_S: f64 = 3_600.0;
/// What a run is made longer than needed, since its rate varies.
const SPARE: f64 = 1.25;
/// Ten times the operations have steps of a tenth.
const FINER: f64 = 10.0;

/// What keeps a run's amount of work, as its key in a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunLength {
    key: String,
    value: LengthValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LengthValue {
    Seconds(u64),
    Count(u64),
}

impl RunLength {
    /// Writes the length as a plan does.
    fn value_text(&self) -> String {
        match self.value {
            LengthValue::Seconds(seconds) => format!("{seconds}s"),
            LengthValue::Count(number) => number.to_string(),
        }
    }

    /// Writes the length in words, such as `runs of 60 s` or `1 000 tasks a run`.
    fn in_words(&self) -> String {
        let key = self.key.rsplit('.').next().unwrap_or_default();
        match self.value {
            LengthValue::Seconds(seconds) => format!("runs of {seconds} s"),
            LengthValue::Count(number) => format!("{} {key} a run", whole_number(number, Script::Plain)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Remedy {
    /// Run this many rounds in all.
    MoreRounds(u32),
    /// The plan itself instead of its quick form.
    WholePlan,
    /// The runs differ too much for any number of rounds within reason.
    LessNoise,
    /// Make the runs longer, until enough operations lie beyond the quantile.
    LongerRuns {
        needed: u64,
        length: RunLength,
    },
    /// A run would take hours for that quantile.
    OtherQuantile {
        needed: u64,
    },
    /// Make the runs longer, until a step of the clock no longer matters; `None` where longer runs have the same steps.
    FinerSteps(Option<RunLength>),
    LongerWarmUp {
        seconds: u64,
    },
    /// Give each client rows of its own: by a plan's key and its value where the rows are étalon's.
    MoreRows(Option<(String, u64)>),
    Resume,
    AllowUnequalDurability,
    AllowDifferentRows,
    Interleave,
    /// All threads that this machine has, where the plan gives the load fewer.
    MoreThreads {
        key: String,
    },
    MoreHosts,
    /// Ask for a rate that the systems carry, if the plan asks for one rate alone.
    LowerRate {
        key: Option<String>,
        rate: u64,
    },
    LargerFiles,
    /// Fix what failed; the reason is that of the first failure.
    FixFailures {
        reason: String,
        /// Transactions lost against others and may be tried again.
        is_lost_to_others: bool,
    },
    /// Searches that found no capacity, for the first reason.
    OtherLoad {
        reason: String,
    },
    MeasureAgain,
    /// A side changed, or étalon stood still, while they were measured.
    MeasureUndisturbed,
    /// The client's machine was too busy to give it a processor in time.
    FreeMachine,
    /// Hosts began too far apart for so short a measured part.
    BeginTogether,
    OtherMetric,
    CountFailures,
}

impl Remedy {
    /// Whether the remedy can be followed with imported results, which cannot be measured again.
    fn is_for_imports(&self) -> bool {
        match self {
            Remedy::MoreRounds(_)
            | Remedy::OtherQuantile { .. }
            | Remedy::AllowUnequalDurability
            | Remedy::AllowDifferentRows
            | Remedy::Interleave
            | Remedy::OtherMetric => true,
            Remedy::WholePlan
            | Remedy::LessNoise
            | Remedy::LongerRuns { .. }
            | Remedy::FinerSteps(_)
            | Remedy::LongerWarmUp { .. }
            | Remedy::MoreRows(_)
            | Remedy::Resume
            | Remedy::MoreThreads { .. }
            | Remedy::MoreHosts
            | Remedy::LowerRate { .. }
            | Remedy::LargerFiles
            | Remedy::FixFailures { .. }
            | Remedy::OtherLoad { .. }
            | Remedy::MeasureAgain
            | Remedy::MeasureUndisturbed
            | Remedy::FreeMachine
            | Remedy::BeginTogether
            | Remedy::CountFailures => false,
        }
    }
}

/// What would help some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemedyLine {
    /// The rows, by name.
    pub rows: Vec<String>,
    /// What to do, without a full stop.
    pub text: String,
    /// The command, which can be typed as it stands but for a masked password.
    pub command: Option<String>,
}

struct Context<'a> {
    evidence: &'a Evidence,
    lookup: Lookup<'a>,
    rules: &'a Rules,
    /// Rounds may decide a primary row by the plan's own margin and level.
    is_open: bool,
    /// The fewest operations that a run of a case had: of all kinds together, so that a kind may need more.
    fewest: OnceCell<BTreeMap<u32, f64>>,
}

/// Lists what would give rows without a verdict one, a line for each remedy with all its rows.
pub fn list_remedies(evidence: &Evidence, tables: &[Table], rules: &Rules) -> Vec<RemedyLine> {
    if evidence.apart.is_some() {
        // One experiment of both, which its notes say.
        return Vec::new();
    }
    let plan = &evidence.header.plan.comparison;
    let is_open = (rules.margin, rules.level) == (plan.margin, plan.level)
        && tables
            .iter()
            .flat_map(|table| &table.rows)
            .any(|row| row.metric.role == Role::Primary && look::row_decision(row) == Standing::Open);
    let is_imported = evidence.header.build == IMPORTED;
    let context = Context { evidence, lookup: Lookup::new(evidence), rules, is_open, fewest: OnceCell::new() };
    let mut found: Vec<(Remedy, Vec<String>)> = Vec::new();
    for table in tables {
        for row in &table.rows {
            for remedy in
                context.remedies_for_row(row).into_iter().filter(|remedy| !is_imported || remedy.is_for_imports())
            {
                let name = row_title(row, table, has_pairs(tables));
                match found.iter_mut().find_map(|(known, rows)| Some((merge_remedies(known, &remedy)?, known, rows))) {
                    Some((both, known, rows)) => {
                        *known = both;
                        rows.push(name);
                    }
                    None => found.push((remedy, vec![name])),
                }
            }
        }
    }
    let again = RerunCommand::new(&evidence.header, rules, found.iter().map(|(remedy, _)| remedy));
    found.into_iter().map(|(remedy, rows)| context.remedy_line(&remedy, rows, &again)).collect()
}

/// Merges two remedies of one kind into one that is enough for both; `None` if they are of different kinds.
fn merge_remedies(a: &Remedy, b: &Remedy) -> Option<Remedy> {
    match (a, b) {
        (Remedy::MoreRounds(a), Remedy::MoreRounds(b)) => Some(Remedy::MoreRounds(*a.max(b))),
        (Remedy::LongerWarmUp { seconds: a }, Remedy::LongerWarmUp { seconds: b }) => {
            Some(Remedy::LongerWarmUp { seconds: *a.max(b) })
        }
        (Remedy::MoreRows(Some((a, n))), Remedy::MoreRows(Some((b, m)))) if a == b => {
            Some(Remedy::MoreRows(Some((a.clone(), *n.max(m)))))
        }
        (Remedy::LongerRuns { needed: n, length: a }, Remedy::LongerRuns { needed: m, length: b })
            if a.key == b.key =>
        {
            Some(Remedy::LongerRuns { needed: *n.max(m), length: a.max(b).clone() })
        }
        (Remedy::FinerSteps(Some(a)), Remedy::FinerSteps(Some(b))) if a.key == b.key => {
            Some(Remedy::FinerSteps(Some(a.max(b).clone())))
        }
        (Remedy::OtherQuantile { needed: a }, Remedy::OtherQuantile { needed: b }) => {
            Some(Remedy::OtherQuantile { needed: *a.max(b) })
        }
        (Remedy::LowerRate { key: k, rate: a }, Remedy::LowerRate { key: l, rate: b }) if k == l => {
            Some(Remedy::LowerRate { key: k.clone(), rate: *a.min(b) })
        }
        (a, b) => (a == b).then(|| a.clone()),
    }
}

impl Context<'_> {
    /// Lists what would help a row to a verdict.
    fn remedies_for_row(&self, row: &Comparison) -> Vec<Remedy> {
        let of_outcome = match &row.outcome {
            // Its rounds are planned already.
            Outcome::Verdict(Verdict::Inconclusive) if self.rules.unfinished.is_some() => Some(Remedy::Resume),
            Outcome::Verdict(Verdict::Inconclusive) => Some(self.more_rounds(row.rounds_needed)),
            Outcome::Verdict(_) => None,
            Outcome::None(reason) => self.remedy_for_reason(reason, row),
        };
        // What is fixed or allowed still takes its rounds; those that lack a side's run are whole once that is fixed.
        let missing = self.rules.min_rounds.saturating_sub(self.evidence.round_count());
        let also = of_outcome
            .as_ref()
            .filter(|remedy| missing > 0 && !is_about_rounds(remedy))
            .map(|_| self.enough_rounds(missing));
        of_outcome.into_iter().chain(also).chain(self.longer_warm_up(row)).chain(more_rows_remedy(row)).collect()
    }

    /// The remedy for a reason; `None` for what has no verdict by its nature.
    fn remedy_for_reason(&self, reason: &NoVerdict, row: &Comparison) -> Option<Remedy> {
        Some(match reason {
            NoVerdict::Unfinished(_) => Remedy::Resume,
            NoVerdict::TooFewRounds { missing } => self.enough_rounds(*missing),
            NoVerdict::UnequalDurability { .. } => Remedy::AllowUnequalDurability,
            NoVerdict::DifferentRows(_) => Remedy::AllowDifferentRows,
            NoVerdict::SequentialOrder => Remedy::Interleave,
            NoVerdict::Voided { .. } => self.remedy_for_mark(row),
            NoVerdict::IncompleteRuns { .. } | NoVerdict::NotAvailable { .. } | NoVerdict::TooFewOperations { .. } => {
                return self.remedy_for_missing(row);
            }
            NoVerdict::Failures { .. } => failure_remedy(row),
            NoVerdict::Repeated { .. } | NoVerdict::CutOff { .. } | NoVerdict::MeasuredAgain { .. } => {
                Remedy::MeasureAgain
            }
            NoVerdict::SystemChanged { .. } => Remedy::MeasureUndisturbed,
            NoVerdict::FailuresUnknown { .. } => Remedy::CountFailures,
            NoVerdict::OnlyBounds { .. } => Remedy::OtherLoad { reason: reason.short_reason() },
            NoVerdict::NotComparable(_) => Remedy::OtherMetric,
            NoVerdict::UnderClockStep => {
                let is_of_work = matches!(row.metric.quantity(), Quantity::Rate | Quantity::Cpu);
                Remedy::FinerSteps(if is_of_work { self.longer_run_length(row, FINER) } else { None })
            }
            NoVerdict::NoBetterSide
            | NoVerdict::Diagnostic
            | NoVerdict::Apart(_)
            | NoVerdict::DifferentAnswers { .. }
            | NoVerdict::UnstableAnswers { .. }
            | NoVerdict::CachedAnswers { .. } => return None,
        })
    }

    /// The remedy for missing rounds: the whole plan after its quick form, else more rounds.
    fn enough_rounds(&self, missing: u32) -> Remedy {
        if rerun_command::is_quick(&self.evidence.header) { Remedy::WholePlan } else { self.more_rounds(Some(missing)) }
    }

    /// The remedy of more rounds, or of less noise where too many would be needed.
    fn more_rounds(&self, missing: Option<u32>) -> Remedy {
        match missing.filter(|missing| *missing <= MOST_MORE) {
            Some(missing) => Remedy::MoreRounds((self.evidence.round_count() + missing).max(self.rules.min_rounds)),
            None => Remedy::LessNoise,
        }
    }

    /// The remedy for missing values: other load, longer runs or another quantile, or failures to fix.
    fn remedy_for_missing(&self, row: &Comparison) -> Option<Remedy> {
        let has_failed = row.warnings.iter().any(|warning| matches!(warning, Warning::Dropped { .. }));
        if let Some((reason, _)) = missing_values(row).next()
            && row.metric.id.starts_with(CAPACITY)
            && !has_failed
        {
            return Some(Remedy::OtherLoad { reason: reason.to_string() });
        }
        let needed = missing_values(row).filter_map(|(missing, _)| missing.operations_needed()).max();
        match needed {
            Some(_) if rerun_command::is_quick(&self.evidence.header) => Some(Remedy::WholePlan),
            Some(needed) => Some(match self.operations_of_row(row).map(|had| needed as f64 / had.max(1.0) * SPARE) {
                Some(factor) => match self.longer_run_length(row, factor) {
                    Some(length) => Remedy::LongerRuns { needed, length },
                    None => Remedy::OtherQuantile { needed },
                },
                None => Remedy::OtherQuantile { needed },
            }),
            None => has_failed.then(|| failure_remedy(row)),
        }
    }

    /// The fewest operations that a run of the row's cases had.
    fn operations_of_row(&self, row: &Comparison) -> Option<f64> {
        let fewest = self.fewest.get_or_init(|| self.fewest_operations());
        fewest.iter().filter(|(case, _)| self.is_case_of_row(**case, row)).map(|(_, fewest)| *fewest).reduce(f64::min)
    }

    fn is_case_of_row(&self, case: u32, row: &Comparison) -> bool {
        self.evidence.case(case).is_some_and(|case| {
            case.benchmark == row.benchmark && row.case.iter().all(|(key, value)| case.point.get(key) == Some(value))
        })
    }

    /// Computes the fewest operations that a run of each case had, by rate and length.
    fn fewest_operations(&self) -> BTreeMap<u32, f64> {
        let mut fewest: BTreeMap<u32, f64> = BTreeMap::new();
        for stored in self.evidence.measurements.iter().filter(|stored| counts_operations(&stored.measurement.metric)) {
            let Some(run) = self.lookup.run_by_id(stored.run_id) else { continue };
            if let model::Reading::Value(rate) = stored.measurement.reading
                && rate > 0.0
            {
                let operations = rate * run.elapsed_s;
                fewest.entry(stored.case).and_modify(|least| *least = least.min(operations)).or_insert(operations);
            }
        }
        fewest
    }

    /// The length of runs, by the key that ends them, that is longer by a factor; `None` if they would become too long.
    fn longer_run_length(&self, row: &Comparison, factor: f64) -> Option<RunLength> {
        const COUNTS: [&str; 4] = ["tasks", "queries", "statements", "executions"];
        let schedule = &self.evidence.header.plan.schedule;
        let longest_s = row
            .a
            .runs
            .iter()
            .chain(&row.b.runs)
            .map(|point| point.run)
            .filter_map(|run| self.lookup.run_by_id(run).map(|stored| stored.elapsed_s))
            .fold(0.0, f64::max);
        if longest_s * factor > LONGEST_RUN_S {
            return None;
        }
        Some(
            match (
                COUNTS.iter().find_map(|key| Some((*key, row.case.get(*key)?.as_int().filter(|value| *value > 0)?))),
                schedule.length_at(&row.case),
            ) {
                (Some((key, value)), _) => RunLength {
                    key: settable_key(&row.benchmark, key),
                    value: count_times(value.unsigned_abs(), factor),
                },
                (None, Length::Transactions(each)) => {
                    RunLength { key: "schedule.transactions".to_owned(), value: count_times(each, factor) }
                }
                (None, Length::Duration(length)) => {
                    let seconds = length.as_secs_f64() * factor;
                    if seconds > LONGEST_RUN_S {
                        return None;
                    }
                    let key = if row.case.contains_key(Schedule::OWN_LENGTH) {
                        settable_key(&row.benchmark, Schedule::OWN_LENGTH)
                    } else {
                        "schedule.duration".to_owned()
                    };
                    RunLength { key, value: LengthValue::Seconds(seconds.ceil() as u64) }
                }
            },
        )
    }

    /// The remedy of a warm-up that ends a fifth after the last change of level that a run of the row has shown.
    fn longer_warm_up(&self, row: &Comparison) -> Option<Remedy> {
        if !row.warnings.iter().any(|warning| matches!(warning, Warning::Marked { kind: MarkKind::WarmUpTooShort, .. }))
        {
            return None;
        }
        let latest_s = row
            .a
            .runs
            .iter()
            .chain(&row.b.runs)
            .filter_map(|point| {
                let run = self.lookup.run_by_id(point.run)?;
                let share =
                    self.lookup.marks_of_run(point.run).filter_map(model::Mark::change_point).reduce(f64::max)?;
                Some(share * run.elapsed_s)
            })
            .reduce(f64::max)?;
        let warmup_s = self.evidence.header.plan.schedule.warmup.as_secs_f64();
        Some(Remedy::LongerWarmUp { seconds: (warmup_s + latest_s * 1.2).ceil() as u64 })
    }

    /// The remedy for the first mark on the row's runs that voids a verdict.
    fn remedy_for_mark(&self, row: &Comparison) -> Remedy {
        let voiding = row.warnings.iter().find_map(|warning| match warning {
            Warning::Marked { kind, .. } if kind.voids_verdict() => Some(*kind),
            _ => None,
        });
        match voiding {
            Some(MarkKind::ClientSaturated) => {
                // Threads that ask are no threads that make a load of clients.
                let few = row.case.contains_key("clients")
                    && integer_at(&row.case, "threads").is_some_and(|threads| threads > 0);
                if few {
                    Remedy::MoreThreads { key: settable_key(&row.benchmark, "threads") }
                } else {
                    Remedy::MoreHosts
                }
            }
            Some(MarkKind::RateNotMet) => {
                let sides: [&Side; 2] = [&row.a, &row.b];
                let is_rate = row.metric.quantity() == Quantity::Rate;
                let values = sides.into_iter().flat_map(|side| &side.runs).map(|point| point.value);
                let carried = if is_rate { values.reduce(f64::min) } else { None };
                let benchmark = self.evidence.header.plan.benchmarks.iter().find(|own| own.name == row.benchmark);
                let is_single = benchmark
                    .is_some_and(|own| own.points.iter().all(|point| point.get("rate") == own.points[0].get("rate")));
                let key = is_single.then(|| settable_key(&row.benchmark, "rate"));
                let asked = row.case.get("rate").and_then(model::Value::as_float).unwrap_or_default();
                let carried = carried.or_else(|| Some(self.operations_of_row(row)? / self.longest_run_s(row)));
                let rate = carried.unwrap_or(asked / 2.0) * 0.9;
                Remedy::LowerRate { key, rate: (rate as u64).max(1) }
            }
            Some(MarkKind::Backlog) => {
                let warmup_s = self.evidence.header.plan.schedule.warmup.as_secs_f64();
                Remedy::LongerWarmUp { seconds: (warmup_s + self.longest_run_s(row)).ceil() as u64 }
            }
            Some(MarkKind::Paused | MarkKind::OtherLocks) => Remedy::MeasureUndisturbed,
            Some(MarkKind::WokenLate) => Remedy::FreeMachine,
            Some(MarkKind::StartedApart) => Remedy::BeginTogether,
            Some(MarkKind::ServedByCache) => Remedy::LargerFiles,
            Some(MarkKind::TooFewOperations) => self.longer_short_runs(row),
            _ => failure_remedy(row),
        }
    }

    /// The remedy of short runs that have enough operations at the row's lowest capacity without being lengthened.
    fn longer_short_runs(&self, row: &Comparison) -> Remedy {
        let runs: Vec<i64> = row.a.runs.iter().chain(&row.b.runs).map(|point| point.run).collect();
        let capacities = self
            .evidence
            .measurements
            .iter()
            .filter(|stored| stored.measurement.metric.id == CAPACITY && runs.contains(&stored.run_id));
        let lowest = capacities.filter_map(|stored| stored.measurement.reading.value()).fold(f64::INFINITY, f64::min);
        let seconds = (model::Promise::ENOUGH / lowest * SPARE).clamp(1.0, LONGEST_RUN_S).ceil() as u64;
        let length = RunLength { key: "schedule.duration".to_owned(), value: LengthValue::Seconds(seconds) };
        Remedy::LongerRuns { needed: model::Promise::ENOUGH as u64, length }
    }

    /// The length in seconds of the row's longest run.
    fn longest_run_s(&self, row: &Comparison) -> f64 {
        row.a
            .runs
            .iter()
            .chain(&row.b.runs)
            .filter_map(|point| self.lookup.run_by_id(point.run).map(|stored| stored.elapsed_s))
            .fold(1e-9, f64::max)
    }

    /// Makes the line of a remedy for its rows, with the command to type.
    fn remedy_line(&self, remedy: &Remedy, rows: Vec<String>, again: &RerunCommand) -> RemedyLine {
        let is_imported = self.evidence.header.build == IMPORTED;
        let store = self.store_argument();
        let command = match remedy {
            Remedy::Resume => Some(format!("etalon resume {store}")),
            // An import has no systems to run.
            Remedy::MoreRounds(_) if self.rules.sequence.is_some() && is_imported => None,
            Remedy::MoreRounds(rounds) if self.rules.sequence.is_some() => Some(match self.evidence.round_count() {
                _ if self.is_open => format!("etalon extend {store}"),
                // Sure by the plan's own rules, it would end at once.
                has => format!("etalon extend {store} --rounds {}", rounds.saturating_sub(has).max(1)),
            }),
            Remedy::AllowUnequalDurability => Some(format!("etalon compare {store} {}", rerun_command::ALLOW_UNEQUAL)),
            Remedy::AllowDifferentRows => Some(format!("etalon compare {store} {}", rerun_command::ALLOW_DIFFERENT)),
            // What is judged after each round goes on.
            Remedy::MeasureAgain if self.rules.sequence.is_some() => Some(format!("etalon extend {store}")),
            Remedy::Interleave if again.command.is_none() => {
                Some(format!("etalon compare {store} {}", rerun_command::ALLOW_SEQUENTIAL))
            }
            Remedy::OtherMetric => Some(format!("etalon compare {store} --metrics all")),
            Remedy::OtherQuantile { .. } => Some(format!("etalon compare {store} --metrics all")),
            Remedy::LessNoise => Some("etalon doctor".to_owned()),
            Remedy::MoreHosts | Remedy::LargerFiles | Remedy::CountFailures | Remedy::FinerSteps(None) => None,
            Remedy::OtherLoad { .. } | Remedy::LowerRate { key: None, .. } | Remedy::MoreRows(None) => None,
            _ => again.command.clone(),
        };
        let masked = command.as_deref().filter(|command| command.contains(model::plan::MASK));
        let with_password =
            masked.map_or(String::new(), |_| format!(", with the password in place of `{}`", model::plan::MASK));
        RemedyLine { rows, text: remedy_text(remedy, self.rules) + &with_password, command }
    }

    /// The store's path quoted for a shell; `STORE` if it is not known.
    fn store_argument(&self) -> String {
        let path = self.evidence.store.as_ref().map_or_else(|| "STORE".into(), |path| path.to_string_lossy());
        shlex::try_quote(&path).map_or_else(|_| "STORE".to_owned(), std::borrow::Cow::into_owned)
    }
}

/// Whether a metric is a rate of operations.
fn counts_operations(metric: &model::Metric) -> bool {
    metric.quantity() == Quantity::Rate && metric.role != Role::Diagnostic && !metric.unit.contains('B')
}

/// Multiplies a count by a factor, rounded up.
fn count_times(value: u64, factor: f64) -> LengthValue {
    LengthValue::Count((value as f64 * factor).ceil() as u64)
}

/// Lists the reasons why the row's sides have no values.
fn missing_values(row: &Comparison) -> impl Iterator<Item = &(model::NoValue, usize)> {
    row.a.unavailable.iter().chain(&row.b.unavailable)
}

fn is_about_rounds(remedy: &Remedy) -> bool {
    matches!(remedy, Remedy::MoreRounds(_) | Remedy::WholePlan | Remedy::LessNoise | Remedy::Resume)
}

/// A key's value as a whole number.
fn integer_at(point: &Point, key: &str) -> Option<i64> {
    point.get(key).and_then(model::Value::as_int)
}

/// The remedy of more rows to lock, for a row whose clients waited for one another in most runs.
fn more_rows_remedy(row: &Comparison) -> Option<Remedy> {
    /// Keys whose every step has a row that many transactions lock.
    const KEYS: [&str; 2] = ["scale", "warehouses"];
    let is_marked = |warning: &Warning| matches!(warning, Warning::Marked { kind: MarkKind::RowLocks, runs, of, .. } if 2 * runs > *of);
    // Of one metric, so that it is said once for a case.
    if row.metric.role != Role::Primary || !row.warnings.iter().any(is_marked) {
        return None;
    }
    let clients = integer_at(&row.case, "clients").unwrap_or(1) * integer_at(&row.case, "processes").unwrap_or(1);
    let key = KEYS.into_iter().find(|key| integer_at(&row.case, key).is_some_and(|value| value < clients));
    Some(Remedy::MoreRows(key.map(|key| (settable_key(&row.benchmark, key), clients.unsigned_abs()))))
}

/// Writes a benchmark's key as `--set` takes it.
fn settable_key(benchmark: &str, key: &str) -> String {
    let is_plain = benchmark.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_') && !benchmark.is_empty();
    if is_plain { format!("benchmarks.{benchmark}.{key}") } else { format!("benchmarks.\"{benchmark}\".{key}") }
}

fn failure_remedy(row: &Comparison) -> Remedy {
    let found = row.warnings.iter().find_map(|warning| match warning {
        Warning::Dropped { reason, .. } => Some((reason.clone(), false)),
        Warning::Marked { kind: MarkKind::Errors, detail, data, .. } => {
            Some((detail.clone(), *data == Some(MarkData::LostToOthers)))
        }
        _ => None,
    });
    let (reason, is_lost_to_others) = found.unwrap_or_default();
    Remedy::FixFailures { reason, is_lost_to_others }
}

/// Says how many rounds it takes, and how often they settle it.
fn more_rounds_text(rounds: u32, rules: &Rules) -> String {
    // By then earlier looks may have settled it.
    let chance = if rules.sequence.is_some() { "about six times in ten" } else { "about every other time" };
    match rounds {
        ..=stats::MIN_ROUNDS => format!("a verdict takes {rounds} rounds"),
        _ => format!("{rounds} rounds in all settle it {chance}"),
    }
}

/// Says that what was repeated is no fair choice; only what is judged after each round can go on.
fn measure_again_text(rules: &Rules) -> &'static str {
    match rules.sequence {
        Some(_) => "what was repeated is no fair choice until more rounds outweigh it",
        None => "measure anew: what was repeated is no fair choice",
    }
}

/// Says that what failed is to be fixed first, and why it failed.
fn fix_failures_text(reason: &str, is_lost_to_others: bool) -> String {
    let advice = "fix what failed, then measure anew: longer or more runs do not help";
    if reason.is_empty() {
        return advice.to_owned();
    }
    let tries = if is_lost_to_others {
        "; what loses against others is tried until it succeeds by `--set 'benchmarks.*.max_tries=0'`"
    } else {
        ""
    };
    format!("{advice} ({reason}){tries}")
}

/// Says that clients waited for the same rows, and what gives them more; `own` is a key of étalon's tables with its value.
fn spread_rows_text(own: Option<&(String, u64)>) -> String {
    let rest = match own {
        Some((key, value)) => {
            let key = key.rsplit('.').next().unwrap_or_default();
            format!("`{key} = {value}` has some for each client")
        }
        None => "spread the script over more rows, or ask for fewer clients".to_owned(),
    };
    format!("the clients waited for the same rows: {rest}")
}

const FREE_MACHINE: &str = "the load generator was idle and its machine busy: stop what else runs there (`etalon doctor` names it), \
                            or let other hosts make the load (`etalon agent` there, `clients_on` in the plan)";

fn remedy_text(remedy: &Remedy, rules: &Rules) -> String {
    match remedy {
        Remedy::MoreRounds(rounds) => more_rounds_text(*rounds, rules),
        Remedy::WholePlan => "the quick form only shows that it works: run the plan itself".to_owned(),
        Remedy::LessNoise => format!(
            "not even {MOST_MORE} rounds more would settle it: the runs differ too much from each other. Quieten the machine, \
             make the runs longer, or widen the margin"
        ),
        Remedy::LongerRuns { needed, length } => format!(
            "more rounds do not help: a run needs {} operations for it. At the rate that was measured that takes {}",
            whole_number(*needed, Script::Plain),
            length.in_words()
        ),
        Remedy::OtherQuantile { needed } => format!(
            "more rounds do not help: a run needs {} operations for it, and at the rate that was measured that takes too \
             long. Judge by a lower quantile, such as p95 or p90",
            whole_number(*needed, Script::Plain)
        ),
        Remedy::FinerSteps(Some(length)) => {
            format!("the difference is under the resolution of the figure: {} have a tenth of it", length.in_words())
        }
        Remedy::FinerSteps(None) => {
            "as far as this clock can tell the sides are equal: only operations that take longer would show more"
                .to_owned()
        }
        Remedy::LongerWarmUp { seconds } => {
            format!("the level changed within the measured part: a warm-up of {seconds} s ends after that")
        }
        Remedy::MoreRows(own) => spread_rows_text(own.as_ref()),
        Remedy::Resume => "run the rest".to_owned(),
        Remedy::AllowUnequalDurability => {
            "the sides promise different things at commit: set both alike, or compare them as they are".to_owned()
        }
        Remedy::AllowDifferentRows => {
            "give both sides the same rows, or on disks the same `span_mb`, and measure again (of an UPDATE, MySQL and MariaDB \
             count the rows whose values it changes); or compare them as they are"
                .to_owned()
        }
        Remedy::Interleave => "what changed on the machine in the meantime looks like a difference: let each round run every case, \
                               in random order"
            .to_owned(),
        Remedy::MoreThreads { .. } => "the load generator was at its limit: let it use every core".to_owned(),
        Remedy::MoreHosts => {
            "the load generator was at its limit: let other hosts make the load (`etalon agent` there, \
                              `clients_on` in the plan), or ask for fewer clients"
                .to_owned()
        }
        Remedy::LowerRate { rate, .. } => {
            format!("the systems did not carry the rate: ask for one that both carry, such as {rate} a second")
        }
        Remedy::LargerFiles => {
            "a cache answered for the device: work on files of several times the memory (`size_mb`), or \
                                past the caches (`cache = \"none\"`)"
                .to_owned()
        }
        Remedy::FixFailures { reason, is_lost_to_others } => fix_failures_text(reason, *is_lost_to_others),
        Remedy::OtherLoad { reason } => format!(
            "every search has to find a capacity: run it with another promise (`--p99`), more clients, or longer short \
             (`schedule.duration`): {reason}"
        ),
        Remedy::MeasureAgain => measure_again_text(rules).to_owned(),
        Remedy::MeasureUndisturbed => "measure again, and change nothing while it is measured".to_owned(),
        Remedy::FreeMachine => FREE_MACHINE.to_owned(),
        Remedy::BeginTogether => {
            "measure longer (`schedule.duration`), or by hosts that answer sooner (`etalon agents` shows their round trips)".to_owned()
        }
        Remedy::OtherMetric => "judge by another metric: the values of this one have no ratio".to_owned(),
        Remedy::CountFailures => "count what failed where it was measured, and import that too".to_owned(),
    }
}
