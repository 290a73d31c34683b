//! The least that a client of PostgreSQL can do on étalon's ring: what étalon costs above it is étalon's own.
//!
//! `floor HOST PORT CLIENTS SECONDS ROWS` asks for what étalon's `select-only` asks for, in the same bytes: a prepared select
//! whose one parameter is patched in the request. One thread; each client asks again as soon as it is answered. No script, no
//! pacing, no latencies, no facts, no store. It prints selects a second and kernel entries as a tidy table.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its figures are its output")]

use std::env;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use host::clock::now_ns;
use host::reactor::{Choice, EventKind, Reactor, Socket, Token, Vigilance};
use wire::Value;
use wire::postgres::{Config, Handshake, Progress, Statement, Template, TemplateOptions, frontend, oid};

const SELECT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
const NAME: &str = "s0";
/// Of the keys.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// In the place of the parameter, where it is found by.
const MARK: i32 = 0x7a7b_7c7d;
/// How the answer with exactly one row ends.
const ONE_ROW: &[u8] = b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const READY: &[u8] = b"Z\0\0\0\x05I";
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [host, port, clients, seconds, rows] = arguments.as_slice() else {
        bail!("usage: floor HOST PORT CLIENTS SECONDS ROWS");
    };
    let (port, clients): (u16, usize) = (port.parse()?, clients.parse()?);
    let (seconds, rows): (u64, u64) = (seconds.parse()?, rows.parse()?);
    let mut reactor = Reactor::new(Choice::Auto, clients)?;
    let mut tokens = Vec::with_capacity(clients);
    for _ in 0..clients {
        tokens.push(reactor.register(connect(host, port)?)?);
    }
    let (selects, took_ns) = Load::new(rows)?.run(&mut reactor, &tokens, seconds * 1_000_000_000)?;
    let entries = reactor.kernel_entries().unwrap_or_default() as f64 / selects as f64;
    part(&mut reactor, &tokens)?;
    let rate = selects as f64 * 1e9 / took_ns as f64;
    println!("system,metric,unit,value\nfloor,throughput,tx/s,{rate:.3}\nfloor,kernel_entries,/tx,{entries:.6}");
    Ok(())
}

/// Logged in, with the select prepared.
fn connect(host: &str, port: u16) -> Result<Socket> {
    let socket = match host.starts_with('/') {
        true => Socket::connect_unix(&Path::new(host).join(format!(".s.PGSQL.{port}")), PATIENCE, &|| true),
        false => Socket::connect_tcp(host, port, PATIENCE, Vigilance::default(), &|| true),
    };
    let socket = socket.with_context(|| format!("connecting to {host}, port {port}"))?;
    let mut out = Vec::new();
    let mut received = [0; 4096];
    let mut handshake = Handshake::new(Config { database: Some("postgres".to_owned()), ..Config::new("bench") });
    let mut progress = handshake.start(&mut out)?;
    while let Progress::Receive = progress {
        (&socket).write_all(&out)?;
        out.clear();
        let length = (&socket).read(&mut received)?;
        ensure!(length > 0, handshake.closed_error());
        progress = handshake.receive(&received[..length], &mut out)?;
    }
    frontend::write_parse(NAME, SELECT, &[], &mut out)?;
    frontend::write_sync(&mut out);
    (&socket).write_all(&out)?;
    let length = (&socket).read(&mut received)?;
    let answer = &received[..length];
    ensure!(answer.ends_with(READY), "preparing `{SELECT}`: {}", String::from_utf8_lossy(answer));
    Ok(socket)
}

struct Load {
    request: Vec<u8>,
    /// Of the parameter in the request.
    key_at: usize,
    rows: u64,
    random: u64,
}

impl Load {
    fn new(rows: u64) -> Result<Load> {
        let template = Template::new(Statement::Prepared(NAME), &[oid::INT4], TemplateOptions::default())?;
        let mut request = Vec::new();
        template.encode(&[Value::Int(MARK.into())], &mut request)?;
        let key_at = request.windows(4).position(|bytes| bytes == MARK.to_be_bytes());
        Ok(Load { request, key_at: key_at.context("the request has no parameter")?, rows, random: SEED })
    }

    fn ask(&mut self, reactor: &mut Reactor, token: Token) {
        // Marsaglia's xorshift; as many keys as rows, from 1.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let key = 1 + (((self.random >> 32) * self.rows) >> 32) as u32;
        self.request[self.key_at..self.key_at + 4].copy_from_slice(&key.to_be_bytes());
        reactor.send(token, &self.request);
    }

    /// The selects that were answered, and how long that took. The clock is read once for each wait.
    fn run(mut self, reactor: &mut Reactor, tokens: &[Token], length_ns: u64) -> Result<(u64, u64)> {
        let mut events = Vec::with_capacity(tokens.len());
        let (begin_ns, mut selects, mut asking) = (now_ns(), 0, tokens.len());
        tokens.iter().for_each(|token| self.ask(reactor, *token));
        while asking > 0 {
            reactor.wait(u64::MAX, &mut events)?;
            let is_over = now_ns() - begin_ns >= length_ns;
            for event in events.drain(..) {
                let answer = reactor.received(event.token);
                let length = answer.len();
                ensure!(event.kind == EventKind::Data && answer.ends_with(ONE_ROW), unexpected(event.kind, answer));
                reactor.consume(event.token, length);
                selects += 1;
                match is_over {
                    true => asking -= 1,
                    false => self.ask(reactor, event.token),
                }
            }
        }
        Ok((selects, now_ns() - begin_ns))
    }
}

#[cold]
fn unexpected(kind: EventKind, answer: &[u8]) -> String {
    format!("instead of one row there came {kind:?}: {}", String::from_utf8_lossy(answer))
}

/// Waits until the server has closed every connection: then it has counted what was asked of it.
fn part(reactor: &mut Reactor, tokens: &[Token]) -> Result<()> {
    let mut farewell = Vec::new();
    frontend::write_terminate(&mut farewell);
    tokens.iter().for_each(|token| reactor.send(*token, &farewell));
    let deadline_ns = now_ns() + PATIENCE.as_nanos() as u64;
    let mut open = tokens.len();
    let mut events = Vec::new();
    while open > 0 {
        reactor.wait(deadline_ns, &mut events)?;
        ensure!(!events.is_empty(), "the server did not close {open} connections");
        open -= events.drain(..).filter(|event| event.kind != EventKind::Data).count();
    }
    Ok(())
}
