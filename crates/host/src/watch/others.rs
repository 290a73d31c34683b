//! The CPU time of programs that have nothing to do with a measurement, from two readings of the process table.

use std::fmt;
use std::time::Duration;

use super::frozen::Freezers;
use super::listener;
use crate::system::{Life, ProcessEntry, ProcessName, ProcessNature, os};

/// Named; the rest is in the sum.
const MOST_NAMES: usize = 3;

/// CPU time that other programs used, in cores: 1 is one processor all the time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherLoad {
    /// Over the whole time.
    pub mean_cores: f64,
    /// Cores in the worst time between two looks, of a second or more.
    pub peak_cores: f64,
    /// Those that used most, at most three.
    pub programs: Vec<Program>,
    /// Among all: scanners, backups and updates.
    pub(crate) used: Vec<(ProcessName, f64)>,
}

/// A program without its arguments, which may hold secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub name: String,
    /// Cores on average.
    pub cores: f64,
    /// The process that used most of it, with its children of the same name. `None` where no single one did, or it has ended.
    pub main: Option<MainProcess>,
}

/// A process to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MainProcess {
    pub pid: u32,
    /// `port 5432`, `service nginx.service`; `None` where it is not known.
    pub serves: Option<String>,
}

impl fmt::Display for Program {
    /// `postgres 1.1 (pid 812, port 5432)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.1}", self.name, self.cores)?;
        let Some(MainProcess { pid, serves }) = &self.main else { return Ok(()) };
        let serves = serves.as_ref().map_or_else(String::new, |serves| format!(", {serves}"));
        write!(f, " (pid {pid}{serves})")
    }
}

/// What processes of one name have used that descend from each other.
#[derive(Debug)]
struct Used {
    name: ProcessName,
    /// Number and start of the first of them.
    first: (u32, u64),
    cpu: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Unknown,
    Measured,
    Kernel,
    Other,
}

/// Two readings of the process table, and what other programs have used since the first one ever. The memory is used again:
/// a look allocates nothing once the tables have grown.
#[derive(Debug)]
pub(super) struct OtherUsage {
    /// Processes that are measured, with all their descendants.
    roots: Vec<u32>,
    before: Vec<ProcessEntry>,
    now: Vec<ProcessEntry>,
    sides: Vec<Side>,
    /// Time by index in `now`: what ended descendants had used when they were seen last, which is in their ancestor's
    /// time since.
    inherited: Vec<Duration>,
    used: Vec<Used>,
    freezers: Freezers,
    /// A process of those that are measured which was stopped or frozen at a look.
    stopped: Option<(u32, ProcessName)>,
    /// Other étalons, each of which looks at its own pauses: in this run one may have nothing to do.
    co_located: Vec<u32>,
}

impl OtherUsage {
    /// Takes the first reading of the process table.
    ///
    /// # Errors
    /// The process table cannot be read, or shows only a part of the machine.
    pub(super) fn begin(mut roots: Vec<u32>, co_located: &[u32]) -> Result<OtherUsage, String> {
        let (mut now, many) = (os::processes()?, 256);
        let is_whole = !cfg!(target_os = "linux") || now.iter().any(|entry| entry.nature == ProcessNature::Kernel);
        if !is_whole {
            let cause = "only some of the machine's processes are visible here, as in a container or where /proc is mounted \
                         with hidepid, so the load of other programs is not known";
            return Err(cause.to_owned());
        }
        now.sort_unstable_by_key(|entry| entry.pid);
        let room = now.len() + many;
        roots.extend(co_located);
        Ok(OtherUsage {
            roots,
            before: Vec::with_capacity(room),
            now,
            sides: Vec::with_capacity(room),
            inherited: Vec::with_capacity(room),
            used: Vec::with_capacity(many),
            freezers: Freezers::of_this_machine(),
            stopped: None,
            co_located: co_located.to_vec(),
        })
    }

    /// CPU time of other programs since the last look.
    pub(super) fn sample(&mut self) -> Result<Duration, String> {
        std::mem::swap(&mut self.before, &mut self.now);
        os::read_processes(&mut self.now)?;
        self.now.sort_unstable_by_key(|entry| entry.pid);
        Ok(self.add_up_others())
    }

    /// `postgres (pid 812)`
    pub(super) fn stopped_process(&self) -> Option<String> {
        self.stopped.map(|(pid, name)| format!("{} (pid {pid})", &*name))
    }

    /// Adds up what other programs used since the last reading, and notes a measured process that is stopped.
    fn add_up_others(&mut self) -> Duration {
        self.find_sides();
        self.find_inherited();
        let mut sum = Duration::ZERO;
        for (place, ((entry, side), inherited)) in self.now.iter().zip(&self.sides).zip(&self.inherited).enumerate() {
            let is_stopped = *side == Side::Measured && (entry.life == Life::Stopped || self.is_frozen(entry));
            if is_stopped && !self.co_located.contains(&entry.pid) {
                self.stopped = Some((entry.pid, entry.name));
            }
            if *side != Side::Other {
                continue;
            }
            let before = same_process(&self.before, entry).map_or(Duration::ZERO, |before| before.cpu);
            let used = entry.cpu.saturating_sub(before).saturating_sub(*inherited);
            if used.is_zero() {
                continue;
            }
            sum += used;
            let first = first_of_name(&self.now, place);
            match self.used.iter_mut().find(|known| known.name == entry.name && known.first == first) {
                Some(known) => known.cpu += used,
                None => self.used.push(Used { name: entry.name, first, cpu: used }),
            }
        }
        sum
    }

    /// Servers fork from their first process, which is a root or which étalon started: the group of that one is theirs.
    fn is_frozen(&self, entry: &ProcessEntry) -> bool {
        let is_first = self.roots.contains(&entry.pid) || self.roots.contains(&entry.parent);
        is_first && self.freezers.hold(entry.pid)
    }

    /// Finds each process's side: measured, the kernel's or another.
    fn find_sides(&mut self) {
        self.sides.clear();
        self.sides.resize(self.now.len(), Side::Unknown);
        for place in 0..self.now.len() {
            let side = self.side_of(place);
            if let Some(slot) = self.sides.get_mut(place) {
                *slot = side;
            }
        }
    }

    /// The side by the nearest ancestor that decides it.
    fn side_of(&self, place: usize) -> Side {
        let mut at = Some(place);
        // A parent's number may have been given to a descendant (Windows): no longer than the table.
        for _ in 0..self.now.len() {
            let Some(entry) = at.and_then(|at| self.now.get(at)) else { return Side::Other };
            if self.roots.contains(&entry.pid) {
                return Side::Measured;
            }
            if entry.nature == ProcessNature::Kernel {
                return Side::Kernel;
            }
            match at.and_then(|at| self.sides.get(at)) {
                Some(Side::Unknown) | None => at = index_of_pid(&self.now, entry.parent),
                Some(known) => return *known,
            }
        }
        Side::Other
    }

    /// Finds the time of ended children that their parents' counters now have.
    fn find_inherited(&mut self) {
        self.inherited.clear();
        self.inherited.resize(self.now.len(), Duration::ZERO);
        for gone in self.before.iter().filter(|entry| same_process(&self.now, entry).is_none()) {
            let mut parent = gone.parent;
            for _ in 0..self.before.len() {
                let Some(ancestor) = index_of_pid(&self.before, parent).and_then(|place| self.before.get(place)) else {
                    break;
                };
                let heir = index_of_pid(&self.now, ancestor.pid)
                    .filter(|&place| self.now.get(place).is_some_and(|now| now.started == ancestor.started));
                match heir.and_then(|place| self.inherited.get_mut(place)) {
                    Some(inherited) => {
                        *inherited += gone.cpu;
                        break;
                    }
                    None => parent = ancestor.parent,
                }
            }
        }
    }

    /// What other programs used on average and at most.
    pub(super) fn other_load(self, elapsed: Duration, peak_cores: f64) -> OtherLoad {
        let seconds = elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut used: Vec<(ProcessName, f64)> = Vec::new();
        for Used { name, cpu, .. } in &self.used {
            let cores = cpu.as_secs_f64() / seconds;
            match used.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => *all += cores,
                None => used.push((*name, cores)),
            }
        }
        used.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mean_cores = used.iter().map(|(_, cores)| cores).sum();
        let programs = used.iter().take(MOST_NAMES).map(|(name, cores)| Program {
            name: name.to_string(),
            cores: *cores,
            main: self.main_process(*name),
        });
        let programs = programs.collect();
        OtherLoad { mean_cores, peak_cores: f64::max(peak_cores, mean_cores), programs, used }
    }

    /// The process of a name that used more than all others of that name, and runs on.
    fn main_process(&self, name: ProcessName) -> Option<MainProcess> {
        let of_name = || self.used.iter().filter(|used| used.name == name);
        let most = of_name().max_by_key(|used| used.cpu)?;
        let all: Duration = of_name().map(|used| used.cpu).sum();
        let (pid, started) = most.first;
        let entry = self.now.get(index_of_pid(&self.now, pid)?).filter(|entry| entry.started == started)?;
        (2 * most.cpu > all).then(|| MainProcess { pid: entry.pid, serves: listener::served_by(pid) })
    }
}

/// Number and start of the farthest ancestor that is reached by ancestors of the same name alone.
fn first_of_name(table: &[ProcessEntry], place: usize) -> (u32, u64) {
    let Some(mut first) = table.get(place) else { return (0, 0) };
    // A parent's number may have been given to a descendant (Windows): no longer than the table.
    for _ in 0..table.len() {
        match index_of_pid(table, first.parent).and_then(|place| table.get(place)) {
            Some(parent) if parent.name == first.name => first = parent,
            _ => break,
        }
    }
    (first.pid, first.started)
}

/// The index of a process in a table sorted by number.
fn index_of_pid(table: &[ProcessEntry], pid: u32) -> Option<usize> {
    table.binary_search_by_key(&pid, |entry| entry.pid).ok()
}

/// The same process in another table. One that has ended and is still listed has its time where it was.
fn same_process<'t>(table: &'t [ProcessEntry], entry: &ProcessEntry) -> Option<&'t ProcessEntry> {
    table.get(index_of_pid(table, entry.pid)?).filter(|found| found.started == entry.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: u32, parent: u32, name: &str, cpu_ms: u64) -> ProcessEntry {
        let nature = if pid == 2 || parent == 2 { ProcessNature::Kernel } else { ProcessNature::Program };
        let name = ProcessName::new(name);
        ProcessEntry { pid, parent, name, started: 1, cpu: Duration::from_millis(cpu_ms), life: Life::Running, nature }
    }

    fn usage_between(before: &[ProcessEntry], now: &[ProcessEntry], co_located: Vec<u32>) -> OtherUsage {
        OtherUsage {
            roots: vec![50],
            before: before.to_vec(),
            now: now.to_vec(),
            sides: Vec::new(),
            inherited: Vec::new(),
            used: Vec::new(),
            freezers: Freezers::of_this_machine(),
            stopped: None,
            co_located,
        }
    }

    fn tally(before: &[ProcessEntry], now: &[ProcessEntry]) -> (Duration, OtherLoad) {
        let mut tally = usage_between(before, now, Vec::new());
        let sum = tally.add_up_others();
        (sum, tally.other_load(Duration::from_secs(2), 0.0))
    }

    #[test]
    fn what_is_measured_and_the_kernel_are_no_others() {
        fn at(cpu: u64) -> [ProcessEntry; 8] {
            [
                entry(1, 0, "init", 100),
                entry(2, 0, "kthreadd", cpu),
                entry(30, 2, "kworker/0:1", cpu),
                entry(40, 1, "rsync", cpu),
                entry(41, 40, "ssh", cpu / 2),
                entry(50, 1, "etalon", cpu),
                entry(60, 50, "server", cpu),
                entry(61, 60, "backend", cpu),
            ]
        }
        let (sum, load) = tally(&at(0), &at(1_000));
        assert_eq!(sum, Duration::from_millis(1_500));
        assert_eq!((load.mean_cores, load.peak_cores), (0.75, 0.75));
        let names: Vec<&str> = load.programs.iter().map(|program| &*program.name).collect();
        assert_eq!(names, ["rsync", "ssh"]);
    }

    #[test]
    fn another_etalon_that_stood_still_is_not_what_is_measured() {
        for (co_located, stopped) in [(vec![], Some("etalon (pid 50)")), (vec![50], None)] {
            let still = ProcessEntry { life: Life::Stopped, ..entry(50, 1, "etalon", 0) };
            let mut usage = usage_between(&[still], &[still], co_located);
            usage.add_up_others();
            assert_eq!(usage.stopped_process().as_deref(), stopped);
        }
    }

    #[test]
    fn a_child_that_ended_is_not_counted_again_in_its_parent() {
        let before =
            [entry(1, 0, "init", 0), entry(40, 1, "make", 500), entry(41, 40, "sh", 0), entry(42, 41, "cc1", 3_000)];
        // The compiler used 200 ms more, and the shell is gone, too.
        let now = [entry(1, 0, "init", 0), entry(40, 1, "make", 3_700)];
        let (sum, load) = tally(&before, &now);
        assert_eq!(sum, Duration::from_millis(200));
        assert_eq!(load.programs[0].name, "make");
    }

    #[test]
    fn a_program_is_named_with_the_process_that_used_most() {
        fn at(cpu: u64) -> [ProcessEntry; 6] {
            [
                entry(1, 0, "init", 0),
                // A server with a child for each client.
                entry(5_000_040, 1, "postgres", 0),
                entry(5_000_041, 5_000_040, "postgres", cpu),
                entry(5_000_042, 5_000_040, "postgres", cpu),
                entry(5_000_060, 1, "cc1", cpu / 2),
                entry(5_000_061, 1, "cc1", cpu / 2),
            ]
        }
        let (_, load) = tally(&at(0), &at(1_000));
        let words: Vec<String> = load.programs.iter().map(Program::to_string).collect();
        assert_eq!(words, ["postgres 1.0 (pid 5000040)", "cc1 0.5"], "neither compiler used most");
        let served = Program {
            main: Some(MainProcess { pid: 812, serves: Some("port 5432".to_owned()) }),
            ..load.programs[0].clone()
        };
        assert_eq!(served.to_string(), "postgres 1.0 (pid 812, port 5432)");
    }

    #[test]
    fn a_number_that_is_given_again_is_another_process() {
        let before = [entry(40, 1, "old", 9_000)];
        let now = [ProcessEntry { started: 2, ..entry(40, 1, "new", 400) }];
        assert_eq!(tally(&before, &now).0, Duration::from_millis(400));
        let circle = [entry(40, 41, "a", 0), entry(41, 40, "b", 0)];
        assert_eq!(tally(&circle, &circle).0, Duration::ZERO);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_look_is_cheap_and_takes_no_new_memory() {
        const LOOKS: u32 = 50;
        let mut tally = OtherUsage::begin(vec![std::process::id()], &[]).unwrap();
        tally.sample().unwrap();
        fn room(usage: &OtherUsage) -> [usize; 2] {
            [usage.before.capacity() + usage.now.capacity(), usage.sides.capacity()]
        }
        let (before, cpu) = (room(&tally), crate::cpu::thread_cpu().unwrap());
        for _ in 0..LOOKS {
            tally.sample().unwrap();
        }
        let each = (crate::cpu::thread_cpu().unwrap() - cpu) / LOOKS;
        println!("a look at {} processes took {each:?}", tally.now.len());
        // Programs that others start meanwhile need some.
        let grows = room(&tally).into_iter().zip(before).any(|(now, before)| now > 2 * before);
        assert!(!grows, "{:?} after {before:?}", room(&tally));
        // An optimised build takes a third of it, and dear looks come less often.
        assert!(each < Duration::from_micros(200) * tally.now.len() as u32, "{each:?}");
    }
}
