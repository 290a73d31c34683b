//! Sentences are for people: the judging reads none of them.

use model::Reading;
use report::comparison::{NoVerdict, Outcome, Warning};
use report::{ComparisonSet, Evidence, compare};

use crate::goldens::every_subject;

/// Writes a sentence backwards: no two become one, and no word stays.
fn other_words(sentence: &str) -> String {
    sentence.chars().rev().collect()
}

/// Replaces every sentence of an evidence.
fn reword(evidence: &mut Evidence) {
    evidence.marks.iter_mut().for_each(|(_, mark)| mark.detail = other_words(&mark.detail));
    for run in &mut evidence.runs {
        run.reason = run.reason.as_deref().map(other_words);
    }
    for stored in &mut evidence.measurements {
        if let Reading::Unavailable(missing) = &mut stored.measurement.reading {
            missing.reason = other_words(&missing.reason);
        }
    }
}

/// What was judged, without any sentence: of each row its verdict, or the kind of reason that there is none, and its warnings.
fn judged(set: &ComparisonSet) -> Vec<String> {
    let rows = set.rows().map(|row| {
        let outcome = match &row.outcome {
            Outcome::Verdict(verdict) => format!("{verdict:?}"),
            Outcome::None(reason) => kind(reason),
        };
        let warnings: Vec<&str> = row.warnings.iter().map(Warning::as_str).collect();
        format!("{} {:?} {outcome} {warnings:?}", row.metric.id, row.case)
    });
    let remedies = set.remedies.iter().map(|remedy| format!("{:?} {:?}", remedy.command, remedy.rows));
    let notes = set.notes.iter().map(|note| note.kind.as_str().to_owned());
    let hosts = set.disturbances.iter().map(|found| format!("{:?} {:?} {}", found.kind, found.hosts, found.runs));
    rows.chain(remedies).chain(notes).chain(hosts).collect()
}

/// The name of the variant.
fn kind(reason: &NoVerdict) -> String {
    let whole = format!("{reason:?}");
    whole.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn other_words_change_no_judgement() {
    for (name, subject) in every_subject() {
        let mut evidence = subject.made.evidence.clone();
        let before = compare(&evidence, &subject.options).unwrap();
        reword(&mut evidence);
        let after = compare(&evidence, &subject.options).unwrap();
        assert_eq!(judged(&after), judged(&before), "{name}");
    }
}
