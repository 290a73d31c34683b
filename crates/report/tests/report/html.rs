//! The page as text: every part is there, nothing gets out of its place.

use model::{DurabilityTier, MarkKind};
use report::{Options, compare, html};

use crate::evidence::{Builder, Made};

pub fn page(made: &Made) -> String {
    let set = compare(&made.evidence, &Options::default()).unwrap();
    html::render_page(&made.evidence, &set, &made.series).unwrap()
}

/// Names that try to escape.
pub const HOSTILE: [&str; 5] = [
    "<script>window.owned=1</script>",
    "\"></style><img src=x onerror=window.owned=1>",
    "]]></svg><script>window.owned=1</script>",
    "\u{202e}شركة <b>قواعد</b> البيانات\u{202c}",
    "--><!-- </title></script><script>window.owned=1</script> ${7*7} {{7*7}}",
];

/// Every external name and text is hostile.
pub fn hostile() -> Made {
    let mut builder = Builder { rounds: 6, clients: vec![1], seconds: 3, ..Builder::default() };
    builder.name = HOSTILE[1].to_owned();
    builder.benchmark = HOSTILE[0].to_owned();
    builder.systems[0].0 = format!("{}{}", HOSTILE[4], "long name ".repeat(30));
    builder.systems[1].0 = HOSTILE[3].to_owned();
    builder.systems.push((HOSTILE[2].to_owned(), |_| 700.0));
    let mut made = builder.build();
    let header = &mut made.evidence.header;
    header.command = format!("etalon run '{}'", HOSTILE[4]);
    header.plan_text = HOSTILE.join("\n");
    header.plan_hash = HOSTILE[1].to_owned();
    header.etalon_version = HOSTILE[0].to_owned();
    header.plan_path = Some(HOSTILE[2].to_owned());
    for facts in made.evidence.facts.values_mut() {
        HOSTILE.iter().for_each(|name| facts.record_identity(*name, *name));
        facts.record_unavailable("unavailable", HOSTILE[1]);
    }
    made.evidence.facts.get_mut(HOSTILE[3]).unwrap().record_identity("only here", HOSTILE[4]);
    for (position, name) in (0..).zip(HOSTILE) {
        made.mark(position, MarkKind::Note, name);
    }
    made.mark(1, MarkKind::ClientSaturated, HOSTILE[1]);
    made.fail(2, HOSTILE[2]);
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "response_p99" {
            stored.measurement.metric.unit = HOSTILE[1].to_owned();
        }
    }
    made
}

#[test]
fn numbers_of_a_changed_store_cost_no_time() {
    let mut made = Builder { rounds: 6, clients: vec![1], seconds: 3, ..Builder::default() }.build();
    let began = std::time::Instant::now();
    made.evidence.runs.last_mut().unwrap().planned.round = u32::MAX;
    assert!(page(&made).contains("</html>"));
    made.series.values_mut().flatten().find(|part| part.interval.is_some()).unwrap().interval = Some(u32::MAX);
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let refused = html::render_page(&made.evidence, &set, &made.series).unwrap_err();
    assert!(refused.to_string().contains("no run has an interval of the number 4294967295"), "{refused}");
    // Four thousand million numbers were checked.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn hostile_text_stays_text() {
    let made = hostile();
    let page = page(&made);
    assert_eq!(page.matches("<script").count(), 2 + page.matches("<script type=\"application/json\">").count());
    assert!(!page.contains("<img") && !page.contains("<b>قواعد") && !page.contains("<!-- "), "markup got out");
    // Attributes cannot be ended.
    assert!(!page.contains("\"></style>"));
    assert_eq!(page.matches("</style>").count(), 1);
    assert_eq!(page.matches("<!DOCTYPE html>").count(), 1);
}

#[test]
fn the_page_asks_for_nothing() {
    let page = page(&Builder { rounds: 6, ..Builder::default() }.build());
    for link in ["http://", "https://", "src=", "@import", "url(", "<link"] {
        let found = page.replace("http://www.w3.org/2000/svg", "").contains(link);
        assert!(!found, "{link} is in the page");
    }
    assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
}

#[test]
fn every_picture_is_described_in_words() {
    let page = page(&Builder { rounds: 6, ..Builder::default() }.build());
    let pictures = page.matches("role=\"img\"").count();
    assert!(pictures > 0);
    assert_eq!(pictures, page.matches("<desc ").count());
}

#[test]
fn it_can_be_made_of_very_little() {
    let mut nothing = Builder { rounds: 1, clients: vec![1], ..Builder::default() }.build();
    nothing.fail(0, "no route to host");
    nothing.fail(1, "no route to host");
    nothing.evidence.facts.clear();
    let text = page(&nothing);
    assert!(text.contains("There is nothing to compare.") && text.contains("no route to host"));
    let mut no_series = Builder { rounds: 2, ..Builder::default() }.build();
    no_series.series.clear();
    assert!(!page(&no_series).contains("id=\"latency\""), "without response times there is no part for them");
    let mut unequal = Builder { rounds: 6, ..Builder::default() }.build();
    unequal.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    unequal.evidence.header.build = "debug".to_owned();
    let text = page(&unequal);
    assert!(
        text.contains("<strong>Not comparable:</strong> measured by a debug build")
            && text.contains("unequal durability")
    );
}

#[test]
fn a_damaged_histogram_is_an_error_that_names_its_run() {
    let mut made = Builder { rounds: 1, clients: vec![1], ..Builder::default() }.build();
    made.series.get_mut(&1).unwrap()[0].histogram.truncate(7);
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let error = html::render_page(&made.evidence, &set, &made.series).unwrap_err().to_string();
    assert!(error.starts_with("read the histograms of run 1: "), "{error}");
}

#[test]
fn a_histogram_that_would_fill_the_memory_is_refused() {
    let mut made = Builder { rounds: 1, clients: vec![1], ..Builder::default() }.build();
    made.series.get_mut(&1).unwrap()[0].histogram[12..16].copy_from_slice(&5_u32.to_be_bytes());
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let error = html::render_page(&made.evidence, &set, &made.series).unwrap_err().to_string();
    assert!(error.contains("it claims 5 digits"), "{error}");
}

#[test]
fn the_same_evidence_gives_the_same_page() {
    let made = Builder { rounds: 6, ..Builder::default() }.build();
    assert_eq!(page(&made), page(&made));
}

/// A metric family is one picture; a wrong answer is a row with its reason and no mark.
#[test]
fn the_parts_of_a_suite_stand_in_one_picture_with_the_wrong_answers() {
    let mut made = Builder { rounds: 6, clients: vec![1], ..Builder::default() }.build();
    let wal = made.evidence.cases.iter().position(|case| case.system == "wal").unwrap() as u32;
    let mut suite = Vec::new();
    for stored in made.evidence.measurements.iter().filter(|stored| stored.measurement.metric.id == "throughput") {
        for part in ["S4-inside", "S11-within"] {
            let mut stored = stored.clone();
            stored.measurement.metric.id = format!("elapsed/{part}");
            stored.measurement.metric.unit = "ms".to_owned();
            stored.measurement.metric.direction = model::Direction::Lower;
            if part == "S11-within" && stored.case == wal {
                let reason = model::Absence::Wrong.with_reason("pairs: expected 364, got 341");
                stored.measurement.reading = model::Reading::Unavailable(reason);
            }
            suite.push(stored);
        }
    }
    made.evidence.measurements = suite;
    let page = page(&made);
    assert_eq!(page.matches("Change in elapsed").count(), 1, "one picture for the family");
    for said in ["S4-inside", "S11-within", "n/a (B): wrong answer", "pairs: expected 364, got 341"] {
        assert!(page.contains(said), "{said} is missing");
    }
    let options = Options { metrics: report::MetricFilter::Named(vec!["elapsed".to_owned()]), ..Options::default() };
    let set = compare(&made.evidence, &options).unwrap();
    let wrong = set.tables[0].rows.iter().find(|row| row.metric.id == "elapsed/S11-within").unwrap();
    assert!(wrong.estimate.is_none() && wrong.verdict().is_none(), "a wrong answer takes no part in ratios");
}
