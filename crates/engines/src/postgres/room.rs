//! What lies in étalon's schema: its own things, whose names the schema's comment lists, and those of others.
//!
//! Étalon drops its own by name, a table of a data set only while it is the one that étalon made, and never with `CASCADE`. What others built on them, or put next to them, stays and is named.
//! Columns, indexes, constraints and the sequences of `serial` columns of a table are parts of it and go with it, and so do
//! statistics in the schema.

use std::collections::{BTreeMap, BTreeSet};

use super::SCHEMA;
use crate::owner::{self, MARKER};
use crate::postgres::lane::{AskError, Client, quote_text};
use crate::server::dialogue::first_columns;
use crate::server::refusal::failing_to;
use load::error::{Failure, FailureKind};

/// Selects the things of the schema that are étalon's to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those in the comment's list.
    Names,
    /// All: the server is étalon's own, or the user allows it.
    Schema,
}

/// Something with a name of its own in the schema.
struct Thing {
    /// PostgreSQL's word for it: `table`, `materialized view`, `function`.
    kind: String,
    /// Its name with schema and arguments, quoted.
    identity: String,
    class: String,
    oid: String,
}

impl Thing {
    /// Writes the thing's kind and name.
    fn description(&self) -> String {
        format!("{} {}", self.kind, self.identity)
    }

    /// Returns the thing's name without schema, arguments and quotes.
    fn name(&self) -> &str {
        let name = self.identity.strip_prefix(SCHEMA).and_then(|rest| rest.strip_prefix('.')).unwrap_or(&self.identity);
        name.split('(').next().unwrap_or(name).trim_matches('"')
    }

    /// Tests whether it has one of these names, quoted or to be put into small letters, as statements wrote them.
    fn is_named(&self, names: &BTreeSet<String>) -> bool {
        names.iter().any(|name| name == self.name() || name.to_lowercase() == self.name())
    }

    /// Tests whether it is one of the things that the comment lists, and not another by the same name.
    fn is_listed(&self, listed: &Listed) -> bool {
        listed.iter().any(|(name, oid)| {
            let is_alike = name == self.name() || name.to_lowercase() == self.name();
            is_alike && oid.as_ref().is_none_or(|oid| self.kind == "table" && *oid == self.oid)
        })
    }

    /// Writes the statement that drops the thing.
    fn drop_statement(&self) -> String {
        let kind = match self.kind.as_str() {
            "composite type" => "type",
            kind => kind,
        };
        format!("DROP {} {}", kind.to_uppercase(), self.identity)
    }
}

/// Something of others that would go with one of étalon's things, or keeps it from going.
struct Dependent {
    shown: String,
    /// The thing of étalon's that it needs.
    on: String,
    on_oid: String,
}

/// Things of étalon's and of others.
pub(super) struct Room {
    own: Vec<Thing>,
    others: Vec<Thing>,
    dependents: Vec<Dependent>,
}

/// Names that a schema's comment lists, with the server's number of a table that no statement of the user's makes again.
type Listed = BTreeMap<String, Option<String>>;

/// Writes the comment of a schema with these things of étalon's.
fn schema_comment(listed: &Listed) -> String {
    // A name with a line's end or a tab is not étalon's.
    let lines = listed.iter().filter(|(name, _)| !name.contains(['\n', '\t'])).map(|(name, oid)| match oid {
        Some(oid) => format!("\n{name}\t{oid}"),
        None => format!("\n{name}"),
    });
    std::iter::once(MARKER.to_owned()).chain(lines).collect()
}

/// Parses which things a schema's comment lists; none if the comment is not étalon's.
fn parse_listed(comment: &str) -> Listed {
    if !comment.starts_with(MARKER) {
        return Listed::new();
    }
    let lines = comment.lines().skip(1).map(|line| match line.split_once('\t') {
        Some((name, oid)) => (name.to_owned(), Some(oid.to_owned())),
        None => (line.to_owned(), None),
    });
    lines.collect()
}

/// Adds the name of a thing that étalon makes to the schema's comment.
pub(super) fn note_thing(client: &mut Client, name: &str) -> Result<(), AskError> {
    let mut listed = parse_listed(&read_comment(client)?);
    listed.insert(name.to_owned(), None);
    write_listed(client, &listed)
}

/// Adds the numbers of these tables to the schema's comment: another of the same name is not étalon's.
pub(super) fn note_numbers(client: &mut Client, tables: &BTreeSet<String>) -> Result<(), AskError> {
    let mut listed = parse_listed(&read_comment(client)?);
    for thing in list_things(client)?.into_iter().filter(|thing| thing.kind == "table") {
        for (name, oid) in listed.iter_mut().filter(|(name, _)| tables.contains(*name)) {
            if thing.is_named(&BTreeSet::from([name.clone()])) {
                *oid = Some(thing.oid.clone());
            }
        }
    }
    write_listed(client, &listed)
}

/// Sets the schema's comment to a list of these names.
pub(super) fn write_comment(client: &mut Client, names: &BTreeSet<String>) -> Result<(), AskError> {
    write_listed(client, &names.iter().map(|name| (name.clone(), None)).collect())
}

/// Sets the schema's comment to this list of things.
fn write_listed(client: &mut Client, listed: &Listed) -> Result<(), AskError> {
    client.execute(&format!("COMMENT ON SCHEMA {SCHEMA} IS {}", quote_text(&schema_comment(listed))))
}

/// Reads the comment of étalon's schema.
fn read_comment(client: &mut Client) -> Result<String, AskError> {
    client.query_first_value(&format!(
        "SELECT coalesce(pg_catalog.obj_description(pg_catalog.to_regnamespace('{SCHEMA}'), 'pg_namespace'), '')"
    ))
}

/// Everything with a name of its own in the schema; members of extensions, types of tables and sequences of columns are not.
const THINGS: &str = "SELECT i.type, i.identity, d.classid::bigint, d.objid::bigint FROM pg_catalog.pg_depend d, LATERAL \
    pg_catalog.pg_identify_object(d.classid, d.objid, 0) i WHERE d.refclassid = 'pg_catalog.pg_namespace'::regclass AND \
    d.refobjid = pg_catalog.to_regnamespace('etalon') AND d.deptype IN ('n', 'a') AND NOT EXISTS (SELECT FROM \
    pg_catalog.pg_depend o WHERE o.classid = d.classid AND o.objid = d.objid AND (o.deptype IN ('e', 'i') OR o.deptype = 'a' AND \
    o.refclassid = 'pg_catalog.pg_class'::regclass)) ORDER BY 1, 2";

/// Splits things into étalon's own and those of others.
/// Étalon makes no two things of one name, so that a function with the name of a table is not its own.
fn split_by_owner(things: Vec<Thing>, listed: &Listed) -> (Vec<Thing>, Vec<Thing>) {
    let tables = things.iter().filter(|thing| thing.kind == "table").map(|thing| thing.name().to_owned());
    let tables: BTreeSet<String> = tables.collect();
    things.into_iter().partition(|thing| {
        let is_alike = thing.kind != "table" && tables.contains(thing.name());
        thing.is_listed(listed) && !is_alike
    })
}

impl Room {
    /// Lists the things in étalon's schema, its own and others', and what depends on its own.
    /// In a transaction, étalon's tables are locked from then on, so that nothing more is built on them.
    pub(super) fn inspect(client: &mut Client, reach: Reach) -> Result<Room, AskError> {
        let listed = parse_listed(&read_comment(client)?);
        let things = list_things(client)?;
        let (own, others) = match reach {
            Reach::Schema => (things, Vec::new()),
            Reach::Names => split_by_owner(things, &listed),
        };
        let tables: Vec<&str> =
            own.iter().filter(|thing| thing.kind == "table").map(|thing| thing.identity.as_str()).collect();
        if !tables.is_empty() {
            client.execute(&format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", tables.join(", ")))?;
        }
        let dependents = list_dependents(client, &own, &listed)?;
        Ok(Room { own, others, dependents })
    }

    /// Fails if something of others needs étalon's things, which it has to make again.
    pub(super) fn refuse_dependents(&self) -> Result<(), Failure> {
        let needs: Vec<String> =
            self.dependents.iter().map(|one| format!("{} depends on {}", one.shown, one.on)).collect();
        owner::refuse_dependents(&format!("the schema `{SCHEMA}`"), &needs)
    }

    /// Fails if things of others have these names.
    pub(super) fn refuse_taken(&self, names: &BTreeSet<String>) -> Result<(), Failure> {
        let taken: Vec<String> =
            self.others.iter().filter(|thing| thing.is_named(names)).map(Thing::description).collect();
        owner::refuse_taken(&format!("the schema `{SCHEMA}`"), &taken)
    }

    /// Drops étalon's things but those that something of others needs. Returns whether any are left.
    pub(super) fn drop_own_things(&self, client: &mut Client) -> Result<bool, AskError> {
        let mut left: Vec<&Thing> =
            self.own.iter().filter(|thing| !self.dependents.iter().any(|one| one.on_oid == thing.oid)).collect();
        let is_bound = left.len() < self.own.len();
        let tables: Vec<&str> =
            left.iter().filter(|thing| thing.kind == "table").map(|thing| thing.identity.as_str()).collect();
        // Tables may refer to each other.
        if tables.len() > 1 && try_in_savepoint(client, &format!("DROP TABLE {}", tables.join(", ")))?.is_none() {
            left.retain(|thing| thing.kind != "table");
        }
        match owner::drop_in_turn(left, |thing| try_in_savepoint(client, &thing.drop_statement()))? {
            // What is still needed may be needed by what others made in this moment, or by what stays because of it.
            (_, Some(refused)) if !is_bound => Err(refused),
            _ => Ok(is_bound),
        }
    }

    /// Tests whether others have things in the schema.
    pub(super) fn is_shared(&self) -> bool {
        !self.others.is_empty()
    }

    /// Fails if something stays in the schema that étalon did not make, and names it.
    pub(super) fn refuse_leftovers_of_others(&self) -> Result<(), Failure> {
        let next_to_it = self.others.iter().map(Thing::description);
        let bound = self.dependents.iter().map(|one| format!("{}, which needs {}", one.shown, one.on));
        let left: Vec<String> = next_to_it.chain(bound).collect();
        if left.is_empty() {
            return Ok(());
        }
        let tried = format!("remove the schema `{SCHEMA}`");
        Err(Failure::new(
            FailureKind::NotOurs,
            tried,
            format!("it stays with what étalon did not make: {}", left.join("; ")),
        ))
    }
}

/// Runs a statement in a transaction, and undoes it if refused. `Some`: how the server refused it.
fn try_in_savepoint(client: &mut Client, sql: &str) -> Result<Option<AskError>, AskError> {
    client.execute("SAVEPOINT etalon_drop")?;
    match client.execute(sql) {
        Ok(()) => client.execute("RELEASE SAVEPOINT etalon_drop").map(|()| None),
        Err(error @ AskError::Server(_)) => client.execute("ROLLBACK TO SAVEPOINT etalon_drop").map(|()| Some(error)),
        Err(error) => Err(error),
    }
}

/// Lists the things in étalon's schema.
fn list_things(client: &mut Client) -> Result<Vec<Thing>, AskError> {
    let things = client.query_text_rows(THINGS)?.into_iter().map(|row| {
        let [kind, identity, class, oid] = first_columns(row);
        Thing { kind, identity, class, oid }
    });
    Ok(things.collect())
}

/// Lists what others built on these things, directly.
/// A part of a thing is an index, a type of its rows, a default, a constraint of its own, a sequence of one of its defaults, a
/// statistics object in the schema, a member of an extension, an entry of an operator class (which is a thing itself), or a trigger whose name is étalon's.
fn list_dependents(client: &mut Client, own: &[Thing], listed: &Listed) -> Result<Vec<Dependent>, AskError> {
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let classes = own.iter().map(|thing| thing.class.as_str()).collect::<Vec<_>>().join(", ");
    let oids = own.iter().map(|thing| thing.oid.as_str()).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = listed.keys().map(|name| quote_text(&name.to_lowercase())).collect();
    let names = if names.is_empty() { "NULL".to_owned() } else { names.join(", ") };
    let sql = format!(
        "WITH RECURSIVE part(own, classid, objid) AS (SELECT o, c, o FROM unnest(ARRAY[{classes}]::oid[], \
         ARRAY[{oids}]::oid[]) AS t(c, o) UNION SELECT p.own, d.classid, d.objid FROM part p JOIN pg_catalog.pg_depend d ON \
         d.refclassid = p.classid AND d.refobjid = p.objid WHERE d.deptype IN ('i', 'e', 'P', 'S') OR d.classid IN \
         ('pg_catalog.pg_amop'::regclass, 'pg_catalog.pg_amproc'::regclass) OR d.deptype = 'a' AND d.classid = \
         'pg_catalog.pg_rewrite'::regclass AND EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = p.classid AND \
         e.objid = p.objid AND e.deptype = 'e') OR d.deptype = 'a' AND \
         (d.classid IN ('pg_catalog.pg_attrdef'::regclass, 'pg_catalog.pg_constraint'::regclass) OR d.classid = \
         'pg_catalog.pg_statistic_ext'::regclass AND EXISTS (SELECT FROM pg_catalog.pg_statistic_ext x WHERE x.oid = d.objid AND \
         x.stxnamespace = pg_catalog.to_regnamespace('{SCHEMA}')) OR d.classid = 'pg_catalog.pg_class'::regclass AND EXISTS \
         (SELECT FROM pg_catalog.pg_class c WHERE c.oid = d.objid AND (c.relkind IN ('i', 'I', 't') OR c.relkind = 'S' AND EXISTS \
         (SELECT FROM pg_catalog.pg_depend u JOIN pg_catalog.pg_attrdef f ON u.classid = 'pg_catalog.pg_attrdef'::regclass AND \
         u.objid = f.oid WHERE u.refclassid = 'pg_catalog.pg_class'::regclass AND u.refobjid = c.oid AND f.adrelid = p.objid)))) OR d.classid = \
         'pg_catalog.pg_trigger'::regclass AND EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.oid = d.objid AND \
         lower(t.tgname) IN ({names})) OR d.classid = 'pg_catalog.pg_rewrite'::regclass AND EXISTS (SELECT FROM \
         pg_catalog.pg_rewrite r WHERE r.oid = d.objid AND lower(r.rulename) IN ({names}))) \
         SELECT DISTINCT i.type || ' ' || i.identity, o.type || ' ' || o.identity, p.own::bigint FROM part p JOIN \
         pg_catalog.pg_depend d ON d.refclassid = p.classid AND d.refobjid = p.objid LEFT JOIN pg_catalog.pg_rewrite r ON \
         d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid AND r.rulename = '_RETURN', LATERAL \
         pg_catalog.pg_identify_object(CASE WHEN r.oid IS NULL THEN d.classid ELSE 'pg_catalog.pg_class'::regclass END, \
         coalesce(r.ev_class, d.objid), CASE WHEN r.oid IS NULL THEN d.objsubid ELSE 0 END) i, LATERAL \
         pg_catalog.pg_identify_object((SELECT s.classid FROM part s WHERE s.objid = p.own AND s.own = p.own LIMIT 1), p.own, \
         0) o WHERE NOT EXISTS (SELECT FROM part q WHERE q.classid = d.classid AND q.objid = d.objid) ORDER BY 1, 2"
    );
    let dependents = client.query_text_rows(&sql)?.into_iter().map(|row| {
        let [shown, on, on_oid] = first_columns(row);
        Dependent { shown, on, on_oid }
    });
    Ok(dependents.collect())
}

/// Lists things in étalon's database that are neither its own nor those that it was made with.
pub(super) fn foreign_things(client: &mut Client, known: &BTreeSet<String>) -> Result<Vec<String>, Failure> {
    let tried = "look at what is in étalon's database";
    let listed = parse_listed(&read_comment(client).map_err(failing_to(tried))?);
    let (_, others) = split_by_owner(list_things(client).map_err(failing_to(tried))?, &listed);
    let inside: Vec<String> = others.iter().map(Thing::description).collect();
    let outside =
        things_outside_schema(client).map_err(failing_to(tried))?.into_iter().filter(|thing| !known.contains(thing));
    Ok(inside.into_iter().chain(outside).collect())
}

/// Kinds of things that users make in a database: the class by which the server identifies one, the catalog that lists them, the
/// column of their schema, and which of them count.
const CATALOGS: [(&str, &str, &str, &str); 25] = [
    ("pg_class", "pg_class", "relnamespace", "relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')"),
    ("pg_proc", "pg_proc", "pronamespace", "true"),
    ("pg_type", "pg_type", "typnamespace", "typtype IN ('e', 'd', 'r')"),
    ("pg_namespace", "pg_namespace", "oid", "nspname !~ '^pg_(temp|toast)'"),
    ("pg_extension", "pg_extension", "0", "true"),
    ("pg_publication", "pg_publication", "0", "true"),
    ("pg_event_trigger", "pg_event_trigger", "0", "true"),
    ("pg_largeobject", "pg_largeobject_metadata", "0", "true"),
    ("pg_foreign_data_wrapper", "pg_foreign_data_wrapper", "0", "true"),
    ("pg_foreign_server", "pg_foreign_server", "0", "true"),
    ("pg_collation", "pg_collation", "collnamespace", "true"),
    ("pg_ts_config", "pg_ts_config", "cfgnamespace", "true"),
    ("pg_ts_dict", "pg_ts_dict", "dictnamespace", "true"),
    ("pg_operator", "pg_operator", "oprnamespace", "true"),
    ("pg_cast", "pg_cast", "0", "true"),
    ("pg_default_acl", "pg_default_acl", "defaclnamespace", "true"),
    ("pg_statistic_ext", "pg_statistic_ext", "stxnamespace", "true"),
    ("pg_conversion", "pg_conversion", "connamespace", "true"),
    ("pg_opfamily", "pg_opfamily", "opfnamespace", "true"),
    ("pg_opclass", "pg_opclass", "opcnamespace", "true"),
    ("pg_ts_parser", "pg_ts_parser", "prsnamespace", "true"),
    ("pg_ts_template", "pg_ts_template", "tmplnamespace", "true"),
    ("pg_am", "pg_am", "0", "true"),
    ("pg_language", "pg_language", "0", "true"),
    ("pg_transform", "pg_transform", "0", "true"),
];

/// Lists things of users in a database, other than those in étalon's schema.
pub(super) fn things_outside_schema(client: &mut Client) -> Result<BTreeSet<String>, AskError> {
    // Numbers below 16,384 are those of the server's own things; a large object may have any.
    let catalogs: Vec<String> = CATALOGS
        .iter()
        .map(|(class, from, schema, only)| {
            format!(
                "SELECT 'pg_catalog.{class}'::regclass::oid, oid, {schema}::oid FROM pg_catalog.{from} WHERE {only}"
            )
        })
        .collect();
    let sql = format!(
        "SELECT DISTINCT i.type || ' ' || i.identity FROM ({}) AS t(c, o, n), LATERAL pg_catalog.pg_identify_object(t.c, t.o, 0) i \
         WHERE (t.o >= 16384 OR t.c = 'pg_catalog.pg_largeobject'::regclass) AND t.n IS DISTINCT FROM pg_catalog.to_regnamespace('etalon')::oid AND NOT EXISTS (SELECT FROM \
         pg_catalog.pg_depend e WHERE e.classid = t.c AND e.objid = t.o AND e.deptype IN ('e', 'i')) ORDER BY 1",
        catalogs.join(" UNION ALL ")
    );
    let rows = client.query_text_rows(&sql)?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_list_names_and_others_list_none() {
        let listed: Listed = [("a".to_owned(), None), ("B c".to_owned(), Some("16385".to_owned()))].into();
        assert_eq!(parse_listed(&schema_comment(&listed)), listed);
        assert_eq!(parse_listed(MARKER), Listed::new(), "of an étalon that listed none");
        assert_eq!(parse_listed("mine\na"), Listed::new());
        assert_eq!(thing("function", "etalon.f(integer,text)").name(), "f");
        assert_eq!(thing("function", "etalon.\"F\"").name(), "F");
        assert_eq!(thing("function", "postgis").name(), "postgis");
    }

    fn thing(kind: &str, identity: &str) -> Thing {
        Thing { kind: kind.to_owned(), identity: identity.to_owned(), class: String::new(), oid: String::new() }
    }

    fn shown(things: &[Thing]) -> String {
        things.iter().map(Thing::description).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn things_with_names_alike_are_others() {
        let listed: Listed =
            ["pgbench_accounts", "TIO", "Quoted", "pay"].map(|name| (name.to_owned(), None)).into_iter().collect();
        let (own, others) = split_by_owner(
            vec![
                thing("table", "etalon.pgbench_accounts"),
                thing("function", "etalon.pgbench_accounts()"),
                thing("table", "etalon.\"PGBENCH_ACCOUNTS\""),
                thing("table", "etalon.tio"),
                thing("view", "etalon.\"Quoted\""),
                thing("function", "etalon.pay(integer)"),
                thing("table", "etalon.notes"),
            ],
            &listed,
        );
        assert_eq!(
            shown(&own),
            "table etalon.pgbench_accounts; table etalon.tio; view etalon.\"Quoted\"; function etalon.pay(integer)"
        );
        assert_eq!(
            shown(&others),
            "function etalon.pgbench_accounts(); table etalon.\"PGBENCH_ACCOUNTS\"; table etalon.notes"
        );
    }
}
