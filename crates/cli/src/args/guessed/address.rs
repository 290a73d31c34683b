//! Systems as users of other tools write them, rewritten as étalon takes them.

use std::path::Path;

use conductor::Registry;
use formats::reader::SQLITE;

use crate::results::is_store;

/// Schemes of URLs that other tools take, and that of étalon.
const SCHEMES: [(&[&str], &str); 2] = [
    (&["pg", "pgsql", "psql", "postgre", "jdbc:postgresql", "postgresql+psycopg2", "postgresql+psycopg"], "postgres"),
    (&["maria", "mysql2", "jdbc:mysql", "jdbc:mariadb", "mysql+pymysql", "mysqlx"], "mysql"),
];

/// Writes a system of another tool's words as étalon takes it: an SQLite file, a connection string of libpq, another scheme.
/// Any other word stays as it is.
pub fn as_system(word: &str) -> String {
    if let Some(url) = url_of_address(word) {
        return url;
    }
    let (label, place) = match word.split_once('=') {
        Some((label, place)) if !Path::new(word).exists() && !label.contains([':', '/']) => {
            (format!("{label}="), place)
        }
        _ => (String::new(), word),
    };
    if let Some(url) = url_of_address(place).or_else(|| with_known_scheme(place)) {
        return format!("{label}{url}");
    }
    if is_sqlite(place) { format!("{label}sqlite:{place}") } else { word.to_owned() }
}

/// Converts a connection string that a database's own clients take to a URL; `None` for any other word.
pub fn url_of_address(word: &str) -> Option<String> {
    Registry::built_in().catalog().url_of_address(word).map(|url| with_usual_parts(&url))
}

/// Moves host, port, user, password and database of a URL's options, as in `postgres:///?host=h&dbname=d`, to its usual parts.
fn with_usual_parts(url: &str) -> String {
    let Some((scheme, query)) = url.split_once(":///?") else { return url.to_owned() };
    let mut options: Vec<(&str, &str)> = query.split('&').filter_map(|option| option.split_once('=')).collect();
    let mut take = |name: &str| {
        let found = options.iter().position(|(known, value)| *known == name && !value.is_empty());
        found.map(|at| options.remove(at).1)
    };
    let Some(host) = take("host").filter(|host| !host.contains(['/', '%', ','])) else { return url.to_owned() };
    let port = take("port").map_or_else(String::new, |port| format!(":{port}"));
    let database = take("dbname").unwrap_or_default();
    let login = match (take("user"), take("password")) {
        (None, _) => String::new(),
        (Some(user), None) => format!("{user}@"),
        (Some(user), Some(password)) => format!("{user}:{password}@"),
    };
    let rest = options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
    let rest = if rest.is_empty() { rest } else { format!("?{rest}") };
    format!("{scheme}://{login}{host}{port}/{database}{rest}")
}

/// Rewrites a URL whose scheme only other tools know.
pub fn with_known_scheme(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (_, known) = SCHEMES.iter().find(|(others, _)| others.contains(&scheme.to_ascii_lowercase().as_str()))?;
    Some(format!("{known}://{rest}"))
}

/// Whether a word can only be a system: a URL or a connection string.
pub fn is_url(word: &str) -> bool {
    word.contains("://") || word.starts_with("sqlite:") || url_of_address(word).is_some()
}

/// Whether a path is a database of SQLite, by its contents or its name, and no store.
pub fn is_sqlite(place: &str) -> bool {
    let path = Path::new(place);
    if place.contains(':') || is_store(place) || path.is_dir() {
        return false;
    }
    if path.is_file() {
        return has_sqlite_magic(path);
    }
    path.extension().is_some_and(|ending| ["db", "db3", "sqlite", "sqlite3"].iter().any(|known| ending == *known))
}

/// Whether a file begins as SQLite's do, be it a store or another database.
pub fn has_sqlite_magic(path: &Path) -> bool {
    use std::io::Read as _;
    let mut bytes = [0; SQLITE.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.is_ok() && bytes == SQLITE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_strings_and_other_schemes_become_urls() {
        for (word, url) in [
            ("host=127.0.0.1 port=5433 user=me dbname=db1", "postgres://me@127.0.0.1:5433/db1"),
            ("host=h user=me password=x dbname=d sslmode=require", "postgres://me:x@h/d?sslmode=require"),
            ("old=pg://me@h/d", "old=postgres://me@h/d"),
            ("maria://me@h/d", "mysql://me@h/d"),
            ("a=a.db", "a=sqlite:a.db"),
            ("postgres://h/d", "postgres://h/d"),
        ] {
            assert_eq!(as_system(word), url, "{word}");
        }
        assert!(as_system("host=/tmp user=me dbname=d").starts_with("postgres:///?"));
    }
}
