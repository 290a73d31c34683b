//! Connections that are tried before anything is loaded: a limit would otherwise stop the first run after a long load.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::dialogue::Client;
use super::system::{ClientOf, Server, ServerSystem};
use load::error::Failure;
use load::worker::LOGINS_AT_ONCE;

/// Opens `count` connections at the same time, and closes them; fails if the server refuses some.
/// One at a time is no trial.
pub(super) fn try_connections<S: Server>(system: &ServerSystem<S>, count: u64) -> Result<(), Failure> {
    if count < 2 {
        return Ok(());
    }
    let taken = AtomicU64::new(0);
    let made: Mutex<Vec<ClientOf<S>>> = Mutex::default();
    let refused: Mutex<Vec<Failure>> = Mutex::default();
    let work = || {
        while taken.fetch_add(1, Ordering::Relaxed) < count && !system.interrupt.load(Ordering::Relaxed) {
            match system.open_client() {
                Ok(client) => made.lock().unwrap_or_else(PoisonError::into_inner).push(client),
                Err(failure) => refused.lock().unwrap_or_else(PoisonError::into_inner).push(failure),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..LOGINS_AT_ONCE.min(count as usize) {
            // Fewer threads are only slower: this one works, too.
            let _ = thread::Builder::new().name("etalon-login".to_owned()).spawn_scoped(scope, work);
        }
        work();
    });
    let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    let refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (made_count, refused_count) = (made.len(), refused.len());
    made.into_iter().for_each(Client::close_and_wait);
    let Some(first) = refused.into_iter().next() else { return Ok(()) };
    let cause = format!(
        "{} ({made_count} of the {count} connections that the clients need were made at the same time, {refused_count} were refused)",
        first.cause
    );
    Err(Failure { tried: format!("try {count} connections before the load"), cause, ..first })
}
