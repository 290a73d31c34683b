//! No verb that writes changes a byte of what étalon did not write.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::scene::{Scene, ran, sim_plan};

const TABLE: &str = "system,metric,repetition,value\na,p50,1,1\na,p50,2,2\nb,p50,1,1\nb,p50,2,3\n";
const SHORT: &str = "rounds = 1\nwarmup = \"0s\"\nduration = \"100ms\"";

/// What lies where output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Store,
    Copy,
    Link,
    Dangling,
    HardLink,
    Device,
    Pipe,
    Folder,
    ReadOnly,
    Foreign,
}

const KINDS: [Kind; 10] = [
    Kind::Store,
    Kind::Copy,
    Kind::Link,
    Kind::Dangling,
    Kind::HardLink,
    Kind::Device,
    Kind::Pipe,
    Kind::Folder,
    Kind::ReadOnly,
    Kind::Foreign,
];

fn run(program: &str, args: &[&str], last: &Path) -> bool {
    Command::new(program).args(args).arg(last).status().is_ok_and(|status| status.success())
}

/// Puts it at `path`; `None` where only root may. `store` is the store that is read.
fn occupy(kind: Kind, path: &Path, store: &Path) -> Option<()> {
    let aim = path.with_added_extension("aim");
    match kind {
        Kind::Store | Kind::Copy => drop(fs::copy(store, path).unwrap()),
        Kind::Link => assert!(run("ln", &["-s", store.to_str().unwrap()], path)),
        Kind::Dangling => assert!(run("ln", &["-s", aim.to_str().unwrap()], path)),
        Kind::HardLink => {
            fs::write(&aim, "precious").unwrap();
            fs::hard_link(&aim, path).unwrap();
        }
        // What /dev/null is.
        Kind::Device => {
            let made = Command::new("mknod").arg(path).args(["c", "1", "3"]).status();
            return made.is_ok_and(|status| status.success()).then_some(());
        }
        Kind::Pipe => assert!(run("mkfifo", &[], path)),
        Kind::Folder => {
            fs::create_dir(path).unwrap();
            fs::write(path.join("notes"), "precious").unwrap();
        }
        Kind::ReadOnly => {
            fs::write(path, "precious").unwrap();
            assert!(run("chmod", &["444"], path));
        }
        Kind::Foreign => fs::write(path, "precious").unwrap(),
    }
    Some(())
}

/// Every file under a folder with what kind it is and what it holds; pipes and devices without.
fn picture(folder: &Path) -> Vec<(PathBuf, String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let found = fs::symlink_metadata(&path).unwrap();
        let bytes = if found.is_file() {
            fs::read(&path).unwrap()
        } else if found.is_symlink() {
            fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes()
        } else {
            Vec::new()
        };
        all.push((path.clone(), format!("{:?}", found.file_type()), bytes));
        if found.is_dir() {
            all.extend(picture(&path));
        }
    }
    all
}

/// All that was there before is there as it was, and no draft is left.
#[track_caller]
fn assert_kept(before: &[(PathBuf, String, Vec<u8>)], folder: &Path, what: &str) {
    let after = picture(folder);
    for one in before {
        assert!(after.contains(one), "{what}: {} was changed", one.0.display());
    }
    let draft = after.iter().find(|(path, ..)| path.extension().is_some_and(|extension| extension == "new"));
    assert!(draft.is_none(), "{what}: {draft:?}");
}

/// A scene with a store in `s.etalon`, which was imported.
fn scene_with_store() -> (Scene, PathBuf) {
    let scene = Scene::new();
    scene.write("t.csv", TABLE).etalon(&["import", "tidy", "t.csv", "-o", "s.etalon"]).says(0, &[]);
    let store = scene.path().join("s.etalon");
    (scene, store)
}

#[test]
fn verbs_change_nothing_that_lies_where_output_is_sent() {
    let (scene, store) = scene_with_store();
    let named: [&[&str]; 8] = [
        &["report", "s.etalon", "-o"],
        &["export", "s.etalon", "-o"],
        &["export", "s.etalon", "--format", "json", "-o"],
        &["export", "s.etalon", "--format", "markdown", "-o"],
        &["export", "s.etalon", "--format", "pgbench", "-o"],
        &["export", "s.etalon", "--format", "super-smack", "-o"],
        &["init", "sqlite:a.db", "-o"],
        &["import", "tidy", "t.csv", "-o"],
    ];
    for kind in KINDS {
        for (number, verb) in named.iter().enumerate() {
            let out = scene.path().join(format!("{kind:?}-{number}.etalon"));
            if occupy(kind, &out, &store).is_none() {
                println!("skipped: only root makes devices");
                continue;
            }
            let before = picture(scene.path());
            let what = format!("{verb:?} on {kind:?}");
            let takes_streams = verb[0] != "import";
            let reader = (kind == Kind::Pipe && takes_streams).then(|| {
                let pipe = out.clone();
                thread::spawn(move || {
                    let mut text = String::new();
                    fs::File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                    text
                })
            });
            let ran = scene.etalon(&[verb, &[out.to_str().unwrap()][..]].concat());
            let is_stream = takes_streams && matches!(kind, Kind::Device | Kind::Pipe);
            assert_eq!(ran.code == 0, is_stream, "{what}: {}", ran.stderr);
            assert!(is_stream || ran.stderr.contains("hint: "), "{what}: {}", ran.stderr);
            if let Some(reader) = reader {
                // The same as goes to stdout.
                let shown = scene.etalon(&[verb, &["-"][..]].concat()).stdout;
                assert_eq!(reader.join().unwrap().trim_end(), shown.trim_end(), "{what}");
            }
            assert_kept(&before, scene.path(), &what);
        }
    }
}

#[test]
fn force_replaces_files_and_links_but_no_store() {
    for kind in KINDS.into_iter().filter(|kind| !matches!(kind, Kind::Device | Kind::Pipe)) {
        for verb in [&["report", "s.etalon"][..], &["export", "s.etalon"], &["init", "sqlite:a.db"]] {
            let (scene, store) = scene_with_store();
            let out = scene.path().join("out");
            occupy(kind, &out, &store).unwrap();
            let others = || picture(scene.path()).into_iter().filter(|(path, ..)| *path != out).collect::<Vec<_>>();
            let (before, others_before) = (picture(scene.path()), others());
            let ran = scene.etalon(&[verb, &["-o", "out", "--force"]].concat());
            let what = format!("{verb:?} --force on {kind:?}: {}", ran.stderr);
            if matches!(kind, Kind::Dangling | Kind::HardLink | Kind::ReadOnly | Kind::Foreign) {
                assert_eq!(ran.code, 0, "{what}");
                assert!(fs::symlink_metadata(&out).unwrap().is_file() && fs::read(&out).unwrap() != b"precious");
                assert_eq!(others(), others_before, "{what}");
            } else {
                assert_eq!(ran.code, 2, "{what}");
                assert_kept(&before, scene.path(), &what);
            }
        }
    }
}

#[test]
fn a_file_that_etalon_wrote_is_replaced_until_it_is_changed() {
    let (scene, _) = scene_with_store();
    for format in ["csv", "markdown"] {
        let export = || scene.etalon(&["export", "s.etalon", "--format", format, "-o", format]);
        export().says(0, &[]);
        export().says(0, &[]);
        let path = scene.path().join(format);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}my note\n")).unwrap();
        export().says(2, &["or it was changed since", "`--force`"]);
        assert!(fs::read_to_string(&path).unwrap().ends_with("my note\n"));
    }
    scene.etalon(&["report", "s.etalon"]).says(0, &["report: s.html"]);
    scene.etalon(&["report", "s.etalon", "--level", "90%"]).says(0, &["report: s.html"]);
    let page = scene.path().join("s.html");
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, format!("{text}my note\n")).unwrap();
    scene.etalon(&["report", "s.etalon"]).says(0, &["report: s-2.html"]);
    assert!(fs::read_to_string(&page).unwrap().ends_with("my note\n"));
    scene.etalon(&["report", "s.etalon", "--force"]).says(0, &["report: s.html"]);
    let page = scene.etalon(&["report", "s.etalon", "-o", "-"]).stdout;
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("sha256 "), "{page}");
    assert!(scene.etalon(&["export", "s.etalon", "-o", "-"]).stdout.contains("system,"));
    scene.etalon(&["import", "tidy", "t.csv", "-o", "-"]).says(2, &["cannot go to stdout"]);
    scene.etalon(&["export", "s.etalon", "--format", "svg", "-o", "-"]).says(2, &["cannot go to stdout"]);
}

/// Draws every SVG as the same picture, as the program that étalon looks for first.
fn add_painter(scene: &Scene) -> std::ffi::OsString {
    let folder = scene.path().join("programs");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("rsvg-convert");
    fs::write(
        &program,
        "#!/bin/sh\n[ \"$1\" = --version ] && exit\ncat > /dev/null\nprintf '\\211PNG\\r\\n\\032\\npicture'\n",
    )
    .unwrap();
    assert!(run("chmod", &["755"], &program));
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn charts_replace_no_file_of_their_names() {
    for format in ["svg", "png"] {
        let scene = Scene::new();
        let programs = add_painter(&scene);
        scene.write("p.toml", &sim_plan("", "service_us=300", SHORT)).etalon(&["run", "p.toml"]).says(0, &[]);
        let store = scene.store();
        let export = |folder: &str, force: &[&str]| {
            let args = ["export", store.to_str().unwrap(), "--format", format, "-o", folder];
            ran(scene.command(&[&args[..], force].concat()).env("PATH", &programs).output().unwrap())
        };
        export("first", &[]).says(0, &[]);
        // A picture does not tell who drew it.
        export("first", if format == "png" { &["--force"] } else { &[] }).says(0, &[]);
        let drawn = fs::read_dir(scene.path().join("first")).unwrap().map(|entry| entry.unwrap().path());
        let names: Vec<_> = drawn.filter(|path| path.extension().is_some_and(|own| own == format)).collect();
        for kind in KINDS {
            let folder = format!("{kind:?}");
            fs::create_dir(scene.path().join(&folder)).unwrap();
            let out = scene.path().join(&folder).join(names[0].file_name().unwrap());
            // A pipe without a reader would be waited for, as the user has named it.
            if kind == Kind::Pipe || occupy(kind, &out, &store).is_none() {
                continue;
            }
            let before = picture(scene.path());
            assert_eq!(export(&folder, &[]).code == 0, kind == Kind::Device, "{format} on {kind:?}");
            assert_kept(&before, scene.path(), &folder);
        }
    }
}

/// SQLIO's command line names the file that is read and written.
#[test]
fn sqlio_changes_no_file_of_others() {
    let (scene, store) = scene_with_store();
    for kind in KINDS {
        for operation in ["-kW", "-kR"] {
            let name = format!("{kind:?}{operation}.dat");
            // Nobody would ever open its other end.
            if kind == Kind::Pipe || occupy(kind, &scene.path().join(&name), &store).is_none() {
                continue;
            }
            let before = picture(scene.path());
            let ran = scene.etalon(&["sqlio", "--output", "results", operation, "-s1", "-frandom", "-b8", &name]);
            let what = format!("{operation} on {kind:?}");
            assert!(ran.code != 0 || (operation == "-kR" && kind != Kind::Dangling), "{what}: {}", ran.stderr);
            assert_kept(&before, scene.path(), &what);
        }
    }
}

/// At the end of an experiment the report goes next to its store unasked.
#[test]
fn experiments_leave_what_lies_where_their_report_would_go() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "", SHORT).replace("[1, 4]", "1")).etalon(&["run", "p.toml"]).says(0, &[]);
    let begun = scene.store();
    for kind in KINDS {
        let folder = scene.path().join(format!("{kind:?}"));
        fs::create_dir(&folder).unwrap();
        let store = folder.join("s.etalon");
        fs::copy(&begun, &store).unwrap();
        if occupy(kind, &folder.join("s.html"), &begun).is_none() {
            continue;
        }
        let theirs: [&[&str]; 3] = [&["extend", "--rounds", "1"], &["resume"], &["report"]];
        for verb in theirs {
            let before: Vec<_> =
                picture(&folder).into_iter().filter(|(path, ..)| !path.ends_with("s.etalon")).collect();
            let before: Vec<_> = before.into_iter().filter(|(path, ..)| !path.ends_with("s-2.html")).collect();
            let ran = scene.etalon(&[verb, &[store.to_str().unwrap()]].concat());
            ran.says(0, &["s-2.html"]);
            assert_kept(&before, &folder, &format!("{verb:?} on {kind:?}"));
        }
    }
}

#[test]
fn results_go_to_no_place_that_is_no_folder() {
    let scene = Scene::new();
    let (_keep, store) = scene_with_store();
    scene.write("p.toml", &sim_plan("", "", SHORT));
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Folder) {
        let out = scene.path().join(format!("{kind:?}"));
        if occupy(kind, &out, &store).is_none() {
            continue;
        }
        let before = picture(scene.path());
        let named = out.to_str().unwrap();
        let verbs: [&[&str]; 2] =
            [&["run", "p.toml", "-o", named], &["sqlio", "--output", named, "-kR", "-s1", "t.dat"]];
        for verb in verbs {
            scene.etalon(verb).says(3, &["cannot make the folder", "hint:"]);
            assert_kept(&before, scene.path(), &format!("{verb:?} on {kind:?}"));
        }
    }
}

/// A task log once replaced the files of its name.
#[test]
fn a_task_log_gets_a_folder_of_its_own() {
    let scene = Scene::new();
    let plan =
        sim_plan("", "", "rounds = 1\nwarmup = \"0s\"").replace("clients = [1, 4]", "tasks = 5\npool = { size = 2 }");
    scene.write("p.toml", &plan);
    let run = || scene.etalon(&["run", "p.toml", "--task-log", "log"]);
    run().says(0, &[]);
    let logs = || picture(&scene.path().join("log"));
    let mut first = logs();
    let file = first.iter().position(|(path, ..)| path.is_file()).unwrap();
    fs::write(&first[file].0, "precious").unwrap();
    first = logs();
    run().says(0, &[]);
    assert_kept(&first, &scene.path().join("log"), "--task-log");
    assert_eq!(logs().len(), 2 * first.len());
}
