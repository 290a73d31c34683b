//! MySQL and MariaDB: any bytes, cut anywhere. The first two bytes say where and what.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Limits;
use wire::mysql::{Command, Config, Handshake, Progress, Rows, ScanOutcome, Scanner, capability};

const COMMANDS: [Command; 4] = [Command::Query, Command::Execute, Command::Prepare, Command::Simple];

fuzz_target!(|data: &[u8]| {
    let [mode, place, stream @ ..] = data else { return };
    let cut = usize::from(*place) % (stream.len() + 1);
    let (first, second) = stream.split_at(cut);
    match mode & 3 {
        0 | 1 => {
            let rows = if mode & 1 == 0 { Rows::Keep } else { Rows::Skip };
            assert_eq!(events(&[stream], *mode, rows), events(&[first, second], *mode, rows));
        }
        2 => scan(&[first, second], *mode),
        _ => handshake(&[first, second]),
    }
});

fn scanner(mode: u8) -> Scanner {
    let mut capabilities = 0;
    if mode & 4 != 0 {
        capabilities |= capability::DEPRECATE_EOF;
    }
    if mode & 8 != 0 {
        capabilities |= capability::MARIADB_CACHE_METADATA;
    }
    let mut scanner = Scanner::new(Limits { message_bytes: 1 << 16, ..Limits::default() }, capabilities);
    for index in 0..8 {
        scanner.expect(COMMANDS[usize::from(mode >> 4).wrapping_add(index) % COMMANDS.len()]);
    }
    scanner
}

fn events(chunks: &[&[u8]], mode: u8, rows: Rows) -> Vec<String> {
    let mut scanner = scanner(mode);
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

fn scan(chunks: &[&[u8]], mode: u8) {
    let mut scanner = scanner(mode);
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let used = match scanner.scan_to_end(rest) {
                Ok(ScanOutcome::Done { consumed, .. })
                | Ok(ScanOutcome::Failed { consumed, .. })
                | Ok(ScanOutcome::LocalFile { consumed, .. }) => consumed,
                Ok(ScanOutcome::NeedMore) => break,
                Ok(ScanOutcome::Fatal(_)) | Err(_) => return,
            };
            assert!(used > 0);
            rest = &rest[used..];
        }
    }
}

fn handshake(chunks: &[&[u8]]) {
    let mut handshake = Handshake::new(Config { password: Some("secret".into()), ..Config::new("user") });
    let mut out = Vec::new();
    for chunk in chunks {
        match handshake.receive(chunk, &mut out) {
            Ok(Progress::Receive) => {}
            Ok(Progress::StartTls | Progress::Ready(_)) | Err(_) => return,
        }
    }
}
