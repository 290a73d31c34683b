//! PostgreSQL in étalon's own words: a worker's connections on one thread, over a reactor.
//!
//! A request is encoded once for each statement, and its parameters are patched in place. An answer is scanned by the
//! headers of its messages up to the end. The reactor sends and receives for all connections at once; where a connection
//! is encrypted its bytes pass through TLS on their way.

use std::io;

use host::clock;
use host::reactor::{Choice, Event, EventKind, Reactor, Socket, Token};
use wire::WireError;
use wire::postgres::{TransactionStatus, frontend};

use super::connection::{Connection, Heard, Pipeline, State};
use super::login::Opened;
use super::statement::{Encoded, Shape};
use crate::error::{Failure, FailureKind};
use crate::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, Outcome, Submitted, SyncPoint, lost};
use crate::workloads::transactions::{Flow, OPEN_TRANSACTION, Rows, StatementOp};

/// How long the end of a trial waits for the server to close its side.
const CLOSING_PATIENCE_NS: u64 = 5_000_000_000;

/// Sockets that the reactor may hold beside the lane's own: those that are being closed while a client connects anew.
const SPARE_SOCKETS: usize = 8;
/// How often such a socket is given time to be closed.
const CLOSING_TURNS: usize = 100;
const CLOSING_TURN_NS: u64 = 1_000_000;

/// What the lane executes.
#[derive(Clone, Debug)]
pub(crate) enum Statements {
    /// Statements that each connection has prepared under their numbers.
    Prepared,
    /// Texts with so many parameters each, which the server parses each time.
    Extended(Vec<(String, usize)>),
    /// Whole texts that come with each operation.
    Simple,
}

/// How a connection is made anew.
type Reopen<'a> = Box<dyn FnMut() -> Result<Opened, OpError> + 'a>;

/// A worker's connections.
pub struct NativeLane<'a> {
    reactor: Reactor,
    connections: Vec<Connection>,
    /// The client of each token.
    clients: Vec<usize>,
    /// Empty where statements travel as text.
    statements: Vec<Encoded>,
    /// The types of the parameters of what is prepared.
    types: Vec<Vec<u32>>,
    reopen: Reopen<'a>,
    events: Vec<Event>,
    /// What ended while one client was brought back.
    early: Vec<Completion>,
    /// Requests that are not prepared.
    text: Vec<u8>,
    /// What is decrypted.
    plain: Vec<u8>,
    /// What is encrypted.
    sealed: Vec<u8>,
}

/// Sends by way of the connection's encryption, if it has one.
fn send(reactor: &mut Reactor, sealed: &mut Vec<u8>, connection: &mut Connection, bytes: &[u8]) {
    let Some(tls) = &mut connection.tls else { return reactor.send(connection.token, bytes) };
    sealed.clear();
    // Memory takes all that is written to it; a connection whose TLS has ended is told of by what it receives.
    if tls.seal(bytes, sealed).is_ok() {
        reactor.send(connection.token, sealed);
    }
}

impl<'a> NativeLane<'a> {
    /// Puts connections, each of them one client, on a reactor of this thread. `reopen` makes one more like them.
    ///
    /// # Errors
    /// There is no reactor to be had, or the connections' statements are not alike.
    pub(crate) fn new(
        choice: Choice,
        opened: Vec<Opened>,
        statements: &Statements,
        reopen: impl FnMut() -> Result<Opened, OpError> + 'a,
    ) -> Result<NativeLane<'a>, Failure> {
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
            connections.push(Connection::new(token, one.channel.tls, one.scanner));
        }
        Ok(NativeLane {
            reactor,
            events: Vec::with_capacity(connections.len()),
            connections,
            clients,
            statements,
            types,
            reopen: Box::new(reopen),
            early: Vec::new(),
            text: Vec::new(),
            plain: Vec::new(),
            sealed: Vec::new(),
        })
    }

    /// Which reactor runs it.
    pub fn reactor_kind(&self) -> &str {
        self.reactor.kind()
    }

    /// Waits once, and appends what ended.
    fn turn(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        let mut events = std::mem::take(&mut self.events);
        if let Err(cause) = self.reactor.wait(deadline_ns, &mut events) {
            let error = lost(&format_args!("étalon cannot wait for its connections: {cause}"));
            (0..self.connections.len()).for_each(|client| self.lose(client, error.clone(), into));
        }
        for event in events.drain(..) {
            let client = self.clients[event.token.index()];
            match event.kind {
                EventKind::Data => self.read(client, into),
                EventKind::Closed => self.lose(client, lost("the server closed the connection"), into),
                EventKind::Error(code) => self.lose(client, lost(&io::Error::from_raw_os_error(code)), into),
            }
        }
        self.events = events;
    }

    /// Reads what a connection received.
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
        if connection.owed == 0 && connection.state == State::Waiting {
            connection.state = State::Free;
            let outcome = connection.failure.take().map_or(Outcome::Ok, Outcome::Failed);
            into.push(Completion { client, outcome });
        }
        match heard {
            Heard::Nothing => {}
            Heard::CopyIn => self.refuse_copy(client),
            Heard::End(error) => self.lose(client, error, into),
        }
    }

    /// Refuses a statement that wants data, which no script has. The server has passed over a prepared request's end.
    fn refuse_copy(&mut self, client: usize) {
        let mut out = Vec::new();
        if frontend::copy_fail("étalon's scripts have no data for COPY", &mut out).is_ok() {
            // A simple query has no end that could have been passed over.
            if !self.statements.is_empty() {
                frontend::sync(&mut out);
            }
            send(&mut self.reactor, &mut self.sealed, &mut self.connections[client], &out);
        }
    }

    /// Gives a connection up.
    fn lose(&mut self, client: usize, error: OpError, into: &mut Vec<Completion>) {
        let connection = &mut self.connections[client];
        if matches!(connection.state, State::Gone(_)) {
            return;
        }
        self.reactor.close(connection.token);
        let afterwards = lost(&error.message);
        if std::mem::replace(&mut connection.state, State::Gone(afterwards)) == State::Waiting {
            into.push(Completion { client, outcome: Outcome::Failed(error) });
        }
    }

    /// Waits until a client has every answer. What others get meanwhile is told by the next `reap`.
    fn await_client(&mut self, client: usize) -> Result<(), OpError> {
        self.connections[client].state = State::Waiting;
        loop {
            let mut ended = std::mem::take(&mut self.early);
            self.turn(u64::MAX, &mut ended);
            self.early = ended;
            if let Some(place) = self.early.iter().position(|completion| completion.client == client) {
                return match self.early.swap_remove(place).outcome {
                    Outcome::Ok => Ok(()),
                    Outcome::Failed(error) => Err(error),
                };
            }
        }
    }

    /// Puts one more connection on the reactor, where the last ones may still be being closed.
    fn register(&mut self, socket: Socket) -> Result<Token, OpError> {
        let mut ended = std::mem::take(&mut self.early);
        for _ in 0..CLOSING_TURNS {
            if self.reactor.has_room() {
                break;
            }
            self.turn(clock::now_ns() + CLOSING_TURN_NS, &mut ended);
        }
        self.early = ended;
        self.reactor.register(socket).map_err(|error| lost(&error))
    }

    /// Asks a client's connection to end its pipeline.
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

impl Lane for NativeLane<'_> {
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

    // `flush` does nothing: what is queued is sent by the entry into the kernel with which `reap` waits.

    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        let deadline_ns = if self.early.is_empty() { deadline_ns } else { 0 };
        into.append(&mut self.early);
        self.turn(deadline_ns, into);
    }

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        self.connections[client].kept()
    }

    /// The server leaves a transaction block that has failed open until it is rolled back, and says so. A pipeline that
    /// was broken off is brought to its end first.
    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &mut self.connections[client];
        if connection.state != State::Free {
            return Ok(());
        }
        connection.expect(Rows::Discard);
        let pipeline = connection.pipeline;
        if pipeline == Pipeline::Open {
            self.send_sync(client);
        }
        if self.connections[client].owed > 0 {
            match self.await_client(client) {
                Err(error) if error.class == ErrorClass::ConnectionLost => return Err(error),
                // What failed in the pipeline was the reason, or comes of it.
                _ => {}
            }
        }
        let connection = &mut self.connections[client];
        if connection.block == TransactionStatus::Idle {
            return Ok(());
        }
        let mut rollback = Vec::new();
        frontend::query("ROLLBACK", &mut rollback).map_err(|error| lost(&error))?;
        send(&mut self.reactor, &mut self.sealed, connection, &rollback);
        connection.owed += 1;
        self.await_client(client)
    }

    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &self.connections[client];
        if connection.block == TransactionStatus::Idle || matches!(connection.state, State::Gone(_)) {
            return Ok(());
        }
        Err(OpError { class: ErrorClass::Script, message: OPEN_TRANSACTION.to_owned() })
    }

    fn reconnect(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &mut self.connections[client];
        if !matches!(connection.state, State::Gone(_)) {
            let mut farewell = Vec::new();
            frontend::terminate(&mut farewell);
            send(&mut self.reactor, &mut self.sealed, connection, &farewell);
            // A broken reactor is found by the next wait.
            let _ = self.reactor.flush();
            self.reactor.close(connection.token);
            connection.state = State::Gone(lost("the connection is being made anew"));
        }
        let mut opened = (self.reopen)()?;
        if opened.parameters != self.types {
            return Err(lost(UNLIKE));
        }
        let token = self.register(opened.channel.socket)?;
        self.clients[token.index()] = client;
        self.connections[client] = Connection::new(token, opened.channel.tls.take(), opened.scanner);
        Ok(())
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
        // A server's process that is still there would count among its connections, and take the next trial's CPU.
        let deadline_ns = clock::now_ns() + CLOSING_PATIENCE_NS;
        let mut ended = Vec::new();
        while self.connections.iter().any(|one| !matches!(one.state, State::Gone(_))) && clock::now_ns() < deadline_ns {
            self.turn(deadline_ns, &mut ended);
        }
    }
}
