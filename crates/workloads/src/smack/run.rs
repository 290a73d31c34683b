//! `main`: what it asks for, and what it prints.

use std::collections::BTreeMap;

use super::error::SmackError;
use super::syntax::{Line, SectionKind, Simple, SmackExpression, SmackFile, SpottedText};
use super::token::Spot;

/// The methods of a client, with how many values each takes.
const METHODS: &[(&str, usize)] = &[
    ("init", 0),
    ("set_num_rounds", 1),
    ("create_threads", 1),
    ("connect", 0),
    ("unload_query_barrel", 0),
    ("collect_threads", 0),
    ("disconnect", 0),
    ("sleep", 2),
    ("print", 1),
    ("query", 1),
    ("run_save_result", 2),
];

#[derive(Clone, Copy, Debug)]
pub(super) enum Arguments<'a> {
    Given(&'a [String]),
    /// `$1` is the number of clients, the schedule sets the rounds, and no other argument may be used.
    Clients(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unload {
    pub(super) client: String,
    pub(super) clients: u32,
    /// Unknown where the schedule decides.
    pub(super) rounds: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SmackRun {
    pub(super) unloads: Vec<Unload>,
    /// Statements before the first barrel is unloaded.
    pub(super) afterwards: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// What a line of `main` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// `print(…)`
    Text(String),
    /// `collect_threads()`: the report of this client.
    Report(String),
}

/// Finds a result by client, type of query (if any) and name, such as `select_index`, `q_per_s`.
pub type Lookup<'a> = &'a dyn Fn(&str, Option<&str>, &str) -> Option<String>;

#[derive(Clone, Debug, Default)]
struct State {
    is_started: bool,
    rounds: Option<Option<u64>>,
    clients: Option<u32>,
}

struct Evaluation<'a> {
    file: &'a SmackFile,
    arguments: Arguments<'a>,
    results: Option<Lookup<'a>>,
    variables: BTreeMap<&'a str, Option<String>>,
    clients: BTreeMap<&'a str, State>,
    run: SmackRun,
    shown: Vec<Shown>,
}

/// Evaluates `main` before anything has run: which barrels are unloaded; fails if none is.
pub(super) fn evaluate_main(file: &SmackFile, arguments: Arguments<'_>) -> Result<SmackRun, SmackError> {
    let evaluation = evaluate_all(file, arguments, None)?;
    if evaluation.run.unloads.is_empty() {
        return Err(SmackError::new(file.main_spot, "`main` unloads no query barrel")
            .with_hint("`client.unload_query_barrel();` runs the barrel of that client"));
    }
    Ok(evaluation.run)
}

/// Evaluates what `main` shows, once there are results.
pub(super) fn shown_results(
    file: &SmackFile,
    arguments: Arguments<'_>,
    results: Lookup<'_>,
) -> Result<Vec<Shown>, SmackError> {
    Ok(evaluate_all(file, arguments, Some(results))?.shown)
}

/// Evaluates `main` to its end; without results, what is shown is not known.
fn evaluate_all<'a>(
    file: &'a SmackFile,
    arguments: Arguments<'a>,
    results: Option<Lookup<'a>>,
) -> Result<Evaluation<'a>, SmackError> {
    let (variables, clients) = (BTreeMap::new(), BTreeMap::new());
    let (run, shown) = (SmackRun::default(), Vec::new());
    let mut evaluation = Evaluation { file, arguments, results, variables, clients, run, shown };
    for line in &file.main {
        match line {
            Line::Assign { name, value } => {
                let value = evaluation.value_of(value)?;
                evaluation.variables.insert(name, value);
            }
            Line::Call { client, method, arguments } => evaluation.evaluate_call(client, method, arguments)?,
        }
    }
    Ok(evaluation)
}

impl<'a> Evaluation<'a> {
    /// Evaluates an expression to a text; `None` where it depends on results that are not known yet.
    fn value_of(&self, expression: &SmackExpression) -> Result<Option<String>, SmackError> {
        let mut whole = Some(String::new());
        for (simple, spot) in expression {
            let part = match simple {
                Simple::Literal(text) => Some(text.clone()),
                Simple::Argument(number) => self.argument_value(*number, *spot)?,
                Simple::Variable(name) => match self.variables.get(name.as_str()) {
                    Some(value) => value.clone(),
                    None => {
                        let error = SmackError::new(*spot, format!("the variable `${name}` has no value"));
                        return Err(error.with_suggestion(name, self.variables.keys().copied()));
                    }
                },
                Simple::Result { client, kind, field } => self.result_field(client, kind.as_deref(), field, *spot)?,
            };
            whole = whole.zip(part).map(|(whole, part)| whole + &part);
        }
        Ok(whole)
    }

    /// Value of the script's argument `$number`; `None` where a plan does not set it.
    fn argument_value(&self, number: usize, spot: Spot) -> Result<Option<String>, SmackError> {
        let missing = |given: usize| {
            let message = format!("`${number}` is argument {number} after the file's name, and there are {given}");
            let hint =
                "write them behind the file: `etalon run FILE.smack 80 10000 --system …`; in a plan, `arguments`";
            SmackError::new(spot, message).with_hint(hint)
        };
        match self.arguments {
            Arguments::Given(all) => {
                let argument = number.checked_sub(1).and_then(|index| all.get(index));
                argument.map(|argument| Some(argument.clone())).ok_or_else(|| missing(all.len()))
            }
            Arguments::Clients(clients) if number == 1 => Ok(Some(clients.to_string())),
            Arguments::Clients(_) if number == 0 => Err(missing(1)),
            Arguments::Clients(_) => Ok(None),
        }
    }

    /// Value of a field of a client's results; `None` before there are results.
    fn result_field(
        &self,
        client: &str,
        kind: Option<&str>,
        field: &str,
        spot: Spot,
    ) -> Result<Option<String>, SmackError> {
        self.file.need_section(SectionKind::Client, client, spot)?;
        let known: &[&str] = match kind {
            None => &["max_connect_time", "min_connect_time", "avg_connect_time"],
            Some(_) => &["num_queries", "max_time", "min_time", "q_per_s"],
        };
        if !known.contains(&field) {
            let error = SmackError::new(spot, format!("there is no result `{field}`"));
            return Err(error.with_suggestion(field, known.iter().copied()));
        }
        if let Some(kind) = kind {
            let kinds: Vec<&str> = self.file.sections_of_kind(SectionKind::Query).map(super::query_kind).collect();
            if !kinds.contains(&kind) {
                return Err(
                    SmackError::new(spot, format!("no query has the type `{kind}`")).with_suggestion(kind, kinds)
                );
            }
        }
        Ok(self.results.and_then(|results| results(client, kind, field)))
    }

    /// Checks and carries out the call of a client's method; one that is not initialized does nothing.
    fn evaluate_call(
        &mut self,
        client: &'a SpottedText,
        method: &SpottedText,
        arguments: &[SmackExpression],
    ) -> Result<(), SmackError> {
        self.file.need_section(SectionKind::Client, &client.text, client.spot)?;
        let found = METHODS.iter().find(|(name, _)| *name == method.text);
        let (_, count) = found.ok_or_else(|| {
            let known = METHODS.iter().map(|(name, _)| *name);
            SmackError::new(method.spot, format!("clients have no method `{}`", method.text))
                .with_suggestion(&method.text, known)
        })?;
        if arguments.len() != *count {
            let (name, given) = (&method.text, arguments.len());
            let values = if *count == 1 { "value" } else { "values" };
            return Err(SmackError::new(method.spot, format!("`{name}` takes {count} {values}, not {given}")));
        }
        let values = arguments.iter().map(|value| self.value_of(value)).collect::<Result<Vec<_>, _>>()?;
        if method.text == "init" {
            self.clients.entry(&client.text).or_default().is_started = true;
            return Ok(());
        }
        if !self.clients.get(client.text.as_str()).is_some_and(|state| state.is_started) {
            // So it is in the original, where the client's own process begins there.
            let (name, line, method) = (&client.text, method.spot.line, &method.text);
            let note = format!("line {line}: `{method}` does nothing, since `{name}.init()` has not been called");
            self.run.notes.push(note);
            return Ok(());
        }
        self.perform_method(client, method, &values)
    }

    /// Carries out a method with the values of its arguments.
    fn perform_method(
        &mut self,
        client: &'a SpottedText,
        method: &SpottedText,
        values: &[Option<String>],
    ) -> Result<(), SmackError> {
        let first = values.first().cloned().flatten();
        let spot = method.spot;
        let state = self.clients.entry(&client.text).or_default();
        match method.text.as_str() {
            "set_num_rounds" => {
                let rounds = first.map(|rounds| parse_count(&rounds, "rounds", spot)).transpose()?;
                state.rounds = Some(rounds);
            }
            "create_threads" => {
                let number = parse_count(
                    &first.ok_or_else(|| {
                        SmackError::new(spot, "how many clients there are is not known").with_hint(
                            "in a plan, `clients` is `$1`; if the file counts clients otherwise, give `arguments`",
                        )
                    })?,
                    "clients",
                    spot,
                )?;
                let fits = u32::try_from(number).ok().filter(|number| *number <= super::MOST_CLIENTS);
                state.clients = Some(fits.ok_or_else(|| {
                    SmackError::new(spot, format!("{number} clients are more than {}", super::MOST_CLIENTS))
                })?);
            }
            "unload_query_barrel" => self.note_unload(client, spot)?,
            "collect_threads" => self.shown.push(Shown::Report(client.text.clone())),
            "print" => self.shown.push(Shown::Text(first.unwrap_or_else(|| "n/a".to_owned()))),
            "sleep" => self.run.notes.push(format!("line {}: `sleep` is passed over, and nothing waits", spot.line)),
            "query" => self.note_query(&first.unwrap_or_default(), spot)?,
            "run_save_result" => {
                return Err(SmackError::new(spot, "étalon saves no rows of queries")
                    .with_hint("remove the line: what the load did is counted at the server, and in the store"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes that a client's barrel is to be run; fails if it has none, or no rounds, or for the second time.
    fn note_unload(&mut self, client: &SpottedText, spot: Spot) -> Result<(), SmackError> {
        let state = self.clients.get(client.text.as_str()).cloned().unwrap_or_default();
        let section = self.file.need_section(SectionKind::Client, &client.text, client.spot)?;
        if section.value_of_key("query_barrel").is_none() {
            let message = format!("the client \"{}\" has no `query_barrel`", client.text);
            return Err(SmackError::new(client.spot, message));
        }
        if self.run.unloads.iter().any(|unload| unload.client == client.text) {
            let message = format!("`{}` unloads its barrel twice", client.text);
            return Err(SmackError::new(spot, message).with_hint("give it more rounds, or make two files of it"));
        }
        let rounds = state.rounds.ok_or_else(|| {
            let message = format!("`{}` has no rounds to run", client.text);
            SmackError::new(spot, message).with_hint("call `set_num_rounds($2)` before")
        })?;
        self.run.unloads.push(Unload { client: client.text.clone(), clients: state.clients.unwrap_or(1), rounds });
        Ok(())
    }

    /// Notes a statement that runs before the load; fails for one after it, or about the session.
    fn note_query(&mut self, sql: &str, spot: Spot) -> Result<(), SmackError> {
        if !self.run.unloads.is_empty() {
            return Err(SmackError::new(spot, "étalon runs no statement after the load")
                .with_hint("remove the line: the tables are made anew before every run"));
        }
        let first = sql.split_whitespace().next().unwrap_or_default();
        if first.eq_ignore_ascii_case("set") || first.eq_ignore_ascii_case("use") {
            return Err(SmackError::new(spot, "this statement would change one session, not those of the load")
                .with_hint("settings belong to the system: `settings` in a plan, or the URL"));
        }
        let line = spot.line;
        self.run
            .notes
            .push(format!("line {line}: the statement runs once before each run, when the tables are loaded"));
        self.run.afterwards.push(sql.to_owned());
        Ok(())
    }
}

/// Parses a count of at least 1.
fn parse_count(text: &str, what: &str, spot: Spot) -> Result<u64, SmackError> {
    match text.trim().parse::<u64>() {
        Ok(0) => Err(SmackError::new(spot, format!("the number of {what} is 0")).with_hint("at least 1 is needed")),
        Ok(number) => Ok(number),
        Err(_) => Err(SmackError::new(spot, format!("`{text}` is not a number of {what}"))),
    }
}
