//! A blocking connection: login, control plane, bulk copy, start of a lane.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use host::reactor::Socket;
use rustls::ClientConnection;
use wire::Value;
use wire::tds::{
    Bulk, Cell, Column, Config, Done, HEADER_BYTES, Handshake, Progress, RequestSession, Row, Scan, Scanner,
    ServerMessage, Session, Sink, TlsScope, unwrap_tls, wrap_tls, write_attention, write_batch,
};

use super::connection::{Connection, datum_of_cell};
use super::statement::{Mode, Statement, Typed};
use super::{AskError, Client, Opened};
use crate::server::dialogue::{Asker, Timed, Tls, Waiting, WireProtocol, value_of_datum};
use load::datum::Datum;
use workloads::rows::{self as packed, Rows};

/// Interval of `go_on` during a long statement.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes of a piece of a bulk copy.
const PIECE_BYTES: usize = 64 << 10;

impl AskError {
    /// Number of the error if the server refused.
    pub(crate) fn error_number(&self) -> Option<i32> {
        match self {
            AskError::Server(error) => Some(error.number),
            AskError::Io(_) | AskError::Tls(_) | AskError::Wire(_) | AskError::Interrupted => None,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct QueryAnswer {
    /// Columns of the last result.
    pub(crate) columns: Vec<Column>,
    /// Rows of all results; `None` is `NULL`.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Such as those of `SET STATISTICS TIME`.
    pub(crate) remarks: Vec<ServerMessage>,
    /// Rows that the server counted as touched.
    pub(crate) touched: u64,
    refusal: Option<Box<ServerMessage>>,
}

impl QueryAnswer {
    /// Index of a column of the last result.
    pub(crate) fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}

impl Sink for QueryAnswer {
    /// Takes the columns of the result that begins.
    fn columns(&mut self, columns: &[Column]) {
        self.columns = columns.to_vec();
    }

    /// Adds a row's cells to the answer.
    fn row(&mut self, row: Row<'_>) -> wire::Result<()> {
        self.rows.push(row.cells()?);
        Ok(())
    }

    /// Adds the rows that a statement touched.
    fn done(&mut self, done: Done) {
        self.touched += done.row_count().unwrap_or_default();
    }

    /// Keeps the first error as the server's refusal.
    fn error(&mut self, error: ServerMessage) {
        self.refusal.get_or_insert(Box::new(error));
    }

    /// Keeps a message of the server that is no error.
    fn info(&mut self, info: ServerMessage) {
        self.remarks.push(info);
    }
}

/// Rows that are packed as they come.
struct PackedAnswer<'a> {
    rows: &'a mut Rows,
    remarks: Vec<ServerMessage>,
    refusal: Option<Box<ServerMessage>>,
}

impl Sink for PackedAnswer<'_> {
    /// Packs a row as it comes.
    fn row(&mut self, row: Row<'_>) -> wire::Result<()> {
        let data: Vec<Datum> = row.cells()?.into_iter().map(datum_of_cell).collect();
        self.rows.push_row(data.iter().map(packed::Value::from));
        Ok(())
    }

    /// Keeps a message of the server that is no error.
    fn info(&mut self, info: ServerMessage) {
        self.remarks.push(info);
    }

    /// Keeps the first error as the server's refusal.
    fn error(&mut self, error: ServerMessage) {
        self.refusal.get_or_insert(Box::new(error));
    }
}

/// A sink that keeps the server's first refusal.
trait Refusable: Sink {
    /// The place for the error that the server answers with.
    fn refusal(&mut self) -> &mut Option<Box<ServerMessage>>;
}

impl Refusable for QueryAnswer {
    /// The place of the server's first error.
    fn refusal(&mut self) -> &mut Option<Box<ServerMessage>> {
        &mut self.refusal
    }
}

impl Refusable for PackedAnswer<'_> {
    /// The place of the server's first error.
    fn refusal(&mut self) -> &mut Option<Box<ServerMessage>> {
        &mut self.refusal
    }
}

pub(crate) struct TdsProtocol {
    pub(crate) session: Session,
    scanner: Scanner,
}

impl WireProtocol for TdsProtocol {
    type Error = ServerMessage;
    type Connection = Connection;
    type Statements = (Vec<Typed>, Mode);

    /// Sends a query and appends the rows of its answer.
    fn query_rows(client: &mut Client, sql: &str, rows: &mut Rows) -> Result<(), AskError> {
        client.run_batch(sql, rows).map(|_| ())
    }

    /// Asks the server for a sign of life by a small batch: the protocol has nothing less.
    fn ping_server(client: &mut Client) -> Result<(), AskError> {
        client.execute("SET NOCOUNT OFF")
    }

    /// Turns the client into a lane's connection with statements that are prepared when first executed.
    fn into_prepared(mut client: Client, (statements, mode): &(Vec<Typed>, Mode)) -> Result<Opened, AskError> {
        let statements = statements.iter().map(|typed| Statement::new(typed, *mode)).collect();
        client.lift_limit();
        Ok(Opened { link: client.asker.link, connection: Connection::new(client.protocol.scanner, statements) })
    }
}

pub(crate) enum LoggedIn {
    Here(Box<Client>),
    /// Redirected to another server.
    Elsewhere(String, u16),
}

/// Logs in on a connected socket within `timeout`, or says to which server the login was redirected.
///
/// # Errors
/// The server refuses the login or breaks the protocol, the encryption fails, or the connection does.
pub(crate) fn log_in(
    socket: Socket,
    config: Config,
    tls: &Tls,
    timeout: Duration,
    waiting: &Waiting,
) -> Result<LoggedIn, AskError> {
    let mut asker = Asker::new(socket, timeout, waiting);
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    handshake.begin(&mut out);
    let mut progress = Progress::Receive;
    loop {
        asker.write_all(&mut out)?;
        progress = match progress {
            Progress::Receive => match asker.read_part()? {
                [] => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, handshake.closed_meaning()).into()),
                bytes => handshake.receive(bytes, &mut out)?,
            },
            Progress::StartTls(scope) => {
                asker.link = asker.link.start_tls_through(tls, exchange_wrapped).map_err(AskError::from_tls)?;
                let next = handshake.tls_started(&mut out)?;
                if scope == TlsScope::Login {
                    asker.write_all(&mut out)?;
                    asker.link = asker.link.end_tls();
                }
                next
            }
            Progress::Redirect { host, port } => return Ok(LoggedIn::Elsewhere(host, port)),
            Progress::Ready(session) => {
                let mut scanner = session.scanner();
                scanner.scan(&session.leftover, &mut wire::tds::Ignore)?;
                asker.link.set_deadline(None);
                let protocol = TdsProtocol { session: *session, scanner };
                return Ok(LoggedIn::Here(Box::new(Client { asker, out, protocol })));
            }
        };
    }
}

/// Exchanges one flight of the TLS handshake, wrapped in packets.
fn exchange_wrapped(connection: &mut ClientConnection, timed: &mut Timed) -> io::Result<()> {
    let mut flight = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut flight)?;
    }
    if !flight.is_empty() {
        let mut packets = Vec::new();
        wrap_tls(&flight, &mut packets);
        timed.write_all(&packets)?;
        return timed.flush();
    }
    let mut packet = vec![0; HEADER_BYTES];
    timed.read_exact(&mut packet)?;
    let length = usize::from(u16::from_be_bytes([packet[2], packet[3]])).max(HEADER_BYTES);
    packet.resize(length, 0);
    timed.read_exact(&mut packet[HEADER_BYTES..])?;
    let (mut bytes, _) = unwrap_tls(&packet).map_err(|error| invalid_data(&error))?.unwrap_or_default();
    while !bytes.is_empty() {
        connection.read_tls(&mut bytes)?;
        if let Err(error) = connection.process_new_packets() {
            return Err(invalid_data(&error));
        }
    }
    Ok(())
}

/// Makes the I/O error of bytes that are not what they must be.
fn invalid_data(cause: &dyn fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause.to_string())
}

impl Client {
    /// What each request says of the session, such as its transaction.
    fn request_session(&self) -> RequestSession {
        RequestSession::from_scanner(&self.protocol.scanner)
    }

    /// Sends `out`, and reads to the end of the answer.
    fn hear_answer(&mut self) -> Result<QueryAnswer, AskError> {
        let mut answer = QueryAnswer::default();
        self.hear_into(&mut answer)?;
        Ok(answer)
    }

    /// Sends a batch, adds its rows to `rows`, and returns what the server remarked.
    fn run_batch(&mut self, sql: &str, rows: &mut Rows) -> Result<Vec<ServerMessage>, AskError> {
        write_batch(sql, self.request_session(), &mut self.out)?;
        let mut answer = PackedAnswer { rows, remarks: Vec::new(), refusal: None };
        self.hear_into(&mut answer)?;
        Ok(answer.remarks)
    }

    /// Runs a user's query, with an answer of any size, and returns its rows and what the server remarked.
    pub(crate) fn answer_with_remarks(&mut self, sql: &str) -> Result<(Rows, Vec<ServerMessage>), AskError> {
        let mut rows = Rows::default();
        self.asker.name_question(sql);
        self.asker.set_any_answer_size(true);
        let remarks = self.run_batch(sql, &mut rows);
        self.asker.set_any_answer_size(false);
        Ok((rows, remarks?))
    }

    /// Sends `out`, and reads to the end of the answer into `answer`.
    fn hear_into(&mut self, answer: &mut impl Refusable) -> Result<(), AskError> {
        self.asker.send_question(&mut self.out)?;
        let mut answer_bytes = 0;
        loop {
            let heard = match self.asker.read_answer_part::<ServerMessage>(&mut answer_bytes)? {
                [] => return Err(answer.refusal().take().map_or_else(AskError::connection_closed, AskError::Server)),
                heard => heard,
            };
            if let Scan::Ready { .. } = self.protocol.scanner.scan(heard, answer)? {
                break;
            }
        }
        answer.refusal().take().map_or(Ok(()), |refusal| Err(AskError::Server(refusal)))
    }

    /// Sends a batch, and returns its answer.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<QueryAnswer, AskError> {
        self.asker.name_question(sql);
        write_batch(sql, self.request_session(), &mut self.out)?;
        self.hear_answer()
    }

    /// Runs a long, silent batch, and passes the server's remarks to `heard` on arrival.
    /// It asks `go_on` regularly; on no, the server is asked to stop.
    pub(crate) fn ask_long(
        &mut self,
        sql: &str,
        go_on: &dyn Fn() -> bool,
        heard: &mut dyn FnMut(&ServerMessage),
    ) -> Result<QueryAnswer, AskError> {
        write_batch(sql, self.request_session(), &mut self.out)?;
        self.asker.send_question(&mut self.out)?;
        let mut answer = QueryAnswer::default();
        let (mut told, mut given_up) = (0, false);
        loop {
            self.asker.link.set_deadline(Some(Instant::now() + LOOK));
            let scan = match self.asker.read_part() {
                Ok([]) => return Err(answer.refusal.map_or_else(AskError::connection_closed, AskError::Server)),
                Ok(heard) => self.protocol.scanner.scan(heard, &mut answer)?,
                Err(cause) if matches!(cause.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
                    if !given_up && !go_on() {
                        write_attention(&mut self.out);
                        self.protocol.scanner.attention_sent();
                        self.asker.send_question(&mut self.out)?;
                        given_up = true;
                    }
                    continue;
                }
                Err(cause) => return Err(cause.into()),
            };
            answer.remarks[told..].iter().for_each(&mut *heard);
            told = answer.remarks.len();
            if let Scan::Ready { .. } = scan {
                break;
            }
        }
        match answer.refusal.take() {
            _ if given_up => Err(AskError::Interrupted),
            Some(refusal) => Err(AskError::Server(refusal)),
            None => Ok(answer),
        }
    }

    /// Sends rows by a bulk copy after `INSERT BULK`, and returns the number that the server accepted.
    /// `rows` fills in the next row; `false` at the end.
    pub(crate) fn copy_rows(
        &mut self,
        insert_bulk: &str,
        columns: Vec<Column>,
        rows: &mut dyn FnMut(&mut Vec<Datum>) -> bool,
    ) -> Result<u64, AskError> {
        let mut bulk = Bulk::new(columns, self.protocol.scanner.packet_bytes())?;
        self.execute(insert_bulk)?;
        let mut row = Vec::new();
        while rows(&mut row) {
            let values: Vec<Value<'_>> = row.iter().map(value_of_datum).collect();
            bulk.push_row(&values)?;
            row.clear();
            bulk.drain(&mut self.out);
            if self.out.len() >= PIECE_BYTES {
                self.asker.send_question(&mut self.out)?;
            }
        }
        bulk.finish(&mut self.out);
        Ok(self.hear_answer()?.touched)
    }
}
