//! Sets `ETALON_VERSION`: the package's version, and the commit where étalon is built in its own git repository. Two builds of
//! one version then differ by name. A package without git has the version alone.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// Whose changes make another program than the commit's.
const SOURCES: [&str; 4] = ["crates/*/src/*", "crates/*/build.rs", "*Cargo.toml", "Cargo.lock"];

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rustc-env=ETALON_VERSION={version}{}", commit_of(&root).unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
}

/// `+3d595418`, or `+3d595418.dirty-1a2b3c4d` with changes that are not committed: a hash of them.
fn commit_of(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    // The sources of a package may lie in someone else's repository.
    if Path::new(top.trim()).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=8", "HEAD"])?;
    for changes in ["HEAD", "logs/HEAD"] {
        watch(&root.join(git(root, &["rev-parse", "--git-path", changes])?.trim()));
    }
    watch(&root.join("Cargo.toml"));
    watch(&root.join("Cargo.lock"));
    for folder in std::fs::read_dir(root.join("crates")).ok()?.flatten() {
        for part in ["src", "build.rs", "Cargo.toml"] {
            watch(&folder.path().join(part));
        }
    }
    let [differences, others] = [vec!["diff", "HEAD"], vec!["ls-files", "--others", "--exclude-standard"]]
        .map(|verb| git(root, &[&verb[..], &["--"], &SOURCES].concat()));
    let changed = differences? + &others?;
    let dirty = if changed.is_empty() {
        String::new()
    } else {
        let mut hasher = DefaultHasher::new();
        changed.hash(&mut hasher);
        format!(".dirty-{:08x}", hasher.finish() as u32)
    };
    Some(format!("+{}{dirty}", commit.trim()))
}

/// A path that is not there would have the script run each time.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(folder).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
