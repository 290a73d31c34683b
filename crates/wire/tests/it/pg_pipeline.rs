//! Many requests before one reply, and failures in their middle.

use wire::Value;
use wire::postgres::{
    Ending, Event, ScanOutcome, Statement, Template, TemplateOptions, TransactionStatus, frontend, oid,
};

use super::pg_client::Client;
use super::pg_server::trusted;

fn prepared(client: &mut Client, sql: &str, types: &[u32], ending: Ending) -> Template {
    let mut out = Vec::new();
    frontend::write_parse("p", sql, types, &mut out).unwrap();
    frontend::write_sync(&mut out);
    client.run(&out).unwrap();
    Template::new(Statement::Prepared("p"), types, TemplateOptions { ending, ..TemplateOptions::default() }).unwrap()
}

#[test]
fn twenty_binds_before_one_sync_are_one_reply() {
    let mut client = trusted();
    let select = prepared(&mut client, "SELECT * FROM accounts WHERE aid <= $1", &[oid::INT4], Ending::Pipeline);
    let mut out = Vec::new();
    for limit in 1..=20 {
        select.encode(&[Value::Int(limit)], &mut out).unwrap();
    }
    frontend::write_sync(&mut out);
    let reply = client.run(&out).unwrap();
    assert_eq!((reply.commands, reply.rows, reply.affected), (20, 210, 210));
}

#[test]
fn replies_of_several_syncs_are_distinguished() {
    let mut client = trusted();
    let select = prepared(&mut client, "SELECT 1 / $1", &[oid::INT4], Ending::Sync);
    let mut out = Vec::new();
    for divisor in [1, 0, 2, 0, 3] {
        select.encode(&[Value::Int(divisor)], &mut out).unwrap();
    }
    client.send(&out);
    let outcomes: Vec<_> = (0..5).map(|_| client.outcome()).collect();
    for (index, outcome) in outcomes.iter().enumerate() {
        match outcome {
            ScanOutcome::Ready { reply, .. } => assert_eq!((reply.rows, index % 2), (1, 0)),
            ScanOutcome::Failed { error, reply, .. } => {
                assert_eq!((error.code.as_str(), reply.rows, index % 2), ("22012", 0, 1));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_error_in_the_middle_ends_the_pipeline_up_to_its_sync() {
    let mut client = trusted();
    let select = prepared(&mut client, "SELECT 1 / $1", &[oid::INT4], Ending::Pipeline);
    let mut out = Vec::new();
    for divisor in [1, 1, 0, 1, 1] {
        select.encode(&[Value::Int(divisor)], &mut out).unwrap();
    }
    frontend::write_sync(&mut out);
    select.encode(&[Value::Int(1)], &mut out).unwrap();
    frontend::write_sync(&mut out);
    client.send(&out);
    let ScanOutcome::Failed { error, reply, .. } = client.outcome() else { panic!("it succeeded") };
    assert_eq!((error.code.as_str(), reply.commands, reply.rows), ("22012", 2, 2));
    let ScanOutcome::Ready { reply, .. } = client.outcome() else { panic!("it failed") };
    assert_eq!((reply.commands, reply.status), (1, TransactionStatus::Idle));
}

#[test]
fn transactions_show_in_the_status() {
    let mut client = trusted();
    assert_eq!(client.query("BEGIN").unwrap().status, TransactionStatus::InTransaction);
    client.query("nonsense").unwrap_err();
    client.send(b"S\0\0\0\x04");
    let ScanOutcome::Ready { reply, .. } = client.outcome() else { panic!("it failed") };
    assert_eq!(reply.status, TransactionStatus::Failed);
    let refused = client.query("SELECT 1").unwrap_err();
    assert_eq!(refused.code.as_str(), "25P02");
    assert_eq!(client.query("ROLLBACK").unwrap().status, TransactionStatus::Idle);
}

#[test]
fn a_portal_can_be_read_in_pieces() {
    let mut client = trusted();
    let mut out = Vec::new();
    // The template's own `Execute` has no row limit; a caller who wants one binds by hand.
    frontend::write_query("BEGIN; DECLARE c CURSOR FOR SELECT * FROM accounts", &mut out).unwrap();
    client.run(&out).unwrap();
    out.clear();
    frontend::write_execute("c", 10, &mut out).unwrap();
    frontend::write_execute("c", 0, &mut out).unwrap();
    frontend::write_sync(&mut out);
    let mut rows = 0;
    client.events(&out, |event| match event {
        Event::Row(_) => rows += 1,
        Event::Error(error) => panic!("{error}"),
        _ => {}
    });
    assert_eq!(rows, 1000);
    assert_eq!(client.scanner.rows_seen(), 1000);
    client.query("ROLLBACK").unwrap();
}

#[test]
fn big_rows_pass_in_small_chunks() {
    let mut client = trusted();
    client.chunk = 1000;
    let reply = client.query("SELECT repeat('x', 3000000), n FROM generate_series(1, 3) n").unwrap();
    assert_eq!(reply.rows, 3);
    // Skipped rows are never stored.
    assert!(client.scanner.memory_bytes() < 4096, "{}", client.scanner.memory_bytes());
    let values = client.column("SELECT repeat('y', 3000000)");
    assert_eq!(values[0].as_ref().unwrap().len(), 3_000_000);
    client.query("SELECT 1").unwrap();
    assert!(client.scanner.memory_bytes() <= 16 << 10, "{}", client.scanner.memory_bytes());
}
