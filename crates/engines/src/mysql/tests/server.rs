//! A private server's whole life.

use std::time::Duration;

use model::{DurabilityTier, Reading, RunRecord};

use super::*;
use crate::server::testing::lane::{WAYS, one_of_two_in_a_deadlock_is_told};
use crate::server::testing::life;
use workloads::transactions::pgbench_tables;

of_both_products! {
    a_private_server_from_its_making_to_its_removal,
    a_private_server_that_does_not_start_says_why,
    the_server_counts_what_the_client_claims,
    promises_are_read_back_from_the_server,
    the_engine_of_etalons_own_tables_is_read_back,
    large_data_sets_are_loaded_in_parts,
}

fn the_engine_of_etalons_own_tables_is_read_back() {
    let system = start(Connect::Tcp, &[]);
    system.prepare(&pgbench_tables(1)).unwrap();
    let before = system.facts().unwrap();
    for (engine, tier) in [("MyISAM", DurabilityTier::Unsafe), ("MEMORY", DurabilityTier::Memory)] {
        system.run(&format!("ALTER TABLE etalon.pgbench_history ENGINE = {engine}"));
        let now = system.facts().unwrap();
        assert_eq!(now.durability().unwrap().tier, tier, "{engine}");
        assert!(now.changes_since(&before).iter().any(|change| change.name == "durability.tier"), "{engine}");
    }
    system.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(system.facts().unwrap().durability(), before.durability());
}

fn a_private_server_from_its_making_to_its_removal() {
    let system = start(Connect::Socket, &[("innodb-buffer-pool-size", "64M"), ("innodb_flush_log_at_trx_commit", "2")]);
    says_what_it_is(&system);
    prepares_the_same_tables_every_time(&system);
    counts_forwards(&system);
    for way in WAYS {
        lane::every_kind_of_value_arrives(&system, way);
        lane::errors_have_classes_and_a_way_back(&system, way);
        one_of_two_in_a_deadlock_is_told(&system, way, "UPDATE pairs SET v = v + 1 WHERE k = ?");
        lane::the_last_row_of_each_result_is_kept(&system, way);
        lane::columns_that_change_are_noticed(&system, way);
        lane::a_connection_that_is_killed_is_lost_and_made_anew(&system, way);
    }
    deadlocks_are_tried_again(&system);
    a_rival_is_not_disturbed(&system);
    life::is_started_anew_between_rounds(&system);
    assert_eq!(system.scalar("SELECT @@innodb_buffer_pool_size").unwrap(), 67_108_864);
    life::comes_back_after_a_kill_in_mid_run(&system);
    life::is_not_kept_once_killed(&system);
    life::leaves_nothing(&system, "SELECT @@datadir");
}

fn says_what_it_is(system: &MySqlSystem) {
    let facts = system.facts().unwrap();
    let (product, authentication) = match system.server.product {
        Product::MariaDb => ("MariaDB", "mysql_native_password"),
        Product::MySql => ("MySQL", "caching_sha2_password"),
    };
    assert_eq!((facts.get("server.product"), facts.get("path.login")), (Some(product), Some(authentication)));
    assert_eq!(facts.get("setting.innodb_buffer_pool_size"), Some("67108864"));
    assert_eq!(facts.get("database.engine"), Some("InnoDB"));
    assert_eq!((facts.get("path.kind"), facts.get("path.tls")), (Some("socket"), Some("off")));
    assert!(facts.get("server.made_by").unwrap().contains("--"));
    assert!(facts.get("data_directory.filesystem").is_some(), "{:?}", facts.entries.get("data_directory.filesystem"));
    let durability = facts.durability().unwrap();
    assert_eq!(durability.tier, DurabilityTier::Delayed);
    assert!(durability.because.contains("innodb_flush_log_at_trx_commit=2"));
    assert!(facts.get("checkpoint_before_run").is_some());
    println!("{}", facts.get("client.reactor").unwrap());
    // An equally made server is the same system, as a resume needs.
    let pairs = [("innodb-buffer-pool-size", "64M"), ("innodb_flush_log_at_trx_commit", "2")];
    let other = start(Connect::Socket, &pairs);
    assert_eq!(facts.differences(&other.facts().unwrap()), []);
}

/// What a run meets: rows and statistics.
fn state(system: &MySqlSystem) -> String {
    let tables = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = \
                  'etalon'";
    let rows = "CHECKSUM TABLE pgbench_accounts";
    let size = "SELECT clustered_index_size FROM mysql.innodb_table_stats WHERE database_name = 'etalon' AND table_name = \
                'pgbench_accounts'";
    let mut client = system.open_client().unwrap();
    let sum = client.query_text_rows(rows).unwrap();
    format!("{} {sum:?} {}", client.query_first_value(tables).unwrap(), client.query_first_value(size).unwrap())
}

fn prepares_the_same_tables_every_time(system: &MySqlSystem) {
    let changes = [
        "UPDATE pgbench_accounts SET abalance = 7 WHERE aid < 1000",
        "DROP TABLE pgbench_history",
        "CREATE TABLE more (x INT)",
    ];
    life::prepares_the_same_tables_every_time(system, state, &changes, "1146");
    system.settle().unwrap();
    if system.server.checkpoint == Checkpoint::Sharp {
        // An unsettled server writes a page now and then.
        let dirty = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = \
                     'Innodb_buffer_pool_pages_dirty'";
        assert!(system.scalar(dirty).unwrap() < 20, "{}", system.scalar(dirty).unwrap());
    }
    // Without local files the rows come by statements.
    let sum = "SELECT CONCAT_WS(' ', COUNT(*), SUM(aid), SUM(bid), SUM(CRC32(filler))) FROM pgbench_accounts";
    let by_file = system.text(sum);
    system.run("SET GLOBAL local_infile = OFF");
    system.prepare(&pgbench_tables(1)).unwrap();
    assert_eq!(system.text(sum), by_file);
    system.run("SET GLOBAL local_infile = ON");
}

fn counts_forwards(system: &MySqlSystem) {
    let mut before = system.counters().unwrap();
    // What a session did that is just ending is missing in the server's sums for a moment.
    loop {
        let again = system.counters().unwrap();
        let is_still = again.value_of("statements").unwrap() - before.value_of("statements").unwrap() < 20.0;
        before = again;
        if is_still {
            break;
        }
    }
    assert_eq!(before.value_of("commits"), None, "a count that would be wrong");
    for name in ["statements", "commit_statements", "rollback_statements", "lock_waits", "log_bytes", "data_syncs"] {
        assert!(before.value_of(name).is_some(), "{name}: {before:?}");
    }
    let mut client = system.open_client().unwrap();
    for _ in 0..50 {
        client.execute("UPDATE pgbench_branches SET bbalance = bbalance + 1").unwrap();
    }
    client.close_and_wait();
    let since = system.counters().unwrap().since(&before);
    assert!((50.0..60.0).contains(&since.value_of("statements").unwrap()), "{since:?}");
    assert!(since.value_of("log_bytes").unwrap() > 0.0, "{since:?}");
    assert_eq!(since.value_of("commit_statements"), Some(0.0), "{since:?}");
}

fn a_rival_is_not_disturbed(system: &MySqlSystem) {
    system.control.close_session();
    let mut rival = system.open_client().unwrap();
    assert_eq!(rival.query_first_value("SELECT GET_LOCK('etalon', 0)").unwrap(), "1");
    let failure = system.counters().unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotOurs);
    assert!(failure.cause.contains("another étalon") && failure.cause.contains(" of "), "{failure}");
    assert!(failure.hint.is_some(), "{failure}");
    rival.execute("DO RELEASE_LOCK('etalon')").unwrap();
    assert!(system.counters().is_ok());
    rival.close_and_wait();
}

/// Two rows in random order: clients deadlock sooner or later.
fn deadlocks_are_tried_again(system: &MySqlSystem) {
    system.prepare(&pgbench_tables(1)).unwrap();
    let before = system.counters().unwrap();
    let script = "\\set a random(1, 3)\n\\set b random(1, 3)\nBEGIN;\n\
                  UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\n\
                  UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :b;\nCOMMIT;";
    let record = life::run_of(system, script, 8, Duration::from_millis(1_000)).unwrap();
    let since = system.counters().unwrap().since(&before);
    if let Some(deadlocks) = since.value_of("deadlocks") {
        assert!(deadlocks > 0.0, "{since:?}");
    }
    assert!(since.value_of("rollback_statements").unwrap() > 0.0, "{since:?}");
    assert!(number(&record, "throughput") > 0.0);
    // Each deadlock retries its victim, except at the run's end.
    assert!(number(&record, "retries") > 0.0 && number(&record, "errors") <= 8.0, "{:?}", record.measurements);
    // Aborted work left nothing: every commit adds two.
    let sum = system.scalar("SELECT SUM(abalance) FROM pgbench_accounts").unwrap();
    assert_eq!(sum as f64, 2.0 * since.value_of("commit_statements").unwrap());
}

fn number(record: &RunRecord, id: &str) -> f64 {
    match record.measurements.iter().find(|one| one.metric.id == id).map(|one| &one.reading) {
        Some(Reading::Value(number)) => *number,
        other => panic!("{id}: {other:?} in {:?}", record.measurements),
    }
}

fn a_private_server_that_does_not_start_says_why() {
    let refused = testing::refused_start::<MySqlServer>;
    let failure = refused(&[("inodb_buffer_pool_size", "1G")]);
    let hint = failure.hint.as_deref();
    assert_eq!((failure.kind, hint), (FailureKind::Plan, Some("did you mean `innodb_buffer_pool_size`?")), "{failure}");
    let failure = refused(&[("innodb_flush_method", "sideways")]);
    assert_eq!(failure.kind, FailureKind::Plan, "{failure}");
    assert!(failure.cause.contains("sideways"), "{failure}");
    assert_eq!(refused(&[("port", "3306")]).kind, FailureKind::Plan);
    assert_eq!(refused(&[("skip-networking", "0")]).kind, FailureKind::Plan);
    assert_eq!(refused(&[("autocommit", "0")]).kind, FailureKind::Plan);
}

#[test]
fn a_deep_folder_is_no_hindrance() {
    life::a_deep_folder_is_no_hindrance::<MySqlServer>(|endpoint| {
        let Place::Socket(socket) = &endpoint.address.place else { panic!("TCP") };
        socket.clone()
    });
}

fn the_server_counts_what_the_client_claims() {
    testing::the_server_counts_what_the_client_claims::<MySqlServer>(&["prepared", "simple"]);
}

fn large_data_sets_are_loaded_in_parts() {
    testing::parts::large_data_sets_are_loaded_in_parts::<MySqlServer>();
}

fn expect(system: &MySqlSystem, tier: DurabilityTier, words: &str) {
    let found = system.facts().unwrap().durability().unwrap();
    assert!(found.tier == tier && found.because.contains(words), "{words}: {found:?}");
}

/// Every durability row that the product can have, set and read back.
fn promises_are_read_back_from_the_server() {
    let system = start(Connect::Socket, &[("log_bin", "log"), ("sync_binlog", "1")]);
    let mut client = system.open_client().unwrap();
    expect(&system, DurabilityTier::Durable, "sync_binlog=1");
    for (set, back, tier, words) in [
        ("sync_binlog = 0", "sync_binlog = 1", DurabilityTier::Delayed, "the binary log lost"),
        (
            "innodb_flush_log_at_trx_commit = 0",
            "innodb_flush_log_at_trx_commit = 1",
            DurabilityTier::Delayed,
            "even a crash",
        ),
        (
            "innodb_flush_log_at_trx_commit = 2",
            "innodb_flush_log_at_trx_commit = 1",
            DurabilityTier::Delayed,
            "once a second",
        ),
        ("default_storage_engine = MyISAM", "default_storage_engine = InnoDB", DurabilityTier::Unsafe, "a half of one"),
        ("default_storage_engine = MEMORY", "default_storage_engine = InnoDB", DurabilityTier::Memory, "in memory"),
    ] {
        client.execute(&format!("SET GLOBAL {set}")).unwrap();
        expect(&system, tier, words);
        client.execute(&format!("SET GLOBAL {back}")).unwrap();
    }
    if product() == Product::MariaDb {
        client.execute("SET GLOBAL default_storage_engine = Aria").unwrap();
        expect(&system, DurabilityTier::Unsafe, "engine=Aria");
        client.execute("SET GLOBAL default_storage_engine = InnoDB").unwrap();
    }
    expect(&system, DurabilityTier::Durable, "sync_binlog=1");
    client.close_and_wait();
    for (name, value, tier, words) in [
        ("innodb_doublewrite", "OFF", DurabilityTier::Unsafe, "tears"),
        ("innodb_flush_method", "nosync", DurabilityTier::Unsafe, "not synced"),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC", DurabilityTier::Durable, "other than the log's"),
    ] {
        expect(&start(Connect::Socket, &[(name, value)]), tier, words);
    }
}
