//! A lane's connection: requests are encoded once per statement and patched in place; answers are scanned by packet
//! headers.

use wire::mysql;
use wire::mysql::{Command, Event, ScanOutcome, Scanner, ServerStatus, command};

use super::own_words;
use super::row::{keep_binary, keep_text};
use super::statement::{Columns, Form};
use crate::server::dialogue::{
    Conversation, DialogueState, Heard, LastRows, Parting, ServerError as _, add_answer_bytes, encoding_error,
    endless_results_error,
};
use load::lane::{ErrorClass, KeptRow, OpError, OpOutcome, RowCounts, connection_lost};
use workloads::transactions::{Rows, StatementOp};

enum Step {
    All,
    Ready,
    End(OpError),
}

pub struct Connection {
    scanner: Scanner,
    /// Empty for text statements.
    forms: Vec<Form>,
    state: DialogueState,
    /// Status as last reported: errors do not carry it.
    status: ServerStatus,
    /// Session number from the login.
    thread_id: u32,
    /// First failure of the current answer.
    failure: Option<OpError>,
    answer_bytes: u64,
    rows: Rows,
    asked: usize,
    /// Columns of the current result.
    columns: Columns,
    described: bool,
    kept: LastRows,
    /// Rows of answers since they were last reported.
    counted: RowCounts,
}

impl Connection {
    /// Makes a lane's connection of a session that is logged in, with its prepared statements.
    pub(super) fn new(scanner: Scanner, status: ServerStatus, forms: Vec<Form>, thread_id: u32) -> Connection {
        Connection {
            scanner,
            forms,
            state: DialogueState::Free,
            status,
            thread_id,
            failure: None,
            answer_bytes: 0,
            rows: Rows::Discard,
            asked: 0,
            columns: Columns::default(),
            described: false,
            kept: LastRows::default(),
            counted: RowCounts::default(),
        }
    }

    /// Notes in `heard` how the answer ended, and frees the connection unless it is lost.
    fn end_answer(&mut self, heard: &mut Heard) {
        match self.failure.take() {
            Some(error) if error.class == ErrorClass::ConnectionLost => heard.end = Some(error),
            failure => {
                self.state = DialogueState::Free;
                heard.answer = Some(failure.map_or(OpOutcome::Ok, OpOutcome::Failed));
            }
        }
    }

    /// Reads on to the end of an answer by packet headers alone, without keeping rows.
    fn skip_answer(&mut self, rest: &mut &[u8]) -> Step {
        match self.scanner.scan_to_end(rest) {
            Ok(ScanOutcome::NeedMore) => Step::All,
            Ok(ScanOutcome::Done { reply, consumed }) => {
                *rest = &rest[consumed..];
                self.status = reply.status;
                self.add_counts(reply.rows, reply.affected);
                Step::Ready
            }
            Ok(ScanOutcome::Failed { error, reply, consumed }) => {
                *rest = &rest[consumed..];
                self.status = reply.status;
                self.add_counts(reply.rows, reply.affected);
                self.failure = Some(error.op_error());
                Step::Ready
            }
            Ok(ScanOutcome::LocalFile { .. }) => Step::End(file_request_error()),
            Ok(ScanOutcome::Fatal(error)) => Step::End(error.op_error()),
            Err(error) => Step::End(connection_lost(&error)),
        }
    }

    /// Adds to the counts of rows that were returned and changed since they were last reported.
    fn add_counts(&mut self, returned: u64, changed: u64) {
        self.counted = self.counted.plus(RowCounts { returned, changed });
    }

    /// Reads an answer packet by packet, and keeps the rows of each result.
    fn keep_packets(&mut self, rest: &mut &[u8]) -> Step {
        loop {
            let done = match self.scanner.next_event(rest) {
                Ok(None) => return Step::All,
                Ok(Some(Event::Columns(_))) => {
                    self.columns.clear();
                    self.described = true;
                    if self.kept.begin_result().is_none() {
                        return Step::End(endless_results_error());
                    }
                    continue;
                }
                Ok(Some(Event::Column(column))) => {
                    self.columns.push_column(&column);
                    continue;
                }
                Ok(Some(Event::TextRow(row))) => {
                    self.counted.returned += 1;
                    if let Some(result) = self.kept.current_row() {
                        keep_text(result, row, self.rows);
                    }
                    continue;
                }
                Ok(Some(Event::BinaryRow(row))) => {
                    self.counted.returned += 1;
                    let types = &current_columns(&self.columns, known_columns(&mut self.forms, self.asked)).types;
                    let rows = self.rows;
                    let read = self.kept.current_row().map_or(Ok(()), |result| keep_binary(result, row, types, rows));
                    match read {
                        Ok(()) => continue,
                        Err(error) => return Step::End(connection_lost(&error)),
                    }
                }
                Ok(Some(Event::Done(ok))) => ok,
                Ok(Some(Event::Error(error))) => {
                    self.described = false;
                    // Unsolicited: the server is about to close the connection.
                    if self.state != DialogueState::Waiting {
                        return Step::End(error.op_error());
                    }
                    self.failure = Some(error.op_error());
                    return Step::Ready;
                }
                Ok(Some(Event::LocalFile { .. })) => return Step::End(file_request_error()),
                Ok(Some(_)) => continue,
                Err(error) => return Step::End(connection_lost(&error)),
            };
            self.status = done.status;
            self.add_counts(0, done.affected_rows);
            if !self.end_result() {
                return Step::End(endless_results_error());
            }
            if !done.status.more_results() {
                return Step::Ready;
            }
        }
    }

    /// Ends one result of the answer and names its columns. `false`: there are too many results.
    fn end_result(&mut self) -> bool {
        if !std::mem::take(&mut self.described) {
            return self.kept.begin_result().is_some();
        }
        let mut known = known_columns(&mut self.forms, self.asked);
        // From now on the server assumes that these columns are known.
        if let (Some(known), false) = (&mut known, self.columns.types.is_empty()) {
            std::mem::swap(*known, &mut self.columns);
            self.columns.clear();
        }
        if let Some(result) = self.kept.current_row() {
            result.columns.clone_from(&current_columns(&self.columns, known).names);
        }
        true
    }
}

impl Conversation for Connection {
    const PARTING: Parting = Parting::Awaited;

    /// State of the dialogue with the server.
    fn state(&self) -> &DialogueState {
        &self.state
    }

    /// State of the dialogue with the server, to be changed.
    fn state_mut(&mut self) -> &mut DialogueState {
        &mut self.state
    }

    /// Encodes an operation's statement with its parameters, and begins to wait for the answer.
    fn encode_request<'a>(&'a mut self, op: &StatementOp, text: &'a mut Vec<u8>) -> Result<&'a [u8], OpError> {
        if let DialogueState::Gone(error) = &self.state {
            return Err(error.clone());
        }
        let (command, request) = match self.forms.get_mut(op.statement) {
            Some(Form::Binary(binary)) => {
                (Command::Execute, binary.encode_request(&op.parameters).map_err(encoding_error)?)
            }
            Some(Form::Text(bytes)) => (Command::Query, bytes.as_slice()),
            None => {
                text.clear();
                command::write_query(own_words(&op.text), text).map_err(encoding_error)?;
                (Command::Query, text.as_slice())
            }
        };
        self.asked = op.statement;
        self.kept.forget_rows();
        self.answer_bytes = 0;
        self.scanner.expect(command);
        if self.rows != op.rows {
            self.rows = op.rows;
            self.scanner.set_rows(match op.rows {
                Rows::Discard => mysql::Rows::Skip,
                Rows::Keep | Rows::KeepAll => mysql::Rows::Keep,
            });
        }
        self.state = DialogueState::Waiting;
        Ok(request)
    }

    /// Whether a transaction is open or may be, since autocommit is off.
    fn needs_rollback(&self) -> bool {
        self.status.is_in_transaction() || !self.status.has_autocommit()
    }

    /// Whether a transaction is open.
    /// Without autocommit the next statement begins one, and none is open meanwhile.
    fn is_in_transaction(&self) -> bool {
        self.status.is_in_transaction()
    }

    const ROLLBACK: &'static str = "ROLLBACK";

    /// The session's number at the server.
    fn session_number(&self) -> Option<u32> {
        Some(self.thread_id)
    }

    /// Rows that were kept of the last answer.
    fn kept_rows(&self) -> &[KeptRow] {
        self.kept.kept_rows()
    }

    /// Reads received bytes, and notes in `heard` each answer that they end.
    fn read_received(&mut self, received: &[u8], heard: &mut Heard, _reply: &mut Vec<u8>) {
        let mut rest = received;
        heard.end = add_answer_bytes(&mut self.answer_bytes, received);
        while !rest.is_empty() && heard.end.is_none() {
            let step = match self.rows {
                Rows::Discard => self.skip_answer(&mut rest),
                Rows::Keep | Rows::KeepAll => self.keep_packets(&mut rest),
            };
            match step {
                Step::All => return,
                Step::End(error) => heard.end = Some(error),
                Step::Ready => {
                    heard.rows = heard.rows.plus(std::mem::take(&mut self.counted));
                    self.end_answer(heard);
                }
            }
        }
    }

    /// Writes the protocol's goodbye.
    fn write_farewell(out: &mut Vec<u8>) {
        command::write_quit(out);
    }
}

/// The columns known from a statement's preparation; `None` for a statement sent as text.
fn known_columns(forms: &mut [Form], statement: usize) -> Option<&mut Columns> {
    match forms.get_mut(statement) {
        Some(Form::Binary(binary)) => Some(&mut binary.columns),
        _ => None,
    }
}

/// Picks the columns of the current result: those that came with it, or the known ones.
fn current_columns<'a>(came: &'a Columns, known: Option<&'a mut Columns>) -> &'a Columns {
    match known {
        Some(known) if came.types.is_empty() => known,
        _ => came,
    }
}

/// Makes the error that the server asked for a file of this machine under load.
fn file_request_error() -> OpError {
    connection_lost("the server asked for a file of this machine, which étalon does not offer under load")
}
