//! Copies of loaded tables that a server keeps itself, where étalon did not start it.

use std::convert::Infallible;
use std::marker::PhantomData;

use model::Reset;

use load::error::Failure;
use workloads::system::OpenRequest;

/// A copy that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptCopy {
    pub(crate) number: usize,
    pub(crate) bytes: u64,
}

/// Copies of the data of one system.
pub(crate) trait Copies: Sized + Send + Sync + 'static {
    type Endpoint;
    type Session;

    /// Ways to bring tables back, besides those of every server.
    const OFFERS: &'static [Reset];
    /// Why there are no others.
    const NO_OTHERS: &'static str = "étalon copies the data only of a server that it has started itself";
    /// What étalon makes for them and drops.
    const ROOM: &'static str;

    /// Claims the place for étalon's tables, empties it of leftovers, and leads `session` there.
    /// `None`: the plan asks for no copies, or others make the tables.
    ///
    /// # Errors
    /// Another étalon is there, things of others are in the way, or the login may not make the place.
    fn open(
        endpoint: &Self::Endpoint,
        session: &mut Self::Session,
        request: &OpenRequest<'_>,
    ) -> Result<Option<Self>, Failure>;

    /// Says what a reader must know of a way to bring tables back.
    fn explain_reset(&self, reset: Reset) -> String;

    /// Removes what is left of copies of other tables, before a load.
    fn remove_old_copies(&self) -> Result<(), Failure>;

    /// Keeps a copy of the tables that are there, and returns its number and size.
    /// The tables may be gone until [`Copies::bring_back`], and so may other copies.
    fn keep_copy(&self) -> Result<KeptCopy, Failure>;

    /// Puts the tables of a copy in place of those that are there.
    ///
    /// # Errors
    /// [`FailureKind::Missing`](load::error::FailureKind::Missing): the copy is gone.
    fn bring_back(&self, copy: KeptCopy, reset: Reset) -> Result<(), Failure>;

    /// Measures what the copies weigh by now that had `kept_bytes` when they were kept; 0 if unknown.
    fn weigh_copies(&self, kept_bytes: u64) -> u64 {
        kept_bytes
    }

    /// Fails unless the server answers, even in the midst of a copy that failed.
    fn ask_for_life(&self) -> Result<(), Failure>;

    /// Returns how the claim was lost, since that was last forgotten.
    fn claim_loss(&self) -> Option<Failure> {
        None
    }

    /// Takes the claim again if it was lost; returns how it was lost, which is forgotten.
    fn retake_copies_claim(&self) -> Result<Option<Failure>, Failure> {
        Ok(None)
    }

    /// Removes all that was made for the copies, and gives up the claim.
    fn remove_all(&self) -> Result<(), Failure>;
}

/// Copies of an engine that keeps none.
pub(crate) struct NoCopies<E, S>(Infallible, PhantomData<fn() -> (E, S)>);

impl<E: 'static, S: 'static> Copies for NoCopies<E, S> {
    type Endpoint = E;
    type Session = S;

    const OFFERS: &'static [Reset] = &[];
    const ROOM: &'static str = "";

    /// Returns `None`: the engine keeps no copies.
    fn open(_endpoint: &E, _session: &mut S, _request: &OpenRequest<'_>) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    /// Is never called: no value exists.
    fn explain_reset(&self, _reset: Reset) -> String {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn remove_old_copies(&self) -> Result<(), Failure> {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn keep_copy(&self) -> Result<KeptCopy, Failure> {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn bring_back(&self, _copy: KeptCopy, _reset: Reset) -> Result<(), Failure> {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn ask_for_life(&self) -> Result<(), Failure> {
        match self.0 {}
    }

    /// Is never called: no value exists.
    fn remove_all(&self) -> Result<(), Failure> {
        match self.0 {}
    }
}
