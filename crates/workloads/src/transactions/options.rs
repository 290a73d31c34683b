use crate::dataset::Tables;
use load::stream::Retry;

use super::program::Protocol;

/// What `\shell` and `\setshell` may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// A script that has them is refused.
    #[default]
    Refused,
    /// They run commands as the user: only for scripts that the user trusts.
    Allowed,
}

/// How to treat a variable that nothing sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unset {
    /// An error when the script is compiled.
    #[default]
    Refused,
    /// The variable is NULL as a parameter and is left alone in a text, as in pgbench.
    Accepted,
}

/// Where the lines of `debug(x)` go; nowhere by default, since this crate prints nothing.
pub type Debug = Option<fn(&str)>;

#[derive(Clone, Debug)]
pub struct ScriptOptions {
    /// The value of `:scale`, unless it is defined.
    pub scale: i64,
    /// Variables with their texts, as from `-D name=value`.
    pub definitions: Vec<(String, String)>,
    /// On all hosts: pgbench draws one seed for each before all others.
    pub clients: u32,
    pub shell: Shell,
    pub unset: Unset,
    pub protocol: Protocol,
    pub debug: Debug,
    pub retry: Retry,
    pub tables: Tables,
    /// Transactions that a client sends before it waits for the first; 1 is no pipeline.
    pub depth: u32,
}

impl Default for ScriptOptions {
    fn default() -> ScriptOptions {
        ScriptOptions {
            scale: 1,
            definitions: Vec::new(),
            clients: 1,
            shell: Shell::default(),
            unset: Unset::default(),
            protocol: Protocol::default(),
            debug: None,
            retry: Retry::default(),
            tables: Tables::default(),
            depth: 1,
        }
    }
}
