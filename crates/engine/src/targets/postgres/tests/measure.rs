//! What the client itself costs, for comparison with `pgbench -S -M prepared`: not a test, but it needs the insides.
//!
//! `ETALON_MEASURE="URL CLIENTS SECONDS ring|poller [WORKERS [PIPELINE [PROTOCOL]]]"`; the tables must be there (`ETALON_MEASURE="URL 0 SCALE"`
//! makes them). Prints the transactions that ended well; the caller takes the process's CPU time.

use std::sync::mpsc::channel;

use super::*;
use crate::gate::Gate;
use crate::recorder::Exchange;
use crate::worker::{Pace, RunLength};
use crate::workloads::transactions::{Options, compile_with, pgbench_tables};

#[test]
#[ignore = "a measurement, run by hand"]
fn point_select() {
    let order = std::env::var("ETALON_MEASURE").unwrap();
    let words: Vec<&str> = order.split_whitespace().collect();
    let (clients, length): (u32, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let endpoint = Endpoint::new(Address::parse(words[0], &|_| None).unwrap()).unwrap();
    let mut target = made(endpoint, None);
    if clients == 0 {
        target.prepare(&pgbench_tables(length)).unwrap();
        return;
    }
    target.reactor = if words[3] == "poller" { Choice::Poller } else { Choice::Ring };
    let workers: u32 = words.get(4).map_or(1, |word| word.parse().unwrap());
    let script = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;";
    let depth: u32 = words.get(5).map_or(1, |word| word.parse().unwrap());
    let protocol = words.get(6).map_or(Protocol::Prepared, |word| Protocol::of_word(word).unwrap());
    let program = compile_with(script, &Options { scale: 10, depth, protocol, ..Options::default() }).unwrap();
    let gate = Gate::new(workers as usize);
    let tally = thread::scope(|scope| {
        let handles: Vec<_> = shares(0..clients, workers)
            .into_iter()
            .enumerate()
            .map(|(worker, clients)| {
                let (full, intervals) = channel();
                let (_, emptied) = channel();
                let context = WorkerContext {
                    seed: 1,
                    clients,
                    pace: Pace::Closed,
                    warmup_ns: 0,
                    length: RunLength::Time(length * 1_000_000_000),
                    interval_ns: 1_000_000_000,
                    gate: &gate,
                    exchange: Exchange { worker, full, emptied },
                };
                let (target, program) = (&target, &program);
                scope.spawn(move || {
                    let _keep = intervals;
                    target.drive(Load::Statements(program), context).unwrap()
                })
            })
            .collect();
        assert!(gate.wait_for_workers());
        gate.open(host::clock::now_ns());
        let mut all = Tally::default();
        handles.into_iter().for_each(|handle| all.merge(handle.join().unwrap()));
        all
    });
    assert_eq!(tally.failures(), 0, "{:?}", tally.messages);
    let cpu_us = tally.cpu_ns.unwrap_or_default() as f64 / 1e3 / tally.succeeded as f64;
    let rss_kb = host::memory::peak_rss_bytes().unwrap_or_default() / 1024;
    println!("\nMEASURED {} {:?}, {cpu_us:.2} us each, peak RSS {rss_kb} KB", tally.succeeded, tally.cpu_ns);
}
