//! `etalon init`: a commented plan for systems and scripts on the command line.

use std::path::Path;

use conductor::Registry;
use host::files::{self, Occupant, PutError, Replacing};
use serde_json::json;

use crate::args::{InitArgs, Question};
use crate::ask::words::ScriptKind;
use crate::ask::{self, Passwords};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, Consent, STDOUT};
use crate::printer::Printer;

/// Runs `etalon init`: writes a commented plan, to a file or to standard output.
pub fn run(args: &InitArgs, printer: Printer) -> Result<Exit, CliError> {
    let registry = Registry::built_in();
    let names_none = args.question.what.is_empty() && args.question.system.is_empty();
    let what = if names_none { default_systems(&registry) } else { args.question.what.clone() };
    let question = Question { what, ..args.question.clone() };
    let made = ask::make_plan(&question, &[], &registry, Passwords::LeftOut)?;
    made.notes.iter().for_each(|note| printer.print_remark(note));
    if names_none {
        printer.print_note(
            "its systems are two databases that étalon makes in this folder: put your own URLs in their place",
        );
    }
    if args.output == STDOUT {
        printer.print_result(&if printer.json {
            json!({ "schema_version": 1, "text": made.text }).to_string()
        } else {
            made.text
        });
        return Ok(Exit::Done);
    }
    write_plan(args, &made.text)?;
    if printer.json {
        printer.print_result(&json!({ "schema_version": 1, "plan": args.output }).to_string());
    }
    let file = shlex::try_quote(&args.output).unwrap_or_else(|_| args.output.as_str().into());
    printer.print_note(&format!(
        "wrote {}: `etalon plan {file}` shows what it does, `etalon run {file}` does it",
        args.output
    ));
    Ok(Exit::Done)
}

/// Names two database files of the first engine that makes its own, as systems of a plan for which none are named.
fn default_systems(registry: &Registry) -> Vec<String> {
    let catalog = registry.catalog();
    let scheme = catalog
        .engines
        .iter()
        .find(|engine| engine.own_url.is_some() && engine.workload == ScriptKind::Sql.workload())
        .and_then(|engine| engine.schemes.first());
    scheme.map(|scheme| ["a", "b"].map(|name| format!("{name}={scheme}:{name}.db")).to_vec()).unwrap_or_default()
}

/// Writes a plan's file; refuses to replace one without `--force`, since it may have been changed by hand.
fn write_plan(args: &InitArgs, text: &str) -> Result<(), CliError> {
    let path = Path::new(&args.output);
    if files::is_stream(path) {
        return output::write_file(path, text.as_bytes(), Consent::OwnOnly);
    }
    let replacing = if args.force { Replacing::Any } else { Replacing::Own(&|_| false) };
    files::put_file(path, text.as_bytes(), replacing).map_err(|error| match &error {
        PutError::Occupied { occupant: Occupant::Foreign, .. } => {
            CliError::user_error(format!("`{}` is there already", args.output))
                .with_hint("name another file with `-o FILE`, or replace it with `--force`")
        }
        _ => output::put_refused(&error),
    })
}
