//! A connection of the native lane.

use host::reactor::Token;
use wire::WireError;
use wire::postgres::{self, Event, Fields, Row, ScanOutcome, Scanner, TransactionStatus};

use super::op_error;
use crate::dataset::Datum;
use crate::lane::{KeptRow, OpError, lost};
use crate::systems::server::dialogue::tls::Tls;
use crate::workloads::transactions::Rows;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The client is idle.
    Free,
    /// The client waits for every answer.
    Waiting,
    /// After a failure, until every answer of the pipeline has come.
    Clearing,
    Gone(OpError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipeline {
    Closed,
    /// A `Sync` is owed.
    Open,
}

#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    /// The server waits for `COPY` data.
    CopyIn,
    /// The connection is unusable.
    End(OpError),
}

enum Step {
    All,
    /// An answer is complete.
    Ready(TransactionStatus),
    Heard(Heard),
}

pub(super) struct Connection {
    pub(super) token: Token,
    pub(super) tls: Option<Tls>,
    scanner: Scanner,
    /// From the login.
    pub(super) process_id: u32,
    /// As last reported.
    pub(super) block: TransactionStatus,
    pub(super) state: State,
    /// Outstanding answers.
    pub(super) owed: u32,
    pub(super) pipeline: Pipeline,
    /// Not yet reported to the client.
    pub(super) failure: Option<OpError>,
    rows: Rows,
    /// Valid before `results`.
    kept: Vec<KeptRow>,
    results: usize,
    /// The current result's columns are known.
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

    pub(super) fn kept(&self) -> &[KeptRow] {
        &self.kept[..self.results]
    }

    /// Reads everything received. `plain` is memory for decryption; `sealed` collects what TLS has to send.
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
                    // Unsolicited: taken for an answer it would shift all later ones.
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

    /// To the end of an answer by message headers.
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

    /// Message by message, keeping each result's last row.
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

/// Reuses an older result's memory.
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
