//! Where runs were made: the machine, the database, the device.
//!
//! Two systems are compared for their places, so a place is no key. Results of one case of one system that were made in different
//! places are no repetitions of each other.

use std::collections::{BTreeMap, BTreeSet};

use model::{Point, Value};

use crate::experiment::point_identity;
use crate::imported::UNKNOWN_BENCHMARK;
use crate::{Imported, ImportedResult};

/// Makes keys of the places that differ among the results of one case of a system: in that case, of every system.
pub fn tell_places_apart(imports: &mut [Imported]) {
    let mut of_systems: BTreeMap<(String, String), Vec<Point>> = BTreeMap::new();
    for result in imports.iter().flat_map(|import| &import.results) {
        of_systems.entry((result.system.clone(), case_text(result))).or_default().push(result.places.clone());
    }
    let mut apart: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ((_, case), places) in of_systems {
        let names: BTreeSet<&String> = places.iter().flat_map(Point::keys).collect();
        let differ = names.into_iter().filter(|name| places.iter().any(|one| one.get(*name) != places[0].get(*name)));
        apart.entry(case).or_default().extend(differ.cloned());
    }
    for import in imports {
        let mut named = BTreeSet::new();
        for result in import.results.iter_mut().filter(|result| result.benchmark != UNKNOWN_BENCHMARK) {
            for name in apart.get(&case_text(result)).into_iter().flatten() {
                named.insert(name.as_str());
                if let Some(place) = result.places.get(name) {
                    result.keys.entry(name.clone()).or_insert_with(|| place.clone());
                }
            }
        }
        import
            .notes
            .extend(named.into_iter().map(|name| format!("{name} differs among runs of one case: it is a key")));
    }
}

/// Makes a text that is the same for results of one case.
fn case_text(result: &ImportedResult) -> String {
    format!("{:?} {}", result.benchmark, point_identity(&result.keys))
}

/// Adds a place, if it is known, without users and passwords.
pub fn put_place(places: &mut Point, name: &str, place: Option<&str>) {
    let place = place.map(without_secrets).filter(|place| !place.is_empty());
    places.extend(place.map(|place| (name.to_owned(), Value::Text(place))));
}

/// Strips an address of users and passwords.
fn without_secrets(text: &str) -> String {
    const SECRET: [&str; 6] = ["user", "password", "pass", "pwd", "secret", "token"];
    let text = text.trim().trim_matches(['"', '\'']);
    let begin = text.find("://").map_or(0, |at| at + "://".len());
    let bare = match text.rfind('@') {
        Some(at) if at >= begin => format!("{}{}", &text[..begin], &text[at + 1..]),
        _ => text.to_owned(),
    };
    let parts = bare.split_inclusive(['?', '&', ';']);
    let is_secret = |part: &str| {
        let name = part.split('=').next().filter(|name| name.len() < part.len()).unwrap_or_default().to_lowercase();
        SECRET.iter().any(|secret| name.ends_with(secret))
    };
    parts.filter(|part| !is_secret(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_without_its_secrets() {
        for (text, kept) in [
            ("10.0.0.1", "10.0.0.1"),
            ("/home/user/a=b.dat", "/home/user/a=b.dat"),
            ("mongodb://me:secret@db:27017/y?w=0&password=x", "mongodb://db:27017/y?w=0&"),
            ("me:p@ss@tcp(db:3306)/y", "tcp(db:3306)/y"),
            ("jdbc:oracle:thin:me/secret@//db:1521/y", "//db:1521/y"),
            ("jdbc:sqlserver://db;user=me;password=x;databaseName=y", "jdbc:sqlserver://db;databaseName=y"),
        ] {
            assert_eq!(without_secrets(text), kept, "{text}");
        }
    }
}
