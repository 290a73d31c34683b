//! A history: one SQLite file with a point for each row of each experiment that was added.
//!
//! It is no [store](crate::Store): it holds no runs, only what `etalon history` follows. It can be opened with the `sqlite3` shell. All
//! that one call adds is one transaction, so that a killed process leaves the file as it was.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::files::{self, Replacing};
use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior, params};
use thiserror::Error;

use crate::open::check_companions_of;
use crate::schema::APPLICATION_ID;

/// SQLite's `application_id` of every history, in ASCII `ETLH`.
const HISTORY_ID: i32 = i32::from_be_bytes(*b"ETLH");
const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("history_schema.sql");
const ANCHOR: &str = "anchor";
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The first bytes of a SQLite file, and where its `application_id` is.
const MAGIC: &[u8] = b"SQLite format 3\0";
const ID_OFFSET: usize = 68;

#[derive(Debug, Error)]
pub enum HistoryError {
    #[error("there is no history {path:?}")]
    Missing { path: PathBuf },
    #[error("{path:?} is not an étalon history: {what}")]
    Foreign { path: PathBuf, what: &'static str },
    #[error("history {path:?} has version {found}, this étalon knows versions up to {VERSION}")]
    Newer { path: PathBuf, found: i64 },
    #[error("history {path:?}: tried to {tried}: {detail}")]
    Failed { path: PathBuf, tried: &'static str, detail: String },
}

/// One experiment of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryExperiment {
    /// A digest of what distinguishes the experiment from others.
    pub id: String,
    pub name: String,
    pub created_unix_ms: i64,
    /// The commit that was measured, if the user named it.
    pub commit: Option<String>,
    /// Measured runs: an experiment that was extended has more of them.
    pub runs: u64,
}

/// What adding an experiment did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    New,
    /// It was there with fewer runs, and its points were replaced.
    Updated,
    /// It was there with these runs, and stays as it is.
    Known,
}

/// What a series is of: one metric of one case of one system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesKey {
    pub system: String,
    pub benchmark: String,
    /// The case's keys as a JSON object.
    pub case_json: String,
    pub metric: String,
    /// Unit of the metric; the values of a series with an anchor are ratios and have none.
    pub unit: String,
    /// `higher`, `lower` or `neither`: which way is better.
    pub direction: String,
    /// The system that the values are ratios to; `None` for plain values.
    pub anchor: Option<String>,
}

/// The value of a series in one experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPoint {
    pub value: f64,
    /// The value's interval, if it has one.
    pub interval: Option<[f64; 2]>,
    /// The version of the server.
    pub version: Option<String>,
    /// A digest of the facts that matter to the value.
    pub facts_digest: String,
}

/// What one experiment adds to a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    pub experiment: HistoryExperiment,
    pub points: Vec<(SeriesKey, HistoryPoint)>,
    /// The facts that matter by their digest, as a JSON object each.
    pub facts: BTreeMap<String, String>,
}

/// One series: its points by index of their experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSeries {
    pub key: SeriesKey,
    pub points: Vec<(usize, HistoryPoint)>,
}

/// All of a history, the oldest experiment first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryContent {
    /// The system that experiments are compared with.
    pub anchor: Option<String>,
    pub experiments: Vec<HistoryExperiment>,
    pub series: Vec<StoredSeries>,
    /// Facts by digest, as a JSON object each.
    pub facts: BTreeMap<String, String>,
}

/// An open history.
#[derive(Debug)]
pub struct History {
    conn: Connection,
    path: PathBuf,
}

type Result<T> = std::result::Result<T, HistoryError>;

impl History {
    /// Opens a history for reading.
    ///
    /// # Errors
    /// There is none, or the file is no history.
    pub fn open_read_only(path: &Path) -> Result<History> {
        // A connection that may write rolls back what a killed process left; `query_only` keeps it from changing anything else.
        let history = History::open_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| History::open_file(path, OpenFlags::SQLITE_OPEN_READ_ONLY))?;
        history.conn.pragma_update(None, "query_only", true).or_failed(path, "open it")?;
        Ok(history)
    }

    /// Opens a history for writing, and makes it where there is no file.
    ///
    /// # Errors
    /// What is there is no history, or cannot be written.
    pub fn open_or_create(path: &Path) -> Result<History> {
        if !path.exists() {
            let image = empty_image().or_failed(path, "create it")?;
            files::put_file(path, &image, Replacing::Own(&|_| false)).or_failed(path, "create it")?;
        }
        History::open_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a file after making sure, without SQLite, that it is a history.
    fn open_file(path: &Path, flags: OpenFlags) -> Result<History> {
        check_is_history(path)?;
        let full = std::fs::canonicalize(path).or_failed(path, "open it")?;
        check_companions_of(&full).or_failed(path, "open it")?;
        let conn =
            Connection::open_with_flags(&full, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).or_failed(path, "open it")?;
        conn.busy_timeout(BUSY_WAIT).or_failed(path, "open it")?;
        conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")
            .or_failed(path, "open it")?;
        let found: i64 =
            conn.query_row("PRAGMA user_version", [], |row| row.get(0)).or_failed(path, "read its version")?;
        match found {
            VERSION => Ok(History { conn, path: path.to_owned() }),
            _ if found > VERSION => Err(HistoryError::Newer { path: path.to_owned(), found }),
            _ => Err(HistoryError::Foreign { path: path.to_owned(), what: "its version is unknown" }),
        }
    }

    /// Reads the name of the anchor, if one was named.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn anchor(&self) -> Result<Option<String>> {
        let query = "SELECT value FROM remembered WHERE name = ?1";
        let found = self.conn.query_row(query, [ANCHOR], |row| row.get(0)).optional();
        found.or_failed(&self.path, "read the anchor")
    }

    /// Adds experiments, and remembers the anchor, in one transaction; returns what became of each.
    /// An experiment that is there already stays as it is, unless it has more runs now.
    ///
    /// # Errors
    /// The file cannot be written; it is then as before.
    pub fn add(&mut self, additions: &[Addition], anchor: Option<&str>) -> Result<Vec<Added>> {
        let tried = "add to it";
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).or_failed(&self.path, tried)?;
        let added = write_all(&tx, additions, anchor).or_failed(&self.path, tried)?;
        tx.commit().or_failed(&self.path, tried)?;
        Ok(added)
    }

    /// Reads all of the history.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_all(&self) -> Result<HistoryContent> {
        let tried = "read it";
        let moment = self.conn.unchecked_transaction().or_failed(&self.path, tried)?;
        let mut content = read_content(&moment).or_failed(&self.path, tried)?;
        content.anchor = self.anchor()?;
        Ok(content)
    }
}

/// Fails unless the first bytes of a file are those of a history.
fn check_is_history(path: &Path) -> Result<()> {
    let foreign = |what| Err(HistoryError::Foreign { path: path.to_owned(), what });
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(HistoryError::Missing { path: path.to_owned() });
        }
        Err(error) => return Err(error).or_failed(path, "open it"),
        Ok(found) if found.is_dir() => return foreign("it is a folder"),
        Ok(found) if !found.is_file() => return foreign("it is a device or a pipe"),
        Ok(_) => {}
    }
    let mut begin = Vec::new();
    File::open(path).and_then(|file| file.take(100).read_to_end(&mut begin)).or_failed(path, "open it")?;
    if !begin.starts_with(MAGIC) {
        return foreign("it is not a SQLite database");
    }
    let id = begin.get(ID_OFFSET..ID_OFFSET + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    match id {
        Some(HISTORY_ID) => Ok(()),
        Some(APPLICATION_ID) => foreign("it is the store of an experiment"),
        _ => foreign("it is another program's database"),
    }
}

/// Makes the bytes of a history without experiments.
fn empty_image() -> rusqlite::Result<Vec<u8>> {
    let mut conn = Connection::open_in_memory()?;
    conn.pragma_update(None, "application_id", HISTORY_ID)?;
    conn.pragma_update(None, "user_version", VERSION)?;
    conn.execute_batch(SCHEMA)?;
    Ok(conn.serialize(MAIN_DB)?.to_vec())
}

/// Writes experiments that are new or have more runs, and the anchor.
fn write_all(tx: &Transaction<'_>, additions: &[Addition], anchor: Option<&str>) -> rusqlite::Result<Vec<Added>> {
    if let Some(anchor) = anchor {
        tx.execute("INSERT OR REPLACE INTO remembered (name, value) VALUES (?1, ?2)", [ANCHOR, anchor])?;
    }
    additions.iter().map(|addition| write_experiment(tx, addition)).collect()
}

/// Writes an experiment and its points, unless it is there with as many runs.
fn write_experiment(tx: &Transaction<'_>, addition: &Addition) -> rusqlite::Result<Added> {
    let HistoryExperiment { id, name, created_unix_ms, commit, runs } = &addition.experiment;
    let runs = i64::try_from(*runs).unwrap_or(i64::MAX);
    let insert =
        "INSERT OR IGNORE INTO experiments (id, name, created_unix_ms, commit_name, runs) VALUES (?1, ?2, ?3, ?4, ?5)";
    let is_new = tx.execute(insert, params![id, name, created_unix_ms, commit, runs])? > 0;
    if !is_new {
        let update =
            "UPDATE experiments SET runs = ?2, commit_name = coalesce(?3, commit_name) WHERE id = ?1 AND runs < ?2";
        if tx.execute(update, params![id, runs, commit])? == 0 {
            return Ok(Added::Known);
        }
        tx.execute("DELETE FROM points WHERE experiment_id = ?1", [id])?;
    }
    for (digest, facts) in &addition.facts {
        tx.execute("INSERT OR IGNORE INTO facts (digest, facts_json) VALUES (?1, ?2)", [digest, facts])?;
    }
    for (key, point) in &addition.points {
        let series = series_id(tx, key)?;
        let [low, high] = point.interval.map_or([None; 2], |ends| ends.map(Some));
        tx.prepare_cached(
            "INSERT OR IGNORE INTO points (series_id, experiment_id, value, low, high, version, facts_digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![series, id, point.value, low, high, point.version, point.facts_digest])?;
    }
    Ok(if is_new { Added::New } else { Added::Updated })
}

/// Finds the number of a series, and makes it where it is new.
fn series_id(tx: &Transaction<'_>, key: &SeriesKey) -> rusqlite::Result<i64> {
    let anchor = key.anchor.as_deref().unwrap_or_default();
    let values = params![key.system, key.benchmark, key.case_json, key.metric, key.unit, key.direction, anchor];
    tx.prepare_cached(
        "INSERT OR IGNORE INTO series (system, benchmark, case_json, metric, unit, direction, anchor)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(values)?;
    tx.prepare_cached(
        "SELECT id FROM series WHERE system = ?1 AND benchmark = ?2 AND case_json = ?3 AND metric = ?4 AND unit = ?5
         AND direction = ?6 AND anchor = ?7",
    )?
    .query_row(values, |row| row.get(0))
}

/// Reads experiments, series, points and facts.
fn read_content(conn: &Connection) -> rusqlite::Result<HistoryContent> {
    let mut query = conn
        .prepare("SELECT id, name, created_unix_ms, commit_name, runs FROM experiments ORDER BY created_unix_ms, id")?;
    let experiments = query.query_map([], |row| {
        let (id, name, created_unix_ms) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let runs = u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0);
        Ok(HistoryExperiment { id, name, created_unix_ms, commit: row.get(3)?, runs })
    })?;
    let experiments: Vec<HistoryExperiment> = experiments.collect::<rusqlite::Result<_>>()?;
    let index: BTreeMap<&str, usize> =
        experiments.iter().enumerate().map(|(index, experiment)| (experiment.id.as_str(), index)).collect();
    let mut query =
        conn.prepare("SELECT id, system, benchmark, case_json, metric, unit, direction, anchor FROM series")?;
    let series = query.query_map([], |row| {
        let anchor = Some(row.get::<_, String>(7)?).filter(|anchor| !anchor.is_empty());
        let key = SeriesKey {
            system: row.get(1)?,
            benchmark: row.get(2)?,
            case_json: row.get(3)?,
            metric: row.get(4)?,
            unit: row.get(5)?,
            direction: row.get(6)?,
            anchor,
        };
        Ok((row.get::<_, i64>(0)?, StoredSeries { key, points: Vec::new() }))
    })?;
    let mut series: BTreeMap<i64, StoredSeries> = series.collect::<rusqlite::Result<_>>()?;
    let mut query =
        conn.prepare("SELECT series_id, experiment_id, value, low, high, version, facts_digest FROM points")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let interval = match (row.get(3)?, row.get(4)?) {
            (Some(low), Some(high)) => Some([low, high]),
            _ => None,
        };
        let point = HistoryPoint { value: row.get(2)?, interval, version: row.get(5)?, facts_digest: row.get(6)? };
        let at = index.get(row.get_ref(1)?.as_str()?);
        if let (Some(&at), Some(series)) = (at, series.get_mut(&row.get(0)?)) {
            series.points.push((at, point));
        }
    }
    let mut series: Vec<StoredSeries> = series.into_values().collect();
    series.iter_mut().for_each(|series| series.points.sort_by_key(|(at, _)| *at));
    let mut query = conn.prepare("SELECT digest, facts_json FROM facts")?;
    let facts = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    drop(index);
    Ok(HistoryContent { anchor: None, experiments, series, facts })
}

trait OrFailed<T> {
    /// Turns an error into that of a history; `tried` completes "tried to …".
    fn or_failed(self, path: &Path, tried: &'static str) -> Result<T>;
}

impl<T, E: std::fmt::Display> OrFailed<T> for std::result::Result<T, E> {
    fn or_failed(self, path: &Path, tried: &'static str) -> Result<T> {
        self.map_err(|error| HistoryError::Failed { path: path.to_owned(), tried, detail: error.to_string() })
    }
}
