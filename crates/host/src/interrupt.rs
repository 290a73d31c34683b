//! Ctrl-C, and what else asks a program to end, or stops it for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// A flag set by the first Ctrl-C or request to end, which prints `said` on stderr. One that comes a second later exits at once with
/// `exit_code`.
///
/// Where possible no thread waits for it: a second thread, even a sleeping one, makes every system call and allocation
/// of the first dearer, and SQLite is measured inside this process. Without a handler Ctrl-C ends the process as
/// usual.
pub fn interrupt_flag(exit_code: u8, said: &'static str) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    handle(Requests::new(&flag, said), i32::from(exit_code));
    flag
}

/// Requests to end within this time of the first are one: `timeout` sends each signal to a program and then to its group.
const MEANT_AS_ONE_MS: u64 = 1_000;

/// Has signals set the flag, a later one exit.
#[cfg(unix)]
fn handle(requests: Requests, exit_code: i32) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let requests = Arc::new(requests);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(signal) {
            // `nohup` keeps a closed terminal from ending the program.
            continue;
        }
        let requests = Arc::clone(&requests);
        // SAFETY: reading the clock, atomics, `write` and `_exit` are allowed in a signal handler.
        let _ = unsafe { signal_hook::low_level::register(signal, move || requests.exit_if_repeated(exit_code)) };
    }
}

/// The requests to end that have come.
struct Requests {
    flag: Arc<AtomicBool>,
    /// What the first one prints.
    said: &'static str,
    began: Instant,
    /// Milliseconds from `began` to the first one.
    first_ms: AtomicU64,
}

impl Requests {
    fn new(flag: &Arc<AtomicBool>, said: &'static str) -> Requests {
        Requests { flag: Arc::clone(flag), said, began: Instant::now(), first_ms: AtomicU64::new(u64::MAX) }
    }

    /// Takes a request: sets the flag, and exits if one came long enough before.
    fn exit_if_repeated(&self, exit_code: i32) {
        if self.is_repeated() {
            signal_hook::low_level::exit(exit_code);
        }
    }

    /// Sets the flag; whether one came so long before that this one is another.
    fn is_repeated(&self) -> bool {
        let now_ms = self.began.elapsed().as_millis() as u64;
        let first_ms = self.first_ms.fetch_min(now_ms, Ordering::SeqCst);
        if !self.flag.swap(true, Ordering::SeqCst) {
            print_from_handler(self.said);
        }
        now_ms.saturating_sub(first_ms) >= MEANT_AS_ONE_MS
    }
}

/// Prints a text on stderr by one system call, without the locks that the interrupted code may hold.
#[cfg(unix)]
fn print_from_handler(text: &str) {
    use nix::libc;

    let errno = nix::errno::Errno::last();
    // SAFETY: the bytes outlive the call. What cannot be printed is not missed.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    // The interrupted code may be about to read it.
    errno.set();
}

/// Prints a text on stderr.
#[cfg(not(unix))]
fn print_from_handler(text: &str) {
    use std::io::Write as _;

    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    use nix::libc;

    // SAFETY: all zeros is a valid `sigaction`, which the call fills; without a new action nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Has Ctrl-C set the flag, a later one exit.
#[cfg(not(unix))]
fn handle(requests: Requests, exit_code: i32) {
    let _ = ctrlc::set_handler(move || requests.exit_if_repeated(exit_code));
}

/// How often this process was let go on after a stop, since the first call. Always 0 where there is no such signal.
#[cfg(unix)]
pub fn times_continued() -> usize {
    use std::sync::LazyLock;
    use std::sync::atomic::AtomicUsize;

    static CONTINUED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let count_one = move || _ = counted.fetch_add(1, Ordering::Relaxed);
        // SAFETY: an atomic addition is allowed in a signal handler.
        let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGCONT, count_one) };
        count
    });
    CONTINUED.load(Ordering::Relaxed)
}

#[cfg(not(unix))]
pub fn times_continued() -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_requests_at_once_are_one() {
        let flag = Arc::new(AtomicBool::new(false));
        let mut requests = Requests::new(&flag, "");
        assert_eq!([requests.is_repeated(), requests.is_repeated()], [false, false]);
        assert!(flag.load(Ordering::SeqCst));
        requests.began -= std::time::Duration::from_millis(MEANT_AS_ONE_MS);
        assert!(requests.is_repeated());
    }
}
