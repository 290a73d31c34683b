//! Connections that are made anew while a worker's other clients go on: by threads of their own, since a login blocks.

use std::io::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use host::clock;
use host::reactor::{Reactor, Socket, Token};

use crate::lane::{OpError, lost};
use crate::worker::LOGINS_AT_ONCE;

/// How often a reactor is asked for the place of a connection that it is still closing.
const PLACE_POLL_NS: u64 = 1_000_000;

/// Makes one more connection; it may block.
pub(crate) type Opener<T> = Arc<dyn Fn() -> Result<T, OpError> + Send + Sync>;

/// Makes a worker's connections anew. Its threads are started when they are first needed.
pub(crate) struct Connector<T> {
    opener: Opener<T>,
    office: Option<Office<T>>,
}

/// What a thread made.
struct Made<T> {
    client: usize,
    opened: Result<T, OpError>,
    cpu_ns: u64,
}

struct Office<T> {
    /// `None` at the end: the threads then end, too.
    asked: Option<Sender<usize>>,
    to_do: Arc<Mutex<Receiver<usize>>>,
    made: Receiver<Made<T>>,
    made_by: Sender<Made<T>>,
    threads: Vec<JoinHandle<()>>,
    /// What a thread wakes the reactor by.
    bell: Arc<Socket>,
    bell_token: Token,
    under_way: usize,
    cpu_ns: u64,
}

impl<T: Send + 'static> Connector<T> {
    /// One that makes connections by `opener`.
    pub(crate) fn new(opener: Opener<T>) -> Connector<T> {
        Connector { opener, office: None }
    }

    /// Asks for a client's connection. Once it has come [`Connector::next`] gives it; the reactor wakes up for that.
    pub(crate) fn ask(&mut self, client: usize, reactor: &mut Reactor) -> Result<(), OpError> {
        let office = match &mut self.office {
            Some(office) => office,
            none => none.insert(Office::new(reactor)?),
        };
        office.hire(&self.opener)?;
        office.under_way += 1;
        // The receiver is this office's own.
        office.asked.as_ref().map_or(Ok(()), |asked| asked.send(client)).map_err(|error| lost(&error))
    }

    /// Whether an event of the reactor only says that a connection has come.
    pub(crate) fn is_bell(&self, token: Token) -> bool {
        self.office.as_ref().is_some_and(|office| office.bell_token == token)
    }

    /// The next connection that has come, and whose it is, if the reactor has a place for it.
    pub(crate) fn next(&mut self, reactor: &Reactor) -> Option<(usize, Result<T, OpError>)> {
        let office = self.office.as_mut().filter(|office| office.under_way > 0 && reactor.has_room())?;
        let Made { client, opened, cpu_ns } = office.made.try_recv().ok()?;
        office.under_way -= 1;
        office.cpu_ns += cpu_ns;
        Some((client, opened))
    }

    /// Until when a reactor may wait that may do so until `deadline_ns`.
    pub(crate) fn deadline_ns(&self, deadline_ns: u64, reactor: &Reactor) -> u64 {
        match &self.office {
            Some(office) if office.under_way > 0 && !reactor.has_room() => {
                deadline_ns.min(clock::now_ns() + PLACE_POLL_NS)
            }
            _ => deadline_ns,
        }
    }

    /// CPU time that its threads have used, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.office.as_ref().map_or(0, |office| office.cpu_ns)
    }

    /// How many threads it has started.
    pub(crate) fn threads(&self) -> usize {
        self.office.as_ref().map_or(0, |office| office.threads.len())
    }
}

impl<T: Send + 'static> Office<T> {
    fn new(reactor: &mut Reactor) -> Result<Office<T>, OpError> {
        let (bell, heard) = Socket::pair().map_err(|cause| lost(&cause))?;
        let bell_token = reactor.register(heard).map_err(|cause| lost(&cause))?;
        let ((asked, to_do), (made_by, made)) = (channel(), channel());
        Ok(Office {
            asked: Some(asked),
            to_do: Arc::new(Mutex::new(to_do)),
            made,
            made_by,
            threads: Vec::new(),
            bell: Arc::new(bell),
            bell_token,
            under_way: 0,
            cpu_ns: 0,
        })
    }

    /// Starts one more thread if all of them are busy and there may be more.
    fn hire(&mut self, opener: &Opener<T>) -> Result<(), OpError> {
        if self.under_way < self.threads.len() || self.threads.len() == LOGINS_AT_ONCE {
            return Ok(());
        }
        let (opener, to_do) = (Arc::clone(opener), Arc::clone(&self.to_do));
        let (made_by, bell) = (self.made_by.clone(), Arc::clone(&self.bell));
        let work = move || log_in_as_asked(&opener, &to_do, &made_by, &bell);
        match thread::Builder::new().name("etalon-login".to_owned()).spawn(work) {
            Ok(handle) => self.threads.push(handle),
            Err(cause) if self.threads.is_empty() => return Err(lost(&cause)),
            // Fewer threads are slower, and no reason to give up.
            Err(_) => {}
        }
        Ok(())
    }
}

fn log_in_as_asked<T>(opener: &Opener<T>, to_do: &Mutex<Receiver<usize>>, made: &Sender<Made<T>>, bell: &Socket) {
    let used_ns = || host::cpu::thread_cpu().map_or(0, |cpu| cpu.as_nanos() as u64);
    let mut before_ns = 0;
    loop {
        let next = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(client) = next else { return };
        let opened = opener();
        let now_ns = used_ns();
        let cpu_ns = now_ns.saturating_sub(before_ns);
        before_ns = now_ns;
        // The lane may be gone; so is the need for the connection.
        if made.send(Made { client, opened, cpu_ns }).is_err() || (&*bell).write_all(&[1]).is_err() {
            return;
        }
    }
}

impl<T> Drop for Connector<T> {
    /// Waits for the logins under way: their connections would count among the server's.
    fn drop(&mut self) {
        let Some(office) = &mut self.office else { return };
        office.asked = None;
        for thread in office.threads.drain(..) {
            // A login that panicked has been told of by its thread.
            let _ = thread.join();
        }
    }
}
