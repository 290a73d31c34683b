//! A worker's connections on one thread, over a reactor.
//!
//! The reactor sends and receives for all connections at once.
//!
//! The protocols have no pipelines: nothing makes their servers skip what follows a statement that failed. So operations inside
//! one are executed like others, each waited for.

use std::io;

use host::clock;
use host::reactor::{Choice, Event, EventKind, Reactor, Token};

use super::{Conversation, Heard, Opened, Opener, State};
use crate::error::{Failure, FailureKind};
use crate::lane::{Completion, KeptRow, Lane, OpError, Outcome, Submitted, lost};
use crate::workloads::transactions::StatementOp;

/// How long the end of a connection waits for the server to close its side.
const CLOSING_PATIENCE_NS: u64 = 5_000_000_000;
/// How long a server may take to roll a client's transaction back.
const ROLLBACK_PATIENCE_NS: u64 = 60_000_000_000;
/// How often a reactor is asked for the place of a connection that it is still closing, and how long it then waits.
const PLACE_ATTEMPTS: u32 = 100;
const PLACE_WAIT_NS: u64 = 10_000_000;

/// A worker's connections with their statements prepared.
pub struct NativeLane<'a, C> {
    reactor: Reactor,
    clients: Vec<One<C>>,
    /// The client of each token.
    by_token: Vec<usize>,
    events: Vec<Event>,
    /// What ended while one client was brought back.
    early: Vec<Completion>,
    /// Requests that are not prepared.
    text: Vec<u8>,
    opener: Opener<'a, C>,
}

struct One<C> {
    token: Token,
    connection: C,
}

impl<'a, C: Conversation> NativeLane<'a, C> {
    /// Puts connections, each of them one client, on a reactor of this thread. `opener` makes one anew.
    ///
    /// # Errors
    /// There is no reactor to be had, or a connection is encrypted.
    pub(crate) fn new(
        choice: Choice,
        opened: Vec<Opened<C>>,
        opener: Opener<'a, C>,
    ) -> Result<NativeLane<'a, C>, Failure> {
        let fail = |cause: &dyn std::fmt::Display| Failure::new(FailureKind::Other, "set up the connections", cause);
        // One place more, for a connection that is made while the one before it is still being closed.
        let reactor = Reactor::new(choice, opened.len() + 1).map_err(|error| fail(&error))?;
        let count = opened.len();
        let mut lane = NativeLane {
            reactor,
            clients: Vec::with_capacity(count),
            by_token: Vec::with_capacity(count + 1),
            events: Vec::with_capacity(count),
            early: Vec::new(),
            text: Vec::new(),
            opener,
        };
        for (client, Opened { link, connection }) in opened.into_iter().enumerate() {
            let socket = link.into_socket().map_err(|error| fail(&error))?;
            let token = lane.reactor.register(socket).map_err(|error| fail(&error))?;
            lane.note_token(token, client);
            lane.clients.push(One { token, connection });
        }
        Ok(lane)
    }

    /// Which reactor runs it.
    pub fn reactor_kind(&self) -> &str {
        self.reactor.kind()
    }

    fn note_token(&mut self, token: Token, client: usize) {
        if self.by_token.len() <= token.index() {
            self.by_token.resize(token.index() + 1, 0);
        }
        self.by_token[token.index()] = client;
    }

    /// Waits once, and appends what ended.
    fn turn(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        let mut events = std::mem::take(&mut self.events);
        if let Err(cause) = self.reactor.wait(deadline_ns, &mut events) {
            let error = lost(&format_args!("étalon cannot wait for its connections: {cause}"));
            (0..self.clients.len()).for_each(|client| self.lose(client, error.clone(), into));
        }
        for event in events.drain(..) {
            let client = self.by_token[event.token.index()];
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
        let One { token, connection } = &mut self.clients[client];
        let token = *token;
        let received = self.reactor.received(token);
        let heard = connection.read(received);
        let bytes = received.len();
        self.reactor.consume(token, bytes);
        match heard {
            Heard::Nothing => {}
            Heard::Answer(outcome) => into.push(Completion { client, outcome }),
            Heard::End(error) => self.lose(client, error, into),
        }
    }

    /// Gives a connection up.
    fn lose(&mut self, client: usize, error: OpError, into: &mut Vec<Completion>) {
        let One { token, connection } = &mut self.clients[client];
        if matches!(connection.state(), State::Gone(_)) {
            return;
        }
        self.reactor.close(*token);
        let afterwards = lost(&error.message);
        if std::mem::replace(connection.state_mut(), State::Gone(afterwards)) == State::Waiting {
            into.push(Completion { client, outcome: Outcome::Failed(error) });
        }
    }

    /// Waits while a client's connection is in a state, at most until `deadline_ns`. What others get meanwhile is told
    /// by the next `reap`.
    fn wait_while(&mut self, client: usize, deadline_ns: u64, stays: impl Fn(&State) -> bool) -> bool {
        while stays(self.clients[client].connection.state()) {
            if clock::now_ns() >= deadline_ns {
                return false;
            }
            let mut ended = std::mem::take(&mut self.early);
            self.turn(deadline_ns, &mut ended);
            self.early = ended;
        }
        true
    }

    /// Ends a client's connection politely.
    fn part_from(&mut self, client: usize) {
        let One { token, connection } = &self.clients[client];
        if matches!(connection.state(), State::Gone(_)) {
            return;
        }
        let token = *token;
        let mut farewell = Vec::new();
        C::farewell(&mut farewell);
        if farewell.is_empty() {
            self.reactor.close(token);
            *self.clients[client].connection.state_mut() = State::Gone(lost("étalon closed the connection"));
            return;
        }
        self.reactor.send(token, &farewell);
        let deadline_ns = clock::now_ns() + CLOSING_PATIENCE_NS;
        if !self.wait_while(client, deadline_ns, |state| !matches!(state, State::Gone(_))) {
            self.reactor.close(token);
            *self.clients[client].connection.state_mut() = State::Gone(lost("étalon closed the connection"));
        }
    }

    /// Takes over a new connection as a client's.
    fn take_over(&mut self, client: usize, mut opened: Opened<C>) -> Result<(), OpError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let Opened { link, connection } = opened;
            let socket = link.into_socket().map_err(|cause| lost(&cause))?;
            match self.reactor.register(socket) {
                Ok(token) => {
                    self.note_token(token, client);
                    self.clients[client] = One { token, connection };
                    return Ok(());
                }
                Err(cause) if attempt == PLACE_ATTEMPTS => return Err(lost(&cause)),
                // The kernel still holds the place of a connection that was closed. The refused one is gone.
                Err(_) => {
                    let mut ended = std::mem::take(&mut self.early);
                    self.turn(clock::now_ns() + PLACE_WAIT_NS, &mut ended);
                    self.early = ended;
                    opened = (self.opener)()?;
                }
            }
        }
    }
}

impl<C: Conversation> Lane for NativeLane<'_, C> {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        let One { token, connection } = &mut self.clients[client];
        match connection.request(op, &mut self.text) {
            Ok(request) => {
                self.reactor.send(*token, request);
                Submitted::Queued
            }
            Err(error) => Submitted::Done(Outcome::Failed(error)),
        }
    }

    // `flush` does nothing: what is queued is sent by the entry into the kernel with which `reap` waits.

    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        let deadline_ns = if self.early.is_empty() { deadline_ns } else { 0 };
        into.append(&mut self.early);
        self.turn(deadline_ns, into);
    }

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        self.clients[client].connection.kept()
    }

    /// The server leaves a transaction open in which a statement has failed. Outside of one there is nothing to do.
    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let One { token, connection } = &mut self.clients[client];
        if *connection.state() != State::Free || !connection.needs_rollback() {
            return Ok(());
        }
        let request = connection.request(&C::rollback(), &mut self.text)?;
        self.reactor.send(*token, request);
        let deadline_ns = clock::now_ns() + ROLLBACK_PATIENCE_NS;
        if !self.wait_while(client, deadline_ns, |state| *state == State::Waiting) {
            let mut ended = Vec::new();
            self.lose(client, lost("the server did not roll back within a minute"), &mut ended);
        }
        let own = self.early.iter().position(|completion| completion.client == client);
        match own.map(|place| self.early.swap_remove(place).outcome) {
            Some(Outcome::Failed(error)) => Err(error),
            Some(Outcome::Ok) => Ok(()),
            None => Err(lost("the server did not roll back within a minute")),
        }
    }

    fn reconnect(&mut self, client: usize) -> Result<(), OpError> {
        self.part_from(client);
        let opened = (self.opener)()?;
        self.take_over(client, opened)
    }

    fn kernel_entries(&self) -> Option<u64> {
        self.reactor.kernel_entries()
    }

    fn close(mut self) {
        let mut farewell = Vec::new();
        C::farewell(&mut farewell);
        let is_there = |one: &One<C>| !matches!(one.connection.state(), State::Gone(_));
        for one in self.clients.iter().filter(|one| is_there(one)) {
            match farewell.is_empty() {
                true => self.reactor.close(one.token),
                false => self.reactor.send(one.token, &farewell),
            }
        }
        if farewell.is_empty() {
            return;
        }
        // A connection that is still there would count among the server's.
        let deadline_ns = clock::now_ns() + CLOSING_PATIENCE_NS;
        let mut ended = Vec::new();
        while self.clients.iter().any(is_there) && clock::now_ns() < deadline_ns {
            self.turn(deadline_ns, &mut ended);
        }
    }
}
