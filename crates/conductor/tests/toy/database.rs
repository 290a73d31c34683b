//! A database that can do one thing: count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use load::clock::RealClock;
use load::counters::{Counters, Placement};
use load::error::Failure;
use load::lane::{Completion, Lane, OpOutcome, Submitted};
use load::worker::{self, LoadCounts, WorkerContext};
use model::catalog::Visibility;
use model::{Durability, DurabilityTier, EngineSpec, Facts, SystemPlan};
use workloads::dataset::{Dataset, Dialect};
use workloads::system::{Engine, OpenRequest, System};
use workloads::transactions::StatementOp;
use workloads::work::Load;

/// The registry's entry. `toy:honest` counts right, `toy:forgetful` loses every tenth increment, and `toy:drowsy` takes long for
/// its first; `toy:threaded` counts in a thread of its own, which takes a millisecond of CPU time each time.
pub struct Toy;

impl Engine for Toy {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "toy",
            schemes: &["toy"],
            about: "Counts",
            private_servers: &[],
            own_url: None,
            other_address: None,
            workload: "transactions",
            backups: &[],
            poolers: &[],
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        let forget_every = if request.system.url == "toy:forgetful" { 10 } else { i64::MAX };
        let is_drowsy = AtomicBool::new(request.system.url == "toy:drowsy");
        let placement = if request.system.url == "toy:threaded" { Placement::OwnThreads } else { Placement::InProcess };
        Ok(Box::new(ToySystem { count: Arc::new(AtomicI64::new(0)), forget_every, is_drowsy, placement }))
    }

    fn explain_made(&self, _system: &SystemPlan) -> Option<String> {
        None
    }

    fn explain_dropped(&self, _system: &SystemPlan) -> String {
        "nothing".to_owned()
    }
}

struct ToySystem {
    count: Arc<AtomicI64>,
    forget_every: i64,
    /// Until its slow first increment.
    is_drowsy: AtomicBool,
    placement: Placement,
}

struct ToyDialect;

impl Dialect for ToyDialect {
    fn placeholder(&self, number: usize) -> String {
        format!("#{number}")
    }
}

impl System for ToySystem {
    fn facts(&self) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        facts.record_identity("server.product", "Toy");
        facts.record_identity("server.version", "1");
        facts.set_durability(&Durability {
            tier: DurabilityTier::Memory,
            because: "it is a toy".to_owned(),
            except: None,
        });
        Ok(facts)
    }
    fn dialect(&self) -> &'static dyn Dialect {
        &ToyDialect
    }
    fn placement(&self) -> Placement {
        self.placement
    }
    fn prepare(&self, _data: &Dataset) -> Result<(), Failure> {
        self.count.store(0, Ordering::SeqCst);
        Ok(())
    }
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn counters(&self) -> Result<Counters, Failure> {
        Ok(Counters::default())
    }
    fn scalar(&self, _sql: &str) -> Result<i64, Failure> {
        let count = self.count.load(Ordering::SeqCst);
        Ok(count - count / self.forget_every)
    }
    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        let lane = ToyLane { count: &self.count, is_drowsy: &self.is_drowsy, placement: self.placement };
        worker::run_worker(lane, program, &RealClock, context)
    }
    fn drop_all(&self) -> Result<(), Failure> {
        Ok(())
    }
}

struct ToyLane<'a> {
    count: &'a AtomicI64,
    is_drowsy: &'a AtomicBool,
    placement: Placement,
}

/// Takes a millisecond of its thread's CPU time.
fn work() {
    let began = host::cpu::thread_cpu().unwrap();
    while host::cpu::thread_cpu().unwrap() - began < Duration::from_millis(1) {}
}

impl Lane for ToyLane<'_> {
    type Op = StatementOp;

    fn submit(&mut self, _client: usize, _op: &StatementOp) -> Submitted {
        if self.is_drowsy.swap(false, Ordering::SeqCst) {
            // Longer than a run of the tests.
            std::thread::sleep(Duration::from_millis(300));
        }
        if self.placement == Placement::OwnThreads {
            std::thread::spawn(work).join().unwrap();
        }
        self.count.fetch_add(1, Ordering::SeqCst);
        Submitted::Done(OpOutcome::Ok)
    }
    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}
    fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Ok)
    }
    fn close(self) {}
}
