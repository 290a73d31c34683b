use std::collections::BTreeMap;
use std::time::Duration;

use model::plan::{ComparisonRules, Connect, PrivatePooler, PrivateServer};
use model::{
    Absence, Benchmark, Direction, Facts, Length, LoadPoint, Mark, MarkKind, Measurement, Metric, Nature, OnError,
    Order, Plan, QueryPlan, Reading, Role, RunRecord, RunState, Schedule, Series, SeriesKind, SystemPlan, Value,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use store::{Header, Store};

use crate::fixture::{create, order};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "\\PC{0,12}", 1 => any::<String>()]
}

fn finite() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO, Just(0.1 + 0.2), Just(1e16), Just(5.0)]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        finite().prop_map(Value::Float),
        text().prop_map(Value::Text),
    ]
}

fn system() -> impl Strategy<Value = SystemPlan> {
    let connect = select(vec![Connect::Socket, Connect::Tcp]);
    let pooler = (text(), text(), option::of(any::<u32>()));
    let pooler = pooler.prop_map(|(name, mode, size)| PrivatePooler { name, mode, size });
    let server = (
        text(),
        option::of(text()),
        option::of(text()),
        option::of(text()),
        connect,
        option::of(pooler),
        any::<bool>(),
    );
    let server = server.prop_map(|(engine, version, bin_dir, folder, connect, pooler, optional)| PrivateServer {
        engine,
        version,
        bin_dir,
        folder,
        connect,
        pooler,
        optional,
    });
    (text(), text(), text(), btree_map(text(), value(), 0..4), option::of(server), option::of(text())).prop_map(
        |(name, engine, url, settings, server, alias_of)| SystemPlan {
            name,
            engine,
            url,
            settings,
            server,
            volume: None,
            alias_of,
            price: None,
            reset: None,
            change: None,
        },
    )
}

fn benchmark() -> impl Strategy<Value = Benchmark> {
    let points = vec(btree_map(text(), value(), 0..4), 0..4);
    let by_default = btree_set(text(), 0..4);
    (text(), text(), option::of(text()), points, by_default).prop_map(
        |(name, workload, stands_for, points, by_default)| Benchmark { name, workload, stands_for, points, by_default },
    )
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let length =
        prop_oneof![any::<Duration>().prop_map(Length::Duration), any::<u64>().prop_map(Length::Transactions),];
    let order = select(vec![Order::Interleaved, Order::Sequential]);
    let on_error = select(vec![OnError::Stop, OnError::Continue]);
    (any::<u32>(), any::<Duration>(), length, order, any::<u64>(), on_error).prop_map(
        |(rounds, warmup, length, order, seed, on_error)| Schedule {
            rounds,
            until_sure: None,
            caches: model::Caches::Warmed,
            warmup,
            length,
            order,
            seed,
            on_error,
        },
    )
}

fn plan() -> impl Strategy<Value = Plan> {
    let rules =
        (text(), finite(), finite(), any::<bool>()).prop_map(|(baseline, margin, level, allow)| ComparisonRules {
            baseline,
            margin,
            level,
            allow_unequal_durability: allow,
            allow_sequential_order: !allow,
            allow_different_rows: allow,
        });
    (text(), vec(system(), 0..4), vec(benchmark(), 0..4), schedule(), rules).prop_map(
        |(name, systems, benchmarks, schedule, comparison)| Plan {
            name,
            systems,
            benchmarks,
            schedule,
            comparison,
            fleet: None,
        },
    )
}

fn header() -> impl Strategy<Value = Header> {
    (plan(), text(), option::of(text()), text(), any::<i64>()).prop_map(
        |(plan, plan_text, plan_path, command, created)| Header {
            etalon_version: "0.1.0".into(),
            build: "release".into(),
            created_unix_ms: created,
            plan,
            plan_text,
            plan_path,
            plan_hash: "h".into(),
            command,
        },
    )
}

fn measurements() -> impl Strategy<Value = Vec<Measurement>> {
    let direction = select(vec![Direction::Higher, Direction::Lower, Direction::Neither]);
    let role = select(vec![Role::Primary, Role::Secondary, Role::Diagnostic]);
    let kind = select(vec![Absence::Unavailable, Absence::Wrong, Absence::Unsupported, Absence::Failed]);
    let missing = (kind, text()).prop_map(|(kind, reason)| Reading::Unavailable(kind.with_reason(reason)));
    let reading = prop_oneof![finite().prop_map(Reading::Value), missing];
    btree_map(text(), (text(), direction, role, reading), 0..8).prop_map(|all| {
        // Not sorted: the order is to be kept.
        all.into_iter()
            .rev()
            .map(|(id, (unit, direction, role, reading))| Measurement {
                metric: Metric { id, unit, direction, role },
                reading,
            })
            .collect()
    })
}

fn series() -> impl Strategy<Value = Vec<Series>> {
    let key = (text(), any::<bool>(), option::of(any::<u32>()));
    btree_map(key, (any::<u32>(), 0..=i64::MAX as u64, vec(any::<u8>(), 0..5000)), 0..6).prop_map(|all| {
        all.into_iter()
            .rev()
            .map(|((host, response, interval), (length_ms, errors, histogram))| {
                let kind = if response { SeriesKind::Response } else { SeriesKind::Service };
                Series { host, kind, interval, length_ms, errors, histogram }
            })
            .collect()
    })
}

fn marks() -> impl Strategy<Value = Vec<Mark>> {
    use MarkKind::{
        Backlog, ClientSaturated, Errors, NotSteady, Note, Paused, RateNotMet, ServedByCache, TooFewClients,
        TooFewOperations, WarmUpTooShort,
    };
    let kinds = [
        ClientSaturated,
        Errors,
        NotSteady,
        WarmUpTooShort,
        RateNotMet,
        Backlog,
        Paused,
        ServedByCache,
        TooFewOperations,
        TooFewClients,
        MarkKind::NoLoadKept,
        MarkKind::EveryLoadKept,
        Note,
    ];
    let kind = select(kinds.to_vec());
    vec((kind, text()).prop_map(|(kind, detail)| Mark::new(kind, detail)), 0..5)
}

fn points() -> impl Strategy<Value = Vec<LoadPoint>> {
    let shares = (0.0..=1.0, 0.0..=1.0);
    let times = (option::of(0.0..1e9), option::of(0.0..1e9));
    let load = (option::of(0.1..1e9), option::of(1_u32..));
    let point = (load, 0.0..1e9, times, shares, any::<Option<bool>>(), any::<bool>());
    let point = point.prop_map(|(load, throughput, times, shares, is_kept, is_client_saturated)| LoadPoint {
        rate: load.0,
        clients: load.1,
        throughput,
        response_p50_us: times.0,
        response_p99_us: times.1,
        late_share: shares.0,
        failed_share: shares.1,
        is_kept,
        is_client_saturated,
    });
    vec(point, 0..4)
}

fn query_plans() -> impl Strategy<Value = Vec<QueryPlan>> {
    let reading = prop_oneof![text().prop_map(Ok), text().prop_map(Err)];
    vec((text(), reading).prop_map(|(query, text)| QueryPlan { query, text }), 0..4)
}

fn record() -> impl Strategy<Value = RunRecord> {
    let state = select(vec![RunState::Measured, RunState::Failed, RunState::Aborted]);
    (state, text(), any::<Option<i64>>(), 0.0..1e9, measurements(), series(), marks(), points(), query_plans())
        .prop_map(|(state, reason, began_unix_ms, elapsed_s, measurements, series, marks, points, query_plans)| {
            let reason = (state != RunState::Measured).then_some(reason);
            RunRecord { state, reason, began_unix_ms, elapsed_s, measurements, series, marks, points, query_plans }
        })
}

fn facts() -> impl Strategy<Value = Facts> {
    let reading = prop_oneof![text().prop_map(Ok), text().prop_map(Err)];
    let nature = select(vec![Nature::Identity, Nature::Passing]);
    btree_map(text(), (reading, nature), 1..6).prop_map(|all| {
        let mut facts = Facts::default();
        for (name, (reading, nature)) in all {
            facts.insert(name, reading, nature);
        }
        facts
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_headers_cases_and_orders(header in header(), rounds in 0..4u32) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.etalon");
        let cases = header.plan.cases();
        let order = order(cases.len() as u32, rounds);
        let mut shuffled = order.clone();
        shuffled.reverse();
        let store = Store::create(&path, &header, &shuffled).unwrap();
        prop_assert_eq!(store.header(), &header);
        drop(store);
        for store in [Store::open_read_only(&path).unwrap(), Store::open(&path).unwrap()] {
            prop_assert_eq!(store.header(), &header);
            prop_assert_eq!(store.cases(), &cases[..]);
            prop_assert_eq!(&store.pending().unwrap(), &order);
            prop_assert_eq!(store.runs().unwrap().len(), order.len());
        }
    }

    #[test]
    fn of_records(records in vec(record(), 1..=6)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.etalon");
        let mut store = create(&path, 1);
        for (planned, record) in order(6, 1).into_iter().zip(&records) {
            let id = store.begin_run(planned, 5).unwrap();
            store.finish_run(id, record).unwrap();
        }
        store.close().unwrap();
        let store = Store::open_read_only(&path).unwrap();
        store.check_integrity().unwrap();
        let (runs, marks, measured) = (store.runs().unwrap(), store.marks().unwrap(), store.measurements().unwrap());
        let (points, plans) = (store.load_points().unwrap(), store.query_plans().unwrap());
        for (run, record) in runs.iter().zip(&records) {
            let is_measured = record.state == RunState::Measured;
            let found = RunRecord {
                state: run.state,
                reason: run.reason.clone(),
                began_unix_ms: run.started_unix_ms,
                elapsed_s: run.elapsed_s,
                measurements: measured.iter().filter(|m| m.run_id == run.id).map(|m| m.measurement.clone()).collect(),
                series: store.series_of(run.id).unwrap(),
                marks: marks.iter().filter(|(id, _)| *id == run.id).map(|(_, mark)| mark.clone()).collect(),
                points: points.iter().filter(|(id, _)| *id == run.id).map(|(_, point)| point.clone()).collect(),
                query_plans: plans.iter().filter(|(id, _)| *id == run.id).map(|(_, plan)| plan.clone()).collect(),
            };
            let mut expected = record.clone();
            expected.measurements.retain(|_| is_measured);
            // One that does not say when it began began when its place in the order did.
            expected.began_unix_ms = expected.began_unix_ms.or(Some(5));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn of_facts(first in btree_map(text(), facts(), 1..4), second in facts()) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = create(&dir.path().join("x.etalon"), 0);
        for (subject, facts) in &first {
            store.put_facts(subject, facts, 1).unwrap();
        }
        prop_assert_eq!(&store.facts().unwrap(), &first);
        // Taken again, they replace those that were there.
        let mut expected: BTreeMap<String, Facts> = first;
        let subject = expected.keys().next().unwrap().clone();
        store.put_facts(&subject, &second, 2).unwrap();
        expected.insert(subject, second);
        prop_assert_eq!(store.facts().unwrap(), expected);
    }
}
