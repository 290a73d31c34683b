//! What other programs do while étalon measures: seen, marked on the runs and named; the servers that it measures are no
//! others, whoever started them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use model::{MarkKind, Reading};
use store::Store;

use crate::scene::Scene;
use crate::server::{ROLE, Server};

/// Programs that burn processor time. They end by themselves, whatever becomes of the test.
struct Burners {
    name: String,
    processes: Vec<Child>,
}

impl Burners {
    /// Shells by a name of their own, so that nothing else on the machine has it.
    fn start(folder: &Path) -> Burners {
        let name = format!("burn-{}", std::process::id());
        let link = folder.join(&name);
        fs::copy("/bin/sh", &link).unwrap();
        let burn =
            || Command::new(&link).args(["-c", "i=0; while [ $i -lt 60000000 ]; do i=$((i+1)); done"]).spawn().unwrap();
        Burners { name, processes: vec![burn(), burn()] }
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

struct Seen {
    other_load: Reading,
    busy_cores: f64,
    /// What the load generator used, and a private server.
    own_cores: f64,
    marks: Vec<(MarkKind, String)>,
    length_s: f64,
}

/// Of the only run.
fn seen(store: &Path) -> Seen {
    let store = Store::open_read_only(store).unwrap();
    let all = store.measurements().unwrap();
    let reading = |id: &str| {
        let found = all.iter().find(|row| row.measurement.metric.id == id);
        found.unwrap_or_else(|| panic!("{id} is not among the measurements")).measurement.reading.clone()
    };
    let value = |id: &str| reading(id).value();
    let per_tx = [value("client_cpu_per_tx"), value("server_cpu_per_tx")].into_iter().flatten().sum::<f64>();
    Seen {
        other_load: reading("other_load"),
        busy_cores: value("machine_busy_share").unwrap() * value("machine_cores").unwrap(),
        own_cores: per_tx / 1e6 * value("throughput").unwrap(),
        marks: store.marks().unwrap().into_iter().map(|(_, mark)| (mark.kind, mark.detail)).collect(),
        length_s: store.runs().unwrap()[0].elapsed_s,
    }
}

fn run(scene: &Scene, systems: &str) -> Seen {
    scene.write("select.sql", "SELECT 1;\n").write(
        "plan.toml",
        &format!(
            "{systems}\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select.sql\"\ntables = \"none\"\n\
             clients = 2\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"2s\"\n"
        ),
    );
    let _ = fs::remove_dir_all(scene.path().join("etalon-results"));
    scene.etalon(&["--quiet", "run", "plan.toml"]).says(0, &[]);
    seen(&scene.store())
}

/// What is left of the busy processors for others must hold what they are said to have used. If the server counted among
/// them, it never would; on a busy machine étalon's share is uncertain, and it is asked again. `run` gives what was seen with the
/// cores that étalon and its server used.
fn assert_not_among_the_others(mut run: impl FnMut() -> (Seen, f64)) {
    let mut told = Vec::new();
    for _ in 0..5 {
        let (seen, own_cores) = run();
        let Reading::Value(other_load) = seen.other_load else { panic!("{:?}", seen.other_load) };
        if other_load <= seen.busy_cores - 0.7 * own_cores {
            return;
        }
        told.push(format!("{other_load} of {} busy cores, {own_cores} of them its own", seen.busy_cores));
    }
    panic!("{}", told.join("; "));
}

#[test]
fn a_strangers_load_marks_the_run_and_a_server_by_url_is_no_stranger() {
    let (scene, server) = (Scene::new(), Server::start(&[]));
    let systems = format!("[systems.a]\nurl = \"postgres://{ROLE}@/postgres?host={}\"\n", server.folder().display());
    let used = || host::process::tree_cpu(server.pid()).unwrap();
    assert_not_among_the_others(|| {
        let before = used();
        let quiet = run(&scene, &systems);
        // The whole tree's, since étalon was its only client.
        let server_cores = (used() - before).as_secs_f64() / quiet.length_s;
        assert!(server_cores > 0.1, "the server did something: {server_cores}");
        let own_cores = quiet.own_cores + server_cores;
        (quiet, own_cores)
    });

    let burners = Burners::start(scene.path());
    let burnt = run(&scene, &systems);
    let marked = burnt.marks.iter().find(|(kind, _)| *kind == MarkKind::MachineBusy);
    let (_, detail) = marked.unwrap_or_else(|| panic!("{:?}", burnt.marks));
    assert!(detail.contains("used by others") && detail.contains(&burners.name), "{detail}");
    assert!(!detail.contains("-lt"), "names only, never arguments: {detail}");
    drop(burners);
    let told = scene.etalon(&["compare", scene.store().to_str().unwrap()]);
    assert!(told.stdout.contains("note: during the runs: busy machine in 1 of 1 run"), "{}", told.stdout);
}

#[test]
fn a_private_server_is_no_stranger() {
    let scene = Scene::new();
    assert_not_among_the_others(|| {
        let seen = run(&scene, "[systems.a]\nserver = { engine = \"postgres\" }\n");
        assert!(seen.own_cores > 0.1, "{}", seen.own_cores);
        let own_cores = seen.own_cores;
        (seen, own_cores)
    });
}
