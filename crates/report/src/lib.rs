//! From a store's rows to comparisons, terminal tables, JSON, Markdown, the gate and the HTML report. Every function
//! is pure in its [`Evidence`].

#![forbid(unsafe_code)]

mod answer;
pub mod backup;
pub mod backup_load;
pub mod barrel;
pub mod comparison;
mod compat;
pub mod cross_experiment;
pub mod evidence;
pub mod gate;
pub mod history;
pub mod html;
pub mod json;
mod labels;
pub mod last_run;
mod latency;
pub mod look;
mod lookup;
pub mod markdown;
pub mod number;
mod order_entry;
pub mod pages;
pub mod pgbench;
pub mod pilot;
mod queries;
pub mod spatial;
pub mod svg;
pub mod text;
mod unsteadiness;
pub mod views;

pub use comparison::{CompareError, Comparison, ComparisonSet, MetricFilter, Options, Pairing, compare};
pub use evidence::{Evidence, SeriesSource};
pub use labels::verdict_words;
