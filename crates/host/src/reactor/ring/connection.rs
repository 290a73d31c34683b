//! One socket of a ring.

use std::os::fd::{AsRawFd, RawFd};

use super::super::Socket;

/// How far the bytes are that the kernel was given to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// There are none.
    Idle,
    /// A request that ends while it is submitted: in silence, or with a word about what it left.
    AtOnce,
    /// The socket had no room, and a request waits for it. Its end is told.
    Waiting,
}

/// Whether a socket lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// The peer or the operating system ended it, and the caller was told.
    Ended,
    /// The caller closed it; the kernel still holds requests.
    Closing,
}

/// A piece of what was received, in a buffer of the kernel's choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) buffer: u16,
    pub(super) begin: u32,
    pub(super) end: u32,
}

pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) life: Life,
    pub(super) sending: Sending,
    /// A receive request that goes on by itself is in the kernel.
    pub(super) receiving: bool,
    /// What the caller queued.
    pub(super) queued: Vec<u8>,
    /// What the kernel reads from: not to be touched while it may.
    pub(super) flying: Vec<u8>,
    /// How much of it is sent.
    pub(super) sent: usize,
    /// What was received last, unless it had to be kept with what came before.
    pub(super) piece: Option<Piece>,
    /// What was received and left by the caller.
    pub(super) kept: Vec<u8>,
    /// How much of that is consumed.
    pub(super) consumed: usize,
}

impl Connection {
    pub(super) fn new(socket: Socket) -> Connection {
        Connection {
            socket,
            life: Life::Open,
            sending: Sending::Idle,
            receiving: false,
            queued: Vec::new(),
            flying: Vec::new(),
            sent: 0,
            piece: None,
            kept: Vec::new(),
            consumed: 0,
        }
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Whether the kernel holds nothing that refers to this connection.
    pub(super) fn is_still(&self) -> bool {
        !self.receiving && self.sending == Sending::Idle
    }

    /// Everything that was given to the kernel is sent, or never will be.
    pub(super) fn land(&mut self) {
        self.flying.clear();
        self.sent = 0;
        self.sending = Sending::Idle;
    }
}
