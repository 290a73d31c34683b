//! io_uring: one kernel entry for a batch of sends and receives.
//!
//! - A receive is requested once per socket (multishot); the kernel picks a buffer from a common list on arrival, so
//!   idle sockets need none.
//! - A send completes during submission (`MSG_DONTWAIT`), without a completion if all of it went. What found no room
//!   comes back with a completion and is sent by a second request that waits for room. So after a submission, bytes
//!   without a completion are no longer the kernel's.
//! - Sockets and the ring are registered, which spares the kernel look-ups and reference counts.

mod buffers;
mod connection;
mod setup;

use std::collections::VecDeque;
use std::io;

use io_uring::squeue::Flags;
use io_uring::types::{Fd, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

use self::buffers::Buffers;
use self::connection::{Connection, Life, Piece, Sending};
use super::{Event, EventKind, Socket, Token, no_slot_free};
use crate::clock;
use crate::system::uring::{self, Wait};

/// Buffers to fill between two waits.
const BUFFERS: std::ops::RangeInclusive<usize> = 16..=256;
/// Wait at the end for the kernel to let go of memory.
const DRAIN_PATIENCE_NS: u64 = 2_000_000_000;
const SEND_FLAGS: i32 = (rustix::net::SendFlags::NOSIGNAL.bits() | WAIT_ALL) as i32;
/// `MSG_WAITALL`: a short send is continued, or fails.
const WAIT_ALL: u32 = rustix::net::RecvFlags::WAITALL.bits();
const DO_NOT_WAIT: i32 = rustix::net::SendFlags::DONTWAIT.bits() as i32;

/// The low bits of a completion's user data.
const RECEIVE: u64 = 0;
const SEND_AT_ONCE: u64 = 1;
const SEND_WAITING: u64 = 2;
const KIND_BITS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    Registered,
    Plain,
}

pub(super) struct Ring {
    io: IoUring,
    /// `None` once leaked: the kernel did not let go.
    buffers: Option<Buffers>,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    to_send: VecDeque<u32>,
    /// Connections without a receive request.
    to_receive: Vec<u32>,
    /// Whose send left something.
    to_continue: Vec<u32>,
    submitted: Vec<u32>,
    /// They hold a buffer, or did.
    holding: Vec<u32>,
    happened: Vec<Event>,
    files: Files,
    given: Vec<&'static str>,
    capacity: usize,
    entries: u64,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Result<Ring, String> {
        let (io, mut given) = setup::open_ring(capacity)?;
        let count = capacity.next_power_of_two().clamp(*BUFFERS.start(), *BUFFERS.end());
        let buffers = Buffers::new(&io, count as u16).map_err(|cause| setup::refusal_reason(&cause))?;
        // Refused where the limit on open files is lower.
        let files = match io.submitter().register_files_sparse(capacity as u32) {
            Ok(()) => Files::Registered,
            Err(_) => Files::Plain,
        };
        if files == Files::Registered {
            given.push("registered files");
        }
        Ok(Ring {
            io,
            buffers: Some(buffers),
            connections: Vec::new(),
            free: Vec::new(),
            to_send: VecDeque::with_capacity(capacity),
            to_receive: Vec::with_capacity(capacity),
            to_continue: Vec::new(),
            submitted: Vec::with_capacity(capacity),
            happened: Vec::with_capacity(capacity),
            holding: Vec::with_capacity(capacity),
            files,
            given,
            capacity,
            entries: 0,
        })
    }

    /// What the ring runs with, for facts.
    pub(super) fn kind(&self) -> String {
        format!("io_uring ({})", self.given.join(", "))
    }

    /// Tests whether one more socket can be registered.
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.connections.len() < self.capacity
    }

    pub(super) fn kernel_entries(&self) -> u64 {
        self.entries
    }

    /// The connection in a slot.
    fn connection_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.connections.get_mut(slot as usize)?.as_deref_mut()
    }

    /// Takes over a socket; returns its slot.
    pub(super) fn register(&mut self, socket: Socket) -> io::Result<u32> {
        let slot = match self.free.last() {
            Some(&slot) => slot,
            None if self.connections.len() < self.capacity => self.connections.len() as u32,
            None => return Err(no_slot_free(self.capacity)),
        };
        let connection = Box::new(Connection::new(socket));
        if self.files == Files::Registered {
            self.io.submitter().register_files_update(slot, &[connection.fd()])?;
        }
        if self.free.pop().is_some() {
            self.connections[slot as usize] = Some(connection);
        } else {
            self.connections.push(Some(connection));
        }
        self.to_receive.push(slot);
        Ok(slot)
    }

    /// Queues bytes for a slot.
    pub(super) fn send(&mut self, slot: u32, bytes: &[u8]) {
        let Some(connection) = self.connections[slot as usize].as_deref_mut() else { return };
        if connection.life != Life::Open {
            return;
        }
        if connection.queued.is_empty() {
            self.to_send.push_back(slot);
        }
        connection.queued.extend_from_slice(bytes);
    }

    /// What a slot has received and not consumed.
    pub(super) fn received(&self, slot: u32) -> &[u8] {
        let Some(connection) = self.connections[slot as usize].as_deref() else { return &[] };
        match (connection.piece, &self.buffers) {
            (Some(piece), Some(buffers)) => buffers.filled_bytes(piece.buffer, piece.begin, piece.end),
            _ => &connection.kept[connection.consumed..],
        }
    }

    /// Drops the first `bytes` received.
    pub(super) fn consume(&mut self, slot: u32, bytes: usize) {
        let Some(connection) = self.connections[slot as usize].as_deref_mut() else { return };
        let Some(piece) = &mut connection.piece else {
            connection.consumed = connection.kept.len().min(connection.consumed + bytes);
            if connection.consumed == connection.kept.len() {
                connection.kept.clear();
                connection.consumed = 0;
            }
            return;
        };
        piece.begin = piece.end.min(piece.begin.saturating_add(bytes as u32));
        if piece.begin == piece.end {
            let number = piece.buffer;
            connection.piece = None;
            give_back(&mut self.buffers, number);
        }
    }

    /// Shuts a slot's socket down; the slot is freed once the kernel uses nothing of it.
    pub(super) fn close(&mut self, slot: u32) {
        self.keep_piece(slot);
        // The place may soon be another socket's.
        self.happened.retain(|event| event.token.0 != slot);
        let Some(connection) = self.connection_mut(slot) else { return };
        connection.queued.clear();
        if connection.is_still() {
            self.release_slot(slot);
        } else if connection.life != Life::Closing {
            connection.life = Life::Closing;
            // Ends the kernel's requests; `collect` then releases the connection.
            connection.socket.shut_down();
        }
    }

    /// Frees a slot at once: the kernel must use nothing of it any more.
    fn release_slot(&mut self, slot: u32) {
        if self.files == Files::Registered {
            // A registered socket outlives its descriptor.
            let _ = self.io.submitter().register_files_update(slot, &[-1]);
        }
        self.to_send.retain(|waiting| *waiting != slot);
        self.to_receive.retain(|waiting| *waiting != slot);
        if self.connections[slot as usize].take().is_some() {
            self.free.push(slot);
        }
    }

    /// Copies the bytes of a borrowed buffer and gives it back.
    fn keep_piece(&mut self, slot: u32) {
        let Some(connection) = self.connections[slot as usize].as_deref_mut() else { return };
        let (Some(piece), Some(buffers)) = (connection.piece.take(), &self.buffers) else { return };
        connection.kept.drain(..std::mem::take(&mut connection.consumed));
        connection.kept.extend_from_slice(buffers.filled_bytes(piece.buffer, piece.begin, piece.end));
        give_back(&mut self.buffers, piece.buffer);
    }

    /// Submits the queue without waiting, and takes what has completed.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.submit_and_collect(Wait::No)
    }

    /// Submits the queue, and waits for events until the deadline.
    pub(super) fn wait(&mut self, deadline_ns: u64, events: &mut Vec<Event>) -> io::Result<()> {
        while let Some(slot) = self.holding.pop() {
            self.keep_piece(slot);
        }
        loop {
            // An earlier flush may have brought something.
            let wait = if self.happened.is_empty() { Wait::until(deadline_ns) } else { Wait::No };
            self.submit_and_collect(wait)?;
            let is_over = deadline_ns != u64::MAX && clock::now_ns() >= deadline_ns;
            if !self.happened.is_empty() || is_over {
                events.append(&mut self.happened);
                return Ok(());
            }
        }
    }

    /// Submits everything, waits, and takes completions. Afterwards the kernel has taken every request, and every
    /// immediate send has completed.
    fn submit_and_collect(&mut self, wait: Wait) -> io::Result<()> {
        self.push_requests()?;
        self.enter_kernel(wait)?;
        self.collect()?;
        while !self.io.submission().is_empty() {
            self.enter_kernel(Wait::No)?;
            self.collect()?;
        }
        while let Some(slot) = self.submitted.pop() {
            if let Some(connection) = self.connection_mut(slot)
                && connection.sending == Sending::AtOnce
            {
                connection.note_all_sent();
                self.after_send(slot);
            }
        }
        Ok(())
    }

    fn push_requests(&mut self) -> io::Result<()> {
        while let Some(slot) = self.to_receive.pop() {
            let Some(connection) = self.connection_mut(slot) else { continue };
            if connection.receiving || connection.life != Life::Open {
                continue;
            }
            connection.receiving = true;
            let fd = connection.fd();
            let entry = match self.files {
                Files::Registered => opcode::RecvMulti::new(Fixed(slot), buffers::GROUP).build(),
                Files::Plain => opcode::RecvMulti::new(Fd(fd), buffers::GROUP).build(),
            };
            self.push_entry(entry.user_data(user_data(slot, RECEIVE)))?;
        }
        while let Some(slot) = self.to_continue.pop() {
            self.push_send(slot, 0, SEND_WAITING)?;
        }
        while let Some(slot) = self.to_send.pop_front() {
            let Some(connection) = self.connection_mut(slot) else { continue };
            if connection.sending != Sending::Idle || connection.queued.is_empty() {
                continue;
            }
            std::mem::swap(&mut connection.queued, &mut connection.flying);
            connection.sending = Sending::AtOnce;
            self.submitted.push(slot);
            self.push_send(slot, DO_NOT_WAIT, SEND_AT_ONCE)?;
        }
        Ok(())
    }

    /// Sends the rest of `flying`.
    fn push_send(&mut self, slot: u32, flags: i32, kind: u64) -> io::Result<()> {
        let files = self.files;
        let Some(connection) = self.connection_mut(slot) else { return Ok(()) };
        let rest = &connection.flying[connection.sent..];
        let (start, length) = (rest.as_ptr(), u32::try_from(rest.len()).unwrap_or(u32::MAX));
        let flags = SEND_FLAGS | flags;
        let entry = match files {
            Files::Registered => opcode::Send::new(Fixed(slot), start, length).flags(flags).build(),
            Files::Plain => opcode::Send::new(Fd(connection.fd()), start, length).flags(flags).build(),
        };
        let entry = if kind == SEND_AT_ONCE { entry.flags(Flags::SKIP_SUCCESS) } else { entry };
        self.push_entry(entry.user_data(user_data(slot, kind)))
    }

    /// Queues a request, submitting the queue if it is full.
    fn push_entry(&mut self, entry: squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: a receive writes into `buffers` only, a send reads `flying` of a connection only. `buffers` lives
            // until nothing is under way, or is leaked (`drop`). `flying` is not touched while the connection's state is
            // not `Idle`, and the connection is not dropped before it is (`is_still`), or is leaked, too.
            if unsafe { self.io.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.enter_kernel(Wait::No)?;
            self.collect()?;
        }
    }

    /// Enters the kernel once, and counts it.
    fn enter_kernel(&mut self, wait: Wait) -> io::Result<()> {
        self.entries += 1;
        uring::enter_and_wait(&mut self.io, wait)
    }

    /// Queues a slot again for the bytes still to be sent, or frees the slot of a closing connection.
    fn after_send(&mut self, slot: u32) {
        let Some(connection) = self.connection_mut(slot) else { return };
        if connection.life == Life::Closing {
            if connection.is_still() {
                self.release_slot(slot);
            }
        } else if !connection.queued.is_empty() {
            self.to_send.push_back(slot);
        }
    }

    /// Takes all completions, and goes on with each connection.
    fn collect(&mut self) -> io::Result<()> {
        loop {
            while let Some(entry) = self.next_completion() {
                let slot = (entry.user_data() >> KIND_BITS) as u32;
                match entry.user_data() & ((1 << KIND_BITS) - 1) {
                    RECEIVE => self.take_received(slot, &entry),
                    _ => self.take_sent(slot, entry.result()),
                }
            }
            if !self.io.submission().cq_overflow() {
                return Ok(());
            }
            self.enter_kernel(Wait::No)?;
        }
    }

    /// Takes the next completion off the queue.
    fn next_completion(&mut self) -> Option<cqueue::Entry> {
        self.io.completion().next()
    }

    /// Takes the completion of a receive.
    fn take_received(&mut self, slot: u32, entry: &cqueue::Entry) {
        let (result, flags) = (entry.result(), entry.flags());
        let buffer = cqueue::buffer_select(flags);
        let open = self.connection_mut(slot).is_some_and(|connection| connection.life == Life::Open);
        match buffer {
            Some(number) if open && result > 0 => {
                self.take_piece(slot, Piece { buffer: number, begin: 0, end: result as u32 });
                self.happened.push(Event { token: Token(slot), kind: EventKind::Data });
            }
            Some(number) => give_back(&mut self.buffers, number),
            None => {}
        }
        if open && result <= 0 {
            self.take_end(slot, result);
        }
        if !cqueue::more(flags) {
            self.receive_ended(slot);
        }
    }

    /// Left in its buffer, unless older bytes remain.
    fn take_piece(&mut self, slot: u32, piece: Piece) {
        self.keep_piece(slot);
        let Some(connection) = self.connection_mut(slot) else { return };
        connection.piece = Some(piece);
        if connection.kept.is_empty() {
            self.holding.push(slot);
        } else {
            self.keep_piece(slot);
        }
    }

    /// Notes that a connection has ended or failed.
    fn take_end(&mut self, slot: u32, result: i32) {
        let kind = match (result < 0).then(|| Errno::from_raw_os_error(-result)) {
            None => EventKind::Closed,
            // All buffers were full, or a signal came: ask again.
            Some(Errno::NOBUFS | Errno::INTR | Errno::AGAIN) => return,
            Some(errno) => EventKind::Error(errno.raw_os_error()),
        };
        if let Some(connection) = self.connection_mut(slot) {
            connection.life = Life::Ended;
            connection.queued.clear();
        }
        self.happened.push(Event { token: Token(slot), kind });
    }

    /// Begins to receive again, or frees the slot of a closing connection.
    fn receive_ended(&mut self, slot: u32) {
        let Some(connection) = self.connection_mut(slot) else { return };
        connection.receiving = false;
        match connection.life {
            Life::Open => self.to_receive.push(slot),
            Life::Closing if connection.is_still() => self.release_slot(slot),
            Life::Ended | Life::Closing => {}
        }
    }

    /// Handles the completion of a send that did not go at once, or of one that waited.
    fn take_sent(&mut self, slot: u32, result: i32) {
        let Some(connection) = self.connection_mut(slot) else { return };
        connection.sent += result.max(0) as usize;
        let refused = result < 0 && !matches!(Errno::from_raw_os_error(-result), Errno::AGAIN | Errno::INTR);
        if connection.sent < connection.flying.len() && !refused && connection.life == Life::Open {
            connection.sending = Sending::Waiting;
            self.to_continue.push(slot);
            return;
        }
        // The server's last words are still to come; the end is reported then.
        connection.note_all_sent();
        self.after_send(slot);
    }

    /// Ends all requests so that the kernel lets go of memory; whether it did.
    fn drain(&mut self) -> bool {
        for slot in 0..self.connections.len() {
            self.close(slot as u32);
        }
        let deadline_ns = clock::now_ns() + DRAIN_PATIENCE_NS;
        let mut none = Vec::new();
        while self.connections.iter().any(Option::is_some) {
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns || self.wait((now_ns + 10_000_000).min(deadline_ns), &mut none).is_err() {
                return self.connections.iter().all(Option::is_none);
            }
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.drain() {
            // Better leaked than freed: the kernel may still write into them.
            std::mem::forget(self.buffers.take());
            std::mem::forget(std::mem::take(&mut self.connections));
        }
        // Otherwise the kernel closes registered sockets only some time after the process has ended.
        let _ = self.io.submitter().unregister_files();
    }
}

/// The number by which a completion is known: slot and kind of request.
fn user_data(slot: u32, kind: u64) -> u64 {
    u64::from(slot) << KIND_BITS | kind
}

/// Returns a buffer to the kernel, if there is a list.
fn give_back(buffers: &mut Option<Buffers>, number: u16) {
    if let Some(buffers) = buffers {
        buffers.give_back(number);
    }
}
