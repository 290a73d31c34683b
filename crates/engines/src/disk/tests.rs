//! Files on the build's disk.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use host::target::Marker;
use model::{Length, MarkKind, OnError, Order, Point, Reading, RunRecord, RunState, Schedule, Value};
use tempfile::TempDir;

use super::*;
use load::observer::Silent;
use workloads::disk::DiskWorkload;
use workloads::transactions::Transactions;
use workloads::work::RunTask;
use workloads::workload::{Action, Grants, Task, Workload};

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn system(path: &Path, settings: &[(&str, &str)]) -> SystemPlan {
    SystemPlan {
        name: "d".to_owned(),
        engine: "disk".to_owned(),
        url: format!("disk:{}", path.display()),
        settings: settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect(),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    }
}

fn open(path: &Path) -> DiskSystem {
    DiskSystem::open_system(&OpenRequest::new(&system(path, &[]), Consent::OwnOnly)).unwrap()
}

fn refusal<T>(result: Result<T, Failure>) -> Failure {
    match result {
        Err(failure) => failure,
        Ok(_) => panic!("it is not refused"),
    }
}

/// 4 MiB by default.
fn task(pairs: &[(&str, Value)]) -> Task {
    let spec = DiskWorkload.spec();
    let mut point: Point = spec
        .keys
        .iter()
        .filter_map(|key| Some((key.name.to_owned(), key.default.and_then(model::Literal::to_value)?)))
        .collect::<BTreeMap<_, _>>();
    point.insert("size_mb".to_owned(), Value::Int(4));
    point.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    DiskWorkload.make_task(&point, &Grants::default()).unwrap()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Repeats until one is good: a short run on a busy machine may hold next to nothing.
fn until(system: &DiskSystem, task: &Task, is_good: impl Fn(&RunRecord) -> bool) -> RunRecord {
    let mut record = run(system, task).unwrap();
    for _ in 0..20 {
        if is_good(&record) {
            break;
        }
        record = run(system, task).unwrap();
    }
    record
}

/// 300 ms.
fn run(system: &DiskSystem, task: &Task) -> Result<RunRecord, Failure> {
    let Action::Stream(stream) = &task.action else { panic!("blocks are a stream") };
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::from_millis(50),
        length: Length::Duration(Duration::from_millis(300)),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    };
    system.prepare(&task.dataset)?;
    system.settle()?;
    let interrupt = AtomicBool::new(false);
    RunTask { system, task: stream, schedule: &schedule, seed: 7, interrupt: &interrupt }.run_here(&mut Silent)
}

fn reading(record: &RunRecord, id: &str) -> Reading {
    let found = record.measurements.iter().find(|m| m.metric.id == id);
    found.unwrap_or_else(|| panic!("no {id}")).reading.clone()
}

fn value(record: &RunRecord, id: &str) -> f64 {
    match reading(record, id) {
        Reading::Value(value) => value,
        Reading::Unavailable(reason) => panic!("no {id}: {reason}"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_has_rates_latencies_costs_and_the_devices_account() {
    let folder = folder();
    let system = open(&folder.path().join("made/inside"));
    let read = task(&[("threads", Value::Int(2)), ("depth", Value::Int(4))]);
    let record = until(&system, &read, |record| matches!(reading(record, "submission_p50"), Reading::Value(_)));
    assert_eq!(record.state, RunState::Measured);
    let iops = value(&record, "iops");
    assert!(iops > 0.0 && (value(&record, "bandwidth") - iops * 8192.0 / 1_048_576.0).abs() < 1e-6);
    assert!(value(&record, "latency_p50") > 0.0 && value(&record, "latency_max") >= value(&record, "latency_p50"));
    assert!(value(&record, "cpu_per_io") > 0.0 && value(&record, "submission_p50") > 0.0);
    assert!(value(&record, "submission_p50") < value(&record, "latency_p50"));
    // Little's law: always eight in flight; on a busy machine what ends after the run is over counts for more.
    let under_way = iops * value(&record, "latency_mean") / 1e6;
    assert!((6.0..10.0).contains(&under_way), "{under_way} under way");
    assert!(!record.series.is_empty());
    if host::disk::layers_of(folder.path()).is_ok() {
        assert!(value(&record, "device_read_share") > 0.95);
        assert!(value(&record, "extents") >= 1.0);
    }
    let written = task(&[
        ("op", text("write")),
        ("pattern", text("sequential")),
        ("cache", text("all")),
        ("fsync_every", Value::Int(2)),
    ]);
    let record = run(&system, &written).unwrap();
    assert_eq!(record.measurements[0].metric.id, "bandwidth", "sequential I/O is judged by bytes");
    assert!(value(&record, "syncs") > 0.0 && matches!(reading(&record, "device_read_share"), Reading::Unavailable(_)));
    let mixed = task(&[("op", text("mixed")), ("read_percent", Value::Int(50)), ("depth", Value::Int(4))]);
    let record = run(&system, &mixed).unwrap();
    assert!(value(&record, "iops_reads") > 0.0 && value(&record, "iops_writes") > 0.0);
    assert_eq!(names(&folder.path().join("made/inside")).len(), 3, "one file with its marker and its lock serves all");
    system.drop_all().unwrap();
    drop(system);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn what_a_cache_serves_carries_no_verdict() {
    let folder = folder();
    let system = open(folder.path());
    if host::disk::layers_of(folder.path()).is_err() {
        println!("skipped: the folder is on no device that this system shows");
        return;
    }
    // 64 blocks over and over: nearly all from the page cache.
    let read = task(&[("cache", text("all")), ("size_mb", Value::Int(1))]);
    let record = until(&system, &read, |record| record.marks.iter().any(|mark| mark.kind == MarkKind::ServedByCache));
    let mark = record.marks.iter().find(|mark| mark.kind == MarkKind::ServedByCache).unwrap();
    assert!(mark.kind.voids_verdict() && mark.detail.contains("a cache answered"), "{}", mark.detail);
    system.drop_all().unwrap();
}

#[test]
fn every_way_to_do_it_is_told() {
    let folder = folder();
    for (form, has_cpu) in [("blocking", false), ("null", true)] {
        let system = system(folder.path(), &[("io", form)]);
        let opened = DiskSystem::open_system(&OpenRequest::new(&system, Consent::OwnOnly)).unwrap();
        let facts = opened.facts().unwrap();
        assert!(facts.get("client.reactor").unwrap().contains(form), "{facts:?}");
        assert!(facts.get("data_directory.filesystem").is_some() && facts.durability().is_some());
        assert_eq!(facts.differences(&opened.facts().unwrap()), []);
        let record = run(&opened, &task(&[("depth", Value::Int(4))])).unwrap();
        assert_eq!(matches!(reading(&record, "cpu_per_io"), Reading::Value(_)), has_cpu, "{form}");
        opened.drop_all().unwrap();
    }
    let refused = |name, value| {
        let system = system(folder.path(), &[(name, value)]);
        refusal(DiskSystem::open_system(&OpenRequest::new(&system, Consent::OwnOnly)))
    };
    assert!(refused("io", "fast").cause.contains("auto, ring, blocking, null"));
    assert_eq!(refused("pollling", "device").hint.unwrap(), "did you mean `polling`?");
}

#[test]
fn a_rate_is_kept_and_response_counts_from_the_intended_start() {
    let folder = folder();
    let system = open(folder.path());
    let record = run(&system, &task(&[("rate", Value::Float(200.0)), ("depth", Value::Int(8))])).unwrap();
    assert!((150.0..=250.0).contains(&value(&record, "iops")), "{}", value(&record, "iops"));
    assert!(value(&record, "response_mean") >= value(&record, "latency_mean"));
    system.drop_all().unwrap();
}

#[test]
fn what_is_not_étalon_s_is_not_written_over() {
    let folder = folder();
    let path = folder.path().join("mine.dat");
    let mut bytes = vec![0; 4 << 20];
    host::blocks::Content::new(5).fill_next(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let opened = open(&path);
    let read = task(&[]);
    run(&opened, &read).unwrap();
    let write = task(&[("op", text("write"))]);
    let refused = refusal(run(&opened, &write));
    assert_eq!(refused.kind, FailureKind::NotOurs);
    assert!(refused.hint.unwrap().contains("--yes"));
    opened.drop_all().unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes, "it is as it was");
    assert!(Marker::read_marker(&path).is_none());
    let allowed = DiskSystem::open_system(&OpenRequest::new(&system(&path, &[]), Consent::DropForeign)).unwrap();
    run(&allowed, &write).unwrap();
    allowed.drop_all().unwrap();
    assert!(std::fs::read(&path).unwrap() != bytes, "it was written over, as was allowed, and is still there");
}

#[test]
fn a_target_that_would_fool_is_refused_with_the_reason() {
    let folder = folder();
    let path = folder.path().join("hollow.dat");
    std::fs::File::create(&path).unwrap().set_len(4 << 20).unwrap();
    let refused = refusal(run(&open(&path), &task(&[])));
    assert_eq!(refused.kind, FailureKind::Verification);
    assert!(refused.cause.contains("never written") || refused.cause.contains("compression"), "{refused}");
    std::fs::write(&path, vec![b'a'; 4 << 20]).unwrap();
    assert!(refusal(run(&open(&path), &task(&[]))).cause.contains("compression"));
}

#[test]
fn a_span_beyond_the_target_and_a_full_volume_show_before_anything_is_written() {
    let folder = folder();
    let system = open(folder.path());
    let refused = refusal(run(&system, &task(&[("span_mb", Value::Int(5))])));
    assert!(refused.cause.contains("it has 4.0 MiB, and 5.0 MiB are to be touched"), "{refused}");
    assert!(refused.hint.unwrap().contains("span_mb"));
    let refused = refusal(run(&system, &task(&[("size_mb", Value::Int(1_000_000_000))])));
    assert_eq!(refused.kind, FailureKind::DiskFull);
    assert!(refused.cause.contains("free"), "{refused}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn memory_has_no_direct_operations() {
    let shared = Path::new("/dev/shm");
    if !shared.exists() || !host::disk::is_memory_backed(shared).unwrap_or(false) {
        println!("skipped: /dev/shm is not in memory");
        return;
    }
    let folder = tempfile::tempdir_in(shared).unwrap();
    let system = open(folder.path());
    let refused = refusal(run(&system, &task(&[])));
    assert_eq!(refused.kind, FailureKind::Unsupported);
    assert!(refused.cause.contains("in memory (tmpfs)") && refused.hint.unwrap().contains("cache"));
    system.drop_all().unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn an_interrupted_making_leaves_nothing() {
    let folder = folder();
    let system = system(folder.path(), &[]);
    let request = OpenRequest::new(&system, Consent::OwnOnly);
    let opened = DiskSystem::open_system(&request).unwrap();
    request.interrupt.store(true, Ordering::Relaxed);
    let refused = refusal(opened.prepare(&task(&[("size_mb", Value::Int(64))]).dataset));
    assert!(refused.cause.contains("stopped"), "{refused}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn statements_and_blocks_do_not_mix() {
    let folder = folder();
    let system = open(folder.path());
    let point = Point::from([
        ("script".to_owned(), text("select-only")),
        ("clients".to_owned(), Value::Int(1)),
        ("scale".to_owned(), Value::Int(1)),
    ]);
    let task = Transactions.make_task(&point, &Grants::default()).unwrap();
    assert_ne!(task.load_kind(), system.load_kind());
    assert_eq!(refusal(system.prepare(&task.dataset)).kind, FailureKind::Unsupported);
}

/// A loop device with sectors of 4 KiB; removed when dropped.
struct Loop {
    device: String,
}

impl Loop {
    fn attach(image: &Path) -> Option<Loop> {
        std::fs::File::create(image).unwrap().set_len(16 << 20).unwrap();
        let output = Command::new("losetup").args(["--find", "--show", "--sector-size", "4096"]).arg(image).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(Loop { device: String::from_utf8(output.stdout).unwrap().trim().to_owned() })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

#[test]
fn a_device_is_taken_only_with_its_name_and_keeps_to_its_sectors() {
    let folder = folder();
    let Some(device) = Loop::attach(&folder.path().join("image")) else {
        println!("skipped: loop devices take root and losetup");
        return;
    };
    let path = PathBuf::from(&device.device);
    let system = system(&path, &[]);
    let mut request = OpenRequest::new(&system, Consent::DropForeign);
    let refused = refusal(DiskSystem::open_system(&request));
    assert_eq!(refused.kind, FailureKind::NotOurs);
    assert!(refused.hint.unwrap().contains(&format!("--i-will-lose-the-data-on {}", device.device)));
    request.forfeited = vec![PathBuf::from("/dev/null")];
    assert!(refusal(DiskSystem::open_system(&request)).cause.contains("another device"));
    request.forfeited = vec![path];
    let opened = DiskSystem::open_system(&request).unwrap();
    let write = task(&[("op", text("write")), ("block_kb", Value::Int(4))]);
    assert!(value(&run(&opened, &write).unwrap(), "iops") > 0.0);
    let refused = refusal(run(&opened, &task(&[("op", text("write")), ("block_kb", Value::Int(1))])));
    assert_eq!(refused.kind, FailureKind::Unsupported);
    assert!(refused.cause.contains("unsupported") && refused.cause.contains("multiples of 4096"), "{refused}");
    opened.drop_all().unwrap();
}
