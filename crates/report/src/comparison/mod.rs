//! From evidence to rows: two samples paired by round, their ratio with its interval, and what may be said of it.

pub(crate) use answers::{ELAPSED, is_all_queries};
mod answers;
mod builder;
mod centre;
mod clients;
mod compared;
mod curves;
mod disk;
mod disturbance;
mod failures;
mod families;
mod figures;
mod hosts;
mod judging;
mod matching;
mod missing_runs;
mod note;
mod notes;
mod options;
mod plans;
mod projection;
mod remedy;
mod reset;
mod rounding;
mod row;
mod set;
mod steadiness;
mod warning;
mod work;

pub use curves::{CurveGroup, CurvePoint, KNEE_SHARE, Knee, SystemCurve};
pub use disturbance::{Amount, Disturbance, Means, Unequal, worst_sentence};
pub(crate) use failures::SHARE_MARGIN;
pub(crate) use families::is_asked;
pub use families::{Families, Family};
pub use figures::Figure;
pub(crate) use figures::all_figures;
pub use hosts::{HostRow, HostsGroup};
pub(crate) use judging::{Index, point_side};
pub(crate) use missing_runs::why_choice_unfair;
pub use note::{Note, NoteKind};
pub use options::{CompareError, MetricFilter, Options, Pairing};
pub use plans::{PlanOfQuery, differing_lines, plan_fingerprint};
pub use projection::KEY_SYSTEM;
pub(crate) use remedy::run_command_with;
pub use remedy::{MOST_MORE, RemedyLine, list_remedies};
pub use row::{
    Bound, ChangePoint, Comparison, CrossFinding, DifferentRows, Estimate, Failures, NoVerdict, Outcome, RunPoint,
    Scale, Side, SideLetter, Work,
};
pub use set::{AllowedBy, ComparisonSet, DroppedRun, OneSided, Rules, Table, TimeOrder, Unmeasured, compare};
pub use warning::{Warning, mark_name};
