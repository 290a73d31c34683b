//! Pool, pauses, ramps, rates, limits and tasks, on virtual time.

use super::*;
use engines::sim::lane::{Model, SimLane};
use load::traffic::{Arrivals, PoolSize, Span};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Constant service time, any concurrency.
fn steady(service_us: f64) -> Model {
    Model { service_us, spread: 0.0, servers: 100_000, noise: 0.0, ..Model::default() }
}

fn simulate(model: Model, script: &str, load: &Load) -> (LoadCounts, Vec<RecordedInterval>) {
    let program = compile(script, &[]).unwrap();
    run_program(model, &program, load)
}

fn run_program(model: Model, program: &Program, load: &Load) -> (LoadCounts, Vec<RecordedInterval>) {
    let clock = VirtualClock::default();
    load.run(SimLane::new(model, 1, clock.clone()), program, &clock)
}

fn pool(connections: u32, timeout_ms: Option<u64>) -> Option<PoolSize> {
    Some(PoolSize { connections, acquire_timeout_ns: timeout_ms.map(|ms| ms * MS) })
}

fn within(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= share * expected, "{value} is not {expected}");
}

fn merged(intervals: &[RecordedInterval]) -> Durations {
    let mut all = Durations::default();
    intervals.iter().for_each(|interval| all.merge(&interval.response));
    all
}

fn extremes(durations: &Durations) -> (u64, u64) {
    (durations.min_ns().unwrap(), durations.max_ns().unwrap())
}

fn longest_service(intervals: &[RecordedInterval]) -> u64 {
    intervals.iter().filter_map(|i| i.service.as_ref()).filter_map(Durations::max_ns).max().unwrap()
}

/// Answers after a millisecond; ends the measured part within its tenth operation.
struct Ending<'g> {
    gate: &'g Gate,
    clock: VirtualClock,
    submitted: u32,
}

impl Lane for Ending<'_> {
    type Op = StatementOp;

    fn submit(&mut self, _client: usize, _op: &StatementOp) -> Submitted {
        self.submitted += 1;
        self.clock.wait_until(self.clock.now_ns() + 1_000_000);
        if self.submitted == 10 {
            self.gate.end_at(self.clock.now_ns() - 500_000);
        }
        Submitted::Done(OpOutcome::Ok)
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Ok)
    }

    fn close(self) {}
}

#[test]
fn a_load_beside_something_ends_with_it() {
    let clock = VirtualClock::default();
    let gate = Gate::new(1);
    gate.open_at(0);
    assert_eq!(gate.end_ns(), None);
    let (full, _intervals) = channel();
    let (_returns, emptied) = channel();
    let traffic = NetworkTraffic::default();
    let context = WorkerContext {
        seed: 4,
        clients: 0..1,
        all_clients: 1,
        pace: Pace::Closed,
        traffic: &traffic,
        warmup_ns: 2_000_000,
        length: RunLength::UntilEnded,
        interval_ns: 100_000_000,
        gate: &gate,
        exchange: Exchange { worker: 0, full, emptied },
        opened: Connections::default(),
    };
    let lane = Ending { gate: &gate, clock: clock.clone(), submitted: 0 };
    let counts = run_worker(lane, &compile("SELECT 1;", &[]).unwrap(), &clock, context).unwrap();
    assert_eq!(counts.window_ns, 7_500_000, "from the end of the warm-up to the end that was told");
    assert_eq!(counts.succeeded, 10, "nothing begins after the end");
    // At 2, 3, … 10 ms; the end came in the last turn.
    assert_eq!(counts.succeeded_in_window, 9);
}

#[test]
fn clients_of_a_pool_wait_in_turn() {
    // Five clients, one connection, 10 ms each: everybody always waits for four others.
    let traffic = NetworkTraffic { pool: pool(1, None), ..NetworkTraffic::default() };
    let load = Load { clients: 5, traffic, warmup_ns: S, ..Load::default() };
    let (counts, intervals) = simulate(steady(10_000.0), "SELECT 1;", &load);
    // One more than a hundred: two end on the borders.
    assert_eq!((counts.succeeded_in_window, counts.failures()), (101, 0));
    let waits = counts.pool_wait.unwrap();
    assert_eq!(extremes(&waits), (40 * MS, 40 * MS));
    assert_eq!(extremes(&merged(&intervals)), (50 * MS, 50 * MS));
    assert_eq!(longest_service(&intervals), 10 * MS);
}

#[test]
fn a_pool_as_large_as_its_clients_waits_for_nobody() {
    let traffic = NetworkTraffic { pool: pool(5, Some(1)), ..NetworkTraffic::default() };
    let load = Load { clients: 5, traffic, ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    assert_eq!((counts.succeeded, counts.failures()), (500, 0));
    assert_eq!(counts.pool_wait.unwrap().max_ns(), Some(0));
}

#[test]
fn who_waits_too_long_for_the_pool_fails_by_a_class_of_its_own() {
    // A timeout of 25 ms, 10 ms each: two of five clients are served before the others give up.
    let traffic = NetworkTraffic { pool: pool(1, Some(25)), ..NetworkTraffic::default() };
    let load = Load { clients: 5, traffic, length: RunLength::Count(1), ..Load::default() };
    let (counts, intervals) = simulate(steady(10_000.0), "SELECT 1;", &load);
    assert_eq!((counts.succeeded, counts.failures_of(ErrorClass::PoolTimeout)), (3, 2));
    assert_eq!(counts.messages[0].message, "no connection of the pool became free within 25 ms");
    assert_eq!(intervals.iter().map(|i| i.response.failure_count()).sum::<u64>(), 2);
    // Both gave up at 25 ms; the third was served from 20 to 30 ms.
    assert_eq!(counts.window_ns, 30 * MS);
    assert!(!counts.gave_up && !counts.connection_lost);
}

#[test]
fn a_pool_goes_on_with_the_connections_that_it_got() {
    let mut opened = Connections { missing: 3, ..Connections::default() };
    opened.count_refused(load::error::FailureKind::Other, 3, "sorry".to_owned());
    let traffic = NetworkTraffic { pool: pool(5, None), ..NetworkTraffic::default() };
    let load = Load { clients: 10, traffic, opened, ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    assert_eq!(counts.succeeded, 200, "two connections carry 100 transactions each");
    assert_eq!(counts.connections.missing, 3);
}

#[test]
fn nobody_begins_after_the_end_however_long_the_queue_is() {
    let traffic = NetworkTraffic { pool: pool(1, None), ..NetworkTraffic::default() };
    let load = Load { clients: 1_000, traffic, ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    assert_eq!(counts.succeeded, 100);
}

#[test]
fn a_client_that_thinks_holds_no_connection_and_its_thought_is_no_response() {
    let think = Some(Span { least_ns: 90 * MS, most_ns: 90 * MS });
    let traffic = NetworkTraffic { think, pool: pool(1, None), ..NetworkTraffic::default() };
    let load = Load { clients: 10, traffic, warmup_ns: S, length: RunLength::Time(10 * S), ..Load::default() };
    let (counts, intervals) = simulate(steady(10_000.0), "SELECT 1;", &load);
    // Ten clients that work 10 of every 100 ms fill one connection.
    within(counts.succeeded_in_window as f64, 1_000.0, 0.01);
    within(extremes(&merged(&intervals)).1 as f64, 10e6, 0.001);
}

#[test]
fn think_times_are_drawn_from_their_range() {
    let think = Some(Span { least_ns: 10 * MS, most_ns: 30 * MS });
    let traffic = NetworkTraffic { think, ..NetworkTraffic::default() };
    let load = Load { traffic, length: RunLength::Time(100 * S), ..Load::default() };
    let (counts, _) = simulate(steady(10.0), "SELECT 1;", &load);
    within(counts.succeeded as f64, 100.0 / 0.02001, 0.02);
}

#[test]
fn a_pause_lies_between_statements_and_keeps_the_connection() {
    let pause = Some(Span { least_ns: 20 * MS, most_ns: 20 * MS });
    let traffic = NetworkTraffic { pause, pool: pool(1, None), ..NetworkTraffic::default() };
    let load = Load { clients: 2, traffic, length: RunLength::Count(5), ..Load::default() };
    let (counts, intervals) = simulate(steady(10_000.0), "SELECT 1;\nSELECT 2;\nSELECT 3;", &load);
    // Three statements and two pauses are 70 ms, one transaction after the other.
    assert_eq!((counts.succeeded, counts.window_ns), (10, 10 * 70 * MS));
    within(extremes(&merged(&intervals)).1 as f64, 140e6, 0.001);
}

#[test]
fn clients_begin_evenly_over_the_ramp() {
    let traffic = NetworkTraffic { ramp_ns: S, ..NetworkTraffic::default() };
    let load = Load { clients: 10, traffic, warmup_ns: S, ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    // In the ramp a client has 1 s, 0.9 s, … 0.1 s: 5.5 s of ten, then all of each second.
    within(counts.succeeded_in_window as f64, 1_000.0, 0.011);
    within(counts.succeeded as f64, 1_000.0 + 550.0, 0.001);
}

#[test]
fn a_poisson_rate_is_met_whatever_the_system_does() {
    let rate = |model, arrivals| {
        let traffic = NetworkTraffic { arrivals, ..NetworkTraffic::default() };
        let length = RunLength::Time(20 * S);
        let load = Load { clients: 50, pace: Pace::Rate(1_000.0), traffic, length, ..Load::default() };
        simulate(model, "SELECT 1;", &load).0
    };
    let (even, poisson) = (rate(steady(500.0), Arrivals::Constant), rate(steady(500.0), Arrivals::Poisson));
    within(even.succeeded as f64, 20_000.0, 0.001);
    // 7 × √20000 is 5 %: seven standard deviations.
    within(poisson.succeeded as f64, 20_000.0, 0.05);
    let stalled = Model { stall_at_ms: 5_000, stall_ms: 1_000, ..steady(500.0) };
    let stalled = rate(stalled, Arrivals::Poisson);
    assert_eq!(stalled.succeeded, poisson.succeeded, "the same instants, however late");
}

#[test]
fn a_stall_is_charged_to_everything_that_it_delayed_and_shows_as_backlog() {
    let model = Model { stall_at_ms: 400, stall_ms: 200, ..steady(100.0) };
    let load = Load { clients: 10, pace: Pace::Rate(1_000.0), ..Load::default() };
    let (counts, intervals) = simulate(model, "SELECT 1;", &load);
    // 200 instants in the stall: ten clients took one each, the rest found no one free.
    assert!((188..=190).contains(&counts.backlog_max), "{}", counts.backlog_max);
    let worst = |number: u32| intervals.iter().filter(|i| i.number == number).map(|i| i.backlog).max().unwrap();
    assert_eq!((worst(2), worst(6)), (0, counts.backlog_max));
    let response = merged(&intervals);
    within(extremes(&response).1 as f64, 200e6, 0.01);
    // 200 of 1000 waited 100 ms on average in the stall: p90 is in their middle.
    within(response.quantile_ns(0.9).unwrap() as f64, 100e6, 0.03);
}

#[test]
fn what_is_too_late_already_is_skipped_and_what_comes_late_is_counted() {
    let model = Model { stall_at_ms: 400, stall_ms: 200, ..steady(100.0) };
    let traffic = NetworkTraffic { latency_limit_ns: Some(50 * MS), ..NetworkTraffic::default() };
    let load = Load { clients: 10, pace: Pace::Rate(1_000.0), traffic, ..Load::default() };
    let (counts, _) = simulate(model, "SELECT 1;", &load);
    // Ten were in flight in the stall, 140 over 50 ms late at its end, 50 late but still in time.
    assert!((138..=141).contains(&counts.skipped), "{}", counts.skipped);
    assert!((9..=12).contains(&counts.late), "{}", counts.late);
    within((counts.succeeded + counts.skipped) as f64, 1_000.0, 0.002);
}

#[test]
fn responses_beyond_each_limit_are_counted_exactly() {
    let limits_ns = vec![5 * MS, 10 * MS, 20 * MS];
    let traffic = NetworkTraffic { limits_ns, ..NetworkTraffic::default() };
    let load = Load { traffic, length: RunLength::Count(10), ..Load::default() };
    let script = "\\set long random(1, 2)\nSELECT 1;\n\\if :client_id = 0\n\\sleep 5 ms\n\\endif";
    let (counts, _) = simulate(steady(5_000.0), script, &load);
    assert_eq!((counts.over_limits, counts.late), (vec![10, 0, 0], 0), "10 ms are not beyond 10 ms");
}

#[test]
fn a_connection_is_made_anew_after_so_many_transactions() {
    let traffic = NetworkTraffic { reconnect_every: 3, ..NetworkTraffic::default() };
    let load = Load { traffic, length: RunLength::Count(10), ..Load::default() };
    let model = Model { connect_us: 2_000.0, ..steady(1_000.0) };
    let (counts, intervals) = simulate(model, "SELECT 1;", &load);
    assert_eq!((counts.succeeded, counts.connections.made_again), (10, 3));
    assert_eq!((counts.connections.min_ns, counts.connections.max_ns), (2 * MS, 2 * MS));
    assert_eq!(counts.window_ns, 16 * MS);
    let response = merged(&intervals);
    // 2 ms of connecting in the response, none in the service.
    assert_eq!((extremes(&response), longest_service(&intervals)), ((MS, 3 * MS), MS));
    within(response.mean_ns().unwrap(), (7.0 + 3.0 * 3.0) / 10.0 * 1e6, 0.001);
}

#[test]
fn a_client_that_connects_anew_delays_no_other() {
    let traffic = NetworkTraffic { reconnect_every: 1, ..NetworkTraffic::default() };
    let load = Load { clients: 10, traffic, ..Load::default() };
    let model = Model { connect_us: 9_000.0, ..steady(1_000.0) };
    let (counts, intervals) = simulate(model, "SELECT 1;", &load);
    // Each connects in 9 ms and works 1 ms, whatever the others do.
    within(counts.succeeded as f64, 1_000.0, 0.02);
    within(counts.connections.max_ns as f64, 9e6, 0.001);
    within(extremes(&merged(&intervals)).1 as f64, 10e6, 0.001);
}

#[test]
fn a_client_that_is_rolled_back_delays_no_other() {
    let run = |clients| {
        let model = Model { errors: 0.5, rollback_us: 49_000.0, ..steady(1_000.0) };
        let load = Load { clients, length: RunLength::Time(20 * S), ..Load::default() };
        simulate(model, "SELECT 1;", &load)
    };
    let ((alone, _), (together, intervals)) = (run(1), run(20));
    // Half of the statements fail: 1 ms and 50 ms with rollback alternate.
    within(alone.succeeded as f64, 20.0 / 0.051, 0.15);
    within(together.succeeded as f64, 20.0 * 20.0 / 0.051, 0.05);
    within(extremes(&merged(&intervals)).1 as f64, 1e6, 0.001);
    // A retry waits for the rollback, as part of its response.
    let mut program = compile("SELECT 1;", &[]).unwrap();
    program.retry = Retry { max_tries: 2, within_ns: None };
    let model = Model { errors: 0.5, rollback_us: 49_000.0, ..steady(1_000.0) };
    let load = Load { clients: 20, length: RunLength::Count(100), ..Load::default() };
    let (counts, intervals) = run_program(model, &program, &load);
    assert_eq!(counts.succeeded + counts.failures(), 2_000);
    within(counts.failures() as f64, 500.0, 0.15);
    within(extremes(&merged(&intervals)).1 as f64, 51e6, 0.001);
}

#[test]
fn a_rollback_without_end_is_given_up() {
    let model = Model { errors: 1.0, rollback_us: 1e12, ..steady(1_000.0) };
    let (counts, _) = simulate(model, "SELECT 1;", &Load { clients: 3, ..Load::default() });
    assert_eq!((counts.succeeded, counts.failures_of(ErrorClass::Unresponsive), counts.failures()), (0, 3, 3));
}

#[test]
fn tasks_are_all_due_at_the_start_and_each_is_one_transaction() {
    let traffic = NetworkTraffic { tasks: Some(100), pool: pool(10, None), ..NetworkTraffic::default() };
    let load = Load { clients: 100, traffic, length: RunLength::Count(1), ..Load::default() };
    let (counts, intervals) = simulate(steady(10_000.0), "SELECT 1;", &load);
    assert_eq!((counts.succeeded, counts.window_ns), (100, 100 * MS));
    let log = &counts.tasks[0];
    assert_eq!((log.process, log.tasks.len()), (0, 100));
    for (number, task) in log.tasks.iter().enumerate() {
        let ended_ns = (number as u64 / 10 + 1) * 10 * MS;
        assert_eq!((task.response_ns, task.ended_ns), (Some(ended_ns), ended_ns));
        assert_eq!(task.running, number as u32 + 1);
    }
    within(merged(&intervals).mean_ns().unwrap(), 55e6, 0.001);
}

#[test]
fn fewer_tasks_at_once_follow_one_another() {
    let traffic =
        NetworkTraffic { tasks: Some(50), tasks_at_once: Some(5), pool: pool(2, None), ..NetworkTraffic::default() };
    let load = Load { clients: 50, traffic, length: RunLength::Count(1), ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    assert_eq!((counts.succeeded, counts.window_ns), (50, 250 * MS));
    let tasks = &counts.tasks[0].tasks;
    assert!(tasks[10..40].iter().all(|task| task.running >= 4 && task.running <= 5));
    // Due when an earlier one ends: behind three that wait for two connections, not all fifty.
    assert!(tasks.iter().all(|task| task.response_ns.is_some_and(|ns| ns <= 30 * MS)));
}

#[test]
fn tasks_are_due_over_the_ramp() {
    let traffic = NetworkTraffic { tasks: Some(50), ramp_ns: S, pool: pool(1, None), ..NetworkTraffic::default() };
    let load = Load { clients: 50, traffic, length: RunLength::Count(1), ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    let tasks = &counts.tasks[0].tasks;
    assert!(tasks.iter().all(|task| task.response_ns == Some(10 * MS) && task.running == 1));
    assert_eq!(tasks[49].ended_ns, 990 * MS);
}

#[test]
fn a_task_that_fails_is_in_the_log_as_failed() {
    let traffic = NetworkTraffic { tasks: Some(5), pool: pool(1, Some(25)), ..NetworkTraffic::default() };
    let load = Load { clients: 5, traffic, length: RunLength::Count(1), ..Load::default() };
    let (counts, _) = simulate(steady(10_000.0), "SELECT 1;", &load);
    let ends: Vec<Option<u64>> = counts.tasks[0].tasks.iter().map(|task| task.response_ns).collect();
    assert_eq!(ends, [Some(10 * MS), Some(20 * MS), None, None, Some(30 * MS)]);
}

#[test]
fn kinds_of_a_mix_are_told_apart() {
    use workloads::transactions::{ScriptOptions, Source, compile_mix};
    let source = |name, text, weight| Source { name, text, weight };
    let sources = [source("short", "SELECT 1;", 3), source("long", "SELECT 1;\nSELECT 2;", 1)];
    let program = compile_mix(&sources, &ScriptOptions::default()).unwrap();
    let load = Load { clients: 4, length: RunLength::Time(10 * S), ..Load::default() };
    let (counts, _) = run_program(steady(1_000.0), &program, &load);
    let [short, long] = &counts.kinds[..] else { panic!("{:?}", counts.kinds.len()) };
    assert_eq!((short.name.as_str(), long.name.as_str()), ("short", "long"));
    assert_eq!(short.in_window + long.in_window, counts.succeeded_in_window);
    within(short.in_window as f64 / long.in_window as f64, 3.0, 0.1);
    assert_eq!((extremes(&short.response), extremes(&long.response)), ((MS, MS), (2 * MS, 2 * MS)));
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let frozen = || Model { stall_at_ms: 500, stall_ms: 1 << 40, ..steady(1_000.0) };
    let load = Load { clients: 3, ..Load::default() };
    let (counts, _) = simulate(frozen(), "SELECT 1;", &load);
    assert_eq!(counts.failures_of(ErrorClass::Unresponsive), 3);
    let message = &counts.messages[0].message;
    assert_eq!(message, "the system has not answered after the end of the run for 10 s");
    assert!(counts.succeeded >= 1_400);
    // A run by count has no end to measure from.
    let load = Load { length: RunLength::Count(10_000), ..Load::default() };
    let (counts, _) = simulate(frozen(), "SELECT 1;", &load);
    assert_eq!(counts.failures_of(ErrorClass::Unresponsive), 1);
    assert!(counts.messages[0].message.contains("has not answered for 120 s"), "{}", counts.messages[0].message);
    // Nor have clients that wait for a pool: nothing can be given up.
    let traffic = NetworkTraffic { tasks: Some(9), pool: pool(2, None), ..NetworkTraffic::default() };
    let load = Load { clients: 9, traffic, length: RunLength::Count(1), ..Load::default() };
    let (counts, _) = simulate(Model { stall_at_ms: 0, ..frozen() }, "SELECT 1;", &load);
    assert_eq!(counts.failures_of(ErrorClass::Unresponsive), 2);
}

/// Notes whether its sessions were asked for counts.
struct Asked<'a> {
    lane: SimLane<StatementOp>,
    asked: &'a std::cell::Cell<bool>,
}

impl Lane for Asked<'_> {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        self.lane.submit(client, op)
    }

    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        self.lane.reap(deadline_ns, into);
    }

    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        self.lane.recover(client)
    }

    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        self.asked.set(true);
        self.lane.session_counts()
    }

    fn close(self) {
        self.lane.close();
    }
}

#[test]
fn a_server_that_does_not_answer_is_asked_nothing_more() {
    let is_asked = |model: Model| {
        let (clock, asked) = (VirtualClock::default(), std::cell::Cell::new(false));
        let lane = Asked { lane: SimLane::new(model, 1, clock.clone()), asked: &asked };
        let (counts, _) = Load { clients: 3, ..Load::default() }.run(lane, &compile("SELECT 1;", &[]).unwrap(), &clock);
        assert_eq!(counts.sessions.unwrap().is_ok(), asked.get());
        asked.get()
    };
    assert!(is_asked(steady(1_000.0)));
    assert!(!is_asked(Model { stall_at_ms: 500, stall_ms: 1 << 40, ..steady(1_000.0) }));
    assert!(!is_asked(Model {
        stall_at_ms: 500,
        connection_loss: engines::sim::lane::ConnectionLoss::AtStall,
        ..steady(1_000.0)
    }));
}

/// Fails every operation and recovery.
struct Stuck(ErrorClass);

impl Lane for Stuck {
    type Op = StatementOp;

    fn submit(&mut self, _client: usize, _op: &StatementOp) -> Submitted {
        Submitted::Done(OpOutcome::Failed(OpError { class: ErrorClass::Deadlock, message: "no".to_owned() }))
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Failed(OpError { class: self.0, message: "no ROLLBACK here".to_owned() }))
    }

    fn close(self) {}
}

#[test]
fn a_client_that_cannot_be_brought_back_ends_the_run_whatever_the_reason() {
    use load::error::FailureKind;
    for (class, kind) in [
        (ErrorClass::Statement, FailureKind::ConnectionLost),
        (ErrorClass::LockTimeout, FailureKind::ConnectionLost),
        (ErrorClass::ConnectionLost, FailureKind::ConnectionLost),
        (ErrorClass::DiskFull, FailureKind::DiskFull),
    ] {
        let program = compile("SELECT 1;", &[]).unwrap();
        let (mut counts, _) = Load::default().run(Stuck(class), &program, &VirtualClock::default());
        // Others may have been served.
        counts.succeeded_in_window = 1_000;
        let refused = load::run::refuse_broken(&counts).unwrap_err();
        assert_eq!(refused.kind, kind, "{class:?}: {refused}");
        assert!(refused.cause.contains("no ROLLBACK here"), "{class:?}: {refused}");
    }
}

#[test]
fn whoever_waits_for_the_pool_at_the_end_counts_with_all_of_a_pipeline() {
    let options = ScriptOptions { depth: 5, ..ScriptOptions::default() };
    let program = workloads::transactions::compile_with("SELECT 1;", &options).unwrap();
    let traffic = NetworkTraffic { pool: pool(1, None), ..NetworkTraffic::default() };
    let load = Load { clients: 100, traffic, ..Load::default() };
    let (counts, _) = run_program(steady(10_000.0), &program, &load);
    // Five statements of 10 ms on one connection: 20 clients were served, 80 wait.
    assert_eq!((counts.succeeded, counts.not_begun), (100, 400));
    assert_eq!(counts.pool_wait.unwrap().failure_count(), 80, "a pipeline waits once");
    // Waits in vain count likewise.
    let traffic = NetworkTraffic { pool: pool(1, Some(25)), ..NetworkTraffic::default() };
    let load = Load { clients: 3, traffic, length: RunLength::Count(5), ..Load::default() };
    let (counts, _) = run_program(steady(10_000.0), &program, &load);
    assert_eq!((counts.succeeded, counts.failures_of(ErrorClass::PoolTimeout)), (5, 10));
}

#[test]
fn a_long_answer_is_waited_for_as_experience_tells() {
    let model = Model { stall_at_ms: 500, stall_ms: 8_000, ..steady(1_000.0) };
    let (counts, intervals) = simulate(model, "SELECT 1;", &Load::default());
    assert_eq!(counts.failures(), 0);
    within(extremes(&merged(&intervals)).1 as f64, 8.001e9, 0.001);
}

#[test]
fn ten_thousand_clients_are_soon_set_up() {
    let load = Load { clients: 10_000, length: RunLength::Count(2), ..Load::default() };
    let program = {
        let options = ScriptOptions { clients: 10_000, ..Default::default() };
        workloads::transactions::compile_with("\\set x random(1, 10)\nSELECT :x;", &options).unwrap()
    };
    let began = std::time::Instant::now();
    let (counts, _) = run_program(steady(1_000.0), &program, &load);
    assert_eq!(counts.succeeded, 20_000);
    // Quadratic set-up took 40 s in a debug build.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}
