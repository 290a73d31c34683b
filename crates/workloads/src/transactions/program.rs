//! A compiled program: one script, or several with weights.

use std::sync::Arc;

use super::dictionary::Dictionary;
use super::expression::ScriptExpression;
use super::known::KnownScript;
use super::native::Native;
use super::options::{Debug, ScriptOptions, Unset};
use super::scan::{Item, References, split_script};
use super::slots::VariableSlot;
use super::turns::{Draw, TurnRule};
use crate::dataset::{Dialect, Tables};
use crate::made::created_names;
use load::stream::{RequestedWork, Retry};

/// A query whose answer is the number of transactions that the server has seen since the tables were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountCheck {
    pub sql: &'static str,
}

/// Compiled scripts, one of which each transaction runs. They share variables, which are slots, and number their
/// statements together.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) scripts: Vec<ScriptEntry>,
    pub(super) steps: Vec<Step>,
    pub(super) statements: Vec<ScriptStatement>,
    pub(super) names: Vec<String>,
    /// Slots of a new client, without those that differ by client.
    pub(super) initial: Vec<VariableSlot>,
    pub(super) automatic: Automatic,
    pub(super) protocol: Protocol,
    pub(super) debug: Debug,
    /// How the server counts the program's work.
    pub check: Option<CountCheck>,
    /// What is known of its scripts, by kind; `None` of a script that is not built in.
    pub(super) known: Vec<Option<KnownScript>>,
    /// All clients on all hosts, since pgbench draws a seed for each.
    pub clients: u32,
    pub retry: Retry,
    pub tables: Tables,
    /// Transactions that a client sends before it waits for the first; 1 is no pipeline.
    pub(super) depth: u32,
    /// What statements draw words from.
    pub(crate) dictionaries: Vec<Dictionary>,
    /// How a transaction's script is chosen.
    pub(super) rule: TurnRule,
    /// Empty where scripts have no names.
    pub(super) kinds: Vec<String>,
    /// The native program that runs instead of scripts.
    pub(crate) native: Option<Arc<dyn Native>>,
    /// What the user should know before the figures.
    pub notes: Vec<String>,
}

/// How statements travel: pgbench's `-M`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Prepared once on each connection, then executed with parameters:
    /// [`StatementOp::parameters`](super::StatementOp::parameters).
    #[default]
    Prepared,
    /// Statements have parameters, too, but are parsed again each time.
    Extended,
    /// Statements are one text in which the variables have been replaced: [`StatementOp::text`](super::StatementOp::text).
    Simple,
}

impl Protocol {
    /// The words of plans, in the order of the variants.
    pub const WORDS: &'static [&'static str] = &["prepared", "extended", "simple"];

    /// Chooses how variables that nothing sets are treated: refused if prepared, else as pgbench does.
    ///
    /// A misspelt variable would silently measure something else, so the usual protocol refuses it; the others are there
    /// to be compared with pgbench.
    pub(super) fn unset_rule(self) -> Unset {
        match self {
            Protocol::Prepared => Unset::Refused,
            Protocol::Extended | Protocol::Simple => Unset::Accepted,
        }
    }

    /// Reads a protocol from its word in plans; `None` for another word.
    pub fn from_word(word: &str) -> Option<Protocol> {
        match word {
            "prepared" => Some(Protocol::Prepared),
            "extended" => Some(Protocol::Extended),
            "simple" => Some(Protocol::Simple),
            _ => None,
        }
    }
}

/// One of the scripts.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptEntry {
    /// First step of the script; the last is [`ScriptCommand::End`].
    pub(super) start: usize,
    pub(super) weight: u32,
    pub(super) kind: usize,
}

/// The slots of variables that are set unless the user defines them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Automatic {
    pub(super) client_id: Option<usize>,
    pub(super) random_seed: Option<usize>,
    pub(super) default_seed: DefaultSeedSlot,
}

/// Slot of `default_seed`, and whether it takes its draw from the seeds even if it is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DefaultSeedSlot {
    #[default]
    Unread,
    Slot(usize),
    DefinedByUser,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) command: ScriptCommand,
    /// The number of the command in its script, from 1, as pgbench counts.
    pub(super) number: usize,
    pub(super) line: usize,
}

#[derive(Clone, Debug)]
pub(super) enum ScriptCommand {
    Set(usize, ScriptExpression),
    /// Puts words into a slot.
    Draw(Draw),
    Execute(usize),
    /// Goes there unless the expression is true.
    JumpUnless(ScriptExpression, usize),
    Jump(usize),
    SleepUs(i64),
    /// Sleeps for a variable's number of units.
    SleepFor {
        slot: usize,
        unit_us: i64,
    },
    Shell {
        into: Option<usize>,
        words: Vec<ShellWord>,
    },
    StartPipeline,
    SyncPipeline,
    EndPipeline,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShellWord {
    Text(String),
    Slot(usize),
}

/// What happens to a statement's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Keep {
    #[default]
    Nothing,
    /// `\gset`: the columns of the last result, which must be one row, with this prefix.
    Last(String),
    /// `\aset`: the last row of every result that has one.
    Every(String),
}

#[derive(Clone, Debug, Default)]
pub struct ScriptStatement {
    /// The SQL before each parameter, and after the last.
    pub(crate) pieces: Vec<String>,
    /// The slot of each parameter: one fewer than pieces.
    pub(super) parameters: Vec<usize>,
    /// The first word of each statement that `\;` joins into this message, in lower case.
    pub(super) heads: Vec<String>,
    /// Where each of them but the first begins: the number of its piece, and the place in it.
    pub(super) joints: Vec<(usize, usize)>,
    pub(super) keep: Keep,
    /// State of the session afterwards: outside an explicit transaction, and inside one.
    pub(super) after: [After; 2],
}

/// State of a client's session after a successful statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct After {
    /// Whether an explicit transaction is open.
    pub(super) explicit: bool,
    /// Whether it wrote something that only the end of the message commits.
    pub(super) wrote: bool,
    /// What it asked of the server.
    pub(super) asked: RequestedWork,
}

/// How far the transactions that a program asks for can be checked against a server's count of those that were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Countable {
    /// To the last one.
    Exactly,
    /// The server may begin more.
    AtLeast(&'static str),
    /// Not comparable.
    No(&'static str),
}

/// The first words of statements that run in one transaction, begin none of their own and end none.
const PLAIN: [&str; 28] = [
    "abort",
    "begin",
    "close",
    "commit",
    "copy",
    "declare",
    "delete",
    "end",
    "explain",
    "fetch",
    "insert",
    "lock",
    "merge",
    "release",
    "replace",
    "reset",
    "rollback",
    "savepoint",
    "select",
    "set",
    "show",
    "start",
    "table",
    "truncate",
    "update",
    "values",
    "with",
    "notify",
];

/// What the first word says of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It opens an explicit transaction.
    Opens,
    Commits,
    /// It rolls one back, or to a savepoint.
    RollsBack,
    Reads,
    /// It may change something.
    Writes,
}

impl Effect {
    /// Finds a statement's effect by its first word, in lower case.
    fn of_head(head: &str) -> Effect {
        match head {
            "begin" | "start" => Effect::Opens,
            "commit" | "end" => Effect::Commits,
            "rollback" | "abort" => Effect::RollsBack,
            "select" | "set" | "show" | "explain" | "savepoint" | "release" => Effect::Reads,
            _ => Effect::Writes,
        }
    }
}

/// One of the statements that `\;` joins into a message, for an engine that takes them one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// The statement in the engine's words, with placeholders that are numbered from 1 in this statement alone.
    pub sql: String,
    /// For each placeholder, the place of its value in [`StatementOp::parameters`](super::StatementOp::parameters), which are
    /// numbered across the message.
    pub parameters: Vec<usize>,
    /// What its first word says of it.
    pub effect: Effect,
}

impl MessagePart {
    /// Whether an explicit transaction is open after the statement has ended well, for a library that does not say so.
    pub fn leaves_open(&self, was_open: bool) -> bool {
        let has = |word: &str| self.sql.split(|c: char| !c.is_alphanumeric()).any(|one| one.eq_ignore_ascii_case(word));
        match self.effect {
            Effect::Opens => true,
            // To a savepoint, or into the next transaction.
            Effect::Commits | Effect::RollsBack => was_open && (has("to") || has("chain") && !has("no")),
            Effect::Reads | Effect::Writes => was_open,
        }
    }
}

/// Splits the text of a message into its statements, each in the engine's words.
///
/// Of a message that travels as text: [`StatementOp::text`](super::StatementOp::text). One that cannot be read, such as
/// a quote that is not closed, is left to the engine as a whole.
pub fn split_message(text: &str, dialect: &dyn Dialect) -> Vec<MessagePart> {
    let Ok(items) = split_script(text, References::Nowhere) else { return vec![make_message_part(text, "", dialect)] };
    let statements = items.iter().filter_map(|item| match item {
        Item::Sql(sql) => Some(make_message_part(&sql.pieces.concat(), sql.heads.first()?, dialect)),
        Item::Meta { .. } => None,
    });
    statements.collect()
}

/// A statement around the variables that it names as `:name`.
pub(crate) struct NamingStatement {
    /// The text before each name, and after the last.
    pub(crate) pieces: Vec<String>,
    /// The names, each with its position in the whole text.
    pub(crate) names: Vec<(String, usize)>,
}

/// Splits a text into statements, and finds the variables that they name outside quotes and comments.
///
/// # Errors
/// A quote or a comment that is not closed: where it began, and what.
pub(crate) fn find_variables(text: &str) -> Result<Vec<NamingStatement>, (usize, String)> {
    let statements = split_script(text, References::OutsideQuotes)?.into_iter().filter_map(|item| match item {
        Item::Sql(sql) => Some(NamingStatement { pieces: sql.pieces, names: sql.references }),
        Item::Meta { .. } => None,
    });
    Ok(statements.collect())
}

/// Makes one statement of a message, in the engine's own words, with its effect.
fn make_message_part(sql: &str, head: &str, dialect: &dyn Dialect) -> MessagePart {
    MessagePart {
        sql: dialect.translate_statement(sql).into_owned(),
        parameters: Vec::new(),
        effect: Effect::of_head(head),
    }
}

/// Which implicit transactions are sure to be committed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Implicit {
    All,
    Writes,
    Ignored,
}

impl ScriptStatement {
    /// Names of tables and other things that the statement makes when it runs.
    pub fn created_names(&self) -> Vec<String> {
        created_names(&self.pieces.join("?"))
    }

    /// SQL of the statement as an engine wants it prepared, with placeholders.
    pub fn sql_text(&self, dialect: &dyn Dialect) -> String {
        let mut text = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                text.push_str(&dialect.placeholder(number));
            }
            text.push_str(piece);
        }
        dialect.translate_statement(&text).into_owned()
    }

    /// What each of the statements in the text does, by its first word.
    fn effects(&self) -> impl Iterator<Item = Effect> {
        self.heads.iter().filter(|head| !head.is_empty()).map(|head| Effect::of_head(head))
    }

    /// Splits the message into its statements, each in the engine's own words with its parameters.
    pub fn message_parts(&self, dialect: &dyn Dialect) -> Vec<MessagePart> {
        let mut joints = self.joints.iter().copied();
        let mut heads = self.heads.iter();
        let mut parts = Vec::new();
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        let mut end = |sql: &mut String, parameters: &mut Vec<usize>| {
            let head = heads.next().map_or("", String::as_str);
            let text = std::mem::take(sql);
            let text = text.trim().trim_end_matches(';').trim_end();
            let parameters = std::mem::take(parameters);
            // Without a word it is a comment, or nothing.
            if !head.is_empty() || !parameters.is_empty() {
                parts.push(MessagePart {
                    sql: dialect.translate_statement(text).into_owned(),
                    parameters,
                    effect: Effect::of_head(head),
                });
            }
        };
        let mut joint = joints.next();
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                parameters.push(number - 1);
                sql.push_str(&dialect.placeholder(parameters.len()));
            }
            let mut from = 0;
            while let Some((_, place)) = joint.filter(|(of, _)| *of == number) {
                sql.push_str(piece.get(from..place).unwrap_or_default());
                end(&mut sql, &mut parameters);
                from = place;
                joint = joints.next();
            }
            sql.push_str(piece.get(from..).unwrap_or_default());
        }
        end(&mut sql, &mut parameters);
        parts
    }

    /// Number of the statement's parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters.len()
    }

    /// Fills in what the statement asks of the server and leaves behind, outside and inside a transaction.
    pub(super) fn with_effects(mut self) -> ScriptStatement {
        self.after = [false, true].map(|explicit| self.effects_after(explicit));
        self
    }

    /// Computes what the statement asks of the server and leaves behind; `explicit`: a transaction is open before.
    fn effects_after(&self, mut explicit: bool) -> After {
        let (mut wrote, mut implicit) = (false, false);
        let mut asked = RequestedWork::default();
        for effect in self.effects() {
            asked.statements += 1;
            asked.commits += u64::from(effect == Effect::Commits);
            asked.rollbacks += u64::from(effect == Effect::RollsBack);
            match effect {
                Effect::Opens => explicit = true,
                Effect::Commits | Effect::RollsBack => {
                    asked.transactions += 1;
                    (explicit, wrote, implicit) = (false, false, false);
                }
                Effect::Writes => (wrote, implicit) = (wrote || !explicit, implicit || !explicit),
                Effect::Reads => implicit |= !explicit,
            }
        }
        asked.transactions += u64::from(implicit && !explicit);
        After { explicit, wrote: wrote && !explicit, asked }
    }

    /// Whether the statement's first words say what transactions it has, so that they can be counted.
    fn countable_transactions(&self) -> Countable {
        let text = self.pieces.join(" ").to_ascii_lowercase();
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let rolls_back = self.effects().any(|effect| effect == Effect::RollsBack);
        if words.any(|word| matches!(word, "chain" | "prepared" | "prepare") || (rolls_back && word == "to")) {
            return Countable::No(
                "a statement begins or ends a transaction in a way that its first word does not tell",
            );
        }
        if self.heads.iter().all(|head| head.is_empty() || PLAIN.contains(&head.as_str())) {
            Countable::Exactly
        } else {
            Countable::AtLeast("a statement may run transactions of its own")
        }
    }

    /// Counts the commits that the server sees, and says whether a transaction is open afterwards.
    ///
    /// Statements in one message are one transaction unless they say otherwise.
    fn commits_and_state(&self, mut explicit: bool, implicit_ones: Implicit) -> (u64, bool) {
        let mut commits = 0;
        let mut implicit = false;
        for effect in self.effects() {
            match effect {
                Effect::Opens => explicit = true,
                Effect::Commits => (commits, explicit, implicit) = (commits + 1, false, false),
                Effect::RollsBack => (explicit, implicit) = (false, false),
                Effect::Writes => implicit |= !explicit && implicit_ones != Implicit::Ignored,
                Effect::Reads => implicit |= !explicit && implicit_ones == Implicit::All,
            }
        }
        (commits + u64::from(implicit), explicit)
    }
}

impl Program {
    /// Whether a script sends several statements in one message, joined by `\;`.
    pub(super) fn joins_statements(&self) -> bool {
        self.statements.iter().any(|statement| !statement.joints.is_empty())
    }

    /// Makes a program without scripts.
    pub(super) fn empty(options: &ScriptOptions) -> Program {
        Program {
            scripts: Vec::new(),
            steps: Vec::new(),
            statements: Vec::new(),
            names: Vec::new(),
            initial: Vec::new(),
            automatic: Automatic::default(),
            protocol: options.protocol,
            debug: options.debug,
            check: None,
            known: Vec::new(),
            clients: options.clients.max(1),
            retry: options.retry,
            tables: options.tables,
            depth: options.depth,
            dictionaries: Vec::new(),
            rule: TurnRule::default(),
            kinds: Vec::new(),
            native: None,
            notes: Vec::new(),
        }
    }

    /// Statements of all scripts, by number.
    pub fn statements(&self) -> &[ScriptStatement] {
        &self.statements
    }

    /// How the program's statements travel.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Number of transactions that a client sends before it waits for the first; 1 is no pipeline.
    pub fn pipeline_depth(&self) -> u32 {
        self.depth.max(1)
    }

    /// Whether a run of the program is checked by this query.
    pub fn is_checked_by(&self, sql: &str) -> bool {
        self.check_queries().iter().any(|question| question == sql)
    }

    /// Lists the queries by which a run of the program is checked.
    pub fn check_queries(&self) -> Vec<String> {
        let of_script = self.check.iter().map(|check| check.sql);
        let of_rows = self.row_check_queries();
        let own = self.native.iter().flat_map(|native| native.check_queries());
        of_script.chain(of_rows).map(str::to_owned).chain(own).collect()
    }

    /// Lists the check's queries whose answers grow with every run.
    pub fn growing_queries(&self) -> Vec<String> {
        let of_script = self.check.iter().map(|check| check.sql.to_owned());
        of_script.chain(self.native.iter().flat_map(|native| native.growing_queries())).collect()
    }

    /// Whether any statement writes.
    pub fn has_writes(&self) -> bool {
        self.statements.iter().any(|statement| statement.effects().any(|effect| effect == Effect::Writes))
    }

    /// Whether the transactions of a run can be counted from what its scripts say: exactly, at least, or not.
    pub fn countable_transactions(&self) -> Countable {
        let pipelined = if self.has_pipeline() {
            Countable::AtLeast("statements of a pipeline share a transaction")
        } else {
            Countable::Exactly
        };
        let tells = self.native.as_ref().is_some_and(|native| native.reports_server_work());
        self.statements
            .iter()
            .map(|statement| match statement.countable_transactions() {
                Countable::AtLeast(_) if tells => Countable::Exactly,
                known => known,
            })
            .fold(pipelined, |one: Countable, other: Countable| match (one, other) {
                (Countable::No(reason), _) | (_, Countable::No(reason)) => Countable::No(reason),
                (Countable::AtLeast(reason), _) | (_, Countable::AtLeast(reason)) => Countable::AtLeast(reason),
                _ => Countable::Exactly,
            })
    }

    /// Whether statements are sent before the one before them has ended.
    fn has_pipeline(&self) -> bool {
        self.pipeline_depth() > 1 || self.steps.iter().any(|step| matches!(step.command, ScriptCommand::StartPipeline))
    }

    /// Computes the fewest commits of a transaction that the server sees.
    ///
    /// One for a statement outside an explicit transaction, one for a `COMMIT`. In a pipeline reads are committed together
    /// with what follows.
    pub fn commits_per_transaction(&self) -> u64 {
        let has_pipeline = self.steps.iter().any(|step| matches!(step.command, ScriptCommand::StartPipeline));
        let implicit = match self.pipeline_depth() {
            _ if has_pipeline => Implicit::Ignored,
            1 => Implicit::All,
            _ => Implicit::Writes,
        };
        // Jumps go forward only, so the counts from each step to the end can be filled in from behind: first outside
        // an explicit transaction, then inside one.
        let mut to_the_end = vec![[0u64; 2]; self.steps.len() + 1];
        for (at, step) in self.steps.iter().enumerate().rev() {
            to_the_end[at] = match &step.command {
                ScriptCommand::End => [0, 0],
                ScriptCommand::Jump(target) => to_the_end[*target],
                ScriptCommand::JumpUnless(_, target) => {
                    let (here, there) = (to_the_end[at + 1], to_the_end[*target]);
                    [here[0].min(there[0]), here[1].min(there[1])]
                }
                ScriptCommand::Execute(number) => [false, true].map(|explicit| {
                    let (commits, explicit) = self.statements[*number].commits_and_state(explicit, implicit);
                    commits + to_the_end[at + 1][usize::from(explicit)]
                }),
                _ => to_the_end[at + 1],
            };
        }
        let chosen = self.scripts.iter().filter(|script| script.weight > 0);
        chosen.map(|script| to_the_end[script.start][0]).min().unwrap_or_default()
    }
}
