//! `etalon show`: a built-in plan's or script's text, or what a store holds.

use std::fmt::Write as _;
use std::path::Path;

use families::smack;
use model::RunState;
use serde_json::json;
use store::Store;

use crate::args::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::source::BUILT_IN;

pub fn run(args: &ShowArgs, printer: Printer) -> Result<Exit, CliError> {
    let plans = BUILT_IN.iter().map(|plan| (plan.name, plan.text));
    let scripts = smack::BUILT_IN.iter().map(|script| (script.name, script.text));
    if let Some((name, text)) = plans.clone().chain(scripts.clone()).find(|(name, _)| *name == args.what) {
        let as_json = || json!({ "schema_version": 1, "name": name, "text": text }).to_string();
        printer.out(&if printer.json { as_json() } else { text.to_owned() });
        return Ok(Exit::Done);
    }
    let path = Path::new(&args.what);
    if !path.exists() {
        let known: Vec<&str> = plans.map(|(name, _)| name).collect();
        let scripts: Vec<&str> = scripts.map(|(name, _)| name).collect();
        return Err(CliError::user(format!("`{}` is neither a built-in plan or script nor a store", args.what)).hint(
            format!("built-in plans: {}; scripts in super-smack's language: {}", known.join(", "), scripts.join(", ")),
        ));
    }
    let store = Store::open_read_only(path)?;
    let states = states(&store)?;
    let header = store.header();
    if printer.json {
        let counts: serde_json::Map<_, _> = states.iter().map(|(state, n)| (state.to_string(), json!(n))).collect();
        let object = json!({
            "schema_version": 1, "name": header.plan.name, "plan": header.plan, "plan_hash": header.plan_hash,
            "etalon_version": header.etalon_version, "build": header.build, "created_unix_ms": header.created_unix_ms,
            "command": header.command, "runs": counts, "facts": store.facts()?,
        });
        printer.out(&object.to_string());
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
    let _ = write!(text, "\n{}", header.plan_text);
    printer.out(&text);
    Ok(Exit::Done)
}

/// Only states that occur.
fn states(store: &Store) -> Result<Vec<(RunState, usize)>, CliError> {
    use RunState::{Aborted, Failed, Measured, Planned, Running, Superseded};
    let runs = store.runs()?;
    let count = |state| runs.iter().filter(|run| run.state == state).count();
    Ok([Measured, Planned, Running, Failed, Aborted, Superseded]
        .map(|state| (state, count(state)))
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .collect())
}
