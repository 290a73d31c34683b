//! "OK_Packet", and "EOF_Packet" of servers that still send it.

use crate::Result;
use crate::reader::Reader;

/// The session's state as every reply reports it ("SERVER_STATUS_flags_enum").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerStatus(pub u16);

impl ServerStatus {
    const IN_TRANSACTION: u16 = 1;
    const AUTOCOMMIT: u16 = 2;
    const MORE_RESULTS: u16 = 8;

    /// Tests whether a transaction is open.
    pub fn is_in_transaction(self) -> bool {
        self.0 & Self::IN_TRANSACTION != 0
    }

    /// Tests whether each statement is a transaction of its own.
    pub fn has_autocommit(self) -> bool {
        self.0 & Self::AUTOCOMMIT != 0
    }

    /// Whether another result follows in the same reply.
    pub fn more_results(self) -> bool {
        self.0 & Self::MORE_RESULTS != 0
    }
}

/// The end of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket {
    /// Rows inserted, changed or deleted.
    pub affected_rows: u64,
    /// First generated key.
    pub last_insert_id: u64,
    pub status: ServerStatus,
    /// Number of warnings that `SHOW WARNINGS` would list.
    pub warnings: u16,
}

impl OkPacket {
    /// Reads an OK packet.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        reader.take_u8()?;
        Ok(Self {
            affected_rows: reader.lenenc_int()?,
            last_insert_id: reader.lenenc_int()?,
            status: ServerStatus(reader.take_u16_le()?),
            warnings: reader.take_u16_le()?,
        })
    }

    /// Reads an EOF packet, which older servers send in place of OK.
    pub(crate) fn parse_eof(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        reader.take_u8()?;
        let warnings = reader.take_u16_le()?;
        Ok(Self { warnings, status: ServerStatus(reader.take_u16_le()?), ..Self::default() })
    }
}
