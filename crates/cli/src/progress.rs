//! Progress on stderr: a bar with the time left on a terminal, a line for each trial elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use engine::worker::TaskLog;
use engine::{Observer, Progress as HowFar, StepProgress, Tick};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Cell, Facts, Mark, Measurement, Plan, PlannedTrial, Reading, TrialRecord, TrialState};

use crate::printer::Printer;
use crate::task_log::TaskLogs;

/// Shows how far the experiment has come.
pub struct Progress<'a> {
    printer: Printer,
    plan: &'a Plan,
    bar: Option<ProgressBar>,
    running: String,
    task_logs: Option<TaskLogs>,
    /// What sends and receives, once it was said.
    reactor: Option<String>,
}

impl<'a> Progress<'a> {
    /// Progress of a plan.
    pub fn new(printer: Printer, plan: &'a Plan, task_logs: Option<TaskLogs>) -> Progress<'a> {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} trials, {prefix} left\n{wide_msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { printer, plan, bar, running: String::new(), task_logs, reactor: None }
    }

    fn label(&self, cell: &Cell) -> String {
        cell.label(&self.plan.varying_keys(&cell.benchmark))
    }

    /// Takes the bar away before the results are printed.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.printer.note(text)),
            None => self.printer.note(text),
        }
    }
}

impl Observer for Progress<'_> {
    fn system_known(&mut self, _name: &str, facts: &Facts) {
        let reactor = facts.get("client.reactor");
        if let Some(kind) = reactor.filter(|kind| self.reactor.as_deref() != Some(kind)) {
            self.reactor = Some(kind.to_owned());
            self.say(&format!("reactor: {kind}"));
        }
    }

    fn trial_started(&mut self, trial: &PlannedTrial, cell: &Cell, progress: HowFar) {
        self.running = self.label(cell);
        if let Some(logs) = &mut self.task_logs {
            logs.trial_started(*trial, &self.running);
        }
        if let Some(bar) = &self.bar {
            bar.set_length(progress.planned as u64);
            bar.set_position(progress.done as u64);
            bar.set_prefix(clock(progress.left));
            bar.set_message(self.running.clone());
        }
    }

    fn tick(&mut self, tick: Tick) {
        if let Some(bar) = &self.bar {
            let ms = |ns: u64| ns as f64 / 1e6;
            let mut errors = if tick.errors > 0 { format!(", {} errors", tick.errors) } else { String::new() };
            if tick.backlog > 0 {
                errors.push_str(&format!(", {} overdue", tick.backlog));
            }
            bar.set_message(format!(
                "{}: {:.0} tx/s, p50 {:.2} ms, p99 {:.2} ms{errors}",
                self.running,
                tick.rate_per_s,
                ms(tick.p50_ns),
                ms(tick.p99_ns)
            ));
        }
    }

    fn step(&mut self, step: StepProgress<'_>) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {}, {} of {}", self.running, step.what, step.done + 1, step.of));
        }
    }

    fn tasks_ended(&mut self, logs: &[TaskLog]) {
        if let Some(Err(warning)) = self.task_logs.as_ref().map(|files| files.write(logs)) {
            self.warning(&warning);
        }
    }

    fn trial_ended(&mut self, trial: &PlannedTrial, cell: &Cell, record: &TrialRecord) {
        let text = match (&self.bar, record.state) {
            (Some(_), TrialState::Measured) => return,
            (None, TrialState::Measured) => {
                let marks: Vec<&str> =
                    record.marks.iter().filter(|mark| worth_a_word(mark)).map(|m| m.kind.as_str()).collect();
                let marks = if marks.is_empty() { String::new() } else { format!("  ({})", marks.join(", ")) };
                format!("block {}: {}: {}{marks}", trial.block + 1, self.label(cell), headline(&record.measurements))
            }
            (_, state) => {
                let reason = record.reason.as_deref().unwrap_or("no reason was given");
                format!("block {}: {}: {state}: {reason}", trial.block + 1, self.label(cell))
            }
        };
        self.say(&text);
    }

    fn warning(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.printer.warning(text)),
            None => self.printer.warning(text),
        }
    }
}

fn worth_a_word(mark: &Mark) -> bool {
    mark.kind != model::MarkKind::Note
}

/// The first primary metric with its unit.
fn headline(measurements: &[Measurement]) -> String {
    match measurements.first() {
        Some(Measurement { metric, reading: Reading::Value(value) }) => format!("{value:.0} {}", metric.unit),
        Some(Measurement { metric, reading: Reading::Unavailable(reason) }) => format!("{} n/a: {reason}", metric.id),
        None => "no measurement".to_owned(),
    }
}

/// `1:05` or `1:02:05`.
pub fn clock(left: Duration) -> String {
    let seconds = left.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}
