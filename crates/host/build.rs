//! Passes on to the crate what cargo gives only to build scripts: the target and the profile of this build.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let [target, out] =
        ["TARGET", "OUT_DIR"].map(|name| std::env::var(name).unwrap_or_else(|_| "not known".to_owned()));
    println!("cargo::rustc-env=ETALON_TARGET={target}");
    println!("cargo::rustc-env=ETALON_PROFILE={}", profile(Path::new(&out)).unwrap_or("not known"));
}

/// Cargo's own variable calls every optimised profile `release`. Its output folder has the profile's own name, in front of
/// the last `build`.
fn profile(out: &Path) -> Option<&str> {
    let build = out.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "build"))?;
    build.parent()?.file_name()?.to_str()
}
