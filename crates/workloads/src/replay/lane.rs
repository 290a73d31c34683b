//! A connection of a replay: the statements of its sessions, one behind the other.

use std::borrow::Cow;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use super::pace::Due;
use super::progress::{CapturedEnd, Ended, Progress};
use crate::dataset::Dialect;
use crate::queries::{Answer, FirstAnswers};
use crate::query_run::{QueryText, absence_of_failure};
use crate::session::Session;

/// The read-only transaction of a statement begins this long before it is due.
const PREPARATION: Duration = Duration::from_millis(2);
/// A long sleep ends soon after the replay was stopped.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// Executions of a class whose answers are compared row by row; the others are compared by a hash of all.
const SHOWN_ANSWERS: u64 = 20;
/// Shorter values are parts of many words.
const SHORTEST_VALUE: usize = 3;

/// An execution to be sent.
pub struct Job {
    pub class: usize,
    pub number: u64,
    /// Its position in its class.
    pub position: u64,
    pub sql: String,
    pub is_ordered: bool,
    pub due: Due,
    pub is_awaited: bool,
    pub captured_end: CapturedEnd,
    /// Values in its text, which no report may have.
    pub values: Vec<String>,
}

impl Job {
    /// Memory in bytes that the execution takes: its text and about as much in values.
    pub fn room_bytes(&self) -> usize {
        2 * self.sql.len() + size_of::<Job>()
    }
}

/// What the connections of a replay share.
pub struct Lane<'a> {
    pub progress: &'a Progress,
    pub dialect: &'a dyn Dialect,
    /// What tells its answers from those of another replay.
    pub chosen: &'a str,
    /// Names of the classes.
    pub classes: Vec<&'a str>,
    /// `None`: answers are not compared.
    pub first_answers: Option<&'a FirstAnswers>,
}

impl Lane<'_> {
    /// Sends each execution that comes when it is due, and counts its answer; ends with the jobs, or when it is stopped.
    pub fn work(&self, session: &mut dyn Session, jobs: Receiver<Job>) {
        let mut ended = Instant::now();
        for job in jobs {
            if self.progress.is_stopped() {
                return;
            }
            let due = job.due.instant(ended);
            self.sleep_until(due.checked_sub(PREPARATION).unwrap_or(due));
            let text = QueryText { sql: &job.sql, around: self.dialect.read_only_wrapper(), limit: None };
            let run = text.ask_once(session, || self.sleep_until(due));
            let lag = run.from.saturating_duration_since(due.max(ended));
            ended = run.to;
            let elapsed_s = (run.to - run.from).as_secs_f64();
            let answer = match run.rows {
                Ok(rows) => Ok(Answer::from_rows(&rows, job.is_ordered)),
                Err(failure) => match absence_of_failure(failure) {
                    Ok(missing) => Err(hide_values(missing.reason, &job.values)),
                    Err(failure) => {
                        self.progress.stop(Some(failure));
                        return;
                    }
                },
            };
            let compared = compared_answer(&job, &answer);
            self.progress.count_ended(Ended {
                class: job.class,
                number: job.number,
                is_awaited: job.is_awaited,
                room_bytes: job.room_bytes(),
                elapsed_s,
                lag,
                captured_end: job.captured_end,
                digest: compared.as_ref().map_or(0, |answer| mix_digest(job.position, answer)),
                difference: compared.and_then(|answer| self.difference_from_first(&job, &answer)),
                answer,
            });
        }
    }

    /// Describes how an answer differs from the first to the same execution; `None` after the first 20 of a class.
    fn difference_from_first(&self, job: &Job, answer: &Answer) -> Option<String> {
        if job.position >= SHOWN_ANSWERS {
            return None;
        }
        let first = self.first_answers?;
        let position = usize::try_from(job.position).ok()?;
        first.compare_with_first(self.chosen, self.classes[job.class], position, answer).err()
    }

    /// Sleeps until an instant, or until soon after the replay was stopped.
    fn sleep_until(&self, due: Instant) {
        while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if left > LONGEST_SLEEP && self.progress.is_stopped() {
                return;
            }
            thread::sleep(left.min(LONGEST_SLEEP));
        }
    }
}

/// Chooses what is compared with other runs: the answer or, where the capture does not say what failed, that it failed.
fn compared_answer<'a>(job: &Job, answer: &'a Result<Answer, String>) -> Option<Cow<'a, Answer>> {
    match answer {
        Ok(answer) => Some(Cow::Borrowed(answer)),
        Err(_) if job.captured_end == CapturedEnd::Unsaid => Some(Cow::Owned(Answer::failed())),
        Err(_) => None,
    }
}

/// Mixes an answer's digest with its position, so that the sums of a class's answers can be compared.
fn mix_digest(position: u64, answer: &Answer) -> u64 {
    // The odd constant of SplitMix64 tells equal answers at two positions apart.
    let bits = answer.digest().to_bits() ^ position.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits.wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(31).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// Replaces the values that a server's message quotes by `…`.
fn hide_values(message: String, values: &[String]) -> String {
    let contents = values.iter().map(|value| value.trim_matches(['\'', '"']));
    contents.filter(|value| value.len() >= SHORTEST_VALUE).fold(message, |text, value| text.replace(value, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_value_of_its_statement() {
        let values = ["'n3-private'".to_owned(), "1".to_owned()];
        let message = "invalid input: \"n3-private\" [SQLSTATE 22P02]".to_owned();
        assert_eq!(hide_values(message, &values), "invalid input: \"…\" [SQLSTATE 22P02]");
    }

    #[test]
    fn answers_count_by_their_position() {
        let answer = Answer::empty();
        assert_ne!(mix_digest(0, &answer), mix_digest(1, &answer));
        assert_ne!(mix_digest(0, &answer).wrapping_add(mix_digest(1, &answer)), mix_digest(0, &answer).wrapping_mul(2));
    }
}
