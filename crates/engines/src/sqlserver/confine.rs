//! Limits plans at an agent: no programs on the server's host.

use super::url::Address;
use crate::server::refusal::ask_failure;
use crate::sqlserver::lane::Client;
use load::error::Failure;
use workloads::permits::Permits;

/// Why a login could run programs or read files on the server's host.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-stored-procedures/xp-cmdshell-transact-sql>,
/// <https://learn.microsoft.com/en-us/sql/t-sql/statements/bulk-insert-transact-sql#permissions>
const POWER: &str = "SELECT CASE WHEN IS_SRVROLEMEMBER('sysadmin') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL \
                     SERVER') = 1 THEN N'may do everything, xp_cmdshell among it' WHEN HAS_PERMS_BY_NAME(NULL, NULL, \
                     'ADMINISTER BULK OPERATIONS') = 1 THEN N'may read files by BULK INSERT' WHEN \
                     IS_SRVROLEMEMBER('securityadmin') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY LOGIN') = 1 OR \
                     HAS_PERMS_BY_NAME(NULL, NULL, 'IMPERSONATE ANY LOGIN') = 1 OR EXISTS (SELECT 1 FROM \
                     sys.server_principals AS p WHERE p.type IN ('S', 'U') AND p.name <> SUSER_SNAME() AND \
                     HAS_PERMS_BY_NAME(QUOTENAME(p.name), 'LOGIN', 'IMPERSONATE') = 1) THEN N'may act as other logins' \
                     ELSE N'' END";

/// Fails if a login could run programs or read files on the server's host, unless that is allowed.
pub(super) fn refuse_strong(client: &mut Client, address: &Address, permits: &Permits) -> Result<(), Failure> {
    if !permits.are_bounded() {
        return Ok(());
    }
    let power = client.query_first_value(POWER).map_err(|error| ask_failure("ask what the login may do", &error))?;
    if power.is_empty() {
        return Ok(());
    }
    let how = "name a login that can do no more than a benchmark needs: `ALTER SERVER ROLE dbcreator ADD MEMBER …`";
    permits.refuse_strong_login(&address.user, &power, how)
}
