//! Option files, read as MySQL's and MariaDB's own clients read them.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/option-files.html>,
//! <https://mariadb.com/kb/en/configuring-mariadb-with-option-files/>

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::server::url::Environment;
use load::error::{Failure, FailureKind};

/// Read by every client.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];
/// Everyone's, before the user's own.
const SYSTEM_FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
/// Files that include each other deeper are skipped.
const DEEPEST: u32 = 10;
/// The clients take what goes beyond for a line of its own.
const LINE_BYTES: usize = 4094;

/// What clients' option files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OptionFile {
    /// Names with dashes; of repeated options the last.
    pub(super) values: BTreeMap<String, String>,
    /// Why a file, or its password, was not used.
    pub(super) ignored: Option<String>,
    /// The file with the password.
    pub(super) file: PathBuf,
}

/// Reads the clients' option files, everyone's and then the user's, and merges their options.
///
/// # Errors
/// A line that the clients refuse, too, or an option that étalon cannot honour.
pub(super) fn read_option_files(environment: Environment<'_>) -> Result<OptionFile, Failure> {
    let mut files: Vec<PathBuf> = SYSTEM_FILES.iter().map(PathBuf::from).collect();
    let server_home = environment("MARIADB_HOME").or_else(|| environment("MYSQL_HOME"));
    files.extend(server_home.map(|folder| Path::new(&folder).join("my.cnf")));
    let home = environment("HOME").map(PathBuf::from);
    files.extend(home.as_ref().map(|home| home.join(".my.cnf")));
    let mut reader = Reader::new(environment("MYSQL_GROUP_SUFFIX").as_deref());
    files.iter().try_for_each(|file| reader.read_file(file, 0))?;
    let login = environment("MYSQL_TEST_LOGIN_FILE").map(PathBuf::from).or(home.map(|home| home.join(".mylogin.cnf")));
    if let Some(login) = login.filter(|file| file.is_file()) {
        let cause = format!("étalon does not read {}", login.display());
        reader.found.ignored.get_or_insert(cause);
    }
    Ok(reader.found)
}

struct Reader {
    groups: Vec<String>,
    found: OptionFile,
}

impl Reader {
    /// Makes a reader of the clients' groups, and of those with the suffix.
    fn new(suffix: Option<&str>) -> Reader {
        let with_suffix = suffix.iter().flat_map(|suffix| GROUPS.map(|group| format!("{group}{suffix}")));
        Reader {
            groups: GROUPS.map(str::to_owned).into_iter().chain(with_suffix).collect(),
            found: OptionFile::default(),
        }
    }

    /// Reads a file and those that it includes. One that is not there is skipped, and so is one that everyone may write.
    fn read_file(&mut self, file: &Path, depth: u32) -> Result<(), Failure> {
        if !file.is_file() {
            return Ok(());
        }
        let shown = file.display();
        if host::identity::is_writable_by_all(file) {
            self.found.ignored = Some(format!("{shown} was ignored, since everyone may write it: chmod 0600 {shown}"));
            return Ok(());
        }
        let text = match fs::read(file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                self.found.ignored = Some(format!("{shown} cannot be read: {error}"));
                return Ok(());
            }
        };
        let mut is_ours = None;
        for (number, line) in text.lines().enumerate() {
            // What a line says is not repeated: it may be a password.
            let wrong = |cause: String| {
                Failure::new(FailureKind::Plan, format!("read the option file {shown}, line {}", number + 1), cause)
            };
            if line.len() > LINE_BYTES {
                return Err(wrong(format!("it is longer than {LINE_BYTES} bytes, and clients would take it for two")));
            }
            match Line::parse(line).map_err(wrong)? {
                Line::Nothing => {}
                Line::Group(group) => is_ours = Some(self.groups.iter().any(|ours| ours == group)),
                Line::Include(path) if depth < DEEPEST => self.read_file(Path::new(path), depth + 1)?,
                Line::IncludeFolder(folder) if depth < DEEPEST => {
                    let files = option_files_in(Path::new(folder));
                    let files = files.map_err(|error| wrong(format!("{folder} cannot be read: {error}")))?;
                    files.iter().try_for_each(|file| self.read_file(file, depth + 1))?;
                }
                Line::Include(_) | Line::IncludeFolder(_) => {}
                Line::Setting(..) if is_ours.is_none() => {
                    return Err(wrong("an option stands before the first group, such as `[client]`".to_owned()));
                }
                Line::Setting(name, value) if is_ours == Some(true) => {
                    self.set_option(name, value, file).map_err(wrong)?
                }
                Line::Setting(..) => {}
            }
        }
        Ok(())
    }

    /// Takes over an option of the client's groups, read from `file`.
    fn set_option(&mut self, name: &str, value: String, file: &Path) -> Result<(), String> {
        let name = name.replace('_', "-");
        let name = name.strip_prefix("loose-").unwrap_or(&name);
        let (name, value) = match name.split_once('-') {
            Some(("skip" | "disable", switch)) => (switch, "0".to_owned()),
            Some(("enable", switch)) => (switch, "1".to_owned()),
            _ => (name, value),
        };
        if name == "init-command" {
            return Err(
                "étalon does not send an `init-command`; a system's `settings` set a session's variables".to_owned()
            );
        }
        if name == "password" {
            self.found.file = file.to_owned();
            // A password that others can read is ignored, so that its owner notices.
            if host::identity::open_to_others(file).unwrap_or(true) {
                let shown = file.display();
                self.found.values.remove(name);
                self.found.ignored =
                    Some(format!("the password in {shown} was ignored, since others may read it: chmod 0600 {shown}"));
                return Ok(());
            }
        }
        self.found.values.insert(name.to_owned(), value);
        Ok(())
    }
}

/// Lists the option files of a folder in the order of their names' bytes.
fn option_files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    let endings: &[&str] = if std::path::MAIN_SEPARATOR == '\\' { &[".cnf", ".ini"] } else { &[".cnf"] };
    files.retain(|file| file.to_str().is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending))));
    files.sort();
    Ok(files)
}

#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Nothing,
    Group(&'a str),
    Include(&'a str),
    IncludeFolder(&'a str),
    /// The value of an option without one is empty.
    Setting(&'a str, String),
}

/// Whether a character is white space for C's `isspace`.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

impl Line<'_> {
    /// Reads one line of an option file.
    fn parse(line: &str) -> Result<Line<'_>, String> {
        let line = line.trim_start_matches(is_space);
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(Line::Nothing);
        }
        if let Some(directive) = line.strip_prefix('!') {
            let directive = directive.trim_matches(is_space);
            let (word, path) = directive.split_once(is_space).unwrap_or((directive, ""));
            let path = path.trim_start_matches(is_space);
            return match word {
                "include" | "includedir" if path.is_empty() => Err(format!("`!{word}` names nothing")),
                "include" => Ok(Line::Include(path)),
                "includedir" => Ok(Line::IncludeFolder(path)),
                _ => Ok(Line::Nothing),
            };
        }
        if let Some(group) = line.strip_prefix('[') {
            let (group, _) = group.split_once(']').ok_or("the `]` of a group is missing")?;
            return Ok(Line::Group(group.trim_end_matches(is_space)));
        }
        let line = without_comment(line);
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        Ok(Line::Setting(name.trim_end_matches(is_space), unquote_value(value.trim_matches(is_space))))
    }
}

/// Cuts a line at the first `#` outside of quotes, wherever it stands.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut is_escaped) = (None, false);
    for (place, c) in line.char_indices() {
        if matches!(c, '\'' | '"') && !is_escaped {
            quote = match quote {
                None => Some(c),
                Some(open) if open == c => None,
                open => open,
            };
        }
        if c == '#' && quote.is_none() {
            return &line[..place];
        }
        is_escaped = quote.is_some() && c == '\\' && !is_escaped;
    }
    line
}

/// Removes the quotes around an option's value and replaces its escapes. The backslash of an unknown escape stays.
fn unquote_value(text: &str) -> String {
    let quoted = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let mut plain = String::with_capacity(text.len());
    let mut characters = quoted.unwrap_or(text).chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some('s') => plain.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => plain.push(c),
            other => plain.extend(std::iter::once('\\').chain(other)),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Lines and what clients read in them: as `my_print_defaults` of MariaDB 10.11 and `mysqld --print-defaults` of MySQL
    /// 8.0.15 print them.
    const LINES: [(&str, &str, &str); 34] = [
        ("o=al#x", "o", "al"),
        ("o = al #x", "o", "al"),
        ("o=\"al#x\"", "o", "al#x"),
        ("o = 'al#x' # c", "o", "al#x"),
        ("o = \"a\\\"b#c\" # d", "o", "a\"b#c"),
        ("o = a\\sb\\tc\\re\\bf\\\\g\\qh\\\"i\\'j", "o", "a b\tc\re\u{8}f\\g\\qh\"i'j"),
        ("o =  \"  spaced  \"  ", "o", "  spaced  "),
        ("o = \"unclosed", "o", "\"unclosed"),
        ("o = it's # not", "o", "it's # not"),
        ("o = \"a\" \"b\"", "o", "a\" \"b"),
        ("o= 'x\"", "o", "'x\""),
        ("o=\"", "o", "\""),
        ("o=''", "o", ""),
        ("o", "o", ""),
        ("o=", "o", ""),
        ("o=end\\", "o", "end\\"),
        ("o = a=b=c", "o", "a=b=c"),
        ("o_17-x = 1", "o-17-x", "1"),
        ("\t o = lead", "o", "lead"),
        ("o = \"a\\\\\" # x", "o", "a\\"),
        ("o = \\#x", "o", "\\"),
        ("o = \"a\\\\\"#x\"", "o", "a\\"),
        ("o='a\\'#b'", "o", "a'#b"),
        ("o=a;b", "o", "a;b"),
        ("o = \"q\" # \"z\"", "o", "q"),
        ("o=tab\tx", "o", "tab\tx"),
        ("o#x=5", "o", ""),
        ("o = 'it''s'", "o", "it''s"),
        ("o = \"\\x41\\$\"", "o", "\\x41\\$"),
        ("o=\"x\"y", "o", "\"x\"y"),
        ("o=a\\ b", "o", "a\\ b"),
        ("o=\r", "o", ""),
        ("o=p%41\u{e9}", "o", "p%41\u{e9}"),
        ("o = 'a\\\\' # '", "o", "a\\"),
    ];

    fn parsed(line: &str) -> Option<(String, String)> {
        match Line::parse(line).unwrap() {
            Line::Setting(name, value) => Some((name.replace('_', "-"), value)),
            _ => None,
        }
    }

    #[test]
    fn lines_are_read_as_clients_read_them() {
        for (line, name, value) in LINES {
            assert_eq!(parsed(line), Some((name.to_owned(), value.to_owned())), "{line}");
        }
        for line in ["", "  ", "# o=1", " ; o=1", "!nonsense", "!includedirx /y"] {
            assert_eq!(Line::parse(line), Ok(Line::Nothing), "{line}");
        }
        assert_eq!(Line::parse("[client ] x"), Ok(Line::Group("client")));
        assert_eq!(Line::parse("[ client]x=1"), Ok(Line::Group(" client")));
        assert_eq!(Line::parse("!  include \t/a b # c "), Ok(Line::Include("/a b # c")));
        assert_eq!(Line::parse("!includedir /d\r"), Ok(Line::IncludeFolder("/d")));
        assert!(Line::parse("[client").is_err() && Line::parse("!include ").is_err());
    }

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        file
    }

    fn options(file: &Path) -> Result<OptionFile, Failure> {
        let mut reader = Reader::new(None);
        reader.read_file(file, 0).map(|()| reader.found)
    }

    /// What MariaDB's own reader makes of a file; `None`: it is not installed. An option without a value is printed without `=`.
    fn read_by_mariadb(file: &Path) -> Option<Result<Vec<(String, String)>, ()>> {
        let argument = format!("--defaults-file={}", file.display());
        let answer = Command::new("my_print_defaults").args([&argument, "client"]).output().ok()?;
        if !answer.status.success() {
            return Some(Err(()));
        }
        let text = String::from_utf8(answer.stdout).unwrap();
        Some(Ok(text
            .strip_prefix("--")
            .unwrap_or_default()
            .trim_end_matches('\n')
            .split("\n--")
            .map(|line| {
                let (name, value) = line.split_once('=').unwrap_or((line, ""));
                (name.replace('_', "-"), value.to_owned())
            })
            .collect()))
    }

    #[test]
    fn the_installed_reader_agrees_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        for (line, name, value) in LINES {
            let file = write(folder.path(), "line.cnf", &format!("[client]\n{line}\n"));
            let Some(told) = read_by_mariadb(&file) else {
                return println!("skipped: my_print_defaults is not installed");
            };
            assert_eq!(told, Ok(vec![(name.to_owned(), value.to_owned())]), "{line}");
        }
    }

    #[test]
    fn includes_are_followed_as_the_installed_reader_does() {
        let folder = tempfile::tempdir().unwrap();
        let (base, here) = (folder.path(), folder.path().display());
        fs::create_dir(base.join("d")).unwrap();
        for (name, value) in [("b.cnf", "1"), ("a.cnf", "2"), ("c.txt", "3"), ("B.cnf", "4"), (".h.cnf", "5")] {
            write(&base.join("d"), name, &format!("[client]\na={value}\nlast={name}\n"));
        }
        let text = format!(
            "[other]\n!include {here}/d/a.cnf\nx=0\n[client]\nx=1\n!includedir {here}/d\n!include {here}/none\ny=2\n"
        );
        let all = options(&write(base, "i.cnf", &text)).unwrap().values;
        for (name, value) in [("a", "1"), ("last", "b.cnf"), ("x", "1"), ("y", "2")] {
            assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
        }
        // Files that include each other end, and a folder that is not there is an error.
        let looped = write(base, "l.cnf", &format!("[client]\nl=1\n!include {here}/l.cnf\nm=2\n"));
        assert_eq!(options(&looped).unwrap().values.len(), 2);
        let bad = [
            "[client]\n!includedir /nowhere/at/all\n".to_owned(),
            "user=x\n[client]\n".to_owned(),
            "\u{feff}[client]\nuser=x\n".to_owned(),
            "[client\nuser=x\n".to_owned(),
            "[client]\n!include\n".to_owned(),
        ];
        for text in &bad {
            let file = write(base, "bad.cnf", text);
            assert!(options(&file).unwrap_err().tried.contains("bad.cnf, line "), "{text}");
            assert!(read_by_mariadb(&file).is_none_or(|told| told.is_err()), "{text}");
        }
        if let Some(told) = read_by_mariadb(&base.join("i.cnf")) {
            assert_eq!(told.unwrap().into_iter().collect::<BTreeMap<_, _>>(), all);
        }
    }

    #[test]
    fn options_that_cannot_be_honoured_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("[client]\npassword={}\n", "x".repeat(LINE_BYTES));
        for (text, said) in [("[client]\ninit_command='SET autocommit=0'\n", "init-command"), (&long, "4094")] {
            assert!(options(&write(folder.path(), "c.cnf", text)).unwrap_err().cause.contains(said));
        }
        let file = write(folder.path(), "c.cnf", "[client]\nloose-user=me\nskip-ssl\n[mysqld]\ninit-command=x\n");
        let values = options(&file).unwrap().values;
        assert_eq!((values["user"].as_str(), values["ssl"].as_str()), ("me", "0"));
    }

    #[test]
    fn a_password_that_others_can_read_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".my.cnf");
        fs::write(&file, "[client]\nuser=me\npassword=hunter2\n").unwrap();
        let home = |name: &str| (name == "HOME").then(|| folder.path().display().to_string());
        let mode = |mode: &str| {
            assert!(Command::new("chmod").arg(mode).arg(&file).status().unwrap().success());
        };
        mode("0600");
        let options = read_option_files(&home).unwrap();
        assert_eq!((options.values.get("password").map(String::as_str), &options.file), (Some("hunter2"), &file));
        mode("0644");
        let options = read_option_files(&home).unwrap();
        assert_eq!(options.values.get("password"), None);
        assert_eq!(options.values.get("user").map(String::as_str), Some("me"));
        assert!(options.ignored.unwrap().contains("chmod 0600"));
        mode("0666");
        let options = read_option_files(&home).unwrap();
        assert!(options.values.get("user").is_none_or(|user| user != "me") && options.ignored.is_some());
    }
}
