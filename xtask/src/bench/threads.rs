//! How many threads suit each tool best: short runs before the blocks.

use std::collections::BTreeMap;

use stats::{Sample, TrialValue, summarise};

use super::entries::{Entry, Threads, Tool};
use super::record::{Failure, Header};
use super::tools::Runner;

/// How often each number of threads is tried.
const TRIES: u32 = 4;
/// How long each try lasts.
const SECONDS: u32 = 2;

/// The numbers of threads that are tried: 1, 2, and one for each core, but no more than there are clients.
fn candidates(clients: u32) -> Vec<u32> {
    let cores = host::cpu::available_cores() as u32;
    let mut numbers: Vec<u32> = [1, 2, cores].into_iter().filter(|threads| *threads <= clients.max(1)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Finds the threads of every entry, and entries that are the same command with them. Gives the runs that failed.
pub fn search(runner: &mut Runner, entries: &[Entry], header: &mut Header) -> Vec<Failure> {
    let mut failures = Vec::new();
    for entry in entries {
        let key = entry.key();
        let Entry::Client { tool, place, load, threads } = *entry else { continue };
        let threads = match (threads, tool) {
            (Threads::One, _) => 1,
            (Threads::Best, Tool::Sysbench | Tool::Mysqlslap) => place.clients,
            (Threads::Best, _) => {
                let (rates, failed) = try_all(runner, entry, &candidates(place.clients));
                failures.extend(failed);
                let best = best(&rates);
                header.searched.insert(key.clone(), rates);
                best
            }
        };
        header.threads.insert(key.clone(), threads);
        let single = Entry::Client { tool, place, load, threads: Threads::One };
        if threads == 1 && single != *entry && entries.contains(&single) {
            header.same_as.insert(key, single.key());
        }
    }
    failures
}

fn try_all(runner: &mut Runner, entry: &Entry, numbers: &[u32]) -> (Vec<(u32, Vec<f64>)>, Option<Failure>) {
    let mut rates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    if let [only] = numbers {
        return (vec![(*only, Vec::new())], None);
    }
    for _ in 0..TRIES {
        for threads in numbers {
            match runner.run(entry, *threads, SECONDS) {
                Ok(run) => rates.entry(*threads).or_default().push(run.rate_per_s),
                Err(error) => {
                    let failure = Failure { key: entry.key(), block: 0, reason: format!("{error:#}") };
                    return (rates.into_iter().collect(), Some(failure));
                }
            }
        }
    }
    (rates.into_iter().collect(), None)
}

/// The number with the highest median rate; 1 where there is nothing to choose.
fn best(rates: &[(u32, Vec<f64>)]) -> u32 {
    let trials =
        |rates: &[f64]| Sample::from_trials((1..).zip(rates).map(|(block, &value)| TrialValue { block, value }));
    let median = |rates: &[f64]| summarise(&trials(rates)).map_or(0.0, |summary| summary.median);
    let highest = rates.iter().max_by(|a, b| median(&a.1).total_cmp(&median(&b.1)));
    highest.map_or(1, |(threads, _)| *threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_median_wins_and_one_client_has_one_thread() {
        assert_eq!(best(&[(1, vec![10.0, 12.0]), (2, vec![9.0, 12.0, 20.0])]), 2);
        assert_eq!(best(&[]), 1);
        assert_eq!(candidates(1), [1]);
        assert!(candidates(80).contains(&2));
    }
}
