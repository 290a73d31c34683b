//! Reconnects in threads, since a login blocks and other clients go on.

use std::io::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use host::clock;
use host::reactor::{Reactor, Socket, Token};

use load::lane::{OpError, connection_lost};
use load::worker::LOGINS_AT_ONCE;

/// Polling interval for a reactor's free place.
const PLACE_POLL_NS: u64 = 1_000_000;

/// May block.
pub(crate) type Opener<T> = Arc<dyn Fn() -> Result<T, OpError> + Send + Sync>;

/// Threads start when first needed.
pub(crate) struct Connector<T> {
    opener: Opener<T>,
    pool: Option<LoginPool<T>>,
}

struct Made<T> {
    client: usize,
    opened: Result<T, OpError>,
    cpu_ns: u64,
}

struct LoginPool<T> {
    /// `None` ends the threads.
    asked: Option<Sender<usize>>,
    to_do: Arc<Mutex<Receiver<usize>>>,
    made: Receiver<Made<T>>,
    made_by: Sender<Made<T>>,
    threads: Vec<JoinHandle<()>>,
    wakeup_socket: Arc<Socket>,
    wakeup_token: Token,
    under_way: usize,
    cpu_ns: u64,
}

impl<T: Send + 'static> Connector<T> {
    /// Makes a connector whose threads log in by `opener`; they start when first needed.
    pub(crate) fn new(opener: Opener<T>) -> Connector<T> {
        Connector { opener, pool: None }
    }

    /// Asks for a client's login; once it is done the reactor wakes, and [`Connector::next_login`] returns it.
    pub(crate) fn ask(&mut self, client: usize, reactor: &mut Reactor) -> Result<(), OpError> {
        let pool = match &mut self.pool {
            Some(pool) => pool,
            none => none.insert(LoginPool::new(reactor)?),
        };
        pool.spawn_worker(&self.opener)?;
        pool.under_way += 1;
        // The receiver is its own.
        pool.asked.as_ref().map_or(Ok(()), |asked| asked.send(client)).map_err(|error| connection_lost(&error))
    }

    /// Tests whether a token is that of the socket that wakes the reactor for a new connection.
    pub(crate) fn is_wakeup(&self, token: Token) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.wakeup_token == token)
    }

    /// Takes the next login that is done, with its client, if the reactor has room for it.
    pub(crate) fn next_login(&mut self, reactor: &Reactor) -> Option<(usize, Result<T, OpError>)> {
        let pool = self.pool.as_mut().filter(|pool| pool.under_way > 0 && reactor.has_room())?;
        let Made { client, opened, cpu_ns } = pool.made.try_recv().ok()?;
        pool.under_way -= 1;
        pool.cpu_ns += cpu_ns;
        Some((client, opened))
    }

    /// Shortens a wait if logins are under way and the reactor has no room, so that it is looked at again soon.
    pub(crate) fn shorten_deadline_ns(&self, deadline_ns: u64, reactor: &Reactor) -> u64 {
        match &self.pool {
            Some(pool) if pool.under_way > 0 && !reactor.has_room() => deadline_ns.min(clock::now_ns() + PLACE_POLL_NS),
            _ => deadline_ns,
        }
    }

    /// CPU time that the pool's threads have used for logins.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.pool.as_ref().map_or(0, |pool| pool.cpu_ns)
    }

    /// Number of login threads that were started.
    pub(crate) fn thread_count(&self) -> usize {
        self.pool.as_ref().map_or(0, |pool| pool.threads.len())
    }
}

impl<T: Send + 'static> LoginPool<T> {
    /// Makes a pool without threads, and registers its wake-up socket with the reactor.
    fn new(reactor: &mut Reactor) -> Result<LoginPool<T>, OpError> {
        let (wakeup_socket, receiver) = Socket::pair().map_err(|cause| connection_lost(&cause))?;
        let wakeup_token = reactor.register(receiver).map_err(|cause| connection_lost(&cause))?;
        let ((asked, to_do), (made_by, made)) = (channel(), channel());
        Ok(LoginPool {
            asked: Some(asked),
            to_do: Arc::new(Mutex::new(to_do)),
            made,
            made_by,
            threads: Vec::new(),
            wakeup_socket: Arc::new(wakeup_socket),
            wakeup_token,
            under_way: 0,
            cpu_ns: 0,
        })
    }

    /// Starts a login thread if all are busy and more are allowed.
    fn spawn_worker(&mut self, opener: &Opener<T>) -> Result<(), OpError> {
        if self.under_way < self.threads.len() || self.threads.len() == LOGINS_AT_ONCE {
            return Ok(());
        }
        let (opener, to_do) = (Arc::clone(opener), Arc::clone(&self.to_do));
        let (made_by, wakeup_socket) = (self.made_by.clone(), Arc::clone(&self.wakeup_socket));
        match thread::Builder::new()
            .name("etalon-login".to_owned())
            .spawn(move || log_in_as_asked(&opener, &to_do, &made_by, &wakeup_socket))
        {
            Ok(handle) => self.threads.push(handle),
            Err(cause) if self.threads.is_empty() => return Err(connection_lost(&cause)),
            // Fewer threads are only slower.
            Err(_) => {}
        }
        Ok(())
    }
}

/// Runs a login thread: opens a connection for each client asked for, and wakes the reactor.
fn log_in_as_asked<T>(
    opener: &Opener<T>,
    to_do: &Mutex<Receiver<usize>>,
    made: &Sender<Made<T>>,
    wakeup_socket: &Socket,
) {
    let mut before_ns = 0;
    loop {
        let next = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(client) = next else { return };
        let opened = opener();
        let now_ns = host::cpu::thread_cpu().map_or(0, |cpu| cpu.as_nanos() as u64);
        let cpu_ns = now_ns.saturating_sub(before_ns);
        before_ns = now_ns;
        // The lane may be gone, and the connection with it.
        if made.send(Made { client, opened, cpu_ns }).is_err() || (&*wakeup_socket).write_all(&[1]).is_err() {
            return;
        }
    }
}

impl<T> Drop for Connector<T> {
    /// Ends the login threads, and waits for them: logins in progress would count among the server's connections.
    fn drop(&mut self) {
        let Some(pool) = &mut self.pool else { return };
        pool.asked = None;
        for thread in pool.threads.drain(..) {
            // Its thread has reported a panic.
            let _ = thread.join();
        }
    }
}
