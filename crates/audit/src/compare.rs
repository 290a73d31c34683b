//! Checks a figure that sets two sides against each other.

use std::cmp::Ordering;

use formats::dimension::Ratio;
use model::Direction;

use crate::estimate::{Found, better_direction, estimate_words};
use crate::figure::{Match, Printed, number_text};
use crate::finding::{Checked, FindingStatus};
use crate::level::{LevelKind, find_levels};
use crate::statistic::{Comparing, Estimate, RatioForm, Sign};
use crate::table::{PublishedClaim, TableFacts};

#[derive(Clone, Debug)]
struct Base {
    system: f64,
    against: f64,
    /// The lowest and highest value of each side before the printed figure, or its rows, were rounded.
    ranges: [(f64, f64); 2],
    kind: BaseKind,
}

#[derive(Clone, Debug, PartialEq)]
enum BaseKind {
    Level(LevelKind),
    Printed(Box<(Printed, Printed)>),
}

impl Base {
    /// What kind of figures the base has, in words.
    fn words(&self) -> &'static str {
        match &self.kind {
            BaseKind::Level(kind) => kind.words(),
            BaseKind::Printed(_) => "as printed",
        }
    }

    /// Whether the sides' rounding intervals overlap, so that rounding leaves open which is larger.
    fn is_open(&self) -> bool {
        let [(s_low, s_high), (o_low, o_high)] = self.ranges;
        s_low <= o_high && o_low <= s_high
    }

    /// Whether the base is a pair of printed figures.
    fn is_printed(&self) -> bool {
        matches!(self.kind, BaseKind::Printed(_))
    }

    /// Gives both figures of the base as text, as printed or with up to six digits.
    fn figure_texts(&self) -> (String, String) {
        match &self.kind {
            BaseKind::Printed(both) => (both.0.text.clone(), both.1.text.clone()),
            BaseKind::Level(_) => (plain_text(self.system), plain_text(self.against)),
        }
    }
}

/// Formats a whole number in full, another with up to six significant digits, or all before its point.
fn plain_text(value: f64) -> String {
    let digits = (5 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 7);
    if value.fract() == 0.0 { number_text(value, 0) } else { number_text(value, digits) }
}

/// Checks a printed comparison of two systems against the figures that it may be based on.
pub fn check_comparison(facts: &TableFacts, claim: &PublishedClaim, comparing: Comparing) -> Checked {
    let Some(against) = claim.against.as_deref() else {
        return Found::new(FindingStatus::CannotBeChecked, None, "the other side is not named").for_claim(claim);
    };
    let estimate = claim.statistic.map_or(Estimate::Mean, |statistic| statistic.estimate);
    let direction = better_direction(facts, claim);
    let bases = find_bases(facts, claim, against, estimate, direction);
    let Some(primary) = bases.first() else {
        let because =
            format!("{} of {} and {against} are not published", estimate_words(estimate, comparing), claim.system);
        return Found::new(FindingStatus::CannotBeChecked, None, because).for_claim(claim);
    };
    if comparing == Comparing::Winner {
        return check_winner(claim, against, primary, direction).for_claim(claim);
    }
    let question = Question { facts, claim, comparing, direction, estimate, against };
    let right = question.right_value(primary);
    let found = question
        .check_by_label(&bases, right)
        .or_else(|| question.check_by_other_form(&bases, right))
        .or_else(|| question.check_by_other_estimate(right))
        .unwrap_or_else(|| question.make_comparison_unfollowed(&bases, right));
    found.for_claim(claim)
}

/// Finds the pairs of figures that a comparison may be based on, the likeliest first.
fn find_bases(
    facts: &TableFacts,
    claim: &PublishedClaim,
    against: &str,
    estimate: Estimate,
    direction: Option<Direction>,
) -> Vec<Base> {
    let theirs = find_levels(facts, against, claim, claim.formula.as_ref());
    let mut bases = Vec::new();
    for ours in find_levels(facts, &claim.system, claim, claim.formula.as_ref()) {
        let Some(other) = theirs.iter().find(|level| level.kind == ours.kind) else { continue };
        if let (Some(system), Some(against)) = (ours.estimate(estimate, direction), other.estimate(estimate, direction))
            && let (Some(s), Some(o)) =
                (ours.estimate_range(estimate, direction), other.estimate_range(estimate, direction))
        {
            bases.push(Base { system, against, ranges: [s, o], kind: BaseKind::Level(ours.kind) });
        }
    }
    let ours = printed_estimate(facts, claim, &claim.system, estimate);
    if let (Some(ours), Some(other)) = (ours, printed_estimate(facts, claim, against, estimate))
        && let (Some(system), Some(against)) = (ours.value, other.value)
        && let (Some(s), Some(o)) = (ours.rounding_interval(), other.rounding_interval())
    {
        bases.push(Base { system, against, ranges: [s, o], kind: BaseKind::Printed(Box::new((ours, other))) });
    }
    bases
}

/// Finds the printed figure of a system that a comparison may be based on, in the claim's unit.
fn printed_estimate(facts: &TableFacts, claim: &PublishedClaim, system: &str, estimate: Estimate) -> Option<Printed> {
    let mut printed = facts.printed_figures(system, &claim.keys, &claim.metric).filter(|other| {
        other.repetition.is_none() && other.statistic.is_some_and(|statistic| statistic.estimate == estimate)
    });
    let unit = facts.unit_of(claim);
    printed.next().map(|other| match Ratio::between(&other.unit, unit) {
        Some(ratio) if other.unit != unit => other.printed.convert_unit(ratio, &other.unit),
        _ => other.printed.clone(),
    })
}

/// Checks a claim of which system is better.
fn check_winner(claim: &PublishedClaim, against: &str, base: &Base, direction: Option<Direction>) -> Found {
    let (ours, theirs) = base.figure_texts();
    let arithmetic = format!("{} {ours}, {against} {theirs} {}", claim.system, base.words());
    let Some(direction) = direction.filter(|direction| *direction != Direction::Neither) else {
        let because = format!("nothing tells whether more or less of it is better; {arithmetic}");
        return Found::new(FindingStatus::CannotBeChecked, None, because);
    };
    let ordering = match direction {
        Direction::Higher => base.system.partial_cmp(&base.against),
        _ => base.against.partial_cmp(&base.system),
    };
    let wins = match ordering {
        Some(Ordering::Greater) => claim.system.as_str(),
        Some(Ordering::Less) => against,
        _ => "both",
    };
    if claim.printed.text.eq_ignore_ascii_case(wins) {
        Found::new(FindingStatus::Follows, None, arithmetic)
    } else if base.is_open() {
        Found::new(
            FindingStatus::Rounding,
            None,
            format!("{arithmetic}; before they were rounded either may have been better"),
        )
    } else {
        Found::new(FindingStatus::DoesNotFollow, None, format!("{wins} is better: {arithmetic}"))
    }
}

struct Question<'a> {
    facts: &'a TableFacts,
    claim: &'a PublishedClaim,
    comparing: Comparing,
    direction: Option<Direction>,
    estimate: Estimate,
    against: &'a str,
}

impl Question<'_> {
    /// Gives the factor from the form's value to the claim's unit: 100 for a ratio in percent, else 1.
    fn scale(&self, form: RatioForm) -> f64 {
        if self.claim.unit == "%" && form != RatioForm::Difference { 100.0 } else { 1.0 }
    }

    /// The forms of a ratio that the label allows.
    fn allowed_forms(&self) -> &'static [RatioForm] {
        self.comparing.allowed_forms(self.direction)
    }

    /// Computes the form's value in the figure's unit: absolute, or signed where the label has a sign.
    fn value_in_unit(&self, form: RatioForm, system: f64, against: f64) -> f64 {
        let value = form.compute(system, against) * self.scale(form);
        let below_zero = self.claim.printed.value.is_some_and(|printed| printed < 0.0);
        let is_signed = self.comparing.is_signed() || (self.comparing == Comparing::Difference && below_zero);
        if is_signed { value } else { value.abs() }
    }

    /// Whether the side that the claim calls better or smaller is really the other one.
    fn is_wrong_way(&self, base: &Base) -> bool {
        let smaller = base.system < base.against;
        match (self.comparing, self.direction) {
            (Comparing::Saving, _) => !smaller,
            (Comparing::Gain | Comparing::TimeGain | Comparing::SpeedGain, Some(Direction::Higher)) => smaller,
            (Comparing::Gain | Comparing::TimeGain | Comparing::SpeedGain, Some(Direction::Lower)) => !smaller,
            _ => false,
        }
    }

    /// Computes the figure that the first form of the label gives, in the claim's unit.
    fn right_value(&self, base: &Base) -> Option<f64> {
        let form = self.allowed_forms().first()?;
        Some(self.value_in_unit(*form, base.system, base.against))
    }

    /// Writes the form's arithmetic in figures, with its result and the base's kind.
    fn arithmetic_text(&self, form: RatioForm, base: &Base) -> String {
        let (ours, theirs) = base.figure_texts();
        let value = self.value_in_unit(form, base.system, base.against);
        let digits = self.claim.printed.decimals.max(0) + 2;
        let percent = if self.scale(form) == 100.0 { " %" } else { "" };
        // A share's size is the larger less the smaller.
        let is_size = value > 0.0 && form.compute(base.system, base.against) < 0.0;
        let written = form.arithmetic_text(&ours, &theirs, if is_size { Sign::Size } else { Sign::Kept });
        format!("{written} = {}{percent} {}", number_text(value, digits), base.words())
    }

    /// Checks the figure by the forms that its label allows; `None` if it follows by none.
    fn check_by_label(&self, bases: &[Base], right: Option<f64>) -> Option<Found> {
        let primary = bases.first()?;
        let mut weaker = None;
        for wanted in [Match::Rounded, Match::Cut] {
            for base in bases.iter().filter(|base| !self.is_wrong_way(base)) {
                for &form in self.allowed_forms() {
                    if self.claim.printed.matches(self.value_in_unit(form, base.system, base.against)) != wanted {
                        continue;
                    }
                    let right = Some(self.value_in_unit(form, primary.system, primary.against));
                    let because = self.arithmetic_text(form, base);
                    let exact = std::ptr::eq(base, primary) || base.kind == BaseKind::Level(LevelKind::Sums);
                    if exact && wanted == Match::Rounded {
                        return Some(Found::new(FindingStatus::Follows, right, because));
                    }
                    weaker = weaker.or_else(|| Some(self.weaker_finding(base, primary, form, because, right)));
                }
            }
        }
        if weaker.is_some() || (self.is_wrong_way(primary) && !primary.is_open()) {
            return weaker;
        }
        self.allowed_forms().iter().find_map(|form| self.check_comparison_rounding(primary, *form, right))
    }

    /// Makes the finding for a figure that follows only by cutting or from rounded figures.
    /// It is rounding, unless those do not follow themselves.
    fn weaker_finding(
        &self,
        base: &Base,
        primary: &Base,
        form: RatioForm,
        because: String,
        right: Option<f64>,
    ) -> Found {
        if std::ptr::eq(base, primary) {
            return Found::new(FindingStatus::Rounding, right, format!("{because}, not rounded to the nearest"));
        }
        let of_rows = self.arithmetic_text(form, primary);
        if let BaseKind::Printed(both) = &base.kind {
            let ours = self.side_follows(&both.0, &self.claim.system, primary.system, primary.ranges[0]);
            let theirs = self.side_follows(&both.1, self.against, primary.against, primary.ranges[1]);
            if !ours || !theirs {
                let because = format!("{because}, which do not follow; {of_rows}");
                return Found::new(FindingStatus::DoesNotFollow, right, because);
            }
        }
        Found::new(FindingStatus::Rounding, right, format!("{because}; {of_rows}"))
    }

    /// Whether a side's printed figure follows from its rows, before or after rounding, or from its cells.
    fn side_follows(&self, printed: &Printed, system: &str, value: f64, (low, high): (f64, f64)) -> bool {
        printed.matches(value) != Match::No
            || printed.fits_within(low, high)
            || self.estimate_from_cells(system).is_some_and(|value| printed.matches(value) != Match::No)
    }

    /// Computes the system's estimate from the printed cells.
    fn estimate_from_cells(&self, system: &str) -> Option<f64> {
        let levels = find_levels(self.facts, system, self.claim, self.claim.formula.as_ref());
        let cells = levels.iter().find(|level| level.kind == LevelKind::Cells)?;
        cells.estimate(self.estimate, self.direction)
    }

    /// Makes a rounding finding if unrounded values of the base could have given the printed figure.
    fn check_comparison_rounding(&self, base: &Base, form: RatioForm, right: Option<f64>) -> Option<Found> {
        let because = self.arithmetic_text(form, base);
        let [(s_low, s_high), (o_low, o_high)] = base.ranges;
        let corners = [(s_low, o_low), (s_low, o_high), (s_high, o_low), (s_high, o_high)];
        let values: Vec<f64> = corners.iter().map(|(s, o)| self.value_in_unit(form, *s, *o)).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The size passes through zero where either side may be larger.
        let low = if base.is_open() && form.is_share_or_difference() { least.min(0.0) } else { least };
        let digits = self.claim.printed.decimals.max(0);
        self.claim.printed.fits_within(low, high).then(|| {
            let range =
                format!("unrounded figures can give {} to {}", number_text(low, digits), number_text(high, digits));
            Found::new(FindingStatus::Rounding, right, format!("{because}; {range}"))
        })
    }

    /// Finds another form, a share for a percentage or swapped sides by which the figure follows: mislabelled.
    fn check_by_other_form(&self, bases: &[Base], right: Option<f64>) -> Option<Found> {
        let printed = &self.claim.printed;
        let enough = printed.significant_digits() >= 2;
        for base in bases {
            for form in RatioForm::ALL {
                let value = self.value_in_unit(form, base.system, base.against);
                let is_new = !self.allowed_forms().contains(&form);
                if is_new && enough && self.fits_unit(form) && printed.matches(value) == Match::Rounded {
                    return Some(self.make_mislabelled(self.arithmetic_text(form, base), &bases[0], right));
                }
                // A share printed as percentage.
                if self.claim.unit == "%"
                    && form.is_share()
                    && printed.matches(value / 100.0) == Match::Rounded
                    && value < 100.0
                {
                    let because = format!("{}, printed as a share of 1", self.arithmetic_text(form, base));
                    return Some(Found::new(FindingStatus::Mislabelled, right, because));
                }
            }
            if enough
                && self.is_wrong_way(base)
                && self
                    .allowed_forms()
                    .iter()
                    .any(|form| printed.matches(self.value_in_unit(*form, base.system, base.against)) == Match::Rounded)
            {
                let because = format!("the sides are swapped: {}", self.arithmetic_text(self.allowed_forms()[0], base));
                return Some(Found::new(FindingStatus::Mislabelled, right, because));
            }
        }
        None
    }

    /// Whether a form could be printed in this figure's unit.
    fn fits_unit(&self, form: RatioForm) -> bool {
        match form {
            RatioForm::Difference => self.claim.unit != "%" && self.comparing == Comparing::Difference,
            _ => true,
        }
    }

    /// Makes the finding that the figure follows by another form than its label's.
    fn make_mislabelled(&self, because: String, primary: &Base, right: Option<f64>) -> Found {
        let label = self.allowed_forms().first().map_or_else(String::new, |form| self.arithmetic_text(*form, primary));
        Found::new(FindingStatus::Mislabelled, right, format!("it is {because}; by its label {label}"))
    }

    /// Finds another estimate of both sides by which the comparison follows: mislabelled.
    fn check_by_other_estimate(&self, right: Option<f64>) -> Option<Found> {
        if self.claim.printed.significant_digits() < 2 {
            return None;
        }
        for other in Estimate::USUAL.into_iter().filter(|other| *other != self.estimate) {
            for base in find_bases(self.facts, self.claim, self.against, other, self.direction) {
                for &form in self.allowed_forms() {
                    if self.claim.printed.matches(self.value_in_unit(form, base.system, base.against)) == Match::Rounded
                        && !self.is_wrong_way(&base)
                    {
                        let because = format!("it compares each side's {other}: {}", self.arithmetic_text(form, &base));
                        return Some(Found::new(FindingStatus::Mislabelled, right, because));
                    }
                }
            }
        }
        None
    }

    /// Makes the finding that the figure does not follow, with the arithmetic of the label's forms.
    fn make_comparison_unfollowed(&self, bases: &[Base], right: Option<f64>) -> Found {
        let Some(base) = bases.first() else { return Found::new(FindingStatus::CannotBeChecked, right, "") };
        let arithmetic: Vec<String> =
            self.allowed_forms().iter().map(|form| self.arithmetic_text(*form, base)).collect();
        let way = if self.is_wrong_way(base) { "; and the other side is the better one" } else { "" };
        let mut because = format!("{}{way}", arithmetic.join(", or "));
        // Wrong printed figures are reported above; this comparison has another source.
        if let (Some(printed), false) = (bases.iter().find(|base| base.is_printed()), base.is_printed()) {
            because.push_str(&format!("; {}", self.arithmetic_text(self.allowed_forms()[0], printed)));
        }
        Found::new(FindingStatus::DoesNotFollow, right, because)
    }
}
