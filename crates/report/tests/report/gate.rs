//! When the gate opens.

use report::gate::{Format, GateOutcome, GateRules, GateStatus, Inconclusive, RowStatus, gate, render};
use report::{Options, compare};

use crate::evidence::{Builder, Made, Speed};

fn built(candidate: Speed, noise: f64, blocks: u32) -> Made {
    let systems = vec![("old".to_owned(), (|_| 1_000.0) as Speed), ("new <&\"|".to_owned(), candidate)];
    Builder { systems, noise, blocks, clients: vec![1], seconds: 5, ..Builder::default() }.build()
}

fn judged(made: &Made, rules: &GateRules) -> GateOutcome {
    gate(&compare(&made.evidence, &Options::default()).unwrap(), rules)
}

#[test]
fn it_fails_on_a_sure_and_large_regression_only() {
    let five = GateRules { max_regression: 0.05, ..GateRules::default() };
    let slower = judged(&built(|_| 800.0, 0.004, 8), &five);
    assert_eq!((slower.status, slower.count(RowStatus::Regressed)), (GateStatus::Failed, 3), "{slower:?}");
    assert_eq!(judged(&built(|_| 980.0, 0.002, 8), &five).status, GateStatus::Passed);
    let better = judged(&built(|_| 1_200.0, 0.004, 8), &five);
    assert_eq!((better.status, better.count(RowStatus::Improved)), (GateStatus::Passed, 3));
    let loose = GateRules { max_regression: 0.5, ..five };
    assert_eq!(judged(&built(|_| 800.0, 0.004, 8), &loose).status, GateStatus::Passed);
}

#[test]
fn noise_is_open_not_green_when_asked() {
    let noisy = built(|_| 990.0, 0.3, 6);
    let strict = GateRules { max_regression: 0.05, inconclusive: Inconclusive::Fail, ..GateRules::default() };
    let outcome = judged(&noisy, &strict);
    assert_eq!(outcome.status, GateStatus::Inconclusive, "{outcome:?}");
    assert_eq!(judged(&noisy, &GateRules { inconclusive: Inconclusive::Pass, ..strict }).status, GateStatus::Passed);
}

#[test]
fn comparing_nothing_is_no_pass() {
    let few = judged(&built(|_| 1_000.0, 0.01, 3), &GateRules::default());
    assert_eq!((few.status, few.count(RowStatus::NotCompared)), (GateStatus::NothingCompared, 3));
    let many = GateRules { min_rows: 4, ..GateRules::default() };
    assert_eq!(judged(&built(|_| 1_000.0, 0.002, 8), &many).status, GateStatus::NothingCompared);
}

#[test]
fn every_form_escapes_its_names() {
    let outcome = judged(&built(|_| 800.0, 0.004, 8), &GateRules::default());
    let text = render(&outcome, Format::Text);
    assert!(text.starts_with("regressed     select-update, throughput (new <&\"| against old): -20"), "{text}");
    assert!(
        text.ends_with("gate failed: 3 regressed beyond 3 %, 0 improved, 0 held, 0 open, 0 not compared\n"),
        "{text}"
    );
    let github = render(&outcome, Format::Github);
    assert!(
        github.starts_with("::error title=etalon: regressed::") && github.contains("20.") && github.contains("%25")
    );
    let junit = render(&outcome, Format::Junit);
    assert!(junit.contains("new &lt;&amp;&quot;|") && junit.contains("failures=\"3\""), "{junit}");
    let markdown = render(&outcome, Format::Markdown);
    assert!(markdown.contains("new &lt;&amp;\"\\|"), "{markdown}");
    assert!(
        report::markdown::render(&compare(&built(|_| 800.0, 0.004, 8).evidence, &Options::default()).unwrap())
            .contains("### select-update: new &lt;&amp;\"\\| against old")
    );
}
