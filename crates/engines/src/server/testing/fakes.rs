//! Listeners that are no usable server.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::refusal;
use crate::server::system::Server;
use load::error::FailureKind;

/// `serve` handles every connection until the test process ends.
pub(crate) fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    port
}

/// How an engine distinguishes listeners.
pub(crate) struct Told {
    /// Makes a URL of port and query.
    pub(crate) url: fn(u16, &str) -> String,
    /// The option that a port follows.
    pub(crate) port_option: &'static str,
    pub(crate) unknown_host: &'static str,
    pub(crate) no_socket: &'static str,
    /// What a server says first, or answers first without TLS.
    pub(crate) greeting: Vec<u8>,
    pub(crate) products: &'static str,
    pub(crate) plain: &'static str,
    pub(crate) insisting: &'static str,
    pub(crate) no_tls_hint: &'static str,
}

pub(crate) fn what_listens_and_is_no_server_is_told_apart<S: Server>(told: &Told) {
    let by = |port: u16, query: &str| refusal::<S>(&(told.url)(port, query), &[]);
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let failure = by(unused, "");
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.cause.contains("refused"), "{failure}");
    assert!(failure.hint.as_ref().unwrap().contains(&format!("{}{unused}", told.port_option)), "{failure:?}");
    let failure = refusal::<S>(told.unknown_host, &[]);
    assert_eq!(failure.kind, FailureKind::Unreachable, "{failure}");
    let failure = refusal::<S>(told.no_socket, &[]);
    assert_eq!(failure.kind, FailureKind::Unreachable, "{failure}");
    assert!(failure.tried.contains("/no/such/"), "{failure}");

    let failure = by(listen(std::mem::forget), "");
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.cause.contains("nothing answered within 3 s"), "{failure}");
    // A byte now and then is no better.
    let greeting = told.greeting.clone();
    let slow = listen(move |mut stream| {
        for byte in greeting.iter().cycle().take(100) {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(500));
        }
    });
    if told.greeting.len() > 8 {
        let failure = by(slow, told.plain);
        assert!(failure.cause.contains("nothing answered within 3 s"), "{failure}");
    }
    assert_eq!(by(listen(drop), "").kind, FailureKind::Unreachable);
    let web = listen(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    let failure = by(web, told.plain);
    assert!(failure.hint.as_ref().unwrap().contains(told.products), "{failure:?}");
    let greeting = told.greeting.clone();
    let plain = listen(move |mut stream| {
        let _ = stream.write_all(&greeting);
        let _ = stream.read(&mut [0; 1024]);
    });
    let failure = by(plain, told.insisting);
    assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
    assert!(failure.cause.contains("no TLS") && failure.hint.unwrap().contains(told.no_tls_hint), "{}", failure.cause);
}
