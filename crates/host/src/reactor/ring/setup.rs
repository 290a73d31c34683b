//! What the kernel gives a ring, found out by asking for each thing alone.

use std::io;
use std::sync::OnceLock;

use io_uring::{Builder, IoUring, opcode};

/// The kernel's own limits.
const MOST_ENTRIES: usize = 32_768;
/// Requests that fit into one submission. More than that are submitted in parts.
const MOST_SUBMITTED: usize = 4_096;

/// A set-up flag that a kernel may not have.
struct Flag {
    name: &'static str,
    set: fn(&mut Builder),
}

/// In this order, since the later ones need the earlier.
const FLAGS: [Flag; 5] = [
    // One failing request does not hold back those behind it.
    Flag { name: "submit all", set: |builder| _ = builder.setup_submit_all() },
    Flag { name: "single issuer", set: |builder| _ = builder.setup_single_issuer() },
    // Completions are worked off by the thread when it waits, not by interrupting it.
    Flag { name: "cooperative taskrun", set: |builder| _ = builder.setup_coop_taskrun() },
    Flag { name: "defer taskrun", set: |builder| _ = builder.setup_defer_taskrun() },
    Flag { name: "no array", set: |builder| _ = builder.setup_no_sqarray() },
];

/// Which of the flags this kernel takes.
fn taken() -> &'static [bool; FLAGS.len()] {
    static TAKEN: OnceLock<[bool; FLAGS.len()]> = OnceLock::new();
    TAKEN.get_or_init(|| {
        let mut taken = [false; FLAGS.len()];
        for place in 0..FLAGS.len() {
            taken[place] = true;
            taken[place] = builder(&taken).build(1).is_ok();
        }
        taken
    })
}

fn builder(taken: &[bool; FLAGS.len()]) -> Builder {
    let mut builder = IoUring::builder();
    for (flag, _) in FLAGS.iter().zip(taken).filter(|(_, taken)| **taken) {
        (flag.set)(&mut builder);
    }
    builder
}

/// A ring for so many sockets, and the names of what the kernel gave it.
pub(super) fn open(capacity: usize) -> Result<(IoUring, Vec<&'static str>), String> {
    // First without any flag: what is wrong then is the reason why there is no ring at all.
    IoUring::new(1).map_err(|cause| reason(&cause))?;
    let taken = taken();
    let entries = capacity.next_power_of_two().clamp(8, MOST_SUBMITTED);
    // A receive that goes on by itself may complete several times between two looks.
    let completions = (2 * capacity).next_power_of_two().clamp(2 * entries, 2 * MOST_ENTRIES);
    let mut builder = builder(taken);
    builder.setup_cqsize(completions as u32);
    let io = builder.build(entries as u32).map_err(|cause| reason(&cause))?;
    demand(&io)?;
    let names = FLAGS.iter().zip(taken).filter(|(_, taken)| **taken).map(|(flag, _)| flag.name).collect();
    Ok((io, names))
}

/// What the ring is built on, and has no way around.
fn demand(io: &IoUring) -> Result<(), String> {
    let parameters = io.params();
    if !(parameters.is_feature_ext_arg()
        && parameters.is_feature_skip_cqe_on_success()
        && parameters.is_feature_nodrop())
    {
        return Err("the kernel is older than 5.17".to_owned());
    }
    let mut probe = io_uring::Probe::new();
    io.submitter().register_probe(&mut probe).map_err(|cause| reason(&cause))?;
    // Nothing tells whether a receive can go on by itself, but it came with the same kernel as this operation.
    if !probe.is_supported(opcode::SendZc::CODE) {
        return Err("the kernel is older than 6.0".to_owned());
    }
    Ok(())
}

/// Why there is no ring, in words that help.
pub(super) fn reason(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(code) if code == rustix::io::Errno::PERM.raw_os_error() => {
            "forbidden here, by `kernel.io_uring_disabled` or a container's rules".to_owned()
        }
        Some(code) if code == rustix::io::Errno::NOSYS.raw_os_error() => "the kernel has none".to_owned(),
        _ => cause.to_string(),
    }
}
