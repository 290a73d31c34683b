//! What experiments are called, and when they ran.

use std::path::Path;

use jiff::Timestamp;

use super::{JoinedExperiment, Source};
use crate::number::count_noun;

/// A label stands next to a system's name at the head of a column.
const LONGEST: usize = 12;

/// A time to the minute, with its year.
const MINUTE: &str = "%Y-%m-%d %H:%M";

/// Labels each source by what is short and distinguishes it: file name, experiment's name, differing words, or time.
pub fn source_labels(sources: &[Source]) -> Vec<String> {
    let stems = names_of_sources(sources, &|source: &Source| {
        Path::new(&source.file).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    });
    let own: Vec<&str> = stems.iter().map(|stem| without_time(stem)).collect();
    // Words of several names, and a time, are longer than a name may be, and still better than a number.
    let named = [
        (LONGEST, stems.clone()),
        (LONGEST, names_of_sources(sources, &|source: &Source| source.evidence.header.plan.name.clone())),
        (LONGEST + 4, different_words(&own)),
        (LONGEST, names_of_sources(sources, &time_formatter("%Y-%m-%d"))),
        (LONGEST + 4, names_of_sources(sources, &time_formatter(MINUTE))),
    ];
    let found = named.into_iter().find(|(longest, all)| {
        all.iter().all(|one| (1..=*longest).contains(&one.chars().count()))
            && (1..all.len()).all(|at| !all[..at].contains(&all[at]))
    });
    let found = found.map(|(_, all)| all);
    found.unwrap_or_else(|| (1..=sources.len()).map(|number| format!("store {number}")).collect())
}

/// Cuts the time that `etalon run` adds, `-20261128-032826`, off a store's name, and the number of one of several in a second.
fn without_time(stem: &str) -> &str {
    /// Cuts digits behind a dash off a name; `None` if it ends otherwise.
    fn without_digits(name: &str, is_fit: impl Fn(usize) -> bool) -> Option<&str> {
        let (name, digits) = name.rsplit_once('-')?;
        (is_fit(digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
    }
    let without_clock = |name| without_digits(without_digits(name, |count| count == 6)?, |count| count == 8);
    let without_number = || without_clock(without_digits(stem, |count| count > 0)?);
    without_clock(stem).or_else(without_number).unwrap_or(stem)
}

/// Finds the words in which names differ, with as many of the words around them as there is room for.
fn different_words(names: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> =
        names.iter().map(|name| name.split_inclusive(|c: char| !c.is_alphanumeric()).collect()).collect();
    let fewest = words.iter().map(Vec::len).min().unwrap_or(0);
    let before = (0..fewest).take_while(|at| has_common_word(&words, |_| *at)).count();
    let behind = (1..=fewest - before).take_while(|at| has_common_word(&words, |count| count - at)).count();
    let before = (0..=before).find(|at| fit_as_labels(&distinguishing_parts(&words, *at, behind))).unwrap_or(before);
    let behind = (0..=behind).find(|at| fit_as_labels(&distinguishing_parts(&words, before, *at))).unwrap_or(behind);
    distinguishing_parts(&words, before, behind)
}

/// Whether all names have the same word at an index, which follows from their number of words.
fn has_common_word(names: &[Vec<&str>], index: impl Fn(usize) -> usize) -> bool {
    let mut words = names.iter().map(|one| one[index(one.len())].trim_end_matches(|c: char| !c.is_alphanumeric()));
    let first = words.next();
    words.all(|word| Some(word) == first)
}

/// Cuts the first and the last words off each name.
fn distinguishing_parts(names: &[Vec<&str>], before: usize, behind: usize) -> Vec<String> {
    let parts = names.iter().map(|one| one[before..one.len() - behind].concat());
    parts.map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect()
}

/// Whether names are short enough for labels.
fn fit_as_labels(names: &[String]) -> bool {
    names.iter().all(|name| (1..=LONGEST).contains(&name.chars().count()))
}

/// Names each source by a function.
fn names_of_sources(sources: &[Source], name: &dyn Fn(&Source) -> String) -> Vec<String> {
    sources.iter().map(name).collect::<Vec<String>>()
}

/// Makes a function that names a source by when it ran, in this format.
fn time_formatter(format: &'static str) -> impl Fn(&Source) -> String {
    move |source: &Source| {
        let began = first_and_last_ms(source).map_or(source.evidence.header.created_unix_ms, |(first, _)| first);
        format_time(began, format)
    }
}

/// The first and the last beginning of a source's runs; `None` if none is known.
pub fn first_and_last_ms(source: &Source) -> Option<(i64, i64)> {
    let began = source.evidence.runs.iter().filter_map(|run| source.evidence.began_unix_ms(run));
    began.fold(None, |known: Option<(i64, i64)>, at| {
        Some(known.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
    })
}

/// Writes an instant as `2026-03-01 12:00 UTC`.
pub fn minute_text(unix_ms: i64) -> String {
    format_time(unix_ms, "%Y-%m-%d %H:%M UTC")
}

/// Writes an instant in a format; empty if it is out of range.
fn format_time(unix_ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(unix_ms).map(|at| at.strftime(format).to_string()).unwrap_or_default()
}

/// Says how long the longest gap between experiments is: `7 days between`; `None` if the time of one is not known.
pub fn time_between(experiments: &[JoinedExperiment]) -> Option<String> {
    let mut ran: Vec<(i64, i64)> = experiments.iter().map(|one| one.ran_unix_ms).collect::<Option<_>>()?;
    ran.sort_unstable();
    let gap_ms = ran.windows(2).map(|pair| pair[1].0 - pair[0].1).max()?;
    if gap_ms <= 0 {
        return Some("at the same time, in two experiments".to_owned());
    }
    let seconds = (gap_ms + 999) / 1_000;
    let of = [(86_400, "day"), (3_600, "hour"), (60, "minute")].into_iter().find(|(length, _)| seconds >= 2 * length);
    let (length, unit) = of.unwrap_or((1, "second"));
    let whole = (seconds + length / 2) / length;
    Some(format!("{} between", count_noun(usize::try_from(whole).unwrap_or(usize::MAX), unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_the_words_that_differ() {
        assert_eq!(
            different_words(&["nightly-orders-2026-11-27", "nightly-orders-2026-11-28"]),
            ["2026-11-27", "2026-11-28"]
        );
        assert_eq!(different_words(&["pg16-tuned-huge-pages", "pg16-default-pages"]), ["tuned-huge", "default"]);
        assert_eq!(different_words(&["nightly-orders-run", "nightly-orders-run-new"]), ["run", "run-new"]);
        assert_eq!(different_words(&["one", "one"]), ["one", "one"]);
        assert_eq!(without_time("ci-20261128-032826"), "ci");
        assert_eq!(without_time("ci-20261128-032826-2"), "ci");
        assert_eq!(without_time("nightly-2026-11-28"), "nightly-2026-11-28");
    }
}
