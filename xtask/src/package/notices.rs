//! The licences of what is linked in, which must be passed on with the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::bill::Bill;
use super::library;
use super::platform::Platform;

/// How files with licences are called, whatever follows.
const NAMES: [&str; 5] = ["licen", "copying", "copyright", "notice", "unlicense"];

/// Writes every licence once, under the crates that it is of, and those of what else is linked in.
///
/// # Errors
/// A crate's folder or a licence cannot be read.
pub fn notices_text(bill: &Bill, platform: Platform) -> Result<String> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut text = String::from("The crates that are linked into étalon, and their licences.\n\n");
    for one in bill.linked_crates() {
        let name = format!("{} {}", one.listed.name, one.listed.version);
        let _ = writeln!(text, "{name}: {}", one.licence.as_deref().unwrap_or("see below"));
        for licence in licence_texts(&one.folder)? {
            let of = owners.entry(licence).or_default();
            if of.last() != Some(&name) {
                of.push(name.clone());
            }
        }
    }
    let library = library::read_notices(&platform.sysroot()?)?;
    for (name, licence) in library.licences {
        owners.entry(licence).or_default().push(name);
    }
    for (licence, of) in &owners {
        let _ = write!(text, "\n{}\n{}\n\n{licence}\n", "=".repeat(72), of.join(", "));
    }
    let _ = write!(text, "\n{}\nRust's standard library\n\n{}\n", "=".repeat(72), library.said.trim());
    for file in platform.copyright_files() {
        let copyright = fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
        let _ = write!(text, "\n{}\n{file}\n\n{copyright}", "=".repeat(72));
    }
    Ok(text)
}

/// Reads the licences in a crate's folder, sorted by the names of their files.
fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    files.sort();
    // Some are not in UTF-8: a name in Latin-1 is no reason to leave a licence out.
    files
        .iter()
        .map(|path: &std::path::PathBuf| {
            let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            Ok(String::from_utf8_lossy(&bytes).replace('\r', "").trim().to_owned())
        })
        .collect()
}
