//! `etalon run FILE.smack CLIENTS ROUNDS --system URL`: a plan around a script in super-smack's language.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::CliError;
use workloads::smack::{BUILT_IN, SmackScript};

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

/// Makes a plan for a script with the values of its `$1 $2 …`; fails if no system is named.
pub fn wrap_script(named: &str, values: &[String], systems: &[String]) -> Result<Wrapped, CliError> {
    let built_in = BUILT_IN.iter().any(|script| script.name == named);
    let path = if built_in {
        None
    } else {
        let path = std::path::absolute(named);
        Some(path.map_or_else(|_| named.to_owned(), |path| path.display().to_string()))
    };
    let script = SmackScript::read(named).map_err(|failure| CliError::from(&failure))?;
    let invocation = script.invocation(values).map_err(|failure| CliError::from(&failure))?;
    if systems.is_empty() {
        return Err(CliError::user_error(format!("`{named}` is to be run, and no system is named")).with_hint(
            "name it with `--system`, as in `--system mysql://user@host/database`; the script's own host, user and database \
             are not used",
        ));
    }
    let script_path = path.clone().unwrap_or_else(|| named.to_owned());
    let stem = Path::new(named).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    // JSON strings are TOML strings and keys.
    let mut text = format!("name = {}\n", quote_toml(&stem));
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "\n[[benchmarks]]\nname = {}\nworkload = \"super-smack\"\nscript = {}\nclients = {}\n",
        quote_toml(&invocation.client),
        quote_toml(&script_path),
        invocation.clients
    );
    if !invocation.arguments.is_empty() {
        let _ = writeln!(text, "arguments = {}", quote_toml(&invocation.arguments));
    }
    let _ = write!(text, "\n[schedule]\nrounds = 6\nwarmup = \"0s\"\ntransactions = {}\n", invocation.queries);
    Ok(Wrapped { text, path, called: Called { script: script_path, values: values.to_vec() } })
}

/// Quotes a text as a string of TOML.
pub fn quote_toml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
