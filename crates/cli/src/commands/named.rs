//! Everything that has a name in plans and on the command line: what `etalon list` lists and `etalon show` shows.

use std::fmt::Write as _;

use model::catalog::{EngineSpec, Visibility};
use model::{Catalog, KeySpec, WorkloadSpec};
use report::text::wrap_to_width;
use serde_json::json;
use workloads::{smack, transactions};

use crate::source::{self, BUILT_IN};

/// A longer name gets a line of its own.
const NAME_WIDTH: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plan,
    /// In pgbench's language.
    Script,
    /// A script in super-smack's language.
    SmackScript,
    Workload,
    Engine,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Plan, Kind::Script, Kind::SmackScript, Kind::Workload, Kind::Engine];

    /// The kind's word, which before a colon distinguishes two things of the same name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Plan => "plan",
            Kind::Script => "script",
            Kind::SmackScript => "smack",
            Kind::Workload => "workload",
            Kind::Engine => "engine",
        }
    }

    /// The heading of a list of this kind, with how one is named.
    pub fn heading(self) -> &'static str {
        match self {
            Kind::Plan => "built-in plans (etalon run NAME)",
            Kind::Script => "scripts of transactions (script = \"NAME\")",
            Kind::SmackScript => "scripts of super-smack (script = \"NAME\")",
            Kind::Workload => "workloads (workload = \"NAME\")",
            Kind::Engine => "engines (url = \"SCHEME:…\")",
        }
    }

    /// The name of the kind's array in JSON.
    pub fn array_name(self) -> &'static str {
        match self {
            Kind::Plan => "plans",
            Kind::Script => "scripts",
            Kind::SmackScript => "smack_scripts",
            Kind::Workload => "workloads",
            Kind::Engine => "engines",
        }
    }
}

/// Something that has a name.
#[derive(Clone, Copy, Debug)]
pub enum Named<'c> {
    /// Plans and scripts: kind, name, text.
    Text(Kind, &'static str, &'static str),
    Workload(&'c WorkloadSpec),
    Engine(&'c EngineSpec),
}

impl Named<'_> {
    /// The kind of thing that this names.
    pub fn kind(&self) -> Kind {
        match self {
            Named::Text(kind, ..) => *kind,
            Named::Workload(_) => Kind::Workload,
            Named::Engine(_) => Kind::Engine,
        }
    }

    /// The name in plans and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Named::Text(_, name, _) => name,
            Named::Workload(workload) => workload.name,
            Named::Engine(engine) => engine.name,
        }
    }

    /// Describes the entry in a sentence.
    pub fn about(&self) -> String {
        match self {
            Named::Text(_, _, text) => source::first_sentence(text),
            Named::Workload(workload) => workload.about.to_owned(),
            Named::Engine(engine) => engine.about.to_owned(),
        }
    }

    /// Whether a name is its own or that of a server that it starts.
    fn answers_to(&self, name: &str) -> bool {
        self.name() == name || matches!(self, Named::Engine(engine) if engine.private_servers.contains(&name))
    }

    /// The whole text of a plan or a script; of anything else its entry in the list.
    pub fn full_text(&self, width: usize) -> String {
        match self {
            Named::Text(_, _, text) => (*text).to_owned(),
            _ => self.list_entry(width),
        }
    }

    /// Writes the name and a sentence, with its keys or URLs and notes below.
    pub fn list_entry(&self, width: usize) -> String {
        let mut text = entry_line(self.name(), &self.about(), 0, width);
        match self {
            Named::Text(..) => {}
            Named::Workload(workload) => {
                text.extend(workload.keys.iter().map(|key| entry_line(key.name, &about_key(key), 2, width)));
            }
            Named::Engine(engine) => {
                let schemes: Vec<String> = engine.schemes.iter().map(|scheme| format!("`{scheme}:`")).collect();
                text += &entry_line("", &format!("URLs begin with {}", schemes.join(" or ")), 0, width);
                if !engine.private_servers.is_empty() {
                    let servers = engine.private_servers.join(", ");
                    text += &entry_line("", &format!("private servers: {servers}"), 0, width);
                }
                text.extend(
                    engine
                        .cautions
                        .iter()
                        .map(|caution| entry_line("", &format!("note: {}", caution.text()), 0, width)),
                );
            }
        }
        text
    }

    /// Writes the entry as JSON, with keys or schemes and notes.
    pub fn as_json(&self) -> serde_json::Value {
        let mut object = json!({ "name": self.name(), "about": self.about() });
        match self {
            Named::Text(..) => {}
            Named::Workload(workload) => {
                object["keys"] =
                    workload.keys.iter().map(|key| json!({ "name": key.name, "about": about_key(key) })).collect();
            }
            Named::Engine(engine) => {
                object["schemes"] = json!(engine.schemes);
                object["private_servers"] = json!(engine.private_servers);
                object["notes"] = engine.cautions.iter().map(|caution| caution.text()).collect();
            }
        }
        object
    }
}

/// Everything that has a name, in the order of [`Kind::ALL`].
pub fn all_named(catalog: &Catalog) -> Vec<Named<'_>> {
    let plans = BUILT_IN.iter().map(|plan| Named::Text(Kind::Plan, plan.name, plan.text));
    let smack = smack::BUILT_IN.iter().map(|script| Named::Text(Kind::SmackScript, script.name, script.text));
    let public = catalog.engines.iter().filter(|engine| engine.visibility == Visibility::Public);
    plans
        .chain(
            transactions::SCRIPTS
                .iter()
                .filter_map(|name| Some(Named::Text(Kind::Script, name, transactions::built_in_script(name)?))),
        )
        .chain(smack)
        .chain(catalog.workloads.iter().map(Named::Workload))
        .chain(public.map(Named::Engine))
        .collect()
}

/// Finds what is called `NAME` or `KIND:NAME`, most often one entry.
pub fn find_named<'n, 'c>(named: &'n [Named<'c>], what: &str) -> Vec<&'n Named<'c>> {
    let (kind, name) = match what.split_once(':') {
        Some((kind, name)) if Kind::ALL.iter().any(|known| known.as_str() == kind) => (Some(kind), name),
        _ => (None, what),
    };
    named.iter().filter(|one| one.answers_to(name) && kind.is_none_or(|kind| one.kind().as_str() == kind)).collect()
}

/// The names of all entries and private servers, sorted, each once.
pub fn all_names<'n>(named: &'n [Named<'_>]) -> Vec<&'n str> {
    let mut names: Vec<&str> = named
        .iter()
        .map(Named::name)
        .chain(
            named
                .iter()
                .flat_map(|one| match one {
                    Named::Engine(engine) => engine.private_servers,
                    _ => &[],
                })
                .copied(),
        )
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Describes a key in a sentence, with its default.
fn about_key(key: &KeySpec) -> String {
    match key.default.map(model::Literal::to_value) {
        None => format!("{} (required)", key.about),
        Some(Some(default)) if default.as_text() == Some("") => format!("{} (default empty)", key.about),
        Some(Some(default)) => format!("{} (default {default})", key.about),
        // The sentence says what happens without the key.
        Some(None) => key.about.to_owned(),
    }
}

/// Writes a name and its description, wrapped, further lines indented to the first word.
pub fn entry_line(name: &str, about: &str, indent: usize, width: usize) -> String {
    let mut text = String::new();
    let column = indent + NAME_WIDTH;
    let mut name = name;
    if name.chars().count() >= NAME_WIDTH {
        let _ = writeln!(text, "{:indent$}{name}", "");
        name = "";
    }
    for line in wrap_to_width(about, width.saturating_sub(column).max(20), 0).lines() {
        let _ = writeln!(text, "{:indent$}{name:<NAME_WIDTH$}{line}", "");
        name = "";
    }
    text
}

/// Wraps words into lines that begin two columns in.
pub fn fill_words<'w>(words: impl IntoIterator<Item = &'w str>, width: usize) -> String {
    let mut text = String::new();
    let mut used = usize::MAX;
    for word in words {
        let length = word.chars().count() + 2;
        if used.saturating_add(length) > width {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            used = 0;
        }
        text.push_str("  ");
        text.push_str(word);
        used += length;
    }
    text.push('\n');
    text
}
