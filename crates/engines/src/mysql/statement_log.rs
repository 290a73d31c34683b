//! The slow log, which has each statement when none is too fast for it.
//!
//! <https://dev.mysql.com/doc/refman/8.0/en/slow-query-log.html>, <https://mariadb.com/kb/en/slow-query-log/>

use load::error::Failure;
use workloads::session::{Session, datum_text};
use workloads::statement_log::{LogSwitch, StatementLog};

/// Variables with the value that logs each statement whole, and whether it is a text. A server has some of them.
const WANTED: &[(&str, &str, bool)] = &[
    ("log_output", "FILE", true),
    // MariaDB and Percona Server: kinds of statements, of which an empty one has all.
    ("log_slow_filter", "", true),
    ("log_slow_rate_limit", "1", false),
    ("log_slow_admin_statements", "ON", false),
    ("log_slow_extra", "ON", false),
    ("min_examined_row_limit", "0", false),
    ("long_query_time", "0", false),
    ("slow_query_log", "ON", false),
];

pub(super) struct SlowLog;

impl StatementLog for SlowLog {
    /// Reads which statements switch the log of all statements on and back off, and where its file is.
    fn read_switch(&self, session: &mut dyn Session) -> Result<LogSwitch, Failure> {
        let rows = session.query("SHOW GLOBAL VARIABLES")?;
        let value = |name: &str| {
            let row = rows.iter().find(|row| datum_text(row.first()) == name)?;
            Some(datum_text(row.get(1)))
        };
        let mut switch = LogSwitch::default();
        for (name, wanted, is_text) in WANTED {
            let Some(now) = value(name).filter(|now| !has_wanted_value(now, wanted)) else { continue };
            let set = |to: &str| {
                let to = if *is_text { format!("'{}'", to.replace('\'', "''")) } else { to.to_owned() };
                format!("SET GLOBAL {name} = {to};")
            };
            switch.on.push(set(wanted));
            switch.off.insert(0, set(&now));
        }
        if switch.on.iter().any(|line| line.contains("long_query_time")) {
            switch.remarks.push("sessions that are open keep their `long_query_time`: connect anew".to_owned());
        }
        let (file, folder) = (value("slow_query_log_file").unwrap_or_default(), value("datadir").unwrap_or_default());
        let is_whole = file.starts_with('/') || file.get(1..2) == Some(":");
        switch.file = (!file.is_empty()).then(|| if is_whole { file } else { folder + &file });
        Ok(switch)
    }
}

/// Whether a variable has the wanted value already: `0.000000` is `0`, and a list of `FILE,TABLE` has `FILE`.
fn has_wanted_value(now: &str, wanted: &str) -> bool {
    match (now.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(now), Ok(wanted)) => now == wanted,
        _ => now == wanted || (!wanted.is_empty() && now.split(',').any(|one| one.eq_ignore_ascii_case(wanted))),
    }
}
