//! An engine's account of its I/O at one instant, and what happened between two of them.

use std::collections::BTreeMap;

use model::Reading;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileClass {
    Data,
    /// What a commit waits for: the write-ahead log, the rollback journal.
    Log,
    /// Sorters and temporary tables.
    Temporary,
}

impl FileClass {
    pub const ALL: [FileClass; 3] = [FileClass::Data, FileClass::Log, FileClass::Temporary];

    /// Name of the class, as in the names of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            FileClass::Data => "data",
            FileClass::Log => "log",
            FileClass::Temporary => "temporary",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    Reads,
    ReadBytes,
    /// Time waited in reads, in milliseconds.
    ReadStall,
    /// Writes, including extensions of a file.
    Writes,
    WriteBytes,
    /// Time waited in writes, in milliseconds.
    WriteStall,
    /// Requests to make a file durable.
    Syncs,
    /// Time waited in syncs, in milliseconds.
    SyncStall,
}

impl Figure {
    pub const ALL: [Figure; 8] = [
        Figure::Reads,
        Figure::ReadBytes,
        Figure::ReadStall,
        Figure::Writes,
        Figure::WriteBytes,
        Figure::WriteStall,
        Figure::Syncs,
        Figure::SyncStall,
    ];

    /// Name of the figure, as in the names of metrics, which are `figure/place`.
    pub fn as_str(self) -> &'static str {
        match self {
            Figure::Reads => "reads",
            Figure::ReadBytes => "read_bytes",
            Figure::ReadStall => "read_stall",
            Figure::Writes => "writes",
            Figure::WriteBytes => "write_bytes",
            Figure::WriteStall => "write_stall",
            Figure::Syncs => "syncs",
            Figure::SyncStall => "sync_stall",
        }
    }

    /// Unit of the figure: `bytes`, `ms`, or none for counts.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::Reads | Figure::Writes | Figure::Syncs => "",
            Figure::ReadBytes | Figure::WriteBytes => "bytes",
            Figure::ReadStall | Figure::WriteStall | Figure::SyncStall => "ms",
        }
    }

    /// The count that the mean of a stall is taken over; `None` for figures that are no stall.
    fn counted_by(self) -> Option<Figure> {
        match self {
            Figure::ReadStall => Some(Figure::Reads),
            Figure::WriteStall => Some(Figure::Writes),
            Figure::SyncStall => Some(Figure::Syncs),
            _ => None,
        }
    }
}

/// A file, or what an engine has in place of files.
#[derive(Clone, Debug, PartialEq)]
pub struct IoPlace {
    pub class: FileClass,
    pub name: String,
    figures: [Reading; 8],
}

impl IoPlace {
    /// Makes a place whose figures are all unavailable, for a reason.
    pub fn unknown(class: FileClass, name: impl Into<String>, reason: &str) -> IoPlace {
        let figures = std::array::from_fn(|_| Reading::unavailable(reason));
        IoPlace { class, name: name.into(), figures }
    }

    /// Reading of one of the place's figures.
    pub fn reading_of(&self, figure: Figure) -> &Reading {
        &self.figures[figure as usize]
    }

    /// Sets one of the place's figures to a value.
    #[must_use]
    pub fn with_value(mut self, figure: Figure, value: f64) -> IoPlace {
        self.figures[figure as usize] = Reading::Value(value);
        self
    }

    /// Sets one of the place's figures to a reading.
    #[must_use]
    pub fn with_reading(mut self, figure: Figure, reading: Reading) -> IoPlace {
        self.figures[figure as usize] = reading;
        self
    }

    /// What was counted since an earlier reading of the same place; all of it if there was none.
    fn since(&self, before: Option<&IoPlace>) -> IoPlace {
        let figures = std::array::from_fn(|place| match (&self.figures[place], before) {
            (Reading::Value(now), Some(before)) => match &before.figures[place] {
                Reading::Value(then) => Reading::Value(now - then),
                unknown => unknown.clone(),
            },
            // A file that was made in between had done nothing before.
            (reading, _) => reading.clone(),
        });
        IoPlace { class: self.class, name: self.name.clone(), figures }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IoAccount {
    pub places: Vec<IoPlace>,
    /// Bytes of log that were made, whatever of them has been written.
    pub log_bytes: Option<Reading>,
    /// Bytes that the engine is known to write but does not count, by what they are.
    pub explained: BTreeMap<&'static str, Reading>,
    /// Why none of the operating system's counters is of what this engine writes.
    pub incomparable: Option<&'static str>,
    pub notes: Vec<String>,
}

/// Difference of two readings; unavailable if one of them is.
fn reading_minus(now: &Reading, then: Option<&Reading>) -> Reading {
    match (now, then) {
        (Reading::Value(now), Some(Reading::Value(then))) => Reading::Value(now - then),
        (Reading::Value(_), Some(unknown)) => unknown.clone(),
        (Reading::Value(_), None) => Reading::unavailable("there was no reading before the run"),
        (unknown, _) => unknown.clone(),
    }
}

impl IoAccount {
    /// What was counted since an earlier account, place by place.
    #[must_use]
    pub fn since(&self, before: &IoAccount) -> IoAccount {
        let same =
            |place: &IoPlace| before.places.iter().find(|other| other.class == place.class && other.name == place.name);
        IoAccount {
            places: self.places.iter().map(|place| place.since(same(place))).collect(),
            log_bytes: self.log_bytes.as_ref().map(|now| reading_minus(now, before.log_bytes.as_ref())),
            explained: self
                .explained
                .iter()
                .map(|(what, now)| (*what, reading_minus(now, before.explained.get(what))))
                .collect(),
            incomparable: self.incomparable,
            notes: self.notes.clone(),
        }
    }

    /// Sum of a figure over all places of a class; unavailable if a part is, or if there is no such place.
    ///
    /// A place that did nothing waited for nothing, timed or not.
    pub fn class_sum(&self, class: FileClass, figure: Figure) -> Reading {
        let mut sum = None;
        for place in self.places.iter().filter(|place| place.class == class) {
            let idle = figure.counted_by().is_some_and(|count| place.reading_of(count) == &Reading::Value(0.0));
            match place.reading_of(figure) {
                Reading::Value(value) => sum = Some(sum.unwrap_or(0.0) + value),
                Reading::Unavailable(_) if idle => sum = Some(sum.unwrap_or(0.0)),
                unknown @ Reading::Unavailable(_) => return unknown.clone(),
            }
        }
        sum.map_or_else(
            || Reading::unavailable(format!("nothing was read, written or synced: no {} file", class.as_str())),
            Reading::Value,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, writes: f64, stall: Option<f64>) -> IoPlace {
        let place = IoPlace::unknown(FileClass::Data, name, "not timed").with_value(Figure::Writes, writes);
        match stall {
            Some(stall) => place.with_value(Figure::WriteStall, stall),
            None => place,
        }
    }

    fn account(places: Vec<IoPlace>) -> IoAccount {
        IoAccount { places, ..IoAccount::default() }
    }

    #[test]
    fn two_snapshots_differ_place_by_place() {
        let before = account(vec![place("a", 10.0, Some(5.0))]);
        let after = account(vec![place("a", 15.0, Some(7.0)), place("new", 2.0, Some(1.0))]);
        let did = after.since(&before);
        assert_eq!(did.class_sum(FileClass::Data, Figure::Writes), Reading::Value(7.0));
        assert_eq!(did.class_sum(FileClass::Data, Figure::WriteStall), Reading::Value(3.0));
        assert_eq!(did.class_sum(FileClass::Data, Figure::Reads), Reading::unavailable("not timed"));
        assert!(matches!(did.class_sum(FileClass::Log, Figure::Writes), Reading::Unavailable(_)));
    }

    #[test]
    fn a_part_that_is_not_timed_spoils_a_sum_only_if_it_did_something() {
        let busy = account(vec![place("a", 1.0, Some(5.0)), place("b", 2.0, None)]);
        assert_eq!(busy.class_sum(FileClass::Data, Figure::WriteStall), Reading::unavailable("not timed"));
        let idle = account(vec![place("a", 1.0, Some(5.0)), place("b", 0.0, None)]);
        assert_eq!(idle.class_sum(FileClass::Data, Figure::WriteStall), Reading::Value(5.0));
    }

    #[test]
    fn what_was_unknown_before_is_unknown_in_between() {
        let before = IoAccount { log_bytes: Some(Reading::unavailable("no")), ..IoAccount::default() };
        let after = IoAccount { log_bytes: Some(Reading::Value(1.0)), ..IoAccount::default() };
        assert_eq!(after.since(&before).log_bytes, Some(Reading::unavailable("no")));
        assert_eq!(
            place("a", 3.0, None).since(Some(&place("a", 1.0, None))).reading_of(Figure::Writes),
            &Reading::Value(2.0)
        );
    }
}
