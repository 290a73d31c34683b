//! Where a server's data is, and its effect on durability.

use std::path::{Path, PathBuf};

use host::disk::{Backing, Flushes};
use host::watch::Listener;
use model::facts::DATA_FILESYSTEM;
use model::{Durability, DurabilityTier, Facts, Nature};

/// What is known of the place that the data is in.
pub(crate) enum DataPlace {
    /// Accessible from this machine.
    Here(DataFolder),
    Elsewhere(String),
}

/// The data folder of a server on this machine, whose process may have mounts of its own.
pub(crate) struct DataFolder {
    path: PathBuf,
    process: Option<u32>,
}

impl DataFolder {
    /// Makes the path by which étalon reaches what the server calls `path`; a relative one begins at the data folder.
    pub(crate) fn path_from_here(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.path.join(path);
        self.process.map_or_else(|| path.clone(), |process| host::disk::seen_by(process, &path))
    }

    /// Lists a folder of the server's and its entries that are links or mounts, if their names begin with one of these.
    pub(crate) fn folder_and_diverted_entries(&self, folder: impl AsRef<Path>, beginnings: &[&str]) -> Vec<PathBuf> {
        let folder = self.path_from_here(folder);
        let mut found = host::disk::diverted_entries(&folder);
        found.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            beginnings.iter().any(|beginning| name.starts_with(beginning))
        });
        found.push(folder);
        found
    }
}

/// What commits wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// The data reach a disk, as far as can be seen.
    Disk,
    /// A file system in memory.
    Memory,
    /// Flushes do not reach the disk: why.
    Nothing(String),
}

impl Keeping {
    /// Finds out what commits to a file wait for, and adds facts of its filesystem and devices.
    pub(crate) fn for_path(path: &Path, facts: &mut Facts) -> Keeping {
        let flushes = host::disk::flushes_of(path);
        let is_memory = host::disk::filesystem_of(path).is_ok_and(|found| found.backing == Backing::Memory);
        match &flushes {
            Flushes::PassedOn(words) => facts.record_passing(STORAGE, words.clone()),
            Flushes::Dropped(reason) => facts.record_passing(STORAGE, format!("drops flushes: {reason}")),
            Flushes::Unknown(reason) => facts.insert(STORAGE, Err(reason.clone()), Nature::Passing),
        }
        match flushes {
            _ if is_memory => Keeping::Memory,
            Flushes::Dropped(reason) => Keeping::Nothing(reason),
            Flushes::PassedOn(_) | Flushes::Unknown(_) => Keeping::Disk,
        }
    }

    /// Returns the one of two that keeps less of what commits promise.
    fn weaker_of(self, other: Keeping) -> Keeping {
        match (self, other) {
            (Keeping::Memory, _) | (_, Keeping::Memory) => Keeping::Memory,
            (Keeping::Disk, other) => other,
            (own, _) => own,
        }
    }

    /// Lowers a keeping on a disk to nothing if a library in the process drops its flushes.
    #[must_use]
    pub(crate) fn limited_by_process(self, process: Option<u32>) -> Keeping {
        match process.and_then(host::disk::flush_eater) {
            Some(library) if self == Keeping::Disk => {
                Keeping::Nothing(format!("`{library}` in the process turns its flushes into nothing"))
            }
            _ => self,
        }
    }

    /// Lowers a promised durability to what this keeping can give, with the reason.
    pub(crate) fn limit_durability(&self, mut promised: Durability) -> Durability {
        let (most, reason) = match self {
            Keeping::Disk => return promised,
            Keeping::Memory => (DurabilityTier::Memory, ", on a file system in memory".to_owned()),
            Keeping::Nothing(reason) => (DurabilityTier::Unsafe, format!("; {reason}")),
        };
        promised.because.push_str(&reason);
        Durability { tier: promised.tier.min(most), because: promised.because, except: None }
    }
}

/// The fact about flushes. A made volume is on another device each time.
const STORAGE: &str = "durability.storage";

/// The fact of what processor time a server's process may get.
const CPU_SHARE: &str = "server.cpu_share";

impl DataPlace {
    /// Makes the place of a folder that a process of this machine uses, if it is accessible.
    pub(crate) fn of_local_folder(path: PathBuf, process: Option<u32>) -> DataPlace {
        let folder = DataFolder { path, process };
        // What belongs to another user is not reached by its process.
        if folder.path_from_here("").is_dir() || folder.path.is_dir() {
            DataPlace::Here(folder)
        } else {
            DataPlace::Elsewhere(format!("{} cannot be looked at from here", folder.path.display()))
        }
    }

    /// Makes the place of data that is on another machine or in a container.
    pub(crate) fn elsewhere_on_other_machine() -> DataPlace {
        DataPlace::Elsewhere("the server is on another machine, or in a container".to_owned())
    }

    /// Adds facts of the data folder and its storage, and returns what commits to it wait for.
    /// `others` finds by the data folder what else the data is in: the log, tables in places of their own. Each may be on another
    /// device, and the weakest counts.
    pub(crate) fn add_data_facts(
        &self,
        facts: &mut Facts,
        others: impl FnOnce(&DataFolder) -> Vec<PathBuf>,
    ) -> Keeping {
        let folder = match self {
            DataPlace::Here(folder) => folder,
            DataPlace::Elsewhere(reason) => {
                facts.record_unavailable(DATA_FILESYSTEM, reason.clone());
                facts.insert(STORAGE, Err(reason.clone()), Nature::Passing);
                return Keeping::Disk;
            }
        };
        facts.record_passing("data_directory.path", folder.path.display().to_string());
        let path = folder.path_from_here("");
        facts.absorb("data_directory", host::facts::path_facts(&path));
        let others: Vec<Keeping> = others(folder).iter().map(|other| Keeping::for_path(other, facts)).collect();
        others.into_iter().fold(Keeping::for_path(&path, facts), Keeping::weaker_of).limited_by_process(folder.process)
    }

    /// Adds the fact of what processor time the server's process may get.
    pub(crate) fn add_cpu_share(&self, facts: &mut Facts) {
        let share = match self {
            DataPlace::Here(DataFolder { process: Some(process), .. }) => host::cpu_share::describe_cpu_share(*process),
            DataPlace::Here(_) => Err("which process is the server's is not known".to_owned()),
            DataPlace::Elsewhere(reason) => Err(reason.clone()),
        };
        facts.insert(CPU_SHARE, share, Nature::Identity);
    }

    /// Lowers a promised durability to what the place can keep, and gives the reason.
    pub(crate) fn limit_durability(&self, promised: Durability, keeping: &Keeping) -> Durability {
        let mut durability = keeping.limit_durability(promised);
        if let DataPlace::Elsewhere(reason) = self {
            durability.because.push_str(&format!("; its disk is not known: {reason}"));
        }
        durability
    }
}

/// Finds the process that listens at an address, or else the one that the server has named.
/// A container has numbers of its own.
pub(crate) fn server_process(listener: &Listener, named: Option<u32>) -> Option<u32> {
    host::watch::listening_process(listener).or(named)
}

/// Says only whether a value is set, since it may be a password.
pub(crate) fn hide_value(value: &str) -> String {
    if value.is_empty() { "(empty)".to_owned() } else { "(set; not shown, since it may hold a password)".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_worth_what_keeps_it() {
        use DurabilityTier::{Delayed, Durable, Memory, Unsafe};
        fn promised(tier: DurabilityTier) -> Durability {
            Durability { tier, because: "x=y".to_owned(), except: Some("now and then".to_owned()) }
        }
        assert_eq!(Keeping::Disk.limit_durability(promised(Durable)), promised(Durable));
        let dropped = Keeping::Nothing("it is mounted with `nobarrier`".to_owned());
        for (promise, rest) in [(Durable, Unsafe), (Delayed, Unsafe), (Memory, Memory)] {
            let left = dropped.limit_durability(promised(promise));
            assert_eq!((left.tier, left.except), (rest, None));
            assert_eq!(left.because, "x=y; it is mounted with `nobarrier`");
        }
        assert_eq!(Keeping::Memory.limit_durability(promised(Durable)).tier, Memory);
    }

    #[test]
    fn the_weakest_place_of_the_data_counts() {
        fn dropped() -> Keeping {
            Keeping::Nothing("it is mounted with `nobarrier`".to_owned())
        }
        assert_eq!(Keeping::Disk.weaker_of(Keeping::Disk), Keeping::Disk);
        assert_eq!(Keeping::Disk.weaker_of(dropped()), dropped());
        assert_eq!(dropped().weaker_of(Keeping::Disk), dropped());
        assert_eq!(dropped().weaker_of(Keeping::Memory), Keeping::Memory);
        assert_eq!(Keeping::Memory.weaker_of(Keeping::Disk), Keeping::Memory);
    }
}
