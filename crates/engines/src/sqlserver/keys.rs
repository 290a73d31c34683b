//! The certificate for étalon's encrypted database or backups, made and removed by étalon. A foreign master key is
//! used, and neither changed nor removed.

use std::thread;
use std::time::{Duration, Instant};

use super::SCHEMA;
use super::connect::Endpoint;
use super::dialect::quote_unicode;
use crate::server::random_password;
use crate::server::refusal::{ask_failure, failing_to};
use crate::sqlserver::lane::{AskError, Client};
use load::error::{Failure, FailureKind};

/// Name of the certificate in `master`.
pub(super) const CERTIFICATE: &str = "etalon";
/// An X.500 name, so only letters and blanks; and a suffix where étalon made the master key, too.
const SUBJECT: &str = "made by the benchmark etalon";
const WITH_KEY: &str = " with the master key";
/// An empty database is encrypted in a moment.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);
/// "The database is encrypted."
const ENCRYPTED: &str = "3";

/// Wraps a statement so that it runs in `master` whatever the current database.
pub(super) fn wrap_for_master(sql: &str) -> String {
    format!("EXEC master.sys.sp_executesql {}", quote_unicode(sql))
}

/// Reads the subject of the certificate with étalon's name, if there is one.
fn certificate_subject(client: &mut Client) -> Result<Option<String>, AskError> {
    let sql = format!("SELECT subject FROM master.sys.certificates WHERE name = N'{CERTIFICATE}'");
    Ok(Some(client.query_first_value(&sql)?).filter(|subject| !subject.is_empty()))
}

/// Makes étalon's certificate, and a master key if there is none, unless they are there.
/// The key's random password is not kept: the server opens the key by its own.
///
/// # Errors
/// The login may not, a certificate of that name is foreign, or the password would cross a network in the clear.
pub(super) fn ensure_certificate(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let tried = MAKE_CERTIFICATE;
    match certificate_subject(client).map_err(certificate_failure)? {
        Some(subject) if subject.contains(SUBJECT) => return Ok(()),
        Some(_) => {
            let cause = format!("master has a certificate `{CERTIFICATE}` that étalon did not make");
            return Err(Failure::new(FailureKind::NotOurs, tried, cause).with_hint("rename it, or use another server"));
        }
        None => {}
    }
    let keys = "SELECT COUNT(*) FROM master.sys.symmetric_keys WHERE name = N'##MS_DatabaseMasterKey##'";
    let mut made = "";
    if client.query_first_value(keys).map_err(certificate_failure)? == "0" {
        if client.encryption().is_none() && !endpoint.address.is_local() {
            let cause = "the master key's password would cross the network in the clear";
            return Err(Failure::new(FailureKind::Plan, tried, cause).with_hint("write `encrypt=true` in the URL"));
        }
        // Password policies ask for capitals, small letters, digits and a sign.
        let password = format!("Aa1-{}", random_password());
        let make = format!("CREATE MASTER KEY ENCRYPTION BY PASSWORD = '{password}'");
        client.execute(&wrap_for_master(&make)).map_err(certificate_failure)?;
        made = WITH_KEY;
    }
    let make = format!("CREATE CERTIFICATE [{CERTIFICATE}] WITH SUBJECT = N'{SUBJECT}{made}'");
    client.execute(&wrap_for_master(&make)).map_err(certificate_failure)
}

const MAKE_CERTIFICATE: &str = "make the certificate that étalon encrypts for";

/// Makes the failure of the certificate.
/// It names no statement: one has a password, which an error must not repeat.
fn certificate_failure(error: AskError) -> Failure {
    ask_failure(MAKE_CERTIFICATE, &error)
        .with_hint("it takes CONTROL on the database master: `ALTER SERVER ROLE sysadmin ADD MEMBER …`")
}

/// Encrypts the session's database, which must be étalon's, by étalon's certificate, and waits until that is done.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/security/encryption/transparent-data-encryption>
pub(super) fn encrypt_database(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    ensure_certificate(client, endpoint)?;
    let tried = format!("encrypt the database `{SCHEMA}`");
    let key = format!(
        "CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256 ENCRYPTION BY SERVER CERTIFICATE [{CERTIFICATE}]"
    );
    client.execute(&key).map_err(failing_to(&tried))?;
    client.execute(&format!("ALTER DATABASE [{SCHEMA}] SET ENCRYPTION ON")).map_err(failing_to(&tried))?;
    let started = Instant::now();
    let state = "SELECT encryption_state FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID()";
    while client.query_first_value(state).map_err(failing_to(&tried))? != ENCRYPTED {
        if started.elapsed() > TIMEOUT {
            let cause = format!("the server has not encrypted it within {} s", TIMEOUT.as_secs());
            return Err(Failure::new(FailureKind::Other, tried, cause));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Removes étalon's certificate, and its master key unless others use it by now.
/// What was encrypted must be gone.
pub(super) fn remove_certificate(client: &mut Client) -> Result<(), Failure> {
    let tried = format!("remove the certificate `{CERTIFICATE}` from master");
    let Some(subject) =
        certificate_subject(client).map_err(failing_to(&tried))?.filter(|subject| subject.contains(SUBJECT))
    else {
        return Ok(());
    };
    client.execute(&wrap_for_master(&format!("DROP CERTIFICATE [{CERTIFICATE}]"))).map_err(failing_to(&tried))?;
    if subject.contains(WITH_KEY) {
        // Refused if a foreign certificate depends on it by now.
        let _ = client.execute(&wrap_for_master("DROP MASTER KEY"));
    }
    Ok(())
}
