//! One file for each verb.

mod agent;
mod asked_server;
mod audit;
mod barrel;
mod capture;
mod capture_how;
mod changes;
mod compare;
mod doctor;
mod export;
mod extend;
mod gate;
mod history;
pub mod import;
mod init;
mod list;
mod named;
mod pilot;
pub mod plan;
mod plan_warnings;
mod queries;
pub mod report;
mod resume;
mod run;
mod schema;
mod show;
pub mod show_capture;
mod sqlio;
mod watch;

use clap::CommandFactory as _;

use crate::args::{Cli, Command};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

/// Runs a verb.
pub fn dispatch(command: Command, printer: Printer) -> Result<Exit, CliError> {
    match command {
        Command::Run(args) | Command::Capacity(args) => run::run(&args, printer),
        Command::Init(args) => init::run(&args, printer),
        Command::Resume(args) => resume::run(&args, printer),
        Command::Extend(args) => extend::run(&args, printer),
        Command::Watch(args) => watch::run(&args, printer),
        Command::Agent(args) => agent::run(&args, printer),
        Command::Agents(args) => agent::list_agents(&args, printer),
        Command::Plan(args) => plan::run(&args, printer),
        Command::Queries(args) => queries::run(&args, printer),
        Command::Sqlio(args) => sqlio::run(args, printer),
        Command::Capture(args) => capture::run(&args, printer),
        Command::Compare(args) => compare::run(&args, printer),
        Command::Gate(args) => gate::run(&args, printer),
        Command::History(args) => history::run(&args, printer),
        Command::Import(args) => import::run(&args, printer),
        Command::Export(args) => export::run(&args, printer),
        Command::Audit(args) => audit::run(&args, printer),
        Command::Report(args) => report::run(&args, printer),
        Command::List(args) => list::run(&args, printer),
        Command::Show(args) => show::run(&args, printer),
        Command::Doctor(args) => doctor::run(&args, printer),
        Command::Schema(args) => schema::run(&args, printer),
        Command::Completions(args) => {
            let mut text = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "etalon", &mut text);
            printer.print_result(&String::from_utf8_lossy(&text));
            Ok(Exit::Done)
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut text)
                .map_err(|error| CliError::could_not_run(format!("cannot write the manual page: {error}")))?;
            printer.print_result(&String::from_utf8_lossy(&text));
            Ok(Exit::Done)
        }
    }
}
