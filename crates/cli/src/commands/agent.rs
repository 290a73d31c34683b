//! `etalon agent` and `etalon agents`: other hosts that take part.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use conductor::Registry;
use fleet::{Agent, AgentOptions, Listed, Server, protocol};
use serde_json::json;
use workloads::permits::{self, Logins, NamedPermits};

use super::run::reactor_choice;
use crate::args::{AgentArgs, AgentsArgs, Nats};
use crate::error::CliError;
use crate::exit::Exit;
use crate::leftovers;
use crate::printer::{Printer, log_line};

/// Interval of the check whether the agent should end.
const POLL: Duration = Duration::from_millis(100);

/// Makes the NATS server of the command line's options.
fn server_of(nats: &Nats) -> Server {
    Server { url: nats.nats.clone(), creds: nats.creds.clone(), ca: nats.ca.clone() }
}

/// Discards a line of the log.
fn log_nothing(_: &str) {}

/// Runs `etalon agent`.
pub fn run(args: &AgentArgs, printer: Printer) -> Result<Exit, CliError> {
    if !protocol::is_fit_name(&args.name) {
        return Err(CliError::user_error(format!("`{}` cannot be the name of an agent", args.name))
            .with_hint("a name has letters, digits, `-` and `_`, and is part of the subjects that it answers on"));
    }
    // A killed agent leaves servers and volumes.
    leftovers::offer_removal(leftovers::RemovalConsent::Ask, printer);
    // Thousands of clients need as many sockets; above the limit they are refused.
    let _ = host::limits::raise_open_files();
    let interrupt = host::interrupt::interrupt_flag(Exit::Interrupted.code(), "");
    let log = if printer.is_quiet() { log_nothing } else { log_line };
    let options = AgentOptions {
        allow: read_permits(args)?,
        listen: args.listen.clone(),
        reactor: reactor_choice(args.reactor),
        ..AgentOptions::new(server_of(&args.server), &args.name, log)
    };
    let agent = Agent::start(options, Registry::built_in())?;
    printer.print_note(&format!("agent {}: étalon {} serves", args.name, protocol::VERSION));
    while !interrupt.load(Ordering::Relaxed) {
        thread::sleep(POLL);
    }
    drop(agent);
    Ok(Exit::Done)
}

/// Reads from the options which addresses, servers and folders plans may use on this host.
fn read_permits(args: &AgentArgs) -> Result<NamedPermits, CliError> {
    let mut named = NamedPermits::default();
    for address in &args.allow {
        let is_folder = Path::new(address).is_dir();
        named
            .allow_address(address)
            .and_then(|()| if is_folder { Err(format!("`{address}` is a folder")) } else { Ok(()) })
            .map_err(|cause| {
                wrong_value(permits::ALLOW, &cause)
                    .with_hint("an address, as in `--allow db:5432`; a folder is `--allow-dir DIR`")
            })?;
    }
    for server in &args.allow_server {
        let (name, folder) =
            server.split_once('=').map_or((server.as_str(), None), |(name, folder)| (name, Some(folder)));
        let known = private_servers();
        if !known.contains(&name) {
            let cause = format!("étalon starts no servers of `{name}`");
            return Err(wrong_value(permits::ALLOW_SERVER, &cause)
                .with_hint(format!("it starts those of {}", known.join(", "))));
        }
        named.allow_server(name, folder.map(Path::new)).map_err(|cause| {
            wrong_value(permits::ALLOW_SERVER, &cause).with_hint("name the folder of the server's programs")
        })?;
    }
    for folder in &args.allow_dir {
        named
            .allow_folder(folder)
            .map_err(|cause| wrong_value(permits::ALLOW_DIR, &cause).with_hint("make the folder, or name another"))?;
    }
    if args.allow_any_login {
        named.allow_logins(Logins::Any);
    }
    Ok(named)
}

/// Makes the error for an option's value.
fn wrong_value(flag: &str, cause: &str) -> CliError {
    CliError::user_error(format!("{flag}: {cause}"))
}

/// Names of the servers that étalon can start.
fn private_servers() -> Vec<&'static str> {
    Registry::built_in().catalog().engines.iter().flat_map(|engine| engine.private_servers).copied().collect()
}

/// Runs `etalon agents`.
pub fn list_agents(args: &AgentsArgs, printer: Printer) -> Result<Exit, CliError> {
    let listed = fleet::list_agents(&server_of(&args.server))?;
    if printer.json {
        let agents: Vec<_> = listed.iter().map(agent_json).collect();
        printer
            .print_result(&json!({ "schema_version": 1, "version": protocol::VERSION, "agents": agents }).to_string());
    } else if listed.is_empty() {
        printer.print_note("no agent answers; start one on each host: `etalon agent --nats URL --name NAME`");
    } else {
        printer.print_result(&agents_text(&listed));
    }
    for one in listed.iter().filter(|one| is_of_other_version(one)) {
        let (name, version) = (&one.info.name, &one.info.version);
        printer.print_warning(&format!(
            "agent {name} is étalon {version}, this is étalon {}: no plan runs there",
            protocol::VERSION
        ));
    }
    Ok(if listed.iter().any(is_of_other_version) { Exit::BadAnswer } else { Exit::Done })
}

/// Whether an agent is of another version than this étalon.
fn is_of_other_version(one: &Listed) -> bool {
    one.info.version != protocol::VERSION
}

/// Writes an agent's facts and clock as JSON.
fn agent_json(one: &Listed) -> serde_json::Value {
    let info = &one.info;
    json!({
        "name": info.name,
        "version": info.version,
        "os": info.os,
        "cores": info.cores,
        "machine": info.machine,
        "allow": info.allow,
        "experiment": info.experiment,
        "round_trip_us": one.clock.map(|clock| clock.round_trip_ns as f64 / 1e3),
        "clock_offset_us": one.clock.map(|clock| clock.day_offset_ms as f64 * 1e3),
    })
}

/// Writes the table of agents, with each one's machine and permissions under it.
fn agents_text(listed: &[Listed]) -> String {
    let width = listed.iter().map(|one| one.info.name.len()).max().unwrap_or_default().max("agent".len());
    let of_version = listed.iter().map(|one| one.info.version.len()).max().unwrap_or_default().max("version".len());
    let mut text = format!(
        "{:width$}  {:of_version$}  {:8}  {:>5}  {:>10}  {:>14}\n",
        "agent", "version", "os", "cores", "round trip", "clock offset"
    );
    for Listed { info, clock } in listed {
        let (round_trip, offset) = match clock {
            Some(clock) => {
                let offset_s = clock.day_offset_ms as f64 / 1e3;
                (format!("{:.0} µs", clock.round_trip_ns as f64 / 1e3), format!("{offset_s:+.3} s"))
            }
            None => ("n/a".to_owned(), "n/a".to_owned()),
        };
        let _ = writeln!(
            text,
            "{:width$}  {:of_version$}  {:8}  {:>5}  {round_trip:>10}  {offset:>14}",
            info.name, info.version, info.os, info.cores
        );
        let reach = if info.allow.is_empty() { "nothing".to_owned() } else { info.allow.join(", ") };
        let _ = writeln!(text, "  {}; allows plans {reach}", info.machine);
        if let Some(experiment) = &info.experiment {
            let _ = writeln!(text, "  takes part in experiment {experiment}");
        }
    }
    text
}
