//! The statements by which engines back up and restore where SQL is the way; the others have programs and protocols of
//! their own, in `targets`.

mod sqlserver;

use crate::backup::codec::Compression;

/// What a backup's statement is made of.
#[derive(Clone, Copy, Debug)]
pub struct BackupText<'a> {
    /// The database.
    pub database: &'a str,
    /// The backup's name in the server's history.
    pub label: &'a str,
    /// The files; none throws the backup away.
    pub files: &'a [String],
    /// How it is compressed.
    pub compression: Compression,
    /// KiB of one transfer; 0 is the server's own choice.
    pub transfer_kib: u32,
    /// The certificate that it is encrypted for, if it is.
    pub certificate: Option<&'a str>,
    /// The server's release, such as 16.
    pub release: u32,
}

/// How an engine writes backups in SQL.
pub trait BackupDialect: Sync {
    /// Whose words these are; see [`crate::dataset::Dialect::flavour`].
    fn flavour(&self) -> &'static str;

    /// The statement that takes a backup.
    ///
    /// # Errors
    /// The release has no such codec or option; the reason.
    fn back_up(&self, text: &BackupText<'_>) -> Result<String, String>;

    /// The query for the files of the database that is in a backup.
    fn file_list(&self, files: &[String]) -> String;

    /// The statement that restores a backup as the database `copy`; `moves` are its files, by their names in the backup and
    /// where they go.
    fn restore(&self, files: &[String], copy: &str, moves: &[(String, String)]) -> String;

    /// The statement that reads a backup through without restoring it.
    fn verify(&self, files: &[String]) -> String;

    /// The statement that checks a database page by page.
    fn check(&self, database: &str) -> String;
}

/// Every dialect with such statements.
const DIALECTS: [&dyn BackupDialect; 1] = [&sqlserver::SqlServer];

/// The words of a flavour.
pub fn dialect_of(flavour: &str) -> Option<&'static dyn BackupDialect> {
    DIALECTS.into_iter().find(|dialect| dialect.flavour() == flavour)
}
