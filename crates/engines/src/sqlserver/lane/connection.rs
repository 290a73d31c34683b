//! A lane's connection. Requests are encoded once per statement, parameters behind them. Answers are read by tokens,
//! since rows have no length; values are decoded only where a script asks.

use wire::Result;
use wire::tds::{Cell, Column, Done, RequestSession, Row, Scan, Scanner, ServerMessage, Sink};

use super::own_words;
use super::statement::Statement;
use crate::server::dialogue::{
    Conversation, DialogueState, Heard, LastRows, Parting, ServerError, add_answer_bytes, encoding_error,
    endless_results_error,
};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, OpError, OpOutcome, RowCounts, connection_lost};
use workloads::transactions::{Rows, StatementOp};

/// "Could not find prepared statement with handle".
const HANDLE_UNKNOWN: i32 = 8179;

pub struct Connection {
    scanner: Scanner,
    /// Empty for text statements.
    statements: Vec<Statement>,
    state: DialogueState,
    answer_bytes: u64,
    asked: usize,
    hearing: Hearing,
}

struct Hearing {
    rows: Rows,
    failure: Option<ServerMessage>,
    handle: Option<i32>,
    kept: LastRows,
    /// A result had more rows than are kept.
    too_many: bool,
    /// The current result has columns.
    described: bool,
    /// Rows of answers since they were last reported.
    counted: RowCounts,
}

impl Sink for Hearing {
    /// Begins a kept result with its columns' names.
    fn columns(&mut self, columns: &[Column]) {
        if self.rows.are_kept() {
            self.described = true;
            if let Some(result) = self.begin_result() {
                result.columns.extend(columns.iter().map(|column| column.name.clone()));
            }
        }
    }

    /// Counts a row, and keeps it if rows are wanted.
    fn row(&mut self, row: Row<'_>) -> Result<()> {
        self.counted.returned += 1;
        if self.rows.are_kept()
            && let Some(result) = self.kept.current_row()
        {
            self.rows.begin_row(result);
            result.values.extend(row.cells()?.into_iter().map(datum_of_cell));
        }
        Ok(())
    }

    /// Counts the rows that a statement changed, and begins an empty result for one without columns.
    fn done(&mut self, done: Done) {
        self.counted.changed = self.counted.changed.saturating_add(done.changed_rows());
        let is_statement = !done.of_procedure && (done.in_procedure || done.command != 0);
        if self.rows.are_kept() && !std::mem::take(&mut self.described) && is_statement && !done.is_error() {
            self.begin_result();
        }
    }

    /// Keeps the first error of an answer.
    fn error(&mut self, error: ServerMessage) {
        self.failure.get_or_insert(error);
    }

    /// Takes the handle of the statement that was prepared.
    fn return_value(&mut self, value: Cell) {
        if let Cell::Int(handle) = value {
            self.handle = i32::try_from(handle).ok();
        }
    }
}

impl Hearing {
    /// Begins another kept result. `None`: there are too many.
    fn begin_result(&mut self) -> Option<&mut KeptRow> {
        let begun = self.kept.begin_result();
        self.too_many |= begun.is_none();
        begun
    }
}

/// Turns a cell of the protocol into a datum.
pub(crate) fn datum_of_cell(cell: Cell) -> Datum {
    match cell {
        Cell::Null => Datum::Null,
        Cell::Int(number) => Datum::Int(number),
        Cell::Double(number) => Datum::Double(number),
        other => other.to_text().map_or(Datum::Null, |text| Datum::Text(text.into())),
    }
}

impl Connection {
    /// Makes a lane's connection of a session that is logged in.
    pub(super) fn new(scanner: Scanner, statements: Vec<Statement>) -> Connection {
        let hearing = Hearing {
            rows: Rows::Discard,
            failure: None,
            handle: None,
            kept: LastRows::default(),
            too_many: false,
            described: false,
            counted: RowCounts::default(),
        };
        Connection { scanner, statements, state: DialogueState::Free, answer_bytes: 0, asked: 0, hearing }
    }

    /// Notes in `heard` how the answer ended, and takes over the statement's handle.
    fn end_answer(&mut self, heard: &mut Heard) {
        if self.state != DialogueState::Waiting {
            // Unsolicited: the server is about to close the connection.
            let error = self.hearing.failure.take();
            heard.end =
                Some(error.as_ref().map_or_else(
                    || connection_lost("the server speaks without having been asked"),
                    ServerError::op_error,
                ));
            return;
        }
        let failure = self.hearing.failure.take();
        if let Some(statement) = self.statements.get_mut(self.asked) {
            if let Some(handle) = self.hearing.handle.take() {
                statement.execute_by_handle(handle);
            }
            if failure.as_ref().is_some_and(|error| error.number == HANDLE_UNKNOWN) {
                statement.forget_handle();
            }
        }
        let error = failure.map(|error| error.op_error());
        match error {
            _ if self.hearing.too_many => heard.end = Some(endless_results_error()),
            Some(error) if error.class == ErrorClass::ConnectionLost => heard.end = Some(error),
            error => {
                self.state = DialogueState::Free;
                heard.answer = Some(error.map_or(OpOutcome::Ok, OpOutcome::Failed));
            }
        }
    }
}

impl Conversation for Connection {
    const PARTING: Parting = Parting::Unsaid;

    /// State of the dialogue with the server.
    fn state(&self) -> &DialogueState {
        &self.state
    }

    /// State of the dialogue with the server, to be changed.
    fn state_mut(&mut self) -> &mut DialogueState {
        &mut self.state
    }

    /// Encodes an operation's statement with its parameters, and begins to wait for the answer.
    fn encode_request<'a>(
        &'a mut self,
        op: &StatementOp,
        text: &'a mut Vec<u8>,
    ) -> std::result::Result<&'a [u8], OpError> {
        if let DialogueState::Gone(error) = &self.state {
            return Err(error.clone());
        }
        let session = RequestSession::from_scanner(&self.scanner);
        let request = match self.statements.get_mut(op.statement) {
            Some(statement) => statement.encode_request(&op.parameters, session).map_err(encoding_error)?,
            None => {
                text.clear();
                wire::tds::write_batch(own_words(&op.text), session, text).map_err(encoding_error)?;
                text.as_slice()
            }
        };
        self.asked = op.statement;
        self.answer_bytes = 0;
        let hearing = &mut self.hearing;
        (hearing.rows, hearing.too_many, hearing.described) = (op.rows, false, false);
        hearing.kept.forget_rows();
        (hearing.failure, hearing.handle) = (None, None);
        self.state = DialogueState::Waiting;
        Ok(request)
    }

    /// Reads received bytes, and notes in `heard` each answer that they end.
    fn read_received(&mut self, received: &[u8], heard: &mut Heard, _reply: &mut Vec<u8>) {
        let mut rest = received;
        heard.end = add_answer_bytes(&mut self.answer_bytes, received);
        while !rest.is_empty() && heard.end.is_none() {
            match self.scanner.scan(rest, &mut self.hearing) {
                Ok(Scan::NeedMore) => return,
                Ok(Scan::Ready { consumed }) => {
                    rest = &rest[consumed..];
                    heard.rows = heard.rows.plus(std::mem::take(&mut self.hearing.counted));
                    self.end_answer(heard);
                }
                Err(error) => heard.end = Some(connection_lost(&error)),
            }
        }
    }

    /// Whether a transaction is open.
    /// The server rolls back a deadlock's victim and says so; most other errors leave the transaction open.
    fn needs_rollback(&self) -> bool {
        self.scanner.transaction() != 0
    }

    const ROLLBACK: &'static str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION";

    /// Rows that were kept of the last answer.
    fn kept_rows(&self) -> &[KeptRow] {
        self.hearing.kept.kept_rows()
    }
}
