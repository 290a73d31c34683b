//! Whether client and server agree on what a run did.
//!
//! The load's claims are verified by the server in the most precise way of each engine: rows left by a script, counts
//! of the load's own sessions, counters of its database. A disagreement voids the run; partial checks are reported.

use std::thread;
use std::time::Duration;

use model::{Mark, MarkKind};

use super::{Countable, Program, waits};
use load::counters::Counters;
use load::error::{Failure, FailureKind};
use load::lane::SessionCounts;
use load::run::ServerCounters;
use load::worker::LoadCounts;

/// For server statistics to show commits.
const STATISTICS_TIMEOUT: Duration = Duration::from_secs(3);

/// Bounds of a count.
struct Claim {
    what: &'static str,
    /// Certainly done.
    least: u64,
    /// Possibly done: a failed transaction may have been carried out unnoticed.
    most: u64,
}

impl Claim {
    /// Checks the server's count: within the claim if `tells`, else at least; returns a note on an excess.
    ///
    /// Where the load knows what its procedures do, too, nothing else works in its sessions.
    fn check_reported(&self, tells: bool, seen: u64, where_seen: &str) -> Result<Option<String>, Failure> {
        if tells { self.check_range(seen, where_seen).map(|()| None) } else { self.check_at_least(seen, where_seen) }
    }

    /// Fails if the server counted less than is claimed; returns a note if it counted more.
    ///
    /// Excess is no lie here: triggers, procedures and the server work in sessions, too. It is reported, since
    /// something may have been done twice.
    fn check_at_least(&self, seen: u64, where_seen: &str) -> Result<Option<String>, Failure> {
        let Claim { what, most, .. } = *self;
        if seen > most {
            return Ok(Some(format!(
                "the server counted {seen} {what}{where_seen}, the load knows of {most}: triggers, procedures or the server's own"
            )));
        }
        self.check_range(seen, where_seen).map(|()| None)
    }

    /// Fails if the server's count is outside the claimed range.
    fn check_range(&self, seen: u64, where_seen: &str) -> Result<(), Failure> {
        let Claim { what, least, most } = *self;
        if (least..=most).contains(&seen) {
            return Ok(());
        }
        let only = if seen < least { "only " } else { "" };
        let up_to = match most {
            u64::MAX => " or more".to_owned(),
            most if most == least => String::new(),
            most => format!(" to {most}"),
        };
        let cause = format!("the client counted {least}{up_to} {what}, the server {only}{seen}{where_seen}");
        Err(Failure::new(FailureKind::Verification, "trust the run's counts", cause))
    }
}

/// Fails unless the server bears out the client's counts; returns its counters, and marks for what was not checked.
pub(crate) fn check_run(
    program: &Program,
    server: &dyn ServerCounters,
    before: &Counters,
    counts: &LoadCounts,
) -> Result<(Counters, Vec<Mark>), Failure> {
    let mut counters = counters_after(program, server, before, counts)?;
    program.check_statements(counts)?;
    program.check_shares(counts)?;
    let by_rows = check_rows(program, server, counts)?;
    program.check_row_counts(counts)?;
    program.check_traces(server, counts)?;
    let by_sessions = check_sessions(program, counts, &mut counters)?;
    let by_database = check_database(program, counts, &counters)?;
    let mut marks: Vec<Mark> = rollbacks_note(program, counts, &counters).into_iter().collect();
    marks.extend(waits::durability_mark(program, counts, &counters));
    marks.extend(other_clients_mark(counts, &counters));
    if let Some(native) = &program.native {
        marks.extend(native.check_run(server, counts)?);
    }
    if let (Err(of_sessions), Err(of_rows)) = (by_sessions, by_rows) {
        let parts: Vec<String> = [Some(of_sessions), of_rows, by_database].into_iter().flatten().collect();
        marks.push(Mark::new(MarkKind::NotCounted, parts.join("; ")));
    }
    Ok((counters, marks))
}

/// Reads the server's counters since `before`, once they show everything committed, or after a timeout.
fn counters_after(
    program: &Program,
    server: &dyn ServerCounters,
    before: &Counters,
    counts: &LoadCounts,
) -> Result<Counters, Failure> {
    let claimed = claimed_commits(program, counts) as f64;
    let started_ns = host::clock::now_ns();
    loop {
        let since = server.counters()?.since(before);
        let complete = seen_by_server(&since).is_none_or(|(_, seen)| seen >= claimed);
        let timeout = since.late_by.unwrap_or(STATISTICS_TIMEOUT);
        let complete = complete && !waits::are_uncovered(program, counts, &since);
        if complete || host::clock::now_ns() - started_ns > timeout.as_nanos() as u64 {
            return Ok(since);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Compares a built-in script's rows with the transactions; the inner `Err` says why not.
///
/// It is empty for scripts without such rows.
fn check_rows(
    program: &Program,
    server: &dyn ServerCounters,
    counts: &LoadCounts,
) -> Result<Result<(), Option<String>>, Failure> {
    let Some(check) = program.check else { return Ok(Err(None)) };
    let claim = Claim { what: "transactions", least: counts.succeeded, most: counts.succeeded + counts.failures() };
    match server.scalar(check.sql) {
        Ok(seen) => {
            claim.check_range(u64::try_from(seen).unwrap_or_default(), &format!(" (`{}`)", check.sql))?;
            Ok(Ok(()))
        }
        Err(failure) if failure.kind == FailureKind::Unsupported => Ok(Err(Some(failure.cause))),
        Err(failure) => Err(failure),
    }
}

/// Compares the counts of the load's own sessions with its claims, and adds them to the counters.
///
/// The inner `Err` is a limitation.
fn check_sessions(
    program: &Program,
    counts: &LoadCounts,
    counters: &mut Counters,
) -> Result<Result<(), String>, Failure> {
    const WHERE: &str = " in the load's own sessions";
    let seen = match &counts.sessions {
        Some(Ok(seen)) => *seen,
        Some(Err(reason)) => return Ok(Err(reason.clone())),
        None => return Ok(Err("nobody asked what the engine has counted of the sessions".to_owned())),
    };
    let SessionCounts { transactions, statements, twice, commits, .. } = seen;
    let (sure, in_vain) = (counts.asked, counts.asked_in_vain);
    let tells = program.native.as_ref().is_some_and(|native| native.reports_server_work());
    let mut more: Option<String> = None;
    for (name, tells, seen, claim) in [
        (
            "session_statements",
            false,
            statements,
            make_claim("statements", sure.statements, in_vain.statements + twice),
        ),
        ("session_commits", tells, commits, make_claim("COMMITs", sure.commits, in_vain.commits)),
    ] {
        if let Some(seen) = seen {
            counters.set(name, "", seen as f64);
            more = more.or(claim.check_reported(tells, seen, WHERE)?);
        }
    }
    let Some(seen) = transactions else { return Ok(more.map_or(Ok(()), Err)) };
    counters.set("session_transactions", "", seen as f64);
    let exact = make_claim("transactions of the server", sure.transactions, in_vain.transactions);
    match program.countable_transactions() {
        Countable::Exactly => Ok(more.or(exact.check_reported(tells, seen, WHERE)?).map_or(Ok(()), Err)),
        Countable::AtLeast(why) => {
            let least = sure.transactions.min(counts.succeeded * program.commits_per_transaction());
            Claim { least, most: u64::MAX, ..exact }.check_range(seen, WHERE)?;
            Ok(Err(format!("{why}, and only that there were no fewer is known")))
        }
        Countable::No(why) => Ok(Err(why.to_owned())),
    }
}

/// Makes a claim of at least `sure` and at most `in_vain` more.
fn make_claim(what: &'static str, sure: u64, in_vain: u64) -> Claim {
    Claim { what, least: sure, most: sure + in_vain }
}

/// Fails if the counters of database or server are smaller than the claim; returns what was compared, if any.
///
/// They include other users and so can only be too small. A pooler's sessions may not have reported yet.
fn check_database(program: &Program, counts: &LoadCounts, counters: &Counters) -> Result<Option<String>, Failure> {
    let Some((what, seen)) = seen_by_server(counters) else { return Ok(None) };
    let claimed = claimed_commits(program, counts);
    if counters.late_by.is_some() && seen < claimed as f64 {
        return Ok(Some(format!(
            "the pooler's sessions have reported {seen} of {claimed} commits so far, so the server's counters lack the rest"
        )));
    }
    Claim { what: "commits", least: claimed, most: u64::MAX }.check_range(seen as u64, what)?;
    Ok(Some(format!(
        "held against it: that {claimed} commits are no more than the {seen}{what} that the server counted in all"
    )))
}

/// Makes a note if the database rolled back more transactions than the load knows of.
///
/// They are other users', or supposed commits, since a session does not distinguish.
fn rollbacks_note(program: &Program, counts: &LoadCounts, counters: &Counters) -> Option<Mark> {
    let seen = counters.value_of("rollbacks")? as u64;
    let known = counts.asked.rollbacks + counts.asked_in_vain.rollbacks;
    let detail = format!(
        "the database rolled back {seen} transactions, of which the load knows {known} at most: the others are other clients', \
         or were not committed as the load claims"
    );
    (program.countable_transactions() == Countable::Exactly && seen > known)
        .then_some(Mark::new(MarkKind::Note, detail))
}

/// Others' work below this share of the load's own is no disturbance.
const OTHERS_SHARE: f64 = 0.05;
/// What étalon's own questions, the server's housekeeping and a monitor come to.
const OTHERS_LEAST: f64 = 1_000.0;
/// What a connection of the load asks before its first transaction.
const OTHERS_LOGIN: f64 = 20.0;

/// Makes a mark if other sessions worked much: in other databases, or beyond the load's own statements.
fn other_clients_mark(counts: &LoadCounts, counters: &Counters) -> Option<Mark> {
    // A pooler's sessions may report a run's work in the next one.
    if counters.late_by.is_some() {
        return None;
    }
    let elsewhere = counters.value_of("transactions_elsewhere").zip(counters.value_of("session_transactions"));
    let beyond = counters.value_of("statements").zip(counters.value_of("session_statements"));
    let (what, others, own) = match (elsewhere, beyond) {
        (Some((others, own)), _) => ("transactions in other databases", others, own),
        (None, Some((all, own))) => ("statements", all - own, own),
        (None, None) => return None,
    };
    let logins = (counts.connections.made + counts.connections.made_again) as f64;
    let is_beyond = others > OTHERS_LEAST + OTHERS_LOGIN * logins && others > OTHERS_SHARE * own;
    let of_load = what.split(' ').next().unwrap_or_default();
    let detail = format!("others asked the server for {others} {what} in the run, the load for {own} {of_load}");
    is_beyond.then_some(Mark::new(MarkKind::OtherClients, detail))
}

/// Number of commits that the client saw, which the server must have counted at least.
pub(super) fn claimed_commits(program: &Program, counts: &LoadCounts) -> u64 {
    match program.countable_transactions() {
        Countable::Exactly if program.native.is_some() => counts.asked.commits,
        Countable::No(_) => 0,
        Countable::Exactly | Countable::AtLeast(_) => counts.succeeded * program.commits_per_transaction(),
    }
}

/// Reads the server's count of commits, else of statements, of which every commit takes at least one.
pub(super) fn seen_by_server(counters: &Counters) -> Option<(&'static str, f64)> {
    counters
        .value_of("commits")
        .map(|seen| ("", seen))
        .or_else(|| counters.value_of("statements").map(|seen| (" statements", seen)))
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use super::*;
    use load::stream::RequestedWork;

    fn held(script: &str, seen: SessionCounts, in_vain: u64) -> Result<Result<(), String>, String> {
        let program = compile(script, &[]).unwrap();
        let asked = RequestedWork { transactions: 100, statements: 300, commits: 100, rollbacks: 0 };
        let in_vain =
            RequestedWork { transactions: in_vain, statements: 2 * in_vain, commits: in_vain, rollbacks: in_vain };
        let counts = LoadCounts {
            succeeded: 100,
            asked,
            asked_in_vain: in_vain,
            sessions: Some(Ok(seen)),
            ..LoadCounts::default()
        };
        check_sessions(&program, &counts, &mut Counters::default()).map_err(|failure| failure.cause)
    }

    #[test]
    fn every_count_of_a_session_is_held_against_the_claim() {
        let block = "BEGIN; SELECT 1; COMMIT;";
        assert_eq!(held(block, all(100, 300, 100), 0), Ok(Ok(())));
        assert_eq!(held(block, all(101, 302, 100), 1), Ok(Ok(())), "a failure may have been carried out");
        for (seen, said) in [
            (all(99, 300, 100), "100 transactions of the server, the server only 99"),
            (all(100, 299, 100), "300 statements, the server only 299"),
            (all(100, 300, 99), "100 COMMITs, the server only 99"),
        ] {
            let cause = held(block, seen, 0).unwrap_err();
            assert!(cause.contains(said), "{cause}");
        }
        // Triggers and procedures work in the session, too.
        for (seen, said) in [
            (all(101, 300, 100), "101 transactions of the server in the load's own sessions, the load knows of 100"),
            (all(100, 600, 100), "600 statements"),
            (all(100, 300, 200), "200 COMMITs"),
        ] {
            let note = held(block, seen, 0).unwrap().unwrap_err();
            assert!(note.contains(said), "{note}");
        }
    }

    fn all(transactions: u64, statements: u64, commits: u64) -> SessionCounts {
        SessionCounts {
            transactions: Some(transactions),
            statements: Some(statements),
            twice: 0,
            commits: Some(commits),
            ..SessionCounts::default()
        }
    }

    #[test]
    fn a_poolers_late_counters_void_no_run() {
        let program = compile("SELECT 1;", &[]).unwrap();
        let counts = LoadCounts { succeeded: 100, ..LoadCounts::default() };
        let check = |commits: f64, late_by| {
            let mut counters = Counters { late_by, ..Counters::default() };
            counters.set("commits", "", commits);
            check_database(&program, &counts, &counters).map_err(|failure| failure.cause)
        };
        assert!(check(99.0, None).unwrap_err().contains("the server only 99"));
        let late_by = Some(Duration::from_secs(12));
        assert!(check(99.0, late_by).unwrap().unwrap().contains("99 of 100 commits so far"));
        assert!(check(100.0, late_by).unwrap().unwrap().contains("held against it"));
    }

    #[test]
    fn the_work_of_others_is_reported() {
        fn reported(names: [&'static str; 2], seen: f64, own: f64, made: u64) -> Option<String> {
            let mut counters = Counters::default();
            counters.set(names[0], "", seen);
            counters.set(names[1], "", own);
            let mut counts = LoadCounts::default();
            counts.connections.made = made;
            other_clients_mark(&counts, &counters).map(|mark| mark.detail)
        }
        let elsewhere = ["transactions_elsewhere", "session_transactions"];
        let detail = "others asked the server for 2000 transactions in other databases in the run, the load for 20000 transactions";
        assert_eq!(reported(elsewhere, 2_000.0, 20_000.0, 1).as_deref(), Some(detail));
        assert_eq!(reported(elsewhere, 2_000.0, 40_000.0, 1), None, "a twentieth of the load's");
        assert_eq!(reported(elsewhere, 1_000.0, 1_000.0, 1), None, "a monitor's");
        let statements = ["statements", "session_statements"];
        assert!(reported(statements, 9_000.0, 3_000.0, 1).is_some());
        assert_eq!(reported(statements, 9_000.0, 3_000.0, 1_000), None, "what connections ask when they are made");
        assert_eq!(reported(["statements", "session_transactions"], 9_000.0, 3_000.0, 1), None, "other things");
    }

    #[test]
    fn unknown_rollbacks_are_reported() {
        let program = compile("BEGIN; SELECT 1; COMMIT;", &[]).unwrap();
        let rolled_back = |seen: f64, failures: u64| {
            let mut counters = Counters::default();
            counters.set("rollbacks", "", seen);
            let asked_in_vain = RequestedWork { rollbacks: failures, ..RequestedWork::default() };
            rollbacks_note(&program, &LoadCounts { asked_in_vain, ..LoadCounts::default() }, &counters)
        };
        assert_eq!((rolled_back(0.0, 0), rolled_back(3.0, 3)), (None, None));
        assert!(rolled_back(3.0, 2).unwrap().detail.contains("rolled back 3 transactions, of which the load knows 2"));
    }

    #[test]
    fn what_a_script_does_not_tell_is_not_claimed() {
        assert!(held("CALL f();", seen(500), 0).unwrap().unwrap_err().contains("no fewer"));
        assert!(held("CALL f();", seen(99), 0).unwrap_err().contains("100 or more"));
        for script in ["BEGIN; SELECT 1; COMMIT AND CHAIN; COMMIT;", "BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT;"] {
            assert!(held(script, seen(7), 0).unwrap().unwrap_err().contains("does not tell"), "{script}");
        }
    }

    fn seen(transactions: u64) -> SessionCounts {
        SessionCounts { transactions: Some(transactions), ..SessionCounts::default() }
    }
}
