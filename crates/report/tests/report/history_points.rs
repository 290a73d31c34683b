//! What an experiment adds to a history, and by which facts a series is cut.

use model::{Length, MarkKind, Metric};
use report::history::{Contribution, follow_history, read_contribution};
use store::history::{HistoryContent, StoredSeries};

use crate::evidence::{Builder, Made};

const ANCHOR: &str = "rollback-journal";

fn contribution_of(made: &Made) -> Contribution {
    read_contribution(&made.evidence, Some(ANCHOR), None).unwrap()
}

/// The facts by which the first row is cut between two nights, 0 and 1.
fn cut_between(arrange: impl Fn(&mut Made, u32)) -> Vec<String> {
    let nights = [0, 1].map(|night| {
        let mut made = Builder::default().build();
        made.evidence.header.created_unix_ms += i64::from(night) * 86_400_000;
        arrange(&mut made, night);
        made
    });
    let mut content = HistoryContent::default();
    for (at, made) in nights.iter().enumerate() {
        let addition = contribution_of(made).addition;
        content.experiments.push(addition.experiment);
        content.facts.extend(addition.facts);
        for (key, point) in addition.points {
            match content.series.iter_mut().find(|series| series.key == key) {
                Some(series) => series.points.push((at, point)),
                None => content.series.push(StoredSeries { key, points: vec![(at, point)] }),
            }
        }
    }
    let history = follow_history(content);
    let cuts = history.rows[0].cuts.iter().flat_map(|cut| &cut.differences);
    cuts.map(|difference| difference.name.clone()).collect()
}

#[test]
fn passing_facts_cut_no_series() {
    let cuts = cut_between(|made, night| {
        let facts = made.evidence.facts.get_mut("wal").unwrap();
        facts.record_passing("setting.pid_file", format!("/tmp/{night}.pid"));
        facts.record_identity("setting.cache_size", night.to_string());
    });
    assert_eq!(cuts, ["setting.cache_size"]);
}

#[test]
fn other_runs_and_builds_cut_a_series() {
    let cuts = cut_between(|made, night| {
        let facts = made.evidence.facts.get_mut("client").unwrap();
        facts.record_identity("etalon.profile", ["debug", "release"][night as usize]);
        let plan = &mut made.evidence.header.plan;
        plan.schedule.length = Length::Transactions(u64::from(night));
        plan.schedule.warmup += std::time::Duration::from_secs(u64::from(night));
        plan.systems[1].engine = format!("engine {night}");
    });
    assert_eq!(cuts, ["client etalon.profile", "duration of runs", "engine", "warm-up of runs"]);
}

#[test]
fn a_ratio_of_bounds_is_left_out() {
    let mut made = Builder::default().build();
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "throughput" {
            let metric: &mut Metric = &mut stored.measurement.metric;
            metric.id = model::metric::CAPACITY.to_owned();
        }
    }
    let ids = |made: &Made| {
        let points = contribution_of(made).addition.points;
        points.into_iter().filter(|(key, _)| key.metric == model::metric::CAPACITY).count()
    };
    assert!(ids(&made) > 0);
    let cases = &made.evidence.cases;
    let of_build: Vec<u32> = made
        .evidence
        .runs
        .iter()
        .filter(|run| cases[run.planned.case as usize].system == "wal")
        .map(|run| run.planned.position)
        .collect();
    of_build.iter().for_each(|position| made.mark(*position, MarkKind::EveryLoadKept, "by its search"));
    assert_eq!(ids(&made), 0);
    let left_out = contribution_of(&made).left_out;
    assert!(left_out.iter().any(|one| one.reason.contains("bound")), "{left_out:?}");
}
