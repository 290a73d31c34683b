//! Backups as servers send them: tar archives and MariaDB's stream of files.
//!
//! Seeds: crates/workloads/src/backup/archive.rs

#![no_main]

use etalon_fuzz::chosen;
use libfuzzer_sys::fuzz_target;
use workloads::backup::archive;
use workloads::backup::backups::BackupLayout;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let layout = if choice & 1 == 0 { BackupLayout::Tar } else { BackupLayout::Xbstream };
    // What headers begin with is no obstacle.
    let mut bytes = bytes.to_vec();
    if choice & 2 == 0 {
        match layout {
            BackupLayout::Tar => {
                bytes.chunks_exact_mut(512).for_each(|round| round[257..262].copy_from_slice(b"ustar"))
            }
            _ => bytes.splice(0..0, *b"XBSTCK01\0P").for_each(drop),
        }
    }
    let mut told = 0_u64;
    let mut begin = |_: &mut (), entry: &archive::ArchiveEntry| {
        let _ = format!("{entry:?}");
        Ok(())
    };
    let mut take = |_: &mut (), data: &[u8]| {
        told += data.len() as u64;
        Ok(())
    };
    let _ = archive::read_entries(layout, &mut &bytes[..], &mut (), &mut begin, &mut take);
    assert!(told <= bytes.len() as u64);
});
