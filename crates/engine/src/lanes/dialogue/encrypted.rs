//! Encrypted connections: the reactor knows no TLS, so each has a thread of its own, on which `submit` waits for the
//! answer.

use std::io::{Read as _, Write as _};

use super::{Conversation, Heard, Link, Opened, Opener, State};
use crate::lane::{Completion, KeptRow, Lane, OpError, Outcome, Submitted, lost};
use crate::workloads::transactions::StatementOp;

/// Bytes taken by one read.
const READ_BYTES: usize = 16 << 10;

/// Connections with their statements prepared.
pub struct EncryptedLane<'a, C> {
    clients: Vec<One<C>>,
    buffer: Vec<u8>,
    text: Vec<u8>,
    opener: Opener<'a, C>,
}

struct One<C> {
    /// `None` while it is being made anew.
    link: Option<Link>,
    connection: C,
}

impl<C: Conversation> One<C> {
    fn of(Opened { link, connection }: Opened<C>) -> One<C> {
        One { link: Some(link), connection }
    }

    /// Sends a request and waits for its answer.
    fn exchange(&mut self, op: &StatementOp, text: &mut Vec<u8>, buffer: &mut [u8]) -> Outcome {
        let request = match self.connection.request(op, text) {
            Ok(request) => request,
            Err(error) => return Outcome::Failed(error),
        };
        let Some(link) = &mut self.link else { return Outcome::Failed(lost("the connection is closed")) };
        if let Err(cause) = link.write_all(request).and_then(|()| link.flush()) {
            return self.lose(lost(&cause));
        }
        loop {
            let heard = match link.read(buffer) {
                Ok(0) => Heard::End(lost("the server closed the connection")),
                Ok(count) => self.connection.read(&buffer[..count]),
                Err(cause) => Heard::End(lost(&cause)),
            };
            match heard {
                Heard::Nothing => {}
                Heard::Answer(outcome) => return outcome,
                Heard::End(error) => return self.lose(error),
            }
        }
    }

    fn lose(&mut self, error: OpError) -> Outcome {
        let afterwards = lost(&error.message);
        *self.connection.state_mut() = State::Gone(afterwards);
        self.link = None;
        Outcome::Failed(error)
    }
}

impl<'a, C: Conversation> EncryptedLane<'a, C> {
    /// Takes connections over, each of them one client. `opener` makes one anew.
    pub(crate) fn new(opened: Vec<Opened<C>>, opener: Opener<'a, C>) -> EncryptedLane<'a, C> {
        let clients = opened.into_iter().map(One::of).collect();
        EncryptedLane { clients, buffer: vec![0; READ_BYTES], text: Vec::new(), opener }
    }
}

impl<C: Conversation> Lane for EncryptedLane<'_, C> {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        Submitted::Done(self.clients[client].exchange(op, &mut self.text, &mut self.buffer))
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        self.clients[client].connection.kept()
    }

    /// The server leaves a transaction open in which a statement has failed. Outside of one there is nothing to do.
    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let one = &mut self.clients[client];
        if *one.connection.state() != State::Free || !one.connection.needs_rollback() {
            return Ok(());
        }
        match one.exchange(&C::rollback(), &mut self.text, &mut self.buffer) {
            Outcome::Ok => Ok(()),
            Outcome::Failed(error) => Err(error),
        }
    }

    fn reconnect(&mut self, client: usize) -> Result<(), OpError> {
        if let Some(link) = self.clients[client].link.take() {
            link.part(C::farewell);
        }
        *self.clients[client].connection.state_mut() = State::Gone(lost("the connection was not made anew"));
        self.clients[client] = One::of((self.opener)()?);
        Ok(())
    }

    fn close(self) {
        self.clients.into_iter().filter_map(|one| one.link).for_each(|link| link.part(C::farewell));
    }
}
