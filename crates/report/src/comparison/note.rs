//! What is said of all rows of a set.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The files that an imported side came from.
    Source,
    /// Imported sides ran unlike long.
    Lengths,
    /// What the loads had to keep.
    Promise,
    /// The figures are of a debug build.
    DebugBuild,
    /// The sides are of experiments of their own.
    Apart,
    /// What differs between these, besides the systems' facts.
    Differs,
    /// What only one of them has.
    OnlyIn,
    /// The builds of étalon differ on the hosts of the systems or of the load.
    DifferentBuilds,
    /// The cases were not interleaved.
    SequentialOrder,
    /// Running, planned or dropped runs.
    Incomplete,
    /// The plan is not at its end.
    Unfinished,
    /// Its end came with rows open.
    MaxTime,
    /// Both sides are one server.
    SameServer,
    /// Both sides are folders on one device.
    SameDevice,
    /// The sides promise different things at commit.
    UnequalDurability,
    /// Whether what a commit waits for is a disk is not known.
    DiskUnknown,
    /// How tables came back before each run.
    Reset,
    /// What a workload's own checks found, and its mix.
    Checks,
    /// A script of the user's own ran on tables that étalon made.
    OwnTables,
    /// What transactions may see of each other.
    Isolation,
    /// Checkpoints of the servers while they were loaded.
    Checkpoints,
    /// A request without result.
    Missing,
    /// A licence restricts it.
    Publication,
    /// Étalon itself has not met the real engine.
    Untried,
    /// Something stood in for an operating system.
    Layer,
    /// The disk is that of a virtual machine.
    VirtualDisk,
    /// Queries were answered by different plans.
    QueryPlans,
    /// Something else ran during the runs.
    Disturbed,
    /// What other programs did is not known.
    LoadUnknown,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::DebugBuild => "debug-build",
            NoteKind::Source => "source",
            NoteKind::Lengths => "lengths",
            NoteKind::Promise => "promise",
            NoteKind::Apart => "apart",
            NoteKind::Differs => "differs",
            NoteKind::OnlyIn => "only-in",
            NoteKind::DifferentBuilds => "different-builds",
            NoteKind::SequentialOrder => "sequential-order",
            NoteKind::Incomplete => "incomplete",
            NoteKind::Unfinished => "unfinished",
            NoteKind::MaxTime => "max-time",
            NoteKind::SameServer => "same-server",
            NoteKind::SameDevice => "same-device",
            NoteKind::UnequalDurability => "unequal-durability",
            NoteKind::DiskUnknown => "disk-unknown",
            NoteKind::Reset => "reset",
            NoteKind::Checks => "checks",
            NoteKind::OwnTables => "own-tables",
            NoteKind::Isolation => "isolation",
            NoteKind::Checkpoints => "checkpoints",
            NoteKind::Missing => "missing",
            NoteKind::Publication => "publication",
            NoteKind::Untried => "untried",
            NoteKind::Layer => "layer",
            NoteKind::VirtualDisk => "virtual-disk",
            NoteKind::QueryPlans => "query-plans",
            NoteKind::Disturbed => "disturbed",
            NoteKind::LoadUnknown => "load-unknown",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub kind: NoteKind,
    /// A sentence without its full stop.
    pub text: String,
}
