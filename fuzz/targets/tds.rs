//! TDS, SQL Server's protocol: what a server sends, cut anywhere, in packets of true lengths or as raw bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::tds::{
    Cell, Column, Config, Encryption, Handshake, Medium, Progress, Row, Scan, Scanner, ServerMessage, Session, Sink,
    unwrap_tls,
};
use wire::{Limits, Result};

const LIMITS: Limits =
    Limits { message_bytes: 20_000, handshake_message_bytes: 2000, handshake_total_bytes: 8000, retained_bytes: 100 };
/// A vector may hold up to twice what was put into it; the description of columns is kept beside it.
const MEMORY_BOUND_BYTES: usize = 2 * 20_000 + 200 + 40_000;
/// A server's word that it has no TLS.
const PRELOGIN: [u8; 15] = [4, 1, 0, 15, 0, 51, 1, 0, 1, 0, 6, 0, 1, 0xff, 2];
/// That the login has succeeded: "LOGINACK" and "DONE".
const ACCEPTED: &[u8] = b"\xad\x0e\0\x01\x74\0\0\x04\x02M\0S\0\x10\0\x04\x01\xfd\0\0\xc1\0\0\0\0\0\0\0\0\0";

fuzz_target!(|data: &[u8]| {
    let [mode, place, bytes @ ..] = data else { return };
    let stream = if mode & 4 == 0 { packets(bytes, 16 + usize::from(mode >> 3)) } else { bytes.to_vec() };
    let (first, second) = stream.split_at(usize::from(*place) % (stream.len() + 1));
    match mode & 3 {
        0 | 1 => {
            // Of a broken answer one chunk may tell more than two.
            let (whole, torn) = (listen(&[&stream]), listen(&[first, second]));
            if let (Some(whole), Some(torn)) = (whole, torn) {
                let common = whole.len().min(torn.len());
                assert_eq!(whole[..common], torn[..common]);
            }
        }
        2 => {
            let _ = login(&[&PRELOGIN, first, second]);
            let _ = unwrap_tls(bytes);
        }
        _ => {
            let _ = login(&[first, second]);
        }
    }
});

/// Cuts an answer into packets.
fn packets(payload: &[u8], most: usize) -> Vec<u8> {
    let pieces: Vec<&[u8]> = payload.chunks(most).collect();
    let mut out = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let [high, low] = ((piece.len() + 8) as u16).to_be_bytes();
        out.extend([4, u8::from(number + 1 == pieces.len()), high, low, 0, 51, (number + 1) as u8, 0]);
        out.extend_from_slice(piece);
    }
    out
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn columns(&mut self, columns: &[Column]) {
        self.0.push(format!("columns {}", columns.len()));
    }

    fn row(&mut self, row: Row<'_>) -> Result<()> {
        self.0.push(format!("{:?}", row.cells()?));
        Ok(())
    }

    fn error(&mut self, error: ServerMessage) {
        self.0.push(error.to_string());
    }

    fn return_value(&mut self, value: Cell) {
        self.0.push(format!("{value:?}"));
    }
}

fn login(chunks: &[&[u8]]) -> Option<Session> {
    let mut handshake = Handshake::new(Config {
        encryption: Encryption::LoginOnly,
        medium: Medium::Local,
        limits: LIMITS,
        ..Config::new("sa")
    });
    let mut out = Vec::new();
    handshake.begin(&mut out);
    for chunk in chunks {
        match handshake.receive(chunk, &mut out) {
            Ok(Progress::Receive) => {}
            Ok(Progress::StartTls(_)) => {
                handshake.tls_started(&mut out).ok()?;
            }
            Ok(Progress::Ready(session)) => return Some(*session),
            Ok(Progress::Redirect { .. }) | Err(_) => return None,
        }
    }
    None
}

/// What an answer says; none of one that is broken.
fn listen(chunks: &[&[u8]]) -> Option<Vec<String>> {
    thread_local! {
        static SESSION: Session = login(&[&PRELOGIN, &packets(ACCEPTED, 500)]).expect("the login is a true one");
    }
    let mut scanner: Scanner = SESSION.with(Session::scanner);
    let mut heard = Heard::default();
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            match scanner.scan(rest, &mut heard).ok()? {
                Scan::NeedMore => break,
                Scan::Ready { consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len());
                    heard.0.push("ready".to_owned());
                    rest = &rest[consumed..];
                }
            }
        }
        assert!(scanner.retained_bytes() <= MEMORY_BOUND_BYTES);
    }
    Some(heard.0)
}
