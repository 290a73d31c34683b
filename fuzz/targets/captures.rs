//! Logs of servers, as `etalon capture` reads them: whatever is in them, what is taken is what is summed up.
//!
//! Seeds: docs/capture.md crates/formats/tests/capture.rs crates/formats/src/capture/slow_log.rs
//! Seeds: crates/formats/src/capture/general_log.rs

#![no_main]

use etalon_fuzz::chosen;
use formats::capture::Capture;
use formats::capture::logs::{Form, Logs, recognise_log};
use formats::capture::postgres::prefix::Prefix;
use formats::capture::summary::Summary;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let Ok(prefix) = Prefix::parse("%m [%p] %q%u@%d ") else { return };
    let form = match choice % 6 {
        0 => Some(Form::Csv),
        1 => Some(Form::Json),
        2 => Some(Form::Prefixed(prefix)),
        3 => Some(Form::Slow),
        4 => Some(Form::General),
        _ => recognise_log(bytes, None).map(|found| found.form),
    };
    let Some(form) = form else { return };
    let Ok(mut capture) = Capture::in_memory(form.syntax()) else { return };
    if choice % 2 == 0 {
        capture.redact_values();
    }
    let (mut logs, mut reader) = (Logs::default(), bytes);
    let read = logs.read_log(&form, &mut reader, &mut capture).and_then(|()| logs.finish(&mut capture));
    assert!(read.is_ok(), "{read:?}");
    let executions = capture.execution_count();
    let summary = capture.finish("log").and_then(|saved| Summary::from_capture(&saved));
    assert!(summary.is_ok_and(|summary| summary.executions == executions));
});
