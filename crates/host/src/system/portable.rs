//! macOS and Windows: processes, memory and load through `sysinfo`.
//!
//! Compiled into the tests on Linux too, where its answers are compared with those of `/proc`.

use std::path::PathBuf;
use std::time::Duration;

use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::{Life, ProcessEntry, ProcessName, ProcessNature};
use crate::memory::Memory;

/// Lists all processes.
pub(crate) fn processes() -> Result<Vec<ProcessEntry>, String> {
    let system = refreshed(ProcessesToUpdate::All, ProcessRefreshKind::nothing().with_cpu())?;
    Ok(system.processes().values().map(entry).collect())
}

/// Reads as [`processes`] does; `sysinfo` keeps no memory for the next time.
pub(crate) fn read_processes(table: &mut Vec<ProcessEntry>) -> Result<(), String> {
    *table = processes()?;
    Ok(())
}

/// Reads the entry of one process.
pub(crate) fn process(pid: u32) -> Result<ProcessEntry, String> {
    let pid = Pid::from_u32(pid);
    let system = refreshed(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing().with_cpu())?;
    system.process(pid).map(entry).ok_or_else(|| format!("there is no process {pid}"))
}

/// The folder that a process works in.
pub(crate) fn working_folder(pid: u32) -> Option<PathBuf> {
    let pid = Pid::from_u32(pid);
    let system = refreshed(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always));
    system.ok()?.process(pid)?.cwd().map(PathBuf::from)
}

/// The command line of a process.
pub(crate) fn command_line(pid: u32) -> Option<Vec<String>> {
    let pid = Pid::from_u32(pid);
    let system = refreshed(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always));
    Some(system.ok()?.process(pid)?.cmd().iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Returns nothing: start times count from 1970, so that it is not needed.
pub(crate) fn boot_id() -> String {
    String::new()
}

/// The machine's name.
pub(crate) fn host_id() -> String {
    System::host_name().unwrap_or_default()
}

/// The namespace of processes: there is only one.
pub(crate) fn pid_namespace() -> String {
    String::new()
}

/// Reads how much memory there is.
pub(crate) fn memory() -> Result<Memory, String> {
    let mut system = System::new().map_err(|cause| format!("cannot ask the system: {cause:?}"))?;
    system.refresh_memory();
    if system.total_memory() == 0 {
        return Err("the system did not say how much memory it has".to_owned());
    }
    Ok(Memory {
        total_bytes: system.total_memory(),
        available_bytes: system.available_memory(),
        limit_bytes: None,
        swap_bytes: system.total_swap(),
        swap_used_bytes: system.used_swap(),
    })
}

/// Reads the load averages.
pub(crate) fn load() -> Result<[f64; 3], String> {
    if cfg!(windows) {
        return Err("Windows keeps no load average".to_owned());
    }
    let load = System::load_average().map_err(|cause| format!("cannot read the load average: {cause:?}"))?;
    Ok([load.one, load.five, load.fifteen])
}

/// Asks the system for these processes.
fn refreshed(which: ProcessesToUpdate<'_>, what: ProcessRefreshKind) -> Result<System, String> {
    let mut system = System::new().map_err(|cause| format!("cannot ask the system: {cause:?}"))?;
    system.refresh_processes_specifics(which, true, what.without_tasks());
    Ok(system)
}

/// The entry of a process.
fn entry(process: &sysinfo::Process) -> ProcessEntry {
    let name = process.name().to_string_lossy();
    ProcessEntry {
        pid: process.pid().as_u32(),
        parent: process.parent().map_or(0, Pid::as_u32),
        name: ProcessName::new(name.strip_suffix(".exe").unwrap_or(&name)),
        started: process.start_time(),
        cpu: Duration::from_millis(process.accumulated_cpu_time()),
        life: match process.status() {
            ProcessStatus::Zombie | ProcessStatus::Dead => Life::Ended,
            ProcessStatus::Stop => Life::Stopped,
            _ => Life::Running,
        },
        // The idle process and the kernel: 0 and 4 on Windows, 0 on macOS.
        nature: match process.pid().as_u32() {
            0 => ProcessNature::Kernel,
            4 if cfg!(windows) => ProcessNature::Kernel,
            _ => ProcessNature::Program,
        },
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::linux;
    use super::*;

    #[test]
    fn it_agrees_with_proc_about_this_process() {
        let etalon = std::process::id();
        let (here, proc) = (process(etalon).unwrap(), linux::process(etalon).unwrap());
        assert_eq!((here.pid, here.parent, here.life), (proc.pid, proc.parent, proc.life));
        let used = crate::cpu::process_cpu().unwrap();
        assert!(here.cpu.abs_diff(used) < Duration::from_secs(1), "{here:?} {used:?}");
        assert_eq!(working_folder(etalon), linux::working_folder(etalon));
        let mut table = Vec::new();
        read_processes(&mut table).unwrap();
        assert!(table.iter().any(|entry| entry.pid == etalon && entry.nature == ProcessNature::Program));
        assert!(command_line(etalon).is_some_and(|words| !words.is_empty()));
    }

    #[test]
    fn it_agrees_with_proc_about_memory_and_load() {
        assert_eq!(memory().unwrap().total_bytes, linux::memory().unwrap().total_bytes);
        assert!((load().unwrap()[2] - linux::load().unwrap()[2]).abs() < 1.0);
        assert_eq!(boot_id(), "");
        assert!(!host_id().is_empty() && linux::host_id().ends_with(&host_id()), "{} {}", host_id(), linux::host_id());
        assert_eq!(pid_namespace(), "");
        assert!(process(u32::MAX - 7).is_err());
    }
}
