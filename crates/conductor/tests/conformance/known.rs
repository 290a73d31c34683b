//! What the suite must know of an engine and cannot ask it: `conformance.toml` in the engine's folder has a section for each
//! engine of that folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use model::Value;
use serde::Deserialize;

/// Folder of the engines, and that of the template, from this crate's.
const ENGINES: &str = "../engines/src";
const TEMPLATE: &str = "../engines/tests/example";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// A query for the release.
    pub version: String,
    /// A query for a setting that is in force, with `{}` in the place of its name.
    #[serde(default)]
    pub settings: Option<String>,
    /// Settings that the facts show in words, and the query as numbers.
    #[serde(default)]
    pub in_words: Vec<String>,
    /// A setting to try.
    #[serde(default)]
    pub setting: Option<Setting>,
    /// How two transactions that change one row end; absent where the suite has no way to make them meet.
    #[serde(default)]
    pub conflict: Option<Conflict>,
    /// The feature without which a build refuses the engine.
    #[serde(default)]
    pub feature: Option<String>,
    /// The variable with the URL of a server, where étalon starts none.
    #[serde(default)]
    pub named_by: Option<String>,
    /// Debian has no package of it, so that there may be no installed one.
    #[serde(default)]
    pub not_packaged: bool,
}

/// A setting, and what a plan sets it to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub name: String,
    plan: String,
    /// The value as the facts show it.
    pub fact: String,
}

/// How the later of two transactions that change one row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// It waits for the lock, and is refused after the second that [`Known::setting`] allows.
    Waits,
    /// It is refused without waiting, as engines do that lock nothing.
    AtOnce,
}

impl Setting {
    /// Takes another value, which the facts show as it is.
    pub fn change(&mut self, value: &str) {
        (self.plan, self.fact) = (value.to_owned(), value.to_owned());
    }

    pub fn value(&self) -> Value {
        self.plan.parse().map_or_else(|_| Value::Text(self.plan.clone()), Value::Int)
    }
}

impl Conflict {
    /// Holds how long the later transaction took to be refused.
    pub fn hold(self, waited: Duration) {
        let waited_s = waited.as_secs_f64();
        match self {
            Conflict::Waits => {
                assert!((0.5..6.0).contains(&waited_s), "a lock is waited for {waited_s} s, and the plan says 1 s");
            }
            Conflict::AtOnce => {
                // Who waits has waited for a second; a busy machine may take a while for what needs none.
                assert!(waited_s < 0.9, "a conflict is said to end at once, and took {waited_s} s");
            }
        }
    }
}

static ALL: LazyLock<BTreeMap<String, Known>> = LazyLock::new(|| {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = std::fs::read_dir(here.join(ENGINES)).unwrap().map(|entry| entry.unwrap().path());
    let read = |folder: PathBuf| {
        let path = folder.join("conformance.toml");
        let text = std::fs::read_to_string(&path).ok()?;
        let known: BTreeMap<String, Known> =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Some(known)
    };
    folders.chain([here.join(TEMPLATE)]).filter_map(read).flatten().collect()
});

/// What is known of an engine; nothing of one that answers no statements, or simulates them.
pub fn of(engine: &str) -> Option<&'static Known> {
    ALL.get(engine)
}
