//! The control plane: everything about a system that is not in the measured path. It may block, and uses ordinary
//! drivers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host::disk::{DeviceCounters, LayerCounters, ProcIo};
use host::reactor::Choice;
use host::sqlite_vfs::Traffic;
use model::{EngineSpec, Facts, Reading, SystemPlan};
use serde::{Deserialize, Serialize};

use crate::backup::Backups;
use crate::dataset::{Dataset, Dialect, Tables};
use crate::error::{Failure, FailureKind};
use crate::permits::Permits;
use crate::session::{Session, SessionKind};
use crate::worker::{Tally, WorkerContext};
use crate::workloads::disk::{BlockLoad, Cursors};
use crate::workloads::pages::dialect::PagesDialect;
use crate::workloads::spatial::dialect::SpatialDialect;
use crate::workloads::transactions::Program;

/// What the user allows étalon to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consent {
    /// Touch nothing that étalon did not make.
    OwnOnly,
    /// `--yes`: tables in the way may be dropped.
    DropForeign,
}

/// What an engine needs to open a system.
#[derive(Clone, Debug)]
pub struct OpenRequest<'a> {
    pub system: &'a SystemPlan,
    /// What the user allows.
    pub consent: Consent,
    /// Folder for private servers, if not the usual one.
    pub scratch_base: Option<PathBuf>,
    /// What sends and receives for the clients.
    pub reactor: Choice,
    /// Whether any load works on tables of étalon's own.
    pub tables: Tables,
    /// Block devices whose data the user gives up by name.
    pub forfeited: Vec<PathBuf>,
    /// Set by the user's Ctrl-C, for what takes long to make.
    pub interrupt: Arc<AtomicBool>,
    /// What is wanted of the system.
    pub part: Part,
    /// The address of this host at which a private server listens, for clients on other hosts; loopback without it.
    pub listen: Option<String>,
    /// What the plan may reach from here.
    pub permits: Permits,
}

/// What a process wants of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it: it prepares, counts and removes.
    #[default]
    Whole,
    /// To make load on it while another process has it: nothing is claimed, made or removed.
    Load,
}

impl<'a> OpenRequest<'a> {
    /// A request for a system as it is usually opened.
    pub fn new(system: &'a SystemPlan, consent: Consent) -> OpenRequest<'a> {
        OpenRequest {
            system,
            consent,
            scratch_base: None,
            reactor: Choice::Auto,
            tables: Tables::Own,
            forfeited: Vec::new(),
            interrupt: Arc::default(),
            part: Part::Whole,
            listen: None,
            permits: Permits::All,
        }
    }
}

/// An engine: one entry of the registry.
pub trait Engine: Sync {
    /// What plans and lists say of it.
    fn spec(&self) -> EngineSpec;

    /// Connects to a system, or starts it.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure>;

    /// What `etalon plan` says would be dropped from a system, without connecting to it.
    fn would_drop(&self, system: &SystemPlan) -> String;

    /// What the account of a system must be allowed before étalon can make its tables, as `etalon plan` says it without
    /// connecting. Nothing where no account has to be allowed anything.
    fn needs(&self, _system: &SystemPlan) -> Option<String> {
        None
    }

    /// The folder that holds the system's data, where that is known without connecting to it.
    fn data_directory(&self, _system: &SystemPlan) -> Option<PathBuf> {
        None
    }
}

/// How many threads make the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// As many as the target is driven best by.
    #[default]
    Best,
    /// So many, if there are as many clients.
    AtMost(u32),
}

/// Clients in ranges that are as alike as can be, one for each thread.
pub fn shares(clients: Range<u32>, threads: u32) -> Vec<Range<u32>> {
    let count = clients.len() as u32;
    let threads = threads.clamp(1, count.max(1));
    let border = |thread: u32| clients.start + (u64::from(count) * u64::from(thread) / u64::from(threads)) as u32;
    (0..threads).map(|thread| border(thread)..border(thread + 1)).filter(|share| !share.is_empty()).collect()
}

/// Where the engine does its work, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// In the worker's own thread: the client's cost cannot be told from the engine's.
    InProcess,
    /// In a process of its own.
    Server,
}

/// A load that a target can be asked to carry.
#[derive(Clone, Copy, Debug)]
pub enum Load<'a> {
    Statements(&'a Program),
    /// Reads and writes of blocks.
    Blocks {
        load: &'a BlockLoad,
        /// How far the trial's threads have come, shared by them.
        cursors: &'a Cursors,
    },
}

impl<'a> Load<'a> {
    pub fn statements(self) -> Result<&'a Program, Failure> {
        match self {
            Load::Statements(program) => Ok(program),
            Load::Blocks { .. } => {
                let cause = "this engine answers statements, and has no blocks to read and write";
                let hint = "name a folder or a file: `url = \"disk:DIR\"`";
                Err(Failure::new(FailureKind::Unsupported, "carry the load", cause).hint(hint))
            }
        }
    }
}

/// The kinds of load that a target carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadKind {
    /// SQL statements, one by one or as a stream.
    Statements,
    /// Reads and writes of blocks.
    Blocks,
}

/// The counters of an engine at one instant, by name. A trial shows the differences of two snapshots.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// The engine's counters. `commits` counts commits seen by the server. One that does not count them may have
    /// `statements`, the statements that clients have sent: a trial's counts are then held against those.
    pub counts: BTreeMap<Cow<'static, str>, Counter>,
    /// The devices under a target of blocks. They stay on their own host: a trial of blocks is run there.
    #[serde(skip)]
    pub devices: Option<Devices>,
}

/// The devices under a target of blocks at one instant. What they do not tell is an `Err` that says why.
#[derive(Clone, Debug)]
pub struct Devices {
    /// The counters of each, from the one that the filesystem is on down to the disks.
    pub layers: Result<LayerCounters, String>,
    /// The warmest sensor, in degrees Celsius.
    pub celsius: Result<f64, String>,
    /// In how many pieces the files lie.
    pub extents: Result<u64, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Its value, or why there is none.
    pub reading: Reading,
    /// Its unit; empty for a plain count.
    pub unit: Cow<'static, str>,
}

impl Counters {
    /// Records a counter's value.
    pub fn set(&mut self, name: &'static str, unit: &'static str, value: f64) {
        self.counts.insert(name.into(), Counter { reading: Reading::Value(value), unit: unit.into() });
    }

    /// Records that the engine has no such counter, and why.
    pub fn unavailable(&mut self, name: &'static str, unit: &'static str, reason: impl Into<String>) {
        self.counts.insert(name.into(), Counter { reading: Reading::Unavailable(reason.into()), unit: unit.into() });
    }

    /// A counter's value, if it has one.
    pub fn get(&self, name: &str) -> Option<f64> {
        match self.counts.get(name)?.reading {
            Reading::Value(value) => Some(value),
            Reading::Unavailable(_) => None,
        }
    }

    /// What happened between `before` and these counters.
    #[must_use]
    pub fn since(&self, before: &Counters) -> Counters {
        let difference = |name: &str, now: &Counter| {
            let reading = match (&now.reading, before.get(name)) {
                (Reading::Value(now), Some(then)) => Reading::Value(now - then),
                (Reading::Value(_), None) => Reading::Unavailable("there was no reading before the trial".to_owned()),
                (unavailable, _) => unavailable.clone(),
            };
            Counter { reading, unit: now.unit.clone() }
        };
        let counts = self.counts.iter().map(|(name, now)| (name.clone(), difference(name, now))).collect();
        Counters { counts, devices: self.devices.clone() }
    }
}

/// What the operating system has counted of an engine's I/O so far.
#[derive(Clone, Debug)]
pub struct OsIo {
    /// By all of its processes, or by étalon's own where the engine works in it.
    pub processes: ProcIo,
    /// By the device under its data, whoever asked for it: the device's name and its counters, or why there are none.
    pub device: Result<(String, DeviceCounters), String>,
}

impl OsIo {
    /// The account of these processes, whose data are in `folder`.
    pub fn of(processes: ProcIo, folder: &Path) -> OsIo {
        let device = || {
            let filesystem = host::disk::filesystem_of(folder).map_err(|error| error.to_string())?;
            let name = filesystem.device?.name;
            Ok((name.clone(), DeviceCounters::read(&name)?))
        };
        OsIo { processes, device: device() }
    }
}

/// A limit on a server's CPU time that holds until it is let go; dropping it does so, too, and tells nobody if it fails.
pub trait CpuHold {
    /// Lets the server go.
    fn release(self: Box<Self>) -> Result<(), Failure>;
}

impl CpuHold for host::process::Limit {
    fn release(self: Box<Self>) -> Result<(), Failure> {
        (*self).release().map_err(|error| Failure::new(FailureKind::Other, "end a limit", error))
    }
}

/// A system that is ready to be asked.
pub trait Target: Send + Sync {
    /// Product, version, every setting, the effective durability, the data directory: read back, never assumed.
    fn facts(&self) -> Result<Facts, Failure>;

    fn carries(&self) -> LoadKind {
        LoadKind::Statements
    }

    /// How the engine writes SQL.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Where the engine works.
    fn placement(&self) -> Placement;

    /// Makes the tables and loads them, whatever is there of ours: afterwards they are in the same state every time.
    fn prepare(&self, data: &Dataset) -> Result<(), Failure>;

    /// Brings background work to rest: a checkpoint that has ended, statistics that are up to date.
    ///
    /// # Errors
    /// The system did not answer. What the login may not do is left undone and told by [`Target::facts`].
    fn settle(&self) -> Result<(), Failure>;

    /// The engine's own counters.
    fn counters(&self) -> Result<Counters, Failure>;

    /// The single whole number that a query gives.
    fn scalar(&self, sql: &str) -> Result<i64, Failure>;

    /// How the clients of one host are shared out to threads: a range of clients for each. An engine in the client's own
    /// process blocks its thread, and is driven best by a thread for each client.
    fn workers(&self, clients: Range<u32>, threads: Threads) -> Vec<Range<u32>> {
        match threads {
            Threads::Best => clients.map(|client| client..client + 1).collect(),
            Threads::AtMost(count) => shares(clients, count),
        }
    }

    /// Files and sockets that a client holds open; 0 if it holds none.
    fn files_per_client(&self) -> u64 {
        1
    }

    /// Runs one worker's share of a trial on this thread, by way of [`crate::worker::run`].
    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<Tally, Failure>;

    /// A connection for statements that are asked one by one, in étalon's own schema and with the plan's settings. What
    /// its kind needs is made there, if it is missing and the login may do so.
    ///
    /// # Errors
    /// The engine has no such sessions ([`FailureKind::Unsupported`], with how to install what is missing), or the
    /// connection could not be made.
    fn session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        let cause = format!("this engine has no sessions of the kind {kind:?} in this build");
        Err(Failure::new(FailureKind::Unsupported, "open a session", cause))
    }

    /// What a session of this kind adds to [`Target::facts`], such as an extension's version.
    fn session_facts(&self, _kind: SessionKind) -> Result<Facts, Failure> {
        Ok(Facts::default())
    }

    /// Empties the engine's caches and the operating system's of its files, so that what is asked next is read from the
    /// device. All sessions must be closed.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`] with the reason why it cannot be done here.
    fn empty_caches(&self) -> Result<(), Failure> {
        let cause = "étalon can empty the caches only of a server that it has started itself";
        Err(Failure::new(FailureKind::Unsupported, "empty the caches", cause))
    }

    /// What the engine is asked in a test of page inserts, if that is written in its SQL.
    fn pages(&self) -> Option<&'static dyn PagesDialect> {
        None
    }

    /// What the engine is asked in the spatial suite, if that is written in its SQL.
    fn spatial(&self) -> Option<&'static dyn SpatialDialect> {
        None
    }

    /// The ability to back up and restore.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: étalon cannot do so with this engine.
    fn backups(&self) -> Result<Box<dyn Backups + '_>, Failure> {
        let cause = "étalon knows no way to back up this engine";
        Err(Failure::new(FailureKind::Unsupported, "take a backup", cause))
    }

    /// CPU seconds that the server's processes have used, where they can be seen.
    fn server_cpu_s(&self) -> Result<f64, String> {
        Err("the server's processes are not on this host, or are not étalon's own".to_owned())
    }

    /// The I/O of an engine that works in this process, by kind of file, since the process began.
    fn own_files(&self) -> Result<Traffic, String> {
        Err("the engine does not work in étalon's process".to_owned())
    }

    /// What the operating system has counted of the engine's I/O.
    fn os_io(&self) -> Result<OsIo, String> {
        Err("the server's processes are not on this host, or are not étalon's own".to_owned())
    }

    /// Holds the server's processes to some cores, such as 0.5, until what this gives is let go.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: the server is not étalon's own, or the operating system does not let étalon do so.
    /// [`FailureKind::Permission`]: the server has a way, and does not let the login.
    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        let cause = "étalon can limit only a server that it has started itself";
        Err(Failure::new(FailureKind::Unsupported, format!("hold the server to {cores} cores"), cause))
    }

    /// The system as other hosts reach it: its plan, with a URL of its server. A password of the user's is not in it:
    /// each host takes it from its own environment.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: the engine works where it is loaded, or its server listens to this host alone.
    fn reach(&self, _system: &SystemPlan) -> Result<SystemPlan, Failure> {
        let cause = "the engine works in the process that loads it";
        Err(Failure::new(FailureKind::Unsupported, "load the system from other hosts", cause)
            .hint("leave out `clients_on`: the load is then made on the system's own host"))
    }

    /// Begins a block that is not the first: a private server is started anew, so that no state of its process, such as
    /// where its memory lies, is the same in all blocks and taken for a property of its settings.
    fn begin_block(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Answers once the system can be asked again after a connection was lost; a private server is started again.
    fn revive(&self) -> Result<(), Failure> {
        self.counters().map(|_| ())
    }

    /// Removes everything that étalon made in the system.
    fn drop_all(&self) -> Result<(), Failure>;
}
