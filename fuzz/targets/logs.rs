//! Logs with a line for each execution or interval, as `etalon import` and `etalon audit` read them.
//!
//! Seeds: crates/formats/tests/data/pgbench docs/import.md crates/formats/src/task_log.rs

#![no_main]

use etalon_fuzz::{chosen, text};
use formats::pgbench::{AggregateRun, AggregateSummary, LogSummary, SeventhColumn};
use formats::{into_experiment, pgbench, task_log};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let imported = match choice % 6 {
        0 => log(bytes, SeventhColumn::Unknown),
        1 => log(bytes, SeventhColumn::Lag),
        2 => log(bytes, SeventhColumn::Retries),
        3 => {
            let mut summary = AggregateSummary::default();
            let read = summary.read_log(bytes).ok();
            let run = AggregateRun { log: &summary, system: "a", source: "file".to_owned() };
            read.and_then(|()| pgbench::import_aggregates(&[run]).pop())
        }
        4 => {
            let mut summary = task_log::Summary::default();
            summary.read_log(bytes).ok().map(|()| task_log::import_summary(&mut summary, "a", "file"))
        }
        _ => {
            let name = text(bytes);
            let _ = (pgbench::prefix_of_log(&name), pgbench::run_of_log(&name, |name| name.len() % 2 == 0));
            None
        }
    };
    if let Some(imported) = imported {
        let _ = into_experiment("name", &[imported]);
    }
});

fn log(bytes: &[u8], seventh: SeventhColumn) -> Option<formats::Imported> {
    let mut summary = LogSummary::default();
    summary.read_log(bytes, seventh).ok()?;
    assert!(!summary.overlaps(&LogSummary::default()) || summary.line_count() > 0);
    Some(pgbench::import_log(&summary, "a", "file"))
}
