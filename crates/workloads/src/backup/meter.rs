use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::process::{Bounds, Limit, LimitTarget};

use super::sink::folder_bytes;
use super::tool;
use load::error::{Failure, FailureKind};

/// Polling interval for a growing folder.
const LOOK: Duration = Duration::from_millis(10);
/// The pause is this many times the time of the last poll, so that polling many files stays cheap.
const REST: u32 = 20;

#[derive(Debug, Default)]
pub struct Meter {
    /// Name and seconds, in order.
    pub parts: Vec<(&'static str, f64)>,
    /// All threads of étalon.
    pub own_cpu_s: f64,
    /// CPU seconds of finished child programs.
    pub tools_cpu_s: Option<Result<f64, String>>,
    /// CPU seconds of decompressing in étalon.
    pub codec_cpu_s: f64,
    /// If the step counted them.
    pub source_bytes: Option<u64>,
    /// The CPU time of a server started for the restore, when the first part began.
    pub server_cpu_before_s: f64,
    /// Limits on étalon and its children, from the first part on.
    bounds: Bounds,
    limit: Option<Limit>,
}

impl Meter {
    /// Makes an empty meter that limits étalon and its children from its first part on.
    pub fn with_limits(bounds: &Bounds) -> Meter {
        Meter { bounds: bounds.clone(), ..Meter::default() }
    }

    /// Runs a part within the meter's limits, and adds its time and CPU.
    pub fn meter_part<T>(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.limit.is_none() && !self.bounds.are_none() {
            self.limit = Some(tool::apply_limit(LimitTarget::Tree(std::process::id()), &self.bounds, "the restore")?);
        }
        let tools_before = host::cpu::ended_children_cpu();
        let own_before = host::cpu::process_cpu();
        let started = Instant::now();
        let result = run()?;
        self.parts.push((name, started.elapsed().as_secs_f64()));
        if let (Ok(before), Ok(after)) = (own_before, host::cpu::process_cpu()) {
            self.own_cpu_s += after.saturating_sub(before).as_secs_f64();
        }
        let tools = tools_before.and_then(|before| Ok(host::cpu::ended_children_cpu()?.saturating_sub(before)));
        let so_far = self.tools_cpu_s.take().unwrap_or(Ok(0.0));
        self.tools_cpu_s = Some(so_far.and_then(|sum| Ok(sum + tools?.as_secs_f64())));
        Ok(result)
    }

    /// Ends the limit on étalon's own process tree.
    pub fn release_limit(&mut self) -> Result<(), Failure> {
        let released = self.limit.take().map_or(Ok(()), Limit::release);
        released.map_err(|error| Failure::new(FailureKind::Other, "end the limit on the restore", error))
    }

    /// Seconds that all parts together took.
    pub fn elapsed_s(&self) -> f64 {
        self.parts.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Seconds since the start, and bytes of all files.
pub type Growth = Vec<(f64, u64)>;

struct EndAtDrop<'a>(&'a AtomicBool);

impl Drop for EndAtDrop<'_> {
    /// Sets the flag that ends the watching.
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs `run` while polling a folder's size; returns the result and how the size grew.
pub fn watch_growth<T>(folder: &Path, run: impl FnOnce() -> T) -> (T, Growth) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let started = Instant::now();
            let mut growth = Vec::new();
            loop {
                let last = ended.load(Ordering::Acquire);
                let looked = Instant::now();
                growth.push((started.elapsed().as_secs_f64(), folder_bytes(folder)));
                if last {
                    return growth;
                }
                sleep_unless(LOOK.max(looked.elapsed() * REST), &ended);
            }
        });
        let result = {
            // Also on panic, so that the watcher ends.
            let _end = EndAtDrop(&ended);
            run()
        };
        (result, watcher.join().unwrap_or_default())
    })
}

/// Sleeps for a time, but wakes soon after `ended` is set.
fn sleep_unless(length: Duration, ended: &AtomicBool) {
    let until = Instant::now() + length;
    while Instant::now() < until && !ended.load(Ordering::Acquire) {
        thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
}

/// Picks a course's values at twentieths of its time: percent of the time, and the last value so far.
pub fn at_twentieths(points: &[(f64, f64)]) -> Vec<(usize, f64)> {
    const STEPS: usize = 20;
    let Some((end, _)) = points.last().copied() else { return Vec::new() };
    (0..=STEPS)
        .filter_map(|step| {
            let until = end * step as f64 / STEPS as f64;
            let seen = points.iter().take_while(|(when, _)| *when <= until + 1e-9).last().or(points.first());
            seen.map(|(_, value)| (step * 100 / STEPS, *value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_growing_file_is_seen_to_grow() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(folder.path().join("a")).unwrap();
        let ((), growth) = watch_growth(folder.path(), || {
            for _ in 0..100 {
                file.write_all(b"0123456789").unwrap();
                thread::sleep(LOOK);
            }
        });
        let sizes: Vec<u64> = growth.iter().map(|(_, bytes)| *bytes).collect();
        assert!(sizes.is_sorted() && sizes.last() == Some(&1000), "{sizes:?}");
        assert!(sizes.iter().any(|bytes| (1..1000).contains(bytes)), "{sizes:?}");
    }
}
