//! The client that walks through a program.
//!
//! Elsewhere in étalon transaction `index` of `client` draws the same values whatever came before. In pgbench a
//! client's one generator runs on from transaction to transaction, and only a retry rewinds it to the transaction's
//! beginning. Scripts follow pgbench, so the same seed gives pgbench's values: a begin with the number of the
//! transaction under way restores the generator, any other begin runs on. Variables keep their values over
//! transactions and retries. Shards need no coordination, since a client's seed depends only on the seed and its
//! number.

use std::ops::Range;

use super::dictionary::ClientIndex;
use super::expression::{ScriptExpression, ScriptVariables};
use super::program::{Automatic, DefaultSeedSlot, Keep, Program, Protocol, ScriptCommand, ShellWord, Step};
use super::random::{DefaultSeed, Generator, Seeds};
use super::shell;
use super::slots::VariableSlot;
use super::tokens::{continues_name, is_name};
use super::turns::{Draw, LiteralPart, TextForm};
use super::value::{Fault, ScriptValue};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, OpError, SyncPoint};
use load::stream::{Next, RequestedWork};

/// The error of a script that ends in an open transaction.
pub const OPEN_TRANSACTION: &str = "the script ends in an open transaction: `COMMIT` or `ROLLBACK` is missing";

#[derive(Clone, Debug, Default)]
pub struct StatementOp {
    /// Index into [`Program::statements`].
    pub statement: usize,
    /// Empty under [`Protocol::Simple`].
    pub parameters: Vec<Datum>,
    /// Complete text under [`Protocol::Simple`]; empty otherwise.
    pub text: String,
    pub rows: Rows,
    pub flow: Flow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// Count them at most.
    #[default]
    Discard,
    /// Keep the last row of every result until the next operation, for
    /// [`Lane::kept_rows`](load::lane::Lane::kept_rows).
    Keep,
    /// Keep all of them, one behind the other.
    KeepAll,
}

impl Rows {
    /// Whether the rows of an answer are kept at all.
    pub fn are_kept(self) -> bool {
        self != Rows::Discard
    }

    /// Counts a row of a result, and drops the one before unless all are kept.
    pub fn begin_row(self, result: &mut KeptRow) {
        result.rows += 1;
        if self != Rows::KeepAll {
            result.values.clear();
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// The next one comes when this one has ended.
    #[default]
    Wait,
    /// Inside a pipeline: a lane may answer at once and report at the next [`SyncPoint::End`], or execute it like any
    /// other.
    Pipelined,
}

#[derive(Clone, Debug)]
pub struct ScriptClient {
    random: Generator,
    /// Generator when the current transaction began.
    random_at_begin: Generator,
    choice: Generator,
    /// The number of the transaction under way.
    index: Option<u64>,
    script: usize,
    step: usize,
    flow: Flow,
    /// Under `pipeline`: runs of the script left in this pipeline.
    left: u32,
    /// Whether an explicit transaction is open.
    explicit: bool,
    /// What the current transaction has asked of the server.
    work: RequestedWork,
    /// Under `pipeline`: whether what was sent must be committed separately.
    sync_due: bool,
    slots: Vec<VariableSlot>,
    stack: Vec<ScriptValue>,
    /// The statement whose rows are wanted.
    asked: Option<usize>,
    failure: Option<OpError>,
    place: ClientIndex,
    /// Draws from each dictionary.
    drawn: Vec<u64>,
    /// Draws from each dictionary when the current transaction began.
    drawn_at_begin: Vec<u64>,
    pause_us: u64,
}

struct Variables<'a> {
    program: &'a Program,
    slots: &'a [VariableSlot],
    script: usize,
    number: usize,
}

impl ScriptVariables for Variables<'_> {
    /// Reads the variable in a slot; fails if it has no value.
    fn load(&self, slot: usize) -> Result<ScriptValue, Fault> {
        match &self.slots[slot] {
            VariableSlot::Value(value) => Ok(*value),
            other => other.script_value(&self.program.names[slot]),
        }
    }

    /// Shows a value that a script debugs, with its script and command.
    fn debug(&self, value: ScriptValue) {
        if let Some(show) = self.program.debug {
            let kind = value.type_name();
            let text = if value == ScriptValue::Null { String::new() } else { format!(" {value}") };
            show(&format!("debug(script={},command={}): {kind}{text}", self.script, self.number));
        }
    }
}

enum StepResult {
    Continue,
    Yield(Next),
}

impl Program {
    /// Evaluates a step's expression with the client's variables.
    fn evaluate(
        &self,
        client: &mut ScriptClient,
        step: &Step,
        expression: &ScriptExpression,
    ) -> Result<ScriptValue, OpError> {
        let scope = Variables { program: self, slots: &client.slots, script: client.script, number: step.number };
        let value = expression.evaluate(&scope, &mut client.random, &mut client.stack);
        value.map_err(|fault| script_error(step, fault))
    }

    /// Whether `:default_seed` is drawn, or defined by the user.
    fn drawn_default_seed(&self) -> DefaultSeed {
        match self.automatic.default_seed {
            DefaultSeedSlot::DefinedByUser => DefaultSeed::Defined,
            DefaultSeedSlot::Unread | DefaultSeedSlot::Slot(_) => DefaultSeed::Drawn,
        }
    }

    /// Makes the state of a client before its first transaction, with its seeds.
    fn new_client(&self, seed: u64, client: u32, seeds: Seeds) -> ScriptClient {
        let Automatic { client_id, random_seed, default_seed } = self.automatic;
        let mut slots = self.initial.clone();
        let mut set = |slot: Option<usize>, value: i64| {
            if let Some(slot) = slot {
                slots[slot] = VariableSlot::Value(ScriptValue::Int(value));
            }
        };
        set(client_id, i64::from(client));
        set(random_seed, seed as i64);
        if let DefaultSeedSlot::Slot(slot) = default_seed {
            set(Some(slot), seeds.default_seed);
        }
        ScriptClient {
            random: seeds.functions,
            random_at_begin: seeds.functions,
            choice: seeds.choice,
            index: None,
            script: 0,
            step: 0,
            flow: Flow::Wait,
            left: 0,
            explicit: false,
            work: RequestedWork::default(),
            sync_due: false,
            slots,
            stack: Vec::with_capacity(16),
            asked: None,
            failure: None,
            place: ClientIndex { client: u64::from(client), clients: u64::from(self.clients) },
            drawn: vec![0; self.dictionaries.len()],
            drawn_at_begin: vec![0; self.dictionaries.len()],
            pause_us: 0,
        }
    }

    /// Draws a script by its weight, and returns its number.
    fn choose_script(&self, random: &mut Generator) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        let total: u64 = self.scripts.iter().map(|script| u64::from(script.weight)).sum();
        let mut draw = random.up_to(total.saturating_sub(1));
        for (number, script) in self.scripts.iter().enumerate() {
            match draw.checked_sub(u64::from(script.weight)) {
                Some(rest) => draw = rest,
                None => return number,
            }
        }
        0
    }

    /// Runs a step of the script; fills `op` if it is a statement.
    fn run_step(&self, client: &mut ScriptClient, step: &Step, op: &mut StatementOp) -> Result<StepResult, OpError> {
        match &step.command {
            ScriptCommand::Set(slot, expression) => {
                let value = self.evaluate(client, step, expression)?;
                client.slots[*slot] = VariableSlot::Value(value);
            }
            ScriptCommand::Draw(draw) => self.draw_words(client, draw),
            ScriptCommand::JumpUnless(expression, target) => {
                if !self.evaluate(client, step, expression)?.is_true() {
                    client.step = *target;
                }
            }
            ScriptCommand::Jump(target) => client.step = *target,
            ScriptCommand::Execute(number) => {
                self.fill_op(client, step, *number, op)?;
                return Ok(StepResult::Yield(Next::Op));
            }
            ScriptCommand::SleepUs(time_us) => return Ok(StepResult::Yield(sleep_us(*time_us))),
            ScriptCommand::SleepFor { slot, unit_us } => {
                let number = leading_int(&client.slots[*slot])
                    .ok_or_else(|| script_error(step, format!("`:{}` is no time to sleep", self.names[*slot])))?;
                return Ok(StepResult::Yield(sleep_us(number.saturating_mul(*unit_us))));
            }
            ScriptCommand::Shell { into, words } => self.run_shell(client, step, *into, words)?,
            ScriptCommand::StartPipeline if self.protocol == Protocol::Simple => {
                return Err(script_error(step, "a pipeline cannot be used where statements travel as text"));
            }
            ScriptCommand::StartPipeline if client.flow == Flow::Pipelined => {
                return Err(script_error(step, "the pipeline has been started already"));
            }
            ScriptCommand::StartPipeline => client.flow = Flow::Pipelined,
            ScriptCommand::SyncPipeline | ScriptCommand::EndPipeline if client.flow == Flow::Wait => {
                return Err(script_error(step, "no pipeline has been started"));
            }
            ScriptCommand::SyncPipeline => return Ok(StepResult::Yield(Next::Sync(SyncPoint::Sync))),
            ScriptCommand::EndPipeline => {
                client.flow = Flow::Wait;
                return Ok(StepResult::Yield(Next::Sync(SyncPoint::End)));
            }
            ScriptCommand::End if client.flow == Flow::Pipelined && self.depth > 1 => {
                return self.repeat_script(client, step);
            }
            ScriptCommand::End if client.flow == Flow::Pipelined => {
                return Err(script_error(step, "the script ends with its pipeline open"));
            }
            ScriptCommand::End => return Ok(StepResult::Yield(Next::End)),
        }
        Ok(StepResult::Continue)
    }

    /// Goes on at the end of a script under `pipeline`: with another script, or with the end of the pipeline.
    fn repeat_script(&self, client: &mut ScriptClient, step: &Step) -> Result<StepResult, OpError> {
        if client.explicit {
            return Err(script_error(step, OPEN_TRANSACTION));
        }
        client.left = client.left.saturating_sub(1);
        if client.left > 0 {
            client.script = self.choose_script(&mut client.choice);
            client.step = self.scripts[client.script].start;
            return Ok(StepResult::Continue);
        }
        client.flow = Flow::Wait;
        // This step once more: then it is the end.
        client.step -= 1;
        Ok(StepResult::Yield(Next::Sync(SyncPoint::End)))
    }

    /// Fills an operation with a statement and the values of its parameters.
    fn fill_op(
        &self,
        client: &mut ScriptClient,
        step: &Step,
        number: usize,
        op: &mut StatementOp,
    ) -> Result<(), OpError> {
        let statement = &self.statements[number];
        op.statement = number;
        op.flow = client.flow;
        op.rows = Rows::Discard;
        if statement.keep != Keep::Nothing {
            if client.flow == Flow::Pipelined {
                return Err(script_error(step, "\\gset and \\aset are not allowed in a pipeline"));
            }
            op.rows = Rows::Keep;
            client.asked = Some(number);
        }
        let after = statement.after[usize::from(client.explicit)];
        client.explicit = after.explicit;
        client.work += after.asked;
        if self.depth > 1 {
            client.sync_due = after.wrote;
        }
        match self.protocol {
            Protocol::Prepared | Protocol::Extended => {
                op.parameters.resize(statement.parameters.len(), Datum::Null);
                for (parameter, slot) in op.parameters.iter_mut().zip(&statement.parameters) {
                    client.slots[*slot].write_to(parameter);
                }
            }
            Protocol::Simple => {
                op.text.clear();
                for (place, piece) in statement.pieces.iter().enumerate() {
                    if let Some(slot) = place.checked_sub(1).map(|before| statement.parameters[before]) {
                        client.slots[slot].append_to(&self.names[slot], &mut op.text);
                    }
                    op.text.push_str(piece);
                }
            }
        }
        Ok(())
    }

    /// Draws words into a text variable, reusing the slot's memory.
    fn draw_words(&self, client: &mut ScriptClient, draw: &Draw) {
        let mut text = match std::mem::take(&mut client.slots[draw.slot]) {
            VariableSlot::Text(text) => text,
            _ => String::new(),
        };
        text.clear();
        for part in &draw.parts {
            match part {
                LiteralPart::Text(own) => text.push_str(own),
                LiteralPart::Word(number) => {
                    let drawn = &mut client.drawn[*number];
                    self.dictionaries[*number].draw_word(&mut client.random, drawn, client.place, &mut text);
                }
            }
        }
        if let TextForm::Between(quote) = draw.form
            && text.contains(quote)
        {
            text = text.replace(quote, &format!("{quote}{quote}"));
        }
        client.slots[draw.slot] =
            if draw.form == TextForm::Bare { VariableSlot::from_text(&text) } else { VariableSlot::Text(text) };
    }

    /// Runs a shell command, and stores the whole number that it prints in a variable, if there is one.
    fn run_shell(
        &self,
        client: &mut ScriptClient,
        step: &Step,
        into: Option<usize>,
        words: &[ShellWord],
    ) -> Result<(), OpError> {
        let mut command = String::new();
        for word in words {
            if !command.is_empty() {
                command.push(' ');
            }
            match word {
                ShellWord::Text(text) => command.push_str(text),
                ShellWord::Slot(slot) if client.slots[*slot] == VariableSlot::Unset => {
                    return Err(script_error(step, format!("the variable `:{}` has no value", self.names[*slot])));
                }
                ShellWord::Slot(slot) => client.slots[*slot].append_to(&self.names[*slot], &mut command),
            }
        }
        match into {
            None => shell::run_shell(&command),
            Some(slot) => shell::run_shell_for_number(&command)
                .map(|n| client.slots[slot] = VariableSlot::Value(ScriptValue::Int(n))),
        }
        .map_err(|message| script_error(step, message))
    }

    /// Stores a row's values in the variables named after its columns, with a prefix.
    fn store_row(&self, client: &mut ScriptClient, step: &Step, prefix: &str, row: &KeptRow) -> Result<(), OpError> {
        for (column, value) in row.columns.iter().zip(&row.values) {
            let fits = if prefix.is_empty() { is_name(column) } else { column.chars().all(continues_name) };
            if !fits {
                return Err(script_error(step, format!("the column `{column}` cannot be the name of a variable")));
            }
            // A column that no script reads needs no place.
            if let Some(slot) = self.names.iter().position(|name| name.strip_prefix(prefix) == Some(column.as_str())) {
                client.slots[slot].set_datum(value);
            }
        }
        Ok(())
    }
}

/// Makes the error of a script's step, with its line.
fn script_error(step: &Step, message: impl std::fmt::Display) -> OpError {
    OpError { class: ErrorClass::Script, message: format!("line {}: {message}", step.line) }
}

/// Makes a pause of microseconds; none if the time is negative.
fn sleep_us(time_us: i64) -> Next {
    Next::Sleep(u64::try_from(time_us).unwrap_or_default().saturating_mul(1_000))
}

/// Reads a variable's leading whole number, as C's `atoi` finds it, of at least one digit; `None` without one.
fn leading_int(slot: &VariableSlot) -> Option<i64> {
    if let VariableSlot::Value(ScriptValue::Int(n)) = slot {
        return Some(*n);
    }
    let text = slot.to_string();
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    text[..sign + digits].parse().ok()
}

/// What a script's client does of [`load::stream::Stream`].
impl Program {
    /// Makes the client of this number in a run.
    pub(super) fn script_client(&self, seed: u64, client: u32) -> ScriptClient {
        self.new_client(seed, client, Seeds::new(seed, client, self.clients, self.drawn_default_seed()))
    }

    /// Makes the clients with these numbers in a run.
    pub(super) fn script_clients(&self, seed: u64, clients: Range<u32>) -> Vec<ScriptClient> {
        let seeds = Seeds::seeds_of_clients(seed, clients.clone(), self.clients, self.drawn_default_seed());
        clients.zip(seeds).map(|(client, seeds)| self.new_client(seed, client, seeds)).collect()
    }

    /// Begins a transaction: draws its script, or repeats it with the same values if `index` is under way.
    pub(super) fn begin_script(&self, client: &mut ScriptClient, index: u64) {
        if client.index == Some(index) {
            client.random = client.random_at_begin;
            client.drawn.copy_from_slice(&client.drawn_at_begin);
        } else {
            client.random_at_begin = client.random;
            client.drawn_at_begin.copy_from_slice(&client.drawn);
            client.index = Some(index);
            match self.turn_at(client.place.client as u32, index) {
                Some((turn, pause_us)) => (client.script, client.pause_us) = (turn.statement, pause_us),
                None => client.script = self.choose_script(&mut client.choice),
            }
        }
        client.step = self.scripts[client.script].start;
        client.flow = if self.depth > 1 { Flow::Pipelined } else { Flow::Wait };
        client.left = self.depth;
        client.explicit = false;
        client.work = RequestedWork::default();
        client.sync_due = false;
        client.asked = None;
    }

    /// Runs the client's script up to its next operation; fills `op` if it is a statement.
    pub(super) fn next_script_op(&self, client: &mut ScriptClient, op: &mut StatementOp) -> Next {
        if client.pause_us > 0 {
            return Next::Pause(std::mem::take(&mut client.pause_us).saturating_mul(1_000));
        }
        if std::mem::take(&mut client.sync_due) {
            return Next::Sync(SyncPoint::Sync);
        }
        while let Some(step) = self.steps.get(client.step) {
            client.step += 1;
            match self.run_step(client, step, op) {
                Ok(StepResult::Continue) => {}
                Ok(StepResult::Yield(next)) => return next,
                Err(error) => {
                    client.failure = Some(error);
                    return Next::Failed;
                }
            }
        }
        Next::End
    }

    /// Stores the rows of the statement that asked for them in variables; fails if `\gset` has not one row.
    pub(super) fn receive_in_script(&self, client: &mut ScriptClient, results: &[KeptRow]) -> Result<(), OpError> {
        let Some(number) = client.asked.take() else { return Ok(()) };
        let step = &self.steps[client.step.saturating_sub(1)];
        match &self.statements[number].keep {
            Keep::Nothing => {}
            Keep::Last(prefix) => match results.last() {
                Some(row) if row.rows == 1 => self.store_row(client, step, prefix, row)?,
                other => {
                    let rows = other.map_or(0, |row| row.rows);
                    return Err(script_error(step, format!("\\gset expects one row, and there were {rows}")));
                }
            },
            Keep::Every(prefix) => {
                for row in results.iter().filter(|row| row.rows > 0) {
                    self.store_row(client, step, prefix, row)?;
                }
            }
        }
        Ok(())
    }
}

impl ScriptClient {
    /// Takes the error by which the script failed.
    pub(super) fn take_failure(&mut self) -> OpError {
        self.failure
            .take()
            .unwrap_or_else(|| OpError { class: ErrorClass::Script, message: "the script failed".to_owned() })
    }

    /// What the current transaction has asked of the server.
    pub(super) fn requested_work(&self) -> RequestedWork {
        self.work
    }

    /// Index of the script that the client runs now.
    pub(super) fn script_index(&self) -> usize {
        self.script
    }
}
