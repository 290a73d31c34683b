mod png;
mod tidy;

use report::{Evidence, MetricFilter, Options};
use store::Store;

use super::report::{compare_options, set_of};
use crate::args::{ExportArgs, ExportFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, Comment, Consent, STDOUT};
use crate::printer::Printer;

/// Runs `etalon export`.
pub fn run(args: &ExportArgs, printer: Printer) -> Result<Exit, CliError> {
    let store = Store::open_read_only(&args.store)?;
    let evidence = Evidence::read_store(&store)?;
    ask_before_publication(args, &evidence, printer)?;
    let options = compare_options(&args.comparing)?;
    let text = match args.format {
        ExportFormat::Csv if args.raw => formats::tidy::write_raw(&tidy::tidy_table(&evidence)),
        ExportFormat::Csv => formats::tidy::write_table(&tidy::tidy_table(&evidence)),
        ExportFormat::Json => json_export(&evidence, &options)?,
        ExportFormat::Markdown => report::markdown::render_comparisons(&evidence, &set_of(&evidence, &options)?),
        ExportFormat::Pgbench => report::pgbench::render_runs(&evidence),
        ExportFormat::SuperSmack => super::barrel::render_reports(&evidence, report::barrel::Runs::Together),
        ExportFormat::Svg => {
            return export_charts(
                args,
                &store,
                &evidence,
                &options,
                "svg",
                |svg| Ok(output::seal_text(svg.to_owned(), Comment::Markup).into_bytes()),
                printer,
            );
        }
        ExportFormat::Png => {
            let painter = png::Painter::new()?;
            return export_charts(args, &store, &evidence, &options, "png", |svg| painter.to_png(svg), printer);
        }
    };
    match &args.output {
        Some(path) if path.as_os_str() != STDOUT => {
            let text = match comment_form(args.format) {
                Some(comment) if !host::files::is_stream(path) => output::seal_text(text, comment),
                _ => text,
            };
            output::write_file(path, text.as_bytes(), Consent::from_force(args.force))?;
            print_files(&[path.display().to_string()], printer)
        }
        _ => {
            printer.print_data(&text);
            Ok(Exit::Done)
        }
    }
}

/// The form of comments in an export format; `None` where it has none.
fn comment_form(format: ExportFormat) -> Option<Comment> {
    match format {
        ExportFormat::Csv => Some(Comment::Hash),
        ExportFormat::Markdown | ExportFormat::Svg => Some(Comment::Markup),
        ExportFormat::Json | ExportFormat::Pgbench | ExportFormat::SuperSmack | ExportFormat::Png => None,
    }
}

/// Asks before results leave a store whose licence restricts publication; fails if the answer is no or no one can answer.
fn ask_before_publication(args: &ExportArgs, evidence: &Evidence, printer: Printer) -> Result<(), CliError> {
    let Some(restriction) =
        evidence.facts.values().find_map(|facts| facts.get(model::facts::PUBLICATION).map(str::to_owned))
    else {
        return Ok(());
    };
    if args.yes {
        return Ok(());
    }
    match printer.confirm(&format!("{restriction}. Export all the same?")) {
        Some(true) => Ok(()),
        Some(false) => Err(CliError::user_error("nothing was exported").with_context(restriction)),
        None => Err(CliError::user_error("the export would give away results whose publication is restricted")
            .with_context(restriction)
            .with_hint("`--yes` exports them: for yourself, or with the approval that it takes")),
    }
}

/// Writes the comparisons of an experiment as JSON, of all metrics unless some are asked for.
fn json_export(evidence: &Evidence, options: &Options) -> Result<String, CliError> {
    let metrics = match &options.metrics {
        MetricFilter::Primary => MetricFilter::All,
        asked => asked.clone(),
    };
    let set = set_of(evidence, &Options { metrics, ..options.clone() })?;
    serde_json::to_string_pretty(&report::json::make_document(evidence, &set))
        .map_err(|error| CliError::could_not_run(format!("cannot write the comparison as JSON: {error}")))
}

/// Writes each chart of the report into a file of its own, drawn by `draw`, and prints their names.
fn export_charts(
    args: &ExportArgs,
    store: &Store,
    evidence: &Evidence,
    options: &Options,
    extension: &str,
    draw: impl Fn(&str) -> Result<Vec<u8>, CliError>,
    printer: Printer,
) -> Result<Exit, CliError> {
    if args.output.as_ref().is_some_and(|folder| folder.as_os_str() == STDOUT) {
        let error = CliError::user_error("charts are several files, and cannot go to stdout");
        return Err(error.with_hint("name a folder with `-o DIR`"));
    }
    let set = set_of(evidence, options)?;
    let html = report::html::render_page(evidence, &set, store)
        .map_err(|error| CliError::could_not_run(format!("cannot draw the charts: {error}")))?;
    let folder = args.output.clone().unwrap_or_else(|| args.store.with_extension("charts"));
    std::fs::create_dir_all(&folder)
        .map_err(|error| CliError::could_not_run(format!("cannot make the folder {}: {error}", folder.display())))?;
    let mut written = Vec::new();
    for chart in report::svg::charts_in_page(&html) {
        let path = folder.join(format!("{}.{extension}", chart.id));
        output::write_file(&path, &draw(&chart.svg)?, Consent::from_force(args.force))?;
        written.push(path.display().to_string());
    }
    print_files(&written, printer)
}

/// Prints the names of the files written.
fn print_files(files: &[String], printer: Printer) -> Result<Exit, CliError> {
    if printer.json {
        printer.print_result(&serde_json::json!({ "schema_version": 1, "files": files }).to_string());
    } else {
        files.iter().for_each(|file| printer.print_note(&format!("wrote {file}")));
    }
    Ok(Exit::Done)
}
