//! `--format super-smack`: the Query Barrel Report of each case, and the script's own `print` lines.

use report::Evidence;
use report::barrel::{self, BarrelReport, Runs};
use workloads::smack::{Shown, SmackScript};

use crate::error::CliError;
use crate::smack::Called;

/// Writes the Query Barrel Reports of all cases, and a footnote.
pub fn render_reports(evidence: &Evidence, runs: Runs) -> String {
    let reports: Vec<String> = barrel::barrel_reports(evidence, runs).iter().map(barrel::render_report).collect();
    format!("{}\n{}", reports.join("\n"), barrel::footnote(evidence))
}

/// Writes the result of a script named on the command line, with its `print` lines.
pub fn render_called(evidence: &Evidence, called: &Called) -> Result<String, CliError> {
    let script = SmackScript::read(&called.script).map_err(|failure| CliError::from(&failure))?;
    let mut text = String::new();
    for one in barrel::barrel_reports(evidence, Runs::Together) {
        let shown = script
            .shown_results(&called.values, &|_: &str, kind: Option<&str>, field: &str| result_field(&one, kind, field))
            .map_err(|failure| CliError::from(&failure))?;
        // Several clients of one script share a case and a report.
        let mut reported = false;
        for line in shown {
            match line {
                Shown::Text(line) => {
                    text.push_str(&report::text::clean_text(&line));
                    text.push('\n');
                }
                Shown::Report(_) if !std::mem::replace(&mut reported, true) => {
                    text.push_str(&barrel::render_report(&one))
                }
                Shown::Report(_) => {}
            }
        }
        if !reported {
            text.push_str(&barrel::render_report(&one));
        }
        text.push('\n');
    }
    text.push_str(&barrel::footnote(evidence));
    Ok(text)
}

/// Looks up a field of a report, by the name that scripts use, as text; without a kind of query it is one of connecting.
fn result_field(report: &BarrelReport, kind: Option<&str>, field: &str) -> Option<String> {
    let [max, min, avg] = report.connect_ms;
    let Some(kind) = kind else {
        let ms = match field {
            "max_connect_time" => max,
            "min_connect_time" => min,
            _ => avg,
        };
        return Some(barrel::decimal_text(ms, 3));
    };
    let row = report.kinds.iter().find(|row| row.name == kind)?;
    Some(match field {
        "num_queries" => barrel::whole_text(row.queries),
        "max_time" => barrel::decimal_text(row.max_ms, 3),
        "min_time" => barrel::decimal_text(row.min_ms, 3),
        _ => barrel::decimal_text(row.per_s, 2),
    })
}
