//! The `etalon` command.
fn main() {}
