//! An engine under test, and what the cases ask it with.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use conductor::Registry;
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::generator::{LoadShape, ThreadLimit};
use load::observer::Silent;
use load::traffic::NetworkTraffic;
use load::worker::Pace;
use model::plan::PrivateServer;
use model::{Length, OnError, Order, Point, Reading, RunRecord, Schedule, SystemPlan, Value};
use workloads::dataset::{Column, ColumnKind, Dataset, Nulls, Table};
use workloads::step::{self, StepContext};
use workloads::system::{Consent, Engine, OpenRequest, System};
use workloads::transactions::{Protocol, ScriptOptions, compile_with};
use workloads::work::LoadKind;
use workloads::work::RunTask;
use workloads::work::StreamTask;
use workloads::workload::{Action, Grants};

use super::known::{self, Known};

/// A promise and how it is held.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub of: Of,
    pub run: fn(&Subject),
}

/// Whose promise it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Of everything that can be measured.
    Every,
    /// Engines that answer statements, if only in a simulation.
    Statements,
    /// Engines that hold rows.
    Rows,
    /// Engines that take settings from a plan.
    Settings,
    /// Engines that tell how two transactions on one row end.
    Conflicts,
    /// Database files inside étalon.
    Files,
    /// Servers that a plan names.
    Named,
}

/// Declares the cases of a file.
#[macro_export]
macro_rules! cases {
    ($($of:ident $name:ident),* $(,)?) => {
        pub const CASES: &[$crate::subject::Case] =
            &[$($crate::subject::Case { name: stringify!($name), of: $crate::subject::Of::$of, run: $name }),*];
    };
}

impl Of {
    fn concerns(self, subject: &Subject) -> bool {
        let answers = subject.system.load_kind() == LoadKind::Statements;
        match self {
            Of::Every => true,
            Of::Statements => answers,
            // The queueing model understands everything, and remembers nothing.
            Of::Rows => answers && subject.name != "sim",
            Of::Settings => subject.known.setting.is_some(),
            Of::Conflicts => subject.known.conflict.is_some(),
            Of::Files => answers && subject.holds_a_file(),
            Of::Named => subject.is_named(),
        }
    }
}

impl Case {
    pub fn concerns(&self, subject: &Subject) -> bool {
        self.of.concerns(subject)
    }
}

/// Whether an engine that cannot be opened need not be: it is not in this build, or not on this machine.
fn is_left_out(failure: &Failure, known: &Known) -> bool {
    let says = |feature: &String| failure.hint.iter().any(|hint| hint.contains(&format!("--features {feature}")));
    match failure.kind {
        FailureKind::Unsupported => known.feature.as_ref().is_some_and(says),
        FailureKind::Missing => known.not_packaged,
        _ => false,
    }
}

/// An engine with a system that the cases may do with as they like.
pub struct Subject {
    pub engine: &'static dyn Engine,
    pub name: &'static str,
    pub known: Known,
    /// Where its programs are, of a server that is not the installed one.
    pub programs: Option<String>,
    pub plan: SystemPlan,
    pub system: Box<dyn System>,
    folder: tempfile::TempDir,
}

impl Subject {
    /// With the installed programs, if it is a server, or those of a folder. None where nobody names a server, nobody has
    /// one, or the build has no such engine.
    pub fn open(engine: &'static dyn Engine, programs: Option<String>) -> Option<Subject> {
        let spec = engine.spec();
        let known = known::of(spec.name).cloned();
        Subject::open_as(engine, programs, known.unwrap_or_default())
    }

    pub fn open_as(engine: &'static dyn Engine, programs: Option<String>, known: Known) -> Option<Subject> {
        let spec = engine.spec();
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut plan = SystemPlan { name: spec.name.to_owned(), engine: spec.name.to_owned(), ..SystemPlan::default() };
        if let Some(variable) = &known.named_by {
            let Ok(url) = std::env::var(variable) else {
                eprintln!("{}: left out, since {variable} names no server", spec.name);
                return None;
            };
            plan.url = url;
        } else if let Some(server) = spec.private_servers.first() {
            let (engine, bin_dir) = ((*server).to_owned(), programs.clone());
            plan.server = Some(PrivateServer { engine, bin_dir, ..PrivateServer::default() });
        } else {
            plan.url = format!("{}:{}/db", spec.schemes[0], folder.path().display());
        }
        if let Some(setting) = &known.setting {
            plan.settings.insert(setting.name.clone(), setting.value());
        }
        let system = match engine.open(&OpenRequest::new(&plan, Consent::OwnOnly)) {
            Ok(system) => system,
            Err(failure) if is_left_out(&failure, &known) => {
                eprintln!("{}: left out: {failure}", spec.name);
                return None;
            }
            Err(failure) => panic!("{}: {failure}", plan.name),
        };
        let subject = Subject { engine, name: spec.name, known, programs, system, folder, plan };
        let is_known = !subject.known.version.is_empty() || !(Of::Rows.concerns(&subject));
        assert!(is_known, "{}: the engine's folder has no conformance.toml with a section of its name", spec.name);
        Some(subject)
    }

    /// Removes everything; what is left is an `Err`.
    pub fn close(self) -> Result<(), String> {
        self.system.drop_all().map_err(|failure| failure.to_string())?;
        drop(self.system);
        let left: Vec<_> =
            std::fs::read_dir(self.folder.path()).unwrap().flatten().map(|file| file.file_name()).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    }

    /// Product and release, as the server says.
    pub fn release(&self) -> (String, String) {
        let facts = self.system.facts().unwrap_or_else(|failure| panic!("{failure}"));
        let fact = |name: &str| facts.get(name).unwrap_or_default().to_owned();
        let version = fact("server.version");
        let mut numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.');
        (fact("server.product"), numbers.find(|part| !part.is_empty()).unwrap_or_default().to_owned())
    }

    pub fn is_named(&self) -> bool {
        self.known.named_by.is_some()
    }

    /// Whether its URL is the path of a file that it makes in this process.
    pub fn holds_a_file(&self) -> bool {
        self.plan.server.is_none() && !self.is_named() && self.engine.data_directory(&self.plan).is_some()
    }

    /// Another system of the engine; a file of this name in a folder that étalon makes, if it is one.
    pub fn another(&self, name: &str) -> (SystemPlan, PathBuf) {
        let path = self.folder.path().join("another").join(name);
        let url = if self.holds_a_file() {
            format!("{}:{}", self.engine.spec().schemes[0], path.display())
        } else {
            self.plan.url.clone()
        };
        (SystemPlan { url, ..self.plan.clone() }, path)
    }

    pub fn open_another(&self, system: &SystemPlan) -> Result<Box<dyn System>, Failure> {
        self.engine.open(&OpenRequest::new(system, Consent::OwnOnly))
    }

    /// The system with [`rows`] in it.
    pub fn prepared(&self) -> &dyn System {
        self.system.prepare(&rows(10)).unwrap_or_else(|failure| panic!("{failure}"));
        self.system.settle().unwrap_or_else(|failure| panic!("{failure}"));
        &*self.system
    }

    /// Runs a script, so many transactions of each client.
    pub fn script(&self, text: &str, clients: u32, transactions: u64) -> Result<RunRecord, Failure> {
        run(self.prepared(), &stream(text, Protocol::Prepared, clients), transactions)
    }

    /// The number that a query gives.
    pub fn count(&self, sql: &str) -> i64 {
        self.system.scalar(sql).unwrap_or_else(|failure| panic!("{failure}"))
    }
}

/// A stream of a script's transactions.
pub fn stream(text: &str, protocol: Protocol, clients: u32) -> StreamTask {
    let options = ScriptOptions { protocol, clients, ..ScriptOptions::default() };
    let program = compile_with(text, &options).unwrap_or_else(|error| panic!("{error:?}"));
    StreamTask {
        work: program.into(),
        shape: LoadShape {
            clients: 0..clients,
            pace: Pace::Closed,
            threads: ThreadLimit::Best,
            traffic: NetworkTraffic::default(),
        },
    }
}

/// Runs so many transactions of each client.
pub fn run(system: &dyn System, task: &StreamTask, transactions: u64) -> Result<RunRecord, Failure> {
    run_for(system, task, &Schedule { length: Length::Transactions(transactions), ..schedule(Duration::ZERO) })
}

pub fn run_for(system: &dyn System, task: &StreamTask, schedule: &Schedule) -> Result<RunRecord, Failure> {
    let interrupt = AtomicBool::new(false);
    RunTask { system, task, schedule, seed: 7, interrupt: &interrupt }.run_here(&mut Silent)
}

pub fn schedule(warmup: Duration) -> Schedule {
    Schedule {
        rounds: 1,
        warmup,
        length: Length::Duration(Duration::from_millis(400)),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    }
}

/// A run of a workload that is a step, with some keys other than the defaults.
pub fn step_of(system: &dyn System, workload: &str, keys: &[(&str, Value)]) -> Result<RunRecord, Failure> {
    let workload = Registry::built_in().workload(workload).unwrap();
    let mut point: Point =
        workload.spec().keys.iter().filter_map(|key| Some((key.name.to_owned(), key.default?.to_value()?))).collect();
    point.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let task = workload.make_task(&point, &Grants::default())?;
    let Action::Step(procedure) = &task.action else { panic!("this workload is no step") };
    system.prepare(&task.dataset)?;
    system.settle()?;
    let (interrupt, schedule) = (AtomicBool::new(false), schedule(Duration::ZERO));
    let mut context =
        StepContext { system, schedule: &schedule, seed: 7, interrupt: &interrupt, observer: &mut Silent };
    step::run_step(&**procedure, &mut context)
}

/// A metric of a run, or why it is not known; nothing if there is none of that name.
pub fn reading<'r>(record: &'r RunRecord, id: &str) -> Option<&'r Reading> {
    record.measurements.iter().find(|one| one.metric.id == id).map(|one| &one.reading)
}

/// The same of a metric that is 0 where it is not told.
pub fn value(record: &RunRecord, id: &str) -> f64 {
    match reading(record, id) {
        Some(Reading::Value(value)) => *value,
        _ => 0.0,
    }
}

/// Whether a failure says that there is no such thing here, and why.
pub fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Unsupported | FailureKind::Permission) && !failure.cause.is_empty()
}

/// So many rows with a key, of which number 1 was changed when they had been loaded; and a table that is empty.
pub fn rows(count: u64) -> Dataset {
    let column = |name, kind| Column { name, kind, nulls: Nulls::Allowed };
    let key = |name| Column { name, kind: ColumnKind::Int, nulls: Nulls::Refused };
    let (value, note) = (column("value", ColumnKind::BigInt), column("note", ColumnKind::Char(20)));
    let table = |name: &'static str, columns, primary_key, rows| Table {
        name: name.into(),
        columns,
        primary_key,
        create: None,
        rows,
        unit_rows: 1,
        row: Arc::new(|index, row| {
            let number = i64::try_from(index).unwrap();
            row.extend([Datum::Int(number), Datum::Int(10 * number), Datum::Text("as it was".into())]);
        }),
    };
    Dataset {
        name: format!("conformance, {count} rows"),
        tables: vec![
            table("conformance_rows", vec![key("id"), value, note], &["id"], count),
            table("conformance_log", vec![column("client", ColumnKind::Int), value, note], &[], 0),
        ],
        afterwards: vec!["UPDATE conformance_rows SET note = 'afterwards' WHERE id = 1".to_owned()],
        size_bytes: 1 << 16,
        ..Dataset::default()
    }
}
