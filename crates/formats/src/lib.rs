//! Languages and files of other benchmark tools, read and written.
//!
//! No I/O: text or a reader in, values out. Each reader gives the tool's own figures in a type of its own, and by
//! `import` the neutral [`Imported`], which [`into_experiment`] turns into a plan with run records, so that a published
//! result is compared, drawn and exported like one of étalon's own.
//!
//! Three rules hold for every reader:
//!
//! 1. **No input makes it panic**, and none makes it use more memory than its text has, a log far less: logs are read
//!    line by line, and a line that is too long is an error.
//! 2. **What is not understood is said**, with its line: it is never skipped in silence and never taken for a figure.
//! 3. **What the file does not say is unknown**, not a default: [`Imported::unknown`] lists it.
//!
//! | module | reads | writes |
//! |---|---|---|
//! | [`sqlio`] | command lines, parameter files, batch scripts, outputs | parameter files, outputs to the letter |
//! | [`task_log`] | task logs of the published C# client for PostgreSQL | the same |
//! | [`pgbench`] | per-transaction logs, aggregated logs, printed summaries | – |
//! | [`sysbench`] | printed summaries, with histogram and progress | – |
//! | [`fio`] | `--output-format=json` and `json+`, text, terse lines | – |
//! | [`hammerdb`] | results and timings of jobs, saved reports, the console, the job store | – |
//! | [`readers`] | what other tools print at their end, a file each | – |
//! | [`tidy`] | tidy CSV | the same |
//! | [`tidy::wide`] | CSV with a column for each metric or system | – |
//!
//! [`reader::READERS`] lists them all; [`recognise`] asks them about a text.

#![forbid(unsafe_code)]

mod between;
mod captions;
pub mod capture;
mod clean;
mod contradiction;
pub mod copies;
pub mod dimension;
pub mod durations;
pub mod error;
pub mod experiment;
pub mod exported;
pub mod fio;
pub mod hammerdb;
mod heads;
pub mod imported;
mod lengths;
pub mod limited;
mod lines;
pub mod loads;
pub mod logs;
pub mod packed;
mod page;
pub mod pgbench;
pub mod places;
pub mod reader;
pub mod readers;
pub mod recognise;
mod resolve;
mod secrets;
mod sections;
mod size;
pub mod sqlio;
pub mod sysbench;
pub mod task_log;
pub mod text;
pub mod tidy;
pub mod versions;

pub use between::{Counting, without_numbers_of_runs};
pub use captions::is_number_of_run;
pub use error::FormatError;
pub use experiment::{Experiment, into_experiment};
pub use exported::{ExportedBenchmark, ExportedRules, Repetitions};
pub use imported::{Imported, ImportedResult};
pub use reader::{Options, Reader};
pub use text::NotUnderstood;
