//! Scripts in pgbench's language: compiled, and run against a server that answers with a row.
//!
//! Seeds: crates/workloads/src/transactions/scripts crates/workloads/src/transactions/function.rs
//! Seeds: crates/workloads/src/transactions/meta.rs crates/workloads/src/transactions/tests

#![no_main]

use etalon_fuzz::{chosen, text};
use libfuzzer_sys::fuzz_target;
use load::datum::Datum;
use load::lane::KeptRow;
use load::stream::{Next, Stream};
use workloads::transactions::{Protocol, ScriptOptions, Unset, compile_with, split_weight};

/// A script may jump and ask as long as it likes; so many steps tell enough.
const MOST_STEPS: usize = 200;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let text = text(bytes);
    if choice == 255 {
        let _ = split_weight(&text);
        return;
    }
    let options = ScriptOptions {
        protocol: [Protocol::Prepared, Protocol::Extended, Protocol::Simple][usize::from(choice % 3)],
        unset: if choice & 4 == 0 { Unset::Refused } else { Unset::Accepted },
        depth: if choice & 8 == 0 { 1 } else { 3 },
        ..ScriptOptions::default()
    };
    let Ok(program) = compile_with(&text, &options) else { return };
    let row = KeptRow {
        rows: 1,
        columns: vec!["a".to_owned(), "b".to_owned()],
        values: vec![Datum::Int(i64::MIN), Datum::Text("7".into())],
    };
    let (mut client, mut op) = (program.new_client(1, 0), Default::default());
    for transaction in 0..2 {
        program.begin_transaction(&mut client, transaction);
        for _ in 0..MOST_STEPS {
            match program.next_op(&mut client, &mut op) {
                Next::Op => {
                    if program.receive_rows(&mut client, std::slice::from_ref(&row)).is_err() {
                        return;
                    }
                }
                Next::Sync(_) | Next::Sleep(_) | Next::Pause(_) => {}
                Next::Failed => {
                    let _ = program.take_failure(&mut client);
                    return;
                }
                Next::End => break,
            }
        }
    }
});
