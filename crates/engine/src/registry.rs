//! Every engine and every workload: the one place that a new one adds a line to.

use model::Catalog;

use crate::error::{Failure, FailureKind};
use crate::target::{Engine, OpenRequest, Target};
use crate::targets;
use crate::workloads::{Workload, transactions};

/// The engines of this build.
const ENGINES: &[&dyn Engine] = &[
    &targets::postgres::Postgres,
    &targets::sqlite::Sqlite,
    &targets::sim::Sim,
];

/// The workloads of this build.
const WORKLOADS: &[&dyn Workload] = &[&transactions::Transactions];

/// The engines and workloads that can be named.
#[derive(Clone)]
pub struct Registry {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
}

impl Registry {
    /// Everything in this build.
    pub fn built_in() -> Registry {
        Registry { engines: ENGINES.to_vec(), workloads: WORKLOADS.to_vec() }
    }

    /// The same with one engine more.
    #[must_use]
    pub fn with_engine(mut self, engine: &'static dyn Engine) -> Registry {
        self.engines.push(engine);
        self
    }

    /// The same with one workload more.
    #[must_use]
    pub fn with_workload(mut self, workload: &'static dyn Workload) -> Registry {
        self.workloads.push(workload);
        self
    }

    /// What plans may name.
    pub fn catalog(&self) -> Catalog {
        Catalog {
            engines: self.engines.iter().map(|engine| engine.spec()).collect(),
            workloads: self.workloads.iter().map(|workload| workload.spec()).collect(),
        }
    }

    /// The engines.
    pub fn engines(&self) -> &[&'static dyn Engine] {
        &self.engines
    }

    /// The engine of that name.
    ///
    /// # Errors
    /// There is none in this build: the store or plan comes from another one.
    pub fn engine(&self, name: &str) -> Result<&'static dyn Engine, Failure> {
        let missing = || Failure::new(FailureKind::Unsupported, format!("use the engine `{name}`"), "this build has none");
        self.engines.iter().copied().find(|engine| engine.spec().name == name).ok_or_else(missing)
    }

    /// The workload of that name.
    ///
    /// # Errors
    /// There is none in this build.
    pub fn workload(&self, name: &str) -> Result<&'static dyn Workload, Failure> {
        let missing = || Failure::new(FailureKind::Unsupported, format!("use the workload `{name}`"), "this build has none");
        self.workloads.iter().copied().find(|workload| workload.spec().name == name).ok_or_else(missing)
    }

    /// Opens a system by its engine.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        self.engine(&request.system.engine)?.open(request)
    }
}
