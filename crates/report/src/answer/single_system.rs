//! The answer where nothing is compared.

use model::metric::{CAPACITY, CAPACITY_CLIENTS};
use model::{MarkKind, Promise, Quantity};

use super::names::quote_name;
use super::{
    FEW, asks_for_more, fits_in_lines, has_too_few_clients, join_sentences, more_may_carry_clause, question_name,
};
use crate::comparison::{Bound, Figure, Warning};
use crate::labels::figure_of;
use crate::number::{RowUnit, Script, count_noun};
use crate::text::clean_text;

/// A number of clients that is off by less is whole.
const EXACT: f64 = 1e-6;

/// Writes the answer for a single system: its figure in each case, or their range where the cases do not fit with the trail.
pub fn answer_figures(figures: &[Figure], trail: &str) -> Vec<String> {
    if let Some(carried) = capacity_sentences(figures, trail) {
        return vec![carried, "Nothing was compared.".to_owned()];
    }
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
    let about = format!(
        "{} alone, {}",
        quote_name(&first.side.label),
        question_name(&first.metric, &quote_name(&first.benchmark))
    );
    let highest = same.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let of = |text: String| vec![format!("{about}: {text}."), "Nothing was compared.".to_owned()];
    let all = of(each.join(", "));
    let lowest = same.iter().map(|(value, _)| *value).min_by(f64::total_cmp);
    match (lowest, highest) {
        (Some(lowest), Some((value, figure)))
            if each.len() > 1 && (each.len() >= FEW || !fits_in_lines(&join_sentences(&all, trail))) =>
        {
            let cases = count_noun(each.len(), "case");
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

/// Writes a value with the unit of a figure.
fn print_figure(first: &Figure, value: f64) -> String {
    let unit = RowUnit::new(&first.metric.unit, [value]);
    format!("{} {}", unit.print(value, Script::Plain), clean_text(unit.unit_name()))
}

/// Writes the case's label after a word; empty without a label.
fn label_after(figure: &Figure, word: &str) -> String {
    match figure.label.as_str() {
        "" => String::new(),
        label => format!("{word}{}", clean_text(label)),
    }
}

/// Says what the system carries in each case that keeps a promise, of more cases than fit the first; `None` without any.
fn capacity_sentences(figures: &[Figure], trail: &str) -> Option<String> {
    let of_clients: Vec<&Figure> = figures.iter().filter(|figure| figure.metric.id == CAPACITY_CLIENTS).collect();
    let is_rate_of =
        |clients: &Figure, rate: &Figure| (&clients.benchmark, &clients.case) == (&rate.benchmark, &rate.case);
    let rates: Vec<&Figure> = figures.iter().filter(|figure| figure.metric.id == CAPACITY).collect();
    let alone = rates.iter().filter(|rate| !of_clients.iter().any(|clients| is_rate_of(clients, rate)));
    let loads: Vec<&Figure> = of_clients.iter().chain(alone).copied().collect();
    let system = quote_name(&loads.first()?.side.label);
    let mut promised = String::new();
    let parts: Vec<String> = loads
        .iter()
        .map(|load| {
            let promise = Promise::from_point(&load.case);
            let within = promise.map_or_else(String::new, |promise| {
                format!(" with 99 % under {}", model::duration::spaced_text(promise.response_p99))
            });
            let new = if within == promised { "" } else { within.as_str() };
            let rate = rates.iter().find(|rate| load.metric.id == CAPACITY_CLIENTS && is_rate_of(load, rate));
            let rate = rate.and_then(|rate| Some((rate.side.bound, figure_with_unit(rate)?)));
            let rate = rate.map_or_else(String::new, |(bound, rate)| match bound {
                None => format!(", at {rate}"),
                Some(_) => format!(", {rate}"),
            });
            let name = quote_name(&load.benchmark);
            let part = format!(
                "{}{new} in {name}{}{rate}{}",
                load_text(load),
                label_after(load, ", "),
                limit_clause(load, &loads)
            );
            promised = within;
            part
        })
        .collect();
    let text = |parts: &[String], rest: &str| format!("{system} carries {}{rest}.", parts.join("; "));
    let fitting = (1..=parts.len()).rev().map(|shown| {
        let more = parts.len() - shown;
        text(
            &parts[..shown],
            &if more > 0 { format!("; and {} more", count_noun(more, "case")) } else { String::new() },
        )
    });
    let mut fitting = fitting
        .skip_while(|text| !fits_in_lines(&join_sentences(&[text.clone(), "Nothing was compared.".to_owned()], trail)));
    fitting.next().or_else(|| Some(text(&parts[..1], "")))
}

/// Says that the load generator or the number of clients set the limit, unless another case asked for more; else empty.
fn limit_clause(load: &Figure, loads: &[&Figure]) -> &'static str {
    let is_of_client = |warning| matches!(warning, &Warning::Marked { kind: MarkKind::ClientSaturated, .. });
    if load.warnings.iter().any(is_of_client) {
        return " (the load generator was at its limit)";
    }
    let is_surpassed = loads.iter().any(|other| {
        let is_of_case = other.benchmark == load.benchmark && asks_for_more(&other.case, &load.case, &load.metric);
        is_of_case || (other.benchmark == load.benchmark && other.side.estimate > load.side.estimate)
    });
    if load.warnings.iter().any(has_too_few_clients) && !is_surpassed {
        more_may_carry_clause(&load.metric)
    } else {
        ""
    }
}

/// Writes the load that a case carries: `44 clients (40 to 48)`, `at least 64 clients`.
fn load_text(load: &Figure) -> String {
    let (Some(estimate), Some(figure)) = (load.side.estimate, figure_with_unit(load)) else {
        return "no known load".to_owned();
    };
    let unit = RowUnit::new(&load.metric.unit, [estimate]);
    match (load.side.bound, load.side.half_width) {
        (Some(Bound::Below), _) if unit.counts_whole() && estimate <= 1.0 => "not even 1 client".to_owned(),
        (Some(_), _) => format!("{figure}{}", run_range_clause(load, &unit)),
        (None, None) => figure,
        (None, Some(share)) => {
            let [low, high] = [estimate / (1.0 + share), estimate * (1.0 + share)];
            // Whole numbers are rounded outward, so that they hold what the interval holds.
            let ends = if unit.counts_whole() { [(low + EXACT).floor(), (high - EXACT).ceil()] } else { [low, high] };
            let ends = ends.map(|end| unit.print_to(end, load.side.half_width, Script::Plain));
            // Ends that round to one number add nothing.
            if ends[0] == ends[1] { figure } else { format!("{figure} ({} to {})", ends[0], ends[1]) }
        }
    }
}

/// Says between what values single runs lie around a bound, which is one of their mean; empty if they are alike.
fn run_range_clause(load: &Figure, unit: &RowUnit) -> String {
    let values = || load.side.runs.iter().map(|run| run.value);
    let [low, high] = [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)];
    let ends = [low, high].map(|end| unit.print(end, Script::Plain));
    if low < high && ends[0] != ends[1] {
        format!(" on average ({} to {} from run to run)", ends[0], ends[1])
    } else {
        String::new()
    }
}

/// Writes a figure with its unit and bound: `1 740 tx/s`, `less than 12 tx/s`; `None` without an estimate.
fn figure_with_unit(figure: &Figure) -> Option<String> {
    let unit = RowUnit::new(&figure.metric.unit, figure.side.estimate);
    let text = figure_of(&figure.side, &unit, Script::Plain)?;
    let bound = match figure.side.bound {
        Some(Bound::Below) if unit.counts_whole() => "fewer than ",
        Some(Bound::Below) => "less than ",
        Some(Bound::AtLeast) => "at least ",
        None => "",
    };
    let text = text.trim_start_matches(figure.side.bound.map_or("", Bound::sign));
    let name = if text == "1" && unit.counts_whole() { "client".to_owned() } else { clean_text(unit.unit_name()) };
    Some(format!("{bound}{text} {name}"))
}
