//! One connection of the native lane: what it is doing, and what it hears.

use host::reactor::Token;
use wire::WireError;
use wire::postgres::{self, Event, Fields, Row, ScanOutcome, Scanner, TransactionStatus};

use super::op_error;
use crate::dataset::Datum;
use crate::lane::{KeptRow, OpError, lost};
use crate::systems::server::dialogue::tls::Tls;
use crate::workloads::transactions::Rows;

/// What a connection is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its client does not wait for it.
    Free,
    /// Its client waits until every answer has come.
    Waiting,
    /// Its client has failed, and waits until every answer of its pipeline has come.
    Clearing,
    /// It is gone, for this reason.
    Gone(OpError),
}

/// Whether requests were sent whose end the server was not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipeline {
    Closed,
    /// Yes: a `Sync` is to come.
    Open,
}

/// What came besides answers.
#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    /// The server waits for the data of a `COPY`.
    CopyIn,
    /// The connection cannot be used any more.
    End(OpError),
}

/// What the next bytes came to.
enum Step {
    /// They are used up.
    All,
    /// An answer is complete.
    Ready(TransactionStatus),
    Heard(Heard),
}

pub(super) struct Connection {
    pub(super) token: Token,
    pub(super) tls: Option<Tls>,
    scanner: Scanner,
    /// The number of the server's process, as the login told it.
    pub(super) process_id: u32,
    /// Where the session stands, as the server said last.
    pub(super) block: TransactionStatus,
    pub(super) state: State,
    /// Answers that are to come.
    pub(super) owed: u32,
    pub(super) pipeline: Pipeline,
    /// The first failure since the client was last told of one.
    pub(super) failure: Option<OpError>,
    rows: Rows,
    /// Results of the last operation that asked for rows; those before `results` count.
    kept: Vec<KeptRow>,
    results: usize,
    /// Whether the result that comes has told its columns.
    described: bool,
}

fn unasked() -> OpError {
    lost(&WireError::Protocol("it answered a request that was not made"))
}

impl Connection {
    pub(super) fn new(token: Token, tls: Option<Tls>, scanner: Scanner, process_id: u32) -> Connection {
        Connection {
            token,
            tls,
            scanner,
            process_id,
            block: TransactionStatus::Idle,
            state: State::Free,
            owed: 0,
            pipeline: Pipeline::Closed,
            failure: None,
            rows: Rows::Discard,
            kept: Vec::new(),
            results: 0,
            described: false,
        }
    }

    /// Says what becomes of the rows of the request that is about to be sent.
    pub(super) fn expect(&mut self, rows: Rows) {
        self.results = 0;
        self.described = false;
        if self.rows != rows {
            self.rows = rows;
            self.scanner.set_rows(match rows {
                Rows::Discard => postgres::Rows::Skip,
                Rows::Keep => postgres::Rows::Keep,
            });
        }
    }

    /// What was kept of the last operation's rows.
    pub(super) fn kept(&self) -> &[KeptRow] {
        &self.kept[..self.results]
    }

    /// Reads what the reactor received, to its last byte. `plain` is memory for what is decrypted, and `sealed` takes what
    /// TLS itself has to send.
    pub(super) fn receive(&mut self, received: &[u8], plain: &mut Vec<u8>, sealed: &mut Vec<u8>) -> Heard {
        if self.tls.is_none() {
            return self.read(received);
        }
        let mut rest = received;
        let mut heard = Heard::Nothing;
        while let (Some(tls), false) = (&mut self.tls, rest.is_empty()) {
            plain.clear();
            if let Err(cause) = tls.open(&mut rest, plain).and_then(|()| tls.take_sealed(sealed)) {
                return Heard::End(lost(&cause));
            }
            if plain.is_empty() {
                continue;
            }
            match self.read(plain) {
                Heard::Nothing => {}
                end @ Heard::End(_) => return end,
                other => heard = other,
            }
        }
        heard
    }

    /// Reads what came, to its last byte.
    fn read(&mut self, received: &[u8]) -> Heard {
        let mut rest = received;
        let mut heard = Heard::Nothing;
        loop {
            let step = match self.rows {
                Rows::Discard => self.scan(&mut rest),
                Rows::Keep => self.keep(&mut rest),
            };
            match step {
                Step::All => return heard,
                Step::Ready(status) => {
                    // Taken for the answer to the next request it would spoil every count from here on.
                    let Some(owed) = self.owed.checked_sub(1) else { return Heard::End(unasked()) };
                    self.block = status;
                    self.owed = owed;
                }
                Step::Heard(end @ Heard::End(_)) => return end,
                Step::Heard(other) => heard = other,
            }
            if rest.is_empty() {
                return heard;
            }
        }
    }

    /// Goes to the end of an answer by the headers of its messages.
    fn scan(&mut self, rest: &mut &[u8]) -> Step {
        match self.scanner.scan_to_ready(rest) {
            Ok(ScanOutcome::NeedMore) => Step::All,
            Ok(ScanOutcome::Ready { reply, consumed }) => {
                *rest = &rest[consumed..];
                Step::Ready(reply.status)
            }
            Ok(ScanOutcome::Failed { error, reply, consumed }) => {
                *rest = &rest[consumed..];
                self.failure.get_or_insert_with(|| op_error(&error));
                Step::Ready(reply.status)
            }
            Ok(ScanOutcome::CopyIn { consumed, .. }) => {
                *rest = &rest[consumed..];
                Step::Heard(Heard::CopyIn)
            }
            Ok(ScanOutcome::Fatal(error)) => Step::Heard(Heard::End(op_error(&error))),
            Err(error) => Step::Heard(Heard::End(lost(&error))),
        }
    }

    /// Goes on message by message, and keeps the last row of each result.
    fn keep(&mut self, rest: &mut &[u8]) -> Step {
        loop {
            match self.scanner.next(rest) {
                Ok(None) => return Step::All,
                Ok(Some(Event::Columns(fields))) => {
                    begin_result(&mut self.kept, &mut self.results, Some(fields));
                    self.described = true;
                }
                Ok(Some(Event::Row(row))) => {
                    if let Some(result) = self.results.checked_sub(1).and_then(|last| self.kept.get_mut(last)) {
                        keep_row(result, row);
                    }
                }
                Ok(Some(Event::Done(_) | Event::EmptyQuery)) => {
                    if !std::mem::take(&mut self.described) {
                        begin_result(&mut self.kept, &mut self.results, None);
                    }
                }
                Ok(Some(Event::Error(error))) if error.ends_connection() => {
                    return Step::Heard(Heard::End(op_error(&error)));
                }
                Ok(Some(Event::Error(error))) => _ = self.failure.get_or_insert_with(|| op_error(&error)),
                Ok(Some(Event::Ready(status))) => return Step::Ready(status),
                Ok(Some(Event::CopyIn(_))) => return Step::Heard(Heard::CopyIn),
                Ok(Some(_)) => {}
                Err(error) => return Step::Heard(Heard::End(lost(&error))),
            }
        }
    }
}

/// Begins the next result, in the memory of an older one.
fn begin_result(kept: &mut Vec<KeptRow>, results: &mut usize, fields: Option<Fields<'_>>) {
    if kept.len() == *results {
        kept.push(KeptRow::default());
    }
    let result = &mut kept[*results];
    *results += 1;
    result.rows = 0;
    result.columns.clear();
    result.values.clear();
    let names = fields.iter().flat_map(Fields::iter);
    result.columns.extend(names.map(|field| String::from_utf8_lossy(field.name).into_owned()));
}

fn keep_row(result: &mut KeptRow, row: Row<'_>) {
    result.rows += 1;
    result.values.clear();
    result.values.extend(row.iter().map(|value| match value {
        None => Datum::Null,
        Some(text) => Datum::Text(String::from_utf8_lossy(text).into_owned().into()),
    }));
}
