//! SQLite's durability: <https://www.sqlite.org/pragma.html#pragma_synchronous>, and `#pragma_journal_mode`,
//! `#pragma_locking_mode`, `#pragma_fullfsync` there; the end of a rollback journal is synced by
//! `sqlite3PagerSetFlags` and `pager_end_transaction` in `pager.c`. SQLCipher's pages go the same way.

use model::DurabilityTier::{Delayed, Durable, Unsafe};

use crate::durability::DurabilityRule;
use crate::durability::Is::{NoneOf, OneOf};

/// Pragmas behind the durability.
pub(super) const LISTED: &[&str] = &["journal_mode", "synchronous"];

/// The first matching row counts. `system` is the operating system.
pub(super) const TABLE: &[DurabilityRule] = &[
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["off"]))],
        tier: Unsafe,
        why: "nothing can be rolled back: even a crash of the process within a transaction can corrupt the database",
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["memory"]))],
        tier: Unsafe,
        why: "the journal is in memory: even a crash of the process within a transaction can corrupt the database",
    },
    DurabilityRule {
        when: &[("synchronous", OneOf(&["off"]))],
        tier: Unsafe,
        why: "nothing is synced: a power cut can corrupt the database",
    },
    DurabilityRule {
        when: &[
            ("system", OneOf(&["macos"])),
            ("fullfsync", OneOf(&["0"])),
            ("journal_mode", OneOf(&["wal"])),
            ("checkpoint_fullfsync", OneOf(&["1"])),
        ],
        tier: Delayed,
        why: "a commit gets as far as the drive's cache, a checkpoint to the disk",
    },
    DurabilityRule {
        when: &[("system", OneOf(&["macos"])), ("fullfsync", OneOf(&["0"]))],
        tier: Unsafe,
        why: "macOS ends a sync when the drive has the data in its cache, which a power cut empties in any order",
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["wal"])), ("synchronous", OneOf(&["normal"]))],
        tier: Delayed,
        why: "a checkpoint is synced, a commit is not",
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["wal"])), ("synchronous", OneOf(&["full", "extra"]))],
        tier: Durable,
        why: "",
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["persist"])), ("synchronous", OneOf(&["normal"]))],
        tier: Durable,
        why: OLD_FILE_SYSTEM,
    },
    DurabilityRule {
        when: &[
            ("journal_mode", OneOf(&["delete"])),
            ("synchronous", OneOf(&["normal"])),
            ("locking_mode", OneOf(&["exclusive"])),
        ],
        tier: Durable,
        why: OLD_FILE_SYSTEM,
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["delete", "truncate"])), ("synchronous", OneOf(&["normal"]))],
        tier: Durable,
        why: "the journal's end is not synced, so that a power cut right after a commit may take that one back; on an older \
              file system one at the wrong moment may corrupt the database",
    },
    DurabilityRule {
        when: &[
            ("journal_mode", OneOf(&["delete"])),
            ("synchronous", OneOf(&["full"])),
            ("locking_mode", NoneOf(&["exclusive"])),
        ],
        tier: Durable,
        why: "the journal's removal is not synced, so that a power cut right after a commit may take that one back",
    },
    DurabilityRule {
        when: &[
            ("journal_mode", OneOf(&["delete"])),
            ("synchronous", OneOf(&["full"])),
            ("locking_mode", OneOf(&["exclusive"])),
        ],
        tier: Durable,
        why: "",
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["delete"])), ("synchronous", OneOf(&["extra"]))],
        tier: Durable,
        why: "",
    },
    DurabilityRule {
        when: &[("journal_mode", OneOf(&["truncate", "persist"])), ("synchronous", OneOf(&["full", "extra"]))],
        tier: Durable,
        why: "",
    },
    DurabilityRule { when: &[], tier: Unsafe, why: "étalon does not know this mode" },
];

const OLD_FILE_SYSTEM: &str = "on an older file system a power cut at the wrong moment may corrupt the database";

#[cfg(test)]
pub(super) const BEST: &[(&str, &str)] = &[
    ("journal_mode", "wal"),
    ("synchronous", "full"),
    ("locking_mode", "normal"),
    ("fullfsync", "0"),
    ("system", "linux"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_the_table_and_every_row_is_reached() {
        // The last row is for modes of a later SQLite.
        let best: Vec<_> = BEST.iter().copied().filter(|(name, _)| *name != "journal_mode").collect();
        crate::durability::tests::walk(TABLE, &best);
    }
}
