//! Many sockets on one thread: io_uring where available, else a poller.
//!
//! A load generator's time goes into the kernel, so a ring enters it once per batch for all sends and receives. A
//! poller (epoll; kqueue or IOCP by the crate `polling`) needs a call for each. [`Reactor::kind`] says which one
//! runs, since it changes results.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The ring if available, else the poller.
    #[default]
    Auto,
    Ring,
    Poller,
}

/// A registered socket. Numbers count from 0 without gaps and are reused after a close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(u32);

impl Token {
    #[inline]
    pub fn slot_index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Bytes have arrived, in [`Reactor::received`].
    Data,
    /// The peer has closed the connection; nothing more comes.
    Closed,
    /// The operating system's error number, for [`io::Error::from_raw_os_error`]; nothing more comes.
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

pub struct Reactor {
    inner: Inner,
    kind: String,
    /// The kernel accepts a ring's requests only from the thread that made it.
    _one_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reactor").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A parameter, so that a kernel without rings can be tested on one with them.
type RingResult = Result<Inner, String>;

/// Opens a ring for this many sockets.
#[cfg(target_os = "linux")]
fn open_ring(capacity: usize) -> RingResult {
    Ring::new(capacity).map(|ring| Inner::Ring(Box::new(ring)))
}

/// Fails: there is no io_uring here.
#[cfg(not(target_os = "linux"))]
fn open_ring(_capacity: usize) -> RingResult {
    Err("this operating system has none".to_owned())
}

impl Reactor {
    /// Used on this thread only.
    ///
    /// # Errors
    /// The ring was demanded and is not available, or the operating system gives no poller.
    pub fn new(choice: Choice, capacity: usize) -> Result<Reactor, HostError> {
        Reactor::with_ring(choice, capacity, open_ring)
    }

    /// Makes a reactor on the ring that `open` gives, else on a poller unless a ring was demanded.
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

    /// What the reactor runs on, for facts.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Since the reactor was made. `None` where not known exactly.
    pub fn kernel_entries(&self) -> Option<u64> {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => Some(ring.kernel_entries()),
            Inner::Poller(poller) => cfg!(target_os = "linux").then(|| poller.kernel_entries()),
        }
    }

    /// A ring's place becomes free a moment after its socket was closed.
    pub fn has_room(&self) -> bool {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.has_room(),
            Inner::Poller(poller) => poller.has_room(),
        }
    }

    /// Takes over a connected socket and begins to receive.
    ///
    /// # Errors
    /// All `capacity` places are taken, or the operating system refuses this one.
    pub fn register(&mut self, socket: impl Into<Socket>) -> io::Result<Token> {
        let socket = socket.into();
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.register(socket),
            Inner::Poller(poller) => poller.register(socket),
        }
        .map(Token)
    }

    /// Queues bytes, sent by the next [`Reactor::flush`] or [`Reactor::wait`] as fast as the peer takes them. Bytes
    /// for an ended connection are dropped; an event reports its end.
    #[inline]
    pub fn send(&mut self, token: Token, bytes: &[u8]) {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.send(token.0, bytes),
            Inner::Poller(poller) => poller.send(token.0, bytes),
        }
    }

    /// Submits the queue. [`Reactor::wait`] does so too, with one kernel entry less: do not flush before it.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.flush(),
            Inner::Poller(poller) => poller.flush(),
        }
    }

    /// Sends the queue, waits until something happens or [`crate::clock::now_ns`] reaches `deadline_ns` (`u64::MAX`:
    /// never), and appends events. Returns none only at the deadline.
    pub fn wait(&mut self, deadline_ns: u64, events: &mut Vec<Event>) -> io::Result<()> {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.wait(deadline_ns, events),
            Inner::Poller(poller) => poller.wait(deadline_ns, events),
        }
    }

    /// Received and not consumed, contiguous.
    #[inline]
    pub fn received(&self, token: Token) -> &[u8] {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.received(token.0),
            Inner::Poller(poller) => poller.received(token.0),
        }
    }

    /// Drops the first `bytes`. The rest is copied before more is received: consuming everything between two waits is
    /// fastest.
    #[inline]
    pub fn consume(&mut self, token: Token, bytes: usize) {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.consume(token.0, bytes),
            Inner::Poller(poller) => poller.consume(token.0, bytes),
        }
    }

    /// Closes a connection at once: queued bytes are not sent, and no more events come.
    pub fn close(&mut self, token: Token) {
        match &mut self.inner {
            #[cfg(target_os = "linux")]
            Inner::Ring(ring) => ring.close(token.0),
            Inner::Poller(poller) => poller.close(token.0),
        }
    }
}

/// The error of a reactor that holds as many sockets as it can.
fn no_slot_free(capacity: usize) -> io::Error {
    io::Error::other(format!("the reactor was made for {capacity} sockets, and holds as many"))
}
