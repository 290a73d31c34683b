//! `BASE_BACKUP` by étalon's own client against `pg_basebackup`: on the same server and disk, interleaved.
//!
//! Run by `cargo xtask test --slow`. A debug build will do: étalon's client does little per byte.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use conductor::Registry;
use model::Plan;
use workloads::backup::backups::{BackupRequest, BackupScope, Compressor};
use workloads::backup::codec::Compression;
use workloads::backup::meter::Meter;
use workloads::system::{Consent, OpenRequest, System};
use workloads::workload::{Action, Grants};

const PAIRS: usize = 12;
/// Relative to the program's speed.
const LEAST_SPEED: f64 = 0.97;

/// Elapsed and CPU seconds of the client of one backup.
fn once(system: &dyn System, base: &Path, method: &str, codec: &str) -> (f64, f64) {
    let scratch = tempfile::tempdir_in(base).unwrap();
    let [folder, work] = ["taken", "work"].map(|name| scratch.path().join(name));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&work).unwrap();
    let interrupt = AtomicBool::new(false);
    let request = BackupRequest {
        method,
        compression: Compression::new(codec, 0, 0).unwrap(),
        compressor: Compressor::Server,
        max_rate_bytes_s: None,
        bounds: &host::process::Bounds::default(),
        scope: BackupScope::OwnDatabase,
        tables: workloads::dataset::Tables::Own,
        folder: &folder,
        work: &work,
        server_side: workloads::backup::backups::ServerSide::default(),
        interrupt: &interrupt,
    };
    let mut meter = Meter::default();
    let taken = system.backups().unwrap().back_up(&request, &mut meter).unwrap();
    assert!(taken.file.metadata().unwrap().len() > 1 << 20);
    // Étalon's own process only waits for the program.
    let cpu_s = match method {
        "pg_basebackup" => meter.tools_cpu_s.clone().unwrap().unwrap(),
        _ => meter.own_cpu_s,
    };
    (meter.elapsed_s(), cpu_s)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[values.len() / 2], values[(values.len() - 1) / 2])
}

#[test]
fn our_base_backup_is_as_fast_as_the_program_and_takes_no_more_cpu() {
    if !crate::slow::is_slow() {
        println!("skipped: ETALON_SLOW=1 runs it");
        return;
    }
    let base = Path::new("/var/tmp");
    let registry = Registry::built_in();
    let text = format!(
        "[systems.it]\nserver = {{ engine = \"postgres\", bin_dir = {:?} }}\n[[benchmarks]]\nworkload = \"backup\"\n\
         size_mib = 256\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"1s\"\n",
        crate::server::programs().display().to_string()
    );
    let changes = model::plan::Changes::default();
    let (plan, _) = Plan::parse(&text, "test.toml", &changes, &registry.catalog(), 1).unwrap();
    let system = registry.open_system(&OpenRequest::new(&plan.systems[0], Consent::OwnOnly)).unwrap();
    let task = registry.workload("backup").unwrap().make_task(&plan.cases()[0].point, &Grants::default()).unwrap();
    assert!(matches!(task.action, Action::Step(_)));
    system.prepare(&task.dataset).unwrap();
    system.settle().unwrap();
    let mut misses = Vec::new();
    for codec in ["none", "zstd"] {
        // The first one of each reads the files into memory.
        once(&*system, base, "base-backup", codec);
        let (mut speeds, mut cpus) = (Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            let methods = ["base-backup", "pg_basebackup"];
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            let mut figures = [(0.0, 0.0); 2];
            for which in order {
                figures[which] = once(&*system, base, methods[which], codec);
            }
            speeds.push(figures[1].0 / figures[0].0);
            cpus.push(figures[0].1 / figures[1].1);
        }
        let (speed, cpu) = (median(speeds), median(cpus));
        println!("{codec}: {speed:.3} of pg_basebackup's speed, {cpu:.3} of its CPU time, medians of {PAIRS} pairs");
        if speed < LEAST_SPEED || cpu > 1.0 {
            misses.push(codec);
        }
    }
    system.drop_all().unwrap();
    assert!(misses.is_empty(), "missed: {misses:?}");
}
