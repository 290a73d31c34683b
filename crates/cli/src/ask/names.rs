//! Names for systems that have none: short ones that distinguish the sides.

use model::Catalog;
use model::catalog::OwnSystem;
use model::plan::{ENV_PREFIX, MASK, percent_decode, redact_url, without_password};

use super::words::SystemWord;

/// What a name may be made of. None of it holds a password.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// What it is: `postgres`.
    what: String,
    /// The release that was asked for.
    asked: Option<String>,
    /// The release that is there.
    found: Option<String>,
    host: String,
    port: String,
    database: String,
    user: String,
    /// Options of the URL, a word each; of several systems those in which they differ.
    options: Vec<String>,
    /// The folders and the file of a path, without its ending.
    path: Vec<String>,
}

/// Gives each system a name: its label, else one made of what distinguishes it from the others.
/// `found` looks for the release of a private server, by the engine's word and the release that was asked for.
pub fn assign_names(
    systems: &[SystemWord],
    catalog: &Catalog,
    found: impl Fn(&str, Option<&str>) -> Option<String>,
) -> Vec<String> {
    let mut parts: Vec<Parts> = systems.iter().map(|system| name_parts(&system.place, catalog, &found)).collect();
    keep_differing_options(&mut parts);
    let free: Vec<usize> = (0..systems.len()).filter(|at| systems[*at].label.is_none()).collect();
    let labels: Vec<&str> = systems.iter().filter_map(|system| system.label.as_deref()).collect();
    let whats: Vec<String> = free.iter().map(|at| parts[*at].what.clone()).collect();
    // `postgres` next to `postgres-18` says too little.
    let first = if all_differ(&whats, &labels) { 0 } else { 1 };
    let names = (first..=Parts::LAST)
        .map(|level| free.iter().map(|at| parts[*at].name_at(level)).collect::<Vec<String>>())
        .find(|names| {
            all_differ(names, &labels) && names.iter().zip(&free).all(|(name, at)| parts[*at].has_short(name))
        });
    let names = names.unwrap_or_else(|| number_names(&whats, &labels));
    let mut names = names.into_iter();
    systems.iter().map(|system| system.label.clone().or_else(|| names.next()).unwrap_or_default()).collect()
}

/// Tests whether no name is empty, and all names and labels differ.
fn all_differ(names: &[String], labels: &[&str]) -> bool {
    let mut all: Vec<&str> = names.iter().map(String::as_str).chain(labels.iter().copied()).collect();
    all.sort_unstable();
    !names.iter().any(String::is_empty) && all.windows(2).all(|pair| pair[0] != pair[1])
}

/// Numbers every name, so that it is equal to no other and no label.
fn number_names(whats: &[String], labels: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for what in whats {
        let free = (1..)
            .map(|number| format!("{what}-{number}"))
            .find(|name| !names.contains(name) && !labels.contains(&name.as_str()));
        names.extend(free);
    }
    names
}

/// Longest name that is made of a URL; longer ones are numbers.
const LONGEST: usize = 32;

/// Leaves out the options that all systems have that have any.
fn keep_differing_options(parts: &mut [Parts]) {
    let with_options: Vec<&Parts> = parts.iter().filter(|part| !part.options.is_empty()).collect();
    let Some((first, others)) = with_options.split_first() else { return };
    let is_shared = |option: &&String| others.iter().all(|other| other.options.contains(option));
    let shared: Vec<String> = first.options.iter().filter(is_shared).cloned().collect();
    if others.is_empty() {
        return;
    }
    parts.iter_mut().for_each(|part| part.options.retain(|option| !shared.contains(option)));
}

impl Parts {
    const LAST: usize = 10;

    /// Tests whether a name is short enough; one of a path is as long as its folders are.
    fn has_short(&self, name: &str) -> bool {
        !self.path.is_empty() || name.chars().count() <= LONGEST
    }

    /// Makes the name on a level, from short and rough to long and exact.
    fn name_at(&self, level: usize) -> String {
        let what = self.what.as_str();
        if !self.path.is_empty() {
            let depth = level.min(self.path.len());
            let last: Vec<&str> = self.path[self.path.len() - depth..].iter().map(String::as_str).collect();
            return if level == 0 { what.to_owned() } else { join_parts(&last) };
        }
        let release = match level {
            0 => self.asked.as_deref(),
            _ => self.found.as_deref().or(self.asked.as_deref()),
        };
        if let Some(release) = release {
            return join_parts(&[what, release]);
        }
        let short = self.host.split('.').next().filter(|first| first.parse::<u8>().is_err());
        let (host, short) = (self.host.as_str(), short.unwrap_or(&self.host));
        match level {
            0 => what.to_owned(),
            1 => {
                if short.is_empty() {
                    what.to_owned()
                } else {
                    short.to_owned()
                }
            }
            2 => join_parts(&[what, &self.port]),
            3 => join_parts(&[what, &self.database]),
            4 => join_parts(&[what, short]),
            5 => join_parts(&[what, host, &self.port]),
            6 => join_parts(&[what, host, &self.database]),
            7 => join_parts(&[what, host, &self.port, &self.database]),
            8 => join_parts(&[what, &self.user]),
            9 => join_parts(&[what, &self.options.join("-")]),
            _ => join_parts(&[what, host, &self.port, &self.database, &self.user]),
        }
    }
}

/// Joins the parts that are not empty by `-`.
fn join_parts(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("-")
}

/// Splits a system's place into the parts that its name can be made of.
fn name_parts(place: &str, catalog: &Catalog, found: impl Fn(&str, Option<&str>) -> Option<String>) -> Parts {
    if let Some(variable) = place.strip_prefix(ENV_PREFIX) {
        return Parts { what: fit_for_name(&variable.to_lowercase()), ..Parts::default() };
    }
    match catalog.own_system(place) {
        Some(OwnSystem::Server { engine, version }) => {
            let found = found(engine, version.as_deref());
            // `15.14` is `15` to people, `10.11.6` is `10.11`.
            let short = found.map(|found| release_shown(&found, version.as_deref()));
            return Parts { what: engine.to_owned(), asked: version, found: short, ..Parts::default() };
        }
        Some(OwnSystem::Url(url)) => return Parts { what: word_of(url, catalog), ..Parts::default() },
        Some(OwnSystem::Nothing(_)) | None => {}
    }
    parts_of_url(place, catalog)
}

/// The release asked for, else the one found without its last number.
fn release_shown(found: &str, asked: Option<&str>) -> String {
    match (asked, found.rsplit_once('.')) {
        (Some(asked), _) => asked.to_owned(),
        (None, Some((shorter, _))) => shorter.to_owned(),
        (None, None) => found.to_owned(),
    }
}

/// The word for a URL's product: its scheme where products have schemes of their own, else the engine's name.
fn word_of(url: &str, catalog: &Catalog) -> String {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    match catalog.engine_of_url(url) {
        Some(engine) if engine.private_servers.contains(&scheme) => scheme.to_owned(),
        Some(engine) => engine.name.to_owned(),
        None => "system".to_owned(),
    }
}

/// Splits a URL into the parts that a name can be made of, without its password.
fn parts_of_url(url: &str, catalog: &Catalog) -> Parts {
    let what = word_of(url, catalog);
    // What is no URL may hold a password anywhere.
    if catalog.engine_of_url(url).is_none() || (url.contains('@') && !url.contains("://")) {
        return Parts { what, ..Parts::default() };
    }
    let url = without_password(url);
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    let Some(rest) = rest.strip_prefix("//") else { return Parts { path: path_parts(rest), what, ..Parts::default() } };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (user, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (authority, ""),
    };
    let host = part_or_option(host, query, &["host", "socket"]);
    // Of a socket's path the last folder.
    let host = host.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let shown = redact_url(&url);
    let shown = shown.split_once('?').map_or("", |(_, query)| query).replace(MASK, "");
    Parts {
        what,
        host: fit_for_name(&host),
        port: fit_for_name(&part_or_option(port, query, &["port"])),
        database: fit_for_name(&part_or_option(database, query, &["dbname"])),
        user: fit_for_name(&part_or_option(user.split(':').next().unwrap_or_default(), query, &["user"])),
        options: option_words(&shown),
        ..Parts::default()
    }
}

/// Splits a URL's query into options fit for a name; those that libpq hands to the server, `options=-c a=1 -c b=2`, are one each.
fn option_words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("options", settings)) => {
                let settings = percent_decode(settings).replace('+', " ");
                words.extend(settings.split_whitespace().filter(|word| *word != "-c").map(fit_for_name));
            }
            _ => words.push(fit_for_name(pair)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Looks up the first of these options in a URL's query, decoded; empty if none is there.
fn option_value(query: &str, names: &[&str]) -> String {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| names.contains(key)).map(|(_, value)| percent_decode(value)).unwrap_or_default()
}

/// Decodes a part of a URL; an empty one is taken from the query's options.
fn part_or_option(part: &str, query: &str, names: &[&str]) -> String {
    if part.is_empty() { option_value(query, names) } else { percent_decode(part) }
}

/// Splits a file's absolute path into parts fit for a name, the last without its ending.
fn path_parts(text: &str) -> Vec<String> {
    let text = text.split('?').next().unwrap_or(text);
    let absolute = std::path::absolute(text).unwrap_or_else(|_| text.into());
    let mut parts: Vec<String> =
        absolute.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if let Some(last) = parts.last_mut()
        && let Some((stem, _)) = last.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())
    {
        *last = stem.to_owned();
    }
    parts.iter().map(|part| fit_for_name(part)).filter(|part| !part.is_empty()).collect()
}

/// Replaces what a file's name and a bare key of TOML may not hold by `-`, and cuts the text at 60 characters.
fn fit_for_name(text: &str) -> String {
    let text: String =
        text.chars().map(|c| if c.is_alphanumeric() || ['.', '_'].contains(&c) { c } else { '-' }).take(60).collect();
    text.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use conductor::Registry;

    use super::super::words;
    use super::*;

    /// Also of what is no system.
    fn assigned(places: &[&str]) -> Vec<String> {
        assign_names(
            &places.iter().map(|place| SystemWord { label: None, place: (*place).to_owned() }).collect::<Vec<_>>(),
            &Registry::built_in().catalog(),
            |_, _| None,
        )
    }

    fn names(arguments: &[&str]) -> Vec<String> {
        let catalog = Registry::built_in().catalog();
        let systems: Vec<SystemWord> =
            arguments.iter().map(|argument| words::parse_system(argument, &catalog).unwrap().unwrap()).collect();
        assign_names(&systems, &catalog, |_, asked| asked.is_none().then(|| "15.14".to_owned()))
    }

    #[test]
    fn names_tell_the_sides_apart_by_what_differs() {
        for (arguments, expected) in [
            (&["postgres://me@db1/bench"] as &[&str], &["postgres"] as &[&str]),
            (&["postgresql://h/d", "mariadb://h/"], &["postgres", "mariadb"]),
            (&["postgres://db1/bench", "postgres://db2/bench"], &["db1", "db2"]),
            (&["postgres://db1.example.com/b", "postgres://db2.example.com/b"], &["db1", "db2"]),
            (&["postgres://10.0.0.1/b", "postgres://10.0.0.2/b"], &["10.0.0.1", "10.0.0.2"]),
            (&["postgres://h:5432/b", "postgres://h:5433/b"], &["postgres-5432", "postgres-5433"]),
            (&["postgres://h/old", "postgres://h/new"], &["postgres-old", "postgres-new"]),
            (&["postgres:///d?host=/run/a", "postgres:///d?host=/run/b"], &["a", "b"]),
            (&["mysql://a@h/", "mysql://b@h/"], &["mysql-a", "mysql-b"]),
            (&["postgres:15", "postgres:18"], &["postgres-15", "postgres-18"]),
            (&["postgres", "postgres:18"], &["postgres-15", "postgres-18"]),
            (&["postgres", "mariadb"], &["postgres", "mariadb"]),
            (&["postgres:18", "mariadb"], &["postgres-18", "mariadb"]),
            (&["postgres://db1/b", "postgres:18"], &["db1", "postgres-18"]),
            (&["sqlite:a.db", "sqlite:x/b.db"], &["a", "b"]),
            (&["sqlite:/mnt/nvme/t.db", "sqlite:/mnt/hdd/t.db"], &["nvme-t", "hdd-t"]),
            (&["disk:/mnt/nvme", "disk:/mnt/hdd"], &["nvme", "hdd"]),
            (&["env:OLD", "env:NEW"], &["old", "new"]),
            (&["old=postgres://h/d", "postgres://h/e"], &["old", "postgres"]),
            (&["postgres=mysql://h/d", "postgres://h/e"], &["postgres", "h"]),
            (&["sim:?a=1", "sim:?a=2"], &["sim-1", "sim-2"]),
            (
                &[
                    "postgres://me@h/d?options=-c%20work_mem%3D64MB&sslmode=disable",
                    "postgres://me@h/d?options=-c%20work_mem%3D128MB&sslmode=disable",
                ],
                &["postgres-work_mem-64MB", "postgres-work_mem-128MB"],
            ),
            (
                &[
                    "postgres://me@h/d?sslmode=disable",
                    "postgres://me@h/d?sslmode=disable&options=-c%20a_setting_with_a_very_long_name%3Don",
                ],
                &["postgres-1", "postgres-2"],
            ),
            (
                &["postgres://h/d?sslmode=disable", "postgres://h/d?sslmode=require"],
                &["postgres-sslmode-disable", "postgres-sslmode-require"],
            ),
        ] {
            assert_eq!(names(arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn no_password_is_in_a_name() {
        assert_eq!(assigned(&["me:hunter2@h", "me:hunter2@i"]), ["system-1", "system-2"]);
        assert_eq!(assigned(&["mysql:me:hunter2@h/d", "mysql:me:hunter2@i/d"]), ["mysql-1", "mysql-2"]);
        let hosts = ["me:hunter2@h", "me:hunter2/x@h", "me:x?hunter2@h", "hunter2:hunter2@h"];
        for host in hosts {
            for other in hosts {
                let urls = [
                    format!("postgres://{host}/d?password=hunter2"),
                    format!("postgres://{other}/d?sslpassword=hunter2"),
                ];
                let found = names(&[&urls[0], &urls[1]]);
                let openly = host.starts_with("hunter2") || other.starts_with("hunter2");
                assert!(openly || !found.join(" ").contains("hunter2"), "{found:?}");
            }
        }
    }
}
