//! What a replay's connections have done, which its reader waits for.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use load::error::Failure;
use load::lag::LoopLag;

use crate::queries::Answer;

/// How long the reader waits before it looks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of executions that are read ahead.
const MOST_AHEAD_BYTES: usize = 64 << 20;

/// What became of a class's executions.
#[derive(Clone, Debug, Default)]
pub struct ClassResult {
    pub executed: u64,
    /// Executions that are in `elapsed_s`: those that failed neither here nor in the capture.
    pub timed: u64,
    pub elapsed_s: f64,
    pub rows: u64,
    pub failed: u64,
    /// Executions that failed here and not in the capture, with the cause of one.
    pub new_errors: u64,
    pub cause: Option<String>,
    /// Executions that failed in the capture and not here.
    pub vanished_errors: u64,
    /// Executions that failed here, of a capture that does not say which failed, with the cause of one.
    pub unsaid_errors: u64,
    pub unsaid_cause: Option<String>,
    /// Changes with any answer, whatever the order in which they come.
    pub answers: u64,
    /// How an answer differs from the first to the same execution.
    pub difference: Option<String>,
}

/// How an execution ended in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedEnd {
    Succeeded,
    Failed,
    /// The log does not say whether it failed.
    Unsaid,
}

/// One execution that has ended.
pub struct Ended {
    pub class: usize,
    /// Its number among all, in the order in which they are sent.
    pub number: u64,
    /// Whether another one waits for it.
    pub is_awaited: bool,
    pub room_bytes: usize,
    pub elapsed_s: f64,
    pub lag: Duration,
    pub captured_end: CapturedEnd,
    /// The answer, or why there is none.
    pub answer: Result<Answer, String>,
    /// The answer's part of [`ClassResult::answers`].
    pub digest: u64,
    pub difference: Option<String>,
}

#[derive(Default)]
pub struct State {
    pub classes: Vec<ClassResult>,
    pub lag: LoopLag,
    pub executed: u64,
    ahead_bytes: usize,
    /// Numbers of executions that have ended and were not waited for yet.
    ended: HashSet<u64>,
    failure: Option<Failure>,
    is_stopped: bool,
}

impl State {
    /// Takes room for `bytes` that are read ahead; false if there is none now.
    fn take_room(&mut self, bytes: usize) -> bool {
        let has_room = self.ahead_bytes == 0 || self.ahead_bytes + bytes <= MOST_AHEAD_BYTES;
        self.ahead_bytes += if has_room { bytes } else { 0 };
        has_room
    }
}

/// Shared by the reader and the connections.
pub struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

impl Progress {
    /// Makes the progress of a replay of this many classes, of which nothing has been executed.
    pub fn new(classes: usize) -> Progress {
        let state = State { classes: vec![ClassResult::default(); classes], ..State::default() };
        Progress { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Locks the state.
    fn lock(&self) -> MutexGuard<'_, State> {
        // Numbers are only added up.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the replay, with the failure if it has none yet: what is under way goes on to its end, nothing else begins.
    pub fn stop(&self, failure: Option<Failure>) {
        let mut state = self.lock();
        state.is_stopped = true;
        if state.failure.is_none() {
            state.failure = failure;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether the replay was stopped.
    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Number of executions that have ended.
    pub fn executed_count(&self) -> u64 {
        self.lock().executed
    }

    /// Waits until there is room for the text of an execution, and takes it; false if the replay was stopped.
    pub fn take_room(&self, bytes: usize, is_interrupted: &dyn Fn() -> bool) -> bool {
        self.wait_until(|state| state.take_room(bytes), is_interrupted)
    }

    /// Waits for the end of an execution; false if the replay was stopped.
    pub fn wait_for(&self, number: u64, is_interrupted: &dyn Fn() -> bool) -> bool {
        self.wait_until(|state| state.ended.remove(&number), is_interrupted)
    }

    /// Waits for the end of as many executions as were sent; false if the replay was stopped.
    pub fn wait_for_all(&self, sent: u64, is_interrupted: &dyn Fn() -> bool) -> bool {
        self.wait_until(|state| state.executed >= sent, is_interrupted)
    }

    /// Waits until a condition on the state holds; false if the replay was stopped or interrupted.
    fn wait_until(&self, mut is_so: impl FnMut(&mut State) -> bool, is_interrupted: &dyn Fn() -> bool) -> bool {
        let mut state = self.lock();
        loop {
            if is_interrupted() {
                state.is_stopped = true;
            }
            if state.is_stopped {
                return false;
            }
            if is_so(&mut state) {
                return true;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Counts an execution that has ended, and wakes those that wait.
    pub fn count_ended(&self, ended: Ended) {
        let mut state = self.lock();
        state.executed += 1;
        state.ahead_bytes = state.ahead_bytes.saturating_sub(ended.room_bytes);
        state.lag.record(u64::try_from(ended.lag.as_nanos()).unwrap_or(u64::MAX));
        if ended.is_awaited {
            state.ended.insert(ended.number);
        }
        state.classes[ended.class].count(ended);
        drop(state);
        self.changed.notify_all();
    }

    /// Returns what all have done.
    ///
    /// # Errors
    /// The failure of a replay that was stopped by one: a connection was lost, or the server is out of disk space.
    pub fn finish(self) -> Result<State, Failure> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failure.take().map_or(Ok(state), Err)
    }
}

impl ClassResult {
    /// Adds an execution that has ended to its class's counts.
    fn count(&mut self, ended: Ended) {
        self.executed += 1;
        match (ended.answer, ended.captured_end) {
            (Ok(answer), captured_end) => {
                self.rows += answer.row_count() as u64;
                if captured_end == CapturedEnd::Failed {
                    self.vanished_errors += 1;
                } else {
                    self.timed += 1;
                    self.elapsed_s += ended.elapsed_s;
                }
            }
            (Err(_), CapturedEnd::Failed) => self.failed += 1,
            (Err(cause), CapturedEnd::Succeeded) => {
                self.failed += 1;
                self.new_errors += 1;
                self.cause.get_or_insert(cause);
            }
            (Err(cause), CapturedEnd::Unsaid) => {
                self.failed += 1;
                self.unsaid_errors += 1;
                self.unsaid_cause.get_or_insert(cause);
            }
        }
        self.answers = self.answers.wrapping_add(ended.digest);
        if let Some(difference) = ended.difference {
            self.difference.get_or_insert(difference);
        }
    }
}
