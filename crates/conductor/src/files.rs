//! The limit on open files.

use load::error::{Failure, FailureKind};

/// Étalon's own open files, with room for logins under way.
const OWN_FILES: u64 = 64;

/// Fails if that many connections exceed the limit on open files, next to étalon's own.
pub(crate) fn check_open_files_limit(connections: u64, per_client: u64, limit: Option<u64>) -> Result<(), Failure> {
    let needed = connections * per_client + OWN_FILES;
    match limit {
        Some(limit) if per_client > 0 && needed > limit => {
            let cause = format!(
                "they need {needed} open files and sockets, and the operating system lets this process open {limit} (RLIMIT_NOFILE)"
            );
            Err(Failure::new(FailureKind::Other, format!("open {connections} connections"), cause)
                .with_hint("raise the hard limit, as with `ulimit -Hn 65536` as root or `LimitNOFILE=` of systemd, or ask for fewer clients or a smaller pool"))
        }
        _ => Ok(()),
    }
}
