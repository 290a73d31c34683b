//! The releases that passed, and the table of README that names them. `ETALON_BLESS=1` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::subject::Subject;

const BEGIN: &str = "<!-- met: begin -->\n";
const END: &str = "<!-- met: end -->";
const HEAD: &str = "| | installed | fetched by `cargo xtask test`, or built in |\n|---|---|---|\n";
const NONE: &str = "–";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Differs between machines, and is not compared.
    Installed,
    /// Fetched, or compiled into étalon: the same everywhere.
    Given,
}

pub struct Met {
    product: String,
    release: String,
    origin: Option<Origin>,
}

impl Met {
    pub fn of(subject: &Subject, product: String, release: String) -> Met {
        let origin = match (&subject.plan.server, &subject.programs) {
            (Some(_), None) => Some(Origin::Installed),
            (Some(_), Some(_)) => Some(Origin::Given),
            _ => (subject.name == "sqlite").then_some(Origin::Given),
        };
        Met { product, release, origin }
    }
}

/// Releases in their order, by product.
fn releases(met: &[Met], of: Origin) -> BTreeMap<&str, String> {
    let number = |release: &str| release.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    let mut all: BTreeMap<&str, BTreeSet<(Vec<u32>, &str)>> = BTreeMap::new();
    for one in met.iter().filter(|one| one.origin == Some(of)) {
        all.entry(&one.product).or_default().insert((number(&one.release), &one.release));
    }
    let joined = |all: BTreeSet<(Vec<u32>, &str)>| all.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(", ");
    all.into_iter().map(|(product, all)| (product, joined(all))).collect()
}

fn table(met: &[Met]) -> String {
    let (installed, given) = (releases(met, Origin::Installed), releases(met, Origin::Given));
    let products: BTreeSet<&str> = installed.keys().chain(given.keys()).copied().collect();
    let cell = |of: &BTreeMap<&str, String>, product| of.get(product).map_or(NONE, String::as_str).to_owned();
    let row = |product| format!("| {product} | {} | {} |\n", cell(&installed, product), cell(&given, product));
    format!("{HEAD}{}", products.into_iter().map(row).collect::<String>())
}

/// Holds README's table to what has just run: what is the same on every machine, and was at hand.
pub fn hold(met: &[Met]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (told, after) = rest.split_once(END).unwrap();
    if std::env::var_os("ETALON_BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{}{END}{after}", table(met))).unwrap();
        return;
    }
    let told: BTreeMap<&str, &str> = told
        .strip_prefix(HEAD)
        .unwrap()
        .lines()
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            (cells[0], cells[2])
        })
        .collect();
    for (product, ran) in releases(met, Origin::Given) {
        let said = told.get(product).copied().unwrap_or(NONE);
        // Of what is fetched, some may not be at hand; `xtask`'s own test compares the whole row.
        let unsaid: Vec<&str> =
            ran.split(", ").filter(|release| !said.split(", ").any(|one| one == *release)).collect();
        assert!(unsaid.is_empty(), "README's table has no {product} {unsaid:?}: ETALON_BLESS=1 writes what ran");
    }
}
