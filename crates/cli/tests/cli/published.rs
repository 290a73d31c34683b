//! The five published tests as plans: each runs in its quick form, and its report shows the published figures of the new
//! run beside the comparison.

use crate::scene::Scene;

/// A plan of a published test.
struct Published {
    plan: &'static str,
    shorter: &'static [&'static str],
    parts: &'static [&'static str],
    words: &'static [&'static str],
}

/// Runs a plan and checks its report.
#[track_caller]
fn repeats(published: &Published) {
    let scene = Scene::new();
    let mut args = vec!["run", published.plan, "--quick", "--quiet"];
    args.extend(published.shorter);
    scene.etalon(&args).says(0, &[]);
    let store = scene.store();
    let shown: serde_json::Value =
        serde_json::from_str(&scene.etalon(&["--json", "show", store.to_str().unwrap()]).stdout).unwrap();
    assert_eq!(shown["runs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["measured"], "{shown}");
    let report = std::fs::read_to_string(store.with_extension("html")).unwrap();
    for part in published.parts {
        assert!(report.contains(&format!(" id=\"{part}\"")), "the report of {} has no {part}", published.plan);
    }
    for word in published.words {
        assert!(report.contains(word), "the report of {} lacks {word}", published.plan);
    }
    is_reported_alike_after_the_way_there_and_back(&scene, published);
    for benchmark in shown["plan"]["benchmarks"].as_array().unwrap() {
        let told = benchmark["stands_for"].as_str().unwrap();
        let first = told.split(['`', '"', '\'']).next().unwrap();
        assert!(report.contains(first), "the report of {} does not say what it stands for: {told}", published.plan);
    }
}

/// Exports and imports the results, and checks the report.
#[track_caller]
fn is_reported_alike_after_the_way_there_and_back(scene: &Scene, published: &Published) {
    let store = scene.store();
    scene.etalon(&["export", store.to_str().unwrap(), "-o", "t.csv"]).says(0, &[]);
    scene.etalon(&["import", "tidy", "t.csv", "-o", "again"]).says(0, &[]);
    scene.etalon(&["report", "again.etalon", "-o", "again.html"]).says(0, &[]);
    let report = std::fs::read_to_string(scene.path().join("again.html")).unwrap();
    for part in published.parts.iter().filter(|part| **part != OF_HISTOGRAMS) {
        let plan = published.plan;
        assert!(report.contains(&format!(" id=\"{part}\"")), "the report of {plan} has no {part} after the way back");
    }
    for word in published.words.iter().filter(|_| !published.parts.contains(&OF_HISTOGRAMS)) {
        assert!(report.contains(word), "the report of {} lacks {word} after the way back", published.plan);
    }
}

/// Counts single executions, which no table holds.
const OF_HISTOGRAMS: &str = "limits";

#[test]
fn super_smack_on_mysql() {
    repeats(&Published {
        plan: "mysql-super-smack",
        // Two of the four servers: each run loads 90,000 rows, in a debug build.
        shorter: &[
            "--system",
            "socket-small",
            "--system",
            "tcp-bigger",
            "--set",
            "benchmarks.*.clients=[4, 8]",
            "--set",
            "benchmarks.*.queries=20",
        ],
        parts: &["published", "clients", "clients-0", "clients-bars-0", "clients-1", "clients-bars-1", "results"],
        words: &["select-key: throughput by clients", "update-select: throughput at 4, 8 clients", "of the peak"],
    });
}

#[test]
fn selects_and_updates_on_postgresql() {
    repeats(&Published {
        plan: "postgresql-select-update",
        shorter: &["--set", "benchmarks.tasks.tasks=20"],
        parts: &["published", "limits", "results"],
        words: &["within 0.1 s", "within 1 s", "within 5 s", "within 10 s", "shortest", "median", "executions"],
    });
}

#[test]
fn pages_and_spatial_queries_of_sql_server() {
    repeats(&Published {
        plan: "sqlserver-pages-and-spatial",
        shorter: &["--set", "benchmarks.pages.statements=200", "--set", "benchmarks.spatial.executions=3"],
        parts: &["published", "pages", "spatial", "spatial-0", "results"],
        words: &["avg_write_stall_ms", "S4-inside", "CPU ms", "Time of each query"],
    });
}

#[test]
fn compressed_backups_of_sql_server() {
    repeats(&Published {
        plan: "backup-compression",
        shorter: &["--set", "benchmarks.*.size_mib=2"],
        parts: &["published", "backup", "backup-sizes", "backup-rates", "backup-cpu", "restore-cpu", "backup-growth"],
        words: &["CPU of the restore", "zstd-3", "saved"],
    });
}

#[test]
fn sqlio_on_a_disk() {
    repeats(&Published {
        plan: "sqlserver-disk",
        shorter: &[
            "--set",
            "benchmarks.*.depth=[1, 4]",
            "--set",
            "benchmarks.*.threads=2",
            "--set",
            "benchmarks.*.size_mb=16",
            "--set",
            "schedule.duration=1s",
            "--set",
            "schedule.warmup=50ms",
        ],
        parts: &["published", "disk", "disk-iops", "disk-bandwidth", "results"],
        words: &["random read, 512 KB", "sequential write, 1 KB", "Best of each group"],
    });
}

/// Two servers under the names of the published sides.
#[test]
fn the_published_sides_are_compared() {
    let scene = Scene::new();
    let sides = ["--system", "linux=sqlite:linux.db", "--system", "windows=sqlite:windows.db"];
    let args = [&["run", "sqlserver-pages-and-spatial", "--quick", "--quiet"], &sides[..]].concat();
    let short = ["--set", "benchmarks.pages.statements=100", "--set", "benchmarks.spatial.executions=3"];
    scene.etalon(&[&args[..], &short].concat()).says(0, &[]);
    let report = std::fs::read_to_string(scene.store().with_extension("html")).unwrap();
    for words in ["gains", "is faster than", "All queries together"] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn a_plan_says_which_figures_its_cases_stand_for() {
    let scene = Scene::new();
    for plan in [
        "mysql-super-smack",
        "postgresql-select-update",
        "sqlserver-pages-and-spatial",
        "backup-compression",
        "sqlserver-disk",
    ] {
        let shown = scene.etalon(&["show", plan]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let count = |text: &str| shown.stdout.lines().filter(|line| line.starts_with(text)).count();
        assert!(count("[[benchmarks]]") > 0, "{}", shown.stdout);
        assert_eq!(count("[[benchmarks]]"), count("stands_for = "), "{plan}");
    }
}
