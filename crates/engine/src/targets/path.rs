//! Which lane the clients of a trial go by, of a server whose protocol is a dialogue.

use std::ops::Range;

use host::reactor::{Choice, Reactor};

use crate::clock::RealClock;
use crate::error::Failure;
use crate::lanes::dialogue::{Conversation, EncryptedLane, NativeLane, Opened, Opener};
use crate::target::{Threads, shares};
use crate::worker::{self, Tally, WorkerContext};
use crate::workloads::transactions::Program;

/// Which lane the clients of a trial go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Over a reactor: a thread a core.
    Native,
    /// Where connections are encrypted: a thread a client.
    Encrypted,
}

impl Path {
    /// That of connections with this TLS version and cipher, if they have one.
    pub(crate) fn of(encryption: Option<String>) -> Path {
        if encryption.is_some() { Path::Encrypted } else { Path::Native }
    }

    /// The clients of each worker.
    pub(crate) fn workers(self, clients: Range<u32>, threads: Threads) -> Vec<Range<u32>> {
        match (threads, self) {
            (Threads::AtMost(count), _) => shares(clients, count),
            (Threads::Best, Path::Native) => shares(clients, host::cpu::available_cores() as u32),
            (Threads::Best, Path::Encrypted) => clients.map(|client| client..client + 1).collect(),
        }
    }

    /// What sends and receives for the clients, or why that cannot be had.
    pub(crate) fn reactor_kind(self, choice: Choice) -> Result<String, String> {
        match self {
            Path::Native => Reactor::new(choice, 1).map(|one| one.kind().to_owned()).map_err(|error| error.to_string()),
            Path::Encrypted => Ok("none: encrypted connections block, a thread a client".to_owned()),
        }
    }

    /// Runs a worker's clients over their connections, which `anew` makes again.
    ///
    /// # Errors
    /// The lane cannot be set up, or the worker's.
    pub(crate) fn run<C: Conversation>(
        self,
        reactor: Choice,
        opened: Vec<Opened<C>>,
        anew: Opener<'_, C>,
        program: &Program,
        context: WorkerContext<'_>,
    ) -> Result<Tally, Failure> {
        match self {
            Path::Native => worker::run(NativeLane::new(reactor, opened, anew)?, program, &RealClock, context),
            Path::Encrypted => worker::run(EncryptedLane::new(opened, anew), program, &RealClock, context),
        }
    }
}
