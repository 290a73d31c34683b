//! Several agents make one load: what each did adds up, and nothing is counted twice.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use conductor::{ExperimentEnd, Registry};
use fleet::{Agent, AgentOptions};
use load::generator::{AtOnce, LoadGenerator as _, LoadSpec, Loaded, Local, segments};
use load::observer::{Observer, Silent, Tick};
use load::series::Latencies;
use model::{PlannedRun, SeriesKind};
use workloads::order_entry::OrderEntryWorkload;
use workloads::permits::NamedPermits;
use workloads::system::{Consent, OpenRequest};
use workloads::workload::{Action, Grants};

use crate::scene::{Nats, values};
use crate::stored::create;

/// Two agents that may reach a third with private servers.
fn with_a_server(nats: &Nats, engine: &str) -> ([Agent; 2], Agent) {
    let clients =
        ["a", "b"].map(|name| nats.agent_that_allows(name, |named| named.allow_address("127.0.0.2").unwrap()));
    let mut allow = NamedPermits::default();
    allow.allow_server(engine, None).unwrap();
    let listen = Some("127.0.0.2".to_owned());
    (clients, nats.agent_with("srv", |options| AgentOptions { listen, allow, ..options }))
}

#[test]
fn two_agents_at_a_rate_are_counted_once_each_at_the_server() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_agents, _srv) = with_a_server(&nats, "postgres");
    if !has("postgres") {
        eprintln!("skipped: there is no PostgreSQL to start");
        return;
    }
    let plan = nats.plan(
        "[systems.pg]\nserver = { engine = \"postgres\", connect = \"tcp\" }\nhost = \"srv\"\n[[benchmarks]]\n\
         workload = \"transactions\"\nscript = \"select-update\"\nclients = 4\nrate = 200\nclients_on = [\"a\", \"b\"]\n\
         [schedule]\nrounds = 1\nwarmup = \"500ms\"\nduration = \"3s\"\n",
    );
    let mut store = create(&folder.path().join("0.etalon"), &plan);
    let mut rates = Vec::new();
    // A machine that is too busy for the rate is asked again.
    let is_kept = |(a, both): &(f64, f64)| (both / a - 2.0).abs() < 0.04 && (both - 200.0).abs() < 4.0;
    while rates.len() < 4 && !rates.iter().any(is_kept) {
        store = create(&folder.path().join(format!("{}.etalon", 1 + rates.len())), &plan);
        assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
        let [a, b, both] = ["throughput_on_a", "throughput_on_b", "throughput"].map(|metric| values(&store, metric)[0]);
        assert!((a + b - both).abs() < 1e-6 * both, "{a} + {b} = {both}");
        rates.push((a, both));
    }
    assert!(rates.iter().any(is_kept), "{rates:?}");
    let both = values(&store, "throughput")[0];
    // The server's sum agreed with the clients' count, or the run had failed.
    assert_eq!(values(&store, "errors"), [0.0]);
    assert!(values(&store, "server_commits")[0] >= both * 3.0);
    let skew_us = values(&store, "start_skew")[0];
    assert!(skew_us < 20_000.0, "{skew_us} µs between the starts");
    eprintln!("start skew at most {skew_us:.0} µs");
}

#[test]
fn orders_are_entered_by_two_agents_and_checked_at_the_server() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_agents, _srv) = with_a_server(&nats, "postgres");
    if !has("postgres") {
        eprintln!("skipped: there is no PostgreSQL to start");
        return;
    }
    let plan = nats.plan(
        "[systems.pg]\nserver = { engine = \"postgres\", connect = \"tcp\" }\nhost = \"srv\"\n[[benchmarks]]\n\
         workload = \"order-entry\"\nwarehouses = 1\nclients = 2\nclients_on = [\"a\", \"b\"]\n\
         [schedule]\nrounds = 1\nwarmup = \"200ms\"\nduration = \"2s\"\n",
    );
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    assert!(values(&store, "nopm")[0] > 0.0);
    assert_eq!(values(&store, "conditions_held"), [6.0]);
}

/// Stock that is taken twice, which no quick condition finds.
static TWICE: OrderEntryWorkload = OrderEntryWorkload {
    name: "order-entry-twice",
    items: 1_000,
    customers: 120,
    alter: |texts| texts.iter_mut().for_each(|text| *text = text.replace("s_order_cnt + 1", "s_order_cnt + 2")),
    ..OrderEntryWorkload::BUILT_IN
};

/// Whether one agent makes the load or several do.
#[test]
fn tables_at_an_agent_are_held_against_all_conditions_in_a_case_s_first_run() {
    let Some(mut nats) = Nats::start() else { return };
    nats.registry = || Registry::built_in().with_workload(&TWICE);
    let folder = tempfile::tempdir().unwrap();
    let (_agents, _srv) = with_a_server(&nats, "postgres");
    if !has("postgres") {
        eprintln!("skipped: there is no PostgreSQL to start");
        return;
    }
    for (number, clients_on) in ["\"a\"", "[\"a\", \"b\"]"].into_iter().enumerate() {
        let plan = nats.plan(&format!(
            "[systems.pg]\nserver = {{ engine = \"postgres\", connect = \"tcp\" }}\nhost = \"srv\"\n[[benchmarks]]\n\
             workload = \"order-entry-twice\"\nwarehouses = 1\nclients = 2\nclients_on = {clients_on}\n[schedule]\n\
             rounds = 1\non_error = \"continue\"\nwarmup = \"200ms\"\nduration = \"1s\"\n",
        ));
        let mut store = create(&folder.path().join(format!("{number}.etalon")), &plan);
        let ended = nats.conduct(&plan, &mut store, &mut Silent);
        let reason = store.runs().unwrap().into_iter().find_map(|run| run.reason).unwrap_or_default();
        assert!(reason.contains("condition of stock"), "{clients_on}: {reason}, {ended:?}");
    }
}

#[test]
fn mysql_is_loaded_by_two_agents_and_counted_at_the_server() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_agents, _srv) = with_a_server(&nats, "mariadb");
    if !has("mariadb") {
        eprintln!("skipped: there is no MariaDB to start");
        return;
    }
    let plan = nats.plan(
        "[systems.my]\nserver = { engine = \"mariadb\", connect = \"tcp\" }\nhost = \"srv\"\n[[benchmarks]]\n\
         workload = \"transactions\"\nscript = \"select-update\"\nclients = 4\nclients_on = [\"a\", \"b\"]\n\
         [schedule]\nrounds = 2\nwarmup = \"200ms\"\nduration = \"3s\"\n",
    );
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    assert_eq!(nats.conduct(&plan, &mut store, &mut Silent).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let (a, b, both) =
        (values(&store, "throughput_on_a"), values(&store, "throughput_on_b"), values(&store, "throughput"));
    assert_eq!(both.len(), 2);
    for ((a, b), both) in a.iter().zip(&b).zip(&both) {
        assert!(*a > 0.0 && *b > 0.0 && (a + b - both).abs() < 1e-6 * both, "{a} + {b} = {both}");
    }
    // The sum of the rows agreed with the clients' count: no run is marked as unchecked.
    assert!(store.marks().unwrap().iter().all(|(_, mark)| !mark.detail.contains("was not checked")));
    let facts = store.facts().unwrap();
    assert!(facts["my"].get("server.version").is_some(), "{facts:?}");
    let server_us = values(&store, "server_cpu_per_tx");
    assert_eq!(server_us.len(), 2, "the server's CPU time is read on its own host");
    for host in ["srv", "a", "b"] {
        let [other_load, busy, cores] = ["other_load", "machine_busy_share", "machine_cores"]
            .map(|metric| values(&store, &format!("{metric}_on_{host}")));
        assert_eq!(other_load.len(), 2, "{host} looks at its machine");
        for run in 0..2 {
            // All hosts are this one: neither the server nor the three agents are anybody's strangers. The machine is looked
            // at for longer than what is measured, much longer where it is busy with other tests.
            let taken_us = server_us[run] + values(&store, "client_cpu_per_tx")[run];
            let left = busy[run] * cores[run] - 0.4 * taken_us * both[run] / 1e6;
            assert!(other_load[run] <= left, "{host}: {} of {left}", other_load[run]);
        }
    }
}

/// Whether a private server of that name can be started here.
fn has(name: &str) -> bool {
    let catalog = Registry::built_in().catalog();
    let system = model::SystemPlan {
        name: "here".to_owned(),
        engine: catalog.engine_of_server(name).map(|engine| engine.name.to_owned()).unwrap_or_default(),
        server: Some(model::PrivateServer { engine: name.to_owned(), ..model::PrivateServer::default() }),
        ..model::SystemPlan::default()
    };
    match Registry::built_in().open_system(&OpenRequest::new(&system, Consent::OwnOnly)) {
        Ok(opened) => {
            opened.drop_all().unwrap();
            true
        }
        Err(_) => false,
    }
}

/// Notes when the run began and when its load was first seen.
struct Watch {
    began: Option<Instant>,
}

impl Observer for Watch {
    fn run_started(&mut self, _: &PlannedRun, _: &model::Case, _: load::observer::ExperimentProgress) {
        self.began = Some(Instant::now());
    }

    fn tick(&mut self, _: Tick) {}
}

#[test]
fn a_hundred_agents_merge_to_what_one_process_has() {
    const AGENTS: usize = 100;
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..AGENTS).map(|number| format!("n{number:03}")).collect();
    let agents: Vec<_> = names.iter().map(|name| nats.agent(name)).collect();
    let on = serde_json::to_string(&names).unwrap();
    let plan = nats.plan(&format!(
        "[systems.s]\nurl = \"sim:?service_us=300\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-only\"\n\
         clients = 200\nclients_on = {on}\n[schedule]\nrounds = 1\nwarmup = \"50ms\"\nduration = \"200ms\"\nseed = 11\n"
    ));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let mut watch = Watch { began: None };
    assert_eq!(nats.conduct(&plan, &mut store, &mut watch).unwrap(), ExperimentEnd::Complete { failed: 0 });
    drop(agents);
    let took = watch.began.unwrap().elapsed();
    // Virtual time: all of it is preparing, starting, fetching and merging.
    eprintln!("100 agents: {:.2} s from the run's begin to the experiment's end", took.as_secs_f64());
    assert!(took < Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 2 }), "{took:?}");

    // The same segments in this process, one after the other.
    let registry = Registry::built_in();
    let case = &plan.cases()[0];
    let task = registry.workload(&case.workload).unwrap().make_task(&case.point, &Grants::default()).unwrap();
    let Action::Stream(stream) = &task.action else { panic!() };
    let system = registry.open_system(&OpenRequest::new(&plan.systems[0], Consent::OwnOnly)).unwrap();
    let interrupt = AtomicBool::new(false);
    let seed = load::rng::Rng::of_transaction(plan.schedule.seed, 0, 0).next_u64();
    let here = stream.work.on_system(&*system);
    let spec = LoadSpec { shape: &stream.shape, schedule: &plan.schedule, seed, interrupt: &interrupt };
    let mut whole: Option<Latencies> = None;
    for (name, segment) in names.iter().zip(segments(&stream.shape, AGENTS).unwrap()) {
        let generator = Local::new(&here).of_several(name, segment, &AtOnce);
        let Loaded::Done(shares) = generator.run_load(&spec, &mut Silent).unwrap() else { panic!() };
        for share in shares {
            match &mut whole {
                Some(whole) => whole.merge(share.latencies),
                None => whole = Some(share.latencies),
            }
        }
    }
    let whole = whole.unwrap();
    let run = store.runs().unwrap()[0].id;
    let mut stored = store.series_of(run).unwrap();
    stored.sort_by(|a, b| (&a.host, a.kind.as_str(), a.interval).cmp(&(&b.host, b.kind.as_str(), b.interval)));
    let mut expected = whole.series.clone();
    expected.sort_by(|a, b| (&a.host, a.kind.as_str(), a.interval).cmp(&(&b.host, b.kind.as_str(), b.interval)));
    assert_eq!(stored, expected, "every host's histograms are those of its segment");
    assert_eq!(stored.iter().filter(|one| one.kind == SeriesKind::Response && one.interval.is_none()).count(), AGENTS);
    for (metric, quantile) in [("response_p50", 0.5), ("response_p99", 0.99)] {
        let merged_us = whole.response.quantile_ns(quantile).unwrap() as f64 / 1e3;
        assert_eq!(values(&store, metric), [merged_us], "{metric} of the merged histogram");
    }
    assert_eq!(values(&store, "response_max"), [whole.response.max_ns().unwrap() as f64 / 1e3]);
}
