//! "LOGIN7".

use crate::Result;
use crate::WireError;

use super::Config;
use super::cursor::write_utf16;
use super::packet::{self, Kind, PACKET_BYTES};

const FIXED_BYTES: usize = 94;
const VERSION: u32 = 0x7400_0004;
/// "fUseDB", "fDatabase", "fSetLang": changes of database and language are reported, and a missing database ends the
/// login.
const FLAGS_1: u8 = 0xe0;
/// "fLanguage", "fODBC": the session begins with standard settings, like Microsoft's clients.
const FLAGS_2: u8 = 0x03;
/// Longest name.
const NAME_CHARACTERS: usize = 128;

/// Appends the login message.
pub(super) fn write_login(config: &Config, out: &mut Vec<u8>) -> Result<()> {
    let mut fixed = Vec::with_capacity(FIXED_BYTES);
    let mut data = Vec::new();
    let packet_bytes = usize::from(config.packet_bytes).clamp(*PACKET_BYTES.start(), *PACKET_BYTES.end());
    for number in [0, VERSION, packet_bytes as u32, 0, std::process::id(), 0] {
        fixed.extend(number.to_le_bytes());
    }
    fixed.extend([FLAGS_1, FLAGS_2, 0, 0]);
    // Time zone and locale: the server makes no use of them.
    fixed.extend([0; 8]);
    let password = config.password.as_ref().map(|secret| String::from_utf8_lossy(secret.expose()).into_owned());
    let password = password.unwrap_or_default();
    let database = config.database.as_deref().unwrap_or_default();
    let texts =
        [&config.host, &config.user, &password, &config.application, &config.server, "", "etalon", "", database];
    for (place, text) in texts.into_iter().enumerate() {
        let start = data.len();
        write_utf16(text, &mut data);
        let characters = (data.len() - start) / 2;
        if characters > NAME_CHARACTERS {
            return Err(WireError::RequestTooLarge(characters as u64));
        }
        if place == 2 {
            data[start..].iter_mut().for_each(|byte| *byte = byte.rotate_left(4) ^ 0xa5);
        }
        fixed.extend(((FIXED_BYTES + start) as u16).to_le_bytes());
        fixed.extend((characters as u16).to_le_bytes());
    }
    // The client's number (six bytes), then SSPI, a file to attach and a new password: all empty.
    fixed.extend([0; 6]);
    for _ in 0..3 {
        fixed.extend(((FIXED_BYTES + data.len()) as u16).to_le_bytes());
        fixed.extend([0, 0]);
    }
    fixed.extend([0; 4]);
    fixed.extend(data);
    let length = fixed.len() as u32;
    fixed[..4].copy_from_slice(&length.to_le_bytes());
    // The size that is asked for is not agreed on yet.
    packet::write_packets(Kind::Login, &fixed, 4096, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_has_its_texts_where_it_says() {
        let config = Config {
            password: Some("pä55".into()),
            database: Some("stock".to_owned()),
            application: "etalon".to_owned(),
            ..Config::new("sa")
        };
        let mut out = Vec::new();
        write_login(&config, &mut out).unwrap();
        assert_eq!(out[0], 0x10);
        let body = &out[8..];
        assert_eq!(u32::from_le_bytes(body[..4].try_into().unwrap()) as usize, body.len());
        assert_eq!(&body[4..8], [4, 0, 0, 0x74]);
        let number = |at: usize| usize::from(u16::from_le_bytes([body[at], body[at + 1]]));
        let text = |index: usize| {
            let at = 36 + 4 * index;
            body[number(at)..number(at) + 2 * number(at + 2)].to_vec()
        };
        assert_eq!(text(1), b"s\0a\0");
        assert_eq!(text(8), b"s\0t\0o\0c\0k\0");
        // "Before submitting a password …: for every byte, swap the four high bits with the four low, then XOR 0xA5".
        let clear: Vec<u8> = text(2).iter().map(|byte| (byte ^ 0xa5).rotate_left(4)).collect();
        assert_eq!(clear, [b'p', 0, 0xe4, 0, b'5', 0, b'5', 0]);
        assert!(!out.windows(4).any(|window| window == [b'p', 0, 0xe4, 0]), "the password stands in the clear");
    }

    #[test]
    fn a_name_without_end_is_refused() {
        let config = Config::new("x".repeat(129));
        assert!(matches!(write_login(&config, &mut Vec::new()), Err(WireError::RequestTooLarge(129))));
    }
}
