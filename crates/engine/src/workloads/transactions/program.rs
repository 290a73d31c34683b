//! A compiled script, and the client that walks through it.

use super::expression::Expression;
use crate::dataset::{Datum, Dialect};
use crate::rng::Rng;
use crate::stream::{Next, Stream};

/// A query whose answer is the number of transactions that the server has seen since the tables were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountCheck {
    /// The query.
    pub sql: &'static str,
}

/// A compiled script: variables are slots, statements are numbered.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) commands: Vec<Command>,
    pub(super) statements: Vec<Statement>,
    /// The slots' values before a transaction begins.
    pub(super) slots: Vec<i64>,
    /// How its work is counted at the server.
    pub check: Option<CountCheck>,
}

#[derive(Clone, Debug)]
pub(super) enum Command {
    Set(usize, Expression),
    Execute(usize),
}

/// A statement as pieces of SQL between parameters.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// The SQL before each parameter, and after the last.
    pub(super) pieces: Vec<String>,
    /// The slot of each parameter: one fewer than pieces.
    pub(super) parameters: Vec<usize>,
}

impl Statement {
    /// The statement as an engine wants it prepared.
    pub fn sql(&self, dialect: &dyn Dialect) -> String {
        let mut text = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                text.push_str(&dialect.placeholder(number));
            }
            text.push_str(piece);
        }
        dialect.statement(&text).into_owned()
    }

    fn begins_with(&self, words: &[&str]) -> bool {
        let first = self.pieces.first().map_or("", |piece| piece.split_whitespace().next().unwrap_or(""));
        words.iter().any(|word| first.eq_ignore_ascii_case(word))
    }
}

impl Program {
    /// The statements, in the order of their numbers.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Whether a transaction changes anything.
    pub fn writes(&self) -> bool {
        self.statements.iter().any(|s| !s.begins_with(&["select", "begin", "start", "commit", "end", "set", "show"]))
    }

    /// How many commits the server sees for each transaction: one for each statement outside an explicit transaction,
    /// one for each `COMMIT`.
    pub fn commits_per_transaction(&self) -> u64 {
        let mut commits = 0;
        let mut explicit = false;
        for statement in &self.statements {
            if statement.begins_with(&["begin", "start"]) {
                explicit = true;
            } else if statement.begins_with(&["commit", "end"]) {
                explicit = false;
                commits += 1;
            } else if !explicit {
                commits += 1;
            }
        }
        commits
    }
}

/// A statement to be executed.
#[derive(Clone, Debug, Default)]
pub struct StatementOp {
    /// Its number in [`Program::statements`].
    pub statement: usize,
    /// The parameters' values.
    pub parameters: Vec<Datum>,
}

/// What a client carries through a script.
#[derive(Clone, Debug)]
pub struct ScriptClient {
    seed: u64,
    client: u32,
    rng: Rng,
    slots: Vec<Option<i64>>,
    values: Vec<i64>,
    command: usize,
}

impl Stream for Program {
    type Op = StatementOp;
    type Client = ScriptClient;

    fn client(&self, seed: u64, client: u32) -> ScriptClient {
        let slots = self.slots.iter().copied().map(Some).collect();
        ScriptClient { seed, client, rng: Rng::new(seed), slots, values: self.slots.clone(), command: 0 }
    }

    fn begin(&self, client: &mut ScriptClient, index: u64) {
        client.rng = Rng::of_transaction(client.seed, client.client, index);
        client.command = 0;
    }

    fn next(&self, client: &mut ScriptClient, op: &mut StatementOp) -> Next {
        while let Some(command) = self.commands.get(client.command) {
            client.command += 1;
            match command {
                Command::Set(slot, expression) => {
                    let value = expression.value(&client.values, &mut client.rng);
                    client.slots[*slot] = value;
                    client.values[*slot] = value.unwrap_or_default();
                }
                Command::Execute(number) => {
                    op.statement = *number;
                    op.parameters.clear();
                    let slots = &self.statements[*number].parameters;
                    op.parameters.extend(slots.iter().map(|slot| client.slots[*slot].map_or(Datum::Null, Datum::Int)));
                    return Next::Op;
                }
            }
        }
        Next::End
    }
}
