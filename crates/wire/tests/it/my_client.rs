//! A blocking client: the smallest possible driver of the codec.

use std::io::{Read, Write};

use wire::WireError;
use wire::mysql::{Command, Config, ErrorPacket, Event, Handshake, Prepared, Progress, Reply, Rows, ScanOutcome};
use wire::mysql::{Scanner, Session, command};

use super::my_server::MyServer;
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
    pub fn connect(server: &MyServer, config: Config) -> Result<Self, WireError> {
        Self::connect_with(server, config, usize::MAX)
    }

    pub fn connect_with(server: &MyServer, config: Config, chunk: usize) -> Result<Self, WireError> {
        let mut transport = server.open().map_err(|_| WireError::Misuse("cannot connect"))?;
        let mut handshake = Handshake::new(config);
        let mut out = Vec::new();
        let mut progress = Progress::Receive;
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
                    transport = transport.start_tls(&server.certificate, TlsVersion::Any).0;
                    handshake.tls_started(&mut out)?
                }
                Progress::Ready(session) => {
                    let (scanner, input) = (session.scanner(), session.leftover.to_vec());
                    return Ok(Self { transport, session: *session, scanner, input, transcript: Vec::new(), chunk });
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
            let outcome = self.scanner.scan_to_end(&self.input).unwrap();
            let used = match &outcome {
                ScanOutcome::NeedMore | ScanOutcome::Fatal(_) => self.input.len(),
                ScanOutcome::Done { consumed, .. }
                | ScanOutcome::Failed { consumed, .. }
                | ScanOutcome::LocalFile { consumed, .. } => *consumed,
            };
            self.input.drain(..used);
            if outcome != ScanOutcome::NeedMore {
                return outcome;
            }
            assert!(self.receive() > 0, "the server closed the connection");
        }
    }

    /// Sends and waits for one reply.
    pub fn run(&mut self, command: Command, out: &[u8]) -> Result<Reply, Box<ErrorPacket>> {
        self.scanner.expect(command);
        self.send(out);
        match self.outcome() {
            ScanOutcome::Done { reply, .. } => Ok(reply),
            ScanOutcome::Failed { error, .. } | ScanOutcome::Fatal(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    pub fn events(&mut self, command: Command, out: &[u8], mut on_event: impl FnMut(&Event<'_>)) {
        self.scanner.expect(command);
        self.send(out);
        self.scanner.set_rows(Rows::Keep);
        while self.scanner.pending_count() > 0 {
            let mut input = self.input.as_slice();
            while let Some(event) = self.scanner.next_event(&mut input).unwrap() {
                on_event(&event);
            }
            self.input.clear();
            assert!(self.scanner.pending_count() == 0 || self.receive() > 0, "the server closed the connection");
        }
        self.scanner.set_rows(Rows::Skip);
    }

    pub fn query(&mut self, sql: &str) -> Result<Reply, Box<ErrorPacket>> {
        let mut out = Vec::new();
        command::write_query(sql, &mut out).unwrap();
        self.run(Command::Query, &out)
    }

    pub fn prepare(&mut self, sql: &str) -> Prepared {
        let mut out = Vec::new();
        command::write_prepare(sql, &mut out).unwrap();
        self.run(Command::Prepare, &out).unwrap().prepared.unwrap()
    }

    pub fn column(&mut self, sql: &str) -> Vec<Option<String>> {
        let mut out = Vec::new();
        command::write_query(sql, &mut out).unwrap();
        let mut values = Vec::new();
        self.events(Command::Query, &out, |event| match event {
            Event::TextRow(row) => {
                values.push(row.iter().next().unwrap().map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
            }
            Event::Error(error) => panic!("{error}"),
            _ => {}
        });
        values
    }
}
