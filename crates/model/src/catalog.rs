//! What a plan may name: the engines and the workloads that this build knows.
//!
//! The registry of the engine room fills a [`Catalog`]; plan validation, the JSON Schema and `etalon list` read it. So
//! a new workload or database appears in all three by its registry line alone.

use crate::value::{Point, Value};

/// A constant that can stand in a `static` description of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(&'static str),
    /// Nothing: the key may be left out, and a point of the sweep then has no value for it. So keys that few plans
    /// write do not stand in every cell, and plans that were written before the key came keep their hash.
    Absent,
}

impl Literal {
    /// The value; nothing for [`Literal::Absent`].
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
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number within limits, both inclusive.
    Float {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `true` or `false`.
    Bool,
    /// One of a closed list of words.
    Choice(&'static [&'static str]),
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
    /// Free text.
    Text,
}

/// One key that a workload understands in `[[benchmarks]]`.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// The key as it is written. `pool.size` is the entry `size` of the inline table `pool`.
    pub name: &'static str,
    /// What it takes.
    pub kind: KeyKind,
    /// What it is when not written; `None` makes it required, [`Literal::Absent`] leaves it out.
    pub default: Option<Literal>,
    /// One sentence: what it is, with its unit.
    pub about: &'static str,
}

impl KeySpec {
    /// A key that is `default` when not written.
    #[must_use]
    pub const fn new(name: &'static str, kind: KeyKind, default: Literal, about: &'static str) -> KeySpec {
        KeySpec { name, kind, default: Some(default), about }
    }

    /// A key that a point of the sweep goes without when it is not written.
    #[must_use]
    pub const fn optional(name: &'static str, kind: KeyKind, about: &'static str) -> KeySpec {
        KeySpec::new(name, kind, Literal::Absent, about)
    }
}

/// A workload as plans name it.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadSpec {
    /// The name in `workload = "…"`.
    pub name: &'static str,
    /// The family: transactions, pages, spatial, backup, disk.
    pub family: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The unit in which its rate is told while a trial runs: `tx/s`, `io/s`.
    pub rate_unit: &'static str,
    /// Its keys.
    pub keys: &'static [KeySpec],
    /// Those of its keys that mean nothing at a point of a sweep, so that points which differ in them alone are one:
    /// [`no_idle_keys`] if there are none.
    pub idle: fn(&Point) -> &'static [&'static str],
}

/// Of a workload whose keys mean something at every point.
pub fn no_idle_keys(_: &Point) -> &'static [&'static str] {
    &[]
}

/// An engine as plans name it.
#[derive(Clone, Copy, Debug)]
pub struct EngineSpec {
    /// The name, as in `etalon list`.
    pub name: &'static str,
    /// The URL schemes that lead to it, without the colon.
    pub schemes: &'static [&'static str],
    /// One sentence.
    pub about: &'static str,
    /// The names of the private servers that étalon can start of it, as in `server = { engine = "…" }`: several where
    /// products of different names speak one protocol. Empty where it can start none.
    pub private_servers: &'static [&'static str],
    /// Whether it is shown to users; the simulator is not.
    pub visibility: Visibility,
    /// Whether what is measured of it may be published.
    pub publication: Publication,
}

/// Whether an engine's licence lets everybody publish what they have measured of it. Licences that do not are said to
/// have a "DeWitt clause", after the author of the benchmark of 1983 that first moved a vendor to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// It does, or says nothing of it.
    Free,
    /// It does not: what to keep in mind, as a sentence without a capital letter and a full stop.
    Restricted(&'static str),
}

/// Whether an entry shows in lists, schemas and hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Shown.
    Public,
    /// Understood, not shown.
    Hidden,
}

/// Everything that a plan may name.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The engines.
    pub engines: Vec<EngineSpec>,
    /// The workloads.
    pub workloads: Vec<WorkloadSpec>,
}

impl Catalog {
    /// The engine that a URL leads to, by its scheme.
    pub fn engine_of_url(&self, url: &str) -> Option<&EngineSpec> {
        let scheme = url.split_once(':')?.0;
        self.engines.iter().find(|e| e.schemes.contains(&scheme))
    }

    /// The engine of that name.
    pub fn engine(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|e| e.name == name)
    }

    /// The engine of which étalon starts a private server of that name.
    pub fn engine_of_server(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|e| e.private_servers.contains(&name))
    }

    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Option<&WorkloadSpec> {
        self.workloads.iter().find(|w| w.name == name)
    }
}
