//! The measured part: statement after statement, each committed.

use std::sync::mpsc::channel;

use host::clock::now_ns;

use crate::session::Session;
use crate::step::StepContext;
use load::error::Failure;
use load::observer::Tick;
use load::recorder::{Exchange, LatencyKinds, Recorder};
use load::series::{Collector, Gauge};

/// Length of the intervals of the series.
const INTERVAL_NS: u64 = 1_000_000_000;

/// What the statements took.
pub(super) struct Inserted {
    /// From the first statement to the end of the last one, in nanoseconds.
    pub(super) elapsed_ns: u64,
    /// How long each took.
    pub(super) collector: Collector,
}

/// Executes the insert `statements` times, each timed and committed; `None` if the user interrupted.
pub(super) fn insert_pages(
    context: &mut StepContext<'_>,
    session: &mut dyn Session,
    statement: &str,
    statements: u64,
) -> Result<Option<Inserted>, Failure> {
    let (full, intervals) = channel();
    let (back, emptied) = channel();
    let mut collector = Collector::new(1, INTERVAL_NS, Gauge::Nothing);
    let start_ns = now_ns();
    let exchange = Exchange { worker: 0, full, emptied };
    let mut recorder = Recorder::new(start_ns, INTERVAL_NS, LatencyKinds::ResponseOnly, exchange);
    let mut sent_ns = start_ns;
    for done in 0..statements {
        if context.is_interrupted() {
            return Ok(None);
        }
        session.execute_repeated(statement)?;
        let done_ns = now_ns();
        recorder.record(sent_ns, sent_ns, done_ns);
        sent_ns = done_ns;
        if let Ok(interval) = intervals.try_recv() {
            context.report_progress("inserting", done as usize, statements as usize);
            for whole in collector.add_interval(&interval) {
                context.observer.tick(Tick {
                    rate_per_s: whole.succeeded as f64 * 1e9 / INTERVAL_NS as f64,
                    p50_ns: whole.p50_ns,
                    p99_ns: whole.p99_ns,
                    errors: 0,
                    backlog: 0,
                });
            }
            // The recorder is there as long as this loop is.
            let _ = back.send(interval);
        }
    }
    recorder.finish();
    intervals.try_iter().for_each(|interval| {
        collector.add_interval(&interval);
    });
    Ok(Some(Inserted { elapsed_ns: sent_ns - start_ns, collector }))
}
