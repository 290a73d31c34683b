//! Where a server's data is, and what that says of its commits.

use std::path::{Path, PathBuf};

use model::{Durability, DurabilityTier, Facts};

/// What is known of the place that the data is in.
pub(crate) enum DataPlace {
    /// The folder can be looked at from here.
    Here(PathBuf),
    /// Why it cannot.
    Elsewhere(String),
}

/// Where a commit waits for a disk, and whether that is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    Disk,
    Memory,
    Unknown,
}

impl DataPlace {
    /// A folder of a server on this machine, if it may be looked at.
    pub(crate) fn here(folder: PathBuf) -> DataPlace {
        match folder.is_dir() {
            true => DataPlace::Here(folder),
            false => DataPlace::Elsewhere(format!("{} cannot be looked at from here", folder.display())),
        }
    }

    /// That of a server which is not here.
    pub(crate) fn on_another_machine() -> DataPlace {
        DataPlace::Elsewhere("the server is on another machine, or in a container".to_owned())
    }

    /// Adds the facts of the place. The log, which `log` finds by the data folder, may be on another device.
    pub(crate) fn add_to(&self, facts: &mut Facts, log: impl FnOnce(&Path) -> Option<PathBuf>) -> Backing {
        let folder = match self {
            DataPlace::Here(folder) => folder,
            DataPlace::Elsewhere(reason) => {
                facts.unavailable("data_directory.filesystem", reason.clone());
                return Backing::Unknown;
            }
        };
        facts.passing("data_directory.path", folder.display().to_string());
        facts.absorb("data_directory", host::facts::path_facts(folder));
        let is_memory = |path: &Path| host::disk::is_memory_backed(path).ok();
        match (is_memory(folder), log(folder).and_then(|log| is_memory(&log))) {
            (Some(true), _) | (_, Some(true)) => Backing::Memory,
            (Some(false), _) => Backing::Disk,
            (None, _) => Backing::Unknown,
        }
    }

    /// What the commits promise that wait for this place, with the reason.
    pub(crate) fn durability(&self, tier: DurabilityTier, mut because: String) -> Durability {
        if let DataPlace::Elsewhere(reason) = self {
            because.push_str(&format!("; its disk is not known: {reason}"));
        }
        Durability { tier, because }
    }
}

/// A setting's value that may hold a password: only whether it is set.
pub(crate) fn hidden(value: &str) -> String {
    if value.is_empty() { "(empty)".to_owned() } else { "(set; not shown, since it may hold a password)".to_owned() }
}
