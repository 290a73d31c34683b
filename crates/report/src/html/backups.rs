//! Backups: saving against CPU time and time.

use maud::{Markup, html};

use super::chart::{Axis, Mark, Panel, Shape, series_class};
use super::figure::Figure;
use super::views::names_legend;
use crate::backup::BackupRow;
use crate::evidence::Evidence;
use crate::number::{Script, fixed_decimals, significant_digits};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;
/// Radius of a mark that takes as long as without a codec.
const RADIUS: f64 = 6.0;

/// Draws each codec of the backups: saving on x, CPU time on y, time as the mark's size.
pub fn savings_chart(evidence: &Evidence) -> Markup {
    let rows = crate::backup::backup_rows(evidence);
    if rows.is_empty() {
        return html! {};
    }
    let places: Vec<(usize, &BackupRow, f64, f64)> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let figure = |id: &str| row.figures.get(id).copied();
            Some((index, row, figure("saving")?, figure("backup_cpu_per_gib")?))
        })
        .collect();
    if places.is_empty() {
        return super::figure::empty_figure("Saving, CPU time and time", "no CPU time is known");
    }
    let x = Axis::linear(places.iter().map(|place| place.2), 6);
    let mut panel = Panel::new(WIDTH, HEIGHT, x, Axis::from_zero(places.iter().map(|place| place.3), 5));
    panel.title = "What is saved, against CPU time and time".to_owned();
    panel.description = "One mark for each codec; its area is the backup's time.".to_owned();
    panel.x_caption = "saving, % of the source".to_owned();
    panel.y_caption = "CPU s/GiB; the larger the mark, the longer the backup".to_owned();
    panel.marks = places
        .iter()
        .map(|(index, row, saving, cpu)| {
            let ratio = row.time_ratio.map_or(1.0, |[middle, ..]| middle);
            Mark {
                x: *saving,
                y: *cpu,
                shape: Shape::of_series(*index),
                radius: (RADIUS * ratio.sqrt()).clamp(3.0, 24.0),
                class: format!("pt {}", series_class(*index)),
                title: format!(
                    "{}: saves {} %, {cpu:.2} CPU s/GiB, {ratio:.2}× the time",
                    row.row_name(),
                    fixed_decimals(*saving, 1)
                ),
            }
        })
        .collect();
    let table = html! {
        table.small {
            thead { tr { th { "backup" } th.num { "saving, %" } th.num { "CPU s/GiB" } th.num { "time, s" } } }
            tbody { @for row in &rows { tr {
                td { bdi { (row.row_name()) } }
                @for metric in ["saving", "backup_cpu_per_gib", "backup_time"] { td.num { (figure_text(row, metric)) } }
            } } }
        }
    };
    let names: Vec<String> = rows.iter().map(BackupRow::row_name).collect();
    let figure = Figure {
        title: "Saving, CPU time and time",
        panel: &panel,
        id: "backup-worth",
        legend: names_legend(names.iter().enumerate().map(|(index, name)| (index, name.as_str()))),
        live: None,
    };
    html! { h3 { "What it is worth" } div.grid { (figure.render_with_table(table)) } }
}

/// Writes a row's value of a metric, or `n/a`.
fn figure_text(row: &BackupRow, metric: &str) -> String {
    let value = row.figures.get(metric).map(|value| significant_digits(*value, 3, Script::Typographic));
    value.unwrap_or_else(|| "n/a".to_owned())
}
