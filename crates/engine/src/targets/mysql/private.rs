//! A server that étalon initialises, starts and removes itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use host::process::{ServerProcess, ServerSpec, StopSignal, User};
use host::scratch::Scratch;
use model::plan::{Connect, PrivateServer};
use model::{Facts, Value};

use super::connect::{Endpoint, Purpose};
use super::keys;
use super::programs::{Installer, Programs};
use super::session;
use super::url::{Address, Place};
use crate::error::{Failure, FailureKind};
use crate::target::OsIo;
use crate::targets::shared::{FULL_HINT, LOOPBACK, free_port_at, log_length, log_since, random_password};

/// The account that the installation makes; it is let in by the socket, whose folder lets nobody else in.
const ROOT: &str = "root";
/// The account that étalon makes for TCP, where everybody on this machine reaches the port.
const ACCOUNT: &str = "etalon";
/// How long the installation may take, and a server until it answers: recovery after a crash is in it.
const START_PATIENCE: Duration = Duration::from_secs(90);
/// How often a server that starts is asked.
const START_POLL: Duration = Duration::from_millis(20);
/// How long an ending server may take.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How long an orderly end may take: it writes what has changed.
const RESTART_PATIENCE: Duration = Duration::from_secs(60);
/// How often another port is tried.
const PORT_ATTEMPTS: u32 = 5;
/// A socket's path may be 103 bytes long on macOS, 107 on Linux.
const SOCKET_PATH_BYTES: usize = 103;
/// The socket's name in its folder.
const SOCKET_NAME: &str = "mysql.sock";

/// Settings that a private server's isolation depends on.
const OWN_SETTINGS: [&str; 20] = [
    "basedir",
    "bind_address",
    "daemonize",
    "datadir",
    "defaults_extra_file",
    "defaults_file",
    "extra_port",
    "init_file",
    "log_error",
    "mysqlx",
    "pid_file",
    "port",
    "read_only",
    "skip_grant_tables",
    "skip_name_resolve",
    "skip_networking",
    "socket",
    "super_read_only",
    "tmpdir",
    "user",
];

/// Settings that a server's files are made with, and that cannot be changed afterwards.
const SHAPING: [&str; 6] = [
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    "innodb_log_file_size",
    "innodb_page_size",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];

/// Variables that would change what the programs do.
const VARIABLES: [&str; 8] = [
    "MYSQL_HOME",
    "MARIADB_HOME",
    "MYSQL_UNIX_PORT",
    "MYSQL_TCP_PORT",
    "MYSQL_GROUP_SUFFIX",
    "MYSQL_PWD",
    "MYSQL_HOST",
    "TMPDIR",
];

/// A private server. Dropping it ends the server and removes its folder.
pub(super) struct Private {
    // Dropped in this order: the server before its folders.
    pub(super) process: Option<ServerProcess>,
    spec: ServerSpec,
    programs: Programs,
    settings: BTreeMap<String, Value>,
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

    fn temporary(&self) -> PathBuf {
        self.scratch.path().join("tmp")
    }

    fn socket_folder(&self) -> PathBuf {
        self.socket.as_ref().unwrap_or(&self.scratch).path().join("s")
    }

    fn socket(&self) -> PathBuf {
        self.socket_folder().join(SOCKET_NAME)
    }

    fn options(&self) -> PathBuf {
        self.scratch.path().join("my.cnf")
    }

    /// What is run before the first client is let in.
    fn first_words(&self) -> PathBuf {
        self.socket_folder().join("init.sql")
    }

    /// Where the keys are, if the server has any of étalon's.
    fn keys(&self) -> PathBuf {
        self.socket_folder().join("keys.txt")
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
        fs::write(folders.options(), option_file(settings)?)
            .map_err(|error| failed("write the private server's option file", error))?;
        initialise(&programs, &folders, settings, user.as_ref())?;
        if keys::are_wanted(settings) {
            keys::make(&folders.keys(), user.as_ref())?;
        }
        let mut private = Private {
            process: None,
            spec: ServerSpec::new(&programs.server, folders.log()),
            programs,
            settings: settings.clone(),
            log_from_bytes: 0,
            user: user.clone(),
            folders: Some(folders),
        };
        let endpoint = match server.connect {
            Connect::Socket => private.start_on_socket(user.as_ref())?,
            Connect::Tcp => private.start_on_port(user.as_ref(), listen)?,
        };
        Ok((private, endpoint))
    }

    /// A server that has no data yet, in a folder of `base`, with the programs, settings and key file of this one.
    ///
    /// # Errors
    /// The folders cannot be made.
    pub(super) fn empty_twin(&self, base: &Path) -> Result<Private, Failure> {
        let twin = Private::empty(self.programs.clone(), &self.settings, base)?;
        if keys::are_wanted(&self.settings) {
            keys::copy(&self.folders()?.keys(), &twin.folders()?.keys(), twin.user())?;
        }
        Ok(twin)
    }

    /// A server that runs and holds nothing, in a folder of `base`, with the programs and settings of this one.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn fresh_twin(&self, base: &Path) -> Result<(Private, Endpoint), Failure> {
        let mut private = self.empty_twin(base)?;
        let user = private.user.clone();
        initialise(&private.programs, private.folders()?, &private.settings, user.as_ref())?;
        let endpoint = private.start_on_socket(user.as_ref())?;
        Ok((private, endpoint))
    }

    /// A server that runs and holds nothing, in a folder of `base`, with the usual settings.
    ///
    /// # Errors
    /// Its programs are missing, or it does not start.
    pub(super) fn fresh(base: &Path) -> Result<(Private, Endpoint), Failure> {
        Private::empty(Programs::find(None)?, &BTreeMap::new(), base)?.fresh_twin(base)
    }

    fn empty(programs: Programs, settings: &BTreeMap<String, Value>, base: &Path) -> Result<Private, Failure> {
        let user = server_user()?;
        let folders = make_folders(Some(base), Connect::Socket, user.as_ref())?;
        fs::write(folders.options(), option_file(settings)?)
            .map_err(|error| failed("write the private server's option file", error))?;
        Ok(Private {
            process: None,
            spec: ServerSpec::new(&programs.server, folders.log()),
            programs,
            settings: settings.clone(),
            log_from_bytes: 0,
            user,
            folders: Some(folders),
        })
    }

    /// Starts the server on restored data.
    ///
    /// # Errors
    /// It does not start: its log's words.
    pub(super) fn start_restored(&mut self) -> Result<Endpoint, Failure> {
        let user = self.user.clone();
        self.start_on_socket(user.as_ref())
    }

    /// The folders of the server's own programs.
    pub(super) fn bin_dirs(&self) -> Vec<PathBuf> {
        let own = self.programs.server.parent().map(Path::to_path_buf);
        let base = self.programs.base.iter().map(|base| base.join("bin"));
        own.into_iter().chain(base).collect()
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

    fn start_on_socket(&mut self, user: Option<&User>) -> Result<Endpoint, Failure> {
        let place = Place::Socket(self.folders()?.socket());
        let endpoint = Endpoint::new(Address::private(place, ROOT, None))?;
        self.spec = self.spec_with(&["--skip-networking".to_owned()], user)?;
        self.spawn_and_wait(&endpoint, &[])?;
        Ok(endpoint)
    }

    fn start_on_port(&mut self, user: Option<&User>, listen: Option<&str>) -> Result<Endpoint, Failure> {
        let host = listen.unwrap_or(LOOPBACK);
        let password = random_password();
        let first_words = self.folders()?.first_words();
        // Whoever knows the password, which lives as long as the server, may come from another host.
        let from = if listen.is_some() { "%" } else { LOOPBACK };
        write_first_words(&first_words, from, &password, user)?;
        let mut attempt = 1;
        loop {
            let port = free_port_at(host)?;
            let place = Place::Tcp { host: host.to_owned(), port };
            let endpoint = Endpoint::new(Address::private(place, ACCOUNT, Some(&password)))?;
            let own = ["--skip-networking=0".to_owned(), format!("--bind-address={host}"), format!("--port={port}")];
            self.spec = self.spec_with(&own, user)?;
            let init = format!("--init-file={}", first_words.display());
            match self.spawn_and_wait(&endpoint, &[init]) {
                Ok(()) => {
                    fs::remove_file(&first_words).map_err(|error| failed("remove the first password", error))?;
                    return Ok(endpoint);
                }
                // Another program took the port after it was found free.
                Err(failure) if failure.cause.contains("in use") && attempt < PORT_ATTEMPTS => attempt += 1,
                Err(failure) => return Err(failure),
            }
        }
    }

    fn folders(&self) -> Result<&Folders, Failure> {
        self.folders.as_ref().ok_or_else(|| failed("use the private server", "it has been removed"))
    }

    fn spec_with(&self, own: &[String], user: Option<&User>) -> Result<ServerSpec, Failure> {
        let folders = self.folders()?;
        let path = |name: &str, path: PathBuf| format!("--{name}={}", path.display());
        let mut args = vec![
            path("defaults-file", folders.options()),
            path("datadir", folders.data()),
            path("tmpdir", folders.temporary()),
            path("socket", folders.socket()),
            path("pid-file", folders.data().join("server.pid")),
            "--skip-name-resolve".to_owned(),
        ];
        if self.programs.installer == Installer::Server {
            // Its X protocol would listen on a port of its own.
            args.push("--mysqlx=OFF".to_owned());
        }
        args.extend(self.programs.base.iter().map(|base| path("basedir", base.clone())));
        if keys::are_wanted(&self.settings) {
            args.push(path(keys::SETTING, folders.keys()));
        }
        let mut spec = ServerSpec::new(&self.programs.server, folders.log())
            .args(args)
            .args(own)
            .working_dir(folders.data())
            .in_scratch(&folders.scratch)
            .end_signal(StopSignal::Kill);
        spec = VARIABLES.iter().fold(spec, |spec, name| spec.without_env(*name));
        Ok(match user {
            Some(user) => spec.run_as(user.clone()),
            None => spec,
        })
    }

    /// Starts the server, this time with `more` arguments, and waits until it answers.
    fn spawn_and_wait(&mut self, endpoint: &Endpoint, more: &[String]) -> Result<(), Failure> {
        let started = Instant::now();
        self.log_from_bytes = log_length(&self.spec.log);
        let spec = self.spec.clone().args(more);
        let mut process = ServerProcess::spawn(spec).map_err(|error| failed("start the private server", error))?;
        loop {
            let ended = process.has_ended().map_err(|error| failed("watch the private server", error))?;
            if ended.is_some() {
                return Err(self.explain_log(&log_since(&self.spec.log, self.log_from_bytes)));
            }
            match endpoint.connect(Purpose::Control) {
                Ok(client) => {
                    client.close();
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
        let named = |before: &str| {
            let rest = log.split_once(before).map(|(_, rest)| rest)?;
            rest.split(['\'', '=']).next().map(|name| session::plain(name.trim_start_matches('-')))
        };
        if let Some(name) = named("unknown variable '").or_else(|| named("unknown option '")) {
            let value = self.settings.iter().find(|(known, _)| session::plain(known) == name);
            let value = value.map(|(_, value)| session::text_of(value)).unwrap_or_default();
            return session::unknown(&name, &value, self.programs.setting_names().iter().map(String::as_str));
        }
        let cause = last_words(log);
        if is_full(log) {
            return Failure::new(FailureKind::DiskFull, tried, cause).hint(FULL_HINT);
        }
        if log.contains("Cannot allocate memory") || log.contains("Out of memory") {
            return Failure::new(FailureKind::Other, tried, cause)
                .hint("ask for less memory: `innodb_buffer_pool_size` in the system's `settings`");
        }
        let said = session::plain(log);
        if self.settings.keys().any(|name| said.contains(&session::plain(name))) {
            return Failure::new(FailureKind::Plan, tried, cause).hint("correct the system's `settings` in the plan");
        }
        Failure::new(FailureKind::Other, tried, cause)
    }

    /// A lost connection, with what the server's log has to say of it.
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
        self.spawn_and_wait(endpoint, &[])
    }

    /// Ends the server in order, gives up what the operating system has cached of its files, and starts it again without
    /// the pages that it had in its buffer pool.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`] where the operating system does not give up its cache; the server runs again.
    pub(super) fn restart_cold(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let data = self.folders()?.data();
        if let Some(mut process) = self.process.take() {
            let stopped = process.stop(StopSignal::Terminate, RESTART_PATIENCE);
            stopped.map_err(|error| failed("stop the private server", error))?;
        }
        let evicted = host::disk::evict_tree(&data);
        self.spawn_and_wait(endpoint, &["--innodb-buffer-pool-load-at-startup=OFF".to_owned()])?;
        evicted.map_err(|error| Failure::new(FailureKind::Unsupported, "empty the caches", error))
    }

    /// CPU seconds of the server.
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
        facts.identity("server.made_by", format!("étalon: {}", self.programs.made_by()));
        facts.passing("server.programs", self.programs.server.display().to_string());
    }

    /// Ends the server and removes its folder.
    ///
    /// # Errors
    /// It does not end, or its folder cannot be removed.
    pub(super) fn remove(&mut self) -> Result<(), Failure> {
        if let Some(mut process) = self.process.take() {
            // Without the checkpoint of an orderly end: the data is thrown away.
            let stopped = process.stop(StopSignal::Kill, STOP_PATIENCE);
            stopped.map_err(|error| failed("stop the private server", error))?;
        }
        let Some(folders) = self.folders.take() else { return Ok(()) };
        for scratch in folders.socket.into_iter().chain([folders.scratch]) {
            scratch.remove().map_err(|error| failed("remove the private server", error))?;
        }
        Ok(())
    }
}

fn refuse_own_settings(settings: &BTreeMap<String, Value>) -> Result<(), Failure> {
    for (name, value) in settings {
        let (name, value) = (session::plain(name), session::text_of(value));
        let tried = session::tried(&name, &value);
        if OWN_SETTINGS.contains(&name.as_str()) {
            let cause = "on a private server étalon sets it itself";
            return Err(Failure::new(FailureKind::Plan, tried, cause).hint("`connect` chooses between socket and TCP"));
        }
        if let Some(why) = session::reserved(&name) {
            return Err(Failure::new(FailureKind::Plan, tried, format!("étalon sets it itself: {why}")));
        }
    }
    Ok(())
}

/// The settings as the server's option file.
fn option_file(settings: &BTreeMap<String, Value>) -> Result<String, Failure> {
    let mut text = "[mysqld]\n".to_owned();
    for (name, value) in settings {
        let value = session::text_of(value);
        if name.contains(['\n', '=', '[', '#', ' ']) || value.contains('\n') {
            let cause = "an option file takes it neither as a name nor as a value";
            return Err(Failure::new(FailureKind::Plan, session::tried(name, &value), cause));
        }
        // Quotes keep a `#` and blanks; a backslash begins an escape in them.
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text.push_str(&format!("{name} = \"{value}\"\n"));
    }
    Ok(text)
}

/// The server refuses to run as root.
pub(super) fn server_user() -> Result<Option<User>, Failure> {
    if !host::process::is_root() {
        return Ok(None);
    }
    let found = ["mysql", "nobody"].iter().find_map(|name| host::process::user_by_name(name).ok());
    found.map(Some).ok_or_else(|| {
        let cause = "the server refuses to run as root, and there is neither a user `mysql` nor `nobody` to run it as";
        Failure::new(FailureKind::Missing, "start a private server", cause).hint("run étalon as an ordinary user")
    })
}

fn make_folders(base: Option<&Path>, connect: Connect, user: Option<&User>) -> Result<Folders, Failure> {
    let tried = "make a folder for the private server";
    let scratch = Scratch::new("mysql", base).map_err(|error| failed(tried, error))?;
    let mut folders = Folders { scratch, socket: None };
    let is_long = |folders: &Folders| folders.socket().as_os_str().len() > SOCKET_PATH_BYTES;
    // A server on TCP has a socket, too, and does not start without it.
    if is_long(&folders) {
        for base in Scratch::bases() {
            folders.socket = Some(Scratch::new("my", Some(&base)).map_err(|error| failed(tried, error))?);
            if !is_long(&folders) {
                break;
            }
        }
        if is_long(&folders) && connect == Connect::Socket {
            let cause = format!("the path of a socket in {} would be too long", folders.socket_folder().display());
            return Err(Failure::new(FailureKind::Plan, tried, cause).hint("set TMPDIR to a shorter path"));
        }
    }
    for scratch in [Some(&folders.scratch), folders.socket.as_ref()].into_iter().flatten() {
        if user.is_some() {
            scratch.allow_passage().map_err(|error| failed(tried, error))?;
        }
    }
    for folder in [folders.data(), folders.temporary(), folders.socket_folder()] {
        fs::create_dir(&folder).map_err(|error| failed(tried, error))?;
        if let Some(user) = user {
            host::process::chown(&folder, user).map_err(|error| failed(tried, error))?;
        }
        host::identity::close_to_others(&folder).map_err(|error| failed(tried, error))?;
    }
    Ok(folders)
}

/// The settings of the plan that the files are made with, as arguments.
fn shaping(settings: &BTreeMap<String, Value>) -> Vec<String> {
    let shapes = |name: &str| SHAPING.contains(&session::plain(name).as_str());
    let argument = |(name, value): (&String, &Value)| format!("--{}={}", session::plain(name), session::text_of(value));
    settings.iter().filter(|(name, _)| shapes(name)).map(argument).collect()
}

fn initialise(
    programs: &Programs,
    folders: &Folders,
    settings: &BTreeMap<String, Value>,
    user: Option<&User>,
) -> Result<(), Failure> {
    let tried = "initialise a private server";
    let log = folders.scratch.path().join("install.log");
    let program = match &programs.installer {
        Installer::Script(script) => script,
        Installer::Server => &programs.server,
    };
    let mut spec = ServerSpec::new(program, &log)
        .args(["--no-defaults".to_owned(), format!("--datadir={}", folders.data().display())])
        .args(programs.base.iter().map(|base| format!("--basedir={}", base.display())))
        .args(shaping(settings))
        .working_dir(folders.data())
        .in_scratch(&folders.scratch);
    spec = match &programs.installer {
        Installer::Script(_) => spec.args(["--auth-root-authentication-method=normal", "--skip-test-db"]),
        Installer::Server => spec.args(["--initialize-insecure"]),
    };
    spec = VARIABLES.iter().fold(spec, |spec, name| spec.without_env(*name));
    spec = spec.env("TMPDIR", folders.temporary());
    if let Some(user) = user {
        spec = spec.run_as(user.clone());
    }
    let started = Instant::now();
    let mut process = ServerProcess::spawn(spec).map_err(|error| failed(tried, error))?;
    loop {
        match process.has_ended().map_err(|error| failed(tried, error))? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => {
                let log = process.log_tail(60);
                return Err(match is_full(&log) {
                    true => Failure::new(FailureKind::DiskFull, tried, last_words(&log)).hint(FULL_HINT),
                    false => failed(tried, last_words(&log)),
                });
            }
            None if started.elapsed() > START_PATIENCE => {
                return Err(failed(tried, format!("it did not end within {} s", START_PATIENCE.as_secs())));
            }
            None => thread::sleep(START_POLL),
        }
    }
}

/// An account with a password for TCP, and no other way in by it. Each statement is a line.
fn write_first_words(file: &Path, from: &str, password: &str, user: Option<&User>) -> Result<(), Failure> {
    let account = format!("'{ACCOUNT}'@'{from}'");
    let text = format!(
        "DROP USER IF EXISTS '{ROOT}'@'127.0.0.1';\nDROP USER IF EXISTS '{ROOT}'@'::1';\n\
         CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO {account} WITH GRANT OPTION;\n"
    );
    let tried = "write the private server's first password";
    fs::write(file, text).map_err(|error| failed(tried, error))?;
    match user {
        Some(user) => host::process::chown(file, user).map_err(|error| failed(tried, error)),
        None => Ok(()),
    }
}

/// Whether a log speaks of a full device.
fn is_full(log: &str) -> bool {
    ["No space left", "Errcode: 28", "errno: 28", "error number 28", "Disk is full", "Disk full"]
        .iter()
        .any(|words| log.contains(words))
}

/// The lines of a log that say why; its last ones, if none does.
fn last_words(log: &str) -> String {
    // What follows from the reason.
    const NOISE: [&str; 4] =
        ["Aborting", "Plugin 'FEEDBACK'", "registration as a STORAGE ENGINE failed", "mysql.plugin"];
    let telling: Vec<&str> = log
        .lines()
        .filter(|line| !NOISE.iter().any(|noise| line.contains(noise)))
        .filter_map(|line| line.find("[ERROR]").map(|at| line[at + "[ERROR]".len()..].trim()))
        .collect();
    let lines: Vec<&str> =
        if telling.is_empty() { log.lines().map(str::trim).filter(|line| !line.is_empty()).collect() } else { telling };
    let last = &lines[lines.len().saturating_sub(5)..];
    if last.is_empty() { "it ended without a word in its log".to_owned() } else { last.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_an_option_file() {
        let settings = BTreeMap::from([
            ("innodb_doublewrite".to_owned(), Value::Bool(false)),
            ("sql_mode".to_owned(), Value::Text("A # \"b\\".to_owned())),
        ]);
        let expected = "[mysqld]\ninnodb_doublewrite = \"OFF\"\nsql_mode = \"A # \\\"b\\\\\"\n";
        assert_eq!(option_file(&settings).unwrap(), expected);
        let broken = BTreeMap::from([("a".to_owned(), Value::Text("b\nskip-grant-tables".to_owned()))]);
        assert_eq!(option_file(&broken).unwrap_err().kind, FailureKind::Plan);
    }

    #[test]
    fn the_reason_is_found_in_a_log() {
        let log = "2026-01-01  8:50:19 0 [Note] starting\n2026-01-01  8:50:19 0 [ERROR] mariadbd: unknown variable 'x=1'\n\
                   2026-01-01  8:50:19 0 [ERROR] Aborting\n";
        assert_eq!(last_words(log), "mariadbd: unknown variable 'x=1'");
        assert_eq!(last_words(""), "it ended without a word in its log");
    }
}
