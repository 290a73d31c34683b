//! A nats-server of a test's own: on a free port, with its stream in a temporary folder, ended with the test.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use host::process::{ServerProcess, ServerSpec, StopSignal};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa};
use tempfile::TempDir;

use crate::namespaces::Host;
use crate::tokens::Operator;

/// How long a server may take until it listens.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to end in order.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(10);
/// Free in a namespace.
const NAMESPACE_PORT: u16 = 4222;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    Open,
    /// TLS, and the users of `deploy/nats/users.conf` with keys of the test's own.
    Keys,
    /// The users of an operator's account, by JWTs.
    Tokens,
    /// One user, by a password.
    Password,
}

/// Plain, and URL-encoded.
pub const PASSWORD: (&str, &str) = ("hunter2/@?", "hunter2%2F%40%3F");

/// Where the server listens.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// On a free port of this machine's loopback.
    Loopback,
    /// In a namespace, on its address.
    In(&'a Host),
}

/// Dropping it stops it and removes its folder.
pub struct Nats {
    // Dropped before its folder.
    server: Option<ServerProcess>,
    folder: TempDir,
    security: Security,
    address: Ipv4Addr,
    /// 0 until chosen.
    port: u16,
    /// Command prefix; empty on loopback.
    enter: Vec<OsString>,
    /// By the variable's name in `users.conf`.
    keys: BTreeMap<String, KeyPair>,
    operator: Operator,
}

impl Nats {
    pub fn open() -> Nats {
        Nats::start(Security::Open, Place::Loopback)
    }

    pub fn start(security: Security, place: Place<'_>) -> Nats {
        let (address, port, enter) = match place {
            Place::Loopback => (Ipv4Addr::LOCALHOST, 0, Vec::new()),
            Place::In(host) => (host.address, NAMESPACE_PORT, host.enter()),
        };
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut nats = Nats {
            server: None,
            folder,
            security,
            address,
            port,
            enter,
            keys: BTreeMap::new(),
            operator: Operator::new(),
        };
        if security == Security::Keys {
            make_certificates(nats.folder.path(), address);
        }
        nats.configure();
        nats.run();
        nats
    }

    /// For `--nats`.
    pub fn url(&self) -> String {
        let scheme = match self.security {
            Security::Password => return format!("nats://me:{}@{}:{}", PASSWORD.1, self.address, self.port),
            Security::Open | Security::Tokens => "nats",
            Security::Keys => "tls",
        };
        format!("{scheme}://{}:{}", self.address, self.port)
    }

    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    pub fn seed(&self, user: &str) -> String {
        self.keys[&variable(user)].seed().unwrap()
    }

    pub fn creds(&self, user: &str) -> PathBuf {
        if self.security == Security::Tokens {
            return self.operator.creds(user, self.folder.path());
        }
        let file = self.folder.path().join(format!("{user}.nk"));
        fs::write(&file, format!("{}\n", self.seed(user))).unwrap();
        host::identity::close_to_others(self.folder.path()).unwrap();
        file
    }

    pub fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.stop(StopSignal::Terminate, STOP_PATIENCE).unwrap();
        }
    }

    /// After [`Nats::stop`]: same port and stream.
    pub fn run(&mut self) {
        let program = program();
        let mut words = self.enter.clone();
        words.push(program.into());
        words.push("--config".into());
        words.push(self.configuration().into());
        let log = self.folder.path().join("nats.log");
        let spec = ServerSpec::new(&words[0], log).with_args(&words[1..]).end_signal(StopSignal::Terminate);
        let mut server = ServerProcess::spawn(spec).unwrap();
        let pid = server.pid();
        let ports = self.folder.path().join(format!("nats-server_{pid}.ports"));
        let deadline = Instant::now() + START_PATIENCE;
        let text = loop {
            assert!(server.has_ended().unwrap().is_none(), "nats-server ended:\n{}", server.log_tail(20));
            match fs::read_to_string(&ports) {
                Ok(text) if text.contains(']') => break text,
                _ => assert!(Instant::now() < deadline, "nats-server is not there:\n{}", server.log_tail(20)),
            }
            std::thread::sleep(LOOK);
        };
        let port = chosen_port(&text);
        assert!(self.port == 0 || self.port == port, "{text}");
        self.server = Some(server);
        if self.port == 0 {
            // A restarted server keeps its port.
            self.port = port;
            self.configure();
        }
    }

    pub fn configuration(&self) -> PathBuf {
        self.folder.path().join("etalon.conf")
    }

    fn configure(&mut self) {
        let port = if self.port == 0 { -1 } else { i32::from(self.port) };
        let folder = self.folder.path().display().to_string();
        let listen = format!("listen: \"{}:{port}\"\nports_file_dir: \"{folder}\"", self.address);
        let text = match self.security {
            Security::Open => format!("{listen}\njetstream {{ store_dir: \"{folder}/stream\" }}\n"),
            Security::Password => format!(
                "{listen}\njetstream {{ store_dir: \"{folder}/stream\" }}\nauthorization {{ user: me, password: \"{}\" }}\n",
                PASSWORD.0
            ),
            Security::Tokens => {
                let operator = self.operator.configuration();
                format!("{listen}\njetstream {{ store_dir: \"{folder}/stream\" }}\n{operator}")
            }
            Security::Keys => {
                self.make_keys();
                fs::write(self.folder.path().join("users.conf"), with_keys(&shipped("users.conf"), &self.keys))
                    .unwrap();
                let text = replaced(&shipped("etalon.conf"), "listen: \"0.0.0.0:4222\"", &listen);
                let text = replaced(&text, "/var/lib/etalon-nats", &format!("{folder}/stream"));
                replaced(&text, "/etc/etalon-nats/tls/", &format!("{folder}/"))
            }
        };
        fs::write(self.configuration(), text).unwrap();
    }

    fn make_keys(&mut self) {
        if self.keys.is_empty() {
            let names = placeholders(&shipped("users.conf"));
            self.keys = names.into_iter().map(|name| (name, KeyPair::new_user())).collect();
        }
    }
}

pub fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nats").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn variable(user: &str) -> String {
    format!("{}_KEY", user.to_uppercase().replace('-', "_"))
}

fn placeholders(users: &str) -> Vec<String> {
    let lines = users.lines().filter(|line| line.contains("_KEY: \"put "));
    lines.map(|line| line.split_once(':').unwrap().0.to_owned()).collect()
}

fn with_keys(users: &str, keys: &BTreeMap<String, KeyPair>) -> String {
    let lines = users.lines().map(|line| match line.split_once(": \"put ") {
        Some((name, _)) => format!("{name}: \"{}\"\n", keys[name].public_key()),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "deploy/nats/etalon.conf lacks {from}");
    text.replace(from, to)
}

/// Debian's folder is not always in `PATH`.
pub fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/bin".into()]);
    let name = format!("nats-server{}", std::env::consts::EXE_SUFFIX);
    let found = folders.map(|folder| folder.join(&name)).find(|file| file.is_file());
    found.expect("nats-server is not installed: `cargo xtask test` installs it, or says how")
}

/// From nats-server's file of ports: `{"nats": ["nats://127.0.0.1:36421"]}`.
fn chosen_port(text: &str) -> u16 {
    let ports: serde_json::Value = serde_json::from_str(text).unwrap();
    let url = ports["nats"][0].as_str().unwrap_or_else(|| panic!("{text}"));
    url.rsplit_once(':').unwrap().1.parse().unwrap()
}

/// An authority's certificate, and the server's for an address and `localhost`.
fn make_certificates(folder: &Path, address: Ipv4Addr) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "étalon's test authority");
    let authority = CertifiedIssuer::self_signed(authority, rcgen::KeyPair::generate().unwrap()).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), IpAddr::from(address).to_string()];
    let server = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    fs::write(folder.join("ca.crt"), authority.pem()).unwrap();
    fs::write(folder.join("tls.crt"), server.pem()).unwrap();
    fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
}

#[test]
fn a_private_server_comes_back_on_its_port() {
    let mut nats = Nats::open();
    let url = nats.url();
    assert!(!url.ends_with(":0") && url.starts_with("nats://127.0.0.1:"), "{url}");
    nats.stop();
    nats.run();
    assert_eq!(nats.url(), url);
}
