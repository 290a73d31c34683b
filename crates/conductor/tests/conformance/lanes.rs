//! What a lane promises: that what a script says happens, once, and that what happened is said.

use std::sync::Arc;
use std::time::Instant;

use load::counters::Placement;
use load::datum::Datum;
use load::error::Failure;
use load::lane::{KeptRow, OpError};
use load::run::ServerCounters;
use load::stream::TransactionEnd;
use load::traffic::NetworkTraffic;
use load::worker::LoadCounts;
use model::{Mark, Measurement, Reading, RunRecord};
use workloads::transactions::{
    Flow, Moment, Native, NativeClient, NextStep, OPEN_TRANSACTION, Program, Protocol, Rows, ScriptOptions, Sent,
    compile_with,
};
use workloads::work::StreamTask;

use super::subject::{Subject, is_refusal, reading, run, stream, value};

crate::cases! {
    Rows statements_are_executed_once_and_commit_themselves,
    Rows transactions_are_kept_whole_or_undone,
    Rows rows_reach_the_script,
    Rows all_rows_reach_a_load_in_rust,
    Rows parameters_arrive_as_they_are,
    Rows joined_statements_take_their_own_parameters,
    Rows a_failed_transaction_leaves_nothing,
    Rows a_statement_that_fails_is_a_clear_failure,
    Rows an_open_transaction_is_told,
    Conflicts a_conflict_is_told_from_a_failure,
    Rows a_pipeline_is_one_or_is_refused,
    Rows a_connection_is_made_anew_or_that_is_refused,
    Rows the_cost_of_client_and_engine_are_told_apart,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Prepared, Protocol::Extended, Protocol::Simple];

/// Whether the engine has the protocol. One that has it must have done what was asked.
fn takes(done: Result<RunRecord, Failure>) -> bool {
    match done {
        Ok(_) => true,
        Err(failure) => {
            assert!(is_refusal(&failure) && failure.tried.contains("protocol"), "{failure}");
            false
        }
    }
}

fn statements_are_executed_once_and_commit_themselves(subject: &Subject) {
    let script = "INSERT INTO conformance_log (client, value, note) VALUES (:client_id, 1, 'own');";
    // A commit on a slow disk may take longer than the other client waits for its lock: such a run is asked for again.
    let mut errors = (0..5).map(|_| value(&subject.script(script, 2, 10).unwrap(), "errors"));
    assert!(errors.any(|errors| errors == 0.0), "statements failed in each of five runs");
    for client in 0..2 {
        assert_eq!(subject.count(&format!("SELECT count(*) FROM conformance_log WHERE client = {client}")), 10);
    }
}

fn transactions_are_kept_whole_or_undone(subject: &Subject) {
    let script = "BEGIN;\nINSERT INTO conformance_log (client, value, note) VALUES (1, 1, 'kept');\nCOMMIT;\n\
        BEGIN;\nINSERT INTO conformance_log (client, value, note) VALUES (2, 1, 'undone');\nROLLBACK;\n";
    subject.script(script, 1, 5).unwrap();
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log WHERE client = 1"), 5);
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log"), 5, "what was rolled back is there");
}

fn rows_reach_the_script(subject: &Subject) {
    let script = "SELECT value AS v, id AS i FROM conformance_rows WHERE id = 3 \\gset\n\
        SELECT id AS last_id, note AS last_note FROM conformance_rows WHERE id < 2 ORDER BY id \\aset\n\
        SELECT id AS none_id FROM conformance_rows WHERE id < 0 \\aset\n\
        INSERT INTO conformance_log (client, value, note) VALUES (:i, :v, 'gset');\n\
        INSERT INTO conformance_log (client, value, note) VALUES (:last_id, 0, 'aset');\n";
    for protocol in PROTOCOLS {
        if !takes(run(subject.prepared(), &stream(script, protocol, 1), 4)) {
            continue;
        }
        let count = |filter: &str| subject.count(&format!("SELECT count(*) FROM conformance_log WHERE {filter}"));
        assert_eq!(count("client = 3 AND value = 30"), 4, "{protocol:?}: the columns of a row, by name");
        assert_eq!(count("client = 1 AND note = 'aset'"), 4, "{protocol:?}: of several rows the last");
    }
}

/// Reads three rows of two columns, then writes what they come to: in a pipeline where the engine has one.
#[derive(Debug)]
struct AllRows;

#[derive(Default)]
struct AllRowsClient {
    asked: usize,
    sum: Datum,
}

impl Native for AllRows {
    fn kind_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn new_client(&self, _seed: u64, _client: u32) -> Box<dyn NativeClient> {
        Box::new(AllRowsClient::default())
    }

    fn check_run(&self, _: &dyn ServerCounters, counts: &LoadCounts) -> Result<Vec<Mark>, Failure> {
        assert_eq!(counts.tallies, [6 * counts.succeeded]);
        Ok(Vec::new())
    }

    fn check_queries(&self) -> Vec<String> {
        Vec::new()
    }

    fn growing_queries(&self) -> Vec<String> {
        Vec::new()
    }

    fn inspect_tables(&self, _: &dyn ServerCounters, _: Moment) -> Result<(), Failure> {
        Ok(())
    }

    fn extra_measurements(&self, _: &LoadCounts) -> (Vec<Measurement>, Vec<Mark>) {
        (Vec::new(), Vec::new())
    }
}

impl NativeClient for AllRowsClient {
    fn begin_transaction(&mut self, _index: u64) {
        *self = AllRowsClient::default();
    }

    fn next_step(&mut self) -> NextStep {
        self.asked += 1;
        match self.asked {
            1 => NextStep::Statement(0, Rows::Discard, Flow::Wait),
            2 => NextStep::Statement(1, Rows::KeepAll, Flow::Wait),
            3 | 4 => NextStep::Statement(2, Rows::Discard, Flow::Pipelined),
            5 => NextStep::Together,
            6 => NextStep::Statement(3, Rows::Discard, Flow::Wait),
            _ => NextStep::End,
        }
    }

    fn field_value(&self, _field: usize) -> &Datum {
        &self.sum
    }

    fn receive_rows(&mut self, results: &[KeptRow]) -> Result<(), OpError> {
        let values: Vec<i64> = results[0].values.iter().filter_map(Datum::as_int).collect();
        assert_eq!((results.len(), results[0].rows, values.len()), (1, 3, 6), "{results:?}");
        self.sum = Datum::Int(values.iter().sum());
        Ok(())
    }

    fn current_kind(&self) -> usize {
        0
    }

    fn add_tally(&self, _end: TransactionEnd, _sent: &[Sent], into: &mut Vec<u64>) {
        into.resize(1, 0);
        into[0] += 6;
    }
}

fn all_rows_reach_a_load_in_rust(subject: &Subject) {
    let texts = [
        "BEGIN",
        "SELECT id, value FROM conformance_rows WHERE id IN (1, 3, 4) ORDER BY id",
        "INSERT INTO conformance_log (client, value, note) VALUES (:sum, 1, 'all')",
        "COMMIT",
    ];
    let texts = texts.map(str::to_owned);
    let fields = ["sum".to_owned()];
    let options = ScriptOptions { clients: 2, ..ScriptOptions::default() };
    let program = Program::from_native(Arc::new(AllRows), &texts, &fields, &options).unwrap();
    let task = StreamTask { work: program.into(), ..stream("SELECT 1", Protocol::Prepared, 2) };
    run(subject.prepared(), &task, 5).unwrap();
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log WHERE client = 88"), 20, "1 + 10 + 3 + 30 + 4 + 40");
}

fn parameters_arrive_as_they_are(subject: &Subject) {
    let script = "\\set low -9223372036854775807\n\\set nothing NULL\n\
        INSERT INTO conformance_log (client, value, note) VALUES (:client_id, :low, 'it''s; :low');\n\
        INSERT INTO conformance_log (client, value, note) VALUES (:client_id, :nothing, NULL);\n";
    for protocol in [Protocol::Prepared, Protocol::Extended] {
        if !takes(run(subject.prepared(), &stream(script, protocol, 1), 3)) {
            continue;
        }
        let count = |filter: &str| subject.count(&format!("SELECT count(*) FROM conformance_log WHERE {filter}"));
        assert_eq!(count("value = -9223372036854775807 AND note = 'it''s; :low'"), 3, "{protocol:?}");
        assert_eq!(count("value IS NULL AND note IS NULL"), 3, "{protocol:?}: NULL");
    }
}

/// What the placeholders of a message stand for is numbered across it; an engine that refuses every message of several
/// statements under a protocol, as PostgreSQL does, may refuse this one.
fn joined_statements_take_their_own_parameters(subject: &Subject) {
    let plain = "INSERT INTO conformance_log (client, value, note) VALUES (1, 10, 'one') \\; INSERT INTO conformance_log (client, value, note) VALUES (2, 20, 'two');";
    let bound = "\\set a 1\n\\set b 2\n\\set c 20\n\
        INSERT INTO conformance_log (client, value, note) VALUES (:a, 10, 'one') \\; INSERT INTO conformance_log (client, value, note) VALUES (:b, :c, 'two');";
    for protocol in PROTOCOLS {
        let takes_messages = run(subject.prepared(), &stream(plain, protocol, 1), 3).is_ok();
        let done = run(subject.prepared(), &stream(bound, protocol, 1), 3);
        assert_eq!(done.is_ok(), takes_messages, "{protocol:?}: {:?}", done.err());
        let count = |filter: &str| subject.count(&format!("SELECT count(*) FROM conformance_log WHERE {filter}"));
        let expected = if takes_messages { 3 } else { 0 };
        assert_eq!(count("client = 1 AND value = 10"), expected, "{protocol:?}");
        assert_eq!(count("client = 2 AND value = 20"), expected, "{protocol:?}");
        assert_eq!(count("1 = 1"), 2 * expected, "{protocol:?}");
    }
}

fn a_failed_transaction_leaves_nothing(subject: &Subject) {
    let script = "\\set id random(0, 39)\nBEGIN;\nINSERT INTO conformance_log (client, value, note) VALUES (:id, 1, 'new');\n\
        INSERT INTO conformance_rows VALUES (:id, 0, 'new');\nCOMMIT;\n";
    let record = subject.script(script, 1, 60).unwrap();
    let made = subject.count("SELECT count(*) FROM conformance_rows") - 10;
    assert!(made > 0 && made <= 30, "{made} of the keys 10 to 39 were inserted");
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log"), made, "what failed has left rows");
    let (failed, constraint) = (value(&record, "errors"), value(&record, "errors_constraint"));
    assert!(failed == constraint && failed as i64 == 60 - made, "{failed} failed, {constraint} by a constraint");
}

fn a_statement_that_fails_is_a_clear_failure(subject: &Subject) {
    for protocol in PROTOCOLS {
        match run(subject.prepared(), &stream("FROBNICATE THE ROWS;", protocol, 2), 5) {
            Err(failure) if is_refusal(&failure) => assert!(failure.to_string().contains("protocol"), "{failure}"),
            Err(failure) => assert!(failure.to_string().contains("FROBNICATE"), "{failure}"),
            Ok(_) => panic!("{protocol:?}: it frobnicates"),
        }
    }
}

fn an_open_transaction_is_told(subject: &Subject) {
    match subject.script("BEGIN;\nINSERT INTO conformance_log (client, value, note) VALUES (1, 1, 'open');", 1, 3) {
        Err(failure) => assert!(failure.cause.contains(OPEN_TRANSACTION), "{failure}"),
        Ok(_) => panic!("the script leaves its transaction open, and nobody said so"),
    }
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log"), 0, "what was not committed is there");
}

/// One client reads, and one changes a row that somebody else has changed: it waits for as long as the plan's settings let it,
/// or is refused at once, as the engine's notes say.
fn a_conflict_is_told_from_a_failure(subject: &Subject) {
    let system = subject.prepared();
    let mut other = system.connect_session(workloads::session::SessionKind::Plain).unwrap();
    other.execute(&system.dialect().translate_statement("begin")).unwrap();
    other.execute("UPDATE conformance_rows SET value = 7 WHERE id = 1").unwrap();
    let script = "\\if :client_id = 0\nSELECT count(*) FROM conformance_rows;\n\\else\n\
        UPDATE conformance_rows SET value = 8 WHERE id = 1;\n\\endif\n";
    let began = Instant::now();
    let record = run(system, &stream(script, Protocol::Prepared, 2), 1).unwrap();
    let waited = began.elapsed();
    other.execute(&system.dialect().translate_statement("rollback")).unwrap();
    let contention: f64 = ["serialization", "deadlock", "lock_timeout"]
        .map(|class| value(&record, &format!("errors_{class}")))
        .iter()
        .sum();
    assert_eq!((value(&record, "errors"), contention), (1.0, 1.0), "a conflict is not told from another failure");
    subject.known.conflict.unwrap().hold(waited);
    run(system, &stream(script, Protocol::Prepared, 2), 1).unwrap();
    assert_eq!(subject.count("SELECT value FROM conformance_rows WHERE id = 1"), 8);
}

fn a_pipeline_is_one_or_is_refused(subject: &Subject) {
    let at_depth = |depth, script| {
        let program = compile_with(script, &ScriptOptions { depth, ..ScriptOptions::default() }).unwrap();
        let task = StreamTask { work: program.into(), ..stream("SELECT 1;", Protocol::Prepared, 1) };
        run(subject.prepared(), &task, 64)
    };
    let inserted = at_depth(8, "INSERT INTO conformance_log (client, value, note) VALUES (:client_id, 1, 'ahead');");
    if let Err(failure) = inserted {
        assert!(is_refusal(&failure) && failure.to_string().contains("pipeline"), "{failure}");
        return;
    }
    assert_eq!(subject.count("SELECT count(*) FROM conformance_log"), 64);
    assert!(subject.system.placement() != Placement::InProcess, "nothing can be sent ahead within a call");
    let entries = |depth| match reading(&at_depth(depth, "SELECT 1;").unwrap(), "kernel_entries") {
        Some(Reading::Value(entries)) => Some(*entries),
        _ => None,
    };
    if let (Some(ahead), Some(one_by_one)) = (entries(8), entries(1)) {
        assert!(ahead < 0.7 * one_by_one, "{ahead} entries into the kernel, {one_by_one} one by one");
    }
}

/// A temporary table lasts as long as its session.
fn a_connection_is_made_anew_or_that_is_refused(subject: &Subject) {
    let name = if subject.is_named() { "#conformance" } else { "conformance_temporary" };
    let temporary = if subject.is_named() { "" } else { "TEMPORARY " };
    let script = format!("CREATE {temporary}TABLE {name} (a INT);");
    let traffic = NetworkTraffic { reconnect_every: 1, ..NetworkTraffic::default() };
    let mut task = stream(&script, Protocol::Simple, 1);
    task.shape.traffic = traffic;
    match run(subject.prepared(), &task, 5) {
        Err(failure) => assert!(is_refusal(&failure) && failure.to_string().contains("reconnect"), "{failure}"),
        Ok(record) => {
            assert_eq!(value(&record, "errors"), 0.0, "the session was the same");
            assert_eq!(value(&record, "reconnects"), 4.0);
        }
    }
}

/// What the load generator's threads cost, what the engine's, and what both together, by where the engine works.
fn the_cost_of_client_and_engine_are_told_apart(subject: &Subject) {
    let light = subject.script("SELECT count(*) FROM conformance_rows;", 1, 400).unwrap();
    let placement = subject.system.placement();
    let known = |id: &str| reading(&light, id).and_then(Reading::value);
    let (client, both) = (known("client_cpu_per_tx"), known("process_cpu_per_tx"));
    match placement {
        Placement::InProcess => {
            let said = "it works in the workers' threads, where its cost cannot be told from the client's";
            assert!(client.is_none(), "{said}, and the client's is said to be {client:?} us");
            assert!(both.is_some(), "{said}, and that of both is not reported");
        }
        Placement::OwnThreads | Placement::Server => {
            let said = "it works in other threads than the workers";
            assert!(client.is_some(), "{said}, and the client's cost is not reported");
            assert!(both.is_none(), "{said}, and there is one cost for both, {both:?} us");
        }
    }
    match placement {
        Placement::InProcess => {}
        Placement::OwnThreads => works_in_threads_of_its_own(subject, client.unwrap_or_default()),
        Placement::Server => {
            assert!(!subject.holds_a_file(), "it works within étalon, and says that it is a server");
        }
    }
}

/// A worker only hands its operation over and waits, however much there is to do: 100,000 rows take any engine milliseconds.
fn works_in_threads_of_its_own(subject: &Subject, light_us: f64) {
    let script = "SELECT count(*) FROM conformance_rows a CROSS JOIN conformance_rows b CROSS JOIN conformance_rows c \
        CROSS JOIN conformance_rows d CROSS JOIN conformance_rows e WHERE a.value + b.value + c.value + d.value > e.value;";
    let heavy = subject.script(script, 1, 10).unwrap();
    let [client_us, engine_us] = ["client_cpu_per_tx", "server_cpu_per_tx"].map(|id| value(&heavy, id));
    let more_us = client_us - light_us;
    assert!(
        more_us < 1000.0,
        "it says that it works in threads of its own, and a query of 100,000 rows costs the workers' threads {more_us:.0} us more"
    );
    assert!(engine_us > 1000.0, "a query of 100,000 rows costs the threads of the engine {engine_us:.0} us");
}
