//! The command as a user meets it: arguments in; exit code, stdout and stderr out.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod action;
mod apart;
mod ask;
mod audit;
mod bad_input;
mod before_after;
mod beside;
mod capacity;
mod capture;
mod cipher;
mod disk;
mod documents;
mod exclusion;
mod export;
mod extend;
mod families;
mod foreseen;
mod glance;
#[path = "../../../report/tests/shared/golden.rs"]
mod golden;
mod goldens;
mod guesses;
mod held_back;
mod history;
mod import;
mod in_step;
mod interruption;
mod kept;
mod kills;
mod leftovers;
mod limits;
mod loads;
mod long_loads;
mod names;
mod others;
mod outputs;
mod own_backup;
mod own_limits;
mod power;
mod published;
mod queries;
mod query_bars;
#[path = "../../../conductor/tests/shared/releases.rs"]
mod releases;
mod remedies;
mod remembered;
mod replay;
mod replay_bars;
mod replay_mysql;
mod reset;
mod results;
mod row_locks;
mod rows;
mod scene;
#[path = "../../../conductor/tests/shared/server.rs"]
mod server;
mod server_changes;
mod silence;
#[path = "../../../conductor/tests/shared/slow.rs"]
mod slow;
mod smack;
mod sqlio;
mod terminal;
mod tools;
mod unlike;
mod until_sure;
mod verdicts;
mod watch;
