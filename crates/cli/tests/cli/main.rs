//! The command as a user meets it: arguments in; exit code, stdout and stderr out.

mod bad_input;
mod interruption;
mod results;
mod scene;
mod verdicts;
