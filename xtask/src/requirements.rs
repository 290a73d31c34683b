//! The programs that the tests start and that cargo cannot fetch: found, or installed, or named.
//!
//! On Debian and its descendants, as root, what is missing is installed. Elsewhere the exact
//! command for this platform is printed, because changing somebody's machine is theirs to decide.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use host::process::is_root;

/// One thing the tests need. To add a database server, add an entry to [`REQUIREMENTS`].
pub struct Requirement {
    /// What people call it.
    pub name: &'static str,
    /// What needs it, for the message when it is missing.
    needed_for: &'static str,
    /// Every group must be present; within a group, any one program or file will do.
    programs: &'static [&'static [&'static str]],
    /// Folders to search after `PATH`. One component may be `*`.
    folders: &'static [&'static str],
    /// A program that, given these arguments, prints one more folder to search.
    asks: Option<(&'static str, &'static str)>,
    /// The package on Debian and Ubuntu, Fedora, macOS (Homebrew) and Windows (Chocolatey).
    packages: Packages,
    /// Settings to put in place before apt installs it, each only where the file is absent.
    before_apt: &'static [(&'static str, &'static str)],
}

/// The name of one package in each package manager.
struct Packages {
    apt: &'static str,
    dnf: &'static str,
    brew: &'static str,
    choco: &'static str,
}

impl Packages {
    /// Of the same name everywhere.
    const fn called(name: &'static str) -> Packages {
        Packages { apt: name, dnf: name, brew: name, choco: name }
    }
}

/// What a requirement has that is found by the names of its programs alone.
const PLAIN: Requirement = Requirement {
    name: "",
    needed_for: "",
    programs: &[],
    folders: &[],
    asks: None,
    packages: Packages::called(""),
    before_apt: &[],
};

/// Chromium, which the tests of the HTML report and `xtask shots` drive.
pub const CHROMIUM: Requirement = Requirement {
    name: "Chromium",
    needed_for: "HTML reports and screenshots",
    programs: &[&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "Google Chrome", "chrome"]],
    folders: &[
        "/Applications/Google Chrome.app/Contents/MacOS",
        "/Applications/Chromium.app/Contents/MacOS",
        "C:/Program Files/Google/Chrome/Application",
    ],
    packages: Packages { apt: "chromium", dnf: "chromium", brew: "--cask google-chrome", choco: "googlechrome" },
    ..PLAIN
};

/// PostgreSQL, which tests and the bench start privately.
const POSTGRES: Requirement = Requirement {
    name: "PostgreSQL server",
    needed_for: "tests that start a private server",
    programs: &[&["initdb"], &["postgres"]],
    folders: &[
        "/usr/lib/postgresql/*/bin",
        "/usr/pgsql-*/bin",
        "/opt/homebrew/opt/postgresql*/bin",
        "/usr/local/opt/postgresql*/bin",
        "C:/Program Files/PostgreSQL/*/bin",
    ],
    asks: Some(("pg_config", "--bindir")),
    packages: Packages { apt: "postgresql", dnf: "postgresql-server", brew: "postgresql@17", choco: "postgresql" },
    // Debian's package creates and starts a cluster on port 5432; the tests start their own.
    before_apt: &[(
        "/etc/postgresql-common/createcluster.conf",
        "# Written by `cargo xtask test`: install the programs, start no server.\n\
             create_main_cluster = false\n",
    )],
};

/// MariaDB, which tests and the bench start privately.
const MARIADB: Requirement = Requirement {
    name: "MariaDB server",
    needed_for: "tests that start a private server",
    programs: &[&["mariadbd"], &["mariadb-install-db"]],
    folders: &[
        "/usr/sbin",
        "/usr/libexec",
        "/opt/homebrew/opt/mariadb/bin",
        "/usr/local/opt/mariadb/bin",
        "C:/Program Files/MariaDB */bin",
    ],
    packages: Packages { apt: "mariadb-server", dnf: "mariadb-server", brew: "mariadb", choco: "mariadb" },
    ..PLAIN
};

/// MariaDB's backup by files, a package of its own.
const MARIADB_BACKUP: Requirement = Requirement {
    name: "mariadb-backup",
    needed_for: "tests of backups",
    programs: &[&["mariadb-backup", "mariabackup"]],
    folders: &["/opt/homebrew/opt/mariadb/bin", "/usr/local/opt/mariadb/bin", "C:/Program Files/MariaDB */bin"],
    packages: Packages { apt: "mariadb-backup", dnf: "mariadb-backup", brew: "mariadb", choco: "mariadb" },
    ..PLAIN
};

/// nats-server, which tests of agents start privately.
pub const NATS: Requirement = Requirement {
    name: "nats-server",
    needed_for: "tests of agents on several hosts",
    programs: &[&["nats-server"]],
    // Where Debian puts it, which is not on everybody's path.
    folders: &["/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"],
    packages: Packages::called("nats-server"),
    // Debian's package starts a server without passwords on every address of the machine; the tests start their own.
    before_apt: &[(
        "/etc/systemd/system/nats-server.service.d/etalon.conf",
        "# Written by `cargo xtask test`: install the program, start no server. Remove this file to have one.\n\
             [Unit]\n\
             ConditionPathExists=/nonexistent\n",
    )],
    ..PLAIN
};

/// A peer of the bench, which does without it, and what an importer is held against.
const SYSBENCH: Requirement = Requirement {
    name: "sysbench",
    needed_for: "tests of what is imported, and comparisons in `cargo xtask bench`",
    programs: &[&["sysbench"]],
    packages: Packages { choco: "sysbench (there is none)", ..Packages::called("sysbench") },
    ..PLAIN
};

/// The peer of the disk's bench, which does without it, and what an importer is held against.
const FIO: Requirement = Requirement {
    name: "fio",
    needed_for: "tests of what is imported, and comparisons in `cargo xtask bench disk`",
    programs: &[&["fio"]],
    packages: Packages::called("fio"),
    ..PLAIN
};

/// What makes volumes with XFS.
const XFS: Requirement = Requirement {
    name: "xfsprogs",
    needed_for: "tests of volumes",
    programs: &[&["mkfs.xfs"]],
    // Not on the path of everybody.
    folders: &["/usr/sbin", "/sbin"],
    packages: Packages::called("xfsprogs"),
    ..PLAIN
};

/// Spatial types for PostgreSQL. On Debian with all that it needs 36 MB to fetch and 160 MB on disk: some ten seconds.
const POSTGIS: Requirement = Requirement {
    name: "PostGIS",
    needed_for: "tests of spatial queries",
    programs: &[&["postgis.control"]],
    folders: &[
        "/usr/share/postgresql/*/extension",
        "/usr/pgsql-*/share/extension",
        "/usr/share/pgsql/extension",
        "/opt/homebrew/share/postgresql@*/extension",
        "/usr/local/share/postgresql@*/extension",
        "C:/Program Files/PostgreSQL/*/share/extension",
    ],
    packages: Packages { apt: "postgresql-postgis", dnf: "postgis", brew: "postgis", choco: "postgis" },
    ..PLAIN
};

/// Spatial types for SQLite.
const SPATIALITE: Requirement = Requirement {
    name: "SpatiaLite",
    needed_for: "tests of spatial queries",
    programs: &[&["mod_spatialite.so", "mod_spatialite.dylib", "mod_spatialite.dll"]],
    folders: &["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/opt/homebrew/lib", "/usr/local/lib"],
    packages: Packages {
        apt: "libsqlite3-mod-spatialite",
        dnf: "libspatialite",
        brew: "libspatialite",
        choco: "spatialite",
    },
    ..PLAIN
};

/// What SQLCipher is compiled against.
const OPENSSL: Requirement = Requirement {
    name: "OpenSSL's headers",
    needed_for: "the build with SQLCipher",
    programs: &[&["ssl.h"]],
    folders: &[
        "/usr/include/openssl",
        "/opt/homebrew/opt/openssl@3/include/openssl",
        "/usr/local/opt/openssl@3/include/openssl",
        "C:/Program Files/OpenSSL-Win64/include/openssl",
    ],
    packages: Packages { apt: "libssl-dev", dnf: "openssl-devel", brew: "openssl@3", choco: "openssl" },
    ..PLAIN
};

/// Everything `cargo xtask test` needs besides cargo, wherever it runs.
const REQUIREMENTS: &[Requirement] = &[POSTGRES, MARIADB, MARIADB_BACKUP, POSTGIS, SPATIALITE, NATS, OPENSSL, CHROMIUM];

/// What it needs on Linux beside those. Elsewhere there is no XFS, and what sysbench and fio print is read in fixtures.
const ON_LINUX: &[Requirement] = &[SYSBENCH, FIO, XFS];

/// Something is missing and was not installed: exit code 3, "could not run".
#[derive(Debug)]
pub struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Makes sure that everything is present that `cargo xtask test` needs on this platform.
///
/// # Errors
///
/// As [`ensure`].
pub fn ensure_all() -> Result<()> {
    make_sure(&Platform::here().requirements().collect::<Vec<_>>())
}

/// Makes sure that these packages are present, by their names on Debian, and tells what they are.
///
/// # Errors
///
/// [`Missing`] when something is absent that this user on this platform must install by hand;
/// another error when installing failed, or nothing has such a name.
pub fn ensure(packages: &[String]) -> Result<Vec<&'static Requirement>> {
    let all = || REQUIREMENTS.iter().chain(ON_LINUX);
    let find = |name: &String| {
        all().find(|requirement| requirement.packages.apt == name).with_context(|| format!("nothing is called {name}"))
    };
    let wanted = packages.iter().map(find).collect::<Result<Vec<_>>>()?;
    make_sure(&wanted)?;
    Ok(wanted)
}

fn make_sure(wanted: &[&Requirement]) -> Result<()> {
    let platform = Platform::here();
    let missing: Vec<&Requirement> = wanted.iter().copied().filter(|r| !r.present()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if platform != Platform::Debian || !is_root() {
        bail!(Missing(platform.advice(&missing)));
    }
    install_by_apt(&missing)?;
    for requirement in &missing {
        if !requirement.present() {
            bail!("apt-get installed {}, and {} is still not found", requirement.packages.apt, requirement.name);
        }
    }
    Ok(())
}

impl Requirement {
    fn present(&self) -> bool {
        self.programs.iter().all(|group| self.find(group).is_some())
    }

    /// Where the program is, for a requirement that consists of one.
    ///
    /// # Errors
    ///
    /// [`Missing`], which names the command that installs it.
    pub fn path(&self) -> Result<PathBuf> {
        let found = self.programs.first().and_then(|group| self.find(group));
        found.ok_or_else(|| Missing(Platform::here().advice(&[self])).into())
    }

    /// The folder of its programs, behind any link.
    pub fn folder(&self) -> Option<PathBuf> {
        let program = self.programs.first().and_then(|group| self.find(group))?;
        Some(program.canonicalize().ok()?.parent()?.to_owned())
    }

    /// Where any of these programs is.
    fn find(&self, any_of: &[&str]) -> Option<PathBuf> {
        let folders = self.search_folders();
        any_of
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .map(|path| match env::consts::EXE_EXTENSION {
                // A library or a control file has its own ending everywhere.
                extension if !extension.is_empty() && path.extension().is_none() => path.with_extension(extension),
                _ => path,
            })
            .find(|path| path.is_file())
    }

    fn search_folders(&self) -> Vec<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
        folders.extend(self.folders.iter().flat_map(|pattern| expand(pattern)));
        if let Some((program, argument)) = self.asks
            && let Ok(output) = Command::new(program).arg(argument).output()
        {
            folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
        }
        folders
    }
}

/// The folders that a pattern names: one component may hold one `*`.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![pattern.into()];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let (suffix, rest) = after.split_once('/').unwrap_or((after, ""));
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with(prefix) && name.ends_with(suffix)
        })
        .map(|entry| entry.path().join(rest))
        .collect();
    found.sort();
    found
}

/// Whose package manager to use or to name.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Platform {
    Debian,
    Fedora,
    OtherLinux,
    MacOs,
    Windows,
}

impl Platform {
    fn here() -> Self {
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        Self::detect(env::consts::OS, &os_release)
    }

    /// From Rust's name of the operating system and the text of `/etc/os-release`.
    fn detect(os: &str, os_release: &str) -> Self {
        let ids: Vec<&str> = os_release
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or(line.strip_prefix("ID_LIKE=")))
            .flat_map(|value| value.trim_matches('"').split_whitespace())
            .collect();
        let any_of = |names: &[&str]| ids.iter().any(|id| names.contains(id));
        match os {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ if any_of(&["debian", "ubuntu"]) => Self::Debian,
            _ if any_of(&["fedora", "rhel", "centos"]) => Self::Fedora,
            _ => Self::OtherLinux,
        }
    }

    /// What the tests need here.
    fn requirements(self) -> impl Iterator<Item = &'static Requirement> {
        let own: &[Requirement] = match self {
            Self::Debian | Self::Fedora | Self::OtherLinux => ON_LINUX,
            Self::MacOs | Self::Windows => &[],
        };
        REQUIREMENTS.iter().chain(own)
    }

    /// What is missing and the command that installs it here.
    fn advice(self, missing: &[&Requirement]) -> String {
        let list = |package: fn(&Packages) -> &'static str| -> Vec<&str> {
            let mut names: Vec<&str> = Vec::new();
            for name in missing.iter().map(|r| package(&r.packages)) {
                // One package may have what two of them ask for.
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        let each = |manager: &str, package: fn(&Packages) -> &'static str| {
            let lines: Vec<String> = list(package).iter().map(|name| format!("{manager} install {name}")).collect();
            lines.join(" && ")
        };
        let command = match self {
            Self::Debian => format!("sudo apt-get install -y {}", list(|p| p.apt).join(" ")),
            Self::Fedora => format!("sudo dnf install -y {}", list(|p| p.dnf).join(" ")),
            Self::MacOs => each("brew", |p| p.brew),
            Self::Windows => each("choco", |p| p.choco),
            Self::OtherLinux => format!("your package manager; Debian calls them: {}", list(|p| p.apt).join(" ")),
        };
        let names: Vec<String> = missing.iter().map(|r| format!("{} (for {})", r.name, r.needed_for)).collect();
        format!("missing: {}\nhint: install with: {command}", names.join(", "))
    }
}

fn install_by_apt(missing: &[&Requirement]) -> Result<()> {
    for (file, text) in missing.iter().flat_map(|r| r.before_apt) {
        write_if_absent(Path::new(file), text)?;
    }
    apt_get(&["update"])?;
    let mut arguments = vec![
        "install",
        "--yes",
        "--no-install-recommends",
        // The settings above are there before their package: keep them without a question.
        "-o",
        "Dpkg::Options::=--force-confdef",
        "-o",
        "Dpkg::Options::=--force-confold",
    ];
    arguments.extend(missing.iter().map(|r| r.packages.apt));
    apt_get(&arguments)
}

fn write_if_absent(file: &Path, text: &str) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

/// Runs apt-get quietly: 400 lines of unpacking help nobody, unless it fails.
fn apt_get(arguments: &[&str]) -> Result<()> {
    let command = format!("apt-get {}", arguments.join(" "));
    eprintln!("   {command}");
    let output = Command::new("apt-get")
        .args(["-q", "-o", "DPkg::Lock::Timeout=300"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("starting apt-get")?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("{command}: {}", output.status);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_known_by_its_id_and_its_ancestors() {
        let detect = |text| Platform::detect("linux", text);
        assert_eq!(detect("NAME=x\nID=debian\n"), Platform::Debian);
        assert_eq!(detect("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), Platform::Debian);
        assert_eq!(detect("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\""), Platform::Fedora);
        assert_eq!(detect("ID=alpine"), Platform::OtherLinux);
        assert_eq!(Platform::detect("macos", ""), Platform::MacOs);
    }

    #[test]
    fn the_advice_names_what_is_missing_and_a_command_for_this_platform() {
        let debian = Platform::Debian.advice(&Platform::Debian.requirements().collect::<Vec<_>>());
        assert!(debian.contains("missing: PostgreSQL server (for tests that start"));
        assert!(debian.contains(
            "sudo apt-get install -y postgresql mariadb-server mariadb-backup postgresql-postgis \
             libsqlite3-mod-spatialite nats-server libssl-dev chromium sysbench fio xfsprogs"
        ));
        let mac = Platform::MacOs.advice(&Platform::MacOs.requirements().collect::<Vec<_>>());
        assert!(!mac.contains("xfsprogs"), "{mac}");
        assert!(mac.contains(
            "brew install postgresql@17 && brew install mariadb && brew install postgis && brew install libsp"
        ));
    }

    #[test]
    fn a_star_in_a_folder_is_expanded_in_the_middle_and_in_a_name() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["15/bin", "16/bin", "pg-17/bin"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let names = |pattern: &str| -> Vec<PathBuf> { expand(&format!("{}/{pattern}", root.path().display())) };
        assert_eq!(names("*/bin").len(), 3);
        assert_eq!(names("pg-*/bin"), vec![root.path().join("pg-17/bin")]);
        assert_eq!(names("none/*/bin"), Vec::<PathBuf>::new());
    }

    #[test]
    fn settings_that_somebody_made_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("etc/x.conf");
        write_if_absent(&file, "ours").unwrap();
        write_if_absent(&file, "other").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "ours");
    }
}
