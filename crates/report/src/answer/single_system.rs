//! The answer where nothing is compared.

use model::Quantity;

use super::names::quote_name;
use super::{FEW, asks_for_more, fits, has_too_few_clients, joined, more_at_once, named};
use crate::comparison::Figure;
use crate::number::{RowUnit, Script, count};
use crate::text::clean;

/// The answer for a single system: what it did in each case, or the range from the lowest to the highest where the
/// cases do not fit with the trail.
pub fn figures(figures: &[Figure], trail: &str) -> Vec<String> {
    let known: Vec<&Figure> = figures.iter().filter(|figure| figure.side.estimate.is_some()).collect();
    let rate = known.iter().copied().find(|figure| figure.metric.quantity() == Quantity::Rate);
    let Some(first) = rate.or(known.first().copied()) else {
        // As of a search whose every rate keeps the promise: the table says why.
        let is_measured = figures.iter().any(|figure| !figure.side.unavailable.is_empty());
        let why = if is_measured { "What was measured gave no figure" } else { "No run was measured" };
        return vec![format!("{why}.")];
    };
    let same =
        figures.iter().filter(|figure| figure.metric.id == first.metric.id && figure.benchmark == first.benchmark);
    let same: Vec<(f64, &Figure)> = same.filter_map(|figure| Some((figure.side.estimate?, figure))).collect();
    let each: Vec<String> = same
        .iter()
        .map(|(value, figure)| format!("{}{}", print_figure(first, *value), label_after(figure, " at ")))
        .collect();
    let about =
        format!("{} alone, {}", quote_name(&first.side.label), named(&first.metric, &quote_name(&first.benchmark)));
    let highest = same.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let is_limited = highest.is_some_and(|(_, figure)| {
        figure.warnings.iter().any(has_too_few_clients)
            && !same.iter().any(|(_, other)| asks_for_more(&other.case, &figure.case, &figure.metric))
    });
    let limited = if is_limited { more_at_once(&first.metric) } else { "" };
    let of = |text: String| vec![format!("{about}: {text}{limited}."), "Nothing was compared.".to_owned()];
    let all = of(each.join(", "));
    let lowest = same.iter().map(|(value, _)| *value).min_by(f64::total_cmp);
    match (lowest, highest) {
        (Some(lowest), Some((value, figure)))
            if each.len() > 1 && (each.len() >= FEW || !fits(&joined(&all, trail))) =>
        {
            let cases = count(each.len(), "case");
            of(format!(
                "{} to {} in {cases}{}",
                print_figure(first, lowest),
                print_figure(first, *value),
                label_after(figure, ", the highest at ")
            ))
        }
        _ => all,
    }
}

fn print_figure(first: &Figure, value: f64) -> String {
    let unit = RowUnit::new(&first.metric.unit, [value]);
    format!("{} {}", unit.print(value, Script::Plain), clean(unit.name()))
}

fn label_after(figure: &Figure, word: &str) -> String {
    match figure.label.as_str() {
        "" => String::new(),
        label => format!("{word}{}", clean(label)),
    }
}
