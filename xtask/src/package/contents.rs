//! What a package holds: the program, what explains and completes it, the units of its agent, and everybody's licences.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::release::Release;
use crate::run_for_output;

/// Where things belong in a package of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Unpacked into any folder, such as `/usr/local`.
    Archive,
    /// Debian's.
    Deb,
    /// Fedora's.
    Rpm,
    /// Unpacked into any folder of Windows, where documents lie next to the program.
    Windows,
}

/// Documents that go with the program, from the root of the repository.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Settings to begin with; none of them is in use before it is put where it belongs.
const EXAMPLES: [(&str, &str); 3] = [
    ("deploy/systemd/agent.env", "agent.env"),
    ("deploy/nats/etalon.conf", "nats/etalon.conf"),
    ("deploy/nats/users.conf", "nats/users.conf"),
];
/// What systemd reads; nothing of it is enabled by being there.
const UNITS: [(&str, &str); 3] = [
    ("deploy/systemd/etalon-agent.service", "lib/systemd/system/etalon-agent.service"),
    ("deploy/systemd/etalon-nats.service", "lib/systemd/system/etalon-nats.service"),
    ("deploy/systemd/etalon.sysusers.conf", "lib/sysusers.d/etalon.conf"),
];

const PROGRAM: u32 = 0o755;
const TEXT: u32 = 0o644;

/// A folder that holds what a package will.
pub struct Tree {
    folder: TempDir,
}

impl Tree {
    /// Stages a package's files where they belong in its layout.
    /// `speaker` is an étalon that prints its manual, `notices` the licences of what is linked in.
    ///
    /// # Errors
    /// A file cannot be read or written, or the speaker does not speak.
    pub fn stage_package(
        release: &Release,
        layout: Layout,
        program: &Path,
        speaker: &Path,
        notices: &str,
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("making a folder for a package")?;
        let tree = Self { folder };
        let binary = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
        let said = |words: &[&str]| run_for_output(release.tool_command(&speaker.to_string_lossy()).args(words));
        let (prefix, documents) = match layout {
            Layout::Archive => ("", "share/doc/etalon/"),
            Layout::Deb | Layout::Rpm => ("usr/", "usr/share/doc/etalon/"),
            Layout::Windows => ("", ""),
        };
        if layout == Layout::Windows {
            tree.put_file("etalon.exe", PROGRAM, &binary)?;
            // Not `etalon.ps1`, which a shell would take for the command.
            tree.put_file("completions/_etalon.ps1", TEXT, said(&["completions", "powershell"])?.as_bytes())?;
        } else {
            tree.put_file(&format!("{prefix}bin/etalon"), PROGRAM, &binary)?;
            tree.put_helpers(release, layout, prefix, &said)?;
        }
        for name in DOCUMENTS {
            tree.put_file(&format!("{documents}{name}"), TEXT, &release.read_file(name)?)?;
        }
        tree.put_file(&format!("{documents}THIRD-PARTY"), TEXT, notices.as_bytes())?;
        Ok(tree)
    }

    /// Puts manual, completions, units and examples into the tree, which Unix has next to a program.
    fn put_helpers(
        &self,
        release: &Release,
        layout: Layout,
        prefix: &str,
        said: &dyn Fn(&[&str]) -> Result<String>,
    ) -> Result<()> {
        self.put_text(prefix, "share/man/man1/etalon.1", said(&["man"])?.as_bytes())?;
        if layout != Layout::Archive {
            let manual = self.path().join(prefix).join("share/man/man1/etalon.1");
            run_for_output(release.tool_command("gzip").args(["-n", "-9"]).arg(manual))?;
        }
        self.put_text(prefix, "share/bash-completion/completions/etalon", said(&["completions", "bash"])?.as_bytes())?;
        self.put_text(
            prefix,
            "share/fish/vendor_completions.d/etalon.fish",
            said(&["completions", "fish"])?.as_bytes(),
        )?;
        let zsh = if layout == Layout::Deb { "vendor-completions" } else { "site-functions" };
        self.put_text(prefix, &format!("share/zsh/{zsh}/_etalon"), said(&["completions", "zsh"])?.as_bytes())?;
        for (from, to) in UNITS {
            let bytes = release.read_file(from)?;
            let text = String::from_utf8(bytes).with_context(|| format!("{from} is no text"))?;
            self.put_text(prefix, to, if prefix.is_empty() { text } else { installed_unit(&text) }.as_bytes())?;
        }
        for (from, to) in EXAMPLES {
            self.put_text(prefix, &format!("share/doc/etalon/{to}"), &release.read_file(from)?)?;
        }
        match layout {
            Layout::Deb => self.put_text(prefix, "share/doc/etalon/copyright", DEBIAN_COPYRIGHT.as_bytes()),
            _ => Ok(()),
        }
    }

    /// Puts a file that is read as text below a prefix.
    fn put_text(&self, prefix: &str, path: &str, bytes: &[u8]) -> Result<()> {
        self.put_file(&format!("{prefix}{path}"), TEXT, bytes)
    }

    /// Gives the folder where the tree is staged.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file with exactly these rights, whatever the caller's umask, and its folders.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_file(&self, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        let file = self.path().join(path);
        let parent = file.parent().context("a file has a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
        fs::write(&file, bytes).with_context(|| format!("writing {}", file.display()))?;
        set_mode(&file, mode)?;
        let mut folders = parent.ancestors().take_while(|folder| folder.starts_with(self.path()));
        folders.try_for_each(|folder| set_mode(folder, PROGRAM))
    }

    /// Lists every file, by its path from the folder, sorted by name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        Ok(self.entries()?.into_iter().filter(|path| !self.path().join(path).is_dir()).collect())
    }

    /// Lists every file and folder, by its path from the folder, sorted by name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn entries(&self) -> Result<Vec<PathBuf>> {
        let mut folders = vec![self.path().to_owned()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
                let path = entry?.path();
                found.push(path.strip_prefix(self.path())?.to_owned());
                folders.extend(path.is_dir().then_some(path));
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Debian's policy wants to know where the licences stand.
const DEBIAN_COPYRIGHT: &str = "étalon is licensed under MIT or Apache-2.0, at your choice: LICENSE-MIT and LICENSE-APACHE in this\n\
    folder. The licences of what is linked into it stand in THIRD-PARTY.\n";

/// Rewrites a unit as a package installs it.
/// It has the program in the system's own folder, and no word on how to install it by hand.
fn installed_unit(unit: &str) -> String {
    let kept: Vec<&str> = unit.lines().filter(|line| !line.starts_with("#   ") && *line != "#").collect();
    kept.join("\n").replace("/usr/local/bin/etalon", "/usr/bin/etalon") + "\n"
}

/// Sets the rights of a file or folder.
fn set_mode(path: &Path, mode: u32) -> Result<()> {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).with_context(|| format!("setting the rights of {}", path.display()))
}
