//! What lies in the database, as far as étalon asks for it: objects, foreign keys, what is bound, and étalon's marker.

use super::{Database, tokens};

/// An object of a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// The type in `sys.objects`: `U`, `V`, `P`, `TR`.
    pub code: &'static str,
    pub schema: String,
    pub name: String,
    /// The table that a trigger is on.
    pub on: String,
    /// A foreign key, and the table in `dbo` that it refers to.
    pub refers: Option<(String, String)>,
    /// What in `dbo` it is bound to by `WITH SCHEMABINDING`.
    pub bound_to: Option<String>,
}

impl Object {
    pub fn new(code: &'static str, schema: &str, name: &str) -> Object {
        Object { code, schema: schema.to_owned(), name: name.to_owned(), ..Object::default() }
    }

    fn is(&self, schema: &str, name: &str) -> bool {
        self.schema == schema && self.name == name
    }
}

/// The marker's columns after `said`; one of an older étalon has none.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub made: String,
    pub found: String,
}

const MARKER: &str = "[etalon].dbo.etalon_marker";

/// `None`: it is about something else.
pub(super) fn answer(database: &mut Database, sql: &str) -> Option<Vec<u8>> {
    asked_of_marker(database, sql).or_else(|| asked_of_catalog(database, sql)).or_else(|| changed(database, sql))
}

fn asked_of_marker(database: &mut Database, sql: &str) -> Option<Vec<u8>> {
    if !sql.contains("etalon_marker") {
        return None;
    }
    let mut texts = literals(sql).into_iter();
    if sql == format!("SELECT said FROM {MARKER}") {
        return Some(tokens::result(&[""], &[&[Some(database.marker.as_deref().unwrap_or_default())]]));
    } else if sql == format!("SELECT made, found FROM {MARKER}") {
        let Some(Lists { made, found }) = &database.lists else { return Some(refused(207, "Invalid column name.")) };
        return Some(tokens::result(&["made", "found"], &[&[Some(made.as_str()), Some(found.as_str())]]));
    } else if sql.starts_with("DROP TABLE") {
        (database.marker, database.lists) = (None, None);
    } else if sql.starts_with("CREATE TABLE") {
        database.lists = Some(Lists::default());
    } else if sql.starts_with("INSERT INTO") {
        let lists = database.lists.as_mut().expect("the marker is there");
        database.marker = texts.next();
        (lists.made, lists.found) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
    } else if sql.starts_with("UPDATE") {
        let Some(lists) = &mut database.lists else { return Some(refused(207, "Invalid column name.")) };
        lists.made = texts.next().unwrap_or_default();
    } else {
        return None;
    }
    Some(tokens::touched(1))
}

fn asked_of_catalog(database: &Database, sql: &str) -> Option<Vec<u8>> {
    if sql.starts_with("SELECT RTRIM(o.type), s.name") {
        let rows = database.objects.iter().map(|one| vec![one.code, &one.schema, &one.name, &one.on]);
        return Some(rows_of(4, rows.collect()));
    } else if sql.contains("FROM sys.foreign_keys") {
        let rows = database.objects.iter().filter_map(|one| {
            let (key, to) = one.refers.as_ref()?;
            Some(vec![key.as_str(), &one.schema, &one.name, "dbo", to])
        });
        return Some(rows_of(5, rows.collect()));
    } else if sql.contains("FROM sys.sql_expression_dependencies") {
        let rows = database.objects.iter().filter_map(|one| {
            let on = one.bound_to.as_ref()?;
            Some(vec![one.code, &one.schema, &one.name, "", "dbo", on])
        });
        return Some(rows_of(6, rows.collect()));
    } else if sql.contains("sys.objects WHERE is_ms_shipped") {
        return Some(rows_of(1, vec![vec![database.objects.len().to_string().as_str()]]));
    }
    None
}

fn rows_of(columns: usize, rows: Vec<Vec<&str>>) -> Vec<u8> {
    let rows: Vec<Vec<Option<&str>>> = rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect();
    let rows: Vec<&[Option<&str>]> = rows.iter().map(Vec::as_slice).collect();
    tokens::result(&["a", "b", "c", "d", "e", "f"][..columns], &rows)
}

fn changed(database: &mut Database, sql: &str) -> Option<Vec<u8>> {
    let mut words = sql.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let (verb, kind) = (words.next()?, words.next()?);
    let code = match kind {
        "TABLE" => "U",
        "VIEW" => "V",
        "PROCEDURE" => "P",
        "TRIGGER" => "TR",
        _ => return None,
    };
    match verb {
        "CREATE" => {
            let (schema, name) = place_of(words.next()?);
            if database.objects.iter().any(|one| one.is(&schema, &name)) {
                return Some(refused(2714, &format!("There is already an object named '{name}' in the database.")));
            }
            database.objects.push(Object::new(code, &schema, &name));
            // The tables' columns are kept elsewhere.
            None
        }
        "DROP" => {
            let name = words.find(|word| !["IF", "EXISTS"].contains(word))?;
            Some(drop_object(database, &place_of(name)))
        }
        "ALTER" => {
            let (schema, name) = place_of(words.next()?);
            let of_table = database.objects.iter_mut().filter(|one| one.is(&schema, &name));
            if sql.contains(" DROP CONSTRAINT ") {
                of_table.for_each(|one| one.refers = None);
            }
            Some(tokens::touched(0))
        }
        _ => None,
    }
}

fn drop_object(database: &mut Database, (schema, name): &(String, String)) -> Vec<u8> {
    let needs = |one: &Object, by: Option<&String>| schema == "dbo" && by == Some(name) && !one.is(schema, name);
    let is_referred = |one: &Object| needs(one, one.refers.as_ref().map(|(_, table)| table));
    if database.objects.iter().any(is_referred) {
        return refused(3726, "Could not drop object because it is referenced by a FOREIGN KEY constraint.");
    }
    if database.objects.iter().any(|one| needs(one, one.bound_to.as_ref())) {
        return refused(3729, "Cannot DROP TABLE because it is being referenced by an object.");
    }
    let goes = |one: &Object| one.is(schema, name) || one.code == "TR" && one.is_on(schema, name);
    database.objects.retain(|one| !goes(one));
    if schema == "dbo" {
        database.tables.remove(name);
        database.copied.remove(name);
        database.sums.remove(name);
    }
    tokens::touched(0)
}

impl Object {
    fn is_on(&self, schema: &str, table: &str) -> bool {
        self.schema == schema && self.on == table
    }
}

fn refused(number: i32, text: &str) -> Vec<u8> {
    [tokens::message(0xaa, number, 1, 16, text), tokens::done(0xfd, 2, 0)].concat()
}

/// Schema and name.
fn place_of(name: &str) -> (String, String) {
    let mut parts = name.rsplit('.').map(|part| part.trim_matches(['[', ']']).to_owned());
    let name = parts.next().unwrap_or_default();
    (parts.next().unwrap_or_else(|| "dbo".to_owned()), name)
}

/// The texts in `N'…'`.
fn literals(sql: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = sql;
    while let Some((_, after)) = rest.split_once("N'") {
        let mut text = String::new();
        let mut chars = after.char_indices().peekable();
        let mut end = after.len();
        while let Some((at, c)) = chars.next() {
            if c == '\'' && chars.next_if(|(_, next)| *next == '\'').is_none() {
                end = at + 1;
                break;
            }
            text.push(c);
        }
        texts.push(text);
        rest = &after[end..];
    }
    texts
}
