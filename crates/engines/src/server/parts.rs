//! Loads a large data set in parts, by several connections. Each part is one transaction, which notes the part in a table
//! besides étalon's own: an étalon that is started after one that was killed, or after a server that went away, loads what is
//! missing. Keys and indexes follow, then each table is checked against what was sent to it, and the notes are removed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::dialogue::{AskError, first_columns, first_row};
use super::refusal::{ask_failure, failing_to};
use super::side_by_side::sessions_for;
use super::system::{ClientOf, DatabaseClaim as _, ErrorOf, Purpose, Server, ServerSystem, Settings as _};
use super::text_datum;
use load::error::{Failure, FailureKind};
use workloads::contents::{Contents, Rows, TableChecksum};
use workloads::dataset::{Dataset, Part, Table, Tables};

/// The notes, in étalon's own schema or database.
pub(crate) const NOTES: &str = "etalon.etalon_loaded";
/// The note that says of which data set the others are.
const WHOSE: i64 = -1;

/// What engines differ in.
pub(crate) trait LoadsParts: Server {
    /// The query for the notes, before and behind their table: it waits for parts that sessions of a killed étalon
    /// still load.
    const READ_NOTES: (&'static str, &'static str);

    /// Sets what a session that loads needs besides, if the server knows it.
    fn set_up_loader(_client: &mut ClientOf<Self>) -> Result<(), AskError<ErrorOf<Self>>> {
        Ok(())
    }

    /// Tests whether a load that is there may be continued: étalon made it, and each part came whole or not at all.
    fn may_continue_load(client: &mut ClientOf<Self>) -> Result<bool, Failure>;

    /// Makes room, empty tables, and at last, by the statements `notes`, the table of notes.
    fn make_tables(
        system: &ServerSystem<Self>,
        client: &mut ClientOf<Self>,
        data: &Dataset,
        notes: &[String],
    ) -> Result<(), Failure>;

    /// Sends rows to a table over a session.
    fn send_rows(client: &mut ClientOf<Self>, table: &Table, rows: &mut Rows<'_>) -> Result<(), Failure>;

    /// Writes the statements for a table's primary key and indexes, which are made once the rows are there.
    fn later_statements(data: &Dataset, table: &Table) -> Vec<String>;

    /// Tests whether the server refused to make a thing because it is there already.
    fn means_already_made(error: &AskError<ErrorOf<Self>>) -> bool;

    /// Leaves a loaded table as every run finds its tables.
    fn settle_table(client: &mut ClientOf<Self>, table: &Table) -> Result<(), Failure>;

    /// Runs the data set's last statements, and drops the notes of what was loaded.
    fn end_load(client: &mut ClientOf<Self>, data: &Dataset) -> Result<(), Failure>;
}

/// Makes and loads the tables by several connections, or continues a load that was cut short.
///
/// # Errors
/// What the server refuses. [`FailureKind::Verification`]: a table holds something else than was sent; it is made again next
/// time.
pub(crate) fn load_in_parts<S: LoadsParts>(system: &ServerSystem<S>, data: &Dataset) -> Result<(), Failure> {
    let parts = data.split_into_parts();
    let noted = system.ask(|client| begin_load(system, client, data, &parts))?;
    let load = Load { system, data, stop: AtomicBool::new(false), sent: Mutex::new(noted), failed: Mutex::new(None) };
    let all = data.tables.iter().map(|table| table.rows).sum();
    let rows_there =
        load.lock_sent().iter().filter(|(part, _)| **part < parts.len()).map(|(_, tally)| tally.rows).sum();
    system.progress.begin_load(rows_there, all);
    let loaded = load.load_parts(&parts).and_then(|()| load.finish_tables(&parts));
    system.progress.end_load();
    if loaded.as_ref().is_err_and(|failure| failure.kind == FailureKind::Verification) {
        // What came of the failure counts, not what comes of this.
        let _ = system.ask(|client| Ok(client.execute(&format!("DROP TABLE {NOTES}"))));
    }
    loaded?;
    system.ask(|client| S::end_load(client, data))
}

/// Makes the tables and notes again, unless a load may be continued; returns what was noted of it.
fn begin_load<S: LoadsParts>(
    system: &ServerSystem<S>,
    client: &mut ClientOf<S>,
    data: &Dataset,
    parts: &[Part],
) -> Result<BTreeMap<usize, TableChecksum>, Failure> {
    let whose = load_identity(system, data, parts);
    let noted = if S::may_continue_load(client)? {
        read_notes::<S>(client, &whose).map_err(|error| ask_failure("read what is loaded already", &error))?
    } else {
        None
    };
    if let Some(noted) = noted {
        return Ok(noted);
    }
    let notes = [
        format!("CREATE TABLE {NOTES} (part BIGINT PRIMARY KEY, row_count BIGINT, checksum BIGINT, what VARCHAR(200))"),
        format!("INSERT INTO {NOTES} VALUES ({WHOSE}, 0, 0, '{whose}')"),
    ];
    S::make_tables(system, client, data, &notes)?;
    Ok(BTreeMap::new())
}

type Noted = Option<BTreeMap<usize, TableChecksum>>;

/// Reads what was noted of a load. `None`: there are no notes of this data set.
fn read_notes<S: LoadsParts>(client: &mut ClientOf<S>, whose: &str) -> Result<Noted, AskError<ErrorOf<S>>> {
    let (schema, table) = NOTES.split_once('.').unwrap_or_default();
    let there = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name = '{table}'"
    );
    if client.query_first_value(&there)? == "0" {
        return Ok(None);
    }
    let (before, behind) = S::READ_NOTES;
    let rows = client
        .execute(before)
        .and_then(|()| client.query_text_rows(&format!("SELECT part, row_count, checksum, what FROM {NOTES}{behind}")));
    if let Err(AskError::Server(_)) = rows {
        // The failure is the first error's.
        let _ = client.execute("ROLLBACK");
    } else {
        client.execute("COMMIT")?;
    }
    let mut noted = BTreeMap::new();
    let mut is_ours = false;
    for row in rows? {
        let [part, rows, sum, what] = first_columns(row);
        let [part, rows, sum] = [part, rows, sum].map(|text| text.parse::<i64>().ok());
        let tally = TableChecksum { rows: rows.unwrap_or_default() as u64, sum: sum.unwrap_or_default() };
        match part.map(usize::try_from) {
            Some(Ok(part)) => drop(noted.insert(part, tally)),
            _ => is_ours = what == whose,
        }
    }
    Ok(is_ours.then_some(noted))
}

/// Hashes what makes a load the same one: tables, rows, parts, session settings and étalon's version.
/// Of the rows a sample is taken. A later étalon may have other rules.
fn load_identity<S: Server>(system: &ServerSystem<S>, data: &Dataset, parts: &[Part]) -> String {
    const SAMPLE: u64 = 50;
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("{version} {:?} {:?} {:?} {parts:?}", data.name, data.indexes, system.session);
    let mut row = Vec::new();
    for table in &data.tables {
        text.push_str(&S::DIALECT.create_table_sql(table));
        text.push_str(&format!("{:?}", table.primary_key));
        for index in (0..table.rows).step_by((table.rows / SAMPLE).max(1) as usize) {
            row.clear();
            (table.row)(index, &mut row);
            text.push_str(&format!("{row:?}"));
        }
    }
    format!("{:016x}", super::fnv1a_64(&text))
}

struct Load<'a, S: LoadsParts> {
    system: &'a ServerSystem<S>,
    data: &'a Dataset,
    /// One connection has failed.
    stop: AtomicBool,
    /// What was sent of each part, by its number; numbers behind the parts' are of keys and indexes.
    sent: Mutex<BTreeMap<usize, TableChecksum>>,
    failed: Mutex<Option<Failure>>,
}

impl<S: LoadsParts> Load<'_, S> {
    /// Locks the checksums of what was sent, by the part's number.
    fn lock_sent(&self) -> MutexGuard<'_, BTreeMap<usize, TableChecksum>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says for failures that the data set was being loaded.
    fn tried_to_load(&self) -> String {
        format!("load {}", self.data.name)
    }

    /// Loads the parts that are missing, by several connections.
    fn load_parts(&self, parts: &[Part]) -> Result<(), Failure> {
        let mut missing = vec![VecDeque::new(); self.data.tables.len()];
        for (number, part) in parts.iter().enumerate().filter(|(number, _)| !self.lock_sent().contains_key(number)) {
            if let Some(of_table) = missing.get_mut(part.table) {
                of_table.push_back((number, part));
            }
        }
        let queue = Queue::new(missing);
        self.run_on_connections(&queue, |client, (number, part)| self.load_part(client, *number, part))
    }

    /// Loads one part of a table in a transaction, noting it first, so that another étalon waits for it.
    fn load_part(&self, client: &mut ClientOf<S>, number: usize, part: &Part) -> Result<(), Failure> {
        let Some(table) = self.data.tables.get(part.table) else { return Ok(()) };
        let tried = self.tried_to_load();
        let what = format!("{} {}..{}", table.name, part.rows.start, part.rows.end);
        client.execute("BEGIN").map_err(failing_to(&tried))?;
        client
            .execute(&format!("INSERT INTO {NOTES} VALUES ({number}, 0, 0, '{what}')"))
            .map_err(failing_to(&tried))?;
        let mut rows = Rows::of_part(table, part.rows.clone()).until_stopped(&self.system.interrupt);
        S::send_rows(client, table, &mut rows)?;
        let tally = rows.checksum();
        if tally.rows != part.rows.end - part.rows.start {
            client.execute("ROLLBACK").map_err(failing_to(&tried))?;
            return Err(self.interrupted_failure());
        }
        let TableChecksum { rows, sum } = tally;
        let note = format!("UPDATE {NOTES} SET row_count = {rows}, checksum = {sum} WHERE part = {number}");
        client.execute(&note).and_then(|()| client.execute("COMMIT")).map_err(failing_to(&tried))?;
        self.lock_sent().insert(number, tally);
        self.system.progress.add_rows(rows);
        Ok(())
    }

    /// Makes keys, indexes and statistics, and fails if the rows that are there are not those that were sent.
    fn finish_tables(&self, parts: &[Part]) -> Result<(), Failure> {
        let mut next = parts.len();
        let mut work = Vec::new();
        for (place, table) in self.data.tables.iter().enumerate() {
            let later: Vec<(usize, String)> = (next..).zip(S::later_statements(self.data, table)).collect();
            next += later.len();
            let of_table = parts.iter().enumerate().filter(|(_, part)| part.table == place);
            let sums = of_table.filter_map(|(number, _)| self.lock_sent().get(&number).copied());
            let sent = sums.fold(TableChecksum::default(), TableChecksum::plus);
            work.push((table, later, sent));
        }
        // The longest first.
        work.sort_by_key(|(table, ..)| Reverse(table.rows));
        let queue = Queue::new(work.into_iter().map(|one| VecDeque::from([one])).collect());
        self.run_on_connections(&queue, |client, (table, later, sent)| {
            later.iter().try_for_each(|(number, statement)| self.build_index(client, *number, statement))?;
            S::settle_table(client, table)?;
            let found = Contents::read_table(table, S::DIALECT, |sql| {
                Ok(first_row(client.query_text_rows(sql)?).into_iter().map(text_datum).collect())
            });
            let found = found.map_err(|error: AskError<ErrorOf<S>>| ask_failure(self.tried_to_load(), &error))?;
            TableChecksum { rows: table.rows, ..*sent }.verify_found(&table.name, &self.data.name, found)
        })
    }

    /// Builds a key or an index, unless it is noted already.
    /// Where statements of this kind end transactions, it may be there without a note.
    fn build_index(&self, client: &mut ClientOf<S>, number: usize, statement: &str) -> Result<(), Failure> {
        if self.lock_sent().contains_key(&number) {
            return Ok(());
        }
        build_and_note::<S>(client, number, statement).map_err(|error| ask_failure(self.tried_to_load(), &error))
    }

    /// Does the work in the queue by several connections; the first failure stops all.
    fn run_on_connections<J: Send + Sync>(
        &self,
        queue: &Queue<J>,
        work: impl Fn(&mut ClientOf<S>, &J) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let connections = sessions_for(queue.jobs_left());
        if connections == 0 {
            return Ok(());
        }
        let first = self.open_session().map_err(|failure| self.system.explain_failure(failure))?;
        thread::scope(|scope| {
            let work = &work;
            for _ in 1..connections {
                // The account may have fewer; the first does the work then.
                scope.spawn(move || self.open_session().map(|client| self.work_off(client, queue, work)));
            }
            self.work_off(first, queue, work);
        });
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(failure) => Err(self.system.explain_failure(failure)),
            None => Ok(()),
        }
    }

    /// Opens a session with the settings for loading.
    fn open_session(&self) -> Result<ClientOf<S>, Failure> {
        let tried = "set up a session that loads";
        let mut client =
            self.system.session_settings_for(Tables::Own).open_session(&self.system.endpoint, Purpose::Control)?;
        S::Claim::set_limits(&mut client).map_err(failing_to(tried))?;
        match S::set_up_loader(&mut client) {
            Ok(()) | Err(AskError::Server(_)) => Ok(client),
            Err(error) => Err(ask_failure(tried, &error)),
        }
    }

    /// Takes jobs from the queue over one session until there are none left or one fails.
    fn work_off<J>(
        &self,
        mut client: ClientOf<S>,
        queue: &Queue<J>,
        work: impl Fn(&mut ClientOf<S>, &J) -> Result<(), Failure>,
    ) {
        while let Some((lane, job)) = queue.take_job() {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let is_interrupted = self.system.interrupt.load(Ordering::Relaxed);
            let done = if is_interrupted { Err(self.interrupted_failure()) } else { work(&mut client, &job) };
            queue.release_lane(lane);
            if let Err(failure) = done {
                return self.note_failure(failure);
            }
        }
        client.close_and_wait();
    }

    /// Stops all connections, and notes their failure; one that lasts replaces one that may pass.
    /// It says more than what it did to the other connections.
    fn note_failure(&self, failure: Failure) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|before| failure.is_lasting() && !before.is_lasting()) {
            *failed = Some(failure);
        }
    }

    /// Makes the failure that the load was interrupted.
    fn interrupted_failure(&self) -> Failure {
        Failure::new(FailureKind::Other, self.tried_to_load(), "it was interrupted")
    }
}

/// Runs a statement that builds a key or an index, and notes it in the same transaction.
fn build_and_note<S: LoadsParts>(
    client: &mut ClientOf<S>,
    number: usize,
    statement: &str,
) -> Result<(), AskError<ErrorOf<S>>> {
    client.execute("BEGIN")?;
    match client.execute(statement) {
        Err(error) if S::means_already_made(&error) => {}
        other => other?,
    }
    client.execute(&format!("INSERT INTO {NOTES} VALUES ({number}, 0, 0, 'key or index')"))?;
    client.execute("COMMIT")
}

/// Work in lanes, one connection in each at a time: rows of a table lie as if one connection had loaded them all, and so
/// alike in every load; a copy that is kept must not be one of chance. The longest lane comes first.
struct Queue<J>(Mutex<Vec<Lane<J>>>);

struct Lane<J> {
    left: VecDeque<J>,
    /// A connection works on it.
    is_taken: bool,
}

impl<J> Queue<J> {
    /// Makes a queue of lanes, on each of which one connection works at a time.
    fn new(lanes: Vec<VecDeque<J>>) -> Queue<J> {
        Queue(Mutex::new(lanes.into_iter().map(|left| Lane { left, is_taken: false }).collect()))
    }

    /// Locks the queue's lanes, poisoned ones too.
    fn lock_lanes(&self) -> MutexGuard<'_, Vec<Lane<J>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the jobs that no connection has taken yet.
    fn jobs_left(&self) -> usize {
        self.lock_lanes().iter().map(|lane| lane.left.len()).sum()
    }

    /// Takes the next job from the free lane that has the most left, and returns it with its lane.
    fn take_job(&self) -> Option<(usize, J)> {
        let mut lanes = self.lock_lanes();
        let open = lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.is_taken && !lane.left.is_empty());
        let (place, lane) = open.max_by_key(|(_, lane)| lane.left.len())?;
        lane.is_taken = true;
        lane.left.pop_front().map(|job| (place, job))
    }

    /// Lets another connection take jobs from this lane.
    fn release_lane(&self, lane: usize) {
        if let Some(lane) = self.lock_lanes().get_mut(lane) {
            lane.is_taken = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_part_over_the_tables() {
        let queue = Queue::new(vec![VecDeque::from([1]), VecDeque::from([2, 3, 4]), VecDeque::from([5, 6])]);
        let take = || queue.take_job().unwrap();
        assert_eq!([take(), take(), take()], [(1, 2), (2, 5), (0, 1)]);
        assert_eq!(queue.take_job(), None, "one connection in each");
        queue.release_lane(2);
        assert_eq!((queue.take_job(), queue.take_job()), (Some((2, 6)), None));
        queue.release_lane(1);
        queue.release_lane(2);
        assert_eq!((queue.take_job(), queue.jobs_left()), (Some((1, 3)), 1));
    }
}
