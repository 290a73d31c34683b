//! `--set` of an experiment that has begun: what changes none of its runs.

use std::time::Duration;

use model::OnError;
use model::duration::parse;
use store::Header;

use crate::error::CliError;

const ROUNDS: &str = "schedule.rounds";
const MAX_TIME: &str = "schedule.max_time";
const ON_ERROR: &str = "schedule.on_error";

/// What may change of the schedule of an experiment that has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Number of rounds in all.
    pub rounds: Option<u32>,
    /// No round begins later than this after the command's first run.
    pub max_time: Option<Duration>,
    pub on_error: Option<OnError>,
}

impl Changes {
    /// Reads `KEY=VALUE` pairs that change the schedule of a begun experiment.
    ///
    /// # Errors
    /// The key may not change, which says how to begin an experiment with it; the value is none of the key's.
    pub fn from_pairs(pairs: &[String], header: &Header) -> Result<Changes, CliError> {
        let mut changes = Changes::default();
        for pair in pairs {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']));
            let wrong = |why: &str| CliError::user_error(format!("`--set {pair}`: {why}"));
            match key {
                ROUNDS => {
                    let rounds = value.parse().map_err(|_| {
                        wrong("it is not a number of rounds")
                            .with_hint(format!("as in `--set {ROUNDS}=24`, which is in all"))
                    })?;
                    changes.rounds = Some(rounds);
                }
                MAX_TIME => {
                    let time = parse(value).map_err(|error| {
                        wrong(&error.to_string()).with_hint(format!("write it with its unit: `--set {MAX_TIME}=20m`"))
                    })?;
                    changes.max_time = Some(time);
                }
                ON_ERROR => {
                    changes.on_error = Some(match value {
                        "stop" => OnError::Stop,
                        "continue" => OnError::Continue,
                        _ => return Err(wrong("it is neither `stop` nor `continue`")),
                    });
                }
                _ => return Err(unchangeable_key(header, key, pair)),
            }
        }
        Ok(changes)
    }
}

/// Makes the error for a key that cannot change, with how to begin an experiment with it.
fn unchangeable_key(header: &Header, key: &str, pair: &str) -> CliError {
    let near = [ROUNDS, MAX_TIME, ON_ERROR].into_iter().find(|known| known.rsplit('.').next() == Some(key));
    let error = CliError::user_error(format!(
        "`{key}` cannot change in an experiment that has begun: runs of two plans do not mix"
    ));
    match near {
        Some(near) => CliError::user_error(format!("`--set {pair}`: a plan has no such key"))
            .with_hint(format!("did you mean `{near}`?")),
        None => error
            .with_hint(format!("`{ROUNDS}`, `{MAX_TIME}` and `{ON_ERROR}` may change here"))
            .with_hint(format!("or begin another: `{} --set {pair}`", header.command)),
    }
}
