//! Questions that a real server leaves unanswered.

use std::time::{Duration, Instant};

use super::*;
use crate::server::testing::silence::User;
use workloads::system::System as _;
use workloads::transactions::pgbench_tables;

of_both_products! {
    a_lock_of_others_is_told_of_and_an_interrupt_ends_the_wait,
}

fn a_lock_of_others_is_told_of_and_an_interrupt_ends_the_wait() {
    let server = start(Connect::Tcp, &[]);
    let mut other = server.endpoint.open_client(Purpose::Control).unwrap();
    let user = User::new();
    let system = user.open::<MySqlServer>(&server.own_url()).unwrap();
    other.execute("FLUSH TABLES WITH READ LOCK").unwrap();
    let dropped = user.interrupts_and_leaves(&*system, "Waiting for ", |system| system.prepare(&pgbench_tables(1)));
    println!("{dropped:?}");
    other.execute("UNLOCK TABLES").unwrap();
    drop(system);

    let user = User::new();
    let system = user.open::<MySqlServer>(&server.own_url()).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    other.execute("LOCK TABLES etalon.pgbench_tellers READ").unwrap();
    let dropped = user.hears_and_interrupts("its session says `Waiting for table metadata lock`", || system.drop_all());
    assert_eq!(dropped.unwrap_err().kind, FailureKind::Interrupted);
    other.execute("UNLOCK TABLES").unwrap();
    drop(system);
    let mine = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'etalon' AND command <> 'Sleep'";
    let deadline = Instant::now() + Duration::from_secs(5);
    while other.query_first_value(mine).unwrap() != "1" {
        assert!(Instant::now() < deadline, "a session is left at work");
    }
    User::new().open::<MySqlServer>(&server.own_url()).unwrap().drop_all().unwrap();
    server.drop_all().unwrap();
}

#[test]
fn a_listener_without_an_answer_is_told_of_and_left() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mysql://u@127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let user = User::new();
    let opened =
        user.hears_and_interrupts("has not answered étalon's login for 5 s", || user.open::<MySqlServer>(&url));
    assert_eq!(opened.err().unwrap().kind, FailureKind::Interrupted);
}
