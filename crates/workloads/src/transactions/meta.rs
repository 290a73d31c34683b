//! The lines of meta-commands.

use super::tokens::continuation_length;

/// A word of a line, with its place in the script.
pub(super) type Word<'a> = (usize, &'a str);

/// Most words of a command, its name included.
const MAX_WORDS: usize = 256;

/// A meta-command, read but not yet compiled. Expressions are the rest of the line with its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meta<'a> {
    Set {
        name: Word<'a>,
        expression: Word<'a>,
    },
    If(Word<'a>),
    Elif(Word<'a>),
    Else,
    EndIf,
    Sleep {
        time: Amount<'a>,
        unit_us: i64,
    },
    /// `\gset`, with the prefix of the variables.
    Gset(&'a str),
    Aset(&'a str),
    SetShell {
        name: Word<'a>,
        words: Vec<&'a str>,
    },
    Shell {
        words: Vec<&'a str>,
    },
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Amount<'a> {
    Number(i64),
    Variable(Word<'a>),
}

const COMMANDS: &str = "\\set, \\gset, \\aset, \\if, \\elif, \\else, \\endif, \\sleep, \\setshell, \\shell, \\startpipeline, \
                        \\syncpipeline, \\endpipeline";

type Wrong = (usize, String);

/// Parses the text between a backslash and the end of its line to a meta-command; `None` if there is nothing.
pub(super) fn parse_meta(script: &str, start: usize, end: usize) -> Result<Option<Meta<'_>>, Wrong> {
    let line = &script[start..end];
    let mut words = words_of_line(line, start);
    if words.is_empty() {
        return Ok(None);
    }
    let (command_at, command) = words.remove(0);
    let rest = rest_of_line(script, command_at + command.len(), end);
    let command = command.to_ascii_lowercase();
    // The place of the backslash.
    let at = start.saturating_sub(1);
    if words.len() >= MAX_WORDS {
        return Err((at, format!("`\\{command}` has more than {} arguments", MAX_WORDS - 1)));
    }
    let plain = |meta: Meta<'static>| match words.first() {
        None => Ok(Some(meta)),
        Some((at, word)) => Err((*at, format!("`\\{command}` takes no argument, and here is `{word}`"))),
    };
    match command.as_str() {
        "set" => {
            let name = *words.first().ok_or_else(|| missing_argument(at, "the name of a variable"))?;
            let expression = rest_of_line(script, name.0 + name.1.len(), end);
            Ok(Some(Meta::Set { name, expression }))
        }
        "if" => Ok(Some(Meta::If(rest))),
        "elif" => Ok(Some(Meta::Elif(rest))),
        "else" => plain(Meta::Else),
        "endif" => plain(Meta::EndIf),
        "startpipeline" => plain(Meta::StartPipeline),
        "syncpipeline" => plain(Meta::SyncPipeline),
        "endpipeline" => plain(Meta::EndPipeline),
        "sleep" => parse_sleep(at, &words).map(Some),
        "gset" | "aset" => {
            if let Some((at, word)) = words.get(1) {
                return Err((*at, format!("`\\{command}` takes one prefix, and here is `{word}`")));
            }
            let prefix = words.first().map_or("", |(_, word)| word);
            Ok(Some(if command == "gset" { Meta::Gset(prefix) } else { Meta::Aset(prefix) }))
        }
        "shell" if words.is_empty() => Err(missing_argument(at, "a command")),
        "shell" => Ok(Some(Meta::Shell { words: words.iter().map(|(_, word)| *word).collect() })),
        "setshell" if words.len() < 2 => Err(missing_argument(at, "the name of a variable and a command")),
        "setshell" => {
            let words_of_command = words[1..].iter().map(|(_, word)| *word).collect();
            Ok(Some(Meta::SetShell { name: words[0], words: words_of_command }))
        }
        "setrandom" => Err((at, explain_setrandom(&words))),
        _ => Err((at, explain_unknown_command(&command))),
    }
}

/// Says what takes the place of `\setrandom`, which pgbench had up to 9.6: `\setrandom aid 1 :n gaussian 5`.
fn explain_setrandom(words: &[Word<'_>]) -> String {
    let (name, min, max) = (
        words.first().map(|(_, word)| *word).unwrap_or("NAME"),
        words.get(1).map(|(_, word)| *word).unwrap_or("MIN"),
        words.get(2).map(|(_, word)| *word).unwrap_or("MAX"),
    );
    let call = match (words.get(3).map(|(_, word)| *word), words.get(4).map(|(_, word)| *word)) {
        (Some(shape @ ("gaussian" | "exponential")), Some(parameter)) => {
            format!("random_{shape}({min}, {max}, {parameter})")
        }
        _ => format!("random({min}, {max})"),
    };
    format!("`\\setrandom` went with pgbench 9.6: write `\\set {name} {call}`")
}

/// psql's commands that stand in published scripts, and what to do about each.
const OF_PSQL: [(&[&str], &str); 4] = [
    (
        &["timing", "echo", "qecho", "warn", "o", "pset", "x", "a", "t", "h", "q", "encoding", "prompt", "unset"],
        "leave it out, since nothing of it is measured",
    ),
    (&["copy"], "load the rows before the measurement: `psql -f FILE`"),
    (
        &["i", "ir", "include", "include_relative"],
        "write that file's text here, or name both files: `script = \"a.sql, b.sql\"`",
    ),
    (&["c", "connect"], "name the database in the system's URL"),
];

/// Says that a command is unknown, or why étalon does not have psql's.
fn explain_unknown_command(command: &str) -> String {
    match OF_PSQL.iter().find(|(commands, _)| commands.contains(&command)) {
        Some((_, what)) => format!("`\\{command}` is a command of psql, and pgbench has none such: {what}"),
        None => format!("`\\{command}` is not a known command; known are {COMMANDS}"),
    }
}

/// Makes the error that an argument is missing.
fn missing_argument(at: usize, what: &str) -> Wrong {
    (at, format!("{what} is missing"))
}

/// The rest of a line with its position in the script.
fn rest_of_line(script: &str, start: usize, end: usize) -> Word<'_> {
    (start, &script[start..end])
}

/// Splits a line into words with their positions; a continuation mark is a blank.
fn words_of_line(line: &str, start: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begin = None;
    let mut at = 0;
    while let Some(next) = line[at..].chars().next() {
        let blank =
            continuation_length(&line[at..]).or_else(|| (next.is_ascii_whitespace() || next == '\u{b}').then_some(1));
        match (blank, begin) {
            (Some(_), Some(first)) => {
                words.push((start + first, &line[first..at]));
                begin = None;
            }
            (None, None) => begin = Some(at),
            _ => {}
        }
        at += blank.unwrap_or(next.len_utf8());
    }
    if let Some(first) = begin {
        words.push((start + first, &line[first..]));
    }
    words
}

/// Parses the arguments of `\sleep`: a time or a variable, and a unit.
fn parse_sleep<'a>(at: usize, words: &[Word<'a>]) -> Result<Meta<'a>, Wrong> {
    let (time_at, time) = *words.first().ok_or_else(|| missing_argument(at, "how long to sleep"))?;
    if let Some((at, word)) = words.get(2) {
        return Err((*at, format!("`\\sleep` takes a time and a unit, and here is `{word}` too")));
    }
    let second = words.get(1).map(|(at, word)| parse_time_unit(*at, word)).transpose()?;
    if let Some(name) = time.strip_prefix(':') {
        return Ok(Meta::Sleep { time: Amount::Variable((time_at, name)), unit_us: second.unwrap_or(1_000_000) });
    }
    let sign = usize::from(time.starts_with(['+', '-']));
    let digits = sign + time[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let glued = &time[digits..];
    let has_two_units = !glued.is_empty() && second.is_some();
    let number = if has_two_units { None } else { time[..digits].parse().ok() };
    let number = number.ok_or_else(|| (time_at, format!("`{time}` is not a whole number")))?;
    let glued = (!glued.is_empty()).then(|| parse_time_unit(time_at + digits, glued)).transpose()?;
    Ok(Meta::Sleep { time: Amount::Number(number), unit_us: second.or(glued).unwrap_or(1_000_000) })
}

/// Parses a unit of time to its length in microseconds.
fn parse_time_unit(at: usize, unit: &str) -> Result<i64, Wrong> {
    match unit.to_ascii_lowercase().as_str() {
        "us" => Ok(1),
        "ms" => Ok(1_000),
        "s" => Ok(1_000_000),
        _ => Err((at, format!("`{unit}` is not a unit of time; known are us, ms, s"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(line: &str) -> Result<Meta<'_>, Wrong> {
        parse_meta(line, 0, line.len()).map(|meta| meta.unwrap())
    }

    #[test]
    fn sleeps_have_units() {
        assert_eq!(sleep_us("sleep 2"), 2_000_000);
        assert_eq!(sleep_us("SLEEP 5 ms"), 5_000);
        assert_eq!(sleep_us("sleep 5MS"), 5_000);
        assert_eq!(sleep_us("sleep +7us"), 7);
        assert_eq!(sleep_us("sleep -1 s"), -1_000_000);
        assert!(meta("sleep").is_err());
        assert!(meta("sleep 1 h").is_err());
        assert!(meta("sleep 1ms ms").is_err());
        assert!(meta("sleep 1 ms x").is_err());
        assert!(meta("sleep x").is_err());
        assert!(matches!(meta("sleep :t us"), Ok(Meta::Sleep { time: Amount::Variable((6, "t")), unit_us: 1 })));
    }

    fn sleep_us(line: &'static str) -> i64 {
        match meta(line).unwrap() {
            Meta::Sleep { time: Amount::Number(n), unit_us } => n * unit_us,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_of_others_are_named_with_what_to_do() {
        assert!(wrong("setrandom aid 1 :naccounts").ends_with("write `\\set aid random(1, :naccounts)`"));
        assert!(wrong("setrandom a 1 9 gaussian 2.5").ends_with("`\\set a random_gaussian(1, 9, 2.5)`"));
        assert!(wrong("timing on").contains("a command of psql"));
        assert!(wrong("copy t from 'x'").contains("before the measurement"));
        assert!(wrong("i other.sql").contains("name both files"));
        assert!(wrong("nothing").contains("is not a known command"));
    }

    fn wrong(line: &'static str) -> String {
        meta(line).unwrap_err().1
    }

    #[test]
    fn words_are_checked() {
        assert!(matches!(meta("gset"), Ok(Meta::Gset(""))));
        assert!(matches!(meta("aset p_"), Ok(Meta::Aset("p_"))));
        assert!(meta("gset a b").is_err());
        assert_eq!(meta("else x").unwrap_err().0, 5);
        assert!(meta("shell").is_err());
        assert!(meta("setshell x").is_err());
        assert_eq!(meta("set x \\\n 1").unwrap(), Meta::Set { name: (4, "x"), expression: (5, " \\\n 1") });
        assert_eq!(parse_meta("  ", 0, 2), Ok(None));
    }
}
