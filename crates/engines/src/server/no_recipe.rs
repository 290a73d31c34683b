//! What stands for a recipe where étalon starts no servers.

use std::convert::Infallible;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::Path;

use load::error::{Failure, FailureKind};
use model::Facts;
use model::plan::PrivateServer;
use workloads::system::OpenRequest;

use super::private::{Habits, Private, Recipe};

/// The recipe of an engine whose servers étalon does not start: there is none.
pub(crate) struct NoRecipe<E>(Infallible, PhantomData<E>);

impl<E: Send + 'static> Recipe for NoRecipe<E> {
    type Endpoint = E;

    /// Fails: étalon does not start servers of this engine.
    fn start_server(server: &PrivateServer, _request: &OpenRequest<'_>) -> Result<(Private<Self>, E), Failure> {
        let cause = "étalon does not start servers of this engine";
        Err(Failure::new(FailureKind::Unsupported, format!("start a private server of `{}`", server.engine), cause))
    }

    /// Is never called: no value exists.
    fn habits(&self) -> Habits {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn try_login(&self, _endpoint: &E) -> Result<(), Failure> {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn unplanned_settings(&self, _endpoint: &E, _data: &Path, _arguments: &[OsString]) -> Result<Vec<String>, Failure> {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn explain_log(&self, _log: &str) -> Failure {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn add_facts(&self, _facts: &mut Facts) {
        match self.0 {}
    }
}
