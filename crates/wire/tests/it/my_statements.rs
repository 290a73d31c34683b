//! Text and binary statements, values there and back.

use wire::Value;
use wire::mysql::{ColumnType, Command, Config, Event, Feature, ScanOutcome, Template, command};

use super::my_client::Client;
use super::my_server::{client, client_with, root};

/// All ways in which results can be framed.
fn framings() -> Vec<Client> {
    let features = [Feature::Use, Feature::Avoid];
    let pairs = features.iter().flat_map(|&eof| features.map(|cache| (eof, cache)));
    let config = |(deprecate_eof, metadata_cache)| Config {
        database: Some("bench".into()),
        deprecate_eof,
        metadata_cache,
        ..root()
    };
    pairs.map(|pair| client_with(config(pair))).collect()
}

#[test]
fn both_protocols_find_the_same_row_in_every_framing() {
    for mut client in framings() {
        let prepared = client.prepare("SELECT abalance FROM accounts WHERE aid = ?");
        assert_eq!((prepared.parameters, prepared.columns), (1, 1));
        let template = Template::new(prepared.statement_id, 1);
        for (aid, rows) in [(1, 1), (7, 1), (1000, 1), (1, 1), (2, 1), (1001, 0)] {
            let mut request = Vec::new();
            template.encode(&[Value::Int(aid)], &mut request).unwrap();
            let reply = client.run(Command::Execute, &request).unwrap();
            assert_eq!((reply.rows, reply.results), (rows, 1));
        }
        let mut out = Vec::new();
        command::write_query("SELECT abalance FROM accounts WHERE aid < 8", &mut out).unwrap();
        assert_eq!(client.run(Command::Query, &out).unwrap().rows, 7);
        assert_eq!(client.column("SELECT abalance FROM accounts WHERE aid = 8"), [Some("1".to_owned())]);
        // Statements without parameters or columns, whose replies end early.
        assert_eq!(client.prepare("SELECT 1").parameters, 0);
        let update = client.prepare("UPDATE accounts SET abalance = 0 WHERE aid < ?");
        assert_eq!((update.parameters, update.columns), (1, 0));
        assert_eq!(client.prepare("DO 1").columns, 0);
        assert_eq!(client.scanner.pending_count(), 0);
    }
}

#[test]
fn metadata_are_sent_once_if_they_are_cached() {
    let columns_of_each_run = |client: &mut Client| {
        let prepared = client.prepare("SELECT abalance, filler FROM accounts WHERE aid = ?");
        let template = Template::new(prepared.statement_id, 1);
        [1, 2, 3].map(|aid| {
            let mut out = Vec::new();
            template.encode(&[Value::Int(aid)], &mut out).unwrap();
            let (mut columns, mut rows) = (0, 0);
            client.events(Command::Execute, &out, |event| match event {
                Event::Column(_) => columns += 1,
                Event::BinaryRow(row) => rows += row.len(),
                _ => {}
            });
            assert_eq!(rows, 2);
            columns
        })
    };
    for mut client in framings() {
        let expected = if client.session.caches_metadata() { [0, 0, 0] } else { [2, 2, 2] };
        assert_eq!(columns_of_each_run(&mut client), expected);
    }
}

/// Executes a statement and returns its one row through `on_values`.
fn row(client: &mut Client, sql: &str, parameters: &[Value<'_>], mut on_values: impl FnMut(&[Value<'_>])) {
    let mut types: Vec<ColumnType> = Vec::new();
    let mut out = Vec::new();
    command::write_prepare(sql, &mut out).unwrap();
    let mut template = None;
    client.events(Command::Prepare, &out, |event| match event {
        Event::Prepared(prepared) => template = Some(Template::new(prepared.statement_id, prepared.parameters)),
        Event::Column(column) => types.push(column.column_type),
        Event::Error(error) => panic!("{sql}: {error}"),
        _ => {}
    });
    out.clear();
    template.unwrap().encode(parameters, &mut out).unwrap();
    let mut fresh = Vec::new();
    client.events(Command::Execute, &out, |event| match event {
        Event::Columns(_) => fresh.clear(),
        Event::Column(column) => fresh.push(column.column_type),
        Event::BinaryRow(row) => {
            let types = if fresh.is_empty() { &types } else { &fresh };
            on_values(&row.values(types).map(Result::unwrap).collect::<Vec<_>>());
        }
        Event::Error(error) => panic!("{sql}: {error}"),
        _ => {}
    });
}

#[test]
fn parameters_arrive_as_they_were_meant() {
    let mut client = client();
    for (type_name, value, expected) in [
        ("SIGNED", Value::Int(i64::MIN), "-9223372036854775808"),
        ("UNSIGNED", Value::Unsigned(u64::MAX), "18446744073709551615"),
        ("DOUBLE", Value::Float(0.25), "0.25"),
        ("DECIMAL(10,2)", Value::Text("12.5"), "12.50"),
        ("CHAR", Value::Text("zwölf"), "zwölf"),
        ("CHAR", Value::Int(-5), "-5"),
        ("SIGNED", Value::Bool(true), "1"),
        ("BINARY", Value::Bytes(b"b\0c"), "b\0c"),
        ("DATETIME", Value::Text("2024-02-29 12:00:00"), "2024-02-29 12:00:00"),
    ] {
        let sql = format!("SELECT CONCAT(CAST(? AS {type_name}))");
        let mut seen = false;
        row(&mut client, &sql, &[value], |values| {
            seen = true;
            match values[0] {
                Value::Text(text) => assert_eq!(text, expected, "{type_name} {value:?}"),
                Value::Bytes(bytes) => assert_eq!(bytes, expected.as_bytes(), "{type_name} {value:?}"),
                other => panic!("{other:?}"),
            }
        });
        assert!(seen);
    }
    // Twenty parameters, every third of them NULL: the bitmap has several bytes.
    let sql = format!("SELECT CONCAT_WS(',', {})", vec!["?"; 20].join(", "));
    let values: Vec<_> = (0..20).map(|n| if n % 3 == 0 { Value::Null } else { Value::Int(n) }).collect();
    row(&mut client, &sql, &values, |values| {
        assert_eq!(values, [Value::Text("1,2,4,5,7,8,10,11,13,14,16,17,19")]);
    });
}

#[test]
fn columns_are_decoded_by_their_types() {
    let mut client = client();
    client
        .query(
            "CREATE TEMPORARY TABLE kinds (a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d INT, e BIGINT, f BIGINT UNSIGNED, \
             g FLOAT, h DOUBLE, i DECIMAL(9,3), j VARCHAR(9), k BLOB, l YEAR, m DATETIME, n INT, o TINYINT UNSIGNED)",
        )
        .unwrap();
    client
        .query(
            "INSERT INTO kinds VALUES (-1, 65535, -8388608, -2147483648, -5, 18446744073709551615, 0.5, 0.25, 1.5, 'é', \
             x'00ff', 2024, '2024-02-29', NULL, 255)",
        )
        .unwrap();
    let mut seen = 0;
    row(&mut client, "SELECT * FROM kinds", &[], |values| {
        seen += 1;
        assert_eq!(
            values,
            [
                Value::Int(-1),
                Value::Int(65535),
                Value::Int(-8_388_608),
                Value::Int(i32::MIN.into()),
                Value::Int(-5),
                Value::Unsigned(u64::MAX),
                Value::Float(0.5),
                Value::Float(0.25),
                Value::Text("1.500"),
                Value::Text("é"),
                Value::Bytes(&[0, 255]),
                Value::Int(2024),
                Value::Bytes(&[0xe8, 0x07, 2, 29]),
                Value::Null,
                Value::Int(255),
            ]
        );
    });
    assert_eq!(seen, 1);
}

#[test]
fn payloads_beyond_16_mib_pass_both_ways() {
    for mut client in framings() {
        for extra in [-1, 0, 1] {
            let text = "x".repeat((0x00ff_ffff_i64 + extra) as usize);
            let mut out = Vec::new();
            let prepared = client.prepare("SELECT LENGTH(?)");
            Template::new(prepared.statement_id, 1).encode(&[Value::Text(&text)], &mut out).unwrap();
            assert_eq!(client.run(Command::Execute, &out).unwrap().rows, 1);
            assert_eq!(client.query(&format!("SELECT '{text}', 1 UNION SELECT 'b', 2")).unwrap().rows, 2);
            // Skipped rows are never stored.
            assert!(client.scanner.memory_bytes() < 4096, "{}", client.scanner.memory_bytes());
        }
        let length = 0x00ff_ffff;
        let values = client.column(&format!("SELECT REPEAT('y', {length}) UNION ALL SELECT 'b'"));
        assert_eq!((values[0].as_ref().unwrap().len(), values[1].as_deref()), (length, Some("b")));
        client.query("DO 1").unwrap();
        assert!(client.scanner.memory_bytes() <= 16 << 10);
    }
}

#[test]
fn commands_may_be_sent_before_the_replies_came() {
    let mut client = client();
    let prepared = client.prepare("SELECT 1 FROM accounts WHERE aid <= ?");
    let template = Template::new(prepared.statement_id, 1);
    let mut out = Vec::new();
    for limit in 1..=20 {
        template.encode(&[Value::Int(limit)], &mut out).unwrap();
        client.scanner.expect(Command::Execute);
        if limit == 10 {
            command::write_query("SELECT nothing", &mut out).unwrap();
            client.scanner.expect(Command::Query);
        }
    }
    command::write_ping(&mut out);
    client.scanner.expect(Command::Simple);
    assert_eq!(client.scanner.pending_count(), 22);
    client.send(&out);
    let (mut rows, mut failed) = (0, 0);
    for _ in 0..22 {
        match client.outcome() {
            ScanOutcome::Done { reply, .. } => rows += reply.rows,
            ScanOutcome::Failed { error, .. } => {
                failed += 1;
                assert_eq!(error.code, 1054);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((rows, failed, client.scanner.pending_count()), (210, 1, 0));
}
