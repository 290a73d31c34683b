//! The remains of volumes and targets when étalon is killed, and their removal by the next start.

#![cfg(target_os = "linux")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests; the lint spares test functions but not their helpers"
)]

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use host::scratch::{Scratch, find_abandoned_in, remove_abandoned};
use host::target;
use host::volume::{MadeVolume, VolumeFs, VolumeSpec};

const MIB: u64 = 1 << 20;

/// The part of a copy of this program: makes something in `$HELPER_BASE`, says so and waits to be killed. Without the
/// variable there is nothing to do.
#[test]
fn helper_that_is_killed() {
    let Ok(base) = std::env::var("HELPER_BASE") else { return };
    let base = Path::new(&base);
    let go_on = &mut |_| ControlFlow::Continue(());
    match std::env::var("HELPER_MAKES").as_deref() {
        Ok("volume") => {
            let (image, size_bytes) = (base.join("image"), 64 * MIB);
            let spec = VolumeSpec { image, size_bytes, fs: VolumeFs::Ext4, block_bytes: 4096, cluster_bytes: 65536 };
            match MadeVolume::make(&spec, Some(base), go_on) {
                Ok(volume) => {
                    std::fs::write(volume.path().join("something"), "on it").unwrap();
                    println!("\nHELPER {} {}", volume.device(), volume.path().display());
                    std::thread::sleep(Duration::from_secs(60));
                }
                Err(error) => println!("\nHELPER skipped: {error}"),
            }
        }
        _ => {
            let scratch = Scratch::new("killed", Some(base)).unwrap();
            let path = base.join("target");
            scratch.claim_file(&path).unwrap();
            let half_way = &mut |written| {
                if written >= 4 * MIB {
                    println!("\nHELPER half {}", path.display());
                    std::thread::sleep(Duration::from_secs(60));
                }
                ControlFlow::Continue(())
            };
            target::make_file(&path, 8 * MIB, half_way).unwrap();
        }
    }
}

fn helper(base: &Path, makes: &str) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "helper_that_is_killed", "--nocapture"]);
    command.env("HELPER_BASE", base).env("HELPER_MAKES", makes);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let word = lines.find_map(|line| line.strip_prefix("HELPER ").map(str::to_owned)).unwrap();
    (child, word)
}

#[test]
fn a_volume_that_was_left_mounted_is_unmounted_and_removed() {
    let base = Scratch::new("base", None).unwrap();
    if !host::process::is_root() || host::disk::is_memory_backed(base.path()).unwrap() {
        println!("skipped: volumes take root and a folder on a disk");
        return;
    }
    let (mut etalon, word) = helper(base.path(), "volume");
    if word.starts_with("skipped") {
        println!("{word}");
        etalon.wait().unwrap();
        return;
    }
    let (device, mount_point) = word.split_once(' ').unwrap();
    let (attached, mount_point) = (PathBuf::from(format!("/sys/block/{device}/loop")), PathBuf::from(mount_point));
    assert_eq!(find_abandoned_in(base.path()), [], "étalon still runs");
    etalon.kill().unwrap();
    etalon.wait().unwrap();
    assert!(mount_point.join("something").exists() && attached.exists(), "nothing has cleaned up");
    let found = find_abandoned_in(base.path());
    assert_eq!((found.len(), found[0].kind.as_str()), (1, "volume"));
    assert_eq!(found[0].mounts, vec![mount_point.clone()]);
    let image = base.path().join("image");
    assert_eq!(found[0].files, vec![image.clone()]);
    // What still works on it keeps it, and nothing is removed under its feet.
    let busy = std::fs::File::open(mount_point.join("something")).unwrap();
    let refused = remove_abandoned(&found[0]).unwrap_err().to_string();
    assert!(refused.contains("in use"), "{refused}");
    assert!(image.exists() && mount_point.join("something").exists());
    drop(busy);
    let removed = remove_abandoned(&found[0]).unwrap();
    assert_eq!((removed.mounts, removed.files), (vec![mount_point.clone()], vec![image.clone()]));
    assert!(!mount_point.exists() && !image.exists() && !found[0].path.exists());
    assert!(!attached.exists(), "{device} is still attached");
    assert_eq!(find_abandoned_in(base.path()), []);
}

#[test]
fn a_target_that_was_begun_is_removed() {
    let base = Scratch::new("base", None).unwrap();
    let (mut etalon, word) = helper(base.path(), "target");
    let path = PathBuf::from(word.split_once(' ').unwrap().1);
    etalon.kill().unwrap();
    etalon.wait().unwrap();
    assert!(path.exists());
    let found = find_abandoned_in(base.path());
    assert_eq!(found[0].files, vec![path.clone()]);
    remove_abandoned(&found[0]).unwrap();
    assert!(!path.exists() && !target::Marker::marker_path(&path).exists() && !found[0].path.exists());
}

#[test]
fn a_file_that_is_named_but_not_marked_is_let_alone() {
    let base = Scratch::new("base", None).unwrap();
    let precious = base.path().join("precious");
    std::fs::write(&precious, "data").unwrap();
    let scratch = Scratch::new("noted", Some(base.path())).unwrap();
    scratch.claim_file(&precious).unwrap();
    let owner = scratch.path().join("owner");
    let text = std::fs::read_to_string(&owner).unwrap().replace("start_mark=", "start_mark=1");
    std::fs::write(&owner, text).unwrap();
    let found = find_abandoned_in(base.path());
    assert_eq!((found.len(), found[0].files.len()), (1, 0));
    remove_abandoned(&found[0]).unwrap();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "data");
}
