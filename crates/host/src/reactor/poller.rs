//! The portable implementation: non-blocking sockets and the operating system's readiness queue.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use super::readiness::{Interest, Readiness};
use super::{Event, EventKind, Socket, Token, no_slot_free};
use crate::clock;

/// Name of the readiness queue.
pub(super) const NAME: &str = Readiness::NAME;

/// Initial receive buffer; it grows while a message fills it.
const FIRST_BYTES: usize = 4 << 10;
/// Largest single receive, so that one socket does not hold up the others.
const MOST_BYTES: usize = 64 << 10;
const EVENTS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Reading,
    ReadingAndWriting,
    Nothing,
}

struct Connection {
    socket: Socket,
    watch: Watch,
    queued: Vec<u8>,
    sent: usize,
    /// Initialised; received bytes are between `begin` and `end`.
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

pub(super) struct Poller {
    system: Readiness,
    hits: Vec<Interest>,
    connections: Vec<Option<Connection>>,
    free: Vec<u32>,
    to_send: VecDeque<u32>,
    capacity: usize,
    /// Kernel entries to wait, send and receive.
    entries: u64,
}

impl Poller {
    pub(super) fn new(capacity: usize) -> io::Result<Poller> {
        let events = capacity.clamp(1, EVENTS);
        Ok(Poller {
            system: Readiness::new(events)?,
            hits: Vec::with_capacity(events),
            connections: Vec::new(),
            free: Vec::new(),
            to_send: VecDeque::new(),
            capacity,
            entries: 0,
        })
    }

    /// Tests whether one more socket can be registered.
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.connections.len() < self.capacity
    }

    pub(super) fn kernel_entries(&self) -> u64 {
        self.entries
    }

    /// Takes over a socket; returns its slot.
    pub(super) fn register(&mut self, socket: Socket) -> io::Result<u32> {
        let slot = match self.free.last() {
            Some(&slot) => slot,
            None if self.connections.len() < self.capacity => self.connections.len() as u32,
            None => return Err(no_slot_free(self.capacity)),
        };
        socket.set_nonblocking()?;
        self.system.add(&socket, make_interest(Watch::Reading, slot))?;
        let connection = Connection {
            socket,
            watch: Watch::Reading,
            queued: Vec::new(),
            sent: 0,
            buffer: vec![0; FIRST_BYTES],
            begin: 0,
            end: 0,
        };
        if self.free.pop().is_some() {
            self.connections[slot as usize] = Some(connection);
        } else {
            self.connections.push(Some(connection));
        }
        Ok(slot)
    }

    /// Queues bytes for a slot.
    pub(super) fn send(&mut self, slot: u32, bytes: &[u8]) {
        let Some(connection) = &mut self.connections[slot as usize] else { return };
        if connection.watch == Watch::Nothing {
            return;
        }
        if connection.queued.is_empty() {
            self.to_send.push_back(slot);
        }
        connection.queued.extend_from_slice(bytes);
    }

    /// Sends what is queued, as far as the peers take it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while let Some(slot) = self.to_send.pop_front() {
            self.write_queued(slot)?;
        }
        Ok(())
    }

    /// Sends what fits; the rest waits for room.
    fn write_queued(&mut self, slot: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        while connection.sent < connection.queued.len() {
            self.entries += 1;
            match (&connection.socket).write(&connection.queued[connection.sent..]) {
                Ok(bytes) => connection.sent += bytes,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {
                    return self.set_watch(slot, Watch::ReadingAndWriting);
                }
                // The server's last words are still to be read; the end is reported then.
                Err(_) => break,
            }
        }
        connection.queued.clear();
        connection.sent = 0;
        match connection.watch {
            Watch::ReadingAndWriting => self.set_watch(slot, Watch::Reading),
            Watch::Reading | Watch::Nothing => Ok(()),
        }
    }

    /// Changes what a socket is watched for, unless it is that already.
    fn set_watch(&mut self, slot: u32, watch: Watch) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        if connection.watch == watch {
            return Ok(());
        }
        connection.watch = watch;
        self.system.modify(&connection.socket, make_interest(watch, slot))
    }

    /// Sends the queue, and waits for events until the deadline.
    pub(super) fn wait(&mut self, deadline_ns: u64, events: &mut Vec<Event>) -> io::Result<()> {
        let before = events.len();
        loop {
            self.flush()?;
            let timeout = match deadline_ns {
                u64::MAX => None,
                deadline_ns => Some(Duration::from_nanos(deadline_ns.saturating_sub(clock::now_ns()))),
            };
            self.hits.clear();
            self.entries += self.system.wait(timeout, &mut self.hits)?;
            self.take_ready(events)?;
            if events.len() > before || timeout.is_some_and(|_| clock::now_ns() >= deadline_ns) {
                return Ok(());
            }
        }
    }

    /// Reads from and writes to the sockets that are ready, and appends events.
    fn take_ready(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        for hit in 0..self.hits.len() {
            let interest = self.hits[hit];
            let slot = interest.key as u32;
            if interest.writable {
                self.write_queued(slot)?;
            }
            // Otherwise a receive would take what is reported to no one.
            if interest.readable
                && let Some(kind) = self.receive_once(slot)
            {
                events.push(Event { token: Token(slot), kind });
            }
            self.renew_if_spent(slot)?;
        }
        Ok(())
    }

    /// Re-arms a one-shot poller.
    fn renew_if_spent(&mut self, slot: u32) -> io::Result<()> {
        match &self.connections[slot as usize] {
            Some(connection) if self.system.tells_once() && connection.watch != Watch::Nothing => {
                self.system.modify(&connection.socket, make_interest(connection.watch, slot))
            }
            _ => Ok(()),
        }
    }

    /// One receive; the next wait reports the rest.
    fn receive_once(&mut self, slot: u32) -> Option<EventKind> {
        let connection = self.connections[slot as usize].as_mut()?;
        if connection.watch == Watch::Nothing {
            return None;
        }
        connection.make_room();
        self.entries += 1;
        let most = connection.buffer.len().min(connection.end + MOST_BYTES);
        let kind = match (&connection.socket).read(&mut connection.buffer[connection.end..most]) {
            Ok(0) => EventKind::Closed,
            Ok(bytes) => {
                connection.end += bytes;
                return Some(EventKind::Data);
            }
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return None;
            }
            Err(cause) => EventKind::Error(cause.raw_os_error().unwrap_or_default()),
        };
        connection.watch = Watch::Nothing;
        connection.queued.clear();
        connection.sent = 0;
        // Level-triggered, the end would be reported again and again.
        let _ = self.system.delete(&connection.socket);
        Some(kind)
    }

    /// What a slot has received and not consumed.
    pub(super) fn received(&self, slot: u32) -> &[u8] {
        match &self.connections[slot as usize] {
            Some(connection) => &connection.buffer[connection.begin..connection.end],
            None => &[],
        }
    }

    /// Drops the first `bytes` received.
    pub(super) fn consume(&mut self, slot: u32, bytes: usize) {
        let Some(connection) = &mut self.connections[slot as usize] else { return };
        connection.begin = connection.end.min(connection.begin + bytes);
    }

    /// Closes a slot's socket at once.
    pub(super) fn close(&mut self, slot: u32) {
        let Some(connection) = self.connections[slot as usize].take() else { return };
        if connection.watch != Watch::Nothing {
            // The poller may have lost it already.
            let _ = self.system.delete(&connection.socket);
        }
        connection.socket.shut_down();
        self.to_send.retain(|waiting| *waiting != slot);
        self.free.push(slot);
    }
}

impl Connection {
    /// Moves unread bytes to the front, and grows a full buffer.
    fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
    }
}

/// What a slot is to be woken for.
fn make_interest(watch: Watch, slot: u32) -> Interest {
    let (readable, writable) = match watch {
        Watch::ReadingAndWriting => (true, true),
        Watch::Reading => (true, false),
        Watch::Nothing => (false, false),
    };
    Interest { key: slot as usize, readable, writable }
}

impl Drop for Poller {
    fn drop(&mut self) {
        for slot in 0..self.connections.len() {
            self.close(slot as u32);
        }
    }
}
