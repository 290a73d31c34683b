//! What other tools call an option or a verb, and what to type here: the whole line, with the user's own words.

mod line;
mod words;

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Parser as _};

use self::line::{Line, is_option, is_sqlite};
pub use self::line::{as_system, has_sqlite_magic, shell_quote, typed_line};
use self::words::{For, Meaning, SETTINGS, VERBS};
use crate::args::Cli;
use crate::error::CliError;
use crate::results::is_store;

/// Options that are never proposed for a slip of the pen: each gives something up.
const NEVER_PROPOSED: [&str; 4] =
    ["--i-will-lose-the-data-on", "--allow-unequal-durability", "--allow-sequential-order", "--allow-different-rows"];

/// Folder of a line that runs and then judges.
const CI_FOLDER: &str = "ci-results";

/// Makes the error that shows the line to type in place of arguments that étalon does not take.
///
/// # Errors
/// There is no such line: clap's own error, without its guesses that lead nowhere.
pub fn suggest_line(arguments: &[String], error: clap::Error) -> Result<CliError, clap::Error> {
    let mut etalon = Cli::command();
    etalon.build();
    let answered = match named_verb(arguments, &etalon) {
        Some((verb, rest)) if etalon.find_subcommand(&verb).is_some() => {
            explain_own_verb(&verb, &rest, &etalon, error.kind())
        }
        Some((verb, rest)) if error.kind() == ErrorKind::InvalidSubcommand => explain_other_verb(&verb, &rest, &etalon),
        _ if matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) => {
            explain_missing_verb(arguments, &etalon)
        }
        _ => None,
    };
    answered.ok_or_else(|| without_guesses(error))
}

/// The words of this command line, without the program's name.
pub fn process_arguments() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Makes the two lines to type that import files of other tools and compare them.
pub fn import_and_compare(files: &[String]) -> [String; 2] {
    let store = imported_name(files);
    let import = ["import".to_owned()].into_iter().chain(files.iter().cloned()).chain(["-o".to_owned(), store.clone()]);
    [typed_line(&import.collect::<Vec<_>>()), typed_line(&["compare".to_owned(), store])]
}

/// Names the store for imported files: `old-vs-new.etalon` for `a/old.txt` and `b/new.txt`, numbered where that is taken.
pub fn imported_name(files: &[String]) -> String {
    let mut names: Vec<String> = Vec::new();
    for file in files.iter().take(2) {
        let label = file.split_once('=').map(|(label, _)| label.to_owned());
        let label = if Path::new(file).exists() { None } else { label };
        let stem = || Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name: String = label
            .or_else(stem)
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .collect();
        let name = name.trim_matches(['-', '.']).to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let name = if names.is_empty() { "imported".to_owned() } else { names.join("-vs-") };
    let numbered = (2..).map(|number| format!("{name}-{number}.{}", store::EXTENSION));
    std::iter::once(format!("{name}.{}", store::EXTENSION))
        .chain(numbered)
        .find(|file| !Path::new(file).exists())
        .unwrap_or_default()
}

/// Splits the first word that is no option from the others, if it is a verb of étalon's or of another tool.
fn named_verb(arguments: &[String], etalon: &Command) -> Option<(String, Vec<String>)> {
    let at = arguments.iter().position(|word| !is_option(word))?;
    let verb = arguments[at].clone();
    let is_known =
        etalon.find_subcommand(&verb).is_some() || VERBS.iter().any(|(names, ..)| names.contains(&verb.as_str()));
    let mut rest = arguments.to_vec();
    rest.remove(at);
    is_known.then_some((verb, rest))
}

/// Whether one of the words is a system's URL or an SQLite file, which only `run` and its like take.
fn names_systems(words: &[String]) -> bool {
    words.iter().any(|word| !is_option(word) && (is_url(word) || is_sqlite(word)))
}

/// Whether a word can only be a system's URL.
pub fn is_url(word: &str) -> bool {
    word.contains("://") || word.starts_with("sqlite:")
}

/// Options with which a comparison is judged.
const JUDGING: [&str; 5] = ["--fail-if-slower", "--fail-if", "--fail-on", "--max-regression", "--limit"];

/// Finds the verb that a line means, with a note about it: `compare` of systems means `run`, `compare` with limits `gate`.
fn meant_verb<'v>(verb: &'v str, rest: &[String]) -> (&'v str, &'static str) {
    let judges = |word: &String| JUDGING.iter().any(|option| word.split('=').next() == Some(option));
    match verb {
        "compare" | "gate" if names_systems(rest) => ("run", "`etalon run` measures systems and compares them"),
        "queries" if rest.iter().filter(|word| !is_option(word)).count() > 1 => {
            ("run", "`etalon run` times each query of a folder")
        }
        "compare" if rest.iter().any(judges) => ("gate", "`etalon gate` passes or fails"),
        verb => (verb, ""),
    }
}

/// Makes the `run` line that measures what this command line names as if it were stores; `None` if étalon does not take it.
pub fn suggest_run_line() -> Option<String> {
    let mut words = process_arguments();
    let verb = words.iter().position(|word| !is_option(word))?;
    words.remove(verb);
    let mut etalon = Cli::command();
    etalon.build();
    let mut line = Line::read("run", &words, &etalon);
    add_script(&mut line);
    is_accepted_line(&line).then(|| line.typed_text())
}

/// Makes the error for a verb of étalon's with options that it does not have, or without those that it needs.
fn explain_own_verb(verb: &str, rest: &[String], etalon: &Command, kind: ErrorKind) -> Option<CliError> {
    let (meant, about) = meant_verb(verb, rest);
    let mut line = Line::read_for(meant, verb, rest, etalon);
    line.add_note(about);
    let is_answered = match kind {
        ErrorKind::DisplayHelp => names_a_host(&line, rest),
        ErrorKind::UnknownArgument => !line.strange.is_empty() || !line.about.is_empty() || meant != verb,
        ErrorKind::MissingRequiredArgument => {
            !line.strange.is_empty() || (matches!(verb, "import" | "capacity") && !line.words.is_empty())
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => !line.strange.is_empty(),
        _ => false,
    };
    if !is_answered {
        return None;
    }
    let missing = add_missing_options(&mut line);
    let quoted: Vec<String> = line.strange.iter().map(|option| format!("`{option}`")).collect();
    let message = match (quoted.as_slice(), missing) {
        _ if verb == "queries" && meant == "run" => "`etalon queries` takes one URL".to_owned(),
        _ if meant == "run" && verb != "run" => format!("`etalon {verb}` takes stores, and no systems"),
        ([], Some(missing)) => format!("`etalon {verb}` asks for {missing}"),
        ([], None) => format!("`etalon {verb}` takes one store"),
        (options, _) => format!("`etalon {verb}` has no {}", options.join(", ")),
    };
    Some(add_suggested_line(CliError::user_error(message), line))
}

/// Whether `-h` is followed by a host, as database clients take it, and asks for no help.
fn names_a_host(line: &Line, rest: &[String]) -> bool {
    let host = rest.iter().position(|word| word == "-h").and_then(|at| rest.get(at + 1));
    let is_address = host.is_some_and(|host| host == "localhost" || (host.contains('.') && !Path::new(host).exists()));
    line.strange.iter().any(|option| option == "-h")
        && (is_address
            || line.strange.iter().any(|option| ["-p", "-U", "-d", "--port", "--user"].contains(&option.as_str())))
}

/// Adds the option without which a verb does not work; returns what was missing.
fn add_missing_options(line: &mut Line) -> Option<&'static str> {
    let (missing, option, value) = match line.verb.as_str() {
        "import" if !line.has_option(&["-o", "--output"]) => ("the store to write", "-o", imported_name(&line.words)),
        "capacity" if !line.has_option(&["--p99"]) => {
            ("the response time that is to be kept, `--p99 <TIME>`", "--p99", "20ms".to_owned())
        }
        _ => return None,
    };
    line.options.extend([option.to_owned(), value]);
    Some(missing)
}

/// Makes the error for a verb of another tool, with étalon's line in its place; `None` for an unknown verb.
fn explain_other_verb(verb: &str, rest: &[String], etalon: &Command) -> Option<CliError> {
    let (_, meaning, about) = VERBS.iter().find(|(names, ..)| names.contains(&verb))?;
    let error = CliError::user_error(format!("étalon has no command `{verb}`"));
    let read = |verb: &str| {
        let mut line = Line::read(verb, rest, etalon);
        line.add_note(about);
        line
    };
    Some(match meaning {
        Meaning::Nothing => error.with_hint(*about),
        Meaning::Version => error.with_hint("type `etalon --version`"),
        Meaning::Verb(own) => {
            let mut line = read(own);
            add_missing_options(&mut line);
            if line.words.is_empty() {
                return Some(error.with_hint(*about).with_hint(format!("`etalon {own} --help` has examples")));
            }
            add_suggested_line(error, line)
        }
        Meaning::Steps => suggest_steps(error, read("run"), read("capacity")),
        Meaning::Backup => {
            let mut line = read("run");
            line.is_backup = true;
            add_suggested_line(error, line)
        }
        Meaning::Ci if !rest.is_empty() && rest.iter().all(|word| is_option(word) || is_store(word)) => {
            add_suggested_line(error, read("gate"))
        }
        Meaning::Ci => {
            let mut line = read("run");
            add_script(&mut line);
            leave_out_strange_words(&mut line);
            let text = write_run_and_gate_line(line.with_folder(), &line.gate_options());
            line.about.iter().fold(error, |error, about| error.with_hint(about)).with_hint(format!("type `{text}`"))
        }
        Meaning::List => {
            let mut line = read("list");
            if line.words.is_empty() {
                line.words.push(".".to_owned());
            }
            add_suggested_line(error, line)
        }
        Meaning::Compare => suggest_compare(error, read("compare"), read("run")),
    })
}

/// Adds the line that runs several numbers of clients to an error, and the one that looks for the most.
fn suggest_steps(error: CliError, mut run: Line, mut capacity: Line) -> CliError {
    if !run.has_option(&["-c", "--clients", "--p99"]) {
        run.options.extend(["--clients".to_owned(), "1,2,4,8".to_owned()]);
    }
    add_missing_options(&mut capacity);
    add_script(&mut capacity);
    let error = add_suggested_line(error, run);
    if is_accepted_line(&capacity) { error.with_hint(format!("or `{}`", capacity.typed_text())) } else { error }
}

/// Whether a word is a file that is neither a store nor an SQLite database.
fn is_foreign_file(word: &String) -> bool {
    let path = Path::new(word);
    path.is_file() && !is_store(word) && !has_sqlite_magic(path)
}

/// Adds the line that compares to an error: stores are compared, other files imported first, and systems run.
fn suggest_compare(error: CliError, line: Line, run: Line) -> CliError {
    match line.words.first() {
        None => error
            .with_hint("`etalon list .` has the stores in this folder")
            .with_hint("`etalon compare --help` has examples"),
        Some(first) if is_store(first) => add_suggested_line(error, line),
        Some(_) if line.words.iter().all(|word| is_strange(word)) => {
            error.with_hint("stores are named by their files: `etalon list etalon-results` has them")
        }
        Some(_) if line.words.iter().all(is_foreign_file) => {
            let [import, compare] = import_and_compare(&line.words);
            error.with_hint(format!("type `{import}`, then `{compare}`"))
        }
        Some(_) => add_suggested_line(error, run),
    }
}

/// Makes the error for a verb of another tool after one of étalon's, as in `etalon run backup URL`; `None` where there is none.
pub fn explain_second_verb(word: &str) -> Option<CliError> {
    let mut words = process_arguments();
    let at = words.iter().position(|other| other == word).filter(|at| *at > 0)?;
    words.remove(at);
    let verb = words.iter().position(|word| !is_option(word))?;
    words.remove(verb);
    let mut etalon = Cli::command();
    etalon.build();
    let is_known = VERBS.iter().any(|(names, meaning, _)| names.contains(&word) && *meaning != Meaning::List);
    let answered = if is_known { explain_other_verb(word, &words, &etalon) } else { None };
    answered.map(|error| CliError { message: format!("`{word}` is neither a plan, a script nor a system"), ..error })
}

/// Makes the error for a line without a verb: systems, scripts or plans are to be run, stores compared.
fn explain_missing_verb(arguments: &[String], etalon: &Command) -> Option<CliError> {
    let catalog = conductor::Registry::built_in().catalog();
    let first = arguments
        .iter()
        .find(|word| is_store(word) || is_sqlite(word) || crate::ask::words::classify_word(word, &catalog).is_ok())?;
    let verb = if is_store(first) { "compare" } else { "run" };
    let line = Line::read(verb, arguments, etalon);
    let shown = line::mask_passwords(&arguments[0]);
    Some(add_suggested_line(
        CliError::user_error(format!("`{shown}` is no command: `etalon {verb}` is missing before it")),
        line,
    ))
}

/// Adds a line's notes and its text to an error as hints, if étalon takes the line.
fn add_suggested_line(error: CliError, mut line: Line) -> CliError {
    if line.is_backup {
        name_systems_of_backup(&mut line);
    } else {
        add_script(&mut line);
    }
    leave_out_strange_words(&mut line);
    let unknown: Vec<String> = line.unknown.iter().map(|option| format!("`{option}`")).collect();
    let error = line.about.iter().fold(error, |error, about| error.with_hint(about));
    let text = match (&line.junit, line.judged.is_empty()) {
        (Some(file), _) => write_run_and_gate_line(
            line.with_folder(),
            &format!("{} --format junit > {}", line.gate_options(), shell_quote(file)),
        ),
        (None, false) => write_run_and_gate_line(line.with_folder(), &line.gate_options()),
        (None, true) => line.typed_text(),
    };
    let help = format!("`etalon {} --help` lists what it takes", line.verb);
    match (is_accepted_line(&line), unknown.is_empty()) {
        (true, true) => error.with_hint(format!("type `{text}`")),
        (true, false) => error.with_hint(format!("{help}; without {}: `{text}`", unknown.join(", "))),
        (false, _) => error.with_hint(help),
    }
}

/// Takes the words that are nothing here out of a line that measures: settings become `--set-b`, others are listed as unknown.
/// The line would fail on the first of them. Where all are, they may be folders to come.
fn leave_out_strange_words(line: &mut Line) {
    if For::for_verb(&line.verb) == Some(For::Measuring) && !line.words.iter().all(|word| is_strange(word)) {
        let strange: Vec<String> = line.words.extract_if(.., |word| is_strange(word)).collect();
        let (settings, strange): (Vec<String>, Vec<String>) = strange.into_iter().partition(|word| is_setting(word));
        for setting in settings {
            line.add_note(SETTINGS);
            line.options.extend(["--set-b".to_owned(), setting]);
        }
        line.unknown.extend(strange.iter().map(|word| line::mask_passwords(word)));
    }
}

/// Whether a word is a setting's name and value, such as `work_mem=64MB`.
fn is_setting(word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_.".contains(letter));
    is_name && !value.is_empty() && !value.contains(['/', ':'])
}

/// Whether a word is neither a system, nor a plan, nor what is asked of one.
/// A file that is not there may be meant all the same.
fn is_strange(word: &str) -> bool {
    let is_file = Path::new(word).extension().is_some() && !word.contains('=');
    let is_path = word.contains(['/', std::path::MAIN_SEPARATOR]);
    !is_file && !is_path && crate::ask::words::classify_word(word, &conductor::Registry::built_in().catalog()).is_err()
}

/// Tests whether étalon's parser accepts a line.
fn is_accepted_line(line: &Line) -> bool {
    Cli::try_parse_from(std::iter::once("etalon".to_owned()).chain(line.arguments())).is_ok()
}

/// Adds `--script my.sql` where a system is an SQLite file that exists: étalon makes tables in files of its own alone.
fn add_script(line: &mut Line) {
    if For::for_verb(&line.verb) == Some(For::Measuring)
        && line.words.iter().any(|word| file_of_sqlite(word).is_some())
        && !(line.has_option(&["--script", "--queries"]) || line.words.iter().any(|word| is_load(word)))
    {
        line.add_note(
            "in a database of yours étalon makes no tables: `my.sql` is a script of yours on those that are there",
        );
        line.options.splice(0..0, ["--script".to_owned(), "my.sql".to_owned()]);
    }
}

/// Whether a word says what is measured: a plan, a script, a folder of queries or a capture.
pub fn is_load(word: &str) -> bool {
    let path = Path::new(word);
    is_plan(word)
        || crate::ask::words::file_ending(word) == "sql"
        || workloads::queries::has_queries(path)
        || crate::commands::show_capture::is_capture(path)
}

/// The file of `sqlite:FILE` or `NAME=sqlite:FILE`, if it exists.
fn file_of_sqlite(word: &str) -> Option<&Path> {
    let (_, file) = word.split_once("sqlite:")?;
    Some(Path::new(file)).filter(|file| file.is_file())
}

/// Rewrites a line to the built-in plan of backups, with its words as `--system` options.
fn name_systems_of_backup(line: &mut Line) {
    if For::for_verb(&line.verb) != Some(For::Measuring) || line.words.iter().any(|word| is_plan(word)) {
        return;
    }
    let systems = std::mem::replace(&mut line.words, vec!["backup-compression".to_owned()]);
    if systems.iter().any(|system| system.contains("postgres")) {
        line.add_note("PostgreSQL copies all databases of a server: `whole_server` allows it");
        line.options.extend(["--set".to_owned(), "benchmarks.*.whole_server=true".to_owned()]);
    }
    if systems.iter().any(|system| system.contains("://") || file_of_sqlite(system).is_some()) {
        line.add_note("`tables=none` backs up the database that is there, and writes nothing into it");
        line.options.extend(["--set".to_owned(), "benchmarks.*.tables=none".to_owned()]);
    }
    for system in systems {
        line.options.extend(["--system".to_owned(), system]);
    }
}

/// Tests whether a word is a built-in plan or ends in `.toml`.
fn is_plan(word: &str) -> bool {
    crate::source::BUILT_IN.iter().any(|plan| plan.name == word) || crate::ask::words::file_ending(word) == "toml"
}

/// Makes the shell line that measures into a folder and then judges the newest store in it.
fn write_run_and_gate_line((run, folder): (String, String), options: &str) -> String {
    // The folder has a store of each time.
    format!("{run} && etalon gate \"$(ls -t {}/*.{} | head -n 1)\"{options}", shell_quote(&folder), store::EXTENSION)
}

impl Line {
    /// The options of the gate that follows the run, quoted for a shell, each after a space.
    fn gate_options(&self) -> String {
        self.judged.iter().map(|word| format!(" {}", shell_quote(word))).collect()
    }

    /// The typed line and the folder of its store; adds `-o` with a folder where the user has named none.
    fn with_folder(&self) -> (String, String) {
        let mut arguments = self.arguments();
        let named = arguments.iter().position(|word| matches!(word.as_str(), "-o" | "--output"));
        let folder = named.and_then(|at| arguments.get(at + 1).cloned()).unwrap_or_else(|| {
            arguments.extend(["-o".to_owned(), CI_FOLDER.to_owned()]);
            CI_FOLDER.to_owned()
        });
        (typed_line(&arguments), folder)
    }
}

/// Takes clap's guesses that never help, and those that are never proposed, out of its error.
fn without_guesses(mut error: clap::Error) -> clap::Error {
    if matches!(error.kind(), ErrorKind::UnknownArgument) {
        error.remove(ContextKind::Suggested);
    }
    if matches!(error.get(ContextKind::SuggestedArg), Some(ContextValue::String(option)) if NEVER_PROPOSED.contains(&option.as_str()))
    {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::words::OPTIONS;
    use super::*;

    /// What is printed for a line.
    fn said(typed: &str) -> String {
        let words: Vec<String> = shlex::split(typed).unwrap();
        let error = Cli::try_parse_from(std::iter::once("etalon".to_owned()).chain(words.iter().cloned())).unwrap_err();
        match suggest_line(&words, error) {
            Ok(error) => format!("{}\n{}", error.message, error.hints.join("\n")),
            Err(error) => error.to_string(),
        }
    }

    /// The lines are answered with these, which étalon takes.
    #[track_caller]
    fn answered(cases: &[(&str, &str)]) {
        for (typed, line) in cases {
            let said = said(typed);
            assert!(said.contains(&format!("`{line}`")), "{typed}: {line}\n{said}");
            let line = line.split(" && ").next().unwrap().split(" > ").next().unwrap();
            let parsed = Cli::try_parse_from(shlex::split(line).unwrap());
            assert!(parsed.is_ok() || line.ends_with("--version"), "{line}: {parsed:?}");
        }
    }

    #[test]
    fn verbs_of_other_tools_are_answered_with_a_line() {
        answered(&[
            ("a.db b.db", "etalon run sqlite:a.db sqlite:b.db"),
            ("postgresql://h/a postgresql://h/b -c 8", "etalon run postgresql://h/a postgresql://h/b -c 8"),
            ("bench a.db b.db", "etalon run sqlite:a.db sqlite:b.db"),
            ("test postgres://h/d --duration 60", "etalon run postgres://h/d --for 60s"),
            ("sweep a.db", "etalon run sqlite:a.db --clients 1,2,4,8"),
            ("ramp a.db", "etalon capacity sqlite:a.db --p99 20ms"),
            ("scale a.db -c 1,9", "etalon run sqlite:a.db -c 1,9"),
            ("disk dirA dirB", "etalon run dirA dirB"),
            (
                "fio --rw=randread --bs=8k --size 1G dirA",
                "etalon run dirA --set 'benchmarks.*.op=read' --set 'benchmarks.*.pattern=random' --set 'benchmarks.*.block_kb=8' --set 'benchmarks.*.size_mb=1024'",
            ),
            ("backup a.db b.db", "etalon run backup-compression --system sqlite:a.db --system sqlite:b.db"),
            ("queries reports/ a.db b.db", "etalon run reports/ sqlite:a.db sqlite:b.db"),
            (
                "ci a.db b.db",
                "etalon run sqlite:a.db sqlite:b.db -o ci-results && etalon gate \"$(ls -t ci-results/*.etalon | head -n 1)\"",
            ),
            ("check x.etalon", "etalon gate x.etalon"),
            ("convert old.txt new.txt", "etalon import old.txt new.txt -o old-vs-new.etalon"),
            ("history", "etalon list ."),
            ("ls r2", "etalon list r2"),
            ("version", "etalon --version"),
            ("diff a.etalon b.etalon", "etalon compare a.etalon b.etalon"),
            ("import old.txt new.txt", "etalon import old.txt new.txt -o old-vs-new.etalon"),
            ("capacity postgres://h/d", "etalon capacity postgres://h/d --p99 20ms"),
        ]);
        assert!(said("replay log").contains("étalon replays no recorded traffic"));
    }

    #[test]
    fn all_options_of_other_tools_are_answered_at_once() {
        answered(&[
            (
                "run a.db --concurrency 8 --duration 60 --slo 20",
                "etalon run sqlite:a.db --clients 8 --for 60s --p99 20ms",
            ),
            ("run postgres -T60 -f my.sql -n", "etalon run postgres --for 60s --script my.sql"),
            ("run postgres -D a=1 -D b=2", "etalon run postgres --set 'define=a=1, b=2'"),
            ("run postgres --jobs 4 --dry-run -o x", "etalon plan postgres --clients 4"),
            ("run -h localhost -p 5432 -U me -d bench -c 8", "etalon run postgres://me@localhost:5432/bench -c 8"),
            ("run mysql -h db1 -U me", "etalon run mysql://me@db1/"),
            ("run --rate=5 postgres", "etalon run postgres --set 'benchmarks.*.rate=5'"),
            ("run postgres --output json", "etalon run postgres --json"),
            ("run postgres --save out", "etalon run postgres --output out"),
            (
                "run a.db --codec lz4",
                "etalon run backup-compression --set 'benchmarks.*.codec=lz4' --system sqlite:a.db",
            ),
            (
                "run postgres --junit x.xml",
                "etalon run postgres -o ci-results && etalon gate \"$(ls -t ci-results/*.etalon | head -n 1)\" --format junit > x.xml",
            ),
            ("run postgres --clientz 4", "etalon run postgres --clients 4"),
            ("gate x.etalon --sla 20ms", "etalon gate x.etalon --limit 'p99 <= 20ms'"),
            (
                "gate x.etalon --fail-if 'p99 > 20ms' --threshold 5",
                "etalon gate x.etalon --limit 'p99 <= 20ms' --max-regression 5%",
            ),
            ("gate --candidate b.etalon --baseline a.etalon", "etalon gate b.etalon --baseline a.etalon"),
            ("gate a.etalon b.etalon", "etalon gate b.etalon --baseline a.etalon"),
            ("gate x.etalon --junit x.xml", "etalon gate x.etalon --format junit > x.xml"),
            ("compare x.etalon --duration 5 --threshold 5%", "etalon compare x.etalon --margin 5%"),
            (
                "compare postgres://h/a mysql://h/b -c 4 -T 10",
                "etalon run postgres://h/a mysql://h/b -c 4 --set schedule.duration=10s",
            ),
            ("compare -f my.sql sqlite:a.db sqlite:b.db", "etalon run sqlite:a.db sqlite:b.db --script my.sql"),
            ("run -a postgres://h/a -b postgres://h/b -T 60", "etalon run postgres://h/a postgres://h/b --for 60s"),
            ("run --a old=postgres://h/a --b new=postgres://h/b", "etalon run old=postgres://h/a new=postgres://h/b"),
            ("run postgres -b select-only", "etalon run postgres --script select-only"),
            (
                "compare --fail-if-slower 5% b.etalon a.etalon",
                "etalon gate a.etalon --max-regression 5% --baseline b.etalon",
            ),
            (
                "run postgres --fail-on 'p95>50ms'",
                "etalon run postgres -o ci-results && etalon gate \"$(ls -t ci-results/*.etalon | head -n 1)\" --limit 'p95 <= 50ms'",
            ),
            ("find-max postgres://h/d --slo 'p99<20ms'", "etalon capacity postgres://h/d --p99 20ms"),
            ("find-capacity --slo 'p99<20ms' postgres://h/d", "etalon capacity postgres://h/d --p99 20ms"),
            (
                "run -f my.sql@3 -f other.sql@1 -c 8 -h db1 -p 5541 -U me bench",
                "etalon run postgres://me@db1:5541/bench --script my.sql@3,other.sql@1 -c 8",
            ),
            ("script my.sql --db postgres://h/d -c 1,8", "etalon run my.sql postgres://h/d -c 1,8"),
            (
                "compare postgres://h/a postgres://h/b --target-latency p99=20ms",
                "etalon run postgres://h/a postgres://h/b --p99 20ms",
            ),
            (
                "ci --baseline today.etalon --max-regression 5% postgres://h/d",
                "etalon run postgres://h/d -o ci-results && etalon gate \"$(ls -t ci-results/*.etalon | head -n 1)\" --baseline today.etalon --max-regression 5%",
            ),
            (
                "gate x.etalon --threshold p99=20ms --threshold tps=500",
                "etalon gate x.etalon --limit 'p99 <= 20ms' --limit 'tps >= 500'",
            ),
            (
                "gate --max-p99 20ms --min-tps 500 -f my.sql postgres://h/d",
                "etalon run postgres://h/d --script my.sql -o ci-results && etalon gate \"$(ls -t ci-results/*.etalon | head -n 1)\" --limit 'p99 <= 20ms' --limit 'tps >= 500'",
            ),
            (
                "compare postgres://h/d postgres://h/d --set-b work_mem=1MB",
                "etalon run postgres://h/d --set-b work_mem=1MB",
            ),
            (
                "compare postgres://h/d --a-set jit=on --b-set jit=off -c 4",
                "etalon run postgres://h/d --set-a jit=on --set-b jit=off -c 4",
            ),
            (
                "setting synchronous_commit=off postgres://h/d",
                "etalon run postgres://h/d --set-b synchronous_commit=off",
            ),
            ("gate x.etalon --sla 'tps >= 500'", "etalon gate x.etalon --limit 'tps >= 500'"),
            ("bench --A sqlite:a.db --B sqlite:b.db", "etalon run sqlite:a.db sqlite:b.db"),
        ]);
        assert!(said("run postgres -h").contains("Usage"));
        let strange = "without `mixed`: `etalon run postgres://h/a postgres://h/b -c 8`";
        assert!(said("bench postgres://h/a postgres://h/b --workload x mixed -c 8").contains(strange));
        assert!(said("diff 1 2").contains("`etalon list etalon-results`"));
    }

    #[test]
    fn an_unknown_option_is_no_value() {
        for typed in ["run a.db --xyzzy", "list --xyzzy", "resume a b", "doctor --xyzzy", "--xyzzy"] {
            let said = said(typed);
            assert!(!said.contains("-- --") && !said.contains("as a value"), "{typed}: {said}");
        }
        assert!(said("run a.db --xyzzy --vus 4").contains("without `--xyzzy`: `etalon run sqlite:a.db --clients 4`"));
    }

    #[test]
    fn what_gives_something_up_is_never_proposed() {
        for word in ["--allow-sequental-order", "--i-will-lose-data-on", "--allow", "--allow-unequal"] {
            let said = said(&format!("run postgres {word}"));
            assert!(!NEVER_PROPOSED.iter().any(|option| said.contains(*option)), "{word}: {said}");
        }
    }

    #[test]
    fn nothing_that_is_known_here_has_an_advice() {
        let etalon = Cli::command();
        for (verb, verbs) in
            [("run", For::Measuring), ("gate", For::Gate), ("compare", For::Compare), ("import", For::Import)]
        {
            for argument in etalon.find_subcommand(verb).unwrap().get_arguments() {
                let long = argument.get_long().map(|long| format!("--{long}"));
                let short = argument.get_short().map(|short| format!("-{short}"));
                for word in [long, short].into_iter().flatten() {
                    let is_known =
                        OPTIONS.iter().any(|known| known.verbs == verbs && known.names.contains(&word.as_str()));
                    assert!(!is_known, "{verb} {word}");
                }
            }
        }
        for (names, ..) in VERBS {
            assert!(names.iter().all(|name| etalon.find_subcommand(name).is_none()), "{names:?}");
        }
    }
}
