//! Reads what runs left behind, and the facts.

use std::collections::BTreeMap;

use model::{
    Direction, Facts, LoadPoint, Mark, Measurement, Metric, Nature, NoValue, QueryPlan, Reading, Role, RunState, Series,
};
use rusqlite::{Row, Transaction, params};

use crate::error::Tried;
use crate::{Result, Store, StoreError, enum_names};

#[derive(Clone, Debug, PartialEq)]
pub struct StoredMeasurement {
    pub run_id: i64,
    pub round: u32,
    pub case: u32,
    pub position: u32,
    pub measurement: Measurement,
}

const DIRECTIONS: [Direction; 3] = [Direction::Higher, Direction::Lower, Direction::Neither];
const ROLES: [Role; 3] = [Role::Primary, Role::Secondary, Role::Diagnostic];
const NATURES: [Nature; 2] = [Nature::Identity, Nature::Passing];

impl Store {
    /// Reads the measurements of measured runs by position, those of a run in the order of its record.
    pub fn measurements(&self) -> Result<Vec<StoredMeasurement>> {
        self.measurements_of(RunState::Measured)
    }

    /// Reads the measurements of runs that were measured again when the experiment was resumed.
    /// They are in order as [`Store::measurements`].
    pub fn superseded_measurements(&self) -> Result<Vec<StoredMeasurement>> {
        self.measurements_of(RunState::Superseded)
    }

    /// Reads the measurements of runs in this state.
    fn measurements_of(&self, state: RunState) -> Result<Vec<StoredMeasurement>> {
        let sql =
            "SELECT r.id, r.round, r.case_id, r.position, m.metric, m.unit, m.direction, m.role, m.value, m.unavailable,
                   m.absence, m.operations_needed
                   FROM runs AS r JOIN measurements AS m ON m.run_id = r.id
                   WHERE r.state = ?1 ORDER BY r.position, m.id";
        self.query_rows("read the measurements", sql, [state.as_str()], |row| {
            Ok(StoredMeasurement {
                run_id: row.get(0)?,
                round: row.get(1)?,
                case: row.get(2)?,
                position: row.get(3)?,
                measurement: read_measurement(row, 4)?,
            })
        })
    }

    /// Reads the run's series in the order of its record, whatever its state.
    pub fn series_of(&self, run: i64) -> Result<Vec<Series>> {
        let sql = "SELECT host, kind, interval, length_ms, errors, histogram FROM series WHERE run_id = ?1 ORDER BY id";
        self.query_rows("read the histograms", sql, [run], |row| {
            Ok(Series {
                host: row.get(0)?,
                kind: enum_names::read_word(row, 1)?,
                interval: row.get(2)?,
                length_ms: row.get(3)?,
                errors: enum_names::read_count(row, 4)?,
                histogram: row.get(5)?,
            })
        })
    }

    /// Reads all marks with their runs' [`crate::StoredRun::id`], whatever the runs' state.
    pub fn marks(&self) -> Result<Vec<(i64, Mark)>> {
        let sql = "SELECT m.run_id, m.kind, m.host, m.detail, m.data FROM marks AS m JOIN runs AS r ON r.id = m.run_id
                   ORDER BY r.position, r.attempt, m.id";
        self.query_rows("read the marks", sql, [], |row| {
            let data = enum_names::read_mark_data(row, 4)?;
            Ok((
                row.get(0)?,
                Mark { kind: enum_names::read_word(row, 1)?, host: row.get(2)?, detail: row.get(3)?, data },
            ))
        })
    }

    /// Reads the loads that were tried against a promise, with their runs' [`crate::StoredRun::id`].
    /// They are in the order of each search.
    pub fn load_points(&self) -> Result<Vec<(i64, LoadPoint)>> {
        let sql =
            "SELECT run_id, rate, throughput, response_p50_us, response_p99_us, late_share, failed_share, is_kept,
                   is_client_saturated, clients FROM points ORDER BY id";
        self.query_rows("read the loads that were tried", sql, [], |row| {
            let point = LoadPoint {
                rate: row.get(1)?,
                throughput: row.get(2)?,
                response_p50_us: row.get(3)?,
                response_p99_us: row.get(4)?,
                late_share: row.get(5)?,
                failed_share: row.get(6)?,
                is_kept: row.get(7)?,
                is_client_saturated: row.get(8)?,
                clients: row.get(9)?,
            };
            Ok((row.get(0)?, point))
        })
    }

    /// Reads the plans of queries, with their runs' [`crate::StoredRun::id`].
    pub fn query_plans(&self) -> Result<Vec<(i64, QueryPlan)>> {
        let sql = "SELECT run_id, query, plan, unavailable FROM query_plans ORDER BY id";
        self.query_rows("read the plans of queries", sql, [], |row| {
            Ok((row.get(0)?, QueryPlan { query: row.get(1)?, text: enum_names::read_either(row, 2, 3)? }))
        })
    }

    /// Replaces the facts of `client` or of a system.
    pub fn put_facts(&mut self, subject: &str, facts: &Facts, taken_unix_ms: i64) -> Result<()> {
        let tried = format!("store the facts of {subject}");
        self.write(&tried, |tx, path| write_facts(tx, subject, facts, taken_unix_ms).or_store_error(path, &tried))
    }

    /// Reads the facts by subject; a subject without facts is absent.
    pub fn facts(&self) -> Result<BTreeMap<String, Facts>> {
        let sql = "SELECT subject, name, value, unavailable, nature FROM facts";
        let rows = self.query_rows("read the facts", sql, [], |row| {
            let reading = enum_names::read_either::<String>(row, 2, 3)?;
            let nature = enum_names::read_one_of(row, 4, &NATURES, enum_names::nature_word)?;
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, reading, nature))
        })?;
        let mut facts: BTreeMap<String, Facts> = BTreeMap::new();
        for (subject, name, reading, nature) in rows {
            facts.entry(subject).or_default().insert(name, reading, nature);
        }
        Ok(facts)
    }

    /// Reads the whole file and checks that it is sound: its pages, its indices, its references.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with what was found.
    pub fn check_integrity(&self) -> Result<()> {
        let tried = "check that it is sound";
        let found: Vec<String> = self.query_rows(tried, "PRAGMA integrity_check(10)", [], |row| row.get(0))?;
        let orphans: Vec<String> = self.query_rows(tried, "PRAGMA foreign_key_check", [], |row| row.get(0))?;
        if found == ["ok"] && orphans.is_empty() {
            return Ok(());
        }
        let orphans = orphans.into_iter().map(|table| format!("{table} refers to a row that does not exist"));
        let detail = found.into_iter().filter(|line| line != "ok").chain(orphans).collect::<Vec<_>>().join("; ");
        Err(StoreError::Damaged { path: self.path.clone(), tried: tried.to_owned(), detail })
    }
}

/// Reads a measurement's columns, from the column `first` on.
fn read_measurement(row: &Row<'_>, first: usize) -> rusqlite::Result<Measurement> {
    let metric = Metric {
        id: row.get(first)?,
        unit: row.get(first + 1)?,
        direction: enum_names::read_one_of(row, first + 2, &DIRECTIONS, enum_names::stored_direction_word)?,
        role: enum_names::read_one_of(row, first + 3, &ROLES, enum_names::role_word)?,
    };
    let reading = match enum_names::read_either(row, first + 4, first + 5)? {
        Ok(value) => Reading::Value(value),
        Err(reason) => {
            let needed = row.get::<_, Option<i64>>(first + 7)?.unwrap_or_default();
            Reading::Unavailable(NoValue {
                kind: enum_names::read_absence(row, first + 6, needed.unsigned_abs())?,
                reason,
            })
        }
    };
    Ok(Measurement { metric, reading })
}

/// Writes a subject's facts in place of earlier ones.
fn write_facts(tx: &Transaction<'_>, subject: &str, facts: &Facts, taken_unix_ms: i64) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM facts WHERE subject = ?1", [subject])?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO facts (subject, name, value, unavailable, nature, taken_unix_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (name, fact) in &facts.entries {
        let (value, unavailable) = match &fact.reading {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(reason)),
        };
        let nature = enum_names::nature_word(fact.nature);
        insert.execute(params![subject, name, value, unavailable, nature, taken_unix_ms])?;
    }
    Ok(())
}
