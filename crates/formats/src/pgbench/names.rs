//! Names of pgbench's logs: `PREFIX.PID` for the first thread, `PREFIX.PID.N` for the others.

/// Strips a log's name of its thread's number.
/// `is_known` tells whether another log has a name: the first thread's decides.
pub fn run_of_log(name: &str, is_known: impl Fn(&str) -> bool) -> &str {
    match without_number(name) {
        Some(head) if is_known(head) || without_number(head).is_some() => head,
        _ => name,
    }
}

/// Strips a log's name of process and thread numbers, which leaves what the logs of a plan have in common.
pub fn prefix_of_log(name: &str) -> &str {
    let head = without_number(name).unwrap_or(name);
    without_number(head).unwrap_or(head)
}

/// Strips a log's name of the number at its end; `None` if there is none.
fn without_number(name: &str) -> Option<&str> {
    let (head, number) = name.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !head.is_empty()).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_of_their_process() {
        assert_eq!(run_of_log("pgbench_log.4711", is_none), "pgbench_log.4711");
        assert_eq!(run_of_log("pgbench_log.4711.1", is_none), "pgbench_log.4711");
        assert_eq!(run_of_log("a.log", is_none), "a.log");
        assert_eq!(run_of_log("a.log.1", is_none), "a.log.1", "1 may be a process");
        assert_eq!(run_of_log("a.log.1", |name| name == "a.log"), "a.log");
        for name in ["pgbench_log", "pgbench_log.4711", "pgbench_log.4711.12"] {
            assert_eq!(prefix_of_log(name), "pgbench_log");
        }
        assert_eq!(prefix_of_log(".1"), ".1");
    }

    fn is_none(_: &str) -> bool {
        false
    }
}
