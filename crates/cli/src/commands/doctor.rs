//! `etalon doctor`: what will disturb a measurement here, and how to fix it.

use std::fmt::Write as _;
use std::path::PathBuf;

use conductor::Registry;
use host::doctor::{Build, Check, Status};
use model::{Facts, Plan};
use serde_json::json;
use workloads::system::{Consent, Notices, OpenRequest};

use crate::args::{DoctorArgs, PlanSource, Question};
use crate::error::CliError;
use crate::exit::Exit;
use crate::leftovers;
use crate::printer::Printer;
use crate::progress::print_notice;
use crate::source;

/// Runs `etalon doctor`.
pub fn run(args: &DoctorArgs, printer: Printer) -> Result<Exit, CliError> {
    let uncleaned = if args.clean { leftovers::remove_all(&host::scratch::find_abandoned(), printer) } else { 0 };
    let mut paths = vec![("here".to_owned(), PathBuf::from("."))];
    let mut system = None;
    if let Some(url) = &args.url {
        let registry = Registry::built_in();
        let question = Question { what: vec![url.clone()], ..Question::default() };
        let named = PlanSource { question, ..PlanSource::default() };
        let plan = source::load_plan(&named, &registry, 0)?.plan;
        system = Some(inspect_system(&plan, &registry, &mut paths, printer)?);
    }
    let named: Vec<(&str, &std::path::Path)> = paths.iter().map(|(n, p)| (n.as_str(), p.as_path())).collect();
    let checks = host::doctor::check_all(&named, Build::of_this_program());
    if printer.json {
        let facts = host::facts::client_facts(&named);
        let checks: Vec<_> = checks.iter().map(check_json).collect();
        let object = json!({ "schema_version": 1, "checks": checks, "client": facts, "system": system });
        printer.print_result(&object.to_string());
    } else {
        printer.print_result(&checks_text(&checks, system.as_ref(), printer.width()));
    }
    let unfit = uncleaned > 0 || checks.iter().any(|check| check.status == Status::Bad);
    Ok(if unfit { Exit::BadAnswer } else { Exit::Done })
}

/// Opens a plan's first system and reads its facts; adds its data directory to the paths.
fn inspect_system(
    plan: &Plan,
    registry: &Registry,
    paths: &mut Vec<(String, PathBuf)>,
    printer: Printer,
) -> Result<Facts, CliError> {
    let Some(system) = plan.systems.first() else { return Err(CliError::user_error("the plan has no system")) };
    let notices = Notices::new(move |notice| print_notice(notice, printer));
    let request = OpenRequest { notices, ..OpenRequest::new(system, Consent::OwnOnly) };
    let opened = registry.open_system(&request).map_err(|failure| CliError::from(&failure))?;
    let facts = opened.facts().map_err(|failure| CliError::from(&failure));
    opened.drop_all().map_err(|failure| CliError::from(&failure))?;
    if let Some(path) = registry.data_directory(system) {
        paths.push(("data directory".to_owned(), path));
    }
    facts
}

/// Writes a check as JSON.
fn check_json(check: &Check) -> serde_json::Value {
    json!({ "name": check.name, "status": check.status.as_str(), "found": check.found, "why": check.why, "mend": check.fix })
}

/// Writes the checks as text, and what a system says of itself.
fn checks_text(checks: &[Check], system: Option<&Facts>, width: usize) -> String {
    let mut text = String::new();
    for check in checks {
        let _ = writeln!(text, "{:<8}{}: {}", check.status.as_str(), check.name, check.found);
        if matches!(check.status, Status::Warn | Status::Bad) {
            text.push_str(&indent_paragraph(&check.why, width));
            if let Some(fix) = &check.fix {
                text.push_str(&indent_paragraph(&format!("fix: {fix}"), width));
            }
        }
    }
    if let Some(facts) = system {
        let shown = ["server.product", "server.version", "durability.tier", "durability.because", "durability.storage"];
        text.push_str("\nsystem\n");
        for name in shown {
            let reading = facts.entries.get(name).map(|fact| match &fact.reading {
                Ok(value) => value.clone(),
                Err(reason) => format!("n/a: {reason}"),
            });
            let _ = writeln!(text, "  {name:<20}{}", reading.as_deref().unwrap_or("n/a"));
        }
    }
    text
}

/// Wraps a paragraph and indents it under a check's line.
fn indent_paragraph(text: &str, width: usize) -> String {
    let wrapped = report::text::wrap_to_width(text, width.saturating_sub(8), 0);
    wrapped.lines().map(|line| format!("        {line}\n")).collect()
}
