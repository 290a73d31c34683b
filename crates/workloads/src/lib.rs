//! The workloads: what is asked of a system, in the words of traits that systems implement ([`system`]).

#![forbid(unsafe_code)]

mod analytics;
pub mod backup;
pub mod contents;
pub mod creation;
pub mod dataset;
pub mod disk;
pub mod empty_tables;
pub mod made;
pub mod order_entry;
pub mod pages;
pub mod permits;
mod promise;
pub mod queries;
mod query_run;
pub mod replay;
pub mod reset;
pub mod rows;
pub mod session;
pub mod smack;
pub mod spatial;
pub mod statement_log;
pub mod step;
pub mod system;
pub mod texts;
pub mod transactions;
pub mod work;
pub mod workload;

use workload::Workload;

/// The workloads of this build: a new one adds its line here, and its folder above.
pub const WORKLOADS: &[&dyn Workload] = &[
    &transactions::Transactions,
    &creation::TableCreation,
    &order_entry::OrderEntryWorkload::BUILT_IN,
    &smack::SuperSmack,
    &pages::Pages,
    &spatial::Spatial,
    &queries::Queries,
    &analytics::Analytics,
    &replay::Replay,
    &backup::Backup,
    &disk::DiskWorkload,
];
