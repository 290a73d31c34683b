//! Logs of servers, whole and damaged: each record is taken or counted, once.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use formats::capture::logs::{Form, Logs, recognise_log};
use formats::capture::postgres::prefix::Prefix;
use formats::capture::shape::Syntax;
use formats::capture::summary::Summary;
use formats::capture::{Capture, Reason, Recorded, SavedCapture};
use proptest::prelude::*;

const TIME: &str = "2026-11-28 19:41:05.123 UTC";

/// A record of a `csvlog`, of PostgreSQL 12, in the session `1.PID`.
fn csv(time: &str, pid: u32, severity: &str, message: &str, detail: &str, statement: &str) -> String {
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    format!(
        "{time},\"me\",\"shop\",{pid},\"[local]\",1.{pid},7,\"SELECT\",{time},3/4,0,{severity},00000,{},{},,,,,{},,,\"psql\"\n",
        quote(message),
        quote(detail),
        quote(statement)
    )
}

fn logged(message: &str) -> String {
    csv(TIME, 77, "LOG", message, "", "")
}

fn captured_as(form: &Form, logs: &[&[u8]]) -> Capture {
    let mut capture = Capture::in_memory(Syntax::Standard).unwrap();
    let mut all = Logs::default();
    for log in logs {
        let mut log: &[u8] = log;
        all.read_log(form, &mut log, &mut capture).unwrap();
    }
    all.finish(&mut capture).unwrap();
    capture
}

fn captured(log: &str) -> Capture {
    captured_as(&Form::Csv, &[log.as_bytes()])
}

/// The counts by their codes.
fn counted(capture: &Capture) -> Vec<(&'static str, u64)> {
    capture.counts().nonzero().iter().map(|one| (one.reason.code(), one.count)).collect()
}

fn executions(saved: &SavedCapture) -> Vec<(Recorded, String)> {
    let mut all = Vec::new();
    saved.for_each(|one| all.push(one)).unwrap();
    all.into_iter().map(|one| (one.clone(), saved.execution_text(&one.packed).unwrap())).collect()
}

#[test]
fn a_prepared_statement_has_its_values_and_the_time_of_its_steps() {
    let log = [
        logged("duration: 0.100 ms  parse <unnamed>: SELECT $1, $2"),
        csv(
            TIME,
            77,
            "LOG",
            "duration: 0.200 ms  bind <unnamed>: SELECT $1, $2",
            "parameters: $1 = 'a,\"b', $2 = NULL",
            "",
        ),
        csv(
            TIME,
            77,
            "LOG",
            "duration: 1.000 ms  execute <unnamed>: SELECT $1, $2",
            "parameters: $1 = 'a,\"b', $2 = NULL",
            "",
        ),
        csv(TIME, 77, "LOG", "duration: 1.000 ms  execute S_1/C_1: SELECT $1", "", ""),
        csv(TIME, 77, "LOG", "duration: 1.000 ms  execute S_1: SELECT $1", "parameters: $1 = 'ab...'", ""),
        csv(TIME, 77, "LOG", "duration: 1.000 ms  execute fetch from S_1/C_1: SELECT $1", "", ""),
    ];
    let capture = captured(&log.concat());
    assert_eq!(counted(&capture), [("values_missing", 1), ("value_cut", 1), ("fetch", 1), ("preparation", 2)]);
    assert_eq!((capture.execution_count(), capture.record_count()), (1, 6));
    let all = executions(&capture.finish("test").unwrap());
    let (one, text) = &all[0];
    assert_eq!(text, "SELECT $1, $2");
    assert_eq!(one.packed.parameters, [Some("a,\"b".to_owned()), None]);
    assert_eq!(one.packed.duration_us, Some(1_300));
    assert_eq!(one.packed.start_us, 1_795_894_865_123_000 - 1_300);
}

#[test]
fn a_statement_and_its_duration_may_be_two_records() {
    let log = [
        logged("statement: SELECT 1"),
        logged("duration: 2.000 ms"),
        logged("statement: SELECT 2"),
        logged("statement: SELECT 1/0"),
        csv(TIME, 77, "ERROR", "division by zero", "", "SELECT 1/0"),
        logged("duration: 3.000 ms"),
        logged("statement: SELECT 4"),
    ];
    let capture = captured(&log.concat());
    assert_eq!(counted(&capture), [("duration_only", 1), ("duration_of_logged", 1), ("message", 1)]);
    assert_eq!(capture.execution_count(), 4);
    assert_eq!(capture.record_count(), 7);
    let summary = Summary::from_capture(&capture.finish("test").unwrap()).unwrap();
    assert_eq!(summary.errors, [("00000".to_owned(), 1)]);
    assert_eq!((summary.without_duration, summary.total_us(), summary.sessions), (3, 2_000, 1));
}

#[test]
fn what_is_no_statement_is_counted_by_its_name() {
    let log = [
        logged("duration: 2.000 ms  plan:\nQuery Text: SELECT 1\nResult"),
        logged("AUDIT: SESSION,1,1,READ,SELECT,,,SELECT 1,<none>"),
        logged("checkpoint starting: time"),
        logged("duration: 1.000 ms  statement: copy t (a) from /* x */ STDIN"),
        logged("duration: 1.000 ms  fastpath function call: \"lo_open\" (OID 952)"),
        csv(TIME, 77, "ERROR", "broken", "", ""),
        csv(TIME, 77, "FATAL", "password authentication failed", "", ""),
        csv(TIME, 77, "ERROR", "broken", "", "SELECT $1"),
        logged("Dauer: 1,234 ms  Anweisung: SELECT 1"),
        logged("durée : 1.234 ms, instruction : SELECT 1"),
        csv(TIME, 77, "FEHLER", "Division durch Null", "", "SELECT 1/0"),
    ];
    let capture = captured(&log.concat());
    let expected = [
        ("other_language", 3),
        ("values_missing", 1),
        ("copy_data", 1),
        ("function_call", 1),
        ("error_only", 1),
        ("plan_logged", 1),
        ("audited", 1),
        ("message", 2),
    ];
    assert_eq!(counted(&capture), expected);
    assert_eq!((capture.execution_count(), capture.record_count()), (0, 11));
}

#[test]
fn a_damaged_record_costs_itself_alone() {
    let whole = logged("duration: 1.000 ms  statement: SELECT\n'a\n,b' AS \"C\"");
    let half = &logged("duration: 1.000 ms  statement: SELECT\n'cut'")[..150];
    let nul = logged("duration: 1.000 ms  statement: SELECT '\0'");
    let long = logged(&format!(
        "duration: 1.000 ms  statement: SELECT '{}'",
        format!("{}\n", "x".repeat(1_023)).repeat(17 << 10)
    ));
    let long_line = logged(&format!("duration: 1.000 ms  statement: SELECT '{}'", "x".repeat(17 << 20)));
    let mut latin = logged("duration: 1.000 ms  statement: SELECT '?'").into_bytes();
    let at = latin.iter().rposition(|byte| *byte == b'?').unwrap();
    latin[at] = 0xE9;
    let log: Vec<u8> = [
        whole.as_bytes(),
        half.as_bytes(),
        whole.as_bytes(),
        nul.as_bytes(),
        &latin,
        long.as_bytes(),
        long_line.as_bytes(),
        whole.as_bytes(),
        half.as_bytes(),
    ]
    .concat();
    let capture = captured_as(&Form::Csv, &[&log]);
    assert_eq!(counted(&capture), [("too_long", 2), ("nul", 1), ("not_utf8", 1), ("cut_off", 2)]);
    assert_eq!(capture.execution_count(), 3);
    let all = executions(&capture.finish("test").unwrap());
    assert!(all.iter().all(|(_, text)| text == "SELECT\n'a\n,b' AS \"C\""));
}

#[test]
fn a_clock_that_goes_back_and_a_second_server_are_doubts() {
    let at = |time: &str, pid: u32, session: &str| {
        csv(time, pid, "LOG", "duration: 1.000 ms  statement: SELECT 1", "", "").replace(&format!("1.{pid}"), session)
    };
    let (early, late) = ("2026-11-28 19:41:05.000 UTC", "2026-11-28 19:41:09.000 UTC");
    let back = [at(late, 1, "a"), at(early, 2, "b"), at(early, 1, "a")].concat();
    assert_eq!(counted(&captured(&back)), [("clock_back", 1)]);
    let mixed = [at(late, 1, "a"), at(late, 1, "b"), at(late, 1, "a")].concat();
    assert_eq!(counted(&captured(&mixed)), [("sessions_mixed", 1)]);
    let (one, other) = (at(late, 1, "a"), at(early, 2, "b"));
    let capture = captured_as(&Form::Csv, &[one.as_bytes(), other.as_bytes()]);
    assert_eq!(counted(&capture), [("files_overlap", 1)]);
    assert_eq!(capture.execution_count(), 2, "a doubt takes nothing away");
}

#[test]
fn logs_in_text_form_have_records_of_several_lines() {
    let log = "2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[77]:LOG:  duration: 1.000 ms  statement: SELECT\n\t1\n\
               2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[77]:LOG:  duration: 1.000 ms  execute <unnamed>: SELECT $1\n\
               2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[77]:DETAIL:  parameters: $1 = 'a\n\tb'\n\
               a line of another program\n\
               2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[78]:ERROR:  division by zero\n\
               2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[78]:STATEMENT:  SELECT\n\t1/0\n\
               2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[78]:LOG:  duration: 1.0";
    let recognised = recognise_log(log.as_bytes(), None).unwrap();
    let capture = captured_as(&recognised.form, &[log.as_bytes()]);
    assert_eq!(counted(&capture), [("cut_off", 1), ("foreign", 1), ("whole_seconds", 4)]);
    let all = executions(&capture.finish("test").unwrap());
    let texts: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["SELECT\n1", "SELECT $1", "SELECT\n1/0"]);
    assert_eq!(all[1].0.packed.parameters, [Some("a\nb".to_owned())]);
    let other = Prefix::parse("%m <%p> ").unwrap();
    assert_eq!(recognise_log(log.as_bytes(), Some(&other)), None);
}

/// A record of MySQL's slow log.
fn slow(session: u32, rest: &str) -> String {
    let time = "# Time: 2026-11-28T19:41:05.500000Z";
    format!("{time}\n# User@Host: me[me] @ localhost []  Id: {session:>5}\n{rest}")
}

const COST: &str = "# Query_time: 0.500000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0\n";

fn captured_slow(logs: &[&[u8]]) -> Capture {
    let form = recognise_log(logs[0], None).unwrap().form;
    assert_eq!((form.name().as_str(), form.syntax()), ("slow log", Syntax::Backslash));
    captured_as(&form, logs)
}

#[test]
fn a_slow_log_tells_who_asked_what_when_and_how_long() {
    let log = [
        "/usr/sbin/mysqld, Version: 8.0.15 (MySQL). started with:\nTcp port: 3306  Unix socket: s\nTime  Id Command\n",
        &slow(7, &format!("{COST}use shop;\nSET timestamp=1795894865;\n# a comment\nSELECT '\\';\n# Time: soon';\n")),
        &slow(8, &format!("{COST}SET timestamp=1795894865;\n# administrator command: Quit;\n")),
        &slow(
            8,
            "# Thread_id: 8  Schema: bank  Last_errno: 1054  Killed: 0\n# Query_time: 1.5  Rows_sent: 0  Bytes_sent: 33\n\
                  SET last_insert_id=4,timestamp=1795894864;\nSELECT x\r\n;\r\n",
        ),
        &slow(8, &format!("# Schema:   Stored_routine: bank.pay\n{COST}SET timestamp=1795894865;\nSELECT 2;\n")),
    ];
    let capture = captured_slow(&[log.concat().as_bytes()]);
    assert_eq!(counted(&capture), [("command", 1), ("in_routine", 1), ("foreign", 3), ("error_unknown", 1)]);
    let saved = capture.finish("log").unwrap();
    let all = executions(&saved);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0].1, "# a comment\nSELECT '\\';\n# Time: soon'");
    assert_eq!((all[0].0.packed.start_us, all[0].0.packed.duration_us), (1_795_894_865_000_000, Some(500_000)));
    assert_eq!((all[1].0.packed.start_us, all[1].0.packed.duration_us), (1_795_894_864_000_000, Some(1_500_000)));
    assert_eq!((all[1].0.packed.rows, all[1].0.packed.bytes), (Some(0), Some(33)));
    let summary = Summary::from_capture(&saved).unwrap();
    assert_eq!((summary.sessions, summary.errors.len()), (2, 1), "{summary:?}");
    // The record with the error says that it failed; the other says nothing.
    assert_eq!(summary.classes.iter().map(|class| summary.failed_count(class)).collect::<Vec<_>>(), [Some(1), None]);
}

#[test]
fn a_damaged_record_of_a_slow_log_costs_itself_alone() {
    let whole = |text: &str| slow(7, &format!("{COST}SET timestamp=1795894865;\n{text};\n"));
    let cut = slow(7, &format!("{COST}SET timestamp=1795894865;\nSELECT 'cut"));
    let without_cost = slow(7, "SET timestamp=1795894865;\nSELECT 3;\n");
    let log = [
        whole("SELECT 1").into_bytes(),
        (cut.clone() + "\n").into_bytes(),
        without_cost.into_bytes(),
        whole("SELECT '\0'").into_bytes(),
        [whole("SELECT '").trim_end().as_bytes(), b"\xff\xfe';\n"].concat(),
        whole(&format!("SELECT '{}'", "x".repeat(17 << 20))).into_bytes(),
        whole("SELECT 2").into_bytes(),
        cut.into_bytes(),
    ];
    let capture = captured_slow(&[&log.concat()]);
    assert_eq!(capture.execution_count(), 2);
    assert_eq!(counted(&capture), [("too_long", 1), ("nul", 1), ("not_utf8", 1), ("cut_off", 3), ("error_unknown", 2)]);
    // A server that starts again numbers its sessions from the beginning.
    let start = "mysqld, Version: 8.0.15 (MySQL). started with:\nTcp port: 3306\nTime  Id Command\n";
    let again = [whole("SELECT 1"), start.to_owned(), whole("SELECT 1")].concat();
    assert_eq!(Summary::from_capture(&captured_slow(&[again.as_bytes()]).finish("log").unwrap()).unwrap().sessions, 2);
}

#[test]
fn a_connection_with_two_databases_is_a_session_of_each() {
    let log = [
        slow(7, &format!("{COST}use shop;\nSET timestamp=1795894865;\nSELECT 1;\n")),
        slow(7, &format!("{COST}use bank;\nSET timestamp=1795894865;\nSELECT 2;\n")),
    ];
    let saved = captured_slow(&[log.concat().as_bytes()]).finish("log").unwrap();
    let databases = saved.read_databases().unwrap();
    let of_statements: Vec<&str> =
        executions(&saved).iter().map(|(one, _)| databases[&one.packed.session].as_str()).collect();
    assert_eq!(of_statements, ["shop", "bank"]);
}

#[test]
fn a_general_log_tells_who_asked_what_in_which_database() {
    let log = "mysqld, Version: 8.0.15 (MySQL). started with:\nTcp port: 3306\nTime                 Id Command    Argument\n\
               2026-11-28T19:41:05.500000Z\t    7 Connect\tme@localhost on shop using TCP/IP\n\
               2026-11-28T19:41:05.600000Z\t    7 Query\tSELECT 1,\n\t\t'2'\n\
               2026-11-28T19:41:05.700000Z\t    7 Init DB\tbank\n\
               2026-11-28T19:41:05.800000Z\t    7 Prepare\tSELECT ?\n\
               2026-11-28T19:41:05.900000Z\t    7 Execute\tSELECT 5\n\
               2026-11-28T19:41:06.000000Z\t    8 Query\tSELECT '\0'\n\
               2026-11-28T19:41:06.100000Z\t    7 Quit\t\n\
               2026-11-28T19:41:06.200000Z\t    8 Query\tSELECT 'cut";
    let recognised = recognise_log(log.as_bytes(), None).unwrap();
    assert_eq!((recognised.form.name().as_str(), recognised.form.syntax()), ("general log", Syntax::Backslash));
    let capture = captured_as(&recognised.form, &[log.as_bytes()]);
    let expected =
        [("nul", 1), ("cut_off", 1), ("preparation", 1), ("command", 3), ("foreign", 3), ("error_unknown", 2)];
    assert_eq!(counted(&capture), expected);
    assert_eq!((capture.execution_count(), capture.record_count()), (2, 11));
    let saved = capture.finish("log").unwrap();
    let databases = saved.read_databases().unwrap();
    let all = executions(&saved);
    let found: Vec<(&str, &str, Option<u64>)> = all
        .iter()
        .map(|(one, text)| (text.as_str(), databases[&one.packed.session].as_str(), one.packed.duration_us))
        .collect();
    assert_eq!(found, [("SELECT 1,\n\t\t'2'", "shop", None), ("SELECT 5", "bank", None)]);
    assert_eq!(all[0].0.packed.start_us, 1_795_894_865_600_000);
    // MariaDB writes a time when the second has changed.
    let log = "261128 19:41:05\t     6 Query\tSELECT 1\n\t\t     6 Query\tSELECT 2\n";
    let capture = captured_as(&recognise_log(log.as_bytes(), None).unwrap().form, &[log.as_bytes()]);
    assert_eq!(counted(&capture), [("error_unknown", 2), ("whole_seconds", 2)]);
    assert_eq!(capture.execution_count(), 2);
}

#[test]
fn a_redacted_capture_has_equal_values_for_equal_ones() {
    let mut capture = Capture::in_memory(Syntax::Standard).unwrap();
    capture.redact_values();
    let log = [
        logged("duration: 1.000 ms  statement: SELECT 'anna', 4711 -- to anna"),
        csv(
            TIME,
            77,
            "LOG",
            "duration: 1.000 ms  execute <unnamed>: SELECT $1, $2",
            "parameters: $1 = 'anna', $2 = '4711'",
            "",
        ),
    ];
    let mut logs = Logs::default();
    logs.read_log(&Form::Csv, &mut log.concat().as_bytes(), &mut capture).unwrap();
    let all = executions(&capture.finish("test").unwrap());
    let (first, second) = (&all[0].0.packed, &all[1].0.packed);
    assert!(!all[0].1.contains("anna") && !all[0].1.contains("4711"), "{}", all[0].1);
    let name = second.parameters[0].clone().unwrap();
    assert_eq!(first.literals[0], format!("'{name}'"));
    assert_eq!(second.parameters[1].as_deref(), Some(first.literals[1].as_str()));
}

proptest! {
    #[test]
    fn damaged_logs_never_panic_and_every_record_is_counted(cuts in prop::collection::vec((0_usize..2_000, any::<u8>()), 0..12)) {
        let message = logged("duration: 1.000 ms  statement: SELECT 'a\n\"b\"'");
        let slow = slow(7, &format!("{COST}SET timestamp=1795894865;\nSELECT 1;\n"));
        let general = "2026-11-29T22:21:08.561176Z\t  109 Query\tSELECT 1,\n 'x'\n\t\t   106 Init DB\ta\n";
        let mut log = [message.as_str(), &slow, general].concat().repeat(6).into_bytes();
        for (at, byte) in cuts {
            let at = at % log.len();
            log[at] = byte;
        }
        let prefix = Prefix::guess_usual(&["2026-11-28 19:41:05.123 UTC [77] LOG:  x"]).unwrap();
        for form in [Form::Csv, Form::Json, Form::Prefixed(prefix), Form::Slow, Form::General] {
            let capture = captured_as(&form, &[&log]);
            prop_assert!(capture.record_count() >= 1);
            prop_assert!(capture.counts().nonzero().iter().all(|one| Reason::ALL.contains(&one.reason)));
        }
    }
}
