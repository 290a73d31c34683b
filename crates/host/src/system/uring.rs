//! Probes the kernel's io_uring features one by one, and enters it.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{Builder, IoUring};
use rustix::io::Errno;

use crate::clock;

/// The kernel's limit.
pub(crate) const MOST_COMPLETIONS: usize = 65_536;

/// The thread that does the ring's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The owning thread enters the kernel.
    Entered,
    /// The owning thread enters the kernel and polls the device.
    DevicePolled,
    /// A kernel thread, which sleeps after this many idle milliseconds.
    KernelThread(u32),
}

struct Flag {
    name: &'static str,
    set: fn(&mut Builder),
    /// About work of the owner's thread; refused with a kernel thread.
    for_owner_only: bool,
}

/// The later ones need the earlier.
const FLAGS: [Flag; 5] = [
    // A failing request does not hold back those behind it.
    Flag { name: "submit all", set: |builder| _ = builder.setup_submit_all(), for_owner_only: false },
    Flag { name: "single issuer", set: |builder| _ = builder.setup_single_issuer(), for_owner_only: false },
    // The thread handles completions when it waits, without interrupts.
    Flag { name: "cooperative taskrun", set: |builder| _ = builder.setup_coop_taskrun(), for_owner_only: true },
    Flag { name: "defer taskrun", set: |builder| _ = builder.setup_defer_taskrun(), for_owner_only: true },
    Flag { name: "no array", set: |builder| _ = builder.setup_no_sqarray(), for_owner_only: false },
];

/// Which of the flags the kernel takes, tried once.
fn supported_flags() -> &'static [bool; FLAGS.len()] {
    static TAKEN: OnceLock<[bool; FLAGS.len()]> = OnceLock::new();
    TAKEN.get_or_init(|| {
        let mut taken = [false; FLAGS.len()];
        for place in 0..FLAGS.len() {
            taken[place] = true;
            taken[place] = builder_with_flags(&taken, Mode::Entered).0.build(1).is_ok();
        }
        taken
    })
}

/// A builder with the flags that are supported and fit the mode, and their names.
fn builder_with_flags(taken: &[bool; FLAGS.len()], mode: Mode) -> (Builder, Vec<&'static str>) {
    let mut builder = IoUring::builder();
    let mut names = Vec::new();
    let by_owner = !matches!(mode, Mode::KernelThread(_));
    for (flag, _) in FLAGS.iter().zip(taken).filter(|(flag, taken)| **taken && (by_owner || !flag.for_owner_only)) {
        (flag.set)(&mut builder);
        names.push(flag.name);
    }
    match mode {
        Mode::Entered => {}
        Mode::DevicePolled => {
            builder.setup_iopoll();
            names.push("device polled");
        }
        Mode::KernelThread(idle_ms) => {
            builder.setup_sqpoll(idle_ms);
            names.push("kernel thread");
        }
    }
    (builder, names)
}

/// Also returns the names of the flags in use.
pub(crate) fn open_ring(
    entries: usize,
    completions: usize,
    mode: Mode,
) -> Result<(IoUring, Vec<&'static str>), String> {
    // Without flags first: its error is the reason why there is no ring at all.
    IoUring::new(1).map_err(|cause| refusal_reason(&cause))?;
    let (mut builder, names) = builder_with_flags(supported_flags(), mode);
    builder.setup_cqsize(completions.min(MOST_COMPLETIONS) as u32);
    let io = builder.build(entries as u32).map_err(|cause| refusal_reason(&cause))?;
    Ok((io, names))
}

/// How long an entry into the kernel may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    Ns(u64),
    ForEver,
}

impl Wait {
    /// `u64::MAX` is never.
    #[inline]
    pub(crate) fn until(deadline_ns: u64) -> Wait {
        match deadline_ns {
            u64::MAX => Wait::ForEver,
            deadline_ns => match deadline_ns.saturating_sub(clock::now_ns()) {
                0 => Wait::No,
                ns => Wait::Ns(ns),
            },
        }
    }
}

/// Submits, waits for a completion, and runs deferred work. May leave requests queued if the kernel is short of memory
/// or must deliver completions first.
#[inline]
pub(crate) fn enter_and_wait(io: &mut IoUring, wait: Wait) -> io::Result<()> {
    accept_interruption(match wait {
        // Deferred work needs an entry that asks for events, even without waiting.
        Wait::No => enter_without_waiting(io),
        Wait::ForEver => io.submitter().submit_and_wait(1),
        Wait::Ns(ns) => {
            let timespec = Timespec::from(Duration::from_nanos(ns));
            io.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
        }
    })
}

/// An interrupted entry is as good as any.
#[inline]
pub(crate) fn accept_interruption(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(cause) => match Errno::from_io_error(&cause) {
            Some(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            _ => Err(cause),
        },
    }
}

#[inline]
fn enter_without_waiting(io: &mut IoUring) -> io::Result<usize> {
    const GET_EVENTS: u32 = 1;
    let waiting = io.submission().len() as u32;
    // SAFETY: no argument is passed, and those who pushed the requests have vouched for them.
    unsafe { io.submitter().enter::<()>(waiting, 0, GET_EVENTS, None) }
}

/// Says why the kernel gives no ring.
pub(crate) fn refusal_reason(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(code) if code == Errno::PERM.raw_os_error() => {
            "forbidden here, by `kernel.io_uring_disabled` or a container's rules".to_owned()
        }
        Some(code) if code == Errno::NOSYS.raw_os_error() => "the kernel has none".to_owned(),
        Some(code) if code == Errno::NOMEM.raw_os_error() => {
            "too little memory may be locked: raise RLIMIT_MEMLOCK (`ulimit -l`)".to_owned()
        }
        _ => cause.to_string(),
    }
}
