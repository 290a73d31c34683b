//! Linux: processes, memory and load from `/proc`; see proc(5).

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};

use super::{Life, ProcessEntry, ProcessName, ProcessNature, cgroup, text};
use crate::memory::Memory;

/// Bytes of the names in `/proc` that are read at once.
const LISTING_BYTES: usize = 8192;
/// A line of `/proc/PID/stat` takes some 350.
const STAT_BYTES: usize = 1024;
/// The parent of the kernel's own threads; see kthreads in the kernel's documentation.
const KTHREADD: u32 = 2;

/// Lists the processes that this process may see.
pub(crate) fn processes() -> Result<Vec<ProcessEntry>, String> {
    let mut table = Vec::new();
    read_processes(&mut table)?;
    Ok(table)
}

/// Into the same memory again: nothing is allocated once the table has grown.
pub(crate) fn read_processes(table: &mut Vec<ProcessEntry>) -> Result<(), String> {
    table.clear();
    let failed = |cause: rustix::io::Errno| format!("cannot list /proc: {cause}");
    let folder = openat(CWD, "/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let folder = folder.map_err(failed)?;
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let mut listing = [MaybeUninit::uninit(); LISTING_BYTES];
    let mut names = RawDir::new(folder.as_fd(), &mut listing);
    while let Some(name) = names.next() {
        let name = name.map_err(failed)?;
        let Some(pid) = name.file_name().to_str().ok().filter(|name| name.parse::<u32>().is_ok()) else { continue };
        // It may have ended since.
        table.extend(stat_of_process(folder.as_fd(), pid, ticks_per_second));
    }
    Ok(())
}

/// Reads a process's `stat`.
fn stat_of_process(proc: BorrowedFd<'_>, pid: &str, ticks_per_second: u64) -> Option<ProcessEntry> {
    let mut path = [0_u8; 24];
    let length = pid.len() + "/stat".len();
    path.get_mut(..pid.len())?.copy_from_slice(pid.as_bytes());
    path.get_mut(pid.len()..length)?.copy_from_slice(b"/stat");
    let file = openat(proc, path.get(..length)?, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut line = [0_u8; STAT_BYTES];
    let read = rustix::io::read(&file, &mut line).ok()?;
    parse_stat(&String::from_utf8_lossy(line.get(..read)?), ticks_per_second)
}

/// Reads the entry of one process.
pub(crate) fn process(pid: u32) -> Result<ProcessEntry, String> {
    let path = format!("/proc/{pid}/stat");
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    parse_stat(&text::read(&path)?, ticks_per_second).ok_or_else(|| format!("{path} does not follow proc(5)"))
}

/// The process's working folder, if it may be seen.
pub(crate) fn working_folder(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Program and arguments, if they may be seen.
pub(crate) fn command_line(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(bytes.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Identifies this boot: after the next, a pid and start time are another process.
pub(crate) fn boot_id() -> String {
    text::read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Identifies the machine by id and name: a cloned machine has the same id.
pub(crate) fn host_id() -> String {
    let identity = text::read("/etc/machine-id").unwrap_or_default();
    let name = text::read("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} {}", identity.trim(), name.trim()).trim().to_owned()
}

/// Identifies the pid namespace: a container's pid 7 is another process than the host's.
pub(crate) fn pid_namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads the machine's memory; what is available is no more than the control group has left.
pub(crate) fn memory() -> Result<Memory, String> {
    let machine = parse_meminfo(&text::read("/proc/meminfo")?).ok_or("/proc/meminfo does not follow proc(5)")?;
    let group = cgroup::own_controller("memory").ok();
    let limit_bytes = group.as_ref().and_then(cgroup::Controller::memory_limit_bytes);
    let left = group.and_then(|group| group.memory_left_bytes());
    let available_bytes = left.map_or(machine.available_bytes, |left| left.min(machine.available_bytes));
    Ok(Memory { available_bytes, limit_bytes, ..machine })
}

/// Reads the number of runnable and waiting threads over 1, 5 and 15 minutes.
pub(crate) fn load() -> Result<[f64; 3], String> {
    parse_loadavg(&text::read("/proc/loadavg")?).ok_or_else(|| "/proc/loadavg does not follow proc(5)".to_owned())
}

/// `/proc/PID/stat`. The name is in parentheses and may contain some, so the last one closes it.
fn parse_stat(line: &str, ticks_per_second: u64) -> Option<ProcessEntry> {
    let (before, rest) = line.rsplit_once(')')?;
    let (pid, name) = before.split_once('(')?;
    // Begins with field 3 of the manual: the state, the parent, and nine that are not needed here.
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number_after = |others: usize| fields.nth(others)?.parse::<u64>().ok();
    let (pid, parent) = (pid.trim().parse().ok()?, number_after(0)? as u32);
    let ticks = number_after(9)? + number_after(0)? + number_after(0)? + number_after(0)?;
    Some(ProcessEntry {
        pid,
        parent,
        name: ProcessName::new(name),
        started: number_after(4)?,
        cpu: Duration::from_nanos(ticks * (1_000_000_000 / ticks_per_second.max(1))),
        life: match state {
            "Z" | "X" => Life::Ended,
            "T" => Life::Stopped,
            _ => Life::Running,
        },
        nature: if pid == KTHREADD || parent == KTHREADD { ProcessNature::Kernel } else { ProcessNature::Program },
    })
}

fn parse_meminfo(meminfo: &str) -> Option<Memory> {
    let bytes = |key: &str| -> Option<u64> {
        let kib: u64 = text::value_of_key(meminfo, key, ':')?.trim_end_matches("kB").trim().parse().ok()?;
        Some(kib * 1024)
    };
    let swap_bytes = bytes("SwapTotal")?;
    Some(Memory {
        total_bytes: bytes("MemTotal")?,
        available_bytes: bytes("MemAvailable")?,
        limit_bytes: None,
        swap_bytes,
        swap_used_bytes: swap_bytes.saturating_sub(bytes("SwapFree")?),
    })
}

fn parse_loadavg(line: &str) -> Option<[f64; 3]> {
    let mut numbers = line.split(' ').map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = "812 (a) b (c) S 700 812 812 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 1 0 98765 1 2 3";
        let entry = parse_stat(line, 100).unwrap();
        assert_eq!((entry.pid, entry.parent, &*entry.name), (812, 700, "a) b (c"));
        assert_eq!(entry.started, 98765);
        assert_eq!(entry.cpu, Duration::from_millis(2500));
        assert_eq!(entry.life, Life::Running);
        assert_eq!(parse_stat("812 (short) S 1", 100), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let text = "MemTotal: 2048 kB\nMemFree: 5 kB\nMemAvailable: 1024 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n";
        let memory = parse_meminfo(text).unwrap();
        assert_eq!((memory.total_bytes, memory.available_bytes), (2 << 20, 1 << 20));
        assert_eq!((memory.swap_bytes, memory.swap_used_bytes), (100 << 10, 40 << 10));
    }

    #[test]
    fn load_has_three_figures() {
        assert_eq!(parse_loadavg("0.01 0.12 1.10 1/92 7857"), Some([0.01, 0.12, 1.10]));
        assert_eq!(parse_loadavg("0.01"), None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let etalon = std::process::id();
        let table = processes().unwrap();
        let entry = table.iter().find(|entry| entry.pid == etalon).unwrap();
        assert_eq!(entry.started, process(etalon).unwrap().started);
        assert_eq!(working_folder(etalon).unwrap(), std::env::current_dir().unwrap());
        assert!(!command_line(etalon).unwrap()[0].is_empty());
    }
}
