//! What each mark does to a verdict, held to the table of the documents.

use model::{DurabilityTier, MarkKind};
use report::comparison::{NoVerdict, NoteKind, Outcome};

use crate::comparison::set;
use crate::evidence::Builder;

const STATISTICS: &str = include_str!("../../../../docs/statistics.md");

#[test]
fn every_mark_does_to_a_verdict_what_the_table_says() {
    for kind in MarkKind::ALL {
        let name = format!("| `{}` |", kind.as_str());
        let tells_of_verdict = |line: &&str| line.contains("| **none**") || line.contains("| stands");
        let lines: Vec<&str> =
            STATISTICS.lines().filter(|line| line.starts_with(&name)).filter(tells_of_verdict).collect();
        let [line] = lines[..] else { panic!("{name} {lines:?}") };
        let mut made = Builder { clients: vec![4], ..Builder::default() }.build();
        let of_wal = made.position_of("wal");
        made.mark(of_wal, kind, "as made up");
        let set = set(&made);
        let rows: Vec<_> = set.rows().filter(|row| row.metric.id == "throughput").collect();
        let is_voided = rows.iter().all(|row| matches!(&row.outcome, Outcome::None(_)));
        assert_eq!(is_voided, line.contains("| **none**"), "{line}: {:?}", rows[0].outcome);
        // Both sides are durable by their settings.
        let is_weaker = kind.promised_durability().is_some_and(|tier| tier < DurabilityTier::Durable);
        assert_eq!(is_voided, kind.voids_verdict() || is_weaker, "{line}");
    }
}

#[test]
fn marked_commits_count_and_not_the_settings() {
    let no_verdict = |by_settings: DurabilityTier, marks: &[(&str, MarkKind)]| {
        let mut made = Builder { clients: vec![4], ..Builder::default() }.build();
        for system in ["wal", "rollback-journal"] {
            made.durability(system, by_settings, "as made up");
        }
        for (system, kind) in marks {
            made.mark(made.position_of(system), *kind, "what it did");
        }
        let set = set(&made);
        let row = set.rows().find(|row| row.metric.id == "throughput").unwrap();
        let told = set.notes.iter().any(|note| note.kind == NoteKind::UnequalDurability);
        assert_eq!(told, row.why_no_verdict().is_some());
        row.why_no_verdict().cloned()
    };
    use DurabilityTier::{Delayed, Durable, Unsafe};
    let unequal = |a, b| Some(NoVerdict::UnequalDurability { a: Some(a), b: Some(b) });
    let delayed = |system| (system, MarkKind::DelayedCommits);
    assert_eq!(no_verdict(Durable, &[]), None);
    assert_eq!(no_verdict(Durable, &[delayed("wal")]), unequal(Durable, Delayed));
    assert_eq!(no_verdict(Durable, &[delayed("wal"), delayed("rollback-journal")]), None);
    assert_eq!(
        no_verdict(Durable, &[("wal", MarkKind::UnsafeCommits), delayed("rollback-journal")]),
        unequal(Delayed, Unsafe)
    );
    // What the settings promise less than, a mark does not raise.
    assert_eq!(no_verdict(Unsafe, &[delayed("wal")]), None);
    assert_eq!(no_verdict(Unsafe, &[("wal", MarkKind::DurableCommits)]), None);
    // One run that waits is no promise of the others.
    assert_eq!(no_verdict(Delayed, &[("wal", MarkKind::DurableCommits)]), None);
}
