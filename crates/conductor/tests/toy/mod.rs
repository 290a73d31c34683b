//! A toy database and a toy workload: adding one takes a folder like this and a registry line.

pub mod database;
pub mod workload;
