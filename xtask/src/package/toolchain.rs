//! The compilers of the builds, with everything of this machine's folders taken out of what they write.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::platform::Platform;
use super::release::Release;
use crate::{debian, run_for_output};

/// What writes the list of crates into the program, and what reads it again: name and version.
const TOOLS: [(&str, &str); 2] = [("cargo-auditable", "0.7.7"), ("rust-audit-info", "0.5.4")];

/// Gives the path of a tool of [`TOOLS`], compiled at the first call.
///
/// # Errors
/// It does not compile.
pub fn compile_tool(root: &Path, name: &str) -> Result<PathBuf> {
    let folder = root.join("target/tools");
    let program = folder.join("bin").join(name);
    let missing = TOOLS.iter().find(|(known, _)| *known == name && !program.is_file());
    if let Some((name, version)) = missing {
        eprintln!("compiling {name} {version} into {}", folder.display());
        let mut install = Command::new(crate::cargo_path());
        install.args(["install", "--quiet", "--locked", "--version", version, name, "--root"]).arg(&folder);
        run_for_output(install.arg("--target-dir").arg(folder.join("build")))?;
        let _ = fs::remove_dir_all(folder.join("build"));
    }
    Ok(program)
}

/// Makes the command of a build that is a function of the commit.
/// By the cargo that runs this, or by Debian's, which brings the standard library.
///
/// # Errors
/// A tool cannot be had.
pub fn cargo_build(release: &Release, platform: Platform) -> Result<Command> {
    let auditable = compile_tool(&release.root, "cargo-auditable")?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("there is no home for cargo")?;
    let folders = [(home.as_path(), "/cargo"), (release.root.as_path(), "/etalon")];
    let all: Vec<OsString> = folders
        .iter()
        .map(|(from, to)| {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push(format!("={to}"));
            flag
        })
        .chain(platform.compiler_flags().iter().map(OsString::from))
        .collect();
    // Folders may have spaces, so cargo parts the flags by this character.
    let all = all.join(OsStr::new("\x1f"));
    let in_c: Vec<String> =
        folders.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display())).collect();
    let mut command = Command::new(auditable);
    command.args(["auditable", "build"]).env("CARGO", crate::cargo_path());
    command.env("CARGO_ENCODED_RUSTFLAGS", all).env_remove("LD_LIBRARY_PATH");
    if let Some(compiler) = platform.c_compiler() {
        debian::use_debian_cargo(&mut command)?;
        let triple = platform.target_triple().replace('-', "_");
        command.env(format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase()), compiler);
        command.env(format!("CC_{triple}"), compiler);
    }
    command.env("TARGET_CFLAGS", in_c.join(" ")).env("TARGET_CXXFLAGS", in_c.join(" "));
    command.env("SOURCE_DATE_EPOCH", release.committed_s.to_string()).env("LC_ALL", "C").env("TZ", "UTC");
    Ok(command)
}
