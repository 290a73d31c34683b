//! The programs that the tests and the bench start and that cargo cannot fetch: found, or installed, or named.
//!
//! On Debian and its descendants, as root, what is missing is installed. Elsewhere it is named, because changing a user's
//! machine is theirs to decide.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use host::process::is_root;

use crate::run_for_output;

/// A package with programs. To add a database server, add one to [`REQUIREMENTS`].
pub struct Requirement {
    /// Its name on Debian and Ubuntu.
    package: &'static str,
    /// Every group must be present; within a group, any one program or file will do.
    programs: &'static [&'static [&'static str]],
    /// Folders to search after `PATH`. One component may hold one `*`.
    folders: &'static [&'static str],
    /// A file to write before apt installs the package, if there is none.
    before_apt: Option<(&'static str, &'static str)>,
}

/// Makes a requirement whose programs are on `PATH`.
const fn plain(package: &'static str, programs: &'static [&'static [&'static str]]) -> Requirement {
    Requirement { package, programs, folders: &[], before_apt: None }
}

/// Makes a requirement whose programs may be in these folders.
const fn in_folders(
    package: &'static str,
    programs: &'static [&'static [&'static str]],
    folders: &'static [&'static str],
) -> Requirement {
    Requirement { package, programs, folders, before_apt: None }
}

/// nats-server, which the documents start, too.
pub const NATS: Requirement = Requirement {
    // Debian's package starts a server without passwords on every address of the machine; the tests start their own.
    before_apt: Some((
        "/etc/systemd/system/nats-server.service.d/etalon.conf",
        "# Written by `cargo xtask test`: install the program, start no server. Remove this file to have one.\n\
         [Unit]\n\
         ConditionPathExists=/nonexistent\n",
    )),
    // Where Debian puts it, which is not on everybody's path.
    ..in_folders("nats-server", &[&["nats-server"]], &["/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"])
};

/// PostgreSQL, which documents reach by `psql`, too.
pub const POSTGRES: Requirement = Requirement {
    // Debian's package creates and starts a cluster on port 5432; the tests start their own.
    before_apt: Some((
        "/etc/postgresql-common/createcluster.conf",
        "# Written by `cargo xtask test`: install the programs, start no server.\n\
         create_main_cluster = false\n",
    )),
    ..in_folders(
        "postgresql",
        &[&["initdb"], &["postgres"]],
        &[
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/opt/homebrew/opt/postgresql*/bin",
            "/usr/local/opt/postgresql*/bin",
            "C:/Program Files/PostgreSQL/*/bin",
        ],
    )
};

/// Everything that `cargo xtask test` needs besides cargo, wherever it runs.
const REQUIREMENTS: &[Requirement] = &[
    POSTGRES,
    in_folders(
        "mariadb-server",
        &[&["mariadbd"], &["mariadb-install-db"]],
        &["/usr/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb/bin", "C:/Program Files/MariaDB */bin"],
    ),
    in_folders(
        "mariadb-backup",
        &[&["mariadb-backup", "mariabackup"]],
        &["/opt/homebrew/opt/mariadb/bin", "C:/Program Files/MariaDB */bin"],
    ),
    // On Debian with all that it needs 36 MB to fetch and 160 MB on disk: some ten seconds.
    in_folders(
        "postgresql-postgis",
        &[&["postgis.control"]],
        &[
            "/usr/share/postgresql/*/extension",
            "/usr/pgsql-*/share/extension",
            "/usr/share/pgsql/extension",
            "/opt/homebrew/share/postgresql@*/extension",
            "C:/Program Files/PostgreSQL/*/share/extension",
        ],
    ),
    in_folders(
        "libsqlite3-mod-spatialite",
        &[&["mod_spatialite.so", "mod_spatialite.dylib", "mod_spatialite.dll"]],
        &["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/opt/homebrew/lib", "/usr/local/lib"],
    ),
    NATS,
    Requirement {
        // Debian's package starts a pooler without databases on port 6432; the tests start their own.
        before_apt: Some((
            "/etc/systemd/system/pgbouncer.service.d/etalon.conf",
            "# Written by `cargo xtask test`: install the program, start no pooler. Remove this file to have one.\n\
             [Unit]\n\
             ConditionPathExists=/nonexistent\n",
        )),
        ..in_folders("pgbouncer", &[&["pgbouncer"]], &["/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"])
    },
    // What makes pictures of charts.
    in_folders("librsvg2-bin", &[&["rsvg-convert"]], &["/opt/homebrew/bin", "/usr/local/bin"]),
    // SQLCipher is compiled against it.
    in_folders(
        "libssl-dev",
        &[&["ssl.h"]],
        &[
            "/usr/include/openssl",
            "/opt/homebrew/opt/openssl@3/include/openssl",
            "C:/Program Files/OpenSSL-Win64/include/openssl",
        ],
    ),
    in_folders(
        "chromium",
        &[&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "Google Chrome", "chrome"]],
        &[
            "/Applications/Google Chrome.app/Contents/MacOS",
            "/Applications/Chromium.app/Contents/MacOS",
            "C:/Program Files/Google/Chrome/Application",
        ],
    ),
];

/// What it needs on Linux besides those. Elsewhere there is no XFS, and what sysbench and fio print is read in fixtures.
const ON_LINUX: &[Requirement] = &[
    plain("sysbench", &[&["sysbench"]]),
    plain("fio", &[&["fio"]]),
    in_folders("xfsprogs", &[&["mkfs.xfs"]], &["/usr/sbin", "/sbin"]),
];

/// What it needs to fetch [`crate::releases`], and what those need: without it, those tests are passed over.
const FOR_RELEASES: &[Requirement] = &[
    plain("maven", &[&["mvn"]]),
    plain("unzip", &[&["unzip"]]),
    plain("xz-utils", &[&["xz"]]),
    in_folders("libaio1", &[&["libaio.so.1", "libaio.so.1t64"]], &["/usr/lib/*-linux-gnu", "/usr/lib64"]),
    in_folders("libnuma1", &[&["libnuma.so.1"]], &["/usr/lib/*-linux-gnu", "/usr/lib64"]),
];

/// Links what is built for Windows, and compiles its C.
pub const MINGW: Requirement = plain("gcc-mingw-w64-x86-64", &[&["x86_64-w64-mingw32-gcc"]]);
/// A newer compiler than Debian's usual one, by its place: on `PATH` another may stand before it. [`crate::debian`] uses it.
pub const DEBIAN_RUST: [Requirement; 3] = [
    plain("rustc-web", &[&["/usr/bin/rustc"]]),
    plain("cargo-web", &[&["/usr/bin/cargo"]]),
    plain("rust-web-src", &[&["/usr/lib/rustlib/src/rust/library/std/Cargo.toml"]]),
];
/// Runs programs of Windows.
pub const WINE: Requirement = in_folders("wine64", &[&["wine64"], &["wineserver"]], &["/usr/lib/wine"]);

/// What packs, which the tests do too.
const PACKERS: [Requirement; 3] =
    [plain("rpm", &[&["rpmbuild"], &["rpm"]]), plain("binutils", &[&["objdump"]]), plain("zip", &[&["zip"]])];
/// What compiles and links the static étalon: a C compiler for musl, and an unwinder, which gcc's own is not without glibc.
pub const FOR_MUSL: [Requirement; 2] =
    [plain("musl-tools", &[&["musl-gcc"]]), plain("libunwind-19-dev", &[&["/usr/lib/llvm-19/lib/libunwind.a"]])];
/// What packages are tried with.
const FOR_TRIALS: [Requirement; 3] =
    [plain("mmdebstrap", &[&["mmdebstrap"]]), plain("python3-pip", &[&["pip3", "pip"]]), plain("unzip", &[&["unzip"]])];

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
/// As [`ensure_packages`].
pub fn ensure_all() -> Result<()> {
    let mut all: Vec<&Requirement> = REQUIREMENTS.iter().collect();
    if cfg!(target_os = "linux") {
        all.extend(ON_LINUX.iter().chain(&PACKERS));
    }
    ensure_present(all)
}

/// Makes sure that everything is present that packages are made with, and tried with if they are to be.
///
/// # Errors
///
/// As [`ensure_packages`].
pub fn ensure_packaging(for_builds: impl Iterator<Item = &'static Requirement>, is_tried: bool) -> Result<()> {
    let mut all: Vec<&Requirement> = PACKERS.iter().chain(for_builds).collect();
    if is_tried {
        all.extend(&FOR_TRIALS);
    }
    ensure_present(all)
}

/// Makes sure that the packages of these names are present, and gives their requirements.
///
/// # Errors
///
/// [`Missing`] when something is absent that must be installed by hand; another error when installing failed, or nothing
/// has such a name.
pub fn ensure_packages(packages: &[String]) -> Result<Vec<&'static Requirement>> {
    let wanted = packages
        .iter()
        .map(|name| {
            let found =
                REQUIREMENTS.iter().chain(ON_LINUX).chain(FOR_RELEASES).find(|requirement| requirement.package == name);
            found.with_context(|| format!("nothing is called {name}"))
        })
        .collect::<Result<Vec<_>>>()?;
    ensure_present(wanted.clone())?;
    Ok(wanted)
}

/// Makes sure that these requirements are present: installs them on Debian as root, else fails.
///
/// # Errors
///
/// As [`ensure_packages`].
pub fn ensure_present(mut wanted: Vec<&Requirement>) -> Result<()> {
    wanted.retain(|requirement| !requirement.is_present());
    if wanted.is_empty() {
        return Ok(());
    }
    let is_debian = Path::new("/etc/debian_version").exists();
    if is_debian && is_root() {
        install_by_apt(&wanted)?;
        if let Some(missing) = wanted.iter().find(|requirement| !requirement.is_present()) {
            bail!("apt-get installed {}, and its programs are still not found", missing.package);
        }
        return Ok(());
    }
    let packages: Vec<&str> = wanted.iter().map(|requirement| requirement.package).collect();
    let how = if is_debian { "sudo apt-get install -y" } else { "install what your system calls, in Debian's names," };
    bail!(Missing(format!("missing: {}\nhint: {how} {}", packages.join(", "), packages.join(" "))))
}

impl Requirement {
    /// Whether all programs of the requirement are there.
    fn is_present(&self) -> bool {
        self.programs.iter().all(|group| self.find_program(group).is_some())
    }

    /// Gives the path of the requirement's first program.
    ///
    /// # Errors
    ///
    /// [`Missing`], which names the package.
    pub fn program_path(&self) -> Result<PathBuf> {
        let found = self.programs.first().and_then(|group| self.find_program(group));
        found.ok_or_else(|| Missing(format!("missing: {0}\nhint: install {0}", self.package)).into())
    }

    /// Gives the path of another program in the folder of its first one, behind any link.
    ///
    /// # Errors
    ///
    /// [`Missing`], which names the package.
    pub fn sibling_path(&self, program: &str) -> Result<PathBuf> {
        let first = self.program_path()?;
        let first = first.canonicalize().with_context(|| first.display().to_string())?;
        let found = first.with_file_name(format!("{program}{}", env::consts::EXE_SUFFIX));
        if !found.is_file() {
            bail!(Missing(format!("missing: {}\nhint: install {} with its clients", found.display(), self.package)));
        }
        Ok(found)
    }

    /// Gives the folder of its programs, behind any link.
    pub fn programs_folder(&self) -> Option<PathBuf> {
        Some(self.program_path().ok()?.canonicalize().ok()?.parent()?.to_owned())
    }

    /// Finds the first of these programs that is there.
    fn find_program(&self, any_of: &[&str]) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let further = self.folders.iter().flat_map(|pattern| expand_pattern(pattern));
        let folders: Vec<PathBuf> = env::split_paths(&path).chain(further).collect();
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
}

/// Lists the folders that a pattern names: one component may hold one `*`.
fn expand_pattern(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![pattern.into()];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let (suffix, rest) = after.split_once('/').unwrap_or((after, ""));
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(prefix) && name.ends_with(suffix)
    });
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path().join(rest)).collect();
    found.sort();
    found
}

/// Installs the packages by apt-get, so that none of them starts a server.
fn install_by_apt(missing: &[&Requirement]) -> Result<()> {
    for (file, text) in missing.iter().filter_map(|requirement| requirement.before_apt) {
        write_if_absent(Path::new(file), text)?;
    }
    apt_get(&["update"])?;
    finish_interrupted_installation();
    let mut arguments = vec![
        "install",
        "--yes",
        "--no-install-recommends",
        // What a user installed is theirs, also where it does not go together with what is asked for.
        "--no-remove",
        // Unpacks again what an installation that was killed had not.
        "--fix-broken",
        // The settings above are there before their package: keep them without a question.
        "-o",
        "Dpkg::Options::=--force-confdef",
        "-o",
        "Dpkg::Options::=--force-confold",
    ];
    arguments.extend(missing.iter().map(|requirement| requirement.package));
    apt_get(&arguments)
}

/// Configures the packages of an installation that was killed: apt-get refuses everything until then.
/// What remains broken, apt-get names.
fn finish_interrupted_installation() {
    let mut command = Command::new("dpkg");
    command.args(["--configure", "-a", "--force-confdef", "--force-confold"]);
    let _ = run_for_output(command.env("DEBIAN_FRONTEND", "noninteractive"));
}

/// Writes a file with its folders, unless it is there.
fn write_if_absent(file: &Path, text: &str) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

/// Runs apt-get quietly with these arguments: 400 lines of unpacking do not help.
fn apt_get(arguments: &[&str]) -> Result<()> {
    eprintln!("   apt-get {}", arguments.join(" "));
    let mut command = Command::new("apt-get");
    command.args(["-q", "-o", "DPkg::Lock::Timeout=300"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    run_for_output(command).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_folder_is_expanded_in_the_middle_and_in_a_name() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["15/bin", "16/bin", "pg-17/bin"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        assert_eq!(expand_pattern(&format!("{}/{}", root.path().display(), "*/bin")).len(), 3);
        assert_eq!(
            expand_pattern(&format!("{}/{}", root.path().display(), "pg-*/bin")),
            vec![root.path().join("pg-17/bin")]
        );
        assert_eq!(expand_pattern(&format!("{}/{}", root.path().display(), "none/*/bin")), Vec::<PathBuf>::new());
    }

    #[test]
    fn settings_of_a_user_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("etc/x.conf");
        write_if_absent(&file, "ours").unwrap();
        write_if_absent(&file, "other").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "ours");
    }

    #[test]
    fn what_no_package_has_is_said() {
        assert!(ensure_packages(&["postgres".to_owned()]).is_err_and(|error| error.to_string().contains("postgres")));
        let none = plain("none", &[&["no-such-program"]]);
        assert!(!none.is_present() && none.program_path().is_err_and(|error| error.is::<Missing>()));
    }
}
