//! The control connection: prepares, counts, cleans up.

use std::time::Duration;

use super::dialogue::WireProtocol;
use super::refusal::ask_failure;
use super::system::{ClientOf, DatabaseClaim as _, Purpose, Server, Settings as _};
use crate::kept::{FENCE, Holder, Idle, KeptClaim, Rivals};
use load::error::Failure;
use workloads::system::Part;

/// How long the answer to a ping is waited for: longer than a busy server takes.
const PING_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Control<S: Server> {
    endpoint: S::Endpoint,
    kept: KeptClaim<Held<S>>,
}

struct Held<S: Server> {
    client: ClientOf<S>,
    /// Released on drop.
    claim: Option<S::Claim>,
}

impl<S: Server> Holder for Held<S> {
    /// Keeps the session and its claim alive; fails if either is lost.
    fn ping(&mut self) -> Result<(), Failure> {
        ping_server(&mut self.client)?;
        self.claim.as_mut().map_or(Ok(()), |claim| claim.ping(&mut self.client))
    }
}

/// Asks for the least that the server answers; fails if it does not answer in time.
pub(crate) fn ping_server<P: WireProtocol>(client: &mut super::dialogue::Client<P>) -> Result<(), Failure> {
    client.limit_time(PING_TIMEOUT);
    P::ping_server(client).map_err(|error| ask_failure("keep étalon's own session", &error))?;
    client.lift_limit();
    Ok(())
}

impl<S: Server> Control<S> {
    /// Makes a control connection that is not open yet; the claim is taken only for the part that prepares tables.
    pub(super) fn new(endpoint: S::Endpoint, session: S::Session, part: Part, idle: Idle) -> Control<S> {
        let idle = if part == Part::Whole { idle } else { Idle::Left };
        let to = endpoint.clone();
        let kept = KeptClaim::new(idle, move |rivals| connect_and_claim(&to, &session, part, rivals));
        Control { endpoint, kept }
    }

    /// Asks over the control session, after a reconnection if it was lost.
    pub(crate) fn ask<T>(
        &self,
        mut question: impl FnMut(&mut ClientOf<S>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.kept.ask_connection(|held| question(&mut held.client))
    }

    /// Releases the claim, and closes the session; the next question reconnects.
    pub(crate) fn close_session(&self) {
        self.kept.end_connection(|mut held| {
            S::Claim::release(&mut held.client);
            held.client.close_and_wait();
        });
    }

    /// Waits until an étalon must have noticed that it has lost its claim, and fails if another has the tables.
    /// So none works on what it left.
    pub(super) fn wait_out_rival(&self) -> Result<(), Failure> {
        std::thread::sleep(FENCE);
        self.kept.ask_connection(|held| S::Claim::check(&mut held.client, &self.endpoint))
    }

    /// Pings the claim, and takes it again if it was lost.
    pub(super) fn keep_claim(&self) -> Result<(), Failure> {
        self.kept.ask_connection(Holder::ping)
    }

    /// Returns how the claim was lost, since that was last forgotten.
    pub(crate) fn claim_loss(&self) -> Option<Failure> {
        self.kept.claim_loss_so_far()
    }

    /// Returns and forgets how the claim was lost.
    pub(crate) fn forget_claim_loss(&self) -> Option<Failure> {
        self.kept.forget_loss()
    }
}

/// Opens a control session, and takes the claim unless another étalon holds it for this one.
fn connect_and_claim<S: Server>(
    endpoint: &S::Endpoint,
    session: &S::Session,
    part: Part,
    rivals: Rivals,
) -> Result<Held<S>, Failure> {
    let mut client = session.open_session(endpoint, Purpose::Control)?;
    S::Claim::set_limits(&mut client).map_err(|error| ask_failure("set up étalon's own session", &error))?;
    let claim = match part {
        Part::Whole => Some(S::Claim::take(&mut client, endpoint, rivals)?),
        Part::Load => None,
    };
    Ok(Held { client, claim })
}
