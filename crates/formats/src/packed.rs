//! Packed files: gzip, Zstandard, ZIP and tar, recognised by their first bytes. What they hold is bounded before it is read.

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
    /// Recognises the packing by a file's first bytes.
    pub fn from_head(head: &[u8]) -> Packing {
        match head {
            [0x1F, 0x8B, ..] => Packing::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Packing::Zstd,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Packing::Zip,
            _ => Packing::Plain,
        }
    }
}

/// Tells whether a file is an archive: ZIP, or tar, which may be packed.
pub fn is_archive(file: impl Read) -> bool {
    let head = read_first_bytes(file);
    match Packing::from_head(&head) {
        Packing::Zip => true,
        Packing::Plain => is_tar(&head),
        packing => {
            unpacking_reader(packing, Box::new(head.as_slice())).is_ok_and(|file| is_tar(&read_first_bytes(file)))
        }
    }
}

/// Reads the first 64 KiB, as many as come: what is packed may end in the middle.
fn read_first_bytes(mut file: impl Read) -> Vec<u8> {
    const HEAD_BYTES: usize = 64 << 10;
    let mut head = Vec::new();
    let mut block = [0; 512];
    while head.len() < HEAD_BYTES {
        match file.read(&mut block) {
            Ok(0) | Err(_) => break,
            Ok(read) => head.extend_from_slice(&block[..read]),
        }
    }
    head
}

/// Tests whether a file's beginning is that of a tar archive.
fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Makes a reader that unpacks while it is read; an archive stays as it is: see [`each_file`].
///
/// # Errors
/// The packed stream does not begin as it must.
pub fn unpacking_reader<'a>(packing: Packing, packed: Box<dyn Read + 'a>) -> std::io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        Packing::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
            Box::new(decoder.map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()))?)
        }
        Packing::Plain | Packing::Zip => packed,
    })
}

/// Unpacks all bytes of a text, which may be packed three times.
///
/// # Errors
/// It is too large, or damaged.
pub fn unpack_text(bytes: Vec<u8>) -> Result<Vec<u8>, FormatError> {
    let mut bytes = bytes;
    for _ in 0..MOST_LAYERS {
        let packing = Packing::from_head(&bytes);
        if !matches!(packing, Packing::Gzip | Packing::Zstd) {
            return Ok(bytes);
        }
        let reader = unpacking_reader(packing, Box::new(bytes.as_slice())).map_err(|error| damaged_packing(&error))?;
        bytes = read_bounded(reader, MAX_TEXT_BYTES)?;
    }
    Err(FormatError::of_whole(format!("it is packed more than {MOST_LAYERS} times")))
}

/// Reads to the end; fails if there are more bytes than a limit.
///
/// # Errors
/// There are more bytes, or they cannot be read.
pub fn read_bounded(reader: impl Read, most: u64) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes).map_err(|error| damaged_packing(&error))?;
    if bytes.len() as u64 > most {
        let what = format!("it holds more than {} MiB of text", most >> 20);
        return Err(FormatError::of_whole(what).with_hint("only logs of pgbench and of tasks are read in any length"));
    }
    Ok(bytes)
}

/// Makes the error of a file that cannot be unpacked.
fn damaged_packing(error: &std::io::Error) -> FormatError {
    FormatError::of_whole(format!("it cannot be unpacked: {error}"))
}

/// Tests whether a name is of a file that was packed, and not hidden or added by macOS.
fn is_shown(name: &str) -> bool {
    !name.split(['/', '\\']).any(|part| (part.starts_with('.') && part != "." && part != "..") || part == "__MACOSX")
}

/// Calls `visit` with the name and the bytes of each file of an archive, in the order of the names.
///
/// # Errors
/// The archive is damaged or too large, or `visit` failed.
pub fn each_file<E: From<FormatError>>(
    mut archive: impl Read + Seek,
    visit: impl FnMut(&str, Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut head = [0; 4];
    let start = archive.read(&mut head).and_then(|_| archive.rewind());
    start.map_err(|error| damaged_packing(&error))?;
    match Packing::from_head(&head) {
        Packing::Zip => each_file_of_zip(archive, visit),
        packing => {
            let file = unpacking_reader(packing, Box::new(archive)).map_err(|error| damaged_packing(&error))?;
            each_file_of_tar(&read_bounded(file, MAX_ARCHIVE_BYTES)?, visit)
        }
    }
}

/// Calls `visit` with the name and the bytes of each file of a tar archive, in the order of the names.
fn each_file_of_tar<E: From<FormatError>>(
    bytes: &[u8],
    mut visit: impl FnMut(&str, Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    const BLOCK: usize = 512;
    let mut files: Vec<(String, &[u8])> = Vec::new();
    let (mut rest, mut long_name) = (bytes, None);
    while let Some((header, behind)) = rest.split_at_checked(BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let size = parse_octal(&header[124..136])
            .ok_or_else(|| FormatError::of_whole("the tar archive tells no size of a file"))?;
        let content =
            behind.get(..size).ok_or_else(|| FormatError::of_whole("the tar archive ends in the middle of a file"))?;
        match header[156] {
            b'L' => long_name = Some(field_text(content)),
            b'x' => long_name = path_of_pax(content),
            b'0' | 0 => files.push((long_name.take().unwrap_or_else(|| name_of(header)), content)),
            _ => long_name = None,
        }
        if files.len() > MAX_ARCHIVE_FILES {
            return Err(too_many_files().into());
        }
        rest = behind.get(size.div_ceil(BLOCK).saturating_mul(BLOCK)..).unwrap_or_default();
    }
    files.sort_unstable();
    for (name, content) in files.into_iter().filter(|(name, _)| is_shown(name)) {
        visit(
            &name,
            unpack_text(content.to_vec()).map_err(|error| FormatError::of_whole(format!("{name}: {error}")))?,
        )?;
    }
    Ok(())
}

/// Gives the text of a field up to the first zero.
fn field_text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Reads an octal number of a tar header.
fn parse_octal(field: &[u8]) -> Option<usize> {
    usize::from_str_radix(field_text(field).trim(), 8).ok()
}

/// Gives a file's name in a tar header, behind its folders where these did not fit.
fn name_of(header: &[u8]) -> String {
    let (name, folders) = (field_text(&header[..100]), field_text(&header[345..500]));
    let has_folders = header.get(257..263) == Some(b"ustar\0") && !folders.is_empty();
    if has_folders { format!("{folders}/{name}") } else { name }
}

/// Finds the path in an extended header of tar: `27 path=folder/name`.
fn path_of_pax(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    text.lines().find_map(|line| Some(line.split_once(" path=")?.1.to_owned()))
}

/// Makes the error of an archive with too many files.
fn too_many_files() -> FormatError {
    FormatError::of_whole(format!("the archive holds more than {MAX_ARCHIVE_FILES} files"))
}

/// Calls `visit` with the name and the bytes of each file of a ZIP archive, in the order of the names.
fn each_file_of_zip<E: From<FormatError>>(
    archive: impl Read + Seek,
    mut visit: impl FnMut(&str, Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut archive = zip::ZipArchive::new(archive).map_err(unreadable_zip)?;
    if archive.len() > MAX_ARCHIVE_FILES {
        return Err(too_many_files().into());
    }
    let mut names: Vec<String> = archive
        .file_names()
        .map(|name| name.map(std::borrow::Cow::into_owned))
        .collect::<Result<_, _>>()
        .map_err(unreadable_zip)?;
    names.retain(|name| is_shown(name));
    names.sort();
    let mut left = MAX_ARCHIVE_BYTES;
    for name in names {
        let file = archive.by_name(&name).map_err(unreadable_zip)?;
        if !file.is_file() {
            continue;
        }
        let in_file = |error: FormatError| FormatError::of_whole(format!("{name}: {error}"));
        let bytes = read_bounded(file, left.min(MAX_TEXT_BYTES)).map_err(in_file)?;
        left = left.saturating_sub(bytes.len() as u64);
        visit(&name, unpack_text(bytes).map_err(in_file)?)?;
    }
    Ok(())
}

/// Makes the error of a ZIP archive that cannot be read.
fn unreadable_zip(error: zip::result::ZipError) -> FormatError {
    FormatError::of_whole(format!("the ZIP archive cannot be read: {error}"))
}

/// Calls `visit` with each file of an archive in memory, as [`each_file`] does.
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
            assert_eq!(unpack_text(packed).unwrap(), b"tps = 1\n");
        }
        let archive = zip(&[("b/x.txt", b"2"), ("a/x.txt.gz", &gzip(b"1"))]);
        let found = names_in(&archive).unwrap();
        assert_eq!(found, [("a/x.txt.gz".to_owned(), b"1".to_vec()), ("b/x.txt".to_owned(), b"2".to_vec())]);
    }

    /// A file of a tar archive, with its header.
    fn in_tar(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[156] = kind;
        header[257..263].copy_from_slice(b"ustar\0");
        let mut packed = [&header[..], bytes].concat();
        packed.resize(packed.len().div_ceil(512) * 512, 0);
        packed
    }

    fn names_in(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, FormatError> {
        let mut found = Vec::new();
        each_file_of(archive, |name, bytes| -> Result<(), FormatError> {
            found.push((name.to_owned(), bytes));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn files_of_a_tar_are_read_packed_or_not() {
        let long = format!("b/{}.txt", "x".repeat(150));
        let whole = [
            in_tar("b", b'5', b""),
            in_tar("././@LongLink", b'L', long.as_bytes()),
            in_tar(&long[..90], b'0', b"2"),
            in_tar("pax", b'x', b"17 path=a/y.txt\n"),
            in_tar("y", b'0', &gzip(b"1")),
            in_tar("._a", b'0', b"macOS"),
            vec![0; 1024],
        ]
        .concat();
        let expected = [("a/y.txt".to_owned(), b"1".to_vec()), (long, b"2".to_vec())];
        for archive in [whole.clone(), gzip(&whole)] {
            assert!(is_archive(archive.as_slice()));
            assert_eq!(names_in(&archive).unwrap(), expected);
        }
        assert!(names_in(&whole[..2048]).is_err(), "it ends in a file");
        let damaged = [&whole[..124], &b"zzzzzzzzzzz"[..], &whole[135..]].concat();
        assert!(names_in(&damaged).is_err());
        assert!(!is_archive(&b"tps = 1"[..]) && !is_archive(gzip(b"tps = 1").as_slice()));
    }

    #[test]
    fn what_macos_adds_to_an_archive_is_no_file_of_it() {
        let archive = zip(&[("r/a/x.txt", b"1"), ("__MACOSX/r/a/._x.txt", b"2"), ("r/.DS_Store", b"3")]);
        assert_eq!(names_in(&archive).unwrap(), [("r/a/x.txt".to_owned(), b"1".to_vec())]);
    }

    #[test]
    fn a_bomb_is_refused() {
        let zeros = gzip(&vec![0; (MAX_TEXT_BYTES + 1) as usize]);
        assert!(zeros.len() < 4 << 20);
        assert!(unpack_text(zeros.clone()).unwrap_err().to_string().contains("more than 256 MiB"));
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
        assert!(unpack_text(cut.to_vec()).is_err());
        assert!(unpack_text(vec![0x28, 0xB5, 0x2F, 0xFD, 1, 2, 3]).is_err());
    }
}
