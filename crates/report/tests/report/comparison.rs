//! Which rows there are, what they say, and when they say nothing.

use model::{Direction, DurabilityTier, MarkKind, Measurement, Order, Role};
use report::comparison::{Families, Family, NoVerdict, NoteKind, Warning};
use report::gate::{GateRules, GateStatus, judge_gate};
use report::{CompareError, Comparison, ComparisonSet, MetricFilter, Options, Pairing, compare};
use stats::Verdict;
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};

pub fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

pub fn row<'a>(set: &'a ComparisonSet, case: &str, metric: &str) -> &'a Comparison {
    set.rows().find(|row| row.case_label() == case && row.metric.id == metric).unwrap()
}

fn kinds(row: &Comparison) -> Vec<&'static str> {
    row.warnings.iter().map(Warning::as_str).collect()
}

#[test]
fn a_faster_system_is_faster_in_every_primary_metric() {
    let made = Builder::default().build();
    let set = set(&made);
    assert_eq!(set.tables.len(), 1);
    let table = &set.tables[0];
    assert_eq!((table.a.as_str(), table.b.as_str(), table.rows.len()), ("rollback-journal", "wal", 6));
    assert!(table.differences.iter().any(|d| d.name == "setting.journal_mode"));
    for row in &table.rows {
        assert_eq!(row.verdict(), Some(Verdict::Faster), "{row:?}");
        let estimate = row.estimate.as_ref().unwrap();
        let holm = estimate.adjusted.unwrap();
        assert!(holm >= estimate.p_t && holm <= 0.05, "{holm} of {}", estimate.p_t);
        assert!(estimate.lo < estimate.ratio && estimate.ratio < estimate.hi);
        assert_eq!((row.a.runs.len(), estimate.rounds), (10, 10));
    }
    let throughput = row(&set, "clients=1", "throughput");
    assert!((throughput.estimate.as_ref().unwrap().ratio - 1_250.0 / 900.0).abs() < 0.05);
    assert!(throughput.case.contains_key("rows") && throughput.case.contains_key("clients"));
}

#[test]
fn holm_goes_over_what_is_not_shown_too() {
    let made = Builder::default().build();
    let one = Options { metrics: MetricFilter::Named(vec!["response_p99".to_owned()]), ..Options::default() };
    let few = compare(&made.evidence, &one).unwrap();
    assert_eq!(few.rows().count(), 2);
    let of = |set: &ComparisonSet| row(set, "clients=4", "response_p99").estimate;
    assert_eq!(of(&few), of(&set(&made)));
    let all = compare(&made.evidence, &Options { metrics: MetricFilter::All, ..Options::default() }).unwrap();
    assert_eq!(all.rows().count(), 10);
    // Secondary rows are a family with a fifth of the error.
    let families = Families { primary: 6, queries: 0, exploratory: 2 };
    assert_eq!((few.families, all.families), (families, families));
    let secondary = row(&all, "clients=4", "response_p95").estimate.unwrap();
    assert!(secondary.adjusted.unwrap() >= secondary.p_t / families.error_part(Family::Exploratory), "{secondary:?}");
    let diagnostic = row(&all, "clients=4", "server_cpu_per_tx");
    assert!(matches!(diagnostic.why_no_verdict(), Some(NoVerdict::NotAvailable { .. })), "{diagnostic:?}");
    assert_eq!(
        diagnostic.a.unavailable,
        [(model::Absence::Unavailable.with_reason("the engine works in the client's own threads"), 10)]
    );
}

#[test]
fn few_rounds_give_figures_and_no_verdict() {
    for (rounds, missing) in [(1, 5), (2, 4), (5, 1)] {
        let made = Builder { rounds, ..Builder::default() }.build();
        let set = set(&made);
        for row in set.rows() {
            assert_eq!(row.why_no_verdict(), Some(&NoVerdict::TooFewRounds { missing }));
            assert_eq!(row.rounds_needed, Some(missing));
            assert!(row.a.estimate.is_some());
            assert_eq!(row.estimate.is_some(), rounds > 1);
        }
    }
}

#[test]
fn unequal_durability_gives_figures_and_no_verdict() {
    let mut made = Builder::default().build();
    made.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    let refused = set(&made);
    let expected = NoVerdict::UnequalDurability { a: Some(DurabilityTier::Durable), b: Some(DurabilityTier::Delayed) };
    assert!(refused.rows().all(|row| row.why_no_verdict() == Some(&expected) && row.estimate.is_some()));
    assert!(
        refused.notes.iter().any(|n| n.kind == NoteKind::UnequalDurability && n.text.contains("without a verdict"))
    );
    assert!(refused.rows().all(|row| row.estimate.as_ref().unwrap().adjusted.is_none()));
    // Where another reason comes first, nothing has allowed it either.
    let mut few = Builder { rounds: 2, ..Builder::default() }.build();
    few.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    let told = set(&few).notes.into_iter().find(|note| note.kind == NoteKind::UnequalDurability).unwrap().text;
    assert!(!told.contains("because the plan allows"), "{told}");
    made.evidence.header.plan.comparison.allow_unequal_durability = true;
    let allowed = set(&made);
    assert!(allowed.rows().all(|row| row.verdict() == Some(Verdict::Faster)));
    assert!(allowed.notes.iter().any(|n| n.text.contains("the plan allows")), "{:?}", allowed.notes);
}

#[test]
fn an_exception_of_one_side_is_told_and_leaves_the_verdict() {
    let mut made = Builder::default().build();
    let mut promise = made.evidence.facts["wal"].durability().unwrap();
    promise.except = Some("a power cut may take it back".to_owned());
    made.evidence.facts.get_mut("wal").unwrap().set_durability(&promise);
    let told = set(&made);
    assert!(told.rows().all(|row| row.verdict() == Some(Verdict::Faster)));
    let said = |set: &ComparisonSet| {
        set.notes.iter().any(|n| n.text == "both are durable, wal except that a power cut may take it back")
    };
    assert!(said(&told), "{:?}", told.notes);
    for system in made.evidence.facts.clone().keys() {
        made.evidence.facts.get_mut(system).unwrap().set_durability(&promise);
    }
    assert!(!said(&set(&made)), "what holds for both is no difference");
}

#[test]
fn a_saturated_client_voids_its_case_and_no_other() {
    let mut made = Builder::default().build();
    let position = made.position_of("wal");
    let case = made.evidence.runs[position as usize].planned.case;
    let label = format!("clients={}", made.evidence.cases[case as usize].point["clients"]);
    made.mark(position, MarkKind::ClientSaturated, "97 % of a core");
    made.mark(position, MarkKind::NotSteady, "falls by 9 %");
    let set = set(&made);
    for row in set.rows() {
        if row.case_label() == label {
            assert_eq!(row.why_no_verdict(), Some(&NoVerdict::Voided { what: "client saturated".into(), runs: 1 }));
            assert!(kinds(row).contains(&"client-saturated") && kinds(row).contains(&"not-steady"));
        } else {
            assert_eq!(row.verdict(), Some(Verdict::Faster));
            assert!(!kinds(row).contains(&"client-saturated"));
        }
    }
}

#[test]
fn a_mark_of_several_runs_tells_the_first_s_evidence_as_the_first_s() {
    let mut made = Builder { clients: vec![4], ..Builder::default() }.build();
    let system = |position: u32| {
        let case = made.evidence.runs[position as usize].planned.case;
        made.evidence.cases[case as usize].system.clone()
    };
    let of_wal: Vec<u32> = (0..20).filter(|position| system(*position) == "wal").collect();
    made.mark(of_wal[1], MarkKind::TooFewClients, "379 of 5000");
    made.mark(of_wal[4], MarkKind::TooFewClients, "346 of 5000");
    made.mark(of_wal[1], MarkKind::NotSteady, "falls");
    made.mark(of_wal[4], MarkKind::NotSteady, "falls");
    let set = set(&made);
    let texts: Vec<String> = set.rows().next().unwrap().warnings.iter().map(Warning::text).collect();
    assert!(texts.iter().any(|text| text.ends_with("in 2 of 10 runs of B: in the first, 379 of 5000")), "{texts:?}");
    assert!(texts.iter().any(|text| text.ends_with("in 2 of 10 runs of B: falls")), "{texts:?}");
}

#[test]
fn shapes_of_the_runs_are_told() {
    let mut made = Builder { noise: 0.002, rounds: 12, clients: vec![4], ..Builder::default() }.build();
    made.change("wal", "throughput", |round, value| value * (1.0 - 0.02 * f64::from(round)));
    made.change("rollback-journal", "response_p50", |round, v| v * if round % 3 == 0 { 1.5 } else { 1.0 });
    made.change("wal", "response_p99", |_, value| (value / 156.0).round() * 156.0);
    made.change("rollback-journal", "response_p99", |round, _| 156.0 * f64::from(25 + round % 5));
    let set = set(&made);
    assert!(kinds(row(&set, "", "throughput")).contains(&"drift"));
    let bimodal = row(&set, "", "response_p50");
    assert!(kinds(bimodal).contains(&"bimodal"), "{:?}", bimodal.warnings);
    let quantised = row(&set, "", "response_p99");
    let step = quantised.warnings.iter().find_map(|w| match w {
        Warning::QuantisedClock { step, .. } => Some(*step),
        _ => None,
    });
    assert!((step.unwrap() - 156.0).abs() < 1.0, "{:?}", quantised.warnings);
}

#[test]
fn dropped_runs_are_counted_and_unpaired_rounds_left_out() {
    let mut made = Builder::default().build();
    made.fail(made.position_of("wal"), "the server closed the connection");
    let set = set(&made);
    assert_eq!((set.counts.planned, set.counts.measured, set.counts.failed, set.lost_runs()), (40, 39, 1, 1));
    assert_eq!(set.dropped[0].reason, "the server closed the connection");
    let touched: Vec<&Comparison> = set.rows().filter(|row| kinds(row).contains(&"dropped-runs")).collect();
    assert_eq!(touched.len(), 3);
    assert!(touched.iter().all(|row| row.estimate.as_ref().unwrap().rounds == 9 && kinds(row).contains(&"unpaired")));
    assert!(set.notes.iter().any(|n| n.kind == NoteKind::Incomplete && n.text == "39 of 40 runs measured, 1 dropped"));
}

#[test]
fn nothing_measured_is_no_error_and_no_zero() {
    let mut made = Builder { clients: vec![1], ..Builder::default() }.build();
    for position in 0..20 {
        if made.evidence.cases[made.evidence.runs[position as usize].planned.case as usize].system == "wal" {
            made.fail(position, "no route to host");
        }
    }
    let half = set(&made);
    for row in half.rows() {
        let Some(NoVerdict::NotAvailable { .. }) = row.why_no_verdict() else { panic!("{row:?}") };
        assert_eq!((row.b.estimate, row.estimate), (None, None));
        assert!(row.warnings.iter().any(|w| w.text() == "B: 10 runs dropped (no route to host)"));
    }
    (0..20).for_each(|position| made.fail(position, "no route to host"));
    let none = set(&made);
    assert!(none.tables.is_empty());
    assert!(none.notes.iter().any(|note| note.kind == NoteKind::Missing));
}

#[test]
fn one_server_under_two_names_says_so() {
    let mut made = Builder { noise: 0.004, ..Builder::default() };
    made.systems = vec![("a".to_owned(), |_| 1_000.0), ("a (again)".to_owned(), |_| 1_000.0)];
    let mut made = made.build();
    made.evidence.header.plan.systems[1].alias_of = Some("a".to_owned());
    made.evidence.facts.remove("a (again)");
    let set = set(&made);
    for row in set.rows() {
        assert!(!matches!(row.verdict(), Some(Verdict::Faster | Verdict::Slower)), "{row:?}");
        let found = row.warnings.iter().find_map(|w| match w {
            Warning::SameServer { detectable } => *detectable,
            _ => None,
        });
        assert!(found.unwrap() > 0.0 && found.unwrap() < 0.1);
    }
    let note = set.notes.iter().find(|note| note.kind == NoteKind::SameServer).unwrap();
    assert!(note.text.contains("a and a (again) are one server"), "{}", note.text);
}

#[test]
fn clients_can_be_compared_within_a_system() {
    let made = Builder::default().build();
    let options = Options { cols: Some(vec!["clients".to_owned()]), ..Options::default() };
    let set = compare(&made.evidence, &options).unwrap();
    let table = &set.tables[0];
    assert_eq!((table.compared.as_str(), table.a.as_str(), table.b.as_str()), ("clients", "1", "4"));
    assert!(table.differences.is_empty());
    let row = row(&set, "system=wal", "throughput");
    assert_eq!((row.a.label.as_str(), row.b.label.as_str(), row.b.system.as_str()), ("1", "4", "wal"));
    assert_eq!(row.verdict(), Some(Verdict::Faster));
    assert!(!row.case.contains_key("clients"));
    let swapped = Options { a: Some("4".to_owned()), b: Some("1".to_owned()), ..options };
    let set = compare(&made.evidence, &swapped).unwrap();
    assert!(set.rows().any(|row| row.verdict() == Some(Verdict::Slower)));
}

/// Of a slow and a fast case, of which one left: neither two modes nor a change.
#[test]
fn cases_of_other_levels_are_no_modes_and_no_drift() {
    let mut made = Builder { clients: vec![1, 4], rounds: 20, ..Builder::default() }.build();
    let leaves = |made: &Made, run: &store::StoredRun| {
        let case = &made.evidence.cases[run.planned.case as usize];
        run.planned.round >= 8 && case.point["clients"] == model::Value::Int(4)
    };
    let left: Vec<u32> =
        made.evidence.runs.iter().filter(|run| leaves(&made, run)).map(|run| run.planned.position).collect();
    left.iter().for_each(|position| made.end(*position, model::RunState::Superseded));
    let pooled = Options { rows: Some(vec!["metric".to_owned()]), ..Options::default() };
    let set = compare(&made.evidence, &pooled).unwrap();
    assert!(set.rows().count() > 0);
    for row in set.rows() {
        assert_eq!(row.estimate.as_ref().unwrap().rounds, 8);
        assert!(!kinds(row).iter().any(|kind| ["drift", "bimodal"].contains(kind)), "{:?}", row.warnings);
    }
}

#[test]
fn hidden_keys_that_vary_are_named() {
    let made = Builder::default().build();
    let pooled = Options { rows: Some(vec!["metric".to_owned()]), ..Options::default() };
    let set = compare(&made.evidence, &pooled).unwrap();
    assert_eq!(set.rows().count(), 3);
    assert!(set.rows().all(|row| row.warnings == [Warning::PooledKeys { keys: vec!["clients".to_owned()] }]
        || kinds(row)[0] == "pooled-keys"));
    assert!(set.rows().all(|row| row.estimate.as_ref().unwrap().rounds == 10));
    let by_metric = Options { by: Some(vec!["metric".to_owned()]), ..Options::default() };
    let set = compare(&made.evidence, &by_metric).unwrap();
    assert_eq!(set.tables.len(), 3);
    assert_eq!(set.tables[1].title, [("metric".to_owned(), "response_p50".to_owned())]);
}

#[test]
fn what_does_not_exist_is_an_error_that_says_what_does() {
    let made = Builder::default().build();
    let error = |options: Options| compare(&made.evidence, &options).unwrap_err();
    let named = |a: &str| Options { a: Some(a.to_owned()), ..Options::default() };
    assert_eq!(
        error(named("wall")).to_string(),
        "there is no system `wall` in this experiment: it has rollback-journal, wal"
    );
    assert_eq!(error(named("wall")).hint().unwrap(), "did you mean `wal`?");
    assert_eq!(error(Options { b: Some("wal".into()), ..named("wal") }), CompareError::SameSide("wal".to_owned()));
    let cols = |key: &str| Options { cols: Some(vec![key.to_owned()]), ..Options::default() };
    assert!(matches!(error(cols("client")), CompareError::UnknownKey { .. }));
    assert_eq!(error(cols("metric")), CompareError::MetricsCompared);
    assert_eq!(error(cols("rows")).to_string(), "there is a single rows, `100000`: a comparison takes two");
    let twice = Options { rows: Some(vec!["clients".into()]), ..cols("clients") };
    assert_eq!(error(twice), CompareError::KeyTwice("clients".to_owned()));
    let metric = Options { metrics: MetricFilter::Named(vec!["p99".into()]), ..Options::default() };
    assert!(matches!(error(metric), CompareError::UnknownMetric { .. }));
    assert_eq!(
        error(Options { margin: Some(0.0), ..Options::default() }),
        CompareError::BadMargin(model::share::MARGIN.check(0.0).unwrap_err())
    );
    assert!(matches!(error(Options { level: Some(f64::NAN), ..Options::default() }), CompareError::BadLevel(_)));
}

#[test]
fn unpaired_data_are_compared_without_rounds() {
    let made = Builder::default().build();
    let options = Options { pairing: Pairing::Unpaired, ..Options::default() };
    let set = compare(&made.evidence, &options).unwrap();
    let row = row(&set, "clients=4", "throughput");
    let estimate = row.estimate.as_ref().unwrap();
    assert_eq!((row.verdict(), estimate.bootstrap, estimate.log_sd), (Some(Verdict::Faster), None, None));
    assert!(estimate.p.unwrap() < 0.001);
}

/// A fact says so, whatever the engine.
#[test]
fn a_licence_that_restricts_publication_is_noted_once() {
    let mut made = Builder::default().build();
    let free = set(&made);
    assert!(!free.notes.iter().any(|note| note.kind == NoteKind::Publication));
    let systems: Vec<String> = made.evidence.header.plan.systems.iter().map(|system| system.name.clone()).collect();
    for system in &systems {
        let facts = made.evidence.facts.entry(system.clone()).or_default();
        facts.record_passing(model::facts::PUBLICATION, "the licence of X forbids it");
    }
    let set = set(&made);
    let said: Vec<&str> =
        set.notes.iter().filter(|note| note.kind == NoteKind::Publication).map(|note| note.text.as_str()).collect();
    let mut named = systems;
    named.sort();
    assert_eq!(said, [format!("before this is published: the licence of X forbids it ({})", named.join(", "))]);
}

#[test]
fn a_disk_that_cannot_be_looked_at_is_noted() {
    let mut made = Builder::default().build();
    let said = |set: &ComparisonSet| {
        let note = set.notes.iter().find(|note| note.kind == NoteKind::DiskUnknown);
        note.map(|note| note.text.clone())
    };
    assert_eq!(said(&set(&made)), None);
    let system = made.evidence.header.plan.systems[0].name.clone();
    let facts = made.evidence.facts.entry(system.clone()).or_default();
    facts.record_unavailable(model::facts::DATA_FILESYSTEM, "the server is on another machine");
    let note = said(&set(&made)).unwrap();
    assert_eq!(
        note,
        format!("whether the commits of {system} reach a disk is not known: the server is on another machine")
    );
    // Queries only read.
    made.evidence.cases.iter_mut().for_each(|case| case.workload = "queries".to_owned());
    assert_eq!(said(&set(&made)), None);
}

#[test]
fn debug_builds_and_sequential_orders_are_noted() {
    let mut made = Builder::default().build();
    made.evidence.header.build = "debug".to_owned();
    made.evidence.header.plan.schedule.order = Order::Sequential;
    let set = set(&made);
    let kinds: Vec<NoteKind> = set.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::DebugBuild, NoteKind::SequentialOrder]);
}

/// One system on both sides, slowing by 3 % per run, one side after the other.
#[test]
fn a_sequential_order_gets_no_verdict_unless_it_is_allowed_and_is_never_paired() {
    let speed: crate::evidence::Speed = |_| 1_000.0;
    let systems = vec![("a".to_owned(), speed), ("b".to_owned(), speed)];
    let mut made = Builder { systems, clients: vec![1], ..Builder::default() }.build();
    made.evidence.header.plan.schedule.order = Order::Sequential;
    let order = made.evidence.header.plan.run_order();
    for stored in &mut made.evidence.measurements {
        let is_it = |planned: &&model::PlannedRun| (planned.case, planned.round) == (stored.case, stored.round);
        stored.position = order.iter().find(is_it).unwrap().position;
        if let model::Reading::Value(value) = &mut stored.measurement.reading {
            *value *= 0.97_f64.powi(i32::try_from(stored.position).unwrap());
        }
    }
    let refused = set(&made);
    assert_eq!(refused.rules.pairing, Pairing::Unpaired);
    assert!(refused.rows().all(|row| row.why_no_verdict() == Some(&NoVerdict::SequentialOrder)), "{refused:?}");
    assert!(refused.notes[0].text.contains("order and time are confounded"), "{:?}", refused.notes);
    let throughput = row(&refused, "", "throughput");
    assert!(throughput.estimate.unwrap().ratio < 0.8, "it looks slower than itself: {throughput:?}");

    made.evidence.header.plan.comparison.allow_sequential_order = true;
    let allowed = set(&made);
    assert!(allowed.rows().all(|row| row.verdict().is_some() && row.estimate.unwrap().log_sd.is_none()));
    assert!(allowed.notes[0].text.contains("because the plan allows it"), "{:?}", allowed.notes);
    // Étalon's exports stay sequential; other tools' order is unknown.
    made.evidence.header.plan.comparison.allow_sequential_order = false;
    made.evidence.header.build = "imported".to_owned();
    assert!(set(&made).rows().all(|row| row.verdict().is_none()));
    let unpaired = Options { pairing: Pairing::Unpaired, ..Options::default() };
    let unknown = compare(&made.evidence, &unpaired).unwrap();
    assert!(unknown.rows().all(|row| row.verdict().is_some()));
    assert!(unknown.notes[0].text.starts_with("imported: the order"), "{:?}", unknown.notes);
}

/// Two equal systems, nine times as fast with four clients: a side without those runs is not slower.
#[test]
fn cases_are_paired_before_they_are_pooled() {
    let speed: crate::evidence::Speed = |clients| if clients == 4 { 9_000.0 } else { 1_000.0 };
    let systems = vec![("a".to_owned(), speed), ("b".to_owned(), speed)];
    let mut made = Builder { systems, seconds: 1, ..Builder::default() }.build();
    let lost: Vec<u32> = made
        .evidence
        .runs
        .iter()
        .filter(|run| {
            let case = &made.evidence.cases[run.planned.case as usize];
            case.system == "b" && case.point["clients"].as_int() == Some(4) && run.planned.round < 3
        })
        .map(|run| run.planned.position)
        .collect();
    assert_eq!(lost.len(), 3);
    lost.into_iter().for_each(|position| made.fail(position, "out of memory"));
    for pairing in [Pairing::Paired, Pairing::Unpaired] {
        let options =
            Options { rows: Some(vec!["benchmark".to_owned()]), by: Some(Vec::new()), pairing, ..Options::default() };
        let pooled = compare(&made.evidence, &options).unwrap();
        let throughput = pooled.rows().find(|row| row.metric.id == "throughput").unwrap();
        let estimate = throughput.estimate.unwrap();
        assert!((0.97..1.03).contains(&estimate.ratio), "{pairing:?}: {estimate:?}");
        assert_eq!(estimate.rounds, 7);
        let left_out = Warning::LeftOut { cases: 0, rounds: 3 };
        assert!(throughput.warnings.contains(&left_out), "{:?}", throughput.warnings);
        assert!(!matches!(throughput.verdict(), Some(Verdict::Faster | Verdict::Slower)));
    }
}

#[test]
fn runs_of_a_round_that_are_an_hour_apart_are_named() {
    let mut made = Builder { clients: vec![1], ..Builder::default() }.build();
    let quiet = set(&made);
    assert!(quiet.rows().all(|row| !kinds(row).contains(&"far-apart")));
    let repeated = made.position_of("wal") as usize;
    let far = |made: &mut Made, ms: i64| {
        let partner = made.evidence.runs.iter().find(|run| {
            run.planned.round == made.evidence.runs[repeated].planned.round && run.planned.position as usize != repeated
        });
        let began = partner.unwrap().started_unix_ms.unwrap();
        made.evidence.runs[repeated].started_unix_ms = Some(began + ms);
    };
    far(&mut made, 3_599_000);
    assert!(set(&made).rows().all(|row| !kinds(row).contains(&"far-apart")));
    far(&mut made, 2 * 3_600_000);
    for row in set(&made).rows() {
        let text: Vec<String> = row.warnings.iter().filter(|w| w.as_str() == "far-apart").map(Warning::text).collect();
        assert_eq!(
            text,
            [
                "in 1 of 10 rounds the runs of A and B began an hour or more apart, up to 2.0 h: what changed on the machine in the \
              meantime does not cancel out"
            ]
        );
    }
}

#[test]
fn who_names_one_pair_has_not_asked_fewer_questions() {
    let same = |_: i64| 1_000.0;
    let systems = ["s0", "s1", "s2", "s3", "s4"].map(|name| (name.to_owned(), same as crate::evidence::Speed));
    let made = Builder { systems: systems.into(), clients: vec![1], rounds: 6, ..Builder::default() }.build();
    let whole = set(&made);
    for b in ["s1", "s2", "s3", "s4"] {
        let named = compare(&made.evidence, &Options { b: Some(b.to_owned()), ..Options::default() }).unwrap();
        assert_eq!(named.families, whole.families);
        let of_whole: Vec<&Comparison> = whole.tables.iter().filter(|t| t.b == b).flat_map(|t| &t.rows).collect();
        assert_eq!(named.rows().collect::<Vec<_>>(), of_whole);
        assert_eq!(named.tables.len(), 1);
    }
    // Who picks the first side has picked among all pairs: ten, where the baseline has four.
    let options = Options { a: Some("s1".to_owned()), b: Some("s2".to_owned()), ..Options::default() };
    let named = compare(&made.evidence, &options).unwrap();
    assert_eq!((named.families.primary, named.tables.len()), (whole.families.primary / 4 * 10, 1));
}

/// What hardly differs is under a clock step; the rest was drawn from as many rows all the same.
#[test]
fn rows_under_a_clock_step_have_been_asked_like_the_others() {
    let same = |_: i64| 1_000.0;
    let systems = ["s0", "s1", "s2", "s3"].map(|name| (name.to_owned(), same as crate::evidence::Speed));
    let mut made = Builder { systems: systems.into(), clients: vec![1], rounds: 10, ..Builder::default() }.build();
    for (system, off) in [("s0", 0.0), ("s1", 0.0), ("s2", 0.0), ("s3", 3_000.0)] {
        made.change(system, "response_p50", |round, _| 20_000.0 + off + 1_000.0 * f64::from(round % 3));
    }
    let set = set(&made);
    let p50 = || set.rows().filter(|row| row.metric.id == "response_p50");
    assert!(p50().any(|row| row.why_no_verdict() == Some(&NoVerdict::UnderClockStep)));
    let asked = set.rows().filter(|row| row.metric.role == Role::Primary && row.estimate.is_some()).count();
    assert_eq!(set.families.primary, asked, "no row has left the family");
}

#[test]
fn benchmarks_that_turn_another_way_or_have_other_units_are_not_pooled() {
    let pooled = |unit: &'static str, direction| {
        let mut made = Builder { clients: vec![1], ..Builder::default() }.build();
        let mut other = made.evidence.cases.clone();
        other.iter_mut().for_each(|case| case.benchmark = "other".to_owned());
        made.evidence.cases.extend(other);
        let again = made.evidence.measurements.clone().into_iter().map(|mut stored| {
            (stored.case, stored.run_id, stored.position) =
                (stored.case + 2, stored.run_id + 100, stored.position + 20);
            if stored.measurement.metric.id == "throughput" {
                (stored.measurement.metric.unit, stored.measurement.metric.direction) = (unit.to_owned(), direction);
            }
            stored
        });
        made.evidence.measurements.extend(again.collect::<Vec<_>>());
        let runs = made.evidence.runs.clone().into_iter().map(|mut run| {
            (run.id, run.planned.case, run.planned.position) =
                (run.id + 100, run.planned.case + 2, run.planned.position + 20);
            run
        });
        made.evidence.runs.extend(runs.collect::<Vec<_>>());
        let keys = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let options = Options { by: keys(&["clients"]), rows: keys(&[]), ..Options::default() };
        let set = compare(&made.evidence, &options).unwrap();
        let outcome = judge_gate(&set, &GateRules::default());
        (set.rows().find(|row| row.metric.id == "throughput").unwrap().clone(), outcome.status)
    };
    let (alike, passed) = pooled("tx/s", Direction::Higher);
    assert_eq!((alike.verdict(), passed), (Some(Verdict::Faster), GateStatus::Passed), "{alike:?}");
    let (opposed, not_passed) = pooled("tx/s", Direction::Lower);
    let why = NoVerdict::NotComparable("its runs do not agree which way is better".to_owned());
    assert_eq!((opposed.why_no_verdict(), not_passed), (Some(&why), GateStatus::TooFewRows));
    let (units, not_passed) = pooled("ktx/s", Direction::Higher);
    let why = NoVerdict::NotComparable("its runs tell it in `tx/s` and in `ktx/s`".to_owned());
    assert_eq!((units.why_no_verdict(), not_passed), (Some(&why), GateStatus::TooFewRows));
    let figures = [&units.a, &units.b].map(|side| (side.estimate, side.summary.is_some(), side.runs.len()));
    assert_eq!(figures, [(None, false, 0); 2], "sums of both are no figure");
    assert!(units.estimate.is_none());
}

/// Gives each measured run rows per transaction, by its system and round.
fn with_rows(rows: impl Fn(&str, u32) -> f64) -> Made {
    let mut made = Builder::default().build();
    let runs = made.evidence.runs.clone();
    for run in runs {
        let case = made.evidence.cases[run.planned.case as usize].clone();
        let returned = rows(&case.system, run.planned.round);
        for (id, value) in [("rows_returned", returned), ("rows_changed", 2.0)] {
            made.evidence.measurements.push(StoredMeasurement {
                run_id: run.id,
                round: run.planned.round,
                case: run.planned.case,
                position: run.planned.position,
                measurement: Measurement::value(id, "/tx", Direction::Neither, Role::Diagnostic, value),
            });
        }
    }
    made
}

#[test]
fn sides_have_no_verdict_when_one_returns_no_rows() {
    let is_refused = |made: &Made| {
        let set = set(made);
        let refused =
            set.rows().filter(|row| matches!(row.why_no_verdict(), Some(NoVerdict::DifferentRows(_)))).count();
        assert!(refused == 0 || refused == set.rows().count(), "{set:?}");
        refused > 0
    };
    let emptied = |system: &str, _: u32| if system == "wal" { 0.0 } else { 1.0 };
    let mut made = with_rows(emptied);
    assert!(is_refused(&made));
    made.evidence.header.plan.comparison.allow_different_rows = true;
    assert!(!is_refused(&made));
    // A tenth fewer is seen; what chance makes is not, nor that both have none.
    assert!(is_refused(&with_rows(
        |system, round| if system == "wal" { 0.9 } else { 1.0 } + f64::from(round % 2) / 1e3
    )));
    assert!(!is_refused(&with_rows(
        |system, round| if system == "wal" { 0.99 } else { 1.0 } + f64::from(round % 2) / 1e3
    )));
    assert!(!is_refused(&with_rows(|_, _| 0.0)));
    // Of stores before rows were counted nothing is asked.
    assert!(!is_refused(&Builder::default().build()));
}
