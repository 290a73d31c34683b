//! Scripts in super-smack's language, with a file of words beside them: compiled, their rows made, and run for a while.
//!
//! Seeds: crates/workloads/src/smack

#![no_main]

use etalon_fuzz::{chosen, text};
use libfuzzer_sys::fuzz_target;
use load::stream::{Next, Stream};
use model::{Point, Value};
use workloads::smack::SuperSmack;
use workloads::texts::NamedTexts;
use workloads::texts::Texts;
use workloads::work::StreamWork;
use workloads::workload::{Action, Grants, Workload};

/// Rows of a table that are made; the others are made by the same rule.
const MOST_ROWS: u64 = 20;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let script = text(bytes);
    let named: NamedTexts =
        [("a.smack".to_owned(), (*script).into()), ("a.smack\nwords.dat".to_owned(), "one,two\nthree\\,four\n".into())]
            .into();
    let grants = Grants { texts: Texts::from_sent(named), ..Grants::default() };
    let protocol = if choice & 1 == 0 { "simple" } else { "prepared" };
    let key = |name: &str, value| (name.to_owned(), value);
    let point: Point = [
        key("script", Value::Text("a.smack".to_owned())),
        key("clients", Value::Int(i64::from(choice >> 4))),
        key("arguments", Value::Text(if choice & 2 == 0 { String::new() } else { "2 3".to_owned() })),
        key("protocol", Value::Text(protocol.to_owned())),
        key("rate", Value::Float(0.0)),
    ]
    .into();
    let Ok(task) = SuperSmack.make_task(&point, &grants) else { return };
    let mut row = Vec::new();
    for table in &task.dataset.tables {
        for index in 0..table.rows.min(MOST_ROWS) {
            row.clear();
            (table.row)(index, &mut row);
        }
    }
    let Action::Stream(stream) = &task.action else { return };
    let StreamWork::Statements(program) = &stream.work else { return };
    let (mut client, mut op) = (program.new_client(1, 0), Default::default());
    for transaction in 0..20 {
        program.begin_transaction(&mut client, transaction);
        while program.next_op(&mut client, &mut op) == Next::Op {}
    }
});
