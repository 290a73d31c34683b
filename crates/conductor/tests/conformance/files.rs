//! What a database file inside étalon promises: whose it is, and what is left of it.

use std::fs;

use load::error::Failure;
use load::error::FailureKind;
use workloads::dataset::Tables;
use workloads::system::{Consent, OpenRequest};
use workloads::transactions::Protocol;

use super::subject::{Subject, rows, run, stream};

crate::cases! {
    Files foreign_files_are_refused_and_stay,
    Files what_would_be_dropped_is_told,
    Files nothing_is_left_behind_and_nothing_else_is_taken,
    Files the_tables_of_others_stay,
    Files what_has_settled_is_in_the_file,
}

const INSERT: &str = "INSERT INTO conformance_log (client, value, note) VALUES (:client_id, 1, 'own');";

fn foreign_files_are_refused_and_stay(subject: &Subject) {
    let (system, path) = subject.another("foreign");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for file in [path.clone(), path.with_added_extension("pristine")] {
        fs::write(&file, "precious").unwrap();
        let failure = subject.open_another(&system).map(drop).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert_eq!(fs::read(&file).unwrap(), b"precious");
        fs::remove_file(&file).unwrap();
    }
    // An engine that marks its files beside them refuses this one, and to others it is nothing.
    for file in
        [path.clone(), path.with_added_extension("pristine")].map(|file| file.with_added_extension("etalon-made"))
    {
        fs::write(&file, "precious").unwrap();
        if let Ok(opened) = subject.open_another(&system) {
            opened.prepare(&rows(3)).unwrap();
            opened.drop_all().unwrap();
        }
        assert_eq!(fs::read(&file).unwrap(), b"precious");
        fs::remove_file(&file).unwrap();
    }
    let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 0, "a system that was refused leaves something behind");
    fs::remove_dir(path.parent().unwrap()).unwrap();
}

fn what_would_be_dropped_is_told(subject: &Subject) {
    let (system, path) = subject.another("dropped");
    let shown = path.display().to_string();
    let told = subject.engine.explain_made(&system).unwrap();
    assert!(told.contains(&shown), "{told}");
    let told = subject.engine.explain_dropped(&system);
    assert!(told.contains("nothing") && told.contains(&shown), "{told}");
    let folder = subject.engine.data_directory(&system);
    assert_eq!(folder.as_deref(), path.parent());
    let opened = subject.open_another(&system).unwrap();
    opened.prepare(&rows(3)).unwrap();
    assert!(path.is_file(), "the database is not where the URL says");
    let told = subject.engine.explain_dropped(&system);
    assert!(!told.contains("nothing") && told.contains(&shown), "{told}");
    let facts = opened.facts().unwrap();
    let data = facts.get("data_directory.path").unwrap_or_default().to_owned();
    assert!(data.starts_with(folder.unwrap().to_str().unwrap()), "the data are in {data}");
    opened.drop_all().unwrap();
    drop(opened);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "precious").unwrap();
    let told = subject.engine.explain_dropped(&system);
    assert!(told.contains("did not make"), "{told}");
    fs::remove_file(&path).unwrap();
    fs::remove_dir(path.parent().unwrap()).unwrap();
}

fn nothing_is_left_behind_and_nothing_else_is_taken(subject: &Subject) {
    let (system, path) = subject.another("db");
    let folder = path.parent().unwrap();
    for neighbour in [false, true] {
        let beside = folder.join("db.txt");
        if neighbour {
            fs::create_dir_all(folder).unwrap();
            fs::write(&beside, "precious").unwrap();
        }
        let opened = subject.open_another(&system).unwrap();
        opened.prepare(&rows(3)).unwrap();
        run(&*opened, &stream(INSERT, Protocol::Prepared, 2), 3).unwrap();
        opened.drop_all().unwrap();
        drop(opened);
        if neighbour {
            let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|file| file.path()).collect();
            assert_eq!(left, std::slice::from_ref(&beside));
            fs::remove_file(beside).unwrap();
            fs::remove_dir(folder).unwrap();
        } else {
            assert!(!folder.exists(), "the folder that étalon made is left behind");
        }
    }
}

fn the_tables_of_others_stay(subject: &Subject) {
    let (own, made) = subject.another("made");
    let (others, path) = subject.another("others");
    let open =
        || subject.engine.open(&OpenRequest { tables: Tables::None, ..OpenRequest::new(&others, Consent::OwnOnly) });
    let missing = open().map(drop).unwrap_err();
    if missing.kind == FailureKind::Unsupported {
        // Nobody else's file can be read, such as one whose key étalon draws itself.
        assert!(missing.hint.is_some(), "{missing}");
        return;
    }
    assert_eq!(missing.kind, FailureKind::Missing, "{missing}");
    let system = subject.open_another(&own).unwrap();
    system.prepare(&rows(3)).unwrap();
    system.settle().unwrap();
    fs::copy(&made, &path).unwrap();
    system.drop_all().unwrap();
    drop(system);
    let untouched = fs::read(&path).unwrap();
    let system = open().unwrap();
    assert_eq!(system.scalar("SELECT count(*) FROM conformance_log").unwrap(), 0);
    system.drop_all().unwrap();
    drop(system);
    assert!(fs::read(&path).unwrap() == untouched, "who only looks changes somebody's file");
    for kept in [5, 10] {
        let system = open().unwrap();
        run(&*system, &stream(INSERT, Protocol::Prepared, 1), 5).unwrap();
        assert_eq!(system.scalar("SELECT count(*) FROM conformance_log").unwrap(), kept);
        system.drop_all().unwrap();
        drop(system);
        assert!(path.is_file(), "somebody's tables were dropped");
    }
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// Closing what has settled changes nothing: nothing was owed to the file.
fn what_has_settled_is_in_the_file(subject: &Subject) {
    let (system, path) = subject.another("settled");
    let opened = subject.open_another(&system).unwrap();
    opened.prepare(&rows(3)).unwrap();
    run(&*opened, &stream(INSERT, Protocol::Prepared, 2), 50).unwrap();
    opened.settle().unwrap();
    let settled = fs::read(&path).unwrap();
    drop(opened);
    assert!(fs::read(&path).unwrap() == settled, "what was written had not reached the file");
    let again: Result<_, Failure> = subject.open_another(&system);
    again.unwrap().drop_all().unwrap();
    fs::remove_dir(path.parent().unwrap()).unwrap();
}
