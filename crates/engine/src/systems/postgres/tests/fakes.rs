//! Listeners that are no usable server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

/// `serve` handles every connection until the test process ends.
pub(super) fn listen(serve: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    port
}

pub(super) fn url(port: u16, query: &str) -> String {
    format!("postgres://me:hunter2@127.0.0.1:{port}/shop?connect_timeout=1&{query}")
}

/// An error message of the protocol.
pub(super) fn error_message(state: &str, message: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0VFATAL\0C{state}\0M{message}\0\0");
    let mut bytes = vec![b'E'];
    bytes.extend((fields.len() as u32 + 4).to_be_bytes());
    bytes.extend(fields.as_bytes());
    bytes
}

#[test]
fn what_listens_and_is_no_server_is_told_apart() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let failure = refusal(&url(unused, ""), &[]);
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.cause.contains("refused"), "{failure}");
    assert!(failure.hint.as_ref().unwrap().contains(&format!("pg_isready -h 127.0.0.1 -p {unused}")), "{failure:?}");

    let failure = refusal("postgres://me@no-such-host.invalid/shop", &[]);
    assert_eq!(failure.kind, FailureKind::Unreachable, "{failure}");
    let failure = refusal("postgres://me@/shop?host=/no/such/folder", &[]);
    assert_eq!(failure.kind, FailureKind::Unreachable, "{failure}");
    assert!(failure.tried.contains("/no/such/folder"), "{failure}");

    let silent = listen(std::mem::forget);
    let failure = refusal(&url(silent, ""), &[]);
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.cause.contains("nothing answered within 3 s"), "{failure}");

    let rude = listen(drop);
    assert_eq!(refusal(&url(rude, ""), &[]).kind, FailureKind::Unreachable);

    let web = listen(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let failure = refusal(&url(web, "sslmode=disable"), &[]);
    assert!(failure.hint.as_ref().unwrap().contains("is it PostgreSQL"), "{failure:?}");
}

#[test]
fn a_server_without_tls_is_told_how_it_could_have_it() {
    let plain = listen(|mut stream| {
        let _ = stream.read(&mut [0; 8]);
        let _ = stream.write_all(b"N");
    });
    let failure = refusal(&url(plain, "sslmode=require"), &[]);
    assert_eq!(failure.kind, FailureKind::Unsupported);
    assert!(failure.cause.contains("no TLS") && failure.hint.unwrap().contains("ssl = on"), "{}", failure.cause);
}

#[test]
fn a_server_that_starts_up_is_waited_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let starting = listen(move |mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let answer = match counter.fetch_add(1, Ordering::SeqCst) {
            0..3 => error_message("57P03", "the database system is starting up"),
            _ => error_message("3D000", "database \"shop\" does not exist"),
        };
        let _ = stream.write_all(&answer);
    });
    let failure = refusal(&url(starting, "sslmode=disable"), &[]);
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    assert_eq!(failure.kind, FailureKind::Missing);
    assert!(!format!("{failure:?}").contains("hunter2"));
}
