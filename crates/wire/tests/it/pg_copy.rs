use wire::postgres::{CopyFormat, Event, ScanOutcome, copy, frontend, oid};
use wire::{Value, WireError};

use super::pg_client::Client;
use super::pg_server::trusted;

fn start(client: &mut Client, sql: &str) -> CopyFormat {
    let mut out = Vec::new();
    frontend::query(sql, &mut out).unwrap();
    client.send(&out);
    match client.outcome() {
        ScanOutcome::CopyIn { start, .. } => start.format,
        other => panic!("{other:?}"),
    }
}

const AWKWARD: &str = "tab\t, backslash \\, \\N, newline\n, return\r, é";

#[test]
fn text_and_binary_load_the_same_rows() {
    let mut client = trusted();
    client.query("CREATE TEMP TABLE l (id int4, big int8, x float8, t text, b bool, n text, y bytea)").unwrap();
    let types = [oid::INT4, oid::INT8, oid::FLOAT8, oid::TEXT, oid::BOOL, oid::TEXT, oid::BYTEA];
    let row = |id: i64| {
        let (x, bytes) = (Value::Float(id as f64 / 8.0), Value::Bytes(&[0, 9, 10, 92, 255]));
        [Value::Int(id), Value::Int(id << 33), x, Value::Text(AWKWARD), Value::Bool(id % 2 == 0), Value::Null, bytes]
    };
    assert_eq!(start(&mut client, "COPY l FROM STDIN"), CopyFormat::Text);
    let mut out = Vec::new();
    for batch in 0..10 {
        copy::text_batch(&mut out, |rows| {
            (0..100).for_each(|id| rows.row(&row(batch * 100 + id)));
            Ok(())
        })
        .unwrap();
    }
    frontend::copy_done(&mut out);
    assert_eq!(client.run(&out).unwrap().affected, 1000);

    assert_eq!(start(&mut client, "COPY l FROM STDIN (FORMAT binary)"), CopyFormat::Binary);
    out.clear();
    copy::binary_header(&mut out).unwrap();
    for id in 0..1000 {
        copy::binary_batch(&mut out, &types, |rows| rows.row(&row(id))).unwrap();
    }
    copy::binary_trailer(&mut out).unwrap();
    frontend::copy_done(&mut out);
    assert_eq!(client.run(&out).unwrap().affected, 1000);

    let distinct = "SELECT count(*) || ' ' || count(DISTINCT l) || ' ' || count(DISTINCT t) || ' ' || count(n) FROM l";
    assert_eq!(client.column(distinct), [Some("2000 1000 1 0".to_owned())]);
    assert_eq!(client.column("SELECT t FROM l LIMIT 1"), [Some(AWKWARD.to_owned())]);
}

#[test]
fn a_failed_or_abandoned_copy_leaves_the_session_usable() {
    let mut client = trusted();
    client.query("CREATE TEMP TABLE l (id int4)").unwrap();
    start(&mut client, "COPY l FROM STDIN");
    let mut out = Vec::new();
    frontend::copy_fail("changed my mind", &mut out).unwrap();
    let error = client.run(&out).unwrap_err();
    assert_eq!(error.code.as_str(), "57014");
    assert!(error.message.contains("changed my mind"));

    start(&mut client, "COPY l FROM STDIN");
    out.clear();
    copy::text_batch(&mut out, |rows| {
        rows.row(&[Value::Text("no number")]);
        Ok(())
    })
    .unwrap();
    frontend::copy_done(&mut out);
    let error = client.run(&out).unwrap_err();
    assert_eq!(error.code.as_str(), "22P02");
    assert!(error.context.is_some_and(|context| context.contains("line 1")));
    assert_eq!(client.column("SELECT count(*) FROM l"), [Some("0".to_owned())]);
}

#[test]
fn a_value_without_binary_form_is_found_before_it_is_sent() {
    let mut out = Vec::new();
    let result = copy::binary_batch(&mut out, &[oid::TIMESTAMP], |rows| rows.row(&[Value::Text("now")]));
    assert_eq!(result, Err(WireError::NoBinaryForm { column: 0, type_id: oid::TIMESTAMP }));
    assert!(out.is_empty());
}

#[test]
fn data_that_the_server_copies_out_is_read_or_skipped() {
    let mut client = trusted();
    let reply = client.query("COPY accounts TO STDOUT").unwrap();
    assert_eq!(reply.affected, 1000);
    let mut out = Vec::new();
    frontend::query("COPY (SELECT n FROM generate_series(1, 3) n) TO STDOUT", &mut out).unwrap();
    let (mut data, mut marks) = (Vec::new(), 0);
    client.events(&out, |event| match event {
        Event::CopyData(bytes) => data.extend_from_slice(bytes),
        Event::CopyOut(_) | Event::CopyDone => marks += 1,
        _ => {}
    });
    assert_eq!((data.as_slice(), marks), (&b"1\n2\n3\n"[..], 2));
}
