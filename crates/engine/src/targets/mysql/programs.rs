//! Finding the server's own programs.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Failure, FailureKind};

/// Where packages put the programs, beside `PATH`, which often lacks the administrator's folders.
const FOLDERS: [&str; 9] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
    "/opt/homebrew/opt/mariadb/bin",
    "/opt/homebrew/opt/mysql/bin",
    "/usr/local/opt/mariadb/bin",
    "/usr/local/opt/mysql/bin",
];
/// Folders that hold one folder for each version, and what those are called.
const VERSIONED: [(&str, &str); 2] = [("C:\\Program Files", "MariaDB "), ("C:\\Program Files\\MySQL", "MySQL Server ")];

/// Who makes a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    /// MariaDB's program.
    Script(PathBuf),
    /// MySQL's server itself.
    Server,
}

/// What is needed to make and run a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programs {
    /// The server.
    pub(super) server: PathBuf,
    /// Who makes its data folder.
    pub(super) installer: Installer,
    /// Where the server's own files are, where the plan names the folder of its programs.
    pub(super) base: Option<PathBuf>,
}

impl Programs {
    /// Finds the programs: in the folder that the plan names, and in no other; else on `PATH` and in the usual places,
    /// MariaDB before MySQL.
    ///
    /// # Errors
    /// They are nowhere.
    pub(super) fn find(bin_dir: Option<&str>) -> Result<Programs, Failure> {
        let tried = "find the server's programs: mariadbd with mariadb-install-db, or mysqld";
        if let Some(folder) = bin_dir {
            let folder = Path::new(folder);
            let base = folder.parent().map(Path::to_path_buf);
            let inside =
                [folder.to_path_buf(), folder.join("../bin"), folder.join("../scripts"), folder.join("../sbin")];
            let found = find_in(&inside[..1], &inside);
            return found.map(|programs| Programs { base, ..programs }).ok_or_else(|| {
                Failure::new(FailureKind::Missing, tried, format!("they are not in `bin_dir`, {}", folder.display()))
            });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.extend(FOLDERS.iter().map(PathBuf::from));
        folders.extend(versioned_folders());
        find_in(&folders, &folders).ok_or_else(|| {
            let cause = "they are neither on PATH nor in the places where packages put them";
            Failure::new(FailureKind::Missing, tried, cause).hint(
                "install the server (`apt install mariadb-server`, `brew install mariadb`), or name its folder: \
                 `server = { engine = \"mysql\", bin_dir = \"/path/to/bin\" }`",
            )
        })
    }

    /// What is said of them in the facts.
    pub(super) fn made_by(&self) -> &'static str {
        match self.installer {
            Installer::Script(_) => "mariadb-install-db --auth-root-authentication-method=normal --skip-test-db",
            Installer::Server => "mysqld --initialize-insecure",
        }
    }

    /// The names of all settings, as the server itself lists them; empty if it does not.
    pub(super) fn setting_names(&self) -> Vec<String> {
        let output =
            Command::new(&self.server).args(["--no-defaults", "--verbose", "--help"]).stdin(Stdio::null()).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        // The table of values behind the options, a name in the first column.
        let table = text.split("\n---").nth(1).unwrap_or_default();
        let names = table.lines().skip(1).map_while(|line| line.split_whitespace().next());
        names.map(|name| name.replace('-', "_")).collect()
    }
}

fn find_in(servers: &[PathBuf], installers: &[PathBuf]) -> Option<Programs> {
    let file = |folders: &[PathBuf], name: &str| {
        folders.iter().map(|folder| folder.join(format!("{name}{EXE_SUFFIX}"))).find(|file| file.is_file())
    };
    let installer = ["mariadb-install-db", "mysql_install_db"].iter().find_map(|name| file(installers, name));
    let base = None;
    if let (Some(server), Some(script)) = (file(servers, "mariadbd"), installer.clone()) {
        return Some(Programs { server, installer: Installer::Script(script), base });
    }
    let server = file(servers, "mysqld")?;
    let installer = if is_mariadb(&server) { Installer::Script(installer?) } else { Installer::Server };
    Some(Programs { server, installer, base })
}

/// Whether a `mysqld` is MariaDB's under its old name.
fn is_mariadb(server: &Path) -> bool {
    let output = Command::new(server).args(["--no-defaults", "--version"]).stdin(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("MariaDB"))
}

fn versioned_folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (base, prefix) in VERSIONED {
        for entry in fs::read_dir(base).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) {
                found.push(entry.path().join("bin"));
            }
        }
    }
    found.sort();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_them_is_named() {
        let failure = Programs::find(Some("/no/such/folder")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert!(failure.cause.contains("/no/such/folder"));
    }
}
