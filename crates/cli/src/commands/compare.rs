use report::barrel::Runs as Split;
use report::text::{Rows, Runs};

use super::report::{compare_options, print_set, published_form, set_of};
use crate::args::CompareArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::{Side, check_stores, move_baseline_first, open_results, split_sides};

/// Lines of the comparison of an import.
const IMPORT_LINES: usize = 60;

/// Runs `etalon compare`.
pub fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, CliError> {
    let mut named: Vec<String> = std::iter::once(&args.store).chain(&args.others).cloned().collect();
    // `--baseline OLD NEW` names two stores as `OLD NEW` does.
    let apart = args.baseline.as_ref().filter(|name| !named.contains(name) && Side::parse(name).store.is_file());
    if named.len() == 1 {
        named.extend(apart.cloned());
    }
    let named = check_stores("compare", &named, printer)?;
    let (first, others) = named.split_first().map_or((&args.store, &[][..]), |(first, others)| (first, others));
    let (mut stores, systems) = split_sides(first, others)?;
    if stores.len() > 1 {
        let turned = move_baseline_first(&mut stores, args.baseline.as_deref())?;
        turned.iter().for_each(|text| printer.print_note(text));
    } else if let Some(name) = &args.baseline {
        return Err(CliError::user_error(format!("`--baseline {name}` is for several stores, and one is given"))
            .with_hint(format!("of one store its systems are compared: `etalon compare {} A B`", args.store)));
    }
    let results = open_results(&stores)?;
    let evidence = &results.evidence;
    let split = if args.runs { Split::Each } else { Split::Together };
    if let Some(text) = published_form(evidence, &results, args.format, None, split, printer)? {
        printer.print_result(&text);
        return Ok(Exit::Done);
    }
    let mut options = compare_options(&args.comparing)?;
    (options.a, options.b) = (systems.first().cloned(), systems.get(1).cloned());
    if args.markdown {
        printer.print_result(&report::markdown::render_comparisons(evidence, &set_of(evidence, &options)?));
    } else {
        let runs = if args.runs { Runs::Listed } else { Runs::Hidden };
        // What an experiment of one's own has was planned; how many cases a folder has is seen only now.
        let is_fitted = evidence.is_import() && !args.all && !args.runs;
        let rows = if is_fitted { Rows::Fit(IMPORT_LINES) } else { Rows::All };
        print_set(evidence, &options, (runs, rows), printer)?;
    }
    Ok(Exit::Done)
}
