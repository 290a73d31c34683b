//! What stands at the head of files. Results of one case and system are no repetitions below different settings or captions, nor in files
//! whose names differ by a setting.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::Value;

use crate::captions::{label_title, parse_heading};
use crate::recognise::CAPTION;
use crate::text::shorten;
use crate::{Imported, between, loads};

/// Most lines above the first result that are kept.
pub(crate) const MOST_LINES: usize = 100;
/// The key of results in files whose names differ by a setting.
const FILE: &str = "file";
/// Words of file names that are values of settings.
const VALUES: [&str; 12] =
    ["disabled", "enabled", "false", "n", "no", "off", "on", "true", "with", "without", "y", "yes"];
/// Names of what a script notes of each run.
const OF_RUNS: [&str; 12] =
    ["date", "dir", "file", "host", "hostname", "id", "log", "output", "pid", "seed", "time", "timestamp"];

/// Keeps the lines of a head that set something or are titles: they say of what the results are.
pub(crate) fn caption_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    lines.map(str::trim).filter(|line| is_caption(line)).map(str::to_owned).collect()
}

/// Tests whether a line sets something, or is a title above results.
fn is_caption(line: &str) -> bool {
    let has_prompt = line.starts_with(['$', '+', '#']) && !line.starts_with("##");
    let lower = line.to_lowercase();
    let is_title = parse_heading(line).is_some() || label_title(line).is_some() || line.starts_with("===");
    is_setting(line)
        || (has_prompt && [" set ", "export "].iter().any(|word| lower.contains(word)) && !loads::is_command(line))
        || (is_title && !has_prompt)
}

/// Tests whether a line is a setting: `synchronous_commit=on`, `work_mem = 64MB`.
fn is_setting(line: &str) -> bool {
    line.split_once('=').map(|(name, value)| (name.trim(), value.trim())).is_some_and(|(name, value)| {
        let last = name.rsplit(['_', '.', '-']).next().unwrap_or(name).to_lowercase();
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
            && !value.is_empty()
            && !value.contains([' ', '='])
            && !OF_RUNS.contains(&last.as_str())
    })
}

/// Makes facts of what stands above the first results of all of a system's files.
/// They are settings by their names, and the other lines that not all files of the import have and that do not name the
/// system.
pub(crate) fn facts_above(system: &str, lines: &[String], everywhere: &[String]) -> BTreeMap<String, String> {
    let (mut facts, mut others) = (BTreeMap::new(), Vec::new());
    for line in lines {
        if is_setting(line)
            && let Some((name, value)) = line.split_once('=')
        {
            facts.insert(format!("setting.{}", name.trim()), value.trim().to_owned());
        } else if !everywhere.contains(line) && !line.contains(system) && !loads::is_command(line) {
            others.push(line.as_str());
        }
    }
    if !others.is_empty() {
        facts.insert("imported.above".to_owned(), shorten(&others.join("; ")));
    }
    facts
}

/// Lists the lines above a file's first result, without times and the numbers of runs.
pub(crate) fn lines_above(import: &Imported) -> Vec<String> {
    between::captions_of_files(&[&import.above]).concat()
}

/// Lists the lines that all files have.
pub(crate) fn lines_in_common<'a>(mut files: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    let mut common = files.next().cloned().unwrap_or_default();
    for file in files {
        common.retain(|line| file.contains(line));
    }
    common
}

/// What a reader says of results whose warehouses their tool does not print.
pub(crate) const WAREHOUSES_UNKNOWN: &str = "the number of warehouses";

/// Puts the warehouses that a caption names into the keys of results whose tool does not print them.
pub(crate) fn put_warehouses(imports: &mut [Imported]) {
    for import in imports.iter_mut().filter(|import| import.unknown.iter().any(|what| what == WAREHOUSES_UNKNOWN)) {
        let of_head =
            caption_lines(import.above.iter().map(String::as_str)).iter().find_map(|line| count_of_warehouses(line));
        for result in &mut import.results {
            let caption = result.keys.get(CAPTION).map(ToString::to_string);
            if let Some(count) = caption
                .and_then(|words| count_of_warehouses(&words))
                .or_else(|| count_of_warehouses(&result.system))
                .or(of_head)
            {
                result.keys.insert("warehouses".to_owned(), Value::Int(count));
            }
        }
        if import.results.iter().all(|result| result.keys.contains_key("warehouses")) {
            import.unknown.retain(|what| what != WAREHOUSES_UNKNOWN);
        }
    }
}

/// Finds the number in `100 warehouses`, `warehouses: 100` and `wh=100`.
fn count_of_warehouses(words: &str) -> Option<i64> {
    let words: Vec<String> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let at = words.iter().position(|word| matches!(word.as_str(), "warehouse" | "warehouses" | "wh"))?;
    let around = [at.checked_sub(1), Some(at + 1)];
    around.into_iter().flatten().find_map(|at| words.get(at)?.parse().ok())
}

/// Makes a key of the heads, or else the names, of files that have results of one case of a system.
pub(crate) fn tell_files_apart(imports: &mut [Imported]) {
    let mut by_case: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (at, import) in imports.iter().enumerate() {
        for result in import.results.iter().filter(|result| !result.keys.contains_key(CAPTION)) {
            by_case.entry(result.case_of_system()).or_default().insert(at);
        }
    }
    by_case.retain(|_, files| files.len() > 1);
    let groups: BTreeSet<&BTreeSet<usize>> = by_case.values().collect();
    let mut names: BTreeMap<usize, (&str, String)> = BTreeMap::new();
    for group in groups {
        let above: Vec<&[String]> = group.iter().map(|at| imports[*at].above.as_slice()).collect();
        let heads: Vec<Vec<String>> =
            above.iter().map(|lines| caption_lines(lines.iter().map(String::as_str))).collect();
        let captions = between::captions_of_files(&heads.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let groups = lines_of_groups(&above);
        let (key, found) = if captions.iter().collect::<BTreeSet<_>>().len() > 1 {
            (CAPTION, between::caption_names(&captions))
        } else if groups.iter().collect::<BTreeSet<_>>().len() > 1 {
            (CAPTION, between::caption_names(&groups))
        } else {
            let stems = group.iter().map(|at| file_stem(&imports[*at].source));
            (FILE, stems_of_settings(stems.collect()).unwrap_or_default())
        };
        names.extend(group.iter().copied().zip(found.into_iter().map(|name| (key, name))));
    }
    for (at, (key, name)) in names.into_iter().filter(|(_, (_, name))| !name.is_empty()) {
        let import = &mut imports[at];
        for result in import.results.iter_mut().filter(|result| by_case.contains_key(&result.case_of_system())) {
            result.keys.insert(key.to_owned(), Value::Text(name.clone()));
        }
        import
            .notes
            .push(format!("other files have results of its cases with other settings: they are the key `{key}`"));
    }
}

/// Finds the lines above the results of each file by which files fall into groups of two and more.
/// Such as `hostname: db01` and `hostname: db02`, each in three of six files. What differs from file to file is of
/// runs, and so is what stands in some of them alone.
fn lines_of_groups(above: &[&[String]]) -> Vec<Vec<String>> {
    let mut lines = between::captions_of_files(above);
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for of_file in &lines {
        for line in of_file.iter().collect::<BTreeSet<_>>() {
            *files.entry(line.clone()).or_default() += 1;
        }
        for kind in of_file.iter().map(|line| line_kind(line)).collect::<BTreeSet<_>>() {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    for of_file in &mut lines {
        of_file.retain(|line| files[line] > 1 && files[line] < above.len() && kinds[&line_kind(line)] == above.len());
    }
    let mut sizes: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    lines.iter().for_each(|of_file| *sizes.entry(of_file).or_default() += 1);
    if sizes.values().any(|size| *size < 2) { vec![Vec::new(); above.len()] } else { lines }
}

/// Gives the kind of a line: its first word; a value alone is one kind with all others.
fn line_kind(line: &str) -> String {
    let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let first = words.find(|word| word.contains(char::is_alphabetic)).unwrap_or_default();
    if VALUES.contains(&first.as_str()) { String::new() } else { first }
}

/// Gives a file's name without folder and extension.
fn file_stem(source: &str) -> String {
    Path::new(source).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Names files by their names without the numbers of runs, if these differ by words that are values.
fn stems_of_settings(stems: Vec<String>) -> Option<Vec<String>> {
    let values: BTreeSet<Vec<String>> = stems.iter().map(|stem| values_in_stem(stem)).collect();
    let is_any = values.len() > 1 && values.iter().all(|words| !words.is_empty());
    is_any.then(|| between::without_numbers_of_runs(&stems, between::Counting::Any))
}

/// Lists the words of a file's name that are values of settings.
fn values_in_stem(stem: &str) -> Vec<String> {
    let lower = stem.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| VALUES.contains(word));
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::recognise::{Captions, Text, read};

    const RUN: &str = "transaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\nnumber of clients: 10\n\
        number of threads: 1\nduration: 60 s\nnumber of transactions actually processed: 1207200\n\
        latency average = 0.497 ms\ntps = 20120.123456 (without initial connection time)\n";

    /// The values of a key, for each file, of six runs below a head.
    fn values(key: &str, files: [(&str, &str); 3]) -> [Option<String>; 3] {
        let options = Options::default();
        let mut imports: Vec<Imported> = Vec::new();
        for (source, head) in files {
            let text = format!("{head}{}", RUN.repeat(6));
            let text = Text {
                text: &text,
                source,
                below: source,
                system: "pg",
                captions: Captions::Keys,
                reader: None,
                options: &options,
            };
            imports.extend(read(&text).unwrap().imports);
        }
        loads::tell_loads_apart(&mut imports);
        let of = |at: usize| imports[at].results[0].keys.get(key).map(ToString::to_string);
        [of(0), of(1), of(2)]
    }

    #[test]
    fn captions_of_files_are_keys_of_their_system() {
        let [on, off] =
            ["on", "off"].map(|value| format!("Script started\nsynchronous_commit={value}\n$ pgbench -T60 b\n"));
        let found = values(CAPTION, [("a", &on), ("b", &off), ("c", &on)]);
        assert_eq!(found, ["on", "off", "on"].map(|value| Some(format!("synchronous_commit={value}"))));
        assert_eq!(values(CAPTION, [("on", &on), ("off", &on), ("c", &on)]), [None, None, None]);
        let found =
            values(CAPTION, [("a", "On the old disk:\n"), ("b", "On the new disk:\n"), ("c", "On the old disk:\n")]);
        assert!(found[0].is_some() && found[0] == found[2] && found[0] != found[1], "{found:?}");
        for heads in
            [["run=1\n", "run=2\n", "run=3\n"], ["pid=4711\n", "pid=19\n", "pid=815\n"], ["Run 1:\n", "Run 2:\n", ""]]
        {
            let [first, second, third] = heads;
            assert_eq!(values(CAPTION, [("a", first), ("b", second), ("c", third)]), [None, None, None], "{heads:?}");
        }
    }

    #[test]
    fn captions_name_warehouses() {
        for (words, count) in [("=== 100 warehouses ===", 100), ("Warehouses: 500", 500), ("on NVMe, wh=20, vu=8", 20)]
        {
            assert_eq!(count_of_warehouses(words), Some(count), "{words}");
        }
        assert_eq!(count_of_warehouses("the warehouse of 2026's data"), None);
    }

    #[test]
    fn names_of_files_that_differ_by_a_setting_are_keys() {
        let found = values(FILE, [("x/sync_on.txt", ""), ("x/sync_off.txt", ""), ("x/sync_on.txt", "")]);
        assert_eq!(found, ["sync-on", "sync-off", "sync-on"].map(|name| Some(name.to_owned())));
        assert_eq!(values(FILE, [("monday.txt", ""), ("tuesday.txt", ""), ("on.txt", "")]), [None, None, None]);
    }
}
