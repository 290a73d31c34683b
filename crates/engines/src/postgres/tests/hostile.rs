//! Servers that misbehave after login, or pretend to know a password: one clear failure, other connections go on,
//! nothing hangs.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::fakes::{error_message, url};
use super::*;
use crate::server::testing::fakes::listen;
use crate::server::testing::lane::{WAYS, native};
use load::lane::{Completion, ErrorClass, Lane, OpError, OpOutcome, Submitted};
use workloads::transactions::StatementOp;

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

pub(super) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// Reads the start-up message and accepts.
pub(super) fn let_in(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 1024]);
    let _ = stream.write_all(&[message(b'R', &[0; 4]), ready()].concat());
}

fn serve_well(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    while let Ok(1..) = stream.read(&mut buffer) {
        let _ = stream.write_all(&[message(b'C', b"SELECT 1\0"), ready()].concat());
    }
}

/// Serves the second connection well; `answer` handles the first.
fn server(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Endpoint {
    let answer = Arc::new(answer);
    let count = AtomicUsize::new(0);
    let port = listen(move |mut stream| {
        let (number, answer) = (count.fetch_add(1, Ordering::SeqCst), Arc::clone(&answer));
        thread::spawn(move || {
            let_in(&mut stream);
            if number % 2 == 1 {
                return serve_well(stream);
            }
            let _ = stream.read(&mut [0; 1024]);
            answer(&mut stream);
        });
    });
    Endpoint::new(Address::parse_url(&url(port, "sslmode=disable"), &|_| None).unwrap()).unwrap()
}

fn open_lane(endpoint: &Endpoint, way: Choice) -> NativeLane {
    let session = SessionSettings { options: String::new(), settings: Vec::new(), database: None };
    native::<PostgresServer>(endpoint, &session, way, 2, Statements::Simple)
}

fn op() -> StatementOp {
    StatementOp { text: "SELECT 1".to_owned(), ..StatementOp::default() }
}

/// Asks all, and waits for as many answers.
fn ask(lane: &mut NativeLane, clients: &[usize], answers: usize) -> Vec<Completion> {
    for client in clients {
        assert!(matches!(lane.submit(*client, &op()), Submitted::Queued));
    }
    let started = Instant::now();
    let mut ended = Vec::new();
    while ended.len() < answers {
        lane.reap(host::clock::now_ns() + 100_000_000, &mut ended);
        assert!(started.elapsed() < Duration::from_secs(10), "it hangs");
    }
    ended
}

/// What the first client gets; the second is undisturbed, and the first can reconnect.
fn heard(answer: impl Fn(&mut TcpStream) + Send + Sync + Clone + 'static) -> OpError {
    let mut first: Option<OpError> = None;
    for way in WAYS {
        let endpoint = server(answer.clone());
        let mut lane = open_lane(&endpoint, way);
        let mut ended = ask(&mut lane, &[0, 1], 2);
        ended.sort_by_key(|completion| completion.client);
        assert_eq!(ended[1].outcome, OpOutcome::Ok);
        let OpOutcome::Failed(error) = ended.remove(0).outcome else { panic!("it was not noticed") };
        assert!(first.as_ref().is_none_or(|first| *first == error), "{first:?} {error:?}");
        assert!(matches!(lane.submit(0, &op()), Submitted::Done(OpOutcome::Failed(_))), "it is gone");
        assert_eq!(ask(&mut lane, &[1], 1)[0].outcome, OpOutcome::Ok);
        lane.close();
        first = Some(error);
    }
    first.unwrap()
}

/// Sends bytes and closes.
fn says(bytes: Vec<u8>) -> impl Fn(&mut TcpStream) + Send + Sync + Clone + 'static {
    move |stream| {
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read(&mut [0; 64]);
    }
}

fn lost(bytes: Vec<u8>, words: &str) {
    let error = heard(says(bytes));
    assert_eq!(error.class, ErrorClass::ConnectionLost, "{error:?}");
    assert!(error.message.contains(words), "{error:?} instead of {words}");
}

#[test]
fn a_server_that_misbehaves_loses_that_connection_and_no_other() {
    let row = message(b'D', &[0, 1, 0, 0, 0, 2, b'a', b'b']);
    lost(Vec::new(), "closed the connection");
    lost(row[..9].to_vec(), "closed the connection");
    lost([row.clone(), row.clone()].concat(), "closed the connection");
    lost([&b"D"[..], &[0x7f, 255, 255, 255]].concat(), "the limit is");
    lost([&b"D"[..], &[0, 0, 0, 3]].concat(), "shorter than its own length");
    lost(message(0xff, b"x"), "unexpected message 0xff");
    lost(message(b'Z', b"?"), "broke the protocol");
    lost(error_message("57P01", "terminating connection due to administrator command"), "administrator command");
    lost(error_message("XX000", "out of luck"), "out of luck");
    let full = heard(says(error_message("53300", "sorry, too many clients already")));
    assert_eq!(full.class, ErrorClass::TooManyConnections);
}

/// Sent without a request.
#[test]
fn what_nobody_asked_for_is_passed_over_or_ends_the_connection() {
    for way in WAYS {
        let notices =
            [message(b'N', b"SNOTICE\0Mhm\0\0"), message(b'A', b"\0\0\0\x01c\0p\0"), message(b'S', b"a\0b\0")].concat();
        let answer = [message(b'C', b"SELECT 1\0"), ready(), notices].concat();
        let endpoint = server(move |stream| {
            let _ = stream.write_all(&answer);
            serve_well(stream.try_clone().unwrap());
        });
        let mut lane = open_lane(&endpoint, way);
        for _ in 0..3 {
            assert_eq!(ask(&mut lane, &[0], 1)[0].outcome, OpOutcome::Ok);
        }
        lane.close();
        let twice = [message(b'C', b"SELECT 1\0"), ready(), ready()].concat();
        let endpoint = server(says(twice));
        let mut lane = open_lane(&endpoint, way);
        let _ = ask(&mut lane, &[0], 1);
        let mut none = Vec::new();
        lane.reap(host::clock::now_ns() + 200_000_000, &mut none);
        let Submitted::Done(OpOutcome::Failed(error)) = lane.submit(0, &op()) else { panic!("taken for an answer") };
        assert!(error.message.contains("not made") || error.message.contains("closed"), "{error:?}");
        lane.close();
    }
}

/// Endless rows fill no memory and block no one; a bounded wait ends in time.
#[test]
fn rows_without_an_end_are_survived() {
    for way in WAYS {
        let endpoint = server(|stream| {
            let rows = message(b'D', &[0; 60_000]).repeat(8);
            while stream.write_all(&rows).is_ok() {}
        });
        let mut lane = open_lane(&endpoint, way);
        assert_eq!(ask(&mut lane, &[0, 1], 1)[0].client, 1);
        let before = host::memory::peak_rss_bytes().unwrap();
        let started = Instant::now();
        let mut ended = Vec::new();
        while started.elapsed() < Duration::from_millis(500) {
            lane.reap(host::clock::now_ns() + 10_000_000, &mut ended);
        }
        assert!(ended.is_empty());
        let grown = host::memory::peak_rss_bytes().unwrap().saturating_sub(before);
        // Other tests run in parallel; a second of rows would be gigabytes.
        assert!(grown < 200 << 20, "{grown} bytes");
        assert_eq!(ask(&mut lane, &[1], 1)[0].outcome, OpOutcome::Ok);
        drop(lane);
    }
}

/// How a false SCRAM server is detected.
fn scram(conversation: impl Fn(&str) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Failure {
    let port = listen(move |mut stream| {
        let mut buffer = [0; 1024];
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(&message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"));
        let bytes = stream.read(&mut buffer).unwrap_or_default();
        let text = String::from_utf8_lossy(&buffer[..bytes]).into_owned();
        let nonce = text.split("r=").nth(1).unwrap_or_default().to_owned();
        for answer in conversation(&nonce) {
            let _ = stream.write_all(&answer);
            let _ = stream.read(&mut buffer);
        }
    });
    let endpoint = Endpoint::new(Address::parse_url(&url(port, "sslmode=disable"), &|_| None).unwrap()).unwrap();
    let failure = endpoint.open_client("").err().unwrap();
    assert!(!format!("{failure:?} {failure}").contains("hunter2"));
    failure
}

#[test]
fn a_server_that_does_not_know_the_password_is_found_out() {
    fn step(kind: u8, text: &str) -> Vec<u8> {
        message(b'R', &[&[0, 0, 0, kind], text.as_bytes()].concat())
    }
    fn first(nonce: &str) -> Vec<u8> {
        step(11, &format!("r={nonce}server,s=c2FsdA==,i=4096"))
    }
    fn says(failure: Failure, words: &str) {
        assert!(failure.cause.contains(words), "{failure} instead of {words}");
    }
    let signature = "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    says(scram(move |nonce| vec![first(nonce), step(12, signature)]), "signature is wrong");
    says(scram(move |nonce| vec![first(nonce), step(0, "")]), "without proving itself");
    says(scram(move |_| vec![step(0, "")]), "without proving itself");
    says(scram(move |_| vec![step(11, "r=other,s=c2FsdA==,i=4096")]), "nonce");
    says(scram(move |_| vec![step(11, "garbage")]), "malformed");
    says(
        scram(move |nonce| vec![step(11, &format!("r={nonce}x,s=c2FsdA==,i=2000000000"))]),
        "lower `scram_iterations`",
    );
    says(scram(move |nonce| vec![first(nonce), step(12, "e=other-error")]), "other-error");
    says(scram(move |nonce| vec![first(nonce), step(3, "")]), "out of order");
    says(scram(move |_| vec![[&b"R"[..], &[0x7f, 0, 0, 0]].concat()]), "the limit is");
}

/// A login of a byte now and then ends in time.
#[test]
fn a_login_that_drips_is_given_up() {
    let port = listen(|mut stream| {
        thread::spawn(move || {
            let _ = stream.read(&mut [0; 1024]);
            let notice = message(b'N', &[b"SNOTICE\0M", &[b'x'; 5000][..], b"\0\0"].concat());
            for byte in notice {
                let _ = stream.write_all(&[byte]);
                thread::sleep(Duration::from_millis(20));
            }
        });
    });
    let endpoint = Endpoint::new(Address::parse_url(&url(port, "sslmode=disable"), &|_| None).unwrap()).unwrap();
    let started = Instant::now();
    let failure = endpoint.open_client("").err().unwrap();
    assert!(failure.cause.contains("nothing answered within"), "{failure}");
    assert!(started.elapsed() < Duration::from_secs(8));
}
