//! Facts on this build of étalon: two builds of one version need not cost the same.

use model::Facts;

/// The triple that it was compiled for.
pub const TARGET: &str = env!("ETALON_TARGET");
/// Cargo's name for how it was compiled, by its folder: `debug`, `release`, `dist`.
pub const PROFILE: &str = env!("ETALON_PROFILE");
/// The allocator, which its C code uses, too.
pub const ALLOCATOR: &str = if cfg!(target_env = "musl") { "mimalloc" } else { "the C library's" };

#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The C library, with its version where it can be asked: the one that is loaded, not the one that it was linked against.
pub fn libc() -> String {
    os::libc()
}

/// `etalon.target`, `etalon.profile`, `etalon.libc` and `etalon.allocator`.
pub(crate) fn add_build_facts(facts: &mut Facts) {
    facts.record_identity("etalon.target", TARGET);
    facts.record_identity("etalon.profile", PROFILE);
    facts.record_identity("etalon.libc", libc());
    let is_static = cfg!(any(target_feature = "crt-static", not(unix)));
    let preloaded = if is_static { None } else { std::env::var("LD_PRELOAD").ok() };
    facts.record_identity("etalon.allocator", allocator(preloaded.as_deref()));
}

/// The allocator; what the loader puts in front may bring one of its own.
fn allocator(preloaded: Option<&str>) -> String {
    match preloaded.map(str::trim).filter(|names| !names.is_empty()) {
        Some(names) => format!("{ALLOCATOR}, unless {names} replaces it (LD_PRELOAD)"),
        None => ALLOCATOR.to_owned(),
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod os {
    use std::ffi::CStr;

    /// The C library that is loaded, with its version.
    pub(super) fn libc() -> String {
        // SAFETY: it takes nothing and gives a text of static lifetime.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
}

/// None of these gives a program its version.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod os {
    const NAME: &str = if cfg!(target_env = "musl") {
        "musl"
    } else if cfg!(all(windows, target_env = "gnu", not(target_abi = "llvm"))) {
        "msvcrt"
    } else if cfg!(windows) {
        "ucrt"
    } else if cfg!(target_vendor = "apple") {
        "libSystem"
    } else {
        "the system's own"
    };

    /// The C library that étalon was built with.
    pub(super) fn libc() -> String {
        let linked = if cfg!(target_feature = "crt-static") { ", linked in" } else { "" };
        format!("{NAME}{linked}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_the_one_that_the_compiler_was_given() {
        assert!(TARGET.starts_with(std::env::consts::ARCH), "{TARGET}");
        assert!(TARGET.contains(if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS }), "{TARGET}");
    }

    #[test]
    fn the_profile_is_the_folder_of_this_very_test() {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().and_then(|deps| deps.parent()).unwrap();
        assert_eq!(folder.file_name().unwrap(), PROFILE, "{}", test.display());
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn the_c_library_is_the_one_that_the_system_names() {
        let getconf = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&getconf.stdout).trim(), libc());
    }

    #[test]
    fn a_preloaded_library_leaves_the_allocator_open() {
        assert_eq!(allocator(None), ALLOCATOR);
        assert_eq!(allocator(Some(" ")), ALLOCATOR);
        assert!(allocator(Some("/usr/lib/libjemalloc.so.2")).contains("libjemalloc.so.2"));
    }
}
