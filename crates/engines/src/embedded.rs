//! The database file of an engine inside étalon's process: whose it is, the claim on it, the copy that each run begins
//! with, its removal, and what such an engine refuses.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::claim::FileClaim;
use host::copy::Blocks;
use host::disk::ProcIo;
use host::files::{Replacing, put_file};
use model::{Durability, Facts, Reset, SystemPlan};

use super::data_place::DataPlace;
use super::kept::claim_file;
use super::owner::{MARKER, foreign_things_failure};
use load::error::{Failure, FailureKind};
use load::traffic::NetworkTraffic;
use workloads::dataset::{Dataset, Dialect, Table, Tables};
use workloads::system::{OpenRequest, OsIo};
use workloads::transactions::Program;

/// Whatever the size: a copy of a file takes no longer than loading its tables does.
const USUAL: Reset = Reset::Restore;

/// Suffix of the marker file of an [`OwnershipMark::Beside`].
const MARKER_SUFFIX: &str = ".etalon-made";

/// How a database of an engine lies on the disk.
#[derive(Clone, Copy, Debug)]
pub struct FileShape {
    /// What the engine puts next to the file, under its name and these suffixes: files, or folders with all that is in them. When
    /// the engine has closed a database, its data are in the file alone: a companion is removed, and never copied.
    pub companions: &'static [&'static str],
    /// How the file says that étalon made it.
    pub marker: OwnershipMark,
    /// Names what others put into a database of étalon's, which then stays.
    pub strangers: fn(&Path) -> Vec<String>,
}

/// How a database file says that étalon made it.
#[derive(Clone, Copy, Debug)]
pub enum OwnershipMark {
    /// The mark is in the file's first 100 bytes, which this function is given. The engine writes it, before there is a
    /// companion, and only where [`EmbeddedFile::tables`] are étalon's own.
    Within(fn(&[u8]) -> bool),
    /// The mark is a file next to the database, `NAME.etalon-made`, since the database has no room for one. It is
    /// written before the database and removed before it. An étalon that was killed in between leaves the mark alone,
    /// or the database without one; what others put next to a mark that was left is taken for étalon's. An engine that
    /// can mark its own file does so.
    Beside,
}

/// A database file that étalon makes, fills, measures and removes; or one that is there and stays (`tables = "none"`).
pub struct EmbeddedFile {
    shape: FileShape,
    tables: Tables,
    path: PathBuf,
    /// The database's folder and those that it is in, innermost first, as far as they did not exist: made with the database,
    /// and removed with it.
    folders_to_make: Vec<PathBuf>,
    /// A copy of the tables as they were loaded; copied back before each run.
    pristine: PathBuf,
    /// The data set that was built last: in the pristine copy, where one is kept.
    prepared: Mutex<Option<String>>,
    reset: Reset,
    /// Breaks off a copy or a build.
    interrupt: Arc<AtomicBool>,
    /// Keeps other étalons away from the database, until it is removed.
    claim: Mutex<Option<FileClaim>>,
}

impl Drop for EmbeddedFile {
    /// Releases the claim, and removes the folders that étalon made as far as they are empty.
    /// A folder that another system had its database in when this one's was removed is empty by now.
    fn drop(&mut self) {
        *lock_mutex(&self.claim) = None;
        self.remove_made_folders();
    }
}

impl EmbeddedFile {
    /// Takes the database file of a system's URL, `scheme:PATH`, for this étalon.
    /// Refuses what is not étalon's, keeps other étalons away, and removes what one that was killed has left.
    ///
    /// # Errors
    /// The URL names no file, the file is another's, or is not there where its tables are wanted.
    pub fn open(request: &OpenRequest, shape: FileShape) -> Result<EmbeddedFile, Failure> {
        let path = request.permits.check_path(&path_from_url(request.system)?)?;
        refuse_companions_name(&path, shape)?;
        let file = EmbeddedFile {
            shape,
            tables: request.tables,
            folders_to_make: missing_folders(&path),
            pristine: request.permits.check_path(&path.with_added_extension("pristine"))?,
            path,
            prepared: Mutex::new(None),
            reset: request.system.reset.unwrap_or(USUAL),
            interrupt: Arc::clone(&request.interrupt),
            claim: Mutex::new(None),
        };
        match request.tables {
            Tables::Own => file.refuse_foreign_files(file.find_left_empty())?,
            Tables::None => refuse_missing(&file.path)?,
        }
        file.claim_database()?;
        if request.tables == Tables::Own {
            file.refuse_strangers_tables()?;
            // What an étalon that was killed has left may be half a file.
            file.remove_database(&file.path)?;
            file.remove_database(&file.pristine)?;
        }
        Ok(file)
    }

    /// Path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether étalon makes the tables, and the file with them.
    pub fn tables(&self) -> Tables {
        self.tables
    }

    /// Returns the flag that is set when a copy or a build is to end at once.
    pub fn file_interrupt(&self) -> &Arc<AtomicBool> {
        &self.interrupt
    }

    /// Makes the database's folder if it did not exist; to be called before the engine makes the database.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn make_folder(&self) -> Result<(), Failure> {
        let Some(folder) = self.folders_to_make.first() else { return Ok(()) };
        let tried = format!("make the folder {}", folder.display());
        fs::create_dir_all(folder).map_err(|error| Failure::from_io(&tried, &error))
    }

    /// Gives the run the tables of a data set, built by `build` or copied from what it built before.
    /// `build` makes them in a new file at the path that it is given, and closes it; once, unless they are to be built again for
    /// each run. Nothing of the engine may have the database open meanwhile.
    ///
    /// # Errors
    /// As `build`, or the files cannot be removed or written.
    pub fn prepare_tables(
        &self,
        data: &Dataset,
        build: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.claim_database()?;
        self.refuse_others()?;
        let mut prepared = lock_mutex(&self.prepared);
        let is_there = prepared.as_deref() == Some(&data.name);
        let reset = if data.has_tables() { self.reset } else { Reset::Rebuild };
        let built = if reset.keeps_copy() { &self.pristine } else { &self.path };
        if !is_there || reset == Reset::Rebuild {
            *prepared = None;
            // A copy of another data set.
            self.remove_database(&self.pristine)?;
            self.remove_database(built)?;
            self.make_empty(built)?;
            build(built)?;
            *prepared = Some(data.name.clone());
        }
        let blocks = match reset {
            Reset::Rebuild | Reset::None => return Ok(()),
            Reset::Restore => Blocks::Own,
            Reset::Clone => Blocks::SharedIfPossible,
        };
        self.remove_database(&self.path)?;
        // A file that shares blocks is not made before.
        if blocks == Blocks::Own {
            self.make_empty(&self.path)?;
        }
        // It must be on the device before the run, or its write-back would be part of what is measured.
        host::copy::copy_file(&self.pristine, &self.path, blocks, &|| self.interrupt.load(Ordering::Relaxed))
            .map(drop)
            .map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Failure::new(FailureKind::DiskFull, "copy the loaded database for the run", error)
                        .with_hint("free space beside it, or write `reset = \"rebuild\"`, which keeps no copy")
                }
                _ => Failure::new(FailureKind::Other, "copy the loaded database for the run", error),
            })
    }

    /// Explains how [`EmbeddedFile::prepare_tables`] brings tables back, for `System::explain_reset`.
    pub fn explain_file_reset(&self, data: &Dataset) -> Option<String> {
        data.has_tables().then(|| workloads::reset::describe_file_reset(self.reset, folder_of_file(&self.path)))
    }

    /// Size in bytes of the pristine copy of the tables; 0 without one.
    pub fn kept_bytes(&self) -> u64 {
        fs::metadata(&self.pristine).map(|metadata| metadata.len()).unwrap_or_default()
    }

    /// Removes all that étalon made; nothing if it was to use existing tables.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn drop_all(&self) -> Result<(), Failure> {
        if self.tables == Tables::None {
            return Ok(());
        }
        let kept = self.refuse_others();
        let gone = if kept.is_ok() { &[&self.path, &self.pristine][..] } else { &[&self.pristine] };
        for path in gone {
            if let Some(marker) = self.marker_next_to(path) {
                remove_files([marker])?;
            }
            self.remove_database(path)?;
        }
        *lock_mutex(&self.prepared) = None;
        *lock_mutex(&self.claim) = None;
        self.remove_made_folders();
        kept
    }

    /// Fails if something of others is at the file's path, or if others have put something into the file.
    fn refuse_others(&self) -> Result<(), Failure> {
        if fs::symlink_metadata(&self.path).is_err() {
            return Ok(());
        }
        refuse_foreign(&self.path, self.shape, self.find_left_empty()[0])?;
        self.refuse_strangers_tables()
    }

    /// Fails if the database file holds things that étalon did not make.
    fn refuse_strangers_tables(&self) -> Result<(), Failure> {
        let is_there = fs::metadata(&self.path).is_ok_and(|found| found.len() > 0);
        let strangers = if is_there { (self.shape.strangers)(&self.path) } else { Vec::new() };
        if strangers.is_empty() {
            return Ok(());
        }
        let cause = format!("others have put something into it, and so it stays: {}", strangers.join(", "));
        Err(foreign_things_failure(format!("remove or replace étalon's database file {}", self.path.display()), cause))
    }

    /// Removes a database with what the engine put next to it.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn remove_database(&self, path: &Path) -> Result<(), Failure> {
        for companion in self.shape.companions.iter().map(|suffix| companion_path(path, suffix)) {
            // A link to a folder is removed as what it is.
            match fs::symlink_metadata(&companion) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&companion)
                    .map_err(|error| Failure::from_io(format!("remove {}", companion.display()), &error))?,
                _ => remove_files([companion])?,
            }
        }
        remove_files([path.to_owned()])
    }

    /// Adds to the facts where the data is, and the durability that is left there of what commits promise.
    pub fn add_facts(&self, facts: &mut Facts, promised: Durability) {
        // The engine follows links before it names what it puts next to the file.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let place = DataPlace::of_local_folder(folder_of_file(&path).to_owned(), Some(std::process::id()));
        let companions = self.shape.companions.iter().map(|suffix| companion_path(&path, suffix));
        let keeping = place.add_data_facts(facts, |_| companions.collect());
        facts.record_passing("data_directory.path", self.path.display().to_string());
        facts.set_durability(&place.limit_durability(promised, &keeping));
    }

    /// Has the operating system drop the database's files from its cache; the engine must have closed them.
    ///
    /// # Errors
    /// The operating system does not do so.
    pub fn empty_caches(&self) -> Result<(), Failure> {
        let companions = self.shape.companions.iter().map(|suffix| companion_path(&self.path, suffix));
        for path in companions.flat_map(expand_companion).chain([self.path.clone()]) {
            match host::disk::evict_from_cache(&path) {
                Err(host::HostError::Path { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(|e| Failure::new(FailureKind::Unsupported, "empty the caches", e))?,
            }
        }
        Ok(())
    }

    /// Reads what the operating system has counted of this process's I/O.
    ///
    /// # Errors
    /// Why it does not report it.
    pub fn os_io(&self) -> Result<OsIo, String> {
        Ok(OsIo::new(ProcIo::for_process(std::process::id())?, &self.path))
    }

    /// Claims the database for this étalon, and puts its marker next to it if the shape wants one.
    fn claim_database(&self) -> Result<(), Failure> {
        self.make_folder()?;
        let mut claim = lock_mutex(&self.claim);
        if claim.is_some() {
            return Ok(());
        }
        let left_empty = self.find_left_empty();
        *claim = match claim_file(&self.path) {
            // A user who may write nothing next to others' tables can do them no harm either.
            Err(failure) if self.tables == Tables::None && failure.kind == FailureKind::Permission => None,
            claimed => Some(claimed?),
        };
        if self.tables == Tables::Own {
            // Another étalon may have ended, and others have come, before the claim was had.
            self.refuse_foreign_files(left_empty)?;
            for marker in [&self.path, &self.pristine].into_iter().filter_map(|path| self.marker_next_to(path)) {
                let tried = format!("mark {} as étalon's", self.path.display());
                put_file(&marker, MARKER.as_bytes(), Replacing::Own(&|there| there.starts_with(MARKER.as_bytes())))
                    .map_err(|error| Failure::new(FailureKind::Other, &tried, error))?;
            }
        }
        Ok(())
    }

    /// Path of the marker file of a database, if its shape has one.
    fn marker_next_to(&self, path: &Path) -> Option<PathBuf> {
        matches!(self.shape.marker, OwnershipMark::Beside).then(|| companion_path(path, MARKER_SUFFIX))
    }

    /// Tells of the database and of its copy whether a killed étalon made the file and did not come to fill it.
    /// Asked before the claim is taken.
    fn find_left_empty(&self) -> [bool; 2] {
        [&self.path, &self.pristine].map(|file| FileClaim::has_made_empty(&self.path, file))
    }

    /// Fails if a database or its copy is there and is not étalon's; takes what [`EmbeddedFile::find_left_empty`] found.
    fn refuse_foreign_files(&self, [database, copy]: [bool; 2]) -> Result<(), Failure> {
        refuse_foreign(&self.path, self.shape, database)?;
        refuse_foreign(&self.pristine, self.shape, copy)
    }

    /// Makes an empty file at a path if the engine marks within; the next étalon knows it by the claim.
    fn make_empty(&self, path: &Path) -> Result<(), Failure> {
        match (&self.shape.marker, &*lock_mutex(&self.claim)) {
            (OwnershipMark::Within(_), Some(claim)) => {
                let tried = format!("make {}", path.display());
                claim.make_empty(path).map_err(|error| Failure::new(FailureKind::Other, tried, error))
            }
            _ => Ok(()),
        }
    }

    /// Removes the folders that étalon made for the database, as far as they are empty.
    fn remove_made_folders(&self) {
        for folder in &self.folders_to_make {
            // Another system may still have its database there, or the user a file.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Makes the tables of a data set, their rows by `insert`, then its indexes and last statements.
///
/// # Errors
/// The first of `execute` or `insert`.
pub fn load_tables<E>(
    data: &Dataset,
    dialect: &dyn Dialect,
    execute: impl Fn(&str) -> Result<(), E>,
    insert: impl Fn(&Table) -> Result<(), E>,
) -> Result<(), E> {
    for table in &data.tables {
        execute(&dialect.create_table_sql(table))?;
        insert(table)?;
    }
    data.indexes.iter().try_for_each(|index| execute(&dialect.create_index_sql(index)))?;
    data.last_statements(dialect).iter().try_for_each(|statement| execute(statement))
}

/// Returns how a system's tables are brought back: as the plan says, else by a copy.
///
/// # Errors
/// None: an embedded engine's file comes back in every way.
pub fn chosen_reset(system: &SystemPlan) -> Result<Option<Reset>, Failure> {
    Ok(Some(system.reset.unwrap_or(USUAL)))
}

/// Names the file that étalon would make for a system, for `Engine::would_make`.
pub fn would_make(system: &SystemPlan) -> Option<String> {
    path_from_url(system).ok().map(|path| format!("the file {}", path.display()))
}

/// Says what étalon would remove of a system, for `etalon plan` and `Engine::would_drop`.
pub fn would_drop(system: &SystemPlan, shape: FileShape) -> String {
    match path_from_url(system)
        .and_then(|path| refuse_foreign(&path, shape, FileClaim::has_made_empty(&path, &path)).map(|()| path))
    {
        Ok(path) if path.exists() => format!("the file {}, which étalon made", path.display()),
        Ok(path) => format!("nothing: {} does not exist yet", path.display()),
        Err(failure) => failure.to_string(),
    }
}

/// Returns the folder of a system's database, for `Engine::data_directory`.
pub fn data_directory(system: &SystemPlan) -> Option<PathBuf> {
    Some(folder_of_file(&path_from_url(system).ok()?).to_owned())
}

/// Returns the size of a system's database with its write-ahead log, for `Engine::stored_bytes`.
pub fn stored_bytes(system: &SystemPlan) -> Option<u64> {
    let path = path_from_url(system).ok()?;
    let log_bytes = fs::metadata(companion_path(&path, "-wal")).map_or(0, |log| log.len());
    Some(fs::metadata(&path).ok()?.len() + log_bytes)
}

/// Fails if the load asks for a pipeline or for reconnects; `product` is what a person calls the engine.
///
/// # Errors
/// The plan asks for a pipeline or for connections that are made again.
pub fn refuse_what_needs_a_server(product: &str, program: &Program, traffic: &NetworkTraffic) -> Result<(), Failure> {
    let (key, value, cause, hint) = match (program.pipeline_depth(), traffic.reconnect_every) {
        (2.., _) => {
            let cause = "answers within the call: there is nothing to be sent ahead";
            ("pipeline", program.pipeline_depth(), cause, format!("leave `pipeline` at 1 on {product}"))
        }
        (_, 1..) => {
            let cause = "has no server that would let a client in anew: its connections stay open";
            let hint = format!("leave `reconnect` out on {product}, or at 0");
            ("reconnect", traffic.reconnect_every, cause, hint)
        }
        _ => return Ok(()),
    };
    let tried = format!("use `{key} = {value}`");
    Err(Failure::new(FailureKind::Unsupported, tried, format!("{product} {cause}")).with_hint(hint))
}

/// Makes the path of the file that an engine puts next to a database: its name and a suffix.
pub(crate) fn companion_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Lists the files in a companion that is a folder, or the companion alone.
fn expand_companion(companion: PathBuf) -> Vec<PathBuf> {
    let is_folder = fs::symlink_metadata(&companion).is_ok_and(|found| found.is_dir());
    match fs::read_dir(&companion) {
        Ok(entries) if is_folder => entries.flatten().flat_map(|entry| expand_companion(entry.path())).collect(),
        _ => vec![companion],
    }
}

/// Removes files of which some may not be there.
///
/// # Errors
/// One is there and stays.
pub(crate) fn remove_files(files: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    for file in files {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::from_io(format!("remove {}", file.display()), &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Locks a mutex, a poisoned one too.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the folder of a file's path; `.` if the path has none.
fn folder_of_file(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Lists the folders of a path that do not exist, innermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

/// Reads the path in a system's URL, `scheme:PATH`; fails if it names no file.
fn path_from_url(system: &SystemPlan) -> Result<PathBuf, Failure> {
    let (scheme, path) = system.url.split_once(':').unwrap_or((&system.engine, &system.url));
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(":memory:") || path.contains('?') {
        return Err(Failure::new(
            FailureKind::Plan,
            format!("open the database `{}`", system.url),
            "étalon needs the path of a file: each client has a connection of its own, and what is in memory is not \
             shared between them",
        )
        .with_hint(format!("write `{scheme}:some/folder/name.db`")));
    }
    Ok(PathBuf::from(path))
}

/// Fails if a database file is there and not étalon's, or a companion without one.
/// A companion may be all that is left of a transaction.
fn refuse_foreign(path: &Path, shape: FileShape, is_left_empty: bool) -> Result<(), Failure> {
    let tried = format!("use the database file {}", path.display());
    match foreign_reason(path, shape, is_left_empty) {
        Ok(None) => Ok(()),
        Ok(Some(cause)) => Err(Failure::new(FailureKind::NotOurs, tried, cause)
            .with_hint("name a file that does not exist yet; étalon makes it, and removes it at the end")),
        Err(error) => Err(Failure::from_io(tried, &error)),
    }
}

/// Says why what is at a database's path is not étalon's, if it is not.
fn foreign_reason(path: &Path, shape: FileShape, is_left_empty: bool) -> io::Result<Option<String>> {
    let marker = companion_path(path, MARKER_SUFFIX);
    if matches!(shape.marker, OwnershipMark::Beside)
        && fs::symlink_metadata(&marker).is_ok()
        && !is_marked_as_ours(path, &[], shape)
    {
        return Ok(Some(format!("{} is there already, and étalon did not make it", marker.display())));
    }
    match fs::symlink_metadata(path) {
        // A link leads to what is another's, and étalon makes none.
        Ok(found) if found.is_symlink() => return Ok(Some("it is a symbolic link".to_owned())),
        Ok(found) if !found.is_file() => return Ok(Some("it is not a file".to_owned())),
        Ok(found) => {
            if is_marked_as_ours(path, &read_header(path)?, shape) {
                return Ok(None);
            }
            if found.len() > 0 || !is_left_empty {
                return Ok(Some("it exists already, and étalon did not make it".to_owned()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if is_marked_as_ours(path, &[], shape) {
                return Ok(None);
            }
        }
        Err(error) => return Err(error),
    }
    // Étalon marks a database before the engine puts anything next to it.
    let mut companions = shape.companions.iter().map(|suffix| companion_path(path, suffix));
    let found = companions.find(|file| fs::symlink_metadata(file).is_ok());
    Ok(found.map(|file| format!("{} is there already, and belongs to no database of étalon's", file.display())))
}

/// Tests whether a file bears étalon's mark.
fn is_marked_as_ours(path: &Path, header: &[u8], shape: FileShape) -> bool {
    match shape.marker {
        OwnershipMark::Within(says) => says(header),
        OwnershipMark::Beside => {
            let marker = companion_path(path, MARKER_SUFFIX);
            let is_file = fs::symlink_metadata(&marker).is_ok_and(|found| found.is_file());
            is_file && fs::read(marker).is_ok_and(|marker| marker.starts_with(MARKER.as_bytes()))
        }
    }
}

/// Refuses a name that the engine gives to what it puts next to another database: it would read it there, or remove it.
fn refuse_companions_name(path: &Path, shape: FileShape) -> Result<(), Failure> {
    let name = path.to_string_lossy();
    let Some((database, suffix)) =
        shape.companions.iter().find_map(|suffix| Some((name.strip_suffix(suffix)?, suffix)))
    else {
        return Ok(());
    };
    let cause = format!("the engine takes a file of this name for a part of the database {database}");
    Err(Failure::new(FailureKind::Plan, format!("use the database file {name}"), cause)
        .with_hint(format!("name a file that does not end in `{suffix}`")))
}

/// Fails if a database file is missing or empty whose tables are to be used.
fn refuse_missing(path: &Path) -> Result<(), Failure> {
    let tried = format!("use the tables in {}", path.display());
    let hint = "with `tables = \"none\"` the database must be there; with `\"own\"` étalon makes it";
    match fs::metadata(path) {
        // Its first statement would make a database of it.
        Ok(found) if found.len() == 0 => {
            Err(Failure::new(FailureKind::Missing, tried, "the file is empty").with_hint(hint))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::from_io(&tried, &error).with_hint(hint)),
    }
}

/// Reads a file's first 100 bytes.
fn read_header(path: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    fs::File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use workloads::system::Consent;

    use super::*;

    const SHAPE: FileShape =
        FileShape { companions: &[".tmp", "-wal"], marker: OwnershipMark::Beside, strangers: |_| Vec::new() };

    /// This engine writes large sorts into a folder next to its file.
    fn fill(path: &Path) -> Result<(), Failure> {
        let folder = companion_path(path, ".tmp");
        let written = fs::write(path, "data").and_then(|()| fs::create_dir_all(folder.join("sorts")));
        let written = written.and_then(|()| fs::write(folder.join("sorts/1"), "rows"));
        written.map_err(|error| Failure::from_io("fill", &error))
    }

    #[test]
    fn a_companion_may_be_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let plan = SystemPlan { url: format!("x:{}", path.display()), ..SystemPlan::default() };
        let open = || EmbeddedFile::open(&OpenRequest::new(&plan, Consent::OwnOnly), SHAPE);
        let left = || fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>();
        let file = open().unwrap();
        let data = Dataset { name: "one".to_owned(), ..Dataset::default() };
        file.prepare_tables(&data, fill).unwrap();
        assert_eq!(expand_companion(companion_path(&path, ".tmp")), [folder.path().join("db.tmp/sorts/1")]);
        file.empty_caches().unwrap();
        file.prepare_tables(&data, |path| {
            assert_eq!(
                fs::symlink_metadata(companion_path(path, ".tmp")).map(drop).unwrap_err().kind(),
                io::ErrorKind::NotFound
            );
            fill(path)
        })
        .unwrap();
        file.drop_all().unwrap();
        drop(file);
        assert_eq!(left(), [""; 0]);
        fs::create_dir(companion_path(&path, ".tmp")).unwrap();
        assert_eq!(open().map(drop).unwrap_err().kind, FailureKind::NotOurs, "the folder is somebody's");
        assert_eq!(left(), ["db.tmp"]);
    }

    #[test]
    fn a_companions_name_is_no_database() {
        let folder = tempfile::tempdir().unwrap();
        for (name, is_database) in [("db-wal", false), ("db.tmp", false), ("db-walls", true)] {
            let url = format!("x:{}", folder.path().join(name).display());
            let plan = SystemPlan { url, ..SystemPlan::default() };
            let opened = EmbeddedFile::open(&OpenRequest::new(&plan, Consent::OwnOnly), SHAPE).map(drop);
            assert_eq!(
                opened.map_err(|failure| failure.kind),
                if is_database { Ok(()) } else { Err(FailureKind::Plan) }
            );
        }
    }
}
