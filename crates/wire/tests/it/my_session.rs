//! Status, errors, local files, ends.

use std::time::Duration;

use wire::Value;
use wire::mysql::{Command, Config, Event, Feature, ScanOutcome, Template, command};

use super::my_server::{client, client_with, root};

#[test]
fn replies_tell_what_was_done() {
    let mut client = client();
    client.query("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)").unwrap();
    let reply = client.query("INSERT INTO t (v) VALUES (1), (2), (3)").unwrap();
    assert_eq!((reply.affected, reply.last_insert_id, reply.rows), (3, 1, 0));
    assert_eq!(client.query("UPDATE t SET v = 2").unwrap().affected, 2);
    assert!(client.query("BEGIN").unwrap().status.is_in_transaction());
    let error = client.query("INSERT INTO t VALUES (1, 1)").unwrap_err();
    assert_eq!((error.code, error.sqlstate.as_str()), (1062, "23000"));
    // An error does not say where the session stands; what was known stays known.
    assert!(client.scanner.reply().status.is_in_transaction());
    let status = client.query("COMMIT").unwrap().status;
    assert!(!status.is_in_transaction() && status.has_autocommit());
    assert_eq!(client.query("SELECT 1 / 0").unwrap().warnings, 1);
}

#[test]
fn several_results_are_one_reply() {
    let mut client = client_with(Config { multi_statements: Feature::Use, database: Some("bench".into()), ..root() });
    let reply = client
        .query("SELECT 1; DO 1; SELECT 2 UNION SELECT 3; UPDATE accounts SET abalance = -1 WHERE aid = 1")
        .unwrap();
    assert_eq!((reply.rows, reply.results, reply.affected), (3, 4, 1));
    let error = client.query("SELECT 1; SELECT nothing; SELECT 2").unwrap_err();
    assert_eq!(error.code, 1054);
    client.query("DROP PROCEDURE IF EXISTS p").unwrap();
    client.query("CREATE PROCEDURE p(n INT) BEGIN SELECT n; SELECT n, n; END").unwrap();
    let call = client.prepare("CALL p(?)");
    let mut out = Vec::new();
    Template::new(call.statement_id, 1).encode(&[Value::Int(5)], &mut out).unwrap();
    let reply = client.run(Command::Execute, &out).unwrap();
    assert_eq!((reply.rows, reply.results), (2, 3));
    let mut results = Vec::new();
    client.events(Command::Execute, &out, |event| {
        if let Event::Columns(columns) = event {
            results.push(*columns);
        }
    });
    assert_eq!(results, [1, 2]);
}

#[test]
fn simple_commands_are_answered() {
    let mut client = client();
    let mut out = Vec::new();
    command::write_ping(&mut out);
    client.run(Command::Simple, &out).unwrap();
    assert_eq!(client.query("SELECT 1").unwrap().rows, 1);
}

#[test]
fn local_files_are_refused() {
    let load = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t";
    // A client that does not offer them is not even allowed.
    let mut plain = client();
    plain.query("CREATE TEMPORARY TABLE t (line TEXT)").unwrap();
    assert!(plain.query(load).is_err());

    let mut allowed = client_with(Config { local_files: Feature::Use, database: Some("bench".into()), ..root() });
    allowed.query("CREATE TEMPORARY TABLE t (line TEXT)").unwrap();
    let mut out = Vec::new();
    command::write_query(load, &mut out).unwrap();
    allowed.scanner.expect(Command::Query);
    allowed.send(&out);
    let ScanOutcome::LocalFile { sequence, .. } = allowed.outcome() else { panic!("it did not ask") };
    out.clear();
    command::refuse_local_file(sequence, &mut out);
    allowed.send(&out);
    let ScanOutcome::Done { reply, .. } = allowed.outcome() else { panic!("it failed") };
    assert_eq!(reply.affected, 0);

    // A caller that decides otherwise can.
    out.clear();
    command::write_query(load, &mut out).unwrap();
    allowed.scanner.expect(Command::Query);
    allowed.send(&out);
    let ScanOutcome::LocalFile { sequence, .. } = allowed.outcome() else { panic!("it did not ask") };
    out.clear();
    let next = command::local_file_piece(sequence, b"one\ntwo\n", &mut out).unwrap();
    let next = command::local_file_piece(next, b"three\n", &mut out).unwrap();
    command::refuse_local_file(next, &mut out);
    allowed.send(&out);
    let ScanOutcome::Done { reply, .. } = allowed.outcome() else { panic!("it failed") };
    assert_eq!(reply.affected, 3);
}

#[test]
fn a_query_is_killed_from_a_second_connection() {
    let mut client = client();
    let mut out = Vec::new();
    command::write_query("SELECT COUNT(*) FROM accounts a, accounts b, accounts c", &mut out).unwrap();
    client.scanner.expect(Command::Query);
    client.send(&out);
    std::thread::sleep(Duration::from_millis(300));
    super::my_server::client().query(&format!("KILL QUERY {}", client.session.thread_id)).unwrap();
    let ScanOutcome::Failed { error, .. } = client.outcome() else { panic!("it was not killed") };
    assert_eq!((error.code, error.sqlstate.as_str()), (1317, "70100"));
    client.query("DO 1").unwrap();
}

#[test]
fn deadlocks_are_recognised() {
    let mut one = client();
    one.query("CREATE TABLE IF NOT EXISTS locks (id INT PRIMARY KEY, v INT)").unwrap();
    one.query("REPLACE INTO locks VALUES (1, 0), (2, 0)").unwrap();
    let mut two = client();
    for (client, id) in [(&mut one, 1), (&mut two, 2)] {
        client.query("BEGIN").unwrap();
        client.query(&format!("UPDATE locks SET v = v + 1 WHERE id = {id}")).unwrap();
    }
    let mut out = Vec::new();
    command::write_query("UPDATE locks SET v = v + 1 WHERE id = 2", &mut out).unwrap();
    one.scanner.expect(Command::Query);
    one.send(&out);
    std::thread::sleep(Duration::from_millis(200));
    let second = two.query("UPDATE locks SET v = v + 1 WHERE id = 1");
    let first = one.outcome();
    let error = match (first, second) {
        (ScanOutcome::Failed { error, .. }, Ok(_)) => error,
        (ScanOutcome::Done { .. }, Err(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!((error.code, error.sqlstate.as_str()), (1213, "40001"));
}

#[test]
fn an_end_by_either_side_is_understood() {
    let mut client = client();
    let mut out = Vec::new();
    command::write_quit(&mut out);
    client.send(&out);
    assert_eq!(client.receive(), 0);

    let mut killed = super::my_server::client();
    super::my_server::client().query(&format!("KILL {}", killed.session.thread_id)).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // MariaDB says why before it closes.
    if killed.receive() > 0 {
        let transcript = killed.transcript.clone();
        let outcome = killed.scanner.scan_to_end(&transcript).unwrap();
        assert!(matches!(outcome, ScanOutcome::Fatal(ref error) if error.code == 1927), "{outcome:?}");
    }
}
