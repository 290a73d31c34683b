//! Connection services: options of a server by name, in libpq's files.
//!
//! <https://www.postgresql.org/docs/current/libpq-pgservice.html>

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::pgpass::{home_folder, user_folder};
use super::url::{Address, url_failure};
use crate::server::url::{Address as _, Environment, Given};
use load::error::{Failure, FailureKind};

/// Folders of the system's file, by package, where `PGSYSCONFDIR` names none.
const SYSTEM_FOLDERS: [&str; 4] =
    ["/etc/postgresql-common", "/etc/sysconfig/pgsql", "/etc/postgresql", "/usr/local/pgsql/etc"];

/// A service and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) file: PathBuf,
    pub(super) options: Given,
}

/// Reads the service that the URL names, or `PGSERVICE`. `None`: neither does.
///
/// # Errors
/// No file has it, or the file cannot be read, or has something that libpq does not accept or étalon does not know.
pub(super) fn find_service(given: &Given, environment: Environment<'_>) -> Result<Option<Service>, Failure> {
    let Some(name) = given.get("service").cloned().or_else(|| environment("PGSERVICE")) else { return Ok(None) };
    let named = given.get("servicefile").cloned().or_else(|| environment("PGSERVICEFILE")).map(PathBuf::from);
    let folder = if std::path::MAIN_SEPARATOR == '\\' { user_folder(environment) } else { home_folder(environment) };
    let own = named.clone().or_else(|| folder.map(|folder| folder.join(".pg_service.conf")));
    let system: Vec<PathBuf> = match environment("PGSYSCONFDIR") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => SYSTEM_FOLDERS.iter().map(PathBuf::from).collect(),
    };
    let system = system.into_iter().map(|folder| folder.join("pg_service.conf"));
    for file in own.into_iter().chain(system) {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.as_ref() != Some(&file) => continue,
            Err(error) => {
                return Err(Failure::new(
                    error.kind().into(),
                    format!("read the services in {}", file.display()),
                    error,
                )
                .with_hint("PGSERVICEFILE names a file of services"));
            }
        };
        if let Some(options) = parse_service_section(&text, &name, &file)? {
            return Ok(Some(Service { file, options }));
        }
    }
    let cause = "neither ~/.pg_service.conf (or PGSERVICEFILE) nor the system's pg_service.conf has it";
    Err(Failure::new(FailureKind::Missing, format!("find the service `{name}`"), cause)
        .with_hint(format!("write a section `[{name}]` there, or correct `service` in the URL or PGSERVICE")))
}

/// Parses the options of the first section of this name, each as it stands first; fails on what is not known.
fn parse_service_section(text: &str, name: &str, file: &Path) -> Result<Option<Given>, Failure> {
    let known = (Address::FORM.options)();
    let mut found: Option<Given> = None;
    for (number, line) in text.lines().enumerate() {
        // No line's value is repeated: it may be a password.
        let refuse = |cause: &str| Err(url_failure(format!("{}, line {}: {cause}", file.display(), number + 1)));
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            found = group.strip_prefix(name).is_some_and(|rest| rest.starts_with(']')).then(Given::new);
            continue;
        }
        let Some(options) = &mut found else { continue };
        if line.starts_with("ldap") {
            return refuse("the service is on an LDAP server, which étalon does not ask");
        }
        let Some((key, value)) = line.split_once('=') else {
            return refuse("each option is written as `name=value`");
        };
        if matches!(key, "service" | "servicefile") {
            return refuse("a service cannot name another one");
        }
        let Some(option) = known.iter().find(|option| **option == key) else {
            let is_name = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            return if is_name {
                refuse(&format!("étalon has no option `{key}`"))
            } else {
                refuse("what stands before the `=` is no name of an option")
            };
        };
        // An empty value is the default's.
        if !value.is_empty() {
            options.entry(option).or_insert_with(|| value.to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::url::PasswordSource;
    use crate::server::url::tests::parse_within;

    const SERVICES: &str = "# of the shop\n[shopping]\nhost=/nowhere\n[shop]\n  host=db.example  \nport=5433\nport=1\n\
                            user=me\npassword=hunter2\nsslmode=require\n\n[other]\nhost=elsewhere\n[shop]\ndbname=late\n";

    fn within(url: &str, text: &str, more: &[(&str, &str)]) -> Result<Address, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        parse_within(url, &[&[("PGSERVICEFILE", file.as_str()), ("PGSYSCONFDIR", "/nowhere")], more].concat())
    }

    #[test]
    fn a_service_counts_less_than_the_url_and_more_than_variables() {
        let environment = [("PGSERVICE", "shop"), ("PGPORT", "1"), ("PGHOST", "wrong"), ("PGDATABASE", "base")];
        let address = within("postgres://", SERVICES, &environment).unwrap();
        assert_eq!((address.host.as_str(), address.port, address.user.as_str()), ("db.example", 5433, "me"));
        assert_eq!((address.database.as_str(), address.password.as_deref()), ("base", Some("hunter2")));
        assert!(matches!(address.password_source, PasswordSource::File(_)));
        let address = within("postgres://you:pass@/?service=shop&port=7", SERVICES, &[]).unwrap();
        assert_eq!((address.host.as_str(), address.port, address.user.as_str()), ("db.example", 7, "you"));
        assert_eq!((address.database.as_str(), address.password_source), ("you", PasswordSource::Url));
    }

    #[test]
    fn what_is_wrong_with_a_service_is_named() {
        for (text, said) in [
            ("[shop]\nhost = db\n", "line 2"),
            ("[shop]\nhost=db\nno_such=1\n", "`no_such`"),
            ("[shop]\nhost=db\nservice=other\n", "another one"),
            ("[shop]\nhost=db\nhunter2\n", "line 3"),
            ("[shop]\nldap://x\n", "LDAP"),
            ("[shopping]\nhost=db\n", "`shop`"),
        ] {
            let failure = within("postgres://u@/d?service=shop", text, &[]).err().unwrap();
            let all = format!("{failure} {failure:?}");
            assert!(all.contains(said) && !all.contains("hunter2"), "{text}: {all}");
        }
        let missing = parse_within::<Address>(
            "postgres://u@/d?service=shop",
            &[("PGSERVICEFILE", "/nowhere/services"), ("PGSYSCONFDIR", "/nowhere")],
        );
        assert!(missing.err().unwrap().tried.contains("/nowhere/services"));
    }
}
