//! The étalon that is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

/// A build of étalon.
#[derive(Clone, Debug)]
pub struct Build {
    /// The binary.
    pub etalon: PathBuf,
    /// Where the SQLite that is part of it was compiled.
    pub sqlite: Option<PathBuf>,
}

impl Build {
    /// Builds étalon.
    ///
    /// # Errors
    /// It does not compile.
    pub fn make(root: &Path, profile: &str) -> Result<Build> {
        eprintln!("building étalon, profile {profile}");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args(["build", "--package", "cli", "--profile", profile, "--message-format=json-render-diagnostics"]);
        let output = command.current_dir(root).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("starting cargo")?;
        if !output.status.success() {
            bail!("cargo build: {}", output.status);
        }
        let (mut etalon, mut sqlite) = (None, None);
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Json = serde_json::from_str(line).context("reading cargo's messages")?;
            let path = |key: &str| message[key].as_str().map(PathBuf::from);
            let package = message["package_id"].as_str().unwrap_or_default();
            match message["reason"].as_str() {
                Some("compiler-artifact") if message["target"]["name"] == "etalon" => {
                    etalon = path("executable").or(etalon)
                }
                Some("build-script-executed") if package.contains("libsqlite3-sys") => sqlite = path("out_dir"),
                _ => {}
            }
        }
        Ok(Build { etalon: etalon.context("cargo built no etalon")?, sqlite })
    }
}
