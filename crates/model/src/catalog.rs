//! What a plan may name: the engines and the workloads that this build knows.
//!
//! The registry of the engine room fills a [`Catalog`]; plan validation, the JSON Schema and `etalon list` read it. So
//! a new workload or database appears in all three by its registry line alone.

use crate::backup::BackupMethod;
use crate::facts::{PUBLICATION, UNTRIED};
use crate::value::{Point, Value};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'static str),
    /// The key may be left out, and a point of the sweep then has no value for it. So keys that few plans write are
    /// not in every case, and plans written before the key came keep their hash.
    Absent,
}

impl Literal {
    pub fn value(self) -> Option<Value> {
        match self {
            Literal::Bool(b) => Some(Value::Bool(b)),
            Literal::Int(n) => Some(Value::Int(n)),
            Literal::Float(x) => Some(Value::Float(x)),
            Literal::Text(s) => Some(Value::Text(s.to_owned())),
            Literal::Absent => None,
        }
    }
}

/// What values a workload's key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyKind {
    /// A whole number within limits, both inclusive.
    Int {
        min: i64,
        max: i64,
    },
    /// A number within limits, both inclusive.
    Float {
        min: f64,
        max: f64,
    },
    Bool,
    /// One of a closed list of words.
    Choice(&'static [&'static str]),
    /// One of the words that engines have for it: the registry, which knows them, makes a [`KeyKind::Choice`] of it.
    OfEngines,
    /// One of a list of words, or the path of a file (anything with a `/`, a `\` or a `.`).
    ChoiceOrFile(&'static [&'static str]),
    /// Several of these with weights, as in `a@2, b`: each a word of a list or the path of a file, as
    /// [`KeyKind::ChoiceOrFile`] has them. A weight is a whole number from 0 to 2,147,483,647, and 1 if none is given.
    Mix(&'static [&'static str]),
    /// A length of time such as `"100ms"`, at least zero; kept as written.
    Duration,
    /// A length of time, or a range of them: `"50ms..249ms"`; kept as written. See [`crate::duration::parse_range`].
    DurationRange,
    /// Several lengths of time as one value, `["100ms", "1s"]`: the list is not a sweep, a list of lists is. Kept with
    /// commas, as in `100ms, 1s`, which may also be written. See [`crate::duration::parse_list`].
    Durations,
    Text,
}

/// One key that a workload understands in `[[benchmarks]]`.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// As written. `pool.size` is the entry `size` of the inline table `pool`.
    pub name: &'static str,
    pub kind: KeyKind,
    /// What it is when not written; `None` makes it required, [`Literal::Absent`] leaves it out.
    pub default: Option<Literal>,
    /// One sentence: what it is, with its unit.
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct WorkloadSpec {
    pub name: &'static str,
    /// The family: transactions, pages, spatial, backup, disk.
    pub family: &'static str,
    pub about: &'static str,
    /// The unit in which its rate is told during a run: `tx/s`, `io/s`.
    pub rate_unit: &'static str,
    pub keys: &'static [KeySpec],
    /// Keys that mean nothing at a point of a sweep: points that differ in them alone are one.
    pub idle: fn(&Point) -> &'static [&'static str],
}

/// Of a workload whose keys mean something at every point.
pub fn no_idle_keys(_: &Point) -> &'static [&'static str] {
    &[]
}

#[derive(Clone, Copy, Debug)]
pub struct EngineSpec {
    /// The name, as in `etalon list`.
    pub name: &'static str,
    /// The URL schemes that lead to it, without the colon.
    pub schemes: &'static [&'static str],
    pub about: &'static str,
    /// The names of the private servers that étalon can start of it, as in `server = { engine = "…" }`: several where
    /// products of different names speak one protocol. Empty where it can start none.
    pub private_servers: &'static [&'static str],
    /// Its ways to take a backup, its first choice first.
    pub backups: &'static [BackupMethod],
    /// Whether it is shown to users; the simulator is not.
    pub visibility: Visibility,
    /// What a reader of its figures must know.
    pub cautions: &'static [Caution],
}

/// A sentence without a capital letter and a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// The licence does not let everybody publish what they measured: a "DeWitt clause", after the author of the benchmark
    /// of 1983 that first moved a vendor to write one.
    Publication(&'static str),
    /// Étalon itself has not met the real engine.
    Untried(&'static str),
}

impl Caution {
    pub fn text(self) -> &'static str {
        match self {
            Caution::Publication(text) | Caution::Untried(text) => text,
        }
    }

    /// The fact that keeps it with the results.
    pub fn fact(self) -> &'static str {
        match self {
            Caution::Publication(_) => PUBLICATION,
            Caution::Untried(_) => UNTRIED,
        }
    }
}

/// Whether an entry shows in lists, schemas and hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Public,
    Hidden,
}

#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub engines: Vec<EngineSpec>,
    pub workloads: Vec<WorkloadSpec>,
}

impl Catalog {
    pub fn engine_of_url(&self, url: &str) -> Option<&EngineSpec> {
        let scheme = url.split_once(':')?.0;
        self.engines.iter().find(|e| e.schemes.contains(&scheme))
    }

    pub fn engine(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|e| e.name == name)
    }

    /// The engine of which étalon starts a private server of that name.
    pub fn engine_of_server(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|e| e.private_servers.contains(&name))
    }

    pub fn workload(&self, name: &str) -> Option<&WorkloadSpec> {
        self.workloads.iter().find(|w| w.name == name)
    }
}
