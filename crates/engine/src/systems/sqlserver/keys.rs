//! The certificate that étalon's database or its backups are encrypted for: made by étalon, and removed by it. A master key
//! that somebody else has made is used, and neither changed nor removed.

use std::thread;
use std::time::{Duration, Instant};

use super::SCHEMA;
use super::connect::{Endpoint, failure};
use super::dialect::wide_literal;
use crate::error::{Failure, FailureKind};
use crate::systems::server::random_password;
use crate::systems::sqlserver::lane::{AskError, Client};

/// The certificate's name, in `master`.
pub(super) const CERTIFICATE: &str = "etalon";
/// Its subject, of letters and blanks alone, since it is a name by X.500; and what it adds where étalon made the master
/// key, too.
const SUBJECT: &str = "made by the benchmark etalon";
const WITH_KEY: &str = " with the master key";
/// A database that is empty is encrypted in a moment.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);
/// "The database is encrypted."
const ENCRYPTED: &str = "3";

/// A statement that is executed in `master`, whatever database the session is in.
pub(super) fn in_master(sql: &str) -> String {
    format!("EXEC master.sys.sp_executesql {}", wide_literal(sql))
}

fn subject(client: &mut Client) -> Result<Option<String>, AskError> {
    let sql = format!("SELECT subject FROM master.sys.certificates WHERE name = N'{CERTIFICATE}'");
    Ok(Some(client.one(&sql)?).filter(|subject| !subject.is_empty()))
}

/// Makes the certificate, and the master key if there is none. Gives it a moment's password that nobody keeps: the server
/// opens the key by a key of its own.
///
/// # Errors
/// The login may not, a certificate of that name is somebody else's, or the password would cross a network in the clear.
pub(super) fn ensure(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let tried = "make the certificate that étalon encrypts for";
    // The statement holds a password: an error must not repeat it.
    let asked = |error: AskError| {
        failure(tried, &error)
            .hint("it takes CONTROL on the database master: `ALTER SERVER ROLE sysadmin ADD MEMBER …`")
    };
    match subject(client).map_err(asked)? {
        Some(subject) if subject.contains(SUBJECT) => return Ok(()),
        Some(_) => {
            let cause = format!("master has a certificate `{CERTIFICATE}` that étalon did not make");
            return Err(Failure::new(FailureKind::NotOurs, tried, cause).hint("rename it, or use another server"));
        }
        None => {}
    }
    let keys = "SELECT COUNT(*) FROM master.sys.symmetric_keys WHERE name = N'##MS_DatabaseMasterKey##'";
    let mut made = "";
    if client.one(keys).map_err(asked)? == "0" {
        if client.encryption().is_none() && !endpoint.address.is_local() {
            let cause = "the master key's password would cross the network in the clear";
            return Err(Failure::new(FailureKind::Plan, tried, cause).hint("write `encrypt=true` in the URL"));
        }
        // Capital letters, small ones, digits and a sign: what the policies of passwords ask for.
        let password = format!("Aa1-{}", random_password());
        let make = format!("CREATE MASTER KEY ENCRYPTION BY PASSWORD = '{password}'");
        client.execute(&in_master(&make)).map_err(asked)?;
        made = WITH_KEY;
    }
    let make = format!("CREATE CERTIFICATE [{CERTIFICATE}] WITH SUBJECT = N'{SUBJECT}{made}'");
    client.execute(&in_master(&make)).map_err(asked)
}

/// Encrypts étalon's own database, which the session must be in, and waits until that is done.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/security/encryption/transparent-data-encryption>
pub(super) fn encrypt_database(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    ensure(client, endpoint)?;
    let asked = |error: AskError| failure(format!("encrypt the database `{SCHEMA}`"), &error);
    let key = format!(
        "CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256 ENCRYPTION BY SERVER CERTIFICATE [{CERTIFICATE}]"
    );
    client.execute(&key).map_err(asked)?;
    client.execute(&format!("ALTER DATABASE [{SCHEMA}] SET ENCRYPTION ON")).map_err(asked)?;
    let started = Instant::now();
    let state = "SELECT encryption_state FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID()";
    while client.one(state).map_err(asked)? != ENCRYPTED {
        if started.elapsed() > PATIENCE {
            let cause = format!("the server has not encrypted it within {} s", PATIENCE.as_secs());
            return Err(Failure::new(FailureKind::Other, format!("encrypt the database `{SCHEMA}`"), cause));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Removes the certificate, and the master key if étalon made it and nobody else has used it since. Whatever was encrypted
/// for it must be gone.
pub(super) fn remove(client: &mut Client) -> Result<(), Failure> {
    let asked = |error: AskError| failure(format!("remove the certificate `{CERTIFICATE}` from master"), &error);
    let Some(subject) = subject(client).map_err(asked)?.filter(|subject| subject.contains(SUBJECT)) else {
        return Ok(());
    };
    client.execute(&in_master(&format!("DROP CERTIFICATE [{CERTIFICATE}]"))).map_err(asked)?;
    if subject.contains(WITH_KEY) {
        // Refused where a certificate of somebody else's rests on it by now: then it is theirs.
        let _ = client.execute(&in_master("DROP MASTER KEY"));
    }
    Ok(())
}
