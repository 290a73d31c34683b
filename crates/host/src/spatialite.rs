//! Loads SpatiaLite into étalon's SQLite.

use rusqlite::{Connection, LoadExtensionGuard};

use crate::error::HostError;

/// The module's entry point.
const ENTRY_POINT: &str = "sqlite3_modspatialite_init";

/// Names of the library, in order of trial. SQLite adds the library extension. A plain name is looked up in the
/// loader's folders, which do not
/// include Homebrew's.
const PLACES: [&str; 3] = ["mod_spatialite", "/opt/homebrew/lib/mod_spatialite", "/usr/local/lib/mod_spatialite"];

/// musl's loader is not in a program that is linked with it statically.
const IS_STATIC: bool = cfg!(all(unix, target_feature = "crt-static"));

pub const HINT: &str = if IS_STATIC {
    "take a package of étalon that is linked with glibc: the tarball for linux-gnu, the deb, or the rpm"
} else {
    "install it: `apt-get install libsqlite3-mod-spatialite`, `dnf install libspatialite`, \
     `brew install libspatialite`; on Windows put mod_spatialite.dll and what comes with it into a \
     folder of the PATH"
};

/// Other extensions stay forbidden before and after.
pub fn load_extension(connection: &Connection) -> Result<(), HostError> {
    if IS_STATIC {
        let reason = "this étalon is a static program, which can load no library";
        return Err(HostError::unavailable("load SpatiaLite into SQLite", reason));
    }
    let mut first = None;
    for place in PLACES {
        match load_from(connection, place) {
            Ok(()) => return Ok(()),
            Err(error) => first = first.or(Some(error)),
        }
    }
    let reason = first.map_or_else(String::new, |error| error.to_string());
    Err(HostError::unavailable("load SpatiaLite into SQLite", reason))
}

/// Loads the extension from this library.
fn load_from(connection: &Connection, place: &str) -> rusqlite::Result<()> {
    // SAFETY: SQL may load code only while the guard lives, and no SQL runs in that time. The module itself is what the
    // administrator installed under this name; its entry point is the documented one.
    unsafe {
        let _guard = LoadExtensionGuard::new(connection)?;
        connection.load_extension(place, Some(ENTRY_POINT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_cannot_load_code_before_or_after() {
        let connection = Connection::open_in_memory().unwrap();
        fn by_sql(connection: &Connection) -> rusqlite::Result<()> {
            connection.query_row("SELECT load_extension('mod_spatialite')", [], |_| Ok(()))
        }
        assert!(by_sql(&connection).unwrap_err().to_string().contains("not authorized"));
        let loaded = load_extension(&connection);
        if cfg!(windows) && loaded.is_err() {
            println!("skipped: this Windows has no SpatiaLite");
            return;
        }
        loaded.unwrap();
        let area: f64 = connection
            .query_row("SELECT ST_Area(ST_GeomFromText('POLYGON((0 0,2 0,2 3,0 3,0 0))'))", [], |row| row.get(0))
            .unwrap();
        assert_eq!(area, 6.0);
        assert!(by_sql(&connection).unwrap_err().to_string().contains("not authorized"));
    }

    #[test]
    fn what_is_not_there_is_said_in_the_loader_s_words() {
        let connection = Connection::open_in_memory().unwrap();
        let error = load_from(&connection, "no_such_module_anywhere").unwrap_err();
        let reason = if cfg!(windows) { "not found" } else { "no_such_module_anywhere" };
        assert!(error.to_string().contains(reason), "{error}");
    }
}
