//! What other tools print here and now, read in: each figure against the tool's own word.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use model::Reading;
use serde_json::Value;

use crate::scene::Scene;
use crate::server::{ROLE, Server, programs};

struct Figure {
    system: String,
    op: String,
    repetition: u32,
    metric: String,
    value: Reading,
}

#[track_caller]
fn imported(scene: &Scene, format: &str, files: &[String]) -> Vec<Figure> {
    let store = format!("{format}-{}", std::fs::read_dir(scene.path()).unwrap().count());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    scene.etalon(&[&["import", format, "-o", &store], &files[..]].concat()).says(0, &[]);
    let exported = scene.etalon(&["export", &format!("{store}.etalon")]);
    exported.says(0, &[]);
    let table = formats::tidy::parse_table(&exported.stdout).unwrap();
    let rows = table.rows.into_iter().filter(|row| row.kind == "measured");
    rows.map(|row| Figure {
        op: row.point.get("op").map(ToString::to_string).unwrap_or_default(),
        system: row.system,
        repetition: row.repetition.unwrap(),
        metric: row.metric,
        value: row.value,
    })
    .collect()
}

#[track_caller]
fn value(figures: &[Figure], metric: &str) -> f64 {
    let found: Vec<&Figure> = figures.iter().filter(|figure| figure.metric == metric).collect();
    match found.as_slice() {
        [Figure { value: Reading::Value(value), .. }] => *value,
        _ => panic!("{metric}: {:?}", found.iter().map(|figure| &figure.value).collect::<Vec<_>>()),
    }
}

#[track_caller]
fn near(found: f64, printed: f64, share: f64) {
    assert!((found / printed - 1.0).abs() <= share, "{found} is imported, and {printed} printed");
}

#[track_caller]
fn printed(text: &str, name: &str) -> f64 {
    let (_, rest) = text.split_once(name).unwrap_or_else(|| panic!("{name} is not in {text}"));
    let digits: String = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse().unwrap_or_else(|_| panic!("{name}: {rest}"))
}

fn pgbench(server: &Server, scene: &Scene, options: &[&str]) -> String {
    let mut command = Command::new(programs().join("pgbench"));
    let run = command.args(["-U", ROLE, "-h"]).arg(server.folder()).args(options).arg("postgres");
    text(run.current_dir(scene.path()).output().unwrap())
}

#[track_caller]
fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn files(folder: &Path, prefix: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}

const LOAD: [&str; 6] = ["-n", "-S", "-c", "4", "-j", "2"];

#[test]
fn a_run_of_pgbench_is_the_same_in_its_summary_and_in_its_logs() {
    let (server, scene) = (Server::start(&[]), Scene::new());
    pgbench(&server, &scene, &["-i", "-q"]);
    let of_run = |options: &[&str]| pgbench(&server, &scene, &[&LOAD[..], options].concat());

    // A log does not tell its threads' start and end, which a busy machine puts off.
    let (summary, figures) = (0..5)
        .find_map(|attempt| {
            let prefix = format!("whole{attempt}");
            // With -P pgbench measures latencies; otherwise the mean is derived from the rate.
            let summary = of_run(&["-T", "2", "-P", "1", "-l", &format!("--log-prefix={prefix}")]);
            scene.write("out.txt", &summary);
            let figures = imported(&scene, "pgbench", &["out.txt".to_owned()]);
            assert_eq!(value(&figures, "throughput"), printed(&summary, "tps = "));
            near(value(&figures, "response_mean"), printed(&summary, "latency average = ") * 1e3, 1e-9);
            let logs = files(scene.path(), &format!("{prefix}."));
            assert_eq!(logs.len(), 2, "a log for each thread: {logs:?}");
            let figures = imported(&scene, "pgbench-log", &logs);
            assert!(figures.iter().all(|figure| figure.system == prefix), "both are of one system");
            let ratio = value(&figures, "throughput") / printed(&summary, "tps = ");
            ((ratio - 1.0).abs() < 0.1).then_some((summary, figures))
        })
        .expect("one of five rates is near");
    // Logs truncate to whole microseconds.
    let mean_us = printed(&summary, "latency average = ") * 1e3;
    assert!(
        (value(&figures, "response_mean") - mean_us).abs() <= 1.5,
        "{} and {mean_us}",
        value(&figures, "response_mean")
    );
    assert_eq!(value(&figures, "errors"), 0.0);

    // A rate is estimated from a fifth of the transactions, and badly where a busy machine holds some clients up.
    let estimated = (0..5).find_map(|attempt| {
        let prefix = format!("part{attempt}");
        let summary = of_run(&["-T", "2", "-l", "--sampling-rate=0.2", &format!("--log-prefix={prefix}")]);
        let figures = imported(&scene, "pgbench-log", &files(scene.path(), &format!("{prefix}.")));
        let ratio = value(&figures, "throughput") / printed(&summary, "tps = ");
        ((ratio - 1.0).abs() < 0.1).then_some(figures)
    });
    let figures = estimated.expect("one of five estimates is near");
    assert!(figures.iter().any(
        |f| f.metric == "errors" && matches!(&f.value, Reading::Unavailable(why) if why.reason.contains("sample"))
    ));

    // An aggregate has whole seconds, and a busy machine may hold clients up in the others.
    let is_near = (0..5).any(|attempt| {
        let prefix = format!("sums{attempt}");
        let options = ["-T", "4", "-R", "400", "-P", "9", "-l", "--aggregate-interval=1"];
        let summary = of_run(&[&options[..], &[&format!("--log-prefix={prefix}")]].concat());
        let figures = imported(&scene, "pgbench-aggregate", &files(scene.path(), &format!("{prefix}.")));
        let pairs = [
            ("limited_throughput", 400.0, 0.15),
            ("response_mean", printed(&summary, "latency average = ") * 1e3, 0.25),
            ("lag_mean", printed(&summary, "rate limit schedule lag: avg ") * 1e3, 0.25),
        ];
        pairs.iter().all(|(metric, printed, within)| (value(&figures, metric) / printed - 1.0).abs() < *within)
    });
    assert!(is_near, "one of five aggregates is near");
}

#[test]
fn logs_of_two_runs_of_pgbench_are_repetitions_and_parts_of_one_are_not() {
    let (server, scene) = (Server::start(&[]), Scene::new());
    pgbench(&server, &scene, &["-i", "-q"]);
    for _ in 0..2 {
        pgbench(&server, &scene, &[&LOAD[..], &["-t", "50", "-l"]].concat());
    }
    let logs = files(scene.path(), "pgbench_log.");
    assert_eq!(logs.len(), 4, "{logs:?}");
    let figures = imported(&scene, "pgbench-log", &logs);
    let errors = figures.iter().filter(|figure| figure.metric == "errors");
    assert_eq!(errors.map(|figure| figure.repetition).collect::<Vec<_>>(), [1, 2]);
    // Under other names only the times tell that two logs are of one run.
    let one = |name: &str| std::fs::read_to_string(scene.path().join(name)).unwrap();
    scene.write("first.log", &one(&logs[0])).write("second.log", &one(&logs[1]));
    let refused = scene.etalon(&["import", "pgbench-log", "a=first.log", "a=second.log", "-o", "x"]);
    refused.says(2, &["first.log and second.log are of the same time", "NAME.PROCESS.1"]);
    scene.write("both.log", &(one(&logs[0]) + &one(&logs[2])));
    scene.etalon(&["import", "pgbench-log", "both.log", "-o", "x"]).says(2, &["logs of several runs"]);
}

fn program(name: &str) -> Option<PathBuf> {
    let found =
        std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: there is no `{name}`");
    }
    found
}

#[test]
fn a_run_of_sysbench_is_read_as_it_was_printed() {
    let Some(sysbench) = program("sysbench") else { return };
    let scene = Scene::new();
    let run =
        |options: &[&str]| text(Command::new(&sysbench).args(options).current_dir(scene.path()).output().unwrap());
    let cpu = run(&["cpu", "--threads=2", "--time=2", "--report-interval=1", "--histogram", "--percentile=99", "run"]);
    scene.write("cpu.txt", &cpu);
    let figures = imported(&scene, "sysbench", &["cpu.txt".to_owned()]);
    let rate = printed(&cpu, "total number of events:") / printed(&cpu, "total time:");
    near(value(&figures, "throughput"), rate, 1e-9);
    near(value(&figures, "response_mean"), printed(&cpu, "avg:") * 1e3, 1e-9);
    near(value(&figures, "response_p99"), printed(&cpu, "99th percentile:") * 1e3, 1e-9);
    let parts = run(&["cpu", "--threads=1", "--time=3", "--report-checkpoints=1", "run"]);
    scene.write("parts.txt", &parts);
    let figures = imported(&scene, "sysbench", &["parts.txt".to_owned()]);
    let last = parts.rsplit_once("General statistics:").unwrap().1;
    let (_, checkpoint) =
        parts.split_once("Checkpoint report:").map(|(head, _)| head.rsplit_once('[').unwrap()).unwrap();
    let since_s = printed(last, "total time:") - printed(checkpoint, "");
    near(value(&figures, "throughput"), printed(last, "total number of events:") / since_s, 1e-9);
}

#[test]
fn a_run_of_fio_is_read_as_it_was_printed() {
    let Some(fio) = program("fio") else { return };
    let scene = Scene::new();
    let common =
        ["--name=mixed", "--filename=t.dat", "--size=4M", "--rw=randrw", "--bs=8k", "--ioengine=psync", "--runtime=1"];
    for (at, options) in [
        &["--output-format=json", "--time_based"][..],
        &["--output-format=json+", "--time_based", "--numjobs=2", "--group_reporting"],
        &["--output-format=json", "--time_based", "--runtime=3", "--status-interval=1"],
    ]
    .into_iter()
    .enumerate()
    {
        let out = text(Command::new(&fio).args(common).args(options).current_dir(scene.path()).output().unwrap());
        let name = format!("{at}.json");
        scene.write(&name, &out);
        let figures = imported(&scene, "fio", &[name]);
        let last = out.rfind("\n{\n  \"fio version\"").map_or(out.find('{').unwrap(), |at| at + 1);
        let document: Value = serde_json::from_str(&out[last..]).unwrap();
        for op in ["read", "write"] {
            let told = &document["jobs"][0][op];
            let of: Vec<&Figure> = figures.iter().filter(|figure| figure.op == op).collect();
            let value = |metric: &str| {
                let values: Vec<&Reading> = of.iter().filter(|f| f.metric == metric).map(|f| &f.value).collect();
                assert_eq!(values.len(), 1, "one run is one repetition: {metric} of {options:?}");
                values[0].clone()
            };
            assert_eq!(value("iops"), Reading::Value(told["iops"].as_f64().unwrap()));
            assert_eq!(value("bandwidth"), Reading::Value(told["bw_bytes"].as_f64().unwrap() / 1_048_576.0));
            let p99 = &told["clat_ns"]["percentile"]["99.000000"];
            assert_eq!(value("completion_p99"), Reading::Value(p99.as_f64().unwrap() / 1e3));
        }
    }
}
