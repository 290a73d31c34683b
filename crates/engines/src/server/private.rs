//! Common parts of private servers: folders and process.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::HostError;
use host::copy::Blocks;
use host::process::{Bounds, Ended, Limit, LimitTarget, ServerProcess, ServerSpec, StopSignal, User};
use host::scratch::Scratch;
use model::plan::PrivateServer;
use model::{Facts, SystemPlan};

use load::error::{Failure, FailureKind};
use workloads::system::{CpuHold, OpenRequest, OsIo};

/// Polling interval at start.
const START_POLL: Duration = Duration::from_millis(20);
/// Time between attempts to start.
const AGAIN_POLL: Duration = Duration::from_millis(200);
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server whose data are thrown away is waited for after an interrupt.
const LAST_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of a clean shutdown, which writes dirty pages.
const RESTART_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of a server whose data are kept: it may have gigabytes to write.
const KEEP_TIMEOUT: Duration = Duration::from_secs(600);
/// Timeout from refusing connections to the end.
const ENDING_TIMEOUT: Duration = Duration::from_secs(5);
const ENDING_POLL: Duration = Duration::from_millis(20);
const PORT_ATTEMPTS: u32 = 5;
/// 103 bytes on macOS, 107 on Linux.
const SOCKET_PATH_BYTES: usize = 103;
/// Searched for the reason.
const LOG_LINES: usize = 60;
/// Advice for a full device under a private server.
const FULL_HINT: &str = "free space on the device that holds the private server, or put it on another: \
                         `server = { engine = …, folder = \"/a/folder\" }`";

const COPY_HINT: &str = "`reset = \"rebuild\"` loads the tables anew for each run, and keeps no copy";
const KILLED_HINT: &str = "if memory ran out, the system's log says so (`dmesg`): give the server less in the system's \
                           `settings`, or run fewer programs beside it";

/// Makes the failure of something that was tried with a private server.
pub(crate) fn server_failure(tried: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, error)
}

/// Gives a file to the server's user, if that is another one.
pub(crate) fn give_to_user(path: &Path, user: Option<&User>) -> Result<(), HostError> {
    user.map_or(Ok(()), |user| host::process::chown(path, user))
}

/// Finds the user that runs a server which refuses to run as root; `None`: étalon's own user.
pub(crate) fn server_user(product: &str, own: &str) -> Result<Option<User>, Failure> {
    if !host::process::is_root() {
        return Ok(None);
    }
    let found = [own, "nobody"].iter().find_map(|name| host::process::user_by_name(name).ok());
    found.map(Some).ok_or_else(|| {
        let cause =
            format!("{product} refuses to run as root, and there is neither a user `{own}` nor `nobody` to run it as");
        Failure::new(FailureKind::Missing, "start a private server", cause).with_hint("run étalon as an ordinary user")
    })
}

/// Returns the folder in which a private server of this system would have its data.
pub(crate) fn data_directory(system: &SystemPlan) -> Option<PathBuf> {
    let server = system.server.as_ref()?;
    if let Some(folder) = &server.folder {
        return Some(PathBuf::from(folder));
    }
    Scratch::base_folders().into_iter().find(|base| !host::disk::is_memory_backed(base).unwrap_or(false))
}

/// Returns the folder in which a private server's data are to be made, if the plan may use it; `None`: the usual one.
pub(crate) fn private_data_base(server: &PrivateServer, request: &OpenRequest<'_>) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = &server.folder else { return Ok(request.scratch_base.clone()) };
    let folder = request.permits.check_path(Path::new(folder))?;
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    let tried = format!("make a private server's data in {}", folder.display());
    Err(Failure::new(FailureKind::Plan, tried, "there is no such folder")
        .with_hint("make it, or name another as `folder`"))
}

#[derive(Clone, Copy)]
pub(crate) struct ServerLogWords {
    pub(crate) is_full: fn(&str) -> bool,
    /// Lines with the reason, else the last ones; empty where there are none.
    pub(crate) last: fn(&str) -> String,
    /// A predecessor's leftovers still prevent the start.
    pub(crate) lingers: fn(&str) -> bool,
}

impl ServerLogWords {
    /// Makes the failure of a start from what the server's log says.
    pub(crate) fn explain_log(self, tried: &str, log: &str) -> Failure {
        let cause = (self.last)(log);
        if (self.is_full)(log) {
            return Failure::new(FailureKind::DiskFull, tried, cause).with_hint(FULL_HINT);
        }
        Failure { kind: kind_by_log(log), ..server_failure(tried, cause) }
    }
}

/// Tells from a server's log whether another program had its port.
pub(crate) fn kind_by_log(log: &str) -> FailureKind {
    if log.contains("in use") { FailureKind::PortTaken } else { FailureKind::Other }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketUse {
    None,
    /// It has one, but no clients use it.
    Unused,
    Clients,
}

/// Requirements for a server's folders.
pub(crate) struct FolderRequirements<'a> {
    /// Full and short.
    pub(crate) names: (&'static str, &'static str),
    /// Parent folder; `None`: the best there is.
    pub(crate) base: Option<&'a Path>,
    /// Owner; `None`: étalon's own user.
    pub(crate) user: Option<&'a User>,
    pub(crate) socket: SocketUse,
    pub(crate) socket_name: &'static str,
    /// Hint for paths too long for a socket.
    pub(crate) too_long: &'static str,
    pub(crate) more: &'a [&'static str],
}

pub(crate) struct Folders {
    scratch: Scratch,
    /// Folder of the socket, where the scratch folder's path is too long.
    socket: Option<Scratch>,
}

impl Folders {
    /// Makes empty folders that are private to the server, for its data, its socket and more.
    pub(crate) fn make_folders(required: &FolderRequirements<'_>) -> Result<Folders, Failure> {
        let tried = "make a folder for the private server";
        let scratch = Scratch::new(required.names.0, required.base).map_err(|error| server_failure(tried, error))?;
        let mut folders = Folders { scratch, socket: None };
        if required.socket != SocketUse::None && folders.is_too_long_for(required.socket_name) {
            for base in Scratch::base_folders() {
                folders.socket =
                    Some(Scratch::new(required.names.1, Some(&base)).map_err(|error| server_failure(tried, error))?);
                if !folders.is_too_long_for(required.socket_name) {
                    break;
                }
            }
            if required.socket == SocketUse::Clients && folders.is_too_long_for(required.socket_name) {
                let cause = format!("the path of a socket in {} would be too long", folders.socket_folder().display());
                return Err(Failure::new(FailureKind::Plan, tried, cause).with_hint(required.too_long));
            }
        }
        for scratch in [Some(&folders.scratch), folders.socket.as_ref()].into_iter().flatten() {
            if required.user.is_some() {
                scratch.allow_passage().map_err(|error| server_failure(tried, error))?;
            }
        }
        let more = required.more.iter().map(|name| folders.scratch_path(name));
        for folder in [folders.data_folder(), folders.socket_folder()].into_iter().chain(more) {
            fs::create_dir(&folder).map_err(|error| server_failure(tried, error))?;
            give_to_user(&folder, required.user).map_err(|error| server_failure(tried, error))?;
            host::identity::close_to_others(&folder).map_err(|error| server_failure(tried, error))?;
        }
        Ok(folders)
    }

    /// Path of the server's data.
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.scratch_path("data")
    }

    /// Path of the folder in which the server's socket lies.
    pub(crate) fn socket_folder(&self) -> PathBuf {
        self.socket.as_ref().unwrap_or(&self.scratch).path().join("s")
    }

    /// Makes a path in the server's scratch folder.
    pub(crate) fn scratch_path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Makes a path in the socket's folder.
    pub(crate) fn next_to_socket(&self, name: &str) -> PathBuf {
        self.socket_folder().join(name)
    }

    /// Tests whether the path of a socket of this name would be too long.
    fn is_too_long_for(&self, socket_name: &str) -> bool {
        self.next_to_socket(socket_name).as_os_str().len() > SOCKET_PATH_BYTES
    }

    /// Path of the server's log.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.scratch_path("server.log")
    }

    /// Describes how to run a program in the data folder, with a log of its own.
    pub(crate) fn program_spec(&self, program: impl Into<PathBuf>, log: PathBuf) -> ServerSpec {
        ServerSpec::new(program, log).in_folder(self.data_folder()).in_scratch(&self.scratch)
    }
}

/// Has a program run as the server's user, without these environment variables.
pub(crate) fn without_variables(spec: ServerSpec, variables: &[&str], user: Option<&User>) -> ServerSpec {
    let spec = variables.iter().fold(spec, |spec, name| spec.without_env(*name));
    match user {
        Some(user) => spec.run_as(user.clone()),
        None => spec,
    }
}

/// Asks a server program for its release, as in `15.14`.
pub(crate) fn read_program_release(program: &Path, arguments: &[&str]) -> Option<String> {
    let answer = host::answers::ask_program(program, arguments)?;
    let word = answer.stdout.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let number = word.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    Some(number.trim_end_matches('.').to_owned())
}

/// Calls `start` with a free port, and again with another one if a process takes that first.
pub(crate) fn start_on_free_port<T>(
    host: &str,
    mut start: impl FnMut(u16) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut attempt = 1;
    loop {
        let bound = TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr());
        let port = bound.map_err(|error| server_failure("find a free port", error))?.port();
        match start(port) {
            Err(failure) if failure.kind == FailureKind::PortTaken && attempt < PORT_ATTEMPTS => attempt += 1,
            other => return other,
        }
    }
}

/// Runs an installation program to its end; fails if it fails or takes too long.
pub(crate) fn run_installer(name: &str, spec: ServerSpec, habits: Habits) -> Result<(), Failure> {
    let Habits { words, timeout, .. } = habits;
    let tried = "initialise a private server";
    let started = Instant::now();
    let mut process = ServerProcess::spawn(spec).map_err(|error| server_failure(tried, error))?;
    loop {
        match process.has_ended().map_err(|error| server_failure(tried, error))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(end_failure(status, words.explain_log(tried, &process.log_tail(LOG_LINES)))),
            None if started.elapsed() > timeout => {
                return Err(server_failure(tried, format!("{name} did not end within {} s", timeout.as_secs())));
            }
            None => thread::sleep(START_POLL),
        }
    }
}

/// A private server's process and folders. Dropping it stops the server and removes the folders.
pub(crate) struct Running {
    // Dropped before its folders.
    process: Option<ServerProcess>,
    log: PathBuf,
    words: ServerLogWords,
    /// Log length at the last start.
    log_from_bytes: u64,
    user: Option<User>,
    folders: Option<Folders>,
}

impl Running {
    /// Makes a private server that has not been started yet.
    pub(crate) fn new(folders: Folders, user: Option<User>, words: ServerLogWords) -> Running {
        Running { process: None, log: folders.log_path(), words, log_from_bytes: 0, user, folders: Some(folders) }
    }

    /// Returns the server's folders, or fails if they have been removed.
    pub(crate) fn folders(&self) -> Result<&Folders, Failure> {
        self.folders.as_ref().ok_or_else(|| server_failure("use the private server", "it has been removed"))
    }

    /// Returns the user that the server runs as; `None`: étalon's own user.
    pub(crate) fn server_user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn signal(&mut self, signal: StopSignal) {
        self.process.as_mut().unwrap().send_signal(signal).unwrap();
    }

    /// Number of the server's process; `None` once it was stopped.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ServerProcess::pid)
    }

    /// Returns the server's process, or fails once it was stopped.
    fn running_process(&self) -> Result<&ServerProcess, String> {
        self.process.as_ref().ok_or_else(|| "the private server has been stopped".to_owned())
    }

    /// Starts the server, and waits until `connect` succeeds. `explain` turns its log into a failure.
    pub(crate) fn start_and_wait(
        &mut self,
        spec: &ServerSpec,
        timeout: Duration,
        connect: impl Fn() -> Result<(), Failure>,
        explain: impl Fn(&str) -> Failure,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let mut process = self.spawn_process(spec)?;
        loop {
            if let Some(status) =
                process.has_ended().map_err(|error| server_failure("watch the private server", error))?
            {
                let log = self.log_since_start();
                if !(self.words.lingers)(&log) || started.elapsed() > timeout {
                    return Err(end_failure(status, explain(&log)));
                }
                thread::sleep(AGAIN_POLL);
                process = self.spawn_process(spec)?;
            }
            match connect() {
                Ok(()) => {
                    self.process = Some(process);
                    return Ok(());
                }
                Err(failure) if started.elapsed() > timeout || failure.kind == FailureKind::Interrupted => {
                    return Err(failure);
                }
                Err(_) => thread::sleep(START_POLL),
            }
        }
    }

    /// Starts the server's process, and notes where its log begins.
    fn spawn_process(&mut self, spec: &ServerSpec) -> Result<ServerProcess, Failure> {
        self.process = None;
        self.log_from_bytes = fs::metadata(&self.log).map(|metadata| metadata.len()).unwrap_or_default();
        ServerProcess::spawn(spec.clone()).map_err(|error| server_failure("start the private server", error))
    }

    /// Reads what the server has logged since the last start.
    fn log_since_start(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(self.log_from_bytes as usize..).unwrap_or_default()).into_owned()
    }

    /// Tests whether the server's process runs; fails if the server has been removed.
    pub(crate) fn is_running(&mut self) -> Result<bool, Failure> {
        self.folders()?;
        match &mut self.process {
            Some(process) => {
                Ok(process.has_ended().map_err(|error| server_failure("watch the private server", error))?.is_none())
            }
            None => Ok(false),
        }
    }

    /// Stops the server by a signal, and kills it after the timeout.
    pub(crate) fn stop_server(&mut self, signal: StopSignal, timeout: Duration) -> Result<(), Failure> {
        self.stop_and_report(signal, timeout).map(drop)
    }

    /// Stops the server, and returns how it ended. `None`: it did not run.
    fn stop_and_report(&mut self, signal: StopSignal, timeout: Duration) -> Result<Option<Ended>, Failure> {
        let Some(mut process) = self.process.take() else { return Ok(None) };
        process.stop(signal, timeout).map(Some).map_err(|error| server_failure("stop the private server", error))
    }

    /// Stops the server by a signal, and removes its folders.
    pub(crate) fn remove_server(&mut self, signal: StopSignal, timeout: Duration) -> Result<(), Failure> {
        self.stop_server(signal, timeout)?;
        let Some(folders) = self.folders.take() else { return Ok(()) };
        for scratch in folders.socket.into_iter().chain([folders.scratch]) {
            scratch.remove().map_err(|error| server_failure("remove the private server", error))?;
        }
        Ok(())
    }

    /// Adds to a failure what the server's log says: one on a full device ends.
    pub(crate) fn add_log_to_failure(&mut self, mut failure: Failure) -> Failure {
        let log = self.log_since_start();
        if (self.words.is_full)(&log) {
            return self.words.explain_log(&failure.tried, &log);
        }
        let ended = self.process.as_mut().and_then(|process| process.has_ended().ok().flatten());
        // Replaces advice for foreign servers.
        failure.hint = Some(match (ended, (self.words.last)(&log)) {
            (Some(status), logged) => format!("étalon's private server {}", describe_end(status, &logged)),
            (None, logged) if logged.is_empty() => "étalon's private server has logged nothing".to_owned(),
            (None, logged) => format!("étalon's private server logged at last: {logged}"),
        });
        failure
    }

    /// Reads the CPU time that the server's process has used, in seconds.
    pub(crate) fn cpu_s(&self) -> Result<f64, String> {
        self.running_process()?.cpu().map(|cpu| cpu.as_secs_f64())
    }

    /// Reads the server's I/O, as the operating system counts it.
    pub(crate) fn os_io(&self) -> Result<OsIo, String> {
        let process = self.running_process()?;
        let folder = self.folders().map_err(|failure| failure.to_string())?.data_folder();
        Ok(OsIo::new(process.io()?, &folder))
    }
}

/// What engines' private servers differ in.
pub(crate) trait Recipe: Sized + Send + 'static {
    type Endpoint;

    /// Settings by whose paths it has data outside of its data folder.
    const ELSEWHERE: &'static [&'static str] = &[];

    /// Starts a private server, and returns it with its endpoint once it answers; fails with the log's words.
    fn start_server(
        server: &PrivateServer,
        request: &OpenRequest<'_>,
    ) -> Result<(Private<Self>, Self::Endpoint), Failure>;

    /// Returns how this engine's servers start and stop.
    fn habits(&self) -> Habits;

    /// Fails unless the server lets a client in.
    fn try_login(&self, endpoint: &Self::Endpoint) -> Result<(), Failure>;

    /// Lists settings of a started server beyond its `arguments` and what its installation made in `data`.
    fn unplanned_settings(
        &self,
        endpoint: &Self::Endpoint,
        data: &Path,
        arguments: &[OsString],
    ) -> Result<Vec<String>, Failure>;

    /// Starts what stands in front of the running server, such as a pooler.
    fn start_front(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Ends what [`Recipe::start_front`] started, before the folders are removed.
    fn stop_front(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes the failure of a start from what the server's log says.
    fn explain_log(&self, log: &str) -> Failure;

    /// Adds facts of what the recipe starts besides the server.
    fn add_facts(&self, facts: &mut Facts);
}

/// How an engine's servers start and end.
#[derive(Clone, Copy)]
pub(crate) struct Habits {
    /// Words of the servers' logs.
    pub(crate) words: ServerLogWords,
    /// Timeout of the installation, and of a server's answer after crash recovery.
    pub(crate) timeout: Duration,
    /// Ends one in order.
    pub(crate) stop: StopSignal,
    /// Ends one whose data are thrown away.
    pub(crate) end: StopSignal,
    /// Arguments of a start without what it remembers of its caches.
    pub(crate) cold: &'static [&'static str],
}

/// A private server. Dropping it stops it and removes its folder.
pub(crate) struct Private<R> {
    pub(crate) running: Running,
    pub(crate) spec: ServerSpec,
    pub(crate) recipe: R,
    /// What the data folder is to be made of before the next start.
    wanted: Option<(PathBuf, Blocks)>,
    /// Breaks a copy off.
    pub(super) interrupt: Arc<AtomicBool>,
}

impl<R: Recipe> Private<R> {
    /// Makes a private server that has not been started yet.
    pub(crate) fn new(recipe: R, program: PathBuf, folders: Folders, user: Option<User>) -> Private<R> {
        let spec = ServerSpec::new(program, folders.log_path());
        Private {
            running: Running::new(folders, user, recipe.habits().words),
            spec,
            recipe,
            wanted: None,
            interrupt: Arc::default(),
        }
    }

    /// Owner of the data folder; `None`: étalon's own user.
    pub(crate) fn user(&self) -> Option<&User> {
        self.running.server_user()
    }

    /// Path of the server's data; fails once the server has been removed.
    pub(crate) fn data_folder(&self) -> Result<PathBuf, Failure> {
        Ok(self.running.folders()?.data_folder())
    }

    /// Starts the server with `more` arguments this time, on the copy of data that was asked for.
    pub(crate) fn spawn_and_wait(&mut self, endpoint: &R::Endpoint, more: &[String]) -> Result<(), Failure> {
        self.copy_data_back()?;
        let (spec, recipe) = (self.spec.clone().with_args(more), &self.recipe);
        let (connect, explain) = (|| recipe.try_login(endpoint), |log: &str| recipe.explain_log(log));
        self.running.start_and_wait(&spec, recipe.habits().timeout, connect, explain)?;
        self.refuse_unplanned_settings(endpoint, &spec.args)?;
        self.recipe.start_front()
    }

    /// Stops a started server and fails, if it has settings that neither the plan nor étalon gave it.
    fn refuse_unplanned_settings(&mut self, endpoint: &R::Endpoint, arguments: &[OsString]) -> Result<(), Failure> {
        let strays = self.recipe.unplanned_settings(endpoint, &self.data_folder()?, arguments)?;
        if strays.is_empty() {
            return Ok(());
        }
        self.running.stop_server(self.recipe.habits().end, STOP_TIMEOUT)?;
        let cause = format!("it has settings that neither the plan nor étalon gave it: {}", strays.join(", "));
        Err(Failure::new(FailureKind::Plan, "start the private server", cause)
            .with_hint("write what the server is to have into the system's `settings`"))
    }

    /// Starts the server on the same data, if it has ended.
    pub(crate) fn start_if_ended(&mut self, endpoint: &R::Endpoint) -> Result<(), Failure> {
        if self.running.is_running()? { self.recipe.start_front() } else { self.spawn_and_wait(endpoint, &[]) }
    }

    /// Stops the server in order, and starts it on the same data with the same settings.
    pub(crate) fn restart_server(&mut self, endpoint: &R::Endpoint) -> Result<(), Failure> {
        self.running.folders()?;
        self.running.stop_server(self.recipe.habits().stop, RESTART_TIMEOUT)?;
        self.spawn_and_wait(endpoint, &[])
    }

    /// Stops the server, drops its files from the operating system's cache, and starts it again.
    /// Where the cache cannot be dropped, the server runs again, and it fails with [`FailureKind::Unsupported`].
    pub(crate) fn restart_cold(&mut self, endpoint: &R::Endpoint) -> Result<(), Failure> {
        let data = self.data_folder()?;
        self.running.stop_server(self.recipe.habits().stop, RESTART_TIMEOUT)?;
        let evicted = evict_from_cache(&data);
        self.spawn_cold(endpoint)?;
        evicted
    }

    /// Starts the server without what it remembers of its caches.
    fn spawn_cold(&mut self, endpoint: &R::Endpoint) -> Result<(), Failure> {
        let cold: Vec<String> = self.recipe.habits().cold.iter().map(|&argument| argument.to_owned()).collect();
        self.spawn_and_wait(endpoint, &cold)
    }

    /// Makes the path of a kept copy of the server's data, by number.
    pub(crate) fn copy_folder(&self, number: usize) -> Result<PathBuf, Failure> {
        Ok(self.running.folders()?.scratch_path(&format!("kept-{number}")))
    }

    /// Stops the server in order, and moves its data to `kept`. It runs again after [`Private::bring_back`].
    pub(crate) fn stop_and_keep_data(&mut self, kept: &Path) -> Result<(), Failure> {
        let (data, tried) = (self.data_folder()?, "keep the loaded data");
        match self.running.stop_and_report(self.recipe.habits().stop, KEEP_TIMEOUT)? {
            Some(Ended::Killed(_)) => {
                let cause = format!("the server did not end within {} s, and was killed", KEEP_TIMEOUT.as_secs());
                return Err(server_failure(tried, cause));
            }
            // Its data would have to be recovered in each start on a copy of them.
            Some(Ended::AsAsked(status)) if status.code().is_none() => {
                let logged = (self.running.words.last)(&self.running.log_since_start());
                return Err(end_failure(status, server_failure(tried, logged)));
            }
            Some(Ended::AsAsked(_)) | None => {}
        }
        fs::rename(&data, kept).map_err(|error| server_failure(tried, error))
    }

    /// Starts the server on a copy of the kept data, in place of what it has; the next start tries it again.
    pub(crate) fn bring_back(&mut self, endpoint: &R::Endpoint, kept: &Path, blocks: Blocks) -> Result<(), Failure> {
        // Its data are thrown away.
        self.running.stop_server(self.recipe.habits().end, STOP_TIMEOUT)?;
        self.wanted = Some((kept.to_owned(), blocks));
        self.spawn_cold(endpoint).map_err(|failure| match self.wanted {
            None => Failure {
                tried: format!("{} on a copy of the loaded data", failure.tried),
                hint: failure.hint.or_else(|| Some(COPY_HINT.to_owned())),
                ..failure
            },
            Some(_) => failure,
        })
    }

    /// Replaces the server's data by the copy that was asked for, if any.
    fn copy_data_back(&mut self) -> Result<(), Failure> {
        let Some((kept, blocks)) = self.wanted.clone() else { return Ok(()) };
        let data = self.data_folder()?;
        let tried = "copy the data that are kept for the private server";
        match fs::remove_dir_all(&data) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Failure::from_io(tried, &error)),
            _ => {}
        }
        let stop = || self.interrupt.load(Ordering::Relaxed);
        let copied = host::copy::copy_tree(&kept, &data, blocks, &stop);
        // What shares its blocks is in no cache yet, while a copy is as far as it fits.
        let copied = copied
            .and_then(|copied| if copied.shares_blocks { host::copy::read_through(&data, &stop) } else { Ok(()) });
        copied.map_err(|error| {
            // Others may need the space; the next start tries again.
            let _ = fs::remove_dir_all(&data);
            match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Failure::new(FailureKind::DiskFull, tried, error)
                        .with_hint(format!("{FULL_HINT}, or write `reset = \"rebuild\"`, which keeps no copy"))
                }
                _ => server_failure(tried, error),
            }
        })?;
        self.wanted = None;
        Ok(())
    }

    /// Ends the server and removes its folders.
    pub(crate) fn remove_server(&mut self) -> Result<(), Failure> {
        self.recipe.stop_front()?;
        let timeout = if self.interrupt.load(Ordering::Relaxed) { LAST_TIMEOUT } else { STOP_TIMEOUT };
        self.running.remove_server(self.recipe.habits().end, timeout)
    }
}

/// Says how the server ended, with the end of its log.
fn describe_end(status: ExitStatus, logged: &str) -> String {
    let end = if host::process::was_killed(status) { "was killed" } else { "ended" };
    if logged.is_empty() {
        format!("{end} ({status}), and has logged nothing")
    } else {
        format!("{end} ({status}), having logged at last: {logged}")
    }
}

/// Makes the failure of a start that ended with this status, from what was logged.
/// A server that was killed has no reason in its log, and may well start the next time.
fn end_failure(status: ExitStatus, logged: Failure) -> Failure {
    if status.code().is_some() && !logged.cause.is_empty() {
        return logged;
    }
    let ended = Failure { cause: format!("it {}", describe_end(status, &logged.cause)), ..logged };
    if !host::process::was_killed(status) || ended.kind == FailureKind::DiskFull {
        return ended;
    }
    Failure { kind: FailureKind::Unreachable, ..ended }.with_hint(KILLED_HINT)
}

/// Starts the server and asks it, again for a while if the failure may pass.
/// A server being killed refuses connections before its process has ended.
pub(crate) fn ask_or_restart<T>(
    start: impl Fn() -> Result<(), Failure>,
    ask: impl Fn() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        start()?;
        match ask() {
            Err(failure) if failure.may_pass() && started.elapsed() < ENDING_TIMEOUT => thread::sleep(ENDING_POLL),
            other => return other.map(|_| ()),
        }
    }
}

/// Limits a server's processes to this number of cores until the value is dropped; fails without a pid.
pub(crate) fn limit_cpu(pid: Option<u32>, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
    let tried = format!("hold the server to {cores} cores");
    let Some(pid) = pid else {
        let cause = "étalon can limit only a server that it has started itself";
        return Err(Failure::new(FailureKind::Unsupported, tried, cause));
    };
    let limit = Limit::apply(LimitTarget::Tree(pid), &Bounds::of_cores(cores));
    Ok(Box::new(limit.map_err(|error| Failure::new(FailureKind::Unsupported, tried, error))?))
}

/// Drops a server's files from the operating system's cache, or fails as unsupported.
fn evict_from_cache(data: &Path) -> Result<(), Failure> {
    host::disk::evict_tree(data).map_err(|error| Failure::new(FailureKind::Unsupported, "empty the caches", error))
}

/// Makes the failure that étalon cannot restart a server that it has not started itself.
pub(crate) fn not_restartable_failure() -> Failure {
    let cause = "étalon can restart only a server that it has started itself";
    Failure::new(FailureKind::Unsupported, "empty the caches", cause)
}
