//! Honest plans at an agent that was given the flags for them.

use crate::hostile::agent;
use crate::nats::Nats;
use crate::scene::Scene;

fn run(scene: &Scene, nats: &Nats, plan: &str) -> String {
    let fleet = format!("name = \"honest\"\n[fleet]\nnats = \"{}\"\npatience = \"10s\"\n", nats.url());
    scene.write("plan.toml", &format!("{fleet}{plan}"));
    let ran = scene.etalon(&["run", "plan.toml", "--quiet"]);
    let log = std::fs::read_to_string(scene.path().join("agent.log")).unwrap();
    assert_eq!(ran.code, 0, "{}{}\n{log}", ran.stdout, ran.stderr);
    ran.stdout
}

const SCHEDULE: &str = "[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"500ms\"\n";

#[test]
fn private_servers_run_every_family_with_a_role_of_few_rights() {
    let nats = Nats::open();
    let scene = Scene::new();
    let _agent = agent(&scene, &nats, &["--allow-server", "postgres", "--allow-server", "mariadb"]);
    for (engine, setting) in [("postgres", "fsync = \"off\""), ("mariadb", "innodb_flush_log_at_trx_commit = 2")] {
        run(
            &scene,
            &nats,
            &format!(
                "[systems.s]\nserver = {{ engine = \"{engine}\" }}\nhost = \"victim\"\nsettings = {{ {setting} }}\n\
                 [[benchmarks]]\nworkload = \"transactions\"\nscript = \"tpcb-like\"\n\
                 [[benchmarks]]\nworkload = \"backup\"\nsize_mib = 4\n\
                 [[benchmarks]]\nworkload = \"pages\"\nstatements = 10\nrows = 4\n\
                 [[benchmarks]]\nworkload = \"spatial\"\nside = 8\nruns = 1\ncold = false\nqueries = \"S1, S4\"\n{SCHEDULE}"
            ),
        );
    }
}

#[test]
fn files_of_an_allowed_folder_are_measured_and_removed() {
    let nats = Nats::open();
    let scene = Scene::new();
    let inside = scene.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let shown = inside.display().to_string();
    let _agent = agent(&scene, &nats, &["--allow-dir", &shown]);
    run(
        &scene,
        &nats,
        &format!(
            "[systems.s]\nurl = \"sqlite:{shown}/new/own.db\"\nhost = \"victim\"\nsettings = {{ journal_mode = \"WAL\" }}\n\
             [[benchmarks]]\nworkload = \"transactions\"\nscript = \"tpcb-like\"\n\
             [[benchmarks]]\nworkload = \"backup\"\nsize_mib = 4\nmethod = \"vacuum-into\"\nfolder = \"{shown}\"\n\
             [[benchmarks]]\nworkload = \"pages\"\nstatements = 10\nrows = 4\n{SCHEDULE}"
        ),
    );
    run(
        &scene,
        &nats,
        &format!(
            "[systems.s]\nurl = \"disk:{shown}/blocks\"\nhost = \"victim\"\n[[benchmarks]]\nworkload = \"disk\"\n\
             targets = \"a.dat, b.dat\"\nsize_mb = 4\n{SCHEDULE}"
        ),
    );
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 0, "what étalon made is removed");
}
