//! "PRELOGIN": what both sides say before the login.

use crate::reader::Reader;
use crate::{Result, WireError};

use super::packet::{self, Kind};

const VERSION: u8 = 0x00;
const ENCRYPTION: u8 = 0x01;
const MARS: u8 = 0x04;
const TERMINATOR: u8 = 0xff;

/// "B_FENCRYPTION": what a side says of encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EncryptionOption {
    /// It can, but would rather not.
    Off,
    On,
    Unsupported,
    Required,
}

/// Appends the first message, with what the client wants of encryption.
pub(super) fn write_prelogin(option: EncryptionOption, out: &mut Vec<u8>) {
    let option = match option {
        EncryptionOption::Off => 0,
        EncryptionOption::On => 1,
        EncryptionOption::Unsupported => 2,
        EncryptionOption::Required => 3,
    };
    // Three options of five bytes each and the terminator, then their data at these places.
    let mut payload = vec![VERSION, 0, 16, 0, 6, ENCRYPTION, 0, 22, 0, 1, MARS, 0, 23, 0, 1, TERMINATOR];
    payload.extend([0, 0, 0, 0, 0, 0, option, 0]);
    packet::write_packets(Kind::Prelogin, &payload, 4096, out);
}

/// Reads what the server wants of encryption.
pub(super) fn parse_prelogin(payload: &[u8]) -> Result<EncryptionOption> {
    let mut reader = Reader::new(payload);
    loop {
        let option = reader.take_u8()?;
        if option == TERMINATOR {
            return Err(WireError::Protocol("it does not say whether it encrypts"));
        }
        let (offset, length) = (usize::from(reader.take_u16_be()?), usize::from(reader.take_u16_be()?));
        let data = payload.get(offset..offset + length).ok_or_else(WireError::malformed)?;
        if option == ENCRYPTION {
            return match data.first() {
                Some(0) => Ok(EncryptionOption::Off),
                Some(1) => Ok(EncryptionOption::On),
                Some(2) => Ok(EncryptionOption::Unsupported),
                Some(3) => Ok(EncryptionOption::Required),
                _ => Err(WireError::Protocol("it says something unknown of encryption")),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for option in
            [EncryptionOption::Off, EncryptionOption::On, EncryptionOption::Unsupported, EncryptionOption::Required]
        {
            let mut out = Vec::new();
            write_prelogin(option, &mut out);
            assert_eq!(usize::from(u16::from_be_bytes([out[2], out[3]])), out.len());
            assert_eq!(parse_prelogin(&out[8..]).unwrap(), option);
        }
        assert!(parse_prelogin(&[]).is_err());
        assert!(parse_prelogin(&[TERMINATOR]).is_err());
        assert!(parse_prelogin(&[ENCRYPTION, 0xff, 0xff, 0xff, 0xff, TERMINATOR]).is_err());
    }
}
