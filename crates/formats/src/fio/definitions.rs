//! The lines in front of fio's text results, which say what each job was to do.

use std::collections::BTreeMap;

use crate::size;
use crate::text::{leading_number, shorten};

/// `job: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=32`.
#[derive(Debug)]
struct Definition {
    name: String,
    group: u64,
    /// Some of its clones are not listed: `...` stands behind it.
    has_clones: bool,
    options: BTreeMap<String, String>,
}

/// The definitions of one run of fio, in its order.
#[derive(Debug, Default)]
pub struct Definitions {
    all: Vec<Definition>,
    /// fio's version or results stand behind them: the next definition is of another run.
    is_whole: bool,
}

impl Definitions {
    /// Takes the definition of a job, as it stands behind `job: (g=`; `false` if it is none.
    pub fn take_definition(&mut self, name: &str, rest: &str) -> bool {
        let (Some((group, _)), Some((_, options))) = (leading_number(rest), rest.split_once("): ")) else {
            return false;
        };
        if std::mem::take(&mut self.is_whole) {
            self.all.clear();
        }
        let mut found = BTreeMap::new();
        for name in ["rw", "ioengine", "iodepth"] {
            if let Some(text) = rest_behind(options, name) {
                found.insert(name.to_owned(), text.split(',').next().unwrap_or_default().trim().to_owned());
            }
        }
        if let Some(text) = rest_behind(options, "bs") {
            let end = text.find(", ioengine=").unwrap_or(text.len());
            found.insert("bs".to_owned(), block_size(&text[..end]));
        }
        // Groups are small numbers.
        self.all.push(Definition { name: name.to_owned(), group: group as u64, has_clones: false, options: found });
        true
    }

    /// Notes that the last definition stands for several jobs.
    pub fn note_clones(&mut self) {
        if let Some(last) = self.all.last_mut() {
            last.has_clones = true;
        }
    }

    /// Notes that all jobs of the run are defined.
    pub fn finish(&mut self) {
        self.is_whole = true;
    }

    /// Counts the results of a name and a group that the run has at least.
    pub fn least_results(&self, name: &str, group: u64) -> usize {
        self.definitions_of(name, group).count()
    }

    /// Gives the options of a result that sums up `jobs` and has `before` others of its name and group in front.
    /// Where the lines do not tell which of several it is, each option has the values of all.
    pub fn options_of_result(&mut self, name: &str, group: u64, jobs: f64, before: usize) -> BTreeMap<String, String> {
        self.finish();
        let named: Vec<&Definition> = self.definitions_of(name, group).collect();
        match (named.as_slice(), named.get(before)) {
            ([], _) => join_options(self.all.iter().filter(|one| one.name == name)),
            // The first job's name stands for all of its group (`group_reporting`).
            _ if jobs > 1.0 => join_options(self.all.iter().filter(|one| one.group == group)),
            (several, Some(one)) if several.iter().all(|one| !one.has_clones) => one.options.clone(),
            _ => join_options(named.into_iter()),
        }
    }

    /// Lists the definitions of a name and group.
    fn definitions_of(&self, name: &str, group: u64) -> impl Iterator<Item = &Definition> {
        self.all.iter().filter(move |one| one.name == name && one.group == group)
    }
}

/// Merges the options of definitions; values that differ are joined: `4k + 64k`.
fn join_options<'d>(definitions: impl Iterator<Item = &'d Definition>) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, value) in definitions.flat_map(|one| &one.options) {
        let known = values.entry(name.clone()).or_default();
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    values.into_iter().map(|(name, values)| (name, values.join(" + "))).collect()
}

/// Gives what stands behind `name=`.
fn rest_behind<'o>(options: &'o str, name: &str) -> Option<&'o str> {
    let from = options.find(&format!("{name}="))? + name.len() + 1;
    Some(&options[from..])
}

/// Gives the block size, `4k`, where all directions have one, else the text.
fn block_size(text: &str) -> String {
    let sizes = text.split([',', '/', '-']).map(|part| {
        let part = part.trim();
        part.rsplit(' ').next().unwrap_or(part)
    });
    let sizes: Vec<Option<String>> = sizes.map(size::canonical_size).collect();
    match sizes.as_slice() {
        [Some(first), rest @ ..] if rest.iter().all(|size| size.as_ref() == Some(first)) => first.clone(),
        _ => shorten(text.trim()),
    }
}
