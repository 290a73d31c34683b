//! The arithmetic of `etalon audit`: which printed figures of a published table follow from its own rows.
//!
//! Pure: a [`formats::tidy::Table`] in, an [`Audit`] out, and the audit as text, Markdown or JSON. A row of kind
//! `measured` is a fact; one of kind `printed` is a figure as it was published, with what its label says it is; one of
//! kind `factor` says in what a side differs. Each printed figure is recomputed by the reading that its label names, then
//! by the others that the field uses, then without some rows; what that gives is a [`FindingStatus`] with its
//! arithmetic. [`Remark`]s are about the table as a whole, and [`Support`] says what its rows allow to conclude: a caller compares
//! the [`comparable`] rows like any import, and hands the [`Judgements`] in.

#![forbid(unsafe_code)]

mod compare;
mod detect;
mod estimate;
mod expression;
mod figure;
mod finding;
pub mod json;
mod level;
pub mod markdown;
mod statistic;
mod subset;
mod support;
mod table;
pub mod text;

pub use expression::FigureExpression;
pub use figure::{Match, Printed, Relation};
pub use finding::{Audit, Checked, FindingStatus, Remark, RemarkKind};
pub use statistic::{Comparing, Estimate, Statistic};
pub use support::{Conclusion, Estimated, FindingKey, Judgements, MetricJudgement, Support, compared_rows};
pub use table::{Factor, Keys, Measured, PublishedClaim, TableFacts};

/// Audits a table: checks its printed figures, remarks on it and collects what its rows support.
/// Figures come in the order of their rows.
pub fn audit_table(facts: &TableFacts, source: &str, judgements: &Judgements) -> Audit {
    let figures: Vec<Checked> = facts.claims.iter().map(|claim| check_claim(facts, claim)).collect();
    let supports = support::collect_support(facts, judgements);
    let remarks = detect::find_remarks(facts);
    let method = judgements.method.clone();
    Audit { source: source.to_owned(), figures, remarks, method, supports, notes: facts.remarks.clone() }
}

/// Checks a printed figure: a comparison or an estimate.
fn check_claim(facts: &TableFacts, claim: &PublishedClaim) -> Checked {
    match claim.statistic.and_then(|statistic| statistic.comparing) {
        Some(comparing) => compare::check_comparison(facts, claim, comparing),
        None => estimate::check_estimate(facts, claim),
    }
}
