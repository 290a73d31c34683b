//! Questions that a real server leaves unanswered.

use std::process::Command;
use std::time::{Duration, Instant};

use super::poolers::Bouncer;
use super::*;
use crate::server::testing::silence::User;
use workloads::system::System as _;
use workloads::transactions::pgbench_tables;

impl PostgresSystem {
    fn superuser(&self) -> Client {
        self.endpoint.open_client("").unwrap()
    }
}

/// Sets what the whole server has.
fn set(superuser: &mut Client, setting: &str) {
    superuser.execute_alone(&format!("ALTER SYSTEM SET {setting}")).unwrap();
    superuser.execute("SELECT pg_reload_conf()").unwrap();
    thread::sleep(Duration::from_millis(300));
}

/// Étalon's sessions on its own tables.
fn sessions(superuser: &mut Client) -> String {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'etalon' AND usename = 'etalon' \
               AND pid <> pg_backend_pid()";
    superuser.query_first_value(sql).unwrap()
}

#[test]
fn silent_servers_are_told_of_and_an_interrupt_ends_the_wait() {
    let server = start(Connect::Tcp, &[]);
    a_missing_synchronous_standby(&server);
    a_lock_of_others_at_the_clean_up(&server);
    a_stopped_session(&server);
    a_pool_smaller_than_the_clients(&server);
    server.drop_all().unwrap();
}

fn a_missing_synchronous_standby(server: &PostgresSystem) {
    let mut superuser = server.superuser();
    let user = User::new();
    let system = user.open::<PostgresServer>(&server.own_url()).unwrap();
    set(&mut superuser, "synchronous_standby_names = 'none_there'");
    let words = "it waits for a synchronous standby to confirm a commit (IPC: SyncRep)";
    let dropped = user.interrupts_and_leaves(&*system, words, |system| system.prepare(&pgbench_tables(1)));
    println!("{dropped:?}");
    set(&mut superuser, "synchronous_standby_names = ''");
    drop(system);
    let deadline = Instant::now() + Duration::from_secs(5);
    while sessions(&mut superuser) != "1" {
        assert!(Instant::now() < deadline, "sessions are left besides the fixture's own");
    }
    User::new().open::<PostgresServer>(&server.own_url()).unwrap().drop_all().unwrap();
}

fn a_lock_of_others_at_the_clean_up(server: &PostgresSystem) {
    let user = User::new();
    let system = user.open::<PostgresServer>(&server.own_url()).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    let mut other = server.superuser();
    other.execute("BEGIN; LOCK TABLE etalon.pgbench_tellers").unwrap();
    let dropped = user.hears_and_interrupts("it waits for a lock (Lock: relation)", || system.drop_all());
    assert_eq!(dropped.unwrap_err().kind, FailureKind::Interrupted);
    other.execute("ROLLBACK").unwrap();
    drop(system);
    User::new().open::<PostgresServer>(&server.own_url()).unwrap().drop_all().unwrap();
}

fn a_stopped_session(server: &PostgresSystem) {
    let user = User::new();
    let system = user.open::<PostgresServer>(&server.own_url()).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    let mut superuser = server.superuser();
    // The fixture holds such a lock too, and process ids start again at small numbers.
    let latest = "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' \
                  ORDER BY backend_start DESC LIMIT 1";
    let session = superuser.query_first_value(latest).unwrap();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &session]).status().unwrap().success());
    signal("-STOP");
    let dropped =
        user.interrupts_and_leaves(&*system, "its session has not taken it up", |system| system.counters().map(|_| ()));
    println!("{dropped:?}");
    signal("-CONT");
    drop(system);
    User::new().open::<PostgresServer>(&server.own_url()).unwrap().drop_all().unwrap();
}

fn a_pool_smaller_than_the_clients(server: &PostgresSystem) {
    let Some(bouncer) = Bouncer::start(server, "session", "default_pool_size = 1") else { return };
    let user = User::new();
    let url = bouncer.url(server);
    let opened =
        user.hears_and_interrupts("a second session gets no answer either", || user.open::<PostgresServer>(&url));
    assert_eq!(opened.err().unwrap().kind, FailureKind::Interrupted);
}

#[test]
fn a_listener_without_an_answer_is_told_of_and_left() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://u@127.0.0.1:{}/d?sslmode=disable", silent.local_addr().unwrap().port());
    let user = User::new();
    let opened =
        user.hears_and_interrupts("has not answered étalon's login for 5 s", || user.open::<PostgresServer>(&url));
    assert_eq!(opened.err().unwrap().kind, FailureKind::Interrupted);
}
