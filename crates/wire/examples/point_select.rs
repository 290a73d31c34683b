//! Prepared point selects over a blocking TCP connection, to see what one costs the client.
//!
//! ```text
//! cargo run --release -p wire --example point_select -- HOST:PORT USER DATABASE [SECONDS] [PIPELINE DEPTH]
//! ```
//!
//! The table is pgbench's. One connection in one thread waits for each reply, so the figure holds the kernel's wake-ups;
//! what the codec itself takes is printed next to it, measured on the same bytes without a server.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use wire::postgres::{
    Config, Ending, Handshake, Progress, ScanOutcome, Scanner, Statement, Template, TemplateOptions, frontend, oid,
};
use wire::{Limits, Value};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SQL: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
const ROWS: i64 = 100_000;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().ok_or(format!("missing: {name}"));
    let (path, user, database) = (argument("socket")?, argument("user")?, argument("database")?);
    let seconds: u64 = argument("seconds").map_or(Ok(5), |text| text.parse())?;
    let depth: u64 = argument("depth").map_or(Ok(1), |text| text.parse())?;

    let mut stream = connect(&path)?;
    let mut scanner = login(&mut stream, Config { database: Some(database), ..Config::new(user) })?;
    let mut out = Vec::new();
    frontend::write_parse("s", SQL, &[oid::INT4], &mut out)?;
    frontend::write_sync(&mut out);
    stream.write_all(&out)?;
    let mut buffer = vec![0; 64 << 10];
    let mut sample = Vec::new();
    read_reply(&mut stream, &mut scanner, &mut buffer, &mut sample)?;

    let options = TemplateOptions { ending: Ending::Pipeline, ..TemplateOptions::default() };
    let template = Template::new(Statement::Prepared("s"), &[oid::INT4], options)?;
    let (start, cpu_start_us) = (Instant::now(), cpu_us());
    let (mut queries, mut rows, mut key) = (0u64, 0, 1i64);
    while start.elapsed() < Duration::from_secs(seconds) {
        out.clear();
        for _ in 0..depth {
            key = (key * 48271) % 2_147_483_647;
            template.encode(&[Value::Int(key % ROWS + 1)], &mut out)?;
        }
        frontend::write_sync(&mut out);
        stream.write_all(&out)?;
        sample.clear();
        rows += read_reply(&mut stream, &mut scanner, &mut buffer, &mut sample)?;
        queries += depth;
    }
    let cpu = match (cpu_start_us, cpu_us()) {
        (Some(start_us), Some(end_us)) => format!("{:.2} us", (end_us - start_us) / queries as f64),
        _ => "n/a (no schedstat on this system)".to_owned(),
    };
    let rate = queries as f64 / start.elapsed().as_secs_f64();
    println!("{queries} queries, {rows} rows, {rate:.0}/s, client CPU per query {cpu}");
    println!("codec alone: {:.0} ns per query", codec_ns(&template, &sample, depth)?);
    out.clear();
    frontend::write_terminate(&mut out);
    stream.write_all(&out)?;
    Ok(())
}

fn connect(address: &str) -> Outcome<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn login(stream: &mut TcpStream, config: Config) -> Outcome<Scanner> {
    let mut handshake = Handshake::new(config);
    let (mut out, mut buffer) = (Vec::new(), [0; 4096]);
    let mut progress = handshake.start(&mut out)?;
    loop {
        stream.write_all(&out)?;
        out.clear();
        progress = match progress {
            Progress::Ready(session) => return Ok(session.scanner()),
            Progress::StartTls => return Err("no TLS was asked for".into()),
            Progress::Receive => match stream.read(&mut buffer)? {
                0 => return Err(handshake.closed_error().into()),
                count => handshake.receive(&buffer[..count], &mut out)?,
            },
        };
    }
}

/// Reads one reply, keeps its bytes in `sample`, and returns its rows.
fn read_reply(stream: &mut TcpStream, scanner: &mut Scanner, buffer: &mut [u8], sample: &mut Vec<u8>) -> Outcome<u64> {
    loop {
        let count = stream.read(buffer)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        sample.extend_from_slice(&buffer[..count]);
        match scanner.scan_to_ready(&buffer[..count])? {
            ScanOutcome::NeedMore => {}
            ScanOutcome::Ready { reply, .. } => return Ok(reply.rows),
            ScanOutcome::Failed { error, .. } | ScanOutcome::Fatal(error) => return Err(error.to_string().into()),
            ScanOutcome::CopyIn { .. } => return Err("no COPY was asked for".into()),
        }
    }
}

/// Encodes and scans the same exchange again and again, without a server.
fn codec_ns(template: &Template, reply: &[u8], depth: u64) -> Outcome<f64> {
    const ROUNDS: u64 = 200_000;
    let mut scanner = Scanner::new(Limits::default());
    let mut out = Vec::new();
    let start = Instant::now();
    for round in 0..ROUNDS {
        out.clear();
        for _ in 0..depth {
            template.encode(&[Value::Int(std::hint::black_box(round as i64 % ROWS))], &mut out)?;
        }
        frontend::write_sync(&mut out);
        std::hint::black_box(out.as_slice());
        std::hint::black_box(scanner.scan_to_ready(std::hint::black_box(reply))?);
    }
    Ok(start.elapsed().as_nanos() as f64 / (ROUNDS * depth) as f64)
}

/// CPU time of this process' only thread, from the kernel's scheduler.
fn cpu_us() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanos: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos / 1000.0)
}
