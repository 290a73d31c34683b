//! What lies in étalon's database: its own things, whose names its marker table lists, and those of others.
//!
//! Étalon drops its own by name, and the database only where nothing of others lies in it. What others put next to étalon's
//! things, or built on them, stays and is named. What was there when étalon made the marker, such as what a new database has from
//! `model`, is neither. Columns, indexes and constraints of a table are parts of it and go with it.

use std::collections::BTreeSet;

use super::SCHEMA;
use super::dialect::{quote_name, quote_unicode};
use crate::owner::{self, MARKER_TABLE, foreign_things_failure};
use crate::server::dialogue::{first_columns, first_row};
use crate::sqlserver::lane::{AskError, Client};
use load::error::{Failure, FailureKind};

/// "Invalid column name", of a marker by an étalon that listed nothing.
const NO_SUCH_COLUMN: i32 = 207;
/// The schema of étalon's things.
const OWN_SCHEMA: &str = "dbo";

/// Selects the things of the database that are étalon's to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those in the marker's list.
    Names,
    /// All: the user allows it.
    Database,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thing {
    /// The word after `DROP`: `TABLE`, `VIEW`, `PROCEDURE`.
    kind: &'static str,
    /// Empty where it lies in none.
    schema: String,
    name: String,
    /// The table or view that a trigger is on, in the same schema.
    on: String,
}

impl Thing {
    /// Text that names the thing, such as `trigger dbo.a on b`.
    fn description(&self) -> String {
        let kind = self.kind.to_lowercase();
        if self.schema.is_empty() {
            return format!("{kind} {}", self.name);
        }
        let on = if self.on.is_empty() { String::new() } else { format!(" on {}", self.on) };
        format!("{kind} {}.{}{on}", self.schema, self.name)
    }

    /// Drops the thing. `Some`: how the server refused.
    fn try_drop(&self, client: &mut Client) -> Result<Option<AskError>, AskError> {
        AskError::split_refusal(client.execute(&self.drop_statement()))
    }

    /// Writes the statement that drops the thing.
    fn drop_statement(&self) -> String {
        format!("DROP {} IF EXISTS {}.{}", self.kind, quote_name(&self.schema), quote_name(&self.name))
    }

    /// Whether the thing is étalon's by schema and name, in any case.
    fn is_named(&self, names: &BTreeSet<String>) -> bool {
        self.schema.eq_ignore_ascii_case(OWN_SCHEMA) && names.iter().any(|name| name.eq_ignore_ascii_case(&self.name))
    }

    /// Whether `DROP` with schema and name removes the thing.
    fn is_droppable(&self) -> bool {
        !self.schema.is_empty() && !matches!(self.kind, "QUEUE" | "EXTERNAL TABLE" | "PLAN GUIDE" | "OBJECT")
    }

    /// Whether the thing has this schema and name, in any case.
    fn is_called(&self, schema: &str, name: &str) -> bool {
        self.schema.eq_ignore_ascii_case(schema) && self.name.eq_ignore_ascii_case(name)
    }
}

/// Something of others that needs one of étalon's things, or would go with it.
struct Dependent {
    shown: String,
    on: String,
}

/// A foreign key, with schema and name of its table and of the one that it refers to.
struct ForeignKey {
    name: String,
    from: (String, String),
    to: (String, String),
}

pub(super) struct Room {
    own: Vec<Thing>,
    others: Vec<Thing>,
    dependents: Vec<Dependent>,
}

/// The columns of the marker's row, beyond what it says.
#[derive(Default)]
struct Lists {
    made: BTreeSet<String>,
    /// Texts of [`Thing::description`].
    found: BTreeSet<String>,
}

/// Splits a text into the set of its lines.
fn line_set(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_owned).collect()
}

/// Makes the marker in the session's database, with the list of what others brought there before étalon.
pub(super) fn mark_database(client: &mut Client, said: &str) -> Result<(), AskError> {
    let found: Vec<String> = list_things(client)?.iter().map(Thing::description).collect();
    make_marker(client, said, &found.join("\n"))
}

/// Makes the marker table with its one row: what it says, and the list of what was found.
fn make_marker(client: &mut Client, said: &str, found: &str) -> Result<(), AskError> {
    client.execute(&format!(
        "CREATE TABLE dbo.{MARKER_TABLE} (said nvarchar(200) NOT NULL PRIMARY KEY, made nvarchar(max) NOT NULL, found \
         nvarchar(max) NOT NULL)"
    ))?;
    client.execute(&format!(
        "INSERT INTO dbo.{MARKER_TABLE} (said, made, found) VALUES ({}, N'', {})",
        quote_unicode(said),
        quote_unicode(found)
    ))
}

/// Writes into the marker the names that étalon is about to make, in place of earlier ones.
/// A marker of an étalon that listed nothing is made again.
pub(super) fn write_names(client: &mut Client, names: &BTreeSet<String>) -> Result<(), AskError> {
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.contains('\n')).collect();
    let write = format!("UPDATE dbo.{MARKER_TABLE} SET made = {}", quote_unicode(&names.join("\n")));
    match client.execute(&write) {
        Err(error) if error.error_number() == Some(NO_SUCH_COLUMN) => {
            let said = read_marker(client)?;
            client.execute(&format!("DROP TABLE dbo.{MARKER_TABLE}"))?;
            make_marker(client, &said, "")?;
            client.execute(&write)
        }
        written => written,
    }
}

/// Reads the marker's first text, which says whose the database is.
pub(super) fn read_marker(client: &mut Client) -> Result<String, AskError> {
    client.query_first_value(&format!("SELECT said FROM [{SCHEMA}].dbo.{MARKER_TABLE}"))
}

/// Reads the marker's lists of what étalon made and what it found; empty ones from an étalon that listed nothing.
fn read_lists(client: &mut Client) -> Result<Lists, AskError> {
    match client.query_text_rows(&format!("SELECT made, found FROM [{SCHEMA}].dbo.{MARKER_TABLE}")) {
        Err(error) if error.error_number() == Some(NO_SUCH_COLUMN) => Ok(Lists::default()),
        rows => {
            let [made, found] = first_columns(first_row(rows?));
            Ok(Lists { made: line_set(&made), found: line_set(&found) })
        }
    }
}

impl Room {
    /// Lists what is in étalon's database, split into étalon's things and those of others, whatever the session's own.
    pub(super) fn inspect(client: &mut Client, reach: Reach) -> Result<Room, AskError> {
        let lists = read_lists(client)?;
        let things = list_things(client)?.into_iter();
        let things = things.filter(|thing| !lists.found.contains(&thing.description()) || thing.is_named(&lists.made));
        let (own, others): (Vec<Thing>, Vec<Thing>) = things.partition(|thing| match reach {
            Reach::Names => thing.is_named(&lists.made),
            Reach::Database => thing.is_droppable(),
        });
        // A trigger goes with its table.
        let (triggers, others): (Vec<Thing>, Vec<Thing>) = others.into_iter().partition(|thing| {
            thing.kind == "TRIGGER" && own.iter().any(|table| table.is_called(&thing.schema, &thing.on))
        });
        let dependents = triggers.iter().map(|trigger| Dependent {
            shown: format!("trigger {}.{}", trigger.schema, trigger.name),
            on: trigger.on.clone(),
        });
        Ok(Room { dependents: dependents.collect(), own, others })
    }

    /// Whether nothing of others is in the database.
    pub(super) fn has_nothing_of_others(&self) -> bool {
        self.others.is_empty() && self.dependents.is_empty()
    }

    /// Fails where something of others needs étalon's tables, which it has to make again.
    pub(super) fn refuse_dependents(&self) -> Result<(), Failure> {
        let needs = self.dependents.iter().map(|one| format!("{} depends on {OWN_SCHEMA}.{}", one.shown, one.on));
        owner::refuse_dependents(&format!("the database `{SCHEMA}`"), &needs.collect::<Vec<_>>())
    }

    /// Fails if things of others have these names.
    pub(super) fn refuse_taken(&self, names: &BTreeSet<String>) -> Result<(), Failure> {
        let taken: Vec<String> =
            self.others.iter().filter(|thing| thing.is_named(names)).map(Thing::description).collect();
        owner::refuse_taken(&format!("the database `{SCHEMA}`"), &taken)
    }

    /// Fails if the database holds things of others, all of which `tried` would take away.
    pub(super) fn refuse_others(&self, tried: String) -> Result<(), Failure> {
        if self.has_nothing_of_others() {
            return Ok(());
        }
        Err(foreign_things_failure(
            tried,
            format!("étalon did not make all that lies there: {}", self.describe_others()),
        ))
    }

    /// Drops étalon's things in the session's database but those that something of others needs.
    /// Returns whether any are left.
    pub(super) fn drop_own_things(&mut self, client: &mut Client) -> Result<bool, AskError> {
        let (bound, left): (Vec<&Thing>, Vec<&Thing>) = self
            .own
            .iter()
            .partition(|thing| self.dependents.iter().any(|one| one.on.eq_ignore_ascii_case(&thing.name)));
        let (left, mut refused) = owner::drop_in_turn(left, |thing| thing.try_drop(client))?;
        if refused.is_some() && drop_keys_between(client, &left)? {
            (_, refused) = owner::drop_in_turn(left, |thing| thing.try_drop(client))?;
        }
        let Some(refused) = refused else { return Ok(!bound.is_empty()) };
        let needing = list_dependents(client, &self.own)?;
        if needing.is_empty() && bound.is_empty() {
            return Err(refused);
        }
        self.dependents.extend(needing);
        Ok(true)
    }

    /// Fails with a list of what étalon did not make and what stays after [`Room::drop_own_things`].
    pub(super) fn refuse_to_leave_unsaid(&self) -> Result<(), Failure> {
        if self.has_nothing_of_others() {
            return Ok(());
        }
        let tried = format!("remove the database `{SCHEMA}`");
        Err(Failure::new(
            FailureKind::NotOurs,
            tried,
            format!("what étalon did not make stays: {}", self.describe_others()),
        ))
    }

    /// Lists the things of others for a message.
    fn describe_others(&self) -> String {
        let others = self.others.iter().map(Thing::description);
        let next_to_it = others.filter(|shown| !self.dependents.iter().any(|one| one.shown == *shown));
        let bound = self.dependents.iter().map(|one| format!("{}, which needs {OWN_SCHEMA}.{}", one.shown, one.on));
        next_to_it.chain(bound).collect::<Vec<_>>().join("; ")
    }
}

/// Drops the foreign keys from one of these tables to another, and returns whether there were any.
/// Tables that refer to each other cannot go otherwise.
fn drop_keys_between(client: &mut Client, tables: &[&Thing]) -> Result<bool, AskError> {
    let mut keys = list_foreign_keys(client)?;
    keys.retain(|key| {
        [&key.from, &key.to].iter().all(|(schema, name)| tables.iter().any(|table| table.is_called(schema, name)))
    });
    for ForeignKey { name, from: (schema, table), .. } in &keys {
        let (schema, table, name) = (quote_name(schema), quote_name(table), quote_name(name));
        client.execute(&format!("ALTER TABLE {schema}.{table} DROP CONSTRAINT {name}"))?;
    }
    Ok(!keys.is_empty())
}

/// Lists everything with a name of its own in étalon's database.
/// What the server made itself is left out, and constraints, indexes and internal tables are parts of tables.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-catalog-views/sys-objects-transact-sql>
fn list_things(client: &mut Client) -> Result<Vec<Thing>, AskError> {
    let sql = format!(
        "SELECT RTRIM(o.type), s.name, o.name, p.name FROM [{SCHEMA}].sys.objects AS o JOIN [{SCHEMA}].sys.schemas AS s ON \
         s.schema_id = o.schema_id LEFT JOIN [{SCHEMA}].sys.objects AS p ON p.object_id = o.parent_object_id WHERE o.is_ms_shipped \
         = 0 AND o.name <> N'{MARKER_TABLE}' AND (o.type NOT IN ('C', 'D', 'EC', 'F', 'IT', 'PK', 'S', 'ST', 'TT', 'UQ') OR o.type \
         = 'D' AND o.parent_object_id = 0) UNION ALL SELECT 'TYPE', s.name, t.name, NULL FROM [{SCHEMA}].sys.types AS t JOIN \
         [{SCHEMA}].sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.is_user_defined = 1 UNION ALL SELECT 'DATABASE', '', \
         name, NULL FROM [{SCHEMA}].sys.triggers WHERE parent_class = 0 AND is_ms_shipped = 0 UNION ALL SELECT 'SCHEMA', '', s.name, \
         NULL FROM [{SCHEMA}].sys.schemas AS s WHERE s.name NOT IN (N'dbo', N'guest', N'INFORMATION_SCHEMA', N'sys') AND NOT EXISTS \
         (SELECT 1 FROM [{SCHEMA}].sys.database_principals AS d WHERE d.name = s.name AND d.is_fixed_role = 1) UNION ALL SELECT \
         CASE WHEN type IN ('A', 'R') THEN 'ROLE' ELSE 'USER' END, '', name, NULL FROM [{SCHEMA}].sys.database_principals WHERE \
         is_fixed_role = 0 AND name NOT IN (N'public', N'dbo', N'guest', N'INFORMATION_SCHEMA', N'sys') ORDER BY 1, 2, 3"
    );
    let things = client.query_text_rows(&sql)?.into_iter().map(|row| {
        let [code, schema, name, parent] = first_columns(row);
        let kind = kind_word(&code);
        Thing { kind, schema, name, on: if kind == "TRIGGER" { parent } else { String::new() } }
    });
    Ok(things.collect())
}

/// The word after `DROP` for a type of object, or for what [`list_things`] calls it.
fn kind_word(code: &str) -> &'static str {
    match code {
        "U" => "TABLE",
        "V" => "VIEW",
        "P" | "PC" | "RF" | "X" => "PROCEDURE",
        "FN" | "IF" | "TF" | "FS" | "FT" => "FUNCTION",
        "AF" => "AGGREGATE",
        "TR" | "TA" => "TRIGGER",
        "SN" => "SYNONYM",
        "SO" => "SEQUENCE",
        "R" => "RULE",
        "D" => "DEFAULT",
        "SQ" => "QUEUE",
        "SP" => "SECURITY POLICY",
        "ET" => "EXTERNAL TABLE",
        "PG" => "PLAN GUIDE",
        "TYPE" => "TYPE",
        "DATABASE" => "DATABASE TRIGGER",
        "SCHEMA" => "SCHEMA",
        "ROLE" => "ROLE",
        "USER" => "USER",
        _ => "OBJECT",
    }
}

/// Lists all foreign keys of the session's database.
fn list_foreign_keys(client: &mut Client) -> Result<Vec<ForeignKey>, AskError> {
    let sql = "SELECT name, OBJECT_SCHEMA_NAME(parent_object_id), OBJECT_NAME(parent_object_id), \
               OBJECT_SCHEMA_NAME(referenced_object_id), OBJECT_NAME(referenced_object_id) FROM sys.foreign_keys ORDER BY name";
    let keys = client.query_text_rows(sql)?.into_iter().map(|row| {
        let [name, from_schema, from, to_schema, to] = first_columns(row);
        ForeignKey { name, from: (from_schema, from), to: (to_schema, to) }
    });
    Ok(keys.collect())
}

/// Lists what of others depends on étalon's things: foreign keys, and what is bound to their schema.
/// The latter is bound by `WITH SCHEMABINDING`, a check or a computed column.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-catalog-views/sys-sql-expression-dependencies-transact-sql>
fn list_dependents(client: &mut Client, own: &[Thing]) -> Result<Vec<Dependent>, AskError> {
    let is_own = |schema: &str, name: &str| own.iter().any(|thing| thing.is_called(schema, name));
    let keys = list_foreign_keys(client)?.into_iter().filter(|key| is_own(&key.to.0, &key.to.1));
    let of_others = keys.filter(|key| !is_own(&key.from.0, &key.from.1));
    let mut dependents: Vec<Dependent> = of_others
        .map(|ForeignKey { name, from: (schema, table), to }| Dependent {
            shown: format!("foreign key {name} of table {schema}.{table}"),
            on: to.1,
        })
        .collect();
    let bound = "SELECT DISTINCT RTRIM(o.type), OBJECT_SCHEMA_NAME(o.object_id), o.name, OBJECT_NAME(NULLIF(o.parent_object_id, 0)), \
                 OBJECT_SCHEMA_NAME(d.referenced_id), OBJECT_NAME(d.referenced_id) FROM sys.sql_expression_dependencies AS d JOIN \
                 sys.objects AS o ON o.object_id = d.referencing_id WHERE d.is_schema_bound_reference = 1 AND \
                 d.referenced_class = 1 ORDER BY 2, 3";
    let rows = match client.query_text_rows(bound) {
        // A login that does not own the database may not see them: then the server's refusal names one.
        Err(AskError::Server(_)) => Vec::new(),
        rows => rows?,
    };
    for row in rows {
        let [code, schema, name, parent, on_schema, on] = first_columns(row);
        let (kind, holder) = if parent.is_empty() { (kind_word(&code), &name) } else { ("TABLE", &parent) };
        if is_own(&on_schema, &on) && !is_own(&schema, holder) {
            dependents.push(Dependent { shown: format!("{} {schema}.{holder}", kind.to_lowercase()), on });
        }
    }
    Ok(dependents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_named_in_the_schema_of_étalon_s_own() {
        fn thing(schema: &str, name: &str) -> Thing {
            Thing { kind: "TABLE", schema: schema.to_owned(), name: name.to_owned(), on: String::new() }
        }
        let names = line_set("pgbench_accounts\nenter_order");
        assert!(thing("dbo", "PGBENCH_accounts").is_named(&names));
        assert!(!thing("hr", "pgbench_accounts").is_named(&names));
        assert_eq!(thing("dbo", "a]b").drop_statement(), "DROP TABLE IF EXISTS [dbo].[a]]b]");
        assert!(!Thing { kind: "USER", ..thing("", "monitor") }.is_droppable());
    }
}
