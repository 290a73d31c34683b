//! Étalon's own questions to a server that does not answer: the user hears what they wait for, and an interrupt ends them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::system::{Server, open_system};
use load::error::{Failure, FailureKind};
use workloads::system::{Consent, Notices, OpenRequest, System};

/// Preparation included: tables are loaded slowly by a debug build on a busy machine.
const TOLD_WITHIN: Duration = Duration::from_secs(120);
/// An interrupt has ended what was asked, and the clean-up after it, within this.
const ENDED_WITHIN: Duration = Duration::from_secs(5);

/// The user of an étalon: interrupts it, and reads its notices.
pub(crate) struct User {
    interrupt: Arc<AtomicBool>,
    notices: Notices,
    told: Mutex<Receiver<String>>,
}

impl User {
    pub(crate) fn new() -> User {
        let (teller, told) = channel();
        let teller = Mutex::new(teller);
        let notices = Notices::new(move |notice| drop(teller.lock().unwrap().send(notice.text().to_owned())));
        User { interrupt: Arc::default(), notices, told: Mutex::new(told) }
    }

    pub(crate) fn open<S: Server>(&self, url: &str) -> Result<Box<dyn System>, Failure> {
        let plan = super::system(url, None, &[]);
        let (interrupt, notices) = (Arc::clone(&self.interrupt), self.notices.clone());
        open_system::<S>(&OpenRequest { interrupt, notices, ..OpenRequest::new(&plan, Consent::OwnOnly) })
    }

    /// Waits until a notice has `words`, then interrupts, and returns what came of the question.
    pub(crate) fn hears_and_interrupts<T: Send>(&self, words: &str, question: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let asked = scope.spawn(question);
            let deadline = Instant::now() + TOLD_WITHIN;
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let told =
                    self.told.lock().unwrap().recv_timeout(left).unwrap_or_else(|_| panic!("`{words}` was not told"));
                println!("{told}");
                if told.contains(words) {
                    break;
                }
            }
            assert!(!asked.is_finished());
            self.interrupt.store(true, Ordering::Relaxed);
            let interrupted = Instant::now();
            let answer = asked.join().unwrap();
            assert!(interrupted.elapsed() < ENDED_WITHIN, "{:?}", interrupted.elapsed());
            answer
        })
    }

    /// Does what [`User::hears_and_interrupts`] does with a question on an open system, and cleans up, in time for both.
    pub(crate) fn interrupts_and_leaves(
        &self,
        system: &dyn System,
        words: &str,
        question: impl FnOnce(&dyn System) -> Result<(), Failure> + Send,
    ) -> Result<(), Failure> {
        let interrupted = Mutex::new(None);
        let failure = self.hears_and_interrupts(words, || {
            let asked = question(system);
            *interrupted.lock().unwrap() = Some(Instant::now());
            asked
        });
        assert_eq!(failure.unwrap_err().kind, FailureKind::Interrupted);
        let dropped = system.drop_all();
        let took = interrupted.lock().unwrap().unwrap().elapsed();
        assert!(took < ENDED_WITHIN - Duration::from_millis(300), "{took:?}");
        dropped
    }
}
