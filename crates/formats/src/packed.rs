//! Packed files: gzip, Zstandard and ZIP, recognised by their first bytes. What they hold is bounded before it is read.

use std::io::{Cursor, Read, Seek};

use crate::FormatError;

/// Most bytes of a text, unpacked: far beyond any output but logs, which are read line by line.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;
/// Most bytes of all files of an archive.
pub const MAX_ARCHIVE_BYTES: u64 = 1 << 30;
/// Most files of an archive.
pub const MAX_ARCHIVE_FILES: usize = 20_000;
/// Packed files within packed files.
const MOST_LAYERS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
    Zip,
}

impl Packing {
    /// The packing that a file's first bytes show.
    pub fn of(head: &[u8]) -> Packing {
        match head {
            [0x1F, 0x8B, ..] => Packing::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Packing::Zstd,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Packing::Zip,
            _ => Packing::Plain,
        }
    }
}

/// Unpacks while it is read. An archive is none of it: see [`each_file`].
///
/// # Errors
/// The packed stream does not begin as it must.
pub fn unpacked<'a>(packing: Packing, packed: Box<dyn Read + 'a>) -> std::io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        Packing::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
            Box::new(decoder.map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()))?)
        }
        Packing::Plain | Packing::Zip => packed,
    })
}

/// All bytes of a text, unpacked.
///
/// # Errors
/// It is too large, or damaged.
pub fn read_text(bytes: Vec<u8>) -> Result<Vec<u8>, FormatError> {
    let mut bytes = bytes;
    for _ in 0..MOST_LAYERS {
        let packing = Packing::of(&bytes);
        if !matches!(packing, Packing::Gzip | Packing::Zstd) {
            return Ok(bytes);
        }
        let reader = unpacked(packing, Box::new(bytes.as_slice())).map_err(|error| damaged(&error))?;
        bytes = read_bounded(reader, MAX_TEXT_BYTES)?;
    }
    Err(FormatError::whole(format!("it is packed more than {MOST_LAYERS} times")))
}

/// Reads to the end, but not beyond a limit.
///
/// # Errors
/// There are more bytes, or they cannot be read.
pub fn read_bounded(reader: impl Read, most: u64) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    if bytes.len() as u64 > most {
        let what = format!("it holds more than {} MiB of text", most >> 20);
        return Err(FormatError::whole(what).with_hint("only logs of pgbench and of tasks are read in any length"));
    }
    Ok(bytes)
}

fn damaged(error: &std::io::Error) -> FormatError {
    FormatError::whole(format!("it cannot be unpacked: {error}"))
}

/// Calls `visit` with the name and the bytes of each file of a ZIP archive, in the order of the names.
///
/// # Errors
/// The archive is damaged or too large, or `visit` failed.
pub fn each_file<E: From<FormatError>>(
    archive: impl Read + Seek,
    mut visit: impl FnMut(&str, Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let wrong = |error: zip::result::ZipError| FormatError::whole(format!("the ZIP archive cannot be read: {error}"));
    let mut archive = zip::ZipArchive::new(archive).map_err(wrong)?;
    if archive.len() > MAX_ARCHIVE_FILES {
        return Err(FormatError::whole(format!("the archive holds more than {MAX_ARCHIVE_FILES} files")).into());
    }
    let mut names: Vec<String> = archive
        .file_names()
        .map(|name| name.map(std::borrow::Cow::into_owned))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    names.sort();
    let mut left = MAX_ARCHIVE_BYTES;
    for name in names {
        let file = archive.by_name(&name).map_err(wrong)?;
        if !file.is_file() {
            continue;
        }
        let in_file = |error: FormatError| FormatError::whole(format!("{name}: {error}"));
        let bytes = read_bounded(file, left.min(MAX_TEXT_BYTES)).map_err(in_file)?;
        left = left.saturating_sub(bytes.len() as u64);
        visit(&name, read_text(bytes).map_err(in_file)?)?;
    }
    Ok(())
}

/// Reads an archive in memory as [`each_file`] reads a file.
///
/// # Errors
/// Those of [`each_file`].
pub fn each_file_of<E: From<FormatError>>(
    bytes: &[u8],
    visit: impl FnMut(&str, Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    each_file(Cursor::new(bytes), visit)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn each_packing_gives_back_its_text() {
        let zstd = ruzstd::encoding::compress_to_vec(&b"tps = 1\n"[..], ruzstd::encoding::CompressionLevel::Fastest);
        for packed in [b"tps = 1\n".to_vec(), gzip(b"tps = 1\n"), zstd, gzip(&gzip(b"tps = 1\n"))] {
            assert_eq!(read_text(packed).unwrap(), b"tps = 1\n");
        }
        let mut found = Vec::new();
        let archive = zip(&[("b/x.txt", b"2"), ("a/x.txt.gz", &gzip(b"1"))]);
        each_file_of(&archive, |name, bytes| -> Result<(), FormatError> {
            found.push((name.to_owned(), bytes));
            Ok(())
        })
        .unwrap();
        assert_eq!(found, [("a/x.txt.gz".to_owned(), b"1".to_vec()), ("b/x.txt".to_owned(), b"2".to_vec())]);
    }

    #[test]
    fn a_bomb_is_refused() {
        let zeros = gzip(&vec![0; (MAX_TEXT_BYTES + 1) as usize]);
        assert!(zeros.len() < 4 << 20);
        assert!(read_text(zeros.clone()).unwrap_err().to_string().contains("more than 256 MiB"));
        let archive = zip(&[("a.gz", &zeros)]);
        let error = each_file_of(&archive, |_, _| Ok::<(), FormatError>(())).unwrap_err();
        assert!(error.to_string().starts_with("a.gz: it holds more"), "{error}");
    }

    #[test]
    fn damaged_archives_are_errors() {
        for bytes in [b"PK\x03\x04nothing".to_vec(), zip(&[("a", b"text")])[..30].to_vec()] {
            assert!(each_file_of(&bytes, |_, _| Ok::<(), FormatError>(())).is_err());
        }
        let cut = &gzip(b"a longer text that is cut in the middle")[..20];
        assert!(read_text(cut.to_vec()).is_err());
        assert!(read_text(vec![0x28, 0xB5, 0x2F, 0xFD, 1, 2, 3]).is_err());
    }
}
