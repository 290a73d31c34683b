//! A queueing model on virtual time, to run the whole command deterministically without a server.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::marker::PhantomData;
use std::rc::Rc;

use load::clock::Clock;
use load::lane::{Completion, ErrorClass, Lane, OpError, OpOutcome, SessionCounts, Submitted, connection_lost};
use load::rng::Rng;

#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The mean service time.
    pub service_us: f64,
    /// Coefficient of variation: 0 is constant, 1 the usual spread.
    pub spread: f64,
    /// Concurrent statements; others queue.
    pub servers: usize,
    /// Standard deviation of the logarithm of a run's speed.
    pub noise: f64,
    pub drift: f64,
    /// Time of the stall, within the run.
    pub stall_at_ms: u64,
    pub stall_ms: u64,
    pub connect_us: f64,
    /// Time to recover a client.
    pub rollback_us: f64,
    /// Share of failing statements.
    pub errors: f64,
    /// Whether the stall loses every connection instead.
    pub connection_loss: ConnectionLoss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionLoss {
    Never,
    /// All connections at `stall_at_ms`.
    AtStall,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            service_us: 200.0,
            spread: 1.0,
            servers: 4,
            noise: 0.01,
            drift: 0.0,
            stall_at_ms: 0,
            stall_ms: 0,
            connect_us: 1_000.0,
            rollback_us: 0.0,
            errors: 0.0,
            connection_loss: ConnectionLoss::Never,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    /// Sets the clock forward to an instant.
    fn wait_until(&self, instant_ns: u64) {
        self.0.set(self.0.get().max(instant_ns));
    }

    /// Returns the virtual time now: the machine's clock does not matter.
    fn local_instant_ns(&self, _machine_ns: u64) -> u64 {
        self.now_ns()
    }
}

#[derive(Debug)]
pub struct SimLane<Op> {
    model: Model,
    /// This run's.
    pace: f64,
    clock: VirtualClock,
    rng: Rng,
    /// Time at which each server is free.
    free_ns: BinaryHeap<Reverse<u64>>,
    /// Instant, client, failure.
    ends: BinaryHeap<Reverse<(u64, usize, bool)>>,
    op: PhantomData<Op>,
}

impl<Op> SimLane<Op> {
    /// Makes a lane in a simulated server, in which all is random only by `seed`.
    pub fn new(model: Model, seed: u64, clock: VirtualClock) -> SimLane<Op> {
        let mut rng = Rng::new(seed);
        let pace = (model.noise * rng.normal()).exp();
        let free_ns = (0..model.servers.max(1)).map(|_| Reverse(0)).collect();
        SimLane { model, pace, clock, rng, free_ns, ends: BinaryHeap::new(), op: PhantomData }
    }

    /// Draws the service time in ns of a statement that starts at `at_ns`.
    /// Gamma-like: a constant and an exponential part, which keeps the mean.
    fn service_ns(&mut self, at_ns: u64) -> u64 {
        let spread = self.model.spread.clamp(0.0, 1.0);
        let draw = 1.0 - spread + spread * self.rng.exponential();
        let drift = 1.0 + self.model.drift * at_ns as f64 / 1e9;
        (self.model.service_us * 1e3 * self.pace * drift * draw).max(1.0) as u64
    }

    /// Returns when service ends that begins at `start_ns`, the stall included.
    fn end_ns(&self, start_ns: u64, service_ns: u64) -> u64 {
        let stall_ns = self.model.stall_at_ms * 1_000_000;
        let over_ns = stall_ns + self.model.stall_ms * 1_000_000;
        let end_ns = start_ns + service_ns;
        if end_ns <= stall_ns || start_ns >= over_ns {
            end_ns
        } else {
            end_ns.max(stall_ns) + (over_ns - start_ns.max(stall_ns))
        }
    }

    /// Lets a client's recovery end after `wait_us` without a server; returns success at once for 0.
    fn end_after(&mut self, client: usize, wait_us: f64) -> Option<OpOutcome> {
        let wait_ns = (wait_us * 1e3) as u64;
        if wait_ns == 0 {
            return Some(OpOutcome::Ok);
        }
        self.ends.push(Reverse((self.clock.now_ns() + wait_ns, client, false)));
        None
    }

    /// Tests whether the simulated server is gone by now.
    fn is_server_gone(&self) -> bool {
        self.model.connection_loss == ConnectionLoss::AtStall
            && self.clock.now_ns() >= self.model.stall_at_ms * 1_000_000
    }
}

impl<Op> Lane for SimLane<Op> {
    type Op = Op;

    /// Queues a statement at the simulated server, and draws when it ends and whether it fails.
    fn submit(&mut self, client: usize, _op: &Op) -> Submitted {
        if self.is_server_gone() {
            return Submitted::Done(OpOutcome::Failed(connection_lost("the simulated server has gone away")));
        }
        let now_ns = self.clock.now_ns();
        let Reverse(free_ns) = self.free_ns.pop().unwrap_or(Reverse(now_ns));
        let start_ns = free_ns.max(now_ns);
        let service_ns = self.service_ns(start_ns);
        let end_ns = self.end_ns(start_ns, service_ns);
        self.free_ns.push(Reverse(end_ns));
        let fails = self.model.errors > 0.0 && self.rng.unit() < self.model.errors;
        self.ends.push(Reverse((end_ns, client, fails)));
        Submitted::Queued
    }

    /// Moves the clock to the next statement that ends and appends its outcome, or to the deadline.
    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        match self.ends.peek() {
            Some(Reverse((end_ns, client, fails))) if *end_ns <= deadline_ns => {
                self.clock.wait_until(*end_ns);
                let outcome = if *fails {
                    let message = "a simulated failure".to_owned();
                    OpOutcome::Failed(OpError { class: ErrorClass::Serialization, message })
                } else {
                    OpOutcome::Ok
                };
                into.push(Completion { client: *client, outcome });
                self.ends.pop();
            }
            _ => self.clock.wait_until(deadline_ns),
        }
    }

    /// Begins a rollback that takes the model's time.
    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        self.end_after(client, self.model.rollback_us)
    }

    /// Begins a connection that takes the model's time.
    fn reconnect(&mut self, client: usize) -> Option<OpOutcome> {
        self.end_after(client, self.model.connect_us)
    }

    /// Returns empty counts: no simulated server counts anything.
    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        Ok(SessionCounts::default())
    }

    /// Does nothing: a simulated server has no connections.
    fn close(self) {}
}
