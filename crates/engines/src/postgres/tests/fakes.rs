//! Listeners that are no usable server.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::server::testing::fakes::{Told, listen};

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
    testing::fakes::what_listens_and_is_no_server_is_told_apart::<PostgresServer>(&Told {
        url,
        port_option: "pg_isready -h 127.0.0.1 -p ",
        unknown_host: "postgres://me@no-such-host.invalid/shop",
        no_socket: "postgres://me@/shop?host=/no/such/folder",
        // The answer to the wish for TLS.
        greeting: b"N".to_vec(),
        products: "is it PostgreSQL",
        plain: "sslmode=disable",
        insisting: "sslmode=require",
        no_tls_hint: "ssl = on",
    });
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
