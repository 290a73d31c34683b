//! Thousands of clients, against a server that accepts any number and answers at once.
//!
//! By hand, in two processes, since each has its own limit on open files: `ETALON_FAKE="PORT" … fake_server` and
//! `ETALON_MEASURE="PORT CLIENTS SECONDS WORKERS" … many_clients`.

use std::net::TcpListener;
use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use host::reactor::{Event, EventKind, Reactor, Token};

use super::*;
use crate::server::system::Settings as _;
use load::clock::RealClock;
use load::gate::Gate;
use load::generator::share_clients;
use load::recorder::Exchange;
use load::traffic::NetworkTraffic;
use load::worker::{self, Connections, LOGINS_AT_ONCE, LoadCounts, Pace, RunLength, WorkerContext};
use workloads::transactions::{ScriptOptions, compile_with};

/// Accepts `most` connections and answers everything.
fn serve(listener: &TcpListener, most: usize) {
    const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const ANSWER: &[u8] = b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    listener.set_nonblocking(true).unwrap();
    let mut reactor = Reactor::new(Choice::Auto, most).unwrap();
    let mut greeted: Vec<bool> = Vec::new();
    let mut events: Vec<Event> = Vec::new();
    loop {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nodelay(true).unwrap();
            let token: Token = reactor.register(stream).unwrap();
            greeted.resize(greeted.len().max(token.slot_index() + 1), false);
            greeted[token.slot_index()] = false;
        }
        reactor.wait(host::clock::now_ns() + 1_000_000, &mut events).unwrap();
        for event in events.drain(..) {
            if event.kind != EventKind::Data {
                reactor.close(event.token);
                continue;
            }
            let bytes = reactor.received(event.token).to_vec();
            reactor.consume(event.token, bytes.len());
            let known = std::mem::replace(&mut greeted[event.token.slot_index()], true);
            if known && bytes[0] == b'X' {
                reactor.close(event.token);
            } else {
                reactor.send(event.token, if known { ANSWER } else { WELCOME });
            }
        }
    }
}

struct Ran {
    opened_in: Duration,
    counts: LoadCounts,
}

fn drive(port: u16, clients: u32, length: Duration, workers: u32) -> Ran {
    let url = format!("postgres://me@127.0.0.1:{port}/shop?sslmode=disable");
    let endpoint = Endpoint::new(Address::parse_url(&url, &|_| None).unwrap()).unwrap();
    let session = SessionSettings { options: String::new(), settings: Vec::new(), database: None };
    let program =
        compile_with("SELECT 1;", &ScriptOptions { protocol: Protocol::Simple, ..ScriptOptions::default() }).unwrap();
    let gate = Gate::new(workers as usize);
    let (traffic, all_clients) = (NetworkTraffic::default(), clients);
    let opened = Barrier::new(workers as usize + 1);
    let started = Instant::now();
    thread::scope(|scope| {
        let handles: Vec<_> = share_clients(0..clients, workers)
            .into_iter()
            .enumerate()
            .map(|(worker, clients)| {
                let (session, endpoint, program, gate, ready) = (&session, &endpoint, &program, &gate, &opened);
                let traffic = &traffic;
                scope.spawn(move || {
                    let (full, intervals) = channel();
                    let (_back, emptied) = channel();
                    let mut context = WorkerContext {
                        seed: 1,
                        clients,
                        all_clients,
                        pace: Pace::Closed,
                        traffic,
                        warmup_ns: 0,
                        length: RunLength::Time(length.as_nanos() as u64),
                        interval_ns: 1_000_000_000,
                        gate,
                        exchange: Exchange { worker, full, emptied },
                        opened: Connections::default(),
                    };
                    let open = |_: u32, _: &mut u64| {
                        session.open_lane(endpoint, &Statements::Simple).map_err(|error| error.to_failure(endpoint))
                    };
                    let opened = context.connect_all(LOGINS_AT_ONCE, open).unwrap();
                    let lane = NativeLane::new(
                        Choice::Auto,
                        opened,
                        Arc::new(|| Err(load::lane::connection_lost("nobody connects anew"))),
                    )
                    .unwrap();
                    ready.wait();
                    let counts = worker::run_worker(lane, program, &RealClock, context).unwrap();
                    drop(intervals);
                    counts
                })
            })
            .collect();
        opened.wait();
        let opened_in = started.elapsed();
        assert!(gate.wait_for_workers());
        gate.open_at(host::clock::now_ns());
        let mut tallies = handles.into_iter().map(|handle| handle.join().unwrap());
        let mut counts = tallies.next().unwrap();
        tallies.for_each(|other| counts.merge(other).unwrap());
        Ran { opened_in, counts }
    })
}

#[test]
fn two_thousand_clients_of_one_process() {
    // Both ends are in this process.
    if host::limits::raise_open_files().is_ok_and(|limit| limit.soft.is_some_and(|soft| soft < 5_000)) {
        return println!("skipped: the limit on open files is below 5,000");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || serve(&listener, 2_100));
    let Ran { opened_in, counts } = drive(port, 2_000, Duration::from_millis(500), 2);
    assert_eq!(counts.failures(), 0, "{:?}", counts.messages);
    assert!(counts.succeeded >= 2_000, "{}", counts.succeeded);
    assert!(opened_in < Duration::from_secs(30), "{opened_in:?}");
}
