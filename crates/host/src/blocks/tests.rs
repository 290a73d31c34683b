#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests; the lint spares test functions but not their helpers"
)]

use std::fs::{File, OpenOptions};

use super::*;
use crate::clock;
use crate::scratch::Scratch;

fn file_in(scratch: &Scratch, bytes: &[u8]) -> File {
    let path = scratch.path().join("blocks");
    std::fs::write(&path, bytes).unwrap();
    OpenOptions::new().read(true).write(true).open(&path).unwrap()
}

fn rings(depth: u32, block_bytes: u32, file: &File) -> Vec<BlockRing> {
    [RingForm::Auto, RingForm::Blocking]
        .map(|form| {
            let options = RingOptions { form, ..RingOptions::new(depth, block_bytes) };
            BlockRing::new(&options, vec![file.try_clone().unwrap()]).unwrap()
        })
        .into()
}

fn reap_all(ring: &mut BlockRing, count: usize) -> Vec<BlockDone> {
    let mut done = Vec::new();
    while done.len() < count {
        ring.reap(clock::now_ns() + 10_000_000_000, &mut done).unwrap();
    }
    done
}

#[test]
fn what_is_written_is_read_again() {
    let scratch = Scratch::new("blocks", None).unwrap();
    let file = file_in(&scratch, &vec![0; 64 << 10]);
    for (seed, depth) in [(1, 1), (2, 4)] {
        for mut ring in rings(depth, 8192, &file) {
            let mut content = Content::new(seed);
            let mut expected = Vec::new();
            for slot in 0..depth {
                let buffer = ring.buffer_mut(slot).unwrap();
                assert_eq!(buffer.len(), 8192);
                content.fill_next(buffer);
                expected.push(buffer.to_vec());
                let offset = u64::from(slot) * 8192;
                ring.submit(slot, 0, BlockOp::Write { offset, bytes: 8192 }).unwrap();
                assert!(ring.slot_buffer(slot).is_none() && ring.buffer_mut(slot).is_none(), "it is the kernel's now");
            }
            for done in reap_all(&mut ring, depth as usize) {
                assert_eq!(done.result, Ok(8192), "{}", ring.kind());
            }
            ring.submit(0, 0, BlockOp::Sync).unwrap();
            assert_eq!(reap_all(&mut ring, 1), [BlockDone { slot: 0, result: Ok(0) }]);
            for slot in 0..depth {
                ring.buffer_mut(slot).unwrap().fill(0);
                ring.submit(slot, 0, BlockOp::Read { offset: u64::from(slot) * 8192, bytes: 8192 }).unwrap();
            }
            ring.flush().unwrap();
            reap_all(&mut ring, depth as usize);
            for slot in 0..depth {
                assert_eq!(ring.slot_buffer(slot).unwrap(), expected[slot as usize], "{}", ring.kind());
            }
            assert!(ring.kernel_entries() >= 3);
        }
    }
}

#[test]
fn an_end_of_the_file_and_an_error_are_reported() {
    let scratch = Scratch::new("blocks", None).unwrap();
    let file = file_in(&scratch, &[7; 1000]);
    let read_only = File::open(scratch.path().join("blocks")).unwrap();
    for mut ring in rings(2, 4096, &file).into_iter().chain(rings(2, 4096, &read_only)) {
        ring.submit(0, 0, BlockOp::Read { offset: 600, bytes: 4096 }).unwrap();
        assert_eq!(reap_all(&mut ring, 1)[0].result, Ok(400), "{}", ring.kind());
        ring.submit(1, 0, BlockOp::Read { offset: 1 << 30, bytes: 4096 }).unwrap();
        assert_eq!(reap_all(&mut ring, 1)[0].result, Ok(0));
    }
    for mut ring in rings(2, 4096, &read_only) {
        ring.submit(0, 0, BlockOp::Write { offset: 0, bytes: 10 }).unwrap();
        let refused = reap_all(&mut ring, 1)[0].result.unwrap_err();
        let refused = io::Error::from_raw_os_error(refused);
        assert!(!refused.to_string().is_empty());
        #[cfg(unix)]
        assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
    }
}

#[test]
fn a_wrong_submission_is_refused_and_does_nothing() {
    let scratch = Scratch::new("blocks", None).unwrap();
    let file = file_in(&scratch, &[7; 8192]);
    for mut ring in rings(2, 4096, &file) {
        let read = BlockOp::Read { offset: 0, bytes: 4096 };
        assert_eq!(ring.submit(2, 0, read), Err(SubmitError::NoSlot(2)));
        assert_eq!(ring.submit(0, 1, read), Err(SubmitError::NoFile(1)));
        let large = BlockOp::Write { offset: 0, bytes: 4097 };
        assert_eq!(ring.submit(0, 0, large), Err(SubmitError::TooLarge { bytes: 4097, most_bytes: 4096 }));
        assert_eq!(ring.submit(0, 0, read), Ok(()));
        assert_eq!(ring.submit(0, 0, read), Err(SubmitError::Busy(0)));
        assert_eq!(reap_all(&mut ring, 1).len(), 1);
        let mut none = Vec::new();
        ring.reap(u64::MAX, &mut none).unwrap();
        assert_eq!(none, [], "nothing is under way, so that nothing is waited for");
        assert!(ring.slot_buffer(2).is_none());
    }
}

#[test]
fn the_null_form_does_nothing_at_once() {
    let options = RingOptions { form: RingForm::Null, ..RingOptions::new(3, 512) };
    let mut ring = BlockRing::new(&options, vec![File::open(std::env::current_exe().unwrap()).unwrap()]).unwrap();
    for slot in 0..3 {
        ring.submit(slot, 0, BlockOp::Write { offset: 0, bytes: 512 }).unwrap();
    }
    let mut done = Vec::new();
    ring.reap(u64::MAX, &mut done).unwrap();
    assert_eq!(done.len(), 3);
    assert_eq!(done[2], BlockDone { slot: 2, result: Ok(512) });
    assert_eq!((ring.kind(), ring.kernel_entries()), ("null", 0));
}

#[test]
fn a_missing_ring_is_reported_and_done_without() {
    let scratch = Scratch::new("blocks", None).unwrap();
    let file = file_in(&scratch, &[7; 8192]);
    fn forbidden(_: &RingOptions, _: &mut Vec<File>) -> RingResult {
        Err("forbidden here".to_owned())
    }
    let open = |options: &RingOptions| BlockRing::with_ring(options, vec![file.try_clone().unwrap()], forbidden);
    let ring = open(&RingOptions::new(4, 4096)).unwrap();
    assert_eq!(ring.kind(), "blocking calls on 4 threads");
    assert_eq!(ring.shortfalls(), [format!("{RING}: forbidden here")]);
    let alone = open(&RingOptions::new(1, 4096)).unwrap();
    assert_eq!(alone.kind(), "blocking calls");
    let by_name = RingOptions { form: RingForm::Ring, ..RingOptions::new(4, 4096) };
    assert!(open(&by_name).unwrap_err().to_string().contains(&format!("{RING}: forbidden here")));
    let polling = RingOptions { polling: Polling::Device, ..RingOptions::new(4, 4096) };
    assert!(open(&polling).is_err(), "polling without a ring is nothing");
    let blocking = RingOptions { form: RingForm::Blocking, ..RingOptions::new(4, 4096) };
    assert_eq!(open(&blocking).unwrap().shortfalls(), [""; 0], "it was asked for");
}

#[cfg(target_os = "linux")]
#[test]
fn the_ring_takes_all_it_can_get() {
    let file = File::open(std::env::current_exe().unwrap()).unwrap();
    let ring = match BlockRing::new(&RingOptions { form: RingForm::Ring, ..RingOptions::new(8, 4096) }, vec![file]) {
        Ok(ring) => ring,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    assert!(ring.kind().starts_with("io_uring ("), "{}", ring.kind());
    for shortfall in ring.shortfalls() {
        assert!(shortfall.starts_with("registered "), "{shortfall}");
    }
    assert_eq!(ring.kind().contains("registered buffers"), ring.shortfalls().is_empty(), "{}", ring.kind());
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_may_not_be_locked_is_read_into_all_the_same() {
    use rustix::process::{Resource, getrlimit};
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let Some(limit) = getrlimit(Resource::Memlock).current.filter(|limit| *limit <= 1 << 28) else {
        println!("skipped: this process may lock as much memory as it likes");
        return;
    };
    // Privileges belong to a thread, so no other test loses them.
    std::thread::spawn(move || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::IPC_LOCK);
        set_capabilities(None, sets).unwrap();
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let block_bytes = (limit / 4 + (1 << 20)) as u32;
        let mut ring = BlockRing::new(&RingOptions::new(8, block_bytes), vec![file]).unwrap();
        if !ring.kind().starts_with("io_uring") {
            println!("skipped: {:?}", ring.shortfalls());
            return;
        }
        assert!(ring.shortfalls()[0].contains("RLIMIT_MEMLOCK"), "{:?}", ring.shortfalls());
        assert!(!ring.kind().contains("registered buffers") && ring.kind().contains("registered files"));
        ring.submit(7, 0, BlockOp::Read { offset: 0, bytes: 4096 }).unwrap();
        assert_eq!(reap_all(&mut ring, 1), [BlockDone { slot: 7, result: Ok(4096) }]);
        assert_eq!(&ring.slot_buffer(7).unwrap()[1..4], b"ELF");
    })
    .join()
    .unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_kernel_thread_can_do_the_work() {
    let scratch = Scratch::new("blocks", None).unwrap();
    let file = file_in(&scratch, &[7; 8192]);
    let options = RingOptions { polling: Polling::KernelThread, ..RingOptions::new(2, 4096) };
    let mut ring = match BlockRing::new(&options, vec![file]) {
        Ok(ring) => ring,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    for slot in 0..2 {
        ring.submit(slot, 0, BlockOp::Read { offset: u64::from(slot) * 4096, bytes: 4096 }).unwrap();
    }
    ring.flush().unwrap();
    assert!(reap_all(&mut ring, 2).iter().all(|done| done.result == Ok(4096)));
    assert!(ring.kind().contains("kernel thread"));
}

#[test]
fn dropping_waits_for_what_is_under_way() {
    let scratch = Scratch::new("blocks", None).unwrap();
    let file = file_in(&scratch, &[7; 1 << 20]);
    for mut ring in rings(16, 65536, &file) {
        for slot in 0..16 {
            ring.submit(slot, 0, BlockOp::Read { offset: u64::from(slot) * 65536, bytes: 65536 }).unwrap();
        }
        ring.flush().unwrap();
    }
}

/// Forbids this thread `io_uring_setup(2)` with `EPERM`, as container profiles do; see seccomp(2).
#[cfg(target_os = "linux")]
fn forbid_ring() {
    // If it is this call, refuse, else allow.
    let load = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let is_setup = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_io_uring_setup as u32 };
    let refuse = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::EPERM as u32 };
    let allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let mut filter = [load, is_setup, refuse, allow];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the calls read the program, which outlives them, and nothing else of ours.
    let results = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
        ]
    };
    assert_eq!(results, [0, 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_ring_threads_work_and_the_reason_is_reported() {
    // The filter belongs to the thread and ends with it.
    let without_ring = std::thread::spawn(|| {
        forbid_ring();
        let scratch = Scratch::new("blocks", None).unwrap();
        let file = file_in(&scratch, &[5; 8192]);
        let mut ring = BlockRing::new(&RingOptions::new(2, 4096), vec![file.try_clone().unwrap()]).unwrap();
        ring.submit(0, 0, BlockOp::Read { offset: 4096, bytes: 4096 }).unwrap();
        assert_eq!(reap_all(&mut ring, 1), [BlockDone { slot: 0, result: Ok(4096) }]);
        assert_eq!(ring.slot_buffer(0).unwrap(), [5; 4096]);
        let options = RingOptions { form: RingForm::Ring, ..RingOptions::new(2, 4096) };
        let refused = BlockRing::new(&options, vec![file]).unwrap_err().to_string();
        (ring.kind().to_owned(), ring.shortfalls().to_vec(), refused)
    });
    let (kind, shortfalls, refused) = without_ring.join().unwrap();
    assert_eq!(kind, "blocking calls on 2 threads");
    assert_eq!(shortfalls, ["io_uring: forbidden here, by `kernel.io_uring_disabled` or a container's rules"]);
    assert!(refused.contains("forbidden here"), "{refused}");
}
