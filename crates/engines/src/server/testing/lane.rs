//! Lanes on a real server.

use std::sync::{Arc, Barrier};
use std::thread;

use host::reactor::Choice;

use super::Tested;
use crate::server::dialogue::{Conversation, NativeLane, WireProtocol};
use crate::server::system::{LaneOf, Server, ServerSystem, Settings as _, StatementsOf};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, Lane, OpError, OpOutcome, Submitted, SyncPoint};
use workloads::transactions::{Rows, StatementOp};

type ConnectionOf<S> = <<S as Server>::Protocol as WireProtocol>::Connection;

/// Both ways of sending and receiving.
pub(crate) const WAYS: [Choice; 2] = [Choice::Auto, Choice::Poller];

/// A lane with blocking callers.
pub(crate) struct Probe<C>(pub(crate) NativeLane<C>);

/// Opens a lane with the means to connect again.
pub(crate) fn native<S: Server>(
    endpoint: &S::Endpoint,
    session: &S::Session,
    way: Choice,
    clients: usize,
    statements: StatementsOf<S>,
) -> LaneOf<S> {
    let (endpoint, session) = (endpoint.clone(), session.clone());
    let open = move || session.open_lane(&endpoint, &statements).map_err(|error| error.to_op_error(&endpoint));
    // In order, so that the first is the first client's.
    NativeLane::new(way, (0..clients).map(|_| open().unwrap()).collect(), Arc::new(open)).unwrap()
}

pub(crate) fn probe<S: Tested>(
    system: &ServerSystem<S>,
    way: Choice,
    clients: usize,
    sql: &[&str],
) -> Probe<ConnectionOf<S>> {
    Probe(native::<S>(&system.endpoint, &system.session, way, clients, S::prepared(sql)))
}

/// Opens, uses and closes a lane.
pub(crate) fn with_lane<S: Tested>(
    system: &ServerSystem<S>,
    way: Choice,
    clients: usize,
    sql: &[&str],
    walk: impl FnOnce(&mut Probe<ConnectionOf<S>>),
) {
    let mut probe = probe(system, way, clients, sql);
    walk(&mut probe);
    probe.0.close();
}

impl<C: Conversation + Send + 'static> Probe<C> {
    pub(crate) fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let begun = self.0.recover(client);
        self.await_end(client, begun.map_or(Submitted::Queued, Submitted::Done))
    }

    pub(crate) fn reconnect(&mut self, client: usize) -> Result<(), OpError> {
        let begun = self.0.reconnect(client);
        self.await_end(client, begun.map_or(Submitted::Queued, Submitted::Done))
    }

    pub(crate) fn sync(&mut self, client: usize, point: SyncPoint) -> Result<(), OpError> {
        let submitted = self.0.sync_pipeline(client, point);
        self.await_end(client, submitted)
    }

    pub(crate) fn kept(&self, client: usize) -> &[KeptRow] {
        self.0.kept_rows(client)
    }

    pub(crate) fn execute(&mut self, client: usize, op: &StatementOp) -> Result<(), OpError> {
        let submitted = self.0.submit(client, op);
        self.await_end(client, submitted)
    }

    fn await_end(&mut self, client: usize, submitted: Submitted) -> Result<(), OpError> {
        let outcome = match submitted {
            Submitted::Done(outcome) => outcome,
            Submitted::Queued => {
                let mut ended = Vec::new();
                while ended.is_empty() {
                    self.0.flush();
                    self.0.reap(u64::MAX, &mut ended);
                }
                assert_eq!((ended.len(), ended[0].client), (1, client));
                ended.remove(0).outcome
            }
            other => panic!("{other:?}"),
        };
        match outcome {
            OpOutcome::Ok => Ok(()),
            OpOutcome::Failed(error) => Err(error),
        }
    }

    pub(crate) fn submit(&mut self, client: usize, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
        let parameters = parameters.to_vec();
        self.execute(client, &StatementOp { statement, parameters, ..StatementOp::default() })
    }

    pub(crate) fn keep(&mut self, client: usize, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
        let parameters = parameters.to_vec();
        self.execute(client, &StatementOp { statement, parameters, rows: Rows::Keep, ..StatementOp::default() })
    }

    pub(crate) fn ask(&mut self, text: &str, rows: Rows) -> Result<(), OpError> {
        self.execute(0, &StatementOp { text: text.to_owned(), rows, ..StatementOp::default() })
    }
}

pub(crate) fn class(result: Result<(), OpError>) -> ErrorClass {
    result.unwrap_err().class
}

pub(crate) fn text(text: &'static str) -> Datum {
    Datum::Text(text.into())
}

pub(crate) fn kept(columns: &[&str], rows: u64, values: &[Option<&'static str>]) -> KeptRow {
    let values = values.iter().map(|value| value.map_or(Datum::Null, text)).collect();
    KeptRow { rows, columns: columns.iter().map(|name| (*name).to_owned()).collect(), values }
}

/// Deadlocks on the table `pairs`; `update` adds 1 to `v` of a key.
pub(crate) fn one_of_two_in_a_deadlock_is_told<S: Tested>(system: &ServerSystem<S>, way: Choice, update: &str) {
    let both_hold = Barrier::new(2);
    let client = |first: i64, second: i64| {
        let mut result = Ok(());
        with_lane(system, way, 1, &["BEGIN", "COMMIT", update], |lane| {
            lane.submit(0, 0, &[]).unwrap();
            lane.submit(0, 2, &[Datum::Int(first)]).unwrap();
            both_hold.wait();
            result = lane.submit(0, 2, &[Datum::Int(second)]);
            match &result {
                Ok(()) => lane.submit(0, 1, &[]).unwrap(),
                Err(_) => lane.recover(0).unwrap(),
            }
        });
        result
    };
    let (a, b) = thread::scope(|scope| {
        let other = scope.spawn(|| client(2, 1));
        (client(1, 2), other.join().unwrap())
    });
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    assert_eq!(class(a.and(b)), ErrorClass::Deadlock);
}
