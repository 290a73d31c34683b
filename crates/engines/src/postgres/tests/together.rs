//! Two clients of one thread do not wait for each other: the server holds the first one's answer until the second has
//! got further.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::fakes::url;
use super::hostile::{let_in, message, ready};
use super::*;
use crate::server::testing::fakes::listen;
use crate::server::testing::lane::{WAYS, native};
use load::clock::RealClock;
use load::gate::Gate;
use load::lane::ErrorClass;
use load::recorder::Exchange;
use load::traffic::NetworkTraffic;
use load::worker::{self, Connections, LoadCounts, Pace, RunLength, WorkerContext};
use workloads::transactions::{ScriptOptions, compile_with};

/// The second client's progress.
#[derive(Default)]
struct Progress {
    steps: Mutex<u32>,
    changed: Condvar,
}

impl Progress {
    fn note(&self) {
        *self.steps.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    /// `false` after the timeout.
    fn reaches(&self, steps: u32) -> bool {
        let steps_made = self.steps.lock().unwrap();
        let timeout = Duration::from_secs(20);
        !self.changed.wait_timeout_while(steps_made, timeout, |made| *made < steps).unwrap().1.timed_out()
    }
}

/// Two clients on one thread.
fn drive_two(port: u16, way: Choice, traffic: &NetworkTraffic, transactions: u64) -> LoadCounts {
    let endpoint = Endpoint::new(Address::parse_url(&url(port, "sslmode=disable"), &|_| None).unwrap()).unwrap();
    let session = SessionSettings { options: String::new(), settings: Vec::new(), database: None };
    let options = ScriptOptions { protocol: Protocol::Simple, ..ScriptOptions::default() };
    let program = compile_with("SELECT 1;", &options).unwrap();
    let lane = native::<PostgresServer>(&endpoint, &session, way, 2, Statements::Simple);
    let gate = Gate::new(1);
    gate.open_at(host::clock::now_ns());
    let ((full, _intervals), (_back, emptied)) = (channel(), channel());
    let context = WorkerContext {
        seed: 1,
        clients: 0..2,
        all_clients: 2,
        pace: Pace::Closed,
        traffic,
        warmup_ns: 0,
        length: RunLength::Count(transactions),
        interval_ns: 1_000_000_000,
        gate: &gate,
        exchange: Exchange { worker: 0, full, emptied },
        opened: Connections::default(),
    };
    worker::run_worker(lane, &program, &RealClock, context).unwrap()
}

fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> Option<usize> {
    stream.read(buffer).ok().filter(|count| *count > 0)
}

fn done() -> Vec<u8> {
    [message(b'C', b"SELECT 1\0"), ready()].concat()
}

/// The first statement fails in a transaction; its `ROLLBACK` is answered after five steps of the other client.
fn fail_and_roll_back_slowly(mut stream: TcpStream, other: &Progress) {
    let mut buffer = [0; 1024];
    let _first = read(&mut stream, &mut buffer);
    let refusal = message(b'E', b"SERROR\0VERROR\0C40001\0Mno\0\0");
    let _ = stream.write_all(&[refusal, message(b'Z', b"E")].concat());
    let count = read(&mut stream, &mut buffer).unwrap_or_default();
    if !buffer[..count].windows(8).any(|bytes| bytes == b"ROLLBACK") || !other.reaches(5) {
        return;
    }
    let _ = stream.write_all(&[message(b'C', b"ROLLBACK\0"), ready()].concat());
    serve_to_the_end(stream, &Progress::default());
}

fn serve_to_the_end(mut stream: TcpStream, progress: &Progress) {
    let mut buffer = [0; 1024];
    while read(&mut stream, &mut buffer).is_some() && buffer[0] != b'X' {
        progress.note();
        let _ = stream.write_all(&done());
    }
}

#[test]
fn a_rollback_delays_no_other_client() {
    for way in WAYS {
        let (count, progress) = (AtomicUsize::new(0), Arc::new(Progress::default()));
        let port = listen(move |mut stream| {
            let (number, progress) = (count.fetch_add(1, Ordering::SeqCst), Arc::clone(&progress));
            thread::spawn(move || {
                let_in(&mut stream);
                match number {
                    0 => fail_and_roll_back_slowly(stream, &progress),
                    _ => serve_to_the_end(stream, &progress),
                }
            });
        });
        let counts = drive_two(port, way, &NetworkTraffic::default(), 10);
        assert!(!counts.connection_lost, "the rollback was answered too late: {:?}", counts.messages);
        assert_eq!((counts.succeeded, counts.failures_of(ErrorClass::Serialization), counts.failures()), (19, 1, 1));
    }
}

#[test]
fn a_login_delays_no_other_client() {
    for way in WAYS {
        let (count, progress) = (AtomicUsize::new(0), Arc::new(Progress::default()));
        let port = listen(move |mut stream| {
            let (number, progress) = (count.fetch_add(1, Ordering::SeqCst), Arc::clone(&progress));
            thread::spawn(move || {
                // The third connection is the first new one; it waits for five steps of the other client.
                if number == 2 && !progress.reaches(5) {
                    return;
                }
                if number > 2 {
                    progress.note();
                }
                let_in(&mut stream);
                serve_to_the_end(stream, &Progress::default());
            });
        });
        let traffic = NetworkTraffic { reconnect_every: 1, ..NetworkTraffic::default() };
        let counts = drive_two(port, way, &traffic, 10);
        assert_eq!((counts.succeeded, counts.failures()), (20, 0), "{:?}", counts.messages);
        assert_eq!(counts.connections.made_again, 18);
        assert!(counts.helper_threads > 0, "somebody else has made them");
    }
}
