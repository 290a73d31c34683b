//! The script language: the part of pgbench's that the built-in scripts need.

use super::expression;
use super::program::{Command, Program, Statement};

/// What is wrong in a script, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Compiles a script. `variables` are set before every transaction.
///
/// # Errors
/// The first thing in it that is not understood.
pub fn compile(text: &str, variables: &[(&str, i64)]) -> Result<Program, ScriptError> {
    let mut compiler = Compiler::default();
    for (name, value) in variables {
        let slot = compiler.slot_of((*name).to_owned());
        compiler.slots[slot] = *value;
    }
    for (index, line) in text.lines().enumerate() {
        compiler.line(index + 1, line)?;
    }
    compiler.end_of_statement();
    if compiler.program.statements.is_empty() {
        return Err(ScriptError { line: 1, column: 1, message: "the script executes nothing".to_owned() });
    }
    let mut program = compiler.program;
    program.slots = compiler.slots;
    Ok(program)
}

struct Compiler {
    program: Program,
    names: Vec<String>,
    slots: Vec<i64>,
    statement: Statement,
    /// The quote that an unfinished string literal or quoted name began with.
    quote: Option<char>,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            program: Program { commands: Vec::new(), statements: Vec::new(), slots: Vec::new(), check: None },
            names: Vec::new(),
            slots: Vec::new(),
            statement: Statement { pieces: vec![String::new()], parameters: Vec::new() },
            quote: None,
        }
    }
}

impl Compiler {
    fn slot_of(&mut self, name: String) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.slots.push(0);
            self.names.len() - 1
        })
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), ScriptError> {
        let trimmed = line.trim_start();
        if self.quote.is_none() && trimmed.starts_with('\\') {
            self.end_of_statement();
            return self.meta_command(number, line, trimmed);
        }
        self.sql(number, line)
    }

    fn meta_command(&mut self, number: usize, line: &str, trimmed: &str) -> Result<(), ScriptError> {
        let column_of = |rest: &str| line[..line.len() - rest.len()].chars().count() + 1;
        let error = |column: usize, message: String| ScriptError { line: number, column, message };
        let (command, rest) = trimmed[1..].split_once(char::is_whitespace).unwrap_or((&trimmed[1..], ""));
        if !command.eq_ignore_ascii_case("set") {
            return Err(error(column_of(trimmed), format!("`\\{command}` is not a known command; known is \\set")));
        }
        let rest = rest.trim_start();
        let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(error(column_of(rest), "the name of a variable is expected here".to_owned()));
        }
        let names = &self.names;
        let slot = |name: &str| names.iter().position(|known| known == name);
        let expression = expression::parse(text, &slot)
            .map_err(|(at, message)| error(column_of(text) + text[..at].chars().count(), message))?;
        let slot = self.slot_of(name.to_owned());
        self.program.commands.push(Command::Set(slot, expression));
        Ok(())
    }

    fn sql(&mut self, number: usize, line: &str) -> Result<(), ScriptError> {
        let mut at = 0;
        while let Some(next) = line[at..].chars().next() {
            let rest = &line[at..];
            if let Some(quote) = self.quote {
                self.quote = (next != quote).then_some(quote);
            } else if rest.starts_with("--") {
                break;
            } else if next == ';' {
                self.end_of_statement();
                at += 1;
                continue;
            } else if next == '\'' || next == '"' {
                self.quote = Some(next);
            } else if rest.starts_with("::") {
                self.push("::");
                at += 2;
                continue;
            } else if let Some(name) = variable(rest) {
                let slot = self.names.iter().position(|known| known == name).ok_or_else(|| ScriptError {
                    line: number,
                    column: line[..at].chars().count() + 1,
                    message: format!("the variable `:{name}` has not been set"),
                })?;
                self.statement.parameters.push(slot);
                self.statement.pieces.push(String::new());
                at += 1 + name.len();
                continue;
            }
            self.push(next.encode_utf8(&mut [0; 4]));
            at += next.len_utf8();
        }
        self.push("\n");
        Ok(())
    }

    fn push(&mut self, text: &str) {
        if let Some(piece) = self.statement.pieces.last_mut() {
            piece.push_str(text);
        }
    }

    fn end_of_statement(&mut self) {
        let fresh = Statement { pieces: vec![String::new()], parameters: Vec::new() };
        let mut statement = std::mem::replace(&mut self.statement, fresh);
        if let Some(first) = statement.pieces.first_mut() {
            *first = first.trim_start().to_owned();
        }
        if let Some(last) = statement.pieces.last_mut() {
            last.truncate(last.trim_end().len());
        }
        if statement.parameters.is_empty() && statement.pieces.iter().all(String::is_empty) {
            return;
        }
        self.program.commands.push(Command::Execute(self.program.statements.len()));
        self.program.statements.push(statement);
    }
}

/// The name of a variable if `text` begins with `:name`.
fn variable(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(':')?;
    let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let starts_well = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (length > 0 && starts_well).then(|| &rest[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{ColumnKind, Datum, Dialect};
    use crate::stream::{Next, Stream};
    use std::borrow::Cow;

    struct Dollar;
    impl Dialect for Dollar {
        fn column_type(&self, _: ColumnKind) -> String {
            String::new()
        }
        fn placeholder(&self, number: usize) -> String {
            format!("${number}")
        }
        fn statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
            Cow::Borrowed(sql)
        }
    }

    fn texts(script: &str) -> Vec<String> {
        let program = compile(script, &[("scale", 2), ("a", 0), ("b", 0)]).unwrap();
        program.statements().iter().map(|s| s.sql(&Dollar)).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_quotes() {
        assert_eq!(
            texts("SELECT ';' ; SELECT :a::int, ':b';\n-- c\nSELECT\n  1"),
            ["SELECT ';'", "SELECT $1::int, ':b'", "SELECT\n  1"]
        );
    }

    #[test]
    fn a_client_draws_within_limits_and_repeats_itself() {
        let program = compile("\\set x random(1, 10 * :scale)\nSELECT :x, :x;", &[("scale", 2)]).unwrap();
        let mut client = program.client(7, 3);
        let mut op = Default::default();
        let mut draw = |index| {
            program.begin(&mut client, index);
            assert_eq!(program.next(&mut client, &mut op), Next::Op);
            let values = op.parameters.clone();
            assert_eq!(program.next(&mut client, &mut op), Next::End);
            values
        };
        let first = draw(0);
        assert_eq!(first[0], first[1]);
        assert!(matches!(first[0], Datum::Int(1..=20)));
        assert_ne!((0..8).map(&mut draw).collect::<Vec<_>>(), vec![first.clone(); 8]);
        assert_eq!(draw(0), first);
    }

    #[test]
    fn commits_are_counted_as_the_server_does() {
        let commits = |text| compile(text, &[]).unwrap().commits_per_transaction();
        assert_eq!(commits("SELECT 1; UPDATE t SET a = 1;"), 2);
        assert_eq!(commits("BEGIN; SELECT 1; UPDATE t SET a = 1; COMMIT;"), 1);
        assert_eq!(commits("SELECT 1; BEGIN; SELECT 1; END; SELECT 2;"), 3);
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = |text| compile(text, &[]).unwrap_err().to_string();
        assert_eq!(
            error("SELECT 1;\n\n  \\sett x 1"),
            "line 3, column 3: `\\sett` is not a known command; known is \\set"
        );
        assert_eq!(error("\\set x 1 +"), "line 1, column 11: a number, a `:variable` or `random(…)` is expected here");
        assert_eq!(error("SELECT\n :y;"), "line 2, column 2: the variable `:y` has not been set");
        assert_eq!(error("-- nothing"), "line 1, column 1: the script executes nothing");
    }
}
