//! What experiments are called, and when they ran.

use std::path::Path;

use jiff::Timestamp;

use super::{JoinedExperiment, Source};
use crate::number::count;

/// A label stands next to a system's name at the head of a column.
const LONGEST: usize = 12;

/// A time to the minute, with its year.
const MINUTE: &str = "%Y-%m-%d %H:%M";

/// One for each source, all different: the file's name, the experiment's, or the day, whichever is short and tells them
/// apart.
pub fn labels(sources: &[Source]) -> Vec<String> {
    let named = [
        of_sources(sources, &|source: &Source| {
            Path::new(&source.file).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
        }),
        of_sources(sources, &|source: &Source| source.evidence.header.plan.name.clone()),
        of_sources(sources, &time("%Y-%m-%d")),
        of_sources(sources, &time(MINUTE)),
    ];
    let found = named.into_iter().enumerate().find(|(position, all)| {
        // A time is longer than a name may be, and still better than a number.
        let longest = if *position == 3 { LONGEST + 4 } else { LONGEST };
        all.iter().all(|one| (1..=longest).contains(&one.chars().count()))
            && (1..all.len()).all(|at| !all[..at].contains(&all[at]))
    });
    let found = found.map(|(_, all)| all);
    found.unwrap_or_else(|| (1..=sources.len()).map(|number| format!("store {number}")).collect())
}

fn of_sources(sources: &[Source], name: &dyn Fn(&Source) -> String) -> Vec<String> {
    sources.iter().map(name).collect::<Vec<String>>()
}

fn time(format: &'static str) -> impl Fn(&Source) -> String {
    move |source: &Source| {
        let began = ran(source).map_or(source.evidence.header.created_unix_ms, |(first, _)| first);
        formatted(began, format)
    }
}

/// The first and the last beginning of a measured run.
pub fn ran(source: &Source) -> Option<(i64, i64)> {
    let began = source.evidence.runs.iter().filter_map(|run| source.evidence.began_unix_ms(run));
    began.fold(None, |known: Option<(i64, i64)>, at| {
        Some(known.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
    })
}

/// `2026-03-01 12:00 UTC`.
pub fn minute(unix_ms: i64) -> String {
    formatted(unix_ms, "%Y-%m-%d %H:%M UTC")
}

fn formatted(unix_ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(unix_ms).map(|at| at.strftime(format).to_string()).unwrap_or_default()
}

/// How far apart the first and the last of them are: `7 days between`; `None` if that is not known of one.
pub fn between(experiments: &[JoinedExperiment]) -> Option<String> {
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
    Some(format!("{} between", count(usize::try_from(whole).unwrap_or(usize::MAX), unit)))
}
