//! `etalon show`: anything that `etalon list` names, or what a store or a capture holds.

use std::fmt::Write as _;
use std::path::Path;

use conductor::Registry;
use model::{RunState, near};
use report::text::{Rows, Runs};
use report::{Evidence, Options};
use serde_json::json;
use store::Store;

use super::named::{self, Named};
use super::report::print_set;
use super::show_capture;
use crate::args::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::instead_of_store;

/// Runs `etalon show`: prints a named plan, script, workload or engine, a capture, or a store's results.
pub fn run(args: &ShowArgs, printer: Printer) -> Result<Exit, CliError> {
    let catalog = Registry::built_in().catalog();
    let named = named::all_named(&catalog);
    if let [one, others @ ..] = named::find_named(&named, &args.what).as_slice() {
        show_named(one, printer);
        for other in others {
            let (kind, name) = (other.kind().as_str(), other.name());
            printer.print_remark(&format!("this name has another meaning: `etalon show {kind}:{name}`"));
        }
        return Ok(Exit::Done);
    }
    let path = Path::new(&args.what);
    if !path.exists() {
        let near = near::did_you_mean(&args.what, named::all_names(&named));
        return Err(CliError::user_error(format!(
            "`{}` is neither a name that `etalon list` has nor a store or a capture",
            args.what
        ))
        .with_hint(near.unwrap_or_else(|| format!("`etalon list` has all names; {}", instead_of_store("show")))));
    }
    if show_capture::is_capture(path) {
        return show_capture::show_capture(path, printer);
    }
    let store = Store::open_read_only(path)?;
    let states = count_states(&store)?;
    let header = store.header();
    if printer.json {
        let counts: serde_json::Map<_, _> = states.iter().map(|(state, n)| (state.to_string(), json!(n))).collect();
        let object = json!({
            "schema_version": 1, "name": header.plan.name, "plan": header.plan, "plan_hash": header.plan_hash,
            "etalon_version": header.etalon_version, "build": header.build, "created_unix_ms": header.created_unix_ms,
            "command": header.command, "runs": counts, "facts": store.facts()?,
        });
        printer.print_result(&object.to_string());
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    let _ = writeln!(text, "experiment  {}", header.plan.name);
    let created = jiff::Timestamp::from_millisecond(header.created_unix_ms).map(|t| t.to_string()).unwrap_or_default();
    let _ = writeln!(text, "begun       {created} by étalon {} ({})", header.etalon_version, header.build);
    let _ = writeln!(text, "command     {}", header.command);
    let _ = writeln!(text, "plan hash   {}", header.plan_hash);
    let _ = writeln!(text, "seed        {}", header.plan.schedule.seed);
    for (state, count) in states {
        let _ = writeln!(text, "{state:<12}{count} runs");
    }
    printer.print_result(&text);
    let evidence = Evidence::read_store(&store)?;
    if evidence.measurements.is_empty() {
        printer.print_note("no run has been measured yet");
    } else {
        print_set(&evidence, &Options::default(), (Runs::Hidden, Rows::All), printer)?;
    }
    printer.print_result(&format!("\n{}", header.plan_text));
    Ok(Exit::Done)
}

/// Prints all that is known of a named entry.
fn show_named(one: &Named<'_>, printer: Printer) {
    let text = one.full_text(printer.width());
    let kind = one.kind().as_str();
    printer.print_result(&if printer.json {
        json!({ "schema_version": 1, "kind": kind, "name": one.name(), "text": text }).to_string()
    } else {
        text
    });
}

/// Counts a store's runs in each state that occurs.
fn count_states(store: &Store) -> Result<Vec<(RunState, usize)>, CliError> {
    use RunState::{Aborted, Failed, Measured, Planned, Running, Superseded};
    let runs = store.runs()?;
    Ok([Measured, Planned, Running, Failed, Aborted, Superseded]
        .map(|state| (state, runs.iter().filter(|run| run.state == state).count()))
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .collect())
}
