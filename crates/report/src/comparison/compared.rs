//! What was compared and on what, in a few lines: products, what differs between them, the machine, the design.

use model::Facts;
use model::facts::Difference;

use super::projection::KEY_SYSTEM;
use super::set::ComparisonSet;
use crate::evidence::{Evidence, IMPORTED};
use crate::labels::{created_text, design_sentence};
use crate::text::{clean_text, clip_to_width, clipped_apart, pair_apart};

/// Up to this many systems have a line of their own.
const SYSTEMS: usize = 3;
/// Number of settings that are named.
const SETTINGS: usize = 3;
/// Letters of a name, and of a setting's value.
const NAME: usize = 24;
const VALUE: usize = 16;
/// Letters of a change's statement.
const CHANGE: usize = 60;

/// Says what was compared in at most five lines: systems, machine, design and time.
pub fn compared_lines(evidence: &Evidence, set: &ComparisonSet) -> Vec<String> {
    let systems: Vec<&str> = evidence.header.plan.systems.iter().map(|system| system.name.as_str()).collect();
    let shown = if systems.len() > SYSTEMS { SYSTEMS - 1 } else { SYSTEMS };
    let mut lines: Vec<String> =
        systems.iter().take(shown).map(|name| side_line(evidence, set, name, &systems)).collect();
    let names = clipped_names(&systems);
    if systems.len() > shown {
        lines.push(format!(
            "and {}: {}",
            systems.len() - shown,
            names.iter().skip(shown).map(String::as_str).collect::<Vec<_>>().join(", ")
        ));
    }
    lines.extend(machine_lines(evidence));
    let when = created_text(evidence);
    // When several experiments ran stands in a note.
    let when = set.apart.is_none().then(|| format!(", {} UTC", when.get(..16).unwrap_or_default()));
    lines.push(format!("{}{}", design_sentence(set), when.unwrap_or_default()));
    lines
}

/// The words `On this machine` if every system was there; empty if it was not or that is not known.
pub fn place_words(evidence: &Evidence) -> &'static str {
    let plan = &evidence.header.plan;
    let is_local = evidence.header.build != IMPORTED
        && plan.fleet.is_none()
        && plan.systems.iter().all(|system| {
            evidence.facts_of(&system.name).is_some_and(|facts| facts.get("data_directory.path").is_some())
        });
    if is_local { "On this machine" } else { "" }
}

/// Says which side may lose commits that the other keeps, if there is a verdict; `None` if they promise the same.
pub fn lesser_promise_sentence(evidence: &Evidence, set: &ComparisonSet) -> Option<String> {
    let judged = set.tables.iter().filter(|table| table.rows.iter().any(|row| row.verdict().is_some()));
    let lesser = judged.filter(|table| table.compared == KEY_SYSTEM).find_map(|table| {
        let (a, b) = (tier_of_system(evidence, &table.a)?, tier_of_system(evidence, &table.b)?);
        (a != b).then_some(if a < b { (&table.a, &table.b) } else { (&table.b, &table.a) })
    });
    let [less, more] = lesser.map(|(less, more)| pair_apart(&clean_text(less), &clean_text(more), NAME))?;
    Some(format!("But {less} may lose commits that {more} keeps."))
}

/// The durability of a system's commits; `None` if it is not known.
fn tier_of_system(evidence: &Evidence, system: &str) -> Option<model::DurabilityTier> {
    Some(evidence.durability_of(system)?.tier)
}

/// Writes the line of a side: `A  wal: SQLite 3.46.1, journal_mode wal`.
fn side_line(evidence: &Evidence, set: &ComparisonSet, name: &str, systems: &[&str]) -> String {
    let letter = match set.tables.as_slice() {
        [first, ..] if systems.len() == 2 && first.compared == KEY_SYSTEM && first.a == name => "A  ",
        [first, ..] if systems.len() == 2 && first.compared == KEY_SYSTEM && first.b == name => "B  ",
        _ => "",
    };
    let at = systems.iter().position(|system| *system == name);
    let shown = at.and_then(|at| clipped_names(systems).into_iter().nth(at)).unwrap_or_default();
    let Some(facts) = evidence.facts_of(name) else { return format!("{letter}{shown}") };
    let product = product_text(facts);
    let others = systems.iter().filter(|other| **other != name).filter_map(|other| evidence.facts_of(other));
    let change = evidence.header.plan.system(name).and_then(|system| system.change.as_ref());
    let change =
        change.into_iter().flat_map(|change| &change.make).map(|text| clip_to_width(&clean_text(text), CHANGE));
    let parts: Vec<String> =
        [product].into_iter().filter(|text| !text.is_empty()).chain(own_facts(facts, others)).chain(change).collect();
    if parts.is_empty() { format!("{letter}{shown}") } else { format!("{letter}{shown}: {}", parts.join(", ")) }
}

/// Clips the systems' names so that they still differ.
fn clipped_names(systems: &[&str]) -> Vec<String> {
    let names: Vec<String> = systems.iter().map(|name| clean_text(name)).collect();
    clipped_apart(&names.iter().map(String::as_str).collect::<Vec<_>>(), NAME)
}

/// Names product and version, `PostgreSQL 15.4`, without what a distribution adds to a version.
fn product_text(facts: &Facts) -> String {
    let [product, version] =
        ["server.product", "server.version"].map(|fact| facts.get(fact).map(clean_text).unwrap_or_default());
    let version = version.split(" (").next().unwrap_or_default();
    let version = version.strip_prefix(product.as_str()).unwrap_or(version).trim();
    let version = if version.starts_with(|c: char| c.is_ascii_digit()) {
        version.split(['-', '+']).next()
    } else {
        Some(version)
    };
    [product.as_str(), version.unwrap_or_default()].join(" ").trim().to_owned()
}

/// Lists settings, storage and platform in which a system differs from others of the same product.
fn own_facts<'f>(facts: &Facts, others: impl Iterator<Item = &'f Facts>) -> Vec<String> {
    const PLATFORM: [&str; 5] =
        ["os.name", "os.version", "cpu.model", "data_directory.filesystem", "data_directory.device"];
    let mut names: Vec<String> = Vec::new();
    for Difference { name, .. } in others
        .filter(|other| other.get("server.product") == facts.get("server.product"))
        .flat_map(|other| facts.differences(other))
    {
        if (name.starts_with("setting.") || name.starts_with("volume.") || PLATFORM.contains(&name.as_str()))
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let mut settings: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let value = clip_to_width(&clean_text(facts.get(name)?), VALUE);
            let setting =
                name.split_once('.').filter(|(kind, _)| ["setting", "volume"].contains(kind)).map(|(_, own)| own);
            Some(setting.map_or_else(|| value.clone(), |setting| format!("{} {value}", clean_text(setting))))
        })
        .collect();
    let more = settings.len().saturating_sub(SETTINGS);
    settings.truncate(SETTINGS);
    if more > 0 {
        settings.push(format!("and {more} more"));
    }
    settings
}

/// Describes the machines, one line if they are alike, else one for each that made load.
fn machine_lines(evidence: &Evidence) -> Vec<String> {
    let all: Vec<(&str, String)> = evidence
        .load_generators()
        .into_iter()
        .filter_map(|(subject, client)| Some((subject, machine_text(evidence, client)?)))
        .collect();
    match all.as_slice() {
        [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => vec![first.clone()],
        several => several.iter().map(|(subject, machine)| format!("{subject}: {machine}")).collect(),
    }
}

/// Describes the machine that made the load: `Debian GNU/Linux 12, 2 × AMD EPYC, 23.5 GiB memory, ext4 on vda`.
fn machine_text(evidence: &Evidence, client: &Facts) -> Option<String> {
    let system = [clean_fact(client, "os.name"), clean_fact(client, "os.version")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let cores = clean_fact(client, "cpu.available").or_else(|| clean_fact(client, "cpu.threads"));
    let processor = match (cores, clean_fact(client, "cpu.model")) {
        (Some(cores), Some(model)) => format!("{cores} × {model}"),
        (cores, model) => cores.map(|cores| format!("{cores} processors")).or(model).unwrap_or_default(),
    };
    let guest = clean_fact(client, "virtualisation").filter(|found| found != "none seen");
    let guest = guest.map(|found| found.rsplit(": ").next().unwrap_or_default().to_owned());
    let processor = guest.map_or_else(|| processor.clone(), |guest| format!("{processor} under {guest}"));
    let memory = clean_fact(client, "memory.total").map(|memory| format!("{memory} memory"));
    let disks = evidence.header.plan.systems.iter().filter_map(|system| evidence.facts_of(&system.name));
    let mut disk: Vec<String> = disks
        .filter_map(|facts| {
            let device = clean_fact(facts, "data_directory.device");
            let filesystem = clean_fact(facts, "data_directory.filesystem")?;
            Some(device.map_or_else(|| filesystem.clone(), |device| format!("{filesystem} on {device}")))
        })
        .collect();
    disk.dedup();
    let parts = [Some(system), Some(processor), memory, (disk.len() == 1).then(|| disk.swap_remove(0))];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A fact's value, cleaned for a terminal.
fn clean_fact(facts: &Facts, name: &str) -> Option<String> {
    facts.get(name).map(clean_text)
}
