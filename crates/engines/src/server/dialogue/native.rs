//! A worker's connections on one thread over a reactor, which sends and receives for all at once; TLS is in between
//! where used.

use std::io;

use host::clock;
use host::reactor::{Choice, Event, EventKind, Reactor, Token};

use super::{Conversation, DialogueState, Heard, OpenedConnection, Opener, Parting, Waiting};
use crate::server::connector::Connector;
use crate::server::dialogue::tls::Tls;
use load::error::{Failure, FailureKind};
use load::lane::{
    Completion, ErrorClass, KeptRow, Lane, OpError, OpOutcome, RowCounts, Submitted, SyncPoint, connection_lost,
};
use workloads::transactions::{Flow, OPEN_TRANSACTION, StatementOp};

/// Timeout of the server's closing of its side.
const CLOSING_TIMEOUT_NS: u64 = 5_000_000_000;
/// How long answers are waited for after an interrupt.
const LAST_TIMEOUT_NS: u64 = 300_000_000;
/// Besides the lane's own: sockets being closed during reconnects, and the connector's.
const SPARE_SOCKETS: usize = 9;

pub struct NativeLane<C> {
    reactor: Reactor,
    clients: Vec<One<C>>,
    by_token: Vec<usize>,
    connector: Connector<OpenedConnection<C>>,
    events: Vec<Event>,
    /// Unprepared requests, and what the protocol says by itself.
    text: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    /// Rows of each client, over all its connections.
    rows: Vec<RowCounts>,
    waiting: Waiting,
}

struct One<C> {
    token: Token,
    tls: Option<Tls>,
    connection: C,
    /// The server is to close the connection; its client gets another.
    is_parting: bool,
}

/// Sends bytes over a connection of the reactor, through TLS if it has any.
fn send_through_tls(reactor: &mut Reactor, sealed: &mut Vec<u8>, token: Token, tls: Option<&mut Tls>, bytes: &[u8]) {
    let Some(tls) = tls else { return reactor.send(token, bytes) };
    sealed.clear();
    // Memory accepts everything; an ended TLS session shows on receive.
    if tls.encrypt_into(bytes, sealed).is_ok() {
        reactor.send(token, sealed);
    }
}

impl<C: Conversation> One<C> {
    /// Decrypts and reads everything received of a client's connection, and returns what the messages contain.
    /// `plain` is memory for decryption; `sealed` collects what TLS has to send, `reply` what the protocol has.
    fn read_received(
        &mut self,
        received: &[u8],
        plain: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
        reply: &mut Vec<u8>,
    ) -> Heard {
        let mut heard = Heard::default();
        let Some(tls) = &mut self.tls else {
            self.connection.read_received(received, &mut heard, reply);
            return heard;
        };
        let mut rest = received;
        while !rest.is_empty() && heard.end.is_none() {
            plain.clear();
            match tls.decrypt_into(&mut rest, plain).and_then(|()| tls.take_sealed(sealed)) {
                Ok(()) if plain.is_empty() => {}
                Ok(()) => self.connection.read_received(plain, &mut heard, reply),
                Err(cause) => heard.end = Some(connection_lost(&cause)),
            }
        }
        heard
    }
}

/// Makes the failure that the connections could not be set up.
fn setup_failure(cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, "set up the connections", cause)
}

impl<C: Conversation> One<C> {
    /// Tests whether the server has not been found gone.
    fn is_connected(&self) -> bool {
        !matches!(self.connection.state(), DialogueState::Gone(_))
    }
}

impl<C: Conversation + Send + 'static> NativeLane<C> {
    /// Makes a lane with one client per connection, on this thread's reactor. `opener` reconnects.
    pub(crate) fn new(
        choice: Choice,
        opened: Vec<OpenedConnection<C>>,
        opener: Opener<C>,
    ) -> Result<NativeLane<C>, Failure> {
        let count = opened.len();
        let reactor = Reactor::new(choice, count + SPARE_SOCKETS).map_err(setup_failure)?;
        let mut lane = NativeLane {
            reactor,
            clients: Vec::with_capacity(count),
            by_token: vec![0; count + SPARE_SOCKETS],
            connector: Connector::new(opener),
            rows: vec![RowCounts::default(); count],
            events: Vec::with_capacity(count),
            text: Vec::new(),
            plain: Vec::new(),
            sealed: Vec::new(),
            waiting: Waiting::default(),
        };
        for (client, one) in opened.into_iter().enumerate() {
            let one = lane.register_client(client, one).map_err(setup_failure)?;
            lane.clients.push(one);
        }
        Ok(lane)
    }

    /// Sets whose interrupt shortens closing, and who notes sessions that are left.
    #[must_use]
    pub(crate) fn with_waiting(self, waiting: Waiting) -> NativeLane<C> {
        NativeLane { waiting, ..self }
    }

    /// Adds a client's connection to the reactor.
    fn register_client(&mut self, client: usize, opened: OpenedConnection<C>) -> io::Result<One<C>> {
        let (socket, tls) = opened.link.into_parts();
        let token = self.reactor.register(socket)?;
        self.by_token[token.slot_index()] = client;
        Ok(One { token, tls, connection: opened.connection, is_parting: false })
    }

    /// Waits once for what the connections receive, and appends completions.
    fn wait_once(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        let mut events = std::mem::take(&mut self.events);
        let deadline_ns = self.connector.shorten_deadline_ns(deadline_ns, &self.reactor);
        if let Err(cause) = self.reactor.wait(deadline_ns, &mut events) {
            let error = connection_lost(&format_args!("étalon cannot wait for its connections: {cause}"));
            (0..self.clients.len()).for_each(|client| self.lose_client(client, error.clone(), into));
        }
        for event in events.drain(..) {
            let client = self.by_token[event.token.slot_index()];
            match event.kind {
                EventKind::Data if self.connector.is_wakeup(event.token) => self.discard_received(event.token),
                EventKind::Data if self.clients[client].is_parting => self.discard_received(event.token),
                EventKind::Data => self.read_client(client, into),
                _ if self.clients[client].is_parting => self.end_parting(client, into),
                EventKind::Closed => {
                    self.lose_client(client, connection_lost("the server closed the connection"), into)
                }
                EventKind::Error(code) => {
                    self.lose_client(client, connection_lost(&io::Error::from_raw_os_error(code)), into)
                }
            }
        }
        self.events = events;
        while let Some((client, opened)) = self.connector.next_login(&self.reactor) {
            let taken =
                opened.and_then(|opened| self.register_client(client, opened).map_err(|cause| connection_lost(&cause)));
            let taken = taken.map(|one| self.clients[client] = one);
            into.push(Completion { client, outcome: taken.map_or_else(OpOutcome::Failed, |()| OpOutcome::Ok) });
        }
    }

    /// Discards what a connection has received.
    fn discard_received(&mut self, token: Token) {
        let bytes = self.reactor.received(token).len();
        self.reactor.consume(token, bytes);
    }

    /// Asks for a client's new connection, after the server has closed the old one.
    fn end_parting(&mut self, client: usize, into: &mut Vec<Completion>) {
        self.clients[client].is_parting = false;
        self.reactor.close(self.clients[client].token);
        let refused = self.connector.ask(client, &mut self.reactor).err();
        into.extend(refused.map(|error| Completion { client, outcome: OpOutcome::Failed(error) }));
    }

    /// Reads what has come for a client, and appends its completion.
    fn read_client(&mut self, client: usize, into: &mut Vec<Completion>) {
        let one = &mut self.clients[client];
        let token = one.token;
        let received = self.reactor.received(token);
        self.sealed.clear();
        self.text.clear();
        let heard = one.read_received(received, &mut self.plain, &mut self.sealed, &mut self.text);
        let bytes = received.len();
        self.reactor.consume(token, bytes);
        if !self.sealed.is_empty() {
            self.reactor.send(token, &self.sealed);
        }
        if !self.text.is_empty() {
            send_through_tls(&mut self.reactor, &mut self.sealed, token, one.tls.as_mut(), &self.text);
        }
        self.rows[client] = self.rows[client].plus(heard.rows);
        into.extend(heard.answer.map(|outcome| Completion { client, outcome }));
        if let Some(error) = heard.end {
            self.lose_client(client, error, into);
        }
    }

    /// Closes a client's failed connection, and appends the completion if it waited for an answer.
    fn lose_client(&mut self, client: usize, error: OpError, into: &mut Vec<Completion>) {
        let One { token, connection, .. } = &mut self.clients[client];
        if matches!(connection.state(), DialogueState::Gone(_)) {
            return;
        }
        self.reactor.close(*token);
        let afterwards = connection_lost(&error.message);
        if std::mem::replace(connection.state_mut(), DialogueState::Gone(afterwards)) == DialogueState::Waiting {
            into.push(Completion { client, outcome: OpOutcome::Failed(error) });
        }
    }

    /// Encodes and sends a client's request.
    fn send_request(&mut self, client: usize, op: &StatementOp) -> Result<(), OpError> {
        let One { token, tls, connection, .. } = &mut self.clients[client];
        let request = connection.encode_request(op, &mut self.text)?;
        send_through_tls(&mut self.reactor, &mut self.sealed, *token, tls.as_mut(), request);
        Ok(())
    }

    /// Sends what the client's connection has written to `text`.
    fn send_text(&mut self, client: usize) {
        let One { token, tls, .. } = &mut self.clients[client];
        send_through_tls(&mut self.reactor, &mut self.sealed, *token, tls.as_mut(), &self.text);
    }

    /// Says goodbye to the server over a client's connection, as the protocol wants it.
    fn say_farewell(&mut self, client: usize) {
        self.text.clear();
        C::write_farewell(&mut self.text);
        match C::PARTING {
            Parting::Unsaid => self.reactor.close(self.clients[client].token),
            Parting::Said | Parting::Awaited => self.send_text(client),
        }
    }
}

impl<C: Conversation + Send + 'static> Lane for NativeLane<C> {
    type Op = StatementOp;

    /// Sends a client's request; it is done at once if it goes ahead in a pipeline.
    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        match self.send_request(client, op) {
            Ok(()) if C::PIPELINES && op.flow == Flow::Pipelined => Submitted::Done(OpOutcome::Ok),
            Ok(()) => Submitted::Queued,
            Err(error) => Submitted::Done(OpOutcome::Failed(error)),
        }
    }

    /// Sends what ends a client's pipeline, and waits for its answer at the end only.
    fn sync_pipeline(&mut self, client: usize, point: SyncPoint) -> Submitted {
        if !C::PIPELINES {
            return Submitted::Done(OpOutcome::Ok);
        }
        self.text.clear();
        if let Err(error) = self.clients[client].connection.encode_sync(point, &mut self.text) {
            return Submitted::Done(OpOutcome::Failed(error));
        }
        self.send_text(client);
        match point {
            SyncPoint::Sync => Submitted::Done(OpOutcome::Ok),
            SyncPoint::End => Submitted::Queued,
        }
    }

    // `flush` is empty: `reap`'s kernel entry sends the queue.

    /// Waits once for answers until a deadline, and appends completions.
    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        self.wait_once(deadline_ns, into);
    }

    /// Rows that a client's last answer was asked to keep.
    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        self.clients[client].connection.kept_rows()
    }

    /// Fails if the client's finished script left a transaction open.
    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        let connection = &self.clients[client].connection;
        if *connection.state() != DialogueState::Free || !connection.is_in_transaction() {
            return Ok(());
        }
        Err(OpError { class: ErrorClass::Script, message: OPEN_TRANSACTION.to_owned() })
    }

    /// Rolls back the failed transaction that the server keeps open, if there is one.
    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        self.text.clear();
        let done = self.clients[client].connection.recover_client(&mut self.text);
        if !self.text.is_empty() {
            self.send_text(client);
        }
        done
    }

    /// Takes leave of the server, and begins another login for the client.
    fn reconnect(&mut self, client: usize) -> Option<OpOutcome> {
        let state = self.clients[client].connection.state_mut();
        let before =
            std::mem::replace(state, DialogueState::Gone(connection_lost("the connection is being made anew")));
        if !matches!(before, DialogueState::Gone(_)) {
            self.say_farewell(client);
            match C::PARTING {
                Parting::Unsaid => {}
                Parting::Said => {
                    // The next wait finds a broken reactor.
                    let _ = self.reactor.flush();
                    self.reactor.close(self.clients[client].token);
                }
                Parting::Awaited => {
                    self.clients[client].is_parting = true;
                    return None;
                }
            }
        }
        self.connector.ask(client, &mut self.reactor).err().map(OpOutcome::Failed)
    }

    /// CPU time that the login threads have used.
    fn helpers_cpu_ns(&self) -> u64 {
        self.connector.cpu_ns()
    }

    /// Number of the login threads.
    fn helper_threads(&self) -> usize {
        self.connector.thread_count()
    }

    fn session_number(&self, client: usize) -> Option<u32> {
        self.clients.get(client)?.connection.session_number()
    }

    /// Counts the rows of all answers to a client, over all its connections.
    fn row_counts(&self, connection: usize) -> Option<RowCounts> {
        self.rows.get(connection).copied()
    }

    fn kernel_entries(&self) -> Option<u64> {
        self.reactor.kernel_entries()
    }

    /// Closes all connections, and waits for the server to close its side; notes the sessions that are left.
    fn close(mut self) {
        for client in 0..self.clients.len() {
            if matches!(self.clients[client].connection.state(), DialogueState::Gone(_)) {
                continue;
            }
            self.say_farewell(client);
            if C::PARTING == Parting::Unsaid {
                *self.clients[client].connection.state_mut() =
                    DialogueState::Gone(connection_lost("étalon closed the connection"));
            }
        }
        // A remaining connection would count among the server's. One in the midst of an operation does not close soon.
        let is_interrupted = self.waiting.is_interrupted();
        let timeout_ns = if is_interrupted { LAST_TIMEOUT_NS } else { CLOSING_TIMEOUT_NS };
        let deadline_ns = clock::now_ns() + timeout_ns;
        let mut ended = Vec::new();
        while self.clients.iter().any(One::is_connected) && clock::now_ns() < deadline_ns {
            self.wait_once(deadline_ns, &mut ended);
        }
        let left =
            self.clients.iter().filter(|one| one.is_connected()).filter_map(|one| one.connection.session_number());
        left.for_each(|session| self.waiting.note_left_session(session));
    }
}
