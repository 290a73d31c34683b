//! Targets of every kind of dishonesty, on a real disk.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests; the lint spares test functions but not their helpers"
)]

#[cfg(unix)]
use std::fs::{File, OpenOptions};
use std::ops::ControlFlow;

use super::*;
use crate::scratch::Scratch;

const MIB: u64 = 1 << 20;

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A folder on a disk whose filesystem shows its extents.
fn on_disk() -> Option<Scratch> {
    let scratch = Scratch::new("target", None).unwrap();
    if !cfg!(target_os = "linux") || crate::disk::is_memory_backed(scratch.path()).unwrap() {
        println!("skipped: there is no folder on a disk whose filesystem shows extents");
        return None;
    }
    Some(scratch)
}

fn flaw(path: &Path, span_bytes: u64) -> Flaw {
    match verify_target(path, span_bytes).unwrap() {
        TargetVerdict::Refused(flaw) => flaw,
        TargetVerdict::Sound(sound) => panic!("{sound:?}"),
    }
}

#[test]
fn what_is_made_is_sound() {
    let scratch = Scratch::new("target", None).unwrap();
    let path = scratch.path().join("target");
    // No multiple of a page or a chunk.
    let size_bytes = 9 * MIB + 100;
    let mut written_bytes = Vec::new();
    make_file(&path, size_bytes, &mut |written| {
        written_bytes.push(written);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(written_bytes.is_sorted() && *written_bytes.last().unwrap() >= size_bytes, "{written_bytes:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size_bytes);
    let TargetVerdict::Sound(sound) = verify_target(&path, size_bytes).unwrap() else {
        panic!("{:?}", verify_target(&path, size_bytes))
    };
    assert_eq!(sound.size_bytes, size_bytes);
    assert!(sound.saving < 0.001, "{sound:?}");
    assert_eq!(Marker::read_marker(&path).unwrap().state, MarkerState::Made);
    let before = std::fs::read(&path).unwrap();
    make_file(&path, MIB, &mut go_on).unwrap();
    let after = std::fs::read(&path).unwrap();
    assert_eq!(after.len() as u64, MIB, "its own file may be replaced");
    assert_ne!(before[..4096], after[..4096]);
    assert_eq!(flaw(&path, MIB + 1), Flaw::TooSmall { size_bytes: MIB, span_bytes: MIB + 1 });
    remove_with_companions(&path).unwrap();
    assert!(!path.exists() && !Marker::marker_path(&path).exists());
    remove_with_companions(&path).unwrap();
}

#[test]
fn a_sound_file_shows_its_extents() {
    let Some(scratch) = on_disk() else { return };
    let path = scratch.path().join("target");
    make_file(&path, 4 * MIB, &mut go_on).unwrap();
    let TargetVerdict::Sound(sound) = verify_target(&path, 4 * MIB).unwrap() else { panic!() };
    assert!(sound.extents.as_ref().unwrap().count >= 1 && sound.unseen.is_empty(), "{sound:?}");
}

#[test]
fn a_foreign_file_is_left_alone() {
    let scratch = Scratch::new("target", None).unwrap();
    let path = scratch.path().join("precious");
    std::fs::write(&path, "data").unwrap();
    let refused = make_file(&path, MIB, &mut go_on).unwrap_err().to_string();
    assert!(refused.contains("étalon did not make it") && refused.contains("precious"), "{refused}");
    assert!(remove_with_companions(&path).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "data");
    // A foreign file in place of étalon's.
    let moved = scratch.path().join("own");
    make_file(&moved, MIB, &mut go_on).unwrap();
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(Marker::read_marker(&moved), None);
    assert!(remove_with_companions(&moved).is_err() && moved.exists());
}

/// A store of results next to it, whose name is that of the marker.
#[test]
fn what_lies_in_a_marker_s_place_is_let_alone() {
    let scratch = Scratch::new("target", None).unwrap();
    let (file, store) = (scratch.path().join("a"), scratch.path().join("a.etalon"));
    for precious in ["SQLite format 3", "", "# étalon made the file of this name without .etalon, and …"] {
        std::fs::write(&store, precious).unwrap();
        let made = make_file(&file, MIB, &mut go_on);
        let is_marker = precious.starts_with('#');
        assert_eq!(made.is_ok(), is_marker, "only a marker that was left behind is written over: {precious}");
        remove_with_companions(&file).unwrap();
        assert_eq!(store.exists(), !is_marker);
    }
}

/// A filesystem gives a file's number to the next one as soon as it is free.
#[cfg(unix)]
#[test]
fn a_file_that_was_given_the_number_of_étalon_s_is_not_étalon_s() {
    use std::os::unix::fs::MetadataExt;
    fn number(path: &Path) -> String {
        std::fs::metadata(path).map(|data| format!("{}:{}", data.dev(), data.ino())).unwrap()
    }
    let scratch = Scratch::new("target", None).unwrap();
    let (own, theirs) = (scratch.path().join("own"), scratch.path().join("theirs"));
    make_file(&own, MIB, &mut go_on).unwrap();
    let noted = std::fs::read_to_string(Marker::marker_path(&own)).unwrap();
    std::fs::write(&theirs, vec![7; MIB as usize]).unwrap();
    // Their file with étalon's inode in the marker.
    std::fs::write(Marker::marker_path(&theirs), noted.replace(&number(&own), &number(&theirs))).unwrap();
    assert_eq!(Marker::read_marker(&theirs), None, "{noted}");
    assert!(remove_with_companions(&theirs).is_err() && theirs.exists());
    // The real case, where the filesystem reuses inodes at once.
    let before = number(&own);
    std::fs::remove_file(&own).unwrap();
    std::fs::write(&own, vec![7; MIB as usize]).unwrap();
    println!("{before} was given {}", if number(&own) == before { "anew" } else { "to nobody" });
    assert_eq!(Marker::read_marker(&own), None);
    assert!(make_file(&own, MIB, &mut go_on).is_err());
    assert_eq!(std::fs::read(&own).unwrap(), vec![7; MIB as usize]);
}

/// A file stays étalon's whatever a benchmark does to it.
#[cfg(unix)]
#[test]
fn a_file_stays_étalon_s_when_it_is_written_to_and_moved_in_time() {
    let scratch = Scratch::new("target", None).unwrap();
    let path = scratch.path().join("own");
    make_file(&path, MIB, &mut go_on).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    io::Write::write_all(&mut &file, &[1; 8192]).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    file.sync_all().unwrap();
    assert_eq!(Marker::read_marker(&path).map(|marker| marker.state), Some(MarkerState::Made));
    remove_with_companions(&path).unwrap();
}

#[test]
fn what_is_stopped_leaves_nothing() {
    let scratch = Scratch::new("target", None).unwrap();
    let path = scratch.path().join("target");
    let stopped = make_file(&path, 64 * MIB, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(stopped.to_string().contains("it was stopped"), "{stopped}");
    assert!(!path.exists() && !Marker::marker_path(&path).exists());
}

#[test]
fn a_too_small_volume_is_reported_before_it_is_full() {
    let scratch = Scratch::new("target", None).unwrap();
    let path = scratch.path().join("target");
    let free_bytes = crate::disk::free_bytes(scratch.path()).unwrap();
    let refused = make_file(&path, free_bytes, &mut go_on).unwrap_err().to_string();
    assert!(refused.contains("free") && refused.contains("left to others"), "{refused}");
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn a_hole_is_found() {
    let Some(scratch) = on_disk() else { return };
    let path = scratch.path().join("sparse");
    make_file(&path, MIB, &mut go_on).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(3 * MIB).unwrap();
    fn hole(offset_bytes: u64, bytes: u64) -> Flaw {
        Flaw::NeverWritten { kind: "a hole", offset_bytes, bytes }
    }
    assert_eq!(flaw(&path, 3 * MIB), hole(MIB, 2 * MIB));
    std::os::unix::fs::FileExt::write_at(&file, &[1; 4096], 2 * MIB).unwrap();
    assert_eq!(flaw(&path, 3 * MIB), hole(MIB, MIB), "in the middle");
    let empty = scratch.path().join("empty");
    File::create(&empty).unwrap().set_len(MIB).unwrap();
    assert_eq!(flaw(&empty, MIB), hole(0, MIB));
    // Without the filesystem's map.
    let seen = allocation::by_seeking(&File::open(&path).unwrap(), 3 * MIB, "no map");
    assert_eq!(seen.flaw, Some(hole(MIB, MIB)));
    assert!(seen.unseen[0].contains("no map"));
}

#[cfg(target_os = "linux")]
#[test]
fn space_that_is_given_out_but_not_written_is_found() {
    let Some(scratch) = on_disk() else { return };
    let path = scratch.path().join("reserved");
    let file = File::create(&path).unwrap();
    if let Err(cause) = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 2 * MIB) {
        println!("skipped: fallocate: {cause}");
        return;
    }
    let first = flaw(&path, 2 * MIB);
    assert!(matches!(first, Flaw::NeverWritten { kind: "an unwritten extent", offset_bytes: 0, .. }), "{first:?}");
    let mut bytes = vec![0; MIB as usize];
    crate::blocks::Content::new(1).fill_next(&mut bytes);
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    let second = flaw(&path, 2 * MIB);
    assert!(matches!(second, Flaw::NeverWritten { offset_bytes: MIB, .. }), "{second:?}");
    assert!(second.to_string().contains("a read of them is no I/O"));
}

#[test]
fn zeros_and_text_are_refused() {
    let scratch = Scratch::new("target", None).unwrap();
    let path = scratch.path().join("zeros");
    std::fs::write(&path, vec![0; 2 * MIB as usize]).unwrap();
    let Flaw::Compressible { saving } = flaw(&path, 2 * MIB) else { panic!("{:?}", flaw(&path, 2 * MIB)) };
    assert!(saving > 0.99, "{saving}");
    std::fs::write(&path, "select 1; ".repeat(200_000)).unwrap();
    assert!(matches!(flaw(&path, MIB), Flaw::Compressible { .. }));
}

#[test]
fn what_is_no_file_is_refused() {
    #[cfg(unix)]
    assert!(
        verify_target(Path::new("/dev/null"), 1).is_ok_and(|verdict| verdict == TargetVerdict::Refused(Flaw::NoFile))
    );
    assert!(verify_target(Path::new("/no/such/file"), 1).unwrap_err().to_string().contains("/no/such/file"));
}
