//! Texts of a plan that would bring further settings along.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::server::testing::conductor::{no_setting_brings_another, some_of};

fn origins(endpoint: &Endpoint) -> BTreeSet<String> {
    let mut client = endpoint.open_client("").unwrap();
    let sql = "SELECT lower(name) FROM pg_settings WHERE source NOT IN ('default', 'override', 'client', 'session')";
    let names = client.query_text_rows(sql).unwrap().into_iter().flatten().flatten().collect();
    client.close_and_wait();
    names
}

#[test]
fn no_permitted_setting_brings_another_along() {
    let names = some_of(
        &confine::safe_settings(&BTreeMap::new()),
        &["wal_sync_method", "default_transaction_isolation", "fsync"],
    );
    let beyond = "archive_command=touch";
    no_setting_brings_another::<PostgresServer>(&names, beyond, private::Private::restart_with, origins);
}

#[test]
fn a_server_with_more_than_it_was_given_is_found_out() {
    let (mut private, endpoint) = started::<PostgresServer>(Connect::Socket, &[("work_mem", "5MB")], None).unwrap();
    private.restart_server(&endpoint).unwrap();
    let file = private.data_folder().unwrap().join("postgresql.auto.conf");
    std::fs::write(file, "maintenance_work_mem = '9MB'\n").unwrap();
    let failure = private.restart_server(&endpoint).unwrap_err();
    assert!(failure.cause.ends_with("gave it: maintenance_work_mem"), "{failure}");
    assert!(!private.running.is_running().unwrap());
}
