//! `etalon schema`: for editors and for programs that read `--json`.

use conductor::Registry;

use crate::args::{SchemaArgs, WhichSchema};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

/// Runs `etalon schema`: prints the JSON schema of plans or comparisons, or the reference of plans.
pub fn run(args: &SchemaArgs, printer: Printer) -> Result<Exit, CliError> {
    let registry = Registry::built_in();
    let catalog = registry.catalog();
    printer.print_result(&match args.which {
        WhichSchema::Plan => format!("{:#}", model::plan::json_schema(&catalog)),
        WhichSchema::Comparison => format!("{:#}", report::json::document_schema()),
        WhichSchema::Reference => model::plan::plan_reference(&catalog).trim_end().to_owned(),
    });
    Ok(Exit::Done)
}
