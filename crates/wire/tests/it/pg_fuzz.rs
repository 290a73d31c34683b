//! Whatever a server sends: no panic, no standstill, no memory without end, and the same events in chunks of any size.

use wire::postgres::{ChannelBinding, Config, Encryption, Event, Handshake, Progress, Rows, ScanOutcome, Scanner};
use wire::{Limits, WireError};

use super::fuzz::{self, LIMITS, MEMORY_BOUND_BYTES, Rng, chunks, mutate};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// One of every message, in replies that make sense.
fn transcript() -> Vec<u8> {
    let row = b"\0\x03\0\0\0\x05hello\xff\xff\xff\xff\0\0\0\x04\0\0\0\x07";
    let columns = b"\0\x02a\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01b\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    let error = b"SERROR\0VERROR\0C22012\0Mdivision by zero\0P8\0Fint.c\0L841\0Rint4div\0\0";
    [
        message(b'1', b""),
        message(b't', b"\0\x02\0\0\0\x17\0\0\0\x19"),
        message(b'T', columns),
        message(b'n', b""),
        message(b'Z', b"I"),
        message(b'2', b""),
        message(b'D', row),
        message(b'D', &[&b"\0\x01\0\0\x02\0"[..], &[b'x'; 512]].concat()),
        message(b'C', b"SELECT 2\0"),
        message(b'Z', b"T"),
        message(b'2', b""),
        message(b'E', error),
        message(b'Z', b"E"),
        message(b'3', b""),
        message(b's', b""),
        message(b'I', b""),
        message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhello\0\0"),
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'A', b"\0\0\0\x01channel\0payload\0"),
        message(b'H', b"\0\0\x01\0\0"),
        message(b'd', b"1\tx\n"),
        message(b'c', b""),
        message(b'C', b"COPY 1\0"),
        message(b'Z', b"I"),
        message(b'G', b"\x01\0\x02\0\x01\0\x01"),
        message(b'C', b"COPY 5\0"),
        message(b'Z', b"I"),
    ]
    .concat()
}

/// Everything that `next` reports of a stream, in words.
fn events(chunks: &[&[u8]], rows: Rows) -> Vec<String> {
    let mut scanner = Scanner::new(LIMITS);
    scanner.set_rows(rows);
    let mut seen = Vec::new();
    let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    for chunk in chunks {
        let mut input = *chunk;
        loop {
            match scanner.next_event(&mut input) {
                Ok(Some(event)) => {
                    touch(&event);
                    seen.push(format!("{event:?}"));
                    assert!(seen.len() * 5 <= total, "more events than headers");
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(scanner.next_event(&mut input).map(|_| ()), Err(error.clone()), "errors must last");
                    seen.push(error.to_string());
                    return seen;
                }
            }
        }
        assert!(input.is_empty(), "bytes were left although more are asked for");
        assert!(scanner.memory_bytes() <= MEMORY_BOUND_BYTES, "{}", scanner.memory_bytes());
    }
    seen.push(format!("{} rows", scanner.rows_seen()));
    seen
}

fn touch(event: &Event<'_>) {
    match event {
        Event::Row(row) => assert_eq!(row.iter().count(), row.len()),
        Event::Columns(fields) => assert_eq!(fields.iter().count(), fields.len()),
        Event::ParameterTypes(types) => assert_eq!(types.iter().count(), types.len()),
        _ => {}
    }
}

/// Everything that `scan_to_ready` reports of a stream, in words.
fn outcomes(chunks: &[&[u8]]) -> Vec<String> {
    let mut scanner = Scanner::new(LIMITS);
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let used = match scanner.scan_to_ready(rest) {
                Ok(ScanOutcome::NeedMore) => rest.len(),
                Ok(ScanOutcome::Ready { reply, consumed }) => {
                    seen.push(format!("{reply:?}"));
                    consumed
                }
                Ok(ScanOutcome::Failed { error, reply, consumed }) => {
                    seen.push(format!("{error} {reply:?}"));
                    consumed
                }
                Ok(ScanOutcome::CopyIn { consumed }) => {
                    seen.push("COPY".to_owned());
                    consumed
                }
                Ok(ScanOutcome::Fatal(error)) => {
                    seen.push(format!("fatal {error}"));
                    return seen;
                }
                Err(error) => {
                    seen.push(error.to_string());
                    return seen;
                }
            };
            assert!(used > 0 && used <= rest.len(), "no progress");
            rest = &rest[used..];
        }
        assert!(scanner.memory_bytes() <= MEMORY_BOUND_BYTES, "{}", scanner.memory_bytes());
    }
    seen
}

fn same_in_chunks(bytes: &[u8], chunks: &[&[u8]]) {
    for rows in [Rows::Keep, Rows::Skip] {
        assert_eq!(events(&[bytes], rows), events(chunks, rows));
    }
    assert_eq!(outcomes(&[bytes]), outcomes(chunks));
}

#[test]
fn the_transcript_is_understood() {
    let bytes = transcript();
    assert_eq!(events(&[&bytes], Rows::Keep).len(), 28);
    let outcomes = outcomes(&[&bytes]);
    assert_eq!(outcomes.len(), 6, "{outcomes:#?}");
    assert!(outcomes[1].starts_with("Reply { rows: 2, affected: 2, changed: 0, commands: 1"));
    assert!(outcomes[2].starts_with("ERROR 22012: division by zero"));
}

#[test]
fn damaged_streams_break_nothing() {
    let valid = transcript();
    for seed in 0..4000 {
        let mut rng = Rng::new(seed);
        let bytes = fuzz::some(&mut rng, &valid);
        same_in_chunks(&bytes, &chunks(&mut rng, &bytes));
    }
}

#[test]
fn a_real_servers_bytes_mean_the_same_in_any_chunks() {
    let mut client = super::pg_server::trusted();
    for sql in [
        "SELECT * FROM accounts WHERE aid < 30",
        "SELECT 1/0",
        "BEGIN; SELECT 1; ROLLBACK; SELECT generate_series(1, 3), NULL, 'x'",
        "COPY accounts TO STDOUT",
        "DO $$ BEGIN RAISE NOTICE 'n'; END $$",
    ] {
        let _ = client.query(sql);
    }
    let bytes = client.transcript;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        same_in_chunks(&bytes, &chunks(&mut rng, &bytes));
    }
}

#[test]
fn nothing_is_allocated_once_warm() {
    let reply =
        [message(b'2', b""), message(b'D', b"\0\0"), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    let mut scanner = Scanner::new(Limits::default());
    for _ in 0..10 {
        assert!(matches!(scanner.scan_to_ready(&reply), Ok(ScanOutcome::Ready { .. })));
    }
    assert_eq!(scanner.memory_bytes(), 0, "whole replies are never copied");
    let torn = |scanner: &mut Scanner| {
        let (first, second) = reply.split_at(reply.len() - 9);
        assert_eq!(scanner.scan_to_ready(first), Ok(ScanOutcome::NeedMore));
        assert!(matches!(scanner.scan_to_ready(second), Ok(ScanOutcome::Ready { .. })));
        scanner.memory_bytes()
    };
    let warm = torn(&mut scanner);
    assert!((0..100).all(|_| torn(&mut scanner) == warm));
}

#[test]
fn endless_rows_and_oversized_lengths_are_bounded() {
    let mut scanner = Scanner::new(LIMITS);
    let row = message(b'D', b"\0\0");
    let many = row.repeat(1000);
    for _ in 0..1000 {
        assert_eq!(scanner.scan_to_ready(&many), Ok(ScanOutcome::NeedMore));
    }
    assert_eq!(scanner.memory_bytes(), 0);
    assert_eq!(scanner.rows_seen(), 1_000_000);
    for tag in *b"DECTZ" {
        let mut scanner = Scanner::new(LIMITS);
        let header = [tag, 0x7f, 0xff, 0xff, 0xff];
        assert!(matches!(scanner.scan_to_ready(&header), Err(WireError::TooLarge { .. })));
    }
    // A length within the limit costs no memory before its bytes come.
    let mut scanner = Scanner::new(Limits::default());
    assert_eq!(scanner.scan_to_ready(&[b'E', 0x03, 0xff, 0xff, 0xff]), Ok(ScanOutcome::NeedMore));
    assert!(scanner.memory_bytes() < 100);
}

/// Damages a server's part of a handshake with a real client.
fn hostile_handshake(rng: &mut Rng) -> Result<(), WireError> {
    let encryption = [Encryption::Off, Encryption::Prefer, Encryption::Require, Encryption::Direct][rng.below(4)];
    let config = Config {
        password: Some("secret".into()),
        encryption,
        channel_binding: ChannelBinding::Prefer,
        limits: LIMITS,
        ..Config::new("user")
    };
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    let mut progress = handshake.start(&mut out)?;
    for round in 0..50 {
        progress = match progress {
            Progress::Ready(_) => return Ok(()),
            Progress::StartTls => {
                out.clear();
                handshake.tls_started((rng.below(2) == 0).then(|| vec![7; 32]), &mut out)?
            }
            Progress::Receive => {
                let mut reply = reply_to(rng, &out);
                if rng.below(3) == 0 {
                    mutate(rng, &mut reply);
                }
                out.clear();
                let mut last = Progress::Receive;
                for chunk in chunks(rng, &reply) {
                    last = handshake.receive(chunk, &mut out)?;
                    assert!(out.len() < 10_000, "round {round}: the client talks without end");
                    if !matches!(last, Progress::Receive) {
                        break;
                    }
                }
                last
            }
        };
    }
    Ok(())
}

/// An honest server's possible reply to the client's last message.
fn reply_to(rng: &mut Rng, request: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(request);
    if text.contains("n=,")
        && let Some((_, nonce)) = text.split_once(",r=")
    {
        let first = format!("r={nonce}more,s=QSXCR+Q6sek8bf92,i={}", [1, 2, 64, 4_000_000_000u64][rng.below(4)]);
        return auth(11, first.as_bytes());
    }
    let welcome = [
        auth(0, b""),
        message(b'S', b"server_version\x0015.20\0"),
        message(b'K', b"\0\0\0\x01\0\0\0\x02"),
        message(b'Z', b"I"),
    ]
    .concat();
    match rng.below(9) {
        0 => auth(3, b""),
        1 => auth(5, b"salt"),
        2 | 3 => auth(10, b"SCRAM-SHA-256\0\0"),
        4 => auth(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        5 => auth(12, b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
        6 => vec![*b"SNE".get(rng.below(3)).unwrap_or(&b'S')],
        7 => message(b'E', b"SFATAL\0VFATAL\0C53300\0Mtoo many clients\0\0"),
        _ => welcome,
    }
}

fn auth(kind: u32, data: &[u8]) -> Vec<u8> {
    message(b'R', &[&kind.to_be_bytes(), data].concat())
}

#[test]
fn hostile_handshakes_end() {
    let ways = ["Authentication", "Protocol", "TlsRefused", "RefusedByPostgres", "TooLarge", "Unexpected"];
    fuzz::hostile_handshakes_end(hostile_handshake, ways);
}

#[test]
fn a_false_server_is_caught() {
    let config = |encryption| Config { password: Some("secret".into()), encryption, ..Config::new("user") };
    // It ends SCRAM without its own proof.
    let mut out = Vec::new();
    let mut handshake = Handshake::new(config(Encryption::Off));
    handshake.start(&mut out).unwrap();
    handshake.receive(&auth(10, b"SCRAM-SHA-256\0\0"), &mut out).unwrap();
    assert!(matches!(handshake.receive(&auth(0, b""), &mut out), Err(WireError::Authentication(_))));
    // It offers channel binding without TLS.
    let mut handshake = Handshake::new(config(Encryption::Off));
    handshake.start(&mut out).unwrap();
    let offer = auth(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    assert!(matches!(handshake.receive(&offer, &mut out), Err(WireError::Authentication(_))));
    // It has no TLS: whether that is false depends.
    for (encryption, refused) in [(Encryption::Prefer, false), (Encryption::Require, true)] {
        let mut handshake = Handshake::new(config(encryption));
        handshake.start(&mut out).unwrap();
        out.clear();
        assert_eq!(handshake.receive(b"N", &mut out).is_err(), refused);
        assert_eq!(out.windows(5).any(|window| window == b"user\0"), !refused);
    }
    // It puts bytes in front of the TLS handshake.
    let mut handshake = Handshake::new(config(Encryption::Require));
    handshake.start(&mut out).unwrap();
    assert!(matches!(handshake.receive(b"SR\0\0\0\x08", &mut out), Err(WireError::Protocol(_))));
    // It sends parameters for ever.
    let mut handshake = Handshake::new(config(Encryption::Off));
    handshake.start(&mut out).unwrap();
    handshake.receive(&auth(0, b""), &mut out).unwrap();
    let parameter = message(b'S', &[&b"n\0"[..], &[b'v'; 1000], b"\0"].concat());
    let error = (0..1000).find_map(|_| handshake.receive(&parameter, &mut out).err());
    assert!(matches!(error, Some(WireError::TooLarge { what: "a handshake", .. })));
}
