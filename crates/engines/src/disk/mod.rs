//! Files, volumes and devices as systems of their own.

pub(crate) mod blocks;
mod facts;
mod files;
mod lane;
mod place;
mod settings;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::HostError;
use host::blocks::{RingForm, RingOptions};
use host::scratch::Scratch;
use model::catalog::Visibility;
use model::{EngineSpec, Facts, SystemPlan};

use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::worker::{LoadCounts, WorkerContext};
use workloads::dataset::{Dataset, Dialect};
use workloads::permits::Permits;
use workloads::system::{Consent, Engine, OpenRequest, System};
use workloads::work::{Load, LoadKind};

use self::files::{DiskFile, Files};
use self::place::DiskPlace;
use self::settings::DiskSettings;

pub struct Disk;

impl Engine for Disk {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "disk",
            schemes: &["disk"],
            about: "Files of blocks: `disk:DIR` is a folder in which étalon makes them, `disk:FILE` a file or a device; \
                    or a volume that étalon makes",
            private_servers: &[],
            own_url: Some("disk:."),
            other_address: None,
            workload: "disk",
            backups: &[],
            poolers: &[],
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    /// Opens a folder, file, device or made volume as a system of blocks.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        Ok(Box::new(DiskSystem::open_system(request)?))
    }

    /// Says what étalon would make at the plan's path.
    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        place::describe_new(&place::path_from_plan(system).ok()?)
    }

    /// Says what étalon would remove at the plan's path.
    fn explain_dropped(&self, system: &SystemPlan) -> String {
        match place::path_from_plan(system) {
            Ok(path) => place::describe_dropped(&path),
            Err(failure) => failure.to_string(),
        }
    }

    /// Returns the folder of the plan's files, or of its volume's image.
    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        place::path_from_plan(system).ok().map(|path| place::folder_of_path(&path))
    }
}

/// A folder, file, volume or device.
struct DiskSystem {
    place: DiskPlace,
    settings: DiskSettings,
    consent: Consent,
    /// Files' paths must be within these.
    permits: Permits,
    interrupt: Arc<AtomicBool>,
    /// How operations run, with missing features.
    reactor: String,
    files: Mutex<Files>,
    /// Notes files made elsewhere, for the next start if this one is killed.
    scratch: Mutex<Option<Scratch>>,
}

/// Files have no SQL.
struct NoDialect;

impl Dialect for NoDialect {
    /// Returns an empty text: files have no SQL.
    fn placeholder(&self, _number: usize) -> String {
        String::new()
    }
}

/// Converts an error of the host to a failure that says what was tried.
fn host_failure(tried: &str, error: HostError) -> Failure {
    match error {
        // It already says what was tried.
        HostError::Unavailable { tried, kind, reason } => Failure::new(kind.into(), tried, reason),
        error => Failure::new(error.kind().into(), tried, error),
    }
}

/// Locks a mutex, a poisoned one too.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DiskSystem {
    /// Opens the place that the plan names, and checks that blocks can be submitted there.
    fn open_system(request: &OpenRequest) -> Result<DiskSystem, Failure> {
        let settings = DiskSettings::from_request(request)?;
        let scratch = Scratch::new("disk", request.scratch_base.as_deref())
            .map_err(|error| host_failure("note what is made", error))?;
        let place = DiskPlace::open_place(request)?;
        let mut system = DiskSystem {
            place,
            reactor: String::new(),
            settings,
            consent: request.consent,
            permits: request.permits.clone(),
            interrupt: Arc::clone(&request.interrupt),
            files: Mutex::new(Files::default()),
            scratch: Mutex::new(Some(scratch)),
        };
        // Fails now rather than in the first run.
        let ring = system.make_ring(1, 4096, Vec::new())?;
        let without = ring.shortfalls().iter().map(|shortfall| format!("; without {shortfall}"));
        system.reactor = std::iter::once(ring.kind().to_owned()).chain(without).collect();
        Ok(system)
    }

    /// Makes the ring that submits blocks of these files.
    fn make_ring(
        &self,
        depth: u32,
        block_bytes: u32,
        files: Vec<std::fs::File>,
    ) -> Result<host::blocks::BlockRing, Failure> {
        let DiskSettings { form, polling, batch } = self.settings;
        let options = RingOptions { form, polling, batch, ..RingOptions::new(depth, block_bytes) };
        host::blocks::BlockRing::new(&options, files).map_err(|error| {
            let failure = Failure::new(FailureKind::Unsupported, "read and write blocks", error);
            match form {
                RingForm::Ring => failure.with_hint(
                    "io_uring may be forbidden (/proc/sys/kernel/io_uring_disabled, a container's profile): without \
                     `--reactor ring` étalon takes threads that block, and says so",
                ),
                _ => failure,
            }
        })
    }

    /// Returns the folder in which the files lie; a device's own path.
    fn data_folder(&self) -> PathBuf {
        self.place.folder_path()
    }
}

impl System for DiskSystem {
    /// Reads the facts of the storage, and how operations run.
    fn facts(&self) -> Result<Facts, Failure> {
        let mut facts = facts::read_facts(&self.place, &self.data_folder());
        facts.record_passing("client.reactor", self.reactor.clone());
        Ok(facts)
    }

    fn load_kind(&self) -> LoadKind {
        LoadKind::Blocks
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &NoDialect
    }

    fn placement(&self) -> Placement {
        Placement::Server
    }

    /// Makes and verifies the data set's files once; fails for a data set of tables.
    /// Blocks keep no state of a run, and making them again would take longer than one.
    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        if !data.tables.is_empty() || data.files.is_empty() {
            let cause = "it holds blocks, and the data set is one of tables";
            return Err(Failure::new(FailureKind::Unsupported, "prepare the system", cause)
                .with_hint("write `workload = \"disk\"`"));
        }
        let scratch = lock_mutex(&self.scratch);
        let Some(scratch) = &*scratch else {
            return Err(Failure::new(FailureKind::Other, "prepare the files", "they have been removed already"));
        };
        let (place, consent, permits, interrupt) = (&self.place, self.consent, &self.permits, &*self.interrupt);
        let making = files::Making { place, consent, permits, interrupt, scratch };
        lock_mutex(&self.files).prepare_files(&data.files, &making)
    }

    /// Has the operating system write the files to the disk.
    fn settle(&self) -> Result<(), Failure> {
        lock_mutex(&self.files).sync_files()
    }

    /// Reads the devices' counters, after a sync: they have not counted the page cache yet.
    fn counters(&self) -> Result<Counters, Failure> {
        let files = lock_mutex(&self.files);
        files.sync_files()?;
        Ok(Counters { devices: Some(files.device_counters(&self.data_folder())), ..Counters::default() })
    }

    /// Fails: files of blocks have no rows.
    fn scalar(&self, _sql: &str) -> Result<i64, Failure> {
        Err(Failure::new(FailureKind::Unsupported, "count rows", "files of blocks have none"))
    }

    /// Runs a worker's part of a load of blocks; fails for one of statements.
    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let Load::Blocks { load, cursors } = load else {
            let cause = "files of blocks answer no statements";
            return Err(Failure::new(FailureKind::Unsupported, "carry the load", cause));
        };
        let files: Vec<DiskFile> = lock_mutex(&self.files).prepared_files(&load.files)?;
        lane::drive_worker(self, load, cursors, &files, context)
    }

    /// Removes the files, the volume and the empty folders that étalon made.
    fn drop_all(&self) -> Result<(), Failure> {
        lock_mutex(&self.files).remove_made()?;
        self.place.remove_made()?;
        // Useless without the files.
        *lock_mutex(&self.scratch) = None;
        Ok(())
    }
}

/// Returns the folder of a path; `.` if it names none.
fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
