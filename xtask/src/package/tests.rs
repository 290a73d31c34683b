//! What the packers make of one tree, with the étalon that the other tests have built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::contents::{Layout, Tree};
use super::release::Release;
use super::{deb, rpm, sums, tarball, zip};
use crate::run_for_output;

fn release() -> Release {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    Release {
        root,
        version: "1.2.3".into(),
        committed_s: 1_700_000_000,
        committed: String::new(),
        metadata: serde_json::Value::Null,
    }
}

/// `cargo test --workspace` has built it next to this test.
fn etalon() -> Option<PathBuf> {
    let built = std::env::current_exe().unwrap().parent().unwrap().with_file_name("etalon");
    if !built.is_file() {
        println!("skipped: {} is not there; `cargo build -p cli` makes it", built.display());
        return None;
    }
    Some(built)
}

/// Makes one package of each kind, from a tree that is staged for each.
fn pack(etalon: &Path, folder: &Path) {
    let release = release();
    // The size is not what is tested, and a debug build takes xz a minute.
    let program = folder.join("program");
    fs::write(&program, &fs::read(etalon).unwrap()[..100_000]).unwrap();
    tarball::write_tarball(
        &release,
        &Tree::stage_package(&release, Layout::Archive, &program, etalon, "none\n").unwrap(),
        "etalon-1.2.3-here",
        folder,
    )
    .unwrap();
    deb::write_deb(
        &release,
        &Tree::stage_package(&release, Layout::Deb, &program, etalon, "none\n").unwrap(),
        "2.34",
        folder,
    )
    .unwrap();
    rpm::write_rpm(&release, &Tree::stage_package(&release, Layout::Rpm, &program, etalon, "none\n").unwrap(), folder)
        .unwrap();
    zip::write_zip(
        &release,
        &Tree::stage_package(&release, Layout::Windows, &program, etalon, "none\n").unwrap(),
        "etalon-1.2.3-windows",
        folder,
    )
    .unwrap();
    fs::remove_file(program).unwrap();
    sums::write_sums(folder).unwrap();
}

#[test]
fn packages_hold_what_they_should_and_are_the_same_twice() {
    let Some(etalon) = etalon() else { return };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    pack(&etalon, one.path());
    // Clocks count in seconds in some of these formats.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    pack(&etalon, two.path());
    assert_eq!(read_sums(one.path()), read_sums(two.path()));
    assert_eq!(sums::file_names(one.path()).unwrap().len(), 5);

    let said = |program: &str, arguments: &[&str]| {
        run_for_output(Command::new(program).args(arguments).current_dir(one.path()).env("TZ", "UTC")).unwrap()
    };
    let tar = said("tar", &["-tvzf", "etalon-1.2.3-here.tar.gz"]);
    assert!(tar.contains("-rwxr-xr-x 0/0") && tar.contains(" etalon-1.2.3-here/bin/etalon\n"), "{tar}");
    assert!(tar.lines().all(|line| line.contains("2023-11-14 22:13 etalon-1.2.3-here/")), "{tar}");
    let deb = said("dpkg-deb", &["--contents", "etalon_1.2.3_amd64.deb"]);
    let rpm = said("rpm", &["-qp", "--queryformat", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", RPM]);
    for path in ["usr/bin/etalon", "usr/share/man/man1/etalon.1.gz", "usr/lib/systemd/system/etalon-agent.service"] {
        assert!(
            deb.contains(&format!(" ./{path}\n")) && rpm.contains(&format!("root /{path}\n")),
            "{path}: {deb}{rpm}"
        );
    }
    assert!(deb.contains("usr/share/zsh/vendor-completions/_etalon"), "{deb}");
    assert!(rpm.contains("-rwxr-xr-x root /usr/bin/etalon\n"), "{rpm}");
    let zip = said("zipinfo", &["-s", "-T", "etalon-1.2.3-windows.zip"]);
    for name in ["etalon.exe", "completions/_etalon.ps1", "README.md", "THIRD-PARTY"] {
        assert!(zip.contains(&format!(" 20231114.221320 etalon-1.2.3-windows/{name}\n")), "{name}: {zip}");
    }
    let fields = said("dpkg-deb", &["--field", "etalon_1.2.3_amd64.deb", "Version", "Depends"]);
    assert_eq!(fields, "Version: 1.2.3\nDepends: libc6 (>= 2.34), libgcc-s1\n");
    let unit =
        said("sh", &["-c", "dpkg-deb --fsys-tarfile *.deb | tar -xO ./usr/lib/systemd/system/etalon-agent.service"]);
    assert!(unit.contains("\nExecStart=/usr/bin/etalon agent ") && !unit.contains("/usr/local"), "{unit}");
}

fn read_sums(folder: &Path) -> String {
    fs::read_to_string(folder.join(sums::FILE)).unwrap()
}

const RPM: &str = "etalon-1.2.3-1.x86_64.rpm";
