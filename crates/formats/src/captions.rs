//! Captions above results: headings, titles, words with a colon, and prose.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::{plain_text, shorten};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its level, from 1.
    Heading(usize),
    Summary,
    Bold,
    /// Words with a colon.
    Label,
    /// Any other words.
    Prose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caption {
    pub kind: Kind,
    /// Empty for the heading of a run, which has a level and no name.
    pub words: String,
}

/// What stands above results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// From the outermost caption to the nearest.
    pub words: Vec<String>,
    /// From here on the captions may be of cases of one system: prose, and words with a colon below a heading.
    pub weak_from: usize,
    /// How often these words came as the caption of something else, from 1, where it is not sure that they are of the same
    /// thing as before.
    pub number: usize,
    /// True if they are of the same thing where captions take turns, as prose is.
    pub is_prose: bool,
}

/// The captions that hold at a line.
#[derive(Debug, Default)]
pub struct Trail {
    /// Those of the last results.
    above: Vec<Caption>,
    /// Those that have no results below them yet.
    pending: Vec<Caption>,
    /// The last paragraph since the last results.
    prose: Option<String>,
    has_results: bool,
    /// How often a path came.
    counts: BTreeMap<Vec<String>, usize>,
}

impl Trail {
    /// Notes a caption above the next results.
    pub fn add_caption(&mut self, kind: Kind, words: &str) {
        self.pending.push(Caption { kind, words: words.to_owned() });
    }

    /// Notes a line of prose, which replaces the one before.
    pub fn add_prose(&mut self, words: String) {
        self.prose = Some(words);
    }

    /// Tells whether captions were noted since the last results.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Tells whether a heading of this level would have one above it.
    pub fn has_heading_above(&self, level: usize) -> bool {
        let mut captions = self.above.iter().chain(&self.pending);
        captions.any(|caption| matches!(caption.kind, Kind::Heading(other) if other < level))
    }

    /// Gives the captions of results that stand here; `None` if they are those of the last results.
    pub fn take_results_path(&mut self) -> Option<Path> {
        let prose = self.prose.take();
        let prose = if self.has_results || self.above.is_empty() { prose } else { None };
        let is_first = !self.has_results;
        self.has_results = true;
        if !self.pending.is_empty() {
            self.settle_pending();
        } else if let Some(words) = prose {
            self.above.retain(|caption| caption.kind != Kind::Prose);
            self.above.push(Caption { kind: Kind::Prose, words });
        } else {
            return is_first.then(Path::default);
        }
        Some(self.current_path())
    }

    /// Puts the noted captions below those that they are of.
    /// The last heading of a level ends all below it. Other captions without results between them are of each other,
    /// and as many of them as come at once replace those before.
    fn settle_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let chain_at = pending.iter().rposition(|one| matches!(one.kind, Kind::Heading(_))).map_or(0, |at| at + 1);
        let (headings, chain) = pending.split_at(chain_at);
        for heading in headings {
            if let Kind::Heading(level) = heading.kind {
                self.above.retain(|other| matches!(other.kind, Kind::Heading(above) if above < level));
                self.above.push(heading.clone());
            }
        }
        self.above.retain(|caption| caption.kind != Kind::Prose);
        if let Some(first) = chain.first() {
            let coming = chain.iter().take_while(|one| one.kind == first.kind).count();
            let places: Vec<usize> = (0..self.above.len()).filter(|at| self.above[*at].kind == first.kind).collect();
            let end = places.get(places.len().saturating_sub(coming)).copied();
            self.above.truncate(end.unwrap_or(self.above.len()));
            self.above.extend_from_slice(chain);
        }
    }

    /// Makes the path of the captions that hold now, and counts the results that have it.
    fn current_path(&mut self) -> Path {
        let named: Vec<&Caption> = self.above.iter().filter(|caption| !caption.words.is_empty()).collect();
        let has_label_first = self.above.first().is_some_and(|caption| caption.kind == Kind::Label);
        let weak_from = named.iter().enumerate().position(|(at, caption)| match caption.kind {
            Kind::Prose => true,
            Kind::Label => at > 0 && !has_label_first,
            Kind::Heading(_) | Kind::Summary | Kind::Bold => false,
        });
        let weak_from = weak_from.unwrap_or(named.len());
        let words: Vec<String> = named.iter().map(|caption| caption.words.clone()).collect();
        let labels = self.above.iter().filter(|caption| caption.kind == Kind::Label).count();
        let is_prose = self.above.last().is_some_and(|caption| caption.kind == Kind::Prose);
        let count = self.counts.entry(words.clone()).or_default();
        *count += 1;
        let number = if is_prose || labels > 1 { *count } else { 1 };
        Path { words, weak_from, number, is_prose }
    }
}

impl Path {
    /// Puts these captions below others.
    pub fn put_below(&mut self, above: &Path) {
        self.words.splice(0..0, above.words.iter().cloned());
        if !above.words.is_empty() {
            self.weak_from = above.words.len();
        }
    }

    /// Appends the number to the last words, if it is above 1.
    pub fn with_number(mut self) -> Path {
        if self.number > 1
            && let Some(last) = self.words.last_mut()
        {
            *last = format!("{last} ({})", self.number);
        }
        self
    }
}

/// Names systems by the captions above them, the same for the same captions.
/// What stands above all of them is left out.
pub fn system_names(paths: &[Vec<String>], unnamed: &str) -> Vec<String> {
    let mut short = paths.to_vec();
    for title in paths.first().into_iter().flatten() {
        let without: Vec<Vec<String>> =
            short.iter().map(|path| path.iter().filter(|other| *other != title).cloned().collect()).collect();
        let is_above_all = short.iter().zip(&without).all(|(path, without)| path != without && !without.is_empty());
        if is_above_all && count_distinct(&without) == count_distinct(&short) {
            short = without;
        }
    }
    let mut names: BTreeMap<&[String], String> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for path in &short {
        if names.contains_key(path.as_slice()) {
            continue;
        }
        let parts: Vec<String> = path.iter().map(|words| shorten(words)).collect();
        let name = if parts.is_empty() { unnamed.to_owned() } else { parts.join(", ") };
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        names.insert(path, free);
    }
    short.iter().map(|path| names[path.as_slice()].clone()).collect()
}

/// Counts the different paths.
fn count_distinct(paths: &[Vec<String>]) -> usize {
    paths.iter().collect::<BTreeSet<_>>().len()
}

/// Gives the level and words of a heading in a line of its own: `## Old`, `<h2>Old</h2>`.
pub fn parse_heading(line: &str) -> Option<(usize, String)> {
    if line.starts_with('#') {
        let words = line.trim_start_matches('#');
        return Some((line.len() - words.len(), bare_words(words.trim().trim_end_matches('#'))));
    }
    let mut tags = line.match_indices("<h").chain(line.match_indices("<H")).map(|(at, _)| at);
    let at = tags.find(|at| line[at + 2..].starts_with(is_heading_level))?;
    let level = line[at + 2..].chars().next()?.to_digit(10)?;
    plain_text(&line[..at]).is_empty().then(|| (level as usize, bare_words(&plain_text(line))))
}

/// Gives the level that an underline of `====` or `----` makes the words above it a heading of.
pub fn underline_level(line: &str) -> Option<usize> {
    let line = line.trim();
    let level = if line.starts_with("==") { 1 } else { 2 };
    let mark = if level == 1 { '=' } else { '-' };
    (line.len() > 2 && line.chars().all(|c| c == mark)).then_some(level)
}

/// Finds the title in a line that is no heading: `<details><summary>17</summary>`, `**17**`.
pub fn find_title(line: &str) -> Option<(Kind, &str)> {
    let line = line.trim();
    let bold = line.strip_prefix("**").and_then(|rest| rest.strip_suffix("**").or_else(|| rest.strip_suffix("**:")));
    let summary = line.split_once("<summary>").map(|(_, rest)| rest.split("</summary>").next().unwrap_or(rest));
    let kind = if bold.is_some() { Kind::Bold } else { Kind::Summary };
    let title = bold.or(summary)?.trim().trim_end_matches(':');
    (!title.is_empty() && !title.contains(['*', '<'])).then_some((kind, title))
}

/// Gives the words before the colon at a line's end, which title what stands below; the number of a run does not.
pub fn label_title(line: &str) -> Option<String> {
    let words = bare_words(line.trim().trim_end_matches(['*', '_']).strip_suffix(':')?);
    (!is_of_run(&words)).then_some(words)
}

/// Tests whether a character is a heading's level in HTML.
fn is_heading_level(c: char) -> bool {
    matches!(c, '1'..='6')
}

/// Strips words of the marks of headings and of bold type.
pub fn bare_words(words: &str) -> String {
    let words = words.trim();
    // `h2. Old` of Jira and Textile.
    let words = words
        .strip_prefix('h')
        .and_then(|rest| rest.strip_prefix(is_heading_level)?.strip_prefix(". "))
        .unwrap_or(words);
    words.replace("**", "").trim_matches(['*', '_', '`', '#', '=', '-', '^', ' ']).to_owned()
}

pub const RUNS: [&str; 16] = [
    "again",
    "attempt",
    "iter",
    "iteration",
    "loop",
    "more",
    "once",
    "pass",
    "rep",
    "repeat",
    "repetition",
    "round",
    "run",
    "test",
    "trial",
    "try",
];

/// Tests whether a word stands for a run, as in `run 3`.
fn is_run_word(word: &str) -> bool {
    RUNS.contains(&word)
}

/// Tells whether words name a run alone: `Run 2`, `second run`, `Once more`.
pub fn is_of_run(words: &str) -> bool {
    const NUMBERS: [&str; 19] = [
        "and", "another", "fifth", "first", "fourth", "last", "nd", "next", "no", "number", "of", "one", "rd",
        "second", "sixth", "st", "th", "the", "third",
    ];
    let is_version = words.trim_end_matches('.').contains('.');
    let words: Vec<String> =
        words.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    (words.is_empty() && !is_version)
        || (words.iter().any(|word| is_run_word(word))
            && words.iter().all(|word| is_run_word(word) || NUMBERS.contains(&word.as_str())))
}

/// Tells whether words name what ran before the runs: `Warmup run`, `=== WARM-UP ===`, `First run (please ignore)`.
pub fn is_warm_up(words: &str) -> bool {
    const SPELLINGS: [&str; 6] = ["warm up", "warm-up", "warming up", "aufwärmlauf", "aufwärmphase", "aufwärmen"];
    const LEFT_OUT: [&str; 5] = ["discard", "discarded", "excluded", "ignore", "ignored"];
    const AROUND: [&str; 8] = ["be", "cache", "caches", "cold", "please", "result", "results", "to"];
    let lower = SPELLINGS.iter().fold(words.to_lowercase(), |words, spelling| words.replace(spelling, "warmup"));
    let is_one_of = |word: &str, of: &[&str]| of.contains(&word.trim_matches(|c: char| !c.is_alphabetic()));
    let is_left_out = lower.split_whitespace().any(|word| is_one_of(word, &LEFT_OUT));
    let kept = lower
        .split_whitespace()
        .filter(|word| !is_left_out || !(is_one_of(word, &LEFT_OUT) || is_one_of(word, &AROUND)));
    let kept = kept.collect::<Vec<_>>().join(" ");
    let is_named = kept.contains("warmup") || (is_left_out && kept.contains(char::is_alphabetic));
    is_named && is_of_run(&kept.replace("warmup", "").replace("phase", ""))
}

/// Tells whether a heading or title is the number of a run. That of a test may be another test.
pub fn is_number_of_run(words: &str) -> bool {
    is_of_run(words) && words.contains(char::is_alphabetic) && !words.to_lowercase().contains("test")
}

/// Tells whether a line of a page or a mail has words of its author, and is no prompt, table, picture or time.
pub fn is_prose(line: &str) -> bool {
    let line = plain_text(line);
    let line = line.trim_start_matches(['-', '*', '+', '=', '~', ' ']);
    !is_time_of_shell(line)
        && !is_of_run(line)
        && !has_clock_time(line)
        && !line.starts_with(['$', '|', '!', '[', '%', '.', '/'])
}

/// Tests whether a line is of the shell's `time`: `real 0m5.1s`.
fn is_time_of_shell(line: &str) -> bool {
    ["real", "user", "sys"].iter().any(|time| line.strip_prefix(time).is_some_and(begins_with_number))
}

const UNITS: [&str; 11] = ["h", "hours", "m", "min", "minutes", "ms", "s", "sec", "secs", "second", "seconds"];

/// Tells whether a line says how long something took: `done in 1.5 s`, `elapsed: 60`.
pub fn is_time_taken(line: &str) -> bool {
    let words: Vec<String> = line.to_lowercase().split_whitespace().map(str::to_owned).collect();
    is_time_of_shell(line)
        || (words.iter().any(|word| word.starts_with("elapsed") || word.starts_with("took"))
            && line.contains(|c: char| c.is_ascii_digit()))
        || (0..words.len()).any(|at| ["in", "after"].contains(&words[at].as_str()) && is_run_length(&words[at + 1..]))
}

/// Tests whether words begin with a length of time: `1.5 s`, `1:30min`.
fn is_run_length(words: &[String]) -> bool {
    let Some(word) = words.first().filter(|word| begins_with_number(word)) else { return false };
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ':');
    is_time_unit(unit) || words.get(1).is_some_and(|next| is_time_unit(next))
}

/// Tests whether a word is a unit of time.
fn is_time_unit(word: &str) -> bool {
    UNITS.contains(&word.trim_end_matches([',', '.', ';', ')']))
}

/// Tells whether a line is a sentence of an author where tools and shells print lines, too.
pub fn is_sentence(line: &str) -> bool {
    let line = line.trim();
    let is_printed = line.ends_with("...")
        || line.contains(['{', '}', '<', '>', '|', '$', ';', '\\', '\t', '@'])
        || line.contains(" --")
        || line.split_once(": ").is_some_and(|(who, _)| !who.contains(' '))
        || !line.chars().any(char::is_lowercase);
    !is_printed
        && is_prose(line)
        && line.split_whitespace().count() > 1
        && line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '"' | '(' | '-' | '*' | '='))
}

/// Gives a line without its numbers, if it looks as a loop prints it with each run; else `None`.
/// Such lines have a word of runs, or of the time they took.
pub fn shape_in_loop(line: &str) -> Option<String> {
    const TIMES: [&str; 6] = ["elapsed", "ms", "s", "sec", "seconds", "took"];
    let has_decimals =
        line.split(|c: char| !c.is_ascii_digit() && c != '.').any(|word| word.trim_matches('.').contains('.'));
    let lower = line.to_lowercase();
    (has_decimals
        || lower.split(|c: char| !c.is_alphabetic()).any(|word| TIMES.contains(&word) || RUNS.contains(&word)))
    .then(|| lower.chars().filter(|c| !c.is_ascii_digit()).collect())
}

/// Tests whether a text begins with a number, after blanks.
fn begins_with_number(rest: &str) -> bool {
    rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// Tests whether a line has a time of day: `05:09:19`, `5:09`.
fn has_clock_time(line: &str) -> bool {
    let bytes = line.as_bytes();
    (1..bytes.len().saturating_sub(2))
        .any(|at| bytes[at] == b':' && [at - 1, at + 1, at + 2].iter().all(|at| bytes[*at].is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_known_by_many_names() {
        for (words, expected) in [
            ("Warm-up", true),
            ("Warm-up run (ignore):", true),
            ("warmup (discarded)", true),
            ("Aufwärmlauf", true),
            ("First run (cold cache, please ignore):", true),
            ("First run", false),
            ("Ignore", false),
            ("ignored errors", false),
            ("warmup of 16.2", false),
            ("cold cache", false),
            ("Measured runs", false),
        ] {
            assert_eq!(is_warm_up(words), expected, "{words}");
        }
    }
}
