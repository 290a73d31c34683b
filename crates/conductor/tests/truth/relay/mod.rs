//! A PostgreSQL server with known delays: a real one behind a relay.
//!
//! The relay passes on what étalon's control connections say. A connection that prepares a statement with [`MARK`] in
//! its text belongs to the load: each request on it is noted on arrival, and its answer held back until it is due. The
//! relay sleeps until shortly before that instant and spins for the rest, and spins again before the next request, so
//! neither end depends on how soon the operating system wakes it.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use host::clock::{now_ns, sleep_until};
use host::watch::{Measured, Watch};

use crate::latency::disturbance;

/// Part of the text of the load's statement.
pub const MARK: &str = "known_delay";

/// How long before an answer is due the relay begins to spin.
const SPIN_NS: u64 = 200_000;
/// How long the relay spins for the next request after an answer.
const NEXT_NS: u64 = 500_000;
/// Clients that are kept apart.
const PHASES: u64 = 4;
/// Enough for any message of the tests.
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Clone, Copy)]
pub enum Delays {
    /// After the request's arrival.
    Fixed(u64),
    Bimodal {
        usual_ns: u64,
        slow_ns: u64,
        slow_every: u64,
    },
    /// Once, this long after the first request, no answer leaves for a while.
    Stall {
        usual_ns: u64,
        from_ns: u64,
        length_ns: u64,
    },
}

impl Delays {
    /// Extra delay of the first answer on the load's connection `number`. Clients begin at the same instant; this
    /// keeps them apart, so that the relay times one answer at a time.
    fn stagger_ns(self, number: u64) -> u64 {
        match self {
            Delays::Fixed(usual_ns) | Delays::Bimodal { usual_ns, .. } => usual_ns / PHASES * (number % PHASES),
            Delays::Stall { .. } => 0,
        }
    }

    /// When the answer to request `number`, from 0, leaves. `first_ns` is when the first one arrived.
    fn due_ns(self, number: u64, arrived_ns: u64, first_ns: u64) -> u64 {
        match self {
            Delays::Fixed(delay_ns) => arrived_ns + delay_ns,
            Delays::Bimodal { slow_ns, slow_every, .. } if number % slow_every == slow_every - 1 => {
                arrived_ns + slow_ns
            }
            Delays::Bimodal { usual_ns, .. } => arrived_ns + usual_ns,
            Delays::Stall { usual_ns, from_ns, length_ns } => {
                let due_ns = arrived_ns + usual_ns;
                let stall = first_ns + from_ns..first_ns + from_ns + length_ns;
                if stall.contains(&due_ns) { stall.end } else { due_ns }
            }
        }
    }
}

/// What the relay noted of one request.
#[derive(Clone, Copy)]
pub struct Answer {
    pub arrived_ns: u64,
    pub left_ns: u64,
}

/// Everything that the connections share.
struct Notes {
    delays: Delays,
    first_ns: OnceLock<u64>,
    answers: Mutex<Vec<Answer>>,
    begun: Mutex<u64>,
    connections: AtomicU64,
    watch: Mutex<Option<Watch>>,
}

pub struct Relay {
    port: u16,
    notes: Arc<Notes>,
}

impl Relay {
    /// Until the test process ends.
    pub fn start(server: PathBuf, delays: Delays) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let notes = Arc::new(Notes {
            delays,
            first_ns: OnceLock::new(),
            answers: Mutex::default(),
            begun: Mutex::default(),
            connections: AtomicU64::new(0),
            watch: Mutex::default(),
        });
        let shared = Arc::clone(&notes);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                connect(client, UnixStream::connect(&server).unwrap(), &shared);
            }
        });
        Relay { port, notes }
    }

    pub fn url(&self) -> String {
        format!("postgres://{}@127.0.0.1:{}/postgres?sslmode=disable", crate::server::ROLE, self.port)
    }

    /// Records what others than this process and its children do on the machine from now on.
    pub fn watch(&self) {
        *self.notes.watch.lock().unwrap() = Some(Watch::start(&Measured::default()));
    }

    /// Share of the machine that others took since then.
    pub fn disturbed(&self) -> f64 {
        let watch = self.notes.watch.lock().unwrap().take().expect("nobody watches");
        disturbance(&watch.stop())
    }

    pub fn answers(&self) -> Vec<Answer> {
        let mut answers = self.notes.answers.lock().unwrap().clone();
        answers.sort_by_key(|answer| answer.arrived_ns);
        answers
    }
}

impl Notes {
    /// Notes a request and returns when its answer is due.
    fn arrived(&self, arrived_ns: u64) -> u64 {
        let first_ns = *self.first_ns.get_or_init(|| arrived_ns);
        let number = {
            let mut begun = self.begun.lock().unwrap();
            *begun += 1;
            *begun - 1
        };
        self.delays.due_ns(number, arrived_ns, first_ns)
    }
}

fn connect(client: TcpStream, server: UnixStream, notes: &Arc<Notes>) {
    client.set_nodelay(true).unwrap();
    let (requests, pending) = channel();
    let (client_too, server_too) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (notes, notes_too) = (Arc::clone(notes), Arc::clone(notes));
    thread::spawn(move || {
        forward(&client, &server, &requests, &notes);
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
    thread::spawn(move || {
        give_back(&server_too, &client_too, &pending, &notes_too);
        let _ = client_too.shutdown(std::net::Shutdown::Both);
    });
}

struct Request {
    arrived_ns: u64,
    due_ns: u64,
}

/// From étalon to the server.
fn forward(client: &TcpStream, mut server: &UnixStream, requests: &Sender<Request>, notes: &Notes) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut load, mut spin_until_ns, mut stagger_ns): (Option<Vec<u8>>, _, _) = (None, 0, 0);
    loop {
        let count = match read(client, &mut buffer, spin_until_ns) {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        let arrived_ns = now_ns();
        let bytes = &buffer[..count];
        // étalon also binds a statement of its own, for the session's counters before and after the load.
        if load.as_ref().is_some_and(|name| bound(bytes) == Some(name)) {
            let due_ns = notes.arrived(arrived_ns) + std::mem::take(&mut stagger_ns);
            // Before the server can answer.
            if requests.send(Request { arrived_ns, due_ns }).is_err() || server.write_all(bytes).is_err() {
                return;
            }
            // Two that spin at once would take the processor from étalon and each other.
            sleep_until(due_ns);
            spin_until_ns = due_ns + NEXT_NS;
            continue;
        }
        if load.is_none() && bytes.windows(MARK.len()).any(|window| window == MARK.as_bytes()) {
            load = prepared(bytes);
            stagger_ns = notes.delays.stagger_ns(notes.connections.fetch_add(1, Ordering::Relaxed));
        }
        spin_until_ns = 0;
        if server.write_all(bytes).is_err() {
            return;
        }
    }
}

/// The name of the statement that the first message binds.
fn bound(bytes: &[u8]) -> Option<&[u8]> {
    let body = bytes.strip_prefix(b"B")?.get(4..)?;
    let mut texts = body.split(|byte| *byte == 0);
    // The portal comes before.
    texts.nth(1)
}

/// The name of the statement that is prepared with the mark.
fn prepared(mut bytes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let length = u32::from_be_bytes(bytes.get(1..5)?.try_into().ok()?) as usize;
        let (message, rest) = bytes.split_at_checked(1 + length)?;
        let is_marked = message.windows(MARK.len()).any(|window| window == MARK.as_bytes());
        if message[0] == b'P' && is_marked {
            return message.get(5..)?.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
        }
        bytes = rest;
    }
}

/// Reads, without sleeping until an instant.
fn read(mut client: &TcpStream, buffer: &mut [u8], spin_until_ns: u64) -> std::io::Result<usize> {
    if now_ns() < spin_until_ns {
        client.set_nonblocking(true)?;
        while now_ns() < spin_until_ns {
            match client.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                other => return other,
            }
        }
        client.set_nonblocking(false)?;
    }
    loop {
        match client.read(buffer) {
            // Another read has left this socket non-blocking.
            Err(error) if error.kind() == ErrorKind::WouldBlock => client.set_nonblocking(false)?,
            other => return other,
        }
    }
}

/// From the server to étalon.
fn give_back(mut server: &UnixStream, mut client: &TcpStream, pending: &Receiver<Request>, notes: &Notes) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = match server.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        let request = pending.try_recv().ok();
        let left_ns = request.as_ref().map(|request| {
            sleep_until(request.due_ns.saturating_sub(SPIN_NS));
            while now_ns() < request.due_ns {
                std::hint::spin_loop();
            }
            now_ns()
        });
        // The socket may be non-blocking, but it has room for an answer.
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            match client.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
                Err(_) => return,
            }
        }
        if let (Some(request), Some(left_ns)) = (request, left_ns) {
            notes.answers.lock().unwrap().push(Answer { arrived_ns: request.arrived_ns, left_ns });
        }
    }
}
