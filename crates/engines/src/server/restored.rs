use super::private::Private;
use super::steps::Steps;
use super::system::{Purpose, Server, Settings as _, settings_on};
use load::error::Failure;
use workloads::backup::backups::Restored;
use workloads::session::{Session, SessionKind};

/// A private server on restored data.
pub(crate) struct RestoredServer<S: Server> {
    pub(crate) private: Private<S::Recipe>,
    pub(crate) endpoint: S::Endpoint,
}

impl<S: Server> Restored for RestoredServer<S> {
    /// Opens a session on the restored data; a failure has the server's log.
    fn open_session(&mut self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        let client =
            settings_on::<S>(&S::Session::default(), kind.tables()).open_session(&self.endpoint, Purpose::Load);
        let client = client.map_err(|failure| self.private.running.add_log_to_failure(failure))?;
        Ok(Box::new(Steps::new(client, S::DIALECT)))
    }

    /// Reads the CPU time that the restored server has used, in seconds.
    fn server_cpu_s(&self) -> Result<f64, String> {
        self.private.running.cpu_s()
    }

    /// Stops the restored server, and removes its folders.
    fn remove(mut self: Box<Self>) -> Result<(), Failure> {
        self.private.remove_server()
    }
}
