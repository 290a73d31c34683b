//! Several scripts in one program, each with a weight.

use super::options::ScriptOptions;
use super::program::Program;
use super::script::{Compiler, ScriptError};

/// Most scripts of a mix, as in pgbench.
const MAX_SCRIPTS: usize = 128;

#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
    /// How often it is chosen, relative to the others: 0 to 2,147,483,647.
    pub weight: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    #[error("{name}: {error}")]
    Script { name: String, error: ScriptError },
    #[error("{0} scripts; a mix has 1 to {MAX_SCRIPTS}")]
    Count(usize),
    #[error("all weights are 0: no script can be chosen")]
    NoWeight,
    #[error("`{0}` is not a weight: a whole number from 0 to 2147483647")]
    Weight(String),
}

/// Splits `name@weight` into name and weight, which is 1 if there is none.
pub fn split_weight(text: &str) -> Result<(&str, u32), MixError> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let number = weight.parse().ok().filter(|weight| i32::try_from(*weight).is_ok());
    number.map(|weight| (name, weight)).ok_or_else(|| MixError::Weight(weight.to_owned()))
}

/// Compiles scripts, which share their variables, to one program that chooses among them by weight.
pub fn compile_mix(sources: &[Source<'_>], options: &ScriptOptions) -> Result<Program, MixError> {
    if sources.is_empty() || sources.len() > MAX_SCRIPTS {
        return Err(MixError::Count(sources.len()));
    }
    if sources.iter().all(|source| source.weight == 0) {
        return Err(MixError::NoWeight);
    }
    let mut compiler = Compiler::new(options);
    for (number, source) in sources.iter().enumerate() {
        compiler.add_script(source.text, source.weight).map_err(|error| wrong_script(sources, number, error))?;
    }
    let mut program = compiler.finish_program().map_err(|(number, error)| wrong_script(sources, number, error))?;
    if sources.len() > 1 {
        program.kinds = kind_names(sources);
    }
    Ok(program)
}

/// Makes the error of the script with a number.
fn wrong_script(sources: &[Source<'_>], number: usize, error: ScriptError) -> MixError {
    let name = sources.get(number).map_or("", |source| source.name).to_owned();
    MixError::Script { name, error }
}

/// Names scripts for metrics: files without folder and ending, numbered if a name is repeated.
///
/// Only letters, digits, `-` and `.` are left.
fn kind_names(sources: &[Source<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(sources.len());
    for source in sources {
        let file = source.name.rsplit(['/', '\\']).next().unwrap_or(source.name);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| if stem.is_empty() { file } else { stem });
        let name: String = stem.chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '-' }).collect();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_last_at_sign() {
        assert_eq!(split_weight("a.sql"), Ok(("a.sql", 1)));
        assert_eq!(split_weight("a@b.sql@3"), Ok(("a@b.sql", 3)));
        assert_eq!(split_weight("a.sql@0"), Ok(("a.sql", 0)));
        for wrong in ["a@", "a@x", "a@-1", "a@2147483648"] {
            assert!(split_weight(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn scripts_of_a_mix_have_names_of_their_own() {
        let sources = ["select-only", "a/re ad.sql", "b\\re_ad.sql", "select-only"].map(|name| Source {
            name,
            text: "SELECT 1",
            weight: 1,
        });
        assert_eq!(kind_names(&sources), ["select-only", "re-ad", "re-ad-2", "select-only-2"]);
        let options = ScriptOptions::default();
        assert_eq!(load::stream::Stream::kind_names(&compile_mix(&sources, &options).unwrap()).len(), 4);
        assert!(load::stream::Stream::kind_names(&compile_mix(&sources[..1], &options).unwrap()).is_empty());
    }

    #[test]
    fn a_mix_names_the_script_that_is_wrong() {
        let options = ScriptOptions::default();
        let good = source("a.sql", "SELECT 1", 1);
        let error = compile_mix(&[good, source("b.sql", "\\set x :y\nSELECT :x", 1)], &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "b.sql: line 1, column 8: the variable `:y` has not been set; `--set 'benchmarks.*.define=y=VALUE'` sets it"
        );
        assert_eq!(compile_mix(&[], &options).unwrap_err(), MixError::Count(0));
        assert_eq!(compile_mix(&[good; 129], &options).unwrap_err(), MixError::Count(129));
        assert_eq!(compile_mix(&[Source { weight: 0, ..good }], &options).unwrap_err(), MixError::NoWeight);
    }

    fn source<'s>(name: &'s str, text: &'s str, weight: u32) -> Source<'s> {
        Source { name, text, weight }
    }
}
