//! The control plane: everything outside the measured path. It may block, and uses ordinary drivers.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use host::disk::{DeviceCounters, ProcIo};
use host::reactor::Choice;
use host::sqlite_vfs::Traffic;
use host::watch::Listener;
use model::plan::PrivateServer;
use model::{EngineSpec, Facts, Reset, SystemPlan};
use serde::{Deserialize, Serialize};

use crate::backup::backups::Backups;
use crate::dataset::{Dataset, Dialect, Tables};
use crate::pages::dialect::PagesDialect;
use crate::permits::Permits;
use crate::session::{Session, SessionKind};
use crate::spatial::dialect::SpatialDialect;
use crate::transactions::Program;
use crate::work::{Load, LoadKind};
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::generator::{ThreadLimit, share_clients};
use load::lock_watch::LockWaiters;
use load::worker::{LoadCounts, WorkerContext};

/// The user's permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consent {
    /// Only étalon's own things.
    OwnOnly,
    /// `--yes`: foreign tables in the way may be dropped.
    DropForeign,
}

#[derive(Clone, Debug)]
pub struct OpenRequest<'a> {
    pub system: &'a SystemPlan,
    pub consent: Consent,
    /// Overrides the folder for private servers.
    pub scratch_base: Option<PathBuf>,
    /// For the clients' I/O.
    pub reactor: Choice,
    /// Whether any load needs étalon's own tables.
    pub tables: Tables,
    /// Block devices whose data the user gave up by name.
    pub forfeited: Vec<PathBuf>,
    /// Stops long preparation.
    pub interrupt: Arc<AtomicBool>,
    /// The report of a system that takes long to load tables.
    pub progress: Arc<LoadProgress>,
    /// Hears what a silent system waits for.
    pub notices: Notices,
    pub part: Part,
    /// Address for a private server's clients on other hosts; default: loopback.
    pub listen: Option<String>,
    pub permits: Permits,
}

/// What étalon's own questions to a system have to say while they are not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// The system waits for something else, or does not say.
    Waits(&'a str),
    /// The system is at work on a long answer.
    Works(&'a str),
}

impl<'a> Notice<'a> {
    /// Text of the notice.
    pub fn text(self) -> &'a str {
        match self {
            Notice::Waits(text) | Notice::Works(text) => text,
        }
    }
}

/// Hears notices, from any thread.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(Notice<'_>) + Send + Sync>);

impl Notices {
    /// Makes notices of the function that hears them.
    pub fn new(hear: impl Fn(Notice<'_>) + Send + Sync + 'static) -> Notices {
        Notices(Arc::new(hear))
    }

    /// Gives a notice to the function that hears it.
    pub fn give(&self, notice: Notice<'_>) {
        (self.0)(notice);
    }
}

impl Default for Notices {
    fn default() -> Notices {
        Notices::new(|_| {})
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notices")
    }
}

/// How far a long load of tables has come; its threads write it, and the display reads it.
#[derive(Debug, Default)]
pub struct LoadProgress {
    done: AtomicU64,
    all: AtomicU64,
}

impl LoadProgress {
    /// Notes that a load begins, of which `done` of `all` rows are there already.
    pub fn begin_load(&self, done: u64, all: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    /// Notes that more rows are there to stay.
    pub fn add_rows(&self, rows: u64) {
        self.done.fetch_add(rows, Ordering::Relaxed);
    }

    /// Notes that the load is over.
    pub fn end_load(&self) {
        self.begin_load(0, 0);
    }

    /// Rows that are there, and that will be; `None` while nothing long is loaded.
    pub fn rows_so_far(&self) -> Option<(u64, u64)> {
        let all = self.all.load(Ordering::Relaxed);
        (all > 0).then(|| (self.done.load(Ordering::Relaxed), all))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// Prepare, count and remove.
    #[default]
    Whole,
    /// Only load: nothing is claimed, made or removed.
    Load,
}

impl<'a> OpenRequest<'a> {
    /// Makes a request with everything but system and consent at its default.
    pub fn new(system: &'a SystemPlan, consent: Consent) -> OpenRequest<'a> {
        OpenRequest {
            system,
            consent,
            scratch_base: None,
            reactor: Choice::Auto,
            tables: Tables::Own,
            forfeited: Vec::new(),
            interrupt: Arc::default(),
            progress: Arc::default(),
            notices: Notices::default(),
            part: Part::Whole,
            listen: None,
            permits: Permits::All,
        }
    }
}

pub trait Engine: Sync {
    /// What plans and lists say of the engine.
    fn spec(&self) -> EngineSpec;

    /// Opens the system that a plan names.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure>;

    /// Says what étalon makes there and removes at the end, to stand after "makes", without connecting; `None` for nothing.
    fn explain_made(&self, system: &SystemPlan) -> Option<String>;

    /// Says what étalon would drop there, for `etalon plan`, without connecting.
    fn explain_dropped(&self, system: &SystemPlan) -> String;

    /// Fails if the system's URL cannot be read, or what the environment adds to it; connects to nothing.
    ///
    /// # Errors
    /// It cannot, or what the environment adds to it.
    fn check_url(&self, _system: &SystemPlan) -> Result<(), Failure> {
        Ok(())
    }

    /// Why nothing can be written to a server that answers, for `etalon plan`: it follows another. `None`: it does not say so.
    ///
    /// Connects, and may take as long as a login does.
    fn why_read_only(&self, _system: &SystemPlan) -> Option<Failure> {
        None
    }

    /// Logs in to look: nothing is claimed, made or set.
    ///
    /// # Errors
    /// There is no server to log in to, or it refuses.
    fn open_visiting_session(&self, system: &SystemPlan) -> Result<Box<dyn Session>, Failure> {
        let cause = "it has no sessions that only look";
        Err(Failure::new(FailureKind::Unsupported, format!("look at the system `{}`", system.name), cause))
    }

    /// Privileges that make étalon's tables possible, for `etalon plan`; `None` if there are no privileges.
    fn needed_privileges(&self, _system: &SystemPlan) -> Option<String> {
        None
    }

    /// Reads the version of the programs that a private server would be started with.
    ///
    /// # Errors
    /// [`FailureKind::Missing`], with what to install: they are not here, or not of that release.
    fn read_programs_version(&self, server: &PrivateServer) -> Result<String, Failure> {
        let cause = "étalon does not start servers of this engine";
        Err(Failure::new(FailureKind::Unsupported, format!("start a private server of `{}`", server.engine), cause))
    }

    /// Why a private server cannot be started here, and what to install; `None` if it can.
    ///
    /// Starts no program unless a release is asked for.
    fn why_programs_missing(&self, server: &PrivateServer) -> Option<Failure> {
        self.read_programs_version(server).err()
    }

    /// Folder of the server's data, if it is known without connecting.
    fn data_directory(&self, _system: &SystemPlan) -> Option<PathBuf> {
        None
    }

    /// Bytes of the data that are there, if they are known without connecting.
    fn stored_bytes(&self, _system: &SystemPlan) -> Option<u64> {
        None
    }

    /// What a commit promises by the plan's settings, all others at their defaults.
    ///
    /// `None`: only the system itself can say.
    fn durability_of_plan(&self, _system: &SystemPlan) -> Option<model::DurabilityTier> {
        None
    }

    /// Chooses how étalon's own tables come back before each run: as planned, else as is best for their size.
    ///
    /// `None`: it has none.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: the plan asks for what cannot be had there.
    fn choose_reset(&self, system: &SystemPlan, _size_bytes: u64) -> Result<Option<Reset>, Failure> {
        crate::reset::refuse_reset(system.reset).map(|()| None)
    }

    /// How the engine writes SQL, where that is known without connecting and is more than every engine's.
    fn dialect(&self) -> Option<&'static dyn Dialect> {
        None
    }

    /// Whether [`System::empty_caches`] may be had, as far as is known without connecting.
    fn can_empty_caches(&self, _system: &SystemPlan) -> bool {
        false
    }

    /// Why a backup by this method cannot be taken here: the program that is missing; `None` if none is.
    fn why_backup_impossible(&self, _system: &SystemPlan, _method: &str) -> Option<Failure> {
        None
    }
}

/// An engine's I/O by the operating system.
#[derive(Clone, Debug)]
pub struct OsIo {
    /// The I/O of étalon's process for an embedded engine.
    pub processes: ProcIo,
    /// Name and counters of the data's device, for all of its users.
    pub device: Result<(String, DeviceCounters), String>,
}

impl OsIo {
    /// Makes an account of processes' I/O and of the device that holds a folder.
    pub fn new(processes: ProcIo, folder: &Path) -> OsIo {
        OsIo { processes, device: OsIo::device_counters_of(folder) }
    }

    /// Reads name and counters of the device that holds a folder.
    fn device_counters_of(folder: &Path) -> Result<(String, DeviceCounters), String> {
        let filesystem = host::disk::filesystem_of(folder).map_err(|error| error.to_string())?;
        let name = filesystem.device?.name;
        Ok((name.clone(), DeviceCounters::read_device(&name)?))
    }
}

/// A CPU limit until released; dropping it hides errors.
pub trait CpuHold {
    /// Ends the limit on the CPU.
    fn release(self: Box<Self>) -> Result<(), Failure>;
}

impl CpuHold for host::process::Limit {
    /// Ends the limit on the server's processes.
    fn release(self: Box<Self>) -> Result<(), Failure> {
        (*self).release().map_err(|error| Failure::new(FailureKind::Other, "end a limit", error))
    }
}

/// Who does a system's work, as far as it may be done on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Étalon itself, or a server that it started.
    Own,
    /// A server that étalon did not start.
    Server(Listener),
    /// The load uses none: time is virtual, and the machine does not matter.
    Simulated,
}

pub trait System: Send + Sync {
    /// Reads product, version, settings, effective durability and data directory from the system; never assumed.
    fn facts(&self) -> Result<Facts, Failure>;

    /// The kind of load that the system can run.
    fn load_kind(&self) -> LoadKind {
        LoadKind::Statements
    }

    /// The dialect in which statements for this system are written.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Where the system runs, as seen from the load generator.
    fn placement(&self) -> Placement;

    /// Who does the system's work on this machine: étalon, or a server that it did not start.
    fn presence(&self) -> Presence {
        Presence::Own
    }

    /// Makes and loads the tables: always in the same state afterwards, unless the plan says that they stay as they are.
    fn prepare(&self, data: &Dataset) -> Result<(), Failure>;

    /// Says how [`System::prepare`] brings these tables back, with what a reader must know of it. `None`: it has none.
    fn explain_reset(&self, _data: &Dataset) -> Option<String> {
        None
    }

    /// Bytes of the copies of loaded tables that are kept to bring them back.
    fn kept_bytes(&self) -> u64 {
        0
    }

    /// Waits for a checkpoint and up-to-date statistics.
    ///
    /// What the login may not do is skipped and returned by [`System::facts`].
    fn settle(&self) -> Result<(), Failure>;

    /// Reads what the server has counted so far.
    fn counters(&self) -> Result<Counters, Failure>;

    /// Counts the load's sessions that wait for locks at this instant; `None` if the system does not show them.
    fn lock_waiters(&self) -> Result<Option<LockWaiters>, Failure> {
        Ok(None)
    }

    /// Runs a query, and returns the whole number that it answers.
    fn scalar(&self, sql: &str) -> Result<i64, Failure>;

    /// Runs queries over whole tables, perhaps side by side, and returns the whole numbers that they answer.
    ///
    /// Behind one that fails, none need run.
    fn scalars(&self, questions: &[String]) -> Result<Vec<i64>, Failure> {
        questions.iter().map(|sql| self.scalar(sql)).collect()
    }

    /// Shares out one host's clients among threads.
    ///
    /// An embedded engine blocks its thread, so one per client is best.
    fn split_clients(&self, clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>> {
        match threads {
            ThreadLimit::Best => clients.map(|client| client..client + 1).collect(),
            ThreadLimit::AtMost(count) => share_clients(clients, count),
        }
    }

    /// Number of files that a client holds open; 0 if none.
    fn files_per_client(&self) -> u64 {
        1
    }

    /// Fails if a program cannot be run there, before anything is made for it.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`], with what could be run.
    fn refuse_program(&self, _program: &Program) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs a worker's part of a run on this thread, by [`load::worker::run`].
    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<LoadCounts, Failure>;

    /// Opens a session for single statements, in étalon's schema with the plan's settings.
    ///
    /// What its kind needs is installed if missing and permitted.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`], with how to install what is missing, or no connection.
    fn connect_session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        let cause = format!("this engine has no sessions of the kind {kind:?} in this build");
        Err(Failure::new(FailureKind::Unsupported, "open a session", cause))
    }

    /// Makes `count` connections like a run's at the same time, and closes them, so that a limit is met before the load.
    ///
    /// # Errors
    /// Some were refused: how many, and which setting limits them.
    fn try_connections(&self, _count: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// Opens a [`System::connect_session`] without the plan's time-outs, for what takes as long as it takes.
    fn patient_session(&self) -> Result<Box<dyn Session>, Failure> {
        self.connect_session(SessionKind::Plain)
    }

    /// Reads additional facts of a kind of session, such as an extension's version.
    fn read_session_facts(&self, _kind: SessionKind) -> Result<Facts, Failure> {
        Ok(Facts::default())
    }

    /// Empties the engine's caches and the operating system's of its files; all sessions must be closed.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`] with the reason.
    fn empty_caches(&self) -> Result<(), Failure> {
        let cause = "étalon can empty the caches only of a server that it has started itself";
        Err(Failure::new(FailureKind::Unsupported, "empty the caches", cause))
    }

    /// The dialect of the pages workload; `None` if the engine does not run it.
    fn pages_dialect(&self) -> Option<&'static dyn PagesDialect> {
        None
    }

    /// The dialect of the spatial suite; `None` if the engine does not run it.
    fn spatial_dialect(&self) -> Option<&'static dyn SpatialDialect> {
        None
    }

    /// How the engine is backed up and restored; fails for engines that étalon cannot back up.
    fn backups(&self) -> Result<Box<dyn Backups + '_>, Failure> {
        let cause = "étalon knows no way to back up this engine";
        Err(Failure::new(FailureKind::Unsupported, "take a backup", cause))
    }

    /// Reads the CPU seconds of the server's processes so far; fails where they are not visible.
    fn server_cpu_s(&self) -> Result<f64, String> {
        Err("the server's processes are not on this host, or are not étalon's own".to_owned())
    }

    /// Reads an embedded engine's I/O by kind of file, since the process began; fails for other engines.
    fn own_file_traffic(&self) -> Result<Traffic, String> {
        Err("the engine does not work in étalon's process".to_owned())
    }

    /// Reads the operating system's count of the server's I/O; fails where its processes are not visible.
    fn os_io(&self) -> Result<OsIo, String> {
        Err("the server's processes are not on this host, or are not étalon's own".to_owned())
    }

    /// Limits the server's processes to a number of cores until released.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: the server is not étalon's own, or the operating system refuses.
    /// [`FailureKind::Permission`]: the login may not.
    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        let cause = "étalon can limit only a server that it has started itself";
        Err(Failure::new(FailureKind::Unsupported, format!("hold the server to {cores} cores"), cause))
    }

    /// Makes the system's plan for other hosts, without a user's password, which each takes from its own environment.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: an embedded engine, or a server that listens on this host alone.
    fn plan_for_other_hosts(&self, _system: &SystemPlan) -> Result<SystemPlan, Failure> {
        let cause = "the engine works in the process that loads it";
        Err(Failure::new(FailureKind::Unsupported, "load the system from other hosts", cause)
            .with_hint("leave out `clients_on`: the load is then made on the system's own host"))
    }

    /// Fails unless étalon has kept its claim on the tables since they were last prepared.
    ///
    /// # Errors
    /// The session that owned it was lost, and another étalon may have used them.
    fn check_claim(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Prepares a round other than the first: restarts a private server.
    ///
    /// Accidental process state, such as memory layout, then does not look like a property of its settings.
    fn begin_round(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Waits until the system answers after a lost connection; restarts a private server.
    fn wait_until_available(&self) -> Result<(), Failure> {
        self.counters().map(|_| ())
    }

    /// Lets questions be asked after an interrupt, to undo what étalon did; nothing is measured any more.
    fn begin_clean_up(&self) {}

    /// Removes everything that étalon made there.
    fn drop_all(&self) -> Result<(), Failure>;
}
