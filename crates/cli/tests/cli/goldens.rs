//! What the command prints of itself, held as files in `tests/golden`: help, what can be named, and the plan's schema.

use std::path::Path;

use crate::golden::Golden;
use crate::scene::{Scene, ran};

/// Kinds of `etalon list --json` whose entries are shown whole, as `etalon show` calls them; plans are files, of which two stand
/// for all.
const SHOWN: [(&str, &str); 4] =
    [("workloads", "workload"), ("engines", "engine"), ("scripts", "script"), ("smack_scripts", "smack")];
const PLANS: [&str; 2] = ["quickstart", "capacity"];

fn golden() -> Golden {
    Golden {
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"),
        command: "cargo test -p cli --test cli goldens",
    }
}

/// Prints on a terminal of 80 columns.
fn printed(scene: &Scene, args: &[&str]) -> String {
    let ran = ran(scene.command(args).env("COLUMNS", "80").output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

/// Each command line with what it prints.
fn session(scene: &Scene, lines: &[&[&str]]) -> String {
    let shown = |args: &&[&str]| format!("$ etalon {}\n{}", args.join(" "), printed(scene, args));
    lines.iter().map(shown).collect::<Vec<_>>().join("\n")
}

/// The verbs that `etalon --help` lists.
fn verbs(scene: &Scene) -> Vec<String> {
    let help = printed(scene, &["--help"]);
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let entries = lines.filter(|line| !line.starts_with("    "));
    entries.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|verb| verb != "help").collect()
}

#[test]
fn help_of_every_verb_is_held() {
    let scene = Scene::new();
    let verbs = verbs(&scene);
    assert!(verbs.len() >= 20, "{verbs:?}");
    let mut outputs = vec![("help.txt".to_owned(), session(&scene, &[&["-h"], &["--help"]]))];
    outputs.extend(
        verbs.iter().map(|verb| (format!("help-{verb}.txt"), session(&scene, &[&[verb, "-h"], &[verb, "--help"]]))),
    );
    golden().check(&outputs);
    let is_known = |file: &str| outputs.iter().any(|(name, _)| name == file) || !file.starts_with("help");
    golden().check_names(is_known);
}

#[test]
fn what_can_be_named_and_shown_is_held() {
    let scene = Scene::new();
    let named: serde_json::Value = serde_json::from_str(&printed(&scene, &["list", "--json"])).unwrap();
    let mut outputs = vec![("list.txt".to_owned(), session(&scene, &[&["list"], &["list", "--all"]]))];
    for (kinds, kind) in SHOWN {
        let names = named[kinds].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap());
        let shown: Vec<String> = names.map(|name| session(&scene, &[&["show", &format!("{kind}:{name}")]])).collect();
        outputs.push((format!("show-{kinds}.txt"), shown.join("\n")));
    }
    let plans = PLANS.map(|name| session(&scene, &[&["show", &format!("plan:{name}")]]));
    outputs.push(("show-plans.txt".to_owned(), plans.join("\n")));
    outputs.push(("plan.schema.json".to_owned(), printed(&scene, &["schema", "plan"])));
    golden().check(&outputs);
}
