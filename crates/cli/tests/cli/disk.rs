//! Disk plans: files, volumes and devices, and what must never stay behind.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command};

use crate::scene::{Ran, Scene};

const SMALL: [&str; 8] = [
    "--set",
    "benchmarks.*.size_mb=8",
    "--set",
    "schedule.rounds=1",
    "--set",
    "schedule.warmup=10ms",
    "--set",
    "schedule.duration=400ms",
];

const VOLUME: &str = r#"
    [systems.small]
    volume = { image = "images/small.img", size = "128M", fs = "ext4", cluster = 4096 }
    [systems.large]
    volume = { image = "images/large.img", size = "128M", fs = "ext4", cluster = 65536 }
    [[benchmarks]]
    workload = "disk"
    size_mb = 4
    layout = ["fresh", "fragmented"]
    [schedule]
    rounds = 1
    warmup = "10ms"
    duration = "100ms"
"#;

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Prints the reason if not.
fn may_make_volumes() -> bool {
    let may = host::process::is_root() && Path::new("/dev/loop-control").exists();
    if !may {
        eprintln!("skipped: volumes take root and loop devices");
    }
    may
}

fn is_missing(ran: &Ran) -> bool {
    let missing = ["not installed", "the kernel has no", "may not", "no loop device"];
    let is_missing = ran.code != 0 && missing.iter().any(|reason| ran.stderr.contains(reason));
    if is_missing {
        eprintln!("skipped: {}", ran.stderr);
    }
    is_missing
}

#[test]
fn every_built_in_disk_plan_runs_and_leaves_nothing() {
    let scene = Scene::new();
    for (plan, rows) in [
        ("sqlserver-disk", ["random_R_512KB", "sequential_W_8KB"]),
        ("postgres-disk", ["read-ahead", "checkpoint"]),
        ("innodb-disk", ["doublewrite", "redo-log"]),
        ("sqlite-disk", ["rollback-journal", "wal"]),
    ] {
        let mut args = vec!["run", plan, "--quick", "--target", "there"];
        args.extend(SMALL);
        if plan == "sqlserver-disk" {
            args.extend(["--set", "benchmarks.*.threads=2", "--set", "benchmarks.*.depth=[1, 4]"]);
        }
        let ran = scene.etalon(&args);
        // A disk with sectors of 4 KB takes no blocks of 1 KB past the page cache, and the plan goes on.
        assert!(ran.code == 0 || ran.stderr.contains("unsupported"), "{plan}: {}", ran.stderr);
        assert!(rows.iter().all(|row| ran.stdout.contains(row)), "{plan}: {}", ran.stdout);
        let stores = names(&scene.path().join("etalon-results"));
        let store = stores.iter().find(|name| name.starts_with(plan) && name.ends_with(".etalon")).unwrap();
        crate::glance::check(&scene, &format!("etalon-results/{store}"), plan);
        assert_eq!(names(scene.path()), ["etalon-results"], "{plan}");
    }
}

#[test]
fn volumes_are_made_compared_and_removed() {
    let scene = Scene::new();
    if !may_make_volumes() {
        return;
    }
    let ran = scene.write("p.toml", VOLUME).etalon(&["run", "p.toml"]);
    if is_missing(&ran) {
        return;
    }
    ran.says(0, &["layout=fragmented @ large"]);
    assert!(ran.stdout.contains("volume.cluster (4096 | 65536)"), "{}", ran.stdout);
    assert!(!scene.path().join("images").exists(), "the images' folder was made, and is removed");
    let plan = scene.etalon(&["plan", "p.toml", "--target", "elsewhere"]);
    assert!(plan.stdout.contains("volume ext4 in elsewhere/large.img, clusters of 64 KiB"), "{}", plan.stdout);
}

/// Starts a long run on volumes and waits for its first run. `None` if volumes cannot be made.
fn under_way(scene: &Scene) -> Option<Child> {
    scene.write("p.toml", &VOLUME.replace("100ms", "500ms").replace("rounds = 1", "rounds = 100"));
    let mut child = scene.start(&["run", "p.toml"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while stderr.read_line(&mut line).unwrap() > 0 && !line.contains("round 1: ") {}
    if line.contains("round 1: ") {
        // Drains the pipe so that the run never blocks.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        return Some(child);
    }
    eprintln!("skipped: {line}");
    child.wait().unwrap();
    None
}

fn is_mounted(scene: &Scene) -> bool {
    // `/sys` names the loop device's file.
    let image = scene.path().join("images/small.img");
    let image = std::fs::canonicalize(&image).unwrap_or(image);
    let devices = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
    let files = devices.filter_map(|device| std::fs::read_to_string(device.join("loop/backing_file")).ok());
    files.map(|file| file.trim().to_owned()).any(|file| Path::new(&file) == image)
}

#[test]
fn ctrl_c_removes_volumes() {
    let scene = Scene::new();
    if !may_make_volumes() {
        return;
    }
    let Some(mut child) = under_way(&scene) else { return };
    assert!(is_mounted(&scene));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!is_mounted(&scene) && !scene.path().join("images").exists());
    // The volumes are made anew with equal facts, and the missing runs follow.
    let resumed = resume_shortly(&scene);
    assert!(resumed.stdout.contains("volume.cluster (4096 | 65536)"), "{}{}", resumed.stdout, resumed.stderr);
    assert!(!is_mounted(&scene) && !scene.path().join("images").exists());
}

/// Resumes the only experiment and interrupts it after a few more of its hundreds of runs.
fn resume_shortly(scene: &Scene) -> Ran {
    let store = scene.store().display().to_string();
    let before = measured(scene, &store);
    let mut child = scene.start(&["resume", &store, "--only-pending"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let (mut line, mut all, mut runs) = (String::new(), String::new(), 0);
    while runs < 4 && stderr.read_line(&mut line).unwrap() > 0 {
        runs += usize::from(line.starts_with("round "));
        all.push_str(&line);
        line.clear();
    }
    assert_eq!(runs, 4, "{all}");
    assert!(is_mounted(scene));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    stderr.read_to_string(&mut all).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{all}");
    assert!(measured(scene, &store) >= before + 4, "{all}");
    scene.etalon(&["compare", &store])
}

fn measured(scene: &Scene, store: &str) -> usize {
    let ran = scene.etalon(&["--json", "compare", store]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    json["experiment"]["runs"]["measured"].as_u64().unwrap() as usize
}

#[test]
fn the_next_start_removes_what_a_killed_run_left() {
    let scene = Scene::new();
    if !may_make_volumes() {
        return;
    }
    let Some(mut child) = under_way(&scene) else { return };
    child.kill().unwrap();
    child.wait().unwrap();
    let next = Scene::new();
    next.write("p.toml", &crate::scene::sim_plan("", "", "rounds = 1\nwarmup = \"10ms\"\nduration = \"100ms\""));
    next.etalon(&["run", "p.toml"]).says(0, &[]);
    assert!(!is_mounted(&scene));
    assert_eq!(names(&scene.path().join("images")), [""; 0]);
    resume_shortly(&scene);
    assert!(!is_mounted(&scene));
    assert_eq!(names(&scene.path().join("images")), [""; 0]);
}

const ONE: &str = "[systems.d]\nurl = \"disk:there\"\n\n[[benchmarks]]\nworkload = \"disk\"\nsize_mb = 4\ndepth = 4\n\n\
                   [schedule]\nrounds = 1\nwarmup = \"10ms\"\nduration = \"100ms\"\n";

/// Runs `etalon run p.toml` through a program that restricts it. `None` without such a program or permission.
fn run_by(scene: &Scene, plan: &str, program: &str, args: &[&str], further: &[&str]) -> Option<Ran> {
    let etalon = scene.write("p.toml", plan).command(&[]);
    let mut command = Command::new(program);
    command.args(args).arg(etalon.get_program()).args(["run", "p.toml"]).args(further).current_dir(scene.path());
    let Ok(output) = command.env("NO_COLOR", "1").output() else {
        eprintln!("skipped: there is no `{program}`");
        return None;
    };
    let ran = crate::scene::ran(output);
    let is_refused = ["PTRACE", "not permitted", "nvalid", "unsupported"].iter().any(|why| ran.stderr.contains(why));
    if ran.code != 0 && is_refused && !ran.stderr.contains("error: ") {
        eprintln!("skipped: {}", ran.stderr);
        return None;
    }
    Some(ran)
}

#[test]
fn a_run_goes_on_without_io_uring_and_says_so() {
    if !Path::new("/proc/sys/kernel/io_uring_disabled").exists() {
        eprintln!("skipped: this kernel has no io_uring to be forbidden");
        return;
    }
    let scene = Scene::new();
    // Like a container's profile.
    let forbid = ["-f", "-qq", "-e", "trace=io_uring_setup", "-e", "inject=io_uring_setup:error=EPERM", "-o", "calls"];
    let Some(ran) = run_by(&scene, ONE, "strace", &forbid, &[]) else { return };
    ran.says(0, &["reactor: blocking calls; without io_uring: forbidden here, by `kernel.io_uring_disabled`"]);
    assert!(ran.stdout.contains("done without: io_uring: forbidden here"), "{}", ran.stdout);
    let asked = run_by(&scene, ONE, "strace", &forbid, &["--reactor", "ring"]).unwrap();
    asked.says(3, &["io_uring: forbidden here", "hint: io_uring may be forbidden", "without `--reactor ring`"]);
}

#[test]
fn little_lockable_memory_is_done_without_and_told() {
    let scene = Scene::new();
    // Root may lock more than its limit, unless it loses that privilege.
    let args = ["--memlock=65536:65536", "setpriv", "--bounding-set", "-ipc_lock"];
    let args = if host::process::is_root() { &args[..] } else { &args[..1] };
    let Some(ran) = run_by(&scene, ONE, "prlimit", args, &["--set", "benchmarks.*.block_kb=64"]) else { return };
    if ran.stderr.contains("reactor: blocking calls") {
        eprintln!("skipped: there is no io_uring here");
        return;
    }
    ran.says(0, &[]);
    for said in ["done without: registered buffers: 256.0 KiB of buffers", "raise RLIMIT_MEMLOCK (`ulimit -l`)"] {
        let words: Vec<&str> = ran.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(said), "{said}: {}", ran.stdout);
    }
}

#[test]
fn a_volume_takes_root() {
    let scene = Scene::new();
    let ran = match host::process::is_root() {
        false => scene.write("p.toml", VOLUME).etalon(&["run", "p.toml"]),
        true => {
            // A user other than root needs a writable folder.
            assert!(Command::new("chmod").arg("777").arg(scene.path()).status().unwrap().success());
            let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
            let Some(ran) = run_by(&scene, VOLUME, "setpriv", &nobody, &[]) else { return };
            if ran.stderr.contains("failed to execute") {
                return eprintln!("skipped: {}", ran.stderr);
            }
            ran
        }
    };
    ran.says(3, &["only root may mount one", "hint: run étalon as root"]);
}

#[test]
fn a_volume_s_keys_are_checked() {
    let scene = Scene::new();
    let wrong = |from: &str, to: &str, texts: &[&str]| {
        scene.write("p.toml", &VOLUME.replace(from, to)).etalon(&["run", "p.toml"]).says(2, texts);
    };
    wrong("cluster = 65536", "cluster = 5000", &["must be a power of two from 4096 to 16777216, not 5000"]);
    wrong("\"128M\"", "\"128 MB\"", &["`size`", "such as \"2G\""]);
    wrong("fs = \"ext4\"", "fs = \"ntfs\"", &["one of `ext4` or `xfs`"]);
    wrong("cluster = 4096 }", "cluster = 4096 }\n    url = \"disk:x\"", &["has a `volume`, and a `url`"]);
    wrong("image = \"images/small.img\", ", "", &["has no `image`"]);
}

#[test]
fn wrong_disk_plans_say_what_is_wrong() {
    let scene = Scene::new();
    let plan = "[systems.d]\nurl = \"disk:there\"\n\n[[benchmarks]]\nworkload = \"disk\"\nsize_mb = 4\n\n[schedule]\n\
                rounds = 1\nwarmup = \"10ms\"\nduration = \"100ms\"\n";
    let run = |from: &str, to: &str, args: &[&str]| {
        let args: Vec<&str> = ["run", "p.toml"].iter().chain(args).copied().collect();
        scene.write("p.toml", &plan.replace(from, to)).etalon(&args)
    };
    run("size_mb = 4", "op = \"mixed\"", &[]).says(2, &["set `read_percent`", "p.toml"]);
    run("size_mb = 4", "size_mb = 4\nspan_mb = 5", &[]).says(2, &["it has 4.0 MiB, and 5.0 MiB are to be touched"]);
    run("size_mb = 4", "size_mb = 1000000000", &[]).says(3, &["its volume has", "; lower `size_mb`"]);
    run("workload = \"disk\"\nsize_mb = 4", "workload = \"transactions\"", &[]).says(3, &["the system holds blocks"]);
    run("disk:there", "sqlite:a.db", &[]).says(3, &["the system answers statements", "disk:DIR"]);
    run("disk:there", "sim:", &["--target", "x"]).says(2, &["`--target` says where disk systems work"]);
    run("disk:there", "disk:/dev/null", &[]).says(1, &["it is neither a file nor a block device"]);
    assert_eq!(names(scene.path()).len(), 2, "{:?}", names(scene.path()));
}

/// A small file is quicker than a large one.
#[test]
fn disks_whose_files_differ_in_size_have_no_verdict() {
    let scene = Scene::new();
    for (folder, kib) in [("small", 1_024), ("large", 8_192)] {
        std::fs::create_dir(scene.path().join(folder)).unwrap();
        // A file that could be compressed is not measured.
        let mut bits = 1_u64;
        let words = std::iter::repeat_with(|| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 32) as u32
        });
        let bytes: Vec<u8> = words.take(kib << 8).flat_map(u32::to_le_bytes).collect();
        std::fs::write(scene.path().join(folder).join("x.dat"), bytes).unwrap();
    }
    let plan = |span: &str| {
        format!(
            "[systems.a]\nurl = \"disk:small\"\n[systems.b]\nurl = \"disk:large\"\n[[benchmarks]]\nworkload = \"disk\"\n\
             targets = \"x.dat\"\n{span}\n[schedule]\nrounds = 6\nwarmup = \"50ms\"\nduration = \"200ms\"\n"
        )
    };
    for (span, is_refused) in [("", true), ("span_mb = 1", false)] {
        scene.write("p.toml", &plan(span));
        let ran = scene.etalon(&["run", "p.toml", "--json", "-o", &format!("s{}", span.len())]);
        ran.says(0, &[]);
        let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let rows = object["comparisons"].as_array().unwrap();
        let said = "different work: the operations of A reach 1.00 MiB, those of B 8.00";
        assert_eq!(object["comparisons"].to_string().contains(said), is_refused, "{object}");
        assert!(!is_refused || rows.iter().all(|row| row["verdict"].is_null()), "{object}");
    }
}
