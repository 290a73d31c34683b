//! The procedure: one thread reads the capture in the order of starts, and gives each execution to the connection of its session.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use formats::capture::{Recorded, SavedCapture};

use super::lane::{Job, Lane};
use super::order::IntervalOrder;
use super::pace::{Due, Pace, scale_time};
use super::progress::{CapturedEnd, Progress};
use super::selection::SkippedCounts;
use super::source::{Source, unreadable_capture};
use super::statements::Statements;
use crate::dataset::{Dialect, Tables};
use crate::queries::FirstAnswers;
use crate::session::SessionKind;
use crate::step::{StepContext, Stepped};
use crate::workload::Procedure;
use load::counters::Placement;
use load::error::{Failure, FailureKind};
use load::measure::client::SATURATED_SHARE;
use model::{Mark, MarkKind};

/// From reading the first statement to sending it.
const LEAD: Duration = Duration::from_millis(20);

pub struct Replaying {
    pub source: Source,
    pub pace: Pace,
    /// `None`: answers are not compared.
    pub first_answers: Option<Arc<FirstAnswers>>,
}

impl Procedure for Replaying {
    /// Replays the capture: sends all executions over their connections, and accounts for each.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        let source = &self.source;
        let capture = SavedCapture::open(Path::new(&source.path)).map_err(|error| unreadable_capture(&error))?;
        let mut sessions = Vec::with_capacity(source.connections);
        for _ in 0..source.connections {
            sessions.push(context.system.connect_session(SessionKind::OnTablesOfOthers)?);
        }
        let progress = Progress::new(source.classes.len());
        let dialect = context.system.dialect();
        let lane = Lane {
            progress: &progress,
            dialect,
            chosen: &source.chosen,
            classes: source.classes.iter().map(|class| class.name.as_str()).collect(),
            first_answers: self.first_answers.as_deref(),
        };
        // An engine in this process has its work counted with the client's.
        let is_server = context.system.placement() == Placement::Server;
        let cpu_before = host::cpu::process_cpu();
        let began = Instant::now();
        let sent = thread::scope(|scope| {
            let mut lanes = Vec::with_capacity(sessions.len());
            for session in &mut sessions {
                let (sender, jobs) = channel();
                let lane = &lane;
                scope.spawn(move || lane.work(&mut **session, jobs));
                lanes.push(sender);
            }
            let sent = Reader::new(self, dialect, &progress, lanes).read_and_send(&capture, context);
            if sent.is_err() {
                progress.stop(None);
            }
            sent
        });
        let elapsed_s = began.elapsed().as_secs_f64();
        let saturated = is_server.then(|| saturation_mark(cpu_before, elapsed_s)).flatten();
        let state = progress.finish()?;
        let Some(skipped) = sent? else { return Ok(Stepped::Interrupted) };
        let accounted = state.executed + skipped.sum();
        if accounted != source.captured {
            let cause = format!("{accounted} of {} captured statements were executed or skipped", source.captured);
            return Err(Failure::new(FailureKind::Verification, "replay the capture", cause));
        }
        let mut outcome = self.outcome(&state, &skipped, elapsed_s);
        outcome.marks.extend(saturated);
        Ok(Stepped::Done(outcome))
    }

    /// The sessions work on tables that étalon did not make.
    fn session_kind(&self) -> SessionKind {
        SessionKind::OnTablesOfOthers
    }

    /// Shortest time that a replay takes at its pace.
    fn least_length(&self) -> Duration {
        match self.pace {
            Pace::Timed(speed) => scale_time(self.source.span_us, speed),
            Pace::Think => scale_time(self.source.span_us, 1.0),
            Pace::None => Duration::ZERO,
        }
    }

    /// Number of connections that the capture's sessions need.
    fn connections(&self) -> u64 {
        self.source.connections as u64
    }

    fn has_only_own_sessions(&self) -> bool {
        true
    }

    /// None: the statements work on tables that étalon did not make.
    fn tables(&self) -> Tables {
        Tables::None
    }
}

impl Replaying {
    /// Tells how an execution ended in the capture, by the number of its error there.
    ///
    /// Where answers are not compared, nothing else than the capture says which errors are new: none is expected.
    fn captured_end(&self, error: u64) -> CapturedEnd {
        match error {
            0 if self.source.says_failures || self.first_answers.is_none() => CapturedEnd::Succeeded,
            0 => CapturedEnd::Unsaid,
            _ => CapturedEnd::Failed,
        }
    }
}

/// Gives the executions of a capture to their connections.
struct Reader<'a> {
    replay: &'a Replaying,
    dialect: &'a dyn Dialect,
    progress: &'a Progress,
    lanes: Vec<Sender<Job>>,
    /// The instant of the capture's first statement.
    began: Option<Instant>,
    sent: u64,
    /// Executions of each class that were sent.
    positions: Vec<u64>,
    skipped: SkippedCounts,
    /// When the last statement of each session ended in the capture.
    ends: HashMap<u64, i64>,
    order: IntervalOrder,
}

impl<'a> Reader<'a> {
    /// Makes a reader that has read nothing.
    fn new(
        replay: &'a Replaying,
        dialect: &'a dyn Dialect,
        progress: &'a Progress,
        lanes: Vec<Sender<Job>>,
    ) -> Reader<'a> {
        Reader {
            replay,
            dialect,
            progress,
            lanes,
            began: None,
            sent: 0,
            positions: vec![0; replay.source.classes.len()],
            skipped: SkippedCounts::default(),
            ends: HashMap::new(),
            order: IntervalOrder::default(),
        }
    }

    /// Reads the capture in the order of starts, sends all executions, and waits for their end; `None` if it was stopped.
    fn read_and_send(
        mut self,
        capture: &SavedCapture,
        context: &mut StepContext<'_>,
    ) -> Result<Option<SkippedCounts>, Failure> {
        let mut statements = Statements::new(capture);
        let mut failed = Ok(());
        let mut is_whole = true;
        let interrupt = context.interrupt;
        let is_interrupted = || interrupt.load(std::sync::atomic::Ordering::Relaxed);
        let read = capture.each_by_start(|one| {
            let job = match self.make_job(&one, &mut statements) {
                Ok(Some(job)) => job,
                Ok(None) => return ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Err(failure);
                    return ControlFlow::Break(());
                }
            };
            match self.send(&one, job, &is_interrupted) {
                Ok(is_sent) => is_whole = is_sent,
                Err(failure) => failed = Err(failure),
            }
            if failed.is_err() {
                return ControlFlow::Break(());
            }
            self.report(context);
            if is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        read.map_err(|error| unreadable_capture(&error))?;
        failed?;
        let is_whole = is_whole && self.progress.wait_for_all(self.sent, &is_interrupted);
        Ok(is_whole.then_some(self.skipped))
    }

    /// Makes the job of an execution; `None` if it is skipped, and counted as such.
    fn make_job(&mut self, one: &Recorded, statements: &mut Statements<'_>) -> Result<Option<Job>, Failure> {
        let source = &self.replay.source;
        let statement = match source.selection.choose(one, statements)? {
            Ok(statement) => statement,
            Err(reason) => {
                self.skipped.add(reason);
                return Ok(None);
            }
        };
        let class = *source.class_index.get(&one.class).ok_or_else(|| capture_changed(&source.path))?;
        let packed = &one.packed;
        let position = self.positions[class];
        self.positions[class] += 1;
        Ok(Some(Job {
            class,
            number: self.sent,
            position,
            sql: statement.replayed_text(packed, self.dialect),
            is_ordered: statement.is_ordered,
            due: self.compute_due(one),
            is_awaited: self.replay.pace == Pace::None && packed.duration_us.is_some(),
            captured_end: self.replay.captured_end(packed.error),
            values: packed.literals.iter().chain(packed.parameters.iter().flatten()).cloned().collect(),
        }))
    }

    /// Computes when an execution is to be sent, by the pace, and notes when it ended in the capture.
    fn compute_due(&mut self, one: &Recorded) -> Due {
        let began = *self.began.get_or_insert_with(|| Instant::now() + LEAD);
        let start_us = one.packed.start_us;
        let since_us = start_us.saturating_sub(self.replay.source.first_us);
        let end_us = start_us.saturating_add_unsigned(one.packed.duration_us.unwrap_or(0));
        match (self.replay.pace, self.ends.insert(one.packed.session, end_us)) {
            (Pace::Timed(speed), _) => Due::At(began + scale_time(since_us, speed)),
            (Pace::Think, Some(ended_us)) => Due::After(scale_time(start_us.saturating_sub(ended_us), 1.0)),
            (Pace::Think, None) => Due::At(began + scale_time(since_us, 1.0)),
            (Pace::None, _) => Due::At(began),
        }
    }

    /// Sends an execution to its connection when it may begin; false if the replay was stopped.
    ///
    /// # Errors
    /// The capture has a session that it did not have when it was surveyed.
    fn send(&mut self, one: &Recorded, mut job: Job, is_interrupted: &dyn Fn() -> bool) -> Result<bool, Failure> {
        let source = &self.replay.source;
        let connection = source.connection_of.get(&one.packed.session);
        let lane = connection.and_then(|connection| self.lanes.get(*connection));
        let lane = lane.ok_or_else(|| capture_changed(&source.path))?.clone();
        if self.replay.pace == Pace::None {
            let start_us = one.packed.start_us;
            while let Some(number) = self.order.next_before(start_us) {
                if !self.progress.wait_for(number, is_interrupted) {
                    return Ok(false);
                }
            }
            job.due = Due::At(Instant::now());
            self.order.add(job.number, start_us, one.packed.duration_us);
        }
        if !self.progress.take_room(job.room_bytes(), is_interrupted) {
            return Ok(false);
        }
        self.sent += 1;
        Ok(lane.send(job).is_ok())
    }

    /// Reports progress after each 256 executions.
    fn report(&self, context: &mut StepContext<'_>) {
        /// Executions from one report to the next.
        const STEP: u64 = 256;
        if self.sent.is_multiple_of(STEP) {
            let all = self.replay.source.captured - self.replay.source.skipped.sum();
            let [done, all] =
                [self.progress.executed_count(), all].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            context.report_progress("statements", done, all);
        }
    }
}

/// Makes a mark if the client had almost no processor time left.
fn saturation_mark(before: Result<Duration, String>, elapsed_s: f64) -> Option<Mark> {
    let used_s = host::cpu::process_cpu().ok()?.checked_sub(before.ok()?)?.as_secs_f64();
    let share = used_s / elapsed_s / host::cpu::available_cores() as f64;
    let detail = format!("étalon was busy {:.0} % of the time of its cores", share * 100.0);
    (share > SATURATED_SHARE).then(|| Mark::new(MarkKind::ClientSaturated, detail))
}

/// Makes the failure that the capture's file has changed since the experiment began.
fn capture_changed(path: &str) -> Failure {
    Failure::new(
        FailureKind::Verification,
        format!("replay the capture `{path}`"),
        "the file has changed since the experiment began",
    )
}

#[cfg(test)]
mod tests {
    use formats::capture::Packed;

    use super::*;

    struct Plain;

    impl Dialect for Plain {
        fn placeholder(&self, number: usize) -> String {
            format!("${number}")
        }
    }

    fn job() -> Job {
        Job {
            class: 0,
            number: 0,
            position: 0,
            sql: "SELECT 1".to_owned(),
            is_ordered: false,
            due: Due::At(Instant::now()),
            is_awaited: false,
            captured_end: CapturedEnd::Succeeded,
            values: Vec::new(),
        }
    }

    fn of_session(session: u64) -> Recorded {
        Recorded { packed: Packed { session, ..Packed::default() }, class: 1 }
    }

    #[test]
    fn a_session_that_was_not_surveyed_is_a_changed_file() {
        let source = Source { path: "shop.capture".to_owned(), connections: 1, ..Source::default() };
        let source = Source { connection_of: [(1, 0)].into(), ..source };
        let replay = Replaying { source, pace: Pace::None, first_answers: None };
        let progress = Progress::new(1);
        let (sender, jobs) = channel();
        let mut reader = Reader::new(&replay, &Plain, &progress, vec![sender]);
        assert!(reader.send(&of_session(1), job(), &|| false).unwrap());
        let failure = reader.send(&of_session(2), job(), &|| false).unwrap_err().to_string();
        assert!(failure.contains("shop.capture") && failure.contains("has changed since"), "{failure}");
        assert_eq!((jobs.try_iter().count(), reader.sent), (1, 1), "nothing of a changed file is sent");
    }
}
