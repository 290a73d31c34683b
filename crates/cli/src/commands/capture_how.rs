//! `etalon capture --how URL`: what a person types to switch a server's log of statements on, and off again.

use serde_json::json;
use workloads::statement_log::LogSwitch;

use super::asked_server::resolve_running_server;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

/// Runs `etalon capture --how`: prints how a server's log of statements is switched on and off.
pub fn run(url: &str, printer: Printer) -> Result<Exit, CliError> {
    let (engine, system) = resolve_running_server(url)?;
    let Some(log) = engine.dialect().and_then(|dialect| dialect.statement_log()) else {
        let message = format!("the engine `{}` has no log of statements that étalon reads", system.engine);
        return Err(CliError::could_not_run(message).with_hint("PostgreSQL, MySQL and MariaDB have one"));
    };
    let mut session = engine.open_visiting_session(&system).map_err(|failure| CliError::from(&failure))?;
    let switch = log.read_switch(&mut *session).map_err(|failure| CliError::from(&failure))?;
    printer.print_result(&if printer.json { switch_json(&switch).to_string() } else { switch_sql(&switch) });
    Ok(Exit::Done)
}

/// Writes how a server's log of statements is switched on and off as JSON.
fn switch_json(switch: &LogSwitch) -> serde_json::Value {
    let LogSwitch { on, needs_restart, off, file, log_line_prefix, remarks } = switch;
    json!({
        "schema_version": 1,
        "on": on,
        "needs_restart": needs_restart,
        "off": off,
        "file": file,
        "log_line_prefix": log_line_prefix,
        "remarks": remarks,
    })
}

/// Writes how the log is switched on and off as SQL with remarks, which a client of the server takes as it is.
fn switch_sql(switch: &LogSwitch) -> String {
    let mut lines = Vec::new();
    if switch.on.is_empty() && switch.needs_restart {
        lines.push("-- No statement switches the log on.".to_owned());
    } else if switch.on.is_empty() {
        lines.push("-- The server logs each statement as it is.".to_owned());
    } else {
        lines.push("-- On: each statement is logged, which takes disk space as long as it is on.".to_owned());
        lines.extend(switch.on.iter().cloned());
        lines.push(String::new());
        lines.push("-- Off, with the values of now.".to_owned());
        lines.extend(switch.off.iter().cloned());
    }
    lines.push(String::new());
    if let Some(file) = &switch.file {
        lines.push(format!("-- The log: {file}"));
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
        // A name with a NUL is none.
        let name = shlex::try_quote(name).unwrap_or_default();
        let prefix = switch.log_line_prefix.as_ref().map(|prefix| format!(" --log-line-prefix '{prefix}'"));
        lines.push(format!("-- Then, with a copy of it: etalon capture {name}{}", prefix.unwrap_or_default()));
    }
    lines.extend(switch.remarks.iter().map(|remark| format!("-- Note: {remark}.")));
    lines.join("\n") + "\n"
}
