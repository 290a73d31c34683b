//! Set-up of a ring for sockets.

use io_uring::{IoUring, opcode};

pub(super) use crate::system::uring::refusal_reason;
use crate::system::uring::{self, MOST_COMPLETIONS, Mode};

/// Larger batches are submitted in parts.
const MOST_SUBMITTED: usize = 4_096;

/// Opens a ring for this many sockets; returns it with the names of its flags.
pub(super) fn open_ring(capacity: usize) -> Result<(IoUring, Vec<&'static str>), String> {
    let entries = capacity.next_power_of_two().clamp(8, MOST_SUBMITTED);
    // A multishot receive may complete several times between two waits.
    let completions = (2 * capacity).next_power_of_two().clamp(2 * entries, MOST_COMPLETIONS);
    let (io, names) = uring::open_ring(entries, completions, Mode::Entered)?;
    demand_features(&io)?;
    Ok((io, names))
}

/// Refuses a ring without the features that it cannot do without.
fn demand_features(io: &IoUring) -> Result<(), String> {
    let parameters = io.params();
    if !(parameters.is_feature_ext_arg()
        && parameters.is_feature_skip_cqe_on_success()
        && parameters.is_feature_nodrop())
    {
        return Err("the kernel is older than 5.17".to_owned());
    }
    let mut probe = io_uring::Probe::new();
    io.submitter().register_probe(&mut probe).map_err(|cause| refusal_reason(&cause))?;
    // Multishot receive cannot be probed; it came with the same kernel as this operation.
    if !probe.is_supported(opcode::SendZc::CODE) {
        return Err("the kernel is older than 6.0".to_owned());
    }
    Ok(())
}
