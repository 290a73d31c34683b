//! The file of a capture: written once, then only read.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

use super::counts::{Count, Counts, Group, Reason};
use super::packing::{Block, Packed, unpack};
use super::redaction::Redaction;
use super::shape::{self, Syntax, take_apart};
use super::{Execution, Session};

/// `ECap` in the header of the database.
pub const APPLICATION_ID: i32 = 0x4543_6170;
const VERSION: i32 = 1;
/// Texts and names that are known by heart; what is not is looked up in the file.
const MAX_KNOWN_BYTES: usize = 64 << 20;

const SCHEMA: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT;
    CREATE TABLE classes (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL) STRICT;
    CREATE TABLE statements (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, class INTEGER NOT NULL, shape TEXT NOT NULL) STRICT;
    CREATE TABLE sessions (id INTEGER PRIMARY KEY, key TEXT NOT NULL, user TEXT NOT NULL, database TEXT NOT NULL,
        application TEXT NOT NULL) STRICT;
    CREATE TABLE errors (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE executions (id INTEGER PRIMARY KEY, first_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
        count INTEGER NOT NULL, block BLOB NOT NULL) STRICT;
    CREATE TABLE counts (reason TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT;
    CREATE INDEX classes_by_hash ON classes (hash);
    CREATE INDEX statements_by_hash ON statements (hash);
    CREATE INDEX sessions_by_key ON sessions (key);
";

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot write the capture: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("cannot write the capture: {0}")]
    Pack(std::io::Error),
    #[error("cannot read the log: {0}")]
    Log(#[from] std::io::Error),
    #[error("the file is no capture of étalon's")]
    Foreign,
    #[error("the capture is of format {0}, and this étalon reads format {VERSION}")]
    Version(i64),
    #[error("the capture is damaged")]
    Damaged,
}

/// Hashes a text by FNV-1a, which stays the same in all versions.
fn hash_text(text: &str) -> i64 {
    let start = 0xCBF2_9CE4_8422_2325_u64;
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)).cast_signed()
}

/// Reads a row's first column as a number.
fn first_id(row: &Row<'_>) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(0)?.cast_unsigned())
}

/// Numbers of texts that were used lately.
#[derive(Debug, Default)]
struct Known {
    ids: HashMap<String, u64>,
    bytes: usize,
}

impl Known {
    /// Remembers the number of a text; forgets all where they take too much memory.
    fn add_text(&mut self, text: String, id: u64) {
        const ENTRY_BYTES: usize = 64;
        if self.bytes > MAX_KNOWN_BYTES {
            *self = Known::default();
        }
        self.bytes += text.len() + ENTRY_BYTES;
        self.ids.insert(text, id);
    }
}

/// A capture that is being written.
pub struct Capture {
    connection: Connection,
    syntax: Syntax,
    redaction: Option<Redaction>,
    statements: Known,
    classes: Known,
    sessions: Known,
    errors: Known,
    block: Block,
    counts: Counts,
    executions: u64,
}

impl Capture {
    /// Begins a capture in an empty file, which no one else reads until it is whole.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, syntax: Syntax) -> Result<Capture, CaptureError> {
        Capture::begin(Connection::open(path)?, syntax)
    }

    /// Begins a capture in memory.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn in_memory(syntax: Syntax) -> Result<Capture, CaptureError> {
        Capture::begin(Connection::open_in_memory()?, syntax)
    }

    /// Makes the tables of a capture in an empty database.
    fn begin(connection: Connection, syntax: Syntax) -> Result<Capture, CaptureError> {
        // The file is a draft until it is whole: nothing of it is ever rolled back.
        connection.pragma_update(None, "journal_mode", "OFF")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        connection.execute_batch(SCHEMA)?;
        connection.execute_batch("BEGIN")?;
        Ok(Capture {
            connection,
            syntax,
            redaction: None,
            statements: Known::default(),
            classes: Known::default(),
            sessions: Known::default(),
            errors: Known::default(),
            block: Block::default(),
            counts: Counts::default(),
            executions: 0,
        })
    }

    /// Makes the values of all later executions be replaced, as `Redaction` does.
    pub fn redact_values(&mut self) {
        self.redaction = Some(Redaction::default());
    }

    /// Counts a record that is no execution, or a doubt, by its reason.
    pub fn count_reason(&mut self, reason: Reason) {
        self.counts.add(reason, 1);
    }

    /// Number of executions that were taken.
    pub fn execution_count(&self) -> u64 {
        self.executions
    }

    /// Counts of what is no execution, and of doubts.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Number of records that were read.
    pub fn record_count(&self) -> u64 {
        self.executions + self.counts.sum_of_group(Group::LeftOut) + self.counts.sum_of_group(Group::Aside)
    }

    /// Adds an execution: its statement without literals, the session and the values.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_execution(&mut self, execution: Execution<'_>) -> Result<(), CaptureError> {
        let taken = take_apart(execution.text, self.syntax);
        let statement = self.statement_id(&taken)?;
        let session = self.session_id(&execution.session)?;
        let error = execution.error.map_or(Ok(0), |code| self.error_id(code))?;
        let (mut literals, mut parameters) = (taken.literals, execution.parameters);
        if let Some(redaction) = &self.redaction {
            literals = literals.iter().map(|literal| redaction.redact_literal(literal)).collect();
            let values = parameters.iter().map(|value| Some(redaction.redact_parameter(value.as_ref()?)));
            parameters = values.collect();
        }
        let Execution { start_us, duration_us, rows, bytes, .. } = execution;
        self.block.push(&Packed {
            session,
            statement,
            start_us,
            duration_us,
            literals,
            parameters,
            rows,
            bytes,
            error,
        });
        self.executions += 1;
        if self.block.is_full() { self.write_block() } else { Ok(()) }
    }

    /// Finds the number of a statement, added if it is new.
    fn statement_id(&mut self, taken: &shape::Shaped) -> Result<u64, CaptureError> {
        if let Some(id) = self.statements.ids.get(&taken.shape) {
            return Ok(*id);
        }
        let class = self.class_id(taken)?;
        let hash = hash_text(&taken.shape);
        let connection = &self.connection;
        let found = connection
            .prepare_cached("SELECT id FROM statements WHERE hash = ?1 AND shape = ?2")?
            .query_row(params![hash, taken.shape], first_id)
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let mut insert =
                    connection.prepare_cached("INSERT INTO statements (hash, class, shape) VALUES (?1, ?2, ?3)")?;
                insert.insert(params![hash, class.cast_signed(), taken.shape])?.cast_unsigned()
            }
        };
        self.statements.add_text(taken.shape.clone(), id);
        Ok(id)
    }

    /// Finds the number of a class of statements, added if it is new.
    fn class_id(&mut self, taken: &shape::Shaped) -> Result<u64, CaptureError> {
        if let Some(id) = self.classes.ids.get(&taken.class) {
            return Ok(*id);
        }
        let (hash, text) = (hash_text(&taken.class), shape::shorten_class(&taken.class));
        let connection = &self.connection;
        let found = connection
            .prepare_cached("SELECT id FROM classes WHERE hash = ?1 AND text = ?2")?
            .query_row(params![hash, text], first_id)
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let mut insert =
                    connection.prepare_cached("INSERT INTO classes (hash, kind, text) VALUES (?1, ?2, ?3)")?;
                insert.insert(params![hash, taken.first_word(), text])?.cast_unsigned()
            }
        };
        self.classes.add_text(taken.class.clone(), id);
        Ok(id)
    }

    /// Finds the number of a session, added if it is new.
    fn session_id(&mut self, session: &Session<'_>) -> Result<u64, CaptureError> {
        if let Some(id) = self.sessions.ids.get(session.key) {
            return Ok(*id);
        }
        let connection = &self.connection;
        let found = connection
            .prepare_cached("SELECT id FROM sessions WHERE key = ?1")?
            .query_row([session.key], first_id)
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let insert = "INSERT INTO sessions (key, user, database, application) VALUES (?1, ?2, ?3, ?4)";
                let Session { key, user, database, application } = session;
                connection.prepare_cached(insert)?.insert(params![key, user, database, application])?.cast_unsigned()
            }
        };
        self.sessions.add_text(session.key.to_owned(), id);
        Ok(id)
    }

    /// Finds the number of an error's code, added if it is new.
    fn error_id(&mut self, code: &str) -> Result<u64, CaptureError> {
        if let Some(id) = self.errors.ids.get(code) {
            return Ok(*id);
        }
        let connection = &self.connection;
        connection.execute("INSERT OR IGNORE INTO errors (code) VALUES (?1)", [code])?;
        let id = connection.query_row("SELECT id FROM errors WHERE code = ?1", [code], first_id)?;
        self.errors.add_text(code.to_owned(), id);
        Ok(id)
    }

    /// Writes the block of executions that is open, and begins another.
    fn write_block(&mut self) -> Result<(), CaptureError> {
        let block = std::mem::take(&mut self.block);
        if block.executions == 0 {
            return Ok(());
        }
        let packed = block.to_packed().map_err(CaptureError::Pack)?;
        let insert = "INSERT INTO executions (first_us, last_us, count, block) VALUES (?1, ?2, ?3, ?4)";
        let values = params![block.first_us, block.last_us, block.executions.cast_signed(), packed];
        self.connection.prepare_cached(insert)?.execute(values)?;
        Ok(())
    }

    /// Writes what is left, with what the capture was made of, and gives it to be read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, source: &str) -> Result<SavedCapture, CaptureError> {
        self.write_block()?;
        for Count { reason, count } in self.counts.nonzero() {
            let values = params![reason.code(), count.cast_signed()];
            self.connection.execute("INSERT INTO counts (reason, count) VALUES (?1, ?2)", values)?;
        }
        let insert = "INSERT INTO meta (key, value) VALUES ('source', ?1), ('is_redacted', ?2)";
        self.connection.execute(insert, params![source, self.redaction.is_some()])?;
        self.connection.execute_batch("COMMIT")?;
        self.connection.flush_prepared_statement_cache();
        Ok(SavedCapture { connection: self.connection })
    }
}

/// An execution as a capture has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    pub packed: Packed,
    /// The number of its class.
    pub class: u64,
}

/// Makes the error of a capture that cannot be read.
pub(super) fn damaged_error(_: rusqlite::Error) -> CaptureError {
    CaptureError::Damaged
}

/// Reads a pragma that is a number.
fn pragma_number(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Reads the executions of a block, as many as its row says; fails if they are not that number.
pub(super) fn read_block(row: &Row<'_>, classes: &HashMap<u64, u64>) -> Result<Vec<Recorded>, CaptureError> {
    let block: Vec<u8> = row.get("block").map_err(damaged_error)?;
    let all = unpack(&block)?;
    if row.get::<_, i64>("count").map_err(damaged_error)?.cast_unsigned() != all.len() as u64 {
        return Err(CaptureError::Damaged);
    }
    let with_class = all.into_iter().map(|packed| {
        let class = *classes.get(&packed.statement).ok_or(CaptureError::Damaged)?;
        Ok(Recorded { packed, class })
    });
    with_class.collect()
}

/// A capture that is whole.
pub struct SavedCapture {
    pub(super) connection: Connection,
}

impl SavedCapture {
    /// Opens a capture to read it.
    ///
    /// # Errors
    /// It is none, or of a later version.
    pub fn open(path: &Path) -> Result<SavedCapture, CaptureError> {
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|_| CaptureError::Foreign)?;
        connection.pragma_update(None, "trusted_schema", "OFF").map_err(|_| CaptureError::Foreign)?;
        if pragma_number(&connection, "application_id").map_err(|_| CaptureError::Foreign)? != i64::from(APPLICATION_ID)
        {
            return Err(CaptureError::Foreign);
        }
        match pragma_number(&connection, "user_version") {
            Ok(version) if version == i64::from(VERSION) => Ok(SavedCapture { connection }),
            Ok(version) => Err(CaptureError::Version(version)),
            Err(_) => Err(CaptureError::Damaged),
        }
    }

    /// Calls `each` with each execution, in the order of the log.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn for_each(&self, mut each: impl FnMut(Recorded)) -> Result<(), CaptureError> {
        let classes = self.read_classes()?;
        let mut blocks =
            self.connection.prepare("SELECT block, count FROM executions ORDER BY id").map_err(damaged_error)?;
        let mut rows = blocks.query([]).map_err(damaged_error)?;
        while let Some(row) = rows.next().map_err(damaged_error)? {
            read_block(row, &classes)?.into_iter().for_each(&mut each);
        }
        Ok(())
    }

    /// Reads the number of each statement's class.
    pub(super) fn read_classes(&self) -> Result<HashMap<u64, u64>, CaptureError> {
        let mut classes = self.connection.prepare("SELECT id, class FROM statements").map_err(damaged_error)?;
        let pairs = classes.query_map([], |row| Ok((first_id(row)?, row.get::<_, i64>(1)?.cast_unsigned())));
        pairs.map_err(damaged_error)?.collect::<Result<_, _>>().map_err(damaged_error)
    }

    /// Reads the name of each session's database, by the session's number.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn read_databases(&self) -> Result<HashMap<u64, String>, CaptureError> {
        let mut sessions = self.connection.prepare("SELECT id, database FROM sessions").map_err(damaged_error)?;
        let pairs = sessions.query_map([], |row| Ok((first_id(row)?, row.get(1)?)));
        pairs.map_err(damaged_error)?.collect::<Result<_, _>>().map_err(damaged_error)
    }

    /// Makes a text by which captures differ: the times, numbers and lengths of the blocks.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn fingerprint(&self) -> Result<String, CaptureError> {
        let select = "SELECT group_concat(first_us || ' ' || last_us || ' ' || count || ' ' || length(block), ',') \
                      FROM (SELECT * FROM executions ORDER BY id)";
        let blocks: Option<String> = self.connection.query_row(select, [], |row| row.get(0)).map_err(damaged_error)?;
        Ok(blocks.unwrap_or_default())
    }

    /// Reads the text of a statement with [`shape::MARK`] in place of its literals and comments.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn shape(&self, statement: u64) -> Result<String, CaptureError> {
        let mut shape =
            self.connection.prepare_cached("SELECT shape FROM statements WHERE id = ?1").map_err(damaged_error)?;
        shape.query_row([statement.cast_signed()], |row| row.get(0)).map_err(damaged_error)
    }

    /// Restores the text of an execution, with its literals.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn execution_text(&self, one: &Packed) -> Result<String, CaptureError> {
        Ok(shape::fill_shape(&self.shape(one.statement)?, &one.literals))
    }
}
