//! SQL Server's durability:
//! <https://learn.microsoft.com/en-us/sql/relational-databases/logs/control-transaction-durability>, of `tempdb`
//! <https://learn.microsoft.com/en-us/sql/relational-databases/databases/tempdb-database>, and of Linux
//! <https://learn.microsoft.com/en-us/sql/linux/sql-server-linux-performance-best-practices>.

use model::DurabilityTier::{Delayed, Durable, Memory};

use crate::durability::DurabilityRule;
use crate::durability::Is::OneOf;

pub(super) const LISTED: &[&str] = &["delayed_durability", "recovery_model", "page_verify"];

/// The first matching row counts. `system` is the server's operating system; `forced flush` is off with trace flag
/// 3979, and before CU 6 of 2017 (<https://support.microsoft.com/help/4131496>).
pub(super) const TABLE: &[DurabilityRule] = &[
    DurabilityRule {
        when: &[("database", OneOf(&["tempdb"]))],
        tier: Memory,
        why: "tempdb is made again when the server starts",
    },
    DurabilityRule {
        when: &[("delayed_durability", OneOf(&["forced"]))],
        tier: Delayed,
        why: "no commit waits for the log",
    },
    DurabilityRule {
        when: &[("system", OneOf(&["linux"])), ("forced flush", OneOf(&["off"]))],
        tier: Durable,
        why: "files are not flushed by force: what a device without forced unit access keeps in a volatile cache is lost",
    },
    DurabilityRule {
        when: &[("delayed_durability", OneOf(&["allowed"]))],
        tier: Durable,
        why: "a commit is delayed where it asks for it",
    },
    DurabilityRule { when: &[], tier: Durable, why: "" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_the_table_and_every_row_is_reached() {
        let best =
            [("database", "etalon"), ("delayed_durability", "DISABLED"), ("system", "Linux"), ("forced flush", "on")];
        crate::durability::tests::walk(TABLE, &best);
    }
}
