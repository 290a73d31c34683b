//! The key file of MariaDB's plugin `file_key_management`, for private servers whose settings ask for the plugin and name
//! no file. It lies where only the server comes to, and goes with it; no key reaches plan, store or log.
//!
//! <https://mariadb.com/docs/server/security/encryption/data-at-rest-encryption/key-management-and-encryption-plugins/file-key-management-encryption-plugin>

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use host::process::User;
use model::Value;

use super::session;
use crate::server::private::give_to_user;
use crate::server::random_password;
use load::error::{Failure, FailureKind};

const PLUGIN: &str = "file_key_management";
/// The setting that names the key file.
pub(super) const SETTING: &str = "file_key_management_filename";

/// Whether the settings ask for the encryption plugin without naming a key file, so that étalon makes one.
pub(super) fn is_key_file_wanted(settings: &BTreeMap<String, Value>) -> bool {
    settings.iter().any(|(name, value)| {
        session::plain_name(name).starts_with("plugin_load") && session::setting_text(value).contains(PLUGIN)
    }) && !settings.keys().any(|name| session::plain_name(name) == SETTING)
}

/// Makes a key file with 256 random bits.
pub(super) fn make_key_file(file: &Path, user: Option<&User>) -> Result<(), Failure> {
    write_key_file(file, &format!("1;{}{}\n", random_password(), random_password()), user)
}

/// Copies the key file of a server for another that is to read its data.
pub(super) fn copy_key_file(from: &Path, to: &Path, user: Option<&User>) -> Result<(), Failure> {
    let keys = fs::read_to_string(from).map_err(|error| {
        Failure::new(FailureKind::Missing, format!("read the key file {}", from.display()), error)
            .with_hint("without it neither the encrypted data nor a backup of them can be read again")
    })?;
    write_key_file(to, &keys, user)
}

/// Writes a key file that only the server's user can read.
fn write_key_file(file: &Path, keys: &str, user: Option<&User>) -> Result<(), Failure> {
    // Made private before the key is written.
    fs::write(file, "").map_err(key_file_failure)?;
    host::identity::close_to_others(file).map_err(key_file_failure)?;
    fs::write(file, keys).map_err(key_file_failure)?;
    give_to_user(file, user).map_err(key_file_failure)
}

/// Makes the failure of a key file that could not be written.
fn key_file_failure(cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, "write the server's key file", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_only_where_it_is_asked_for_and_not_there() {
        fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, Value> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned()))).collect()
        }
        assert!(!is_key_file_wanted(&settings(&[("innodb_encrypt_tables", "ON")])));
        assert!(is_key_file_wanted(&settings(&[("plugin-load-add", "file_key_management")])));
        let own = [("plugin_load_add", "file_key_management"), (SETTING, "/keys")];
        assert!(!is_key_file_wanted(&settings(&own)));
    }

    #[test]
    fn a_lost_key_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (lost, new) = (folder.path().join("lost"), folder.path().join("new"));
        let failure = copy_key_file(&lost, &new, None).unwrap_err();
        assert!(failure.to_string().contains("read the key file") && failure.to_string().contains("lost"), "{failure}");
        make_key_file(&lost, None).unwrap();
        copy_key_file(&lost, &new, None).unwrap();
        let text = fs::read_to_string(&new).unwrap();
        assert_eq!((text.len(), &text[..2]), (2 + 64 + 1, "1;"));
    }
}
