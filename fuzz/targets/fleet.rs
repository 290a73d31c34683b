//! What conductor and agents read of each other.
//!
//! Seeds: crates/fleet/src/protocol.rs crates/model/src/run.rs crates/model/src/metric.rs crates/load/src/generator.rs
//! Seeds: crates/load/src/worker/counts.rs

#![no_main]

use etalon_fuzz::{chosen, seed};
use fleet::protocol::{AgentInfo, Answer, Ask, Outcome, Pong, Recorded, Reply, Request, SentCase, is_fit_name};
use libfuzzer_sys::fuzz_target;
use load::generator::HostLoad;
use load::series::Latencies;
use load::worker::TaskLog;
use model::{Case, Point, RunRecord, RunState, SystemPlan};
use workloads::dataset::Tables;
use workloads::system::Part;

fuzz_target!(init: seeds(), |data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    match choice % 4 {
        0 => {
            if let Ok(request) = serde_json::from_slice::<Request>(bytes) {
                let _ = (request.ask.verb(), serde_json::to_vec(&request));
            }
        }
        1 => {
            let _ = serde_json::from_slice::<Reply>(bytes).map(|reply| serde_json::to_vec(&reply));
        }
        2 => {
            if let Ok(mut outcome) = serde_json::from_slice::<Outcome>(bytes) {
                outcome.shift_times(1_800_000_000_000);
                outcome.shift_times(-1_800_000_000_000);
                let _ = serde_json::to_vec(&outcome);
            }
        }
        _ => {
            let _ = (serde_json::from_slice::<AgentInfo>(bytes), serde_json::from_slice::<Pong>(bytes));
            let _ = std::str::from_utf8(bytes).map(is_fit_name);
        }
    }
});

/// Messages that are whole: nobody guesses so many names of fields.
fn seeds() {
    let case = Case { benchmark: "b".into(), workload: "w".into(), system: "s".into(), point: Point::default() };
    let sent = SentCase { case: case.clone(), texts: Default::default() };
    let system = SystemPlan {
        name: "s".into(),
        engine: "sim".into(),
        url: "sim:s".into(),
        settings: Default::default(),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    };
    let asks = [
        Ask::Open { system: system.clone(), part: Part::Whole, tables: Tables::Own },
        Ask::Scalar { system: "s".into(), case: sent.clone(), sql: "SELECT 1".into() },
        Ask::SystemFacts { system: "s".into(), cases: vec![sent], scope: conductor::site::FactsScope::Whole },
        Ask::Start { of: 1, at_ns: 2 },
    ];
    for ask in asks {
        let (version, session, experiment) = ("0.1.0".into(), "s".into(), "e".into());
        plant(0, &Request { version, session, experiment, lease_ms: 1000, job: 1, ask });
    }
    plant(1, &Reply::Done(Answer::System(Box::new(system))));
    plant(1, &Reply::Done(Answer::Facts(Default::default())));
    plant(1, &Reply::Working(Default::default()));
    let record = RunRecord::without_result(RunState::Failed, "a reason".to_owned());
    let tasks = vec![TaskLog::default()];
    plant(
        2,
        &Outcome::Record(Box::new(Recorded {
            case,
            seed: 1,
            began_unix_ms: 1,
            published_unix_ms: 2,
            record,
            tasks: tasks.clone(),
        })),
    );
    plant(2, &Outcome::Cut(tasks));
    let latencies =
        Latencies { response: Default::default(), service: None, rates_per_s: vec![1.0], series: Vec::new() };
    plant(
        2,
        &Outcome::HostLoad(Box::new(HostLoad {
            host: "h".into(),
            counts: Default::default(),
            latencies,
            workers: 1,
            cores: 1.0,
            surroundings: Default::default(),
            start_skew_ns: None,
            start_time_ns: Some(1),
        })),
    );
    plant(3, &AgentInfo::default());
}

fn plant<T: serde::Serialize>(choice: u8, message: &T) {
    seed(choice, &serde_json::to_vec(message).unwrap_or_default());
}
