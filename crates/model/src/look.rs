//! A look at an experiment that is judged after each round.

use std::collections::BTreeSet;

/// How the primary rows stand after a number of rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Cases, by index, none of whose rows is open.
    pub settled: BTreeSet<u32>,
    pub rows: Vec<RowSoFar>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSoFar {
    pub name: String,
    pub standing: Standing,
    /// For people: the change with its interval, and what it says or how many rounds are to go.
    pub figures: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Rounds may decide it.
    Open,
    /// Faster, slower or equivalent.
    Decided,
    /// It has no verdict, whatever rounds follow.
    Closed,
}

impl Look {
    /// Lists the rows that stand so after the look.
    pub fn with_standing(&self, standing: Standing) -> impl Iterator<Item = &RowSoFar> {
        self.rows.iter().filter(move |row| row.standing == standing)
    }
}
