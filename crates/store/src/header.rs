//! The description of the experiment: one row, the cases and the order, written before the first run.

use std::collections::HashSet;
use std::path::Path;

use model::{Case, Plan, PlannedRun};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use crate::error::Tried;
use crate::{Result, StoreError};

/// The experiment that was run, and the command that started it.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub etalon_version: String,
    /// `release` or `debug` (whose figures are not comparable); `imported` where étalon measured nothing.
    pub build: String,
    /// Milliseconds since 1970, UTC.
    pub created_unix_ms: i64,
    /// The plan without passwords; the caller has removed them.
    pub plan: Plan,
    /// The plan's text as written, without passwords.
    pub plan_text: String,
    pub plan_path: Option<String>,
    /// The hash by which a resume checks that it is still the same plan.
    pub plan_hash: String,
    pub command: String,
}

const TRIED_SAVE: &str = "write the plan and the order";
const TRIED_LOAD: &str = "read the plan";

/// Fails unless the order has positions from 0 without gaps, each case at most once in a round, and no unknown case.
pub(crate) fn check_order(path: &Path, cases: &[Case], order: &[PlannedRun]) -> Result<()> {
    let mut positions = HashSet::new();
    let mut seen = HashSet::new();
    for run in order {
        let why = if run.position as usize >= order.len() || !positions.insert(run.position) {
            format!("position {} stands twice or beyond the end of the order", run.position)
        } else if run.case as usize >= cases.len() {
            format!("position {} names case {}, the plan has {}", run.position, run.case, cases.len())
        } else if !seen.insert((run.round, run.case)) {
            format!("case {} stands twice in round {}", run.case, run.round)
        } else {
            continue;
        };
        return Err(StoreError::Refused { path: path.to_owned(), tried: TRIED_SAVE.to_owned(), why });
    }
    Ok(())
}

/// Writes header, cases and planned runs into a new store.
pub(crate) fn save_plan(conn: &Connection, path: &Path, header: &Header, order: &[PlannedRun]) -> Result<()> {
    save_header(conn, path, header)?;
    let mut insert = conn
        .prepare("INSERT INTO cases (id, benchmark, workload, system, point_json) VALUES (?1, ?2, ?3, ?4, ?5)")
        .or_store_error(path, TRIED_SAVE)?;
    for (id, case) in (0_i64..).zip(header.plan.cases()) {
        let point = to_json(path, &case.point)?;
        insert
            .execute(params![id, case.benchmark, case.workload, case.system, point])
            .or_store_error(path, TRIED_SAVE)?;
    }
    write_planned_runs(conn, path, order)
}

/// Writes the planned runs, by position.
pub(crate) fn write_planned_runs(conn: &Connection, path: &Path, order: &[PlannedRun]) -> Result<()> {
    let mut insert = conn
        .prepare("INSERT INTO runs (position, round, case_id, attempt, state) VALUES (?1, ?2, ?3, 1, 'planned')")
        .or_store_error(path, TRIED_SAVE)?;
    let mut order = order.to_vec();
    order.sort_unstable_by_key(|run| run.position);
    for run in order {
        insert.execute(params![run.position, run.round, run.case]).or_store_error(path, TRIED_SAVE)?;
    }
    Ok(())
}

/// Replaces the plan in the store; its hash stays that of the plan with which the experiment started.
pub(crate) fn replace_plan(conn: &Connection, path: &Path, plan: &Plan) -> Result<()> {
    let plan_json = to_json(path, plan)?;
    conn.execute("UPDATE experiment SET plan_json = ?1", params![plan_json])
        .or_store_error(path, TRIED_SAVE)
        .map(|_| ())
}

/// Writes the header's row.
fn save_header(conn: &Connection, path: &Path, header: &Header) -> Result<()> {
    let plan_json = to_json(path, &header.plan)?;
    conn.execute(
        "INSERT INTO experiment (id, name, etalon_version, build, created_unix_ms, command, plan_path, plan_hash,
         plan_text, plan_json) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            header.plan.name,
            header.etalon_version,
            header.build,
            header.created_unix_ms,
            header.command,
            header.plan_path,
            header.plan_hash,
            header.plan_text,
            plan_json,
        ],
    )
    .or_store_error(path, TRIED_SAVE)?;
    Ok(())
}

/// Reads header and cases, and checks that they belong to one plan.
pub(crate) fn load_header(conn: &Connection, path: &Path) -> Result<(Header, Vec<Case>)> {
    let header = conn
        .query_row(
            "SELECT etalon_version, build, created_unix_ms, command, plan_path, plan_hash, plan_text, plan_json
             FROM experiment WHERE id = 1",
            [],
            read_header,
        )
        .or_store_error(path, TRIED_LOAD)?;
    let cases: Vec<Case> = conn
        .prepare("SELECT benchmark, workload, system, point_json FROM cases ORDER BY id")
        .and_then(|mut query| query.query_map([], read_case)?.collect())
        .or_store_error(path, TRIED_LOAD)?;
    if cases != header.plan.cases() {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            tried: TRIED_LOAD.to_owned(),
            detail: "its cases are not those of its plan".to_owned(),
        });
    }
    Ok((header, cases))
}

/// Reads the header's row.
fn read_header(row: &Row<'_>) -> rusqlite::Result<Header> {
    Ok(Header {
        etalon_version: row.get(0)?,
        build: row.get(1)?,
        created_unix_ms: row.get(2)?,
        command: row.get(3)?,
        plan_path: row.get(4)?,
        plan_hash: row.get(5)?,
        plan_text: row.get(6)?,
        plan: from_json(row, 7)?,
    })
}

/// Reads a case's row.
fn read_case(row: &Row<'_>) -> rusqlite::Result<Case> {
    Ok(Case { benchmark: row.get(0)?, workload: row.get(1)?, system: row.get(2)?, point: from_json(row, 3)? })
}

/// Writes a value as JSON; fails if it cannot be written.
fn to_json(path: &Path, value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Refused {
        path: path.to_owned(),
        tried: TRIED_SAVE.to_owned(),
        why: e.to_string(),
    })
}

/// Reads a value from a column that holds JSON.
fn from_json<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    serde_json::from_str(&text).map_err(|e| rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(e)))
}
