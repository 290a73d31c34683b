//! What an audit says.

use crate::figure::shown;
use crate::support::Support;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingStatus {
    /// From the rows, by its label's reading.
    Follows,
    /// Only from rounded figures, or by cutting off digits.
    Rounding,
    /// By another reading than the label's.
    Mislabelled,
    /// Only without some rows.
    Subset,
    /// Not from the rows.
    DoesNotFollow,
    /// A mean of N integers cannot have these decimals.
    Impossible,
    /// The table lacks the data.
    CannotBeChecked,
}

impl FindingStatus {
    /// In the order of a summary.
    pub const ALL: [FindingStatus; 7] = [
        FindingStatus::Follows,
        FindingStatus::Rounding,
        FindingStatus::Mislabelled,
        FindingStatus::Subset,
        FindingStatus::DoesNotFollow,
        FindingStatus::Impossible,
        FindingStatus::CannotBeChecked,
    ];

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

    pub fn words_for(self, count: usize) -> &'static str {
        match self {
            FindingStatus::Follows if count != 1 => "follow",
            FindingStatus::DoesNotFollow if count != 1 => "do not follow",
            other => other.words(),
        }
    }

    /// An accusation: not rounding or unverifiable figures.
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
    /// By the label's reading; `None` when the rows give nothing.
    pub right: Option<f64>,
    pub decimals: i32,
    pub status: FindingStatus,
    /// The reading by which it follows, or what is missing; with the arithmetic.
    pub because: String,
}

impl Checked {
    /// With one digit more than was printed; a dash without value.
    pub fn right_text(&self) -> String {
        match self.right {
            None => "–".to_owned(),
            Some(right) if right.fract() == 0.0 && self.decimals <= 0 => shown(right, 0),
            Some(right) => shown(right, self.decimals.max(0) + 1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemarkKind {
    /// A difference is not larger than the clock's step.
    UnderClockStep,
    /// The clock ticks in steps.
    QuantisedClock,
    /// Between the sides, or between stated number and rows.
    UnequalRepetitions,
    /// Nothing tells how often something was repeated.
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
    /// What is wrong with the table as a whole.
    pub remarks: Vec<Remark>,
    /// How the rows were compared.
    pub method: String,
    pub supports: Vec<Support>,
    /// Of the facts file: its source.
    pub notes: Vec<String>,
}

impl Audit {
    pub fn count(&self, status: FindingStatus) -> usize {
        self.figures.iter().filter(|figure| figure.status == status).count()
    }

    pub fn is_bad(&self) -> bool {
        self.figures.iter().any(|figure| figure.status.is_bad())
    }
}
