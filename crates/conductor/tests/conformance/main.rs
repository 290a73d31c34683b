//! One suite for every engine of the registry, in each release that is at hand: whoever adds one passes this, or is not done. `ETALON_TEST_ENGINE=NAME` tests
//! that one alone, `ETALON_TEST_CASE=NAME` with that case alone.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../../../engines/tests/example/mod.rs"]
mod example;

mod control;
mod files;
mod honesty;
mod known;
mod lanes;
mod met;
#[path = "../shared/releases.rs"]
mod releases;
mod sabotage;
mod subject;
mod workloads;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use ::workloads::system::Engine;
use conductor::Registry;
use known::Conflict;
use load::counters::Placement;
use met::Met;
use sabotage::Sabotage;
use subject::{Case, Subject};

/// Engines.
const AT_ONCE: usize = 6;

/// All that an engine promises.
fn cases() -> Vec<Case> {
    [workloads::CASES, lanes::CASES, control::CASES, files::CASES, honesty::CASES].concat()
}

/// How it failed is an `Err`.
fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned())).unwrap_or_default()
    })
}

fn run(case: &Case, subject: &Subject) -> Result<(), String> {
    catch(|| (case.run)(subject))
}

fn is_wanted(variable: &str, name: &str) -> bool {
    std::env::var(variable).is_ok_and(|wanted| wanted == name) || std::env::var(variable).is_err()
}

/// An engine, and the folder of its programs if they are not the installed ones.
type Wanted = (&'static dyn Engine, Option<String>);

/// Every engine as it is installed here, and the servers of other releases that are at hand.
fn wanted() -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for engine in Registry::built_in().with_engine(&example::Example).engines() {
        let spec = engine.spec();
        if is_wanted("ETALON_TEST_ENGINE", spec.name) {
            wanted.push((*engine, None));
            let others = spec.private_servers.iter().flat_map(|server| releases::folders_of(server));
            wanted.extend(others.map(|folder| (*engine, Some(folder))));
        }
    }
    wanted
}

/// What came of an engine's cases.
#[derive(Default)]
struct Outcome {
    kept: usize,
    broken: Vec<String>,
    met: Vec<Met>,
}

fn try_every_case((engine, programs): Wanted) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(subject) = Subject::open(engine, programs) else { return outcome };
    let (product, release) = subject.release();
    let name = format!("{} {release}", subject.name);
    for case in cases().iter().filter(|case| is_wanted("ETALON_TEST_CASE", case.name) && case.concerns(&subject)) {
        eprintln!("{name}: {}", case.name);
        match run(case, &subject) {
            Ok(()) => outcome.kept += 1,
            Err(said) => outcome.broken.push(format!("{name}: {}: {said}", case.name)),
        }
    }
    outcome.met.push(Met::of(&subject, product, release));
    if let Err(left) = subject.close() {
        outcome.broken.push(format!("{name}: left behind: {left}"));
    }
    outcome
}

#[test]
fn every_engine_keeps_every_promise() {
    let waiting = Mutex::new(wanted().into_iter());
    let all = Mutex::new(Outcome::default());
    // The cases wait more than they work.
    let work = || {
        while let Some(next) = { waiting.lock().unwrap().next() } {
            let name = next.0.spec().name;
            let outcome = catch(|| try_every_case(next))
                .unwrap_or_else(|said| Outcome { broken: vec![format!("{name}: {said}")], ..Outcome::default() });
            let mut all = all.lock().unwrap();
            all.kept += outcome.kept;
            all.broken.extend(outcome.broken);
            all.met.extend(outcome.met);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let Outcome { kept, broken, met } = all.into_inner().unwrap();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(kept > 0, "nothing was tested: there is no engine or no case of that name");
    if std::env::var("ETALON_TEST_ENGINE").is_err() {
        met::hold(&met);
    }
}

/// The document's table names every method of the traits and every case, and no other.
#[test]
fn the_document_s_table_is_complete() {
    let read = |path: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(path).unwrap().replace("\r\n", "\n")
    };
    let mut methods = BTreeSet::new();
    for (file, name) in [
        ("workloads/src/system.rs", "Engine"),
        ("workloads/src/system.rs", "System"),
        ("load/src/lane.rs", "Lane"),
        ("workloads/src/session.rs", "Session"),
        ("workloads/src/dataset.rs", "Dialect"),
        ("workloads/src/pages/dialect.rs", "PagesDialect"),
    ] {
        let text = read(&format!("../{file}"));
        let body =
            text.split(&format!("\npub trait {name}")).nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
        let items = body.lines().filter_map(|line| line.strip_prefix("    fn ").or(line.strip_prefix("    const ")));
        let item =
            |item: &str| item.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
        methods.extend(items.map(|line| format!("{name}::{}", item(line))));
    }
    let document = read("../../docs/extending.md");
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
    let rows = document.lines().filter(|line| line.starts_with("| `") && line.contains("::"));
    let (mut told, mut held) = (BTreeSet::new(), BTreeSet::new());
    for cells in rows.map(|row| row.split(" | ").map(str::to_owned).collect::<Vec<String>>()) {
        told.extend(quoted(&cells[0]));
        if !cells[2].starts_with("not held: ") {
            held.extend(quoted(&cells[2]));
        }
    }
    assert_eq!(told, methods);
    assert_eq!(held, cases().iter().map(|case| case.name.to_owned()).collect());
}

/// The template, broken in one way at a time: the suite tells each.
#[test]
fn every_sabotage_is_caught() {
    let mut survived = Vec::new();
    for (sabotage, caught_by) in sabotage::TABLE {
        let case = cases().into_iter().find(|case| case.name == *caught_by);
        let case = case.unwrap_or_else(|| panic!("{sabotage:?}: there is no case `{caught_by}`"));
        let subject = Subject::open(sabotage::engine(*sabotage), None).unwrap();
        assert!(case.concerns(&subject), "{sabotage:?}: {caught_by} is not for it");
        match run(&case, &subject) {
            Ok(()) => survived.push(format!("{sabotage:?} is not caught by {caught_by}")),
            Err(said) => eprintln!("{sabotage:?}: {}", said.lines().next().unwrap_or_default()),
        }
    }
    assert!(survived.is_empty(), "{}", survived.join("\n"));
}

/// The template, told not to wait for a lock, stands for an engine that refuses at once: it is asked for the same.
#[test]
fn an_engine_that_refuses_at_once_is_asked_too() {
    const ASKED: [&str; 4] = [
        "a_conflict_is_told_from_a_failure",
        "settings_hold_in_every_session",
        "an_unknown_setting_is_refused",
        "a_conflict_waits_or_fails",
    ];
    let broken = |engine, conflict, wait: &str| -> Vec<&str> {
        let mut known = known::of("example").unwrap().clone();
        known.conflict = Some(conflict);
        known.setting.as_mut().unwrap().change(wait);
        let subject = Subject::open_as(engine, None, known).unwrap();
        let asked: Vec<Case> = cases().into_iter().filter(|case| ASKED.contains(&case.name)).collect();
        assert!(asked.iter().all(|case| case.concerns(&subject)) && asked.len() == ASKED.len());
        asked.iter().filter(|case| run(case, &subject).is_err()).map(|case| case.name).collect()
    };
    let template: &'static dyn Engine = &example::Example;
    assert_eq!(broken(template, Conflict::AtOnce, "0"), [""; 0]);
    assert_eq!(broken(template, Conflict::AtOnce, "1000"), ASKED[..2], "it waits, and is said not to");
    assert_eq!(broken(template, Conflict::Waits, "0"), ASKED[..2], "it does not wait, and is said to");
    let conflicts = [ASKED[0], ASKED[3]];
    for (sabotage, expected) in [
        (Sabotage::Conflicts, &conflicts[..]),
        (Sabotage::SwallowedConflicts, &conflicts),
        (Sabotage::UnknownSettings, &ASKED[2..3]),
    ] {
        assert_eq!(broken(sabotage::engine(sabotage), Conflict::AtOnce, "0"), expected, "{sabotage:?}");
    }
}

/// The template with its work in threads of its own: it keeps the same promises, and its cost is told from the client's.
#[test]
fn an_engine_with_threads_of_its_own_is_asked_too() {
    let subject = Subject::open(sabotage::engine(Sabotage::OwnThreads), None).unwrap();
    assert_eq!(subject.system.placement(), Placement::OwnThreads);
    for case in lanes::CASES.iter().chain(honesty::CASES).filter(|case| case.concerns(&subject)) {
        run(case, &subject).unwrap_or_else(|said| panic!("{}: {said}", case.name));
    }
}
