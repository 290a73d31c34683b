//! A lane's connection: requests are encoded once per statement and patched in place; answers are scanned by packet
//! headers.

use wire::mysql;
use wire::mysql::{Command, Event, ScanOutcome, Scanner, ServerStatus, command};

use super::own_words;
use super::row::{keep_binary, keep_text};
use super::statement::{Columns, Form};
use crate::server::dialogue::{
    Conversation, DialogueState, Heard, LastRows, Parting, ServerError as _, misfit, too_long, without_end,
};
use load::lane::{ErrorClass, KeptRow, OpError, OpOutcome, RowCounts, lost};
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

    fn end_answer(&mut self, heard: &mut Heard) {
        match self.failure.take() {
            Some(error) if error.class == ErrorClass::ConnectionLost => heard.end = Some(error),
            failure => {
                self.state = DialogueState::Free;
                heard.answer = Some(failure.map_or(OpOutcome::Ok, OpOutcome::Failed));
            }
        }
    }

    /// Skips to the end of an answer by packet headers.
    fn scan(&mut self, rest: &mut &[u8]) -> Step {
        match self.scanner.scan_to_end(rest) {
            Ok(ScanOutcome::NeedMore) => Step::All,
            Ok(ScanOutcome::Done { reply, consumed }) => {
                *rest = &rest[consumed..];
                self.status = reply.status;
                self.count(reply.rows, reply.affected);
                Step::Ready
            }
            Ok(ScanOutcome::Failed { error, reply, consumed }) => {
                *rest = &rest[consumed..];
                self.status = reply.status;
                self.count(reply.rows, reply.affected);
                self.failure = Some(error.op_error());
                Step::Ready
            }
            Ok(ScanOutcome::LocalFile { .. }) => Step::End(wants_a_file()),
            Ok(ScanOutcome::Fatal(error)) => Step::End(error.op_error()),
            Err(error) => Step::End(lost(&error)),
        }
    }

    fn count(&mut self, returned: u64, changed: u64) {
        self.counted = self.counted.plus(RowCounts { returned, changed });
    }

    /// Packet by packet, keeping each result's rows.
    fn keep(&mut self, rest: &mut &[u8]) -> Step {
        loop {
            let done = match self.scanner.next(rest) {
                Ok(None) => return Step::All,
                Ok(Some(Event::Columns(_))) => {
                    self.columns.clear();
                    self.described = true;
                    if self.kept.begin().is_none() {
                        return Step::End(without_end());
                    }
                    continue;
                }
                Ok(Some(Event::Column(column))) => {
                    self.columns.push(&column);
                    continue;
                }
                Ok(Some(Event::TextRow(row))) => {
                    self.counted.returned += 1;
                    if let Some(result) = self.kept.last() {
                        keep_text(result, row, self.rows);
                    }
                    continue;
                }
                Ok(Some(Event::BinaryRow(row))) => {
                    self.counted.returned += 1;
                    let types = &described(&self.columns, known(&mut self.forms, self.asked)).types;
                    let rows = self.rows;
                    let read = self.kept.last().map_or(Ok(()), |result| keep_binary(result, row, types, rows));
                    match read {
                        Ok(()) => continue,
                        Err(error) => return Step::End(lost(&error)),
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
                Ok(Some(Event::LocalFile { .. })) => return Step::End(wants_a_file()),
                Ok(Some(_)) => continue,
                Err(error) => return Step::End(lost(&error)),
            };
            self.status = done.status;
            self.count(0, done.affected_rows);
            if !self.end_result() {
                return Step::End(without_end());
            }
            if !done.status.more_results() {
                return Step::Ready;
            }
        }
    }

    /// `false`: too many results.
    fn end_result(&mut self) -> bool {
        if !std::mem::take(&mut self.described) {
            return self.kept.begin().is_some();
        }
        let mut known = known(&mut self.forms, self.asked);
        // From now on the server assumes that these columns are known.
        if let (Some(known), false) = (&mut known, self.columns.types.is_empty()) {
            std::mem::swap(*known, &mut self.columns);
            self.columns.clear();
        }
        if let Some(result) = self.kept.last() {
            result.columns.clone_from(&described(&self.columns, known).names);
        }
        true
    }
}

impl Conversation for Connection {
    const PARTING: Parting = Parting::Awaited;

    fn state(&self) -> &DialogueState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut DialogueState {
        &mut self.state
    }

    fn request<'a>(&'a mut self, op: &StatementOp, text: &'a mut Vec<u8>) -> Result<&'a [u8], OpError> {
        if let DialogueState::Gone(error) = &self.state {
            return Err(error.clone());
        }
        let (command, request) = match self.forms.get_mut(op.statement) {
            Some(Form::Binary(binary)) => (Command::Execute, binary.request(&op.parameters).map_err(misfit)?),
            Some(Form::Text(bytes)) => (Command::Query, bytes.as_slice()),
            None => {
                text.clear();
                command::query(own_words(&op.text), text).map_err(misfit)?;
                (Command::Query, text.as_slice())
            }
        };
        self.asked = op.statement;
        self.kept.clear();
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

    fn needs_rollback(&self) -> bool {
        self.status.in_transaction() || !self.status.autocommit()
    }

    /// Reports a transaction that is open: without autocommit the next statement begins one, and none is open
    /// meanwhile.
    fn is_in_transaction(&self) -> bool {
        self.status.in_transaction()
    }

    const ROLLBACK: &'static str = "ROLLBACK";

    fn session_number(&self) -> Option<u32> {
        Some(self.thread_id)
    }

    fn kept(&self) -> &[KeptRow] {
        self.kept.kept()
    }

    fn read(&mut self, received: &[u8], heard: &mut Heard, _reply: &mut Vec<u8>) {
        let mut rest = received;
        heard.end = too_long(&mut self.answer_bytes, received);
        while !rest.is_empty() && heard.end.is_none() {
            let step = match self.rows {
                Rows::Discard => self.scan(&mut rest),
                Rows::Keep | Rows::KeepAll => self.keep(&mut rest),
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

    fn farewell(out: &mut Vec<u8>) {
        command::quit(out);
    }
}

fn known(forms: &mut [Form], statement: usize) -> Option<&mut Columns> {
    match forms.get_mut(statement) {
        Some(Form::Binary(binary)) => Some(&mut binary.columns),
        _ => None,
    }
}

/// Picks the columns of the current result: those that came, or the known ones.
fn described<'a>(came: &'a Columns, known: Option<&'a mut Columns>) -> &'a Columns {
    match known {
        Some(known) if came.types.is_empty() => known,
        _ => came,
    }
}

fn wants_a_file() -> OpError {
    lost("the server asked for a file of this machine, which étalon does not offer under load")
}
