//! `etalon gate`: pass or fail, for continuous integration.

use model::share::REGRESSION;
use report::gate::{
    Format, GateOutcome, GateRules, GateStatus, Inconclusive, Limit, LimitError, RowStatus, gate_with_limits,
    render_outcome,
};
use serde_json::json;

use super::history;
use super::report::{compare_options, parse_share, set_of};
use super::run::{extend_command, resume_command};
use crate::args::guessed::typed_line;
use crate::args::{GateArgs, GateFormat, OnInconclusive};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::{Side, check_baseline, check_stores, open_results};

/// Runs `etalon gate`: prints whether a store keeps to its limits and its baseline, and passes or fails.
pub fn run(args: &GateArgs, printer: Printer) -> Result<Exit, CliError> {
    check_stores("gate", std::slice::from_ref(&args.store), printer)?;
    if let Some(history) = &args.history {
        return history::judge_store(history, args, printer);
    }
    let candidate = Side::parse(&args.store);
    args.baseline.iter().try_for_each(|baseline| check_baseline(baseline, &candidate, printer))?;
    let sides: Vec<Side> = args.baseline.iter().map(|text| Side::parse(text)).chain([candidate.clone()]).collect();
    let evidence = open_results(&sides)?.evidence;
    let set = set_of(&evidence, &compare_options(&args.comparing)?)?;
    let max_regression = parse_share("--max-regression", args.max_regression.as_deref(), REGRESSION)?;
    let rules = GateRules {
        max_regression: max_regression.unwrap_or(set.rules.margin),
        inconclusive: match args.inconclusive {
            OnInconclusive::FailLimits => Inconclusive::FailLimits,
            OnInconclusive::Pass => Inconclusive::Pass,
            OnInconclusive::Fail => Inconclusive::Fail,
        },
        min_rows: args.min_rows,
    };
    let limits: Vec<Limit> =
        args.limit.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(|error| limit_error(&error))?;
    let outcome = gate_with_limits(&evidence, &set, &rules, &limits).map_err(|error| limit_error(&error))?;
    let format = match args.format {
        GateFormat::Text => Format::Text,
        GateFormat::Github => Format::Github,
        GateFormat::Junit => Format::Junit,
        GateFormat::Markdown => Format::Markdown,
    };
    match format {
        _ if printer.json => printer.print_result(&outcome_json(&outcome).to_string()),
        Format::Text => printer.print_folded(&render_outcome(&outcome, format)),
        _ => printer.print_result(&render_outcome(&outcome, format)),
    }
    let is_imported = evidence.header.build == report::evidence::IMPORTED;
    let has_open = outcome.undecided_sentence().is_some() && outcome.count_of(RowStatus::Open) > 0;
    if has_open && args.baseline.is_none() && !printer.json && !is_imported {
        printer.print_note(&format!("`{}` adds rounds until they are decided", extend_command(&candidate.store)));
    }
    match outcome.status {
        GateStatus::Passed | GateStatus::NotFailed => Ok(Exit::Done),
        GateStatus::Failed => Ok(Exit::BadAnswer),
        GateStatus::Inconclusive => Ok(Exit::Inconclusive),
        GateStatus::TooFewRows => Err(too_few_rows_error(&outcome, args)),
        GateStatus::Unfinished => {
            let how_far = outcome.unfinished.map_or_else(String::new, |found| found.sentence());
            let text = format!("the experiment is under way or was stopped ({how_far}), so the gate cannot pass");
            let hint = if is_imported {
                "run the rest where the table was exported, and export it again".to_owned()
            } else {
                format!("run the rest with `{}`", resume_command(&candidate.store))
            };
            Err(inconclusive_error(text).with_hint(hint))
        }
    }
}

/// Makes the error for a `--limit` that is not understood or not measured.
fn limit_error(error: &LimitError) -> CliError {
    CliError::user_error(format!("`--limit`: {error}")).with_hint(error.hint())
}

/// Makes the error for a gate that cannot say anything yet, which is no regression and no wrong use.
fn inconclusive_error(message: String) -> CliError {
    CliError { exit: Exit::Inconclusive, ..CliError::user_error(message) }
}

/// The error of a gate that compared fewer rows than it asks for.
fn too_few_rows_error(outcome: &GateOutcome, args: &GateArgs) -> CliError {
    let stores = args.baseline.iter().chain([&args.store]).map(String::as_str);
    let compare = typed_line(&std::iter::once("compare").chain(stores).collect::<Vec<_>>());
    let (compared, asked) = (outcome.rows_compared(), outcome.rows_asked());
    let long_enough = if asked < outcome.lines.len() && args.min_rows.is_none() {
        " whose runs are long enough for a verdict"
    } else {
        " that it asks for"
    };
    let error =
        inconclusive_error(format!("the gate compared {compared} of the {asked} rows{long_enough}, so it cannot pass"));
    match compared {
        0 => error
            .with_hint(format!("a verdict takes 6 rounds and two systems; `{compare}` shows what is missing"))
            .with_hint("a single system can be held to a limit: `--limit 'p99 <= 20ms'`"),
        _ => error.with_hint(format!(
            "`{compare}` shows why a row has no verdict; `--min-rows {compared}` makes {compared} compared rows enough"
        )),
    }
}

/// Writes a gate's outcome as JSON.
fn outcome_json(outcome: &GateOutcome) -> serde_json::Value {
    let status = match outcome.status {
        GateStatus::Passed => "passed",
        GateStatus::NotFailed => "not-failed",
        GateStatus::Failed => "failed",
        GateStatus::Inconclusive => "inconclusive",
        GateStatus::TooFewRows => "too-few-rows",
        GateStatus::Unfinished => "unfinished",
    };
    let rows: Vec<_> = outcome
        .lines
        .iter()
        .map(|line| json!({ "status": line.status.as_str(), "row": line.name, "sides": line.sides, "detail": line.detail }))
        .collect();
    json!({
        "schema_version": 1,
        "status": status,
        "max_regression": outcome.rules.max_regression,
        "rows_compared": outcome.rows_compared(),
        "rows_asked": outcome.rows_asked(),
        "measured_apart": !outcome.apart.is_empty(),
        "notes": outcome.apart,
        "interval": outcome.interval,
        "changed": outcome.changed,
        "undecided": outcome.undecided_sentence(),
        "rows": rows,
    })
}
