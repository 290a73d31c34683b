//! What the client itself costs, for comparison with `pgbench -S -M prepared`: not a test, but it needs the insides.
//!
//! `ETALON_MEASURE="URL CLIENTS SECONDS ring|poller [WORKERS]"`; the tables must be there (`ETALON_MEASURE="URL 0 SCALE"`
//! makes them). Prints the transactions that ended well; the caller takes the process's CPU time.

use std::sync::mpsc::channel;

use super::*;
use crate::gate::Gate;
use crate::recorder::Exchange;
use crate::traffic::Traffic;
use crate::worker::{Connections, Pace, RunLength};
use crate::workloads::transactions::{compile, pgbench_tables};

#[test]
#[ignore = "a measurement, run by hand"]
fn point_select() {
    let order = std::env::var("ETALON_MEASURE").unwrap();
    let words: Vec<&str> = order.split_whitespace().collect();
    let (clients, length): (u32, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let endpoint = Endpoint::new(Address::parse(words[0], &|_| None).unwrap()).unwrap();
    let mut target = PostgresTarget::new(endpoint, Session::plain(), None, Consent::OwnOnly).unwrap();
    if clients == 0 {
        target.prepare(&pgbench_tables(length)).unwrap();
        return;
    }
    target.reactor = if words[3] == "poller" { Choice::Poller } else { Choice::Ring };
    let workers: u32 = words.get(4).map_or(1, |word| word.parse().unwrap());
    let script = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;";
    let program = compile(script, &[("scale", 10)]).unwrap();
    let gate = Gate::new(workers as usize);
    let (traffic, clients_in_all) = (Traffic::default(), clients);
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
                    all_clients: clients_in_all,
                    pace: Pace::Closed,
                    traffic: &traffic,
                    warmup_ns: 0,
                    length: RunLength::Time(length * 1_000_000_000),
                    interval_ns: 1_000_000_000,
                    gate: &gate,
                    exchange: Exchange { worker, full, emptied },
                    opened: Connections::default(),
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
    println!("\nMEASURED {} {:?}", tally.succeeded, tally.cpu_ns);
}
