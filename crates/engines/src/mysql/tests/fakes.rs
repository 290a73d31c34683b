//! Listeners that are no usable server: wrong ports, dying or hostile servers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::*;
use crate::server::system::Settings as _;
use crate::server::testing::fakes::{Told, listen};
use crate::server::testing::lane::native;
use load::lane::{ErrorClass, Lane as _, OpError, OpOutcome, Submitted};
use workloads::transactions::{Rows, StatementOp};

fn url(port: u16, query: &str) -> String {
    format!("mysql://me:hunter2@127.0.0.1:{port}/shop?connect-timeout=1&{query}")
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

/// "Protocol::HandshakeV10" without TLS.
fn greeting() -> Vec<u8> {
    let (capabilities, status): (u32, u16) = (0x01bf_f7ff, 2);
    let [a, b, c, d] = capabilities.to_le_bytes();
    let mut payload = b"\x0a8.0.0-fake\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend([a, b, 45]);
    payload.extend(status.to_le_bytes());
    payload.extend([c, d, 21]);
    payload.extend([0; 10]);
    payload.extend(b"ijklmnopqrst\0mysql_native_password\0");
    packet(0, &payload)
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

#[test]
fn what_listens_and_is_no_server_is_told_apart() {
    testing::fakes::what_listens_and_is_no_server_is_told_apart::<MySqlServer>(&Told {
        url,
        port_option: "-P ",
        unknown_host: "mysql://me@no-such-host.invalid/shop",
        no_socket: "mysql://me@localhost/?socket=/no/such/socket",
        greeting: greeting(),
        products: "is it MySQL",
        plain: "",
        insisting: "ssl-mode=required",
        no_tls_hint: "ssl_cert",
    });
    let full = listen(|mut stream| {
        let _ = stream.write_all(&packet(0, b"\xff\x10\x04Too many connections"));
    });
    let failure = refusal(&url(full, ""), &[]);
    assert!(failure.cause.contains("1040") && failure.hint.unwrap().contains("max_connections"));
}

/// Up to the client's first request.
fn let_in(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    stream.write_all(&greeting())?;
    let _login = stream.read(&mut buffer)?;
    stream.write_all(&packet(2, OK))?;
    // `USE etalon`.
    let _use = stream.read(&mut buffer)?;
    stream.write_all(&packet(1, OK))
}

/// MySQL cannot prepare `BEGIN`.
#[test]
fn what_is_not_prepared_travels_as_text() {
    const REFUSAL: &[u8] = b"\xff\x0f\x05#HY000This command is not supported in the prepared statement protocol yet";
    let port = listen(|mut stream| {
        let mut buffer = [0; 4096];
        let _ = let_in(&mut stream);
        while let Ok(count @ 5..) = stream.read(&mut buffer) {
            let answer = match &buffer[4..count] {
                [0x16, b'B' | b'S', ..] => REFUSAL.to_vec(),
                // Statement 1, without columns or parameters.
                [0x16, ..] => vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                b"\x03START TRANSACTION" => vec![0, 0, 0, 3, 0, 0, 0],
                [0x17, 1, 0, 0, 0, ..] => OK.to_vec(),
                other => panic!("{other:?}"),
            };
            let _ = stream.write_all(&packet(1, &answer));
        }
    });
    let endpoint = Endpoint::new(Address::parse_url(&url(port, "ssl-mode=disabled"), &|_| None).unwrap()).unwrap();
    let open = |sql: &[&str]| {
        let opened = SessionSettings::default().open_lane(&endpoint, &MySqlServer::prepared(sql));
        opened.map_err(|error| error.to_failure(&endpoint))
    };
    let refused = open(&["BEGIN ?"]).err().unwrap();
    assert!(refused.cause.contains("1295") && refused.hint.unwrap().contains("as text"), "{}", refused.cause);
    let opened = vec![open(&["BEGIN", "COMMIT"]).unwrap()];
    let mut lane =
        NativeLane::new(Choice::Auto, opened, Arc::new(|| Err(load::lane::connection_lost("not again")))).unwrap();
    for statement in [0, 1, 0, 1] {
        let submitted = lane.submit(0, &StatementOp { statement, ..StatementOp::default() });
        assert!(matches!(submitted, Submitted::Queued), "{submitted:?}");
        assert_eq!(end_of(&mut lane), OpOutcome::Ok);
    }
    assert_eq!(lane.reconnect(0), None);
    assert_eq!(end_of(&mut lane), OpOutcome::Failed(load::lane::connection_lost("not again")));
}

/// Waits for the outcome of the operation in flight.
fn end_of(lane: &mut NativeLane) -> OpOutcome {
    let mut ended = Vec::new();
    while ended.is_empty() {
        lane.reap(u64::MAX, &mut ended);
    }
    ended.remove(0).outcome
}

fn ask(lane: &mut NativeLane, client: usize, text: &str) -> OpOutcome {
    let op = StatementOp { text: text.to_owned(), ..StatementOp::default() };
    assert!(matches!(lane.submit(client, &op), Submitted::Queued));
    end_of(lane)
}

/// Waits until this many answers were sent.
fn reaches(progress: &(Arc<Mutex<u32>>, Arc<Condvar>), count: u32) -> bool {
    let answered = progress.0.lock().unwrap();
    !progress.1.wait_timeout_while(answered, Duration::from_secs(20), |now| *now < count).unwrap().1.timed_out()
}

/// One client's rollback and reconnect block at the server until the other has five more answers, which needs a lane
/// that waits for neither.
#[test]
fn what_one_client_waits_for_delays_no_other() {
    const IN_TRANSACTION: &[u8] = &[0, 0, 0, 3, 0, 0, 0];
    let (answered, steps) = (Arc::new(Mutex::new(0)), Arc::new(Condvar::new()));
    let (progress, number) = ((Arc::clone(&answered), Arc::clone(&steps)), Arc::new(AtomicUsize::new(0)));
    let port = listen(move |mut stream| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        if number == 2 && !reaches(&progress, 10) {
            return;
        }
        let _ = let_in(&mut stream);
        let mut buffer = [0; 4096];
        while let Ok(count @ 5..) = stream.read(&mut buffer) {
            let answer = match &buffer[4..count] {
                b"\x03START TRANSACTION" => IN_TRANSACTION,
                b"\x03FAIL" => b"\xff\xbd\x04#40001Deadlock",
                b"\x03ROLLBACK" if !reaches(&progress, 5) => return,
                b"\x01" => return,
                _ => OK,
            };
            if number == 1 {
                *progress.0.lock().unwrap() += 1;
                progress.1.notify_all();
            }
            let _ = stream.write_all(&packet(1, answer));
        }
    });
    let endpoint = Endpoint::new(Address::parse_url(&url(port, "ssl-mode=disabled"), &|_| None).unwrap()).unwrap();
    let mut lane = native::<MySqlServer>(&endpoint, &SessionSettings::default(), Choice::Auto, 2, Vec::new());
    assert_eq!(ask(&mut lane, 0, "BEGIN"), OpOutcome::Ok);
    assert!(matches!(ask(&mut lane, 0, "FAIL"), OpOutcome::Failed(error) if error.class == ErrorClass::Deadlock));
    assert_eq!(lane.recover(0), None);
    (0..5).for_each(|_| assert_eq!(ask(&mut lane, 1, "SELECT 1"), OpOutcome::Ok));
    assert_eq!(end_of(&mut lane), OpOutcome::Ok, "rolled back");
    assert_eq!(lane.reconnect(0), None);
    (0..5).for_each(|_| assert_eq!(ask(&mut lane, 1, "SELECT 1"), OpOutcome::Ok));
    assert_eq!(end_of(&mut lane), OpOutcome::Ok, "connected anew");
    assert_eq!(ask(&mut lane, 0, "SELECT 1"), OpOutcome::Ok);
    lane.close();
}

/// A server that accepts the lane and answers its first statement with `answer`.
fn under_load(way: Choice, rows: Rows, answer: fn(&mut TcpStream) -> std::io::Result<()>) -> OpError {
    let port = listen(move |mut stream| {
        let _ = let_in(&mut stream);
        let _ = stream.read(&mut [0; 4096]);
        let _ = answer(&mut stream);
    });
    let endpoint = Endpoint::new(Address::parse_url(&url(port, "ssl-mode=disabled"), &|_| None).unwrap()).unwrap();
    let mut lane = native::<MySqlServer>(&endpoint, &SessionSettings::default(), way, 1, Vec::new());
    let op = StatementOp { text: "SELECT 1".to_owned(), rows, ..StatementOp::default() };
    assert!(matches!(lane.submit(0, &op), Submitted::Queued));
    let outcome = end_of(&mut lane);
    lane.close();
    let OpOutcome::Failed(error) = outcome else { panic!("it went well") };
    error
}

fn columns() -> Vec<u8> {
    let column = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\x01\0\0\0\x08\0\0\0\0\0";
    [packet(1, &[1]), packet(2, column)].concat()
}

#[test]
fn a_server_that_goes_wrong_under_load_is_a_lost_connection() {
    for way in [Choice::Auto, Choice::Poller] {
        for rows in [Rows::Discard, Rows::Keep] {
            let lost = |answer: fn(&mut TcpStream) -> std::io::Result<()>, words: &str| {
                let error = under_load(way, rows, answer);
                assert_eq!(error.class, ErrorClass::ConnectionLost, "{error:?}");
                assert!(error.message.contains(words), "{error:?} instead of {words}");
            };
            lost(|_| Ok(()), "closed");
            lost(|stream| stream.write_all(&columns()[..9]), "closed");
            // An endless payload: 16 MiB again and again.
            lost(
                |stream| {
                    stream.write_all(&[1, 0, 0, 1, 1])?;
                    loop {
                        stream.write_all(&[0xff, 0xff, 0xff, 2])?;
                        stream.write_all(&vec![1; 0xff_ffff])?;
                    }
                },
                "limit",
            );
            lost(|stream| stream.write_all(&packet(1, &[0xfb, b'/'])), "file");
            lost(|stream| stream.write_all(&packet(1, b"\xff\x87\x07#70100Connection was killed")), "killed");
            lost(|stream| stream.write_all(&packet(1, &[0; 3])), "protocol");
        }
    }
}

#[test]
fn rows_without_end_are_given_up() {
    let error = under_load(Choice::Auto, Rows::Discard, |stream| {
        stream.write_all(&columns())?;
        let rows: Vec<u8> = (0..3_000).flat_map(|_| packet(3, &[&[0xfc, 0, 1][..], &[b'x'; 256]].concat())).collect();
        loop {
            stream.write_all(&rows)?;
        }
    });
    assert_eq!(error.class, ErrorClass::ConnectionLost);
    assert!(error.message.contains("no end"), "{error:?}");
    let error = under_load(Choice::Poller, Rows::Keep, |stream| {
        let results = packet(1, &[0, 0, 0, 10, 0, 0, 0]).repeat(1_000);
        loop {
            stream.write_all(&results)?;
        }
    });
    assert!(error.message.contains("results without end"), "{error:?}");
}
