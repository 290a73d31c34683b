//! The clock of a server, by the times of its records.

use super::{Capture, Reason};

/// A server writes records of its processes out of order by milliseconds, and rounds some times to the second.
const TOLERANCE_US: i64 = 1_000_000;

/// The latest time that the records have reached.
#[derive(Debug, Default)]
pub struct Clock {
    last_us: Option<i64>,
    is_new_file: bool,
}

impl Clock {
    /// Notes that the next record is the first of another file.
    pub fn begin_file(&mut self) {
        self.is_new_file = true;
    }

    /// Takes the time of a record, and counts the reasons why it is doubtful.
    pub fn take_time(&mut self, us: i64, has_fraction: bool, capture: &mut Capture) {
        if !has_fraction {
            capture.count_reason(Reason::WholeSeconds);
        }
        let is_back = self.last_us.is_some_and(|last| us < last.saturating_sub(TOLERANCE_US));
        match (is_back, self.is_new_file) {
            (true, true) => capture.count_reason(Reason::FilesOverlap),
            (true, false) => capture.count_reason(Reason::ClockBack),
            _ => {}
        }
        self.is_new_file = false;
        self.last_us = Some(if is_back { us } else { self.last_us.unwrap_or(i64::MIN).max(us) });
    }
}
