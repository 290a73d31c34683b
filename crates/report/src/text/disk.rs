//! Disk cases: best of each group, as published, and what that hides.

use super::TextOptions;
use super::grid::{Align, Grid, GridCell, GridLine, clean, clipped, wrapped};
use crate::comparison::{ComparisonSet, DepthCurve, DepthPoint, DiskGroup, KNEE_SHARE, Knee};
use crate::number::{RowUnit, Script, half, percent};
use crate::words::{latency_of, rate_words};

/// Beside a bar.
const LONGEST_NAME: usize = 20;
/// Beside a bar.
const FIGURES: usize = 22;

pub fn render(set: &ComparisonSet, options: &TextOptions) -> String {
    let mut out = String::new();
    for metric in ["iops", "bandwidth"] {
        let groups: Vec<&DiskGroup> = set.disk.iter().filter(|group| group.metric.id == metric).collect();
        out.push_str(&bars(&groups, options));
    }
    if out.is_empty() {
        return out;
    }
    let level = percent(set.rules.level, Script::Plain);
    let head = format!(
        "\nWhat the best of a group hides: the mean of the runs at every depth, ± half its {level} interval. The knee is \
         the smallest depth with {} of the highest mean.",
        percent(KNEE_SHARE, Script::Plain)
    );
    out.push_str(&wrapped(&head, options.width, 2));
    for group in &set.disk {
        out.push_str(&format!("\n{}\n", clean(&format!("{}, {}", group.label, rate_words(&group.metric)))));
        // As many systems side by side as fit.
        let fits =
            |abreast: &usize| group.curves.chunks(*abreast).all(|part| grid(group, part).width() <= options.width);
        let abreast = (1..=group.curves.len()).rev().find(fits).unwrap_or(1);
        for curves in group.curves.chunks(abreast) {
            out.push_str(&grid(group, curves).render(options.style));
        }
        out.push_str(&said(group, options.width));
    }
    out
}

/// One of the two published charts.
fn bars(groups: &[&DiskGroup], options: &TextOptions) -> String {
    let best = |curve: &DepthCurve| curve.best().map(|(point, value)| (point.depth, value));
    let all = || groups.iter().flat_map(|group| &group.curves);
    let highest = all().filter_map(best).map(|(_, value)| value).fold(0.0, f64::max);
    let Some(first) = groups.first().filter(|_| highest > 0.0) else { return String::new() };
    let name = |curve: &DepthCurve| clipped(&clean(&curve.system), LONGEST_NAME);
    let names = all().map(|curve| unicode_width::UnicodeWidthStr::width(name(curve).as_str())).max().unwrap_or(0);
    let room = options.width.saturating_sub(names + FIGURES + 6).max(10);
    let head = format!("\nBest of each group, {} (as published: the highest of all runs)", rate_words(&first.metric));
    let mut out = wrapped(&head, options.width, 2);
    let unit = RowUnit::new(&first.metric.unit, []);
    for group in groups {
        out.push_str(&format!("  {}\n", clean(&group.label)));
        for curve in &group.curves {
            let name = name(curve);
            let pad = " ".repeat(names.saturating_sub(unicode_width::UnicodeWidthStr::width(name.as_str())));
            let (bar, said) = match best(curve) {
                Some((depth, value)) => {
                    let bar = "█".repeat(((value / highest) * room as f64).round().max(1.0) as usize);
                    (bar, format!("{} at depth {depth}", unit.print(value, Script::Plain)))
                }
                None => (String::new(), "n/a".to_owned()),
            };
            out.push_str(&format!("    {name}{pad}  {bar} {said}\n"));
        }
    }
    out
}

/// Of some systems side by side.
fn grid(group: &DiskGroup, curves: &[DepthCurve]) -> Grid {
    let mut columns = vec![Align::Right];
    let mut head = vec![GridCell::new("depth")];
    for curve in curves {
        columns.extend([Align::Right, Align::Right, Align::Right, Align::Left]);
        let (_, latency) = latency_of(group);
        let name = clipped(&clean(&curve.system), LONGEST_NAME);
        head.extend([GridCell::new(name), GridCell::new(""), GridCell::new(latency), GridCell::new("")]);
    }
    let mut grid = Grid::new(columns);
    grid.push(GridLine::Cells(head));
    let mut depths: Vec<i64> = curves.iter().flat_map(|curve| &curve.points).map(|point| point.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    for depth in depths {
        let mut cells = vec![GridCell::new(depth.to_string())];
        for curve in curves {
            let point = curve.points.iter().find(|point| point.depth == depth);
            cells
                .extend(point.map_or_else(|| ["n/a", "", "", ""].map(GridCell::new), |one| figures(group, curve, one)));
        }
        grid.push(GridLine::Cells(cells));
    }
    grid
}

/// Curves without a knee, and void points.
fn said(group: &DiskGroup, width: usize) -> String {
    let mut out = String::new();
    let rising: Vec<(String, i64)> = group
        .curves
        .iter()
        .filter_map(|curve| match curve.knee() {
            // Every curve without a gap has the group's depths.
            Knee::NotReached(point) => Some((clean(&curve.system), point.depth)),
            _ => None,
        })
        .collect();
    if let Some((_, depth)) = rising.first() {
        let names: Vec<&str> = rising.iter().map(|(name, _)| name.as_str()).collect();
        out.push_str(&wrapped(&format!("no knee: still rising at depth {depth}: {}", names.join(", ")), width, 2));
    }
    for (curve, gap) in group.curves.iter().filter_map(|curve| Some((curve, curve.gap()?))) {
        let why = gap.rate.unavailable.first().map_or("no run was measured", |(reason, _)| reason.as_str());
        let text = format!("no best and no knee: {} has no figure at depth {} ({why})", curve.system, gap.depth);
        out.push_str(&wrapped(&clean(&text), width, 2));
    }
    if group.curves.iter().any(|curve| matches!(curve.knee(), Knee::At(_)) && !curve.knee_is_sure()) {
        let text = format!("knee?: the means are not known to {}", percent(1.0 - KNEE_SHARE, Script::Plain));
        out.push_str(&wrapped(&text, width, 2));
    }
    for curve in &group.curves {
        for (depth, void) in curve.points.iter().filter_map(|point| Some((point.depth, point.void.as_ref()?))) {
            let text = format!("! {}, depth {depth}: {}", clean(&curve.system), clean(&void.text()));
            out.push_str(&wrapped(&text, width, 2));
        }
    }
    out
}

/// Mean, half interval, latency, and remarks.
fn figures(group: &DiskGroup, curve: &DepthCurve, point: &DepthPoint) -> [GridCell; 4] {
    let unit = RowUnit::new(&group.metric.unit, []);
    let mean = point.mean().map_or_else(|| "n/a".to_owned(), |mean| unit.print(mean, Script::Plain));
    let half = point.rate.half_width.map_or_else(String::new, |share| half(share, Script::Plain));
    let (pick, _) = latency_of(group);
    let latency = pick(point).map_or_else(
        || "n/a".to_owned(),
        |(metric, value)| {
            let unit = RowUnit::new(&metric.unit, [value]);
            format!("{} {}", unit.print(value, Script::Plain), unit.name())
        },
    );
    let mut said = Vec::new();
    if matches!(curve.knee(), Knee::At(knee) if knee.depth == point.depth) {
        said.push(if curve.knee_is_sure() { "knee" } else { "knee?" });
    }
    if curve.best().is_some_and(|(best, _)| best.depth == point.depth) {
        said.push("best");
    }
    if point.void.is_some() {
        said.push("!");
    }
    [mean, half, latency, said.join(", ")].map(GridCell::new)
}
