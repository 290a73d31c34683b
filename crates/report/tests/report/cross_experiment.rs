//! Stores of experiments that were not run together.

use std::collections::{BTreeMap, BTreeSet};

use model::facts::TEXTS;
use model::{Facts, Measurement, Role, RunState, Stop, UntilSure, Value};
use report::comparison::{CrossFinding, NoteKind, TimeOrder};
use report::cross_experiment::{JoinError, JoinedSeries, Source, join_stores};
use report::gate::{GateRules, GateStatus, RowStatus, judge_gate};
use report::text::{TextOptions, render_set};
use report::{CompareError, Evidence, MetricFilter, Options, Pairing, SeriesSource, compare};

use crate::evidence::{Builder, Made, Speed};

/// An experiment of that day of March 2026; each has a seed of its own.
pub fn day(number: i64, systems: &[(&str, Speed)], clients: &[i64]) -> (Source, Made) {
    let made = Builder {
        systems: systems.iter().map(|(name, speed)| ((*name).to_owned(), *speed)).collect(),
        clients: clients.to_vec(),
        seed: 7 + number as u64,
        ..Builder::default()
    };
    let mut made = made.build();
    let later = (number - 1) * 86_400_000;
    made.evidence.header.created_unix_ms += later;
    for run in &mut made.evidence.runs {
        run.started_unix_ms = run.started_unix_ms.map(|at| at + later);
    }
    let source = Source { file: format!("day{number}.etalon"), system: None, evidence: made.evidence.clone() };
    (source, made)
}

const SLOW: Speed = |_| 1_000.0;
const FAST: Speed = |_| 1_300.0;

fn joined(sources: &[&Source]) -> Evidence {
    join_stores(&sources.iter().map(|source| (*source).clone()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn every_number_stays_unique_and_no_pair_is_left() {
    let (first, first_made) = day(1, &[("pg", SLOW), ("maria", SLOW)], &[1, 4]);
    let (second, second_made) = day(8, &[("maria", SLOW), ("pg", FAST)], &[1, 4]);
    let evidence = joined(&[&first, &second]);
    let unique = |all: Vec<i64>| all.len() == all.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(evidence.runs.len(), 80);
    assert!(unique(evidence.runs.iter().map(|run| run.id).collect()));
    assert!(unique(evidence.runs.iter().map(|run| i64::from(run.planned.position)).collect()));
    assert_eq!(evidence.cases.len(), 8);
    assert_eq!(evidence.measurements.len(), first.evidence.measurements.len() + second.evidence.measurements.len());
    // Each run keeps its case and its histograms.
    let series = JoinedSeries::new(evidence.apart.as_ref().unwrap(), [first_made.series, second_made.series.clone()]);
    let run = second.evidence.runs.iter().find(|run| run.planned.position == 3).unwrap();
    let offset = evidence.apart.as_ref().unwrap().experiments[1].run_offset;
    let moved = evidence.runs.iter().find(|other| other.id == run.id + offset).unwrap();
    let system = |evidence: &Evidence, case: u32| evidence.case(case).unwrap().system.clone();
    let name = system(&second.evidence, run.planned.case);
    assert_eq!(system(&evidence, moved.planned.case), format!("{name} (day8)"));
    assert_eq!(SeriesSource::series(&series, moved.id).unwrap(), second_made.series[&run.id]);
    let set = compare(&evidence, &Options::default()).unwrap();
    assert_eq!((set.rules.order, set.rules.pairing), (TimeOrder::Apart, Pairing::Unpaired));
    let sides: Vec<(&str, &str)> = set.tables.iter().map(|table| (table.a.as_str(), table.b.as_str())).collect();
    assert_eq!(sides, [("pg (day1)", "pg (day8)"), ("maria (day1)", "maria (day8)")]);
    assert!(set.rows().all(|row| row.verdict().is_none()));
    let throughput: Vec<_> =
        set.rows().filter(|row| row.metric.id == "throughput").map(|row| row.cross_finding()).collect();
    assert_eq!(throughput[..2], [Some(CrossFinding::Higher); 2], "pg was faster that day");
}

/// No output gives what was measured apart the words of a verdict, and each says first what differs.
#[test]
fn it_is_never_called_a_verdict() {
    let (first, first_made) = day(1, &[("pg", SLOW)], &[1, 4]);
    let (mut second, second_made) = day(8, &[("pg", FAST)], &[1, 4]);
    second.evidence.header.etalon_version = "0.2.0".to_owned();
    second.evidence.header.plan.schedule.warmup *= 10;
    second.evidence.facts.get_mut("client").unwrap().record_identity("kernel.version", "6.99");
    let evidence = joined(&[&first, &second]);
    let set = compare(&evidence, &Options { metrics: MetricFilter::All, ..Options::default() }).unwrap();
    let series = JoinedSeries::new(evidence.apart.as_ref().unwrap(), [first_made.series, second_made.series]);
    let text = render_set(&set, &TextOptions::default());
    let markdown = report::markdown::render_comparisons(&evidence, &set);
    let page = report::html::render_page(&evidence, &set, &series).unwrap();
    let head = page.split("<body").nth(1).unwrap().split("<nav").next().unwrap().to_owned();
    let outcome = judge_gate(&set, &GateRules::default());
    let gated = report::gate::render_outcome(&outcome, report::gate::Format::Text);
    assert!(!gated.contains("no verdict"), "{gated}");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['\\', '>'], "");
    for (form, text) in [("text", &text), ("markdown", &markdown), ("page", &head), ("gate", &gated)] {
        let told = flat(text);
        for word in ["faster", "slower", "equivalent", "randomised", " sure"] {
            assert!(!told.contains(word), "{form} says `{word}`: {text}");
        }
        // The gate judges all the same.
        let judges = if form == "gate" { "the candidate got worse, not why" } else { "no verdict" };
        let first = ["measured apart: day1", "7 days between", judges];
        for part in first.into_iter().chain(["version (0.1.0 | 0.2.0)", "warm-up (2 s | 20 s)", "kernel.version ("]) {
            assert!(told.contains(part), "{form} lacks `{part}`: {text}");
        }
    }
    for text in [&text, &markdown, &gated] {
        let figures = text.find("clients=1").unwrap();
        assert!(text.find("0.2.0").unwrap() < figures, "it is said first: {text}");
    }
    let json = serde_json::to_value(report::json::make_document(&evidence, &set)).unwrap();
    assert_eq!(
        (&json["experiment"]["order"], &json["experiment"]["rules"]["pairing"]),
        (&"apart".into(), &"unpaired".into())
    );
    let rows = json["comparisons"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["verdict"].is_null() && row["no_verdict"].is_string()), "{rows:?}");
    assert!(rows.iter().any(|row| row["apart"] == "higher" && row["p"].is_number() && row["interval"].is_array()));
    assert_eq!(json["apart"]["experiments"][1]["systems"], serde_json::json!(["pg (day8)"]));
    let names: Vec<&str> =
        json["apart"]["differences"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["version", "warm-up", "kernel.version"]);
}

/// Its interval is none of the sequence, and the reader is told whose number of rounds was not fixed.
#[test]
fn an_experiment_that_stopped_when_it_was_sure_is_named() {
    let (first, _) = day(1, &[("pg", SLOW)], &[1]);
    let (mut second, _) = day(8, &[("pg", FAST)], &[1]);
    let told = |sources: &[&Source]| joined(sources).apart.unwrap().times_sentence();
    assert!(!told(&[&first, &second]).contains("fixed"));
    second.evidence.header.plan.schedule.until_sure =
        Some(UntilSure { first: 6, max_time: None, stop: Stop::Rows, begun: None });
    let text = told(&[&first, &second]);
    assert!(text.contains("though that of day8 followed from their values"), "{text}");
}

/// Each étalon's build is said before the plan and the machines, which may fill what a sentence names; that of each agent, too.
#[test]
fn the_builds_of_etalon_are_said_first() {
    let (mut first, _) = day(1, &[("pg", SLOW)], &[1]);
    let (mut second, _) = day(8, &[("pg", SLOW)], &[1]);
    let builds = [(&mut first, "dist", "glibc 2.36"), (&mut second, "release", "musl, linked in")];
    for (source, profile, libc) in builds {
        for (subject, profile) in [("client", "release"), ("client h1", profile)] {
            let facts = source.evidence.facts.entry(subject.to_owned()).or_default();
            facts.record_identity("etalon.profile", profile);
            facts.record_identity("etalon.libc", libc);
            facts.record_identity("etalon.allocator", "the C library's");
        }
    }
    let evidence = joined(&[&first, &second]);
    let differences = &evidence.apart.as_ref().unwrap().differences;
    let told: Vec<(&str, &str, Vec<&str>)> = differences
        .iter()
        .map(|one| (&*one.about, &*one.name, one.values.iter().map(|value| value.as_deref().unwrap()).collect()))
        .collect();
    let libc = || vec!["glibc 2.36", "musl, linked in"];
    assert_eq!(
        told,
        [
            ("étalon", "libc", libc()),
            ("étalon at h1", "libc", libc()),
            ("étalon at h1", "profile", vec!["dist", "release"])
        ]
    );
    let set = compare(&evidence, &Options::default()).unwrap();
    let differs = set.notes.iter().find(|note| note.kind == NoteKind::Differs).unwrap();
    assert!(
        differs.text.contains("étalon at h1: libc (glibc 2.36 | musl, linked in), profile (dist | release)"),
        "{differs:?}"
    );
    let page = report::html::render_page(&evidence, &set, &BTreeMap::new()).unwrap();
    assert!(page.contains("client h1 (day8)") && page.contains("etalon.allocator"));
}

#[test]
fn a_gate_holds_a_candidate_against_an_earlier_experiment() {
    let (fast, _) = day(1, &[("pg", FAST)], &[1, 4]);
    let (slow, _) = day(8, &[("pg", SLOW)], &[1, 4]);
    let (same, _) = day(9, &[("pg", FAST)], &[1, 4]);
    let judged = |baseline: &Source, candidate: &Source| {
        let set = compare(&joined(&[baseline, candidate]), &Options::default()).unwrap();
        judge_gate(&set, &GateRules { max_regression: 0.05, ..GateRules::default() })
    };
    let failed = judged(&fast, &slow);
    assert_eq!(failed.status, GateStatus::Failed);
    assert!(failed.summary_line().contains("measured apart") && failed.apart.len() >= 2, "{}", failed.summary_line());
    assert_eq!(judged(&fast, &same).status, GateStatus::Passed);
    // What the baseline has and the candidate has not is no pass, and what the baseline never had is only said.
    let (fewer, _) = day(10, &[("pg", FAST)], &[1]);
    let lost = judged(&fast, &fewer);
    assert_eq!(lost.status, GateStatus::TooFewRows, "{lost:?}");
    assert!(lost.lines.iter().any(|line| line.status == RowStatus::NotCompared && line.name.contains("clients=4")));
    let gained = judged(&fewer, &same);
    assert_eq!(gained.status, GateStatus::Passed, "{gained:?}");
    assert!(
        gained.apart.iter().any(|text| text.contains("only in day9: select-update, clients=4")),
        "{:?}",
        gained.apart
    );
}

/// Gives all cases another value of a key.
fn with_key(source: &mut Source, key: &str, value: Option<Value>) {
    let evidence = &mut source.evidence;
    let points = evidence.header.plan.benchmarks.iter_mut().flat_map(|one| &mut one.points);
    for point in points.chain(evidence.cases.iter_mut().map(|case| &mut case.point)) {
        match &value {
            Some(value) => drop(point.insert(key.to_owned(), value.clone())),
            None => drop(point.remove(key)),
        }
    }
}

#[test]
fn another_plan_is_said_and_never_passes_a_gate() {
    let (first, _) = day(1, &[("pg", SLOW)], &[1, 4]);
    let (same, _) = day(8, &[("pg", SLOW)], &[1, 4]);
    let mut larger = same.clone();
    with_key(&mut larger, "rows", Some(Value::Int(1_000_000)));
    let mut older = same.clone();
    with_key(&mut older, "rows", None);
    let mut first_with_text = first.clone();
    let mut rewritten = same.clone();
    for (source, hash) in [(&mut first_with_text, "sha256 01"), (&mut rewritten, "sha256 02")] {
        let mut texts = Facts::default();
        texts.record_identity("select-update", hash);
        source.evidence.facts.insert(TEXTS.to_owned(), texts);
    }
    for (name, first, second, said, is_another) in [
        ("same", &first, &same, None, false),
        ("larger", &first, &larger, Some("rows of select-update (100000 | 1000000)"), true),
        ("older", &first, &older, Some("rows of select-update (100000 | not known)"), false),
        ("rewritten", &first_with_text, &rewritten, Some("text of select-update (sha256 01 | sha256 02)"), true),
    ] {
        let evidence = joined(&[first, second]);
        let set = compare(&evidence, &Options::default()).unwrap();
        assert_eq!(set.tables[0].rows.len(), 6, "{name}");
        assert_eq!(set.answer.contains("by plans that differ, so no verdict"), is_another, "{name}: {}", set.answer);
        let told = set.notes.iter().find(|note| note.kind == NoteKind::Differs).unwrap();
        assert!(said.is_none_or(|said| told.text.contains(said)), "{name}: {}", told.text);
        let confounded = set.rows().all(|row| row.warnings.iter().any(|warning| warning.as_str() == "confounded-keys"));
        assert_eq!(confounded, is_another, "{name}");
        let outcome = judge_gate(&set, &GateRules { max_regression: 0.5, ..GateRules::default() });
        assert_eq!(outcome.status, if is_another { GateStatus::TooFewRows } else { GateStatus::Passed }, "{name}");
    }
}

#[test]
fn the_cost_of_the_load_itself_is_compared() {
    let (mut first, _) = day(1, &[("pg", SLOW)], &[1, 4]);
    let (mut second, _) = day(8, &[("pg", SLOW)], &[1, 4]);
    let spend = |source: &mut Source, us: f64| {
        let runs: Vec<_> = source
            .evidence
            .measurements
            .iter()
            .filter(|one| one.measurement.metric.id == "throughput")
            .cloned()
            .collect();
        for run in runs {
            let direction = model::Direction::Lower;
            let measurement = Measurement::value("client_cpu_per_tx", "us", direction, Role::Diagnostic, us);
            source.evidence.measurements.push(store::StoredMeasurement { measurement, ..run });
        }
    };
    spend(&mut first, 10.0);
    spend(&mut second, 10.5);
    assert!(
        !joined(&[&first, &second]).apart.unwrap().differences_sentence().contains("CPU time"),
        "5 % is no difference"
    );
    let (mut third, _) = day(9, &[("pg", SLOW)], &[1, 4]);
    spend(&mut third, 14.0);
    let told = joined(&[&first, &third]).apart.unwrap().differences_sentence();
    assert!(
        told.contains("load generator: CPU time of an operation of select-update, clients=1 @ pg (10.0 µs | 14.0 µs)"),
        "{told}"
    );
}

#[test]
fn systems_are_those_of_one_name_or_named_or_single() {
    let (both, _) = day(1, &[("pg", SLOW), ("maria", SLOW)], &[1]);
    let (pg, _) = day(2, &[("pg", SLOW)], &[1]);
    let (old, _) = day(3, &[("old", SLOW)], &[1]);
    let (others, _) = day(4, &[("lite", SLOW), ("duck", SLOW)], &[1]);
    let (third, _) = day(5, &[("pg", FAST)], &[1]);
    let named = |source: &Source, system: &str| Source { system: Some(system.to_owned()), ..source.clone() };
    let pairs = |sources: &[Source]| join_stores(sources).map(|evidence| evidence.apart.unwrap().pairs);
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(pairs(&[both.clone(), pg.clone()]).unwrap(), [pair("pg (day1)", "pg (day2)")]);
    assert_eq!(pairs(&[old.clone(), pg.clone()]).unwrap(), [pair("old (day3)", "pg (day2)")]);
    assert_eq!(pairs(&[named(&both, "maria"), pg.clone()]).unwrap(), [pair("maria (day1)", "pg (day2)")]);
    assert_eq!(pairs(&[named(&both, "pg"), named(&others, "duck")]).unwrap(), [pair("pg (day1)", "duck (day4)")]);
    let three = [both.clone(), pg.clone(), third];
    assert_eq!(pairs(&three).unwrap(), [pair("pg (day1)", "pg (day2)"), pair("pg (day1)", "pg (day5)")]);
    let set = compare(&join_stores(&three).unwrap(), &Options::default()).unwrap();
    assert_eq!(set.tables.len(), 2);
    assert!(set.notes.iter().any(|note| note.text == "only in day1: system maria"), "{:?}", set.notes);
    let told = |error: JoinError| (error.to_string(), error.hint());
    let (text, hint) = told(pairs(&[both.clone(), others]).unwrap_err());
    assert_eq!(text, "no system has the same name in day1.etalon (pg, maria) and in day4.etalon (lite, duck)");
    assert_eq!(hint, "name one of each: `etalon compare day1.etalon:pg day4.etalon:lite`");
    let (text, _) = told(pairs(&[both.clone(), named(&pg, "maria")]).unwrap_err());
    assert_eq!(text, "day2.etalon has no system `maria`: it has pg");
    let cols = Options { cols: Some(vec!["clients".to_owned()]), ..Options::default() };
    assert_eq!(compare(&joined(&[&both, &pg]), &cols), Err(CompareError::Apart));
}

#[test]
fn what_cannot_be_joined_is_said() {
    let (first, _) = day(1, &[("pg", SLOW)], &[1]);
    let (second, _) = day(2, &[("pg", SLOW)], &[1]);
    let refused = |second: &Source| join_stores(&[first.clone(), second.clone()]).unwrap_err().to_string();
    let copy = Source { file: "copy.etalon".to_owned(), ..first.clone() };
    assert_eq!(refused(&copy), "day1.etalon and copy.etalon hold one experiment, which cannot be compared with itself");
    let mut open = second.clone();
    open.evidence.runs.last_mut().unwrap().state = RunState::Planned;
    assert_eq!(refused(&open), "day2.etalon is not at its end: 9 of 10 rounds have run");
    let mut empty = second.clone();
    empty.evidence.measurements.clear();
    assert_eq!(refused(&empty), "no run of day2.etalon was measured");
    let mut other = second.clone();
    other.evidence.cases.iter_mut().for_each(|case| "disk".clone_into(&mut case.workload));
    assert!(refused(&other).starts_with("day1.etalon and day2.etalon have no case in common: day1.etalon has "));
    let (swept, _) = day(3, &[("pg", SLOW)], &[8, 16]);
    assert!(refused(&swept).contains("no case in common"), "{}", refused(&swept));
}

/// Another tool calls its only benchmark by a name of its own, and its keys, too.
#[test]
fn another_tool_s_only_benchmark_is_compared_with_étalon_s_only_one() {
    let (mut first, _) = day(1, &[("pg", SLOW)], &[8]);
    first.evidence.header.build = report::evidence::IMPORTED.to_owned();
    for case in &mut first.evidence.cases {
        "TPROC-C".clone_into(&mut case.benchmark);
        "imported".clone_into(&mut case.workload);
        let clients = case.point.remove("clients").unwrap();
        case.point.insert("virtual_users".to_owned(), clients);
    }
    let (second, _) = day(2, &[("pg", SLOW)], &[8]);
    let joined = join_stores(&[first.clone(), second.clone()]).unwrap();
    assert!(joined.cases.iter().all(|case| case.benchmark == second.evidence.cases[0].benchmark), "{:?}", joined.cases);
    let differences = &joined.apart.as_ref().unwrap().differences;
    for name in ["benchmark", "clients of", "virtual_users of"] {
        assert!(differences.iter().any(|one| one.name.starts_with(name)), "{name}: {differences:?}");
    }
    let (several, _) = day(3, &[("pg", SLOW)], &[8]);
    let mut several = several;
    let mut more = several.evidence.cases[0].clone();
    "another".clone_into(&mut more.benchmark);
    several.evidence.cases.push(more);
    assert!(join_stores(&[first, several]).unwrap_err().to_string().contains("no case in common"));
}

/// A store of an import beside one that étalon measured: what an import does not tell is not known.
#[test]
fn an_import_is_compared_and_nothing_is_made_up_of_it() {
    let (mut first, _) = day(1, &[("pg", SLOW)], &[1, 4]);
    first.evidence.header.build = report::evidence::IMPORTED.to_owned();
    first.evidence.facts = BTreeMap::new();
    for run in &mut first.evidence.runs {
        run.started_unix_ms = Some(first.evidence.header.created_unix_ms);
    }
    let (second, _) = day(8, &[("pg", SLOW)], &[1, 4]);
    let evidence = joined(&[&first, &second]);
    let apart = evidence.apart.as_ref().unwrap();
    assert!(
        apart.times_sentence().contains("day1 was imported, and when it ran is unknown, day8 ran on"),
        "{}",
        apart.times_sentence()
    );
    assert!(!apart.times_sentence().contains("days between"), "{}", apart.times_sentence());
    assert!(apart.differences_sentence().contains("warm-up (not known | 2 s)"), "{}", apart.differences_sentence());
    let set = compare(&evidence, &Options::default()).unwrap();
    assert!(!set.notes.iter().any(|note| note.kind == NoteKind::DebugBuild), "{:?}", set.notes);
    assert!(set.rows().any(|row| row.estimate.is_some()));
}

/// The line has the words of the command that began the first experiment, and the other's URL.
#[test]
fn what_was_measured_apart_names_the_line_that_measures_it_together() {
    let (mut first, _) = day(1, &[("pg", SLOW)], &[1]);
    let (mut second, _) = day(8, &[("pg", FAST)], &[1]);
    let text = |sources: &[&Source]| joined(sources).apart.unwrap().times_sentence();
    first.evidence.header.command = "etalon import old.txt -o day1.etalon".to_owned();
    assert!(text(&[&first, &second]).ends_with("For a verdict, run the systems in one experiment"));
    first.evidence.header.command = "etalon run pg=postgres://db1/shop --script my.sql".to_owned();
    first.evidence.header.plan.systems[0].url = "postgres://db1/shop".to_owned();
    second.evidence.header.plan.systems[0].url = "postgres://me:secret@db2/shop".to_owned();
    let said = text(&[&first, &second]);
    let line = "`etalon run pg=postgres://db1/shop --script my.sql --system 'day8=postgres://me:***@db2/shop'`";
    assert!(said.ends_with(line), "{said}");
    second.evidence.header.plan.systems[0].url = "postgres://db1/shop".to_owned();
    assert!(text(&[&first, &second]).ends_with("--script my.sql --system day8=URL`"));
}

/// Files whose names are too long for a column, and begin alike.
#[test]
fn stores_whose_names_begin_alike_are_told_apart() {
    let (mut first, _) = day(1, &[("postgres-16-orders-main", SLOW), ("postgres-16-orders-branch", SLOW)], &[1, 4]);
    let (mut second, _) = day(1, &[("postgres-16-orders-main", FAST), ("postgres-16-orders-branch", FAST)], &[1, 4]);
    first.file = "nightly-orders-2026-11-27.etalon".to_owned();
    second.file = "results/nightly-orders-2026-11-28.etalon".to_owned();
    second.evidence.header.created_unix_ms += 1;
    let evidence = joined(&[&first, &second]);
    assert_eq!(evidence.apart.as_ref().unwrap().labels(), ["2026-11-27", "2026-11-28"]);
    let set = compare(&evidence, &Options::default()).unwrap();
    let text = render_set(&set, &TextOptions::default());
    for name in ["…-main (202…-27): ", "…-main (202…-28): "] {
        assert_eq!(text.lines().filter(|line| line.contains(name)).count(), 1, "{name}: {text}");
    }
}
