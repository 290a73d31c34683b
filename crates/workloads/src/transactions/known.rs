//! What is known of built-in scripts beforehand: the rows that a transaction returns and changes, and what stands in pgbench's
//! tables when it has run.

use std::fmt;

use load::error::{Failure, FailureKind};
use load::lane::RowCounts;
use load::run::ServerCounters;
use load::worker::LoadCounts;

use super::Program;

/// Standard deviations that chance is given: one run in 500 million is further off.
const CHANCE: f64 = 6.0;
/// Share of the rows that updates may find as they leave them, of which some engines do not count a change.
const UNCHANGED: f64 = 0.05;
/// The mean of the absolute values of whole numbers drawn from -5,000 to 5,000, and their standard deviation.
const DELTA_MEAN: f64 = 2_500.25;
const DELTA_DEVIATION: f64 = 1_443.5;

/// What a script leaves in pgbench's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace {
    Nothing,
    /// 1 more on an account.
    One,
    /// The history's delta on an account.
    Account,
    /// The history's delta on an account, a teller and a branch.
    Everywhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownScript {
    /// Rows that a transaction returns.
    pub(crate) returned: u64,
    /// Rows that a transaction changes. `None`: engines differ in whether an update that leaves a row as it is changes it.
    pub(crate) changed: Option<u64>,
    pub(crate) trace: Trace,
}

impl KnownScript {
    /// What is known of a built-in script's rows and changes; `None` for other scripts.
    pub(crate) fn for_built_in(script: &str) -> Option<KnownScript> {
        match script {
            "postgresql-tasks" => known_effects(1, None, Trace::Nothing),
            "select-only" => known_effects(1, Some(0), Trace::Nothing),
            "select-update" => known_effects(1, Some(1), Trace::One),
            "simple-update" => known_effects(1, Some(2), Trace::Account),
            "tpcb-like" => known_effects(1, Some(4), Trace::Everywhere),
            _ => None,
        }
    }
}

/// Makes what is known of a script.
fn known_effects(returned: u64, changed: Option<u64>, trace: Trace) -> Option<KnownScript> {
    Some(KnownScript { returned, changed, trace })
}

/// Accounts, tellers or branches whose balance is not the sum of their history.
macro_rules! unbalanced {
    ($table:literal, $id:literal, $balance:literal, $join:literal) => {
        concat!(
            "SELECT count(*) FROM ",
            $table,
            " t ",
            $join,
            " (SELECT ",
            $id,
            ", sum(delta) AS d FROM pgbench_history GROUP BY ",
            $id,
            ") h ON h.",
            $id,
            " = t.",
            $id,
            " WHERE t.",
            $balance,
            " <> COALESCE(h.d, 0)"
        )
    };
}

/// Only the accounts of the history, since reading all of them may take longer than the run.
const ACCOUNTS: &str = unbalanced!("pgbench_accounts", "aid", "abalance", "JOIN");
const TELLERS: &str = unbalanced!("pgbench_tellers", "tid", "tbalance", "LEFT JOIN");
const BRANCHES: &str = unbalanced!("pgbench_branches", "bid", "bbalance", "LEFT JOIN");
const ALL_ACCOUNTS: &str = "SELECT max(aid) FROM pgbench_accounts";
const IN_HISTORY: &str = "SELECT count(DISTINCT aid) FROM pgbench_history";
const TOUCHED: &str = "SELECT count(*) FROM pgbench_accounts WHERE abalance <> 0";
/// The zero widens the sum: SQL Server would add up in 32 bits.
const SIZES: &str = "SELECT sum(0 * 4294967296 + abs(delta)) FROM pgbench_history";

impl Program {
    /// Lists what the program's scripts leave in the tables; `None` if one is not known.
    fn script_traces(&self) -> Option<Vec<Trace>> {
        let chosen = self.scripts.iter().filter(|script| script.weight > 0);
        let known = chosen.map(|script| Some((*self.known.get(script.kind)?)?.trace));
        let all: Option<Vec<Trace>> = known.collect();
        all.map(|all| all.into_iter().filter(|trace| *trace != Trace::Nothing).collect())
    }

    /// Lists the queries by which the rows that built-in scripts leave are checked after a run.
    pub(super) fn row_check_queries(&self) -> Vec<&'static str> {
        let Some(traces) = self.script_traces().filter(|traces| self.check.is_some() && !traces.is_empty()) else {
            return Vec::new();
        };
        if traces.iter().all(|trace| *trace == Trace::One) {
            return vec![ALL_ACCOUNTS, TOUCHED];
        }
        if traces.contains(&Trace::One) {
            return Vec::new();
        }
        let mut questions = vec![ACCOUNTS, ALL_ACCOUNTS, IN_HISTORY, SIZES];
        if traces.iter().all(|trace| *trace == Trace::Everywhere) {
            questions.extend([TELLERS, BRANCHES]);
        }
        questions
    }

    /// Fails unless built-in scripts have left in the tables what they say and draw.
    pub(super) fn check_traces(&self, server: &dyn ServerCounters, counts: &LoadCounts) -> Result<(), Failure> {
        // What earlier runs left there may be other scripts'.
        if !server.begins_loaded() {
            return Ok(());
        }
        let transactions = counts.succeeded as f64;
        let mut accounts = 0.0;
        for question in self.row_check_queries() {
            let answer = match server.scalar(question) {
                Err(failure) if failure.kind == FailureKind::Unsupported => return Ok(()),
                answer => answer? as f64,
            };
            match question {
                ALL_ACCOUNTS => accounts = answer,
                IN_HISTORY | TOUCHED => {
                    check_near(&"different accounts", answer, expected_distinct(transactions, accounts))?
                }
                SIZES => {
                    let deviation = DELTA_DEVIATION * transactions.sqrt();
                    check_near(&"the deltas' sizes in all", answer, (DELTA_MEAN * transactions, deviation))?;
                }
                _ if answer > 0.0 => {
                    return untrusted(format!("{answer} balances are not the sums of their history (`{question}`)"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Fails unless the rows that the server's answers report are those that built-in scripts read and write.
    pub(super) fn check_row_counts(&self, counts: &LoadCounts) -> Result<(), Failure> {
        if self.native.is_some() || self.pipeline_depth() > 1 {
            return Ok(());
        }
        if let ([known], Some(rows)) = (self.known.as_slice(), counts.rows) {
            // The end of the run may have cut off a try of each client.
            let most = counts.tries() + u64::from(self.clients);
            return known.map_or(Ok(()), |known| known.check_rows(counts.succeeded, most, rows, ""));
        }
        for (known, kind) in self.known.iter().zip(&counts.kinds) {
            if let (Some(known), Some(rows)) = (known, kind.rows) {
                // A failed try may have changed nothing, and which kind it was is not known.
                let failed = counts.tries().saturating_sub(counts.succeeded);
                known.check_rows(kind.tries.saturating_sub(failed), kind.tries, rows, &format!(" of {}", kind.name))?;
            }
        }
        Ok(())
    }
}

impl KnownScript {
    /// Fails unless as many rows were returned and changed as `least` to `most` transactions do.
    fn check_rows(&self, least: u64, most: u64, rows: RowCounts, of: &str) -> Result<(), Failure> {
        let (fewest, all) = (self.returned * least, self.returned * most);
        if !(fewest..=all).contains(&rows.returned) {
            return untrusted(format!(
                "{least} transactions{of} return {fewest} rows, the server returned {}",
                rows.returned
            ));
        }
        let Some(changed) = self.changed else { return Ok(()) };
        let (all, sure) = (changed * most, changed * least);
        let fewest = (sure as f64 * (1.0 - UNCHANGED)) as u64;
        if !(fewest..=all).contains(&rows.changed) {
            return untrusted(format!(
                "{least} transactions{of} change {sure} rows, the server changed {}",
                rows.changed
            ));
        }
        Ok(())
    }
}

/// Number of different values expected among `drawn` draws of `all` with equal chances, and its standard deviation.
fn expected_distinct(drawn: f64, all: f64) -> (f64, f64) {
    let missed = (-drawn / all.max(1.0)).exp();
    let variance = all * missed * (1.0 - (1.0 + drawn / all.max(1.0)) * missed);
    (all * (1.0 - missed), variance.max(0.0).sqrt())
}

/// Fails if a count is too far from the expected one for chance to explain it.
fn check_near(what: &dyn fmt::Display, seen: f64, (expected, deviation): (f64, f64)) -> Result<(), Failure> {
    // A draw more or less is no distribution, and failed transactions may have left rows, too.
    if (seen - expected).abs() <= CHANCE * deviation + 0.02 * expected + 3.0 {
        return Ok(());
    }
    untrusted(format!("{what}: the script's draws come to {expected:.0} ± {deviation:.0}, the server has {seen:.0}"))
}

/// Makes the failure of a run whose counts cannot be trusted, as a result.
pub(super) fn untrusted<T>(cause: String) -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Verification, "trust the run's counts", cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_repeat_as_chance_has_it() {
        let (expected, deviation) = expected_distinct(100_000.0, 100_000.0);
        assert!((expected - 63_212.0).abs() < 1.0, "{expected}");
        // Feller, volume 1, II.5: 100,000 cells, as many balls.
        assert!((deviation - 98.6).abs() < 0.5, "{deviation}");
        let (few, _) = expected_distinct(10.0, 1e9);
        assert!((few - 10.0).abs() < 1e-3);
    }

    #[test]
    fn every_built_in_script_is_known() {
        for script in super::super::SCRIPTS {
            assert!(KnownScript::for_built_in(script).is_some(), "{script}");
        }
    }
}
