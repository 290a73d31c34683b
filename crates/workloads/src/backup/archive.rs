//! Reads tar archives and MariaDB's backup streams, and splits them into kinds of data and zero pages, which compress
//! well even when the rest is encrypted.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::backups::BackupLayout;
use super::codec::{Compression, Encoder};

/// The unit of tar archives. <https://www.gnu.org/software/tar/manual/html_node/Standard.html>
const BLOCK: usize = 512;
const CHUNK: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveEntryKind {
    File {
        offset: u64,
    },
    Folder,
    /// The link's target.
    Link(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveEntry {
    pub path: String,
    pub kind: ArchiveEntryKind,
    pub size: u64,
}

/// Makes the error of an archive whose bytes are not as its format says.
fn broken_archive(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Reads an archive to its end: hands each entry to `begin`, and its bytes, piece by piece, to `data`.
pub fn read_entries<C>(
    layout: BackupLayout,
    from: &mut dyn Read,
    context: &mut C,
    begin: &mut dyn FnMut(&mut C, &ArchiveEntry) -> io::Result<()>,
    data: &mut dyn FnMut(&mut C, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let entry = match layout {
            BackupLayout::Tar => tar_entry(from)?,
            BackupLayout::Xbstream => xbstream_entry(from)?,
            BackupLayout::Database | BackupLayout::Sql => return Err(broken_archive("it is no archive")),
        };
        let Some(entry) = entry else { return Ok(()) };
        begin(context, &entry)?;
        let mut left = entry.size;
        while left > 0 {
            let now = left.min(CHUNK as u64) as usize;
            from.read_exact(&mut buffer[..now])?;
            data(context, &buffer[..now])?;
            left -= now as u64;
        }
        if layout == BackupLayout::Tar {
            let padding = (BLOCK - (entry.size % BLOCK as u64) as usize) % BLOCK;
            from.read_exact(&mut buffer[..padding])?;
        }
    }
}

/// Reads the next header of a tar archive; `None` at the archive's end.
fn tar_entry(from: &mut dyn Read) -> io::Result<Option<ArchiveEntry>> {
    let mut header = [0; BLOCK];
    if !read_all_or_nothing(from, &mut header)? {
        return Ok(None);
    }
    if header.iter().all(|byte| *byte == 0) {
        // Two zero blocks are the end; padding follows.
        io::copy(from, &mut io::sink())?;
        return Ok(None);
    }
    if header.get(257..262) != Some(b"ustar") {
        return Err(broken_archive("a header of the tar archive is broken"));
    }
    let (name, prefix) = (field_text(&header[..100]), field_text(&header[345..500]));
    let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
    let size = field_number(&header[124..136])?;
    let kind = match header[156] {
        b'0' | 0 => ArchiveEntryKind::File { offset: 0 },
        b'5' => ArchiveEntryKind::Folder,
        b'2' => ArchiveEntryKind::Link(field_text(&header[157..257])),
        _ => return Err(broken_archive("the tar archive has an entry of a kind that PostgreSQL does not write")),
    };
    let size = if matches!(kind, ArchiveEntryKind::File { .. }) { size } else { 0 };
    Ok(Some(ArchiveEntry { path, kind, size }))
}

/// Text of a header's field, up to its first zero byte.
fn field_text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Reads a number in a tar header's field: octal, or base 256 if the first bit is set.
fn field_number(field: &[u8]) -> io::Result<u64> {
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        let (first, rest) = (u64::from(field[0] & 0x7f), &field[1..]);
        return Ok(rest.iter().fold(first, |sum, byte| (sum << 8) | u64::from(*byte)));
    }
    let digits = field_text(field);
    u64::from_str_radix(digits.trim(), 8).map_err(|_| broken_archive("a size in the tar archive is no number"))
}

/// Reads the next chunk header of MariaDB's backup stream; `None` at the stream's end.
///
/// `extra/mariabackup/xbstream.h`: magic, flags, type, path; for a payload length, offset and CRC-32.
fn xbstream_entry(from: &mut dyn Read) -> io::Result<Option<ArchiveEntry>> {
    loop {
        let mut head = [0; 14];
        if !read_all_or_nothing(from, &mut head)? {
            return Ok(None);
        }
        if &head[..8] != b"XBSTCK01" {
            return Err(broken_archive("it is no stream of mariadb-backup"));
        }
        let kind = head[9];
        let length = u32::from_le_bytes([head[10], head[11], head[12], head[13]]) as usize;
        if length > 4096 {
            return Err(broken_archive("a path in the stream is longer than any"));
        }
        let mut path = vec![0; length];
        from.read_exact(&mut path)?;
        if kind != b'P' {
            continue;
        }
        let mut payload = [0; 20];
        from.read_exact(&mut payload)?;
        let path = String::from_utf8_lossy(&path).into_owned();
        return Ok(Some(ArchiveEntry {
            path,
            kind: ArchiveEntryKind::File { offset: u64_at(&payload, 8) },
            size: u64_at(&payload, 0),
        }));
    }
}

/// Reads the little-endian number of eight bytes at a position.
fn u64_at(payload: &[u8], at: usize) -> u64 {
    payload[at..at + 8].iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Fills a buffer from a reader; false if the reader had ended before the first byte, an error if it ends within.
fn read_all_or_nothing(from: &mut dyn Read, into: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < into.len() {
        match from.read(&mut into[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Data,
    /// The log: WAL, redo.
    Log,
    /// InnoDB's undo and system tablespace.
    Undo,
    Other,
}

impl Class {
    pub const ALL: [(Class, &'static str); 4] =
        [(Class::Data, "data"), (Class::Log, "log"), (Class::Undo, "undo"), (Class::Other, "other")];

    /// The class of a backup's file by its path.
    fn from_path(layout: BackupLayout, path: &str) -> Class {
        let name = path.rsplit('/').next().unwrap_or(path);
        match layout {
            BackupLayout::Database | BackupLayout::Sql => Class::Data,
            BackupLayout::Tar if path.trim_start_matches("./").starts_with("pg_wal") => Class::Log,
            BackupLayout::Tar if path.starts_with("base/") || path.starts_with("global/") => Class::Data,
            BackupLayout::Tar => Class::Other,
            BackupLayout::Xbstream if name.starts_with("ib_logfile") || name == "xtrabackup_logfile" => Class::Log,
            BackupLayout::Xbstream if name.starts_with("undo") || name.starts_with("ibdata") => Class::Undo,
            BackupLayout::Xbstream if name.ends_with(".ibd") => Class::Data,
            BackupLayout::Xbstream => Class::Other,
        }
    }

    /// Size in bytes of a page of this kind of backup, in which zero pages are counted.
    fn page_bytes(layout: BackupLayout) -> usize {
        match layout {
            BackupLayout::Database | BackupLayout::Sql => 4096,
            BackupLayout::Tar => 8192,
            BackupLayout::Xbstream => 16384,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSize {
    /// Bytes before compression.
    pub source_bytes: u64,
    /// Each class compressed separately.
    pub stored_bytes: u64,
    /// Bytes in whole pages of zeros.
    pub zero_bytes: u64,
    /// The part of `stored_bytes` that other pages take, compressed separately: even tightly packed zeros would count next
    /// to little content.
    pub stored_content_bytes: u64,
}

#[derive(Default)]
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A class during compression; zero pages go to a stream of their own.
struct Part {
    share: ClassSize,
    content: Encoder<Count>,
    zeros: Encoder<Count>,
}

impl Part {
    /// Makes a class without bytes, whose content and zero pages are compressed apart.
    fn new(compression: Compression) -> io::Result<Part> {
        Ok(Part {
            share: ClassSize::default(),
            content: Encoder::new(compression, Count::default())?,
            zeros: Encoder::new(compression, Count::default())?,
        })
    }

    /// Ends the compression of a class, and returns its sizes.
    fn finish(self) -> io::Result<ClassSize> {
        let stored_content_bytes = self.content.finish()?.0;
        // An unused stream's frame must not count.
        let zeros = if self.share.zero_bytes > 0 { self.zeros.finish()?.0 } else { 0 };
        Ok(ClassSize { stored_bytes: stored_content_bytes + zeros, stored_content_bytes, ..self.share })
    }
}

struct Split {
    compression: Compression,
    layout: BackupLayout,
    parts: BTreeMap<Class, Part>,
    now: Class,
    page: Vec<u8>,
}

impl Split {
    /// Begins a file of the backup; its class says where its bytes are counted.
    fn begin_file(&mut self, path: &str) -> io::Result<()> {
        self.end_page()?;
        self.now = Class::from_path(self.layout, path);
        if !self.parts.contains_key(&self.now) {
            self.parts.insert(self.now, Part::new(self.compression)?);
        }
        Ok(())
    }

    /// Counts and compresses the collected page, as zeros or as content; an incomplete page counts as content.
    fn end_page(&mut self) -> io::Result<()> {
        if !self.page.is_empty()
            && let Some(part) = self.parts.get_mut(&self.now)
        {
            let whole = self.page.len() == Class::page_bytes(self.layout);
            if whole && self.page.iter().all(|byte| *byte == 0) {
                part.share.zero_bytes += self.page.len() as u64;
                part.zeros.write_all(&self.page)?;
            } else {
                part.content.write_all(&self.page)?;
            }
        }
        self.page.clear();
        Ok(())
    }

    /// Adds bytes of the current file to its class, page by page.
    fn add_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(part) = self.parts.get_mut(&self.now) else { return Ok(()) };
        part.share.source_bytes += bytes.len() as u64;
        let page_bytes = Class::page_bytes(self.layout);
        while !bytes.is_empty() {
            let now = bytes.len().min(page_bytes - self.page.len());
            self.page.extend_from_slice(&bytes[..now]);
            bytes = &bytes[now..];
            if self.page.len() == page_bytes {
                self.end_page()?;
            }
        }
        Ok(())
    }
}

/// Splits a backup by file class, and returns each class's size before and after compression.
///
/// Classes and their zero pages are compressed separately, so the sum may differ a little from the backup's size.
pub fn split_by_class(
    layout: BackupLayout,
    from: &mut dyn Read,
    compression: Compression,
) -> io::Result<BTreeMap<Class, ClassSize>> {
    let mut split = Split { compression, layout, parts: BTreeMap::new(), now: Class::Other, page: Vec::new() };
    match layout {
        BackupLayout::Tar | BackupLayout::Xbstream => {
            read_entries(
                layout,
                from,
                &mut split,
                &mut |split, entry| split.begin_file(&entry.path),
                &mut Split::add_bytes,
            )?;
        }
        BackupLayout::Database | BackupLayout::Sql => {
            split.begin_file("")?;
            let mut buffer = vec![0; CHUNK];
            loop {
                match from.read(&mut buffer)? {
                    0 => break,
                    bytes => split.add_bytes(&buffer[..bytes])?,
                }
            }
        }
    }
    split.end_page()?;
    split.parts.into_iter().map(|(class, part)| Ok((class, part.finish()?))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A tar archive as PostgreSQL writes it.
    fn tar(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        for (path, kind, bytes) in entries {
            let mut header = [0u8; BLOCK];
            header[..path.len()].copy_from_slice(path.as_bytes());
            header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
            header[156] = *kind;
            header[257..262].copy_from_slice(b"ustar");
            all.extend_from_slice(&header);
            all.extend_from_slice(bytes);
            all.resize(all.len().next_multiple_of(BLOCK), 0);
        }
        all.resize(all.len() + 2 * BLOCK, 0);
        all
    }

    fn chunk(path: &str, kind: u8, offset: u64, bytes: &[u8]) -> Vec<u8> {
        let mut all = b"XBSTCK01\0".to_vec();
        all.push(kind);
        all.extend_from_slice(&(path.len() as u32).to_le_bytes());
        all.extend_from_slice(path.as_bytes());
        if kind == b'P' {
            all.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            all.extend_from_slice(&offset.to_le_bytes());
            all.extend_from_slice(&[0; 4]);
            all.extend_from_slice(bytes);
        }
        all
    }

    #[test]
    fn a_tar_archive_is_split_by_class_and_its_zero_pages_counted() {
        let mut table = vec![7u8; 8192];
        table.extend_from_slice(&[0; 16384]);
        let archive = tar(&[
            ("base", b'5', b""),
            ("base/5/16384", b'0', &table),
            ("pg_wal/1", b'0', &[1; 700]),
            ("PG_VERSION", b'0', b"15\n"),
        ]);
        let shares = split_by_class(BackupLayout::Tar, &mut &archive[..], Compression::NONE).unwrap();
        let expected =
            ClassSize { source_bytes: 24576, stored_bytes: 24576, zero_bytes: 16384, stored_content_bytes: 8192 };
        assert_eq!(shares[&Class::Data], expected);
        assert_eq!(shares[&Class::Log].source_bytes, 700);
        assert_eq!(shares[&Class::Other].source_bytes, 3);
        let torn = &archive[..archive.len() / 2];
        assert!(split_by_class(BackupLayout::Tar, &mut &torn[..], Compression::NONE).is_err());
    }

    proptest! {
        /// Whatever a server sends, no more than that is passed on, and it ends.
        #[test]
        fn a_damaged_backup_is_refused_or_read(at in 0..2_000_usize, with: Vec<u8>, cut: bool) {
            let mut stream = chunk("etalon/item.ibd", b'P', 0, &[1; 700]);
            stream.extend(chunk("etalon/item.ibd", b'E', 0, b""));
            let archive = tar(&[("base", b'5', b""), ("base/5/16384", b'0', &[1; 700]), ("PG_VERSION", b'0', b"15\n")]);
            for (layout, mut bytes) in [(BackupLayout::Tar, archive), (BackupLayout::Xbstream, stream)] {
                let at = at.min(bytes.len());
                if cut {
                    bytes.truncate(at);
                }
                bytes.splice(at..(at + with.len()).min(bytes.len()), with.iter().copied());
                let mut read_bytes = 0;
                let _ = read_entries(layout, &mut &bytes[..], &mut read_bytes, &mut |_, _| Ok(()), &mut |sum: &mut usize, piece: &[u8]| {
                    *sum += piece.len();
                    Ok(())
                });
                prop_assert!(read_bytes <= bytes.len());
            }
        }
    }

    /// A new WAL segment is zeros after its first blocks, which must not be charged with packed zeros.
    #[test]
    fn zeros_are_not_charged_to_the_little_content_next_to_them() {
        let mut state = 1u64;
        let mut segment: Vec<u8> = (0..8192)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        segment.extend_from_slice(&[b'x'; 8192]);
        segment.resize(16 << 20, 0);
        let archive = tar(&[("pg_wal/1", b'0', &segment)]);
        for codec in ["gzip", "lz4", "zstd"] {
            let compression = Compression::new(codec, 0, 0).unwrap();
            let share = split_by_class(BackupLayout::Tar, &mut &archive[..], compression).unwrap()[&Class::Log];
            assert_eq!(share.source_bytes - share.zero_bytes, 16384, "{codec}");
            assert!((8000..9500).contains(&share.stored_content_bytes), "{codec}: {share:?}");
            assert!(share.stored_bytes > share.stored_content_bytes, "{codec}: {share:?}");
        }
    }

    #[test]
    fn a_stream_of_mariadb_is_split_by_class() {
        let mut stream = chunk("etalon/item.ibd", b'P', 0, &[0; 16384]);
        stream.extend(chunk("ib_logfile0", b'P', 0, &[5; 100]));
        stream.extend(chunk("etalon/item.ibd", b'P', 16384, &[9; 16384]));
        stream.extend(chunk("etalon/item.ibd", b'E', 0, b""));
        let zstd = Compression::new("zstd", 0, 0).unwrap();
        let shares = split_by_class(BackupLayout::Xbstream, &mut &stream[..], zstd).unwrap();
        assert_eq!((shares[&Class::Data].source_bytes, shares[&Class::Data].zero_bytes), (32768, 16384));
        assert!(shares[&Class::Data].stored_bytes < 100);
        assert_eq!(shares[&Class::Log].source_bytes, 100);
        assert!(split_by_class(BackupLayout::Xbstream, &mut &b"SELECT 1, and more than that"[..], zstd).is_err());
    }
}
