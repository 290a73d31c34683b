use workloads::backup::codec::{Codec, Compression};

/// Parts of a backup statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackupText<'a> {
    pub(super) database: &'a str,
    /// Name in the server's history.
    pub(super) label: &'a str,
    /// Files of the backup; without any it is thrown away.
    pub(super) files: &'a [String],
    pub(super) compression: Compression,
    /// 0 is the server's default.
    pub(super) transfer_kib: u32,
    pub(super) certificate: Option<&'a str>,
    /// The major version, such as 16.
    pub(super) release: u32,
}

/// First releases with features.
const ENCRYPTION_FROM: u32 = 12;
const ALGORITHMS_FROM: u32 = 16;
const ZSTD_FROM: u32 = 17;
/// Highest Zstandard levels for the server's LOW and MEDIUM, which have no numbers.
const LOW: u32 = 3;
const MEDIUM: u32 = 9;

/// Writes the clause for a compression; fails with the reason if this release does not have it.
fn compression_clause(text: &BackupText<'_>) -> Result<String, String> {
    match text.compression.codec {
        Codec::None => Ok("NO_COMPRESSION".to_owned()),
        Codec::MsXpress if text.release >= ALGORITHMS_FROM => Ok("COMPRESSION (ALGORITHM = MS_XPRESS)".to_owned()),
        // There was no other.
        Codec::MsXpress => Ok("COMPRESSION".to_owned()),
        Codec::QatDeflate if text.release < ALGORITHMS_FROM => {
            Err("QAT_DEFLATE is there from SQL Server 2022 on".to_owned())
        }
        Codec::QatDeflate => Ok("COMPRESSION (ALGORITHM = QAT_DEFLATE)".to_owned()),
        Codec::Zstd if text.release < ZSTD_FROM => Err("ZSTD is there from SQL Server 2025 on".to_owned()),
        Codec::Zstd => {
            let level = match text.compression.level {
                level if level <= LOW => "LOW",
                level if level <= MEDIUM => "MEDIUM",
                _ => "HIGH",
            };
            Ok(format!("COMPRESSION (ALGORITHM = ZSTD, LEVEL = {level})"))
        }
        Codec::Gzip | Codec::Lz4 => {
            Err("SQL Server compresses by ms_xpress, qat_deflate or zstd of its own".to_owned())
        }
    }
}

/// Writes the list of a backup's files; without any it is the device that throws away.
fn disk_list(files: &[String]) -> String {
    let all: Vec<String> = files.iter().map(|file| format!("DISK = {}", quote_text(file))).collect();
    if all.is_empty() { "DISK = 'NUL'".to_owned() } else { all.join(", ") }
}

/// Writes the `BACKUP` statement; fails with the reason if the release does not have the codec or option.
pub(super) fn backup_statement(asked: &BackupText<'_>) -> Result<String, String> {
    let mut options = vec![
        "INIT".to_owned(),
        "FORMAT".to_owned(),
        "COPY_ONLY".to_owned(),
        "CHECKSUM".to_owned(),
        "STATS = 5".to_owned(),
        format!("NAME = {}", quote_text(asked.label)),
    ];
    if asked.transfer_kib > 0 {
        options.push(format!("MAXTRANSFERSIZE = {}", u64::from(asked.transfer_kib) << 10));
    }
    options.push(compression_clause(asked)?);
    if let Some(certificate) = asked.certificate {
        if asked.release < ENCRYPTION_FROM {
            return Err("the encryption of backups is there from SQL Server 2014 on".to_owned());
        }
        options.push(format!("ENCRYPTION (ALGORITHM = AES_256, SERVER CERTIFICATE = {})", quote_name(certificate)));
    }
    Ok(format!(
        "BACKUP DATABASE {} TO {} WITH {}",
        quote_name(asked.database),
        disk_list(asked.files),
        options.join(", ")
    ))
}

/// Writes the statement that lists the database's files in a backup.
pub(super) fn file_list_sql(files: &[String]) -> String {
    format!("RESTORE FILELISTONLY FROM {}", disk_list(files))
}

/// Writes the statement that restores as the database `copy`; `moves`: names in the backup, and new paths.
pub(super) fn restore_sql(files: &[String], copy: &str, moves: &[(String, String)]) -> String {
    let moves = moves.iter().map(|(logical, path)| format!("MOVE {} TO {}", quote_text(logical), quote_text(path)));
    let options: Vec<String> = moves.chain(["CHECKSUM", "STATS = 5", "RECOVERY"].map(str::to_owned)).collect();
    format!("RESTORE DATABASE {} FROM {} WITH {}", quote_name(copy), disk_list(files), options.join(", "))
}

/// Writes the statement that reads a backup through without restoring it.
pub(super) fn verify_sql(files: &[String]) -> String {
    format!("RESTORE VERIFYONLY FROM {} WITH CHECKSUM", disk_list(files))
}

/// Writes the statement that checks a database page by page.
pub(super) fn check_sql(database: &str) -> String {
    format!("DBCC CHECKDB ({}) WITH NO_INFOMSGS", quote_name(database))
}

/// Quotes a name.
fn quote_name(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Quotes a text as a Unicode literal.
fn quote_text(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A snapshot for reviewing changes; not yet run on a SQL Server.
    #[test]
    fn the_words_for_every_release_are_as_they_were_reviewed() {
        let file = vec!["/var/opt/mssql/a'b.bak".to_owned()];
        let stripes: Vec<String> = (1..=3).map(|n| format!(r"D:\backup\etalon_{n}.bak")).collect();
        let mut all = Vec::new();
        for (year, release) in [(2016, 13), (2017, 14), (2019, 15), (2022, 16), (2025, 17)] {
            all.push(format!("-- SQL Server {year}"));
            let codecs =
                [("none", 0), ("ms_xpress", 0), ("qat_deflate", 0), ("zstd", 0), ("zstd", 9), ("zstd", 19), ("lz4", 0)];
            for (codec, level) in codecs {
                let compression = Compression::new(codec, level, 0).unwrap();
                let asked = BackupText {
                    database: "it]s",
                    label: "etalon_1",
                    files: &file,
                    compression,
                    transfer_kib: 0,
                    certificate: None,
                    release,
                };
                all.push(backup_statement(&asked).unwrap_or_else(|reason| format!("-- {codec}: {reason}")));
            }
        }
        let asked = BackupText {
            database: "etalon",
            label: "etalon_2",
            files: &stripes,
            compression: Compression::new("ms_xpress", 0, 0).unwrap(),
            transfer_kib: 128,
            certificate: Some("etalon"),
            release: 16,
        };
        all.push("-- striped, encrypted, in transfers of 128 KiB".to_owned());
        all.push(backup_statement(&asked).unwrap());
        all.push("-- thrown away".to_owned());
        all.push(backup_statement(&BackupText { files: &[], certificate: None, ..asked }).unwrap());
        all.push(file_list_sql(&stripes));
        let moves = [("etalon", "/data/etalon_restored.mdf"), ("etalon_log", "/data/etalon_restored_log.ldf")];
        let moves = moves.map(|(logical, path)| (logical.to_owned(), path.to_owned()));
        all.push(restore_sql(&stripes, "etalon_restored", &moves));
        all.push(verify_sql(&file));
        all.push(check_sql("etalon_restored"));
        insta::assert_snapshot!("sqlserver", all.join(";\n"));
        assert!(backup_statement(&BackupText { release: 11, ..asked }).unwrap_err().contains("2014"));
    }
}
