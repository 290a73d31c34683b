//! Loads that are written in Rust: what a client asks next follows from the answers in ways that pgbench's language
//! cannot say. They are programs like scripts, so that every lane carries them.

use std::fmt;

use model::{Mark, Measurement};
use serde::{Deserialize, Serialize};

use super::client::{Flow, Rows, StatementOp};
use super::options::ScriptOptions;
use super::program::{Program, ScriptStatement};
use super::scan::{Item, References, Sql, split_script};
use load::datum::Datum;
use load::error::Failure;
use load::lane::{ErrorClass, KeptRow, OpError, SyncPoint};
use load::run::ServerCounters;
use load::stream::{Next, RequestedWork, TransactionEnd};
use load::worker::LoadCounts;

/// What the clients of such a load have in common.
pub trait Native: fmt::Debug + Send + Sync {
    /// Names of the load's kinds of transactions.
    fn kind_names(&self) -> Vec<String>;

    /// Whether clients report by [`NativeClient::take_server_work`] what procedures did, so that all of it can be counted.
    fn reports_server_work(&self) -> bool {
        false
    }

    /// Facts of the load that its keys leave open, by name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Makes a client, whose number counts over all workers and hosts.
    fn new_client(&self, seed: u64, client: u32) -> Box<dyn NativeClient>;

    /// Fails unless a run fits what it has left at the server; returns notes.
    ///
    /// # Errors
    /// [`FailureKind::Verification`](load::error::FailureKind::Verification): the run is not to be trusted.
    fn check_run(&self, server: &dyn ServerCounters, counts: &LoadCounts) -> Result<Vec<Mark>, Failure>;

    /// Lists the queries by which runs are checked, for a server on another host.
    fn check_queries(&self) -> Vec<String>;

    /// Lists those of the checks' queries that count what runs add; the others' answers never change.
    fn growing_queries(&self) -> Vec<String>;

    /// Fails unless the tables hold what is known of them at a moment, however long the checks take.
    ///
    /// # Errors
    /// [`FailureKind::Verification`](load::error::FailureKind::Verification): the tables are not what they must be.
    fn inspect_tables(&self, server: &dyn ServerCounters, moment: Moment) -> Result<(), Failure>;

    /// Estimates how many seconds the checks take, which `etalon plan` says.
    fn check_cost(&self) -> Checking {
        Checking::default()
    }

    /// Makes the measurements that only this load has, and notes.
    fn extra_measurements(&self, counts: &LoadCounts) -> (Vec<Measurement>, Vec<Mark>);
}

/// Seconds that checks take, outside the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checking {
    /// Seconds of the checks after every run.
    pub each_run_s: f64,
    /// Seconds of the further checks before a case's first run, and after its first and its last.
    pub case_s: f64,
}

/// When tables are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moment {
    /// Nothing has run on them.
    Loaded,
    /// After a run.
    Ended,
}

/// A client's next step within its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The number of a statement, by the order in which they were given.
    Statement(usize, Rows, Flow),
    /// What was sent in a pipeline has ended.
    Together,
    /// The transaction has ended.
    End,
}

pub trait NativeClient: Send {
    /// Nanoseconds from the end of the last transaction to the intended beginning of transaction `index`.
    fn wait_ns(&mut self, _index: u64) -> u64 {
        0
    }

    /// Begins the transaction of this index; the same index draws the same values again.
    fn begin_transaction(&mut self, index: u64);

    /// Gives the client's next step in its transaction: a statement, or the end.
    fn next_step(&mut self) -> NextStep;

    /// Value of a field of the statement that is asked.
    fn field_value(&self, field: usize) -> &Datum;

    /// Takes the rows of a statement that keeps them.
    ///
    /// # Errors
    /// The transaction cannot go on; by its class it is tried again.
    fn receive_rows(&mut self, results: &[KeptRow]) -> Result<(), OpError>;

    /// Takes what the last answer said that its statement did in the system besides its text: a procedure's own commits.
    fn server_work(&mut self) -> RequestedWork {
        RequestedWork::default()
    }

    /// Index into [`Native::kind_names`] of the current transaction's kind.
    fn current_kind(&self) -> usize;

    /// Adds the counts of the transaction that has just ended, in which `sent` was sent, to sums.
    fn add_tally(&self, end: TransactionEnd, sent: &[Sent], into: &mut Vec<u64>);
}

/// A statement that was sent in a transaction, as the program around the client saw it: it does not come from what the client
/// says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The number of the statement, by the order in which they were given.
    pub statement: usize,
    /// Rows that came back, of statements that keep them.
    pub rows: u64,
}

/// A client of a native load, with what a server counts of it.
pub struct NativeRun {
    client: Box<dyn NativeClient>,
    /// Whether an explicit transaction is open.
    explicit: bool,
    /// Whether rows are wanted.
    wants_rows: bool,
    work: RequestedWork,
    /// What the transaction under way has sent.
    sent: Vec<Sent>,
}

impl fmt::Debug for NativeRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NativeRun { client: _, explicit, wants_rows, work, sent } = self;
        let mut run = f.debug_struct("NativeRun");
        run.field("explicit", explicit).field("wants_rows", wants_rows).field("work", work).field("sent", sent);
        run.finish_non_exhaustive()
    }
}

impl NativeRun {
    /// Makes the run of a native client, with nothing under way.
    pub(super) fn new(client: Box<dyn NativeClient>) -> NativeRun {
        NativeRun { client, explicit: false, wants_rows: false, work: RequestedWork::default(), sent: Vec::new() }
    }

    /// Nanoseconds that the client waits before a transaction.
    pub(super) fn wait_ns(&mut self, index: u64) -> u64 {
        self.client.wait_ns(index)
    }

    /// Begins a transaction, and forgets what the one before has sent.
    pub(super) fn begin_transaction(&mut self, index: u64) {
        (self.explicit, self.wants_rows, self.work) = (false, false, RequestedWork::default());
        self.sent.clear();
        self.client.begin_transaction(index);
    }

    /// Fills `op` with the client's next statement, or says what it does instead.
    pub(super) fn next(&mut self, statements: &[ScriptStatement], op: &mut StatementOp) -> Next {
        let (number, rows, flow) = match self.client.next_step() {
            NextStep::Statement(number, rows, flow) => (number, rows, flow),
            NextStep::Together => return Next::Sync(SyncPoint::End),
            NextStep::End => return Next::End,
        };
        let statement = &statements[number];
        (op.statement, op.rows, op.flow) = (number, rows, flow);
        self.wants_rows = rows.are_kept();
        self.sent.push(Sent { statement: number, rows: 0 });
        let after = statement.after[usize::from(self.explicit)];
        self.explicit = after.explicit;
        self.work += after.asked;
        op.parameters.resize(statement.parameters.len(), Datum::Null);
        for (parameter, field) in op.parameters.iter_mut().zip(&statement.parameters) {
            parameter.clone_from(self.client.field_value(*field));
        }
        Next::Op
    }

    /// Gives the rows of a statement to the client, if it asked for them, and counts the work of its procedure.
    pub(super) fn receive_rows(&mut self, results: &[KeptRow]) -> Result<(), OpError> {
        if std::mem::take(&mut self.wants_rows) {
            if let Some(sent) = self.sent.last_mut() {
                sent.rows = results.iter().map(|result| result.rows).sum();
            }
            self.client.receive_rows(results)?;
            self.work += self.client.server_work();
        }
        Ok(())
    }

    /// Index of the current transaction's kind.
    pub(super) fn current_kind(&self) -> usize {
        self.client.current_kind()
    }

    /// What the current transaction has asked of the server.
    pub(super) fn requested_work(&self) -> RequestedWork {
        self.work
    }

    /// Makes the error of a client that failed; what failed it has said when it received rows.
    pub(super) fn make_failure(&mut self) -> OpError {
        OpError { class: ErrorClass::Script, message: "the load failed".to_owned() }
    }

    /// Adds the counts of the transaction that has just ended to sums.
    pub(super) fn add_tally(&self, end: TransactionEnd, into: &mut Vec<u64>) {
        self.client.add_tally(end, &self.sent, into);
    }
}

impl Program {
    /// Compiles a native load's statements, whose `texts` refer to `fields` as `:name`, to a program.
    ///
    /// `texts` refer to `fields` as `:name`.
    ///
    /// # Errors
    /// The text that is no single statement, or refers to another field.
    pub fn from_native(
        native: std::sync::Arc<dyn Native>,
        texts: &[String],
        fields: &[String],
        options: &ScriptOptions,
    ) -> Result<Program, String> {
        let mut program = Program::empty(options);
        program.kinds = native.kind_names();
        program.native = Some(native);
        for text in texts {
            let items =
                split_script(text, References::OutsideQuotes).map_err(|(_, cause)| wrong_statement(&cause, text))?;
            let [Item::Sql(Sql { pieces, references, heads, joints, .. })] = items.as_slice() else {
                return Err(wrong_statement("this is no single statement", text));
            };
            let parameters =
                references.iter().map(|(name, _)| fields.iter().position(|field| field == name)).collect::<Option<_>>();
            let parameters = parameters.ok_or_else(|| wrong_statement("it refers to an unknown field", text))?;
            let (pieces, heads, joints) = (pieces.clone(), heads.clone(), joints.clone());
            let statement = ScriptStatement { pieces, parameters, heads, joints, ..ScriptStatement::default() };
            program.statements.push(statement.with_effects());
        }
        Ok(program)
    }
}

/// Words for a statement that cannot be compiled, with its text.
fn wrong_statement(cause: &str, text: &str) -> String {
    format!("{cause}: `{text}`")
}
