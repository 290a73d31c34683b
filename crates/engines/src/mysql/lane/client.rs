//! A blocking connection: login, control plane, start of a lane.

use std::io;
use std::time::Duration;

use host::reactor::Socket;
use wire::WireError;
use wire::mysql::{
    Command, Config, ErrorPacket, Event, Handshake, Progress, Reply, Rows as RowEvents, Scanner, ServerStatus, Session,
    command,
};

use super::connection::Connection;
use super::statement::{Binary, Columns, Form};
use super::{AskError, Client, Opened, own_words};
use crate::server::dialogue::{Asker, Pieces, Tls, Waiting, WireProtocol, text_value};
use workloads::rows::Rows;

const NOT_PREPARED: u16 = 1295;

/// What the protocol keeps of a session.
pub(crate) struct MySqlProtocol {
    /// What the handshake reported.
    pub(crate) session: Session,
    scanner: Scanner,
}

/// Logs in on a connected socket within `timeout`, with TLS if the server and `config` want it.
///
/// # Errors
/// The server refuses the login or breaks the protocol, the encryption fails, or the connection does.
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
    let mut progress = Progress::Receive;
    loop {
        asker.write_all(&mut out)?;
        progress = match progress {
            Progress::Receive => match asker.read_part()? {
                [] => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, handshake.closed_error()).into()),
                bytes => handshake.receive(bytes, &mut out)?,
            },
            Progress::StartTls => {
                let tls = tls.ok_or(WireError::Misuse("TLS was not asked for"))?;
                asker.link = asker.link.start_tls(tls).map_err(AskError::from_tls)?;
                handshake.tls_started(&mut out)?
            }
            Progress::Ready(session) => {
                let mut scanner = session.scanner();
                let mut early = session.leftover.as_slice();
                while scanner.next_event(&mut early)?.is_some() {}
                asker.link.set_deadline(None);
                return Ok(Client { asker, out, protocol: MySqlProtocol { session: *session, scanner } });
            }
        };
    }
}

impl WireProtocol for MySqlProtocol {
    type Error = ErrorPacket;
    type Connection = Connection;
    type Statements = Vec<String>;

    /// Sends a query as text and appends the rows of its answer.
    fn query_rows(client: &mut Client, sql: &str, rows: &mut Rows) -> Result<(), AskError> {
        command::write_query(sql, &mut client.out)?;
        client.protocol.scanner.expect(Command::Query);
        client.protocol.scanner.set_rows(RowEvents::Keep);
        let mut numbers = Vec::new();
        let heard = client.hear_answer(|event| {
            match event {
                Event::Columns(_) => numbers.clear(),
                Event::Column(column) => numbers.push(column.column_type.is_number()),
                Event::TextRow(row) => rows.push_row(row.iter().map(text_value)),
                _ => {}
            }
            Ok(())
        })?;
        rows.set_numbers(numbers);
        client.finish_answer(heard).map(|_| ())
    }

    /// Asks the server for a sign of life, and waits for it.
    fn ping_server(client: &mut Client) -> Result<(), AskError> {
        command::write_ping(&mut client.out);
        client.protocol.scanner.expect(Command::Simple);
        client.hear_answer(|_| Ok(())).map(|_| ())
    }

    /// Prepares the statements and turns the client into a lane's connection.
    fn into_prepared(mut client: Client, statements: &Vec<String>) -> Result<Opened, AskError> {
        let forms = statements.iter().map(|sql| client.prepare_statement(sql)).collect::<Result<_, _>>()?;
        client.lift_limit();
        let (status, thread_id) = (client.session_status(), client.protocol.session.thread_id);
        client.protocol.scanner.set_rows(RowEvents::Skip);
        Ok(Opened {
            link: client.asker.link,
            connection: Connection::new(client.protocol.scanner, status, forms, thread_id),
        })
    }

    /// Writes the protocol's goodbye.
    fn write_farewell(out: &mut Vec<u8>) {
        command::write_quit(out);
    }
}

impl Client {
    /// The session's status as last reported.
    fn session_status(&self) -> ServerStatus {
        match self.protocol.scanner.reply().status {
            status if status == ServerStatus::default() => self.protocol.session.status,
            status => status,
        }
    }

    /// Sends what is in `out` and reads to the answer's end, or to a request for a file, whose packet number it returns.
    fn hear_answer(
        &mut self,
        mut on_event: impl FnMut(Event<'_>) -> Result<(), WireError>,
    ) -> Result<Option<u8>, AskError> {
        self.asker.send_question(&mut self.out)?;
        let mut refusal = None;
        let mut answer_bytes = 0;
        while self.protocol.scanner.pending_count() > 0 {
            let mut input = match self.asker.read_answer_part::<ErrorPacket>(&mut answer_bytes)? {
                [] => return Err(refusal.map_or_else(AskError::connection_closed, AskError::Server)),
                input => input,
            };
            while let Some(event) = self.protocol.scanner.next_event(&mut input)? {
                match event {
                    Event::Error(error) => refusal = refusal.or(Some(error)),
                    Event::LocalFile { sequence, .. } => return Ok(Some(sequence)),
                    event => on_event(event)?,
                }
            }
        }
        refusal.map_or(Ok(None), |error| Err(AskError::Server(error)))
    }

    /// Ends an answer and returns its reply; if the server asked for a file, refuses that and fails.
    fn finish_answer(&mut self, heard: Option<u8>) -> Result<Reply, AskError> {
        match heard {
            None => Ok(self.protocol.scanner.reply()),
            Some(sequence) => {
                command::refuse_local_file(sequence, &mut self.out);
                self.hear_answer(|_| Ok(()))?;
                Err(WireError::Protocol("it asked for a file that nobody offered").into())
            }
        }
    }

    /// Runs `LOAD DATA LOCAL` and sends the pieces as its file, in packets that the server takes.
    /// The login must allow it.
    pub(crate) fn send_file(&mut self, sql: &str, packet_bytes: usize, pieces: Pieces<'_>) -> Result<Reply, AskError> {
        self.asker.name_question(sql);
        command::write_query(sql, &mut self.out)?;
        self.protocol.scanner.expect(Command::Query);
        let Some(mut sequence) = self.hear_answer(|_| Ok(()))? else {
            return Err(WireError::Protocol("it did not ask for the file").into());
        };
        let mut piece = String::new();
        loop {
            piece.clear();
            let more = pieces(&mut piece);
            for part in piece.as_bytes().chunks(packet_bytes.max(1)) {
                sequence = command::local_file_piece(sequence, part, &mut self.out)?;
            }
            if !more {
                break;
            }
            // The server may refuse midway, and says so only at the end.
            self.asker.send_question(&mut self.out)?;
        }
        command::refuse_local_file(sequence, &mut self.out);
        let heard = self.hear_answer(|_| Ok(()))?;
        self.finish_answer(heard)
    }

    /// Prepares a statement on the server; one without parameters that it cannot prepare stays text.
    fn prepare_statement(&mut self, sql: &str) -> Result<Form, AskError> {
        self.asker.name_question("PREPARE");
        command::write_prepare(sql, &mut self.out)?;
        self.protocol.scanner.expect(Command::Prepare);
        let mut columns = Columns::default();
        let heard = self.hear_answer(|event| {
            if let Event::Column(column) = event {
                columns.push_column(&column);
            }
            Ok(())
        });
        match heard {
            Err(AskError::Server(error)) if error.code == NOT_PREPARED && !sql.contains('?') => {
                let mut text = Vec::new();
                command::write_query(own_words(sql), &mut text)?;
                return Ok(Form::Text(text));
            }
            other => self.finish_answer(other?)?,
        };
        match self.protocol.scanner.reply().prepared {
            Some(prepared) => Ok(Form::Binary(Box::new(Binary::new(prepared, columns)))),
            None => Err(WireError::Protocol("it prepared nothing").into()),
        }
    }
}
