//! Ctrl-C, and what else asks a program to end, or stops it for a while.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag set by the first Ctrl-C or request to end. The second exits at once with `exit_code`.
///
/// Where possible no thread waits for it: a second thread, even a sleeping one, makes every system call and allocation
/// of the first dearer, and SQLite is measured inside this process. Without a handler Ctrl-C ends the process as
/// usual.
pub fn interrupt_flag(exit_code: u8) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    handle(&flag, i32::from(exit_code));
    flag
}

/// Has signals set the flag, the second one exit.
#[cfg(unix)]
fn handle(flag: &Arc<AtomicBool>, exit_code: i32) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag::{register, register_conditional_shutdown};

    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(signal) {
            // `nohup` keeps a closed terminal from ending the program.
            continue;
        }
        // Handlers run in order of registration: this one sees what the next has set before.
        let _ = register_conditional_shutdown(signal, exit_code, Arc::clone(flag));
        let _ = register(signal, Arc::clone(flag));
    }
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

/// Has Ctrl-C set the flag, the second one exit.
#[cfg(not(unix))]
fn handle(flag: &Arc<AtomicBool>, exit_code: i32) {
    use std::sync::atomic::Ordering;

    let flag = Arc::clone(flag);
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            signal_hook::low_level::exit(exit_code);
        }
    });
}

/// How often this process was let go on after a stop, since the first call. Always 0 where there is no such signal.
#[cfg(unix)]
pub fn times_continued() -> usize {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
