//! `etalon sqlio`: a command line of SQLIO's, or a batch file of them, as an experiment.

use conductor::Registry;
use formats::sqlio::Wording;

use super::run::{fresh_seed, run_loaded};
use crate::args::{Conduct, PlanSource, Question, ResultFormat, RunArgs, SqlioArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::{source, sqlio};

/// Runs `etalon sqlio`.
pub fn run(args: SqlioArgs, printer: Printer) -> Result<Exit, CliError> {
    let registry = Registry::built_in();
    let mut wrapped = match &args.batch {
        Some(file) => sqlio::wrap_batch(file)?,
        None => sqlio::wrap_words(&args.words)?,
    };
    if args.analyzer {
        wrapped.called.wording = Wording::ForAnalyzer;
    }
    let format = if args.sqlio_exact { ResultFormat::Sqlio } else { ResultFormat::Text };
    let SqlioArgs { system, target, quick, set, .. } = args;
    let question = Question { system, ..Question::default() };
    let source = PlanSource { question, target, quick, set, ..PlanSource::default() };
    let loaded = source::load_sqlio(wrapped, &source, &registry, fresh_seed())?;
    let conduct = Conduct { yes: args.yes, task_log: None, loading: args.loading, format };
    let run = RunArgs { source, output: args.output, conduct };
    run_loaded(&loaded, &run, &registry, printer)
}
