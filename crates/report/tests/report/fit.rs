//! Comparisons of many imported cases: what is shown of them, and what is counted.

use model::{UNKNOWN, Value};
use report::text::{Rows, TextOptions, render_set};
use report::{ComparisonSet, Options, Pairing, compare};

use crate::evidence::{Builder, Made};

/// An import of so many systems and numbers of clients. The more clients, the larger the difference.
fn imported(systems: usize, clients: i64) -> Made {
    let speeds: [fn(i64) -> f64; 5] = [
        |_| 1_000.0,
        |clients| 1_000.0 * if clients % 2 == 0 { 1.0 + 0.02 * clients as f64 } else { 1.0 - 0.01 * clients as f64 },
        |_| 1_000.0,
        |_| 2_000.0,
        |_| 1_500.0,
    ];
    let names = ["old", "new", "third", "fourth", "fifth"];
    let systems = names.into_iter().zip(speeds).take(systems).map(|(name, speed)| (name.to_owned(), speed));
    let (systems, clients) = (systems.collect(), (1..=clients).collect());
    let mut made = Builder { systems, clients, noise: 0.005, ..Builder::default() }.build();
    made.evidence.header.build = report::evidence::IMPORTED.to_owned();
    made
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options { pairing: Pairing::Unpaired, ..Options::default() }).unwrap()
}

fn fitted(set: &ComparisonSet) -> String {
    let text = render_set(set, &TextOptions { rows: Rows::Fit(60), ..TextOptions::default() });
    assert!(text.lines().count() <= 60, "{text}");
    assert!(text.contains("--all"), "{text}");
    text
}

#[test]
fn a_long_comparison_shows_what_differs_most_and_counts_the_rest() {
    let set = set(&imported(2, 40));
    assert!(render_set(&set, &TextOptions::default()).lines().count() > 100);
    // One that is hardly longer is cut, too.
    fitted(&self::set(&imported(2, 20)));
    let text = fitted(&set);
    assert!(text.starts_with(set.answer.lines().next().unwrap().split_once(' ').unwrap().0), "{text}");
    // The largest gain and the largest loss; the smallest of both is counted.
    assert!(text.contains("clients=40\n") && text.contains("clients=39\n"), "{text}");
    assert!(!text.contains("clients=1\n") && text.contains(" more rows: "), "{text}");
    let counted = text.lines().find(|line| line.contains(" more rows: ")).unwrap();
    assert!(counted.contains("faster") && counted.contains("slower"), "{counted}");
}

#[test]
fn a_short_comparison_is_shown_whole_where_it_fits() {
    let set = set(&imported(2, 3));
    let fit = TextOptions { rows: Rows::Fit(60), ..TextOptions::default() };
    assert_eq!(render_set(&set, &fit), render_set(&set, &TextOptions::default()));
}

#[test]
fn many_systems_stand_side_by_side_and_pairs_are_counted() {
    let text = fitted(&set(&imported(5, 12)));
    assert!(text.contains("all side by side") && text.contains("fourth vs old: "), "{text}");
}

#[test]
fn a_single_system_shows_a_figure_of_some_cases() {
    let text = fitted(&set(&imported(1, 40)));
    assert!(text.contains("of 40 cases is shown"), "{text}");
}

#[test]
fn a_key_that_is_not_known_is_left_out_of_names() {
    let mut made = imported(2, 2);
    for (index, case) in made.evidence.cases.iter_mut().enumerate() {
        case.point.insert("direct".to_owned(), Value::Text(UNKNOWN.to_owned()));
        let numjobs = if index < 2 { Value::Int(4) } else { Value::Text(UNKNOWN.to_owned()) };
        case.point.insert("numjobs".to_owned(), numjobs);
    }
    let text = render_set(&set(&made), &TextOptions::default());
    assert!(text.contains("numjobs=4") && !text.contains("unknown"), "{text}");
}

#[test]
fn imports_of_unlike_length_are_told_apart_in_a_note() {
    let mut made = imported(2, 2);
    let cases = made.evidence.cases.clone();
    let length = |made: &mut Made, of_new: f64| {
        for run in &mut made.evidence.runs {
            let is_new = cases[run.planned.case as usize].system == "new";
            run.elapsed_s = if is_new { of_new } else { 60.0 };
        }
    };
    length(&mut made, 2.0);
    let text = render_set(&set(&made), &TextOptions::default()).replace("\n      ", " ");
    assert!(text.contains("select-update ran for 60 s on old and for 2 s on new"), "{text}");
    length(&mut made, 61.0);
    let text = render_set(&set(&made), &TextOptions::default());
    assert!(!text.contains("ran for"), "{text}");
    // Étalon's own runs are as long as their plan says.
    length(&mut made, 2.0);
    made.evidence.header.build = "release".to_owned();
    assert!(!render_set(&set(&made), &TextOptions::default()).contains("ran for"));
}
