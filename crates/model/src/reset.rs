use std::fmt;

use serde::{Deserialize, Serialize};

/// How a system's tables come back to their first state before each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reset {
    /// They are dropped, made and loaded again.
    Rebuild,
    /// From a copy that is kept: its blocks are shared until they are written, where the filesystem can; else as with
    /// [`Reset::Restore`].
    Clone,
    /// From a copy that is kept, block by block.
    Restore,
    /// Not at all: each run finds what those before it left.
    None,
}

impl Reset {
    /// The words of plans.
    pub const WORDS: [(&'static str, Reset); 4] =
        [("rebuild", Reset::Rebuild), ("clone", Reset::Clone), ("restore", Reset::Restore), ("none", Reset::None)];

    /// Parses the way of a fact [`RESET`](crate::facts::RESET), which begins with the plan's word for it.
    pub fn parse_fact(fact: &str) -> Option<Reset> {
        let word = fact.split([':', ' ', ';']).next()?;
        Reset::WORDS.iter().find(|(known, _)| *known == word).map(|(_, reset)| *reset)
    }

    /// Whether a copy of the loaded tables is kept next to them.
    pub fn keeps_copy(self) -> bool {
        matches!(self, Reset::Clone | Reset::Restore)
    }
}

impl fmt::Display for Reset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Reset::WORDS.iter().find(|(_, reset)| reset == self).map(|(word, _)| *word);
        f.write_str(word.unwrap_or_default())
    }
}
