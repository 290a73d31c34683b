//! The numbers of the built-in types that have a binary form here (`pg_type.dat`).

pub const BOOL: u32 = 16;
pub const BYTEA: u32 = 17;
/// `bigint`
pub const INT8: u32 = 20;
/// `smallint`
pub const INT2: u32 = 21;
/// `integer`
pub const INT4: u32 = 23;
pub const TEXT: u32 = 25;
pub const OID: u32 = 26;
/// `real`
pub const FLOAT4: u32 = 700;
/// `double precision`
pub const FLOAT8: u32 = 701;
pub const NUMERIC: u32 = 1700;
/// Lets the server infer the type (55.7, "Parse").
pub const UNSPECIFIED: u32 = 0;
