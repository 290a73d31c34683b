//! What other tools call an option or a verb, and what to type here: the whole line, with the user's own words.

mod address;
mod backup;
mod change;
mod check;
mod diskspd;
mod files;
mod line;
mod queries;
mod repair;
mod sides;
mod sysbench;
mod values;
mod verbs;
mod words;

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};

pub use self::address::{as_system, has_sqlite_magic, is_url};
use self::address::{is_sqlite, with_known_scheme};
use self::backup::name_systems_of_backup;
use self::check::{Checked, check_line};
use self::diskspd::read_diskspd;
use self::files::is_foreign_file;
use self::files::{ImportLines, import_lines};
pub use self::files::{grouped_files, imported_name};
use self::line::{Line, is_option, rename_as_store};
pub use self::line::{shell_quote, typed_line};
use self::queries::{is_verb_of_queries, lines_of_queries, name_queries};
use self::repair::repair_line;
use self::sysbench::{is_test_of_machine, replace_script};
use self::verbs::{Meaning, OtherVerb, is_verb, other_verb};
use self::words::{For, SETTINGS};
use crate::args::Cli;
use crate::error::CliError;
use crate::results::{instead_of_store, is_store, line_with_baseline, newest_store, stores_in_folder};

/// Options that are never proposed for a slip of the pen: each gives something up.
const NEVER_PROPOSED: [&str; 4] =
    ["--i-will-lose-the-data-on", "--allow-unequal-durability", "--allow-sequential-order", "--allow-different-rows"];

/// The URL of a server in a line of which the user has named none.
const SOME_URL: &str = "postgres://me@db1/bench";

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
        None if error.kind() == ErrorKind::DisplayHelp => explain_host(arguments, &etalon),
        _ if matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) => {
            explain_missing_verb(arguments, &etalon)
        }
        _ => None,
    };
    answered.ok_or_else(|| without_guesses(error))
}

/// The words of this command line, without the program's name.
pub fn process_arguments() -> Vec<String> {
    super::last::process_arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Splits the first word that is no option from the others, if it is a verb of étalon's or of another tool.
fn named_verb(arguments: &[String], etalon: &Command) -> Option<(String, Vec<String>)> {
    let at = arguments.iter().position(|word| !is_option(word))?;
    let verb = arguments[at].clone();
    // `backup-encrypted` is a plan.
    let is_known = is_verb(&verb, etalon) || (is_strange(&verb) && other_verb(&verb).is_some());
    let mut rest = arguments.to_vec();
    rest.remove(at);
    is_known.then_some((verb, rest))
}

/// Whether one of the words is a system's URL or an SQLite file, which only `run` and its like take.
fn names_systems(words: &[String]) -> bool {
    words.iter().any(|word| !is_option(word) && (is_url(word) || is_sqlite(word)))
}

/// Whether a line says how much is asked, and names no store to compare.
fn names_load(rest: &[String]) -> bool {
    let names_stores = rest.iter().any(|word| is_store(word) || !stores_in_folder(Path::new(word)).is_empty());
    !names_stores && has_one_of(&LOAD, rest)
}

/// Whether one of the options is among the words, with its value or without.
fn has_one_of(options: &[&str], words: &[String]) -> bool {
    words.iter().any(|word| options.iter().any(|option| word.split('=').next() == Some(option)))
}

/// Options that say how a system is loaded.
const LOAD: [&str; 9] = ["-T", "--time", "--duration", "--for", "-c", "--clients", "--script", "--scale", "--p99"];

/// Options with which a comparison is judged.
const JUDGING: [&str; 5] = ["--fail-if-slower", "--fail-if", "--fail-on", "--max-regression", "--limit"];

/// Finds the verb that a line means, with a note about it: `compare` of systems means `run`, `compare` with limits `gate`.
fn meant_verb<'v>(verb: &'v str, rest: &[String]) -> (&'v str, &'static str) {
    match verb {
        "compare" | "gate" | "report" if names_systems(rest) => {
            ("run", "`etalon run` measures systems and compares them")
        }
        "compare" if names_load(rest) => ("run", "`etalon run` measures systems and compares them"),
        "queries" if rest.iter().filter(|word| !is_option(word)).count() > 1 => {
            ("run", "`etalon run` times each query of a folder")
        }
        "compare" if has_one_of(&JUDGING, rest) => ("gate", "`etalon gate` passes or fails"),
        verb => (verb, ""),
    }
}

/// Adds the line that measures what this command line names as if it were stores, with a gate behind it for `gate`.
pub fn add_run_line(error: CliError) -> CliError {
    let mut words = process_arguments();
    let Some(at) = words.iter().position(|word| !is_option(word)) else { return error };
    let verb = words.remove(at);
    let special = words.iter().find(|word| names_what_is_measured(word));
    if let Some(answered) = special.and_then(|word| explain_second_verb(word)) {
        return CliError { message: error.message, ..answered };
    }
    let mut etalon = Cli::command();
    etalon.build();
    let mut line = Line::read_for("run", &verb, &words, &etalon);
    line.is_gated = verb == "gate";
    add_suggested_line(error, line)
}

/// Makes the error for a verb of étalon's with options that it does not have, or without those that it needs.
fn explain_own_verb(verb: &str, rest: &[String], etalon: &Command, kind: ErrorKind) -> Option<CliError> {
    if kind == ErrorKind::UnknownArgument
        && let Some(answered) =
            rest.iter().find(|word| names_what_is_measured(word)).and_then(|word| explain_second_verb(word))
    {
        return Some(answered);
    }
    let (meant, about) = meant_verb(verb, rest);
    let mut line = Line::read_for(meant, verb, rest, etalon);
    line.add_note(about);
    line.is_gated = verb == "gate" && meant == "run";
    if kind == ErrorKind::MissingRequiredArgument && is_verb_of_stores(verb) && rest.iter().all(|word| is_global(word))
    {
        let message = format!("`etalon {verb}` takes the store of an experiment, and none is named");
        return Some(CliError::user_error(message).with_hint(instead_of_store(verb)));
    }
    if kind == ErrorKind::MissingRequiredArgument && verb == "gate" && line.words.is_empty() {
        return Some(explain_missing_candidate(&line));
    }
    let is_answered = match kind {
        ErrorKind::DisplayHelp => names_a_host(&line, rest),
        ErrorKind::UnknownArgument => {
            !line.strange.is_empty()
                || !line.about.is_empty()
                || meant != verb
                || (verb == "gate" && line.words.len() > 1)
        }
        ErrorKind::MissingRequiredArgument => {
            !line.strange.is_empty() || (matches!(verb, "import" | "capacity") && !line.words.is_empty())
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            line.drop_format_of_files();
            !line.strange.is_empty()
        }
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

/// Whether a word is a verb of other tools that says what is measured, as `backup`, `disks` or `max`.
pub fn names_what_is_measured(word: &str) -> bool {
    !is_option(word)
        && is_strange(word)
        && other_verb(word).is_some_and(|known| {
            matches!(known.meaning, Meaning::Backup | Meaning::Steps | Meaning::Change) || known.names.contains(&"disk")
        })
}

/// Makes the error for a gate that is given a baseline, and no store to judge.
fn explain_missing_candidate(line: &Line) -> CliError {
    let at = line.options.iter().position(|option| option == "--baseline");
    let named = at.and_then(|at| line.options.get(at + 1)).filter(|baseline| Path::new(baseline.as_str()).exists());
    let baseline = named.cloned().unwrap_or_default();
    let error = CliError::user_error("`etalon gate` takes the store that it judges, and none is named");
    match newest_store() {
        Some(store) => error.with_hint(line_with_baseline(&store, &baseline)),
        None => error
            .with_hint("both are stores, which `etalon run` keeps: `etalon run URL -o results` writes one each time")
            .with_hint("type `etalon gate NEW.etalon --baseline OLD.etalon` with two of them"),
    }
}

/// Whether a verb takes the store of an experiment as its first word.
fn is_verb_of_stores(verb: &str) -> bool {
    matches!(verb, "compare" | "gate" | "report" | "show" | "export" | "extend" | "resume")
}

/// Whether an option is one that all verbs take.
fn is_global(word: &str) -> bool {
    matches!(word, "--json" | "-q" | "--quiet")
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
    let OtherVerb { meaning, about, .. } = other_verb(verb)?;
    let error = CliError::user_error(format!("étalon has no command `{verb}`"));
    let read = |verb: &str| {
        let mut line = Line::read(verb, rest, etalon);
        line.add_note(about);
        line
    };
    Some(match meaning {
        Meaning::Nothing => error.with_hint(about),
        Meaning::Version => error.with_hint("type `etalon --version`"),
        Meaning::Verb(own) => explain_same_words(error, verb, about, read(own)),
        Meaning::Client(_) if rest.iter().any(|word| is_test_of_machine(word)) => {
            return Some(
                error.with_hint(
                    "étalon measures no processors and no memory; `etalon run FOLDER FOLDER` measures disks",
                ),
            );
        }
        Meaning::Client(scheme) => {
            let (rest, script) = replace_script(rest);
            let mut line = Line::read_client(scheme, &rest, etalon);
            line.add_note(about);
            line.add_note(&script);
            add_suggested_line(error, line)
        }
        Meaning::Diskspd => {
            let mut line = read_diskspd(rest);
            line.add_note(about);
            add_suggested_line(error, line)
        }
        Meaning::Steps => suggest_steps(error, read("run"), read("capacity")),
        Meaning::Backup => {
            let mut line = read("run");
            line.is_backup = true;
            add_suggested_line(error, line)
        }
        Meaning::Plan(plan) => {
            let mut line = read("run");
            name_systems_of_plan(&mut line, plan);
            add_suggested_line(error, line)
        }
        Meaning::States => suggest_states(error.with_hint(about), verb, read("run")),
        Meaning::Change => {
            let mut line = read("run");
            line.take_change();
            add_suggested_line(error, line)
        }
        Meaning::Ci if names_stores(&read("gate")) => add_suggested_line(error, read("gate")),
        Meaning::Ci => {
            // Its limits are those of a gate.
            let mut line = Line::read_for("run", "gate", rest, etalon);
            line.add_note(about);
            line.is_gated = true;
            add_suggested_line(error, line)
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

/// Makes the error for a verb that étalon calls otherwise, with the same words.
fn explain_same_words(error: CliError, verb: &str, about: &str, mut line: Line) -> CliError {
    add_missing_options(&mut line);
    if is_verb_of_queries(verb) {
        name_queries(&mut line);
        if let Some(asked) = lines_of_queries(&line) {
            return error.with_hint(asked);
        }
    }
    if line.words.is_empty() && !line.has_option(&["--system", "--url"]) {
        let error = if about.is_empty() { error } else { error.with_hint(about) };
        return error.with_hint(format!("`etalon {} --help` has examples", line.verb));
    }
    add_suggested_line(error, line)
}

/// Whether a line of a gate names the store that is judged, or its baseline, and nothing else.
fn names_stores(gate: &Line) -> bool {
    let baseline = gate.options.iter().position(|option| option == "--baseline");
    let baseline = baseline.and_then(|at| gate.options.get(at + 1));
    !gate.words.is_empty() && gate.words.iter().chain(baseline).all(is_store)
}

/// Adds the line that runs several numbers of clients to an error, and the one that looks for the most.
fn suggest_steps(error: CliError, mut run: Line, mut capacity: Line) -> CliError {
    for line in [&mut run, &mut capacity] {
        line.rename_threads();
        if line.words.is_empty() && !line.has_option(&["--system"]) {
            line.words.push(SOME_URL.to_owned());
            line.add_note("no server is named: put the URL of yours in the place of this one");
        }
    }
    if !run.has_option(&["-c", "--clients", "--p99"]) {
        run.options.extend(["--clients".to_owned(), "1,2,4,8".to_owned()]);
    }
    add_missing_options(&mut capacity);
    add_script(&mut capacity);
    let error = add_suggested_line(error, run);
    match check_line(&capacity.arguments()) {
        Checked::Refused(_) => error,
        _ => error.with_hint(format!("or `{}`", capacity.typed_text())),
    }
}

/// Makes the words of a line the systems of a built-in plan.
fn name_systems_of_plan(line: &mut Line, plan: &str) {
    let mut systems = std::mem::replace(&mut line.words, vec![plan.to_owned()]);
    if systems.is_empty() && !line.has_option(&["--system"]) {
        systems.push(SOME_URL.to_owned());
        line.add_note("no server is named: put the URL of yours in the place of this one");
    }
    for system in systems {
        line.options.extend(["--system".to_owned(), system]);
    }
}

/// Adds the lines that keep the results of two states of a server in two folders, of which `state` is one, and compare them.
fn suggest_states(error: CliError, state: &str, mut line: Line) -> CliError {
    if line.words.iter().all(|word| is_strange(word)) {
        line.words = vec![SOME_URL.to_owned()];
    }
    leave_out_strange_words(&mut line);
    let is_later = state == "after";
    let [before, after] = [if is_later { "before" } else { state }, "after"]
        .map(|folder| typed_line(&[line.arguments(), vec!["-o".to_owned(), folder.to_owned()]].concat()));
    if let Checked::Refused(why) = check_line(&line.arguments()) {
        return add_refusal(error, *why);
    }
    let first =
        if is_later { format!("type `{after}`") } else { format!("type `{before}`, after the change `{after}`") };
    let compared = typed_line(&["compare", if is_later { "before" } else { state }, "after"]);
    error.with_hint(format!("where only you can make the change: {first}, then `{compared}`"))
}

/// Adds the line that compares to an error: stores are compared, other files imported first, and systems run.
fn suggest_compare(error: CliError, mut line: Line, run: Line) -> CliError {
    line.words.iter_mut().for_each(|word| _ = rename_as_store(word));
    match line.words.first() {
        None => error
            .with_hint("`etalon list .` has the stores in this folder")
            .with_hint("`etalon compare --help` has examples"),
        Some(first) if is_store(first) => add_suggested_line(error, line),
        Some(_) if line.words.iter().all(|word| is_strange(word)) => {
            let are = if line.words.len() == 1 { "is" } else { "are" };
            let words: Vec<String> = line.words.iter().map(|word| format!("`{word}`")).collect();
            error
                .with_hint("stores are named by their files, or their folder, or `last` and `last~1`: `etalon list etalon-results` has them")
                .with_hint(format!("{} {are} not there; with stores of yours type `{}`", words.join(" and "), line.typed_text()))
        }
        Some(_) if line.words.iter().all(|word| is_foreign_file(word)) => add_suggested_line(error, line),
        Some(_) => add_suggested_line(error, run),
    }
}

/// Answers an argument that names nothing, where it is a verb of another tool or a URL of another tool's scheme.
pub fn answer_unknown_word(error: CliError) -> CliError {
    let Some(word) = error.unknown_word.clone() else { return error };
    if let Some(answered) = explain_second_verb(&word) {
        return answered;
    }
    let mut words = process_arguments();
    words.iter_mut().for_each(|word| *word = with_known_scheme(word).unwrap_or_else(|| word.clone()));
    match check_line(&words) {
        Checked::Accepted => {
            let line = typed_line(&words);
            CliError { hints: Vec::new(), ..error }.with_hint(format!("type `{line}`"))
        }
        _ => error,
    }
}

/// Makes the error for a verb of another tool after one of étalon's, as in `etalon run backup URL`; `None` where there is none.
fn explain_second_verb(word: &str) -> Option<CliError> {
    let mut words = process_arguments();
    let at = words.iter().position(|other| other == word).filter(|at| *at > 0)?;
    words.remove(at);
    let verb = words.iter().position(|word| !is_option(word))?;
    words.remove(verb);
    let mut etalon = Cli::command();
    etalon.build();
    other_verb(word).filter(|known| known.meaning != Meaning::List)?;
    explain_other_verb(word, &words, &etalon)
        .map(|error| CliError { message: format!("`{word}` is neither a plan, a script nor a system"), ..error })
}

/// Makes the error for a line without a verb whose `-h` is followed by a host; `None` where it asks for help.
fn explain_host(arguments: &[String], etalon: &Command) -> Option<CliError> {
    let line = Line::read("run", arguments, etalon);
    let error = CliError::user_error("`etalon run` is missing, and the URL of the server");
    names_a_host(&line, arguments).then(|| add_suggested_line(error, line))
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

/// Adds a line's notes and its text to an error as hints, if étalon takes the line; else why it would refuse it.
fn add_suggested_line(error: CliError, mut line: Line) -> CliError {
    if line.is_backup {
        name_systems_of_backup(&mut line);
    } else {
        add_script(&mut line);
    }
    leave_out_strange_words(&mut line);
    let is_of_stores = matches!(line.verb.as_str(), "compare" | "gate" | "report");
    if is_of_stores && line.words.iter().any(|word| is_foreign_file(word)) {
        // Values of options that étalon does not have.
        line.words.retain(|word| Path::new(word).exists() || is_store(word));
    }
    if is_of_stores && !line.words.is_empty() && line.words.iter().all(|word| is_foreign_file(word)) {
        return add_import_lines(error, &line);
    }
    let checked = repair_line(&mut line);
    let error = line.about.iter().fold(error, |error, about| error.with_hint(about));
    let unknown: Vec<String> = line.unknown.iter().map(|option| format!("`{option}`")).collect();
    let unknown = unknown.join(", ");
    let help = format!("`etalon {} --help` lists what it takes", line.verb);
    let text = line.whole_text();
    let error = if text.contains("***") {
        error.with_hint("`***` stands for the password: type it in its place, or give an `env:NAME` that holds the URL")
    } else {
        error
    };
    match checked {
        Checked::Accepted if unknown.is_empty() => error.with_hint(format!("type `{text}`")),
        Checked::Accepted => error.with_hint(format!("{help}; without {unknown}: type `{text}`")),
        Checked::Missing(files) => {
            let files: Vec<String> = files.iter().map(|file| format!("`{}`", line::mask_passwords(file))).collect();
            let are = if files.len() == 1 { "is" } else { "are" };
            let without = if unknown.is_empty() { String::new() } else { format!("without {unknown}, ") };
            let files = files.join(" and ");
            error.with_hint(format!("{files} {are} not there; {without}with files of yours type `{text}`"))
        }
        // What its files do not say is an option.
        Checked::Refused(why) if line.verb == "import" => {
            add_refusal(error, *why).with_hint(format!("the line is with that `{text}`"))
        }
        Checked::Refused(why) => add_refusal(error, *why).with_hint(help),
    }
}

/// Adds why étalon would refuse the nearest line, in place of the line.
fn add_refusal(error: CliError, why: CliError) -> CliError {
    why.hints.into_iter().fold(error.with_hint(why.message), CliError::with_hint)
}

/// Answers a verb of stores that got files of other tools, with the options of this command line.
pub fn answer_files(error: CliError, verb: &str, files: &[String]) -> CliError {
    let mut etalon = Cli::command();
    etalon.build();
    let words: Vec<String> = process_arguments();
    let at = words.iter().position(|word| word == verb).map_or(0, |at| at + 1);
    let mut line = Line::read(verb, &words[at..], &etalon);
    line.words = files.to_vec();
    line.about.clear();
    add_import_lines(error, &line)
}

/// Adds the lines that import the files of another tool, and then do with their store what was typed.
fn add_import_lines(error: CliError, line: &Line) -> CliError {
    let (mut files, mut options) = (line.words.clone(), line.options.clone());
    // The baseline is a system of the store.
    if let Some(at) = options.iter().position(|option| option == "--baseline")
        && options.get(at + 1).is_some_and(|file| is_foreign_file(file))
    {
        files.splice(0..0, options.drain(at..at + 2).skip(1));
    }
    let ImportLines { import, then } = import_lines(&line.verb, &files, &options);
    let error = line
        .about
        .iter()
        .filter(|about| !about.contains("--baseline"))
        .fold(error, |error, about| error.with_hint(about));
    let lines = format!("`{}`, then `{}`", typed_line(&import), typed_line(&then));
    match check_line(&import) {
        Checked::Refused(why) => add_refusal(error, *why).with_hint(format!("the lines are with that {lines}")),
        _ => error.with_hint(format!("type {lines}")),
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

/// Tests whether a word is a built-in plan or ends in `.toml`.
fn is_plan(word: &str) -> bool {
    crate::source::BUILT_IN.iter().any(|plan| plan.name == word) || crate::ask::words::file_ending(word) == "toml"
}

impl Line {
    /// The options of the gate that follows the run, quoted for a shell, each after a space.
    fn gate_options(&self) -> String {
        self.judged.iter().map(|word| format!(" {}", shell_quote(word))).collect()
    }

    /// The whole text to type: the line, and the gate that follows it.
    fn whole_text(&self) -> String {
        if self.junit.is_none() && !self.is_gated && self.judged.is_empty() {
            return self.typed_text();
        }
        let junit = self.junit.as_ref().map(|file| format!(" --format junit > {}", shell_quote(file)));
        let options = self.gate_options() + &junit.unwrap_or_default();
        format!("{} && etalon gate {}{options}", self.typed_text(), self.measured_store())
    }

    /// The store that the line writes, as a shell finds it.
    fn measured_store(&self) -> String {
        let named = self.options.iter().position(|word| matches!(word.as_str(), "-o" | "--output"));
        match named.and_then(|at| self.options.get(at + 1)) {
            Some(folder) => format!("\"$(ls -t {}/*.{} | head -n 1)\"", shell_quote(folder), store::EXTENSION),
            None => "last".to_owned(),
        }
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
mod tests;
