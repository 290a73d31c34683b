//! What an audit says.

use crate::figure::shown;
use crate::support::Support;

/// What may be said of a printed figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// It follows from the rows, by the reading that its label names.
    Follows,
    /// It follows only from figures that were rounded before, or by cutting digits off instead of rounding.
    Rounding,
    /// It follows by another reading than its label names.
    Mislabelled,
    /// It follows only when some rows are left out.
    Subset,
    /// It does not follow from the rows.
    DoesNotFollow,
    /// No values could have given it: a mean of N integers that cannot have these decimals.
    Impossible,
    /// The table does not hold what it would take.
    CannotBeChecked,
}

impl Status {
    /// Every status, in the order of a summary.
    pub const ALL: [Status; 7] = [
        Status::Follows,
        Status::Rounding,
        Status::Mislabelled,
        Status::Subset,
        Status::DoesNotFollow,
        Status::Impossible,
        Status::CannotBeChecked,
    ];

    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Status::Follows => "follows",
            Status::Rounding => "rounding",
            Status::Mislabelled => "mislabelled",
            Status::Subset => "subset",
            Status::DoesNotFollow => "does not follow",
            Status::Impossible => "impossible",
            Status::CannotBeChecked => "cannot be checked",
        }
    }

    /// The words for so many figures: `3 do not follow`.
    pub fn words_for(self, count: usize) -> &'static str {
        match self {
            Status::Follows if count != 1 => "follow",
            Status::DoesNotFollow if count != 1 => "do not follow",
            other => other.words(),
        }
    }

    /// Whether it is an accusation. A rounded figure and one that cannot be checked are none.
    pub fn is_bad(self) -> bool {
        matches!(self, Status::Mislabelled | Status::Subset | Status::DoesNotFollow | Status::Impossible)
    }
}

/// A printed figure with what the rows say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The line of the facts file.
    pub line: u64,
    /// What the figure is called there.
    pub label: String,
    /// The figure as printed.
    pub printed: String,
    /// Its unit; empty for none.
    pub unit: String,
    /// What the rows give by the reading that the label names, in the same unit; `None` when they give nothing.
    pub right: Option<f64>,
    /// Decimals of the printed figure.
    pub decimals: i32,
    /// What may be said.
    pub status: Status,
    /// By which reading the figure follows, or what would be needed; with the arithmetic.
    pub because: String,
}

impl Checked {
    /// What the rows give, with one digit more than was printed; a dash when they give nothing.
    pub fn right_text(&self) -> String {
        match self.right {
            None => "–".to_owned(),
            Some(right) if right.fract() == 0.0 && self.decimals <= 0 => shown(right, 0),
            Some(right) => shown(right, self.decimals.max(0) + 1),
        }
    }
}

/// What is wrong with a table as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemarkKind {
    /// The clock ticks in steps, and a difference is not larger than one.
    UnderClockStep,
    /// The clock ticks in steps.
    QuantisedClock,
    /// The sides were repeated differently often, or another number is stated than there are rows.
    UnequalRepetitions,
    /// Nothing tells how often something was repeated.
    UnstatedRepetitions,
    /// Figures have no unit.
    MissingUnit,
    /// Means are printed without any spread.
    MissingSpread,
    /// The sides differ in more than one thing.
    Confounded,
    /// A counter grows from repetition to repetition: it is a total, not a difference.
    NotDifferenced,
    /// A count is the same in every repetition: what does not depend on the work cannot measure it.
    Constant,
    /// The best of several is compared.
    BestOf,
}

impl RemarkKind {
    /// The kind's name in JSON and before its text.
    pub fn as_str(self) -> &'static str {
        match self {
            RemarkKind::UnderClockStep => "under-clock-step",
            RemarkKind::QuantisedClock => "quantised-clock",
            RemarkKind::UnequalRepetitions => "unequal-repetitions",
            RemarkKind::UnstatedRepetitions => "unstated-repetitions",
            RemarkKind::MissingUnit => "missing-unit",
            RemarkKind::MissingSpread => "missing-spread",
            RemarkKind::Confounded => "confounded",
            RemarkKind::NotDifferenced => "not-differenced",
            RemarkKind::Constant => "constant",
            RemarkKind::BestOf => "best-of",
        }
    }
}

/// Something about the table as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    pub kind: RemarkKind,
    /// The evidence, with its figures.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// The file, as it was called.
    pub source: String,
    /// Every printed figure, in the order of the table.
    pub figures: Vec<Checked>,
    /// What is wrong with the table as a whole.
    pub remarks: Vec<Remark>,
    /// What the rows support.
    pub supports: Vec<Support>,
    /// The remarks of the facts file itself: its source.
    pub notes: Vec<String>,
}

impl Audit {
    /// How many figures have that status.
    pub fn count(&self, status: Status) -> usize {
        self.figures.iter().filter(|figure| figure.status == status).count()
    }

    /// Whether any figure is accused.
    pub fn is_bad(&self) -> bool {
        self.figures.iter().any(|figure| figure.status.is_bad())
    }
}
