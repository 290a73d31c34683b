//! Imports of unlike runs, which are no repetitions of each other.

use crate::scene::Scene;

/// What pgbench prints at its end, at a rate in transactions a second.
fn pgbench(tps: f64) -> String {
    format!(
        "transaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\nnumber of clients: 4\n\
         number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 1000\n\
         number of failed transactions: 0 (0.000%)\nlatency average = {:.3} ms\n\
         tps = {:.6} (without initial connection time)\n",
        4000.0 / tps,
        tps + 0.123_457
    )
}

/// The file's systems, keys and repetitions of one metric: the rows of `etalon export` without what is behind the metric.
fn rows(scene: &Scene, store: &str) -> Vec<String> {
    let table = scene.etalon(&["export", store]).stdout;
    let rows = table.lines().filter_map(|line| line.split_once(",throughput,"));
    rows.map(|(row, _)| row.to_owned()).collect()
}

#[test]
fn captions_that_files_have_in_common_are_keys() {
    let scene = Scene::new();
    let page = |tps: f64| format!("=== jit 0 ===\n{}=== jit 1 ===\n{}", pgbench(tps), pgbench(tps * 1.2));
    scene.write("old.txt", &page(100.0)).write("new.txt", &page(150.0));
    for (store, files) in [("s", ["old.txt", "new.txt"]), ("t", ["old=old.txt", "new=new.txt"])] {
        let imported = scene.etalon(&["import", files[0], files[1], "-o", store]);
        imported.says(0, &["4 runs of 2 systems: old, new", "so each input is a system"]);
        let found = rows(&scene, &format!("{store}.etalon"));
        assert!(found.iter().all(|row| row.ends_with(",1")), "no second repetition: {found:?}");
        assert_eq!(found.iter().filter(|row| row.contains("jit 0")).count(), 2, "{found:?}");
    }
    scene.etalon(&["import", "one=old.txt", "-o", "one"]).says(0, &["2 runs of 1 system: one"]);
    assert_eq!(
        rows(&scene, "one.etalon").iter().filter(|row| row.ends_with(",2")).count(),
        1,
        "the user's word counts"
    );
}

#[test]
fn names_of_files_tell_runs_of_a_folder_apart() {
    let scene = Scene::new();
    for (folder, factor) in [("ext4", 1.0), ("xfs", 1.1)] {
        std::fs::create_dir_all(scene.path().join(format!("fs/{folder}"))).unwrap();
        for version in 11..17 {
            scene.write(&format!("fs/{folder}/pg{version}.log"), &pgbench(f64::from(100 + version) * factor));
        }
    }
    for run in 1..4 {
        std::fs::create_dir_all(scene.path().join(format!("runs/run{run}"))).unwrap();
        for version in 15..17 {
            scene.write(&format!("runs/run{run}/pg{version}.log"), &pgbench(f64::from(100 * version + run)));
        }
    }
    let of_folders = "files of different names (pg11, pg12, pg13, …) are different cases, by the key `file`";
    scene.etalon(&["import", "fs", "-o", "s"]).says(0, &["12 runs of 2 systems: ext4, xfs", of_folders]);
    let found = rows(&scene, "s.etalon");
    assert!(found.iter().all(|row| row.ends_with(",1")), "no second repetition: {found:?}");
    scene.etalon(&["import", "fs/*/*.log", "-o", "t"]).says(0, &["12 runs of 2 systems: ext4, xfs", of_folders]);
    for (store, from) in [("u", "runs"), ("v", "runs/*/*.log")] {
        scene.etalon(&["import", from, "-o", store]).says(0, &["6 runs of 2 systems: pg15, pg16"]);
        assert_eq!(rows(&scene, &format!("{store}.etalon")).iter().filter(|row| row.ends_with(",3")).count(), 2);
    }
    scene
        .etalon(&["import", "all=fs/ext4", "-o", "w"])
        .says(0, &["6 runs of 1 system: all", "which count as its repetitions"]);
}

#[test]
fn printed_versions_are_never_pooled() {
    let scene = Scene::new();
    let of = |version: &str, tps: f64| format!("pgbench ({version})\n{}", pgbench(tps));
    scene.write("two.txt", &(of("18.0, server 13.22", 100.0) + &of("18.0, server 17.2", 130.0)));
    scene
        .etalon(&["import", "two.txt", "-o", "s"])
        .says(0, &["2 runs of 2 systems: pgbench 18.0, server 13.22, pgbench 18.0, server 17.2"]);
    scene.write("old.txt", &of("15.4", 100.0)).write("new.txt", &of("16.1", 130.0));
    scene.etalon(&["import", "db=old.txt", "db=new.txt", "-o", "t"]).says(0, &["2 runs of 1 system: db"]);
    let found = rows(&scene, "t.etalon");
    assert!(found.iter().all(|row| row.ends_with(",1")), "no second repetition: {found:?}");
    scene.etalon(&["import", "old.txt", "new.txt", "-o", "u"]).says(0, &["2 runs of 2 systems: old, new"]);
    assert_eq!(scene.etalon(&["export", "u.etalon"]).stdout.matches(",version,").count(), 0, "each system has one");
}

#[test]
fn copies_are_no_repetitions_and_no_other_side() {
    let scene = Scene::new();
    let runs = |tps: f64| -> String { (0..6).map(|run| pgbench(tps + f64::from(run) / 7.0)).collect() };
    scene.write("six.txt", &runs(101.3)).write("twelve.txt", &(runs(101.3) + &runs(131.7)));
    scene
        .etalon(&["import", "old=six.txt", "new=six.txt", "-o", "s"])
        .says(0, &["6 of the results of new equal those of old in every figure"]);
    let compared = scene.etalon(&["compare", "s.etalon"]).stdout;
    assert!(compared.contains("not known to be repetitions") && !compared.contains("is the same"), "{compared}");
    scene
        .etalon(&["import", "six.txt", "twelve.txt", "-o", "t"])
        .says(0, &["6 of the results of twelve equal those of six in every figure"]);
    // Few digits, which may come again by chance.
    let short = "Vuser 1:TEST RESULT : System achieved 251442 NOPM from 584467 MariaDB TPM\n";
    scene.write("h.txt", short).write("same.txt", short);
    scene.etalon(&["import", "a=h.txt", "a=same.txt", "-o", "u"]).says(0, &["1 run of 1 system: a", "left out: 1"]);
}
