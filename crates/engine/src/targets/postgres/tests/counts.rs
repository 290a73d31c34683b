//! What the server counts, held against what a load claims.

use super::*;
use crate::lanes::counted::tests::Lying;
use crate::trial::suite::{counts_agree, delegate_to_target, lies_are_caught, new_connections_are_not_counted};

/// A server whose lanes lie.
struct Lies<'a>(&'a PostgresTarget);

impl Target for Lies<'_> {
    delegate_to_target!();

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let program = load.statements()?;
        let lane = Lying::new(self.0.lane(program, &mut context)?, 30);
        let lane = Counted::new(lane, counters::OF_SESSION, program, &context)?;
        worker::run(lane, program, &RealClock, context)
    }
}

#[test]
fn the_server_counts_what_the_client_claims() {
    let server = start(Connect::Socket, &[]);
    counts_agree(&server, &["prepared", "extended", "simple"]);
    new_connections_are_not_counted(&server);
    lies_are_caught(&Lies(&server), &["prepared"]);
    server.drop_all().unwrap();
}
