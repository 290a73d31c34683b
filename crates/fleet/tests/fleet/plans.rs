//! Whole experiments by way of agents.

use conductor::{Conductor, ExperimentEnd, Registry};
use load::observer::Silent;
use model::{RunState, SeriesKind};

use crate::scene::{Nats, options, parse, values};
use crate::stored::create;

const SIM: &str = "[systems.s]\nurl = \"sim:?service_us=300&noise=0\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
                   script = \"select-only\"\nclients = 4\nCLIENTS\n[schedule]\nrounds = 2\nwarmup = \"100ms\"\nduration = \"1s\"\n";

fn sim(clients: &str) -> String {
    SIM.replace("CLIENTS", clients)
}

#[test]
fn one_agent_leaves_the_same_records_as_the_local_run() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _agent = nats.agent("a");
    let plan = nats.plan(&sim("clients_on = \"a\""));
    let mut by_agent = create(&folder.path().join("agent.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut by_agent, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let plan = parse(&sim(""));
    let mut local = create(&folder.path().join("local.etalon"), &plan);
    let ended = Conductor::new(&Registry::built_in(), &plan, &mut local, options()).run_all(&mut Silent).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    // Time is virtual: what was measured is the same to the last digit.
    for metric in ["throughput", "response_p50", "response_p99", "response_max", "service_mean", "errors"] {
        assert_eq!(values(&by_agent, metric), values(&local, metric), "{metric}");
    }
    assert_eq!(values(&by_agent, "throughput_on_a"), values(&local, "throughput"));
    assert_eq!(series_of_measured_runs(&by_agent), series_of_measured_runs(&local));
    let first = by_agent.runs().unwrap()[0].id;
    let series = by_agent.series_of(first).unwrap();
    assert!(series.iter().all(|one| one.host == "a") && series.iter().any(|one| one.kind == SeriesKind::Response));
}

/// All series of the measured runs, without the names of their hosts.
fn series_of_measured_runs(store: &store::Store) -> Vec<model::Series> {
    let measured = store.runs().unwrap().into_iter().filter(|run| run.state == RunState::Measured);
    let all = measured.flat_map(|run| store.series_of(run.id).unwrap());
    all.map(|series| model::Series { host: String::new(), ..series }).collect()
}

#[test]
fn a_system_on_an_agents_host_is_prepared_run_and_removed_there() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("there.db");
    let agent = nats.agent_that_allows("srv", |named| named.allow_folder(folder.path()).unwrap());
    let plan = nats.plan(&format!(
        "[systems.there]\nurl = \"sqlite:{}\"\nhost = \"srv\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-update\"\n[schedule]\nrounds = 1\nwarmup = \"100ms\"\nduration = \"500ms\"\n",
        database.display()
    ));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert!(values(&store, "throughput")[0] > 0.0);
    assert_eq!(values(&store, "prepare_time").len(), 1);
    assert_eq!(values(&store, "other_load_on_srv").len(), 1, "it looks at its machine");
    let facts = store.facts().unwrap();
    assert_eq!(facts["there"].get("host.host.agent").or(facts["there"].get("host.agent")), Some("srv"));
    let series = store.series_of(store.runs().unwrap()[0].id).unwrap();
    assert!(!series.is_empty() && series.iter().all(|one| one.host == "srv"), "{series:?}");
    drop(agent);
    assert!(!database.exists(), "what étalon made is removed");
}

#[test]
fn couples_are_a_factor_of_the_comparison() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _agents = ["a", "b"].map(|name| nats.agent(name));
    let plan = nats.plan(&sim("clients_on = [\"a\", \"b\"]\ncouples = \"all\""));
    assert_eq!(plan.cases().len(), 2);
    assert_eq!(plan.varying_keys("select-only"), ["clients_on"]);
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert_eq!(values(&store, "throughput_on_a").len(), 2);
    assert_eq!(values(&store, "throughput_on_b").len(), 2);
}
