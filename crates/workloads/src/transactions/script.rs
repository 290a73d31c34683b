//! The compiler: scripts in pgbench's language become a [`Program`].

use super::expression::{self, ScriptExpression};
use super::meta::{self, Amount, Meta, Word};
use super::options::{ScriptOptions, Shell, Unset};
use super::program::{
    DefaultSeedSlot, Keep, Program, Protocol, ScriptCommand, ScriptEntry, ScriptStatement, ShellWord, Step,
};
use super::scan::{Item, References, Sql, split_script};
use super::slots::VariableSlot;
use super::tokens::is_name;
use super::value::ScriptValue;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScriptError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// Most parameters of a statement, as in pgbench.
const MAX_PARAMETERS: usize = 255;

/// Compiles a script to a program; `variables` are set before every transaction.
///
/// # Errors
/// The first thing in it that is not understood.
pub fn compile(text: &str, variables: &[(&str, i64)]) -> Result<Program, ScriptError> {
    let definitions = variables.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    compile_with(text, &ScriptOptions { definitions, ..ScriptOptions::default() })
}

/// Compiles a script to a program, as `options` say.
///
/// # Errors
/// The first thing in it that is not understood.
pub fn compile_with(text: &str, options: &ScriptOptions) -> Result<Program, ScriptError> {
    let mut compiler = Compiler::new(options);
    compiler.add_script(text, 1)?;
    compiler.finish_program().map_err(|(_, error)| error)
}

type Wrong = (usize, String);

/// Kept until it is known what sets the variable.
struct Reference {
    script: usize,
    error: ScriptError,
    slot: usize,
}

/// A condition that has not been closed.
struct Open {
    at: usize,
    /// The jump over the branch that is being read.
    jump: Option<usize>,
    /// Jumps from the ends of the branches to `\endif`.
    ends: Vec<usize>,
    seen_else: bool,
}

pub(super) struct Compiler<'o> {
    options: &'o ScriptOptions,
    program: Program,
    /// For each slot, whether anything sets it.
    set: Vec<bool>,
    references: Vec<Reference>,
    /// Whether rows set variables whose names only the server knows.
    rows_set_variables: bool,
    open: Vec<Open>,
    number: usize,
    text: String,
    lines: LineStarts,
}

/// Offsets at which the lines of a text begin, in ascending order.
#[derive(Default)]
struct LineStarts(Vec<usize>);

impl LineStarts {
    /// Finds where the lines of a text begin.
    fn from_text(text: &str) -> LineStarts {
        let after_newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        LineStarts(std::iter::once(0).chain(after_newlines).collect())
    }

    /// The number, from 1, of the line in which an offset lies.
    fn line_at(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }

    /// Makes an error with the line and column of a position.
    fn error_at(&self, text: &str, at: usize, message: String) -> ScriptError {
        let at = if text.is_char_boundary(at) { at } else { text.len() };
        let line = self.line_at(at);
        let start = self.0.get(line - 1).copied().unwrap_or_default();
        ScriptError { line, column: text[start..at].chars().count() + 1, message }
    }
}

/// Says that a variable has no value, and how to give it one.
fn explain_unset_variable(name: &str) -> String {
    format!("the variable `:{name}` has not been set; `--set 'benchmarks.*.define={name}=VALUE'` sets it")
}

impl<'o> Compiler<'o> {
    /// Makes a compiler without scripts, with the variables that options define.
    pub(super) fn new(options: &'o ScriptOptions) -> Compiler<'o> {
        let program = Program::empty(options);
        let mut compiler = Compiler {
            options,
            program,
            set: Vec::new(),
            references: Vec::new(),
            rows_set_variables: false,
            open: Vec::new(),
            number: 0,
            text: String::new(),
            lines: LineStarts::default(),
        };
        for (name, text) in &options.definitions {
            let slot = compiler.slot_of_name(name);
            compiler.set[slot] = true;
            compiler.program.initial[slot] = VariableSlot::from_text(text);
        }
        compiler
    }

    /// Finds the slot of a variable, made if the name is new.
    fn slot_of_name(&mut self, name: &str) -> usize {
        let known = self.program.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.program.names.push(name.to_owned());
            self.program.initial.push(VariableSlot::Unset);
            self.set.push(false);
            self.program.names.len() - 1
        })
    }

    /// Finds the slot of a variable that is set here; fails if it is no name.
    fn slot_to_set(&mut self, (at, name): Word<'_>) -> Result<usize, Wrong> {
        if !is_name(name) {
            return Err((at, "the name of a variable is expected here: a letter or `_`, then also digits".to_owned()));
        }
        let slot = self.slot_of_name(name);
        self.set[slot] = true;
        Ok(slot)
    }

    /// Finds the slot of a variable that is read here, and notes that something must set it.
    fn slot_to_read(&mut self, name: &str, at: usize) -> usize {
        let slot = self.slot_of_name(name);
        let error = self.lines.error_at(&self.text, at, explain_unset_variable(name));
        self.references.push(Reference { script: self.program.scripts.len() - 1, error, slot });
        slot
    }

    /// Compiles one more script into the program, with its weight.
    pub(super) fn add_script(&mut self, text: &str, weight: u32) -> Result<(), ScriptError> {
        self.text = text.to_owned();
        self.lines = LineStarts::from_text(text);
        self.number = 0;
        let start = self.program.steps.len();
        let kind = self.program.scripts.len();
        self.program.scripts.push(ScriptEntry { start, weight, kind });
        let lines = LineStarts::from_text(text);
        let wrong = |(at, message): Wrong| lines.error_at(text, at, message);
        let everywhere = self.options.protocol == Protocol::Simple;
        let references = if everywhere { References::Everywhere } else { References::OutsideQuotes };
        for item in split_script(text, references).map_err(wrong)? {
            match item {
                Item::Sql(sql) => self.add_statement(sql).map_err(wrong)?,
                Item::Meta { at, start: begin, end } => {
                    if let Some(meta) = meta::parse_meta(text, begin, end).map_err(wrong)? {
                        self.compile_meta(meta, at, start).map_err(wrong)?;
                    }
                }
            }
        }
        if let Some(open) = self.open.pop() {
            return Err(wrong((open.at, "this `\\if` has no `\\endif`".to_owned())));
        }
        if self.program.steps.len() == start {
            return Err(wrong((0, "the script executes nothing".to_owned())));
        }
        self.push_step(ScriptCommand::End, text.len());
        Ok(())
    }

    /// Ends the program: assigns the automatic variables, and fails if one that is read is never set.
    ///
    /// An error carries the number of its script.
    pub(super) fn finish_program(mut self) -> Result<Program, (usize, ScriptError)> {
        let defined =
            |compiler: &Compiler<'_>, name: &str| compiler.options.definitions.iter().any(|(known, _)| known == name);
        for name in ["scale", "client_id", "random_seed", "default_seed"] {
            let slot = self.program.names.iter().position(|known| known == name);
            let by_user = defined(&self, name);
            let automatic = &mut self.program.automatic;
            match (name, slot) {
                ("default_seed", _) if by_user => automatic.default_seed = DefaultSeedSlot::DefinedByUser,
                (_, None) => {}
                _ if by_user => {}
                ("scale", Some(slot)) => {
                    self.program.initial[slot] = VariableSlot::from_text(&self.options.scale.to_string())
                }
                ("client_id", slot) => automatic.client_id = slot,
                ("random_seed", slot) => automatic.random_seed = slot,
                (_, Some(slot)) => automatic.default_seed = DefaultSeedSlot::Slot(slot),
            }
            if let Some(slot) = slot {
                self.set[slot] = true;
            }
        }
        if self.options.unset == Unset::Refused && !self.rows_set_variables {
            let set = &self.set;
            if let Some(unset) = self.references.iter().find(|reference| !set[reference.slot]) {
                return Err((unset.script, unset.error.clone()));
            }
        }
        self.fold_variables();
        Ok(self.program)
    }

    /// Makes variables that keep their first values part of the expressions.
    fn fold_variables(&mut self) {
        if self.rows_set_variables {
            return;
        }
        let Program { steps, initial, .. } = &mut self.program;
        let mut constants: Vec<Option<ScriptValue>> = initial
            .iter()
            .map(|slot| match slot {
                VariableSlot::Value(value) => Some(*value),
                VariableSlot::Unset | VariableSlot::Text(_) => None,
            })
            .collect();
        for step in steps.iter() {
            if let ScriptCommand::Set(slot, _) | ScriptCommand::Shell { into: Some(slot), .. } = &step.command {
                constants[*slot] = None;
            }
        }
        for step in steps {
            if let ScriptCommand::Set(_, expression) | ScriptCommand::JumpUnless(expression, _) = &mut step.command {
                expression.fold_constants(|slot| constants[slot]);
            }
        }
    }

    /// Appends a step, and returns its index.
    fn push_step(&mut self, command: ScriptCommand, at: usize) -> usize {
        self.number += 1;
        let line = self.lines.line_at(at.min(self.text.len()));
        self.program.steps.push(Step { command, number: self.number, line });
        self.program.steps.len() - 1
    }

    /// Adds a statement, and the step that sends it.
    fn add_statement(&mut self, sql: Sql) -> Result<(), Wrong> {
        if let Some((_, at)) = sql.references.get(MAX_PARAMETERS) {
            return Err((*at, format!("the statement has more than {MAX_PARAMETERS} variables")));
        }
        let parameters = sql.references.iter().map(|(name, at)| self.slot_to_read(name, *at)).collect();
        let Sql { at, pieces, heads, joints, .. } = sql;
        let number = self.program.statements.len();
        let statement = ScriptStatement { pieces, parameters, heads, joints, ..ScriptStatement::default() };
        self.program.statements.push(statement.with_effects());
        self.push_step(ScriptCommand::Execute(number), at);
        Ok(())
    }

    /// Compiles an expression that stands at a position of the script.
    fn compile_expression(&mut self, (at, text): Word<'_>) -> Result<ScriptExpression, Wrong> {
        expression::parse(text, &mut |name: &str, inner: usize| Ok(self.slot_to_read(name, at + inner)))
            .map_err(|(inner, message)| (at + inner, message))
    }

    /// Compiles a meta-command to steps.
    fn compile_meta(&mut self, meta: Meta<'_>, at: usize, start: usize) -> Result<(), Wrong> {
        self.refuse_in_pipeline(&meta, at)?;
        match meta {
            Meta::Set { name, expression } => {
                let expression = self.compile_expression(expression)?;
                let slot = self.slot_to_set(name)?;
                self.push_step(ScriptCommand::Set(slot, expression), at);
            }
            Meta::Sleep { time: Amount::Number(number), unit_us } => {
                self.push_step(ScriptCommand::SleepUs(number.saturating_mul(unit_us)), at);
            }
            Meta::Sleep { time: Amount::Variable((name_at, name)), unit_us } => {
                let slot = self.slot_to_read(name, name_at);
                self.push_step(ScriptCommand::SleepFor { slot, unit_us }, at);
            }
            Meta::Gset(prefix) => self.compile_keep(Keep::Last(prefix.to_owned()), at, start)?,
            Meta::Aset(prefix) => self.compile_keep(Keep::Every(prefix.to_owned()), at, start)?,
            Meta::Shell { .. } | Meta::SetShell { .. } if self.options.shell == Shell::Refused => {
                let message = "shell commands are refused; `--allow-shell` allows them to scripts that you trust";
                return Err((at, message.to_owned()));
            }
            Meta::Shell { words } => self.compile_shell(None, &words, at),
            Meta::SetShell { name, words } => {
                let slot = self.slot_to_set(name)?;
                self.compile_shell(Some(slot), &words, at);
            }
            Meta::StartPipeline => drop(self.push_step(ScriptCommand::StartPipeline, at)),
            Meta::SyncPipeline => drop(self.push_step(ScriptCommand::SyncPipeline, at)),
            Meta::EndPipeline => drop(self.push_step(ScriptCommand::EndPipeline, at)),
            Meta::If(_) | Meta::Elif(_) | Meta::Else | Meta::EndIf => self.compile_condition(meta, at)?,
        }
        Ok(())
    }

    /// Fails for a command that cannot be used under `pipeline`: there a script never waits, and has no pipeline of its own.
    fn refuse_in_pipeline(&self, meta: &Meta<'_>, at: usize) -> Result<(), Wrong> {
        if self.options.depth <= 1 {
            return Ok(());
        }
        match meta {
            Meta::Gset(_) | Meta::Aset(_) => {
                Err((at, "rows are not waited for under `pipeline`: `\\gset` and `\\aset` cannot be used".to_owned()))
            }
            Meta::StartPipeline | Meta::SyncPipeline | Meta::EndPipeline => {
                Err((at, "under `pipeline` the whole script is in a pipeline already".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Compiles `\if`, `\elif`, `\else` or `\endif` to jumps over what does not run.
    fn compile_condition(&mut self, meta: Meta<'_>, at: usize) -> Result<(), Wrong> {
        if let Meta::If(condition) = meta {
            let expression = self.compile_expression(condition)?;
            let jump = Some(self.push_step(ScriptCommand::JumpUnless(expression, 0), at));
            self.open.push(Open { at, jump, ends: Vec::new(), seen_else: false });
            return Ok(());
        }
        let mut open = self.open.pop().ok_or_else(|| (at, "there is no `\\if` to this".to_owned()))?;
        if let Meta::EndIf = meta {
            self.count_command();
            let end = self.program.steps.len();
            open.ends.extend(open.jump);
            open.ends.iter().for_each(|jump| self.land_jump(*jump, end));
            return Ok(());
        }
        if open.seen_else {
            return Err((at, "`\\else` was the last branch".to_owned()));
        }
        open.ends.push(self.push_step(ScriptCommand::Jump(0), at));
        let branch = self.program.steps.len();
        if let Some(jump) = open.jump.take() {
            self.land_jump(jump, branch);
        }
        match meta {
            Meta::Elif(condition) => {
                let expression = self.compile_expression(condition)?;
                // Both jumps are one command.
                self.number -= 1;
                open.jump = Some(self.push_step(ScriptCommand::JumpUnless(expression, 0), at));
            }
            _ => open.seen_else = true,
        }
        self.open.push(open);
        Ok(())
    }

    /// Counts a command that needs no step: pgbench counts `\endif`.
    fn count_command(&mut self) {
        self.number += 1;
    }

    /// Sets where a jump leads.
    fn land_jump(&mut self, jump: usize, there: usize) {
        match &mut self.program.steps[jump].command {
            ScriptCommand::JumpUnless(_, target) | ScriptCommand::Jump(target) => *target = there,
            _ => {}
        }
    }

    /// Sets what the statement before `\gset` or `\aset` does with its rows; fails if there is none.
    fn compile_keep(&mut self, keep: Keep, at: usize, start: usize) -> Result<(), Wrong> {
        if let Keep::Last(prefix) | Keep::Every(prefix) = &keep
            && !prefix.is_empty()
            && !is_name(prefix)
        {
            return Err((at, format!("`{prefix}` cannot begin the name of a variable")));
        }
        let steps = self.program.steps.get(start..).unwrap_or_default();
        let Some(Step { command: ScriptCommand::Execute(number), .. }) = steps.last() else {
            return Err(no_statement_before(at));
        };
        let statement = &mut self.program.statements[*number];
        if statement.keep != Keep::Nothing {
            return Err(no_statement_before(at));
        }
        statement.keep = keep;
        self.rows_set_variables = true;
        Ok(())
    }

    /// Compiles a shell command to a step: `:name` in it is a variable, `::text` is the text `:text`.
    fn compile_shell(&mut self, into: Option<usize>, words: &[&str], at: usize) {
        let words = words
            .iter()
            .map(|word| match word.strip_prefix(':') {
                Some(rest) if rest.starts_with(':') => ShellWord::Text(rest.to_owned()),
                Some(name) => ShellWord::Slot(self.slot_to_read(name, at)),
                None => ShellWord::Text((*word).to_owned()),
            })
            .collect();
        self.push_step(ScriptCommand::Shell { into, words }, at);
    }
}

/// Makes the error that `\gset` or `\aset` follows no statement.
fn no_statement_before(at: usize) -> Wrong {
    (at, "`\\gset` and `\\aset` must follow a statement".to_owned())
}

#[cfg(test)]
#[path = "tests/script.rs"]
mod tests;
