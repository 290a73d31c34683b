//! The server's first packet ("Protocol::HandshakeV10").

use crate::reader::Reader;
use crate::{Result, WireError};

use super::session::Flavor;
use super::{ServerStatus, capability};

/// MariaDB's version prefix up to release 10, for old replicas.
const MARIADB_PREFIX: &str = "5.5.5-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) flavor: Flavor,
    pub(super) thread_id: u32,
    pub(super) capabilities: u64,
    pub(super) status: ServerStatus,
    /// The random bytes that the password is mixed with.
    pub(super) seed: Vec<u8>,
    /// The method that the server prefers.
    pub(super) plugin: Vec<u8>,
}

impl Greeting {
    /// Reads the server's greeting.
    pub(super) fn parse(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        match reader.take_u8()? {
            10 => {}
            tag => return Err(WireError::Unexpected { tag, state: "waiting for the server's greeting" }),
        }
        let version = String::from_utf8_lossy(reader.take_until_nul()?).into_owned();
        let thread_id = reader.take_u32_le()?;
        let mut seed = reader.take(8)?.to_vec();
        reader.take_u8()?;
        let lower = u64::from(reader.take_u16_le()?);
        let _charset = reader.take_u8()?;
        let status = ServerStatus(reader.take_u16_le()?);
        let upper = u64::from(reader.take_u16_le()?);
        let seed_bytes = usize::from(reader.take_u8()?);
        reader.take(6)?;
        let extended = u64::from(reader.take_u32_le()?);
        let mut capabilities = lower | upper << 16;
        // MySQL always sets this flag; MariaDB clears it to say that its extensions follow (10.2).
        let is_extended = capabilities & capability::LONG_PASSWORD == 0;
        if is_extended {
            capabilities |= extended << 32;
        }
        let plain = version.strip_prefix(MARIADB_PREFIX);
        let flavor = if is_extended || plain.is_some() { Flavor::MariaDb } else { Flavor::MySql };
        let version = plain.unwrap_or(&version).to_owned();
        if capabilities & capability::PROTOCOL_41 == 0 || capabilities & capability::SECURE_CONNECTION == 0 {
            return Err(WireError::Protocol("it is too old (before 4.1)"));
        }
        // At least 13 bytes; the last is a NUL.
        let second = reader.take(seed_bytes.saturating_sub(8).max(13))?;
        seed.extend_from_slice(second.split_last().map_or(second, |(_, seed)| seed));
        let plugin = match capabilities & capability::PLUGIN_AUTH {
            0 => b"mysql_native_password".to_vec(),
            // Some old servers forget the NUL.
            _ => reader.take_until_nul().unwrap_or_else(|_| reader.unread()).to_vec(),
        };
        Ok(Self { version, flavor, thread_id, capabilities, status, seed, plugin })
    }
}
