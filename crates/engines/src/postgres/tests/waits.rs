//! Commits that do not wait for the log whatever the settings say, and tablespaces in memory.

use std::path::PathBuf;
use std::time::Duration;

use model::DurabilityTier;

use super::*;
use crate::server::testing::life::run_of;
use crate::suite::{in_memory, marked_tier};
use workloads::transactions::pgbench_tables;

const UPDATE: &str = "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1;\n";

#[test]
fn commits_that_do_not_wait_for_the_log_are_marked() {
    let system = start(Connect::Tcp, &[]);
    system.prepare(&pgbench_tables(1)).unwrap();
    if system.facts().unwrap().durability().unwrap().tier != DurabilityTier::Durable {
        return println!("skipped: the folders of tests are not on a disk");
    }
    // One client, and several that share syncs.
    let insert = "INSERT INTO pgbench_history (tid, bid) VALUES (1, 1);\n";
    for clients in [1, 4, 16] {
        assert_eq!(tier_of(&system, insert, clients, 1), None, "{clients} clients");
    }
    assert_eq!(tier_of(&system, UPDATE, 1, 1), None);
    assert_eq!(tier_of(&system, "SELECT 1;\n", 4, 1), None);
    system.run("CREATE UNLOGGED TABLE public.loose AS SELECT 1 AS n");
    let unlogged = "UPDATE public.loose SET n = n + 1;\n";
    assert_eq!(tier_of(&system, unlogged, 1, 1), Some(DurabilityTier::Unsafe));
    assert_eq!(tier_of(&system, unlogged, 4, 1), Some(DurabilityTier::Unsafe));
    // For each transaction alone: no session shows it.
    let local = format!("BEGIN;\nSET LOCAL synchronous_commit = off;\n{UPDATE}COMMIT;\n");
    let function = format!("BEGIN;\nSELECT set_config('synchronous_commit', 'off', true);\n{UPDATE}COMMIT;\n");
    let back = format!("SET synchronous_commit = off;\n{UPDATE}SET synchronous_commit = on;\n");
    for script in [&local, &function, &back] {
        assert!(is_delayed(&system, script, 1), "{script}");
    }
    // For the session: without a write, no sync shows it.
    assert!(is_delayed(&system, "SET synchronous_commit = off;\nSELECT 1;\n", 4));
    system.run("CREATE FUNCTION etalon.hurry() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''synchronous_commit'', ''off'', true); RETURN NEW; END'");
    system.run(
        "CREATE TRIGGER hurry BEFORE INSERT ON etalon.pgbench_history FOR EACH ROW EXECUTE FUNCTION etalon.hurry()",
    );
    assert!(is_delayed(&system, insert, 1) && is_delayed(&system, insert, 4));
}

/// The tier that a run of a script is marked with.
fn tier_of(system: &PostgresSystem, script: &str, clients: u32, seconds: u64) -> Option<DurabilityTier> {
    marked_tier(&run_of(system, script, clients, Duration::from_secs(seconds)).unwrap())
}

/// On a busy machine a second has too few commits to conclude from.
fn is_delayed(system: &PostgresSystem, script: &str, clients: u32) -> bool {
    [1, 5, 20].iter().any(|seconds| tier_of(system, script, clients, *seconds) == Some(DurabilityTier::Delayed))
}

#[test]
fn commits_that_wait_against_the_settings_are_marked() {
    let system = start(Connect::Tcp, &[("synchronous_commit", "off")]);
    system.prepare(&pgbench_tables(1)).unwrap();
    system.facts().unwrap();
    assert_eq!(tier_of(&system, UPDATE, 1, 1), None);
    assert_eq!(
        tier_of(&system, &format!("SET synchronous_commit = on;\n{UPDATE}"), 1, 1),
        Some(DurabilityTier::Durable)
    );
}

#[test]
fn a_tablespace_in_memory_makes_the_data_volatile() {
    let Some(folder) = in_memory("postgres") else { return };
    let system = start(Connect::Tcp, &[]);
    system.prepare(&pgbench_tables(1)).unwrap();
    let tier = || system.facts().unwrap().durability().unwrap().tier;
    if tier() == DurabilityTier::Memory {
        return println!("skipped: the folders of tests are in memory");
    }
    system.run(&format!("CREATE TABLESPACE m LOCATION '{}'", folder.path().display()));
    assert_ne!(tier(), DurabilityTier::Memory, "nothing is there");
    for (there, back) in [
        (
            "ALTER TABLE etalon.pgbench_tellers SET TABLESPACE m",
            "ALTER TABLE etalon.pgbench_tellers SET TABLESPACE pg_default",
        ),
        ("CREATE INDEX i ON etalon.pgbench_tellers (bid) TABLESPACE m", "DROP INDEX etalon.i"),
        ("ALTER ROLE etalon SET default_tablespace = m", "ALTER ROLE etalon RESET default_tablespace"),
    ] {
        system.run(there);
        assert_eq!(tier(), DurabilityTier::Memory, "{there}");
        system.run(back);
        assert_ne!(tier(), DurabilityTier::Memory, "{back}");
    }
}

#[test]
fn a_file_of_the_log_in_memory_makes_the_data_volatile() {
    let Some(folder) = in_memory("postgres") else { return };
    let system = start(Connect::Tcp, &[]);
    system.prepare(&pgbench_tables(1)).unwrap();
    let tier = || system.facts().unwrap().durability().unwrap().tier;
    if tier() == DurabilityTier::Memory {
        return println!("skipped: the folders of tests are in memory");
    }
    let data = PathBuf::from(system.text("SHOW data_directory"));
    let table = system.text("SELECT pg_relation_filepath('etalon.pgbench_history')");
    let segment = system.text("SELECT 'pg_wal/' || pg_walfile_name(pg_current_wal_lsn())");
    for file in [table, segment].map(|file| data.join(file)) {
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
