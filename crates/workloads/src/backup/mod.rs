//! Backup and restore: codec × level × workers × place, each run with a verified restore.

pub mod archive;
pub mod backups;
mod claims;
pub mod codec;
mod contents;
mod data;
mod during;
mod figures;
pub mod meter;
pub mod place;
mod procedure;
pub mod sink;
mod source;
pub mod tool;

use std::path::Path;

use model::backup::{BackupMethod, OF_THE_BACKUP};
use model::{Point, Value, WorkloadSpec};

use crate::backup::backups::{BackupScope, Compressor, Destination, Preallocation, Sealing};
use crate::backup::codec::Compression;
use crate::dataset::Dataset;
use crate::transactions::SCRIPTS;
use crate::workload::{Action, Grants, Task, Workload};
use data::Material;
use load::error::{Failure, FailureKind};
use procedure::{BackupProcedure, ResourceLimits};
use source::Source;

model::keys! {
    struct Keys {
        /// About how large the database is, in MiB
        size_mib: u64 = int(1..=1 << 20).or(64),
        /// Share of each row's text that is a pattern, in percent; the rest is random letters, of which a good codec
        /// saves a sixth
        compressible: u64 = int(0..=100).or(75),
        /// Seed of the data
        data_seed: u64 = int(0..=i64::MAX).or(1),
        /// `own`: tables that étalon makes; `none`: the database that is there, in which étalon writes nothing, and which must not
        /// change meanwhile
        tables: Option<String> = choice(&["own", "none"]),
        /// How the backup is taken; `native` is the engine's own first choice, and `none` is the load alone, without a
        /// backup
        method: String = OF_ENGINES.or("native"),
        /// What compresses
        codec: String = choice(&codec::NAMES).or("zstd"),
        /// The codec's level; 0 is its usual one: gzip 6, lz4 1, zstd 3
        level: u32 = int(0..=22).or(0),
        /// Threads that zstd compresses with, beside the one that feeds them
        workers: u32 = int(0..=256).or(0),
        /// Which process compresses: the server, the engine's client program, or étalon; `any` is étalon, and the
        /// server of an engine that writes its backups itself
        place as "where": String = choice(&["server", "client", "own", "any"]).or("own"),
        /// The most MiB of source data a second that are backed up; 0 is no limit
        max_rate_mib_s: u64 = int(0..=1024).or(0),
        /// The most CPU time that a server of étalon's own, or SQL Server by its resource governor, may use during the
        /// backup, in percent of a core; 0 is no limit
        server_cpu_percent: u64 = int(0..=100_000).or(0),
        /// The most MiB of source data a second that are given to a restore; no limit without it
        restore_max_rate_mib_s: Option<u64> = int(1..=1 << 20),
        /// The most CPU time that the server's process for the backup, or the engine's program, may use, in percent of
        /// a core; the rest of the server is left alone; no limit without it
        backup_cpu_percent: Option<u64> = int(1..=100_000),
        /// The most MiB a second that étalon, the engine's program and a private server's process for the backup each
        /// read from a disk, and as many that they write; no limit without it
        backup_io_mib_s: Option<u64> = int(1..=1 << 20),
        /// The most CPU time that the whole restore may use, in percent of a core: étalon, the engine's programs and
        /// the restored server together, or on SQL Server its session by the resource governor; no limit without it
        restore_cpu_percent: Option<u64> = int(1..=100_000),
        /// The most MiB a second that the whole restore reads from a disk, and as many that it writes; no limit without
        /// it
        restore_io_mib_s: Option<u64> = int(1..=1 << 20),
        /// Transactions that run from before the backup to its end, as in the workload `transactions`; none without it
        load_script as "load.script": Option<String> = mix(SCRIPTS),
        /// Clients of that load; one without it
        load_clients as "load.clients": Option<u32> = int(1..=100_000),
        /// Size of that load's tables, which are backed up with the rest; 1 without it
        load_scale as "load.scale": Option<u64> = int(1..=20_000),
        /// Transactions a second of that load, all clients together; as fast as the system answers without it
        load_rate as "load.rate": Option<f64> = float(0.0..=1e9),
        /// Whether databases that étalon did not make may be copied, too: a base backup is of a whole server
        whole_server: bool = FLAG.or(false),
        /// Where the backup and what is restored from it lie for a while; empty is where private servers are. A server
        /// that writes its backups itself (SQL Server) takes it for a folder of its own; empty is its folder for
        /// backups
        folder: String = TEXT.or(""),
        /// Of a server that writes its backups itself: files that it writes at the same time
        stripes: u32 = int(1..=64).or(1),
        /// Of a server that writes its backups itself: the size of a transfer (`MAXTRANSFERSIZE`) in KiB, a
        /// multiple of 64; 0 is the server's own choice
        transfer_kib: u64 = int(0..=4096).or(0),
        /// Of a server that writes its backups itself: `nul` throws the backup away, which leaves reading and
        /// compressing; there is no restore then
        destination: String = choice(&["files", "nul"]).or("files"),
        /// Of a server that writes its backups itself: whether they are encrypted, by a certificate that
        /// étalon makes and removes
        encrypt_backup: bool = FLAG.or(false),
        /// Of a server that writes its backups itself: false turns on trace flag 3042 for the whole server
        /// during the backup, so that a compressed one takes no room beforehand
        preallocate: bool = FLAG.or(true),
    }
}

pub struct Backup;

/// What étalon's own data are like.
const OF_THE_DATA: [&str; 3] = ["size_mib", "compressible", "data_seed"];

/// Keys that a point does not use: those of the backup without one, those of étalon's data on tables of others.
fn idle_keys(point: &Point) -> &'static [&'static str] {
    match point.get("method") {
        Some(Value::Text(method)) if method == BackupMethod::NONE.0 => &OF_THE_BACKUP,
        _ if is_of_others(point) => &OF_THE_DATA,
        _ => &[],
    }
}

/// Whether the point backs up the database that is there, not tables of étalon's own.
fn is_of_others(point: &Point) -> bool {
    point.get("tables").and_then(Value::as_text) == Some("none")
}

impl Workload for Backup {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "backup",
            family: "backup",
            about: "A backup and its restore, which is verified: size, speed and CPU time by codec and level",
            // Of the load.
            rate_unit: "tx/s",
            keys: Keys::SPECS,
            idle: idle_keys,
        }
    }

    /// Whether the point backs up the database that is there, not tables of étalon's own.
    fn is_on_tables_of_others(&self, point: &Point) -> bool {
        is_of_others(point)
    }

    /// Makes the backup step that the plan's point asks for, with its tables and its load.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = Keys::read(point)?;
        let material = Material { size_mib: keys.size_mib, compressible: keys.compressible, seed: keys.data_seed };
        let (rate, percent) = (keys.max_rate_mib_s, keys.server_cpu_percent);
        let load = during::read_load(point, grants)?;
        if keys.method == BackupMethod::NONE.0 && load.is_none() {
            let cause = "there would be neither a backup nor a load";
            return Err(Failure::new(FailureKind::Plan, "run `method = \"none\"`", cause)
                .with_hint("set `load = { script = \"tpcb-like\" }`, too"));
        }
        let is_of_others = is_of_others(point);
        let (dataset, load) = match load {
            Some(_) if is_of_others => {
                let cause = "the load has tables of its own, and `tables = \"none\"` makes none";
                return Err(Failure::new(FailureKind::Plan, "run a load beside the backup", cause));
            }
            Some((tables, load)) => (during::merge_datasets(material.dataset(), tables), Some(load)),
            None if is_of_others => (Dataset::default(), None),
            None => (material.dataset(), None),
        };
        let folder = Some(&keys.folder).filter(|folder| !folder.is_empty());
        let folder = folder.map(|folder| grants.permits.check_path(Path::new(folder))).transpose()?;
        let procedure = BackupProcedure {
            source: if is_of_others { Source::Theirs } else { Source::Made(material) },
            method: keys.method,
            compression: Compression::new(&keys.codec, keys.level, keys.workers)?,
            compressor: match keys.place.as_str() {
                "server" => Some(Compressor::Server),
                "client" => Some(Compressor::Client),
                "own" => Some(Compressor::Own),
                _ => None,
            },
            max_rate_bytes_s: (rate > 0).then_some(rate << 20),
            restore_max_rate_bytes_s: keys.restore_max_rate_mib_s.map(|rate| rate << 20),
            server_cores: (percent > 0).then_some(percent as f64 / 100.0),
            backup: resource_limits(keys.backup_cpu_percent, keys.backup_io_mib_s),
            restore: resource_limits(keys.restore_cpu_percent, keys.restore_io_mib_s),
            load,
            scope: if keys.whole_server { BackupScope::WholeServer } else { BackupScope::OwnDatabase },
            folder,
            stripes: keys.stripes,
            transfer_kib: check_transfer_kib(keys.transfer_kib)?,
            destination: if keys.destination == "nul" { Destination::Nowhere } else { Destination::Files },
            sealing: if keys.encrypt_backup { Sealing::Encrypted } else { Sealing::Open },
            preallocation: if keys.preallocate { Preallocation::AsServer } else { Preallocation::Off },
        };
        Ok(Task { dataset, action: Action::Step(Box::new(procedure)) })
    }
}

/// Makes resource limits from percent of a core and MiB/s.
fn resource_limits(percent: Option<u64>, mib_s: Option<u64>) -> ResourceLimits {
    ResourceLimits { cores: percent.map(|percent| percent as f64 / 100.0), io_bytes_s: mib_s.map(|mib| mib << 20) }
}

/// Fails unless a transfer size in KiB is a multiple of 64, as `MAXTRANSFERSIZE` needs; returns it.
fn check_transfer_kib(kib: u64) -> Result<u32, Failure> {
    if kib.is_multiple_of(64) {
        Ok(kib as u32)
    } else {
        let cause = "transfers are multiples of 64 KiB, up to 4096";
        Err(Failure::new(FailureKind::Plan, format!("transfer {kib} KiB at a time"), cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(changed: &[(&str, Value)]) -> Point {
        changed.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    #[test]
    fn the_defaults_are_a_task() {
        let task = Backup.make_task(&point(&[]), &Grants::default()).unwrap();
        assert_eq!(task.dataset.name, "backup data of 64 MiB, 75 % of it patterns, seed 1");
        assert!(matches!(task.action, Action::Step(_)));
    }

    #[test]
    fn a_load_alone_is_one_point_however_backups_are_taken() {
        let alone = idle_keys(&point(&[("method", Value::Text("none".to_owned()))]));
        assert!(alone.iter().all(|name| Keys::SPECS.iter().any(|key| key.name == *name)), "{alone:?}");
        let others: Vec<&str> = Keys::SPECS.iter().map(|key| key.name).filter(|name| !alone.contains(name)).collect();
        let of_data_and_load = ["size_mib", "compressible", "data_seed", "tables", "method"];
        assert!(others.iter().all(|name| of_data_and_load.contains(name) || name.starts_with("load.")), "{others:?}");
        assert!(idle_keys(&point(&[])).is_empty());
    }

    #[test]
    fn a_level_that_a_codec_does_not_have_is_refused_before_anything_runs() {
        let point = point(&[("codec", Value::Text("gzip".to_owned())), ("level", Value::Int(19))]);
        let failure = Backup.make_task(&point, &Grants::default()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Plan);
        assert!(failure.to_string().contains("gzip has levels from 1 to 9"), "{failure}");
    }
}
