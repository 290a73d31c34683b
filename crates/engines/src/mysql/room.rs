//! What lies in étalon's database: its own things, whose names its marker table lists, and those of others.
//!
//! Étalon drops its own by name. What others put next to them, or built on them, stays and is named. Columns, indexes and
//! constraints of a table are parts of it and go with it.

use std::collections::BTreeSet;

use super::SCHEMA;
use super::dialect::{quote_name, quote_text};
use crate::mysql::lane::{AskError, Client};
use crate::owner::{self, MARKER_TABLE};
use crate::server::dialogue::first_columns;
use load::error::{Failure, FailureKind};

/// Most characters of a name.
const LONGEST: usize = 64;
const NO_SUCH_COLUMN: u16 = 1054;

/// Selects the things of the database that are étalon's to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those in the marker's list.
    Names,
    /// All: the server is étalon's own, or the user allows it.
    Database,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thing {
    /// The word after `DROP`: `TABLE`, `VIEW`, `PROCEDURE`.
    kind: &'static str,
    name: String,
}

impl Thing {
    /// Text that names the thing, such as `table etalon.orders`.
    fn description(&self) -> String {
        format!("{} {SCHEMA}.{}", self.kind.to_lowercase(), self.name)
    }

    /// Writes the statement that drops the thing.
    fn drop_statement(&self) -> String {
        format!("DROP {} {SCHEMA}.{}", self.kind, quote_name(&self.name))
    }

    /// Whether the thing's name is among these, in any case.
    fn is_named(&self, names: &BTreeSet<String>) -> bool {
        names.iter().any(|name| name.eq_ignore_ascii_case(&self.name))
    }
}

/// Something of others that needs one of étalon's tables, or would go with it.
struct Dependent {
    shown: String,
    table: String,
}

pub(super) struct Room {
    own: Vec<Thing>,
    others: Vec<Thing>,
    dependents: Vec<Dependent>,
}

/// Makes the marker table with this comment, in place of an older one.
pub(super) fn make_marker(client: &mut Client, comment: &str) -> Result<(), AskError> {
    client.execute(&format!("DROP TABLE IF EXISTS {SCHEMA}.{MARKER_TABLE}"))?;
    client.execute(&format!(
        "CREATE TABLE {SCHEMA}.{MARKER_TABLE} (name VARCHAR({LONGEST}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY) \
         COMMENT = {}",
        quote_text(comment)
    ))
}

/// Writes into the marker the names that étalon is about to make, in place of earlier ones.
pub(super) fn write_names(client: &mut Client, names: &BTreeSet<String>) -> Result<(), AskError> {
    client.execute("BEGIN")?;
    client.execute(&format!("DELETE FROM {SCHEMA}.{MARKER_TABLE}"))?;
    let values = names.iter().filter(|name| name.chars().count() <= LONGEST);
    let values: Vec<String> = values.map(|name| format!("({})", quote_text(name))).collect();
    if !values.is_empty() {
        client.execute(&format!("INSERT INTO {SCHEMA}.{MARKER_TABLE} (name) VALUES {}", values.join(", ")))?;
    }
    client.execute("COMMIT")
}

/// Reads the names in the marker. A marker of an étalon that listed none is made again with a list.
fn marked_names(client: &mut Client) -> Result<BTreeSet<String>, AskError> {
    match client.query_text_rows(&format!("SELECT name FROM {SCHEMA}.{MARKER_TABLE}")) {
        Ok(rows) => Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()),
        Err(AskError::Server(error)) if error.code == NO_SUCH_COLUMN => {
            let comment = client.query_first_value(&format!(
                "SELECT table_comment FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name = \
                 '{MARKER_TABLE}'"
            ))?;
            make_marker(client, &comment).map(|()| BTreeSet::new())
        }
        Err(error) => Err(error),
    }
}

/// Lists the engines of étalon's own tables, as far as they are made: others may have changed them.
pub(super) fn engines_in_use(client: &mut Client) -> Result<Vec<String>, AskError> {
    let tables = format!("SELECT table_name, engine FROM information_schema.tables WHERE table_schema = '{SCHEMA}'");
    let found: Vec<[String; 2]> = client.query_text_rows(&tables)?.into_iter().map(first_columns).collect();
    if !found.iter().any(|[name, _]| name == MARKER_TABLE) {
        return Ok(Vec::new());
    }
    let own = marked_names(client)?;
    let is_own = |name: &str| own.iter().any(|known| known.eq_ignore_ascii_case(name));
    let of_own = found.into_iter().filter(|[name, engine]| is_own(name) && !engine.is_empty());
    let engines: BTreeSet<String> = of_own.map(|[_, engine]| engine).collect();
    Ok(engines.into_iter().collect())
}

impl Room {
    /// Lists what is in étalon's database, split into étalon's things and those of others.
    pub(super) fn inspect(client: &mut Client, reach: Reach) -> Result<Room, AskError> {
        let names = marked_names(client)?;
        let things = list_things(client)?;
        // Étalon makes no two things of one name: a routine or an event with the name of a table is not its own.
        let tables = things.iter().filter(|thing| thing.kind == "TABLE").map(|thing| thing.name.clone());
        let tables: BTreeSet<String> = tables.collect();
        let (own, others): (Vec<Thing>, Vec<Thing>) = things.into_iter().partition(|thing| {
            let is_alike = thing.kind != "TABLE" && tables.contains(&thing.name);
            // Where names of tables differ by capitals, another's may differ from étalon's by them alone.
            let is_another = !names.contains(&thing.name)
                && names.iter().any(|name| name.eq_ignore_ascii_case(&thing.name) && tables.contains(name));
            reach == Reach::Database || (thing.is_named(&names) && !is_alike && !is_another)
        });
        let dependents = match reach {
            Reach::Names => foreign_triggers(client, (&own, &others), &names)?,
            Reach::Database => Vec::new(),
        };
        Ok(Room { own, others, dependents })
    }

    /// Fails where something of others needs étalon's tables, which it has to make again.
    pub(super) fn refuse_dependents(&self) -> Result<(), Failure> {
        let needs = self.dependents.iter().map(|one| format!("{} depends on table {SCHEMA}.{}", one.shown, one.table));
        owner::refuse_dependents(&format!("the database `{SCHEMA}`"), &needs.collect::<Vec<_>>())
    }

    /// Fails if things of others have these names.
    pub(super) fn refuse_taken(&self, names: &BTreeSet<String>) -> Result<(), Failure> {
        let taken: Vec<String> =
            self.others.iter().filter(|thing| thing.is_named(names)).map(Thing::description).collect();
        owner::refuse_taken(&format!("the database `{SCHEMA}`"), &taken)
    }

    /// Drops étalon's things but the tables that something of others needs. Returns whether any are left.
    pub(super) fn drop_own_things(&mut self, client: &mut Client) -> Result<bool, AskError> {
        let (bound, left): (Vec<&Thing>, Vec<&Thing>) = self.own.iter().partition(|thing| {
            thing.kind == "TABLE" && self.dependents.iter().any(|one| one.table.eq_ignore_ascii_case(&thing.name))
        });
        let (left, refused) =
            owner::drop_in_turn(left, |thing| AskError::split_refusal(client.execute(&thing.drop_statement())))?;
        let Some(refused) = refused else { return Ok(!bound.is_empty()) };
        let keys = foreign_keys(client, &self.own)?;
        if keys.is_empty() && bound.is_empty() {
            // Tables may refer to each other.
            let tables: Vec<String> =
                left.iter().map(|thing| format!("{SCHEMA}.{}", quote_name(&thing.name))).collect();
            let dropped = client.execute(&format!("DROP TABLE {}", tables.join(", ")));
            return dropped.map(|()| false).map_err(|_| refused);
        }
        self.dependents.extend(keys);
        Ok(true)
    }

    /// Whether others have things in the database.
    pub(super) fn is_shared(&self) -> bool {
        !self.others.is_empty()
    }

    /// Lists the views of others that read étalon's tables; they stay where these go.
    pub(super) fn views_of_others(&self, client: &mut Client) -> Result<Vec<String>, AskError> {
        let sql = format!(
            "SELECT table_schema, table_name, view_definition FROM information_schema.views WHERE view_definition LIKE \
             '%`{SCHEMA}`.%'"
        );
        let mut views = Vec::new();
        for row in client.query_text_rows(&sql)? {
            let [schema, name, definition] = first_columns(row);
            let is_own = schema == SCHEMA && self.own.iter().any(|thing| thing.name == name);
            if let Some(read) =
                self.own.iter().find(|thing| definition.contains(&format!("`{SCHEMA}`.{}", quote_name(&thing.name))))
                && !is_own
            {
                views.push(format!("view {schema}.{name}, which reads {}", read.description()));
            }
        }
        Ok(views)
    }

    /// Fails with a list of what stays after [`Room::drop_own_things`], if anything does.
    pub(super) fn check_nothing_left(&self, views: Vec<String>) -> Result<(), Failure> {
        let others = self.others.iter().map(Thing::description);
        let next_to_it = others.filter(|shown| !views.iter().any(|view| view.starts_with(&format!("{shown}, "))));
        let bound =
            self.dependents.iter().map(|one| format!("{}, which needs table {SCHEMA}.{}", one.shown, one.table));
        let left: Vec<String> = next_to_it.chain(bound).chain(views.iter().cloned()).collect();
        if left.is_empty() {
            return Ok(());
        }
        let tried = format!("remove the database `{SCHEMA}`");
        Err(Failure::new(FailureKind::NotOurs, tried, format!("what étalon did not make stays: {}", left.join("; "))))
    }
}

/// Lists tables, views, routines and events in étalon's database.
fn list_things(client: &mut Client) -> Result<Vec<Thing>, AskError> {
    let sql = format!(
        "SELECT table_type, table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name <> \
         '{MARKER_TABLE}' UNION ALL SELECT routine_type, routine_name FROM information_schema.routines WHERE routine_schema = \
         '{SCHEMA}' UNION ALL SELECT 'EVENT', event_name FROM information_schema.events WHERE event_schema = '{SCHEMA}'"
    );
    let things = client.query_text_rows(&sql)?.into_iter().map(|row| {
        let [kind, name] = first_columns(row);
        let kind = match kind.as_str() {
            "VIEW" => "VIEW",
            "SEQUENCE" => "SEQUENCE",
            "PROCEDURE" => "PROCEDURE",
            "FUNCTION" => "FUNCTION",
            "PACKAGE" => "PACKAGE",
            "PACKAGE BODY" => "PACKAGE BODY",
            "EVENT" => "EVENT",
            _ => "TABLE",
        };
        Thing { kind, name }
    });
    Ok(things.collect())
}

/// Lists the foreign keys of others' tables that refer to étalon's.
/// The server looks into every table for them, so only a table that does not go is a reason to ask.
fn foreign_keys(client: &mut Client, own: &[Thing]) -> Result<Vec<Dependent>, AskError> {
    let sql = format!(
        "SELECT DISTINCT table_schema, table_name, constraint_name, referenced_table_name FROM \
         information_schema.key_column_usage WHERE referenced_table_schema = '{SCHEMA}'"
    );
    let mut keys = Vec::new();
    for row in client.query_text_rows(&sql)? {
        let [schema, from, key, table] = first_columns(row);
        if is_own_table(own, &table) && !(schema == SCHEMA && is_own_table(own, &from)) {
            keys.push(Dependent { shown: format!("foreign key {key} of table {schema}.{from}"), table });
        }
    }
    Ok(keys)
}

/// Lists others' triggers on étalon's tables.
fn foreign_triggers(
    client: &mut Client,
    (own, others): (&[Thing], &[Thing]),
    names: &BTreeSet<String>,
) -> Result<Vec<Dependent>, AskError> {
    let sql = format!(
        "SELECT trigger_name, event_object_table FROM information_schema.triggers WHERE event_object_schema = '{SCHEMA}'"
    );
    let triggers = client.query_text_rows(&sql)?.into_iter().filter_map(|row| {
        let [name, table] = first_columns(row);
        let trigger = Thing { kind: "TRIGGER", name };
        let is_on_others = others.iter().any(|other| other.kind == "TABLE" && other.name == table);
        let is_of_others = is_own_table(own, &table) && !is_on_others && !trigger.is_named(names);
        is_of_others.then(|| Dependent { shown: trigger.description(), table })
    });
    Ok(triggers.collect())
}

/// Whether one of these things is a table of this name, in any case.
fn is_own_table(own: &[Thing], name: &str) -> bool {
    own.iter().any(|thing| thing.kind == "TABLE" && thing.name.eq_ignore_ascii_case(name))
}
