//! What others put into étalon's database or built on its tables.

use conductor::Registry;
use load::error::{Failure, FailureKind};
use model::{Reset, SystemPlan, Value};
use workloads::system::{Consent, OpenRequest, System};

use crate::tds_server::{Lists, Object, Reply, Server, result};
use crate::{open, system, task, text};

const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";
const TABLES: [&str; 4] = ["pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers"];

fn opened(server: &Server, settings: &[(&str, Value)], consent: Consent) -> Result<Box<dyn System>, Failure> {
    Registry::built_in().open_system(&OpenRequest::new(&system(&server.url(), settings), consent))
}

fn add(server: &Server, object: Object) {
    server.database().objects.push(object);
}

fn take_away(server: &Server, name: &str) {
    server.database().objects.retain(|one| one.name != name);
}

fn names(server: &Server) -> Vec<String> {
    let mut names: Vec<String> =
        server.database().objects.iter().map(|one| format!("{}.{}", one.schema, one.name)).collect();
    names.sort();
    names
}

fn drops_of_databases(server: &Server) -> usize {
    server.batches().iter().filter(|sql| sql.starts_with("DROP DATABASE")).count()
}

fn assert_named(failure: &Failure, names: &[&str]) {
    assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
    for name in names {
        assert!(failure.cause.contains(name), "{name}: {failure}");
    }
}

#[test]
fn things_of_others_stay_and_are_named() {
    for is_given in [false, true] {
        let server = Server::plain();
        server.database().exists = is_given;
        let system = open(&server.url()).unwrap();
        let data = task(&[]).dataset;
        system.prepare(&data).unwrap();
        let theirs = [
            Object::new("U", "dbo", "notes"),
            Object::new("V", "dbo", "rich"),
            Object::new("P", "hr", "pgbench_accounts"),
            Object::new("USER", "", "monitor"),
        ];
        theirs.iter().for_each(|object| add(&server, object.clone()));
        let dropped = drops_of_databases(&server);
        // They disturb no one.
        system.prepare(&data).unwrap();
        let failure = system.drop_all().unwrap_err();
        assert_named(&failure, &["table dbo.notes", "view dbo.rich", "procedure hr.pgbench_accounts", "user monitor"]);
        assert_eq!(server.database().objects, theirs, "étalon's are gone, theirs are not");
        assert_eq!(drops_of_databases(&server), dropped);
        // The marker says whose a database is that étalon made.
        assert_eq!(server.database().marker.as_deref(), (!is_given).then_some(MARKER));
        assert_eq!(server.database().lists.as_ref().map(|lists| lists.made.clone()), (!is_given).then(String::new));
    }
}

#[test]
fn what_needs_étalon_s_tables_keeps_them_and_is_named() {
    let trigger = Object { on: "pgbench_history".to_owned(), ..Object::new("TR", "dbo", "noted") };
    let key = Some(("fk_branch".to_owned(), "pgbench_branches".to_owned()));
    let table = Object { refers: key, ..Object::new("U", "hr", "staff") };
    let view = Object { bound_to: Some("pgbench_tellers".to_owned()), ..Object::new("V", "dbo", "tills") };
    for (theirs, words, kept) in [
        (trigger, "trigger dbo.noted, which needs dbo.pgbench_history", "pgbench_history"),
        (table, "foreign key fk_branch of table hr.staff, which needs dbo.pgbench_branches", "pgbench_branches"),
        (view, "view dbo.tills, which needs dbo.pgbench_tellers", "pgbench_tellers"),
    ] {
        let server = Server::plain();
        let system = open(&server.url()).unwrap();
        let data = task(&[]).dataset;
        system.prepare(&data).unwrap();
        add(&server, theirs.clone());
        let failure = system.prepare(&data).unwrap_err();
        assert_named(&failure, &[&words.replace(", which needs", " depends on")]);
        let failure = system.drop_all().unwrap_err();
        assert_named(&failure, &[words]);
        let mut left = vec![format!("dbo.{kept}"), format!("{}.{}", theirs.schema, theirs.name)];
        left.sort();
        assert_eq!(names(&server), left);
        // Without it, étalon's table goes at the next end.
        take_away(&server, &theirs.name);
        open(&server.url()).unwrap().drop_all().unwrap();
        assert!(!server.database().exists, "{words}");
    }
}

#[test]
fn tables_that_refer_to_each_other_are_dropped_by_name() {
    let server = Server::plain();
    let system = open(&server.url()).unwrap();
    system.prepare(&task(&[]).dataset).unwrap();
    for object in &mut server.database().objects {
        object.refers = match object.name.as_str() {
            "pgbench_tellers" => Some(("to_branch".to_owned(), "pgbench_branches".to_owned())),
            "pgbench_branches" => Some(("to_teller".to_owned(), "pgbench_tellers".to_owned())),
            _ => None,
        };
    }
    add(&server, Object::new("U", "dbo", "notes"));
    assert_named(&system.drop_all().unwrap_err(), &["table dbo.notes"]);
    assert_eq!(names(&server), ["dbo.notes"]);
}

#[test]
fn a_name_that_is_taken_fails_the_load() {
    let server = Server::plain();
    server.database().exists = true;
    let system = open(&server.url()).unwrap();
    system.prepare(&workloads::dataset::Dataset { name: "empty".to_owned(), ..Default::default() }).unwrap();
    add(&server, Object::new("U", "dbo", "pgbench_tellers"));
    let failure = system.prepare(&task(&[]).dataset).unwrap_err();
    assert_named(&failure, &["by the same name: table dbo.pgbench_tellers"]);
    assert_named(&system.drop_all().unwrap_err(), &["table dbo.pgbench_tellers"]);
    assert_eq!(names(&server), ["dbo.pgbench_tellers"]);
}

/// What a new database has from `model` is no one's next to étalon's.
#[test]
fn what_a_new_database_has_goes_with_it() {
    let server = Server::plain();
    server.database().model = vec![Object::new("P", "dbo", "sp_house"), Object::new("USER", "", "monitor")];
    let system = open(&server.url()).unwrap();
    let data = task(&[]).dataset;
    system.prepare(&data).unwrap();
    let dropped = drops_of_databases(&server);
    system.prepare(&data).unwrap();
    assert_eq!(drops_of_databases(&server), dropped + 1);
    system.drop_all().unwrap();
    assert!(!server.database().exists);
}

/// A load makes the marker of an older étalon again, and drops nothing that it does not name.
#[test]
fn a_marker_without_a_list_names_nothing() {
    let server = Server::plain();
    {
        let mut database = server.database();
        (database.exists, database.marker) = (true, Some(MARKER.to_owned()));
        database.objects = TABLES.map(|name| Object::new("U", "dbo", name)).to_vec();
    }
    let system = open(&server.url()).unwrap();
    let failure = system.prepare(&task(&[]).dataset).unwrap_err();
    assert_named(&failure, &["by the same name: table dbo.pgbench_accounts, table dbo.pgbench_branches"]);
    assert_named(&system.drop_all().unwrap_err(), &["table dbo.pgbench_history"]);
    assert_eq!(server.database().objects.len(), TABLES.len());
    assert!(matches!(&server.database().lists, Some(Lists { made, .. }) if made.is_empty()));
    assert_eq!(server.database().marker.as_deref(), Some(MARKER));

    let allowed = opened(&server, &[], Consent::DropForeign).unwrap();
    allowed.prepare(&task(&[]).dataset).unwrap();
    allowed.drop_all().unwrap();
    assert!(!server.database().exists);
}

#[test]
fn other_options_are_refused_where_something_of_others_lies() {
    let server = Server::plain();
    let first = opened(&server, &[("recovery", text("simple"))], Consent::OwnOnly).unwrap();
    first.prepare(&task(&[]).dataset).unwrap();
    add(&server, Object::new("U", "dbo", "notes"));
    let other = opened(&server, &[("recovery", text("full"))], Consent::OwnOnly).unwrap();
    let failure = other.prepare(&task(&[]).dataset).unwrap_err();
    assert_named(&failure, &["table dbo.notes"]);
    assert!(failure.tried.contains("with the plan's options"), "{failure}");
    assert_eq!(names(&server).len(), TABLES.len() + 1);
}

#[test]
fn an_encrypted_database_that_stays_keeps_its_certificate() {
    let encrypted = Reply::Tokens(result(&["#"], &[&[Some("3")]]));
    let server = Server::answering("SELECT encryption_state", encrypted);
    let system = opened(&server, &[("encryption", Value::Bool(true))], Consent::OwnOnly).unwrap();
    system.prepare(&task(&[]).dataset).unwrap();
    add(&server, Object::new("U", "dbo", "notes"));
    let failure = system.drop_all().unwrap_err();
    assert_named(&failure, &["table dbo.notes"]);
    assert!(failure.hint.unwrap().contains("stays encrypted by the certificate `etalon`"));
    assert_eq!(names(&server), ["dbo.notes"]);
    let asked = server.batches().join("\n");
    assert!(asked.contains("CREATE CERTIFICATE") && !asked.contains("DROP CERTIFICATE"), "{asked}");
}

/// A revert would take away what was made since.
#[test]
fn a_revert_leaves_what_others_made() {
    let server = Server::plain();
    let plan = SystemPlan { reset: Some(Reset::Clone), ..system(&server.url(), &[]) };
    let system = Registry::built_in().open_system(&OpenRequest::new(&plan, Consent::OwnOnly)).unwrap();
    let data = task(&[]).dataset;
    system.prepare(&data).unwrap();
    add(&server, Object::new("U", "dbo", "notes"));
    let reverts = || server.batches().iter().filter(|sql| sql.starts_with("RESTORE DATABASE")).count();
    let before = reverts();
    assert_named(&system.prepare(&data).unwrap_err(), &["table dbo.notes"]);
    assert_eq!(reverts(), before);
    assert_named(&system.drop_all().unwrap_err(), &["table dbo.notes"]);
    assert_eq!(names(&server), ["dbo.notes"]);
    assert!(server.database().snapshots.is_empty(), "étalon's own snapshot is gone");
}
