//! A blocking connection: login, control plane, copies, start of a lane.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use host::reactor::Socket;
use wire::WireError;
use wire::postgres::{
    Config, ErrorFields, Event, Handshake, Progress, Rows as RowEvents, Scanner, Session, TransactionStatus, frontend,
    tls_server_end_point,
};

use super::connection::Connection;
use super::opening::Opening;
use super::statement::{Encoded, Prepared, statement_name};
use super::{AskError, Client, Opened, Statements};
use crate::server::dialogue::{Asker, Pieces, TextRows, Tls, Waiting, WireProtocol, text_value, to_text_rows};
use load::error::Failure;
use workloads::rows::Rows;

/// Several of the server's messages.
const COPY_BYTES: usize = 1 << 18;
const NO_DATA: &str = "étalon's statements have no data for COPY";

/// What the protocol keeps of a session.
pub(crate) struct PostgresProtocol {
    session: Session,
    /// The process number that the login reported; `None`: it is the pooler's.
    number: Option<u32>,
    scanner: Scanner,
    /// The status that the server last reported.
    transaction: TransactionStatus,
    /// Settings last for a transaction; `None`: for the session, which is this client's own.
    opening: Option<Opening>,
}

/// The end of what a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Ready(TransactionStatus),
    /// It waits for data.
    CopyIn,
}

pub(crate) enum CopyError {
    /// The server refused, or the connection failed.
    Server(AskError),
    /// The consumer.
    Taker(Failure),
}

impl<E: Into<AskError>> From<E> for CopyError {
    fn from(error: E) -> CopyError {
        CopyError::Server(error.into())
    }
}

/// Logs in with `tls` if configured, within `timeout`.
///
/// # Errors
/// The server refuses the login or breaks the protocol, its certificate is not trusted, it takes too long, or the
/// connection fails.
pub(crate) fn log_in(
    socket: Socket,
    config: Config,
    tls: Option<&Tls>,
    timeout: Duration,
    waiting: &Waiting,
) -> Result<Client, AskError> {
    let mut asker = Asker::new(socket, timeout, waiting);
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    let mut progress = handshake.start(&mut out)?;
    loop {
        asker.write_all(&mut out)?;
        progress = match progress {
            Progress::Receive => match asker.read_part()? {
                [] => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, handshake.closed_error()).into()),
                bytes => handshake.receive(bytes, &mut out)?,
            },
            Progress::StartTls => {
                let tls = tls.ok_or(WireError::Misuse("TLS was not asked for"))?;
                asker.link = asker.link.start_tls(tls).map_err(tls_error_of)?;
                let end_point = asker.link.server_certificate().and_then(tls_server_end_point);
                handshake.tls_started(end_point, &mut out)?
            }
            Progress::Ready(session) => {
                let mut scanner = session.scanner();
                let mut early = session.leftover.as_slice();
                while scanner.next_event(&mut early)?.is_some() {}
                // An index of a large table takes as long as it takes.
                asker.lift_silence_limit();
                let (number, transaction) = (Some(session.process_id), TransactionStatus::Idle);
                let protocol = PostgresProtocol { session: *session, number, scanner, transaction, opening: None };
                return Ok(Client { asker, out, protocol });
            }
        };
    }
}

/// Makes the error of a TLS handshake: a lost connection, unless TLS itself failed.
/// Another `sslmode` can help against the peer's fault, but not against a lost connection.
fn tls_error_of(cause: io::Error) -> AskError {
    if cause.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) { AskError::Tls(cause) } else { cause.into() }
}

/// Tests whether a type holds numbers, by its number in the catalog.
/// These are `int8`, `int2`, `int4`, `oid`, `float4`, `float8`, `numeric`.
///
/// <https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat>
fn is_number(oid: u32) -> bool {
    [20, 21, 23, 26, 700, 701, 1700].contains(&oid)
}

impl WireProtocol for PostgresProtocol {
    type Error = ErrorFields;
    type Connection = Connection;
    type Statements = Statements;

    /// Runs one or more statements, and appends their rows to `rows`.
    fn query_rows(client: &mut Client, sql: &str, rows: &mut Rows) -> Result<(), AskError> {
        client.write_query(sql)?;
        client.hear_rows(rows)
    }

    /// Asks for a synchronisation point, which begins no transaction.
    fn ping_server(client: &mut Client) -> Result<(), AskError> {
        frontend::write_sync(&mut client.out);
        client.hear_answer(|_| {}).map(|_| ())
    }

    /// Prepares a lane's statements on the session, and makes it a connection of the lane.
    fn into_prepared(mut client: Client, statements: &Statements) -> Result<Opened, AskError> {
        let encoded = match statements {
            Statements::Prepared(prepared) => client.prepare_statements(prepared)?,
            Statements::Extended(texts) => {
                texts.iter().map(|(sql, count)| Encoded::encode_unprepared(sql, *count)).collect::<Result<_, _>>()?
            }
            Statements::Simple => Arc::default(),
        };
        client.lift_limit();
        let PostgresProtocol { number, scanner, opening, .. } = client.protocol;
        let connection = Connection::new(scanner, encoded, number, opening);
        Ok(Opened { link: client.asker.link, connection })
    }

    /// Appends the message that ends the session.
    fn write_farewell(out: &mut Vec<u8>) {
        frontend::write_terminate(out);
    }
}

impl Client {
    /// Tests whether the session that answers is the one that the login reported.
    pub(crate) fn answers_as_logged_in(&mut self) -> Result<bool, AskError> {
        Ok(self.query_first_value("SELECT pg_catalog.pg_backend_pid()")?
            == self.protocol.session.process_id.to_string())
    }

    /// Returns the number of the session's process, as the login reported it.
    pub(crate) fn process_id(&self) -> u32 {
        self.protocol.session.process_id
    }

    /// Forgets the session's number, since the login was a pooler's and reported none of the server's.
    pub(crate) fn forget_number(&mut self) {
        self.protocol.number = None;
    }

    /// Marks the session as shared with other clients, so that settings last for a transaction only.
    pub(crate) fn share_session(&mut self) {
        self.protocol.opening = Some(Opening::default());
    }

    /// Tests whether settings last for a transaction only.
    pub(crate) fn shares_session(&self) -> bool {
        self.protocol.opening.is_some()
    }

    /// Sets settings for as long as the session is this client's own.
    pub(crate) fn set_for_session(&mut self, settings: &[(&str, &str)]) -> Result<(), AskError> {
        if let Some(opening) = &mut self.protocol.opening {
            return settings.iter().try_for_each(|(name, value)| Ok(opening.add_setting(name, value)?));
        }
        self.execute(
            &settings
                .iter()
                .map(|(name, value)| {
                    format!("SELECT pg_catalog.set_config({}, {}, false)", quote_text(name), quote_text(value))
                })
                .collect::<Vec<_>>()
                .join("; "),
        )
    }

    /// Runs a statement that refuses to share a transaction, such as `VACUUM`.
    pub(crate) fn execute_alone(&mut self, sql: &str) -> Result<(), AskError> {
        self.query_rows_alone(sql).map(|_| ())
    }

    /// Runs a simple query without the opening's settings, and returns its rows.
    pub(crate) fn query_rows_alone(&mut self, sql: &str) -> Result<TextRows, AskError> {
        self.asker.name_question(sql);
        frontend::write_query(sql, &mut self.out)?;
        let mut rows = Rows::default();
        self.hear_rows(&mut rows)?;
        Ok(to_text_rows(&rows))
    }

    /// Prepares a statement without ending the current transaction.
    pub(crate) fn prepare_named(&mut self, name: &str, sql: &str) -> Result<(), AskError> {
        frontend::write_parse(name, sql, &[], &mut self.out)?;
        frontend::write_sync(&mut self.out);
        self.hear_answer(|_| {}).map(|_| ())
    }

    /// Encodes a simple query, with the opening's settings if it may begin a transaction.
    fn write_query(&mut self, sql: &str) -> Result<(), AskError> {
        let Client { out, protocol, .. } = self;
        match &protocol.opening {
            Some(opening) if protocol.transaction == TransactionStatus::Idle => {
                opening.encode_query(sql, &mut String::new(), out)?;
            }
            _ => frontend::write_query(sql, out)?,
        }
        Ok(())
    }

    /// Sends what is encoded, and reads the rows of the answer to its end.
    fn hear_rows(&mut self, rows: &mut Rows) -> Result<(), AskError> {
        self.protocol.scanner.set_rows(RowEvents::Keep);
        rows.set_numbers(Vec::new());
        let until = self.hear_answer(|event| match event {
            Event::Columns(fields) => rows.set_numbers(fields.types().map(is_number).collect()),
            Event::Row(row) => rows.push_row(row.iter().map(text_value)),
            _ => {}
        })?;
        if until == Until::CopyIn {
            frontend::copy_fail(NO_DATA, &mut self.out)?;
            self.hear_answer(|_| {})?;
        }
        Ok(())
    }

    /// Sends what is encoded, and reads events to the end of the answer or until data are wanted.
    fn hear_answer(&mut self, mut on_event: impl FnMut(Event<'_>)) -> Result<Until, AskError> {
        self.asker.send_question(&mut self.out)?;
        let mut refusal = None;
        let mut answer_bytes = 0;
        loop {
            let mut input = match self.asker.read_answer_part::<ErrorFields>(&mut answer_bytes)? {
                [] => return Err(refusal.map_or_else(AskError::connection_closed, AskError::Server)),
                input => input,
            };
            while let Some(event) = self.protocol.scanner.next_event(&mut input)? {
                match event {
                    Event::Ready(status) => {
                        self.protocol.transaction = status;
                        return refusal.map_or(Ok(Until::Ready(status)), |e| Err(AskError::Server(e)));
                    }
                    Event::CopyIn => return Ok(Until::CopyIn),
                    Event::Error(error) => refusal = refusal.or(Some(error)),
                    event => on_event(event),
                }
            }
        }
    }

    /// Runs `COPY … FROM STDIN`, and sends the pieces.
    pub(crate) fn copy_in(&mut self, sql: &str, pieces: Pieces<'_>) -> Result<(), AskError> {
        self.asker.name_question(sql);
        self.write_query(sql)?;
        if self.hear_answer(|_| {})? != Until::CopyIn {
            return Err(WireError::Protocol("it did not ask for the data").into());
        }
        let mut piece = String::new();
        loop {
            piece.clear();
            let more = pieces(&mut piece);
            frontend::copy_data(piece.as_bytes(), &mut self.out)?;
            if !more {
                break;
            }
            // The server may refuse midway, and says so only at the end.
            self.asker.send_question(&mut self.out)?;
        }
        frontend::write_copy_done(&mut self.out);
        self.hear_answer(|_| {}).map(|_| ())
    }

    /// Runs a command that answers with one long stream of data, and passes these to `take`.
    pub(crate) fn copy_out(
        &mut self,
        command: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), CopyError> {
        self.asker.name_question(command);
        frontend::write_query(command, &mut self.out)?;
        self.asker.send_question(&mut self.out)?;
        self.asker.set_read_bytes(COPY_BYTES);
        self.protocol.scanner.set_rows(RowEvents::Keep);
        let mut refusal = None;
        loop {
            let mut input = match self.asker.read_part()? {
                [] => return Err(refusal.map_or_else(AskError::connection_closed, AskError::Server).into()),
                input => input,
            };
            while let Some(event) = self.protocol.scanner.next_event(&mut input)? {
                match event {
                    Event::CopyData(data) => take(data).map_err(CopyError::Taker)?,
                    Event::Error(error) => refusal = refusal.or(Some(error)),
                    Event::Ready(_) => return refusal.map_or(Ok(()), |error| Err(AskError::Server(error).into())),
                    Event::CopyIn => return Err(WireError::Protocol("the server wants data").into()),
                    _ => {}
                }
            }
        }
    }

    /// Prepares a script's statements by number, and encodes them for their parameters' types.
    fn prepare_statements(&mut self, prepared: &Prepared) -> Result<Arc<[Encoded]>, AskError> {
        if let Some(opening) = &self.protocol.opening {
            opening.encode_ahead(&mut self.out);
        }
        self.asker.name_question("PREPARE");
        for (number, sql) in prepared.texts.iter().enumerate() {
            frontend::write_parse(&statement_name(number), sql, &[], &mut self.out)?;
            frontend::describe_statement(&statement_name(number), &mut self.out)?;
        }
        frontend::write_sync(&mut self.out);
        let mut all: Vec<Vec<u32>> = Vec::new();
        let until = self.hear_answer(|event| {
            if let Event::ParameterTypes(types) = event {
                all.push(types.iter().collect());
            }
        })?;
        if until != Until::Ready(TransactionStatus::Idle) {
            return Err(WireError::Protocol("the session began within a transaction").into());
        }
        Ok(prepared.encode_with_types(all)?)
    }
}

/// Quotes a text independently of `standard_conforming_strings`.
pub(crate) fn quote_text(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
