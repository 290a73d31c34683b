//! Questions to systems that may never answer.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Runs `question` in a thread and waits for its answer. On timeout the thread is abandoned, since driver calls cannot
/// be interrupted.
pub fn within<T: Send + 'static>(patience: Duration, question: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (answer, answered) = channel();
    thread::spawn(move || {
        // The patience may be over.
        let _ = answer.send(question());
    });
    answered.recv_timeout(patience).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_waited_for_and_silence_is_not() {
        assert_eq!(within(Duration::from_secs(60), || 7), Some(7));
        let (_keep, never) = channel::<()>();
        assert_eq!(within(Duration::from_millis(20), move || never.recv()), None);
    }
}
