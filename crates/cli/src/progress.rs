//! Progress on stderr: a bar with the time left on a terminal, a line for each run elsewhere.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use conductor::Registry;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::observer::{ExperimentProgress as HowFar, Observer, StepProgress, TablesProgress, Tick};
use load::worker::TaskLog;
use model::{
    Case, Facts, Look, Mark, Measurement, Plan, PlannedRun, Promise, Reading, Role, RowSoFar, RunRecord, RunState,
    Standing, Stop,
};
use workloads::system::{Notice, Notices};

use report::comparison::mark_name;
use report::number::{Script, count_noun, significant_digits};
use report::text::wrap_to_width;

use crate::printer::{Printer, clean_text};
use crate::task_log::TaskLogs;

pub struct Progress<'a> {
    printer: Printer,
    registry: &'a Registry,
    plan: &'a Plan,
    bar: Option<ProgressBar>,
    running: String,
    /// Unit of the rate of the running run's workload.
    rate_unit: &'static str,
    task_logs: Option<TaskLogs>,
    /// Once it is known.
    reactor: Option<String>,
    /// Reason of the last run without a result.
    reason: Option<String>,
    /// Rows that were reported as decided.
    decided: BTreeSet<String>,
    /// When this run's load was last reported, where there is no bar.
    told_of_load: Option<Instant>,
}

/// Interval between reports on a load, where there is no bar.
const TELL_LOAD_EVERY: Duration = Duration::from_secs(10);

/// Number of open rows that are named after a round.
const MOST_OPEN_ROWS: usize = 8;

impl<'a> Progress<'a> {
    /// Makes the bar on a terminal, with nothing run yet.
    pub fn new(printer: Printer, registry: &'a Registry, plan: &'a Plan, task_logs: Option<TaskLogs>) -> Progress<'a> {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
            // When it is sure is not known before.
            let template = match (may_end_early(plan), has_searches(plan)) {
                (true, false) => "{bar:30} {pos} of at most {len} runs, at most {prefix} left\n{wide_msg}",
                (true, true) => "{bar:30} {pos} of at most {len} runs, about {prefix} left\n{wide_msg}",
                (false, _) => "{bar:30} {pos}/{len} runs, {prefix} left\n{wide_msg}",
            };
            let style = ProgressStyle::with_template(template);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let (running, rate_unit, reactor, reason) = (String::new(), "", None, None);
        Progress {
            printer,
            registry,
            plan,
            bar,
            running,
            rate_unit,
            task_logs,
            reactor,
            reason,
            decided: BTreeSet::new(),
            told_of_load: None,
        }
    }

    /// Makes the sink that prints, from any thread, what a silent system waits for.
    pub fn notices(&self) -> Notices {
        let (printer, bar) = (self.printer, self.bar.clone());
        Notices::new(move |notice| match &bar {
            Some(bar) => bar.suspend(|| print_notice(notice, printer)),
            None => print_notice(notice, printer),
        })
    }

    /// Names a case by the keys that vary in its benchmark.
    fn case_label(&self, case: &Case) -> String {
        case.label(&self.plan.varying_keys(&case.benchmark))
    }

    /// Removes the bar from the terminal.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Prints a note above the bar.
    fn print_above_bar(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.printer.print_note(text)),
            None => self.printer.print_note(text),
        }
    }
}

impl Observer for Progress<'_> {
    /// Prints which reactor makes the load, once and when it changes, and whether the system's commits wait for the disk.
    fn system_known(&mut self, name: &str, facts: &Facts) {
        let reactor = facts.get("client.reactor");
        if let Some(kind) = reactor.filter(|kind| self.reactor.as_deref() != Some(kind)) {
            self.reactor = Some(kind.to_owned());
            self.print_above_bar(&format!("reactor: {kind}"));
        }
        if let Some(durability) = facts.durability() {
            self.print_above_bar(&format!("{name}: commits {}", durability.tier.commit_words()));
        }
    }

    /// Prints how many measured runs are repeated, of rounds that stopped half-way.
    fn runs_repeated(&mut self, runs: usize) {
        let runs = count_noun(runs, "measured run");
        self.print_above_bar(&format!(
            "{runs} repeated, of rounds that stopped half-way: what is compared is measured together; \
             `--only-pending` leaves them as they are"
        ));
    }

    /// Prints how many rows are decided after a look, the newly decided ones, and the first open ones.
    fn look_taken(&mut self, rounds: u32, found: &Look, is_late: bool) {
        let width = self.printer.width();
        self.print_above_bar(wrap_to_width(&look_text(rounds, found, is_late), width, 2).trim_end());
        for row in found.with_standing(Standing::Decided) {
            if self.decided.insert(row.name.clone()) {
                self.print_above_bar(&standing_line("decided", row, width));
            }
        }
        for row in found.with_standing(Standing::Open).take(MOST_OPEN_ROWS) {
            self.print_above_bar(&standing_line("open", row, width));
        }
        let more = found.with_standing(Standing::Open).count().saturating_sub(MOST_OPEN_ROWS);
        if more > 0 {
            self.print_above_bar(&format!("  open: {more} more"));
        }
    }

    /// Shows a run's label and how far the experiment is, and begins its task log.
    fn run_started(&mut self, run: &PlannedRun, case: &Case, progress: HowFar) {
        self.running = self.case_label(case);
        self.told_of_load = None;
        self.rate_unit = self.registry.workload(&case.workload).map_or("", |workload| workload.spec().rate_unit);
        if let Some(logs) = &mut self.task_logs {
            logs.run_started(*run, &self.running);
        }
        if let Some(bar) = &self.bar {
            bar.set_length(progress.planned as u64);
            bar.set_position(progress.done as u64);
            bar.set_prefix(estimate_text(progress.left));
            bar.set_message(clean_text(&self.running));
        }
    }

    /// Shows how far tables are loaded, on the bar or in a note from time to time.
    fn tables_loading(&mut self, progress: TablesProgress<'_>) {
        let text = loading_text(&progress);
        if let Some(bar) = &self.bar {
            bar.set_message(clean_text(&format!("{}: {text}", self.running)));
        } else if self.told_of_load.is_none_or(|told| told.elapsed() >= TELL_LOAD_EVERY) {
            // The first only once it has turned out to be long.
            if self.told_of_load.replace(Instant::now()).is_some() {
                self.print_above_bar(&text);
            }
        }
    }

    /// Shows the rate and latencies of the last interval on the bar.
    fn tick(&mut self, tick: Tick) {
        if let Some(bar) = &self.bar {
            bar.set_message(clean_text(&format!("{}: {}", self.running, interval_text(&tick, self.rate_unit))));
        }
    }

    /// Shows which step of a run has started on the bar.
    fn step_started(&mut self, step: StepProgress<'_>) {
        if let Some(bar) = &self.bar {
            bar.set_message(clean_text(&format!("{}: {}, {} of {}", self.running, step.what, step.done + 1, step.of)));
        }
    }

    /// Writes the task logs of a run; warns if that fails.
    fn tasks_ended(&mut self, logs: &[TaskLog]) {
        if let Some(Err(warning)) = self.task_logs.as_mut().map(|files| files.write_logs(logs)) {
            self.warning(&warning);
        }
    }

    /// Prints the result of a run, or why it failed; on a terminal only failures.
    fn run_ended(&mut self, run: &PlannedRun, case: &Case, record: &RunRecord) {
        let text = match (&self.bar, record.state) {
            (Some(_), RunState::Measured) => return,
            (None, RunState::Measured) => {
                let marks: Vec<&str> =
                    record.marks.iter().filter(|mark| is_shown_mark(mark)).map(|m| mark_name(m.kind)).collect();
                let marks = if marks.is_empty() { String::new() } else { format!("  ({})", marks.join(", ")) };
                format!(
                    "round {}: {}: {}{marks}",
                    run.round + 1,
                    self.case_label(case),
                    first_figure_text(&record.measurements)
                )
            }
            (_, state) => {
                let reason = record.reason.as_deref().unwrap_or("no reason was given");
                let said = self.reason.replace(reason.to_owned()).is_some_and(|before| before == reason);
                let reason = if said { "as before" } else { reason };
                format!("round {}: {}: {state}: {reason}", run.round + 1, self.case_label(case))
            }
        };
        self.print_above_bar(&text);
    }

    /// Prints a warning above the bar.
    fn warning(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.printer.print_warning(text)),
            None => self.printer.print_warning(text),
        }
    }
}

/// Prints what an engine waits for as a warning, and what it works on as a remark.
pub fn print_notice(notice: Notice<'_>, printer: Printer) {
    match notice {
        Notice::Waits(text) => printer.print_warning(text),
        Notice::Works(text) => printer.print_remark(text),
    }
}

/// Whether an experiment may end before all its rounds: by its time, or when two systems' rows are decided.
/// A single system is never sure of anything.
pub fn may_end_early(plan: &Plan) -> bool {
    plan.schedule
        .until_sure
        .is_some_and(|until| until.max_time.is_some() || (until.stop != Stop::Never && plan.systems.len() > 1))
}

/// Whether some run of a plan is a search, which may take more short runs than are counted.
pub fn has_searches(plan: &Plan) -> bool {
    plan.cases().iter().any(|case| Promise::from_point(&case.point).is_some())
}

/// Says how far a load is: `loading pgbench, scale 100: 43 % of 10.0 million rows, about 20 s left`.
fn loading_text(progress: &TablesProgress<'_>) -> String {
    let TablesProgress { data, rows_done, rows, left } = *progress;
    if rows_done >= rows {
        return format!("loading {data}: keys, indexes and checks");
    }
    let left = left.map(|left| match left.as_secs() {
        seconds @ ..120 => format!(", about {seconds} s left"),
        _ => format!(", about {} left", estimate_text(left)),
    });
    let left = left.unwrap_or_default();
    let of = match rows {
        1_000_000.. => format!("{:.1} million rows", rows as f64 / 1e6),
        _ => format!("{rows} rows"),
    };
    format!("loading {data}: {} % of {of}{left}", rows_done * 100 / rows.max(1))
}

/// Writes the figures of an interval: `8120 io/s, p50 0.12 ms, p99 0.40 ms`.
fn interval_text(tick: &Tick, rate_unit: &str) -> String {
    let mut text = format!("{} {rate_unit}", figure_text(tick.rate_per_s));
    for (name, ns) in [("p50", tick.p50_ns), ("p99", tick.p99_ns)] {
        match ns {
            Some(ns) => text.push_str(&format!(", {name} {:.2} ms", ns as f64 / 1e6)),
            None => text.push_str(&format!(", {name} n/a")),
        }
    }
    if tick.errors > 0 {
        text.push_str(&format!(", {} errors", tick.errors));
    }
    if tick.backlog > 0 {
        text.push_str(&format!(", {} overdue", tick.backlog));
    }
    text
}

/// Whether a mark is shown: not a mere note.
fn is_shown_mark(mark: &Mark) -> bool {
    mark.kind != model::MarkKind::Note
}

/// The unit of a number of clients, of which there are no parts.
const CLIENTS: &str = "clients";

/// Writes the first primary metric of a run with its unit, or the first of all where none is primary.
fn first_figure_text(measurements: &[Measurement]) -> String {
    let primary = measurements.iter().find(|measured| measured.metric.role == Role::Primary);
    match primary.or(measurements.first()) {
        Some(Measurement { metric, reading: Reading::Value(value) }) => {
            if metric.unit == CLIENTS {
                return count_noun(value.round() as usize, "client");
            }
            format!("{} {}", figure_text(*value), metric.unit)
        }
        Some(Measurement { metric, reading: Reading::Unavailable(reason) }) => format!("{} n/a: {reason}", metric.id),
        None => "no measurement".to_owned(),
    }
}

/// Writes a figure: whole from 100 on, two or three digits below, so that what is slow is not printed as 0.
fn figure_text(value: f64) -> String {
    match value {
        ..10.0 => significant_digits(value, 2, Script::Plain),
        ..100.0 => significant_digits(value, 3, Script::Plain),
        _ => format!("{value:.0}"),
    }
}

/// Writes an estimate of time with its units: `16 s`, `7 min 40 s`, and from an hour on in whole minutes, `1 h 2 min`.
pub fn estimate_text(time: Duration) -> String {
    let seconds = time.as_secs().max(1);
    let seconds = if seconds < 3_600 { seconds } else { seconds.next_multiple_of(60) };
    model::duration::spaced_text(Duration::from_secs(seconds))
}

/// Writes a row's standing, name and figures, wrapped to the width.
fn standing_line(standing: &str, row: &RowSoFar, width: usize) -> String {
    const INDENT: usize = 2;
    let text =
        wrap_to_width(&format!("{standing}: {} {}", row.name, row.figures), width.saturating_sub(INDENT), 2 * INDENT);
    format!("{:INDENT$}{}", "", text.trim_end())
}

/// Says how many rows a look decided: `after 8 rounds 4 of 6 rows decided: nothing is open, …`.
fn look_text(rounds: u32, found: &Look, is_late: bool) -> String {
    let (decided, open, closed) = [Standing::Decided, Standing::Open, Standing::Closed]
        .map(|standing| found.with_standing(standing).count())
        .into();
    let rows = match found.rows.len() {
        0 => String::new(),
        all => format!(" {decided} of {} decided", count_noun(all, "row")),
    };
    let late = if is_late { ", and `schedule.max_time` is over" } else { "" };
    let rest = match (decided, closed) {
        _ if open > 0 || rows.is_empty() => String::new(),
        (_, 0) => ": nothing is open".to_owned(),
        (0, _) => ": no round can decide any, for the reasons that are given with them".to_owned(),
        _ => format!(": nothing is open, and no round can decide the other {closed}"),
    };
    format!("after {}{rows}{late}{rest}", count_noun(rounds as usize, "round"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_load_says_how_far_it_is() {
        let of = |rows_done, rows, left_s: Option<u64>| {
            let left = left_s.map(Duration::from_secs);
            loading_text(&TablesProgress { data: "order entry, 10 warehouses", rows_done, rows, left })
        };
        let begin = "loading order entry, 10 warehouses: ";
        assert_eq!(of(2_150_000, 5_000_000, Some(20)), format!("{begin}43 % of 5.0 million rows, about 20 s left"));
        assert!(of(1, 5_000_000, Some(3_725)).ends_with(": 0 % of 5.0 million rows, about 1 h 3 min left"));
        assert_eq!(of(0, 700_000, None), format!("{begin}0 % of 700000 rows"));
        assert_eq!(of(700_000, 700_000, Some(0)), format!("{begin}keys, indexes and checks"));
    }

    #[test]
    fn a_run_is_told_by_its_primary_metric() {
        let measured =
            |id: &str, role: Role, value: f64| Measurement::value(id, id, model::Direction::Higher, role, value);
        let of_order_entry = [measured("tx/s", Role::Secondary, 250.0), measured("NOPM", Role::Primary, 6_700.0)];
        assert_eq!(first_figure_text(&of_order_entry), "6700 NOPM");
        assert_eq!(first_figure_text(&of_order_entry[..1]), "250 tx/s");
        assert_eq!(first_figure_text(&[measured("clients", Role::Primary, 19.0)]), "19 clients");
        assert_eq!(first_figure_text(&[]), "no measurement");
    }

    #[test]
    fn a_look_says_what_is_decided_and_what_no_round_can_decide() {
        let said = |standings: &[Standing], is_late: bool| {
            look_text(
                8,
                &Look {
                    rows: standings
                        .iter()
                        .map(|standing| RowSoFar { name: String::new(), standing: *standing, figures: String::new() })
                        .collect(),
                    ..Look::default()
                },
                is_late,
            )
        };
        let (decided, open, closed) = (Standing::Decided, Standing::Open, Standing::Closed);
        assert_eq!(said(&[decided, open], false), "after 8 rounds 1 of 2 rows decided");
        assert_eq!(said(&[open], true), "after 8 rounds 0 of 1 row decided, and `schedule.max_time` is over");
        assert_eq!(said(&[decided], false), "after 8 rounds 1 of 1 row decided: nothing is open");
        let others = said(&[decided, closed, closed], false);
        assert_eq!(others, "after 8 rounds 1 of 3 rows decided: nothing is open, and no round can decide the other 2");
        assert!(said(&[closed], false).starts_with("after 8 rounds 0 of 1 row decided: no round can decide any"));
        assert_eq!(said(&[], true), "after 8 rounds, and `schedule.max_time` is over");
    }

    #[test]
    fn rows_of_long_names_stay_within_a_terminal() {
        let name =
            "order-entry, clients=64, isolation=repeatable-read, response p99 of new order, old → new".to_owned();
        let figures = "-12 % [-31, +12], about 123 rounds to go".to_owned();
        let row = RowSoFar { name: name.clone(), standing: Standing::Open, figures: figures.clone() };
        let said = standing_line("open", &row, 80);
        assert!(said.lines().count() > 1 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
        assert!(said.starts_with("  open: ") && said.lines().skip(1).all(|line| line.starts_with("    ")), "{said}");
        assert_eq!(said.split_whitespace().collect::<Vec<_>>().join(" "), format!("open: {name} {figures}"));
        let short = RowSoFar { name: "points, p50".to_owned(), ..row };
        assert_eq!(standing_line("open", &short, 80), format!("  open: points, p50 {figures}"));
    }

    #[test]
    fn a_rate_has_the_unit_of_its_workload() {
        let registry = Registry::built_in();
        let tick = Tick { rate_per_s: 8_120.4, p50_ns: Some(120_000), p99_ns: Some(400_000), errors: 0, backlog: 0 };
        let of =
            |workload: &str, tick: &Tick| interval_text(tick, registry.workload(workload).unwrap().spec().rate_unit);
        assert_eq!(of("disk", &tick), "8120 io/s, p50 0.12 ms, p99 0.40 ms");
        assert_eq!(of("transactions", &Tick { errors: 3, ..tick }), "8120 tx/s, p50 0.12 ms, p99 0.40 ms, 3 errors");
        assert_eq!(
            of("transactions", &Tick { rate_per_s: 0.31, p50_ns: None, p99_ns: None, ..tick }),
            "0.31 tx/s, p50 n/a, p99 n/a"
        );
        assert!(of("pages", &Tick { backlog: 7, ..tick }).starts_with("8120 commits/s"));
        assert!(of("pages", &Tick { backlog: 7, ..tick }).ends_with(", 7 overdue"));
    }
}
