//! Database snapshots, as far as étalon asks for them.

use std::collections::BTreeMap;

use super::{Database, tokens};

/// A snapshot, with what it holds.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub name: String,
    pub state: &'static str,
    pub file: String,
    pub history: i64,
    pub balance: i64,
    pub copied: BTreeMap<String, u64>,
    pub sums: BTreeMap<String, i64>,
}

/// Of the log that a revert makes, and of one that tables were loaded through.
const NEW_LOG: u64 = 64;
const LOADED_LOG: u64 = 4096;

fn refused(number: i32, text: &str) -> Vec<u8> {
    [tokens::message(0xaa, number, 1, 16, text), tokens::done(0xfd, 2, 0)].concat()
}

fn in_brackets(sql: &str) -> String {
    sql.split(['[', ']']).nth(1).unwrap_or_default().to_owned()
}

/// `None`: it is about something else.
pub(super) fn answer(database: &mut Database, sql: &str) -> Option<Vec<u8>> {
    let done = tokens::touched(0);
    if sql.starts_with("SELECT SUM(s.size_on_disk_bytes)") {
        let bytes = (65_536 * database.snapshots.len()).to_string();
        return Some(tokens::result(&["#"], &[&[Some(bytes.as_str())]]));
    } else if sql.contains("source_database_id") {
        let rows = database.snapshots.iter().map(|one| {
            let files = if one.file.ends_with(".made-by-etalon") { "1" } else { "0" };
            vec![Some(one.name.as_str()), Some(one.state), Some(files)]
        });
        let rows: Vec<Vec<Option<&str>>> = rows.collect();
        let rows: Vec<&[Option<&str>]> = rows.iter().map(Vec::as_slice).collect();
        return Some(tokens::result(&["name", "state_desc", "#files"], &rows));
    } else if let Some(name) = sql.strip_prefix("SELECT DB_ID(N'") {
        let is_there = database.snapshots.iter().any(|one| name == format!("{}')", one.name));
        return Some(tokens::result(&["#"], &[&[is_there.then_some("9")]]));
    } else if sql.contains("[etalon].sys.database_files WHERE type = 0") {
        let row = [Some("etalon"), Some("/data/etalon.mdf"), Some("1"), Some("1024")];
        return Some(tokens::result(&["name", "path", "number", "pages"], &[&row]));
    } else if sql.contains("[etalon].sys.database_files WHERE type = 1") {
        let pages = if database.log_pages == 0 { LOADED_LOG } else { database.log_pages }.to_string();
        let row = [Some("etalon_log"), Some("/data/etalon_log.ldf"), Some("2"), Some(pages.as_str())];
        return Some(tokens::result(&["name", "path", "number", "pages"], &[&row]));
    } else if sql.contains("AS SNAPSHOT OF") {
        let file = sql.split("FILENAME = N'").nth(1).and_then(|rest| rest.split('\'').next());
        database.snapshots.push(Snapshot {
            name: in_brackets(sql),
            state: "ONLINE",
            file: file.unwrap_or_default().to_owned(),
            history: database.history,
            balance: database.balance,
            copied: database.copied.clone(),
            sums: database.sums.clone(),
        });
        return Some(done);
    } else if sql.starts_with("DROP DATABASE [etalon]") {
        let first = database.snapshots.first()?;
        let text = format!("Cannot drop the database while the database snapshot \"{}\" refers to it.", first.name);
        return Some(refused(3709, &text));
    } else if sql.starts_with("DROP DATABASE") {
        let name = in_brackets(sql);
        database.snapshots.retain(|one| one.name != name);
        return Some(done);
    } else if sql.starts_with("RESTORE DATABASE [etalon] FROM DATABASE_SNAPSHOT") {
        let [kept] = &database.snapshots[..] else { return Some(refused(3137, "Database cannot be reverted.")) };
        if !sql.ends_with(&format!("= '{}'", kept.name)) {
            return Some(refused(911, "Database does not exist."));
        }
        (database.history, database.balance) = (kept.history, kept.balance);
        (database.copied, database.sums) = (kept.copied.clone(), kept.sums.clone());
        database.log_pages = NEW_LOG;
        return Some(done);
    } else if sql.contains("MODIFY FILE (NAME = N'etalon_log', SIZE = ") {
        let size_kb = sql.split("SIZE = ").nth(1).and_then(|rest| rest.split("KB").next());
        database.log_pages = size_kb.and_then(|size| size.parse::<u64>().ok()).unwrap_or_default() / 8;
        return Some(done);
    }
    None
}
