//! The highest load that keeps a promise, sought in simulated queues whose knee is known.

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "shared/stored.rs"]
mod stored;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use conductor::experiment::ExperimentOptions;
use conductor::{Conductor, ExperimentEnd, ExperimentError, Registry};
use load::observer::Silent;
use model::{LoadPoint, MarkKind, Plan, Reading, Role};
use store::Store;
use stored::create;
use workloads::system::Consent;

fn plan(url: &str, benchmark: &str, schedule: &str) -> Plan {
    plan_of(url, 64, benchmark, schedule)
}

fn plan_of(url: &str, clients: u32, benchmark: &str, schedule: &str) -> Plan {
    let text = format!(
        "[systems.a]\nurl = \"sim:?{url}\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-only\"\n\
         clients = {clients}\narrivals = \"poisson\"\n{benchmark}\n[schedule]\nwarmup = \"1s\"\n{schedule}"
    );
    Plan::parse(&text, "test.toml", &model::plan::Changes::default(), &Registry::built_in().catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .0
}

fn conduct(plan: &Plan, store: &mut Store) -> Result<ExperimentEnd, ExperimentError> {
    let options = ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)));
    Conductor::new(&Registry::built_in(), plan, store, options).run_all(&mut Silent)
}

fn capacities(store: &Store) -> Vec<Reading> {
    let found = store.measurements().unwrap().into_iter().map(|row| row.measurement);
    let found = found.filter(|measurement| measurement.metric.id == model::metric::CAPACITY);
    found.inspect(|found| assert_eq!(found.metric.role, Role::Primary)).map(|found| found.reading).collect()
}

/// 200 with `ETALON_SEARCHES=200`.
fn searches() -> u32 {
    std::env::var("ETALON_SEARCHES").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

/// One server with exponential times: 99 of 100 responses come within ln(100) / (service rate - rate).
#[test]
fn the_knee_of_a_known_queue_is_found_in_eight_short_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rounds = searches();
    let plan = plan(
        "service_us=200&spread=1&servers=1&noise=0",
        "promise = { response_p99 = \"5ms\" }",
        &format!("rounds = {rounds}\nduration = \"10s\""),
    );
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    assert_eq!(conduct(&plan, &mut store).unwrap(), ExperimentEnd::Complete { failed: 0 });
    let knee = 5_000.0 - 100.0_f64.ln() / 0.005;
    let off: Vec<f64> = capacities(&store).iter().map(|found| found.value().unwrap() / knee - 1.0).collect();
    let near = off.iter().filter(|off| off.abs() <= 0.03).count();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    eprintln!("{near} of {rounds} searches within 3 % of {knee:.0} tx/s, {:+.2} % on average", mean * 100.0);
    assert_eq!(off.len(), rounds as usize);
    assert!(near * 100 >= off.len() * 95, "{off:?}");
    let points = store.load_points().unwrap();
    let mut runs: Vec<i64> = points.iter().map(|(run, _)| *run).collect();
    runs.dedup();
    let of = |run: i64| points.iter().filter(move |(own, _)| *own == run).map(|(_, point)| point);
    assert!(runs.iter().all(|run| (2..=9).contains(&of(*run).count())), "{points:?}");
    let closed: Vec<&LoadPoint> = points.iter().map(|(_, point)| point).filter(|point| point.rate.is_none()).collect();
    assert_eq!(closed.len(), runs.len());
    assert!(closed.iter().all(|point| (4_800.0..5_200.0).contains(&point.throughput) && point.is_kept.is_none()));
}

/// One client of a system of sixteen servers reaches the knee of one of them, and 256 reach that of all; 32 fill them twice over,
/// so that more would only wait there. In a stall, too, operations wait for a client. What takes over half of the promised time
/// by itself may take longer beside more of its kind.
#[test]
fn too_few_clients_are_told_from_a_system_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let knee_of_one = 1_000.0 - 100.0_f64.ln() / 0.02;
    for (name, system, clients, is_told) in [
        ("one", "service_us=1000&servers=16", 1, true),
        // Some 250 operations in a short run: too few for a p99.
        ("slow", "service_us=4000&servers=16&spread=0", 1, true),
        ("four", "service_us=1000&servers=16", 4, true),
        ("enough", "service_us=1000&servers=16", 256, false),
        ("twice", "service_us=1000&servers=16", 32, false),
        ("one-more", "service_us=1000&servers=3", 4, false),
        ("queue", "service_us=200&servers=1", 16, false),
        ("near", "service_us=12000&servers=16&spread=0", 8, false),
        ("stall", "service_us=1000&servers=16&stall_at_ms=3000&stall_ms=300", 12, false),
    ] {
        let url = format!("spread=1&noise=0&{system}");
        let promise = "promise = { response_p99 = \"20ms\" }";
        let plan = plan_of(&url, clients, promise, "rounds = 2\nduration = \"5s\"");
        let mut store = create(&folder.path().join(format!("{name}.etalon")), &plan);
        conduct(&plan, &mut store).unwrap();
        let marks = store.marks().unwrap();
        let told: Vec<&str> = marks
            .iter()
            .filter(|(_, mark)| mark.kind == MarkKind::TooFewClients)
            .map(|(_, mark)| &*mark.detail)
            .collect();
        assert_eq!(told.len(), if is_told { 2 } else { 0 }, "{name}: {marks:?} {:?}", store.load_points().unwrap());
        assert!(told.iter().all(|detail| detail.ends_with("More `clients` may carry more")), "{told:?}");
        let found: Vec<f64> = capacities(&store).iter().filter_map(Reading::value).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let knee = match name {
            "one" => Some(knee_of_one),
            "enough" => Some(15_000.0 + knee_of_one),
            _ => None,
        };
        assert!(knee.is_none_or(|knee| (mean / knee - 1.0).abs() < 0.05), "{name}: {mean}");
    }
}

/// The knee lies at 269.7 a second: 1,080 operations in a short run of four seconds, 5,000 in one of 19, and 2,700 in the longest
/// that one of a second may become.
#[test]
fn short_runs_are_lengthened_until_operations_suffice() {
    let folder = tempfile::tempdir().unwrap();
    let knee = 500.0 - 100.0_f64.ln() / 0.02;
    for (length, is_marked) in [("1s", true), ("4s", false), ("30s", false)] {
        let plan = plan(
            "service_us=2000&spread=1&servers=1&noise=0",
            "promise = { response_p99 = \"20ms\" }",
            &format!("rounds = {}\nduration = \"{length}\"", searches()),
        );
        let mut store = create(&folder.path().join(format!("{length}.etalon")), &plan);
        conduct(&plan, &mut store).unwrap();
        let found: Vec<f64> = capacities(&store).iter().filter_map(Reading::value).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        eprintln!("short runs of {length}: {mean:.1} tx/s on average of {}, the knee is {knee:.1}", found.len());
        let marks = store.marks().unwrap();
        let few: Vec<&str> = marks
            .iter()
            .filter(|(_, mark)| mark.kind == MarkKind::TooFewOperations)
            .map(|(_, mark)| &*mark.detail)
            .collect();
        assert_eq!(few.len(), if is_marked { found.len() } else { 0 }, "{few:?}");
        assert!(few.iter().all(|detail| detail.contains("with fewer than 5000")), "{few:?}");
        assert!(is_marked || (mean / knee - 1.0).abs() < 0.02, "{mean} of {knee}");
        assert!(MarkKind::TooFewOperations.voids_verdict());
    }
}

#[test]
fn a_promise_that_nothing_keeps_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(
        "service_us=3000&spread=0&servers=1&noise=0",
        "promise = { response_p99 = \"2ms\" }",
        "rounds = 1\nduration = \"2s\"",
    );
    let mut store = create(&folder.path().join("sim.etalon"), &plan);
    conduct(&plan, &mut store).unwrap();
    let marks = store.marks().unwrap();
    let mark = marks.iter().find(|(_, mark)| mark.kind == MarkKind::NoLoadKept).unwrap();
    assert!(mark.1.detail.starts_with("at "), "{marks:?}");
    let lowest = store.load_points().unwrap().iter().filter_map(|(_, point)| point.rate).fold(f64::INFINITY, f64::min);
    assert_eq!(capacities(&store)[0].value(), Some(lowest), "it is below that");
}

#[test]
fn errors_are_part_of_the_promise() {
    let folder = tempfile::tempdir().unwrap();
    let failing = "service_us=200&servers=1&noise=0&errors=0.01";
    let short = "rounds = 1\nduration = \"2s\"";
    for (errors, is_kept) in [("0.001", false), ("\"0.1 %\"", false), ("\"50 %\"", true)] {
        let promise = format!("promise = {{ response_p99 = \"50ms\", errors = {errors} }}");
        let plan = plan(failing, &promise, short);
        let mut store = create(&folder.path().join(format!("{}.etalon", errors.replace('"', ""))), &plan);
        conduct(&plan, &mut store).unwrap();
        let kept = !store.marks().unwrap().iter().any(|(_, mark)| mark.kind == MarkKind::NoLoadKept);
        assert_eq!(kept, is_kept, "{errors}: {:?}", capacities(&store));
        let voids = store.marks().unwrap().iter().filter(|(_, mark)| mark.kind == MarkKind::RateNotMet).count();
        assert_eq!(voids, 0, "a rate above the knee is not met, and that is what is sought");
    }
}

#[test]
fn a_promise_beside_what_it_cannot_be_beside_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (benchmark, schedule, says)) in [
        ("promise = { response_p99 = \"5ms\" }\nrate = 100", "duration = \"1s\"", "the load that is sought"),
        ("promise = { errors = 0.1 }", "duration = \"1s\"", "not how fast the others are"),
        ("promise = { response_p99 = \"0s\" }", "duration = \"1s\"", "within no time"),
        ("promise = { response_p99 = \"1s\" }", "duration = \"1s\"", "as long as the whole short run"),
        ("promise = { response_p99 = \"5ms\" }", "transactions = 100", "the schedule counts transactions"),
        ("promise = { max_clients = 9 }", "duration = \"1s\"", "how many clients there may be"),
        ("promise = { response_p99 = \"5ms\" }\nthink_time = \"1ms\"", "duration = \"1s\"", "not a think time"),
    ]
    .into_iter()
    .enumerate()
    {
        let plan = plan("", benchmark, &format!("rounds = 1\n{schedule}"));
        let mut store = create(&folder.path().join(format!("{number}.etalon")), &plan);
        let error = conduct(&plan, &mut store).unwrap_err().to_string();
        assert!(error.contains(says), "{benchmark}: {error}");
    }
}

/// Servers with exponential times in which clients queue first come, first served, and a promised time.
#[derive(Clone, Copy)]
struct Queue {
    servers: u32,
    service_s: f64,
    promised_s: f64,
}

const KNOWN: [Queue; 5] = [
    Queue { servers: 1, service_s: 200e-6, promised_s: 5e-3 },
    Queue { servers: 4, service_s: 2e-3, promised_s: 20e-3 },
    Queue { servers: 1, service_s: 500e-6, promised_s: 20e-3 },
    Queue { servers: 2, service_s: 400e-6, promised_s: 20e-3 },
    Queue { servers: 8, service_s: 1e-3, promised_s: 20e-3 },
];

impl Queue {
    /// The most clients of a closed loop of whom 99 of 100 are answered in time: one that comes waits until all but as many as
    /// there are servers have been served, and is served.
    fn clients(self) -> f64 {
        let (servers, time) = (f64::from(self.servers), self.promised_s / self.service_s);
        // Chance that so many events have come in a time, each after an exponential time of this rate.
        let within = |events: u32, rate: f64| {
            let mean = rate * time;
            let (fewer, _) =
                (0..events).fold((0.0, (-mean).exp()), |(sum, term), n| (sum + term, term * mean / f64::from(n + 1)));
            1.0 - fewer
        };
        let late = |clients: u32| match clients.saturating_sub(self.servers) {
            _ if self.servers == 1 => 1.0 - within(clients, 1.0),
            before => {
                let waits = 1.0 - within(before, servers);
                let factor = (servers / (servers - 1.0)).powf(f64::from(before));
                waits + (-time).exp() * factor * within(before, servers - 1.0)
            }
        };
        f64::from((1..).find(|clients| late(clients + 1) > 0.01).unwrap())
    }

    /// The rate at which 99 of 100 are answered in time that come by chance (Erlang, 1917).
    fn rate(self) -> f64 {
        let (servers, time) = (f64::from(self.servers), self.promised_s / self.service_s);
        let late = |load: f64| {
            let blocked = (1..=self.servers).fold(1.0, |blocked, n| load * blocked / (f64::from(n) + load * blocked));
            let waits = servers * blocked / (servers - load * (1.0 - blocked));
            let room = servers - 1.0 - load;
            (-time).exp() * (1.0 + waits * (1.0 - (-time * room).exp()) / room)
        };
        let (mut low, mut high) = (0.0, servers);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if late(middle) > 0.01 { high = middle } else { low = middle }
        }
        low / self.service_s
    }

    /// What an experiment of six rounds finds, with its interval, and how many short runs it takes.
    fn found(self, benchmark: &str, metric: &str, [warmup, duration]: [&str; 2], seed: u32) -> FoundKnee {
        let text = format!(
            "[systems.a]\nurl = \"sim:?noise=0&spread=1&servers={}&service_us={}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
             script = \"select-only\"\n{benchmark}\n[schedule]\nseed = {seed}\nrounds = 6\nwarmup = \"{warmup}\"\n\
             duration = \"{duration}\"\n",
            self.servers,
            self.service_s * 1e6
        );
        let plan = Plan::parse(&text, "t", &model::plan::Changes::default(), &Registry::built_in().catalog(), 1);
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}")).0;
        let folder = tempfile::tempdir().unwrap();
        let mut store = create(&folder.path().join("sim.etalon"), &plan);
        conduct(&plan, &mut store).unwrap();
        let rows = store.measurements().unwrap();
        let values = rows
            .iter()
            .filter(|row| row.measurement.metric.id == metric)
            .map(|row| stats::RunValue { round: row.round, value: row.measurement.reading.value().unwrap() });
        let sample = stats::Sample::from_runs(values);
        let estimate = stats::Estimator::Geometric.apply(&sample, stats::Direction::Higher).unwrap();
        let bias = if metric == model::metric::CAPACITY { model::metric::CAPACITY_BIAS } else { 0.0 };
        let room = (1.0 + stats::relative_half_width(&sample, 0.95).unwrap()) * (1.0 + bias);
        let short_runs = store.load_points().unwrap().len();
        let (lo, hi) = (estimate / room, estimate * room);
        // Clients are printed as whole numbers, rounded outward.
        let is_of_clients = metric == model::metric::CAPACITY_CLIENTS;
        let interval = if is_of_clients { (lo + 1e-6).floor()..=(hi - 1e-6).ceil() } else { lo..=hi };
        FoundKnee { estimate, interval, short_runs }
    }
}

struct FoundKnee {
    estimate: f64,
    interval: RangeInclusive<f64>,
    short_runs: usize,
}

/// Twenty experiments of each of five known queues with `ETALON_SLOW=1`, of rates ten in runs of the usual length; else one of each of
/// the first two.
fn five_known_knees(is_of_clients: bool) {
    let is_slow = std::env::var_os("ETALON_SLOW").is_some();
    let (queues, seeds) = match (is_slow, is_of_clients) {
        (true, true) => (5, 20),
        (true, false) => (5, 10),
        (false, _) => (2, 1),
    };
    let lengths = if is_slow && !is_of_clients { ["2s", "10s"] } else { ["300ms", "2500ms"] };
    let (mut held, mut all, mut off) = (0, 0, Vec::new());
    for queue in &KNOWN[..queues] {
        let promised = format!("response_p99 = \"{}ms\"", queue.promised_s * 1e3);
        let (truth, benchmark, metric) = if is_of_clients {
            let benchmark = format!("promise = {{ {promised}, max_clients = 1000 }}");
            (queue.clients(), benchmark, model::metric::CAPACITY_CLIENTS)
        } else {
            let benchmark = format!("clients = 256\narrivals = \"poisson\"\npromise = {{ {promised} }}");
            (queue.rate(), benchmark, model::metric::CAPACITY)
        };
        let found: Vec<FoundKnee> = (1..=seeds).map(|seed| queue.found(&benchmark, metric, lengths, seed)).collect();
        let holding = found.iter().filter(|one| one.interval.contains(&truth)).count();
        let worst = found.iter().map(|one| (one.estimate / truth - 1.0).abs()).fold(0.0, f64::max);
        let mean = found.iter().map(|one| one.estimate / truth - 1.0).sum::<f64>() / found.len() as f64;
        let short_runs = found.iter().map(|one| one.short_runs).sum::<usize>() as f64 / found.len() as f64 / 6.0;
        eprintln!(
            "{truth:.0}: {holding} of {seeds} intervals hold it, {:+.2} % on average, {:.2} % at most, {short_runs:.1} short runs",
            mean * 100.0,
            worst * 100.0
        );
        held += holding;
        all += found.len();
        off.push(worst);
    }
    eprintln!("{held} of {all}");
    assert!(off.iter().all(|off| *off <= 0.05), "{off:?}");
    // Of exact intervals fewer are as good as never seen.
    assert!(!is_slow || held * 10 >= all * 9, "{held} of {all}");
}

#[test]
fn five_known_knees_are_found_in_clients() {
    five_known_knees(true);
}

#[test]
fn five_known_knees_are_found_in_rates() {
    five_known_knees(false);
}
