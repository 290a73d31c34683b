//! What a program is made of, as a CycloneDX bill of materials: the list that `cargo auditable` wrote into the very program, with
//! the licences that cargo knows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::platform::Platform;
use super::release::Release;
use super::toolchain;
use crate::run_for_output;

/// The bill of one program.
pub struct Bill {
    name: String,
    committed: String,
    crates: Vec<Crate>,
}

/// A crate that is linked in, or that helped to build.
pub struct Crate {
    pub listed: Listed,
    /// The licence as SPDX writes it.
    pub licence: Option<String>,
    /// Where its sources are.
    pub folder: PathBuf,
    description: Option<String>,
    sha256: Option<String>,
}

/// A crate of the program's own list.
#[derive(Deserialize)]
pub struct Listed {
    pub name: String,
    pub version: String,
    source: String,
    /// `build` of what is not linked in.
    kind: Option<String>,
    /// Places in the list.
    #[serde(default)]
    dependencies: Vec<usize>,
    #[serde(default)]
    root: bool,
}

#[derive(Deserialize)]
struct Listing {
    packages: Vec<Listed>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Crate {
    /// Whether the crate is in the program, and not only in what built it.
    pub fn is_linked(&self) -> bool {
        self.listed.kind.is_none()
    }

    /// Makes the crate's name in the bill: a package URL, as scanners look it up.
    fn package_url(&self) -> String {
        let Listed { name, version, .. } = &self.listed;
        match self.listed.source.as_str() {
            "crates.io" => format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")),
            _ => format!("{name}@{version}"),
        }
    }

    /// Makes the crate's entry in the bill.
    fn to_json(&self) -> Json {
        let Listed { name, version, source, root, .. } = &self.listed;
        let reference = self.package_url();
        let mut component = json!({
            "type": if *root { "application" } else { "library" },
            "bom-ref": reference,
            "name": if *root { "etalon" } else { name },
            "version": version,
            "scope": if self.is_linked() { "required" } else { "excluded" },
        });
        if source == "crates.io" {
            component["purl"] = reference.into();
        }
        if let Some(text) = &self.description {
            component["description"] = text.trim().into();
        }
        if let Some(licence) = &self.licence {
            component["licenses"] = json!([{ "expression": licence }]);
        }
        if let Some(sum) = &self.sha256 {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }
}

impl Bill {
    /// Reads the list of crates out of a program, and what cargo knows of them.
    ///
    /// # Errors
    /// It has none, or it names a crate that the workspace's lock does not.
    pub fn read_from_program(release: &Release, platform: Platform, program: &Path) -> Result<Self> {
        let listing =
            run_for_output(Command::new(toolchain::compile_tool(&release.root, "rust-audit-info")?).arg(program))?;
        let listing: Listing = serde_json::from_str(&listing).context("reading the program's list of crates")?;
        let lock = String::from_utf8(release.read_file("Cargo.lock")?).context("Cargo.lock is no text")?;
        let lock: Lock = toml::from_str(&lock).context("reading Cargo.lock")?;
        let crates =
            listing.packages.into_iter().map(|listed| describe_crate(release, &lock, listed)).collect::<Result<_>>()?;
        Ok(Self { name: platform.package_name(release), committed: release.committed.clone(), crates })
    }

    /// Lists the crates from elsewhere that are in the program.
    pub fn linked_crates(&self) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(|one| one.is_linked() && one.listed.source != "local")
    }

    /// Writes the bill as `NAME.cdx.json` into a folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let file = folder.join(format!("{}.cdx.json", self.name));
        let text = serde_json::to_string_pretty(&self.to_json()).context("writing the bill of materials")?;
        fs::write(&file, text + "\n").with_context(|| format!("writing {}", file.display()))
    }

    /// Makes the bill in CycloneDX's form.
    fn to_json(&self) -> Json {
        let root = self.crates.iter().find(|one| one.listed.root).map(Crate::to_json);
        let components: Vec<Json> = self.crates.iter().filter(|one| !one.listed.root).map(Crate::to_json).collect();
        let dependencies = self.crates.iter().map(|one| {
            let on: Vec<String> = one
                .listed
                .dependencies
                .iter()
                .filter_map(|index| self.crates.get(*index).map(Crate::package_url))
                .collect();
            json!({ "ref": one.package_url(), "dependsOn": on })
        });
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "timestamp": self.committed, "component": root },
            "components": components,
            "dependencies": dependencies.collect::<Vec<_>>(),
        })
    }
}

/// Describes a crate that a program lists, with its licence and hash.
fn describe_crate(release: &Release, lock: &Lock, listed: Listed) -> Result<Crate> {
    let Listed { name, version, .. } = &listed;
    let packages = release.metadata["packages"].as_array().context("cargo told of no packages")?;
    let found = packages.iter().find(|package| package["name"] == **name && package["version"] == **version);
    let found = found.with_context(|| format!("cargo does not know {name} {version}, which the program lists"))?;
    let text = |key: &str| found[key].as_str().map(str::to_owned);
    let manifest = text("manifest_path").context("cargo did not say where a crate is")?;
    let locked = lock.package.iter().find(|locked| locked.name == *name && locked.version == *version);
    Ok(Crate {
        // The slash is how licences were listed before SPDX's expressions.
        licence: text("license").map(|licence| licence.replace(" / ", " OR ").replace('/', " OR ")),
        folder: Path::new(&manifest).parent().context("a manifest has a folder")?.to_owned(),
        description: text("description"),
        sha256: locked.and_then(|locked| locked.checksum.clone()),
        listed,
    })
}
