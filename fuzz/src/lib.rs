//! What the targets share.
//!
//! The first byte of an input says which reader gets the rest, and how: so that one target serves several readers, and seeds
//! of one are tried on the others.

#![forbid(unsafe_code)]

use std::borrow::Cow;

/// The byte that chooses, and what is to be read.
pub fn chosen(data: &[u8]) -> Option<(u8, &[u8])> {
    data.split_first().map(|(choice, rest)| (*choice, rest))
}

/// As text, whatever it is.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Messages of a tag, a length and that many bytes, so that a protocol's headers need not be guessed: `frame` writes one of
/// them with its true length.
pub fn framed(mut bytes: &[u8], frame: impl Fn(u8, &[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * bytes.len());
    while let [tag, length, rest @ ..] = bytes {
        let (body, after) = rest.split_at(usize::from(*length).min(rest.len()));
        frame(*tag, body, &mut out);
        bytes = after;
    }
    out
}

/// Keeps an input that is built here as a seed, where `cargo xtask fuzz` asks for that.
pub fn seed(choice: u8, bytes: &[u8]) {
    let Some(folder) = std::env::var_os("ETALON_FUZZ_SEEDS") else { return };
    let path = std::path::Path::new(&folder).join(format!("built-{choice}-{}", bytes.len()));
    let _ = std::fs::write(path, [&[choice], bytes].concat());
}
