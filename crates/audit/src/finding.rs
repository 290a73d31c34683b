//! The result of an audit: a finding for each figure, and remarks on the whole table.

use crate::figure::number_text;
use crate::support::Support;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingStatus {
    /// The figure follows from the rows, by its label's reading.
    Follows,
    /// It follows only from rounded figures, or by cutting off digits.
    Rounding,
    /// It follows by another reading than the label's.
    Mislabelled,
    /// It follows only without some rows.
    Subset,
    /// It does not follow from the rows.
    DoesNotFollow,
    /// A mean of N integers cannot have these decimals.
    Impossible,
    /// The table does not have the data.
    CannotBeChecked,
}

impl FindingStatus {
    /// All statuses, in the order of a summary.
    pub const ALL: [FindingStatus; 7] = [
        FindingStatus::Follows,
        FindingStatus::Rounding,
        FindingStatus::Mislabelled,
        FindingStatus::Subset,
        FindingStatus::DoesNotFollow,
        FindingStatus::Impossible,
        FindingStatus::CannotBeChecked,
    ];

    /// The status in words, for one figure.
    pub fn words(self) -> &'static str {
        match self {
            FindingStatus::Follows => "follows",
            FindingStatus::Rounding => "rounding",
            FindingStatus::Mislabelled => "mislabelled",
            FindingStatus::Subset => "subset",
            FindingStatus::DoesNotFollow => "does not follow",
            FindingStatus::Impossible => "impossible",
            FindingStatus::CannotBeChecked => "cannot be checked",
        }
    }

    /// The status in words, for a number of figures.
    pub fn words_for(self, count: usize) -> &'static str {
        match self {
            FindingStatus::Follows if count != 1 => "follow",
            FindingStatus::DoesNotFollow if count != 1 => "do not follow",
            other => other.words(),
        }
    }

    /// Whether the status is an accusation: not following, rounding or unverifiable.
    pub fn is_bad(self) -> bool {
        matches!(
            self,
            FindingStatus::Mislabelled
                | FindingStatus::Subset
                | FindingStatus::DoesNotFollow
                | FindingStatus::Impossible
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The line of the facts file.
    pub line: u64,
    pub label: String,
    pub printed: String,
    pub unit: String,
    /// The figure by the label's reading; `None` when the rows give nothing.
    pub right: Option<f64>,
    pub decimals: i32,
    pub status: FindingStatus,
    /// The reading by which it follows, or what is missing; with the arithmetic.
    pub because: String,
}

impl Checked {
    /// Writes the right figure with one digit more than was printed; a dash without value.
    pub fn right_text(&self) -> String {
        match self.right {
            None => "–".to_owned(),
            Some(right) if right.fract() == 0.0 && self.decimals <= 0 => number_text(right, 0),
            Some(right) => number_text(right, self.decimals.max(0) + 1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemarkKind {
    /// A difference is not larger than the clock's step.
    UnderClockStep,
    /// The clock ticks in steps.
    QuantisedClock,
    /// The number of repetitions differs between the sides, or between the stated number and the rows.
    UnequalRepetitions,
    /// The number of repetitions is not stated.
    UnstatedRepetitions,
    /// Figures have no unit.
    MissingUnit,
    /// Means without any spread.
    MissingSpread,
    /// The sides differ in more than one thing.
    Confounded,
    /// A counter's total instead of a difference.
    NotDifferenced,
    /// Equal in every repetition: it cannot measure the work.
    Constant,
    /// The best of several is compared.
    BestOf,
}

impl RemarkKind {
    /// The kind's word in JSON.
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

#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    pub kind: RemarkKind,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// The file, as it was called.
    pub source: String,
    pub figures: Vec<Checked>,
    /// The faults of the table as a whole.
    pub remarks: Vec<Remark>,
    /// How the rows were compared.
    pub method: String,
    pub supports: Vec<Support>,
    /// Notes of the facts file on its source.
    pub notes: Vec<String>,
}

impl Audit {
    /// Counts the figures with a status.
    pub fn count_of(&self, status: FindingStatus) -> usize {
        self.figures.iter().filter(|figure| figure.status == status).count()
    }

    /// Tests whether any figure is mislabelled, of a subset, impossible or does not follow.
    pub fn is_bad(&self) -> bool {
        self.figures.iter().any(|figure| figure.status.is_bad())
    }
}
