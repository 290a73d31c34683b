//! What an argument is: a plan, a script, a system.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use formats::reader::SQLITE;
use model::catalog::{OwnSystem, Visibility};
use model::near::did_you_mean;
use model::plan::{MASK, redact_url};
use model::{Catalog, KeyKind, nearest};

use crate::args::guessed::{self, typed_line};
use crate::commands::show_capture::is_capture;
use crate::error::CliError;
use crate::source::{BUILT_IN, DISK};

/// A longer file is neither a plan nor a script.
const LONGEST_TEXT_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A plan's file or a built-in plan.
    Plan,
    /// Command lines of SQLIO.
    Batch,
    /// A folder of queries.
    Queries,
    /// The file of a capture.
    Capture,
    /// A built-in script, a file, or several with weights.
    Script(ScriptKind),
    System(SystemWord),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKind {
    Sql,
    Smack,
}

impl ScriptKind {
    /// The workload that runs such scripts.
    pub fn workload(self) -> &'static str {
        match self {
            ScriptKind::Sql => "transactions",
            ScriptKind::Smack => "super-smack",
        }
    }
}

/// A system as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemWord {
    /// The `NAME` of `NAME=URL`.
    pub label: Option<String>,
    /// A URL, `env:NAME`, or what [`Catalog::own_system`] knows. May hold a password.
    pub place: String,
}

/// Tells what an argument of `run` is: a plan, a script, queries, a capture or a system.
///
/// # Errors
/// It is nothing of all this; says what it is near.
pub fn classify_word(argument: &str, catalog: &Catalog) -> Result<Word, CliError> {
    if BUILT_IN.iter().any(|plan| plan.name == argument) {
        return Ok(Word::Plan);
    }
    if let Some(kind) = built_in_script(argument, catalog) {
        return Ok(Word::Script(kind));
    }
    if workloads::queries::has_queries(Path::new(argument)) {
        return Ok(Word::Queries);
    }
    if is_capture(Path::new(argument)) {
        return Ok(Word::Capture);
    }
    if let Some(system) = parse_system(argument, catalog)? {
        return Ok(Word::System(system));
    }
    match (file_ending(argument).as_str(), Path::new(argument).is_file()) {
        ("toml", _) => Ok(Word::Plan),
        ("bat" | "cmd", _) => Ok(Word::Batch),
        ("smack", _) => Ok(Word::Script(ScriptKind::Smack)),
        ("sql", _) => Ok(Word::Script(ScriptKind::Sql)),
        (_, true) => classify_contents(argument),
        (_, false) => Err(unknown_word(argument, catalog)),
    }
}

/// Parses an argument as a system, with its label; `None` if it is not meant as one.
///
/// # Errors
/// It is meant as one, and leads nowhere.
pub fn parse_system(argument: &str, catalog: &Catalog) -> Result<Option<SystemWord>, CliError> {
    let (label, place) = split_label(argument);
    let label = label.map(str::to_owned);
    if let Some(url) = catalog.url_of_address(place) {
        return Ok(Some(SystemWord { label, place: url }));
    }
    if let Some(url) = catalog.url_of_address(argument) {
        return Ok(Some(SystemWord { label: None, place: url }));
    }
    let found = |place: String| Ok(Some(SystemWord { label, place }));
    match catalog.own_system(place) {
        Some(OwnSystem::Server { .. } | OwnSystem::Url(_)) => return found(place.to_owned()),
        Some(OwnSystem::Nothing(scheme)) => {
            let message = format!("étalon makes no `{place}` by itself: it needs the URL of a server that runs");
            return Err(CliError::user_error(message).with_hint(format!("write it as `{scheme}://user@host:port/`")));
        }
        None => {}
    }
    let is_url = place.starts_with(model::plan::ENV_PREFIX) || catalog.engine_of_url(place).is_some();
    match place.split_once("://") {
        _ if is_url => found(place.to_owned()),
        Some((scheme, _)) => Err(unknown_scheme(scheme, catalog).with_unknown_word(argument)),
        None if !place.is_empty() && (Path::new(place).is_dir() || host::target::is_device(Path::new(place))) => {
            found(format!("{DISK}:{place}"))
        }
        None => Ok(None),
    }
}

/// Splits `NAME=REST` into label and rest, unless there is such a file.
fn split_label(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((name, rest))
            if (!name.trim().is_empty() && !name.contains([':', '/', '\\', '?', '@']))
                && !Path::new(argument).exists() =>
        {
            (Some(name), rest)
        }
        _ => (None, argument),
    }
}

/// The kind of a built-in script; `None` if there is none of this name.
pub fn built_in_script(name: &str, catalog: &Catalog) -> Option<ScriptKind> {
    [ScriptKind::Sql, ScriptKind::Smack].into_iter().find(|kind| built_in_scripts(*kind, catalog).contains(&name))
}

/// Names of the built-in scripts of a kind.
pub fn built_in_scripts(kind: ScriptKind, catalog: &Catalog) -> &'static [&'static str] {
    let keys = catalog.workload(kind.workload()).map(|workload| workload.keys).unwrap_or_default();
    match keys.iter().find(|key| key.name == "script").map(|key| key.kind) {
        Some(KeyKind::Mix(words) | KeyKind::ChoiceOrFile(words)) => words,
        _ => &[],
    }
}

/// The ending of a file's name, in lower case; empty if it has none.
pub fn file_ending(argument: &str) -> String {
    Path::new(argument).extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Reads a file whose ending says nothing and tells what it is: a plan has TOML tables, any other text is a script.
fn classify_contents(path: &str) -> Result<Word, CliError> {
    let bytes = read_text(path).map_err(|error| {
        CliError::user_error(format!("cannot read `{path}`: {error}"))
            .with_hint("name a plan's file, a script, or a system's URL: `etalon list` has the names")
    })?;
    if bytes.starts_with(SQLITE) {
        return Err(not_a_plan_but_sqlite(path));
    }
    let is_table = |line: &str| line.starts_with("[systems") || line.starts_with("[[benchmarks]]");
    let is_plan =
        String::from_utf8_lossy(&bytes).lines().any(|line| is_table(line.trim_start_matches('\u{feff}').trim_start()));
    Ok(if is_plan { Word::Plan } else { Word::Script(ScriptKind::Sql) })
}

/// Makes the error for an SQLite file named as a plan: a store is compared, another database is named by its URL.
fn not_a_plan_but_sqlite(path: &str) -> CliError {
    if store::Store::open_read_only(Path::new(path)).is_ok() {
        return CliError::user_error(format!("`{path}` is the store of an experiment, and no plan")).with_hint(
            format!(
                "`{}` compares the results in it, `{}` goes on with it",
                typed_line(&["compare", path]),
                typed_line(&["resume", path])
            ),
        );
    }
    let error =
        CliError::user_error(format!("`{path}` is a database of SQLite, which is named by its URL: `sqlite:{path}`"));
    let mut line: Vec<String> = guessed::process_arguments().iter().map(|word| guessed::as_system(word)).collect();
    let has_load = line
        .iter()
        .any(|word| ["--script", "--queries"].iter().any(|option| word.starts_with(option)) || guessed::is_load(word));
    if !has_load && !line.is_empty() {
        line.splice(1..1, ["--script".to_owned(), "my.sql".to_owned()]);
    }
    error.with_hint(format!("type `{}`", typed_line(&line)))
}

/// Reads the bytes of a plan or a script; fails if it is longer than 16 MiB or no text.
/// Of a file that is no text by its first block nothing more is read.
pub fn read_text(path: &str) -> io::Result<Vec<u8>> {
    const BLOCK_BYTES: u64 = 4096;
    let mut bytes = Vec::new();
    let mut file = File::open(path)?;
    (&mut file).take(BLOCK_BYTES).read_to_end(&mut bytes)?;
    // UTF-16 has bytes of 0, and a mark.
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    if bytes.contains(&0) && !is_utf16 && !bytes.starts_with(SQLITE) {
        return invalid_data("it is no text: it holds bytes of 0");
    }
    file.take(LONGEST_TEXT_BYTES).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_TEXT_BYTES {
        return invalid_data("it is longer than 16 MiB, and neither a plan nor a script");
    }
    Ok(bytes)
}

/// Fails with the reason why a file is no text or too long.
fn invalid_data(why: &str) -> io::Result<Vec<u8>> {
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Writes an argument for a message, without what may be a password, as in a URL without its scheme.
pub fn masked_argument(argument: &str) -> String {
    let open = match (argument.find(':'), argument.rfind('@')) {
        (Some(colon), Some(at)) if colon < at && !argument.contains("://") => {
            format!("{}:{MASK}{}", &argument[..colon], &argument[at..])
        }
        _ => redact_url(argument),
    };
    open.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// The error of a URL whose scheme no engine has.
fn unknown_scheme(scheme: &str, catalog: &Catalog) -> CliError {
    let public = catalog.engines.iter().filter(|engine| engine.visibility == Visibility::Public);
    let known: Vec<&str> = public.flat_map(|engine| engine.schemes.iter().copied()).collect();
    let scheme: String = scheme.chars().filter(|c| !c.is_control()).take(40).collect();
    let hint = match nearest(&scheme, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}://`?"),
        None => format!("there are {}", known.join(", ")),
    };
    CliError::user_error(format!("no engine has URLs of the scheme `{scheme}://`")).with_hint(hint)
}

/// Makes the error for an argument that names nothing, with what it may mean.
fn unknown_word(argument: &str, catalog: &Catalog) -> CliError {
    let message =
        format!("`{}` is neither a plan, a script, a system's URL, nor the name of one", masked_argument(argument));
    let plans = BUILT_IN.iter().map(|plan| plan.name);
    let kinds = [ScriptKind::Sql, ScriptKind::Smack];
    let scripts = kinds.into_iter().flat_map(|kind| built_in_scripts(kind, catalog).iter().copied());
    let own = catalog.own_names();
    let (_, place) = split_label(argument);
    let (name, version) = place.split_once(':').unwrap_or((place, ""));
    let error = CliError::user_error(message).with_unknown_word(argument);
    let near = if model::catalog::is_release(version) {
        nearest(name, own.iter().copied()).map(|near| format!("did you mean `{near}:{version}`?"))
    } else {
        did_you_mean(place, plans.chain(scripts).chain(own.iter().copied()))
    };
    if let Some(hint) = near {
        return error.with_hint(hint);
    }
    let is_path = argument.contains(['/', '\\', '.']);
    let no_file = if is_path { "there is no such file; " } else { "" };
    let names = own.join(", ");
    error.with_hint(format!(
        "{no_file}name servers by URL, as in `etalon run postgres://me@db1/bench mysql://me@db2/`, or by name for servers of \
         étalon's own ({names}), or a plan: `etalon list` lists them"
    ))
}

#[cfg(test)]
mod tests {
    use conductor::Registry;

    use super::*;

    fn word_of(argument: &str) -> Word {
        classify_word(argument, &Registry::built_in().catalog()).unwrap_or_else(|error| panic!("{argument}: {error:?}"))
    }

    fn system_of(label: Option<&str>, place: &str) -> Word {
        Word::System(SystemWord { label: label.map(str::to_owned), place: place.to_owned() })
    }

    #[test]
    fn an_argument_is_a_plan_a_script_or_a_system() {
        assert_eq!((word_of("quickstart"), word_of("nothing.toml")), (Word::Plan, Word::Plan));
        assert_eq!(word_of("batch.bat"), Word::Batch);
        for (script, kind) in
            [("tpcb-like", ScriptKind::Sql), ("select-key", ScriptKind::Smack), ("no.sql", ScriptKind::Sql)]
        {
            assert_eq!(word_of(script), Word::Script(kind));
        }
        for place in ["env:OLD", "sim:?a=1", "postgres:18"] {
            assert_eq!(word_of(place), system_of(None, place));
            assert_eq!(word_of(&format!("old={place}")), system_of(Some("old"), place));
        }
        assert_eq!(word_of("src"), system_of(None, "disk:src"));
    }

    #[test]
    fn what_is_none_of_it_says_what_it_is_near() {
        let catalog = Registry::built_in().catalog();
        let said = |argument: &str| {
            let error = classify_word(argument, &catalog).unwrap_err();
            format!("{} {}", error.message, error.hints.join(" "))
        };
        assert!(said("quickstrat").contains("did you mean `quickstart`?"));
        assert!(said("postgress:18").contains("did you mean `postgres:18`?"));
        assert!(said("postgers://h/d").contains("did you mean `postgres://`?"));
        assert!(said("tpcb").contains("did you mean `tpcb-like`?"));
        assert!(said("mssql").contains("mssql://"));
        assert!(said("./nothing").contains("no such file") && said("xyzzy").contains("etalon list"));
        for secret in ["host:u:hunter2@h", "me:hunter2@h/d", "old=me:hunter2@h", "me:hunter2@h:5432/d?x=y"] {
            assert!(!said(secret).contains("hunter2"), "{}", said(secret));
        }
    }
}
