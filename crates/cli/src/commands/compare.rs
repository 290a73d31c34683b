use report::Evidence;
use report::barrel::Runs as Split;
use report::text::Runs;
use store::Store;

use super::report::{options, print_set, set_of};
use crate::args::{CompareArgs, ResultFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::sqlio;

pub fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, CliError> {
    let store = Store::open_read_only(&args.store)?;
    let evidence = Evidence::read(&store)?;
    if args.format == ResultFormat::Sqlio {
        printer.out(&sqlio::render(&evidence, &store, None)?);
        return Ok(Exit::Done);
    }
    if args.format == ResultFormat::SuperSmack {
        let split = if args.runs { Split::Each } else { Split::Together };
        printer.out(&super::barrel::render(&evidence, split));
        return Ok(Exit::Done);
    }
    if args.format == ResultFormat::Pages {
        printer.out(&super::report::family(&evidence, &report::pages::FAMILY, printer)?);
        return Ok(Exit::Done);
    }
    if args.format == ResultFormat::Spatial {
        printer.out(&super::report::family(&evidence, &report::spatial::FAMILY, printer)?);
        return Ok(Exit::Done);
    }
    if args.format == ResultFormat::Backup {
        printer.out(&super::report::family(&evidence, &report::backup::FAMILY, printer)?);
        return Ok(Exit::Done);
    }
    let mut options = options(&args.comparing)?;
    options.a.clone_from(&args.a);
    options.b.clone_from(&args.b);
    if args.markdown {
        printer.out(&report::markdown::render(&set_of(&evidence, &options)?));
    } else {
        let runs = if args.runs { Runs::Listed } else { Runs::Hidden };
        print_set(&evidence, &options, runs, printer)?;
    }
    Ok(Exit::Done)
}
