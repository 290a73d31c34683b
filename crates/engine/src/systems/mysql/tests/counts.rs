//! The server's counts against the load's claims.

use super::*;
use crate::run::suite::{counts_agree, delegate_to_target, lies_are_caught, new_connections_are_not_counted};
use crate::systems::server::counted::tests::Lying;

struct Lies<'a>(&'a MySqlTarget);

impl Target for Lies<'_> {
    delegate_to_target!();

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let MySqlTarget { session, endpoint, reactor, .. } = self.0;
        let (session, endpoint) = (session.clone(), endpoint.clone());
        let program = load.statements()?;
        let (statements, question) = self.0.asking(program)?;
        let first = |_| session.open_lane(&endpoint, &statements).map_err(|error| error.failure(&endpoint));
        let opened = context.connect(1, first)?;
        let anew = move || session.open_lane(&endpoint, &statements).map_err(|error| error.op_error(&endpoint));
        let lane = Lying::new(NativeLane::new(*reactor, opened, Arc::new(anew))?, 30);
        worker::run(Counted::new(lane, question, program, &context)?, program, &RealClock, context)
    }
}

#[test]
fn the_server_counts_what_the_client_claims() {
    let server = start(Connect::Socket, &[]);
    counts_agree(&server, &["prepared", "simple"]);
    new_connections_are_not_counted(&server);
    lies_are_caught(&Lies(&server), &["prepared"]);
    server.drop_all().unwrap();
}
