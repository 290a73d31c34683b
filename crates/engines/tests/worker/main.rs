//! The worker loop, on the virtual time of the simulator.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may fail the test")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::channel;

use engines::sim::lane::VirtualClock;
use load::clock::Clock;
use load::datum::Datum;
use load::durations::Durations;
use load::gate::Gate;
use load::lane::Lane;
use load::lane::{Completion, ErrorClass, OpError, OpOutcome, SessionCounts, Submitted};
use load::recorder::Exchange;
use load::recorder::RecordedInterval;
use load::stream::Retry;
use load::traffic::NetworkTraffic;
use load::worker::{Connections, LoadCounts, Pace, RunLength, WorkerContext, run_worker};
use workloads::transactions::{
    ClientGroup, Parts, Program, ScriptOptions, StatementOp, StatementPiece, Turn, WordyStatement, compile,
};

mod censored;
mod in_step;
mod shapes;

struct Load {
    seed: u64,
    clients: u32,
    pace: Pace,
    traffic: NetworkTraffic,
    warmup_ns: u64,
    length: RunLength,
    opened: Connections,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            seed: 4,
            clients: 1,
            pace: Pace::Closed,
            traffic: NetworkTraffic::default(),
            warmup_ns: 0,
            length: RunLength::Time(1_000_000_000),
            opened: Connections::default(),
        }
    }
}

impl Load {
    fn run<L: Lane<Op = StatementOp>>(
        &self,
        lane: L,
        program: &Program,
        clock: &VirtualClock,
    ) -> (LoadCounts, Vec<RecordedInterval>) {
        let gate = Gate::new(1);
        gate.open_at(0);
        let (full, intervals) = channel();
        let (_returns, emptied) = channel();
        let context = WorkerContext {
            seed: self.seed,
            clients: 0..self.clients,
            all_clients: self.clients,
            pace: self.pace,
            traffic: &self.traffic,
            warmup_ns: self.warmup_ns,
            length: self.length,
            interval_ns: 100_000_000,
            gate: &gate,
            exchange: Exchange { worker: 0, full, emptied },
            opened: self.opened.clone(),
        };
        let counts = run_worker(lane, program, clock, context).unwrap();
        (counts, intervals.try_iter().collect())
    }
}

/// Fails each transaction `failures` times; every operation takes a microsecond.
struct Flaky {
    class: ErrorClass,
    failures: u32,
    failed: u32,
    clock: VirtualClock,
    seen: Rc<RefCell<Vec<Vec<Datum>>>>,
    /// Rejects every second operation first.
    turns_away: bool,
}

impl Lane for Flaky {
    type Op = StatementOp;

    fn submit(&mut self, _client: usize, op: &StatementOp) -> Submitted {
        self.turns_away = !self.turns_away;
        if self.turns_away {
            return Submitted::Busy;
        }
        self.clock.wait_until(self.clock.now_ns() + 1_000);
        self.seen.borrow_mut().push(op.parameters.clone());
        if self.failed < self.failures {
            self.failed += 1;
            return Submitted::Done(OpOutcome::Failed(OpError { class: self.class, message: "no".to_owned() }));
        }
        self.failed = 0;
        Submitted::Done(OpOutcome::Ok)
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Ok)
    }

    fn close(self) {}
}

fn drive(program: &Program, class: ErrorClass, failures: u32) -> (LoadCounts, Vec<Vec<Datum>>) {
    let (counts, seen, _) = drive_and_time(program, class, failures);
    (counts, seen)
}

/// Drives as [`drive`] does, and returns the longest response, too.
fn drive_and_time(program: &Program, class: ErrorClass, failures: u32) -> (LoadCounts, Vec<Vec<Datum>>, u64) {
    let clock = VirtualClock::default();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let lane = Flaky { class, failures, failed: 0, clock: clock.clone(), seen: seen.clone(), turns_away: false };
    let load = Load { length: RunLength::Count(5), ..Load::default() };
    let (counts, intervals) = load.run(lane, program, &clock);
    let seen = seen.borrow().clone();
    let longest_ns = intervals.iter().map(|interval| interval.response.max_ns()).max().flatten().unwrap_or_default();
    (counts, seen, longest_ns)
}

fn drawing(max_tries: u32) -> Program {
    let mut program = compile("\\set x random(1, 1000000)\nSELECT :x;", &[]).unwrap();
    program.retry = Retry { max_tries, within_ns: None };
    program
}

#[test]
fn a_retry_repeats_its_values_until_it_succeeds() {
    for (max_tries, class) in [(3, ErrorClass::Serialization), (0, ErrorClass::Deadlock)] {
        let (counts, seen) = drive(&drawing(max_tries), class, 2);
        assert_eq!((counts.succeeded, counts.failures(), counts.retried, counts.retries), (5, 0, 5, 10));
        assert_eq!(seen.len(), 15);
        assert!(seen.chunks(3).all(|tries| tries.iter().all(|values| *values == tries[0])));
        assert_ne!(seen[0], seen[3]);
    }
}

#[test]
fn tries_have_an_end() {
    let (counts, seen) = drive(&drawing(2), ErrorClass::Deadlock, 1_000);
    assert_eq!((counts.succeeded, counts.failures(), counts.retried, counts.retries), (0, 5, 5, 5));
    assert_eq!(seen.len(), 10);
    let (counts, _) = drive(&drawing(1), ErrorClass::Serialization, 2);
    assert_eq!((counts.succeeded, counts.failures(), counts.retried), (1, 4, 0));
    let mut limited = drawing(0);
    limited.retry.within_ns = Some(3_000);
    let (counts, seen) = drive(&limited, ErrorClass::Serialization, 1_000);
    assert_eq!((counts.failures(), seen.len()), (5, 20), "three retries fit into three microseconds");
}

#[test]
fn who_loses_to_others_for_long_has_not_met_a_broken_script() {
    let run = |class| {
        let clock = VirtualClock::default();
        let lane =
            Flaky { class, failures: 300, failed: 0, clock: clock.clone(), seen: Rc::default(), turns_away: false };
        let load = Load { length: RunLength::Count(301), ..Load::default() };
        let (counts, _) = load.run(lane, &drawing(1), &clock);
        (counts.succeeded, counts.failures(), counts.gave_up)
    };
    for class in [ErrorClass::Serialization, ErrorClass::Deadlock, ErrorClass::LockTimeout] {
        assert_eq!(run(class), (1, 300, false), "{class:?}");
    }
    assert_eq!(run(ErrorClass::Constraint), (0, 100, true));
}

#[test]
fn what_others_are_not_at_fault_for_is_not_retried() {
    let (counts, _) = drive(&drawing(0), ErrorClass::Constraint, 1);
    assert_eq!((counts.succeeded, counts.failures(), counts.retries), (2, 3, 0));
}

#[test]
fn a_sleep_is_part_of_its_transaction() {
    let program = compile("\\sleep 5 ms\nSELECT 1;\n\\sleep 1 us", &[]).unwrap();
    let (counts, seen) = drive(&program, ErrorClass::Statement, 0);
    assert_eq!((counts.succeeded, seen.len()), (5, 5));
    assert_eq!(counts.window_ns, 5 * (5_000_000 + 1_000 + 1_000));
}

#[test]
fn a_pause_comes_before_its_transaction() {
    let statement =
        WordyStatement { pieces: vec![StatementPiece::Sql("SELECT 1".to_owned())], head: "select".to_owned() };
    let turn = Turn { statement: 0, first_pause_us: 0, pause_us: 5_000 };
    let parts = Parts {
        statements: vec![(statement, 0)],
        shares: vec![ClientGroup { clients: 0..1, turns: vec![turn] }],
        ..Parts::default()
    };
    let program = Program::of_turns(parts, &ScriptOptions::default());
    let (counts, seen, longest_ns) = drive_and_time(&program, ErrorClass::Statement, 0);
    assert_eq!((counts.succeeded, seen.len()), (5, 5));
    assert_eq!(counts.window_ns, 4 * 5_000_000 + 5 * 1_000);
    assert!((1_000..1_010).contains(&longest_ns), "the longest response took {longest_ns} ns");
}

#[test]
fn a_script_that_cannot_go_on_ends_the_run() {
    let program = compile("SELECT 1;\n\\set x 1 / 0", &[]).unwrap();
    let (counts, seen) = drive(&program, ErrorClass::Statement, 0);
    assert_eq!((counts.succeeded, counts.failures(), seen.len()), (0, 1, 1));
    assert!(counts.gave_up);
    assert_eq!(counts.messages[0].message, "line 2: division by zero");
}
