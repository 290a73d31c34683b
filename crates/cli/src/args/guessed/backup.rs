//! Lines about backups, rewritten to the built-in plan that compares codecs.

use std::path::Path;

use clap::CommandFactory as _;

use super::line::Line;
use super::values::one_or_list;
use super::verbs::is_verb;
use super::words::For;
use super::{file_of_sqlite, is_plan};
use crate::args::Cli;

/// Rewrites a line to the built-in plan of backups, with its words as `--system` options and as codecs.
pub fn name_systems_of_backup(line: &mut Line) {
    if For::for_verb(&line.verb) != Some(For::Measuring) || line.words.iter().any(|word| is_plan(word)) {
        return;
    }
    let mut systems = std::mem::replace(&mut line.words, vec!["backup-compression".to_owned()]);
    let etalon = Cli::command();
    systems.retain(|word| !is_verb(word, &etalon));
    take_codecs(line, &mut systems);
    rename_jobs(line);
    let strange: Vec<String> = systems.extract_if(.., |word| super::is_strange(word)).collect();
    if systems.is_empty() && !strange.is_empty() && !line.has_option(&["--system"]) {
        systems.push(super::SOME_URL.to_owned());
        line.add_note("put the URL of your server in the place of this one");
    }
    line.unknown.extend(strange);
    for folder in systems.extract_if(.., |word| Path::new(word.as_str()).is_dir()) {
        line.add_note(&format!(
            "`{folder}` is a folder, and a backup is of a database: `--system postgres://USER@HOST:PORT/DATABASE` names yours"
        ));
    }
    if systems.iter().any(|system| system.contains("postgres")) {
        line.add_note("PostgreSQL copies all databases of a server: `whole_server` allows it");
        line.options.extend(["--set".to_owned(), "benchmarks.*.whole_server=true".to_owned()]);
    }
    if systems.iter().any(|system| system.contains("://") || file_of_sqlite(system).is_some()) {
        line.add_note("`tables=none` backs up the database that is there, and writes nothing into it");
        line.options.extend(["--set".to_owned(), "benchmarks.*.tables=none".to_owned()]);
    }
    for system in systems {
        line.options.extend(["--system".to_owned(), system]);
    }
}

/// Makes the jobs of a backup the threads that compress it, which zstd alone has.
fn rename_jobs(line: &mut Line) {
    let Some(at) = line.options.iter().position(|option| option == "--clients" || option == "--threads") else {
        return;
    };
    let jobs = line.options.get(at + 1).cloned().unwrap_or_default();
    line.options.drain(at..(at + 2).min(line.options.len()));
    if line.options.iter().any(|option| option == "benchmarks.*.codec=zstd") {
        line.options.extend(["--set".to_owned(), format!("benchmarks.*.workers={jobs}")]);
    } else {
        line.add_note("`benchmarks.*.workers` are the threads that zstd compresses with; the other codecs have one");
    }
}

/// Takes words that name codecs, as `zstd` or `zstd:3`, out of the systems of a backup, and has them compared.
fn take_codecs(line: &mut Line, systems: &mut Vec<String>) {
    let words: Vec<String> = systems.extract_if(.., |word| codec_and_level(word).is_some()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    line.add_codecs(&words);
}

impl Line {
    /// Has the codecs compared that options named, or sets one as it was written.
    pub(super) fn put_codecs(&mut self) {
        let codecs = std::mem::take(&mut self.codecs);
        let words: Vec<&str> = codecs.iter().map(String::as_str).collect();
        if !words.is_empty() && !self.add_codecs(&words) {
            self.options.extend(["--set".to_owned(), format!("benchmarks.*.codec={}", one_or_list(&words.join(",")))]);
        }
    }

    /// Has codecs such as `gzip` or `zstd:3` compared; `false` without any, or if one of the words is none.
    pub(super) fn add_codecs(&mut self, words: &[&str]) -> bool {
        let found: Option<Vec<(&str, Option<u32>)>> = words.iter().map(|word| codec_and_level(word)).collect();
        let Some(found) = found.filter(|found| !found.is_empty()) else { return false };
        let codecs: Vec<&str> = distinct(found.iter().map(|(codec, _)| *codec));
        let levels: Vec<Option<u32>> = distinct(found.iter().map(|(_, level)| *level));
        self.options.extend(["--set".to_owned(), format!("benchmarks.*.codec={}", one_or_list(&codecs.join(",")))]);
        match (codecs.as_slice(), levels.as_slice()) {
            (_, [None]) => {}
            // Level 0 is the usual one.
            (_, [Some(level)]) => self.add_level(&level.to_string()),
            ([_], levels) => {
                let levels: Vec<String> = levels.iter().map(|level| level.unwrap_or(0).to_string()).collect();
                self.add_level(&format!("[{}]", levels.join(", ")));
            }
            _ => self
                .add_note("each codec is at its usual level: `--set 'benchmarks.*.level=6'` is a level of all of them"),
        }
        true
    }

    /// Sets the level, or levels, of the codecs.
    fn add_level(&mut self, level: &str) {
        self.options.extend(["--set".to_owned(), format!("benchmarks.*.level={level}")]);
    }
}

/// Lists values, each once, in their order.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for value in all {
        if !known.contains(&value) {
            known.push(value);
        }
    }
    known
}

/// The codec of a word such as `zstd` or `zstd:3`, and its level if it has one; `None` for any other word.
fn codec_and_level(word: &str) -> Option<(&str, Option<u32>)> {
    let (name, level) = match word.split_once([':', '-']) {
        Some((name, level)) => (name, Some(level.parse().ok()?)),
        None => (word, None),
    };
    workloads::backup::codec::NAMES.contains(&name).then_some((name, level))
}
