//! Lines of diskspd, whose letters are followed by their values without a space.

use super::is_option;
use super::line::Line;
use super::values::{folder_of_new_file, in_units};

/// Reads what follows `diskspd` into a line that measures a folder.
pub fn read_diskspd(rest: &[String]) -> Line {
    let mut line = Line::new("run");
    let (mut is_random, mut written_percent) = (false, 0_u32);
    for word in rest {
        if !is_option(word) {
            line.words.push(folder_of_new_file(word.clone()));
            continue;
        }
        let value = word.get(2..).unwrap_or_default();
        let number = value.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let mut set = |key: &str, value: &str| {
            line.options.extend(["--set".to_owned(), format!("{key}={value}")]);
        };
        match word.as_bytes()[1] {
            b'b' => set("benchmarks.*.block_kb", &in_units(value, 1)),
            b'c' => set("benchmarks.*.size_mb", &in_units(value, 2)),
            b'o' => set("benchmarks.*.depth", number),
            b't' | b'F' => set("benchmarks.*.threads", number),
            b'd' => set("schedule.duration", &format!("{number}s")),
            b'W' => set("schedule.warmup", &format!("{number}s")),
            b'r' => is_random = true,
            b'w' => written_percent = number.parse().unwrap_or_default(),
            // Caches, latencies, where the output goes and what is written: étalon's own are alike.
            b'S' | b'h' | b'L' | b'D' | b'R' | b'Z' | b'z' | b'v' | b's' | b'x' => {}
            _ => line.unknown.push(word.clone()),
        }
    }
    line.add_access_keys(is_random, written_percent);
    line
}

impl Line {
    /// Adds the keys for what is done on a disk, in which order.
    fn add_access_keys(&mut self, is_random: bool, written_percent: u32) {
        let op = match written_percent {
            0 => "read",
            100.. => "write",
            _ => "mixed",
        };
        let pattern = if is_random { "random" } else { "sequential" };
        let mut keys = vec![format!("benchmarks.*.op={op}"), format!("benchmarks.*.pattern={pattern}")];
        if op == "mixed" {
            keys.push(format!("benchmarks.*.read_percent={}", 100 - written_percent));
        }
        self.options.extend(keys.into_iter().flat_map(|key| ["--set".to_owned(), key]));
    }
}
