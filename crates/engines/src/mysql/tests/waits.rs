//! Commits that do not wait for the log whatever the settings say, and tables in memory.

use std::path::PathBuf;
use std::time::Duration;

use model::DurabilityTier;

use super::*;
use crate::server::testing::life::run_of;
use crate::suite::{in_memory, marked_tier};
use workloads::transactions::pgbench_tables;

of_both_products!(
    commits_that_do_not_wait_for_the_log_are_marked,
    a_table_in_memory_makes_the_data_volatile,
    a_file_of_the_log_in_memory_makes_the_data_volatile,
);

fn commits_that_do_not_wait_for_the_log_are_marked() {
    let system = start(Connect::Tcp, &[]);
    system.prepare(&pgbench_tables(1)).unwrap();
    if system.facts().unwrap().durability().unwrap().tier != DurabilityTier::Durable {
        return println!("skipped: the folders of tests are not on a disk");
    }
    let insert = "INSERT INTO pgbench_history (tid, bid) VALUES (1, 1);\n";
    for clients in [1, 4, 16] {
        assert_eq!(tier_of(&system, insert, clients, 1), None, "{clients} clients");
    }
    assert_eq!(tier_of(&system, "SELECT 1 INTO @a;\n", 1, 1), None, "it changes nothing");
    system.run("CREATE DATABASE other; CREATE TABLE other.w (n INT) ENGINE = MyISAM; INSERT INTO other.w VALUES (1)");
    let without_log = "UPDATE other.w SET n = n + 1;\n";
    assert_eq!(tier_of(&system, without_log, 1, 1), Some(DurabilityTier::Unsafe), "an engine without a log");
    let set = |value: u8| format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value};\n");
    for value in [0, 2] {
        let script = format!("{}{insert}{}", set(value), set(1));
        // On a busy machine a second has too few commits to conclude from.
        let is_marked = [1, 5, 20].into_iter().any(|seconds| {
            // The end of the run before may have cut the script off between its two settings.
            system.run(&set(1));
            tier_of(&system, &script, 1, seconds) == Some(DurabilityTier::Delayed)
        });
        assert!(is_marked, "{value}");
    }
}

/// The tier that a run of a script is marked with.
fn tier_of(system: &MySqlSystem, script: &str, clients: u32, seconds: u64) -> Option<DurabilityTier> {
    marked_tier(&run_of(system, script, clients, Duration::from_secs(seconds)).unwrap())
}

fn a_table_in_memory_makes_the_data_volatile() {
    let Some(folder) = in_memory("mysql") else { return };
    let system = start(Connect::Tcp, &[]);
    system.run("CREATE DATABASE shop");
    let tier = || {
        let mut client = system.open_client().unwrap();
        client.execute("USE shop").unwrap();
        facts::read_facts(&mut client, &system.endpoint, workloads::dataset::Tables::None)
            .unwrap()
            .durability()
            .unwrap()
            .tier
    };
    if tier() == DurabilityTier::Memory {
        return println!("skipped: the folders of tests are in memory");
    }
    let place = folder.path().display();
    system.run(&format!("CREATE TABLE shop.t (id INT PRIMARY KEY) ENGINE = InnoDB DATA DIRECTORY = '{place}'"));
    assert_eq!(tier(), DurabilityTier::Memory);
    system.run("DROP TABLE shop.t");
    assert_ne!(tier(), DurabilityTier::Memory);
}

fn a_file_of_the_log_in_memory_makes_the_data_volatile() {
    let Some(folder) = in_memory("mysql") else { return };
    let system = start(Connect::Tcp, &[]);
    system.prepare(&pgbench_tables(1)).unwrap();
    let tier = || system.facts().unwrap().durability().unwrap().tier;
    if tier() == DurabilityTier::Memory {
        return println!("skipped: the folders of tests are in memory");
    }
    let data = PathBuf::from(system.text("SELECT @@datadir"));
    let files = ["ib_logfile0", "ibdata1", "undo_001", "etalon/pgbench_tellers.ibd", "#innodb_redo/#ib_redo0"];
    let there = files.iter().map(|file| data.join(file)).filter(|file| file.exists());
    for file in there {
        // The server holds the file.
        let (kept, moved) = (file.with_extension("kept"), folder.path().join("file"));
        std::fs::rename(&file, &kept).unwrap();
        std::fs::write(&moved, "").unwrap();
        std::os::unix::fs::symlink(&moved, &file).unwrap();
        assert_eq!(tier(), DurabilityTier::Memory, "{}", file.display());
        std::fs::rename(&kept, &file).unwrap();
        assert_ne!(tier(), DurabilityTier::Memory, "{}", file.display());
    }
}
