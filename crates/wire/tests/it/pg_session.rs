//! Errors with all fields, what comes unasked, and ends.

use wire::postgres::{Config, Encryption, Event, Handshake, frontend};
use wire::{Limits, WireError};

use super::pg_client::Client;
use super::pg_server::{config, server, trusted};

#[test]
fn errors_have_their_code_and_detail() {
    let mut client = trusted();
    client.query("CREATE TEMP TABLE t (id int PRIMARY KEY)").unwrap();
    let error = client.query("INSERT INTO t VALUES (1), (1)").unwrap_err();
    assert_eq!((error.ends_connection(), error.code.as_str()), (false, "23505"));
    assert!(error.detail.as_ref().is_some_and(|detail| detail.contains("(id)=(1)")));
    let error = client.query("DO $$ BEGIN RAISE EXCEPTION 'm' USING DETAIL = 'd', HINT = 'h'; END $$").unwrap_err();
    assert_eq!((error.detail.as_deref(), error.hint.as_deref()), (Some("d"), Some("h")));
}

#[test]
fn notices_parameters_and_notifications_are_stepped_over() {
    let mut client = trusted();
    let mut out = Vec::new();
    let sql = "LISTEN ch; DO $$ BEGIN RAISE WARNING 'beware'; END $$; SET application_name = 'n'; NOTIFY ch, 'hello'";
    frontend::write_query(sql, &mut out).unwrap();
    let mut others = 0;
    client.events(&out, |event| others += u32::from(*event == Event::Other));
    assert_eq!(others, 3);
    assert_eq!(client.run(&out).unwrap().commands, 4);
}

#[test]
fn an_end_by_either_side_is_understood() {
    let mut client = trusted();
    let fatal = client.query("SELECT pg_terminate_backend(pg_backend_pid())").unwrap_err();
    assert_eq!((fatal.ends_connection(), fatal.code.as_str()), (true, "57P01"));
    assert_eq!(client.receive(), 0);

    let mut client = trusted();
    let mut out = Vec::new();
    frontend::write_terminate(&mut out);
    client.send(&out);
    assert_eq!(client.receive(), 0);
}

#[test]
fn too_many_connections_have_their_own_state() {
    let result = Client::connect(server(), config("limited", "secret", Encryption::Off));
    let Err(error) = result else { panic!("the limit was not kept") };
    assert_eq!(error.sqlstate(), Some(wire::SqlState::TOO_MANY_CONNECTIONS));
}

#[test]
fn limits_hold() {
    let limits = Limits { message_bytes: 100_000, ..Limits::default() };
    let config = Config { limits, ..config("trusted", "", Encryption::Off) };
    let mut client = Client::connect(server(), config).unwrap();
    let mut out = Vec::new();
    frontend::write_query("SELECT repeat('x', 200000)", &mut out).unwrap();
    client.send(&out);
    client.receive();
    let transcript = client.transcript.clone();
    let error = client.scanner.scan_to_ready(&transcript).unwrap_err();
    assert!(matches!(error, WireError::TooLarge { limit_bytes: 100_000, .. }));
    // And it stays so.
    assert_eq!(client.scanner.scan_to_ready(b"Z\0\0\0\x05I"), Err(error));
}

#[test]
fn misuse_is_an_error_not_a_panic() {
    let mut handshake = Handshake::new(Config::new("u"));
    let mut out = Vec::new();
    assert!(matches!(handshake.receive(b"x", &mut out), Err(WireError::Misuse(_))));
    assert!(matches!(handshake.start(&mut out), Err(WireError::Misuse(_))));
    let mut handshake = Handshake::new(Config::new("a\0b"));
    assert!(matches!(handshake.start(&mut out), Err(WireError::NulByte(_))));
    assert!(out.is_empty());
}
