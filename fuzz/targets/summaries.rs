//! What other tools print at their end, as `etalon import` reads it.
//!
//! Seeds: crates/formats/tests/data docs/import.md crates/formats/src crates/formats/tests/hammerdb.rs
//! Seeds: crates/formats/tests/sqlio.rs crates/formats/tests/readers.rs

#![no_main]

use etalon_fuzz::{chosen, text};
use formats::recognise::{self, Text};
use formats::{FormatError, Options, fio, hammerdb, into_experiment, pgbench, sqlio, sysbench};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let imported = match choice % 7 {
        0 => pgbench::import_summaries(&pgbench::read_summaries(bytes), "a", "file"),
        1 => sysbench::import_output(&sysbench::read_output(bytes), "a", "file"),
        2 => match fio::read_documents(bytes) {
            Ok(documents) => fio::import_documents(&documents, "a", "file"),
            Err(_) => return,
        },
        3 => hammerdb::import_output(&hammerdb::read_output(bytes), "a", "file"),
        5 => {
            let (text, options) = (text(bytes), Options::default());
            let asked = Text {
                text: &text,
                source: "file",
                below: "",
                system: "a",
                captions: recognise::Captions::Systems,
                reader: None,
                options: &options,
            };
            if let Ok(read) = recognise::read(&asked) {
                let _ = into_experiment("name", &read.imports);
            }
            let _ = formats::packed::unpack_text(bytes.to_vec());
            let _ = formats::packed::each_file_of(bytes, |_, _| Ok::<(), FormatError>(()));
            return;
        }
        4 => sqlio::import_output(&sqlio::read_output(bytes), "a", "file"),
        _ => {
            let text = text(bytes);
            for line in text.lines() {
                let _ = (
                    formats::text::plain_text(line),
                    formats::text::break_html(line),
                    formats::text::parse_number(line),
                );
            }
            return;
        }
    };
    let _ = into_experiment("name", &[imported]);
});
