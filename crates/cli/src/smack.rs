//! `etalon run FILE.smack CLIENTS ROUNDS --system URL`: a plan around a script in super-smack's language.

use std::fmt::Write as _;
use std::path::Path;

use crate::args::PlanSource;
use crate::error::CliError;
use families::smack::{BUILT_IN, SmackScript};

/// A script with the values of its `$1`, `$2`, ….
#[derive(Clone, Debug)]
pub struct Called {
    pub script: String,
    pub values: Vec<String>,
}

pub struct Wrapped {
    pub text: String,
    /// The script's file, if it is one.
    pub path: Option<String>,
    pub called: Called,
}

/// Whether the source is a script in super-smack's language.
pub fn is_script(source: &PlanSource) -> bool {
    let has_values = !source.values.is_empty() || !source.system.is_empty();
    let named = |extension: &std::ffi::OsStr| extension.eq_ignore_ascii_case("smack");
    Path::new(&source.plan).extension().is_some_and(named)
        || (has_values && BUILT_IN.iter().any(|script| script.name == source.plan))
}

pub fn wrap(source: &PlanSource) -> Result<Wrapped, CliError> {
    let built_in = BUILT_IN.iter().any(|script| script.name == source.plan);
    let path = match built_in {
        true => None,
        false => {
            let path = std::path::absolute(&source.plan);
            Some(path.map_or_else(|_| source.plan.clone(), |path| path.display().to_string()))
        }
    };
    let script = SmackScript::read(&source.plan).map_err(|failure| CliError::from(&failure))?;
    let invocation = script.invocation(&source.values).map_err(|failure| CliError::from(&failure))?;
    if source.system.is_empty() {
        return Err(CliError::user(format!("`{}` is to be run, and no system is named", source.plan)).hint(
            "name it with `--system`, as in `--system mysql://user@host/database`; the script's own host, user and database \
             are not used",
        ));
    }
    let named = path.clone().unwrap_or_else(|| source.plan.clone());
    let stem = Path::new(&source.plan).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    // JSON strings are TOML strings and keys.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!("name = {}\n", quoted(&stem));
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "\n[[benchmarks]]\nname = {}\nworkload = \"super-smack\"\nscript = {}\nclients = {}\n",
        quoted(&invocation.client),
        quoted(&named),
        invocation.clients
    );
    if !invocation.arguments.is_empty() {
        let _ = writeln!(text, "arguments = {}", quoted(&invocation.arguments));
    }
    let _ = write!(text, "\n[schedule]\nrounds = 6\nwarmup = \"0s\"\ntransactions = {}\n", invocation.queries);
    Ok(Wrapped { text, path, called: Called { script: named, values: source.values.clone() } })
}
