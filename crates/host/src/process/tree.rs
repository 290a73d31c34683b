use std::collections::HashMap;
use std::time::Duration;

use crate::disk::ProcIo;
use crate::system::{Life, ProcessEntry, os};

/// Parents before children. Orphans are not found: they have another parent.
pub fn tree_pids(pid: u32) -> Result<Vec<u32>, String> {
    let table = os::processes()?;
    let tree: Vec<u32> = processes_below(&table, pid).iter().map(|entry| entry.pid).collect();
    if tree.is_empty() { Err(format!("there is no process {pid}")) } else { Ok(tree) }
}

/// Since each process started. On Linux children that ended count once waited for, in steps of 10 ms; other systems
/// lose them, so a server of short-lived processes reads too low there.
pub fn tree_cpu(pid: u32) -> Result<Duration, String> {
    let table = os::processes()?;
    let tree = processes_below(&table, pid);
    if tree.is_empty() {
        return Err(format!("there is no process {pid}"));
    }
    Ok(tree.iter().map(|entry| entry.cpu).sum())
}

/// Children that ended count once waited for (Linux).
///
/// # Errors
/// There is no such process, its counters may not be read, or the operating system has none.
pub fn tree_io(pid: u32) -> Result<ProcIo, String> {
    let mut sum = ProcIo::for_process(pid)?;
    for child in tree_pids(pid)?.into_iter().filter(|&child| child != pid) {
        // One that has ended since is counted in its parent's.
        match ProcIo::for_process(child) {
            Ok(io) => sum = sum.plus(&io),
            Err(reason) if start_mark(child).is_ok() => return Err(reason),
            Err(_) => {}
        }
    }
    Ok(sum)
}

/// Start time in the operating system's unit. A pid is reused; with the start mark it names one process.
pub fn start_mark(pid: u32) -> Result<u64, String> {
    Ok(os::process(pid)?.started)
}

/// Whether that process still runs.
pub fn is_alive(pid: u32, start_mark: u64) -> bool {
    os::process(pid).is_ok_and(|entry| entry.started == start_mark && entry.life != Life::Ended)
}

/// A process and all below it.
fn processes_below(table: &[ProcessEntry], root: u32) -> Vec<&ProcessEntry> {
    let mut children: HashMap<u32, Vec<&ProcessEntry>> = HashMap::new();
    for entry in table {
        children.entry(entry.parent).or_default().push(entry);
    }
    let mut found: Vec<&ProcessEntry> = table.iter().filter(|entry| entry.pid == root).collect();
    let mut next = 0;
    while let Some(entry) = found.get(next) {
        // Removed, so that a reused parent pid (Windows) cannot make a cycle.
        for child in children.remove(&entry.pid).unwrap_or_default() {
            if child.pid != root {
                found.push(child);
            }
        }
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{ProcessName, ProcessNature};

    fn entry(pid: u32, parent: u32) -> ProcessEntry {
        let cpu = Duration::from_secs(u64::from(pid));
        let (name, nature) = (ProcessName::new(""), ProcessNature::Program);
        ProcessEntry { pid, parent, name, started: 1, cpu, life: Life::Running, nature }
    }

    #[test]
    fn a_tree_is_walked_once() {
        let table = [entry(1, 0), entry(5, 1), entry(6, 5), entry(7, 6), entry(8, 1), entry(9, 5)];
        let pids: Vec<u32> = processes_below(&table, 5).iter().map(|entry| entry.pid).collect();
        assert_eq!(pids, [5, 6, 9, 7]);
        assert!(processes_below(&table, 4).is_empty());
        let circle = [entry(5, 6), entry(6, 5)];
        assert_eq!(processes_below(&circle, 5).len(), 2);
    }

    #[test]
    fn this_process_is_alive_and_used_cpu() {
        let etalon = std::process::id();
        assert!(is_alive(etalon, start_mark(etalon).unwrap()));
        assert!(!is_alive(etalon, start_mark(etalon).unwrap() + 1));
        assert!(tree_pids(etalon).unwrap().contains(&etalon));
        assert!(tree_cpu(etalon).unwrap() >= crate::cpu::process_cpu().unwrap().saturating_sub(Duration::from_secs(1)));
        if cfg!(target_os = "linux") {
            assert!(
                tree_io(etalon).unwrap().read_calls
                    >= ProcIo::for_process(etalon).unwrap().read_calls.saturating_sub(1_000)
            );
        }
        assert!(tree_io(u32::MAX - 7).is_err());
        assert!(tree_cpu(u32::MAX - 7).is_err());
    }
}
