//! How étalon's own questions wait for a server that may never answer: in short slices, after each of which an interrupt ends
//! them; and after some seconds the user hears what they wait for.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use workloads::system::{Notice, Notices, OpenRequest};

/// Longest wait without a look at the interrupt.
pub(super) const SLICE: Duration = Duration::from_millis(200);
/// Silence before the first notice; each further one comes after three times as long.
const FIRST_NOTICE: Duration = Duration::from_secs(5);
const NEXT_NOTICE: u32 = 3;
/// How long another session may take to say what the silent one waits for.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// Silence that is borne of a clean-up after an interrupt, unless the server is at work.
const LAST_SILENCE: Duration = Duration::from_millis(600);
/// How long another session may take to look, or to end the silent one, after an interrupt.
const LAST_LOOK: Duration = Duration::from_millis(400);
/// Time between looks at a clean-up that the server works on.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a session waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerWait {
    /// A clause about the server, such as `it waits for a lock`.
    pub(crate) what: String,
    /// It works, and will answer.
    pub(crate) is_work: bool,
}

/// Looks at a session from another one, of the same login.
pub(crate) trait Aside: Send {
    /// Asks by another session what the first one waits for.
    ///
    /// # Errors
    /// The other session gets no answer, or may not look.
    fn ask_server_wait(&self, waiting: Waiting) -> Result<ServerWait, String>;

    /// Ends the session with what it does, so that its locks are free; as far as possible.
    fn end_session(&self, waiting: Waiting);
}

/// What all questions to one server heed.
#[derive(Clone)]
pub(crate) struct Waiting {
    shared: Arc<Shared>,
    /// The end of all that is asked.
    deadline: Option<Instant>,
}

#[derive(Default)]
struct Shared {
    /// Its address.
    server: String,
    interrupt: Arc<AtomicBool>,
    notices: Notices,
    /// What étalon made is being removed, which an interrupt does not end while the server works.
    is_cleaning_up: AtomicBool,
    /// Notices that were reported.
    told: Mutex<BTreeSet<String>>,
    /// Sessions that were left with an operation under way.
    left: Mutex<Vec<u32>>,
}

impl Default for Waiting {
    /// Waits without interrupts and without reports.
    fn default() -> Waiting {
        Waiting { shared: Arc::default(), deadline: None }
    }
}

/// The error of a question that an interrupt ended.
#[derive(Debug)]
struct Interruption;

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(INTERRUPTED)
    }
}

impl std::error::Error for Interruption {}

pub(crate) const INTERRUPTED: &str = "it was interrupted";

/// Tests whether an error is that of a question that an interrupt ended.
pub(super) fn is_interruption(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Interruption>())
}

impl Waiting {
    /// Makes what questions to `server` heed: the request's interrupt and notices.
    pub(crate) fn new(request: &OpenRequest<'_>, server: String) -> Waiting {
        let (interrupt, notices) = (Arc::clone(&request.interrupt), request.notices.clone());
        Waiting { shared: Arc::new(Shared { server, interrupt, notices, ..Shared::default() }), deadline: None }
    }

    /// Tests whether the user has ended the run.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.shared.interrupt.load(Ordering::Relaxed)
    }

    /// Tests whether a connection may still be waited for.
    pub(crate) fn may_still_wait(&self) -> bool {
        let is_over = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        !is_over && (!self.is_interrupted() || self.is_cleaning_up())
    }

    /// Notes that étalon now removes what it made.
    pub(crate) fn begin_clean_up(&self) {
        self.shared.is_cleaning_up.store(true, Ordering::Relaxed);
    }

    /// Tests whether étalon now removes what it made.
    fn is_cleaning_up(&self) -> bool {
        self.shared.is_cleaning_up.load(Ordering::Relaxed)
    }

    /// Returns the instant at which waiting ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Makes what another session heeds while it looks at this one: a short deadline.
    /// That session itself is not looked at.
    fn waiting_of_other_session(&self) -> Waiting {
        if self.is_interrupted() {
            Waiting { deadline: Some(Instant::now() + LAST_LOOK), ..Waiting::default() }
        } else {
            let shared = Shared { interrupt: Arc::clone(&self.shared.interrupt), ..Shared::default() };
            Waiting { shared: Arc::new(shared), deadline: Some(Instant::now() + LOOK_TIMEOUT) }
        }
    }

    /// Tests whether another session may look at those that heed this.
    pub(crate) fn has_asides(&self) -> bool {
        self.deadline.is_none()
    }

    /// Notes a session whose client went away in the midst of an operation.
    pub(crate) fn note_left_session(&self, session: u32) {
        self.shared.left.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }

    /// Returns the sessions that were noted as left, and forgets them.
    pub(crate) fn take_left_sessions(&self) -> Vec<u32> {
        std::mem::take(&mut *self.shared.left.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports a notice, unless the same text was reported before.
    fn give_notice(&self, notice: Notice<'_>) {
        let mut told = self.shared.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(notice.text().to_owned()) {
            self.shared.notices.give(notice);
        }
    }
}

/// One connection's wait for the answer to one question.
pub(crate) struct Vigil {
    waiting: Waiting,
    aside: Option<Box<dyn Aside>>,
    /// Its first words.
    question: String,
    /// It began, or the server was last heard.
    since: Instant,
    next_notice: Duration,
    next_look: Duration,
}

impl Vigil {
    /// Begins the wait for the answer to a question.
    pub(crate) fn new(waiting: Waiting, question: &str) -> Vigil {
        let (next_notice, next_look) = (FIRST_NOTICE, LAST_SILENCE);
        Vigil { waiting, aside: None, question: question.to_owned(), since: Instant::now(), next_notice, next_look }
    }

    /// Returns what the session heeds while it waits.
    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Sets the other session, by which a silent server can be asked.
    pub(super) fn set_aside(&mut self, aside: Option<Box<dyn Aside>>) {
        self.aside = aside;
    }

    /// Starts the time of silence again.
    pub(super) fn restart(&mut self) {
        (self.since, self.next_notice, self.next_look) = (Instant::now(), FIRST_NOTICE, LAST_SILENCE);
    }

    /// Sets the question's name in notices: its first two words, since more of it may be a secret.
    pub(super) fn name_question(&mut self, sql: &str) {
        self.question.clear();
        let words = sql.split_ascii_whitespace().take(2);
        for word in words.take_while(|word| word.bytes().all(|b| b.is_ascii_alphabetic())) {
            if !self.question.is_empty() {
                self.question.push(' ');
            }
            self.question.push_str(word);
        }
    }

    /// Starts the time of silence again, since bytes have come.
    pub(crate) fn note_answer(&mut self) {
        self.restart();
    }

    /// Fails at an interrupt, and reports a long silence; called after a slice without a byte.
    ///
    /// # Errors
    /// An interrupt ended the question.
    pub(crate) fn check_silence(&mut self) -> io::Result<()> {
        let silence = self.since.elapsed();
        if self.waiting.is_interrupted() {
            return self.heed_interrupt(silence);
        }
        if silence >= self.next_notice {
            self.next_notice = silence * NEXT_NOTICE;
            self.report_silence(silence);
        }
        Ok(())
    }

    /// Fails, and ends the session from another one; during a clean-up only if the server is not at work on it.
    fn heed_interrupt(&mut self, silence: Duration) -> io::Result<()> {
        if self.waiting.is_cleaning_up() {
            if silence < self.next_look {
                return Ok(());
            }
            if self.ask_aside().is_some_and(|looked| looked.is_ok_and(|wait| wait.is_work)) {
                self.next_look = silence + LOOK_AGAIN;
                let server = &self.waiting.shared.server;
                let text = format!("{server} still removes what étalon made; a second Ctrl-C ends étalon at once");
                self.waiting.give_notice(Notice::Waits(&text));
                return Ok(());
            }
        }
        if let Some(aside) = self.aside.take() {
            aside.end_session(self.waiting.waiting_of_other_session());
        }
        Err(io::Error::other(Interruption))
    }

    /// Asks by another session what this one waits for. `None`: there is no other session.
    fn ask_aside(&self) -> Option<Result<ServerWait, String>> {
        self.aside.as_ref().map(|aside| aside.ask_server_wait(self.waiting.waiting_of_other_session()))
    }

    /// Reports that the server has been silent for so long, with what it waits for.
    fn report_silence(&self, silence: Duration) {
        let server = &self.waiting.shared.server;
        let question = if self.question.is_empty() { "question" } else { &self.question };
        let silence_s = silence.as_secs();
        let silent = format!("{server} has not answered étalon's {question} for {silence_s} s (Ctrl-C ends étalon)");
        match self.ask_aside() {
            Some(Ok(ServerWait { what, is_work: true })) => {
                self.waiting.give_notice(Notice::Works(&format!("{server} works long on étalon's {question}: {what}")));
            }
            Some(Ok(ServerWait { what, is_work: false })) => {
                self.waiting.give_notice(Notice::Waits(&format!("{silent}: {what}")));
            }
            Some(Err(why)) => {
                self.waiting.give_notice(Notice::Waits(&format!("{silent}: {why}")));
            }
            None => self.waiting.give_notice(Notice::Waits(&silent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says the same each time, and counts its ends.
    struct Said(Result<ServerWait, String>, Arc<Mutex<u32>>);

    impl Aside for Said {
        fn ask_server_wait(&self, _waiting: Waiting) -> Result<ServerWait, String> {
            self.0.clone()
        }

        fn end_session(&self, _waiting: Waiting) {
            *self.1.lock().unwrap() += 1;
        }
    }

    /// The notices that were reported.
    type Told = Arc<Mutex<Vec<String>>>;

    fn vigil(is_work: bool) -> (Vigil, Told, Arc<Mutex<u32>>) {
        let (told, ends) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let hears = Arc::clone(&told);
        let notices = Notices::new(move |notice| hears.lock().unwrap().push(notice.text().to_owned()));
        let shared = Shared { server: "db".to_owned(), notices, ..Shared::default() };
        let mut vigil = Vigil::new(Waiting { shared: Arc::new(shared), deadline: None }, "login");
        let wait = ServerWait { what: "it waits for a lock".to_owned(), is_work };
        vigil.set_aside(Some(Box::new(Said(Ok(wait), Arc::clone(&ends)))));
        (vigil, told, ends)
    }

    fn silent_for(vigil: &mut Vigil, silence: Duration) -> io::Result<()> {
        vigil.since = Instant::now().checked_sub(silence).unwrap();
        vigil.check_silence()
    }

    #[test]
    fn silence_is_told_of_once_and_its_question_is_named() {
        let (mut vigil, told, _) = vigil(false);
        vigil.name_question("DROP SCHEMA etalon CASCADE");
        for silence_s in [1, 4, 5, 6, 15, 16] {
            silent_for(&mut vigil, Duration::from_secs(silence_s)).unwrap();
        }
        let reports = [5, 16].map(|silence_s| {
            format!(
                "db has not answered étalon's DROP SCHEMA for {silence_s} s (Ctrl-C ends étalon): it waits for a lock"
            )
        });
        assert_eq!(*told.lock().unwrap(), reports);
        vigil.name_question("ALTER USER x IDENTIFIED BY 'hunter2'");
        assert_eq!(vigil.question, "ALTER USER");
        vigil.name_question("SELECT 'hunter2'");
        assert_eq!(vigil.question, "SELECT");
    }

    #[test]
    fn an_interrupt_ends_a_question_and_a_clean_up_that_waits() {
        for (is_cleaning_up, is_work, ends_after) in
            [(false, true, Some(0)), (true, false, Some(600)), (true, true, None)]
        {
            let (mut vigil, told, ends) = vigil(is_work);
            vigil.waiting.shared.interrupt.store(true, Ordering::Relaxed);
            if is_cleaning_up {
                vigil.waiting.begin_clean_up();
                silent_for(&mut vigil, Duration::from_millis(100)).unwrap();
            }
            let looked = silent_for(&mut vigil, Duration::from_millis(700));
            assert_eq!(looked.as_ref().err().is_some_and(is_interruption), ends_after.is_some());
            assert_eq!(*ends.lock().unwrap(), u32::from(ends_after.is_some()));
            assert_eq!(told.lock().unwrap().len(), usize::from(ends_after.is_none()));
        }
    }
}
