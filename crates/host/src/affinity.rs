//! Binding threads to cores.

/// `cores` counts from 0 as the operating system does; the thread may run on any of those that exist.
#[cfg(target_os = "linux")]
pub fn pin_thread(cores: &[usize]) -> Result<(), String> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    for &core in cores {
        if core >= CpuSet::MAX_CPU {
            return Err(format!("core {core} is beyond the {} that can be named", CpuSet::MAX_CPU));
        }
        set.set(core);
    }
    sched_setaffinity(None, &set).map_err(|cause| format!("cannot bind the thread to {}: {cause}", cores_text(cores)))
}

/// Names cores for a message: `core 3`, `cores 0, 2`.
#[cfg(target_os = "linux")]
fn cores_text(cores: &[usize]) -> String {
    let all: Vec<String> = cores.iter().map(usize::to_string).collect();
    format!("{} {}", if all.len() == 1 { "core" } else { "cores" }, all.join(", "))
}

/// Lists the cores that this thread may run on, ascending.
#[cfg(target_os = "linux")]
pub fn allowed_cores() -> Result<Vec<usize>, String> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).map_err(|cause| format!("cannot read the thread's affinity: {cause}"))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect())
}

/// Binds the calling thread to these cores.
#[cfg(windows)]
pub fn pin_thread(cores: &[usize]) -> Result<(), String> {
    crate::system::windows::pin_thread(cores)
}

/// Fails: the affinity of a thread cannot be read here.
#[cfg(windows)]
pub fn allowed_cores() -> Result<Vec<usize>, String> {
    Err("Windows has no call that reads a thread's affinity without changing it".to_owned())
}

/// Fails: this system does not bind threads to cores.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn pin_thread(_cores: &[usize]) -> Result<(), String> {
    Err("this operating system does not bind threads to cores (macOS takes hints only)".to_owned())
}

/// Fails: this system does not bind threads to cores.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn allowed_cores() -> Result<Vec<usize>, String> {
    Err("this operating system does not bind threads to cores".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_bound() {
        std::thread::spawn(|| {
            let allowed = allowed_cores().unwrap();
            let last = *allowed.last().unwrap();
            pin_thread(&allowed).unwrap();
            assert_eq!(allowed_cores().unwrap(), allowed);
            pin_thread(&[last]).unwrap();
            assert_eq!(allowed_cores().unwrap(), [last]);
            assert_eq!(rustix::thread::sched_getcpu(), last);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error() {
        assert!(pin_thread(&[1_000_000]).unwrap_err().contains("1000000"));
        assert!(pin_thread(&[1023]).unwrap_err().contains("core 1023"));
        assert!(pin_thread(&[]).is_err());
    }
}
