//! The claim's session: kept alive, cut, robbed, shared.

use std::thread;
use std::time::{Duration, Instant};

use load::error::FailureKind;

use crate::tds_server::{Asked, Server};
use crate::{open, refusal, task};

/// Waits until `is_so`, for some seconds.
fn soon(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn holder(server: &Server) -> u64 {
    server.sessions().holder().expect("no session holds the claim")
}

fn is_held_by_another(server: &Server, than: u64) -> bool {
    server.sessions().holder().is_some_and(|holder| holder != than)
}

#[test]
fn a_cut_claim_is_taken_again_and_a_robbed_one_ends_the_run() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    let data = task(&[]).dataset;
    system.prepare(&data).unwrap();
    let pings =
        || server.database().log.iter().filter(|asked| **asked == Asked::Batch("SET NOCOUNT OFF".into())).count();
    soon("an idle session is not pinged", || pings() > 0);
    let first = holder(&server);
    server.sessions().cut(first);
    soon("the claim is not taken again", || is_held_by_another(&server, first));
    system.check_claim().unwrap();
    system.prepare(&data).unwrap();

    let second = holder(&server);
    server.sessions().rob(second);
    let is_lost = || system.check_claim().is_err_and(|failure| failure.kind == FailureKind::NotOurs);
    soon("the loss is not noticed", is_lost);
    assert_eq!(system.prepare(&data).unwrap_err().kind, FailureKind::NotOurs);
    server.sessions().end_rival();
    soon("the claim does not come back", || system.prepare(&data).is_ok());
    system.check_claim().unwrap();
    system.drop_all().unwrap();
}

/// Two systems of one plan on one server, in databases of their own.
#[test]
fn a_claim_that_is_shared_passes_to_the_other_system() {
    let server = Server::plain();
    let (one, other) = (open(&server.url()).unwrap(), open(&server.url()).unwrap());
    let first = holder(&server);
    one.drop_all().unwrap();
    soon("the other system does not hold the claim", || is_held_by_another(&server, first));
    other.check_claim().unwrap();

    let one = open(&server.url()).unwrap();
    let second = holder(&server);
    server.sessions().rob(second);
    for system in [&one, &other] {
        let is_lost = || system.check_claim().is_err_and(|failure| failure.kind == FailureKind::NotOurs);
        soon("a system believes that it still has the claim", is_lost);
    }
}

/// The server does not know yet that the connection has ended: the lock excludes others for as long.
#[test]
fn a_remnant_of_this_process_is_no_rival() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    let first = holder(&server);
    server.sessions().leave_remnant(first);
    let logins = || server.batches().iter().filter(|sql| sql.contains("sp_getapplock")).count();
    soon("the session does not come back", || logins() > 2);
    system.check_claim().unwrap();
    assert_eq!(holder(&server), first);
    server.sessions().end_remnants();
    soon("the claim does not pass to the new session", || is_held_by_another(&server, first));
    system.check_claim().unwrap();
    system.drop_all().unwrap();
}

/// Étalon's claim is in `master`, whichever database a session is in.
#[test]
fn a_claim_is_met_from_another_database() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    system.prepare(&task(&[]).dataset).unwrap();
    let first = holder(&server);
    // It comes back into étalon's database.
    server.sessions().rob(first);
    let is_lost = || system.check_claim().is_err_and(|failure| failure.kind == FailureKind::NotOurs);
    soon("the loss is not noticed", is_lost);
    let failure = refusal(&server.url().replace("/?", "/etalon?"));
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    assert!(failure.cause.contains("another étalon is using it"), "{failure}");
}
