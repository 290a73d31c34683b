//! Programs whose clients run statements in turn, with words from dictionaries; super-smack scripts compile to these.

use std::ops::Range;

use super::dictionary::Dictionary;
use super::options::ScriptOptions;
use super::program::{Program, Protocol, ScriptCommand, ScriptEntry, ScriptStatement, Step};
use super::slots::VariableSlot;

/// A statement with words in it.
#[derive(Clone, Debug, Default)]
pub struct WordyStatement {
    pub pieces: Vec<StatementPiece>,
    pub head: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementPiece {
    Sql(String),
    /// A word outside quotes, such as a number.
    Word(usize),
    /// A literal in quotes with words in it.
    Literal(char, Vec<LiteralPart>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralPart {
    Text(String),
    Word(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub statement: usize,
    /// Pause before this turn in the first round, in microseconds.
    pub first_pause_us: u64,
    /// Pause before this turn in later rounds, in microseconds.
    pub pause_us: u64,
}

/// Clients that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientGroup {
    pub clients: Range<u32>,
    pub turns: Vec<Turn>,
}

#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub dictionaries: Vec<Dictionary>,
    pub kinds: Vec<String>,
    /// Each is a transaction, with the number of its kind.
    pub statements: Vec<(WordyStatement, usize)>,
    pub shares: Vec<ClientGroup>,
    pub notes: Vec<String>,
}

/// How a client's next script is chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum TurnRule {
    #[default]
    ByWeight,
    InTurn(Vec<ClientGroup>),
}

#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) slot: usize,
    pub(super) parts: Vec<LiteralPart>,
    pub(super) form: TextForm,
}

/// How to keep a drawn text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextForm {
    /// The word stands as it is; what is written like a number is one.
    Bare,
    /// Text, even if it looks like a number.
    Text,
    /// Text for between these quotes: every quote in it is doubled.
    Between(char),
}

impl Program {
    /// Makes a program whose clients take turns with statements, each a transaction by itself.
    pub fn of_turns(parts: Parts, options: &ScriptOptions) -> Program {
        let mut program = Program::empty(options);
        for (number, (statement, kind)) in parts.statements.iter().enumerate() {
            let start = program.steps.len();
            program.scripts.push(ScriptEntry { start, weight: 1, kind: *kind });
            program.add_statement(statement, number);
        }
        program.kinds = parts.kinds;
        program.dictionaries = parts.dictionaries;
        program.rule = TurnRule::InTurn(parts.shares);
        program.notes = parts.notes;
        program
    }

    /// Adds a statement to the program, with its words as parameters.
    fn add_statement(&mut self, wordy: &WordyStatement, number: usize) {
        let mut statement = ScriptStatement {
            pieces: vec![String::new()],
            heads: vec![wordy.head.clone()],
            ..ScriptStatement::default()
        };
        let mut draws = Vec::new();
        for piece in &wordy.pieces {
            match (piece, self.protocol) {
                (StatementPiece::Sql(sql), _) => statement.append_text(sql),
                (StatementPiece::Word(word), _) => {
                    draws.push(self.add_parameter(&mut statement, vec![LiteralPart::Word(*word)], TextForm::Bare))
                }
                (StatementPiece::Literal(quote, parts), Protocol::Prepared | Protocol::Extended) => {
                    let parts = parts.iter().map(|part| undouble_quotes(part, *quote)).collect();
                    draws.push(self.add_parameter(&mut statement, parts, TextForm::Text));
                }
                (StatementPiece::Literal(quote, parts), Protocol::Simple) => {
                    statement.append_text(quote.encode_utf8(&mut [0; 4]));
                    for part in parts {
                        match part {
                            // As the user wrote it, quotes and all.
                            LiteralPart::Text(text) => statement.append_text(text),
                            LiteralPart::Word(_) => {
                                let form = TextForm::Between(*quote);
                                draws.push(self.add_parameter(&mut statement, vec![part.clone()], form));
                            }
                        }
                    }
                    statement.append_text(quote.encode_utf8(&mut [0; 4]));
                }
            }
        }
        let line = number + 1;
        let commands = draws
            .into_iter()
            .map(ScriptCommand::Draw)
            .chain([ScriptCommand::Execute(self.statements.len()), ScriptCommand::End]);
        self.steps.extend(commands.enumerate().map(|(at, command)| Step { command, number: at + 1, line }));
        self.statements.push(statement.with_effects());
    }

    /// Adds a parameter to a statement, with a new slot that words are drawn into.
    fn add_parameter(&mut self, statement: &mut ScriptStatement, parts: Vec<LiteralPart>, form: TextForm) -> Draw {
        let slot = self.names.len();
        self.names.push(format!("word {}", slot + 1));
        self.initial.push(VariableSlot::Unset);
        statement.parameters.push(slot);
        statement.pieces.push(String::new());
        Draw { slot, parts, form }
    }

    /// The client's turn at transaction `index` and the pause before it; `None` if clients do not take turns.
    pub(super) fn turn_at(&self, client: u32, index: u64) -> Option<(Turn, u64)> {
        let TurnRule::InTurn(shares) = &self.rule else { return None };
        let share = shares.iter().find(|share| share.clients.contains(&client)).or(shares.first())?;
        let count = share.turns.len().max(1) as u64;
        let turn = *share.turns.get((index % count) as usize)?;
        Some((turn, if index < count { turn.first_pause_us } else { turn.pause_us }))
    }
}

/// Turns doubled quotes in a part of a literal into single ones, as the server reads them.
fn undouble_quotes(part: &LiteralPart, quote: char) -> LiteralPart {
    match part {
        LiteralPart::Text(text) => {
            LiteralPart::Text(text.replace(&format!("{quote}{quote}"), quote.encode_utf8(&mut [0; 4])))
        }
        LiteralPart::Word(word) => LiteralPart::Word(*word),
    }
}

impl ScriptStatement {
    /// Appends text to the statement's last piece.
    fn append_text(&mut self, text: &str) {
        if let Some(last) = self.pieces.last_mut() {
            last.push_str(text);
        }
    }
}
