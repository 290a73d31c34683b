//! The `etalon` command.

#![forbid(unsafe_code)]

mod args;
mod ask;
mod commands;
mod error;
mod exit;
mod judge;
mod leftovers;
mod output;
mod printer;
mod progress;
mod results;
mod smack;
mod source;
mod sqlio;
mod task_log;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let printer = printer::Printer::new(cli.color, cli.quiet, cli.json);
    match commands::dispatch(cli.command, printer) {
        Ok(exit) => exit.into(),
        Err(error) => {
            printer.error(&error);
            error.exit.into()
        }
    }
}
