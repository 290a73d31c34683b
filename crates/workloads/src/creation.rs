//! One table filled by one statement in the server, timed by the published comparison of PostgreSQL on Linux and
//! Windows (Guazzo, 2016).

use model::{Direction, Measurement, Point, Reading, Role, WorkloadSpec};

use crate::dataset::Dataset;
use crate::session::{Session, SessionKind};
use crate::step::{Spent, StepContext, StepOutcome, Stepped, Stopwatch};
use crate::workload::{Action, Grants, Procedure, Task, Workload};
use load::datum::Datum;
use load::error::{Failure, FailureKind};

/// The size of a row with its index entry.
const ROW_BYTES: u64 = 60;
const MOST_DIGITS: i64 = 7;

model::keys! {
    struct Keys {
        /// Different values of `thread_id`, on which the index is
        thread_count: i64 = int(1..=10).or(10),
        /// Each thread has 10 to this power rows
        digits: u32 = int(1..=MOST_DIGITS).or(5),
    }
}

pub struct TableCreation;

impl Workload for TableCreation {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "table-creation",
            family: "transactions",
            about: "An indexed table of a million rows, filled by one statement inside the server",
            rate_unit: "rows/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Makes the step that fills the table as the plan's point says.
    fn make_task(&self, point: &Point, _grants: &Grants) -> Result<Task, Failure> {
        let Keys { thread_count, digits } = Keys::read(point)?;
        let table = TableA { threads: thread_count, digits };
        let name = format!("table_a of {} rows, made by the server", table.row_count());
        let size_bytes = table.row_count() as u64 * ROW_BYTES;
        let dataset = Dataset { name, size_bytes, later: vec!["table_a".to_owned()], ..Dataset::default() };
        Ok(Task { dataset, action: Action::Step(Box::new(table)) })
    }
}

/// `threads` times all numbers from 1 to 10 to the power of `digits`.
struct TableA {
    threads: i64,
    digits: u32,
}

impl TableA {
    /// Number of values that each thread has: 10 to the power of `digits`.
    fn value_count(&self) -> i64 {
        10_i64.pow(self.digits)
    }

    /// Number of rows of the whole table.
    fn row_count(&self) -> i64 {
        self.threads * self.value_count()
    }

    /// SQL that fills the table in one statement.
    ///
    /// Joined digits, not PostgreSQL's `generate_series`, are equal work on every engine.
    fn insert_sql(&self) -> String {
        let places: Vec<String> = (0..self.digits).map(|place| format!("{} * d{place}.n", 10_i64.pow(place))).collect();
        let digits: Vec<String> = (0..self.digits).map(|place| format!("{} d{place}", numbers_sql(0, 9))).collect();
        format!(
            "INSERT INTO table_a (thread_id, a_value) SELECT t.n, 1 + {} FROM {} t CROSS JOIN {}",
            places.join(" + "),
            numbers_sql(1, self.threads),
            digits.join(" CROSS JOIN ")
        )
    }

    /// Fails unless the table's row count and sums are those of all rows.
    fn check_rows(&self, session: &mut dyn Session) -> Result<(), Failure> {
        let (values, rows) = (self.value_count(), self.row_count());
        let expected = [rows, self.threads * values * (values + 1) / 2, values * self.threads * (self.threads + 1) / 2];
        let query =
            format!("SELECT count(*), {}, {} FROM table_a", exact_sum_sql("a_value"), exact_sum_sql("thread_id"));
        let found = session.query(&query)?;
        let found: Vec<Option<f64>> = found.into_iter().flatten().map(|datum| number_of(&datum)).collect();
        if found == expected.map(|number| Some(number as f64)) {
            return Ok(());
        }
        let cause = format!("its row count and sums should be {expected:?}, and are {found:?}");
        Err(Failure::new(FailureKind::Verification, "check the table that was made", cause))
    }
}

/// SQL for a column's sum without overflow.
fn exact_sum_sql(column: &str) -> String {
    format!("sum(CAST({column} AS DECIMAL(20, 0)))")
}

/// SQL for a subquery of the numbers from `from` to `to`, as column `n`.
fn numbers_sql(from: i64, to: i64) -> String {
    let selects: Vec<String> = (from..=to).map(|n| format!("SELECT {n} AS n")).collect();
    format!("({})", selects.join(" UNION ALL "))
}

/// Reads a value as a number; some servers send sums as text.
fn number_of(datum: &Datum) -> Option<f64> {
    match datum {
        Datum::Int(number) => Some(*number as f64),
        Datum::Double(number) => Some(*number),
        Datum::Text(text) => text.parse().ok(),
        Datum::Null => None,
    }
}

impl Procedure for TableA {
    /// Creates the table and its index, times the statement that fills it, and checks the rows.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        let system = context.system;
        let mut session = system.connect_session(SessionKind::Plain)?;
        session.execute("CREATE TABLE table_a (thread_id INTEGER, a_value INTEGER)")?;
        session.execute("CREATE INDEX table_a_thread_id_idx ON table_a (thread_id)")?;
        context.report_progress("filling the table", 0, 1);
        let statement = self.insert_sql();
        let watch = Stopwatch::start(system);
        session.execute(&statement)?;
        let spent = watch.spent_since_start(system);
        self.check_rows(&mut *session)?;
        Ok(Stepped::Done(step_outcome(spent, self.row_count())))
    }
}

/// Makes the step's outcome: time, rows a second and CPU.
fn step_outcome(spent: Spent, rows: i64) -> StepOutcome {
    let Spent { elapsed_s, cpu_s } = spent;
    let rate = Reading::Value(rows as f64 / elapsed_s);
    StepOutcome {
        elapsed_s,
        measurements: vec![
            Measurement::new("elapsed", "s", Direction::Lower, Role::Primary, Reading::Value(elapsed_s)),
            Measurement::new("rows_rate", "rows/s", Direction::Higher, Role::Diagnostic, rate),
            Measurement::new("cpu", "s", Direction::Lower, Role::Secondary, cpu_s),
        ],
        ..StepOutcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_is_the_same_for_every_engine() {
        let table = TableA { threads: 2, digits: 2 };
        assert_eq!((table.value_count(), table.row_count()), (100, 200));
        let text = table.insert_sql();
        assert!(
            text.starts_with("INSERT INTO table_a (thread_id, a_value) SELECT t.n, 1 + 1 * d0.n + 10 * d1.n FROM (")
        );
        assert_eq!(text.matches("CROSS JOIN").count(), 2);
    }
}
