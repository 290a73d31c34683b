//! What of a backup's cell is the backup's own.

/// Keys of the workload `backup` that say how a backup is taken and restored, but for `method`. They mean nothing where no
/// backup is taken, and a backup may differ in them from the load alone that it is held against.
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
