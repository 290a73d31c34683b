//! Masks the passwords that outputs show: in a command line, the environment, or a file of properties printed before it.

use std::borrow::Cow;
use std::ops::Range;

use model::plan::{MASK, is_secret_key, redact_words};

/// Masks each password in a text with `***`; every line keeps its number. What étalon exported holds none.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if text.starts_with("# etalon: ") || !may_hold_secret(text) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        if !may_hold_secret(line) {
            return Cow::Borrowed(line);
        }
        let (line, end) = line.split_at(line.trim_end_matches(['\r', '\n']).len());
        let masked = without_changed(line).unwrap_or_else(|| {
            let line = mask_secrets(&redact_words(line), value_of_name);
            let line = mask_secrets(&line, value_of_short_option);
            mask_secrets(&line, value_behind_words)
        });
        Cow::Owned(masked + end)
    });
    Cow::Owned(lines.collect())
}

/// What names of passwords and keys end in.
const NAMES: [&str; 17] = [
    "pass",
    "password",
    "passwd",
    "passwort",
    "kennwort",
    "pwd",
    "pw",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "access-key",
    "secret_key",
    "secret-key",
];

/// Tests whether a line has a sign of a secret, without which it is not searched.
fn may_hold_secret(line: &str) -> bool {
    const SIGNS: [&str; 12] =
        ["://", "pass", "pwd", "pw", "kennwort", "secret", "token", "key", "bearer", "identified by", "sudo", "logon"];
    let lower = line.to_ascii_lowercase();
    SIGNS.into_iter().any(|sign| lower.contains(sign))
        || SHORT_OPTIONS.iter().any(|(client, _, _)| line.contains(client))
}

/// Masks what HammerDB says of a password that it was given; `None` if the line says nothing of it.
/// `Changed connection:pg_pass from a to b for PostgreSQL`, `Value a for connection:pg_pass is the same as existing
/// value a, no change made`.
fn without_changed(line: &str) -> Option<String> {
    if let Some((name, values)) =
        line.split_once(" from ").filter(|(name, _)| name.contains("Changed ") && names_secret(name))
    {
        let rest = values.rsplit_once(" for ").map_or("", |(_, rest)| rest);
        return Some(format!("{name} from {MASK} to {MASK} for {rest}"));
    }
    let (value, rest) = line.split_once(" for ").filter(|(value, _)| value.contains("Value "))?;
    let (name, rest) = rest.split_once(" is the same as existing value").filter(|(name, _)| names_secret(name))?;
    let rest = rest.split_once(", no change").map_or("", |(_, rest)| rest);
    let front = value.split_once("Value ").map_or("", |(front, _)| front);
    Some(format!("{front}Value {MASK} for {name} is the same as existing value {MASK}, no change{rest}"))
}

/// Tells whether a column of this name, in lower case, holds secrets.
pub fn is_secret_name(name: &str) -> bool {
    is_secret_key(name) || name.ends_with("passwort") || name.ends_with("kennwort")
}

/// Tells whether the last part of a name is that of a secret.
fn names_secret(name: &str) -> bool {
    name.rsplit([':', '_']).next().is_some_and(|last| NAMES.iter().any(|end| last.ends_with(end)))
}

/// Masks with `***` what `secret_after` finds behind each word of a line.
fn mask_secrets(line: &str, secret_after: fn(&str, Range<usize>) -> Option<Range<usize>>) -> String {
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

/// Finds the next run of letters, digits and what joins them in names.
fn next_word(line: &str, from: usize) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = from + line[from..].find(is_part)?;
    let length = line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
    Some(start..start + length)
}

/// Finds the secret behind a name: `--mysql-password secret`, `"password": "secret"`, `<password>secret<`.
/// Also HammerDB's `pg_pass = secret`. A name that is followed by a blank alone has to look like one.
fn value_of_name(line: &str, name: Range<usize>) -> Option<Range<usize>> {
    let (word, after) = (&line[name.clone()], &line[name.end..]);
    let lower = word.to_ascii_lowercase();
    let has_parts = word.starts_with('-') || word.contains('_');
    if !NAMES.iter().any(|end| lower.ends_with(end)) || lower.ends_with("bypass") {
        return None;
    }
    let behind = after.trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']);
    let value = behind.strip_prefix([':', '=', '>']).or_else(|| {
        let is_apart = has_parts && after.starts_with([' ', '\t']);
        Some(behind).filter(|behind| is_apart && !behind.starts_with('-'))
    })?;
    let value = value.trim_start_matches([' ', '\t']);
    let first = value.split_whitespace().next().unwrap_or_default();
    if lower.ends_with("pass") && first.contains('.') && first.parse::<f64>().is_ok() {
        // A pass that took this long.
        return None;
    }
    let start = line.len() - value.len();
    let (start, length) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => (start + 1, value[1..].find(quote).unwrap_or(value.trim_end().len() - 1)),
        _ => (start, value.find(|c: char| c.is_whitespace() || matches!(c, '<' | ',' | '}')).unwrap_or(value.len())),
    };
    Some(start..start + length).filter(|value| !value.is_empty())
}

/// Options of clients that take a password: as a word of its own, in the same word, or either way.
const SHORT_OPTIONS: [(&str, &str, Form); 16] = [
    ("go-tpc", "-p", Form::Either),
    ("tiup", "-p", Form::Either),
    ("tpcc_start", "-p", Form::Either),
    ("tpcc_load", "-p", Form::Either),
    ("sshpass", "-p", Form::Either),
    ("mongo", "-p", Form::Either),
    ("charbench", "-p", Form::Apart),
    ("redis-cli", "-a", Form::Apart),
    ("redis-benchmark", "-a", Form::Apart),
    ("curl", "-u", Form::Apart),
    ("sqlcmd", "-P", Form::Either),
    ("osql", "-P", Form::Either),
    ("mysql", "-p", Form::Attached),
    ("mariadb", "-p", Form::Attached),
    ("sqlplus", "", Form::Apart),
    ("isql", "", Form::Apart),
];

/// Bytes between a client's name and its password.
const LONGEST_COMMAND: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Apart,
    Attached,
    Either,
}

/// Finds the secret of a client's short option, such as `-psecret` of `mysql`.
fn value_of_short_option(line: &str, word: Range<usize>) -> Option<Range<usize>> {
    // A page of one line has many words.
    let command = &line[line.floor_char_boundary(word.start.saturating_sub(LONGEST_COMMAND))..word.start];
    let (_, option, form) = SHORT_OPTIONS.iter().find(|(client, option, _)| {
        if option.is_empty() {
            line[word.clone()] == **client
        } else {
            line[word.clone()].starts_with(option) && command.contains(client)
        }
    })?;
    let rest = if option.is_empty() { &line[word.end..] } else { &line[word.start + option.len()..] };
    let value = match (form, rest.strip_prefix(' ')) {
        (Form::Apart | Form::Either, Some(next)) => next.trim_start(),
        (Form::Attached | Form::Either, None) => rest,
        _ => return None,
    };
    let start = line.len() - value.len();
    let length = value.find(char::is_whitespace).unwrap_or(value.len());
    // `sqlplus bench/secret@db`, but not `sqlplus -s`.
    let is_login = !option.is_empty() || value[..length].contains('/') && !value.starts_with('@');
    Some(start..start + length).filter(|value| !value.is_empty() && is_login)
}

const IDENTIFIED: &[u8] = b"identified";

/// Finds the secret behind `Bearer`, `IDENTIFIED BY` and `PASSWORD` of SQL, and the one that `echo` gives `sudo -S`.
fn value_behind_words(line: &str, word: Range<usize>) -> Option<Range<usize>> {
    let name = line[word.clone()].to_lowercase();
    let before = line[..word.start].trim_end().as_bytes();
    let rest = line[word.end..].strip_prefix([' ', '\t'])?.trim_start();
    let is_quoted = rest.starts_with('\'');
    let is_secret = match name.as_str() {
        "bearer" => true,
        "by" => {
            before.len() >= IDENTIFIED.len()
                && before[before.len() - IDENTIFIED.len()..].eq_ignore_ascii_case(IDENTIFIED)
        }
        "password" => is_quoted,
        "echo" => line[word.end..].contains("sudo -S"),
        _ => false,
    };
    let value = rest.strip_prefix('\'').unwrap_or(rest);
    let start = line.len() - value.len();
    let length = value.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ';')).unwrap_or(value.len());
    Some(start..start + length).filter(|value| is_secret && !value.is_empty())
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
            (
                "Changed connection:pg_pass from hunter2 to hunter2 for PostgreSQL",
                "Changed connection:pg_pass from *** to *** for PostgreSQL",
            ),
            (
                "Value hunter2 for connection:pg_pass is the same as existing value hunter2, no change made",
                "Value *** for connection:pg_pass is the same as existing value ***, no change made",
            ),
            ("sshpass -p hunter2 ssh db01 pgbench", "sshpass -p *** ssh db01 pgbench"),
            ("redis-cli -a hunter2 info", "redis-cli -a *** info"),
            ("curl -u admin:hunter2 http://db", "curl -u *** http://db"),
            ("curl -H 'Authorization: Bearer hunter2' x", "curl -H 'Authorization: Bearer ***' x"),
            ("ALTER ROLE b PASSWORD 'hunter2';", "ALTER ROLE b PASSWORD '***';"),
            ("CREATE USER b IDENTIFIED BY 'hunter2';", "CREATE USER b IDENTIFIED BY '***';"),
            ("sqlplus bench/hunter2@db01 @x.sql", "sqlplus *** @x.sql"),
            ("echo hunter2 | sudo -S pgbench", "echo *** | sudo -S pgbench"),
            ("export AWS_SECRET_ACCESS_KEY=hunter2", "export AWS_SECRET_ACCESS_KEY=***"),
            ("aws --secret-key hunter2 --region x", "aws --secret-key *** --region x"),
            ("Passwort: hunter2", "Passwort: ***"),
            ("pw = hunter2", "pw = ***"),
            ("Kennwort = hunter2", "Kennwort = ***"),
            ("tiup bench tpcc -U root -p hunter2 -P 4000", "tiup bench tpcc -U root -p *** -P 4000"),
            ("mongosh -p hunter2 db", "mongosh -p *** db"),
            ("tiup bench tpcc -H 10.0.0.1 -T 32 -phunter2 run", "tiup bench tpcc -H 10.0.0.1 -T 32 -p*** run"),
            ("$ sqlcmd -Phunter2", "$ sqlcmd -P***"),
            ("sshpass -phunter2 ssh db", "sshpass -p*** ssh db"),
            ("isql SYSDBA/hunter2@db", "isql ***"),
            ("osql -Usa -Phunter2 -i x.sql", "osql -Usa -P*** -i x.sql"),
            ("mysqlslap -uroot -phunter2 -P 3306", "mysqlslap -uroot -p*** -P 3306"),
            ("go-tpc tpcc -U root -p hunter2 -P 4000 run", "go-tpc tpcc -U root -p *** -P 4000 run"),
            ("./tpcc_start -h db -u root -p hunter2 -w 10", "./tpcc_start -h db -u root -p *** -w 10"),
            ("db.passwd=hunter2", "db.passwd=***"),
        ];
        for (line, masked) in cases {
            assert_eq!(without_secrets(line), masked);
            assert!(!without_secrets(line).contains("hunter2"), "{line}");
        }
        assert_eq!(without_secrets("password='a\r\ntps = 5\n"), "password='***\r\ntps = 5\n");
        for plain in [
            "pgbench -h db -p 5432 -c 8",
            "ycsb run jdbc -p threadcount=8 -P workloads/workloada",
            "mysql: [Warning] Using a password on the command line interface can be insecure.",
            "password_encryption = scram-sha-256",
            "bypass: 12.5",
            "first_pass: 12.1 ms",
            "mysqlslap -p --engine=innodb",
            "Enter password: ",
        ] {
            assert_eq!(without_secrets(plain), plain);
        }
    }

    #[test]
    fn a_page_of_one_line_is_read_in_a_moment() {
        let began = std::time::Instant::now();
        let page = "<td>token of mysql -x password</td> ".repeat(20_000);
        assert_eq!(without_secrets(&page), page);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}
