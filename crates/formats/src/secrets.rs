//! Masks the passwords that outputs show: in a command line, the environment, or a file of properties printed before it.

use std::borrow::Cow;
use std::ops::Range;

use model::plan::{MASK, redact_words};

/// The text with `***` in the place of each password. Every line keeps its number.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if !text.lines().any(may_hold_secret) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| match may_hold_secret(line) {
        true => Cow::Owned(masked(&masked(&redact_words(line), value_of_name), value_of_short_option)),
        false => Cow::Borrowed(line),
    });
    Cow::Owned(lines.collect())
}

/// What names of passwords end in.
const NAMES: [&str; 6] = ["pass", "password", "passwd", "pwd", "passphrase", "secret"];

fn may_hold_secret(line: &str) -> bool {
    let holds = |word: &str| line.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    ["://", "pass", "pwd", "secret"].into_iter().any(holds) || line.contains(" -p") || line.contains(" -P")
}

/// The line with `***` for what `secret_after` finds behind each of its words.
fn masked(line: &str, secret_after: fn(&str, Range<usize>) -> Option<Range<usize>>) -> String {
    let mut masked = String::with_capacity(line.len());
    let (mut done, mut at) = (0, 0);
    while let Some(word) = next_word(line, at) {
        at = word.end;
        if let Some(secret) = secret_after(line, word)
            && line[secret.clone()] != *MASK
        {
            masked.push_str(&line[done..secret.start]);
            masked.push_str(MASK);
            (done, at) = (secret.end, secret.end);
        }
    }
    masked.push_str(&line[done..]);
    masked
}

/// The next run of letters, digits and what joins them in names.
fn next_word(line: &str, from: usize) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = from + line[from..].find(is_part)?;
    let length = line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
    Some(start..start + length)
}

/// The value of `--mysql-password secret`, `"password": "secret"`, `<password>secret<` and HammerDB's `pg_pass = secret` and
/// `Changed connection:pg_pass from secret to secret`. A name that is followed by a blank alone has to look like one.
fn value_of_name(line: &str, name: Range<usize>) -> Option<Range<usize>> {
    let (word, after) = (&line[name.clone()], &line[name.end..]);
    let lower = word.to_ascii_lowercase();
    let has_parts = word.starts_with('-') || word.contains('_');
    if !NAMES.iter().any(|end| lower.ends_with(end)) || (lower.ends_with("pass") && !has_parts) {
        return None;
    }
    let behind = after.trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']);
    let value = behind.strip_prefix([':', '=', '>']).or_else(|| {
        let is_apart = has_parts && after.starts_with([' ', '\t']);
        Some(behind).filter(|behind| is_apart && !behind.starts_with('-'))
    })?;
    let value = value.trim_start_matches([' ', '\t']);
    let start = line.len() - value.len();
    let (start, length) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => (start + 1, value[1..].find(quote).unwrap_or(value.trim_end().len() - 1)),
        _ if value.starts_with("from ") => (start, value.trim_end().len()),
        _ => (start, value.find(|c: char| c.is_whitespace() || matches!(c, '<' | ',' | '}')).unwrap_or(value.len())),
    };
    Some(start..start + length).filter(|value| !value.is_empty())
}

/// Clients whose `-p` or `-P` is a password, and whether it is a word of its own.
const SHORT_OPTIONS: [(&str, &str, bool); 6] = [
    ("go-tpc", "-p", true),
    ("tpcc_start", "-p", true),
    ("tpcc_load", "-p", true),
    ("sqlcmd", "-P", true),
    ("mysql", "-p", false),
    ("mariadb", "-p", false),
];

fn value_of_short_option(line: &str, word: Range<usize>) -> Option<Range<usize>> {
    let (_, option, is_apart) = SHORT_OPTIONS
        .iter()
        .find(|(client, option, _)| line[..word.start].contains(client) && line[word.clone()].starts_with(option))?;
    let rest = &line[word.start + option.len()..];
    let value = if *is_apart { rest.strip_prefix(' ')?.trim_start() } else { rest };
    let start = line[word.start..].len() - value.len() + word.start;
    let length = value.find(char::is_whitespace).unwrap_or(value.len());
    Some(start..start + length).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn passwords_are_masked_and_nothing_else_is() {
        let cases = [
            ("$ export PGPASSWORD=hunter2\n", "$ export PGPASSWORD=***\n"),
            ("my_password=hunter2 other", "my_password=*** other"),
            ("pgbench postgres://me:hunter2@db/x -c 8", "pgbench postgres://me:***@db/x -c 8"),
            ("sysbench --mysql-password=hunter2 run", "sysbench --mysql-password=*** run"),
            ("sysbench --mysql-password hunter2 run", "sysbench --mysql-password *** run"),
            ("  \"password\": \"hun, ter2\", \"x\": 1", "  \"password\": \"***\", \"x\": 1"),
            ("{\"password\":\"hunter2\"}", "{\"password\":\"***\"}"),
            ("<password>hunter2</password>", "<password>***</password>"),
            ("pg_superuserpass = hunter2", "pg_superuserpass = ***"),
            ("diset connection mysql_pass hunter2", "diset connection mysql_pass ***"),
            ("Changed connection:pg_pass from a to hunter2 for PostgreSQL", "Changed connection:pg_pass ***"),
            ("mysqlslap -uroot -phunter2 -P 3306", "mysqlslap -uroot -p*** -P 3306"),
            ("go-tpc tpcc -U root -p hunter2 -P 4000 run", "go-tpc tpcc -U root -p *** -P 4000 run"),
            ("./tpcc_start -h db -u root -p hunter2 -w 10", "./tpcc_start -h db -u root -p *** -w 10"),
            ("db.passwd=hunter2", "db.passwd=***"),
        ];
        for (line, masked) in cases {
            assert_eq!(without_secrets(line), masked);
            assert!(!without_secrets(line).contains("hunter2"), "{line}");
        }
        for plain in [
            "pgbench -h db -p 5432 -c 8",
            "ycsb run jdbc -p threadcount=8 -P workloads/workloada",
            "mysql: [Warning] Using a password on the command line interface can be insecure.",
            "password_encryption = scram-sha-256",
            "bypass: 12.5",
            "mysqlslap -p --engine=innodb",
            "Enter password: ",
        ] {
            assert_eq!(without_secrets(plain), plain);
        }
    }
}
