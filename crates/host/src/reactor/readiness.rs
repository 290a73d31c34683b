//! The operating system's readiness queue: on Linux epoll directly, one kernel entry per wait (the crate `polling`
//! needs five); elsewhere what `polling` stands on.

/// Watched for, or ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interest {
    pub(super) key: usize,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

#[cfg(target_os = "linux")]
pub(super) use linux::Readiness;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Readiness;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::buffer::spare_capacity;
    use rustix::event::{Timespec, epoll};
    use rustix::io::Errno;

    use super::super::Socket;
    use super::Interest;

    pub(in super::super) struct Readiness {
        epoll: OwnedFd,
        ready: Vec<epoll::Event>,
        finest: Finest,
    }

    /// Resolution of a time limit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Finest {
        Nanoseconds,
        Milliseconds,
    }

    /// The flags of epoll for an interest.
    fn epoll_flags(interest: Interest) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN | epoll::EventFlags::RDHUP, interest.readable);
        flags.set(epoll::EventFlags::OUT, interest.writable);
        flags
    }

    impl Readiness {
        pub(in super::super) const NAME: &'static str = "epoll";

        /// Tests whether readiness is reported only once until it is asked for again: not by epoll.
        pub(in super::super) fn tells_once(&self) -> bool {
            false
        }

        /// Makes a queue for `events` in one wait.
        pub(in super::super) fn new(events: usize) -> io::Result<Readiness> {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            Ok(Readiness { epoll, ready: Vec::with_capacity(events.max(1)), finest: Finest::Nanoseconds })
        }

        /// Begins to watch a socket.
        pub(in super::super) fn add(&self, socket: &Socket, interest: Interest) -> io::Result<()> {
            let data = epoll::EventData::new_u64(interest.key as u64);
            Ok(epoll::add(&self.epoll, socket, data, epoll_flags(interest))?)
        }

        /// Changes what a socket is watched for.
        pub(in super::super) fn modify(&self, socket: &Socket, interest: Interest) -> io::Result<()> {
            let data = epoll::EventData::new_u64(interest.key as u64);
            Ok(epoll::modify(&self.epoll, socket, data, epoll_flags(interest))?)
        }

        /// Stops watching a socket.
        pub(in super::super) fn delete(&self, socket: &Socket) -> io::Result<()> {
            Ok(epoll::delete(&self.epoll, socket)?)
        }

        /// Waits once and appends what is ready. Returns the kernel entries.
        pub(in super::super) fn wait(
            &mut self,
            timeout: Option<Duration>,
            into: &mut Vec<Interest>,
        ) -> io::Result<u64> {
            self.ready.clear();
            let mut entries = 1;
            let mut waited = self.wait_once(timeout);
            // Before Linux 5.11, or where a container forbids the newer call.
            if matches!(waited, Err(Errno::NOSYS | Errno::PERM)) && self.finest == Finest::Nanoseconds {
                self.finest = Finest::Milliseconds;
                entries += 1;
                waited = self.wait_once(timeout);
            }
            match waited {
                Ok(()) | Err(Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
            into.extend(self.ready.iter().map(|event| {
                let flags = event.flags;
                let ended = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
                Interest {
                    key: event.data.u64() as usize,
                    readable: ended || flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP),
                    writable: ended || flags.contains(epoll::EventFlags::OUT),
                }
            }));
            Ok(entries)
        }

        /// Waits once, as finely as the kernel can.
        fn wait_once(&mut self, timeout: Option<Duration>) -> Result<(), Errno> {
            let timeout = timeout.map(|timeout| match self.finest {
                Finest::Nanoseconds => timeout,
                // Rounded up: waking early only means waiting again.
                Finest::Milliseconds => Duration::from_millis(timeout.as_nanos().div_ceil(1_000_000) as u64),
            });
            let timeout = timeout.map(|timeout| Timespec {
                tv_sec: timeout.as_secs().min(i32::MAX as u64) as i64,
                tv_nsec: timeout.subsec_nanos().into(),
            });
            epoll::wait(&self.epoll, spare_capacity(&mut self.ready), timeout.as_ref()).map(|_| ())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::io;
    use std::num::NonZeroUsize;
    use std::time::Duration;

    use polling::{Event, Events, PollMode, Poller};

    use super::super::Socket;
    use super::Interest;

    pub(in super::super) struct Readiness {
        poller: Poller,
        mode: PollMode,
        ready: Events,
    }

    /// The poller's event for an interest.
    fn event(interest: Interest) -> Event {
        Event::new(interest.key, interest.readable, interest.writable)
    }

    impl Readiness {
        pub(in super::super) const NAME: &'static str = if cfg!(windows) {
            "IOCP"
        } else if cfg!(any(target_vendor = "apple", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))
        {
            "kqueue"
        } else {
            "poll"
        };

        /// Tests whether a socket's readiness is reported only once until it is asked for again.
        pub(in super::super) fn tells_once(&self) -> bool {
            self.mode == PollMode::Oneshot
        }

        pub(in super::super) fn new(events: usize) -> io::Result<Readiness> {
            let poller = Poller::new()?;
            let mode = if poller.supports_level() { PollMode::Level } else { PollMode::Oneshot };
            let ready = Events::with_capacity(NonZeroUsize::new(events).unwrap_or(NonZeroUsize::MIN));
            Ok(Readiness { poller, mode, ready })
        }

        /// Begins to watch a socket.
        pub(in super::super) fn add(&self, socket: &Socket, interest: Interest) -> io::Result<()> {
            // SAFETY: the socket is taken out of the poller before it is dropped: by `close` of the reactor's `Poller`,
            // or by its `drop`.
            unsafe { self.poller.add_with_mode(socket, event(interest), self.mode) }
        }

        /// Changes what a socket is watched for.
        pub(in super::super) fn modify(&self, socket: &Socket, interest: Interest) -> io::Result<()> {
            self.poller.modify_with_mode(socket, event(interest), self.mode)
        }

        /// Stops watching a socket.
        pub(in super::super) fn delete(&self, socket: &Socket) -> io::Result<()> {
            self.poller.delete(socket)
        }

        /// Waits once and appends what is ready. Returns the kernel entries.
        pub(in super::super) fn wait(
            &mut self,
            timeout: Option<Duration>,
            into: &mut Vec<Interest>,
        ) -> io::Result<u64> {
            self.ready.clear();
            self.poller.wait(&mut self.ready, timeout)?;
            into.extend(self.ready.iter().map(|event| Interest {
                key: event.key,
                readable: event.readable,
                writable: event.writable,
            }));
            Ok(1)
        }
    }
}
