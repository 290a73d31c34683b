//! Histories of simulated nights.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use report::history::{
    Contribution, ExportError, HistoryFormat, HistoryVerdict, LeftOut, Standing, export_history, follow_history,
    history_answer, judge_by_history, render_history,
};
use stats::Rng;
use store::history::{Addition, HistoryContent, HistoryExperiment, HistoryPoint, SeriesKey, StoredSeries};

const DAY_MS: i64 = 86_400_000;

fn draw_normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.next_f64(), rng.next_f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A night's throughput of the anchor and of the build: the machine drifts by 20 % over 100 nights and has good and bad days of
/// 3 %; each system's ten runs leave 0.7 % of noise. The build takes a step at a night.
fn simulate_night(night: usize, step: Option<(usize, f64)>, rng: &mut Rng) -> (f64, f64) {
    let machine = 10_000.0 * (1.0 - 0.2 * night as f64 / 100.0) * (0.03 * draw_normal(rng)).exp();
    let step = step.filter(|(at, _)| night >= *at).map_or(1.0, |(_, step)| step);
    let anchor = machine * (0.007 * draw_normal(rng)).exp();
    (anchor, machine * step * (0.007 * draw_normal(rng)).exp())
}

fn key(metric: &str, anchor: Option<&str>) -> SeriesKey {
    SeriesKey {
        system: "build".to_owned(),
        benchmark: "select-only".to_owned(),
        case_json: r#"{"clients":8}"#.to_owned(),
        metric: metric.to_owned(),
        unit: "tx/s".to_owned(),
        direction: "higher".to_owned(),
        anchor: anchor.map(str::to_owned),
    }
}

fn experiment(night: usize) -> HistoryExperiment {
    HistoryExperiment {
        id: format!("{night:08}"),
        name: "nightly".to_owned(),
        created_unix_ms: 1_790_000_000_000 + night as i64 * DAY_MS,
        commit: Some(format!("c{night}")),
        runs: 12,
    }
}

fn point(value: f64, digest: &str) -> HistoryPoint {
    HistoryPoint { value, interval: Some([value * 0.99, value * 1.01]), version: None, facts_digest: digest.to_owned() }
}

fn content(series: Vec<(SeriesKey, Vec<f64>)>) -> HistoryContent {
    let nights = series.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let series = series.into_iter().map(|(key, values)| StoredSeries {
        key,
        points: values.into_iter().map(|value| point(value, "f")).enumerate().collect(),
    });
    HistoryContent {
        anchor: Some("anchor".to_owned()),
        experiments: (0..nights).map(experiment).collect(),
        series: series.collect(),
        facts: BTreeMap::from([("f".to_owned(), r#"{"cpu.model":"x"}"#.to_owned())]),
    }
}

/// Finds of one row whether it is an alarm, and whether it is one or not yet one.
fn state_of(values: &[f64], anchor: Option<&str>) -> (bool, bool) {
    let history = follow_history(content(vec![(key("throughput", anchor), values.to_vec())]));
    match history.rows[0].standing {
        Standing::Alarm(_) => (true, true),
        Standing::Suspicious(_) => (false, true),
        Standing::TooFew | Standing::Steady | Standing::Ended => (false, false),
    }
}

/// The bar: a machine that drifts by 20 % over 100 nights raises at most 1 false alarm with an anchor. Without one it does.
#[test]
fn drift_of_the_machine_raises_no_alarm_with_an_anchor() {
    let mut rng = Rng::new(40);
    let (mut alarms, mut found, mut plain) = (0, 0, 0);
    let histories = 20;
    for _ in 0..histories {
        let nights: Vec<(f64, f64)> = (0..100).map(|night| simulate_night(night, None, &mut rng)).collect();
        let ratios: Vec<f64> = nights.iter().map(|(anchor, build)| build / anchor).collect();
        let values: Vec<f64> = nights.iter().map(|(_, build)| *build).collect();
        let seen: Vec<(bool, bool)> = (1..=100).map(|n| state_of(&ratios[..n], Some("anchor"))).collect();
        alarms += seen.windows(2).filter(|pair| pair[1].0 && !pair[0].0).count();
        found += seen.windows(2).filter(|pair| pair[1].1 && !pair[0].1).count();
        plain += usize::from((1..=100).step_by(3).any(|n| state_of(&values[..n], None).0));
    }
    println!(
        "20 % of drift: {alarms} alarms, {found} alarms or suspicions, {plain} of {histories} histories without an anchor"
    );
    // On average at most a quarter of the bar; without the anchor nearly every history is wrong.
    assert!(
        alarms <= histories / 4 && found <= histories / 2,
        "{alarms} alarms, {found} states in {histories} histories"
    );
    assert!(plain >= histories * 3 / 4, "{plain} of {histories} histories without an anchor raise an alarm");
}

/// The bar: a step of 5 % is found within 2 nights in at least 90 % of histories, and is an alarm after 3.
#[test]
fn a_step_of_five_percent_is_found_within_two_nights() {
    let mut rng = Rng::new(41);
    let (mut two, mut three) = (0, 0);
    let histories = 200;
    for history in 0..histories {
        let at = 20 + history % 60;
        let step = if history % 2 == 0 { 0.95 } else { 1.05 };
        let nights = (0..at + 3).map(|night| simulate_night(night, Some((at, step)), &mut rng));
        let ratios: Vec<f64> = nights.map(|(anchor, build)| build / anchor).collect();
        two += usize::from(state_of(&ratios[..at + 2], Some("anchor")).1);
        three += usize::from(state_of(&ratios[..at + 3], Some("anchor")).0);
    }
    println!("5 %: {two} of {histories} within 2 nights, {three} alarms at 3");
    assert!(two * 10 >= histories * 9 && three * 10 >= histories * 9, "{two} and {three} of {histories}");
}

fn stepped(at: usize, nights: usize, step: f64) -> Vec<f64> {
    let mut rng = Rng::new(42);
    (0..nights)
        .map(|night| (0.005 * draw_normal(&mut rng).clamp(-0.8, 0.8)).exp() * if night >= at { step } else { 1.0 })
        .collect()
}

#[test]
fn the_answer_says_what_moved_since_when_and_by_how_much() {
    let rows = vec![
        (key("throughput", Some("anchor")), stepped(30, 34, 0.95)),
        (key("capacity", Some("anchor")), stepped(99, 34, 1.0)),
    ];
    let history = follow_history(content(rows.clone()));
    let text = render_history(&history, 80);
    for part in [
        "build, select-only, throughput: -",
        "(worse) since 2026-10-21, commit c30, for 4 points.",
        "  alarm",
        "  steady",
    ] {
        assert!(text.replace('\n', " ").contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // As it was seen two nights earlier, and long after.
    let early = follow_history(content(vec![(key("throughput", Some("anchor")), stepped(30, 32, 0.95))]));
    assert!(
        history_answer(&early).contains("Not yet an alarm: build, select-only, throughput: -"),
        "{}",
        history_answer(&early)
    );
    let late = follow_history(content(vec![(key("throughput", Some("anchor")), stepped(30, 50, 0.95))]));
    assert_eq!(history_answer(&late), "Nothing moved in the last 20 nights.");
    assert_eq!(late.rows[0].moves.len(), 1);
}

#[test]
fn a_level_begins_where_it_differs_most_and_not_a_chance_night_earlier() {
    let mut values = stepped(30, 36, 0.95);
    values[29] *= 0.98;
    let history = follow_history(content(vec![(key("throughput", Some("anchor")), values)]));
    assert_eq!(history.rows[0].moves.iter().map(|found| found.at).collect::<Vec<_>>(), [30]);
}

/// A small step takes more nights to be found than an alarm stands, and is an alarm all the same.
#[test]
fn a_small_step_is_an_alarm_when_it_is_found() {
    let mut rng = Rng::new(51);
    let night = |night: usize| (0.005 * draw_normal(&mut rng)).exp() * if night >= 40 { 0.9925 } else { 1.0 };
    let values: Vec<f64> = (0..70).map(night).collect();
    let alarms = (41..=70).filter(|n| state_of(&values[..*n], Some("anchor")).0).count();
    let first = (41..=70).find(|n| state_of(&values[..*n], Some("anchor")).0);
    assert!(first.is_some_and(|first| first >= 46) && alarms == 5, "{first:?}, {alarms} nights");
}

/// Hindsight finds an older, smaller change long after the newest one was an alarm.
#[test]
fn an_older_change_makes_no_second_alarm_of_the_newest() {
    let mut found_later = 0;
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let level = |night: usize| if night >= 20 { -0.012 } else { 0.0 } - if night >= 45 { 0.05 } else { 0.0 };
        let values: Vec<f64> = (0..75).map(|night| (0.01 * draw_normal(&mut rng) + level(night)).exp()).collect();
        let seen: Vec<(bool, usize)> = (46..=75)
            .map(|n| {
                let history = follow_history(content(vec![(key("throughput", Some("anchor")), values[..n].to_vec())]));
                let row = &history.rows[0];
                (row.alarm().is_some_and(|found| found.at.abs_diff(45) <= 2), row.moves.len())
            })
            .collect();
        let begins = seen.windows(2).filter(|pair| pair[1].0 && !pair[0].0).count();
        found_later += usize::from(seen.windows(2).any(|pair| pair[0].1 == 1 && pair[1].1 == 2));
        assert!(begins <= 1, "seed {seed}: {seen:?}");
    }
    assert!(found_later >= 2, "only {found_later} histories with an older change that is found later");
}

#[test]
fn identical_values_are_left_by_a_lasting_difference() {
    let values = [vec![1.0; 10], vec![0.9; 3]].concat();
    assert_eq!(state_of(&values[..11], Some("anchor")), (false, false));
    assert_eq!(state_of(&values[..12], Some("anchor")), (false, true));
    assert_eq!(state_of(&values, Some("anchor")), (true, true));
}

#[test]
fn the_answer_is_about_rows_of_the_newest_experiment() {
    let mut rows = vec![
        (key("throughput", Some("anchor")), stepped(30, 33, 0.95)),
        (key("capacity", Some("anchor")), stepped(99, 40, 1.0)),
        (key("response_p99", None), stepped(20, 40, 0.9)),
    ];
    let history = follow_history(content(rows.clone()));
    assert_eq!(history_answer(&history), "Nothing moved in the last 20 nights.");
    let text = render_history(&history, 80);
    assert!(text.lines().any(|line| line.contains("throughput") && line.ends_with("ended")), "{text}");
    assert!(text.contains("Values without a unit are ratios to the anchor anchor"), "{text}");
    rows.drain(..2);
    let text = render_history(&follow_history(content(rows)), 80);
    assert!(!text.contains("ratios"), "{text}");
}

#[test]
fn a_fact_that_one_night_lacks_hides_no_cut() {
    let mut content = content(vec![(key("throughput", Some("anchor")), stepped(21, 30, 0.8))]);
    content.facts.insert("none".to_owned(), "{}".to_owned());
    content.facts.insert("g".to_owned(), r#"{"cpu.model":"y"}"#.to_owned());
    content.series[0].points[20].1.facts_digest = "none".to_owned();
    content.series[0].points[21..].iter_mut().for_each(|(_, point)| point.facts_digest = "g".to_owned());
    let history = follow_history(content);
    assert_eq!(history.rows[0].cuts.iter().map(|cut| cut.at).collect::<Vec<_>>(), [21]);
    assert_eq!(history.rows[0].moves, []);
}

#[test]
fn other_facts_cut_the_series_and_are_said() {
    let mut content = content(vec![(key("throughput", Some("anchor")), stepped(20, 30, 0.8))]);
    content.facts.insert("g".to_owned(), r#"{"cpu.model":"y","setting.a":"1"}"#.to_owned());
    content.series[0].points[20..].iter_mut().for_each(|(_, point)| point.facts_digest = "g".to_owned());
    let history = follow_history(content);
    assert_eq!(history.rows[0].moves, []);
    assert_eq!(history.rows[0].cuts.len(), 1);
    assert_eq!(history.rows[0].cuts[0].differences.len(), 1, "a fact that one of them lacks is no difference");
    let text = render_history(&history, 80).replace("\n  ", " ");
    assert!(text.contains("note: 1 row was cut on 2026-10-11, since cpu.model was `x` and is `y`."), "{text}");
}

#[test]
fn the_gate_fails_by_an_alarm_for_the_worse_alone() {
    for (step, passes) in [(0.95, false), (1.05, true), (1.0, true)] {
        let values = stepped(30, 33, step);
        let whole = content(vec![(key("throughput", Some("anchor")), values.clone())]);
        let before = content(vec![(key("throughput", Some("anchor")), values[..32].to_vec())]);
        let points = vec![(key("throughput", Some("anchor")), point(values[32], "f"))];
        let contribution = contribution(points);
        let gate = judge_by_history(before, &contribution);
        assert_eq!(gate.verdict() == HistoryVerdict::Passed, passes, "{}", gate.text());
        assert_eq!(gate, judge_by_history(whole, &contribution), "whether it was added changes nothing");
    }
}

/// A row without a point.
fn left_out(metric: &str) -> LeftOut {
    let row = format!("build, select-only, {metric}");
    LeftOut { key: key(metric, Some("anchor")), row, reason: "it is a bound".to_owned(), is_of_short_runs: false }
}

/// The thirty-third night.
fn contribution(points: Vec<(SeriesKey, HistoryPoint)>) -> Contribution {
    let addition = Addition { experiment: experiment(32), points, facts: BTreeMap::new() };
    Contribution { addition, left_out: Vec::new(), lacks_anchor: false, systems: vec!["build".to_owned()] }
}

#[test]
fn the_gate_judges_the_store_and_not_its_stored_point() {
    let values = stepped(30, 33, 0.95);
    let mut stored = content(vec![(key("throughput", Some("anchor")), values.clone())]);
    stored.series[0].points[32].1.value = 1.0;
    stored.experiments[30].commit = Some("line\nfeed".to_owned());
    let gate =
        judge_by_history(stored, &contribution(vec![(key("throughput", Some("anchor")), point(values[32], "f"))]));
    assert_eq!(gate.verdict(), HistoryVerdict::Failed, "{}", gate.text());
    assert!(gate.lines.iter().all(|(_, text)| !text.contains('\n')), "{:?}", gate.lines);
}

#[test]
fn a_gate_that_can_judge_nothing_is_undecided() {
    let few = content(vec![(key("throughput", Some("anchor")), vec![1.0, 1.1])]);
    let mut one = contribution(vec![(key("throughput", Some("anchor")), point(1.0, "f"))]);
    one.left_out.push(left_out("capacity"));
    let gate = judge_by_history(few, &one);
    assert_eq!(gate.verdict(), HistoryVerdict::Undecided);
    assert!(gate.text().contains("left out          build, select-only, capacity: it is a bound\n"), "{}", gate.text());
    assert!(gate.text().ends_with("undecided: too few points in all of 1 row\n"), "{}", gate.text());
    let plain = content(vec![(key("throughput", None), stepped(99, 33, 1.0))]);
    let mut one = contribution(vec![(key("throughput", None), point(1.0, "f"))]);
    assert_eq!(judge_by_history(plain.clone(), &one).verdict(), HistoryVerdict::Passed);
    one.lacks_anchor = true;
    let gate = judge_by_history(plain, &one);
    assert_eq!(gate.verdict(), HistoryVerdict::Undecided);
    assert!(gate.summary().contains("no system `anchor`"), "{}", gate.summary());
}

/// A candidate that fails in a row has no point for it, and must not pass by that.
#[test]
fn a_gate_is_undecided_where_a_row_that_is_followed_has_no_point() {
    let rows = ["throughput", "capacity"].map(|metric| (key(metric, Some("anchor")), stepped(99, 32, 1.0)));
    let mut night = contribution(vec![(key("throughput", Some("anchor")), point(1.0, "f"))]);
    assert_eq!(judge_by_history(content(rows.to_vec()), &night).verdict(), HistoryVerdict::Passed);
    night.left_out.push(left_out("response_p99"));
    assert_eq!(
        judge_by_history(content(rows.to_vec()), &night).verdict(),
        HistoryVerdict::Passed,
        "it is not followed"
    );
    night.left_out.push(LeftOut { is_of_short_runs: true, ..left_out("capacity") });
    assert_eq!(
        judge_by_history(content(rows.to_vec()), &night).verdict(),
        HistoryVerdict::Passed,
        "too few operations"
    );
    night.left_out.push(left_out("capacity"));
    let gate = judge_by_history(content(rows.to_vec()), &night);
    assert_eq!(gate.verdict(), HistoryVerdict::Undecided);
    assert_eq!(gate.summary(), "undecided: no point for 1 row that the history follows");
}

#[test]
fn exported_names_have_all_keys_and_do_not_collapse() {
    let rows = ["a_b", "a/b", "a-b"].map(|metric| (key(metric, None), vec![1e-5]));
    let history = follow_history(content(rows.to_vec()));
    let json = export_history(&history, HistoryFormat::Bencher, None).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["build/select-only/clients=8"].as_object().unwrap().len(), 3, "{json}");
    let text = export_history(&history, HistoryFormat::Prometheus, None).unwrap();
    assert!(text.contains("case=\"clients=8\""), "{text}");
    let json = export_history(&history, HistoryFormat::GithubActionBenchmark, None).unwrap();
    assert!(json.contains("\"± 0.000000100\""), "{json}");
}

#[test]
fn exports_are_what_the_tools_read() {
    let mut lower = key("response_p99", Some("anchor"));
    lower.direction = "lower".to_owned();
    let rows = vec![(key("throughput", Some("anchor")), vec![1.5, 0.5]), (lower, vec![2.0, 4.0])];
    let history = follow_history(content(rows));
    let csv = export_history(&history, HistoryFormat::Otava, None).unwrap();
    let head =
        "time,experiment,commit,build.select-only.clients=8.response_p99,build.select-only.clients=8.throughput\n";
    assert_eq!(
        csv,
        format!("{head}2026-09-21 14:13:20 +0000,nightly,c0,2,1.5\n2026-09-22 14:13:20 +0000,nightly,c1,4,0.5\n")
    );
    let both = export_history(&history, HistoryFormat::GithubActionBenchmark, None);
    assert_eq!(both, Err(ExportError::BothWays));
    let json = export_history(&history, HistoryFormat::GithubActionBenchmark, Some("higher")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let entry = serde_json::json!([{
        "name": "build.select-only.clients=8.throughput", "unit": "ratio to anchor", "value": 0.5, "extra": "experiment: nightly",
        "range": "± 0.00500",
    }]);
    assert_eq!(json, entry);
    let json = export_history(&history, HistoryFormat::Bencher, None).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["build/select-only/clients=8"]["response_p99-ratio"],
        serde_json::json!({ "value": 4.0, "lower_value": 3.96, "upper_value": 4.04 })
    );
    let text = export_history(&history, HistoryFormat::Prometheus, None).unwrap();
    let line = "etalon_history_value{system=\"build\",benchmark=\"select-only\",case=\"clients=8\",metric=\"throughput\",unit=\"\",anchor=\"anchor\"} 0.5\n";
    assert!(text.contains(line) && text.contains("# TYPE etalon_history_alarm gauge\n"), "{text}");
}
