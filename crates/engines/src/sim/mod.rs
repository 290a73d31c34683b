//! The simulated system: `sim:?service_us=200&noise=0.02`. For tests and trying reports; hidden.

pub mod lane;

use std::ops::Range;
use std::str::FromStr;

use model::catalog::Visibility;
use model::{Durability, DurabilityTier, EngineSpec, Facts, SystemPlan};

use crate::sim::lane::{ConnectionLoss, Model, SimLane, VirtualClock};
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::generator::ThreadLimit;
use load::rng::Rng;
use load::worker::{self, LoadCounts, WorkerContext};
use workloads::dataset::{Dataset, Dialect};
use workloads::system::{Engine, OpenRequest, Presence, System};
use workloads::work::Load;

pub struct Sim;

impl Engine for Sim {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "sim",
            schemes: &["sim"],
            about: "A queueing model on virtual time",
            private_servers: &[],
            own_url: None,
            other_address: None,
            workload: "transactions",
            backups: &[],
            poolers: &[],
            visibility: Visibility::Hidden,
            cautions: &[],
        }
    }

    /// Makes a simulated system with the options in the URL's query.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        let mut system = SimSystem {
            name: request.system.name.clone(),
            model: Model::default(),
            tier: DurabilityTier::Durable,
            version: "1".to_owned(),
            connections: u32::MAX,
        };
        let query = request.system.url.split_once('?').map_or("", |(_, query)| query);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            system.set_option(key, value)?;
        }
        Ok(Box::new(system))
    }

    /// Returns `None`: a simulated server makes nothing.
    fn explain_made(&self, _system: &SystemPlan) -> Option<String> {
        None
    }

    /// Reads the durability tier in the URL's query; durable by default.
    fn durability_of_plan(&self, system: &SystemPlan) -> Option<DurabilityTier> {
        let query = system.url.split_once('?').map_or("", |(_, query)| query);
        let told = query.split('&').find_map(|pair| pair.strip_prefix("durability="));
        told.map_or(Some(DurabilityTier::Durable), |tier| tier.parse().ok())
    }

    /// Says that nothing would be removed.
    fn explain_dropped(&self, _system: &SystemPlan) -> String {
        "nothing: it is simulated".to_owned()
    }
}

struct SimSystem {
    name: String,
    model: Model,
    tier: DurabilityTier,
    version: String,
    connections: u32,
}

impl SimSystem {
    /// Fails if a connection's number is beyond the simulated server's limit.
    fn check_connection_limit(&self, number: u32) -> Result<(), Failure> {
        if number < self.connections {
            return Ok(());
        }
        let cause = format!("it takes {} connections and no more", self.connections);
        Err(Failure::new(FailureKind::Other, "connect to the simulated server", cause))
    }

    /// Sets an option of the simulated system from a `key=value` of its URL.
    fn set_option(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let wrong =
            || Failure::new(FailureKind::Plan, format!("read `{key}={value}` of a sim: URL"), "it is not known");
        /// Parses an option's number, or fails with what `wrong` makes.
        fn parse_number<T: FromStr>(value: &str, wrong: impl Fn() -> Failure) -> Result<T, Failure> {
            value.parse().map_err(|_| wrong())
        }
        match key {
            "service_us" => self.model.service_us = parse_number(value, wrong)?,
            "spread" => self.model.spread = parse_number(value, wrong)?,
            "servers" => self.model.servers = parse_number(value, wrong)?,
            "noise" => self.model.noise = parse_number(value, wrong)?,
            "drift" => self.model.drift = parse_number(value, wrong)?,
            "stall_at_ms" => self.model.stall_at_ms = parse_number(value, wrong)?,
            "stall_ms" => self.model.stall_ms = parse_number(value, wrong)?,
            "connect_us" => self.model.connect_us = parse_number(value, wrong)?,
            "rollback_us" => self.model.rollback_us = parse_number(value, wrong)?,
            "connections" => self.connections = parse_number(value, wrong)?,
            "errors" => self.model.errors = parse_number(value, wrong)?,
            "dies_at_ms" => {
                self.model.stall_at_ms = parse_number(value, wrong)?;
                self.model.connection_loss = ConnectionLoss::AtStall;
            }
            "durability" => self.tier = value.parse().map_err(|()| wrong())?,
            "version" => value.clone_into(&mut self.version),
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

struct SimDialect;

impl Dialect for SimDialect {
    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }
}

impl System for SimSystem {
    /// Returns the product, the version and the durability that the URL asks for.
    fn facts(&self) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        facts.record_identity("server.product", "Simulated");
        facts.record_identity("server.version", self.version.clone());
        facts.set_durability(&Durability { tier: self.tier, because: "simulated".to_owned(), except: None });
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &SimDialect
    }

    fn placement(&self) -> Placement {
        Placement::Server
    }

    /// Returns that the load uses no machine.
    fn presence(&self) -> Presence {
        Presence::Simulated
    }

    /// Does nothing: a simulated server holds no tables.
    fn prepare(&self, _data: &Dataset) -> Result<(), Failure> {
        Ok(())
    }

    /// Does nothing: a simulated server has nothing to write.
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Reports that a simulated server counts no commits.
    fn counters(&self) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        counters.set_unavailable("commits", "", "a simulated server keeps no counters");
        Ok(counters)
    }

    /// Fails: a simulated server holds no rows.
    fn scalar(&self, _sql: &str) -> Result<i64, Failure> {
        Err(Failure::new(FailureKind::Unsupported, "count rows", "a simulated server holds none"))
    }

    /// Returns one part with all clients: virtual time is one thread's.
    fn split_clients(&self, clients: Range<u32>, _threads: ThreadLimit) -> Vec<Range<u32>> {
        vec![clients]
    }

    /// Returns 0: a client holds no file open.
    fn files_per_client(&self) -> u64 {
        0
    }

    /// Runs the load against the queueing model on virtual time.
    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let clock = VirtualClock::default();
        let program = load.statements()?;
        // A block's systems draw equal keys but need their own randomness.
        let first = context.clients.start;
        // Each of several hosts has its own part of the simulated server.
        let seed = if first == 0 { context.seed } else { Rng::of_transaction(context.seed, first, 1).next_u64() };
        let chance = self.name.bytes().fold(seed, |seed, byte| Rng::of_transaction(seed, 0, byte.into()).next_u64());
        context.connect_all(1, |number, _| self.check_connection_limit(number - first))?;
        context.opened.assume_duration((self.model.connect_us * 1e3) as u64);
        let lane = SimLane::new(self.model.clone(), chance, clock.clone());
        // CPU and connection times are not virtual.
        worker::run_worker(lane, program, &clock, context).map(|counts| LoadCounts {
            cpu_ns: None,
            threads: Vec::new(),
            confined: Vec::new(),
            ..counts
        })
    }

    /// Returns the same plan: each host simulates its part of the server.
    fn plan_for_other_hosts(&self, system: &SystemPlan) -> Result<SystemPlan, Failure> {
        Ok(system.clone())
    }

    /// Does nothing: a simulated server makes nothing.
    fn drop_all(&self) -> Result<(), Failure> {
        Ok(())
    }
}
