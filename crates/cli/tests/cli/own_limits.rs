//! Étalon at its own limits: under a quota of processor time, and stopped in the middle of a run.

use std::process::{Command, Stdio};
use std::time::Duration;

use host::process::{Bounds, Limit, LimitTarget};
use model::{MarkKind, Reading};
use store::Store;

use crate::scene::Scene;
use crate::server::{ROLE, Server};

fn plan(systems: &str, clients: u32, schedule: &str) -> String {
    format!(
        "{systems}\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select.sql\"\ntables = \"none\"\n\
         clients = {clients}\n[schedule]\nrounds = 1\n{schedule}\n"
    )
}

fn systems(server: &Server) -> String {
    format!("[systems.a]\nurl = \"postgres://{ROLE}@/postgres?host={}\"\n", server.folder().display())
}

fn marks(store: &Store) -> Vec<(MarkKind, String)> {
    store.marks().unwrap().into_iter().map(|(_, mark)| (mark.kind, mark.detail)).collect()
}

#[test]
fn a_load_generator_at_its_quota_is_saturated() {
    let (scene, server) = (Scene::new(), Server::start(&[]));
    scene.write("select.sql", "SELECT 1;\n");
    scene.write("plan.toml", &plan(&systems(&server), 8, "warmup = \"2s\"\nduration = \"4s\""));
    let mut child =
        scene.command(&["--quiet", "run", "plan.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let limit = match Limit::apply(LimitTarget::Tree(child.id()), &Bounds::of_cores(0.15)) {
        Ok(limit) => limit,
        Err(error) => {
            child.kill().unwrap();
            child.wait().unwrap();
            return println!("skipped: {error}");
        }
    };
    assert!(child.wait().unwrap().success());
    drop(limit);
    let store = Store::open_read_only(&scene.store()).unwrap();
    let found = marks(&store);
    let saturated = found.iter().find(|(kind, _)| *kind == MarkKind::ClientSaturated);
    let (_, detail) = saturated.unwrap_or_else(|| panic!("{found:?}"));
    assert!(detail.ends_with("% of the 0.15 cores that they may use"), "{detail}");
    let all = store.measurements().unwrap();
    let share = &all.iter().find(|row| row.measurement.metric.id == "client_busy_share").unwrap().measurement.reading;
    assert!(matches!(share, Reading::Value(share) if (0.8..1.2).contains(share)), "{share:?}");
}

/// Stops and continues an étalon by its id while it runs, each time for so long, and gives what the mark says.
fn mark_of_stops(scene: &Scene, plan: &str, stops: u32, each: Duration) -> String {
    scene.write("plan.toml", plan);
    let mut child =
        scene.command(&["--quiet", "run", "plan.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let signal = |name: &str| Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success();
    std::thread::sleep(Duration::from_millis(2_500));
    for _ in 0..stops {
        assert!(signal("-STOP"));
        std::thread::sleep(each);
        assert!(signal("-CONT"));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(child.wait().unwrap().success());
    let found = marks(&Store::open_read_only(&scene.store()).unwrap());
    let paused = found.iter().find(|(kind, _)| *kind == MarkKind::Paused);
    let (kind, detail) = paused.unwrap_or_else(|| panic!("{found:?}"));
    assert!(kind.voids_verdict(), "{detail}");
    detail.clone()
}

#[test]
fn many_short_stops_of_etalon_void_a_run() {
    let (scene, server) = (Scene::new(), Server::start(&[]));
    scene.write("select.sql", "SELECT 1;\n");
    let plan = plan(&systems(&server), 1, "warmup = \"0s\"\nduration = \"5s\"");
    mark_of_stops(&scene, &plan, 20, Duration::from_millis(80));
    // Queries, too.
    let scene = Scene::new();
    scene.write("select.sql", "SELECT pg_sleep(0.02);\n");
    let queries = plan.replace("workload = \"transactions\"\nscript", "workload = \"queries\"\nfiles");
    mark_of_stops(&scene, &queries.replace("tables = \"none\"\n", ""), 20, Duration::from_millis(80));
}

#[test]
fn a_pause_of_etalon_voids_the_run_it_fell_into() {
    let (scene, server) = (Scene::new(), Server::start(&[]));
    scene.write("select.sql", "SELECT 1;\n");
    let plan = plan(&systems(&server), 1, "warmup = \"0s\"\nduration = \"5s\"");
    let detail = mark_of_stops(&scene, &plan, 1, Duration::from_secs(2));
    assert!(detail.contains("of 5.00 s: it was stopped"), "{detail}");
    assert!(
        detail.starts_with("étalon stood still for 1.") || detail.starts_with("étalon stood still for 2."),
        "{detail}"
    );
}
