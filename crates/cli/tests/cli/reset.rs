//! How tables come back before each run: chosen by size or by the plan, told, and true when the disk is full or étalon dies.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use store::Store;

use crate::bad_input::SmallDisk;
use crate::scene::Scene;
use crate::slow::is_slow;

fn plan(systems: &str, workload: &str, schedule: &str) -> String {
    format!("{systems}\n[[benchmarks]]\n{workload}\n[schedule]\n{schedule}\n")
}

const SELECT_UPDATE: &str = "workload = \"transactions\"\nscript = \"select-update\"\nclients = 2";
const SHORT: &str = "rounds = 2\nwarmup = \"0s\"\nduration = \"300ms\"";

fn resets(scene: &Scene, plan: &str) -> Vec<(String, String)> {
    let ran = scene.write("p.toml", plan).etalon(&["plan", "p.toml", "--json"]);
    ran.says(0, &[]);
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let row = |system: &serde_json::Value| {
        let words = system["reset"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        (system["name"].as_str().unwrap().to_owned(), words.collect::<Vec<_>>().join(" "))
    };
    told["systems"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_plan_says_how_tables_come_back_by_their_size() {
    let scene = Scene::new();
    let systems = "[systems.own]\nserver = { engine = \"postgres\" }\n[systems.lite]\nurl = \"sqlite:x.db\"\n\
                   [systems.there]\nurl = \"postgres://me@127.0.0.1:9/x\"\n[systems.asked]\n\
                   server = { engine = \"mariadb\" }\nreset = \"clone\"";
    let of = |warehouses: u32| {
        let workload = format!("workload = \"order-entry\"\nwarehouses = {warehouses}");
        let told = resets(&scene, &plan(systems, &workload, SHORT));
        told.into_iter().map(|(_, word)| word).collect::<Vec<_>>()
    };
    assert_eq!(of(1), ["rebuild", "restore", "rebuild", "clone"]);
    assert_eq!(of(100), ["restore", "restore", "rebuild", "clone"]);
    let text = scene.etalon(&["plan", "p.toml"]).stdout;
    assert!(text.contains("tables before each run: copied from the first load (restore)"), "{text}");
    assert!(text.contains("tables before each run: loaded anew (rebuild)"), "{text}");
    let others = plan("[systems.a]\nurl = \"sqlite:x.db\"", &format!("{SELECT_UPDATE}\ntables = \"none\""), SHORT);
    assert_eq!(resets(&scene, &others), [("a".to_owned(), String::new())]);
}

/// Pages and spatial data are made by the runs themselves.
#[test]
fn of_tables_that_runs_make_no_copy_is_planned() {
    let scene = Scene::new();
    for workload in ["workload = \"pages\"", "workload = \"spatial\""] {
        let told = |reset: &str| {
            let text = plan(&format!("[systems.a]\nserver = {{ engine = \"postgres\" }}\n{reset}"), workload, SHORT);
            assert_eq!(resets(&scene, &text), [("a".to_owned(), String::new())], "{workload} {reset}");
            let ran = scene.etalon(&["plan", "p.toml"]);
            assert!(!ran.stdout.contains("tables before each run"), "{workload} {reset}: {}", ran.stdout);
            ran.stdout.lines().find(|line| line.contains("MB of disk")).unwrap().to_owned()
        };
        let usual = told("reset = \"rebuild\"");
        for reset in ["", "reset = \"restore\"", "reset = \"clone\"", "reset = \"none\""] {
            assert_eq!(told(reset), usual, "{workload} {reset}: other time or space");
        }
    }
}

/// A server is not stopped for the sake of an empty folder.
#[test]
fn of_tables_that_runs_make_no_copy_is_kept() {
    let scene = Scene::new();
    let systems = "[systems.pg]\nserver = { engine = \"postgres\" }\nreset = \"restore\"\n\
                   [systems.lite]\nurl = \"sqlite:x.db\"";
    let workload = "workload = \"pages\"\nstatements = 2\nrows = 2";
    scene.write("p.toml", &plan(systems, workload, SHORT)).etalon(&["run", "p.toml"]).says(0, &[]);
    assert_eq!(values(&scene.store(), "kept_copies"), [0.0; 0]);
    let facts = Store::open_read_only(&scene.store()).unwrap().facts().unwrap();
    assert!(facts.iter().all(|(_, facts)| facts.get("reset").is_none()), "{facts:?}");
}

#[test]
fn what_a_system_cannot_do_is_refused_before_anything_is_made() {
    let scene = Scene::new();
    let refused = |system: &str, workload: &str, texts: &[&str]| {
        scene.write("p.toml", &plan(&format!("[systems.a]\n{system}"), workload, SHORT));
        for verb in ["plan", "run"] {
            let ran = scene.etalon(&[verb, "p.toml"]);
            assert!(ran.code == 2 || ran.code == 3, "{verb} {system}: {}", ran.stderr);
            ran.says(ran.code, texts);
        }
    };
    let there = "url = \"mysql://me@127.0.0.1:9/x\"\nreset = \"clone\"";
    refused(
        there,
        SELECT_UPDATE,
        &["it has started itself", "hint: write `reset = \"rebuild\"` or `reset = \"none\"`"],
    );
    refused("url = \"disk:.\"\nreset = \"restore\"", "workload = \"disk\"\nsize_mb = 4", &["hint: leave `reset` out"]);
    refused("url = \"sqlite:x.db\"\nreset = \"restor\"", SELECT_UPDATE, &["did you mean `restore`?"]);
    let elsewhere = "[systems.a]\nserver = { engine = \"postgres\", folder = \"nowhere\" }";
    scene.write("p.toml", &plan(elsewhere, SELECT_UPDATE, SHORT));
    scene
        .etalon(&["run", "p.toml"])
        .says(2, &["there is no such folder", "hint: make it, or name another as `folder`"]);
    assert!(!scene.path().join("nowhere").exists());
}

#[test]
fn ways_that_cannot_hold_are_refused_before_anything_is_made() {
    let scene = Scene::new();
    let refused = |systems: &str, schedule: &str, texts: &[&str]| {
        scene.write("p.toml", &plan(systems, SELECT_UPDATE, &format!("{SHORT}\n{schedule}")));
        let ran = scene.etalon(&["plan", "p.toml"]);
        assert!(ran.code == 2 || ran.code == 3, "{systems}: {}", ran.stderr);
        ran.says(ran.code, texts);
    };
    let one = "url = \"sqlite:x.db\"\nreset = \"none\"";
    let two = "[systems.a]\nurl = \"sqlite:x.db\"\nreset = \"none\"\n[systems.b]\nurl = \"sqlite:x.db\"";
    refused(two, "", &["`reset = \"none\"` of system `a`", "each would work on what the other left"]);
    let there = "[systems.a]\nurl = \"postgres://me@127.0.0.1:9/x\"";
    refused(
        there,
        "caches = \"cold\"",
        &["use `schedule.caches = \"cold\"` with the system `a`", "leave `schedule.caches` out"],
    );
    let scattered = "[systems.a]\nserver = { engine = \"mariadb\" }\nreset = \"restore\"\n\
                     settings = { innodb_log_group_home_dir = \"/var/tmp\" }";
    refused(scattered, "", &["data outside of the folder that would be copied", "reset = \"rebuild\""]);
    scene.write("p.toml", &plan(&format!("[systems.a]\n{one}"), SELECT_UPDATE, SHORT));
    scene.etalon(&["plan", "p.toml"]).says(0, &[]);
}

/// What runs before a run left is no fault of it.
#[test]
fn tables_that_stay_are_held_against_what_each_run_adds() {
    let scene = Scene::new();
    let systems = "[systems.pg]\nserver = { engine = \"postgres\" }\nreset = \"none\"\n\
                   [systems.lite]\nurl = \"sqlite:x.db\"\nreset = \"none\"";
    for workload in ["workload = \"transactions\"\nscript = \"tpcb-like\"\nclients = [1, 2]", SELECT_UPDATE] {
        let text = plan(systems, workload, &SHORT.replace("= 2", "= 3"));
        scene.write("p.toml", &text).etalon(&["run", "p.toml"]).says(0, &[]);
    }
}

#[test]
fn caches_are_emptied_where_the_plan_says_so() {
    let scene = Scene::new();
    let systems = "[systems.pg]\nserver = { engine = \"postgres\" }\nreset = \"restore\"\n\
                   [systems.lite]\nurl = \"sqlite:x.db\"\n[systems.maria]\nserver = { engine = \"mariadb\" }";
    let text = plan(systems, SELECT_UPDATE, &format!("{}\ncaches = \"cold\"", SHORT.replace("= 2", "= 3")));
    let ran = scene.write("p.toml", &text).etalon(&["run", "p.toml"]);
    ran.says(0, &[]);
    assert!(ran.stdout.contains("then the caches were emptied"), "{}", ran.stdout);
    // A cold start is étalon's own, and no change of the server.
    assert!(!ran.stderr.contains("changed during the experiment"), "{}", ran.stderr);
    // As they were loaded, and as they came back first.
    assert_eq!(values(&scene.store(), "read_through_time").len(), 6);
}

/// A metric of every run.
fn values(store: &Path, id: &str) -> Vec<f64> {
    let all = Store::open_read_only(store).unwrap().measurements().unwrap();
    all.iter().filter(|one| one.measurement.metric.id == id).filter_map(|one| one.measurement.reading.value()).collect()
}

#[test]
fn copies_stand_in_the_facts_and_the_store() {
    let scene = Scene::new();
    let server = |folder: &str| format!("server = {{ engine = \"postgres\", folder = \"{folder}\" }}");
    // PostgreSQL runs as another user, if étalon is root.
    host_opens(scene.path());
    let here = server(&scene.path().display().to_string());
    let systems = format!("[systems.kept]\n{here}\nreset = \"clone\"\n[systems.anew]\n{here}\nreset = \"rebuild\"");
    scene.write("p.toml", &plan(&systems, SELECT_UPDATE, SHORT));
    let ran = scene.etalon(&["run", "p.toml"]);
    ran.says(0, &[]);
    let facts = Store::open_read_only(&scene.store()).unwrap().facts().unwrap();
    let fact = |system: &str| {
        let of = facts.iter().find(|(name, _)| name.as_str() == system).unwrap();
        of.1.get("reset").unwrap().to_owned()
    };
    assert_eq!(fact("anew"), "rebuild");
    assert!(fact("kept").starts_with("clone: "), "{}", fact("kept"));
    let kept = values(&scene.store(), "kept_copies");
    assert!(kept.len() == 2 && kept.iter().all(|bytes| (10e6..1e9).contains(bytes)), "{kept:?}");
    assert_eq!(folders_in(scene.path()), 0, "a server was left behind");
}

fn host_opens(folder: &Path) {
    assert!(Command::new("chmod").arg("755").arg(folder).status().unwrap().success());
}

fn folders_in(base: &Path) -> usize {
    let names = std::fs::read_dir(base).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("etalon-postgres")).count()
}

/// What is elsewhere is found by what lies in the usual place.
#[test]
fn a_killed_etalon_s_server_is_found_wherever_it_is() {
    let scene = Scene::new();
    host_opens(scene.path());
    let here = scene.path().display();
    let systems =
        format!("[systems.a]\nserver = {{ engine = \"postgres\", folder = \"{here}\" }}\nreset = \"restore\"");
    scene.write("p.toml", &plan(&systems, SELECT_UPDATE, "rounds = 50\nwarmup = \"0s\"\nduration = \"1s\""));
    let mut etalon = scene.start(&["run", "p.toml"]);
    let started = std::time::Instant::now();
    while folders_in(scene.path()) == 0 && started.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_secs(2));
    etalon.kill().unwrap();
    etalon.wait().unwrap();
    assert_eq!(folders_in(scene.path()), 1);
    scene.etalon(&["doctor", "--clean"]);
    assert_eq!(folders_in(scene.path()), 0, "doctor --clean did not find it");
}

#[test]
fn a_disk_that_fills_in_the_copy_is_told_with_what_helps() {
    let scene = Scene::new();
    let Some(disk) = SmallDisk::mount(scene.path(), "size=180m,mode=0755") else {
        return eprintln!("skipped: mounting takes root");
    };
    host_opens(scene.path());
    let settings = "settings = { max_wal_size = \"32MB\", min_wal_size = \"32MB\", wal_recycle = false }";
    let here = disk.0.display();
    let system = format!("[systems.a]\nserver = {{ engine = \"postgres\", folder = \"{here}\" }}\n{settings}\n");
    let of = |reset: &str| {
        scene.write(
            "p.toml",
            &plan(
                &format!("{system}reset = \"{reset}\""),
                &format!("{SELECT_UPDATE}\nscale = 4"),
                &SHORT.replace("= 2", "= 1"),
            ),
        );
        scene.etalon(&["run", "p.toml"])
    };
    of("restore").says(3, &["copy the data that are kept", "reset = \"rebuild\""]);
    assert_eq!(folders_in(&disk.0), 0, "étalon left something on the full disk");
    of("rebuild").says(0, &[]);
    assert!(Command::new("ls").arg(&disk.0).output().unwrap().stdout.is_empty());
}

/// The same server on both sides, of which one has its tables copied and one has them loaded: no difference may be found.
#[test]
fn what_is_copied_is_as_fast_as_what_is_loaded() {
    if !is_slow() {
        return eprintln!("skipped: ETALON_SLOW=1 runs it");
    }
    let scene = Scene::new();
    let server = "server = { engine = \"postgres\" }\nsettings = { max_wal_size = \"4GB\" }";
    for copied in ["clone", "restore"] {
        let systems =
            format!("[systems.anew]\n{server}\nreset = \"rebuild\"\n[systems.copied]\n{server}\nreset = \"{copied}\"");
        let workload = "workload = \"transactions\"\nscript = \"tpcb-like\"\nscale = 20\nclients = 4";
        let schedule = "rounds = 10\nwarmup = \"2s\"\nduration = \"8s\"";
        scene.write("p.toml", &plan(&systems, workload, schedule));
        let ran = scene.etalon(&["run", "p.toml", "--json", "--quiet"]);
        ran.says(0, &[]);
        let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        for row in told["comparisons"].as_array().unwrap().iter().filter(|row| row["role"] == "primary") {
            println!("{copied}: {} {} {}", row["metric"], row["ratio"], row["verdict"]);
            assert!(row["verdict"] == "equivalent" || row["verdict"] == "inconclusive", "{copied}: {row}");
        }
    }
}
