//! Questions to systems that may never answer.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Runs `question` in a thread and waits for its answer; `None` on timeout.
/// The thread is then abandoned, since driver calls cannot be interrupted.
pub fn ask_within<T: Send + 'static>(timeout: Duration, question: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    ask_in_thread(question).recv_timeout(timeout).ok()
}

/// Starts `question` in a thread of its own, and returns where its answer will come.
pub(crate) fn ask_in_thread<T: Send + 'static>(question: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (answer, answered) = channel();
    thread::spawn(move || {
        // No one may wait for it any more.
        let _ = answer.send(question());
    });
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_waited_for_and_silence_is_not() {
        assert_eq!(ask_within(Duration::from_secs(60), || 7), Some(7));
        let (_keep, never) = channel::<()>();
        assert_eq!(ask_within(Duration::from_millis(20), move || never.recv()), None);
    }
}
