//! The command that began an experiment, with what its rows need.

use std::collections::BTreeMap;

use store::Header;

use super::super::set::{AllowedBy, Rules};
use super::Remedy;

/// Options that take a plan's keys.
const SET: &str = "--set";
const QUICK: &str = "--quick";
/// This option wins over `--set schedule.rounds`.
const ROUNDS: &str = "--rounds";
const ROUNDS_KEY: &str = "schedule.rounds";
const LENGTH_KEY: &str = "schedule.duration";
/// More or longer runs do not fit into the time that was given.
const FOR: &str = "--for";
pub(super) const ALLOW_UNEQUAL: &str = "--allow-unequal-durability";
pub(super) const ALLOW_DIFFERENT: &str = "--allow-different-rows";
pub(super) const ALLOW_SEQUENTIAL: &str = "--allow-sequential-order";
/// Verbs that begin an experiment.
const VERBS: [&str; 2] = ["run", "sqlio"];

pub struct RerunCommand {
    /// None of what étalon did not run.
    pub command: Option<String>,
}

impl RerunCommand {
    /// Makes the one command for all remedies of an experiment, since a rerun wants all of them.
    pub(super) fn new<'r>(header: &Header, rules: &Rules, remedies: impl Iterator<Item = &'r Remedy>) -> RerunCommand {
        let mut set: BTreeMap<String, String> = BTreeMap::new();
        let mut is_whole = false;
        let mut allowed = Vec::new();
        allowed.extend((rules.unequal_durability == AllowedBy::CommandLine).then_some(ALLOW_UNEQUAL));
        allowed.extend((rules.sequential_order == AllowedBy::CommandLine).then_some(ALLOW_SEQUENTIAL));
        allowed.extend((rules.different_rows == AllowedBy::CommandLine).then_some(ALLOW_DIFFERENT));
        for remedy in remedies {
            match remedy {
                // What is judged after each round goes on.
                Remedy::MoreRounds(_) if rules.sequence.is_some() => {}
                Remedy::MoreRounds(rounds) => {
                    set.insert(ROUNDS_KEY.to_owned(), rounds.to_string());
                }
                Remedy::LongerRuns { length, .. } | Remedy::FinerSteps(Some(length)) => {
                    set.insert(length.key.clone(), length.value_text());
                }
                Remedy::LongerWarmUp { seconds: length } => {
                    set.insert("schedule.warmup".to_owned(), format!("{length}s"));
                }
                Remedy::MoreRows(Some((key, value))) => {
                    set.insert(key.clone(), value.to_string());
                }
                Remedy::Interleave => {
                    set.insert("schedule.order".to_owned(), "interleaved".to_owned());
                }
                Remedy::MoreThreads { key } => {
                    set.insert(key.clone(), "0".to_owned());
                }
                Remedy::LowerRate { key: Some(key), rate } => {
                    set.insert(key.clone(), rate.to_string());
                }
                Remedy::WholePlan => is_whole = true,
                Remedy::AllowUnequalDurability => allowed.push(ALLOW_UNEQUAL),
                Remedy::AllowDifferentRows => allowed.push(ALLOW_DIFFERENT),
                _ => {}
            }
        }
        RerunCommand { command: build_command(&header.command, &set, &allowed, is_whole) }
    }
}

/// Whether an experiment was the quick form of a plan, by its command.
pub(super) fn is_quick(header: &Header) -> bool {
    split_command(&header.command).is_some_and(|(words, _)| words.iter().any(|word| word == QUICK))
}

/// Splits a command into words, and finds the index of its verb.
fn split_command(command: &str) -> Option<(Vec<String>, usize)> {
    let words = shlex::split(command)?;
    let verb = words.iter().position(|word| VERBS.contains(&word.as_str()))?;
    Some((words, verb))
}

/// Adds words to the command that began an experiment; `None` if it runs nothing.
pub fn run_command_with(began: &str, added: &[String]) -> Option<String> {
    let (words, verb) = split_command(began)?;
    let words = words.iter().chain(added).map(|word| shell_quote(word));
    if began.is_empty() || verb != 1 {
        None
    } else {
        words.collect::<Option<Vec<String>>>().map(|words| words.join(" "))
    }
}

/// Rewrites the command that began an experiment, with these settings and options in place of its own.
fn build_command(began: &str, set: &BTreeMap<String, String>, allowed: &[&str], is_whole: bool) -> Option<String> {
    let (words, verb) = split_command(began)?;
    let sets_rounds = set.contains_key(ROUNDS_KEY);
    let is_longer = sets_rounds || set.contains_key(LENGTH_KEY);
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let next_is_set = word == SET && words.peek().is_some_and(|pair| is_set_again(pair, set));
        if next_is_set || (word == ROUNDS && sets_rounds) || (word == FOR && is_longer) {
            words.next();
        } else if (sets_rounds && is_assigned(&word, ROUNDS)) || (is_longer && is_assigned(&word, FOR)) {
            continue;
        } else if word.strip_prefix("--set=").is_none_or(|pair| !is_set_again(pair, set))
            && !(is_whole && word == QUICK)
        {
            kept.push(word);
        }
    }
    let pairs = set.iter().flat_map(|(key, value)| [SET.to_owned(), format!("{key}={value}")]);
    let allowed = allowed.iter().filter(|flag| !kept.iter().any(|word| word == *flag)).map(|flag| (*flag).to_owned());
    let added: Vec<String> = pairs.chain(allowed).collect();
    // Some verbs take whatever follows their own words for one of them.
    match kept.get(verb).map(String::as_str) {
        Some("run") => kept.extend(added),
        _ => drop(kept.splice(verb + 1..verb + 1, added)),
    }
    kept.iter().map(|word| shell_quote(word)).collect::<Option<Vec<String>>>().map(|words| words.join(" "))
}

/// Whether a word is an option with its value after `=`.
fn is_assigned(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
}

/// Whether a `--set` pair is replaced by one of these.
fn is_set_again(pair: &str, set: &BTreeMap<String, String>) -> bool {
    pair.split_once('=').is_some_and(|(key, _)| set.contains_key(key.trim()))
}

/// Quotes a word for a shell where that is necessary; `None` if it cannot be.
fn shell_quote(word: &str) -> Option<String> {
    if !word.is_empty()
        && !word.starts_with('=')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.,:/@%+".contains(c))
    {
        return Some(word.to_owned());
    }
    shlex::try_quote(word).ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_that_which_began_it_with_what_is_set_now() {
        let set = BTreeMap::from([("schedule.rounds".to_owned(), "24".to_owned())]);
        let again = |began: &str| build_command(began, &set, &[], false);
        assert_eq!(again("etalon run quickstart").unwrap(), "etalon run quickstart --set schedule.rounds=24");
        assert_eq!(
            again("etalon run p.toml --set schedule.rounds=6 --set 'margin=1 %' -o 'my results'").unwrap(),
            "etalon run p.toml --set 'margin=1 %' -o 'my results' --set schedule.rounds=24"
        );
        assert_eq!(
            again("etalon run --set=schedule.rounds=6 p.toml").unwrap(),
            "etalon run p.toml --set schedule.rounds=24"
        );
        assert_eq!(
            again("etalon sqlio -kR -s300 a.dat").unwrap(),
            "etalon sqlio --set schedule.rounds=24 -kR -s300 a.dat"
        );
        assert_eq!(again("etalon import tidy a.csv"), None);
        for rounds in ["--rounds 6", "--rounds=6"] {
            let shorter = again(&format!("etalon run {rounds} p.toml --label x"));
            assert_eq!(shorter.unwrap(), "etalon run p.toml --label x --set schedule.rounds=24");
            let kept = build_command(&format!("etalon run p.toml {rounds}"), &BTreeMap::new(), &[], false);
            assert_eq!(kept.unwrap(), format!("etalon run p.toml {rounds}"));
        }
        for time in ["--for 1m", "--for=1m"] {
            assert_eq!(again(&format!("etalon run a b {time}")).unwrap(), "etalon run a b --set schedule.rounds=24");
            let warm = BTreeMap::from([("schedule.warmup".to_owned(), "2s".to_owned())]);
            let kept = build_command(&format!("etalon run a b {time}"), &warm, &[], false).unwrap();
            assert_eq!(kept, format!("etalon run a b {time} --set schedule.warmup=2s"));
        }
        assert_eq!(build_command("etalon run a --quick", &BTreeMap::new(), &[], true).unwrap(), "etalon run a");
        let quoted = BTreeMap::from([("benchmarks.\"a b\".tasks".to_owned(), "9".to_owned())]);
        let typed = build_command("etalon run p.toml", &quoted, &[], false).unwrap();
        assert_eq!(shlex::split(&typed).unwrap()[4], "benchmarks.\"a b\".tasks=9");
    }
}
