//! A server that speaks TDS and understands no SQL.
//!
//! It answers what the tests script: the login, batches, calls of procedures with their parameters, rows, errors,
//! broken packets. Of SQL it knows the first words of a transaction and enough of pgbench's statements to count rows.
//! So it shows that étalon sends what it should and accepts what may come, but not that a SQL Server accepts what
//! étalon sends.

mod objects;
mod sessions;
mod snapshots;
mod talk;
mod tokens;

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustls::ServerConfig;

pub use objects::{Lists, Object};
pub use sessions::Sessions;
pub use snapshots::Snapshot;
pub use talk::{Call, Parameter};
pub use tokens::{Reply, error, info, result, touched};

/// The password that is let in.
pub const PASSWORD: &str = "right Pa55";

/// What the server says of encryption.
#[derive(Clone)]
pub enum Encryption {
    None,
    Login(Arc<ServerConfig>),
    Everything(Arc<ServerConfig>),
}

/// What a client sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Batch(String),
    Call(Call),
    Rows((u64, i64)),
    Attention,
}

/// Overrides the server's answer; `None` leaves it to the server.
pub type Script = Arc<dyn Fn(&Asked) -> Option<Reply> + Send + Sync>;

/// Answers a statement with its parameters, a batch among them.
pub type Statements = Box<dyn FnMut(&str, &[Parameter]) -> Option<Vec<u8>> + Send>;

/// What the server knows of its database.
#[derive(Default)]
pub struct Database {
    pub exists: bool,
    /// What the marker says, and its lists.
    pub marker: Option<String>,
    pub lists: Option<Lists>,
    pub objects: Vec<Object>,
    /// What a new database has.
    pub model: Vec<Object>,
    pub history: i64,
    pub balance: i64,
    /// Names and types of their columns.
    pub tables: BTreeMap<String, Vec<(String, String)>>,
    pub copied: BTreeMap<String, u64>,
    /// Of the rows that were copied.
    pub sums: BTreeMap<String, i64>,
    pub snapshots: Vec<Snapshot>,
    /// Of the log's file; 0 is a new database's.
    pub log_pages: u64,
    /// Everything asked, in order of arrival.
    pub log: Vec<Asked>,
    /// User, database and program of each login.
    pub logins: Vec<(String, String, String)>,
    /// Beyond pgbench's.
    pub statements: Option<Statements>,
}

impl Database {
    fn answer(&mut self, sql: &str, parameters: &[Parameter]) -> Option<Vec<u8>> {
        self.statements.as_mut()?(sql, parameters)
    }
}

pub struct Server {
    port: u16,
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) database: Mutex<Database>,
    pub(super) script: Script,
    pub(super) encryption: Encryption,
    sessions: Mutex<Sessions>,
    stopping: AtomicBool,
}

impl Shared {
    pub(super) fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// On a free port of the loopback interface, until dropped.
    pub fn start(encryption: Encryption, script: Script) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (database, sessions) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { database, script, encryption, sessions, stopping: AtomicBool::new(false) });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.stopping.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // The client notices what ends a connection.
                thread::spawn(move || stream.and_then(|stream| talk::serve(stream, &shared)));
            }
        });
        Server { port, shared }
    }

    pub fn plain() -> Server {
        Server::start(Encryption::None, Arc::new(|_| None))
    }

    /// Overrides the answer to batches with these words.
    pub fn answering(words: &'static str, reply: Reply) -> Server {
        Server::start(
            Encryption::None,
            Arc::new(move |asked| match asked {
                Asked::Batch(sql) if sql.contains(words) => Some(reply.clone()),
                _ => None,
            }),
        )
    }

    pub fn url(&self) -> String {
        self.url_of("sa", PASSWORD, "encrypt=false")
    }

    pub fn url_of(&self, user: &str, password: &str, options: &str) -> String {
        format!("mssql://{user}:{}@127.0.0.1:{}/?{options}", password.replace(' ', "%20"), self.port)
    }

    pub fn database(&self) -> MutexGuard<'_, Database> {
        self.shared.database()
    }

    pub fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.shared.sessions()
    }

    pub fn batches(&self) -> Vec<String> {
        let log = &self.database().log;
        log.iter().filter_map(|asked| if let Asked::Batch(sql) = asked { Some(sql.clone()) } else { None }).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

pub fn certificate(name: &str) -> (String, Arc<ServerConfig>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let chain = vec![made.cert.der().clone()];
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key.into())
        .unwrap();
    (made.cert.pem(), Arc::new(config))
}
