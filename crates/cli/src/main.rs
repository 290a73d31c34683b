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
mod stamp;
mod task_log;

use std::process::ExitCode;

use clap::Parser as _;

/// Parses the command line, runs the verb, and exits with its code.
fn main() -> ExitCode {
    let cli = match args::Cli::try_parse_from(std::iter::once("etalon".into()).chain(args::last::process_arguments())) {
        Ok(cli) => cli,
        Err(error) => return print_parse_error(error),
    };
    let printer = printer::Printer::new(cli.color, cli.quiet, cli.json);
    let ended = commands::dispatch(cli.command, printer);
    let lost = printer.take_lost();
    let exit = match (&ended, &lost) {
        (_, Some(lost)) => lost.exit,
        (Err(error), None) => error.exit,
        (Ok(exit), None) => *exit,
    };
    let refused = ended.err().map(args::guessed::answer_unknown_word);
    refused.iter().chain(&lost).for_each(|error| printer.print_error(error));
    exit.into()
}

/// Prints help or the version to stdout, or to stderr what is wrong with the arguments; returns the exit code.
fn print_parse_error(error: clap::Error) -> ExitCode {
    let printer = printer::Printer::new(args::Color::Auto, false, false);
    let error = match args::guessed::suggest_line(&args::guessed::process_arguments(), error) {
        Ok(answer) => {
            printer.print_error(&answer);
            return answer.exit.into();
        }
        Err(error) => error,
    };
    if error.use_stderr() {
        printer.print_always(error.render().to_string().trim_end());
        return exit::Exit::UserError.into();
    }
    let styled = error.render();
    printer.print_coloured(&if printer.color_out { styled.ansi().to_string() } else { styled.to_string() });
    match printer.take_lost() {
        None => exit::Exit::Done.into(),
        Some(lost) => {
            printer.print_error(&lost);
            lost.exit.into()
        }
    }
}
