//! What a commit promises, read back from the server.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What survives which failure once a commit has been acknowledged. Ordered from the weakest promise to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityTier {
    /// The data lives in memory: the end of the process ends it.
    Memory,
    /// A crash of the operating system or a power cut can corrupt the database.
    Unsafe,
    /// The database stays consistent, but a power cut can lose commits that were acknowledged shortly before it.
    Delayed,
    /// An acknowledged commit survives a power cut, as far as the device keeps its own promise.
    Durable,
}

impl DurabilityTier {
    /// The tier's word in facts, tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            DurabilityTier::Memory => "memory",
            DurabilityTier::Unsafe => "unsafe",
            DurabilityTier::Delayed => "delayed",
            DurabilityTier::Durable => "durable",
        }
    }

    /// Says what commits do, as a clause behind their name: `wait until they are on disk`.
    pub fn commit_words(self) -> &'static str {
        match self {
            DurabilityTier::Memory => "are in memory alone, and end with the process",
            DurabilityTier::Unsafe => "do not wait for the disk, and a power cut can corrupt the database",
            DurabilityTier::Delayed => "do not wait for the disk, and a power cut can lose the last of them",
            DurabilityTier::Durable => "wait until they are on disk",
        }
    }
}

impl fmt::Display for DurabilityTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DurabilityTier {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        use DurabilityTier::{Delayed, Durable, Memory, Unsafe};
        [Memory, Unsafe, Delayed, Durable].into_iter().find(|tier| tier.as_str() == text).ok_or(())
    }
}

/// A tier with the settings that it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    pub tier: DurabilityTier,
    /// The settings that make it so, such as `fsync=on, synchronous_commit=off`.
    pub because: String,
    /// When a power cut takes a commit back although the tier is `Durable`.
    pub except: Option<String>,
}
