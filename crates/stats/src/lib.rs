//! The arithmetic of Étalon: from one value per run to a verdict.
//!
//! The unit of replication is the *run*, so a [`Sample`] is built from runs only and every test takes samples: a
//! million correlated latencies have no way in. Two samples are [paired by block](paired()), their log ratios give a
//! [`PairedRatio`] with its interval ([`paired_ratio`]), the p-values of a family are [adjusted](holm), and [`judge`] says
//! what may be concluded. Everything else guards that path: steady state, trend, two-mode samples, quantised clocks.
//!
//! Nothing here reads a clock, a file or a global: the same numbers in give the same numbers out, seeds included.
//! Conventions: `level` is a confidence level in (0, 1), as 0.95; a ratio is always B / A; logarithms are natural;
//! shares and margins are fractions (0.03 is 3 %); every p is two-sided unless it says otherwise.

#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod censored;
pub mod equivalence;
pub mod estimate;
pub mod excess;
pub mod modality;
mod moments;
pub mod multiplicity;
pub mod nightly;
pub mod paired;
pub mod power;
pub mod quantisation;
pub mod ranks;
pub mod rng;
pub mod sample;
pub mod sequence;
pub mod special;
pub mod steady;
pub mod symmetry;
pub mod trend;
pub mod verdict;
pub mod welch;

pub use bootstrap::bootstrap_ratio;
pub use censored::{NoQuantile, SAMPLES_BEYOND};
pub use equivalence::{lies_within_margin, margin_bounds, tost_p};
pub use estimate::{Direction, Estimator, Summary, UnknownEstimator, relative_half_width, summarise};
pub use excess::{excess_p, unpaired_excess_p};
pub use modality::{Clusters, split_in_clusters, two_clusters};
pub use multiplicity::{adjust_by_holm, benjamini_hochberg};
pub use nightly::{LEAST_LEVEL, Levels, NIGHTS_PER_FALSE_SUSPICION, Suspicion, Way, find_levels};
pub use paired::{NotComparable, PairedRatio, paired_ratio, sign_flip_p};
pub use power::{minimum_detectable_effect, rounds_to_detect, rounds_until_sure};
pub use quantisation::{clock_step, common_step, hardly_varies, rounding_step};
pub use ranks::{MannWhitney, mann_whitney};
pub use rng::Rng;
pub use sample::{Pair, Pairs, RunValue, Sample, pair_by_round};
pub use sequence::Sequence;
pub use steady::{Motion, Steadiness, change_points, change_points_of_levels, classify_steadiness, warm_up_end};
pub use symmetry::{Signs, Skewed, test_skewness};
pub use trend::{Trend, test_trend};
pub use verdict::{DEFAULT_MARGIN, Judgement, MAX_ROUNDS, MIN_ROUNDS, Verdict, is_difference, judge, rounds_to_settle};
pub use welch::{UnpairedRatio, welch_ratio};
