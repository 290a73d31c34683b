//! A server that follows another, and one that is promoted.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use host::process::StopSignal;
use workloads::transactions::pgbench_tables;

use super::*;
use crate::server::private::give_to_user;

/// Restarts a private server as a standby of nothing: as one whose primary is gone, or that was asked to take its place.
fn demote(server: &PostgresSystem) {
    server.control.close_session();
    let mut private = server.lock_private().unwrap();
    private.running.stop_server(StopSignal::Fast, Duration::from_secs(60)).unwrap();
    let signal = private.data_folder().unwrap().join("standby.signal");
    fs::write(&signal, "").unwrap();
    give_to_user(&signal, private.user()).unwrap();
    private.spawn_and_wait(&server.endpoint, &[]).unwrap();
}

fn promote(server: &PostgresSystem) {
    let mut client = server.endpoint.open_client("").unwrap();
    client.execute("SELECT pg_promote(false)").unwrap();
    client.close_and_wait();
}

fn plan_of(server: &PostgresSystem) -> SystemPlan {
    let Address { host, port, user, database, .. } = &server.endpoint.address;
    let url = format!("postgres://{user}@/{database}?host={host}&port={port}");
    SystemPlan { name: "s".to_owned(), engine: "postgres".to_owned(), url, ..SystemPlan::default() }
}

#[test]
fn promotion_under_way_is_waited_for() {
    let server = start(Connect::Socket, &[]);
    let plan = plan_of(&server);
    assert_eq!(Postgres.why_read_only(&plan), None);
    let opened = open(&plan.url, &[], Consent::OwnOnly).unwrap();
    opened.prepare(&pgbench_tables(1)).unwrap();
    demote(&server);
    // As `etalon plan` notices it.
    let failure = Postgres.why_read_only(&plan).unwrap();
    assert!(failure.cause.contains("standby") && failure.hint.is_some(), "{failure}");
    // Between two runs: waiting may help, and the server is not back as long as nothing can be written to it.
    let failure = opened.prepare(&pgbench_tables(2)).unwrap_err();
    assert!(failure.may_pass() && failure.cause.contains("25006"), "{failure:?}");
    let asking = Address::parse_url(&format!("{}&target_session_attrs=read-write", plan.url), &|_| None).unwrap();
    let failure = Endpoint::new(asking).unwrap().open_client("").err().unwrap();
    assert!(failure.may_pass() && failure.hint.as_deref() == Some("name the primary server in the URL"), "{failure:?}");
    let failure = opened.wait_until_available().unwrap_err();
    assert!(failure.cause.contains("standby"), "{failure}");
    opened.counters().unwrap();
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(2));
            promote(&server);
        });
        // At the start of an experiment.
        let again = open(&plan.url, &[], Consent::OwnOnly).unwrap();
        assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
        again.prepare(&pgbench_tables(1)).unwrap();
        drop(again);
    });
    opened.wait_until_available().unwrap();
    opened.prepare(&pgbench_tables(2)).unwrap();
    opened.drop_all().unwrap();
    server.drop_all().unwrap();
}

/// Scripts that only read its tables may.
#[test]
fn standby_is_measured_on_tables_of_others() {
    let server = start(Connect::Socket, &[]);
    server.run("CREATE TABLE public.mine AS SELECT 1 AS k");
    demote(&server);
    let system: PostgresSystem = testing::made_for(server.endpoint.clone(), None, Tables::None);
    assert_eq!(system.scalar("SELECT k FROM mine").unwrap(), 1);
    system.wait_until_available().unwrap();
    drop(system);
    server.drop_all().unwrap();
}
