//! Rows per transaction of sides that did the same work, and of sides that did not.
//!
//! Each transaction of each run draws its own number of rows, by laws that scripts have. A true 5 % of 200 experiments has a standard
//! error of 1.54 points, so 8 % are two of them above it. Seeds are fixed.

use model::{Direction, Measurement, PlannedRun, Role, RunState};
use report::comparison::{NoVerdict, Warning, Work};
use report::{Evidence, Options, compare};
use stats::Rng;
use store::{StoredMeasurement, StoredRun};

use crate::evidence::{Builder, empty, normal};

const EXPERIMENTS: u32 = 200;
/// 5 % of them and two standard errors.
const MOST: u32 = 16;

/// Draws the rows of a transaction; `share` of them are there.
type Rows = fn(rng: &mut Rng, share: f64) -> f64;

/// Rows that a script's transactions return.
#[derive(Clone, Copy)]
struct Script {
    name: &'static str,
    transactions: u32,
    rows: Rows,
}

const SCRIPTS: [Script; 8] = [
    Script { name: "one row each", transactions: 2_000, rows: |_, share| share },
    Script {
        name: "1 to 100 rows",
        transactions: 2_000,
        rows: |rng, share| share * (1.0 + rng.draw_below(100) as f64),
    },
    Script { name: "20 transactions a run", transactions: 20, rows: |rng, share| share * rng.draw_below(1_001) as f64 },
    Script { name: "one transaction a run", transactions: 1, rows: |rng, share| share * rng.draw_below(1_001) as f64 },
    Script { name: "a row in 500", transactions: 1_000, rows: |rng, share| one_in(500.0, rng, share) },
    Script { name: "a row in 5,000", transactions: 1_000, rows: |rng, share| one_in(5_000.0, rng, share) },
    Script { name: "1,000 rows in 100", transactions: 20, rows: |rng, share| 1_000.0 * one_in(100.0, rng, share) },
    // Pareto's law with a = 1.5, which has no variance.
    Script {
        name: "heavy tail",
        transactions: 500,
        rows: |rng, share| share * (1.0 - rng.next_f64()).powf(-1.0 / 1.5).floor(),
    },
];

fn one_in(many: f64, rng: &mut Rng, share: f64) -> f64 {
    if rng.next_f64() < share / many { 1.0 } else { 0.0 }
}

/// Adds a run whose transactions draw their rows, with 2 rows changed each. `scripts` of a mix have their own rows, too.
fn run(evidence: &mut Evidence, planned: PlannedRun, scripts: &[(Script, f64)], rng: &mut Rng) {
    let run_id = i64::from(planned.position) + 1;
    let PlannedRun { position, round, case } = planned;
    evidence.runs.push(StoredRun {
        id: run_id,
        planned,
        attempt: 1,
        state: RunState::Measured,
        reason: None,
        started_unix_ms: Some(1_772_366_400_000 + i64::from(position) * 25_000),
        elapsed_s: 5.0,
    });
    let throughput = 1_000.0 * (0.02 * normal(rng)).exp();
    let mut measured = vec![Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, throughput)];
    let mut count = |id: &str, rows: f64| {
        measured.push(Measurement::value(id, "/tx", Direction::Neither, Role::Diagnostic, rows));
    };
    let (mut sum, mut tries) = (0.0, 0.0);
    for (script, share) in scripts {
        // As a run of fixed time has it.
        let transactions = (f64::from(script.transactions) * (1.0 + 0.02 * normal(rng))).round().max(1.0);
        let rows: f64 = (0..transactions as u32).map(|_| (script.rows)(rng, *share)).sum();
        if scripts.len() > 1 {
            count(&format!("rows_returned_{}", script.name), rows / transactions);
        }
        (sum, tries) = (sum + rows, tries + transactions);
    }
    count("rows_returned", sum / tries);
    count("rows_changed", 2.0);
    evidence.measurements.extend(measured.into_iter().map(|measurement| StoredMeasurement {
        run_id,
        round,
        case,
        position,
        measurement,
    }));
}

/// Makes an experiment of two sides, whose scripts have these shares of their rows.
fn experiment(a: &[(Script, f64)], b: &[(Script, f64)], rounds: u32, rng: &mut Rng) -> Evidence {
    let same = |_: i64| 1_000.0;
    let builder = Builder {
        systems: ["a", "b"].map(|name| (name.to_owned(), same as fn(i64) -> f64)).into(),
        clients: vec![1],
        rounds,
        ..Builder::default()
    };
    let plan = builder.plan();
    let (order, cases) = (plan.run_order(), plan.cases());
    let mut evidence = empty(plan, cases.clone());
    for planned in order {
        let scripts = if cases[planned.case as usize].system == "a" { a } else { b };
        run(&mut evidence, planned, scripts, rng);
    }
    evidence
}

fn refusal(evidence: &Evidence) -> Option<NoVerdict> {
    let set = compare(evidence, &Options::default()).unwrap();
    let reasons = set.rows().map(|row| row.why_no_verdict().filter(|why| matches!(why, NoVerdict::DifferentRows(_))));
    let reasons: Vec<Option<NoVerdict>> = reasons.map(|reason| reason.cloned()).collect();
    assert!(reasons.iter().all(|reason| *reason == reasons[0]), "a row of different work has a verdict: {reasons:?}");
    reasons[0].clone()
}

/// Counts the experiments, of so many, that are called different work.
fn refused(a: &[(Script, f64)], b: &[(Script, f64)], rounds: u32, experiments: u32) -> u32 {
    let mut rng = Rng::new(u64::from(rounds));
    (0..experiments).map(|_| u32::from(refusal(&experiment(a, b, rounds, &mut rng)).is_some())).sum()
}

#[test]
fn equal_work_is_rarely_called_different() {
    let assert_rare = |name: &str, scripts: &[(Script, f64)], rounds: u32| {
        let alarms = refused(scripts, scripts, rounds, EXPERIMENTS);
        println!("{name}, {rounds} rounds: {alarms} of {EXPERIMENTS}");
        assert!(alarms <= MOST, "{name}: {alarms}");
    };
    for script in SCRIPTS {
        assert_rare(script.name, &[(script, 1.0)], 6);
    }
    let [_, _, _, one_a_run, rare, ..] = SCRIPTS;
    for script in [one_a_run, rare] {
        assert_rare(script.name, &[(script, 1.0)], 10);
    }
    let mix: Vec<(Script, f64)> = SCRIPTS.into_iter().map(|script| (script, 1.0)).collect();
    assert_rare("a mix of all", &mix, 6);
}

#[test]
fn half_the_rows_are_called_different() {
    const EXPERIMENTS: u32 = 40;
    for script in SCRIPTS.into_iter().filter(|script| script.transactions >= 500 && script.name != "a row in 5,000") {
        for share in [0.0, 0.5] {
            let found = refused(&[(script, 1.0)], &[(script, share)], 10, EXPERIMENTS);
            println!("{}, {share} of the rows: {found} of {EXPERIMENTS}", script.name);
            // Rare rows and a heavy tail vary from run to run by more than half.
            let is_varied = matches!(script.name, "a row in 500" | "heavy tail") && share > 0.0;
            assert!(is_varied || found * 10 >= EXPERIMENTS * 9, "{}: {found}", script.name);
        }
    }
}

/// Many rows of one script hide that another has none.
#[test]
fn a_script_of_a_mix_without_rows_is_found() {
    let [one, many, ..] = SCRIPTS;
    let lookup = Script { name: "lookup", transactions: 200, ..one };
    let mixed = experiment(&[(many, 1.0), (lookup, 1.0)], &[(many, 1.0), (lookup, 0.0)], 10, &mut Rng::new(1));
    let Some(NoVerdict::DifferentRows(found)) = refusal(&mixed) else { panic!("not found") };
    assert_eq!((found.what, found.script.as_deref(), found.b), (Work::RowsReturned, Some("lookup"), 0.0));
    let said = "different work: a transaction `lookup` of A returned 1 row, one of B none";
    assert_eq!(found.text(), said);
    // The command line allows it, and the rows say so.
    let allowed = compare(&mixed, &Options { allow_different_rows: true, ..Options::default() }).unwrap();
    let warns = |warning: &Warning| {
        warning.text() == format!("{said}: compared all the same, because the command line allows it")
    };
    assert!(allowed.rows().all(|row| row.verdict().is_some() && row.warnings.iter().any(warns)), "{allowed:?}");
}
