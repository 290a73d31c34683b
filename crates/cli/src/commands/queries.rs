//! `etalon queries`: the queries that a server spent most time on, as a folder that `etalon run` takes.

use std::fs;
use std::path::Path;

use model::SystemPlan;
use report::number::{self, Script};
use serde_json::json;
use workloads::queries::{LeftOut, Picked, Picking, StatementStatistics, Use, pick_slowest};
use workloads::system::Engine;

use super::asked_server::resolve_running_server;
use crate::args::QueriesArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::printer::Printer;

/// Runs `etalon queries`: writes the slowest queries of a server's statistics into a folder.
pub fn run(args: &QueriesArgs, printer: Printer) -> Result<Exit, CliError> {
    refuse_occupied(&args.output)?;
    let (engine, system) = resolve_running_server(&args.url)?;
    let (statistics, picking) = read_statistics(engine, &system, usize::from(args.top))?;
    write_files(&args.output, &picking.picked)?;
    if printer.json {
        printer.print_result(&picking_json(&args.output, &picking).to_string());
    } else {
        printer.print_result(&picking.picked.iter().map(|one| file_line(&args.output, one)).collect::<String>());
    }
    closing_notes(&args.output, statistics, &picking).iter().for_each(|note| printer.print_remark(note));
    Ok(Exit::Done)
}

/// Reads the statistics of a server's statements and picks the slowest queries.
///
/// # Errors
/// There are none, or they hold no query.
fn read_statistics(
    engine: &'static dyn Engine,
    system: &SystemPlan,
    most: usize,
) -> Result<(&'static dyn StatementStatistics, Picking), CliError> {
    let dialect = engine.dialect();
    let Some((dialect, statistics)) = dialect.and_then(|dialect| Some((dialect, dialect.statement_statistics()?)))
    else {
        let message = format!("the engine `{}` has no statistics of statements that étalon reads", system.engine);
        let hint = "write the queries into a folder yourself, one in each file `NAME.sql`";
        return Err(CliError::could_not_run(message).with_hint(hint));
    };
    let mut session = engine.open_visiting_session(system).map_err(|failure| CliError::from(&failure))?;
    let statements = statistics.read_statements(&mut *session).map_err(|failure| CliError::from(&failure))?;
    let picking = pick_slowest(&statements, most, dialect);
    if picking.picked.is_empty() {
        let message = format!("`{}` has no query on tables of this database", statistics.display_name());
        let error = CliError::could_not_run(message);
        let error =
            if picking.left_out.is_empty() { error } else { error.with_context(left_out_text(&picking.left_out)) };
        return Err(
            error.with_hint("wait until the usual statements have been run, or name another database in the URL")
        );
    }
    Ok((statistics, picking))
}

/// Fails unless the folder is new or empty: files of another day would be run with those of this one.
fn refuse_occupied(folder: &Path) -> Result<(), CliError> {
    let is_free = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_free {
        return Ok(());
    }
    let message = format!("`{}` is there already, and no empty folder", folder.display());
    Err(CliError::user_error(message).with_hint("name a new folder: `-o DIR`"))
}

/// Writes the picked queries as files, and a heading in CSV for those with parameters.
fn write_files(folder: &Path, picked: &[Picked]) -> Result<(), CliError> {
    for one in picked {
        let path = folder.join(format!("{}.sql", one.path));
        let below = path.parent().unwrap_or(folder);
        fs::create_dir_all(below).map_err(|error| {
            CliError::could_not_run(format!("cannot make the folder `{}`: {error}", below.display()))
        })?;
        output::write_file(&path, one.text.as_bytes(), output::Consent::OwnOnly)?;
        if !one.parameters.is_empty() {
            let header = format!("{}\n", one.parameters.join(","));
            output::write_file(&path.with_extension("csv"), header.as_bytes(), output::Consent::OwnOnly)?;
        }
    }
    Ok(())
}

/// Writes a line of output for a file: its share of the time, total, calls, mean and path.
fn file_line(folder: &Path, one: &Picked) -> String {
    let seconds = |value: f64| number::RowUnit::new("s", [value]);
    let (total, mean_s) = (seconds(one.total_s), one.total_s / one.calls.max(1.0));
    let mean = seconds(mean_s);
    let what = match one.becomes {
        Use::Query => "",
        Use::Form => ", without values",
        Use::Cut => ", cut by the server",
    };
    format!(
        "{:>5.1} %  {:>9}  {:>9} calls of {:>9}  {}{what}\n",
        one.share * 100.0,
        format!("{} {}", total.print(one.total_s, Script::Plain), total.unit_name()),
        number::whole_number(one.calls as u64, Script::Plain),
        format!("{} {}", mean.print(mean_s, Script::Plain), mean.unit_name()),
        folder.join(format!("{}.sql", one.path)).display(),
    )
}

/// Writes the picked queries, their figures and what was left out as JSON.
fn picking_json(folder: &Path, picking: &Picking) -> serde_json::Value {
    let statements = picking.picked.iter().map(|one| {
        json!({
            "file": folder.join(format!("{}.sql", one.path)).display().to_string(), "kind": one.becomes.as_str(),
            "calls": one.calls, "total_s": one.total_s, "share": one.share, "parameters": one.parameters,
        })
    });
    let left_out = picking.left_out.iter();
    let left_out =
        left_out.map(|kind| json!({ "kind": kind.kind, "statements": kind.statements, "share": kind.share }));
    json!({
        "schema_version": 1, "folder": folder.display().to_string(), "statements": statements.collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(), "more": picking.more,
    })
}

/// Says what was not written and why, and what to do next.
fn closing_notes(folder: &Path, statistics: &dyn StatementStatistics, picking: &Picking) -> Vec<String> {
    let mut notes = Vec::new();
    let shown = folder.display();
    let count = |kind: Use| picking.picked.iter().filter(|one| one.becomes == kind).count();
    if !picking.left_out.is_empty() {
        notes.push(left_out_text(&picking.left_out));
    }
    if picking.left_out.iter().any(LeftOut::is_hidden) {
        notes.push(statistics.how_to_see_all().to_owned());
    }
    if picking.more > 0 {
        notes.push(format!("{} took less time: `--top` takes more", count_queries(picking.more)));
    }
    if count(Use::Cut) > 0 {
        notes.push(format!("the server cut {}, which cannot be run", number::count_noun(count(Use::Cut), "text")));
    }
    if let Some(form) = picking.picked.iter().find(|one| one.becomes == Use::Form) {
        notes.push(format!(
            "the server has no values for {}: write rows into `{shown}/{path}.csv`, then `mv {shown}/{path}.* {shown}/`. {}",
            number::count_noun(count(Use::Form), "statement"),
            statistics.where_values_come_from(),
            path = form.path,
        ));
    }
    if count(Use::Query) > 0 {
        notes.push(format!(
            "`etalon run A_URL B_URL {shown}` compares {} on two systems",
            count_queries(count(Use::Query))
        ));
    }
    notes
}

/// Writes a number of queries: `1 query`, `3 queries`.
fn count_queries(count: usize) -> String {
    if count == 1 { "1 query".to_owned() } else { format!("{count} queries") }
}

/// Says what was left out, and its share of the time.
fn left_out_text(kinds: &[LeftOut]) -> String {
    let kinds = kinds.iter().map(|kind| format!("{} {} ({:.1} %)", kind.statements, kind.kind, kind.share * 100.0));
    format!("left out, with their share of the time: {}", kinds.collect::<Vec<_>>().join(", "))
}
