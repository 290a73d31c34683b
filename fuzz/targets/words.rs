//! Short texts of plans and command lines: times, lists, SQLIO's command lines and files.
//!
//! Seeds: docs/disk.md crates/model/src/duration.rs crates/formats/src/sqlio crates/workloads/src/smack/gen_data.rs

#![no_main]

use etalon_fuzz::{chosen, text};
use formats::sqlio;
use libfuzzer_sys::fuzz_target;
use model::{duration, plan};
use workloads::smack::GenData;
use workloads::spatial::Query;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let text = text(bytes);
    match choice % 8 {
        0 => {
            if let Ok(time) = duration::parse(&text) {
                assert_eq!(duration::parse(&duration::format(time)), Ok(time));
            }
        }
        1 => {
            let _ = (duration::parse_range(&text), duration::parse_list(&text));
        }
        2 => {
            let _ = (plan::redact_url(&text), plan::without_password(&text), plan::percent_decode(&text));
        }
        3 => command(&text, None),
        4 => {
            let (line, params) = text.split_once('\n').unwrap_or((&text, ""));
            command(line, sqlio::parse_params(params).ok().as_deref());
        }
        5 => {
            let _ = sqlio::parse_script(bytes);
        }
        6 => {
            let _ = GenData::parse_gen_data_command(&text);
        }
        _ => {
            let _ = (Query::parse_list(&text), sqlio::Hundredths::parse(&text));
        }
    }
});

fn command(line: &str, params: Option<&[sqlio::ParamLine]>) {
    if let Ok(command) = sqlio::parse_command(&sqlio::split_words(line)) {
        let _ = command.thread_pools(params);
    }
}
