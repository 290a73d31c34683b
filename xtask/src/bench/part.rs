//! A part of the bench, as its file says: which processes are compared, by what, and what étalon must reach.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::Value as Json;

/// What a table's rows name as their experiment: a bench is one.
const EXPERIMENT: &str = "bench";
/// How figures are read that étalon measured.
pub const ETALON: &str = "etalon";

/// What stands for `{NAME}` in command lines.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Values(BTreeMap<String, String>);

impl Values {
    /// Sets the value of a name.
    pub fn add(&mut self, name: &str, value: impl Display) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// Replaces a value that the part has; fails if it has none of that name.
    ///
    /// # Errors
    /// It has none of that name.
    pub fn replace(&mut self, name: &str, value: &str) -> Result<()> {
        let Some(old) = self.0.get_mut(name) else {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            bail!("the part has no value `{name}`\nhint: it has {}", known.join(", "));
        };
        value.clone_into(old);
        Ok(())
    }

    /// Gives a value by its name; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Replaces every `{NAME}` in a text by its value, and again what stands in the values.
    ///
    /// # Errors
    /// A name is not known.
    pub fn fill_in(&self, text: &str) -> Result<String> {
        let Some((before, (name, after))) = text.split_once('{').and_then(|(b, rest)| Some((b, rest.split_once('}')?)))
        else {
            return Ok(text.to_owned());
        };
        let value = self.0.get(name).with_context(|| format!("nothing is called {{{name}}}"))?;
        Ok(format!("{before}{}{}", self.fill_in(value)?, self.fill_in(after)?))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The heading of its text.
    pub title: String,
    /// What is measured and how.
    pub text: String,
    /// Programs of this workspace besides étalon, built as it is: `{NAME}`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Packages that it needs, by their names on Debian.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Commands whose first line of output is a version.
    #[serde(default)]
    pub versions: Vec<String>,
    /// The folder in which everything is made, where it is not the system's for temporary files.
    pub folder: Option<PathBuf>,
    /// Values, which `--set` may replace.
    #[serde(default)]
    pub values: Values,
    /// Further values, by a case's key and its value.
    #[serde(default)]
    variants: BTreeMap<String, BTreeMap<String, Values>>,
    /// Servers, in the order in which they are started.
    #[serde(default, rename = "server")]
    pub servers: Vec<Server>,
    /// Commands before the first round, when the servers run.
    #[serde(default)]
    pub setup: Vec<String>,
    /// What is compared.
    #[serde(rename = "comparison")]
    pub comparisons: Vec<Comparison>,
}

/// A private server. It has a folder and a port, `{NAME_dir}` and `{NAME_port}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub name: String,
    /// The user as whom root starts it; root if there is none.
    pub user: Option<String>,
    /// Commands before it starts, as the same user.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Its command line.
    pub start: String,
    /// A command that succeeds when it answers.
    pub ready: String,
}

/// Processes that do the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Its name, that of its files.
    pub name: String,
    /// The heading of its tables.
    pub title: String,
    /// The side that the others are compared with.
    pub baseline: String,
    /// The tool's metric that is a rate of operations, if it has one.
    pub rate: Option<String>,
    /// How the server counts operations, if it does. CPU time is by its count, and what étalon claims must be it within 2 %.
    pub counted: Option<Counted>,
    /// The metrics that are compared: the tool's own, that of `counted`, `client_cpu` and what it is made of, `client_user`
    /// and `client_system`, and `peak_memory`.
    pub metrics: String,
    /// Commands before each run.
    #[serde(default)]
    pub before: Vec<String>,
    /// What each side does. One with `seconds` is as long as that, whatever the options of the bench say.
    #[serde(default = "one_case")]
    cases: Vec<BTreeMap<String, toml::Value>>,
    /// Who does it.
    sides: BTreeMap<String, Side>,
    /// Arguments of `etalon compare`, a table for each.
    #[serde(default = "one_view")]
    pub views: Vec<String>,
    /// What étalon must reach.
    #[serde(default)]
    pub bars: Vec<Bar>,
}

/// Makes the list of a single case without keys, the default.
fn one_case() -> Vec<BTreeMap<String, toml::Value>> {
    vec![BTreeMap::new()]
}

/// Makes the list of a single view without options, the default.
fn one_view() -> Vec<String> {
    vec![String::new()]
}

/// A counter of the server's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// What the rate is called: as the tool names it, else the counter's difference over the seconds.
    pub metric: String,
    pub unit: String,
    /// The command that prints the counter.
    pub command: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Its command line.
    pub command: String,
    /// How its figures are read: `etalon` for a store in `{out}`, else a format of `etalon import` for what it prints.
    #[serde(default = "default_reader")]
    pub reads: String,
    /// How many operations of the server's one of the tool's is.
    #[serde(default = "default_factor")]
    pub operations: f64,
}

/// Names the tool that sides are read by if none is named: étalon.
fn default_reader() -> String {
    ETALON.to_owned()
}

/// Gives the factor 1, the default.
fn default_factor() -> f64 {
    1.0
}

/// What étalon must reach.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    metric: String,
    side: String,
    #[serde(default)]
    of: Of,
    /// The keys of the case that it holds for.
    #[serde(default)]
    case: BTreeMap<String, toml::Value>,
    #[serde(default = "no_lower_end")]
    at_least: f64,
    #[serde(default = "no_upper_end")]
    at_most: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Of {
    /// Its ratio to the baseline.
    #[default]
    Ratio,
    Value,
}

/// Gives the lower end of a bar without one: minus infinity.
fn no_lower_end() -> f64 {
    f64::NEG_INFINITY
}

/// Gives the upper end of a bar without one: infinity.
fn no_upper_end() -> f64 {
    f64::INFINITY
}

/// A side in a case: what is run once in each round.
#[derive(Clone, Debug)]
pub struct Run<'p> {
    part: &'p Part,
    pub comparison: &'p Comparison,
    case: &'p BTreeMap<String, toml::Value>,
    name: &'p str,
    pub side: &'p Side,
}

/// Writes a value of TOML as text without quotes.
fn plain_text(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads a part's file; one that `extends` another has what the other has, but for what it says itself.
fn read_table(path: &Path) -> Result<toml::Table> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let mut own: toml::Table = toml::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
    let Some(other) = own.remove("extends") else { return Ok(own) };
    let mut whole = read_table(&path.with_file_name(format!("{}.toml", plain_text(&other))))?;
    for (key, value) in own {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(more)) => known.extend(more),
            (_, value) => _ = whole.insert(key, value),
        }
    }
    Ok(whole)
}

impl Part {
    /// Reads the part in `xtask/bench/NAME.toml`.
    /// With another étalon its sides, before and after, are all there is.
    ///
    /// # Errors
    /// There is no such file, or something in it is wrong.
    pub fn read(root: &Path, name: &str, beside: Option<&Path>) -> Result<Part> {
        let folder = root.join("xtask/bench");
        let path = folder.join(format!("{name}.toml"));
        if !path.is_file() {
            let names = fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
            let names = names.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
            let mut names: Vec<_> = names.filter_map(|path| Some(path.file_stem()?.display().to_string())).collect();
            names.sort();
            bail!("no part is called `{name}`\nhint: cargo xtask bench {}", names.join(" | "));
        }
        let mut part: Part = read_table(&path)?.try_into().with_context(|| format!("reading {}", path.display()))?;
        if let Some(other) = beside {
            part.comparisons.iter_mut().for_each(|comparison| comparison.put_next_to(other));
            part.comparisons.retain(|comparison| !comparison.sides.is_empty());
        }
        Ok(part)
    }

    /// Lists the runs of a round: each side of each case of each comparison.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.comparisons.iter().flat_map(move |comparison| {
            let cases = comparison.cases.iter();
            cases.flat_map(move |case| {
                let sides = comparison.sides.iter();
                sides.map(move |(name, side)| Run { part: self, comparison, case, name, side })
            })
        })
    }
}

impl Comparison {
    /// Lists the metrics that the comparison shows.
    pub fn metric_names(&self) -> impl Iterator<Item = &str> {
        self.metrics.split(',')
    }

    /// Lists the names of the cases' keys.
    fn key_names(&self) -> impl Iterator<Item = &String> {
        self.cases.first().into_iter().flat_map(BTreeMap::keys)
    }

    /// Writes the first lines of the comparison's table: its rules and columns.
    pub fn table_heading(&self, seed: u64) -> String {
        let keys: String = self.key_names().map(|key| format!("{key},")).collect();
        format!(
            "# etalon: repetitions=rounds order=interleaved margin=0.03 level=0.95 seed={seed} experiment={EXPERIMENT} \
             baseline={}\nsystem,benchmark,experiment,{keys}repetition,metric,unit,role,kind,value\n",
            self.baseline
        )
    }

    /// Replaces the sides by étalon's own, each before, by the program `other`, and after.
    fn put_next_to(&mut self, other: &Path) {
        let own = self.sides.iter().filter(|(_, side)| side.reads == ETALON);
        let both = own.flat_map(|(name, side)| {
            let command = side.command.replace("{etalon}", &other.display().to_string());
            [(format!("{name} before"), Side { command, ..side.clone() }), (format!("{name} after"), side.clone())]
        });
        self.sides = both.collect();
        self.baseline = self.sides.keys().find(|name| name.ends_with("before")).cloned().unwrap_or_default();
    }
}

impl Run<'_> {
    /// Copies the values of the part, with those of the run's case.
    pub fn values_with_case(&self, common: &Values) -> Values {
        let mut values = common.clone();
        for (key, value) in self.case {
            let value = plain_text(value);
            let variant = self.part.variants.get(key).and_then(|variants| variants.get(&value));
            values.add(key, value);
            values.0.extend(variant.into_iter().flat_map(|more| more.0.clone()));
        }
        values
    }

    /// Gives a key of the case that is a whole number.
    pub fn number_key(&self, key: &str) -> Option<f64> {
        self.case.get(key).and_then(toml::Value::as_integer).map(|number| number as f64)
    }

    /// Writes the fields that stand in the run's rows before the repetition.
    pub fn row_fields(&self) -> String {
        let keys = self.comparison.key_names().map(|key| self.case.get(key).map(plain_text).unwrap_or_default());
        [self.name.to_owned(), self.comparison.name.clone(), EXPERIMENT.to_owned()]
            .into_iter()
            .chain(keys)
            .collect::<Vec<_>>()
            .join(",")
    }
}

impl Display for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.comparison.name, self.name)?;
        self.case.iter().try_for_each(|(key, value)| write!(f, " {key}={}", plain_text(value)))
    }
}

impl Bar {
    /// Writes the bar as a row of a table: asked, measured, and whether it is met.
    pub fn table_row(&self, answer: &Json, baseline: &str) -> String {
        let rows = |of: &str| {
            answer[of]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|row| {
                    row["metric"] == self.metric.as_str()
                        && self.case.iter().all(|(key, value)| row["case"][key] == serde_json::json!(value))
                })
                .cloned()
                .collect::<Vec<Json>>()
        };
        let of_both = rows("comparisons");
        let found = match self.of {
            Of::Ratio => {
                let row = of_both
                    .iter()
                    .find(|row| row["b"]["system"] == self.side.as_str() && row["a"]["system"] == baseline);
                row.map(|row| [&row["ratio"], &row["interval"][0], &row["interval"][1]].map(Json::as_f64))
            }
            Of::Value => {
                let alone = rows("figures");
                let sides = of_both.iter().flat_map(|row| [&row["a"], &row["b"]]);
                let side =
                    sides.chain(alone.iter().map(|row| &row["side"])).find(|side| side["system"] == self.side.as_str());
                side.map(|side| [&side["median"], &side["min"], &side["max"]].map(Json::as_f64))
            }
        };
        let over = if self.of == Of::Ratio { format!(" over {baseline}") } else { String::new() };
        let case: String = self.case.iter().map(|(key, value)| format!(", {key}={}", plain_text(value))).collect();
        let asked = match (self.at_least.is_finite(), self.at_most.is_finite()) {
            (true, true) => format!("{} to {}", self.at_least, self.at_most),
            (true, false) => format!("≥ {}", self.at_least),
            _ => format!("≤ {}", self.at_most),
        };
        let what = format!("| {} of {}{over}{case} | {asked} |", self.metric, self.side);
        match found {
            Some([Some(value), Some(lo), Some(hi)]) => {
                format!("{what} {value:.3} | {lo:.3} to {hi:.3} | {} |", self.verdict(value, lo, hi))
            }
            Some([Some(value), ..]) => format!("{what} {value:.3} | – | too few rounds |"),
            _ => format!("{what} – | – | not measured |"),
        }
    }

    /// Says whether a value and its interval meet the bar: `met`, `not met`, or not surely.
    fn verdict(&self, value: f64, lo: f64, hi: f64) -> &'static str {
        match (
            (self.at_least..=self.at_most).contains(&value),
            (self.at_least..=self.at_most).contains(&lo) && (self.at_least..=self.at_most).contains(&hi),
            hi < self.at_least || lo > self.at_most,
        ) {
            (true, true, _) => "met",
            (true, false, _) => "met, not surely",
            (false, _, true) => "**not met**",
            _ => "not met, not surely",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files = fs::read_dir(root.join("xtask/bench")).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
        files.map(|path| Part::read(root, path.file_stem().unwrap().to_str().unwrap(), None).unwrap()).collect()
    }

    fn values(part: &Part) -> Values {
        let mut values = part.values.clone();
        let programs = part.programs.iter().map(String::as_str);
        for name in ["etalon", "sqlite", "here", "dir", "seconds", "out"].into_iter().chain(programs) {
            values.add(name, name);
        }
        for server in &part.servers {
            values.add(&format!("{}_port", server.name), 1);
            values.add(&format!("{}_dir", server.name), "dir");
        }
        values
    }

    #[test]
    fn every_command_of_every_part_can_be_filled() {
        for part in parts() {
            let common = values(&part);
            let of_server =
                |server: &Server| [&[server.start.clone(), server.ready.clone()], &server.prepare[..]].concat();
            let lines = part.versions.iter().chain(&part.setup).cloned().chain(part.servers.iter().flat_map(of_server));
            for line in lines {
                assert!(shlex::split(&common.fill_in(&line).unwrap()).is_some(), "{line}");
            }
            for run in part.runs() {
                let values = run.values_with_case(&common);
                let counted = run.comparison.counted.iter().map(|counted| &counted.command);
                for line in run.comparison.before.iter().chain(counted).chain([&run.side.command]) {
                    assert!(shlex::split(&values.fill_in(line).unwrap()).is_some(), "{run}: {line}");
                }
            }
        }
    }

    #[test]
    fn every_bar_is_of_something_that_is_run() {
        for comparison in parts().iter().flat_map(|part| &part.comparisons) {
            assert!(comparison.sides.contains_key(&comparison.baseline), "{}", comparison.name);
            assert!(comparison.cases.iter().all(|case| case.keys().eq(comparison.key_names())), "{}", comparison.name);
            for bar in &comparison.bars {
                assert!(comparison.sides.contains_key(&bar.side), "{bar:?}");
                assert!(comparison.metric_names().any(|metric| metric == bar.metric), "{bar:?}");
                assert!(
                    comparison
                        .cases
                        .iter()
                        .any(|case| { bar.case.iter().all(|(key, value)| case.get(key) == Some(value)) }),
                    "{bar:?}"
                );
            }
        }
    }

    #[test]
    fn a_part_has_what_the_one_that_it_extends_has() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("base.toml"), "title = 'base'\nneeds = ['a']\n[values]\nx = '1'\ny = '2'\n")
            .unwrap();
        fs::write(folder.path().join("own.toml"), "extends = 'base'\ntitle = 'own'\n[values]\ny = '3'\n").unwrap();
        let both: toml::Table = toml::from_str("title = 'own'\nneeds = ['a']\n[values]\nx = '1'\ny = '3'\n").unwrap();
        assert_eq!(read_table(&folder.path().join("own.toml")).unwrap(), both);
    }

    #[test]
    fn another_build_takes_the_peers_place() {
        let mut part = parts().into_iter().find(|part| part.title == "Disk").unwrap();
        part.comparisons.iter_mut().for_each(|comparison| comparison.put_next_to(Path::new("/old/etalon")));
        let runs: Vec<Run<'_>> = part.runs().take(2).collect();
        assert_eq!([runs[0].name, runs[1].name], ["étalon after", "étalon before"]);
        assert_eq!(runs[0].comparison.baseline, "étalon before");
        let mut values = values(&part);
        assert!(values.replace("no", "1").is_err() && values.replace("run", "{etalon}").is_ok());
        assert_eq!(values.fill_in("{run}!").unwrap(), "etalon!");
    }

    #[test]
    fn a_bar_is_met_for_sure_or_not() {
        let bar: Bar = toml::from_str("metric = 'cpu'\nside = 'b'\nat_most = 0.5\ncase = { n = 2 }").unwrap();
        for (ratio, lo, hi, verdict) in [
            (0.4, 0.3, 0.45, "| met |"),
            (0.4, 0.3, 0.6, "| met, not surely |"),
            (0.6, 0.4, 0.7, "| not met, not surely |"),
            (0.6, 0.55, 0.7, "| **not met** |"),
        ] {
            let text = bar.table_row(&answer_with(ratio, lo, hi), "a");
            assert!(text.starts_with("| cpu of b over a, n=2 | ≤ 0.5 |") && text.ends_with(verdict), "{text}");
        }
        assert!(bar.table_row(&answer_with(0.4, 0.3, 0.4), "c").ends_with("| not measured |"));
        let value: Bar = toml::from_str("metric = 'cpu'\nside = 'a'\nof = 'value'\nat_least = 2").unwrap();
        assert_eq!(
            value.table_row(&answer_with(1.0, 1.0, 1.0), "a"),
            "| cpu of a | ≥ 2 | 2.000 | 1.000 to 3.000 | met, not surely |"
        );
    }

    fn answer_with(ratio: f64, lo: f64, hi: f64) -> serde_json::Value {
        let row = serde_json::json!({"metric": "cpu", "case": {"n": 2}, "ratio": ratio, "interval": [lo, hi],
                "a": {"system": "a", "median": 2.0, "min": 1.0, "max": 3.0}, "b": {"system": "b"}});
        serde_json::json!({"comparisons": [row], "figures": []})
    }
}
