//! Transactions during a backup: what they lose, what slows the backup, and what goes wrong.

use super::runs::{POSTGRES, Place, missing, run, value};
use load::error::FailureKind;

const LOAD: &str = "load = { script = \"tpcb-like\", clients = 2 }";

fn with_log(place: &Place) -> String {
    format!("{}\nsettings = {{ journal_mode = \"WAL\", synchronous = \"OFF\" }}", place.sqlite())
}

#[test]
fn sqlite_s_transactions_with_a_backup_and_without() {
    let place = Place::new();
    let alone = run(&place, &with_log(&place), &format!("method = \"none\"\n{LOAD}")).unwrap();
    assert!(value(&alone, "throughput") > 0.0);
    assert!((alone.elapsed_s - 1.0).abs() < 1e-6, "as long as the schedule says, and not {} s", alone.elapsed_s);
    assert_eq!(missing(&alone, "backup_rate"), "no backup was taken");
    // About 17 MiB at 16 MiB a second: while it lasts the database is written to.
    let record = run(&place, &with_log(&place), &format!("codec = \"zstd\"\nmax_rate_mib_s = 16\n{LOAD}")).unwrap();
    assert!(value(&record, "throughput") > 0.0 && value(&record, "backup_rate") > 1.0);
    // The load's measured part is the backup, which begins a moment after it.
    let whole = record.series.iter().find(|series| series.interval.is_none()).unwrap();
    let (load_s, backup_s) = (f64::from(whole.length_ms) / 1e3, value(&record, "backup_time"));
    assert!(load_s > 0.999 * backup_s && load_s < backup_s + 0.5, "{load_s} s of load, {backup_s} s of backup");
    for metric in ["backup_cpu", "backup_cpu_per_gib", "backup_cpu/server", "backup_cpu/client"] {
        assert!(missing(&record, metric).contains("transactions beside it"), "{metric}");
    }
    assert!(value(&record, "backup_cpu/compressor") > 0.0, "its thread is asked itself");
    assert!(value(&record, "restore_cpu") > 0.0, "nothing else ran in the restore");
}

#[test]
fn a_copy_that_begins_anew_for_ever_is_given_up() {
    let place = Place::new();
    let system = format!("{}\nsettings = {{ synchronous = \"OFF\" }}", place.sqlite());
    let failure = run(&place, &system, &format!("size_mib = 64\n{LOAD}")).unwrap_err();
    assert!(failure.to_string().contains("begun the copy anew"), "{failure}");
    assert!(failure.hint.unwrap().contains("WAL"));
}

#[test]
fn a_load_that_fails_fails_the_run() {
    let place = Place::new();
    let script = place.path().join("wrong.sql");
    std::fs::write(&script, "SELECT nothing FROM nowhere;\n").unwrap();
    let keys = format!("load = {{ script = {:?} }}", script.display().to_string());
    let failure = run(&place, &with_log(&place), &keys).unwrap_err();
    assert!(failure.to_string().contains("nowhere"), "{failure}");
}

#[test]
fn postgres_backs_up_beside_a_load_and_its_sender_can_be_held() {
    let place = Place::new();
    let keys = format!("codec = \"zstd\"\nlevel = 9\nwhere = \"server\"\n{LOAD}");
    let free = run(&place, POSTGRES, &keys).unwrap();
    assert!(value(&free, "throughput") > 0.0);
    assert!(missing(&free, "backup_cpu").contains("transactions beside it"));
    match run(&place, POSTGRES, &format!("{keys}\nbackup_cpu_percent = 20")) {
        Ok(held) => {
            // Whatever else runs here makes a free one longer, and a held one hardly.
            let held_time = value(&held, "backup_time");
            let mut shortest = value(&free, "backup_time");
            for _ in 0..5 {
                if held_time <= 1.5 * shortest {
                    shortest = shortest.min(value(&run(&place, POSTGRES, &keys).unwrap(), "backup_time"));
                }
            }
            assert!(held_time > 1.5 * shortest, "held {held_time} s, free {shortest} s");
            assert!(value(&held, "throughput") > 0.0, "the rest of the server is left alone");
        }
        Err(failure) => {
            assert_eq!(failure.kind, FailureKind::Unsupported);
            println!("skipped: {failure}");
        }
    }
    let other = format!("method = \"pg_basebackup\"\nbackup_cpu_percent = 20\n{LOAD}");
    assert!(run(&place, POSTGRES, &other).unwrap_err().hint.unwrap().contains("base-backup"));
}

#[test]
fn mariadb_is_dumped_beside_a_load() {
    let place = Place::new();
    let free = run(&place, "server = { engine = \"mariadb\" }", &format!("method = \"mariadb-dump\"\n{LOAD}")).unwrap();
    assert!(value(&free, "throughput") > 0.0);
}

#[test]
fn a_load_without_a_script_and_nothing_at_all_are_refused() {
    let place = Place::new();
    let refused = |keys: &str| place.refused(&place.sqlite(), keys);
    assert!(refused("method = \"none\"").to_string().contains("neither a backup nor a load"));
    assert!(refused("load = { clients = 3 }").hint.unwrap().contains("load.script"));
}
