use report::Evidence;
use report::barrel::Runs as Split;
use report::text::Runs;
use store::Store;

use super::report::{options, print_set, published, set_of};
use crate::args::CompareArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, CliError> {
    let store = Store::open_read_only(&args.store)?;
    let evidence = Evidence::read(&store)?;
    let split = if args.runs { Split::Each } else { Split::Together };
    if let Some(text) = published(&evidence, &store, args.format, None, split, printer)? {
        printer.out(&text);
        return Ok(Exit::Done);
    }
    let mut options = options(&args.comparing)?;
    options.a.clone_from(&args.a);
    options.b.clone_from(&args.b);
    if args.markdown {
        printer.out(&report::markdown::render(&evidence, &set_of(&evidence, &options)?));
    } else {
        let runs = if args.runs { Runs::Listed } else { Runs::Hidden };
        print_set(&evidence, &options, runs, printer)?;
    }
    Ok(Exit::Done)
}
