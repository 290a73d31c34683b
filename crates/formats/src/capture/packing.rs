//! Executions in bytes: numbers in groups of seven bits, times as differences, whole blocks packed by zlib.

use std::io::{Read as _, Write as _};

use super::CaptureError;

/// Executions of a block.
pub const BLOCK_EXECUTIONS: u64 = 4_096;
/// A block ends when its bytes reach this.
pub const BLOCK_BYTES: usize = 1 << 20;
/// A block's last execution may have a record of the longest kind, whose every byte may be a value.
const MAX_BLOCK_BYTES: u64 = 256 << 20;

/// An execution by the numbers of its session, statement and error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packed {
    pub session: u64,
    pub statement: u64,
    pub start_us: i64,
    pub duration_us: Option<u64>,
    pub literals: Vec<String>,
    pub parameters: Vec<Option<String>>,
    pub rows: Option<u64>,
    pub bytes: Option<u64>,
    /// 0 for none.
    pub error: u64,
}

/// The executions of a block, as they are added.
#[derive(Debug, Default)]
pub struct Block {
    bytes: Vec<u8>,
    pub executions: u64,
    pub first_us: i64,
    pub last_us: i64,
    before_us: i64,
}

impl Block {
    /// Tests whether the block has grown enough to be written.
    pub fn is_full(&self) -> bool {
        self.executions >= BLOCK_EXECUTIONS || self.bytes.len() >= BLOCK_BYTES
    }

    /// Appends an execution, its start as the step from the one before.
    pub fn push(&mut self, one: &Packed) {
        if self.executions == 0 {
            (self.first_us, self.last_us) = (one.start_us, one.start_us);
        }
        self.first_us = self.first_us.min(one.start_us);
        self.last_us = self.last_us.max(one.start_us);
        self.executions += 1;
        let step = one.start_us.wrapping_sub(self.before_us);
        self.before_us = one.start_us;
        let into = &mut self.bytes;
        put_number(into, one.session);
        put_number(into, one.statement);
        put_number(into, ((step << 1) ^ (step >> 63)).cast_unsigned());
        put_optional(into, one.duration_us);
        put_optional(into, one.rows);
        put_optional(into, one.bytes);
        put_number(into, one.error);
        put_number(into, one.literals.len() as u64);
        one.literals.iter().for_each(|literal| put_text(into, Some(literal)));
        put_number(into, one.parameters.len() as u64);
        one.parameters.iter().for_each(|value| put_text(into, value.as_deref()));
    }

    /// Compresses the block.
    pub fn to_packed(&self) -> std::io::Result<Vec<u8>> {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&self.bytes)?;
        packer.finish()
    }
}

/// Appends a number, seven bits a byte.
fn put_number(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Appends a number that may be missing: one more than it is, or 0.
fn put_optional(into: &mut Vec<u8>, value: Option<u64>) {
    put_number(into, value.map_or(0, |value| value.saturating_add(1)));
}

/// Appends a text's length and the text; 0 is none.
fn put_text(into: &mut Vec<u8>, text: Option<&str>) {
    put_optional(into, text.map(|text| text.len() as u64));
    into.extend_from_slice(text.unwrap_or_default().as_bytes());
}

/// Unpacks the executions of a block.
///
/// # Errors
/// It is damaged.
pub fn unpack(packed: &[u8]) -> Result<Vec<Packed>, CaptureError> {
    let mut bytes = Vec::new();
    let unpacker = flate2::read::ZlibDecoder::new(packed);
    unpacker.take(MAX_BLOCK_BYTES).read_to_end(&mut bytes).map_err(|_| CaptureError::Damaged)?;
    let (mut rest, mut all, mut before_us) = (bytes.as_slice(), Vec::new(), 0_i64);
    while !rest.is_empty() {
        let one = take_execution(&mut rest, before_us).ok_or(CaptureError::Damaged)?;
        before_us = one.start_us;
        all.push(one);
    }
    Ok(all)
}

/// Takes an execution from the front of a block.
fn take_execution(rest: &mut &[u8], before_us: i64) -> Option<Packed> {
    let (session, statement) = (take_number(rest)?, take_number(rest)?);
    let step = take_number(rest)?;
    let step = (step >> 1).cast_signed() ^ -((step & 1).cast_signed());
    let (duration_us, rows, bytes) = (take_optional(rest)?, take_optional(rest)?, take_optional(rest)?);
    let error = take_number(rest)?;
    let literals = (0..take_count(rest)?).map(|_| take_text(rest)?).collect::<Option<_>>()?;
    let parameters = (0..take_count(rest)?).map(|_| take_text(rest)).collect::<Option<_>>()?;
    let start_us = before_us.wrapping_add(step);
    Some(Packed { session, statement, start_us, duration_us, literals, parameters, rows, bytes, error })
}

/// Takes a number from the front of a block.
fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for place in 0..10 {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7F).checked_shl(7 * place)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Takes the number of texts that follow; `None` if more than the bytes that are left.
fn take_count(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_number(rest)?).ok().filter(|count| *count <= rest.len())
}

/// Takes a number that may be missing; the outer `None` is damage.
fn take_optional(rest: &mut &[u8]) -> Option<Option<u64>> {
    Some(take_number(rest)?.checked_sub(1))
}

/// Takes a text that may be missing; the outer `None` is damage.
fn take_text(rest: &mut &[u8]) -> Option<Option<String>> {
    let Some(length) = take_optional(rest)? else { return Some(None) };
    let (text, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    Some(Some(String::from_utf8(text.to_vec()).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn executions_come_back_as_they_were() {
        let one = Packed {
            session: 300,
            statement: 1,
            start_us: 1_795_894_865_123_456,
            duration_us: Some(0),
            literals: vec!["'é'".to_owned(), String::new()],
            parameters: vec![None, Some("x".to_owned()), Some(String::new())],
            rows: None,
            bytes: Some(u64::MAX - 1),
            error: 2,
        };
        let other = Packed { start_us: -5, ..Packed::default() };
        let mut block = Block::default();
        [&one, &other, &one].into_iter().for_each(|one| block.push(one));
        assert_eq!((block.executions, block.first_us, block.last_us), (3, -5, one.start_us));
        assert_eq!(unpack(&block.to_packed().unwrap()).unwrap(), [one.clone(), other, one]);
    }

    proptest! {
        #[test]
        fn a_damaged_block_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(&bytes).unwrap();
            let _ = unpack(&packer.finish().unwrap());
            let _ = unpack(&bytes);
        }
    }
}
