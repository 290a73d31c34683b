//! Servers beside the installed ones: `ETALON_TEST_SERVERS` names the folders of their programs as `ENGINE=FOLDER`, separated as
//! in `PATH`. `cargo xtask test` fetches some, oldest first.

/// Of an engine; that there are none is said.
pub fn folders_of(engine: &str) -> Vec<String> {
    let named = std::env::var_os("ETALON_TEST_SERVERS").unwrap_or_default();
    let entries = std::env::split_paths(&named).filter_map(|entry| entry.into_os_string().into_string().ok());
    let of_engine = entries.filter_map(|entry| Some(entry.strip_prefix(engine)?.strip_prefix('=')?.to_owned()));
    let folders: Vec<String> = of_engine.collect();
    if folders.is_empty() {
        eprintln!("skipped: ETALON_TEST_SERVERS names no {engine} beside the installed ones");
    }
    folders
}
