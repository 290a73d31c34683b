//! What is backed up, tables that étalon has made or a database of others, and what the copy must hold.

use super::claims::Watchword;
use super::contents::Contents;
use super::data::{self, Material, TableChecksum};
use crate::dataset::Dialect;
use crate::session::{Session, SessionKind};
use load::error::{Failure, FailureKind};

pub(super) enum Source {
    Made(Material),
    Theirs,
}

/// What a database holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Made(TableChecksum),
    Theirs(Contents),
}

impl Held {
    /// Number of rows that the database holds.
    pub(super) fn row_count(&self) -> u64 {
        match self {
            Held::Made(answer) => answer.rows,
            Held::Theirs(contents) => contents.row_count(),
        }
    }

    /// Describes how this copy differs from its original; `None` if it does not.
    pub(super) fn difference_from(&self, original: &Held) -> Option<String> {
        match (self, original) {
            (Held::Theirs(copy), Held::Theirs(original)) => copy.difference_from(original),
            (Held::Made(copy), Held::Made(original)) => {
                (copy != original).then(|| format!("it answers {copy}, and the original {original}"))
            }
            _ => Some("it is another database".to_owned()),
        }
    }
}

impl Source {
    /// The kind of session that sees the tables that are backed up.
    pub(super) fn session_kind(&self) -> SessionKind {
        match self {
            Source::Made(_) => SessionKind::Plain,
            Source::Theirs => SessionKind::OnTablesOfOthers,
        }
    }

    /// Draws a word that only this run's original has; `None` for a database that étalon does not write in.
    pub(super) fn draw_watchword(&self, seed: u64) -> Option<Watchword> {
        match self {
            Source::Made(_) => Some(Watchword::draw_new(seed)),
            Source::Theirs => None,
        }
    }

    /// Reads all rows: their checksum, or each table's for a database of others.
    pub(super) fn read_held(
        &self,
        session: &mut dyn Session,
        dialect: &dyn Dialect,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Held, Failure> {
        match self {
            Source::Made(_) => data::read_checksum(session, dialect, go_on).map(Held::Made),
            Source::Theirs => Contents::read_all(session, dialect, go_on).map(Held::Theirs),
        }
    }

    /// Writes the watchword, if there is one, reads all rows, and fails unless they are what was loaded.
    pub(super) fn mark_and_read(
        &self,
        session: &mut dyn Session,
        dialect: &dyn Dialect,
        word: Option<&Watchword>,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Held, Failure> {
        word.map_or(Ok(()), |word| Watchword::write_note(word.as_str(), session))?;
        let held = self.read_held(session, dialect, go_on)?;
        if let (Source::Made(material), Some(word), Held::Made(answer)) = (self, word, &held) {
            let loaded = material.expected_checksum(word.as_str());
            if *answer != loaded {
                let cause = format!("it answers {answer}, and what was loaded has {loaded}");
                return Err(Failure::new(FailureKind::Verification, "trust the original", cause));
            }
        }
        Ok(held)
    }
}
