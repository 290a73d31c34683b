//! The template of an engine inside étalon's own process, for `transactions` and `pages`: a whole one over a library in C, which the
//! conformance suite runs and breaks. To begin with a database of your own, copy this folder to `crates/engines/src/NAME/`, and
//! go on as `docs/extending.md` says.

pub mod lane;
mod pages;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use engines::embedded::{self, FileShape, OwnershipMark};
use engines::in_process::{self, Library, LibrarySystem, library_failure};
use lane::ExampleConnection;
use load::datum::Datum;
use load::error::Failure;
use model::catalog::Visibility;
use model::{Durability, DurabilityTier, EngineSpec, Facts, Reset, SystemPlan, Value};
use workloads::dataset::{Dialect, Tables};
use workloads::pages::dialect::PagesDialect;
use workloads::system::{Engine, OpenRequest, System};

/// The registry's entry.
pub struct Example;

impl Engine for Example {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "example",
            schemes: &["example"],
            about: "The template of an engine inside étalon: `example:PATH` is a file that étalon makes and removes",
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

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        Ok(Box::new(ExampleSystem::open_system(request)?))
    }

    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        embedded::would_make(system)
    }

    fn explain_dropped(&self, system: &SystemPlan) -> String {
        embedded::would_drop(system, Example::SHAPE)
    }

    fn choose_reset(&self, system: &SystemPlan, _size_bytes: u64) -> Result<Option<Reset>, Failure> {
        embedded::chosen_reset(system)
    }

    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        embedded::data_directory(system)
    }
}

/// A system of a plan.
pub type ExampleSystem = LibrarySystem<Example>;

impl Library for Example {
    type Connection = ExampleConnection;

    const PRODUCT: &'static str = "Example";

    const SHAPE: FileShape =
        FileShape { companions: &["-wal", "-shm"], marker: OwnershipMark::Beside, strangers: |_| Vec::new() };

    const SETTINGS: &'static [&'static str] = &["busy_timeout", "cache_size", "synchronous"];

    fn dialect() -> &'static dyn Dialect {
        &ExampleDialect
    }

    fn version() -> String {
        example_ffi::version()
    }

    fn open_connection(path: &Path, tables: Tables) -> Result<ExampleConnection, Failure> {
        let opened = ExampleConnection::open(path);
        let mut connection = opened.map_err(|error| library_failure(format!("open {}", path.display()), &error))?;
        let first = if tables == Tables::Own { "journal_mode = WAL" } else { "schema_version" };
        pragma(&mut connection, first)?;
        Ok(connection)
    }

    fn set_setting(connection: &mut ExampleConnection, name: &str, value: &Value) -> Result<(), Failure> {
        pragma(connection, &format!("{name} = '{}'", value.to_string().replace('\'', "''"))).map(drop)
    }

    fn read_setting(connection: &mut ExampleConnection, name: &str) -> Result<String, Failure> {
        pragma(connection, name)
    }

    fn durability(facts: &Facts) -> Durability {
        let (tier, because) = match facts.get("setting.synchronous") {
            Some("0") => (DurabilityTier::Unsafe, "synchronous=0: nothing is synced"),
            Some("1") => (DurabilityTier::Delayed, "synchronous=1: a commit is not synced"),
            _ => (DurabilityTier::Durable, "each commit syncs the log"),
        };
        Durability { tier, because: because.to_owned(), except: None }
    }

    fn after_load(connection: &mut ExampleConnection) -> Result<(), Failure> {
        in_process::execute(connection, "ANALYZE")
    }

    fn settle_writes(connection: &mut ExampleConnection) -> Result<(), Failure> {
        pragma(connection, "wal_checkpoint(TRUNCATE)").map(drop)
    }

    fn pages() -> Option<&'static dyn PagesDialect> {
        Some(&pages::ExamplePages)
    }
}

fn pragma(connection: &mut ExampleConnection, words: &str) -> Result<String, Failure> {
    Ok(match in_process::query_first_datum(connection, &format!("PRAGMA {words}"))? {
        Datum::Int(number) => number.to_string(),
        Datum::Text(text) => text.into_owned(),
        _ => String::new(),
    })
}

/// How the engine writes what every SQL engine has.
pub struct ExampleDialect;

impl Dialect for ExampleDialect {
    fn placeholder(&self, number: usize) -> String {
        format!("?{number}")
    }

    /// A transaction takes its lock at the start, since one that takes it later may be refused however long it waits.
    fn translate_statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        if sql.eq_ignore_ascii_case("begin") { "BEGIN IMMEDIATE".into() } else { sql.into() }
    }
}
