/// SQLite's `application_id` of every store: `0x45544C4E`, which are the bytes 68 to 71 of the file, `45 54 4C 4E`, in
/// ASCII `ETLN`. It distinguishes a store from any other SQLite database (and `file(1)` can be taught it).
pub const APPLICATION_ID: i32 = i32::from_be_bytes(*b"ETLN");

/// The extension of a store's file name, without the dot.
pub const EXTENSION: &str = "etalon";

/// Version 0 (an empty file) to version 1.
pub(crate) const V1: &str = include_str!("schema_v1.sql");

/// Version 1 to version 2: a gauge of the backlog among the series.
pub(crate) const V2: &str = include_str!("schema_v2.sql");

/// Version 2 to version 3: a measured run may be superseded.
pub(crate) const V3: &str = include_str!("schema_v3.sql");

/// Version 3 to version 4: cases, runs and rounds have the names of the plan.
pub(crate) const V4: &str = include_str!("schema_v4.sql");

/// Version 4 to version 5: the loads that were tried against a promise.
pub(crate) const V5: &str = include_str!("schema_v5.sql");

/// Version 5 to version 6: what programs read of a reason is data next to its sentence.
pub(crate) const V6: &str = include_str!("schema_v6.sql");

/// Version 6 to version 7: the loads that were tried may be numbers of clients.
pub(crate) const V7: &str = include_str!("schema_v7.sql");

/// Version 7 to version 8: the change that étalon has made in a server.
pub(crate) const V8: &str = include_str!("schema_v8.sql");

/// Version 8 to version 9: the plans of queries.
pub(crate) const V9: &str = include_str!("schema_v9.sql");
