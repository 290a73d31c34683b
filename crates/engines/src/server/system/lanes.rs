//! The lanes of a server's load: a worker's sessions, with the statements that they run.

use std::sync::Arc;

use super::{ClientOf, LaneOf, Server, ServerSystem, Settings as _, prepare_statements_on};
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

/// Makes a session's settings for étalon's tables or for those of others.
pub(crate) fn settings_on<S: Server>(session: &S::Session, tables: Tables) -> S::Session {
    match tables {
        Tables::Own => session.clone(),
        Tables::None => session.on_tables_of_others(),
    }
}

impl<S: Server> ServerSystem<S> {
    /// Makes the plan's session settings for étalon's tables or for those of others.
    pub(crate) fn session_settings_for(&self, tables: Tables) -> S::Session {
        settings_on::<S>(&self.session, tables)
    }

    /// Opens a session like a run's.
    pub(crate) fn open_client(&self) -> Result<ClientOf<S>, Failure> {
        self.open_client_for(SessionKind::Plain)
    }

    /// Opens a session like a run's of this kind.
    pub(crate) fn open_client_for(&self, kind: SessionKind) -> Result<ClientOf<S>, Failure> {
        self.session_settings_for(kind.tables())
            .open_session(&self.endpoint, Purpose::Load)
            .map_err(|failure| self.explain_failure(failure))
    }

    /// Opens a session like a run's, and notes its settings and which instance it is of.
    pub(crate) fn run_client(&self, kind: SessionKind) -> Result<ClientOf<S>, Failure> {
        let mut client = self.open_client_for(kind)?;
        self.note_settings(&mut client);
        Ok(client)
    }

    /// Writes a program's statements in the engine's own words.
    pub(crate) fn statement_texts(&self, program: &Program) -> Vec<String> {
        program.statements().iter().map(|statement| statement.sql_text(S::DIALECT)).collect()
    }

    /// Opens a worker's lane, and returns it with the query for the counts of its sessions.
    pub(crate) fn open_lane(
        &self,
        program: &Program,
        context: &mut WorkerContext<'_>,
    ) -> Result<(LaneOf<S>, Option<CountsQuery>), Failure> {
        S::refuse_program(self, program)?;
        let (statements, question) = S::statements(self, program)?;
        let (endpoint, session) = (self.endpoint.clone(), self.session_settings_for(program.tables));
        let opened = context.connect_all(LOGINS_AT_ONCE, |number, aside_ns| {
            let opened = session.try_open(&endpoint, Purpose::Load).and_then(|mut client| {
                if number == 0 {
                    let began_ns = host::clock::now_ns();
                    self.note_settings(&mut client);
                    *aside_ns = host::clock::now_ns().saturating_sub(began_ns);
                }
                prepare_statements_on(client, &statements)
            });
            opened.map_err(|error| self.explain_failure(error.to_failure(&endpoint)))
        })?;
        let lane = NativeLane::new(
            self.reactor,
            opened,
            Arc::new(move || session.open_lane(&endpoint, &statements).map_err(|error| error.to_op_error(&endpoint))),
        )?;
        Ok((lane.with_waiting(self.endpoint.waiting().clone()), question))
    }

    /// Reads and notes the settings of a load's session, unless the server refuses to say them.
    fn note_settings(&self, client: &mut ClientOf<S>) {
        if let Ok(settings) = S::read_load_settings(client) {
            self.load_settings.note_settings(settings);
        }
    }

    /// Runs a worker's part of a run, with its sessions counted if the server can.
    pub(super) fn run_worker(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        match self.open_lane(program, &mut context)? {
            (lane, None) => {
                let mut counts = worker::run_worker(lane, program, &RealClock, context)?;
                if let Some(reason) = S::why_uncounted(self) {
                    counts.sessions = Some(Err(reason));
                }
                Ok(counts)
            }
            (lane, Some(question)) => {
                let waiting = self.endpoint.waiting().clone();
                let lane = Counted::new(lane, question, program, &context, waiting)?;
                worker::run_worker(lane, program, &RealClock, context)
            }
        }
    }
}
