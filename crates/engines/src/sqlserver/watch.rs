//! Watches a backup or restore over a second connection: progress and file sizes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::counters::why_unreadable;
use super::dialect::quote_unicode;
use crate::sqlserver::lane::Client;
use workloads::backup::meter::Growth;

const LOOK: Duration = Duration::from_millis(100);

/// Seconds since the start, and percent done.
pub(super) type Percent = Vec<(f64, f64)>;

pub(super) struct Seen {
    pub(super) growth: Result<Growth, String>,
    pub(super) percent: Result<Percent, String>,
}

pub(super) struct Watch {
    ended: Arc<AtomicBool>,
    looking: JoinHandle<Seen>,
}

/// A question repeated until refused.
struct Series {
    sql: Option<String>,
    points: Vec<(f64, f64)>,
    refusal: String,
}

impl Series {
    /// Makes a series without points; `otherwise` is why there are none.
    fn new(sql: Option<String>, otherwise: &str) -> Series {
        Series { sql, points: Vec::new(), refusal: otherwise.to_owned() }
    }

    /// Asks for the value once, and adds it as a point; a refusal ends the series.
    fn sample(&mut self, client: &mut Client, started: Instant) {
        let Some(sql) = &self.sql else { return };
        match client.query_first_value(sql) {
            Ok(text) => {
                if let Ok(value) = text.parse() {
                    self.points.push((started.elapsed().as_secs_f64(), value));
                }
            }
            Err(error) => {
                self.refusal = why_unreadable(&error).unwrap_or_else(|| error.to_string());
                self.sql = None;
            }
        }
    }

    /// The points, or why there are none.
    fn into_points(self) -> Result<Vec<(f64, f64)>, String> {
        if self.points.is_empty() { Err(self.refusal) } else { Ok(self.points) }
    }
}

impl Watch {
    /// Watches from a thread how far a session's request is, and how large the server's files of a folder and pattern are.
    /// <https://learn.microsoft.com/en-us/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-requests-transact-sql>;
    /// the undocumented function that lists files exists from 2017 on, and descends into all folders unless limited to
    /// the first level.
    pub(super) fn start(mut client: Client, session: &str, files: Option<(&str, &str)>) -> Watch {
        let ended = Arc::new(AtomicBool::new(false));
        let percent = format!("SELECT percent_complete FROM sys.dm_exec_requests WHERE session_id = {session}");
        let size = files.map(|(folder, names)| {
            let (folder, names) = (quote_unicode(folder), quote_unicode(names));
            format!("SELECT SUM(size_in_bytes) FROM sys.dm_os_enumerate_filesystem({folder}, {names}) WHERE level = 0")
        });
        let mut size = Series::new(size, "there are no files");
        let mut percent = Series::new(Some(percent), "it ended before it was looked at");
        let stop = Arc::clone(&ended);
        let looking = thread::spawn(move || {
            let started = Instant::now();
            while !stop.load(Ordering::Acquire) {
                size.sample(&mut client, started);
                percent.sample(&mut client, started);
                thread::sleep(LOOK);
            }
            size.sample(&mut client, started);
            Seen {
                growth: size
                    .into_points()
                    .map(|points| points.into_iter().map(|(at, bytes)| (at, bytes as u64)).collect()),
                percent: percent.into_points(),
            }
        });
        Watch { ended, looking }
    }

    /// Ends the watch, and returns what was seen.
    pub(super) fn finish(self) -> Seen {
        self.ended.store(true, Ordering::Release);
        self.looking.join().unwrap_or_else(|_| {
            let reason = "the second connection failed".to_owned();
            Seen { growth: Err(reason.clone()), percent: Err(reason) }
        })
    }
}
