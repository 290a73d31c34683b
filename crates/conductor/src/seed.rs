//! The seed of a run's random streams.

use model::{Case, Plan, PlannedRun, SystemPlan};

use load::rng::Rng;
use workloads::work::{StreamTask, StreamWork};
use workloads::workload::{Action, Task};

/// Draws the seed of a run from the plan's seed and the round; for blocks of files also from the case.
///
/// A round's runs draw equal keys on all systems. Blocks of files are drawn per case, since caches could serve one
/// run's data to the next; both systems of a case draw equal ones, unless they share the place, as in an A/A
/// experiment.
pub(crate) fn draw_run_seed(plan: &Plan, cases: &[Case], task: &Task, run: PlannedRun) -> u64 {
    let stream = match &task.action {
        Action::Stream(StreamTask { work: StreamWork::Blocks(_), .. }) => {
            stream_of_blocks(&plan.systems, cases, run.case)
        }
        _ => 0,
    };
    Rng::of_transaction(plan.schedule.seed, run.round, stream).next_u64()
}

/// Number of the random stream for a case's blocks: by case, and by earlier systems that share its place.
fn stream_of_blocks(systems: &[SystemPlan], cases: &[Case], case: u32) -> u64 {
    let Some(this) = cases.get(case as usize) else { return 0 };
    let first = cases.iter().position(|other| other.same_but_system(this)).unwrap_or_default();
    let Some(system) = systems.iter().position(|system| system.name == this.system) else { return first as u64 };
    let before = systems[..system].iter().filter(|other| share_a_place(other, &systems[system])).count();
    (before as u64) << 32 | first as u64
}

/// Whether two systems keep their data in one place, as far as the plan says.
fn share_a_place(one: &SystemPlan, other: &SystemPlan) -> bool {
    let same_files = one.url == other.url && one.server.is_none() && one.volume.is_none() && other.volume.is_none();
    original_name(one) == original_name(other) || (same_files && !one.url.is_empty())
}

/// The name of the system that an alias stands for, else its own.
fn original_name(system: &SystemPlan) -> String {
    system.alias_of.clone().unwrap_or_else(|| system.name.clone())
}

#[cfg(test)]
mod tests {
    use model::{Point, Value};

    use super::*;

    fn system(name: &str, url: &str, alias_of: Option<&str>) -> SystemPlan {
        let alias_of = alias_of.map(str::to_owned);
        SystemPlan { name: name.to_owned(), url: url.to_owned(), alias_of, ..SystemPlan::default() }
    }

    /// Each depth and size on each system, as a plan's cases are.
    fn cases(systems: &[SystemPlan]) -> Vec<Case> {
        let mut cases = Vec::new();
        for (depth, block) in [(1, 8), (1, 64), (16, 8), (16, 64)] {
            for system in systems {
                let point: Point =
                    [("depth", depth), ("block", block)].map(|(key, n)| (key.to_owned(), Value::Int(n))).into();
                cases.push(Case {
                    benchmark: "reads".to_owned(),
                    workload: "disk".to_owned(),
                    system: system.name.clone(),
                    point,
                });
            }
        }
        cases
    }

    fn streams(systems: &[SystemPlan]) -> Vec<u64> {
        let cases = cases(systems);
        (0..cases.len() as u32).map(|case| stream_of_blocks(systems, &cases, case)).collect()
    }

    #[test]
    fn every_case_draws_blocks_of_its_own_and_both_systems_the_same() {
        let streams = streams(&[system("a", "disk:/mnt/a", None), system("b", "disk:/mnt/b", None)]);
        assert!(streams.chunks(2).all(|of_case| of_case[0] == of_case[1]), "{streams:?}");
        let mut of_cases: Vec<u64> = streams.chunks(2).map(|of_case| of_case[0]).collect();
        of_cases.dedup();
        assert_eq!(of_cases.len(), 4, "{streams:?}");
    }

    #[test]
    fn systems_of_one_place_never_draw_the_same() {
        let twins = [system("a (A)", "disk:/mnt/a", None), system("a (B)", "disk:/mnt/a", Some("a (A)"))];
        let two_settings = [system("direct", "disk:/mnt/a", None), system("cached", "disk:/mnt/a", None)];
        for systems in [twins, two_settings] {
            let mut streams = streams(&systems);
            streams.sort_unstable();
            streams.dedup();
            assert_eq!(streams.len(), 8, "{streams:?}");
        }
    }
}
