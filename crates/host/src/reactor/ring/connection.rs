use std::os::fd::{AsRawFd, RawFd};

use super::super::Socket;

/// State of the bytes given to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// There are none.
    Idle,
    /// Completes during submission; a completion reports only what was left.
    AtOnce,
    /// The socket had no room; the request's completion reports it.
    Waiting,
}

/// Whether a socket lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// The peer or the operating system has ended it; the caller knows.
    Ended,
    /// The caller has closed it; the kernel still has requests.
    Closing,
}

/// Received bytes in a buffer of the kernel's choice.
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
    /// A multishot receive is in the kernel.
    pub(super) receiving: bool,
    pub(super) queued: Vec<u8>,
    /// Read by the kernel: do not touch meanwhile.
    pub(super) flying: Vec<u8>,
    pub(super) sent: usize,
    /// Received last, unless it had to be appended to `kept`.
    pub(super) piece: Option<Piece>,
    /// Left by the caller.
    pub(super) kept: Vec<u8>,
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

    /// The socket's descriptor.
    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The kernel holds nothing of this connection.
    pub(super) fn is_still(&self) -> bool {
        !self.receiving && self.sending == Sending::Idle
    }

    /// Everything given to the kernel is sent or never will be.
    pub(super) fn note_all_sent(&mut self) {
        self.flying.clear();
        self.sent = 0;
        self.sending = Sending::Idle;
    }
}
