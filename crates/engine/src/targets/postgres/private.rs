//! A server that étalon initialises, starts and removes itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use host::process::{ServerProcess, ServerSpec, StopSignal, User};
use host::scratch::Scratch;
use model::plan::{Connect, PrivateServer};
use model::{Facts, Value};

use super::connect::Endpoint;
use super::programs::Programs;
use super::session;
use super::url::Address;
use crate::error::{Failure, FailureKind};
use crate::target::OsIo;
use crate::targets::shared::{FULL_HINT, LOOPBACK, free_port_at, log_length, log_since, random_password};

/// The role that initdb makes.
const ROLE: &str = "etalon";
/// The database that initdb makes.
const DATABASE: &str = "postgres";
/// How long initdb may take, and a server until it answers: recovery after a crash is in it.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// How often a server that starts is asked.
const START_POLL: Duration = Duration::from_millis(20);
/// How long an ending server may take before it is killed; it ends its own children by force after 5 s.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How long an orderly end may take: it writes a checkpoint.
const RESTART_PATIENCE: Duration = Duration::from_secs(60);
/// How often another port is tried.
const PORT_ATTEMPTS: u32 = 5;
/// A socket's path may be 103 bytes long on macOS, 107 on Linux; this name is the longest that a server gives it.
const SOCKET_PATH_BYTES: usize = 103;
const SOCKET_NAME: &str = "/.s.PGSQL.65535";
/// With a socket the port is only part of its name.
const SOCKET_PORT: u16 = 5432;

/// Settings that a private server's isolation depends on.
const OWN_SETTINGS: [&str; 11] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
    "logging_collector",
];

/// Variables that would change what the programs do.
const VARIABLES: [&str; 14] = [
    "PGDATA",
    "PGHOST",
    "PGHOSTADDR",
    "PGPORT",
    "PGUSER",
    "PGDATABASE",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGOPTIONS",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGSSLMODE",
    "PGTZ",
    "PGDATESTYLE",
];

/// A private server. Dropping it ends the server and removes its folder.
pub(super) struct Private {
    // Dropped in this order: the server before its folders.
    pub(super) process: Option<ServerProcess>,
    spec: ServerSpec,
    programs: Programs,
    settings: BTreeMap<String, Value>,
    /// How clients are let in, for the facts.
    login: &'static str,
    /// How long the log was when the server was last started, in bytes.
    log_from_bytes: u64,
    /// Who it runs as; étalon's own user if `None`.
    user: Option<User>,
    folders: Option<Folders>,
}

/// Where a private server lives.
struct Folders {
    scratch: Scratch,
    /// For the socket, where the scratch folder's own path is too long.
    socket: Option<Scratch>,
}

impl Folders {
    fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    fn socket(&self) -> PathBuf {
        self.socket.as_ref().unwrap_or(&self.scratch).path().join("s")
    }

    fn log(&self) -> PathBuf {
        self.scratch.path().join("server.log")
    }
}

fn failed(tried: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, error)
}

impl Private {
    /// Makes and starts a server, and gives the way to it once it answers.
    ///
    /// # Errors
    /// Its programs are missing, it does not start with these settings, or the device is full: with the log's words.
    pub(super) fn start(
        server: &PrivateServer,
        settings: &BTreeMap<String, Value>,
        scratch_base: Option<&Path>,
        listen: Option<&str>,
    ) -> Result<(Private, Endpoint), Failure> {
        refuse_own_settings(settings)?;
        let programs = Programs::find(server.bin_dir.as_deref())?;
        let user = server_user()?;
        let folders = make_folders(scratch_base, server.connect, user.as_ref())?;
        let password = match server.connect {
            // The folder of the socket lets nobody else in.
            Connect::Socket => None,
            // Everybody on this machine reaches the port, and the role is a superuser.
            Connect::Tcp => Some(random_password()),
        };
        initialise(&programs, &folders, user.as_ref(), password.as_deref())?;
        let mut private = Private {
            process: None,
            spec: ServerSpec::new(programs.postgres(), folders.log()),
            programs,
            settings: settings.clone(),
            login: if password.is_some() { "scram-sha-256" } else { "trust" },
            log_from_bytes: 0,
            user: user.clone(),
            folders: Some(folders),
        };
        let endpoint = match password {
            None => private.start_on_socket(user.as_ref())?,
            Some(password) => private.start_on_port(user.as_ref(), &password, listen)?,
        };
        Ok((private, endpoint))
    }

    /// A server that has no data yet, in a folder of `base`, with the programs and settings of this one.
    ///
    /// # Errors
    /// As [`Private::empty`].
    pub(super) fn empty_twin(&self, base: &Path) -> Result<Private, Failure> {
        Private::empty(Some(self.programs.clone()), &self.settings, base)
    }

    /// A server that has no data yet, for what is to be restored: its programs, its folders, and nothing in them.
    ///
    /// # Errors
    /// The programs are missing, or the folders cannot be made.
    pub(super) fn empty(
        programs: Option<Programs>,
        settings: &BTreeMap<String, Value>,
        base: &Path,
    ) -> Result<Private, Failure> {
        let programs = programs.map_or_else(|| Programs::find(None), Ok)?;
        let user = server_user()?;
        let folders = make_folders(Some(base), Connect::Socket, user.as_ref())?;
        Ok(Private {
            process: None,
            spec: ServerSpec::new(programs.postgres(), folders.log()),
            programs,
            settings: settings.clone(),
            login: "trust",
            log_from_bytes: 0,
            user,
            folders: Some(folders),
        })
    }

    /// The folder of the server's programs.
    pub(super) fn bin_dir(&self) -> PathBuf {
        self.programs.folder.clone()
    }

    /// Who owns what is in the data folder; étalon's own user if `None`.
    pub(super) fn user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    /// The data folder.
    ///
    /// # Errors
    /// The server has been removed.
    pub(super) fn data(&self) -> Result<PathBuf, Failure> {
        Ok(self.folders()?.data())
    }

    /// Takes the original's own settings out of restored data: they could have it archive its log where the original does,
    /// or ask for a password that étalon does not know. Only étalon enters the folder of its socket.
    ///
    /// # Errors
    /// The files cannot be written.
    pub(super) fn make_settings_own(&self, address: &Address) -> Result<(), Failure> {
        let tried = "write the restored server's settings";
        let data = self.folders()?.data();
        // Names in double quotes may hold anything but those.
        let role = address.user.replace('"', "");
        let files = [
            ("postgresql.conf", String::new()),
            ("postgresql.auto.conf", String::new()),
            ("pg_hba.conf", format!("local all \"{role}\" trust\n")),
            ("pg_ident.conf", String::new()),
        ];
        for (name, text) in files {
            let file = data.join(name);
            fs::write(&file, text).map_err(|error| failed(tried, error))?;
            if let Some(user) = &self.user {
                host::process::chown(&file, user).map_err(|error| failed(tried, error))?;
            }
        }
        Ok(())
    }

    /// Starts the server on restored data and gives the way to the original's database in it.
    ///
    /// # Errors
    /// It does not start: its log's words.
    pub(super) fn start_restored(&mut self, original: &Address) -> Result<Endpoint, Failure> {
        let folder = self.folders()?.socket().to_string_lossy().into_owned();
        let address = Address::plain(&folder, SOCKET_PORT, &original.user, &original.database, None);
        let user = self.user.clone();
        self.start_on(Endpoint::new(address)?, user.as_ref())
    }

    fn start_on_socket(&mut self, user: Option<&User>) -> Result<Endpoint, Failure> {
        let folder = self.folders()?.socket().to_string_lossy().into_owned();
        self.start_on(Endpoint::new(Address::plain(&folder, SOCKET_PORT, ROLE, DATABASE, None))?, user)
    }

    fn start_on(&mut self, endpoint: Endpoint, user: Option<&User>) -> Result<Endpoint, Failure> {
        let folder = self.folders()?.socket().to_string_lossy().into_owned();
        let own = [
            ("unix_socket_directories", folder),
            ("listen_addresses", String::new()),
            ("port", SOCKET_PORT.to_string()),
        ];
        self.spec = self.spec_with(&own, user)?;
        self.spawn_and_wait(&endpoint)?;
        Ok(endpoint)
    }

    fn start_on_port(
        &mut self,
        user: Option<&User>,
        password: &str,
        listen: Option<&str>,
    ) -> Result<Endpoint, Failure> {
        let host = listen.unwrap_or(LOOPBACK);
        if listen.is_some() {
            // Whoever knows the password, which lives as long as the server.
            let line = "host all all all scram-sha-256\n";
            let file = self.folders()?.data().join("pg_hba.conf");
            let appended =
                fs::OpenOptions::new().append(true).open(file).and_then(|mut file| file.write_all(line.as_bytes()));
            appended.map_err(|error| failed("let clients on other hosts in", error))?;
        }
        let mut attempt = 1;
        loop {
            let port = free_port_at(host)?;
            let endpoint = Endpoint::new(Address::plain(host, port, ROLE, DATABASE, Some(password)))?;
            let own = [
                ("unix_socket_directories", String::new()),
                ("listen_addresses", host.to_owned()),
                ("port", port.to_string()),
            ];
            self.spec = self.spec_with(&own, user)?;
            match self.spawn_and_wait(&endpoint) {
                Ok(()) => return Ok(endpoint),
                // Another program took the port after it was found free.
                Err(failure) if failure.cause.contains("in use") && attempt < PORT_ATTEMPTS => attempt += 1,
                Err(failure) => return Err(failure),
            }
        }
    }

    fn folders(&self) -> Result<&Folders, Failure> {
        self.folders.as_ref().ok_or_else(|| failed("use the private server", "it has been removed"))
    }

    fn spec_with(&self, own: &[(&str, String)], user: Option<&User>) -> Result<ServerSpec, Failure> {
        let folders = self.folders()?;
        let setting = |name: &str, value: String| ["-c".to_owned(), format!("{name}={value}")];
        let mut spec = ServerSpec::new(self.programs.postgres(), folders.log())
            .args(["-D".into(), folders.data().into_os_string()])
            .args(self.settings.iter().flat_map(|(name, value)| setting(name, value.to_string())))
            .args(own.iter().flat_map(|(name, value)| setting(name, value.clone())))
            .working_dir(folders.data())
            .in_scratch(&folders.scratch)
            .end_signal(StopSignal::Immediate);
        spec = VARIABLES.iter().fold(spec, |spec, name| spec.without_env(*name));
        Ok(match user {
            Some(user) => spec.run_as(user.clone()),
            None => spec,
        })
    }

    /// Starts the server and waits until it answers.
    fn spawn_and_wait(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let started = Instant::now();
        self.log_from_bytes = log_length(&self.spec.log);
        let mut process = spawn(&self.spec)?;
        loop {
            let ended = process.has_ended().map_err(|error| failed("watch the private server", error))?;
            if ended.is_some() {
                let log = log_since(&self.spec.log, self.log_from_bytes);
                // The children of a server that was killed leave a moment after it.
                let lingers = log.contains("pre-existing shared memory block") || log.contains("postmaster.pid");
                if !lingers || started.elapsed() > START_PATIENCE {
                    return Err(self.explain_log(&log));
                }
                thread::sleep(START_POLL * 10);
                self.log_from_bytes = log_length(&self.spec.log);
                process = spawn(&self.spec)?;
            }
            match endpoint.connect("") {
                Ok(client) => {
                    session::close(client);
                    self.process = Some(process);
                    return Ok(());
                }
                Err(failure) if started.elapsed() > START_PATIENCE => return Err(failure),
                Err(_) => thread::sleep(START_POLL),
            }
        }
    }

    /// Why a server did not start, in its own words.
    fn explain_log(&self, log: &str) -> Failure {
        let tried = "start the private server";
        let between =
            |before: &str| log.split_once(before).and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
        if let Some(name) = between("unrecognized configuration parameter \"") {
            let value = self.settings.get(name).map(ToString::to_string).unwrap_or_default();
            return session::unknown(name, &value, self.programs.setting_names().iter().map(String::as_str));
        }
        let cause = last_words(log);
        let of_the_plan = between("parameter \"").is_some_and(|name| self.settings.contains_key(name))
            || self.settings.keys().any(|name| cause.contains(&format!("\"{name}\"")));
        if of_the_plan {
            return Failure::new(FailureKind::Plan, tried, cause).hint("correct the system's `settings` in the plan");
        }
        if is_full(log) {
            return Failure::new(FailureKind::DiskFull, tried, cause).hint(FULL_HINT);
        }
        let failure = Failure::new(FailureKind::Other, tried, cause);
        if log.contains("Cannot allocate memory") || log.contains("could not create shared memory") {
            return failure.hint("ask for less memory: `shared_buffers` in the system's `settings`");
        }
        failure
    }

    /// A lost connection, with what the server's log has to say of it: one whose device is full ends in a panic.
    pub(super) fn explain_loss(&self, mut failure: Failure) -> Failure {
        let log = log_since(&self.spec.log, self.log_from_bytes);
        if is_full(&log) {
            return Failure::new(FailureKind::DiskFull, failure.tried, last_words(&log)).hint(FULL_HINT);
        }
        // To start the server by hand, or to look for it elsewhere, is no use here.
        failure.hint = Some(format!("étalon's private server logged at last: {}", last_words(&log)));
        failure
    }

    /// Starts the server again, on the same data, if it has ended.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn revive(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        self.folders()?;
        let runs = match &mut self.process {
            Some(process) => process.has_ended().map_err(|error| failed("watch the private server", error))?.is_none(),
            None => false,
        };
        if runs {
            return Ok(());
        }
        self.process = None;
        self.spawn_and_wait(endpoint)
    }

    /// Ends the server in order and starts it again, on the same data and with the same settings.
    ///
    /// # Errors
    /// It does not end, or not start.
    pub(super) fn restart(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        self.folders()?;
        if let Some(mut process) = self.process.take() {
            process.stop(StopSignal::Fast, STOP_PATIENCE).map_err(|error| failed("stop the private server", error))?;
        }
        self.spawn_and_wait(endpoint)
    }

    /// Ends the server in order, gives up what the operating system has cached of its files, and starts it again.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`] where the operating system does not give up its cache; the server runs again.
    pub(super) fn restart_cold(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let data = self.folders()?.data();
        if let Some(mut process) = self.process.take() {
            let stopped = process.stop(StopSignal::Fast, RESTART_PATIENCE);
            stopped.map_err(|error| failed("stop the private server", error))?;
        }
        let evicted = host::disk::evict_tree(&data);
        self.spawn_and_wait(endpoint)?;
        evicted.map_err(|error| Failure::new(FailureKind::Unsupported, "empty the caches", error))
    }

    /// CPU seconds of the server and its children.
    pub(super) fn cpu_s(&self) -> Result<f64, String> {
        let process = self.process.as_ref().ok_or_else(|| "the private server has been stopped".to_owned())?;
        process.cpu().map(|cpu| cpu.as_secs_f64())
    }

    /// What the operating system has counted of the server's I/O.
    pub(super) fn os_io(&self) -> Result<OsIo, String> {
        let process = self.process.as_ref().ok_or_else(|| "the private server has been stopped".to_owned())?;
        let folder = self.folders().map_err(|failure| failure.to_string())?.data();
        Ok(OsIo::of(process.io()?, &folder))
    }

    /// What is to be said of how the server was made.
    pub(super) fn add_facts(&self, facts: &mut Facts) {
        facts.identity("server.made_by", format!("étalon: {}", initdb_words(self.login).join(" ")));
        facts.passing("server.programs", self.programs.folder.display().to_string());
    }

    /// Ends the server and removes its folder.
    ///
    /// # Errors
    /// It does not end, or its folder cannot be removed.
    pub(super) fn remove(&mut self) -> Result<(), Failure> {
        if let Some(mut process) = self.process.take() {
            // Without the checkpoint of an orderly end: the data is thrown away.
            let stopped = process.stop(StopSignal::Immediate, STOP_PATIENCE);
            stopped.map_err(|error| failed("stop the private server", error))?;
        }
        let Some(folders) = self.folders.take() else { return Ok(()) };
        for scratch in folders.socket.into_iter().chain([folders.scratch]) {
            scratch.remove().map_err(|error| failed("remove the private server", error))?;
        }
        Ok(())
    }
}

fn spawn(spec: &ServerSpec) -> Result<ServerProcess, Failure> {
    ServerProcess::spawn(spec.clone()).map_err(|error| failed("start the private server", error))
}

fn refuse_own_settings(settings: &BTreeMap<String, Value>) -> Result<(), Failure> {
    for (name, value) in settings {
        let tried = format!("set `{name}` to `{value}`");
        if OWN_SETTINGS.contains(&name.as_str()) {
            let cause = "on a private server étalon sets it itself";
            return Err(Failure::new(FailureKind::Plan, tried, cause).hint("`connect` chooses between socket and TCP"));
        }
        if let Some(why) = session::reserved(name) {
            return Err(Failure::new(FailureKind::Plan, tried, format!("étalon sets it itself: {why}")));
        }
    }
    Ok(())
}

/// PostgreSQL refuses to run as root.
pub(super) fn server_user() -> Result<Option<User>, Failure> {
    if !host::process::is_root() {
        return Ok(None);
    }
    let found = ["postgres", "nobody"].iter().find_map(|name| host::process::user_by_name(name).ok());
    found.map(Some).ok_or_else(|| {
        let cause =
            "PostgreSQL refuses to run as root, and there is neither a user `postgres` nor `nobody` to run it as";
        Failure::new(FailureKind::Missing, "start a private server", cause).hint("run étalon as an ordinary user")
    })
}

fn make_folders(base: Option<&Path>, connect: Connect, user: Option<&User>) -> Result<Folders, Failure> {
    let tried = "make a folder for the private server";
    let scratch = Scratch::new("postgres", base).map_err(|error| failed(tried, error))?;
    let mut folders = Folders { scratch, socket: None };
    let is_long = |folders: &Folders| folders.socket().as_os_str().len() + SOCKET_NAME.len() > SOCKET_PATH_BYTES;
    if connect == Connect::Socket && is_long(&folders) {
        for base in Scratch::bases() {
            folders.socket = Some(Scratch::new("pg", Some(&base)).map_err(|error| failed(tried, error))?);
            if !is_long(&folders) {
                break;
            }
        }
        if is_long(&folders) {
            let cause = format!("the path of a socket in {} would be too long", folders.socket().display());
            return Err(Failure::new(FailureKind::Plan, tried, cause)
                .hint("write `connect = \"tcp\"`, or set TMPDIR to a shorter path"));
        }
    }
    for scratch in [Some(&folders.scratch), folders.socket.as_ref()].into_iter().flatten() {
        if user.is_some() {
            scratch.allow_passage().map_err(|error| failed(tried, error))?;
        }
    }
    for folder in [folders.data(), folders.socket()] {
        fs::create_dir(&folder).map_err(|error| failed(tried, error))?;
        if let Some(user) = user {
            host::process::chown(&folder, user).map_err(|error| failed(tried, error))?;
        }
        host::identity::close_to_others(&folder).map_err(|error| failed(tried, error))?;
    }
    Ok(folders)
}

/// initdb's arguments beside folder and password file.
fn initdb_words(login: &str) -> Vec<&str> {
    vec!["initdb", "-A", login, "-U", ROLE, "-E", "UTF8", "--locale", "C", "--no-sync"]
}

fn initialise(
    programs: &Programs,
    folders: &Folders,
    user: Option<&User>,
    password: Option<&str>,
) -> Result<(), Failure> {
    let tried = "initialise a private server";
    let log = folders.scratch.path().join("initdb.log");
    let mut spec = ServerSpec::new(programs.initdb(), &log)
        .args(&initdb_words(if password.is_some() { "scram-sha-256" } else { "trust" })[1..])
        .args(["-D".into(), folders.data().into_os_string()])
        .working_dir(folders.data())
        .in_scratch(&folders.scratch);
    if let Some(password) = password {
        let file = folders.socket().join("password");
        fs::write(&file, password).map_err(|error| failed(tried, error))?;
        if let Some(user) = user {
            host::process::chown(&file, user).map_err(|error| failed(tried, error))?;
        }
        spec = spec.args(["--pwfile".into(), file.into_os_string()]);
    }
    spec = VARIABLES.iter().fold(spec, |spec, name| spec.without_env(*name));
    if let Some(user) = user {
        spec = spec.run_as(user.clone());
    }
    let started = Instant::now();
    let mut process = ServerProcess::spawn(spec).map_err(|error| failed(tried, error))?;
    loop {
        match process.has_ended().map_err(|error| failed(tried, error))? {
            Some(status) if status.success() => break,
            Some(_) => {
                let log = process.log_tail(40);
                return Err(match is_full(&log) {
                    true => Failure::new(FailureKind::DiskFull, tried, last_words(&log)).hint(FULL_HINT),
                    false => failed(tried, last_words(&log)),
                });
            }
            None if started.elapsed() > START_PATIENCE => {
                return Err(failed(tried, "initdb did not end within a minute"));
            }
            None => thread::sleep(START_POLL),
        }
    }
    if password.is_some() {
        fs::remove_file(folders.socket().join("password")).map_err(|error| failed(tried, error))?;
    }
    Ok(())
}

/// Whether a log speaks of a full device.
fn is_full(log: &str) -> bool {
    log.contains("No space left") || log.contains("Check free disk space")
}

/// The lines of a log that say why; its last ones, if none does.
fn last_words(log: &str) -> String {
    const WORDS: [&str; 5] = ["FATAL:", "PANIC:", "DETAIL:", "HINT:", "initdb: error:"];
    // What clients are told while the server is not there for them.
    const NOISE: [&str; 4] =
        ["database system is", "terminating connection", "Consistent recovery", "data is corrupted"];
    let telling: Vec<&str> = log
        .lines()
        .filter(|line| !NOISE.iter().any(|noise| line.contains(noise)))
        .filter_map(|line| WORDS.iter().find_map(|word| line.find(word)).map(|at| line[at..].trim()))
        .collect();
    let lines = if telling.is_empty() { log.lines().map(str::trim).collect() } else { telling };
    let last: Vec<&str> = lines[lines.len().saturating_sub(6)..].to_vec();
    if last.is_empty() { "it ended without a word in its log".to_owned() } else { last.join("; ") }
}
