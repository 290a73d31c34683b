//! `BASE_BACKUP` of the streaming replication protocol (55.4) since release 15: archives and a manifest in one stream
//! of copied data.

use crate::{Result, WireError};

/// A piece of the copied data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// An archive follows.
    Archive {
        /// File name, such as `base.tar.zst`.
        name: &'a [u8],
        /// The tablespace's folder on the server; empty for the data folder.
        tablespace: &'a [u8],
    },
    /// The backup's manifest follows.
    Manifest,
    /// Bytes of the archive or the manifest.
    Data(&'a [u8]),
    /// Bytes of source data read so far.
    Progress(u64),
}

impl<'a> Message<'a> {
    /// Reads the body of a `CopyData` message.
    pub fn parse(body: &'a [u8]) -> Result<Self> {
        let broken = WireError::Protocol("a message of BASE_BACKUP is not of release 15 or later");
        match body.split_first() {
            Some((b'd', data)) => Ok(Self::Data(data)),
            Some((b'n', rest)) => {
                let mut words = rest.split(|byte| *byte == 0);
                match (words.next(), words.next(), words.next(), words.next()) {
                    (Some(name), Some(tablespace), Some([]), None) => Ok(Self::Archive { name, tablespace }),
                    _ => Err(broken),
                }
            }
            Some((b'm', [])) => Ok(Self::Manifest),
            Some((b'p', &[a, b, c, d, e, f, g, h])) => Ok(Self::Progress(u64::from_be_bytes([a, b, c, d, e, f, g, h]))),
            _ => Err(broken),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The server's codec with its options, such as `("zstd", "level=3,workers=2")`.
    pub compression: Option<(&'static str, String)>,
    /// The largest rate, 32 to 1048576 kB/s.
    pub max_rate_kb_s: Option<u32>,
}

impl Options {
    /// A complete backup with its WAL and a manifest, after an immediate checkpoint, as `pg_basebackup` asks for it.
    pub fn command_sql(&self, label: &str) -> String {
        let mut words = vec![
            format!("LABEL {}", quote_string(label)),
            "PROGRESS".to_owned(),
            "CHECKPOINT 'fast'".to_owned(),
            "WAL".to_owned(),
            "MANIFEST 'yes'".to_owned(),
            "TARGET 'client'".to_owned(),
        ];
        if let Some((codec, detail)) = &self.compression {
            words.push(format!("COMPRESSION {}", quote_string(codec)));
            words.push(format!("COMPRESSION_DETAIL {}", quote_string(detail)));
        }
        words.extend(self.max_rate_kb_s.map(|rate| format!("MAX_RATE {rate}")));
        format!("BASE_BACKUP ({})", words.join(", "))
    }
}

fn quote_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_distinguished() {
        let archive = Message::Archive { name: b"base.tar.zst", tablespace: b"" };
        assert_eq!(Message::parse(b"nbase.tar.zst\0\0").unwrap(), archive);
        assert_eq!(Message::parse(b"dabc").unwrap(), Message::Data(b"abc"));
        assert_eq!(Message::parse(b"d").unwrap(), Message::Data(b""));
        assert_eq!(Message::parse(b"m").unwrap(), Message::Manifest);
        assert_eq!(Message::parse(b"p\0\0\0\0\0\0\x01\0").unwrap(), Message::Progress(256));
        for broken in [&b""[..], b"x", b"nbase.tar\0", b"nbase.tar", b"p\0", b"m1", b"na\0b\0c\0"] {
            assert!(Message::parse(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn a_command_has_what_was_asked_for() {
        let plain = Options::default().command_sql("it's");
        assert_eq!(
            plain,
            "BASE_BACKUP (LABEL 'it''s', PROGRESS, CHECKPOINT 'fast', WAL, MANIFEST 'yes', TARGET 'client')"
        );
        let options =
            Options { compression: Some(("zstd", "level=3,workers=2".to_owned())), max_rate_kb_s: Some(1024) };
        let command = options.command_sql("x");
        assert!(command.ends_with("COMPRESSION 'zstd', COMPRESSION_DETAIL 'level=3,workers=2', MAX_RATE 1024)"));
    }
}
