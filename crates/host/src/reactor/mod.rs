//! Many sockets on one thread behind one safe interface: io_uring where the kernel gives it, a poller elsewhere.
//!
//! The kernel is where a load generator's time goes, so that the ring enters it once for a whole batch: everything that
//! was queued is sent, and whatever came meanwhile is received, by one call. A poller (epoll; kqueue or IOCP by the crate
//! `polling`) needs a call for each send and each receive. Which one ran is told by [`Reactor::kind`], since it changes
//! results.
//!
//! A reactor belongs to the thread that made it. Once warm it does not allocate.

mod poller;
mod readiness;
#[cfg(target_os = "linux")]
mod ring;
mod socket;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::io;
use std::marker::PhantomData;

use crate::HostError;
use poller::Poller;
#[cfg(target_os = "linux")]
use ring::Ring;
pub use socket::{Socket, Vigilance};

/// Which implementation is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The ring where it can be had, else the poller.
    #[default]
    Auto,
    Ring,
    Poller,
}

/// A registered socket. Numbers are given out from 0 on without gaps, and again once their sockets are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(u32);

impl Token {
    /// Its number: an index into a table of the caller's.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What happened to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Bytes came: [`Reactor::received`] has them.
    Data,
    /// The peer closed its side. Nothing comes any more.
    Closed,
    /// The operating system gave the connection up, by this number of its own ([`io::Error::from_raw_os_error`] words
    /// it). Nothing comes any more.
    Error(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub token: Token,
    pub kind: EventKind,
}

enum Inner {
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
    Poller(Poller),
}

/// Many sockets on one thread.
pub struct Reactor {
    inner: Inner,
    kind: String,
    /// The kernel takes a ring's requests from the thread that made it, and from no other.
    _one_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reactor").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// How a ring is come by; a parameter, so that a kernel without one can be tested on a kernel with one.
type RingResult = Result<Inner, String>;

#[cfg(target_os = "linux")]
fn open_ring(capacity: usize) -> RingResult {
    Ring::new(capacity).map(|ring| Inner::Ring(Box::new(ring)))
}

#[cfg(not(target_os = "linux"))]
fn open_ring(_capacity: usize) -> RingResult {
    Err("this operating system has none".to_owned())
}

impl Reactor {
    /// A reactor for at most `capacity` sockets, to be used on this thread.
    ///
    /// # Errors
    /// The ring was asked for by name and cannot be had, or the operating system gives no poller.
    pub fn new(choice: Choice, capacity: usize) -> Result<Reactor, HostError> {
        Reactor::with_ring(choice, capacity, open_ring)
    }

    fn with_ring(choice: Choice, capacity: usize, open: impl Fn(usize) -> RingResult) -> Result<Reactor, HostError> {
        let capacity = capacity.max(1);
        let ring = match choice {
            Choice::Poller => Err("it was not asked for".to_owned()),
            Choice::Auto | Choice::Ring => open(capacity),
        };
        let (inner, why_not) = match ring {
            Ok(inner) => (inner, None),
            Err(reason) if choice == Choice::Ring => return Err(HostError::unavailable("use io_uring", reason)),
            Err(reason) => {
                let poller =
                    Poller::new(capacity).map_err(|cause| HostError::unavailable("poll", cause.to_string()))?;
                (Inner::Poller(poller), Some(reason))
            }
        };
        let kind = match (&inner, why_not) {
            (Inner::Poller(_), Some(reason)) => format!("{} (io_uring: {reason})", poller::NAME),
            (Inner::Poller(_), None) => poller::NAME.to_owned(),
            #[cfg(target_os = "linux")]
            (Inner::Ring(ring), _) => ring.kind(),
        };
        Ok(Reactor { inner, kind, _one_thread: PhantomData })
    }

    /// Which implementation runs, with what the kernel gave it.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// How often the kernel was entered since the reactor was made: to submit and wait on a ring; to wait, to send and to
    /// receive with epoll. `None` where that is not known exactly.
    pub fn kernel_entries(&self) -> Option<u64> {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => Some(ring.entries()),
            Inner::Poller(poller) => cfg!(target_os = "linux").then(|| poller.entries()),
        }
    }

    /// Whether another socket can be registered now. A ring's place becomes free a moment after its socket was closed.
    pub fn has_room(&self) -> bool {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.has_room(),
            Inner::Poller(poller) => poller.has_room(),
        }
    }

    /// Takes a connected socket over, and begins to receive.
    ///
    /// # Errors
    /// There are as many sockets as were planned for, or the operating system refuses this one.
    pub fn register(&mut self, socket: impl Into<Socket>) -> io::Result<Token> {
        let socket = socket.into();
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.register(socket),
            Inner::Poller(poller) => poller.register(socket),
        }
        .map(Token)
    }

    /// Queues bytes to be sent behind those queued before. They leave with the next [`Reactor::flush`] or
    /// [`Reactor::wait`], and as fast as the peer takes them. Bytes for a connection that has ended are dropped: its end
    /// is told by an event.
    pub fn send(&mut self, token: Token, bytes: &[u8]) {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.send(token.0, bytes),
            Inner::Poller(poller) => poller.send(token.0, bytes),
        }
    }

    /// Hands what is queued to the operating system. [`Reactor::wait`] does so, too, and a ring then needs one entry
    /// into the kernel less: whoever waits next does not flush before.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.flush(),
            Inner::Poller(poller) => poller.flush(),
        }
    }

    /// Sends what is queued, waits until something happens or [`crate::clock::now_ns`] reaches `deadline_ns`
    /// (`u64::MAX`: never), and appends what happened. Returns without an event only at the deadline.
    pub fn wait(&mut self, deadline_ns: u64, events: &mut Vec<Event>) -> io::Result<()> {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.wait(deadline_ns, events),
            Inner::Poller(poller) => poller.wait(deadline_ns, events),
        }
    }

    /// What a socket received and nobody consumed yet, in one piece.
    pub fn received(&self, token: Token) -> &[u8] {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.received(token.0),
            Inner::Poller(poller) => poller.received(token.0),
        }
    }

    /// Drops the first `bytes` of what was received. What is left is copied before more is received, so that whoever
    /// consumes everything between two waits is served fastest.
    pub fn consume(&mut self, token: Token, bytes: usize) {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.consume(token.0, bytes),
            Inner::Poller(poller) => poller.consume(token.0, bytes),
        }
    }

    /// Closes a socket at once: what is queued is not sent, and nothing more is told of it.
    pub fn close(&mut self, token: Token) {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.close(token.0),
            Inner::Poller(poller) => poller.close(token.0),
        }
    }
}

fn full(capacity: usize) -> io::Error {
    io::Error::other(format!("the reactor was made for {capacity} sockets, and holds as many"))
}
