//! The procedure: every query once for its answer, then as often as fits into its share of the run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::metric::{ALL_QUERIES, ANSWER, CACHED, MEAN_OF_QUERIES};
use model::{Absence, Caches, Length, Mark, MarkKind, Measurement, NoValue, QueryPlan, Reading, Role, Schedule};

use super::answer::{Answer, FirstAnswers};
use super::cache;
use super::parameters::Parameters;
use super::source::{Query, QueryFile, SHORTEST_TIMEOUT, Statement};
use crate::dataset::{Dialect, Tables};
use crate::query_run::{
    AnswerCheck, QueryText, TimeLimit, TimedQuery, absence_of_failure, count_measurement, mean_s,
    milliseconds_measurement, only_if_right, shuffled_order, total_reading,
};
use crate::session::{Session, SessionKind};
use crate::step::{StepContext, StepOutcome, Stepped, Stopwatch};
use crate::workload::Procedure;
use load::error::Failure;

/// Executions of a query in a run; more say nothing new of it.
const MOST_EXECUTIONS: usize = 10_000;

/// Why there is no plan of an engine whose plans étalon does not read.
const NO_PLANS: &str = "étalon reads no plans of this engine";

pub struct Asking {
    /// The files that are asked, or the name of those that étalon brings.
    pub files: String,
    pub queries: Vec<Query>,
    pub clients: usize,
    /// `None`: answers are not compared.
    pub first_answers: Option<Arc<FirstAnswers>>,
    /// Whose tables are asked.
    pub tables: Tables,
}

struct Asked<'a> {
    query: &'a Query,
    check: AnswerCheck,
    answer: Option<Answer>,
    /// How the answer differs from the first one of the experiment.
    difference: Option<String>,
    /// The plan with the first row of parameters; `None` if no text of it is for the engine.
    plan: Option<Result<String, String>>,
    /// Hashes of this run's answers by the row of parameters, but for the first row.
    digests: BTreeMap<usize, f64>,
    /// Seconds of each execution with warm caches.
    executions_s: Vec<f64>,
    /// Seconds to the first row of those that have one.
    first_rows_s: Vec<f64>,
    cpu_s: Reading,
    /// A cache of results answered in the engine's place.
    is_cached: bool,
}

impl<'a> Asked<'a> {
    fn new(query: &'a Query) -> Asked<'a> {
        Asked {
            query,
            check: Ok(()),
            answer: None,
            difference: None,
            plan: None,
            digests: BTreeMap::new(),
            executions_s: Vec::new(),
            first_rows_s: Vec::new(),
            cpu_s: Reading::unavailable("it was not run"),
            is_cached: false,
        }
    }

    /// Keeps the executions of whole passes through the rows of parameters: the means of sides that reached different rows are not
    /// those of one question.
    fn keep_whole_passes(&mut self, rows: usize) {
        let done = self.executions_s.len();
        let whole = done - done % rows;
        if whole == 0 && self.check.is_ok() {
            let reason = format!(
                "its part of the run reached {done} of the {rows} rows of its parameters: give it longer runs, or fewer rows"
            );
            self.check = Err(Absence::Unavailable.with_reason(reason));
            return;
        }
        if self.first_rows_s.len() == done {
            self.first_rows_s.truncate(whole);
        }
        self.executions_s.truncate(whole);
    }

    /// Marks the answer as wrong if it is not what the query's file expects.
    fn expect_answer(&mut self, file: &QueryFile, answer: &Result<Answer, NoValue>) {
        let Ok(answer) = answer else { return };
        let found = answer.row_count();
        if let Some(rows) = file.expected_rows.filter(|rows| *rows != found) {
            self.check = Err(Absence::Wrong.with_reason(format!("{found} rows and not {rows}")));
        } else if file.expected_digest.is_some_and(|digest| digest as f64 != answer.digest()) {
            let reason = format!("{found} rows, as many as are known, of another content");
            self.check = Err(Absence::Wrong.with_reason(reason));
        }
    }
}

impl Procedure for Asking {
    /// Asks all queries in a random order, each for its answer and then as often as its share of the run allows.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        let mut sessions = self.open_sessions(context)?;
        let mut asked: Vec<Option<Asked<'_>>> = self.queries.iter().map(|_| None).collect();
        for (done, index) in shuffled_order(self.queries.len(), context.seed).into_iter().enumerate() {
            let query = &self.queries[index];
            context.report_progress(&query.name, done, self.queries.len());
            match self.ask_and_time(query, context, &mut sessions)? {
                Some(one) => asked[index] = Some(one),
                None => return Ok(Stepped::Interrupted),
            }
        }
        let asked: Vec<Asked<'_>> = asked.into_iter().flatten().collect();
        Ok(Stepped::Done(self.outcome(&asked)))
    }

    /// Number of connections: one for each client.
    fn connections(&self) -> u64 {
        self.clients as u64
    }

    /// True: the run lasts as long as the schedule says.
    fn lasts_as_scheduled(&self) -> bool {
        true
    }

    fn empties_caches(&self) -> bool {
        true
    }

    fn session_kind(&self) -> SessionKind {
        match self.tables {
            Tables::Own => SessionKind::Plain,
            Tables::None => SessionKind::OnTablesOfOthers,
        }
    }

    fn has_only_own_sessions(&self) -> bool {
        true
    }

    fn tables(&self) -> Tables {
        self.tables
    }
}

impl Asking {
    fn open_sessions(&self, context: &StepContext<'_>) -> Result<Vec<Box<dyn Session>>, Failure> {
        (0..self.clients).map(|_| context.system.connect_session(self.session_kind())).collect()
    }

    /// Empties the caches of the server and of the operating system; the clients connect again.
    fn empty_caches(&self, context: &StepContext<'_>, sessions: &mut Vec<Box<dyn Session>>) -> Result<(), Failure> {
        sessions.clear();
        context.system.empty_caches()?;
        *sessions = self.open_sessions(context)?;
        Ok(())
    }

    /// Asks a query for its answer, which warms the caches too, then times it if it has one. `None` if the user interrupted.
    fn ask_and_time<'a>(
        &self,
        query: &'a Query,
        context: &StepContext<'_>,
        sessions: &mut Vec<Box<dyn Session>>,
    ) -> Result<Option<Asked<'a>>, Failure> {
        let dialect = context.system.dialect();
        let mut asked = Asked::new(query);
        let file = match query.for_engine(dialect) {
            Ok(file) => file,
            Err(reason) => {
                asked.check = Err(Absence::Unsupported.with_reason(reason));
                return Ok(Some(asked));
            }
        };
        let question = Question::new(file, dialect, self.first_answers.is_some())?;
        // The first row of parameters in every run, so that all runs have one answer in common.
        let is_cold = context.schedule.caches == Caches::Cold;
        let can_tell = !is_cold && cache::can_detect_cache(context.system);
        let wording = if can_tell { Wording::Reworded } else { Wording::AsWritten };
        let executed = question.execute_all(sessions, 0, wording)?;
        let reworded_s = executed.elapsed_s;
        asked.expect_answer(file, &executed.answer);
        self.take_answer(&mut asked, executed.answer);
        asked.plan = Some(question.read_plans(sessions)?);
        let hits_before = cache::read_cache_hits(&question, sessions)?;
        let share = Share::new(context.schedule, self.queries.len());
        let rows = shuffled_order(file.parameters.as_ref().map_or(1, Parameters::row_count), context.seed);
        let (watch, started) = (Stopwatch::start(context.system), Instant::now());
        loop {
            // What it takes to empty the caches is of the query's share, too.
            let measured_s: f64 = asked.executions_s.iter().sum();
            let spent_s = if is_cold { started.elapsed().as_secs_f64() } else { measured_s };
            if asked.check.is_err() || !share.has_room_after(asked.executions_s.len(), spent_s) {
                break;
            }
            if context.is_interrupted() {
                return Ok(None);
            }
            if is_cold {
                self.empty_caches(context, sessions)?;
            }
            let row = rows[asked.executions_s.len() % rows.len()];
            let executed = question.execute_all(sessions, row, Wording::AsWritten)?;
            asked.executions_s.push(executed.elapsed_s);
            asked.first_rows_s.extend(executed.first_row_s);
            asked.expect_answer(file, &executed.answer);
            match (&file.parameters, executed.answer) {
                (Some(parameters), Ok(answer)) if row > 0 => {
                    let with = parameters.describe_row(row, dialect);
                    self.take_answer_of_row(&mut asked, answer, (row, &with));
                }
                (_, answer) => self.take_answer(&mut asked, answer),
            }
        }
        asked.cpu_s = match watch.spent_since_start(context.system).cpu_s {
            _ if is_cold => Reading::unavailable("emptying the caches takes time of the processors, too"),
            Reading::Value(all) => Reading::Value(all / asked.executions_s.len().max(1) as f64),
            unavailable => unavailable,
        };
        if can_tell && asked.check.is_ok() {
            let row = rows[asked.executions_s.len().saturating_sub(1) % rows.len()];
            let seen = cache::Seen { reworded_s, executions_s: &asked.executions_s, hits_before, row };
            asked.is_cached = seen.is_cached(&question, sessions)?;
        }
        asked.keep_whole_passes(rows.len());
        Ok(Some(asked))
    }

    /// Compares the answer to a further row of parameters with those to the same row, and notes a difference.
    fn take_answer_of_row(&self, asked: &mut Asked<'_>, answer: Answer, (row, with): (usize, &str)) {
        let Some(first) = &self.first_answers else { return };
        let digest = answer.digest();
        if asked.digests.insert(row, digest).is_some_and(|before| before != digest) {
            let reason = format!("it changes from one execution to the next, with {with}");
            asked.check = Err(Absence::Wrong.with_reason(reason));
        } else if let Err(difference) = first.compare_with_first(&self.files, &asked.query.name, row, &answer) {
            asked.difference.get_or_insert(format!("with {with}: {difference}"));
        }
    }

    /// Compares an answer with the one before it in this run, or with the first of the experiment, and notes a difference.
    ///
    /// Either system may have given that one: which of them is right is not known here, so both are timed.
    fn take_answer(&self, asked: &mut Asked<'_>, answer: Result<Answer, NoValue>) {
        match (answer, &asked.answer) {
            (Err(missing), _) => asked.check = Err(missing),
            (Ok(answer), _) if self.first_answers.is_none() => asked.answer = Some(answer),
            (Ok(answer), Some(before)) => {
                if let Some(difference) = answer.difference_from(before) {
                    let reason = format!("it changes from one execution to the next: {difference}");
                    asked.check = Err(Absence::Wrong.with_reason(reason));
                }
            }
            (Ok(answer), None) => {
                if let (Ok(()), Some(first)) = (&asked.check, &self.first_answers) {
                    asked.difference = first.compare_with_first(&self.files, &asked.query.name, 0, &answer).err();
                }
                asked.answer = Some(answer);
            }
        }
    }
}

/// The text in which a query is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    AsWritten,
    /// A comment follows that it has never had.
    Reworded,
}

/// A query in an engine's words.
pub struct Question<'a> {
    file: &'a QueryFile,
    statements: Vec<Statement>,
    pub dialect: &'a dyn Dialect,
    /// Whether all clients have to get one answer.
    is_compared: bool,
}

/// One execution by all clients.
pub struct Executed {
    pub elapsed_s: f64,
    /// To the first row of the first statement that gives one.
    pub first_row_s: Option<f64>,
    pub answer: Result<Answer, NoValue>,
}

impl<'a> Question<'a> {
    /// Prepares a query's file for an engine: its statements in the engine's words.
    fn new(file: &'a QueryFile, dialect: &'a dyn Dialect, is_compared: bool) -> Result<Question<'a>, Failure> {
        Ok(Question { file, statements: file.statements(dialect)?, dialect, is_compared })
    }

    /// Executes all statements of the query one after the other, by all clients; returns time and answer.
    pub fn execute_all(
        &self,
        sessions: &mut [Box<dyn Session>],
        row: usize,
        wording: Wording,
    ) -> Result<Executed, Failure> {
        let mut all = Executed { elapsed_s: 0.0, first_row_s: None, answer: Ok(Answer::empty()) };
        let mut before: Option<Answer> = None;
        for statement in &self.statements {
            let sql = self.fill_statement(&statement.sql, row);
            let sql = if wording == Wording::Reworded { Cow::Owned(cache::make_wording_unique(&sql)) } else { sql };
            let spent = Duration::from_secs_f64(all.elapsed_s);
            let limit = self
                .file
                .timeout
                .map(|whole| TimeLimit { whole, left: whole.saturating_sub(spent).max(SHORTEST_TIMEOUT) });
            let around = self.dialect.read_only_wrapper();
            let run = QueryText { sql: &sql, around, limit }.run_at_once(sessions);
            all.first_row_s = all.first_row_s.or(run.first_row_s.map(|first_s| all.elapsed_s + first_s));
            all.elapsed_s += run.elapsed_s;
            let answer = self.common_answer(run, statement.is_ordered)?;
            match (&mut before, answer) {
                (Some(answers), Ok(answer)) => answers.append_answer(answer),
                (None, Ok(answer)) => before = Some(answer),
                (_, Err(missing)) => {
                    all.answer = Err(missing);
                    return Ok(all);
                }
            }
        }
        all.answer = Ok(before.unwrap_or_else(Answer::empty));
        Ok(all)
    }

    /// Reads the plans of all statements with the first row of parameters, or why one cannot be read.
    fn read_plans(&self, sessions: &mut [Box<dyn Session>]) -> Result<Result<String, String>, Failure> {
        let Some(explain) = self.dialect.explain_form() else { return Ok(Err(NO_PLANS.to_owned())) };
        let mut plans = Vec::with_capacity(self.statements.len());
        for statement in &self.statements {
            let sql = format!("{}{}", explain.prefix, self.fill_statement(&statement.sql, 0));
            let limit = self.file.timeout.map(|whole| TimeLimit { whole, left: whole });
            let asked = QueryText { sql: &sql, around: self.dialect.read_only_wrapper(), limit }
                .run_at_once(&mut sessions[..1]);
            for rows in asked.answers {
                match rows {
                    Ok(found) => plans.push((explain.plan)(&found.to_data())),
                    Err(failure) => return Ok(Err(absence_of_failure(failure)?.reason)),
                }
            }
        }
        Ok(Ok(hide_texts(&plans.join("\n\n"))))
    }

    /// Fills a row of parameters into a statement, if the query has some.
    fn fill_statement<'s>(&self, sql: &'s str, row: usize) -> Cow<'s, str> {
        let parameters = self.file.parameters.as_ref();
        parameters.map_or(Cow::Borrowed(sql), |known| Cow::Owned(known.fill_in(sql, row, self.dialect)))
    }

    /// Takes the answer that all clients got; an answer is wrong if two clients got different ones.
    fn common_answer(&self, run: TimedQuery, is_ordered: bool) -> Result<Result<Answer, NoValue>, Failure> {
        let mut found: Option<Answer> = None;
        for answer in run.answers {
            let rows = match answer {
                Ok(rows) => rows,
                Err(failure) => return Ok(Err(absence_of_failure(failure)?)),
            };
            let answer = Answer::from_rows(&rows, is_ordered);
            if let Some(difference) = found.as_ref().and_then(|first| answer.difference_from(first))
                && self.is_compared
            {
                let reason = format!("two clients got different answers at the same time: {difference}");
                return Ok(Err(Absence::Wrong.with_reason(reason)));
            }
            found = Some(answer);
        }
        Ok(Ok(found.unwrap_or_else(Answer::empty)))
    }
}

/// Replaces each quoted text in a plan by `'…'`: what a user's rows hold is for no report.
fn hide_texts(plan: &str) -> String {
    let parts = plan.split('\'').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "'…'" }).collect()
}

/// Makes the measurement of an answer's digest, or of how the answer differs from the experiment's first.
fn answer_measurement(query: &str, answer: &Answer, difference: Option<&str>) -> Measurement {
    let hash = count_measurement(&format!("{ANSWER}/{query}"), answer.digest());
    match difference {
        Some(difference) => {
            Measurement { reading: Reading::Unavailable(Absence::Wrong.with_reason(difference)), ..hash }
        }
        None => hash,
    }
}

/// Geometric mean of all queries' readings; unavailable if any is.
fn geometric_mean<'a>(names: impl Iterator<Item = &'a str>, readings: &[Reading]) -> Reading {
    let logarithms: Vec<Reading> = readings
        .iter()
        .map(|reading| match reading {
            Reading::Value(value) => Reading::Value(value.ln()),
            missing => missing.clone(),
        })
        .collect();
    match total_reading(names, &logarithms) {
        Reading::Value(sum) => Reading::Value((sum / readings.len() as f64).exp()),
        missing => missing,
    }
}

/// What a query has of a run.
enum Share {
    Time(Duration),
    Executions(usize),
}

impl Share {
    /// Computes a query's share of a run: of its time, or of its number of executions.
    fn new(schedule: &Schedule, queries: usize) -> Share {
        match schedule.length {
            Length::Duration(length) => Share::Time(length / u32::try_from(queries.max(1)).unwrap_or(u32::MAX)),
            Length::Transactions(count) => Share::Executions(usize::try_from(count).unwrap_or(MOST_EXECUTIONS)),
        }
    }

    /// Tells whether another execution fits, if it takes as long as those before; the first always does.
    fn has_room_after(&self, done: usize, spent_s: f64) -> bool {
        let fits = match self {
            Share::Time(length) => spent_s + spent_s / done.max(1) as f64 <= length.as_secs_f64(),
            Share::Executions(count) => done < *count,
        };
        done == 0 || (fits && done < MOST_EXECUTIONS)
    }
}

impl Asking {
    /// Makes the step's outcome with the measurements of all queries.
    fn outcome(&self, asked: &[Asked<'_>]) -> StepOutcome {
        let mut outcome = StepOutcome::default();
        let readings: Vec<Reading> =
            asked.iter().map(|one| only_if_right(&one.check, mean_s(&one.executions_s))).collect();
        if asked.len() > 1 {
            outcome.measurements.push(milliseconds_measurement(
                &format!("elapsed/{ALL_QUERIES}"),
                Role::Primary,
                total_reading(asked.iter().map(|one| one.query.name.as_str()), &readings),
            ));
            outcome.measurements.push(milliseconds_measurement(
                &format!("elapsed/{MEAN_OF_QUERIES}"),
                Role::Primary,
                geometric_mean(asked.iter().map(|one| one.query.name.as_str()), &readings),
            ));
        }
        for (one, reading) in asked.iter().zip(readings) {
            outcome.measurements.push(milliseconds_measurement(
                &format!("elapsed/{}", one.query.name),
                Role::Primary,
                reading,
            ));
        }
        for one in asked {
            let name = &one.query.name;
            if !one.first_rows_s.is_empty() {
                let first_row = only_if_right(&one.check, mean_s(&one.first_rows_s));
                outcome.measurements.push(milliseconds_measurement(
                    &format!("first_row/{name}"),
                    Role::Secondary,
                    first_row,
                ));
            }
            let cpu = only_if_right(&one.check, one.cpu_s.clone());
            outcome.measurements.push(milliseconds_measurement(&format!("cpu/{name}"), Role::Secondary, cpu));
            outcome.measurements.push(count_measurement(&format!("executions/{name}"), one.executions_s.len() as f64));
            if let Some(answer) = &one.answer {
                outcome.measurements.push(count_measurement(&format!("rows/{name}"), answer.row_count() as f64));
                if self.first_answers.is_some() {
                    outcome.measurements.push(answer_measurement(name, answer, one.difference.as_deref()));
                }
            }
        }
        let cached: Vec<&str> = asked.iter().filter(|one| one.is_cached).map(|one| one.query.name.as_str()).collect();
        outcome.measurements.extend(cached.iter().map(|name| count_measurement(&format!("{CACHED}/{name}"), 1.0)));
        if !cached.is_empty() {
            let detail = format!("the engine did not answer {}: a cache of results did", cached.join(", "));
            outcome.marks.push(Mark::new(MarkKind::CachedAnswers, detail));
        }
        outcome.query_plans = asked
            .iter()
            .filter_map(|one| Some(QueryPlan { query: one.query.name.clone(), text: one.plan.clone()? }))
            .collect();
        outcome.elapsed_s = asked.iter().flat_map(|one| &one.executions_s).sum();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::{AsWritten, KnownAnswer};
    use super::*;
    use crate::rows::{Rows, Value};

    /// The ordered answer with these numbers as its rows.
    fn answer_of(numbers: &[i64]) -> Answer {
        let mut rows = Rows::default();
        numbers.iter().for_each(|number| rows.push_row([Value::Int(*number)].into_iter()));
        Answer::from_rows(&rows, true)
    }

    #[test]
    fn an_answer_that_is_not_the_known_one_is_wrong() {
        let known = KnownAnswer { rows: 3, digest: answer_of(&[1, 2, 3]).digest() as u64 };
        let query = Query::from_own_text("q", "SELECT a FROM t ORDER BY a".to_owned(), Some(known)).unwrap();
        let file = query.for_engine(&AsWritten).unwrap();
        let check_of = |numbers: &[i64]| {
            let mut asked = Asked::new(&query);
            asked.expect_answer(file, &Ok(answer_of(numbers)));
            asked.check.map_err(|wrong| wrong.reason)
        };
        assert_eq!(check_of(&[1, 2, 3]), Ok(()));
        assert_eq!(check_of(&[1, 2]).unwrap_err(), "2 rows and not 3");
        assert_eq!(check_of(&[1, 2, 4]).unwrap_err(), "3 rows, as many as are known, of another content");
    }
}
