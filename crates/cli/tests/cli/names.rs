//! Names: what `list` has, `show` shows, and a slip finds its word.

use crate::scene::{Scene, sim_plan};

const SCHEDULE: &str = "rounds = 6\nwarmup = \"10ms\"\nduration = \"200ms\"";

#[test]
fn the_list_fits_one_screen_and_with_all_it_tells_of_each() {
    let scene = Scene::new();
    let list = scene.etalon(&["list"]).stdout;
    assert!(list.lines().count() < 24, "with the prompt it is more than a screen:\n{list}");
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let all = scene.etalon(&["list", "--all"]).stdout;
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let json: serde_json::Value = serde_json::from_str(&scene.etalon(&["list", "--all", "--json"]).stdout).unwrap();
    for (_, entries) in json.as_object().unwrap().iter().filter(|(key, _)| *key != "schema_version") {
        for entry in entries.as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            assert!(list.contains(&format!("  {name}")) && all.contains(&format!("  {name}")), "{name}");
            assert!(entry["about"].as_str().unwrap().len() > 20, "{entry}");
        }
    }
}

#[test]
fn whatever_is_listed_is_shown() {
    let scene = Scene::new();
    let json: serde_json::Value = serde_json::from_str(&scene.etalon(&["list", "--all", "--json"]).stdout).unwrap();
    let kinds = [
        ("plans", "plan"),
        ("scripts", "script"),
        ("smack_scripts", "smack"),
        ("workloads", "workload"),
        ("engines", "engine"),
    ];
    assert_eq!(json.as_object().unwrap().len(), kinds.len() + 1, "a kind that this test does not walk");
    let mut shown = 0;
    for (plural, kind) in kinds {
        for entry in json[plural].as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            let by_name = scene.etalon(&["show", name]);
            by_name.says(0, &[]);
            let exactly = scene.etalon(&["show", "--json", &format!("{kind}:{name}")]);
            exactly.says(0, &[]);
            let object: serde_json::Value = serde_json::from_str(&exactly.stdout).unwrap();
            assert_eq!((object["kind"].as_str(), object["name"].as_str()), (Some(kind), Some(name)));
            assert!(object["text"].as_str().unwrap().len() > 20, "{object}");
            for key in entry["keys"].as_array().into_iter().flatten() {
                assert!(object["text"].as_str().unwrap().contains(key["name"].as_str().unwrap()), "{name}: {key}");
            }
            for server in entry["private_servers"].as_array().into_iter().flatten() {
                scene.etalon(&["show", server.as_str().unwrap()]).says(0, &[]);
            }
            shown += 1;
        }
    }
    assert!(shown > 40, "{shown}");
    // A plan and a workload of one name: the plan, as it can be piped into a file, and where the other is.
    let both = scene.etalon(&["show", "spatial"]);
    both.says(0, &["`etalon show workload:spatial`"]);
    scene.write("p.toml", &both.stdout).etalon(&["plan", "p.toml"]).says(0, &[]);
}

#[test]
fn a_slip_finds_its_word() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=210", SCHEDULE));
    scene.etalon(&["run", "p.toml"]).says(0, &[]);
    let store = scene.store();
    let store = store.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["run", "quickstrat"], "did you mean `quickstart`?"),
        (&["plan", "postgres-setings"], "did you mean `postgres-settings`?"),
        (&["show", "tpbc-like"], "did you mean `tpcb-like`?"),
        (&["show", "postgre"], "did you mean `postgres`?"),
        (&["show", "transaction"], "did you mean `transactions`?"),
        (&["compare", store, "--metrics", "throughputs"], "did you mean `throughput`?"),
        (&["compare", store, "--metrics", "p99"], "`response_p99`"),
        (&["compare", store, "--cols", "client"], "did you mean `clients`?"),
        (&["compare", store, "--estimator", "medain"], "did you mean `median`?"),
        (&["run", "quickstart", "--set", "schedule.round=6"], "did you mean `rounds`?"),
        (&["run", "quickstart", "--set", "benchmarks.*.script=tpbc-like"], "did you mean `tpcb-like`?"),
        (&["run", "quickstart", "--aa", "wall"], "did you mean `wal`?"),
        (&["run", "quickstart", "--system", "wall"], "did you mean `wal`"),
        (&["gate", store, "--format", "junitt"], "'junit'"),
        (&["export", store, "--format", "markdwon"], "'markdown'"),
        (&["lits"], "'list'"),
    ];
    for (args, hint) in cases {
        let ran = scene.etalon(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(hint), "{args:?}: {}", ran.stderr);
    }
    // And nothing is guessed where no word is near.
    scene.etalon(&["run", "nowhere.toml"]).says(2, &["hint: name a plan's file, a system's URL, or a built-in plan"]);
}
