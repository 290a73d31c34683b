//! Prepared, unprepared and simple statements; values there and back.

use wire::Value;
use wire::postgres::{DescribePortal, Event, Statement, Template, TemplateOptions, frontend, oid};

use super::pg_client::Client;
use super::pg_server::trusted;

fn prepare(client: &mut Client, name: &str, sql: &str) -> Vec<u32> {
    let mut out = Vec::new();
    frontend::write_parse(name, sql, &[], &mut out).unwrap();
    frontend::describe_statement(name, &mut out).unwrap();
    frontend::write_sync(&mut out);
    let mut types = Vec::new();
    client.events(&out, |event| match event {
        Event::ParameterTypes(found) => types.extend(found.iter()),
        Event::Error(error) => panic!("{error}"),
        _ => {}
    });
    types
}

#[test]
fn all_modes_find_the_same_row() {
    let mut client = trusted();
    let sql = "SELECT abalance FROM accounts WHERE aid = $1";
    let types = prepare(&mut client, "s", sql);
    assert_eq!(types, [oid::INT4]);
    let with_describe = TemplateOptions { describe: DescribePortal::Include, ..TemplateOptions::default() };
    let requests = [
        Template::new(Statement::Prepared("s"), &types, TemplateOptions::default()).unwrap(),
        Template::new(Statement::Prepared("s"), &types, with_describe).unwrap(),
        Template::new(Statement::Unprepared(sql), &types, with_describe).unwrap(),
        // As libpq does it: no types, so all text.
        Template::new(Statement::Unprepared(sql), &[oid::UNSPECIFIED], with_describe).unwrap(),
    ];
    for template in &requests {
        for (aid, rows) in [(1, 1), (7, 1), (1000, 1), (1001, 0)] {
            let mut request = Vec::new();
            template.encode(&[Value::Int(aid)], &mut request).unwrap();
            let reply = client.run(&request).unwrap();
            assert_eq!((reply.rows, reply.affected, reply.commands), (rows, rows, 1));
        }
    }
    let mut out = Vec::new();
    frontend::write_query("SELECT abalance FROM accounts WHERE aid = 8", &mut out).unwrap();
    assert_eq!(client.run(&out).unwrap().rows, 1);
}

/// Sends a parameter of a type, and gets the server's reading of it as text.
fn echo(client: &mut Client, type_name: &str, value: Value<'_>) -> Result<Option<String>, String> {
    let sql = format!("SELECT ($1::{type_name})::text");
    let types = prepare(client, "", &sql);
    let template = Template::new(Statement::Prepared(""), &types, TemplateOptions::default()).unwrap();
    let mut out = Vec::new();
    template.encode(&[value], &mut out).unwrap();
    let mut result = Err("no row".to_owned());
    client.events(&out, |event| match event {
        Event::Row(row) => {
            result = Ok(row.iter().next().unwrap().map(|text| String::from_utf8(text.to_vec()).unwrap()))
        }
        Event::Error(error) => result = Err(error.code.to_string()),
        _ => {}
    });
    result
}

#[test]
fn parameters_arrive_as_they_were_meant() {
    let mut client = trusted();
    for (type_name, value, expected) in [
        ("int2", Value::Int(-32768), "-32768"),
        ("int4", Value::Int(i32::MIN.into()), "-2147483648"),
        ("int8", Value::Int(i64::MAX), "9223372036854775807"),
        ("float4", Value::Float(0.25), "0.25"),
        ("float4", Value::Int(3), "3"),
        ("float8", Value::Float(-1e300), "-1e+300"),
        ("float8", Value::Int(1 << 40), "1099511627776"),
        ("float8", Value::Float(f64::INFINITY), "Infinity"),
        ("numeric", Value::Int(12), "12"),
        ("numeric", Value::Float(0.1), "0.1"),
        ("numeric", Value::Text("123456789012345678901234567890.5"), "123456789012345678901234567890.5"),
        ("bool", Value::Bool(true), "true"),
        ("bool", Value::Int(0), "false"),
        ("text", Value::Text("zwölf"), "zwölf"),
        ("text", Value::Int(-5), "-5"),
        ("text", Value::Float(0.5), "0.5"),
        ("varchar(3)", Value::Text("abc"), "abc"),
        ("char(3)", Value::Text("ab"), "ab"),
        ("bytea", Value::Bytes(&[0, 255]), "\\x00ff"),
        ("int4", Value::Text("42"), "42"),
        ("timestamp", Value::Text("2024-02-29 12:00"), "2024-02-29 12:00:00"),
        ("oid", Value::Int(4_000_000_000), "4000000000"),
    ] {
        assert_eq!(echo(&mut client, type_name, value), Ok(Some(expected.to_owned())), "{type_name} {value:?}");
    }
    assert_eq!(echo(&mut client, "int4", Value::Null), Ok(None));
}

#[test]
fn the_server_judges_what_does_not_fit() {
    let mut client = trusted();
    for (type_name, value, state) in [
        ("int4", Value::Int(1 << 40), "22003"),
        ("int2", Value::Int(40_000), "22003"),
        ("int4", Value::Float(1.5), "22P02"),
        ("int8", Value::Text("x"), "22P02"),
        ("float4", Value::Float(1e300), "22003"),
        ("text", Value::Text("a\0b"), "22021"),
        ("bool", Value::Int(7), "22P02"),
    ] {
        assert_eq!(echo(&mut client, type_name, value), Err(state.to_owned()), "{type_name} {value:?}");
    }
}

#[test]
fn missing_statements_are_reported() {
    let mut client = trusted();
    prepare(&mut client, "gone", "SELECT 1");
    client.query("DEALLOCATE gone").unwrap();
    let template = Template::new(Statement::Prepared("gone"), &[], TemplateOptions::default()).unwrap();
    let mut out = Vec::new();
    template.encode(&[], &mut out).unwrap();
    assert_eq!(client.run(&out).unwrap_err().code.as_str(), "26000");
    assert_eq!(client.query("SELECT 1").unwrap().rows, 1);
}

#[test]
fn several_statements_in_one_simple_query_are_added_up() {
    let mut client = trusted();
    let reply =
        client.query("SELECT * FROM accounts; ; SELECT 1; UPDATE accounts SET abalance = 0 WHERE aid < 0").unwrap();
    assert_eq!((reply.rows, reply.affected, reply.commands), (1001, 1001, 3));
    assert_eq!(client.query("").unwrap().commands, 1);
}
