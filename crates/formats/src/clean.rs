//! What stands around a tool's output once it has passed through a terminal, a CI job, a journal, a container or a web page.
//!
//! A line stays a line, so that line numbers hold.

use std::borrow::Cow;

/// A prefix is one of the text if this share of its lines, in percent, has it.
const SHARE_PERCENT: usize = 60;
/// Prefixes may stand in front of each other: a container's name, then a time.
const MOST_PREFIXES: usize = 4;

/// Takes off control sequences, what a carriage return overwrote, and the prefixes of collectors of logs.
pub fn clean(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| unwrapped(&visible(line))).collect();
    for _ in 0..MOST_PREFIXES {
        let Some(prefix) = PREFIXES.iter().find(|prefix| is_of_most(&lines, **prefix)) else { break };
        for line in &mut lines {
            if let Some(rest) = prefix(line) {
                *line = rest.to_owned();
            }
        }
    }
    lines.join("\n")
}

/// A saved mail without its encoding `quoted-printable`, which breaks lines and writes `=` as `=3D`.
pub fn unquoted(text: &str) -> Cow<'_, str> {
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

fn is_of_most(lines: &[String], prefix: fn(&str) -> Option<&str>) -> bool {
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let (with, all) =
        filled.fold((0_usize, 0_usize), |(with, all), line| (with + usize::from(prefix(line).is_some()), all + 1));
    with > 0 && with * 100 >= all * SHARE_PERCENT
}

/// A line as a terminal shows it at last: without control sequences, and of parts that a carriage return separates the last one
/// that is not empty.
fn visible(line: &str) -> String {
    let last = line.split('\r').rev().find(|part| !part.trim().is_empty()).unwrap_or_default();
    let mut kept = String::with_capacity(last.len());
    let mut rest = last;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(sequence) = rest.strip_prefix('[') {
            let end = sequence.find(|c: char| ('@'..='~').contains(&c));
            rest = end.map_or("", |end| &sequence[end + 1..]);
        }
    }
    kept.push_str(rest);
    kept
}

/// The text in a line of Docker's `json-file` log: `{"log":"tps = 1\n","stream":"stdout","time":"…"}`.
fn unwrapped(line: &str) -> String {
    if !line.starts_with("{\"log\":") {
        return line.to_owned();
    }
    let json: Option<serde_json::Value> = serde_json::from_str(line).ok();
    let text = json.as_ref().and_then(|json| json.get("log")).and_then(serde_json::Value::as_str);
    text.map_or_else(|| line.to_owned(), |text| text.trim_end_matches(['\n', '\r']).to_owned())
}

const PREFIXES: [fn(&str) -> Option<&str>; 9] =
    [quotation, github, stamped, journal, container, time_of_day, pod, level, bar];

/// `> ` of an e-mail or of Markdown.
fn quotation(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// `gh run view --log` writes job, step and time, separated by tabs.
fn github(line: &str) -> Option<&str> {
    let mut parts = line.splitn(3, '\t');
    let (_, _, rest) = (parts.next()?, parts.next()?, parts.next()?);
    stamped(rest.trim_start_matches('\u{feff}'))
}

/// `2026-11-26T05:09:19.1234567Z text`, in brackets or not; kubelet's and containerd's files tell the stream behind it.
fn stamped(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}');
    let (bare, is_bracketed) = line.strip_prefix('[').map_or((line, false), |bare| (bare, true));
    let rest = date(bare)?;
    let rest = rest.strip_prefix(['T', ' ', '_'])?;
    let rest = zone(fraction(clock(rest)?));
    let rest = if is_bracketed { rest.strip_prefix(']')? } else { rest };
    let rest = separated(rest)?;
    let of_stream = ["stdout ", "stderr "].iter().find_map(|stream| rest.strip_prefix(stream));
    let of_stream = of_stream.and_then(|rest| rest.strip_prefix("F ").or_else(|| rest.strip_prefix("P ")));
    Some(of_stream.unwrap_or(rest))
}

/// `Nov 26 05:09:19 host pgbench[123]: text`, and what is left of it once a time was taken off: `host pgbench[123]: text`.
fn journal(line: &str) -> Option<&str> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let rest = match MONTHS.iter().find_map(|month| line.strip_prefix(month)) {
        Some(rest) => {
            let rest = rest.trim_start_matches(' ');
            let rest =
                rest.strip_prefix(|c: char| c.is_ascii_digit())?.trim_start_matches(|c: char| c.is_ascii_digit());
            fraction(clock(rest.strip_prefix(' ')?)?).strip_prefix(' ')?
        }
        None => line,
    };
    let (_host, rest) = rest.split_once(' ')?;
    let (process, rest) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let number = process.strip_suffix(']')?.rsplit_once('[')?.1;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !process.contains(' ')).then_some(rest)
}

/// `bench-1  | text` of `docker compose`.
fn container(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once('|')?;
    let name = name.trim_end();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    (is_name && line[name.len()..].starts_with(' ')).then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `05:09:19 text`, in brackets or not.
fn time_of_day(line: &str) -> Option<&str> {
    match line.strip_prefix('[') {
        Some(bare) => separated(fraction(clock(bare)?).strip_prefix(']')?),
        None => separated(fraction(clock(line)?)),
    }
}

/// `[pod/NAME/CONTAINER] text` of `kubectl logs --prefix`.
fn pod(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("[pod/")?.split_once(']')?;
    if name.contains(' ') { None } else { separated(rest) }
}

/// `INFO  text`, `[INFO] text`, `INFO: text` of a program's log.
fn level(line: &str) -> Option<&str> {
    const LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "WARN"];
    let (bare, is_bracketed) = line.strip_prefix('[').map_or((line, false), |bare| (bare, true));
    let rest = LEVELS.iter().find_map(|level| bare.strip_prefix(level))?;
    separated(if is_bracketed { rest.strip_prefix(']')? } else { rest.strip_prefix(':').unwrap_or(rest) })
}

/// `| text`, behind a time that was taken off.
fn bar(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('|')?;
    separated(rest).filter(|rest| !rest.trim_end().ends_with('|'))
}

/// What stands behind one blank, or nothing behind nothing.
fn separated(rest: &str) -> Option<&str> {
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix([' ', '\t']) }
}

fn digits(text: &str, count: usize) -> Option<&str> {
    let (number, rest) = text.split_at_checked(count)?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
}

/// Behind `2026-11-26`.
fn date(text: &str) -> Option<&str> {
    let rest = digits(text, 4)?;
    let rest = digits(rest.strip_prefix(['-', '/'])?, 2)?;
    digits(rest.strip_prefix(['-', '/'])?, 2)
}

/// Behind `05:09:19`.
fn clock(text: &str) -> Option<&str> {
    let rest = digits(text, 2)?;
    let rest = digits(rest.strip_prefix(':')?, 2)?;
    digits(rest.strip_prefix(':')?, 2)
}

fn fraction(text: &str) -> &str {
    match text.strip_prefix(['.', ',']) {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => text,
    }
}

/// Behind `Z`, `+00:00`, `+0000` or ` UTC`.
fn zone(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('Z').or_else(|| text.strip_prefix(" UTC")) {
        return rest;
    }
    let offset = text.strip_prefix(['+', '-']).and_then(|rest| digits(rest, 2));
    offset.and_then(|rest| digits(rest.strip_prefix(':').unwrap_or(rest), 2)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let dressed: String = text.iter().map(|line| format!("{prefix}{line}\n")).collect();
            assert_eq!(clean(&dressed).lines().collect::<Vec<_>>(), text, "{prefix}");
        }
    }

    #[test]
    fn what_looks_like_a_prefix_once_is_kept() {
        for text in [
            "a: 1\nb: 2\n2026-11-26T05:09:19Z x\nc: 3",
            "0.826 |*** 2\n0.840 |  1\nx | y",
            "[ 1s ] thds: 2\n[ 2s ] thds: 2",
        ] {
            assert_eq!(clean(text), text);
        }
        assert_eq!(clean("\u{1b}[1;32mtps\u{1b}[0m = 1\r\n10 %\r20 %\n"), "tps = 1\n20 %");
        assert_eq!(clean("{\"log\":\"tps = 1\\n\",\"stream\":\"stdout\"}"), "tps = 1");
    }
}
