//! URLs of systems, by each engine's own reader, under the permits of an agent that allows nothing.
//!
//! Seeds: docs/tls.md crates/engines/src/postgres/url.rs crates/engines/src/mysql/url.rs
//! Seeds: crates/engines/src/sqlserver/url.rs

#![no_main]

use std::path::Path;
use std::sync::{Arc, LazyLock};

use conductor::Registry;
use etalon_fuzz::{chosen, text};
use libfuzzer_sys::fuzz_target;
use model::SystemPlan;
use workloads::permits::NamedPermits;
use workloads::permits::Permits;
use workloads::system::Consent;
use workloads::system::OpenRequest;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::built_in);
const SCHEMES: [&str; 5] = ["postgres://", "mysql://", "mssql://", "sqlite:", "disk:"];

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let text = text(bytes);
    if choice & 8 != 0 {
        let _ = NamedPermits::default().allow_address(&text);
        let _ = Permits::Named(Arc::default()).check_path(Path::new(&*text));
        return;
    }
    let url = format!("{}{text}", SCHEMES.get(usize::from(choice & 7)).unwrap_or(&""));
    let Some(engine) = REGISTRY.catalog().engine_of_url(&url).map(|spec| spec.name.to_owned()) else { return };
    let system = SystemPlan {
        name: "a".to_owned(),
        engine,
        url,
        settings: Default::default(),
        server: None,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    };
    let _ = (REGISTRY.needed_privileges(&system), REGISTRY.would_drop(&system), REGISTRY.data_directory(&system));
    // These two are opened by paths alone, and one of them makes folders to note what it makes.
    if choice & 7 > 2 {
        return;
    }
    let request =
        OpenRequest { permits: Permits::Named(Arc::default()), ..OpenRequest::new(&system, Consent::OwnOnly) };
    assert!(REGISTRY.open_system(&request).is_err(), "nothing is allowed");
});
