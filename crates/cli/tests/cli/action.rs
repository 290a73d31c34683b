//! The step of GitHub Actions around `etalon gate`: its own command, run by the shell that GitHub runs it by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use yaml_rust2::{Yaml, YamlLoader};

use crate::scene::{Scene, sim_plan};

/// The inputs' defaults and the gate's step, as the action declares them.
struct Action {
    folder: PathBuf,
    yaml: Yaml,
}

impl Action {
    fn read() -> Action {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions/gate").canonicalize().unwrap();
        let text = std::fs::read_to_string(folder.join("action.yml")).unwrap();
        let yaml = YamlLoader::load_from_str(&text).unwrap().remove(0);
        Action { folder, yaml }
    }

    fn default_of(&self, input: &str) -> String {
        self.yaml["inputs"][input]["default"].as_str().unwrap_or_default().to_owned()
    }

    /// Runs the step in the scene's folder with these inputs, as a runner fills `${{ inputs.NAME }}`.
    fn run(&self, scene: &Scene, inputs: &[(&str, &str)]) -> Output {
        let step = &self.yaml["runs"]["steps"][0];
        assert_eq!(step["shell"].as_str(), Some("bash"));
        let mut command = Command::new("bash");
        // What `shell: bash` stands for.
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
        for (name, value) in step["env"].as_hash().unwrap() {
            let value = value.as_str().unwrap();
            let input = value.trim_start_matches("${{ inputs.").trim_end_matches(" }}");
            let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, value)| (*value).to_owned());
            command.env(name.as_str().unwrap(), given.unwrap_or_else(|| self.default_of(input)));
        }
        command.env("ETALON", env!("CARGO_BIN_EXE_etalon")).env("GITHUB_ACTION_PATH", &self.folder);
        command.env("RUNNER_TEMP", scene.path()).env("GITHUB_OUTPUT", scene.path().join("output"));
        command.env("GITHUB_STEP_SUMMARY", scene.path().join("summary.md"));
        command.current_dir(scene.path()).output().unwrap()
    }
}

fn read(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.path().join(name)).unwrap()
}

/// What the step told the following ones.
fn outputs(scene: &Scene) -> BTreeMap<String, String> {
    let text = read(scene, "output");
    text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into())).collect()
}

fn measured(a: &str, b: &str) -> (Scene, String) {
    let scene = Scene::new();
    scene.write("plan.toml", &sim_plan(a, b, "rounds = 6\nduration = \"1s\"\nwarmup = \"0s\""));
    assert_eq!(scene.etalon(&["run", "plan.toml"]).code, 0);
    let store = scene.store().display().to_string();
    (scene, store)
}

#[test]
fn a_regression_fails_the_step_and_is_told_everywhere() {
    let (scene, store) = measured("service_us=200", "service_us=400");
    let ran = Action::read().run(&scene, &[("store", &store), ("max-regression", "10%")]);
    let log = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1), "{log}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(log.contains("::error title=etalon: regressed::"), "{log}");
    let outputs = outputs(&scene);
    assert_eq!(outputs["exit-code"], "1");
    let junit = read(&scene, &outputs["junit"]);
    assert!(junit.starts_with("<?xml") && junit.contains("<failure message=\"regressed"), "{junit}");
    let summary = read(&scene, "summary.md");
    assert!(summary.contains("**gate failed") && summary.contains("| regressed |"), "{summary}");
    assert_eq!(std::fs::read_to_string(&outputs["comment"]).unwrap(), summary);
    assert!(summary.starts_with("<!-- etalon gate -->\n"), "{summary}");
}

#[test]
fn what_holds_lets_the_step_pass() {
    let (scene, store) = measured("service_us=200", "service_us=200");
    let ran = Action::read().run(&scene, &[("store", &store), ("max-regression", "50%"), ("inconclusive", "fail")]);
    let log = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{log}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(!read(&scene, "etalon-gate.xml").contains("<failure"), "{log}");
}

/// An input's text is never a part of a command, and a store that is none leaves its reason and no JUnit.
#[test]
fn a_store_that_is_none_is_an_error_that_the_summary_tells() {
    let scene = Scene::new();
    let name = "none.etalon; touch broken; $(touch broken)";
    let ran = Action::read().run(&scene, &[("store", name)]);
    assert!(!matches!(ran.status.code(), Some(0 | 1)), "{ran:?}");
    assert_eq!(outputs(&scene)["junit"], "");
    assert!(read(&scene, "summary.md").contains("none.etalon"), "{}", read(&scene, "summary.md"));
    assert!(!scene.path().join("broken").exists() && !scene.path().join("etalon-gate.xml").exists());
}

/// Runs `comment.sh` with a stand-in for `gh`: it notes what it is asked, and answers a listing with `ids`, or refuses.
fn commented(text: &str, ids: Option<&str>) -> (Output, String, String) {
    let scene = Scene::new();
    let answer = ids.map_or("exit 1".to_owned(), |ids| format!("echo '{ids}'"));
    let gh = format!("#!/bin/sh\necho \"$*\" >>asked\ncase \"$*\" in *--paginate*) {answer} ;; esac\n");
    scene.write("gh", &gh);
    scene.write("comment.md", text);
    let mut mode = std::fs::metadata(scene.path().join("gh")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(scene.path().join("gh"), mode).unwrap();
    let path = format!("{}:{}", scene.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.arg(Action::read().folder.join("comment.sh")).current_dir(scene.path()).env("PATH", path);
    let ran = command.env("COMMENT", "comment.md").env("REPOSITORY", "a/b").env("NUMBER", "7").output().unwrap();
    (ran, read(&scene, "asked"), read(&scene, "comment.md"))
}

#[test]
fn the_comment_is_written_once_and_written_over_after_that() {
    let (ran, asked, _) = commented("<!-- etalon gate -->\nfine", Some(""));
    assert!(ran.status.success() && asked.contains("--method POST repos/a/b/issues/7/comments"), "{asked}");
    let (ran, asked, _) = commented("<!-- etalon gate -->\nfine", Some("41\n42"));
    assert!(ran.status.success() && asked.contains("--method PATCH repos/a/b/issues/comments/41"), "{asked}");
    assert!(!asked.contains("POST"), "{asked}");
}

#[test]
fn comments_that_cannot_be_read_are_a_warning_and_lead_to_no_second_one() {
    let (ran, asked, _) = commented("fine", None);
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("::warning::"), "{ran:?}");
    assert!(!asked.contains("--method"), "{asked}");
}

#[test]
fn a_comment_that_is_too_long_ends_with_a_whole_letter() {
    let (_, _, left) = commented(&"·é".repeat(20_000).replacen('·', "x", 1), Some(""));
    assert!((59_990..=60_000).contains(&left.len()), "{} bytes", left.len());
}
