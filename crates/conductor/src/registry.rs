//! The engines and workloads of this build, and those that a test adds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use model::backup::BackupMethod;
use model::plan::setting_fault;
use model::{Caches, Catalog, KeyKind, KeySpec, Reset, Schedule, SystemPlan, WorkloadSpec};

use crate::timeout::ask_in_thread;
use load::error::{Failure, FailureKind};
use workloads::dataset::Tables;
use workloads::system::{Engine, OpenRequest, System};
use workloads::workload::{Action, Task, Workload};

/// The words by which this build's engines take backups.
static METHODS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let of_engines = engines::ENGINES.iter().flat_map(|engine| engine.spec().backups).map(|method| method.0);
    let mut words: Vec<&str> = [BackupMethod::NATIVE.0, BackupMethod::NONE.0].into_iter().chain(of_engines).collect();
    words.sort_unstable();
    words.dedup();
    words
});

/// The keys of the workloads whose words engines add to.
static KEYS: LazyLock<BTreeMap<&str, Vec<KeySpec>>> = LazyLock::new(|| {
    let specs = workloads::WORKLOADS.iter().map(|workload| workload.spec());
    specs
        .map(|spec| {
            (
                spec.name,
                spec.keys
                    .iter()
                    .map(|key| match key.kind {
                        KeyKind::OfEngines => KeySpec { kind: KeyKind::Choice(&METHODS), ..*key },
                        _ => *key,
                    })
                    .collect(),
            )
        })
        .collect()
});

#[derive(Clone)]
pub struct Registry {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
}

impl Registry {
    /// Makes the registry of the engines and workloads of this build.
    pub fn built_in() -> Registry {
        Registry { engines: engines::ENGINES.to_vec(), workloads: workloads::WORKLOADS.to_vec() }
    }

    /// Adds an engine, such as a test's.
    #[must_use]
    pub fn with_engine(mut self, engine: &'static dyn Engine) -> Registry {
        self.engines.push(engine);
        self
    }

    /// Adds a workload, such as a test's.
    #[must_use]
    pub fn with_workload(mut self, workload: &'static dyn Workload) -> Registry {
        self.workloads.push(workload);
        self
    }

    /// Lists what engines and workloads say of themselves, as plans are checked against.
    pub fn catalog(&self) -> Catalog {
        Catalog {
            engines: self.engines.iter().map(|engine| engine.spec()).collect(),
            workloads: self
                .workloads
                .iter()
                .map(|workload| {
                    let spec = workload.spec();
                    WorkloadSpec { keys: KEYS.get(spec.name).map_or(spec.keys, Vec::as_slice), ..spec }
                })
                .collect(),
        }
    }

    /// All engines, in order of their registration.
    pub fn engines(&self) -> &[&'static dyn Engine] {
        &self.engines
    }

    /// Finds the engine of this name, or fails.
    pub fn engine(&self, name: &str) -> Result<&'static dyn Engine, Failure> {
        let missing =
            || Failure::new(FailureKind::Unsupported, format!("use the engine `{name}`"), "this build has none");
        self.engines.iter().copied().find(|engine| engine.spec().name == name).ok_or_else(missing)
    }

    /// Finds the workload of this name, or fails.
    pub fn workload(&self, name: &str) -> Result<&'static dyn Workload, Failure> {
        let missing =
            || Failure::new(FailureKind::Unsupported, format!("use the workload `{name}`"), "this build has none");
        self.workloads.iter().copied().find(|workload| workload.spec().name == name).ok_or_else(missing)
    }

    /// Finds a system's engine, and reads its URL from the environment if it has an `env:` one.
    /// `env:` URLs are read only here, since a password must not reach plan or store.
    ///
    /// # Errors
    /// The variable is not set, or no engine has its scheme.
    pub fn resolve_system(&self, system: &SystemPlan) -> Result<(&'static dyn Engine, SystemPlan), Failure> {
        let mut resolved = system.clone();
        if let Some(variable) = system.url_variable() {
            let tried = format!("read the URL of `{}` from the environment variable `{variable}`", system.name);
            resolved.url = std::env::var(variable).map_err(|error| Failure::new(FailureKind::Plan, &tried, error))?;
            let catalog = self.catalog();
            resolved.url = catalog.url_of_address(&resolved.url).unwrap_or(resolved.url);
            let engine = catalog.engine_of_url(&resolved.url).map(|spec| spec.name.to_owned());
            resolved.engine = engine
                .ok_or_else(|| Failure::new(FailureKind::Plan, &tried, "no engine of this build has its scheme"))?;
        }
        Ok((self.engine(&resolved.engine)?, resolved))
    }

    /// Opens a plan's system by its engine, after checking its reset and settings.
    pub fn open_system(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        let (engine, system) = self.resolve_system(request.system)?;
        engine.choose_reset(&system, 0)?;
        // A plan from another host was checked there, if at all.
        for (name, value) in &system.settings {
            if let Some(fault) = setting_fault(name, value) {
                return Err(Failure::new(FailureKind::Plan, format!("set `{}`", name.escape_debug()), fault));
            }
        }
        engine.open(&OpenRequest { system: &system, ..request.clone() })
    }

    /// Fails if the plan asks for cold caches that the system cannot empty or the task fills again; connects to nothing.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: no reset empties them there. [`FailureKind::Plan`]: the task would fill them again.
    pub fn check_cold_caches(&self, system: &SystemPlan, task: &Task, schedule: &Schedule) -> Result<(), Failure> {
        if schedule.caches == Caches::Warmed {
            return Ok(());
        }
        let empties_itself = matches!(&task.action, Action::Step(procedure) if procedure.empties_caches());
        if !empties_itself && task.tables() == Tables::None && matches!(task.action, Action::Step(_)) {
            let cause = "what is asked before fills the caches again";
            let tried = "use `schedule.caches = \"cold\"` with this workload";
            return Err(Failure::new(FailureKind::Plan, tried, cause).with_hint("leave `schedule.caches` out"));
        }
        if !empties_itself && (task.tables() == Tables::None || task.dataset.tables.is_empty()) {
            return Ok(());
        }
        // Opening the system says why it cannot be resolved.
        let Ok((engine, system)) = self.resolve_system(system) else { return Ok(()) };
        if engine.can_empty_caches(&system) {
            return Ok(());
        }
        let tried = format!("use `schedule.caches = \"cold\"` with the system `{}`", system.name);
        let cause = "étalon can empty the caches only of a server that it has started itself, and of SQLite";
        Err(Failure::new(FailureKind::Unsupported, tried, cause)
            .with_hint("leave `schedule.caches` out, or the system"))
    }

    /// Fails if a task needs statements in the engine's own words and there are none for the system's, as known without connecting.
    ///
    /// # Errors
    /// [`FailureKind::Unsupported`]: it has none.
    pub fn refuse_without_statements(&self, system: &SystemPlan, task: &Task) -> Result<(), Failure> {
        let Some(needed) = &task.dataset.engine_statements else { return Ok(()) };
        if needed.are_of_user && system.server.is_none() {
            let tried = format!("make {} in the system `{}`", needed.made, system.name);
            let cause = "they may do anything, so étalon runs them only on a server that it starts itself";
            return Err(Failure::new(FailureKind::Plan, tried, cause)
                .with_hint("make the tables there yourself, and leave `setup` out"));
        }
        // Opening the system says why it cannot be resolved.
        let Ok((engine, _)) = self.resolve_system(system) else { return Ok(()) };
        let has_them = engine.dialect().is_some_and(|dialect| (needed.texts)(dialect).is_some());
        if has_them {
            return Ok(());
        }
        let tried = format!("make {} in the system `{}`", needed.made, system.name);
        let (missing, hint) = &needed.without;
        let cause = format!("the engine `{}` has no {missing}", engine.spec().name);
        Err(Failure::new(FailureKind::Unsupported, tried, cause).with_hint(*hint))
    }

    /// Directory of a system's data, if that is known without connecting.
    pub fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        let (engine, system) = self.resolve_system(system).ok()?;
        engine.data_directory(&system)
    }

    /// Bytes of a system's data that are there, if they are known without connecting.
    pub fn stored_bytes(&self, system: &SystemPlan) -> Option<u64> {
        let (engine, system) = self.resolve_system(system).ok()?;
        engine.stored_bytes(&system)
    }

    /// How durable a system's commits are by its plan alone, if that says so, without connecting.
    pub fn durability_of_plan(&self, system: &SystemPlan) -> Option<model::DurabilityTier> {
        let (engine, system) = self.resolve_system(system).ok()?;
        engine.durability_of_plan(&system)
    }

    /// Chooses how tables of that size come back before each run; `None` without tables.
    ///
    /// # Errors
    /// The plan asks for what the system cannot do.
    pub fn choose_reset_way(&self, system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
        let (engine, system) = self.resolve_system(system)?;
        engine.choose_reset(&system, size_bytes)
    }

    /// The privileges that étalon needs in a system to make its tables, as the engine words them.
    pub fn needed_privileges(&self, system: &SystemPlan) -> Option<String> {
        let (engine, system) = self.resolve_system(system).ok()?;
        engine.needed_privileges(&system)
    }

    /// Fails if the system's URL cannot be read; connects to nothing.
    /// One that the environment does not hold yet is read by `run`.
    ///
    /// # Errors
    /// It cannot.
    pub fn check_url(&self, system: &SystemPlan) -> Result<(), Failure> {
        let Ok((engine, system)) = self.resolve_system(system) else { return Ok(()) };
        engine.check_url(&system)
    }

    /// Lists which of these systems' servers say within `timeout` that nothing can be written to them, and why.
    /// All are asked at the same time.
    pub fn list_read_only_systems(&self, systems: &[&SystemPlan], timeout: Duration) -> Vec<(String, Failure)> {
        let until = Instant::now() + timeout;
        let asked: Vec<_> = systems
            .iter()
            .filter_map(|system| {
                let (engine, system) = self.resolve_system(system).ok()?;
                Some((system.name.clone(), ask_in_thread(move || engine.why_read_only(&system))))
            })
            .collect();
        let refused = asked.into_iter().filter_map(|(name, answer)| {
            let left = until.saturating_duration_since(Instant::now());
            Some((name, answer.recv_timeout(left).ok()??))
        });
        refused.collect()
    }

    /// Says what étalon would make in the system, if anything; connects to nothing.
    pub fn would_make(&self, system: &SystemPlan) -> Result<Option<String>, Failure> {
        let (engine, system) = self.resolve_system(system)?;
        Ok(engine.explain_made(&system))
    }

    /// Says what étalon would drop in the system; connects to nothing.
    pub fn would_drop(&self, system: &SystemPlan) -> Result<String, Failure> {
        let (engine, system) = self.resolve_system(system)?;
        Ok(engine.explain_dropped(&system))
    }
}
