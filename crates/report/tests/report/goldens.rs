//! Whole reports held as files, `tests/golden/EVIDENCE.FORM`: what any change of code does to what is printed.

mod backups;
mod forms;
mod subjects;

use std::path::Path;

use crate::golden::Golden;

fn golden() -> Golden {
    Golden {
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"),
        command: "cargo test -p report --test report goldens",
    }
}

/// A test for each evidence, named as its function in [`subjects`], which names its files.
macro_rules! goldens {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Every evidence with its name.
        pub fn every_subject() -> Vec<(&'static str, subjects::Subject)> {
            vec![$((stringify!($name), subjects::$name())),*]
        }

        $(#[test]
        fn $name() {
            golden().check(&forms::all(&stringify!($name).replace('_', "-"), subjects::$name()));
        })*
    };
}

goldens! {
    two_systems
    three_systems
    single_system
    a_a
    equal_systems
    unequal_durability
    sequential
    failed
    shares_of_failures
    missing
    repeated
    cut_off
    unfinished
    looks
    extended
    capacity
    disk
    hosts
    marks
    disturbed
    two_stores
    pages
    spatial
    backup
    backup_under_load
    order_entry
    queries
    barrel
    imported
    limits
    nothing_measured
}

#[test]
fn every_file_belongs_to_an_evidence() {
    let names: Vec<String> = NAMES.iter().map(|name| name.replace('_', "-")).collect();
    golden().check_names(|file| names.iter().any(|name| file.split('.').next() == Some(name)));
}
