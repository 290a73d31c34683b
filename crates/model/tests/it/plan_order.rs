//! The order of the runs, and the plan of an A/A experiment.

use crate::common::{GOOD, SMALL, parse, parse_with};
use model::{Plan, PlannedRun};
use proptest::prelude::*;

fn plan(clients: &str, rounds: u32, order: &str, seed: u64) -> Plan {
    let (rounds, seed) = (rounds.to_string(), seed.to_string());
    let overrides = [
        ("benchmarks.0.clients", clients),
        ("schedule.rounds", &rounds),
        ("schedule.order", order),
        ("schedule.seed", &seed),
    ];
    parse_with(SMALL, &overrides).unwrap()
}

fn cases(order: &[PlannedRun]) -> Vec<u32> {
    order.iter().map(|run| run.case).collect()
}

#[test]
fn the_order_of_a_seed_never_changes() {
    // To change these figures is to break the repetition of every experiment that was run before.
    let order = plan("[1, 2, 4]", 3, "interleaved", 42).run_order();
    assert_eq!(cases(&order), [5, 3, 0, 4, 1, 2, 5, 1, 3, 4, 0, 2, 2, 5, 4, 1, 0, 3]);
    assert_eq!(cases(&plan("[1, 2, 4]", 1, "interleaved", 0).run_order()), [0, 2, 5, 3, 1, 4]);
    assert_eq!(cases(&plan("[1, 2, 4]", 1, "interleaved", u64::MAX).run_order()), [5, 3, 4, 2, 0, 1]);
}

#[test]
fn sequential_is_case_after_case() {
    let order = plan("1", 3, "sequential", 42).run_order();
    assert_eq!(cases(&order), [0, 0, 0, 1, 1, 1]);
    assert_eq!(order.iter().map(|run| run.round).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn no_case_is_favoured_by_its_position() {
    let order = plan("\"1..4\"", 10_000, "interleaved", 42).run_order();
    let mut sum_of_places = [0u64; 8];
    for run in &order {
        sum_of_places[run.case as usize] += u64::from(run.position % 8);
    }
    // The mean place is 3.5; its standard error over 10,000 rounds is 0.023.
    for sum in sum_of_places {
        assert!((sum as f64 / 10_000.0 - 3.5).abs() < 0.1, "{sum_of_places:?}");
    }
}

#[test]
fn aa_is_one_system_under_two_names() {
    let plan = parse(GOOD).unwrap();
    let aa = plan.to_aa("pg off").unwrap();
    assert_eq!(aa.systems.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["pg off (A)", "pg off (B)"]);
    assert_eq!(aa.systems[0].alias_of, None);
    assert_eq!(aa.systems[1].alias_of.as_deref(), Some("pg off (A)"));
    assert_eq!(aa.systems[0].server, plan.systems[1].server);
    assert_eq!(aa.systems[1].server, plan.systems[1].server);
    assert_eq!(aa.comparison.baseline, "pg off (A)");
    assert_eq!((&aa.benchmarks, &aa.schedule), (&plan.benchmarks, &plan.schedule));
    assert_eq!(plan.to_aa("nobody"), None);
    assert_eq!(aa.to_aa("pg off (B)").unwrap().systems[0].alias_of, None);
}

proptest! {
    #[test]
    fn each_round_holds_each_case_once(clients in 1u32..20, rounds in 1u32..12, more in 0u32..5, seed: u64) {
        let range = format!("1..{clients}");
        let order = plan(&range, rounds, "interleaved", seed).run_order();
        let cases = 2 * clients;
        prop_assert_eq!(order.len() as u32, cases * rounds);
        for (position, run) in order.iter().enumerate() {
            prop_assert_eq!(run.position as usize, position);
        }
        for (round, runs) in (0u32..).zip(order.chunks(cases as usize)) {
            let mut seen: Vec<u32> = runs.iter().map(|run| run.case).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..cases).collect::<Vec<_>>());
            prop_assert!(runs.iter().all(|run| run.round == round));
        }
        let longer = plan(&range, rounds + more, "interleaved", seed).run_order();
        prop_assert_eq!(&longer[..order.len()], &order[..], "more rounds do not change the first");
        let sequential = plan(&range, rounds, "sequential", seed).run_order();
        prop_assert_eq!(sequential.len(), order.len());
    }
}
