//! Lines about backups, rewritten to the built-in plan that compares codecs.

use std::path::Path;

use clap::CommandFactory as _;

use super::line::{Line, one_or_list};
use super::words::{For, VERBS};
use super::{file_of_sqlite, is_plan};
use crate::args::Cli;

/// Rewrites a line to the built-in plan of backups, with its words as `--system` options and as codecs.
pub fn name_systems_of_backup(line: &mut Line) {
    if For::for_verb(&line.verb) != Some(For::Measuring) || line.words.iter().any(|word| is_plan(word)) {
        return;
    }
    let mut systems = std::mem::replace(&mut line.words, vec!["backup-compression".to_owned()]);
    let etalon = Cli::command();
    systems.retain(|word| {
        etalon.find_subcommand(word).is_none() && !VERBS.iter().any(|(names, ..)| names.contains(&word.as_str()))
    });
    take_codecs(line, &mut systems);
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

/// Takes words that name codecs, as `zstd` or `zstd:3`, out of the systems of a backup, and has them compared.
fn take_codecs(line: &mut Line, systems: &mut Vec<String>) {
    let words: Vec<String> = systems.extract_if(.., |word| codec_name(word).is_some()).collect();
    if words.is_empty() {
        return;
    }
    let names: Vec<String> = words.iter().filter_map(|word| codec_name(word)).map(str::to_owned).collect();
    line.options.extend(["--set".to_owned(), format!("benchmarks.*.codec={}", one_or_list(&names.join(",")))]);
    if words.iter().any(|word| word.contains(':')) {
        line.add_note("each codec is at its usual level: `--set 'benchmarks.*.level=6'` is a level of all of them");
    }
}

/// The codec of a word such as `zstd` or `zstd:3`; `None` for any other word.
fn codec_name(word: &str) -> Option<&str> {
    let (name, level) = word.split_once(':').unwrap_or((word, ""));
    (workloads::backup::codec::NAMES.contains(&name) && level.bytes().all(|digit| digit.is_ascii_digit()))
        .then_some(name)
}
