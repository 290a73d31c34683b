//! What an engine must not pretend: sessions that are one, statements that were not executed, rows that are none, conflicts
//! that were not reported, and facts that were not read.

use load::datum::Datum;
use load::error::Failure;
use load::generator::ThreadLimit;
use model::{Nature, RunRecord};
use workloads::session::{Session, SessionKind};
use workloads::transactions::Protocol;

use super::subject::{Subject, is_refusal, run, stream, value};

crate::cases! {
    Rows clients_roll_back_only_their_own_work,
    Rows a_query_that_fails_when_executed_fails,
    Rows a_write_gives_no_rows,
    Rows a_conflict_waits_or_fails,
    Rows version_and_settings_match_what_sql_reports,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Prepared, Protocol::Extended, Protocol::Simple];

/// Holds that every failure of a run was a conflict, and gives their number.
fn conflicts(record: &RunRecord) -> i64 {
    let contention: f64 = ["serialization", "deadlock", "lock_timeout"]
        .map(|class| value(record, &format!("errors_{class}")))
        .iter()
        .sum();
    let errors = value(record, "errors");
    assert_eq!(contention, errors, "of {errors} failures {contention} are reported as conflicts");
    errors as i64
}

/// Client 0 rolls back while client 1 commits, in a thread each and in one thread for both. An engine that lets one of them
/// write at a time may refuse the other.
fn clients_roll_back_only_their_own_work(subject: &Subject) {
    let script = "BEGIN;\nINSERT INTO conformance_log (client, value, note) VALUES (:client_id, 1, 'both');\n\\sleep 30 ms\n\
        \\if :client_id = 0\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n";
    for threads in [ThreadLimit::Best, ThreadLimit::AtMost(1)] {
        let mut task = stream(script, Protocol::Prepared, 2);
        task.shape.threads = threads;
        let record = run(subject.prepared(), &task, 2).unwrap_or_else(|failure| panic!("{threads:?}: {failure}"));
        let refused = conflicts(&record);
        let of = |client| subject.count(&format!("SELECT count(*) FROM conformance_log WHERE client = {client}"));
        assert_eq!(of(0), 0, "{threads:?}: another client has committed what was rolled back");
        assert!((2 - refused..=2).contains(&of(1)), "{threads:?}: {} rows of 2 that were committed", of(1));
    }
}

/// A value that has no positive of its size is the second of two rows: whether a query fails is known when all of it was executed.
fn a_query_that_fails_when_executed_fails(subject: &Subject) {
    let system = subject.prepared();
    let mut session = system.connect_session(SessionKind::Plain).unwrap();
    for row in ["(1, 5, 'good')", "(2, -9223372036854775808, 'bad')"] {
        session.execute(&format!("INSERT INTO conformance_log (client, value, note) VALUES {row}")).unwrap();
    }
    drop(session);
    for protocol in PROTOCOLS {
        for (kept, end) in [("kept by \\gset", " \\gset"), ("kept by \\aset", " \\aset"), ("not kept", ";")] {
            // It takes one row, and would refuse two.
            let filter = if end == " \\gset" { "WHERE client = 2" } else { "" };
            let script = format!("SELECT abs(value) AS v FROM conformance_log {filter}{end}\n");
            let said = match run(system, &stream(&script, protocol, 1), 2) {
                Err(failure) if is_refusal(&failure) => continue,
                Err(failure) => failure.to_string(),
                Ok(_) => panic!("{protocol:?}, rows {kept}: abs(-9223372036854775808) is reported as executed"),
            };
            assert!(!said.contains("\\gset"), "{protocol:?}, rows {kept}: the failure is lost: {said}");
        }
    }
}

/// `\gset` wants one row, and a write has none to give; `\aset` leaves the variable as it was.
fn a_write_gives_no_rows(subject: &Subject) {
    let writes = [
        "INSERT INTO conformance_log (client, value, note) VALUES (1, 1, 'one')",
        "UPDATE conformance_rows SET value = 5 WHERE id = 5",
        "DELETE FROM conformance_rows WHERE id = 6",
    ];
    for protocol in PROTOCOLS {
        let system = subject.prepared();
        let mut taken = 0;
        for write in writes {
            match run(system, &stream(&format!("{write} \\gset\n"), protocol, 1), 1) {
                Err(failure) if is_refusal(&failure) => continue,
                Err(failure) => assert!(failure.to_string().contains("there were 0"), "{protocol:?}: {failure}"),
                Ok(_) => panic!("{protocol:?}: `{write}` has answered with a row"),
            }
            let script =
                format!("{write} \\aset\nINSERT INTO conformance_log (client, value, note) VALUES (7, 7, 'after');\n");
            run(system, &stream(&script, protocol, 1), 1)
                .unwrap_or_else(|failure| panic!("{protocol:?}: `{write}`: {failure}"));
            taken += 1;
        }
        assert_eq!(subject.count("SELECT count(*) FROM conformance_log WHERE client = 7"), taken, "{protocol:?}");
    }
}

/// Three clients add to one row, and hold it longer than one of them may wait twice: what is reported as done was done.
fn a_conflict_waits_or_fails(subject: &Subject) {
    let script = "BEGIN;\nUPDATE conformance_rows SET value = value + 1 WHERE id = 1;\n\\sleep 700 ms\nCOMMIT;\n";
    let refused = conflicts(&subject.script(script, 3, 1).unwrap());
    let added = subject.count("SELECT value FROM conformance_rows WHERE id = 1") - 10;
    assert_eq!(added, 3 - refused, "{added} of 3 transactions have changed the row, and {refused} were refused");
}

fn answer(session: &mut dyn Session, sql: &str) -> Result<Option<String>, Failure> {
    let rows = session.query(sql)?;
    Ok(rows.first().and_then(|row| row.first()).map(|datum| match datum {
        Datum::Null => String::new(),
        Datum::Int(number) => number.to_string(),
        Datum::Double(number) => number.to_string(),
        Datum::Text(text) => text.to_string(),
    }))
}

/// The first number with points in it.
fn release(text: &str) -> Vec<&str> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    numbers.find(|part| part.contains('.')).into_iter().flat_map(|number| number.split('.')).collect()
}

/// Whether a setting's value is the fact: switches may be numbers, and what may hold a password is not shown.
fn is_same(said: &str, fact: &str) -> bool {
    said == fact
        || matches!((said, fact), ("1", "ON") | ("0", "OFF") | ("", "(empty)"))
        || fact.starts_with("(set; not shown")
}

fn version_and_settings_match_what_sql_reports(subject: &Subject) {
    let facts = subject.prepared().facts().unwrap();
    let mut session = subject.system.connect_session(SessionKind::Plain).unwrap();
    let said = answer(&mut *session, &subject.known.version).unwrap().unwrap_or_default();
    let fact = facts.get("server.version").unwrap_or_default();
    let (by_sql, by_fact) = (release(&said), release(fact));
    let both = by_sql.len().min(by_fact.len());
    assert!(both >= 2 && by_sql[..both] == by_fact[..both], "the facts say {fact}, and SQL says {said}");
    let Some(query) = &subject.known.settings else { return };
    let mut wrong = Vec::new();
    let mut held = 0;
    for (name, entry) in &facts.entries {
        let (Some(name), Ok(fact)) = (name.strip_prefix("setting."), &entry.reading) else { continue };
        if entry.nature != Nature::Identity || subject.known.in_words.iter().any(|one| one == name) {
            continue;
        }
        held += 1;
        match answer(&mut *session, &query.replace("{}", name)) {
            Ok(Some(said)) if is_same(&said, fact) => {}
            said => wrong.push(format!("{name}: the facts say `{fact}`, and SQL says {said:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("; "));
    assert!(held > 0, "the facts have no settings");
}
