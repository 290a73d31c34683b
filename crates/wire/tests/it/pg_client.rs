//! A blocking client: the smallest possible driver of the codec.

use std::io::{Read, Write};

use wire::WireError;
use wire::postgres::{
    Config, ErrorFields, Event, Handshake, Progress, Reply, Rows, ScanOutcome, Scanner, Session, TransactionStatus,
    tls_server_end_point,
};

use super::pg_server::PgServer;
use super::transport::{TlsVersion, Transport};

pub struct Client {
    transport: Transport,
    pub session: Session,
    pub scanner: Scanner,
    input: Vec<u8>,
    /// Everything received after the handshake, for tests that scan it again.
    pub transcript: Vec<u8>,
    /// How many bytes are received at once.
    pub chunk: usize,
}

impl Client {
    pub fn connect(server: &PgServer, config: Config) -> Result<Self, WireError> {
        Self::connect_with(server, config, TlsVersion::Any, usize::MAX)
    }

    pub fn connect_with(server: &PgServer, config: Config, tls: TlsVersion, chunk: usize) -> Result<Self, WireError> {
        let mut transport = server.open().map_err(|_| WireError::Misuse("cannot connect"))?;
        let mut handshake = Handshake::new(config);
        let mut out = Vec::new();
        let mut progress = handshake.start(&mut out)?;
        let mut buffer = vec![0; chunk.min(8192)];
        loop {
            transport.write_all(&out).unwrap();
            out.clear();
            progress = match progress {
                Progress::Receive => match transport.read(&mut buffer) {
                    Ok(0) | Err(_) => return Err(handshake.closed_error()),
                    Ok(count) => handshake.receive(&buffer[..count], &mut out)?,
                },
                Progress::StartTls => {
                    let (secure, certificate) = transport.start_tls(&server.certificate, tls);
                    transport = secure;
                    handshake.tls_started(tls_server_end_point(&certificate), &mut out)?
                }
                Progress::Ready(session) => {
                    let scanner = session.scanner();
                    let input = session.leftover.to_vec();
                    let session = *session;
                    return Ok(Self { transport, session, scanner, input, transcript: Vec::new(), chunk });
                }
            };
        }
    }

    pub fn send(&mut self, out: &[u8]) {
        self.transport.write_all(out).unwrap();
        self.transport.flush().unwrap();
    }

    pub fn receive(&mut self) -> usize {
        let mut buffer = vec![0; self.chunk.min(65_536)];
        let count = self.transport.read(&mut buffer).unwrap_or(0);
        self.input.extend_from_slice(&buffer[..count]);
        self.transcript.extend_from_slice(&buffer[..count]);
        count
    }

    pub fn outcome(&mut self) -> ScanOutcome {
        loop {
            let outcome = self.scanner.scan_to_ready(&self.input).unwrap();
            let used = match &outcome {
                ScanOutcome::NeedMore => self.input.len(),
                ScanOutcome::Ready { consumed, .. }
                | ScanOutcome::Failed { consumed, .. }
                | ScanOutcome::CopyIn { consumed, .. } => *consumed,
                ScanOutcome::Fatal(_) => self.input.len(),
            };
            self.input.drain(..used);
            if outcome != ScanOutcome::NeedMore {
                return outcome;
            }
            assert!(self.receive() > 0, "the server closed the connection");
        }
    }

    /// Sends and waits for one reply.
    pub fn run(&mut self, out: &[u8]) -> Result<Reply, Box<ErrorFields>> {
        self.send(out);
        match self.outcome() {
            ScanOutcome::Ready { reply, .. } => Ok(reply),
            ScanOutcome::Failed { error, .. } | ScanOutcome::Fatal(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    pub fn events(&mut self, out: &[u8], mut on_event: impl FnMut(&Event<'_>)) -> TransactionStatus {
        self.send(out);
        self.scanner.set_rows(Rows::Keep);
        loop {
            let mut input = self.input.as_slice();
            let mut ready = None;
            while ready.is_none()
                && let Some(event) = self.scanner.next_event(&mut input).unwrap()
            {
                if let Event::Ready(status) = event {
                    ready = Some(status);
                }
                on_event(&event);
            }
            let used = self.input.len() - input.len();
            self.input.drain(..used);
            if let Some(status) = ready {
                return status;
            }
            assert!(self.receive() > 0, "the server closed the connection");
        }
    }

    pub fn column(&mut self, sql: &str) -> Vec<Option<String>> {
        let mut out = Vec::new();
        wire::postgres::frontend::write_query(sql, &mut out).unwrap();
        let mut values = Vec::new();
        self.events(&out, |event| match event {
            Event::Row(row) => {
                values.push(row.iter().next().unwrap().map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
            }
            Event::Error(error) => panic!("{error}"),
            _ => {}
        });
        values
    }

    pub fn query(&mut self, sql: &str) -> Result<Reply, Box<ErrorFields>> {
        let mut out = Vec::new();
        wire::postgres::frontend::write_query(sql, &mut out).unwrap();
        self.run(&out)
    }
}
