//! Whatever a server sends: no panic, no standstill, no memory without end, and the same events in chunks of any size.

use wire::WireError;
use wire::mysql::{
    ColumnType, Command, Config, Encryption, Event, Handshake, Medium, Progress, PublicKey, Rows, ScanOutcome, Scanner,
    capability, kind,
};

use super::fuzz::{self, LIMITS, MEMORY_BOUND_BYTES, Rng, chunks, mutate};

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_le_bytes()[..3], &[sequence], payload].concat()
}

pub fn greeting(plugin: &str, capabilities: u64, seed: &[u8; 20]) -> Vec<u8> {
    let bits = capabilities.to_le_bytes();
    let payload = [
        &b"\x0a8.4.0\0\x07\0\0\0"[..],
        &seed[..8],
        b"\0",
        &bits[..2],
        b"\xff\x02\0",
        &bits[2..4],
        b"\x15\0\0\0\0\0\0\0\0\0\0",
        &seed[8..],
        b"\0",
        plugin.as_bytes(),
        b"\0",
    ]
    .concat();
    packet(0, &payload)
}

/// Capabilities of MySQL 8, without TLS.
pub const MYSQL_8: u64 = 0x01ff_f7ff;

/// Capabilities of a server that change how replies look.
const FRAMINGS: [u64; 4] = [
    0,
    capability::DEPRECATE_EOF,
    capability::MARIADB_CACHE_METADATA,
    capability::DEPRECATE_EOF | capability::MARIADB_CACHE_METADATA,
];

const COMMANDS: [Command; 9] = [
    Command::Simple,
    Command::Query,
    Command::Query,
    Command::Prepare,
    Command::Execute,
    Command::Execute,
    Command::Query,
    Command::Query,
    Command::Simple,
];

/// One reply to each of [`COMMANDS`].
fn transcript(capabilities: u64) -> Vec<u8> {
    let deprecates = capabilities & capability::DEPRECATE_EOF != 0;
    let caches = capabilities & capability::MARIADB_CACHE_METADATA != 0;
    let column = b"\x03def\x05bench\x01t\x01t\x01a\x01a\x0c\x2d\0\x0b\0\0\0\x03\x20\0\0\0\0".as_slice();
    let count = |columns: u8, follow: u8| if caches { vec![columns, follow] } else { vec![columns] };
    let ok = |status: u8| vec![0, 1, 2, status, 0, 0, 0];
    let middle = if deprecates { Vec::new() } else { vec![b"\xfe\0\0\x02\0".to_vec()] };
    let end = |status: u8| {
        if deprecates { vec![0xfe, 0, 0, status, 0, 1, 0] } else { vec![0xfe, 1, 0, status, 0] }
    };
    let text_row = b"\x0242\xfb".to_vec();
    let long_row = [&b"\xfc\x2c\x01"[..], &[b'x'; 300], b"\x01y"].concat();
    let binary_row = b"\0\x04\x07\0\0\0\x02hi".to_vec();
    let error = b"\xff\xbd\x04#40001Deadlock found".to_vec();
    let columns = || vec![column.to_vec(), column.to_vec()];
    let mut out = Vec::new();
    let mut reply = |payloads: Vec<Vec<Vec<u8>>>| {
        for (number, payload) in payloads.into_iter().flatten().enumerate() {
            out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            out.push(number as u8 + 1);
            out.extend(payload);
        }
    };
    reply(vec![vec![ok(2)]]);
    reply(vec![vec![count(2, 1)], columns(), middle.clone(), vec![text_row.clone(), long_row, end(2)]]);
    // Two results, the second without rows.
    reply(vec![vec![count(2, 1)], columns(), middle.clone(), vec![text_row.clone(), end(8), ok(2)]]);
    let prepared = b"\0\x01\0\0\0\x02\0\x02\0\0\0\0".to_vec();
    reply(vec![vec![prepared], columns(), middle.clone(), columns(), middle.clone()]);
    reply(vec![vec![count(2, 1)], columns(), middle.clone(), vec![binary_row.clone(), binary_row.clone(), end(2)]]);
    let defined = if caches { Vec::new() } else { columns() };
    reply(vec![vec![count(2, u8::from(!caches))], defined, middle.clone(), vec![binary_row, end(3)]]);
    reply(vec![vec![count(2, 1)], columns(), middle, vec![text_row, error]]);
    reply(vec![vec![b"\xfb/etc/passwd".to_vec(), ok(2)]]);
    reply(vec![vec![ok(2)]]);
    out
}

fn scanner(capabilities: u64) -> Scanner {
    let mut scanner = Scanner::new(LIMITS, capabilities);
    COMMANDS.into_iter().for_each(|command| scanner.expect(command));
    scanner
}

/// Everything that `next` reports of a stream, in words.
fn events(capabilities: u64, chunks: &[&[u8]], rows: Rows) -> Vec<String> {
    let mut scanner = scanner(capabilities);
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
                    assert!(seen.len() * 4 <= total, "more events than headers");
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
    seen.push(format!("{:?}, {} pending", scanner.reply(), scanner.pending_count()));
    seen
}

fn touch(event: &Event<'_>) {
    match event {
        Event::TextRow(row) => assert!(row.iter().count() < 1 << 16),
        Event::BinaryRow(row) => {
            for kind in [kind::LONG, kind::LONGLONG, kind::DATETIME, kind::VAR_STRING, kind::DOUBLE, 99] {
                let types = [ColumnType { kind, flags: 0, charset: 63 }; 2];
                assert!(row.values(&types).count() <= 2);
            }
        }
        _ => {}
    }
}

/// Everything that `scan_to_end` reports of a stream, in words.
fn outcomes(capabilities: u64, chunks: &[&[u8]]) -> Vec<String> {
    let mut scanner = scanner(capabilities);
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let (word, used) = match scanner.scan_to_end(rest) {
                Ok(ScanOutcome::NeedMore) => break,
                Ok(ScanOutcome::Done { reply, consumed }) => (format!("{reply:?}"), consumed),
                Ok(ScanOutcome::Failed { error, reply, consumed }) => (format!("{error} {reply:?}"), consumed),
                Ok(ScanOutcome::LocalFile { consumed, .. }) => ("local file".to_owned(), consumed),
                Ok(ScanOutcome::Fatal(error)) => {
                    seen.push(format!("fatal {error}"));
                    return seen;
                }
                Err(error) => {
                    seen.push(error.to_string());
                    return seen;
                }
            };
            seen.push(word);
            assert!(used > 0 && used <= rest.len(), "no progress");
            rest = &rest[used..];
        }
        assert!(scanner.memory_bytes() <= MEMORY_BOUND_BYTES, "{}", scanner.memory_bytes());
    }
    seen
}

fn same_in_chunks(capabilities: u64, bytes: &[u8], chunks: &[&[u8]]) {
    for rows in [Rows::Keep, Rows::Skip] {
        assert_eq!(events(capabilities, &[bytes], rows), events(capabilities, chunks, rows));
    }
    assert_eq!(outcomes(capabilities, &[bytes]), outcomes(capabilities, chunks));
}

#[test]
fn the_transcript_is_understood_in_every_framing() {
    for capabilities in FRAMINGS {
        let bytes = transcript(capabilities);
        let outcomes = outcomes(capabilities, &[&bytes]);
        assert_eq!(outcomes.len(), COMMANDS.len() + 1, "{outcomes:#?}");
        let events = events(capabilities, &[&bytes], Rows::Keep);
        assert!(events.last().unwrap().ends_with("0 pending"), "{events:#?}");
        assert!(outcomes[1].starts_with("Reply { rows: 2,"), "{}", outcomes[1]);
        assert!(outcomes[2].contains("results: 2"), "{}", outcomes[2]);
        assert!(outcomes[6].starts_with("ERROR 1213 (40001)"), "{}", outcomes[6]);
    }
}

#[test]
fn damaged_streams_break_nothing() {
    let valid = FRAMINGS.map(transcript);
    for seed in 0..4000 {
        let mut rng = Rng::new(seed);
        let at = rng.below(FRAMINGS.len());
        let bytes = fuzz::some(&mut rng, &valid[at]);
        same_in_chunks(FRAMINGS[at], &bytes, &chunks(&mut rng, &bytes));
    }
}

#[test]
fn a_real_servers_bytes_mean_the_same_in_any_chunks() {
    let mut client = super::my_server::client();
    let capabilities = client.session.capabilities;
    for sql in ["SELECT * FROM accounts LIMIT 5", "SELECT nothing", "DO 1", "SELECT 1, NULL, 'x'"] {
        let _ = client.query(sql);
    }
    let bytes = client.transcript;
    let read = |chunks: &[&[u8]]| {
        let mut scanner = Scanner::new(LIMITS, capabilities);
        scanner.set_rows(Rows::Keep);
        (0..4).for_each(|_| scanner.expect(Command::Query));
        let mut seen = Vec::new();
        for chunk in chunks {
            let mut input = *chunk;
            while let Some(event) = scanner.next_event(&mut input).unwrap() {
                seen.push(format!("{event:?}"));
            }
        }
        assert_eq!(scanner.pending_count(), 0);
        seen
    };
    let whole = read(&[&bytes]);
    for seed in 0..200 {
        assert_eq!(read(&chunks(&mut Rng::new(seed), &bytes)), whole);
    }
}

#[test]
fn endless_rows_and_oversized_lengths_are_bounded() {
    let mut scanner = scanner(0);
    let valid = transcript(0);
    let ScanOutcome::Done { consumed, .. } = scanner.scan_to_end(&valid).unwrap() else { panic!("no reply") };
    let start = b"\x01\0\0\x01\x01\x1f\0\0\x02\x03def\x05bench\x01t\x01t\x01a\x01a\x0c\x2d\0\x0b\0\0\0\x03\x20\0\0\0\0";
    assert_eq!(consumed, 11);
    assert_eq!(scanner.scan_to_end(start), Ok(ScanOutcome::NeedMore));
    assert_eq!(scanner.scan_to_end(b"\x05\0\0\x03\xfe\0\0\x02\0"), Ok(ScanOutcome::NeedMore));
    let many = b"\x02\0\0\x04\x01x".repeat(1000);
    for _ in 0..1000 {
        assert_eq!(scanner.scan_to_end(&many), Ok(ScanOutcome::NeedMore));
    }
    assert_eq!((scanner.memory_bytes(), scanner.reply().rows), (0, 1_000_000));
    let huge = scanner.scan_to_end(b"\xff\xff\xff\x05x");
    assert!(matches!(huge, Err(WireError::TooLarge { .. })), "{huge:?}");
    // Columns without end are counted down, not stored.
    let mut scanner = Scanner::new(LIMITS, 0);
    scanner.expect(Command::Query);
    let announced = b"\x09\0\0\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff";
    assert!(matches!(scanner.scan_to_end(announced), Err(WireError::Unexpected { .. })));
    let mut scanner = Scanner::new(LIMITS, 0);
    scanner.expect(Command::Query);
    assert_eq!(scanner.scan_to_end(b"\x04\0\0\x01\xfd\xff\xff\xff"), Ok(ScanOutcome::NeedMore));
    assert_eq!(scanner.scan_to_end(&b"\x01\0\0\x02\x03".repeat(1000)), Ok(ScanOutcome::NeedMore));
    assert_eq!(scanner.memory_bytes(), 0);
}

/// Damages a server's part of a handshake with a real client.
fn hostile_handshake(rng: &mut Rng) -> Result<(), WireError> {
    let config = Config {
        password: Some("secret".into()),
        encryption: [Encryption::Off, Encryption::Prefer, Encryption::Require][rng.below(3)],
        medium: [Medium::Network, Medium::Local][rng.below(2)],
        public_key: PublicKey::Request,
        limits: LIMITS,
        ..Config::new("user")
    };
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    let mut progress = Progress::Receive;
    for round in 0..50 {
        progress = match progress {
            Progress::Ready(_) => return Ok(()),
            Progress::StartTls => handshake.tls_started(&mut out)?,
            Progress::Receive => {
                let mut packet_in = if round == 0 { some_greeting(rng) } else { some_packet(rng) };
                if rng.below(3) == 0 {
                    mutate(rng, &mut packet_in);
                }
                let mut last = Progress::Receive;
                for chunk in chunks(rng, &packet_in) {
                    last = handshake.receive(chunk, &mut out)?;
                    if !matches!(last, Progress::Receive) {
                        break;
                    }
                }
                last
            }
        };
        assert!(out.len() < 20_000, "the client talks without end");
    }
    Ok(())
}

fn some_greeting(rng: &mut Rng) -> Vec<u8> {
    let plugin = ["mysql_native_password", "caching_sha2_password", "client_ed25519", "other"][rng.below(4)];
    greeting(plugin, MYSQL_8 | [0, 0x800][rng.below(2)], b"abcdefghijklmnopqrst")
}

fn some_packet(rng: &mut Rng) -> Vec<u8> {
    let payload: &[u8] = match rng.below(9) {
        0 => b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0",
        1 => b"\xfeclient_ed25519\0abcdefghijklmnopqrstuvwxyz012345",
        2 => b"\xfemysql_clear_password\0",
        3 => b"\x01\x04",
        4 => b"\x01\x03",
        5 => b"\x01-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n",
        6 => b"\xff\x15\x04#28000Access denied",
        7 => b"\xfe",
        _ => b"\0\0\0\x02\0\0\0",
    };
    packet(2, payload)
}

#[test]
fn hostile_handshakes_end() {
    let ways = ["InsecureTransport", "Protocol", "TlsRefused", "RefusedByMysql", "TooLarge", "Unexpected"];
    fuzz::hostile_handshakes_end(hostile_handshake, ways);
}
