//! Whatever a server sends: no panic, no standstill, no memory without end, and the same events in chunks of any size.

use proptest::prelude::*;
use wire::tds::{
    Cell, Column, Config, Done, Encryption, Handshake, Medium, Progress, Row, Scan, Scanner, ServerMessage, Session,
    Sink, TlsScope, unwrap_tls, wrap_tls,
};
use wire::{Result, WireError};

use super::fuzz::{LIMITS, Rng, chunks, mutate};

/// A vector may hold up to twice what was put into it; the description of columns is kept next to it.
const MEMORY_BOUND_BYTES: usize = 2 * 20_000 + 200 + 40_000;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn packets(payload: &[u8], packet_bytes: usize) -> Vec<u8> {
    let pieces: Vec<&[u8]> = payload.chunks(packet_bytes - 8).collect();
    let mut out = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let status = u8::from(number + 1 == pieces.len());
        let [high, low] = ((piece.len() + 8) as u16).to_be_bytes();
        out.extend([4, status, high, low, 0, 51, number as u8 + 1, 0]);
        out.extend_from_slice(piece);
    }
    out
}

fn error(number: i32, state: u8, class: u8, text: &str) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([state, class]);
    body.extend((text.len() as u16).to_le_bytes());
    body.extend(utf16(text));
    body.extend([1, b's', 0, 0, 1, 0, 0, 0]);
    [&[0xaa][..], &(body.len() as u16).to_le_bytes(), &body].concat()
}

fn login_ack() -> Vec<u8> {
    let mut body = vec![1, 0x74, 0, 0, 4, 9];
    body.extend(utf16("Microsoft"));
    body.extend([16, 0, 4, 1]);
    let mut out = [&[0xad][..], &(body.len() as u16).to_le_bytes(), &body].concat();
    // Packets of 512 bytes from now on, and a collation.
    out.extend([0xe3, 15, 0, 4, 3, b'5', 0, b'1', 0, b'2', 0, 3, b'4', 0, b'0', 0, b'9', 0][..18].iter());
    out
}

fn done(tag: u8, status: u16, rows: u64) -> Vec<u8> {
    [&[tag][..], &status.to_le_bytes(), &[0xc1, 0], &rows.to_le_bytes()].concat()
}

fn columns() -> Vec<u8> {
    let types: [&[u8]; 9] = [
        &[0x38],
        &[0x26, 8],
        &[0xaf, 5, 0, 9, 4, 0xd0, 0, 0x34],
        &[0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34],
        &[0x6c, 9, 10, 2],
        &[0x2a, 3],
        &[0x62, 0x49, 0x1f, 0, 0],
        &[0x63, 0xff, 0xff, 0xff, 0x7f, 9, 4, 0xd0, 0, 0x34],
        &[0x6d, 8],
    ];
    let mut out = vec![0x81, types.len() as u8, 0];
    for (place, info) in types.iter().enumerate() {
        out.extend([0, 0, 0, 0, 9, 0]);
        out.extend_from_slice(info);
        if info[0] == 0x63 {
            out.extend([1, 1, 0, b't', 0]);
        }
        out.extend([1, b'a' + place as u8, 0]);
    }
    out
}

fn row() -> Vec<u8> {
    let mut out = vec![0xd1, 7, 0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0, b'h', b'i'];
    // In two parts, of a length that is not stated.
    out.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, b'o', 0, 2, 0, 0, 0, b'k', 0, 0, 0, 0, 0]);
    out.extend([5, 1, 1, 2, 0, 0]);
    out.extend([7, 0, 0, 0, 0, 1, 2, 3]);
    out.extend([6, 0, 0, 0, 0x38, 0, 9, 0, 0, 0]);
    out.extend([16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'z', 0]);
    out.extend([0]);
    out
}

fn transcript(packet_bytes: usize) -> (Vec<u8>, usize) {
    let nbc = [&[0xd2, 0b1111_1110, 1, 1, 0, 0, 0][..]].concat();
    let began = [0xe3, 11, 0, 8, 8, 1, 0, 0, 0, 0x10, 0, 0, 0, 0];
    let ended = [0xe3, 11, 0, 9, 0, 8, 1, 0, 0, 0, 0x10, 0, 0, 0];
    let result = [columns(), row(), row(), nbc, done(0xff, 0x11, 3), vec![0x79, 0, 0, 0, 0], done(0xfe, 0, 0)].concat();
    let handle = [&[0xac, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4, 5, 0, 0, 0][..], &done(0xfe, 0, 0)].concat();
    let answers = [
        [&began[..], &done(0xfd, 0, 0)].concat(),
        result.clone(),
        result,
        handle,
        [error(1205, 51, 13, "deadlock"), done(0xfd, 2, 0)].concat(),
        [&ended[..], &done(0xfd, 0, 0)].concat(),
    ];
    (answers.iter().flat_map(|answer| packets(answer, packet_bytes)).collect(), answers.len())
}

#[derive(Debug, Default, PartialEq)]
struct Events(Vec<String>);

impl Sink for Events {
    fn columns(&mut self, columns: &[Column]) {
        self.0.push(format!("columns {:?}", columns.iter().map(|column| &column.name).collect::<Vec<_>>()));
    }

    fn row(&mut self, row: Row<'_>) -> Result<()> {
        self.0.push(format!("row {:?}", row.cells()?));
        Ok(())
    }

    fn done(&mut self, done: Done) {
        self.0.push(format!("done {:?}", done.row_count()));
    }

    fn error(&mut self, error: ServerMessage) {
        self.0.push(format!("error {error}"));
    }

    fn return_value(&mut self, value: Cell) {
        self.0.push(format!("value {value:?}"));
    }
}

/// Logs in without TLS, as on the loopback interface.
fn logged_in() -> Session {
    let mut handshake = Handshake::new(Config {
        encryption: Encryption::LoginOnly,
        medium: Medium::Local,
        limits: LIMITS,
        ..Config::new("sa")
    });
    let mut out = Vec::new();
    handshake.begin(&mut out);
    let prelogin = packets(&[1, 0, 6, 0, 1, 0xff, 2], 512);
    assert!(matches!(handshake.receive(&prelogin, &mut out).unwrap(), Progress::Receive));
    let answer = packets(&[login_ack(), done(0xfd, 0, 0)].concat(), 512);
    match handshake.receive(&answer, &mut out).unwrap() {
        Progress::Ready(session) => *session,
        other => panic!("{other:?}"),
    }
}

fn listen(scanner: &mut Scanner, pieces: &[&[u8]]) -> std::result::Result<(Events, usize), WireError> {
    let (mut events, mut answers) = (Events::default(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match scanner.scan(rest, &mut events)? {
                Scan::NeedMore => break,
                Scan::Ready { consumed } => {
                    assert!(consumed > 0, "a standstill");
                    answers += 1;
                    events.0.push("ready".to_owned());
                    rest = &rest[consumed..];
                }
            }
            assert!(scanner.retained_bytes() <= MEMORY_BOUND_BYTES);
        }
    }
    Ok((events, answers))
}

#[test]
fn an_answer_is_the_same_in_chunks_of_any_size() {
    let session = logged_in();
    assert_eq!((session.packet_bytes, session.version), (512, (16, 0, 1025)));
    for packet_bytes in [20, 64, 512, 4096] {
        let (bytes, count) = transcript(packet_bytes);
        let whole = listen(&mut session.scanner(), &[&bytes]).unwrap();
        assert_eq!(whole.1, count);
        let row = "row [Int(7), Int(578437695752307201), Text(\"hi\"), Text(\"ok\"), Text(\"5.13\"), Text(\"0540-09-13 \
                   00:00:00.000\"), Int(9), Text(\"z\"), Null]";
        assert_eq!(whole.0.0.iter().filter(|events| events.starts_with("row [Int(7)")).count(), 4);
        assert_eq!(whole.0.0.iter().filter(|events| events.starts_with("row [Int(1), Null")).count(), 2);
        assert!(whole.0.0.contains(&row.to_owned()), "{:#?}", whole.0.0);
        let mut rng = Rng::new(packet_bytes as u64);
        for _ in 0..50 {
            assert_eq!(listen(&mut session.scanner(), &chunks(&mut rng, &bytes)).unwrap(), whole);
        }
    }
}

#[test]
fn a_transaction_is_known_by_its_descriptor() {
    let session = logged_in();
    let mut scanner = session.scanner();
    let began = packets(&[&[0xe3, 11, 0, 8, 8, 1, 0, 0, 0, 0x10, 0, 0, 0, 0][..], &done(0xfd, 0, 0)].concat(), 512);
    listen(&mut scanner, &[&began]).unwrap();
    assert_eq!(scanner.transaction(), 0x10_0000_0001);
    let ended = packets(&[&[0xe3, 11, 0, 10, 0, 8, 1, 0, 0, 0, 0x10, 0, 0, 0][..], &done(0xfd, 0, 0)].concat(), 512);
    listen(&mut scanner, &[&ended]).unwrap();
    assert_eq!(scanner.transaction(), 0);
}

#[test]
fn after_an_attention_the_answer_ends_with_the_word_for_it() {
    let session = logged_in();
    let mut scanner = session.scanner();
    scanner.attention_sent();
    let answer = packets(&done(0xfd, 0x10, 1), 512);
    assert_eq!(listen(&mut scanner, &[&answer]).unwrap().1, 0, "this was the answer to what was given up");
    let word = packets(&done(0xfd, 0x20, 0), 512);
    assert_eq!(listen(&mut scanner, &[&word]).unwrap().1, 1);
}

#[test]
fn sides_agree_on_encryption_or_part() {
    let answer_to = |encryption, medium, stance: u8| {
        let mut handshake = Handshake::new(Config { encryption, medium, ..Config::new("sa") });
        let mut out = Vec::new();
        handshake.begin(&mut out);
        handshake.receive(&packets(&[1, 0, 6, 0, 1, 0xff, stance], 512), &mut out)
    };
    use Encryption::{Everything, LoginOnly};
    use Medium::{Local, Network};
    assert!(matches!(answer_to(LoginOnly, Network, 0), Ok(Progress::StartTls(TlsScope::Login))));
    assert!(matches!(answer_to(LoginOnly, Network, 3), Ok(Progress::StartTls(TlsScope::Connection))));
    assert!(matches!(answer_to(Everything, Network, 1), Ok(Progress::StartTls(TlsScope::Connection))));
    assert!(matches!(answer_to(Everything, Local, 2), Err(WireError::TlsRefused)));
    assert!(matches!(answer_to(LoginOnly, Network, 2), Err(WireError::InsecureTransport)));
    assert!(matches!(answer_to(LoginOnly, Local, 2), Ok(Progress::Receive)));
    assert!(answer_to(LoginOnly, Local, 9).is_err());
    let mut wrapped = Vec::new();
    wrap_tls(b"hello", &mut wrapped);
    assert_eq!(unwrap_tls(&wrapped).unwrap(), Some((&b"hello"[..], 13)));
    assert_eq!(unwrap_tls(&wrapped[..9]).unwrap(), None);
}

#[test]
fn a_refused_login_says_why() {
    let mut handshake =
        Handshake::new(Config { encryption: Encryption::LoginOnly, medium: Medium::Local, ..Config::new("sa") });
    let mut out = Vec::new();
    handshake.begin(&mut out);
    handshake.receive(&packets(&[1, 0, 6, 0, 1, 0xff, 2], 512), &mut out).unwrap();
    let refused = packets(&[error(18456, 8, 14, "Login failed for user 'sa'."), done(0xfd, 2, 0)].concat(), 512);
    match handshake.receive(&refused, &mut out) {
        Err(WireError::RefusedBySqlServer(said)) => {
            assert_eq!(said.to_string(), "Login failed for user 'sa'. [18456, level 14, state 8]");
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn damage_is_an_error_or_is_nothing(seed in any::<u64>()) {
        let session = logged_in();
        let mut rng = Rng::new(seed);
        let (mut bytes, _) = transcript([20, 64, 512][rng.below(3)]);
        mutate(&mut rng, &mut bytes);
        let pieces = chunks(&mut rng, &bytes);
        let whole = listen(&mut session.scanner(), &[&bytes]);
        let torn = listen(&mut session.scanner(), &pieces);
        // A long token is parsed only now and then: the order of events may differ, the content may not.
        if let (Ok((whole, _)), Ok((torn, _))) = (whole, torn) {
            let common = whole.0.len().min(torn.0.len());
            prop_assert_eq!(&whole.0[..common], &torn.0[..common]);
            let answers = |events: &Events| events.0.iter().filter(|event| *event == "ready").count();
            prop_assert_eq!(answers(&whole), answers(&torn));
        }
    }

    #[test]
    fn a_damaged_login_is_an_error_or_is_nothing(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let config = Config { encryption: Encryption::LoginOnly, medium: Medium::Local, limits: LIMITS, ..Config::new("sa") };
        let mut handshake = Handshake::new(config);
        let mut out = Vec::new();
        handshake.begin(&mut out);
        let mut bytes = packets(&[1, 0, 6, 0, 1, 0xff, 2], 512);
        let answer = packets(&[login_ack(), error(5701, 1, 0, "changed"), done(0xfd, 0, 0)].concat(), 64);
        if rng.below(2) == 0 {
            mutate(&mut rng, &mut bytes);
        }
        let mut damaged = answer;
        mutate(&mut rng, &mut damaged);
        for stream in [bytes, damaged] {
            for chunk in chunks(&mut rng, &stream) {
                match handshake.receive(chunk, &mut out) {
                    Ok(Progress::Receive) => {}
                    _ => return Ok(()),
                }
            }
        }
    }

    #[test]
    fn noise_is_an_error_or_is_nothing(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let session = logged_in();
        let _ = listen(&mut session.scanner(), &[&packets(&[vec![0x81], bytes.clone()].concat(), 512)]);
        let _ = listen(&mut session.scanner(), &[&bytes]);
    }
}
