//! HammerDB's job store, `hammer.DB`: a database of SQLite, read in memory from its bytes.
//!
//! Tables of versions 4.5 to 6.0: `JOBMAIN` has a row for each job, with its configuration and the profile that it belongs to;
//! `JOBOUTPUT` what its virtual users said; `JOBTIMING` the profiler's figures; `JOBCI` what a pipeline built. The others hold
//! progress, charts and the machine, and are left aside.

use std::collections::BTreeMap;
use std::io::Read as _;

use indexmap::IndexMap;
use model::{Point, Value};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB};

use super::configuration::parse_conditions;
use super::{HammerDbOutput, Lines, Timing, WithoutResult, import_output};
use crate::reader::{Found, Input, Names, Reader, Reads};
use crate::{FormatError, Imported};

pub const READER: Reader = Reader {
    name: "hammerdb-jobs",
    about: "HammerDB's job store, `hammer.DB`",
    recognises: |_| false,
    names: Names::File,
    reads: Reads::Database(read_store),
};

/// Tables without which it is no job store.
const NEEDED: [&str; 2] = ["JOBMAIN", "JOBOUTPUT"];
const MAY_BE: [&str; 2] = ["JOBTIMING", "JOBCI"];
/// Steps of SQLite's machine between two looks at how many are left.
const STEPS: i32 = 1_000;
/// Steps that opening takes, in thousands.
const OPENING: u64 = 1_000;
/// What the virtual user who builds, checks or deletes a schema says first.
const OF_SCHEMA: [&str; 3] = ["creating", "delet", "checking"];
/// What a benchmark says first.
const OF_BENCHMARK: [&str; 4] = ["rampup", "scale factor", "test sequence", "test result"];

struct Job {
    id: String,
    database: String,
    /// `TPC-C` or `TPC-H`.
    benchmark: String,
    conditions: Point,
    /// 0 if it is of none.
    profile: i64,
    /// What was said, by virtual user; 0 is the console.
    said: Vec<(u64, String)>,
    timings: Vec<Timing>,
}

/// Reads HammerDB's database of jobs into results.
fn read_store(bytes: &[u8], input: &Input<'_>) -> Result<Found, FormatError> {
    let mut store = JobStore::open_in_memory(bytes)?;
    let jobs = store.read_jobs()?;
    let names = store.names_of_profiles()?;
    let (has_profiles, has_databases) =
        (differ_in(&jobs, |job| job.profile.to_string()), differ_in(&jobs, |job| job.database.clone()));
    let mut aside = 0;
    let mut by_system: IndexMap<String, HammerDbOutput> = IndexMap::new();
    for (number, job) in (1..).zip(&jobs) {
        let Some(mut output) = output_of_job(job, number) else {
            aside += 1;
            continue;
        };
        let mut system = input.system.to_owned();
        if has_profiles && job.profile > 0 && input.is_named {
            let key = ("profile".to_owned(), Value::Int(job.profile));
            output.configurations_mut().for_each(|keys| drop(keys.insert(key.0.clone(), key.1.clone())));
        } else if has_profiles && job.profile > 0 {
            let name = names.get(&job.profile).cloned().unwrap_or_else(|| format!("profile {}", job.profile));
            system = format!("{system} {name}");
        }
        if has_databases && !input.is_named {
            system = format!("{system} {}", job.database);
        }
        by_system.entry(system).or_default().append_output(output);
    }
    let mut imported = Imported::new(READER.name, input.source, []);
    let mut not_understood = Vec::new();
    for (system, output) in by_system {
        let mut of_system = import_output(&output, &system, input.source);
        of_system.unknown.retain(|what| !imported.unknown.contains(what));
        imported.unknown.append(&mut of_system.unknown);
        imported.results.append(&mut of_system.results);
        imported.facts.append(&mut of_system.facts);
        not_understood.extend(output.not_understood);
    }
    if aside > 0 {
        imported
            .notes
            .push(format!("jobs left aside that built, checked or deleted a schema, or said nothing: {aside}"));
    }
    imported.note_not_understood(&not_understood);
    imported.note_failed_results();
    Ok(Found { imported, not_understood })
}

/// Tests whether jobs differ in what `of` gives of them.
fn differ_in(jobs: &[Job], of: fn(&Job) -> String) -> bool {
    jobs.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]))
}

/// Makes the output of what a job says, as its console would have shown it; `None` of one that was no benchmark.
fn output_of_job(job: &Job, number: u64) -> Option<HammerDbOutput> {
    let mut lines = Lines::default();
    for (user, text) in &job.said {
        for line in text.lines().map(str::trim) {
            match user {
                0 => lines.take_line(number, line),
                user => lines.take_line(number, &format!("Vuser {user}:{line}")),
            }
        }
    }
    let mut output = lines.finish();
    let is_empty = output.jobs.is_empty() && output.streams.is_empty() && output.without_result.is_empty();
    if is_empty && !is_benchmark(job) {
        return None;
    }
    if is_empty {
        let without = WithoutResult { line: number, id: Some(job.id.clone()), ..WithoutResult::default() };
        output.without_result.push(without);
    }
    for result in &mut output.jobs {
        result.id.get_or_insert_with(|| job.id.clone());
        result.database.get_or_insert_with(|| job.database.clone());
        if result.timings.is_empty() {
            result.timings.clone_from(&job.timings);
        }
    }
    output.without_result.iter_mut().for_each(|without| without.line = number);
    output.configurations_mut().for_each(|keys| keys.extend(job.conditions.clone()));
    Some(output)
}

/// Tests whether a job was a benchmark, by what its first virtual user said.
fn is_benchmark(job: &Job) -> bool {
    let of_first = job.said.iter().filter(|(user, _)| *user == 1).map(|(_, text)| text.to_lowercase());
    let said: Vec<String> = of_first.collect();
    !job.said.is_empty()
        && (has_sign(&said, &OF_BENCHMARK) || !has_sign(&said, &OF_SCHEMA))
        && ["TPC-C", "TPC-H"].contains(&&*job.benchmark)
}

/// Tests whether any of these signs was said.
fn has_sign(said: &[String], signs: &[&str]) -> bool {
    said.iter().any(|text| signs.iter().any(|sign| text.contains(sign)))
}

struct JobStore {
    connection: Connection,
    /// Bytes of text that it can still hold; a damaged one tells the same over and over.
    left: u64,
}

type Row = BTreeMap<String, String>;

impl JobStore {
    /// Opens the database from a copy in memory.
    fn open_in_memory(bytes: &[u8]) -> Result<JobStore, FormatError> {
        let mut connection = Connection::open_in_memory().map_err(|error| damaged_database(&error))?;
        // Bytes 18 and 19 ask for a write-ahead log, which a database in memory does not have.
        let head: Vec<u8> =
            bytes.iter().take(20).enumerate().map(|(at, byte)| if at < 18 { *byte } else { 1 }).collect();
        let rest = bytes.get(head.len()..).unwrap_or_default();
        let whole = head.as_slice().chain(rest);
        connection
            .deserialize_read_exact(MAIN_DB, whole, bytes.len(), true)
            .and_then(|()| connection.pragma_update(None, "trusted_schema", false))
            .map_err(|error| damaged_database(&error))?;
        // A sound table takes less than a step a byte; one that leads to itself takes them for ever.
        let mut left = OPENING + bytes.len() as u64 / STEPS.unsigned_abs() as u64;
        connection
            .progress_handler(
                STEPS,
                Some(move || {
                    left = left.saturating_sub(1);
                    left == 0
                }),
            )
            .map_err(|error| damaged_database(&error))?;
        // UTF-16 is up to half as long again in UTF-8.
        let store = JobStore { connection, left: 2 * bytes.len() as u64 };
        store.check_tables()?;
        Ok(store)
    }

    /// Fails unless the store's tables are tables, of columns that hold what was written.
    fn check_tables(&self) -> Result<(), FormatError> {
        for name in NEEDED.iter().chain(&MAY_BE) {
            match self.kind_of(name)?.as_deref() {
                Some("table") => {}
                None if MAY_BE.contains(name) => continue,
                None => {
                    let what = format!(
                        "it is a store, or another database of SQLite, and no job store of HammerDB (no {name})"
                    );
                    let hint = "`etalon export STORE` writes a store as a table";
                    return Err(FormatError::of_whole(what).with_hint(hint));
                }
                Some(kind) => return Err(FormatError::of_whole(format!("its {name} is a {kind}, and no table"))),
            }
            let sql = "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0";
            let computed: i64 =
                self.connection.query_row(sql, [name], |row| row.get(0)).map_err(|error| damaged_database(&error))?;
            if computed > 0 {
                return Err(FormatError::of_whole(format!("its {name} computes columns, which HammerDB's does not")));
            }
        }
        Ok(())
    }

    /// Gives the kind of what a name names in the database: table or view; `None` if there is nothing.
    fn kind_of(&self, name: &str) -> Result<Option<String>, FormatError> {
        let sql = "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE";
        let mut statement = self.connection.prepare(sql).map_err(|error| damaged_database(&error))?;
        let mut rows = statement.query([name]).map_err(|error| damaged_database(&error))?;
        let row = rows.next().map_err(|error| damaged_database(&error))?;
        row.map(|row| row.get(0)).transpose().map_err(|error| damaged_database(&error))
    }

    /// Reads the names of a table's columns, in small letters.
    /// They are asked for as bytes, since damaged ones may be no text.
    fn columns_of(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT CAST(name AS BLOB) FROM pragma_table_info(?1) ORDER BY cid";
        let mut statement = self.connection.prepare(sql)?;
        statement
            .query_map([table], |row| row.get(0).map(|name: Vec<u8>| String::from_utf8_lossy(&name).to_lowercase()))?
            .collect()
    }

    /// Reads the rows of a table in the order in which they were written; none of a table that is not there.
    fn table_rows(&mut self, table: &str) -> Result<Vec<Row>, FormatError> {
        if self.kind_of(table)?.is_none() {
            return Ok(Vec::new());
        }
        let names = self.columns_of(table).map_err(|error| damaged_database(&error))?;
        let mut statement =
            self.connection.prepare(&format!("SELECT * FROM {table}")).map_err(|error| damaged_database(&error))?;
        let mut rows = statement.query([]).map_err(|error| damaged_database(&error))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|error| damaged_database(&error))? {
            let mut fields = Row::new();
            for (at, name) in names.iter().enumerate() {
                let text = match row.get_ref(at).map_err(|error| damaged_database(&error))? {
                    ValueRef::Null => continue,
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        let too_much =
                            || FormatError::of_whole("the database is damaged: it tells the same again and again");
                        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                };
                fields.insert(name.clone(), text);
            }
            found.push(fields);
        }
        Ok(found)
    }

    /// Reads the jobs with what they said and their timings.
    fn read_jobs(&mut self) -> Result<Vec<Job>, FormatError> {
        let mut jobs: IndexMap<String, Job> = IndexMap::new();
        for row in self.table_rows("JOBMAIN")? {
            let (id, benchmark) = (text_of(&row, "jobid"), text_of(&row, "bm"));
            let workload = if benchmark == "TPC-H" { "tpch" } else { "tpcc" };
            let job = Job {
                id: id.clone(),
                database: text_of(&row, "db"),
                conditions: parse_conditions(&text_of(&row, "jobdict"), workload),
                benchmark,
                profile: row.get("profile_id").and_then(|id| id.parse().ok()).unwrap_or(0),
                said: Vec::new(),
                timings: Vec::new(),
            };
            jobs.insert(id, job);
        }
        for row in self.table_rows("JOBOUTPUT")? {
            if let Some(job) = jobs.get_mut(&text_of(&row, "jobid")) {
                job.said.push((row.get("vu").and_then(|user| user.parse().ok()).unwrap_or(0), text_of(&row, "output")));
            }
        }
        for row in self.table_rows("JOBTIMING")?.iter().filter(|row| row.get("summary").is_some_and(|is| is == "1")) {
            let figures: BTreeMap<String, f64> = row
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), crate::text::parse_number(value)?)))
                .collect();
            let timing =
                figures.get("calls").copied().map(|calls| Timing { name: text_of(row, "procname"), calls, figures });
            if let Some(job) = jobs.get_mut(&text_of(row, "jobid")) {
                job.timings.extend(timing);
            }
        }
        Ok(jobs.into_values().collect())
    }

    /// Reads what a pipeline built and measured in each profile, where it is one thing: `REL_17_STABLE`.
    fn names_of_profiles(&mut self) -> Result<BTreeMap<i64, String>, FormatError> {
        let mut names: BTreeMap<i64, String> = BTreeMap::new();
        let mut several = Vec::new();
        for row in self.table_rows("JOBCI")? {
            let profile: Option<i64> = row.get("profile_id").and_then(|id| id.parse().ok()).filter(|id| *id > 0);
            let (Some(profile), Some(name)) = (profile, row.get("refname").filter(|name| !name.is_empty())) else {
                continue;
            };
            if names.insert(profile, name.clone()).is_some_and(|before| before != *name) {
                several.push(profile);
            }
        }
        names.retain(|profile, _| !several.contains(profile));
        // Two profiles of one name are distinguished by their numbers.
        let all = names.clone();
        for (profile, name) in &mut names {
            if all.values().filter(|other| *other == name).count() > 1 {
                *name = format!("{name} profile {profile}");
            }
        }
        Ok(names)
    }
}

/// Gives a row's value by its column; empty if there is none.
fn text_of(row: &Row, name: &str) -> String {
    row.get(name).cloned().unwrap_or_default()
}

/// Makes the error of a database that cannot be read.
fn damaged_database(error: &rusqlite::Error) -> FormatError {
    FormatError::of_whole(format!("the database of SQLite cannot be read: {error}"))
}
