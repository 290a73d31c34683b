//! What a private server says that it was started with.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use crate::postgres::lane::Client;
use crate::server::dialogue::first_columns;
use crate::server::refusal::ask_failure;
use load::error::Failure;

/// Settings that `initdb` writes into a new server's `postgresql.conf`, of releases 10 to 18; the mode of files on Windows alone.
const OF_INITDB: [&str; 17] = [
    "autovacuum_worker_slots",
    "datestyle",
    "default_text_search_config",
    "dynamic_shared_memory_type",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "log_file_mode",
    "log_timezone",
    "max_connections",
    "max_wal_size",
    "min_wal_size",
    "password_encryption",
    "shared_buffers",
    "timezone",
    "unix_socket_directories",
];
/// Set from the limit of the process's stack.
const OF_PROCESS: &str = "max_stack_depth";
/// Old names that the server still takes.
const RENAMED: [(&str, &str); 3] =
    [("sort_mem", "work_mem"), ("vacuum_mem", "maintenance_work_mem"), ("ssl_ecdh_curve", "ssl_groups")];

/// Settings with the place that their values came from; the file is shown to some roles only.
///
/// <https://www.postgresql.org/docs/current/view-pg-settings.html>
const ORIGINS: &str = "SELECT lower(name), source, coalesce(sourcefile, '') FROM pg_catalog.pg_settings WHERE source IN \
                       ('command line', 'configuration file', 'environment variable')";

/// Lists settings that the server has from its start beyond `arguments` and what `initdb` wrote into `data`.
///
/// # Errors
/// The connection is lost.
pub(super) fn unplanned_settings(
    client: &mut Client,
    data: &Path,
    arguments: &[OsString],
) -> Result<Vec<String>, Failure> {
    let given: BTreeSet<String> = arguments.iter().filter_map(setting_name).collect();
    let rows = client
        .query_text_rows(ORIGINS)
        .map_err(|error| ask_failure("read back the private server's settings", &error))?;
    let own_file = data.join("postgresql.conf");
    let own_file = own_file.canonicalize().unwrap_or(own_file);
    let mut strays = Vec::new();
    for row in rows {
        let [name, source, file] = first_columns(row);
        let is_own = match source.as_str() {
            "command line" => given.contains(&name),
            "configuration file" => {
                let is_own_file = file.is_empty() || Path::new(&file).canonicalize().is_ok_and(|file| file == own_file);
                is_own_file && OF_INITDB.contains(&name.as_str())
            }
            _ => name == OF_PROCESS,
        };
        if !is_own {
            strays.push(name);
        }
    }
    Ok(strays)
}

/// Extracts the name in an argument `name=value`, as the server writes it today.
fn setting_name(argument: &OsString) -> Option<String> {
    let name = argument.to_string_lossy().split_once('=')?.0.to_ascii_lowercase().replace('-', "_");
    Some(RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| (*new).to_owned()))
}
