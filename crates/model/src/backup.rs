//! Ways to take a backup, and the keys of the workload `backup` that a load without a backup does not have.

/// A way to take a backup, by its word in plans. Engines have their own, in their folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupMethod(pub &'static str);

impl BackupMethod {
    /// The engine's first choice; its own word where it has but one way.
    pub const NATIVE: BackupMethod = BackupMethod("native");
    /// No backup: the load alone, for comparison.
    pub const NONE: BackupMethod = BackupMethod("none");
}

/// How a backup is taken and restored, but for `method`. Without a backup these keys mean nothing, so a backup is
/// compared with the load alone even where they differ.
pub const OF_THE_BACKUP: [&str; 18] = [
    "codec",
    "level",
    "workers",
    "where",
    "max_rate_mib_s",
    "server_cpu_percent",
    "backup_cpu_percent",
    "backup_io_mib_s",
    "restore_max_rate_mib_s",
    "restore_cpu_percent",
    "restore_io_mib_s",
    "whole_server",
    "folder",
    "stripes",
    "transfer_kib",
    "destination",
    "encrypt_backup",
    "preallocate",
];
