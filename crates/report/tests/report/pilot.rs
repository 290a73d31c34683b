//! What a pilot tells of a plan.

use model::DurabilityTier;
use report::comparison::Family;
use report::pilot::{Rounds, forecast_rounds};
use report::{Options, compare};

use crate::evidence::{Builder, Made};

fn of_rounds(rounds: u32) -> Made {
    Builder { rounds, ..Builder::default() }.build()
}

fn without_p99(mut made: Made) -> Made {
    made.lack("wal", "response_p99", 0..10);
    made
}

fn told(made: &Made) -> Vec<Result<Rounds, String>> {
    let foretold = forecast_rounds(&made.evidence, &made.evidence.header.plan, 0.05).unwrap();
    foretold.rows.into_iter().map(|row| row.rounds).collect()
}

/// The level is divided among the rows that the experiment itself will ask.
#[test]
fn rows_without_figures_are_not_counted_as_in_the_judgement() {
    for (made, ten, asked) in
        [(of_rounds(3), of_rounds(10), 6), (without_p99(of_rounds(3)), without_p99(of_rounds(10)), 4)]
    {
        assert_eq!(compare(&ten.evidence, &Options::default()).unwrap().families.row_count(Family::Primary), asked);
        let rows = told(&made);
        let known: Vec<&Rounds> = rows.iter().filter_map(|row| row.as_ref().ok()).collect();
        assert_eq!((rows.len(), known.len()), (6, asked));
        // Four fifths of the error: the p95 of two cases are asked, too.
        let level = 1.0 - 0.05 * 0.8 / asked as f64;
        for row in known {
            assert_eq!(row.once, stats::rounds_to_detect(0.05, row.log_sd, level), "{row:?}");
        }
    }
}

/// A search has other rows than a load of clients.
#[test]
fn a_pilot_without_the_promise_tells_nothing_of_a_plan_with_it() {
    let made = of_rounds(3);
    let mut plan = made.evidence.header.plan.clone();
    let promise = model::Value::Text("20ms".to_owned());
    plan.benchmarks[0].points[0].insert(model::Promise::RESPONSE_P99.to_owned(), promise);
    let foretold = forecast_rounds(&made.evidence, &plan, 0.05).unwrap();
    assert_eq!((foretold.rows.len(), foretold.missing.len()), (3, 2), "{foretold:?}");
}

#[test]
fn rows_that_no_number_of_rounds_gives_a_verdict_say_why() {
    let mut made = of_rounds(3);
    made.durability("wal", DurabilityTier::Delayed, "synchronous=off");
    assert!(told(&made).iter().all(|row| row.as_ref().unwrap_err().starts_with("unequal durability")));
    let mut allowed = made.evidence.header.plan.clone();
    allowed.comparison.allow_unequal_durability = true;
    let foretold = forecast_rounds(&made.evidence, &allowed, 0.05).unwrap();
    assert!(foretold.rows.iter().all(|row| row.rounds.is_ok()));
}
