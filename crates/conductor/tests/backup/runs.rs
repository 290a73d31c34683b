//! Backups and restores on SQLite and on private servers; what goes wrong, and that nothing stays behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use conductor::Registry;
use load::error::{Failure, FailureKind};
use load::observer::Silent;
use model::{Plan, Reading, RunRecord};
use workloads::backup::backups::{BackupRequest, BackupScope, Compressor};
use workloads::backup::codec::Compression;
use workloads::backup::meter::Meter;
use workloads::step::{self, StepContext};
use workloads::system::{Consent, OpenRequest, System};
use workloads::workload::{Action, Grants};

use crate::releases::folders_of;

/// Keeps everything of a test in one folder, to see what stays behind.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::Builder::new().prefix("etalon-backup-test-").tempdir().unwrap();
        let status = Command::new("chmod").arg("0755").arg(folder.path()).status().unwrap();
        assert!(status.success());
        Place(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn plan(&self, system: &str, keys: &str) -> Plan {
        let folder = self.path().join("backups");
        let size = if keys.contains("size_mib") { "" } else { "size_mib = 2\n" };
        let text = format!(
            "[systems.it]\n{system}\n[[benchmarks]]\nworkload = \"backup\"\n{size}folder = {:?}\n{keys}\n\
             [schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"1s\"\n",
            folder.display().to_string()
        );
        let changes = model::plan::Changes::default();
        Plan::parse(&text, "test.toml", &changes, &Registry::built_in().catalog(), 1)
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
            .0
    }

    /// Why a case is refused before anything runs.
    pub fn refused(&self, system: &str, keys: &str) -> Failure {
        let point = self.plan(system, keys).cases()[0].point.clone();
        Registry::built_in().workload("backup").unwrap().make_task(&point, &Grants::default()).unwrap_err()
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path().join("backups")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub fn sqlite(&self) -> String {
        format!("url = {:?}", format!("sqlite:{}", self.path().join("data.db").display()))
    }
}

fn open(plan: &Plan) -> Box<dyn System> {
    let request = OpenRequest::new(&plan.systems[0], Consent::OwnOnly);
    Registry::built_in().open_system(&request).unwrap_or_else(|failure| panic!("{failure}"))
}

fn run_on(system: &dyn System, plan: &Plan, interrupt: &AtomicBool) -> Result<RunRecord, Failure> {
    let case = &plan.cases()[0];
    let task = Registry::built_in().workload("backup").unwrap().make_task(&case.point, &Grants::default()).unwrap();
    let Action::Step(procedure) = &task.action else { panic!("a backup is a step") };
    system.prepare(&task.dataset).unwrap_or_else(|failure| panic!("{failure}"));
    system.settle().unwrap();
    let mut context = StepContext { system, schedule: &plan.schedule, seed: 1, interrupt, observer: &mut Silent };
    step::run_step(&**procedure, &mut context)
}

/// A plan's only run, from its system's start to its end.
pub fn run(place: &Place, system: &str, keys: &str) -> Result<RunRecord, Failure> {
    let plan = place.plan(system, keys);
    let opened = open(&plan);
    let record = run_on(&*opened, &plan, &AtomicBool::new(false));
    opened.drop_all().unwrap();
    assert_eq!(place.left(), Vec::<PathBuf>::new(), "nothing stays behind");
    record
}

pub fn value(record: &RunRecord, metric: &str) -> f64 {
    match record.measurements.iter().find(|one| one.metric.id == metric).map(|one| &one.reading) {
        Some(Reading::Value(value)) => *value,
        other => panic!("{metric}: {other:?}"),
    }
}

pub fn missing(record: &RunRecord, metric: &str) -> String {
    match record.measurements.iter().find(|one| one.metric.id == metric).map(|one| &one.reading) {
        Some(Reading::Unavailable(why)) => why.to_string(),
        other => panic!("{metric}: {other:?}"),
    }
}

fn assert_whole(record: &RunRecord) {
    assert_eq!(value(record, "rows_verified") as u64, (2 << 20) / 560);
    assert!(value(record, "source_size") > 1e6);
    for metric in ["backup_rate", "restore_rate", "backup_time", "restore_time"] {
        assert!(value(record, metric) > 0.0, "{metric}");
    }
    let parts: f64 = ["data", "log", "undo", "other"]
        .iter()
        .filter_map(|class| record.measurements.iter().find(|one| one.metric.id == format!("source_size/{class}")))
        .map(|one| if let Reading::Value(bytes) = one.reading { bytes } else { 0.0 })
        .sum();
    // Headers of the archive are in no class.
    assert!(parts > 0.9 * value(record, "source_size") && parts <= value(record, "source_size"), "{parts}");
    let grown: Vec<f64> = (0..=100).step_by(5).map(|share| value(record, &format!("backup_file/{share:03}"))).collect();
    assert!(grown[20] >= value(record, "backup_size"), "{grown:?}");
}

#[test]
fn sqlite_by_every_codec_and_method() {
    let place = Place::new();
    let mut sizes = Vec::new();
    for codec in ["none", "gzip", "lz4", "zstd"] {
        let record = run(&place, &place.sqlite(), &format!("codec = \"{codec}\"")).unwrap();
        assert_whole(&record);
        assert!(missing(&record, "backup_cpu/server").contains("inside étalon"));
        assert!(value(&record, "backup_cpu") > 0.0);
        if codec == "none" {
            assert_eq!(missing(&record, "backup_cpu/compressor"), "nothing compresses");
            assert_eq!(value(&record, "saving"), 0.0);
        } else {
            assert!(value(&record, "backup_cpu/compressor") > 0.0, "{codec}");
            assert!((value(&record, "saving/data") - value(&record, "saving")).abs() < 1.0);
        }
        sizes.push(value(&record, "backup_size"));
    }
    assert!(sizes[0] > 3.0 * sizes[2] && sizes[2] > sizes[3], "none, gzip, lz4, zstd: {sizes:?}");
    assert_whole(&run(&place, &place.sqlite(), "codec = \"zstd\"\nlevel = 9\nworkers = 2").unwrap());
    assert_whole(&run(&place, &place.sqlite(), "method = \"vacuum-into\"").unwrap());
    assert!(!place.path().join("data.db").exists());
}

#[test]
fn a_rate_is_held() {
    let place = Place::new();
    let record = run(&place, &place.sqlite(), "codec = \"none\"\nmax_rate_mib_s = 4").unwrap();
    let rate = value(&record, "backup_rate");
    // The first round comes at once, and there are few.
    assert!((2.0..=4.6).contains(&rate), "{rate} MiB/s");
    let held = run(&place, &place.sqlite(), "restore_max_rate_mib_s = 4").unwrap();
    let rate = value(&held, "restore_rate");
    assert!((2.0..=4.6).contains(&rate), "{rate} MiB/s");
    let refused = run(&place, &place.sqlite(), "method = \"vacuum-into\"\nmax_rate_mib_s = 4").unwrap_err();
    assert_eq!(refused.kind, FailureKind::Unsupported);
}

#[test]
fn what_an_engine_does_not_have_is_refused_by_name() {
    let place = Place::new();
    let refused = |keys| run(&place, &place.sqlite(), keys).unwrap_err();
    let other = refused("method = \"base-backup\"");
    assert!(other.to_string().contains("not a way to back up SQLite"), "{other}");
    assert!(other.hint.unwrap().contains("`vacuum-into`"));
    assert!(refused("where = \"server\"").to_string().contains("neither server nor program"));
}

/// A mounted tmpfs, unmounted on drop, also by a panic.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`, with the reason printed, if it cannot be mounted.
    fn mount(folder: &Path, size: &str) -> Option<SmallDisk> {
        fs::create_dir(folder).unwrap();
        let options = format!("size={size},mode=0755");
        match Command::new("mount").args(["-t", "tmpfs", "-o", &options, "etalon-test"]).arg(folder).status() {
            Ok(status) if status.success() => Some(SmallDisk(folder.to_owned())),
            other => {
                println!("skipped: cannot mount a small file system: {other:?}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_fills_leaves_no_half_backup() {
    let place = Place::new();
    let Some(_disk) = SmallDisk::mount(&place.path().join("backups"), "1m") else { return };
    for keys in ["codec = \"none\"", "method = \"vacuum-into\""] {
        let failure = run(&place, &place.sqlite(), keys).unwrap_err();
        assert_eq!(failure.kind, FailureKind::DiskFull, "{keys}: {failure}");
        assert!(failure.hint.unwrap().contains("`folder`"));
    }
    for keys in [
        "codec = \"none\"",
        "codec = \"zstd\"\ncompressible = 0",
        "codec = \"zstd\"\nwhere = \"server\"\ncompressible = 0",
    ] {
        let failure = run(&place, "server = { engine = \"postgres\" }", keys).unwrap_err();
        assert_eq!(failure.kind, FailureKind::DiskFull, "{keys}: {failure}");
        assert!(failure.to_string().contains("write the backup"), "{failure}");
        assert!(failure.hint.unwrap().contains("`folder`"));
    }
}

#[test]
fn a_backup_that_is_damaged_is_not_taken_for_restored() {
    let place = Place::new();
    let plan = place.plan(&place.sqlite(), "");
    let system = open(&plan);
    run_on(&*system, &plan, &AtomicBool::new(false)).unwrap();
    let [taken, work, restored] = ["t", "w", "r"].map(|name| {
        fs::create_dir(place.path().join(name)).unwrap();
        place.path().join(name)
    });
    let interrupt = AtomicBool::new(false);
    let request = BackupRequest {
        method: "native",
        compression: Compression::new("zstd", 0, 0).unwrap(),
        compressor: Compressor::Own,
        max_rate_bytes_s: None,
        bounds: &host::process::Bounds::default(),
        scope: BackupScope::OwnDatabase,
        tables: workloads::dataset::Tables::Own,
        folder: &taken,
        work: &work,
        server_side: workloads::backup::backups::ServerSide::default(),
        interrupt: &interrupt,
    };
    let backups = system.backups().unwrap();
    let backup = backups.back_up(&request, &mut Meter::default()).unwrap();
    let mut bytes = fs::read(&backup.file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&backup.file, &bytes).unwrap();
    let into = BackupRequest { folder: &restored, ..request };
    let failure = backups.restore(&backup, &into, &mut Meter::default()).err().expect("a damaged backup is refused");
    assert!(failure.to_string().contains("read the backup"), "{failure}");
    drop(backups);
    system.drop_all().unwrap();
}

#[test]
fn an_interrupted_backup_is_no_run_and_leaves_nothing() {
    let place = Place::new();
    let plan = place.plan(&place.sqlite(), "");
    let system = open(&plan);
    let interrupt = AtomicBool::new(true);
    let record = run_on(&*system, &plan, &interrupt).unwrap();
    assert_eq!(record.state, model::RunState::Aborted);
    assert!(place.left().is_empty());
    interrupt.store(false, Ordering::Relaxed);
    assert_whole(&run_on(&*system, &plan, &interrupt).unwrap());
    system.drop_all().unwrap();
}

pub const POSTGRES: &str = "server = { engine = \"postgres\" }";

#[test]
fn postgres_compressed_by_server_program_and_etalon() {
    let place = Place::new();
    let own = run(&place, POSTGRES, "codec = \"zstd\"").unwrap();
    let server = run(&place, POSTGRES, "codec = \"zstd\"\nwhere = \"server\"").unwrap();
    for record in [&own, &server] {
        assert_whole(record);
        assert!(value(record, "backup_cpu/server") > 0.0);
        assert!(value(record, "saving") > 50.0);
        assert!(value(record, "source_size/log") >= 16e6, "a segment of the log");
        assert!(value(record, "zero_pages/log") > 0.0);
    }
    assert!(value(&own, "backup_cpu/compressor") > 0.0);
    assert!(missing(&server, "backup_cpu/compressor").contains("the server's"));
    assert_whole(&run(&place, POSTGRES, "codec = \"lz4\"\nwhere = \"server\"\nmax_rate_mib_s = 64").unwrap());
    assert_whole(&run(&place, POSTGRES, "codec = \"gzip\"\nwhere = \"client\"\nmethod = \"pg_basebackup\"").unwrap());
    let refused = run(&place, POSTGRES, "where = \"client\"").unwrap_err();
    assert!(refused.hint.unwrap().contains("pg_basebackup"));
    let tcp = "server = { engine = \"postgres\", connect = \"tcp\" }";
    assert_whole(&run(&place, tcp, "codec = \"none\"").unwrap());
}

#[test]
fn a_server_that_is_held_compresses_more_slowly() {
    let place = Place::new();
    let refused = run(&place, &place.sqlite(), "server_cpu_percent = 20").unwrap_err();
    assert_eq!(refused.kind, FailureKind::Unsupported);
    let keys = "codec = \"zstd\"\nlevel = 9\nwhere = \"server\"";
    let mut times_s = Vec::new();
    // Other programs may hold the free one back.
    while times_s.len() < 4 && times_s.iter().all(|(held, free)| held <= free) {
        let free = run(&place, POSTGRES, keys).unwrap();
        match run(&place, POSTGRES, &format!("{keys}\nserver_cpu_percent = 20")) {
            Ok(held) => {
                assert_whole(&held);
                let share = value(&held, "backup_cpu/server") / value(&held, "backup_time");
                assert!(share < 0.35, "{share} of a core");
                times_s.push((value(&held, "backup_time"), value(&free, "backup_time")));
            }
            Err(failure) => {
                assert_eq!(failure.kind, FailureKind::Unsupported);
                return println!("skipped: {failure}");
            }
        }
    }
    assert!(times_s.iter().any(|(held, free)| held > free), "{times_s:?}");
}

#[test]
fn a_server_of_others_is_copied_only_if_the_plan_says_so() {
    let server = crate::server::Server::start(&[]);
    let place = Place::new();
    let user = format!("{}@/postgres?host={}", crate::server::ROLE, server.folder().display());
    let system = format!("url = {:?}", format!("postgres://{user}"));
    let refused = run(&place, &system, "").unwrap_err();
    assert_eq!(refused.kind, FailureKind::NotOurs, "{refused}");
    assert!(refused.hint.unwrap().contains("whole_server = true"));
    let record = run(&place, &system, "whole_server = true").unwrap();
    assert_eq!(value(&record, "rows_verified") as u64, (2 << 20) / 560);
    assert!(missing(&record, "backup_cpu").contains("not étalon's own"));
    // A role that may make tables but not copy a server is told what it lacks.
    let host = server.folder().display().to_string();
    let admin = format!("host={host} user={} dbname=postgres", crate::server::ROLE);
    let make = "CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain";
    let made = Command::new(crate::server::programs().join("psql")).args(["-X", "-c", make, &admin]).status();
    assert!(made.unwrap().success());
    let system = format!("url = {:?}", format!("postgres://plain@/postgres?host={host}"));
    let refused = run(&place, &system, "whole_server = true").unwrap_err();
    assert_eq!(refused.kind, FailureKind::Permission, "{refused}");
    assert!(refused.hint.unwrap().contains("ALTER ROLE plain REPLICATION"));
}

fn programs_with(place: &Place, replaced: &[(&str, &str)]) -> String {
    let folder = place.path().join("bin");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(crate::server::programs()).unwrap() {
        let real = entry.unwrap().path();
        let link = folder.join(real.file_name().unwrap());
        let name = real.file_name().unwrap().to_string_lossy().into_owned();
        match replaced.iter().find(|(other, _)| *other == name) {
            Some((_, script)) => {
                let script = script.replace("REAL", &fs::canonicalize(&real).unwrap().display().to_string());
                fs::write(&link, format!("#!/bin/sh\n{script}\n")).unwrap();
                assert!(Command::new("chmod").arg("0755").arg(&link).status().unwrap().success());
            }
            None => std::os::unix::fs::symlink(&real, &link).unwrap(),
        }
    }
    format!("server = {{ engine = \"postgres\", bin_dir = {:?} }}", folder.display().to_string())
}

#[test]
fn a_program_that_fails_half_way_is_quoted() {
    let place = Place::new();
    let script = "echo half; echo 'pg_basebackup: error: could not receive data from WAL stream: broken' >&2; exit 1";
    let system = programs_with(&place, &[("pg_basebackup", script)]);
    for keys in ["codec = \"none\"", "codec = \"zstd\""] {
        let failure = run(&place, &system, &format!("{keys}\nmethod = \"pg_basebackup\"")).unwrap_err();
        assert!(failure.to_string().contains("it failed: pg_basebackup: error: could not receive data"), "{failure}");
    }
}

#[test]
fn a_server_that_dies_in_a_restore_is_told_and_removed() {
    let place = Place::new();
    let script = "for word; do last=$folder; folder=$word; [ \"$last\" = -D ] && data=$word; done\n\
                  if [ -f \"$data/backup_label\" ]; then echo 'PANIC:  it died in the restore' >&2; kill -9 $$; fi\n\
                  exec REAL \"$@\"";
    let system = programs_with(&place, &[("postgres", script)]);
    let failure = run(&place, &system, "").unwrap_err();
    assert!(failure.to_string().contains("start the private server"), "{failure}");
    assert!(failure.to_string().contains("it died in the restore"), "{failure}");
    assert!(failure.to_string().contains("it was killed (signal: 9"), "{failure}");
}

const MARIADB: &str = "server = { engine = \"mariadb\" }";
const ENCRYPTED: &str = "server = { engine = \"mariadb\" }\nsettings = { plugin_load_add = \"file_key_management\", \
                         innodb_encrypt_tables = \"FORCE\", innodb_encrypt_log = true }";

fn has_mariadb_backup() -> bool {
    let found = workloads::backup::tool::find_program("mariadb-backup", &[], "").is_ok();
    if !found {
        println!("skipped: mariadb-backup is not installed");
    }
    found
}

#[test]
fn mariadb_by_its_dump() {
    let place = Place::new();
    let record = run(&place, MARIADB, "method = \"mariadb-dump\"").unwrap();
    assert_whole(&record);
    assert!(value(&record, "backup_cpu/client") > 0.0);
    let refused = run(&place, MARIADB, "where = \"server\"").unwrap_err();
    assert_eq!(refused.kind, FailureKind::Unsupported);
}

#[test]
fn mariadb_by_its_files_plain_and_encrypted() {
    if !has_mariadb_backup() {
        let missing = run(&Place::new(), MARIADB, "method = \"mariadb-backup\"").unwrap_err();
        assert_eq!(missing.kind, FailureKind::Missing, "{missing}");
        assert!(missing.hint.unwrap().contains("apt install mariadb-backup"));
        // The second choice must be reported as one.
        let record = run(&Place::new(), MARIADB, "").unwrap();
        assert!(record.marks.iter().any(|mark| mark.detail.contains("second choice")), "{:?}", record.marks);
        return;
    }
    let place = Place::new();
    let plain = run(&place, MARIADB, "method = \"mariadb-backup\"").unwrap();
    let encrypted = run(&place, ENCRYPTED, "method = \"mariadb-backup\"").unwrap();
    for record in [&plain, &encrypted] {
        assert_whole(record);
        assert!(value(record, "restore_time/prepare") > 0.0);
    }
    // Encrypted data does not compress, except unused pages and the server's own tables, which are older than the keys
    // and a large part of so small a server.
    let [plain, encrypted] = [&plain, &encrypted].map(|record| value(record, "saving_without_zero_pages/data"));
    assert!(plain > 60.0 && encrypted < 30.0, "{plain} % and {encrypted} % saved");
}

fn of_release(engine: &str, folder: &str) -> String {
    format!("server = {{ engine = \"{engine}\", bin_dir = {folder:?} }}")
}

/// By the dump: of its release there is no program that copies files.
#[test]
fn mysql_by_its_dump() {
    for folder in folders_of("mysql") {
        let place = Place::new();
        let mysql = of_release("mysql", &folder);
        for keys in ["codec = \"zstd\"", "method = \"mysqldump\""] {
            let record = run(&place, &mysql, keys).unwrap();
            assert_whole(&record);
            assert!(!record.marks.iter().any(|mark| mark.detail.contains("second choice")), "{:?}", record.marks);
        }
        for method in ["mariadb-backup", "mariadb-dump"] {
            let refused = run(&place, &mysql, &format!("method = \"{method}\"")).unwrap_err();
            assert_eq!(refused.kind, FailureKind::Unsupported, "{refused}");
            assert!(refused.hint.as_ref().is_some_and(|hint| hint.contains("mysqldump")), "{refused:?}");
        }
    }
}

/// Debian's `mariadb-backup` is not of that release, and would read files of another form.
#[test]
fn another_mariadb_is_dumped_where_the_program_of_its_release_is_missing() {
    for folder in folders_of("mariadb") {
        let place = Place::new();
        let mariadb = of_release("mariadb", &folder);
        let record = run(&place, &mariadb, "").unwrap();
        assert_whole(&record);
        assert!(record.marks.iter().any(|mark| mark.detail.contains("second choice")), "{:?}", record.marks);
        let missing = run(&place, &mariadb, "method = \"mariadb-backup\"").unwrap_err();
        assert_eq!(missing.kind, FailureKind::Missing, "{missing}");
        assert!(missing.hint.unwrap().contains("mariadb-dump"));
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_key_file_that_is_lost_is_named_and_nothing_is_left() {
    let place = Place::new();
    let servers = place.path().join("servers");
    fs::create_dir(&servers).unwrap();
    let plan = place.plan(ENCRYPTED, "method = \"mariadb-dump\"");
    let request =
        OpenRequest { scratch_base: Some(servers.clone()), ..OpenRequest::new(&plan.systems[0], Consent::OwnOnly) };
    let system = Registry::built_in().open_system(&request).unwrap_or_else(|failure| panic!("{failure}"));
    let is_key = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("key"));
    let keys: Vec<PathBuf> = files_below(&servers).into_iter().filter(is_key).collect();
    assert!(!keys.is_empty(), "{:?}", files_below(&servers));
    keys.iter().for_each(|key| fs::remove_file(key).unwrap());
    let failure = run_on(&*system, &plan, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Missing, "{failure}");
    assert!(failure.to_string().contains("read the key file"), "{failure}");
    assert_eq!(place.left(), Vec::<PathBuf>::new());
    system.drop_all().unwrap();
    assert_eq!(files_below(&servers), Vec::<PathBuf>::new(), "neither server nor key stays behind");
}
