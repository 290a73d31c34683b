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
    /// Converts the literal to a value of a plan; `None` if it stands for no value.
    pub fn to_value(self) -> Option<Value> {
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
    /// A share from 0 to 1, also written with its sign: `"0.1 %"`; kept as the number.
    Share,
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
    /// The name as plans write it. `pool.size` is the entry `size` of the inline table `pool`.
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
    /// The unit in which its rate is shown during a run: `tx/s`, `io/s`.
    pub rate_unit: &'static str,
    pub keys: &'static [KeySpec],
    /// Keys that mean nothing at a point of a sweep: points that differ in them alone are one.
    pub idle: fn(&Point) -> &'static [&'static str],
}

/// Finds no idle keys: every key of the workload means something at every point.
pub fn no_idle_keys(_: &Point) -> &'static [&'static str] {
    &[]
}

/// A program that hands connections on to a server, as in `server = { engine = "…", pooler = "…" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolerSpec {
    pub name: &'static str,
    /// How it lends the server's sessions to clients; the first one is what it does unless asked.
    pub modes: &'static [&'static str],
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
    /// The URL that the engine's name alone stands for, where étalon makes what it leads to by itself: a file, or files
    /// in this folder. None where the name alone stands for a private server, or for nothing.
    pub own_url: Option<&'static str>,
    /// Makes a URL of an address in another form that the engine's own clients take, such as `host=db1 dbname=shop`; it gives none
    /// for a text in no such form.
    pub other_address: Option<fn(&str) -> Option<String>>,
    /// The workload by which systems of it are compared unless something else is asked.
    pub workload: &'static str,
    /// Its ways to take a backup, its first choice first.
    pub backups: &'static [BackupMethod],
    /// The poolers that étalon can start in front of its private servers.
    pub poolers: &'static [PoolerSpec],
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
    /// The caution's sentence.
    pub fn text(self) -> &'static str {
        match self {
            Caution::Publication(text) | Caution::Untried(text) => text,
        }
    }

    /// Names the fact that keeps the caution with the results.
    pub fn fact_name(self) -> &'static str {
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

/// Whether a text is the number of a release: `18`, `10.11`.
pub fn is_release(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a release is the one asked for or one of its minor releases: `15.14` is a `15`.
pub fn is_of_release(found: &str, asked: &str) -> bool {
    found.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What a short name stands for, as in `etalon run postgres:18 sqlite`: something that étalon makes, measures and
/// removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnSystem {
    /// `server = { engine, version }`.
    Server {
        engine: &'static str,
        version: Option<String>,
    },
    Url(&'static str),
    /// The engine is known, and étalon makes nothing of it: the first of its URL schemes.
    Nothing(&'static str),
}

#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub engines: Vec<EngineSpec>,
    pub workloads: Vec<WorkloadSpec>,
}

impl Catalog {
    /// Finds the engine that has the scheme of a URL.
    pub fn engine_of_url(&self, url: &str) -> Option<&EngineSpec> {
        let scheme = url.split_once(':')?.0;
        self.engines.iter().find(|e| e.schemes.contains(&scheme))
    }

    /// Converts an address that an engine's own clients take in another form to a URL.
    pub fn url_of_address(&self, text: &str) -> Option<String> {
        self.engines.iter().find_map(|engine| engine.other_address?(text))
    }

    /// Finds an engine by its name.
    pub fn engine(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|e| e.name == name)
    }

    /// Finds the engine of which étalon starts a private server of that name.
    pub fn engine_of_server(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|e| e.private_servers.contains(&name))
    }

    /// Finds the system that a short name stands for: a private server, the URL of a file, or nothing to start.
    /// The name is that of an engine, of one of its URL schemes or of one of its private servers, the last also with a
    /// release behind it, as in `NAME:18`.
    pub fn own_system(&self, text: &str) -> Option<OwnSystem> {
        let (name, version) = match text.split_once(':') {
            Some((name, version)) if is_release(version) => (name, Some(version.to_owned())),
            Some(_) => return None,
            None => (text, None),
        };
        let engine = self.engines.iter().filter(|engine| engine.visibility == Visibility::Public).find(|engine| {
            engine.name == name || engine.schemes.contains(&name) || engine.private_servers.contains(&name)
        })?;
        let named = engine.private_servers.iter().find(|server| **server == name);
        match (named.or(engine.private_servers.first()), engine.own_url, &version) {
            (Some(engine), _, _) => Some(OwnSystem::Server { engine, version }),
            // `NAME:18` is the URL of a file called 18.
            (None, Some(_), Some(_)) => None,
            (None, Some(url), None) => Some(OwnSystem::Url(url)),
            (None, None, _) => engine.schemes.first().map(|scheme| OwnSystem::Nothing(scheme)),
        }
    }

    /// Lists the names that [`Catalog::own_system`] makes something of.
    pub fn own_names(&self) -> Vec<&'static str> {
        let public = self.engines.iter().filter(|engine| engine.visibility == Visibility::Public);
        public
            .flat_map(|engine| {
                let file = engine.own_url.map(|_| engine.name);
                engine.private_servers.iter().copied().chain(file).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Finds a workload by its name.
    pub fn workload(&self, name: &str) -> Option<&WorkloadSpec> {
        self.workloads.iter().find(|w| w.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_numbers_and_a_minor_one_is_of_its_major_one() {
        assert!(["18", "10.11", "8.0.36"].iter().all(|text| is_release(text)));
        assert!(["", ".", "18.", "v18", "5432/db", "x.db"].iter().all(|text| !is_release(text)));
        assert!(is_of_release("15.14", "15") && is_of_release("15.14", "15.14") && is_of_release("18", "18"));
        assert!(!is_of_release("10.11.6", "10.1") && !is_of_release("8.0", "80"));
    }
}
