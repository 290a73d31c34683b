//! The journal of runs: planned, running, measured or failed or aborted.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use model::{Measurement, NoValue, Plan, PlannedRun, QueryPlan, Reading, RunRecord, RunState, Schedule, Series};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::error::Tried;
use crate::{Result, Store, StoreError, enum_names, header};

/// Row of a run that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(i64);

impl RunId {
    /// The number that stands in [`StoredRun::id`].
    pub fn get(self) -> i64 {
        self.0
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Identity of this attempt in the store.
    pub id: i64,
    pub planned: PlannedRun,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    pub state: RunState,
    pub reason: Option<String>,
    /// Milliseconds since 1970, UTC. Of an import without times, when it was made.
    pub started_unix_ms: Option<i64>,
    /// Length of the measured part, in seconds.
    pub elapsed_s: f64,
}

/// The way in which a resume treats a round of which some runs were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The whole round is measured again, so that what is compared was measured together.
    WholeRounds,
    OnlyPending,
}

/// Why a run is in no figure any more.
const SUPERSEDED: &str = "measured again with the rest of its round, when the experiment was resumed";

const RUN_COLUMNS: &str = "id, position, round, case_id, attempt, state, reason, started_unix_ms, elapsed_s";

impl Store {
    /// Reads every attempt at a run, by position and then by attempt.
    pub fn runs(&self) -> Result<Vec<StoredRun>> {
        let sql = format!("SELECT {RUN_COLUMNS} FROM runs ORDER BY position, attempt");
        self.query_rows("read the runs", &sql, [], read_run)
    }

    /// Counts the planned runs, each once however often it was started.
    pub fn planned_count(&self) -> Result<usize> {
        let count = "SELECT count(DISTINCT position) FROM runs";
        let found = self.query_rows("count the runs", count, [], |row| enum_names::read_count(row, 0))?;
        Ok(found.into_iter().sum::<u64>() as usize)
    }

    /// Reads the positions without a measured run and those planned again by [`Store::plan_rest`], in order.
    /// Failed ones are among them: whether to repeat those is the caller's choice.
    pub fn pending(&self) -> Result<Vec<PlannedRun>> {
        let sql = "SELECT position, round, case_id FROM runs GROUP BY position
                   HAVING sum(state = 'measured') = 0 OR sum(state = 'planned') > 0 ORDER BY position";
        self.query_rows("read what is still to be done", sql, [], |row| read_planned(row, 0))
    }

    /// Reads the positions that were never started, in order.
    pub fn unstarted(&self) -> Result<Vec<PlannedRun>> {
        let sql = "SELECT position, round, case_id FROM runs GROUP BY position
                   HAVING sum(state <> 'planned') = 0 ORDER BY position";
        self.query_rows("read what was never begun", sql, [], |row| read_planned(row, 0))
    }

    /// Plans the rest of rounds that stopped half-way. Returns how many further attempts are planned.
    /// With [`Rest::WholeRounds`] their measured runs get another attempt; until that is measured the earlier one counts.
    /// Not once every run has ended: results that could be looked at are not measured again until they please.
    pub fn plan_rest(&mut self, rest: Rest) -> Result<usize> {
        let tried = "plan the rest of the experiment";
        let sql = match rest {
            Rest::WholeRounds => {
                "WITH last AS (SELECT * FROM runs AS r
                               WHERE attempt = (SELECT max(attempt) FROM runs WHERE position = r.position))
                 INSERT INTO runs (position, round, case_id, attempt, state)
                 SELECT position, round, case_id, attempt + 1, 'planned' FROM last
                 WHERE EXISTS (SELECT 1 FROM last WHERE state IN ('planned', 'running', 'aborted'))
                 AND round IN (SELECT round FROM last WHERE state <> 'measured') AND state <> 'planned'
                 AND EXISTS (SELECT 1 FROM runs WHERE position = last.position AND state = 'measured')"
            }
            Rest::OnlyPending => {
                "DELETE FROM runs WHERE state = 'planned'
                 AND position IN (SELECT position FROM runs WHERE state = 'measured')"
            }
        };
        let count = "SELECT count(*) FROM runs WHERE state = 'planned' AND attempt > 1
                     AND position IN (SELECT position FROM runs WHERE state = 'measured')";
        self.write(tried, |tx, path| {
            tx.execute(sql, []).or_store_error(path, tried)?;
            tx.query_row(count, [], |row| enum_names::read_count(row, 0))
                .or_store_error(path, tried)
                .map(|count| count as usize)
        })
    }

    /// Takes the runs of these cases from a round on out of the plan, unless they were started; returns how many.
    pub fn leave_out(&mut self, cases: &BTreeSet<u32>, from_round: u32) -> Result<usize> {
        let tried = "leave out the runs of what is decided";
        self.write(tried, |tx, path| {
            let mut delete = tx
                .prepare("DELETE FROM runs WHERE case_id = ?1 AND round >= ?2 AND state = 'planned' AND attempt = 1")
                .or_store_error(path, tried)?;
            let deleted = cases.iter().map(|case| delete.execute(params![case, from_round]));
            deleted.sum::<rusqlite::Result<usize>>().or_store_error(path, tried)
        })
    }

    /// Plans the rounds that a longer schedule has after those of the store. Returns how many runs that adds.
    /// What was left out of the earlier rounds does not count; the plan is then that schedule's.
    pub fn extend_plan(&mut self, schedule: &Schedule) -> Result<usize> {
        let tried = "plan further rounds";
        let plan = Plan { schedule: schedule.clone(), ..self.header.plan.clone() };
        let added = self.write(tried, |tx, path| {
            let next = "SELECT coalesce(max(round) + 1, 0) FROM runs";
            let next = tx.query_row(next, [], |row| row.get::<_, u32>(0)).or_store_error(path, tried)?;
            let later: Vec<PlannedRun> = plan.run_order().into_iter().filter(|run| run.round >= next).collect();
            header::replace_plan(tx, path, &plan)?;
            header::write_planned_runs(tx, path, &later).map(|()| later.len())
        })?;
        self.header.plan = plan;
        Ok(added)
    }

    /// Aborts runs that a killed process left running; returns how many.
    pub fn abort_running(&mut self, reason: &str) -> Result<usize> {
        let tried = "abort the runs that were left running";
        self.write(tried, |tx, path| {
            tx.execute("UPDATE runs SET state = 'aborted', reason = ?1 WHERE state = 'running'", [reason])
                .or_store_error(path, tried)
        })
    }

    /// Begins the planned run, or another attempt after one that failed or was aborted, and reserves disk space for
    /// its record.
    ///
    /// # Errors
    /// [`StoreError::NotPlanned`], [`StoreError::WrongState`] when it was measured or is running,
    /// [`StoreError::Full`].
    pub fn begin_run(&mut self, planned: PlannedRun, started_unix_ms: i64) -> Result<RunId> {
        let tried = format!("begin the run at position {}", planned.position);
        self.top_up_reserve()?;
        self.write(&tried, |tx, path| {
            let last = last_attempt(tx, planned.position).or_store_error(path, &tried)?;
            let Some(last) = last.filter(|run| run.planned == planned) else {
                return Err(StoreError::NotPlanned { path: path.to_owned(), planned });
            };
            let id = match last.state {
                RunState::Planned => start_planned_run(tx, last.id, started_unix_ms),
                RunState::Failed | RunState::Aborted => repeat_run(tx, &last, started_unix_ms),
                RunState::Running | RunState::Measured | RunState::Superseded => {
                    return Err(StoreError::WrongState {
                        path: path.to_owned(),
                        tried: tried.clone(),
                        found: last.state,
                    });
                }
            };
            id.map(RunId).or_store_error(path, &tried)
        })
    }

    /// Stores a run's record in one transaction. If it was measured, an earlier measured attempt at its place is
    /// superseded but kept.
    ///
    /// # Errors
    /// [`StoreError::WrongState`], [`StoreError::Refused`], or [`StoreError::Full`]: nothing of the record is stored
    /// then, and it may be tried again.
    pub fn finish_run(&mut self, id: RunId, record: &RunRecord) -> Result<()> {
        let id = id.get();
        let tried = format!("record run {id}");
        if let Some(why) = find_flaw(record) {
            return Err(StoreError::Refused { path: self.path.clone(), tried, why });
        }
        self.write(&tried, |tx, path| {
            let found = read_state(tx, id).or_store_error(path, &tried)?;
            if found != RunState::Running {
                return Err(StoreError::WrongState { path: path.to_owned(), tried: tried.clone(), found });
            }
            write_record(tx, id, record).or_store_error(path, &tried)
        })
    }

    /// Stores finished runs in one transaction, as an import needs: a million runs must not wait for the disk a
    /// million times. `started_unix_ms` stands in where a record has no time. What follows a run that failed or was
    /// aborted at its place is another attempt.
    ///
    /// # Errors
    /// [`StoreError::NotPlanned`] when a run is not in the order or was measured; otherwise as
    /// [`Store::finish_run`].
    pub fn store_runs(&mut self, runs: &[(PlannedRun, RunRecord)], started_unix_ms: i64) -> Result<()> {
        let tried = "record imported runs";
        if let Some(why) = runs.iter().find_map(|(_, record)| find_flaw(record)) {
            return Err(StoreError::Refused { path: self.path.clone(), tried: tried.to_owned(), why });
        }
        self.write(tried, |tx, path| {
            for (planned, record) in runs {
                let last = last_attempt(tx, planned.position).or_store_error(path, tried)?;
                let id = match last.filter(|last| last.planned == *planned) {
                    Some(last) if last.state == RunState::Planned => start_planned_run(tx, last.id, started_unix_ms),
                    Some(last) if matches!(last.state, RunState::Failed | RunState::Aborted) => {
                        repeat_run(tx, &last, started_unix_ms)
                    }
                    _ => return Err(StoreError::NotPlanned { path: path.to_owned(), planned: *planned }),
                };
                let id = id.or_store_error(path, tried)?;
                write_record(tx, id, record).or_store_error(path, tried)?;
            }
            Ok(())
        })
    }
}

/// Says what is wrong with a record that is to be stored, if anything is.
fn find_flaw(record: &RunRecord) -> Option<String> {
    match record.state {
        RunState::Planned | RunState::Running | RunState::Superseded => {
            return Some(format!("its state is {}", record.state));
        }
        RunState::Failed | RunState::Aborted if record.reason.is_none() => {
            return Some(format!("it is {} without a reason", record.state));
        }
        RunState::Measured | RunState::Failed | RunState::Aborted => {}
    }
    if !record.elapsed_s.is_finite() || record.elapsed_s < 0.0 {
        return Some(format!("it took {} s", record.elapsed_s));
    }
    let mut seen = HashSet::new();
    for Measurement { metric, reading } in &record.measurements {
        if !seen.insert(&metric.id) {
            return Some(format!("it has metric {:?} twice", metric.id));
        }
        // SQLite would make NULL of a NaN.
        if let Reading::Value(value) = reading
            && !value.is_finite()
        {
            return Some(format!(
                "metric {:?} is {value}; what has no value must be unavailable, with a reason",
                metric.id
            ));
        }
    }
    let mut seen = HashSet::new();
    for Series { host, kind, interval, errors, .. } in &record.series {
        if !seen.insert((host, kind.as_str(), interval)) {
            return Some(format!("it has interval {interval:?} of the {} series of {host:?} twice", kind.as_str()));
        }
        if i64::try_from(*errors).is_err() {
            return Some(format!("a series has {errors} errors"));
        }
    }
    None
}

/// Writes how a run ended, with its measurements, series, marks, points and plans; supersedes an earlier measured attempt.
fn write_record(tx: &Transaction<'_>, id: i64, record: &RunRecord) -> rusqlite::Result<()> {
    if record.state == RunState::Measured {
        let mut supersede = tx.prepare_cached(
            "UPDATE runs SET state = 'superseded', reason = ?2
             WHERE state = 'measured' AND position = (SELECT position FROM runs WHERE id = ?1)",
        )?;
        supersede.execute(params![id, SUPERSEDED])?;
    }
    let mut end = tx.prepare_cached(
        "UPDATE runs SET state = ?2, reason = ?3, elapsed_s = ?4, started_unix_ms = coalesce(?5, started_unix_ms)
         WHERE id = ?1",
    )?;
    end.execute(params![id, record.state.as_str(), record.reason, record.elapsed_s, record.began_unix_ms])?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO measurements (run_id, metric, unit, direction, role, value, unavailable, absence, operations_needed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for Measurement { metric, reading } in &record.measurements {
        let (value, missing) = match reading {
            Reading::Value(value) => (Some(value), None),
            Reading::Unavailable(missing) => (None, Some(missing)),
        };
        let (direction, role) =
            (enum_names::stored_direction_word(metric.direction), enum_names::role_word(metric.role));
        let reason = missing.map(|missing| &missing.reason);
        let absence = missing.map(|missing| enum_names::absence_word(missing.kind));
        let needed = missing.and_then(NoValue::operations_needed).map(|needed| needed as i64);
        insert.execute(params![id, metric.id, metric.unit, direction, role, value, reason, absence, needed])?;
    }
    let mut insert = tx.prepare_cached(
        "INSERT INTO series (run_id, host, kind, interval, length_ms, errors, histogram)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for s in &record.series {
        let errors = s.errors as i64; // `flaw` has checked it
        insert.execute(params![id, s.host, s.kind.as_str(), s.interval, s.length_ms, errors, s.histogram])?;
    }
    let mut insert =
        tx.prepare_cached("INSERT INTO marks (run_id, kind, host, detail, data) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for mark in &record.marks {
        let data = mark.data.map(enum_names::mark_data_json).transpose()?;
        insert.execute(params![id, mark.kind.as_str(), mark.host, mark.detail, data])?;
    }
    let mut insert = tx.prepare_cached(
        "INSERT INTO points (run_id, rate, throughput, response_p50_us, response_p99_us, late_share, failed_share, is_kept,
         is_client_saturated, clients) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for point in &record.points {
        insert.execute(params![
            id,
            point.rate,
            point.throughput,
            point.response_p50_us,
            point.response_p99_us,
            point.late_share,
            point.failed_share,
            point.is_kept,
            point.is_client_saturated,
            point.clients,
        ])?;
    }
    let mut insert =
        tx.prepare_cached("INSERT INTO query_plans (run_id, query, plan, unavailable) VALUES (?1, ?2, ?3, ?4)")?;
    for QueryPlan { query, text } in &record.query_plans {
        insert.execute(params![id, query, text.as_ref().ok(), text.as_ref().err()])?;
    }
    Ok(())
}

/// Marks a run that was only planned as running, and returns its id.
fn start_planned_run(tx: &Transaction<'_>, id: i64, started_unix_ms: i64) -> rusqlite::Result<i64> {
    tx.execute("UPDATE runs SET state = 'running', started_unix_ms = ?2 WHERE id = ?1", params![id, started_unix_ms])?;
    Ok(id)
}

/// Adds another, running attempt at a run's position, and returns its id.
fn repeat_run(tx: &Transaction<'_>, last: &StoredRun, started_unix_ms: i64) -> rusqlite::Result<i64> {
    let PlannedRun { position, round, case } = last.planned;
    tx.execute(
        "INSERT INTO runs (position, round, case_id, attempt, state, started_unix_ms)
         VALUES (?1, ?2, ?3, ?4, 'running', ?5)",
        params![position, round, case, last.attempt + 1, started_unix_ms],
    )?;
    Ok(tx.last_insert_rowid())
}

/// Reads the last attempt at a position.
fn last_attempt(conn: &Connection, position: u32) -> rusqlite::Result<Option<StoredRun>> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM runs WHERE position = ?1 ORDER BY attempt DESC LIMIT 1");
    conn.query_row(&sql, [position], read_run).optional()
}

/// Reads the state of the run with this id.
fn read_state(conn: &Connection, id: i64) -> rusqlite::Result<RunState> {
    conn.query_row("SELECT state FROM runs WHERE id = ?1", [id], |row| enum_names::read_word(row, 0))
}

/// Reads a run's row.
fn read_run(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    Ok(StoredRun {
        id: row.get(0)?,
        planned: read_planned(row, 1)?,
        attempt: row.get(4)?,
        state: enum_names::read_word(row, 5)?,
        reason: row.get(6)?,
        started_unix_ms: row.get(7)?,
        elapsed_s: row.get(8)?,
    })
}

/// Reads position, round and case from column `first` on.
fn read_planned(row: &Row<'_>, first: usize) -> rusqlite::Result<PlannedRun> {
    Ok(PlannedRun { position: row.get(first)?, round: row.get(first + 1)?, case: row.get(first + 2)? })
}

impl Store {
    /// Reads the rows of a query.
    pub(crate) fn query_rows<T>(
        &self,
        tried: &str,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let path: &Path = &self.path;
        let mut query = self.conn.prepare_cached(sql).or_store_error(path, tried)?;
        query.query_map(params, read).and_then(Iterator::collect).or_store_error(path, tried)
    }
}
