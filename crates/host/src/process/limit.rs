//! Limits processes' CPU and disk throughput by control groups (Linux).
//!
//! Version 2: <https://docs.kernel.org/admin-guide/cgroup-v2.html>, `cpu.max` and `io.max`. Version 1:
//! <https://docs.kernel.org/scheduler/sched-bwc.html> and
//! <https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html>; there only reads, direct writes and syncs of
//! a process are limited, not the kernel's later writeback.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::tree::{start_mark, tree_pids};
use crate::disk::{LayerKind, layers_of};
use crate::error::HostError;
use crate::scratch::Scratch;
use crate::system::cgroup::{self, Controller, Version};
use crate::system::text;

/// The kernel's default period.
const PERIOD_US: u64 = 100_000;
/// The kernel's minimum.
const SHORTEST_QUOTA_US: f64 = 1_000.0;
/// Lists a group's processes and takes new ones.
const MEMBERS: &str = "cgroup.procs";
/// The files of version 1 that hold reads and writes.
const V1_THROTTLES: [&str; 2] = ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"];
/// Passes over a process tree to catch new members.
const LOOKS: u32 = 5;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// CPU time per time of all together, such as 0.5; `None` is no limit.
    pub cores: Option<f64>,
    /// `None` is no limit.
    pub io: Option<IoBound>,
}

/// How fast processes may read and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoBound {
    /// Bytes a second of all processes together, for reads and for writes, on each disk.
    pub bytes_s: u64,
    /// The disks under these folders are limited.
    pub folders: Vec<PathBuf>,
}

impl Bounds {
    /// Bounds on the CPU alone.
    pub fn of_cores(cores: f64) -> Bounds {
        Bounds { cores: Some(cores), io: None }
    }

    /// Tests whether nothing is bounded.
    pub fn are_none(&self) -> bool {
        self.cores.is_none() && self.io.is_none()
    }
}

/// The processes that are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitTarget {
    /// A process, its descendants, and what they start later.
    Tree(u32),
    /// Étalon and what it starts later, not what it has started before.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) path: PathBuf,
    /// The group that its processes came from.
    pub(crate) home: PathBuf,
}

/// A limit until dropped; then the processes return to their groups. [`crate::scratch::find_abandoned`] finds the
/// groups of a killed étalon.
#[derive(Debug)]
pub struct Limit {
    groups: Vec<Group>,
    /// Present if étalon itself is limited in version 2.
    keeper: Option<Keeper>,
    /// Names the groups for cleaning up.
    note: Option<Scratch>,
}

/// An idle process that stays in étalon's group. Systemd removes a scope when its last process leaves, and with it the
/// delegated controllers: nothing would be limited, and there would be no way back.
#[derive(Debug)]
struct Keeper(Child);

struct Wanted {
    controller: Controller,
    /// Controllers that version 2 needs.
    needs: Vec<&'static str>,
    lines: Vec<(&'static str, String)>,
}

/// Version 2's files and their controllers.
const V2_FILES: [(&str, &str); 2] = [("cpu.max", "cpu"), ("io.max", "io")];

impl Limit {
    /// Limits processes by control groups.
    pub fn apply(target: LimitTarget, bounds: &Bounds) -> Result<Limit, HostError> {
        let refused = |reason: String| HostError::unavailable("hold processes to a limit", reason);
        let root = match target {
            LimitTarget::Own => "self".to_owned(),
            LimitTarget::Tree(root) => root.to_string(),
        };
        let wanted = wanted_groups(bounds, &root).map_err(refused)?;
        let mut limit = Limit { groups: Vec::new(), keeper: None, note: Some(Scratch::new("limit", None)?) };
        for wanted in &wanted {
            limit.make_group(wanted).map_err(refused)?;
        }
        let leaves = matches!(target, LimitTarget::Own) || target == LimitTarget::Tree(std::process::id());
        if leaves && wanted.iter().any(|one| one.controller.version == Version::Two) {
            limit.keeper = Some(Keeper::start().map_err(refused)?);
        }
        match target {
            LimitTarget::Own => limit.enter_process(std::process::id()).map_err(refused)?,
            LimitTarget::Tree(root) => limit.enter_tree(root).map_err(refused)?,
        }
        Ok(limit)
    }

    /// Lifts the limit, and reports errors.
    pub fn release(mut self) -> Result<(), HostError> {
        self.let_go()
    }

    /// Makes a group as near to the processes' own as possible.
    fn make_group(&mut self, wanted: &Wanted) -> Result<(), String> {
        let folders = &wanted.controller.folders;
        let home = folders.first().cloned().ok_or("the process is in no control group")?;
        let mut refusals = Vec::new();
        // In version 2 a group with processes cannot limit subgroups, but one above may.
        for folder in folders {
            let name = format!("etalon-{}-{}", std::process::id(), crate::scratch::random_name());
            let group = Group { path: folder.join(name), home: home.clone() };
            match self.make_in(folder, &group, wanted) {
                Ok(()) => return Ok(()),
                Err(reason) => refusals.push(Refusal { reason, is_open: can_be_entered(folder) }),
            }
        }
        Err(to_report(refusals))
    }

    /// Makes a group with these limits in a folder.
    fn make_in(&mut self, folder: &Path, group: &Group, wanted: &Wanted) -> Result<(), String> {
        check_delegation(folder, wanted)?;
        if let Some(note) = &self.note {
            // Before it exists: a note without a group does no harm.
            note.claim_group(group).map_err(|error| error.to_string())?;
        }
        let path = &group.path;
        fs::create_dir(path).map_err(|error| {
            let asks =
                wanted.controller.version == Version::Two && error.kind() == std::io::ErrorKind::PermissionDenied;
            let master = Master::of_this_machine();
            let hint = if asks && master == Master::SystemdForUser {
                format!("; {}", how_to_delegate(&wanted.needs, true, master, path))
            } else {
                String::new()
            };
            format!("cannot make the control group {}: {error}{hint}", path.display())
        })?;
        for (file, line) in &wanted.lines {
            fs::write(path.join(file), line).map_err(|error| {
                let _ = fs::remove_dir(path);
                format!("cannot write `{line}` into {}: {error}", path.join(file).display())
            })?;
        }
        self.groups.push(group.clone());
        Ok(())
    }

    /// Moves a process and all below it into the groups.
    fn enter_tree(&self, root: u32) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        // Catches processes started before their parent was moved.
        for _ in 0..LOOKS {
            let keeper = self.keeper.as_ref().map(|keeper| keeper.0.id());
            let tree = tree_pids(root)?.into_iter();
            let new: Vec<u32> = tree.filter(|&pid| Some(pid) != keeper && seen.insert(pid)).collect();
            if new.is_empty() {
                break;
            }
            new.into_iter().try_for_each(|pid| self.enter_process(pid))?;
        }
        Ok(())
    }

    /// Moves a process into the groups; one that has ended is no error.
    fn enter_process(&self, pid: u32) -> Result<(), String> {
        for group in &self.groups {
            match write_member(&group.path, pid) {
                Err(error) if start_mark(pid).is_ok() => {
                    return Err(format!("cannot put process {pid} into {}: {error}", group.path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the groups, the last made first.
    fn let_go(&mut self) -> Result<(), HostError> {
        let mut failed = Ok(());
        // The last made may lie in an earlier one.
        for group in self.groups.drain(..).rev() {
            failed = failed.and(group.remove());
        }
        drop(self.keeper.take());
        match (&failed, self.note.take()) {
            (Ok(()), note) => drop(note),
            // `find_abandoned` finds it once this étalon has ended.
            (Err(_), note) => std::mem::forget(note),
        }
        failed
    }
}

impl Keeper {
    /// Starts it in étalon's group.
    fn start() -> Result<Keeper, String> {
        // `cat` ends with its input, and so with étalon.
        let mut cat = Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        super::os::apart_from_terminal(&mut cat);
        let tried = "cannot start `cat`, which is to keep étalon's own control group from being taken away";
        cat.spawn().map(Keeper).map_err(|error| format!("{tried}: {error}"))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Call `release` to get the error.
        let _ = self.let_go();
    }
}

impl Group {
    /// Releases its processes and removes it; a missing group is no error.
    pub(crate) fn remove(&self) -> Result<(), HostError> {
        // First, so that nothing stays limited if the processes cannot return.
        self.lift_limits();
        let mut last = Ok(());
        // A process being started may be missed by the first pass.
        for _ in 0..10 {
            let members = fs::read_to_string(self.path.join(MEMBERS)).unwrap_or_default();
            for pid in members.lines().filter_map(|line| line.parse().ok()) {
                // It may have ended.
                let _ = write_member(&self.home, pid);
            }
            last = match fs::remove_dir(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => return Ok(()),
            };
            std::thread::sleep(Duration::from_millis(20));
        }
        last.map_err(HostError::at("remove the control group", &self.path))
    }

    /// Removes its limits. The files depend on the version; others are skipped.
    fn lift_limits(&self) {
        for (file, none) in [("cpu.max", "max"), ("cpu.cfs_quota_us", "-1")] {
            if self.path.join(file).exists() {
                let _ = fs::write(self.path.join(file), none);
            }
        }
        let [read, write] = V1_THROTTLES.map(|file| (file, "0"));
        for (file, none) in [("io.max", "rbps=max wbps=max"), read, write] {
            let limits = fs::read_to_string(self.path.join(file)).unwrap_or_default();
            for disk in limits.lines().filter_map(|line| line.split_whitespace().next()) {
                let _ = fs::write(self.path.join(file), format!("{disk} {none}"));
            }
        }
    }

    /// Tests whether the group is étalon's and still there.
    pub(crate) fn exists(&self) -> bool {
        is_ours(&self.path) && self.path.join(MEMBERS).exists()
    }
}

/// Moves a process into a group.
fn write_member(group: &Path, pid: u32) -> std::io::Result<()> {
    fs::write(group.join(MEMBERS), pid.to_string())
}

struct Refusal {
    reason: String,
    /// Étalon may make groups there.
    is_open: bool,
}

/// Tests whether this process may move others into a group.
fn can_be_entered(folder: &Path) -> bool {
    fs::OpenOptions::new().write(true).open(folder.join(MEMBERS)).is_ok()
}

/// The most useful refusal, of those from étalon's own group upwards: the topmost that étalon has a say in, which
/// bounds those below; else the nearest above its own, where the group would lie.
fn to_report(refusals: Vec<Refusal>) -> String {
    let above = usize::from(refusals.len() > 1);
    let topmost = refusals.iter().skip(above).rposition(|refusal| refusal.is_open).map_or(above, |at| at + above);
    refusals.into_iter().nth(topmost).map_or_else(String::new, |refusal| refusal.reason)
}

/// Refuses a version 2 folder whose groups do not have a needed controller.
fn check_delegation(folder: &Path, wanted: &Wanted) -> Result<(), String> {
    if wanted.controller.version == Version::One {
        return Ok(());
    }
    let file = folder.join("cgroup.subtree_control");
    let given = text::read(&file)?;
    let missing: Vec<&str> =
        wanted.needs.iter().filter(|need| !given.split_whitespace().any(|word| word == **need)).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let has = text::read(folder.join("cgroup.controllers")).unwrap_or_default();
    let could = missing.iter().all(|need| has.split_whitespace().any(|word| word == *need));
    // Only the root may have processes and delegate controllers; it has no type.
    let is_full = wanted
        .controller
        .folders
        .first()
        .is_some_and(|nearest| nearest == folder && nearest.join("cgroup.type").exists());
    let way = if is_full {
        "it cannot have it while processes are in it, as étalon is: a group above must be visible".to_owned()
    } else {
        how_to_delegate(&missing, could, Master::of_this_machine(), &file)
    };
    Err(format!("{} has no `{}`, but `{given}`; {way}", file.display(), missing.join(" ")))
}

/// The one who delegates controllers, and who has to ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Master {
    /// Root writes into the files.
    Root,
    /// Systemd, asked by root.
    SystemdForRoot,
    /// Systemd, asked by another user.
    SystemdForUser,
}

impl Master {
    fn of_this_machine() -> Master {
        // As sd_booted(3) looks.
        match (Path::new("/run/systemd/system").is_dir(), super::is_root()) {
            (false, _) => Master::Root,
            (true, true) => Master::SystemdForRoot,
            (true, false) => Master::SystemdForUser,
        }
    }
}

/// How to get missing controllers; `could` says whether the group is able to delegate them.
fn how_to_delegate(missing: &[&str], could: bool, master: Master, file: &Path) -> String {
    let options: Vec<&str> = missing
        .iter()
        .map(|need| match *need {
            "cpu" => "-p CPUWeight=100",
            "io" => "-p IOWeight=100",
            _ => "-p MemoryAccounting=yes",
        })
        .collect();
    let options = options.join(" ");
    match master {
        Master::Root => format!("root can: echo +{} > {}", missing.join(" +"), file.display()),
        Master::SystemdForUser if !could => {
            "root can: systemctl edit user@.service, with `Delegate=cpu io memory pids` under `[Service]`; it holds from \
             the user's next session on"
                .to_owned()
        }
        Master::SystemdForUser => format!("systemd gives it to: systemd-run --user --scope {} etalon …", options),
        Master::SystemdForRoot => format!("systemd gives it to: systemd-run --scope {} etalon …", options),
    }
}

/// The groups that bounds need for a process: one for each hierarchy.
fn wanted_groups(bounds: &Bounds, process: &str) -> Result<Vec<Wanted>, String> {
    let mut all: Vec<Wanted> = Vec::new();
    if let Some(cores) = bounds.cores {
        let controller = controller_of(process, "cpu")?;
        let lines = cpu_lines(controller.version, cores);
        all.push(Wanted { controller, needs: vec!["cpu"], lines });
    }
    if let Some(io) = &bounds.io {
        let controller = controller_of(process, "blkio")?;
        let lines = io_lines(controller.version, io.bytes_s, &disk_numbers(&io.folders)?);
        // Writeback is charged to the group that owns the memory.
        let needs = ["io", "memory"];
        // A process is in one group of version 2.
        match all.iter_mut().find(|one| one.controller == controller) {
            Some(one) => {
                one.needs.extend(needs);
                one.lines.extend(lines);
            }
            None => all.push(Wanted { controller, needs: needs.to_vec(), lines }),
        }
    }
    all.iter_mut().for_each(inherit_limits);
    Ok(all)
}

/// The controller in whose groups new ones are made. Version 1 has a group per controller; the new ones lie in étalon's
/// own.
fn controller_of(process: &str, controller: &str) -> Result<Controller, String> {
    match cgroup::controller_of(process, controller)? {
        Controller { version: Version::One, .. } => cgroup::own_controller(controller),
        two => Ok(two),
    }
}

/// Adds the limits that a group of étalon's has and the new one does not set, since in version 2 a process is in one
/// group: a server's
/// process limited to bytes a second stays within the server's CPU share.
fn inherit_limits(wanted: &mut Wanted) {
    let Some(home) = wanted.controller.folders.first() else { return };
    if wanted.controller.version == Version::One || !is_ours(home) {
        return;
    }
    let new: Vec<(&'static str, &'static str)> =
        V2_FILES.into_iter().filter(|(file, _)| wanted.lines.iter().all(|(set, _)| set != file)).collect();
    for (file, controller) in new {
        let limits = fs::read_to_string(home.join(file)).unwrap_or_default();
        let limits = limits.lines().filter(|line| !line.starts_with("max "));
        let lines: Vec<_> = limits.map(|line| (file, line.to_owned())).collect();
        if !lines.is_empty() {
            wanted.needs.push(controller);
            wanted.lines.extend(lines);
        }
    }
}

/// Tests by its name whether étalon made a group.
fn is_ours(group: &Path) -> bool {
    group.file_name().is_some_and(|name| name.to_string_lossy().starts_with(crate::scratch::PREFIX))
}

/// The lines that limit a group's CPU.
fn cpu_lines(version: Version, cores: f64) -> Vec<(&'static str, String)> {
    let quota_us = (cores * PERIOD_US as f64).max(SHORTEST_QUOTA_US) as u64;
    match version {
        Version::Two => vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))],
        Version::One => {
            vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota_us.to_string())]
        }
    }
}

/// The lines that limit a group's I/O on these disks.
fn io_lines(version: Version, bytes_s: u64, disks: &BTreeSet<String>) -> Vec<(&'static str, String)> {
    let lines = disks.iter().flat_map(|disk| match version {
        Version::Two => vec![("io.max", format!("{disk} rbps={bytes_s} wbps={bytes_s}"))],
        Version::One => V1_THROTTLES.map(|file| (file, format!("{disk} {bytes_s}"))).to_vec(),
    });
    lines.collect()
}

/// Such as `254:0`; a partition has no limits of its own.
fn disk_numbers(folders: &[PathBuf]) -> Result<BTreeSet<String>, String> {
    let disks = folders.iter().map(|folder| {
        let layers = layers_of(folder).map_err(|error| error.to_string())?;
        let whole = layers.iter().find(|layer| layer.kind != LayerKind::Partition);
        let whole = whole.ok_or_else(|| format!("no disk is under {}", folder.display()))?;
        text::read(format!("/sys/class/block/{}/dev", whole.name))
    });
    disks.collect()
}

#[cfg(test)]
mod lines {
    use super::*;

    #[test]
    fn bounds_are_written_as_either_version_takes_them() {
        assert_eq!(cpu_lines(Version::Two, 0.5), [("cpu.max", "50000 100000".to_owned())]);
        let one = [("cpu.cfs_period_us", "100000".to_owned()), ("cpu.cfs_quota_us", "1000".to_owned())];
        assert_eq!(cpu_lines(Version::One, 0.001), one, "no less than the kernel takes");
        let disks = BTreeSet::from(["254:0".to_owned(), "8:16".to_owned()]);
        let two = ["254:0 rbps=1048576 wbps=1048576", "8:16 rbps=1048576 wbps=1048576"];
        assert_eq!(io_lines(Version::Two, 1 << 20, &disks), two.map(|line| ("io.max", line.to_owned())));
        let files: Vec<&str> = io_lines(Version::One, 5, &disks).iter().map(|(file, _)| *file).collect();
        let [read, write] = V1_THROTTLES;
        assert_eq!(files, [read, write, read, write]);
    }

    #[test]
    fn a_group_that_gives_no_controller_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cgroup.subtree_control");
        fs::write(&file, "cpu memory\n").unwrap();
        let below = folder.path().join("own");
        let controller = Controller { version: Version::Two, folders: vec![below.clone(), folder.path().to_owned()] };
        let wanted = |needs: &[&'static str]| Wanted {
            controller: controller.clone(),
            needs: needs.to_vec(),
            lines: Vec::new(),
        };
        check_delegation(folder.path(), &wanted(&["cpu", "memory"])).unwrap();
        let refused = check_delegation(folder.path(), &wanted(&["io", "memory", "pids"])).unwrap_err();
        let begin = format!("{} has no `io pids`, but `cpu memory`; ", file.display());
        assert!(refused.starts_with(&begin), "{refused}");
        fs::create_dir(&below).unwrap();
        for name in ["cgroup.subtree_control", "cgroup.type"] {
            fs::write(below.join(name), "").unwrap();
        }
        let refused = check_delegation(&below, &wanted(&["io"])).unwrap_err();
        assert!(refused.contains("while processes are in it, as étalon is"), "{refused}");
    }

    #[test]
    fn limits_that_are_set_already_stay() {
        let slice = tempfile::tempdir().unwrap();
        let inherited = |name: &str, lines: &[(&'static str, &str)]| {
            let home = slice.path().join(name);
            fs::create_dir_all(&home).unwrap();
            fs::write(home.join("cpu.max"), "20000 100000\n").unwrap();
            fs::write(home.join("io.max"), "").unwrap();
            let lines = lines.iter().map(|(file, line)| (*file, (*line).to_owned())).collect();
            let controller = Controller { version: Version::Two, folders: vec![home] };
            let mut wanted = Wanted { controller, needs: vec!["io"], lines };
            inherit_limits(&mut wanted);
            (wanted.needs, wanted.lines)
        };
        let io = ("io.max", "254:0 rbps=5 wbps=5");
        let (needs, lines) = inherited("etalon-1-a", &[io]);
        assert_eq!(needs, ["io", "cpu"]);
        assert_eq!(lines, [io, ("cpu.max", "20000 100000")].map(|(file, line)| (file, line.to_owned())));
        let (_, lines) = inherited("etalon-1-a", &[("cpu.max", "50000 100000")]);
        assert_eq!(lines, [("cpu.max", "50000 100000".to_owned())], "what is said again counts");
        assert_eq!(inherited("run-r1.scope", &[io]).1.len(), 1, "limits of others hold from above");
    }

    #[test]
    fn a_refusal_says_who_gives_the_controllers() {
        fn way_to(missing: &[&str], could: bool, master: Master) -> String {
            how_to_delegate(missing, could, master, Path::new("/g/cgroup.subtree_control"))
        }
        let by_hand = way_to(&["cpu", "io"], true, Master::Root);
        assert_eq!(by_hand, "root can: echo +cpu +io > /g/cgroup.subtree_control");
        let by_root = way_to(&["cpu", "io"], true, Master::SystemdForRoot);
        assert!(by_root.ends_with("systemd-run --scope -p CPUWeight=100 -p IOWeight=100 etalon …"), "{by_root}");
        let by_user = way_to(&["io"], true, Master::SystemdForUser);
        assert!(by_user.ends_with("systemd-run --user --scope -p IOWeight=100 etalon …"), "{by_user}");
        assert!(way_to(&["io"], false, Master::SystemdForUser).contains("`Delegate=cpu io memory pids`"));
    }

    #[test]
    fn of_many_refusals_the_one_that_helps_is_reported() {
        fn reported(open: &[bool]) -> String {
            let refusals = open.iter().enumerate();
            to_report(refusals.map(|(at, &is_open)| Refusal { reason: at.to_string(), is_open }).collect())
        }
        assert_eq!(reported(&[true, true, true]), "2", "root: all are open");
        assert_eq!(reported(&[true, true, true, false, false]), "2", "a user: what user@.service was given");
        assert_eq!(reported(&[false, false, false]), "1", "nothing is open: where the group would lie");
        assert_eq!(reported(&[true, false, false]), "1", "not étalon's own");
        assert_eq!(reported(&[true]), "0", "a container sees no other");
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking, and says why it is skipped")]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Instant;

    /// One at a time: what starts while this process is limited starts in a group that goes away.
    fn alone() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn a_busy_process_is_limited_to_its_share_and_released() {
        let _turn = alone();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        let limit = Limit::apply(LimitTarget::Tree(busy.id()), &Bounds::of_cores(0.1));
        let measured = limit.map(|limit| {
            let (before, started) = (super::super::tree_cpu(busy.id()).unwrap(), Instant::now());
            std::thread::sleep(Duration::from_millis(1_500));
            let share =
                (super::super::tree_cpu(busy.id()).unwrap() - before).as_secs_f64() / started.elapsed().as_secs_f64();
            let group = limit.groups[0].path.clone();
            limit.release().unwrap();
            (share, group)
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        match measured {
            Ok((share, group)) => {
                assert!(share < 0.2, "{share} of a core");
                assert!(!group.exists());
            }
            Err(reason) => println!("skipped: {reason}"),
        }
    }

    /// `dd` that syncs 4 MiB under a limit of 2 MiB/s; returns its seconds.
    fn seconds_of_a_write(folder: &Path) -> Result<f64, HostError> {
        let bound = IoBound { bytes_s: 2 << 20, folders: vec![folder.to_owned()] };
        // Writes only once limited.
        let mut shell = Command::new("sh");
        shell.args(["-c", "read go; exec dd if=/dev/zero of=\"$0\" bs=64k count=64 conv=fsync 2>/dev/null"]);
        let mut shell = shell.arg(folder.join("written")).stdin(Stdio::piped()).spawn().unwrap();
        let limit = Limit::apply(LimitTarget::Tree(shell.id()), &Bounds { cores: None, io: Some(bound) });
        let started = Instant::now();
        drop(shell.stdin.take());
        assert!(shell.wait().unwrap().success());
        let limit = limit?;
        let groups = limit.groups.clone();
        limit.release()?;
        assert!(groups.iter().all(|group| !group.path.exists()));
        Ok(started.elapsed().as_secs_f64())
    }

    fn is_member(group: &Path, pid: u32) -> bool {
        let members = fs::read_to_string(group.join(MEMBERS)).unwrap();
        members.lines().any(|member| member == pid.to_string())
    }

    #[test]
    fn something_stays_where_etalon_was() {
        let _turn = alone();
        let etalon = std::process::id();
        let limit = match Limit::apply(LimitTarget::Tree(etalon), &Bounds::of_cores(4.0)) {
            Ok(limit) => limit,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let group = limit.groups[0].clone();
        assert!(is_member(&group.path, etalon));
        match &limit.keeper {
            None => println!("skipped: version 1 takes no group away"),
            Some(keeper) => assert!(is_member(&group.home, keeper.0.id()) && !is_member(&group.path, keeper.0.id())),
        }
        let keeper = limit.keeper.as_ref().map(|keeper| keeper.0.id());
        limit.release().unwrap();
        assert!(is_member(&group.home, etalon) && !group.path.exists());
        assert!(keeper.is_none_or(|keeper| start_mark(keeper).is_err()), "it has ended");
    }

    #[test]
    fn what_is_held_twice_is_held_by_both() {
        let _turn = alone();
        let mut idle = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let io = IoBound { bytes_s: 1 << 20, folders: vec![std::env::current_dir().unwrap()] };
        let limits = Limit::apply(LimitTarget::Tree(idle.id()), &Bounds::of_cores(0.25)).and_then(|server| {
            let home = server.groups[0].path.clone();
            let sender = Limit::apply(LimitTarget::Tree(idle.id()), &Bounds { cores: None, io: Some(io) })?;
            let quota = cgroup::controller_of(&idle.id().to_string(), "cpu").unwrap().cpu_quota_cores();
            sender.release()?;
            let back = is_member(&home, idle.id());
            server.release().map(|()| (quota, back))
        });
        idle.kill().unwrap();
        idle.wait().unwrap();
        match limits {
            Ok((quota, back)) => assert_eq!((quota, back), (Some(0.25), true)),
            Err(reason) => println!("skipped: {reason}"),
        }
    }

    #[test]
    fn a_writer_is_held_to_its_bytes_a_second() {
        let _turn = alone();
        let scratch = Scratch::new("io", None).unwrap();
        match seconds_of_a_write(scratch.path()) {
            Ok(seconds) => assert!(seconds > 1.5, "4 MiB at 2 MiB a second in {seconds} s"),
            Err(reason) => println!("skipped: {reason}"),
        }
        let in_memory = IoBound { bytes_s: 1, folders: vec![PathBuf::from("/proc/self")] };
        let refused = Limit::apply(LimitTarget::Own, &Bounds { cores: None, io: Some(in_memory) }).unwrap_err();
        assert!(refused.to_string().contains("device"), "{refused}");
    }
}
