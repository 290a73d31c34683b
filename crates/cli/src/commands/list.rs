//! `etalon list`: what can be named in a plan.

use std::fmt::Write as _;

use engine::Registry;
use model::catalog::Visibility;
use report::text::wrapped;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::source::BUILT_IN;

/// A longer name gets a line of its own.
const NAME_WIDTH: usize = 14;

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
    let width = printer.width();
    let mut entry = |name: &str, about: &str, indent: usize| {
        // Further lines are indented to the first word.
        let column = indent + NAME_WIDTH;
        let name = if name.len() >= NAME_WIDTH {
            let _ = writeln!(text, "{:indent$}{name}", "");
            ""
        } else {
            name
        };
        let wrapped = wrapped(about, width.saturating_sub(column).max(20), 0);
        for (number, line) in wrapped.lines().enumerate() {
            let name = if number == 0 { name } else { "" };
            let _ = writeln!(text, "{:indent$}{name:<NAME_WIDTH$}{line}", "");
        }
    };
    for plan in BUILT_IN {
        entry(plan.name, &plan.about(), 2);
    }
    entry("\nworkloads", "(workload = \"NAME\")", 0);
    for workload in &catalog.workloads {
        entry(workload.name, workload.about, 2);
        for key in workload.keys {
            let about = match key.default.map(model::Literal::value) {
                None => format!("{} (required)", key.about),
                Some(Some(default)) => format!("{} (default {default})", key.about),
                // The sentence says what happens without the key.
                Some(None) => key.about.to_owned(),
            };
            entry(key.name, &about, 4);
        }
    }
    entry("\nengines", "(url = \"SCHEME:…\")", 0);
    for engine in engines {
        entry(engine.name, engine.about, 2);
        for caution in engine.cautions {
            entry("", &format!("note: {}", caution.text()), 2);
        }
    }
    printer.out(&text);
    Ok(Exit::Done)
}
