//! The families of load: what is asked of a system.

pub mod backup;
pub mod creation;
pub mod disk;
pub mod pages;
pub mod smack;
pub mod spatial;
pub mod texts;
pub mod transactions;
pub mod work;
pub mod workload;
