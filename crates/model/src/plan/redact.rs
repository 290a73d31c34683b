//! Passwords are never printed or stored: this is where they are found.
//!
//! A malformed URL is masked too much rather than too little: a password with a bare `@`, `/` or `?` is hidden to its
//! last character, unless the URL reads as one with a port and a query.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Serialize as _;
use sha2::{Digest as _, Sha256};
use toml::de::{DeTable, DeValue};

use super::Plan;
use crate::value::Value;

pub const MASK: &str = "***";

/// Keys that end so hold secrets.
const SECRET_WORDS: [&str; 5] = ["password", "passwd", "pwd", "secret", "passphrase"];

/// Masks the passwords of a URL with `***`.
/// They are that of `scheme://user:password@host`, those of query keys such as `?password=` and `&sslpassword=`, and
/// those of libpq's `host=h password=p`. Nothing else changes.
pub fn redact_url(url: &str) -> String {
    replace_ranges(url, &secret_ranges(url), MASK)
}

/// Removes the passwords of a URL, for sending it to another host, which takes them from its own environment.
pub fn without_password(url: &str) -> String {
    without_passwords(url, |_| true)
}

/// Removes the passwords of a URL for which `goes` is true.
fn without_passwords(url: &str, goes: impl Fn(&str) -> bool) -> String {
    let mut text = url.to_owned();
    for range in secret_ranges(url).into_iter().rev().filter(|range| goes(&url[range.clone()])) {
        let before = &url[..range.start];
        let pair = if before.ends_with('=') { before.rfind(['?', '&', ';']) } else { None };
        match pair {
            Some(separator) if url[range.end..].starts_with(['&', ';']) => {
                text.replace_range(separator + 1..=range.end, "");
            }
            Some(separator) => text.replace_range(separator..range.end, ""),
            None if before.ends_with(':') => text.replace_range(range.start - 1..range.end, ""),
            None => text.replace_range(range, ""),
        }
    }
    text
}

/// Masks every password in the text of a plan file, and every other occurrence of a password of `plan`.
/// Also those of a URL in a comment. A password that the redacted plan also shows as a word, as in
/// `postgres://postgres:postgres@h`, is masked only where it stands as a password.
pub fn redact_text(plan_text: &str, plan: &Plan) -> String {
    let openly = open_words(&plan.redacted());
    let mut secrets = secrets_of_plan(plan);
    secrets.retain(|secret| whole_words(&openly, secret).next().is_none());
    // Longest first, so that a password that is part of another leaves nothing of it.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let text = redact_strings(plan_text);
    let text: String = text.split_inclusive('\n').map(redact_words).collect();
    secrets.iter().fold(text, |text, secret| {
        let ranges: Vec<Range<usize>> = whole_words(&text, secret).collect();
        replace_ranges(&text, &ranges, MASK)
    })
}

/// A plan from a store, where passwords are masked.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmasked {
    /// Masked passwords are absent here; they come from the environment or password files.
    pub plan: Plan,
    pub without_password: Vec<String>,
    /// What was masked and cannot come from elsewhere, as in `setting ssl_secret of system a`.
    pub lost: Vec<String>,
}

impl Plan {
    /// Removes the masks from a plan that was stored, and lists whose passwords and values are lost.
    /// A NATS URL keeps its mask: what is left of the login would be taken for a token.
    pub fn unmasked(mut self) -> Unmasked {
        let (mut without_password, mut lost) = (Vec::new(), Vec::new());
        for system in &mut self.systems {
            let url = without_passwords(&system.url, |secret| secret == MASK);
            if url != system.url {
                without_password.push(system.name.clone());
                system.url = url;
            }
            let masked = system.settings.iter().filter(|(name, value)| holds_mask(name, value));
            lost.extend(masked.map(|(name, _)| format!("setting `{name}` of system `{}`", system.name)));
        }
        for benchmark in &self.benchmarks {
            let masked = benchmark.points.iter().flatten().filter(|(key, value)| holds_mask(key, value));
            lost.extend(masked.map(|(key, _)| format!("key `{key}` of benchmark `{}`", benchmark.name)));
        }
        lost.dedup();
        Unmasked { plan: self, without_password, lost }
    }

    /// Copies the plan with its passwords masked, fit to be printed and stored.
    pub fn redacted(&self) -> Plan {
        let mut plan = self.clone();
        if let Some(fleet) = &mut plan.fleet {
            fleet.nats = replace_ranges(&fleet.nats, &login_ranges(&fleet.nats), MASK);
        }
        for system in &mut plan.systems {
            system.url = redact_url(&system.url);
            for (name, value) in &mut system.settings {
                *value = redact_value(name, value);
            }
        }
        for point in plan.benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.points) {
            for (key, value) in point {
                *value = redact_value(key, value);
            }
        }
        plan
    }

    /// Computes the SHA-256, in hexadecimal, of the redacted plan as JSON with sorted keys.
    /// That is of every field, the seed among them, and no password. A usual value is the same whether it is written or
    /// not.
    pub fn hash(&self) -> String {
        let mut plan = self.redacted();
        plan.benchmarks.iter_mut().for_each(|benchmark| benchmark.by_default.clear());
        let json = plan.serialize(serde_json::value::Serializer).map(|mut json| {
            json.sort_all_objects();
            json.to_string()
        });
        // A plan always fits JSON; if not, this still distinguishes plans.
        let text = json.unwrap_or_else(|_| format!("{plan:?}"));
        Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// Masks passwords in a line of a plan by their looks: the line may not be TOML, the key may be misspelt.
pub(super) fn redact_line(line: &str) -> String {
    let (key, _) = line.split_once('=').unwrap_or(("", line));
    let lower = key.to_ascii_lowercase();
    if ["pass", "pwd", "secret"].iter().any(|word| lower.contains(word)) {
        return format!("{key}= {MASK}");
    }
    let line = replace_ranges(line, line_user_range(line).as_slice(), MASK);
    redact_words(&line)
}

/// Finds the range of a line's password: from the first colon, other than that of `://`, to the last `@`.
fn line_user_range(line: &str) -> Option<Range<usize>> {
    let start = line.find("://").map_or(0, |scheme| scheme + "://".len());
    let colon = start + line[start..].find(':')? + 1;
    let end = line.rfind('@')?;
    (colon <= end).then_some(colon..end)
}

/// Masks the passwords of URLs in a text, and the values after secret keys.
pub fn redact_words(line: &str) -> String {
    let mut ranges = Vec::new();
    let mut start = 0;
    for word in line.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')) {
        if word.contains("://") {
            ranges.extend(secret_ranges(word).into_iter().map(|range| start + range.start..start + range.end));
        }
        start += word.len();
    }
    let line = replace_ranges(line, &ranges, MASK);
    replace_ranges(&line, &assigned_ranges(&line), MASK)
}

/// Finds the ranges of the passwords of a URL or a list of `key=value`; in order, without overlap.
fn secret_ranges(url: &str) -> Vec<Range<usize>> {
    let (start, user_end) = match (url.find("://"), url.find(':')) {
        // A password of a list may look like a URL.
        (Some(scheme), _) if assigned_ranges(&url[..scheme]).iter().any(|range| !range.is_empty()) => {
            return assigned_ranges(url);
        }
        (Some(scheme), _) => {
            let start = scheme + "://".len();
            (start, userinfo_end(&url[start..]).map(|end| start + end))
        }
        (None, Some(scheme)) if url[..scheme].bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) => {
            // `scheme:user:password@host` is no URL of any engine, but a user may write it; a path may hold an `@`.
            let is_path = url.contains(['/', '\\']);
            (scheme + 1, if is_path { None } else { url.rfind('@') })
        }
        _ => return assigned_ranges(url),
    };
    let mut ranges = Vec::new();
    if let Some(end) = user_end
        && let Some(colon) = url.get(start..end).and_then(|user| user.find(':'))
    {
        ranges.push(start + colon + 1..end);
    }
    let path = user_end.unwrap_or(start).max(start);
    let query = url[path..].find('?').map_or(url.len(), |question| path + question + 1);
    // `sqlserver://host;password=p` has its keys in the path.
    ranges.extend(pair_ranges(url, path..query, &[';']));
    ranges.extend(pair_ranges(url, query..url.len(), &['&', ';']));
    ranges
}

/// Finds the ranges of secrets in a NATS URL, where a user without a password is a token.
fn login_ranges(url: &str) -> Vec<Range<usize>> {
    let start = url.find("://").map_or(0, |scheme| scheme + "://".len());
    match url[start..].rfind('@') {
        Some(end) if !url[start..start + end].contains(':') => Some(start..start + end).into_iter().collect(),
        _ => secret_ranges(url),
    }
}

/// Finds the ranges of the values of secret keys among the pairs `key=value` in a part of a URL.
fn pair_ranges(url: &str, part: Range<usize>, separators: &[char]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = part.start;
    for pair in url[part].split(separators) {
        if let Some((key, value)) = pair.split_once('=')
            && may_be_secret_key(&percent_decode(key))
        {
            let end = start + pair.len();
            ranges.push(end - value.len()..end);
        }
        // Separators are single bytes.
        start += pair.len() + 1;
    }
    ranges
}

/// Finds the `@` that ends `user:password`, counted from the end of `://`.
fn userinfo_end(rest: &str) -> Option<usize> {
    // An empty authority, as in `sqlite:///a@b`, has no user.
    if rest.starts_with('/') {
        return None;
    }
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let end = before.rfind('@');
    // A bare `?` in the password looks like the start of the query, but an `@` that is no part of a query's value
    // follows it, or what stands before it is neither a user nor a host.
    let is_in_password = query.split('=').next().is_some_and(|first_key| first_key.contains('@'));
    if is_in_password || (end.is_none() && !hosts_are_fit(before)) {
        // Without any `@` it is a login whose host was forgotten, unless it is a host with a port.
        rest.rfind('@').or((!has_digits_after_colon(before)).then_some(rest.len()))
    } else {
        end
    }
}

/// Whether what stands behind the last colon of a host, if there is one, is digits alone.
fn has_digits_after_colon(text: &str) -> bool {
    let host = text.split(['/', ';']).next().unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    port.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a text is a list of hosts without ports, or one with a path after it.
/// What follows a colon is a number then. A number that is followed by neither is a password rather than a port.
fn hosts_are_fit(text: &str) -> bool {
    let Some((hosts, _)) = text.split_once('/') else { return !text.contains(':') };
    hosts.split(',').all(|host| match host.rsplit_once(':') {
        Some((_, port)) => host.ends_with(']') || (!port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())),
        None => true,
    })
}

/// Finds the ranges of values assigned to secret keys, as in `password=x` and `password = 'a b'`, without quotes.
fn assigned_ranges(text: &str) -> Vec<Range<usize>> {
    // Lower case of ASCII alone keeps every offset.
    let lower = text.to_ascii_lowercase();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (equals, _) in text.match_indices('=') {
        let key = lower[..equals].trim_end();
        let is_inside_last = ranges.last().is_some_and(|last| equals < last.end);
        if is_inside_last || !SECRET_WORDS.iter().any(|word| key.ends_with(word)) {
            continue;
        }
        let value = text[equals + 1..].trim_start();
        let is_quoted = value.starts_with(['\'', '"']);
        let start = text.len() - value.len() + usize::from(is_quoted);
        if !text[start..].starts_with(MASK) {
            ranges.push(start..start + value_length(value) - usize::from(is_quoted));
        }
    }
    ranges
}

/// Gives the length of a value of libpq's form, with the quote that opens it.
/// It ends at the quote that closes it (`\` takes the next character as it is), or at a blank.
fn value_length(text: &str) -> usize {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        return text.find(char::is_whitespace).unwrap_or(text.len());
    };
    let mut is_escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return index,
            _ => {}
        }
    }
    text.len()
}

/// Whether the value of a key of this name is a secret.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| key.ends_with(word))
}

/// Whether a key of a URL is secret or nearly spells one. Names of files are not.
fn may_be_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    is_secret_key(&key)
        || (!key.ends_with("file")
            && (SECRET_WORDS.iter().any(|word| key.len() > 4 && strsim::damerau_levenshtein(&key, word) <= 2)
                || ["pass", "pwd", "pw"].contains(&key.as_str())
                || key.contains("passw")))
}

/// Decodes the `%XX` escapes of a text; malformed ones stay as they are.
pub fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = if *first == b'%' { after.get(..2) } else { None };
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a mask stands where a secret would be.
fn holds_mask(key: &str, value: &Value) -> bool {
    let Value::Text(text) = value else { return false };
    // Had something else stood there, would it have been masked?
    let other = text.replace(MASK, "x");
    other != *text && (is_secret_key(key) || redact_url(&other) != other)
}

/// Copies a setting's value with its secrets masked.
fn redact_value(key: &str, value: &Value) -> Value {
    match value {
        Value::Bool(_) => value.clone(),
        _ if is_secret_key(key) => Value::Text(MASK.to_owned()),
        Value::Text(text) => Value::Text(redact_url(text)),
        Value::Int(_) | Value::Float(_) => value.clone(),
    }
}

/// Lists the secrets in a plan's URLs, settings and keys, as written and percent-decoded.
fn secrets_of_plan(plan: &Plan) -> Vec<String> {
    let mut found: Vec<String> = plan.systems.iter().flat_map(|system| secrets_in(&system.url)).collect();
    let bus = plan.fleet.iter().flat_map(|fleet| login_ranges(&fleet.nats).into_iter().map(|at| &fleet.nats[at]));
    found.extend(bus.map(str::to_owned));
    let settings = plan.systems.iter().flat_map(|system| &system.settings);
    let keys = plan.benchmarks.iter().flat_map(|benchmark| benchmark.points.iter().flatten());
    for (name, value) in settings.chain(keys) {
        match value {
            Value::Text(text) if !is_secret_key(name) => found.extend(secrets_in(text)),
            Value::Bool(_) => {}
            value if is_secret_key(name) => found.push(value.to_string()),
            _ => {}
        }
    }
    let decoded: Vec<String> = found.iter().map(|secret| percent_decode(secret)).collect();
    found.extend(decoded);
    found.retain(|secret| !secret.is_empty() && secret != MASK);
    found.sort();
    found.dedup();
    found
}

/// Lists the secrets in a URL.
fn secrets_in(text: &str) -> Vec<String> {
    secret_ranges(text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>()
}

/// Joins every word that a redacted plan shows into one text.
fn open_words(plan: &Plan) -> String {
    let mut words = format!("{} {}", plan.name, plan.comparison.baseline);
    for system in &plan.systems {
        let _ = write!(words, " {} {} {}", system.name, system.engine, system.url);
        for (name, value) in &system.settings {
            let _ = write!(words, " {name} {value}");
        }
    }
    for benchmark in &plan.benchmarks {
        let _ = write!(words, " {} {}", benchmark.name, benchmark.workload);
        for (key, value) in benchmark.points.iter().flatten() {
            let _ = write!(words, " {key} {value}");
        }
    }
    words
}

/// Finds where `word` stands as a whole word, so that the password `a` does not mask every `a`.
fn whole_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let joins =
        |a: Option<char>, b: Option<char>| a.is_some_and(char::is_alphanumeric) && b.is_some_and(char::is_alphanumeric);
    text.match_indices(word).map(|(start, found)| start..start + found.len()).filter(move |range| {
        let (before, after) = (text[..range.start].chars().next_back(), text[range.end..].chars().next());
        !joins(before, word.chars().next()) && !joins(word.chars().next_back(), after)
    })
}

/// Masks passwords in the strings of a TOML text, also in those with escapes.
fn redact_strings(text: &str) -> String {
    let (document, _) = DeTable::parse_recoverable(text);
    let mut strings = Strings { text, masked: Vec::new() };
    strings.add_table(document.get_ref());
    strings.masked.sort_by_key(|(span, _)| span.start);
    let mut redacted = String::with_capacity(text.len());
    let mut done = 0;
    for (span, masked) in strings.masked {
        if let Some(before) = text.get(done..span.start) {
            redacted.push_str(before);
            redacted.push_str(&masked);
            done = span.end;
        }
    }
    redacted.push_str(&text[done..]);
    redacted
}

/// The values of a TOML text that hold a password, with their replacements.
struct Strings<'t> {
    text: &'t str,
    masked: Vec<(Range<usize>, String)>,
}

impl Strings<'_> {
    /// Adds the masked texts of a table's values.
    fn add_table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.add_value(key.get_ref(), value);
        }
    }

    /// Adds the masked text of a value, if it holds a secret.
    fn add_value(&mut self, key: &str, value: &toml::Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().for_each(|item| self.add_value(key, item)),
            DeValue::Table(table) => self.add_table(table),
            DeValue::String(plain) => {
                let masked = if is_secret_key(key) && !plain.is_empty() { MASK.to_owned() } else { redact_url(plain) };
                if masked != plain.as_ref() {
                    let written = self.text.get(value.span()).unwrap_or("");
                    let new = if written.contains(plain.as_ref()) {
                        written.replacen(plain.as_ref(), &masked, 1)
                    } else {
                        toml::Value::String(masked).to_string()
                    };
                    self.masked.push((value.span(), new));
                }
            }
            DeValue::Integer(_) | DeValue::Float(_) if is_secret_key(key) => {
                self.masked.push((value.span(), format!("\"{MASK}\"")));
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
        }
    }
}

/// Replaces the ranges of a text, which are in order and do not overlap; empty ones are skipped.
fn replace_ranges(text: &str, ranges: &[Range<usize>], by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        replaced.push_str(&text[done..range.start]);
        replaced.push_str(by);
        done = range.end;
    }
    replaced.push_str(&text[done..]);
    replaced
}
