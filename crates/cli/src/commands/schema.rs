//! `etalon schema`: for editors and for programs that read `--json`.

use engine::Registry;

use crate::args::{SchemaArgs, WhichSchema};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

/// Prints a JSON Schema.
pub fn run(args: &SchemaArgs, printer: Printer) -> Result<Exit, CliError> {
    let schema = match args.which {
        WhichSchema::Plan => model::plan::json_schema(&Registry::built_in().catalog()),
        WhichSchema::Comparison => report::json::schema(),
    };
    printer.out(&format!("{schema:#}"));
    Ok(Exit::Done)
}
