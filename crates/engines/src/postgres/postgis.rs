//! The extension PostGIS.

use model::Facts;

use super::connect::Endpoint;
use super::{SCHEMA, room};
use crate::postgres::lane::{AskError, Client};
use crate::server::random_password;
use crate::server::refusal::ask_failure;
use load::error::{Failure, FailureKind};
use workloads::session::SessionKind;

const EXTENSION: &str = "postgis";
/// Schema for trying the extension for its facts; rolled back.
const PROBE: &str = "etalon_probe";

/// Brings PostGIS into the session's search path, and installs it if missing; only for spatial sessions.
///
/// # Errors
/// It is not installed, or the role may not create it.
pub(super) fn use_extension(client: &mut Client, kind: SessionKind) -> Result<(), Failure> {
    if kind == SessionKind::Spatial { ensure_extension(client) } else { Ok(()) }
}

/// Brings PostGIS into the session's search path; makes it in étalon's schema if the database has none.
fn ensure_extension(client: &mut Client) -> Result<(), Failure> {
    let mut schema = schema_of_extension(client)?;
    if schema.is_none() {
        refuse_missing(client)?;
        install_into_own(client).map_err(|error| explain_failure(&error))?;
        schema = schema_of_extension(client)?;
    }
    if let Some(schema) = schema.filter(|schema| schema != SCHEMA) {
        let path = format!("{SCHEMA}, {}", quote_name(&schema));
        client
            .set_for_session(&[("search_path", &path)])
            .map_err(|error| ask_failure("look into the schema of PostGIS", &error))?;
    }
    Ok(())
}

/// Makes the extension in étalon's schema, and notes it as one of étalon's things.
fn install_into_own(client: &mut Client) -> Result<(), AskError> {
    client.execute("BEGIN")?;
    let made = room::note_thing(client, EXTENSION)
        .and_then(|()| client.execute(&format!("CREATE EXTENSION {EXTENSION} SCHEMA {SCHEMA}")));
    match &made {
        Ok(()) => client.execute("COMMIT"),
        Err(AskError::Server(_)) => client.execute("ROLLBACK").and(made),
        Err(_) => made,
    }
}

/// Installs PostGIS as the server's owner in a new schema, if a spatial session needs it.
/// Existing objects in another schema could be run by the owner.
pub(super) fn install_extension(owner: &Endpoint, kind: SessionKind) -> Result<(), Failure> {
    if kind != SessionKind::Spatial {
        return Ok(());
    }
    let mut client = owner.open_client("")?;
    if schema_of_extension(&mut client)?.is_none() {
        refuse_missing(&mut client)?;
        let schema = format!("etalon_{}", random_password());
        let make = format!(
            "BEGIN; CREATE SCHEMA {schema}; CREATE EXTENSION {EXTENSION} SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO \
             PUBLIC; COMMIT"
        );
        client.execute(&make).map_err(|error| explain_failure(&error))?;
    }
    client.close_and_wait();
    Ok(())
}

/// Quotes a name for SQL.
fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Reads the schema that PostGIS is installed in, if it is.
fn schema_of_extension(client: &mut Client) -> Result<Option<String>, Failure> {
    let sql = format!(
        "SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = '{EXTENSION}'"
    );
    let found = client.query_text_rows(&sql).map_err(|error| ask_failure("look for PostGIS", &error))?;
    Ok(found.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

/// Fails if the server has no PostGIS to install.
fn refuse_missing(client: &mut Client) -> Result<(), Failure> {
    let sql = format!("SELECT count(*) FROM pg_catalog.pg_available_extensions WHERE name = '{EXTENSION}'");
    if client.query_first_value(&sql).map_err(|error| ask_failure("look for PostGIS", &error))? != "0" {
        return Ok(());
    }
    let version =
        client.query_first_value("SHOW server_version").map_err(|error| ask_failure("ask for the version", &error))?;
    let major = version.split(['.', ' ']).next().unwrap_or_default().to_owned();
    let hint = format!(
        "install it on the server's host: `apt-get install postgresql-{major}-postgis-3`, `dnf install postgis`, \
         `brew install postgis`"
    );
    Err(Failure::new(FailureKind::Unsupported, "use PostGIS", "the server has no extension `postgis`").with_hint(hint))
}

/// Makes the failure of installing PostGIS, with a hint if it was denied.
fn explain_failure(error: &AskError) -> Failure {
    let failure = ask_failure("put PostGIS into étalon's schema", error);
    match failure.kind {
        FailureKind::Permission => failure
            .with_hint("let a superuser run `CREATE EXTENSION postgis` in this database; étalon then uses that one"),
        _ => failure,
    }
}

/// Reads the versions of PostGIS and GEOS as facts, for a spatial session.
pub(super) fn extension_facts(client: &mut Client, kind: SessionKind) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    if kind != SessionKind::Spatial {
        return Ok(facts);
    }
    let version = match schema_of_extension(client)? {
        Some(schema) => {
            let sql = format!("SELECT {}.postgis_full_version()", quote_name(&schema));
            client.query_first_value(&sql).map_err(|error| ask_failure("ask PostGIS for its version", &error))?
        }
        None => version_by_trial_install(client)?,
    };
    for (name, key) in [("postgis", "POSTGIS"), ("geos", "GEOS")] {
        match version_part(&version, key) {
            Some(value) => facts.record_identity(format!("{name}.version"), value),
            None => facts.record_unavailable(format!("{name}.version"), "postgis_full_version() does not say"),
        }
    }
    Ok(facts)
}

/// Finds the value of a key in PostGIS's text of versions.
fn version_part(version: &str, key: &str) -> Option<String> {
    let (_, rest) = version.split_once(&format!("{key}=\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

/// Installs PostGIS in a transaction, reads its versions, and rolls back.
fn version_by_trial_install(client: &mut Client) -> Result<String, Failure> {
    refuse_missing(client)?;
    let make = format!("BEGIN; CREATE SCHEMA {PROBE}; CREATE EXTENSION {EXTENSION} SCHEMA {PROBE}");
    let version = client.execute(&make).and_then(|()| {
        // Its functions find each other by the search path.
        client.execute(&format!("SET LOCAL search_path = {PROBE}"))?;
        client.query_first_value("SELECT postgis_full_version()")
    });
    client.execute("ROLLBACK").map_err(|error| ask_failure("take a run of PostGIS back", &error))?;
    version.map_err(|error| explain_failure(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_full_one() {
        let full = "POSTGIS=\"3.3.2 4975da8\" [EXTENSION] PGSQL=\"150\" GEOS=\"3.11.1-CAPI-1.17.1\" PROJ=\"9.1.1\"";
        assert_eq!(version_part(full, "POSTGIS").as_deref(), Some("3.3.2 4975da8"));
        assert_eq!(version_part(full, "GEOS").as_deref(), Some("3.11.1-CAPI-1.17.1"));
        assert_eq!(version_part(full, "SFCGAL"), None);
    }
}
