//! Blocks of files, read and written: the shapes of a database's I/O without the database.

mod blocks;
mod keys;
mod measure;
#[cfg(test)]
mod tests;

use model::{Length, Point, WorkloadSpec};

use crate::dataset::Dataset;
use crate::work::{StreamTask, StreamWork};
use crate::workload::{Action, Grants, Task, Workload};
use load::error::Failure;
use load::generator::{LoadShape, ThreadLimit};
use load::traffic::NetworkTraffic;
use load::worker::Pace;

pub use blocks::{AccessPattern, BlockClient, BlockLoad, BlockRequest, BlockStream, Cursors, Pools, ThreadAffinity};
use keys::DiskKeys;
pub use keys::size_to_make;
pub use keys::{TargetPart, split_targets};
pub(crate) use measure::run_record;

pub struct DiskWorkload;

impl Workload for DiskWorkload {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "disk",
            family: "disk",
            about: "Reads and writes of a file's blocks by many threads, each with several under way",
            rate_unit: "io/s",
            keys: DiskKeys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Makes the load of blocks that the plan's point asks for, with its files.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = DiskKeys::read(point)?;
        let load = keys::load_from_keys(&keys)?;
        load.files
            .iter()
            .filter_map(|file| file.name.as_deref())
            .try_for_each(|name| grants.permits.check_name(name))?;
        let names: Vec<String> = load
            .files
            .iter()
            .map(|file| {
                let name = file.name.as_deref().unwrap_or("a file");
                format!("{name}, {} MiB, {:?}", size_to_make(file) >> 20, file.layout)
            })
            .collect();
        let dataset = Dataset {
            name: names.join(", "),
            size_bytes: load.files.iter().map(size_to_make).sum(),
            files: load.files.clone(),
            ..Dataset::default()
        };
        Ok(Task {
            dataset,
            action: Action::Stream(StreamTask {
                shape: LoadShape {
                    clients: 0..load.client_count(),
                    threads: ThreadLimit::AtMost(load.thread_count()),
                    pace: keys.rate.filter(|rate| *rate > 0.0).map_or(Pace::Closed, Pace::Rate),
                    traffic: NetworkTraffic {
                        limits_ns: promised_ns(&keys),
                        length: keys.duration.map(Length::Duration),
                        ..NetworkTraffic::default()
                    },
                },
                work: StreamWork::Blocks(load),
            }),
        })
    }
}

/// The promised response time in nanoseconds, as the only limit to count by; none without a promise.
fn promised_ns(keys: &DiskKeys) -> Vec<u64> {
    keys.promise_p99.map(|within| u64::try_from(within.as_nanos()).unwrap_or(u64::MAX)).into_iter().collect()
}
