//! Arguments of `etalon capture` and `etalon show`.

use std::path::PathBuf;

use clap::Args;

/// `etalon capture`.
#[derive(Args, Clone, Debug)]
pub struct CaptureArgs {
    /// Logs of one server, of one form: PostgreSQL's `csvlog`, `jsonlog` or text, or a slow log of MySQL or MariaDB
    ///
    /// Their order does not matter; they may be packed by gzip or Zstandard
    #[arg(value_name = "LOG", required_unless_present = "how")]
    pub logs: Vec<PathBuf>,
    /// Show how this server's log of statements is switched on, and off again; its settings are read and not changed
    #[arg(long, value_name = "URL", conflicts_with_all = ["logs", "output", "log_line_prefix", "redact"])]
    pub how: Option<String>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "server.capture")]
    pub output: PathBuf,
    /// `log_line_prefix` of the server, for logs in text form; usual ones are recognised
    #[arg(long, value_name = "PREFIX")]
    pub log_line_prefix: Option<String>,
    /// Replace all values in the file, equal ones by equal ones: such a capture can be shown
    #[arg(long)]
    pub redact: bool,
}

/// `etalon show`.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// The name of a built-in plan, a script, a workload or an engine, as `list` has it, a store, or a capture; `plan:NAME`,
    /// `script:NAME`, `smack:NAME`, `workload:NAME` and `engine:NAME` tell things of one name apart
    pub what: String,
}
