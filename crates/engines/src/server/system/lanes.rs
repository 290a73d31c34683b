//! The lanes of a server's load: a worker's sessions, with the statements that they run.

use std::sync::Arc;

use super::{ClientOf, LaneOf, Server, ServerSystem, Settings as _, prepared};
use crate::server::counted::{Counted, CountsQuery};
use crate::server::dialogue::NativeLane;
use crate::server::refusal::Explain as _;
use crate::server::system::Purpose;
use load::clock::RealClock;
use load::error::Failure;
use load::worker::{self, LOGINS_AT_ONCE, LoadCounts, WorkerContext};
use workloads::dataset::Tables;
use workloads::session::SessionKind;
use workloads::transactions::Program;
use workloads::work::Load;

pub(crate) fn session_on<S: Server>(session: &S::Session, tables: Tables) -> S::Session {
    match tables {
        Tables::Own => session.clone(),
        Tables::None => session.on_tables_of_others(),
    }
}

impl<S: Server> ServerSystem<S> {
    pub(crate) fn session_on(&self, tables: Tables) -> S::Session {
        session_on::<S>(&self.session, tables)
    }

    /// A session like a run's.
    pub(crate) fn client(&self) -> Result<ClientOf<S>, Failure> {
        self.client_for(SessionKind::Plain)
    }

    pub(crate) fn client_for(&self, kind: SessionKind) -> Result<ClientOf<S>, Failure> {
        self.session_on(kind.tables()).open(&self.endpoint, Purpose::Load).map_err(|failure| self.explain(failure))
    }

    /// A session of a run, after it has said which settings it has and of which instance it is.
    pub(crate) fn run_client(&self, kind: SessionKind) -> Result<ClientOf<S>, Failure> {
        let mut client = self.client_for(kind)?;
        self.note_settings(&mut client);
        Ok(client)
    }

    /// Texts of a program's statements, in its own words.
    pub(crate) fn texts(&self, program: &Program) -> Vec<String> {
        program.statements().iter().map(|statement| statement.sql(S::DIALECT)).collect()
    }

    pub(crate) fn lane(
        &self,
        program: &Program,
        context: &mut WorkerContext<'_>,
    ) -> Result<(LaneOf<S>, Option<CountsQuery>), Failure> {
        S::refuse_program(self, program)?;
        let (statements, question) = S::statements(self, program)?;
        let (endpoint, session) = (self.endpoint.clone(), self.session_on(program.tables));
        let opened = context.connect(LOGINS_AT_ONCE, |number, aside_ns| {
            let opened = session.try_open(&endpoint, Purpose::Load).and_then(|mut client| {
                let began_ns = host::clock::now_ns();
                // All have the settings of one; but a balancer may give each another server.
                if number == 0 {
                    self.note_settings(&mut client);
                } else {
                    self.load_settings.note(S::instance(&mut client));
                }
                *aside_ns = host::clock::now_ns().saturating_sub(began_ns);
                prepared(client, &statements)
            });
            opened.map_err(|error| self.explain(error.failure(&endpoint)))
        })?;
        let lane = NativeLane::new(
            self.reactor,
            opened,
            Arc::new(move || session.open_lane(&endpoint, &statements).map_err(|error| error.op_error(&endpoint))),
        )?;
        Ok((lane.heeding(self.endpoint.waiting().clone()), question))
    }

    /// Reads the settings of a load's session. What the server refuses to tell is not known.
    fn note_settings(&self, client: &mut ClientOf<S>) {
        let mut noted = S::load_settings(client).unwrap_or_default();
        noted.entries.extend(S::instance(client).entries);
        self.load_settings.note(noted);
    }

    /// Runs a worker's part of a run.
    pub(super) fn work(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        match self.lane(program, &mut context)? {
            (lane, None) => {
                let mut counts = worker::run(lane, program, &RealClock, context)?;
                if let Some(reason) = S::why_uncounted(self) {
                    counts.sessions = Some(Err(reason));
                }
                Ok(counts)
            }
            (lane, Some(question)) => {
                let waiting = self.endpoint.waiting().clone();
                let lane = Counted::new(lane, question, program, &context, waiting)?;
                worker::run(lane, program, &RealClock, context)
            }
        }
    }
}
