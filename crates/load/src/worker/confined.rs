//! The limits on the load's threads in their use of the processors.

use serde::{Deserialize, Serialize};

/// Threads of one host that may run on the same processors, with what they used in the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confined {
    /// The processors of the threads' affinity; empty where the operating system does not report it.
    pub cpus: Vec<usize>,
    /// The tightest quota of their control groups; `None` is no limit.
    pub quota_cores: Option<f64>,
    pub threads: usize,
    pub cpu_ns: u64,
}

impl Confined {
    /// The calling thread, which has used nothing yet.
    pub fn of_this_thread() -> Confined {
        let cpus = host::affinity::allowed_cores().unwrap_or_default();
        Confined { cpus, quota_cores: host::cpu::quota_cores(), threads: 1, cpu_ns: 0 }
    }

    /// The cores that all of them together can keep busy.
    pub fn usable_cores(&self) -> f64 {
        let bound = if self.cpus.is_empty() { self.threads } else { self.threads.min(self.cpus.len()) };
        self.quota_cores.map_or(bound as f64, |quota| quota.min(bound as f64))
    }

    /// The share of it that they used in `window_ns`.
    pub fn busy_share(&self, window_ns: u64) -> f64 {
        self.cpu_ns as f64 / window_ns.max(1) as f64 / self.usable_cores().max(f64::MIN_POSITIVE)
    }

    /// Threads of one host, those with the same processors and quota together.
    pub fn merge_alike(threads: Vec<Confined>) -> Vec<Confined> {
        let mut all: Vec<Confined> = Vec::new();
        for thread in threads {
            let same = all.iter_mut().find(|one| one.cpus == thread.cpus && one.quota_cores == thread.quota_cores);
            match same {
                Some(known) => {
                    known.threads += thread.threads;
                    known.cpu_ns = known.cpu_ns.saturating_add(thread.cpu_ns);
                }
                None => all.push(thread),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(cpus: &[usize], quota_cores: Option<f64>, busy: f64) -> Confined {
        Confined { cpus: cpus.to_vec(), quota_cores, threads: 1, cpu_ns: (busy * 1e9) as u64 }
    }

    #[test]
    fn threads_on_one_processor_share_it() {
        let four = Confined::merge_alike((0..4).map(|_| thread(&[1], None, 0.24)).collect());
        assert_eq!((four.len(), four[0].threads, four[0].usable_cores()), (1, 4, 1.0));
        assert!((four[0].busy_share(1_000_000_000) - 0.96).abs() < 1e-9);
        let apart = Confined::merge_alike(vec![thread(&[0], None, 0.24), thread(&[1], None, 0.24)]);
        assert_eq!(apart.iter().map(|one| one.busy_share(1_000_000_000)).collect::<Vec<_>>(), [0.24, 0.24]);
    }

    #[test]
    fn a_quota_is_what_threads_may_use() {
        let limited = thread(&[0, 1], Some(0.15), 0.147);
        assert!((limited.busy_share(1_000_000_000) - 0.98).abs() < 1e-9);
        assert_eq!(thread(&[], None, 0.5).busy_share(1_000_000_000), 0.5);
        assert_eq!(thread(&[0, 1], Some(1.5), 0.5).usable_cores(), 1.0, "a thread runs on one processor at a time");
    }
}
