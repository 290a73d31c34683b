//! Which crate may depend on which: the table of rooms in the design, checked in the manifests.

use std::path::Path;

use anyhow::{Context, Result};

use super::Finding;

/// The document with the drawing.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Every crate under `crates/` and what it knows. `xtask` knows none.
const ROOMS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("stats", &[]),
    ("wire", &[]),
    ("host", &["model"]),
    ("store", &["host", "model"]),
    ("formats", &["stats", "model"]),
    ("audit", &["formats", "stats", "model"]),
    ("load", &["host", "stats", "model"]),
    ("workloads", &["formats", "load", "host", "stats", "model"]),
    ("engines", &["workloads", "load", "wire", "host", "model"]),
    ("conductor", &["engines", "workloads", "load", "host", "store", "model"]),
    ("fleet", &["conductor", "workloads", "load", "host", "store", "model"]),
    ("report", &["store", "stats", "model"]),
    (
        "cli",
        &["fleet", "conductor", "workloads", "load", "report", "audit", "formats", "store", "host", "stats", "model"],
    ),
    ("xtask", &[]),
];

/// Finds manifests of crates that know a crate that they must not, and a drawing that is not theirs.
///
/// # Errors
///
/// When one cannot be read or is no TOML.
pub fn check_all(root: &Path, files: &[String]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        let room = folder.strip_prefix("crates/").unwrap_or(folder);
        // `fuzz` is a workspace of its own: it knows whatever it feeds.
        if room == "fuzz" {
            continue;
        }
        let text = std::fs::read_to_string(root.join(path)).context(path.clone())?;
        match room.split('/').collect::<Vec<&str>>()[..] {
            [room] => findings.extend(check_manifest(path, room, &text)?),
            ["engines", .., engine, "ffi"] => findings.extend(check_foreign(path, engine, &text)?),
            _ if path.starts_with("crates/") => {
                let advice = "a crate is a folder of crates/, or `ffi` in the folder of an engine".to_owned();
                findings.push(Finding { path: path.clone(), line: 1, rule: "rooms", item: "place".into(), advice });
            }
            _ => {}
        }
    }
    let text = std::fs::read_to_string(root.join(ARCHITECTURE)).context(ARCHITECTURE)?;
    if !text.contains(&rooms_drawing()) {
        let advice = format!("the drawing of the rooms is\n{}", rooms_drawing());
        findings.push(Finding { path: ARCHITECTURE.into(), line: 1, rule: "rooms", item: "drawing".into(), advice });
    }
    Ok(findings)
}

/// Draws the rooms with what they know, as the document has them.
fn rooms_drawing() -> String {
    format!(
        "```rooms\n{}```\n",
        ROOMS
            .iter()
            .rev()
            .map(|(room, knows)| match knows {
                [] => format!("{room:<9} ─▶ nothing\n"),
                knows => format!("{room:<9} ─▶ {}\n", knows.join(" ")),
            })
            .collect::<String>()
    )
}

/// Finds what is wrong in a room's manifest: its name, or a dependency on a room that it must not know.
fn check_manifest(path: &str, room: &str, text: &str) -> Result<Vec<Finding>> {
    let manifest: toml::Table = toml::from_str(text).context(path.to_owned())?;
    let mut findings = Vec::new();
    let mut report = |item: &str, advice: String| {
        findings.push(Finding {
            path: path.to_owned(),
            line: 1 + text.lines().position(|line| line.trim_start().starts_with(item)).unwrap_or(0),
            rule: "rooms",
            item: item.to_owned(),
            advice,
        });
    };
    let package = manifest.get("package").and_then(|p| p.get("name"));
    if package.and_then(toml::Value::as_str) != Some(room) {
        report("name", format!("call the crate {room}, as its folder"));
    }
    let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        report("[package]", format!("add {room} to ROOMS in xtask and to the design"));
        return Ok(findings);
    };
    for name in dependency_names(&manifest) {
        let is_ours = ROOMS.iter().any(|(ours, _)| *ours == name);
        if is_ours && !allowed.contains(&name.as_str()) {
            let known = match allowed {
                [] => "none of our crates".to_owned(),
                names => format!("only {}", names.join(", ")),
            };
            report(&name, format!("{room} does not know {name}: {known}"));
        }
    }
    Ok(findings)
}

/// Finds what is wrong in the manifest of a library in C: its name, or that it knows a crate of ours.
/// It holds calls of the library and nothing else.
fn check_foreign(path: &str, engine: &str, text: &str) -> Result<Vec<Finding>> {
    let manifest: toml::Table = toml::from_str(text).context(path.to_owned())?;
    let name = format!("{engine}-ffi");
    let package = manifest.get("package").and_then(|package| package.get("name"));
    let is_named = package.and_then(toml::Value::as_str) == Some(&name);
    let misnamed =
        (!is_named).then(|| foreign_finding(path, "name", format!("call the crate {name}, as its engine's folder")));
    let known = dependency_names(&manifest).into_iter().filter(|name| ROOMS.iter().any(|(ours, _)| ours == name));
    let known =
        known.map(|room| foreign_finding(path, &room, format!("{name} knows no crate of ours, and not {room}")));
    Ok(misnamed.into_iter().chain(known).collect())
}

/// Makes a finding about the crate of a library in C.
fn foreign_finding(path: &str, item: &str, advice: String) -> Finding {
    let item = item.to_owned();
    Finding { path: path.to_owned(), line: 1, rule: "rooms", item, advice }
}

/// Lists the packages in every table of dependencies: plain, dev, build, and for one platform.
fn dependency_names(manifest: &toml::Table) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else {
            continue;
        };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                names.extend(table.iter().map(|(name, dependency)| {
                    let renamed = dependency.get("package").and_then(toml::Value::as_str);
                    renamed.unwrap_or(name).to_owned()
                }));
            }
            "target" => {
                let platforms = table.values().filter_map(toml::Value::as_table);
                names.extend(platforms.flat_map(dependency_names));
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arrow_leads_upwards() {
        for (place, (room, knows)) in ROOMS.iter().enumerate() {
            for known in *knows {
                assert!(
                    ROOMS[..place].iter().any(|(name, _)| name == known),
                    "{room} knows {known}, which is above it"
                );
            }
        }
    }

    #[test]
    fn a_dependency_against_the_direction_is_found_in_every_kind_of_table() {
        for table in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"] {
            let text = format!(
                "[package]\nname = \"report\"\n[{table}]\nstore.workspace = true\n\
                 conductor.workspace = true\n"
            );
            let found = check_manifest("crates/report/Cargo.toml", "report", &text).unwrap();
            assert_eq!(
                found[0].to_string(),
                "crates/report/Cargo.toml:5: rooms: report does not know conductor: only store, stats, model"
            );
            assert_eq!(found.len(), 1);
        }
    }

    #[test]
    fn a_renamed_dependency_is_still_ours() {
        let text = "[package]\nname = \"stats\"\n[dependencies]\nm = { package = \"model\", path = \"../model\" }\n";
        assert_eq!(check_manifest("crates/stats/Cargo.toml", "stats", text).unwrap().len(), 1);
    }

    #[test]
    fn an_unknown_crate_and_a_wrong_name_are_found() {
        let found = check_manifest("crates/x/Cargo.toml", "x", "[package]\nname = \"y\"\n").unwrap();
        assert_eq!((found.len(), found[0].line), (2, 2));
    }

    #[test]
    fn the_crate_of_a_library_in_c_knows_none_of_ours() {
        let good = "[package]\nname = \"abc-ffi\"\n[dependencies]\nlibabc-sys = \"1\"\n";
        let path = "crates/engines/src/abc/ffi/Cargo.toml";
        assert_eq!(check_foreign(path, "abc", good).unwrap(), []);
        let found =
            check_foreign(path, "abc", "[package]\nname = \"x\"\n[dependencies]\nload.workspace = true\n").unwrap();
        let items: Vec<&str> = found.iter().map(|one| &*one.item).collect();
        assert_eq!(items, ["name", "load"]);
    }
}
