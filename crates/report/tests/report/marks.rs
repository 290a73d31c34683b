//! What each mark does to a verdict, held to the table of the documents.

use model::MarkKind;
use report::comparison::Outcome;

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
        assert_eq!(is_voided, kind.voids_verdict(), "{line}");
    }
}
