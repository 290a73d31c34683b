//! Each package as a stranger meets it: installed in a clean root, asked for a first verdict, removed, and nothing left of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use host::scratch::Scratch;
use serde_json::Value as Json;

use super::{sums, validity};
use crate::run_for_output;
use crate::windows::Wine;

/// From the command that installs it to the first verdict, on a machine that does nothing else.
const MOST: Duration = Duration::from_secs(65);
/// What root's package manager writes about what it did: it stays, as the machine's own diary.
const DIARIES: [&str; 4] = ["./var/log/", "./var/lib/dpkg/", "./var/cache/", "./var/lib/rpm/"];
/// Where the first verdict goes, inside the root.
const RESULTS: &str = "/tmp/etalon-results";
/// What is asked for it; where the results go follows.
const QUICKSTART: [&str; 5] = ["--quiet", "--json", "run", "quickstart", "--output"];

/// What a package is installed on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// A root of this Debian.
    Debian,
    /// A root with no file in it: no C library, no shell.
    Empty,
}

/// How a package comes onto a machine and goes again. In a command `PACKAGE` stands for its file, `ROOT` for the root from outside.
struct Way {
    ending: &'static str,
    ground: Ground,
    /// Whether the commands are run within the root.
    inside: bool,
    /// Before the root is looked at for the first time.
    prepare: &'static str,
    install: &'static str,
    program: &'static str,
    remove: &'static str,
}

/// rpm installs from outside, with no other package's word on what the root has: it is Debian's, whose files rpm does not know.
const WAYS: [Way; 4] = [
    Way {
        ending: "-linux-musl.tar.gz",
        ground: Ground::Empty,
        inside: false,
        prepare: "true",
        install: "mkdir -p ROOT/opt/etalon && tar -C ROOT/opt/etalon --strip-components=1 -xzf ROOT/PACKAGE",
        program: "/opt/etalon/bin/etalon",
        remove: "rm -r ROOT/opt",
    },
    Way {
        ending: "-linux-gnu.tar.gz",
        ground: Ground::Debian,
        inside: true,
        prepare: "true",
        install: "mkdir /opt/etalon && tar -C /opt/etalon --strip-components=1 -xzf PACKAGE",
        program: "/opt/etalon/bin/etalon",
        remove: "rm -r /opt/etalon",
    },
    Way {
        ending: ".deb",
        ground: Ground::Debian,
        inside: true,
        prepare: "true",
        install: "dpkg --install PACKAGE",
        program: "/usr/bin/etalon",
        remove: "dpkg --purge etalon",
    },
    Way {
        ending: ".rpm",
        ground: Ground::Debian,
        inside: false,
        prepare: "rpm --root ROOT --dbpath /var/lib/rpm --initdb",
        install: "rpm --root ROOT --dbpath /var/lib/rpm --install --nodeps ROOT/PACKAGE",
        program: "/usr/bin/etalon",
        remove: "rpm --root ROOT --dbpath /var/lib/rpm --erase etalon",
    },
];

/// Tries every package in `folder`. True if each gave a verdict and left nothing.
///
/// # Errors
/// There is no clean root to be had, or a package cannot be installed, run or removed.
pub fn run(root: &Path, folder: &Path) -> Result<bool> {
    let clean = ensure_clean_root(root)?;
    let mut is_good = true;
    for name in sums::file_names(folder)? {
        if name.ends_with(".cdx.json") {
            validity::check_bill(root, &folder.join(&name))?;
            eprintln!("{name}: a valid bill of materials");
        } else if name.ends_with(".zip") {
            is_good &= try_under_wine(root, &folder.join(&name)).with_context(|| format!("trying {name}"))?;
        } else if let Some(way) = WAYS.iter().find(|way| name.ends_with(way.ending)) {
            is_good &= way.try_package(&clean, &folder.join(&name)).with_context(|| format!("trying {name}"))?;
        }
    }
    run_for_output(Command::new("sha256sum").args(["--check", "--strict", "--quiet", sums::FILE]).current_dir(folder))?;
    Ok(is_good)
}

impl Way {
    /// Installs a package in a clean root, runs and removes it; `true` if nothing is left.
    fn try_package(&self, clean: &Path, package: &Path) -> Result<bool> {
        let scratch = Scratch::new("root", None).context("making a folder for a clean root")?;
        let root = scratch.path().join("root");
        fs::create_dir(&root).context("making a clean root")?;
        match self.ground {
            Ground::Debian => {
                run_for_output(Command::new("tar").arg("-xf").arg(clean).arg("-C").arg(&root)).map(|_| ())?
            }
            Ground::Empty => make_empty_root(&root)?,
        }
        let name = package.file_name().context("a package has a name")?.to_string_lossy().into_owned();
        fs::copy(package, root.join(&name)).with_context(|| format!("copying {name}"))?;
        let command =
            |line: &str| line.replace("PACKAGE", &format!("/{name}")).replace("ROOT", &root.to_string_lossy());
        let order = |line: &str| {
            if self.inside {
                run_inside(&root, AS_ROOT, &["sh", "-c", &command(line)])
            } else {
                run_for_output(Command::new("sh").args(["-c", &command(line)]))
            }
        };
        order(self.prepare)?;
        let before = list_files(&root)?;
        let start = Instant::now();
        order(self.install)?;
        let installed = start.elapsed();
        let said = run_inside(&root, AS_USER, &[&[self.program], &QUICKSTART[..], &[RESULTS]].concat())?;
        let took = start.elapsed();
        fs::remove_dir_all(root.join(RESULTS.trim_start_matches('/'))).context("removing the results")?;
        order(self.remove)?;
        report_trial(&name, installed, took, &said, &list_changes(&before, &list_files(&root)?))
    }
}

/// Tries the zip for Windows under Wine; `true` if nothing is left.
/// What it leaves is looked for on all of Wine's drive C.
fn try_under_wine(root: &Path, package: &Path) -> Result<bool> {
    let wine = Wine::start(root)?;
    let scratch = Scratch::new("windows", None).context("making a folder for Windows")?;
    let name = package.file_name().context("a package has a name")?.to_string_lossy().into_owned();
    let before = list_files(&wine.drive_c())?;
    let start = Instant::now();
    run_for_output(Command::new("unzip").arg("-q").arg(package).arg("-d").arg(scratch.path()))?;
    let installed = start.elapsed();
    let folder = scratch.path().join(package.file_stem().context("a package has a name")?);
    let mut quickstart = wine.windows_command(&folder.join("etalon.exe"));
    let said = run_for_output(quickstart.args(QUICKSTART).arg("results").current_dir(scratch.path()))?;
    report_trial(&name, installed, start.elapsed(), &said, &list_changes(&before, &list_files(&wine.drive_c())?))
}

/// Reports how a package was tried; true if nothing is left of it.
fn report_trial(name: &str, installed: Duration, took: Duration, said: &str, left: &str) -> Result<bool> {
    eprintln!(
        "{name}: installed in {:.1} s, first verdict after {:.1} s: {}",
        installed.as_secs_f64(),
        took.as_secs_f64(),
        first_answer(said)?
    );
    if !left.is_empty() {
        eprintln!("{name}: left behind:\n{left}");
    }
    if took > MOST {
        eprintln!("{name}: {} s are the most that it should take where nothing else runs", MOST.as_secs());
    }
    Ok(left.is_empty())
}

/// Gives the first line of what quickstart found; fails if it gave no verdict.
fn first_answer(said: &str) -> Result<String> {
    let results: Json = serde_json::from_str(said).with_context(|| format!("reading what quickstart said: {said}"))?;
    let rows = results["comparisons"].as_array().map_or(&[][..], Vec::as_slice);
    if !rows.iter().any(|row| row["verdict"].is_string()) {
        bail!("quickstart gave no verdict: {}", results["answer"]);
    }
    let answer = results["answer"].as_str().context("quickstart gave no answer")?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// Who starts a program in a root: the number of a user and of a group.
const AS_ROOT: &str = "0";
/// A user without rights, as most are.
const AS_USER: &str = "65534";

/// Runs a command in a root, with its own processes and no network: what it takes is in the package.
fn run_inside(root: &Path, user: &str, command: &[&str]) -> Result<String> {
    let mut script = String::new();
    let _ = writeln!(script, "set -e");
    let _ = writeln!(script, "root=$1 user=$2; shift 2");
    let _ = writeln!(script, "mount -t proc proc \"$root/proc\"");
    let _ = writeln!(script, "mount --rbind /sys \"$root/sys\"");
    let _ = writeln!(script, "mount --rbind /dev \"$root/dev\"");
    let _ = writeln!(script, "export PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    // Its home and where it begins are a folder of the user `nobody`; there need not be a shell to go there.
    let _ = writeln!(script, "as=\"--setgid=$user --setuid=$user --wd=/tmp\"");
    let _ = writeln!(script, "exec env -i PATH=\"$PATH\" HOME=/tmp unshare $as --root=\"$root\" \"$@\"");
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", &script, "sh"]);
    unshare.arg(root).arg(user).args(command);
    run_for_output(unshare).with_context(|| format!("in a clean root: {}", command.join(" ")))
}

/// Makes a root with nothing but what the kernel and a caller put into one.
fn make_empty_root(root: &Path) -> Result<()> {
    for name in ["dev", "proc", "sys", "tmp"] {
        fs::create_dir(root.join(name)).with_context(|| format!("making /{name} of an empty root"))?;
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).context("opening /tmp to all")
}

/// Gives a tarball of this Debian with nothing but what is essential, made once.
fn ensure_clean_root(root: &Path) -> Result<PathBuf> {
    let tarball = root.join("target/clean-root.tar");
    if tarball.is_file() {
        return Ok(tarball);
    }
    let release = fs::read_to_string("/etc/os-release").context("reading /etc/os-release")?;
    let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let suite = suite.context("/etc/os-release does not name this Debian: clean roots are made of it")?;
    eprintln!("making a clean root of Debian {suite}");
    let made = tarball.with_extension("part.tar");
    let mut make = Command::new("mmdebstrap");
    run_for_output(make.args(["--quiet", "--variant=essential", suite]).arg(&made))?;
    fs::rename(&made, &tarball).context("keeping the clean root")?;
    Ok(tarball)
}

/// Lists every file of a root with what `ls` would show of it, without times.
/// The folders of a diary's files change with it.
fn list_files(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut find = Command::new("find");
    find.args([".", "-xdev", "-printf", "%p\\t%y %m %U:%G %l\\n"]).current_dir(root);
    let listed = run_for_output(find)?;
    let mut files = BTreeMap::new();
    for line in listed.lines() {
        let (path, kind) = line.split_once('\t').context("find printed no tab")?;
        files.insert(path.to_owned(), kind.to_owned());
    }
    if files.is_empty() {
        bail!("the root is empty");
    }
    Ok(files)
}

/// Writes which files are there after and were not before, and the other way round.
fn list_changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (path, kind) in after.iter().filter(|(path, kind)| is_own_file(path) && before.get(*path) != Some(kind)) {
        let _ = writeln!(text, "  + {path} {kind}");
    }
    for (path, kind) in before.iter().filter(|(path, _)| is_own_file(path) && !after.contains_key(*path)) {
        let _ = writeln!(text, "  - {path} {kind}");
    }
    text
}

/// Tests whether a path is below none of the diaries.
fn is_own_file(path: &str) -> bool {
    !DIARIES.iter().any(|diary| path.starts_with(diary))
}
