//! Windows: what `sysinfo` does not read.

use model::facts::LAYER;
use model::{Facts, Nature};

use crate::clock;
use crate::system::windows;

/// Adds counts of processors, threads per core, power plan, timer, and Wine if it runs étalon.
pub(super) fn add(facts: &mut Facts) {
    let topology = windows::topology();
    let part = |part: fn(&windows::Topology) -> u32| match topology.as_ref().map(part) {
        Ok(0) => Err("Windows counts none".to_owned()),
        Ok(count) => Ok(count.to_string()),
        Err(reason) => Err(reason.clone()),
    };
    facts.insert("cpu.sockets", part(|found| found.sockets), Nature::Identity);
    facts.insert("cpu.numa_nodes", part(|found| found.numa_nodes), Nature::Identity);
    let smt = topology.as_ref().map(|found| if found.shared_cores > 0 { "on" } else { "off" }.to_owned());
    facts.insert("cpu.smt", smt.map_err(Clone::clone), Nature::Identity);
    facts.insert("cpu.governor", windows::power_plan(), Nature::Identity);
    facts.insert("clock.timer", Ok(windows::timer().to_owned()), Nature::Identity);
    facts.record_passing("clock.timer_step", format!("{} µs", clock::timer_step_us()));
    if let Some(version) = windows::wine() {
        let words = format!("étalon for Windows ran under Wine {version}, which is neither Windows nor Linux");
        facts.record_identity(LAYER, words);
    }
}
