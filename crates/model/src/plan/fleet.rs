//! `[fleet]`, a system's `host`, a benchmark's `clients_on` and `couples`: plans with more than one host.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::{Problems, quote};
use super::file::{BenchmarkFile, SystemFile};
use super::section::Section;
use super::tree::{Data, Located, Node, Origin};
use crate::value::Value;

/// Names the agents that make the load, separated by commas; without it the load runs on the system's own host.
pub const CLIENTS_ON: &str = "clients_on";
pub(super) const COUPLES: &str = "couples";
pub(super) const FLEET_KEYS: [&str; 5] = ["nats", "agents", "creds", "ca", "patience"];
pub(super) const ALL: &str = "all";
pub(super) const DEFAULT_PATIENCE: Duration = Duration::from_secs(30);
/// A name is part of a NATS subject.
pub(super) const AGENT_PATTERN: &str = "^[A-Za-z0-9_-]{1,64}$";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPlan {
    pub nats: String,
    /// The agents that `all` stands for.
    #[serde(default)]
    pub agents: Vec<String>,
    /// A file of credentials for the NATS server.
    #[serde(default)]
    pub creds: Option<String>,
    /// PEM file of the authority that signed the NATS server's certificate.
    #[serde(default)]
    pub ca: Option<String>,
    /// How long to wait for an agent that does not answer.
    pub patience: Duration,
    /// The agents by the systems' names.
    #[serde(default)]
    pub hosts: BTreeMap<String, String>,
}

pub(super) struct FleetFile {
    nats: Option<Located<String>>,
    agents: Vec<String>,
    creds: Option<String>,
    ca: Option<String>,
    patience: Option<Duration>,
}

#[derive(Default)]
pub(super) struct ClientsFile {
    at: Option<Origin>,
    on: Option<On>,
    couples: bool,
}

enum On {
    All,
    Agents(Vec<String>),
}

/// Reads the table `[fleet]`; `None` if it is no table.
pub(super) fn read_fleet(top: &Section<'_>, node: &Node, problems: &mut Problems<'_>) -> Option<FleetFile> {
    let Data::Table(entries) = &node.data else {
        return top.refuse("fleet", node, "a table", Some("write `[fleet]` with a `nats`".to_owned()), problems);
    };
    let section = Section { place: "`[fleet]`".to_owned(), entries };
    section.refuse_unknown(&FLEET_KEYS, |_| None, problems);
    if section.get("nats").is_none() {
        let hint = "write the URL of the NATS server: `nats = \"nats://HOST:4222\"`".to_owned();
        problems.add(&node.at, "`[fleet]` has no `nats`", Some(hint));
    }
    Some(FleetFile {
        nats: section.text("nats", problems),
        agents: section
            .get("agents")
            .and_then(|node| read_names(&section, "agents", node, problems))
            .unwrap_or_default(),
        creds: section.text("creds", problems).map(|text| text.value),
        ca: section.text("ca", problems).map(|text| text.value),
        patience: section.duration("patience", problems).map(|patience| patience.value),
    })
}

/// Reads on which hosts a benchmark's clients run.
pub(super) fn read_clients(section: &Section<'_>, problems: &mut Problems<'_>) -> ClientsFile {
    let all = section.get(COUPLES).and_then(|_| section.choice(COUPLES, &[(ALL, ())], problems)).is_some();
    let node = section.get(CLIENTS_ON);
    let on = node.and_then(|node| match &node.data {
        Data::Text(word) if word == ALL => Some(On::All),
        Data::Text(_) => names_in_list(section, CLIENTS_ON, node, std::slice::from_ref(node), problems).map(On::Agents),
        _ => read_names(section, CLIENTS_ON, node, problems).map(On::Agents),
    });
    let at = node.or_else(|| section.get(COUPLES)).map(|node| node.at.clone());
    ClientsFile { at, on, couples: all }
}

/// Reads a list of agents' names; another value is reported.
fn read_names(section: &Section<'_>, key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    match &node.data {
        Data::List(items) if !items.is_empty() => names_in_list(section, key, node, items, problems),
        _ => section.refuse(key, node, "a list of agents' names", None, problems),
    }
}

/// Reads the agents' names in a list; unfit and repeated ones are reported.
fn names_in_list(
    section: &Section<'_>,
    key: &str,
    node: &Node,
    items: &[Node],
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for item in items {
        match &item.data {
            Data::Text(name) if is_agent_name(name) => names.push(name.clone()),
            _ => {
                let expected = "a list of agents' names, of letters, digits, `-` and `_`";
                return section.refuse(key, item, expected, None, problems);
            }
        }
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        problems.add(&node.at, format!("`{key}` in {} names `{}` twice", section.place, quote(twice)), None);
    }
    Some(names)
}

/// Tests whether a text can be an agent's name.
fn is_agent_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name != ALL
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Makes the fleet's plan with the systems' hosts; agents that are named without `[fleet]` are reported.
pub(super) fn make_fleet(
    file: Option<FleetFile>,
    systems: &[SystemFile],
    benchmarks: &[BenchmarkFile],
    problems: &mut Problems<'_>,
) -> Option<FleetPlan> {
    let is_there = file.is_some();
    let mut hosts = BTreeMap::new();
    for system in systems {
        let Some(Located { value, at }) = &system.host else { continue };
        let place = format!("`host` of system `{}`", quote(&system.name));
        if !is_there {
            problems.add(at, format!("{place} names an agent, and the plan has no fleet"), hint_to_name_the_bus());
        }
        if !is_agent_name(value) {
            let how = Some("a name has letters, digits, `-` and `_`".to_owned());
            problems.add(at, format!("{place} is no name of an agent: \"{}\"", quote(value)), how);
        }
        hosts.insert(system.name.clone(), value.clone());
    }
    let named = file.as_ref().is_some_and(|file| !file.agents.is_empty());
    for benchmark in benchmarks {
        let ClientsFile { at: Some(at), on, couples } = &benchmark.clients else { continue };
        let place = format!("benchmark `{}`", quote(&benchmark.name));
        if !is_there {
            problems.add(at, format!("{place} names agents, and the plan has no fleet"), hint_to_name_the_bus());
        } else if matches!(on, Some(On::All)) && !named {
            let how = Some("list them, so that a resumed run has the same: `agents = [\"a\", \"b\"]`".to_owned());
            problems.add(at, format!("{place} is to run on all agents, and `[fleet]` does not list them"), how);
        } else if *couples && on.is_none() {
            let how = Some("write `clients_on = \"all\"`, or a list of agents".to_owned());
            problems.add(at, format!("{place} has `couples`, and no `clients_on`"), how);
        }
    }
    let file = file?;
    Some(FleetPlan {
        nats: file.nats?.value,
        agents: file.agents,
        creds: file.creds,
        ca: file.ca,
        patience: file.patience.unwrap_or(DEFAULT_PATIENCE),
        hosts,
    })
}

/// Makes the hint for a plan that names agents without `[fleet]`.
fn hint_to_name_the_bus() -> Option<String> {
    Some("name the NATS server that the agents are at: `[fleet]` with a `nats`".to_owned())
}

/// Makes the values of [`CLIENTS_ON`] in a benchmark's points: one with all agents, or each agent by itself.
pub(super) fn clients_axis(clients: &ClientsFile, fleet: Option<&FleetPlan>) -> Option<Vec<Value>> {
    let agents = match clients.on.as_ref()? {
        On::All => fleet?.agents.clone(),
        On::Agents(agents) => agents.clone(),
    };
    Some(if clients.couples {
        agents.into_iter().map(Value::Text).collect()
    } else {
        vec![Value::Text(agents.join(","))]
    })
}
