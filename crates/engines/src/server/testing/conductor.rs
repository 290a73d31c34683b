//! A conductor that would have a private server at an agent take a text of its plan as further settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use model::Value;
use model::plan::{Connect, setting_fault};

use super::{Tested, system};
use crate::server::private::{Private, Recipe};
use crate::server::system::Server;
use load::error::{Failure, FailureKind};
use workloads::permits::{NamedPermits, Permits};
use workloads::system::{Consent, OpenRequest};

/// Makes a private server take a plan's settings again, on the same data.
type Restart<S> =
    fn(&mut Private<<S as Server>::Recipe>, BTreeMap<String, Value>) -> Result<<S as Server>::Endpoint, Failure>;

/// Lines of an option file are read in pieces of this size.
const PIECE_BYTES: usize = 4_094;

/// Texts that have meant more than one value somewhere. `beyond` is the option that they would bring along.
fn hostile_values(name: &str, beyond: &str) -> Vec<String> {
    let line_start = format!("{name} = \"");
    let filler = "1".repeat(PIECE_BYTES.saturating_sub(line_start.len()));
    let long = format!("{filler}{beyond} #{}", "1".repeat(10_000));
    let mut values: Vec<String> = [4_093, 4_096, 10_000].map(|length| long[..length].to_owned()).into();
    values.extend(["\r", "\0", "\n", "\u{85}"].map(|control| format!("1{control}{beyond}")));
    values.extend(["\" ", "' ", " # ", " --", " -c "].map(|between| format!("1{between}{beyond}")));
    values.extend(["!include my.cnf", "!includedir .", "include 'my.conf'"].map(|line| format!("1 {line}")));
    values.push("9".repeat(1_000));
    values
}

fn permits(engine: &str, bin_dir: Option<&str>) -> Permits {
    let mut named = NamedPermits::default();
    named.allow_server(engine, bin_dir.map(Path::new)).unwrap();
    Permits::Named(Arc::new(named))
}

/// Tries the permitted `names` with hostile values, and reads back by `origins` what the server has from its start: each name with
/// each value with `ETALON_SLOW=1`, else each value once.
pub(crate) fn no_setting_brings_another<S: Tested>(
    names: &[&str],
    beyond: &str,
    restart: Restart<S>,
    origins: fn(&S::Endpoint) -> BTreeSet<String>,
) {
    let mut server = S::private_server(Connect::Socket);
    let permits = permits(&server.engine, server.bin_dir.take().as_deref());
    let base = tempfile::tempdir_in("/var/tmp").unwrap();
    super::life::open_the_way(base.path());
    let start = |pairs: &[(&str, &str)]| {
        let plan = system("", Some(server.clone()), pairs);
        let request = OpenRequest {
            permits: permits.clone(),
            scratch_base: Some(base.path().to_owned()),
            ..OpenRequest::new(&plan, Consent::OwnOnly)
        };
        S::Recipe::start_server(&server, &request)
    };
    let (mut private, endpoint) = start(&[]).unwrap();
    let plain = origins(&endpoint);
    assert!(!plain.is_empty());
    let (mut refused, mut wrong, mut started) = (0, 0, 0);
    for (place, name) in names.iter().enumerate() {
        let values = hostile_values(name, beyond).into_iter().enumerate();
        for (_, value) in values.filter(|(index, _)| tries_all() || index % names.len() == place) {
            let setting = Value::Text(value.clone());
            if setting_fault(name, &setting).is_some() {
                let failure = start(&[(*name, value.as_str())]).err().unwrap_or_else(|| panic!("{name} = {value:?}"));
                assert!(matches!(failure.kind, FailureKind::Permission | FailureKind::Plan), "{failure}");
                refused += 1;
                continue;
            }
            match restart(&mut private, BTreeMap::from([((*name).to_owned(), setting)])) {
                Err(failure) => {
                    let is_beyond = failure.cause.contains("neither the plan nor étalon");
                    assert!(!is_beyond, "{name} = {value:?}: {failure}");
                    wrong += 1;
                }
                Ok(endpoint) => {
                    let mut more = &origins(&endpoint) - &plain;
                    more.remove(*name);
                    assert!(more.is_empty(), "{name} = {value:?}: {more:?}");
                    started += 1;
                }
            }
        }
    }
    println!("{} settings: {refused} values refused unread, {wrong} by the server, {started} started", names.len());
    let endpoint = restart(&mut private, BTreeMap::new()).unwrap();
    assert_eq!(origins(&endpoint), plain);
    private.remove_server().unwrap();
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
}

/// Every setting with `ETALON_SLOW=1`, else a few of all kinds.
pub(crate) fn some_of<'a>(names: &[&'a str], kinds: &[&'a str]) -> Vec<&'a str> {
    if tries_all() {
        return names.to_vec();
    }
    names.iter().copied().filter(|name| kinds.contains(name)).chain(names.iter().copied().step_by(100)).collect()
}

fn tries_all() -> bool {
    std::env::var("ETALON_SLOW").is_ok_and(|value| value == "1")
}
