//! The server's counts against the load's claims.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

use super::*;
use crate::run::suite::{
    counts_agree, delegate_to_target, lies_are_caught, new_connections_are_not_counted,
    sessions_elsewhere_are_not_counted,
};
use crate::systems::server::counted::tests::Lying;

struct Lies<'a>(&'a PostgresTarget);

impl Target for Lies<'_> {
    delegate_to_target!();

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
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

/// A proxy that hands out its own session numbers, like a pooler.
fn proxy(port: u16) -> u16 {
    const KEY: &[u8] = b"K\0\0\0\x0c";
    fakes::listen(move |mut client| {
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(std::net::Shutdown::Write);
        });
        thread::spawn(move || {
            let (mut bytes, mut is_let_in) = (vec![0; 1 << 16], false);
            while let Ok(count @ 1..) = server.read(&mut bytes) {
                let key = bytes[..count].windows(KEY.len()).position(|part| part == KEY);
                if let (false, Some(at)) = (is_let_in, key) {
                    bytes[at + KEY.len() + 3] ^= 1;
                    is_let_in = true;
                }
                if client.write_all(&bytes[..count]).is_err() {
                    return;
                }
            }
            let _ = client.shutdown(std::net::Shutdown::Write);
        });
    })
}

#[test]
fn sessions_behind_a_proxy_are_not_counted() {
    let server = start(Connect::Tcp, &[]);
    let address = &server.endpoint.address;
    let (user, database) = (&address.user, &address.database);
    let by_proxy = Address::plain("127.0.0.1", proxy(address.port), user, database, address.password.as_deref());
    let target = made(Endpoint::new(by_proxy).unwrap(), None);
    sessions_elsewhere_are_not_counted(&target);
    target.drop_all().unwrap();
}
