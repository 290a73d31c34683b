//! Common parts of servers' URLs.

use crate::error::{Failure, FailureKind};

/// A parameter, so that tests need not change the process's.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(crate) fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub(crate) fn os_user(environment: Environment<'_>) -> Option<String> {
    host::identity::user_name()
        .ok()
        .or_else(|| ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| environment(name)))
}

/// An engine's URL syntax.
pub(crate) struct Form {
    pub(crate) product: &'static str,
    /// The usual one first.
    pub(crate) schemes: [&'static str; 2],
    /// Between host and port.
    pub(crate) before_port: &'static [char],
}

#[derive(Default)]
pub(crate) struct Pieces {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) database: Option<String>,
    /// In order.
    pub(crate) options: Vec<(String, String)>,
}

impl Pieces {
    pub(crate) fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl Form {
    /// Must not repeat the password.
    pub(crate) fn wrong(&self, cause: impl std::fmt::Display) -> Failure {
        Failure::new(FailureKind::Plan, format!("read the URL of {}", self.product), cause)
    }

    fn decode(&self, text: &str) -> Result<String, Failure> {
        decode_percent(text).map_err(|cause| self.wrong(cause))
    }

    fn filled(&self, text: &str) -> Result<Option<String>, Failure> {
        if text.is_empty() { Ok(None) } else { self.decode(text).map(Some) }
    }

    /// Or `env:NAME`. Never repeats the password.
    pub(crate) fn read(&self, url: &str, environment: Environment<'_>) -> Result<Pieces, Failure> {
        let [usual, other] = self.schemes;
        let from_environment;
        let url = match url.strip_prefix(model::plan::ENV_PREFIX) {
            None => url,
            Some(name) => {
                let hint = format!("export {name}={usual}://user@host:port/database");
                from_environment = environment(name).ok_or_else(|| self.wrong("it is not set or empty").hint(hint))?;
                &from_environment
            }
        };
        let rest = self.schemes.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"));
        let rest = rest.ok_or_else(|| self.wrong(format!("it does not begin with `{usual}://` or `{other}://`")))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        self.refuse_bare_secret(login, place, database, query)?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let missing = || self.wrong("the `]` of an IPv6 address is missing");
                let (host, rest) = rest.split_once(']').ok_or_else(missing)?;
                (host, rest.strip_prefix(self.before_port).unwrap_or(rest))
            }
            None => place.split_once(self.before_port).unwrap_or((place, "")),
        };
        // Without a login this may be half of one.
        let is_fit = port.parse::<u16>().is_ok() || (!login.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
        if (!port.is_empty() && !is_fit) || place.ends_with(self.before_port) {
            let cause = "what stands behind the host's colon is no number of a port";
            return Err(self.wrong(cause).hint(format!("write {usual}://user:password@host:port/database")));
        }
        let option = |pair: &str| -> Result<(String, String), Failure> {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| self.wrong("each option is written as `name=value`"))?;
            Ok((self.decode(key)?, self.decode(value)?))
        };
        Ok(Pieces {
            user: self.filled(user)?,
            password: self.filled(password)?,
            host: self.filled(host)?,
            port: self.filled(port)?,
            database: self.filled(database)?,
            options: query.split('&').filter(|pair| !pair.is_empty()).map(option).collect::<Result<_, _>>()?,
        })
    }

    /// Refuses a URL in which part of the password may be in a place that messages repeat.
    fn refuse_bare_secret(&self, login: &str, place: &str, database: &str, query: &str) -> Result<(), Failure> {
        let has_password = login.contains(':');
        let may_be_login = login.is_empty() && place.contains(':');
        let cut = database.contains('@') || (query.contains('@') && (has_password || may_be_login));
        if cut || query.split(['=', '&']).next().is_some_and(|first| first.contains('@')) {
            let hint =
                "in a user, a password, a database or an option `/` is written %2F, `?` %3F, `#` %23 and `@` %40";
            return Err(self.wrong("an `@` stands behind the first `/` or `?`").hint(hint));
        }
        if [place, database, query].iter().any(|part| part.contains(';')) || place.contains('=') {
            let hint = "options stand behind `?`, parted by `&`; a `;` of a name or value is written %3B";
            return Err(self.wrong("it has a `;`, or a `=` in the host").hint(hint));
        }
        Ok(())
    }

    /// Repeats the name only if it resembles a known one.
    pub(crate) fn unknown(&self, key: &str, known: &[&'static str]) -> Failure {
        let known_are = known.join(", ");
        match model::near::nearest(key, known.iter().copied()) {
            Some(near) => {
                let failure = self.wrong(format!("it has no option `{key}`; known are {known_are}"));
                failure.hint(format!("did you mean `{near}`?"))
            }
            // It may be part of an unencoded password.
            None => self.wrong(format!("one of its options is not known; known are {known_are}")),
        }
    }

    pub(crate) fn refuse_several(&self, host: Option<&String>) -> Result<(), Failure> {
        if host.is_some_and(|host| host.contains(',')) {
            return Err(self
                .wrong("it names several hosts, and a system is one server")
                .hint("write one `[systems.NAME]` for each of them"));
        }
        Ok(())
    }
}

fn decode_percent(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or("after `%` two hexadecimal digits are expected; `%` itself is `%25`")?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| "its decoded text is not UTF-8")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::systems::{mysql, postgres, sqlserver};

    /// By engine, for those that refuse it.
    fn refusals(rest: &str) -> Vec<String> {
        let none = |_: &str| None;
        let said =
            |failure: Option<Failure>| failure.map(|failure| format!("{failure} {failure:?}")).unwrap_or_default();
        vec![
            said(postgres::parse_url(&format!("postgres://{rest}"), &none).err()),
            said(mysql::parse_url(&format!("mysql://{rest}"), &none).err()),
            said(sqlserver::parse_url(&format!("mssql://{rest}"), &none).err()),
        ]
    }

    #[test]
    fn a_password_that_is_not_encoded_is_refused_with_a_hint_and_not_repeated() {
        for rest in ["me:hunter2/x@h/d", "me:x/hunter2@h:5/d", "me:hunter2?x@h/d", "me:hunter2", "me:x?hunter2=y@h/d"] {
            for said in refusals(rest) {
                assert!(!said.is_empty() && !said.contains("hunter2"), "{rest}: {said}");
                assert!(said.contains("%2F") || said.contains("host:port"), "{rest}: {said}");
            }
        }
        // An `@` where no password is possible belongs to an option.
        let read = |url: &str| postgres::parse_url(url, &|_| None).is_ok();
        assert!(read("postgres://me@h/d?application_name=a@b") && read("postgres://h/d?user=a@b"));
    }

    proptest! {
        /// Any characters, in any place of a password.
        #[test]
        fn no_password_is_repeated(
            before in "[a-z:/?#@&=;%.]{0,4}",
            after in "[a-z:/?#@&=;%.]{0,4}",
            form in 0..8usize,
        ) {
            let secret = format!("{before}hunter2{after}");
            let rest = [
                format!("me:{secret}@h/d"),
                format!("me:{secret}@h:70000/d?sslmode=x"),
                format!("me:{secret}@h/d?nothing=1"),
                format!("me:{secret}@/d"),
                format!("me:{secret}"),
                format!("me:{secret}@h/d?sslmode=require&ssl-mode=off"),
                "me@h/d?password=hunter2&nothing=1".to_owned(),
                "me@h/d?pasword=hunter2".to_owned(),
            ][form].clone();
            for said in refusals(&rest) {
                prop_assert!(!said.contains("hunter2"), "{}: {}", rest, said);
            }
        }
    }
}
