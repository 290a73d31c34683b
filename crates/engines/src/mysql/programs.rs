use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use host::answers::ask_program;
use wire::mysql::Flavor;

use load::error::{Failure, FailureKind};
use model::catalog::is_of_release;

use crate::server::private::read_program_release;

const VERSION: [&str; 2] = ["--no-defaults", "--version"];
/// Packages' folders besides `PATH`, which often does not have the administrator's.
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
/// Folders with one folder per version, and its name prefix.
const VERSIONED: [(&str, &str); 2] = [("C:\\Program Files", "MariaDB "), ("C:\\Program Files\\MySQL", "MySQL Server ")];

/// MariaDB first: where both fit, Debian packages it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// `mariadbd`, or `mysqld` of older versions.
    MariaDb,
    /// MySQL's `mysqld`.
    MySql,
}

impl Product {
    pub(super) const WORDS: &'static [&'static str] = &["mariadb", "mysql"];

    /// The product of a plan's word; MariaDB unless it is `mysql`.
    pub(super) fn from_word(word: &str) -> Product {
        if word == Product::MySql.word() { Product::MySql } else { Product::MariaDb }
    }

    pub(super) fn from_flavor(flavor: Flavor) -> Product {
        match flavor {
            Flavor::MariaDb => Product::MariaDb,
            Flavor::MySql => Product::MySql,
        }
    }

    /// The plan's word for the product.
    fn word(self) -> &'static str {
        Product::WORDS[self as usize]
    }

    /// The other one of the two products.
    fn other_product(self) -> Product {
        match self {
            Product::MariaDb => Product::MySql,
            Product::MySql => Product::MariaDb,
        }
    }

    fn display_name(self) -> &'static str {
        match self {
            Product::MariaDb => "MariaDB",
            Product::MySql => "MySQL",
        }
    }

    /// Names of the product's server programs, for messages.
    fn program_names(self) -> &'static str {
        match self {
            Product::MariaDb => "MariaDB's programs, mariadbd and mariadb-install-db",
            Product::MySql => "MySQL's program, mysqld",
        }
    }

    /// Says how to install the product's server.
    fn how_to_install(self) -> &'static str {
        match self {
            Product::MariaDb => "`apt install mariadb-server`, `brew install mariadb`",
            Product::MySql => {
                "`brew install mysql`, or the package or archive of https://dev.mysql.com/downloads/mysql/; Debian has none"
            }
        }
    }
}

/// Makes a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    Script(PathBuf),
    Server,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) server: PathBuf,
    /// Makes the data folder.
    pub(super) installer: Installer,
    /// The server's installation, if the plan names its programs.
    pub(super) base: Option<PathBuf>,
}

impl Programs {
    /// Finds a product's server programs; fails if they are not of the `release` asked for.
    pub(super) fn find_release(
        product: Product,
        bin_dir: Option<&str>,
        release: Option<&str>,
    ) -> Result<Programs, Failure> {
        let found = Programs::find_product(product, bin_dir)?;
        let Some(asked) = release else { return Ok(found) };
        let there = found.ask_release().unwrap_or_default();
        if is_of_release(&there, asked) {
            return Ok(found);
        }
        let name = product.display_name();
        let tried = format!("find the server programs of {name} {asked}");
        Err(Failure::new(FailureKind::Missing, tried, format!("installed here is {there}")).with_hint(format!(
            "unpack that release of {name} and name its folder: `server = {{ engine = \"{}\", bin_dir = \
             \"/path/to/bin\" }}`",
            product.word()
        )))
    }

    /// Asks the server's program for its release.
    pub(super) fn ask_release(&self) -> Option<String> {
        read_program_release(&self.server, &VERSION)
    }

    /// Finds a product's server programs: in `bin_dir` if given, else on `PATH` and in the usual folders.
    fn find_product(product: Product, bin_dir: Option<&str>) -> Result<Programs, Failure> {
        let tried = format!("find {}", product.program_names());
        let other = product.other_product();
        if let Some(folder) = bin_dir {
            let folder = Path::new(folder);
            let base = folder.parent().map(Path::to_path_buf);
            let inside =
                [folder.to_path_buf(), folder.join("../bin"), folder.join("../scripts"), folder.join("../sbin")];
            let found = find_in_folders(product, &inside[..1], &inside);
            return found.map(|programs| Programs { base, ..programs }).ok_or_else(|| {
                let cause = format!("they are not in `bin_dir`, {}", folder.display());
                let failure = Failure::new(FailureKind::Missing, tried, cause);
                match find_in_folders(other, &inside[..1], &inside) {
                    Some(there) => failure.with_hint(format!(
                        "{} is the other product; to measure it, `server = {{ engine = \"{}\", bin_dir = … }}`",
                        there.server.display(),
                        other.word()
                    )),
                    None => failure,
                }
            });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.extend(FOLDERS.iter().map(PathBuf::from));
        folders.extend(versioned_folders());
        find_in_folders(product, &folders, &folders).ok_or_else(|| {
            let cause = "they are neither on PATH nor in the places where packages put them";
            let own = format!("`server = {{ engine = \"{}\", bin_dir = \"/path/to/bin\" }}`", product.word());
            let install = format!("install it ({}), or name its folder: {own}", product.how_to_install());
            let hint = match find_in_folders(other, &folders, &folders) {
                Some(there) => {
                    format!(
                        "{} is there, the other product: `server = {{ engine = \"{}\" }}` starts it; or {install}",
                        there.server.display(),
                        other.word()
                    )
                }
                None => install,
            };
            Failure::new(FailureKind::Missing, tried, cause).with_hint(hint)
        })
    }

    /// The command that makes a data folder, as the facts name it.
    pub(super) fn installation_command(&self) -> &'static str {
        match self.installer {
            Installer::Script(_) => "mariadb-install-db --auth-root-authentication-method=normal --skip-test-db",
            Installer::Server => "mysqld --initialize-insecure",
        }
    }

    /// Asks the server's program for the names of its settings; empty if it lists none.
    pub(super) fn setting_names(&self) -> Vec<String> {
        let output =
            Command::new(&self.server).args(["--no-defaults", "--verbose", "--help"]).stdin(Stdio::null()).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        // The value table after the options; names in column one.
        let table = text.split("\n---").nth(1).unwrap_or_default();
        let names = table.lines().skip(1).map_while(|line| line.split_whitespace().next());
        names.map(|name| name.replace('-', "_")).collect()
    }
}

/// Finds a product's server and its installer in these folders.
fn find_in_folders(product: Product, servers: &[PathBuf], installers: &[PathBuf]) -> Option<Programs> {
    let (server, installer) = match product {
        Product::MariaDb => {
            let server = files_in_folders(servers, "mariadbd").next().or_else(|| find_mysqld(product, servers))?;
            let scripts = ["mariadb-install-db", "mysql_install_db"];
            let script = scripts.iter().find_map(|name| files_in_folders(installers, name).next())?;
            (server, Installer::Script(script))
        }
        Product::MySql => (find_mysqld(product, servers)?, Installer::Server),
    };
    Some(Programs { server, installer, base: None })
}

/// Lists the programs of this name in the folders.
fn files_in_folders(folders: &[PathBuf], name: &str) -> impl Iterator<Item = PathBuf> {
    let name = format!("{name}{EXE_SUFFIX}");
    folders.iter().map(move |folder| folder.join(&name)).filter(|file| file.is_file())
}

/// Finds the product's server by MySQL's name, which MariaDB may link to its own.
fn find_mysqld(product: Product, folders: &[PathBuf]) -> Option<PathBuf> {
    files_in_folders(folders, "mysqld").find(|server| is_mariadb_program(server) == (product == Product::MariaDb))
}

/// Whether a `mysqld` is MariaDB's under its old name.
fn is_mariadb_program(server: &Path) -> bool {
    // Its packages link that name to its own, which says so without being started.
    let own = fs::canonicalize(server).ok().and_then(|file| Some(file.file_stem()? == "mariadbd"));
    own == Some(true) || ask_program(server, &VERSION).is_some_and(|answer| answer.stdout.contains("MariaDB"))
}

/// Lists the folders of programs that have a version in their name, newest first.
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
        for product in [Product::MariaDb, Product::MySql] {
            assert_eq!(Product::from_word(product.word()), product);
            let failure = Programs::find_release(product, Some("/no/such/folder"), None).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Missing);
            assert!(failure.cause.contains("/no/such/folder"));
        }
    }

    /// Claims MariaDB's version under that name.
    fn mysqld(folder: &Path, version: &str) {
        let file = folder.join("mysqld");
        fs::write(&file, format!("#!/bin/sh\necho 'mysqld  Ver {version}'\n")).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&file).status().unwrap().success());
    }

    #[test]
    fn the_product_that_is_named_is_the_one_that_is_started() {
        // No scripts as programs there.
        if !EXE_SUFFIX.is_empty() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let bin_dir = folder.path().to_str();
        mysqld(folder.path(), "8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)");
        assert_eq!(Programs::find_release(Product::MySql, bin_dir, None).unwrap().installer, Installer::Server);
        let refused = Programs::find_release(Product::MariaDb, bin_dir, None).unwrap_err();
        assert!(refused.hint.unwrap().contains("`server = { engine = \"mysql\", bin_dir = … }`"));
        mysqld(folder.path(), "10.11.6-MariaDB for Linux");
        fs::write(folder.path().join("mariadb-install-db"), "").unwrap();
        assert_eq!(
            Programs::find_release(Product::MariaDb, bin_dir, None).unwrap().server,
            folder.path().join("mysqld")
        );
        assert_eq!(
            Programs::find_release(Product::MariaDb, bin_dir, Some("10.11")).unwrap().ask_release().unwrap(),
            "10.11.6"
        );
        let refused = Programs::find_release(Product::MariaDb, bin_dir, Some("10.1")).unwrap_err();
        assert!(refused.to_string().contains("installed here is 10.11.6"), "{refused}");
        let refused = Programs::find_release(Product::MySql, bin_dir, None).unwrap_err();
        assert!(refused.tried.contains("MySQL's program"), "{refused}");
        assert!(refused.hint.unwrap().contains("`server = { engine = \"mariadb\", bin_dir = … }`"));
    }
}
