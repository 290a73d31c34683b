//! Wine with a folder of its own, and étalon in it as a command of Linux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::requirements::{WINE, ensure_present};
use crate::run_for_output;

/// What is of no use to étalon, and each is a question or a file outside the prefix: .NET, HTML, menus.
const WITHOUT: &str = "mscoree,mshtml,winemenubuilder.exe=";
/// Since Windows 10, and Wine 8 has none.
const PRIMITIVES: &str = "bcryptprimitives.dll";

/// A prefix. Its programs end with it.
pub struct Wine {
    prefix: PathBuf,
    /// Where `wine64` and `wineserver` are.
    programs: PathBuf,
}

impl Drop for Wine {
    fn drop(&mut self) {
        // Ends what runs in this prefix, and nothing else.
        let _ = self.wine_command("wineserver").arg("-k").stderr(Stdio::null()).status();
    }
}

impl Wine {
    /// Starts Wine in `target/wine`, made at the first call.
    ///
    /// # Errors
    /// Wine is not there, or does not start.
    pub fn start(root: &Path) -> Result<Wine> {
        ensure_present(vec![&WINE])?;
        let programs = WINE.programs_folder().context("looking for Wine")?;
        let wine = Wine { prefix: root.join("target/wine"), programs };
        let system = wine.prefix.join("drive_c/windows/system32");
        if !system.is_dir() {
            eprintln!("making Wine's folder, {}", wine.prefix.display());
            fs::create_dir_all(&wine.prefix).context("making Wine's folder")?;
            run_for_output(wine.wine_command("wine64").args(["wineboot", "--init"]))?;
            run_for_output(wine.wine_command("wineserver").arg("-w"))?;
            // A drive for the trials' folders: of the root of all, which is `Z:`, Wine complains where it is no device.
            let drive = wine.prefix.join("dosdevices/t:");
            run_for_output(Command::new("ln").arg("-s").arg(std::env::temp_dir()).arg(&drive))?;
        }
        let primitives = system.join(PRIMITIVES);
        if !primitives.is_file() {
            let source = root.join("xtask/src/windows/bcryptprimitives.c");
            let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
            run_for_output(compiler.args(["-shared", "-O1", "-o"]).arg(&primitives).arg(source).arg("-ladvapi32"))?;
        }
        Ok(wine)
    }

    /// Makes the command of a program of Wine's, for this prefix.
    fn wine_command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// Lists the variables of Wine's environment.
    fn environment(&self) -> [(&'static str, String); 4] {
        let prefix = self.prefix.display().to_string();
        [
            ("WINEPREFIX", prefix.clone()),
            // Wine links the folders of a Windows user to those in it.
            ("HOME", prefix),
            ("WINEDLLOVERRIDES", WITHOUT.to_owned()),
            ("WINEDEBUG", "-all".to_owned()),
        ]
    }

    /// Gives the folder that is drive C:.
    pub fn drive_c(&self) -> PathBuf {
        self.prefix.join("drive_c")
    }

    /// Makes the command of a program of Windows.
    pub fn windows_command(&self, program: &Path) -> Command {
        let mut command = self.wine_command("wine64");
        command.arg(program);
        command
    }

    /// Writes `etalon-wine` next to `etalon.exe`, a command like Linux's own, and gives its path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_wrapper(&self, etalon: &Path) -> Result<PathBuf> {
        let mut script = "#!/bin/sh\n# Written by `cargo xtask windows`: étalon for Windows, under Wine.\n".to_owned();
        for (name, value) in self.environment() {
            script += &format!("export {name}={}\n", shell_quote(&value)?);
        }
        let (wine, etalon_path) = (self.programs.join("wine64"), etalon.display().to_string());
        script += &format!("exec {} {} \"$@\"\n", shell_quote(&wine.to_string_lossy())?, shell_quote(&etalon_path)?);
        let path = etalon.with_file_name("etalon-wine");
        fs::write(&path, script).with_context(|| path.display().to_string())?;
        run_for_output(Command::new("chmod").arg("+x").arg(&path))?;
        Ok(path)
    }
}

/// Quotes a word for a shell.
fn shell_quote(text: &str) -> Result<String, shlex::QuoteError> {
    shlex::try_quote(text).map(|quoted| quoted.into_owned())
}
