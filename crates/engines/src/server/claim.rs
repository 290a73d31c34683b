//! Étalon's claim on what it makes on a server.

use super::dialogue::{AskError, Client, WireProtocol};
use crate::kept::Rivals;
use load::error::Failure;

/// Étalon's on its own tables, released on drop: two processes that load and drop the same tables would spoil each
/// other's runs.
pub(crate) trait DatabaseClaim: Sized + Send + 'static {
    type Protocol: WireProtocol;
    type Endpoint;

    /// Sets the control session's limits: no time-outs, and a bounded wait for other sessions' locks.
    fn set_limits(client: &mut Client<Self::Protocol>)
    -> Result<(), AskError<<Self::Protocol as WireProtocol>::Error>>;

    /// Claims étalon's tables at the endpoint for this session; `rivals` says how to meet another étalon's claim.
    fn take(client: &mut Client<Self::Protocol>, endpoint: &Self::Endpoint, rivals: Rivals) -> Result<Self, Failure>;

    /// Fails if another étalon has claimed the same tables since [`DatabaseClaim::take`].
    fn check(_client: &mut Client<Self::Protocol>, _endpoint: &Self::Endpoint) -> Result<(), Failure> {
        Ok(())
    }

    /// Keeps the claim's own session alive, and fails if the claim is lost.
    /// Takes over the claim that another system of this process held, if the server does not know any more who did. `client`
    /// is the session that took it.
    ///
    /// # Errors
    /// The claim is lost.
    fn ping(&mut self, _client: &mut Client<Self::Protocol>) -> Result<(), Failure> {
        Ok(())
    }

    /// Gives up the claim before its session is closed.
    fn release(_client: &mut Client<Self::Protocol>) {}
}
