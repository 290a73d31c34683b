//! Common parts of servers' URLs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use host::watch::Listener;
use load::error::{Failure, FailureKind};
use workloads::permits::Permits;

/// A parameter, so that tests need not change the process's.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a variable of étalon's environment; empty counts as unset.
pub(crate) fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Finds the name of the operating system's user, or else that in the environment.
pub(crate) fn os_user(environment: Environment<'_>) -> Option<String> {
    host::identity::user_name()
        .ok()
        .or_else(|| ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| environment(name)))
}

/// An engine's URL syntax.
pub(crate) struct UrlSyntax {
    pub(crate) product: &'static str,
    /// The usual one first.
    pub(crate) schemes: [&'static str; 2],
    /// Characters that may stand between host and port.
    pub(crate) before_port: &'static [char],
    /// Those of the authority among them, where they may be options, too.
    pub(crate) options: fn() -> Vec<&'static str>,
    /// Options are compared so.
    pub(crate) spelled: fn(&str) -> String,
    /// An option and its value in the words of another client.
    pub(crate) aliases: &'static [[(&'static str, &'static str); 2]],
    /// Options of this and other clients that name files.
    pub(crate) files: &'static [&'static str],
}

/// Parts of a URL that are given: `user`, `password`, `host`, `port`, `dbname`, and [`UrlSyntax::options`].
pub(crate) type Given = BTreeMap<&'static str, String>;

/// A server's address.
pub(crate) trait Address: Sized {
    const FORM: UrlSyntax;

    /// Makes the address of a URL's parts, with what the environment and the user's files add.
    ///
    /// # Errors
    /// An option has no such value, or contradicts another. Never repeats the password.
    fn from_given(given: &Given, environment: Environment<'_>) -> Result<Self, Failure>;

    /// Fails if a plan may not connect there.
    fn check_permitted(&self, permits: &Permits) -> Result<(), Failure>;

    /// Returns the host and port, or socket, at which the server listens.
    fn listener(&self) -> Listener;

    /// Writes the URL without the password.
    fn shown_url(&self) -> String;

    /// Writes the URL by which other hosts reach a private server; `None` if it listens on this host alone.
    /// Its password is étalon's own and dies with the server.
    fn url_of_private(&self) -> Option<String> {
        None
    }

    /// Parses a URL, or the one that `env:NAME` names, to an address.
    fn parse_url(url: &str, environment: Environment<'_>) -> Result<Self, Failure> {
        Self::from_given(&Self::FORM.check_options(Self::FORM.split_url(url, environment)?)?, environment)
    }

    /// Parses a URL as [`Address::parse_url`] does; fails if the plan may not connect there or read its files.
    fn parse_permitted(url: &str, environment: Environment<'_>, permits: &Permits) -> Result<Self, Failure> {
        let pieces = Self::FORM.split_url(url, environment)?;
        permits.check_option_files(pieces.option_pairs(), Self::FORM.files)?;
        let address = Self::from_given(&Self::FORM.check_options(pieces)?, environment)?;
        address.check_permitted(permits)?;
        Ok(address)
    }
}

/// Where a password came from, for hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PasswordSource {
    Url,
    Environment,
    File(PathBuf),
    /// There is none; the text says why the user's file was not used.
    Nowhere(Option<String>),
}

impl PasswordSource {
    /// Begins a hint by where the refused password came from; empty if there was none.
    pub(crate) fn refused_password_hint(&self, variable: &str) -> String {
        match self {
            PasswordSource::Url => "the password in the URL was refused; ".to_owned(),
            PasswordSource::Environment => format!("the password in {variable} was refused; "),
            PasswordSource::File(file) => format!("the password in {} was refused; ", file.display()),
            PasswordSource::Nowhere(Some(ignored)) => format!("{ignored}; "),
            PasswordSource::Nowhere(None) => String::new(),
        }
    }
}

/// Writes `user@host:port`, as URLs have it.
pub(crate) fn url_authority(user: &str, host: &str, port: u16) -> String {
    if host.contains(':') { format!("{user}@[{host}]:{port}") } else { format!("{user}@{host}:{port}") }
}

/// Longer names of options are taken for part of a password.
const LONGEST_OPTION: usize = 40;

struct Pieces {
    may_have_password: bool,
    /// Parts of the authority, by option.
    authority: [(&'static str, Option<String>); 5],
    options: Vec<(String, String)>,
}

impl Pieces {
    /// Lists the URL's options, each with its value.
    fn option_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl UrlSyntax {
    /// Makes the failure that a URL cannot be read; `cause` must not repeat the password.
    pub(crate) fn url_failure(&self, cause: impl std::fmt::Display) -> Failure {
        Failure::new(FailureKind::Plan, format!("read the URL of {}", self.product), cause)
    }

    /// Decodes the percent-encoding of one part of the URL.
    fn decode_part(&self, text: &str) -> Result<String, Failure> {
        decode_percent(text).map_err(|cause| self.url_failure(cause))
    }

    /// Decodes one part of the URL; `None` if it is empty.
    fn decode_filled(&self, text: &str) -> Result<Option<String>, Failure> {
        if text.is_empty() { Ok(None) } else { self.decode_part(text).map(Some) }
    }

    /// Splits a URL, or what `env:NAME` names, into its parts. Never repeats the password.
    fn split_url(&self, url: &str, environment: Environment<'_>) -> Result<Pieces, Failure> {
        let [usual, other] = self.schemes;
        let from_environment;
        let url = match url.strip_prefix(model::plan::ENV_PREFIX) {
            None => url,
            Some(name) => {
                let hint = format!("export {name}={usual}://user@host:port/database");
                from_environment =
                    environment(name).ok_or_else(|| self.url_failure("it is not set or empty").with_hint(hint))?;
                &from_environment
            }
        };
        let rest = self.schemes.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"));
        let rest =
            rest.ok_or_else(|| self.url_failure(format!("it does not begin with `{usual}://` or `{other}://`")))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        self.refuse_bare_secret(login, place, database, query)?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) =
                    rest.split_once(']').ok_or_else(|| self.url_failure("the `]` of an IPv6 address is missing"))?;
                (host, rest.strip_prefix(self.before_port).unwrap_or(rest))
            }
            None => place.split_once(self.before_port).unwrap_or((place, "")),
        };
        // Without a login this may be half of one.
        let is_fit = port.parse::<u16>().is_ok() || (!login.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
        if (!port.is_empty() && !is_fit) || place.ends_with(self.before_port) {
            let cause = "what stands behind the host's colon is no number of a port";
            return Err(self.url_failure(cause).with_hint(format!("write {usual}://user:password@host:port/database")));
        }
        let authority = [
            ("user", self.decode_filled(user)?),
            ("password", self.decode_filled(password)?),
            ("host", self.decode_filled(host)?),
            ("port", self.decode_filled(port)?),
            ("dbname", self.decode_filled(database)?),
        ];
        Ok(Pieces {
            may_have_password: may_have_password(login, place),
            authority,
            options: query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair: &str| -> Result<(String, String), Failure> {
                    let (key, value) = pair
                        .split_once('=')
                        .ok_or_else(|| self.url_failure("each option is written as `name=value`"))?;
                    Ok((self.decode_part(key)?, self.decode_part(value)?))
                })
                .collect::<Result<_, _>>()?,
        })
    }

    /// Fails if part of the password may be in a place of the URL that messages repeat.
    fn refuse_bare_secret(&self, login: &str, place: &str, database: &str, query: &str) -> Result<(), Failure> {
        let cut = database.contains('@') || (query.contains('@') && may_have_password(login, place));
        if cut || query.split(['=', '&']).next().is_some_and(|first| first.contains('@')) {
            let hint =
                "in a user, a password, a database or an option `/` is written %2F, `?` %3F, `#` %23 and `@` %40";
            return Err(self.url_failure("an `@` stands behind the first `/` or `?`").with_hint(hint));
        }
        if [place, database, query].iter().any(|part| part.contains(';')) || place.contains('=') {
            let hint = "options stand behind `?`, parted by `&`; a `;` of a name or value is written %3B";
            return Err(self.url_failure("it has a `;`, or a `=` in the host").with_hint(hint));
        }
        Ok(())
    }

    /// Fails if an option of the URL is not known, and returns all that the URL gives.
    fn check_options(&self, pieces: Pieces) -> Result<Given, Failure> {
        let known = (self.options)();
        let may_have_password = pieces.may_have_password;
        let mut given: Given = pieces.authority.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        for (index, (key, value)) in pieces.options.into_iter().enumerate() {
            let alias = self.aliases.iter().find(|[theirs, _]| *theirs == (key.as_str(), value.as_str()));
            let (key, value) = alias.map_or((key, value), |[_, (key, value)]| ((*key).to_owned(), (*value).to_owned()));
            let option = known.iter().find(|option| (self.spelled)(option) == (self.spelled)(&key));
            given.insert(
                option.ok_or_else(|| self.unknown_option_failure((index, &key), &known, may_have_password))?,
                value,
            );
        }
        if given.get("host").is_some_and(|host| host.contains(',')) {
            return Err(self
                .url_failure("it names several hosts, and a system is one server")
                .with_hint("write one `[systems.NAME]` for each of them"));
        }
        Ok(given)
    }

    /// Makes the failure that an option is not known; does not repeat what may be part of a password.
    fn unknown_option_failure(
        &self,
        (index, key): (usize, &str),
        known: &[&'static str],
        may_have_password: bool,
    ) -> Failure {
        let known_are = known.join(", ");
        let near = model::near::did_you_mean(key, known.iter().copied());
        let is_name =
            key.len() <= LONGEST_OPTION && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        if near.is_none() && (may_have_password || !is_name) {
            return self
                .url_failure(format!("option {} behind its `?` is not known; known are {known_are}", index + 1));
        }
        let failure = self.url_failure(format!("it has no option `{key}`; known are {known_are}"));
        near.into_iter().fold(failure, Failure::with_hint)
    }
}

/// Tests whether a password is written, or half of a login that is not encoded.
fn may_have_password(login: &str, place: &str) -> bool {
    login.contains(':') || (login.is_empty() && place.contains(':'))
}

/// Decodes a text's percent-encoding; fails if it is no UTF-8 then.
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
pub(crate) mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{mysql, postgres, sqlserver};
    use workloads::permits::NamedPermits;

    pub(crate) fn parse<A: Address>(url: &str) -> Result<A, Failure> {
        A::parse_url(url, &|_| None)
    }

    /// What is wrong is named, and the password `hunter2` is not.
    pub(crate) fn are_refused<A: Address>(urls: &[(&str, &str)]) {
        for (url, named) in urls {
            let failure = parse::<A>(url).err().unwrap_or_else(|| panic!("{url} was read"));
            let said = format!("{failure} {failure:?}");
            assert!(failure.kind == FailureKind::Plan && said.contains(named), "{url}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    /// A plan is bound to the address that is connected to.
    pub(crate) fn are_bound<A: Address>(
        named: &[&str],
        environment: Environment<'_>,
        permitted: &[&str],
        refused: &[&str],
    ) {
        let mut all = NamedPermits::default();
        named.iter().for_each(|address| all.allow_address(address).unwrap());
        let permits = Permits::Named(Arc::new(all));
        for url in permitted {
            A::parse_permitted(url, environment, &permits).unwrap_or_else(|failure| panic!("{url}: {failure}"));
        }
        for url in refused {
            assert!(A::parse_permitted(url, environment, &permits).is_err(), "{url}");
        }
    }

    /// The environment fills in what a URL leaves out.
    pub(crate) fn parse_within<A: Address>(url: &str, variables: &[(&str, &str)]) -> Result<A, Failure> {
        A::parse_url(url, &|name| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
        })
    }

    /// What each engine that refuses it says.
    fn refusals(rest: &str) -> Vec<String> {
        let failures = [
            parse::<postgres::Address>(&format!("postgres://{rest}")).err(),
            parse::<mysql::Address>(&format!("mysql://{rest}")).err(),
            parse::<sqlserver::Address>(&format!("mssql://{rest}")).err(),
        ];
        failures.map(|failure| failure.map(|failure| format!("{failure} {failure:?}")).unwrap_or_default()).to_vec()
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
        for url in ["postgres://me@h/d?application_name=a@b", "postgres://h/d?user=a@b"] {
            assert!(parse::<postgres::Address>(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn an_unknown_option_is_named_in_every_engine() {
        for said in refusals("me@h/d?no_such_thing=1") {
            assert!(said.contains("no option `no_such_thing`"), "{said}");
        }
        // Each may be a password that is not encoded.
        for rest in ["me:123?hunter2=1", "me:@?hunter2=", "me:x@h?hunter2=1", "me:x@h/y?hunter2=1"] {
            for said in refusals(rest) {
                assert!(!said.is_empty() && !said.contains("hunter2"), "{rest}: {said}");
            }
        }
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
