//! The control connection: prepares, counts, cleans up.

use super::refusal::failure;
use super::system::{Claim as _, ClientOf, Purpose, Server, Settings as _};
use crate::kept::KeptConnection;
use families::system::Part;
use load::error::Failure;

pub(crate) struct Control<S: Server> {
    endpoint: S::Endpoint,
    session: S::Session,
    part: Part,
    kept: KeptConnection<Held<S>>,
}

struct Held<S: Server> {
    client: ClientOf<S>,
    /// Released on drop.
    _claim: Option<S::Claim>,
}

impl<S: Server> Control<S> {
    pub(super) fn new(endpoint: S::Endpoint, session: S::Session, part: Part) -> Control<S> {
        Control { endpoint, session, part, kept: KeptConnection::none() }
    }

    pub(crate) fn ask<T>(
        &self,
        mut question: impl FnMut(&mut ClientOf<S>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.kept.ask(|| self.connect(), |held| question(&mut held.client))
    }

    /// Releases the claim, too. The next question reconnects.
    pub(crate) fn close(&self) {
        self.kept.end(|mut held| {
            S::Claim::release(&mut held.client);
            held.client.close();
        });
    }

    fn connect(&self) -> Result<Held<S>, Failure> {
        let mut client = self.session.open(&self.endpoint, Purpose::Control)?;
        S::Claim::set_limits(&mut client).map_err(|error| failure("set up étalon's own session", &error))?;
        let claim = match self.part {
            Part::Whole => Some(S::Claim::take(&mut client, &self.endpoint)?),
            Part::Load => None,
        };
        Ok(Held { client, _claim: claim })
    }
}
