//! A lane's connection: requests are encoded once per statement and patched in place; answers are scanned by message
//! headers.

use std::sync::Arc;

use wire::WireError;
use wire::postgres::{self, Event, ScanOutcome, Scanner, TransactionStatus, frontend};

use super::opening::Opening;
use super::statement::{Encoded, Shape};
use crate::server::dialogue::{
    Conversation, DialogueState, Heard, LastRows, Parting, ServerError as _, endless_results_error,
};
use load::lane::{ErrorClass, KeptRow, OpError, OpOutcome, RowCounts, SyncPoint, connection_lost};
use workloads::transactions::{Flow, Rows, StatementOp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipeline {
    Closed,
    /// A `Sync` is owed.
    Open,
    /// A failure came: answers are read until all have come, and then the transaction is rolled back.
    Clearing,
}

enum Step {
    All,
    /// An answer is complete.
    Ready(TransactionStatus),
    /// The server waits for `COPY` data.
    CopyIn,
    End(OpError),
}

pub struct Connection {
    scanner: Scanner,
    /// Empty for text statements.
    statements: Arc<[Encoded]>,
    /// Session number from the login, if it is the server's.
    number: Option<u32>,
    /// The status that the server last reported.
    transaction: TransactionStatus,
    state: DialogueState,
    /// Outstanding answers.
    owed: u32,
    pipeline: Pipeline,
    /// The failure that was not yet reported to the client.
    failure: Option<OpError>,
    rows: Rows,
    kept: LastRows,
    /// The current result's columns are known.
    described: bool,
    /// Rows of answers since they were last reported.
    counted: RowCounts,
    /// Ahead of each transaction; `None`: the session is this client's own.
    opening: Option<Opening>,
    /// Results to come of the opening, which are not the script's.
    opening_results: usize,
    /// Memory for an opening and a text.
    words: String,
}

/// Makes the error that an answer which the script keeps is not UTF-8.
/// A script's variables hold text in UTF-8, and what is no UTF-8 would come back to the server as other bytes.
fn not_utf8_error() -> OpError {
    let message = "an answer that the script keeps in variables is not UTF-8: have the statement return it as \
                   `encode(convert_to(…, 'SQL_ASCII'), 'hex')`";
    OpError { class: ErrorClass::Statement, message: message.to_owned() }
}

/// Makes the error of a server that answers what was not asked.
fn unasked_answer_error() -> OpError {
    connection_lost(&WireError::Protocol("it answered a request that was not made"))
}

impl Connection {
    /// Makes the connection of a session that is logged in, with its prepared statements.
    pub(super) fn new(
        scanner: Scanner,
        statements: Arc<[Encoded]>,
        number: Option<u32>,
        opening: Option<Opening>,
    ) -> Connection {
        let mut connection = Connection {
            scanner,
            statements,
            number,
            transaction: TransactionStatus::Idle,
            state: DialogueState::Free,
            owed: 0,
            pipeline: Pipeline::Closed,
            failure: None,
            rows: Rows::Keep,
            kept: LastRows::default(),
            described: false,
            counted: RowCounts::default(),
            opening,
            opening_results: 0,
            words: String::new(),
        };
        connection.expect_answer(Rows::Discard);
        connection
    }

    /// Gets ready for an answer whose rows are to be discarded or kept.
    fn expect_answer(&mut self, rows: Rows) {
        self.kept.forget_rows();
        self.described = false;
        if self.rows != rows {
            self.rows = rows;
            self.scanner.set_rows(match rows {
                Rows::Discard => postgres::Rows::Skip,
                Rows::Keep | Rows::KeepAll => postgres::Rows::Keep,
            });
        }
    }

    /// Encodes an operation, with the opening where it may begin a transaction: after a `BEGIN`, or else ahead.
    /// While a pipeline's answers are outstanding that is not known, and within a transaction it changes nothing.
    fn encode_op(&mut self, op: &StatementOp, text: &mut Vec<u8>) -> Result<(), WireError> {
        let may_begin =
            self.pipeline == Pipeline::Closed && (self.owed > 0 || self.transaction == TransactionStatus::Idle);
        let opening = if may_begin { self.opening.as_ref() } else { None };
        self.opening_results = 0;
        match (self.statements.get(op.statement), opening) {
            (Some(statement), Some(opening)) if statement.begins => {
                statement.append_request(Shape::Pipelined, &op.parameters, text)?;
                self.opening_results = opening.encode_after(text);
                if op.flow == Flow::Wait {
                    frontend::write_sync(text);
                }
            }
            (Some(statement), opening) => {
                self.opening_results = opening.map_or(0, |opening| opening.encode_ahead(text));
                statement.append_request(Shape::for_flow(op.flow, op.rows), &op.parameters, text)?;
            }
            (None, Some(opening)) => self.opening_results = opening.encode_query(&op.text, &mut self.words, text)?,
            (None, None) => frontend::write_query(&op.text, text)?,
        }
        Ok(())
    }

    /// Appends the end of a pipeline to `out`, and notes that one more answer is owed.
    fn append_sync(&mut self, out: &mut Vec<u8>) {
        frontend::write_sync(out);
        self.owed += 1;
        self.pipeline = Pipeline::Closed;
    }

    /// Appends a `ROLLBACK` to `out` if a transaction is open, else returns success; nothing may be outstanding.
    fn roll_back(&mut self, out: &mut Vec<u8>) -> Option<OpOutcome> {
        // The pipeline's failures are the reason, or follow from it.
        self.failure = None;
        self.pipeline = Pipeline::Closed;
        self.state = DialogueState::Free;
        if self.transaction == TransactionStatus::Idle {
            return Some(OpOutcome::Ok);
        }
        if let Err(error) = frontend::write_query(Connection::ROLLBACK, out) {
            return Some(OpOutcome::Failed(connection_lost(&error)));
        }
        self.owed += 1;
        self.state = DialogueState::Waiting;
        None
    }

    /// Appends to `reply` that there are no data for a `COPY`: no script has any.
    /// The server has skipped a prepared request's end.
    fn refuse_copy(&self, out: &mut Vec<u8>) {
        // A simple query has no end to skip.
        if frontend::copy_fail("étalon's scripts have no data for COPY", out).is_ok() && !self.statements.is_empty() {
            frontend::write_sync(out);
        }
    }

    /// Skips to the end of an answer by message headers, and counts its rows.
    fn skip_answer(&mut self, rest: &mut &[u8]) -> Step {
        match self.scanner.scan_to_ready(rest) {
            Ok(ScanOutcome::NeedMore) => Step::All,
            Ok(ScanOutcome::Ready { reply, consumed }) => {
                *rest = &rest[consumed..];
                self.add_counts(reply.rows, reply.changed);
                Step::Ready(reply.status)
            }
            Ok(ScanOutcome::Failed { error, reply, consumed }) => {
                *rest = &rest[consumed..];
                self.failure.get_or_insert_with(|| error.op_error());
                self.add_counts(reply.rows, reply.changed);
                Step::Ready(reply.status)
            }
            Ok(ScanOutcome::CopyIn { consumed, .. }) => {
                *rest = &rest[consumed..];
                Step::CopyIn
            }
            Ok(ScanOutcome::Fatal(error)) => Step::End(error.op_error()),
            Err(error) => Step::End(connection_lost(&error)),
        }
    }

    /// Adds rows returned and changed to those not reported yet.
    fn add_counts(&mut self, returned: u64, changed: u64) {
        self.counted = self.counted.plus(RowCounts { returned, changed });
    }

    /// Reads an answer message by message, and keeps each result's rows.
    fn keep_messages(&mut self, rest: &mut &[u8]) -> Step {
        loop {
            match self.scanner.next_event(rest) {
                Ok(None) => return Step::All,
                Ok(Some(Event::Columns(fields))) => {
                    self.described = true;
                    if self.kept.begin_result().is_none() {
                        return Step::End(endless_results_error());
                    }
                    self.kept.name_columns(fields.iter());
                }
                Ok(Some(Event::Row(row))) => {
                    if !self.kept.keep_texts(row.iter(), self.rows) {
                        self.failure.get_or_insert_with(not_utf8_error);
                    }
                }
                Ok(Some(Event::Done(_))) if self.opening_results > 0 => self.opening_results -= 1,
                Ok(Some(Event::Done(_) | Event::EmptyQuery)) => {
                    if !std::mem::take(&mut self.described) && self.kept.begin_result().is_none() {
                        return Step::End(endless_results_error());
                    }
                }
                Ok(Some(Event::Error(error))) if error.ends_connection() => {
                    return Step::End(error.op_error());
                }
                Ok(Some(Event::Error(error))) => _ = self.failure.get_or_insert_with(|| error.op_error()),
                Ok(Some(Event::Ready(status))) => {
                    self.add_counts(self.scanner.rows_seen(), self.scanner.changed_seen());
                    return Step::Ready(status);
                }
                Ok(Some(Event::CopyIn)) => return Step::CopyIn,
                Ok(Some(_)) => {}
                Err(error) => return Step::End(connection_lost(&error)),
            }
        }
    }
}

impl Conversation for Connection {
    const PARTING: Parting = Parting::Said;
    const PIPELINES: bool = true;
    const ROLLBACK: &'static str = "ROLLBACK";

    fn state(&self) -> &DialogueState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut DialogueState {
        &mut self.state
    }

    /// Encodes an operation, and begins to wait for its answer unless it goes ahead in a pipeline.
    fn encode_request<'a>(&'a mut self, op: &StatementOp, text: &'a mut Vec<u8>) -> Result<&'a [u8], OpError> {
        if let DialogueState::Gone(error) = &self.state {
            return Err(error.clone());
        }
        if op.flow == Flow::Wait {
            self.expect_answer(op.rows);
        }
        text.clear();
        self.encode_op(op, text)
            .map_err(|error| OpError { class: ErrorClass::Statement, message: error.to_string() })?;
        match op.flow {
            Flow::Pipelined => self.pipeline = Pipeline::Open,
            Flow::Wait => {
                self.owed += 1;
                self.state = DialogueState::Waiting;
            }
        }
        Ok(text)
    }

    /// Appends what ends a pipeline to `out`, and waits for the answer at the end only.
    fn encode_sync(&mut self, point: SyncPoint, out: &mut Vec<u8>) -> Result<(), OpError> {
        if let DialogueState::Gone(error) = &self.state {
            return Err(error.clone());
        }
        self.expect_answer(Rows::Discard);
        self.append_sync(out);
        if point == SyncPoint::End {
            self.state = DialogueState::Waiting;
        }
        Ok(())
    }

    /// Reads everything received, and says in `heard` whether the answer is complete.
    fn read_received(&mut self, received: &[u8], heard: &mut Heard, reply: &mut Vec<u8>) {
        let mut rest = received;
        while !rest.is_empty() && heard.end.is_none() {
            let step = match self.rows {
                Rows::Discard => self.skip_answer(&mut rest),
                Rows::Keep | Rows::KeepAll => self.keep_messages(&mut rest),
            };
            match step {
                Step::All => break,
                Step::Ready(status) => {
                    // Unsolicited: taken for an answer it would shift all later ones.
                    let Some(owed) = self.owed.checked_sub(1) else {
                        heard.end = Some(unasked_answer_error());
                        break;
                    };
                    self.transaction = status;
                    self.owed = owed;
                }
                Step::CopyIn => self.refuse_copy(reply),
                Step::End(error) => heard.end = Some(error),
            }
        }
        heard.rows = heard.rows.plus(std::mem::take(&mut self.counted));
        if self.owed > 0 || self.state != DialogueState::Waiting {
            return;
        }
        if self.pipeline == Pipeline::Clearing {
            heard.answer = self.roll_back(reply);
        } else {
            self.state = DialogueState::Free;
            heard.answer = Some(self.failure.take().map_or(OpOutcome::Ok, OpOutcome::Failed));
        }
    }

    /// Tests whether a transaction is open or failed.
    fn needs_rollback(&self) -> bool {
        self.transaction != TransactionStatus::Idle
    }

    /// Ends a broken pipeline, and rolls back the open transaction.
    fn recover_client(&mut self, out: &mut Vec<u8>) -> Option<OpOutcome> {
        if self.state != DialogueState::Free {
            return Some(OpOutcome::Ok);
        }
        self.expect_answer(Rows::Discard);
        if self.pipeline == Pipeline::Open {
            self.append_sync(out);
        }
        if self.owed == 0 {
            return self.roll_back(out);
        }
        self.pipeline = Pipeline::Clearing;
        self.state = DialogueState::Waiting;
        None
    }

    /// Returns the rows that the last answer was asked to keep.
    fn kept_rows(&self) -> &[KeptRow] {
        self.kept.kept_rows()
    }

    /// Number of the server's process for this session, if no pooler hides it.
    fn session_number(&self) -> Option<u32> {
        self.number
    }

    /// Appends the message that ends the session.
    fn write_farewell(out: &mut Vec<u8>) {
        frontend::write_terminate(out);
    }
}
