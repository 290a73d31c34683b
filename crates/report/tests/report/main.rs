//! Tests on handmade evidence.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod aa;
mod answer;
mod answers;
mod barrel;
mod browser;
mod chromium;
mod comparison;
mod cross_experiment;
mod disk;
mod disturbance;
mod evidence;
mod failures;
mod fit;
mod gate;
#[path = "../shared/golden.rs"]
mod golden;
mod goldens;
mod history_points;
mod hosts;
mod html;
mod json;
mod large;
mod look;
mod looks;
mod marks;
mod missing_runs;
mod order_entry;
mod pages;
mod pilot;
mod published;
mod remedies;
mod rounding;
mod rows;
mod sides;
mod text;
mod unfinished;
mod wording;
