//! The procedure: load, index, then every query, verified before and after it is timed.

use std::sync::OnceLock;
use std::time::Duration;

use model::{Absence, Facts, Reading, Role};

use super::dialect::SpatialDialect;
use super::land::{Answers, SpatialData};
use super::query::{Query, check_answer};
use super::tables;
use crate::query_run::{
    AnswerCheck, QueryText, TimedQuery, absence_of_failure, count_measurement, mean_s, milliseconds_measurement,
    only_if_right, shuffled_order, total_reading,
};
use crate::rows::Rows;
use crate::session::{Session, SessionKind};
use crate::step::{Spent, StepContext, StepOutcome, Stepped, Stopwatch};
use crate::system::System;
use crate::workload::Procedure;
use load::datum::Datum;
use load::error::{Failure, FailureKind};

/// The published estimator drops the shortest and the longest run.
const FEWEST_TO_TRIM: usize = 3;

/// Whether queries are also run with empty caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cold {
    /// They are, where caches can be emptied.
    Measured,
    Skipped,
}

/// Shortest time of a query on tables of the usual size, and of one with a start of the server before it.
const WARM_QUERY: Duration = Duration::from_millis(50);
const COLD_QUERY: Duration = Duration::from_millis(300);

pub(super) struct Suite {
    land: Box<dyn SpatialData>,
    queries: Vec<Query>,
    clients: usize,
    executions: usize,
    cold: Cold,
    /// Computed when first needed: `etalon plan` does not need it.
    answers: OnceLock<Answers>,
}

struct Asked {
    query: Query,
    check: AnswerCheck,
    /// Seconds of each run with warm caches.
    executions_s: Vec<f64>,
    cpu_s: Reading,
    /// CPU seconds of a run as the server reports them for the clients' own sessions, if it does.
    server_cpu_s: Option<f64>,
    cold_s: Reading,
}

impl Suite {
    /// Makes a suite whose answers are not computed yet.
    pub(super) fn new(
        land: Box<dyn SpatialData>,
        queries: Vec<Query>,
        clients: usize,
        executions: usize,
        cold: Cold,
    ) -> Suite {
        Suite { land, queries, clients, executions, cold, answers: OnceLock::new() }
    }

    /// The right answers, computed once.
    fn right_answers(&self) -> &Answers {
        self.answers.get_or_init(|| self.land.answers(&self.queries))
    }
}

impl Procedure for Suite {
    /// The sessions need geometries.
    fn session_kind(&self) -> SessionKind {
        SessionKind::Spatial
    }

    /// What the queries and the restarts before cold ones take on the engines that are fastest at it.
    fn least_length(&self) -> Duration {
        let cold = if self.cold == Cold::Measured { COLD_QUERY } else { Duration::ZERO };
        (WARM_QUERY * self.executions as u32 + cold) * self.queries.len() as u32
    }

    /// Facts of the suite's data.
    fn procedure_facts(&self, _system: &dyn System) -> Facts {
        self.land.data_facts()
    }

    /// Loads and indexes the tables, checks them, and asks all queries with warm and then with empty caches.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        let system = context.system;
        let dialect = system.spatial_dialect().ok_or_else(|| {
            let cause = "the suite is not written in this engine's SQL";
            Failure::new(FailureKind::Unsupported, "ask spatial queries", cause)
        })?;
        let parts = self.queries.len() + 2;
        context.report_progress("computing the answers", 0, parts);
        let answers = self.right_answers();
        context.report_progress("loading", 1, parts);
        let mut first = system.connect_session(SessionKind::Spatial)?;
        let loaded = match tables::load_tables(system, &mut *first, dialect, &*self.land) {
            Err(failure) if failure.kind == FailureKind::Unsupported => {
                return Ok(Stepped::Done(self.unavailable_outcome(&failure.cause)));
            }
            loaded => loaded?,
        };
        drop(first);
        system.settle()?;
        let mut sessions = self.open_sessions(context)?;
        if let Some(session) = sessions.first_mut() {
            tables::check_tables(&mut **session, dialect, &*self.land)?;
        }
        let mut asked: Vec<Option<Asked>> = self.queries.iter().map(|_| None).collect();
        for (done, place) in shuffled_order(self.queries.len(), context.seed).into_iter().enumerate() {
            context.report_progress(&self.queries[place].name(), done + 2, parts);
            let round = Round { suite: self, dialect, answers, place };
            match round.run_warm(context, &mut sessions)? {
                Some(one) => asked[place] = Some(one),
                None => return Ok(Stepped::Interrupted),
            }
        }
        drop(sessions);
        let mut asked: Vec<Asked> = asked.into_iter().flatten().collect();
        for (place, one) in asked.iter_mut().enumerate() {
            if context.is_interrupted() {
                return Ok(Stepped::Interrupted);
            }
            Round { suite: self, dialect, answers, place }.run_cold(context, one)?;
        }
        Ok(Stepped::Done(self.suite_outcome(&loaded, &asked)))
    }
}

struct Round<'a> {
    suite: &'a Suite,
    dialect: &'a dyn SpatialDialect,
    answers: &'a Answers,
    place: usize,
}

/// CPU seconds that the server reports, all sessions together; `None` if it reports none.
fn sessions_cpu_s(sessions: &[Box<dyn Session>]) -> Option<f64> {
    sessions.iter().filter_map(|session| session.reported_cpu_s()).reduce(|a, b| a + b)
}

/// Number of queries that the engine has run in each session, where it counts them.
fn queries_run(sessions: &[Box<dyn Session>]) -> Vec<Option<u64>> {
    sessions.iter().map(|session| session.query_count()).collect()
}

/// Compares the executions that were timed with those that the engine has counted in each session.
fn check_runs(before: &[Option<u64>], after: &[Option<u64>], executions: usize) -> AnswerCheck {
    let mut ran = before.iter().zip(after).filter_map(|(before, after)| Some((*after)?.saturating_sub((*before)?)));
    match ran.find(|ran| *ran != executions as u64) {
        Some(ran) => Err(Absence::Wrong
            .with_reason(format!("{executions} executions were timed, and a session of the engine ran {ran}"))),
        None => Ok(()),
    }
}

impl Round<'_> {
    /// Compares an answer with the right one; fails if the system failed, and not the query.
    fn judge_answer(&self, answer: &Result<Rows, Failure>) -> Result<AnswerCheck, Failure> {
        let rows = match answer {
            Ok(rows) => rows.to_data(),
            Err(failure) => return absence_of_failure(failure.clone()).map(Err),
        };
        let expected = &self.answers.expected[self.place];
        Ok(check_answer(expected, &rows, self.dialect.buffer_rounding())
            .map_err(|evidence| Absence::Wrong.with_reason(evidence)))
    }

    /// Judges a run by the first of its clients' answers that is not right.
    fn judge_run(&self, run: &TimedQuery) -> Result<AnswerCheck, Failure> {
        for answer in &run.answers {
            let check = self.judge_answer(answer)?;
            if check.is_err() {
                return Ok(check);
            }
        }
        Ok(Ok(()))
    }

    /// Verifies the query, which warms the caches too, then times it if the answer was right; `None` after an interrupt.
    fn run_warm(&self, context: &StepContext<'_>, sessions: &mut [Box<dyn Session>]) -> Result<Option<Asked>, Failure> {
        let query = self.suite.queries[self.place];
        let mut asked = Asked {
            query,
            check: Ok(()),
            executions_s: Vec::with_capacity(self.suite.executions),
            cpu_s: Reading::unavailable(""),
            server_cpu_s: None,
            cold_s: Reading::unavailable(""),
        };
        let sql = match self.dialect.query_text(query, self.answers.window) {
            Ok(sql) => sql,
            Err(reason) => {
                asked.check = Err(Absence::Unsupported.with_reason(reason));
                return Ok(Some(asked));
            }
        };
        let question = QueryText { sql: &sql, around: self.dialect.around_query(), limit: None };
        if let Err(missing) = self.check_index(&sql, sessions)? {
            asked.check = Err(missing);
            return Ok(Some(asked));
        }
        // A single client first: what it cannot answer, many need not try.
        let (one, _) = sessions.split_at_mut(1);
        asked.check = self.judge_run(&question.run_at_once(one))?;
        if asked.check.is_ok() && sessions.len() > 1 {
            asked.check = self.judge_run(&question.run_at_once(sessions))?;
        }
        let server_before = sessions_cpu_s(sessions);
        let ran_before = queries_run(sessions);
        let watch = Stopwatch::start(context.system);
        let mut executions = Vec::with_capacity(self.suite.executions);
        while asked.check.is_ok() && executions.len() < self.suite.executions {
            if context.is_interrupted() {
                return Ok(None);
            }
            let run = question.run_at_once(sessions);
            asked.check = self.judge_run(&run)?;
            executions.push(run.elapsed_s);
        }
        let Spent { cpu_s, .. } = watch.spent_since_start(context.system);
        asked.cpu_s = match cpu_s {
            Reading::Value(all) => Reading::Value(all / executions.len().max(1) as f64),
            unavailable => unavailable,
        };
        let server = sessions_cpu_s(sessions).map(|after| after - server_before.unwrap_or(0.0));
        asked.server_cpu_s = server.map(|all| all / executions.len().max(1) as f64);
        if asked.check.is_ok() {
            asked.check = check_runs(&ran_before, &queries_run(sessions), executions.len());
        }
        asked.executions_s = executions;
        Ok(Some(asked))
    }

    /// Checks that the engine runs a query by its spatial index, where the query's text has to name it.
    fn check_index(&self, sql: &str, sessions: &mut [Box<dyn Session>]) -> Result<AnswerCheck, Failure> {
        let query = self.suite.queries[self.place];
        let (Some((explain, word)), Some(session)) = (self.dialect.index_use_query(query, sql), sessions.first_mut())
        else {
            return Ok(Ok(()));
        };
        let is_named = session
            .query(&explain)?
            .iter()
            .flatten()
            .any(|datum| matches!(datum, Datum::Text(text) if text.contains(word)));
        Ok(if is_named {
            Ok(())
        } else {
            Err(Absence::Wrong.with_reason(format!("the engine ran it without its spatial index: no `{word}`")))
        })
    }

    /// Runs the query once, by one client, with empty caches.
    fn run_cold(&self, context: &StepContext<'_>, asked: &mut Asked) -> Result<(), Failure> {
        if self.suite.cold == Cold::Skipped {
            asked.cold_s = Reading::unavailable("the plan says `cold = false`");
            return Ok(());
        }
        let (Ok(()), Ok(sql)) = (&asked.check, self.dialect.query_text(asked.query, self.answers.window)) else {
            return Ok(());
        };
        match context.system.empty_caches() {
            Ok(()) => {}
            Err(failure) if failure.kind == FailureKind::Unsupported => {
                asked.cold_s = Reading::unavailable(failure.cause);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        }
        let mut session = [context.system.connect_session(SessionKind::Spatial)?];
        let run = QueryText { sql: &sql, around: self.dialect.around_query(), limit: None }.run_at_once(&mut session);
        asked.check = self.judge_run(&run)?;
        asked.cold_s = Reading::Value(run.elapsed_s);
        Ok(())
    }
}

impl Suite {
    /// Opens a session for each client.
    fn open_sessions(&self, context: &StepContext<'_>) -> Result<Vec<Box<dyn Session>>, Failure> {
        (0..self.clients).map(|_| context.system.connect_session(SessionKind::Spatial)).collect()
    }

    /// Makes the outcome for an engine that cannot load such tables.
    fn unavailable_outcome(&self, reason: &str) -> StepOutcome {
        let check = AnswerCheck::Err(Absence::Unsupported.with_reason(reason));
        let total = (self.queries.len() > 1).then(|| "suite".to_owned());
        let names = total.into_iter().chain(self.queries.iter().map(|query| query.name()));
        StepOutcome {
            elapsed_s: 0.0,
            measurements: names
                .map(|name| {
                    milliseconds_measurement(
                        &format!("elapsed/{name}"),
                        Role::Primary,
                        only_if_right(&check, Reading::Value(0.0)),
                    )
                })
                .collect(),
            ..StepOutcome::default()
        }
    }

    /// Makes the step's outcome with the measurements of all queries and of the load.
    fn suite_outcome(&self, loaded: &tables::LoadCost, asked: &[Asked]) -> StepOutcome {
        type Read = fn(&Asked) -> Reading;
        let mut kinds: Vec<(&str, Role, Read)> = vec![
            ("elapsed", Role::Primary, |asked| mean_s(&asked.executions_s)),
            ("published", Role::Secondary, Asked::published_s),
            ("cpu", Role::Secondary, |asked| asked.cpu_s.clone()),
            ("cold", Role::Secondary, |asked| asked.cold_s.clone()),
        ];
        if asked.iter().any(|one| one.server_cpu_s.is_some()) {
            kinds.push(("session_cpu", Role::Secondary, Asked::server_cpu_s));
        }
        let mut measurements = Vec::new();
        for (kind, role, read) in kinds {
            let readings: Vec<Reading> = asked.iter().map(|one| only_if_right(&one.check, read(one))).collect();
            if asked.len() > 1 {
                measurements.push(milliseconds_measurement(
                    &format!("{kind}/suite"),
                    role,
                    total_reading(asked.iter().map(|one| one.query.number()), &readings),
                ));
            }
            for (one, reading) in asked.iter().zip(readings) {
                measurements.push(milliseconds_measurement(&format!("{kind}/{}", one.query.name()), role, reading));
            }
        }
        for (phase, spent) in [("load", &loaded.load), ("index_build", &loaded.index)] {
            measurements.push(milliseconds_measurement(phase, Role::Secondary, Reading::Value(spent.elapsed_s)));
            measurements.push(milliseconds_measurement(&format!("{phase}_cpu"), Role::Secondary, spent.cpu_s.clone()));
        }
        let right = asked.iter().filter(|one| one.check.is_ok()).count() as f64;
        measurements.push(count_measurement("answers_right", right));
        measurements.push(count_measurement("answers_asked", asked.len() as f64));
        StepOutcome {
            elapsed_s: asked.iter().flat_map(|one| &one.executions_s).sum(),
            measurements,
            // What is not right is said by its readings, with the evidence.
            ..StepOutcome::default()
        }
    }
}

impl Asked {
    /// CPU time of an execution by the server's own report; unavailable if it gives none.
    fn server_cpu_s(&self) -> Reading {
        self.server_cpu_s
            .map_or_else(|| Reading::unavailable("the server told no CPU time of this query"), Reading::Value)
    }

    /// Mean of the executions without the shortest and the longest, as published; unavailable if they are too few.
    fn published_s(&self) -> Reading {
        if self.executions_s.len() < FEWEST_TO_TRIM {
            return Reading::unavailable(format!(
                "it takes {FEWEST_TO_TRIM} executions to drop the shortest and the longest"
            ));
        }
        let mut executions = self.executions_s.clone();
        executions.sort_by(f64::total_cmp);
        let kept = &executions[1..executions.len() - 1];
        Reading::Value(kept.iter().sum::<f64>() / kept.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(check: AnswerCheck, executions_s: &[f64]) -> Asked {
        Asked {
            query: Query::Nearest,
            check,
            executions_s: executions_s.to_vec(),
            cpu_s: Reading::unavailable("none"),
            server_cpu_s: None,
            cold_s: Reading::unavailable("none"),
        }
    }

    #[test]
    fn the_published_estimator_drops_one_run_at_each_end() {
        let executions = [9.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 2.0, 3.0, 0.1];
        assert_eq!(asked(Ok(()), &executions).published_s(), Reading::Value(20.0 / 8.0));
        assert_eq!(mean_s(&executions), Reading::Value(2.91));
        assert!(matches!(asked(Ok(()), &executions[..2]).published_s(), Reading::Unavailable(_)));
    }

    #[test]
    fn what_is_not_right_has_no_figure_and_no_total() {
        let wrong = Err(Absence::Wrong.with_reason("pairs: expected 360, got 342"));
        let all = [asked(Ok(()), &[1.0]), asked(wrong, &[1.0])];
        let readings: Vec<Reading> =
            all.iter().map(|one| only_if_right(&one.check, mean_s(&one.executions_s))).collect();
        let Reading::Unavailable(why) = total_reading(all.iter().map(|one| one.query.number()), &readings) else {
            panic!("a total of half the queries")
        };
        assert_eq!(why.to_string(), "no total without S10, wrong answer: pairs: expected 360, got 342");
        assert_eq!(readings[1], Reading::Unavailable(Absence::Wrong.with_reason("pairs: expected 360, got 342")));
    }
}
