//! The protocol of MySQL and MariaDB: what a server sends, cut anywhere, in packets of true lengths or as raw bytes.

#![no_main]

use etalon_fuzz::framed;
use libfuzzer_sys::fuzz_target;
use wire::Limits;
use wire::mysql::{
    ColumnType, Command, Config, Encryption, Event, Handshake, Medium, Progress, Rows, ScanOutcome, Scanner,
    capability, kind,
};

const COMMANDS: [Command; 4] = [Command::Query, Command::Execute, Command::Prepare, Command::Simple];

fuzz_target!(|data: &[u8]| {
    let [mode, place, bytes @ ..] = data else { return };
    let stream = if mode & 16 == 0 { framed(bytes, packet) } else { bytes.to_vec() };
    let (first, second) = stream.split_at(usize::from(*place) % (stream.len() + 1));
    match mode & 3 {
        0 | 1 => {
            let rows = if mode & 1 == 0 { Rows::Keep } else { Rows::Skip };
            assert_eq!(events(&[&stream], *mode, rows), events(&[first, second], *mode, rows));
        }
        2 => scan(&[first, second], *mode),
        _ => login(&[first, second], *mode),
    }
});

fn packet(sequence: u8, body: &[u8], out: &mut Vec<u8>) {
    out.extend([body.len() as u8, 0, 0, sequence]);
    out.extend_from_slice(body);
}

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
        scanner.expect(COMMANDS[usize::from(mode >> 5).wrapping_add(index) % COMMANDS.len()]);
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
            match scanner.next_event(&mut input) {
                Ok(Some(event)) => {
                    touch(&event);
                    seen.push(format!("{event:?}"));
                }
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

/// Decodes rows as every type.
fn touch(event: &Event<'_>) {
    match event {
        Event::TextRow(row) => assert!(row.iter().count() < 1 << 16),
        Event::BinaryRow(row) => {
            for kind in [kind::LONG, kind::LONGLONG, kind::DATETIME, kind::VAR_STRING, kind::DOUBLE, 99] {
                let types = vec![ColumnType { kind, flags: 0, charset: 63 }; row.len()];
                assert!(row.values(&types).count() <= row.len());
            }
        }
        _ => {}
    }
}

fn scan(chunks: &[&[u8]], mode: u8) {
    let mut scanner = scanner(mode);
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let used = match scanner.scan_to_end(rest) {
                Ok(
                    ScanOutcome::Done { consumed, .. }
                    | ScanOutcome::Failed { consumed, .. }
                    | ScanOutcome::LocalFile { consumed, .. },
                ) => consumed,
                Ok(ScanOutcome::NeedMore) => break,
                Ok(ScanOutcome::Fatal(_)) | Err(_) => return,
            };
            assert!(used > 0 && used <= rest.len());
            rest = &rest[used..];
        }
    }
}

fn login(chunks: &[&[u8]], mode: u8) {
    let encryption = if mode & 4 == 0 { Encryption::Off } else { Encryption::Prefer };
    let medium = if mode & 8 == 0 { Medium::Local } else { Medium::Network };
    let mut handshake =
        Handshake::new(Config { password: Some("secret".into()), encryption, medium, ..Config::new("user") });
    let mut out = Vec::new();
    for chunk in chunks {
        match handshake.receive(chunk, &mut out) {
            Ok(Progress::Receive) => {}
            Ok(Progress::StartTls) => {
                if handshake.tls_started(&mut out).is_err() {
                    return;
                }
            }
            Ok(Progress::Ready(session)) => {
                let _ = session.scanner();
                return;
            }
            Err(_) => return,
        }
    }
}
