//! Readers of what one tool prints at its end, a file each. A new one has its file, its line here and its line in
//! [`crate::reader::READERS`].

pub mod benchbase;
pub mod benchmarksql;
pub mod clickbench;
pub mod criterion;
pub mod diskspd;
pub(crate) mod figures;
pub mod go_tpc;
pub mod go_ycsb;
pub mod hyperfine;
pub mod mysqlslap;
mod properties;
pub mod tpcc_mysql;
pub mod ycsb;
