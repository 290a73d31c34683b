//! `etalon list`: what can be named in a plan.

use std::fmt::Write as _;

use engine::Registry;
use model::catalog::Visibility;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::source::BUILT_IN;

/// Lists built-in plans, workloads and engines.
pub fn run(printer: Printer) -> Result<Exit, CliError> {
    let catalog = Registry::built_in().catalog();
    let engines: Vec<_> = catalog.engines.iter().filter(|engine| engine.visibility == Visibility::Public).collect();
    if printer.json {
        let named = |name: &str, about: &str| json!({ "name": name, "about": about });
        let object = json!({
            "schema_version": 1,
            "plans": BUILT_IN.iter().map(|plan| named(plan.name, &plan.about())).collect::<Vec<_>>(),
            "workloads": catalog.workloads.iter().map(|w| named(w.name, w.about)).collect::<Vec<_>>(),
            "engines": engines.iter().map(|engine| named(engine.name, engine.about)).collect::<Vec<_>>(),
        });
        printer.out(&object.to_string());
        return Ok(Exit::Done);
    }
    let mut text = String::from("built-in plans (etalon run NAME)\n");
    for plan in BUILT_IN {
        let _ = writeln!(text, "  {:<14}{}", plan.name, plan.about());
    }
    text.push_str("\nworkloads (workload = \"NAME\")\n");
    for workload in &catalog.workloads {
        let _ = writeln!(text, "  {:<14}{}", workload.name, workload.about);
        for key in workload.keys {
            let default = key.default.map_or("required".to_owned(), |d| format!("default {}", model::Value::from(d)));
            let _ = writeln!(text, "    {:<12}{} ({default})", key.name, key.about);
        }
    }
    text.push_str("\nengines (url = \"SCHEME:…\")\n");
    for engine in engines {
        let _ = writeln!(text, "  {:<14}{}", engine.name, engine.about);
    }
    printer.out(&text);
    Ok(Exit::Done)
}
