//! A toy database and a toy workload: all that adding one takes is a folder like this and a registry line.

pub mod database;
pub mod workload;
