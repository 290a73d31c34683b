//! What distinguishes fio's jobs, and what says where they ran.

use std::collections::{BTreeMap, BTreeSet};

use model::{Point, Value};

use super::{FioDocument, FioJob, Side};
use crate::{places, size};

impl FioDocument {
    /// Collects what distinguishes a job from others, as keys.
    /// What it says itself goes before what is said of all.
    pub(super) fn distinguishing_options(&self, job: &FioJob) -> Point {
        let options: BTreeMap<&str, &str> =
            self.global.iter().chain(&job.options).map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let names = options.keys().filter(|name| !NO_KEYS.contains(name));
        names.map(|name| key_and_value(usual_name(name, &options), options[name])).collect()
    }

    /// Whether fio printed what the job was to do. The number of its clones stands in its results.
    pub(super) fn has_options(&self, job: &FioJob) -> bool {
        !self.global.is_empty() || job.options.keys().any(|name| name != "numjobs")
    }
}

/// fio options that do not change what is measured: names of machines and files, the length of a run, and what is printed.
/// Every other option distinguishes cases.
const NO_KEYS: &[&str] = &[
    "allrandrepeat",
    "clat_percentiles",
    "description",
    "directory",
    "eta",
    "filename",
    "group_reporting",
    "lat_percentiles",
    "log_avg_msec",
    "log_offset",
    "log_unix_epoch",
    "name",
    "new_group",
    "per_job_logs",
    "percentile_list",
    "ramp_time",
    "randrepeat",
    "randseed",
    "runtime",
    "slat_percentiles",
    "status-interval",
    "stonewall",
    "time_based",
    "timeout",
    "unlink",
    "wait_for_previous",
    "write_bw_log",
    "write_hist_log",
    "write_iops_log",
    "write_lat_log",
];

/// fio's other names of an option.
const SYNONYMS: [(&str, &str); 3] = [("readwrite", "rw"), ("blocksize", "bs"), ("filesize", "size")];
/// Options whose values are sizes.
const SIZES: [&str; 4] = ["bs", "size", "io_size", "filesize"];

/// Makes a result's keys: the job's distinguishing options, its name, the operation, and the clients and jobs.
pub(super) fn result_keys(document: &FioDocument, side: &Side<'_>, first: &FioJob, op: &str) -> Point {
    let mut keys = document.distinguishing_options(first);
    keys.insert("job".to_owned(), plain_value(side.name));
    keys.insert("op".to_owned(), plain_value(op));
    if document.clients > 1 {
        keys.insert("clients".to_owned(), Value::Int(document.clients as i64));
    }
    // What fio prints of each of several jobs is not what it prints of one.
    if side.jobs.len() > document.clients.max(1) {
        keys.entry("numjobs".to_owned()).or_insert_with(|| Value::Int(side.jobs.len() as i64));
    }
    keys
}

/// Collects the files, folders and devices that jobs used.
pub(super) fn places_of(document: &FioDocument, side: &Side<'_>) -> Point {
    let mut places = Point::new();
    for name in ["filename", "directory"] {
        let found = side.jobs.iter().filter_map(|job| job.options.get(name).or_else(|| document.global.get(name)));
        let found: BTreeSet<&str> = found.map(String::as_str).collect();
        places::put_place(&mut places, name, Some(&join_names(found)));
    }
    places::put_place(&mut places, "device", Some(&join_names(document.devices.iter().map(String::as_str))));
    places
}

/// Joins names by commas.
fn join_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Finds the usual name of an option; its own where both are given, as `size` of a job and `filesize` of its files.
fn usual_name<'n>(name: &'n str, options: &BTreeMap<&str, &str>) -> &'n str {
    let usual = SYNONYMS.iter().find(|(other, _)| *other == name).map(|(_, usual)| *usual);
    usual.filter(|usual| !options.contains_key(usual)).unwrap_or(name)
}

/// Makes a key of an option.
fn key_and_value(name: &str, value: &str) -> (String, Value) {
    let value = match (name, value) {
        ("rw", "readwrite") => plain_value("rw"),
        _ if SIZES.contains(&name) => size::size_value(value),
        _ => plain_value(value),
    };
    (name.to_owned(), value)
}

/// Parses a number, or else keeps the text.
fn plain_value(text: &str) -> Value {
    text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Int)
}

/// Tests whether a job's direction was limited to a number of bytes or I/Os a second. `1m,2m` limits reads, then writes; one value both.
pub(super) fn is_rate_limited(document: &FioDocument, job: &FioJob, op: &str) -> bool {
    let at = ["read", "write", "trim"].iter().position(|known| *known == op).unwrap_or(0);
    let options =
        ["rate", "rate_iops"].iter().filter_map(|name| job.options.get(*name).or_else(|| document.global.get(*name)));
    let mut limits = options.filter_map(|option| match option.split(',').collect::<Vec<_>>().as_slice() {
        [both] => Some(both.trim().to_owned()),
        each => each.get(at).map(|limit| limit.trim().to_owned()),
    });
    limits.any(|limit| !["", "0"].contains(&limit.as_str()))
}
