//! super-smack's language: `.smack` files, compiled to a [`Program`](super::transactions::Program) that every lane
//! executes.
//!
//! From the text: `token` (words and strings with their places), `syntax` (sections and `main`), `run` (what `main`
//! asks for), `table`, `source`, `gen_data` and `glibc` (rows), `dictionary` (words), `barrel` (queries and rounds).
//! `docs/super-smack.md` says what differs from the original.

mod barrel;
mod dictionary;
mod error;
mod gen_data;
mod glibc;
mod run;
mod source;
mod syntax;
mod table;
mod token;

use model::{Length, Point, WorkloadSpec};

use crate::dataset::Dataset;
use crate::texts::Texts;
use crate::transactions::{
    ClientGroup, Dictionary, LiteralPart, Parts, Program, Protocol, ScriptOptions, StatementPiece, WordSource,
    WordyStatement,
};
use crate::work::StreamTask;
use crate::workload::{Action, Grants, Task, Workload};
use load::error::{Failure, FailureKind};
use load::generator::{LoadShape, ThreadLimit};
use load::traffic::NetworkTraffic;
use load::worker::Pace;
use run::{Arguments, SmackRun};
use source::Sources;
use syntax::{SectionKind, SmackFile, SmackSection};

pub use error::SmackError;
pub use gen_data::{GenData, GenDataError};
pub use run::{Lookup, Shown};
pub use token::Spot;

const MOST_CLIENTS: u32 = 100_000;

#[derive(Clone, Copy, Debug)]
pub struct BuiltInScript {
    pub name: &'static str,
    pub text: &'static str,
}

pub const BUILT_IN: &[BuiltInScript] = &[
    BuiltInScript { name: "select-key", text: include_str!("scripts/select-key.smack") },
    BuiltInScript { name: "select-key-fair", text: include_str!("scripts/select-key-fair.smack") },
    BuiltInScript { name: "update-select", text: include_str!("scripts/update-select.smack") },
    BuiltInScript { name: "update-select-fair", text: include_str!("scripts/update-select-fair.smack") },
];

const SCRIPTS: &[&str] = &["select-key", "select-key-fair", "update-select", "update-select-fair"];

model::keys! {
    struct Keys {
        /// A built-in script, or the path of a `.smack` file; `-fair` draws from all rows, the others from 750
        script: String = choice_or_file(SCRIPTS).or("select-key"),
        /// Clients at the same time, each on a connection of its own: `$1` of the script
        clients: u32 = int(1..=MOST_CLIENTS as i64).or(1),
        /// All of `$1 $2 …`, between blanks, for a script that does not count its clients by `$1`; they must come to
        /// `clients`
        arguments: String = TEXT.or(""),
        /// How queries travel: as text with the words in it, as super-smack sends them, or prepared with the words as
        /// parameters
        protocol: Protocol = choice(&["simple", "prepared"]).or("simple"),
        /// Queries of each client, instead of the schedule's length: rounds times the queries of the barrel
        queries: Option<u64> = int(1..=i64::MAX),
        /// Queries a second, all clients together, latency counted from the intended start; 0 means as fast as the
        /// system answers
        rate: f64 = float(0.0..=1e9).or(0.0),
    }
}

#[derive(Clone, Debug)]
pub struct SmackScript {
    name: String,
    file: SmackFile,
    /// Where it and the files next to it are; none if it is built in.
    texts: Option<Texts>,
}

/// What a command line asks of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The client whose barrel is unloaded; several are joined by `+`.
    pub client: String,
    pub clients: u32,
    pub queries: u64,
    /// What `arguments` must be in a plan: empty if only `$1`, the number of clients, is used.
    pub arguments: String,
}

/// Name of the type that a query is reported by: its own name if it gives none.
fn query_kind(section: &SmackSection) -> &str {
    section.value_of_key("type").map_or(section.name.text.as_str(), |kind| kind.text.as_str())
}

impl SmackScript {
    /// Reads a built-in script, or a file of this host.
    pub fn read(named: &str) -> Result<SmackScript, Failure> {
        SmackScript::read_from(named, &Texts::Files)
    }

    /// Reads a built-in script, or a file of this host or of another.
    fn read_from(named: &str, texts: &Texts) -> Result<SmackScript, Failure> {
        if let Some(script) = BUILT_IN.iter().find(|script| script.name == named) {
            return SmackScript::parse(named, script.text);
        }
        let text = texts.read_lossily(named).map_err(|error| {
            Failure::new(FailureKind::Plan, format!("read the script `{named}`"), error)
                .with_hint(format!("name a `.smack` file or a built-in script: {}", SCRIPTS.join(", ")))
        })?;
        Ok(SmackScript { texts: Some(texts.clone()), ..SmackScript::parse(named, &text)? })
    }

    /// Parses a script's text alone: files that it names cannot be found.
    pub fn parse(name: &str, text: &str) -> Result<SmackScript, Failure> {
        let file = syntax::parse(text).map_err(|error| script_failure(name, error))?;
        Ok(SmackScript { name: name.to_owned(), file, texts: None })
    }

    /// Evaluates the script with these arguments to clients and numbers of queries; fails if it cannot be run.
    pub fn invocation(&self, arguments: &[String]) -> Result<Invocation, Failure> {
        let wrong = |error| script_failure(&self.name, error);
        // Whatever one protocol alone refuses is refused when it is known which one is used.
        self.compile_with(Arguments::Given(arguments), Protocol::Prepared).map_err(wrong)?;
        let run = run::evaluate_main(&self.file, Arguments::Given(arguments)).map_err(wrong)?;
        let mut queries = Vec::new();
        for unload in &run.unloads {
            let client =
                self.file.need_section(SectionKind::Client, &unload.client, self.file.main_spot).map_err(wrong)?;
            let turns =
                barrel::read_turns(&self.file, client.need_key("query_barrel").map_err(wrong)?).map_err(wrong)?;
            queries.push(unload.rounds.unwrap_or_default().saturating_mul(turns.len() as u64));
        }
        if queries.iter().any(|count| Some(count) != queries.first()) {
            let counts: Vec<String> = queries.iter().map(u64::to_string).collect();
            let cause = format!("its clients run different numbers of queries: {}", counts.join(", "));
            return Err(Failure::new(FailureKind::Plan, format!("run `{}`", self.name), cause)
                .with_hint("give them rounds that come to the same, or a plan with a `duration`"));
        }
        let clients = total_clients(&run);
        let alone = run::evaluate_main(&self.file, Arguments::Clients(clients));
        let same = alone.is_ok_and(|alone| {
            let who =
                |run: &SmackRun| run.unloads.iter().map(|one| (one.client.clone(), one.clients)).collect::<Vec<_>>();
            who(&alone) == who(&run) && alone.afterwards == run.afterwards
        });
        let names: Vec<&str> = run.unloads.iter().map(|unload| unload.client.as_str()).collect();
        Ok(Invocation {
            client: names.join("+"),
            clients,
            queries: queries.first().copied().unwrap_or_default(),
            arguments: if same { String::new() } else { arguments.join(" ") },
        })
    }

    /// Evaluates what `main` prints once there are results, in order.
    pub fn shown_results(&self, arguments: &[String], results: Lookup<'_>) -> Result<Vec<Shown>, Failure> {
        run::shown_results(&self.file, Arguments::Given(arguments), results)
            .map_err(|error| script_failure(&self.name, error))
    }

    /// Compiles the script with these arguments, to tables and a program.
    fn compile_with(&self, arguments: Arguments<'_>, protocol: Protocol) -> Result<(Dataset, Program), SmackError> {
        let file = &self.file;
        let run = run::evaluate_main(file, arguments)?;
        let sources = Sources { file, files: self.texts.as_ref().map(|texts| (self.name.as_str(), texts)) };
        // First, since rows that are made are shared with the dictionaries only as long as the tables have them.
        let data = table::dataset_of_tables(&sources, run.afterwards)?;
        let mut parts = Parts { notes: run.notes, ..Parts::default() };
        if file.sections_of_kind(SectionKind::Table).next().is_none() {
            parts.notes.push("the script has no table: étalon looks for tables in a place of its own only".to_owned());
        }
        for section in file.sections_of_kind(SectionKind::Dictionary) {
            parts.dictionaries.push(dictionary::read_dictionary(section, &sources, &mut parts.notes)?);
        }
        parts.kinds = file.sections_of_kind(SectionKind::Query).map(|query| query_kind(query).to_owned()).collect();
        parts.kinds.sort();
        parts.kinds.dedup();
        for section in file.sections_of_kind(SectionKind::Query) {
            let statement = barrel::compile_statement(file, section, &mut parts.notes)?;
            refuse_backslashes(section, &statement, &parts.dictionaries, protocol)?;
            let kind = parts.kinds.iter().position(|kind| kind == query_kind(section)).unwrap_or_default();
            parts.statements.push((statement, kind));
        }
        let mut first = 0;
        for unload in &run.unloads {
            let client = file.need_section(SectionKind::Client, &unload.client, file.main_spot)?;
            let turns = barrel::read_turns(file, client.need_key("query_barrel")?)?;
            parts.shares.push(ClientGroup { clients: first..first + unload.clients, turns });
            first += unload.clients;
        }
        drop_unused_kinds(&mut parts);
        let options = ScriptOptions { clients: first, protocol, ..ScriptOptions::default() };
        Ok((data, Program::of_turns(parts, &options)))
    }
}

/// Drops kinds of queries that no barrel uses: they would be reported with no figures.
fn drop_unused_kinds(parts: &mut Parts) {
    let mut used: Vec<usize> =
        parts.shares.iter().flat_map(|share| &share.turns).map(|turn| parts.statements[turn.statement].1).collect();
    used.sort_unstable();
    used.dedup();
    for (_, kind) in &mut parts.statements {
        *kind = used.iter().position(|known| known == kind).unwrap_or_default();
    }
    parts.kinds = used.into_iter().map(|kind| parts.kinds[kind].clone()).collect();
}

/// Fails if a word that goes between quotes as text has a backslash.
///
/// Engines read it differently between quotes, and the text is put together without knowing the engine.
fn refuse_backslashes(
    section: &SmackSection,
    statement: &WordyStatement,
    dictionaries: &[Dictionary],
    protocol: Protocol,
) -> Result<(), SmackError> {
    if protocol != Protocol::Simple {
        return Ok(());
    }
    let literals = statement.pieces.iter().filter_map(|piece| match piece {
        StatementPiece::Literal(_, parts) => Some(parts),
        _ => None,
    });
    for part in literals.flatten() {
        let LiteralPart::Word(number) = part else { continue };
        let Some(Dictionary { name, words: WordSource::AtRandom(list) | WordSource::InOrder(list) }) =
            dictionaries.get(*number)
        else {
            continue;
        };
        if let Some(word) = list.first_with_backslash() {
            let message = format!("the word `{word}` of the dictionary \"{name}\" has a backslash");
            return Err(SmackError::new(section.need_key("query")?.spot, message).with_hint(
                "engines read it differently between quotes; `protocol = \"prepared\"` sends words as they are",
            ));
        }
    }
    Ok(())
}

/// Number of clients that unload a barrel, all together.
fn total_clients(run: &SmackRun) -> u32 {
    run.unloads.iter().map(|unload| unload.clients).fold(0, u32::saturating_add)
}

/// Makes the failure of a script, with the error's position and hint.
fn script_failure(script: &str, error: SmackError) -> Failure {
    let failure = Failure::new(FailureKind::Plan, format!("use the script `{script}`"), &error);
    match error.hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

pub struct SuperSmack;

impl Workload for SuperSmack {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "super-smack",
            family: "transactions",
            about: "Scripts in super-smack's language, with their tables and dictionaries; each query is a transaction",
            rate_unit: "tx/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Makes the load that the plan's script asks for, with its tables.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let Keys { script, clients, arguments, protocol, queries, rate } = Keys::read(point)?;
        let script = SmackScript::read_from(&script, &grants.texts)?;
        let given: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let arguments = if given.is_empty() { Arguments::Clients(clients) } else { Arguments::Given(&given) };
        let (dataset, program) =
            script.compile_with(arguments, protocol).map_err(|error| script_failure(&script.name, error))?;
        if program.clients != clients {
            let cause = format!("it makes {} clients, and `clients` is {clients}", program.clients);
            return Err(Failure::new(FailureKind::Plan, format!("use the script `{}`", script.name), cause)
                .with_hint("write the number that it makes; a sweep over `clients` needs `create_threads($1)`"));
        }
        let pace = if rate > 0.0 { Pace::Rate(rate) } else { Pace::Closed };
        Ok(Task {
            dataset,
            action: Action::Stream(StreamTask {
                work: program.into(),
                shape: LoadShape {
                    clients: 0..clients,
                    pace,
                    threads: ThreadLimit::Best,
                    traffic: NetworkTraffic { length: queries.map(Length::Transactions), ..NetworkTraffic::default() },
                },
            }),
        })
    }
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
