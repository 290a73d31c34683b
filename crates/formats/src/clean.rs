//! What stands around a tool's output once it has passed through a terminal, a CI job, a journal, a container or a web page.
//!
//! A line stays a line, so that line numbers hold.

use std::borrow::Cow;

use indexmap::IndexSet;

/// A prefix is one of the text if this share of its lines, in percent, has it.
const SHARE_PERCENT: usize = 60;
/// Lines of a mail that quotes a result. What answers it has no marks.
const FEWEST_QUOTED: usize = 3;
/// Prefixes may stand in front of each other: a container's name, then a time.
const MOST_PREFIXES: usize = 4;
/// Most streams of a text.
const MOST_STREAMS: usize = 256;

/// What a collector writes in front of a line: the name in it, or several separated by tabs, and the rest.
type Prefix = fn(&str) -> Option<(&str, &str)>;

/// Lines that a collector of logs has from one place: a job, a container, a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The names in front of its lines, from the outermost.
    pub names: Vec<String>,
    /// The text with the lines of others empty.
    pub text: String,
}

/// Takes off control sequences, what a carriage return overwrote, and the prefixes of collectors of logs.
/// Lines of several names are several streams. `is_known` tells whether a reader recognises a text: what is known has
/// no prefix that may be its own.
pub fn clean_text(text: &str, is_known: fn(&str) -> bool) -> Vec<Stream> {
    let mut lines: Vec<String> = text.lines().map(|line| unwrap_docker_json(&visible_line(line))).collect();
    let quoted = lines.iter().filter(|line| strip_quotation(line).is_some()).count();
    if quoted >= FEWEST_QUOTED || is_of_most(&lines, |line| make_unnamed(strip_quotation(line))) {
        lines.iter_mut().for_each(|line| *line = strip_quotation(line).unwrap_or(line).to_owned());
    }
    let mut names: Vec<Vec<String>> = vec![Vec::new(); lines.len()];
    for _ in 0..MOST_PREFIXES {
        let strong = PREFIXES.iter().find(|prefix| is_of_most(&lines, **prefix));
        let Some(prefix) = strong.or_else(|| find_weak_prefix(&lines, is_known)) else { break };
        for (line, names) in lines.iter_mut().zip(&mut names) {
            let Some((name, rest)) = prefix(line) else { continue };
            names.extend(name.split('\t').filter(|name| !name.is_empty()).map(str::to_owned));
            *line = rest.to_owned();
        }
    }
    split_streams(&lines, names)
}

/// Splits lines into a stream for each name.
/// A line without a name is of the one before, or of the first one.
fn split_streams(lines: &[String], mut names: Vec<Vec<String>>) -> Vec<Stream> {
    let mut last = names.iter().find(|names| !names.is_empty()).cloned().unwrap_or_default();
    for names in &mut names {
        if names.is_empty() {
            names.clone_from(&last);
        }
        last.clone_from(names);
    }
    let distinct: IndexSet<&Vec<String>> = names.iter().collect();
    if distinct.len() < 2 {
        return vec![Stream { names: Vec::new(), text: lines.join("\n") }];
    }
    let text_of = |stream: &Vec<String>| {
        let own = lines.iter().zip(&names).map(|(line, names)| if names == stream { line.as_str() } else { "" });
        own.collect::<Vec<_>>().join("\n")
    };
    distinct.into_iter().take(MOST_STREAMS).map(|names| Stream { names: names.clone(), text: text_of(names) }).collect()
}

/// Decodes a saved mail in `quoted-printable`, which breaks lines and writes `=` as `=3D`.
pub fn decode_quoted_printable(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| line.to_ascii_lowercase().starts_with("content-transfer-encoding: quoted-printable")) {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let byte = rest.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(end) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
            rest = end;
        } else if let Some(byte) = byte {
            bytes.push(byte);
            rest = &rest[2..];
        } else {
            bytes.push(b'=');
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Cow::Owned(crate::text::decode(&bytes))
}

/// Tests whether most of the lines that are not blank have a prefix.
fn is_of_most(lines: &[String], prefix: Prefix) -> bool {
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let (with, all) =
        filled.fold((0_usize, 0_usize), |(with, all), line| (with + usize::from(prefix(line).is_some()), all + 1));
    with > 0 && with * 100 >= all * SHARE_PERCENT
}

/// Finds a prefix that may as well be words of a tool, of a text that no reader recognises with it.
fn find_weak_prefix(lines: &[String], is_known: fn(&str) -> bool) -> Option<&'static Prefix> {
    let prefix = WEAK_PREFIXES.iter().find(|prefix| is_of_most(lines, **prefix) && has_few_names(lines, **prefix))?;
    if is_known(&lines.join("\n")) { None } else { Some(prefix) }
}

/// Tells whether each name of a prefix stands in front of three lines or more on average.
/// Words of a tool are not alike on most of its lines.
fn has_few_names(lines: &[String], prefix: Prefix) -> bool {
    let names: Vec<&str> = lines.iter().filter_map(|line| prefix(line)).map(|(name, _)| name).collect();
    let distinct: IndexSet<&&str> = names.iter().collect();
    names.len() >= 3 * distinct.len()
}

/// Gives a line as a terminal shows it at last, without control sequences.
/// Of parts that a carriage return separates it is the last one that is not empty.
fn visible_line(line: &str) -> String {
    let last = line.split('\r').rev().find(|part| !part.trim().is_empty()).unwrap_or_default();
    let mut kept = String::with_capacity(last.len());
    let mut rest = last;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        rest = behind_sequence(rest);
    }
    kept.push_str(rest);
    kept
}

/// Gives what follows a control sequence, behind its escape: of colours, of a title, of a set of characters.
fn behind_sequence(rest: &str) -> &str {
    if let Some(sequence) = rest.strip_prefix('[') {
        let end = sequence.find(|c: char| ('@'..='~').contains(&c));
        end.map_or("", |end| &sequence[end + 1..])
    } else if let Some(title) = rest.strip_prefix(']') {
        let end = title.find(['\u{7}', '\u{1b}']);
        end.map_or("", |end| title[end + 1..].trim_start_matches('\\'))
    } else if let Some(set) = rest.strip_prefix(['(', ')', '*', '+', '#', '%', ' ']) {
        let mut chars = set.chars();
        chars.next();
        chars.as_str()
    } else {
        rest.strip_prefix(['=', '>', '7', '8', 'c', 'D', 'E', 'H', 'M']).unwrap_or(rest)
    }
}

/// Gives the text in a line of Docker's `json-file` log, `{"log":"tps = 1\n",…}`; other lines stay.
fn unwrap_docker_json(line: &str) -> String {
    if !line.starts_with("{\"log\":") {
        return line.to_owned();
    }
    let json: Option<serde_json::Value> = serde_json::from_str(line).ok();
    let text = json.as_ref().and_then(|json| json.get("log")).and_then(serde_json::Value::as_str);
    text.map_or_else(|| line.to_owned(), |text| text.trim_end_matches(['\n', '\r']).to_owned())
}

const PREFIXES: [Prefix; 9] = [
    strip_github,
    |line| make_unnamed(strip_timestamp(line)),
    strip_journal,
    strip_container,
    |line| make_unnamed(strip_time_of_day(line)),
    strip_pod,
    |line| make_unnamed(strip_level(line)),
    |line| make_unnamed(strip_bar(line)),
    |line| make_unnamed(strip_build_step(line)),
];

/// Those that may also be words of a tool.
const WEAK_PREFIXES: [Prefix; 3] = [strip_program, strip_bracketed, strip_host];

/// Makes the rest of a line one of no name.
fn make_unnamed(rest: Option<&str>) -> Option<(&str, &str)> {
    rest.map(|rest| ("", rest))
}

/// Takes off the `> ` of an e-mail or of Markdown, as often as it was quoted.
/// HammerDB begins lines with `>>>>>`.
fn strip_quotation(line: &str) -> Option<&str> {
    let mut rest = line;
    // Between two marks a blank may stand.
    while let Some(more) = rest.strip_prefix('>').or_else(|| rest.strip_prefix(" >")) {
        if rest.len() == line.len() && line.starts_with(' ') {
            break;
        }
        if rest.trim_start().starts_with(">>>>>") {
            break;
        }
        rest = more;
    }
    (rest.len() < line.len()).then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// Splits a line of `gh run view --log` into job and step, and the text behind tabs and time.
fn strip_github(line: &str) -> Option<(&str, &str)> {
    let mut tabs = line.match_indices('\t').map(|(at, _)| at);
    let (_, second) = (tabs.next()?, tabs.next()?);
    Some((&line[..second], strip_timestamp(line[second + 1..].trim_start_matches('\u{feff}'))?))
}

/// Takes off a time and date: `2026-11-26T05:09:19.1234567Z text`, `Nov 26 05:09:19 text`, also in brackets.
/// Logs of kubelet, containerd and GitLab have the stream behind it, which goes too.
fn strip_timestamp(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}');
    let (bare, is_bracketed) = line.strip_prefix('[').map_or((line, false), |bare| (bare, true));
    let rest = match after_date(bare) {
        Some(rest) => rest.strip_prefix(['T', ' ', '_'])?,
        None => after_month_and_day(bare)?,
    };
    let rest = after_zone(after_fraction(after_clock(rest)?));
    let rest = if is_bracketed { rest.strip_prefix(']')? } else { rest };
    let rest = after_blank(rest)?;
    let of_stream = ["stdout ", "stderr "].iter().find_map(|stream| rest.strip_prefix(stream));
    let of_stream = of_stream.and_then(|rest| rest.strip_prefix("F ").or_else(|| rest.strip_prefix("P ")));
    Some(of_stream.or_else(|| behind_gitlab_stream(rest)).unwrap_or(rest))
}

/// Gives what follows GitLab's `00O ` or `01E+`.
fn behind_gitlab_stream(rest: &str) -> Option<&str> {
    let (number, behind) = rest.split_at_checked(2)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_hexdigit());
    let behind = behind.strip_prefix(['O', 'E'])?;
    let behind = if behind.is_empty() { behind } else { behind.strip_prefix([' ', '+'])? };
    is_number.then_some(behind)
}

/// Gives what follows a month and day, `Nov 26 `.
fn after_month_and_day(line: &str) -> Option<&str> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let rest = MONTHS.iter().find_map(|month| line.strip_prefix(month))?.trim_start_matches(' ');
    rest.strip_prefix(|c: char| c.is_ascii_digit())?.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(' ')
}

/// Splits `host pgbench[123]: text` of a journal, behind its time, into host and text.
fn strip_journal(line: &str) -> Option<(&str, &str)> {
    let (host, rest) = line.split_once(' ')?;
    let (process, rest) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let number = process.strip_suffix(']')?.rsplit_once('[')?.1;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !process.contains(' ')).then_some((host, rest))
}

/// Splits `host pgbench: text`, behind a time, into host and text.
fn strip_program(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let (host, program) = name.split_once(' ')?;
    (is_stream_name(host) && is_stream_name(program)).then_some((host, rest))
}

/// Splits `[db1] text` into name and text.
fn strip_bracketed(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((name, after_blank(rest)?)).filter(|(name, _)| is_stream_name(name))
}

/// Splits `db1: text` of `pdsh` into host and text.
fn strip_host(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    Some((name, after_blank(rest)?)).filter(|(name, _)| is_stream_name(name))
}

/// Takes off the step and time of `docker build`: `#12 34.56 text`.
fn strip_build_step(line: &str) -> Option<&str> {
    let (step, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let (time, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let (seconds, hundredths) = time.split_once('.')?;
    let are_numbers = [step, seconds, hundredths]
        .iter()
        .all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    are_numbers.then_some(rest)
}

/// Splits `bench-1  | text` of `docker compose` into container and text.
fn strip_container(line: &str) -> Option<(&str, &str)> {
    let (padded, rest) = line.split_once('|')?;
    let name = padded.trim_end();
    (is_stream_name(name) && padded.len() > name.len()).then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// Tests whether a word can be the name of a host, a program or a container.
fn is_stream_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Takes off a time of day: `05:09:19 text`, in brackets or not.
fn strip_time_of_day(line: &str) -> Option<&str> {
    match line.strip_prefix('[') {
        Some(bare) => after_blank(after_fraction(after_clock(bare)?).strip_prefix(']')?),
        None => after_blank(after_fraction(after_clock(line)?)),
    }
}

/// Splits `[pod/NAME/CONTAINER] text` of `kubectl logs --prefix` into name and text.
fn strip_pod(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("[pod/")?.split_once(']')?;
    if name.contains(' ') { None } else { Some((name, after_blank(rest)?)) }
}

/// Takes off the level of a program's log: `INFO  text`, `[INFO] text`, `INFO: text`.
fn strip_level(line: &str) -> Option<&str> {
    const LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "WARN"];
    let (bare, is_bracketed) = line.strip_prefix('[').map_or((line, false), |bare| (bare, true));
    let rest = LEVELS.iter().find_map(|level| bare.strip_prefix(level))?;
    after_blank(if is_bracketed { rest.strip_prefix(']')? } else { rest.strip_prefix(':').unwrap_or(rest) })
}

/// Takes off the bar of `| text`, behind a time that was taken off.
fn strip_bar(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('|')?;
    after_blank(rest).filter(|rest| !rest.trim_end().ends_with('|'))
}

/// Gives what stands behind one blank, or nothing behind nothing.
fn after_blank(rest: &str) -> Option<&str> {
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix([' ', '\t']) }
}

/// Gives what stands behind the first `count` characters; `None` if these are not all digits.
fn after_digits(text: &str, count: usize) -> Option<&str> {
    let (number, rest) = text.split_at_checked(count)?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
}

/// Gives what stands behind a date, `2026-11-26`.
fn after_date(text: &str) -> Option<&str> {
    let rest = after_digits(text, 4)?;
    let rest = after_digits(rest.strip_prefix(['-', '/'])?, 2)?;
    after_digits(rest.strip_prefix(['-', '/'])?, 2)
}

/// Gives what stands behind a time of day, `05:09:19`.
fn after_clock(text: &str) -> Option<&str> {
    let rest = after_digits(text, 2)?;
    let rest = after_digits(rest.strip_prefix(':')?, 2)?;
    after_digits(rest.strip_prefix(':')?, 2)
}

/// Gives what stands behind the fraction of a second, if there is one.
fn after_fraction(text: &str) -> &str {
    match text.strip_prefix(['.', ',']) {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => text,
    }
}

/// Gives what stands behind a zone, `Z`, `+00:00`, `+0000` or ` UTC`, if there is one.
fn after_zone(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('Z').or_else(|| text.strip_prefix(" UTC")) {
        return rest;
    }
    let offset = text.strip_prefix(['+', '-']).and_then(|rest| after_digits(rest, 2));
    offset.and_then(|rest| after_digits(rest.strip_prefix(':').unwrap_or(rest), 2)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        let streams = clean_text(text, |text| text.contains("\ntps = "));
        assert_eq!(streams.len(), 1, "{text}");
        streams[0].text.clone()
    }

    #[test]
    fn prefixes_of_collectors_are_taken_off() {
        let text = ["transaction type: <builtin: TPC-B (sort of)>", "", "  indented: 1", "tps = 100.0"];
        for prefix in [
            "2026-11-26T05:09:19.1234567Z ",
            "2026-11-26T05:09:19.123456789Z stdout F ",
            "[2026-11-26T05:09:19.123Z] ",
            "2026-11-26 05:09:19,123 ",
            "2026-11-26T05:09:19+0000 host pgbench[17]: ",
            "Nov  6 05:09:19 db-1 pgbench[17]: ",
            "bench-1  | ",
            "bench-1  | 2026-11-26T05:09:19Z ",
            "build\tRun it\t2026-11-26T05:09:19.1234567Z ",
            "> ",
            "[05:09:19] ",
            "05:09:19.120 | ",
            "2026-11-26 05:09:19,123 INFO ",
            "2026-11-26 05:09:19,123 [INFO] ",
            "[pod/bench-7/sysbench] ",
            "[pod/bench-7/sysbench] 2026-11-26T05:09:19Z ",
            "Nov 26 05:09:19 ",
            "Nov 26 05:09:19 db1 pgbench: ",
            "2026-11-26T05:09:19.000000Z 00O ",
            "db1: ",
            "[db1] ",
            "#12 34.56 ",
        ] {
            let dressed: String = text.iter().map(|line| format!("{prefix}{line}\n")).collect();
            assert_eq!(cleaned(&dressed).lines().collect::<Vec<_>>(), text, "{prefix}");
        }
    }

    #[test]
    fn what_looks_like_a_prefix_once_is_kept() {
        for text in [
            "a: 1\nb: 2\n2026-11-26T05:09:19Z x\nc: 3",
            "0.826 |*** 2\n0.840 |  1\nx | y",
            "[ 1s ] thds: 2\n[ 2s ] thds: 2",
        ] {
            assert_eq!(cleaned(text), text);
        }
        assert_eq!(cleaned("\u{1b}[1;32mtps\u{1b}[0m = 1\r\n10 %\r20 %\n"), "tps = 1\n20 %");
        assert_eq!(cleaned("\u{1b}]0;user@db: ~\u{7}tps\u{1b}(B\u{1b}[m = 1\u{1b}]0;x\u{1b}\\"), "tps = 1");
        assert_eq!(cleaned("{\"log\":\"tps = 1\\n\",\"stream\":\"stdout\"}"), "tps = 1");
    }

    #[test]
    fn lines_of_several_names_are_several_streams() {
        let text = "Attaching to a, b\na-1  | x\nb-1  | y\na-1  |   z\nb-1  | \n";
        let found: Vec<(Vec<String>, String)> =
            clean_text(text, |_| true).into_iter().map(|one| (one.names, one.text)).collect();
        assert_eq!(
            found,
            [
                (vec!["a-1".to_owned()], "Attaching to a, b\nx\n\n  z\n".to_owned()),
                (vec!["b-1".to_owned()], "\n\ny\n\n".to_owned())
            ]
        );
        let text = "bench (pg15)\tRun\t2026-11-26T05:09:19Z x\nbench (pg16)\tRun\t2026-11-26T05:09:20Z x\n";
        assert_eq!(clean_text(text, |_| true)[1].names, ["bench (pg16)", "Run"]);
        assert_eq!(
            clean_text("db1: x\ndb1: y\ndb1: z\n", |_| true)[0].text,
            "db1: x\ndb1: y\ndb1: z",
            "a reader knows it"
        );
    }
}
