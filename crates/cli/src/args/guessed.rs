//! What other tools call an option or a verb, and what to type here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options that are never proposed for a slip of the pen: each gives something up.
const NEVER_PROPOSED: [&str; 4] =
    ["--i-will-lose-the-data-on", "--allow-unequal-durability", "--allow-sequential-order", "--allow-different-rows"];

/// Options of pgbench, sysbench and others that mean something else here or have no option, with what to type.
const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["-T", "--time", "--duration", "--run-time", "--runtime"],
        "`--for 5m` is the time of the whole experiment, `--set schedule.duration=60s` that of each run",
    ),
    (&["-t", "--transactions"], "`--set schedule.transactions=10000` ends each run after so many"),
    (&["-f", "--file"], "`--script FILE` runs a script of your own"),
    (&["-b", "--builtin"], "`--script NAME` runs a built-in script: `etalon list` has the names"),
    (&["-S", "--select-only"], "`--script select-only`"),
    (&["-N", "--skip-some-updates"], "`--script simple-update`"),
    (&["-i", "--initialize"], "étalon makes the tables of its scripts by itself: `--scale 20` says how large"),
    (&["-M", "--protocol"], "`--set 'benchmarks.*.protocol=simple'`, or `extended` or `prepared`"),
    (&["-R", "--rate"], "`--set 'benchmarks.*.rate=100'` is a rate in transactions a second"),
    (&["-L", "--latency-limit"], "`--set 'benchmarks.*.latency_limit=20ms'`"),
    (&["-D", "--define"], "`--set 'benchmarks.*.define=\"x=1\"'` sets a variable of a script"),
    (&["-C", "--connect"], "`--set 'benchmarks.*.reconnect=1'` makes each connection anew"),
    (&["-P", "--progress", "--report-interval"], "étalon shows how far it is by itself, and stores each second"),
    (&["-n", "--no-vacuum"], "leave it out: `--set 'benchmarks.*.tables=none'` works on tables as they are"),
    (
        &["-U", "--username", "--user", "--host", "-p", "--port", "-d", "--dbname", "--db", "--mysql-host"],
        "the URL says it: `postgres://USER@HOST:PORT/DATABASE`, `mysql://USER@HOST:PORT/DATABASE`",
    ),
    (&["--iterations", "--repeat", "--runs", "--count"], "`--rounds 10` runs every case so often"),
    (&["--warmup", "--warm-up"], "`--set schedule.warmup=5s` is the warm-up of each run"),
    (
        &["--promise", "--max-latency", "--slo", "--p95"],
        "`--p99 20ms` looks for the most clients of whom 99 of 100 transactions are answered in this time",
    ),
    (
        &["--tables", "--table-size", "--table_size"],
        "`--scale 20` is the size of pgbench's tables, 100,000 rows a step",
    ),
];

/// Verbs of other tools, with what to type.
const VERBS: &[(&[&str], &str)] = &[
    (
        &["replay", "capture", "record"],
        "étalon replays no recorded traffic: write what the application asks as a script, `etalon run URL --script my.sql`; \
         pgreplay and Percona's pt-upgrade replay logs (docs/comparison.md)",
    ),
    (&["bench", "benchmark", "test", "start", "prepare", "measure"], "`etalon run` measures"),
    (&["diff", "cmp"], "`etalon compare STORE` compares"),
    (&["ls", "history"], "`etalon list` lists what is built in, `etalon show STORE` what a store holds"),
    (&["check", "validate", "dry-run"], "`etalon plan` checks a plan and touches nothing"),
    (&["continue"], "`etalon resume STORE` goes on"),
];

/// Puts what to type in the place of clap's guess, where the word is known from elsewhere.
///
/// The usage goes with the guess, which clap writes into it.
pub fn with_advice(mut error: clap::Error) -> clap::Error {
    let (invalid, proposed, known) = match error.kind() {
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg, OPTIONS),
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand, VERBS),
        _ => return error,
    };
    let Some(ContextValue::String(word)) = error.get(invalid) else { return error };
    let word = word.split(['=', ' ']).next().unwrap_or_default().to_owned();
    if let Some(advice) = advice(known, &word) {
        error.remove(proposed);
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    } else if matches!(error.get(proposed), Some(ContextValue::String(option)) if NEVER_PROPOSED.contains(&option.as_str()))
    {
        error.remove(proposed);
        error.remove(ContextKind::Usage);
    }
    error
}

fn advice(known: &'static [(&'static [&'static str], &'static str)], word: &str) -> Option<&'static str> {
    known.iter().find(|(names, _)| names.contains(&word)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    fn said(words: &[&str]) -> String {
        with_advice(Cli::try_parse_from([&["etalon"], words].concat()).unwrap_err()).to_string()
    }

    #[test]
    fn an_option_of_another_tool_is_answered_with_what_to_type() {
        assert!(said(&["run", "postgres", "-T", "60"]).contains("tip: `--for 5m`"), "{}", said(&["run", "-T", "60"]));
        assert!(said(&["run", "postgres", "--slo", "20ms"]).contains("--p99 20ms"));
        assert!(
            said(&["run", "--rate=5"]).contains("benchmarks.*.rate=100")
                && !said(&["run", "--rate=5"]).contains("--target")
        );
        assert!(said(&["capacity", "postgres://h/d"]).contains("--p99 <TIME>"));
        assert!(said(&["replay", "log"]).contains("étalon replays no recorded traffic"));
    }

    #[test]
    fn what_gives_something_up_is_never_proposed() {
        for word in ["--allow-sequental-order", "--i-will-lose-data-on", "--allow", "--allow-unequal"] {
            let said = said(&["run", "postgres", word]);
            assert!(!NEVER_PROPOSED.iter().any(|option| said.contains(*option)), "{word}: {said}");
        }
        assert!(said(&["run", "postgres", "--clientz", "4"]).contains("--clients"));
    }

    #[test]
    fn nothing_that_is_known_here_has_an_advice() {
        use clap::CommandFactory as _;
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        for argument in run.get_arguments() {
            let long = argument.get_long().map(|long| format!("--{long}"));
            let short = argument.get_short().map(|short| format!("-{short}"));
            for word in [long, short].into_iter().flatten() {
                assert_eq!(advice(OPTIONS, &word), None, "{word}");
            }
        }
        for (names, _) in VERBS {
            assert!(names.iter().all(|name| command.find_subcommand(name).is_none()), "{names:?}");
        }
    }
}
