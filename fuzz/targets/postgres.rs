//! PostgreSQL: any bytes, cut anywhere. The first byte says where and what.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::postgres::{Config, Encryption, Handshake, Progress, Rows, ScanOutcome, Scanner};
use wire::Limits;

fuzz_target!(|data: &[u8]| {
    let Some((&mode, stream)) = data.split_first() else { return };
    let cut = usize::from(mode >> 2) % (stream.len() + 1);
    let (first, second) = stream.split_at(cut);
    match mode & 3 {
        0 | 1 => {
            let rows = if mode & 1 == 0 { Rows::Keep } else { Rows::Skip };
            assert_eq!(events(&[stream], rows), events(&[first, second], rows));
        }
        2 => scan(&[first, second]),
        _ => handshake(&[first, second]),
    }
});

fn limits() -> Limits {
    Limits { message_bytes: 1 << 16, ..Limits::default() }
}

fn events(chunks: &[&[u8]], rows: Rows) -> Vec<String> {
    let mut scanner = Scanner::new(limits());
    scanner.set_rows(rows);
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut input = *chunk;
        loop {
            match scanner.next(&mut input) {
                Ok(Some(event)) => seen.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => {
                    seen.push(error.to_string());
                    return seen;
                }
            }
        }
        assert!(input.is_empty() && scanner.memory_bytes() <= 2 << 16);
    }
    seen
}

fn scan(chunks: &[&[u8]]) {
    let mut scanner = Scanner::new(limits());
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let used = match scanner.scan_to_ready(rest) {
                Ok(ScanOutcome::Ready { consumed, .. })
                | Ok(ScanOutcome::Failed { consumed, .. })
                | Ok(ScanOutcome::CopyIn { consumed, .. }) => consumed,
                Ok(ScanOutcome::NeedMore) => break,
                Ok(ScanOutcome::Fatal(_)) | Err(_) => return,
            };
            assert!(used > 0);
            rest = &rest[used..];
        }
    }
}

fn handshake(chunks: &[&[u8]]) {
    let config = Config { password: Some("secret".into()), encryption: Encryption::Prefer, ..Config::new("user") };
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    let Ok(mut progress) = handshake.start(&mut out) else { return };
    for chunk in chunks {
        progress = match progress {
            Progress::Receive => match handshake.receive(chunk, &mut out) {
                Ok(progress) => progress,
                Err(_) => return,
            },
            Progress::StartTls => match handshake.tls_started(Some(vec![1; 32]), &mut out) {
                Ok(progress) => progress,
                Err(_) => return,
            },
            Progress::Ready(_) => return,
        };
    }
}
