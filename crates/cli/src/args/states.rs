//! What makes two systems of one: a change that is undone, or settings.

use clap::Args;

use super::heading;

/// Both states of the one server that is named.
#[derive(Args, Clone, Debug, Default)]
pub struct States {
    /// Statement that changes the one server that is named: it is compared before and after
    ///
    /// A file of statements will do. Étalon makes the change before runs of `after`, and undoes it before those of `before`
    #[arg(long, value_name = "SQL|FILE", help_heading = heading::SYSTEMS)]
    pub change: Vec<String>,
    /// Statement that undoes `--change`, or a file of them
    #[arg(long, value_name = "SQL|FILE", help_heading = heading::SYSTEMS)]
    pub undo: Vec<String>,
    /// Setting of side A: the one system that is named is compared under two settings
    ///
    /// A server that étalon did not start has it in étalon's own sessions alone. Without `--set-a`, A is the system as it is; of two
    /// systems A is the first
    #[arg(long, value_name = "NAME=VALUE", help_heading = heading::SYSTEMS)]
    pub set_a: Vec<String>,
    /// Setting of side B
    #[arg(long, value_name = "NAME=VALUE", help_heading = heading::SYSTEMS)]
    pub set_b: Vec<String>,
}

impl States {
    /// Whether `--change` or `--undo` is given.
    pub fn has_change(&self) -> bool {
        !(self.change.is_empty() && self.undo.is_empty())
    }

    /// Whether `--set-a` or `--set-b` is given.
    pub fn has_settings(&self) -> bool {
        !(self.set_a.is_empty() && self.set_b.is_empty())
    }
}
