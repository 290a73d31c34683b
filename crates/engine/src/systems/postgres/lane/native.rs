//! PostgreSQL's native lane: a worker's connections on one thread over a reactor.
//!
//! Requests are encoded once per statement and patched in place; answers are scanned by message headers. The reactor
//! sends and receives for all connections at once; TLS is in between where used.

use std::io;

use host::clock;
use host::reactor::{Choice, Event, EventKind, Reactor};
use wire::WireError;
use wire::postgres::{TransactionStatus, frontend};

use super::connection::{Connection, Heard, Pipeline, State};
use super::login::Opened;
use super::statement::{Encoded, Shape};
use crate::error::{Failure, FailureKind};
use crate::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, Outcome, Submitted, SyncPoint, lost};
use crate::systems::server::connector::{Connector, Opener};
use crate::workloads::transactions::{Flow, OPEN_TRANSACTION, Rows, StatementOp};

/// For the server to close its side after a run.
const CLOSING_PATIENCE_NS: u64 = 5_000_000_000;

const SPARE_SOCKETS: usize = 9;

#[derive(Clone, Debug)]
pub(crate) enum Statements {
    /// On each connection, by number.
    Prepared,
    /// Text and number of parameters, parsed each time.
    Extended(Vec<(String, usize)>),
    /// Text with each operation.
    Simple,
}

pub struct NativeLane {
    reactor: Reactor,
    connections: Vec<Connection>,
    /// By token.
    clients: Vec<usize>,
    /// Empty for text statements.
    statements: Vec<Encoded>,
    /// Of prepared statements.
    types: Vec<Vec<u32>>,
    connector: Connector<Opened>,
    events: Vec<Event>,
    /// Unprepared requests.
    text: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

/// Through TLS, if any.
fn send(reactor: &mut Reactor, sealed: &mut Vec<u8>, connection: &mut Connection, bytes: &[u8]) {
    let Some(tls) = &mut connection.tls else { return reactor.send(connection.token, bytes) };
    sealed.clear();
    // Memory accepts everything; an ended TLS session shows on receive.
    if tls.seal(bytes, sealed).is_ok() {
        reactor.send(connection.token, sealed);
    }
}

impl NativeLane {
    /// One client per connection, on this thread's reactor. `opener` makes more.
    pub(crate) fn new(
        choice: Choice,
        opened: Vec<Opened>,
        statements: &Statements,
        opener: Opener<Opened>,
    ) -> Result<NativeLane, Failure> {
        let fail = |cause: &dyn std::fmt::Display| Failure::new(FailureKind::Other, "set up the connections", cause);
        let mut reactor = Reactor::new(choice, opened.len() + SPARE_SOCKETS).map_err(|error| fail(&error))?;
        let types = opened.first().map(|first| first.parameters.clone()).unwrap_or_default();
        let encoded: Result<Vec<Encoded>, WireError> = match statements {
            Statements::Prepared => {
                types.iter().enumerate().map(|(number, types)| Encoded::prepared(number, types)).collect()
            }
            Statements::Extended(texts) => texts.iter().map(|(sql, count)| Encoded::unprepared(sql, *count)).collect(),
            Statements::Simple => Ok(Vec::new()),
        };
        let statements = encoded.map_err(|error| fail(&error))?;
        let mut connections = Vec::with_capacity(opened.len());
        let mut clients = vec![0; opened.len() + SPARE_SOCKETS];
        for (client, one) in opened.into_iter().enumerate() {
            if one.parameters != types {
                return Err(fail(&UNLIKE));
            }
            let token = reactor.register(one.channel.socket).map_err(|error| fail(&error))?;
            clients[token.index()] = client;
            connections.push(Connection::new(token, one.channel.tls, one.scanner, one.process_id));
        }
        Ok(NativeLane {
            reactor,
            events: Vec::with_capacity(connections.len()),
            connections,
            clients,
            statements,
            types,
            connector: Connector::new(opener),
            text: Vec::new(),
            plain: Vec::new(),
            sealed: Vec::new(),
        })
    }

    pub fn reactor_kind(&self) -> &str {
        self.reactor.kind()
    }

    /// Waits once, and appends completions.
    fn turn(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        let mut events = std::mem::take(&mut self.events);
        let deadline_ns = self.connector.deadline_ns(deadline_ns, &self.reactor);
        if let Err(cause) = self.reactor.wait(deadline_ns, &mut events) {
            let error = lost(&format_args!("étalon cannot wait for its connections: {cause}"));
            (0..self.connections.len()).for_each(|client| self.lose(client, error.clone(), into));
        }
        for event in events.drain(..) {
            if self.connector.is_bell(event.token) {
                let bytes = self.reactor.received(event.token).len();
                self.reactor.consume(event.token, bytes);
                continue;
            }
            let client = self.clients[event.token.index()];
            match event.kind {
                EventKind::Data => self.read(client, into),
                EventKind::Closed => self.lose(client, lost("the server closed the connection"), into),
                EventKind::Error(code) => self.lose(client, lost(&io::Error::from_raw_os_error(code)), into),
            }
        }
        self.events = events;
        while let Some((client, opened)) = self.connector.next(&self.reactor) {
            let taken = opened.and_then(|opened| self.take_over(client, opened));
            into.push(Completion { client, outcome: taken.map_or_else(Outcome::Failed, |()| Outcome::Ok) });
        }
    }

    fn take_over(&mut self, client: usize, opened: Opened) -> Result<(), OpError> {
        if opened.parameters != self.types {
            return Err(lost(UNLIKE));
        }
        let token = self.reactor.register(opened.channel.socket).map_err(|error| lost(&error))?;
        self.clients[token.index()] = client;
        self.connections[client] = Connection::new(token, opened.channel.tls, opened.scanner, opened.process_id);
        Ok(())
    }

    fn read(&mut self, client: usize, into: &mut Vec<Completion>) {
        let connection = &mut self.connections[client];
        let token = connection.token;
        let received = self.reactor.received(token);
        self.sealed.clear();
        let heard = connection.receive(received, &mut self.plain, &mut self.sealed);
        let bytes = received.len();
        self.reactor.consume(token, bytes);
        if !self.sealed.is_empty() {
            self.reactor.send(token, &self.sealed);
        }
        let outcome = match (connection.owed, &connection.state) {
            (0, State::Waiting) => {
                connection.state = State::Free;
                Some(connection.failure.take().map_or(Outcome::Ok, Outcome::Failed))
            }
            (0, State::Clearing) => self.roll_back(client),
            _ => None,
        };
        into.extend(outcome.map(|outcome| Completion { client, outcome }));
        match heard {
            Heard::Nothing => {}
            Heard::CopyIn => self.refuse_copy(client),
            Heard::End(error) => self.lose(client, error, into),
        }
    }

    /// No script has `COPY` data. The server has skipped a prepared request's end.
    fn refuse_copy(&mut self, client: usize) {
        let mut out = Vec::new();
        if frontend::copy_fail("étalon's scripts have no data for COPY", &mut out).is_ok() {
            // A simple query has no end to skip.
            if !self.statements.is_empty() {
                frontend::sync(&mut out);
            }
            send(&mut self.reactor, &mut self.sealed, &mut self.connections[client], &out);
        }
    }

    fn lose(&mut self, client: usize, error: OpError, into: &mut Vec<Completion>) {
        let connection = &mut self.connections[client];
        if matches!(connection.state, State::Gone(_)) {
            return;
        }
        self.reactor.close(connection.token);
        let afterwards = lost(&error.message);
        if std::mem::replace(&mut connection.state, State::Gone(afterwards)) != State::Free {
            into.push(Completion { client, outcome: Outcome::Failed(error) });
        }
    }

    /// Ends a client's open transaction once nothing is outstanding.
    fn roll_back(&mut self, client: usize) -> Option<Outcome> {
        let connection = &mut self.connections[client];
        // The pipeline's failures are the reason, or follow from it.
        connection.failure = None;
        connection.state = State::Free;
        if connection.block == TransactionStatus::Idle {
            return Some(Outcome::Ok);
        }
        self.text.clear();
        if let Err(error) = frontend::query("ROLLBACK", &mut self.text) {
            return Some(Outcome::Failed(lost(&error)));
        }
        send(&mut self.reactor, &mut self.sealed, connection, &self.text);
        connection.owed += 1;
        connection.state = State::Waiting;
        None
    }

    /// Ends its pipeline.
    fn send_sync(&mut self, client: usize) {
        let connection = &mut self.connections[client];
        self.text.clear();
        frontend::sync(&mut self.text);
        send(&mut self.reactor, &mut self.sealed, connection, &self.text);
        connection.owed += 1;
        connection.pipeline = Pipeline::Closed;
    }
}

const UNLIKE: &str = "the server gave a statement's parameters different types on two connections";

fn failed(error: OpError) -> Submitted {
    Submitted::Done(Outcome::Failed(error))
}

impl Lane for NativeLane {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        let connection = &mut self.connections[client];
        if let State::Gone(error) = &connection.state {
            return failed(error.clone());
        }
        let request = match self.statements.get_mut(op.statement) {
            Some(statement) => statement.request(Shape::of(op.flow, op.rows), &op.parameters),
            None => {
                self.text.clear();
                frontend::query(&op.text, &mut self.text).map(|()| &*self.text)
            }
        };
        let request = match request {
            Ok(request) => request,
            Err(error) => return failed(OpError { class: ErrorClass::Statement, message: error.to_string() }),
        };
        send(&mut self.reactor, &mut self.sealed, connection, request);
        if op.flow == Flow::Pipelined {
            connection.pipeline = Pipeline::Open;
            return Submitted::Done(Outcome::Ok);
        }
        connection.expect(op.rows);
        connection.owed += 1;
        connection.state = State::Waiting;
        Submitted::Queued
    }

    fn sync(&mut self, client: usize, point: SyncPoint) -> Submitted {
        if let State::Gone(error) = &self.connections[client].state {
            return failed(error.clone());
        }
        self.connections[client].expect(Rows::Discard);
        self.send_sync(client);
        match point {
            SyncPoint::Sync => Submitted::Done(Outcome::Ok),
            SyncPoint::End => {
                self.connections[client].state = State::Waiting;
                Submitted::Queued
            }
        }
    }

    // `flush` is empty: `reap`'s kernel entry sends the queue.

    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        self.turn(deadline_ns, into);
    }

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        self.connections[client].kept()
    }

    /// The server keeps a failed transaction open until rolled back. A broken pipeline is ended first.
    fn recover(&mut self, client: usize) -> Option<Outcome> {
        if self.connections[client].state != State::Free {
            return Some(Outcome::Ok);
        }
        self.connections[client].expect(Rows::Discard);
        if self.connections[client].pipeline == Pipeline::Open {
            self.send_sync(client);
        }
        if self.connections[client].owed == 0 {
            return self.roll_back(client);
        }
        self.connections[client].state = State::Clearing;
        None
    }

    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &self.connections[client];
        if connection.block == TransactionStatus::Idle || matches!(connection.state, State::Gone(_)) {
            return Ok(());
        }
        Err(OpError { class: ErrorClass::Script, message: OPEN_TRANSACTION.to_owned() })
    }

    fn reconnect(&mut self, client: usize) -> Option<Outcome> {
        let connection = &mut self.connections[client];
        if !matches!(connection.state, State::Gone(_)) {
            let mut farewell = Vec::new();
            frontend::terminate(&mut farewell);
            send(&mut self.reactor, &mut self.sealed, connection, &farewell);
            // The next wait finds a broken reactor.
            let _ = self.reactor.flush();
            self.reactor.close(connection.token);
            connection.state = State::Gone(lost("the connection is being made anew"));
        }
        self.connector.ask(client, &mut self.reactor).err().map(Outcome::Failed)
    }

    fn helpers_cpu_ns(&self) -> u64 {
        self.connector.cpu_ns()
    }

    fn helper_threads(&self) -> usize {
        self.connector.threads()
    }

    fn session_number(&self, client: usize) -> Option<u32> {
        self.connections.get(client).map(|connection| connection.process_id)
    }

    fn kernel_entries(&self) -> Option<u64> {
        self.reactor.kernel_entries()
    }

    fn close(mut self) {
        let mut farewell = Vec::new();
        frontend::terminate(&mut farewell);
        for connection in self.connections.iter_mut().filter(|one| !matches!(one.state, State::Gone(_))) {
            send(&mut self.reactor, &mut self.sealed, connection, &farewell);
        }
        // A remaining server process would count among its connections, and use the next run's CPU.
        let deadline_ns = clock::now_ns() + CLOSING_PATIENCE_NS;
        let mut ended = Vec::new();
        while self.connections.iter().any(|one| !matches!(one.state, State::Gone(_))) && clock::now_ns() < deadline_ns {
            self.turn(deadline_ns, &mut ended);
        }
    }
}
