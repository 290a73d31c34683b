//! Errors with all fields, what comes unasked, and ends.

use wire::postgres::{Config, Encryption, Event, Handshake, Severity, frontend};
use wire::{Limits, WireError};

use super::pg_client::Client;
use super::pg_server::{config, server, trusted};

#[test]
fn errors_have_all_their_fields() {
    let mut client = trusted();
    client
        .query("CREATE SCHEMA IF NOT EXISTS s; CREATE TABLE IF NOT EXISTS s.t (id int CONSTRAINT tk PRIMARY KEY)")
        .unwrap();
    let error = client.query("INSERT INTO s.t VALUES (1), (1)").unwrap_err();
    assert_eq!((error.severity, error.code.as_str()), (Severity::Error, "23505"));
    assert_eq!(error.schema.as_deref(), Some("s"));
    assert_eq!(error.table.as_deref(), Some("t"));
    assert_eq!(error.constraint.as_deref(), Some("tk"));
    assert!(error.detail.as_ref().is_some_and(|detail| detail.contains("(id)=(1)")));
    assert!(error.file.is_some() && error.line.is_some() && error.routine.is_some());

    let error = client.query("SELECT nothing FROM s.t").unwrap_err();
    assert_eq!((error.code.as_str(), error.position), ("42703", Some(8)));
    let error = client.query("SELECT idd FROM s.t").unwrap_err();
    assert!(error.hint.is_some_and(|hint| hint.contains("s.t")) || error.position == Some(8));

    let block = "DO $$ BEGIN RAISE EXCEPTION 'm' USING DETAIL = 'd', HINT = 'h', COLUMN = 'c', DATATYPE = 'dt'; END $$";
    let error = client.query(block).unwrap_err();
    assert_eq!((error.column.as_deref(), error.data_type.as_deref()), (Some("c"), Some("dt")));
    assert_eq!((error.detail.as_deref(), error.hint.as_deref()), (Some("d"), Some("h")));
    assert!(error.context.is_some_and(|context| context.contains("PL/pgSQL")));
    let error = client.query("DO $$ BEGIN EXECUTE 'SELECT oops'; END $$").unwrap_err();
    assert_eq!((error.internal_query.as_deref(), error.internal_position), (Some("SELECT oops"), Some(8)));
}

#[test]
fn notices_parameters_and_notifications_are_events() {
    let mut client = trusted();
    let mut out = Vec::new();
    let sql = "LISTEN ch; DO $$ BEGIN RAISE WARNING 'beware'; END $$; SET application_name = 'n'; NOTIFY ch, 'hello'";
    frontend::query(sql, &mut out).unwrap();
    let mut seen = Vec::new();
    client.events(&out, |event| match event {
        Event::Notice(notice) => seen.push(format!("{:?} {}", notice.severity, notice.message)),
        Event::Parameter { name, value } => {
            seen.push(format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        }
        Event::Notification { channel, payload, .. } => {
            seen.push(format!("{}: {}", String::from_utf8_lossy(channel), String::from_utf8_lossy(payload)));
        }
        _ => {}
    });
    seen.sort();
    assert_eq!(seen, ["Notice beware", "application_name=n", "ch: hello"]);
    // The fast path steps over all of them.
    assert_eq!(client.run(&out).unwrap().commands, 4);
}

#[test]
fn an_end_by_either_side_is_understood() {
    let mut client = trusted();
    let fatal = client.query("SELECT pg_terminate_backend(pg_backend_pid())").unwrap_err();
    assert_eq!((fatal.severity, fatal.code.as_str()), (Severity::Fatal, "57P01"));
    assert_eq!(client.receive(), 0);

    let mut client = trusted();
    let mut out = Vec::new();
    frontend::terminate(&mut out);
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
    frontend::query("SELECT repeat('x', 200000)", &mut out).unwrap();
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
