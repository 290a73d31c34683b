//! `etalon sqlio` and `etalon run FILE.bat`: a plan around SQLIO's command lines.

mod exact;
mod keys;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use formats::sqlio::{BatchRun, Command, ParamLine, Pool, Wording, parse_command, parse_params, parse_script};
use report::number::count_noun;

use crate::ask::words;
use crate::commands::import::in_file;
use crate::error::CliError;

pub use exact::render_outputs;

/// Default system name.
const SYSTEM: &str = "disk";
/// Rounds of a batch's quick form: the fewest with intervals.
const QUICK_ROUNDS: u32 = 2;
/// Longest run of `--quick`.
const QUICK_SECONDS: u32 = 2;
/// Largest file of `--quick`.
const QUICK_MB: u64 = 256;

/// The author's runs.
#[derive(Clone, Debug)]
pub struct Called {
    pub runs: Vec<CalledRun>,
    pub wording: Wording,
}

#[derive(Clone, Debug)]
pub struct CalledRun {
    pub benchmark: String,
    pub depth: u32,
    pub command: Command,
    pub pools: Vec<Pool>,
}

#[derive(Debug)]
pub struct Wrapped {
    pub text: String,
    pub path: Option<String>,
    pub called: Called,
    /// Remarks on the translation, as sentences.
    pub notes: Vec<String>,
}

/// Makes a plan for the words after `sqlio`.
pub fn wrap_words(words: &[String]) -> Result<Wrapped, CliError> {
    if let Some(own) = words.iter().find(|word| word.starts_with("--")) {
        let error = CliError::user_error(format!("{own} among SQLIO's options"));
        return Err(error.with_hint("étalon's own options stand before SQLIO's: `etalon sqlio --sqlio-exact -kR …`"));
    }
    let command = parse_command(words).map_err(|error| CliError::from(&error))?;
    let run = BatchRun { line: 1, label: None, command, output: None, pause_s: 0 };
    let mut draft = Draft::default();
    draft.add_run(&run, None)?;
    draft.finish("sqlio", None)
}

/// Makes a plan for the SQLIO lines of a batch file; fails with all lines that are not understood.
pub fn wrap_batch(file: &str) -> Result<Wrapped, CliError> {
    let bytes = words::read_text(file).map_err(|error| CliError::user_error(format!("cannot read {file}: {error}")))?;
    let script = parse_script(&bytes);
    if let Some(problem) = script.problems.first() {
        let mut error = CliError::user_error(format!("{file}:{}: {}", problem.line, problem.what));
        error.hints.extend(problem.hint.clone());
        for other in script.problems.iter().skip(1).take(4) {
            error.context.push(format!("{file}:{}: {}", other.line, other.what));
        }
        return Err(error);
    }
    if script.runs.is_empty() {
        let error = CliError::user_error(format!("{file} runs no sqlio"));
        return Err(error.with_hint("a line is: sqlio -kR -s300 -frandom -o8 -b8 -LS -BH -Fparam.txt"));
    }
    let first = script.runs.first().map(|run| run.command.seconds);
    let has_own_lengths = script.runs.iter().any(|run| Some(run.command.seconds) != first);
    let mut draft = Draft { has_own_lengths, ..Draft::default() };
    for run in &script.runs {
        draft
            .add_run(run, Some(Path::new(file)))
            .map_err(|error| CliError { message: format!("{file}:{}: {}", run.line, error.message), ..error })?;
    }
    if script.runs.iter().any(|run| run.pause_s > 0) {
        draft.add_note("the pauses between runs are left out: étalon waits until the disk has settled".to_owned());
    }
    let stem = Path::new(file).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let path = std::path::absolute(file).map_or_else(|_| file.to_owned(), |path| path.display().to_string());
    draft.finish(&stem, Some(path))
}

/// The runs' common keys, without the depth.
#[derive(Debug)]
struct Group {
    name: String,
    keys: String,
    depths: Vec<u32>,
    seconds: u32,
    size_mb: Option<u64>,
    quick_targets: Option<String>,
}

#[derive(Debug, Default)]
struct Draft {
    groups: Vec<Group>,
    runs: Vec<CalledRun>,
    /// True if the runs are of different lengths: then each group has a `duration`.
    has_own_lengths: bool,
    notes: Vec<String>,
}

impl Draft {
    /// Adds a note, once.
    fn add_note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a command line to the draft, as a new benchmark or as another depth; `batch` is the file that it is in.
    fn add_run(&mut self, run: &BatchRun, batch: Option<&Path>) -> Result<(), CliError> {
        let command = &run.command;
        let params = command.param_file.as_deref().map(|name| read_params(name, batch)).transpose()?;
        let pools = command.thread_pools(params.as_deref()).map_err(|error| CliError::from(&error))?;
        let mut keys = keys::plan_keys(command, &pools)?;
        let mut name = keys::command_name(command);
        if self.has_own_lengths {
            // Writing to a string does not fail.
            let _ = writeln!(keys.text, "duration = \"{}s\"", command.seconds);
            let _ = write!(name, "_{}s", command.seconds);
        }
        keys.notes.into_iter().chain(command.warnings.iter().cloned()).for_each(|note| self.add_note(note));
        let depth = command.outstanding.unwrap_or(1);
        let group = match self.groups.iter_mut().find(|group| group.keys == keys.text) {
            Some(group) => group,
            None => {
                let name = free_name(&name, &self.groups);
                let keys::Keys { text, size_mb, quick_targets, .. } = keys;
                let seconds = command.seconds;
                self.groups.push(Group { name, keys: text, depths: Vec::new(), seconds, size_mb, quick_targets });
                let last = self.groups.len() - 1;
                &mut self.groups[last]
            }
        };
        if group.depths.contains(&depth) {
            let note = format!("{} with -o{depth} stands twice: étalon repeats every run by its rounds", group.name);
            self.add_note(note);
            return Ok(());
        }
        group.depths.push(depth);
        let benchmark = group.name.clone();
        self.runs.push(CalledRun { benchmark, depth, command: command.clone(), pools });
        Ok(())
    }

    /// Writes the plan of all command lines.
    fn finish(mut self, name: &str, path: Option<String>) -> Result<Wrapped, CliError> {
        // JSON strings are TOML strings and keys.

        let folder = std::path::absolute(".").unwrap_or_else(|_| PathBuf::from("."));
        let url = format!("disk:{}", folder.display());
        let mut text = format!(
            "name = {}\n\n[systems.{SYSTEM}]\nurl = {}\n",
            crate::smack::quote_toml(name),
            crate::smack::quote_toml(&url)
        );
        // Writing to a string does not fail.
        for group in &self.groups {
            let depths: Vec<String> = group.depths.iter().map(u32::to_string).collect();
            let _ = write!(
                text,
                "\n[[benchmarks]]\nname = {}\nworkload = \"disk\"\n{}depth = [{}]\n",
                crate::smack::quote_toml(&group.name),
                group.keys,
                depths.join(", ")
            );
        }
        let seconds = self.groups.first().map_or(30, |group| group.seconds);
        let _ = write!(
            text,
            "\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"{seconds}s\"\n\n[quick]\n\
             schedule.rounds = {}\nschedule.duration = \"{}s\"\n",
            if path.is_some() { QUICK_ROUNDS } else { 1 },
            seconds.min(QUICK_SECONDS)
        );
        let own_lengths = if self.has_own_lengths { self.groups.as_slice() } else { &[] };
        for group in own_lengths {
            let quick = group.seconds.min(QUICK_SECONDS);
            let _ = writeln!(text, "\"benchmarks.{}.duration\" = \"{quick}s\"", group.name);
        }
        if self.groups.iter().filter_map(|group| group.size_mb).any(|mb| mb > QUICK_MB) {
            let _ = writeln!(text, "\"benchmarks.*.size_mb\" = {QUICK_MB}");
        }
        for group in &self.groups {
            if let Some(targets) = &group.quick_targets {
                let _ = writeln!(text, "\"benchmarks.{}.targets\" = {}", group.name, crate::smack::quote_toml(targets));
            }
        }
        if path.is_some() {
            let runs = count_noun(self.runs.len(), "run");
            let groups = count_noun(self.groups.len(), "group");
            self.add_note(format!(
                "{runs} of SQLIO in {groups}, each once, as the file has it: `--set schedule.rounds=6` gives verdicts"
            ));
            if self.has_own_lengths {
                let how = "`--set 'benchmarks.*.duration=TIME'` makes all runs equally long";
                self.add_note(format!(
                    "the lines ask for runs of different lengths, and each group has its own: {how}"
                ));
            }
        }
        let called = Called { runs: self.runs, wording: Wording::AsSqlio };
        Ok(Wrapped { text, path, called, notes: self.notes })
    }
}

/// The name itself, or numbered if a group has it already.
fn free_name(name: &str, groups: &[Group]) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| groups.iter().all(|group| group.name != *name))
        .unwrap_or_default()
}

/// Reads a parameter file at the given path, or in the folder of the batch file.
fn read_params(name: &str, batch: Option<&Path>) -> Result<Vec<ParamLine>, CliError> {
    let here = PathBuf::from(name);
    let last = name.rsplit(['\\', '/']).next().unwrap_or(name);
    let next_to_batch = batch.and_then(Path::parent).map(|folder| folder.join(last));
    let path = [Some(here.clone()), next_to_batch].into_iter().flatten().find(|path| path.is_file()).unwrap_or(here);
    let bytes = std::fs::read(&path)
        .map_err(|error| CliError::user_error(format!("cannot read the parameter file {name}: {error}")))?;
    parse_params(&formats::text::decode(&bytes)).map_err(|error| in_file(&path, &error))
}
