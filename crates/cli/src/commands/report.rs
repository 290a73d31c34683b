//! `etalon report`, and the results after `run` and `resume`.

use std::path::{Path, PathBuf};

use model::share::ShareRange;
use model::{Absence, Reading, Role};
use report::barrel::Runs as Split;
use report::text::{Rows, Runs, Style, TextOptions};
use report::views::Family;
use report::{ComparisonSet, Evidence, MetricFilter, Options, Pairing, SeriesSource};
use store::Store;

use super::barrel;
use crate::args::guessed::typed_line;
use crate::args::{Comparing, ReportArgs, ResultFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, Comment, Consent, STDOUT};
use crate::printer::Printer;
use crate::results::{Side, check_stores, open_results};
use crate::source::Called;
use crate::sqlio;

/// Runs `etalon report`: writes the HTML report of stores to a file or to standard output.
pub fn run(args: &ReportArgs, printer: Printer) -> Result<Exit, CliError> {
    let stores = check_stores("report", &args.stores, printer)?;
    let sides: Vec<Side> = stores.iter().map(|text| Side::parse(text)).collect();
    let results = open_results(&sides)?;
    let options = compare_options(&args.comparing)?;
    let html = html_page(&results, &results.evidence, &options)?;
    let consent = Consent::from_force(args.force);
    let path = match &args.output {
        Some(path) if path.as_os_str() == STDOUT => {
            if printer.json {
                printer.print_result(&serde_json::json!({ "schema_version": 1, "text": html }).to_string());
            } else {
                printer.print_data(&html);
            }
            return Ok(Exit::Done);
        }
        Some(path) => {
            output::write_file(path, html.as_bytes(), consent)?;
            path.clone()
        }
        None => output::write_unnamed(&default_report_path(&sides), html.as_bytes(), consent)?,
    };
    if printer.json {
        printer.print_result(
            &serde_json::json!({ "schema_version": 1, "report": path.display().to_string() }).to_string(),
        );
    } else {
        printer.print_note(&format!("report: {}", path.display()));
    }
    Ok(Exit::Done)
}

/// The report's default path: `new.html`, or `new-against-old.html` for several stores.
fn default_report_path(sides: &[Side]) -> PathBuf {
    match sides {
        [] => PathBuf::from("report.html"),
        [only] => only.store.with_extension("html"),
        [first, .., last] => {
            last.store.with_file_name(format!("{}-against-{}.html", store_stem(last), store_stem(first)))
        }
    }
}

/// A store's name without folder and ending.
fn store_stem(side: &Side) -> String {
    side.store.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Prints a finished experiment's comparison and writes its report next to the store; says whether parts of runs failed.
pub fn print_and_report(
    path: &Path,
    format: ResultFormat,
    called: Option<&Called>,
    printer: Printer,
) -> Result<Exit, CliError> {
    let store = Store::open_read_only(path)?;
    let evidence = Evidence::read_store(&store)?;
    let options = Options::default();
    let html = html_page(&store, &evidence, &options)?;
    // A report that cannot be written keeps no one from the results.
    let report = output::write_unnamed(&path.with_extension("html"), html.as_bytes(), Consent::OwnOnly);
    match published_form(&evidence, &store, format, called, Split::Together, printer)? {
        Some(text) => printer.print_result(&text),
        None => print_set(&evidence, &options, (Runs::Hidden, Rows::All), printer)?,
    }
    let store = format!("store:  {}", path.display());
    if printer.is_quiet() {
        // `gate` and `report` take its path.
        printer.print_always(&store);
    } else {
        printer.print_note(&format!("\n{store}"));
    }
    let report = report.map_err(|error| CliError {
        hints: vec![format!(
            "write it elsewhere with `{} -o FILE`; the store is complete",
            typed_line(&["report".to_owned(), path.display().to_string()])
        )],
        ..error
    })?;
    printer.print_note(&format!("report: {}", report.display()));
    Ok(if has_failed_parts(&evidence) { Exit::BadAnswer } else { Exit::Done })
}

/// Whether a measured run has a part that failed, such as a query.
fn has_failed_parts(evidence: &Evidence) -> bool {
    evidence.measurements.iter().any(|stored| {
        let failed =
            matches!(&stored.measurement.reading, Reading::Unavailable(missing) if missing.kind == Absence::Failed);
        failed && stored.measurement.metric.role == Role::Primary
    })
}

/// Writes the results as a published tool prints them; `None` for the format of the comparison.
pub fn published_form(
    evidence: &Evidence,
    store: &dyn SeriesSource,
    format: ResultFormat,
    called: Option<&Called>,
    split: Split,
    printer: Printer,
) -> Result<Option<String>, CliError> {
    let text = match (format, called) {
        (ResultFormat::Text, _) => return Ok(None),
        (ResultFormat::Pages, _) => family_tables(evidence, &report::pages::FAMILY, printer)?,
        (ResultFormat::Spatial, _) => family_tables(evidence, &report::spatial::FAMILY, printer)?,
        (ResultFormat::Backup, _) => family_tables(evidence, &report::backup::FAMILY, printer)?,
        (ResultFormat::SuperSmack, Some(Called::Smack(called))) => barrel::render_called(evidence, called)?,
        (ResultFormat::SuperSmack, _) => barrel::render_reports(evidence, split),
        (ResultFormat::Sqlio, Some(Called::Sqlio(called))) => sqlio::render_outputs(evidence, store, Some(called))?,
        (ResultFormat::Sqlio, _) => sqlio::render_outputs(evidence, store, None)?,
    };
    Ok(Some(text))
}

/// Width of a published table in one piece.
const WHOLE_WIDTH: usize = 160;

/// Writes the published tables of a workload, with verdicts if there are two systems.
fn family_tables(evidence: &Evidence, family: &Family, printer: Printer) -> Result<String, CliError> {
    let set = judged_set(evidence, family.judged);
    // A file takes the published tables in one piece.
    let width = printer.known_width().unwrap_or(WHOLE_WIDTH);
    family.render_for_terminal(evidence, set.as_ref(), width).ok_or_else(|| {
        let name = family.name;
        CliError::user_error(format!("this experiment has no benchmark of the workload `{name}`")).with_hint(format!(
            "`--format {name}` prints the tables of that workload; `etalon compare STORE` prints those of any"
        ))
    })
}

/// Compares these metrics only; `None` if the experiment has none of them.
fn judged_set(evidence: &Evidence, metrics: &[&str]) -> Option<ComparisonSet> {
    let named = metrics.iter().map(|&metric| metric.to_owned()).collect();
    set_of(evidence, &Options { metrics: MetricFilter::Named(named), ..Options::default() }).ok()
}

/// Prints a comparison as text, or as JSON if that was asked for.
pub fn print_set(
    evidence: &Evidence,
    options: &Options,
    (runs, rows): (Runs, Rows),
    printer: Printer,
) -> Result<(), CliError> {
    let set = set_of(evidence, &options.clone().comparing_only_factor(evidence))?;
    if printer.json {
        let document = report::json::make_document(evidence, &set);
        let text = serde_json::to_string(&document)
            .map_err(|error| CliError::could_not_run(format!("cannot write the comparison as JSON: {error}")))?;
        printer.print_result(&text);
        return Ok(());
    }
    let style = if printer.color_out { Style::Ansi } else { Style::Plain };
    let text = TextOptions { width: printer.width(), style, runs, rows, ..TextOptions::default() };
    printer.print_coloured(&report::text::render_set(&set, &text));
    Ok(())
}

/// Compares the systems of the evidence; unpaired if all are imported and not run in rounds.
/// Imported repetitions share only their number.
pub fn set_of(evidence: &Evidence, options: &Options) -> Result<ComparisonSet, CliError> {
    let mut options = options.clone();
    if evidence
        .header
        .plan
        .systems
        .iter()
        .all(|system| system.engine == formats::experiment::IMPORTED && !ran_in_rounds(evidence, &system.name))
    {
        options.pairing = Pairing::Unpaired;
    }
    report::compare(evidence, &options).map_err(CliError::from)
}

/// Whether a system's facts say that its repetitions are rounds.
fn ran_in_rounds(evidence: &Evidence, name: &str) -> bool {
    let facts = evidence.facts_of(name);
    facts.and_then(|facts| facts.get(formats::experiment::PAIRING)) == Some(formats::experiment::ROUNDS)
}

/// Makes the report as an HTML page, sealed.
fn html_page(store: &dyn SeriesSource, evidence: &Evidence, options: &Options) -> Result<String, CliError> {
    let set = set_of(evidence, &options.clone().comparing_only_factor(evidence))?;
    let html = report::html::render_page(evidence, &set, store)
        .map_err(|error| CliError::could_not_run(format!("cannot make the report: {error}")))?;
    Ok(output::seal_text(html, Comment::Markup))
}

/// Reads a comparison's options from the command line.
pub fn compare_options(args: &Comparing) -> Result<Options, CliError> {
    let mut options = Options {
        margin: parse_share("--margin", args.margin.as_deref(), model::share::MARGIN)?,
        level: parse_share("--level", args.level.as_deref(), model::share::LEVEL)?,
        rows: unless_empty(&args.rows),
        cols: unless_empty(&args.cols),
        by: unless_empty(&args.by),
        allow_unequal_durability: args.allowing.allow_unequal_durability,
        allow_sequential_order: args.allowing.allow_sequential_order,
        allow_different_rows: args.allowing.allow_different_rows,
        ..Options::default()
    };
    if let Some(name) = &args.estimator {
        options.estimator = name.parse().map_err(|_| {
            let known = stats::Estimator::ALL.iter().map(|estimator| estimator.as_str());
            let hints = model::near::did_you_mean_or_list(name, known).into_iter().collect();
            CliError { hints, ..CliError::user_error(format!("`{name}` is no estimator")) }
        })?;
    }
    options.metrics = match args.metrics.as_slice() {
        [] => MetricFilter::Primary,
        [all] if all == "all" => MetricFilter::All,
        names => MetricFilter::Named(names.to_vec()),
    };
    Ok(options)
}

/// A list, unless it is empty.
fn unless_empty(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// Parses the share of an option, as in `--margin 3%`.
pub fn parse_share(option: &str, text: Option<&str>, range: ShareRange) -> Result<Option<f64>, CliError> {
    text.map(|text| range.parse(text))
        .transpose()
        .map_err(|error| CliError::user_error(format!("`{option}`: {error}")).with_hint(error.hint()))
}
