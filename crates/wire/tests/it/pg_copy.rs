use wire::postgres::{Event, ScanOutcome, frontend};

use super::pg_client::Client;
use super::pg_server::trusted;

fn start(client: &mut Client, sql: &str) {
    let mut out = Vec::new();
    frontend::write_query(sql, &mut out).unwrap();
    client.send(&out);
    let outcome = client.outcome();
    assert!(matches!(outcome, ScanOutcome::CopyIn { .. }), "{outcome:?}");
}

#[test]
fn a_failed_or_abandoned_copy_leaves_the_session_usable() {
    let mut client = trusted();
    client.query("CREATE TEMP TABLE l (id int4)").unwrap();
    start(&mut client, "COPY l FROM STDIN (FORMAT binary)");
    let mut out = Vec::new();
    frontend::copy_fail("changed my mind", &mut out).unwrap();
    let error = client.run(&out).unwrap_err();
    assert_eq!(error.code.as_str(), "57014");
    assert!(error.message.contains("changed my mind"));

    start(&mut client, "COPY l FROM STDIN");
    out.clear();
    frontend::copy_data(b"1\nno number\n", &mut out).unwrap();
    frontend::write_copy_done(&mut out);
    let error = client.run(&out).unwrap_err();
    assert_eq!(error.code.as_str(), "22P02");
    assert_eq!(client.column("SELECT count(*) FROM l"), [Some("0".to_owned())]);
}

#[test]
fn data_in_any_pieces_are_rows() {
    let mut client = trusted();
    client.query("CREATE TEMP TABLE l (id int4, t text)").unwrap();
    start(&mut client, "COPY l FROM STDIN");
    let mut out = Vec::new();
    for piece in ["1\ta\\tb\n2", "\t\\N\n", "3\té\n"] {
        frontend::copy_data(piece.as_bytes(), &mut out).unwrap();
    }
    frontend::write_copy_done(&mut out);
    assert_eq!(client.run(&out).unwrap().affected, 3);
    assert_eq!(
        client.column("SELECT string_agg(coalesce(t, '-'), '|' ORDER BY id) FROM l"),
        [Some("a\tb|-|é".to_owned())]
    );
}

#[test]
fn data_that_the_server_copies_out_is_read_or_skipped() {
    let mut client = trusted();
    let reply = client.query("COPY accounts TO STDOUT").unwrap();
    assert_eq!(reply.affected, 1000);
    let mut out = Vec::new();
    frontend::write_query("COPY (SELECT n FROM generate_series(1, 3) n) TO STDOUT", &mut out).unwrap();
    let mut data = Vec::new();
    client.events(&out, |event| {
        if let Event::CopyData(bytes) = event {
            data.extend_from_slice(bytes);
        }
    });
    assert_eq!(data, b"1\n2\n3\n");
}
