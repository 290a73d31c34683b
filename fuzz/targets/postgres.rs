//! PostgreSQL's protocol: what a server sends, cut anywhere, in messages of true lengths or as raw bytes.

#![no_main]

use etalon_fuzz::framed;
use libfuzzer_sys::fuzz_target;
use wire::Limits;
use wire::postgres::base_backup::Message;
use wire::postgres::{
    Config, Encryption, ErrorFields, Event, Handshake, Progress, Rows, ScanOutcome, Scanner, tls_server_end_point,
};

const LIMITS: Limits =
    Limits { message_bytes: 1 << 16, handshake_message_bytes: 2000, handshake_total_bytes: 8000, retained_bytes: 100 };
/// Stands for the nonce that the client has drawn: a server has to repeat it.
const NONCE: u8 = 1;

fuzz_target!(|data: &[u8]| {
    let [mode, place, bytes @ ..] = data else { return };
    let stream = if mode & 8 == 0 { framed(bytes, message) } else { bytes.to_vec() };
    let (first, second) = stream.split_at(usize::from(*place) % (stream.len() + 1));
    match mode & 7 {
        0 | 1 => {
            let rows = if mode & 1 == 0 { Rows::Keep } else { Rows::Skip };
            assert_eq!(events(&[&stream], rows), events(&[first, second], rows));
        }
        2 => scan(&[first, second]),
        3 | 4 => login(bytes, Encryption::Off),
        5 => login(bytes, Encryption::Prefer),
        _ => {
            let _ = (ErrorFields::parse(bytes), Message::parse(bytes), tls_server_end_point(bytes));
        }
    }
});

fn message(tag: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend((body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn events(chunks: &[&[u8]], rows: Rows) -> Vec<String> {
    let mut scanner = Scanner::new(LIMITS);
    scanner.set_rows(rows);
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut input = *chunk;
        loop {
            match scanner.next_event(&mut input) {
                Ok(Some(event)) => {
                    if let Event::Row(row) = &event {
                        assert_eq!(row.iter().count(), row.len());
                    }
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

fn scan(chunks: &[&[u8]]) {
    let mut scanner = Scanner::new(LIMITS);
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let used = match scanner.scan_to_ready(rest) {
                Ok(
                    ScanOutcome::Ready { consumed, .. }
                    | ScanOutcome::Failed { consumed, .. }
                    | ScanOutcome::CopyIn { consumed, .. },
                ) => consumed,
                Ok(ScanOutcome::NeedMore) => break,
                Ok(ScanOutcome::Fatal(_)) | Err(_) => return,
            };
            assert!(used > 0 && used <= rest.len());
            rest = &rest[used..];
        }
    }
}

/// A login, message by message.
fn login(mut bytes: &[u8], encryption: Encryption) {
    let config = Config { password: Some("secret".into()), encryption, limits: LIMITS, ..Config::new("user") };
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    let Ok(mut progress) = handshake.start(&mut out) else { return };
    loop {
        let next = match progress {
            Progress::Receive => {
                let chunk = match (encryption, bytes) {
                    (Encryption::Off, [tag, length, rest @ ..]) => {
                        let (body, after) = rest.split_at(usize::from(*length).min(rest.len()));
                        bytes = after;
                        let body = with_nonce(body, &out);
                        // Rounds of SCRAM are bounded by what legitimate servers ask for, which is seconds of work.
                        if body.windows(7).any(|w| w[..2] == *b"i=" && w[2..].iter().all(u8::is_ascii_digit)) {
                            return;
                        }
                        let mut chunk = Vec::new();
                        message(*tag, &body, &mut chunk);
                        chunk
                    }
                    (_, [first, rest @ ..]) => {
                        bytes = rest;
                        vec![*first]
                    }
                    _ => return,
                };
                handshake.receive(&chunk, &mut out)
            }
            Progress::StartTls => handshake.tls_started(Some(vec![1; 32]), &mut out),
            Progress::Ready(session) => {
                let _ = session.scanner();
                return;
            }
        };
        let Ok(next) = next else { return };
        progress = next;
    }
}

fn with_nonce(body: &[u8], sent: &[u8]) -> Vec<u8> {
    let begin = sent.windows(2).rposition(|window| window == b"r=").map_or(sent.len(), |at| at + 2);
    let nonce: Vec<u8> = sent[begin..].iter().copied().take_while(|byte| byte.is_ascii_graphic()).collect();
    body.iter().flat_map(|byte| if *byte == NONCE { nonce.clone() } else { vec![*byte] }).collect()
}
