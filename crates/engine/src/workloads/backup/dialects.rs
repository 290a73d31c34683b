//! The statements by which engines back up and restore where SQL is the way; the others have programs and protocols of
//! their own, in `targets`.
//!
//! Those for SQL Server are written after Microsoft's documentation and have not been executed: this build has no target
//! for it.

use crate::backup::codec::{Codec, Compression};

/// How an engine writes backups in SQL.
pub trait BackupDialect: Sync {
    /// Whose words these are; see [`crate::dataset::Dialect::flavour`].
    fn flavour(&self) -> &'static str;

    /// The statement that backs up `database` into the file `path`.
    ///
    /// # Errors
    /// The engine has no such codec; the reason.
    fn back_up(&self, database: &str, path: &str, compression: Compression) -> Result<String, String>;

    /// The statements that restore it under another name, into files in `folder`.
    fn restore(&self, database: &str, path: &str, folder: &str) -> Vec<String>;

    /// The statement whose one row is the CPU time of the whole server so far, in milliseconds: a session's own leaves
    /// out the threads that compress.
    fn server_cpu_ms(&self) -> Option<&'static str>;
}

/// SQL Server from 2008 on.
struct SqlServer;

impl BackupDialect for SqlServer {
    fn flavour(&self) -> &'static str {
        "sqlserver"
    }

    fn back_up(&self, database: &str, path: &str, compression: Compression) -> Result<String, String> {
        // Zstandard from 2025 on; `COMPRESSION` alone is MS_XPRESS. Levels LOW, MEDIUM and HIGH are zstd's 1, 3 and 9 or
        // what comes nearest: https://learn.microsoft.com/sql/t-sql/statements/backup-transact-sql
        let codec = match compression.codec {
            Codec::None => "NO_COMPRESSION".to_owned(),
            Codec::Zstd => {
                let level = match compression.level {
                    0..=2 => "LOW",
                    3..=6 => "MEDIUM",
                    _ => "HIGH",
                };
                format!("COMPRESSION (ALGORITHM = ZSTD, LEVEL = {level})")
            }
            Codec::Gzip | Codec::Lz4 => {
                return Err("SQL Server compresses with MS_XPRESS, QAT_DEFLATE or ZSTD".to_owned());
            }
        };
        // More than 64 KiB a transfer lets it compress encrypted databases, too, from 2016 on.
        Ok(format!(
            "BACKUP DATABASE {} TO DISK = {} WITH INIT, FORMAT, COPY_ONLY, CHECKSUM, MAXTRANSFERSIZE = 131072, {codec}",
            name(database),
            text(path)
        ))
    }

    fn restore(&self, database: &str, path: &str, folder: &str) -> Vec<String> {
        let (from, copy) = (text(path), name(&format!("{database}_restored")));
        let file = |logical: &str, ending: &str| {
            format!("MOVE {} TO {}", text(logical), text(&format!("{folder}/{database}_restored.{ending}")))
        };
        let (rows, log) = (file(database, "mdf"), file(&format!("{database}_log"), "ldf"));
        vec![
            format!("RESTORE VERIFYONLY FROM DISK = {from} WITH CHECKSUM"),
            format!("RESTORE DATABASE {copy} FROM DISK = {from} WITH {rows}, {log}, CHECKSUM, RECOVERY"),
            format!("DBCC CHECKDB ({copy}) WITH NO_INFOMSGS"),
        ]
    }

    fn server_cpu_ms(&self) -> Option<&'static str> {
        Some("SELECT process_user_time_ms + process_kernel_time_ms FROM sys.dm_os_sys_info")
    }
}

/// SQLite's `VACUUM INTO`; its backup interface is no SQL.
struct Sqlite;

impl BackupDialect for Sqlite {
    fn flavour(&self) -> &'static str {
        "sqlite"
    }

    fn back_up(&self, _database: &str, path: &str, compression: Compression) -> Result<String, String> {
        match compression.codec {
            Codec::None => Ok(format!("VACUUM INTO '{}'", path.replace('\'', "''"))),
            _ => Err("SQLite does not compress: étalon does".to_owned()),
        }
    }

    fn restore(&self, _database: &str, _path: &str, _folder: &str) -> Vec<String> {
        Vec::new()
    }

    fn server_cpu_ms(&self) -> Option<&'static str> {
        None
    }
}

/// Every dialect with such statements.
const DIALECTS: [&dyn BackupDialect; 2] = [&SqlServer, &Sqlite];

/// The words of a flavour.
pub fn dialect_of(flavour: &str) -> Option<&'static dyn BackupDialect> {
    DIALECTS.into_iter().find(|dialect| dialect.flavour() == flavour)
}

fn name(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn text(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executed nowhere yet: whoever changes them sees what changed.
    #[test]
    fn the_words_for_sql_server_are_as_they_were_reviewed() {
        let dialect = dialect_of("sqlserver").unwrap();
        let with = |codec, level| {
            let compression = Compression::new(codec, level, 0).unwrap();
            dialect.back_up("it's", "/tmp/a'b.bak", compression).unwrap_or_else(|reason| format!("-- {reason}"))
        };
        let mut all = vec![with("none", 0), with("zstd", 1), with("zstd", 3), with("zstd", 19), with("lz4", 0)];
        all.extend(dialect.restore("etalon", "/tmp/a.bak", "/var/restored"));
        all.extend(dialect.server_cpu_ms().map(str::to_owned));
        insta::assert_snapshot!("sqlserver", all.join(";\n"));
        assert!(dialect_of("oracle").is_none());
    }
}
