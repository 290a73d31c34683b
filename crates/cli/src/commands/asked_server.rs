//! The server that a verb asks about itself.

use conductor::Registry;
use model::SystemPlan;
use workloads::system::Engine;

use crate::args::{PlanSource, Question};
use crate::error::CliError;
use crate::source;

/// Finds the engine and the plan entry of a running server, by its URL.
///
/// # Errors
/// The URL is none, or étalon starts that server itself, so that it has executed nothing yet.
pub fn resolve_running_server(url: &str) -> Result<(&'static dyn Engine, SystemPlan), CliError> {
    let registry = Registry::built_in();
    let question = Question { what: vec![url.to_owned()], ..Question::default() };
    let plan = source::load_plan(&PlanSource { question, ..PlanSource::default() }, &registry, 0)?.plan;
    let system = plan.systems.first().ok_or_else(|| CliError::user_error("no system is named"))?;
    if system.server.is_some() {
        let message = format!("`{url}` is a server that étalon starts, which has executed nothing yet");
        return Err(CliError::user_error(message).with_hint("name a server that runs your statements by its URL"));
    }
    registry.resolve_system(system).map_err(|failure| CliError::from(&failure))
}
